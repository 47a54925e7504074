"""The one objective by which every logistic answer is measured, whatever its solver minimised.

    J(W, b) = [ C · Σᵢ loss(xᵢ, yᵢ) + ½ ‖W‖² ] / n          (intercept b unpenalised)

    binary      loss = log(1 + exp(−s η)),        s = 2y − 1,  η = w·x + b        W is (1, p)
    softmax     loss = log Σₖ exp(ηₖ) − η_y,                   η = W x + b        W is (K, p)

Cost O(n p K), in blocks of rows so that η for all rows is never held.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from benchmarks.model import Dataset, LinearAnswer, Task

BLOCK = 50_000


def logistic(answer: LinearAnswer, data: Dataset, task: Task) -> float:
    """J of the answer on the data."""
    coef = np.atleast_2d(np.asarray(answer.coef, dtype=float))
    intercept = np.atleast_1d(np.asarray(answer.intercept, dtype=float))
    expected = 1 if task.n_classes == 2 else task.n_classes
    if coef.shape != (expected, task.p) or intercept.shape != (expected,):
        raise ValueError(f"coef {coef.shape} and intercept {intercept.shape}, expected {expected}×{task.p}")
    n = data.X.shape[0]
    total = 0.0
    for start in range(0, n, BLOCK):
        eta = data.X[start : start + BLOCK] @ coef.T + intercept
        y = data.y[start : start + BLOCK]
        if expected == 1:
            total += float(np.logaddexp(0.0, -(2 * y - 1) * eta[:, 0]).sum())
        else:
            total += float((logsumexp(eta, axis=1) - eta[np.arange(len(y)), y]).sum())
    return (task.C * total + 0.5 * float((coef**2).sum())) / n
