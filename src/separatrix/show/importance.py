"""What columns are worth to a model: by how much its score worsens with a column shuffled, with intervals.

A dot is hollow where its interval holds zero. The figures are those of judge/importance.py. Row V4. Cost: a drawing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.data.sources import TableLike
from separatrix.judge.importance import Importance, importance
from separatrix.judge.scores import METRICS
from separatrix.show.look import DASHED, SMALL, Axes, Display, Theme, head
from separatrix.show.reading import check_classifier, codes_of, name_of, need_y

SHOWN = 15
WIDEST = 26  # letters of a name


@dataclass(eq=False)
class ImportanceDisplay(Display):
    """Permutation importances of columns out of fold, largest on top, with intervals (row V4).

    Made by :meth:`from_estimator`, which fits the model anew to five folds; ``found`` is the
    :class:`~separatrix.judge.importance.Importance`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = ImportanceDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    >>> display.found.names[0]
    'petal length (cm)'
    >>> display.alt_text
    'By how much log loss worsens with a column shuffled: most for petal length (cm), by 2.7; 4 of 4 columns shown.'
    >>> display.close()
    """

    name: str
    found: Importance
    title: str | None = None

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: Any = None,
        *,
        metric: str = "log_loss",
        seed: int = 0,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> ImportanceDisplay:
        """Draw the importances of a classifier for rows X (n, p) with labels y (n,), on five folds of them."""
        need_y(y, "importance out of fold")
        classes = check_classifier(model)
        known = [name for name, m in METRICS.items() if m.needs != "cost"]
        if metric not in known:
            raise ValueError(f"metric {metric!r} is unknown: use one of {', '.join(known)}")
        labels = np.asarray(y)
        codes = codes_of(classes, labels, len(labels))
        found = importance(model, X, labels, classes, codes, metric=metric, seed=seed)
        return cls.from_importance(found, name=name_of(model), title=title, ax=ax, theme=theme)

    @classmethod
    def from_importance(
        cls,
        found: Importance,
        *,
        name: str = "",
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> ImportanceDisplay:
        """Draw importances that are there."""
        made = cls(name, found, title)
        made.size = (6.6, 1.5 + 0.3 * min(len(found.names), SHOWN))
        return made.plot(ax, theme=theme)

    @property
    def alt_text(self) -> str:
        found = self.found
        shown = min(len(found.names), SHOWN)
        return (
            f"By how much {METRICS[found.metric].title} worsens with a column shuffled: most for "
            f"{found.names[0]}, by {found.drop[0].mean:.2g}; {shown} of {found.of} columns shown."
        )

    def _draw(self, ax: Axes, look: Theme) -> None:
        found, metric = self.found, METRICS[self.found.metric]
        shown = min(len(found.names), SHOWN)
        ax.axvline(0.0, color=look.frame, linewidth=1.0, linestyle=DASHED, zorder=1)
        for place in range(shown):
            drop = found.drop[place]
            if np.isfinite(drop.low):
                ax.plot([drop.low, drop.high], [place, place], color=look.colours[0], linewidth=1.8, zorder=2)
            full = drop.low > 0 or drop.high < 0
            face: Any = look.colours[0] if full else look.ground
            ax.plot(
                drop.mean, place, "o", color=look.colours[0], markerfacecolor=face, markersize=6.5, zorder=3
            )
        names = [n if len(n) <= WIDEST else n[: WIDEST - 1] + "…" for n in found.names[:shown]]
        ax.set_yticks(range(shown), names, fontsize=SMALL)
        ax.set_ylim(shown - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x", color=look.grid, linewidth=0.7)
        ax.set_axisbelow(True)
        falls = "falls" if metric.higher else "rises"
        ax.set_xlabel(f"{metric.title} {falls} by, where the column is shuffled")
        caption = f"Lines are {100 * found.level:g} % intervals; hollow where they hold zero."
        if shown < found.of:
            caption += f" {shown} of {found.of:,} columns."
        head(ax, look, self.title or "What the model goes by", caption)
