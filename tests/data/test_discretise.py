"""Discretisation: the laws of cuts and codes, and MDL against a slow reference written from the paper."""

import math
import pickle
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import engine
from separatrix.data.discretise import Discretizer

quick = settings(max_examples=60, deadline=None)
methods = st.sampled_from(["width", "frequency", "mdl"])
nan = float("nan")


@st.composite
def tables(draw, missing=True, tied=True):
    """(X, y): dyadic values, so that shifts and powers of two are exact; ties and NaN unless told otherwise.

    The labels follow the first column, with errors, or MDL would seldom have a cut to make.
    """
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p, k = draw(st.integers(2, 60)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    size = draw(st.sampled_from([3, 12, 400])) if tied else 0
    if tied:
        X = rng.integers(-size, size + 1, size=(n, p)) / 8
    else:
        X = np.column_stack([rng.permutation(4 * n)[:n] - n for _ in range(p)]) / 8
    rank = np.searchsorted(np.quantile(X[:, 0], np.arange(1, k) / k), X[:, 0])
    y = np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.1, 1.0])), rng.integers(0, k, n), rank)
    if missing and draw(st.booleans()):
        X[rng.random((n, p)) < 0.2] = nan
    return X, y


def same_cuts(a, b):
    return len(a.cuts_) == len(b.cuts_) and all(np.array_equal(c, d) for c, d in zip(a.cuts_, b.cuts_))


# ---- MDL, slowly, from the formulas of the paper ----


def entropy(rows):
    total = sum(w for _, _, w in rows)
    classes = Counter()
    for _, label, w in rows:
        classes[label] += w
    return -sum(w / total * math.log2(w / total) for w in classes.values()), len(classes), total


def reference_mdl(values, labels, weights=None):
    """Every value is a possible cut, not boundary points alone; every entropy is computed afresh."""
    weights = [1.0] * len(values) if weights is None else weights
    rows = [(x, c, w) for x, c, w in zip(values, labels, weights) if w > 0 and x == x]
    return sorted(_partition(rows))


def _partition(rows):
    levels = sorted({x for x, _, _ in rows})
    if len(levels) < 2:
        return []
    ent, k, n = entropy(rows)
    tried = []
    for low, high in pairwise(levels):
        left, right = [r for r in rows if r[0] <= low], [r for r in rows if r[0] >= high]
        (e1, k1, n1), (e2, k2, n2) = entropy(left), entropy(right)
        delta = math.log2(3**k - 2) - (k * ent - k1 * e1 - k2 * e2)
        tried.append((n1 / n * e1 + n2 / n * e2, delta, (low + high) / 2, left, right))
    least = min(t[0] for t in tried)
    e, delta, cut, left, right = next(t for t in tried if t[0] <= least + 1e-12)
    if ent - e <= (math.log2(max(n - 1, 1)) + delta) / n:
        return []
    return [cut, *_partition(left), *_partition(right)]


@settings(max_examples=200, deadline=None)
@given(tables(), st.sampled_from(["none", "whole", "fractions"]), st.integers(0, 10**6))
def test_mdl_agrees_with_the_reference(table, kind, seed):
    X, y = table
    rng = np.random.default_rng(seed)
    weight = {"none": None, "whole": rng.integers(0, 4, len(y)), "fractions": rng.integers(0, 9, len(y)) / 4}[
        kind
    ]
    assume(weight is None or weight.any())
    model = Discretizer().fit(X, y, sample_weight=weight)
    for j, cuts in enumerate(model.cuts_):
        assert cuts.tolist() == reference_mdl(X[:, j].tolist(), y.tolist(), weight)


def test_mdl_on_iris():
    """The cuts of petal length and width in the literature; here the reference's, from the data."""
    X, y = load_iris(return_X_y=True)
    model = Discretizer().fit(X, y)
    for j in range(4):
        np.testing.assert_allclose(model.cuts_[j], reference_mdl(X[:, j].tolist(), y.tolist()), rtol=1e-15)
    np.testing.assert_allclose(model.cuts_[2], [2.45, 4.75])
    np.testing.assert_allclose(model.cuts_[3], [0.8, 1.75])


