"""Bad input meets a sentence that names the culprit and the way out, before any work starts."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import LeastSquaresClassifier, LogisticRegression
from tests.models.reference import overlapping

X, Y = overlapping(30, 3, 2, seed=0)
both = pytest.mark.parametrize("make", [LogisticRegression, LeastSquaresClassifier])


@pytest.fixture(autouse=True)
def no_work_starts(monkeypatch):
    """Every refusal of a fit comes before the first evaluation of an objective."""
    from separatrix.problems.objective import Objective

    def refuse(*_args, **_kwargs):
        raise AssertionError("work started before the input was refused")

    monkeypatch.setattr(Objective, "evaluate", refuse)


def damaged(value, row=17, column=1):
    broken = X.copy()
    broken[row, column] = value
    return broken


# ---- cells ----


@both
@pytest.mark.parametrize("value, word", [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, np.float32, sp.csr_array, sp.csc_array])
def test_a_cell_that_is_not_finite_is_named(make, value, word, kind):
    with pytest.raises(ValueError, match=f"Input X contains {word}: column 1, row 17.*SimpleImputer"):
        make().fit(kind(damaged(value)), Y)


@both
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_cell_that_is_not_finite_is_named_at_prediction(make, value, monkeypatch):
    monkeypatch.undo()
    model = make().fit(X, Y)
    for method in ("predict", "decision_function"):
        for kind in (np.asarray, sp.csr_array):
            with pytest.raises(ValueError, match="column 1, row 17"):
                getattr(model, method)(kind(damaged(value)))


def frame_of(library, columns):
    module = pytest.importorskip(library)
    if library == "pandas":
        return module.DataFrame(columns)
    return module.DataFrame(columns) if library == "polars" else module.table(columns)


libraries = pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])


@both
@libraries
@pytest.mark.parametrize("value", [np.nan, np.inf, None])
def test_a_cell_of_a_frame_is_named(make, library, value):
    dose = X[:, 1].tolist()
    dose[17] = value
    with pytest.raises(ValueError, match=r"column 'dose'.* row 17"):
        make().fit(frame_of(library, {"age": X[:, 0].tolist(), "dose": dose}), Y)


@libraries
def test_a_cell_of_a_frame_is_named_at_prediction(library, monkeypatch):
    monkeypatch.undo()
    model = LogisticRegression().fit(frame_of(library, {"age": X[:, 0], "dose": X[:, 1]}), Y)
    for value in (np.nan, None, -np.inf):
        with pytest.raises(ValueError, match=r"column 'dose'.* row 1"):
            model.predict(frame_of(library, {"age": [1.0, 2.0], "dose": [0.5, value]}))


def test_a_missing_integer_of_a_nullable_column():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"count": pd.array([1, 2, None, 4], dtype="Int64")})
    with pytest.raises(ValueError, match="column 'count' is missing in row 2"):
        LogisticRegression().fit(frame, [0, 1, 0, 1])


def test_dask_cells_are_named_by_their_row_in_the_whole():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="column 1, row 17"):
        LogisticRegression().fit(da.from_array(damaged(np.nan), chunks=(10, 3)), Y)


@both
def test_numbers_too_large_to_square(make):
    with pytest.raises(ValueError, match="column 1 holds values too large"):
        make().fit(X * [1.0, 1e300, 1.0], Y)


@both
@pytest.mark.parametrize(
    "bad, match",
    [
        (np.array([["a", "b"]] * 4), "could not convert string to float|numeric"),
        (np.array([[1 + 2j, 1]] * 4), "[Cc]omplex"),
        (np.array([[object(), 1.0]] * 4, dtype=object), "float.*number|number"),
        (np.array([[datetime.date(2020, 1, 1), 1]] * 4, dtype=object), "float.*number|number"),
        (np.array([["2020-01-01"]] * 4, dtype="datetime64[D]"), "datetime64|date"),
        (np.zeros((4, 2, 2)), "dim 3|3D|Found array with dim"),
        (np.zeros(4), "2D array"),
        (np.float64(3.0), "2D array"),
        (sp.csr_array(np.ones((4, 2)) + 1j), "[Cc]omplex"),
    ],
    ids=["strings", "complex", "objects", "dates", "datetime64", "3D", "1D", "0D", "sparse complex"],
)
def test_tables_of_a_wrong_type_or_shape(make, bad, match):
    with pytest.raises((ValueError, TypeError), match=match):
        make().fit(bad, [0, 1, 0, 1])


# ---- columns of frames ----


@both
@pytest.mark.parametrize(
    "column, word",
    [
        (["red", "blue"] * 15, "'colour' is"),
        ([datetime.datetime(2020, 1, 1)] * 30, "'colour' is.*date"),
        ([datetime.date(2020, 1, 1)] * 30, "'colour' is"),
        ([datetime.timedelta(1)] * 30, "'colour' is.*duration"),
    ],
    ids=["strings", "datetimes", "dates", "durations"],
)
@libraries
def test_a_column_that_is_not_a_number_is_named(make, library, column, word):
    frame = frame_of(library, {"age": X[:, 0], "colour": column})
    with pytest.raises(ValueError, match=f"column {word}.*(OneHotEncoder|encode)"):
        make().fit(frame, Y)


def _categories():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    codes, words, age = [1, 2, 3] * 10, ["1", "2", "3"] * 10, X[:, 0]
    for values in (codes, np.array(codes) / 2, words):
        yield pd.DataFrame({"zip": pd.Categorical(values), "age": age})
    yield pd.DataFrame({"zip": pd.Categorical(codes, ordered=True), "age": age})
    for kind in (pl.Categorical, pl.Enum(["1", "2", "3"])):
        yield pl.DataFrame({"zip": words, "age": age}, schema_overrides={"zip": kind})
    for values in (codes, words):
        yield pa.table({"zip": pa.array(values).dictionary_encode(), "age": age})


@both
def test_an_integer_coded_category_is_never_a_number(make):
    for frame in _categories():
        with pytest.raises(
            ValueError, match=r"column 'zip' is categorical.*names, not numbers.*OneHotEncoder"
        ):
            make().fit(frame, Y)


def test_a_category_is_refused_at_prediction_too(monkeypatch):
    monkeypatch.undo()
    pd = pytest.importorskip("pandas")
    model = LogisticRegression().fit(pd.DataFrame({"zip": np.arange(30.0), "age": X[:, 0]}), Y)
    with pytest.raises(ValueError, match="'zip' is categorical"):
        model.predict(pd.DataFrame({"zip": pd.Categorical([1, 2]), "age": [0.0, 1.0]}))


def test_a_category_of_a_dask_frame():
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frame = dd.from_pandas(pd.DataFrame({"zip": pd.Categorical([1, 2] * 15), "age": X[:, 0]}), npartitions=2)
    with pytest.raises(ValueError, match="'zip' is categorical"):
        LogisticRegression().fit(frame, Y)


def test_many_culprits_are_counted():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({f"word{i}": ["a", "b"] * 15 for i in range(9)})
    with pytest.raises(ValueError, match=r"'word0'.*'word4'.*and 4 more"):
        LogisticRegression().fit(frame, Y)


@both
@libraries
@pytest.mark.parametrize(
    "columns, match",
    [
        (["b", "a", "c"], "order"),
        (["a", "b", "z"], "(?s)unseen.*z.*missing.*c|z"),
        (["a", "b"], "(?s)missing.*c"),
        (["a", "b", "c", "d"], "(?s)unseen.*d"),
    ],
    ids=["order", "names", "missing", "extra"],
)
def test_a_frame_whose_columns_differ(make, library, columns, match, monkeypatch):
    monkeypatch.undo()
    model = make().fit(frame_of(library, {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}), Y)
    other = frame_of(library, {name: X[:, 0] for name in columns})
    for method in ("predict", "decision_function", "signed_distance"):
        with pytest.raises(ValueError, match=match):
            getattr(model, method)(other)


@both
def test_another_number_of_columns(make, monkeypatch):
    monkeypatch.undo()
    model = make().fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 2 features, but \w+ is expecting 3"):
        model.predict(X[:, :2])


# ---- labels ----


@both
def test_one_class_only(make):
    with pytest.raises(ValueError, match="only one class: 'spam'"):
        make().fit(X, ["spam"] * 30)
    with pytest.raises(ValueError, match="only one class: 1"):  # the other class weighs nothing
        make().fit(X, Y, sample_weight=(Y == 1).astype(float))


@both
@pytest.mark.parametrize("n", [29, 31, 0])
def test_mismatched_lengths(make, n):
    with pytest.raises(ValueError, match=f"X has 30 rows, y has {n} labels"):
        make().fit(X, np.resize(Y, n))


@both
def test_empty_data(make):
    with pytest.raises(ValueError, match="0 sample"):
        make().fit(np.empty((0, 3)), [])
    with pytest.raises(ValueError, match="0 feature"):
        make().fit(np.empty((30, 0)), Y)
    with pytest.raises(ValueError, match=r"0 sample|0 feature"):
        make().fit(sp.csr_array((0, 3)), [])


@both
def test_an_empty_frame(make):
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="0 sample"):
        make().fit(pd.DataFrame({"a": np.empty(0), "b": np.empty(0)}), [])
    with pytest.raises(ValueError, match="0 feature"):
        make().fit(pd.DataFrame(index=range(30)), Y)


@both
@pytest.mark.parametrize(
    "labels, match",
    [
        (None, "requires y to be passed.*y is None"),
        ([0, 1, np.nan] * 10, "Input y contains NaN: row 2 has no label .10 rows in all"),
        ([0.0, np.inf, 1.0] * 10, "Input y contains infinity: row 1"),
        (["a", None, "b"] * 10, "Input y contains NaN: row 1 has no label"),
        ([0.5, 1.5, 2.7] * 10, "continuous"),
        (np.zeros((30, 2)), r"1d array, got an array of shape \(30, 2\)"),
        ([["a"], ["b"], {}] * 10, "hashable|1d array|Unknown label type|inhomogeneous"),
    ],
    ids=["none", "NaN", "inf", "missing word", "continuous", "2D", "unhashable"],
)
def test_labels(make, labels, match):
    with pytest.raises(ValueError, match=match):
        make().fit(X, labels)


def test_pandas_labels_that_are_missing():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="row 2 has no label"):
        LogisticRegression().fit(X, pd.Series(["a", "b", pd.NA] * 10, dtype="string"))
    with pytest.raises(ValueError, match="row 1 has no label"):
        LogisticRegression().fit(X, pd.Series([1, pd.NA, 0] * 10, dtype="Int64"))
    with pytest.raises(ValueError, match="row 1 has no label"):
        LogisticRegression().fit(X, pd.Series(["a", None, "b"] * 10, dtype="category"))


# ---- weights ----


@both
@pytest.mark.parametrize(
    "weight, match",
    [
        (np.where(np.arange(30) == 4, -1.0, 1.0), r"not negative: row 4 has weight -1.0"),
        (np.where(np.arange(30) == 5, np.nan, 1.0), r"finite.*row 5 has weight nan"),
        (np.where(np.arange(30) == 6, np.inf, 1.0), r"finite.*row 6 has weight inf"),
        (np.zeros(30), "zero in every row"),
        (np.ones(29), r"sample_weight.shape == \(29,\), expected \(30,\)"),
        (np.ones((30, 2)), "1D array or scalar"),
        (["heavy"] * 30, "must be numbers"),
        (-1.0, "not negative: row 0"),
        (0, "zero in every row"),
    ],
    ids=["negative", "NaN", "inf", "all zero", "short", "2D", "words", "negative scalar", "zero scalar"],
)
def test_weights(make, weight, match):
    with pytest.raises(ValueError, match=match):
        make().fit(X, Y, sample_weight=weight)


# ---- parameters ----


@pytest.mark.parametrize(
    "parameters, match",
    [
        (dict(solver="adam"), 'solver \'adam\' is unknown: use one of "auto", "newton"'),
        (dict(solver="saga", penalty="l1"), "penalty 'l1' is not offered"),
        (dict(solver="sag", solver_options={"eta": 0.1}), "'sag' leaves the choice to \"auto\""),
        (dict(solver="liblinear", penalty="firth"), "'liblinear' does not know Firth's penalty"),
        (dict(solver=None), "solver None is unknown"),
        (dict(C=0), "C must be a positive number.*got 0"),
        (dict(C=-1.0), "C must be a positive number.*got -1.0"),
        (dict(C=np.nan), "C must be a positive number.*got nan"),
        (dict(C="strong"), "C must be a positive number.*got 'strong'"),
        (dict(C=None), "C must be a positive number.*got None"),
        (dict(C=True), "C must be a positive number.*got True"),
        (dict(tol=0), "tol must be a positive number, got 0"),
        (dict(tol=-1e-3), "tol must be a positive number"),
        (dict(tol=np.nan), "tol must be a positive number, got nan"),
        (dict(max_iter=0), "max_iter must be a whole number of at least 1, got 0"),
        (dict(max_iter=2.5), "max_iter must be a whole number"),
        (dict(penalty="l1"), "penalty 'l1' is not offered: use \"l2\""),
        (dict(penalty="elasticnet"), "penalty 'elasticnet' is not offered"),
        (dict(l1_ratio=0.5), "l1_ratio=0.5: an l1 penalty is not offered"),
        (dict(dual=True), "dual=True is liblinear's"),
        (dict(intercept_scaling=2), "intercept_scaling is liblinear's"),
        (dict(class_weight="fair"), "class_weight 'fair' is unknown: use \"balanced\""),
        (dict(class_weight={2: 1.0}), "class_weight names 2, which is not a class: the classes are .0, 1."),
        (dict(class_weight={0: -1.0}), "class_weight must be positive"),
        (dict(class_weight={0: 0.0}), "class_weight must be positive"),
        (dict(class_weight={0: np.nan}), "class_weight must be positive"),
        (dict(class_weight=[1.0, 2.0]), "class_weight"),
        (dict(n_jobs=0), "n_jobs must be None or a whole number other than 0"),
        (dict(solver="newton", solver_options={"eta": 1.0}), "'newton' has no option 'eta'; it takes theta"),
        (dict(solver="gradient", solver_options={"eta": -1.0}), "eta.*must be positive, got -1.0"),
        (dict(solver="gradient", solver_options={"eta": "big"}), "eta.*must be positive"),
        (dict(solver="sgd", solver_options={"batch": 0}), "batch.*must be positive, got 0"),
        (dict(solver="sgd", solver_options={"batch": 2.5}), "batch.*must be a whole number, got 2.5"),
        (dict(solver="lbfgs", solver_options={"memory": 0}), "memory"),
        (dict(solver_options={"eta": 1.0}), "solver_options belong to one solver"),
        (dict(solver="newton", solver_options=3), "solver_options"),
    ],
    ids=lambda v: str(v) if isinstance(v, dict) else "",
)
def test_parameters_of_logistic_regression(parameters, match):
    with pytest.raises(ValueError, match=match):
        LogisticRegression(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    "parameters, match",
    [
        (dict(target=0), "target must be a positive number, got 0"),
        (dict(target=np.inf), "target must be a positive number, got inf"),
        (dict(coding="binary"), "coding 'binary' is unknown"),
        (dict(alpha=-1), "alpha must be zero or positive, got -1"),
        (dict(alpha=np.nan), "alpha must be zero or positive, got nan"),
        (dict(alpha="x"), "alpha must be zero or positive, got 'x'"),
        (dict(solver="lbfgs"), 'solver \'lbfgs\' is unknown: use "direct" or "newton"'),
        (dict(record_path=True), 'record_path needs solver="newton"'),
    ],
    ids=lambda v: str(v) if isinstance(v, dict) else "",
)
def test_parameters_of_least_squares(parameters, match):
    with pytest.raises(ValueError, match=match):
        LeastSquaresClassifier(**parameters).fit(X, Y)


def test_sign_coding_is_for_two_classes():
    with pytest.raises(ValueError, match='coding="sign" is for two classes, found 3: use "one-hot"'):
        LeastSquaresClassifier(coding="sign").fit(X, np.arange(30) % 3)


def test_parameters_are_refused_before_data_are_read():
    """An impossible pair fails first, whatever the data are."""
    with pytest.raises(ValueError, match="C must be"):
        LogisticRegression(C=-1).fit("not even a table", None)
    with pytest.raises(ValueError, match="solver 'adam'"):
        LogisticRegression(solver="adam").fit(object(), None)


def test_a_stochastic_solver_refuses_dask():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match=r'solver "sgd" visits rows in random order.*"newton" or "lbfgs"'):
        LogisticRegression(solver="sgd").fit(da.from_array(X, chunks=(10, 3)), Y)


def test_what_is_accepted_from_scikit_learn_means_the_same(monkeypatch):
    monkeypatch.undo()
    plain = LogisticRegression(solver="newton").fit(X, Y)
    for parameters in (
        dict(solver="newton-cholesky"),
        dict(solver="newton", penalty="l2"),
        dict(solver="newton", l1_ratio=0),
        dict(solver="newton", l1_ratio=None),
    ):
        np.testing.assert_array_equal(LogisticRegression(**parameters).fit(X, Y).coef_, plain.coef_)


# ---- margins and forms ----


def test_unknown_labels_and_references_are_named(monkeypatch):
    monkeypatch.undo()
    model = LogisticRegression().fit(X, np.array(["a", "b"])[Y])
    with pytest.raises(ValueError, match=r"label 'c' was not seen in training: the classes are .'a', 'b'."):
        model.functional_margin(X[:2], ["a", "c"])
    with pytest.raises(ValueError, match="reference 'z' is not a class"):
        model.reference_form("z")
    with pytest.raises(ValueError, match="X has 2 rows, y has 3 labels"):
        model.geometric_margin(X[:2], ["a", "b", "a"])


@both
@pytest.mark.parametrize("method", ["predict", "decision_function", "signed_distance"])
def test_before_fit(make, method):
    with pytest.raises(Exception, match="not fitted yet"):
        getattr(make(), method)(X)
