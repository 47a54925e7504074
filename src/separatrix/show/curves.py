"""Curves of scores against what was varied: the size of the training set, or the value of a parameter.

    mean over folds ± t_{k−1} s/√k       scores (m, k): m sizes or values, k folds

Folds share rows, so the band is that of the mean of these folds, narrower than what other data would show; bands
from a corrected test may be given instead. Ng and Jordan (2002) for the first picture; row V4. Cost O(mk).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import stdtrit

from separatrix.core.numerics import FloatArray
from separatrix.judge.scores import METRICS
from separatrix.show.look import MARKERS, Axes, Display, Theme, head, key, limit_colours
from separatrix.show.reading import check_level


@dataclass(frozen=True, eq=False)
class Curve:
    """Mean (m,) of the folds, and the band's ends."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray


def band(scores: Any, level: float = 0.95) -> Curve:
    """Mean ± t s/√k over the last axis, NaN left out; without a band where there is one fold.

    >>> found = band([[1.0, 2.0, 3.0]])
    >>> found.mean, found.low.round(3), found.high.round(3)
    (array([2.]), array([-0.484]), array([4.484]))
    """
    values = np.asarray(scores, dtype=float)
    known = np.isfinite(values)
    k = known.sum(axis=1)
    mean = np.where(known, values, 0.0).sum(axis=1) / np.maximum(k, 1)
    if (k < 2).any():
        return Curve(mean, mean, mean)
    variance = np.where(known, (values - mean[:, None]) ** 2, 0.0).sum(axis=1) / (k - 1)
    half = stdtrit(k - 1, 0.5 * (1 + level)) * np.sqrt(variance / k)
    return Curve(mean, mean - half, mean + half)


def read_curves(
    at: Any, scores: Any, bands: Any, level: float, what: str
) -> tuple[FloatArray, dict[str, Curve]]:
    """Checked positions (m,) and curves by name."""
    check_level(level)
    x = np.asarray(at, dtype=float)
    if x.ndim != 1 or len(x) < 2 or not np.isfinite(x).all():
        raise ValueError(f"{what} must be two finite numbers or more, got shape {x.shape}")
    given = dict(scores) if isinstance(scores, Mapping) else {"score": scores}
    if not given:
        raise ValueError("scores is empty: give {name: scores (m, folds)}")
    limit_colours(len(given), "curves")
    order = np.argsort(x, kind="stable")
    curves = {}
    for name, one in given.items():
        values = np.asarray(one, dtype=float)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != len(x):
            raise ValueError(
                f"scores of {name!r} must be ({len(x)}, folds), a row for each of {what}; got {values.shape}"
            )
        if not np.isfinite(values).any(axis=1).all():
            row = int(np.flatnonzero(~np.isfinite(values).any(axis=1))[0])
            raise ValueError(f"scores of {name!r} at {what} {x[row]:g} are not finite: leave that row out")
        curve = band(values, float(level))
        if bands is not None and name in bands:
            low, high = (np.asarray(v, dtype=float) for v in bands[name])
            if low.shape != x.shape or high.shape != x.shape:
                raise ValueError(f"bands of {name!r} must be two arrays ({len(x)},), low and high")
            curve = Curve(curve.mean, low, high)
        curves[str(name)] = Curve(curve.mean[order], curve.low[order], curve.high[order])
    return x[order], curves


def draw_curves(ax: Axes, look: Theme, x: FloatArray, curves: Mapping[str, Curve]) -> list[Any]:
    lines: list[Any] = []
    for i, (name, curve) in enumerate(curves.items()):
        ax.fill_between(x, curve.low, curve.high, color=look.colours[i], alpha=0.18, linewidth=0, zorder=2)
        lines += ax.plot(x, curve.mean, marker=MARKERS[i], markersize=5, label=name, **look.line(i))
    ax.grid(axis="y", color=look.grid, linewidth=0.7)
    ax.set_axisbelow(True)
    return lines


