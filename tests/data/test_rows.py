"""Rows on a grid: every storage gives the same cells, every row is in one block, and moments are the moments."""

import pickle
from dataclasses import replace

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from separatrix.core.statistics import Moments
from separatrix.data import rows as rows_module
from separatrix.data.engine import engine
from separatrix.data.rows import Block, Rows, grid
from tests.draws import examples

quick = examples(60)
N, P = 53, 4


def table():
    """Small whole numbers, so that every dtype can hold them; half of the cells are zero."""
    rng = np.random.default_rng(3)
    return (rng.integers(0, 7, (N, P)) * (rng.random((N, P)) < 0.5)).astype(np.float64)


def memmap(X, folder):
    path = folder / "cells.bin"
    np.memmap(path, dtype=X.dtype, mode="w+", shape=X.shape)[:] = X
    return np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape)


def strided(X):
    """Every other row and column of a larger table: a view with gaps."""
    big = np.full((2 * len(X), 2 * X.shape[1]), 99.0)
    big[::2, ::2] = X
    return big[::2, ::2]


def frozen(X):
    X = X.copy()
    X.setflags(write=False)
    return X


STORAGE = {
    "C order": lambda X, _: np.ascontiguousarray(X),
    "F order": lambda X, _: np.asfortranarray(X),
    "a view with gaps": lambda X, _: strided(X),
    "read only": lambda X, _: frozen(X),
    "memmap": memmap,
    "float32": lambda X, _: X.astype(np.float32),
    "int64": lambda X, _: X.astype(np.int64),
    "int8": lambda X, _: X.astype(np.int8),
    "uint8": lambda X, _: X.astype(np.uint8),
    "uint16": lambda X, _: X.astype(np.uint16),
    "csr matrix": lambda X, _: sparse.csr_matrix(X),
    "csr array": lambda X, _: sparse.csr_array(X),
    "csr float32": lambda X, _: sparse.csr_matrix(X.astype(np.float32)),
    "csr int": lambda X, _: sparse.csr_matrix(X.astype(np.int64)),
}
every_storage = pytest.mark.parametrize("store", STORAGE.values(), ids=STORAGE.keys())


def dense(cells):
    return cells if isinstance(cells, np.ndarray) else cells.toarray()


# ---- the grid ----


@quick
@given(st.integers(1, 5000), st.integers(1, 200))
def test_a_grid_covers_every_row_once_in_nearly_equal_blocks(n, blocks):
    edges = grid(n, blocks)
    sizes = np.diff(edges)
    assert edges[0] == 0 and edges[-1] == n
    assert len(sizes) == min(n, blocks)
    assert sizes.min() >= 1 and sizes.max() - sizes.min() <= 1


def test_a_grid_of_no_blocks_is_a_grid_of_one():
    assert grid(10, 0) == (0, 10)
    assert grid(1, 97) == (0, 1)


def test_the_grid_follows_the_shape_and_never_the_workers(monkeypatch):
    monkeypatch.setattr(rows_module, "BLOCK_CELLS", 40)
    monkeypatch.setattr(rows_module, "SPARSE_BLOCK_CELLS", 10)
    X = table()
    for source in (X, sparse.csr_matrix(X)):
        seen = set()
        for kind, workers in (("serial", None), ("threads", 1), ("threads", 3), ("dask", None)):
            with engine(kind, workers=workers):
                seen.add(Rows.of(source).edges)
        assert len(seen) == 1
        assert len(seen.pop()) > 2


def test_the_number_of_blocks_is_bounded_and_can_be_asked_for(monkeypatch):
    monkeypatch.setattr(rows_module, "BLOCK_CELLS", 1)
    monkeypatch.setattr(rows_module, "SPARSE_BLOCK_CELLS", 1)
    X = np.ones((200, 3))
    assert Rows.of(X).n_blocks == rows_module.MAX_BLOCKS
    assert Rows.of(sparse.csr_matrix(X)).n_blocks == rows_module.MAX_SPARSE_BLOCKS
    with engine(blocks=7):
        assert Rows.of(X).n_blocks == Rows.of(sparse.csr_matrix(X)).n_blocks == 7
    with engine(blocks=1000):
        assert Rows.of(X).n_blocks == 200


