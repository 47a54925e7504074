"""svm_path against GridSearchCV on the same splits, what the warm start saves, the laws, and refusals."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit, ShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Peer

from separatrix import svm_path
from separatrix.models.margin import svm_path_search
from tests.draws import examples


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def overlapping(n=400, seed=0):
    return make_classification(n, 6, n_informative=4, flip_y=0.15, random_state=seed)


def grid_search(X, y, path, cv, **given):
    """scikit-learn's scores (G, M, F) on the same points and splits."""
    scoring = given.pop("scoring", None)
    points = {"C": path.Cs} | ({} if np.isnan(path.gammas[0]) else {"gamma": path.gammas})
    search = GridSearchCV(Peer(tol=1e-8, **given), points, cv=cv, scoring=scoring, refit=False).fit(X, y)
    folds = path.scores.shape[2]
    each = [search.cv_results_[f"split{f}_test_score"] for f in range(folds)]
    return np.reshape(each, (folds, len(path.Cs), len(path.gammas))).transpose(2, 1, 0)


# ---- against scikit-learn ----


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"class_weight": "balanced"},
        {"scoring": "balanced_accuracy"},
    ],
    ids=str,
)
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_scores_are_those_of_grid_search(load, given):
    X, y = scaled(load)
    gammas = None if given.get("kernel") == "linear" else [0.02, 0.1, 0.5]
    # balanced weights and a small C put all rows at their bound: then b is not settled, and LIBSVM's is chance
    Cs = [2, 15, 50, 100] if "class_weight" in given else [0.05, 0.3, 2, 15]
    path = svm_path(X, y, Cs=Cs, gammas=gammas, tol=1e-8, refit=False, **given)
    assert path.scores == pytest.approx(grid_search(X, y, path, 5, **given), abs=1e-12)
    assert (path.gap <= 1e-8).all()


def test_ranking_scores_are_those_of_grid_search():
    X, y = overlapping()
    cv = list(KFold(4, shuffle=True, random_state=3).split(X))
    for scoring in ("roc_auc", "average_precision", make_scorer(fbeta_score, beta=2.0)):
        path = svm_path(X, y, Cs=[0.1, 1, 10], gammas=[0.1], cv=cv, scoring=scoring, tol=1e-9, refit=False)
        expected = grid_search(X, y, path, cv, scoring=scoring)
        assert path.scores == pytest.approx(expected, abs=1e-6)


def test_shared_matrix_and_rows_by_need_agree(monkeypatch):
    X, y = overlapping(500)
    whole = svm_path(X, y, Cs=5, tol=1e-8, refit=False)
    tight = svm_path(X, y, Cs=5, tol=1e-8, refit=False, cache_size=1.0)  # the folds' parts are not kept
    assert np.array_equal(whole.scores, tight.scores)
    monkeypatch.setattr(svm_path_search, "WHOLE", 0)
    asked = svm_path(X, y, Cs=5, tol=1e-8, refit=False, cache_size=1.0)  # no matrix at all
    assert np.array_equal(whole.scores, asked.scores)
    sparse = svm_path(sp.csr_array(X), y, Cs=5, tol=1e-8, refit=False)
    assert sparse.scores == pytest.approx(whole.scores, abs=1e-12)


def test_a_kernel_matrix_and_a_function_agree_with_the_name():
    X, y = scaled(load_wine)
    path = svm_path(X, y, Cs=[0.1, 1, 10], gammas=[0.05], tol=1e-8)
    matrix = svm_path(rbf_kernel(X, gamma=0.05), y, Cs=[0.1, 1, 10], kernel="precomputed", tol=1e-8)
    asked = svm_path(X, y, Cs=[0.1, 1, 10], kernel=lambda A, B: rbf_kernel(A, B, gamma=0.05), tol=1e-8)
    assert np.array_equal(matrix.scores, path.scores) and np.array_equal(asked.scores, path.scores)
    assert matrix.best.gamma is None and matrix.best.C == path.best.C == asked.best.C
    assert np.array_equal(matrix.estimator.support_, path.estimator.support_)


