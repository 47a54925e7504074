"""inference/coefficient_table.py: the columns of a summary by their formulas, its header and its notes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests.inference.direct import both, draw, glm, kinds

# ---- intervals ----


@kinds
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_wald_intervals_and_the_table(kind, level):
    model, d = both(kind, 2)
    error = np.sqrt(np.diag(d.phi * d.bread))
    tail = 0.5 * (1 + level)
    q = stats.t.ppf(tail, d.df) if d.free else stats.norm.ppf(tail)
    ends = np.column_stack([d.beta - q * error, d.beta + q * error])
    np.testing.assert_allclose(model.confidence_intervals(level), ends, rtol=1e-5, atol=1e-9)
    table = model.summary(level).to_frame()
    assert list(table.columns) == ["coef", "se", "t" if d.free else "z", "p", "low", "high"]
    assert list(table.index) == ["(Intercept)", "x0", "x1"]
    z = d.beta / error
    p = 2 * (stats.t.sf(np.abs(z), d.df) if d.free else stats.norm.sf(np.abs(z)))
    np.testing.assert_allclose(table["p"], p, rtol=1e-4, atol=1e-12)
    np.testing.assert_allclose(table[["low", "high"]], ends, rtol=1e-5, atol=1e-9)


# ---- the printed table ----


def test_the_header_and_the_notes():
    pd = pytest.importorskip("pandas")
    X, y = draw("gamma")
    frame = pd.DataFrame(X, columns=["age", "dose & time"])
    text = str(glm("gamma").fit(frame, y).summary(0.9))
    words = """gamma|inverse|observations|70|residual df|67|deviance|null deviance|(Pearson)|AIC|BIC|90 % Wald|
    Student's law on 67 df|stationary|dose & time"""
    for word in words.replace("\n    ", "").split("|"):
        assert word in text, word
    assert "dose \\& time" in glm("gamma").fit(frame, y).summary().to_latex()
    robust = glm("gamma").fit(frame, y).summary(covariance="HC3")
    assert "robust, HC3" in str(robust)
    profile = str(glm("poisson").fit(frame, np.round(y)).summary(intervals="profile"))
    assert "profile likelihood" in profile and "χ² on 1 df" in profile
    nb = str(glm("negative binomial").fit(frame, np.round(y)).summary())
    assert "negative binomial, size 2" in nb and "(known)" in nb
