"""Every generative model with data it is meant for, and what "the same model" means for them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

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
from tests.draws import examples

few = examples(3)
seeds = st.integers(0, 10_000)

# ---- data ----


def labels_of(seed, K, n):
    """At least eight rows of every class, the rest at random."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    y[: 8 * K] = np.repeat(np.arange(K), 8)
    return rng, y


def continuous(seed, K=3, n=60):
    """Correlated columns on a grid of 2⁻⁶, which 1e8 added and taken away again leaves exact."""
    rng, y = labels_of(seed, K, n)
    mix = np.eye(3) + 0.4 * rng.standard_normal((3, 3))
    X = (rng.standard_normal((n, 3)) * (1 + 0.4 * y[:, None])) @ mix + 1.5 * rng.standard_normal((K, 3))[y]
    return np.round(64 * X) / 64, y


def counts(seed, K=3, n=60):
    rng, y = labels_of(seed, K, n)
    return rng.poisson(rng.uniform(0.5, 4, (K, 3))[y]).astype(float), y


def documents(seed, K=3, n=60):
    X, y = counts(seed, K, n)
    return sp.csr_array(X), y


def positive(seed, K=3, n=60):
    rng, y = labels_of(seed, K, n)
    return rng.gamma(rng.uniform(1, 4, (K, 3))[y]) + 0.01, y


def fractions(seed, K=3, n=60):
    rng, y = labels_of(seed, K, n)
    return np.clip(rng.beta(rng.uniform(1, 4, (K, 3))[y], 2.0), 0.01, 0.99), y


def shares(seed, K=3, n=60):
    rng, y = labels_of(seed, K, n)
    return np.array([rng.dirichlet(a) for a in rng.uniform(1, 4, (K, 3))[y]]), y


def mixed(seed, K=3, n=60):
    """Words, booleans, counts and numbers in one table of objects."""
    rng, y = labels_of(seed, K, n)
    X = np.empty((n, 5), dtype=object)
    X[:, 0] = np.array(["red", "green", "blue", "grey"])[(rng.integers(0, 3, n) + y) % 4]
    X[:, 1] = (rng.random(n) < (y + 1) / (K + 1)).tolist()
    X[:, 2] = rng.poisson(y + 1.0).tolist()
    X[:, 3] = (rng.gamma(y + 1.0) + 0.01).tolist()
    X[:, 4] = rng.normal(y, 1.0).tolist()
    X[:4, 0] = ["red", "green", "blue", "grey"]
    return X, y


def columns_of(family):
    """The families are told: a first chunk might suggest others."""
    return NaiveBayes(dict.fromkeys(range(3), family))


KINDS = {1: "bernoulli", 2: "poisson", 3: "gamma", 4: "normal"}


GAUSSIAN = {
    "LDA": lambda: LinearDiscriminantAnalysis(),
    "LDA lsqr, priors": lambda: LinearDiscriminantAnalysis("lsqr", priors=[0.5, 0.2, 0.3]),
    "LDA shrunk": lambda: LinearDiscriminantAnalysis(shrinkage=0.3),
    "QDA": lambda: QuadraticDiscriminantAnalysis(),
    "QDA regularised": lambda: QuadraticDiscriminantAnalysis(reg_param=0.2),
    "shared": lambda: GaussianDiscriminant(),
    "per-class": lambda: GaussianDiscriminant("per-class"),
    "diagonal": lambda: GaussianDiscriminant("diagonal"),
    "spherical": lambda: GaussianDiscriminant("spherical"),
    "groups": lambda: GaussianDiscriminant({0: "a", 1: "b", 2: "a"}),
}
CASES = {name: (make, continuous) for name, make in GAUSSIAN.items()} | {
    "GaussianNB": (lambda: GaussianNB(var_smoothing_per_column=True), continuous),
    "GaussianNB class": (lambda: GaussianNB(tie="class", var_smoothing_per_column=True), continuous),
    "GaussianNB feature": (lambda: GaussianNB(tie="feature"), continuous),
    "GaussianNB both": (lambda: GaussianNB(tie="both"), continuous),
    "BernoulliNB": (lambda: BernoulliNB(), counts),
    "BernoulliNB sparse": (lambda: BernoulliNB(), documents),
    "BernoulliNB marginal": (lambda: BernoulliNB(smoothing=("m", 3, "marginal")), counts),
    "MultinomialNB": (lambda: MultinomialNB(), counts),
    "MultinomialNB sparse": (lambda: MultinomialNB(alpha=0.1), documents),
    "CategoricalNB": (lambda: CategoricalNB(), counts),
    "CategoricalNB marginal": (lambda: CategoricalNB(smoothing=("m", 3, "marginal")), counts),
    "NaiveBayes normal": (lambda: columns_of("normal"), continuous),
    "NaiveBayes poisson": (lambda: columns_of("poisson"), counts),
    "NaiveBayes gamma": (lambda: columns_of("gamma"), positive),
    "NaiveBayes beta": (lambda: columns_of("beta"), fractions),
    "NaiveBayes mixed": (lambda: NaiveBayes(KINDS), mixed),
    "normal": (lambda: GenerativeClassifier(), continuous),
    "normal shared": (lambda: GenerativeClassifier(shared_scale=True), continuous),
    "multivariate normal": (lambda: GenerativeClassifier("multivariate_normal"), continuous),
    "multivariate shared": (
        lambda: GenerativeClassifier("multivariate_normal", shared_scale=True),
        continuous,
    ),
    "poisson": (lambda: GenerativeClassifier("poisson"), counts),
    "exponential": (lambda: GenerativeClassifier("exponential"), positive),
    "gamma": (lambda: GenerativeClassifier("gamma"), positive),
    "gamma shared": (lambda: GenerativeClassifier("gamma", shared_scale=True), positive),
    "beta": (lambda: GenerativeClassifier("beta"), fractions),
    "dirichlet": (lambda: GenerativeClassifier("dirichlet"), shares),
    "multinomial": (lambda: GenerativeClassifier("multinomial"), counts),
}
every = pytest.mark.parametrize("case", CASES)


