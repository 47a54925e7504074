"""What bags give each class:  Σ_b P_b(k | x), or Σ_b 1[b votes k], by one product, one forest, or bag by bag.

    logistic regressions   the scores of all bags from one product (n × p)(p × B)
    trees                  one forest
    any learner            predict_proba or predict, a bag after another

Notes [6321] "Bagging". Row E3 of the specification. Cost: O(npKB) for logistic regressions, else B predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray, expit, softmax
from separatrix.data.engine import each_in_threads, one_blas_thread
from separatrix.growth.trees import Forest
from separatrix.models.ensemble.bags.draws import Draws
from separatrix.models.ensemble.decision_tree import TREES
from separatrix.models.ensemble.members import same_classes
from separatrix.models.linear.logistic import LogisticRegression
from separatrix.problems.gram import Index

BAG_SCORES = 1 << 22  # scores of a group of bags, rows × bags × classes, held at once


def share_of(model: Any, X: Any, classes: np.ndarray, soft: bool, place: int) -> FloatArray:
    """What one learner gives each class (n, K): probabilities, or one vote; ``place`` names it in an error."""
    known = {v: k for k, v in enumerate(classes.tolist())}
    out = np.zeros((X.shape[0], len(classes)))
    try:
        if soft:
            there = getattr(model, "classes_", classes)
            out[:, [known[v] for v in there.tolist()]] = model.predict_proba(X)
        else:
            said = np.array([known[v] for v in np.asarray(model.predict(X)).tolist()], dtype=np.intp)
            out[np.arange(len(said)), said] = 1.0
    except KeyError as error:
        raise ValueError(
            f"estimators_[{place}] votes for {error.args[0]!r}, which is not in classes_: {list(known)}"
        ) from None
    return out


@dataclass(frozen=True, eq=False)
class LinearVotes:
    """Rules of B bags over the same columns and classes: coef (B, heads, p), intercept (B, heads)."""

    coef: FloatArray
    intercept: FloatArray

    @classmethod
    def of(cls, models: Sequence[Any], classes: np.ndarray) -> LinearVotes | None:
        """Stacked rules, where every model is a logistic regression of all these classes."""
        if not models or not all(type(m) is LogisticRegression for m in models):
            return None
        if not all(same_classes(m.classes_, classes) for m in models):
            return None
        if not all(m.n_features_in_ == models[0].n_features_in_ for m in models):
            return None
        rules = [m.rule_ for m in models]
        coef = np.array([np.atleast_2d(r.coef) for r in rules])
        intercept = np.array([np.atleast_1d(r.intercept) for r in rules])
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            return None
        return cls(coef, intercept)

    def shares(self, cells: Any, soft: bool, inside: np.ndarray | None = None) -> FloatArray:
        """Σ_b P_b(k | x) or Σ_b 1[b votes k], (n, K); with ``inside`` (B, n) only over bags where that is zero."""
        bags, heads, p = self.coef.shape
        k = 2 if heads == 1 else heads
        n = cells.shape[0]
        out = np.zeros((n, k))
        group = max(1, BAG_SCORES // max(n * heads, 1))
        for a in range(0, bags, group):
            part = slice(a, a + group)
            scores = cells @ self.coef[part].reshape(-1, p).T + self.intercept[part].ravel()
            scores = scores.reshape(n, -1, heads)
            left = None if inside is None else (inside[part] == 0).T
            if heads == 1:
                second = expit(scores[..., 0]) if soft else (scores[..., 0] > 0).astype(float)
                one = second.sum(axis=1) if left is None else (second * left).sum(axis=1)
                out[:, 1] += one
                out[:, 0] += (second.shape[1] if left is None else left.sum(axis=1)) - one
                continue
            p_k = (
                softmax(scores) if soft else (scores.argmax(axis=2)[..., None] == np.arange(k)).astype(float)
            )
            out += p_k.sum(axis=1) if left is None else (p_k * left[..., None]).sum(axis=1)
        return out

    def left_out(self, draws: Draws, bags: Index, X: np.ndarray, soft: bool) -> tuple[FloatArray, FloatArray]:
        """:meth:`shares` (n, K) over the bags a row is not in, by blocks of rows, and how many those are (n,)."""
        inside = draws.table(range(int(bags[-1]) + 1))[bags]
        size = max(256, (1 << 16) // len(bags))
        out = np.zeros((draws.n, max(self.coef.shape[1], 2)))

        def work(a: int) -> None:
            part = slice(a, a + size)
            out[part] = self.shares(X[part], soft, inside[:, part])

        with one_blas_thread():
            each_in_threads(work, range(0, draws.n, size))
        return out, (inside == 0).sum(axis=0).astype(float)


def forest_of(models: Sequence[Any], classes: np.ndarray | None) -> Forest | None:
    """The trees of bags as one forest, where every bag is a tree over all columns and classes."""
    if not models or not all(type(m) in TREES and m._nominal is None for m in models):
        return None
    first = models[0]
    if not all(m.n_features_in_ == first.n_features_in_ for m in models):
        return None
    if classes is not None and not all(same_classes(m.classes_, classes) for m in models):
        return None
    if classes is None and any(hasattr(m, "classes_") for m in models):
        return None
    forests = [m._forest for m in models]
    if any(f.dtype != forests[0].dtype for f in forests):
        return None
    trees = tuple(f.trees[0] for f in forests)
    return Forest(trees, tuple(range(len(trees))), len(trees), forests[0].nominal, forests[0].dtype)
