"""Score against training size, models on the same draws:  score(m, r) of the model fitted to m rows of draw r.

    draw r      rows are split at random into n_test to be judged and the rest to learn from; the first m of those,
                classes in proportion, are the training set of size m, so that a curve's sets are nested
    mean ± t_{R−1} √((1/R + n_test/(n − n_test)) s²)            Nadeau and Bengio (2003): draws share rows
    crossover   where the mean difference of two curves changes sign for the last time, between sizes by log m;
                its interval by resampling the draws

Notes [726] "Naive Bayes and logistic regression": naive Bayes comes close to its limit in O(log p) rows, logistic
regression in O(p), so that the first is ahead at small m (Ng and Jordan 2002). Rows V1, V2. Cost: models × sizes × R
fits.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_count
from separatrix.data.extras import data_frame, pyplot
from separatrix.data.side_by_side import say_done, side_by_side
from separatrix.inference.summary import Printed, Summary
from separatrix.judge.bias_variance import warn_once
from separatrix.judge.candidates import Candidate, read_models
from separatrix.judge.facts import TableFacts, encoder_of, read_two, read_X
from separatrix.judge.fits import answers
from separatrix.judge.left_out import counted
from separatrix.judge.scores import METRICS, Interval, corrected_interval, metric_of, scores_of
from separatrix.models.parameters import seed_of, threads

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVES = ("error", "accuracy", "log_loss", "auc", "brier", "calibration_error")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#222222")
MARKERS = ("o", "s", "^", "D", "v", "P")
RESAMPLES = 1000
STEPS = 8


@dataclass(frozen=True)
class Crossover:
    """Where one curve overtakes another: up to ``size`` rows ``before`` is better, from there ``after``.

    ``size`` is None where one is never worse (``before`` is ``after``), or both are equal throughout. ``low`` and
    ``high`` hold the level's share of the resampled crossings: 0 and ∞ stand for curves that do not cross within the
    sizes. ``share`` is how many of the resamples end as the curves do.
    """

    size: float | None
    low: float
    high: float
    before: str
    after: str
    share: float

    def __str__(self) -> str:
        if self.size is None and self.before != self.after:
            return f"{self.before} and {self.after} are equal at every size"
        if self.size is None:
            return f"{self.after} is better at every size ({self.share:.0%} of resamples agree)"
        high = f"{self.high:,.0f}" if np.isfinite(self.high) else "beyond the largest"
        return f"{self.after} overtakes {self.before} at {self.size:,.0f} rows ({self.low:,.0f} to {high})"


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Printed):
    """What :func:`~separatrix.learning_curve` finds.

    Attributes
    ----------
    names : of the models
    sizes : (S,) rows of training, ascending
    scores : (models, S, R); NaN where Ctrl-C left no time for a draw
    metric : which score
    n_test : rows judged in each draw
    rows, columns : of the table
    level : confidence of the intervals
    interrupted : whether Ctrl-C cut it short
    warned : (category, first text, how often) of warnings while fitting
    """

    names: tuple[str, ...]
    sizes: np.ndarray
    scores: FloatArray
    metric: str
    n_test: int
    rows: int
    columns: int
    level: float
    interrupted: bool = False
    warned: tuple[tuple[type[Warning], str, int], ...] = ()

    @property
    def means(self) -> FloatArray:
        """(models, S), over the draws."""
        return np.asarray(np.nanmean(self.scores, axis=2))

    @property
    def intervals(self) -> FloatArray:
        """(models, S, 2): low and high."""
        ends = [[self._interval(one) for one in model] for model in self.scores]
        return np.array([[(found.low, found.high) for found in model] for model in ends])

    def _interval(self, scores: FloatArray) -> Interval:
        ratio = self.n_test / (self.rows - self.n_test)
        found = corrected_interval(scores[np.isfinite(scores)], ratio, self.level)
        return METRICS[self.metric].inside(found)

    def curve(self, name: str) -> FloatArray:
        """(S, 3): mean, low and high of a model."""
        i = self._place(name)
        return np.column_stack([self.means[i], self.intervals[i]])

    def crossover(self, a: str, b: str, *, random_state: Any = 0) -> Crossover:
        """Where the curves of models a and b cross for the last time, with an interval.

        >>> scores = np.array([[[0.3], [0.2], [0.2]], [[0.4], [0.3], [0.1]]])
        >>> curve = LearningCurve(("nb", "lr"), np.array([10, 100, 1000]), scores, "error", 50, 1050, 5, 0.95)
        >>> print(curve.crossover("nb", "lr"))
        lr overtakes nb at 316 rows (316 to 316)
        """
        i, j = self._place(a), self._place(b)
        if i == j:
            raise ValueError(f"{a!r} and {b!r} are one model: name two")
        sign = -1.0 if METRICS[self.metric].higher else 1.0
        gaps = sign * (self.scores[i] - self.scores[j])  # positive where b is better
        gaps = gaps[:, np.isfinite(gaps).all(axis=0)]
        mean = gaps.mean(axis=1)
        last = last_sign(mean)
        after, before = (b, a) if last > 0 else (a, b)
        rng = np.random.default_rng(seed_of(random_state))
        draws = rng.integers(0, gaps.shape[1], (RESAMPLES, gaps.shape[1]))
        again = np.array([gaps[:, rows].mean(axis=1) for rows in draws])
        agree = np.array([last_sign(one) == last for one in again])
        size = last_change(mean, self.sizes)
        if size is None:
            return Crossover(None, 0.0, 0.0, before if last == 0 else after, after, float(agree.mean()))
        # a resample that ends the other way round has not crossed yet; one without a change crossed before all sizes
        found = [
            np.inf if not same else (0.0 if (at := last_change(one, self.sizes)) is None else at)
            for one, same in zip(again, agree)
        ]
        ends = np.quantile(found, [(1 - self.level) / 2, (1 + self.level) / 2], method="nearest")
        return Crossover(size, float(ends[0]), float(ends[1]), before, after, float(agree.mean()))

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"there is no curve of {name!r}: the models are {', '.join(self.names)}")
        return self.names.index(name)

    # ---- to look at ----

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row for each model and size: mean, low, high and the number of draws."""
        ends, means = self.intervals, self.means
        shape = means.shape
        columns = {
            "model": np.repeat(np.array(self.names, dtype=object), shape[1]),
            "size": np.tile(self.sizes, shape[0]),
            "mean": means.ravel(),
            "low": ends[:, :, 0].ravel(),
            "high": ends[:, :, 1].ravel(),
            "draws": np.isfinite(self.scores).sum(axis=2).ravel(),
        }
        return data_frame(columns, range(means.size))

    def table(self) -> Summary:
        """As a table to print: a row for each size."""
        columns: dict[str, FloatArray] = {}
        labels = {}
        ends, means = self.intervals, self.means
        for i, name in enumerate(self.names):
            columns[name] = means[i]
            columns[f"{name} ±"] = (ends[i, :, 1] - ends[i, :, 0]) / 2
            labels[f"{name} ±"] = "±"
        notes = [
            f"± is half of a {self.level * 100:g} % interval of the mean over draws (corrected resampled t)."
        ]
        if len(self.names) == 2:
            notes.append(f"{self.crossover(*self.names)}.")
        if self.interrupted:
            notes.append("Interrupted: the means are of the draws that were finished.")
        draws = int(np.isfinite(self.scores).all(axis=(0, 1)).sum())
        header = (
            ("Score", METRICS[self.metric].title),
            ("Columns", f"{self.columns:,}"),
            ("Draws", f"{draws}, the same for all"),
            ("Rows judged", f"{self.n_test:,} of {self.rows:,}"),
        )
        formats = dict.fromkeys(columns, ".4f")
        index = tuple(f"{m:,} rows" for m in self.sizes)
        return Summary("Learning curve", header, index, columns, tuple(notes), formats, labels)

    def plot(self, ax: Axes | None = None, *, legend: bool = True) -> Any:
        """Mean score against training size (logarithmic) with a band of its interval, a line each model.

        Draws on ``ax`` (default a new figure) with matplotlib, and returns it.
        """
        if ax is None:
            _, ax = pyplot().subplots(layout="constrained")
        for i, name in enumerate(self.names):
            found = self.curve(name)
            ink, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
            ax.fill_between(self.sizes, found[:, 1], found[:, 2], color=ink, alpha=0.13, linewidth=0)
            ax.plot(self.sizes, found[:, 0], color=ink, marker=marker, markersize=4, label=name)
        ax.set(xscale="log", xlabel="rows of training", ylabel=METRICS[self.metric].title)
        if legend:
            ax.legend()
        return ax


