"""Trials and counts in a frame, and models of formulas to compare."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import shared
from separatrix import GeneralizedLinearModel

pd = pytest.importorskip("pandas")
pytest.importorskip("formulaic")
fit = GeneralizedLinearModel.from_formula


def trials(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x, t = rng.normal(0, 1, n), rng.uniform(0.5, 3.0, n)
    N = rng.integers(1, 12, n)
    k = rng.binomial(N, 1 / (1 + np.exp(0.5 - x)))
    g = np.array(["low", "mid", "top"])[np.arange(n) % 3]
    y = rng.poisson(t * np.exp(0.4 * x))
    return pd.DataFrame(
        {"k": k, "N": N, "lost": N - k, "x": x, "t": t, "g": g, "y": y, "days at risk": 365 * t}
    )


DATA = trials()


def assert_same(model, other, rtol=1e-9):
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=rtol, atol=1e-11)
    assert model.intercept_ == pytest.approx(other.intercept_, rel=rtol)
    np.testing.assert_allclose(model.standard_errors(), other.standard_errors(), rtol=rtol)
    for name in ("deviance_", "null_deviance_", "aic_", "df_residual_", "df_null_"):
        assert getattr(model, name) == pytest.approx(getattr(other, name), rel=rtol), name


def table(name):
    if not shared.available():
        pytest.skip(f"a real table, and there are no shared data at {shared.root()}")
    return shared.table(name)


def refused(match, *args, **kwargs):
    with pytest.raises(ValueError, match=match):
        fit(*args, **kwargs)
