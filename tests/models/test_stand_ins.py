"""Solvers of scikit-learn's taken as names of an optimum: it is the same, and the verdict names the method."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model as sk
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

from separatrix import BaggingClassifier, LogisticRegression, verify
from separatrix.solve.registry import STAND_INS


def table(K):
    X, y = load_breast_cancer(return_X_y=True) if K == 2 else load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X)[:, :6], y


@pytest.mark.parametrize("solver", STAND_INS)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_optimum_is_scikit_learns(solver, K, fit_intercept):
    X, y = table(K)
    ours = LogisticRegression(solver=solver, fit_intercept=fit_intercept)
    if K == 3 and solver == "liblinear":
        for model in (ours, sk.LogisticRegression(solver=solver)):
            with pytest.raises(ValueError, match="liblinear"):
                model.fit(X, y)
        return
    ours.fit(X, y)
    theirs = sk.LogisticRegression(solver=solver, fit_intercept=fit_intercept, tol=1e-8, max_iter=10000).fit(
        X, y
    )
    moved = np.abs(ours.predict_proba(X) - theirs.predict_proba(X)).max()
    finding = ours.verdict_.findings[-1]
    assert (
        f'"newton" ran in place of "{solver}"' in finding and ours.verdict_.method == ours.solver_ == "newton"
    )
    if solver == "liblinear" and fit_intercept:
        assert "penalises the intercept" in finding and 1e-5 < moved < 0.02
    else:
        assert "the same optimum" in finding and moved < 1e-5
    assert verify(ours, X, y).status == ours.verdict_.status == "optimal"


@pytest.mark.parametrize("solver", ["auto", "newton", "newton-cholesky", "lbfgs", "gradient", "sgd"])
def test_the_verdict_names_the_method_that_ran(solver):
    X, y = table(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(solver=solver, max_iter=5).fit(X, y)
    ran = "newton" if solver in ("auto", "newton-cholesky") else solver
    assert model.verdict_.method == ran and f"sweeps of {ran}, " in str(model.verdict_)
    assert ran in model.verdict_._repr_html_()
    assert not any("ran in place of" in f for f in model.verdict_.findings)


def test_bags_name_it_too():
    X, y = table(2)
    for solver in ("auto", "saga"):
        bags = BaggingClassifier(LogisticRegression(solver=solver), n_estimators=3, random_state=0).fit(X, y)
        assert all(m.verdict_.method == "newton" for m in bags.estimators_)
