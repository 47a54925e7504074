"""The tables of the real race:  a name → X (n, p), y.  Read from the shared data, rows in one fixed random order.

    raw             numbers as they are; words one-hot (shared.numeric)
    standardised    (x − mean)/sd, column by column
    one-hot         every column's values as 0 and 1, first value dropped
    tf-idf, counts  of words of one letter or more, CSR; "unsorted": each row's columns in random order
    products        x_i x_j of random pairs: wide tables made of narrow ones

Where the shared data are absent the table is one of scikit-learn's own of the same kind, and its source says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import cache, shared

Arrays = tuple[Any, np.ndarray]
MOST_DIGITS = 25_000  # of MNIST's 60,000: as many as any row of the race takes
WIDE_ROWS = 1_200  # of a wide table: 100 to fit, the others to judge by
SEED = 20


@dataclass(frozen=True)
class Table:
    """Where a table comes from, and which of scikit-learn's own stands in for it."""

    read: Callable[[], Arrays]
    kin: (
        str  # of stand-in: "two" classes, "many", "measured" (a few columns of full rank), "numbers", "words"
    )


def _numeric(name: str) -> Callable[[], Arrays]:
    return lambda: shared.numeric(name)[:2]


def _largest(name: str) -> Callable[[], Arrays]:
    """The largest class against the rest."""

    def read() -> Arrays:
        X, y, _ = shared.numeric(name)
        values, counts = np.unique(y, return_counts=True)
        return X, (y == values[counts.argmax()]).astype(np.int64)

    return read


def _digits() -> Arrays:
    X, y, _ = shared.numeric("mnist")
    return X[:MOST_DIGITS].astype(np.uint8), y[:MOST_DIGITS]


def _columns(name: str, p: int) -> Callable[[], Arrays]:
    """The first p columns: covtype's are its measurements, the others indicators."""

    def read() -> Arrays:
        X, y, _ = shared.numeric(name)
        return np.ascontiguousarray(X[:, :p]), y

    return read


def _texts(name: str, *, weighted: bool, posts: bool = False) -> Callable[[], Arrays]:
    """Counts of words, or their tf-idf; of posts without the headers, which name the group."""

    def read() -> Arrays:
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

        documents, y = shared.texts(name)
        if posts:
            documents = [document.partition("\n\n")[2] for document in documents]
        return (TfidfVectorizer if weighted else CountVectorizer)().fit_transform(documents), y

    return read


def _technical() -> Arrays:
    X, y = _texts("20news", weighted=True, posts=True)()
    return X, np.array([group.startswith(("comp.", "sci.")) for group in y]).astype(np.int64)


def _wide_words(name: str, p: int) -> Callable[[], Arrays]:
    """tf-idf of the p commonest words as a dense table."""

    def read() -> Arrays:
        X, y = _texts(name, weighted=True)()
        common = np.argsort(-np.diff(X.tocsc().indptr), kind="stable")[:p]
        some = np.random.default_rng(SEED).permutation(len(y))[:WIDE_ROWS]
        return X[some][:, np.sort(common)].toarray(), y[some]

    return read


def _products(read: Callable[[], Arrays], p: int) -> Callable[[], Arrays]:
    """p products of two random columns that are not constant, of WIDE_ROWS rows."""

    def make() -> Arrays:
        X, y = read()
        some = np.random.default_rng(SEED).permutation(len(y))[:WIDE_ROWS]
        X = np.asarray(X[some], dtype=float)
        pairs = np.random.default_rng(SEED).choice(np.flatnonzero(X.std(axis=0) > 0), size=(2, p))
        made = X[:, pairs[0]] * X[:, pairs[1]]
        return made / made.std(axis=0).max(), y[some]

    return make


TABLES = {
    "a9a": Table(_numeric("a9a"), "two"),
    "adult": Table(_numeric("adult"), "two"),
    "banknote": Table(_numeric("banknote"), "two"),
    "bike": Table(_numeric("bike_sharing"), "numbers"),
    "california": Table(_numeric("california_housing"), "numbers"),
    "connect-4": Table(_numeric("connect_4"), "many"),
    "covtype": Table(_numeric("covtype"), "many"),
    "covtype largest": Table(_largest("covtype"), "two"),
    "covtype 10 columns": Table(_columns("covtype", 10), "measured"),
    "electricity": Table(_numeric("electricity"), "two"),
    "krkopt": Table(_numeric("krkopt"), "many"),
    "lingspam": Table(_texts("lingspam", weighted=True), "words"),
    "lingspam wide": Table(_wide_words("lingspam", 10_000), "two"),
    "mnist": Table(_digits, "many"),
    "mnist products 2,000": Table(_products(_digits, 2_000), "many"),
    "mnist products 10,000": Table(_products(_digits, 10_000), "many"),
    "mushrooms": Table(_numeric("mushrooms"), "two"),
    "20news": Table(_texts("20news", weighted=True, posts=True), "words"),
    "20news counts": Table(_texts("20news", weighted=False, posts=True), "words"),
    "20news technical": Table(_technical, "words"),
    "nursery": Table(_numeric("nursery"), "many"),
    "optdigits": Table(_numeric("optdigits"), "many"),
    "phishing": Table(_numeric("phishing"), "two"),
    "phoneme": Table(_numeric("phoneme"), "two"),
    "reuters money-fx": Table(_numeric("reuters_money_fx"), "words"),
    "reuters R8 counts": Table(_texts("reuters_r8", weighted=False), "words"),
    "reuters R8 wide": Table(_wide_words("reuters_r8", 10_000), "many"),
    "skin": Table(_numeric("skin_nonskin"), "measured"),
    "sms counts": Table(_texts("sms_spam", weighted=False), "words"),
    "soybean": Table(_numeric("soybean"), "many"),
    "spambase": Table(_numeric("spambase"), "two"),
    "spambase products": Table(_products(_numeric("spambase"), 10_000), "two"),
    "wine quality": Table(_numeric("wine_quality/winequality-white"), "numbers"),
}


