"""Perceptrons: what cannot be meant is refused, and cells that cannot be used are named."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from separatrix.models.margin.kernel_perceptron import KernelPerceptron
from separatrix.models.margin.perceptron import Perceptron
from separatrix.solve.separator import (
    linear_separator,
)

REFUSED = [
    (Perceptron(penalty="l2"), "no penalty"),
    (Perceptron(alpha=0.1), "alpha"),
    (Perceptron(l1_ratio=0.5), "l1_ratio"),
    (Perceptron(early_stopping=True), "early_stopping"),
    (Perceptron(validation_fraction=0.2), "validation_fraction"),
    (Perceptron(eta0=0), "eta0"),
    (Perceptron(eta0=np.inf), "eta0"),
    (Perceptron(tol=-1.0), "tol"),
    (Perceptron(max_iter=0), "max_iter"),
    (Perceptron(n_iter_no_change=0), "n_iter_no_change"),
    (Perceptron(start="ones"), "start"),
    (Perceptron(average=True, pocket=True), "choose one"),
    (Perceptron(class_weight="even"), "class_weight"),
    (Perceptron(class_weight={7: 1.0}), "7"),
    (Perceptron(class_weight={0: -1.0}), "class_weight"),
    (KernelPerceptron(kernel="cosine"), "cosine"),
    (KernelPerceptron(gamma=0), "gamma"),
    (KernelPerceptron(gamma="wide"), "gamma"),
    (KernelPerceptron(degree=-1), "degree"),
    (KernelPerceptron(cache_size=0), "cache_size"),
    (KernelPerceptron(kernel="precomputed"), "square"),
    (KernelPerceptron(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)), "nan"),
    (KernelPerceptron(kernel=lambda A, B: np.ones(3)), "shape"),
]


@pytest.mark.parametrize("model, words", REFUSED, ids=lambda v: str(v)[:40])
def test_what_cannot_be_meant_is_refused(model, words):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_missing_cells_are_named(value, form):
    X, y = load_iris(return_X_y=True)
    X[140, 2] = value
    for model in (Perceptron(), KernelPerceptron()):
        with pytest.raises(ValueError, match="column 2, row 140"):
            model.fit(form(X), y)
        with pytest.raises(ValueError, match="column 2, row 140"):
            model.partial_fit(form(X), y, classes=[0, 1, 2])


def test_other_bad_input():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="too large"):
        Perceptron().fit(X * 1e200, y)
    with pytest.raises(ValueError, match="only one class"):
        Perceptron().fit(X[:50], y[:50])
    with pytest.raises(ValueError, match="classes must be passed"):
        Perceptron().partial_fit(X, y)
    with pytest.raises(ValueError, match="label 2 was not seen"):
        Perceptron().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="classes differ"):
        Perceptron().partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="balanced"):
        Perceptron(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(AttributeError, match="partial_fit"):
        Perceptron(pocket=True).partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="coef_init"):
        Perceptron().fit(X, y, coef_init=np.zeros(4))
    with pytest.raises(ValueError, match="intercept_init"):
        Perceptron(fit_intercept=False).fit(X, y, intercept_init=np.ones(3))
    with pytest.raises(ValueError, match="not symmetric"):
        KernelPerceptron(kernel="precomputed").fit(np.triu(np.ones((150, 150))), y)
    with pytest.raises(ValueError, match="two classes"):
        linear_separator(X, y)
    with pytest.raises(ValueError, match="method"):
        linear_separator(X, y == 0, method="svm")
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="partial_fit"):
        Perceptron().fit(da.from_array(X), y)
