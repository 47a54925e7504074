"""Columns that are counted, smoothed by virtual rows added to the counts of every class before they are divided.

    BernoulliPart   zeros and ones       θ_kj = (n_kj + a) / (n_k + a + b)                     ([6867] 3.1.2; G4)
    LevelsPart      levels 0 … L_j − 1   θ_kj(l) = (n_kjl + a) / Σ_l (n_kjl + a)               ([726]; G6)
    BagPart         a bag of counts      θ_kj = (n_kj + a_j) / Σ_j (n_kj + a_j)                ([726]; G5)

    alpha                               of each level (Laplace: 1)                              ([726]; G4–G6)
    ("beta", a, b), ("dirichlet", a)    the MAP estimate under that prior: a − 1 of each
    ("m", m, Q)                         m virtual rows drawn from Q ("uniform", "marginal" = all classes, or numbers)

Shapes: cells (n, p), dense or CSR but for levels; θ (K, p), of a bag log θ (p, K), as products with sparse rows want
it, of levels a table (K, L_j) a column; virtual rows (L, p) for L levels. Cost O(stored cells · K), of levels O(npK).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupCounts, GroupSums, Members
from separatrix.data.checks import is_positive
from separatrix.data.counts import class_sums, log_shares, over_columns, scores
from separatrix.data.levels import level_counts
from separatrix.data.moments import COMPILED_FROM
from separatrix.data.rows import Block
from separatrix.data.stored import with_cells
from separatrix.models.generative.facts import Cells
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.parts.part import ColumnsPart, Solved, side_by_side
from separatrix.models.generative.verified import Equations, LabelledRows, share_equations

if TYPE_CHECKING:
    from separatrix.models.generative.common import Generative


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
            return with_cells(cells, (cells.data > (self.binarize or 0.0)).astype(np.float64))
        if self.binarize is None:
            return cells.astype(np.float64, copy=False)
        ones = (cells > self.binarize).astype(np.float64)
        if cells.dtype.kind == "f" and np.isnan(cells.sum()):
            ones[np.isnan(cells)] = np.nan
        return ones

    def facts(self, cells: Cells, members: Members) -> GroupSums:
        ones = self._ones(cells)
        dense = isinstance(ones, np.ndarray)
        if not dense or not np.isnan(ones.sum()):
            value = members.sum(ones) if dense else class_sums(ones, members)
            return GroupSums(value, np.repeat(members.count[:, None], ones.shape[1], axis=1))
        present = ~np.isnan(ones)
        return GroupSums(members.sum(np.where(present, ones, 0.0)), members.sum(present.astype(np.float64)))

    def solve(self, s: GroupSums, weight: FloatArray, findings: Findings, model: Generative) -> Solved:
        self.count, (k, p) = s.value, s.value.shape
        with np.errstate(all="ignore"):
            q = np.nan_to_num(s.value.sum(axis=0) / s.weight.sum(axis=0), nan=0.5)
        virtual = self.smoothing.rows(np.array([1.0 - q, q]))
        self.theta: FloatArray = np.empty((k, p))
        self.log_yes: FloatArray = np.empty((k, p))
        self.log_no: FloatArray = np.empty((k, p))
        present = (weight > 0)[:, None]

        def work(part: slice) -> tuple[float, float, int, float]:
            """Parameters of some columns; their loss, the prior's density, pairs seen as one kind only, residual."""
            value, seen, (no, yes) = s.value[:, part], s.weight[:, part], virtual[:, part]
            with np.errstate(all="ignore"):
                rest = seen - value
                ones, zeros = np.maximum(value + yes, 0.0), np.maximum(rest + no, 0.0)
                both = ones + zeros
                theta = ones / both  # a prior that wants less than nothing has its mode at the edge
                never = zeros / both  # not 1 − θ, which loses a small one
                unknown = np.isnan(theta)
                if unknown.any():
                    theta, never = np.where(unknown, q[part], theta), np.where(unknown, 1.0 - q[part], never)
                log_yes, log_no = np.log(theta), np.log(never)
                inside = bool((ones > 0).all() and (zeros > 0).all())  # no 0 · log 0
                total = np.sum if inside else np.nansum
                losses = total(value * log_yes) + total(rest * log_no)
                prior = total(yes * log_yes) + total(no * log_no)
                residual = np.nanmax(np.abs(np.exp(log_yes) - theta), initial=0.0)
            self.theta[:, part], self.log_yes[:, part], self.log_no[:, part] = theta, log_yes, log_no
            one_sided = int(np.count_nonzero(((value == 0) | (rest == 0)) & present))
            return float(losses), float(prior), one_sided, float(residual)

        losses, priors, sided, residuals = zip(*over_columns(k, p, work), strict=True)
        prior, one_sided = sum(priors), sum(sided)
        self.log_prior = float(prior) if np.isfinite(prior) else 0.0
        findings.append(self.smoothing.words())
        if one_sided:
            findings.append(f"{one_sided} of {k * p} class–column pairs never seen as both 0 and 1")
        return max(residuals), -sum(losses)

    def at(self, log_yes: FloatArray) -> Self:
        """At log θ (K, p); log (1 − θ) is the fitted one where θ is, which keeps the digits of a θ near one."""
        now = copy(self)
        now.log_yes = log_yes
        with np.errstate(all="ignore"):
            if not np.array_equal(log_yes, self.log_yes):  # an edit
                now.log_no = np.where(log_yes == self.log_yes, self.log_no, np.log(-np.expm1(log_yes)))
            odds = np.empty(log_yes.shape[::-1])
            now.odds = odds
            np.subtract(now.log_yes, now.log_no, out=odds.T)
            now.base = now.log_no.sum(axis=1)
            now.certain = not np.isfinite(now.odds.sum()) and not np.isfinite(now.odds).all()
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
        dense = isinstance(ones, np.ndarray)
        if not self.certain and not (dense and np.isnan(ones.sum())):
            out += np.dot(ones, self.odds) if dense else scores(ones, self.odds)
            out += self.base
            return
        ones = ones if dense else ones.toarray()
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
class LevelsPart(ColumnsPart):
    """x_j a level 0 … L_j − 1: θ_kj(l) = (n_kjl + a) / Σ_l (n_kjl + a); ``least``: levels there are at least."""

    smoothing: Smoothing
    least: Any

    def facts(self, cells: np.ndarray, members: Members) -> GroupCounts:
        return GroupCounts.of(cells, members)

    def block_facts(self, block: Block, k: int) -> GroupCounts | None:
        return level_counts(block.X, block.members(k, slice(None)))

    def solve(self, s: GroupCounts, weight: FloatArray, findings: list[str], model: Generative) -> Solved:
        self.tables = [
            table if table.shape[1] >= least else np.pad(table, ((0, 0), (0, int(least) - table.shape[1])))
            for table, least in zip(s.tables, np.broadcast_to(self.least, (len(s.tables),)), strict=True)
        ]
        sizes = np.array([table.shape[1] for table in self.tables], dtype=np.intp)
        self.log_share: list[FloatArray] = [np.empty((0, 0))] * len(sizes)
        self.log_never: list[FloatArray] = [np.empty((0, 0))] * len(sizes)
        loss, zeros, residual, self.log_prior = 0.0, 0, 0.0, 0.0
        for size in np.unique(sizes).tolist():  # columns of as many levels go side by side
            mine = np.flatnonzero(sizes == size)
            table = np.stack([self.tables[j] for j in mine])
            add = self._virtual_rows(table, mine)
            with np.errstate(divide="ignore", invalid="ignore"):
                smooth = np.maximum(table + add, 0.0)
                total = smooth.sum(axis=2, keepdims=True)
                share, never = np.log(smooth / total), np.log(add.mean(axis=2, keepdims=True) / total)
                # an unseen level is a level seen no times; without smoothing it says nothing
                never = np.where(np.isfinite(never), never, 0.0)
                share = np.where(np.isnan(share), -np.log(size), share)
                loss -= float(np.sum(np.where(table > 0, table * share, 0.0)))
                proper = (add > 0).all(axis=(1, 2))
                self.log_prior += float(np.sum((add * share)[proper]))
            residual = max(residual, float(np.max(np.abs(np.exp(share).sum(axis=2) - 1.0))))
            zeros += int(np.count_nonzero(table == 0))
            for i, j in enumerate(mine.tolist()):
                self.log_share[j], self.log_never[j] = share[i], never[i]
        findings.append(self.smoothing.words())
        if zeros:
            findings.append(f"{zeros} class–level pairs were never seen")
        return residual, loss

    def _virtual_rows(self, tables: FloatArray, columns: np.ndarray) -> FloatArray:
        """Virtual rows of each level of the given columns, tables (m, K, L) all: (m, 1, L)."""
        counts = tables.sum(axis=1)
        marginal = np.zeros((tables.shape[2], max(np.size(self.smoothing.alpha), int(columns[-1]) + 1)))
        marginal[:, columns] = (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)).T
        return np.ascontiguousarray(self.smoothing.rows(marginal)[:, columns].T)[:, None]

    def _virtual(self, table: FloatArray, j: int) -> FloatArray:
        """Virtual rows of each level of column j: (L_j,)."""
        return self._virtual_rows(table[None], np.array([j]))[0, 0]

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
        # of each column its levels, one never seen, and a missing cell
        pairs = zip(self.log_share, self.log_never, strict=True)
        table = np.hstack([part for share, never in pairs for part in (share, never, 0.0 * never)]).T
        first = np.cumsum([0, *(share.shape[1] + 2 for share in self.log_share)])
        if cells.size * out.shape[1] >= COMPILED_FROM:
            from separatrix.loops.dense import level_scores

            found = np.zeros(out.shape)
            numbers = np.ascontiguousarray(cells, dtype=np.float64)
            level_scores(numbers, first, np.ascontiguousarray(table), found)
            out += found
            return
        for j, column in enumerate(cells.T):
            size = first[j + 1] - first[j] - 2
            known = np.where((column >= 0) & (column < size), column, size)
            out += table[first[j] + np.where(np.isnan(column), size + 1, known).astype(np.intp)]

    def draw(self, k: int, n: int, rng: np.random.Generator) -> FloatArray:
        shares = [np.exp(t[k]) for t in self.log_share]
        return np.column_stack([rng.choice(len(s), size=n, p=s / s.sum()).astype(np.float64) for s in shares])

    def parameters(self, i: int) -> dict[str, FloatArray]:
        return {"probabilities": np.exp(self.log_share[i])}


@dataclass(eq=False)
class BagPart(ColumnsPart):
    """x a bag of counts: θ_kj = (n_kj + a_j) / Σ_j (n_kj + a_j)."""

    smoothing: Smoothing

    def facts(self, cells: Cells, members: Members) -> GroupSums:
        if isinstance(cells, np.ndarray):
            return GroupSums(members.sum(cells.astype(np.float64, copy=False)), members.count)
        return GroupSums(class_sums(cells, members), members.count)

    def solve(self, s: GroupSums, weight: FloatArray, findings: Findings, model: Generative) -> Solved:
        k, p = s.value.shape
        self.count = s.value
        add = self._virtual(s.value)
        less = not (add >= 0).all()
        shares = log_shares(np.maximum(s.value + add, 0.0), 0 * add) if less else log_shares(s.value, add)
        self.weights, self.add = shares.weights, add
        self.length = shares.totals / np.maximum(weight, 1e-300)
        findings.append(self.smoothing.words())
        if shares.zeros:
            findings.append(f"{shares.zeros} of {k * p} class–column pairs were never seen")
        return shares.residual, float(shares.losses.sum())

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
