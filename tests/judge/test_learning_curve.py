"""learning_curve: a loop by hand, nested draws, the crossing of known curves, intervals, threads, and refusals."""

from __future__ import annotations

import _thread
import time

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB as Peer
from sklearn.svm import LinearSVC as PeerSVC

from separatrix import GaussianNB, LinearDiscriminantAnalysis, LogisticRegression, learning_curve
from separatrix.judge.learning_curve import LearningCurve, _draw, last_change
from separatrix.judge.scores import corrected_interval


def blobs(n=200, k=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(0, 1.2, (n, 3)) + 1.5 * y[:, None], np.array(list("abc"))[y]


def made(scores, metric="error", sizes=(10, 100, 1000)):
    scores = np.asarray(scores, dtype=float)
    names = tuple("abc"[: len(scores)])
    return LearningCurve(names, np.array(sizes), scores, metric, 100, 1100, 5, 0.95)


def test_scores_are_those_of_a_loop_by_hand():
    X, y = blobs()
    sizes = [8, 30, 140]
    found = learning_curve(
        {"ours": GaussianNB(), "peer": Peer()}, X, y, sizes=sizes, n_repeats=3, random_state=4
    )
    codes = (y == "b").astype(int)
    for r in range(3):
        order = _draw(codes, 60, 4, r)
        test, learn = order[:60], order[60:]
        for s, m in enumerate(sizes):
            model = Peer().fit(X[learn[:m]], y[learn[:m]])
            assert found.scores[1, s, r] == pytest.approx(1 - model.score(X[test], y[test]))
    np.testing.assert_allclose(found.scores[0], found.scores[1], atol=0.02)
    assert found.n_test == 60 and found.sizes.tolist() == sizes


@pytest.mark.parametrize("metric", ["accuracy", "log_loss", "auc", "brier", "calibration_error"])
def test_other_metrics(metric):
    X, y = blobs()
    found = learning_curve(Peer(), X, y, sizes=[20, 140], n_repeats=4, metric=metric)
    assert found.names == ("GaussianNB",) and np.isfinite(found.scores).all()
    better = found.means[0, 1] > found.means[0, 0]
    assert better == (metric in ("accuracy", "auc"))


def test_draws_part_the_rows_and_are_stratified():
    codes = np.repeat([0, 1, 2], [120, 60, 20])
    seen = set()
    for r in range(5):
        order = _draw(codes, 60, 0, r)
        assert sorted(order.tolist()) == list(range(200))
        test, learn = codes[order[:60]], codes[order[60:]]
        assert np.abs(np.bincount(test) - [36, 18, 6]).max() <= 1
        assert sorted(learn[:3].tolist()) == [0, 1, 2] and sorted(learn[:6].tolist()) == [0, 0, 1, 1, 2, 2]
        for m in (30, 70, 140):
            assert np.abs(np.bincount(learn[:m]) - m * np.array([0.6, 0.3, 0.1])).max() <= 3
        seen.add(order.tobytes())
    assert len(seen) == 5
    np.testing.assert_array_equal(_draw(codes, 60, 0, 2), _draw(codes, 60, 0, 2))


def test_intervals_are_the_corrected_ones():
    rng = np.random.default_rng(0)
    curve = made(0.2 + 0.02 * rng.random((1, 3, 12)))
    for s in range(3):
        by_hand = corrected_interval(curve.scores[0, s], 100 / 1000)
        assert curve.intervals[0, s] == pytest.approx(by_hand[1:])
        assert curve.curve("a")[s, 0] == pytest.approx(by_hand.mean)
    frame = curve.to_frame()
    assert frame.columns.tolist() == ["model", "size", "mean", "low", "high", "draws"] and len(frame) == 3
    assert (frame["draws"] == 12).all()


def test_a_crossing_that_is_known():
    m = np.array([10, 30, 100, 300, 1000])
    rng = np.random.default_rng(0)
    noise = 0.002 * rng.normal(size=(5, 25))
    a = 0.25 + 0 * m  # naive Bayes at its limit
    b = 0.20 + 0.5 / np.sqrt(m)  # meets it where 0.5/√m = 0.05
    curve = made([np.tile(a[:, None], 25) + noise, np.tile(b[:, None], 25) - noise], sizes=m)
    found = curve.crossover("a", "b")
    assert (found.before, found.after) == ("a", "b") and found.share == 1.0
    assert found.low <= 100 * 1.02 and found.high >= 100 * 0.98 and found.size == pytest.approx(100, rel=0.05)
    assert found.high < 120 and found.low > 80
    assert str(found).startswith("b overtakes a at")
    flipped = curve.crossover("b", "a")
    assert (flipped.before, flipped.after, flipped.size) == ("a", "b", pytest.approx(found.size))
    higher = made(1 - curve.scores, "accuracy", m).crossover("a", "b")
    assert (higher.after, higher.size) == ("b", pytest.approx(found.size))


def test_curves_that_do_not_cross_or_may_not():
    rng = np.random.default_rng(1)
    a = 0.1 + 0.01 * rng.random((3, 20))
    found = made([a, a + 0.05]).crossover("a", "b")
    assert found.size is None and found.after == "a" and "at every size" in str(found)
    even = made([np.array([[0.3], [0.2], [0.1]]), np.array([[0.4], [0.2], [0.1]])]).crossover("a", "b")
    assert (even.size, even.after) == (None, "a")  # a tie at the end: the last that was ahead
    same = made([a, a]).crossover("a", "b")
    assert same.size is None and str(same) == "b and a are equal at every size"
    gap = np.array([-0.05, -0.03, 0.001])[:, None] + 0.02 * rng.normal(size=(3, 20))
    unsure = made([0.2 + gap, np.full((3, 20), 0.2)]).crossover("a", "b")
    assert unsure.high == np.inf or unsure.share < 1 or unsure.size is None


def test_the_last_change_counts():
    sizes = np.array([10, 100, 1000, 10000])
    assert last_change(np.array([-1.0, 1.0, -1.0, 1.0]), sizes) == pytest.approx(10**3.5)
    assert last_change(np.array([1.0, 1.0, 1.0, 1.0]), sizes) is None
    assert last_change(np.array([-3.0, -1.0, 1.0, 2.0]), sizes) == pytest.approx(10**2.5)


def test_ng_and_jordan_on_normal_columns():
    """Columns independent within the classes: naive Bayes is right, and ahead at every small size."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = rng.normal(size=(600, 20)) + 0.35 * y[:, None]
    pair = {"nb": GaussianNB(tie="class"), "lr": LogisticRegression(C=1e4)}
    with np.errstate(all="ignore"):
        curve = learning_curve(pair, X, y, sizes=[30, 60], n_repeats=8)
    assert (curve.means[0] < curve.means[1]).all()
    assert curve.crossover("nb", "lr").after == "nb"


def test_the_same_for_any_number_of_threads():
    X, y = blobs()
    one, two = (
        learning_curve(["lda", "naive_bayes"], X, y, sizes=[20, 80], n_repeats=3, n_jobs=j, random_state=1)
        for j in (1, 2)
    )
    np.testing.assert_array_equal(one.scores, two.scores)


def test_ctrl_c_keeps_finished_draws():
    X, y = blobs()

    class Pressing(Peer):
        fits = 0

        def fit(self, X, y):
            type(self).fits += 1
            if self.fits == 40:
                _thread.interrupt_main()
            time.sleep(0.01)
            return super().fit(X, y)

    found = learning_curve(Pressing(), X, y, sizes=[20, 80], n_repeats=400, n_jobs=2)
    done = np.isfinite(found.scores).all(axis=(0, 1)).sum()
    assert found.interrupted and 0 < done < 400 and "Interrupted" in str(found)
    assert np.isfinite(found.means).all() and np.isfinite(found.intervals).all()


def test_prints_and_draws():
    pytest.importorskip("matplotlib").use("Agg")
    X, y = load_breast_cancer(return_X_y=True)
    models = {"nb": GaussianNB(), "lda": LinearDiscriminantAnalysis()}
    found = learning_curve(models, X, y, n_repeats=3)
    assert found.sizes[0] == 6 and found.sizes[-1] == 398 and len(found.sizes) == 8
    assert "Learning curve" in str(found) and "<table" in found._repr_html_()
    ax = found.plot()
    assert ax.get_xscale() == "log" and len(ax.lines) == 2
    with pytest.raises(ValueError, match="no curve of 'svm'"):
        found.curve("svm")
    with pytest.raises(ValueError, match="one model"):
        found.crossover("nb", "nb")


@pytest.mark.parametrize(
    "options, words",
    [
        ({"sizes": [1]}, "sizes holds 1: a size is a whole number from 2"),
        ({"sizes": [150]}, "to 140"),
        ({"sizes": [10.5]}, "sizes holds 10.5"),
        ({"sizes": []}, "sizes is empty"),
        ({"n_repeats": 0}, "n_repeats must be"),
        ({"metric": "f1"}, "metric 'f1' is unknown"),
        ({"test_size": 2}, "test_size must be a share"),
        ({"level": 2.0}, "level must be a share"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_settings_that_cannot_be_meant(options, words):
    X, y = blobs()
    with pytest.raises(ValueError, match=words):
        learning_curve(Peer(), X, y, **options)


def test_models_and_labels_that_cannot_be_meant():
    X, y = blobs()
    with pytest.raises(ValueError, match="y holds one class"):
        learning_curve(Peer(), X, np.zeros(200))
    with pytest.raises(ValueError, match="has no predict_proba"):
        learning_curve(PeerSVC(), X, y, metric="log_loss")
    with pytest.raises(ValueError, match="known are majority"):
        learning_curve("lgbm", X, y)
    with pytest.raises(ValueError, match="too few for a curve"):
        learning_curve(Peer(), X[:10], y[:10])
