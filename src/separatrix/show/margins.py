"""How far rows lie from being misclassified:  share of rows with margin ≤ m, for a model or stages of boosting.

    boosting   y Σ α_t h_t(x) / Σ α_t ∈ [−1, 1]      linear   y (w·x + b)/‖w‖      other   f_y(x) − max_{k≠y} f_k(x)

Notes [6321] "Boosting and margins", [6867] 5.1; row V4. Cost: one prediction, O(n log n).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import TableLike
from separatrix.show.look import LINES, Axes, Display, Theme, head, limit_colours
from separatrix.show.reading import check_classifier, codes_of, name_of, need_y
from separatrix.show.regions import leads

KINDS = ("auto", "geometric", "score", "probability")


@dataclass(eq=False)
class MarginsDisplay(Display):
    """Share of rows whose margin is at most m, cumulative or as a histogram ([6321]; V4).

    ``margins`` maps a name (a model, a stage) to its margins (n,); ``lines_`` are the curves after ``plot``. Made by
    :meth:`from_estimator` or :meth:`from_margins`.

    Examples
    --------
    >>> display = MarginsDisplay.from_margins({"early": [-0.5, 0.2, 0.4, 0.9], "late": [0.1, 0.3, 0.5, 0.9]})
    >>> display.below_zero
    {'early': 0.25, 'late': 0.0}
    >>> display.alt_text
    'Margins of 4 rows. early: smallest -0.5, 25 % below zero; late: smallest 0.1, 0 % below zero.'
    >>> display.close()
    """

    margins: dict[str, FloatArray]
    label: str = "margin"
    cumulative: bool = True
    title: str | None = None
    lines_: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def from_margins(
        cls,
        margins: Mapping[str, Any] | Any,
        *,
        label: str = "margin",
        cumulative: bool = True,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> MarginsDisplay:
        """Draw margins given as numbers (n,), or as a mapping from names to them."""
        given = dict(margins) if isinstance(margins, Mapping) else {"": margins}
        limit_colours(len(given), "curves")
        read = {str(name): np.sort(np.asarray(values, dtype=float).ravel()) for name, values in given.items()}
        for name, values in read.items():
            if not len(values) or not np.isfinite(values).all():
                raise ValueError(f"margins {name!r} must be finite numbers, at least one")
        return cls(read, label, cumulative, title).plot(ax, theme=theme)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: Any = None,
        *,
        kind: str = "auto",
        stages: Sequence[int] | None = None,
        cumulative: bool = True,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> MarginsDisplay:
        """Draw the margins of rows X (n, p) with labels y (n,) under a fitted classifier.

        Parameters
        ----------
        kind : "auto": normalised votes of boosting, else distances of a linear rule, else scores, else
            probabilities; or "geometric", "score" (f_y less the best rival's), "probability"
        stages : rounds of a boosted model after which to draw, e.g. (5, 100, 1000)
        """
        need_y(y, "a margin")
        classes = check_classifier(model)
        if kind not in KINDS:
            raise ValueError(f"kind {kind!r} is unknown: use one of {', '.join(map(repr, KINDS))}")
        if stages is not None:
            return cls.from_margins(
                staged(model, X, y, stages), label="margin, share of all votes", cumulative=cumulative,
                title=title or f"Margins of {name_of(model)} as rounds go on", ax=ax, theme=theme,
            )  # fmt: skip
        found, label = margins_of(model, X, y, classes, kind)
        return cls.from_margins(
            {name_of(model): found}, label=label, cumulative=cumulative,
            title=title or f"Margins under {name_of(model)}", ax=ax, theme=theme,
        )  # fmt: skip

    @property
    def below_zero(self) -> dict[str, float]:
        """Share of rows with a negative margin: those put wrong."""
        return {name: float(np.mean(values < 0)) for name, values in self.margins.items()}

    @property
    def alt_text(self) -> str:
        n = len(next(iter(self.margins.values())))
        each = [
            f"{name or 'they'}: smallest {values[0]:.3g}, {100 * self.below_zero[name]:.3g} % below zero"
            for name, values in self.margins.items()
        ]
        return f"Margins of {n:,} rows. {'; '.join(each)}."

    def _draw(self, ax: Axes, look: Theme) -> None:
        self.lines_ = []
        ax.axvline(0.0, color=look.frame, linewidth=0.9, zorder=1)
        if not self.cumulative:
            every = np.concatenate(list(self.margins.values()))
            edges = np.histogram_bin_edges(every, bins=min(40, max(8, int(np.sqrt(len(every))))))
        for i, (name, values) in enumerate(self.margins.items()):
            said = f"{100 * self.below_zero[name]:.2g} % below zero"
            options = {
                "color": look.colours[i], "linestyle": LINES[i], "label": f"{name}, {said}" if name else said
            }  # fmt: skip
            if self.cumulative:
                share = np.arange(1, len(values) + 1) / len(values)
                x = np.concatenate([values[:1], values])
                self.lines_ += ax.step(x, np.concatenate([[0.0], share]), where="post", **options)
            else:
                counts = np.histogram(values, edges)[0] / len(values)
                self.lines_ += ax.step(edges, np.append(counts, counts[-1]), where="post", **options)
        what = "share of rows with at most this margin" if self.cumulative else "share of rows"
        ax.set(xlabel=self.label, ylabel=what)
        ax.set_ylim(0.0, 1.02 if self.cumulative else None)
        head(ax, look, self.title or "Margins", "", self.lines_)


def staged(model: BaseEstimator, X: TableLike, y: Any, stages: Sequence[int]) -> dict[str, FloatArray]:
    """Name → margins after each of the rounds asked for."""
    if not hasattr(model, "staged_margins"):
        raise TypeError(f"{name_of(model)} has no staged_margins: stages= is for AdaBoostClassifier")
    rounds = len(model.estimators_)
    wanted = [int(s) for s in stages]
    wrong = [s for s in wanted if not 1 <= s <= rounds]
    if wrong or not wanted:
        raise ValueError(f"stages must be rounds from 1 to {rounds}, got {wrong[0] if wrong else 'none'}")
    kept = {}
    for t, found in enumerate(model.staged_margins(X, y), 1):
        if t in wanted:
            kept[t] = np.asarray(found)
        if t == max(wanted):
            break
    return {f"{t:,} round{'s' if t > 1 else ''}": kept[t] for t in wanted}


def margins_of(
    model: BaseEstimator, X: TableLike, y: Any, classes: np.ndarray, kind: str = "auto"
) -> tuple[FloatArray, str]:
    """(margins (n,), what they are)."""
    if kind == "auto" and hasattr(model, "margins"):
        return np.asarray(model.margins(X, y)), "margin, share of all votes"
    if kind in ("auto", "geometric") and hasattr(model, "geometric_margin"):
        return np.asarray(model.geometric_margin(X, y)), "margin, distance from the boundary"
    if kind == "geometric":
        raise TypeError(f"{name_of(model)} has no geometric_margin: its boundary is not one hyperplane")
    if kind in ("auto", "score") and hasattr(model, "decision_function"):
        label = "margin, score of the row's class less the rival's"
        scores = np.asarray(model.decision_function(X))
        if scores.ndim == 1:
            codes = codes_of(classes, y, len(scores))
            return np.where(codes == 1, scores, -scores), "margin, y f(x)"
    elif kind in ("auto", "probability") and hasattr(model, "predict_proba"):
        scores, label = np.asarray(model.predict_proba(X)), "margin, P of the row's class less the rival's"
    else:
        raise TypeError(
            f"{name_of(model)} has no {'scores' if kind == 'score' else 'probabilities'} to measure by"
        )
    if scores.shape[1] != len(classes):
        raise TypeError(f'{name_of(model)} scores pairs of classes: use decision_function_shape="ovr"')
    codes = codes_of(classes, y, len(scores))
    return leads(scores)[np.arange(len(scores)), codes], label
