"""Linear support vector machines: laws, references (LIBSVM, liblinear), hard margins, verdicts, bad input."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as SklearnLinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import ConvergenceWarning, keep_going, verify
from separatrix.models.margin.linear_svc import LinearSVC
from separatrix.models.margin.linear_svr import LinearSVR
from separatrix.models.margin.subgradient_svc import SubgradientSVC
from tests.draws import examples
from tests.models.margin.linear_tables import LOSSES, few, objective, overlapping, seeds

CHECKED = [
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(solver="coordinate"),
    LinearSVC(loss="hinge", solver="qp"),
    LinearSVC(multi_class="crammer_singer"),
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1),
    SubgradientSVC(),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(CHECKED)
def test_check_estimator(estimator, check):
    check(estimator)


# ---- references ----


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine], ids=["cancer", "wine"])
def test_hinge_is_libsvms_linear_machine(load, C):
    """LIBSVM leaves the intercept free as well: the same problem."""
    X, y = load(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), (y > 0).astype(int)
    model = LinearSVC(loss="hinge", C=C, tol=1e-7).fit(X, y)
    peer = SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
    theirs = objective(peer.coef_, peer.intercept_, X, y, C, "hinge")
    assert model.verdict_.objective <= theirs * (1 + 1e-9)
    assert model.verdict_.objective == pytest.approx(
        objective(model.coef_, model.intercept_, X, y, C, "hinge")
    )
    assert model.verdict_.bound <= theirs
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=0, atol=2e-4 * np.abs(peer.coef_).max())
    assert model.score(X, y) == pytest.approx(peer.score(X, y), abs=1.5 / len(y))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("K", [2, 3])
def test_without_intercept_it_is_liblinears_problem(loss, K):
    X, y = overlapping(3, n=200, p=5, K=K)
    model = LinearSVC(loss=loss, fit_intercept=False, tol=1e-7).fit(X, y)
    peer = SklearnLinearSVC(loss=loss, fit_intercept=False, tol=1e-10, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=0, atol=1e-4)
    theirs = objective(peer.coef_, np.zeros(len(peer.coef_)), X, y, 1.0, loss)
    assert model.verdict_.objective <= theirs * (1 + 1e-9)
    assert (model.predict(X) == peer.predict(X)).mean() > 0.99


@pytest.mark.parametrize("weight", [{0: 1.0, 1: 3.0, 2: 0.5}, "balanced"], ids=str)
def test_class_weights_mean_what_scikit_learn_means(weight):
    X, y = overlapping(4, n=150, p=4, K=3)
    ours = LinearSVC(fit_intercept=False, class_weight=weight, tol=1e-7).fit(X, y)
    peer = SklearnLinearSVC(fit_intercept=False, class_weight=weight, tol=1e-10, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=0, atol=1e-5)


def test_crammer_singer_is_liblinears():
    X, y = load_iris(return_X_y=True)
    for kw in ({}, {"C": 0.1}, {"class_weight": {0: 1.0, 1: 3.0, 2: 0.5}}):
        model = LinearSVC(multi_class="crammer_singer", fit_intercept=False, tol=1e-6, **kw).fit(X, y)
        peer = SklearnLinearSVC(
            multi_class="crammer_singer", fit_intercept=False, tol=1e-10, max_iter=1_000_000, **kw
        ).fit(X, y)
        assert model.verdict_.status == "optimal"
        np.testing.assert_allclose(model.coef_, peer.coef_, rtol=0, atol=1e-3 * np.abs(peer.coef_).max())


def test_crammer_singer_of_two_classes_is_the_hinge_of_half_the_penalty():
    """w₁ = −w₀ = v/2: ½Σ‖w_k‖² = ¼‖v‖², so C there is 2C of ½‖v‖² + C Σ ξ; intercepts are free in both."""
    X, y = overlapping(5)
    pair = LinearSVC(multi_class="crammer_singer", C=1.0, tol=1e-6).fit(X, y)
    plain = LinearSVC(loss="hinge", C=2.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(pair.coef_, plain.coef_, rtol=0, atol=1e-4)
    assert 2 * pair.verdict_.objective == pytest.approx(plain.verdict_.objective, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_solvers_agree_on_a_real_table(loss, C):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    names = ("newton" if loss == "squared_hinge" else "interior", "coordinate", "qp")
    fits = [LinearSVC(loss=loss, C=C, solver=s, tol=1e-5, max_iter=200_000).fit(X, y) for s in names]
    assert [f.solver_ for f in fits] == list(names)
    values = [f.verdict_.objective for f in fits]
    assert max(values) - min(values) <= 1e-6 * min(values)


# ---- laws ----


def same(a, b, tol=1e-5):
    size = max(1.0, np.abs(a.coef_).max())
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=0, atol=tol * size)
    assert b.verdict_.objective == pytest.approx(a.verdict_.objective, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("K", [2, 3])
@few
@given(seed=seeds)
def test_weight_is_repetition_and_zero_is_absence(loss, K, seed):
    X, y = overlapping(seed, K=K)
    weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    weight[:K] = 1.0
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    model = LinearSVC(loss=loss, tol=1e-7)
    a = LinearSVC(loss=loss, tol=1e-7).fit(X[again], y[again])
    same(a, model.fit(X, y, sample_weight=weight))


@pytest.mark.parametrize("loss", LOSSES)
@few
@given(seed=seeds, K=st.sampled_from([2, 3]))
def test_names_and_order_do_not_matter(loss, seed, K):
    X, y = overlapping(seed, K=K)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    a = LinearSVC(loss=loss, tol=1e-7).fit(X, y)
    same(a, LinearSVC(loss=loss, tol=1e-7).fit(X[order], y[order]))
    names = np.array(["ant", "bee", "cat"])
    b = LinearSVC(loss=loss, tol=1e-7).fit(X, names[y])
    same(a, b)
    assert np.mean(b.predict(X) == names[a.predict(X)]) > 0.98


@pytest.mark.parametrize("loss", LOSSES)
@few
@given(seed=seeds)
def test_swapping_the_two_classes_turns_every_sign(loss, seed):
    X, y = overlapping(seed)
    a, b = LinearSVC(loss=loss, tol=1e-7).fit(X, y), LinearSVC(loss=loss, tol=1e-7).fit(X, 1 - y)
    np.testing.assert_allclose(b.coef_, -a.coef_, rtol=0, atol=1e-5)
    assert b.verdict_.objective == pytest.approx(a.verdict_.objective, rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@few
@given(seed=seeds, scale=st.sampled_from([0.25, 3.0]))
def test_scaling_rows_is_scaling_c(loss, seed, scale):
    """w·(ax) with ‖w‖² at C is (w/a)·x with a²‖w/a‖²: C on ax is C·a² on x, weights a times smaller."""
    X, y = overlapping(seed)
    a = LinearSVC(loss=loss, C=scale**2, tol=1e-7).fit(X, y)
    b = LinearSVC(loss=loss, C=1.0, tol=1e-7).fit(scale * X, y)
    np.testing.assert_allclose(scale * b.coef_, a.coef_, rtol=0, atol=1e-5 * (1 + np.abs(a.coef_).max()))
    assert scale**2 * b.verdict_.objective == pytest.approx(a.verdict_.objective, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@few
@given(seed=seeds)
def test_c_is_a_weight_on_every_row_and_the_origin_does_not_matter(loss, seed):
    X, y = overlapping(seed)
    a = LinearSVC(loss=loss, C=3.0, tol=1e-7).fit(X, y)
    same(a, LinearSVC(loss=loss, tol=1e-7).fit(X + 7.0, y, sample_weight=np.full(len(y), 3.0)))


@few
@given(seed=seeds, loss=st.sampled_from(LOSSES), K=st.sampled_from([2, 3]))
def test_the_gap_is_a_bound(seed, loss, K):
    """However early a solver is stopped, the objective is within the gap of the minimum."""
    X, y = overlapping(seed, K=K)
    best = LinearSVC(loss=loss, tol=1e-8).fit(X, y).verdict_
    for solver in ("auto", "coordinate", "qp"):
        for steps in (1, 2, 4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = LinearSVC(loss=loss, solver=solver, max_iter=steps, tol=1e-9).fit(X, y)
            verdict = model.verdict_
            assert verdict.bound <= best.objective * (1 + 1e-9)
            assert verdict.objective >= best.objective * (1 - 1e-9)
            assert objective(model.coef_, model.intercept_, X, y, 1.0, loss) == pytest.approx(
                verdict.objective
            )


# ---- examples' states ----


def test_report_of_a_soft_margin():
    X, y = overlapping(8)
    model = LinearSVC(loss="hinge", C=0.5, tol=1e-7).fit(X, y)
    (report,) = model.reports_
    sign = np.where(y == 1, 1.0, -1.0)
    np.testing.assert_allclose((report.alpha * sign) @ X, model.coef_[0], rtol=0, atol=1e-4)
    assert abs(report.alpha @ sign) < 1e-9
    assert report.alpha.min() >= 0 and report.alpha.max() <= 0.5
    outside, inside = report.states == 0, report.states >= 2
    assert report.alpha[outside].max() < 1e-3 and report.alpha[inside].min() > 0.5 - 1e-3
    assert sum(report.counts.values()) == len(y) and report.kkt < 1e-3
    assert report.counts["misclassified"] == np.sum(sign * model.decision_function(X) <= 0)
    assert report.width == pytest.approx(2 / np.linalg.norm(model.coef_))


# ---- storage ----


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_text_like_rows(loss):
    rng = np.random.default_rng(0)
    X = sp.random(300, 2000, density=0.01, format="csr", random_state=0)
    y = rng.integers(0, 3, 300)  # wide: separable whatever the labels
    model = LinearSVC(loss=loss, tol=1e-4).fit(X, y)
    assert model.solver_ == "coordinate" and model.verdict_.status == "optimal"
    dense = LinearSVC(loss=loss, tol=1e-4).fit(X.toarray(), y)
    assert dense.solver_ != "coordinate"
    assert model.verdict_.objective == pytest.approx(dense.verdict_.objective, rel=2e-6)
    np.testing.assert_allclose(model.decision_function(X), dense.decision_function(X.toarray()), atol=5e-3)
    again = LinearSVC(loss=loss, tol=1e-4, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("model", [LinearSVC(), LinearSVC(loss="hinge"), LinearSVR()], ids=str)
def test_dask_memmap_float32_and_order(model, tmp_path):
    da = pytest.importorskip("dask.array")
    X, y = overlapping(1, n=400, p=4)
    fits = [model.fit(X, y).coef_.copy()]
    np.save(tmp_path / "X.npy", X)
    for table in (
        np.load(tmp_path / "X.npy", mmap_mode="r"), np.asfortranarray(X), da.from_array(X, chunks=(90, 4)),
        sp.csr_matrix(X),
    ):  # fmt: skip
        fits.append(model.fit(table, y).coef_.copy())
        assert np.asarray(model.predict(table)).shape == (400,)
    for other in fits[1:]:
        np.testing.assert_allclose(other, fits[0], rtol=0, atol=1e-6)
    small = model.fit(X.astype(np.float32), y)
    np.testing.assert_allclose(small.coef_, fits[0], rtol=0, atol=1e-4)


def test_ordered_solvers_refuse_dask():
    da = pytest.importorskip("dask.array")
    X, y = overlapping(1)
    for kw in ({"solver": "coordinate"}, {"solver": "qp"}, {"multi_class": "crammer_singer"}):
        with pytest.raises(ValueError, match="memory"):
            LinearSVC(**kw).fit(da.from_array(X, chunks=(40, 3)), y)


# ---- verdicts ----


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LinearSVC(loss="hinge"),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVC(solver="coordinate"),
    ],
    ids=str,
)
def test_verify_recomputes_the_verdict(model):
    X, y = overlapping(2, K=3)
    model.fit(X, y)
    assert model.verdict_.status == "optimal"
    again = verify(model, X, y)
    assert again.status == "optimal"
    assert again.objective == pytest.approx(model.verdict_.objective, rel=1e-9)
    model.coef_ = model.coef_ + 0.1
    assert verify(model, X, y).status == "not converged"


def test_too_few_steps_are_said_and_warned_of():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = LinearSVC(loss="hinge", max_iter=3).fit(X, y)
    assert model.verdict_.status == "not converged" and model.verdict_.stopped_by == "max_iter reached"
    assert any(f.startswith("scales:") for f in model.verdict_.findings)


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    import separatrix.solve.interior as module

    X, y = overlapping(1)
    real, calls = module.sweep, []

    def tired(*args, **kw):
        calls.append(1)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return real(*args, **kw)

    monkeypatch.setattr(module, "sweep", tired)
    with keep_going():
        model = LinearSVC(loss="hinge").fit(X, y)
    assert model.verdict_.status == "interrupted" and np.isfinite(model.verdict_.gap)
    assert model.score(X, y) > 0.6


def test_pickle_and_seeds():
    X, y = overlapping(1, K=3)
    model = LinearSVC(solver="coordinate", random_state=3).fit(X, y)
    again = LinearSVC(solver="coordinate", random_state=np.random.RandomState(0)).fit(X, y)
    assert again.verdict_.status == "optimal"
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    same_seed = LinearSVC(solver="coordinate", random_state=3).fit(X, y)
    np.testing.assert_array_equal(same_seed.coef_, model.coef_)


# ---- bad input ----

REFUSED = [
    (LinearSVC(penalty="l1"), "penalty 'l1'"),
    (LinearSVC(loss="log"), "loss 'log'"),
    (LinearSVC(C=0), "C must be a positive"),
    (LinearSVC(C=np.nan), "C must be a positive"),
    (LinearSVC(tol=0), "tol must be"),
    (LinearSVC(max_iter=0), "max_iter must be"),
    (LinearSVC(multi_class="ovo"), "multi_class 'ovo'"),
    (LinearSVC(intercept_scaling=10), "intercept_scaling=10"),
    (LinearSVC(dual="yes"), "dual must be"),
    (LinearSVC(loss="hinge", dual=False), "dual=False needs a squared loss"),
    (LinearSVC(dual=True, solver="newton"), "dual=True"),
    (LinearSVC(dual=False, solver="coordinate"), "dual=False"),
    (LinearSVC(solver="liblinear"), "solver 'liblinear' is unknown"),
    (LinearSVC(loss="hinge", solver="newton"), "corners"),
    (LinearSVC(solver="interior"), "squared"),
    (LinearSVC(C=np.inf, solver="coordinate"), "hard margin"),
    (LinearSVC(C=np.inf, multi_class="crammer_singer"), "finite C"),
    (LinearSVC(multi_class="crammer_singer", solver="newton"), "crammer_singer"),
    (LinearSVC(class_weight="even"), "class_weight 'even'"),
    (LinearSVC(class_weight={7: 2.0}), "class_weight names 7"),
    (LinearSVC(class_weight={0: -1.0}), "positive for every class"),
    (LinearSVC(n_jobs=0), "n_jobs"),
    (LinearSVR(epsilon=-1), "epsilon must be"),
    (LinearSVR(C=np.inf), "no row leaves.*finite C"),
    (LinearSVR(loss="hinge"), "loss 'hinge'"),
    (SubgradientSVC(c=0), "c must be"),
    (SubgradientSVC(eta=-1), "eta must be"),
    (SubgradientSVC(schedule="none"), "schedule 'none'"),
]


@pytest.mark.parametrize(("model", "words"), REFUSED, ids=[w for _, w in REFUSED])
def test_what_cannot_be_meant_is_refused(model, words):
    X, y = overlapping(0)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


def test_bad_targets_are_named():
    X, y = overlapping(0)
    with pytest.raises(ValueError, match="one class"):
        LinearSVC().fit(X, np.zeros(len(y)))
    bad = y.astype(float)
    bad[7] = np.nan
    with pytest.raises(ValueError, match="row 7"):
        LinearSVR().fit(X, bad)
    with pytest.raises(ValueError, match="binary"):
        SubgradientSVC().fit(*overlapping(0, K=3))
    with pytest.raises(ValueError, match="qp"):
        LinearSVC(solver="qp").fit(np.repeat(X, 100, axis=0), np.repeat(y, 100))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@examples(15)
@given(seed=st.integers(0, 10_000), C=st.sampled_from([0.01, 1.0, 100.0]))
def test_ascent_to_the_last_digit_does_not_depend_on_the_order_of_rows(loss, seed, C):
    """Gaps of 1e-14 cannot be told from rounding, columns differ in size, and optimal intercepts may fill an
    interval: the answer is the same all the same, to the rounding of the sums over rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((16, 2)) * 10.0 ** rng.integers(-2, 3, 2)
    y = (X[:, 0] / X[:, 0].std() + 0.8 * rng.standard_normal(16) > 0).astype(int)
    y[:2] = [0, 1]
    found = []
    for order in (np.arange(16), rng.permutation(16)):
        model = LinearSVC(dual=True, tol=1e-10, loss=loss, C=C).fit(X[order], y[order])
        assert model.verdict_.status == "optimal" and model.verdict_.stopped_by == "gap ≤ tol"
        assert any("to finish" in line for line in model.verdict_.findings)
        found.append(np.append(model.coef_ * X.std(axis=0), model.intercept_))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-9 * np.abs(found[0]).max())
