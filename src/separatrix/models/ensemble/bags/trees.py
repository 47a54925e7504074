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
from separatrix.growth.growers import Binned
from separatrix.growth.trees import Forest
from separatrix.models.ensemble.bags.each import Bag, Plan, constant_vote, run_bags
from separatrix.models.ensemble.decision_tree import TREES
from separatrix.models.parameters import class_factors, seed_of
from separatrix.problems.gram import Index


def grows_together(plan: Plan) -> bool:
    """Whether the bags are trees of this library that can share their columns."""
    base = plan.base
    if type(base) not in TREES or base.categorical_features is not None or plan.y.ndim > 1:
        return False
    return hasattr(plan.X, "dtype") and (plan.draws.all_columns or base.splitter == "best")


def fit_tree_bags(plan: Plan, bags: Sequence[int], verbose: int) -> tuple[dict[int, Bag], bool]:
    """One tree for each bag; and whether Ctrl-C cut the work short."""
    draws, base = plan.draws, plan.learner(0)
    base._check()
    if plan.classes is not None:
        base._check_weights()
    cells = base._read_cells(plan.X, reset=True)
    columns = base._columns(cells, draws.weight, base.splitter == "best")
    target = plan.y if plan.codes is None else plan.codes

    return run_bags(partial(_grow, plan, columns, target), bags, verbose)


def _grow(plan: Plan, columns: Any, target: np.ndarray, bag: int) -> Bag:
    began = time.perf_counter()
    draws, model = plan.draws, plan.learner(bag)
    counts = draws.counts(bag)
    weight = counts.astype(float)
    if draws.weight is not None and not draws.bootstrap:
        weight *= draws.weight
    findings: list[str] = []
    model.n_features_in_, model._nominal = draws.width, None
    here = np.flatnonzero(counts)
    options = model._options(len(here))
    k = 0
    if plan.classes is not None:
        k = len(plan.classes)
        totals = np.bincount(target, weight, minlength=k).astype(float)
        seen = totals > 0
        if seen.sum() == 1 < k:
            return Bag(constant_vote(plan, int(np.flatnonzero(seen)[0]), bag), constant=True)
        model.classes_, model.n_classes_ = plan.classes, k
        weight *= _factors(model.class_weight, plan.classes, totals, seen)[target]
        findings = model._rare(target[here], options.min_leaf) if seen.all() else []
    if not draws.all_columns:
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


def same_classes(these: np.ndarray, those: np.ndarray) -> bool:
    """Whether two models know the same labels in the same order."""
    return these is those or these.tolist() == those.tolist()
