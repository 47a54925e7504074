"""verify for generative models: the moment equations that a closed form solves, from rows and public numbers alone.

    W_k = Σ_i R_ik      π̂_k = W_k / W      T̄_k = Σ_i R_ik T(x_i) / W_k      ∇A(η̂_k) = T̄_k             ([6867] 3.1)

R_ik is row i's weight where its label is k; a row without a label counts by its posterior under the model itself,
and a missing cell of a normal row by its expectation ([6867] 3.3). Virtual rows (alpha, ``smoothing``), what
var_smoothing adds to a variance, and shrinkage are part of T̄: what the user asked for is a change of the moments.

**The gap is a theorem.** With those moments the loss of the rows is, up to a constant of the rows,

    F(π, η) = −Σ_k (W_k / W) [log π_k + η_k·T̄_k − A(η_k)],        ∇F = 0  ⟺  π = π̂ and ∇A(η_k) = T̄_k,

convex in η because A is. Hence η̂ is the minimiser, whoever found it, and because log p(x|η̂) − log p(x|η) is linear
in T(x), whose mean under η̂ is T̄, the log likelihood at the moments less that at the parameters is

    F(θ) − min F  =  KL(π̂ ‖ π) + Σ_k (W_k / W) KL(p(·|η̂_k) ‖ p(·|η_k))                              exactly,

which is what is computed here: no two losses are subtracted, and 0 means 0. Where labels or cells are hidden, F is
EM's bound at the model's own posterior: one more step lowers the loss by the gap at least.

Nothing of the fit is used: moments are sums over rows in two passes (mean, then spread about it, corrected), and the
mean loss is that of the rows one by one. Shapes: X (n, p), R (n, K). Cost: three sweeps, O(npK); O(Kp³) for normals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.families import Family
from separatrix.core.numerics import EPS, LOG_2PI, FloatArray, softmax
from separatrix.core.statistics.grouped import GroupScatter
from separatrix.core.statistics.spans import SpanScatter
from separatrix.data.door import is_dask, read_some_labels, read_weights, rows_of
from separatrix.data.sources import TableLike
from separatrix.models.generative.impossible import Watch
from separatrix.models.generative.labels import places_of
from separatrix.verdict.build import VERIFIED, proven
from separatrix.verdict.gaps import ROUNDING
from separatrix.verdict.verdict import Status, Verdict

if TYPE_CHECKING:
    from separatrix.models.generative.common import Generative

TOLERANCE = 1e-8  # of an equation, in units of what it is about
SINGLE = 1e-5  # where the public numbers are float32
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Equations:
    """How far public numbers are from solving theirs, KL(θ̂ ‖ θ) per row, and the mean loss at θ̂ (NaN: not known)."""

    residual: float = 0.0
    gap: float = 0.0
    loss: float = 0.0

    def __add__(self, other: Equations) -> Equations:
        worst = float(np.maximum(self.residual, other.residual))
        return Equations(worst, self.gap + other.gap, self.loss + other.loss)


class LabelledRows:
    """Rows, perhaps changed by ``of``, and their memberships R (n, K), block by block."""

    def __init__(self, model: Generative, X: TableLike, R: FloatArray):
        cells = model._read_for_prediction(X)
        if not is_dask(cells):
            model._refuse_cells(cells, 0)
        self.rows = rows_of(model, cells, missing=True)
        self.R, self.weight, self.total = R, R.sum(axis=0), float(R.sum())
        self.of: Callable[[Any], Any] = lambda cells: cells

    def changed(self, of: Callable[[Any], Any]) -> LabelledRows:
        """The same rows, their cells changed by ``of``."""
        out, before = copy(self), self.of
        out.of = lambda cells: of(before(cells))
        return out

    def __iter__(self) -> Iterator[tuple[Any, FloatArray]]:
        """(cells, R) of each block."""
        for i in range(self.rows.n_blocks):
            block = self.rows.block(i)
            yield self.of(block.X), self.R[block.start : block.start + block.n]

    def sums(self) -> FloatArray:
        """Σ_i R_ik x_i: (K, p)."""
        return sum(np.asarray((cells.T @ R).T, dtype=np.float64) for cells, R in self)  # type: ignore[return-value]

    def moments(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """W, mean and Σ R (x − mean)² of every class and column over the cells that are there: (K, p) each."""
        with np.errstate(all="ignore"):
            start: FloatArray | None = None
            for cells, R in self:
                there = ~np.isnan(cells)
                if start is None:
                    start = np.nan_to_num(np.where(there, cells, 0.0).sum(axis=0) / there.sum(axis=0))
                    weight, mean = np.zeros((2, R.shape[1], cells.shape[1]))
                weight = weight + R.T @ there
                mean = mean + R.T @ np.where(there, cells - start, 0.0)
            assert start is not None
            mean = np.where(weight > 0, start + mean / weight, 0.0)
            off, second = np.zeros((2, *mean.shape))
            for cells, R in self:
                for k in range(R.shape[1]):
                    mine = R[:, k] > 0
                    z = np.nan_to_num(cells[mine] - mean[k])
                    off[k] += R[mine, k] @ z
                    second[k] += R[mine, k] @ (z * z)
            off = np.where(weight > 0, off / weight, 0.0)
            mean += off
            second = second - weight * off * off
            second = np.where(second > weight * (4 * EPS * mean) ** 2, second, 0.0)  # else rounding
        return weight, mean, second

    def scatters(self, group: np.ndarray, means: FloatArray, sigmas: FloatArray) -> GroupScatter:
        """Means (K, p), and Σ R (x − mean_k)(x − mean_k)ᵀ of each group of classes (G, p, p).

        A missing cell counts by its expectation under N(means_k, sigmas_k), and with the covariance that is left.
        """
        mean = np.zeros_like(means)
        scatter = np.zeros((int(group.max()) + 1, *sigmas.shape[1:]))
        for k, g in enumerate(group.tolist()):
            if self.weight[k] == 0:
                continue
            mine = [(_filled(c[R[:, k] > 0], means[k], sigmas[k]), R[R[:, k] > 0, k]) for c, R in self]
            start = next(full[0] for (full, _), w in mine if len(w))
            mean[k] = start + sum(w @ (full - start) for (full, _), w in mine) / self.weight[k]
            off = sum(w @ (full - mean[k]) for (full, _), w in mine) / self.weight[k]
            mean[k] += off
            for (full, left), w in mine:
                z = full - mean[k]
                scatter[g] += (z.T * w) @ z + sum(w[rows].sum() * rest for rows, rest in left)
        return GroupScatter(self.weight, mean, np.zeros_like(mean), scatter, np.asarray(group))

    @property
    def incomplete(self) -> bool:
        """Whether a cell is missing."""
        return any(bool(np.isnan(cells).any()) for cells, _ in self)

    def fourths(self, s: GroupScatter | SpanScatter) -> FloatArray:
        """Σ R ‖z‖⁴ of each class, z its rows in columns of unit spread: (K,)."""
        mean = s.mean
        with np.errstate(all="ignore"):
            spread = np.sqrt(s.diagonals() / self.weight[:, None])
        spread = np.where(spread > 0, spread, 1.0)
        out = np.zeros(len(mean))
        for cells, R in self:
            for k in range(len(mean)):
                mine = R[:, k] > 0
                out[k] += R[mine, k] @ np.sum(((cells[mine] - mean[k]) / spread[k]) ** 2, axis=1) ** 2
        return out


def _filled(cells: np.ndarray, mean: FloatArray, sigma: FloatArray) -> tuple[FloatArray, list[Any]]:
    """Cells with the expectation of the missing ones, and (rows, covariance that is left) of each pattern."""
    full, left = cells.astype(np.float64), []
    gone = np.isnan(full)
    for pattern in np.unique(gone[gone.any(axis=1)], axis=0):
        rows = (gone == pattern).all(axis=1)
        a, b = np.flatnonzero(~pattern), np.flatnonzero(pattern)
        gain = sigma[np.ix_(b, a)] @ np.linalg.pinv(sigma[np.ix_(a, a)], hermitian=True)
        full[np.ix_(rows, b)] = mean[b] + (full[np.ix_(rows, a)] - mean[a]) @ gain.T
        rest = np.zeros_like(sigma)
        rest[np.ix_(b, b)] = sigma[np.ix_(b, b)] - gain @ sigma[np.ix_(a, b)]
        left.append((rows, rest))
    return full, left


# ---- the equations of each kind of parameter ----


def share_equations(
    found: ArrayLike, counts: FloatArray, virtual: FloatArray | float, total: float, only: Any = slice(None)
) -> Equations:
    """θ_l = (N_l + a_l) / Σ (N + a) along the last axis; ``only``: which shares are public, the rest what is left.

    >>> share_equations([0.5, 0.5], np.array([2.0, 2.0]), 0.0, 4.0).gap
    0.0
    """
    theta = np.asarray(found, dtype=np.float64)
    with np.errstate(all="ignore"):
        many = np.maximum(counts + virtual, 0.0)
        size = many.sum(axis=-1, keepdims=True)
        wanted = np.where(size > 0, many / size, 1.0 / many.shape[-1])
        off = np.abs(theta - wanted)[..., only]
        relative = np.where(off > 0, off / wanted[..., only], 0.0)
        d = (theta - wanted) / wanted
        kl = np.where(wanted > 0, wanted * (d - np.log1p(d)), np.where(theta == 0, 0.0, np.inf))
        gap = float(np.sum(size / total * kl))
        loss = -float(np.sum(np.where(counts > 0, counts * np.log(wanted), 0.0)) / total)
    return Equations(_worst(relative), np.inf if np.isnan(gap) else gap, loss)


def normal_equations(
    rows: LabelledRows, mean: FloatArray, variance: FloatArray, smooth: float, per_column: bool, tie: str
) -> Equations:
    """μ_kj = x̄_kj and σ² = mean of (x − x̄)² over what shares it, raised by ``smooth`` of a column's variance."""
    count, m, s = rows.moments()
    some = rows.weight[:, None] > 0
    with np.errstate(all="ignore"):
        everyone = count.sum(axis=0)
        middle = np.nan_to_num((count * m).sum(axis=0) / everyone)
        middle += np.nan_to_num((count * (m - middle)).sum(axis=0) / everyone)
        whole = np.nan_to_num((s + count * (m - middle) ** 2).sum(axis=0) / everyone)
        silent = whole <= (4 * EPS * middle) ** 2
        never = (count == 0) & ~silent
        m, s, each = np.where(count == 0, middle, m), np.where(never, whole, s), np.where(never, 1.0, count)
        live = some & ~silent
        axes = {"none": (), "class": (0,), "feature": (1,), "both": (0, 1)}[tie]
        cells = np.sum(np.where(live, each, 0.0), axis=axes, keepdims=True)
        v = np.sum(np.where(live, s, 0.0), axis=axes, keepdims=True) / cells
        own = smooth * whole[~silent]
        most = np.max(own, initial=0.0)
        untied = tie in ("none", "class")
        add = np.where(silent, 0.0, smooth * whole) if per_column else np.full(len(whole), most)
        v = v + (add if untied or not per_column else np.mean(own) if len(own) else 0.0)
        v = np.where(live, np.maximum(v, TINY), np.where(add > 0, add, 1.0))
    return _normal_gap(
        np.where(live, count, 0.0) / rows.total, mean, variance, m, v, s / rows.total, count == 0
    )


