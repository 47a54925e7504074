"""The scores by which answers are compared, one formula for everyone; lower is better.

    logistic                 [ C · Σᵢ loss(xᵢ, yᵢ) + ½ ‖W‖² ] / n          (intercept b unpenalised)
    log_loss                 Σᵢ loss(xᵢ, yᵢ) / n = −mean log P(y | x)      linear models that minimise another thing
    log_loss_and_accuracy    the same, after checking the accuracy that the answer claims
    joint                    −mean log p(x, y),  log p(x, y) = log π_y + Σⱼ log N(xⱼ; μ_yj, σ²_yj)
    poisson                  mean of e^η − yη
    kernel_hinge, hinge      [½‖w‖² + C Σ max(0, 1 − y f)]/n      kernel_tube  [½‖w‖² + C Σ max(0, |y − f| − 0.1)]/n
    errors                   share of wrong labels
    held_out_errors          share of wrong labels among rows that no fit has seen

    binary      loss = log(1 + exp(−s η)),        s = 2y − 1,  η = w·x + b        W is (1, p)
    softmax     loss = log Σₖ exp(ηₖ) − η_y,                   η = W x + b        W is (K, p)

Cost O(n p K), in blocks of rows so that η for all rows is never held.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import logsumexp

from benchmarks.model import Dataset, GaussianAnswer, KernelAnswer, LinearAnswer, ScoredAnswer, Task

BLOCK = 50_000
ACCURACY_SLACK = 0.01  # rounding may turn a few ties, a wrong score is far off


def logistic(answer: LinearAnswer, data: Dataset, task: Task) -> float:
    """Penalised loss of the answer on the data."""
    total = sum(_loss(eta, y) for eta, y in _scores(answer, data, task))
    return (task.C * total + 0.5 * float((np.asarray(answer.coef) ** 2).sum())) / len(data.y)


def log_loss(answer: LinearAnswer, data: Dataset, task: Task) -> float:
    """Loss without a penalty: the maximum of a joint likelihood is not its minimum, but equal models tie."""
    return sum(_loss(eta, y) for eta, y in _scores(answer, data, task)) / len(data.y)


def log_loss_and_accuracy(answer: ScoredAnswer, data: Dataset, task: Task) -> float:
    """The log loss; ValueError when the claimed accuracy is not that of the linear scores."""
    total, hits = 0.0, 0
    for eta, y in _scores(LinearAnswer(answer.coef, answer.intercept), data, task):
        total += _loss(eta, y)
        hits += int(np.count_nonzero(eta.argmax(axis=1) == y))
    if not abs(hits / len(data.y) - answer.accuracy) <= ACCURACY_SLACK:
        raise ValueError(
            f"scored itself {answer.accuracy:.4f}, but its parameters give {hits / len(data.y):.4f}"
        )
    return total / len(data.y)


def kernel_hinge(answer: KernelAnswer, data: Dataset, task: Task) -> float:
    """[½‖w‖² + C Σ hinge]/n of an RBF machine: what SVC minimises; of K classes added up over the pairs."""
    s, dual = np.asarray(answer.support), np.atleast_2d(answer.dual_coef)
    if task.n_classes == 2:
        pairs, weights = [(1, 0)], dual.T
    else:
        pairs = list(combinations(range(task.n_classes), 2))
        own = data.y[s]
        weights = np.column_stack(
            [np.where(own == i, dual[j - 1], np.where(own == j, dual[i], 0.0)) for i, j in pairs]
        )
    f, norm2 = _kernel_scores(answer, weights, data, task)
    total = 0.5 * float(norm2.sum())
    for m, (positive, negative) in enumerate(pairs):
        ours = (data.y == positive) | (data.y == negative)
        sign = np.where(data.y[ours] == positive, 1.0, -1.0)
        total += task.C * float(np.maximum(0.0, 1.0 - sign * f[ours, m]).sum())
    return total / len(f)


def kernel_tube(answer: KernelAnswer, data: Dataset, task: Task) -> float:
    """[½‖w‖² + C Σ max(0, |y − f| − 0.1)]/n of an RBF machine: what SVR minimises."""
    f, norm2 = _kernel_scores(answer, np.atleast_2d(answer.dual_coef).T, data, task)
    tube = np.maximum(0.0, np.abs(data.y - f[:, 0]) - 0.1)
    return (0.5 * float(norm2[0]) + task.C * float(tube.sum())) / len(f)


def hinge(answer: LinearAnswer, data: Dataset, task: Task) -> float:
    """[½‖w‖² + C Σ hinge]/n, one-vs-rest for K classes, the intercept free."""
    return _one_vs_rest(answer, data, task, 1)


def squared_hinge(answer: LinearAnswer, data: Dataset, task: Task) -> float:
    """The same with the hinge squared."""
    return _one_vs_rest(answer, data, task, 2)


def poisson(answer: LinearAnswer, data: Dataset, task: Task) -> float:
    """Mean of e^η − yη, the negative log-likelihood of counts less its constant."""
    total = 0.0
    for eta, y in _scores(answer, data, task):
        total += float((np.exp(eta[:, 0]) - y * eta[:, 0]).sum())
    return total / len(data.y)


def joint(answer: GaussianAnswer, data: Dataset, task: Task) -> float:
    """−mean log p(x, y): what Gaussian naive Bayes minimises."""
    prior, mean, variance = (np.asarray(part, dtype=float) for part in answer)
    shapes = (task.n_classes,), (task.n_classes, task.p), (task.n_classes, task.p)
    if (prior.shape, mean.shape, variance.shape) != shapes:
        raise ValueError(f"prior {prior.shape}, mean {mean.shape}, variance {variance.shape}: not {shapes}")
    constant = np.log(prior) - 0.5 * np.log(2 * np.pi * variance).sum(axis=1)
    total = float(constant[data.y].sum())
    for start in range(0, len(data.y), BLOCK):
        X, y = data.X[start : start + BLOCK], data.y[start : start + BLOCK]
        for k in range(task.n_classes):
            total -= 0.5 * float((((X[y == k] - mean[k]) ** 2).sum(axis=0) / variance[k]).sum())
    return -total / len(data.y)


def errors(answer: np.ndarray, data: Dataset, task: Task) -> float:
    """The share of labels that differ from the data's."""
    labels = np.asarray(answer)
    if labels.shape != data.y.shape:
        raise ValueError(f"{labels.shape} labels, expected {data.y.shape}")
    return float(np.mean(labels != data.y))


