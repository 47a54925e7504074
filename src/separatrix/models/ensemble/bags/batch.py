"""Bags of logistic regressions as one batch, and their vote as one product:

    fit       one sweep serves all bags (solve/batch.py), equal to B fits with sample_weight = c_b
    predict   (1/B) Σ_b P_b(k | x),  the scores of all bags from one product (n × p)(p × B)

Notes [6321] "Bagging". Row E3 of the specification. Cost: O(npKB) a sweep, O(npKB) a prediction.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.core.losses import Logistic, Multinomial
from separatrix.core.numerics import FloatArray, Index, expit, softmax
from separatrix.data.rows import Rows
from separatrix.models.linear.logistic import LogisticRegression
from separatrix.models.linear.verdicts import shown_rounding
from separatrix.models.parameters import class_factors
from separatrix.solve.batch import BagWeights, fit_batch
from separatrix.solve.linear import Problem
from separatrix.verdict.verdict import Verdict

MOST_PARAMETERS = 600  # beyond, a Hessian for each bag's proof costs more than the batch saves
BAG_SCORES = 1 << 22  # scores of a group of bags, rows × bags × classes, held at once
NO_INFERENCE = (
    "this fit is one of a batch of bags, whose rows repeat each other: standard errors and tests need a fit to "
    "the rows themselves"
)


def batches(model: Any, X: Any) -> bool:
    """Whether bags of this learner on X (an array) are fitted as a batch: plain ridge or maximum likelihood."""
    if type(model) is not LogisticRegression or not isinstance(X, np.ndarray) or X.dtype.kind not in "fiub":
        return False
    plain = (
        model.penalty in ("deprecated", "l2", None)
        and model.solver in ("auto", "newton", "newton-cholesky")
        and not (model.solver_options or model.record_path or model.verbose or model.warm_start)
    )
    return bool(plain and X.dtype not in (np.float16, np.longdouble) and len(X) > X.shape[1])


@dataclass(frozen=True, eq=False)
class LinearBatch:
    """The fitted bags (None where a bag needs a fit of its own) and how many sweeps made them."""

    models: list[LogisticRegression | None]
    sweeps: float
    own_hessians: int


def fit_logistic_bags(
    model: LogisticRegression,
    X: np.ndarray,
    codes: Index,
    classes: np.ndarray,
    counts: np.ndarray,
    row: FloatArray | None,
    seeds: Sequence[int],
) -> LinearBatch | None:
    """One fit for each row of ``counts`` (B, n), as ``model`` makes it with those sample weights (times ``row``).

    None where no batch can be made: a column that is not finite, rows that give no start, too many parameters. A
    bag in which a class is missing is left out of the batch.
    """
    began = time.perf_counter()
    model._check_parameters()
    n, p = X.shape
    k = len(classes)
    heads = 1 if k == 2 else k - 1
    if (p + 1) * heads > MOST_PARAMETERS:
        return None
    totals = _class_totals(counts, codes, row, k)
    whole = np.flatnonzero((totals > 0).all(axis=1))
    if len(whole) < 2:
        return None
    factor = None
    if model.class_weight is not None:
        factor = np.array([class_factors(model.class_weight, classes, t) for t in totals[whole]])
    weights = BagWeights(counts if len(whole) == len(counts) else counts[whole], codes, row, factor)
    target = codes * 2.0 - 1.0 if k == 2 else codes
    everywhere = None if row is None and factor is None else _typical_weight(row, factor, codes, n)
    rows = Rows.of(X, target, everywhere)
    moments = rows.moments()
    if not (np.isfinite(moments.mean).all() and np.isfinite(moments.variance).all()):
        return None
    C = np.inf if model.penalty is None else float(model.C)
    loss, classes_k = (Logistic(), None) if k == 2 else (Multinomial(), k)
    problem = Problem(rows, moments, loss, 0.0, bool(model.fit_intercept), classes_k)
    fit = fit_batch(problem, weights, C, float(model.tol))
    if fit is None:
        return None
    out: list[LogisticRegression | None] = [None] * len(counts)
    failed = set(fit.failed.tolist())
    sweeps = fit.sweeps + fit.start_sweeps
    seconds = (time.perf_counter() - began) / len(whole)
    for i, b in enumerate(whole.tolist()):
        if i in failed:
            continue
        one = clone(model).set_params(random_state=seeds[b])
        one.classes_, one.n_features_in_ = classes, p
        one._keep_numbers(fit.coef[i], fit.intercept[i], rows, moments, bool(model.fit_intercept))
        shown = shown_rounding(one, problem) ** 2
        one.n_iter_ = np.array([int(fit.sweeps)], dtype=np.int32)
        one.solver_ = "newton"
        one._no_inference_ = NO_INFERENCE
        one.verdict_ = Verdict(
            "LogisticRegression",
            "optimal",
            float(fit.value[i]),
            float(fit.gap[i]) + shown,
            float(fit.goal[i]) + 2 * shown,
            not (np.isinf(C) and moments.constant.any()),
            sweeps,
            seconds,
            "gap ≤ tol",
            ("fitted in one batch with other bags; the proof is this bag's own",),
            method="newton",
        )
        out[b] = one
    return LinearBatch(out, sweeps, fit.own_hessians)


def _class_totals(counts: np.ndarray, codes: Index, row: FloatArray | None, k: int) -> FloatArray:
    """Weight of every class in every bag (B, K)."""
    small = row is None and counts.dtype == np.uint8
    member = (codes[:, None] == np.arange(k)).astype(np.float32 if small else np.float64)
    if not small:
        return np.asarray(counts @ (member if row is None else member * row[:, None]), dtype=float)
    # sums of whole numbers up to 2²⁴ are exact in single precision: tiles of rows keep them there
    out = np.zeros((len(counts), k))
    for a in range(0, counts.shape[1], 1 << 16):
        out += counts[:, a : a + (1 << 16)].astype(np.float32) @ member[a : a + (1 << 16)]
    return out


def _typical_weight(row: FloatArray | None, factor: FloatArray | None, codes: Index, n: int) -> FloatArray:
    """Weights of the rows whose optimum the bags start from."""
    weight = np.ones(n) if row is None else row
    return weight if factor is None else weight * factor.mean(axis=0)[codes]


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
        if not all(m.classes_ is classes or m.classes_.tolist() == classes.tolist() for m in models):
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
