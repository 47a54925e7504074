"""Forests:  f(x) = (1/M) Σ_m f_m(x), the mean of trees grown with randomness of their own ([6321]; rows E3, E4).

    rows       each tree's bag: drawn with replacement (``bootstrap``), or all of them
    columns    K of p looked at in every node, anew
    splits     the best of these (random forests), or a random threshold for each and the best of them (extra-trees)

``estimators_`` are trees like any other, each with the ``random_state`` that draws its bag and its columns:
predictions go through the list as it stands. Shapes: X (n, p), y (n,). Cost: see :mod:`separatrix.growth.trees`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray
from separatrix.data.checks import check_count, is_count
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.labels import read_numbers
from separatrix.data.sources import TableLike
from separatrix.growth.forest import grow_forest, tree_seeds
from separatrix.growth.growers import Binned, Columns
from separatrix.growth.trees import Forest
from separatrix.models.ensemble.bags.draws import Draws, rows_a_bag
from separatrix.models.ensemble.bags.out_of_bag import mean_interval, share_interval
from separatrix.models.ensemble.decision_tree import TREES, DecisionTreeClassifier, DecisionTreeRegressor
from separatrix.models.ensemble.members import Members, same_classes
from separatrix.models.ensemble.tree_base import TreeClassifier, TreeModel, TreeRegressor
from separatrix.models.ensemble.tree_limits import LIMITS, is_word
from separatrix.models.parameters import class_factors, seed_of, threads

SHARED = (*LIMITS, "criterion", "max_features", "ccp_alpha", "monotonic_cst", "categorical_features")
AnyTree = DecisionTreeClassifier | DecisionTreeRegressor


@constructor
class ForestModel(Members, TreeModel):
    """Many random trees: bags, growth, out-of-bag estimates; the parameters before those that one twin alone has."""

    n_estimators: int = 100
    _: KW_ONLY
    criterion: str = "gini"
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: Any = "sqrt"
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    bootstrap: bool = True
    oob_score: Any = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    warm_start: bool = False

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

    def apply(self, X: TableLike) -> np.ndarray:
        """The node each row falls into in each tree (n, M)."""
        cells = self._read_for_prediction(X)
        with threads(self.n_jobs):
            return self._forest.ends(cells)

    def decision_path(self, X: TableLike) -> tuple[csr_matrix, np.ndarray]:
        """The nodes each row passes, CSR (n, nodes of all trees), and where each tree's nodes begin (M + 1,)."""
        with threads(self.n_jobs):
            return self._paths(self._read_for_prediction(X))

    def permutation_importance(
        self,
        X: TableLike,
        y: ArrayLike,
        *,
        n_repeats: int = 5,
        random_state: Any = None,
        out_of_bag: bool = False,
    ) -> Bunch:
        """score(X, y) − score(X with column j shuffled, y): what is lost without a column's order.

        With ``out_of_bag`` X and y are those of training, every tree is asked about the rows outside its bag alone,
        and the loss is the mean over trees: no rows need be held out. Returns ``importances`` (p, n_repeats),
        ``importances_mean`` and ``importances_std`` (p,). Cost: p · n_repeats predictions.
        """
        cells = self._read_for_prediction(X)
        target = self._numbered(y, len(cells))
        check_count("n_repeats", n_repeats)
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
        """The score of leaves' means (n, V) against targets (n,)."""
        raise NotImplementedError

    def _numbered(self, y: ArrayLike, n: int) -> np.ndarray:
        """y as growth reads it."""
        raise NotImplementedError

    def _judge(self, cells: np.ndarray, target: np.ndarray) -> list[str]:
        """Set the out-of-bag estimates; a sentence for the verdict."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ growth

    def _check(self) -> None:
        super()._check()
        self._check_members()
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
        self, cells: np.ndarray, target: np.ndarray, weight: FloatArray | None
    ) -> tuple[Binned | Columns, int, list[str]]:
        with threads(self.n_jobs):
            columns, missing = self._grow_missing(cells, target, weight)
            return columns, missing, self._judge(cells, target) if self.oob_score else []

    def _grow_missing(
        self, cells: np.ndarray, target: np.ndarray, weight: FloatArray | None
    ) -> tuple[Binned | Columns, int]:
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
        seed: int = self._seed if old else seed_of(self.random_state)
        draws = self._drawing(n, cells.shape[1], weight)
        options = self._options(n)
        columns = self._columns(cells, weight, exact=self._splitter == "best")
        here = {t.random_state for t in old}
        seeds = [s for s in tree_seeds(seed, self.n_estimators + len(old)) if s not in here]
        seeds = seeds[: self.n_estimators - len(old)]

        def weights(tree: int) -> FloatArray | None:
            w = weight if draws is None else _counts(draws, seeds[tree])
            return self._reweighted(w, target)

        say = self._say(len(old)) if self.verbose else None
        new: list[AnyTree] = []
        if not seeds:
            warn(f"warm_start=True and the {len(old)} trees asked for are there already: nothing was grown")
        else:
            grown = grow_forest(
                columns, target, self._k, options, 0, len(seeds), weights, seeds=seeds, report=say
            )
            for t, tree in zip(grown.numbers, grown.trees, strict=True):
                new.append(self._member(seeds[t], replace(grown, trees=(tree,), numbers=(0,), asked=1)))
        self._seed: int = seed
        self._rows: int = n
        self._draws: Draws | None = draws
        self.estimator_ = self._unfitted(None)
        self.estimators_ = [*old, *new]
        return columns, len(seeds) - len(new)

    def _reweighted(self, weight: FloatArray | None, target: np.ndarray) -> FloatArray | None:
        """The weights of one tree's rows, where classes are balanced in every bag anew."""
        return weight

    def _member(self, seed: int, forest: Forest) -> AnyTree:
        """One tree, as an estimator of its own."""
        tree = self._unfitted(seed)
        tree._forest, tree._nominal, tree.n_features_in_ = forest, self._nominal, self.n_features_in_
        if isinstance(self, TreeClassifier) and isinstance(tree, DecisionTreeClassifier):
            tree.classes_, tree.n_classes_ = self.classes_, self.n_classes_
        return tree  # its verdict is made when it is asked for

    def _unfitted(self, seed: int | None) -> AnyTree:
        """A tree as this forest grows them."""
        kind = DecisionTreeRegressor if isinstance(self, TreeRegressor) else DecisionTreeClassifier
        shared = {name: getattr(self, name) for name in SHARED}
        return kind(splitter=self._splitter, random_state=seed, **shared)

    def _say(self, before: int) -> Callable[[int], None]:
        every = max(1, self.n_estimators // 10)

        def report(tree: int) -> None:
            number = before + tree + 1
            if self.verbose > 1 or number % every == 0:
                print(f"tree {number} of {self.n_estimators}")

        return report

    def _forest_mean(self, X: TableLike) -> FloatArray:
        with threads(self.n_jobs):
            return super()._forest_mean(X)

    def _out_of_bag(self, cells: np.ndarray) -> tuple[FloatArray, np.ndarray]:
        """The mean over the trees whose bag a row is not in (n, V), and how many there are (n,)."""
        forest = self._forest
        value, count = forest.mean_outside(cells, self._bag)
        with np.errstate(invalid="ignore"):
            return value / count[:, None], count


@constructor
class ForestClassifier(ForestModel, TreeClassifier):
    """P(k | x) = (1/M) Σ_m the share of class k in the leaf of tree m that x falls into."""

    _: KW_ONLY
    class_weight: Any = None
    ccp_alpha: float = 0.0
    max_samples: Any = None
    monotonic_cst: None = None
    categorical_features: Any = None

    def _read_fit(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray, FloatArray | None]:
        known = self.classes_ if self.warm_start and getattr(self, "estimators_", None) else None
        found = super()._read_fit(X, y, sample_weight)
        if known is not None and known.tolist() != self.classes_.tolist():
            raise ValueError(
                f"warm_start: the trees so far know the classes {known.tolist()}, y has {self.classes_.tolist()}"
            )
        return found

    def _reweighted(self, weight: FloatArray | None, target: np.ndarray) -> FloatArray | None:
        if not is_word(self.class_weight, "balanced_subsample"):
            return weight
        w = np.ones(len(target)) if weight is None else weight
        totals = np.bincount(target, w, minlength=self._k).astype(float)
        there = totals > 0
        factor = np.zeros(self._k)
        factor[there] = class_factors("balanced", self.classes_[there], totals[there])
        return w * factor[target]

    def _judge(self, cells: np.ndarray, target: np.ndarray) -> list[str]:
        self.oob_decision_function_, count = self._out_of_bag(cells)
        seen = count > 0
        if not seen.any():
            self.oob_score_ = np.nan
            return ["out of bag: every row is in every bag, grow more trees"]
        found, codes = self.oob_decision_function_[seen].argmax(axis=1), target[seen]
        rule = self.oob_score if callable(self.oob_score) else accuracy_score
        self.oob_score_ = float(rule(self.classes_[codes], self.classes_[found]))
        wrong, n = float((found != codes).mean()), len(codes)
        low, high = share_interval(wrong, n)
        words = f"out-of-bag error {wrong:.3g}, 95 % interval {low:.3g} to {high:.3g}, {n} rows"
        never = int((~seen).sum())
        return [f"{words}; {never} rows are in every bag, grow more trees" if never else words]

    def _quality(self, mean: FloatArray, target: np.ndarray) -> float:
        return float((mean.argmax(axis=1) == target).mean())

    def _numbered(self, y: ArrayLike, n: int) -> np.ndarray:
        return self._codes_of(y, n)


@constructor
class ForestRegressor(ForestModel, TreeRegressor):
    """f(x) = (1/M) Σ_m the value of the leaf of tree m that x falls into."""

    _: KW_ONLY
    criterion: str = "squared_error"
    max_features: Any = 1.0
    ccp_alpha: float = 0.0
    max_samples: Any = None
    monotonic_cst: None = None
    categorical_features: Any = None

    def _judge(self, cells: np.ndarray, target: np.ndarray) -> list[str]:
        value, count = self._out_of_bag(cells)
        self.oob_prediction_ = value[:, 0]
        seen = count > 0
        if int(seen.sum()) < 2:
            self.oob_score_ = np.nan
            return ["out of bag: fewer than two rows are outside a bag, grow more trees"]
        z, found = target[seen], self.oob_prediction_[seen]
        rule = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = float(rule(z, found))
        mean, low, high = mean_interval((z - found) ** 2)
        return [f"out-of-bag squared error {mean:.4g}, 95 % interval {low:.4g} to {high:.4g}, {len(z)} rows"]

    def _quality(self, mean: FloatArray, target: np.ndarray) -> float:
        return float(r2_score(target, mean[:, 0]))

    def _numbered(self, y: ArrayLike, n: int) -> np.ndarray:
        return read_numbers(y, n)


def _counts(draws: Draws | None, seed: int) -> FloatArray:
    """How often each row is in the bag that belongs to a seed (n,)."""
    assert draws is not None
    return np.asarray(replace(draws, seed=seed).counts(0), dtype=float)
