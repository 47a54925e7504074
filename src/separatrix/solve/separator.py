"""A separating hyperplane without the perceptron: by linear programme, or the one of largest margin.

    linear programme   max t   subject to   y_i (w·x_i + b) ≥ t,  |w_j| ≤ 1            ([6321] "Perceptron summary")
    maximum margin     max γ   subject to   w·z_i ≥ γ, ‖w‖ ≤ 1   =   min ‖Σ a_i z_i‖,  a ≥ 0, Σ a_i = 1
    neither            Σ a_i y_i (x_i, 1) = 0 with such weights a: no hyperplane separates (Gordan)

The second is the point of the hull of z_i nearest the origin (Wolfe 1976). z_i = y_i (x_i, 1) for the perceptron,
whose intercept is a weight like the others; x_i − x_j over the pairs of two classes for the largest margin of the
notes ([6867] 5.2), whose intercept is free. Any w with all margins positive bounds γ from below, any hull point from
above.

Cost: the programme a few O(np²) steps of HiGHS; Wolfe O(np) a step, about as many steps as rows touch the margin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from separatrix.core.linear import LinearRule
from separatrix.core.numerics import FloatArray
from separatrix.data.checks import check_known
from separatrix.data.door import finite_moments, read_labels, read_table
from separatrix.data.engine import one_blas_thread
from separatrix.data.rows import Rows
from separatrix.verdict import proof
from separatrix.verdict.axes import CodedTable
from separatrix.verdict.facial import Undecided, decide, effort
from separatrix.verdict.separability import QUICK, Door

TINY = 1e-13  # a hull point this short against its corners is the origin
CLOSE = 1e-9  # relative width of the bracket around γ at which it is known
SAMPLE = 10  # rows for each weight among which a contradiction is looked for
ALL_CELLS = 20_000_000  # cells up to which all rows are asked when a sample does not settle it

Name = TypeVar("Name")  # how a corner of a hull is called: its row, or the two of a pair


@dataclass(frozen=True, eq=False)
class Contradiction:
    """a ≥ 0, Σ a_i = 1, Σ a_i y_i (x_i, 1) = 0: whatever w and b, some y_i (w·x_i + b) is not positive (Gordan).

    ``weights`` (n,); ``residual`` is how far from zero the sum is, relative to its terms.

    >>> X, sign = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, 1, -1, 1])
    >>> found = contradiction_among(X, sign, True)
    >>> found.check(X, sign), round(float(found.weights.sum()), 12)
    (True, 1.0)
    """

    weights: FloatArray
    residual: float
    fit_intercept: bool = True

    def check(self, X: Any, sign: np.ndarray) -> bool:
        """Whether the proof holds for rows X (n, p) with signs ±1, from the data alone."""
        codes = (np.asarray(sign) > 0).astype(np.intp)
        with one_blas_thread():  # many small products: a second thread costs more than it brings
            return proof.check_weights(
                X, codes, _spread(self.weights, codes), fit_intercept=self.fit_intercept, spanning=False
            )

    def sentence(self) -> str:
        rows = int(np.count_nonzero(self.weights))
        return (
            f"no hyperplane separates the classes (proof: {rows} rows with convex weights cancel, "
            f"residual {self.residual:.0e})"
        )


def _spread(weights: FloatArray, codes: np.ndarray) -> FloatArray:
    spread = np.zeros((len(weights), 2))
    spread[np.arange(len(weights)), 1 - codes] = weights
    return spread


def contradiction_of(
    weights: FloatArray, X: Any, sign: np.ndarray, fit_intercept: bool
) -> Contradiction | None:
    """The proof these weights make, None where it does not stand up to the check."""
    total = float(weights.sum())
    if not 0 < total < np.inf:
        return None
    codes = (np.asarray(sign) > 0).astype(np.intp)
    carrying = np.flatnonzero(weights)  # the others say nothing: only these rows are looked at
    part, some, a = X[carrying], codes[carrying], weights[carrying] / total
    with one_blas_thread():
        residual = proof.combination(part, some, _spread(a, some), fit_intercept=fit_intercept)
    found = Contradiction(a, residual, fit_intercept)
    if not found.check(part, sign[carrying]):
        return None
    full = np.zeros(len(codes))
    full[carrying] = a
    return Contradiction(full, residual, fit_intercept)


def contradiction_among(
    X: Any, sign: np.ndarray, fit_intercept: bool, hard: np.ndarray | None = None
) -> Contradiction | bool | None:
    """A proof that no hyperplane separates the rows; False: one does; None: not settled at a reasonable cost.

    Rows that contradict each other do so in any company: a sample is asked first, of the rows with the largest
    ``hard`` in each class (for a perceptron, its updates), then all rows where they are not too many.
    """
    n, p = X.shape
    size = max(128, SAMPLE * (p + 1) // 2)
    picks = [np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)]
    if not all(map(len, picks)):
        return None
    if n > 4 * size:
        if hard is not None:
            candidates = [rows[:: max(1, len(rows) // (50 * size))] for rows in picks]
            picks = [rows[_largest(hard[rows], size)] for rows in candidates]
        sample = np.sort(np.concatenate([rows[:size] for rows in picks]))
        answer = _decided(X[sample], sign[sample], fit_intercept)
        if isinstance(answer, Contradiction):
            weights = np.zeros(n)
            weights[sample] = answer.weights
            return Contradiction(weights, answer.residual, fit_intercept)
    cells = n * p if isinstance(X, np.ndarray) else X.nnz
    return _decided(X, sign, fit_intercept) if cells <= ALL_CELLS else None


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Places of the largest values, the earlier first among equals."""
    if len(values) <= count:
        return np.arange(len(values))
    least = np.partition(values, len(values) - count)[len(values) - count]
    above = np.flatnonzero(values > least)
    return np.concatenate([above, np.flatnonzero(values == least)[: count - len(above)]])


