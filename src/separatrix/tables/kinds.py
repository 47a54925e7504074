"""Kinds of columns:  what a column's values mean, from its type, its values and its name (row T3).

    constant      one value and none missing, or nothing at all                          left out
    date          dates and times
    text          words: at least 5 a cell or 40 letters a cell, and half of the cells different
    identifier    words nearly all different (9 of 10); whole numbers all different that are n in a row, in any order,
                  or rise from row to row through a whole table, as keys and clocks do; a column called id, …_id, half
                  of whose values differ, or with 200 of fewer than 20 rows each; one called index, key, row, …
                  nearly all different                                                   left out
    leak          with a target: its classes by other names, one for one; or cells missing in just the rows of one of
                  two classes                                                            left out
    nominal       other words; booleans; a postal code; any other column called …_id
    discrete      whole numbers of at most 20 values
    continuous    other numbers
    target        nominal, coded by the target (coded_levels.py): only where it is said

The first line that fits decides; missing cells are set aside. Fewer than MANY rows prove no identifier and no leak,
and what is the only column to go by is no leak. Measurements are no identifiers, however different: nothing is said
of numbers with fractions. What is said in ``kinds={"zip": "nominal"}`` comes before all rules. Cost: O(n) a column.
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

KINDS = ("continuous", "discrete", "nominal", "target", "date", "text", "identifier", "leak", "constant")
LEFT_OUT = ("identifier", "leak", "constant")
MANY = 20  # rows
SORTED = 100  # rows that rise one after the other and prove a key
NEARLY_ALL = 0.9  # of the rows
KEYS, ROWS_EACH = (
    200,
    20,
)  # levels of a column called id from which it is one, where they have fewer rows each
FEW = 20  # values of a discrete column
RISES = "whole numbers that rise from row to row, as keys and clocks do"
ID_NAME = re.compile(r"(?i:(?:.*[_\W])?(?:id|ids|uid|uuid|guid))|.*[a-z]ID|ID[_a-z].*")
COUNTER_NAME = re.compile(
    r"(?i)index|idx|key|row|row[_\W]?(?:names?|no|nr|number)|rownames?|serial(?:[_\W]?(?:no|nr))?|column 1|unnamed.*"
)
CODE_NAME = re.compile(r"(?i)(.*[_\W])?(zip|zip_?code|post_?code|postal_?code|plz)")


def infer_kinds(
    frame: pd.DataFrame, kinds: Mapping[str, str] | None = None, target: Any = None
) -> dict[str, str]:
    """Column → kind, for every column of a frame; ``kinds`` overrides, labels show what is their copy. O(cells).

    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"sky": ["sun", "rain", "sun"], "age": [31.5, 40.0, 8.25], "legs": [2, 2, 4], "planet": 3}
    ... )
    >>> infer_kinds(frame, {"legs": "nominal"})
    {'sky': 'nominal', 'age': 'continuous', 'legs': 'nominal', 'planet': 'constant'}
    """
    given = check_kinds(kinds, [str(c) for c in frame.columns])
    found = {
        str(name): given[str(name)] if str(name) in given else kind_of(column, str(name))[0]
        for name, column in frame.items()
    }
    if all(kind in LEFT_OUT for kind in found.values()):  # what rises may be all there is
        found |= {
            str(name): "continuous"
            for name, column in frame.items()
            if str(name) not in given and kind_of(column, str(name))[1] == RISES
        }
    if target is not None:
        asked = {name for name, kind in found.items() if name not in given and kind not in LEFT_OUT}
        copies = [
            str(name) for name, column in frame.items() if str(name) in asked and copy_of(column, target)
        ]
        if copies and set(copies) != {name for name, kind in found.items() if kind not in LEFT_OUT}:
            found |= dict.fromkeys(copies, "leak")
    return found


def copy_of(column: pd.Series, target: Any) -> str:
    """Why a column tells the target by no measurement of its own; "" where it does not. O(n).

    >>> import pandas as pd
    >>> alive = pd.Series(["yes", "no"] * 20)
    >>> copy_of(alive, [1, 0] * 20)
    "'no' is always 0, 'yes' always 1, and each class has one value"
    """
    import pandas as pd

    if isinstance(column.dtype, pd.SparseDtype) or len(column) < MANY:
        return ""
    empty = column.isna().to_numpy()
    labels, classes = pd.factorize(np.asarray(target), sort=True)
    if empty.any() and len(classes) == 2:
        said = classes[labels[empty]]
        if (said == said[0]).all() and int(empty.sum()) == int((classes[labels] == said[0]).sum()):
            return f"its cells are missing in all rows of {_plain(said[0])!r} and in no other"
    if column.nunique() != len(classes) - bool(empty.any()):
        return ""
    codes, values = pd.factorize(column)
    pairs = {(int(c), int(k)) for c, k in zip(codes, labels)}
    if not len(values) or len(pairs) != len(classes) or len({c for c, _ in pairs}) != len(pairs):
        return ""
    told = sorted((str(_plain(values[c])) if c >= 0 else "", c, k) for c, k in pairs)[:2]
    words = [f"{_plain(values[c])!r}" if c >= 0 else "a missing cell" for _, c, _ in told]
    first = f"{words[0]} is always {_plain(classes[told[0][2]])!r}, {words[1]} always {_plain(classes[told[1][2]])!r}"
    return f"{first}, and each class has one value"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


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
        if used < 2 and not column.isna().any():
            return "constant", "one level"
        held = int(column.notna().sum())
        if held >= MANY and used >= NEARLY_ALL * held:
            return "identifier", f"{used:,} of {held:,} values differ"
        return "nominal", f"{used} levels"
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
    if n >= MANY and distinct == n and values.max() - values.min() == n - 1:
        return "identifier", f"each whole number from {values.min():,.0f} to {values.max():,.0f} once"
    if n >= SORTED and bool(np.all(np.diff(values) > 0)):
        return "identifier", RISES
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
    keys = share >= 0.5 or (distinct >= KEYS and n < ROWS_EACH * distinct)
    return n >= MANY and bool(
        (keys and ID_NAME.fullmatch(name)) or (share >= NEARLY_ALL and COUNTER_NAME.fullmatch(name))
    )


def _kind_of_words(words: pd.Series, distinct: int, name: str) -> tuple[str, str]:
    n = len(words)
    sample = words if n <= 5000 else words.iloc[np.linspace(0, n - 1, 5000).astype(int)]
    length = float(sample.str.len().mean())
    each = float(np.mean([len(w.split()) for w in sample.tolist()]))
    if (each >= 5 or (length >= 40 and each >= 2)) and distinct >= 0.5 * n:
        return "text", f"{each:.0f} words a cell"
    if n >= MANY and distinct >= NEARLY_ALL * n:
        return "identifier", f"{distinct:,} of {n:,} values differ"
    if _is_named_identifier(name, distinct, n):
        return "identifier", f"called {name!r}, and {distinct:,} of {n:,} values differ"
    return "nominal", f"{distinct:,} words"


def kind_notes(
    frame: pd.DataFrame,
    kinds: Mapping[str, str],
    given: Mapping[str, str] | None = None,
    target: Any = None,
) -> list[str]:
    """Sentences on the columns that are left out, and on words of very many levels; ``given``: the user's kinds."""
    notes, alike = [], []
    for key, column in frame.items():
        name = str(key)
        kind, said = kinds[name], name in (given or {})
        if kind in ("identifier", "leak") and said:
            notes.append(f"column {name!r} is left out, as you said")
        elif kind == "identifier":
            found, why = kind_of(column, name)
            told = f" ({why})" if found == kind else ""
            notes.append(f"column {name!r} is left out: an identifier{told}; {keep(name, column)}")
        elif kind == "leak":
            told = copy_of(column, target)
            notes.append(
                f"column {name!r} is left out: it gives the answer away ({told}); {keep(name, column)}"
            )
        elif kind == "constant":
            alike.append(name)
        elif kind == "nominal" and (levels := column.nunique()) > 1000:
            notes.append(
                f"column {name!r} has {levels:,} levels; kinds={{{name!r}: 'target'}} codes them by the target, and "
                f"kinds={{{name!r}: 'identifier'}} leaves it out"
            )
    if alike:
        notes.append(f"left out, as every cell is the same: {listed(alike)}")
    return notes


def why_out(column: pd.Series, name: str, kind: str) -> str:
    """Why no model sees a column of a kind that is left out: what the rules find, else what its kind means."""
    found, why = kind_of(column, name)
    meant = {
        "leak": "it gives the answer away",
        "constant": "taken for constant",
        "identifier": "taken for an identifier",
    }
    return why if found == kind else meant[kind]


def keep(name: str, column: pd.Series) -> str:
    """How a column that is left out is kept: words and few numbers as levels, many numbers as a quantity."""
    import pandas as pd

    many = (
        pd.api.types.is_numeric_dtype(column.dtype) and column.nunique() > FEW and not ID_NAME.fullmatch(name)
    )
    return f"kinds={{{name!r}: {'continuous' if many else 'nominal'!r}}} keeps it"


def listed(names: list[Any], most: int = 8) -> str:
    """'a', 'b' and 3 more: the first names in quotation marks, the beginning of very long ones.

    >>> listed(["a", "b", "c"], 2)
    "'a', 'b' and 1 more"
    """
    return and_more([repr(n if len(str(n)) <= 60 else f"{str(n)[:59]}…") for n in names], most)