def test_mdl_by_hand():
    """Two pure halves of m rows: N·gain = 2m bits against log₂(2m − 1) + log₂ 7 − 2, so a cut pays."""
    for m, cuts in ((1, [0.5]), (2, [1.5]), (5, [4.5])):
        assert 2 * m > math.log2(2 * m - 1) + math.log2(7) - 2
        model = Discretizer().fit(np.arange(2.0 * m)[:, None], np.repeat([0, 1], m))
        assert model.cuts_[0].tolist() == cuts
    alternating = Discretizer().fit(np.arange(20.0)[:, None], np.arange(20) % 2)
    assert alternating.cuts_[0].tolist() == [] and alternating.n_bins_.tolist() == [1]


def test_mdl_with_labels_all_different():
    X = np.arange(300.0)[:, None]
    model = Discretizer().fit(X, np.arange(300))
    assert model.cuts_[0].tolist() == reference_mdl(X[:, 0].tolist(), range(300))


def test_mdl_with_one_class_makes_no_cut():
    model = Discretizer().fit([[1.0], [2.0], [3.0]], ["a", "a", "a"])
    assert model.n_bins_.tolist() == [1] and model.transform([[-5.0], [9.0]]).tolist() == [[0], [0]]


def test_mdl_needs_rows_to_pay_for_a_cut():
    """Weights are rows: the same shares of a total of one row earn nothing."""
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    assert Discretizer().fit(X, y, sample_weight=np.full(20, 0.02)).n_bins_.tolist() == [1]
    assert Discretizer().fit(X, y, sample_weight=np.full(20, 0.5)).n_bins_.tolist() == [2]


# ---- laws of every method ----


@quick
@given(tables(), methods, st.integers(0, 10**6))
def test_a_weight_is_a_repetition_and_zero_is_absence(table, method, seed):
    X, y = table
    weight = np.random.default_rng(seed).integers(0, 4, len(y))
    assume(weight.any())
    weighted = Discretizer(method, bins=4).fit(X, y, sample_weight=weight)
    assert same_cuts(
        weighted, Discretizer(method, bins=4).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    )
    kept = weight > 0
    assert same_cuts(weighted, Discretizer(method, bins=4).fit(X[kept], y[kept], sample_weight=weight[kept]))


@quick
@given(tables(), methods, st.integers(0, 10**6), st.booleans())
def test_the_order_of_rows_is_nothing(table, method, seed, weighted):
    X, y = table
    rng = np.random.default_rng(seed)
    order, weight = rng.permutation(len(y)), rng.integers(1, 16, len(y)) / 8 if weighted else None
    moved = None if weight is None else weight[order]
    here = Discretizer(method).fit(X, y, sample_weight=weight)
    assert same_cuts(here, Discretizer(method).fit(X[order], y[order], sample_weight=moved))


@quick
@given(tables(), st.permutations(["b", ("tuple", 1), 7, None]))
def test_the_names_of_labels_are_nothing(table, names):
    X, y = table
    names = [n if n is not None else frozenset({1}) for n in names]
    assert same_cuts(Discretizer().fit(X, y), Discretizer().fit(X, [names[k] for k in y]))


@quick
@given(tables(), methods, st.sampled_from([2.0**-9, 0.5, 4.0, 2.0**20]), st.integers(-500, 500))
def test_unit_and_origin_move_the_cuts_and_nothing_else(table, method, unit, origin):
    X, y = table
    here = Discretizer(method, bins=8).fit(X, y)
    there = Discretizer(method, bins=8).fit((X + origin) * unit, y)
    for a, b in zip(here.cuts_, there.cuts_):
        assert np.array_equal((a + origin) * unit, b)
    np.testing.assert_array_equal(here.transform(X), there.transform((X + origin) * unit))


@quick
@given(tables(), methods, st.integers(2, 12))
def test_codes_rise_with_values_and_count_the_cuts_below(table, method, bins):
    X, y = table
    model = Discretizer(method, bins=bins).fit(X, y)
    probe = np.sort(np.concatenate([np.linspace(-60, 60, 50), *model.cuts_]))
    codes = model.transform(np.column_stack([probe] * X.shape[1]))
    assert codes.dtype == np.int64 and (np.diff(codes, axis=0) >= 0).all()
    for j, cuts in enumerate(model.cuts_):
        assert (np.diff(cuts) > 0).all() and model.n_bins_[j] == len(cuts) + 1
        assert codes[:, j].tolist() == [sum(c < x for c in cuts) for x in probe]
        assert codes[0, j] == 0 and codes[-1, j] == len(cuts)


