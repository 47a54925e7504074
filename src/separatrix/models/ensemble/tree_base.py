"""What trees and forests share: reading tables with missing and nominal cells, limits, predictions, the verdict.

    f(x) = (1/M) Σ_m value of the leaf of tree m that x falls into          (notes [6321]; rows E3, E4)

A classifier's leaf holds the shares of the classes in its training weight, a regressor's the mean. Growth is greedy
and claims no optimum: the verdict's status is "no claim", its objective the mean impurity left in the leaves.
Shapes: X (n, p), y (n,). Cost: see :mod:`separatrix.growth.trees`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from separatrix.core.numerics import FloatArray
from separatrix.data.columns import Encoding
from separatrix.data.door import (
    column_name,
    is_count,
    is_dask,
    read_table,
    read_weights,
    refuse_infinite,
)
from separatrix.data.estimator import Estimator
from separatrix.growth.growers import LEVELS, Binned, Columns, Options
from separatrix.growth.trees import Forest, sealed
from separatrix.models.base import Classifier
from separatrix.models.ensemble.members import derived_from
from separatrix.models.parameters import check_class_weight, class_factors, read_any_classes
from separatrix.verdict.verdict import Verdict

DENSE_CELLS = 1 << 28  # cells of a sparse table up to which it is made dense
CLASS_CRITERIA = ("gini", "entropy", "log_loss", "normalized_gain")


@dataclass(frozen=True, eq=False)
class Nominal:
    """How nominal columns are read: the key of a mixed table, and the levels of columns that hold numbers."""

    key: Encoding
    which: np.ndarray
    levels: dict[int, FloatArray]

    def encode(self, model: Any, X: Any) -> np.ndarray:
        """Cells (n, p) with levels as 0 …, −1 where a level was not seen in training."""
        cells = self.key.encode(model, X)
        if self.levels:
            cells = np.array(cells, dtype=np.float64)
        for j, known in self.levels.items():
            column = cells[:, j]
            place = np.searchsorted(known, column).clip(0, len(known) - 1)
            found = np.where(known[place] == column, place.astype(float), -1.0)
            cells[:, j] = np.where(np.isnan(column), np.nan, found)
        return cells


class TreeModel(Estimator):
    """Reading, limits and the parts of the verdict that trees and forests have in common."""

    criterion: str
    max_depth: Any
    min_samples_split: Any
    min_samples_leaf: Any
    min_weight_fraction_leaf: float
    max_features: Any
    max_leaf_nodes: Any
    min_impurity_decrease: float
    ccp_alpha: float
    monotonic_cst: Any
    categorical_features: Any

    n_features_in_: int
    verdict_: Verdict
    _forest: Forest
    _nominal: Nominal | None
    _criteria: tuple[str, ...] = CLASS_CRITERIA

    # ------------------------------------------------------------------------------------------ parameters

    def _check_growth(self) -> None:
        """Refuse, before data is read, limits that cannot be meant."""
        if self.criterion not in self._criteria:
            offered = ", ".join(f'"{c}"' for c in self._criteria)
            why = (
                ', which makes the same splits as "squared_error"' if self.criterion == "friedman_mse" else ""
            )
            raise ValueError(f"criterion {self.criterion!r}{why} is not grown by: use one of {offered}")
        if self.max_depth is not None and not (is_count(self.max_depth) and self.max_depth >= 1):
            raise ValueError(
                f"max_depth must be None or a whole number of at least 1, got {self.max_depth!r}"
            )
        for name, least in (("min_samples_split", 2), ("min_samples_leaf", 1)):
            value = getattr(self, name)
            if not (is_count(value) and value >= least) and not _is_share(value):
                raise ValueError(
                    f"{name} must be a whole number of at least {least} or a share of the rows in (0, 1], got "
                    f"{value!r}"
                )
        fraction = self.min_weight_fraction_leaf
        if not (_is_number(fraction) and 0 <= fraction <= 0.5):
            raise ValueError(f"min_weight_fraction_leaf must be a number in [0, 0.5], got {fraction!r}")
        if not (_is_number(self.min_impurity_decrease) and self.min_impurity_decrease >= 0):
            raise ValueError(
                f"min_impurity_decrease must be a number of at least 0, got {self.min_impurity_decrease!r}"
            )
        if self.max_leaf_nodes is not None and not (
            is_count(self.max_leaf_nodes) and self.max_leaf_nodes >= 2
        ):
            raise ValueError(
                f"max_leaf_nodes must be None or a whole number of at least 2, got {self.max_leaf_nodes!r}"
            )
        if not (_is_number(self.ccp_alpha) and self.ccp_alpha == 0):
            raise ValueError(
                f"ccp_alpha={self.ccp_alpha!r} asks for pruning, and trees are not pruned here: leave it 0.0 and "
                "limit max_depth, min_samples_leaf or min_impurity_decrease"
            )
        if self.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst is not served: leave it None (a generalised linear model is monotone in its columns)"
            )

    def _options(self, n: int) -> Options:
        """The limits for a table of n rows."""
        split, leaf = self.min_samples_split, self.min_samples_leaf
        leaf = int(leaf) if is_count(leaf) else int(np.ceil(leaf * n))
        split = int(split) if is_count(split) else max(2, int(np.ceil(split * n)))
        return Options(
            self.criterion,
            self._tests(),
            1 << 30 if self.max_depth is None else int(self.max_depth),
            max(split, 2 * leaf),
            leaf,
            float(self.min_weight_fraction_leaf),
            float(self.min_impurity_decrease),
            None if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
        )

    def _tests(self) -> int:
        """K, the number of columns a node looks at."""
        p, given = self.n_features_in_, self.max_features
        if given is None:
            return p
        if isinstance(given, str) and given in ("sqrt", "log2"):
            return max(1, int(np.sqrt(p) if given == "sqrt" else np.log2(p)))
        if is_count(given) and given >= 1:
            if given > p:
                raise ValueError(f"max_features={given} is more than the {p} columns of X: give at most {p}")
            return int(given)
        if _is_share(given):
            return max(1, int(given * p))
        raise ValueError(
            'max_features must be "sqrt", "log2", None, a whole number of at least 1 or a share of the columns in '
            f"(0, 1], got {given!r}"
        )

    # ------------------------------------------------------------------------------------------ reading

    def _read_cells(self, X: Any, *, reset: bool) -> np.ndarray:
        """X as a dense array with NaN for missing cells and codes for levels; columns learned or compared."""
        if is_dask(X):
            raise TypeError(f"{type(self).__name__} reads rows in memory: call .compute() on X")
        if reset:
            self._nominal = None
            if self.categorical_features is not None:
                return self._learn_nominal(X)
        if self._nominal is not None:
            cells = self._nominal.encode(self, X)
            refuse_infinite(self, cells)
            return cells
        try:
            cells = read_table(self, X, reset=reset, missing=True)
        except ValueError as error:
            text = str(error)
            if "Linear models read numbers" not in text:
                raise
            raise ValueError(
                text.split(" Linear models")[0]
                + ' Say categorical_features="from_dtype" to read them as levels'
            ) from None
        refuse_infinite(self, cells)
        if not isinstance(cells, np.ndarray):
            if cells.shape[0] * cells.shape[1] > DENSE_CELLS:
                raise ValueError(
                    f"the sparse table has {cells.shape[0]}×{cells.shape[1]} cells, and trees need them all in "
                    "memory: keep fewer columns (SelectKBest), or use a linear model"
                )
            cells = cells.toarray()
        return cells

    def _learn_nominal(self, X: Any) -> np.ndarray:
        if sp.issparse(X):
            raise ValueError("categorical_features needs a dense table: call .toarray() on X")
        key = Encoding.learn(self, X)
        kinds = np.array([c.kind == "category" for c in key.columns])
        which = kinds if _is_word(self.categorical_features, "from_dtype") else self._listed(key)
        if (kinds & ~which).any():
            j = int(np.flatnonzero(kinds & ~which)[0])
            raise ValueError(
                f"column {column_name(self, j)} holds words, which have no order: add it to categorical_features"
            )
        cells = key.encode(self, X)
        levels: dict[int, FloatArray] = {}
        for j in np.flatnonzero(which).tolist():
            known = key.columns[j].levels
            size = len(known)
            if not kinds[j]:
                column = cells[:, j]
                levels[j] = np.unique(column[~np.isnan(column)]).astype(np.float64)
                size = len(levels[j])
            if size > LEVELS:
                raise ValueError(
                    f"column {column_name(self, j)} has {size} levels, and a split holds at most {LEVELS}: "
                    "merge rare levels, or give their code as a number by leaving it out of categorical_features"
                )
        self._nominal = Nominal(key, which, levels)
        cells = self._nominal.encode(self, X)
        refuse_infinite(self, cells)
        return cells

    def _listed(self, key: Encoding) -> np.ndarray:
        """categorical_features as a mask, given as one, as indices, or as names."""
        p = len(key.columns)
        given = self.categorical_features
        if isinstance(given, str) or not hasattr(given, "__len__"):
            raise ValueError(
                f'categorical_features must be None, "from_dtype", a mask or a list of columns, got {given!r}'
            )
        items = list(given)
        out = np.zeros(p, dtype=bool)
        if len(items) == p and all(isinstance(v, (bool, np.bool_)) for v in items):
            return np.array(items, dtype=bool)
        names = [c.name for c in key.columns]
        for item in items:
            if isinstance(item, str) and item in names:
                out[names.index(item)] = True
            elif is_count(item) and -p <= item < p:
                out[item] = True
            else:
                raise ValueError(f"categorical_features names {item!r}, which is not a column of X")
        return out

    def _columns(self, cells: np.ndarray, weight: FloatArray | None, exact: bool) -> Any:
        """The columns as growth reads them: bins for best splits, float32 for random ones."""
        flags = np.zeros(cells.shape[1], bool) if self._nominal is None else self._nominal.which
        if exact:
            return Binned.of(cells, weight, flags)
        if cells.dtype.itemsize > 4 and cells.size and np.nanmax(np.abs(cells), initial=0.0) > 3.4e38:
            j = int(np.flatnonzero(np.nanmax(np.abs(cells), axis=0, initial=0.0) > 3.4e38)[0])
            raise ValueError(
                f"column {column_name(self, j)} holds values too large for float32: divide it by a power of ten"
            )
        return Columns.of(cells, flags)

    def _read_for_prediction(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._read_cells(X, reset=False)

    # ------------------------------------------------------------------------------------------ what was learned

    @derived_from("it is what the splits of the trees took from the impurity")
    def feature_importances_(self) -> FloatArray:
        """The share of each column in what splits took from the impurity (p,), the mean over trees."""
        check_is_fitted(self)
        return sealed(self._forest.importances())

    @derived_from("a row has one target")
    def n_outputs_(self) -> int:
        """Targets a row, as in scikit-learn: one."""
        check_is_fitted(self)
        return 1

    def _paths(self, cells: np.ndarray) -> tuple[Any, np.ndarray]:
        """(n, nodes of all trees) CSR of the nodes each row passes, and where each tree's nodes begin."""
        ends = self._forest.ends(cells)
        begins = np.cumsum([0, *(t.node_count for t in self._forest.trees)])
        parts = []
        for t, tree in enumerate(self._forest.trees):
            parent = np.full(tree.node_count, -1)
            inner = np.flatnonzero(tree.splits)
            parent[tree.child[inner]] = parent[tree.child[inner] + 1] = inner
            here, rows = ends[:, t], np.arange(len(cells))
            while len(here):
                parts.append((rows, here + begins[t]))
                here = parent[here]
                rows, here = rows[here >= 0], here[here >= 0]
        rows, nodes = (np.concatenate(v) for v in zip(*parts))
        shape = (len(cells), int(begins[-1]))
        found = sp.csr_matrix((np.ones(len(rows), dtype=np.int64), (rows, nodes)), shape=shape)
        return found, begins

    def _verdict(
        self, began: float, columns: Any, findings: list[str], rows: int, missing: int = 0
    ) -> Verdict:
        """``missing``: how many trees were not grown, for Ctrl-C; without columns nothing is said of them."""
        trees = self._forest.trees
        left = [
            float(np.average(t.impurity[~t.splits], weights=t.leaf_weight[t.extra[~t.splits]])) for t in trees
        ]
        depth, leaves = [t.depth for t in trees], [t.n_leaves for t in trees]
        asked = len(trees) + missing
        said = [
            f"growth is greedy and proves no bound: the objective is the {self.criterion} impurity left in the leaves"
        ]
        if self.criterion == "normalized_gain":
            said = [
                "growth is greedy and proves no bound: the objective is the entropy left in the leaves, in bits"
            ]
        if asked > 1:
            said.append(
                f"{len(trees)} of {asked} trees grown, depth {_span(depth)}, leaves {_span(leaves)} a tree"
            )
        else:
            said.append(f"depth {depth[0]}, {leaves[0]} leaves, {rows} rows")
        constant = np.zeros(0, bool) if columns is None else columns.constant()
        if constant.any():
            said.append(f"{self._named(constant)} constant or missing throughout: never split on")
        if isinstance(columns, Binned) and columns.coarse.any():
            said.append(
                f"{int(columns.coarse.sum())} of {len(columns.coarse)} columns have more than 255 distinct values: "
                "splits were looked for between quantile bins"
            )
        interrupted = missing > 0
        if interrupted:
            said.append("Ctrl-C: the trees finished by then are kept; warm_start=True grows the others")
        stopped = "Ctrl-C" if interrupted else self._limits()
        return Verdict(
            type(self).__name__, "interrupted" if interrupted else "no claim", float(np.mean(left)), np.inf, 0.0,
            None, float(np.mean(depth)) + 1, time.perf_counter() - began, stopped, (*said, *findings),
        )  # fmt: skip

    def _limits(self) -> str:
        """What ended growth, in words."""
        set_ = [
            f"{name}={value}"
            for name, value, default in (
                ("max_depth", self.max_depth, None),
                ("min_samples_split", self.min_samples_split, 2),
                ("min_samples_leaf", self.min_samples_leaf, 1),
                ("min_weight_fraction_leaf", self.min_weight_fraction_leaf, 0.0),
                ("min_impurity_decrease", self.min_impurity_decrease, 0.0),
                ("max_leaf_nodes", self.max_leaf_nodes, None),
            )
            if value != default
        ]
        pure = "leaves pure or not to be split"
        return f"{pure}, or {', '.join(set_)}" if set_ else pure

    def _named(self, which: np.ndarray) -> str:
        found = [column_name(self, int(j)) for j in np.flatnonzero(which)]
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        return f"column{'s' if len(found) > 1 else ''} {', '.join(found[:5])}{more}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class TreeClassifier(TreeModel, Classifier):
    """Labels in, shares of classes out."""

    class_weight: Any
    n_classes_: int

    def predict_proba(self, X: Any) -> FloatArray:
        """Shares of the classes in the leaves a row falls into, the mean over trees (n, K)."""
        return self._forest_mean(X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """log P, −inf where a class has no share in any leaf."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest share; of equal ones the first."""
        winner = self._forest_mean(X).argmax(axis=1)
        return np.asarray(self.classes_[winner])

    def _winner(self, cells: Any) -> np.ndarray:
        return np.asarray(self._forest.mean(cells).argmax(axis=1))

    def _tiled(self, function: Any) -> Any:
        return function  # the forest goes by blocks of rows itself

    def _forest_mean(self, X: Any) -> FloatArray:
        raise NotImplementedError

    def _check_weights(self) -> None:
        if _is_word(self.class_weight, "balanced_subsample"):
            return
        check_class_weight(self.class_weight)

    def _read_fit(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray, FloatArray | None]:
        """Cells, class codes and weights of the rows that weigh something; classes_ is set."""
        cells = self._read_cells(X, reset=True)
        n = cells.shape[0]
        weight = read_weights(sample_weight, n)
        self.classes_, codes, totals = read_any_classes(y, weight, n)
        self.n_classes_ = len(self.classes_)
        if self.class_weight is not None and not _is_word(self.class_weight, "balanced_subsample"):
            factor = class_factors(self.class_weight, self.classes_, totals)[codes]
            weight = factor if weight is None else weight * factor
        if weight is not None and not (weight > 0).all():
            keep = weight > 0
            return cells[keep], codes[keep], weight[keep]
        return cells, codes, weight

    def _rare(self, codes: np.ndarray, leaf: int) -> list[str]:
        """A sentence for classes of fewer rows than a leaf must have."""
        counts = np.bincount(codes, minlength=len(self.classes_))
        rare = [repr(c) for c, m in zip(self.classes_.tolist(), counts) if m < leaf]
        if not rare:
            return []
        return [
            f"class {', '.join(rare[:5])}: fewer rows than the {leaf} a leaf must have, so no leaf is its own"
        ]


class TreeRegressor(RegressorMixin, TreeModel):
    """Numbers in, means or medians out."""

    _criteria = ("squared_error", "absolute_error")

    def predict(self, X: Any) -> FloatArray:
        """The mean (or median) of the leaf a row falls into, and the mean over trees (n,)."""
        return self._forest_mean(X)[:, 0]

    def _forest_mean(self, X: Any) -> FloatArray:
        raise NotImplementedError

    def _read_fit(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, FloatArray, FloatArray | None]:
        """Cells, targets and weights of the rows that weigh something."""
        cells = self._read_cells(X, reset=True)
        n = cells.shape[0]
        z = read_numbers(y, n)
        weight = read_weights(sample_weight, n)
        if weight is not None and not (weight > 0).all():
            keep = weight > 0
            return cells[keep], z[keep], weight[keep]
        return cells, z, weight


def read_numbers(y: Any, n: int) -> FloatArray:
    """Targets of a regression as float64 (n,); what is not a finite number is refused by row."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None: one number a row")
    z = np.asarray(y)
    if z.ndim == 2 and z.shape[1] > 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {z.shape} instead: one number a row")
    z = np.asarray(column_or_1d(z, warn=True))
    try:
        if z.dtype.kind not in "fiubO":
            raise ValueError
        z = z.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"y must be numbers, got dtype {z.dtype}: for classes use the classifier") from None
    if len(z) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {len(z)} targets"
        )
    bad = np.flatnonzero(~np.isfinite(z))
    if len(bad):
        raise ValueError(
            f"Input y contains {'NaN' if np.isnan(z[bad[0]]) else 'infinity'} in row {bad[0]}: drop such rows"
        )
    return z


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _is_share(value: Any) -> bool:
    """Whether a parameter is a float in (0, 1]."""
    return isinstance(value, (float, np.floating)) and bool(0.0 < value <= 1.0)


def _is_word(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


def _span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}–{high}"
