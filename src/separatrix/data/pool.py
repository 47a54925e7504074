"""Threads of the process, the only ones there are, and BLAS on one of them.

    threads(k)          the pool that sweeps and `each_in_threads` share; lasts as long as the process
    background(k)       threads of their own for a `with` block: whole fits, or reading the next piece
    beside(work)        one short piece of work, on one thread that the process keeps for such pieces
    one_blas_thread()   inside a block of rows BLAS runs on one thread

The pools of the process are made anew in a forked child, where their threads do not exist. Work that waits for other
work has no place on a pool that is shared: it would wait for the threads that wait for it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Submit(Protocol):
    """submit(work, …) → Future of work(…)."""

    def __call__(self, work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]: ...


def available_cores() -> int:
    """Cores this process may use (its affinity, not the machine's)."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@cache
def threads(workers: int) -> ThreadPoolExecutor:
    """The pool of that many threads."""
    return ThreadPoolExecutor(workers, thread_name_prefix="separatrix")


@cache
def _one_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="separatrix-beside")


def beside(work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
    """work(…) in the background, after what was asked before; for short work that waits for no other.

    >>> beside(sum, [1, 2]).result()
    3
    """
    return _submit(_one_thread(), work, *args, **kwargs)


def _submit(
    pool: ThreadPoolExecutor, work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs
) -> Future[R]:
    context = copy_context()
    return pool.submit(lambda: context.run(work, *args, **kwargs))


@contextmanager
def background(workers: int = 1) -> Iterator[Submit]:
    """``with background(k) as submit``: k threads of their own; submit(work, …) → Future.

    Work sees the engine (and every other context variable) of the caller of ``submit``, and may sweep. At the end of
    the block, also after an error, what has not begun is cancelled and what is under way is waited for: tell it first
    to end where it can.

    >>> with background() as submit:
    ...     coming = submit(divmod, 7, 2)
    ...     coming.result()
    (3, 1)
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="separatrix-background")

    def submit(work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        return _submit(pool, work, *args, **kwargs)

    try:
        yield submit
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


# The number of BLAS threads belongs to the process, so sweeps of several user threads share one setting: the
# first to enter notes what it was, the last to leave puts it back. Not threadpoolctl's own context manager: since
# 3.8 it ignores, in silence, a thread other than the one that entered. Built on OpenMP, a BLAS keeps a number for
# every thread instead, and each thread sees to its own.
_blas_lock = threading.Lock()
_blas_depth = 0
_blas_before: list[int] = []


@cache
def _blas_libraries() -> tuple[list[Any], list[Any]]:
    """(with one pool for the process, with one for each thread); found once: a scan takes milliseconds."""
    import scipy.linalg.blas  # noqa: F401  SciPy loads a BLAS of its own: it must be there to be pinned
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    own = [lib for lib in found if getattr(lib, "threading_layer", None) == "openmp"]
    return [lib for lib in found if lib not in own], own


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread while any sweep is under way; re-entrant and safe from several threads."""
    global _blas_depth, _blas_before
    shared, own = _blas_libraries()
    own_before = [lib.num_threads for lib in own]
    with _blas_lock:
        if _blas_depth == 0:
            _blas_before = [lib.num_threads for lib in shared]
            try:
                if max(_blas_before, default=1) > 1:
                    _set_blas(shared, [1] * len(shared))
            except BaseException:  # a Ctrl-C
                _set_blas(shared, _blas_before)
                raise
        _blas_depth += 1
    try:  # nothing is called in between: what came there would leave BLAS on one thread for good
        if own:
            _set_blas(own, [1] * len(own))
        yield
    finally:
        if own:
            _set_blas(own, own_before)
        with _blas_lock:
            _blas_depth = max(_blas_depth - 1, 0)  # 0 already in a child that was forked inside
            if _blas_depth == 0 and max(_blas_before, default=1) > 1:
                _set_blas(shared, _blas_before)


def _set_blas(libraries: list[Any], numbers: list[int]) -> None:
    for lib, number in zip(libraries, numbers, strict=True):
        release = getattr(lib, "clear_controlling_thread", lambda force: None)  # threadpoolctl >= 3.8
        release(force=True)
        lib.set_num_threads(number)
        release(force=True)


def _forget_threads() -> None:
    """In a forked child the pools' threads do not exist (a task would wait for ever) and a lock may be held."""
    global _blas_lock, _blas_depth
    threads.cache_clear()
    _one_thread.cache_clear()
    _blas_lock = threading.Lock()
    if _blas_depth:
        _blas_depth = 0
        _set_blas(_blas_libraries()[0], _blas_before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
