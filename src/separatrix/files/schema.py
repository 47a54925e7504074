"""The columns a model was trained on, and whether a table has them (row O8).

    ModelSchema = (name, kind, dtype) of every column, in order

A kind is a word of the table's reader ("continuous", "discrete", "nominal", "date", "text", …; "" where nobody said);
a dtype is the frame's own. Two dtypes fit when both are numbers (or booleans), both words, or both dates. Cost O(p).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.words import and_more
from separatrix.data.sources import TableLike

NAMED = 8  # how many columns a sentence lists before it counts the rest
NUMBERS = {"continuous", "discrete", "number", "whole", "boolean"}
WORDS = {"nominal", "target", "category", "text"}


@dataclass(frozen=True)
class ColumnSchema:
    """One column: its name (None where columns have none), kind and dtype."""

    name: str | None
    kind: str = ""
    dtype: str = ""

    @property
    def group(self) -> str:
        """ "number", "word", "date" or "" where it is not known."""
        found = _group(self.dtype)
        if found:
            return found
        return "number" if self.kind in NUMBERS else "word" if self.kind in WORDS else ""


@dataclass(frozen=True)
class ModelSchema:
    """The columns of a training table.

    >>> import pandas as pd
    >>> schema = ModelSchema.of(pd.DataFrame({"age": [31, 42], "sky": ["blue", "grey"]}))
    >>> [(c.name, c.group) for c in schema.columns]
    [('age', 'number'), ('sky', 'word')]
    >>> schema.fit(pd.DataFrame({"sky": ["blue"], "note": ["x"], "age": [7]})).columns.tolist()
    ['age', 'sky']
    >>> schema.fit(pd.DataFrame({"sky": ["blue"]}))
    Traceback (most recent call last):
        ...
    ValueError: the table lacks column 'age', which the model was trained on; it has 'sky'
    """

    columns: tuple[ColumnSchema, ...]

    @classmethod
    def of(cls, given: Any) -> ModelSchema:
        """From a frame, a mapping of names to kinds, a list of names or of {"name", "kind", "dtype"}, or a schema."""
        if isinstance(given, ModelSchema):
            return given
        if _is_frame(given):
            import narwhals as nw

            frame = nw.from_native(given)
            return cls(tuple(ColumnSchema(str(n), "", str(t)) for n, t in frame.collect_schema().items()))
        if isinstance(given, Mapping):
            return cls(tuple(ColumnSchema(str(n), str(k)) for n, k in given.items()))
        if isinstance(given, np.ndarray) and given.ndim == 2:
            return cls(tuple(ColumnSchema(None, "", str(given.dtype)) for _ in range(given.shape[1])))
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(
                f"schema must be a table, a mapping from column to kind or a list of columns, got {given!r}"
            )
        return cls(tuple(_column(item) for item in given))

    @classmethod
    def of_model(cls, model: BaseEstimator) -> ModelSchema:
        """What a fitted model knows of its columns: names, and kinds where it reads mixed tables."""
        key = getattr(model, "_encoding", None) or getattr(getattr(model, "_nominal", None), "key", None)
        names = getattr(model, "feature_names_in_", None)
        if key is not None:
            return cls(
                tuple(ColumnSchema(c.name if isinstance(c.name, str) else None, c.kind) for c in key.columns)
            )
        if names is not None:
            return cls(tuple(ColumnSchema(str(name)) for name in names))
        return cls((ColumnSchema(None),) * int(getattr(model, "n_features_in_", 0)))

    @property
    def names(self) -> list[str] | None:
        """The columns' names, None where they have none."""
        found = [c.name for c in self.columns]
        return [str(n) for n in found] if found and None not in found else None

    def fit(self, table: Any) -> Any:
        """The table with the columns of training in their order; refused, naming them, where it does not fit.

        A frame may have more columns: they are left out. A table without names must have as many columns.
        """
        if not self.columns:
            return table
        if self.names is None or not _is_frame(table):
            width = table.shape[1] if hasattr(table, "shape") else len(table[0])
            if width != len(self.columns):
                listed = f" ({_listed(self.names)})" if self.names else ""
                raise ValueError(
                    f"the table has {width} columns, and the model was trained on {len(self.columns)}{listed}"
                )
            return table
        import narwhals as nw

        frame = nw.from_native(table)
        there = {str(name): dtype for name, dtype in frame.collect_schema().items()}
        missing = [name for name in self.names if name not in there]
        if missing:
            raise ValueError(
                f"the table lacks column{'s' * (len(missing) > 1)} {_listed(missing)}, which the model was trained "
                f"on; it has {_listed(list(there))}"
            )
        for column in self.columns:
            now = _group(str(there[str(column.name)]))
            if column.group and now and now != column.group and not _empty(frame, column.name):
                raise ValueError(
                    f"column {column.name!r} held {column.group}s in training ({column.dtype or column.kind}) and "
                    f"holds {now}s now ({there[str(column.name)]}): give its cells the type they had"
                )
        return frame.select(self.names).to_native()

    def to_list(self) -> list[dict[str, Any]]:
        """Plain values, for JSON; `of` reads them back."""
        return [asdict(c) for c in self.columns]


def _column(item: Any) -> ColumnSchema:
    if isinstance(item, ColumnSchema):
        return item
    if isinstance(item, Mapping):
        unknown = set(item) - {"name", "kind", "dtype"}
        if unknown or "name" not in item:
            raise ValueError(f'a column of a schema is {{"name", "kind", "dtype"}}, got {dict(item)!r}')
        name = item["name"]
        return ColumnSchema(
            None if name is None else str(name), str(item.get("kind", "")), str(item.get("dtype", ""))
        )
    return ColumnSchema(None if item is None else str(item))


def _is_frame(X: TableLike) -> bool:
    return hasattr(X, "columns") and not isinstance(X, ModelSchema)


def _group(dtype: str) -> str:
    """What a dtype holds, from its name: "number", "word", "date", or "" where it says nothing."""
    text = dtype.lower()
    if text.startswith(("date", "duration", "time")):
        return "date"
    if text.startswith(("int", "uint", "float", "bool", "decimal", "double")):
        return "number"
    return "word" if text.startswith(("str", "categorical", "enum", "large_str", "utf8", "<u")) else ""


def _empty(frame: Any, name: Any) -> bool:
    """Whether an eager frame's column holds nothing: such a column has any type."""
    return hasattr(frame, "to_native") and hasattr(frame, "shape") and bool(frame[name].is_null().all())


def _listed(names: list[str]) -> str:
    return and_more([repr(n) for n in names], NAMED)
