"""Columns of any exponential family:  ∇A(η_kj) = T̄_kj  ([6867] 3.1.3; G9).

Shapes: cells (n, p), parameters (K, p). Cost O(np) for means of T(x), O(npK) for a density.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from separatrix.core.families import Family
from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupMoments, Members
from separatrix.models.generative.facts import PartFacts
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.parts.part import ColumnsPart, side_by_side
from separatrix.models.generative.verified import Equations, LabelledRows, family_equations, family_moments

if TYPE_CHECKING:
    from separatrix.models.generative.common import Generative

Means = tuple[FloatArray, ...]


@dataclass(eq=False)
class FamilyPart(ColumnsPart):
    """Columns of any other exponential family; ``alpha`` virtual rows of the mean where a class holds only zeros."""

    family: Any = None
    alpha: float = 1.0

    def facts(self, cells: np.ndarray, members: Members) -> PartFacts:
        return family_facts(self.family, cells, members)

    def solve(
        self, s: PartFacts, weight: FloatArray, findings: Findings, model: Generative
    ) -> tuple[float, float]:
        f, count, second = self.family, s.parts[0].weight, s.parts[0].second
        facts, base = s.parts[:-1], s.parts[-1]
        means, pooled = tuple(m.mean for m in facts), tuple(m.pooled() for m in facts)
        everyone = tuple(m.mean for m in pooled)
        means, zeros = self._without_zeros(count, means, everyone)
        if zeros.any():
            where = self._named(model, zeros.any(axis=0))
            findings.append(
                f"only zeros in a class in {where}: {self.alpha:g} virtual rows of the column's mean there"
            )
        found = f.estimate(count, means, second)
        rest = f.estimate(pooled[0].weight, everyone, pooled[0].second)
        never = count == 0
        if (never & (weight > 0)[:, None]).any():
            where = self._named(model, never.any(axis=0))
            findings.append(f"no value in some class of {where}: all classes' used there")
        self.fitted = {
            name: np.where(never, np.nan_to_num(rest[name], nan=1.0), v) for name, v in found.items()
        }
        loss = total_loss(f, self.fitted, count, means, second) - float(np.sum(base.weight * base.mean))
        return f.moment_residual(found, means, second, count), loss

    def _without_zeros(self, count: FloatArray, means: Means, everyone: Means) -> tuple[Means, np.ndarray]:
        """The means, those of classes that hold only zeros raised by virtual rows, and which those are."""
        if self.family.name not in ("poisson", "exponential"):
            return means, np.zeros_like(count, bool)
        zeros = (count > 0) & (means[0] == 0)
        share = self.alpha / (count + self.alpha) if self.alpha else 1e-9
        return (np.where(zeros, np.maximum(share * everyone[0], 1e-300), means[0]),), zeros

    def equations(self, rows: LabelledRows) -> Equations:
        f = self.family
        count, means, second = family_moments(rows, f)
        with np.errstate(all="ignore"):
            every = count.sum(axis=0)
            everyone = tuple((count * m).sum(axis=0) / every for m in means)
            spread = (second + count * (means[0] - everyone[0]) ** 2).sum(axis=0)
            means = self._without_zeros(count, means, everyone)[0]
        wanted, rest = f.estimate(count, means, second), f.estimate(every, everyone, spread)
        wanted = {n: np.where(count == 0, np.nan_to_num(rest[n], nan=1.0), v) for n, v in wanted.items()}
        return family_equations(rows, f, self.fitted, wanted, count, means, second, shared=False)

    def at_parameters(self, columns: list[dict[str, FloatArray]]) -> Self:
        now = copy(self)
        now.fitted = {name: side_by_side(columns, name) for name in self.fitted}
        return now

    def add_log_density(self, cells: np.ndarray, out: FloatArray) -> None:
        out += summed_density(self.family, cells, self.fitted)

    def draw(self, k: int, n: int, rng: np.random.Generator) -> FloatArray:
        return np.asarray(
            self.family.sample({name: v[k] for name, v in self.fitted.items()}, n, rng), dtype=float
        )

    def parameters(self, i: int) -> dict[str, FloatArray]:
        return {name: v[:, i].copy() for name, v in self.fitted.items()}


def summed_density(f: Family, cells: np.ndarray, parameters: Any) -> FloatArray:
    """Σ_j log p(x_j | θ_kj) over the cells that are there: (n, K); beyond the range of numbers it is NaN."""
    density = f.log_density(cells[:, None, :], parameters)
    return np.where(np.isnan(cells)[:, None, :], 0.0, density).sum(axis=2)


def family_facts(f: Family, cells: np.ndarray, members: Members) -> PartFacts:
    """Moments by class of what the family's estimate reads, and last of log h(x), for the likelihood."""
    base = f.log_base(cells)
    columns = (*f.facts(cells), base[:, None] if f.multivariate else base)
    return PartFacts(tuple(GroupMoments.centred(column, members) for column in columns))


def total_loss(f: Family, parameters: Any, weight: FloatArray, means: Any, second: Any) -> float:
    """−Σ_k W_k (η_k·T̄_k − A(η_k)): minus the log likelihood, the base measure h(x) left out."""
    with np.errstate(all="ignore"):
        if (
            f.name == "gaussian" and "variance" in parameters
        ):  # centred: η·T̄ − A would cancel far from the origin
            spread = second + weight * (means[0] - parameters["mean"]) ** 2
            return float(
                np.nansum(0.5 * (weight * np.log(parameters["variance"]) + spread / parameters["variance"]))
            )
        eta = f.natural(parameters)
        terms = [np.where(m == 0, 0.0, e * m) for e, m in zip(eta, means, strict=True)]
        products = sum(t.sum(axis=-1) if f.multivariate else t for t in terms)
        return -float(np.nansum(np.where(weight > 0, weight * (products - f.log_partition(eta)), 0.0)))