def normal_family_equations(
    rows: LabelledRows, found: Any, count: FloatArray, m: FloatArray, v: FloatArray, s: FloatArray
) -> Equations:
    """The same where nothing is smoothed or tied: ``v`` (K, p) is what the variances must be."""
    mean, variance = (
        np.broadcast_to(np.asarray(found[n], dtype=np.float64), m.shape) for n in ("mean", "variance")
    )
    dead = (rows.weight == 0)[:, None]  # a class without rows has no parameters
    mean, variance, m, v = (np.where(dead, fill, a) for a, fill in ((mean, 0), (variance, 1), (m, 0), (v, 1)))
    return _normal_gap(count / rows.total, mean, variance, m, v, s / rows.total, count == 0)


def _normal_gap(
    share: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
    m: FloatArray,
    v: FloatArray,
    s: FloatArray,
    none: Any,
) -> Equations:
    """KL(N(m, v) ‖ N(mean, variance)) of every cell, the differences in units of the spread; s Σ R (x − m)² / W."""
    with np.errstate(all="ignore"):
        loss = 0.5 * np.where((share > 0) & ~none, share * (LOG_2PI + np.log(v)) + s / v, 0.0)
        least = (8 * EPS * m) ** 2 + TINY  # a variance less than that is rounding
        ratio = np.maximum(v, least) / np.where(variance > 0, np.maximum(variance, least), variance)
        offset = np.maximum(np.abs(mean - m) - 8 * EPS * np.abs(m), 0.0)
        kl = 0.5 * (ratio - 1 - np.log1p(ratio - 1) + offset**2 / np.maximum(variance, TINY))
        off = np.maximum(offset / np.sqrt(np.maximum(v, least)), np.abs(1 / ratio - 1))
        gap = float(np.sum(np.where(share > 0, share * kl, 0.0)))
    return Equations(_worst(off), np.inf if np.isnan(gap) else gap, float(loss.sum()))


