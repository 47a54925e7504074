"""Tables of any library as pandas frames whose columns have names of their own (row T3). O(cells) at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from separatrix.tables.sources import TableError
from separatrix.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd


def as_frame(X: Any) -> pd.DataFrame:
    """A Table, or a frame of pandas, Polars or Arrow, as a pandas frame (n, p) whose names are words, no two alike.

    A pandas frame with such names is given back as it is. Cost: O(p), and O(cells) where it is another's frame.

    >>> import pandas as pd
    >>> as_frame(pd.DataFrame({0: [1, 2], "b": ["u", "v"]})).columns.tolist()
    ['0', 'b']
    """
    import pandas as pd

    if isinstance(X, Table):
        return X.frame
    if isinstance(X, pd.DataFrame):
        frame = X
    elif hasattr(X, "columns"):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True).to_pandas()
    else:
        raise TableError(
            f"an encoder reads a frame with named columns or a Table, got {type(X).__name__}; give one"
        )
    if not all(isinstance(c, str) for c in frame.columns):
        frame = frame.rename(columns=str)
    if len(set(frame.columns)) < frame.shape[1]:
        names = frame.columns.tolist()
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(f"more than one column is called {twice!r}; give every column a name of its own")
    return frame
