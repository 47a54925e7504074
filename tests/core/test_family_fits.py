"""Estimates of every family: merged statistics, priors, brute force, and equations solved to the last digits."""

from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

from separatrix.core.families import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Multinomial,
    Normal,
    Poisson,
)
from tests.core.family_cases import CASES, assert_same, draw, every, flat, merged, quick

pytestmark = pytest.mark.filterwarnings("error")


# ---- fitting ----


@every
def test_a_sample_gives_the_parameter_back(case):
    fam, n = case.family, 20_000
    x = draw(case, n)
    assert len(x) == n and not fam.outside(x).any()
    eta = fam.natural(case.parameters)
    T = np.concatenate([t.reshape(n, -1) for t in fam.statistics(x)], axis=-1)
    spread = np.sqrt(np.diag(fam.covariance(eta)) / n)
    assert np.all(np.abs(T.mean(axis=0) - flat(fam.mean(eta))) <= 5 * spread)
    assert_same(fam.estimate(*merged(fam, x)), case.parameters, rtol=0.1, atol=0.02)


@every
def test_samples_have_the_size_first_and_are_repeated_by_their_seed(case):
    x = case.family.sample(case.parameters, (3, 2), np.random.default_rng(5))
    assert x.shape == (3, 2) + ((np.size(x) // 6,) if case.family.multivariate else ())
    assert_array_equal(x, case.family.sample(case.parameters, (3, 2), np.random.default_rng(5)))


@every
def test_the_fit_satisfies_the_moment_equation(case):
    weight, means, second = merged(case.family, draw(case, 60))
    fitted = case.family.estimate(weight, means, second)
    assert case.family.moment_residual(fitted, means, second, weight) < 1e-13
    worse = {key: np.asarray(value) * 1.01 for key, value in fitted.items() if key != "probabilities"}
    if worse and case.family != Normal(variance=2.0):
        assert case.family.moment_residual(worse, means, second, weight) > 1e-4


@every
def test_merged_statistics_fit_like_joint_rows(case):
    fam, x = case.family, draw(case, 50)
    a, b = merged(fam, x[:20]), merged(fam, x[20:])
    W = a[0] + b[0]
    means = tuple((a[0] * p + b[0] * q) / W for p, q in zip(a[1], b[1]))
    gap = np.asarray(x[:20], dtype=float).mean(axis=0) - np.asarray(x[20:], dtype=float).mean(axis=0)
    second = a[2] + b[2] + (np.outer(gap, gap) if fam.multivariate else gap**2) * (a[0] * b[0] / W)
    assert_same(fam.estimate(W, means, second), fam.estimate(*merged(fam, x)), rtol=1e-10)
    assert_same(
        fam.estimate(W, means, second, case.prior), fam.estimate(*merged(fam, x), case.prior), rtol=1e-10
    )


@every
def test_weight_is_repetition_and_zero_weight_is_absence(case):
    @quick
    @given(st.lists(st.integers(0, 4), min_size=12, max_size=12).filter(lambda w: sum(v > 0 for v in w) > 5))
    def check(weights):
        fam, x, w = case.family, draw(case, 12), np.array(weights)
        if isinstance(fam, Bernoulli | Categorical | Multinomial):
            x = np.asarray(x, dtype=float)
        expected = fam.estimate(*merged(fam, np.repeat(x, w, axis=0)))
        assert_same(fam.estimate(*merged(fam, x, w)), expected, rtol=1e-9, atol=1e-12)
        assert_same(fam.estimate(*merged(fam, x[w > 0], w[w > 0])), expected, rtol=1e-9, atol=1e-12)

    check()


@every
def test_a_class_without_weight_has_no_parameter_and_harms_no_other(case):
    fam = case.family
    weight, means, second = merged(fam, draw(case, 30))
    stack = lambda a, fill: np.stack([np.asarray(a), np.full(np.shape(a), fill)])  # noqa: E731
    for fill in (0.0, np.nan):
        both = (np.array([weight, 0.0]), tuple(stack(m, fill) for m in means), stack(second, fill))
        fitted = fam.estimate(*both)
        alone = fam.estimate(weight, means, second)
        for key in alone:
            assert_allclose(fitted[key][0], alone[key], rtol=1e-14)
        first = next(iter(fitted))
        assert np.isnan(fitted[first][1]).all()
        value = fam.log_density(draw(case, 3)[:, None], fitted)
        assert np.isfinite(value[:, 0]).all() and np.isnan(value[:, 1]).all()
        assert fam.moment_residual(fitted, both[1], both[2], both[0]) < 1e-13
        shared = fam.estimate_shared(*both)
        for key in alone:
            assert_allclose(shared[key][0], alone[key], rtol=1e-12)
        with_prior = fam.estimate(*both, case.prior)
        assert all(np.isfinite(v).all() for v in with_prior.values())


@every
@pytest.mark.parametrize("with_prior", [False, True], ids=["ML", "MAP"])
def test_the_estimate_is_what_brute_force_finds(case, with_prior):
    fam, x = case.family, draw(case, 30, seed=1)
    prior = case.prior if with_prior else None
    fitted = fam.estimate(*merged(fam, x), prior)

    def loss(vector):
        parameters = case.chart(vector)
        value = fam.log_density(x, parameters).sum()
        return -float(value + (case.log_prior(parameters, prior, fam) if prior else 0.0))

    best = case.point(fitted)
    rng = np.random.default_rng(2)
    found = optimize.minimize(
        loss, best + 0.2 * rng.standard_normal(len(best)), method="BFGS", options={"gtol": 1e-7}
    )
    assert loss(best) <= found.fun + 1e-9
    assert_allclose(best, found.x, rtol=1e-4, atol=1e-5)


def test_maximum_a_posteriori_by_hand():
    assert Bernoulli().estimate(8.0, (0.25,), prior={"a": 2, "b": 3})["probability"] == pytest.approx(3 / 11)
    counts = Categorical(3).estimate(10.0, ([0.5, 0.5, 0.0],), prior={"alpha": 2})["probabilities"]
    assert_allclose(counts, [6 / 13, 6 / 13, 1 / 13])
    flat_prior = Poisson().estimate(3.0, (0.0,), prior={"shape": 0.5, "rate": 1.0})["rate"]
    assert flat_prior == 0.0  # the density of the prior is largest at 0


@pytest.mark.parametrize("name", ["normal", "multivariate normal"])
def test_a_shared_scale_is_the_pooled_one(name):
    case = CASES[name]
    fam, sizes = case.family, (20, 35, 50)
    rows = [draw(case, n, seed=n) + n for n in sizes]
    parts = [merged(fam, x) for x in rows]
    stacked = (
        np.array(sizes, dtype=float),
        (np.stack([p[1][0] for p in parts]),),
        np.stack([p[2] for p in parts]),
    )
    shared, own = fam.estimate_shared(*stacked), fam.estimate(*stacked)
    scale = "covariance" if fam.multivariate else "variance"
    assert_allclose(shared["mean"], own["mean"])
    for k in range(3):
        assert_allclose(shared[scale][k], sum(p[2] for p in parts) / sum(sizes))


def test_gammas_of_one_shape_have_a_linear_separator():
    gamma, rng = Gamma(), np.random.default_rng(0)
    rows = [rng.gamma(2.5, scale, (400, 2)) for scale in (1.0, 3.0, 7.0)]
    parts = [merged(gamma, x[:, j]) for x in rows for j in range(2)]
    weight = np.full((3, 2), 400.0)
    means = tuple(np.array([p[1][i] for p in parts]).reshape(3, 2) for i in range(2))
    fitted = gamma.estimate_shared(weight, means)
    assert np.ptp(fitted["shape"], axis=0).max() == 0 and np.all(np.abs(fitted["shape"] - 2.5) < 0.3)
    x = np.linspace(0.5, 9.5, 10)[:, None]
    score = gamma.log_density(x[:, None], fitted)
    assert np.abs(np.diff(score[:, 1] - score[:, 0], n=2, axis=0)).max() < 1e-12

    def loss(log_shape, j):
        a = np.exp(log_shape)
        return -sum(gamma.log_density(x[:, j], {"shape": a, "rate": a / x[:, j].mean()}).sum() for x in rows)

    for j in range(2):
        best = optimize.minimize_scalar(
            loss, bounds=(-3, 3), args=(j,), method="bounded", options={"xatol": 1e-9}
        )
        assert fitted["shape"][0, j] == pytest.approx(np.exp(best.x), rel=1e-6)


# ---- the solves ----


@pytest.mark.parametrize("shape", [1e-3, 0.1, 1.0, 15.9, 16.1, 1e3, 1e6, 1e8])
def test_the_gamma_shape_is_found_to_thirteen_digits(shape):
    with mpmath.workdps(40):
        excess = float(mpmath.log(shape) - mpmath.digamma(shape))
    fitted = Gamma().estimate(1.0, (-excess, 1.0))  # mean 1, so that the excess is handed over exactly
    assert fitted["shape"] == pytest.approx(shape, rel=1e-13)
    assert fitted["rate"] == fitted["shape"]


@pytest.mark.parametrize(
    "alpha", [(1e-3, 1e-3), (1e-3, 5.0), (0.3, 0.7), (1e-2, 1e4), (20.0, 3.0), (1e6, 2e6), (1e8, 3e7)]
)
def test_the_beta_and_dirichlet_equations_are_solved_to_the_last_digits(alpha):
    for concentration in (alpha, (*alpha, 2.0), (*alpha, *alpha)):
        with mpmath.workdps(40):
            total = mpmath.digamma(mpmath.fsum(concentration))
            logs = np.array([float(mpmath.digamma(a) - total) for a in concentration])
        fitted = Dirichlet().estimate(1.0, (logs,))
        # What rounding the logs does by itself, where the sum is large or one part is nearly all of it.
        rtol = max(1e-13, 1e-15 * sum(concentration), 1e-15 * max(concentration) / min(concentration))
        assert_allclose(fitted["concentration"], concentration, rtol=rtol)
        assert Dirichlet().moment_residual(fitted, (logs,)) < 1e-15
        if len(concentration) == 2:
            assert_allclose(list(Beta().estimate(1.0, tuple(logs)).values()), concentration, rtol=rtol)


@quick
@given(st.lists(st.floats(-3, 8), min_size=2, max_size=5))
def test_any_dirichlet_is_recovered_from_its_expected_logs(logs10):
    alpha = 10.0 ** np.array(logs10)
    fitted = Dirichlet().estimate(1.0, Dirichlet().mean((alpha,)))["concentration"]
    assert_allclose(fitted, alpha, rtol=max(1e-12, 1e-14 * min(alpha.sum(), 1e9)))


def test_constant_columns_get_the_cap():
    for c in (1e-300, 0.3, 1.0, 12345.678, 1e300):
        fitted = Gamma().estimate(9.0, Gamma().facts(c))
        assert fitted["shape"] == pytest.approx(min(1e9, 1e308 * c)) and np.isfinite(fitted["rate"])
        assert np.isfinite(Gamma().log_density([c, 2 * c, 1e-300, 1e300], fitted)[:2]).all()
    for c in (1e-300, 1e-9, 0.3, 0.5, 1 - 1e-12):
        fitted = Beta().estimate(9.0, Beta().facts(c))
        assert fitted["a"] + fitted["b"] == pytest.approx(1e9)
        assert fitted["a"] / 1e9 == pytest.approx(c, rel=1e-6, abs=1e-8)
        assert np.isfinite(Beta().log_density(c, fitted))
    fitted = Dirichlet().estimate(9.0, Dirichlet().facts([0.2, 0.3, 0.5]))["concentration"]
    assert_allclose(fitted, [2e8, 3e8, 5e8], rtol=1e-6)


@quick
@given(st.lists(st.tuples(st.floats(-300, 300), st.integers(1, 9)), min_size=1, max_size=6))
def test_gamma_and_beta_fit_whatever_is_in_their_support(rows):
    x, w = 10.0 ** np.array([r[0] for r in rows]), np.array([r[1] for r in rows], dtype=float)
    for fam, values in ((Gamma(), x), (Beta(), np.minimum(x / (1 + x), 1 - 1e-16))):
        means = tuple(w @ f / w.sum() for f in fam.facts(values))
        fitted = fam.estimate(w.sum(), means)
        assert all(np.isfinite(v) and v > 0 for v in fitted.values())
        assert np.isfinite(fam.log_density(values, fitted)).all()
        if sum(fitted.values()) < 1e8 and (fam.name == "beta" or fitted["shape"] < 1e8):
            assert fam.moment_residual(fitted, means) < 1e-11


def test_priors_and_weights_may_differ_by_class_and_column():
    means, prior = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), {"shape": [2.0, 3.0, 4.0], "rate": 1.0}
    by_class = Poisson().estimate([3.0, 5.0], (means,), prior=prior)["rate"]
    by_cell = Poisson().estimate([[3.0] * 3, [5.0] * 3], (means,), prior=prior)["rate"]
    assert_array_equal(by_class, by_cell)
    for k, j in product(range(2), range(3)):
        alone = Poisson().estimate([3.0, 5.0][k], (means[k, j],), prior={"shape": 2.0 + j, "rate": 1.0})[
            "rate"
        ]
        assert by_cell[k, j] == alone
