"""The order of classes:  what was given, else a Categorical's own, else numbers by size; words as sorted, aloud.

Words that spell numbers are numbers: "9" comes before "10".

Cost O(K log K).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

FEW = 6  # classes that a sentence lists


def in_order(categories: Sequence[Any] | None) -> list[Any] | None:
    """The classes given as a list; refused where they cannot be an order."""
    if categories is None:
        return None
    if isinstance(categories, (str, bytes)) or not hasattr(categories, "__iter__"):
        raise ValueError(
            f"categories must list the classes from the lowest to the highest, got {categories!r}"
        )
    given = categories.tolist() if hasattr(categories, "tolist") else list(categories)
    twice = next((v for i, v in enumerate(given) if v in given[:i]), None)
    if twice is not None:
        raise ValueError(
            f"categories names {twice!r} twice: give every class once, from the lowest to the highest"
        )
    return given


def order_of(classes: np.ndarray, y: Any, categories: Sequence[Any] | None) -> tuple[np.ndarray, list[str]]:
    """Places of the sorted ``classes`` from the lowest to the highest, and sentences about the choice.

    >>> order_of(np.array(["a", "b", "c"]), None, ["c", "a", "b"])
    (array([2, 0, 1]), [])
    """
    labels = classes.tolist()
    given = in_order(categories)
    if given is not None:
        unknown = next((v for v in labels if v not in given), None)
        if unknown is not None:
            raise ValueError(
                f"class {unknown!r} of y is not among the categories {given}: name them all, from the lowest to "
                "the highest"
            )
        absent = [v for v in given if v not in labels]
        said = (
            [f"order: no row is of class {', '.join(map(repr, absent))}, so it has no threshold"]
            if absent
            else []
        )
        return np.array([labels.index(v) for v in given if v in labels], dtype=np.intp), said
    own = _declared(y)
    if own is not None and all(v in own for v in labels):
        return np.array([labels.index(v) for v in own if v in labels], dtype=np.intp), []
    numbers = _numbers(labels)
    if numbers is not None:
        return np.argsort(numbers, kind="stable"), []
    said = []
    if len(labels) > 2 and any(isinstance(v, (str, bytes)) for v in labels):
        shown = " < ".join(map(repr, labels[:FEW])) + (" < …" if len(labels) > FEW else "")
        said.append(
            f"order: the classes are words, taken in the order of the alphabet, {shown}: if another is meant, give "
            "categories=[lowest, …, highest], or y as an ordered Categorical"
        )
    return np.arange(len(labels)), said


def _numbers(labels: list[Any]) -> list[float] | None:
    """The numbers that words spell, "9" and "10", where all of them do."""
    if not all(isinstance(v, str) for v in labels):
        return None
    try:
        return [float(v) for v in labels]
    except ValueError:
        return None


def _declared(y: Any) -> list[Any] | None:
    """The categories of an ordered Categorical of pandas, or of a column of one."""
    found = getattr(y, "cat", y)
    if getattr(found, "ordered", False) is not True:
        return None
    categories = getattr(found, "categories", None)
    return None if categories is None else list(categories.tolist())
