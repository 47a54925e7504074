"""Densities are scipy.stats's, and parameters the maximum of the likelihood, family by family."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats as ss
from scipy.special import gammaln, psi

from separatrix import (
    BernoulliNB,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from separatrix.core.families import Multinomial, Normal
from tests.models.generative.real_tables import TIES, assert_predicts, by_class, random_weights, table, words

# ---- densities from scipy.stats ----


def normal_density(X, means, sigmas):
    return np.column_stack([ss.multivariate_normal(m, S).logpdf(X) for m, S in zip(means, sigmas)])


GROUPS = {
    "shared": lambda parts: [sum(len(p) * np.cov(p.T, ddof=0) for p in parts) / sum(map(len, parts))] * 3,
    "per-class": lambda parts: [np.cov(p.T, ddof=0) for p in parts],
    "diagonal": lambda parts: [np.diag(p.var(axis=0)) for p in parts],
    "spherical": lambda parts: [np.eye(p.shape[1]) * p.var(axis=0).mean() for p in parts],
}


def _pooled(parts):
    return sum(len(p) * np.cov(p.T, ddof=0) for p in parts) / sum(map(len, parts))


@pytest.mark.parametrize("covariance", GROUPS)
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_gaussian_discriminants_are_scipys_normals(name, covariance):
    X, y = table(name)
    parts = by_class(X, y)
    model = GaussianDiscriminant(covariance).fit(X, y)
    sigmas = GROUPS[covariance](parts)
    for a, b in zip(model.covariance_, sigmas, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12 * np.abs(b).max())
    assert_predicts(model, X, normal_density(X, [p.mean(axis=0) for p in parts], sigmas))


@pytest.mark.parametrize(
    "groups",
    [
        [["a", "b"], ["c"]],
        (("c",), ("b", "a")),
        {"a": "one", "b": "one", "c": "other"},
        {"c": 0, "b": 7, "a": 7},
        [["a", "b"], ["c"], ["never seen"]],
    ],
    ids=str,
)
def test_classes_that_share_a_covariance(groups):
    """The three-class figure of [PC]: a line between the two that share, curves to the third."""
    X, y = table("iris")
    labels = np.array(["a", "b", "c"])[y]
    parts = by_class(X, y)
    model = GaussianDiscriminant(groups).fit(X, labels)
    both, third = _pooled(parts[:2]), np.cov(parts[2].T, ddof=0)
    for a, b in zip(model.covariance_, [both, both, third], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)
    assert_predicts(model, X, normal_density(X, [p.mean(axis=0) for p in parts], [both, both, third]))
    # the log odds of a and b are linear: second differences along any line vanish
    line = X[:1] + np.linspace(-2, 2, 9)[:, None] * np.array([1.0, -0.5, 2.0, 0.3])
    logs = model.predict_log_proba(line)
    bend = np.abs(np.diff(logs[:, 0] - logs[:, 1], n=2)), np.abs(np.diff(logs[:, 0] - logs[:, 2], n=2))
    assert bend[0].max() < 1e-9 < 1.0 < bend[1].max()


@pytest.mark.parametrize("shrinkage", [0.0, 0.4, 1.0])
def test_shrunk_groups_and_priors(shrinkage):
    X, y = table("iris")
    parts = by_class(X, y)
    prior = [0.5, 0.2, 0.3]
    model = GaussianDiscriminant([[0, 2], [1]], shrinkage=shrinkage, priors=prior).fit(X, y)
    sigmas = [_pooled([parts[0], parts[2]]), np.cov(parts[1].T, ddof=0)]
    sigmas = [(1 - shrinkage) * S + shrinkage * np.trace(S) / 4 * np.eye(4) for S in sigmas]
    np.testing.assert_allclose(model.class_prior_, prior)
    assert_predicts(
        model, X, normal_density(X, [p.mean(axis=0) for p in parts], [sigmas[i] for i in (0, 1, 0)])
    )


@pytest.mark.parametrize("make", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_discriminants_density(make):
    X, y = table("wine")
    parts = by_class(X, y)
    model = make().fit(X, y)
    kind = "shared" if make is LinearDiscriminantAnalysis else "per-class"
    assert_predicts(model, X, normal_density(X, [p.mean(axis=0) for p in parts], GROUPS[kind](parts)))


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_nb_ties_are_scipys_normals(tie, weighted):
    """σ_kj, σ_j, σ_k, σ: the mean square over what is tied, weights as repetition."""
    X, y = table("iris")
    w = random_weights(len(y), 3) if weighted else np.ones(len(y))
    model = GaussianNB(tie=tie, var_smoothing=0).fit(X, y, sample_weight=w if weighted else None)
    means = np.array([np.average(X[y == k], axis=0, weights=w[y == k]) for k in range(3)])
    squares = np.array([w[y == k] @ (X[y == k] - means[k]) ** 2 for k in range(3)])
    counts = np.broadcast_to(np.bincount(y, w)[:, None], squares.shape)
    axes = {"none": (), "class": 0, "feature": 1, "both": (0, 1)}[tie]
    variance = np.sum(squares, axis=axes, keepdims=True) / np.sum(counts, axis=axes, keepdims=True)
    variance = np.broadcast_to(variance, squares.shape)
    np.testing.assert_allclose(model.theta_, means, rtol=1e-13)
    np.testing.assert_allclose(model.var_, variance, rtol=1e-12)
    density = ss.norm.logpdf(X[:, None, :], means, np.sqrt(variance)).sum(axis=2)
    assert_predicts(model, X, density)


def test_smoothed_variances_are_raised_by_a_share_of_their_columns_own():
    X, y = table("iris")
    scale = np.array([1.0, 1e6, 1e-6, 10.0])
    model = GaussianNB(var_smoothing=0.1, var_smoothing_per_column=True).fit(X * scale, y)
    np.testing.assert_allclose(model.epsilon_, 0.1 * X.var(axis=0) * scale**2, rtol=1e-12)
    wanted = np.array([p.var(axis=0) for p in by_class(X, y)]) + 0.1 * X.var(axis=0)
    np.testing.assert_allclose(model.var_, wanted * scale**2, rtol=1e-12)


def test_counts_densities_are_scipys():
    X, y = words()
    parts = by_class(X, y)
    model = MultinomialNB().fit(X, y)
    theta = [(p.sum(axis=0) + 1) / (p.sum() + p.shape[1]) for p in parts]
    density = np.column_stack([ss.multinomial.logpmf(X, X.sum(axis=1), t / t.sum()) for t in theta])
    assert_predicts(model, X, density)
    assert_predicts(MultinomialNB().fit(sp.csr_array(X), y), sp.csr_array(X), density)
    bits = X > 7
    model = BernoulliNB().fit(bits, y)
    theta = np.array([(p.sum(axis=0) + 1) / (len(p) + 2) for p in by_class(bits, y)])
    assert_predicts(model, bits, ss.bernoulli.logpmf(bits[:, None, :], theta).sum(axis=2))
    model = CategoricalNB().fit(X, y)
    density = np.zeros((len(X), 10))
    for j in range(X.shape[1]):
        size = int(X[:, j].max()) + 1
        for k, p in enumerate(parts):
            table_j = (np.bincount(p[:, j].astype(int), minlength=size) + 1) / (len(p) + size)
            density[:, k] += np.log(table_j[X[:, j].astype(int)])
    assert_predicts(model, X, density)


# ---- families ----


def drawn(family, n=60, K=3, p=2, seed=0):
    """Rows of K classes of a family, by NumPy's generators and not ours."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(K), n)
    s = 1.0 + y[:, None] + 0.5 * np.arange(p)
    one = np.ones((len(y), p))
    cells = {
        "normal": lambda: rng.normal(s, 1 + 0.3 * s),
        "bernoulli": lambda: (rng.random(s.shape) < s / 6).astype(float),
        "poisson": lambda: rng.poisson(s).astype(float),
        "exponential": lambda: rng.exponential(s),
        "gamma": lambda: rng.gamma(1 + s, 0.5 * one),
        "beta": lambda: rng.beta(s, 2.0 * one),
        "multinomial": lambda: np.array([rng.multinomial(rng.integers(3, 9), r / r.sum()) for r in s]).astype(
            float
        ),
        "dirichlet": lambda: np.array([rng.dirichlet(1 + 2 * r) for r in s]),
        "multivariate_normal": lambda: (
            rng.normal(s, 1.0) @ np.array([[1.0, 0.5, 0.2], [0, 1, 0.3], [0, 0, 1]])[:p, :p]
        ),
    }[family]()
    return cells, y


