"""Model files of the command line:  the model, and how the words of its table are read (row O4).

The reading (tables.read.Schema) travels in the model as ``table_``, plain lists and words, so that later files are
read as the training file was. A model saved from Python may lack it: then tables are read by themselves
and their columns compared with those of training.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor

from separatrix.app.errors import AppError, unknown
from separatrix.app.say import Say
from separatrix.app.seen import marks, share_seen
from separatrix.core.words import and_more
from separatrix.files.archive import ModelFileError
from separatrix.files.store import ModelFile, describe, load, save
from separatrix.models.threshold import without_threshold
from separatrix.tables.chunks import read_chunks
from separatrix.tables.kinds import LEFT_OUT
from separatrix.tables.read import read
from separatrix.tables.table import Schema, Table

if TYPE_CHECKING:
    import pandas as pd

SUFFIX = ".sepx"
CELLS = 2_000_000  # of a piece
MOST_ROWS = 50_000


def keep(model: BaseEstimator, table: Table, path: Path, notes: str) -> ModelFile:
    """Save a fitted model with its table's reading, whole or not at all."""
    model.table_ = table.schema.to_dict() | {
        "marks": marks(table.frame, table.labels, needed(table.schema).names)
    }
    return save(model, path, schema=table.frame, notes=notes)


