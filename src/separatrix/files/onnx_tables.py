"""TableEncoder as a graph piece:  a tensor (n, 1) a column → "linear" or "counts" (n, q), "native" columns (T3, O8).

    numbers    (x − mean)/scale, the median where x is NaN; 0 and 1 for NaN, where training had missing cells
    words      0 and 1 for each level kept, then "other" and missing, where training had them; a new level is "other",
               or 0 in all; or the target's means in each level; hashed columns are refused
    dates      the parts that varied in training (onnx_dates.py), standardised; the mean where missing, and a sign
    text       its bag of words (onnx_text.py)
    sparse     x/scale, 0 where x is NaN

Numbers are float64, NaN where missing. Nominal columns of every kind are text, spelled as the encoder spells them
("sun", "True", "3" for 3 and 3.0), "" where missing. Dates are int64, microseconds since 1970 by the clock of the
column (``to_numpy("datetime64[us]").astype("int64")``: a missing date is then −2⁶³). Documents are text. All sparse
columns are one tensor "sparse" (n, their number), float64, in the order of training. Columns that the encoder leaves
out are no inputs. Cost: O(1) nodes for neighbouring numbers, and for each other column; O(levels, words) numbers.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from separatrix.files.graph import ML, Cells, Graph, Input, OnnxExportError
from separatrix.files.onnx_dates import DateMoments
from separatrix.files.onnx_text import bags
from separatrix.tables import learned
from separatrix.tables.coded_levels import HashedColumn, TargetColumn
from separatrix.tables.encode import DAYS, MONTHS, TableEncoder

SPARSE = "sparse"
KIND: dict[type, str] = {
    learned.NumberColumn: "numbers",
    learned.LevelColumn: "words",
    TargetColumn: "words",
    HashedColumn: "words",
    learned.DateColumn: "moments",
    learned.WordColumn: "documents",
}


def table_inputs(encoder: Any) -> list[Input]:
    """The tensors that the graph of a TableEncoder is given (T3, O8). O(p).

    >>> import pandas as pd
    >>> from separatrix.tables.encode import TableEncoder
    >>> frame = pd.DataFrame({"sky": ["sun", "rain", "sun"], "wind": [1.5, None, 3.5], "planet": 3})
    >>> [(i.name, i.kind) for i in table_inputs(TableEncoder().fit(frame))]
    [('sky', 'words'), ('wind', 'numbers')]
    """
    parts, out = _read(encoder), []
    sparse = tuple(part.name for part in parts if isinstance(part, learned.SparseColumn))
    for part in parts:
        if not isinstance(part, learned.SparseColumn):
            out.append(Input(part.name, KIND[type(part)], (part.name,)))
        elif part.name == sparse[0]:
            out.append(Input(SPARSE, "numbers", sparse, len(sparse)))
    return out


def table(g: Graph, encoder: Any, cells: Cells) -> Cells:
    """The piece of a fitted TableEncoder, ``cells`` being the tensors of its ``table_inputs`` (T3, O8).

    A matrix (n, q) in forms "linear" and "counts", columns (n, 1) in form "native". Cost as in the module.

    >>> import pandas as pd
    >>> from separatrix.tables.encode import TableEncoder
    >>> encoder = TableEncoder().fit(pd.DataFrame({"wind": [1.5, 2.5, 3.5]}))
    >>> g = Graph()
    >>> made = table(g, encoder, Cells.given(g, table_inputs(encoder)))
    >>> [node.op_type for node in g.nodes]
    ['IsNaN', 'Where', 'Sub', 'Div']
    """
    inputs = table_inputs(encoder)
    given = Cells.given(g, inputs)
    if (cells.whole, cells.names, cells.words) != (None, given.names, given.words):
        raise OnnxExportError(
            "TableEncoder reads the columns of a frame by name: put it first in the pipeline, on its own"
        )
    tensor = {name: i.name for i in inputs for name in i.columns}
    if encoder.form == "native":
        return _native(g, encoder, tensor)
    blocks: list[str] = []
    for kind, run in groupby(_read(encoder), type):
        parts = list(run)
        if kind is learned.NumberColumn:
            blocks.append(_numbers(g, encoder, parts, g.concat([tensor[part.name] for part in parts])))
        elif kind is learned.SparseColumn:
            blocks.append(_sparse(g, encoder, parts))
        else:
            blocks += [_one(g, encoder, part, tensor[part.name]) for part in parts]
    return Cells.matrix(g, g.concat(blocks))


def _read(encoder: TableEncoder) -> list[learned.LearnedColumn]:
    """The parts that become columns."""
    parts: list[learned.LearnedColumn] = []
    for part in encoder._used():
        if isinstance(part, (learned.LevelColumn, TargetColumn)) and part.gaps and "" in part.levels:
            raise OnnxExportError(
                f"column {part.name!r} has missing cells and the level '', and '' stands for both in ONNX: "
                "name the level by a word"
            )
        if encoder.form == "native" or part.names():  # a level alone may be a reference of no column
            parts.append(part)
    return parts


def _one(g: Graph, encoder: TableEncoder, part: learned.LearnedColumn, column: str) -> str:
    """The columns of one column: (n, width)."""
    if isinstance(part, learned.LevelColumn):
        return _ones(g, part, column)
    if isinstance(part, TargetColumn):
        return _means(g, part, column, encoder.standardize)
    if isinstance(part, HashedColumn):
        raise OnnxExportError(
            f"column {part.name!r} is hashed, as it has {part.count:,} levels, and ONNX has no such hash: pool its "
            f"rare levels by TableEncoder(max_levels=10_000), or code it by kinds={{{part.name!r}: 'target'}}"
        )
    if isinstance(part, learned.DateColumn):
        return _dates(g, part, column, encoder.standardize)
    assert isinstance(part, learned.WordColumn)
    try:
        return bags(g, encoder._weighed(part), column)
    except OnnxExportError as error:
        raise OnnxExportError(f"column {part.name!r}: {error}") from None


def _numbers(g: Graph, encoder: TableEncoder, parts: list[Any], X: str) -> str:
    """Neighbouring columns of numbers (n, k) → (n, k and the signs of missing cells)."""
    if encoder.form == "counts":
        return X
    empty = g.op("IsNaN", X)
    filled = g.where(empty, np.array([[part.median for part in parts]]), X)
    if encoder.standardize:
        centred = g.sub(filled, np.array([[part.mean for part in parts]]))
        filled = g.div(centred, np.array([[part.scale for part in parts]]))
    gaps = [j for j, part in enumerate(parts) if part.gaps]
    if not gaps:
        return filled
    both = g.concat([filled, g.columns(g.double(empty), gaps)])
    order = np.argsort([*range(len(parts)), *gaps], kind="stable")  # a sign right behind its column
    return both if len(parts) == 1 else g.columns(both, order)


def _ones(g: Graph, part: learned.LevelColumn, column: str) -> str:
    """0 and 1 for each level: words (n, 1) → (n, width)."""
    kept, width = part.kept(), len(part.names())
    place = {level: j for j, level in enumerate(kept)}
    if part.reference is not None:
        place[part.reference] = -1
    place.setdefault("", width - 1 if part.gaps else -1)
    at = g.look_up(column, place, len(kept) if part.pooled else -1)
    return g.double(g.op("Equal", at, np.arange(width).reshape(1, -1)))


def _means(g: Graph, part: TargetColumn, column: str, scaled: bool) -> str:
    """The target's means in each level: words (n, 1) → (n, width)."""
    place = {level: j for j, level in enumerate(part.levels)}
    place.setdefault("", len(part.levels))
    at = g.look_up(column, place, len(part.levels) + 1)
    rows = part.scaled(part.rows(), scaled)
    return g.concat([g.take(np.ascontiguousarray(rows[:, k]), at) for k in range(rows.shape[1])])