@quick
@given(tables(), methods)
def test_a_missing_cell_is_a_row_absent_from_its_column(table, method):
    X, y = table
    model = Discretizer(method).fit(X, y)
    codes = model.transform(X)
    assert np.array_equal(np.isnan(codes), np.isnan(X))
    assert codes.dtype == (np.float64 if np.isnan(X).any() else np.int64)
    for j in range(X.shape[1]):
        seen = ~np.isnan(X[:, j])
        if seen.any():
            alone = Discretizer(method).fit(X[seen][:, [j]], y[seen])
            assert np.array_equal(alone.cuts_[0], model.cuts_[j])
            assert np.array_equal(alone.transform(X[seen][:, [j]])[:, 0], codes[seen, j])
        else:
            assert model.n_bins_[j] == 1


@quick
@given(tables(), methods)
def test_no_training_bin_of_a_chosen_cut_is_empty(table, method):
    assume(method != "width")
    X, y = table
    model = Discretizer(method, bins=5).fit(X, y)
    codes = model.transform(X)
    for j, bins in enumerate(model.n_bins_):
        seen = codes[~np.isnan(X[:, j]), j]
        assert set(seen) == set(range(bins)) or len(seen) == 0


@quick
@given(tables(), methods)
def test_threads_and_one_thread_give_the_same_bits(table, method):
    X, y = table
    with engine("serial"):
        one = Discretizer(method).fit(X, y)
        codes = one.transform(X)
    with engine("threads", workers=3):
        three = Discretizer(method).fit(X, y)
        np.testing.assert_array_equal(three.transform(X), codes)
    assert same_cuts(one, three)


# ---- width and frequency ----


@quick
@given(tables(missing=False), st.integers(2, 12))
def test_width_cuts_are_evenly_spaced(table, bins):
    X, _ = table
    for x, cuts in zip(X.T, Discretizer("width", bins=bins).fit(X).cuts_):
        if x.min() == x.max():
            assert len(cuts) == 0
        else:
            np.testing.assert_allclose(cuts, np.linspace(x.min(), x.max(), bins + 1)[1:-1], atol=1e-12)


@quick
@given(tables(missing=False, tied=False), st.integers(2, 12))
def test_frequency_bins_without_ties_differ_by_one_row_at_most(table, bins):
    X, _ = table
    model = Discretizer("frequency", bins=bins).fit(X)
    assert (model.n_bins_ == min(bins, len(X))).all()
    for codes in model.transform(X).T:
        sizes = np.bincount(codes)
        assert sizes.max() - sizes.min() <= 1


@quick
@given(tables(missing=False), st.integers(2, 8), st.integers(0, 10**6))
def test_frequency_cuts_are_weighted_quantiles(table, bins, seed):
    X, _ = table
    weight = np.random.default_rng(seed).integers(1, 6, len(X))
    for x, cuts in zip(X.T, Discretizer("frequency", bins=bins).fit(X, sample_weight=weight).cuts_):
        levels, expected = np.unique(x), set()
        below = [int(weight[x <= v].sum()) for v in levels[:-1]]
        for i in range(1, bins):
            off = [abs(b * bins - i * int(weight.sum())) for b in below]
            expected |= {(levels[a] + levels[a + 1]) / 2 for a in [off.index(min(off))]} if off else set()
        assert cuts.tolist() == sorted(expected)


@quick
@given(tables(missing=False), st.sampled_from([0.1, 1 / 3, 7e-5, 1e9]), st.integers(2, 10))
def test_frequency_does_not_see_the_scale_of_weights(table, scale, bins):
    """Sums of tenths are not exact; a cut must not wander off for that."""
    X, _ = table
    plain = Discretizer("frequency", bins=bins).fit(X)
    assert same_cuts(plain, Discretizer("frequency", bins=bins).fit(X, sample_weight=np.full(len(X), scale)))


def test_equal_values_never_part():
    X = np.array([[1.0]] * 50 + [[2.0]] * 3 + [[3.0]] * 2)
    model = Discretizer("frequency", bins=4).fit(X)
    assert model.cuts_[0].tolist() == [1.5]
    assert np.bincount(model.transform(X)[:, 0]).tolist() == [50, 5]
    assert Discretizer("frequency", bins=4).fit(-X).cuts_[0].tolist() == [
        -1.5
    ]  # a heavy end is one bin either way


