"""Margin machines over drawn rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from separatrix.data.rows import Rows
from separatrix.problems.margin import MarginMachine
from tests.draws import examples

few = examples(15)


seeds = st.integers(0, 10_000)


def table(seed, n=60, p=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, 0] + 0.8 * rng.standard_normal(n) > 0.2, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    return X, y, rng


def machine_of(kind, seed, *, squared=False, intercept=True, C=1.0, sparse=False):
    X, y, rng = table(seed)
    weight = C * rng.integers(0, 3, len(y)).astype(float)
    weight[:2] = C
    rows = Rows.of(sp.csr_matrix(X) if sparse else X)
    if kind == "hinge":
        return MarginMachine.hinge(rows, y, weight, squared=squared, fit_intercept=intercept)
    target = 3.0 * X[:, 0] + rng.standard_normal(len(y)) + 10.0
    return MarginMachine(rows, target, weight, weight, 0.3, squared, intercept)


def centre(machine):
    return machine.rows.moments().mean
