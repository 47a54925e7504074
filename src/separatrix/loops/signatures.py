"""The types that loops are built for: ``signatures.txt``, a line for each.

``python -m tests.loops.census --write`` writes it.

    sparse.column_sums  float64:1C int32:1C float64:1C float64:2C
    float64:2C!         a read-only array of two dimensions, row-major (A: strided)
    {child:i4@16 …}24   a row of named cells, at these places of 24 bytes

A test fails where a fit of a public estimator asks for another. Cost: none before a build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numba import from_dtype, types

LIST = Path(__file__).with_name("signatures.txt")
_ARRAY = re.compile(r"(.+):(\d)([CFA])(!?)")
_CELL = re.compile(r"(\w+):(\w+)@(\d+)")


def spelled(arguments: tuple[Any, ...]) -> str:
    """The types of a call in words of ``signatures.txt``."""
    return " ".join(map(_spell, arguments))


def parsed(words: str) -> tuple[Any, ...]:
    """The types that words of ``signatures.txt`` mean.

    >>> parsed("float64:2C int64 none")
    (Array(float64, 2, 'C', False, aligned=True), int64, none)
    >>> spelled(parsed("{feature:i4@0,cut:f8@8}16a:1C! bool:1A"))
    '{feature:i4@0,cut:f8@8}16a:1C! bool:1A'
    """
    return tuple(_parse(word) for word in words.split())


def listed() -> dict[str, list[str]]:
    """Loop → the signatures that it is built for."""
    found: dict[str, list[str]] = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            loop, words = line.split(maxsplit=1)
            found.setdefault(loop, []).append(words)
    return found


def _spell(kind: Any) -> str:
    if isinstance(kind, types.Array) and kind.aligned:
        return f"{_spell(kind.dtype)}:{kind.ndim}{kind.layout}{'' if kind.mutable else '!'}"
    if isinstance(kind, types.Record):
        cells = ((name, np.dtype(str(cell.type)), cell.offset) for name, cell in kind.fields.items())
        words = ",".join(f"{name}:{dtype.str.lstrip('<|=')}@{offset}" for name, dtype, offset in cells)
        return f"{{{words}}}{kind.size}{'a' if kind.aligned else ''}"
    return str(kind).replace(
        " ", "_"
    )  # a number, none; what else there is cannot be built, and is told by its name


def _parse(word: str) -> Any:
    if array := _ARRAY.fullmatch(word):
        dtype, ndim, order, readonly = array.groups()
        return types.Array(_parse(dtype), int(ndim), order, readonly=bool(readonly))  # type: ignore[arg-type]
    if word.startswith("{"):
        names, formats, offsets = zip(*_CELL.findall(word))
        size, aligned = re.fullmatch(r".*}(\d+)(a?)", word).groups()  # type: ignore[union-attr]
        layout: Any = {
            "names": names,
            "formats": formats,
            "offsets": list(map(int, offsets)),
            "itemsize": int(size),
        }
        return from_dtype(np.dtype(layout, align=bool(aligned)))
    return getattr(types, {"bool": "boolean"}.get(word, word))