def test_threads_do_not_change_the_bits(monkeypatch):
    X, y = overlapping()
    monkeypatch.setattr(svm_path_search, "ALONE", 0)
    one, two = (svm_path(X, y, Cs=6, gammas=3, n_jobs=k, refit=False) for k in (1, 2))
    assert np.array_equal(one.scores, two.scores) and np.array_equal(one.steps, two.steps)
    assert np.array_equal(one.gap, two.gap)


# ---- the warm start ----


def cold(monkeypatch, *args, **given):
    with monkeypatch.context() as patch:
        patch.setattr(svm_path_search, "_grown", lambda fit, box, old, new: np.zeros(len(box)))
        return svm_path(*args, **given)


@pytest.mark.parametrize(
    "data, Cs",
    [(scaled(load_breast_cancer), 11), (overlapping(800), np.geomspace(0.01, 10, 10))],
    ids=["real", "made"],
)
def test_warm_start_saves_steps(monkeypatch, data, Cs):
    warm = svm_path(*data, Cs=Cs, refit=False)
    other = cold(monkeypatch, *data, Cs=Cs, refit=False)
    assert np.array_equal(warm.steps[:, 0], other.steps[:, 0])
    assert warm.steps[:, 1:].sum() < 0.75 * other.steps[:, 1:].sum()


def test_nothing_is_done_where_no_slack_is_left(monkeypatch):
    X, y = make_classification(300, 5, class_sep=4.0, flip_y=0.0, n_clusters_per_class=1, random_state=1)
    path = svm_path(X, y, Cs=[1e2, 1e3, 1e4], kernel="linear", tol=1e-6, refit=False)
    other = cold(monkeypatch, X, y, Cs=[1e2, 1e3, 1e4], kernel="linear", tol=1e-6, refit=False)
    assert path.steps[0, 1:].sum() < 0.1 * other.steps[0, 1:].sum()
    assert np.array_equal(path.support[0, 0], path.support[0, 1])


