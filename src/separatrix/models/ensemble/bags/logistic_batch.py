"""Bags of logistic regressions as one batch:  a sweep serves all bags, equal to B fits with sample_weight = c_b.

    solve/batch.py     Newton steps of all bags at once, each with a proof of its own

Notes [6321] "Bagging". Row E3 of the specification. Cost: O(npKB) a sweep.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from separatrix.core.losses import Logistic, Multinomial
from separatrix.core.numerics import FloatArray
from separatrix.data.interrupts import until_interrupted
from separatrix.data.rows import Rows
from separatrix.models.ensemble.bags.one_by_one import fit_one_by_one
from separatrix.models.ensemble.bags.plan import Bag, Fits, Plan
from separatrix.models.linear.logistic import LogisticRegression
from separatrix.models.linear.verdicts import shown_rounding
from separatrix.models.parameters import class_factors
from separatrix.problems.gram import Index
from separatrix.solve.batch import BagWeights, BatchFit, fit_batch
from separatrix.solve.linear import Problem
from separatrix.solve.registry import NEWTON, may_be_newton
from separatrix.verdict.build import proven

MOST_PARAMETERS = 600  # beyond, a Hessian for each bag's proof costs more than the batch saves
NO_INFERENCE = (
    "this fit is one of a batch of bags, whose rows repeat each other: standard errors and tests need a fit to "
    "the rows themselves"
)


def fit_logistic_batch(plan: Plan, bags: Sequence[int], verbose: int) -> Fits | None:
    """All bags at once, those the batch does not serve one by one; None where no batch can be made."""
    began = time.perf_counter()
    draws = plan.draws
    if plan.thin or not draws.all_columns or not _batches(plan):
        return None
    counts = draws.table(bags)
    found = _fit(plan, counts, [draws.learner_seed(b) for b in bags])
    if found is None:
        return None
    served, sweeps, own_hessians = found
    models = {bags[i]: Bag(model) for i, model in served.items()}
    alone = [b for b in bags if b not in models]
    interrupted = False
    how = f"in one batch, {sweeps:.3g} sweeps serving {len(models)} bags"
    if own_hessians:
        how += f", {own_hessians} of them with their own Hessian"
    if alone:
        done: dict[int, Bag] = {}
        interrupted = True
        with until_interrupted():
            rest = fit_one_by_one(plan, alone, verbose)
            done, interrupted = rest.models, rest.interrupted
        if interrupted and not (models or done):
            raise KeyboardInterrupt("no bag was finished")
        models |= done
        how += f"; {len(alone)} one by one, which the batch did not serve"
    if verbose:
        print(f"  {len(models)} bags in {time.perf_counter() - began:.2f} s", file=sys.stderr)
    return Fits(models, interrupted, how, sweeps)


def _batches(plan: Plan) -> bool:
    """Whether the learner and the table are such that a batch may serve: plain ridge or maximum likelihood."""
    model, X = plan.base, plan.X
    if type(model) is not LogisticRegression or plan.classes is None or len(plan.classes) < 2:
        return False
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "fiub" or X.dtype in (np.float16, np.longdouble):
        return False
    plain = (
        model.penalty in ("deprecated", "l2", None)
        and may_be_newton(model.solver)
        and not (model.solver_options or model.record_path or model.verbose or model.warm_start)
    )
    return bool(plain and len(X) > X.shape[1])


def _fit(
    plan: Plan, counts: np.ndarray, seeds: Sequence[int]
) -> tuple[dict[int, LogisticRegression], float, int] | None:
    """The fits to rows of ``counts`` (B, n) by their place, the sweeps of all, and how many had their own Hessian.

    None where no batch can be made: a column that is not finite, rows that give no start, too many parameters. A
    bag in which a class is missing is left out of the batch.
    """
    began = time.perf_counter()
    model, X, codes, classes, row = plan.base, plan.X, plan.codes, plan.classes, plan.draws.kept_weight
    assert codes is not None and classes is not None
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
    sweeps = fit.sweeps + fit.start_sweeps
    seconds = (time.perf_counter() - began) / len(whole)
    unique = not (np.isinf(C) and moments.constant.any())
    failed = set(fit.failed.tolist())
    out = {
        b: _one(model, fit, i, problem, classes, unique, seconds).set_params(random_state=seeds[b])
        for i, b in enumerate(whole.tolist())
        if i not in failed
    }
    return out, sweeps, fit.own_hessians


def _one(
    model: LogisticRegression,
    fit: BatchFit,
    i: int,
    problem: Problem,
    classes: np.ndarray,
    unique: bool,
    seconds: float,
) -> LogisticRegression:
    """Fit number i of the batch, as an estimator of its own."""
    one = clone(model)
    one.classes_, one.n_features_in_ = classes, problem.rows.p
    one._keep_numbers(fit.coef[i], fit.intercept[i], problem.rows, problem.moments, bool(model.fit_intercept))
    shown = shown_rounding(one, problem) ** 2
    one.n_iter_ = np.array([int(fit.sweeps)], dtype=np.int32)
    one.solver_ = NEWTON.name
    one._no_inference_ = NO_INFERENCE
    one.verdict_ = proven(
        one, scale="mean loss", objective=fit.value[i], gap=float(fit.gap[i]) + shown,
        tol=float(fit.goal[i]) + 2 * shown, unique=unique, sweeps=fit.sweeps + fit.start_sweeps,
        seconds=seconds, stopped_by="gap ≤ tol",
        findings=("fitted in one batch with other bags; the proof is this bag's own",), method=NEWTON.name,
    )  # fmt: skip
    return one


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