def gaussian_equations(
    share: FloatArray,
    means: FloatArray,
    sigma: FloatArray,
    m: FloatArray,
    S: FloatArray,
    raw: FloatArray,
    tol: float,
) -> Equations:
    """μ_k = x̄_k of the classes of one group (k, p) and Σ = S, eigenvalues below tol² being no spread to judge by.

    ``share`` W_k / W of the classes, ``raw`` their scatter by row before shrinkage, for the loss.
    """
    _, T, least = axes_of(S, tol)
    spread = np.sqrt(np.diag(S))
    spread = np.where(spread > 0, spread, np.sqrt(np.max(np.diag(S), initial=0.0)) or 1.0)
    slack = 100 * tol**2 if least < 10 * tol**2 else 0.0
    off = np.maximum(np.abs((sigma - S) / np.outer(spread, spread)) - slack, 0.0)
    d = np.sign(means - m) * np.maximum(np.abs(means - m) - 8 * EPS * np.abs(m), 0.0)
    white, d_white = T.T @ sigma @ T, d @ T
    values, vectors = np.linalg.eigh((white + white.T) / 2)
    if not (values > 0).all() or not np.isfinite(d_white).all():
        return Equations(np.inf, np.inf, np.nan)
    kl = np.sum(1 / values - 1 + np.log(values)) + np.sum((d_white @ vectors) ** 2 / values, axis=1)
    loss = np.nan
    if T.shape[1] == len(S) and not slack:
        loss = 0.5 * float(
            share.sum() * (len(S) * LOG_2PI - 2 * np.linalg.slogdet(T)[1]) + np.sum(T * (raw @ T))
        )
    worst = max(_worst(off), _worst(np.abs(d) / spread))
    return Equations(worst, 0.5 * float(share @ kl), loss)


