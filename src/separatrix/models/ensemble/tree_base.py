"""What trees and forests share: the fit, predictions, importances, the verdict.

    f(x) = (1/M) Σ_m value of the leaf of tree m that x falls into          (notes [6321]; rows E3, E4)

A classifier's leaf holds the shares of the classes in its training weight, a regressor's the mean. Growth is greedy
and claims no optimum: the verdict's status is "no claim", its objective the mean impurity left in the leaves.
Shapes: X (n, p), y (n,). Cost: see :mod:`separatrix.growth.trees`.
"""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.data.door import column_name, read_weights
from separatrix.data.labels import read_numbers
from separatrix.data.sources import TableLike
from separatrix.growth.growers import Binned, Columns
from separatrix.growth.trees import Forest, sealed
from separatrix.models.base import Classifier
from separatrix.models.ensemble.members import Shares, derived_from
from separatrix.models.ensemble.tree_cells import TreeCells
from separatrix.models.ensemble.tree_limits import TreeLimits, is_word
from separatrix.models.parameters import check_class_weight, read_any_classes, row_weights
from separatrix.verdict.build import no_claim
from separatrix.verdict.verdict import Verdict


class TreeModel(TreeLimits, TreeCells):
    """A fit, and the parts of the verdict, that trees and forests have in common."""

    verdict_: Verdict
    _forest: Forest

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow on rows X (n, p) with labels or numbers y (n,); a weight counts as repetition, zero as absence."""
        began = time.perf_counter()
        self._check()
        cells, target, weight = self._read_fit(X, y, sample_weight)
        cells = self._group_levels(cells, target, weight, self._k)
        findings = self._said_of_levels() + self._rare(target, self._options(len(cells)).min_leaf)
        columns, missing, heard = self._grow(cells, target, weight)
        self.verdict_ = self._verdict(began, columns, findings + heard, len(cells), missing)
        return self

    def _check(self) -> None:
        """Refuse parameters before data is read."""
        self._check_growth()

    def _read_fit(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray, FloatArray | None]:
        """Cells, targets as growth reads them, and weights, of the rows that weigh something."""
        raise NotImplementedError

    def _grow(
        self, cells: np.ndarray, target: np.ndarray, weight: FloatArray | None
    ) -> tuple[Binned | Columns, int, list[str]]:
        """Grow; the columns it was done on, how many trees are missing, and what else the verdict should say."""
        raise NotImplementedError

    @property
    def _k(self) -> int:
        """The number of classes; 0 of a regression."""
        return 0

    def _rare(self, target: np.ndarray, leaf: int) -> list[str]:
        """What there is to say of targets that are few."""
        return []

    def _forest_mean(self, X: TableLike) -> FloatArray:
        """The mean over trees of the leaves' values (n, V)."""
        cells = self._read_for_prediction(X)
        return self._forest.mean(cells)

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

    def _paths(self, cells: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray]:
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

    def __getattr__(self, name: str) -> Any:
        """The verdict of a forest's member, which few look at, is made when it is."""
        forest = self.__dict__.get("_forest")
        if name != "verdict_" or forest is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.verdict_ = self._verdict(time.perf_counter(), None, [], int(forest.trees[0].count[0]))
        return self.verdict_

    def _verdict(
        self, began: float, columns: Binned | Columns | None, findings: list[str], rows: int, missing: int = 0
    ) -> Verdict:
        """``missing``: how many trees were not grown, for Ctrl-C; without columns nothing is said of them."""
        trees = self._forest.trees
        left = [
            float(np.average(t.impurity[~t.splits], weights=t.leaf_weight[t.extra[~t.splits]])) for t in trees
        ]
        depth, leaves = [t.depth for t in trees], [t.n_leaves for t in trees]
        asked = len(trees) + missing
        what = f"{self.criterion} impurity left in the leaves"
        if self.criterion == "normalized_gain":
            what = "entropy left in the leaves, in bits"
        said = [f"growth is greedy and proves no bound: the objective is the {what}"]
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
        if missing:
            said.append("Ctrl-C: the trees finished by then are kept; warm_start=True grows the others")
        return no_claim(
            self, scale="mean loss", objective=float(np.mean(left)), sweeps=float(np.mean(depth)) + 1,
            seconds=time.perf_counter() - began, stopped_by="Ctrl-C" if missing else self._limits(),
            findings=(*said, *findings), interrupted=missing > 0,
        )  # fmt: skip

    def _named(self, which: np.ndarray) -> str:
        found = [column_name(self, int(j)) for j in np.flatnonzero(which)]
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        return f"column{'s' if len(found) > 1 else ''} {', '.join(found[:5])}{more}"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


class TreeClassifier(Shares, TreeModel, Classifier):
    """Labels in, shares of classes out."""

    class_weight: Any
    n_classes_: int

    def predict_proba(self, X: TableLike) -> FloatArray:
        """Shares of the classes in the leaves a row falls into, the mean over trees (n, K)."""
        return self._forest_mean(X)

    def predict(self, X: TableLike) -> np.ndarray:
        """The class of the largest share; of equal ones the first."""
        winner = self._forest_mean(X).argmax(axis=1)
        return np.asarray(self.classes_[winner])

    def _winner(self, cells: Any) -> np.ndarray:
        return np.asarray(self._forest.mean(cells).argmax(axis=1))

    def _tiled(self, function: Any) -> Any:
        return function  # the forest goes by blocks of rows itself

    def _check_growth(self) -> None:
        super()._check_growth()
        if not is_word(self.class_weight, "balanced_subsample"):
            check_class_weight(self.class_weight)

    @property
    def _k(self) -> int:
        return len(self.classes_)

    def _read_fit(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray, FloatArray | None]:
        cells = self._read_cells(X, reset=True)
        n = cells.shape[0]
        weight = read_weights(sample_weight, n)
        self.classes_, codes, totals = read_any_classes(y, weight, n)
        self.n_classes_ = len(self.classes_)
        if not is_word(self.class_weight, "balanced_subsample"):
            weight = row_weights(self.class_weight, self.classes_, codes, totals, weight)
        return _present(cells, codes, weight)

    def _rare(self, target: np.ndarray, leaf: int) -> list[str]:
        """A sentence for classes of fewer rows than a leaf must have."""
        counts = np.bincount(target, minlength=len(self.classes_))
        rare = [repr(c) for c, m in zip(self.classes_.tolist(), counts) if m < leaf]
        if not rare:
            return []
        return [
            f"class {', '.join(rare[:5])}: fewer rows than the {leaf} a leaf must have, so no leaf is its own"
        ]


class TreeRegressor(RegressorMixin, TreeModel):
    """Numbers in, means or medians out."""

    _criteria = ("squared_error", "absolute_error")

    def predict(self, X: TableLike) -> FloatArray:
        """The mean (or median) of the leaf a row falls into, and the mean over trees (n,)."""
        return self._forest_mean(X)[:, 0]

    def _read_fit(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray, FloatArray | None]:
        cells = self._read_cells(X, reset=True)
        z = read_numbers(y, len(cells))
        return _present(cells, z, read_weights(sample_weight, len(cells)))


def _present(
    cells: np.ndarray, target: np.ndarray, weight: FloatArray | None
) -> tuple[np.ndarray, np.ndarray, FloatArray | None]:
    """The rows that weigh something."""
    if weight is None or (weight > 0).all():
        return cells, target, weight
    keep = weight > 0
    return cells[keep], target[keep], weight[keep]


def _span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}–{high}"
