"""Named columns of numbers as a pandas DataFrame, for results that are tables. Row O2. O(cells)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def data_frame(columns: Mapping[str, Any], index: Sequence[Any]) -> pd.DataFrame:
    """columns (n,) each, index (n,) → DataFrame; pandas is an extra, and a sentence says so where it is absent.

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
