"""An independent solve of logistic regression in extended precision, and data the tests share.

    min (1/W) Σ_i s_i ℓ_i + ½ λ ‖w‖²,   λ = 1/(C·W)

Plain damped Newton on the symmetric K-class form (two classes: one score), in ``longdouble`` (eps 1e-19 on
x86). Columns are shifted and scaled by floats first, which loses nothing in that precision, and the answer
is given in the user's units. It shares no code with the library.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

LONG: Any = np.longdouble
EXTENDED = np.finfo(LONG).eps < 1e-18
needs_extended = pytest.mark.skipif(not EXTENDED, reason="long double is a plain double here")


@dataclass(frozen=True)
class Answer:
    """The minimiser in the user's units: coef (p,) or (K, p); ``objective`` = min F."""

    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    gradient_norm: float


def solve_long(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A⁻¹b of a positive definite matrix by Gaussian elimination in the arrays' own precision."""
    size = 1 / np.sqrt(np.diag(A))
    M = np.column_stack([A * size[:, None] * size, b * size])
    n = len(A)
    for j in range(n):
        M[j + 1 :, j:] -= np.outer(M[j + 1 :, j] / M[j, j], M[j, j:])
    x = np.zeros(n, dtype=M.dtype)
    for j in range(n - 1, -1, -1):
        x[j] = (M[j, n] - M[j, j + 1 : n] @ x[j + 1 :]) / M[j, j]
    return x * size


def long_newton(
    X: Any,
    codes: Any,
    *,
    C: float = 1.0,
    weight: Any = None,
    fit_intercept: bool = True,
    n_classes: int | None = None,
    rotate: bool = False,
) -> Answer:
    """Minimise in long double; ``codes`` are class indices 0 … K−1. ``rotate`` takes out the columns' condition."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    codes = np.asarray(codes)
    n, p = X.shape
    K = int(n_classes or codes.max() + 1)
    s = np.ones(n, dtype=LONG) if weight is None else np.asarray(weight, dtype=LONG)
    W = s.sum()
    lam = LONG(0) if np.isinf(C) else 1 / (LONG(C) * W)
    centre = X.mean(axis=0) if fit_intercept else np.zeros(p)
    Z = X.astype(LONG) - centre.astype(LONG)
    spread = np.sqrt((Z**2).mean(axis=0))
    scale = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1), 1)
    scale = np.exp2(np.round(np.log2(scale.astype(float)))).astype(LONG)  # a power of two: exact
    Z = Z * scale
    B = np.eye(p, dtype=LONG)
    if rotate:
        B = np.linalg.inv(np.linalg.qr((Z / np.sqrt(LONG(n))).astype(float), mode="r")).astype(LONG)
        Z = Z @ B
    if fit_intercept:
        Z = np.column_stack([Z, np.ones(n, dtype=LONG)])
    q = Z.shape[1]
    ridge = np.zeros((q, q), dtype=LONG)
    ridge[:p, :p] = lam * (B * scale[:, None]).T @ (B * scale[:, None])
    free = K - 1 if K > 2 else 1
    Q = np.eye(K, K - 1, dtype=LONG)  # the last class is the reference: not the library's basis
    V = np.zeros((q, free), dtype=LONG)

    def both(V: np.ndarray) -> tuple[Any, np.ndarray, Any]:
        """F, gradient and what the Hessian needs."""
        if K == 2:
            m = np.where(codes == 1, LONG(1), LONG(-1))
            eta = Z @ V[:, 0]
            t = -m * eta
            loss = np.maximum(t, 0) + np.log1p(np.exp(-np.abs(t)))
            tail = np.exp(-np.abs(eta))
            prob = np.where(eta >= 0, 1, tail) / (1 + tail)
            slope = (prob - (codes == 1))[:, None]
            value = (s @ loss) / W + V[:, 0] @ ridge @ V[:, 0] / 2
            grad = Z.T @ (s[:, None] * slope) / W + ridge @ V
            return value, grad, prob
        # K classes: ‖w‖² of the symmetric form is ‖V‖² − ‖ΣV‖²/K per column
        eta = Z @ V @ Q.T
        top = eta.max(axis=1)
        e = np.exp(eta - top[:, None])
        prob = e / e.sum(axis=1)[:, None]
        loss = np.log(e.sum(axis=1)) + top - eta[np.arange(n), codes]
        slope = prob.copy()
        slope[np.arange(n), codes] -= 1
        centred = V - V.sum(axis=1)[:, None] / K
        value = (s @ loss) / W + np.sum(V * (ridge @ centred)) / 2
        grad = Z.T @ (s[:, None] * (slope @ Q)) / W + ridge @ centred
        return value, grad, prob

    def hessian(prob: np.ndarray) -> np.ndarray:
        H = np.zeros((q * free, q * free), dtype=LONG)
        if K == 2:
            H[:] = (Z * (s * prob * (1 - prob))[:, None]).T @ Z / W
            return H + ridge
        for a in range(free):
            for b in range(free):
                h = s * prob[:, a] * ((a == b) - prob[:, b]) / W
                block = (Z * h[:, None]).T @ Z
                H[a * q : a * q + q, b * q : b * q + q] = block + ridge * ((a == b) - LONG(1) / K)
        return H

    value, grad, prob = both(V)
    norm = np.inf
    for _ in range(200):
        step = solve_long(hessian(prob), grad.T.ravel()).reshape(free, q).T
        alpha, decrement = LONG(1), np.sum(step * grad)
        while True:
            new = both(V - alpha * step)
            if (
                new[0] <= value - alpha * decrement / 10000 + 64 * np.finfo(LONG).eps * abs(value)
                or alpha < 1e-10
            ):
                break
            alpha /= 2
        V = V - alpha * step
        value, grad, prob = new
        norm = float(np.sqrt(np.sum(grad**2)))
        if np.abs(step * alpha).max() <= 1e-15 * max(1, np.abs(V).max()):
            break
    else:
        raise AssertionError(f"the reference did not converge: gradient norm {norm:.1e}")
    if K > 2:
        V = np.column_stack([V, np.zeros(q, dtype=LONG)])
        V = V - V.mean(axis=1)[:, None]
    coef = (B @ V[:p]) * scale[:, None]
    intercept = V[p] - centre.astype(LONG) @ coef if fit_intercept else np.zeros(V.shape[1], dtype=LONG)
    if K == 2:
        return Answer(coef[:, 0], intercept[0], float(value), norm)
    return Answer(coef.T, intercept, float(value), norm)


def error_against(answer: Answer, model: Any, X: Any) -> float:
    """Largest error of coefficients and intercept in standardised units, relative to the largest of them."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    spread, mean = X.std(axis=0), X.mean(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    coef, intercept = np.squeeze(model.coef_), np.squeeze(model.intercept_)
    ours, theirs = coef * spread, np.asarray(answer.coef, dtype=float) * spread
    off = np.asarray((coef - answer.coef) * spread, dtype=float)
    # the score at the centre of the data: the intercept itself may lie far outside them
    lift = np.asarray((intercept - answer.intercept) + (coef - answer.coef) @ mean.astype(LONG), dtype=float)
    size = max(1.0, float(np.abs(theirs).max()), float(np.abs(ours).max()))
    return max(float(np.abs(off).max()), float(np.abs(lift).max())) / size


def objective_of(
    X: Any, codes: Any, coef: Any, intercept: Any, *, C: float = 1.0, weight: Any = None
) -> float:
    """F in the user's units, by its definition, in long double; K classes when coef has K > 1 rows."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X).astype(LONG)
    coef = np.atleast_2d(np.asarray(coef, dtype=LONG))
    eta = X @ coef.T + np.atleast_1d(np.asarray(intercept, dtype=LONG))
    if len(coef) == 1:
        eta = np.column_stack([np.zeros(len(eta), dtype=LONG), eta])
    top = eta.max(axis=1)
    loss = np.log(np.exp(eta - top[:, None]).sum(axis=1)) + top - eta[np.arange(len(eta)), codes]
    s = np.ones(len(eta), dtype=LONG) if weight is None else np.asarray(weight, dtype=LONG)
    lam = 0 if np.isinf(C) else 1 / (LONG(C) * s.sum())
    return float((s @ loss) / s.sum() + lam * np.sum(coef**2) / 2)


def overlapping(n: int = 60, p: int = 3, K: int = 2, seed: int = 0, noise: float = 1.0) -> tuple[Any, Any]:
    """Standard normal rows with labels from a noisy linear rule; every class present, classes overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    scores = X @ rng.standard_normal((p, K)) * 0.7 + noise * rng.gumbel(size=(n, K))
    y = scores.argmax(axis=1)
    y[:K] = np.arange(K)
    return X, y


@contextlib.contextmanager
def quiet(*categories: type[Warning]) -> Iterator[None]:
    """Warnings of the named kinds are expected and left out."""
    with warnings.catch_warnings():
        for category in categories or (Warning,):
            warnings.simplefilter("ignore", category)
        yield
