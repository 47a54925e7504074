"""Bad questions to inference: a sentence that names the culprit and the way out."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import LogisticRegression
from separatrix.problems.objective import Objective
from tests.models.linear.small import BINARY, COUNTS, POSITIVE, G, X

FITTED = G("poisson").fit(X, COUNTS)
THREE = LogisticRegression(C=np.inf).fit(np.tile(X, (4, 1)), np.random.default_rng(1).integers(0, 3, 120))


@pytest.mark.parametrize(
    "ask, match",
    [
        (lambda m: m.covariance("HC4"), "covariance 'HC4' is unknown: use one of model, HC0"),
        (lambda m: m.covariance("cluster"), 'covariance="cluster" needs groups='),
        (lambda m: m.covariance("HC0", np.arange(30)), 'groups= is for covariance="cluster"'),
        (lambda m: m.covariance("model", np.arange(30)), 'groups= is for covariance="cluster"'),
        (lambda m: m.covariance("cluster", np.arange(29)), r"one entry a row, 30 in all, got shape \(29,\)"),
        (lambda m: m.covariance("cluster", np.ones(30)), "single cluster.*at least 2"),
        (lambda m: m.covariance("cluster", [*range(29), np.nan]), "no value in row 29"),
        (lambda m: m.covariance("cluster", [*"ab" * 14, "a", None]), "no value in row 29"),
        (lambda m: m.covariance("cluster", np.ones((30, 2))), "one entry a row"),
        (lambda m: m.standard_errors("robust"), "covariance 'robust' is unknown"),
        (lambda m: m.summary(covariance="hc0"), "covariance 'hc0' is unknown"),
        (lambda m: m.confidence_intervals(0.0), "level must lie between 0 and 1, got 0.0"),
        (lambda m: m.confidence_intervals(1.0), "level must lie between 0 and 1"),
        (lambda m: m.confidence_intervals(95), "level must lie between 0 and 1, got 95"),
        (lambda m: m.confidence_intervals(np.nan), "level must lie between 0 and 1"),
        (lambda m: m.summary(1.5), "level must lie between 0 and 1"),
        (lambda m: m.confidence_intervals(method="bootstrap"), "method 'bootstrap' is unknown"),
        (lambda m: m.summary(intervals="exact"), "method 'exact' is unknown"),
        (lambda m: m.confidence_intervals(method="profile", covariance="HC0"), 'use method="wald"'),
        (lambda m: m.confidence_intervals(columns="age"), "column 'age' is not in the model: its columns are x0"),
        (lambda m: m.confidence_intervals(columns=[]), "columns is empty"),
        (lambda m: m.test("age"), "column 'age' is not in the model: its columns are x0, x1, x2"),
        (lambda m: m.test(3), "column 3 does not exist: there are 3 columns"),
        (lambda m: m.test(-4), "column -4 does not exist"),
        (lambda m: m.test(["x0", 0]), "names a coefficient twice"),
        (lambda m: m.test([]), "columns is empty: name at least one"),
        (lambda m: m.test("x0", "rao"), "method 'rao' is unknown: use one of wald, lr, score"),
        (lambda m: m.test("x0", covariance="HC0"), 'a robust covariance is for method="wald"'),
        (lambda m: m.test("x0", "score", groups=np.arange(30)), 'a robust covariance is for method="wald"'),
        (lambda m: m.test("x0", "wald", covariance="HC9"), "covariance 'HC9' is unknown"),
        (lambda m: m.test("x0", value="much"), "could not convert|number"),
        (lambda m: m.test(["x0", "x1"], value=[1.0, 2.0, 3.0]), "value"),
        (lambda m: m.test("x0", value=np.nan), "value"),
        (lambda m: m.residuals("raw"), "kind 'raw' is unknown: use one of deviance"),
        (lambda m: m.residuals("response", standardised=True), 'is for "deviance" and "pearson"'),
        (lambda m: m.summary(reference=1), "reference"),
    ],
)  # fmt: skip
def test_of_a_likelihood(ask, match):
    with pytest.raises(ValueError, match=match):
        ask(FITTED)


def test_wald_and_unknown_covariances_are_checked_before_anything(monkeypatch):
    monkeypatch.setattr(Objective, "evaluate", None)
    with pytest.raises(ValueError, match="unknown"):
        FITTED.summary(covariance="robust")


@pytest.mark.parametrize(
    "ask, match",
    [
        (lambda m: m.summary(reference="z"), r"reference 'z' is not a class: the classes are \[0, 1, 2\]"),
        (lambda m: m.covariance("HC3"), "which K classes have no single one of: use HC0 or HC1"),
        (lambda m: m.residuals("working"), "K classes have none"),
        (lambda m: m.residuals(standardised=True), "K classes have no single leverage"),
        (lambda m: m.cooks_distance(), "K classes have no single leverage"),
    ],
)
def test_of_classes(ask, match):
    with pytest.raises(ValueError, match=match):
        ask(THREE)


def test_a_reference_of_two_classes():
    model = LogisticRegression(C=np.inf).fit(X, BINARY.astype(int))
    with pytest.raises(ValueError, match="three classes or more"):
        model.summary(reference=1)


def test_leverage_of_one():
    lonely = np.zeros((30, 1))
    lonely[17] = 1.0
    model = G().fit(np.column_stack([X, lonely]), POSITIVE)
    assert model.leverage()[17] == pytest.approx(1.0)
    for kind in ("HC2", "HC3"):
        with pytest.raises(
            ValueError, match="row 17 has leverage 1: it alone determines a coefficient; use HC0"
        ):
            model.covariance(kind)
    assert np.isfinite(model.standard_errors("HC1")).all()


def test_fewer_observations_than_parameters_by_weight():
    """Frequencies of 1/1000 count 0.03 observations: n/(n − k) would make a variance negative."""
    model = G().fit(X, POSITIVE, np.full(30, 1e-3))
    assert np.isnan(model.dispersion_) and np.isnan(model.standard_errors()).all()
    for kind in ("HC1", "cluster"):
        error = model.standard_errors(kind, np.arange(30) % 5 if kind == "cluster" else None)
        assert np.isnan(error).all()