def _decided(X: Any, sign: np.ndarray, fit_intercept: bool) -> Contradiction | bool | None:
    codes = (sign > 0).astype(np.intp)
    table = CodedTable(X, codes, 2, fit_intercept)
    if effort(table) > QUICK:
        return None
    try:
        with one_blas_thread():
            found = decide(table, Rows.of(X, codes).moments())
    except (Undecided, np.linalg.LinAlgError):
        return None
    if found.kind == "complete":
        assert found.coef is not None
        return False if proof.check_direction(X, codes, found.coef, found.intercept, strict=True) else None
    assert found.weights is not None
    weights = np.zeros(len(codes))
    weights[found.pick] = found.weights.sum(axis=1)
    return contradiction_of(weights, X, sign, fit_intercept)


@dataclass(frozen=True, eq=False)
class Margin:
    """low ≤ γ ≤ high for the largest margin γ; ``direction`` is a unit vector that has margin ``low``,
    ``weights`` the convex weights of the hull point whose length is ``high`` (for pairs, Σ over each class)."""

    direction: FloatArray
    low: float
    high: float
    weights: FloatArray


def maximum_margin(Z: FloatArray, *, most: int = 10_000, close: float = CLOSE) -> Margin:
    """max_{‖w‖ ≤ 1} min_i w·z_i by the point of the hull of Z (n, q) nearest the origin (Wolfe's algorithm).

    ``most`` steps, each O(nq); the bracket is honest after any number of them, and low ≤ 0 where nothing separates.

    >>> found = maximum_margin(np.array([[2.0, 1.0], [2.0, -1.0], [5.0, 0.0]]))
    >>> found.direction.round(9), round(found.low, 9), round(found.high, 9)
    (array([1., 0.]), 2.0, 2.0)
    """
    size = float(np.sqrt(np.einsum("ij,ij->i", Z, Z).max(initial=0.0)))
    first = int(np.einsum("ij,ij->i", Z, Z).argmin())

    def furthest(x: FloatArray) -> tuple[FloatArray, int, float]:
        along = Z @ x
        i = int(along.argmin())
        return Z[i], i, float(along[i])

    point, low, direction, corral, weights = _nearest(furthest, (Z[first], first), size, most, close)
    spread = np.zeros(len(Z))
    spread[corral] = weights
    return Margin(direction, low, float(np.linalg.norm(point)), spread)


