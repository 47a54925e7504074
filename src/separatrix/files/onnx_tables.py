"""TableEncoder as a graph piece:  a tensor (n, 1) a column → the matrix "linear", the columns "native" (T3, O8).

    numbers    (x − mean)/scale, the median where x is NaN; 0 and 1 for NaN, where training had missing cells
    words      0 and 1 for each level kept, then "other" and missing, where training had them; a new level is "other",
               or 0 in all

Numbers are float64, NaN where missing. Nominal columns of every kind are text, spelled as the encoder spells them
("sun", "True", "3" for 3 and 3.0), "" where missing. Columns that the encoder leaves out are no inputs. Dates, text
and sparse columns are refused. Cost: O(1) nodes for all numbers, and for each column of words; O(levels) numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.files.graph import ML, Cells, Graph, OnnxExportError
from separatrix.tables.columns import Dates, Levels, Numbers, Sparse, Words

REFUSED = {
    Dates: "dates, which have no form in ONNX here: give their parts (year, month, …) as columns of numbers",
    Words: 'text, which has no form in ONNX here: leave the column out by kinds={…: "constant"}',
    Sparse: "sparse numbers, which have no form in ONNX here: fit the encoder to a dense column",
}


def table_inputs(encoder: Any) -> tuple[list[str], list[bool]]:
    """The columns that the graph of a TableEncoder reads, and whether each holds words: (q,) and (q,) (T3, O8). O(p).

    >>> import pandas as pd
    >>> from separatrix.tables.encode import TableEncoder
    >>> frame = pd.DataFrame({"sky": ["sun", "rain", "sun"], "wind": [1.5, None, 3.5], "planet": 3})
    >>> table_inputs(TableEncoder().fit(frame))
    (['sky', 'wind'], [True, False])
    """
    parts = _read(encoder)
    return [part.name for part in parts], [isinstance(part, Levels) for part in parts]


def table(g: Graph, encoder: Any, cells: Cells) -> Cells:
    """The piece of a fitted TableEncoder, ``cells`` being the tensors of its ``table_inputs`` (T3, O8).

    A matrix (n, q) in form "linear", columns (n, 1) in form "native". Cost as in the module.

    >>> import pandas as pd
    >>> from separatrix.tables.encode import TableEncoder
    >>> encoder = TableEncoder().fit(pd.DataFrame({"wind": [1.5, 2.5, 3.5]}))
    >>> g = Graph()
    >>> made = table(g, encoder, Cells(g, None, ("wind",), (False,), ("wind",)))
    >>> [node.op_type for node in g.nodes]
    ['IsNaN', 'Where', 'Sub', 'Div']
    """
    names, words = table_inputs(encoder)
    if cells.whole is not None or list(cells.names) != names or list(cells.words) != words:
        raise OnnxExportError(
            "TableEncoder reads the columns of a frame by name: put it first in the pipeline, on its own"
        )
    return _native(g, encoder, cells) if encoder.form == "native" else _linear(g, encoder, cells)


def _read(encoder: Any) -> list[Numbers | Levels]:
    """The parts that become columns; those that cannot are refused by name."""
    if encoder.form == "counts":
        raise OnnxExportError(
            'TableEncoder of form "counts" has no form in ONNX here: fit form "linear" or "native"'
        )
    parts: list[Numbers | Levels] = []
    for part in encoder._used():
        if not isinstance(part, (Numbers, Levels)):
            raise OnnxExportError(f"column {part.name!r} holds {REFUSED[type(part)]}")
        if isinstance(part, Levels) and part.gaps and "" in part.levels:
            raise OnnxExportError(
                f"column {part.name!r} has missing cells and the level '', and '' stands for both in ONNX: "
                "name the level by a word"
            )
        if encoder.form == "native" or part.names():  # a level alone may be a reference of no column
            parts.append(part)
    return parts


def _linear(g: Graph, encoder: Any, cells: Cells) -> Cells:
    parts = _read(encoder)
    ends = np.cumsum([0, *(len(part.names()) for part in parts)]).tolist()
    blocks: list[str] = []
    places: list[int] = []  # where each column of the blocks belongs
    numbers = [j for j, part in enumerate(parts) if isinstance(part, Numbers)]
    if numbers:
        mine = [part for part in parts if isinstance(part, Numbers)]
        X = g.concat([cells.column(j) for j in numbers])
        empty = g.op("IsNaN", X)
        filled = g.where(empty, np.array([[part.median for part in mine]]), X)
        if encoder.standardize:
            centred = g.sub(filled, np.array([[part.mean for part in mine]]))
            filled = g.div(centred, np.array([[part.scale for part in mine]]))
        blocks.append(filled)
        places += [ends[j] for j in numbers]
        gaps = [at for at, part in enumerate(mine) if part.gaps]
        if gaps:
            blocks.append(g.columns(g.double(empty), gaps))
            places += [ends[numbers[at]] + 1 for at in gaps]
    for j, part in enumerate(parts):
        if isinstance(part, Levels):
            blocks.append(_ones(g, part, cells.column(j)))
            places += range(ends[j], ends[j + 1])
    found = g.concat(blocks)
    return Cells.matrix(g, found if places == sorted(places) else g.columns(found, np.argsort(places)))


def _ones(g: Graph, part: Levels, column: str) -> str:
    """0 and 1 for each level: words (n, 1) → (n, width)."""
    kept, width = part.kept(), len(part.names())
    place = {level: float(j) for j, level in enumerate(kept)}
    if part.reference is not None:
        place[part.reference] = -1.0
    place.setdefault("", width - 1.0 if part.gaps else -1.0)
    at = g.op(
        "LabelEncoder",
        column,
        domain=ML,
        keys_strings=list(place),
        values_floats=list(place.values()),
        default_float=float(len(kept)) if part.pooled else -1.0,
    )
    return g.double(g.op("Equal", g.double(at), np.arange(width, dtype=float).reshape(1, -1)))


def _native(g: Graph, encoder: Any, cells: Cells) -> Cells:
    columns, words = [], []
    for j, part in enumerate(_read(encoder)):
        column = cells.column(j)
        never = isinstance(part, Levels) and not part.levels and not part.pooled  # no word in training
        if never:
            column = g.constant_rows(column, np.array([np.nan]))
        elif isinstance(part, Levels) and part.pooled and len(part.levels) >= encoder.max_levels:
            known = [*part.levels, *([] if "" in part.levels else [""])]
            column = g.op(
                "LabelEncoder",
                column,
                domain=ML,
                keys_strings=known,
                values_strings=known,
                default_string="other",
            )
        columns.append(column)
        words.append(isinstance(part, Levels) and not never)
    return Cells(g, None, tuple(columns), tuple(words), cells.names)
