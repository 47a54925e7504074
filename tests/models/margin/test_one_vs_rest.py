"""SVC with one class against the rest: scikit-learn's machines, weights as repetitions, hard margins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Peer

from separatrix.models.margin.svc import SVC
from tests.models.margin.drawn_tables import drawn, few, seeds


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_one_vs_rest_is_scikit_learns(load, kernel):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    names = np.array(["x", "y", "z"])[y]
    ours = SVC(multi_class="ovr", kernel=kernel, gamma=0.2, tol=1e-9).fit(X, names)
    peer = OneVsRestClassifier(Peer(kernel=kernel, gamma=0.2, tol=1e-9)).fit(X, names)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    k = len(ours.classes_)
    machines = k if k > 2 else 1
    assert ours.dual_coef_.shape == (machines, len(ours.support_)) and len(ours.reports_) == machines
    np.testing.assert_allclose(ours.dual_coef_.sum(axis=1), 0.0, atol=1e-9)
    assert ours.verdict_.status == "optimal" and ours.n_support_.sum() == len(ours.support_)
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, ours.dual_coef_ @ ours.support_vectors_, atol=1e-9)
    if k > 2:
        assert ours.reports_[1].classes == ("the rest", "y")
        np.testing.assert_array_equal(
            ours.predict(X), ours.classes_[ours.decision_function(X).argmax(axis=1)]
        )


@few
@given(seeds)
def test_one_vs_rest_weights_are_repetitions(seed):
    X, y = drawn(seed, n=60, k=3)
    weight = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
    weight[:9] = 1.0
    model = SVC(multi_class="ovr", gamma=0.5, tol=1e-9)
    a = clone(model).fit(X, y, weight).decision_function(X)
    times = weight.astype(int)
    b = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times)).decision_function(X)
    np.testing.assert_allclose(a, b, atol=1e-6)
    by_class = clone(model).set_params(class_weight={1: 2.0}).fit(X, y).decision_function(X)
    by_row = clone(model).fit(X, y, np.where(y == 1, 2.0, 1.0)).decision_function(X)
    np.testing.assert_allclose(by_class, by_row, atol=1e-6)


def test_one_vs_rest_hard_margins():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0], [2.0, 9.0], [3.0, 9.0]])
    model = SVC(multi_class="ovr", C=np.inf, kernel="linear").fit(X, [0, 0, 1, 1, 2, 2])
    assert model.score(X, [0, 0, 1, 1, 2, 2]) == 1.0 and model.verdict_.status == "optimal"
    line = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    with pytest.raises(ValueError, match="class 1 and the rest do not allow"):
        SVC(multi_class="ovr", C=np.inf, kernel="linear").fit(line, [0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match="rows 1 and 2 are equal and of class 0 and the rest"):
        SVC(multi_class="ovr", C=np.inf).fit([[0.0], [1.0], [1.0], [3.0], [4.0], [5.0]], [0, 0, 1, 1, 2, 2])


def test_small_machines_beside_large_ones_are_what_they_are_alone(monkeypatch):
    """Pairs of few rows run side by side, one of many rows has the threads to itself; layouts are LIBSVM's."""
    from separatrix.models.margin import support_vector_classifier as module

    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), [160, 150, 40, 30])
    X = rng.normal(size=(len(y), 4)) + np.eye(4)[y]
    alone = SVC().fit(X, y)
    monkeypatch.setattr(module, "SOME", 200)
    monkeypatch.setattr(module, "WORTH_THREADS", 0)
    model, peer = SVC().fit(X, y), Peer().fit(X, y)
    np.testing.assert_array_equal(model.support_, alone.support_)
    np.testing.assert_array_equal(model.dual_coef_, alone.dual_coef_)
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert abs(model.decision_function(X) - peer.decision_function(X)).max() < 0.02
