"""Forests:  f(x) = (1/M) Σ_m f_m(x), the mean of trees grown with randomness of their own ([6321]; rows E3, E4).

    rows       each tree's bag: drawn with replacement (``bootstrap``), or all of them
    columns    K of p looked at in every node, anew
    splits     the best of these (random forests), or a random threshold for each and the best of them (extra-trees)

``estimators_`` are trees like any other, each with the ``random_state`` that draws its bag and its columns:
predictions go through the list as it stands. Shapes: X (n, p), y (n,). Cost: see :mod:`separatrix.growth.trees`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_count
from separatrix.growth.forest import grow_forest, tree_seeds
from separatrix.growth.trees import Forest
from separatrix.models.ensemble.bags.draws import Draws, rows_a_bag
from separatrix.models.ensemble.bags.trees import same_classes
from separatrix.models.ensemble.decision_tree import TREES, DecisionTreeClassifier, DecisionTreeRegressor
from separatrix.models.ensemble.members import Members
from separatrix.models.ensemble.tree_base import (
    TreeClassifier,
    TreeModel,
    TreeRegressor,
    _is_word,
    read_numbers,
)
from separatrix.models.parameters import class_factors, seed_of, threads

NORMAL = 1.959963984540054  # the normal quantile of a 95 % interval
SHARED = (
    "criterion", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "max_features",
    "max_leaf_nodes", "min_impurity_decrease", "ccp_alpha", "monotonic_cst", "categorical_features",
)  # fmt: skip


class ForestModel(Members, TreeModel):
    """Many random trees: bags, growth, out-of-bag estimates, importances."""

    n_estimators: int
    bootstrap: bool
    oob_score: Any
    n_jobs: int | None
    random_state: Any
    verbose: int
    warm_start: bool
    max_samples: Any

    _seed: int
    _rows: int
    _draws: Draws | None
    _splitter = "best"

    @property  # of a single tree it is an attribute, here worked out from the list
    def _forest(self) -> Forest:  # type: ignore[override]
        """The trees of ``estimators_`` as they stand."""
        members = self._voters()
        for m in members:
            if type(m) not in TREES or not hasattr(m, "_forest"):
                raise TypeError(
                    f"estimators_ of {type(self).__name__} holds {type(m).__name__}: a forest is the mean of fitted "
                    "trees; for other learners use a voting ensemble"
                )
        parts = [m._forest for m in members]
        first, classes = parts[0], getattr(self, "classes_", None)
        known = getattr(members[0], "classes_", None)
        width = 1 if classes is None else len(classes)
        for m, part in zip(members, parts, strict=True):
            there = getattr(m, "classes_", None)
            same = there is known or (there is not None and known is not None and same_classes(there, known))
            if not same or part.trees[0].leaf_value.shape[1] != width:
                raise ValueError(
                    "estimators_ holds trees of other classes than the forest's: their means would mix them up"
                )
            if part.dtype != first.dtype or len(part.nominal) != self.n_features_in_:
                raise ValueError(
                    "estimators_ holds trees that read other columns: keep those grown as this forest's were"
                )
        trees = tuple(p.trees[0] for p in parts)
        return Forest(trees, tuple(range(len(trees))), len(trees), first.nominal, first.dtype)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows of each tree's bag, repeated as often as drawn; all rows without bootstrap.

        Rows are numbered among those of weight above zero.
        """
        check_is_fitted(self)
        rows = np.arange(self._rows)
        if self._draws is None:
            return [rows] * len(self)
        return [np.repeat(rows, self._bag(t).astype(np.intp)) for t in range(len(self))]

    def apply(self, X: Any) -> np.ndarray:
        """The node each row falls into in each tree (n, M)."""
        cells = self._read_for_prediction(X)
        with threads(self.n_jobs):
            return self._forest.ends(cells)

    def decision_path(self, X: Any) -> tuple[Any, np.ndarray]:
        """The nodes each row passes, CSR (n, nodes of all trees), and where each tree's nodes begin (M + 1,)."""
        with threads(self.n_jobs):
            return self._paths(self._read_for_prediction(X))

    def permutation_importance(
        self, X: Any, y: Any, *, n_repeats: int = 5, random_state: Any = None, out_of_bag: bool = False
    ) -> Bunch:
        """score(X, y) − score(X with column j shuffled, y): what is lost without a column's order.

        With ``out_of_bag`` X and y are those of training, every tree is asked about the rows outside its bag alone,
        and the loss is the mean over trees: no rows need be held out. Returns ``importances`` (p, n_repeats),
        ``importances_mean`` and ``importances_std`` (p,). Cost: p · n_repeats predictions.
        """
        cells = self._read_for_prediction(X)
        target = self._numbered(y, len(cells))
        if not (is_count(n_repeats) and n_repeats >= 1):
            raise ValueError(f"n_repeats must be a whole number of at least 1, got {n_repeats!r}")
        if out_of_bag and self._draws is None:
            raise ValueError(
                "out_of_bag=True needs bags: fit with bootstrap=True, or give rows that were held out"
            )
        if out_of_bag and len(cells) != self._rows:
            raise ValueError(
                f"out_of_bag=True needs the {self._rows} rows of training (of weight above zero), in their order; "
                f"got {len(cells)}"
            )
        rng = np.random.default_rng(seed_of(random_state))
        whole = self._forest
        cells = np.array(cells, dtype=whole.dtype, order="C")
        parts = self._outside() if out_of_bag else [(whole, np.arange(len(cells)))]
        losses = np.zeros((cells.shape[1], n_repeats))
        with threads(self.n_jobs):
            for forest, rows in parts:
                table, z = cells[rows], target[rows]
                full = self._quality(forest.mean(table), z)
                for j in range(cells.shape[1]):
                    kept = table[:, j].copy()
                    for r in range(n_repeats):
                        table[:, j] = rng.permutation(kept)
                        losses[j, r] += full - self._quality(forest.mean(table), z)
                    table[:, j] = kept
        losses /= max(len(parts), 1)
        return Bunch(
            importances=losses, importances_mean=losses.mean(axis=1), importances_std=losses.std(axis=1)
        )

    def _outside(self) -> list[tuple[Forest, np.ndarray]]:
        """Each tree as a forest of its own, with the rows outside its bag."""
        forest = self._forest
        found = []
        for t, tree in enumerate(forest.trees):
            rows = np.flatnonzero(self._bag(t) == 0)
            if len(rows) > 1:
                found.append((replace(forest, trees=(tree,), numbers=(t,), asked=1), rows))
        return found

    def _quality(self, mean: FloatArray, target: np.ndarray) -> float:
        raise NotImplementedError

    def _numbered(self, y: Any, n: int) -> np.ndarray:
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ growth

    def _check(self) -> None:
        self._check_growth()
        if not (is_count(self.n_estimators) and self.n_estimators >= 1):
            raise ValueError(f"n_estimators must be a whole number of at least 1, got {self.n_estimators!r}")
        if self.n_jobs is not None and (not is_count(self.n_jobs) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be None or a whole number other than 0, got {self.n_jobs!r}")
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score needs bags: set bootstrap=True, or oob_score=False")
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError("max_samples is the size of a bag: set bootstrap=True, or max_samples=None")

    def _drawing(self, n: int, p: int, weight: FloatArray | None) -> Draws | None:
        """How bags are drawn: in proportion to weight, so that a row of weight 2 is drawn as two rows would be."""
        if not self.bootstrap:
            return None
        return Draws(n, p, rows_a_bag(self.max_samples, n, weight, True), p, 0, weight=weight)

    def _bag(self, place: int) -> FloatArray:
        """How often each row is in the bag of estimators_[place], drawn from its random_state alone."""
        seed = self.estimators_[place].random_state
        if not is_count(seed):
            raise AttributeError(
                f"estimators_[{place}] has random_state={seed!r}, and its bag is drawn from that number: it was not "
                "grown by this forest"
            )
        return _counts(self._draws, int(seed))

    def _grow(
        self,
        cells: np.ndarray,
        y: np.ndarray,
        classes: int,
        weight: FloatArray | None,
        reweight: Callable[[FloatArray], FloatArray] | None = None,
    ) -> tuple[Any, int]:
        """Grow what is missing of n_estimators trees; the columns they were grown on, and how many are missing."""
        n = len(cells)
        old = list(getattr(self, "estimators_", ())) if self.warm_start else []
        if old and self._forest.nominal.shape != (cells.shape[1],):
            raise ValueError(
                f"warm_start: the trees so far were grown on {len(self._forest.nominal)} columns, X has "
                f"{cells.shape[1]}"
            )
        if len(old) > self.n_estimators:
            raise ValueError(
                f"warm_start adds trees: n_estimators={self.n_estimators} is less than the {len(old)} there are"
            )
        seed = self._seed if old else seed_of(self.random_state)
        draws = self._drawing(n, cells.shape[1], weight)
        options = self._options(n)
        columns = self._columns(cells, weight, exact=self._splitter == "best")
        here = {t.random_state for t in old}
        seeds = [s for s in tree_seeds(seed, self.n_estimators + len(old)) if s not in here]
        seeds = seeds[: self.n_estimators - len(old)]

        def weights(tree: int) -> FloatArray | None:
            w = weight if draws is None else _counts(draws, seeds[tree])
            return w if reweight is None else reweight(np.ones(n) if w is None else w)

        say = self._say(len(old)) if self.verbose else None
        new: list[Any] = []
        if not seeds:
            warn(f"warm_start=True and the {len(old)} trees asked for are there already: nothing was grown")
        else:
            grown = grow_forest(columns, y, classes, options, 0, len(seeds), weights, seeds=seeds, report=say)
            new = [
                self._member(seeds[t], replace(grown, trees=(tree,), numbers=(0,), asked=1))
                for t, tree in zip(grown.numbers, grown.trees, strict=True)
            ]
        self._seed, self._rows, self._draws = seed, n, draws
        self.estimator_ = self._unfitted(None)
        self.estimators_ = [*old, *new]
        return columns, len(seeds) - len(new)

    def _member(self, seed: int, forest: Forest) -> Any:
        """One tree, as an estimator of its own."""
        tree = self._unfitted(seed)
        tree._forest, tree._nominal, tree.n_features_in_ = forest, self._nominal, self.n_features_in_
        if isinstance(self, TreeClassifier):
            tree.classes_, tree.n_classes_ = self.classes_, self.n_classes_
        tree.verdict_ = tree._verdict(time.perf_counter(), None, [], int(forest.trees[0].count[0]))
        return tree

    def _unfitted(self, seed: int | None) -> Any:
        """A tree as this forest grows them."""
        kind: Any = DecisionTreeRegressor if isinstance(self, TreeRegressor) else DecisionTreeClassifier
        shared = {name: getattr(self, name) for name in SHARED}
        return kind(splitter=self._splitter, random_state=seed, **shared)

    def _say(self, before: int) -> Callable[[int], None]:
        every = max(1, self.n_estimators // 10)

        def report(tree: int) -> None:
            number = before + tree + 1
            if self.verbose > 1 or number % every == 0:
                print(f"tree {number} of {self.n_estimators}")

        return report

    def _forest_mean(self, X: Any) -> FloatArray:
        cells = self._read_for_prediction(X)
        with threads(self.n_jobs):
            return self._forest.mean(cells)

    def _out_of_bag(self, cells: np.ndarray) -> tuple[FloatArray, np.ndarray]:
        """The mean over the trees whose bag a row is not in (n, V), and how many there are (n,)."""
        forest = self._forest
        value, count = forest.mean_outside(cells, self._bag)
        with np.errstate(invalid="ignore"):
            return value / count[:, None], count


class ForestClassifier(ForestModel, TreeClassifier):
    """P(k | x) = (1/M) Σ_m the share of class k in the leaf of tree m that x falls into."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the trees on rows X (n, p) with labels y (n,); a weight counts as repetition, zero as absence."""
        began = time.perf_counter()
        self._check()
        self._check_weights()
        known = self.classes_ if self.warm_start and getattr(self, "estimators_", None) else None
        cells, codes, weight = self._read_fit(X, y, sample_weight)
        if known is not None and known.tolist() != self.classes_.tolist():
            new, self.classes_ = self.classes_, known
            raise ValueError(
                f"warm_start: the trees so far know the classes {known.tolist()}, y has {new.tolist()}"
            )
        k = len(self.classes_)
        reweight = None
        if _is_word(self.class_weight, "balanced_subsample"):

            def reweight(w: FloatArray) -> FloatArray:
                totals = np.bincount(codes, w, minlength=k).astype(float)
                there = totals > 0
                factor = np.zeros(k)
                factor[there] = class_factors("balanced", self.classes_[there], totals[there])
                return w * factor[codes]

        findings = self._rare(codes, self._options(len(cells)).min_leaf)
        with threads(self.n_jobs):
            columns, missing = self._grow(cells, codes, k, weight, reweight)
            if self.oob_score:
                findings += self._judge(cells, codes)
        self.verdict_ = self._verdict(began, columns, findings, len(cells), missing)
        return self

    def _judge(self, cells: np.ndarray, codes: np.ndarray) -> list[str]:
        """Set the out-of-bag estimates; a sentence for the verdict."""
        self.oob_decision_function_, count = self._out_of_bag(cells)
        seen = count > 0
        if not seen.any():
            self.oob_score_ = np.nan
            return ["out of bag: every row is in every bag, grow more trees"]
        found = self.oob_decision_function_[seen].argmax(axis=1)
        rule = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = float(rule(self.classes_[codes[seen]], self.classes_[found]))
        low, high = wilson(int((found != codes[seen]).sum()), int(seen.sum()))
        wrong = float((found != codes[seen]).mean())
        words = f"out-of-bag error {wrong:.3g}, 95 % interval {low:.3g} to {high:.3g}, {int(seen.sum())} rows"
        never = int((~seen).sum())
        return [f"{words}; {never} rows are in every bag, grow more trees" if never else words]

    def _quality(self, mean: FloatArray, target: np.ndarray) -> float:
        return float((mean.argmax(axis=1) == target).mean())

    def _numbered(self, y: Any, n: int) -> np.ndarray:
        return self._codes_of(y, n)


class ForestRegressor(ForestModel, TreeRegressor):
    """f(x) = (1/M) Σ_m the value of the leaf of tree m that x falls into."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the trees on rows X (n, p) with targets y (n,); a weight counts as repetition, zero as absence."""
        began = time.perf_counter()
        self._check()
        cells, z, weight = self._read_fit(X, y, sample_weight)
        findings: list[str] = []
        with threads(self.n_jobs):
            columns, missing = self._grow(cells, z, 0, weight)
            if self.oob_score:
                findings = self._judge(cells, z)
        self.verdict_ = self._verdict(began, columns, findings, len(cells), missing)
        return self

    def _judge(self, cells: np.ndarray, z: FloatArray) -> list[str]:
        """Set the out-of-bag estimates; a sentence for the verdict."""
        value, count = self._out_of_bag(cells)
        self.oob_prediction_ = value[:, 0]
        seen = count > 0
        if int(seen.sum()) < 2:
            self.oob_score_ = np.nan
            return ["out of bag: fewer than two rows are outside a bag, grow more trees"]
        rule = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = float(rule(z[seen], self.oob_prediction_[seen]))
        square = (z[seen] - self.oob_prediction_[seen]) ** 2
        wide = NORMAL * float(square.std() / np.sqrt(len(square)))
        mean = float(square.mean())
        return [
            f"out-of-bag squared error {mean:.4g}, 95 % interval {max(mean - wide, 0.0):.4g} to {mean + wide:.4g}, "
            f"{int(seen.sum())} rows"
        ]

    def _quality(self, mean: FloatArray, target: np.ndarray) -> float:
        return float(r2_score(target, mean[:, 0]))

    def _numbered(self, y: Any, n: int) -> np.ndarray:
        return read_numbers(y, n)


def _counts(draws: Any, seed: int) -> FloatArray:
    """How often each row is in the bag that belongs to a seed (n,)."""
    return np.asarray(replace(draws, seed=seed).counts(0), dtype=float)


def wilson(wrong: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's score, which stays inside [0, 1].

    >>> tuple(round(v, 3) for v in wilson(0, 10))
    (0.0, 0.278)
    """
    z = NORMAL
    share, scale = wrong / n, 1.0 + z * z / n
    middle = (share + z * z / (2 * n)) / scale
    half = z * float(np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))) / scale
    return max(middle - half, 0.0), min(middle + half, 1.0)
