"""Real tables, and the arithmetic of support vector machines apart from the library."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.preprocessing import StandardScaler

from benchmarks import shared

SINGLE = float(np.finfo(np.float32).eps) / 2

TIGHT = 1e-9

STEPS = 3_000_000  # LIBSVM's steps; on unscaled rows its rounded kernel may never satisfy it

BUNDLED = {
    "bundled iris": load_iris,
    "bundled wine": load_wine,
    "bundled cancer": load_breast_cancer,
    "bundled digits": load_digits,
}

absent = pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")


@dataclass(frozen=True)
class Case:
    """A table, how its rows are read, and the parameters of the machine."""

    name: str
    scaled: bool = True
    rows: int = 0  # 0: all
    test: str = ""  # a file of test rows, where the set has its own
    given: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        words = ", ".join(f"{k}={v}" for k, v in self.given.items())
        return f"{self.name}{'' if self.scaled else ' unscaled'} {words}".strip()


def cases(*all_: Case) -> pytest.MarkDecorator:
    """One test a case; those of the shared tables are skipped, one by one, where they are not."""
    marked = [pytest.param(c, id=str(c), marks=() if c.name.startswith("bundled") else absent) for c in all_]
    return pytest.mark.parametrize("case", marked)


def load(name: str) -> tuple[Any, np.ndarray]:
    if name in BUNDLED:
        return BUNDLED[name](return_X_y=True)
    X, y, _ = shared.numeric(name)
    return X, y


def table(case: Case) -> tuple[Any, np.ndarray]:
    """Rows and class codes; a share of the rows, drawn, where the case asks for fewer."""
    X, y = load(case.name)
    y = np.unique(y, return_inverse=True)[1]
    if case.rows:
        keep = np.random.default_rng(0).permutation(len(y))[: case.rows]
        X, y = X[keep], y[keep]
    return (StandardScaler().fit_transform(X) if case.scaled and not sp.issparse(X) else X), y


def dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)


def gamma_of(X: np.ndarray, gamma: Any) -> float:
    return {"scale": 1.0 / (X.shape[1] * X.var()), "auto": 1.0 / X.shape[1]}.get(gamma, gamma)


def kernel(A: Any, B: Any, given: dict[str, Any], X: Any) -> np.ndarray:
    """k(a, b) of all pairs, parameters as for a fit on X."""
    A, B, X = dense(A), dense(B), dense(X)
    gamma, coef0 = gamma_of(X, given.get("gamma", "scale")), given.get("coef0", 0.0)
    match given.get("kernel", "rbf"):
        case "linear":
            return A @ B.T
        case "poly":
            return (gamma * (A @ B.T) + coef0) ** given.get("degree", 3)
        case "sigmoid":
            return np.tanh(gamma * (A @ B.T) + coef0)
        case _:
            return np.exp(-gamma * cdist(A, B, "sqeuclidean"))


@dataclass(frozen=True)
class Machine:
    """One pair of classes of a fitted SVC: its rows, signs, prices, β and b."""

    rows: np.ndarray
    sign: np.ndarray
    C: np.ndarray
    beta: np.ndarray
    intercept: float

    def score(self, K: np.ndarray) -> np.ndarray:
        return K @ self.beta + self.intercept

    def dual(self, K: np.ndarray) -> float:
        return float(np.abs(self.beta).sum() - 0.5 * self.beta @ K @ self.beta)

    def primal(self, K: np.ndarray) -> float:
        slack = np.maximum(0.0, 1.0 - self.sign * self.score(K))
        return float(0.5 * self.beta @ K @ self.beta + self.C @ slack)

    def violation(self, K: np.ndarray) -> float:
        """LIBSVM's m(α) − M(α): how far the rows that may rise are above those that may fall."""
        alpha, up = self.sign * self.beta, self.sign - K @ self.beta
        rise = np.where(self.sign > 0, alpha < self.C, alpha > 0)
        fall = np.where(self.sign > 0, alpha > 0, alpha < self.C)
        return float(up[rise].max() - up[fall].min())


def machines(model: Any, y: np.ndarray, factor: np.ndarray) -> list[Machine]:
    """The pairs' machines, out of scikit-learn's layout of ``dual_coef_``."""
    dual, K = dense(model.dual_coef_), len(np.unique(y))
    out = []
    for m, (i, j) in enumerate(combinations(range(K), 2)):
        positive = j if K == 2 else i
        beta, own = np.zeros(len(y)), y[model.support_]
        for mine, other in ((i, j), (j, i)):
            at = own == mine
            beta[model.support_[at]] = dual[0 if K == 2 else (other - 1 if other > mine else other), at]
        rows = np.flatnonzero((y == i) | (y == j))
        sign = np.where(y[rows] == positive, 1.0, -1.0)
        C = model.C * factor[y[rows]]
        out.append(Machine(rows, sign, C, beta[rows], float(model.intercept_[m])))
    return out


def factors(y: np.ndarray, weight: Any) -> np.ndarray:
    counts = np.bincount(y)
    return len(y) / (len(counts) * counts) if weight == "balanced" else np.ones(len(counts))


def is_feasible(machine: Machine) -> bool:
    alpha, top = machine.sign * machine.beta, machine.C.max()
    inside = (alpha >= 0).all() and (alpha <= machine.C * (1 + 1e-12)).all()
    return bool(inside and abs(machine.beta.sum()) <= 1e-9 * top * np.sqrt(len(alpha)))


def rounding(beta: np.ndarray, K: np.ndarray) -> float:
    """What scores may differ by when the entries of K are rounded to single precision, and β moves with them."""
    return float(4 * SINGLE * (np.abs(K) @ np.abs(beta)).max())
