"""The plane a picture of many columns shows, and the way from it back to rows:  x = μ + s ∘ (B u),  u = Bᵀ(x − μ)/s.

    pair    two columns as they are; the others are held at their median or most frequent cell
    pca     B: first two principal directions of the standardised columns Z
    lda     B: first two discriminant directions, made orthogonal; with two classes the second is the widest direction
            across the first

Of more columns than rows all is done in the span of the rows, Z = (ZV)Vᵀ with V = Zᵀ U S⁻¹ from Z Zᵀ = U S² Uᵀ:
nothing (p, p) is formed. Notes [6867] 3.1.1 (discriminants); row V4. B is (p, 2) with BᵀB = I. Cost O(np²) and
O(p³), or O(n²p) for p > n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from separatrix.core.numerics import FloatArray
from separatrix.show.reading import ShownTable


@dataclass(frozen=True, eq=False)
class Plane:
    """Points (n, 2) of the rows, ``back`` from points (m, 2) to rows, labels of the axes, and what to say."""

    points: FloatArray
    back: Callable[[FloatArray], Any]
    labels: tuple[str, str]
    caption: str = ""
    strip: bool = False
    off: FloatArray | None = None  # distance of each row from the plane, in standard deviations

    @property
    def projected(self) -> bool:
        """Whether the axes are directions, not columns."""
        return self.off is not None


def find_plane(table: ShownTable, columns: Any, codes: np.ndarray | None) -> Plane:
    """The plane asked for: None (one or two columns as they are, else "pca"), a pair, "pca" or "lda"."""
    if columns is None:
        columns = (0, 1) if table.p == 2 else (0,) if table.p == 1 else "pca"
    if isinstance(columns, str):
        if columns not in ("pca", "lda"):
            raise ValueError(f'columns {columns!r} is unknown: give a pair of columns, "pca" or "lda"')
        if table.p < 2:
            raise ValueError(f'columns="{columns}" needs two columns or more, X has one: leave columns out')
        return _projected(table, columns, codes)
    chosen = [table.place(c) for c in ([columns] if np.isscalar(columns) else columns)]
    if len(chosen) not in (1, 2) or len(set(chosen)) < len(chosen):
        raise ValueError(f'columns must be a pair of different columns, "pca" or "lda", got {columns!r}')
    cells = table.numbers(chosen)
    caption = ""
    if len(chosen) < table.p:
        held = [f"{table.names[j]} = {_short(table.base[j])}" for j in range(table.p) if j not in chosen]
        shown = ", ".join(held) if len(held) <= 5 else f"{', '.join(held[:4])} and {len(held) - 4} more"
        caption = "Regions with the other columns held at their median or most frequent value: "
        caption += f"{shown}; rows differ from it."
    names = [table.names[j] for j in chosen]
    strip = len(chosen) == 1
    if strip:
        names, cells = [*names, "class"], np.column_stack([cells, np.zeros(table.n)])

    def back(at: FloatArray) -> Any:
        return table.rows(len(at), {j: at[:, i] for i, j in enumerate(chosen)})

    return Plane(cells, back, (names[0], names[1]), caption, strip)


def _projected(table: ShownTable, kind: str, codes: np.ndarray | None) -> Plane:
    cells = table.numbers()
    if np.isnan(cells).any():
        j = int(np.flatnonzero(np.isnan(cells).any(axis=0))[0])
        raise ValueError(
            f"column {table.names[j]!r} has missing cells, which no projection has a place for: fill them, or choose "
            "a pair of columns"
        )
    mean, scale = cells.mean(axis=0), cells.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    z = (cells - mean) / scale
    if kind == "pca":
        near, span = in_span(z)
        _, size, right = np.linalg.svd(near, full_matrices=False)
        basis = _out_of_span(right[:2].T, span)
        if basis.shape[1] < 2:
            raise ValueError('columns="pca" needs two rows or more')
        share = float((size[:2] ** 2).sum() / max((size**2).sum(), 1e-300))
        labels = ("first principal component", "second principal component")
        words = f"the first two principal components ({100 * share:.0f} % of the spread)"
    else:
        if codes is None:
            raise ValueError('columns="lda" looks for directions between the classes: give y, or use "pca"')
        basis = discriminant_directions(z, codes)
        labels = ("first discriminant direction", "second discriminant direction")
        if len(np.unique(codes)) == 2:
            labels = ("discriminant direction", "widest direction across it")
        words = "the discriminant directions"
    basis = basis * np.where(basis[np.abs(basis).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    points = z @ basis
    off = np.linalg.norm(z - points @ basis.T, axis=1)
    caption = (
        f"Regions are the model's on the plane of {words} of the standardised columns, through their mean; rows are "
        "projected onto it, so one may lie on the other side."
    )
    return Plane(points, lambda at: table.with_cells(mean + scale * (at @ basis.T)), labels, caption, off=off)


def discriminant_directions(z: FloatArray, codes: np.ndarray) -> FloatArray:
    """B (p, 2), orthonormal: directions that part the class means most against the spread within classes.

    >>> z = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])
    >>> np.abs(discriminant_directions(z, np.array([0, 0, 1, 1])))
    array([[1., 0.],
           [0., 1.]])
    """
    z, span = in_span(z)
    present, whole = np.unique(codes), z.mean(axis=0)
    middles = np.array([z[codes == k].mean(axis=0) for k in present])
    rows = z - middles[np.searchsorted(present, codes)]
    many = np.array([np.count_nonzero(codes == k) for k in present])
    apart = np.sqrt(many)[:, None] * (middles - whole)
    least = 1e-9 * max(float(np.vdot(rows, rows) + np.vdot(apart, apart)), 1e-300)
    wanted = min(2, len(present) - 1)
    within = rows.T @ rows + least * np.eye(rows.shape[1])
    _, vectors = scipy.linalg.eigh(apart.T @ apart, within)
    found = np.linalg.qr(vectors[:, ::-1][:, :wanted])[0]
    if found.shape[1] < 2:
        rest = z - z.mean(axis=0)
        rest = rest - rest @ found @ found.T
        across = np.linalg.svd(rest, full_matrices=False)[2][:1].T
        found = np.linalg.qr(np.hstack([found, across]))[0]
    return _out_of_span(found, span)


def in_span(z: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """(rows in coordinates of their span (n, r), V (p, r)) where columns are more than rows; else (z, None).

    >>> z = np.array([[3.0, 0.0, 4.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0]])
    >>> near, span = in_span(z)
    >>> bool(np.allclose(near @ span.T, z)), bool(np.allclose(span.T @ span, np.eye(3)))
    (True, True)
    """
    n, p = z.shape
    if p <= n:
        return z, None
    squares, vectors = np.linalg.eigh(z @ z.T)
    kept = squares > 1e-12 * max(float(squares[-1]), 1e-300)
    if kept.sum() < 2:  # rows that are all alike, or multiples: any two directions through them
        longest = z[[np.einsum("ij,ij->i", z, z).argmax()]]
        span = np.linalg.qr(np.vstack([longest, np.eye(2, p)]).T)[0][:, :2]
        return z @ span, span
    size = np.sqrt(squares[kept])
    span = np.linalg.qr(z.T @ (vectors[:, kept] / size))[0]
    return z @ span, span


def _out_of_span(found: FloatArray, span: FloatArray | None) -> FloatArray:
    return np.asarray(found if span is None else span @ found)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