def axes_of(S: FloatArray, tol: float) -> tuple[FloatArray, FloatArray, float]:
    """Unit of each column, T (p, r) with TᵀST = I where S has spread, and the least eigenvalue in unit columns."""
    unit = np.sqrt(np.maximum(np.diag(S), 0.0))
    unit = np.where(unit > tol * np.max(unit, initial=0.0) * EPS, unit, 1.0)
    values, vectors = np.linalg.eigh(S / np.outer(unit, unit))
    keep = values >= tol**2
    return unit, vectors[:, keep] / np.sqrt(values[keep]) / unit[:, None], float(np.min(values, initial=1.0))


def family_moments(rows: LabelledRows, f: Family) -> tuple[FloatArray, tuple[FloatArray, ...], FloatArray]:
    """W, the means of what the family's estimate reads, and the first one's Σ R (T − T̄)², by class."""
    first = next(iter(rows))[0][:1]
    with np.errstate(all="ignore"):
        parts = range(len(f.facts(first)))
    of = [lambda cells, i=i: f.facts(cells)[i] for i in parts]
    found = [rows.changed(one).moments() for one in of]
    return found[0][0], tuple(mean for _, mean, _ in found), found[0][2]


def family_equations(
    rows: LabelledRows,
    f: Family,
    found: Any,
    wanted: Any,
    weight: FloatArray,
    means: Any,
    second: Any,
    shared: bool,
) -> Equations:
    """∇A(η) = T̄ of any family; ``wanted`` solves it (that it does is seen here), ``shared``: one scale for all."""
    base = rows.changed(lambda cells: np.nan_to_num(np.reshape(f.log_base(cells), (len(cells), -1))))
    with np.errstate(all="ignore"):
        equal = [np.abs(np.asarray(found[name]) / v - 1) * (found[name] != v) for name, v in wanted.items()]
        residual = max(_worst(np.where(np.isnan(v), 0.0, off)) for off, v in zip(equal, wanted.values()))
        if not shared and residual > 0:
            left = f.moment_residual(wanted, means, second, weight)
            residual = max(0.0, f.moment_residual(found, means, second, weight) - left)
        theirs, ours = (_natural_loss(f, parameters, means, weight) for parameters in (found, wanted))
        gap = float(np.nansum(theirs - ours)) / rows.total if residual > 0 else 0.0
        loss = (float(np.nansum(ours)) - float(base.sums().sum())) / rows.total
    return Equations(residual, gap if gap >= -1e-12 else np.inf, loss)


