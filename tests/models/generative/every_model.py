"""Every generative model by name, with rows it takes."""

from __future__ import annotations

import numpy as np
import pytest

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

NAMES = ["alpha", "beta", "gamma"]


def continuous(seed=0, n=60, K=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.standard_normal((n, 3)) + 1.3 * y[:, None], y


def counts(seed=0, n=60, K=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    X = rng.poisson(1.5 + y[:, None], (n, 3)).astype(float)
    X[:K] = 1.0
    return X, y


def bits(seed=0, n=60, K=3):
    X, y = counts(seed, n, K)
    return (X > 1).astype(float), y


def positive(seed=0, n=60, K=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.gamma(1.5 + y[:, None], 1.0, (n, 3)) + 0.01, y


def fractions(seed=0, n=60, K=3):
    X, y = positive(seed, n, K)
    return X / (1 + X), y


def shares(seed=0, n=60, K=3):
    X, y = positive(seed, n, K)
    return X / X.sum(axis=1, keepdims=True), y


MODELS = {
    "LDA": (lambda: LinearDiscriminantAnalysis(), continuous),
    "QDA": (lambda: QuadraticDiscriminantAnalysis(), continuous),
    "shared": (lambda: GaussianDiscriminant(), continuous),
    "per-class": (lambda: GaussianDiscriminant("per-class"), continuous),
    "diagonal": (lambda: GaussianDiscriminant("diagonal"), continuous),
    "spherical": (lambda: GaussianDiscriminant("spherical"), continuous),
    "GaussianNB": (lambda: GaussianNB(), continuous),
    "GaussianNB class": (lambda: GaussianNB(tie="class"), continuous),
    "GaussianNB both": (lambda: GaussianNB(tie="both"), continuous),
    "BernoulliNB": (lambda: BernoulliNB(), bits),
    "MultinomialNB": (lambda: MultinomialNB(), counts),
    "CategoricalNB": (lambda: CategoricalNB(), counts),
    "NaiveBayes": (lambda: NaiveBayes(), continuous),
    "NaiveBayes poisson": (lambda: NaiveBayes(dict.fromkeys(range(3), "poisson")), counts),
    "normal": (lambda: GenerativeClassifier(), continuous),
    "multivariate normal": (lambda: GenerativeClassifier("multivariate_normal"), continuous),
    "poisson": (lambda: GenerativeClassifier("poisson"), counts),
    "gamma": (lambda: GenerativeClassifier("gamma"), positive),
    "dirichlet": (lambda: GenerativeClassifier("dirichlet"), shares),
}
every = pytest.mark.parametrize("case", MODELS)
GAUSSIAN = ("LDA", "QDA", "shared", "per-class", "diagonal", "spherical")
NAIVE = ("GaussianNB", "GaussianNB class", "GaussianNB both", "NaiveBayes", "normal")


def frame(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=NAMES)


def message_of(call):
    with pytest.raises(ValueError) as error:
        call()
    return str(error.value)
