"""Bags of trees on columns read once:  Binned.of(X) for all bags, then one tree a bag with c_b as weights.

A tree fitted alone bins its own rows at quantiles of their weight; here the quantiles are those of all rows, so trees
equal those of single fits where columns have at most 255 distinct values, and nearly elsewhere.
Notes [6321] "Bagging". Row E3 of the specification. Cost: O(np log n) to bin, then O(np) a level and tree.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.growth.forest import grow_forest
from separatrix.growth.growers import Binned, Columns
from separatrix.models.ensemble.bags.plan import Bag, Fits, Plan, run_bags
from separatrix.models.ensemble.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from separatrix.models.parameters import class_factors, seed_of
from separatrix.problems.gram import Index


def fit_shared_trees(plan: Plan, bags: Sequence[int], verbose: int) -> Fits | None:
    """One tree for each bag; None where the bags are no trees of this library that can share their columns."""
    draws, base = plan.draws, plan.base
    kind = DecisionTreeRegressor if plan.classes is None else DecisionTreeClassifier
    if type(base) is not kind or base.categorical_features is not None or plan.y.ndim > 1:
        return None
    if not (hasattr(plan.X, "dtype") and (draws.all_columns or base.splitter == "best")):
        return None
    reader = plan.learner(0)
    reader._check()
    cells = reader._read_cells(plan.X, reset=True)
    columns = reader._columns(cells, draws.weight, base.splitter == "best")
    done, interrupted = run_bags(partial(_grow, plan, columns), bags, verbose)
    return Fits(done, interrupted, "grown on columns read once for all bags, counts as weights")


def _grow(plan: Plan, columns: Binned | Columns, bag: int) -> Bag:
    began = time.perf_counter()
    draws, model = plan.draws, plan.learner(bag)
    counts = draws.counts(bag)
    weight = draws.weights(counts)
    findings: list[str] = []
    model.n_features_in_, model._nominal = draws.width, None
    here = np.flatnonzero(counts)
    options = model._options(len(here))
    target, k = plan.y, 0
    if plan.codes is not None and plan.classes is not None:
        target, k = plan.codes, len(plan.classes)
        totals = np.bincount(target, weight, minlength=k).astype(float)
        seen = totals > 0
        constant = plan.constant_vote(seen, bag)
        if constant is not None:
            return constant
        model.classes_, model.n_classes_ = plan.classes, k
        weight *= _factors(model.class_weight, plan.classes, totals, seen)[target]
        findings = model._rare(target[here], options.min_leaf) if seen.all() else []
    if isinstance(columns, Binned) and not draws.all_columns:
        columns = _some(columns, draws.columns(bag))
    model._forest = grow_forest(columns, target, k, options, seed_of(model.random_state), 1, weight)
    model.verdict_ = model._verdict(began, columns, findings, len(here))
    return Bag(model)


def _factors(class_weight: Any, classes: np.ndarray, totals: FloatArray, seen: np.ndarray) -> FloatArray:
    """Class weights as a fit to the classes of the bag would take them."""
    out = np.ones(len(classes))
    if class_weight is None:
        return out
    if not isinstance(class_weight, str):
        return class_factors(class_weight, classes, totals)
    out[seen] = class_factors(class_weight, classes[seen], totals[seen])
    return out


def _some(columns: Binned, which: Index) -> Binned:
    """Some of the binned columns, repeats allowed."""
    return replace(
        columns,
        codes=columns.codes[which],
        low=columns.low[which],
        high=columns.high[which],
        nominal=columns.nominal[which],
        coarse=columns.coarse[which],
    )
