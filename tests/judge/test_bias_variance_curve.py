"""The curve of bias and variance, and what both refuse."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from separatrix import bias_variance, bias_variance_curve
from separatrix.judge import decomposition
from separatrix.judge.bias_variance_curve import geometric
from separatrix.judge.decomposition import Repeats, squared_table
from tests.judge.parts import Slow, adds_up, blobs, same, sine


def test_curve_is_the_single_results_on_the_same_bootstraps():
    X, y = sine(60)
    curve = bias_variance_curve(
        KNeighborsRegressor(),
        X,
        y,
        param_name="n_neighbors",
        param_range=[1, 5, 20],
        n_bootstraps=20,
        random_state=4,
    )
    for k, result in zip((1, 5, 20), curve.results, strict=True):
        same(result, bias_variance(KNeighborsRegressor(k), X, y, n_bootstraps=20, random_state=4))
        np.testing.assert_array_equal(result.points.count, curve.results[0].points.count)
    frame = curve.to_frame()
    assert frame["n_neighbors"].tolist() == [1, 5, 20]
    np.testing.assert_allclose(frame["total"], frame["bias"] + frame["variance"] + frame["noise"])
    assert (frame["total_low"] < frame["total"]).all() and (frame["total"] < frame["total_high"]).all()
    assert curve.best == frame["n_neighbors"][frame["total"].idxmin()]
    assert "n_neighbors 20" in str(curve) and "<table" in curve._repr_html_()


def test_curve_of_a_pipeline_and_of_words():
    X, y = sine(50)
    model = make_pipeline(PolynomialFeatures(), LinearRegression())
    curve = bias_variance_curve(
        model, X, y, param_name="polynomialfeatures__degree", param_range=range(1, 4), n_bootstraps=10
    )
    assert len(curve.results) == 3
    words = bias_variance_curve(
        KNeighborsRegressor(),
        X,
        y,
        param_name="weights",
        param_range=["uniform", "distance"],
        n_bootstraps=10,
    )
    assert words.to_frame()["weights"].tolist() == ["uniform", "distance"]


def test_curve_draws():
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = sine(50)

    def curve(name, values):
        return bias_variance_curve(
            DecisionTreeRegressor(), X, y, param_name=name, param_range=values, n_bootstraps=8
        )

    ax = curve("min_samples_leaf", [1, 3, 10, 30]).plot()
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "min_samples_leaf"
    assert [line.get_label() for line in ax.lines] == ["error", "bias²", "variance"]
    assert len(ax.collections) == 3
    _, given_axes = plt.subplots()
    assert curve("max_depth", [1, 2, 3, 4]).plot(given_axes) is given_axes
    assert given_axes.get_xscale() == "linear"
    ax = curve("max_depth", [2, None]).plot()
    assert [t.get_text() for t in ax.get_xticklabels()] == ["2", "None"]
    plt.close("all")


def test_geometric():
    assert geometric(np.logspace(-3, 3, 7))
    assert not geometric(np.linspace(1, 100, 7))
    assert not geometric(np.array([0, 1, 10, 100]))
    assert not geometric(np.array([1, 2]))


# ---- refusals ----


X_SINE, Y_SINE = sine(30)
X_BLOBS, Y_BLOBS = blobs(30)


@pytest.mark.parametrize(
    ("model", "X", "y", "options", "message"),
    [
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"n_bootstraps": 1}, "n_bootstraps must be a whole number of at"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"n_bootstraps": 10.0}, "n_bootstraps must be a whole number"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"loss": "hinge"}, "loss 'hinge' is unknown"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"loss": "zero_one"}, "predicts numbers"),
        (KNeighborsClassifier(), X_SINE, Y_SINE, {}, "y holds numbers such as"),
        (KNeighborsRegressor(), X_BLOBS, np.array(["a", "b", "c"])[Y_BLOBS], {}, "y holds labels such as 'a'"),
        (LinearSVC(), X_BLOBS, Y_BLOBS, {"loss": "squared"}, "has no predict_proba"),
        (KNeighborsRegressor(), X_SINE, Y_SINE[:-1], {}, "X has 30 rows, y has 29"),
        (KNeighborsRegressor(), X_SINE, None, {}, "y is None"),
        (KNeighborsRegressor(), X_SINE, np.where(Y_SINE > 0, np.nan, Y_SINE), {}, "y is nan in row"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"sample_weight": -np.ones(30)}, "sample_weight must be finite"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"level": 95}, "level must be a share"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"n_jobs": 0}, "n_jobs must be None"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"max_samples": 1.5}, "max_samples=1.5"),
        (KNeighborsRegressor(), X_SINE[:2], Y_SINE[:2], {}, "2 rows are too few"),
        (KNeighborsClassifier(), X_BLOBS, np.zeros(30, int), {}, "y has one class, 0"),
        (KNeighborsRegressor(), X_SINE, Y_SINE, {"max_samples": 3000, "n_bootstraps": 3}, "no row was left out"),
        (KNeighborsRegressor(), X_SINE, np.column_stack([Y_SINE] * 2), {}, "1d array"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_refusals(model, X, y, options, message):
    with pytest.raises(ValueError, match=message):
        bias_variance(model, X, y, **options)


def test_refusals_of_estimators():
    class NoPredict(BaseEstimator):
        def fit(self, X, y):
            return self

    with pytest.raises(TypeError, match="NoPredict has no predict"):
        bias_variance(NoPredict(), X_SINE, Y_SINE)
    with pytest.raises(TypeError, match=r"give an instance, KNeighborsRegressor\(\)"):
        bias_variance(KNeighborsRegressor, X_SINE, Y_SINE)

    class Infinite(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.full(len(X), np.inf)

    with pytest.raises(ValueError, match="predicts a number that is not finite for row"):
        bias_variance(Infinite(), X_SINE, Y_SINE, n_bootstraps=5)

    class Strange(Slow):
        def predict(self, X):
            return np.full(len(X), 17)

    with pytest.raises(ValueError, match="predicts 17, which is not a class"):
        bias_variance(Strange(), X_BLOBS, Y_BLOBS, n_bootstraps=5)


def test_refusals_of_the_curve():
    with pytest.raises(ValueError, match="no setting 'neighbors': did you mean 'n_neighbors'"):
        bias_variance_curve(KNeighborsRegressor(), X_SINE, Y_SINE, param_name="neighbors", param_range=[1])
    with pytest.raises(ValueError, match="param_range is empty"):
        bias_variance_curve(KNeighborsRegressor(), X_SINE, Y_SINE, param_name="n_neighbors", param_range=[])
    with pytest.raises(ValueError, match="must be a list of values"):
        bias_variance_curve(KNeighborsRegressor(), X_SINE, Y_SINE, param_name="n_neighbors", param_range=3)


def test_iris_against_scikit_learns_out_of_bag_error():
    """The mean of the main predictions' errors is the out-of-bag error of bagging by vote, on the same idea."""
    from sklearn.ensemble import BaggingClassifier

    X, y = load_iris(return_X_y=True)
    found = bias_variance(DecisionTreeClassifier(), X, y, n_bootstraps=200)
    bag = BaggingClassifier(DecisionTreeClassifier(), 200, oob_score=True, random_state=0).fit(X, y)
    assert found.bias == pytest.approx(1 - bag.oob_score_, abs=0.02)
    adds_up(found)


def test_batches_are_not_more_than_bootstraps():
    for B, n in itertools.product((2, 3, 21), (5,)):
        table = np.random.default_rng(0).normal(size=(B, n, 1))
        found = squared_table(table, np.zeros((n, 1)), Repeats(np.arange(n), np.ones(n)))[1]
        assert len(found.moved.means.get("error", [])) == (0 if B < 3 else min(B, decomposition.BATCHES))
        assert np.isnan(found.overall(2.0)["variance"].error_bootstraps) == (B < 3)


def test_no_warning_of_our_own():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bias_variance(DecisionTreeClassifier(), X_BLOBS, Y_BLOBS, n_bootstraps=3)
        bias_variance(DecisionTreeRegressor(), X_SINE, Y_SINE, n_bootstraps=2)