def _dates(g: Graph, part: learned.DateColumn, column: str, scaled: bool) -> str:
    """Dates (n, 1) → their parts, the mean ones where missing, and a sign that says so: (n, width)."""
    moments = DateMoments(g, column, part.origin)
    blocks = []
    if part.parts:
        mean, scale = np.array([part.mean]), np.array([part.scale])
        x = g.where(moments.missing, mean, g.concat([moments.part(name) for name in part.parts]))
        blocks.append(g.div(g.sub(x, mean), scale) if scaled else x)
    if part.gaps:
        blocks.append(g.double(moments.missing))
    return g.concat(blocks)


def _sparse(g: Graph, encoder: TableEncoder, parts: list[Any]) -> str:
    """Neighbouring sparse columns (n, k)."""
    every = [part.name for part in _read(encoder) if isinstance(part, learned.SparseColumn)]
    mine = [every.index(parts[0].name) + j for j in range(len(parts))]
    X = SPARSE if len(mine) == len(every) else g.columns(SPARSE, mine)
    if encoder.form == "native":
        return X
    X = g.where(g.op("IsNaN", X), 0.0, X)
    if encoder.form == "counts" or not encoder.standardize:
        return X
    return g.mul(X, np.array([[1.0 / part.scale for part in parts]]))


