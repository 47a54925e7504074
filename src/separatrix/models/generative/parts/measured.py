"""Columns that are measured: normal within a class, σ² tied as told, or of any exponential family.

    NormalPart   log N = a z² + b z + c       ([726]; G7)
    FamilyPart   ∇A(η_kj) = T̄_kj              ([6867] 3.1.3; G9)

Shapes: cells (n, p), parameters (K, p). Cost O(np) for moments and means of T(x), O(npK) for a density.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from separatrix.core.families import Family
from separatrix.core.numerics import LOG_2PI, FloatArray
from separatrix.core.statistics.grouped import GroupMoments, Members
from separatrix.data.moments import by_columns, class_moments, worth_compiling
from separatrix.data.rows import Block
from separatrix.models.generative import verified
from separatrix.models.generative.facts import PartFacts
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.parts.part import ColumnsPart, Solved, side_by_side
from separatrix.models.generative.verified import Equations, LabelledRows

if TYPE_CHECKING:
    from separatrix.models.generative.common import Generative

Means = tuple[FloatArray, ...]
NEAR = 30.0  # distance of class means from the origin, in units of spread, up to which squares of x keep their digits
ERASED = 1e-3  # of a column's variance over what is added to it, below which the column says nothing any more
GUARD = 1e-6  # var_smoothing up to which it is a guard against zero, and not a choice
TERMS = 1e5  # size of a row's terms up to which their sum keeps ten digits after the point
FAR_APART = 1e3  # distance of class means in units of spread beyond which squares are taken class by class


@dataclass(eq=False)
class NormalPart(ColumnsPart):
    """x_j ~ N(μ_kj, σ²), σ tied as told; to its variances is added ``smooth`` of a column's own variance, or, with
    ``per_column`` False, of the largest column's."""

    tie: str
    smooth: float
    per_column: bool = True

    def facts(self, cells: np.ndarray, members: Members) -> GroupMoments:
        return GroupMoments.centred(cells, members)

    def block_facts(self, block: Block, k: int) -> GroupMoments | None:
        return class_moments(block, k)

    def solve(self, s: GroupMoments, weight: FloatArray, findings: Findings, model: Generative) -> Solved:
        pooled = s.pooled()
        self.silent = _constant(pooled)[0] | (pooled.weight[0] == 0)
        never = (s.weight == 0) & ~self.silent
        self.mean = np.where(s.weight == 0, pooled.mean, s.mean)
        second, count = np.where(never, pooled.variance, s.second), np.where(never, 1.0, s.weight)
        axes = {"none": (), "class": (0,), "feature": (1,), "both": (0, 1)}[self.tie]
        live = ~self.silent & (weight > 0)[:, None]
        with np.errstate(all="ignore"):
            cells = np.sum(np.where(live, count, 0.0), axis=axes, keepdims=True)
            raw = np.sum(np.where(live, second, 0.0), axis=axes, keepdims=True) / cells
            own = self.smooth * np.where(self.silent, 0.0, pooled.variance[0])
            typical = own[~self.silent] if not self.silent.all() else np.zeros(1)
            self.epsilon = own if self.per_column else np.full_like(own, np.max(typical))
            untied = self.tie in ("none", "class")
            variance = raw + (self.epsilon if untied or not self.per_column else np.mean(typical))
            quiet = np.where(self.epsilon > 0, self.epsilon, 1.0)  # says nothing, as scikit-learn's
            self.variance = np.where(live, np.maximum(variance, np.finfo(float).tiny), quiet)
            ratio = np.sum(np.where(live, second / self.variance, 0.0), axis=axes, keepdims=True) / cells
            losses = count * (LOG_2PI + np.log(self.variance)) + second / self.variance
        if self.silent.any():
            findings.append(f"{self._named(model, self.silent)} constant or missing throughout: says nothing")
        if (never & (weight > 0)[:, None]).any():
            where = self._named(model, never.any(axis=0))
            findings.append(f"no value in some class of {where}: all classes' used there")
        none = live & np.all(_constant(s) & ~never | ~live, axis=axes, keepdims=True)
        self._say(none, pooled.variance[0], findings, model)
        if self.smooth:
            of = "its column's" if self.per_column else "the largest column's"
            findings.append(f"each variance raised by {self.smooth:g} of {of}")
        residual = 0.0 if self.smooth else float(np.nanmax(np.abs(ratio - 1.0), initial=0.0))
        return residual, 0.5 * float(np.sum(losses[live & (s.weight > 0)]))

    def _say(self, none: np.ndarray, total: FloatArray, findings: Findings, model: Generative) -> None:
        """Where rows of a class do not vary though the column does (``none`` (K, p)), before smoothing hides it."""
        if none.any():
            still = [
                repr(c) for c in model.classes_[(none | self.silent).all(axis=1) & none.any(axis=1)].tolist()
            ]
            whose = f"class {', '.join(still[:3])}, whose rows are all alike," if still else "a class"
            if len(still) > 3:
                whose = f"{len(still)} classes, whose rows are all alike,"
            where = self._named(model, none.any(axis=0))
            decides = (
                f"var_smoothing ({self.smooth:g}) alone decides there"
                if self.smooth
                else "raise var_smoothing"
            )
            # a smoothing beyond a guard is the remedy, and was chosen, unless a whole class has nothing else
            tell = findings.grave if still or self.smooth <= GUARD else findings.append
            tell(f"variance 0 in {whose} in {where}: {decides}")
        swallowed = ~self.silent & (total < self.epsilon)
        if swallowed.any() and not self.per_column:
            erased = bool((total < ERASED * self.epsilon)[swallowed].any())
            tell = findings.grave if erased and self.smooth <= GUARD else findings.append
            tell(
                f"var_smoothing ({self.smooth:g} of the largest column's variance) is more than all the variance of "
                f"{self._named(model, swallowed)}: var_smoothing_per_column=True goes by each column's own"
            )

    def at(self, mean: FloatArray, variance: FloatArray) -> Self:
        """At means and variances (K, p): log N = a z² + b z + c in z = x − centre, or in x itself near the origin."""
        now = copy(self)
        now.mean, now.variance = mean, variance
        with np.errstate(all="ignore"):  # an edit may leave a variance of 0: then no row has the class
            same = (mean == mean[:1]).all(axis=0) & (variance == variance[:1]).all(axis=0)
            now.silent = self.silent & same
            spread = np.sqrt(variance)
            near = np.max(np.where(now.silent, 0.0, np.abs(mean) / spread), initial=0.0) < NEAR
            now.centre = None if near else np.where(now.silent, 0.0, mean.mean(axis=0))
            offset = np.where(now.silent, 0.0, mean if now.centre is None else mean - now.centre)
            now.square = np.where(now.silent, 0.0, -0.5 / variance)
            now.slope = offset / variance
            constant = -0.5 * (offset * now.slope + np.log(variance) + LOG_2PI)
            now.constant = np.where(now.silent, 0.0, constant)
            now.far = bool(np.max(np.abs(offset) / spread, initial=0.0) > FAR_APART)
        return now

    def equations(self, rows: LabelledRows) -> Equations:
        return verified.normal_equations(
            rows, self.mean, self.variance, self.smooth, self.per_column, self.tie
        )

    def add_log_density(self, cells: np.ndarray, out: FloatArray) -> None:
        if worth_compiling(cells):
            return self._add_by_columns(cells, out)
        if self.far:
            return self._add_class_by_class(cells, out)
        z = cells if self.centre is None else np.subtract(cells, self.centre, dtype=np.float64)
        missing = np.isnan(z)
        if missing.any():
            z = np.where(missing, 0.0, z)
        found = np.dot(z, self.slope.T)
        found += np.dot(np.multiply(z, z, dtype=np.float64), self.square.T)
        found += ~missing @ self.constant.T if missing.any() else self.constant.sum(axis=1)
        if not np.isfinite(found.sum()):  # squares beyond numbers: (x − μ)²/σ² is −∞ there, and no NaN
            beyond = ~np.isfinite(found).all(axis=1)
            found[beyond] = 0.0
            again = np.zeros((int(beyond.sum()), out.shape[1]))
            self._add_class_by_class(cells[beyond], again)
            found[beyond] = again
        out += found

    def _add_by_columns(self, cells: np.ndarray, out: FloatArray) -> None:
        """Each class's own mean subtracted, in compiled code; rows with a cell that is no number by NumPy."""
        from separatrix.loops.dense import normal_scores

        root = np.sqrt(-self.square)
        constant = np.where(self.silent, 0.0, -0.5 * (LOG_2PI + np.log(self.variance))).sum(axis=1)
        for part, columns in by_columns(cells):
            found = np.empty((len(constant), columns.shape[1]))
            normal_scores(columns, self.mean, root, constant, found)
            if not np.isfinite(found.sum()):
                wrong = ~np.isfinite(found).all(axis=0)
                again = np.zeros((int(np.count_nonzero(wrong)), len(constant)))
                self._add_class_by_class(cells[part][wrong], again)
                found[:, wrong] = again.T
            out[part] += found.T

    def _add_class_by_class(self, cells: np.ndarray, out: FloatArray) -> None:
        """Classes a thousand spreads apart: each class's own mean is subtracted first."""
        for k in range(len(self.mean)):
            z = np.subtract(cells, self.mean[k], dtype=np.float64)
            terms = self.square[k] * z * z - 0.5 * (LOG_2PI + np.log(self.variance[k])) * ~self.silent
            out[:, k] += np.where(np.isnan(z) | self.silent, 0.0, terms).sum(axis=1)

    def draw(self, k: int, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.normal(self.mean[k], np.sqrt(self.variance[k]), size=(n, len(self.mean[k])))

    def parameters(self, i: int) -> dict[str, FloatArray]:
        return {"mean": self.mean[:, i].copy(), "variance": self.variance[:, i].copy()}

    def at_parameters(self, columns: list[dict[str, FloatArray]]) -> Self:
        return self.at(side_by_side(columns, "mean"), side_by_side(columns, "variance"))


def _constant(s: GroupMoments) -> np.ndarray:
    """Which classes and columns do not vary but for rounding: (K, p)."""
    return np.asarray(s.second <= s.weight * (1e-15 * s.mean) ** 2)


@dataclass(eq=False)
class FamilyPart(ColumnsPart):
    """Columns of any other exponential family; ``alpha`` virtual rows of the mean where a class holds only zeros."""

    family: Any = None
    alpha: float = 1.0

    def facts(self, cells: np.ndarray, members: Members) -> PartFacts:
        return family_facts(self.family, cells, members)

    def solve(self, s: PartFacts, weight: FloatArray, findings: Findings, model: Generative) -> Solved:
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
        count, means, second = verified.family_moments(rows, f)
        with np.errstate(all="ignore"):
            every = count.sum(axis=0)
            everyone = tuple((count * m).sum(axis=0) / every for m in means)
            spread = (second + count * (means[0] - everyone[0]) ** 2).sum(axis=0)
            means = self._without_zeros(count, means, everyone)[0]
        wanted, rest = f.estimate(count, means, second), f.estimate(every, everyone, spread)
        wanted = {n: np.where(count == 0, np.nan_to_num(rest[n], nan=1.0), v) for n, v in wanted.items()}
        return verified.family_equations(rows, f, self.fitted, wanted, count, means, second, shared=False)

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
    out, loose = _as_product(f, cells, parameters)
    if loose.any():
        some = cells if loose.all() else cells[loose]
        density = f.log_density(some[:, None, :], parameters)
        out[loose] = np.where(np.isnan(some)[:, None, :], 0.0, density).sum(axis=2)
    return out


def _as_product(f: Family, cells: np.ndarray, parameters: Any) -> tuple[FloatArray, np.ndarray]:
    """Σ_j log h(x_j) + η_kj·T(x_j) − A(η_kj) as products of matrices: (n, K), and in which rows (n,) it is none.

    Those are where the terms would cancel, or a cell or a parameter lies at the edge.
    """
    with np.errstate(all="ignore"):
        eta = [np.atleast_2d(part) for part in f.natural(parameters)]
        partition = np.atleast_2d(f.log_partition(tuple(eta)))
        base, facts, missing = f.log_base(cells), f.statistics(cells), np.isnan(cells)
        some = bool(missing.any())
        if some:
            base, facts = np.where(missing, 0.0, base), tuple(np.where(missing, 0.0, t) for t in facts)
        out = -(~missing @ partition.T) if some else -partition.sum(axis=1)
        total = base.sum(axis=1)
        size = np.abs(partition).max(axis=0).sum() + np.abs(total)
        for part, t in zip(eta, facts, strict=True):
            size += np.dot(np.abs(t), np.abs(part).max(axis=0))
            out = out + np.dot(t, part.T)
        return np.asarray(out + total[:, None]), ~(size < TERMS)


def family_facts(f: Family, cells: np.ndarray, members: Members) -> PartFacts:
    """Moments by class of what the family's estimate reads, and last of log h(x), for the likelihood."""
    base = f.log_base(cells)
    columns = (*f.facts(cells), base[:, None] if f.multivariate else base)
    return PartFacts(tuple(GroupMoments.centred(column, members) for column in columns))


def total_loss(f: Family, parameters: Any, weight: FloatArray, means: Any, second: Any) -> float:
    """−Σ_k W_k (η_k·T̄_k − A(η_k)): minus the log likelihood, the base measure h(x) left out."""
    with np.errstate(all="ignore"):
        if f.name == "gaussian" and "variance" in parameters:
            # centred: η·T̄ − A would cancel far from the origin
            spread, v = second + weight * (means[0] - parameters["mean"]) ** 2, parameters["variance"]
            return float(np.nansum(0.5 * (weight * np.log(v) + spread / v)))
        eta = f.natural(parameters)
        terms = [np.where(m == 0, 0.0, e * m) for e, m in zip(eta, means, strict=True)]
        products = sum(t.sum(axis=-1) if f.multivariate else t for t in terms)
        return -float(np.nansum(np.where(weight > 0, weight * (products - f.log_partition(eta)), 0.0)))
