"""Columns of one kind in a naive Bayes: the facts they need, the parameters that follow, their log density.

    NormalPart      μ_kj, σ² with its ties              facts: moments by class
    BernoulliPart   θ_kj                                facts: sums and weights by class
    LevelsPart      θ_kj(l)                             facts: a table of counts a column
    BagPart         θ_k over all columns                facts: sums by class
    FamilyPart      ∇A(η_kj) = T̄_kj of any family       facts: means of T(x) by class

A part is given its columns' cells (n, p) and memberships of the rows; what has no cell in a class is taken from
all classes together, and the verdict says so. What predicts is the model's public numbers: `at` gives the part as
they stand. Cost O(np) for facts, O(npK) for a density.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from separatrix.core.families import Family
from separatrix.core.numerics import LOG_2PI, FloatArray
from separatrix.core.statistics.grouped import GroupCounts, GroupMoments, GroupSums, Members
from separatrix.data.counts import class_sums, log_shares, scores
from separatrix.data.door import is_positive
from separatrix.data.moments import worth_compiling
from separatrix.models.generative.common import Parts
from separatrix.models.generative.impossible import Findings

NEAR = 30.0  # distance of class means from the origin, in units of spread, up to which squares of x keep their digits
ERASED = 1e-3  # of a column's variance over what is added to it, below which the column says nothing any more
GUARD = 1e-6  # var_smoothing up to which it is a guard against zero, and not a choice
FAR_APART = 1e3  # distance of class means in units of spread beyond which squares are taken class by class


def _numbers(a: Any, *, above: float = -np.inf, least: float = -np.inf, most: float = np.inf) -> bool:
    """Whether ``a`` is a number or numbers within bounds."""
    try:
        values = np.asarray(a, dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(values.ndim <= 1 and ((values > above) & (values >= least) & (values <= most)).all())


def _constant(s: GroupMoments) -> np.ndarray:
    """Which classes and columns do not vary but for rounding: (K, p)."""
    return np.asarray(s.second <= s.weight * (1e-15 * s.mean) ** 2)


def _side_by_side(columns: list[dict[str, FloatArray]], name: str) -> FloatArray:
    """One parameter of several columns: (K, p)."""
    return np.column_stack([np.asarray(column[name], dtype=np.float64) for column in columns])


class Part:
    """Columns of one kind; ``columns`` None: all of them."""

    columns: Any = None
    family: Any = None
    centre: Any  # these are worked out by `at`
    square: Any
    slope: Any
    constant: Any
    far: bool
    odds: Any
    certain: bool
    log_prior = 0.0  # log density of the parameters under the smoothing's prior, for EM

    def of(self, cells: Any) -> Any:
        return cells if self.columns is None else cells[:, self.columns]

    def facts(self, cells: Any, members: Members) -> Any:
        raise NotImplementedError

    def solve(self, s: Any, weight: FloatArray, findings: Findings, model: Any) -> tuple[float, float]:
        """Set the parameters from merged facts; the moment residual, and −Σ log p of the rows."""
        raise NotImplementedError

    def add_log_density(self, cells: Any, out: FloatArray) -> None:
        """Only of a part made by `at`."""
        raise NotImplementedError

    def draw(self, k: int, n: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError

    def parameters(self, i: int) -> dict[str, FloatArray]:
        """The parameters of the part's i-th column, arrays over classes."""
        raise NotImplementedError

    def at_parameters(self, columns: list[dict[str, FloatArray]]) -> Self:
        """The part at parameters in the form of `parameters`, a dictionary a column."""
        raise NotImplementedError

    def _named(self, model: Any, which: Any) -> str:
        """Some of the part's columns in words."""
        everywhere = np.zeros(model.n_features_in_, dtype=bool)
        everywhere[np.arange(len(which))[which] if self.columns is None else self.columns[which]] = True
        return model._columns(everywhere)


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


@dataclass(eq=False)
class NormalPart(Part):
    """x_j ~ N(μ_kj, σ²), σ tied as told; to its variances is added ``smooth`` of a column's own variance, or, with
    ``per_column`` False, of the largest column's."""

    tie: str
    smooth: float
    per_column: bool = True

    def facts(self, cells: np.ndarray, members: Members) -> GroupMoments:
        return GroupMoments.centred(cells, members)

    def solve(
        self, s: GroupMoments, weight: FloatArray, findings: Findings, model: Any
    ) -> tuple[float, float]:
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
            quiet = np.where(
                self.epsilon > 0, self.epsilon, 1.0
            )  # columns that say nothing, as scikit-learn's
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

    def _say(self, none: np.ndarray, total: FloatArray, findings: Findings, model: Any) -> None:
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

    def add_log_density(self, cells: Any, out: FloatArray) -> None:
        if self.far:
            return self._add_class_by_class(cells, out)
        z = cells if self.centre is None else np.subtract(cells, self.centre, dtype=np.float64)
        if worth_compiling(z):
            from separatrix.loops.dense import quadratic_scores

            found = np.zeros(out.shape)
            quadratic_scores(z, self.square, self.slope, self.constant.sum(axis=1), found)
            if np.isfinite(found.sum()):
                out += found
                return
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

    def _add_class_by_class(self, cells: Any, out: FloatArray) -> None:
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
        return self.at(_side_by_side(columns, "mean"), _side_by_side(columns, "variance"))


