"""How rows are held is nothing:  threads, blocks, Dask, sparse, whole numbers, frames."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import (
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
    engine,
)
from tests.models.generative.cases import (
    CASES,
    assert_same_model,
    continuous,
    counts,
    every,
    learned,
    mixed,
    rows,
    tolerance,
)

# ---- engines, storage ----


@every
def test_threads_and_serial_give_the_same_bits(case):
    make, draw = CASES[case]
    X, y = draw(6)
    fitted = []
    for kind, workers in (("serial", None), ("threads", 2)):
        with engine(kind, workers=workers, blocks=7):
            fitted.append(make().fit(X, y))
    a, b = (learned(m) for m in fitted)
    for name in a:
        for x, z in zip(a[name], b[name], strict=True):
            np.testing.assert_array_equal(x, z, err_msg=name)
    np.testing.assert_array_equal(*(m.predict_proba(X) for m in fitted))


@every
@pytest.mark.parametrize("blocks", [7, 97])
def test_blocks_agree(case, blocks):
    make, draw = CASES[case]
    X, y = draw(7, n=200)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], len(y))
    with engine(blocks=1):
        a = make().fit(X, y, sample_weight=weight)
    with engine(blocks=blocks):
        b = make().fit(X, y, sample_weight=weight)
    assert_same_model(a, b, X, tol=1e-10)


def test_blocks_in_which_no_row_has_a_label_or_a_class():
    """Rows sorted by class, the unlabelled ones last: some blocks have one class, some none."""
    for case, (make, draw) in CASES.items():
        if "priors" in case:
            continue
        X, y = draw(8)
        order = np.argsort(y, kind="stable")
        X, y = rows(X, order), y[order].astype(object)
        y[-20:] = None
        fitted = []
        for blocks in (1, 12):
            with engine(blocks=blocks):
                fitted.append(make().set_params(em_max_iter=5, em_tol=10.0).fit(X, y))
        np.testing.assert_allclose(*(m.predict_proba(X) for m in fitted), atol=1e-8, err_msg=case)


DASK = ("GaussianNB", "LDA", "QDA", "diagonal", "MultinomialNB", "BernoulliNB", "CategoricalNB", "gamma", "normal",
        "multivariate normal", "dirichlet")  # fmt: skip


@pytest.mark.parametrize("case", DASK)
@pytest.mark.parametrize("chunks", [(17, 3), (60, 2)])
def test_dask_arrays(case, chunks):
    da = pytest.importorskip("dask.array")
    make, draw = CASES[case]
    X, y = draw(9)
    lazy = da.from_array(X, chunks=chunks)
    model, plain = make().fit(lazy, y), make().fit(X, y)
    assert_same_model(plain, model, X, tolerance(case))
    for method in ("predict", "predict_proba", "predict_log_proba", "score_samples", "class_log_density"):
        answer = getattr(model, method)(lazy)
        assert isinstance(answer, da.Array), method
        np.testing.assert_allclose(answer.compute(), getattr(plain, method)(X), atol=1e-9)
    late = make().partial_fit(lazy[:34], y[:34]).partial_fit(lazy[34:], y[34:])
    assert_same_model(plain, late, X, tolerance(case))
    if case == "LDA":
        np.testing.assert_allclose(
            np.abs(model.transform(lazy).compute()), np.abs(plain.transform(X)), atol=1e-9
        )


def test_dask_with_missing_cells_weights_and_labels():
    da, dd, pd = (pytest.importorskip(name) for name in ("dask.array", "dask.dataframe", "pandas"))
    X, y = continuous(9)
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    weight = np.linspace(0.5, 2, len(y))
    plain = GaussianNB().fit(holes, y, sample_weight=weight)
    lazy = da.from_array(holes, chunks=(13, 3))
    model = GaussianNB().fit(
        lazy, da.from_array(y, chunks=13), sample_weight=da.from_array(weight, chunks=13)
    )
    assert_same_model(plain, model, holes)
    np.testing.assert_allclose(model.predict_proba(lazy).compute(), plain.predict_proba(holes), atol=1e-12)
    frame = dd.from_pandas(pd.DataFrame(holes, columns=list("abc")), npartitions=4)
    model = GaussianNB().fit(frame, y, sample_weight=weight)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(np.asarray(model.predict_proba(frame)), plain.predict_proba(holes), atol=1e-12)
    plain, model = (LinearDiscriminantAnalysis().fit(table, y) for table in (holes, lazy))
    np.testing.assert_allclose(model.covariance_, plain.covariance_, rtol=1e-9)


STORED = {
    "float32": lambda X: X.astype(np.float32),
    "int8": lambda X: X.astype(np.int8),
    "uint64": lambda X: X.astype(np.uint64),
    "F order": np.asfortranarray,
    "big endian": lambda X: X.astype(">f8"),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
}
OF_COUNTS = {
    "GaussianNB": lambda: GaussianNB(),
    "LDA": lambda: LinearDiscriminantAnalysis(),
    "QDA": lambda: QuadraticDiscriminantAnalysis(),
    "multivariate normal": lambda: GenerativeClassifier("multivariate_normal"),
    **{
        c: CASES[c][0]
        for c in ("BernoulliNB", "MultinomialNB", "CategoricalNB", "NaiveBayes poisson", "poisson")
    },
}


@pytest.mark.parametrize("make", OF_COUNTS.values(), ids=OF_COUNTS.keys())
def test_however_the_numbers_are_stored(make):
    X, y = counts(10)
    plain = make().fit(X, y)
    for name, convert in STORED.items():
        model = make().fit(convert(X), y)
        found = model.predict_proba(convert(X))
        atol = 1e-10 if found.dtype == np.float64 else 4 * np.finfo(np.float32).eps
        np.testing.assert_allclose(found, plain.predict_proba(X), atol=atol, rtol=1e-6, err_msg=name)
        np.testing.assert_allclose(
            model.score_samples(convert(X)), plain.score_samples(X), rtol=1e-10, err_msg=name
        )


# ---- frames ----


def _pandas(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c"])


def _nullable(X):
    pd = pytest.importorskip("pandas")
    cells = {n: [None if v != v else v for v in X[:, j]] for j, n in enumerate("abc")}
    return pd.DataFrame({n: pd.array(values, dtype="Float64") for n, values in cells.items()})


def _polars(X):
    pl = pytest.importorskip("polars")
    return pl.DataFrame({n: [None if v != v else v for v in X[:, j].tolist()] for j, n in enumerate("abc")})


def _arrow(X):
    pa = pytest.importorskip("pyarrow")
    return pa.table({n: [None if v != v else v for v in X[:, j].tolist()] for j, n in enumerate("abc")})


FRAMES = {"pandas": _pandas, "pandas nullable": _nullable, "polars": _polars, "arrow": _arrow}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize(
    "case",
    [
        "GaussianNB",
        "LDA",
        "QDA",
        "diagonal",
        "BernoulliNB",
        "CategoricalNB",
        "normal",
        "poisson",
        "NaiveBayes gamma",
    ],
)
def test_a_frame_with_empty_cells_is_an_array_with_nans(case, frame):
    make, draw = CASES[case]
    X, y = draw(11)
    holes = np.where(np.random.default_rng(2).random(X.shape) < 0.15, np.nan, X)
    a, b = make().fit(holes, y), make().fit(frame(holes), y)
    assert list(b.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(a.predict_proba(holes), b.predict_proba(frame(holes)), atol=1e-12)
    np.testing.assert_allclose(a.score_samples(holes), b.score_samples(frame(holes)), rtol=1e-12)
    np.testing.assert_array_equal(a.predict(X), b.predict(frame(X)))


def test_a_mixed_frame_with_empty_cells():
    pd, pl = (pytest.importorskip(name) for name in ("pandas", "polars"))
    X, y = mixed(3)
    X[np.random.default_rng(0).random(X.shape) < 0.15] = None
    names = ["colour", "flag", "visits", "length", "balance"]
    types = ["category", "boolean", "Int64", "float", "float"]
    plain = NaiveBayes().fit(X.tolist(), y)
    assert plain.families_ == ["categorical", "bernoulli", "poisson", "gamma", "gaussian"]
    columns = {n: X[:, j].tolist() for j, n in enumerate(names)}
    objects = pd.DataFrame(columns, dtype=object)
    for frame in (objects, pd.DataFrame(columns).astype(dict(zip(names, types))), pl.DataFrame(columns)):
        model = NaiveBayes().fit(frame, y)
        assert model.families_ == plain.families_
        np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(X.tolist()), atol=1e-12)


@every
def test_the_data_are_not_changed(case):
    make, draw = CASES[case]
    X, y = draw(12)
    weight = np.linspace(0.5, 2, len(y))
    before = X.copy()
    model = make().fit(X, y, sample_weight=weight)
    model.predict_proba(X), model.score_samples(X), model.predict(X)
    assert (before != X).sum() == 0
    np.testing.assert_array_equal(weight, np.linspace(0.5, 2, len(y)))
    if not sp.issparse(X) and X.dtype != object:
        X.flags.writeable = False
        make().fit(X, y).predict(X)
