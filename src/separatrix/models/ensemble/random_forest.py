"""Random forests:  f(x) = (1/M) Σ_m f_m(x), trees of best splits on bags of rows and random columns (Breiman 2001).

    tree m      a bag of n rows drawn with replacement; at a node K columns are drawn among those that are not
                constant there, and of all their splits the best is installed; grown until leaves are pure
    out of bag  a row is judged by the trees whose bag it is not in, about 37 % of them

Bagging takes variance away from trees ([6321] "Bagging", row E3); drawn columns make them less alike, so that their
mean takes away more. Shapes: X (n, p), y (n,). Cost: O(M n K log n) and O(np log n) to bin the columns once.
"""

from __future__ import annotations

from separatrix.models.ensemble.forest import ForestClassifier, ForestRegressor


class RandomForestClassifier(ForestClassifier):
    """P(k | x) = (1/M) Σ_m the share of class k in the leaf of tree m that x falls into ([6321] "Bagging"; row E3).

    Bagged trees of best splits that look at K = max_features columns a node. Parameters have scikit-learn's names,
    meanings and defaults. Missing cells (NaN) go the way that scores better, or with the larger child where training
    had none. Columns of more than 255 distinct values are cut at quantiles into at most 255 bins, once for all
    trees, and splits are looked for between bins.

    Parameters
    ----------
    n_estimators : M, the number of trees
    criterion : "gini", "entropy" or "log_loss", or "normalized_gain", 2 I/(H_split + H_class)
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, min_impurity_decrease : where growth
        ends; samples are rows, whatever their weight
    max_features : K: a number, a share, "sqrt", "log2" or None (all columns); constant columns are not counted
    max_leaf_nodes : the most leaves of a tree, grown best node first
    bootstrap, max_samples : whether each tree is grown on a bag of rows drawn with replacement, and how many
    oob_score : whether to estimate the score from the rows outside each bag; True, or a function of (y, prediction)
    n_jobs : threads, None for the engine's; the trees are the same for any number
    random_state : a number or a generator; None is 0
    verbose : 1 says every tenth of the work, 2 every tree
    warm_start : grow only the trees that are missing
    class_weight : None, "balanced", "balanced_subsample" (anew in each bag) or a dictionary
    ccp_alpha, monotonic_cst : not served; anything but 0.0 and None is refused
    categorical_features : nominal columns: None, "from_dtype" (categories and words of a frame), a mask, indices or
        names. More than 64 levels are grouped into at most 64 by their share of the classes in training, which the
        verdict says; a level not seen goes where a missing cell does.

    Attributes
    ----------
    classes_, n_classes_, n_outputs_, n_features_in_, feature_importances_, estimator_ : as in scikit-learn
    estimators_ : the trees (:class:`~separatrix.DecisionTreeClassifier`), each with its ``random_state``; predictions
        go through this list, so that trees may be taken out or put in. ``len(model)``, ``model[3]``, iteration
    estimators_samples_ : the rows of each tree's bag
    oob_score_, oob_decision_function_ (n, K) : NaN in rows that are in every bag
    verdict_ : the :class:`~separatrix.Verdict`; trees claim no optimum

    Notes
    -----
    Cost O(M n K log n); memory one byte a cell and some 30 + 8K bytes a node. A tree's ``random_state`` draws its bag
    and its columns: fitted again to that bag it is the same tree, where columns have at most 255 distinct values
    (with more, quantiles of the bag are not those of all rows).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9, len(model), model.verdict_.status
    (True, 50, 'no claim')
    >>> del model.estimators_[10:]
    >>> len(model), model.predict_proba(X).shape
    (10, (150, 3))
    """


class RandomForestRegressor(ForestRegressor):
    """f(x) = (1/M) Σ_m the mean (or median) target in the leaf of tree m that x falls into ([6321]; row E3).

    Parameters as of :class:`~separatrix.RandomForestClassifier`, with criterion "squared_error" (means) or
    "absolute_error" (medians) and max_features 1.0 (all columns); ``oob_prediction_`` (n,) takes the place of
    oob_decision_function_.

    Notes
    -----
    Cost O(M n K log n), with "absolute_error" O(M n K log² n); memory one byte a cell and some 30 bytes a node.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(400, noise=0.5, random_state=0)
    >>> model = RandomForestRegressor(50, oob_score=True).fit(X, y)
    >>> model.oob_score_ > 0.8, model.verdict_.status
    (True, 'no claim')
    """
