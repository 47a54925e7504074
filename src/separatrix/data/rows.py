"""Rows as blocks on a fixed grid: arrays, memmaps, CSR and Dask partitions look the same to a sweep.

    rows = blocks 0 … B−1,   block b = rows edges[b] … edges[b+1]−1,   B a function of shape alone

Inside a block, work goes by tiles of a few thousand rows that fit the cache. Nothing is copied whole: an
array, a memmap or the three vectors of a CSR matrix are sliced; a Dask partition is read when its turn
comes. Validation happened at the door (``data.door``); nothing here checks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Moments
from separatrix.core.statistics.grouped import Members
from separatrix.data.engine import current_engine, each_in_threads, one_blas_thread, sweep
from separatrix.data.few_cells import FewCells
from separatrix.data.stored import with_cells

# a megabyte of float64: in cache, yet few enough that threads do not queue for the GIL
TILE_BYTES = 1 << 20
ANSWER = 4  # numbers a row that a prediction is likely to make besides
BESIDE = 16  # and what a sweep works on beside the cells: scores, losses, slopes
BLOCK_CELLS = 1 << 20  # cells of a dense block: enough work to hide a task's cost
ROW_CELLS = 24  # cells that cost as much as a row's loss: why a narrow table has blocks too
FEW_CELLS = 900_000  # of a block where there are but two or four
SPARSE_BLOCK_CELLS = 1 << 19  # stored cells of a sparse block
MAX_BLOCKS = 64
DOUBLE_CELLS = 1 << 19  # of a table that is brought to doubles, or a sample that is copied: four megabytes
NEAR_ORIGIN = 1e-3  # variance over mean square above which plain sums keep twelve digits of it
MAX_SPARSE_BLOCKS = 4  # a sparse block's statistics are as wide as the vocabulary
NARROW = 512  # columns up to which they are small, and blocks of a quarter of those cells worth their cost


def tiles_of(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows of about a megabyte of float64, with what a sweep works on beside them."""
    size = max(64, TILE_BYTES // (8 * (width + BESIDE)))
    for a in range(0, n, size):
        yield slice(a, min(a + size, n))


def floats(cells: Any) -> Any:
    """A table as loops and products take it: single and double precision as they are, whole numbers as doubles."""
    if cells.dtype.char in "fd":
        return cells
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64)
    return with_cells(cells, cells.data.astype(np.float64))  # SciPy's would sort the user's own matrix


def solid(cells: np.ndarray) -> np.ndarray:
    """The same without gaps: row-major or column-major, whichever it is nearer to."""
    cells = floats(cells)
    return cells if cells.flags.forc else np.ascontiguousarray(cells)


def order_of(cells: np.ndarray) -> Literal["C", "F"]:
    """In what order a tile's neighbours lie, for arrays that are worked on beside it."""
    return "C" if abs(cells.strides[0]) >= abs(cells.strides[-1]) else "F"


@dataclass(frozen=True)
class Block:
    """Rows start … start+n−1: their cells (array or CSR), targets and weights (None: all one)."""

    X: Any
    y: Any
    weight: FloatArray | None
    start: int

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def sparse(self) -> bool:
        return not isinstance(self.X, np.ndarray)

    def tiles(self, width: int) -> Iterator[slice]:
        """Slices of about a megabyte of float64."""
        return tiles_of(self.n, width)

    def thinned(self, stride: int) -> Block:
        """One row of every ``stride``, drawn by the block's place: tables come sorted, or in patterns that repeat."""
        if stride <= 1 or self.n <= stride:
            return self
        firsts = np.arange(0, self.n - stride + 1, stride)
        picked = firsts + np.random.default_rng(self.start).integers(0, stride, len(firsts))
        y = None if self.y is None else self.y[picked]
        return Block(self.X[picked], y, None if self.weight is None else self.weight[picked], self.start)

    def members(self, k: int, part: slice) -> Members:
        """Which of k classes the rows of a tile belong to, by their codes, and with what weight."""
        return Members(k, codes=self.y[part], weight=None if self.weight is None else self.weight[part])

    def dense(self, part: slice) -> np.ndarray:
        """The cells of a tile as a dense array of floats (a view where they already are one)."""
        cells = self.X[part]
        return floats(cells.toarray() if self.sparse else cells)


