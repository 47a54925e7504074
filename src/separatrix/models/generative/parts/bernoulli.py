"""Columns of zeros and ones:  θ_kj = (n_kj + a) / (n_k + a + b)  ([6867] 3.1.2; G4).

Shapes: cells (n, p), dense or CSR, θ (K, p). Cost O(stored cells · K).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupSums, Members
from separatrix.data.counts import class_sums, scores
from separatrix.models.generative.facts import Cells
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.parts.part import ColumnsPart, side_by_side
from separatrix.models.generative.parts.smoothing import Smoothing
from separatrix.models.generative.verified import Equations, LabelledRows, share_equations

if TYPE_CHECKING:
    from separatrix.models.generative.common import Generative


@dataclass(eq=False)
class BernoulliPart(ColumnsPart):
    """x_j ∈ {0, 1}: θ_kj = (n_kj + a) / (n_k + a + b); cells above ``binarize`` are ones."""

    smoothing: Smoothing
    binarize: float | None

    def _ones(self, cells: Cells) -> Any:
        """Cells as 0 and 1, NaN kept."""
        if not isinstance(cells, np.ndarray) and np.isnan(cells.data.sum()):
            cells = cells.toarray()
        if not isinstance(cells, np.ndarray):
            if (self.binarize or 0.0) < 0:
                raise ValueError(
                    "a negative binarize makes every zero of a sparse table a one: use .toarray()"
                )
            kept = cells.copy()
            kept.data = (kept.data > (self.binarize or 0.0)).astype(np.float64)
            return kept
        if self.binarize is None:
            return cells.astype(np.float64, copy=False)
        return np.where(cells == cells, cells > self.binarize, np.nan)

    def facts(self, cells: Cells, members: Members) -> GroupSums:
        ones = self._ones(cells)
        if not isinstance(ones, np.ndarray):
            return GroupSums(
                class_sums(ones, members), np.repeat(members.count[:, None], ones.shape[1], axis=1)
            )
        present = ~np.isnan(ones)
        return GroupSums(members.sum(np.where(present, ones, 0.0)), members.sum(present.astype(np.float64)))

    def solve(
        self, s: GroupSums, weight: FloatArray, findings: Findings, model: Generative
    ) -> tuple[float, float]:
        self.count = s.value
        with np.errstate(all="ignore"):
            q = np.nan_to_num(s.value.sum(axis=0) / s.weight.sum(axis=0), nan=0.5)
            no, yes = self.smoothing.rows(np.array([1.0 - q, q]))
            ones, zeros = np.maximum(s.value + yes, 0.0), np.maximum(s.weight - s.value + no, 0.0)
            theta = ones / (ones + zeros)  # a prior that wants less than nothing has its mode at the edge
            self.theta = np.where(np.isnan(theta), q, theta)
            rest = np.where(
                np.isnan(theta), 1.0 - q, zeros / (ones + zeros)
            )  # not 1 − θ, which loses a small one
            self.log_yes, self.log_no = np.log(self.theta), np.log(rest)
            losses = s.value * self.log_yes + (s.weight - s.value) * self.log_no
            prior = np.nansum(yes * self.log_yes + no * self.log_no)
        self.log_prior = float(prior) if np.isfinite(prior) else 0.0
        one_sided = ((s.value == 0) | (s.value == s.weight)) & (weight > 0)[:, None]
        findings.append(self.smoothing.words())
        if one_sided.any():
            findings.append(
                f"{int(one_sided.sum())} of {one_sided.size} class–column pairs never seen as both 0 and 1"
            )
        return float(np.nanmax(np.abs(np.exp(self.log_yes) - self.theta), initial=0.0)), -float(
            np.nansum(losses)
        )

    def at(self, log_yes: FloatArray) -> Self:
        """At log θ (K, p); log (1 − θ) is the fitted one where θ is, which keeps the digits of a θ near one."""
        now = copy(self)
        now.log_yes = log_yes
        with np.errstate(all="ignore"):
            if not np.array_equal(log_yes, self.log_yes):
                now.log_no = np.where(log_yes == self.log_yes, self.log_no, np.log(-np.expm1(log_yes)))
            now.odds = np.ascontiguousarray((now.log_yes - now.log_no).T)
        now.certain = not np.isfinite(now.odds).all()
        return now

    def at_parameters(self, columns: list[dict[str, FloatArray]]) -> Self:
        theta = side_by_side(columns, "probability")
        with np.errstate(all="ignore"):
            now = self.at(np.where(theta == self.theta, self.log_yes, np.log(theta)))
        return now

    def equations(self, rows: LabelledRows) -> Equations:
        yes, seen = np.zeros((2, *self.log_yes.shape))
        for cells, R in rows.changed(self._ones):
            dense = isinstance(cells, np.ndarray)
            yes += R.T @ np.nan_to_num(cells) if dense else (cells.T @ R).T
            seen += R.T @ ~np.isnan(cells) if dense else R.sum(axis=0)[:, None]
        with np.errstate(all="ignore"):
            q = np.nan_to_num(yes.sum(axis=0) / seen.sum(axis=0), nan=0.5)
        both = np.array([1.0 - q, q])
        virtual = np.moveaxis(self.smoothing.rows(both), 0, -1)
        counts = np.stack([seen - yes, yes], axis=-1)
        empty = np.maximum(counts + virtual, 0.0).sum(axis=-1, keepdims=True) == 0
        counts = np.where(empty, 1e-290 * both.T, counts)  # then the share in all classes counts
        found = np.stack([-np.expm1(self.log_yes), np.exp(self.log_yes)], axis=-1)
        return share_equations(found, counts, virtual, rows.total, only=1)

    def add_log_density(self, cells: Cells, out: FloatArray) -> None:
        ones = self._ones(cells)
        if not isinstance(ones, np.ndarray) and not self.certain:
            out += scores(ones, self.odds)
            out += self.log_no.sum(axis=1)
            return
        ones = ones if isinstance(ones, np.ndarray) else ones.toarray()
        missing = np.isnan(ones)
        if self.certain:  # θ = 0 or 1: −inf where it is contradicted, not NaN
            terms = np.where(ones[:, None, :] == 1, self.log_yes, self.log_no)
            out += np.where(missing[:, None, :], 0.0, terms).sum(axis=2)
            return
        out += np.dot(np.where(missing, 0.0, ones), self.odds)
        out += ~missing @ self.log_no.T

    def draw(self, k: int, n: int, rng: np.random.Generator) -> FloatArray:
        theta = np.exp(self.log_yes[k])
        return (rng.random((n, len(theta))) < theta).astype(np.float64)

    def parameters(self, i: int) -> dict[str, FloatArray]:
        return {"probability": self.theta[:, i].copy()}