def _natural_loss(f: Family, parameters: Any, means: Any, weight: FloatArray) -> FloatArray:
    """W (A(η) − η·T̄) of every cell, or row, of parameters."""
    eta = f.natural(parameters)
    terms = [np.where(m == 0, 0.0, e * m) for e, m in zip(eta, means)]
    products = sum(t.sum(axis=-1) if f.multivariate else t for t in terms)
    return np.where(weight > 0, weight * (f.log_partition(eta) - products), 0.0)


def _worst(off: np.ndarray) -> float:
    """The largest, a NaN being the worst of all."""
    return float(np.max(np.where(np.isnan(off), np.inf, off), initial=0.0))


# ---- the verdict ----


def verdict_from_data(
    model: Generative, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> Verdict:
    """The mean loss of the rows one by one, how well the public numbers solve their equations, and the gap."""
    joint = np.asarray(model.predict_joint_log_proba(X), dtype=np.float64)
    classes, codes = read_some_labels(y, len(joint), model.classes_)
    codes = np.append(places_of(classes, model.classes_), -1)[codes]
    given = model._class_weighted(read_weights(sample_weight, len(codes)), codes, model.classes_, False)
    weight = np.ones(len(codes)) if given is None else given
    free, seen = codes < 0, weight > 0
    value = float(np.average(model._losses(X, joint, codes)[seen], weights=weight[seen]))
    R = (codes[:, None] == np.arange(joint.shape[1])).astype(np.float64)
    if free.any():
        R[free] = softmax(Watch(model._now()._log_prior).settled(joint[free]))
    rows = LabelledRows(model, X, R * weight[:, None])
    wanted = model._priors(rows.weight)
    shares = share_equations(np.exp(model._public_log_prior()), wanted * rows.total, 0.0, rows.total)
    found = replace(shares, loss=0.0) + model._equations(rows)
    loss = model._objective(found.loss, rows.weight, wanted)
    claimed, scale = model.verdict_, max(1.0, abs(value)) if np.isfinite(value) else 1.0
    direct = claimed.status == "closed form"
    if direct:
        tolerance = SINGLE if model._single else TOLERANCE
        same = found.residual <= tolerance and found.gap <= model._tolerance * scale
        same = same and not abs(loss - value) > tolerance * scale
    else:  # EM stops when its loss, the smoothing's included, falls by less than em_tol: parameters move by its root
        told = value - model._log_prior_density() / rows.total
        same = (
            abs(told - claimed.objective) <= TOLERANCE * scale and found.gap <= np.sqrt(model.em_tol) * scale
        )
    status: Status = claimed.status if same else "not converged"
    words = f"moment residual {found.residual:.1e}"
    if direct and np.isfinite(loss):
        words += f": at the moments the mean loss is {loss:.10g}"
    return proven(
        model, scale=claimed.scale, objective=value,
        gap=max(found.gap, ROUNDING * abs(value)) if direct else np.inf, tol=claimed.tol,
        unique=True if status == "closed form" else None, sweeps=3.0, stopped_by=VERIFIED,
        findings=(words, *claimed.findings[1:]), status=status,
    )  # fmt: skip
