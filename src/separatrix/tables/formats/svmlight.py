"""svmlight:  label index:value …, as a frame, sparse where wide, and the labels. Cost: one pass over the bytes."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.tables.sources import Source, decoded

WIDEST = 200_000  # columns of a sparse table
DENSE = 1000
SVMLIGHT = re.compile(
    r"\s*[^\s:#]+(?:\s+qid:\d+)?(?:\s+\d+:[+-]?(?:\d+\.?\d*|\.\d+|inf|nan)(?:[eE][+-]?\d+)?)*\s*(?:#.*)?",
    re.IGNORECASE,
)


def read_svmlight(source: Source, content: bytes, width: int | None) -> tuple[Any, np.ndarray]:
    """label index:value …  →  a frame (sparse where wide), and the labels."""
    import pandas as pd
    from sklearn.datasets import load_svmlight_file

    text, _ = decoded(source, content)
    widest = 0
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        if not SVMLIGHT.fullmatch(bare):
            raise source.refuse(f"line {number} is not 'label index:value …' ({bare[:60]!r}); mend it")
        if ":" in (last := bare.split("#")[0].split()[-1]):
            widest = max(widest, int(last.split(":")[0]))
    if widest > WIDEST:
        raise source.refuse(
            f"column {widest:,} is beyond the {WIDEST:,} columns of a table; load it by "
            "sklearn.datasets.load_svmlight_file and fit a model on the matrix"
        )
    try:
        X, y = load_svmlight_file(io.BytesIO(text.encode()), dtype=np.float64)
    except (ValueError, OverflowError) as error:
        for number, line in enumerate(text.split("\n"), 1):
            held = [int(index) for index in re.findall(r"\s(\d+):", line.split("#")[0])]
            fall = next((pair for pair in pairwise(held) if pair[0] >= pair[1]), None)
            if fall:
                raise source.refuse(
                    f"line {number}: index {fall[1]} comes after {fall[0]}; write the indices rising"
                ) from None
        raise source.refuse(
            f"no svmlight file ({str(error).rstrip('.')}); write 'label index:value …', indices rising"
        ) from None
    if not X.shape[0]:
        raise source.refuse("no line holds a row; write 'label index:value …'")
    if not np.isfinite(X.data).all():
        raise source.refuse("a value is not a finite number; mend it or leave it out")
    if width is not None and X.shape[1] > width:
        raise source.refuse(f"column {X.shape[1]} is beyond the {width} columns asked for; raise width")
    if width is not None:
        X.resize((X.shape[0], width))
    names = [f"x{j + 1}" for j in range(X.shape[1])]
    if X.shape[1] <= DENSE:
        frame = pd.DataFrame(X.toarray(), columns=names)
    else:
        frame = pd.DataFrame.sparse.from_spmatrix(X.tocsc(), columns=names)  # type: ignore[attr-defined]
    labels = y.astype(np.int64) if np.array_equal(y, np.rint(y)) else y
    return frame, labels
