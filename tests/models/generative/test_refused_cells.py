"""What a generative model refuses of a table, and how it says so: by column, row and remedy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from separatrix import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
    engine,
)
from tests.models.generative.every_model import (
    GAUSSIAN,
    MODELS,
    NAIVE,
    NAMES,
    bits,
    continuous,
    counts,
    every,
    fractions,
    frame,
    message_of,
    positive,
    shares,
)

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
