"""verify(): the verdict again from data and parameters alone; and the law that carries all of it:

    F(θ) − min F  ≤  gap            for every θ, C, weight and number of classes

with F and min F computed in extended precision by the test. Curvature and Fenchel bounds are tried apart.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression

from separatrix import ConvergenceWarning, LeastSquaresClassifier, LogisticRegression, verify
from separatrix.core.losses import Squared
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.objective import Objective
from separatrix.verdict.gaps import certify, curvature_gap, factorise, range_factor
from tests.draws import examples
from tests.models.reference import long_newton, needs_extended, objective_of, overlapping, quiet

many = examples(120)
some = examples(25)
seeds = st.integers(0, 100_000)


# ---- verify ----

CASES = {
    "two classes": (lambda: LogisticRegression(), 2, None),
    "three classes": (lambda: LogisticRegression(), 3, None),
    "no penalty": (lambda: LogisticRegression(C=np.inf), 2, None),
    "no penalty, three classes": (lambda: LogisticRegression(C=np.inf), 3, None),
    "no intercept": (lambda: LogisticRegression(fit_intercept=False), 3, None),
    "lbfgs": (lambda: LogisticRegression(solver="lbfgs"), 3, None),
    "weights": (lambda: LogisticRegression(), 2, "weights"),
    "weights, three classes, balanced": (lambda: LogisticRegression(class_weight="balanced"), 3, "weights"),
    "sparse": (lambda: LogisticRegression(), 2, "sparse"),
    "sparse, three classes": (lambda: LogisticRegression(), 3, "sparse"),
    "float32": (lambda: LogisticRegression(), 2, "float32"),
    "least squares": (lambda: LeastSquaresClassifier(), 2, None),
    "least squares, weights, ridge": (lambda: LeastSquaresClassifier(alpha=0.5), 2, "weights"),
    "least squares, one-hot": (lambda: LeastSquaresClassifier(), 3, None),
    "least squares, sparse": (lambda: LeastSquaresClassifier(), 3, "sparse"),
}


def prepared(K, kind, seed=0):
    X, y = overlapping(150, 4, K, seed=seed)
    weight = None
    if kind == "weights":
        weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
        weight[:K] = 1.0
    elif kind == "sparse":
        X = sp.csr_array(X * (np.abs(X) > 0.6))
    elif kind == "float32":
        X = X.astype(np.float32)
    return X, y, weight


@pytest.mark.parametrize("make, K, kind", CASES.values(), ids=CASES.keys())
def test_a_fit_is_confirmed_and_a_changed_one_is_not(make, K, kind):
    X, y, weight = prepared(K, kind)
    model = make().fit(X, y, sample_weight=weight)
    verdict = verify(model, X, y, weight)
    assert verdict.status == model.verdict_.status in ("optimal", "closed form")
    assert verdict.objective == pytest.approx(model.verdict_.objective, rel=1e-9)
    assert verdict.unique == model.verdict_.unique
    assert verdict.stopped_by == "verified from data" and verdict.sweeps >= 1
    for change in (lambda m: m.coef_.__setitem__((0, 1), m.coef_[0, 1] + 0.05), _shift_intercept, _scale):
        other = make().fit(X, y, sample_weight=weight)
        if change is _shift_intercept and not other.fit_intercept:
            continue
        change(other)
        changed = verify(other, X, y, weight)
        assert changed.status == "not converged"
        assert changed.gap > 1e-6
        # a change of the estimator's own parameters only: verify reads them, not the solver's word
        assert changed.objective > verdict.objective


def _shift_intercept(model):
    model.intercept_ = model.intercept_ + np.eye(len(model.intercept_))[0] * 0.1


def _scale(model):
    model.coef_ = model.coef_ * 1.1


def test_other_data_are_not_what_was_fitted():
    X, y = overlapping(200, 3, 3)
    model = LogisticRegression().fit(X[:100], y[:100])
    assert verify(model, X[:100], y[:100]).status == "optimal"
    assert verify(model, X[100:], y[100:]).status == "not converged"
    # weights are part of the data
    assert verify(model, X[:100], y[:100], np.linspace(0.1, 2, 100)).status == "not converged"
    # and repetition changes nothing without a penalty
    plain = LogisticRegression(C=np.inf).fit(X[:100], y[:100])
    assert verify(plain, np.tile(X[:100], (3, 1)), np.tile(y[:100], 3)).status == "optimal"


def test_a_part_common_to_all_classes_costs_its_penalty():
    """Softmax ignores it, ‖w‖² does not: F grows by ½λK‖v‖², and so does the gap."""
    X, y = overlapping(200, 3, 3)
    model = LogisticRegression(C=0.1).fit(X, y)
    before = verify(model, X, y)
    model.coef_ = model.coef_ + np.array([0.3, -0.2, 0.5])
    after = verify(model, X, y)
    lam = 1 / (0.1 * len(y))
    extra = 0.5 * lam * 3 * (0.3**2 + 0.2**2 + 0.5**2)
    assert after.objective == pytest.approx(before.objective + extra, rel=1e-12)
    assert after.objective == pytest.approx(
        objective_of(X, y, model.coef_, model.intercept_, C=0.1), rel=1e-12
    )
    assert after.gap >= extra and after.status == "not converged"
    # without a penalty it costs nothing, and nothing is said against it
    plain = LogisticRegression(C=np.inf).fit(X, y)
    plain.coef_ = plain.coef_ + np.array([0.3, -0.2, 0.5])
    assert verify(plain, X, y).status == "optimal"
    # an intercept common to all classes is free in any case
    model = LogisticRegression(C=0.1).fit(X, y)
    model.intercept_ = model.intercept_ + 7.0
    assert verify(model, X, y).status == "optimal"


@pytest.mark.parametrize("C", [0.5, np.inf])
def test_the_weight_of_a_constant_column_costs_its_penalty(C):
    X, y = overlapping(100, 2, 2)
    X = np.column_stack([X, np.full(100, 2.0)])
    model = LogisticRegression(C=C).fit(X, y)
    assert verify(model, X, y).status == "optimal"
    model.coef_[0, 2] += 0.4
    model.intercept_[0] -= 0.8
    changed = verify(model, X, y)
    assert changed.objective == pytest.approx(
        objective_of(X, y, model.coef_, model.intercept_, C=C), rel=1e-12
    )
    assert changed.status == ("not converged" if np.isfinite(C) else "optimal")


def test_scikit_learn_coefficients_can_be_judged():
    """Put another library's answer in: its tolerance shows."""
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    theirs = SklearnLogisticRegression(max_iter=20).fit(X / X.std(axis=0), y)
    model.coef_, model.intercept_ = theirs.coef_ / X.std(axis=0), theirs.intercept_
    assert verify(model, X, y).status == "not converged"


