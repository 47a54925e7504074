"""Radial basis functions: φ_j(x) = exp(−γ‖x − c_j‖²) by the formula, centres and widths as asked for."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from separatrix import LogisticRegression, RadialBasis
from tests.draws import examples

quick = examples(25)


def naive(X, centers, gamma):
    return np.array(
        [[np.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, c))) for c in centers] for x in X], dtype=float
    )


def points(seed=0, n=30, p=2):
    return np.random.default_rng(seed).normal(size=(n, p))


# ---- the formula ----


@quick
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 0.5, 10.0]), st.integers(1, 4))
def test_the_formula_with_given_centres(seed, gamma, p):
    X, centers = points(seed, 8, p), points(seed + 1, 3, p)
    basis = RadialBasis(centers, gamma=gamma).fit(X)
    np.testing.assert_allclose(basis.transform(X), naive(X, centers, gamma), rtol=1e-13)
    assert np.array_equal(basis.centers_, centers) and basis.gamma_ == gamma


def test_one_at_a_centre_and_falling_with_distance():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1e4, 0.0]])
    values = RadialBasis([[0.0, 0.0]], gamma=0.5).fit_transform(X)[:, 0]
    assert values.tolist() == pytest.approx([1, np.exp(-0.5), np.exp(-2), 0])


def test_a_common_shift_or_rotation_changes_nothing():
    X, centers = points(1), points(2, 4)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    here = RadialBasis(centers, gamma=0.7).fit_transform(X)
    np.testing.assert_allclose(
        RadialBasis(centers @ turn + 5, gamma=0.7).fit_transform(X @ turn + 5), here, rtol=1e-12
    )


def test_far_from_the_origin_differences_keep_their_digits():
    X = points(3)
    here = RadialBasis(X[:3], gamma=1.0).fit_transform(X)
    there = RadialBasis(X[:3] + 2.0**26, gamma=1.0).fit_transform(X + 2.0**26)
    np.testing.assert_allclose(there, here, atol=1e-6)


# ---- centres ----


def test_given_centres_are_a_copy_and_the_parameter_stays_as_it_was():
    centers = [[0, 0], [1, 1]]
    basis = RadialBasis(centers).fit(points())
    assert basis.centers is centers and centers == [[0, 0], [1, 1]]
    own = np.zeros((1, 2))
    fitted = RadialBasis(own).fit(points())
    own[:] = 9
    assert fitted.centers_.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("selection", ["kmeans", "rows"])
def test_chosen_centres_depend_on_the_seed_alone(selection):
    X = points()
    a, b, c = (RadialBasis(5, selection=selection, random_state=s).fit(X).centers_ for s in (1, 1, 2))
    assert np.array_equal(a, b) and not np.array_equal(a, c)
    np.random.seed(0)  # noqa: NPY002  the global stream must not matter
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    RadialBasis(5, selection=selection, random_state=1).fit(X)
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_rows_as_centres_are_distinct_rows():
    X = np.repeat(points(n=6), 5, axis=0)
    centers = RadialBasis(4, selection="rows", random_state=0).fit(X).centers_
    assert len(np.unique(centers, axis=0)) == 4
    assert all(np.equal(X, c).all(axis=1).any() for c in centers)


def test_kmeans_finds_separate_clusters():
    rng = np.random.default_rng(0)
    truth = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    X = np.vstack([c + 0.1 * rng.normal(size=(20, 2)) for c in truth])
    centers = RadialBasis(3, random_state=0).fit(X).centers_
    assert sorted(centers.round().tolist()) == sorted(truth.tolist())


@pytest.mark.parametrize("selection", ["kmeans", "rows"])
def test_no_more_centres_than_distinct_rows(selection):
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    basis = RadialBasis(10, selection=selection, random_state=0).fit(X)
    assert len(basis.centers_) == 2
    assert basis.transform(X).shape == (3, 2)


# ---- widths ----


def test_gamma_scale_is_one_over_columns_times_variance():
    X = points() * 3 + 1
    assert RadialBasis(2, gamma="scale", random_state=0).fit(X).gamma_ == pytest.approx(1 / (2 * X.var()))
    assert RadialBasis([[0.0, 0.0]]).fit(np.ones((4, 2))).gamma_ == 1.0


def test_gamma_median_is_one_over_twice_the_median_squared_distance_of_the_centres():
    centers = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])  # squared distances 25, 1, 18
    assert RadialBasis(centers, gamma="median").fit(points()).gamma_ == pytest.approx(1 / 36)
    assert RadialBasis(centers[:1], gamma="median").fit(points()).gamma_ == 1.0


# ---- refusals, before the data are read ----


class Explosive:
    def __getattr__(self, name):
        raise AssertionError(f"the data were touched: {name}")


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"centers": 0}, "centers must be a whole number of at least 1 or an array, got 0"),
        ({"centers": -3}, "centers must be a whole number"),
        ({"centers": 2.5}, "centers must be a whole number"),
        ({"centers": True}, "centers must be a whole number"),
        ({"centers": None}, "centers must be a whole number"),
        ({"centers": "many"}, "centers must be a whole number of at least 1 or an array, got 'many'"),
        ({"gamma": 0}, "gamma must be a positive number"),
        ({"gamma": -1.0}, "gamma must be a positive number"),
        ({"gamma": np.nan}, "gamma must be a positive number"),
        ({"gamma": np.inf}, "gamma must be a positive number"),
        ({"gamma": None}, "gamma must be a positive number"),
        ({"gamma": "auto"}, "gamma 'auto' is unknown"),
        ({"selection": "best"}, 'selection \'best\' is unknown: use "kmeans" or "rows"'),
        ({"centers": [[0.0]], "selection": "best"}, "selection 'best' is unknown"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_the_data_are_read(parameters, message):
    with pytest.raises(ValueError, match=message):
        RadialBasis(**parameters).fit(Explosive())


@pytest.mark.parametrize(
    "centers, message",
    [
        ([[0.0, 0.0, 0.0]], r"centers has shape \(1, 3\), expected \(m, 2\)"),
        ([0.0, 0.0], r"centers has shape \(2,\)"),
        (np.empty((0, 2)), "at least 1"),
        ([[0.0, 0.0], [np.nan, 0.0]], "centre 1 is not"),
        ([[np.inf, 0.0]], "centre 0 is not"),
    ],
)
def test_centres_that_do_not_fit_the_data_are_refused(centers, message):
    with pytest.raises(ValueError, match=message):
        RadialBasis(centers).fit(points())


def test_bad_data_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        RadialBasis(2).fit([[np.nan, 0.0], [1.0, 1.0]])
    basis = RadialBasis(2, random_state=0).fit(points())
    with pytest.raises(ValueError, match="3 features"):
        basis.transform(np.ones((2, 3)))
    with pytest.raises(NotFittedError):
        RadialBasis().transform(points())


# ---- interface ----


def test_float32_stays_float32_and_integers_become_double():
    X = points().astype(np.float32)
    for basis in (RadialBasis(3, random_state=0), RadialBasis([[0.0, 0.0]], gamma=0.5)):
        single = basis.fit_transform(X)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, basis.transform(X.astype(np.float64)), rtol=1e-6)
    assert RadialBasis(2, random_state=0).fit_transform(np.arange(10).reshape(5, 2)).dtype == np.float64


def test_names_of_the_new_columns():
    basis = RadialBasis(3, random_state=0).fit(points())
    assert basis.get_feature_names_out().tolist() == ["radialbasis0", "radialbasis1", "radialbasis2"]
    frame = pd.DataFrame(points(), columns=["a", "b"])
    out = RadialBasis(2, random_state=0).set_output(transform="pandas").fit_transform(frame)
    assert out.columns.tolist() == ["radialbasis0", "radialbasis1"]


def test_clone_pickle_and_a_second_fit_give_the_same():
    X = points()
    basis = RadialBasis(3, gamma="median", random_state=4).fit(X)
    wanted = basis.transform(X)
    assert np.array_equal(clone(basis).fit(X).transform(X), wanted)
    assert np.array_equal(pickle.loads(pickle.dumps(basis)).transform(X), wanted)
    assert np.array_equal(basis.fit(X).transform(X), wanted)


def test_two_rings_are_a_line_apart_in_the_basis():
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    X, y = np.vstack([ring, 3 * ring]), np.repeat(["inner", "outer"], 60)
    assert LogisticRegression(C=100).fit(X, y).score(X, y) < 0.7
    model = make_pipeline(RadialBasis([[0.0, 0.0]], gamma=0.5), LogisticRegression(C=100)).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model[-1].coef_[0, 0] < 0  # near the centre means "inner"