def cases(*left_out):
    return pytest.mark.parametrize("case", [c for c in CASES if not any(c.startswith(x) for x in left_out)])


SOLVED = (
    "gamma",
    "beta",
    "dirichlet",
    "NaiveBayes gamma",
    "NaiveBayes beta",
    "NaiveBayes mixed",
)  # by Newton

PUBLIC = (
    "class_prior_", "class_count_", "means_", "covariance_", "theta_", "var_", "epsilon_", "feature_log_prob_",
    "feature_count_", "category_count_", "parameters_", "coef_", "intercept_", "xbar_",
)  # fmt: skip


def arrays(value):
    """The arrays in a parameter: arrays, lists and dicts of them."""
    if isinstance(value, dict):
        return [a for name in sorted(value) for a in arrays(value[name])]
    if isinstance(value, (list, tuple)):
        return [a for item in value for a in arrays(item)]
    return [np.asarray(value, dtype=float)]


def learned(model):
    return {name: arrays(getattr(model, name)) for name in PUBLIC if hasattr(model, name)}


def condition(model):
    """κ, the largest condition of a correlation matrix of the model; 1 where it has none. Rounding moves a covariance
    by some eps of its deviations, and what is solved with it by κ times as much.
    """
    found = arrays([getattr(model, name, []) for name in ("covariance_", "parameters_")])
    squares = [S for S in found if S.ndim >= 2 and S.shape[-1] == S.shape[-2] > 1]
    kappa = 1.0
    for S in (S for square in squares for S in square.reshape(-1, *square.shape[-2:])):
        if np.allclose(S, S.T) and np.all(np.diag(S) > 0):
            deviation = np.sqrt(np.diag(S))
            kappa = max(kappa, np.linalg.cond(S / np.outer(deviation, deviation)))
    return kappa


def assert_same_model(a, b, X, tol=1e-12, ordered=True):
    """The same classes, the same parameters to ``tol`` of their size, the same densities. What is solved with a
    covariance (weights, offsets, densities) is held to what its condition leaves; an offset is a difference of terms
    of the size of weight × value, and is measured by them.
    """
    assert a.classes_.tolist() == b.classes_.tolist()
    mine, theirs = learned(a), learned(b)
    assert mine.keys() == theirs.keys()
    bent = max(tol, 20 * np.finfo(float).eps * condition(a))
    largest = 0.0 if sp.issparse(X) or X.dtype == object else np.max(np.abs(X))
    for name in mine if ordered else ("class_prior_", "class_count_"):
        for x, y in zip(mine[name], theirs[name], strict=True):
            assert x.shape == y.shape, name
            size = np.max(np.abs(x), initial=0.0, where=np.isfinite(x))
            if name == "intercept_":
                size += largest * np.sum(np.abs(a.coef_), axis=-1).max()
            t = bent if name in ("coef_", "intercept_") else tol
            np.testing.assert_allclose(x, y, rtol=t, atol=t * size, err_msg=name)
    x, y = a.class_log_density(X), b.class_log_density(X)
    np.testing.assert_allclose(x, y, rtol=100 * bent, atol=100 * bent)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1000 * bent)
    assert a.verdict_.objective == pytest.approx(b.verdict_.objective, rel=1e-10, abs=1e-10)


def tolerance(case):
    return 1e-10 if case.startswith(SOLVED) else 1e-12


def rows(X, index):
    return X[np.asarray(index)]


def stacked(a, b):
    return sp.csr_array(sp.vstack([a, b])) if sp.issparse(a) else np.concatenate([a, b])
