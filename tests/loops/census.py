"""Which loops are asked for with which types, where every public estimator reads rows in every form it documents.

    python -m tests.loops.census           what is asked for and not listed in loops/signatures.txt, and what is
                                           listed and never asked for; status 1 if there is any
    python -m tests.loops.census --write   that file anew

Each estimator as it comes and in the variants of tests/files/catalogue.py, on few rows; then with the sizes from
which another way is taken so small that few rows take it; and some on many rows.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification

import separatrix
from tests.files.catalogue import Tables, default_case, public_estimators, variants

ASKED = ("predict", "predict_proba", "decision_function", "transform", "score_samples")
HEAD = """\
# The types that loops are built for: python -m tests.loops.census --write
"""
# Beside the variants that model files know: solvers, criteria and losses with loops of their own.
FURTHER = """
    LinearSVC(loss="hinge") LinearSVC(loss="hinge",solver="coordinate") LinearSVC(solver="coordinate")
    LinearSVC(solver="newton")
    LinearSVC(multi_class="crammer_singer") LinearSVC(fit_intercept=False) LinearSVC(dual=True,tol=1e-6)
    SVC(kernel="poly") SVC(kernel="linear") SVC(kernel="sigmoid") SVC(kernel="poly",degree=2) SVC(cache_size=0.01)
    Perceptron(average=True) Perceptron(fit_intercept=False) Perceptron(shuffle=False)
    LogisticRegression(solver="lbfgs") LogisticRegression(solver="sgd") LogisticRegression(solver="gradient")
    DecisionTreeClassifier(criterion="entropy") DecisionTreeClassifier(max_leaf_nodes=4)
    DecisionTreeClassifier(splitter="random") DecisionTreeClassifier(max_features=1)
    RandomForestClassifier(max_leaf_nodes=4,n_estimators=3) ExtraTreesClassifier(bootstrap=True,n_estimators=3)
    AdaBoostClassifier(separatrix.DecisionTreeClassifier(max_depth=2),n_estimators=3)
    BaggingClassifier(separatrix.DecisionStump(),n_estimators=3)
    DecisionStump(criterion="entropy") DecisionStump(criterion="gini")
"""
REGRESSORS = """
    LinearSVR(loss="squared_epsilon_insensitive") SVR(kernel="linear") SVR(kernel="poly") NuSVR(kernel="linear")
    DecisionTreeRegressor(criterion="absolute_error")
    DecisionTreeRegressor(splitter="random",criterion="absolute_error")
    RandomForestRegressor(criterion="absolute_error",n_estimators=3)
    ExtraTreesRegressor(criterion="absolute_error",n_estimators=3)
    DecisionTreeRegressor(max_leaf_nodes=4) BaggingRegressor(separatrix.DecisionTreeRegressor(),n_estimators=3)
