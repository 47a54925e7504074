"""SVC against scikit-learn's at its tightest, exact small cases, and the laws of the problem."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import ConvergenceWarning, keep_going, verify
from separatrix.models.margin.nu_svc import NuSVC
from separatrix.models.margin.svc import SVC
from separatrix.solve import smo_few, smo_rows
from tests.draws import examples

SHARED = Path(__file__).parents[4] / "shared" / "data"
TABLES = [
    "banknote", "glass", "haberman", "heart_statlog", "ionosphere", "iris", "liver_disorders", "pima", "sonar",
    "vehicle", "wine",
]  # fmt: skip
LOADERS = [load_iris, load_wine, load_breast_cancer]


@parametrize_with_checks([SVC(), SVC(kernel="linear", class_weight="balanced")])
def test_scikit_learn_battery(estimator, check):
    check(estimator)


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def dual_value(model, K, y):
    """Σα − ½ βᵀKβ of a two-class machine in double precision."""
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    return np.abs(beta).sum() - 0.5 * beta @ K @ beta


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"C": 50.0, "gamma": 0.3},
        {"kernel": "linear", "C": 0.5},
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"class_weight": "balanced", "C": 0.2},
        {"decision_function_shape": "ovo", "gamma": "auto"},
        {"break_ties": True},
    ],
    ids=str,
)
def test_agrees_with_scikit_learn(load, given):
    X, y = scaled(load)
    mine, peer = SVC(tol=1e-9, **given).fit(X, y), Peer(tol=1e-9, **given).fit(X, y)
    np.testing.assert_allclose(mine.decision_function(X), peer.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(mine.predict(X), peer.predict(X))
    np.testing.assert_allclose(mine.intercept_, peer.intercept_, atol=1e-5)
    if load is load_iris:  # two of its rows are equal: only the sum of their α is settled, and so who has it
        ours, theirs = (np.unique(X[m.support_], axis=0) for m in (mine, peer))
        np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_array_equal(mine.n_support_, peer.n_support_)
        np.testing.assert_array_equal(mine.support_, peer.support_)
        np.testing.assert_allclose(mine.dual_coef_, peer.dual_coef_, atol=1e-4)
    assert mine.shape_fit_ == peer.shape_fit_ and mine.fit_status_ == 0
    assert mine.n_iter_.shape == peer.n_iter_.shape
    if mine.kernel == "linear":
        np.testing.assert_allclose(mine.coef_, peer.coef_, atol=1e-5)
    else:
        assert not hasattr(mine, "coef_")


def test_digits_with_ten_classes():
    X, y = load_digits(return_X_y=True)
    mine, peer = SVC(tol=1e-8).fit(X[:1000], y[:1000]), Peer(tol=1e-8).fit(X[:1000], y[:1000])
    np.testing.assert_array_equal(mine.predict(X[1000:]), peer.predict(X[1000:]))
    np.testing.assert_allclose(mine.dual_coef_, peer.dual_coef_, atol=1e-5)
    assert len(mine.reports_) == 45 and mine.verdict_.status == "optimal"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared tables are not here")
@pytest.mark.parametrize("name", TABLES)
def test_real_tables(name):
    """The dual is never worse than LIBSVM's, and test rows are predicted the same."""
    import pandas as pd

    file = next(iter(sorted((SHARED / name).glob("*.csv*"))))
    table = pd.read_csv(file, na_values="?").dropna()
    y = pd.factorize(table.iloc[:, -1])[0]
    X = StandardScaler().fit_transform(table.iloc[:, :-1].select_dtypes("number").to_numpy(float))
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: 2 * len(X) // 3], order[2 * len(X) // 3 :]
    mine, peer = SVC(tol=1e-8).fit(X[train], y[train]), Peer(tol=1e-8).fit(X[train], y[train])
    ours, theirs = mine.decision_function(X[test]), peer.decision_function(X[test])
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    differ = mine.predict(X[test]) != peer.predict(X[test])
    ovo = clone(mine).set_params(decision_function_shape="ovo").fit(X[train], y[train])
    near = np.abs(ovo.decision_function(X[test]).reshape(len(test), -1)).min(axis=1) < 1e-5
    assert not (differ & ~near).any()
    if len(mine.classes_) == 2:
        K = rbf_kernel(X[train], gamma=mine._gamma)
        assert dual_value(mine, K, train) >= dual_value(peer, K, train) * (1 - 1e-9)
    assert mine.verdict_.status == "optimal" and mine.verdict_.gap <= 1e-8 * mine.verdict_.objective


