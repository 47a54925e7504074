"""What a model of numbers says, against what was seen:  points about the diagonal, and errors against its answers.

    (ŷ_i, y_i),   the diagonal is ŷ = y             (ŷ_i, y_i − ŷ_i),   median and middle 80 % of the errors by ŷ

Points off the diagonal on one side say that the model is biased there; errors that fan out say that it is less sure
where it predicts much. Rows P4, V4. Cost: O(n log n); at most POINTS points are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.numerics import FloatArray
from separatrix.judge.dependence import ends_of
from separatrix.judge.label_scores import mae, r2, rmse
from separatrix.show.look import DASHED, Axes, Display, Theme, head, key

POINTS = 2_000
RUNS = 12  # of the rows in the order of ŷ, of which medians are taken


@dataclass(eq=False)
class _Answers(Display):
    """Numbers y (n,) and the answers ŷ (n,) to the same rows."""

    y: FloatArray
    predicted: FloatArray
    name: str = ""
    title: str | None = None

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, predicted: ArrayLike, *, name: str = "", title: str | None = None, ax: Axes | None = None,
        theme: str | None = None,
    ) -> Any:  # fmt: skip
        """Draw from numbers y (n,) and predictions (n,), best of rows that the model has not seen."""
        seen, said = (np.asarray(v, dtype=float).ravel() for v in (y, predicted))
        if seen.shape != said.shape or not len(seen):
            raise ValueError(f"y has {len(seen)} numbers, predicted {len(said)}: give one of each a row")
        if not (np.isfinite(seen).all() and np.isfinite(said).all()):
            raise ValueError("y and predicted must be finite: leave rows without a number out")
        return cls(seen, said, name, title).plot(ax, theme=theme)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: ArrayLike, *, title: str | None = None, ax: Axes | None = None,
        theme: str | None = None,
    ) -> Any:  # fmt: skip
        """Draw a fitted model's answers to rows X (n, p) with numbers y (n,)."""
        return cls.from_predictions(
            y, model.predict(X), name=type(model).__name__, title=title, ax=ax, theme=theme
        )

    def _kept(self) -> np.ndarray:
        """The rows that are drawn."""
        n = len(self.y)
        return np.arange(n) if n <= POINTS else np.sort(np.random.default_rng(0).permutation(n)[:POINTS])

    def _points(self, ax: Any, look: Theme, x: FloatArray, y: FloatArray) -> None:
        rows = self._kept()
        alpha = 0.75 if len(rows) < 150 else 0.45 if len(rows) < 700 else 0.25
        ax.plot(
            x[rows],
            y[rows],
            "o",
            color=look.colours[0],
            markersize=3.6,
            alpha=alpha,
            markeredgewidth=0,
            zorder=2,
        )


@dataclass(eq=False)
class PredictedDisplay(_Answers):
    """Numbers against the model's answers, about the diagonal (rows P4, V4).

    Made by :meth:`from_predictions` or :meth:`from_estimator`.

    Examples
    --------
    >>> display = PredictedDisplay.from_predictions([1.0, 2.0, 3.0, 5.0], [1.5, 2.0, 2.5, 4.0])
    >>> display.alt_text
    'Numbers against predictions of 4 rows: R² 0.829, RMSE 0.612, MAE 0.5.'
    >>> display.close()
    """

    size = (5.2, 4.6)

    @property
    def alt_text(self) -> str:
        R, root, middle = (f(self.y, self.predicted) for f in (r2, rmse, mae))
        return f"Numbers against predictions of {len(self.y):,} rows: R² {R:.3f}, RMSE {root:.3g}, MAE {middle:.3g}."

    def _draw(self, ax: Axes, look: Theme) -> None:
        low, high, scale, said = ends_of(np.concatenate([self.y, self.predicted]))
        if scale == "log" and self.predicted.min() <= 0:
            scale, said = "linear", ""
        ends = np.array([low, high])
        ax.plot(ends, ends, color=look.frame, linewidth=1.2, linestyle=DASHED, zorder=3)
        self._points(ax, look, self.predicted, self.y)
        room = 0.03 * (high - low)
        span = (low, high) if scale == "log" else (low - room, high + room)
        ax.set(xlim=span, ylim=span, xscale=scale, yscale=scale)
        ax.set(xlabel="predicted" + (f"\n({said})" if said else ""), ylabel="seen")
        caption = f"{_drawn_of(self)}The dashed line is where both are equal."
        head(ax, look, self.title or "What was predicted, and what was seen", caption)


@dataclass(eq=False)
class ErrorsDisplay(_Answers):
    """Errors y − ŷ against the answers, with their median and middle 80 % (rows P4, V4).

    Made by :meth:`from_predictions` or :meth:`from_estimator`; ``runs`` (r, 4): a middle ŷ, and the 10 %, 50 % and
    90 % quantile of the errors about it.

    Examples
    --------
    >>> display = ErrorsDisplay.from_predictions([1.0, 2.0, 3.0, 5.0], [1.5, 2.0, 2.5, 4.0])
    >>> display.alt_text
    'Errors against predictions of 4 rows: eight of ten lie from −0.35 to 0.85.'
    >>> display.close()
    """

    size = (5.2, 4.6)

    @property
    def runs(self) -> FloatArray:
        order = np.argsort(self.predicted, kind="stable")
        parts = np.array_split(order, max(min(RUNS, len(order) // 40), 1))
        errors = self.y - self.predicted
        return np.array(
            [[np.median(self.predicted[p]), *np.quantile(errors[p], [0.1, 0.5, 0.9])] for p in parts]
        )

    @property
    def alt_text(self) -> str:
        low, high = np.quantile(self.y - self.predicted, [0.1, 0.9])
        said = f"Errors against predictions of {len(self.y):,} rows: eight of ten lie from {low:.3g} to {high:.3g}."
        return said.replace("-", "−")

    def _draw(self, ax: Axes, look: Theme) -> None:
        errors = self.y - self.predicted
        low, high, scale, said = ends_of(self.predicted)
        if scale == "log":
            ax.set_xscale("log")
        ax.axhline(0.0, color=look.frame, linewidth=1.2, linestyle=DASHED, zorder=1)
        self._points(ax, look, self.predicted, errors)
        runs = self.runs
        keys = []
        if len(runs) > 2:
            ax.fill_between(
                runs[:, 0], runs[:, 1], runs[:, 3], color=look.colours[1], alpha=0.25, linewidth=0, zorder=3
            )
            ax.plot(runs[:, 0], runs[:, 2], **look.line(1) | {"zorder": 4})
            keys = [
                key("median", **look.line(1)),
                key("eight of ten", color=look.colours[1], alpha=0.35, linewidth=7),
            ]
        bottom, top, _, cut = ends_of(np.concatenate([errors, -errors]))
        ax.set(
            xlim=(low, high) if scale == "log" else None,
            ylim=(1.05 * min(bottom, -top), 1.05 * max(top, -bottom)),
        )
        ax.set_xlabel("predicted" + (f"\n({said})" if said else ""))
        ax.set_ylabel("seen − predicted" + (" (98 of 100)" if cut else ""))
        head(ax, look, self.title or "Errors, by what was predicted", _drawn_of(self).strip(), keys)


def _drawn_of(display: _Answers) -> str:
    n = len(display.y)
    return f"{POINTS:,} of {n:,} rows are drawn. " if n > POINTS else ""
