"""Changing the import changes no number: generative models beside scikit-learn's, and edits of what they show."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import discriminant_analysis, naive_bayes
from sklearn.base import clone
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import separatrix
from benchmarks import shared
from separatrix import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianDiscriminant,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
    verify,
)

pytestmark = pytest.mark.filterwarnings("ignore::separatrix.models.generative.impossible.NoSpreadWarning")
REAL = ("banknote", "vehicle", "optdigits", "pima")
BUNDLED = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}
ANSWERS = ("predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function")


def table(name):
    """Numbers and labels of a bundled table, or of a shared one (1,000 rows at most)."""
    if name in BUNDLED:
        return BUNDLED[name](return_X_y=True)
    if not shared.available():
        pytest.skip(f"no shared data at {shared.root()}")
    X, y, _ = shared.numeric(name)
    keep = np.random.default_rng(0).permutation(len(y))[:1000]
    return np.asarray(X, dtype=float)[keep], np.asarray(y)[keep]


def counts(name="digits"):
    X, y = load_digits(return_X_y=True)
    return (X, y) if name == "digits" else (np.round(table(name)[0].clip(0)), table(name)[1])


def theirs_of(model):
    """scikit-learn's model of the same name and parameters."""
    cls = getattr(naive_bayes, type(model).__name__, None) or getattr(
        discriminant_analysis, type(model).__name__
    )
    known = cls().get_params()
    return cls(**{k: v for k, v in model.get_params().items() if k in known})


def assert_same(ours, theirs, X, atol=1e-9):
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=atol)


# ---- GaussianNB ----


@pytest.mark.parametrize("name", [*BUNDLED, *REAL])
@pytest.mark.parametrize("smoothing", [1e-9, 1e-3])
def test_var_smoothing_is_scikit_learns(name, smoothing):
    X, y = table(name)
    ours = GaussianNB(var_smoothing=smoothing).fit(X, y)
    theirs = theirs_of(ours).fit(X, y)
    np.testing.assert_allclose(ours.epsilon_, theirs.epsilon_, rtol=1e-10)
    assert np.ndim(ours.epsilon_) == 0
    np.testing.assert_allclose(ours.theta_, theirs.theta_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-9)
    assert_same(ours, theirs, X, 1e-7)
    assert GaussianNB(var_smoothing_per_column=True).fit(X, y).epsilon_.shape == (X.shape[1],)


# ---- ComplementNB ----


@pytest.mark.parametrize("name", ["digits", "optdigits", "vehicle", "banknote"])
@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_complement_is_scikit_learns(name, norm, container):
    X, y = counts(name)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    for given in ({}, {"alpha": 0.1}, {"alpha": np.linspace(0.5, 2, X.shape[1])}):
        ours = ComplementNB(norm=norm, **given).fit(container(X), y, sample_weight=weight)
        theirs = theirs_of(ours).fit(X, y, sample_weight=weight)
        for public in (
            "feature_log_prob_",
            "feature_count_",
            "feature_all_",
            "class_count_",
            "class_log_prior_",
        ):
            np.testing.assert_allclose(
                getattr(ours, public), getattr(theirs, public), rtol=1e-11, err_msg=public
            )
        assert_same(ours, theirs, container(X), 1e-8)


def test_complement_learns_in_pieces_weights_are_repetition_and_the_verdict_is_verified():
    X, y = counts()
    whole = ComplementNB().fit(X, y)
    pieces = ComplementNB().partial_fit(X[:600], y[:600]).partial_fit(X[600:], y[600:])
    merged = ComplementNB().fit(X[:900], y[:900]).merge(ComplementNB().fit(X[900:], y[900:]))
    times = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = ComplementNB().fit(X, y, sample_weight=times)
    repeated = ComplementNB().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    for one, two in ((whole, pieces), (whole, merged), (weighted, repeated)):
        np.testing.assert_allclose(one.feature_log_prob_, two.feature_log_prob_, rtol=1e-12)
    found = verify(whole, X, y)
    assert found.status == "closed form"
    assert found.objective == pytest.approx(whole.verdict_.objective, rel=1e-10)
    whole.feature_log_prob_[0] *= 1.1
    assert verify(whole, X, y).status == "not converged"
    for name in ("sample", "score_samples", "class_log_density"):
        assert not hasattr(whole, name)
        with pytest.raises(AttributeError, match="no density"):
            getattr(whole, name)
    with pytest.raises(ValueError, match="row 1 has no label"):
        ComplementNB().fit(X[:3], ["a", None, "b"])


