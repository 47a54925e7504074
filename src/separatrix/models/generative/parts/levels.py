"""Columns of levels 0 … L_j − 1:  θ_kj(l) = (n_kjl + a) / Σ_l (n_kjl + a)  ([726]; G6).

Shapes: cells (n, p), a table (K, L_j) a column. Cost O(npK).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupCounts, Members
from separatrix.models.generative.parts.part import ColumnsPart
from separatrix.models.generative.parts.smoothing import Smoothing
from separatrix.models.generative.verified import Equations, LabelledRows, share_equations

if TYPE_CHECKING:
    from separatrix.models.generative.common import Generative


@dataclass(eq=False)
class LevelsPart(ColumnsPart):
    """x_j a level 0 … L_j − 1: θ_kj(l) = (n_kjl + a) / Σ_l (n_kjl + a); ``least``: levels there are at least."""

    smoothing: Smoothing
    least: Any

    def facts(self, cells: np.ndarray, members: Members) -> GroupCounts:
        return GroupCounts.of(cells, members)

    def solve(
        self, s: GroupCounts, weight: FloatArray, findings: list[str], model: Generative
    ) -> tuple[float, float]:
        least = np.broadcast_to(self.least, (len(s.tables),))
        self.tables = list((s + GroupCounts(tuple(np.zeros((len(weight), int(m))) for m in least))).tables)
        self.log_share, self.log_never, loss, zeros, self.log_prior = [], [], 0.0, 0, 0.0
        for j, table in enumerate(self.tables):
            size = table.shape[1]
            add = self._virtual(table, j)
            with np.errstate(divide="ignore", invalid="ignore"):
                smooth = np.maximum(table + add, 0.0)
                total = smooth.sum(axis=1, keepdims=True)
                share, never = np.log(smooth / total), np.log(np.mean(add) / total)
            # an unseen level is a level seen no times; without smoothing it says nothing
            self.log_never.append(np.where(np.isfinite(never), never, 0.0))
            self.log_share.append(np.where(np.isnan(share), -np.log(size), share))
            with np.errstate(invalid="ignore"):
                loss -= float(np.sum(np.where(table > 0, table * self.log_share[j], 0.0)))
                self.log_prior += float(np.sum(add * self.log_share[j])) if (add > 0).all() else 0.0
            zeros += int(np.count_nonzero(table == 0))
        findings.append(self.smoothing.words())
        if zeros:
            findings.append(f"{zeros} class–level pairs were never seen")
        return max(float(np.max(np.abs(np.exp(t).sum(axis=1) - 1.0))) for t in self.log_share), loss

    def _virtual(self, table: FloatArray, j: int) -> FloatArray:
        """Virtual rows of each level of column j: (L_j,)."""
        marginal = table.sum(axis=0) / max(table.sum(), 1e-300)
        columns = np.tile(marginal[:, None], (1, max(np.size(self.smoothing.alpha), j + 1)))
        return self.smoothing.rows(columns)[:, j]

    def equations(self, rows: LabelledRows) -> Equations:
        total = Equations()
        for j, log_share in enumerate(self.log_share):
            levels = np.arange(log_share.shape[1])
            table = sum(R.T @ (cells[:, j, None] == levels) for cells, R in rows)
            beyond = any((R[cells[:, j] >= len(levels)] > 0).any() for cells, R in rows)
            found = share_equations(np.exp(log_share), table, self._virtual(table, j), rows.total)
            total += Equations(np.inf, np.inf) if beyond else found
        return total

    def at(self, log_share: list[FloatArray]) -> Self:
        """At log θ of every column, (K, L_j) each; what an unseen level has goes by the counts."""
        now = copy(self)
        now.log_share = log_share
        return now

    def at_parameters(self, columns: list[dict[str, FloatArray]]) -> Self:
        found = []
        with np.errstate(all="ignore"):
            for column, fitted in zip(columns, self.log_share, strict=True):
                share = np.asarray(column["probabilities"], dtype=np.float64)
                found.append(np.where(share == np.exp(fitted), fitted, np.log(share)))
        return self.at(found)

    def add_log_density(self, cells: np.ndarray, out: FloatArray) -> None:
        for column, share, never in zip(cells.T, self.log_share, self.log_never, strict=True):
            table = np.hstack([share, never, np.zeros_like(never)]).T  # … an unseen level, a missing cell
            known = np.where((column >= 0) & (column < share.shape[1]), column, share.shape[1])
            out += table[np.where(np.isnan(column), share.shape[1] + 1, known).astype(np.intp)]

    def draw(self, k: int, n: int, rng: np.random.Generator) -> FloatArray:
        shares = [np.exp(t[k]) for t in self.log_share]
        return np.column_stack([rng.choice(len(s), size=n, p=s / s.sum()).astype(np.float64) for s in shares])

    def parameters(self, i: int) -> dict[str, FloatArray]:
        return {"probabilities": np.exp(self.log_share[i])}
