"""Drawn tables that the tests of machines with probabilities share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.draws import examples

few = examples(12)

seeds = st.integers(0, 10_000)


def drawn(seed, n=90, p=3, k=2):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat(np.arange(k), 3), rng.integers(0, k, n - 3 * k)])
    return rng.standard_normal((n, p)) + 1.3 * np.eye(k, p)[y], y