def test_sparse_rows_of_few_columns_have_smaller_blocks_and_never_three(monkeypatch):
    monkeypatch.setattr(rows_module, "SPARSE_BLOCK_CELLS", 100)
    ones = sparse.csr_matrix(np.ones((30, 2)))
    wide = sparse.hstack([ones, sparse.csr_matrix((30, rows_module.NARROW))], format="csr")
    for rows, wanted in ((13, 1), (25, 2), (38, 4), (60, 4)):
        assert rows_module._sparse_blocks(rows * 2, 2) == wanted
    assert (Rows.of(ones).n_blocks, Rows.of(wide).n_blocks) == (2, 1)
    assert [rows_module._sparse_blocks(cells, 1000) for cells in (90, 100, 300, 400)] == [0, 1, 2, 4]


# ---- blocks ----


@every_storage
@pytest.mark.parametrize("blocks", [1, 2, 7, N, 97])
def test_blocks_hold_every_row_once_in_order(store, blocks, tmp_path):
    X = table()
    y, weight = np.arange(N), np.linspace(0, 1, N)
    with engine(blocks=blocks):
        rows = Rows.of(store(X, tmp_path), y, weight)
    parts = [rows.block(i) for i in range(rows.n_blocks)]
    assert [b.start for b in parts] == list(rows.edges[:-1])
    assert [b.n for b in parts] == np.diff(rows.edges).tolist()
    assert np.array_equal(np.vstack([dense(b.X) for b in parts]), X)
    assert np.array_equal(np.concatenate([b.y for b in parts]), y)
    assert np.array_equal(np.concatenate([b.weight for b in parts]), weight)
    assert all(b.X.dtype == rows.source.dtype for b in parts)
    assert rows.n == N and rows.p == P and not rows.lazy


@every_storage
def test_a_block_is_a_view_of_the_source(store, tmp_path):
    with engine(blocks=5):
        rows = Rows.of(store(table(), tmp_path))
    block = rows.block(2)
    cells, source = (block.X, rows.source) if not block.sparse else (block.X.data, rows.source.data)
    assert np.shares_memory(cells, source)
    assert block.sparse == rows.sparse == sparse.issparse(rows.source)


def test_rows_without_targets_or_weights():
    rows = Rows.of(table())
    block = rows.block(0)
    assert block.y is None and block.weight is None
    assert rows.total_weight == N
    weighted = rows.with_targets(np.ones(N), np.full(N, 0.5))
    assert weighted.total_weight == N / 2
    assert weighted.edges == rows.edges and weighted.source is rows.source
    assert rows.y is None


def test_a_csr_slice_is_a_matrix_of_its_own():
    X = sparse.csr_matrix(table())
    with engine(blocks=4):
        rows = Rows.of(X)
    for i in range(4):
        part = rows.block(i).X
        assert part.shape == (rows.edges[i + 1] - rows.edges[i], P)
        assert part.indptr[0] == 0 and part.indptr[-1] == len(part.data)
        assert np.array_equal((part @ np.eye(P)), X[rows.edges[i] : rows.edges[i + 1]].toarray())
    assert X.indptr[0] == 0 and X.nnz == len(X.data)
    assert rows.block(1).X is rows.block(1).X
    assert "_slices" not in pickle.loads(pickle.dumps(rows)).__dict__


def test_rows_without_a_stored_cell():
    empty = sparse.csr_matrix((5, 3))
    with engine(blocks=2):
        rows = Rows.of(empty)
    assert rows.n_blocks == 2
    assert rows.moments().mean.tolist() == [0, 0, 0]


# ---- tiles ----


