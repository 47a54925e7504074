"""Intervals of bias and variance, the laws, and what may go wrong on the way."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import ConvergenceWarning as PeerWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from separatrix import LogisticRegression, bias_variance, bias_variance_curve, engine
from separatrix.judge.decomposition import equal_rows
from tests.judge.parts import Slow, adds_up, blobs, same, sine

# ---- intervals ----


@pytest.mark.slow
def test_interval_of_the_bootstraps_covers_more_bootstraps():
    X, y = sine(60)
    model = DecisionTreeRegressor()
    truth = bias_variance(model, X, y, n_bootstraps=1500, random_state=99)
    missed = 0
    for seed in range(24):
        part = bias_variance(model, X, y, n_bootstraps=60, random_state=seed).parts["variance"]
        missed += abs(part.value - truth.variance) > 1.96 * part.error_bootstraps
    assert missed <= 6  # 1.2 expected of 24; a jackknife of 20 batches has its own spread


def test_errors_of_the_bootstraps_are_the_spread_over_seeds():
    X, y = blobs(150)
    found = [
        bias_variance(DecisionTreeClassifier(max_depth=6), X, y == 1, n_bootstraps=60, random_state=s)
        for s in range(25)
    ]
    for parts in ("parts", "kohavi_wolpert"):
        for name in ("error", "bias", "variance"):
            each = [getattr(r, parts)[name] for r in found]
            claimed = np.sqrt(np.mean([part.error_bootstraps**2 for part in each]))
            assert 0.6 < claimed / np.std([part.value for part in each], ddof=1) < 1.7


def test_interval_of_the_points_covers_other_points():
    """The mean of a constant's loss: its interval is that of a mean."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(200):
        y = rng.normal(size=40)
        X = rng.normal(size=(40, 1))
        part = bias_variance(DummyRegressor(strategy="constant", constant=0.0), X, y, n_bootstraps=12).parts[
            "error"
        ]
        missed += not part.low <= 1.0 <= part.high
    assert missed <= 30


def test_equal_rows_go_together_in_the_interval():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 1)), rng.normal(size=50)
    model = DummyRegressor(strategy="constant", constant=0.0)
    once = bias_variance(model, X, y, n_bootstraps=40).parts["error"]
    fourfold = bias_variance(model, np.tile(X, (4, 1)), np.tile(y, 4), n_bootstraps=40).parts["error"]
    assert fourfold.value == pytest.approx(once.value)
    assert fourfold.error_points == pytest.approx(once.error_points)


def test_level_widens():
    X, y = sine(40)
    low, high = (
        bias_variance(DummyRegressor(), X, y, n_bootstraps=20, level=v).parts["error"] for v in (0.5, 0.99)
    )
    assert high.low < low.low < low.high < high.high


# ---- laws ----


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (DecisionTreeRegressor(max_features=1), "squared"),
        (DecisionTreeClassifier(max_features=1), "zero_one"),
        (LogisticRegression(), "squared"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "zero_one"),
    ],
    ids=str,
)
def test_threads_give_the_same_bits(model, loss):
    X, y = blobs(80)
    runs = [
        bias_variance(model, X, y, loss=loss, n_bootstraps=24, random_state=3, n_jobs=j) for j in (1, 2, 5)
    ]
    same(runs[0], runs[1])
    same(runs[0], runs[2])
    adds_up(runs[0])


def test_seeds_differ_and_repeat():
    X, y = sine(50)
    one, again, other = (
        bias_variance(KNeighborsRegressor(1), X, y, n_bootstraps=20, random_state=s) for s in (1, 1, 2)
    )
    same(one, again)
    assert one.total != other.total


def test_weight_zero_is_absence():
    X, y = blobs(60)
    weight = np.where(np.arange(60) % 5 == 0, 0.0, 1.0 + np.arange(60) % 3)
    keep = weight > 0
    with_zero = bias_variance(DecisionTreeClassifier(), X, y, sample_weight=weight, n_bootstraps=30)
    absent = bias_variance(
        DecisionTreeClassifier(), X[keep], y[keep], sample_weight=weight[keep], n_bootstraps=30
    )
    assert with_zero.parts == absent.parts
    np.testing.assert_array_equal(with_zero.points.error[keep], absent.points.error)
    assert np.isnan(with_zero.points.error[~keep]).all() and (with_zero.points.count[~keep] == 0).all()
    assert with_zero.points.prediction[0] is None