@dataclass(frozen=True)
class Kept:
    """A model read from a file."""

    path: str
    model: BaseEstimator
    about: ModelFile
    schema: Schema | None
    marks: str = ""  # of the rows it was fitted to

    @property
    def classes(self) -> np.ndarray:
        return np.asarray(self.model.classes_)

    @property
    def numbers(self) -> bool:
        """Whether it predicts numbers, not classes."""
        return is_regressor(self.model)

    @property
    def name(self) -> str:
        """The class of the model; of a pipeline its last step's."""
        steps = getattr(self.model, "steps", None)
        return type(without_threshold(steps[-1][1] if steps else self.model)).__name__

    @property
    def target(self) -> str | None:
        return self.schema.target if self.schema is not None else None

    def rows_at_once(self) -> int:
        """Rows of a piece, so that a piece of any width takes about the same memory."""
        width = max(len(self.about.schema.columns), 1)
        return int(np.clip(CELLS // width, 500, MOST_ROWS))

    def pieces(
        self, data: str, rows: int | None = None, *, extra: bool = False, delimiter: str | None = None
    ) -> Iterator[pd.DataFrame]:
        """The file's rows in order, a piece at a time, read as in training."""
        if self.schema is not None:
            columns = needed(self.schema)
            yield from read_chunks(
                data, columns, rows=rows or self.rows_at_once(), extra=extra, delimiter=delimiter
            )
            return
        frame = read(data, delimiter=delimiter, classes=False).frame
        yield frame if extra else self.fitting(frame)

    def fitting(self, frame: pd.DataFrame) -> Any:
        """The columns of training, for a model whose file does not say how they are read."""
        try:
            fit = self.about.check_schema(frame)
        except ValueError as error:
            raise AppError(f"{error}; give the columns the names they had in training") from None
        return fit if self.about.schema.names else fit.to_numpy(dtype=float)

    def labelled(
        self, data: str, target: str | None, delimiter: str | None = None
    ) -> tuple[pd.DataFrame, np.ndarray, int]:
        """(rows, their labels as the model's classes, rows left out for want of a label)."""
        import pandas as pd

        name = target or self.target
        if name is None:
            raise AppError("the model does not say which column it predicts; name it by --target COLUMN")
        pieces = list(self.pieces(data, extra=True, delimiter=delimiter))
        frame = pd.concat(pieces, ignore_index=True) if len(pieces) > 1 else pieces[0].reset_index(drop=True)
        if name not in frame.columns:
            raise AppError(
                f"{data}: there is no column {name!r} with the right answers, only {_some(frame.columns)}; "
                "name it by --target, or use predict"
            )
        labels, known = (self.as_numbers if self.numbers else self.as_classes)(data, frame[name])
        rows = frame[known].reset_index(drop=True)
        return (
            rows.drop(columns=name) if self.schema is not None else self.fitting(rows),
            labels,
            int((~known).sum()),
        )

    def share_seen(self, frame: Any, labels: np.ndarray) -> float | None:
        """The share of these rows that the model was fitted to; None where it cannot be told."""
        if self.schema is None:
            return None
        return share_seen(frame, labels, needed(self.schema).names, self.marks)

    def is_fitted_to(self, frame: Any, labels: np.ndarray) -> bool:
        """Whether these are the rows of training, all of them as far as can be told."""
        names = needed(self.schema).names if self.schema is not None else []
        return bool(self.marks) and marks(frame, labels, names) == self.marks

    def as_numbers(self, data: str, column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        """(numbers of the rows that have one, which they are)."""
        import pandas as pd

        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
        given = column.notna().to_numpy()
        strange = np.flatnonzero(given & ~np.isfinite(values))
        if len(strange):
            found = column.iloc[int(strange[0])]
            raise AppError(
                f"{data}: {column.name!r} is {found!r} in row {int(strange[0]) + 1}, which is no number"
            )
        if not given.any():
            raise AppError(f"{data}: no row has a number to compare with; use predict")
        return values[given], given

    def as_classes(self, data: str, column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        """(labels of the rows that have one, which they are)."""
        place = {str(label): label for label in self.classes.tolist()}
        words = [spelled(v) for v in column.tolist()]
        known = np.array([w is not None for w in words])
        new = next((w for w in words if w is not None and w not in place), None)
        if new is not None:
            raise AppError(f"{data}: {unknown('class', new, list(place))}, as the model learned them")
        if not known.any():
            raise AppError(f"{data}: no row has a label; give rows with the right answers, or use predict")
        return np.array([place[w] for w in words if w is not None], dtype=self.classes.dtype), known


def spelled(value: Any) -> str | None:
    """A label as the model's classes are spelled; None where it is missing.

    >>> spelled(1.0), spelled(" yes "), spelled("?"), spelled(None)
    ('1', 'yes', None, None)
    """
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    word = str(value).strip()
    return None if word in ("", "?", "NA", "N/A", "NaN", "nan", "NULL", "null") else word


def open_model(path: str, say: Say) -> Kept:
    """The model in a file, what the file says of it, and how its table is read."""
    try:
        about = describe(path)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = load(path)
    except FileNotFoundError:
        raise AppError(
            f"{path}: no such model file; make one by separatrix fit or separatrix compare"
        ) from None
    except ModelFileError as error:
        raise AppError(f"{path}: {error}") from None
    for warning in caught:
        say.alert("warning", str(warning.message))
    made = getattr(model, "table_", None)
    if not hasattr(model, "predict") or (
        getattr(model, "classes_", None) is None and not is_regressor(model)
    ):
        raise AppError(
            f"{path}: the model predicts neither classes nor numbers; make one by separatrix fit or separatrix "
            "compare"
        )
    try:
        schema = None if made is None else Schema.from_dict(made)
        seen = "" if made is None else made.get("marks", "")
        bytes.fromhex(seen)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise AppError(
            f"{path}: what it says of its table cannot be understood; make the model again"
        ) from None
    if schema is None:
        say.note("the file does not say how its table was read: columns are compared by name and type")
    return Kept(path, model, about, schema, seen)


def needed(schema: Schema) -> Schema:
    """The schema without the columns that no model sees: a later table may lack them."""
    if schema.format == "svmlight":  # its columns have numbers for names, and all of them count
        return schema
    readings = tuple(r for r in schema.readings if schema.kinds.get(r.name) not in LEFT_OUT)
    return replace(schema, readings=readings or schema.readings)


def _some(names: Any, most: int = 12) -> str:
    return and_more([repr(str(n)) for n in names], most)