@quick
@given(st.integers(1, 3000), st.integers(1, 5000))
def test_tiles_cover_a_block_once_and_fit_the_cache(n, width):
    block = Block(np.empty((n, 1)), None, None, 0)
    tiles = list(block.tiles(width))
    assert [t.start for t in tiles] == [0, *(t.stop for t in tiles[:-1])]
    assert tiles[-1].stop == n
    assert all((t.stop - t.start) * width * 8 <= max(rows_module.TILE_BYTES, 64 * width * 8) for t in tiles)


@quick
@given(st.integers(1, 20_000), st.sampled_from([2, 4, 16]))
def test_a_stride_takes_one_row_of_every_stretch(n, stride):
    block = Block(np.arange(float(n))[:, None], np.arange(n), np.arange(n) + 1.0, 7)
    thin = block.thinned(stride)
    taken = thin.X[:, 0].astype(int)
    if n > stride:
        np.testing.assert_array_equal(taken // stride, np.arange(n // stride))
    else:
        np.testing.assert_array_equal(taken, np.arange(n))
    np.testing.assert_array_equal(thin.y, taken)
    np.testing.assert_array_equal(thin.weight, taken + 1.0)
    np.testing.assert_array_equal(
        block.thinned(stride).X, thin.X
    )  # the same rows whenever they are asked for


@every_storage
def test_a_tile_is_dense_whatever_the_storage(store, tmp_path):
    block = Rows.of(store(table(), tmp_path)).block(0)
    part = slice(5, 17)
    cells = block.dense(part)
    assert type(np.asarray(cells)) is np.ndarray and isinstance(cells, np.ndarray)
    assert np.array_equal(cells, table()[part])


# ---- moments ----


def naive_moments(X, weight):
    X, w = X.astype(np.longdouble), np.asarray(weight, np.longdouble)
    mean = (w[:, None] * X).sum(axis=0) / w.sum()
    return mean, (w[:, None] * (X - mean) ** 2).sum(axis=0) / w.sum()


@every_storage
@pytest.mark.parametrize("blocks", [1, 7])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_moments_of_every_storage(store, blocks, weighted, tmp_path):
    X = table()
    weight = np.random.default_rng(1).integers(0, 4, N).astype(float) if weighted else None
    with engine(blocks=blocks):
        moments = Rows.of(store(X, tmp_path), None, weight).moments()
    mean, variance = naive_moments(X, np.ones(N) if weight is None else weight)
    assert moments.weight == (N if weight is None else weight.sum())
    np.testing.assert_allclose(moments.mean, mean.astype(float), rtol=1e-14)
    np.testing.assert_allclose(moments.variance, variance.astype(float), rtol=1e-13)


@pytest.mark.parametrize("share", [0.02, 0.4, 0.6, 1.0])
def test_sparse_moments_of_columns_far_from_the_origin(share):
    """1e8 ± 1 in the stored cells: the variance must not come from a difference of sums near 1e16."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1e8 + rng.normal(size=200), rng.normal(size=200), np.full(200, 3.0)])
    X *= rng.random((200, 3)) < share
    weight = rng.integers(0, 3, 200).astype(float)
    mean, variance = naive_moments(X, weight)
    for blocks in (1, 7):
        with engine(blocks=blocks):
            moments = Rows.of(sparse.csr_matrix(X), None, weight).moments()
        np.testing.assert_allclose(moments.mean, mean.astype(float), rtol=1e-13)
        np.testing.assert_allclose(moments.variance, variance.astype(float), rtol=1e-6, atol=1e-14)


def test_sparse_moments_see_stored_zeros_as_zeros():
    X = sparse.csr_matrix(
        (np.array([0.0, 2.0, 0.0]), np.array([0, 0, 1]), np.array([0, 1, 2, 3])), shape=(3, 2)
    )
    moments = Rows.of(X).moments()
    np.testing.assert_allclose(moments.mean, [2 / 3, 0])
    np.testing.assert_allclose(moments.variance, [8 / 9, 0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_a_cell_that_is_not_finite_shows_in_its_columns_mean_and_no_other(bad, kind):
    X = table()
    X[11, 2] = bad
    with engine(blocks=3):
        mean = Rows.of(kind(X)).moments().mean
    assert np.isfinite(mean).tolist() == [True, True, False, True]


def test_moments_of_storages_that_hold_the_same_doubles_are_the_same_bits(tmp_path):
    X = np.random.default_rng(5).normal(size=(301, 3)) * [1e-8, 1.0, 1e8] + [0, 1e6, 0]
    with engine("serial", blocks=7):
        first = Rows.of(X).moments()
        for store in (frozen, lambda v: memmap(v, tmp_path), np.ascontiguousarray):
            other = Rows.of(store(X)).moments()
            assert np.array_equal(other.mean, first.mean) and np.array_equal(other.second, first.second)


def test_booleans_are_zeros_and_ones():
    X = table() > 2
    moments = Rows.of(X).moments()
    np.testing.assert_allclose(moments.mean, X.mean(axis=0))
    np.testing.assert_allclose(moments.variance, X.var(axis=0))


# ---- Dask partitions ----


def lazy_rows(X, edges, y=None, weight=None):
    chunks = (tuple(np.diff(edges).tolist()), (X.shape[1],))
    parts = list(da.from_array(X, chunks=chunks).to_delayed().ravel())
    return Rows(parts, len(X), X.shape[1], tuple(edges), y, weight)


def test_a_dask_source_is_read_block_by_block():
    X, y = table(), np.arange(N)
    rows = lazy_rows(X, grid(N, 5), y)
    assert rows.lazy and not rows.sparse and rows.n_blocks == 5
    assert np.array_equal(np.vstack([rows.block(i).X for i in range(5)]), X)
    assert np.array_equal(np.concatenate([rows.block(i).y for i in range(5)]), y)


def test_a_delayed_block_is_the_block():
    X, y, weight = table(), np.arange(N), np.linspace(0, 1, N)
    with engine(blocks=5):
        memory = Rows.of(X, y, weight)
    lazy = lazy_rows(X, memory.edges, y, weight)
    for i in range(5):
        here = memory.block(i)
        for block in dask.compute(memory.delayed_block(i), lazy.delayed_block(i)):
            assert isinstance(block, Block) and block.start == here.start
            assert np.array_equal(block.X, here.X)
            assert np.array_equal(block.y, here.y) and np.array_equal(block.weight, here.weight)


@pytest.mark.parametrize("kind", ["serial", "threads", "dask"])
def test_moments_of_a_dask_source_are_those_in_memory_bit_for_bit(kind):
    X = np.random.default_rng(5).normal(size=(301, 3)) * [1e-8, 1.0, 1e8] + [0, 1e6, 0]
    with engine("serial", blocks=7):
        memory = Rows.of(X)
        wanted: Moments = memory.moments()
    with engine(kind, workers=2):
        got = lazy_rows(X, memory.edges).moments()
    assert np.array_equal(got.mean, wanted.mean) and np.array_equal(got.second, wanted.second)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_sample_has_the_thinned_rows_of_every_block(order):
    X = np.asarray(np.random.default_rng(0).normal(size=(1000, 3)), dtype=np.float32, order=order)
    y, weight = np.arange(1000.0), np.arange(1000.0) % 3
    with engine(blocks=8):
        rows = Rows.of(X, y, weight)
    sample = rows.sampled(4)
    picked = np.concatenate([rows.block(i).thinned(4).y for i in range(8)])
    np.testing.assert_array_equal(sample.y, picked)
    np.testing.assert_array_equal(sample.source, X[picked.astype(int)])
    np.testing.assert_array_equal(sample.weight, weight[picked.astype(int)])
    assert sample.n_blocks == 2 and sample.single and sample.source.dtype == np.float64
    assert replace(rows, source=[X], edges=(0, 1000)).sampled(4) is None


def test_few_cells_become_doubles_and_say_what_they_were():
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    rows = Rows.of(X).in_doubles()
    assert rows.single and rows.source.dtype == np.float64
    double = Rows.of(X.astype(float))
    assert double.in_doubles() is double and not double.single
    whole = Rows.of(X.astype(np.uint8)).in_doubles()
    assert whole.source.dtype == np.float64 and not whole.single
