"""Probabilities of margin machines that agree with `predict`, one-vs-rest machines, and fits that start warm."""

from __future__ import annotations

import pickle
import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import ConvergenceWarning, LinearSVC, keep_going, verify
from separatrix.models.margin.calibration import Isotonic, Sigmoid, calibrate, couple
from separatrix.models.margin.svc import SVC
from separatrix.solve import smo_few
from tests.models.margin.drawn_tables import drawn, few, seeds

methods = st.sampled_from(["sigmoid", "isotonic"])

APART = "a fold may part the copies of a row: weight is repetition in the machines, not in their folds"


def expected_failures(estimator):
    if estimator.calibrate is None:
        return {}
    out = {f"check_sample_weight_equivalence_on_{kind}_data": APART for kind in ("dense", "sparse")}
    if isinstance(estimator, LinearSVC):  # one row of its noisy table
        out["check_classifiers_train"] = "predict follows the probabilities, not the sign of the margin"
    return out


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        SVC(calibrate="sigmoid"),
        SVC(multi_class="ovr"),
        SVC(warm_start=True),
        LinearSVC(calibrate="sigmoid"),
        LinearSVC(calibrate="sigmoid", multi_class="crammer_singer"),
    ],
    expected_failed_checks=expected_failures,
    xfail_strict=False,
)
def test_scikit_learn_battery(estimator, check):
    check(estimator)


def agrees(model, X):
    P = model.predict_proba(X)
    assert P.shape == (len(X), len(model.classes_)) and (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[P.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X), np.log(P))
    return P


# ---- predict is the argmax of predict_proba ----


