"""Class by class: precision, recall, F1 and support, the largest confusions, and what becomes of a rare class.

    precision = TP/(TP + FP),   recall = TP/(TP + FN),   F1 = 2TP/(2TP + FP + FN)

Row O5. Cost O(n + K²).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.show.confusion import largest
from separatrix.show.report_parts.answers import JudgedAnswers
from separatrix.show.report_parts.words import share, table

RARE = 0.25  # share of one of two classes below which a headline says what becomes of it
FOLDED = 12  # classes in sight; the rest is folded away
PAIRS = 12  # confusions named


def matrix_of(found: JudgedAnswers, k: int) -> np.ndarray:
    """Counts (K, K) of (true class, answer)."""
    return np.bincount(found.codes * k + found.said, minlength=k * k).reshape(k, k)


def rates(matrix: np.ndarray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(precision, recall, F1) of each class; NaN where nothing was called so, or there was none.

    >>> [v.round(3).tolist() for v in rates(np.array([[8, 2], [1, 3]]))]
    [[0.889, 0.6], [0.8, 0.75], [0.842, 0.667]]
    """
    right, called, there = np.diag(matrix).astype(float), matrix.sum(axis=0), matrix.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return right / called, right / there, 2 * right / (called + there)


def per_class(found: JudgedAnswers, classes: list[Any]) -> str:
    """A row for each class; of many those least often found are in sight."""
    k = len(classes)
    matrix = matrix_of(found, k)
    precision, recall, f1 = rates(matrix)
    order = (
        np.arange(k) if k <= FOLDED else np.argsort(np.where(np.isnan(recall), 2.0, recall), kind="stable")
    )
    rows = [
        [classes[c], f"{int(matrix[c].sum()):,}", _share(precision[c]), _share(recall[c]), _f1(f1[c])]
        for c in order
    ]
    mean = ["mean over classes", f"{int(matrix.sum()):,}"]
    mean += [_share(_mean(precision)), _share(_mean(recall)), _f1(_mean(f1))]
    heads = ["class", "rows", "precision", "recall", "F1"]
    caption = (
        "Class by class: precision is the share of its calls that are right, recall that of its rows found"
    )
    if k <= FOLDED:
        return table(heads, [*rows, mean], caption=caption)
    first = table(heads, [*rows[:FOLDED], mean], caption=f"{caption}; the {FOLDED} of {k} least found")
    rest = table(heads, rows[FOLDED:], caption="The other classes, least found first")
    return f"{first}<details><summary>The other {k - FOLDED} classes</summary>{rest}</details>"


def confusions(found: JudgedAnswers, classes: list[Any]) -> str:
    """The largest confusions of more than two classes as a table."""
    k = len(classes)
    if k < 3:
        return ""
    matrix = matrix_of(found, k)
    pairs = largest(matrix, PAIRS)
    if not pairs:
        return ""
    there = matrix.sum(axis=1)
    rows = [[f"{classes[i]} called {classes[j]}", f"{c:,}", share(c / there[i])] for i, j, c in pairs]
    heads = ["confusion", "rows", "of the class"]
    return table(heads, rows, caption=f"The {len(pairs)} most frequent confusions")


def of_the_rare(found: JudgedAnswers, classes: list[Any]) -> str:
    """What becomes of the rarest class, where it is rare; else nothing.

    >>> made = JudgedAnswers(None, np.arange(9), np.r_[[0] * 8, 1], None, np.r_[[0] * 7, 1, 1], "")
    >>> of_the_rare(made, ["no", "yes"])
    'Of the 1 row of the rare class yes it finds 1 (100 %), and it calls 1 other row so.'
    """
    k = len(classes)
    matrix = matrix_of(found, k)
    there = matrix.sum(axis=1)
    known = np.flatnonzero(there > 0)
    if len(known) < 2:
        return ""
    c = int(known[there[known].argmin()])
    if there[c] >= (RARE if k == 2 else 0.3 / k) * there.sum():
        return ""
    hit, called = int(matrix[c, c]), int(matrix[:, c].sum())
    others = called - hit
    return (
        f"Of the {there[c]:,} row{'s' if there[c] > 1 else ''} of the rare class {classes[c]} it finds {hit:,} "
        f"({share(hit / there[c])}), and it calls {others:,} other row{'s' if others != 1 else ''} so."
    )


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{100 * value:.1f} %"


def _f1(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"
