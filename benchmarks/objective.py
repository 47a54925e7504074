"""The scores by which answers are compared, one formula for everyone; lower is better.

    logistic                 [ C · Σᵢ loss(xᵢ, yᵢ) + ½ ‖W‖² ] / n          (intercept b unpenalised)
    log_loss                 Σᵢ loss(xᵢ, yᵢ) / n = −mean log P(y | x)      linear models that minimise another thing
    log_loss_and_accuracy    the same, after checking the accuracy that the answer claims
    joint                    −mean log p(x, y),  log p(x, y) = log π_y + Σⱼ log N(xⱼ; μ_yj, σ²_yj)
    poisson                  mean of e^η − yη
    kernel_hinge, hinge      [½‖w‖² + C Σ max(0, 1 − y f)]/n      kernel_tube  [½‖w‖² + C Σ max(0, |y − f| − 0.1)]/n
    errors                   share of wrong labels

    binary      loss = log(1 + exp(−s η)),        s = 2y − 1,  η = w·x + b        W is (1, p)
    softmax     loss = log Σₖ exp(ηₖ) − η_y,                   η = W x + b        W is (K, p)

Cost O(n p K), in blocks of rows so that η for all rows is never held.
"""

from __future__ import annotations

from collections.abc import Iterator

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
    """[½‖w‖² + C Σ hinge]/n of an RBF machine with gamma="scale": what SVC minimises."""
    f, norm2 = _kernel_scores(answer, data)
    return (0.5 * norm2 + task.C * float(np.maximum(0.0, 1.0 - (2 * data.y - 1) * f).sum())) / len(f)


def kernel_tube(answer: KernelAnswer, data: Dataset, task: Task) -> float:
    """[½‖w‖² + C Σ max(0, |y − f| − 0.1)]/n of an RBF machine with gamma="scale": what SVR minimises."""
    f, norm2 = _kernel_scores(answer, data)
    return (0.5 * norm2 + task.C * float(np.maximum(0.0, np.abs(data.y - f) - 0.1).sum())) / len(f)


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


def _kernel_scores(answer: KernelAnswer, data: Dataset) -> tuple[np.ndarray, float]:
    """f(x) of every row and ‖w‖² = Σ_ij d_i d_j k(x_i, x_j) over the support."""
    from sklearn.metrics.pairwise import rbf_kernel

    X, s = data.X, np.asarray(answer.support)
    gamma, d = 1.0 / (X.shape[1] * X.var()), np.asarray(answer.dual_coef, dtype=float).ravel()
    f = np.concatenate([rbf_kernel(X[a : a + 2000], X[s], gamma) @ d for a in range(0, len(X), 2000)])
    return f + float(answer.intercept), float(f[s] @ d)


def _loss(eta: np.ndarray, y: np.ndarray) -> float:
    """Σ loss over the block."""
    if eta.shape[1] == 1:
        return float(np.logaddexp(0.0, -(2 * y - 1) * eta[:, 0]).sum())
    return float((logsumexp(eta, axis=1) - eta[np.arange(len(y)), y]).sum())