UNIVARIATE = ("normal", "bernoulli", "poisson", "exponential", "gamma", "beta")
MULTIVARIATE = ("multinomial", "dirichlet", "multivariate_normal")


def scipy_log_density(family, parameters, X):
    """log p of every cell (n, K, p), or row (n, K), of parameters (K, …)."""
    P, x = parameters, X[:, None, :]
    K = len(next(iter(P.values())))
    match family:
        case "normal":
            return ss.norm.logpdf(x, P["mean"], np.sqrt(P["variance"]))
        case "bernoulli":
            return ss.bernoulli.logpmf(x, P["probability"])
        case "poisson":
            return ss.poisson.logpmf(x, P["rate"])
        case "exponential":
            return ss.expon.logpdf(x, scale=1 / P["rate"])
        case "gamma":
            return ss.gamma.logpdf(x, P["shape"], scale=1 / P["rate"])
        case "beta":
            return ss.beta.logpdf(x, P["a"], P["b"])
        case "multinomial":
            n = X.sum(axis=1)
            shares = P["probabilities"] / P["probabilities"].sum(axis=1, keepdims=True)
            return np.column_stack([ss.multinomial.logpmf(X, n, shares[k]) for k in range(K)])
        case "dirichlet":  # scipy wants sums of 1 to the last digit
            a = P["concentration"]
            norm = gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1)
            return norm + np.log(X) @ (a - 1).T
        case "multivariate_normal":
            return normal_density(X, P["mean"], P["covariance"])
    raise AssertionError(family)