def test_weights_are_relative_and_count_in_the_mean():
    X, y = sine(50)
    weight = 1.0 + np.arange(50) % 3
    one, tenfold = (
        bias_variance(KNeighborsRegressor(3), X, y, sample_weight=w, n_bootstraps=40)
        for w in (weight, 10 * weight)
    )
    assert one.total == pytest.approx(tenfold.total, rel=1e-12)
    assert one.total == pytest.approx(np.average(one.points.error, weights=weight), rel=1e-12)
    # a heavy row is left out less often
    assert one.points.count[weight == 3].mean() < one.points.count[weight == 1].mean()


def test_label_permutation():
    X, y = blobs(70)
    names = np.array(["pear", "apple", "fig"])
    one = bias_variance(KNeighborsClassifier(1), X, y, n_bootstraps=30)
    two = bias_variance(KNeighborsClassifier(1), X, names[y], n_bootstraps=30)
    for name, part in one.parts.items():
        assert two.parts[name] == pytest.approx(part, abs=1e-13)
    assert two.points.prediction.tolist() == names[one.points.prediction.astype(int)].tolist()


def test_rows_in_any_container():
    import pandas as pd

    X, y = blobs(60)
    want = bias_variance(KNeighborsClassifier(3), X, y, n_bootstraps=15)
    for table in (pd.DataFrame(X, columns=["a", "b"]), sp.csr_array(X), X.tolist(), np.asfortranarray(X)):
        same(bias_variance(KNeighborsClassifier(3), table, pd.Series(y), n_bootstraps=15), want)


def test_equal_rows_in_any_container():
    import pandas as pd

    rows = [[1.0, 0.0], [0.0, 2.0], [1.0, -0.0], [np.nan, 1.0], [np.nan, 1.0]]
    want = [0, 1, 0, 2, 2]
    for table in (np.array(rows), pd.DataFrame(rows), sp.csr_array(np.array(rows))):
        assert equal_rows(table).tolist() == want
    assert equal_rows(pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 1, 1]})).tolist() == [0, 1, 0]
    assert equal_rows(["a text", "another", "a text"]).tolist() == [0, 1, 0]


def test_the_estimator_stays_as_it_is():
    model = DecisionTreeClassifier(random_state=7)
    X, y = blobs(40)
    bias_variance(model, X, y, n_bootstraps=5)
    assert model.random_state == 7 and not hasattr(model, "tree_")


def test_fewer_rows_a_bootstrap():
    X, y = sine(100)
    whole, part = (
        bias_variance(KNeighborsRegressor(1), X, y, n_bootstraps=40, max_samples=m) for m in (None, 0.2)
    )
    assert whole.bag == 100 and part.bag == 20
    assert part.points.count.mean() == pytest.approx(40 * 0.99**20, rel=0.1)
    assert part.total > whole.total


# ---- what may go wrong on the way ----


def test_bootstraps_of_one_class_are_skipped():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.r_[np.zeros(18, int), 1, 1]
    refuses = bias_variance(Peer(), X, y, n_bootstraps=60)
    assert refuses.one_class > 0
    assert refuses.bootstraps == 60 - refuses.one_class
    assert f"{refuses.one_class} bootstraps held one class" in str(refuses)
    takes = bias_variance(DecisionTreeClassifier(), X, y, n_bootstraps=60)
    assert takes.one_class == 0 and takes.bootstraps == 60
    shares = bias_variance(DecisionTreeClassifier(), X, y, loss="squared", n_bootstraps=60)
    adds_up(shares)


def test_rows_never_left_out_are_counted():
    X, y = sine(60)
    found = bias_variance(KNeighborsRegressor(1), X, y, n_bootstraps=3)
    unjudged = found.points.count < 2
    assert unjudged.any()
    assert found.judged == 60 - unjudged.sum()
    assert np.isnan(found.points.bias[unjudged]).all()
    assert np.isnan(found.points.prediction[found.points.count == 0]).all()
    assert f"{unjudged.sum()} rows were left out by fewer than 2" in str(found)
    assert found.total == pytest.approx(found.bias + found.variance, rel=1e-12)


