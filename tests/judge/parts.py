"""Rows, and what holds of the parts of an error."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin


def sine(n=120, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 6, (n, 1))
    return x, np.sin(x[:, 0]) + rng.normal(0, noise, n)


def blobs(n=90, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(0, 1.2, (n, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[y], y


def same(one, two):
    assert one.parts == two.parts
    for name in ("count", "prediction", "error", "bias", "variance", "noise"):
        np.testing.assert_array_equal(getattr(one.points, name), getattr(two.points, name))


def adds_up(found):
    assert found.total == pytest.approx(found.bias + found.variance + found.noise, rel=1e-12, abs=1e-14)
    every = [found.points] + ([found.kohavi_wolpert_points] if found.loss == "zero_one" else [])
    for points in every:
        np.testing.assert_allclose(
            points.error, points.bias + points.variance + points.noise, rtol=1e-10, atol=1e-12
        )


class Slow(ClassifierMixin, BaseEstimator):
    done = 0

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        Slow.done += 1
        time.sleep(0.01)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])