def held_out_errors(answer: Any, data: Dataset, task: Task) -> float:
    """The share of rows held out that a fitted model puts into a wrong class; of labels, :func:`errors`."""
    if isinstance(answer, np.ndarray):
        return errors(answer, data, task)
    assert data.held_out is not None
    X, y = data.held_out
    return float(np.mean(answer.predict(X) != y))


def _scores(answer: LinearAnswer, data: Dataset, task: Task) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """η and y, block by block."""
    coef = np.atleast_2d(np.asarray(answer.coef, dtype=float))
    intercept = np.atleast_1d(np.asarray(answer.intercept, dtype=float))
    expected = 1 if task.n_classes == 2 else task.n_classes
    if coef.shape != (expected, task.p) or intercept.shape != (expected,):
        raise ValueError(f"coef {coef.shape} and intercept {intercept.shape}, expected {expected}×{task.p}")
    for start in range(0, len(data.y), BLOCK):
        yield data.X[start : start + BLOCK] @ coef.T + intercept, data.y[start : start + BLOCK]


def _one_vs_rest(answer: LinearAnswer, data: Dataset, task: Task, power: int) -> float:
    total = 0.5 * float((np.asarray(answer.coef) ** 2).sum())
    for eta, y in _scores(answer, data, task):
        for k in range(eta.shape[1]):
            sign = 2.0 * (y == (1 if eta.shape[1] == 1 else k)) - 1.0
            total += task.C * float((np.maximum(0.0, 1.0 - sign * eta[:, k]) ** power).sum())
    return total / len(data.y)


def _kernel_scores(
    answer: KernelAnswer, weights: np.ndarray, data: Dataset, task: Task
) -> tuple[np.ndarray, np.ndarray]:
    """f(x) (n, machines) of every row, and each machine's ‖w‖² = Σ_ij d_i d_j k(x_i, x_j) over the support."""
    from sklearn.metrics.pairwise import rbf_kernel

    X, s, n = data.X, np.asarray(answer.support), data.X.shape[0]
    gamma, vectors = rbf_gamma(X, task.gamma), data.X[s]
    f = np.concatenate([rbf_kernel(X[a : a + 2000], vectors, gamma) @ weights for a in range(0, n, 2000)])
    return f + np.asarray(answer.intercept, dtype=float), (f[s] * weights).sum(axis=0)


def rbf_gamma(X: Any, name: str) -> float:
    """γ as scikit-learn's names mean it: "scale" 1/(p·Var X), "auto" 1/p."""
    if name == "auto":
        return 1.0 / X.shape[1]
    if not hasattr(X, "indptr"):
        return 1.0 / (X.shape[1] * float(X.var()))
    cells = X.shape[0] * X.shape[1]
    return 1.0 / (X.shape[1] * float((X.data**2).sum() / cells - (X.data.sum() / cells) ** 2))


def _loss(eta: np.ndarray, y: np.ndarray) -> float:
    """Σ loss over the block."""
    if eta.shape[1] == 1:
        return float(np.logaddexp(0.0, -(2 * y - 1) * eta[:, 0]).sum())
    return float((logsumexp(eta, axis=1) - eta[np.arange(len(y)), y]).sum())
