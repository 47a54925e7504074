"""Decision trees:  a node sends x left where x_j ≤ t; f(x) is what the training rows of its leaf say ([6321], E3).

    "best"     of all columns and thresholds the one after which leaves are purest (Gini, entropy, variance)
    "random"   a random threshold for each column, the best of them: one extremely randomised tree

The base learner of bagging. Shapes: X (n, p), y (n,). Cost: O(n p) a level, one byte a cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.sources import TableLike
from separatrix.growth.forest import grow_forest
from separatrix.growth.growers import Binned, Columns
from separatrix.growth.trees import Tree
from separatrix.models.ensemble.members import derived_from
from separatrix.models.ensemble.tree_base import TreeClassifier, TreeModel, TreeRegressor
from separatrix.models.ensemble.tree_limits import is_word
from separatrix.models.parameters import seed_of


@constructor
class _OneTree(TreeModel):
    """The parameters before those that only one of the twins has, and what is read off a tree."""

    _: KW_ONLY
    criterion: str = "gini"
    splitter: str = "best"
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: Any = None
    random_state: Any = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0

    @derived_from("edit tree_.threshold or tree_.leaf_value in place, or fit anew")
    def tree_(self) -> Tree:
        """The tree's arrays: children_left, children_right, feature, threshold, value, impurity and more."""
        check_is_fitted(self)
        return self._forest.trees[0]

    @derived_from("set max_features and fit anew")
    def max_features_(self) -> int:
        check_is_fitted(self)
        return self._tests()

    def get_depth(self) -> int:
        """The depth of the deepest leaf; a root alone has 0."""
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        return self.tree_.n_leaves

    def apply(self, X: TableLike) -> np.ndarray:
        """The node each row falls into (n,)."""
        cells = self._read_for_prediction(X)
        return self._forest.ends(cells)[:, 0]

    def decision_path(self, X: TableLike) -> csr_matrix:
        """The nodes each row passes: CSR (n, nodes) of ones."""
        return self._paths(self._read_for_prediction(X))[0]

    def _check(self) -> None:
        super()._check()
        if self.splitter not in ("best", "random"):
            raise ValueError(f'splitter must be "best" or "random", got {self.splitter!r}')

    def _grow(
        self, cells: np.ndarray, target: np.ndarray, weight: FloatArray | None
    ) -> tuple[Binned | Columns, int, list[str]]:
        options = self._options(len(cells))
        columns = self._columns(cells, weight, self.splitter == "best")
        self._forest = grow_forest(columns, target, self._k, options, seed_of(self.random_state), 1, weight)
        return columns, 0, []


@constructor
class DecisionTreeClassifier(_OneTree, TreeClassifier):
    """P(k | x) = the share of class k in the training weight of the leaf x falls into ([6321], E3).

    Parameters have scikit-learn's names, meanings and defaults. Missing cells (NaN) go the way that scores better, or
    with the larger child where training had none. Columns of more than 255 distinct values are cut at quantiles of
    their weight into at most 255 bins, and splits are looked for between bins. Of equal splits the first column's is
    taken, then the smallest threshold.

    Parameters
    ----------
    criterion : "gini", "entropy" or "log_loss", or "normalized_gain", 2 I/(H_split + H_class)
    splitter : "best", or "random": a threshold drawn for each column, the best of these
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease : where growth
        ends; samples are rows, whatever their weight
    max_features : columns looked at in each node: a number, a share, "sqrt", "log2" or None (all)
    class_weight : None, "balanced" or a dictionary
    max_leaf_nodes : the most leaves; the tree is grown best node first, by what a split takes from W·impurity
    ccp_alpha, monotonic_cst : not served; anything but 0.0 and None is refused
    categorical_features : nominal columns: None, "from_dtype" (categories and words of a frame), a mask, indices or
        names. More than 64 levels are grouped into at most 64 by their share of the classes in training, which the
        verdict says; a level not seen goes where a missing cell does. Two classes: all splits of the levels in the
        order of their share of the second class; more: one level against the others

    Attributes
    ----------
    classes_, n_classes_, n_outputs_, n_features_in_, feature_importances_, max_features_ : as in scikit-learn
    tree_ : the arrays (:class:`separatrix.growth.trees.Tree`)
    verdict_ : the :class:`~separatrix.Verdict`; trees claim no optimum

    Notes
    -----
    Cost O(n p) a level; a column is read as codes of one byte.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> round(model.score(X, y), 2), model.get_n_leaves(), model.verdict_.status
    (0.96, 3, 'no claim')
    """

    _: KW_ONLY
    class_weight: Any = None
    ccp_alpha: float = 0.0
    monotonic_cst: None = None
    categorical_features: Any = None

    def _check(self) -> None:
        super()._check()
        if is_word(self.class_weight, "balanced_subsample"):
            raise ValueError(
                'class_weight "balanced_subsample" is for forests: use "balanced" or a dictionary'
            )


@constructor
class DecisionTreeRegressor(_OneTree, TreeRegressor):
    """f(x) = the mean (or median) target of the training weight in the leaf x falls into ([6321], E3).

    Splits are those that take most from the variance. Parameters as of
    :class:`~separatrix.DecisionTreeClassifier`; criterion is "squared_error", or "absolute_error": a leaf says its
    weighted median, and splits take most from the mean absolute deviation of it. Nominal columns are split in the
    order of their levels' means.

    Notes
    -----
    Cost O(n p) a level, with "absolute_error" O(n p log n); a column is read as codes of one byte.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> model = DecisionTreeRegressor(max_depth=1).fit(X, [0, 0, 0, 4, 4, 4, 4, 4])
    >>> model.predict([[2.4], [2.6]]).tolist(), float(model.tree_.threshold[0])
    ([0.0, 4.0], 2.5)
    """

    _: KW_ONLY
    criterion: str = "squared_error"
    ccp_alpha: float = 0.0
    monotonic_cst: None = None
    categorical_features: Any = None


TREES = (DecisionTreeClassifier, DecisionTreeRegressor)