@pytest.mark.parametrize("method", ["width", "frequency", "mdl"])
@pytest.mark.parametrize("value", [0.0, -3.5, 1e308])
def test_a_constant_column_is_one_bin(method, value):
    model = Discretizer(method).fit(np.full((6, 1), value), [0, 1] * 3)
    assert model.n_bins_.tolist() == [1] and not model.transform([[value], [value / 2], [-1.0]]).any()


@pytest.mark.parametrize("method", ["width", "frequency", "mdl"])
@pytest.mark.parametrize(
    "low, high",
    [
        (1.0, np.nextafter(1.0, 2)),
        (np.nextafter(1.0, 2), np.nextafter(np.nextafter(1.0, 2), 2)),  # here halfway rounds up
        (5e-324, 1e-323),
        (1.5e-323, 2e-323),
        (-1.7e308, 1.7e308),
        (-0.0, 5e-324),
    ],
)
def test_the_nearest_and_farthest_of_numbers_are_told_apart(method, low, high):
    X = np.array([[low]] * 5 + [[high]] * 5)
    model = Discretizer(method, bins=10).fit(X, [0] * 5 + [1] * 5)
    codes = model.transform(X)[:, 0]
    assert np.isfinite(model.cuts_[0]).all() and (np.diff(model.cuts_[0]) > 0).all()
    assert codes[0] == 0 and codes[-1] == model.n_bins_[0] - 1 > 0


# ---- given cuts ----


def test_a_value_equal_to_a_cut_lies_below_it():
    model = Discretizer(cuts=[[0.0, 1.0]]).fit([[0.5]])
    assert model.transform([[-1.0], [0.0], [0.5], [1.0], [1.5]])[:, 0].tolist() == [0, 0, 1, 1, 2]
    assert model.describe() == {"x0": ["(-inf, 0]", "(0, 1]", "(1, inf)"]}


@pytest.mark.parametrize("cuts", [[[2.5], None], {0: [2.5]}, {"a": [2.5]}, {"a": (2.5,), 1: None}])
def test_given_cuts_for_some_columns_and_the_method_for_the_rest(cuts):
    X, y = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [4.0, 3, 2, 1]}), [0, 0, 1, 1]
    model = Discretizer("frequency", bins=4, cuts=cuts).fit(X)
    assert [c.tolist() for c in model.cuts_] == [[2.5], [1.5, 2.5, 3.5]]
    assert [c.tolist() for c in Discretizer(cuts=cuts).fit(X, y).cuts_] == [[2.5], [2.5]]


@pytest.mark.parametrize("cuts", [[[0.0], []], {0: [0.0], 1: []}, np.array([[0.0], [1.0]])])
def test_mdl_asks_for_no_labels_when_every_cut_is_given(cuts):
    X = np.array([[-1.0, 0], [1.0, 2]])
    model = Discretizer(cuts=cuts).fit(X)
    assert model.transform(X)[:, 0].tolist() == [0, 1]


def test_given_cuts_are_a_copy_and_the_parameter_stays_as_it_was():
    own = np.array([1.0, 2.0])
    model = Discretizer(cuts={0: own}).fit([[1.0]])
    own[:] = 9
    assert model.cuts_[0].tolist() == [1.0, 2.0] and model.cuts[0] is own


# ---- refusals ----


class Unreadable:
    """A table that must not be looked at: parameters come first."""

    def __getattribute__(self, name):
        raise AssertionError(f"X was read: {name}")


