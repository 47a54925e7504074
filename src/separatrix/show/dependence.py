"""How a model's answer moves with one column: the mean over rows, and single rows centred on it.

    mean_i f(x_i with x_ij = v),     line_i(v) − line_i(v₀) of single rows, and of the mean

Lines that are parallel to the mean say that the column adds up with the others; lines that cross say that it works
differently in different rows. The figures are those of judge/dependence.py. Row V4. Cost: rows × cells predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.data.sources import TableLike
from separatrix.judge.cells import names_of
from separatrix.judge.dependence import ROWS, Dependence, dependence
from separatrix.show.look import DASHED, MARKERS, SMALL, Axes, Display, Theme, head, key
from separatrix.show.reading import check_classifier, codes_of, name_of

SINGLE = 24  # rows drawn one by one
MOST_CLASSES = 4
WIDEST = 18  # letters of a level


@dataclass(eq=False)
class DependenceDisplay(Display):
    """Partial dependence of P(k | x) on one column, with centred lines of single rows (row V4).

    Made by :meth:`from_estimator`. ``found`` is the :class:`~separatrix.judge.dependence.Dependence`; ``shown`` are
    the classes drawn: of two the second, of more those asked for, or those that move most.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> display = DependenceDisplay.from_estimator(model, X, "worst area")
    >>> display.alt_text
    'P(1) as worst area moves and all else stays, over 150 rows: from 0.685 to 0.495.'
    >>> display.close()
    """

    name: str
    classes: list[Any]
    found: Dependence
    shown: list[int]
    single: int = SINGLE
    title: str | None = None

    size = (5.2, 3.6)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        column: Any,
        *,
        labels: Any = None,
        rows: int = ROWS,
        single: int = SINGLE,
        seed: int = 0,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> DependenceDisplay:
        """Draw a fitted classifier's probabilities over the cells of a column of X (n, p), a name or a number.

        ``labels`` are classes to draw, at most four; ``rows`` the mean is over, ``single`` of them drawn one by one.
        """
        classes = check_classifier(model)
        if not hasattr(model, "predict_proba"):
            raise TypeError(
                f"{name_of(model)} has no predict_proba: calibrate it first, or choose another model"
            )
        names = names_of(X)
        if isinstance(column, (int, np.integer)) and 0 <= column < len(names):
            j = int(column)
        elif str(column) in names:
            j = names.index(str(column))
        else:
            raise ValueError(f"column {column!r} is not in X: its columns are {', '.join(names[:8])}")
        found = dependence(lambda Z: np.asarray(model.predict_proba(Z)), X, j, rows=rows, seed=seed)
        shown = None
        if labels is not None:
            asked = list(labels) if isinstance(labels, (list, tuple, np.ndarray)) else [labels]
            shown = codes_of(classes, asked, len(asked)).tolist()
        return cls.from_dependence(
            found,
            classes.tolist(),
            name=name_of(model),
            shown=shown,
            single=single,
            title=title,
            ax=ax,
            theme=theme,
        )

    @classmethod
    def from_dependence(
        cls,
        found: Dependence,
        classes: list[Any],
        *,
        name: str = "",
        shown: list[int] | None = None,
        single: int = SINGLE,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> DependenceDisplay:
        """Draw lines that are there; ``shown`` the numbers of the classes."""
        if shown is None:
            moved = np.argsort(-np.ptp(found.mean, axis=0), kind="stable")[:MOST_CLASSES]
            shown = [1] if len(classes) == 2 else sorted(moved.tolist())
        if not classes:  # numbers
            shown = [0]
        if not 0 < len(shown) <= MOST_CLASSES:
            raise ValueError(f"labels names {len(shown)} classes: 1 to {MOST_CLASSES} can be told apart")
        made = cls(name, list(classes), found, list(shown), single, title)
        if found.kind == "levels":
            made.size = (5.2, max(2.4, 1.5 + 0.26 * len(found.labels)))
        return made.plot(ax, theme=theme)

    @property
    def alt_text(self) -> str:
        k, found = self.shown[0], self.found
        mean = found.mean[:, k]
        what = self._what(k)
        text = f"{what[0].upper()}{what[1:]} as {found.name} moves and all else stays, over {len(found.lines)} rows: "
        if found.kind == "levels":
            low, high = found.labels[int(mean.argmin())], found.labels[int(mean.argmax())]
            return text + f"least for {low}, {mean.min():.3g}, most for {high}, {mean.max():.3g}."
        return text + f"from {mean[0]:.3g} to {mean[-1]:.3g}."

    def _draw(self, ax: Axes, look: Theme) -> None:
        keys: list[Any] = []
        draw = self._levels if self.found.kind == "levels" else self._numbers
        draw(ax, look, keys)
        several = len(self.shown) > 1
        label = "probability" if several else self._what(self.shown[0])
        caption = f"The {len(self.shown)} of {len(self.classes)} classes that move most." if several else ""
        if several and len(self.shown) == len(self.classes):
            caption = ""
        if self.found.kind == "levels":
            ax.set_xlabel(label)
        elif self._centred:
            at = float(self.found.mean[self.found.start, self.shown[0]])
            ax.set_ylabel(f"change of {label}")
            caption = f"From each row's own at the median cell, where the mean is {at:.3g}; "
            caption += "ticks: tenths of the rows."
        else:
            ax.set_ylabel(label)
        head(ax, look, self.title or _short(self.found.name, 46), caption, keys)

    def _what(self, k: int) -> str:
        """What moves."""
        return f"P({_short(str(self.classes[k]))})" if self.classes else "the prediction"

    @property
    def _centred(self) -> bool:
        """Whether lines of single rows are drawn, so that what is shown is change."""
        return len(self.shown) == 1 and self.single > 0 and self.found.kind != "levels"

    def _drawn(self, values: Any, k: int) -> Any:
        """What is drawn of a mean: itself, or its change from the median cell."""
        return values - self.found.mean[self.found.start, k] if self._centred else values

    def _numbers(self, ax: Any, look: Theme, keys: list[Any]) -> None:
        found = self.found
        at: Any = found.at
        if found.kind == "date":
            at = (found.at * 86400.0).astype("datetime64[s]")
        for i, k in enumerate(self.shown):
            mean = self._drawn(found.mean[:, k], k)
            if self._centred:
                moved = found.lines[: self.single, :, k]
                moved = moved - moved[:, found.start, None]
                ax.plot(at, moved.T, color=look.muted, linewidth=0.7, alpha=0.35, zorder=2)
            ax.plot(
                at,
                mean,
                marker=MARKERS[i] if len(at) < 12 else None,
                markersize=4,
                **look.line(i) | {"zorder": 4},
            )
            keys.append(key(_short(str(self.classes[k])) if len(self.shown) > 1 else "mean", **look.line(i)))
            if found.missing is not None:
                gone = float(self._drawn(found.missing[:, k].mean(), k))
                ax.axhline(gone, color=look.colours[i], linewidth=1.1, linestyle=DASHED, zorder=3)
        if self._centred:
            keys.append(key("rows, centred", color=look.muted, linewidth=0.9, alpha=0.6))
        if found.missing is not None:
            keys.append(key("missing", color=look.colours[0], linewidth=1.1, linestyle=DASHED))
        if found.scale == "log":
            ax.set_xscale("log")
        inside = found.marks[(found.marks >= found.at[0]) & (found.marks <= found.at[-1])]
        marks: Any = (inside * 86400.0).astype("datetime64[s]") if found.kind == "date" else inside
        ax.plot(marks, np.zeros(len(inside)), "|", color=look.muted, markersize=8, clip_on=False,
                transform=ax.get_xaxis_transform(), zorder=5)  # fmt: skip
        ax.set_xlabel(_short(found.name, 44) + (f"\n({found.said})" if found.said else ""))
        if found.kind == "date":
            for label in ax.get_xticklabels():
                label.set_rotation(20)
        self._room(ax)

    def _levels(self, ax: Any, look: Theme, keys: list[Any]) -> None:
        found = self.found
        g = len(found.labels)
        for i, k in enumerate(self.shown):
            mean = found.mean[:, k]
            shift = 0.0 if len(self.shown) == 1 else 0.16 * (i - (len(self.shown) - 1) / 2)
            if len(self.shown) == 1:
                low, high = np.quantile(found.lines[:, :, k], [0.25, 0.75], axis=0)
                ax.hlines(np.arange(g), low, high, color=look.muted, linewidth=1.4, alpha=0.6, zorder=2)
            ax.plot(mean, np.arange(g) + shift, MARKERS[i], color=look.colours[i], markersize=6, zorder=4)
            label = _short(str(self.classes[k])) if len(self.shown) > 1 else "mean"
            keys.append(key(label, linestyle="none", marker=MARKERS[i], color=look.colours[i], markersize=6))
        if len(self.shown) == 1:
            keys.append(key("middle half of the rows", color=look.muted, linewidth=1.4, alpha=0.6))
        ax.set_yticks(range(g), [_short(v) for v in found.labels], fontsize=SMALL)
        ax.set_ylim(g - 0.5, -0.5)
        ax.grid(axis="x", color=look.grid, linewidth=0.7)
        ax.set_axisbelow(True)
        if found.said:
            ax.set_ylabel(found.said, fontsize=SMALL)

    def _room(self, ax: Any) -> None:
        """At least a tenth of the whole range, so that a flat line looks flat."""
        lines = [
            v for line in ax.lines for v in np.ravel(line.get_ydata()) if line.get_transform() is ax.transData
        ]
        if self.found.missing is not None:
            lines += [float(self._drawn(self.found.missing[:, k].mean(), k)) for k in self.shown]
        low, high = min(lines), max(lines)
        middle, half = (low + high) / 2, max((high - low) / 2, 0.05)
        ax.set_ylim(middle - 1.06 * half, middle + 1.06 * half)


def _short(text: str, most: int = WIDEST) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
