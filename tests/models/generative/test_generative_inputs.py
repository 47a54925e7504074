"""What the generative models say to data and parameters that cannot be meant: a sentence that names the column, the
row, the value and the family, before anything is changed; and what they do with data that are merely poor.
"""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import discriminant_analysis, naive_bayes
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
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
    engine,
)
from separatrix.core.families import Normal
from separatrix.models.generative.impossible import NoSpreadWarning

NAMES = ["alpha", "beta", "gamma"]


def continuous(seed=0, n=60, K=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.standard_normal((n, 3)) + 1.3 * y[:, None], y


def counts(seed=0, n=60, K=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    X = rng.poisson(1.5 + y[:, None], (n, 3)).astype(float)
    X[:K] = 1.0
    return X, y


def bits(seed=0, n=60, K=3):
    X, y = counts(seed, n, K)
    return (X > 1).astype(float), y


def positive(seed=0, n=60, K=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.gamma(1.5 + y[:, None], 1.0, (n, 3)) + 0.01, y


def fractions(seed=0, n=60, K=3):
    X, y = positive(seed, n, K)
    return X / (1 + X), y


def shares(seed=0, n=60, K=3):
    X, y = positive(seed, n, K)
    return X / X.sum(axis=1, keepdims=True), y


MODELS = {
    "LDA": (lambda: LinearDiscriminantAnalysis(), continuous),
    "QDA": (lambda: QuadraticDiscriminantAnalysis(), continuous),
    "shared": (lambda: GaussianDiscriminant(), continuous),
    "per-class": (lambda: GaussianDiscriminant("per-class"), continuous),
    "diagonal": (lambda: GaussianDiscriminant("diagonal"), continuous),
    "spherical": (lambda: GaussianDiscriminant("spherical"), continuous),
    "GaussianNB": (lambda: GaussianNB(), continuous),
    "GaussianNB class": (lambda: GaussianNB(tie="class"), continuous),
    "GaussianNB both": (lambda: GaussianNB(tie="both"), continuous),
    "BernoulliNB": (lambda: BernoulliNB(), bits),
    "MultinomialNB": (lambda: MultinomialNB(), counts),
    "CategoricalNB": (lambda: CategoricalNB(), counts),
    "NaiveBayes": (lambda: NaiveBayes(), continuous),
    "NaiveBayes poisson": (lambda: NaiveBayes(dict.fromkeys(range(3), "poisson")), counts),
    "normal": (lambda: GenerativeClassifier(), continuous),
    "multivariate normal": (lambda: GenerativeClassifier("multivariate_normal"), continuous),
    "poisson": (lambda: GenerativeClassifier("poisson"), counts),
    "gamma": (lambda: GenerativeClassifier("gamma"), positive),
    "dirichlet": (lambda: GenerativeClassifier("dirichlet"), shares),
}
every = pytest.mark.parametrize("case", MODELS)
GAUSSIAN = ("LDA", "QDA", "shared", "per-class", "diagonal", "spherical")
NAIVE = ("GaussianNB", "GaussianNB class", "GaussianNB both", "NaiveBayes", "normal")


def frame(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=NAMES)


def message_of(call):
    with pytest.raises(ValueError) as error:
        call()
    return str(error.value)


# ---- values outside the support ----

OUTSIDE = [  # model, rows, bad value, words the sentence must have
    ("a negative count", lambda: GenerativeClassifier("poisson"), counts, -1.0, ["poisson", "-1"]),
    ("half a count", lambda: GenerativeClassifier("poisson"), counts, 2.5, ["poisson", "2.5"]),
    ("two as a flag", lambda: GenerativeClassifier("bernoulli"), bits, 2.0, ["bernoulli", "2"]),
    ("a negative time", lambda: GenerativeClassifier("exponential"), positive, -0.5, ["exponential", "-0.5"]),
    ("zero in a Gamma", lambda: GenerativeClassifier("gamma"), positive, 0.0, ["gamma", "above 0"]),
    ("1.2 in a Beta", lambda: GenerativeClassifier("beta"), fractions, 1.2, ["beta", "1.2"]),
    ("one in a Beta", lambda: GenerativeClassifier("beta"), fractions, 1.0, ["beta", "neither included"]),
    ("a negative word", lambda: GenerativeClassifier("multinomial"), counts, -2.0, ["multinomial", "-2"]),
    ("half a word", lambda: GenerativeClassifier("multinomial"), counts, 0.5, ["multinomial", "0.5"]),
    ("a negative share", lambda: GenerativeClassifier("dirichlet"), shares, -0.2, ["dirichlet", "-0.2"]),
    ("NaiveBayes, a negative count", lambda: NaiveBayes({2: "poisson"}), counts, -1.0, ["poisson", "-1"]),
    ("NaiveBayes, 1.2 in a Beta", lambda: NaiveBayes({2: "beta"}), fractions, 1.2, ["beta", "1.2"]),
    ("NaiveBayes, zero in a Gamma", lambda: NaiveBayes({2: "gamma"}), positive, 0.0, ["gamma"]),
    ("NaiveBayes, two as a flag", lambda: NaiveBayes({2: "bernoulli"}), bits, 2.0, ["bernoulli"]),
    ("NaiveBayes, half a level", lambda: NaiveBayes({2: "categorical"}), counts, 0.5, ["categorical", "0.5"]),
    ("NaiveBayes, a negative time", lambda: NaiveBayes({2: "exponential"}), positive, -0.5, ["exponential"]),
    ("MultinomialNB", lambda: MultinomialNB(), counts, -1.0, ["count", "MultinomialNB"]),
    ("CategoricalNB, negative", lambda: CategoricalNB(), counts, -1.0, ["level", "CategoricalNB"]),
    ("CategoricalNB, a fraction", lambda: CategoricalNB(), counts, 0.5, ["level", "0.5"]),
    ("BernoulliNB unbinarised", lambda: BernoulliNB(binarize=None), bits, 2.0, ["0 or 1"]),
]
outside = pytest.mark.parametrize(
    "make, draw, bad, words", [o[1:] for o in OUTSIDE], ids=[o[0] for o in OUTSIDE]
)


@outside
def test_a_value_outside_the_support_is_named(make, draw, bad, words):
    X, y = draw()
    wrong = X.copy()
    wrong[37, 2] = bad
    for blocks in (1, 7):
        with engine(blocks=blocks):
            text = message_of(lambda: make().fit(wrong, y))
        assert "column 2" in text and "row 37" in text, text
        assert all(word in text for word in words), text
    text = message_of(lambda: make().partial_fit(X, y).partial_fit(wrong[30:], y[30:]))
    assert "column 2" in text and "row 7" in text, text


@outside
def test_a_value_outside_the_support_is_named_in_a_frame(make, draw, bad, words):
    X, y = draw()
    model = make()
    if isinstance(model, NaiveBayes):
        model.set_params(families={"gamma": model.families[2]})
    wrong = X.copy()
    wrong[37, 2] = bad
    text = message_of(lambda: model.fit(frame(wrong), y))
    assert "column 'gamma'" in text and "row 37" in text and all(word in text for word in words), text
    assert "np.float64" not in text, "a value as a person would write it"


@pytest.mark.parametrize(
    "make, draw, bad, words",
    [o[1:] for o in OUTSIDE if not o[0].startswith("CategoricalNB, negative")],
    ids=[o[0] for o in OUTSIDE if not o[0].startswith("CategoricalNB, negative")],
)
def test_a_value_outside_the_support_is_refused_at_prediction(make, draw, bad, words):
    X, y = draw()
    model = make().fit(X, y)
    wrong = X.copy()
    wrong[37, 2] = bad
    for method in ("predict", "predict_proba", "score_samples"):
        text = message_of(lambda method=method: getattr(model, method)(wrong))
        assert "column 2" in text and "row 37" in text and all(word in text for word in words), text


def test_rows_are_counted_from_the_first_of_the_table():
    """In a later tile of a long table too."""
    X, y = counts(n=200_000)
    wrong = X.copy()
    wrong[190_000, 1] = -4.0
    for make in (lambda: GenerativeClassifier("poisson"), lambda: NaiveBayes({1: "poisson"})):
        model = make().fit(X, y)
        for call in (lambda make=make: make().fit(wrong, y), lambda model=model: model.predict(wrong)):
            text = message_of(call)
            assert "column 1" in text and "row 190000" in text
    assert "row 190000" in message_of(lambda: MultinomialNB().fit(sp.csr_array(wrong), y))
    wrong[190_000, 1] = np.inf
    for make in (GaussianNB, LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        assert "column 1, row 190000" in message_of(lambda make=make: make().fit(wrong, y))


def test_shares_that_do_not_add_up():
    X, y = shares()
    wrong = X.copy()
    wrong[5] *= 1.01
    text = message_of(lambda: GenerativeClassifier("dirichlet").fit(wrong, y))
    assert "row 5" in text and "dirichlet" in text and "add up to 1" in text


def test_a_negative_count_in_sparse_rows():
    X, y = counts()
    X[4, 1] = -3
    for convert in (sp.csr_array, sp.csc_array):
        text = message_of(lambda convert=convert: MultinomialNB().fit(convert(X), y))
        assert "column 1" in text and "row 4" in text and "-3" in text


@every
def test_an_infinite_cell_is_named(case):
    make, draw = MODELS[case]
    X, y = draw()
    for value in (np.inf, -np.inf):
        wrong = X.copy()
        wrong[11, 1] = value
        text = message_of(lambda wrong=wrong: make().fit(wrong, y))
        assert "column 1" in text and "row 11" in text, text
        model = make().fit(X, y)
        text = message_of(lambda model=model, wrong=wrong: model.predict(wrong))
        assert "column 1" in text and "row 11" in text, text


@pytest.mark.parametrize("case", [*GAUSSIAN, *NAIVE])
def test_an_infinite_cell_beside_a_missing_one(case):
    make, draw = MODELS[case]
    X, y = draw()
    X[11, 1], X[11, 0] = np.inf, np.nan
    text = message_of(lambda: make().fit(X, y))
    assert "column 1" in text and "row 11" in text and "inf" in text, text


@pytest.mark.parametrize("case", [*GAUSSIAN, *NAIVE, "multivariate normal"])
def test_numbers_too_large_to_square(case):
    """1e200 is finite and its square is not: a sentence, or the right answer, but no stack trace and no NaN."""
    make, draw = MODELS[case]
    X, y = draw()
    refused = ""
    try:
        model = make().fit(X * 1e200, y)
    except ValueError as error:
        refused = str(error)
    if refused:
        assert "too large" in refused
    else:
        wanted = make().fit(X, y).predict_proba(X)
        np.testing.assert_allclose(model.predict_proba(X * 1e200), wanted, atol=1e-6)


@pytest.mark.parametrize("case", ["MultinomialNB", "multivariate normal", "dirichlet"])
def test_where_a_missing_cell_has_no_meaning_it_is_named(case):
    make, draw = MODELS[case]
    X, y = draw()
    model = make().fit(X, y)
    X[8, 2] = np.nan
    for call in (lambda: make().fit(X, y), lambda: model.predict(X)):
        text = message_of(call)
        assert "NaN" in text and "column 2" in text and "row 8" in text, text


# ---- poor data ----


def poor(kind):
    """A class with fewer rows than columns: two rows, or one."""
    X, y = continuous(n=90)
    keep = (y != 2) | (np.cumsum(y == 2) <= (1 if kind == "one row" else 2))
    return X[keep], y[keep]


@pytest.mark.parametrize("kind", ["one row", "two rows"])
@pytest.mark.parametrize("case", [*GAUSSIAN, *NAIVE, "multivariate normal"])
def test_a_class_with_fewer_rows_than_columns(case, kind):
    make, _ = MODELS[case]
    X, y = poor(kind)
    model = make().fit(frame(X), np.array(["a", "b", "c"])[y])
    proba = model.predict_proba(frame(X))
    assert np.isfinite(proba).all() and np.allclose(proba.sum(axis=1), 1)
    assert not np.isnan(model.score_samples(frame(X))).any()
    text = str(model.verdict_)
    if case in ("QDA", "per-class"):
        assert model.predict(frame(X[y == 2])).tolist() == ["c"] * int((y == 2).sum())
        assert "class 'c'" in text and "singular covariance" in text
        assert "'alpha'" in text and "shrinkage" in text
        rank = 0 if kind == "one row" else 1
        assert f"rank {rank} of 3" in text
        assert "no more rows than columns" in text
    if case == "multivariate normal":
        assert "singular" in text
    if case == "normal" and kind == "one row":
        assert "variance" in text or "constant" in text, "a density without spread is worth a word"


@pytest.mark.parametrize(
    "case", ["BernoulliNB", "MultinomialNB", "CategoricalNB", "NaiveBayes poisson", "gamma", "dirichlet"]
)
def test_a_class_of_one_row_in_models_of_counts_and_shares(case):
    make, draw = MODELS[case]
    X, y = draw()
    keep = (y != 2) | (np.cumsum(y == 2) == 1)
    model = make().fit(X[keep], y[keep])
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all() and np.allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize("case", ["LDA", "QDA", "shared", "per-class"])
def test_columns_that_hang_together_are_named(case):
    make, _ = MODELS[case]
    X, y = continuous()
    X[:, 2] = 2 * X[:, 0] - 1
    model = make().fit(frame(X), y)
    text = str(model.verdict_)
    assert "singular covariance" in text and "'alpha'" in text and "'gamma'" in text and "'beta'" not in text
    assert "rank 2 of 3" in text
    wanted = make().fit(X[:, :2], y).predict_proba(X[:, :2])
    np.testing.assert_allclose(model.predict_proba(frame(X)), wanted, atol=1e-4)
    assert np.isfinite(model.score_samples(frame(X))).all()
    shrunk = make().set_params(shrinkage=0.1).fit(X, y)
    assert "singular" not in str(shrunk.verdict_) and "shrinkage: 0.1" in str(shrunk.verdict_)


@pytest.mark.parametrize(
    "case", [*GAUSSIAN, "GaussianNB", "GaussianNB class", "NaiveBayes", "multivariate normal", "normal"]
)
def test_a_constant_column_says_nothing(case):
    make, _ = MODELS[case]
    X, y = continuous()
    X[:, 1] = 7.0
    model = make().fit(frame(X), y)
    assert np.isfinite(model.predict_proba(frame(X))).all()
    if case not in ("multivariate normal", "normal", "spherical"):
        assert "'beta' constant" in str(model.verdict_)
        wanted = make().fit(X[:, ::2], y).predict_proba(X[:, ::2])
        np.testing.assert_allclose(model.predict_proba(frame(X)), wanted, atol=1e-6)


def test_a_variance_of_zero_is_named():
    X, y = continuous()
    X[y == 1, 1] = 3.0
    with pytest.warns(NoSpreadWarning, match="raise var_smoothing"):
        text = str(GaussianNB(var_smoothing=0).fit(frame(X), y).verdict_)
    assert "variance 0 in a class in column 'beta'" in text and "var_smoothing" in text
    with pytest.warns(NoSpreadWarning, match="variance 0 in a class in column 'beta'"):
        model = GaussianNB().fit(frame(X), y)
    assert "1e-09 of the largest column's" in str(model.verdict_)
    assert np.isfinite(model.predict_proba(frame(X))).all()


@every
def test_a_class_of_weight_zero_and_weights_that_are_all_zero(case):
    make, draw = MODELS[case]
    X, y = draw()
    model = make().fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]
    one = (y == 1).astype(float)
    if make()._one_class:
        assert make().fit(X, y, sample_weight=one).classes_.tolist() == [1]
    else:
        assert "one class" in message_of(lambda: make().fit(X, y, sample_weight=one))
    assert "zero in every row" in message_of(lambda: make().fit(X, y, sample_weight=np.zeros(len(y))))
    text = message_of(lambda: make().fit(X, y, sample_weight=np.where(np.arange(len(y)) == 4, -1.0, 1.0)))
    assert "row 4" in text and "-1" in text


@every
def test_one_class_only(case):
    make, draw = MODELS[case]
    X, _ = draw()
    if make()._one_class:  # as scikit-learn's naive Bayes
        model = make().fit(X, ["only"] * len(X))
        assert (model.predict(X) == "only").all() and (model.predict_proba(X) == np.ones((len(X), 1))).all()
        return
    text = message_of(lambda: make().fit(X, ["only"] * len(X)))
    assert "one class" in text and "'only'" in text


@pytest.mark.parametrize("case", [*GAUSSIAN, "multivariate normal", "normal", "poisson", "gamma"])
def test_a_column_without_any_value_is_named(case):
    make, draw = MODELS[case]
    X, y = draw()
    X[:, 1] = np.nan
    text = message_of(lambda: make().fit(frame(X), y))
    assert "'beta'" in text, text


@pytest.mark.parametrize(
    "case",
    ["GaussianNB", "GaussianNB class", "BernoulliNB", "CategoricalNB", "NaiveBayes", "NaiveBayes poisson"],
)
def test_a_column_without_any_value_says_nothing(case):
    make, draw = MODELS[case]
    X, y = draw()
    full = X.copy()
    X[:, 1] = np.nan
    model = make().fit(frame(X) if "poisson" not in case else X, y)
    text = str(model.verdict_)
    assert "'beta'" in text or "column 1" in text or "never seen" in text
    without = make()
    if "poisson" in case:
        without.set_params(families={0: "poisson", 1: "poisson"})
    without.fit(X[:, ::2], y)
    table = X if "poisson" in case else frame(X)
    np.testing.assert_allclose(model.predict_proba(table), without.predict_proba(X[:, ::2]), atol=1e-12)
    if case not in ("NaiveBayes",):  # there the column is one of no kind
        later = full if "poisson" in case else frame(full)
        assert np.isfinite(model.predict_proba(later)).all()


@pytest.mark.parametrize("case", ["GaussianNB", "NaiveBayes", "BernoulliNB", "CategoricalNB"])
def test_a_column_missing_in_one_class_only(case):
    make, draw = MODELS[case]
    X, y = draw()
    X[y == 1, 1] = np.nan
    model = make().fit(frame(X), y)
    full, _ = draw()
    assert np.isfinite(model.predict_proba(frame(full))).all()
    if case in ("GaussianNB", "NaiveBayes"):
        assert "no value in some class of column 'beta'" in str(model.verdict_)


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


# ---- levels and kinds ----


def test_an_unseen_level_has_the_documented_probability():
    X, y = np.array([[0], [0], [1], [1], [1]]), [0, 0, 0, 1, 1]
    model = CategoricalNB(alpha=0.5).fit(X, y)
    seen = [0.5 / (3 + 0.5 * 2), 0.5 / (2 + 0.5 * 2)]  # α / (n_k + αL)
    np.testing.assert_allclose(np.exp(model.class_log_density([[7]])), [seen])
    assert model.predict_proba([[7]]).sum() == pytest.approx(1)
    words = NaiveBayes(alpha=0.5).fit([["a"], ["a"], ["b"], ["b"], ["b"]], y)
    np.testing.assert_allclose(np.exp(words.class_log_density([["never"]])), [seen])
    silent = CategoricalNB(alpha=0).fit(X, y)  # no smoothing: it says nothing
    np.testing.assert_allclose(silent.predict_proba([[7]]), [silent.class_prior_])


@pytest.mark.parametrize("kind", ["words then numbers", "numbers then words", "booleans then words"])
def test_a_column_that_changes_its_kind_is_named(kind):
    words, numbers = (
        [["x", 1.5], ["y", 2.5], ["x", 3.5], ["y", 4.5]],
        [[1.0, 1.5], [2.0, 2.5], [3.0, 3.5], [4.0, 4.5]],
    )
    flags = [[True, 1.5], [False, 2.5], [True, 3.5], [False, 4.5]]
    first, second = {
        "words then numbers": (words, numbers),
        "numbers then words": (numbers, words),
        "booleans then words": (flags, words),
    }[kind]
    model = NaiveBayes().fit(first, [0, 1, 0, 1])
    for call in (lambda: model.predict(second), lambda: model.partial_fit(second, [0, 1, 0, 1])):
        text = message_of(call)
        assert "column 0" in text and "training" in text and "row 0" in text, text
    model.predict(first)  # and it is as it was


def test_dates_and_lists_are_no_cells():
    pd = pytest.importorskip("pandas")
    dates = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"]), "x": [1.0, 2.0]})
    assert "'when'" in message_of(lambda: NaiveBayes().fit(dates, [0, 1]))
    assert "column 0" in message_of(
        lambda: NaiveBayes().fit(np.array([[{}, 1], [{}, 2]], dtype=object), [0, 1])
    )
    words = pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]})
    for make in (LinearDiscriminantAnalysis, GaussianNB, MultinomialNB, CategoricalNB, GenerativeClassifier):
        assert "'a'" in message_of(lambda make=make: make().fit(words, [0, 1]))


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


