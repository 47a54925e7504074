"""Virtual rows: what is added to the counts of every class before they are divided  ([726]; G4–G6).

    alpha                               of each level (Laplace: 1)
    ("beta", a, b), ("dirichlet", a)    the MAP estimate under that prior: a − 1 of each
    ("m", m, Q)                         m virtual rows drawn from Q ("uniform", "marginal" = all classes, or numbers)

Shapes: (L, p), for L levels of p columns. Cost O(Lp).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.checks import is_positive


@dataclass(frozen=True)
class Smoothing:
    """How many virtual rows of each level are added to the counts of every class (see naive_bayes.py)."""

    alpha: Any
    force_alpha: bool
    rule: Any
    kind: str
    final: bool = True  # False while only the rule is looked at, and no table is known

    def checked(self) -> Smoothing:
        """Refuse, before data is read, what cannot be meant."""
        alpha = np.asarray(self.alpha)
        if alpha.dtype.kind not in "fiub" or not (alpha >= 0).all():
            raise ValueError(f"alpha must be a number, 0 or more, got {self.alpha!r}")
        replace(self, final=False).rows(np.full((2, alpha.size), 0.5))
        return self

    def rows(self, marginal: FloatArray) -> FloatArray:
        """(L, p) virtual rows for levels whose share in all classes is ``marginal`` (L, p)."""
        size, p = marginal.shape
        match self.rule:
            case None:
                alpha = (
                    np.asarray(self.alpha, dtype=float) if self.force_alpha else np.maximum(self.alpha, 1e-10)
                )
                if alpha.ndim and alpha.shape != (p,):
                    raise ValueError(
                        "When alpha is an array, it should contains `n_features`. Got "
                        f"{alpha.shape[0]} elements instead of {p}."
                    )
                return np.broadcast_to(alpha, (size, p))
            case ("beta", a, b) if self.kind == "beta" and is_positive(a) and is_positive(b):
                return np.broadcast_to([[b - 1.0], [a - 1.0]], (size, p))
            case ("dirichlet", a) if self.kind == "dirichlet" and _numbers(a, above=0.0):
                return self._laid_out(np.asarray(a, dtype=float) - 1.0, size, p)
            case ("m", m, "uniform") if is_positive(m):
                return np.full((size, p), m / size)
            case ("m", m, "marginal") if is_positive(m):
                return m * marginal
            case ("m", m, q) if is_positive(m) and _numbers(q, least=0.0, most=1.0):
                q = np.asarray(q, dtype=float)
                if self.kind == "beta":
                    return m * np.array([1.0 - self._over_columns(q, p), self._over_columns(q, p)])
                return m * self._laid_out(q, size, p)
        offered = '("beta", a, b)' if self.kind == "beta" else '("dirichlet", a)'
        raise ValueError(
            f'smoothing must be None (then alpha counts), {offered} or ("m", m, Q) with positive numbers and Q '
            f'"uniform", "marginal" or shares; got {self.rule!r}'
        )

    def _laid_out(self, a: FloatArray, size: int, p: int) -> FloatArray:
        """One number for every level, or a number each: (L, p)."""
        if a.ndim and self.final and len(a) != size:
            raise ValueError(
                f"smoothing gives {len(a)} numbers where there are {size} levels: give one, or {size}"
            )
        return np.broadcast_to(
            np.reshape(a, (-1, 1)) if len(np.atleast_1d(a)) in (1, size) else a[:1, None], (size, p)
        )

    def _over_columns(self, q: FloatArray, p: int) -> FloatArray:
        if q.ndim and self.final and q.shape != (p,):
            raise ValueError(f"smoothing gives {q.size} shares where there are {p} columns: give one, or {p}")
        return np.broadcast_to(q if q.shape in ((), (p,)) else q.ravel()[:1], (p,))

    def words(self) -> str:
        if self.rule is None:
            many = float(np.max(self.alpha))
            return f"smoothing: {many:g} virtual row{'' if many == 1 else 's'} of every level in every class"
        return f"smoothing: {self.rule}"


def _numbers(a: Any, *, above: float = -np.inf, least: float = -np.inf, most: float = np.inf) -> bool:
    """Whether ``a`` is a number or numbers within bounds."""
    try:
        values = np.asarray(a, dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(values.ndim <= 1 and ((values > above) & (values >= least) & (values <= most)).all())
