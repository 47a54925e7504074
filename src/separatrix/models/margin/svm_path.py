"""The price of slack by cross-validation:  C (and γ) whose machines are right most often on rows they have not seen.

    score(γ, C) = mean over folds of  score(f_{γ,C} fitted to the other folds, the fold)
    f_{γ,C}     = argmin ½‖w‖² + C Σ_i s_i ξ_i,   y_i (w·φ(x_i) + b) ≥ 1 − ξ_i,  ξ_i ≥ 0

Notes [6321] "Support vector machines" (C is set by cross-validation). Row M11 of the specification. For every γ the
kernel matrix is computed once and the folds take their rows and columns of it. C rises, and the machine of one C
starts from that of the one before: variables at their bound go to the new one, free ones stay as far as Σβ = 0 lets
them. Where no slack is left, nothing remains to do.

Cost: n² kernel values of O(p) for a γ, then the steps of each (γ, C, fold) on rows of n values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import get_scorer

from separatrix.core.numerics import FloatArray
from separatrix.data.checks import is_count, is_positive
from separatrix.data.sources import TableLike
from separatrix.models.margin.svc import SVC
from separatrix.models.margin.svm_path_curve import SVMPath
from separatrix.models.margin.svm_path_folds import cut, read
from separatrix.models.margin.svm_path_search import PathSearch, Scorer
from separatrix.models.parameters import threads

PRICES = (1e-2, 1e3)  # ends of the default grid of C
WIDTHS = (1e-2, 1e2)  # ends of a grid of γ, in multiples of "scale"
WITH_GAMMA = ("rbf", "poly", "sigmoid")


def svm_path(
    X: TableLike,
    y: ArrayLike,
    *,
    Cs: Any = 11,
    gammas: Any = None,
    kernel: Any = "rbf",
    degree: int = 3,
    coef0: float = 0.0,
    cv: Any = 5,
    scoring: Any = "accuracy",
    sample_weight: ArrayLike | None = None,
    class_weight: Mapping[Any, float] | str | None = None,
    tol: float = 1e-3,
    cache_size: float = 200,
    refit: bool | str = True,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool | int = False,
) -> SVMPath:
    """score(γ, C) = mean over folds of the score on the fold of the machine fitted to the others; the best refitted.

    Rows X (n, p), or a kernel matrix (n, n), and labels y (n,) of two classes or more (a machine for each pair of
    classes, and a vote, as in :class:`~separatrix.SVC`). Notes [6321]. Every machine is solved to ``tol``, starting
    from that of the C before; gamma is the same in every fold. Ctrl-C ends the path and keeps what is finished.

    Parameters
    ----------
    Cs : a number of values from 0.01 to 1000, evenly on the scale of logarithms, or the values
    gammas : None for 1/(p·Var X) ("scale" of SVC), a number of values from a hundredth to a hundred times that, or
        the values; only of kernels "rbf", "poly" and "sigmoid"
    kernel, degree, coef0, class_weight, tol : as in SVC
    cv : a number of stratified folds, a splitter of scikit-learn, or (train, test) pairs of row numbers; for a
        splitter by groups give ``list(splitter.split(X, y, groups))``
    scoring : the name of a score of labels or decision values ("accuracy", "f1", "roc_auc", …), or what
        ``sklearn.metrics.make_scorer`` returns
    sample_weight : (n,), multiplies the row's C and its share of the score; rows of weight zero take no part
    cache_size : megabytes. A kernel matrix that fits, 8n² bytes (n ≤ 5000 of the default), is computed once for each
        gamma and shared by the folds; of a larger one the folds compute rows as they need them. The folds under way
        keep up to twice as much again between them
    refit : True fits SVC with the best C and gamma to all rows; "one_standard_error" with that choice; or False
    random_state : a seed that shuffles the rows before a number ``cv`` of folds is cut; None takes them in order
    n_jobs : threads, on which folds of many rows run side by side; None uses all cores this process may use
    verbose : True prints each point to standard error as it is finished

    Returns
    -------
    :class:`SVMPath` : the curve, ``best``, ``one_standard_error``, ``estimator``, ``to_frame()``, ``plot()``

    Notes
    -----
    Cost: for each gamma n² kernel values of O(p), and for each C and fold about (support vectors) × n sums.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = svm_path(X, y, Cs=[0.1, 1, 10, 100], random_state=0)
    >>> path.mean.round(3)
    array([[0.927, 0.953, 0.967, 0.96 ]])
    >>> path.best.C, path.one_standard_error.C
    (10.0, 1.0)
    >>> path.estimator.verdict_.status
    'optimal'
    """
    model = SVC(
        kernel=kernel, degree=degree, coef0=coef0, tol=tol, cache_size=cache_size, class_weight=class_weight,
        n_jobs=n_jobs, verbose=verbose,
    )  # fmt: skip
    model._check_parameters()
    prices = _grid("Cs", Cs, *PRICES)
    _check_gammas(gammas, kernel)
    if refit not in (True, False, "one_standard_error"):
        raise ValueError(f'refit must be True, False or "one_standard_error", got {refit!r}')
    scorer, name = _read_scoring(scoring)
    with threads(n_jobs):
        data = read(model, X, y, sample_weight)
        folds = cut(cv, random_state, data, class_weight)
        widths = _widths(gammas, kernel, model._gamma)
        search = PathSearch(model, data, folds, prices, widths, scorer, verbose)
        search.run()
    found = SVMPath(
        prices, widths, search.scores, search.support, np.asarray(search.gap.max(axis=2)), search.steps,
        np.asarray(search.seconds.sum(axis=2)), name, kernel if isinstance(kernel, str) else _name_of(kernel),
        None, search.interrupted,
    )  # fmt: skip
    choice = found.one_standard_error if refit == "one_standard_error" else found.best
    if not refit or found.interrupted or choice is None:
        return found
    model.set_params(C=choice.C, gamma="scale" if choice.gamma is None else choice.gamma)
    return replace(found, estimator=model.fit(X, y, sample_weight))


# ---- the door ----


def _grid(name: str, values: Any, low: float, high: float) -> FloatArray:
    """A count as so many values from low to high, or the values themselves, ascending."""
    if is_count(values):
        if values < 1:
            raise ValueError(f"{name} must be a number of values of at least 1, or the values; got {values}")
        return np.geomspace(low, high, int(values))
    given = np.asarray(values)
    if given.ndim == 0:
        raise ValueError(
            f"{name}={values!r}: give a whole number of values, or the values as a list, [{values!r}]"
        )
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be a whole number or a list of positive numbers, got {values!r}")
    bad = [v for v in given.tolist() if not is_positive(v, finite=True)]
    if bad:
        raise ValueError(f"{name} must be positive and finite, got {bad[0]!r}")
    given = np.sort(given.astype(float))
    twice = given[1:][np.diff(given) == 0]
    if len(twice):
        raise ValueError(f"{name} has {float(twice[0])!r} twice: leave one out")
    return np.asarray(given)


def _check_gammas(gammas: Any, kernel: object) -> None:
    if gammas is None:
        return
    if kernel not in WITH_GAMMA:
        raise ValueError(f"kernel {kernel!r} has no gamma: leave gammas=None")
    _grid("gammas", gammas, *WIDTHS)


def _widths(gammas: Any, kernel: object, scale: float) -> FloatArray:
    if kernel not in WITH_GAMMA:
        return np.array([np.nan])
    if gammas is None:
        return np.array([scale])
    return _grid("gammas", gammas, WIDTHS[0] * scale, WIDTHS[1] * scale)


def _read_scoring(scoring: Any) -> tuple[Scorer | None, str]:
    """(a scorer of scikit-learn's, or None for accuracy; its name)."""
    if scoring is None or scoring == "accuracy":
        return None, "accuracy"
    if isinstance(scoring, str):
        scorer, name = get_scorer(scoring), scoring
    elif hasattr(scoring, "_response_method"):
        scorer, name = scoring, getattr(scoring._score_func, "__name__", "score")
    else:
        raise TypeError(
            f"scoring must be the name of a score or what sklearn.metrics.make_scorer returns, got {scoring!r}"
        )
    needed = scorer._response_method
    needed = (needed,) if isinstance(needed, str) else needed
    if not {"predict", "decision_function"} & set(needed):
        raise ValueError(
            f'scoring {name!r} needs probabilities, and a support vector machine has scores: use "accuracy", '
            '"balanced_accuracy", "roc_auc" or another score of labels or of decision values'
        )
    return scorer, name


def _name_of(kernel: object) -> str:
    return str(getattr(kernel, "__name__", type(kernel).__name__))
