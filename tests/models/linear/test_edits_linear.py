"""What you read is what predicts: edits of coef_ and intercept_ of linear classifiers, beside scikit-learn's."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as sk
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks import shared
from separatrix import (
    BayesianLogisticRegression,
    GeneralizedLinearModel,
    LeastSquaresClassifier,
    LinearRule,
    LinearSVC,
    LogisticRegression,
    Perceptron,
    SubgradientSVC,
    load,
    save,
    verify,
)

NAMES = ("banknote", "ionosphere", "vehicle")
MODELS = {
    "logistic": LogisticRegression(),
    "perceptron": Perceptron(max_iter=20),
    "averaged": Perceptron(max_iter=20, average=True),
    "pocket": Perceptron(max_iter=20, pocket=True),
    "least squares": LeastSquaresClassifier(alpha=1.0),
    "one-hot": LeastSquaresClassifier(alpha=1.0, coding="one-hot"),
    "bayes": BayesianLogisticRegression(predictive="plugin"),
    "svc": LinearSVC(),
    "subgradient": SubgradientSVC(max_iter=50),
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


TABLES = list(tables())
every_model = pytest.mark.parametrize("name", MODELS)
every_table = pytest.mark.parametrize("table", TABLES, ids=lambda t: t[0])


@pytest.mark.skipif(shared.available(), reason="../shared/data is here: its tables are among those used")
def test_real_tables_are_here():
    pytest.skip("../shared/data is not here: only scikit-learn's tables are used")


def two_or_all(model, y):
    """Labels the model can have: SubgradientSVC is of two classes."""
    return (y == np.unique(y)[-1]).astype(int) if isinstance(model, SubgradientSVC) else y


def fitted(name, X, y):
    model = copy.deepcopy(MODELS[name])
    return model.fit(X, two_or_all(model, y))


def scores_of(model, X):
    """coef_·x + intercept_ as a reader of the attributes computes it: (n, heads)."""
    return X @ model.coef_.T + model.intercept_


def assert_predicts_what_is_read(model, X):
    read = scores_of(model, X)
    size = np.abs(X) @ np.abs(model.coef_).T + np.abs(model.intercept_)
    if read.shape[1] == 1:
        labels = model.classes_[(read[:, 0] > 0).astype(int)]
    else:
        labels = model.classes_[read.argmax(axis=1)]
    score = model.decision_function(X)
    if score.ndim == 1 and read.shape[1] == 2:
        read = read[:, 1:] - read[:, :1]
    np.testing.assert_allclose(score.reshape(len(X), -1), read, rtol=0, atol=1e-13 * size.max())
    ranked = np.sort(read, axis=1)
    gap = np.abs(read[:, 0]) if read.shape[1] == 1 else ranked[:, -1] - ranked[:, -2]
    clear = gap > 1e-12 * size.max()
    assert (model.predict(X)[clear] == labels[clear]).all()


@every_model
@every_table
@pytest.mark.parametrize("standardised", [False, True], ids=["raw", "standardised"])
def test_edits_are_honoured(name, table, standardised):
    _, X, y = table
    X = StandardScaler().fit_transform(X) if standardised else X
    model = fitted(name, X, y)
    before = model.decision_function(X)
    assert_predicts_what_is_read(model, X)
    model.coef_ *= 0.5
    model.intercept_ += np.log(3.0)
    assert not np.array_equal(model.decision_function(X), before)
    assert_predicts_what_is_read(model, X)
    model.coef_[:, ::2] = 0.0
    assert_predicts_what_is_read(model, np.asfortranarray(X))
    model.coef_, model.intercept_ = model.coef_[:, ::-1] * 2.0, model.intercept_ - 1.0
    assert_predicts_what_is_read(model, X)


@every_table
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_same_numbers_predict_as_in_scikit_learn(table, order):
    """Numbers carried from one library to the other give the same probabilities and margins."""
    _, X, y = table
    X = np.array(StandardScaler().fit_transform(X), order=order)
    theirs = sk.LogisticRegression().fit(X, y)
    ours = LogisticRegression(C=0.01).fit(X, y)
    ours.coef_, ours.intercept_ = theirs.coef_, theirs.intercept_
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-7, atol=1e-9)
    assert (ours.predict(X) == theirs.predict(X)).all()
    theirs.intercept_ += 1.0  # the one array both hold
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-12, atol=1e-12)
    perceptron = Perceptron().fit(X, y)
    perceptron.coef_, perceptron.intercept_ = theirs.coef_, theirs.intercept_
    np.testing.assert_allclose(
        perceptron.decision_function(X), theirs.decision_function(X), rtol=1e-12, atol=1e-12
    )


def test_prior_correction_moves_the_odds():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression().fit(X, y)
    odds = model.predict_log_proba(X) @ [-1.0, 1.0]
    model.intercept_ += np.log(0.1)
    np.testing.assert_allclose(
        model.predict_log_proba(X) @ [-1.0, 1.0], odds + np.log(0.1), rtol=1e-9, atol=1e-9
    )
    assert verify(model, X, y).status == "not converged"


def test_margins_distances_and_the_reference_form_follow():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    model.coef_ = np.arange(12.0).reshape(3, 4) ** 1.5
    model.intercept_ = 2.0  # one number for all
    rule = LinearRule(model.coef_, np.full(3, 2.0))
    np.testing.assert_array_equal(model.geometric_margin(X, y), rule.geometric_margin(X, y))
    np.testing.assert_array_equal(model.functional_margin(X, y), rule.functional_margin(X, y))
    _, v, c = model.reference_form(0)
    np.testing.assert_array_equal(v, model.coef_[1:] - model.coef_[0])
    np.testing.assert_array_equal(c, [0.0, 0.0])
    model.coef_, model.intercept_ = np.eye(3, 4).tolist(), [0.0, 1.0, 2.0]  # lists, and a memory map's kin
    np.testing.assert_array_equal(model.decision_function(X), X[:, :3] + [0.0, 1.0, 2.0])
    model.intercept_ = np.arange(3.0).view(np.memmap)
    np.testing.assert_array_equal(model.decision_function(X), X[:, :3] + [0.0, 1.0, 2.0])
    two = LogisticRegression().fit(X, y == 2)
    two.coef_ = [3.0, 0.0, 4.0, 0.0]
    two.intercept_ = [-5.0]
    np.testing.assert_allclose(two.signed_distance(X), (X @ [3.0, 0.0, 4.0, 0.0] - 5.0) / 5.0)


# ---- shapes ----


@pytest.mark.parametrize("coef, intercept", [
    (np.ones((2, 4)), np.zeros(3)), (np.ones((3, 5)), np.zeros(3)), (np.ones(4), 0.0), (np.ones((3, 4)), np.zeros(2)),
    (np.ones((3, 4)), np.zeros((3, 1))), (np.ones((1, 3, 4)), 0.0), (sp.csr_matrix(np.ones((3, 5))), 0.0),
])  # fmt: skip
def test_shapes_that_do_not_fit_are_named(coef, intercept):
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    model.coef_, model.intercept_ = coef, intercept
    for method in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError) as error:
            method(X)
        text = str(error.value)
        assert str(np.shape(coef)) in text and str(np.shape(intercept)) in text and "(3, 4) and (3,)" in text


def test_the_rule_itself_is_not_assigned():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(AttributeError, match="assign those"):
        model.rule_ = LinearRule(np.ones(4), 0.0)
    assert not hasattr(LogisticRegression(), "rule_")


# ---- fits without an optimum ----

SEPARATED = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0], [5.0, 3.0]]), np.array([0, 0, 1, 1])


@pytest.mark.parametrize("model", [LogisticRegression(C=np.inf), GeneralizedLinearModel("binomial")], ids=str)
def test_the_limit_predicts_until_it_is_replaced(model, tmp_path):
    X, y = SEPARATED
    model = model.fit(X, y)
    assert model.verdict_.status == "no optimum" and not np.isfinite(model.coef_).all()
    expected = model.predict(X)
    assert (np.round(expected) == y).all()
    path = tmp_path / "limit.sepx"
    save(model, path)
    for again in (load(path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again.predict(X), expected)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_ *= 2.0
    model.coef_ = np.ones_like(model.coef_)
    with pytest.raises(ValueError, match="still infinite or NaN"):
        model.predict(X)
    model.intercept_ = np.zeros(np.shape(model.intercept_))
    assert np.isfinite(model.predict(X)).all()
    refitted = model.fit(np.vstack([X, X]), np.append(y, 1 - y))
    assert np.isfinite(refitted.coef_).all() and np.isfinite(refitted.predict(X)).all()


def test_models_of_earlier_versions_open(tmp_path):
    """They kept the rule beside the numbers: it speaks where those are no numbers, else the numbers do."""
    X, y = SEPARATED
    old = LogisticRegression(C=np.inf).fit(X, y)
    expected = old.predict_proba(X)
    rule = old.rule_
    del old.__dict__["_limit"], old.__dict__["_fitted"]
    old.__dict__["rule_"] = rule
    save(old, tmp_path / "old.sepx")
    for again in (load(tmp_path / "old.sepx"), pickle.loads(pickle.dumps(old))):
        np.testing.assert_array_equal(again.predict_proba(X), expected)
    finite = LogisticRegression().fit(X, y)
    finite.__dict__["rule_"] = finite.rule_
    finite.intercept_ += 1.0
    np.testing.assert_allclose(finite.decision_function(X), X @ finite.coef_[0] + finite.intercept_[0])


def test_a_posterior_of_an_earlier_version_goes_on(tmp_path):
    """It had its covariance as arrays, and no class_weight."""
    X, y = load_iris(return_X_y=True)
    old = BayesianLogisticRegression().fit(X, y)
    state = old.__dict__
    state.update(covariance_=old.covariance_.copy(), coef_sd_=old.coef_sd_.copy())
    for name in ("_fitted", "_dtype", "_covariance", "class_weight"):
        state.pop(name, None)
    save(old, tmp_path / "old.sepx")
    again = load(tmp_path / "old.sepx")
    np.testing.assert_array_equal(again.predict_proba(X), old.predict_proba(X))
    np.testing.assert_allclose(again.covariance_, state["covariance_"])
    assert again.partial_fit(X, y).verdict_.status == "optimal" and "class_weight" in again.get_params()


# ---- what belongs to the fit alone ----


def test_inference_after_an_edit_is_refused():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(C=np.inf).fit(X[:, :2], y == 2)
    table, aic = str(model.summary()), model.aic_
    model.intercept_ += 1.0
    for ask in (model.summary, model.standard_errors, model.residuals, lambda: model.test(0)):
        with pytest.raises(ValueError, match="was edited after the fit"):
            ask()
    for attribute in ("aic_", "covariance_", "deviance_", "null_deviance_"):
        with pytest.raises(AttributeError, match="was edited after the fit"):
            getattr(model, attribute)
    model.intercept_ -= 1.0
    model.intercept_[:] = model._fitted[1]  # the subtraction may have rounded
    assert model.aic_ == aic and str(model.summary()).splitlines()[:8] == table.splitlines()[:8]


def test_warm_starts_begin_at_the_edited_numbers():
    X, y = load_iris(return_X_y=True)
    cold = LogisticRegression(warm_start=True, tol=1e-8).fit(X, y)
    best = cold.coef_.copy(), cold.intercept_.copy()
    model = LogisticRegression(warm_start=True, tol=1e-8, solver="lbfgs", record_path=True).fit(X, y)
    model.coef_, model.intercept_ = best[0] + 0.5, best[1]
    model.fit(X, y)
    seen = X @ model.path_.coef[0].T + model.path_.intercept[0]
    wanted = X @ (best[0] + 0.5).T + best[1]
    np.testing.assert_allclose(
        seen - seen.mean(axis=1, keepdims=True), wanted - wanted.mean(axis=1, keepdims=True)
    )


@pytest.mark.parametrize("average", [False, True])
def test_partial_fit_of_a_perceptron_goes_on_from_the_edited_numbers(average):
    X, y = load_iris(return_X_y=True)
    model = Perceptron(average=average).partial_fit(X[::2], y[::2], classes=[0, 1, 2])
    start = model.coef_ * 0.5, model.intercept_ + 1.0
    model.coef_, model.intercept_ = start[0].copy(), start[1].copy()
    model.partial_fit(X[1::2], y[1::2])
    fresh = Perceptron(average=average, shuffle=False, max_iter=1, tol=None)
    fresh.fit(X[1::2], y[1::2], coef_init=start[0], intercept_init=start[1])
    np.testing.assert_array_equal(model.coef_, fresh.coef_)
    np.testing.assert_array_equal(model.intercept_, fresh.intercept_)
    if not average:
        theirs = sk.Perceptron(shuffle=False).partial_fit(X[::2], y[::2], classes=[0, 1, 2])
        theirs.coef_, theirs.intercept_ = start[0].copy(), start[1].copy()
        theirs.partial_fit(X[1::2], y[1::2])
        np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)


def test_a_perceptrons_dual_form_is_a_record():
    X, y = load_iris(return_X_y=True)
    model = Perceptron().fit(X, y)
    with pytest.raises(AttributeError, match="edit coef_ and intercept_"):
        model.dual_coef_ = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        model.dual_coef_[0] = 1


@pytest.mark.parametrize("K", [2, 3])
def test_a_posterior_moves_with_its_mean(K):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < K], y[y < K]
    model = BayesianLogisticRegression().fit(X, y)
    moved = copy.deepcopy(model)
    shift = np.linspace(-1, 1, model.coef_.size).reshape(model.coef_.shape)
    moved.coef_ = model.coef_ + shift
    m = X @ moved.coef_.T + moved.intercept_
    np.testing.assert_allclose(moved.decision_function(X).reshape(m.shape), m)
    np.testing.assert_allclose(moved.coef_sd_, model.coef_sd_)
    width = np.diff(model.credible_intervals(), axis=-1)
    np.testing.assert_allclose(np.diff(moved.credible_intervals(), axis=-1), width)
    np.testing.assert_allclose(
        moved.credible_intervals().mean(axis=-1)[..., 1:].reshape(shift.shape), moved.coef_
    )
    assert not np.allclose(moved.predict_proba(X), model.predict_proba(X))
    for ask in (moved.summary, moved.evidence_table):
        with pytest.raises(ValueError, match="was edited after the fit"):
            ask()
    for attribute in ("covariance_", "coef_sd_", "intercept_sd_"):
        with pytest.raises(AttributeError, match="cannot be assigned"):
            setattr(moved, attribute, np.eye(2))
        with pytest.raises(ValueError, match="read-only"):
            getattr(moved, attribute)[0] = 1.0


@pytest.mark.parametrize("K", [2, 3])
def test_partial_fit_of_a_posterior_goes_on_from_the_edited_mean(K):
    """A prior that nothing contradicts: rows of no weight leave the edited mean where it is."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y < K], y[y < K]
    model = BayesianLogisticRegression().partial_fit(X, y, classes=range(K))
    shift = np.linspace(-1, 1, model.coef_.size).reshape(model.coef_.shape)
    model.coef_ = model.coef_ + shift - shift.mean(axis=0) * (K > 2)
    model.intercept_ = model.intercept_ + 0.25 * (K == 2)
    read = model.coef_.copy(), model.intercept_.copy()
    model.partial_fit(X[:2], y[:2], sample_weight=[1e-12, 0.0])
    np.testing.assert_allclose(model.coef_, read[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, read[1], rtol=1e-6, atol=1e-6)


# ---- sparsify ----


@every_model
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_sparse_coefficients_predict_the_same(name, storage, tmp_path):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X[:, 3] = 0.0
    cells = X if storage == "dense" else sp.csr_matrix(X)
    model = fitted(name, X, y)
    model.coef_[np.abs(model.coef_) < 0.1 * np.abs(model.coef_).max()] = 0.0
    labels, scores = model.predict(cells), model.decision_function(cells)
    assert model.sparsify() is model and sp.issparse(model.coef_) and model.coef_.format == "csr"
    assert (model.predict(cells) == labels).all()
    np.testing.assert_allclose(model.decision_function(cells), scores, rtol=1e-12, atol=1e-12)
    if hasattr(model, "predict_proba"):
        assert np.isfinite(model.predict_proba(cells)).all()
    target = two_or_all(model, y)
    assert verify(model, X, target).status in (
        "not converged",
        "optimal",
        "closed form",
        "no claim",
        "infeasible",
    )
    assert np.isfinite(model.geometric_margin(X, target)).all()
    save(model, tmp_path / "sparse.sepx")
    assert (load(tmp_path / "sparse.sepx").predict(cells) == labels).all()
    assert isinstance(model.densify().coef_, np.ndarray) and model.densify() is model
    np.testing.assert_array_equal(model.decision_function(cells), scores)


def test_pictures_read_sparse_and_edited_coefficients():
    from separatrix.show.coefficients import read_coefficients

    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(C=np.inf).fit(X[:, :2], y == 2)
    names, panels, note = read_coefficients(model, 0.95, True)
    again = read_coefficients(model.sparsify(), 0.95, True)
    assert again[0] == names and again[2] == note
    np.testing.assert_array_equal(again[1][0].value, panels[0].value)
    model.densify().intercept_ += 1.0
    assert "edited after the fit" in read_coefficients(model, 0.95, True)[2]


def test_sparsify_needs_a_fit():
    with pytest.raises(Exception, match="must be fitted before sparsifying"):
        LogisticRegression().sparsify()
