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

from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.models.ensemble.forest import ForestClassifier, ForestRegressor


@constructor
class ExtraTreesClassifier(ForestClassifier):
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
    max_leaf_nodes : the most leaves of a tree, grown best node first
    ccp_alpha, monotonic_cst : not served; anything but 0.0 and None is refused
    categorical_features : nominal columns: None, "from_dtype" (categories and words of a frame), a mask, indices or
        names. More than 64 levels are grouped into at most 64 by their share of the classes in training, which the
        verdict says; a level not seen goes where a missing cell does. A test is a random set of the levels in the
        node

    Attributes
    ----------
    classes_, n_classes_, n_outputs_, n_features_in_, feature_importances_, estimator_ : as in scikit-learn
    estimators_ : the trees (:class:`~separatrix.DecisionTreeClassifier`), each with its ``random_state``; predictions
        go through this list, so that trees may be taken out or put in. ``len(model)``, ``model[3]``, iteration
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

    _splitter = "random"

    _: KW_ONLY
    bootstrap: bool = False


@constructor
class ExtraTreesRegressor(ForestRegressor):
    """f(x) = (1/M) Σ_m the mean (or median) target in the leaf of tree m that x falls into ([6321], E4).

    Tests are scored by what they take from the variance. Parameters as of
    :class:`~separatrix.ExtraTreesClassifier`, with criterion "squared_error" (means) or "absolute_error" (medians)
    and max_features 1.0 (all columns); ``oob_prediction_`` (n,) takes the place of oob_decision_function_.

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

    _splitter = "random"

    _: KW_ONLY
    bootstrap: bool = False