def test_what_cannot_be_verified_says_so():
    model = SklearnLogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="LogisticRegression makes no claim"):
        verify(model, [[0.0], [1.0]], [0, 1])
    with pytest.raises(Exception, match="not fitted"):
        verify(LogisticRegression(), [[0.0], [1.0]], [0, 1])
    fitted = LogisticRegression().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="label 'c' was not seen"):
        verify(fitted, [[0.0], [1.0]], ["a", "c"])
    with pytest.raises(ValueError, match="features"):
        verify(fitted, [[0.0, 1.0], [1.0, 2.0]], ["a", "b"])


def test_weights_that_exclude_a_class_altogether():
    X, y = overlapping(64, 2, 2)
    y = np.arange(64) % 2
    model = LogisticRegression(C=0.1).fit(X, y)
    model.intercept_ = np.array([2000.0])
    verdict = verify(model, X, y)
    assert verdict.objective == pytest.approx(objective_of(X, y, model.coef_, model.intercept_, C=0.1))
    assert verdict.objective - 1 < verdict.gap <= verdict.objective


@pytest.mark.parametrize("shift", [0.0, 1e4, 1e7])
@pytest.mark.parametrize("C", [0.01, 1.0, np.inf])
def test_confirmed_far_from_the_origin(C, shift):
    X, y = overlapping(150, 3, 2, seed=3)
    X = (X + shift) * [1.0, 1e4, 1e-4]
    model = LogisticRegression(C=C).fit(X, y)
    assert model.verdict_.status == "optimal"
    # the intercept in the user's units is rounded by eps·shift·|w|: that much is not the solver's fault
    verdict = verify(model, X, y)
    assert verdict.gap <= max(verdict.tol, 1e-13) + 1e-15 * (1 + shift)


