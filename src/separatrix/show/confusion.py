"""What was said of what there was:  counts C_kl of rows of class k that were called l.

Colour is the share of the row, so that a rare class shows as well as a frequent one. Beyond LEGIBLE classes cells
carry no figures, their colour is that of the square root, so that a few mistakes show, and the largest are named
beside it
(:func:`largest`). Classes may stand so that those often confused are neighbours (:func:`by_likeness`). Row V4.
Cost O(n + K²), O(K³) for the order.
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

MOST_CLASSES = 200
LEGIBLE = 16  # classes up to which a cell has room for a figure


def largest(matrix: np.ndarray, most: int = 10) -> list[tuple[int, int, int]]:
    """(true class, answer, how often) of the most frequent mistakes in counts (K, K), largest first.

    >>> largest(np.array([[5, 2], [3, 9]]))
    [(1, 0, 3), (0, 1, 2)]
    """
    off = matrix - np.diag(np.diag(matrix))
    order = np.argsort(-off, axis=None, kind="stable")[:most]
    pairs = [np.unravel_index(int(at), off.shape) for at in order]
    return [(int(i), int(j), int(off[i, j])) for i, j in pairs if off[i, j] > 0]


def by_likeness(matrix: np.ndarray) -> np.ndarray:
    """An order of the classes in which those often confused stand side by side: leaves of average linkage.

    >>> order = by_likeness(np.array([[9, 0, 4], [0, 9, 0], [4, 0, 9]])).tolist()
    >>> abs(order.index(0) - order.index(2))
    1
    """
    if len(matrix) < 3:
        return np.arange(len(matrix))
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    near = np.sqrt((share + share.T) / 2)
    far = squareform(1.0 - near + np.diag(np.diag(near)) - np.eye(len(near)), checks=False)
    tree = linkage(far, "average")
    return np.asarray(leaves_list(optimal_leaf_ordering(tree, far)), dtype=np.intp)


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
        order: str = "given",
        name: str = "",
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> ConfusionDisplay:
        """Draw from labels y (n,) and answers (n,); ``classes`` their order; ``shares`` writes per cent.

        ``order`` "likeness" puts classes that are often confused side by side; "given" keeps them as they are.
        """
        need_y(y, "a confusion matrix")
        truth, answer = np.asarray(y), np.asarray(said)
        if truth.ndim != 1 or truth.shape != answer.shape:
            raise ValueError(f"y and the answers must be as long, got {truth.shape} and {answer.shape}")
        if classes is None:
            classes = sorted({*truth.tolist(), *answer.tolist()}, key=lambda v: (str(type(v)), v))
        labels = np.asarray(classes)
        if len(labels) > MOST_CLASSES:
            raise ValueError(
                f"{len(labels)} classes are too many for a picture, {MOST_CLASSES} fit: merge some"
            )
        if order not in ("given", "likeness"):
            raise ValueError(f'order {order!r} is unknown: use "given" or "likeness"')
        k = len(labels)
        a, b = codes_of(labels, truth, len(truth)), codes_of(labels, answer, len(truth))
        matrix = np.bincount(a * k + b, minlength=k * k).reshape(k, k)
        if order == "likeness":
            near = by_likeness(matrix)
            labels, matrix = labels[near], matrix[np.ix_(near, near)]
        found = cls(labels, matrix, shares, name, title)
        side = min(3.2 + 0.5 * k, 9.0) if k <= LEGIBLE else max(7.5, 0.105 * k + 1.2)
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
        order: str = "given",
        title: str | None = None,
        ax: Axes | None = None,
        theme: str | None = None,
    ) -> ConfusionDisplay:
        """Draw the answers of a fitted classifier to rows X (n, p) with labels y (n,)."""
        need_y(y, "a confusion matrix")
        classes, name = check_classifier(model), name_of(model)
        return cls.from_predictions(
            y, model.predict(X), classes=classes, shares=shares, order=order, name=name, title=title, ax=ax,
            theme=theme,
        )  # fmt: skip

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
        few = k <= LEGIBLE
        depth = share if few else np.sqrt(share)
        image = np.array([[mixed(hue, look.ground, 0.05 + 0.95 * v) for v in row] for row in depth])
        ax.imshow(image, aspect="equal", interpolation="nearest")
        labels = [str(c) for c in self.classes.tolist()]
        size = self._size(labels)
        if few:
            self._figures(ax, image, share)
        else:  # a grid to follow a row by
            for at in np.arange(-0.5, k, 1.0 if k <= 40 else 5.0):
                ax.axhline(at, color=look.grid, linewidth=0.4, zorder=1)
                ax.axvline(at, color=look.grid, linewidth=0.4, zorder=1)
        labels = [v if len(v) <= 22 else v[:21] + "…" for v in labels]
        turned = k > LEGIBLE or max(map(len, labels)) * k > 36
        short = max(map(len, labels)) <= 2 and k <= 40
        ax.set_xticks(range(k), labels, rotation=90 if turned and not short else 0, fontsize=size)
        ax.set_yticks(range(k), labels, fontsize=size)
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set_xlabel("called", fontsize=USUAL)
        ax.set_ylabel("really", fontsize=USUAL)
        right = 100 * np.trace(self.matrix) / max(self.matrix.sum(), 1)
        colour = "colour is the share of a row" if few else "colour is the square root of the share of a row"
        caption = f"{right:.3g} % of {int(self.matrix.sum()):,} rows right; {colour}."
        head(ax, look, self.title or "What is confused" + (f" by {self.name}" if self.name else ""), caption)

    def _size(self, labels: list[str]) -> float:
        """Points of the classes' names, so that neighbours do not touch."""
        room = 72.0 * (self.size[0] - 1.6) / len(labels)
        return float(min(SMALL, max(0.82 * room, 3.0)))

    def _figures(self, ax: Axes, image: FloatArray, share: FloatArray) -> None:
        """A count, or a share, in every cell that is not empty."""
        k = len(self.classes)
        room = 72.0 * (self.size[0] - 1.4) / k
        longest = max(len(f"{v:,}") for v in self.matrix.ravel())
        size = min(SMALL, max(1.5 * room / max(longest, 3), 4.5))
        for i, j in np.argwhere(self.matrix):
            text = f"{100 * share[i, j]:.0f} %" if self.shares_shown else f"{self.matrix[i, j]:,}"
            dark = contrast("#111111", tuple(image[i, j])) >= contrast("#FFFFFF", tuple(image[i, j]))
            ink = "#111111" if dark else "#FFFFFF"
            ax.text(j, i, text, ha="center", va="center", fontsize=size + 0.5 * (i == j), color=ink)