@few
@given(seeds, st.sampled_from([2, 3, 4]), methods, st.sampled_from(["ovo", "ovr"]), st.booleans())
def test_predictions_are_the_most_probable_class(seed, k, method, against, noise):
    X, y = drawn(seed, k=k)
    if noise:  # labels that say nothing: scores out of fold may point either way, plateaus are long
        y = np.random.default_rng(seed).permutation(y)
    model = SVC(calibrate=method, multi_class=against, random_state=seed).fit(X, np.array(list("abcd"))[y])
    P = agrees(model, np.vstack([X, 3 * X, 0 * X]))
    kind = Sigmoid if method == "sigmoid" else Isotonic
    assert all(isinstance(m, kind) for m in model.calibration_)
    assert len(model.calibration_) == {"ovo": k * (k - 1) // 2, "ovr": 1 if k == 2 else k}[against]
    labels = np.array(list("abcd"))[y]
    assert model.score(X, labels) == (model.classes_[P[: len(X)].argmax(axis=1)] == labels).mean()


@few
@given(seeds, st.sampled_from([2, 3, 4]), methods, st.sampled_from(["ovr", "crammer_singer"]))
def test_linear_predictions_are_the_most_probable_class(seed, k, method, against):
    X, y = drawn(seed, k=k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVC(calibrate=method, multi_class=against, max_iter=200).fit(X, y)
    agrees(model, np.vstack([X, 3 * X, 0 * X]))
    assert len(model.calibration_) == (1 if k == 2 else k)


def test_scikit_learns_own_probabilities_contradict_its_predictions():
    """What ``calibrate`` is for; the sizes are those where LIBSVM's coupling and its votes part."""
    X, y = load_iris(return_X_y=True)
    X = np.random.default_rng(0).standard_normal((150, 4)) * 2 + X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        peer = Peer(probability=True, random_state=0).fit(X, y)
    assert (peer.predict(X) != peer.classes_[peer.predict_proba(X).argmax(axis=1)]).any()
    agrees(SVC(calibrate="sigmoid").fit(X, y), X)


def test_probabilities_exist_only_when_asked_for():
    X, y = drawn(0)
    plain, other = SVC().fit(X, y), SVC(calibrate="sigmoid")
    assert not hasattr(plain, "predict_proba") and not hasattr(plain, "calibration_")
    assert not hasattr(plain, "predict_log_proba") and hasattr(other, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        plain.predict_proba(X)
    assert not hasattr(LinearSVC().fit(X, y), "predict_proba")
    other.fit(X, y)
    np.testing.assert_array_equal(other.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(other.dual_coef_, plain.dual_coef_)
    other.set_params(calibrate=None).fit(X, y)
    assert not hasattr(other, "calibration_")
    np.testing.assert_array_equal(other.predict(X), plain.predict(X))


# ---- against others ----


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_two_classes_as_cross_fitted_by_scikit_learn(method, kernel):
    X, y = make_classification(300, 6, flip_y=0.15, random_state=1)
    options = {"kernel": kernel, "gamma": 0.2, "tol": 1e-8}
    ours = SVC(calibrate=method, random_state=7, **options).fit(X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=7)
    theirs = CalibratedClassifierCV(Peer(**options), method=method, cv=folds, ensemble=False).fit(X, y)
    rows = np.vstack([X, np.random.default_rng(0).standard_normal((200, 6)) * 2])
    np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows), atol=2e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_machines_as_cross_fitted_by_scikit_learn(loss):
    X, y = make_classification(300, 6, n_classes=3, n_informative=4, flip_y=0.15, random_state=1)
    ours = LinearSVC(loss=loss, calibrate="sigmoid", tol=1e-6).fit(X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    theirs = CalibratedClassifierCV(LinearSVC(loss=loss, tol=1e-6), cv=folds, ensemble=False).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_three_classes_by_hand(method):
    """Each pair's scores out of fold from scikit-learn's machines, a map a pair, and the coupling."""
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours = SVC(calibrate=method, gamma=0.1, tol=1e-9, C=0.3).fit(X, y)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    pairs = np.zeros((len(X), 3, 3))
    for i, j in combinations(range(3), 2):
        two = (y == i) | (y == j)
        score = np.zeros(len(y))
        for kept, held in folds:
            kept, held = kept[two[kept]], held[two[held]]
            machine = Peer(gamma=0.1, tol=1e-9, C=0.3).fit(X[kept], (y[kept] == i).astype(int))
            score[held] = machine.decision_function(X[held])
        found = calibrate(method, score[two], y[two] == i)
        machine = Peer(gamma=0.1, tol=1e-9, C=0.3).fit(X[two], (y[two] == i).astype(int))
        pairs[:, i, j] = found.probability(machine.decision_function(X))
        pairs[:, j, i] = 1 - pairs[:, i, j]
    np.testing.assert_allclose(ours.predict_proba(X), couple(pairs), atol=1e-4)


def test_probabilities_are_worth_having():
    """On rows not seen: the log loss of calibrated scores beats that of the classes' shares."""
    X, y = make_classification(1500, 8, n_classes=3, n_informative=5, flip_y=0.2, random_state=3)
    train, test = slice(0, 700), slice(700, None)
    base = log_loss(y[test], np.tile(np.bincount(y[train]) / 700, (800, 1)))
    for method in ("sigmoid", "isotonic"):
        for against in ("ovo", "ovr"):
            model = SVC(calibrate=method, multi_class=against).fit(X[train], y[train])
            assert log_loss(y[test], model.predict_proba(X[test]) * 0.97 + 0.01) < 0.78 * base
    for against in ("ovr", "crammer_singer"):
        model = LinearSVC(calibrate="sigmoid", multi_class=against, tol=0.1).fit(X[train], y[train])
        assert log_loss(y[test], model.predict_proba(X[test])) < 0.92 * base


# ---- laws ----


@few
@given(seeds, st.sampled_from([2, 3, 4]), methods)
def test_names_of_classes_do_not_matter(seed, k, method):
    X, y = drawn(seed, k=k)
    turn = np.random.default_rng(seed).permutation(k)
    for model in (
        SVC(calibrate=method, tol=1e-8),
        SVC(calibrate=method, multi_class="ovr", tol=1e-8),
        LinearSVC(calibrate=method, tol=1e-8),
    ):
        a, b = clone(model).fit(X, y), clone(model).fit(X, turn[y])
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X)[:, turn], atol=2e-3)


@few
@given(seeds, methods, st.sampled_from([2, 3]))
def test_zero_weight_is_absence(seed, method, k):
    X, y = drawn(seed, k=k)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, len(y)) * (rng.random(len(y)) < 0.8)
    weight[: 3 * k] = 1.0
    live = weight > 0
    for model in (SVC(calibrate=method, tol=1e-8), LinearSVC(calibrate=method, tol=1e-8)):
        a = clone(model).fit(X, y, weight)
        b = clone(model).fit(X[live], y[live], weight[live])
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=2e-3)


