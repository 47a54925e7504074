"""Rows that are bags of counts:  θ_kj = (n_kj + a_j) / Σ_j (n_kj + a_j)  ([726]; G5).

Shapes: cells (n, p), dense or CSR; weights log θ lie (p, K), as products with sparse rows want them.
Cost O(stored cells) for counts, O(stored cells · K) for a density.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupSums, Members
from separatrix.data.counts import class_sums, log_shares, scores
from separatrix.models.generative.facts import Cells
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.parts.part import ColumnsPart
from separatrix.models.generative.parts.smoothing import Smoothing
from separatrix.models.generative.verified import Equations, LabelledRows, share_equations

if TYPE_CHECKING:
    from separatrix.models.generative.common import Generative


@dataclass(eq=False)
class BagPart(ColumnsPart):
    """x a bag of counts: θ_kj = (n_kj + a_j) / Σ_j (n_kj + a_j)."""

    smoothing: Smoothing

    def facts(self, cells: Cells, members: Members) -> GroupSums:
        if isinstance(cells, np.ndarray):
            return GroupSums(members.sum(cells.astype(np.float64, copy=False)), members.count)
        return GroupSums(class_sums(cells, members), members.count)

    def solve(
        self, s: GroupSums, weight: FloatArray, findings: Findings, model: Generative
    ) -> tuple[float, float]:
        k, p = s.value.shape
        self.count = s.value
        add = self._virtual(s.value)
        shares = (
            log_shares(s.value, add)
            if (add >= 0).all()
            else log_shares(np.maximum(s.value + add, 0.0), 0 * add)
        )
        self.weights, self.add = shares.weights, add
        self.length = shares.totals / np.maximum(weight, 1e-300)
        findings.append(self.smoothing.words())
        if shares.zeros:
            findings.append(f"{shares.zeros} of {k * p} class–column pairs were never seen")
        looked_at = (
            self.weights if self.weights.size < 1 << 17 else self.weights[:, :1]
        )  # a vocabulary: one class
        return float(np.max(np.abs(np.exp(looked_at).sum(axis=0) - 1.0))), shares.loss

    def _virtual(self, counts: FloatArray) -> FloatArray:
        """Virtual rows of each column (p,); under a rule the columns are the levels."""
        if self.smoothing.rule is None:
            return self.smoothing.rows(np.empty((1, counts.shape[1])))[0]
        return self.smoothing.rows((counts.sum(axis=0) / max(counts.sum(), 1e-300))[:, None])[:, 0]

    def equations(self, rows: LabelledRows) -> Equations:
        counts = rows.sums()
        return share_equations(np.exp(self.weights.T), counts, self._virtual(counts), rows.total)

    @property
    def log_prior(self) -> float:  # type: ignore[override]
        return float(np.sum(self.add @ self.weights)) if (self.add > 0).all() else 0.0

    def at(self, log_share: FloatArray) -> Self:
        """At log θ (K, p); (p, K) in memory, as products with sparse rows want it, is not copied."""
        now = copy(self)
        now.weights = np.ascontiguousarray(log_share.T)
        return now

    def add_log_density(self, cells: Cells, out: FloatArray) -> None:
        if not isinstance(cells, np.ndarray):
            if not cells.data.all():  # a stored zero · log 0
                cells = cells.copy()
                cells.eliminate_zeros()
            out += scores(cells, self.weights)
            return
        with np.errstate(invalid="ignore"):
            terms = np.dot(cells, self.weights)
            if np.isnan(terms.sum()):  # 0 · log 0
                terms = np.where(cells[:, :, None] == 0, 0.0, cells[:, :, None] * self.weights).sum(axis=1)
        out += terms

    def draw(self, k: int, n: int, rng: np.random.Generator) -> FloatArray:
        share = np.exp(self.weights[:, k])
        return rng.multinomial(max(1, round(self.length[k])), share / share.sum(), size=n).astype(np.float64)
