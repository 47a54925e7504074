"""How Gaussian discriminants are solved:  means and covariances from scatters, and T with TᵀΣT = I (gaussian.py).

    directions     in which no class varies are left out for all alike; of fewer rows than columns by span.py
    sentences      what a reader should know of covariances that are singular, or made by shrinkage alone

Shapes: Σ (p, p), or rows (m, p) of it. Cost O(p³) a covariance, O(m²p) where it is kept as rows.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from separatrix.core.numerics import LOG_2PI, FloatArray
from separatrix.core.statistics.grouped import GroupScatter
from separatrix.core.statistics.spans import SpanCovariance, SpanScatter
from separatrix.data.engine import one_blas_thread
from separatrix.models.generative.common import Generative
from separatrix.models.generative.covariance import WhiteningRoot, diagonal_of
from separatrix.models.generative.facts import ClassFacts
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.span import Within

THREADED = 2048  # columns from which threads of BLAS are worth their waiting in an eigendecomposition


class GaussianSolution(Generative):
    """Parameters from facts; a subclass says how covariances are estimated, and what hangs on them."""

    tol: float
    shrinkage: Any
    _estimated: list[FloatArray] | None = None  # Σ_k by the covariance_estimator

    def _covariances(self, facts: ClassFacts, fourth: FloatArray | None) -> list[Any]:
        """Σ_g from the scatters; ``fourth``: Σ ‖z‖⁴ of each class in unit columns, for Ledoit–Wolf."""
        raise NotImplementedError

    def _set_forms(self, means: FloatArray, whitened: list[WhiteningRoot]) -> None:
        """Publish what hangs on the estimates."""
        raise NotImplementedError

    def _solve(self, facts: ClassFacts, findings: Findings) -> tuple[float, float]:
        # products of few rows, factors of few columns: threads would wait for each other longer than they work
        small = isinstance(facts.of_x, SpanScatter) or facts.of_x.mean.shape[1] < THREADED
        with one_blas_thread() if small else nullcontext():
            return self._solved(facts, findings)

    def _solved(self, facts: ClassFacts, findings: Findings) -> tuple[float, float]:
        s: GroupScatter | SpanScatter = facts.of_x
        if self._estimated is not None:
            s = s.gram()
        means, self._group = np.array(s.mean), s.group
        self._estimates = self._covariances(ClassFacts(facts.weight, s), getattr(self, "_fourth", None))
        shared = len(self._estimates) == 1
        scale = self._scale(s, self._estimates, findings)
        if isinstance(s, SpanScatter):
            whitened = self._span_roots(s, self._estimates, scale, findings)
        else:
            basis = self._basis(s, self._estimates, scale, findings)
            whitened = [WhiteningRoot.of(sigma, scale, basis, self.tol, shared) for sigma in self._estimates]
        self._directions = whitened[0].root.shape[1]
        self._whiten, self._log_det = [w.root for w in whitened], [w.log_det for w in whitened]
        self._sigma = [w.sigma for w in whitened]
        self._say(whitened, s, scale, findings)
        self._set_forms(means, whitened)
        loss = 0.0
        for g, white in enumerate(whitened):
            weight = float(s.weight.sum() if shared else s.weight[s.group == g].sum())
            explained = s.explained(white.root, None if shared else g)
            loss += 0.5 * (explained + weight * (white.log_det + LOG_2PI * self._directions))
        return max(w.residual for w in whitened), loss / facts.weight.sum()

    def _scale(self, s: Any, estimates: list[Any], findings: Findings) -> FloatArray:
        """Each column's total spread; one where it is constant, and says nothing unless shrinkage gave it spread."""
        share = s.weight / max(s.weight.sum(), 1e-300)
        offset = s.mean - share @ s.mean
        variance = s.diagonals().sum(axis=0) / max(s.weight.sum(), 1e-300) + share @ offset**2
        spread = np.sqrt(np.maximum(variance, 0.0))
        still = ~(spread > 1e-15 * np.max(np.abs(s.mean), axis=0, initial=0.0))
        self._flat = still & np.all([diagonal_of(sigma) <= spread**2 for sigma in estimates], axis=0)
        if self._flat.any():
            findings.append(f"{self._columns(self._flat)} constant: says nothing")
        return np.where(still, 1.0, spread)

    def _basis(
        self, s: GroupScatter, estimates: list[FloatArray], scale: FloatArray, findings: Findings
    ) -> FloatArray:
        """The directions in which the rows vary at all, of columns of unit spread.

        What no class varies in says nothing of any: constant columns, and columns that are sums of others. It is
        left out for all classes alike, so that their densities stay comparable; unless shrinkage gave it spread.
        """
        p, live = s.mean.shape[1], np.flatnonzero(~self._flat)
        basis = np.zeros((p, len(live)))
        basis[live] = np.eye(len(live))
        if len(estimates) == 1:
            return basis
        share = s.weight / max(s.weight.sum(), 1e-300)
        offset = s.mean - share @ s.mean
        total = s.scatter.sum(axis=0) / max(s.weight.sum(), 1e-300) + (offset.T * share) @ offset
        values, vectors = np.linalg.eigh((total / np.outer(scale, scale))[np.ix_(live, live)])
        null = values < 1e-3 * self.tol**2
        for sigma in estimates if null.any() else []:
            unit = (sigma / np.outer(scale, scale))[np.ix_(live, live)]
            null &= np.einsum("ij,ij->j", vectors, unit @ vectors) < self.tol**2
        if null.any():
            basis = np.zeros((p, int((~null).sum())))
            basis[live] = vectors[:, ~null]
            part = np.zeros(p, dtype=bool)
            part[live] = (np.abs(vectors[:, null]) > 1e-2).any(axis=1)
            self._say_null(part, basis.shape[1], len(live), findings)
        return basis

    def _span_roots(
        self, s: SpanScatter, estimates: list[SpanCovariance], scale: FloatArray, findings: Findings
    ) -> list[WhiteningRoot]:
        """The same of fewer rows than columns, whose covariances are never formed (span.py)."""
        within = Within.of(s, estimates, scale, self._flat, self.tol)
        if within.basis is not None:
            live, stiff = int((~self._flat).sum()), int(within.stiff.sum())
            self._say_null(within.left_out, stiff + within.basis.shape[1], live, findings)
        return [within.whiten(sigma) for sigma in estimates]

    def _say_null(self, part: np.ndarray, rank: int, live: int, findings: Findings) -> None:
        findings.append(
            f"singular covariance of all classes in {self._columns(part)} (rank {rank} of "
            f"{live}): directions in which nothing varies are left out"
        )

    def _say(
        self,
        whitened: list[WhiteningRoot],
        s: GroupScatter | SpanScatter,
        scale: FloatArray,
        findings: Findings,
    ) -> None:
        """What a reader should know of the covariances; by warning where it changes what the fit means."""
        singular = []
        for g, w in enumerate(whitened):
            if w.thin.any() and s.weight[s.group == g].sum() > 0:
                names = ", ".join(repr(c) for c in self.classes_[s.group == g].tolist()[:3])
                whose = f"class {names}" if len(whitened) > 1 else "the classes"
                singular.append(f"{whose} (rank {w.rank} of {len(w.thin)}) in {self._columns(w.thin)}")
        if singular:
            more = f"; and {len(singular) - 2} more" if len(singular) > 2 else ""
            way_out = "; shrinkage would bound them" if self.shrinkage is None else ""
            done = "left out" if len(whitened) == 1 else "raised to it"
            # directions that all classes share and no class differs in are columns that repeat others: no harm
            apart = (s.mean[s.weight > 0] / scale) @ whitened[0].out
            harmless = len(whitened) == 1 and not (np.ptp(apart, axis=0) > self.tol).any()
            (findings.append if harmless else findings.grave)(
                f"singular covariance of {'; of '.join(singular[:2])}{more}: eigenvalues below tol² were "
                f"{done}{way_out}"
            )
        still = self._still(s, scale)
        if still and not singular:
            findings.grave(
                f"rows of {still} do not vary at all: shrinkage or reg_param alone made the covariance"
            )
        few = self.classes_[(s.weight > 0) & (s.weight < s.mean.shape[1] + 1)].tolist()
        if len(whitened) > 1 and few:
            names = ", ".join(repr(c) for c in few[:5])
            findings.append(f"no more rows than columns in class{'es' if len(few) > 1 else ''} {names}")
        if self.shrinkage is not None:
            findings.append(f"shrinkage: {self.shrinkage}")

    def _still(self, s: GroupScatter | SpanScatter, scale: FloatArray) -> str:
        """The classes whose raw scatter, before shrinkage, is nothing beside the spread of the table; "" if none."""
        total = max(float(s.weight.sum()), 1e-300)
        size = np.array([np.max(d / scale**2, initial=0.0) for d in s.diagonals()]) / total
        flat = [g for g in range(len(size)) if size[g] <= 1e-28 and s.weight[s.group == g].sum() > 0]
        names = [repr(c) for c in self.classes_[np.isin(s.group, flat) & (s.weight > 0)].tolist()]
        if not names:
            return ""
        return "all classes" if len(names) == np.count_nonzero(s.weight) else f"class {', '.join(names[:5])}"
