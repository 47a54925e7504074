"""The law that the verdict on ordered classes rests on:  F(θ, w) − min F ≤ gap, at every point, by either bound.

min F is that of a long fit; F is convex, so a point is made by going back from it in any direction.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.core.cumulative import LINKS
from separatrix.data.rows import Rows
from separatrix.problems.ordinal import OrdinalObjective
from separatrix.solve.ordinal import OrdinalProblem, minimise_ordinal
from separatrix.verdict.gaps import factorise
from separatrix.verdict.ordered import ordered_separation
from separatrix.verdict.ordinal import OrdinalDual, certify_ordinal, ordinal_gap
from tests.draws import examples


def problem(seed, ridge, k=4, n=60, p=3, link="logit"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.digitize(X @ rng.standard_normal(p) + rng.logistic(size=n), np.linspace(-1.0, 1.0, k - 1))
    y[:k] = np.arange(k)  # every class has a row
    rows = Rows.of(X, y, rng.integers(1, 4, n).astype(float))
    return OrdinalProblem(rows, rows.moments(), LINKS[link], ridge, k)


def back_from(objective, best, seed, distance):
    """A point at some distance in the metric of the Hessian, with thresholds in order."""
    step = np.random.default_rng(seed).standard_normal(len(best))
    at = objective.evaluate(best, order=2)
    step *= distance / np.sqrt(step @ at.hessian @ step)
    while not (np.diff((best + step)[objective.coordinates.size :]) > 0).all():
        step *= 0.7
    return best + step


@examples(120)
@given(
    seed=st.integers(0, 10_000), ridge=st.sampled_from([0.0, 1e-3, 0.1]), k=st.sampled_from([2, 3, 6]),
    distance=st.sampled_from([1e-6, 1e-3, 0.03, 0.2, 1.0]),
)  # fmt: skip
def test_no_point_is_farther_than_it_is_proven_to_be(seed, ridge, k, distance):
    found = problem(seed, ridge, k)
    if ridge == 0 and ordered_separation(found.rows, tuple(range(k))).kind != "overlap":
        return
    fit = minimise_ordinal(found, 1e-4, 200, exists=True)
    objective = fit.objective
    least = objective.evaluate(fit.outcome.theta).value
    point = back_from(objective, fit.outcome.theta, seed, distance)
    at = objective.evaluate(point, order=2)
    above, rounding = at.value - least, 1e-13 * abs(at.value)
    certificate = certify_ordinal(objective, point)
    assert above <= certificate.gap + rounding
    factor = factorise(at.hessian)
    decrement = float(np.sqrt(at.gradient @ factor.solve(at.gradient)))
    assert above <= ordinal_gap(objective, point, at, factor, decrement) + rounding
    dual, _ = OrdinalDual(objective).gap(point, at)
    assert above <= dual + rounding
    settled = objective.settle_intercept(point)
    after = objective.evaluate(settled)
    assert after.value <= at.value + rounding
    assert after.value - least <= OrdinalDual(objective).gap(settled, after)[0] + rounding


@examples(40)
@given(seed=st.integers(0, 10_000), ridge=st.sampled_from([1e-3, 0.1]))
def test_both_bounds_come_to_nothing_at_the_minimum(seed, ridge):
    fit = minimise_ordinal(problem(seed, ridge), 1e-4, 200)
    settled = fit.objective.settle_intercept(fit.outcome.theta)
    at = fit.objective.evaluate(settled)
    assert fit.outcome.gap <= 1e-12
    assert OrdinalDual(fit.objective).gap(settled, at)[0] <= 1e-12


@pytest.mark.parametrize("link", ["probit", "cloglog"])
def test_other_links_claim_no_bound(link):
    fit = minimise_ordinal(problem(1, 0.1, link=link), 1e-4, 200)
    assert (
        fit.outcome.gap == np.inf
        and OrdinalDual(fit.objective).gap(fit.outcome.theta, fit.outcome.last)[0] == np.inf
    )


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_gradient_and_hessian_against_differences(link, ridge):
    objective: OrdinalObjective = problem(3, ridge, link=link).objective()
    rng = np.random.default_rng(0)
    point = objective.start() + np.append(0.3 * rng.standard_normal(3), [-0.2, 0.1, 0.3])
    at, h = objective.evaluate(point, order=2), 1e-5
    for j in range(len(point)):
        e = np.zeros(len(point))
        e[j] = h
        up, down = objective.evaluate(point + e), objective.evaluate(point - e)
        assert at.gradient[j] == pytest.approx((up.value - down.value) / (2 * h), rel=1e-6, abs=1e-9)
        np.testing.assert_allclose(
            at.hessian[j], (up.gradient - down.gradient) / (2 * h), rtol=1e-5, atol=1e-8
        )


def test_rows_in_parts_add_up():
    found = problem(5, 0.1, n=90)
    point = found.objective().start() + 0.1
    whole = found.objective().evaluate(point, order=2)
    cut = Rows(found.rows.source, 90, 3, (0, 17, 40, 90), found.rows.y, found.rows.weight)
    parts = OrdinalProblem(cut, found.moments, found.link, 0.1, 4).objective().evaluate(point, order=2)
    assert parts.value == pytest.approx(whole.value, rel=1e-14)
    np.testing.assert_allclose(parts.gradient, whole.gradient, atol=1e-14)
    np.testing.assert_allclose(parts.hessian, whole.hessian, atol=1e-14)


def test_thresholds_out_of_order_are_infinitely_bad():
    objective = problem(0, 0.1).objective()
    point = objective.start()
    point[-1] = point[-2]
    assert objective.evaluate(point, order=2).value == np.inf


# ---- existence ----


@examples(60)
@given(seed=st.integers(0, 10_000), k=st.sampled_from([2, 3, 4]), n=st.sampled_from([8, 14, 25]))
def test_separation_is_what_a_linear_programme_finds(seed, k, n):
    """max Σ slack over the cone Δθ_{y−1} ≤ x·Δβ ≤ Δθ_y, each slack at most one: zero where no direction is strict."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, 2)).astype(float)
    y = np.digitize(
        X[:, 0] + rng.choice([0.3, 1.0, 2.0]) * rng.standard_normal(n), np.linspace(-0.8, 0.8, k - 1)
    )
    y[:k] = np.arange(k)
    sides = []
    for x, code in zip(X, y, strict=True):
        for threshold, sign in ((code - 1, 1.0), (code, -1.0)):
            if 0 <= threshold < k - 1:
                row = np.zeros(2 + k - 1)
                row[:2], row[2 + threshold] = sign * x, -sign
                sides.append(row)
    A = np.array(sides)
    m = len(A)
    programme = linprog(
        np.append(np.zeros(k + 1), -np.ones(m)), A_ub=np.hstack([-A, np.eye(m)]), b_ub=np.zeros(m),
        bounds=[(None, None)] * (k + 1) + [(0, 1)] * m,
    )  # fmt: skip
    rows = Rows.of(X, y)
    found = ordered_separation(rows, tuple(range(k)))
    best = -programme.fun
    expected = "overlap" if best < 1e-7 else "complete" if best > m - 1e-7 else "quasi"
    assert found.kind == expected
    assert found.check(X, y) and not found.check(X[:-1], y[:-1])
    if expected != "overlap":
        assert (A @ found.direction >= -1e-9 * np.abs(A @ found.direction).max()).all()
