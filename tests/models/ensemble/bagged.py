"""Tables and counts that the tests of bagging share."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, make_classification

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)


def table(n=240, p=6, k=3, seed=0):
    return make_classification(
        n, p, n_informative=4, n_redundant=0, n_classes=k, flip_y=0.1, random_state=seed
    )


def counts_of(model, n):
    """How often each row is in each bag."""
    return [np.bincount(rows, minlength=n) for rows in model.estimators_samples_]
