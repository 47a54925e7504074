"""Kernels that are functions: rows that are no numbers are given to them as they are. Edits of kernel machines."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC as Peer

from separatrix import SVC, SVR, NuSVC, verify

WORDS = ["abba", "baab", "abab", "bbaa", "xyxx", "yyxy", "xxyy", "yxyx", "aabb", "xyyx"]
KIND = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 1])


def common(a, b):
    """Letters in common; the function sees what fit and predict were given, never a table of numbers."""
    assert all(isinstance(word, str) for side in (a, b) for word in side)
    return np.array([[sum(min(s.count(c), t.count(c)) for c in set(s)) for t in b] for s in a], dtype=float)


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda w: np.array(w, dtype=object)])
def test_words(form):
    model, peer = (
        SVC(kernel=common, C=2.0, tol=1e-8).fit(form(WORDS), KIND),
        Peer(kernel=common, C=2.0, tol=1e-8),
    )
    peer.fit(list(WORDS), KIND)
    new = ["aaab", "yxxx", "abxy"]
    assert model.predict(form(new[:2])).tolist() == [0, 1] and model.score(form(WORDS), KIND) == 1.0
    np.testing.assert_allclose(model.decision_function(form(new)), peer.decision_function(new), atol=1e-6)
    assert verify(model, form(WORDS), KIND).status == model.verdict_.status == "optimal"
    assert len(model.support_vectors_) == len(model.support_) and not hasattr(model, "n_features_in_")
    P = NuSVC(kernel=common, nu=0.3, probability=True).fit(form(WORDS), KIND).predict_proba(form(new))
    assert P.argmax(axis=1)[:2].tolist() == [0, 1]
    number = SVR(kernel=common, C=10.0).fit(form(WORDS), KIND).predict(form(new))
    assert number[0] < 0.3 and number[1] > 0.7


def test_lists_of_unlike_lengths_and_many_blocks():
    rows = [[1.0] * (1 + i % 3) for i in range(40)]

    def lengths(a, b):
        assert isinstance(a, list)
        return np.exp(-(np.subtract.outer([len(r) for r in a], [len(r) for r in b]) ** 2.0))

    y = np.array([len(r) == 2 for r in rows])
    assert SVC(kernel=lengths, C=10).fit(rows, y).score(rows, y) == 1.0


def test_what_a_function_may_not_return():
    with pytest.raises(ValueError, match="returned shape"):
        SVC(kernel=lambda a, b: np.ones(3)).fit(WORDS, KIND)
    with pytest.raises(ValueError, match="X is empty"):
        SVC(kernel=common).fit(np.array([], dtype=str), [])
    with pytest.raises(ValueError, match=r"could not convert|must be numbers|strings"):
        SVC().fit(np.array(WORDS)[:, None], KIND)


def test_what_you_read_is_what_predicts():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    z = X[:, 0] + 0.2 * rng.standard_normal(40)
    for model, target in (
        (SVC(kernel="linear"), z > 0),
        (SVR(kernel="linear"), z),
        (NuSVC(kernel="linear", nu=0.4), z > 0),
    ):
        model.fit(X, target)
        said = model.decision_function if hasattr(model, "decision_function") else model.predict
        before = said(X)
        model.dual_coef_ *= 2.0
        model.intercept_ *= 2.0
        np.testing.assert_allclose(said(X), 2.0 * before, atol=1e-12)
        model.support_vectors_ *= 0.0
        np.testing.assert_allclose(said(X), np.broadcast_to(model.intercept_, len(X)))
        with pytest.raises(AttributeError, match="edit these"):
            model.coef_ = np.ones((1, 2))
        with pytest.raises(ValueError, match="read-only"):
            model.coef_[0, 0] = 1.0
        assert not hasattr(type(model)().set_params(kernel="rbf").fit(X, target), "coef_")