def _native(g: Graph, encoder: TableEncoder, tensor: dict[str, str]) -> Cells:
    blocks: list[tuple[str, int, bool]] = []  # tensor, its columns, words or not
    for kind, run in groupby(_read(encoder), type):
        parts = list(run)
        if kind is learned.SparseColumn:
            blocks.append((_sparse(g, encoder, parts), len(parts), False))
            continue
        for part in parts:
            column = tensor[part.name]
            if isinstance(part, (learned.LevelColumn, TargetColumn, HashedColumn)):
                blocks.append(_levels(g, encoder, part, column))
            elif isinstance(part, learned.DateColumn):
                blocks += _calendar(g, column)
            else:
                blocks.append((column, 1, False))
    if not any(words for _, _, words in blocks):
        return Cells.matrix(g, g.concat([block for block, _, _ in blocks]))
    columns: list[str] = []
    for block, width, _ in blocks:
        columns += [block] if width == 1 else [g.columns(block, [j]) for j in range(width)]
    words = [words for _, width, words in blocks for _ in range(width)]
    return Cells(g, None, tuple(columns), tuple(words), tuple(encoder.get_feature_names_out().tolist()))


def _levels(
    g: Graph, encoder: TableEncoder, part: learned.LevelColumn | TargetColumn | HashedColumn, column: str
) -> tuple[str, int, bool]:
    if isinstance(part, learned.LevelColumn) and not part.levels and not part.pooled:  # no word in training
        return g.constant_rows(column, np.array([np.nan])), 1, False
    if isinstance(part, learned.LevelColumn) and (shown := encoder._shown(part)):
        known = [*shown, *([] if "" in shown else [""])]
        kept: dict[str, Any] = {"keys_strings": known, "values_strings": known}
        column = g.op("LabelEncoder", column, domain=ML, **kept, default_string=part.other)
    return column, 1, True


def _calendar(g: Graph, column: str) -> list[tuple[str, int, bool]]:
    """days, NaN where missing; month and weekday, words, "" where missing."""
    moments = DateMoments(g, column, 0)  # days since 1970, as in the frame
    days = g.where(moments.missing, np.nan, moments.part("days"))
    words = [
        g.where(moments.missing, np.array([[""]], dtype=object), g.take(np.array(spelling, dtype=object), at))
        for spelling, at in ((MONTHS, moments.month()), (DAYS, moments.weekday()))
    ]
    return [(days, 1, False), *((column, 1, True) for column in words)]
