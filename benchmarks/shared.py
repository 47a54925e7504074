"""Readers of the real data beside the project (../shared/data, or SEPARATRIX_SHARED/data). See its INDEX.md.

    shared.available()                   is it there at all
    shared.table("adult")                a pandas DataFrame; "?" and empty cells are missing
    shared.numeric("adult")              X float64, y, column names
    shared.numeric("adult/adult.test")   a named file of a folder that has several
    shared.numeric("a9a")                svmlight sets give X as CSR
    shared.texts("sms_spam")             documents and labels

In `numeric` a column of words is one-hot encoded with its first level (in sorted order) dropped, a missing
cell is a level of its own, columns without any value are left out, rows with a missing number are dropped.
Columns of integers stay numbers, even where a set codes categories by them.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".csv.gz", ".svm.gz", ".jsonl.gz", ".txt.gz", "-images-idx3-ubyte.gz")

# The file meant by a folder's name alone, where the folder holds several: the training part.
MAIN = {
    "20news": "20news-bydate-train",
    "a9a": "a9a",
    "adult": "adult.data",
    "freMTPL2": "freMTPL2freq",
    "mnist": "train",
    "mushrooms_agaricus": "agaricus.train",
    "optdigits": "optdigits.tra",
    "reuters_money_fx": "reuters.trn",
    "reuters_r8": "r8-train",
    "wine_quality": "winequality-red",
}
# The target is the last column except here (lizards holds counts of two species, sev amounts by policy).
TARGET = {
    "wine": "class",
    "freMTPL2freq": "ClaimNb",
    "lizards": "grahami",
    "epil": "y",
    "birthwt": "low",
    "crabs": "sp",
    "NMES1988": "visits",
    "DoctorVisits": "visits",
    "Default": "default",
}
# Identifiers, and columns from which the target was computed.
LEFT_OUT = {
    "splice": ["Instance_name"],
    "biopsy": ["ID"],
    "crabs": ["index"],
    "birthwt": ["bwt"],
    "freMTPL2freq": ["IDpol"],
    "bike_sharing": ["instant", "dteday", "casual", "registered"],
}
# Columns of svmlight files, so that train and test agree where the last column is all zero.
WIDTH = {
    "a9a": 123,
    "a9a.t": 123,
    "agaricus.train": 126,
    "agaricus.test": 126,
    "reuters.trn": 8315,
    "reuters.tst": 8315,
}


def root() -> Path:
    """The folder that holds the sets."""
    named = os.environ.get("SEPARATRIX_SHARED")
    return (Path(named) if named else Path(__file__).resolve().parents[2] / "shared") / "data"


def available() -> bool:
    """Whether the shared data are beside the project."""
    return (root() / "INDEX.md").is_file()


def path(name: str) -> Path:
    """The file of a set: "adult", "adult/adult.test", "separation/endometrial"."""
    folder, _, file = name.partition("/")
    place = root() / folder
    if not available():
        raise FileNotFoundError(
            f"no shared data at {root()}: set SEPARATRIX_SHARED to the folder that holds data/"
        )
    if not place.is_dir():
        raise FileNotFoundError(f"no data set {folder!r} in {root()}; INDEX.md there lists them")
    found = {_stem(each): each for each in sorted(place.iterdir()) if _stem(each)}
    wanted = file or MAIN.get(folder) or (next(iter(found)) if len(found) == 1 else folder)
    if wanted not in found:
        choices = ", ".join(f"{folder}/{stem}" for stem in found)
        raise FileNotFoundError(f"{name!r} names no file; there are {choices}")
    return found[wanted]


def table(name: str) -> pd.DataFrame:
    """The set as it is, with missing cells as NaN."""
    import pandas as pd

    file = path(name)
    if not file.name.endswith((".csv", ".csv.gz")):
        raise ValueError(f"{name!r} is not a table but {file.name}; use numeric() or texts()")
    # The words None and NA are levels in some sets, so only the two marks of INDEX.md are missing.
    return pd.read_csv(file, na_values=["?", ""], keep_default_na=False, skipinitialspace=True)


def numeric(name: str) -> tuple[Any, np.ndarray, list[str]]:
    """X, y and the column names; X is a float64 array, or CSR for svmlight sets."""
    file = path(name)
    if file.name.endswith(".svm.gz"):
        return _svmlight(file)
    if file.name.endswith("ubyte.gz"):
        return _idx(file)
    frame = table(name).dropna(axis=1, how="all")
    stem = _stem(file)
    target = TARGET.get(stem, frame.columns[-1])
    frame = frame.drop(columns=LEFT_OUT.get(stem, [])).dropna(subset=[target])
    y = frame.pop(target)
    words = [column for column in frame if frame[column].dtype.kind not in "iufb"]
    complete = frame.drop(columns=words).notna().all(axis=1).to_numpy()
    frame, y = frame[complete], y[complete]
    blocks, names = [], []
    for column in frame:
        block, labels = _encoded(frame[column], str(column)) if column in words else _plain(frame[column])
        blocks.append(block)
        names += labels
    target_values = y.to_numpy() if y.dtype.kind in "iufb" else y.to_numpy(dtype=str)
    return np.ascontiguousarray(np.column_stack(blocks)), target_values, names


def texts(name: str) -> tuple[list[str], np.ndarray]:
    """Documents and labels of a text set."""
    file = path(name)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        if file.name.endswith(".txt.gz"):
            pairs = [line.rstrip("\n").partition("\t")[::2] for line in lines if line.strip()]
            return [text for _, text in pairs], np.array([label for label, _ in pairs])
        rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows], np.array([row["label"] for row in rows])


def _stem(file: Path) -> str:
    """The file's name without its suffix; empty for files that hold no rows."""
    return next((file.name.removesuffix(suffix) for suffix in SUFFIXES if file.name.endswith(suffix)), "")


def _plain(column: pd.Series) -> tuple[np.ndarray, list[str]]:
    return column.to_numpy(dtype=np.float64)[:, None], [str(column.name)]


def _encoded(column: pd.Series, name: str) -> tuple[np.ndarray, list[str]]:
    """Indicators of every level but the first; missing cells come last."""
    levels = sorted(column.dropna().unique())
    indicators = [
        (f"{name}={level}", (column == level).fillna(False).to_numpy(dtype=np.float64)) for level in levels
    ]
    if column.isna().any():
        indicators.append((f"{name}=missing", column.isna().to_numpy(dtype=np.float64)))
    kept = indicators[1:]
    block = np.column_stack([values for _, values in kept]) if kept else np.empty((len(column), 0))
    return block, [label for label, _ in kept]


def _svmlight(file: Path) -> tuple[Any, np.ndarray, list[str]]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(file), n_features=WIDTH.get(_stem(file)))
    X = X.tocsr()
    X.indices, X.indptr = (
        X.indices.astype(np.int32),
        X.indptr.astype(np.int32),
    )  # scikit-learn's SVC takes no others
    return X, y, [f"x{i}" for i in range(X.shape[1])]


def _idx(file: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """MNIST's own format: a 16-byte header before the pixels, 8 bytes before the labels."""
    labels = file.with_name(file.name.replace("images-idx3", "labels-idx1"))
    pixels = np.frombuffer(gzip.decompress(file.read_bytes()), dtype=np.uint8, offset=16).reshape(-1, 784)
    y = np.frombuffer(gzip.decompress(labels.read_bytes()), dtype=np.uint8, offset=8)
    return pixels.astype(np.float64), y.astype(np.int64), [f"p{i}" for i in range(784)]
