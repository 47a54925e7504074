"""The likelihood penalised by Jeffreys' prior (Firth 1993; Heinze & Schemper 2002): finite where classes separate.

    F(θ) = (1/W) [ Σ_i s_i ℓ(η_i, y_i) − ½ log|I(θ)| ],      I(θ) = Σ_i s_i w_i z_i z_iᵀ,   w_i = E ℓ''(η_i)

On separated data the likelihood falls towards its infimum at infinity, but there w → 0 and −½ log|I| → ∞: a minimum
exists whenever the columns are independent. Under the canonical link it is also the estimate whose bias of order 1/n
is removed. With v_i = z_iᵀ I⁻¹ z_i (so that s_i w_i v_i is the leverage) and a_i = I^{−1/2} z_i,

    ∇ ½ log|I|  = ½ Σ_i s_i w'_i v_i z_i
    ∇² ½ log|I| = ½ Σ_i s_i w''_i v_i z_i z_iᵀ − ½ C Cᵀ,       C = Σ_i s_i w'_i z_i (a_i ⊗ a_i)ᵀ

    binomial      w = u f,  w' = u'f + uf',  u = μ'/μ,  f = μ'/(1 − μ)   (logit, probit, cloglog; nothing cancels)
    Poisson, log  w = w' = w'' = μ
    K classes     w is V = diag(P) − PPᵀ and v the matrix B of the heads; with d_k = (e_k − P)ᵀB(e_k − P),
                  ∂ tr(VB)/∂η = g,  g_k = P_k (d_k − Σ_l P_l d_l);   ∂²/∂η² = Σ_k g_k (e_k − P)(e_k − P)ᵀ − 2VBV

Notes [6867] 3.2.2 (what separable data do to the weights), 3.2.3; rows D7, D8. Shapes as in problems/objective.py.
Cost: two sweeps of O(nQ²), Q parameters, at either order: the gradient needs I first. C adds O(nQ³) to the Hessian
and is taken where that is little (EXACT). Elsewhere its bound CCᵀ ⪯ Σ_i s_i w'_i²/w_i v_i z_i z_iᵀ stands for it
(each row's leverages with all others add up to its own): a Hessian no smaller than F's, so that steps are never too
long, and nearly F's own, for where rows are many leverages are small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from separatrix.core.links import LINKS, Link
from separatrix.core.losses import Logistic, Loss, Multinomial
from separatrix.core.numerics import EPS, FloatArray, softmax
from separatrix.core.responses import Binomial, GlmLoss, Poisson
from separatrix.core.statistic import Statistic
from separatrix.data.engine import sweep
from separatrix.data.rows import Block
from separatrix.problems.blocks import SweepTask
from separatrix.problems.objective import Evaluation, Memo, Objective

BINOMIAL_LINKS = ("logit", "probit", "cloglog")
EXACT = 1e8  # products nQ³ up to which a sweep also takes C: less than a tenth of a second
Corner = tuple[np.ndarray, np.ndarray]
LEAST_CURVATURE = 1 / 16  # against I: where F bends less, or downwards, a step is at most this much longer


@dataclass(frozen=True)
class FirthObjective(Objective):
    """(1/W) [Σ s ℓ − ½ log|I|] over given rows, without a ridge. Notes [6867] 3.2.2, 3.2.3; rows D7, D8.

    I is in the user's units, whatever the coordinates: z = Tᵀx and log|I_x| = log|I_z| − 2 log|det T|. Directions
    the coordinates leave out (constant columns, aliased ones) are left out of the determinant; K classes count in
    their K−1 orthonormal contrasts, which against a reference class adds q log K. A column in a unit c times smaller
    adds −log c/W to F, once a head, and moves no minimum. Where I is singular to rounding F is +inf.

    No curvature bound is proven of it (``proven``). Cost: two sweeps, O(nQ²), an evaluation; see the module.

    >>> from separatrix.problems.coordinates import Coordinates
    >>> from separatrix.data.rows import Rows
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])  # separated at 0
    >>> F = FirthObjective(Rows.of(X, y), Logistic(), 0.0, True, Coordinates.identity(1))
    >>> theta = F.zero()
    >>> for _ in range(8):
    ...     at = F.evaluate(theta, order=2)
    ...     theta = theta - np.linalg.solve(at.hessian, at.gradient)
    >>> print(theta.round(4), np.abs(at.gradient).max() < 1e-12)
    [ 0.7879 -0.1723] True
    """

    proven: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.ridge != 0:
            raise ValueError(f"Jeffreys' prior takes the place of a ridge: give ridge 0, not {self.ridge}")
        _refuse_loss(self.loss)

    @cached_property
    def _log_det(self) -> float:
        """log|det T| of the way back, w = scale · (B t) and b = lift · θ_b − …, over the directions kept."""
        c = self.coordinates
        if c.basis is None:
            size = float(np.log(c.scale[c.scale > 0]).sum())
        else:
            r = np.linalg.qr(c.scale[:, None] * c.basis, mode="r")
            size = float(np.log(np.abs(np.diag(r))).sum())
        return self._heads * (size + (math.log(c.lift) if self.fit_intercept else 0.0))

    @property
    def _heads(self) -> int:
        return 1 if self.n_classes is None else self.n_classes - 1

    @property
    def n_directions(self) -> int:
        """Over how many directions the determinant goes."""
        c = self.coordinates
        live = c.size if c.basis is not None else np.count_nonzero(c.scale)
        return self._heads * (int(live) + int(self.fit_intercept))

    def evaluate(
        self,
        theta: FloatArray,
        order: int = 1,
        stride: int = 1,
        since: FloatArray | None = None,
        radius: bool = False,
        memo: Memo | None = None,
    ) -> Evaluation:
        """F and its derivatives up to ``order`` at θ, by two sweeps over all rows.

        The Hessian is F's own, or its upper bound (see the module), its eigenvalues against I/W raised to
        LEAST_CURVATURE; :meth:`information` gives I/W itself. ``since`` measures no drift here, for no bound would
        use it; the radius comes with every evaluation.
        """
        if stride != 1:
            raise ValueError(
                f"a sample says nothing of a determinant: evaluate every tile (stride 1, not {stride})"
            )
        at = super().evaluate(theta, 2, memo=memo)
        root = _root(at.hessian) if math.isfinite(at.value) else None
        if root is None:
            nowhere = np.full(self.shape, np.nan)
            return replace(at, value=math.inf, gradient=nowhere, hessian=at.hessian if order == 2 else None)
        W, size = self.total_weight, float(len(root))
        log_det = 2 * float(np.log(np.diag(root)).sum()) + self.n_directions * math.log(W) - 2 * self._log_det
        exact = order == 2 and self.rows.n * (self.n_classes or 1) * size**3 <= EXACT
        task = self.task(*self.split(theta), order=2)
        total, _ = sweep(correct_block, self.rows, WhitenedTask(task, _inverse(root).T, W, order, exact))
        correction = (root @ total.gradient).reshape(theta.shape[::-1]).T
        return replace(
            at,
            value=at.value - 0.5 * log_det / W,
            gradient=at.gradient - correction / W,
            hessian=self._hessian(root, total) if order == 2 else None,
        )

    def information(self, theta: FloatArray) -> FloatArray:
        """I(θ)/W (Q, Q) in the inner coordinates, class by class: what standard errors are made of; one sweep.

        A column of scale 0 has a one on the diagonal, as in :meth:`Objective.evaluate`.
        """
        hessian = super().evaluate(theta, 2).hessian
        assert hessian is not None
        return hessian

    def settle_intercept(self, theta: FloatArray, steps: int = 6) -> FloatArray:
        raise NotImplementedError(
            "log|I| ties the intercept to the weights, so it is not settled alone: minimise with Newton"
        )

    def task(
        self, t: FloatArray, b: FloatArray, order: int = 1, stride: int = 1, want_radius: bool = False
    ) -> SweepTask:
        """Tiles in inner coordinates: a determinant feels the digits that centring sums of raw cells would lose."""
        return replace(super().task(t, b, order, stride, want_radius), inner=True)

    def _hessian(self, root: FloatArray, total: Correction) -> FloatArray:
        """∇²F from its parts in the coordinates where I/W is the identity; positive definite."""
        assert total.bend is not None
        W = self.total_weight
        inside = np.eye(len(root)) + total.bend / W
        if total.skew is not None:
            inside += 0.5 * (total.skew @ total.skew.T) / W**3
        values, vectors = np.linalg.eigh(inside)
        turned = root @ vectors
        hessian: FloatArray = (turned * np.maximum(values, LEAST_CURVATURE)) @ turned.T
        return hessian


@dataclass(frozen=True)
class WhitenedTask:
    """What the second sweep knows: θ, and the (Q, Q) that takes rows to a = L⁻¹z, where LLᵀ = I/W."""

    task: SweepTask
    whiten: FloatArray
    weight: float
    order: int
    exact: bool


@dataclass(frozen=True, eq=False)
class Correction(Statistic):
    """Sums over some rows, in whitened coordinates: ½ Σ s w' v a, Σ s (ℓ'' − w − ½ w'' v) a aᵀ, Σ s w' a (a ⊗ a)ᵀ.

    Without the last, the second has its bound in it: (log w)'' w in place of w''.
    """

    gradient: FloatArray
    bend: FloatArray | None = None
    skew: FloatArray | None = None

    def __add__(self, other: Correction) -> Correction:
        bend = None if self.bend is None or other.bend is None else self.bend + other.bend
        skew = None if self.skew is None or other.skew is None else self.skew + other.skew
        return Correction(self.gradient + other.gradient, bend, skew)


def correct_block(block: Block, params: WhitenedTask, memo: None) -> tuple[Correction, None]:
    """The sums of :class:`Correction` over a block, by dense tiles in inner coordinates."""
    task, size = params.task, len(params.whiten)
    corner = np.tril_indices(size) if params.exact else None
    total: Correction | None = None
    parts = 1 if task.class_basis is None else len(task.class_basis)
    for part in block.tiles(parts * (size if corner is None else len(corner[0]))):
        z = task.cells(block.dense(part))
        eta = task.spread(np.dot(z, task.factor) + task.offset)
        if task.fit_intercept:
            z = np.column_stack([z, np.full(len(z), task.coordinates.lift)])
        s = np.ones(len(z)) if block.weight is None else block.weight[part]
        with np.errstate(all="ignore"):
            sums = _one_head if task.class_basis is None else _heads
            new = sums(params, z, eta, block.y[part], s, corner)
        total = new if total is None else total + new
    assert total is not None
    return total, None


def _one_head(
    params: WhitenedTask, z: FloatArray, eta: FloatArray, y: FloatArray, s: FloatArray, corner: Corner | None
) -> Correction:
    a = np.dot(z, params.whiten)
    v = np.einsum("ij,ij->i", a, a) / params.weight
    w, first, second = bends(params.task.loss, eta, y)
    gradient = 0.5 * np.dot(s * first * v, a)
    if params.order < 2:
        return Correction(gradient)
    if corner is None:
        second = np.where(w > 0, second - first * (first / w), 0.0)
    inner = s * (_observed(params.task.loss, eta, y, w) - 0.5 * second * v)
    bend = np.dot(a.T * inner, a)
    return Correction(gradient, bend, None if corner is None else _skew(a, s * first, corner))


def _heads(
    params: WhitenedTask, z: FloatArray, eta: FloatArray, y: FloatArray, s: FloatArray, corner: Corner | None
) -> Correction:
    """K classes: a row has K parts α_k = Σ_h (Qᵀ(e_k − P))_h a_h of weight P_k, and d_k = ‖α_k‖²/W."""
    basis = params.task.class_basis
    assert basis is not None
    (n, q), (k, heads) = z.shape, basis.shape
    a = np.stack([np.dot(z, params.whiten[h * q : (h + 1) * q]) for h in range(heads)], axis=1)
    p, apart = _apart(eta)
    e = apart @ basis  # (n, K, K−1)
    alpha = np.matmul(e, a)
    d = np.einsum("nkj,nkj->nk", alpha, alpha) / params.weight
    mean = np.einsum("nk,nk->n", p, d)[:, None]
    gradient = 0.5 * np.dot((s[:, None] * p * (d - mean)).ravel(), alpha.reshape(n * k, -1))
    if params.order < 2:
        return Correction(gradient)
    weighted = (p[:, :, None] * e).transpose(0, 2, 1)
    va = np.matmul(weighted, alpha)  # V = Σ_k P_k e_k e_kᵀ, and VBV = (Va)(Va)ᵀ/W
    # Σ_k g_k e_k e_kᵀ − 2VBV; C is of n·K rows √P_k α_k, and its bound takes P_k d_k from g_k, to leave −d̄ P_k
    shares = weighted * (d - mean)[:, None, :] if corner is not None else -weighted * mean[:, None, :]
    second = np.matmul(shares, e) - 2 * np.matmul(va, va.transpose(0, 2, 1)) / params.weight
    turned = np.matmul((-0.5 * s)[:, None, None] * second, a)
    bend = np.dot(a.reshape(n * heads, -1).T, turned.reshape(n * heads, -1))
    if corner is None:
        return Correction(gradient, bend)
    return Correction(gradient, bend, _skew(alpha.reshape(n * k, -1), (s[:, None] * p).ravel(), corner))


def _skew(a: FloatArray, weight: FloatArray, corner: Corner) -> FloatArray:
    """Σ weight · a (a ⊗ a)ᵀ over the pairs below the diagonal, each of which stands for two."""
    i, j = corner
    pairs = a[:, i] * a[:, j]
    pairs *= np.where(i == j, 1.0, math.sqrt(2.0))
    return np.dot(a.T * weight, pairs)


def _apart(eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P (n, K) and e_k − P (n, K, K), in which 1 − P_k is the sum of the others: as P_k → 1 it keeps its digits."""
    p = softmax(eta)
    k = p.shape[1]
    apart = np.repeat(-p[:, None, :], k, axis=1)
    others = p @ (1.0 - np.eye(k))
    apart[:, np.arange(k), np.arange(k)] = others
    return p, apart