def maximum_margin_rule(
    X: FloatArray, sign: np.ndarray, *, most: int = 10_000, close: float = CLOSE
) -> tuple[LinearRule, Margin]:
    """(LinearRule, Margin) of the widest street between two classes, y_i (w·x_i + b) ≥ γ, ‖w‖ = 1, b free.

    Half the distance of the classes' hulls ([6867] 5.2): Wolfe's algorithm on the differences of pairs, which are
    never formed. The rule is scaled as in the notes: functional margin 1 on the street's edges.
    """
    plus, minus = np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
    P, M = X[plus], X[minus]
    centre = X.mean(axis=0)
    P, M = P - centre, M - centre
    size = 2.0 * float(np.sqrt(max(np.einsum("ij,ij->i", A, A).max() for A in (P, M))))

    def furthest(x: FloatArray) -> tuple[FloatArray, tuple[int, int], float]:
        up, down = P @ x, M @ x
        i, j = int(up.argmin()), int(down.argmax())
        return P[i] - M[j], (i, j), float(up[i] - down[j])

    start = furthest(P.mean(axis=0) - M.mean(axis=0))
    point, _, direction, corral, weights = _nearest(furthest, (start[0], start[1]), size, most, close)
    spread = np.zeros(len(X))
    for (i, j), a in zip(corral, weights, strict=True):
        spread[plus[i]] += a
        spread[minus[j]] += a
    up, down = float((P @ direction).min()), float((M @ direction).max())
    half = 0.5 * (up - down)
    coef = direction / half if half > 0 else direction
    middle = 0.5 * (up + down) + float(centre @ direction)
    rule = LinearRule(coef, -middle / half if half > 0 else -middle)
    return rule, Margin(direction, half, 0.5 * float(np.linalg.norm(point)), spread)


def _nearest(
    furthest: Callable[[FloatArray], tuple[FloatArray, Name, float]],
    start: tuple[FloatArray, Name],
    size: float,
    most: int,
    close: float,
) -> tuple[FloatArray, float, FloatArray, list[Name], FloatArray]:
    """Wolfe's major and minor cycles: a corral of corners whose hull holds its own nearest point."""
    corners, names = start[0][None].astype(float), [start[1]]
    weights: FloatArray = np.ones(1)
    x = corners[0]
    best, direction, length = -np.inf, np.zeros_like(x), np.inf
    for _ in range(most):
        before, length = length, float(np.linalg.norm(x))
        # every step shortens x, until rounding does not let it
        if length <= TINY * size or not length < before:
            break
        corner, name, along = furthest(x)
        if along / length > best:
            best, direction = along / length, x / length
        if along >= length * length * (1 - close) or name in names:
            break
        corners, names = np.vstack([corners, corner]), [*names, name]
        weights = np.append(weights, 0.0)
        while True:
            aim = _affine(corners)
            if (aim > 1e-14).all():
                weights = aim
                break
            falling = aim <= 1e-14
            rate = weights[falling] / np.maximum(weights[falling] - aim[falling], 1e-300)
            weights = weights + min(1.0, float(rate.min())) * (aim - weights)
            keep = weights > 1e-14
            keep[np.flatnonzero(falling)[int(rate.argmin())]] = False
            corners, weights = corners[keep], weights[keep] / weights[keep].sum()
            names = [name for name, stays in zip(names, keep, strict=True) if stays]
        x = weights @ corners
    return x, best if best > -np.inf else 0.0, direction, names, weights


def _affine(corners: FloatArray) -> FloatArray:
    """Weights, Σ = 1 and of any sign, of the point nearest the origin in the flat through the corners."""
    if len(corners) == 1:
        return np.ones(1)
    sides = (corners[1:] - corners[0]).T
    rest = np.linalg.lstsq(sides, -corners[0], rcond=1e-14)[0]
    return np.append(1.0 - rest.sum(), rest)


@dataclass(frozen=True, eq=False)
class LinearSeparator:
    """What :func:`linear_separator` found: ``rule`` and its geometric ``margin``, or the ``contradiction``."""

    rule: LinearRule | None
    margin: float
    contradiction: Contradiction | None

    @property
    def separable(self) -> bool:
        return self.rule is not None