# ---- tables of the wrong form ----


@every
def test_sparse_rows_where_zeros_are_values(case):
    make, draw = MODELS[case]
    X, y = draw()
    if case in ("BernoulliNB", "MultinomialNB"):
        a, b = make().fit(X, y), make().fit(sp.csr_array(X), y)
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(sp.coo_array(X)), atol=1e-12)
        np.testing.assert_allclose(a.score_samples(X), b.score_samples(sp.csc_array(X)), rtol=1e-12)
        return
    model = make().fit(X, y)
    for call in (lambda: make().fit(sp.csr_array(X), y), lambda: model.predict(sp.csr_array(X))):
        with pytest.raises(TypeError, match="toarray"):
            call()


def test_sparse_bits_without_binarising():
    X, y = bits()
    a, b = BernoulliNB(binarize=None).fit(X, y), BernoulliNB(binarize=None).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(sp.csr_array(X)), atol=1e-12)
    wrong = X.copy()
    wrong[9, 1] = 2.0
    text = message_of(lambda: BernoulliNB(binarize=None).fit(sp.csr_array(wrong), y))
    assert "column 1" in text and "row 9" in text
    with pytest.raises(ValueError, match="binarize"):
        BernoulliNB(binarize=-1.0).fit(sp.csr_array(X), y)


