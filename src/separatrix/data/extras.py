"""Libraries that are extras, imported when asked for; a sentence says how to get one where it is absent.

    pyplot()                     matplotlib, for results that can be drawn     row V4
    data_frame(columns, index)   pandas, for results that are tables           row O2

Cost O(cells) of a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


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


def data_frame(columns: Mapping[str, Any], index: Sequence[Any]) -> pd.DataFrame:
    """columns (n,) each, index (n,) → DataFrame.

    >>> data_frame({"coef": np.array([0.5, 2.0])}, ("(Intercept)", "x"))
                 coef
    (Intercept)   0.5
    x             2.0
    """
    try:
        import pandas as pd
    except ImportError:
        raise ImportError('a DataFrame needs pandas: pip install "separatrix[frames]"') from None
    return pd.DataFrame({name: np.asarray(values) for name, values in columns.items()}, index=list(index))
