"""Rows drawn for the question of separability."""

import numpy as np
from hypothesis import settings

many = settings(max_examples=60, deadline=None)
some = settings(max_examples=20, deadline=None)
random = np.random.default_rng


def noisy(n=200, p=20, seed=0):
    """A table whose columns say little: classes overlap in every direction."""
    rng = random(seed)
    X = rng.normal(size=(n, p))
    return X, (X[:, 0] + 2 * rng.normal(size=n) > 0).astype(int)