@examples(30)
@given(st.integers(0, 10_000), st.floats(1.0, 50.0))
def test_a_start_is_feasible(seed, ratio):
    """Inside the new box, with the same sum, and at the new bound where it was at the old one."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    y, box = np.where(np.arange(n) % 2, 1.0, -1.0), rng.uniform(0.5, 2.0, n)
    X = rng.normal(size=(n, 2)) + 0.5 * y[:, None]
    fit = svm_path_search.minimise(
        svm_path_search.Kernel("rbf", 0.5), X, svm_path_search.Dual.classifier(y, 0.7 * box), tol=1e-10
    )
    start = svm_path_search._grown(fit, box, 0.7, 0.7 * ratio)
    assert (start * y >= 0).all() and (np.abs(start) <= 0.7 * ratio * box).all()
    assert abs(start.sum()) <= 1e-12 * np.abs(start).sum()
    bound = np.abs(fit.beta) == 0.7 * box
    assert np.array_equal(np.abs(start[bound]), 0.7 * ratio * box[bound])


# ---- laws ----


def small(seed, classes=2):
    """Rows whose folds are given, every class in each."""
    rng = np.random.default_rng(seed)
    n = 36
    y = np.arange(n) % classes
    X = rng.normal(size=(n, 2)) + 1.2 * np.column_stack([y, y % 2])
    fold = np.arange(n) // classes % 3
    return rng, X, y, fold


def pairs_of(fold):
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]


def curve(X, y, fold, **given):
    """C not so small that every variable may be at its bound, which leaves b to rounding."""
    return svm_path(
        X, y, Cs=[2, 20], gammas=[0.2, 1.0], cv=pairs_of(fold), tol=1e-10, refit=False, n_jobs=1, **given
    )


laws = examples(15)


@laws
@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
def test_order_of_rows_does_not_matter(seed, classes):
    rng, X, y, fold = small(seed, classes)
    order = rng.permutation(len(y))
    a, b = curve(X, y, fold), curve(X[order], y[order], fold[order])
    assert a.scores == pytest.approx(b.scores, abs=1e-12) and a.best[:2] == b.best[:2]


@laws
@given(st.integers(0, 10_000))
def test_names_of_classes_do_not_matter(seed):
    _, X, y, fold = small(seed)
    a = curve(X, y, fold)
    assert curve(X, 1 - y, fold).scores == pytest.approx(a.scores, abs=1e-12)
    assert np.array_equal(curve(X, np.array(["no", "yes"])[y], fold).scores, a.scores)


@laws
@given(st.integers(0, 10_000), st.sampled_from([None, "balanced"]), st.sampled_from(["accuracy", "roc_auc"]))
def test_weight_zero_is_absence(seed, class_weight, scoring):
    rng, X, y, fold = small(seed)
    weight = rng.integers(1, 3, len(y)).astype(float)
    weight[rng.permutation(len(y))[:6]] = 0.0
    there = weight > 0
    for f in range(3):  # both classes everywhere
        weight[np.flatnonzero((fold == f) & (y == 0))[:1]] = weight[
            np.flatnonzero((fold == f) & (y == 1))[:1]
        ] = 1
    there = weight > 0
    given = {"class_weight": class_weight, "scoring": scoring}
    a = curve(X, y, fold, sample_weight=weight, **given)
    b = curve(X[there], y[there], fold[there], sample_weight=weight[there], **given)
    assert a.scores == pytest.approx(b.scores, abs=1e-9)


@laws
@given(st.integers(0, 10_000), st.sampled_from([None, "balanced"]), st.sampled_from(["accuracy", "roc_auc"]))
def test_weight_is_repetition(seed, class_weight, scoring):
    rng, X, y, fold = small(seed)
    weight = rng.integers(1, 4, len(y))
    twice = np.repeat(np.arange(len(y)), weight)
    given = {"class_weight": class_weight, "scoring": scoring}
    a = curve(X, y, fold, sample_weight=weight, **given)
    b = curve(X[twice], y[twice], fold[twice], **given)
    assert a.scores == pytest.approx(b.scores, abs=1e-9)


def test_scale_counts_weights_as_repetition():
    X, y = overlapping(120)
    weight = np.arange(120) % 3
    twice = np.repeat(np.arange(120), weight)
    a = svm_path(X, y, Cs=[1.0], sample_weight=weight, cv=3, refit=False)
    b = svm_path(X[twice], y[twice], Cs=[1.0], cv=3, refit=False)
    assert a.gammas == pytest.approx(b.gammas, rel=1e-12)


# ---- what is chosen ----


def path_of(mean, error=0.01):
    """A result with a given mean and standard error of two folds."""
    mean = np.asarray(mean, dtype=float)
    scores = np.stack([mean - error, mean + error], axis=2)
    zero = np.zeros(scores.shape, dtype=int)
    sizes = mean.shape
    return svm_path_result(sizes, scores, zero)


def svm_path_result(sizes, scores, zero):
    from separatrix.models.margin.svm_path import SVMPath

    return SVMPath(
        10.0 ** np.arange(sizes[1]), 2.0 ** np.arange(sizes[0]), scores, zero, np.zeros(sizes), zero,
        np.zeros(sizes), "accuracy", "rbf",
    )  # fmt: skip


def test_best_is_the_smallest_c_then_gamma_among_equals():
    path = path_of([[0.7, 0.8, 0.9], [0.7, 0.9, 0.9], [0.6, 0.9, 0.1 + 0.8]])
    assert path.best.C == 10.0 and path.best.gamma == 2.0
    assert path.best.score == pytest.approx(0.9) and path.best.standard_error == pytest.approx(0.01)
    assert path_of([[0.9, 0.895, 0.885, 0.905]]).one_standard_error.C == 1.0
    assert path_of([[0.8, 0.894, 0.895, 0.905]]).one_standard_error.C == 100.0


def test_unfinished_points_are_not_chosen():
    path = path_of([[0.7, 0.8, np.nan], [np.nan, np.nan, np.nan]])
    assert path.best.C == 10.0 and path.best.gamma == 1.0
    nothing = path_of([[np.nan, np.nan]])
    assert nothing.best is None and nothing.one_standard_error is None
    assert "—" in str(nothing)


def test_refit_follows_the_choice():
    X, y = scaled(load_breast_cancer)
    a = svm_path(X, y, Cs=7, gammas=3)
    assert (a.estimator.C, a.estimator.gamma) == a.best[:2] and a.estimator.verdict_.status == "optimal"
    b = svm_path(X, y, Cs=7, gammas=3, refit="one_standard_error")
    assert (b.estimator.C, b.estimator.gamma) == b.one_standard_error[:2]
    assert b.one_standard_error.C <= b.best.C and b.one_standard_error.gamma == b.best.gamma
    assert svm_path(X, y, Cs=[1.0], refit=False).estimator is None
    linear = svm_path(X, y, Cs=[0.1, 1.0], kernel="linear")
    assert linear.estimator.coef_.shape == (1, 30)


def test_grids():
    X, y = overlapping(100)
    path = svm_path(X, y, Cs=6, gammas=5, refit=False)
    assert path.Cs == pytest.approx(10.0 ** np.arange(-2, 4))
    scale = 1 / (6 * X.var())
    assert path.gammas == pytest.approx(scale * 10.0 ** np.arange(-2, 3))
    assert svm_path(X, y, Cs=[10, 1], refit=False).Cs.tolist() == [1.0, 10.0]
    assert svm_path(X, y, Cs=[1], refit=False).gammas == pytest.approx([scale])


def test_splits_of_every_kind():
    X, y = overlapping(90)
    where = np.arange(90) % 3
    pairs = pairs_of(where)
    given = {"Cs": [0.1, 1.0], "gammas": [0.1], "refit": False}
    a = svm_path(X, y, cv=pairs, **given)
    masks = [(where != f, where == f) for f in range(3)]
    for cv in (masks, PredefinedSplit(where), iter(pairs), list(GroupKFold(3).split(X, y, where))):
        assert sorted(map(tuple, svm_path(X, y, cv=cv, **given).scores[0].T.tolist())) == sorted(
            map(tuple, a.scores[0].T.tolist())
        )
    single = svm_path(X, y, cv=ShuffleSplit(1, random_state=0), **given)
    assert np.isnan(single.standard_error).all() and single.best is not None
    assert single.one_standard_error == pytest.approx(single.best, nan_ok=True)
    b, c = (svm_path(X, y, cv=3, random_state=7, **given) for _ in range(2))
    assert np.array_equal(b.scores, c.scores)
    assert not np.array_equal(b.scores, svm_path(X, y, cv=3, random_state=8, **given).scores)


def test_a_class_absent_from_a_fold_is_never_predicted_there():
    X, y = load_iris(return_X_y=True)
    cv = [(np.flatnonzero(y != 2), np.flatnonzero(y == 2)), (np.arange(150), np.arange(150))]
    path = svm_path(X, y, Cs=[1.0, 10.0], cv=cv, refit=False, class_weight={2: 2.0})
    assert (path.scores[0, :, 0] == 0).all() and (path.scores[0, :, 1] > 0.9).all()


def test_an_indefinite_kernel_claims_nothing():
    X, y = overlapping(80)
    path = svm_path(X, y, Cs=[0.1, 1.0], gammas=[1.0], kernel="sigmoid", coef0=-1.0, refit=False)
    assert np.isinf(path.gap).all() and np.isfinite(path.scores).all()
    assert "no optimum is claimed" in str(path)


# ---- Ctrl-C ----


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_what_is_finished(monkeypatch, n_jobs):
    X, y = overlapping(200)
    full = svm_path(X, y, Cs=6, gammas=2, cv=3, refit=False)
    calls, solve = [], svm_path_search.minimise

    def interrupted(*args, **given):
        calls.append(1)
        if len(calls) == 11:  # the fourth C of the first gamma
            if n_jobs == 1:
                signal.raise_signal(signal.SIGINT)
            else:
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                search.wait(1)
        return solve(*args, **given)

    search = threading.Event()
    monkeypatch.setattr(svm_path_search, "ALONE", 0)
    monkeypatch.setattr(svm_path_search, "minimise", interrupted)
    path = svm_path(X, y, Cs=6, gammas=2, cv=3, n_jobs=n_jobs)
    search.set()
    assert path.interrupted and path.estimator is None
    done = np.isfinite(path.scores)
    assert done[0, :3].all() and not done[0, 5].any() and not done[1].any()
    assert np.array_equal(path.scores[done], full.scores[done])
    assert np.isnan(path.mean[~done.all(axis=2)]).all() and path.best is not None
    assert "Interrupted" in str(path)


# ---- to look at ----


def test_frame_and_text(capsys):
    X, y = overlapping(100)
    path = svm_path(X, y, Cs=3, gammas=2, cv=3, verbose=True, refit=False)
    assert capsys.readouterr().err.count("svm_path: ") == 6
    frame = path.to_frame()
    assert frame.shape == (6, 11)
    assert frame["mean"].to_numpy().reshape(2, 3) == pytest.approx(path.mean)
    assert frame[["fold_0", "fold_1", "fold_2"]].to_numpy().reshape(2, 3, 3) == pytest.approx(path.scores)
    assert frame["C"].tolist() == path.Cs.tolist() * 2 and frame["gamma"].nunique() == 2
    text = str(path)
    assert "C 0.01" in text and f"C = {path.best.C:.4g}, gamma = {path.best.gamma:.4g}" in text
    assert "wider" in str(svm_path(X, y, Cs=[1e-4, 1e-3], refit=False))
    many = svm_path(X, y, Cs=2, gammas=12, cv=2, refit=False)
    assert "9 of 12 gammas" in str(many) and f"γ {many.best.gamma:.3g}" in str(many)
    assert "<table" in path._repr_html_()


def test_pictures():
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    X, y = overlapping(80)
    curves = svm_path(X, y, Cs=4, gammas=2, cv=3, refit=False)
    ax = curves.plot()
    lines = [line for line in ax.get_lines() if len(line.get_xdata()) == 4]
    assert np.array([line.get_ydata() for line in lines]) == pytest.approx(curves.mean)
    assert len(ax.collections) == 2 and ax.get_xscale() == "log"
    surface = svm_path(X, y, Cs=4, gammas=6, cv=3, refit=False)
    own = plt.subplots()[1]
    assert surface.plot(own) is own
    assert np.asarray(own.collections[0].get_array()).reshape(6, 4) == pytest.approx(surface.mean)
    plt.close("all")


# ---- refusals ----


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"Cs": 0}, "at least 1"),
        ({"Cs": 1.5}, r"as a list, \[1.5\]"),
        ({"Cs": [1.0, -2.0]}, "-2.0"),
        ({"Cs": [1.0, np.inf]}, "inf"),
        ({"Cs": [1.0, 1.0]}, "twice"),
        ({"Cs": ["a"]}, "positive numbers"),
        ({"gammas": [0.0]}, "gammas must be positive"),
        ({"gammas": 3, "kernel": "linear"}, "has no gamma"),
        ({"kernel": "cubic"}, "is unknown"),
        ({"cv": 1}, "at least 2"),
        ({"cv": 30}, "too few for 30"),
        ({"cv": [([0, 1], [99])]}, "row 99"),
        ({"cv": [([0, 1, 1], [2])]}, "row 1 twice"),
        ({"cv": [([0.5], [2])]}, "row numbers"),
        ({"cv": []}, "no split"),
        ({"cv": [([0, 1], [])]}, "no row to hold out"),
        ({"cv": [(np.arange(0, 40, 2), [1])]}, "class 0 alone"),
        ({"cv": KFold(3), "random_state": 0}, "random_state"),
        ({"scoring": "neg_log_loss"}, "needs probabilities"),
        ({"scoring": "roc_auc", "cv": [(np.arange(40), np.arange(0, 40, 2))]}, "every class takes part"),
        ({"refit": "largest"}, "refit must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"class_weight": {7: 1.0}}, "7"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
    ids=lambda v: str(v)[:40],
)
def test_what_cannot_be_meant_is_refused(given, sentence):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(ValueError, match=sentence):
        svm_path(X, y, **given)


def test_wrong_kinds_are_refused():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(TypeError, match="number of folds"):
        svm_path(X, y, cv="five")
    with pytest.raises(TypeError, match="make_scorer"):
        svm_path(X, y, scoring=lambda model, X, y: 0.0)
    with pytest.raises(ValueError, match="continuous"):
        svm_path(X, X[:, 0])
    with pytest.raises(ValueError, match="one class"):
        svm_path(X, np.zeros(40))
