"""One sweep over the rows:  total = Σ_b local(block_b, params), on a fixed grid and a fixed merge tree.

``local(block, params, memo) -> (stats, memo)`` is pure and module-level; ``stats`` has ``+``. The grid
belongs to the rows and the tree to the grid, never to the number of workers, so serial, threads and
Dask add the same numbers in the same order and give the same bits.

    with engine("serial"):             one block after another
    with engine("threads", workers=2): the default; one pool, BLAS pinned to one thread inside a block
    with engine("dask"):               blocks are tasks of the current Dask scheduler or client
    with engine(blocks=7):             another grid (answers agree to rounding, not to the bit)

Cost: one pass over the data a sweep; memory for about log₂(blocks) + workers statistics.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from separatrix.data.checks import check_known
from separatrix.data.interrupts import check
from separatrix.data.pool import available_cores, one_blas_thread, threads

if TYPE_CHECKING:
    from separatrix.data.rows import Block, Rows

SIGNAL = 0.2  # seconds after which a wait for threads looks for a Ctrl-C

Kind = Literal["serial", "threads", "dask"]
S = TypeVar("S")  # a statistic
T = TypeVar("T")
Local = Callable[["Block", Any, Any], tuple[S, Any]]


@dataclass(frozen=True)
class Engine:
    """How sweeps run: the kind, how many workers, and how many blocks the grid has (None: by shape)."""

    kind: Kind = "threads"
    workers: int | None = None
    blocks: int | None = None


_current: ContextVar[Engine] = ContextVar("separatrix_engine", default=Engine())  # noqa: B039  an Engine is frozen


def current_engine() -> Engine:
    return _current.get()


@contextmanager
def engine(
    kind: Kind | None = None, *, workers: int | None = None, blocks: int | None = None
) -> Iterator[Engine]:
    """Choose how sweeps run inside a ``with`` block.

    Parameters
    ----------
    kind : "serial", "threads" or "dask"; None keeps the current one
    workers : threads to use, default the cores this process may use
    blocks : cut in-memory rows into this many blocks, default by the data's shape

    Examples
    --------
    >>> with engine("serial", blocks=7) as chosen:
    ...     chosen
    Engine(kind='serial', workers=None, blocks=7)
    """
    if kind is not None:
        check_known("engine", kind, "serial", "threads", "dask")
    for name, number in (("workers", workers), ("blocks", blocks)):
        if number is not None and not _is_count(number):
            raise ValueError(f"{name} must be a whole number of at least 1, got {number!r}")
    if kind == "dask":
        _need_dask()
    old = _current.get()
    chosen = replace(old, kind=kind or old.kind, workers=workers or old.workers, blocks=blocks or old.blocks)
    token = _current.set(chosen)
    try:
        yield chosen
    finally:
        _current.reset(token)


def _is_count(number: object) -> bool:
    return not isinstance(number, bool) and isinstance(number, Integral) and int(number) >= 1


def _need_dask() -> None:
    """Refuse in one sentence before any data is read where Dask, an extra, is not installed."""
    try:
        import dask  # noqa: F401
    except ImportError:
        raise ImportError('engine "dask" needs Dask: pip install "separatrix[dask]"') from None


def sweep(
    local: Local[S], rows: Rows, params: Any = None, memo: Sequence[Any] | None = None, *, light: bool = False
) -> tuple[S, list[Any]]:
    """Apply ``local`` to every block and add the statistics up the fixed tree.

    Returns the total and the list of memos, one a block, to hand to the next sweep. ``light``: so little work a
    block that handing it to a thread would cost more.
    """
    check()
    chosen = current_engine()
    count = rows.n_blocks
    memos: Sequence[Any] = memo if memo is not None else [None] * count
    if chosen.kind == "dask":
        return _dask_sweep(local, rows, params, memos)
    workers = min(chosen.workers or available_cores(), count)
    with one_blas_thread():
        if count == 1:
            stat, kept = local(rows.block(0), params, memos[0])
            return stat, [kept]
        if chosen.kind == "serial" or workers == 1 or light:
            return _run(local, rows, params, memos, range(count))
        return _threaded(local, rows, params, memos, workers)


def _run(
    local: Local[S], rows: Rows, params: Any, memos: Sequence[Any], blocks: Iterable[int]
) -> tuple[S, list[Any]]:
    """Some blocks in order, added up as they come."""
    kept: list[Any] = []

    def stats() -> Iterator[S]:
        for i in blocks:
            stat, memo = local(rows.block(i), params, memos[i])
            kept.append(memo)
            yield stat

    # a statistic just made for this sweep may be added in place (its __iadd__, where it has one)
    return merge_tree(stats(), operator.iadd), kept


def _threaded(
    local: Local[S], rows: Rows, params: Any, memos: Sequence[Any], workers: int
) -> tuple[S, list[Any]]:
    """Runs of blocks side by side, at most two a worker under way, so memory stays bounded.

    A run is as long as a power of two, so that it is a whole branch of the merge tree: the sum is the same
    whatever the number of workers. The caller's thread is one of them, which spares waking a thread where runs
    are short.
    """
    length = 1 << max(rows.n_blocks // (4 * workers), 1).bit_length() - 1
    runs = [range(a, min(a + length, rows.n_blocks)) for a in range(0, rows.n_blocks, length)]

    def work(run: range) -> tuple[S, list[Any]]:
        with one_blas_thread():
            return _run(local, rows, params, memos, run)

    pool, ahead = threads(workers - 1), 2 * workers
    pending: dict[range, Future[tuple[S, list[Any]]]] = {}
    found: dict[range, tuple[S, list[Any]]] = {}
    kept: list[Any] = []

    def stats() -> Iterator[S]:
        for i, run in enumerate(runs):
            for other in runs[i + 1 : i + ahead]:
                if other not in pending and other not in found:
                    pending[other] = pool.submit(work, other)
            # this thread's own: the run whose turn it is, or while another is at it the next that nobody has begun
            for mine in runs[i : i + ahead]:
                if run in found or (run in pending and pending[run].done()):
                    break
                if mine not in found and (mine not in pending or pending[mine].cancel()):
                    found[mine] = work(mine)
                    pending.pop(mine, None)
            stat, memo = found.pop(run) if run in found else pending[run].result()
            pending.pop(run, None)
            kept.extend(memo)
            yield stat

    try:
        return merge_tree(stats(), operator.iadd), kept
    finally:  # after an error or Ctrl-C nothing goes on in the background
        wait([future for future in pending.values() if not future.cancel()])


def each_in_threads(work: Callable[[T], None], items: Sequence[T]) -> None:
    """work(item) for every item, on the pool where the engine has one; an error is raised, and nothing new begun.

    A worker takes item after item: to hand one to a thread costs as much as ten thousand additions. Where several
    items fail, the error is the first one's.
    """
    chosen = current_engine()
    workers = min(chosen.workers or available_cores(), len(items))
    if chosen.kind == "serial" or workers <= 1:
        for item in items:
            check()
            work(item)
        return
    check()
    left = deque(enumerate(items))
    errors: dict[int, BaseException] = {}

    def run() -> None:
        while not errors:
            try:
                i, item = left.popleft()
            except IndexError:
                return
            try:
                work(item)
            except BaseException as error:
                errors[i] = error

    tasks = [threads(workers).submit(run) for _ in range(workers)]
    try:
        for task in tasks:
            # a wait without end would not notice a Ctrl-C that another thread was given
            while not task.done():
                wait((task,), SIGNAL)
            task.result()
    finally:
        left.clear()
        for task in tasks:
            task.cancel()
    if errors:
        raise errors[min(errors)]


def merge_tree(stats: Iterable[S], add: Callable[[S, S], S] = operator.add) -> S:
    """Add in the order of a binary counter: the association depends on the count alone.

    >>> merge_tree("abcde", lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    stack: list[tuple[int, S]] = []
    for stat in stats:
        level = 0
        while stack and stack[-1][0] == level:
            stat = add(stack.pop()[1], stat)
            level += 1
        stack.append((level, stat))
    if not stack:
        raise ValueError("there is nothing to merge: the rows have no blocks")
    total = stack.pop()[1]
    while stack:
        total = add(stack.pop()[1], total)
    return total


def _dask_task(local: Local[S], block: Block, params: Any, memo: Any) -> tuple[S, Any]:
    with one_blas_thread():
        return local(block, params, memo)


def _dask_sweep(local: Local[S], rows: Rows, params: Any, memos: Sequence[Any]) -> tuple[S, list[Any]]:
    import dask

    # pure=False: a params object is new in every sweep, hashing it would cost more than it saves
    run = dask.delayed(_dask_task, pure=False)
    shared = dask.delayed(params, traverse=False)
    results = [run(local, rows.delayed_block(i), shared, memos[i]) for i in range(rows.n_blocks)]
    add = dask.delayed(operator.add, pure=False)
    total = merge_tree([r[0] for r in results], add)
    total_value, memo_values = dask.compute(total, [r[1] for r in results])
    return total_value, list(memo_values)
