"""Models and data for EM: two classes, three columns, a quarter of the labels."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

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


def continuous(seed=0, n=120):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 3)) @ np.array([[1.0, 0.5, 0.0], [0, 1, 0.3], [0, 0, 1]]) + 1.6 * y[:, None]
    return X, y


def counts(seed=0, n=120):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.poisson(np.array([[1.0, 3.0, 2.0], [3.0, 1.0, 2.5]])[y]).astype(float), y


def documents(seed=0, n=120):
    X, y = counts(seed, n)
    return sp.csr_array(X), y


def positive(seed=0, n=120):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.gamma(np.array([[1.0, 3.0, 2.0], [4.0, 2.0, 2.0]])[y]) + 0.01, y


def fractions(seed=0, n=120):
    X, y = positive(seed, n)
    return X / (1 + X), y


def shares(seed=0, n=120):
    X, y = positive(seed, n)
    return X / X.sum(axis=1, keepdims=True), y


def mixed(seed=0, n=120):
    rng = np.random.default_rng(seed)
    C, y = counts(seed, n)
    X = np.empty((n, 4), dtype=object)
    X[:, 0] = np.array(["low", "mid", "top"])[np.clip(rng.integers(0, 2, n) + y, 0, 2)]
    X[:, 1] = C[:, 0].astype(int).tolist()
    X[:, 2] = (rng.random(n) < 0.3 + 0.4 * y).tolist()
    X[:, 3] = rng.normal(2 * y, 1.0).tolist()
    return X, y


EXACT = {  # the M step maximises the likelihood itself
    "LDA": (lambda: LinearDiscriminantAnalysis(), continuous),
    "LDA priors": (lambda: LinearDiscriminantAnalysis(priors=[0.3, 0.7]), continuous),
    "QDA": (lambda: QuadraticDiscriminantAnalysis(), continuous),
    "shared": (lambda: GaussianDiscriminant(), continuous),
    "per-class": (lambda: GaussianDiscriminant("per-class"), continuous),
    "diagonal": (lambda: GaussianDiscriminant("diagonal"), continuous),
    "spherical": (lambda: GaussianDiscriminant("spherical"), continuous),
    "groups": (lambda: GaussianDiscriminant([[0], [1]]), continuous),
    "GaussianNB": (lambda: GaussianNB(var_smoothing=0), continuous),
    "GaussianNB class": (lambda: GaussianNB(tie="class", var_smoothing=0), continuous),
    "GaussianNB feature": (lambda: GaussianNB(tie="feature", var_smoothing=0), continuous),
    "GaussianNB both": (lambda: GaussianNB(tie="both", var_smoothing=0), continuous),
    "BernoulliNB": (lambda: BernoulliNB(alpha=0), counts),
    "MultinomialNB": (lambda: MultinomialNB(alpha=0), counts),
    "CategoricalNB": (
        lambda: CategoricalNB(alpha=0),
        lambda **k: (np.minimum(counts(**k)[0], 3), counts(**k)[1]),
    ),
    "NaiveBayes normal": (lambda: NaiveBayes(dict.fromkeys(range(3), "normal"), var_smoothing=0), continuous),
    "NaiveBayes poisson": (lambda: NaiveBayes(dict.fromkeys(range(3), "poisson")), counts),
    "NaiveBayes gamma": (lambda: NaiveBayes(dict.fromkeys(range(3), "gamma")), positive),
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
SMOOTHED = {  # the M step maximises the likelihood times the prior the smoothing stands for
    "BernoulliNB Laplace": (lambda: BernoulliNB(), counts),
    "BernoulliNB sparse": (lambda: BernoulliNB(), documents),
    "BernoulliNB Beta": (lambda: BernoulliNB(smoothing=("beta", 3, 2)), counts),
    "BernoulliNB m": (lambda: BernoulliNB(smoothing=("m", 4, "uniform")), counts),
    "MultinomialNB Laplace": (lambda: MultinomialNB(), counts),
    "MultinomialNB sparse": (lambda: MultinomialNB(), documents),
    "MultinomialNB Dirichlet": (lambda: MultinomialNB(smoothing=("dirichlet", 3)), counts),
    "CategoricalNB Laplace": (lambda: CategoricalNB(), counts),
    "CategoricalNB Dirichlet": (lambda: CategoricalNB(smoothing=("dirichlet", 3)), counts),
    "NaiveBayes mixed": (lambda: NaiveBayes({1: "poisson"}), mixed),
}
NEARLY = {  # the variances are raised after the M step: the likelihood may fall by what that is worth
    "GaussianNB default": (lambda: GaussianNB(), continuous),
    "NaiveBayes default": (lambda: NaiveBayes(dict.fromkeys(range(3), "normal")), continuous),
    "LDA shrunk": (lambda: LinearDiscriminantAnalysis(shrinkage=0.1), continuous),
    "QDA regularised": (lambda: QuadraticDiscriminantAnalysis(reg_param=0.1), continuous),
}


def half_labelled(y, every=4):
    """The labels as objects, all but every fourth taken away."""
    labels = np.array(y, dtype=object)
    labels[np.arange(len(y)) // 2 % every != 0] = None
    return labels


def seen_log_likelihood(model, X, codes, weight=None):
    """Mean log p of what was seen, from the densities: log p(x, y), or log p(x) where there is no label."""
    joint = model.class_log_density(X) + np.log(model.class_prior_)
    seen = np.where(codes < 0, logsumexp(joint, axis=1), joint[np.arange(len(codes)), codes])
    return np.average(seen, weights=weight)


def codes_of(labels):
    return np.array([-1 if v is None else v for v in labels])


def with_gaps(X, share=0.25, seed=0):
    gaps = np.random.default_rng(seed).random(X.shape) < share
    gaps[:6] = False
    return np.where(gaps, np.nan, X)
