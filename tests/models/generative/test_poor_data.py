"""Classes of one row, columns without news, levels never seen: what comes of them, and what the verdict says."""

from __future__ import annotations

import re

import numpy as np
import pytest

from separatrix import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
)
from separatrix.core.families import Normal
from separatrix.models.generative.impossible import NoSpreadWarning
from tests.models.generative.every_model import GAUSSIAN, MODELS, NAIVE, continuous, every, frame, message_of

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
