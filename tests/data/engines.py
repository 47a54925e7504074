"""Every engine, a table, and a fit to it whose bits are compared."""

import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from separatrix import LogisticRegression

ENGINES = [("serial", None), ("threads", 1), ("threads", 2), ("threads", 3), ("dask", None)]
every_engine = pytest.mark.parametrize("kind, workers", ENGINES, ids=[f"{k}-{w}" for k, w in ENGINES])
N, P = 211, 5


def table(n=N, p=P, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-3, 4, p) + rng.normal(size=p) * 50
    score = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=p)
    return X, score + rng.logistic(size=n)


def blas():
    return [(lib["filepath"], lib["num_threads"]) for lib in threadpool_info() if lib["user_api"] == "blas"]


def same_bits(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def fitted(X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a gradient fit of few steps says so; its bits still count
        model = LogisticRegression(**parameters).fit(X, y)
    return model.coef_, model.intercept_, model.verdict_.objective, model.verdict_.gap, model.n_iter_


def fail_in_the_middle(block, params, _memo):
    if block.start >= params:
        raise RuntimeError(f"block at {block.start} is bad")
    return 1, None
