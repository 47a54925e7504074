"""What was said of what there was:  counts C_kl of rows of class k that were called l.

Colour is the share of the row, so that a rare class shows as well as a frequent one. Row V4. Cost O(n + K²).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import TableLike
from separatrix.show.look import SMALL, USUAL, Axes, Display, Theme, contrast, head, mixed
from separatrix.show.reading import check_classifier, codes_of, name_of, need_y

MOST_CLASSES = 30


@dataclass(eq=False)
class ConfusionDisplay(Display):
    """Counts C_kl, a row for each class there was and a column for each that was said (row V4).

    Made by :meth:`from_predictions` or :meth:`from_estimator`. ``matrix`` (K, K), ``share`` = C_kl/Σ_l C_kl.

    Examples
    --------
    >>> display = ConfusionDisplay.from_predictions(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    >>> display.matrix.tolist()
    [[1, 1], [0, 2]]
    >>> display.alt_text
    'Confusion of 4 rows in 2 classes: 75 % right; most often a is called b, 1 time.'
    >>> display.close()
    """

    classes: np.ndarray
    matrix: np.ndarray
    shares_shown: bool = False
    name: str = ""
    title: str | None = None

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        said: Any,
        *,
        classes: Any = None,
        shares: bool = False,
        name: str = "",
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> ConfusionDisplay:
        """Draw from labels y (n,) and answers (n,); ``classes`` their order; ``shares`` writes per cent."""
        need_y(y, "a confusion matrix")
        truth, answer = np.asarray(y), np.asarray(said)
        if truth.ndim != 1 or truth.shape != answer.shape:
            raise ValueError(f"y and the answers must be as long, got {truth.shape} and {answer.shape}")
        if classes is None:
            classes = sorted({*truth.tolist(), *answer.tolist()}, key=lambda v: (str(type(v)), v))
        order = np.asarray(classes)
        if len(order) > MOST_CLASSES:
            raise ValueError(
                f"{len(order)} classes are too many for a picture, {MOST_CLASSES} fit: merge some"
            )
        k = len(order)
        a, b = codes_of(order, truth, len(truth)), codes_of(order, answer, len(truth))
        matrix = np.bincount(a * k + b, minlength=k * k).reshape(k, k)
        found = cls(order, matrix, shares, name, title)
        side = min(3.2 + 0.55 * k, 10.0)
        found.size = (side + 0.4, side + 0.3)
        return found.plot(ax, theme=theme)

    @classmethod
    def from_estimator(
        cls,
        model: BaseEstimator,
        X: TableLike,
        y: Any = None,
        *,
        shares: bool = False,
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> ConfusionDisplay:
        """Draw the answers of a fitted classifier to rows X (n, p) with labels y (n,)."""
        need_y(y, "a confusion matrix")
        classes, name = check_classifier(model), name_of(model)
        return cls.from_predictions(
            y, model.predict(X), classes=classes, shares=shares, name=name, title=title, ax=ax, theme=theme
        )

    @property
    def share(self) -> FloatArray:
        total = self.matrix.sum(axis=1, keepdims=True)
        return self.matrix / np.maximum(total, 1)

    @property
    def alt_text(self) -> str:
        n = int(self.matrix.sum())
        off = self.matrix - np.diag(np.diag(self.matrix))
        text = f"Confusion of {n:,} rows in {len(self.classes)} classes"
        text += f" by {self.name}" if self.name else ""
        text += f": {100 * np.trace(self.matrix) / n:.3g} % right"
        if off.max() > 0:
            k, l = np.unravel_index(int(off.argmax()), off.shape)
            labels, times = self.classes.tolist(), int(off[k, l])
            said = f"{times:,} time{'s' if times != 1 else ''}"
            text += f"; most often {labels[k]} is called {labels[l]}, {said}"
        return text + "."

    def _draw(self, ax: Axes, look: Theme) -> None:
        k, share, hue = len(self.classes), self.share, look.colours[0]
        image = np.array([[mixed(hue, look.ground, 0.05 + 0.95 * v) for v in row] for row in share])
        ax.imshow(image, aspect="auto" if k > 12 else "equal", interpolation="nearest")
        size = SMALL if k <= 12 else max(4.5, 90.0 / k)
        for i in range(k):
            for j in range(k):
                if not self.matrix[i, j]:
                    continue
                text = f"{100 * share[i, j]:.0f} %" if self.shares_shown else f"{self.matrix[i, j]:,}"
                dark = contrast("#111111", tuple(image[i, j])) >= contrast("#FFFFFF", tuple(image[i, j]))
                ink = "#111111" if dark else "#FFFFFF"
                ax.text(j, i, text, ha="center", va="center", fontsize=size + (i == j), color=ink)
        labels = [str(c) for c in self.classes.tolist()]
        turned = max(map(len, labels)) * k > 36
        ax.set_xticks(range(k), labels, rotation=90 if turned else 0, fontsize=size)
        ax.set_yticks(range(k), labels, fontsize=size)
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set_xlabel("called", fontsize=USUAL)
        ax.set_ylabel("really", fontsize=USUAL)
        right = 100 * np.trace(self.matrix) / max(self.matrix.sum(), 1)
        caption = f"{right:.3g} % of {int(self.matrix.sum()):,} rows right; colour is the share of a row."
        head(ax, look, self.title or "What is confused" + (f" by {self.name}" if self.name else ""), caption)
