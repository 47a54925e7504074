"""Ranking by a score: ROC (recall against false alarms) and precision against recall, for models or classes.

    AUC = P(score of a positive > score of a negative) + ½ P(equal);   interval by DeLong, DeLong and Clarke-Pearson
    average precision = Σ_t (R_t − R_{t−1}) P_t

Row V4. Cost O(n log n) a curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import TableLike
from separatrix.judge.scores import Interval, digits
from separatrix.show import reading
from separatrix.show.look import DASHED, Axes, Display, Theme, head, limit_colours


@dataclass(frozen=True, eq=False)
class Rates:
    """A curve x (m,), y (m,) with thresholds, and its area with an interval (NaN where there is none)."""

    x: FloatArray
    y: FloatArray
    threshold: FloatArray
    area: float
    low: float = float("nan")
    high: float = float("nan")


def delong(positive: np.ndarray, score: FloatArray, level: float = 0.95) -> tuple[float, float, float]:
    """(AUC, low, high): each row's share in the AUC, whose variance is DeLong's; ends on the logit scale.

    >>> y = np.array([0, 0, 1, 1, 0, 1], dtype=bool)
    >>> tuple(round(v, 3) for v in delong(y, np.array([0.1, 0.4, 0.35, 0.8, 0.2, 0.9])))
    (0.889, 0.261, 0.995)
    """
    m, n = int(positive.sum()), int((~positive).sum())
    every = rankdata(score)
    of_positives = (every[positive] - rankdata(score[positive])) / n
    of_negatives = 1.0 - (every[~positive] - rankdata(score[~positive])) / m
    area = float(of_positives.mean())
    if m < 2 or n < 2 or not 0 < area < 1:
        return area, float("nan"), float("nan")
    error = float(np.sqrt(of_positives.var(ddof=1) / m + of_negatives.var(ddof=1) / n))
    middle, half = np.log(area / (1 - area)), float(ndtri(0.5 * (1 + level))) * error / (area * (1 - area))
    low, high = (1.0 / (1.0 + np.exp(-(middle + s * half))) for s in (-1.0, 1.0))
    return area, float(low), float(high)


def _given(
    y: Any, scores: Any, label: Any, what: str
) -> tuple[dict[str, tuple[np.ndarray, FloatArray]], str]:
    """Name → (is the class, score), from one set of scores or a mapping of them; and the class."""
    reading.need_y(y, what)
    positive, label = reading.two_sided(y, label)
    named = dict(scores) if isinstance(scores, Mapping) else {"": scores}
    limit_colours(len(named), "curves")
    return {str(k): (positive, reading.scores_of(v, len(positive))) for k, v in named.items()}, str(label)


def _asked(
    model: BaseEstimator, X: TableLike, y: Any, label: Any, what: str
) -> tuple[dict[str, tuple[np.ndarray, FloatArray]], str]:
    """The same of fitted models: one, a mapping of several, or one of K classes, each against the rest."""
    reading.need_y(y, what)
    models = dict(model) if isinstance(model, Mapping) else {reading.name_of(model): model}
    out: dict[str, tuple[np.ndarray, FloatArray]] = {}
    first = next(iter(models.values()))
    classes = reading.check_classifier(first)
    if label is None and len(classes) > 2:
        if len(models) > 1:
            raise ValueError(
                f"several models of {len(classes)} classes: name the class to compare with label="
            )
        limit_colours(len(classes), "classes")
        for c in classes.tolist():
            scores, _ = reading.positive_scores(first, X, c, probability=False)
            positive = np.asarray(reading.labels_of(first, y, len(scores)) == c)
            if positive.any():
                out[str(c)] = (positive, scores)
        return out, "each class"
    limit_colours(len(models), "models")
    for name, one in models.items():
        scores, named = reading.positive_scores(one, X, label, probability=False)
        positive, _ = reading.two_sided(reading.labels_of(first, y, len(scores)), named)
        out[str(name)] = (positive, scores)
    return out, str(named)


@dataclass(eq=False)
class _Rates(Display):
    curves: dict[str, Rates]
    answer: str
    base: float
    level: float = 0.95
    title: str | None = None
    lines_: list[Any] = field(default_factory=list, repr=False)

    size = (5.4, 5.0)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        scores: Any,
        *,
        label: Any = None,
        level: float = 0.95,
        known: tuple[float, float, float] | None = None,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> Any:
        """Draw from labels y (n,) and scores (n,), or {name: scores}, that rise with the class ``label``.

        ``known`` is an area with its interval that was found before (a mean over folds), to be said in place of
        that of these rows.
        """
        given, answer = _given(y, scores, label, cls._what)
        return cls._made(given, answer, level, title, ax, theme, known)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: Any = None,
        *,
        label: Any = None,
        level: float = 0.95,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> Any:
        """Draw fitted classifiers (one, or {name: model}) on rows X (n, p); of K classes each against the rest."""
        given, answer = _asked(model, X, y, label, cls._what)
        return cls._made(given, answer, level, title, ax, theme)

    _what = "a ranking"

    @classmethod
    def _made(
        cls,
        given: Any,
        answer: str,
        level: float,
        title: str | None,
        ax: Axes | None,
        theme: str | None,
        known: tuple[float, float, float] | None = None,
    ) -> Any:
        reading.check_level(level)
        curves = {name: cls._curve(positive, score, level) for name, (positive, score) in given.items()}
        if known is not None:
            curves = {
                name: Rates(c.x, c.y, c.threshold, *(float(v) for v in known)) for name, c in curves.items()
            }
        one = len(given) == 1 or answer != "each class"
        base = float(np.mean(next(iter(given.values()))[0])) if one else np.nan
        return cls(curves, answer, base, float(level), title).plot(ax, theme=theme)

    @staticmethod
    def _curve(positive: np.ndarray, score: FloatArray, level: float) -> Rates:
        raise NotImplementedError


@dataclass(eq=False)
class RocDisplay(_Rates):
    """Recall against false alarms over all thresholds, with AUC and its DeLong interval (row V4).

    Made by :meth:`from_predictions` or :meth:`from_estimator`. ``curves`` name → x (false alarms), y (recall),
    threshold, area, low, high.

    Examples
    --------
    >>> display = RocDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.curves[""].area
    0.75
    >>> display.alt_text
    'ROC curve of 1: area 0.750 (0.069–0.992).'
    >>> display.close()
    """

    _what = "a ROC curve"

    @staticmethod
    def _curve(positive: np.ndarray, score: FloatArray, level: float) -> Rates:
        from sklearn.metrics import roc_curve

        x, y, threshold = roc_curve(positive, score)
        return Rates(x, y, threshold, *delong(positive, score, level))

    @property
    def alt_text(self) -> str:
        each = [f"{name + ': ' if name else ''}area {_area(c)}" for name, c in self.curves.items()]
        return f"ROC curve of {self.answer}: {'; '.join(each)}."

    def _draw(self, ax: Axes, look: Theme) -> None:
        ax.plot([0, 1], [0, 1], color=look.frame, linewidth=1.0, linestyle=DASHED, zorder=1)
        self.lines_ = []
        for i, (name, c) in enumerate(self.curves.items()):
            words = f"{name}, area {_area(c)}" if name else f"area {_area(c)}"
            self.lines_ += ax.plot(c.x, c.y, label=words, **look.line(i))
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), xlabel="false alarms: share of the others called so")
        ax.set_ylabel(f"recall: share of {self.answer} found")
        caption = f"Areas with {100 * self.level:g} % intervals; the dashed line is chance."
        if not any(np.isfinite(c.low) for c in self.curves.values()):
            caption = "The dashed line is chance."
        head(ax, look, self.title or f"How well {self.answer} is ranked first", caption, self.lines_)


@dataclass(eq=False)
class PrecisionRecallDisplay(_Rates):
    """Precision against recall over all thresholds, with average precision (row V4).

    Made by :meth:`from_predictions` or :meth:`from_estimator`. ``curves`` name → x (recall), y (precision),
    threshold, area (average precision); ``base`` the share of the class, what chance would reach.

    Examples
    --------
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(display.curves[""].area, 3), display.base
    (0.833, 0.5)
    >>> display.alt_text
    'Precision against recall of 1: average precision 0.833; chance is 0.5.'
    >>> display.close()
    """

    _what = "a precision–recall curve"

    @staticmethod
    def _curve(positive: np.ndarray, score: FloatArray, level: float) -> Rates:
        from sklearn.metrics import average_precision_score, precision_recall_curve

        precision, recall, threshold = precision_recall_curve(positive, score)
        return Rates(recall, precision, threshold, float(average_precision_score(positive, score)))

    @property
    def alt_text(self) -> str:
        each = [f"{n + ': ' if n else ''}average precision {c.area:.3g}" for n, c in self.curves.items()]
        chance = f"; chance is {self.base:.3g}" if np.isfinite(self.base) else ""
        return f"Precision against recall of {self.answer}: {'; '.join(each)}{chance}."

    def _draw(self, ax: Axes, look: Theme) -> None:
        caption = ""
        if np.isfinite(self.base):
            ax.axhline(self.base, color=look.frame, linewidth=1.0, linestyle=DASHED, zorder=1)
            caption = f"The dashed line is chance, the class's share {self.base:.3g}."
        self.lines_ = []
        for i, (name, c) in enumerate(self.curves.items()):
            words = f"{name + ', ' if name else ''}average precision {c.area:.3f}"
            self.lines_ += ax.step(c.x, c.y, where="post", label=words, **look.line(i))
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.03), xlabel=f"recall: share of {self.answer} found")
        ax.set_ylabel("precision: share of finds that are right")
        head(ax, look, self.title or f"What finding {self.answer} costs in precision", caption, self.lines_)


def _area(c: Rates) -> str:
    if not np.isfinite(c.low):
        return f"{c.area:.3g}"
    places = digits(Interval(c.area, c.low, c.high), 3)
    return f"{c.area:.{places}f} ({c.low:.{places}f}–{c.high:.{places}f})"
