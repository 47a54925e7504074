"""Rows drawn for the question of separability."""

import numpy as np

from tests.draws import examples

many = examples(60)
some = examples(20)
random = np.random.default_rng


def noisy(n=200, p=20, seed=0):
    """A table whose columns say little: classes overlap in every direction."""
    rng = random(seed)
    X = rng.normal(size=(n, p))
    return X, (X[:, 0] + 2 * rng.normal(size=n) > 0).astype(int)
