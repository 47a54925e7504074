"""inference/hypothesis.py: Wald, likelihood ratio and score statistics by their formulas, with SciPy's fits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from separatrix import LogisticRegression, anova
from separatrix.inference.hypothesis import quantile, tail_probability
from tests.inference.direct import FREE, both, draw, few, glm, kinds, seeds
from tests.models.reference import overlapping, quiet

# ---- K classes, statsmodels, reference classes ----


def test_a_test_of_a_column_does_not_depend_on_the_reference():
    X, y = overlapping(150, 2, 3, seed=6, noise=2.0)
    a = LogisticRegression(C=np.inf).fit(X, y)
    b = LogisticRegression(C=np.inf).fit(X, 2 - y)
    for method in ("wald", "lr", "score"):
        here, there = a.test(1, method), b.test(1, method)
        assert here.df == there.df == 2
        assert there.statistic == pytest.approx(here.statistic, rel=1e-6)
    small = LogisticRegression(C=np.inf).fit(X[:, :1], y)
    assert a.test(1).statistic == pytest.approx(small.deviance_ - a.deviance_, rel=1e-6)
    assert anova(small, a).to_frame()["LR"].iloc[1] == pytest.approx(a.test(1).statistic, rel=1e-6)


# ---- tests ----


@kinds
@few
@given(seed=seeds)
def test_the_three_statistics_by_their_formulas(kind, seed):
    model, d = both(kind, seed, frequency=True, precision=kind in FREE)
    for places, value in (([1], 0.0), ([1, 2], 0.0), ([2], 0.3), ([0], 1.1)):
        columns = ["(Intercept)" if j == 0 else f"x{j - 1}" for j in places]
        b = d.constrained({j: value for j in places})
        miss = d.beta[places] - value
        V = d.phi * d.bread[np.ix_(places, places)]
        g = d.slope(b)
        expected = {
            "wald": miss @ np.linalg.solve(V, miss),
            "lr": 2 * (d.value(b) - d.value(d.beta)) / d.phi,
            "score": g @ np.linalg.solve(d.expected(b), g) / d.phi,
        }
        for method, statistic in expected.items():
            try:
                found = model.test(columns, method, value=value)
            except ValueError as refusal:  # where the scores of a link end, the way there may be refused
                if "means leave their range" in str(refusal) and np.isfinite(d.loss.interval).any():
                    continue
                raise
            size = statistic / (len(places) if d.free else 1)
            assert found.statistic == pytest.approx(size, rel=1e-4, abs=1e-7), (method, places)
            assert found.df == len(places)
            if d.free:
                assert found.df_residual == d.df
                p = stats.f.sf(found.statistic, found.df, d.df)
            else:
                assert found.df_residual is None
                p = stats.chi2.sf(found.statistic, found.df)
            assert found.p_value == pytest.approx(p, rel=1e-9)


def test_wald_with_a_robust_covariance():
    model, d = both("poisson")
    V = model.covariance("HC3")[1:, 1:]
    assert model.test([0, 1], "wald", covariance="HC3").statistic == pytest.approx(
        d.beta[1:] @ np.linalg.solve(V, d.beta[1:]), rel=1e-8
    )
    groups = np.arange(70) % 9
    V = model.covariance("cluster", groups)[1:, 1:]
    assert model.test([0, 1], "wald", covariance="cluster", groups=groups).statistic == pytest.approx(
        d.beta[1:] @ np.linalg.solve(V, d.beta[1:]), rel=1e-8
    )


def test_wald_t_is_the_root_of_F():
    model, _ = both("gaussian")
    table = model.summary().to_frame()
    for j in range(2):
        found = model.test(j, "wald")
        assert found.statistic == pytest.approx(table["t"].iloc[j + 1] ** 2, rel=1e-9)
        assert found.p_value == pytest.approx(table["p"].iloc[j + 1], rel=1e-9)
    # in the Gaussian all three are one statistic, the score's with the same φ
    for method in ("lr", "score"):
        assert model.test(0, method).statistic == pytest.approx(model.test(0, "wald").statistic, rel=1e-8)


# ---- intervals ----


@pytest.mark.parametrize(
    "make", [lambda: glm("poisson", max_iter=1), lambda: LogisticRegression(C=np.inf, max_iter=1)]
)
def test_likelihood_ratios_of_a_fit_that_stopped_early(make):
    """Measured from a point below the maximum the ratio is too small: it is right, or refused."""
    X, y = draw("logit")
    with quiet():
        model = make().fit(X, y.astype(int))
        whole = make().set_params(max_iter=100).fit(X, y.astype(int))
    assert model.verdict_.status == "not converged"
    try:
        found = model.test(0).statistic
    except ValueError as refusal:
        found = whole.test(0).statistic if "converge" in str(refusal) else np.nan
    assert found == pytest.approx(whole.test(0).statistic, rel=1e-5)


@pytest.mark.parametrize("kind", ["gaussian", "poisson"])
def test_a_quantile_leaves_its_share_in_the_tails(kind):
    model, d = both(kind)
    reach = quantile(model._likelihood_, 0.9)
    assert reach == pytest.approx(stats.t.ppf(0.95, d.df) if d.free else stats.norm.ppf(0.95))
    np.testing.assert_allclose(tail_probability(model._likelihood_, np.array([reach, -reach])), 0.1)
