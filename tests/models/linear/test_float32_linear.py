"""float32 stays float32: coef_, intercept_, scores and probabilities of linear models, beside scikit-learn's."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as sk
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks import shared
from separatrix import (
    BaggingClassifier,
    BayesianLogisticRegression,
    LeastSquaresClassifier,
    LogisticRegression,
    Perceptron,
    verify,
)

NAMES = ("banknote", "ionosphere", "vehicle")
MODELS = {
    "ridge": (LogisticRegression(), sk.LogisticRegression()),
    "lbfgs": (LogisticRegression(solver="lbfgs"), sk.LogisticRegression()),
    "least squares": (LeastSquaresClassifier(alpha=1.0), sk.RidgeClassifier(alpha=1.0)),
    "perceptron": (Perceptron(max_iter=20), sk.Perceptron(max_iter=20)),
    "averaged": (Perceptron(max_iter=20, average=True), sk.Perceptron(max_iter=20)),
    "bayes": (BayesianLogisticRegression(), sk.LogisticRegression()),
}
pytestmark = pytest.mark.filterwarnings("ignore")


def tables():
    if not shared.available():
        for load_one in (load_breast_cancer, load_iris, load_wine):
            yield load_one.__name__[5:], *load_one(return_X_y=True)
        return
    for name in NAMES:
        X, y, _ = shared.numeric(name)
        step = max(1, len(X) // 200)
        yield name, X[::step], y[::step]


every_table = pytest.mark.parametrize("table", list(tables()), ids=lambda t: t[0])
every_model = pytest.mark.parametrize("name", MODELS)
scales = pytest.mark.parametrize("standardised", [False, True], ids=["raw", "standardised"])


@pytest.mark.skipif(shared.available(), reason="../shared/data is here: its tables are those used")
def test_real_tables_are_here():
    pytest.skip("../shared/data is not here: scikit-learn's tables are used")


@every_model
@every_table
@scales
def test_float32_in_float32_out(name, table, standardised):
    _, X, y = table
    X = (StandardScaler().fit_transform(X) if standardised else X).astype(np.float32)
    ours, theirs = (m.__class__(**m.get_params()).fit(X, y) for m in MODELS[name])
    assert ours.coef_.dtype == theirs.coef_.dtype == np.float32 and ours.intercept_.dtype == np.float32
    for method in ("decision_function", "predict_proba", "predict_log_proba"):
        if hasattr(ours, method):
            for cells in (X, np.asfortranarray(X), sp.csr_matrix(X)):
                assert getattr(ours, method)(cells).dtype == np.float32, method
            wide = getattr(ours, method)(X.astype(float))
            assert wide.dtype == np.float64
    for other in (X.astype(np.float64), np.round(X).astype(int)):
        again = ours.__class__(**ours.get_params()).fit(other, y)
        assert again.coef_.dtype == again.intercept_.dtype == np.float64
        assert again.decision_function(other).dtype == np.float64


@every_table
@scales
@pytest.mark.parametrize("name", ["ridge", "least squares", "bayes"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_it_is_the_same_fit_and_the_verdict_holds(name, table, standardised, order):
    """float32 cells are numbers like others: the optimum is that of the same cells in float64, rounded once."""
    _, X, y = table
    X = (StandardScaler().fit_transform(X) if standardised else X).astype(np.float32)
    single, double = (
        MODELS[name][0].__class__(**MODELS[name][0].get_params()).fit(np.array(cells, order=order), y)
        for cells in (X, X.astype(float))
    )
    cells = X.astype(float)
    size = np.abs(cells) @ np.abs(double.coef_).T + np.abs(double.intercept_)
    expected = cells @ double.coef_.T + double.intercept_
    found = cells @ single.coef_.astype(float).T + single.intercept_.astype(float)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-7 * size.max())
    assert single.verdict_.status == double.verdict_.status in ("optimal", "closed form")
    assert verify(single, X, y).status == single.verdict_.status
    assert verify(single, cells, y).status == single.verdict_.status
    single.coef_ *= np.float32(1.01)
    assert verify(single, X, y).status == "not converged"


def test_columns_far_from_the_origin_keep_their_level():
    """The intercept takes up what rounding of the weights costs at the mean row."""
    rng = np.random.default_rng(0)
    X = (1e4 + rng.normal(size=(500, 6))).astype(np.float32)
    y = X[:, 0] - X[:, 1] + rng.logistic(size=500) > 0
    model = LogisticRegression().fit(X, y)
    exact = LogisticRegression().fit(X.astype(float), y)
    cells = X.astype(float)
    level = lambda m: float(np.mean(cells @ m.coef_[0].astype(float) + m.intercept_.astype(float)))  # noqa: E731
    lost = float(cells.mean(axis=0) @ (exact.coef_[0].astype(np.float32).astype(float) - exact.coef_[0]))
    assert abs(level(model) - level(exact)) <= 2.0**-23 * np.abs(exact.intercept_).max() < abs(lost) + 1e-2
    assert model.verdict_.status == "optimal" and verify(model, X, y).status == "optimal"


def test_weights_that_float32_cannot_hold_stay_float64():
    X = (np.array([[0.0], [1.0], [2.0], [3.0], [4.0]]) * 1e-40).astype(np.float32)
    model = LogisticRegression(C=np.inf).fit(X, [0, 1, 0, 1, 1])
    assert model.coef_.dtype == np.float64 and np.isfinite(model.coef_).all()


def test_separated_rows_show_their_limit_in_float32():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0], [5.0, 3.0]], dtype=np.float32)
    model = LogisticRegression(C=np.inf).fit(X, [0, 0, 1, 1])
    assert model.verdict_.status == "no optimum" and model.coef_.dtype == model.intercept_.dtype == np.float32
    assert model.predict(X).tolist() == [0, 0, 1, 1] and model.predict_proba(X).dtype == np.float32
    assert verify(model, X, [0, 0, 1, 1]).status == "no optimum"


@pytest.mark.parametrize("name", ["ridge", "least squares", "bayes"])
def test_dask_arrays_keep_their_precision(name):
    da = pytest.importorskip("dask.array")
    X, y = load_iris(return_X_y=True)
    model = MODELS[name][0].__class__(**MODELS[name][0].get_params())
    for dtype in (np.float32, np.float64):
        lazy = da.from_array(X.astype(dtype), chunks=(50, 4))
        assert model.fit(lazy, y).coef_.dtype == model.intercept_.dtype == dtype
        assert model.decision_function(lazy).compute().dtype == dtype


def test_a_posterior_and_bags_are_float32_too():
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    model = BayesianLogisticRegression().fit(X, y)
    arrays = (model.coef_sd_, model.intercept_sd_, model.covariance_, model.predict_interval(X))
    assert all(a.dtype == np.float32 for a in arrays)
    first = BayesianLogisticRegression().partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    assert first.coef_.dtype == np.float32 and first.verdict_.status == "optimal"
    bags = BaggingClassifier(LogisticRegression(), n_estimators=3, random_state=0).fit(X, y)
    assert all(m.coef_.dtype == np.float32 for m in bags.estimators_)


def test_a_perceptrons_claim_is_about_the_weights_it_shows():
    """Rounded weights may put a row on the other side; the verdict then claims nothing."""
    rng = np.random.default_rng(1)
    X = (1e5 + rng.normal(size=(60, 3))).astype(np.float32)
    y = X[:, 0] > X[:, 1]
    model = Perceptron(max_iter=20000).fit(X, y)
    wrong = ~((2 * y - 1) * (X.astype(float) @ model.coef_[0].astype(float) + float(model.intercept_[0])) > 0)
    assert (model.verdict_.status == "optimal") == (not wrong.any())
    assert (verify(model, X, y).status == "optimal") == (not wrong.any())
