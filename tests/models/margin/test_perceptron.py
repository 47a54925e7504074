"""Perceptrons: the mistake bound, the end on rows nothing separates, and the dual form, against plain loops.

The reference is ten lines of NumPy that visit rows in the order given; scikit-learn is a second one in cyclic order.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import Perceptron as SklearnPerceptron
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import verify
from separatrix.data.orders import IN_CACHE, Visits
from separatrix.loops.perceptron import dealt, shuffled
from separatrix.models.margin.kernel_perceptron import KernelPerceptron
from separatrix.models.margin.perceptron import Perceptron
from tests.models.margin.perceptrons import loop, quiet, seeds, separable, some

CHECKED = [
    Perceptron(),
    Perceptron(shuffle=False),
    Perceptron(average=True),
    Perceptron(pocket=True, start="random"),
    KernelPerceptron(),
    KernelPerceptron(kernel="linear", pocket=True),
]


def expected_failures(estimator):
    weights = "a rule that depends on the order of rows scales its steps: a weight is not a repetition"
    failures = {
        "check_sample_weight_equivalence_on_dense_data": weights,
        "check_sample_weight_equivalence_on_sparse_data": weights,
    }
    if isinstance(estimator, Perceptron) and (estimator.average or not estimator.shuffle):
        failures["check_class_weight_classifiers"] = (
            "factors of the steps do not decide where weights that never settle end"
        )
    return failures


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures, xfail_strict=False)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_check_estimator(estimator, check):
    check(estimator)


# ---- against plain loops ----


@some
@given(
    seeds,
    st.integers(2, 40),
    st.integers(1, 4),
    st.sampled_from([0.25, 1.0, 3.0]),
    st.booleans(),
    st.booleans(),
)
def test_every_variant_is_the_plain_loop(seed, n, p, eta, weighted, intercept):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, p)).astype(float)
    y = rng.integers(0, 2, n) * 2 - 1
    y[:2] = [1, -1]
    scale = rng.integers(1, 4, n).astype(float) if weighted else None
    start = rng.integers(-2, 3, p + 1).astype(float) * intercept
    epochs = 4
    mistakes, visited = loop(
        X, y, [range(n)] * epochs, eta=eta, scale=scale, start=start, one=float(intercept)
    )
    about = {"shuffle": False, "max_iter": epochs, "tol": None, "eta0": eta, "fit_intercept": intercept}
    given_ = {"coef_init": start[:-1], "intercept_init": start[-1:], "sample_weight": scale}
    plain = quiet(Perceptron(**about), X, y, **given_)
    ran = (
        plain.n_iter_ if plain.n_iter_ < epochs else epochs
    )  # it may have ended, and nothing moves after that
    np.testing.assert_array_equal(plain.mistakes_path_, mistakes[:ran])
    visited = visited[: ran * n]
    np.testing.assert_allclose(np.append(plain.coef_, plain.intercept_), visited[-1], atol=1e-9)
    s = np.ones(n) if scale is None else scale
    rebuilt = start[:-1] + eta * (plain.dual_coef_ * s * y) @ X
    np.testing.assert_allclose(plain.coef_[0], rebuilt, atol=1e-9)

    averaged = quiet(Perceptron(average=True, **about), X, y, **given_)
    np.testing.assert_allclose(
        np.append(averaged.coef_, averaged.intercept_), visited.mean(axis=0), atol=1e-9
    )
    np.testing.assert_allclose(
        averaged.coef_[0], start[:-1] + eta * (averaged.dual_coef_ * s * y) @ X, atol=1e-9
    )

    pocket = quiet(Perceptron(pocket=True, **about), X, y, **given_)
    expected = gallant(X, y, ran, eta, s, start, float(intercept))
    np.testing.assert_allclose(np.append(pocket.coef_, pocket.intercept_), expected, atol=1e-9)
    np.testing.assert_allclose(pocket.coef_[0], start[:-1] + eta * (pocket.dual_coef_ * s * y) @ X, atol=1e-9)


def gallant(X, y, epochs, eta, s, start, one):
    """The pocket algorithm with a ratchet, in plain NumPy."""
    Z = np.column_stack([X, np.full(len(X), one)])
    w, run, record, right, kept = start.copy(), 0, -1, -1.0, None

    def look():
        nonlocal right, kept
        now = float(s[y * (Z @ w) > 0].sum())
        if now > right:
            right, kept = now, w.copy()

    for _ in range(epochs):
        for i in range(len(X)):
            if y[i] * (Z[i] @ w) > 0:
                run += 1
                continue
            if run > record:
                record = run
                look()
            run = 0
            w = w + eta * s[i] * y[i] * Z[i]
    look()
    return kept


@pytest.mark.parametrize("K", [2, 3])
def test_cyclic_order_is_scikit_learns_to_the_bit(K):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < K], y[y < K]
    for epochs in (1, 2, 7):
        ours = quiet(Perceptron(shuffle=False, max_iter=epochs, tol=None), X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = SklearnPerceptron(shuffle=False, max_iter=epochs, tol=None).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-12)
        assert ours.coef_.shape == theirs.coef_.shape


def test_parameters_and_defaults_are_scikit_learns():
    ours, theirs = Perceptron().get_params(), SklearnPerceptron().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    assert set(ours) - set(theirs) == {"start", "average", "pocket"}


def test_accuracy_of_shuffled_epochs_is_scikit_learns():
    """Last weights on overlapping rows are noisy: the means over seeds agree."""
    X, y = make_blobs(3000, centers=2, cluster_std=4.0, random_state=0)
    scores = [
        [
            quiet(kind(max_iter=3, tol=None, random_state=seed), X, y).score(X, y)
            for kind in (Perceptron, SklearnPerceptron)
        ]
        for seed in range(30)
    ]
    ours, theirs = np.mean(scores, axis=0)
    assert abs(ours - theirs) < 4 * np.std(scores) / np.sqrt(30)


# ---- laws ----


@some
@given(seeds, st.sampled_from([1e-3, 0.25, 8.0, 1e4]))
def test_the_step_size_changes_no_decision_from_a_zero_start(seed, eta):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((50, 3)), rng.integers(0, 2, 50)
    y[:2] = [0, 1]
    one, other = (quiet(Perceptron(eta0=e, max_iter=20, tol=None), X, y) for e in (1.0, eta))
    np.testing.assert_array_equal(one.mistakes_path_, other.mistakes_path_)
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    np.testing.assert_allclose(one.coef_ * eta, other.coef_, rtol=1e-9, atol=1e-9 * eta)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_swapping_two_labels_turns_the_weights_round():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    one = Perceptron().fit(X, np.where(y == 1, "a", "b"))
    other = Perceptron().fit(X, np.where(y == 1, "b", "a"))
    np.testing.assert_array_equal(one.coef_, -other.coef_)
    np.testing.assert_array_equal(one.intercept_, -other.intercept_)
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)


def test_renaming_classes_permutes_the_machines():
    X, y = load_iris(return_X_y=True)
    one = Perceptron().fit(X, y)
    new = np.array([2, 0, 1])
    other = Perceptron().fit(X, new[y])
    np.testing.assert_array_equal(one.coef_, other.coef_[new])
    np.testing.assert_array_equal(one.n_mistakes_, other.n_mistakes_[new])
    np.testing.assert_array_equal(new[one.predict(X)], other.predict(X))


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
def test_weight_zero_is_absence_to_the_bit(kind, shuffle):
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = kind(shuffle=shuffle, average=True)
    all_rows = quiet(clone(model), X, y, sample_weight=weight)
    keep = weight > 0
    present = quiet(clone(model), X[keep], y[keep], sample_weight=weight[keep])
    if kind is Perceptron:
        np.testing.assert_array_equal(all_rows.coef_, present.coef_)
    else:  # gamma="scale" reads all rows
        model.set_params(gamma=0.5)
        all_rows = quiet(clone(model), X, y, sample_weight=weight)
        present = quiet(clone(model), X[keep], y[keep], sample_weight=weight[keep])
        np.testing.assert_allclose(all_rows.decision_function(X), present.decision_function(X), rtol=1e-9)
    np.testing.assert_array_equal(all_rows.dual_coef_[keep], present.dual_coef_)
    assert not all_rows.dual_coef_[~keep].any()


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("kind", [Perceptron, KernelPerceptron])
@pytest.mark.parametrize("K", [2, 3])
def test_chunks_in_turn_are_one_pass(kind, average, K):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(np.flatnonzero(y < K))
    X, y = X[order], y[order]
    extra = {} if kind is Perceptron else {"gamma": 0.3}
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    whole = kind(average=average, **extra).partial_fit(X, y, classes=range(K), sample_weight=weight)
    chunks = kind(average=average, **extra)
    for part in np.array_split(np.arange(len(y)), 7):
        chunks.partial_fit(X[part], y[part], classes=range(K), sample_weight=weight[part])
    np.testing.assert_allclose(
        chunks.decision_function(X), whole.decision_function(X), rtol=1e-10, atol=1e-10
    )
    np.testing.assert_array_equal(chunks.n_mistakes_, whole.n_mistakes_)
    assert chunks.t_ == whole.t_ and chunks.verdict_.status == "no claim"
    one = quiet(
        kind(average=average, shuffle=False, max_iter=1, tol=None, **extra), X, y, sample_weight=weight
    )
    np.testing.assert_allclose(one.decision_function(X), whole.decision_function(X), rtol=1e-10, atol=1e-10)


def test_partial_fit_goes_on_after_fit():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    two = quiet(Perceptron(shuffle=False, max_iter=2, tol=None), X, y)
    one = quiet(Perceptron(shuffle=False, max_iter=1, tol=None), X, y).partial_fit(X, y)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-12)
    assert one.n_mistakes_ == two.n_mistakes_


def test_warm_start_goes_on_where_the_last_fit_ended():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    model = Perceptron(shuffle=False, max_iter=1, tol=None, warm_start=True)
    quiet(quiet(model, X, y), X, y)
    two = quiet(Perceptron(shuffle=False, max_iter=2, tol=None), X, y)
    np.testing.assert_allclose(model.coef_, two.coef_, rtol=1e-12)


FORMS = {
    "column-major": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "a view": lambda X: np.column_stack([X, X])[:, : X.shape[1]],
    "read only": lambda X: _frozen(X),
    "big-endian": lambda X: X.astype(">f8"),
}


def _frozen(X):
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("average", [False, True])
def test_storage_changes_nothing(form, average):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (80, 5)) * (rng.random((80, 5)) < 0.6) * 1.0
    y = rng.integers(0, 3, 80)
    for pocket in (False, not average):
        model = Perceptron(max_iter=6, tol=None, average=average, pocket=pocket)
        dense, other = quiet(clone(model), X, y), quiet(clone(model), form(X), y)
        np.testing.assert_allclose(dense.coef_, other.coef_, atol=1e-9)
        np.testing.assert_allclose(dense.dual_coef_, other.dual_coef_, atol=1e-9)
        np.testing.assert_array_equal(dense.predict(X), other.predict(form(X)))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
def test_types_of_cells(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 6))
    y = rng.integers(0, 2, 60)
    expected = quiet(Perceptron(max_iter=5, tol=None), X.astype(float), y)
    model = quiet(Perceptron(max_iter=5, tol=None), X.astype(dtype), y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    if dtype is np.float32:
        assert model.decision_function(X.astype(dtype)).dtype == np.float32


def test_orders():
    """Every order visits each row once; that of a large table mixes rows from all over it."""
    rows = np.flatnonzero(np.random.default_rng(0).random(20_000) < 0.7).astype(np.int32)
    for order in (shuffled(rows, 5), dealt(rows, 5, 32, 1024)[0]):
        np.testing.assert_array_equal(np.sort(order), rows)
        assert np.abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.1
        assert len(np.unique(order[:1024] // 2000)) >= 8
    counts = np.zeros((5, 5))
    for seed in range(5000):
        counts[shuffled(np.arange(5), seed), np.arange(5)] += 1
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
    big = np.broadcast_to(np.zeros(50), (IN_CACHE // 400 + 1, 50))
    assert Visits.shuffled(np.arange(len(big), dtype=np.int32), 1, big).ahead > 100
    assert (Visits.shuffled(rows, 1, big).order != Visits.shuffled(rows, 2, big).order).any()


def test_threads_and_seeds():
    X, y = load_iris(return_X_y=True)
    one, two = (Perceptron(n_jobs=j).fit(X, y) for j in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    other = Perceptron(random_state=5).fit(X, y)
    assert (other.coef_ != one.coef_).any()
    generator = Perceptron(random_state=np.random.RandomState(0)).fit(X, y)
    assert generator.coef_.shape == (3, 4)


# ---- verdict, interface, bad input ----


def test_verify_reads_data_and_weights_alone():
    X, y = separable(0, 60, 3, 0.3)
    for kind in (Perceptron, KernelPerceptron):
        model = kind(max_iter=10_000).fit(X, y)
        assert verify(model, X, y).status == "optimal"
    model = Perceptron(max_iter=10_000).fit(X, y)
    model.coef_ = -model.coef_
    assert verify(model, X, y).status == "not converged"
    rng = np.random.default_rng(0)
    noisy = Perceptron().fit(X, rng.integers(0, 2, 60))
    assert verify(noisy, X, rng.integers(0, 2, 60)).status == "infeasible"


def test_the_verdict_in_words():
    X, y = load_iris(return_X_y=True)
    text = str(Perceptron().fit(X, y == 0).verdict_)
    assert "optimal, not unique" in text and "separates all 150 rows" in text and "(R/γ)²" in text
    three = Perceptron().fit(X, y).verdict_
    assert three.status == "infeasible" and "1 against the rest" in str(three)
    assert "no hyperplane separates" in str(three)


def test_fit_without_intercept_leaves_the_last_one_behind():
    X, y = separable(0, 60, 3, 0.3, offset=0.0)
    model = Perceptron(warm_start=True, max_iter=10_000).fit(X + 1, y)
    assert model.intercept_[0] != 0
    model.set_params(fit_intercept=False).fit(X, y)
    assert model.intercept_[0] == 0 and model.verdict_.status == "optimal" and model.score(X, y) == 1.0


@pytest.mark.parametrize("p", [1, 7, 8, 9, 31, 128, 129])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_length_of_row_is_the_plain_loop(p, dtype):
    """Vectors of eight cells and their rest, short rows and long ones: sums are exact, so mistakes are the same."""
    rng = np.random.default_rng(p)
    X, y = rng.integers(-3, 4, (200, p)).astype(dtype), rng.integers(0, 2, 200) * 2 - 1
    mistakes, visited = loop(X.astype(float), y, [range(200)] * 3)
    model = quiet(Perceptron(shuffle=False, max_iter=3, tol=None), X, y)
    ran = len(model.mistakes_path_)
    assert ran >= 2 and model.mistakes_path_.tolist() == mistakes[:ran]
    np.testing.assert_array_equal(np.append(model.coef_, model.intercept_), visited[200 * ran - 1])


def test_products_of_rows_may_be_too_large_where_scores_are_not():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 1e170], [2.0, 1e170], [-1.0, -1e170]])
    model = Perceptron(shuffle=False).fit(X, [1, 0, 1, 1, 0])
    assert model.verdict_.status == "optimal" and model.coef_.tolist() == [[2.0, 0.0]]


def test_pickle_and_verbose(capsys):
    X, y = load_iris(return_X_y=True)
    for model in (Perceptron(verbose=1), KernelPerceptron(verbose=1)):
        quiet(model, X, y)
        assert "epoch    1" in capsys.readouterr().err
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