def test_a_missing_cell_in_sparse_bits():
    """NaN stored in a sparse table is missing, as in a dense one, or refused: it is not a zero."""
    X, y = bits()
    X[5, 1] = np.nan
    dense = BernoulliNB().fit(X, y)
    refused = ""
    try:
        sparse = BernoulliNB().fit(sp.csr_array(X), y)
    except ValueError as error:
        refused = str(error)
    if refused:
        assert "NaN" in refused and "column 1" in refused
    else:
        np.testing.assert_allclose(sparse.feature_log_prob_, dense.feature_log_prob_, rtol=1e-12)


@every
def test_prediction_with_other_columns(case):
    make, draw = MODELS[case]
    X, y = draw()
    model = make().fit(X, y)
    for method in ("predict", "predict_proba", "score_samples", "class_log_density"):
        with pytest.raises(ValueError, match="3 features"):
            getattr(model, method)(X[:, :2])
        with pytest.raises(ValueError, match=r"2D|1D|dimension"):
            getattr(model, method)(X[0])
    pd = pytest.importorskip("pandas")
    model = (
        make().fit(pd.DataFrame(X, columns=[0, 1, 2]), y)
        if case == "NaiveBayes poisson"
        else make().fit(frame(X), y)
    )
    if case == "NaiveBayes poisson":
        return
    for table in (frame(X)[NAMES[::-1]], frame(X).rename(columns={"beta": "other"})):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(table)
    with pytest.raises(ValueError, match=r"3 features|feature names"):
        model.partial_fit(frame(X)[["alpha"]], y)


