"""Warnings that point at the line of the person who called, however deep inside the library they arise."""

from __future__ import annotations

import sys
import warnings

OURS = ("separatrix", "sklearn", "joblib", "functools", "contextlib")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """warnings.warn, shown at the nearest frame that is not of this library or of scikit-learn, which calls it.

    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     warn("the rows are odd")
    >>> str(heard[0].message), heard[0].category.__name__
    ('the rows are odd', 'UserWarning')
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
