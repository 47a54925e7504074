"""One answer from every kind of table: order, type, storage, frames, Dask; and nothing is copied whole."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import LeastSquaresClassifier, LogisticRegression, verify
from tests.models.reference import overlapping, quiet

NAMES = ["alpha", "beta", "gamma"]
both = pytest.mark.parametrize("make", [LogisticRegression, LeastSquaresClassifier])


def integers(K=2, n=120):
    """Small whole numbers, so that every storage type holds them exactly."""
    X, y = overlapping(n, 3, K, seed=0)
    return np.round(4 * X), y


def assert_same_model(a, b, X_a, X_b, tol=1e-10):
    np.testing.assert_allclose(b.coef_, a.coef_, atol=tol)
    np.testing.assert_allclose(b.intercept_, a.intercept_, atol=tol)
    np.testing.assert_array_equal(b.predict(X_b), a.predict(X_a))


ARRAYS = {
    "F order": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "big endian": lambda X: X.astype(">f8"),
    "object": lambda X: X.astype(object),
    "list of lists": lambda X: X.tolist(),
    "read only": lambda X: _frozen(X.copy()),
    "every other row of a wider array": lambda X: _interleaved(X),
    "reversed view": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "csr of int64": lambda X: sp.csr_array(X.astype(np.int64)),
    "csr of float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr with 64-bit indices": lambda X: _long_indices(sp.csr_array(X)),
    "unsorted csr with explicit zeros": lambda X: _untidy(X),
}


def _frozen(X):
    X.flags.writeable = False
    return X


def _interleaved(X):
    wide = np.full((2 * len(X), 2 * X.shape[1]), np.nan)
    wide[::2, 1::2] = X
    return wide[::2, 1::2]


def _long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _untidy(X):
    """Every cell stored, zeros too, in reverse column order."""
    n, p = X.shape
    indices = np.tile(np.arange(p)[::-1], n)
    return sp.csr_array((X[:, ::-1].ravel(), indices, np.arange(0, n * p + 1, p)), shape=(n, p))


@both
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("convert", ARRAYS.values(), ids=ARRAYS.keys())
def test_arrays_of_every_kind(make, convert, K):
    X, y = integers(K)
    other = convert(X)
    assert_same_model(make().fit(X, y), make().fit(other, y), X, other, tol=1e-8)


@both
def test_booleans(make):
    X, y = integers()
    X = X > 0
    assert_same_model(make().fit(X.astype(float), y), make().fit(X, y), X.astype(float), X)


def test_the_data_are_not_changed():
    for convert in (np.array, np.asfortranarray, sp.csr_array, lambda X: X.astype(np.float32)):
        X, y = integers()
        X = convert(X)
        before, labels, weight = X.copy(), y.copy(), np.linspace(0, 1, len(y))
        kept = weight.copy()
        LogisticRegression(class_weight="balanced").fit(X, y, sample_weight=weight).predict_proba(X)
        assert abs(before - X).sum() == 0
        np.testing.assert_array_equal(labels, y)
        np.testing.assert_array_equal(kept, weight)


def test_float32_in_float32_out():
    X, y = overlapping(200, 3, 2, seed=1)
    small = X.astype(np.float32)
    for K, labels in ((2, y), (3, overlapping(200, 3, 3, seed=1)[1])):
        model = LogisticRegression().fit(small, labels)
        for method in ("predict_proba", "predict_log_proba", "decision_function"):
            assert getattr(model, method)(small).dtype == np.float32, (K, method)
            assert getattr(model, method)(X).dtype == np.float64
        # the sums are float64: the fit is that of the float32 cells, to full precision
        exact = LogisticRegression().fit(small.astype(np.float64), labels)
        np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-10)
        np.testing.assert_allclose(
            model.predict_proba(small), exact.predict_proba(small.astype(float)), atol=1e-5
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("order", ["C", "F"])
def test_nothing_is_copied_whole(dtype, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(-9, 9, (300_000, 20)), dtype=dtype, order=order)
    y = (X[:, 0] + rng.logistic(0, 9, len(X)) > 0).astype(np.int8)
    LogisticRegression(max_iter=3).fit(X[:100], y[:100])
    tracemalloc.start()
    LogisticRegression().fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    float64_copy = X.size * 8
    assert peak < 0.6 * float64_copy, f"{peak / 1e6:.1f} MB for {float64_copy / 1e6:.1f} MB of float64"


@both
def test_memmap(tmp_path, make):
    X, y = integers()
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_same_model(make().fit(X, y), make().fit(mapped, y), X, mapped, tol=1e-8)


# ---- frames ----


def _pandas(X):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(X, columns=NAMES)


def _pandas_mixed(X):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(
        {
            "alpha": X[:, 0].astype(np.float32),
            "beta": X[:, 1].astype(np.int16),
            "gamma": pd.array(X[:, 2], dtype="Float64"),
        }
    )


def _polars(X):
    pl = pytest.importorskip("polars")
    return pl.DataFrame({n: X[:, j] for j, n in enumerate(NAMES)})


def _arrow(X):
    pa = pytest.importorskip("pyarrow")
    return pa.table({n: X[:, j] for j, n in enumerate(NAMES)})


FRAMES = {"pandas": _pandas, "pandas mixed types": _pandas_mixed, "polars": _polars, "arrow": _arrow}
frames = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())


@both
@frames
@pytest.mark.parametrize("K", [2, 3])
def test_frames(make, frame, K):
    X, y = integers(K)
    model = make().fit(frame(X), y)
    assert list(model.feature_names_in_) == NAMES
    assert_same_model(make().fit(X, y), model, X, frame(X), tol=1e-8)
    assert verify(model, frame(X), y).settled
    assert model.score(frame(X), y) == make().fit(X, y).score(X, y)


@frames
def test_frames_of_booleans(frame):
    X, y = integers()
    if frame is _pandas_mixed:
        pytest.skip("mixed types are not booleans")
    model = LogisticRegression().fit(frame(X > 0), y)
    np.testing.assert_allclose(model.coef_, LogisticRegression().fit(X > 0, y).coef_, atol=1e-8)


def test_labels_and_weights_from_frames():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    X, y = integers(3)
    words = np.array(["low", "mid", "top"])[y]
    weight = np.linspace(0.5, 2, len(y))
    plain = LogisticRegression().fit(X, words, sample_weight=weight)
    index = np.arange(len(y))[::-1]  # an index is a name for rows, not their order
    for labels, weights in (
        (pd.Series(words, index=index), pd.Series(weight, index=index)),
        (pd.Series(words, dtype="category"), weight.tolist()),
        (pd.Series(words, dtype="string"), pd.Series(weight, dtype="Float64")),
        (pl.Series(words), pl.Series(weight)),
        (pl.Series(words, dtype=pl.Categorical), weight),
        (pa.array(words), pa.array(weight)),
        (pa.chunked_array([words[:50], words[50:]]), weight),
        (words[:, None], weight),
    ):
        with quiet(UserWarning):  # a column vector of labels is flattened with scikit-learn's warning
            model = LogisticRegression().fit(X, labels, sample_weight=weights)
        assert model.classes_.tolist() == ["low", "mid", "top"]
        np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_a_frame_of_one_column_and_a_series_of_labels():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"dose": [1.0, 2.0, 3.0, 4.0]})
    model = LogisticRegression().fit(frame, pd.Series(["a", "b", "a", "b"]))
    assert model.coef_.shape == (1, 1)


# ---- Dask ----


@both
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("chunks", [(40, 3), (50, 2), (120, 1)])
def test_dask_arrays(make, K, chunks):
    da = pytest.importorskip("dask.array")
    X, y = integers(K)
    lazy = da.from_array(X, chunks=chunks)
    model, plain = make().fit(lazy, y), make().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-8)
    predicted = model.predict(lazy)
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), plain.predict(X))
    scores = model.decision_function(lazy)
    assert isinstance(scores, da.Array)
    np.testing.assert_allclose(scores.compute(), plain.decision_function(X), atol=1e-7)
    assert model.score(lazy, y) == plain.score(X, y)
    if make is LogisticRegression:
        np.testing.assert_allclose(model.predict_proba(lazy).compute(), plain.predict_proba(X), atol=1e-8)
        assert verify(model, lazy, y).status == "optimal"


def test_dask_arrays_of_unknown_length_and_lazy_labels():
    da = pytest.importorskip("dask.array")
    X, y = integers()
    lazy, labels = da.from_array(X, chunks=(40, 3)), da.from_array(y, chunks=40)
    keep = da.from_array(np.arange(len(y)) % 3 > 0, chunks=40)
    model = LogisticRegression().fit(
        lazy[keep], labels[keep], sample_weight=da.ones(int(keep.sum().compute()))
    )
    kept = np.arange(len(y)) % 3 > 0
    np.testing.assert_allclose(model.coef_, LogisticRegression().fit(X[kept], y[kept]).coef_, atol=1e-8)


def test_dask_frames():
    dd = pytest.importorskip("dask.dataframe")
    X, y = integers(3)
    frame = dd.from_pandas(_pandas(X), npartitions=3)
    model, plain = LogisticRegression().fit(frame, y), LogisticRegression().fit(X, y)
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-8)
    np.testing.assert_array_equal(np.asarray(model.predict(frame)), plain.predict(X))
    np.testing.assert_allclose(np.asarray(model.predict_proba(frame)), plain.predict_proba(X), atol=1e-8)


def test_dask_rows_are_read_when_their_turn_comes():
    """A partition is never held with all the others."""
    da = pytest.importorskip("dask.array")
    alive, most = [], []

    def load(block_info=None):
        rng = np.random.default_rng(block_info[None]["chunk-location"][0])
        alive.append(1)
        most.append(len(alive))
        cells = rng.standard_normal((50, 2))
        alive.pop()
        return cells

    lazy = da.map_blocks(load, chunks=((50,) * 6, (2,)), dtype=float)
    X = lazy.compute()
    y = (X[:, 0] + np.random.default_rng(0).logistic(size=300) > 0).astype(int)
    reads = len(most)
    model = LogisticRegression().fit(lazy, y)
    assert len(most) > reads  # read again, sweep by sweep
    np.testing.assert_allclose(model.coef_, LogisticRegression().fit(X, y).coef_, atol=1e-8)


def test_dask_labels_of_a_frame_column():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X, y = integers()
    frame = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(label=y), npartitions=2)
    model = LogisticRegression().fit(frame[NAMES], frame["label"])
    np.testing.assert_allclose(model.coef_, LogisticRegression().fit(X, y).coef_, atol=1e-8)
