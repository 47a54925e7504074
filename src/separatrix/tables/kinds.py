"""Kinds of columns:  what a column's values mean, from its type, its values and its name (row T3).

    constant      one value and none missing, or nothing at all                          left out
    date          dates and times
    text          words: at least 5 a cell or 40 letters a cell, and half of the cells different
    identifier    words nearly all different (19 of 20); whole numbers all different that run 1, 2, 3, … down the
                  table; a column called id, …_id, half of whose values differ; one called index,
                  key, row, … nearly all different                                       left out
    nominal       other words; booleans; a postal code; any other column called …_id
    discrete      whole numbers of at most 20 values
    continuous    other numbers

The first line that fits decides; missing cells are set aside. Fewer than MANY rows prove no identifier. What is said
in ``kinds={"zip": "nominal"}`` comes before all rules. Cost: O(n) a column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.core.words import and_more
from separatrix.tables.sources import TableError

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("continuous", "discrete", "nominal", "date", "text", "identifier", "constant")
LEFT_OUT = ("identifier", "constant")
MANY = 20  # rows
FEW = 20  # values of a discrete column
ID_NAME = re.compile(r"(?i:(?:.*[_\W])?(?:id|ids|uid|uuid|guid))|.*[a-z]ID|ID[_a-z].*")
COUNTER_NAME = re.compile(
    r"(?i)index|idx|key|row|row[_\W]?(?:names?|no|nr|number)|rownames?|serial(?:[_\W]?(?:no|nr))?|column 1|unnamed.*"
)
CODE_NAME = re.compile(r"(?i)(.*[_\W])?(zip|zip_?code|post_?code|postal_?code|plz)")


def infer_kinds(frame: pd.DataFrame, kinds: Mapping[str, str] | None = None) -> dict[str, str]:
    """Column → kind, for every column of a frame; ``kinds`` overrides. O(cells).

    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"sky": ["sun", "rain", "sun"], "age": [31.5, 40.0, 8.25], "legs": [2, 2, 4], "planet": 3}
    ... )
    >>> infer_kinds(frame, {"legs": "nominal"})
    {'sky': 'nominal', 'age': 'continuous', 'legs': 'nominal', 'planet': 'constant'}
    """
    given = check_kinds(kinds, [str(c) for c in frame.columns])
    return {
        str(name): given[str(name)] if str(name) in given else kind_of(column, str(name))[0]
        for name, column in frame.items()
    }


def check_kinds(kinds: Mapping[str, str] | None, names: list[str]) -> dict[str, str]:
    """The kinds a user gave, refused where a column or a kind is unknown."""
    known = set(names)
    for name, kind in (kinds or {}).items():
        if kind not in KINDS:
            raise TableError(f"kinds[{name!r}] is {kind!r}; a kind is one of {', '.join(KINDS)}")
        if name not in known:
            raise TableError(
                f"kinds names the column {name!r}, which the table lacks; it has {listed(names)}"
            )
    return dict(kinds or {})


def kind_of(column: pd.Series, name: str = "") -> tuple[str, str]:
    """The kind of one column, and why, in words. O(n).

    >>> import pandas as pd
    >>> kind_of(pd.Series(range(1, 101)), "row")
    ('identifier', 'runs 1, 2, 3, … down the table')
    """
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        if dtype.fill_value == 0:
            return "continuous", "numbers, most of them 0"
        column = pd.Series(column.array.to_dense(), name=name)
        dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        used = column.nunique()
        same = used < 2 and not column.isna().any()
        return ("constant", "one level") if same else ("nominal", f"{used} levels")
    seen = column.dropna()
    distinct = int(seen.nunique())
    if distinct == 0:
        return "constant", "nothing but missing cells"
    if distinct == 1 and len(seen) == len(column):
        return "constant", f"nothing but {str(seen.iloc[0])[:40]!r}"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "date", "dates"
    if pd.api.types.is_bool_dtype(dtype):
        return "nominal", "true or false"
    if pd.api.types.is_numeric_dtype(dtype):
        return _kind_of_numbers(seen.to_numpy(dtype=np.float64), distinct, name)
    return _kind_of_words(seen.astype(str), distinct, name)


def _kind_of_numbers(values: np.ndarray, distinct: int, name: str) -> tuple[str, str]:
    n = len(values)
    if not np.array_equal(values, np.rint(values)):
        return "continuous", "numbers"
    if n >= MANY and distinct == n and np.all(np.diff(values) == 1):
        return "identifier", "runs 1, 2, 3, … down the table"
    if _is_named_identifier(name, distinct, n):
        return "identifier", f"called {name!r}, and {distinct:,} of {n:,} values differ"
    if CODE_NAME.fullmatch(name) or ID_NAME.fullmatch(name):
        return "nominal", f"called {name!r}: a code, not a quantity"
    if distinct <= FEW:
        return "discrete", f"{distinct} whole numbers"
    return "continuous", f"{distinct:,} whole numbers"


def _is_named_identifier(name: str, distinct: int, n: int) -> bool:
    """Ids may repeat (a patient seen twice); row numbers under another name hardly do."""
    share = distinct / n
    return n >= MANY and bool(
        (share >= 0.5 and ID_NAME.fullmatch(name)) or (share >= 0.9 and COUNTER_NAME.fullmatch(name))
    )


def _kind_of_words(words: pd.Series, distinct: int, name: str) -> tuple[str, str]:
    n = len(words)
    sample = words if n <= 5000 else words.iloc[np.linspace(0, n - 1, 5000).astype(int)]
    length = float(sample.str.len().mean())
    each = float(np.mean([len(w.split()) for w in sample.tolist()]))
    if (each >= 5 or (length >= 40 and each >= 2)) and distinct >= 0.5 * n:
        return "text", f"{each:.0f} words a cell"
    if n >= MANY and distinct >= 0.95 * n:
        return "identifier", f"{distinct:,} of {n:,} values differ"
    if _is_named_identifier(name, distinct, n):
        return "identifier", f"called {name!r}, and {distinct:,} of {n:,} values differ"
    return "nominal", f"{distinct:,} words"


def kind_notes(
    frame: pd.DataFrame, kinds: Mapping[str, str], given: Mapping[str, str] | None = None
) -> list[str]:
    """Sentences on the columns that are left out, and on words of very many levels."""
    notes, alike = [], []
    for key, column in frame.items():
        name = str(key)
        said = name in (given or {})
        if kinds[name] == "identifier":
            why = "as you said" if said else kind_of(column, name)[1]
            notes.append(f"column {name!r} is left out: an identifier ({why})")
        elif kinds[name] == "constant":
            alike.append(name)
        elif kinds[name] == "nominal" and (levels := column.nunique()) > 1000:
            notes.append(f"column {name!r} has {levels:,} levels; those seen rarely are pooled")
    if alike:
        notes.append(f"left out, as every cell is the same: {listed(alike)}")
    return notes


def listed(names: list[Any], most: int = 8) -> str:
    """'a', 'b' and 3 more: the first names in quotation marks, the beginning of very long ones.

    >>> listed(["a", "b", "c"], 2)
    "'a', 'b' and 1 more"
    """
    return and_more([repr(n if len(str(n)) <= 60 else f"{str(n)[:59]}…") for n in names], most)