# ---- class_weight ----

WEIGHED = [
    GaussianNB(), GaussianNB(tie="class"), BernoulliNB(), MultinomialNB(), CategoricalNB(), ComplementNB(),
    NaiveBayes(),
    LinearDiscriminantAnalysis(), LinearDiscriminantAnalysis("lsqr", shrinkage=0.2), QuadraticDiscriminantAnalysis(),
    GaussianDiscriminant([[0, 1], [2]]), GenerativeClassifier(),
]  # fmt: skip


@pytest.mark.parametrize("model", WEIGHED, ids=str)
def test_class_weight_is_weight_times_a_factor_of_the_class(model):
    X, y = load_iris(return_X_y=True)
    X, y = np.round(X), np.where(np.arange(150) < 120, y, 0)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    totals = np.bincount(y, weight)
    for given, factor in (
        ({0: 1.0, 1: 3.0, 2: 0.5}, np.array([1.0, 3.0, 0.5])),
        ({1: 4.0}, np.array([1.0, 4.0, 1.0])),
        ("balanced", totals.sum() / (3 * totals)),
    ):
        ours = clone(model).set_params(class_weight=given).fit(X, y, sample_weight=weight)
        plain = clone(model).fit(X, y, sample_weight=weight * factor[y])
        np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(X), atol=1e-12)
        assert verify(ours, X, y, weight).status == "closed form"
        if given == "balanced":
            for call in (lambda m: m.partial_fit(X, y), lambda m: m.merge(m)):
                with pytest.raises(ValueError, match="balanced"):
                    call(ours)
    pieces = clone(model).set_params(class_weight={0: 2.0, 2: 5.0})
    pieces.partial_fit(X[y == 0], y[y == 0]).partial_fit(X[y > 0], y[y > 0])
    whole = clone(model).set_params(class_weight={0: 2.0, 2: 5.0}).fit(X, y)
    np.testing.assert_allclose(pieces.predict_proba(X), whole.predict_proba(X), atol=1e-9)
    for wrong, words in (("even", "unknown"), ({9: 1.0}, "9"), ({0: -1.0}, "positive"), (3, "dictionary")):
        with pytest.raises(ValueError, match=words):
            clone(model).set_params(class_weight=wrong).fit(X, y)


# ---- discriminants ----


@pytest.mark.parametrize("name", ["iris", "wine", "banknote", "vehicle", "pima"])
def test_the_axes_of_qda_are_scikit_learns(name):
    X, y = table(name)
    ours = QuadraticDiscriminantAnalysis(reg_param=1e-3).fit(X, y)
    theirs = theirs_of(ours).fit(X, y)
    for k in range(len(ours.classes_)):
        R, S = ours.rotations_[k], ours.scalings_[k]
        np.testing.assert_allclose(S, theirs.scalings_[k], rtol=1e-8, atol=1e-8 * S.max())
        np.testing.assert_allclose((R * S) @ R.T, ours.covariance_[k], atol=1e-9 * S.max())
        np.testing.assert_allclose(R.T @ R, np.eye(len(S)), atol=1e-12)
    assert_same(ours, theirs, X, 1e-7)


