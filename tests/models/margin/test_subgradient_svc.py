"""Sub-gradient descent on the notes' objective: the step and the limit."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import verify
from separatrix.models.margin.linear_svc import LinearSVC
from separatrix.models.margin.subgradient_svc import SubgradientSVC
from tests.models.margin.linear_tables import overlapping


@pytest.mark.parametrize("schedule", ["constant", "sqrt", "inverse"])
def test_subgradient_descent_approaches_the_machine_of_half_its_c(schedule):
    X, y = overlapping(1)
    model = SubgradientSVC(c=2.0, schedule=schedule, max_iter=20_000).fit(X, y)
    best = LinearSVC(loss="hinge", C=1.0, tol=1e-7).fit(X, y)
    scale = 2.0 / 2.0  # (1/c)‖w‖² + Σ = (2/c)(½‖w‖² + (c/2) Σ)
    least = scale * best.verdict_.objective
    assert least * (1 - 1e-9) <= model.verdict_.objective <= least * 1.02
    assert model.verdict_.bound <= least * (1 + 1e-9)
    assert model.verdict_.status in ("no claim", "optimal")


def test_subgradient_step_is_the_notes():
    """From w = b = 0 every row is inside: w₁ = η Σ y x, b₁ = η Σ y; then the rule as printed."""
    X, y = overlapping(2, n=20)
    sign, c, eta = np.where(y == 1, 1.0, -1.0), 4.0, 0.01
    model = SubgradientSVC(c=c, eta=eta, schedule="constant", max_iter=3, record_path=True).fit(X, y)
    w, b = np.zeros(3), 0.0
    for t in range(3):
        np.testing.assert_allclose(model.path_.coef[t], w, atol=1e-12)
        np.testing.assert_allclose(model.path_.intercept[t], b, atol=1e-12)
        margin = sign * (X @ w + b)
        value = w @ w / c + np.maximum(0, 1 - margin).sum()
        assert model.objective_path_[t] == pytest.approx(value)
        short = (margin <= 1).astype(float)
        w, b = w - eta * (-(short * sign) @ X + 2 / c * w), b - eta * -(short @ sign)
    assert verify(model, X, y).objective == pytest.approx(model.verdict_.objective)
