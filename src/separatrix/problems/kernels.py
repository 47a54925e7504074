"""Kernel functions k(x, z), by blocks of matrix products on the engine's threads.

    linear   x·z          poly     (γ x·z + r)^d          rbf     exp(−γ‖x − z‖²)
    sigmoid  tanh(γ x·z + r)       precomputed, or any function of two tables

Notes [6867] 5.2.2 (the dual sees rows through x·z alone), [6321] "Kernels". Row M8 of the specification.
A block of kernel values is one matrix product and one pass over it while it is warm; radial rows may be single
precision (from centred cells, with sums kept double elsewhere), all else is double. Cost O(p) a value;
memory: the rows once more (scaled), and some tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.engine import each_in_threads, one_blas_thread
from separatrix.data.objects import Objects
from separatrix.loops import gram as kernel_loops
from separatrix.loops.sparse import scores_k

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
TILE_CELLS = 2**18  # of a tile of many rows
TILE = 512  # columns of a tile: a few hundred rows of it stay in the second-level cache
LANES = 32  # rows of a sparse product taken together
_LOG2E = 1.4426950408889634


@dataclass(frozen=True, eq=False)
class Points:
    """Rows made ready for a kernel: cells (n, p) dense or CSR, and half their squared lengths (radial only)."""

    cells: Any
    half: FloatArray
    index: Index | None = None  # rows of a precomputed matrix

    def __len__(self) -> int:
        return int(self.cells.shape[0]) if self.index is None else len(self.index)

    def take(self, rows: Index | slice) -> Points:
        if self.index is not None:
            return Points(self.cells, self.half, self.index[rows])
        return Points(self.cells[rows], self.half[rows] if len(self.half) else self.half)


@dataclass(frozen=True)
class Kernel:
    """k(x, z) by name or as a function of two tables that returns the matrix of values.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0]])
    >>> Kernel("rbf", gamma=1.0)(X, X).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    kind: str | Callable[..., Any]
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    @property
    def known_definite(self) -> bool:
        """Whether a theorem says that every kernel matrix is positive semidefinite."""
        return self.kind in ("linear", "rbf") or (self.kind == "poly" and self.coef0 >= 0)

    def points(self, X: Any, centre: FloatArray | None = None, single: bool = False) -> Points:
        """Rows ready for this kernel. Radial: shifted by ``centre`` (distances do not change) and scaled."""
        if self.kind == "precomputed":
            return Points(X, np.empty(0), np.arange(X.shape[0]))
        if callable(self.kind):
            return Points(X, np.empty(0))
        dense = isinstance(X, np.ndarray)
        if self.kind != "rbf":
            return Points(_double(X), np.empty(0))
        scale = np.sqrt(2.0 * self.gamma * _LOG2E)
        if dense:
            cells = (X if centre is None else X - centre) * scale
            half = 0.5 * np.einsum("ij,ij->i", cells, cells)
        else:
            cells = _double(X) * scale
            half = 0.5 * np.asarray(cells.multiply(cells).sum(axis=1)).ravel()
        if single and dense:
            return Points(np.ascontiguousarray(cells, np.float32), half.astype(np.float32))
        return Points(np.ascontiguousarray(cells) if dense else cells, half)

    def __call__(self, A: Any, B: Any) -> FloatArray:
        """The matrix of kernel values (a, b) between two tables."""
        centre = centre_of(A) if self.kind == "rbf" and isinstance(B, np.ndarray) else None
        left, right = self.points(A, centre), self.points(B, centre)
        out = np.empty((len(left), len(right)))
        self.fill(left, right, out, np.arange(len(left)))
        return out

    def fill(self, A: Points, B: Points, dest: np.ndarray, slots: Index) -> None:
        """dest[slots_i, j] = k(A_i, B_j); columns go to threads tile by tile on a fixed grid."""
        if len(A) == 0 or len(B) == 0:
            return
        if A.index is not None:
            assert B.index is not None
            kernel_loops.gather(A.cells, A.index, B.index, dest, slots)
            return
        if callable(self.kind):
            dest[slots] = self._called(A.cells, B.cells)
            return
        product = _Products(A)
        parts = spans(len(B), min(TILE, max(128, TILE_CELLS // len(A))))

        def work(span: Sequence[slice]) -> None:
            buffer = product.buffer()
            for part in span:
                self._finish(product(B, part, buffer), A, B, part, dest, slots)

        with one_blas_thread():
            each_in_threads(work, _hands(parts))

    def combine(self, A: Points, B: Points, coef: FloatArray) -> FloatArray:
        """Σ_j k(A_i, B_j) coef_jm: (a, m) from coef (b, m), without the matrix ever being whole."""
        out = np.zeros((len(A), coef.shape[1]))
        if len(A) == 0 or len(B) == 0:
            return out
        if A.index is not None and B.index is not None and 4 * len(B) >= len(A.cells):
            full = np.zeros((len(A.cells), coef.shape[1]))  # zeros cost less than gathering the columns
            full[B.index] = coef
            if 2 * len(A) > len(A.cells):
                return np.asarray((A.cells @ full)[A.index])
            return np.asarray(A.cells.take(A.index, axis=0) @ full)
        if A.index is not None or callable(self.kind):
            step = max(1, 2**22 // len(B))
            for a in range(0, len(A), step):
                block = A.take(slice(a, a + step))
                if A.index is not None:
                    assert block.index is not None and B.index is not None
                    values = np.empty((len(block), len(B)))
                    kernel_loops.gather(A.cells, block.index, B.index, values, np.arange(len(block)))
                    out[a : a + step] = values @ coef
                else:
                    out[a : a + step] = self._called(block.cells, B.cells) @ coef
            return out
        height = 256 if not is_sparse(A.cells) else LANES
        tiles = spans(len(B), TILE)

        own = coef.astype(B.cells.dtype, copy=False)  # a product of unlike types would copy the tile

        def work(parts: Sequence[slice]) -> None:
            buffer = np.empty(height * TILE, B.cells.dtype)
            for rows in parts:
                block = A.take(rows)
                product = _Products(block)
                slots = np.arange(len(block))
                total = np.zeros((len(block), coef.shape[1]))
                for tile in tiles:
                    dots = product(B, tile, buffer)
                    if self.kind != "linear":
                        self._finish(dots, block, B, tile, dots, slots, 0)
                    total += dots @ own[tile]
                out[rows] = total

        with one_blas_thread():
            each_in_threads(work, _hands(spans(len(A), height), each=4))
        return out

    def combine_own(self, A: Points, coef: FloatArray) -> FloatArray:
        """Σ_j k(A_i, A_j) coef_j: (a,) from coef (a,), each pair of blocks computed once and used twice."""
        if A.index is not None or callable(self.kind) or is_sparse(A.cells) or len(A) < 4 * TILE:
            return self.combine(A, A, coef[:, None])[:, 0]
        tiles = spans(len(A), TILE)
        count = min(len(tiles), 8)
        sums = np.zeros((count, len(A)))

        def work(hand: int) -> None:  # every eighth row of tiles: long rows and short ones to each hand
            buffer, total = np.empty(TILE * TILE, A.cells.dtype), sums[hand]
            for i in range(hand, len(tiles), count):
                block = A.take(tiles[i])
                product, slots = _Products(block), np.arange(len(block))
                for tile in tiles[i:]:
                    dots = product(A, tile, buffer)
                    if self.kind != "linear":
                        self._finish(dots, block, A, tile, dots, slots, 0)
                    total[tiles[i]] += dots @ coef[tile]
                    if tile.start != tiles[i].start:
                        total[tile] += coef[tiles[i]] @ dots

        with one_blas_thread():
            each_in_threads(work, range(count))
        return np.asarray(sums.sum(axis=0))

    def diagonal(self, A: Points) -> FloatArray:
        """k(x, x) of each row."""
        if A.index is not None:
            return np.asarray(A.cells[A.index, A.index], dtype=float)
        if self.kind == "rbf":
            return np.ones(len(A))
        if callable(self.kind):
            step = 256
            return np.concatenate(
                [
                    np.diag(self._called(A.cells[a : a + step], A.cells[a : a + step]))
                    for a in range(0, len(A), step)
                ]
            )
        X = A.cells
        square = (
            np.einsum("ij,ij->i", X, X)
            if isinstance(X, np.ndarray)
            else np.asarray(X.multiply(X).sum(axis=1)).ravel()
        )
        if self.kind == "linear":
            return square
        value = self.gamma * square + self.coef0
        return value**self.degree if self.kind == "poly" else np.tanh(value)

    def _finish(
        self,
        dots: np.ndarray,
        A: Points,
        B: Points,
        part: slice,
        dest: np.ndarray,
        slots: Index,
        offset: int | None = None,
    ) -> None:
        """Kernel values from products, into their place."""
        at = part.start if offset is None else offset
        if self.kind == "rbf" and dest is dots:
            single = dots.dtype == np.float32
            here = kernel_loops.radial_single_here if single else kernel_loops.radial_double_here
            here(dots, A.half, B.half[part])
        elif self.kind == "rbf":
            loop = kernel_loops.radial_single if dots.dtype == np.float32 else kernel_loops.radial_double
            loop(dots, A.half, B.half[part], dest, slots, at)
        elif self.kind == "poly":
            kernel_loops.power(dots, float(self.gamma), float(self.coef0), int(self.degree), dest, slots, at)
        else:
            if self.kind == "sigmoid":
                dots *= self.gamma
                dots += self.coef0
                np.tanh(dots, out=dots)
            dest[slots, at : at + dots.shape[1]] = dots

    def _called(self, A: Any, B: Any) -> FloatArray:
        """The values of a given function, checked."""
        assert callable(self.kind)
        name = getattr(self.kind, "__name__", "kernel")
        values = self.kind(*(t.given if isinstance(t, Objects) else t for t in (A, B)))
        values = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"the kernel function {name!r} returned shape {values.shape} for tables of {A.shape[0]} and "
                f"{B.shape[0]} rows: it must return one value for each pair, shape ({A.shape[0]}, {B.shape[0]})"
            )
        if values.dtype.kind not in "fiub":
            raise ValueError(f"the kernel function {name!r} returned {values.dtype}: it must return numbers")
        values = values.astype(np.float64, copy=False)
        if not np.isfinite(values).all():
            i, j = (int(v[0]) for v in np.nonzero(~np.isfinite(values)))
            raise ValueError(
                f"the kernel function {name!r} returned {values[i, j]} (for row {i} of its first table and row {j} "
                "of its second): a kernel must be finite for every pair of rows"
            )
        return values


class _Products:
    """Products of some rows with tiles of others; a sparse block is laid out once."""

    def __init__(self, A: Points):
        self.A = A
        self.lanes: list[FloatArray] = []
        if is_sparse(A.cells):
            for a in range(0, len(A), LANES):
                self.lanes.append(np.ascontiguousarray(A.cells[a : a + LANES].toarray().T))

    def buffer(self) -> np.ndarray:
        """Room for one tile, to be used again: fresh memory would cost as much as the product."""
        return np.empty(len(self.A) * TILE, self.A.cells.dtype)

    def __call__(self, B: Points, part: slice, buffer: np.ndarray) -> np.ndarray:
        X = B.cells
        if not is_sparse(X):
            tile = X[part]
            out = buffer[: len(self.A) * len(tile)].reshape(len(self.A), len(tile))
            return np.dot(self.A.cells, tile.T, out=out)
        first, last = part.start, min(part.stop, X.shape[0])
        out = np.empty((len(self.A), last - first))
        for k, lane in enumerate(self.lanes):
            block = np.empty((last - first, lane.shape[1]))
            offset = np.zeros(lane.shape[1])
            scores_k(X.data, X.indices, X.indptr[first : last + 1], lane, offset, block)
            out[k * LANES : k * LANES + lane.shape[1]] = block.T
        return out


def whole(kernel: Kernel, points: Points) -> FloatArray:
    """The kernel matrix of some rows, (n, n): of dense rows the half below the diagonal, and what mirrors it."""
    n = len(points)
    K = np.empty((n, n))
    if points.index is not None or callable(kernel.kind) or is_sparse(points.cells) or n <= TILE:
        kernel.fill(points, points, K, np.arange(n))
        return K
    for rows in spans(n, TILE):
        kernel.fill(points.take(rows), points.take(slice(0, rows.stop)), K, np.arange(rows.start, rows.stop))

    def mirror(rows: slice) -> None:
        for others in spans(rows.start, TILE // 4):
            K[others, rows] = K[rows, others].T

    each_in_threads(mirror, spans(n, TILE // 4))
    return K


def _double(X: Any) -> Any:
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=np.float64)
    return X.astype(np.float64, copy=False)


def is_sparse(X: Any) -> bool:
    return not isinstance(X, np.ndarray)


def centre_of(X: Any) -> FloatArray | None:
    """The mean of dense rows, from which squares lose least; sparse rows stay where they are."""
    return np.asarray(X.mean(axis=0), dtype=float) if isinstance(X, np.ndarray) else None


def spans(n: int, size: int) -> list[slice]:
    return [slice(a, min(a + size, n)) for a in range(0, n, size)]


def _hands(parts: list[slice], each: int = 1) -> list[list[slice]]:
    """Parts dealt out in runs: few enough that handing them over costs little, many enough to keep pace."""
    count = min(len(parts), 8 * each)
    edges = [len(parts) * k // count for k in range(count + 1)] if count else [0]
    return [parts[a:b] for a, b in pairwise(edges)]
