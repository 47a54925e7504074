"""Laws a fit obeys whatever the data: weights are repetition, order and names do not matter, units and origins
change nothing they should not. Hypothesis draws the data and the change.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from separatrix import ConvergenceWarning, LeastSquaresClassifier, LogisticRegression
from tests.draws import examples
from tests.models.reference import overlapping, quiet

few = examples(12)
seeds = st.integers(0, 10_000)

MODELS = {
    "C=1": lambda: LogisticRegression(),
    "C=inf": lambda: LogisticRegression(C=np.inf),
    "lbfgs": lambda: LogisticRegression(solver="lbfgs", tol=1e-12, max_iter=1000),
    "no intercept": lambda: LogisticRegression(fit_intercept=False),
    "least squares": lambda: LeastSquaresClassifier(),
    "one-hot ridge": lambda: LeastSquaresClassifier(coding="one-hot", alpha=0.3),
}
models = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
classes = pytest.mark.parametrize("K", [2, 3])


def draw(seed, K, n=70, p=3):
    return overlapping(n, p, K, seed=seed, noise=2.0)


def assert_same_fit(a, b, tol=2e-7):
    size = max(1.0, np.abs(a.coef_).max(), np.abs(a.intercept_).max())
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=0, atol=tol * size)
    np.testing.assert_allclose(b.intercept_, a.intercept_, rtol=0, atol=tol * size)
    assert b.verdict_.objective == pytest.approx(a.verdict_.objective, rel=1e-10)
    assert (b.verdict_.status, b.verdict_.unique) == (a.verdict_.status, a.verdict_.unique)


# ---- weights ----


@models
@classes
@few
@given(seed=seeds)
def test_weight_is_repetition_and_zero_is_absence(make, K, seed):
    X, y = draw(seed, K)
    weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    weight[:K] = 1.0
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    assert_same_fit(make().fit(X[repeated], y[repeated]), make().fit(X, y, sample_weight=weight))


@models
@few
@given(seed=seeds, wild=st.sampled_from([0.0, 1e3, -1e9]))
def test_a_class_of_weight_zero_disappears(make, seed, wild):
    X, y = draw(seed, 3)
    X = X.copy()
    X[y == 1] += wild  # what an absent row holds does not matter
    model = make().fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]
    assert_same_fit(make().fit(X[y != 1], y[y != 1]), model)


@models
@classes
@few
@given(seed=seeds, factor=st.sampled_from([2.0**-20, 0.5, 3.0, 2.0**20]))
def test_a_common_factor_of_the_weights_is_a_factor_of_C(make, K, seed, factor):
    X, y = draw(seed, K)
    weight = np.random.default_rng(seed).exponential(size=len(y))
    plain, scaled = make(), make()
    if isinstance(plain, LogisticRegression):
        scaled.set_params(C=plain.C / factor)
    else:
        scaled.set_params(alpha=plain.alpha * factor)
    assert_same_fit(plain.fit(X, y, sample_weight=weight), scaled.fit(X, y, sample_weight=factor * weight))


@classes
@few
@given(seed=seeds)
def test_class_weights_multiply_row_weights(K, seed):
    X, y = draw(seed, K)
    weight = np.random.default_rng(seed).exponential(size=len(y))
    factor = np.array([2.0, 0.5, 1.0])[:K]
    by_class = LogisticRegression(class_weight={0: 2.0, 1: 0.5}).fit(X, y, sample_weight=weight)
    assert_same_fit(LogisticRegression().fit(X, y, sample_weight=weight * factor[y]), by_class)
    totals = np.bincount(y, weight)
    balanced = weight * (totals.sum() / (K * totals))[y]
    assert_same_fit(
        LogisticRegression().fit(X, y, sample_weight=balanced),
        LogisticRegression(class_weight="balanced").fit(X, y, sample_weight=weight),
    )


# ---- order and names ----


@models
@classes
@few
@given(seed=seeds)
def test_row_order_does_not_matter(make, K, seed):
    X, y = draw(seed, K)
    order = np.random.default_rng(seed).permutation(len(y))
    assert_same_fit(make().fit(X, y), make().fit(X[order], y[order]))


@models
@classes
@few
@given(seed=seeds)
def test_columns_move_with_their_weights(make, K, seed):
    X, y = draw(seed, K)
    order = np.random.default_rng(seed).permutation(X.shape[1])
    a, b = make().fit(X, y), make().fit(X[:, order], y)
    b.coef_ = b.coef_[:, np.argsort(order)]
    assert_same_fit(a, b)


@models
@few
@given(seed=seeds)
def test_flipping_two_labels_negates_the_rule(make, seed):
    X, y = draw(seed, 2)
    a, b = make().fit(X, y), make().fit(X, 1 - y)
    if len(a.coef_) == 2:  # one-hot: the two rules change places
        b.coef_, b.intercept_ = b.coef_[::-1], b.intercept_[::-1]
    else:
        b.coef_, b.intercept_ = -b.coef_, -b.intercept_
    assert_same_fit(a, b)


@models
@few
@given(seed=seeds, order=st.permutations([0, 1, 2]))
def test_permuting_labels_permutes_the_rows_of_coef(make, seed, order):
    X, y = draw(seed, 3)
    a, b = make().fit(X, y), make().fit(X, np.array(order)[y])
    b.coef_, b.intercept_ = b.coef_[order], b.intercept_[order]
    assert_same_fit(a, b)


NAMES = {
    "strings": ["ant", "bee", "cat"],
    "numpy strings": np.array(["ant", "bee", "cat"]),
    "tuples": [("a", 1), ("a", 2), ("b", 0)],
    "frozensets": [frozenset("a"), frozenset("b"), frozenset("c")],
    "mixed": [3, "three", (3,)],
    "bytes": [b"a", b"b", b"c"],
    "floats": [-1.0, 0.0, 7.0],
    "large integers": [-(10**12), 0, 10**12],
    "uint8": np.array([0, 128, 255], dtype=np.uint8),
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES.keys())
@pytest.mark.parametrize("make", [LogisticRegression, LeastSquaresClassifier])
def test_label_names_do_not_matter(make, names):
    X, y = draw(0, 3)
    labels = names[y] if isinstance(names, np.ndarray) else [names[k] for k in y]
    model, plain = make().fit(X, labels), make().fit(X, y)
    seen = model.classes_.tolist()
    assert len(seen) == 3 and set(seen) == set(names.tolist() if isinstance(names, np.ndarray) else names)
    order = [seen.index(v) for v in (names.tolist() if isinstance(names, np.ndarray) else names)]
    np.testing.assert_allclose(model.coef_[order], plain.coef_, atol=1e-7)
    predicted = [(list(order)).index(seen.index(v)) for v in model.predict(X).tolist()]
    np.testing.assert_array_equal(predicted, plain.predict(X))
    assert model.score(X, labels) == plain.score(X, y) == np.mean(plain.predict(X) == y)


def test_score_counts_by_weight_and_an_unknown_label_as_a_miss():
    X, y = draw(0, 3)
    model = LogisticRegression().fit(X, [("a", k) for k in y])
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    hit = np.array([tuple(v) == ("a", k) for v, k in zip(model.predict(X), y)])
    assert model.score(X, [("a", k) for k in y], weight) == pytest.approx(np.average(hit, weights=weight))
    assert model.score(X, [("b", k) for k in y]) == 0.0


@pytest.mark.parametrize(
    "values", [[False, True], ["no", "yes"], [-1, 1], [1.0, 2.0], [("a",), ("b",)]], ids=str
)
def test_two_classes_of_any_name(values):
    X, y = draw(1, 2)
    model = LogisticRegression().fit(X, [values[k] for k in y])
    assert model.classes_.tolist() == values
    np.testing.assert_array_equal(model.coef_, LogisticRegression().fit(X, y).coef_)
    assert set(model.predict(X).tolist()) <= set(values)


@models
@classes
def test_fitting_again_gives_the_same_bits(make, K):
    X, y = draw(3, K)
    model = make().fit(X, y)
    first = model.coef_.copy()
    np.testing.assert_array_equal(model.fit(X, y).coef_, first)
    np.testing.assert_array_equal(make().fit(X, y).coef_, first)


# ---- units and origins ----

SOLVERS = {
    "auto": dict(),
    "newton": dict(solver="newton"),
    "lbfgs": dict(solver="lbfgs", tol=1e-12, max_iter=500),
    "gradient": dict(solver="gradient", max_iter=400),
}
solvers = pytest.mark.parametrize("options", SOLVERS.values(), ids=SOLVERS.keys())


def on_a_grid(seed, K):
    """Cells are multiples of 1/64, so that a power of two and a whole shift are carried out exactly."""
    X, y = draw(seed, K)
    return np.round(X * 64) / 64, y


def fit(X, y, **parameters):
    with quiet(ConvergenceWarning):  # "gradient" stops early, at the same place in every unit
        return LogisticRegression(**parameters).fit(X, y)


@solvers
@classes
@few
@given(
    seed=seeds,
    powers=st.lists(st.integers(-26, 26), min_size=3, max_size=3),
    shifts=st.lists(st.sampled_from([0, 1, -1000, 10**5, -(10**8)]), min_size=3, max_size=3),
    sign=st.sampled_from([1.0, -1.0]),
)
def test_units_and_origins_change_nothing_they_should_not(options, K, seed, powers, shifts, sign):
    """x → a x + b with a from 1.5e-8 to 6.7e7 and b up to 1e8 times the spread: w → w / a, same probabilities."""
    X, y = on_a_grid(seed, K)
    a = sign * 2.0 ** np.array(powers)
    moved = a * (X + np.array(shifts, dtype=float))
    plain, other = fit(X, y, C=np.inf, **options), fit(moved, y, C=np.inf, **options)
    assume(plain.verdict_.status != "no optimum")
    size = max(1.0, np.abs(plain.coef_).max())
    np.testing.assert_allclose(other.coef_ * a, plain.coef_, rtol=0, atol=1e-6 * size)
    # scores far from the origin are differences of numbers as large as the shift
    np.testing.assert_allclose(
        other.predict_proba(moved), plain.predict_proba(X), rtol=0, atol=1e-6 + 1e-15 * max(map(abs, shifts))
    )
    assert other.verdict_.objective == pytest.approx(plain.verdict_.objective, rel=1e-9)
    assert other.verdict_.unique == plain.verdict_.unique


@solvers
@classes
@few
@given(seed=seeds, shifts=st.lists(st.sampled_from([0, 7, -(10**4), 10**8]), min_size=3, max_size=3))
def test_an_origin_shift_leaves_penalised_weights_alone(options, K, seed, shifts):
    X, y = on_a_grid(seed, K)
    plain, other = fit(X, y, **options), fit(X + np.array(shifts, dtype=float), y, **options)
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=0, atol=1e-6)
    assert other.verdict_.objective == pytest.approx(plain.verdict_.objective, rel=1e-9)


@solvers
@classes
@few
@given(seed=seeds, power=st.integers(-20, 20))
def test_one_unit_for_all_columns_is_a_factor_of_C(options, K, seed, power):
    """x → a x with C → C/a² is the same problem: w → w/a."""
    X, y = on_a_grid(seed, K)
    a = 2.0**power
    plain, other = fit(X, y, **options), fit(a * X, y, C=1 / a**2, **options)
    np.testing.assert_allclose(other.coef_ * a, plain.coef_, rtol=0, atol=1e-6)


@classes
@few
@given(seed=seeds, powers=st.lists(st.integers(-26, 26), min_size=3, max_size=3))
def test_units_without_an_intercept(K, seed, powers):
    X, y = on_a_grid(seed, K)
    a = 2.0 ** np.array(powers)
    settings_ = dict(C=np.inf, fit_intercept=False)
    plain, other = fit(X, y, **settings_), fit(a * X, y, **settings_)
    assume(plain.verdict_.status == "optimal")
    np.testing.assert_allclose(other.coef_ * a, plain.coef_, rtol=0, atol=1e-6)


@classes
@few
@given(
    seed=seeds,
    powers=st.lists(st.integers(-26, 26), min_size=3, max_size=3),
    shifts=st.lists(st.sampled_from([0, 1, -1000, 10**8]), min_size=3, max_size=3),
)
def test_units_and_origins_of_least_squares(K, seed, powers, shifts):
    X, y = on_a_grid(seed, K)
    a = 2.0 ** np.array(powers)
    moved = a * (X + np.array(shifts, dtype=float))
    plain, other = LeastSquaresClassifier().fit(X, y), LeastSquaresClassifier().fit(moved, y)
    np.testing.assert_allclose(other.coef_ * a, plain.coef_, rtol=0, atol=1e-6)


@classes
@few
@given(seed=seeds)
def test_a_full_rotation_of_the_columns(K, seed):
    """An orthogonal change of columns keeps ‖w‖ and so the penalised fit: w → Qᵀw."""
    X, y = draw(seed, K)
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    plain, turned = LogisticRegression().fit(X, y), LogisticRegression().fit(X @ Q, y)
    np.testing.assert_allclose(turned.coef_ @ Q.T, plain.coef_, atol=2e-7)


@few
@given(seed=seeds, K=st.sampled_from([2, 3, 4]))
def test_sparse_and_dense_obey_one_law(seed, K):
    X, y = draw(seed, K)
    X = X * (np.abs(X) > 0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert_same_fit(LogisticRegression().fit(X, y), LogisticRegression().fit(sp.csr_array(X), y))