def last_sign(gap: FloatArray) -> float:
    """Which of two curves ends ahead: the sign of the last difference that is not 0; 0 where none is."""
    signs = np.sign(gap[gap != 0])
    return float(signs[-1]) if len(signs) else 0.0


def last_change(gap: FloatArray, sizes: np.ndarray) -> float | None:
    """The size at which a difference (S,) changes sign for the last time, straight in log m; None: it does not.

    >>> round(last_change(np.array([1.0, -1.0, 1.0]), np.array([10, 100, 1000])))
    316
    """
    signs = np.sign(gap)
    turns = np.flatnonzero(signs[: max(np.flatnonzero(signs), default=0)] * last_sign(gap) <= 0)
    if not len(turns):
        return None
    i = int(turns[-1])
    part = gap[i] / (gap[i] - gap[i + 1])
    return float(np.exp((1 - part) * np.log(sizes[i]) + part * np.log(sizes[i + 1])))


def learning_curve(
    models: Any,
    X: Any,
    y: ArrayLike,
    *,
    sizes: Sequence[int] | None = None,
    n_repeats: int = 20,
    metric: str = "error",
    test_size: float = 0.3,
    kinds: Mapping[str, str] | None = None,
    level: float = 0.95,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: bool | int = False,
) -> LearningCurve:
    """score(m) = mean over draws of the score of the model fitted to m rows, on rows it has not seen.

    Rows X (n, p), y (n,). Notes [726]. All models meet the same draws. The first rows of a draw hold one row of each
    class, then a second of each; beyond, classes are in proportion. Settings of the models are as given: tuned ones
    (names) are tuned at every size.

    Parameters
    ----------
    models : an estimator, a name of :func:`~separatrix.compare`, a list, or {name: estimator}; an estimator sees the
        columns as they are given
    sizes : rows of training; None for 8 from twice the number of classes (at least 6) to all, spaced by ratios
    n_repeats : R, draws
    metric : "error", "accuracy", "log_loss", "auc", "brier" or "calibration_error"
    test_size : share of the rows that are judged
    kinds : {column: kind} of a frame, for models by name
    level : confidence of the intervals
    random_state : seed of the draws and of the models; the same for any number of threads
    n_jobs : threads, on which draws run side by side; None uses all cores this process may use
    verbose : True prints a line for each draw and size to standard error

    Returns
    -------
    :class:`LearningCurve` : ``sizes``, ``scores``, ``means``, ``intervals``, ``crossover(a, b)``, ``to_frame()``,
        ``plot()``. Ctrl-C keeps the draws that are finished

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import GaussianNB, LinearDiscriminantAnalysis
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = {"nb": GaussianNB(tie="class"), "lda": LinearDiscriminantAnalysis()}
    >>> curve = learning_curve(models, X, y, sizes=[20, 40, 80, 160, 320], n_repeats=10)
    >>> curve.scores.shape, curve.crossover("nb", "lda").after
    ((2, 5, 10), 'lda')
    """
    chosen = metric_of(metric, CURVES)
    X = read_X(X)
    classes, codes, labels = read_two(y, X.shape[0])
    n = len(codes)
    n_test = _check(n, test_size, n_repeats, level, n_jobs)
    steps = _read_sizes(sizes, n - n_test, len(classes))
    facts = TableFacts.of(X, labels, kinds)
    candidates, _ = read_models(models if models is not None else [], facts)
    if chosen.needs != "labels":
        for name, candidate in candidates.items():
            if not hasattr(candidate.make(facts, 0, "log_loss"), "predict_proba"):
                raise ValueError(
                    f'{name} has no predict_proba, which metric="{metric}" needs: use metric="error"'
                )
    seed = seed_of(random_state)
    orders = [_draw(codes, n_test, seed, r) for r in range(n_repeats)]
    config = sklearn.get_config()

    def work(item: int) -> list[float]:
        r, s = divmod(item, len(steps))
        test, train = orders[r][:n_test], orders[r][n_test : n_test + steps[s]]
        of = (facts, X, labels, codes, train, test, seed + r, chosen.name)
        with sklearn.config_context(**config):
            return [_score(candidate, *of) for candidate in candidates.values()]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with threads(n_jobs):
            items = range(n_repeats * len(steps))
            done, interrupted = side_by_side(work, items, each=say_done(len(items)) if verbose else None)
    scores = np.full((len(candidates), len(steps), n_repeats), np.nan)
    for item, found in done.items():
        scores[:, item % len(steps), item // len(steps)] = found
    warned = counted(caught)
    warn_once(warned)
    whole = np.isfinite(scores).all(axis=(0, 1)).any() if interrupted else True
    if not whole:
        raise KeyboardInterrupt
    about = (chosen.name, n_test, n, int(X.shape[1]), float(level), interrupted, warned)
    return LearningCurve(tuple(candidates), np.array(steps), scores, *about)


def _score(
    candidate: Candidate,
    facts: TableFacts,
    X: Any,
    labels: np.ndarray,
    codes: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    seed: int,
    metric: str,
) -> float:
    encoder = encoder_of(facts, candidate.form)
    A, B = _safe_indexing(X, train), _safe_indexing(X, test)
    if encoder is not None:
        A, B = encoder.fit_transform(A, labels[train]), encoder.transform(B)
    model = candidate.make(facts, seed, "log_loss")
    try:
        model.fit(A, labels[train])
    except Exception as error:
        error.add_note(f"while fitting {candidate.name} to {len(train)} rows")
        raise
    said, P = answers(model, B, facts.classes)
    return scores_of(codes[test], said, P, None)[metric]


def _draw(codes: np.ndarray, n_test: int, seed: int, r: int) -> np.ndarray:
    """An order of all rows: those to be judged, then those to learn from; in both, classes in proportion.

    A row's place is its rank in its class, shifted at random, over the size of the class: any stretch of the order
    has the classes' shares. The rows to learn from begin with one of each class, and a second of each.
    """
    rng = np.random.default_rng([seed, r])

    def spread(rows: np.ndarray) -> np.ndarray:
        rows = rng.permutation(rows)
        place = np.empty(len(rows))
        for k in np.unique(codes[rows]):
            own = np.flatnonzero(codes[rows] == k)
            place[own] = (np.arange(len(own)) + rng.random()) / len(own)
        return rows[np.argsort(place, kind="stable")]

    order = spread(np.arange(len(codes)))
    test, learn = order[:n_test], spread(order[n_test:])
    rank = np.empty(len(learn), dtype=np.intp)
    for k in np.unique(codes[learn]):
        own = np.flatnonzero(codes[learn] == k)
        rank[own] = np.minimum(np.arange(len(own)), 2)
    return np.concatenate([test, learn[np.argsort(rank, kind="stable")]])


# ---- the door ----


def _check(n: int, test_size: Any, n_repeats: Any, level: Any, n_jobs: Any) -> int:
    """The number of rows to judge; settings that cannot be meant are refused."""
    if not (is_count(n_repeats) and n_repeats >= 1):
        raise ValueError(f"n_repeats must be a whole number of at least 1, got {n_repeats!r}")
    if not (isinstance(test_size, (float, np.floating)) and 0 < test_size < 1):
        raise ValueError(f"test_size must be a share in (0, 1), got {test_size!r}")
    if not (isinstance(level, (float, np.floating)) and 0 < level < 1):
        raise ValueError(f"level must be a share in (0, 1), 0.95 for 95 %; got {level!r}")
    if n_jobs is not None and (not is_count(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")
    return max(round(float(test_size) * n), 1)


def _read_sizes(sizes: Any, most: int, classes: int) -> list[int]:
    if sizes is None:
        least = max(6, 2 * classes)
        if most < 2 * least:
            raise ValueError(f"{most} rows to learn from are too few for a curve: give sizes, or more rows")
        return sorted({int(m) for m in np.rint(np.geomspace(least, most, STEPS))})
    steps = [int(m) if is_count(m) else m for m in np.asarray(sizes).tolist()]
    if not steps:
        raise ValueError("sizes is empty: give numbers of training rows")
    for m in steps:
        if not (is_count(m) and classes <= m <= most):
            raise ValueError(
                f"sizes holds {m!r}: a size is a whole number from {classes} (a row of each class) to {most} (the "
                "rows that are not judged)"
            )
    return sorted(set(steps))
