"""Thirty rows with counts, labels and positive responses, to refuse things of."""

from __future__ import annotations

import numpy as np

from separatrix import GeneralizedLinearModel

G = GeneralizedLinearModel
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (30, 3))
COUNTS = RNG.poisson(2.0, 30).astype(float)
BINARY = (RNG.random(30) < 0.5).astype(float)
POSITIVE = RNG.gamma(3.0, 1.0, 30)