def bends(loss: Loss, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """w(η) = E ℓ'', w' and w'', (n,) each; an offset in y is added to η. O(n).

    With ρ = μ''/μ':  u' = u(ρ − u),  f' = f(ρ + f),  so that (log w)'' = 2ρ' + f' − u'.

    >>> w, first, second = bends(Logistic(), np.array([0.0, 800.0]), np.ones(2))
    >>> print(w, first, second)
    [0.25 0.  ] [0. 0.] [-0.125 0. ]
    """
    if isinstance(loss, GlmLoss) and y.ndim == 2:
        eta = eta + y[:, 1]
    with np.errstate(all="ignore"):
        if isinstance(loss, GlmLoss) and isinstance(loss.response, Poisson):
            w = np.exp(eta)
            return w, w, w
        link = loss.link if isinstance(loss, GlmLoss) else LINKS["logit"]
        (u, du), (f, df) = link.growth(eta), link.fall(eta)
        w = u * f
        live = (w > 0) & np.isfinite(w)  # else underflown, and its derivatives with it
        w, first = np.where(live, w, 0.0), np.where(live, du * f + u * df, 0.0)
        second = np.where(live, first * (first / w) + w * (2 * _turn(link, eta, w) + df - du), 0.0)
    return w, first, second


def _turn(link: Link, eta: FloatArray, w: FloatArray) -> FloatArray:
    """ρ' = d(μ''/μ')/dη: −2w (logit), −1 (probit), −e^η (cloglog)."""
    match link.name:
        case "logit":
            return -2.0 * w
        case "probit":
            return np.full_like(eta, -1.0)
    return -np.exp(eta)


def _observed(loss: Loss, eta: FloatArray, y: FloatArray, w: FloatArray) -> FloatArray:
    """ℓ'' − w: what the expectation leaves out, zero under the canonical link."""
    if not isinstance(loss, GlmLoss) or loss.canonical:
        return np.zeros_like(w)
    return replace(loss, observed=True).derivatives(eta, y)[2] - w


def _refuse_loss(loss: Loss) -> None:
    if isinstance(loss, (Logistic, Multinomial)):
        return
    if not isinstance(loss, GlmLoss):
        raise ValueError(
            f"Jeffreys' prior is offered for binomial, multinomial and Poisson likelihoods, not the {loss.name} loss"
        )
    match loss.response, loss.link.name:
        case (Binomial(), name) if name in BINOMIAL_LINKS:
            pass
        case (Poisson(), "log"):
            pass
        case _:
            raise ValueError(
                f"Jeffreys' prior is not offered for the {loss.response.name} response under the {loss.link.name} "
                f"link: use binomial with {', '.join(BINOMIAL_LINKS)}, or poisson with log"
            )
    if loss.observed and not loss.canonical:
        raise ValueError("the determinant is of the expected information: give GlmLoss(…, observed=False)")


def _root(information: FloatArray | None) -> FloatArray | None:
    """L with LLᵀ = I, or None where I is singular to rounding (or not finite)."""
    from scipy.linalg import lapack

    assert information is not None
    if not np.isfinite(information).all():
        return None
    chol, info = lapack.dpotrf(information, lower=1, clean=1)
    if info != 0:
        return None
    # a pivot is the part of a column the others do not explain: below rounding there is none
    left = np.diag(chol) ** 2 / np.diag(information)
    return chol if left.min(initial=1.0) > 4 * EPS * len(chol) else None


def _inverse(root: FloatArray) -> FloatArray:
    from scipy.linalg import lapack

    inverse, _ = lapack.dtrtri(root, lower=1)
    return inverse