@every
def test_rows_and_labels_of_different_number(case):
    make, draw = MODELS[case]
    X, y = draw()
    for call in (
        lambda: make().fit(X, y[:-1]),
        lambda: make().partial_fit(X, y[:-1]),
        lambda: make().fit(X, y, sample_weight=np.ones(3)),
        lambda: make().fit(X[:0], y[:0]),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(ValueError, match=r"requires y|y cannot be None"):
        make().fit(X, None)


@every
def test_a_refused_chunk_changes_nothing(case):
    make, draw = MODELS[case]
    X, y = draw()
    model = make().fit(X, y)
    before, text = model.predict_proba(X), str(model.verdict_)
    wrong = X.copy()
    wrong[3, 1] = np.inf
    calls = [
        lambda: model.partial_fit(wrong, y),
        lambda: model.partial_fit(X[:, :2], y),
        lambda: model.partial_fit(X, y[:-1]),
        lambda: model.partial_fit(X, [None] * len(y)),
        lambda: model.partial_fit(X, y, sample_weight=np.zeros(len(y))),
    ]
    for call in calls:
        with pytest.raises(ValueError):
            call()
        np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.classes_.tolist() == [0, 1, 2] and str(model.verdict_) == text
    model.partial_fit(X[:10], y[:10])  # and it goes on


def test_labels_of_another_type_in_a_later_chunk():
    X, y = continuous()
    model = GaussianNB().partial_fit(X, y)
    with pytest.raises(ValueError, match="label"):
        model.partial_fit(X[:5], ["a", "b", "a", "b", "a"])
    assert model.classes_.tolist() == [0, 1, 2]
    tuples = [(0, "x"), (1, "y"), (2, "z")]
    model = GaussianNB().partial_fit(X[:30], [tuples[k] for k in y[:30]], classes=[*tuples, (9, "w")])
    assert model.classes_.tolist() == [*tuples, (9, "w")]
    model.partial_fit(X[30:], [tuples[k] for k in y[30:]])
    np.testing.assert_allclose(
        model.predict_proba(X)[:, :3], GaussianNB().fit(X, y).predict_proba(X), atol=1e-12
    )


@every
def test_before_fit(case):
    make, draw = MODELS[case]
    X, y = draw()
    for method in ("predict", "predict_proba", "predict_log_proba", "score_samples", "class_log_density"):
        with pytest.raises(NotFittedError):
            getattr(make(), method)(X)
    with pytest.raises(NotFittedError):
        make().sample(3)
    with pytest.raises(NotFittedError):
        make().merge(make().fit(X, y))
    with pytest.raises(NotFittedError):
        make().fit(X, y).merge(make())


@every
def test_samples_that_cannot_be_drawn(case):
    make, draw = MODELS[case]
    X, y = draw()
    model = make().fit(X, y)
    for n in (0, -1, 2.5, "x", None, True):
        with pytest.raises(ValueError, match="whole number"):
            model.sample(n)
    for label in (7, "a", 1.5):
        with pytest.raises(ValueError, match="not a class"):
            model.sample(3, y=label)


def test_models_that_cannot_be_merged():
    X, y = continuous()
    a = GaussianNB().fit(X, y)
    with pytest.raises(TypeError, match="GaussianNB with Linear"):
        a.merge(LinearDiscriminantAnalysis().fit(X, y))
    with pytest.raises(ValueError, match="tie"):
        a.merge(GaussianNB(tie="class").fit(X, y))
    with pytest.raises(ValueError, match="columns"):
        a.merge(GaussianNB().fit(X[:, :2], y))
    with pytest.raises(ValueError, match="columns"):
        GaussianNB().fit(frame(X), y).merge(GaussianNB().fit(frame(X).rename(columns={"beta": "b"}), y))
    with pytest.raises(ValueError, match="families"):
        NaiveBayes().fit(X, y).merge(NaiveBayes().fit(*positive()))
    b = GaussianNB(priors=np.full(3, 1 / 3))
    assert b.fit(X, y).merge(clone(b).fit(X, y)).class_count_.sum() == 2 * len(y)
    assert a.merge(a).class_count_.sum() == 2 * len(y)


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


# ---- what the verdict says ----


def test_the_verdict_of_smoothing_and_of_cells_never_seen():
    X, y = np.array([[0, 1], [0, 0], [1, 1], [1, 1]]), [0, 0, 1, 1]
    text = str(BernoulliNB().fit(X, y).verdict_)
    assert "closed form, unique" in text and "moment residual" in text
    assert "smoothing: 1 virtual row" in text
    assert re.search(r"3 of 4 class–column pairs (were )?never seen as both", text)
    assert "('beta', 2, 3)" in str(BernoulliNB(smoothing=("beta", 2, 3)).fit(X, y).verdict_)
    assert "('m', 4, 'marginal')" in str(BernoulliNB(smoothing=("m", 4, "marginal")).fit(X, y).verdict_)
    text = str(MultinomialNB(alpha=0.5).fit(X, y).verdict_)
    assert "smoothing: 0.5 virtual row" in text and "1 of 4 class–column pairs were never seen" in text
    text = str(CategoricalNB().fit(X, y).verdict_)
    assert "smoothing: 1 virtual row" in text and "3 class–level pairs were never seen" in text
    text = str(NaiveBayes(alpha=2).fit([["a", 0.5], ["b", 1.5], ["b", -1.0], ["b", 2.0]], y).verdict_)
    assert "smoothing: 2 virtual row" in text and "1 class–level pair" in text and "1e-09" in text
    text = str(GaussianNB(var_smoothing=0.01, var_smoothing_per_column=True).fit(X, y).verdict_)
    assert "0.01 of its column's" in text


@pytest.mark.parametrize("family", ["poisson", "multinomial", "bernoulli"])
def test_a_family_without_smoothing_says_what_was_never_seen(family):
    X, y = np.array([[0, 1], [0, 1], [1, 0], [1, 1]]), [0, 0, 1, 1]
    model = GenerativeClassifier(family).fit(X, y)
    proba = model.predict_proba([[0, 1], [1, 0]])
    np.testing.assert_allclose(proba[1], [0, 1])
    assert np.isfinite(proba).all()
    assert "never seen" in str(model.verdict_)


@every
def test_every_verdict_is_a_closed_form(case):
    make, draw = MODELS[case]
    X, y = draw()
    v = make().fit(X, y).verdict_
    assert (v.status, v.unique, v.settled, v.stopped_by, v.sweeps) == (
        "closed form",
        True,
        True,
        "formula",
        1.0,
    )
    assert v.model == type(make()).__name__ and v.findings[0].startswith("moment residual")
    assert v.gap <= v.tol and v.bound <= v.objective
    assert float(re.search(r"moment residual (\S+)", v.findings[0]).group(1)) < 1e-8
    assert v.seconds > 0 and isinstance(v.objective, float)


def test_two_families_that_say_the_same_say_it_once():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 1.0], [1.0, 2.0]])
    text = str(NaiveBayes({0: "bernoulli", 1: "categorical"}).fit(X, [0, 0, 1, 1]).verdict_)
    assert text.count("smoothing: 1 virtual row") == 1


def test_a_known_variance_in_one_column_leaves_the_smoothing_of_the_others():
    X, y = continuous()
    known = NaiveBayes({0: Normal(variance=2.0), 1: "gaussian", 2: "gaussian"}, var_smoothing=0.5).fit(X, y)
    plain = NaiveBayes(["gaussian"] * 3, var_smoothing=0.5).fit(X, y)
    for j in (1, 2):
        np.testing.assert_allclose(
            known.parameters_[j]["variance"], plain.parameters_[j]["variance"], rtol=1e-13
        )
    np.testing.assert_array_equal(known.parameters_[0]["variance"], 2.0)