def assert_maximum_likelihood(family, parameters, parts, weight=None):
    """The moment equations ∇A(η_k) = mean of T over class k, written out."""
    for k, X in enumerate(parts):
        w = np.ones(len(X)) if weight is None else weight[k]
        P = {name: value[k] for name, value in parameters.items()}
        mean = np.average(X, axis=0, weights=w)
        close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)  # noqa: E731
        match family:
            case "normal":
                close(P["mean"], mean)
                close(P["variance"], np.average((X - mean) ** 2, axis=0, weights=w))
            case "bernoulli":
                close(P["probability"], mean)
            case "poisson":
                close(P["rate"], mean)
            case "exponential":
                close(1 / P["rate"], mean)
            case "gamma":
                close(P["shape"] / P["rate"], mean)
                close(psi(P["shape"]) - np.log(P["rate"]), np.average(np.log(X), axis=0, weights=w))
            case "beta":
                close(psi(P["a"]) - psi(P["a"] + P["b"]), np.average(np.log(X), axis=0, weights=w))
                close(psi(P["b"]) - psi(P["a"] + P["b"]), np.average(np.log1p(-X), axis=0, weights=w))
            case "multinomial":
                close(P["probabilities"], w @ X / (w @ X).sum())
            case "dirichlet":
                a = P["concentration"]
                close(psi(a) - psi(a.sum()), np.average(np.log(X), axis=0, weights=w))
            case "multivariate_normal":
                close(P["mean"], mean)
                close(P["covariance"], np.cov(X.T, ddof=0, aweights=w))


