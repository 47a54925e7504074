"""Errors, intervals, tests and residuals against their definitions, computed apart: numerical Hessians, matrices
in NumPy, constrained fits by SciPy, statsmodels for K classes. R's numbers:
models/linear/test_glm_references.py.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.special
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from separatrix import (
    GeneralizedLinearModel,
    LogisticRegression,
    SeparationWarning,
    anova,
)
from separatrix.core.links import link as link_of
from separatrix.core.responses import GlmLoss
from tests.models.reference import overlapping, quiet

few = settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
seeds = st.integers(0, 10_000)

KINDS = {
    "gaussian": ("gaussian", "identity", {}),
    "gaussian log": ("gaussian", "log", {}),
    "logit": ("binomial", "logit", {}),
    "probit": ("binomial", "probit", {}),
    "cloglog": ("binomial", "cloglog", {}),
    "poisson": ("poisson", "log", {}),
    "gamma": ("gamma", "inverse", {}),
    "gamma log": ("gamma", "log", {}),
    "inverse gaussian": ("inverse_gaussian", "inverse_squared", {}),
    "negative binomial": ("negative_binomial", "log", {"size": 2.0}),
    "tweedie": ("tweedie", "log", {"power": 1.5}),
}
CANONICAL = ("gaussian", "logit", "poisson", "gamma", "inverse gaussian")
FREE = ("gaussian", "gaussian log", "gamma", "gamma log", "inverse gaussian", "tweedie")
kinds = pytest.mark.parametrize("kind", KINDS)


def glm(kind, **parameters):
    family, link, own = KINDS[kind]
    return GeneralizedLinearModel(family, link, **own, **parameters)


def draw(kind, seed=0, n=70, p=2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    eta = 1.0 + 0.3 * X @ np.array([1.0, -1.0, 0.5][:p])
    family, name, _ = KINDS[kind]
    mu = link_of(name).inverse(eta - (family == "binomial"))
    match family:
        case "gaussian":
            y = mu + 0.3 * rng.standard_normal(n)
        case "binomial":
            y = (rng.random(n) < mu).astype(float)
        case "poisson" | "negative_binomial":
            y = rng.poisson(mu).astype(float)
        case "tweedie":
            y = np.array([rng.gamma(2.0, 0.5, k).sum() for k in rng.poisson(mu)])
        case "inverse_gaussian":
            y = rng.wald(mu, 8.0)
        case _:
            y = rng.gamma(4.0, mu / 4.0)
    return X, y


class Direct:
    """A fit by its definition: A = [1 X], Σ s ½d, expected information, all in plain NumPy."""

    def __init__(self, kind, X, y, model, frequency=None, precision=None, offset=0.0):
        family, name, own = KINDS[kind]
        self.loss = GlmLoss.of(family, name, **own)
        self.A, self.y, self.offset = np.column_stack([np.ones(len(y)), X]), y, offset
        self.f = np.ones(len(y)) if frequency is None else frequency
        self.v = np.ones(len(y)) if precision is None else precision
        self.s = self.f * self.v
        self.beta = np.append(model.intercept_, model.coef_)
        self.free = kind in FREE
        self.k = self.A.shape[1]
        self.df = self.f.sum() - self.k
        self.mu = self.loss.link.inverse(self.eta(self.beta))
        V = self.loss.response.variance(self.mu)
        self.phi = float(self.s @ ((y - self.mu) ** 2 / V)) / self.df if self.free else 1.0
        self.w = self.loss.link.first(self.eta(self.beta)) ** 2 / V
        self.bread = np.linalg.inv((self.A * (self.s * self.w)[:, None]).T @ self.A)
        self.u = -(y - self.mu) * self.loss.link.first(self.eta(self.beta)) / V * self.v
        self.h = self.w * self.v * np.einsum("ij,jk,ik->i", self.A, self.bread, self.A)

    def eta(self, b):
        return self.A @ b + self.offset

    def value(self, b):
        v = self.loss.value(self.eta(b), self.y)
        return float(self.s @ v) if np.isfinite(v).all() else 1e300

    def slope(self, b):
        return self.A.T @ (self.s * self.loss.slope(self.eta(b), self.y))

    def expected(self, b):
        w = self.loss.derivatives(self.eta(b), self.y)[2]
        return (self.A * (self.s * w)[:, None]).T @ self.A

    def constrained(self, fixed):
        """min Σ s ½d with some coordinates fixed: Fisher scoring on the rest."""
        free = [j for j in range(self.k) if j not in fixed]
        b = self.beta.copy()
        for j, v in fixed.items():
            b[j] = v
        found = optimize.minimize(
            lambda z: self.value(self._put(b, free, z)),
            b[free],
            jac=lambda z: self.slope(self._put(b, free, z))[free],
            method="BFGS",
            options={"gtol": 1e-9},
        )
        b = self._put(b, free, found.x)
        for _ in range(30):
            step = np.linalg.solve(self.expected(b)[np.ix_(free, free)], self.slope(b)[free])
            new = b.copy()
            new[free] -= step
            if not self.value(new) <= self.value(b) + 1e-12 * abs(self.value(b)):
                break
            b = new
        return b

    def _put(self, b, free, z):
        b = b.copy()
        b[free] = z
        return b


def both(kind, seed=0, n=70, **extra):
    X, y = draw(kind, seed, n)
    rng = np.random.default_rng(seed + 1)
    given = {}
    if extra.get("frequency"):
        given["frequency"] = rng.integers(1, 4, n).astype(float)
    if extra.get("precision"):
        given["precision"] = rng.uniform(0.5, 2.0, n)
    if extra.get("offset"):
        given["offset"] = rng.uniform(-0.1, 0.1, n)
    model = glm(kind).fit(X, y, given.get("frequency"), given.get("offset"), precision=given.get("precision"))
    return model, Direct(kind, X, y, model, **given)


# ---- covariances ----


@kinds
@few
@given(seed=seeds)
def test_the_covariance_is_the_inverse_information(kind, seed):
    with quiet(SeparationWarning):
        model, direct = both(kind, seed, frequency=True, precision=kind in FREE, offset=True)
    np.testing.assert_allclose(model.covariance_, direct.phi * direct.bread, rtol=1e-6, atol=1e-12)
    assert model.dispersion_ == pytest.approx(direct.phi, rel=1e-7)
    assert model.deviance_ == pytest.approx(2 * direct.value(direct.beta), rel=1e-9)
    np.testing.assert_allclose(model.covariance(), model.covariance_)
    np.testing.assert_allclose(model.standard_errors(), np.sqrt(np.diag(model.covariance_)))
    if kind in CANONICAL:  # expected and observed information are one
        H = np.array(
            [(direct.slope(direct.beta + h) - direct.slope(direct.beta - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
        )
        np.testing.assert_allclose(model.covariance_, direct.phi * np.linalg.inv(H), rtol=1e-5, atol=1e-10)


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_robust_covariances_by_their_formulas(kind, weighted):
    model, d = both(kind, 3, frequency=weighted, precision=weighted and kind in FREE, offset=weighted)
    n = d.f.sum()
    for which, u, factor in (
        ("HC0", d.u, 1.0),
        ("HC1", d.u, n / (n - d.k)),
        ("HC2", d.u / np.sqrt(1 - d.h), 1.0),
        ("HC3", d.u / (1 - d.h), 1.0),
    ):
        meat = (d.A * (d.f * u**2)[:, None]).T @ d.A
        np.testing.assert_allclose(model.covariance(which), factor * d.bread @ meat @ d.bread, rtol=1e-5)
    groups = np.random.default_rng(0).integers(0, 12, 70)
    sums = np.array([(d.f * d.u)[groups == g] @ d.A[groups == g] for g in np.unique(groups)])
    G = len(sums)
    expected = G / (G - 1) * (n - 1) / (n - d.k) * d.bread @ sums.T @ sums @ d.bread
    np.testing.assert_allclose(model.covariance("cluster", groups), expected, rtol=1e-5)
    names = np.array(list("abcdefghijkl"))[groups]
    np.testing.assert_allclose(model.covariance("cluster", names), expected, rtol=1e-5)
    np.testing.assert_allclose(model.covariance("cluster", names.tolist()), expected, rtol=1e-5)
    table = model.summary(covariance="cluster", groups=groups).to_frame()
    np.testing.assert_allclose(table["se"], np.sqrt(np.diag(expected)), rtol=1e-5)


def test_every_row_its_own_cluster_is_HC1_up_to_the_small_sample_factor():
    model, _ = both("poisson")
    own = model.covariance("cluster", np.arange(70))
    np.testing.assert_allclose(own, model.covariance("HC1") * (69 / 70) * 70 / 69, rtol=1e-9)
    np.testing.assert_allclose(own, model.covariance("HC0") * 70 / 69 * 69 / 67, rtol=1e-9)


def softmax_parts(model, X, y):
    """Scores and information of the softmax against class 0, in plain NumPy."""
    A = np.column_stack([np.ones(len(y)), X])
    P = model.predict_proba(X)
    K, q = P.shape[1], A.shape[1]
    U = ((P - np.eye(K)[y])[:, 1:, None] * A[:, None, :]).reshape(len(y), -1)
    H = np.zeros(((K - 1) * q,) * 2)
    for a in range(1, K):
        for b in range(1, K):
            w = P[:, a] * ((a == b) - P[:, b])
            H[(a - 1) * q : a * q, (b - 1) * q : b * q] = (A * w[:, None]).T @ A
    return U, np.linalg.inv(H), P


@pytest.mark.parametrize("K", [3, 4])
def test_softmax_covariances(K):
    X, y = overlapping(150, 2, K, seed=1, noise=2.0)
    model = LogisticRegression(C=np.inf).fit(X, y)
    U, bread, P = softmax_parts(model, X, y)
    np.testing.assert_allclose(model.covariance_, bread, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(model.covariance("HC0"), bread @ U.T @ U @ bread, rtol=1e-5)
    k = len(bread)
    np.testing.assert_allclose(model.covariance("HC1"), bread @ U.T @ U @ bread * 150 / (150 - k), rtol=1e-5)
    groups = np.arange(150) % 13
    S = np.array([U[groups == g].sum(axis=0) for g in range(13)])
    np.testing.assert_allclose(
        model.covariance("cluster", groups), 13 / 12 * 149 / (150 - k) * bread @ S.T @ S @ bread, rtol=1e-5
    )
    assert model.leverage().sum() == pytest.approx(k, rel=1e-6)
    assert (model.residuals() ** 2).sum() == pytest.approx(model.deviance_, rel=1e-9)
    np.testing.assert_allclose(model.residuals("response"), np.eye(K)[y] - P, atol=1e-9)
    for which in ("HC2", "HC3"):
        with pytest.raises(ValueError, match="use HC0 or HC1"):
            model.covariance(which)


def test_softmax_with_weights_is_repetition():
    X, y = overlapping(90, 2, 3, seed=2, noise=2.0)
    weight = np.random.default_rng(0).integers(1, 4, 90).astype(float)
    rows = np.repeat(np.arange(90), weight.astype(int))
    a = LogisticRegression(C=np.inf).fit(X[rows], y[rows])
    b = LogisticRegression(C=np.inf).fit(X, y, weight)
    groups = np.arange(90) % 8
    np.testing.assert_allclose(b.covariance_, a.covariance_, rtol=1e-6)
    np.testing.assert_allclose(b.covariance("HC1"), a.covariance("HC1"), rtol=1e-6)
    np.testing.assert_allclose(
        b.covariance("cluster", groups), a.covariance("cluster", groups[rows]), rtol=1e-6
    )
    for name in ("deviance_", "null_deviance_", "aic_", "bic_", "df_residual_", "log_likelihood_"):
        assert getattr(b, name) == pytest.approx(getattr(a, name), rel=1e-8)


# ---- K classes, statsmodels, reference classes ----


@pytest.mark.parametrize("K", [3, 4])
def test_softmax_errors_are_statsmodels_mnlogits(K):
    sm = pytest.importorskip("statsmodels.api")
    X, y = overlapping(200, 3, K, seed=4, noise=2.0)
    model = LogisticRegression(C=np.inf).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sm.MNLogit(y, sm.add_constant(X)).fit(disp=0, method="newton", tol=1e-14, maxiter=100)
    table = model.summary().to_frame()
    np.testing.assert_allclose(table["coef"], np.asarray(theirs.params).T.ravel(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(table["se"], np.asarray(theirs.bse).T.ravel(), rtol=1e-6)
    np.testing.assert_allclose(table["p"], np.asarray(theirs.pvalues).T.ravel(), rtol=1e-5, atol=1e-12)
    assert model.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-9)
    assert model.null_deviance_ == pytest.approx(-2 * theirs.llnull, rel=1e-9)
    assert model.aic_ == pytest.approx(theirs.aic, rel=1e-9)


@pytest.mark.parametrize("first_asked", [None, 0, 1, 2])
def test_a_change_of_reference_class(first_asked):
    """Whatever was asked before: β_k − β_ref and its errors."""
    X, y = overlapping(150, 2, 3, seed=5, noise=2.0)
    labels = np.array(["ant", "bee", "cat"])
    model = LogisticRegression(C=np.inf).fit(X, labels[y])
    if first_asked is not None:
        model.summary(reference=labels[first_asked])
        model.summary()
    for r in range(3):
        order = [r, *[k for k in range(3) if k != r]]
        renamed = np.argsort(order)[y]  # class r becomes the first
        other = LogisticRegression(C=np.inf).fit(X, renamed).summary().to_frame()
        table = model.summary(reference=labels[r]).to_frame()
        names = [f"{labels[k]}: {c}" for k in order[1:] for c in ("(Intercept)", "x0", "x1")]
        assert list(table.index) == names
        np.testing.assert_allclose(table.to_numpy(), other.to_numpy(), rtol=1e-5, atol=1e-7)
        _, v, c = model.reference_form(labels[r])
        np.testing.assert_allclose(
            table["coef"].to_numpy().reshape(2, 3), np.column_stack([c, v]), rtol=1e-6, atol=1e-9
        )
    np.testing.assert_allclose(
        model.confidence_intervals(method="profile", reference="bee"),
        LogisticRegression(C=np.inf).fit(X, np.argsort([1, 0, 2])[y]).confidence_intervals(method="profile"),
        atol=1e-5,
    )


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("options", [{"C": np.inf}, {"penalty": "firth"}], ids=str)
def test_a_saved_classifier_keeps_its_summary(K, options):
    X, y = overlapping(150, 2, K, seed=5, noise=2.0)
    model = LogisticRegression(**options).fit(X, y)
    text, other = str(model.summary()), str(model.summary(reference=1)) if K == 3 else ""
    covariance, null = model.covariance_, model.null_deviance_
    copied = pickle.loads(pickle.dumps(model))
    assert str(copied.summary()) == text
    assert K == 2 or str(copied.summary(reference=1)) == other
    np.testing.assert_array_equal(copied.covariance_, covariance)
    assert copied.null_deviance_ == null
    with pytest.raises(ValueError, match="does not carry them"):
        copied.residuals()
    unasked = pickle.loads(pickle.dumps(LogisticRegression(**options).fit(X, y)))
    assert str(unasked.summary()).splitlines()[3:-6] == text.splitlines()[3:-6]


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


def test_separated_classes_have_no_errors_against_any_reference():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    with quiet(SeparationWarning):
        model = LogisticRegression(C=np.inf).fit(X, y)
    for reference in (None, 0, 1, 2):
        for which in ("model", "HC0", "HC1"):
            table = model.summary(covariance=which, reference=reference).to_frame()
            assert np.isnan(table[["se", "p", "low", "high"]]).all(axis=None), (reference, which)
    assert np.isnan(model.covariance("cluster", np.arange(150) % 9)).all()
    two = LogisticRegression(C=np.inf)
    with quiet(SeparationWarning):
        two.fit(X[:100], y[:100])
    assert np.isnan(two.standard_errors("HC0")).all() and np.isnan(two.covariance_).all()


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
            found = model.test(columns, method, value=value)
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


def test_columns_by_name_index_and_list():
    pd = pytest.importorskip("pandas")
    X, y = draw("poisson")
    model = glm("poisson").fit(pd.DataFrame(X, columns=["age", "dose"]), y)
    one = model.test("dose")
    assert one == model.test(1) == model.test(-1) == model.test(["dose"]) == model.test([np.int64(1)])
    assert str(one).startswith("likelihood ratio test of dose = 0: χ² = ")
    np.testing.assert_array_equal(
        model.confidence_intervals(columns=["dose", "age"]), model.confidence_intervals()[[2, 1]]
    )
    np.testing.assert_array_equal(
        model.confidence_intervals(columns="(Intercept)"), model.confidence_intervals()[[0]]
    )


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


# ---- Firth ----


def firth_objective(link, A, y):
    loss = GlmLoss.of("binomial", link)

    def value(b):
        eta = A @ b
        w = loss.derivatives(eta, y)[2]
        sign, log_det = np.linalg.slogdet((A * w[:, None]).T @ A)
        return float(loss.value(eta, y).sum()) - 0.5 * log_det if sign > 0 else np.inf

    return value


@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_firth_by_direct_optimisation(link, separated):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((30, 1))
    y = (x[:, 0] > 0.2).astype(float) if separated else (rng.random(30) < 0.4).astype(float)
    A = np.column_stack([np.ones(30), x])
    F = firth_objective(link, A, y)
    options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    best = optimize.minimize(F, [0.1, 0.5], method="Nelder-Mead", options=options)
    model = GeneralizedLinearModel("binomial", link, penalty="firth").fit(x, y)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), best.x, atol=1e-5)
    models = [model]
    if link == "logit":
        models.append(LogisticRegression(penalty="firth").fit(x, y.astype(int)))
    # the errors are the likelihood's at Firth's estimate
    b = best.x
    w = GlmLoss.of("binomial", link).derivatives(A @ b, y)[2]
    error = np.sqrt(np.diag(np.linalg.inv((A * w[:, None]).T @ A)))
    null = optimize.minimize_scalar(lambda c: F(np.array([c, 0.0])), bracket=(-1, 1), tol=1e-12)

    def above(v):
        grid = np.linspace(-15, 5, 81)  # the profile has more than one valley
        c = grid[np.argmin([F(np.array([c, v])) for c in grid])]
        inner = optimize.minimize_scalar(lambda c: F(np.array([c, v])), bracket=(c - 0.1, c + 0.1), tol=1e-12)
        return inner.fun - best.fun - stats.chi2.ppf(0.95, 1) / 2

    ends = [optimize.brentq(above, b[1], b[1] + s * 60 * error[1] / 3, xtol=1e-9) for s in (-1, 1)]
    for fit in models:
        np.testing.assert_allclose(fit.standard_errors(), error, rtol=1e-4)
        assert fit.test(0, "lr").statistic == pytest.approx(2 * (null.fun - best.fun), abs=1e-5)
        np.testing.assert_allclose(
            fit.confidence_intervals(method="profile", columns=0)[0], ends, atol=1e-4 * error[1]
        )
        plain = GlmLoss.of("binomial", link).value(A @ b, y).sum()
        assert fit.deviance_ == pytest.approx(2 * plain, rel=1e-5)
        assert "Firth" in str(fit.summary())


def test_anova_of_firths_models():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] > 0).astype(int)
    large = LogisticRegression(penalty="firth").fit(X, y)
    table = anova(large).to_frame()
    np.testing.assert_allclose(table["LR"].iloc[2], large.test(1).statistic, rtol=1e-5)
    # a smaller model has a smaller information matrix, so its penalised likelihood is another one: terms are
    # tested inside the largest
    F = firth_objective("logit", np.column_stack([np.ones(40), X]), y.astype(float))
    best = optimize.minimize(F, [0, 1.0, 0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13})
    null = optimize.minimize_scalar(lambda c: F(np.array([c, 0.0, 0.0])), bracket=(-1, 1), tol=1e-12)
    one = optimize.minimize(
        lambda b: F(np.append(b, 0.0)),
        best.x[:2],
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13},
    )
    assert table["LR"].iloc[1] == pytest.approx(2 * (null.fun - one.fun), abs=1e-4)
    with pytest.raises(ValueError, match="Firth's penalty and the other has not"):
        anova(LogisticRegression(C=np.inf).fit(X[:, 1:], y), large)


# ---- residuals ----


@kinds
@few
@given(seed=seeds)
def test_residuals_by_their_definitions(kind, seed):
    model, d = both(kind, seed, frequency=True, precision=kind in FREE, offset=True)
    V = d.loss.response.variance(d.mu)
    raw = d.y - d.mu
    pearson = raw * np.sqrt(d.v / V)
    np.testing.assert_allclose(model.residuals("response"), raw, atol=1e-8)
    np.testing.assert_allclose(model.residuals("pearson"), pearson, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        model.residuals("working"), raw / d.loss.link.first(d.eta(d.beta)), rtol=1e-6, atol=1e-8
    )
    deviance = model.residuals()
    assert float(d.f @ deviance**2) == pytest.approx(model.deviance_, rel=1e-8)
    np.testing.assert_array_equal(np.sign(deviance), np.sign(model.residuals("response")))
    assert float(d.f @ model.leverage()) == pytest.approx(3.0, rel=1e-7)
    np.testing.assert_allclose(model.leverage(), d.h, rtol=1e-6)
    assert ((model.leverage() > 0) & (model.leverage() < 1)).all()
    scale = np.sqrt(d.phi * (1 - d.h))
    for which in ("pearson", "deviance"):
        np.testing.assert_allclose(
            model.residuals(which, standardised=True), model.residuals(which) / scale, rtol=1e-6
        )
    np.testing.assert_allclose(
        model.cooks_distance(), pearson**2 * d.h / (3 * d.phi * (1 - d.h) ** 2), rtol=1e-5, atol=1e-10
    )


def test_cooks_distance_is_how_far_the_fit_moves():
    """Gaussian: (β̂ − β̂₋ᵢ)ᵀ AᵀA (β̂ − β̂₋ᵢ)/kφ, exactly."""
    X, y = draw("gaussian")
    model = glm("gaussian").fit(X, y)
    A = np.column_stack([np.ones(70), X])
    whole = np.append(model.intercept_, model.coef_)
    found = model.cooks_distance()
    for i in range(0, 70, 9):
        keep = np.arange(70) != i
        left = glm("gaussian").fit(X[keep], y[keep])
        move = whole - np.append(left.intercept_, left.coef_)
        assert found[i] == pytest.approx(move @ A.T @ A @ move / (3 * model.dispersion_), rel=1e-8)
    # standardised residuals: those of a row left out, up to the dispersion
    assert (model.residuals("pearson", standardised=True) ** 2).mean() == pytest.approx(1.0, abs=0.1)


def test_residuals_of_counts_and_proportions():
    rng = np.random.default_rng(0)
    X, trials = rng.uniform(-1, 1, (30, 2)), rng.integers(1, 9, 30)
    wins = rng.binomial(trials, 0.4)
    model = GeneralizedLinearModel("binomial").fit(X, np.column_stack([wins, trials - wins]))
    mu = model.predict(X)
    np.testing.assert_allclose(
        model.residuals("pearson"), (wins - trials * mu) / np.sqrt(trials * mu * (1 - mu)), rtol=1e-8
    )
    part = scipy.special.xlogy(wins, wins / (trials * mu)) + scipy.special.xlogy(
        trials - wins, (trials - wins) / (trials * (1 - mu))
    )
    np.testing.assert_allclose(model.residuals() ** 2, 2 * part, atol=1e-9)
    log_p = stats.binom.logpmf(wins, trials, mu).sum()
    assert model.log_likelihood_ == pytest.approx(log_p, rel=1e-9)


# ---- likelihoods ----


@pytest.mark.parametrize("kind", ["poisson", "logit", "probit", "negative binomial"])
def test_log_likelihoods_of_known_dispersion(kind):
    model, d = both(kind, 1, frequency=True)
    law = {
        "poisson": lambda: stats.poisson.logpmf(d.y, d.mu),
        "logit": lambda: stats.bernoulli.logpmf(d.y, d.mu),
        "probit": lambda: stats.bernoulli.logpmf(d.y, d.mu),
        "negative binomial": lambda: stats.nbinom.logpmf(d.y, 2.0, 2.0 / (2.0 + d.mu)),
    }[kind]()
    assert model.log_likelihood_ == pytest.approx(float(d.f @ law), rel=1e-9)
    assert model.aic_ == pytest.approx(6 - 2 * model.log_likelihood_)
    assert model.bic_ == pytest.approx(3 * np.log(d.f.sum()) - 2 * model.log_likelihood_)


def test_the_gaussian_likelihood_is_the_maximised_one():
    model, d = both("gaussian", 1, frequency=True, precision=True)
    phi = float(d.s @ (d.y - d.mu) ** 2) / d.f.sum()
    law = stats.norm.logpdf(d.y, d.mu, np.sqrt(phi / d.v))
    assert model.log_likelihood_ == pytest.approx(float(d.f @ law), rel=1e-9)
    assert model.aic_ == pytest.approx(8 - 2 * model.log_likelihood_)  # the dispersion is a parameter too
    assert np.isnan(both("tweedie")[0].aic_)
    assert "—" in str(both("tweedie")[0].summary())


# ---- anova ----


@kinds
def test_anova_between_models(kind):
    X, y = draw(kind, 4, n=90, p=3)
    models = [glm(kind).fit(X[:, : k + 1], y) for k in range(3)]
    shuffled = anova(models[2], models[0], models[1])
    table = shuffled.to_frame()
    assert len(table) == 3 and [name[:2] for name in table.index] == ["1:", "2:", "3:"]
    np.testing.assert_allclose(table["resid_dev"], [m.deviance_ for m in models], rtol=1e-9)
    np.testing.assert_allclose(table["resid_df"], [88, 87, 86])
    drop = -np.diff([m.deviance_ for m in models])
    np.testing.assert_allclose(table["deviance"].iloc[1:], drop, rtol=1e-6, atol=1e-9)
    if kind in FREE:
        F = drop / models[2].dispersion_
        np.testing.assert_allclose(table["F"].iloc[1:], F, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(table["p"].iloc[1:], stats.f.sf(F, 1, 86), rtol=1e-6)
    else:
        np.testing.assert_allclose(table["LR"].iloc[1:], drop, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(table["p"].iloc[1:], stats.chi2.sf(drop, 1), rtol=1e-6)
    # one model, term by term: the same lines
    alone = anova(models[2]).to_frame()
    assert list(alone.index) == ["NULL", "x0", "x1", "x2"]
    np.testing.assert_allclose(alone["resid_dev"].iloc[1:], [m.deviance_ for m in models], rtol=1e-7)
    assert alone["resid_dev"].iloc[0] == pytest.approx(models[2].null_deviance_, rel=1e-7)
    np.testing.assert_allclose(alone["p"].iloc[2:], table["p"].iloc[1:], rtol=1e-4)
    for test in ("wald", "score"):
        found = anova(models[1], models[2], test=test).to_frame()
        column = {"wald": "Wald", "score": "score"}[test]
        by_name = models[2].test("x2", test)
        assert found[column].iloc[1] == pytest.approx(by_name.statistic, rel=1e-8)
        assert found["p"].iloc[1] == pytest.approx(by_name.p_value, rel=1e-8)


def test_anova_of_columns_that_are_combinations():
    """Nested by span, not by name: x₀ + x₁ is inside [x₀, x₁]."""
    X, y = draw("poisson", 5, n=90, p=3)
    small = glm("poisson").fit((X[:, 0] + X[:, 1])[:, None], y)
    large = glm("poisson").fit(X, y)
    table = anova(small, large).to_frame()
    assert table["LR"].iloc[1] == pytest.approx(small.deviance_ - large.deviance_, rel=1e-6)
    assert table["df"].iloc[1] == 2
    with pytest.raises(ValueError, match="by name"):  # both have an x0, and they are not the same column
        anova(small, large, test="wald")
    without = glm("poisson", fit_intercept=False).fit(X[:, :1], y)
    assert anova(without, glm("poisson").fit(X[:, :1], y)).to_frame()["df"].iloc[1] == 1


def test_anova_prints():
    X, y = draw("gaussian", 4, n=90, p=3)
    summary = anova(glm("gaussian").fit(X[:, :1], y), glm("gaussian").fit(X, y))
    assert "Analysis of deviance" in str(summary) and "dispersion" in str(summary)
    assert "<table" in summary.to_html() and "tabular" in summary.to_latex()


# ---- what is kept ----


def test_rows_changed_after_the_fit_are_noticed():
    """The rows are kept by reference: errors of other rows would be errors of another fit."""
    for make in (lambda: glm("poisson"), lambda: glm("gamma"), lambda: glm("gaussian"),
                 lambda: LogisticRegression(C=np.inf)):  # fmt: skip
        X, y = draw("poisson")
        y = (y > 1) + 1 if not isinstance(make(), LogisticRegression) else (y > 1).astype(int)
        asks = (
            lambda m: m.residuals(),
            lambda m: m.leverage(),
            lambda m: m.test(0),
            lambda m: m.covariance("HC0"),
            lambda m: m.confidence_intervals(method="profile"),
        )
        for warm in (True, False):
            for ask in asks:
                kept = X.copy()
                model = make().fit(kept, y)
                if warm:
                    model.summary()
                kept *= 1.5
                with pytest.raises(ValueError, match="changed in place"):
                    ask(model)


def test_a_summary_is_of_the_rows_of_the_fit():
    """Changed rows may be noticed, but must not change the errors in silence."""
    for make in (lambda: glm("poisson"), lambda: glm("gamma"), lambda: LogisticRegression(C=np.inf)):
        X, y = draw("poisson")
        y = (y > 1) + 1 if not isinstance(make(), LogisticRegression) else (y > 1).astype(int)
        expected = make().fit(X.copy(), y).standard_errors()
        model = make().fit(X, y)
        X *= 1.5
        try:
            found = model.standard_errors()
        except ValueError as refusal:
            found = expected if "changed" in str(refusal) else None
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_responses_and_weights_are_the_models_own():
    X, y = draw("poisson")
    weight, shift = np.full(70, 2.0), np.linspace(0, 1, 70)
    model = glm("poisson").fit(X, y, weight, shift)
    before = model.residuals().copy(), model.standard_errors("HC0")
    given = y, weight, shift
    for array in given:
        array *= 3.0
    np.testing.assert_array_equal(model.residuals(), before[0])
    np.testing.assert_allclose(model.standard_errors("HC0"), before[1])


@pytest.mark.parametrize(
    "model",
    [GeneralizedLinearModel("poisson", alpha=0.1), LogisticRegression(), LogisticRegression(C=10.0),
     GeneralizedLinearModel(alpha=1e-6)],
    ids=str,
)  # fmt: skip
def test_a_penalised_fit_has_no_errors_and_says_why(model):
    X, y = draw("poisson")
    model.fit(X, (y > 1).astype(int))
    asks = (
        model.summary,
        model.covariance,
        model.standard_errors,
        model.confidence_intervals,
        lambda: model.test(0),
        model.residuals,
        model.leverage,
        lambda: anova(model),
    )
    for ask in asks:
        with pytest.raises(ValueError, match="BayesianLogisticRegression"):
            ask()
    for name in ("covariance_", "aic_", "bic_", "dispersion_", "df_residual_"):
        assert not hasattr(model, name), name
    with pytest.raises(AttributeError, match="a penalty moves the estimates"):
        _ = model.covariance_


def test_class_weights_have_no_likelihood():
    X, y = draw("poisson")
    model = LogisticRegression(C=np.inf, class_weight="balanced").fit(X, (y > 1).astype(int))
    with pytest.raises(ValueError, match="class_weight=None"):
        model.summary()
    assert not hasattr(model, "covariance_")


@pytest.mark.parametrize("make", [GeneralizedLinearModel, lambda: LogisticRegression(C=np.inf)])
def test_before_fit(make):
    for name in ("summary", "covariance", "standard_errors", "confidence_intervals", "residuals", "leverage",
                 "cooks_distance"):  # fmt: skip
        with pytest.raises(Exception, match="not fitted yet"):
            getattr(make(), name)()
    with pytest.raises(Exception, match="not fitted yet"):
        make().test(0)
    assert not hasattr(make(), "covariance_") and not hasattr(make(), "deviance_")


def test_a_refit_forgets_the_last_one():
    X, y = draw("poisson")
    y = (y > 1).astype(int)
    model = LogisticRegression(C=np.inf).fit(X, y)
    model.summary()
    model.set_params(C=1.0).fit(X, y)
    with pytest.raises(ValueError, match="penalty"):
        model.summary()
    model.set_params(C=np.inf).fit(X[:40], y[:40])
    fresh = LogisticRegression(C=np.inf).fit(X[:40], y[:40])
    assert model.summary().to_frame().equals(fresh.summary().to_frame())


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
