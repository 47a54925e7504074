"""The hard margin of LinearSVC: by hand, against LIBSVM, and refused with the proof."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from separatrix.models.margin.linear_svc import LinearSVC
from tests.models.margin.linear_tables import few, overlapping, seeds


@pytest.mark.parametrize("solver", ["auto", "qp"])
def test_hard_margin_by_hand(solver):
    """Nearest points (0, 0) and (2, 0) on a line across: the surface is x = 1, margin 1 each side."""
    X = np.array([[0.0, 0.0], [-1.0, 5.0], [2.0, 0.0], [3.0, 4.0]])
    model = LinearSVC(C=np.inf, solver=solver).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-4)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-4)
    assert model.verdict_.status == "optimal" and model.verdict_.unique
    assert model.reports_[0].counts == {"outside": 2, "margin": 2, "inside": 0, "misclassified": 0}


def test_hard_margin_is_libsvms_with_a_huge_cost():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    model, peer = LinearSVC(C=np.inf, tol=1e-7).fit(X, y), SVC(kernel="linear", C=1e10, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    assert model.functional_margin(X, y).min() >= 1 - 1e-9


@few
@given(seed=seeds)
def test_hard_margin_separates_with_the_widest_margin(seed):
    X, y = overlapping(seed, n=30)
    X = X + 6.0 * np.eye(2, 3)[y]
    hard, soft = LinearSVC(C=np.inf).fit(X, y), LinearSVC(loss="hinge", C=1e5, tol=1e-6).fit(X, y)
    assert hard.functional_margin(X, y).min() > 1 - 1e-9
    assert hard.verdict_.objective == pytest.approx(soft.verdict_.objective, rel=1e-3)


def test_a_hard_margin_that_cannot_be_is_refused_with_the_proof():
    X, y = overlapping(9)
    with pytest.raises(ValueError, match=r"hard margin.*no surface separates the classes.*overlap.*finite C"):
        LinearSVC(C=np.inf).fit(X, y)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="class 1 from the rest"):
        LinearSVC(C=np.inf).fit(X, y)
    twice = np.array([[0.0], [1.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match=r"quasi|overlap"):
        LinearSVC(C=np.inf).fit(twice, [0, 0, 1, 1])
