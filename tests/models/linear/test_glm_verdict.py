"""The verdict of a generalised linear model: its gap is a bound, its status says what is proven, verify agrees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from separatrix import ConvergenceWarning, GeneralizedLinearModel, SeparationWarning, keep_going, verify
from separatrix.core.responses import GlmLoss
from separatrix.problems.objective import Objective
from tests.models.linear.glms import PROVEN, draw, few, glm, kinds, minimum, parameters_of, seeds
from tests.models.reference import quiet


@pytest.mark.parametrize("kind", PROVEN)
@few
@given(
    seed=seeds,
    alpha=st.sampled_from([0.0, 0.01, 1.0]),
    tol=st.sampled_from([1e-1, 1e-2, 1e-4]),
    steps=st.sampled_from([1, 2, 3, 100]),
)
def test_the_gap_bounds_the_distance_from_the_minimum(kind, seed, alpha, tol, steps):
    X, y = draw(kind, seed)
    with quiet(ConvergenceWarning, SeparationWarning):
        model = glm(kind, alpha=alpha, tol=tol, max_iter=steps).fit(X, y)
        assume(model.verdict_.status != "no optimum" and glm(kind, alpha=alpha).fit(X, y).verdict_.settled)
    value, least, _ = minimum(kind, X, y, alpha)
    here = value(parameters_of(model))
    assert model.verdict_.objective == pytest.approx(here, rel=1e-9)
    assert here - least <= model.verdict_.gap + 1e-13 * abs(here)
    if model.verdict_.status == "optimal":
        assert model.verdict_.gap <= model.verdict_.tol
    again = verify(model, X, y)
    assert here - least <= again.gap + 1e-13 * abs(here)


@kinds
def test_the_status_says_what_is_proven(kind):
    X, y = draw(kind)
    model = glm(kind).fit(X, y)
    verdict = model.verdict_
    assert verdict.status == ("optimal" if kind in PROVEN else "stationary")
    assert verdict.settled and verdict.unique is (None if kind == "gaussian log" else True)
    if verdict.status == "stationary":
        assert verdict.gap == np.inf and "no bound proven" in str(verdict)
        words = "that it is the global one is not proven" if kind == "gaussian log" else "the loss is convex"
        assert any(words in f for f in verdict.findings)
    best = minimum(kind, X, y)[2]
    np.testing.assert_allclose(parameters_of(model), best, atol=1e-6 * model.standard_errors().min())


@kinds
def test_verify_confirms_a_fit_and_refuses_a_changed_one(kind):
    X, y = draw(kind)
    weight = np.random.default_rng(0).integers(1, 3, 80).astype(float)
    model = glm(kind).fit(X, y, weight)
    again = verify(model, X, y, weight)
    assert again.status == model.verdict_.status
    assert again.objective == pytest.approx(model.verdict_.objective, rel=1e-9)
    assert again.unique == model.verdict_.unique
    assert verify(model, X, y).status == "not converged"
    model.coef_ = model.coef_ + np.array([0.0, 0.02, 0.0])
    assert verify(model, X, y, weight).status == "not converged"


def confirmed_or_refused(model, X, y, *words):
    """verify is right about the fit, or says which of the fit's arguments it was not given."""
    try:
        return verify(model, X, y).status == model.verdict_.status
    except (TypeError, ValueError) as refusal:
        return any(word in str(refusal) for word in words)


def test_verify_with_an_offset_counts_and_a_precision():
    X, y = draw("poisson")
    years = np.random.default_rng(0).uniform(1, 3, 80)
    assert confirmed_or_refused(glm("poisson").fit(X, y, exposure=years), X, y, "exposure", "offset")
    trials = np.random.default_rng(0).integers(1, 9, 80)
    wins = np.random.default_rng(1).binomial(trials, 0.4)
    counts = np.column_stack([wins, trials - wins])
    assert verify(GeneralizedLinearModel("binomial").fit(X, counts), X, counts).status == "optimal"
    X, y = draw("gaussian")
    assert confirmed_or_refused(GeneralizedLinearModel().fit(X, y, precision=years), X, y, "precision")


def test_a_loss_that_is_not_convex_is_not_called_convex():
    """Tweedie of power above 2 under the log: ℓ'' = (p−1) y μ^(1−p) − (p−2) μ^(2−p) is negative for large μ."""
    loss = GlmLoss.of("tweedie", "log", observed=True, power=2.5)
    assert loss.derivatives(np.array([3.0]), np.array([1.0]))[2][0] < 0
    assert not loss.convex
    assert GlmLoss.of("tweedie", "log", power=1.5).convex
    X, y = draw("gamma log")
    model = GeneralizedLinearModel("tweedie", power=2.5).fit(X, y)
    assert model.verdict_.status == "stationary" and model.verdict_.unique is None
    assert not any("convex" in f for f in model.verdict_.findings)


@pytest.mark.parametrize("kind", ["poisson", "gamma", "probit", "tweedie"])
def test_too_few_steps_are_said(kind):
    X, y = draw(kind)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model = glm(kind, max_iter=1).fit(X, y)
    assert model.verdict_.status == "not converged" and not model.verdict_.settled
    assert "max_iter reached" in model.verdict_.stopped_by and model.n_iter_ == 1
    assert np.isfinite(model.standard_errors()).all()


@pytest.mark.parametrize("kind", ["poisson", "gamma", "probit"])
def test_an_interrupt_keeps_the_best_so_far(monkeypatch, kind):
    X, y = draw(kind)
    evaluate, calls = Objective.evaluate, []

    def interrupted(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return evaluate(self, *args, **kwargs)

    monkeypatch.setattr(Objective, "evaluate", interrupted)
    with keep_going():
        model = glm(kind).fit(X, y)
    monkeypatch.undo()
    assert model.verdict_.status == model.verdict_.stopped_by == "interrupted"
    assert not model.verdict_.settled
    value, least, _ = minimum(kind, X, y)
    here = value(parameters_of(model))
    assert model.verdict_.objective == pytest.approx(here, rel=1e-10)
    assert least < here and here - least <= model.verdict_.gap
    model.predict(X), model.summary()
    assert model.set_params(warm_start=True).fit(X, y).verdict_.settled


def test_the_path_ends_at_the_answer():
    X, y = draw("poisson")
    model = glm("poisson", record_path=True).fit(X, y)
    np.testing.assert_allclose(model.path_.objective[-1], model.verdict_.objective, rtol=1e-12)
    assert (np.diff(model.path_.objective) <= 1e-15).all()
    model.set_params(record_path=False).fit(X, y)
    assert not hasattr(model, "path_")
