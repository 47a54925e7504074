"""Why a learner errs:  mean loss on rows left out = bias + variance + noise.

    h_b = learner fitted to bootstrap D_b of D, asked about the rows of D − D_b;   row i hears K_i ≤ B answers
    squared   h̄ = their mean:              bias (t − h̄)²,    variance Σ (h_b − h̄)²/(K − 1)
    0–1       m = their most frequent:     bias [m ≠ t],      variance P(h ≠ m), which helps where m is wrong

Notes [6321] "Measuring bias and variance in practice"; Kohavi & Wolpert (1996), Domingos (2000). Row E5 of the
specification; the formulas, and why they add up exactly, are in judge/decomposition.py. Cost: B fits, O(Bn) memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.base import BaseEstimator

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_count
from separatrix.data.extras import data_frame
from separatrix.data.sources import TableLike
from separatrix.inference.summary import Printed, Summary
from separatrix.judge.decomposition import (
    FREEDOM,
    LEAST,
    Decomposition,
    LossPart,
    squared_table,
    zero_one_table,
)
from separatrix.judge.left_out import JudgedTask, ask_left_out, read_task
from separatrix.models.ensemble.bags.draws import Draws, rows_a_bag
from separatrix.models.parameters import seed_of, threads

NAMES = {"error": "error", "bias": "bias", "variance": "variance", "noise": "noise"}
MORE = {
    "unbiased_variance": "· where right (harm)",
    "biased_variance": "· where wrong (good)",
    "disagreement": "disagreement",
}


@dataclass(frozen=True, eq=False)
class PointParts:
    """What :func:`bias_variance` says of every row given (n,); NaN where fewer than two bootstraps left it out.

    Attributes
    ----------
    count : how many bootstraps left the row out and judged it
    prediction : their mean (n,), the mean probabilities (n, K) of a classifier under squared loss, or under 0–1 loss
        the main prediction (a label; None where there is none)
    error : mean loss of the row's predictions = bias + variance + noise
    bias, variance, noise : its parts. Squared loss: bias is (y − mean)² without variance/count and noise, an unbiased
        estimate that may fall below zero in a single row
    residual : y − mean prediction, the bias with its sign; None unless the loss is squared and y numbers
    unbiased_variance, biased_variance : of 0–1 loss, variance = unbiased − biased: how often another class than
        the main one is predicted where that is right, and how often the right one is where it is wrong
    disagreement : of 0–1 loss, how often another class than the main one is predicted
    """

    count: np.ndarray
    prediction: np.ndarray
    error: FloatArray
    bias: FloatArray
    variance: FloatArray
    noise: FloatArray
    residual: FloatArray | None = None
    unbiased_variance: FloatArray | None = None
    biased_variance: FloatArray | None = None
    disagreement: FloatArray | None = None


@dataclass(frozen=True, eq=False, repr=False)
class BiasVariance(Printed):
    """The parts of :func:`bias_variance`:  total = bias + variance + noise, to rounding.

    Attributes
    ----------
    total, bias, variance, noise : means over the judged rows, by weight; each row counts once, however often it was
        left out. Under squared loss ``bias`` is the mean of squares; under 0–1 loss ``variance`` is what variance
        adds to the error, unbiased less biased (Domingos' net variance), and may be negative
    parts : name → :class:`LossPart` (value, low, high, error_points, error_bootstraps), of "error" (= total), "bias",
        "variance", "noise" and under 0–1 loss "unbiased_variance", "biased_variance" and "disagreement"
    kohavi_wolpert : the same for Kohavi and Wolpert's parts of 0–1 loss; None under squared loss
    points, kohavi_wolpert_points : the parts of every row
    loss : "squared" or "zero_one"
    of : what predictions are, "number", "share" (probabilities) or "label"
    classes : the labels in order; empty of numbers
    estimator : the learner's class, or those of a pipeline's steps
    level : confidence of the intervals
    asked, bootstraps : how many bootstraps were asked for, and how many judged rows
    bag : rows drawn for each
    rows, judged : rows that weigh something, and those that at least two bootstraps left out
    repeated, freedom : rows of X with an equal, and degrees of freedom of the noise
    one_class : bootstraps skipped because they held one class and the learner refused it
    interrupted : whether Ctrl-C cut the work short
    warned : (category, first text, how often) of warnings while fitting
    """

    parts: Mapping[str, LossPart]
    points: PointParts
    kohavi_wolpert: Mapping[str, LossPart] | None
    kohavi_wolpert_points: PointParts | None
    loss: str
    of: str
    classes: np.ndarray
    estimator: str
    level: float
    asked: int
    bootstraps: int
    bag: int
    rows: int
    judged: int
    repeated: int
    freedom: float
    one_class: int = 0
    interrupted: bool = False
    warned: tuple[tuple[type[Warning], str, int], ...] = field(default=())

    @property
    def total(self) -> float:
        """Mean loss on rows left out."""
        return self.parts["error"].value

    @property
    def bias(self) -> float:
        return self.parts["bias"].value

    @property
    def variance(self) -> float:
        return self.parts["variance"].value

    @property
    def noise(self) -> float:
        return self.parts["noise"].value

    @property
    def noise_known(self) -> bool:
        """Whether enough rows of X are equal to tell noise from bias; else ``noise`` is 0 and ``bias`` holds it."""
        return self.freedom >= FREEDOM

    # ---- to look at ----

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row for each row given; ``table().to_frame()`` has the parts over all."""
        points = self.points
        columns: dict[str, Any] = {"count": points.count}
        if points.prediction.ndim == 2:
            columns |= {f"P({label})": p for label, p in zip(self.classes.tolist(), points.prediction.T)}
        else:
            columns["prediction"] = points.prediction
        for name in ("residual", "error", *NAMES, *MORE):
            values = getattr(points, name)
            if values is not None and name not in columns:
                columns[name] = values
        if self.kohavi_wolpert_points is not None:
            for name in ("bias", "variance", "noise"):
                columns[f"kw_{name}"] = getattr(self.kohavi_wolpert_points, name)
        return data_frame(columns, range(len(points.count)))

    def table(self) -> Summary:
        """As a table to print: the parts over all rows with their intervals."""
        squares = self.loss == "squared"
        shown = [("bias²" if squares and k == "bias" else label, self.parts[k]) for k, label in NAMES.items()]
        if self.loss == "zero_one":
            shown[3:3] = [(MORE[k], self.parts[k]) for k in ("unbiased_variance", "biased_variance")]
        if self.kohavi_wolpert is not None:
            shown += [
                (f"K–W {'bias²' if k == 'bias' else k}", self.kohavi_wolpert[k]) for k in list(NAMES)[1:]
            ]
        if not self.noise_known:
            shown = [(name, part) for name, part in shown if not name.endswith("noise")]
        values = np.array([part for _, part in shown])
        heads = ("part", f"{self.level * 100:g} % from", "to", "s.e. points", "s.e. bootstraps")
        columns = dict(zip(heads, values.T))
        what = {"number": "squared loss", "share": "half the Brier score", "label": "0–1 loss"}[self.of]
        judged = f"{self.judged:,}" if self.judged == self.rows else f"{self.judged:,} of {self.rows:,}"
        header = (("Rows judged", judged), ("Bootstraps", f"{self.bootstraps:,} of {self.bag:,} rows"))
        title = f"Bias and variance of {self.estimator}, {what}"
        return Summary(title, header, tuple(name for name, _ in shown), columns, self._notes())

    def _notes(self) -> tuple[str, ...]:
        notes = [
            "error = bias + variance + noise: the mean over rows of the loss of each row's own predictions."
        ]
        if self.loss == "zero_one":
            notes[0] += (
                " Variance is its first line less the second. K–W are Kohavi and Wolpert's parts of the same error."
            )
        notes.append(self._noise_note())
        if self.judged < self.rows:
            notes.append(
                f"{self.rows - self.judged:,} rows were left out by fewer than {LEAST} bootstraps and are not judged."
            )
        if self.one_class:
            notes.append(
                f"{self.one_class} bootstraps held one class, which {self.estimator} refuses: they are skipped."
            )
        if self.interrupted:
            notes.append(
                f"Interrupted: {self.bootstraps + self.one_class} of {self.asked} bootstraps are done."
            )
        for kind, text, times in self.warned:
            notes.append(f"{kind.__name__} {times} times while fitting, first: {text}")
        notes.append(
            "Intervals cover which rows there are to judge (equal rows go together) and the finite number of "
            "bootstraps; the training set at hand stays as it is."
        )
        return tuple(notes)

    def _noise_note(self) -> str:
        if not self.repeated:
            return "No two rows of X are equal, so noise cannot be told apart: it is counted in bias."
        if not self.noise_known:
            return (
                f"Only {self.repeated} rows of X have equals, too few to tell noise apart ({FREEDOM} degrees of "
                "freedom would do): it is counted in bias."
            )
        if self.loss == "zero_one":
            rest = self.rows - self.repeated
            text = f"Noise is what {self.repeated:,} rows with equals in X say: labels other than the usual one there"
            if rest:
                text += f"; that of the other {rest:,} rows is counted in bias"
            return f"{text}. K–W noise is their disagreement, taken to be the same in every row."
        return (
            f"Noise is the variance of y among equal rows of X ({self.repeated:,} rows, {self.freedom:.4g} degrees "
            "of freedom), taken to be the same in every row."
        )


def bias_variance(
    estimator: BaseEstimator,
    X: TableLike,
    y: ArrayLike,
    *,
    loss: str | None = None,
    n_bootstraps: int = 200,
    max_samples: int | float | None = None,
    sample_weight: ArrayLike | None = None,
    level: float = 0.95,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool | int = False,
) -> BiasVariance:
    """mean loss on rows left out = bias + variance + noise, by B bootstraps of the rows X (n, p), y (n,).

    Copies of ``estimator`` are fitted to bootstraps of the rows, and every row is judged by those that left it out
    (notes [6321] "Measuring bias and variance in practice"). The parts add up to the measured error to rounding.

    - *Squared loss of a regressor*: mean prediction h̄, bias² (y − h̄)², variance Σ(h − h̄)²/(K − 1); the variance/K
      that h̄ still carries is taken out of bias², so that more bootstraps sharpen the answer but do not shift it.
    - *Squared loss of a classifier*: the same of ``predict_proba`` against 0 and 1, half the sum over classes (half
      the Brier score; of two classes (y − p)²).
    - *0–1 loss*: Domingos' parts by the main prediction (most frequent; of a tie, the one predicted first), and
      Kohavi and Wolpert's by class frequencies.

    Noise can be told from bias where rows of X are equal and their labels differ; else it is counted in bias, and
    the result says so.

    Parameters
    ----------
    estimator : anything with scikit-learn's ``fit``, ``predict`` and ``get_params``; it stays as it is. Its
        ``random_state``, and that of parts of it, is set anew for each bootstrap: its draws are part of its variance
    X : table, sparse matrix, frame or list in memory, as the estimator reads it
    y : numbers, or labels of any kind
    loss : "squared", "zero_one", or None for 0–1 of a classifier and squared of anything else
    n_bootstraps : B, at least 2; a few hundred
    max_samples : rows of a bootstrap: None for as many as there are, a number, or a share in (0, 1]; fewer where the
        rows are very many
    sample_weight : (n,), rows are drawn, and counted in the means, in proportion; rows of weight zero take no part
    level : confidence of the intervals: value ± z·√(s.e. over points² + s.e. over bootstraps²), the first by a
        jackknife over rows (equal rows together), the second by one over batches of bootstraps or, for Domingos'
        parts, by resampling them. They say how far other rows to judge, or other bootstraps, would move the answer;
        not what other training sets would do beyond that
    random_state : seed of the bootstraps; the same for any number of threads
    n_jobs : threads, on which bootstraps run side by side; None uses all cores this process may use
    verbose : True shows a progress bar on standard error

    Returns
    -------
    :class:`BiasVariance` : ``total``, ``bias``, ``variance``, ``noise``, ``parts`` with intervals, ``points``,
        ``to_frame()``, and a table when printed. Ctrl-C keeps the bootstraps that are finished

    Notes
    -----
    Cost: B fits and B predictions of about n/e rows; B·n numbers (B·n·K for probabilities) in memory.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 6, (150, 1))
    >>> y = np.sin(x[:, 0]) + rng.normal(0, 0.1, 150)
    >>> one = bias_variance(KNeighborsRegressor(1), x, y, random_state=0)
    >>> many = bias_variance(KNeighborsRegressor(60), x, y, random_state=0)
    >>> one.variance > 2 * many.variance, many.bias > 2 * one.bias
    (True, True)
    >>> bool(np.isclose(one.total, one.bias + one.variance + one.noise, rtol=1e-12))
    True
    """
    task = read_task(estimator, X, y, loss, sample_weight)
    draws = read_draws(task, n_bootstraps, max_samples, level, random_state, n_jobs)
    found = judge(estimator, task, draws, int(n_bootstraps), level, n_jobs, verbose, "bias_variance")
    warn_once(found.warned)
    return found


def read_draws(
    task: JudgedTask, n_bootstraps: Any, max_samples: Any, level: Any, random_state: Any, n_jobs: Any
) -> Draws:
    """How bags are drawn; settings that cannot be meant are refused."""
    if not (is_count(n_bootstraps) and n_bootstraps >= LEAST):
        raise ValueError(
            f"n_bootstraps must be a whole number of at least {LEAST} (variance is seen between two), "
            f"got {n_bootstraps!r}"
        )
    if not (isinstance(level, (float, np.floating)) and 0 < level < 1):
        raise ValueError(f"level must be a share in (0, 1), 0.95 for 95 %; got {level!r}")
    if n_jobs is not None and (not is_count(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")
    n = len(task.rows)
    m = rows_a_bag(max_samples, n, task.weight, True)
    return Draws(n=n, p=1, m=m, width=1, seed=seed_of(random_state), weight=task.weight)


def judge(
    estimator: BaseEstimator,
    task: JudgedTask,
    draws: Draws,
    bootstraps: int,
    level: float,
    n_jobs: int | None,
    verbose: bool | int,
    title: str,
) -> BiasVariance:
    """The bootstraps, and their table taken apart."""
    with threads(n_jobs):
        table = ask_left_out(estimator, task, draws, bootstraps, verbose, title)
    if not len(table.answers):
        raise ValueError(
            f"every bootstrap held one class, which {type(estimator).__name__} refuses: give more rows of the others"
        )
    z = float(ndtri(0.5 + level / 2))
    extra: Decomposition | None = None
    if task.kind == "label":
        main, whole, extra = zero_one_table(table.answers, task.codes, task.repeats, len(task.classes))
        prediction = np.array([*task.classes.tolist(), None], dtype=object)[main]
    else:
        prediction, whole = squared_table(table.answers, task.target, task.repeats, task.kind == "share")
        prediction = prediction[:, 0] if task.kind == "number" else prediction
    judged = int(np.isfinite(whole.points["error"]).sum())
    if not judged:
        raise ValueError(
            f"no row was left out by {LEAST} bootstraps: ask for more of them (n_bootstraps), or let each draw fewer "
            "rows (max_samples)"
        )
    return BiasVariance(
        whole.overall(z),
        _points(task, whole, prediction),
        None if extra is None else extra.overall(z),
        None if extra is None else _points(task, extra, prediction),
        "zero_one" if task.kind == "label" else "squared",
        task.kind,
        task.classes,
        _name(estimator),
        float(level),
        bootstraps,
        len(table.answers),
        draws.m,
        len(task.rows),
        judged,
        task.repeats.rows,
        float(task.repeats.free.sum()),
        table.one_class,
        table.interrupted,
        table.warned,
    )


def _name(estimator: BaseEstimator) -> str:
    """The class, or those of a pipeline's steps."""
    steps = getattr(estimator, "steps", None)
    names = [type(step).__name__ for _, step in steps] if steps else [type(estimator).__name__]
    return " → ".join(names)


def _points(task: JudgedTask, found: Decomposition, prediction: np.ndarray) -> PointParts:
    """The parts at the places of the rows given; those of weight zero have none."""

    def spread(values: np.ndarray, empty: Any) -> np.ndarray:
        out = np.full((task.given, *values.shape[1:]), empty, dtype=values.dtype)
        out[task.rows] = values
        return out

    parts = {name: spread(values, np.nan) for name, values in found.points.items() if name != "count"}
    if task.kind == "number":
        parts["residual"] = spread(task.target[:, 0] - prediction, np.nan)
    count = spread(found.points["count"].astype(np.intp), 0)
    return PointParts(count, spread(prediction, None if task.kind == "label" else np.nan), **parts)


def warn_once(warned: tuple[tuple[type[Warning], str, int], ...]) -> None:
    """One warning for each kind that the fits gave."""
    for kind, text, times in warned:
        if times > 1:
            text = f"{times} times while fitting bootstraps, first: {text}"
        warn(text, kind)