def test_unscaled_wine_reaches_the_optimum():
    """Columns from 0.1 to 1,000: peers keep kernel rows in single precision, and end above the minimum."""
    X, y = load_wine(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    for options in (
        {"kernel": "linear", "C": 1.0},
        {"kernel": "poly", "coef0": 1.0},
        {"gamma": 1e-3, "C": 100.0},
    ):
        mine, peer = SVC(tol=1e-6, **options).fit(X, y), Peer(tol=1e-6, **options).fit(X, y)
        K = mine._kernel()(X, X)
        assert dual_value(mine, K, y) >= dual_value(peer, K, y) - 1e-9
        assert mine.verdict_.status == "optimal"


def test_unscaled_wine_linear_is_strictly_better():
    X, y = load_wine(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    sign = np.where(y == 1, 1.0, -1.0)

    def primal(model):
        slack = np.maximum(0.0, 1.0 - sign * (X @ model.coef_[0] + model.intercept_[0]))
        return 0.5 * model.coef_[0] @ model.coef_[0] + slack.sum()

    mine, peer = SVC(kernel="linear", tol=1e-6).fit(X, y), Peer(kernel="linear", tol=1e-6).fit(X, y)
    assert primal(mine) < 0.99 * primal(peer)
    np.testing.assert_allclose(primal(mine), mine.verdict_.objective, rtol=1e-9)


def test_two_points_exactly():
    model = SVC(kernel="linear", C=10).fit([[0.0, 0.0], [3.0, 4.0]], ["far", "near"])
    np.testing.assert_allclose(model.coef_, [[0.24, 0.32]], rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, [-1.0], rtol=1e-12)
    report = model.reports_[0]
    np.testing.assert_allclose([report.width, report.primal, report.dual], [5.0, 0.08, 0.08], rtol=1e-12)
    assert report.counts == {"outside": 0, "margin": 2, "inside": 0, "misclassified": 0}
    assert report.classes == ("far", "near")


def overlapping(n=80, seed=0, p=3):
    X, y = make_classification(n, p, n_informative=p, n_redundant=0, flip_y=0.2, random_state=seed)
    return X, y


draws = examples(15)


@draws
@given(st.integers(0, 1000), st.sampled_from(["rbf", "linear"]))
def test_weight_is_repetition(seed, kernel):
    X, y = overlapping(50, seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    weight[:2], weight[np.flatnonzero(y == y[0])[0]] = 1, 1
    weight[np.flatnonzero(y != y[0])[0]] = 1
    a = SVC(kernel=kernel, tol=1e-9).fit(X, y, weight)
    times = weight.astype(int)
    b = SVC(kernel=kernel, tol=1e-9).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(a.verdict_.objective, b.verdict_.objective, rtol=1e-7)


@draws
@given(st.integers(0, 1000))
def test_class_weight_is_sample_weight(seed):
    X, y = overlapping(60, seed)
    a = SVC(class_weight={0: 3.0, 1: 0.5}, gamma=0.5, tol=1e-9).fit(X, y)
    b = SVC(gamma=0.5, tol=1e-9).fit(X, y, np.where(y == 0, 3.0, 0.5))
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)


@draws
@given(st.integers(0, 1000))
def test_labels_and_rows_in_another_order(seed):
    X, y = overlapping(60, seed)
    order = np.random.default_rng(seed).permutation(len(y))
    a, b = SVC(tol=1e-9).fit(X, y), SVC(tol=1e-9).fit(X[order], y[order])
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)
    c = SVC(tol=1e-9).fit(X, 1 - y)
    np.testing.assert_allclose(a.decision_function(X), -c.decision_function(X), atol=1e-6)


@draws
@given(st.integers(0, 1000))
def test_given_kernels_are_the_named_one(seed):
    X, y = overlapping(60, seed)
    a = SVC(gamma=0.4, tol=1e-9).fit(X, y)
    b = SVC(kernel="precomputed", tol=1e-9).fit(rbf_kernel(X, gamma=0.4), y)
    c = SVC(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.4), tol=1e-9).fit(X, y)
    want = a.decision_function(X)
    np.testing.assert_allclose(b.decision_function(rbf_kernel(X, gamma=0.4)), want, atol=1e-6)
    np.testing.assert_allclose(c.decision_function(X), want, atol=1e-6)
    np.testing.assert_array_equal(a.support_, b.support_)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize("density", [0.02, 0.5])
