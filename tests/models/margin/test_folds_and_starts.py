"""Folds that hold rows out, and fits that start from another: feasible points, warm starts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from separatrix.models.margin import svc as module
from separatrix.models.margin.probabilities import folds_of
from separatrix.models.margin.svc import SVC, feasible
from separatrix.solve import smo
from tests.models.margin.drawn_tables import drawn, few, seeds


def test_folds_hold_every_row_out_once_and_every_class():
    y = np.repeat([0, 1, 2, -1], [30, 4, 17, 5])
    folds = folds_of(y, np.array(["a", "b", "c"]), 0)
    assert (folds[y < 0] == -1).all() and set(folds[y >= 0]) == {0, 1, 2, 3}  # as many as 'b' has rows
    for f in range(4):
        assert set(y[folds == f]) == {0, 1, 2}
    np.testing.assert_array_equal(folds[y >= 0], folds_of(y[y >= 0], np.array(["a", "b", "c"]), 0))


@few
@given(seeds, st.booleans())
def test_feasible_points_are(seed, hard):
    rng = np.random.default_rng(seed)
    y = np.where(np.append([0.2, 0.8], rng.random(20)) > 0.5, 1.0, -1.0)
    C = np.full(22, np.inf) if hard else rng.random(22) * 3
    dual = smo.Dual.classifier(y, C)
    beta = feasible(rng.normal(size=22) * 2, dual.low, dual.high)
    assert (beta >= dual.low).all() and (beta <= dual.high).all() and abs(beta.sum()) < 1e-12
    np.testing.assert_array_equal(feasible(beta * 0, dual.low, dual.high), 0.0)


def test_folds_start_from_the_fit(monkeypatch):
    X, y = make_classification(900, 8, flip_y=0.2, random_state=0)

    def steps(model):
        return int(model.verdict_.findings[-1].split("(")[1].split()[0].replace(",", ""))

    warm = SVC(calibrate="sigmoid").fit(X, y)
    monkeypatch.setattr(module, "feasible", lambda beta, low, high: np.zeros_like(beta))
    cold = SVC(calibrate="sigmoid").fit(X, y)
    assert steps(warm) < 0.8 * steps(cold)
    np.testing.assert_allclose(warm.predict_proba(X), cold.predict_proba(X), atol=0.01)


def test_warm_start_has_the_same_optimum_in_fewer_steps():
    X, y = make_classification(800, 10, flip_y=0.1, random_state=0)
    model, fewer, cold = SVC(warm_start=True, tol=1e-5), 0, 0
    for C in (1.0, 2.0, 4.0, 2.0, 1.0):
        model.set_params(C=C).fit(X, y)
        other = SVC(C=C, tol=1e-5).fit(X, y)
        np.testing.assert_allclose(model.verdict_.objective, other.verdict_.objective, rtol=2e-5)
        np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-2)
        assert model.verdict_.status == "optimal"
        fewer, cold = fewer + model.n_iter_.sum(), cold + other.n_iter_.sum()
    assert fewer < 0.9 * cold
    again = model.n_iter_.sum()
    assert model.fit(X, y).n_iter_.sum() < 0.1 * again  # the optimum itself


def test_warm_start_where_it_cannot_help():
    """Other labels, other rows, other machines: the answer is that of a fit from nothing."""
    X, y = drawn(2, n=120, k=3)
    model = SVC(warm_start=True, tol=1e-8).fit(X, y)
    for rows, labels, against in (
        (X, y[::-1], "ovo"),
        (X[:100], y[:100], "ovo"),
        (X, y, "ovr"),
        (X, y > 0, "ovo"),
    ):
        model.set_params(multi_class=against).fit(rows, labels)
        other = SVC(tol=1e-8, multi_class=against).fit(rows, labels)
        np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-6)