# ---- the bound is a bound ----


def perturbed(model, rng, size, scale=1.0):
    other = clone(model)
    for name, value in vars(model).items():
        if name.endswith("_"):
            setattr(other, name, value)
    other.coef_ = model.coef_ + size * rng.standard_normal(model.coef_.shape) / scale
    other.intercept_ = model.intercept_ + size * rng.standard_normal(model.intercept_.shape)
    return other


@needs_extended
@many
@given(
    seed=seeds,
    K=st.sampled_from([2, 3, 4]),
    C=st.sampled_from([1e-3, 0.1, 1.0, 50.0, 1e4, np.inf]),
    size=st.sampled_from([1e-7, 1e-4, 1e-2, 0.1, 1.0, 5.0]),
    n=st.integers(12, 60),
    weighted=st.booleans(),
    fit_intercept=st.booleans(),
    scale=st.sampled_from([1.0, 1e-3, 1e3]),
)
def test_the_gap_is_an_upper_bound(seed, K, C, size, n, weighted, fit_intercept, scale):
    """F(perturbed) − min F ≤ gap for any perturbation; and the objective in the verdict is F."""
    rng = np.random.default_rng(seed)
    X, y = overlapping(n, 2, K, seed=seed, noise=2.0)
    X = X * [1.0, scale]
    weight = rng.exponential(size=n) if weighted else None
    with quiet():
        model = LogisticRegression(C=C, fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    if model.verdict_.status == "no optimum":
        return
    answer = long_newton(X, y, C=C, weight=weight, fit_intercept=fit_intercept, n_classes=K)
    other = perturbed(model, rng, size, [1.0, scale])
    if not fit_intercept:
        other.intercept_ = np.zeros_like(model.intercept_)
    F = objective_of(X, y, other.coef_, other.intercept_, C=C, weight=weight)
    verdict = verify(other, X, y, weight)
    assert verdict.objective == pytest.approx(F, rel=1e-11)
    assert F - answer.objective <= verdict.gap + 1e-14 * F
    assert verdict.bound <= answer.objective + 1e-14 * F
    if np.isfinite(C):
        assert verdict.gap <= F * (1 + 1e-12)  # no loss is negative: something is always proven


def objective_in(X, y, K, ridge, fit_intercept, weight=None):
    from separatrix.core.losses import Logistic, Multinomial

    rows = Rows.of(X, np.where(y == 1, 1.0, -1.0) if K == 2 else y, weight)
    coordinates = Coordinates.standard(rows.moments(), fit_intercept)
    if K == 2:
        return Objective(rows, Logistic(), ridge, fit_intercept, coordinates, None)
    return Objective(rows, Multinomial(), ridge, fit_intercept, coordinates, K)


def minimum_near(objective, X, y, K, ridge, fit_intercept, weight):
    total = len(y) if weight is None else weight.sum()
    C = np.inf if ridge == 0 else 1 / (ridge * total)
    return long_newton(X, y, C=C, weight=weight, fit_intercept=fit_intercept, n_classes=K)


@needs_extended
@many
@given(
    seed=seeds,
    K=st.sampled_from([2, 3, 5]),
    ridge=st.sampled_from([1e-6, 1e-3, 0.1, 3.0]),
    size=st.sampled_from([0.0, 1e-5, 1e-3, 0.05, 0.5, 3.0]),
    weighted=st.booleans(),
    fit_intercept=st.booleans(),
    lonely=st.booleans(),
)
def test_the_fenchel_bound_alone(seed, K, ridge, size, weighted, fit_intercept, lonely):
    """hessian_limit=0 leaves only the Fenchel bound; a class of one row makes its mixture uncomfortable."""
    rng = np.random.default_rng(seed)
    X, y = overlapping(40, 3, K, seed=seed)
    if lonely:
        y = np.where(y == 0, K - 1, y)
        y[0] = 0
    weight = rng.exponential(size=40) if weighted else None
    objective = objective_in(X, y, K, ridge, fit_intercept, weight)
    answer = minimum_near(objective, X, y, K, ridge, fit_intercept, weight)
    best = objective.from_user(
        np.asarray(answer.coef, float),
        np.asarray(answer.intercept, float).reshape(np.shape(answer.intercept)),
    )
    theta = best + size * rng.standard_normal(best.shape)
    found = certify(objective, theta, hessian_limit=0)
    excess = found.objective - answer.objective
    assert excess <= found.gap + 1e-13 * found.objective
    assert found.exists and found.unique


@needs_extended
@many
@given(
    seed=seeds,
    K=st.sampled_from([2, 3, 5]),
    ridge=st.sampled_from([0.0, 1e-4, 0.1]),
    size=st.sampled_from([0.0, 1e-6, 1e-3, 1e-2, 0.05, 0.2]),
    fit_intercept=st.booleans(),
)
def test_the_curvature_bound_alone(seed, K, ridge, size, fit_intercept):
    """Where it claims anything it is an upper bound, and it is never below ½ν² by more than rounding."""
    rng = np.random.default_rng(seed)
    X, y = overlapping(80, 3, K, seed=seed, noise=2.0)
    objective = objective_in(X, y, K, ridge, fit_intercept)
    answer = minimum_near(objective, X, y, K, ridge, fit_intercept, None)
    best = objective.from_user(
        np.asarray(answer.coef, float),
        np.asarray(answer.intercept, float).reshape(np.shape(answer.intercept)),
    )
    at = objective.evaluate(best + size * rng.standard_normal(best.shape), order=2)
    factor = factorise(at.hessian)
    g = at.gradient.T.ravel()
    decrement = float(np.sqrt(max(g @ factor.solve(g), 0.0)))
    gap = curvature_gap(decrement, range_factor(objective) * at.radius * np.sqrt(factor.inverse_trace))
    excess = at.value - answer.objective
    assert excess <= gap + 1e-13 * at.value
    if size == 0.0:
        assert gap < 1e-12


def test_the_curvature_bound_is_reached():
    """One row a class at the origin of its own column: softmax's range bound is tight to a few per cent at x → 0."""
    X, y = overlapping(80, 3, 2, noise=2.0)
    model = LogisticRegression(C=np.inf).fit(X, y)
    model.coef_ = model.coef_ + 1e-5
    verdict = verify(model, X, y)
    excess = verdict.objective - LogisticRegression(C=np.inf).fit(X, y).verdict_.objective
    assert excess <= verdict.gap <= 1.01 * excess


@some
@given(seed=seeds, size=st.sampled_from([1e-3, 1.0, 100.0]), ridge=st.sampled_from([0.0, 0.1]))
def test_for_a_parabola_the_bound_is_exact(seed, size, ridge):
    rng = np.random.default_rng(seed)
    X, t = rng.standard_normal((50, 3)), rng.standard_normal(50)
    rows = Rows.of(X, t)
    objective = Objective(rows, Squared(), ridge, True, Coordinates.standard(rows.moments(), True))
    theta = size * rng.standard_normal(4)
    at = objective.evaluate(theta, order=2)
    best = theta - np.linalg.solve(at.hessian, at.gradient)
    found = certify(objective, theta)
    assert found.gap == pytest.approx(at.value - objective.evaluate(best).value, rel=1e-7)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("solver", ["lbfgs", "gradient", "sgd"])
def test_every_gap_of_a_loose_fit_is_true(load, solver):
    """Fits stopped early on real tables: the gap in their verdict covers the distance to the tight optimum."""
    X, y = load(return_X_y=True)
    tight = LogisticRegression().fit(X, y).verdict_
    for max_iter in (1, 3, 10):
        with quiet(ConvergenceWarning):
            loose = LogisticRegression(solver=solver, max_iter=max_iter).fit(X, y)
        assert loose.verdict_.objective - tight.objective <= loose.verdict_.gap + 1e-14
        assert loose.verdict_.bound <= tight.objective + 1e-14
        again = verify(loose, X, y)
        assert again.objective == pytest.approx(loose.verdict_.objective, rel=1e-9)
        assert again.objective - tight.objective <= again.gap + 1e-14