def test_warnings_are_counted_and_given_once():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(PeerWarning, match="10 times while fitting bootstraps") as caught:
        found = bias_variance(Peer(max_iter=3), X, y, n_bootstraps=10, n_jobs=1)
    assert len([w for w in caught if issubclass(w.category, PeerWarning)]) == 1
    assert "ConvergenceWarning 10 times" in str(found)


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interruption_keeps_what_is_finished(n_jobs):
    X, y = blobs(60)
    Slow.done = 0
    timer = threading.Timer(0.6, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    found = bias_variance(Slow(), X, y, n_bootstraps=5000, n_jobs=n_jobs)
    timer.join()
    assert found.interrupted
    assert 2 <= found.bootstraps < 5000
    assert "Interrupted" in str(found)
    after = Slow.done
    time.sleep(0.1)
    assert Slow.done == after  # nothing goes on in the background
    adds_up(bias_variance(Slow(), X, y, n_bootstraps=5))


def test_an_interruption_before_two_bootstraps_is_raised():
    class Stops(Slow):
        def fit(self, X, y):
            if Slow.done:
                raise KeyboardInterrupt
            return super().fit(X, y)

    Slow.done = 0
    X, y = blobs(60)
    with pytest.raises(KeyboardInterrupt):
        bias_variance(Stops(), X, y, n_bootstraps=9, n_jobs=1)


def test_under_dask_the_table_stays_here_on_threads():
    pytest.importorskip("dask")
    seen = []

    class Sees(DecisionTreeClassifier):
        def fit(self, X, y):
            seen.append(threading.current_thread().name)
            return super().fit(X, y)

    X, y = blobs(60)
    want = bias_variance(DecisionTreeClassifier(), X, y, n_bootstraps=10)
    with engine("dask", workers=2):
        same(bias_variance(Sees(), X, y, n_bootstraps=10), want)
    assert len(seen) == 10 and all(name.startswith("separatrix") for name in seen)


@pytest.mark.usefixtures("no_collector")
def test_an_interrupted_curve_keeps_its_values():
    X, y = blobs(60)

    class Named(Slow):
        def __init__(self, word="a"):
            self.word = word

    timer = threading.Timer(0.8, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    curve = bias_variance_curve(
        Named(), X, y, param_name="word", param_range=[str(i) for i in range(500)], n_bootstraps=6
    )
    timer.join()
    assert curve.interrupted and 1 <= len(curve.results) < 500
    assert "Interrupted" in str(curve)
    assert len(curve.to_frame()) == len(curve.results)


def test_progress_goes_to_standard_error(capsys):
    X, y = blobs(40)
    bias_variance(Slow(), X, y, n_bootstraps=10, verbose=True)
    out, err = capsys.readouterr()
    assert out == "" and "10 of 10 bootstraps" in err
    bias_variance(Slow(), X, y, n_bootstraps=10)
    assert capsys.readouterr() == ("", "")


def test_an_error_says_which_bootstrap():
    class Breaks(Slow):
        def fit(self, X, y):
            raise ValueError("the box is empty")

    X, y = blobs(40)
    with pytest.raises(ValueError, match="the box is empty") as caught:
        bias_variance(Breaks(), X, y, n_bootstraps=5)
    assert any("bootstrap" in note for note in caught.value.__notes__)


# ---- to look at ----


def test_frame_and_html():
    X, y = blobs(40)
    found = bias_variance(KNeighborsClassifier(1), X, y, n_bootstraps=20)
    frame = found.to_frame()
    assert len(frame) == 40
    assert {"count", "prediction", "error", "unbiased_variance", "biased_variance", "kw_bias"} <= set(
        frame.columns
    )
    np.testing.assert_allclose(frame["error"], frame["bias"] + frame["variance"] + frame["noise"], atol=1e-12)
    assert "<table" in found._repr_html_()
    assert repr(found) == str(found)
    shares = bias_variance(KNeighborsClassifier(1), X, y, loss="squared", n_bootstraps=20).to_frame()
    assert {"P(0)", "P(1)", "P(2)"} <= set(shares.columns)
    with pytest.raises(AttributeError):
        found.loss = "other"
