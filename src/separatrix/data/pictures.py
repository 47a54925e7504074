"""matplotlib for results that can be drawn; it is an extra, and a sentence says so where it is absent. Row V4."""

from __future__ import annotations

from typing import Any


def pyplot() -> Any:
    """matplotlib.pyplot, imported when something is drawn.

    >>> pyplot().__name__
    'matplotlib.pyplot'
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('pictures need matplotlib: pip install "separatrix[plot]"') from None
    return plt
