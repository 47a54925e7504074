"""Bags of logistic regressions as one batch, against single fits (row E3)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from separatrix import (
    BaggingClassifier,
    LogisticRegression,
    verify,
)
from tests.models.ensemble.bagged import CANCER, IRIS, counts_of, table


@pytest.mark.parametrize(
    ("base", "data"),
    [
        (LogisticRegression(), CANCER),
        (LogisticRegression(), IRIS),
        (LogisticRegression(C=0.01), CANCER),
        (LogisticRegression(C=np.inf), table(2000, 6, 2)),
        (LogisticRegression(C=np.inf), table(2000, 6, 4)),
        (LogisticRegression(penalty=None, fit_intercept=False), table(1000, 6, 2)),
        (LogisticRegression(class_weight="balanced"), table(400, 6, 3)),
        (LogisticRegression(class_weight={0: 1.0, 1: 5.0}, fit_intercept=False), CANCER),
        (LogisticRegression(), (CANCER[0] + 1e5, CANCER[1])),
        (LogisticRegression(), table(20_000, 10, 2)),
    ],
    ids=lambda v: str(v) if isinstance(v, LogisticRegression) else f"{v[0].shape}",
)
def test_batch_equals_one_by_one(base, data):
    X, y = data
    model = BaggingClassifier(base, 3, random_state=1).fit(X, y)
    assert "in one batch" in model.verdict_.findings[0]
    assert model.verdict_.status == "optimal"
    for fitted, count in zip(model.estimators_, counts_of(model, len(X)), strict=True):
        alone = clone(base).set_params(tol=1e-6).fit(X, y, sample_weight=count)
        scale = np.abs(alone.coef_).max()
        np.testing.assert_allclose(fitted.coef_, alone.coef_, rtol=1e-6, atol=1e-6 * scale)
        np.testing.assert_allclose(fitted.predict_proba(X), alone.predict_proba(X), atol=1e-6)
        again = verify(fitted, X, y, sample_weight=count)  # the proof, from data and parameters alone
        assert again.status == "optimal"
        assert again.objective == pytest.approx(fitted.verdict_.objective, rel=1e-12)
        assert fitted.verdict_.gap <= fitted.verdict_.tol


def test_batch_with_weights_without_replacement():
    X, y = table(600, 5, 3)
    weight = np.random.default_rng(0).integers(1, 5, len(X)).astype(float)
    model = BaggingClassifier(LogisticRegression(), 4, bootstrap=False, max_samples=0.6, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert "in one batch" in model.verdict_.findings[0]
    for fitted, count in zip(model.estimators_, counts_of(model, len(X)), strict=True):
        assert count.max() == 1
        alone = LogisticRegression().fit(X, y, sample_weight=count * weight)
        np.testing.assert_allclose(fitted.coef_, alone.coef_, rtol=1e-6, atol=1e-6)


def test_separated_bags_are_left_to_single_fits():
    """Rows overlap by one pair only: bags without it have no optimum, the others have one."""
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(-4, 1, 40), rng.normal(4, 1, 40)]
    y = np.repeat([0, 1], 40)
    y[x.argmax()] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BaggingClassifier(LogisticRegression(C=np.inf), 20, random_state=0).fit(x[:, None], y)
    held = np.array([x.argmax() in rows for rows in model.estimators_samples_])
    status = np.array([m.verdict_.status for m in model.estimators_])
    assert 0 < held.sum() < 20
    assert (status[held] == "optimal").all() and (status[~held] == "no optimum").all()
    assert f"{held.sum()} optimal" in str(model.verdict_) or f"{(~held).sum()} no optimum" in str(
        model.verdict_
    )


def test_what_a_batch_cannot_serve_goes_one_by_one():
    X, y = CANCER
    for base in (
        LogisticRegression(solver="lbfgs"),
        LogisticRegression(penalty="firth"),
        LogisticRegression(record_path=True),
    ):
        model = BaggingClassifier(base, 2, random_state=0).fit(X[:, :4], y)
        assert "one by one" in model.verdict_.findings[0]
    narrow = BaggingClassifier(LogisticRegression(), 4, max_features=3, random_state=0).fit(X, y)
    for fitted, columns, count in zip(
        narrow.estimators_, narrow.estimators_features_, counts_of(narrow, len(X)), strict=True
    ):
        alone = LogisticRegression().fit(X[:, columns], y, sample_weight=count)
        np.testing.assert_allclose(fitted.coef_, alone.coef_, rtol=1e-8)