def test_sparse_is_dense(kernel, density):
    rng = np.random.default_rng(0)
    X = sp.random_array((120, 400), density=density, rng=rng, format="csr")
    y = np.arange(120) % 3
    a, b = SVC(kernel=kernel, tol=1e-9).fit(X, y), SVC(kernel=kernel, tol=1e-9).fit(X.toarray(), y)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X.toarray()), atol=1e-6)
    assert sp.issparse(a.support_vectors_)


def test_large_sparse_tables_are_solved_in_their_own_storage():
    rng = np.random.default_rng(1)
    X = sp.random_array((2500, 300), density=0.01, rng=rng, format="csr")
    y = (np.asarray(X[:, :10].sum(axis=1)).ravel() > 0).astype(int)
    a, b = SVC(tol=1e-6, gamma=1.0).fit(X, y), SVC(tol=1e-6, gamma=1.0).fit(X.toarray(), y)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X.toarray()), atol=1e-4)


def test_states_and_reports():
    X, y = overlapping(200)
    model = SVC(tol=1e-8).fit(X, y)
    report = model.reports_[0]
    margin = np.where(y == 1, 1, -1) * model.decision_function(X)
    np.testing.assert_allclose(report.margin, margin, atol=1e-9)
    slack = np.maximum(0, 1 - margin)
    np.testing.assert_allclose(report.primal, 0.5 * report.norm**2 + slack.sum(), rtol=1e-9)
    assert sum(report.counts.values()) == 200 and report.kkt <= 1e-8
    assert (report.alpha[report.states == 0] == 0).all()
    assert (report.alpha[report.states >= 2] == 1.0).all()
    text = str(model.verdict_)
    for words in (
        "SVC · optimal",
        "support vectors of 200 rows",
        "misclassified",
        "margin width",
        "violated",
    ):
        assert words in text


def test_tiny_cache_gives_the_same_answer():
    X, y = make_classification(2500, 6, random_state=0, flip_y=0.1)
    a, b = SVC(tol=1e-5).fit(X, y), SVC(tol=1e-5, cache_size=1, shrinking=False).fit(X, y)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-3)
    np.testing.assert_allclose(a.verdict_.objective, b.verdict_.objective, rtol=1e-5)


def test_threads_do_not_change_the_answer():
    X, y = make_classification(2500, 6, random_state=0, flip_y=0.1)
    a, b = SVC(n_jobs=1).fit(X, y), SVC(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)


def test_hard_margin():
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    model = SVC(kernel="linear", C=np.inf, tol=1e-6).fit(X, y)
    soft = Peer(kernel="linear", C=1e8, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, soft.coef_, atol=1e-4)
    assert model.verdict_.status == "optimal"
    assert model.reports_[0].margin.min() >= 1 - 1e-5
    assert model.verdict_.objective >= 0.5 * model.reports_[0].norm ** 2 * (1 - 1e-9)


