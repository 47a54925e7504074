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
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import get_scorer

from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_count, is_positive
from separatrix.data.extras import data_frame, pyplot
from separatrix.inference.summary import Summary
from separatrix.models.margin.svc import SVC
from separatrix.models.margin.svm_folds import Search, cut, read
from separatrix.models.parameters import threads

PRICES = (1e-2, 1e3)  # ends of the default grid of C
WIDTHS = (1e-2, 1e2)  # ends of a grid of γ, in multiples of "scale"
TIED = 1e-12  # means this close, relatively, are equal: folds are added up in some order
LINES = 5  # curves in one picture; more γ become a map
SHOWN = 9  # γ in a printed table
WITH_GAMMA = ("rbf", "poly", "sigmoid")


class Choice(NamedTuple):
    """A point of the path: C, gamma (None where the kernel has none), mean score and its standard error."""

    C: float
    gamma: float | None
    score: float
    standard_error: float


@dataclass(frozen=True, eq=False, repr=False)
class SVMPath:
    """The curve of :func:`svm_path`: score(γ, C) of every fold, and what it chooses.

    Shapes: G values of gamma, M of C, F folds. Points that an interruption left no time for are NaN (steps and
    support 0).

    Attributes
    ----------
    Cs, gammas : (M,) and (G,), ascending; gammas is a single NaN where the kernel has none
    scores : (G, M, F), of the rows held out, by weight
    support : (G, M, F), rows that carry the machines
    gap : (G, M), the largest proven distance from the optimum of a fold, relative to its objective; inf where the
        kernel is not positive semidefinite and nothing is proven
    steps : (G, M, F), pairs of variables moved
    seconds : (G, M), over all folds
    scoring, kernel : as given
    estimator : the :class:`~separatrix.SVC` fitted to all rows, with its verdict; None without ``refit``
    interrupted : whether Ctrl-C ended the path
    """

    Cs: FloatArray
    gammas: FloatArray
    scores: FloatArray
    support: np.ndarray
    gap: FloatArray
    steps: np.ndarray
    seconds: FloatArray
    scoring: str
    kernel: str
    estimator: SVC | None = field(default=None)
    interrupted: bool = False

    @property
    def mean(self) -> FloatArray:
        """(G, M): over the folds; NaN where one is missing."""
        return np.asarray(self.scores.mean(axis=2))

    @property
    def standard_error(self) -> FloatArray:
        """(G, M): the standard deviation over folds divided by √F; NaN of a single split."""
        folds = self.scores.shape[2]
        if folds < 2:
            return np.full(self.scores.shape[:2], np.nan)
        return np.asarray(self.scores.std(axis=2, ddof=1) / np.sqrt(folds))

    @property
    def best(self) -> Choice | None:
        """The largest mean score; among equals the smallest C, then the smallest gamma. None: none is finished."""
        at = self._best()
        return None if at is None else self._choice(*at)

    @property
    def one_standard_error(self) -> Choice | None:
        """The smallest C, at the gamma of ``best``, whose mean is within one standard error of the best."""
        at = self._best()
        if at is None:
            return None
        g, m = at
        error = self.standard_error[g, m]
        least = self.mean[g, m] - (error if np.isfinite(error) else 0.0)
        return self._choice(g, int(np.flatnonzero(self.mean[g] >= least - TIED * abs(least))[0]))

    def _best(self) -> tuple[int, int] | None:
        mean = self.mean
        if np.isnan(mean).all():
            return None
        top = float(np.nanmax(mean))
        m, g = np.argwhere((mean >= top - TIED * abs(top)).T)[0]
        return int(g), int(m)

    def _choice(self, g: int, m: int) -> Choice:
        gamma = None if np.isnan(self.gammas[g]) else float(self.gammas[g])
        return Choice(float(self.Cs[m]), gamma, float(self.mean[g, m]), float(self.standard_error[g, m]))

    # ---- to look at ----

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row for each (gamma, C)."""
        shape = self.gap.shape
        columns: dict[str, Any] = {
            "gamma": np.broadcast_to(self.gammas[:, None], shape),
            "C": np.broadcast_to(self.Cs, shape),
            "mean": self.mean,
            "standard_error": self.standard_error,
        }
        columns |= {f"fold_{f}": self.scores[:, :, f] for f in range(self.scores.shape[2])}
        columns |= {
            "support": self.support.mean(axis=2),
            "gap": self.gap,
            "steps": self.steps.sum(axis=2),
            "seconds": self.seconds,
        }
        return data_frame({k: np.ravel(v) for k, v in columns.items()}, range(self.gap.size))

    def table(self) -> Summary:
        """As a table to print: details of one gamma, or the means by gamma."""
        best, simple = self.best, self.one_standard_error
        folds = self.scores.shape[2]
        header = [("Kernel", self.kernel), ("Score", f"{self.scoring}, {folds} folds")]
        for name, choice in (("Best", best), ("Within one s.e.", simple)):
            if choice is not None:
                gamma = "" if choice.gamma is None else f", gamma = {choice.gamma:.4g}"
                header.append((name, f"C = {choice.C:.4g}{gamma}"))
        at = self._best() or (0, 0)
        formats: dict[str, str]
        if len(self.gammas) == 1:
            columns = {
                "mean": self.mean[0],
                "s.e.": self.standard_error[0],
                "support": self.support[0].mean(axis=1),
                "gap": self.gap[0],
                "steps": self.steps[0].sum(axis=1).astype(float),
            }
            formats = {"mean": ".4f", "s.e.": ".4f", "support": ".0f", "gap": ".0e", "steps": "count"}
        else:
            first = min(max(at[0] - SHOWN // 2, 0), max(len(self.gammas) - SHOWN, 0))
            some = range(first, min(first + SHOWN, len(self.gammas)))
            columns = {f"γ {self.gammas[g]:.3g}": self.mean[g] for g in some}
            formats = dict.fromkeys(columns, ".4f")
        index = tuple(f"C {c:.4g}" for c in self.Cs)
        title = "Price of slack by cross-validation"
        return Summary(title, tuple(header), index, columns, self._notes(), formats=formats)

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.interrupted:
            done = int(np.isfinite(self.mean).sum())
            notes.append(f"Interrupted: {done} of {self.gap.size} points are finished, the others are —.")
        if len(self.gammas) > SHOWN:
            notes.append(f"{SHOWN} of {len(self.gammas)} gammas are shown; to_frame() has all.")
        best = self.best
        if best is not None and len(self.Cs) > 1:
            ends = [word for word, C in (("smallest", self.Cs[0]), ("largest", self.Cs[-1])) if best.C == C]
            if ends:
                notes.append(f"The best C is the {ends[0]} of the grid: a wider one may do better.")
        if np.isinf(self.gap).any():
            notes.append("The kernel is not positive semidefinite: no optimum is claimed.")
        return tuple(notes)

    def plot(self, ax: Any = None) -> Any:
        """Mean score against C with a band of one standard error, a line each gamma; a map of more than five gammas.

        Draws on ``ax`` (default a new figure) with matplotlib, and returns it.
        """
        if ax is None:
            _, ax = pyplot().subplots()
        best, simple = self.best, self.one_standard_error
        if len(self.gammas) > LINES:
            drawn = ax.pcolormesh(self.Cs, self.gammas, self.mean, shading="nearest", cmap="cividis")
            ax.figure.colorbar(drawn, ax=ax, label=self.scoring)
            ax.set(xscale="log", yscale="log", xlabel="C", ylabel="gamma")
            if best is not None:
                ax.plot(
                    best.C, best.gamma, "o", markerfacecolor="none", markeredgecolor="white", markersize=11
                )
            return ax
        mean, error = self.mean, np.nan_to_num(self.standard_error)
        for g, gamma in enumerate(self.gammas):
            name = None if len(self.gammas) == 1 else f"gamma {gamma:.3g}"
            line = ax.plot(self.Cs, mean[g], marker="o", markersize=3.5, label=name)[0]
            ax.fill_between(
                self.Cs, mean[g] - error[g], mean[g] + error[g], alpha=0.15, color=line.get_color()
            )
        for choice, style in ((best, "-"), (simple, "--")):
            if choice is not None:
                ax.axvline(choice.C, color="0.5", linewidth=0.9, linestyle=style, zorder=0)
        ax.set(xscale="log", xlabel="C", ylabel=self.scoring)
        if len(self.gammas) > 1:
            ax.legend()
        return ax

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def svm_path(
    X: Any,
    y: Any,
    *,
    Cs: Any = 11,
    gammas: Any = None,
    kernel: Any = "rbf",
    degree: int = 3,
    coef0: float = 0.0,
    cv: Any = 5,
    scoring: Any = "accuracy",
    sample_weight: Any = None,
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
        search = Search(model, data, folds, prices, widths, scorer, verbose)
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


def _check_gammas(gammas: Any, kernel: Any) -> None:
    if gammas is None:
        return
    if kernel not in WITH_GAMMA:
        raise ValueError(f"kernel {kernel!r} has no gamma: leave gammas=None")
    _grid("gammas", gammas, *WIDTHS)


def _widths(gammas: Any, kernel: Any, scale: float) -> FloatArray:
    if kernel not in WITH_GAMMA:
        return np.array([np.nan])
    if gammas is None:
        return np.array([scale])
    return _grid("gammas", gammas, WIDTHS[0] * scale, WIDTHS[1] * scale)


def _read_scoring(scoring: Any) -> tuple[Any, str]:
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


def _name_of(kernel: Any) -> str:
    return str(getattr(kernel, "__name__", type(kernel).__name__))
