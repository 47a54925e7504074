"""Rows no class can have, and classes that do not vary: said by one warning, answered by the prior, never NaN."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from separatrix import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianDiscriminant,
    GaussianNB,
    GenerativeClassifier,
    ImpossibleRowsWarning,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    NoSpreadWarning,
    QuadraticDiscriminantAnalysis,
)

BITS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [0, 0, 1]])
SIDES = np.array(["left", "left", "right", "right", "right"])
BITS_NO_CLASS_HAS = np.array([[1, 0, 1], [1, 0, 0]])  # the first row: neither class has 1 . 1
IRIS, KINDS = load_iris(return_X_y=True)
FAR = np.vstack([IRIS[:3], np.full((1, 4), 1e200), IRIS[3:5], np.full((1, 4), -1e200)])

CASES = {
    "MultinomialNB": (MultinomialNB(alpha=0.0), BITS, SIDES, BITS_NO_CLASS_HAS, [0]),
    "BernoulliNB": (BernoulliNB(alpha=0.0), BITS, SIDES, BITS_NO_CLASS_HAS, [0]),
    "CategoricalNB": (CategoricalNB(alpha=0.0), BITS, SIDES, BITS_NO_CLASS_HAS, [0]),
    "NaiveBayes": (NaiveBayes(alpha=0.0), BITS, SIDES, BITS_NO_CLASS_HAS, [0]),
    "bernoulli": (GenerativeClassifier("bernoulli"), BITS, SIDES, BITS_NO_CLASS_HAS, [0]),
    "GaussianNB": (GaussianNB(), IRIS, KINDS, FAR, [3, 6]),
    "GaussianNB tied": (GaussianNB(tie="class"), IRIS, KINDS, FAR, [3, 6]),
    "GaussianNB far apart": (GaussianNB(), IRIS + 1e6 * KINDS[:, None], KINDS, FAR, [3, 6]),
    "QDA": (QuadraticDiscriminantAnalysis(), IRIS, KINDS, FAR, [3, 6]),
    "per-class": (GaussianDiscriminant("per-class"), IRIS, KINDS, FAR, [3, 6]),
    "normal": (GenerativeClassifier(), IRIS, KINDS, FAR, [3, 6]),
    "multivariate": (GenerativeClassifier("multivariate_normal"), IRIS, KINDS, FAR, [3, 6]),
    "NaiveBayes normal": (NaiveBayes(dict.fromkeys(range(4), "normal")), IRIS, KINDS, FAR, [3, 6]),
}


@pytest.mark.parametrize("case", CASES)
def test_one_warning_counts_the_rows_and_every_method_answers_by_the_prior(case):
    model, X, y, rows, lost = CASES[case]
    model.fit(X, y)
    said, fine = {}, np.setdiff1d(np.arange(len(rows)), lost)
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        if not hasattr(model, name):
            continue
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            said[name] = getattr(model, name)(rows)
        assert [w.category for w in heard] == [ImpossibleRowsWarning], name
        text = str(heard[0].message)
        assert f"row {lost[0]}" in text and (len(lost) == 1 or f"{len(lost)} of {len(rows)} rows" in text)
        assert heard[0].filename == __file__
    prior = np.asarray(model.class_prior_)
    np.testing.assert_allclose(said["predict_proba"][lost], np.tile(prior, (len(lost), 1)), rtol=1e-12)
    np.testing.assert_allclose(np.exp(said["predict_log_proba"]), said["predict_proba"], atol=1e-14)
    assert (said["predict"][lost] == model.classes_[prior.argmax()]).all()
    np.testing.assert_array_equal(said["predict"], model.classes_[said["predict_proba"].argmax(axis=1)])
    if "decision_function" in said:
        scores = said["decision_function"][lost]
        log_odds = scores if scores.ndim == 1 else scores[:, 1] - scores[:, 0]
        np.testing.assert_allclose(log_odds, np.log(prior[1] / prior[0]), rtol=1e-9, atol=1e-12)
    with pytest.warns(ImpossibleRowsWarning):
        assert model.score(rows, said["predict"]) == 1.0
    with warnings.catch_warnings():  # the other rows are as they were, and in silence
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict_proba(rows[fine]), said["predict_proba"][fine])
        joint = model.predict_joint_log_proba(rows)
    assert not np.isfinite(joint[lost]).any()


def test_many_rows_are_counted_over_tiles_and_sparse_rows_too():
    X = np.tile(BITS, (20_000, 1))
    X[70_001] = BITS_NO_CLASS_HAS[0]
    X[70_005] = BITS_NO_CLASS_HAS[0]
    for cells in (X, sp.csr_matrix(X)):
        model = MultinomialNB(alpha=0.0).fit(BITS, SIDES)
        with pytest.warns(ImpossibleRowsWarning, match="2 of 100000 rows .the first is row 70001"):
            model.predict(cells)


def test_a_stored_zero_of_a_sparse_row_is_no_word():
    model = MultinomialNB(alpha=0.0).fit(BITS, SIDES)
    stored = sp.csr_matrix((np.array([1.0, 0.0]), np.array([0, 2]), np.array([0, 2])), shape=(1, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(stored).tolist() == ["left"]


def test_a_word_of_one_class_alone_decides_in_the_complement():
    model = ComplementNB(alpha=0.0).fit(BITS, SIDES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict_proba([[1, 0, 0], [0, 0, 1]]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.warns(ImpossibleRowsWarning, match="row 0"):
        np.testing.assert_allclose(model.predict_proba([[1, 0, 1]]), [[0.4, 0.6]])
    with pytest.raises(ValueError, match="norm=True divides"):
        ComplementNB(alpha=0.0, norm=True).fit(BITS, SIDES)


def test_a_lazy_table_is_counted_when_it_is_computed():
    da = pytest.importorskip("dask.array")
    model = MultinomialNB(alpha=0.0).fit(BITS, SIDES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lazy = model.predict_proba(da.from_array(BITS_NO_CLASS_HAS, chunks=(1, 3)))
    with pytest.warns(ImpossibleRowsWarning):
        np.testing.assert_allclose(lazy.compute(scheduler="synchronous")[0], [0.4, 0.6])


# ---- classes that do not vary ----

LONE = np.append(KINDS[:100], 7)  # one row of class 7
ONE_EACH = np.arange(4)


@pytest.mark.parametrize(
    "make, X, y, words",
    [
        (GaussianNB, IRIS[:101], LONE, "class 7, whose rows are all alike"),
        (lambda: GaussianNB(var_smoothing_per_column=True), IRIS[:101], LONE, "variance 0 in class 7"),
        (lambda: NaiveBayes(dict.fromkeys(range(4), "normal")), IRIS[:101], LONE, "variance 0 in class 7"),
        (QuadraticDiscriminantAnalysis, IRIS[:101], LONE, "singular covariance of class 7"),
        (lambda: QuadraticDiscriminantAnalysis(reg_param=0.5), IRIS[:101], LONE, "class 7 do not vary"),
        (QuadraticDiscriminantAnalysis, IRIS[:4], ONE_EACH, "singular covariance"),
        (LinearDiscriminantAnalysis, IRIS[:4], ONE_EACH, "singular covariance of the classes"),
        (lambda: LinearDiscriminantAnalysis("lsqr", shrinkage=0.5), IRIS[:4], ONE_EACH, "singular"),
        (lambda: GaussianDiscriminant("diagonal"), IRIS[:101], LONE, "singular covariance of class 7"),
        (GenerativeClassifier, IRIS[:101], LONE, "variance 0 in a class"),
        (lambda: GenerativeClassifier("multivariate_normal"), IRIS[:101], LONE, "singular covariance"),
    ],
)
def test_a_class_without_variance_is_warned_of(make, X, y, words):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = make().fit(X, y)
    assert [w.category for w in heard] == [NoSpreadWarning]
    assert words in str(heard[0].message) and words in str(model.verdict_)
    assert heard[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(model.predict_proba(X)).all()


def test_a_column_that_smoothing_swallows_is_warned_of():
    unit = np.array([1.0, 1.0, 1e-9, 1.0])
    with pytest.warns(NoSpreadWarning, match="column 2: var_smoothing_per_column=True"):
        GaussianNB().fit(IRIS * unit, KINDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianNB(var_smoothing_per_column=True).fit(IRIS * unit, KINDS)
        GaussianNB(var_smoothing=0.1).fit(IRIS * unit, KINDS)  # a choice, and said in the verdict


@pytest.mark.parametrize(
    "make",
    [
        GaussianNB,
        lambda: GaussianNB(tie="class"),
        NaiveBayes,
        LinearDiscriminantAnalysis,
        lambda: LinearDiscriminantAnalysis("eigen", shrinkage="auto"),
        QuadraticDiscriminantAnalysis,
        lambda: GaussianDiscriminant("per-class"),
        GenerativeClassifier,
        BernoulliNB,
        MultinomialNB,
        ComplementNB,
    ],
)
def test_an_ordinary_fit_warns_of_nothing(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit(IRIS, KINDS).predict(IRIS)
    with warnings.catch_warnings():  # chunks of one row: more may come, the verdict alone says it
        warnings.simplefilter("error")
        model = make()
        if getattr(model, "shrinkage", None) != "auto":
            model.partial_fit(IRIS[:1], KINDS[:1], classes=[0, 1, 2])


def test_columns_that_repeat_others_are_no_cause_for_alarm_in_lda():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearDiscriminantAnalysis().fit(np.hstack([IRIS, IRIS[:, :1] + IRIS[:, 1:2]]), KINDS)
    assert "singular" in str(model.verdict_)
