"""Where to cut a probability:  recall, precision and false alarms, or the expected cost, against the threshold t.

    cost(t) = (c_miss · #{positive, p < t} + c_alarm · #{negative, p ≥ t}) / n
    least in theory at t = c_alarm/(c_alarm + c_miss)

Notes [446] "Linear classification", [6867] 3.1.1; rows V4, G13. Cost O(n log n).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_positive
from separatrix.data.sources import TableLike
from separatrix.show.look import LINES, Axes, Display, Theme, head, key, say
from separatrix.show.reading import labels_of, name_of, need_y, positive_scores, probabilities, two_sided


@dataclass(frozen=True, eq=False)
class Cuts:
    """At every threshold (m,) that matters: positives found and negatives called, as counts."""

    threshold: FloatArray
    found: np.ndarray
    alarms: np.ndarray
    positives: int
    negatives: int


def all_cuts(positive: np.ndarray, p: FloatArray) -> Cuts:
    """Counts of rows with p ≥ t for t = 0, each distinct p, and one above all.

    >>> cuts = all_cuts(np.array([False, True, True]), np.array([0.2, 0.2, 0.7]))
    >>> cuts.threshold.tolist(), cuts.found.tolist(), cuts.alarms.tolist()
    ([0.0, 0.2, 0.7, 1.0], [2, 2, 1, 0], [1, 1, 0, 0])
    """
    values = np.unique(p)
    above = np.nextafter(values[-1], 2.0) if values[-1] >= 1.0 else 1.0
    threshold = np.unique(np.concatenate([[0.0], values, [above]]))
    order_p, order_n = np.sort(p[positive]), np.sort(p[~positive])
    found = len(order_p) - np.searchsorted(order_p, threshold, side="left")
    alarms = len(order_n) - np.searchsorted(order_n, threshold, side="left")
    return Cuts(threshold, found, alarms, len(order_p), len(order_n))


class _Cut(Display):
    """What both pictures read: labels and probabilities, of numbers or of a model."""

    @staticmethod
    def _read(y: Any, p: Any, label: Any, what: str) -> tuple[np.ndarray, FloatArray, str]:
        need_y(y, what)
        positive, label = two_sided(y, label)
        return positive, probabilities(p, len(positive)), str(label)

    @staticmethod
    def _ask(
        model: BaseEstimator, X: TableLike, y: Any, label: Any, what: str
    ) -> tuple[np.ndarray, FloatArray, str]:
        need_y(y, what)
        values, label = positive_scores(model, X, label, probability=True)
        positive, _ = two_sided(labels_of(model, y, len(values)), label)
        return positive, values, str(label)


@dataclass(eq=False)
class ThresholdDisplay(_Cut):
    """Recall, precision, false alarms and F₁ against the threshold on P (row V4).

    Made by :meth:`from_predictions` or :meth:`from_estimator`. ``threshold``, ``recall``, ``precision`` (NaN where
    nothing is called), ``alarms``, ``f1`` (m,); ``best`` the threshold of the largest F₁.

    Examples
    --------
    >>> display = ThresholdDisplay.from_predictions([0, 1, 0, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.best, display.alt_text
    (0.4, 'Recall, precision and false alarms of 1 against the threshold: F₁ is largest, 1, at 0.4.')
    >>> display.close()
    """

    answer: str
    threshold: FloatArray
    recall: FloatArray
    precision: FloatArray
    alarms: FloatArray
    f1: FloatArray
    name: str = ""
    title: str | None = None
    lines_: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def from_predictions(
        cls, y: Any, p: Any, *, label: Any = None, name: str = "", title: str | None = None, ax: Axes | None = None,
        theme: str | None = None,
    ) -> ThresholdDisplay:  # fmt: skip
        """Draw from labels y (n,) and probabilities p (n,) of the class ``label`` (the second of two)."""
        return cls._made(*cls._read(y, p, label, "a threshold"), name, title).plot(ax, theme=theme)

    @classmethod
    def from_estimator(
        cls, model: BaseEstimator, X: TableLike, y: Any = None, *, label: Any = None, title: str | None = None,
        ax: Axes | None = None, theme: str | None = None,
    ) -> ThresholdDisplay:  # fmt: skip
        """Draw ``predict_proba`` of a fitted classifier on rows X (n, p) with labels y (n,)."""
        return cls._made(*cls._ask(model, X, y, label, "a threshold"), name_of(model), title).plot(
            ax, theme=theme
        )

    @classmethod
    def _made(
        cls, positive: np.ndarray, p: FloatArray, answer: str, name: str, title: str | None
    ) -> ThresholdDisplay:
        cuts = all_cuts(positive, p)
        called = cuts.found + cuts.alarms
        precision = np.where(called > 0, cuts.found / np.maximum(called, 1), np.nan)
        recall, alarms = cuts.found / cuts.positives, cuts.alarms / cuts.negatives
        f1 = 2 * cuts.found / (called + cuts.positives)
        return cls(answer, cuts.threshold, recall, precision, alarms, f1, name, title)

    @property
    def best(self) -> float:
        """The threshold whose F₁ is largest, the highest of ties."""
        return float(self.threshold[len(self.f1) - 1 - self.f1[::-1].argmax()])

    @property
    def alt_text(self) -> str:
        return (
            f"Recall, precision and false alarms of {self.answer} against the threshold: F₁ is largest, "
            f"{self.f1.max():.3g}, at {self.best:.3g}."
        )

    def _draw(self, ax: Axes, look: Theme) -> None:
        names = ("recall", "precision", "false alarms", "F₁")
        self.lines_ = []
        for i, (label, values) in enumerate(zip(names, (self.recall, self.precision, self.alarms, self.f1))):
            self.lines_ += ax.step(self.threshold, values, where="pre", label=label, **look.line(i))
        ax.axvline(self.best, color=look.frame, linewidth=1.0, zorder=1)
        ax.set(xlim=(0, 1), ylim=(-0.01, 1.03), ylabel="share")
        ax.set_xlabel(f"threshold on the probability of {self.answer}")
        caption = f"F₁ is largest at {self.best:.3g}: {self.f1.max():.3g}."
        head(ax, look, self.title or f"Where to call a row {self.answer}", caption, self.lines_)


@dataclass(eq=False)
class CostDisplay(_Cut):
    """Cost a row against the threshold on P, the best threshold marked beside the theory's (rows V4, G13).

    Made by :meth:`from_predictions` or :meth:`from_estimator`. ``threshold``, ``cost`` (m,); ``best`` the threshold
    of least cost on these rows, ``theory`` = alarm/(alarm + miss), right where probabilities are calibrated.

    Examples
    --------
    >>> display = CostDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], miss=5.0, alarm=1.0)
    >>> display.best, round(display.theory, 3), display.alt_text
    (0.35, 0.167, 'Cost a row against the threshold, a miss 5 and a false alarm 1: least, 0.25, at 0.35; 0.167 in
    theory.')
    >>> display.close()
    """

    answer: str
    threshold: FloatArray
    cost: FloatArray
    miss: float
    alarm: float
    name: str = ""
    title: str | None = None
    lines_: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def from_predictions(
        cls, y: Any, p: Any, *, miss: float = 1.0, alarm: float = 1.0, label: Any = None, name: str = "",
        title: str | None = None, ax: Axes | None = None, theme: str | None = None,
    ) -> CostDisplay:  # fmt: skip
        """Draw from labels y (n,) and probabilities p (n,) of the class ``label``; ``miss`` is the cost of a
        row of it that is not called, ``alarm`` that of another row that is."""
        return cls._made(*cls._read(y, p, label, "a cost"), miss, alarm, name, title).plot(ax, theme=theme)

    @classmethod
    def from_estimator(
        cls, model: BaseEstimator, X: TableLike, y: Any = None, *, miss: float = 1.0, alarm: float = 1.0,
        label: Any = None, title: str | None = None, ax: Axes | None = None, theme: str | None = None,
    ) -> CostDisplay:  # fmt: skip
        """Draw ``predict_proba`` of a fitted classifier on rows X (n, p) with labels y (n,)."""
        read = cls._ask(model, X, y, label, "a cost")
        return cls._made(*read, miss, alarm, name_of(model), title).plot(ax, theme=theme)

    @classmethod
    def _made(
        cls, positive: np.ndarray, p: FloatArray, answer: str, miss: Any, alarm: Any, *named: Any
    ) -> CostDisplay:
        for word, value in (("miss", miss), ("alarm", alarm)):
            if not is_positive(value, finite=True):
                raise ValueError(f"{word} must be a positive cost, got {value!r}")
        cuts = all_cuts(positive, p)
        cost = (float(miss) * (cuts.positives - cuts.found) + float(alarm) * cuts.alarms) / len(positive)
        return cls(answer, cuts.threshold, cost, float(miss), float(alarm), *named)

    @property
    def best(self) -> float:
        """The threshold of least cost, the middle one of ties."""
        least = np.flatnonzero(self.cost == self.cost.min())
        return float(self.threshold[least[len(least) // 2]])

    @property
    def theory(self) -> float:
        return self.alarm / (self.alarm + self.miss)

    @property
    def alt_text(self) -> str:
        return (
            f"Cost a row against the threshold, a miss {self.miss:g} and a false alarm {self.alarm:g}: least, "
            f"{self.cost.min():.3g}, at {self.best:.3g}; {self.theory:.3g} in theory."
        )

    def _draw(self, ax: Axes, look: Theme) -> None:
        least: dict[str, Any] = {"color": look.colours[1], "markeredgecolor": look.ink, "marker": "o"}
        least["linestyle"] = "none"
        self.lines_ = ax.step(
            self.threshold, self.cost, where="pre", label="cost on these rows", **look.line(0)
        )
        ax.plot([self.best], [self.cost.min()], markersize=8, zorder=5, **least)
        # beyond what calling all rows, or none, costs there is nothing to choose
        top = 1.25 * max(float(min(self.cost[0], self.cost[-1])), 3.0 * float(self.cost.min())) or 1.0
        right = self.best < 0.62
        say(
            ax, look, self.best + (0.02 if right else -0.02), max(self.cost.min() - 0.05 * top, 0.01 * top),
            f"best {self.best:.3g}", ha="left" if right else "right", va="top",
        )  # fmt: skip
        ax.axvline(self.theory, color=look.frame, linewidth=1.1, linestyle=LINES[1], zorder=1)
        theory = key(f"theory {self.theory:.3g}", color=look.frame, linestyle=LINES[1], linewidth=1.1)
        keys = [*self.lines_, key("least", markersize=7, **least), theory]
        ax.set(xlim=(0, 1), ylim=(-0.08 * top, top), ylabel="cost a row")
        ax.set_xlabel(f"threshold on the probability of {self.answer}")
        there = f"at 0.5 a row costs {self._at(0.5):.3g}, at best {self.cost.min():.3g}"
        caption = f"A miss costs {self.miss:g}, a false alarm {self.alarm:g}; {there}."
        head(ax, look, self.title or f"What calling a row {self.answer} costs", caption, keys)

    def _at(self, threshold: float) -> float:
        """Cost where rows with p ≥ threshold are called."""
        return float(self.cost[min(int(np.searchsorted(self.threshold, threshold)), len(self.cost) - 1)])