def test_hard_margin_refuses_with_the_proof():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"classes 1 and 2 do not allow: separation: none .* convex weights"):
        SVC(kernel="linear", C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="rows 0 and 2 are equal and of classes 0 and 1"):
        SVC(C=np.inf).fit([[0.0], [1.0], [0.0], [5.0]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="images at distance"):
        SVC(kernel="poly", degree=1, C=np.inf).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    ring = SVC(C=np.inf, gamma=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    assert ring.verdict_.status == "optimal" and ring.score([[0.0], [1.0]], [0, 1]) == 1.0


def test_indefinite_kernels_make_no_claim():
    X, y = scaled(load_breast_cancer)
    model = SVC(kernel="sigmoid", coef0=1.0, gamma=0.5).fit(X, y)
    assert model.verdict_.status == "no claim" and model.verdict_.gap == np.inf
    assert "not positive semidefinite: no optimum is claimed" in model.verdict_.findings[0]
    assert model.score(X, y) > 0.5
    K = -np.eye(6)
    assert SVC(kernel="precomputed").fit(K, [0, 1] * 3).verdict_.status == "no claim"
    good = SVC(kernel="precomputed").fit(rbf_kernel(X, gamma=0.1), y)
    assert good.verdict_.status == "optimal" and "looked at on" in good.verdict_.findings[0]


def test_scaling_is_suggested():
    X, y = load_wine(return_X_y=True, as_frame=True)
    findings = SVC().fit(X, y).verdict_.findings
    assert any("'proline'" in f and "StandardScaler" in f for f in findings)
    assert not any(
        "StandardScaler" in f for f in SVC().fit(StandardScaler().fit_transform(X), y).verdict_.findings
    )


def test_too_few_steps_are_admitted():
    X, y = overlapping(300)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVC(max_iter=5, C=100).fit(X, y)
    best = SVC(C=100, tol=1e-8).fit(X, y)
    assert model.fit_status_ == 1 and model.n_iter_.tolist() == [5]
    assert model.verdict_.status == "not converged"
    assert model.verdict_.gap >= model.verdict_.objective - best.verdict_.objective - 1e-6


def test_interruption(monkeypatch):
    X, y = load_iris(return_X_y=True)
    real, calls = smo_few.few_pairs, []

    def stop(*args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(smo_few, "few_pairs", stop)
    with keep_going():
        model = SVC(C=100).fit(X, y)
    assert model.verdict_.status == "interrupted" and model.predict(X).shape == (150,)


def test_verify_trusts_nothing():
    X, y = load_iris(return_X_y=True)
    weight = np.linspace(0.5, 2, 150)
    for model in (SVC(), SVC(kernel="linear"), SVC(class_weight="balanced")):
        model.fit(X, y, weight)
        again = verify(model, X, y, weight)
        assert again.status == "optimal"
        np.testing.assert_allclose(again.objective, model.verdict_.objective, rtol=1e-9)
    model.intercept_ = model.intercept_ + 0.5
    assert verify(model, X, y, weight).status == "not converged"
    assert verify(model, X + 1, y, weight).status == "no claim"
    model.dual_coef_ = model.dual_coef_ * 3
    assert verify(model, X, y, weight).status == "no claim"


def test_progress_and_forecast(capsys):
    X, y = make_classification(400, 6, random_state=0)
    SVC(verbose=True).fit(X, (y + 2 * (X[:, 0] > 0)).astype(int))
    assert "classes 0 and 1" in capsys.readouterr().err
    SVC().fit(X, y)
    assert capsys.readouterr().err == ""


X0, Y0 = [[0.0], [1.0], [2.0]], [0, 1, 1]
REFUSED = [
    ({"C": 0}, X0, "C must be a positive number"),
    ({"C": -1}, X0, "C must be a positive number"),
    ({"gamma": 0}, X0, "gamma must be"),
    ({"gamma": "wide"}, X0, "gamma must be"),
    ({"kernel": "gauss"}, X0, "kernel 'gauss' is unknown"),
    ({"degree": -1, "kernel": "poly"}, X0, "degree must be"),
    ({"coef0": np.nan}, X0, "coef0 must be"),
    ({"tol": 0}, X0, "tol must be"),
    ({"cache_size": 0}, X0, "cache_size must be"),
    ({"max_iter": 0}, X0, "max_iter must be"),
    ({"probability": "yes"}, X0, "probability must be True or False"),
    ({"probability": True, "calibrate": "isotonic"}, X0, 'means calibrate="sigmoid".*leave probability out'),
    ({"probability": False, "calibrate": "sigmoid"}, X0, "asks for no probabilities.*leave probability out"),
    ({"decision_function_shape": "pairs"}, X0, "decision_function_shape must be"),
    ({"decision_function_shape": "ovo", "break_ties": True}, X0, "break_ties must be False"),
    ({"class_weight": {7: 1.0}}, X0, "class_weight names 7"),
    ({"class_weight": "heavy"}, X0, "class_weight 'heavy' is unknown"),
    ({"n_jobs": 0}, X0, "n_jobs must be"),
    ({"shrinking": "yes"}, X0, "shrinking must be"),
    ({}, [[0.0], [np.nan], [2.0]], "Input X contains NaN: column 0, row 1"),
    ({}, [[0.0], [1e300], [2.0]], "too large to square"),
    ({"kernel": "precomputed"}, X0, "must be a square matrix"),
    ({"kernel": "precomputed"}, [[1, 2, 0], [0, 1, 0], [0, 0, 1]], r"not symmetric: k\(0, 1\) = 2"),
    ({"kernel": lambda A, B: np.zeros((2, 2))}, X0, r"returned shape \(2, 2\)"),
    ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, X0, "returned nan"),
    ({"kernel": lambda A, B: A + 2 * B.T}, X0, "not symmetric"),
]


@pytest.mark.parametrize("given, X, words", REFUSED)
def test_refusals(given, X, words):
    with pytest.raises(ValueError, match=words):
        SVC(**given).fit(X, Y0)


def test_more_refusals():
    with pytest.raises(ValueError, match="only one class: 1"):
        SVC().fit(X0, [1, 1, 1])
    with pytest.raises(ValueError, match="only one class: 1"):
        SVC().fit(X0, Y0, [0, 1, 1])
    model = SVC(kernel="precomputed").fit(np.eye(3), Y0)
    with pytest.raises(ValueError, match="a column for each training row"):
        model.predict(np.eye(2))
    with pytest.raises(ValueError, match="row 1"):
        SVC().fit(X0, Y0, [1, -1, 1])


def test_dask_is_refused_by_name():
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="LinearSVC"):
        SVC().fit(da.zeros((10, 2)), [0, 1] * 5)


def test_an_intercept_that_is_not_settled_is_the_middle_and_said():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-1, 1, (30, 2)), rng.normal(1, 1, (12, 2))])
    y = np.repeat([0, 1], [30, 12])
    model = SVC(C=0.01, class_weight="balanced", tol=1e-8).fit(X, y)
    assert len(model.support_) == 42  # all at their bound, whose sums are equal
    f = model.decision_function(X) - model.intercept_
    low, high = (-1 - f[y == 0]).max(), (1 - f[y == 1]).min()  # where no slack has turned to zero
    assert low < high and model.intercept_[0] == pytest.approx(0.5 * (low + high), abs=1e-9)
    assert any("every support vector is at its bound" in words for words in model.verdict_.findings)
    settled = SVC(C=10, class_weight="balanced").fit(X, y)
    assert not any("at its bound" in words for words in settled.verdict_.findings)