"""

# Sizes from which a fit goes another way, and what they are to be for a table of few rows.
SIZES = {
    "data.counts.COMPILED_FROM": 0,
    "data.moments.COMPILED_FROM": 0,
    "data.orders.IN_CACHE": 0,
    "data.orders.DRAWN_AHEAD": 0,
    "growth.stump_columns.LIGHT": 0,
    "growth.stumps.DENSE_CELLS": 64,
    "models.ensemble.tree_cells.DENSE_CELLS": 0,
    "problems.gram.CHEAPER": 0,
    "solve.smo_state.SINGLE_FROM": 0,
}
WITH_SIZES = ("as they are", "float32", "float64, read-only", "sparse", "sparse, float32")


def cases() -> Iterator[tuple[str, Any, Any, Any]]:
    """(name, estimator, X, y)."""
    t = Tables(0, 60)
    for kind in public_estimators():
        yield kind.__name__, *default_case(kind, t)
    for name, case in variants(t).items():
        yield name, *case
    for words, y in ((FURTHER, t.three), (FURTHER, t.two), (REGRESSORS, t.X[:, 0])):
        for call in words.split():
            yield call, eval(f"separatrix.{call}", {"separatrix": separatrix}), t.X, y


def forms(X: Any, folder: Path) -> Iterator[tuple[str, Any]]:
    """The rows as they are, and as they may come."""
    yield "as they are", X
    if sp.issparse(X):
        X = X.tocsr().astype(np.float64)
        yield "float32", X.astype(np.float32)
        yield "whole numbers", X.astype(np.int64)
        wide = X.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        yield "wide indices", wide
        yield "columns", X.tocsc()
        yield "coordinates", X.tocoo()
        return
    if not isinstance(X, np.ndarray) or X.dtype.kind not in "fiub":
        return
    yield "float64", X.astype(np.float64)
    yield "float32", X.astype(np.float32)
    for kind in (np.int64, np.int32, np.uint8, bool):
        if np.isfinite(X).all():
            yield np.dtype(kind).name, np.abs(X).astype(kind)
    for kind in (np.float64, np.float32):
        fixed = X.astype(kind)
        fixed.flags.writeable = False
        yield f"{np.dtype(kind).name}, read-only", fixed
        yield f"{np.dtype(kind).name}, column-major", np.asfortranarray(X, dtype=kind)
        place = folder / f"{np.dtype(kind).name}.npy"
        np.save(place, X.astype(kind))
        yield f"{np.dtype(kind).name}, on disk", np.load(place, mmap_mode="r")
    yield "every other row", np.repeat(X.astype(np.float64), 2, axis=0)[::2]
    yield "backwards", np.ascontiguousarray(X.astype(np.float64)[:, ::-1])[:, ::-1]
    yield "a list", X.tolist()
    yield "a frame", pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    yield (
        "a frame of two kinds",
        pd.DataFrame({f"c{j}": X[:, j].astype("f4" if j else "f8") for j in range(X.shape[1])}),
    )
    if np.isfinite(X).all():
        yield "sparse", sp.csr_matrix(X)
        yield "sparse, float32", sp.csr_matrix(X.astype(np.float32))
        yield "sparse, wide indices", wide_indices(sp.csr_matrix(X.astype(np.float64)))
        yield "sparse, whole numbers", sp.csr_matrix(np.abs(X).astype(np.int64))
        yield "sparse columns", sp.csc_matrix(X)


def wide_indices(X: Any) -> Any:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def in_no_order(X: Any) -> Any:
    """The rows from the last to the first, and so their cells."""
    out = sp.csr_matrix(X.shape)
    out.data, out.indices, out.indptr = X.data[::-1].copy(), X.indices[::-1].copy(), X.nnz - X.indptr[::-1]
    return out


def orders(X: Any) -> Iterator[Any]:
    """The same rows by row, by column, and not to be written to."""
    for rows in (X, np.asfortranarray(X)):
        yield rows
        fixed = rows.copy(order="K")
        fixed.flags.writeable = False
        yield fixed


def many() -> Iterator[tuple[str, Any, Any, Any]]:
    """Tables of a size at which loops take the place of products."""
    X, y = make_classification(40_000, 12, n_informative=6, random_state=0)
    long, both = np.concatenate([X, X[:5_000]]), np.concatenate([y, y[:5_000]])
    for name, n, p in (
        ("LinearSVC()", 45_000, 12), ("LinearSVR()", 3_000, 12), ("LogisticRegression()", 45_000, 6),
        ("LinearSVR(loss='squared_epsilon_insensitive')", 3_000, 12),
    ):  # fmt: skip
        for kind in (np.float64, np.float32):
            for rows in orders(long[:n, :p].astype(kind, order="C")):
                yield name, eval(f"separatrix.{name}", {"separatrix": separatrix}), rows, both[:n]
    yield "SVC(kernel='poly',C=10)", separatrix.SVC(kernel="poly", C=10.0), X[:3_500], y[:3_500]
    for name in ["SVC()", "NuSVC(nu=0.2)", "SVR()", "NuSVR()", "OneClassSVM()", "SVC(gamma=100.0,C=100.0)"]:
        for n in (600, 3_500):  # rows made when asked for, and working sets
            yield name, eval(f"separatrix.{name}", {"separatrix": separatrix}), X[:n], y[:n]
    yield "GaussianNB() of words", separatrix.GaussianNB(), X, np.array(["no", "yes"])[y]
    yield "CategoricalNB()", separatrix.CategoricalNB(), np.abs(X).astype(np.int64), y
    words = sp.random(3_000, 4_000, 0.01, "csr", random_state=0)
    topic = np.random.default_rng(0).integers(0, 2, 3_000)
    for name in [
        "GaussianNB()",
        "LinearDiscriminantAnalysis()",
        "QuadraticDiscriminantAnalysis()",
        "LogisticRegression()",
        "Perceptron()",
        "LinearSVC()",
        "DecisionStump()",
        "DecisionTreeClassifier(max_depth=3)",
        "AdaBoostClassifier(n_estimators=3)",
        "ExtraTreesClassifier(n_estimators=2)",
        "RandomForestClassifier(n_estimators=2)",
        "BaggingClassifier(n_estimators=2)",
    ]:
        for kind in (np.float64, np.float32):
            yield name, eval(f"separatrix.{name}", {"separatrix": separatrix}), X.astype(kind), y
    few = sp.random(3_000, 40, 0.05, "csr", random_state=0)  # columns, and cells a row
    for rows in (few, few.astype(np.float32), wide_indices(few.copy())):
        for narrow in (separatrix.LogisticRegression(), separatrix.LinearSVC()):
            yield f"{type(narrow).__name__}() of few cells a row", narrow, rows, topic
    rare = sp.random(40, 2_000, 0.05, "csr", random_state=0).toarray()
    for name in ("LogisticRegression()", "LinearSVC()"):
        for kind in (np.float64, np.float32):
            for rows in orders(rare.astype(kind)):
                yield (
                    f"{name} of rare cells",
                    eval(f"separatrix.{name}", {"separatrix": separatrix}),
                    rows,
                    topic[:40],
                )
    for rows in (in_no_order(words), wide_indices(in_no_order(words))):
        yield "BernoulliNB() in no order", separatrix.BernoulliNB(), rows, topic
    for name in [
        "LogisticRegression()",
        "LinearSVC()",
        "Perceptron()",
        "MultinomialNB()",
        "BernoulliNB()",
        "ComplementNB()",
        "AdaBoostClassifier(n_estimators=3)",
        "SVC()",
        "LinearSVC(solver='coordinate')",
    ]:
        for kind in (np.float64, np.float32):
            for labels in (topic, topic + (np.arange(3_000) % 7 == 0)):
                yield name, eval(f"separatrix.{name}", {"separatrix": separatrix}), words.astype(kind), labels


@contextmanager
def small() -> Iterator[None]:
    """Few rows are many."""
    before = []
    for path, size in SIZES.items():
        module, _, name = path.rpartition(".")
        room = import_module(f"separatrix.{module}")
        before.append((room, name, getattr(room, name)))
        setattr(room, name, size)
    try:
        yield
    finally:
        for room, name, size in before:
            setattr(room, name, size)


def used(model: Any, X: Any, y: Any) -> None:
    """A fit, and all that may be asked; rows that are refused ask for nothing."""
    try:
        model.fit(X, y)
    except (ValueError, TypeError, NotImplementedError):
        return
    for name in ASKED:
        if hasattr(model, name):
            getattr(model, name)(X)


def census() -> dict[tuple[str, str], str]:
    """(loop, words of its types) → who asked first."""
    from separatrix.loops import dispatch
    from separatrix.loops.signatures import spelled

    found: dict[tuple[str, str], str] = {}

    def note(by: str) -> None:
        for loop, types in list(dispatch.asked)[len(found) :]:
            found[loop, spelled(types)] = by

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model, X, y in cases():
            for form, rows in forms(X, Path(folder)):
                used(clone(model), rows, y)
                note(f"{name} on {form}")
                if form in WITH_SIZES:
                    with small():
                        used(clone(model), rows, y)
                    note(f"{name} on {form}, many")
        for name, model, X, y in many():
            used(model, X, y)
            note(f"{name} on {X.dtype} {X.shape}")
    return found


def main(arguments: list[str]) -> int:
    from separatrix.loops.signatures import LIST, listed

    found = census()
    if "--write" in arguments:
        lines = [f"{loop}  {words}\n" for loop, words in sorted(found)]
        LIST.write_text(HEAD + "".join(lines), encoding="utf-8")
        return 0
    differing = differences(found, {(loop, words) for loop, every in listed().items() for words in every})
    print("".join(f"{line}\n" for line in differing), end="")
    return int(bool(differing))


def differences(found: dict[tuple[str, str], str], known: set[tuple[str, str]]) -> list[str]:
    """What is asked for and not listed, and who asks; what is listed and never asked for."""
    missing = [f"{' '.join(key)}    # {by}" for key, by in found.items() if key not in known]
    return sorted(missing) + [f"{' '.join(key)}    # never asked for" for key in sorted(known - found.keys())]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
