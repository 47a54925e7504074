"""inference/profile.py: profile intervals by refitting, and the values a likelihood-ratio test keeps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from separatrix import GeneralizedLinearModel
from separatrix.inference.profile import constrained_minimum
from tests.inference.direct import Direct, both, kinds


@kinds
@pytest.mark.parametrize("seed", [0, 1])
def test_profile_intervals_by_refitting(kind, seed):
    """Both ends by bisection over constrained fits."""
    model, d = both(kind, seed, n=40)
    rise = (stats.t.ppf(0.975, d.df) if d.free else stats.norm.ppf(0.975)) ** 2 * d.phi / 2
    best = d.value(d.beta)
    ends = model.confidence_intervals(method="profile")
    error = model.standard_errors()
    j = 1 + seed

    def above(x):
        return d.value(d.constrained({j: x})) - best - rise

    for sign, end in zip((-1, 1), ends[j]):
        if not np.isfinite(end):
            pytest.fail(f"no end of the interval: {ends}")
        far = d.beta[j] + sign * 8 * error[j]
        while above(far) > 1e200:  # outside the range of the link
            far = 0.5 * (far + d.beta[j])
        if above(far) < 0:
            continue
        root = optimize.brentq(above, d.beta[j], far, xtol=1e-10)
        assert end == pytest.approx(root, abs=1e-4 * error[j])
    assert ((ends[:, 0] < d.beta) & (d.beta < ends[:, 1])).all()


def test_profile_intervals_contain_what_the_test_keeps():
    model, _ = both("logit", 7)
    low, high = model.confidence_intervals(method="profile", columns=0)[0]
    for x in (low, high):
        assert model.test(0, "lr", value=x).p_value == pytest.approx(0.05, abs=1e-6)
    wide = model.confidence_intervals(0.99, method="profile", columns=0)[0]
    assert wide[0] < low < high < wide[1]
    assert model.confidence_intervals(method="profile").shape == (3, 2)
    table = model.summary(intervals="profile").to_frame()
    np.testing.assert_array_equal(table[["low", "high"]], model.confidence_intervals(method="profile"))


def test_a_profile_interval_without_an_end():
    """All trials of the second level succeed but one of the first fails: the likelihood levels off above."""
    x = np.repeat([0.0, 1.0], [10, 3])[:, None]
    y = np.r_[np.zeros(5), np.ones(5), np.ones(2), 0.0]
    model = GeneralizedLinearModel("binomial").fit(x, y)
    low, high = model.confidence_intervals(0.9999, method="profile", columns=0)[0]
    direct = Direct("logit", x, y, model)
    rise = stats.norm.ppf(0.5 * 1.9999) ** 2 / 2
    for end in (low, high):
        assert not np.isnan(end)
        if np.isfinite(end):
            assert direct.value(direct.constrained({1: end})) == pytest.approx(
                direct.value(direct.beta) + rise, rel=1e-6
            )


@pytest.mark.parametrize("kind", ["gaussian", "logit", "gamma log"])
def test_the_minimum_under_a_constraint_has_a_slope_along_it_alone(kind):
    """Aθ = r is met, and ∇F is a combination of A's rows (Lagrange)."""
    model, _ = both(kind)
    fit = model._likelihood_
    A, r = np.array([[0.3, 1.0, -0.5]]), np.array([0.1])
    found = constrained_minimum(fit.objective, fit.theta, fit.at, A, r)
    assert found.reached and A @ found.theta.T.ravel() == pytest.approx(r, abs=1e-9)
    slope = found.at.gradient.T.ravel()
    along = A.T @ np.linalg.lstsq(A.T, slope, rcond=None)[0]
    np.testing.assert_allclose(slope, along, atol=1e-8 * np.abs(slope).max() + 1e-12)
    assert found.at.value >= fit.at.value
