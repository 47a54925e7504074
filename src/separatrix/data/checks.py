"""Parameters that cannot be meant are refused before data is read:  one sentence with the name and what was given.

    check_positive   "tol must be a positive number, got 0"
    check_count      "n_repeats must be a whole number of at least 1, got 0.5"
    check_flag       "norm must be True or False, got None"
    check_known      'loss "huber" is unknown: use "squared_hinge" or "hinge"'

Cost O(1).
"""

from __future__ import annotations

import numpy as np


def is_positive(value: object, *, finite: bool = False) -> bool:
    """Whether a parameter is a real number above zero (no NaN, no boolean)."""
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        return False
    return bool(value > 0) and (not finite or bool(value < np.inf))


def is_count(value: object, least: float = -np.inf) -> bool:
    """Whether a parameter is a whole number, of at least ``least``."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= least)


def check_positive(name: str, value: object, *, finite: bool = False) -> None:
    """Refuse what is no number above zero (``finite``: nor infinite)."""
    if not is_positive(value, finite=finite):
        raise ValueError(f"{name} must be a positive number, got {value!r}")


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse what is no whole number of at least ``least``."""
    if not is_count(value, least):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_known(name: str, value: object, *offered: str) -> None:
    """Refuse a word that is not among those offered.

    >>> check_known("kind", "mode", "mean", "link")
    Traceback (most recent call last):
    ValueError: kind 'mode' is unknown: use "mean" or "link"
    """
    if value not in offered:
        *some, last = (f'"{word}"' for word in offered)
        raise ValueError(f"{name} {value!r} is unknown: use {', '.join(some)} or {last}")