@dataclass(frozen=True)
class Rows:
    """A table cut into blocks, with a target and a weight for each row.

    ``source`` is an ndarray, a CSR matrix, or a list of Dask partitions already turned into arrays.
    """

    source: Any
    n: int
    p: int
    edges: tuple[int, ...]
    y: Any = None
    weight: FloatArray | None = None
    lazy_single: bool = False  # whether partitions that are yet to be read hold float32, or doubles were that

    @classmethod
    def of(cls, X: Any, y: Any = None, weight: FloatArray | None = None) -> Rows:
        """Rows of an array or CSR matrix, on the grid its shape (or the engine) asks for.

        >>> Rows.of(np.zeros((10, 3))).n_blocks
        1
        """
        n, p = X.shape
        if isinstance(X, np.ndarray):
            count = dense_blocks(n, p)
        else:
            count = _sparse_blocks(X.nnz, p)
        count = current_engine().blocks or count
        edges = grid(n, count) if isinstance(X, np.ndarray) else _cell_grid(X, count)
        return cls(X, n, p, edges, y, weight)

    @cached_property
    def _slices(self) -> dict[int, Any]:
        """The blocks of a CSR matrix, as they were made."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_slices"}

    @property
    def single(self) -> bool:
        """Whether the cells are float32, and so what a model shows of them."""
        return self.lazy_single or (not self.lazy and getattr(self.source, "dtype", None) == np.float32)

    @property
    def n_blocks(self) -> int:
        return len(self.edges) - 1

    @property
    def lazy(self) -> bool:
        """Whether the cells are read anew in every sweep (a Dask source)."""
        return isinstance(self.source, list)

    @property
    def sparse(self) -> bool:
        return not self.lazy and not isinstance(self.source, np.ndarray)

    @property
    def total_weight(self) -> float:
        return float(self.n) if self.weight is None else float(self.weight.sum())

    def of_classes(self, k: int) -> Rows:
        """The same rows on the grid of a table k times as wide: what K scores a row cost is worth as many blocks."""
        if not isinstance(self.source, np.ndarray) or current_engine().blocks:
            return self
        return replace(self, edges=grid(self.n, dense_blocks(self.n * k, self.p)))

    def in_doubles(self) -> Rows:
        """The same rows as doubles where they are dense and few: each sweep would make them anew, tile by tile.

        >>> Rows.of(np.zeros((10, 3), dtype=np.float32)).in_doubles().source.dtype.name
        'float64'
        """
        cells = self.source
        if not isinstance(cells, np.ndarray) or cells.dtype == np.float64 or cells.size > DOUBLE_CELLS:
            return self
        return replace(self, source=cells.astype(np.float64), lazy_single=self.single)

    def sampled(self, stride: int) -> Rows | None:
        """One row of every ``stride`` of each block (:meth:`Block.thinned`) as rows of their own; None where they are
        too many to be copied, or read anew in every sweep."""
        if not isinstance(self.source, np.ndarray) or self.source.size > stride * DOUBLE_CELLS:
            return None
        blocks = [self.block(i).thinned(stride) for i in range(self.n_blocks)]
        cells = np.concatenate([floats(block.X) for block in blocks])
        y = None if self.y is None else np.concatenate([block.y for block in blocks])
        weight = None if self.weight is None else np.concatenate([block.weight for block in blocks])
        edges = grid(len(cells), self.n_blocks // stride)
        return Rows(cells, len(cells), self.p, edges, y, weight, self.single).in_doubles()

    def with_targets(self, y: Any, weight: FloatArray | None) -> Rows:
        rows = replace(self, y=y, weight=weight)
        rows.__dict__["_slices"] = self._slices  # of the same cells on the same grid
        if "few" in self.__dict__:
            rows.__dict__["few"] = self.__dict__["few"]
        return rows

    @cached_property
    def few(self) -> FewCells | None:
        """The cells that are not zero, of a wide table in memory that has few of them."""
        return FewCells.of(self.source) if isinstance(self.source, np.ndarray) else None

    def block(self, i: int) -> Block:
        a, b = self.edges[i], self.edges[i + 1]
        if self.lazy:
            cells = self.source[i].compute(scheduler="synchronous")
        elif self.sparse:
            if i not in self._slices:  # to make one costs as much as a sweep of a few rows
                self._slices[i] = _csr_slice(self.source, a, b)
            cells = self._slices[i]
        else:
            cells = self.source[a:b]
        return self._block_of(cells, i)

    def delayed_block(self, i: int) -> Any:
        """The block as a Dask task; a Dask source stays where it is and only its targets travel."""
        import dask

        if self.lazy:
            return dask.delayed(self._block_of, pure=False)(self.source[i], i)
        block = self.block(i)
        if isinstance(self.source, np.ndarray) and self.source.flags.f_contiguous:
            block = replace(block, X=np.asfortranarray(block.X))  # a slice would travel in the other order
        return dask.delayed(block, traverse=False)

    def _block_of(self, cells: Any, i: int) -> Block:
        a, b = self.edges[i], self.edges[i + 1]
        y = None if self.y is None else self.y[a:b]
        weight = None if self.weight is None else self.weight[a:b]
        return Block(cells, y, weight, a)

    def moments(self) -> Moments:
        """Weighted mean and variance of every column, in one sweep."""
        if self.few is not None and self.total_weight > 0:
            return self.few.moments(self.weight)
        total: Moments = sweep(_moments, self)[0]
        return total


def over_rows(function: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
    """function(X) computed by tiles on the engine's threads; each row of the answer belongs to a row of X."""
    n, p = X.shape
    dense = isinstance(X, np.ndarray)
    width = p if dense else 2 * max(1, X.nnz // max(n, 1))
    size = max(64, TILE_BYTES // (8 * (width + ANSWER)))
    if n <= 2 * size:
        return function(X)
    starts = range(0, n, size)

    def part(a: int) -> np.ndarray:
        b = min(a + size, n)
        return function(X[a:b] if dense else _csr_slice(X, a, b))

    with one_blas_thread():
        shape = function(X[:1] if dense else _csr_slice(X, 0, 1))  # what an answer looks like
        out = np.empty((n, *shape.shape[1:]), dtype=shape.dtype)

        def work(a: int) -> None:
            out[a : a + size] = part(a)

        each_in_threads(work, starts)
    return out


def dense_blocks(n: int, p: int) -> int:
    """How many blocks a table of n rows and p columns has: one for a million cells, or two or four where they pay.

    >>> [dense_blocks(n, p) for n, p in ((1_000_000, 10), (100_000, 15), (60_000, 10), (10_000, 30))]
    [9, 4, 2, 0]
    """
    few = n * (p + ROW_CELLS) // FEW_CELLS
    return max(min(MAX_BLOCKS, n * p // BLOCK_CELLS), min(few - few % 2, 4))


def grid(n: int, blocks: int) -> tuple[int, ...]:
    """Edges of ``blocks`` nearly equal blocks of n rows.

    >>> grid(10, 3)
    (0, 3, 6, 10)
    """
    blocks = max(1, min(blocks, n))
    return tuple(n * i // blocks for i in range(blocks + 1))


def _sparse_blocks(cells: int, p: int) -> int:
    """How many blocks a CSR matrix of so many stored cells and columns has: one, or an even number."""
    if p <= NARROW:
        count = min(MAX_SPARSE_BLOCKS, 4 * cells // SPARSE_BLOCK_CELLS)
        return count if count <= 1 else count + count % 2
    count = min(MAX_SPARSE_BLOCKS, cells // SPARSE_BLOCK_CELLS)
    return count if count <= 1 else count - count % 2  # each more costs memory


def _cell_grid(X: Any, blocks: int) -> tuple[int, ...]:
    """Edges of at most ``blocks`` blocks of a CSR matrix with nearly equal numbers of stored cells."""
    n = X.shape[0]
    wanted = X.indptr[-1] * np.arange(1, max(1, min(blocks, n))) / max(1, min(blocks, n))
    inner = np.searchsorted(X.indptr, wanted).clip(1, n - 1) if n > 1 else []
    return (0, *sorted({int(e) for e in inner}), n)


def _csr_slice(X: Any, a: int, b: int) -> Any:
    """Rows a … b−1 of a CSR matrix sharing its data (SciPy's own slicing copies)."""
    lo, hi = X.indptr[a], X.indptr[b]
    part = type(X)((b - a, X.shape[1]), dtype=X.dtype)
    part.data, part.indices, part.indptr = X.data[lo:hi], X.indices[lo:hi], X.indptr[a : b + 1] - lo
    return part


def _dense_moments(block: Block) -> Moments:
    """Plain sums where every column lies near the origin, which is one pass less; else centred ones."""
    X, p = block.X, block.X.shape[1]
    if block.weight is not None:
        return Moments.of(X, block.weight)
    first, second = np.zeros(p), np.zeros(p)
    buffer: FloatArray | None = None
    with np.errstate(all="ignore"):
        for part in block.tiles(p):
            cells = X[part]
            if cells.dtype != np.float64:
                cells = cells.astype(np.float64)
            if buffer is None:
                buffer, ones = np.empty(cells.shape, order=order_of(cells)), np.ones(len(cells))
            square = np.multiply(cells, cells, out=buffer[: len(cells)])
            first += np.dot(ones[: len(cells)], cells)
            second += np.dot(ones[: len(cells)], square)
        mean = first / block.n
        scatter = second - block.n * mean * mean
        near = scatter > NEAR_ORIGIN * second
    if not near.all():  # far, constant or not finite: sums of squares would cancel
        return Moments.of(X)
    return Moments(float(block.n), mean, np.zeros(p), scatter)


def _moments(block: Block, _params: None, _memo: None) -> tuple[Moments, None]:
    if not block.sparse:
        return _dense_moments(block), None
    from separatrix.loops.sparse import column_sums

    X, p = block.X, block.X.shape[1]
    sums = np.zeros((p, 2))
    spread = np.empty(0) if block.weight is None else np.repeat(block.weight, np.diff(X.indptr))
    column_sums(X.data, X.indices, spread, sums)
    first, second = np.ascontiguousarray(sums.T)
    total = float(block.n) if block.weight is None else float(block.weight.sum())
    with np.errstate(invalid="ignore", over="ignore"):
        mean = first / total if total > 0 else first
        # Σ w x² − W m² is safe while zeros keep |m| no larger than the spread; a column where it cancels is
        # centred cell by cell instead
        scatter = np.maximum(second - total * mean * mean, 0.0)
        full = np.flatnonzero(scatter < 1e-2 * second)
        if len(full):
            columns = X[:, full].toarray().astype(np.float64)
            weight = np.ones(block.n) if block.weight is None else block.weight
            scatter[full] = weight @ (columns - mean[full]) ** 2
    return Moments(total, mean, np.zeros(p), scatter), None