@pytest.mark.parametrize("estimator", [LedoitWolf(), OAS(), EmpiricalCovariance()], ids=str)
@pytest.mark.parametrize("name", ["iris", "wine", "banknote", "vehicle"])
def test_covariance_estimators_are_asked_as_scikit_learn_asks_them(name, estimator):
    X, y = table(name)
    X, even = (X - X.mean(axis=0)) / X.std(axis=0), np.full(len(set(y)), 1 / len(set(y)))
    for ours in (
        LinearDiscriminantAnalysis("lsqr", covariance_estimator=estimator),
        LinearDiscriminantAnalysis("eigen", covariance_estimator=estimator, priors=even),
        QuadraticDiscriminantAnalysis(solver="eigen", covariance_estimator=estimator),
    ):
        theirs = theirs_of(ours).set_params(covariance_estimator=clone(estimator)).fit(X, y)
        ours.fit(X, y)
        assert not hasattr(ours.covariance_estimator, "covariance_")  # a clone of it was fitted
        assert_same(ours, theirs, X, 1e-6)
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), rtol=1e-6, atol=1e-6
        )


def test_covariance_estimators_that_cannot_be_meant():
    X, y = load_iris(return_X_y=True)
    lda = LinearDiscriminantAnalysis("lsqr", covariance_estimator=OAS())
    for make, words in (
        (lambda: LinearDiscriminantAnalysis(covariance_estimator=OAS()).fit(X, y), "solver='svd'"),
        (lambda: QuadraticDiscriminantAnalysis(covariance_estimator=OAS()).fit(X, y), "solver='svd'"),
        (lambda: clone(lda).set_params(shrinkage=0.1).fit(X, y), "only one of the two"),
        (lambda: clone(lda).set_params(covariance_estimator="oas").fit(X, y), "fit method"),
        (
            lambda: clone(lda).set_params(covariance_estimator=GaussianNB()).fit(X, y),
            "takes|argument|covariance_",
        ),
        (lambda: clone(lda).fit(X, y, sample_weight=np.arange(1.0, 151.0)), "takes no weights"),
        (lambda: clone(lda).fit(np.where(X > 7, np.nan, X), y), "all rows at once"),
        (lambda: clone(lda).partial_fit(X, y), "all rows at once"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            make()
    clone(lda).set_params(class_weight="balanced").fit(X, y)  # even within a class


# ---- one class, float32 ----


@pytest.mark.parametrize(
    "model", [GaussianNB(), BernoulliNB(), MultinomialNB(), CategoricalNB(), ComplementNB()], ids=str
)
def test_one_class_is_learnt_as_scikit_learn_learns_it(model):
    X = np.round(load_iris().data[:50])
    ours, theirs = clone(model).fit(X, ["only"] * 50), theirs_of(model).fit(X, ["only"] * 50)
    for name in ("predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        np.testing.assert_allclose(getattr(ours, name)(X), getattr(theirs, name)(X), atol=1e-9)
    assert ours.verdict_.status == "closed form" and not hasattr(ours, "coef_")
    later = ours.partial_fit(X + 1, ["another"] * 50)
    assert later.classes_.tolist() == ["another", "only"] and np.isfinite(later.predict_proba(X)).all()


@pytest.mark.parametrize(
    "model",
    [GaussianNB(), BernoulliNB(), MultinomialNB(), CategoricalNB(), ComplementNB(), LinearDiscriminantAnalysis(),
     QuadraticDiscriminantAnalysis()],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("K", [2, 3])
def test_float32_is_kept_where_scikit_learn_keeps_it(model, K):
    X, y = load_iris(return_X_y=True)
    X, y = np.round(10 * X[y < K]).astype(np.float32), y[y < K]
    ours, theirs, wide = (
        clone(model).fit(X, y),
        theirs_of(model).fit(X, y),
        clone(model).fit(X.astype(float), y),
    )
    for name, value in vars(theirs).items():
        mine = getattr(ours, name, None)
        if name.endswith("_") and isinstance(value, (np.ndarray, list)) and name != "classes_":
            one, other = (np.asarray(v[0] if isinstance(v, (list, tuple)) else v) for v in (mine, value))
            assert one.dtype == other.dtype, name
    for name in ANSWERS:
        if hasattr(theirs, name) and hasattr(ours, name):
            found = getattr(ours, name)(X)
            assert found.dtype == getattr(theirs, name)(X).dtype, name
            reference = getattr(wide, name)(X)
            np.testing.assert_allclose(
                found, reference, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(reference).max())
            )
            assert getattr(wide, name)(X).dtype == np.float64
            assert getattr(ours, name)(X.astype(float)).dtype == np.float64


# ---- what you read is what predicts ----

EDITS = {
    "GaussianNB": (GaussianNB(), ("theta_", "var_", "class_prior_")),
    "BernoulliNB": (BernoulliNB(binarize=4.0), ("feature_log_prob_", "class_log_prior_")),
    "MultinomialNB": (MultinomialNB(), ("feature_log_prob_", "class_log_prior_")),
    "ComplementNB": (ComplementNB(), ("feature_log_prob_",)),
    "CategoricalNB": (CategoricalNB(), ("feature_log_prob_", "class_log_prior_")),
    "QDA": (QuadraticDiscriminantAnalysis(), ("means_", "priors_", "scalings_", "rotations_")),
    "LDA": (LinearDiscriminantAnalysis(), ("coef_", "intercept_")),
    "LDA lsqr": (LinearDiscriminantAnalysis("lsqr"), ("coef_", "intercept_")),
}


def moved(value, name):
    """Other numbers of the same kind."""
    if name in ("class_prior_", "priors_"):
        return np.linspace(1, 2, len(value)) / np.linspace(1, 2, len(value)).sum()
    if name in ("feature_log_prob_", "class_log_prior_"):
        return 0.9 * value - np.linspace(0.1, 0.4, np.size(value)).reshape(np.shape(value))
    return value * (1 + 0.1 * np.linspace(0.2, 1, np.size(value)).reshape(np.shape(value)))


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("case", EDITS)
def test_an_edited_model_predicts_as_scikit_learns_does_after_the_same_edit(case, K):
    """Assigned or in place: the numbers that come out are scikit-learn's own with those arrays."""
    model, names = EDITS[case]
    X, y = load_iris(return_X_y=True)
    X, y = np.round(2 * X[y > 2 - K]), y[y > 2 - K]  # for two classes those that overlap
    for name in names:
        ours, theirs = clone(model).fit(X, y), theirs_of(model).fit(X, y)
        before = ours.predict_proba(X)
        value = getattr(ours, name)
        new = [moved(v, name) for v in value] if isinstance(value, list) else moved(value, name)
        if case == "QDA":  # the same axes, whose signs are free
            theirs.rotations_, theirs.scalings_ = (
                copy.deepcopy(ours.rotations_),
                copy.deepcopy(ours.scalings_),
            )
        inside = copy.deepcopy(ours)
        setattr(ours, name, copy.deepcopy(new))
        setattr(theirs, name, copy.deepcopy(new))
        held = getattr(inside, name)
        for part, other in zip(held, new, strict=True) if isinstance(held, list) else ((held, new),):
            part[...] = other
        assert np.abs(ours.predict_proba(X) - before).max() > 1e-6, name
        for answer in ANSWERS:
            if hasattr(ours, answer) and hasattr(theirs, answer):
                if case.startswith("LDA") and answer == "predict_log_proba":
                    continue  # scikit-learn's is the log of a rounded probability
                wanted = getattr(theirs, answer)(X)
                np.testing.assert_allclose(
                    getattr(ours, answer)(X), wanted, rtol=1e-8, atol=1e-8, err_msg=name
                )
                np.testing.assert_array_equal(
                    getattr(ours, answer)(X), getattr(inside, answer)(X), err_msg=name
                )
        assert verify(ours, X, y).status == "not converged", name
        again = ours.fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), before)
        if hasattr(ours, "partial_fit"):  # facts are what is learnt
            twice = clone(model).fit(np.vstack([X, X]), np.append(y, y))
            np.testing.assert_allclose(
                inside.partial_fit(X, y).predict_proba(X), twice.predict_proba(X), atol=1e-9
            )


def test_parameters_of_families_are_the_state():
    X, y = load_iris(return_X_y=True)
    for model, edit in (
        (NaiveBayes(), lambda m: m.parameters_[2].update({k: 1.2 * v for k, v in m.parameters_[2].items()})),
        (NaiveBayes(dict.fromkeys(range(4), "normal")), lambda m: m.parameters_[0]["mean"].__imul__(1.1)),
        (GenerativeClassifier("gamma"), lambda m: m.parameters_["rate"].__imul__(1.1)),
        (GaussianDiscriminant(), lambda m: m.means_.__imul__(1.1)),
        (GaussianDiscriminant("diagonal"), lambda m: m.means_.__imul__(np.linspace(1, 1.2, 4))),
    ):
        model.fit(X, y)
        before = model.predict_proba(X)
        edit(model)
        assert np.abs(model.predict_proba(X) - before).max() > 1e-6
        if hasattr(model, "coef_") and not isinstance(model, GenerativeClassifier):
            scores = X @ model.coef_.T + model.intercept_
            found = model.predict_log_proba(X)
            np.testing.assert_allclose(found - found[:, :1], scores - scores[:, :1], atol=1e-8)


REPORTED = [
    (GaussianNB(), "class_count_", "prior"), (GaussianNB(), "epsilon_", "var_"),
    (GaussianNB(tie="class"), "coef_", "theta_"), (BernoulliNB(), "coef_", "feature_log_prob_"),
    (MultinomialNB(), "intercept_", "class_log_prior_"), (MultinomialNB(), "feature_count_", "feature_log_prob_"),
    (ComplementNB(), "class_log_prior_", "feature_log_prob_"),
    (CategoricalNB(), "category_count_", "feature_log_prob_"),
    (LinearDiscriminantAnalysis(), "priors_", "intercept_"), (LinearDiscriminantAnalysis(), "means_", "coef_"),
    (QuadraticDiscriminantAnalysis(), "covariance_", "scalings_"), (GaussianDiscriminant(), "coef_", "means_"),
    (GaussianDiscriminant(), "covariance_", "means_"), (GenerativeClassifier("poisson"), "coef_", "parameters_"),
]  # fmt: skip


@pytest.mark.parametrize("model, name, instead", REPORTED, ids=str)
def test_what_only_reports_refuses_an_edit_and_names_the_state(model, name, instead):
    X, y = load_iris(return_X_y=True)
    X = np.round(X)
    model = clone(model).fit(X, y)
    before = model.predict_proba(X)
    value = getattr(model, name)
    with pytest.raises(AttributeError, match=instead):
        setattr(model, name, value)
    for array in value if isinstance(value, tuple) else (value,):
        if np.ndim(array):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_lda_without_a_density_says_so():
    X, y = load_iris(return_X_y=True)
    model = LinearDiscriminantAnalysis().fit(X, y)
    model.intercept_ += np.log([0.2, 1.0, 3.0])  # a correction of the priors
    shifted = LinearDiscriminantAnalysis(priors=np.array([0.2, 1.0, 3.0]) / 4.2).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), shifted.predict_proba(X), atol=1e-10)
    np.testing.assert_allclose(model.rule_.score(X), model.decision_function(X), rtol=1e-10)
    for call in (lambda: model.score_samples(X), lambda: model.sample(3), lambda: model.class_log_density(X)):
        with pytest.raises(ValueError, match="edited"):
            call()
    with pytest.raises(ValueError, match="rows with missing cells: coef_"):
        model.predict([[np.nan, 1.0, 2.0, 3.0]])


def test_an_edit_of_another_shape_is_refused_by_name():
    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X, y)
    model.theta_ = model.theta_[:2]
    with pytest.raises(
        ValueError, match=r"theta_ of GaussianNB has shape \(2, 4\), and the fitted one has \(3, 4\)"
    ):
        model.predict(X)


def test_every_name_is_public():
    for name in ("ComplementNB", "ImpossibleRowsWarning", "NoSpreadWarning"):
        assert name in separatrix.__all__ and hasattr(separatrix, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ComplementNB().get_params() == naive_bayes.ComplementNB().get_params() | {"class_weight": None}
