"""Parameters, costs and scikit-learn's manners."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn import discriminant_analysis, naive_bayes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    BernoulliNB,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from tests.models.generative.every_model import (
    MODELS,
    bits,
    continuous,
    counts,
    every,
    frame,
    message_of,
    positive,
)

# ---- decisions by cost ----


COSTS = {
    "a list": [[0, 1, 4], [1, 0, 2], [9, 1, 0]],
    "zero–one": (1 - np.eye(3)).tolist(),
    "a constant diagonal": (np.eye(3) * 2 + 3).tolist(),
    "rewards off the diagonal": [[0, -1, 5], [2, 0, 1], [1, 1, 0.5]],
}


@pytest.mark.parametrize("case", [*MODELS, "LogisticRegression"])
def test_the_decision_of_least_expected_cost(case):
    make, draw = {**MODELS, "LogisticRegression": (LogisticRegression, continuous)}[case]
    X, y = draw()
    labels = np.array(["low", "mid", "top"])[y]
    model = make().fit(X, labels)
    for name, cost in COSTS.items():
        expected = model.predict_proba(X) @ np.asarray(cost, dtype=float)
        clear = np.diff(np.sort(expected, axis=1)[:, :2], axis=1)[:, 0] > 1e-9
        answer = model.predict(X, cost=cost)
        assert answer.shape == (len(X),) and set(answer) <= set(model.classes_)
        np.testing.assert_array_equal(
            answer[clear], model.classes_[expected.argmin(axis=1)][clear], err_msg=name
        )
    proba = np.sort(model.predict_proba(X), axis=1)
    clear = proba[:, -1] - proba[:, -2] > 1e-9
    np.testing.assert_array_equal(model.predict(X, cost=COSTS["zero–one"])[clear], model.predict(X)[clear])
    dear = np.array([[0, 1, 1], [1, 0, 1], [1e6, 1e6, 0]])  # never miss a "top"
    assert (model.predict(X, cost=dear) == "top").sum() >= (model.predict(X) == "top").sum()


@pytest.mark.parametrize(
    "case", ["LDA", "GaussianNB", "MultinomialNB", "NaiveBayes", "gamma", "LogisticRegression"]
)
@pytest.mark.parametrize(
    "cost, words",
    [
        ([[0, 1], [1, 0]], ["3×3", "(2, 2)"]),
        ([0, 1, 2], ["3×3", "(3,)"]),
        (5.0, ["3×3"]),
        (np.zeros((3, 4)), ["3×3", "(3, 4)"]),
        ([[0, 1, 1], [1, -2, 1], [1, 1, 0]], ["negative", "'mid'", "right answer"]),
        ([[0, 1, np.inf], [1, 0, 1], [1, 1, 0]], ["finite"]),
        ([[0, 1, np.nan], [1, 0, 1], [1, 1, 0]], ["finite"]),
    ],
    ids=["too small", "one row", "a number", "not square", "negative diagonal", "infinite", "NaN"],
)
def test_a_cost_matrix_that_cannot_be_meant(case, cost, words):
    make, draw = {**MODELS, "LogisticRegression": (LogisticRegression, continuous)}[case]
    X, y = draw()
    model = make().fit(X, np.array(["low", "mid", "top"])[y])
    text = message_of(lambda: model.predict(X, cost=cost))
    assert all(word in text for word in words), text


def test_a_cost_moves_the_boundary_where_it_should():
    """Two normals of one variance: the boundary moves by σ² log(C₁₀/C₀₁) / (μ₁ − μ₀)."""
    X = np.array([[-2.0], [0.0], [1.0], [3.0]])  # means −1 and 2, variance 1
    model = LinearDiscriminantAnalysis().fit(X, [0, 0, 1, 1])
    grid = np.linspace(-1, 2, 3001)[:, None]
    for dear in (1.0, 5.0, 0.2):
        answer = model.predict(grid, cost=[[0, 1], [dear, 0]])
        at = grid[np.flatnonzero(answer == 1)[0], 0]
        assert at == pytest.approx(0.5 - np.log(dear) / 3, abs=2e-3)


# ---- parameters ----


def test_unknown_families():
    X, y = counts()
    for which in ("cauchy", "", 3, None):
        assert "unknown family" in message_of(lambda which=which: GenerativeClassifier(which).fit(X, y))
    assert "unknown family 'cauchy'" in message_of(lambda: NaiveBayes({0: "cauchy"}).fit(X, y))
    for families in ("all", 3, None):
        assert "families" in message_of(lambda families=families: NaiveBayes(families).fit(X, y))
    assert "'where'" in message_of(lambda: NaiveBayes({"where": "normal"}).fit(frame(X), y))
    assert "column 9" in message_of(lambda: NaiveBayes({9: "normal"}).fit(X, y))
    text = message_of(lambda: NaiveBayes({0: "dirichlet"}).fit(X, y))
    assert "dirichlet" in text and "GenerativeClassifier" in text
    text = message_of(lambda: GenerativeClassifier("categorical").fit(X, y))
    assert "CategoricalNB" in text
    text = message_of(lambda: NaiveBayes({0: "poisson"}).fit([["a", 1], ["b", 2]], [0, 1]))
    assert "column 0" in text and "words" in text and "poisson" in text


def test_the_settled_names_of_families():
    """SPEC, "Public names that are settled"."""
    X, y = continuous()
    np.testing.assert_allclose(
        GenerativeClassifier("gaussian").fit(X, y).predict_proba(X),
        GenerativeClassifier().fit(X, y).predict_proba(X),
    )
    positive_X, _ = positive()
    listed = NaiveBayes(["gamma", "normal", "exponential"]).fit(positive_X, y)
    assert listed.families_ == ["gamma", "gaussian", "exponential"]


WRONG_SMOOTHING = [
    "laplace", 3, ("laplace", 1), ("beta", 1), ("beta", 0, 1), ("beta", 1, -1), ("dirichlet",), ("dirichlet", 0),
    ("dirichlet", -1), ("dirichlet", "x"), ("m", 0, "uniform"), ("m", -2, "uniform"), ("m", 2), ("m", 2, "other"),
    ("m", "x", "uniform"), ("m", 2, 3.0), ("m", 2, -0.5), (),
]  # fmt: skip


@pytest.mark.parametrize("smoothing", WRONG_SMOOTHING, ids=str)
@pytest.mark.parametrize("make", [BernoulliNB, MultinomialNB, CategoricalNB])
def test_a_smoothing_that_cannot_be_meant(make, smoothing):
    X, y = bits()
    assert "smoothing" in message_of(lambda: make(smoothing=smoothing).fit(X, y))


def test_a_smoothing_of_another_model():
    X, y = bits()
    assert "beta" in message_of(lambda: BernoulliNB(smoothing=("dirichlet", 2)).fit(X, y))
    for make in (MultinomialNB, CategoricalNB):
        assert "dirichlet" in message_of(lambda make=make: make(smoothing=("beta", 2, 2)).fit(X, y))


@pytest.mark.parametrize("make", [BernoulliNB, MultinomialNB])
def test_shares_of_the_wrong_length(make):
    X, y = bits()
    text = message_of(lambda: make(smoothing=("m", 2, [0.2, 0.8])).fit(X, y))
    assert "smoothing" in text and "3" in text, text


@pytest.mark.parametrize("a", [0.3, 0.5])
def test_a_prior_whose_mode_lies_on_the_edge(a):
    """Beta(a, a) with a < 1 has its mode at 0 or 1 where a count is zero: a probability all the same, never a NaN."""
    X, y = np.array([[1, 1], [1, 0], [0, 0], [0, 1]]), [0, 0, 1, 1]
    model = BernoulliNB(smoothing=("beta", a, a)).fit(X, y)
    theta = np.exp(model.feature_log_prob_)
    assert (theta >= 0).all() and (theta <= 1).all()
    np.testing.assert_allclose(theta[:, 0], [1, 0])
    counts_ = MultinomialNB(smoothing=("dirichlet", a)).fit(np.array([[3, 0], [1, 2], [0, 4]]), [0, 0, 1])
    theta = np.exp(counts_.feature_log_prob_)
    assert np.allclose(theta.sum(axis=1), 1) and (theta >= 0).all()
    levels = CategoricalNB(smoothing=("dirichlet", a)).fit(np.array([[0], [0], [1]]), [0, 0, 1])
    theta = np.exp(levels.feature_log_prob_[0])
    np.testing.assert_allclose(theta, np.eye(2), atol=1e-12)


WRONG = [
    (GaussianNB, {"tie": "rows"}, "tie"),
    (GaussianNB, {"tie": None}, "tie"),
    (GaussianNB, {"var_smoothing": -1}, "var_smoothing"),
    (GaussianNB, {"var_smoothing": np.nan}, "var_smoothing"),
    (GaussianNB, {"var_smoothing": "x"}, "var_smoothing"),
    (NaiveBayes, {"alpha": -1}, "alpha"),
    (NaiveBayes, {"alpha": "x"}, "alpha"),
    (NaiveBayes, {"alpha": None}, "alpha"),
    (NaiveBayes, {"var_smoothing": -1}, "var_smoothing"),
    (BernoulliNB, {"alpha": -1}, "alpha"),
    (BernoulliNB, {"alpha": "x"}, "alpha"),
    (BernoulliNB, {"alpha": [1.0, -1.0, 1.0]}, "alpha"),
    (MultinomialNB, {"alpha": [1.0, 1.0]}, "alpha"),
    (MultinomialNB, {"alpha": np.nan}, "alpha"),
    (CategoricalNB, {"alpha": -0.1}, "alpha"),
    (CategoricalNB, {"min_categories": -1}, "min_categories"),
    (CategoricalNB, {"min_categories": "x"}, "min_categories"),
    (CategoricalNB, {"min_categories": [2, 2]}, "min_categories"),
    (LinearDiscriminantAnalysis, {"solver": "newton"}, "solver"),
    (LinearDiscriminantAnalysis, {"shrinkage": 1.5}, "shrinkage"),
    (LinearDiscriminantAnalysis, {"shrinkage": -0.1}, "shrinkage"),
    (LinearDiscriminantAnalysis, {"shrinkage": "much"}, "shrinkage"),
    (LinearDiscriminantAnalysis, {"tol": 0}, "tol"),
    (LinearDiscriminantAnalysis, {"n_components": 0}, "n_components"),
    (LinearDiscriminantAnalysis, {"n_components": 3}, "n_components"),
    (LinearDiscriminantAnalysis, {"n_components": 1.5}, "n_components"),
    (LinearDiscriminantAnalysis, {"covariance_estimator": object()}, "covariance_estimator"),
    (QuadraticDiscriminantAnalysis, {"solver": "lsqr"}, "solver"),
    (QuadraticDiscriminantAnalysis, {"reg_param": 2}, "reg_param"),
    (QuadraticDiscriminantAnalysis, {"reg_param": None}, "reg_param"),
    (QuadraticDiscriminantAnalysis, {"covariance_estimator": object()}, "covariance_estimator"),
    (GaussianDiscriminant, {"covariance": "full"}, "covariance"),
    (GaussianDiscriminant, {"covariance": 3}, "groups"),
    (GaussianDiscriminant, {"covariance": [[0, 1]]}, "class 2"),
    (GaussianDiscriminant, {"covariance": {0: "a"}}, "class 1"),
    (GaussianDiscriminant, {"covariance": [[0, 1], [1, 2]]}, "class 1"),
    (GaussianDiscriminant, {"covariance": "shared", "shrinkage": "auto"}, "per-class"),
    (
        GaussianDiscriminant,
        {"covariance": [[0, 1], [2]], "shrinkage": "auto"},
        "per-class|covariance a class",
    ),
]


@pytest.mark.parametrize(
    "make, parameters, words",
    WRONG,
    ids=[f"{m.__name__} {str(next(iter(p.items())))[:50].split(' at 0x')[0]}" for m, p, _ in WRONG],
)
def test_parameters_that_cannot_be_meant(make, parameters, words):
    X, y = bits()
    X = X + 0.0
    with pytest.raises(ValueError, match=words):
        make(**parameters).fit(X, y)


@pytest.mark.parametrize("case", [c for c in MODELS])
@pytest.mark.parametrize(
    "priors, words",
    [
        ([0.5, 0.5], "2 for 3"),
        ([0.5, 0.6, -0.1], "non-negative"),
        ([0.5, 0.5, 0.5], "sum"),
        ([np.nan, 0.5, 0.5], "non-negative"),
    ],
    ids=["too few", "negative", "sum", "NaN"],
)
def test_priors_that_cannot_be_meant(case, priors, words):
    make, draw = MODELS[case]
    X, y = draw()
    name = "class_prior" if "class_prior" in make().get_params() else "priors"
    with pytest.raises(ValueError, match=words):
        make().set_params(**{name: priors}).fit(X, y)


@every
def test_priors_are_used(case):
    make, draw = MODELS[case]
    X, y = draw()
    name = "class_prior" if "class_prior" in make().get_params() else "priors"
    prior = np.array([0.7, 0.2, 0.1])
    model = make().set_params(**{name: prior.tolist()}).fit(X, y)
    plain = make().fit(X, y)
    np.testing.assert_allclose(model.class_prior_, prior)
    odds = plain.predict_proba(X) / plain.class_prior_ * prior
    np.testing.assert_allclose(model.predict_proba(X), odds / odds.sum(axis=1, keepdims=True), atol=1e-10)
    if name == "class_prior":
        flat = make().set_params(fit_prior=False).fit(X, y)
        np.testing.assert_allclose(flat.class_prior_, np.full(3, 1 / 3))


# ---- scikit-learn's manners ----


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (LinearDiscriminantAnalysis, discriminant_analysis.LinearDiscriminantAnalysis),
        (QuadraticDiscriminantAnalysis, discriminant_analysis.QuadraticDiscriminantAnalysis),
        (GaussianNB, naive_bayes.GaussianNB),
        (BernoulliNB, naive_bayes.BernoulliNB),
        (MultinomialNB, naive_bayes.MultinomialNB),
        (CategoricalNB, naive_bayes.CategoricalNB),
    ],
    ids=lambda v: v.__module__.split(".")[0],
)
def test_parameters_defaults_and_attributes_are_scikit_learns(ours, theirs):
    a, b = ours().get_params(), theirs().get_params()
    assert set(b) <= set(a)
    assert {name for name in b if a[name] != b[name]} == set()
    X, y = counts()
    a, b = ours().fit(X, y), theirs().fit(X, y)
    public = {n for n in vars(b) if n.endswith("_") and not n.startswith("_")}
    missing = {n for n in public if not hasattr(a, n)}
    assert missing <= {"rotations_", "scalings_"} | ({"covariance_"} if ours is GaussianNB else set()), (
        missing
    )
    for name in public - missing:
        mine, other = getattr(a, name), getattr(b, name)
        if isinstance(other, np.ndarray) and name != "epsilon_":
            assert np.shape(mine) == other.shape, name


@every
def test_clone_get_params_and_pickle(case):
    make, draw = MODELS[case]
    X, y = draw()
    model = make().fit(X, y)
    copy = clone(model)
    assert repr(copy) == repr(model)
    assert not [name for name in vars(copy) if name.endswith("_")]
    assert copy.get_params().keys() == model.get_params().keys()
    with pytest.raises(ValueError, match=r"[Ii]nvalid parameter"):
        model.set_params(nonsense=1)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))
    assert str(again.verdict_) == str(model.verdict_)
    np.testing.assert_array_equal(  # what was learnt goes on after the journey
        again.partial_fit(X[:9], y[:9]).predict_proba(X), model.partial_fit(X[:9], y[:9]).predict_proba(X)
    )
    assert "<table" in again.verdict_._repr_html_()
    assert type(model).__name__ in model._repr_html_()


def test_pipelines_searches_and_scores():
    X, y = load_iris(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis())
    search = GridSearchCV(pipe, {"lineardiscriminantanalysis__shrinkage": [None, 0.1, "auto"]}, cv=3).fit(
        X, y
    )
    assert search.best_score_ > 0.95
    search = GridSearchCV(GaussianNB(), {"tie": ["none", "class"], "var_smoothing": [1e-9, 0.1]}, cv=3).fit(
        X, y
    )
    assert search.best_score_ > 0.9
    search = GridSearchCV(GenerativeClassifier(), {"family": ["normal", "gamma"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert cross_val_score(NaiveBayes(), X, y, cv=3).mean() > 0.9
    reduced = make_pipeline(LinearDiscriminantAnalysis(n_components=1), LogisticRegression()).fit(X, y)
    assert reduced.score(X, y) > 0.95
    assert LinearDiscriminantAnalysis().fit(X, y).score(X, y, sample_weight=(y == 0) * 1.0) == 1.0


def test_set_output_of_the_transform():
    pd, pl = (pytest.importorskip(name) for name in ("pandas", "polars"))
    X, y = load_iris(return_X_y=True, as_frame=True)
    plain = LinearDiscriminantAnalysis().fit(X, y).transform(X)
    for kind, module in (("pandas", pd), ("polars", pl)):
        model = LinearDiscriminantAnalysis().set_output(transform=kind).fit(X, y)
        out = model.transform(X)
        assert isinstance(out, module.DataFrame)
        names = ["lineardiscriminantanalysis0", "lineardiscriminantanalysis1"]
        assert list(out.columns) == names == list(model.get_feature_names_out())
        np.testing.assert_allclose(out.to_numpy(), plain)
    one = LinearDiscriminantAnalysis(n_components=1).set_output(transform="pandas")
    assert one.fit_transform(X, y).shape == (150, 1)
    assert (one.transform(X).index == X.index).all()


def test_set_output_where_the_means_lie_on_a_line():
    """Three classes on a line have one direction: the columns handed out are those announced."""
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = rng.standard_normal((90, 3))
    for k in range(3):
        X[y == k] -= X[y == k].mean(axis=0)
    X += y[:, None] * np.array([1.0, 2.0, 0.5])
    model = LinearDiscriminantAnalysis().set_output(transform="pandas").fit(X, y)
    out = model.transform(X)
    assert out.shape == (90, len(model.get_feature_names_out()))