def linear_separator(X: Any, y: Any, *, method: str = "lp", fit_intercept: bool = True) -> LinearSeparator:
    """max t with y_i (w·x_i + b) ≥ t, |w_j| ≤ 1: a hyperplane between two classes, or the proof that there is none.

    The linear-programme alternative to the perceptron ([6321] "Perceptron summary"). ``method="margin"`` gives the
    one of largest geometric margin instead ([6867] 5.2). The answer is checked in both cases before it is given;
    where rounding hides it, an ``ArithmeticError`` says so. Cost: see the module.

    Parameters
    ----------
    X : (n, p), dense or sparse (made dense), or a frame
    y : (n,) labels of two classes
    method : "lp" or "margin"
    fit_intercept : whether the hyperplane may leave the origin

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 0.0]])
    >>> found = linear_separator(X, [0, 0, 1, 1], method="margin")
    >>> found.separable, round(found.margin, 4)
    (True, 1.118)
    >>> linear_separator(X, [0, 1, 0, 1]).separable
    True
    >>> linear_separator(X[:, :1], [0, 1, 0, 1]).contradiction.weights.round(2)
    array([0.  , 0.17, 0.5 , 0.33])
    """
    check_known("method", method, "lp", "margin")
    X = read_table(Door(), X, reset=True)
    classes, codes = read_labels(y, X.shape[0])
    if len(classes) != 2:
        raise ValueError(
            f"linear_separator is between two classes, y has {len(classes)}: take one against the others"
        )
    rows = Rows.of(X, codes)
    finite_moments(Door(), rows)
    cells = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    sign = np.where(codes == 1, 1, -1).astype(np.int8)
    with one_blas_thread():
        if method == "lp":
            coef, intercept, weights = _programme(cells, sign, fit_intercept)
        else:
            coef, intercept, weights = _widest(cells, sign, fit_intercept)
        if np.isfinite(coef).all() and proof.check_direction(
            cells, codes, np.vstack([0 * coef, coef]), np.array([0.0, intercept]), strict=True
        ):
            rule = LinearRule(coef, intercept)
            return LinearSeparator(rule, rule.margin(cells, sign.astype(float)), None)
        found = contradiction_of(weights, cells, sign, fit_intercept)
        if found is None:
            answer = contradiction_among(cells, sign, fit_intercept)
            found = answer if isinstance(answer, Contradiction) else None
    if found is None:
        raise ArithmeticError(
            "linear_separator: the gap between the classes is as small as rounding; scale the columns, or ask "
            "separability(X, y)"
        )
    return LinearSeparator(None, 0.0, found)


def _programme(X: FloatArray, sign: np.ndarray, fit_intercept: bool) -> tuple[FloatArray, float, FloatArray]:
    """(w, b, dual weights) of max t, in columns of size one so that the box treats them alike."""
    from scipy.optimize import linprog

    n, p = X.shape
    centre = X.mean(axis=0) if fit_intercept else np.zeros(p)
    spread = np.abs(X - centre).max(axis=0)
    scale = np.divide(1.0, spread, out=np.zeros(p), where=spread > 0)
    Z = sign[:, None] * (X - centre) * scale
    system = np.column_stack([-Z, -sign.astype(float) * fit_intercept, np.ones(n)])
    cost = np.zeros(p + 2)
    cost[-1] = -1.0
    box = [(-1.0, 1.0)] * p + [(None, None) if fit_intercept else (0.0, 0.0), (None, None)]
    answer = linprog(cost, A_ub=system, b_ub=np.zeros(n), bounds=box, method="highs")
    if answer.x is None:
        return np.full(p, np.nan), np.nan, np.zeros(n)
    w = answer.x[:p] * scale
    weights = np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0)
    return w, float(answer.x[p] - centre @ w), weights


def _widest(X: FloatArray, sign: np.ndarray, fit_intercept: bool) -> tuple[FloatArray, float, FloatArray]:
    if fit_intercept:
        rule, found = maximum_margin_rule(X, sign)
        return rule.coef, float(rule.intercept), found.weights
    found = maximum_margin(sign[:, None] * X)
    return found.direction / max(found.low, 1e-300), 0.0, found.weights
