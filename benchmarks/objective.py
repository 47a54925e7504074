"""The scores by which answers are compared, one formula for everyone; lower is better.

    logistic                 [ C · Σᵢ loss(xᵢ, yᵢ) + ½ ‖W‖² ] / n          (intercept b unpenalised)
    log_loss                 Σᵢ loss(xᵢ, yᵢ) / n = −mean log P(y | x)      linear models that minimise another thing
    log_loss_and_accuracy    the same, after checking the accuracy that the answer claims
    joint                    −mean log p(x, y),  log p(x, y) = log π_y + Σⱼ log N(xⱼ; μ_yj, σ²_yj)
    poisson                  mean of e^η − yη
    errors                   share of wrong labels

    binary      loss = log(1 + exp(−s η)),        s = 2y − 1,  η = w·x + b        W is (1, p)
    softmax     loss = log Σₖ exp(ηₖ) − η_y,                   η = W x + b        W is (K, p)

Cost O(n p K), in blocks of rows so that η for all rows is never held.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from benchmarks.model import Dataset, GaussianAnswer, LinearAnswer, ScoredAnswer, Task

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


def _loss(eta: np.ndarray, y: np.ndarray) -> float:
    """Σ loss over the block."""
    if eta.shape[1] == 1:
        return float(np.logaddexp(0.0, -(2 * y - 1) * eta[:, 0]).sum())
    return float((logsumexp(eta, axis=1) - eta[np.arange(len(y)), y]).sum())
