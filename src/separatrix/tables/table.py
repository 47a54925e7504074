"""The values that reading gives:  a table, and a schema by which later files are read alike (row T3). O(columns)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.tables.cells import Reading
from separatrix.tables.kinds import KINDS

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Schema:
    """The columns of a table and how they are read, so that later files are read alike; a value that JSON can hold.

    >>> from separatrix.tables.read import read
    >>> schema = read("enjoy-sport").schema
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    readings: tuple[Reading, ...]
    kinds: dict[str, str]
    target: str | None
    format: str

    @property
    def names(self) -> list[str]:
        return [r.name for r in self.readings]

    def to_dict(self) -> dict[str, Any]:
        """Words and dicts of words; the readings in one word of JSON, as a model file takes long over many values."""
        readings = json.dumps([asdict(r) for r in self.readings])
        return {"readings": readings, "kinds": dict(self.kinds), "target": self.target, "format": self.format}

    @classmethod
    def from_dict(cls, made: Mapping[str, Any]) -> Schema:
        """The schema that to_dict made."""
        held = made["readings"]
        held = json.loads(held) if isinstance(held, str) else held  # a list in earlier model files
        readings = tuple(Reading(**{**r, "empty": tuple(r["empty"])}) for r in held)
        return cls(readings, dict(made["kinds"]), made["target"], made["format"])


@dataclass(frozen=True)
class Table:
    """Rows X (a pandas frame without the target), their labels, and what was done to read them.

    ``rows`` numbers each row as in the file, from 1, rows without a label left out; ``kinds`` says what each column
    is; ``schema`` reads later files alike; ``notes`` are sentences.

    >>> from separatrix.tables.read import read
    >>> table = read("enjoy-sport")
    >>> print(table)
    enjoy-sport: 4 rows, 6 columns (5 nominal, 1 constant), target 'EnjoySport' (No 1, Yes 3)
      left out, as every cell is the same: 'Wind'
    """

    frame: pd.DataFrame
    target: str | None
    labels: np.ndarray | None
    rows: np.ndarray
    source: str
    schema: Schema
    notes: tuple[str, ...] = field(default=())

    @property
    def kinds(self) -> dict[str, str]:
        return self.schema.kinds

    def __len__(self) -> int:
        return len(self.frame)

    def describe(self) -> list[str]:
        """What was read, in sentences: the table, then the notes."""
        held = [(kind, sum(k == kind for k in self.kinds.values())) for kind in KINDS]
        p = self.frame.shape[1]
        line = f"{self.source}: {len(self):,} rows, {p:,} column{'s' * (p != 1)}"
        line += f" ({', '.join(f'{count} {kind}' for kind, count in held if count)})"
        if self.labels is not None and self.labels.dtype.kind == "f":
            low, middle, high = (f"{v:.4g}" for v in np.quantile(self.labels, [0, 0.5, 1]))
            line += f", target {self.target!r} (numbers from {low} to {high}, the middle one {middle})"
        elif self.labels is not None:
            values, counts = np.unique(self.labels, return_counts=True)
            first = list(zip(values.tolist(), counts.tolist()))[:6]
            shown = ", ".join(f"{' '.join(str(v).split())[:40]} {c:,}" for v, c in first)
            line += f", target {self.target!r} ({shown}{', …' if len(values) > 6 else ''})"
        return [line, *self.notes]

    def __str__(self) -> str:
        return "\n  ".join(self.describe())


def lacks(source: str, lacking: list[str], more: list[str]) -> str:
    """The sentence for a table without columns the model was trained on."""
    what = f"{source}: the table lacks {', '.join(map(repr, lacking[:8]))}{' and more' if len(lacking) > 8 else ''}"
    strange = f", and has {', '.join(map(repr, more[:8]))}, unknown in training" if more else ""
    return f"{what}{strange}; give the columns the names they had in training"
