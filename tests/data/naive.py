"""The objective of a linear model written down as in the notes, in extended precision: what the sweeps must equal.

Nothing here is shared with the library: plain formulas in ``longdouble``, one row of the table at a time where
that is simplest. Scores are kept moderate by the tests, so the textbook forms do not overflow.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

LD = np.longdouble


def loss_parts(name: str, eta: Any, y: Any) -> tuple[Any, Any, Any]:
    """Value, slope and curvature of each row, from the definition: (n,), or (n,), (n, K), (n, K, K)."""
    eta = np.asarray(eta, LD)
    if name == "multinomial":
        e = np.exp(eta - eta.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        hot = np.eye(eta.shape[1], dtype=LD)[y]
        value = -np.log((p * hot).sum(axis=1))
        curvature = p[:, :, None] * np.eye(eta.shape[1], dtype=LD) - p[:, :, None] * p[:, None, :]
        return value, p - hot, curvature
    y = np.asarray(y, LD)
    m = y * eta
    match name:
        case "logistic":
            s = 1 / (1 + np.exp(m))
            return np.log1p(np.exp(-m)), -y * s, s * (1 - s)
        case "squared":
            return (eta - y) ** 2 / 2, eta - y, np.ones_like(eta)
        case "squared_hinge":
            short = np.maximum(1 - m, 0)
            return short**2, -2 * y * short, 2.0 * (short > 0)
        case "exponential":
            return np.exp(-m), -y * np.exp(-m), np.exp(-m)
        case "hinge":
            return np.maximum(1 - m, 0), np.where(m < 1, -y, 0), np.zeros_like(eta)
    raise ValueError(name)


@dataclass(frozen=True)
class Naive:
    """F(θ) = mean weighted loss of z·θ + ½λ‖w‖², with z = ((x − centre)·scale)B and a column of ones."""

    X: Any
    y: Any
    loss: str
    ridge: float
    fit_intercept: bool
    centre: Any
    scale: Any
    basis: Any = None
    weight: Any = None
    classes: Any = None  # Q (K, K−1)
    lift: float = 1.0  # the intercept's unit

    @classmethod
    def of(cls, objective: Any, X: Any = None) -> "Naive":
        """The same problem in the same coordinates, on dense cells."""
        rows, c = objective.rows, objective.coordinates
        if X is None:
            X = rows.source if isinstance(rows.source, np.ndarray) else rows.source.toarray()
        return cls(
            X,
            rows.y,
            objective.loss.name,
            objective.ridge,
            objective.fit_intercept,
            c.centre,
            c.scale,
            c.basis,
            rows.weight,
            objective.class_basis,
            c.lift,
        )

    @property
    def z(self) -> Any:
        z = (np.asarray(self.X, LD) - np.asarray(self.centre, LD)) * np.asarray(self.scale, LD)
        if self.basis is not None:
            z = z @ np.asarray(self.basis, LD)
        return np.column_stack([z, np.full(len(z), LD(self.lift))]) if self.fit_intercept else z

    @property
    def s(self) -> Any:
        s = np.ones(len(self.y), LD) if self.weight is None else np.asarray(self.weight, LD)
        return s / s.sum()

    def penalty_matrix(self) -> Any:
        """½ θᵀMθ = ½λ‖w‖² with w = scale·(Bt): a matrix on t, zero on the intercept."""
        scaled = np.diag(np.asarray(self.scale, LD))
        if self.basis is not None:
            scaled = scaled @ np.asarray(self.basis, LD)
        q = scaled.shape[1] + int(self.fit_intercept)
        M = np.zeros((q, q), LD)
        M[: scaled.shape[1], : scaled.shape[1]] = LD(self.ridge) * (scaled.T @ scaled)
        return M

    def parts(self, theta: Any) -> tuple[Any, Any, Any]:
        """F, its gradient (θ's shape) and its Hessian, ordered class by class."""
        theta, z, s, M = np.asarray(theta, LD), self.z, self.s, self.penalty_matrix()
        Q = None if self.classes is None else np.asarray(self.classes, LD)
        eta = z @ theta if Q is None else z @ theta @ Q.T
        value, slope, curvature = loss_parts(self.loss, eta, self.y)
        F = (s * value).sum() + (theta * (M @ theta)).sum() / 2
        if Q is None:
            gradient = z.T @ (s * slope) + M @ theta
            return F, gradient, (z.T * (s * curvature)) @ z + M
        gradient = z.T @ ((s * slope.T).T @ Q) + M @ theta
        q, k = theta.shape
        H = np.zeros((q * k, q * k), LD)
        for a in range(k):
            for b in range(k):
                c = np.array([Q[:, a] @ curvature[i] @ Q[:, b] for i in range(len(z))], dtype=LD)
                H[a * q : a * q + q, b * q : b * q + q] = (z.T * (s * c)) @ z + (M if a == b else 0)
        return F, gradient, H

    def value(self, theta: Any) -> Any:
        return self.parts(theta)[0]

    def minimum(self, theta: Any, steps: int = 60) -> tuple[Any, Any]:
        """(θ, F) at the minimum by damped Newton; gradients in extended precision, so to about 1e-18."""
        theta = np.asarray(theta, LD)
        for _ in range(steps):
            F, g, H = self.parts(theta)
            flat = g.T.ravel()
            step = np.linalg.lstsq(H.astype(float), -flat.astype(float), rcond=1e-14)[0]
            step = np.asarray(step, LD).reshape(theta.shape[::-1]).T
            scale = LD(1)
            while self.value(theta + scale * step) > F and scale > 1e-6:
                scale /= 2
            if scale <= 1e-6:
                break
            theta = theta + scale * step
            if np.abs(step).max() < 1e-17:
                break
        return theta, self.value(theta)