@few
@given(seeds, methods, st.sampled_from(["ovo", "ovr"]))
def test_class_weight_is_sample_weight(seed, method, against):
    X, y = drawn(seed, k=3)
    model = SVC(calibrate=method, multi_class=against, gamma=0.5, tol=1e-8)
    a = clone(model).set_params(class_weight={0: 4.0, 1: 0.5}).fit(X, y)
    b = clone(model).fit(X, y, np.array([4.0, 0.5, 1.0])[y])
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-6)


def test_weight_counts_in_the_map():
    """The same machine (a hard margin knows no weights), another map: rows of class 1 weigh more."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    even = SVC(calibrate="sigmoid", C=np.inf, gamma=0.5).fit(X, y)
    heavy = SVC(calibrate="sigmoid", C=np.inf, gamma=0.5).fit(X, y, np.where(y == 1, 9.0, 1.0))
    np.testing.assert_allclose(even.decision_function(X), heavy.decision_function(X), atol=1e-9)
    assert (heavy.predict_proba(X)[:, 1] > even.predict_proba(X)[:, 1]).mean() > 0.5
    agrees(heavy, X)


@pytest.mark.parametrize("model", [SVC(calibrate="sigmoid"), LinearSVC(calibrate="sigmoid")], ids=str)
def test_storage_does_not_matter(model):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    a, b = clone(model).fit(X, y), clone(model).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(sp.csr_array(X)), atol=1e-3)
    c = pickle.loads(pickle.dumps(a))
    np.testing.assert_array_equal(a.predict_proba(X), c.predict_proba(X))


def test_kernels_given_as_matrix_or_function():
    X, y = drawn(5, k=3)
    K = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(axis=2))
    want = SVC(gamma=0.4, calibrate="sigmoid", tol=1e-8).fit(X, y).predict_proba(X)
    matrix = SVC(kernel="precomputed", calibrate="sigmoid", tol=1e-8).fit(K, y)
    called = SVC(
        kernel=lambda A, B: np.exp(-0.4 * ((A[:, None] - B) ** 2).sum(axis=2)), calibrate="sigmoid", tol=1e-8
    ).fit(X, y)
    np.testing.assert_allclose(matrix.predict_proba(K), want, atol=1e-4)
    np.testing.assert_allclose(called.predict_proba(X), want, atol=1e-4)


def test_large_tables_whose_kernel_matrix_is_not_kept():
    X, y = make_classification(1800, 5, flip_y=0.1, random_state=0)
    kept, not_kept = SVC(calibrate="sigmoid", tol=1e-5), SVC(calibrate="sigmoid", tol=1e-5, cache_size=5)
    P, Q = kept.fit(X, y).predict_proba(X), not_kept.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(P, Q, atol=1e-3)
    assert kept.verdict_.status == not_kept.verdict_.status == "optimal"


def test_seeds_draw_the_folds():
    X, y = drawn(1, n=200)
    one, same, other = (SVC(calibrate="isotonic", random_state=s).fit(X, y) for s in (3, 3, 4))
    np.testing.assert_array_equal(one.predict_proba(X), same.predict_proba(X))
    assert np.abs(one.predict_proba(X) - other.predict_proba(X)).max() > 1e-6


def test_scikit_learns_tools_take_it():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(SVC(calibrate="sigmoid"), {"C": [0.1, 10.0]}, cv=3, scoring="neg_log_loss")
    assert search.fit(X, y).best_params_ == {"C": 10.0}
    P = cross_val_predict(LinearSVC(calibrate="sigmoid"), X, y, cv=3, method="predict_proba")
    assert (P.argmax(axis=1) == y).mean() > 0.9


# ---- what the verdict says ----


def test_the_verdict_says_how():
    X, y = drawn(0, k=3)
    words = SVC(calibrate="sigmoid").fit(X, y).verdict_.findings[-1]
    assert "sigmoid of scores out of fold, 5 stratified folds, 15 fits" in words and "all converged" in words
    words = LinearSVC(calibrate="isotonic").fit(X, y).verdict_.findings[-1]
    assert "isotonic of scores out of fold, 5 stratified folds, 5 fits" in words and "all converged" in words
    with pytest.warns(ConvergenceWarning):
        model = SVC(calibrate="sigmoid", max_iter=3, C=50).fit(X, y)
    assert "15 of them short of the tolerance" in str(model.verdict_)
    few_rows = SVC(calibrate="sigmoid").fit(X[[0, 1, 2, 3, 4, 5]], [0, 0, 0, 1, 1, 1])
    assert "3 stratified folds" in str(few_rows.verdict_)


def test_scores_that_point_the_wrong_way_are_named():
    X = np.array([[0.0], [1.0], [0.0], [1.0]] * 3)
    model = SVC(kernel="linear", calibrate="sigmoid").fit(X, [0, 1, 1, 0] * 3)
    assert "point the wrong way" in model.verdict_.findings[-1]
    agrees(model, X)


def test_interruption_leaves_probabilities(monkeypatch):
    """The machines themselves are fitted by then, not all of their folds."""
    X, y = load_iris(return_X_y=True)
    calls, last, real = [], None, smo_few.few_pairs

    def stop(*args):
        calls.append(1)
        if len(calls) == last:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(smo_few, "few_pairs", stop)
    SVC(calibrate="sigmoid", C=100).fit(X, y)
    calls, last = [], len(calls)  # how often the loop is entered is decided by rounding
    with keep_going():
        model = SVC(calibrate="sigmoid", C=100).fit(X, y)
    assert len(calls) == last and model.verdict_.status == "interrupted"
    assert any("too sure" in words for words in model.verdict_.findings)
    agrees(model, X)


@pytest.mark.parametrize("against", ["ovo", "ovr"])
def test_verify_knows_the_machines(against):
    X, y = load_iris(return_X_y=True)
    weight = np.linspace(0.5, 2, 150)
    model = SVC(multi_class=against, calibrate="sigmoid", class_weight="balanced").fit(X, y, weight)
    again = verify(model, X, y, weight)
    assert again.status == "optimal"
    np.testing.assert_allclose(again.objective, model.verdict_.objective, rtol=1e-9)
    assert verify(model, X + 1, y, weight).status == "no claim"
    model.intercept_ = model.intercept_ + 0.5
    assert verify(model, X, y, weight).status == "not converged"
    model.dual_coef_ = model.dual_coef_ * 3
    assert verify(model, X, y, weight).status == "no claim"


# ---- bad input ----


@pytest.mark.parametrize(
    "model, words",
    [
        (SVC(calibrate="platt"), "calibrate 'platt' is unknown"),
        (SVC(calibrate=True), "calibrate True is unknown"),
        (LinearSVC(calibrate="platt"), "calibrate 'platt' is unknown"),
        (SVC(multi_class="all"), "multi_class 'all' is unknown"),
        (SVC(multi_class="ovr", decision_function_shape="ovo"), "no machines of pairs"),
        (SVC(calibrate="sigmoid", break_ties=True), "leave one of them out"),
        (SVC(warm_start="yes"), "warm_start must be True or False"),
        (SVC(calibrate="sigmoid"), "class 'rare' has a single row"),
        (LinearSVC(calibrate="isotonic"), "class 'rare' has a single row"),
    ],
    ids=str,
)
def test_refusals(model, words):
    X = np.arange(8.0)[:, None]
    with pytest.raises(ValueError, match=words):
        model.fit(X, ["rare"] + ["common"] * 4 + ["other"] * 3)


def test_a_class_of_one_weighted_row_is_refused():
    X, y = drawn(0)
    weight = np.ones(len(y))
    weight[np.flatnonzero(y == 1)[1:]] = 0.0
    with pytest.raises(ValueError, match="class 1 has a single row"):
        SVC(calibrate="sigmoid").fit(X, y, weight)


def test_dask_is_refused():
    da = pytest.importorskip("dask.array")
    X, y = drawn(0)
    with pytest.raises(ValueError, match=r"calibrate holds out rows in memory: call X\.compute\(\)"):
        LinearSVC(calibrate="sigmoid").fit(da.from_array(X), y)
    model = LinearSVC(calibrate="sigmoid").fit(X, y)
    np.testing.assert_array_equal(
        model.predict_proba(da.from_array(X, chunks=(30, 3))).compute().argmax(axis=1), model.predict(X)
    )


def test_probability_is_another_word_for_sigmoid():
    X, y = load_iris(return_X_y=True)
    one, other = (
        SVC(probability=True, random_state=3).fit(X, y),
        SVC(calibrate="sigmoid", random_state=3).fit(X, y),
    )
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(one.predict(X), one.classes_[one.predict_proba(X).argmax(axis=1)])
    assert not hasattr(SVC(probability=False).fit(X, y), "predict_proba")
