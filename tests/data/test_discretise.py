"""Discretisation: the laws of cuts and codes, and MDL against a slow reference written from the paper."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import engine
from separatrix.data.discretise import Discretizer
from tests.data.discretise_tables import methods, quick, same_cuts, tables

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