@pytest.mark.parametrize(
    "parameters, sentence",
    [
        ({"method": "quantile"}, "method 'quantile' is unknown"),
        ({"method": None}, "method None is unknown"),
        ({"bins": 1}, "bins must be a whole number of at least 2, got 1"),
        ({"bins": 2.0}, "bins must be a whole number"),
        ({"bins": True}, "bins must be a whole number"),
        ({"cuts": "ab"}, "cuts must be a list with one entry a column"),
        ({"cuts": 3}, "cuts must be a list with one entry a column"),
        ({"cuts": [0.5, 1.0]}, "cuts of column 0 must be a list of numbers, got 0.5"),
        ({"cuts": [["x"]]}, "cuts of column 0 must be a list of numbers"),
        ({"cuts": {"age": [1, 1]}}, "cuts of column 'age' must increase: 1.0 follows 1.0"),
        ({"cuts": [None, [2, 1]]}, "cuts of column 1 must increase: 1.0 follows 2.0"),
        ({"cuts": {"age": [0, nan]}}, "cuts of column 'age' must be finite: number 1 is nan"),
        ({"cuts": {2: [0, np.inf]}}, "cuts of column 2 must be finite: number 1 is inf"),
        ({"cuts": {1.5: [0]}}, "cuts must name columns by name or number, got 1.5"),
        ({"y": None}, 'method "mdl" requires y to be passed'),
        ({"y": None, "cuts": [[1.0], None]}, 'method "mdl" requires y to be passed'),
    ],
)
def test_parameters_are_refused_before_data_is_read(parameters, sentence):
    y = parameters.pop("y", [0, 1])
    with pytest.raises(ValueError, match=sentence):
        Discretizer(**parameters).fit(Unreadable(), y)


@pytest.mark.parametrize(
    "cuts, sentence",
    [
        ([[1.0]], "cuts has 1 entries and X has 2 columns"),
        ([], "cuts has 0 entries and X has 2 columns"),
        ({2: [1.0]}, "cuts names column 2, but X has 2 columns: use 0 to 1"),
        ({-1: [1.0]}, "cuts names column -1, but X has 2 columns"),
        ({"c": [1.0]}, "cuts names column 'c', which X does not have: its columns are 'a', 'b'"),
        ({"a": [1.0], 0: [2.0]}, "cuts names column 'a' twice"),
        ({"a": [1.0]}, None),
    ],
)
def test_cuts_that_do_not_fit_the_table_are_refused(cuts, sentence):
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    if sentence is not None:
        with pytest.raises(ValueError, match=sentence):
            Discretizer("width", cuts=cuts).fit(X)
    else:
        with pytest.raises(ValueError, match="X has no column names: use 0 to 1"):
            Discretizer("width", cuts=cuts).fit(X.to_numpy())
        with pytest.raises(ValueError, match='method "mdl" requires y'):
            Discretizer(cuts=cuts).fit(X)


@pytest.mark.parametrize("value, text", [(np.inf, "inf"), (-np.inf, "-inf")])
def test_infinity_is_refused_by_column_and_row(value, text):
    X = np.arange(8.0).reshape(4, 2)
    model = Discretizer("width").fit(X)
    X[2, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains infinity: column 1, row 2 is {text}"):
        model.fit(X)
    with pytest.raises(ValueError, match="column 1, row 2"):
        model.transform(X)
    with pytest.raises(ValueError, match="column 'b', row 2"):
        Discretizer("width").fit(pl.DataFrame(X, schema=["a", "b"]))


def test_tables_it_cannot_read_are_refused_with_a_way_out():
    import dask.array as da

    X = np.eye(4)
    with pytest.raises(TypeError, match=r"use X.toarray\(\)"):
        Discretizer("width").fit(sparse.csr_array(X))
    with pytest.raises(TypeError, match=r"fit on X.compute\(\)"):
        Discretizer("width").fit(da.from_array(X))
    with pytest.raises(NotFittedError):
        Discretizer().transform(X)
    with pytest.raises(NotFittedError):
        Discretizer().describe()
    with pytest.raises(ValueError, match="X has 4 rows, y has 3 labels"):
        Discretizer().fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="row 1 has weight -1"):
        Discretizer("width").fit(X, sample_weight=[1, -1, 1, 1])
    with pytest.raises(ValueError, match="Unknown label type"):
        Discretizer().fit(X, [0.1, 0.2, 0.7, 1.9])


def test_a_column_of_words_with_gaps_is_refused_by_name():
    with pytest.raises(ValueError, match="column 'b'"):
        Discretizer("width").fit(pl.DataFrame({"a": [1.0, None], "b": ["x", None]}))


