"""Coefficients against an independent solve in extended precision: 1e-8 in standardised units.

The reference (``reference.long_newton``) is plain Newton in long double on another parametrisation; real tables
come from ../shared/data, and from scikit-learn where that folder is absent.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from benchmarks import shared
from separatrix import LogisticRegression
from tests.models.reference import error_against, long_newton, needs_extended

pytestmark = needs_extended

# classes overlap in these (INDEX.md of the data, or a linear program): C=inf has an optimum
TABLES = [
    "pima",
    "banknote",
    "liver_disorders",
    "breast_cancer_wisconsin",
    "heart_statlog",
    "haberman",
    "phoneme",
    "german_credit",
    "balance_scale",
    "vehicle",
    "glm_rdatasets/birthwt",
    "glm_rdatasets/Default",
]
AT_MOST = 1e-8


@functools.cache
def table(name: str):
    X, y, _ = shared.numeric(name)
    return X, y, np.unique(y, return_inverse=True)[1]


def agrees(X, y, codes, *, at_most=AT_MOST, weight=None, **parameters):
    model = LogisticRegression(**parameters).fit(X, y, sample_weight=weight)
    assert model.verdict_.status == "optimal", str(model.verdict_)
    assert model.verdict_.unique
    answer = long_newton(
        X, codes, C=model.C, weight=weight, fit_intercept=model.fit_intercept, n_classes=codes.max() + 1
    )
    assert error_against(answer, model, X) <= at_most
    # the verdict's word: the objective is where it says, and min F is inside [bound, objective]
    assert model.verdict_.objective == pytest.approx(answer.objective, rel=1e-12)
    assert model.verdict_.bound <= answer.objective * (1 + 1e-14)


@pytest.mark.skipif(not shared.available(), reason="../shared/data is not here")
@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("name", TABLES)
def test_ten_real_tables(name, C):
    agrees(*table(name), C=C)


@pytest.mark.skipif(not shared.available(), reason="../shared/data is not here")
def test_spambase():
    """57 columns of very different sizes, without a penalty."""
    agrees(*table("spambase"), C=np.inf)


BUNDLED = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits 0 and 8": lambda: _pick(*load_digits(return_X_y=True), [0, 8]),
}


def _pick(X, y, labels):
    keep = np.isin(y, labels)
    X, y = X[keep], np.searchsorted(labels, y[keep])
    return X[:, X.std(axis=0) > 0], y


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_tables(name, C):
    X, y = BUNDLED[name]()
    agrees(X, y, y, C=C)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_unpenalised_on_iris_versicolor_and_virginica(fit_intercept):
    X, y = _pick(*load_iris(return_X_y=True), [1, 2])
    agrees(X, y, y, C=np.inf, fit_intercept=fit_intercept)


@pytest.mark.parametrize("name", ["iris", "breast_cancer"])
def test_weights_reach_the_same_accuracy(name):
    X, y = BUNDLED[name]()
    agrees(X, y, y, weight=np.random.default_rng(0).exponential(size=len(y)))


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_each_solver_reaches_what_its_tolerance_promises(solver):
    """However slow the method, a small enough tol brings the coefficients to the optimum."""
    X, y = load_wine(return_X_y=True)
    agrees(X, y, y, solver=solver, tol=1e-12, max_iter=2000, at_most=1e-6)
