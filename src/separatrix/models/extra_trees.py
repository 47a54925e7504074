"""Extremely randomised trees:  f(x) = (1/M) Σ_m f_m(x), each tree grown with random tests ([6321], Geurts et al.).

    at a node   K columns are drawn among those that are not constant there, and a threshold for each, uniform between
                its least and largest value in the node; the test of the best score is installed
    score       "normalized_gain" of the notes, 2 I/(H_split + H_class) with I the information gain, H_split the
                entropy of the test's outcome and H_class of the class; or Gini, entropy, variance
    ends        at a depth, at a number of rows, or when all targets are alike

The smaller K, the more random the trees: more bias and less variance in each, and the mean takes the variance away.
Row E4. Shapes: X (n, p), y (n,). Cost: O(M n K log n), more where splits are lopsided; prediction O(M depth) a row.
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

from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_count
from separatrix.data.tree_loops import bag
from separatrix.data.trees import Forest, grow_forest
from separatrix.models.running import class_factors, seed_of, threads
from separatrix.models.tree_model import (
    FittedTree,
    TreeClassifier,
    TreeModel,
    TreeRegressor,
    _is_word,
    read_numbers,
)

NORMAL = 1.959963984540054  # the normal quantile of a 95 % interval


class ForestModel(TreeModel):
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

    @property
    def estimators_(self) -> list[FittedTree]:
        """The trees, light: ``tree_`` has the arrays, ``predict`` and ``apply`` take rows of numbers."""
        check_is_fitted(self)
        return self._fitted_trees()

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The rows of each tree's bag, repeated as often as drawn; all rows without bootstrap.

        Rows are numbered among those of weight above zero.
        """
        check_is_fitted(self)
        rows = np.arange(self._rows)
        if not self.bootstrap:
            return [rows] * len(self._forest)
        return [np.repeat(rows, self._bag(t).astype(np.intp)) for t in self._forest.numbers]

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
        if out_of_bag and not self.bootstrap:
            raise ValueError(
                "out_of_bag=True needs bags: fit with bootstrap=True, or give rows that were held out"
            )
        if out_of_bag and len(cells) != self._rows:
            raise ValueError(
                f"out_of_bag=True needs the {self._rows} rows of training (of weight above zero), in their order; "
                f"got {len(cells)}"
            )
        rng = np.random.default_rng(seed_of(random_state))
        cells = np.array(cells, dtype=self._forest.dtype, order="C")
        parts = self._outside() if out_of_bag else [(self._forest, np.arange(len(cells)))]
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
        for t, tree in zip(forest.numbers, forest.trees, strict=True):
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

    def _draws(self) -> int:
        """Rows drawn for a bag."""
        n, given = self._rows, self.max_samples
        if given is None:
            return n
        if is_count(given) and given >= 1:
            if given > n:
                raise ValueError(
                    f"max_samples={given} is more than the {n} rows: give at most {n}, or a share"
                )
            return int(given)
        if isinstance(given, (float, np.floating)) and 0 < given <= 1:
            return max(1, round(n * float(given)))
        raise ValueError(
            f"max_samples must be None, a whole number of rows or a share in (0, 1], got {given!r}"
        )

    def _bag(self, tree: int) -> FloatArray:
        """How often each row is in the bag of a tree, drawn from (seed, tree) alone."""
        found: FloatArray = bag(self._seed, tree, self._rows, self._draws())
        return found

    def _grow(
        self,
        cells: np.ndarray,
        y: np.ndarray,
        classes: int,
        weight: FloatArray | None,
        reweight: Callable[[FloatArray], FloatArray] | None = None,
    ) -> Any:
        """Grow what is missing of n_estimators trees; the columns they were grown on."""
        old = getattr(self, "_forest", None) if self.warm_start else None
        if old is not None and len(old.nominal) != cells.shape[1]:
            raise ValueError(
                f"warm_start: the trees so far were grown on {len(old.nominal)} columns, X has {cells.shape[1]}"
            )
        have = 0 if old is None else len(old)
        if have > self.n_estimators:
            raise ValueError(
                f"warm_start adds trees: n_estimators={self.n_estimators} is less than the {have} there are"
            )
        if old is None:
            self._seed = seed_of(self.random_state)
        self._rows = len(cells)
        options = self._options(len(cells))
        columns = self._columns(cells, weight, exact=False)
        if have == self.n_estimators and old is not None:
            self._forest = old
            return columns
        missing = sorted(set(range(self.n_estimators)) - set(() if old is None else old.numbers))[
            : self.n_estimators - have
        ]

        def weights(tree: int) -> FloatArray | None:
            w = weight
            if self.bootstrap:
                counts = self._bag(tree)
                w = counts if weight is None else counts * weight
            return w if reweight is None else reweight(np.ones(len(cells)) if w is None else w)

        say = self._say() if self.verbose else None
        grown = grow_forest(
            columns, y, classes, options, self._seed, len(missing), weights, numbers=missing, report=say
        )
        self._forest = grown if old is None else old.joined(grown)
        return columns

    def _say(self) -> Callable[[int], None]:
        every = max(1, self.n_estimators // 10)

        def report(tree: int) -> None:
            if self.verbose > 1 or (tree + 1) % every == 0:
                print(f"tree {tree + 1} of {self.n_estimators}")

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


class ExtraTreesClassifier(ForestModel, TreeClassifier):
    """P(k | x) = (1/M) Σ_m the share of class k in the leaf of tree m that x falls into ([6321], E4).

    At a node K = max_features columns that are not constant there are drawn, with a threshold each, uniform between
    the node's least and largest value; the best of these tests is installed. Parameters have scikit-learn's names,
    meanings and defaults; ``criterion="normalized_gain"`` is the score of the notes. Missing cells (NaN) are tried on
    both sides and go the better way, or with the larger child where the node had none.

    Parameters
    ----------
    n_estimators : M, the number of trees
    criterion : "gini", "entropy" or "log_loss", or "normalized_gain", 2 I/(H_split + H_class)
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease : where growth
        ends; samples are rows, whatever their weight
    max_features : K: a number, a share, "sqrt", "log2" or None (all columns); constant columns are not counted
    bootstrap, max_samples : whether each tree is grown on a bag of rows drawn with replacement, and how many
    oob_score : whether to estimate the score from the rows outside each bag; True, or a function of (y, prediction)
    n_jobs : threads, None for the engine's; the trees are the same for any number
    random_state : a number or a generator; None is 0
    verbose : 1 says every tenth of the work, 2 every tree
    warm_start : grow only the trees that are missing
    class_weight : None, "balanced", "balanced_subsample" (anew in each bag) or a dictionary
    max_leaf_nodes, ccp_alpha, monotonic_cst : not served; anything but None, 0.0 and None is refused
    categorical_features : nominal columns: None, "from_dtype" (categories and words of a frame), a mask, indices or
        names; at most 64 levels. A test is a random set of the levels in the node

    Attributes
    ----------
    classes_, n_classes_, n_features_in_, feature_importances_ : as in scikit-learn
    estimators_ : the trees (:class:`separatrix.models.tree_model.FittedTree`), made when asked for
    oob_score_, oob_decision_function_ (n, K) : NaN in rows that are in every bag
    verdict_ : the :class:`~separatrix.Verdict`; trees claim no optimum

    Notes
    -----
    Cells are read as float32. Cost O(M n K log n); memory 8 bytes a cell and some 25 + 4K bytes a node. Randomness
    belongs to (seed, tree, node). Ctrl-C keeps the trees finished so far.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ExtraTreesClassifier(50, criterion="normalized_gain", bootstrap=True, oob_score=True).fit(
    ...     X, y
    ... )
    >>> model.oob_score_ > 0.9, len(model.estimators_), model.verdict_.status
    (True, 50, 'no claim')
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: None = None,
        categorical_features: Any = None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExtraTreesClassifier:
        """Grow the trees on rows X (n, p) with labels y (n,); a weight counts as repetition, zero as absence."""
        began = time.perf_counter()
        self._check()
        self._check_weights()
        known = getattr(self, "classes_", None) if self.warm_start and hasattr(self, "_forest") else None
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
            columns = self._grow(cells, codes, k, weight, reweight)
            if self.oob_score:
                findings += self._judge(cells, codes)
        self.verdict_ = self._verdict(began, columns, findings, len(cells))
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


class ExtraTreesRegressor(ForestModel, TreeRegressor):
    """f(x) = (1/M) Σ_m the mean target in the leaf of tree m that x falls into ([6321], E4).

    Tests are scored by what they take from the variance. Parameters as of
    :class:`~separatrix.ExtraTreesClassifier`, with criterion "squared_error" and max_features 1.0 (all columns);
    ``oob_prediction_`` (n,) takes the place of oob_decision_function_.

    Notes
    -----
    Cells are read as float32. Cost O(M n K log n); memory 8 bytes a cell and some 30 bytes a node.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(400, noise=0.5, random_state=0)
    >>> model = ExtraTreesRegressor(50, bootstrap=True, oob_score=True).fit(X, y)
    >>> model.oob_score_ > 0.8, model.verdict_.status
    (True, 'no claim')
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: None = None,
        categorical_features: Any = None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExtraTreesRegressor:
        """Grow the trees on rows X (n, p) with targets y (n,); a weight counts as repetition, zero as absence."""
        began = time.perf_counter()
        self._check()
        cells, z, weight = self._read_fit(X, y, sample_weight)
        findings: list[str] = []
        with threads(self.n_jobs):
            columns = self._grow(cells, z, 0, weight)
            if self.oob_score:
                findings = self._judge(cells, z)
        self.verdict_ = self._verdict(began, columns, findings, len(cells))
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
