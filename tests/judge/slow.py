"""Rows, and models that take their time by a clock of their own."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB as PeerNB

QUICK = ["majority", "lda", "naive_bayes"]


def blobs(n=150, k=3, seed=0, spread=1.2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(0, spread, (n, 3)) + np.array([[0, 0, 0], [2, 0, 1], [0, 2, 1]])[y], np.array(
        list("abc")
    )[y]


def words(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    sky = np.where(rng.random(n) < 0.25 + 0.5 * y, "sun", "rain")
    frame = pd.DataFrame({"sky": sky, "wind": rng.normal(size=n) + y, "gap": rng.normal(size=n)})
    frame.loc[::7, "gap"] = np.nan
    return frame, np.where(y == 1, "yes", "no")


class Clock:
    """Time that passes in fits of Slow alone, so that budgets are tested to the second on any machine."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class Slow(ClassifierMixin, BaseEstimator):
    """A classifier that takes its time."""

    clock = time

    def __init__(self, seconds=0.05):
        self.seconds = seconds

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.share_ = np.bincount(codes) / len(codes)
        self.clock.sleep(self.seconds)
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class SlowNB(PeerNB):
    def __init__(self, seconds=0.05):
        super().__init__()
        self.seconds = seconds

    def fit(self, X, y):
        Slow.clock.sleep(self.seconds)
        return super().fit(X, y)


class Broken(Slow):
    def fit(self, X, y):
        raise ValueError("no luck today")
