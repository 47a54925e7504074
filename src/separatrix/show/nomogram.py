"""A nomogram: a model whose log-odds is a sum over columns, read off with a ruler.

    s(x) = s₀ + Σ_j f_j(x_j),   points_j = (f_j(x_j) − min f_j) · 100/(largest range of an f),   P = σ(s)

Logistic regression, calibrated linear machines, linear discriminants, naive Bayes of any family and binomial models
under any link are sums; so is a pipeline whose encoder takes columns one by one. Whether a model is one is tested on
the rows given, and one that is not is refused. Notes [6867] 3.2.2, [726]; row V4. Cost: O(np) of a linear rule, else
the prediction of np rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import TableLike
from separatrix.show.additive import Additive, refuse_sum_that_misses, score_of
from separatrix.show.look import SMALL, USUAL, Axes, Display, Theme, few_digits, head, width_of
from separatrix.show.reading import ShownTable, check_fitted, name_of, table_of

SHARES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
SETTLED = 5e-4  # probabilities nearer to 0 or 1 are off the axis


@dataclass(frozen=True, eq=False)
class Scale:
    """A column's axis: cells (m,) as they are asked for, labels (None: unlabelled), f_j there, and f_j's least."""

    name: str
    ticks: list[Any]
    labels: list[str]
    terms: FloatArray
    low: float
    high: float


@dataclass(eq=False)
class NomogramDisplay(Display):
    """points(x) = Σ_j (f_j(x_j) − min f_j)·c and P = σ(points/c + s_min): ``predict_proba`` exactly ([726]; V4).

    Made by :meth:`from_estimator`. ``scales`` are the columns' axes; :meth:`points` and :meth:`probability` are what
    the ruler does.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X[:, 2:], y == 2)
    >>> display = NomogramDisplay.from_estimator(model, X[:, 2:], names=["length", "width"])
    >>> display.points(X[100:102, 2:]).round(1)
    array([[84.7, 34.9],
           [69.5, 26.2]])
    >>> total = display.points(X[:, 2:]).sum(axis=1)
    >>> bool(np.allclose(display.probability(total), model.predict_proba(X[:, 2:])[:, 1], rtol=0, atol=1e-12))
    True
    >>> display.close()
    """

    model: str
    answer: str
    scales: list[Scale]
    unit: float
    start: float
    inverse: Callable[[FloatArray], FloatArray] = field(repr=False)
    _terms: Callable[[Any], FloatArray] = field(repr=False)
    shown: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    note: str = ""
    title: str | None = None

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        *,
        label: Any = None,
        against: Any = None,
        names: Sequence[Any] | None = None,
        top: int | None = 12,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> NomogramDisplay:
        """Draw a fitted additive model; the ranges of the axes are those of X (n, p).

        Parameters
        ----------
        label : the class whose probability is read; the second of two
        against : of more than two classes the one it is compared with: P is then P(label)/(P(label) + P(against))
        names : (p,) names of the columns of an array
        top : draw so many columns, those with the widest scales; the others are not drawn, and are
            counted all the same by :meth:`points`
        """
        check_fitted(model)
        table = table_of(X, names)
        score, inverse, answer = score_of(model, label, against, X)
        as_sum = Additive.of(model, table, score, X)
        found = as_sum.terms(X)
        refuse_sum_that_misses(model, found, as_sum.start, np.asarray(score(X), dtype=float))
        low, high = found.min(axis=0), found.max(axis=0)
        widest = float((high - low).max())
        if not widest > 0:
            raise ValueError(
                f"{name_of(model)} gives every row of X the same score: there is nothing to draw"
            )
        order = np.argsort(-(high - low), kind="stable")
        shown = np.sort(order if top is None else order[: int(top)])
        scales = _scales(as_sum, low, high)
        note = ""
        if len(shown) < table.p:
            note = f"The {len(shown)} columns with the widest scales of {table.p}; total points count the others too."
        start = as_sum.start + float(low.sum())
        figure = cls(
            name_of(model), answer, scales, 100.0 / widest, start, inverse, as_sum.terms, shown, note, title
        )
        figure.size = (8.2, 1.9 + 0.52 * (len(shown) + 3))
        return figure.plot(ax, theme=theme)

    def points(self, X: TableLike) -> FloatArray:
        """Points of each column of each row (n, p); cells beyond an axis go on past its ends."""
        low = np.array([s.low for s in self.scales])
        return self.unit * (self._terms(X) - low)

    def probability(self, points: Any) -> FloatArray:
        """The probability of total points (n,)."""
        return self.inverse(self.start + np.asarray(points, dtype=float) / self.unit)

    @property
    def alt_text(self) -> str:
        widest = sorted(self.shown.tolist(), key=lambda j: self.scales[j].low - self.scales[j].high)[:4]
        listed = ", ".join(
            f"{self.scales[j].name} up to {self.unit * (self.scales[j].high - self.scales[j].low):.0f}"
            for j in widest
        )
        return (
            f"Nomogram of {self.model}: points of each column add up to the {self.answer}; {listed} points."
        )

    # ---- drawing ----

    def _draw(self, ax: Axes, look: Theme) -> None:
        for side in ax.spines.values():
            side.set_visible(False)
        ax.set(xticks=[], yticks=[])
        lines = len(self.shown) + 3
        first, last = self._ends()
        wide = width_of(ax)
        ax.set(xlim=(-0.30 * 100, 104.0), ylim=(lines - 0.3, -0.8))
        step = 104.0 * 0.62 * SMALL / max(wide, 200.0) * 1.25  # room of a character, in points of the scale

        self._axis(ax, look, 0, "points", [(v, f"{v:g}") for v in range(0, 101, 10)], step)
        for i, j in enumerate(self.shown, 1):
            scale = self.scales[j]
            at = self.unit * (scale.terms - scale.low)
            self._column(ax, look, i, scale, at, step)
        span = 100.0 / (last - first)
        total = [((v - first) * span, f"{v:g}") for v in _round_numbers(first, last, 10)]
        self._axis(ax, look, lines - 2, "total points", total, step)
        shares = [((v - first) * span, text) for v, text in self._share_ticks(first, last)]
        self._axis(ax, look, lines - 1, self.answer, shares, step)
        title = self.title or f"{self.model} with a ruler: add the points of each column"
        head(ax, look, title, self.note, ())

    def _ends(self) -> tuple[float, float]:
        """Total points at the ends of their axis: the least and most there are, or where P is all but settled."""
        most = float(sum(self.unit * (s.high - s.low) for s in self.scales))
        first, last = (self._total_of(share, 0.0, most) for share in (SETTLED, 1.0 - SETTLED))
        return (0.0, most) if last - first < 1e-9 * most else (first, last)

    def _total_of(self, share: float, first: float, last: float) -> float:
        """Total points whose probability is ``share``, or the nearer end."""
        from scipy.optimize import brentq

        low, high = self.probability(np.array([first, last]))
        if (low - share) * (high - share) >= 0:
            return first if abs(low - share) < abs(high - share) else last
        return float(brentq(lambda v: float(self.probability(v)) - share, first, last))

    def _share_ticks(self, first: float, last: float) -> list[tuple[float, str]]:
        low, high = self.probability(np.array([first, last]))
        inside = [share for share in SHARES if (low - share) * (high - share) < 0]
        return [(self._total_of(share, first, last), f"{share:g}") for share in inside]

    def _axis(
        self, ax: Axes, look: Theme, i: int, name: str, ticks: list[tuple[float, str]], step: float
    ) -> None:
        places = [t for t, _ in ticks] if i == len(self.shown) + 2 else []
        ends = (min(places, default=0.0), max(places, default=100.0))
        ax.plot(ends, [i, i], color=look.ink, linewidth=1.1)
        ax.text(-3.0, i, name, ha="right", va="center", fontsize=USUAL, fontweight="bold", color=look.ink)
        self._ticks(ax, look, i, spaced(ticks, step), -1.0, "bottom", look.ink)

    def _column(self, ax: Axes, look: Theme, i: int, scale: Scale, at: FloatArray, step: float) -> None:
        ax.plot([0.0, self.unit * (scale.high - scale.low)], [i, i], color=look.colours[0], linewidth=1.6)
        ax.text(-3.0, i, scale.name, ha="right", va="center", fontsize=USUAL, color=look.ink)
        # where f turns, cells of the falling branch are written below the line
        falling = np.zeros(len(at), dtype=bool)
        ordered = bool(scale.ticks) and isinstance(scale.ticks[0], float)
        if ordered and len(at) > 2 and (np.diff(at) > 1e-9).any() and (np.diff(at) < -1e-9).any():
            falling = np.gradient(at) < 0
        above = [(float(at[k]), scale.labels[k]) for k in np.flatnonzero(~falling)]
        below = [(float(at[k]), scale.labels[k]) for k in np.flatnonzero(falling)]
        if not ordered:  # levels that have no room above the line get it below
            below = [(place, text) for place, text, shown in spaced(above, step) if not shown]
            above = [tick for tick in above if tick not in below]
        for ticks, sign, side in ((above, -1.0, "bottom"), (below, 1.0, "top")):
            self._ticks(ax, look, i, spaced(ticks, step), sign, side, look.colours[0])

    @staticmethod
    def _ticks(
        ax: Axes, look: Theme, i: int, ticks: list[tuple[float, str, bool]], sign: float, side: str, hue: str
    ) -> None:
        for at, text, shown in ticks:
            ax.plot([at, at], [i, i + sign * 0.13], color=hue, linewidth=0.9)
            if shown:
                ax.text(at, i + sign * 0.18, text, ha="center", va=side, fontsize=SMALL, color=look.muted)


def spaced(ticks: list[tuple[float, str]], step: float) -> list[tuple[float, str, bool]]:
    """(place, label, whether it is written): labels that would touch one already written are left out.

    >>> [shown for *_, shown in spaced([(0.0, "10"), (1.0, "11"), (9.0, "12")], 1.0)]
    [True, False, True]
    """
    taken: list[tuple[float, float]] = []
    written = set()
    # both ends first, then from left to right
    order = sorted(range(len(ticks)), key=lambda k: ticks[k][0])
    for k in dict.fromkeys([*order[:1], *order[-1:], *order]):
        at, text = ticks[k]
        half = 0.5 * step * (len(text) + 1)
        if all(at + half <= a or at - half >= b for a, b in taken):
            taken.append((at - half, at + half))
            written.add(k)
    return [(at, text, k in written) for k, (at, text) in enumerate(ticks)]


def _scales(as_sum: Additive, low: FloatArray, high: FloatArray) -> list[Scale]:
    """The columns' axes, from one look at all cells to be marked; low and high (p,) are the ends of terms of rows."""
    table = as_sum.table
    marked = [_ticks(table, j) for j in range(table.p)]
    terms = as_sum.at([(j, ticks) for j, (ticks, _) in enumerate(marked)])
    return [
        Scale(name, ticks, labels, at, min(float(first), *at.tolist()), max(float(last), *at.tolist()))
        for name, (ticks, labels), at, first, last in zip(table.names, marked, terms, low, high, strict=True)
    ]


def _ticks(table: ShownTable, j: int) -> tuple[list[Any], list[str]]:
    """Cells to mark on a column's axis: round numbers over its range, or its levels; and how they are written."""
    if table.numeric[j]:
        values = np.asarray(table.columns[j], dtype=float)
        values = values[~np.isnan(values)]
        distinct = np.unique(values)
        if len(distinct) <= 6:
            ticks = [float(v) for v in distinct]
        else:
            inside = _round_numbers(float(distinct[0]), float(distinct[-1]), 8)
            ticks = inside if len(inside) > 1 else [float(distinct[0]), float(distinct[-1])]
        return ticks, [few_digits(v) for v in ticks]
    counts: dict[Any, int] = {}
    for v in table.cells(j):
        counts[v] = counts.get(v, 0) + 1
    levels = sorted(counts, key=lambda v: -counts[v])[:12]
    return levels, ["missing" if v is None else str(v) for v in levels]


def _round_numbers(low: float, high: float, about: int) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(about, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(v) for v in found if low <= v <= high]
