"""Coefficients as points with intervals, or as bars where a model has no standard errors; one panel a class.

    interval of w_j:  ŵ_j ± z se_j (Wald) from ``summary(level)`` of models with a likelihood, or the posterior's

A penalised fit has no standard errors, and none are drawn. Notes [6867] 3.2.3; rows V4, D8. Cost O(Kp).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.show.look import SMALL, USUAL, Axes, Display, Theme, head, paint, say
from separatrix.show.reading import check_fitted, check_level, last_step, name_of, weights_of

INTERCEPT = "(Intercept)"
MOST_PANELS = 12


@dataclass(frozen=True, eq=False)
class Panel:
    """Coefficients (p,) of one class, and (p, 2) interval ends or None."""

    title: str
    value: FloatArray
    ends: FloatArray | None


@dataclass(eq=False)
class CoefficientsDisplay(Display):
    """ŵ_j with intervals ŵ_j ± z se_j, or bars without; K classes as small multiples ([6867] 3.2.3; V4, D8).

    Made by :meth:`from_estimator`. ``names`` (p,), ``panels``, ``shown`` (places of the coefficients drawn, top
    first), ``axes_`` after ``plot``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(C=np.inf).fit(X[:, :2], y == 2)
    >>> display = CoefficientsDisplay.from_estimator(model, names=["sepal length", "sepal width"])
    >>> display.panels[0].ends.round(2)
    array([[ 1.74,  3.47],
           [-2.  ,  0.51]])
    >>> display.alt_text
    'Coefficients of LogisticRegression with 95 % intervals: sepal length 2.6 (1.74 to 3.47), sepal width -0.746
    (-2 to 0.511).'
    >>> display.close()
    """

    model: str
    names: list[str]
    panels: list[Panel]
    level: float
    shown: np.ndarray
    note: str = ""
    title: str | None = None
    axes_: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        *,
        names: Sequence[Any] | None = None,
        level: float = 0.95,
        intercept: bool = False,
        top: int | None = 20,
        sort: bool = False,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> CoefficientsDisplay:
        """Draw the coefficients of a fitted linear model, ours or scikit-learn's, or of a pipeline's last step.

        Parameters
        ----------
        names : (p,) names of the columns; those of the fit by default
        level : confidence of the intervals
        intercept : draw it too
        top : draw so many columns, those with the largest coefficients; None for all
        sort : largest first rather than in the table's order
        """
        check_fitted(model)
        check_level(level)
        if top is not None and not (isinstance(top, (int, np.integer)) and top >= 1):
            raise ValueError(f"top must be a whole number of at least 1, or None, got {top!r}")
        columns, panels, note = read_coefficients(model, float(level), intercept)
        if names is not None:
            if len(names) != len(columns) - intercept:
                raise ValueError(
                    f"names has {len(names)} entries for {len(columns) - intercept} coefficients"
                )
            columns = ([INTERCEPT] if intercept else []) + [str(v) for v in names]
        if len(panels) > MOST_PANELS:
            raise ValueError(
                f"{name_of(model)} has {len(panels)} sets of coefficients, {MOST_PANELS} fit a picture: draw a model "
                "of fewer classes"
            )
        finite = np.array([np.where(np.isfinite(p.value), np.abs(p.value), np.inf) for p in panels])
        order = np.argsort(-finite.max(axis=0), kind="stable")
        kept = order if top is None else order[:top]
        shown = kept if sort else np.sort(kept)
        if len(shown) < len(columns):
            note = f"The {len(shown)} largest of {len(columns)} coefficients. {note}".strip()
        found = cls(name_of(model), columns, panels, float(level), shown, note, title)
        across = min(len(panels), 4)
        found.size = (
            3.4 + 2.6 * across, (0.8 + 0.27 * len(shown)) * -(-len(panels) // across) + 1.2
        )  # fmt: skip
        return found.plot(ax, theme=theme)

    @property
    def alt_text(self) -> str:
        with_ends = self.panels[0].ends is not None
        words = f" with {100 * self.level:g} % intervals" if with_ends else ""
        parts = []
        for panel in self.panels:
            largest = self.shown[np.argsort(-np.abs(panel.value[self.shown]), kind="stable")][:4]
            ends = None if panel.ends is None else panel.ends
            each = [
                f"{self.names[j]} {panel.value[j]:.3g}"
                + ("" if ends is None else f" ({ends[j, 0]:.3g} to {ends[j, 1]:.3g})")
                for j in largest
            ]
            more = f" and {len(self.shown) - 4} more" if len(self.shown) > 4 else ""
            parts.append((f"{panel.title}: " if len(self.panels) > 1 else "") + ", ".join(each) + more)
        return f"Coefficients of {self.model}{words}: {'; '.join(parts)}."

    def _draw(self, ax: Axes, look: Theme) -> None:
        many = len(self.panels)
        across = min(many, 4)
        down = -(-many // across)
        self.axes_ = [ax] if many == 1 else []
        if many > 1:
            ax.set_axis_off()
            wide, high = 1.0 / across, 1.0 / down
            for i in range(many):
                row, column = divmod(i, across)
                tall = high - 0.06 - (0.09 if down > 1 else 0.05)
                part = ax.inset_axes((column * wide, 1.0 - (row + 1) * high + 0.06, 0.9 * wide, tall))
                paint(part, look, False)
                self.axes_.append(part)
        reach = self._reach()
        for i, (part, panel) in enumerate(zip(self.axes_, self.panels)):
            self._panel(part, panel, look, reach, i % across == 0)
            part.set_xlabel("coefficient" if i >= many - across else "")
            if many > 1:
                part.set_title(panel.title, loc="left", fontsize=USUAL, color=look.ink, pad=3)
        note = self.note
        if many == 1 and self.panels[0].title:
            note = f"{self.panels[0].title}. {note}".strip()
        head(ax, look, self.title or f"Coefficients of {self.model}", note, ())

    def _reach(self) -> tuple[float, float]:
        """Ends of the axis, the same in all panels: every finite estimate, and intervals up to four times as far."""
        values = np.concatenate([p.value[self.shown] for p in self.panels])
        values = values[np.isfinite(values)]
        far = float(np.abs(values).max(initial=0.0)) or 1.0
        ends = [
            np.clip(p.ends[self.shown], -4 * far, 4 * far).ravel() for p in self.panels if p.ends is not None
        ]
        every = np.concatenate([values, [0.0], *ends])
        every = every[np.isfinite(every)]
        low, high = float(every.min()), float(every.max())
        room = 0.06 * ((high - low) or 1.0)
        return low - room, high + room

    def _panel(self, ax: Axes, panel: Panel, look: Theme, reach: tuple[float, float], first: bool) -> None:
        at = np.arange(len(self.shown))
        value = panel.value[self.shown]
        ax.axvline(0.0, color=look.frame, linewidth=0.9, zorder=1)
        finite = np.isfinite(value)
        if panel.ends is None:
            long = value[finite]
            colour = np.where(long >= 0, look.colours[0], look.colours[1])
            bars = ax.barh(at[finite], long, height=0.62, color=colour, edgecolor=look.ground, zorder=2)
            for bar, v in zip(bars, long):
                bar.set_hatch("" if v >= 0 else "////")
        else:
            low, high = panel.ends[self.shown].T
            away = (low > 0) | (high < 0)
            hue = np.where(away, look.colours[0], look.muted)
            low, high = np.maximum(low, reach[0]), np.minimum(high, reach[1])
            ax.hlines(at, low, high, color=hue, linewidth=1.8, zorder=2)
            dots: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 6, "zorder": 3}
            sure, open_ = finite & away, finite & ~away
            ax.plot(value[sure], at[sure], color=look.colours[0], **dots)
            ax.plot(value[open_], at[open_], markerfacecolor=look.ground, color=look.muted, **dots)
        for i in np.flatnonzero(~finite):
            away_to = reach[1] if value[i] > 0 else reach[0]
            text = "no estimate" if np.isnan(value[i]) else "→ +∞" if value[i] > 0 else "−∞ ←"
            say(ax, look, 0.0 if np.isnan(value[i]) else away_to, at[i], text, va="center",
                ha="right" if value[i] > 0 else "left")  # fmt: skip
        ax.set(xlim=reach, ylim=(len(at) - 0.4, -0.6))
        ax.set_yticks(at, [self.names[j] for j in self.shown] if first else [""] * len(at), fontsize=SMALL)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", color=look.grid, linewidth=0.7, zorder=0)
        ax.set_axisbelow(True)


def read_coefficients(
    model: BaseEstimator, level: float, intercept: bool
) -> tuple[list[str], list[Panel], str]:
    """(names, panels, note): with intervals where the model has standard errors, else the weights alone."""
    inner = last_step(model)
    if not hasattr(inner, "coef_"):
        raise TypeError(f"{name_of(model)} has no coef_: coefficients are a linear model's")
    coef = weights_of(inner)
    columns = column_names(model, coef.shape[1])
    if hasattr(inner, "summary"):
        try:
            table = inner.summary(level=level)
        except ValueError as error:
            why = str(error).split(":")[0].split(",")[0]
            return _plain(inner, coef, columns, intercept, f"No intervals: {why}.")
        return _with_ends(inner, table, columns, intercept, level)
    return _plain(inner, coef, columns, intercept, "")


def column_names(model: BaseEstimator, p: int) -> list[str]:
    """Names of what the last step sees."""
    inner = last_step(model)
    model = getattr(model, "best_estimator_", model)
    if hasattr(model, "steps") and len(model.steps) > 1:
        try:
            return [str(v).removeprefix("remainder__") for v in model[:-1].get_feature_names_out()]
        except (AttributeError, ValueError, TypeError):
            pass
    names = getattr(inner, "feature_names_in_", None)
    return [f"x{j}" for j in range(p)] if names is None else [str(v) for v in names]


def _with_ends(
    inner: BaseEstimator, table: Any, columns: list[str], intercept: bool, level: float
) -> tuple[list[str], list[Panel], str]:
    value, ends = table.columns["coef"], np.column_stack([table.columns["low"], table.columns["high"]])
    p = len(columns)
    shift = int(bool(getattr(inner, "fit_intercept", True)))
    heads = len(value) // (p + shift)
    value, ends = value.reshape(heads, p + shift), ends.reshape(heads, p + shift, 2)
    keep = slice(0 if intercept and shift else shift, None)
    labels = [str(c) for c in getattr(inner, "classes_", np.array([])).tolist()]
    if heads == 1:
        titles = [f"Towards {labels[1]} (against {labels[0]})" if len(labels) == 2 else ""]
    elif heads == len(labels) - 1:
        titles = [f"{label} against {labels[0]}" for label in labels[1:]]
    else:
        titles = labels
    panels = [Panel(t, v[keep], e[keep]) for t, v, e in zip(titles, value, ends)]
    note = f"Lines are {100 * level:g} % intervals; hollow where they hold zero."
    return ([INTERCEPT] if intercept and shift else []) + columns, panels, note


def _pairs(inner: BaseEstimator) -> bool:
    """Whether a machine stands for each pair of classes, of three as many as classes."""
    return hasattr(inner, "support_") and getattr(inner, "multi_class", "ovo") == "ovo"


def _plain(
    inner: BaseEstimator, coef: FloatArray, columns: list[str], intercept: bool, note: str
) -> tuple[list[str], list[Panel], str]:
    labels = [str(c) for c in getattr(inner, "classes_", np.array([])).tolist()]
    k = len(labels)
    if len(coef) == 1:
        titles = [f"Towards {labels[1]} (against {labels[0]})" if k == 2 else ""]
    elif len(coef) == k and not _pairs(inner):
        titles = labels
    elif len(coef) == k * (k - 1) // 2:
        titles = [f"{a} against {b}" for a, b in combinations(labels, 2)]
    else:
        titles = [f"set {i + 1}" for i in range(len(coef))]
    if intercept:
        constant = np.broadcast_to(np.atleast_1d(np.asarray(inner.intercept_, dtype=float)), (len(coef),))
        coef = np.column_stack([constant, coef])
        columns = [INTERCEPT, *columns]
    return columns, [Panel(t, w, None) for t, w in zip(titles, coef)], note
