"""Bayesian logistic regression as an estimator: verdict, rows that come later, bad input, scikit-learn's battery."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import BayesianLogisticRegression, ConvergenceWarning, keep_going, verify
from separatrix.problems.prior import PriorObjective
from tests.models.bayes.beliefs import X0, X3, Y0, Y3, classes, with_ones
from tests.models.reference import overlapping, quiet

# ---- separation, verdict, verify ----


def test_separated_classes_have_a_mode_and_a_proof():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = [0, 0, 1, 1]
    for alpha in (10.0, 1.0, 1e-3, 1e-6):
        model = BayesianLogisticRegression(alpha).fit(X, y)
        assert model.verdict_.status == "optimal" and model.verdict_.unique
        assert np.isfinite(model.coef_).all() and np.isfinite(model.log_evidence_)
        assert verify(model, X, y).status == "optimal"
    for K in (2, 3):
        X, y = load_iris(return_X_y=True)
        keep = y < K
        model = BayesianLogisticRegression("evidence").fit(X[keep], y[keep])
        assert model.verdict_.status == "optimal"
        assert 0 < model.prior_precision_ < 1


@pytest.mark.parametrize("prior", [1.0, "evidence", "ard"])
@classes
def test_verify_confirms_a_fit_and_not_a_changed_one(prior, K):
    X, y = overlapping(150, 4, K, seed=0)
    model = BayesianLogisticRegression(prior).fit(X, y)
    found = verify(model, X, y)
    assert found.status == model.verdict_.status == "optimal"
    assert found.objective == pytest.approx(model.verdict_.objective, rel=1e-9)
    assert "of the fit" not in found.findings[0]
    model.coef_ = model.coef_ + 0.05
    changed = verify(model, X, y)
    assert changed.status == "not converged" and changed.gap > 1e-6
    model = BayesianLogisticRegression(prior).fit(X, y)
    assert verify(model, X[:100], y[:100]).status == "not converged"
    assert "of the fit" in verify(model, X[:100], y[:100]).findings[0]


def test_the_gap_is_a_bound():
    """F(θ) − min F ≤ gap at points that are not the mode."""
    rng = np.random.default_rng(0)
    for K in (2, 3):
        X, y = overlapping(80, 3, K, seed=5)
        model = BayesianLogisticRegression(0.3).fit(X, y)
        least = model.verdict_.objective
        for size in (1e-6, 1e-3, 0.02):
            other = pickle.loads(pickle.dumps(model))
            shift = rng.normal(size=(len(model.coef_), 3)) * size
            other.coef_ = model.coef_ + (shift - shift.mean(axis=0) if K > 2 else shift)
            found = verify(other, X, y)
            assert found.gap >= found.objective - least - 1e-13


def test_stopping_short_is_said():
    X, y = overlapping(150, 4, 2, seed=0)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model = BayesianLogisticRegression(1e-3, max_iter=1).fit(X * 10, y)
    assert model.verdict_.status == "not converged" and model.verdict_.gap > model.verdict_.tol


@pytest.mark.parametrize("prior, call", [(1.0, 3), ("evidence", 12), ("evidence", 13)])
def test_an_interrupted_fit_keeps_the_best_so_far(prior, call, monkeypatch):
    X, y = overlapping(150, 4, 2, seed=0)
    count = [0]
    evaluate = PriorObjective.evaluate

    def interrupted(self, *args, **kwargs):
        count[0] += 1
        if count[0] == call:
            raise KeyboardInterrupt
        return evaluate(self, *args, **kwargs)

    monkeypatch.setattr(PriorObjective, "evaluate", interrupted)
    with keep_going():
        model = BayesianLogisticRegression(prior).fit(X, y)
    assert model.verdict_.status == model.verdict_.stopped_by == "interrupted"
    assert model.score(X, y) > 0.6 and np.isfinite(model.covariance_).all()


@pytest.mark.parametrize("prior", ["evidence", "ard"])
def test_rounds_that_run_out_are_said(prior, monkeypatch):
    X, y = overlapping(60, 4, 2, seed=0)
    monkeypatch.setattr("separatrix.models.bayes.precisions.ROUNDS", 2)
    with pytest.warns(ConvergenceWarning, match="still growing after 2 rounds"):
        model = BayesianLogisticRegression(prior).fit(X, y)
    assert model.verdict_.status == "optimal" and "2 rounds, stopped: no more rounds" in str(model.verdict_)


def test_columns_that_repeat_each_other_need_the_singular_directions():
    X, y = overlapping(200, 3, 2, seed=0)
    wide = np.column_stack([X, X[:, 0] + 1e-9 * X[:, 1]])
    model = BayesianLogisticRegression(1e-9).fit(wide, y)
    assert model.verdict_.status == "optimal" and verify(model, wide, y).status == "optimal"
    single = BayesianLogisticRegression([0.5e-9, 1e-9, 1e-9]).fit(X, y)
    # two equal columns of precision α are one of precision α/2, split evenly
    np.testing.assert_allclose(model.coef_[0, [0, 3]].sum(), single.coef_[0, 0], rtol=1e-5)
    assert model.coef_[0, 0] == pytest.approx(model.coef_[0, 3], rel=1e-4)
    assert model.log_evidence_ == pytest.approx(single.log_evidence_, abs=1e-3)


# ---- rows that come later ----


@pytest.mark.parametrize("prior", [1.0, "evidence", "ard"])
@classes
def test_one_call_of_partial_fit_is_fit(prior, K):
    X, y = overlapping(90, 3, K, seed=1)
    a = BayesianLogisticRegression(prior).fit(X, y)
    b = BayesianLogisticRegression(prior).partial_fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.covariance_, b.covariance_)
    assert a.log_evidence_ == b.log_evidence_ and a.bic_ == b.bic_


@classes
def test_the_posterior_becomes_the_prior(K):
    X, y = overlapping(200, 3, K, seed=1)
    model = BayesianLogisticRegression(0.5).partial_fit(X[:120], y[:120])
    mean = np.column_stack([model.intercept_, model.coef_])
    first, evidence = model.covariance_, model.log_evidence_
    model.partial_fit(X[120:] + 0.0, y[120:])
    if K == 2:  # the same by hand: the posterior given as S₀ and m₀
        hand = BayesianLogisticRegression(prior_covariance=first, prior_mean=mean[0]).fit(X[120:], y[120:])
        assert model.log_evidence_ - evidence == pytest.approx(hand.log_evidence_, abs=1e-7)
        np.testing.assert_allclose(model.coef_, hand.coef_, atol=1e-7)
        np.testing.assert_allclose(model.covariance_, hand.covariance_, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(model.prior_covariance_, first, rtol=1e-8)
    else:  # in contrasts: S_n⁻¹ = S₀⁻¹ + the rows' information, and the slope there is zero
        Q = np.linalg.qr(np.eye(3)[:, :2] - 1 / 3)[0]
        project = np.kron(Q.T, np.eye(4))
        P, A = np.linalg.inv(project @ first @ project.T), with_ones(X[120:])
        o = model.predict_proba(X[120:], method="plugin")
        bend = np.einsum("ki,nkl,lj->nij", Q, o[:, :, None] * (np.eye(3) - o[:, None, :]), Q)
        information = np.einsum("nij,na,nb->iajb", bend, A, A).reshape(8, 8)
        inverse = np.linalg.inv(project @ model.covariance_ @ project.T)
        np.testing.assert_allclose(inverse, P + information, rtol=1e-6, atol=1e-6)
        away = project @ (np.column_stack([model.intercept_, model.coef_]) - mean).ravel()
        slope = project @ ((np.eye(3)[y[120:]] - o).T @ A).ravel()
        np.testing.assert_allclose(P @ away, slope, atol=1e-6)
    whole = BayesianLogisticRegression(0.5).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=0.1)
    np.testing.assert_allclose(model.coef_sd_, whole.coef_sd_, rtol=0.15)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=0.8)
    assert not hasattr(model, "bic_")
    assert model.log_evidence_ == pytest.approx(model.log_likelihood_ + model.log_occam_factor_)
    assert verify(model, X[120:], y[120:]).status == "optimal"


def test_order_of_many_small_calls_matters_little_and_ard_stays_off():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 5))
    y = (rng.random(1200) < expit(2 * X[:, 0] - X[:, 1])).astype(int)
    model = BayesianLogisticRegression("ard").fit(X[:600], y[:600])
    off = np.isinf(model.prior_precision_)
    assert off.any()
    for part in np.split(np.arange(600, 1200), 6):
        model.partial_fit(X[part], y[part])
    assert (model.coef_[:, off] == 0).all() and (model.coef_[:, :2] != 0).all()
    whole = BayesianLogisticRegression(model.prior_precision_).fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=0.02)


def test_classes_are_announced():
    X, y = overlapping(90, 3, 3, seed=1)
    one = y == 0
    model = BayesianLogisticRegression().partial_fit(X[one], y[one], classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (90, 3)
    model.partial_fit(X[~one], y[~one])
    # a call with one class alone is the worst case of the approximation: no equality, but no nonsense
    assert model.score(X, y) > BayesianLogisticRegression().fit(X, y).score(X, y) - 0.15
    before = pickle.dumps(model.coef_)
    with pytest.raises(ValueError, match=r"label 7 is not one of the classes \[0, 1, 2\].*Announce"):
        model.partial_fit(X[:5], [0, 1, 2, 7, 7])
    with pytest.raises(ValueError, match="classes has 9"):
        model.partial_fit(X, y, classes=[0, 1, 9])
    assert pickle.dumps(model.coef_) == before
    with pytest.raises(ValueError, match="only one class"):
        BayesianLogisticRegression().partial_fit(X[one], y[one])
    assert model.fit(X[y < 2], y[y < 2]).coef_.shape == (1, 3)  # fit begins anew


# ---- bad input ----


@pytest.mark.parametrize(
    "parameters, match",
    [
        (dict(prior_precision=0.0), "prior_precision must be positive and finite.*LogisticRegression"),
        (dict(prior_precision=-1.0), "prior_precision must be positive"),
        (dict(prior_precision=np.inf), "prior_precision must be positive and finite"),
        (dict(prior_precision=np.nan), "prior_precision must be positive"),
        (dict(prior_precision=[1.0, 2.0]), r"one number a column, shape \(3,\); got shape \(2,\)"),
        (dict(prior_precision=[1.0, -2.0, 1.0]), "column 1 has -2.0"),
        (dict(prior_precision="ARD"), '\'ARD\' is unknown.*"evidence".*"ard"'),
        (dict(prior_precision=object()), "prior_precision must be numbers"),
        (dict(prior_covariance=np.eye(2)), r"shape \(3, 3\), or \(4, 4\) with the intercept first; got"),
        (dict(prior_covariance=np.eye(4), fit_intercept=False), r"shape \(3, 3\); got shape \(4, 4\)"),
        (dict(prior_covariance=-np.eye(3)), "not positive definite: its smallest eigenvalue is -1"),
        (dict(prior_covariance=np.ones((3, 3))), "not positive definite.*Add a small"),
        (dict(prior_covariance=np.triu(np.ones((3, 3)))), r"symmetric: entry \(0, 1\) is 1"),
        (dict(prior_covariance=np.eye(3) * np.nan), "prior_covariance must be finite"),
        (dict(prior_covariance=np.eye(3), prior_precision=2.0), "two names of one thing"),
        (dict(prior_covariance=np.eye(3), prior_precision="evidence"), "two names of one thing"),
        (dict(prior_covariance=np.eye(4), intercept_precision=1.0), "has the intercept's variance already"),
        (dict(intercept_precision=0.0), "intercept_precision must be a positive number"),
        (
            dict(prior_mean=[1.0, 2.0]),
            r"prior_mean must be 0, or of shape \(3,\) or \(4,\).*got shape \(2,\)",
        ),
        (dict(prior_mean=np.nan), "prior_mean must be finite"),
        (dict(prior_mean="zero"), "prior_mean must be numbers"),
        (dict(prior_precision=[1, np.inf, 1], prior_mean=1.0), "infinite where prior_mean is not 0"),
        (dict(predictive="exact"), "predictive 'exact' is unknown: use one of 'probit'"),
        (dict(n_samples=0), "n_samples must be a whole number of at least 1"),
        (dict(max_iter=1.5), "max_iter must be a whole number"),
        (dict(tol=0), "tol must be a positive number"),
        (dict(n_jobs=0), "n_jobs must be None or a whole number other than 0"),
    ],
)
def test_parameters_that_cannot_be_meant(parameters, match):
    with pytest.raises(ValueError, match=match):
        BayesianLogisticRegression(**parameters).fit(X0, Y0)


def test_a_mean_common_to_all_classes_is_refused():
    with pytest.raises(ValueError, match=r"changes no probability: give a row a class, shape \(3, 3\)"):
        BayesianLogisticRegression(prior_mean=[1.0, 0.0, 0.0]).fit(X3, Y3)
    with pytest.raises(ValueError, match=r"of shape \(3, 3\) or \(3, 4\)"):
        BayesianLogisticRegression(prior_mean=np.zeros((2, 3))).fit(X3, Y3)
    a = BayesianLogisticRegression(prior_mean=np.ones((3, 3))).fit(
        X3, Y3
    )  # written out it is allowed, and is 0
    np.testing.assert_allclose(a.coef_, BayesianLogisticRegression().fit(X3, Y3).coef_, atol=1e-9)


def test_data_that_cannot_be_read():
    damaged = X0.copy()
    damaged[17, 1] = np.nan
    model = BayesianLogisticRegression()
    with pytest.raises(ValueError, match="column 1, row 17"):
        model.fit(damaged, Y0)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X0, np.zeros(30))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X0, Y0, sample_weight=-np.ones(30))
    with pytest.raises(ValueError, match=r"4001 parameters.*limit.*PCA"):
        model.fit(sp.csr_array((30, 4000)), Y0)
    model.fit(X0, Y0)
    with pytest.raises(ValueError, match="column 1, row 17"):
        model.predict_proba(damaged)
    with pytest.raises(ValueError, match="method 'exact' is unknown"):
        model.predict_proba(X0, method="exact")
    for level in (0, 1, 95, "high"):
        with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
            model.credible_intervals(level)
        with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
            model.predict_interval(X0, level)
    with pytest.raises(ValueError, match="n_draws"):
        model.sample_posterior(0)


# ---- scikit-learn ----


CHECKED = [
    BayesianLogisticRegression(),
    BayesianLogisticRegression("evidence"),
    BayesianLogisticRegression("ard"),
    BayesianLogisticRegression(predictive="monte_carlo", n_samples=100),
    BayesianLogisticRegression(predictive="plugin", fit_intercept=False),
]


def expected_failures(estimator):
    if not estimator.fit_intercept:
        return {
            "check_class_weight_classifiers": "a surface through the origin cannot have all rows on one side"
        }
    if estimator.prior_precision not in ("evidence", "ard"):
        return {}
    order = "a row of larger score may be less certain: probabilities do not rank as scores do"
    failures = {"check_decision_proba_consistency": order}
    if estimator.prior_precision == "ard":
        many = "15 rows and 30 columns: the evidence has many tops, and rounding decides between them"
        failures |= {f"check_sample_weight_equivalence_on_{kind}_data": many for kind in ("dense", "sparse")}
    return failures


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures, xfail_strict=False)
def test_check_estimator(estimator, check):
    check(estimator)


@classes
@pytest.mark.parametrize("predictive", ["probit", "monte_carlo", "plugin"])
def test_predict_never_contradicts_predict_proba(K, predictive):
    X, y = overlapping(60, 3, K, seed=0)
    model = BayesianLogisticRegression(0.05, predictive=predictive, n_samples=200).fit(X, y)
    rows = np.random.default_rng(0).normal(size=(500, 3)) * 5
    proba = model.predict_proba(rows)
    np.testing.assert_array_equal(model.predict(rows), proba.argmax(axis=1))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(rows)), proba, rtol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(rows), proba)  # the same draws every time
    cost = 1 - np.eye(K)
    np.testing.assert_array_equal(model.predict(rows, cost=cost), proba.argmax(axis=1))


def test_pickle_clone_and_grid_search():
    X, y = load_iris(return_X_y=True)
    model = BayesianLogisticRegression("evidence").fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert str(copy.verdict_) == str(model.verdict_)
    assert not [name for name in vars(clone(model)) if name.endswith("_")]
    size = len(pickle.dumps(model))
    big = BayesianLogisticRegression().fit(np.repeat(X, 50, axis=0), np.repeat(y, 50))
    assert len(pickle.dumps(big)) < 2 * size  # no rows are kept
    search = GridSearchCV(BayesianLogisticRegression(), {"prior_precision": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_["prior_precision"] == 0.01


def test_what_the_verdict_and_the_tables_say():
    X, y = overlapping(100, 3, 3, seed=0)
    model = BayesianLogisticRegression("evidence").fit(X, y)
    text = str(model.verdict_)
    assert text.startswith("BayesianLogisticRegression · optimal, unique\n")
    assert "log Occam factor" in text and "determine" in text and "has the most evidence" in text
    table = model.summary(0.9)
    assert table.index[0] == "0: (Intercept)" and len(table.index) == 12
    np.testing.assert_allclose(table.columns["coef"].reshape(3, 4)[:, 1:], model.coef_)
    assert f"{model.log_evidence_:.4f}" in str(model.evidence_table())


def test_verbose_prints_rounds(capsys):
    X, y = overlapping(60, 2, 2, seed=0)
    BayesianLogisticRegression("evidence", verbose=1).fit(X, y)
    assert "round   1   log evidence" in capsys.readouterr().err
    with quiet(ConvergenceWarning):
        BayesianLogisticRegression(verbose=1).fit(X, y)
    assert "sweep" in capsys.readouterr().err
