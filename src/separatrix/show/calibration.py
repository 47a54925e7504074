"""Are probabilities what they say:  share of the class among rows given P ≈ p, against p.

    bin b: mean prediction p̄_b, share o_b of n_b rows with its Clopper–Pearson interval
    expected calibration error = Σ_b (n_b/n) |o_b − p̄_b|

Answers that models are ranked by (``from_answers``) have the calibration error of that ranking, judge/scores.py: of
the predicted class, over ten equal bins, whatever the bins drawn. Row V4; M12 for machines that need calibration.
Cost O(n log n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import betaincinv
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import TableLike
from separatrix.judge.scores import calibration_error
from separatrix.show import reading
from separatrix.show.look import DASHED, Axes, Display, Theme, head, key

BARS = 20
PREDICTED = "the predicted class"


def binomial_interval(hits: Any, n: Any, level: float = 0.95) -> FloatArray:
    """Clopper and Pearson's interval of a share, (·, 2): it covers the share in at least ``level`` of all samples.

    >>> binomial_interval([0, 5], [10, 10]).round(3)
    array([[0.   , 0.308],
           [0.187, 0.813]])
    """
    k, n = np.asarray(hits, dtype=float), np.asarray(n, dtype=float)
    tail = 0.5 * (1.0 - level)
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, betaincinv(np.maximum(k, 1e-300), n - k + 1, tail), 0.0)
        high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1e-300), 1.0 - tail), 1.0)
    return np.stack([low, high], axis=-1)


@dataclass(eq=False)
class CalibrationDisplay(Display):
    """Share observed against probability predicted, by bins, with binomial intervals (rows V4, M12).

    Made by :meth:`from_predictions`, :meth:`from_answers` or :meth:`from_estimator`. ``predicted``, ``observed``,
    ``count`` (b,), ``interval`` (b, 2) of bins that hold rows, ``edges`` (·,), ``histogram`` (20,) rows by twentieths
    of probability, ``error`` the expected calibration error (of :meth:`from_answers` that of
    :func:`~separatrix.compare`).

    Examples
    --------
    >>> display = CalibrationDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0.1, 0.3, 0.7, 0.9], bins=2, strategy="uniform"
    ... )
    >>> display.predicted, display.observed, round(display.error, 3)
    (array([0.2, 0.8]), array([0., 1.]), 0.2)
    >>> display.alt_text
    'Reliability of 4 predicted probabilities of 1 in 2 bins: expected calibration error 0.2, largest gap 0.2 where
    0.2 is predicted and 0 observed.'
    >>> display.close()
    """

    name: str
    answer: str
    predicted: FloatArray
    observed: FloatArray
    count: np.ndarray
    interval: FloatArray
    edges: FloatArray
    histogram: np.ndarray
    error: float
    level: float
    title: str | None = None
    bars_: Any = field(default=None, repr=False)

    size = (5.6, 5.4)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        p: Any,
        *,
        label: Any = None,
        bins: int = 10,
        strategy: str = "quantile",
        level: float = 0.95,
        name: str = "",
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> CalibrationDisplay:
        """Draw from labels y (n,) and predicted probabilities p (n,) of one class.

        Parameters
        ----------
        label : the class p is the probability of; the second of two
        bins : how many; "quantile" gives them as many rows each, "uniform" the same width
        level : of the intervals
        """
        reading.need_y(y, "calibration")
        positive, label = reading.two_sided(y, label)
        values = reading.probabilities(p, len(positive))
        return cls._made(positive, values, f"{label}", bins, strategy, level, name, title, ax, theme)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: Any = None,
        *,
        label: Any = None,
        bins: int = 10,
        strategy: str = "quantile",
        level: float = 0.95,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> CalibrationDisplay:
        """Draw ``predict_proba`` of a fitted classifier on rows X (n, p) it was not fitted to, with labels y (n,).

        Of more than two classes without ``label`` it is the probability of whichever class is predicted, against how
        often that class is right.
        """
        reading.need_y(y, "calibration")
        classes = reading.check_classifier(model)
        rest = (bins, strategy, level, reading.name_of(model), title, ax, theme)
        if label is None and len(classes) > 2:
            if not hasattr(model, "predict_proba"):
                raise TypeError(f"{reading.name_of(model)} has no predict_proba: calibrate it first")
            shares = np.asarray(model.predict_proba(X))
            hit = shares.argmax(axis=1) == reading.codes_of(classes, y, len(shares))
            return cls._made(hit, shares.max(axis=1), PREDICTED, *rest)
        values, label = reading.positive_scores(model, X, label, probability=True)
        positive = np.asarray(classes[reading.codes_of(classes, y, len(values))] == label)
        return cls._made(positive, values, str(label), *rest)

    @classmethod
    def from_answers(
        cls,
        classes: Sequence[Any],
        codes: np.ndarray,
        P: FloatArray,
        *,
        bins: int = 10,
        strategy: str = "quantile",
        level: float = 0.95,
        name: str = "",
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> CalibrationDisplay:
        """Draw answers P (n, K) to rows of the classes numbered ``codes`` (n,): the second class's of two, else those
        to the predicted class. ``error`` is the calibration error of :func:`~separatrix.compare`.
        """
        two = len(classes) == 2
        hit = codes == 1 if two else P.argmax(axis=1) == codes
        p = np.clip(P[:, 1] if two else P.max(axis=1), 0.0, 1.0)
        answer = str(classes[1]) if two else PREDICTED
        error = calibration_error(codes, P)
        return cls._made(hit, p, answer, bins, strategy, level, name, title, ax, theme, error)

    @classmethod
    def _made(
        cls, hit: np.ndarray, p: FloatArray, answer: str, bins: Any, strategy: str, level: float, name: str,
        title: str | None, ax: Axes | None, theme: str | None, error: float | None = None,
    ) -> CalibrationDisplay:  # fmt: skip
        if not (isinstance(bins, (int, np.integer)) and bins >= 1):
            raise ValueError(f"bins must be a whole number of at least 1, got {bins!r}")
        reading.check_level(level)
        edges = bin_edges(p, int(bins), strategy)
        which = np.searchsorted(edges[1:-1], p, side="left")
        count = np.bincount(which, minlength=len(edges) - 1)
        some = count > 0
        mean = np.bincount(which, p, minlength=len(count))[some] / count[some]
        hits = np.bincount(which, hit, minlength=len(count))[some]
        observed = hits / count[some]
        if error is None:
            error = float(count[some] @ np.abs(observed - mean) / len(p))
        return cls(
            name, answer, mean, observed, count[some], binomial_interval(hits, count[some], level), edges,
            np.histogram(p, BARS, (0.0, 1.0))[0], error, float(level), title,
        ).plot(ax, theme=theme)  # fmt: skip

    @property
    def alt_text(self) -> str:
        worst = int(np.abs(self.observed - self.predicted).argmax())
        gap = abs(self.observed[worst] - self.predicted[worst])
        of = f" by {self.name}" if self.name else ""
        return (
            f"Reliability of {int(self.count.sum()):,} predicted probabilities of {self.answer}{of} in "
            f"{len(self.count)} bins: expected calibration error {self.error:.3g}, largest gap {gap:.3g} where "
            f"{self.predicted[worst]:.3g} is predicted and {self.observed[worst]:.3g} observed."
        )

    def _draw(self, ax: Axes, look: Theme) -> None:
        kept: dict[str, Any] = {"color": look.frame, "linewidth": 1.1, "linestyle": DASHED}
        dots: dict[str, Any] = {"color": look.colours[0], "marker": "o", "markersize": 5.5}
        ax.plot([0, 1], [0, 1], zorder=1, **kept)
        low, high = self.interval.T
        ax.vlines(self.predicted, low, high, color=look.colours[0], linewidth=1.4, zorder=2)
        ax.plot(self.predicted, self.observed, linewidth=1.3, zorder=3, **dots)
        base, room = -0.06, 0.2  # the histogram hangs below the curve, on the same axis of probabilities
        width = 1.0 / len(self.histogram)
        self.bars_ = ax.bar(
            (np.arange(len(self.histogram)) + 0.5) * width, -room * self.histogram / self.histogram.max(),
            bottom=base,
            width=0.94 * width, color=look.colours[0], alpha=0.6, linewidth=0, zorder=2,
        )  # fmt: skip
        ax.axhline(base, color=look.frame, linewidth=0.6, zorder=1)
        ax.set(xlim=(-0.02, 1.02), ylim=(base - room - 0.02, 1.03))
        ax.set_yticks(
            [*np.linspace(0, 1, 6), base - 0.5 * room], [*(f"{v:.1f}" for v in np.linspace(0, 1, 6)), "rows"]
        )
        right = self.answer == PREDICTED
        ax.set_ylabel("share that are right" if right else f"share that are {self.answer}")
        ax.set_xlabel(f"predicted probability of {self.answer}")
        keys = [key(f"observed, {100 * self.level:g} % interval", **dots), key("as predicted", **kept)]
        rows, drawn = f"{int(self.count.sum()):,} rows", f"{len(self.count)} bins"
        caption = f"Expected calibration error {self.error:.3f} over {rows}, drawn in {drawn}."
        title = self.title or (
            f"Are probabilities of {self.name} kept?" if self.name else "Are the probabilities kept?"
        )
        head(ax, look, title, caption, keys)


def bin_edges(p: FloatArray, bins: int, strategy: str) -> FloatArray:
    """Edges from 0 to 1: equal widths, or as many rows in each as ties allow.

    >>> bin_edges(np.array([0.1, 0.2, 0.3, 0.9]), 2, "quantile")
    array([0.  , 0.25, 1.  ])
    """
    if strategy == "uniform":
        return np.linspace(0.0, 1.0, bins + 1)
    if strategy != "quantile":
        raise ValueError(f'strategy {strategy!r} is unknown: use "quantile" or "uniform"')
    inner = np.quantile(p, np.linspace(0.0, 1.0, bins + 1)[1:-1])
    return np.unique(np.concatenate([[0.0], inner, [1.0]]))