@pytest.mark.parametrize("family", UNIVARIATE + MULTIVARIATE)
@pytest.mark.parametrize("K", [2, 3])
def test_generative_classifier_of_every_family(family, K):
    X, y = drawn(family, K=K, p=3)
    model = GenerativeClassifier(family).fit(X, y)
    assert_maximum_likelihood(family, model.parameters_, by_class(X, y))
    density = scipy_log_density(family, model.parameters_, X)
    assert_predicts(model, X, density.sum(axis=2) if density.ndim == 3 else density)
    # a(x): linear in the parts of T(x) that differ
    score = model.features(X) @ model.coef_.T + model.intercept_
    decision = model.decision_function(X)
    if K == 2:
        np.testing.assert_allclose(score[:, 0], decision, rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_allclose(score - score[:, :1], decision - decision[:, :1], rtol=1e-9, atol=1e-9)
    assert model.verdict_.status == "closed form" and model.verdict_.gap < 1e-8
    joint_density = density.sum(axis=2) if density.ndim == 3 else density
    wanted = -np.mean((joint_density + np.log(model.class_prior_))[np.arange(len(y)), y])
    if family not in ("poisson", "gamma", "beta", "dirichlet", "multinomial"):  # those leave h(x) out
        assert model.verdict_.objective == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("family", UNIVARIATE + MULTIVARIATE)
@pytest.mark.parametrize("K", [2, 3])
def test_a_of_x_is_linear_with_a_shared_scale(family, K):
    """[6867] 3.1.3.3: with the scale shared, what is left of η differs in x alone (in log x for Beta, Dirichlet)."""
    X, y = drawn(family, K=K, p=3)
    model = GenerativeClassifier(family, shared_scale=True).fit(X, y)
    score = model.features(X) @ model.coef_.T + model.intercept_
    decision = model.decision_function(X)
    if K == 2:
        np.testing.assert_allclose(score[:, 0], decision, rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_allclose(score - score[:, :1], decision - decision[:, :1], rtol=1e-9, atol=1e-9)
    if family in ("beta", "dirichlet"):
        assert not hasattr(model, "rule_")
        return
    np.testing.assert_array_equal(model.features(X), X)
    np.testing.assert_allclose(np.squeeze(model.rule_.score(X)), np.squeeze(score), rtol=1e-12, atol=1e-12)
    P = model.parameters_
    for name in {"normal": ["variance"], "multivariate_normal": ["covariance"], "gamma": ["shape"]}.get(
        family, []
    ):
        np.testing.assert_allclose(P[name], np.broadcast_to(P[name][:1], P[name].shape), rtol=1e-12)
    parts = by_class(X, y)
    if family == "normal":
        wanted = np.mean([p.var(axis=0) for p in parts], axis=0)
        np.testing.assert_allclose(P["variance"][0], wanted, rtol=1e-12)
    if family == "multivariate_normal":
        lda = LinearDiscriminantAnalysis("lsqr").fit(X, y)
        np.testing.assert_allclose(P["covariance"][0], lda.covariance_, rtol=1e-11)
        np.testing.assert_allclose(model.coef_, lda.coef_, rtol=1e-8, atol=1e-10)
        differences = (m.intercept_ - (m.intercept_[0] if K > 2 else 0) for m in (model, lda))
        np.testing.assert_allclose(*differences, rtol=1e-8)
    if family == "gamma":  # one shape: mean over classes of log x̄ − mean log x, and rates a / x̄_k
        excess = np.mean([np.log(p.mean(axis=0)) - np.log(p).mean(axis=0) for p in parts], axis=0)
        a = P["shape"][0]
        np.testing.assert_allclose(np.log(a) - psi(a), excess, rtol=1e-9)
        np.testing.assert_allclose(a / P["rate"], [p.mean(axis=0) for p in parts], rtol=1e-10)
        np.testing.assert_allclose(  # −(b₁ − b₀) for two classes
            model.coef_, P["rate"][:1] - P["rate"][1:] if K == 2 else -P["rate"], rtol=1e-10
        )


def test_a_known_variance_and_trials():
    X, y = drawn("normal", K=2)
    model = GenerativeClassifier(Normal(variance=4.0)).fit(X, y)
    means = np.array([p.mean(axis=0) for p in by_class(X, y)])
    assert_predicts(model, X, ss.norm.logpdf(X[:, None, :], means, 2.0).sum(axis=2))
    np.testing.assert_allclose(model.coef_, [(means[1] - means[0]) / 4], rtol=1e-11)
    assert hasattr(model, "rule_")
    X, y = drawn("multinomial", K=2, p=3)
    model = GenerativeClassifier(Multinomial(trials=7)).fit(X, y)
    assert (model.sample(20, random_state=0)[0].sum(axis=1) == 7).all()


@pytest.mark.parametrize("family", UNIVARIATE)
@pytest.mark.parametrize("weighted", [False, True])
def test_naive_bayes_of_every_family(family, weighted):
    X, y = drawn(family)
    weight = random_weights(len(y), 1) if weighted else None
    model = NaiveBayes({0: family, 1: family}, alpha=0, var_smoothing=0).fit(X, y, sample_weight=weight)
    assert model.families_ == [{"normal": "gaussian"}.get(family, family)] * 2
    parameters = {
        name: np.column_stack([p[name] for p in model.parameters_]) for name in model.parameters_[0]
    }
    weights = None if weight is None else [weight[y == k] for k in range(3)]
    assert_maximum_likelihood(family, parameters, by_class(X, y), weights)
    assert_predicts(model, X, scipy_log_density(family, parameters, X).sum(axis=2))


def mixed_columns(seed=0, n=80):
    """One column of every kind, as lists of Python values; classes differ in all of them."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], n)
    s = y + 1.0
    columns = {
        "colour": np.array(["red", "green", "blue"])[rng.integers(0, s.astype(int) + 1) % 3].tolist(),
        "flag": (rng.random(3 * n) < s / 4).tolist(),
        "visits": rng.poisson(s).tolist(),
        "length": rng.gamma(s, 2.0).tolist(),
        "share": rng.beta(s, 2.0).tolist(),
        "balance": rng.normal(s, 2.0).tolist(),
    }
    return columns, np.array(["x", "y", "z"])[y]


def test_naive_bayes_of_a_mixed_table():
    """Chosen by type and support; the density is the product of scipy's."""
    pd = pytest.importorskip("pandas")
    columns, y = mixed_columns()
    frame = pd.DataFrame(columns)
    model = NaiveBayes(alpha=1.0, var_smoothing=0).fit(frame, y)
    assert model.families_ == ["categorical", "bernoulli", "poisson", "gamma", "beta", "gaussian"]
    assert list(model.levels_[0]) == ["blue", "green", "red"]
    density = np.zeros((len(y), 3))
    for k, label in enumerate("xyz"):
        part = frame[y == label]
        levels = (part["colour"].value_counts().reindex(["blue", "green", "red"]).fillna(0) + 1) / (
            len(part) + 3
        )
        density[:, k] += np.log(levels[frame["colour"]].to_numpy())
        density[:, k] += ss.bernoulli.logpmf(frame["flag"], (part["flag"].sum() + 1) / (len(part) + 2))
        density[:, k] += ss.poisson.logpmf(frame["visits"], part["visits"].mean())
        density[:, k] += ss.norm.logpdf(frame["balance"], part["balance"].mean(), part["balance"].std(ddof=0))
        P = {name: {n: v[k] for n, v in p.items()} for name, p in zip(frame.columns, model.parameters_)}
        density[:, k] += ss.gamma.logpdf(frame["length"], P["length"]["shape"], scale=1 / P["length"]["rate"])
        density[:, k] += ss.beta.logpdf(frame["share"], P["share"]["a"], P["share"]["b"])
    assert_predicts(model, frame, density)
    assert_maximum_likelihood(
        "gamma",
        {n: v[:, None] for n, v in model.parameters_[3].items()},
        by_class(frame[["length"]].to_numpy(), y),
    )
    assert "smoothing: 1 virtual row" in str(model.verdict_)


def test_naive_bayes_agrees_with_the_special_models():
    X, y = words()
    same = lambda a, b, X: np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-10)  # noqa: E731
    columns = range(X.shape[1])
    same(NaiveBayes(dict.fromkeys(columns, "categorical")).fit(X, y), CategoricalNB().fit(X, y), X)
    bits = (X > 7).astype(float)
    same(NaiveBayes(dict.fromkeys(columns, "bernoulli")).fit(bits, y), BernoulliNB().fit(bits, y), bits)
    same(NaiveBayes().fit(X > 7, y), BernoulliNB().fit(bits, y), bits)
    X, y = table("iris")
    for model in (
        NaiveBayes(dict.fromkeys(range(4), "normal")),
        GenerativeClassifier(),
        GaussianDiscriminant("diagonal"),
    ):
        np.testing.assert_allclose(
            model.fit(X, y).predict_proba(X), GaussianNB().fit(X, y).predict_proba(X), atol=1e-6
        )
    exact = NaiveBayes(dict.fromkeys(range(4), "normal"), var_smoothing=0.01).fit(X, y)
    same(exact, GaussianNB(var_smoothing=0.01, var_smoothing_per_column=True).fit(X, y), X)