def read(name: str) -> tuple[Any, np.ndarray, str]:
    """X and y of a table in a fixed random order of rows, labels as codes; and where it came from."""
    table = TABLES[name]
    if shared.available():
        key, source, maker = f"real-{name.replace(' ', '-').replace(',', '')}-v1", name, table.read
    else:
        stand_in, maker = _stand_in(table.kin)
        key, source = f"real-{stand_in.replace(' ', '-')}-v1", f"{stand_in} (no shared data here for {name})"
    kept = cache.arrays(key, lambda: _packed(*maker(), numbers=table.kin == "numbers"), mapped=True)
    if "X" in kept:
        return kept["X"], np.array(kept["y"]), source
    parts = (np.array(kept[part]) for part in ("data", "indices", "indptr"))
    return sp.csr_matrix(tuple(parts), shape=tuple(kept["shape"])), np.array(kept["y"]), source


def _packed(X: Any, y: np.ndarray, *, numbers: bool) -> dict[str, np.ndarray]:
    """The arrays to keep: rows permuted, labels as codes in the order of their names."""
    order = np.random.default_rng(SEED).permutation(len(y))
    codes = y.astype(float) if numbers else np.unique(y, return_inverse=True)[1].astype(np.int64)
    if not sp.issparse(X):
        return {"X": np.ascontiguousarray(X[order]), "y": codes[order]}
    X = X.tocsr()[order].astype(np.float64)
    X.sort_indices()
    index = np.int32
    return {
        "data": X.data,
        "indices": X.indices.astype(index),
        "indptr": X.indptr.astype(index),
        "shape": np.array(X.shape),
        "y": codes[order],
    }


def _stand_in(kin: str) -> tuple[str, Callable[[], Arrays]]:
    """One of the tables that scikit-learn carries; of words, whole numbers as CSR."""
    from sklearn import datasets

    match kin:
        case "two":
            return "breast cancer", lambda: datasets.load_breast_cancer(return_X_y=True)
        case "many":
            return "digits", lambda: datasets.load_digits(return_X_y=True)
        case "measured":
            return "iris", lambda: datasets.load_iris(return_X_y=True)
        case "numbers":
            return "diabetes", lambda: datasets.load_diabetes(return_X_y=True)
        case _:
            return "digits as counts", lambda: _as_counts(*datasets.load_digits(return_X_y=True))


def _as_counts(X: np.ndarray, y: np.ndarray) -> Arrays:
    return sp.csr_matrix(X), (y > 4).astype(np.int64)


def one_hot(X: np.ndarray) -> np.ndarray:
    """Every value of every column as 0 and 1, a column's first value dropped."""
    blocks = []
    for column in X.T:
        values = np.unique(column)
        blocks.append((column[:, None] == values[None, 1:]).astype(np.float64))
    return np.ascontiguousarray(np.column_stack(blocks))


def codes(X: np.ndarray) -> np.ndarray:
    """Every column's values numbered from zero, as CategoricalNB wants them."""
    return np.ascontiguousarray(
        np.column_stack([np.unique(column, return_inverse=True)[1] for column in X.T])
    ).astype(float)


def standardised(X: Any) -> Any:
    """(x − mean)/sd, constant columns at zero; of CSR x/max|x|, since its zeros are to stay."""
    if sp.issparse(X):
        most = np.maximum(abs(X).max(axis=0).toarray().ravel(), 1e-300)
        return (X @ sp.diags_array(1.0 / most)).tocsr()
    sd = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(sd > 0, sd, 1.0)


def unsorted(X: sp.csr_matrix) -> sp.csr_matrix:
    """The same rows with the entries of each in random order, as a join or a hash table leaves them."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((np.random.default_rng(SEED).random(X.nnz), row))
    made = sp.csr_matrix((X.data[order], X.indices[order], X.indptr), shape=X.shape)
    made.has_sorted_indices = False
    return made
