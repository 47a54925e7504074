"""Numbers that break fits elsewhere: huge scores, constant and repeated columns, wild scales, far origins, high
condition numbers. The answer is right against an extended-precision solve, or the verdict says how far it is.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from separatrix import ConvergenceWarning, LogisticRegression, verify
from tests.draws import examples
from tests.models.reference import (
    LONG,
    error_against,
    long_newton,
    needs_extended,
    objective_of,
    overlapping,
    quiet,
)

few = examples(40)


def right_or_honest(X, y, *, at_most=1e-6, rotate=False, **parameters):
    """The optimum to ``at_most``, or a verdict whose bound is true; never silence.

    F at given weights is itself only known to the rounding of the scores, eps·Σ|w_j|·spread_j.
    """
    with quiet(ConvergenceWarning):
        model = LogisticRegression(**parameters).fit(X, y)
    answer = long_newton(X, y, C=model.C, fit_intercept=model.fit_intercept, rotate=rotate)
    standardised = np.abs(answer.coef * X.std(axis=0)).astype(float).sum()
    rounding = 1e-12 * abs(answer.objective) + 1e-16 * standardised
    excess = objective_of(X, y, model.coef_, model.intercept_, C=model.C) - answer.objective
    if model.verdict_.status == "optimal":
        assert error_against(answer, model, X) <= at_most
        assert model.verdict_.objective == pytest.approx(answer.objective, rel=1e-9, abs=10 * rounding)
    assert excess <= model.verdict_.gap + rounding
    return model, answer


# ---- scores ----


@pytest.mark.parametrize("K", [2, 3])
def test_scores_of_ten_thousand(K):
    """A rule whose scores reach ±1e4 predicts 0 and 1, with finite log probabilities and no warning."""
    X, y = overlapping(50, 2, K)
    model = LogisticRegression().fit(X, y)
    far = np.array([[1e4, 0.0], [-1e4, 0.0], [0.0, 1e4], [3e4, -2e4]])
    scores = model.decision_function(far)
    assert np.abs(scores).max() > 1e3
    with np.errstate(all="raise", under="ignore"):
        proba, log_proba = model.predict_proba(far), model.predict_log_proba(far)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert np.isfinite(log_proba).all() and (log_proba <= 0).all()
    assert log_proba.min() < -1e3


@needs_extended
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_training_rows_with_scores_of_ten_thousand(solver):
    """Outliers on the right side reach scores of ±1e4 while the rest overlap: the answer is still right."""
    X, y = overlapping(200, 2, 2, seed=1, noise=2.0)
    rule = LogisticRegression(C=np.inf).fit(X, y)
    toward = rule.coef_[0] / np.linalg.norm(rule.coef_[0]) ** 2
    X = np.vstack([X, 1e4 * toward, -1e4 * toward])
    y = np.append(y, [1, 0])
    model, _ = right_or_honest(X, y, C=np.inf, solver=solver, tol=1e-4 if solver == "auto" else 1e-12)
    assert np.abs(model.decision_function(X)).max() > 5e3
    assert model.verdict_.status == "optimal"


# ---- constant and repeated columns ----


@pytest.mark.parametrize("value", [0.0, 1.0, 1e8, -3e-8])
@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("K", [2, 3])
def test_a_constant_column_says_nothing(value, C, K):
    X, y = overlapping(120, 3, K, seed=2)
    wider = np.insert(X, 1, value, axis=1)
    plain, model = LogisticRegression(C=C).fit(X, y), LogisticRegression(C=C).fit(wider, y)
    np.testing.assert_allclose(np.delete(model.coef_, 1, axis=1), plain.coef_, atol=1e-7)
    np.testing.assert_array_equal(model.coef_[:, 1], 0.0)
    np.testing.assert_allclose(model.intercept_, plain.intercept_, atol=1e-7)
    assert model.verdict_.status == "optimal"
    # without a penalty any weight would do: 0 is the shortest, not the only one
    assert model.verdict_.unique is verify(model, wider, y).unique is bool(np.isfinite(C))
    assert any(f.startswith("constant: 1") for f in model.verdict_.findings)


def test_a_constant_column_is_the_intercept_where_none_is_fitted():
    X, y = overlapping(120, 2, 2, seed=3)
    model = LogisticRegression(C=np.inf, fit_intercept=False).fit(np.column_stack([X, np.full(120, 2.0)]), y)
    plain = LogisticRegression(C=np.inf).fit(X, y)
    np.testing.assert_allclose(model.coef_[0, :2], plain.coef_[0], atol=1e-7)
    assert 2 * model.coef_[0, 2] == pytest.approx(plain.intercept_[0], abs=1e-7)
    assert not any(f.startswith("constant") for f in model.verdict_.findings)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_repeated_columns_without_a_penalty_share_the_shortest_weights(K, solver):
    X, y = overlapping(150, 3, K, seed=4)
    twice = np.column_stack([X, X[:, 0]])
    settings_ = dict(C=np.inf, solver=solver)
    plain, model = LogisticRegression(**settings_).fit(X, y), LogisticRegression(**settings_).fit(twice, y)
    assert model.verdict_.status == "optimal" and model.verdict_.unique is False
    np.testing.assert_allclose(model.coef_[:, [0, 3]], plain.coef_[:, [0, 0]] / 2, atol=1e-6)
    np.testing.assert_allclose(model.coef_[:, 1:3], plain.coef_[:, 1:], atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(twice), plain.predict_proba(X), atol=1e-7)
    (finding,) = [f for f in model.verdict_.findings if f.startswith("aliased")]
    assert "columns 0, 3 are linearly dependent" in finding and "shortest" in finding


@pytest.mark.parametrize("solver", ["lbfgs", "gradient"])
def test_repeated_columns_with_a_first_order_solver(solver):
    """Right probabilities; no claim of a unique optimum."""
    X, y = overlapping(150, 3, 2, seed=4)
    twice = np.column_stack([X, X[:, 0]])
    settings_ = dict(C=np.inf, solver=solver, tol=1e-12, max_iter=3000)
    with quiet(ConvergenceWarning):
        plain, model = LogisticRegression(C=np.inf).fit(X, y), LogisticRegression(**settings_).fit(twice, y)
    assert model.verdict_.unique is not True
    np.testing.assert_allclose(model.predict_proba(twice), plain.predict_proba(X), atol=1e-6)


def test_aliased_columns_of_a_frame_are_named():
    pd = pytest.importorskip("pandas")
    X, y = overlapping(150, 2, 2, seed=5)
    frame = pd.DataFrame({"height": X[:, 0], "weight": X[:, 1], "sum of both": X[:, 0] + X[:, 1]})
    model = LogisticRegression(C=np.inf).fit(frame, y)
    assert model.verdict_.unique is False
    assert any("'height', 'weight', 'sum of both'" in f for f in model.verdict_.findings)
    # of w + t(1, 1, −1) the shortest is orthogonal to (1, 1, −1)
    assert model.coef_[0] @ [1, 1, -1] == pytest.approx(0, abs=1e-7)


def test_dummy_variable_trap():
    """All levels of a factor and an intercept: one direction too many, the same probabilities as one level less."""
    rng = np.random.default_rng(6)
    level = rng.integers(0, 4, 300)
    y = (rng.random(300) < np.array([0.2, 0.5, 0.7, 0.9])[level]).astype(int)
    full = np.eye(4)[level]
    model, less = LogisticRegression(C=np.inf).fit(full, y), LogisticRegression(C=np.inf).fit(full[:, 1:], y)
    assert model.verdict_.unique is False and less.verdict_.unique is True
    np.testing.assert_allclose(model.predict_proba(full), less.predict_proba(full[:, 1:]), atol=1e-8)
    shares = np.array([y[level == k].mean() for k in range(4)])
    np.testing.assert_allclose(model.predict_proba(np.eye(4))[:, 1], shares, atol=1e-8)


@pytest.mark.parametrize("K", [2, 3])
def test_repeated_columns_with_a_penalty_share_equally(K):
    X, y = overlapping(150, 3, K, seed=4)
    model = LogisticRegression().fit(np.column_stack([X, X[:, 0]]), y)
    assert (model.verdict_.status, model.verdict_.unique) == ("optimal", True)
    np.testing.assert_allclose(model.coef_[:, 0], model.coef_[:, 3], atol=1e-8)
    # √2 x with C=1 is the same penalty: w₀ = w₃ = u/√2
    scaled = LogisticRegression().fit(X * [np.sqrt(2), 1, 1], y)
    np.testing.assert_allclose(model.coef_[:, 0] * np.sqrt(2), scaled.coef_[:, 0], atol=1e-7)


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_more_columns_than_rows_of_rank_two(C):
    """Wide data of rank two that overlap: predictions are those of the two columns behind them."""
    X, y = overlapping(40, 2, 2, seed=7, noise=3.0)
    wide = X @ np.random.default_rng(7).standard_normal((2, 60))
    model = LogisticRegression(C=C).fit(wide, y)
    assert model.verdict_.status == "optimal"
    if np.isinf(C):
        assert model.verdict_.unique is False
        np.testing.assert_allclose(
            model.predict_proba(wide), LogisticRegression(C=C).fit(X, y).predict_proba(X), atol=1e-7
        )


# ---- scales, origins, conditions ----


@needs_extended
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4, np.inf])
def test_scales_from_1e_minus_8_to_1e8_in_one_table(C, K):
    X, y = overlapping(200, 5, K, seed=8)
    model, _ = right_or_honest(X * [1e-8, 1e-4, 1.0, 1e4, 1e8], y, C=C)
    assert model.verdict_.status == "optimal"


@needs_extended
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_a_column_at_1e8_plus_minus_1(C, K):
    X, y = overlapping(200, 3, K, seed=9)
    X[:, 1] = 1e8 + np.sign(X[:, 1])
    model, _ = right_or_honest(X, y, C=C)
    assert model.verdict_.status == "optimal"
    assert model.score(X, y) > 1.2 / K  # not the accuracy of a coin


@needs_extended
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["auto", "newton", "lbfgs"])
@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("log_condition", [4, 7, 10])
def test_condition_numbers(C, log_condition, solver, fit_intercept):
    """Columns that nearly repeat each other; at 1e10 a Gram matrix has no digit left."""
    X, y = overlapping(300, 4, 2, seed=10)
    U, _, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    X = U * np.logspace(0, -log_condition, 4) @ Vt * 20
    y = (U @ [3.0, -3.0, 3.0, 30.0] + np.random.default_rng(0).logistic(size=300) > 0).astype(int)
    tol = 1e-12 if solver == "lbfgs" else 1e-4
    # the smallest direction is known to eps·condition: so are its weights
    model, answer = right_or_honest(
        X,
        y,
        C=C,
        solver=solver,
        tol=tol,
        max_iter=1000,
        fit_intercept=fit_intercept,
        rotate=True,
        at_most=max(1e-6, 1e-15 * 10**log_condition),
    )
    if solver != "lbfgs":
        assert model.verdict_.status == "optimal"
        scores = X @ answer.coef + answer.intercept
        proba = 1 / (1 + np.exp(-scores.astype(float)))
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], proba, atol=1e-6)


@needs_extended
@few
@given(
    seed=st.integers(0, 1000),
    scales=st.lists(st.integers(-8, 8), min_size=3, max_size=3),
    far=st.sampled_from([0.0, 1e3, 1e7]),
    C=st.sampled_from([0.01, 1.0, 100.0]),
    K=st.sampled_from([2, 3]),
    solver=st.sampled_from(["auto", "lbfgs", "gradient", "sgd"]),
)
def test_never_silently_wrong(seed, scales, far, C, K, solver):
    """Whatever the scales and the solver: the excess over the true minimum is at most the gap in the verdict."""
    X, y = overlapping(60, 3, K, seed=seed)
    X = (X + far) * 10.0 ** np.array(scales)
    with quiet(ConvergenceWarning):
        model = LogisticRegression(C=C, solver=solver, max_iter=30).fit(X, y)
    answer = long_newton(X, y, C=C)
    excess = objective_of(X, y, model.coef_, model.intercept_, C=C) - answer.objective
    # scores of (coef, intercept) far from the origin are themselves rounded by eps·far·|w|
    rounding = 1e-13 * (1 + far) * max(1.0, float(np.abs(X.std(axis=0) * model.coef_).max()))
    assert excess <= model.verdict_.gap + rounding
    again = verify(model, X, y)
    assert excess <= again.gap + rounding
    assert again.objective == pytest.approx(model.verdict_.objective, rel=1e-9)


@needs_extended
def test_a_heavy_penalty_on_one_column_hides_no_other():
    """A column of spread 1e-8 far from zero is penalised 1e16 times more than its neighbours, which matter."""
    X, y = overlapping(60, 3, 2, seed=0)
    X = (X + 1e7) * [1.0, 1.0, 1e-8]
    model, _ = right_or_honest(X, y, C=0.01)
    assert model.verdict_.status == "optimal"


@needs_extended
def test_tiny_and_huge_C():
    X, y = overlapping(100, 3, 2, seed=11)
    for C in (1e-12, 1e-6, 1e6, 1e12):
        model, _ = right_or_honest(X, y, C=C)
        assert model.verdict_.status == "optimal"
    unpenalised = long_newton(X, y, C=np.inf)
    assert error_against(unpenalised, model, X) < 1e-6


@needs_extended
def test_tiny_and_huge_weights():
    X, y = overlapping(100, 3, 2, seed=12)
    for size in (1e-12, 1e12):
        model = LogisticRegression(C=np.inf).fit(X, y, sample_weight=np.full(100, size))
        assert error_against(long_newton(X, y, C=np.inf), model, X) < 1e-7
    weight = np.where(np.arange(100) % 2, 1e-6, 1e6)
    answer = long_newton(X, y, C=1.0, weight=weight)
    model = LogisticRegression().fit(X, y, sample_weight=weight)
    assert model.verdict_.status == "optimal"
    assert error_against(answer, model, X) < 1e-6
    assert answer.coef.dtype == LONG


def test_two_rows_are_enough():
    model = LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"])
    # symmetric about ½: w(0.5) + b = 0, and w solves w = σ(−w/2)
    w, b = model.coef_[0, 0], model.intercept_[0]
    assert b == pytest.approx(-w / 2, abs=1e-9)
    assert w == pytest.approx(1 / (1 + np.exp(w / 2)), abs=1e-8)


def test_lbfgs_on_few_rows_with_constant_columns():
    X, y = load_digits(return_X_y=True)
    X, y = StandardScaler().fit_transform(X[:100]), y[:100]
    slow, newton = (LogisticRegression(solver=s, tol=1e-10).fit(X, y) for s in ("lbfgs", "newton"))
    assert slow.verdict_.status == "optimal"
    assert slow.predict_proba(X) == pytest.approx(newton.predict_proba(X), abs=1e-4)