@dataclass(eq=False)
class LearningCurveDisplay(Display):
    """Mean score over folds against the rows learned from, with bands; several models at once (row V4).

    Made by :meth:`from_scores`. ``sizes`` (m,) ascending, ``curves`` name → mean, low, high.

    Examples
    --------
    >>> display = LearningCurveDisplay.from_scores(
    ...     [10, 20, 40],
    ...     {
    ...         "naive Bayes": [[0.3, 0.32], [0.25, 0.27], [0.24, 0.26]],
    ...         "logistic": [[0.4, 0.44], [0.3, 0.3], [0.2, 0.22]],
    ...     },
    ... )
    >>> [(round(size, 1), name) for size, name in display.crossings]
    [(28.3, 'logistic')]
    >>> display.alt_text
    'Error against 10 to 40 training rows. naive Bayes: 0.31 to 0.25; logistic: 0.42 to 0.21. logistic is better
    from about 28.3 rows on.'
    >>> display.close()
    """

    sizes: FloatArray
    curves: dict[str, Curve]
    metric: str = "error"
    smaller: bool = True
    level: float = 0.95
    banded: bool = True
    log: bool = True
    title: str | None = None
    lines_: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def from_scores(
        cls,
        sizes: Any,
        scores: Any,
        *,
        metric: str = "error",
        smaller: bool = True,
        bands: Mapping[str, Any] | None = None,
        level: float = 0.95,
        log: bool = True,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> LearningCurveDisplay:
        """Draw ``scores`` {name: (m, folds)} measured after learning from ``sizes`` (m,) rows.

        Parameters
        ----------
        metric : what the scores are, in words; ``smaller`` whether less of it is better
        bands : {name: (low, high)}, (m,) each, in place of mean ± t s/√folds
        level : of the bands
        log : sizes on a logarithmic axis
        """
        x, curves = read_curves(sizes, scores, bands, level, "sizes")
        banded = any((c.high > c.low).any() for c in curves.values())
        return cls(x, curves, metric, smaller, float(level), banded, log, title).plot(ax, theme=theme)

    @classmethod
    def from_result(
        cls, found: Any, *, title: str | None = None, ax: Axes | None = None, theme: str | None = None
    ) -> LearningCurveDisplay:
        """Draw what :func:`separatrix.learning_curve` found, with its corrected intervals."""
        metric = METRICS[found.metric]
        ends = found.intervals
        scores = dict(zip(found.names, found.scores))
        bands = {name: (ends[i, :, 0], ends[i, :, 1]) for i, name in enumerate(found.names)}
        of: dict[str, Any] = {"metric": metric.title, "smaller": not metric.higher, "level": found.level}
        return cls.from_scores(found.sizes, scores, bands=bands, title=title, ax=ax, theme=theme, **of)

    @property
    def crossings(self) -> list[tuple[float, str]]:
        """(size, the curve that takes the lead there) of two curves, by straight lines over log size."""
        if len(self.curves) != 2:
            return []
        (first, a), (second, b) = self.curves.items()
        gap = (a.mean - b.mean) * (1.0 if self.smaller else -1.0)  # positive: the second leads
        found = []
        at = np.log(self.sizes) if self.sizes[0] > 0 else self.sizes
        for i in np.flatnonzero(gap[:-1] * gap[1:] < 0):
            part = gap[i] / (gap[i] - gap[i + 1])
            size = at[i] + part * (at[i + 1] - at[i])
            size = np.exp(size) if self.sizes[0] > 0 else size
            found.append((float(size), second if gap[i + 1] > 0 else first))
        return found

    @property
    def alt_text(self) -> str:
        each = "; ".join(f"{name}: {c.mean[0]:.3g} to {c.mean[-1]:.3g}" for name, c in self.curves.items())
        text = f"{upper_first(self.metric)} against {self.sizes[0]:g} to {self.sizes[-1]:g} training rows. {each}."
        for size, name in self.crossings[-1:]:
            text += f" {name} is better from about {size:.3g} rows on."
        return text

    def _draw(self, ax: Axes, look: Theme) -> None:
        self.lines_ = draw_curves(ax, look, self.sizes, self.curves)
        ax.set(xlabel="rows to learn from", ylabel=self.metric)
        if self.log and self.sizes[0] > 0:
            _log_axis(ax, self.sizes)
        caption = f"Bands are {100 * self.level:g} % intervals of the mean." if self.banded else ""
        title = self.title or f"{upper_first(self.metric)} as the training set grows"
        head(ax, look, title, caption, self.lines_)


@dataclass(eq=False)
class ValidationCurveDisplay(Display):
    """Mean score over folds against a parameter's value, with bands and the best value marked (row V4).

    Made by :meth:`from_scores`. ``values`` (m,) ascending, ``curves`` name → mean, low, high; ``best`` name → value.

    Examples
    --------
    >>> display = ValidationCurveDisplay.from_scores(
    ...     [0.1, 1, 10], {"test": [[0.3], [0.2], [0.25]]}, parameter="C"
    ... )
    >>> display.best, display.alt_text
    ({'test': 1.0}, 'Error against C from 0.1 to 10; test is best at 1, with 0.2.')
    >>> display.close()
    """

    values: FloatArray
    curves: dict[str, Curve]
    parameter: str
    metric: str = "error"
    smaller: bool = True
    level: float = 0.95
    banded: bool = True
    log: bool = True
    marked: tuple[str, ...] = ()
    title: str | None = None
    lines_: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def from_scores(
        cls,
        values: Any,
        scores: Any,
        *,
        parameter: str = "parameter",
        metric: str = "error",
        smaller: bool = True,
        mark: str | None = None,
        bands: Mapping[str, Any] | None = None,
        level: float = 0.95,
        log: bool | None = None,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> ValidationCurveDisplay:
        """Draw ``scores`` {name: (m, folds)} measured at ``values`` (m,) of a parameter.

        Parameters
        ----------
        parameter, metric : what was varied and what was measured, in words; ``smaller`` whether less is better
        mark : the curve whose best value is marked; all of them by default (a training curve has no say)
        bands, level : as in :class:`LearningCurveDisplay`
        log : values on a logarithmic axis; by default where they span a factor of twenty
        """
        x, curves = read_curves(values, scores, bands, level, "values")
        if mark is not None and mark not in curves:
            raise ValueError(f"mark {mark!r} is not a curve: they are {', '.join(curves)}")
        marked = (mark,) if mark is not None else tuple(curves)
        wide = bool(x[0] > 0 and x[-1] / x[0] >= 20) if log is None else log
        banded = any((c.high > c.low).any() for c in curves.values())
        return cls(
            x, curves, parameter, metric, smaller, float(level), banded, wide, marked, title
        ).plot(ax, theme=theme)  # fmt: skip

    @property
    def best(self) -> dict[str, float]:
        """The value of the best mean, of each curve that is marked."""
        sign = 1.0 if self.smaller else -1.0
        return {name: float(self.values[(sign * self.curves[name].mean).argmin()]) for name in self.marked}

    @property
    def alt_text(self) -> str:
        each = []
        for name, at in self.best.items():
            score = self.curves[name].mean[self.values == at][0]
            each.append(f"{name} is best at {at:g}, with {score:.3g}")
        span = f"{self.values[0]:g} to {self.values[-1]:g}"
        return f"{upper_first(self.metric)} against {self.parameter} from {span}; {'; '.join(each)}."

    def _draw(self, ax: Axes, look: Theme) -> None:
        ring: dict[str, Any] = {
            "marker": "o",
            "linestyle": "none",
            "markerfacecolor": "none",
            "color": look.ink,
        }
        self.lines_ = draw_curves(ax, look, self.values, self.curves)
        for name, at in self.best.items():
            score = float(self.curves[name].mean[self.values == at][0])
            ax.plot([at], [score], markersize=12, zorder=5, **ring)
        ax.set(xlabel=self.parameter, ylabel=self.metric)
        if self.log and self.values[0] > 0:
            ax.set_xscale("log")
        caption = f"Bands are {100 * self.level:g} % intervals of the mean." if self.banded else ""
        title = self.title or f"{upper_first(self.metric)} over {self.parameter}"
        head(ax, look, title, caption, [*self.lines_, key("best", markersize=9, **ring)])


def upper_first(words: str) -> str:
    return words[:1].upper() + words[1:]


def _log_axis(ax: Axes, sizes: FloatArray) -> None:
    """A logarithmic axis whose ticks are sizes that were measured, as many as have room."""
    from matplotlib.ticker import NullFormatter, NullLocator

    ax.set_xscale("log")
    logs = np.log(sizes)
    kept = [len(sizes) - 1]
    for i in range(len(sizes) - 2, -1, -1):
        if logs[kept[-1]] - logs[i] >= 0.11 * (logs[-1] - logs[0]):
            kept.append(i)
    ax.set_xticks(sizes[kept], [f"{v:,.0f}" if v >= 1 else f"{v:g}" for v in sizes[kept]])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