@dataclass(eq=False)
class BernoulliPart(Part):
    """x_j ∈ {0, 1}: θ_kj = (n_kj + a) / (n_k + a + b); cells above ``binarize`` are ones."""

    smoothing: Smoothing
    binarize: float | None

    def _ones(self, cells: Any) -> Any:
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

    def facts(self, cells: Any, members: Members) -> GroupSums:
        ones = self._ones(cells)
        if not isinstance(ones, np.ndarray):
            return GroupSums(
                class_sums(ones, members), np.repeat(members.count[:, None], ones.shape[1], axis=1)
            )
        present = ~np.isnan(ones)
        return GroupSums(members.sum(np.where(present, ones, 0.0)), members.sum(present.astype(np.float64)))

    def solve(self, s: GroupSums, weight: FloatArray, findings: Findings, model: Any) -> tuple[float, float]:
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
        theta = _side_by_side(columns, "probability")
        with np.errstate(all="ignore"):
            now = self.at(np.where(theta == self.theta, self.log_yes, np.log(theta)))
        return now

    def add_log_density(self, cells: Any, out: FloatArray) -> None:
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


@dataclass(eq=False)
class BagPart(Part):
    """x a bag of counts: θ_kj = (n_kj + a_j) / Σ_j (n_kj + a_j)."""

    smoothing: Smoothing

    def facts(self, cells: Any, members: Members) -> GroupSums:
        dense = isinstance(cells, np.ndarray)
        value = members.sum(cells.astype(np.float64, copy=False)) if dense else class_sums(cells, members)
        return GroupSums(value, members.count)

    def solve(self, s: GroupSums, weight: FloatArray, findings: Findings, model: Any) -> tuple[float, float]:
        k, p = s.value.shape
        self.count = s.value
        if self.smoothing.rule is None:
            add = self.smoothing.rows(np.empty((1, p)))[0]
        else:  # the levels are the columns
            add = self.smoothing.rows((s.value.sum(axis=0) / max(s.value.sum(), 1e-300)).reshape(p, 1))[:, 0]
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

    @property
    def log_prior(self) -> float:  # type: ignore[override]
        return float(np.sum(self.add @ self.weights)) if (self.add > 0).all() else 0.0

    def at(self, log_share: FloatArray) -> Self:
        """At log θ (K, p); (p, K) in memory, as products with sparse rows want it, is not copied."""
        now = copy(self)
        now.weights = np.ascontiguousarray(log_share.T)
        return now

    def add_log_density(self, cells: Any, out: FloatArray) -> None:
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


@dataclass(eq=False)
class LevelsPart(Part):
    """x_j a level 0 … L_j − 1: θ_kj(l) = (n_kjl + a) / Σ_l (n_kjl + a); ``least``: levels there are at least."""

    smoothing: Smoothing
    least: Any

    def facts(self, cells: np.ndarray, members: Members) -> GroupCounts:
        return GroupCounts.of(cells, members)

    def solve(
        self, s: GroupCounts, weight: FloatArray, findings: list[str], model: Any
    ) -> tuple[float, float]:
        least = np.broadcast_to(self.least, (len(s.tables),))
        self.tables = list((s + GroupCounts(tuple(np.zeros((len(weight), int(m))) for m in least))).tables)
        self.log_share, self.log_never, loss, zeros, self.log_prior = [], [], 0.0, 0, 0.0
        for j, table in enumerate(self.tables):
            size = table.shape[1]
            marginal = table.sum(axis=0) / max(table.sum(), 1e-300)
            columns = np.tile(marginal[:, None], (1, max(np.size(self.smoothing.alpha), j + 1)))
            add = self.smoothing.rows(columns)[:, j]
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


@dataclass(eq=False)
class FamilyPart(Part):
    """Columns of any other exponential family; ``alpha`` virtual rows of the mean where a class holds only zeros."""

    family: Any = None
    alpha: float = 1.0

    def facts(self, cells: np.ndarray, members: Members) -> Parts:
        return family_facts(self.family, cells, members)

    def solve(self, s: Parts, weight: FloatArray, findings: Findings, model: Any) -> tuple[float, float]:
        f, count, second = self.family, s.parts[0].weight, s.parts[0].second
        facts, base = s.parts[:-1], s.parts[-1]
        means, pooled = tuple(m.mean for m in facts), tuple(m.pooled() for m in facts)
        everyone = tuple(m.mean for m in pooled)
        zeros = (
            (count > 0) & (means[0] == 0)
            if f.name in ("poisson", "exponential")
            else np.zeros_like(count, bool)
        )
        if zeros.any():
            share = self.alpha / (count + self.alpha) if self.alpha else 1e-9
            means = (np.where(zeros, np.maximum(share * everyone[0], 1e-300), means[0]),)
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

    def at_parameters(self, columns: list[dict[str, FloatArray]]) -> Self:
        now = copy(self)
        now.fitted = {name: _side_by_side(columns, name) for name in self.fitted}
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


def family_facts(f: Family, cells: np.ndarray, members: Members) -> Parts:
    """Moments by class of what the family's estimate reads, and last of log h(x), for the likelihood."""
    base = f.log_base(cells)
    columns = (*f.facts(cells), base[:, None] if f.multivariate else base)
    return Parts(tuple(GroupMoments.centred(column, members) for column in columns))


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