# ---- tables of every kind ----


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0, nan, 3.0, 4.0], "b": [1, 2, 3, 4], "c": [True, False, True, True]}),
        pd.DataFrame({"a": [1, None, 3, 4], "b": [1, 2, 3, 4], "c": [True, False, True, True]}).astype(
            {"a": "Int64", "c": "boolean"}
        ),
        pl.DataFrame({"a": [1, None, 3, 4], "b": [1.0, 2.0, 3.0, 4.0], "c": [True, False, True, True]}),
        pl.DataFrame({"a": [1.0, nan, 3.0, 4.0], "b": [1, 2, 3, 4], "c": [True, False, True, True]}),
    ],
    ids=["pandas", "pandas-nullable", "polars-null", "polars-nan"],
)
def test_frames_with_missing_cells(frame):
    X = np.array([[1, 1, 1], [nan, 2, 0], [3, 3, 1], [4, 4, 1]])
    model = Discretizer("frequency", bins=2).fit(frame)
    assert same_cuts(model, Discretizer("frequency", bins=2).fit(X))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"] and model.n_features_in_ == 3
    np.testing.assert_array_equal(model.transform(frame), [[0, 0, 1], [nan, 0, 0], [1, 1, 1], [1, 1, 1]])
    assert list(model.describe()) == ["a", "b", "c"]


def test_a_missing_boolean_in_polars():
    frame = pl.DataFrame({"a": [True, None, False, True]})
    codes = Discretizer("width", bins=2).fit_transform(frame)[:, 0]
    np.testing.assert_array_equal(codes, [1, nan, 0, 1])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_output_as_a_frame(kind):
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[kind]({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    out = Discretizer("width", bins=2).set_output(transform=kind).fit_transform(frame)
    assert type(out) is type(frame) and list(out.columns) == ["a", "b"]
    assert out["a"].to_list() == [0, 1] and "int64" in str(out["a"].dtype).lower()


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, bool])
def test_the_type_of_numbers_is_nothing(dtype):
    X = np.random.default_rng(0).integers(0, 50, size=(40, 2)).astype(dtype)
    y = X[:, 0] > np.median(X[:, 0])
    for method in ("width", "frequency", "mdl"):
        narrow, wide = Discretizer(method).fit(X, y), Discretizer(method).fit(X.astype(float), y)
        assert same_cuts(narrow, wide)
        assert np.array_equal(narrow.transform(X), wide.transform(np.asfortranarray(X.astype(float))))


def test_the_table_is_left_as_it_was():
    X = np.asfortranarray([[3.0, 1.0], [1.0, nan], [2.0, 0.0]])
    before = X.copy()
    for method in ("width", "frequency", "mdl"):
        Discretizer(method).fit(X, [0, 1, 1]).transform(X)
    np.testing.assert_array_equal(X, before)


def test_more_rows_than_a_block():
    X = np.random.default_rng(1).normal(size=(20_001, 2))
    model = Discretizer("frequency", bins=7).fit(X)
    expected = [np.searchsorted(cuts, x) for cuts, x in zip(model.cuts_, X.T)]
    assert np.array_equal(model.transform(X), np.transpose(expected))


# ---- the rest ----


def test_intervals_show_the_digits_that_tell_them_apart():
    texts = Discretizer(cuts=[[1000000.25, 1000000.5]]).fit([[0.0]]).describe()["x0"]
    assert texts == ["(-inf, 1000000.2]", "(1000000.2, 1000000.5]", "(1000000.5, inf)"]
    assert Discretizer(cuts=[[]]).fit([[0.0]]).describe() == {"x0": ["(-inf, inf)"]}


@example(0)
@quick
@given(st.integers(0, 10**6))
def test_intervals_are_as_many_as_codes_and_all_different(seed):
    X = np.random.default_rng(seed).normal(size=(30, 2)) * 1e-3 + 5e5
    model = Discretizer("frequency", bins=8).fit(X)
    for texts, bins in zip(model.describe().values(), model.n_bins_):
        assert len(set(texts)) == len(texts) == bins


def test_codes_feed_a_categorical_naive_bayes():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(Discretizer(), CategoricalNB()).fit(X, y)
    assert model.score(X, y) > 0.93
    assert model.predict(100 * X).shape == y.shape  # far outside: the end bins


def test_clone_and_pickle():
    model = Discretizer("width", bins=3, cuts={0: [1.0]}).fit([[1.0, 2.0], [3.0, 4.0]])
    assert same_cuts(pickle.loads(pickle.dumps(model)), model)
    assert clone(model).get_params() == {"method": "width", "bins": 3, "cuts": {0: [1.0]}}


@parametrize_with_checks([Discretizer(), Discretizer("width"), Discretizer("frequency", bins=4)])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