def several(n=2400, k=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return rng.normal(size=(k, 6))[y] + rng.normal(size=(n, 6)), y


@pytest.mark.parametrize("kind", [SVC, lambda **how: NuSVC(nu=0.2, **how)], ids=["SVC", "NuSVC"])
def test_machines_side_by_side_are_what_they_are_one_by_one(kind):
    X, y = several()
    alone, together = (kind(n_jobs=n).fit(X, y) for n in (1, 3))
    for name in ("dual_coef_", "intercept_", "support_", "n_iter_"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(together, name))
    rows = y < 2
    how = {"gamma": alone._gamma, "tol": 1e-7}  # the other side is the positive one: another route
    pair = kind(n_jobs=1, **how).fit(X[rows], y[rows])
    at = np.random.default_rng(1).normal(size=(50, 6))
    scores = kind(n_jobs=2, decision_function_shape="ovo", **how).fit(X, y).decision_function(at)
    np.testing.assert_allclose(-pair.decision_function(at), scores[:, 0], atol=1e-5)


def test_ctrl_c_ends_machines_side_by_side(monkeypatch):
    X, y = several()
    calls, real = [], smo_rows.loops.pairs_asked

    def stop(*args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(smo_rows.loops, "pairs_asked", stop)
    with keep_going():
        model = SVC(n_jobs=2).fit(X, y)
    assert model.verdict_.status == "interrupted" and len(model.reports_) == 6
    model.predict(X[:5])


def test_what_is_said_names_the_machine(capsys):
    X, y = several()
    SVC(verbose=True, n_jobs=2).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6 and all(line.startswith("classes ") and line.endswith(" rows") for line in lines)
