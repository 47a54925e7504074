"""Whole pieces of work side by side, a model each say:  what is done when Ctrl-C comes is kept.

    done, interrupted = side_by_side(work, items)     work(item) for each, on threads, one after another, or on Dask
    total = total_of(part, count, shape)              Σ_i part(i), added in the same order whatever the threads

Inside a piece of work sweeps run on one thread: on the pool they would wait for the threads that wait for them.
Cost: that of the pieces; memory for one sum of ``shape`` for every eight parts.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.engine import (
    available_cores,
    current_engine,
    each_in_threads,
    engine,
    one_blas_thread,
)
from separatrix.data.interrupts import until_interrupted

T = TypeVar("T")

DASK_ROUND = 16  # items of one call to Dask: Ctrl-C keeps the rounds that are done


def side_by_side(
    work: Callable[[int], T],
    items: Sequence[int],
    *,
    each: Callable[[int], None] | None = None,
) -> tuple[dict[int, T], bool]:
    """work(item) for each on the engine's workers: what is done, by item, and whether Ctrl-C cut it short.

    ``each`` is told how many are done, after one at a time (on Dask after a round). A piece that Ctrl-C cuts short
    raises and is left out. With nothing done KeyboardInterrupt is raised.

    >>> heard = []
    >>> side_by_side(lambda i: i * i, range(4), each=heard.append)[0][3], heard
    (9, [1, 2, 3, 4])
    """
    done: dict[int, T] = {}
    chosen = current_engine()
    workers = min(chosen.workers or available_cores(), len(items))
    if chosen.kind == "dask":
        return _dask_tasks(work, items, each)
    alone = chosen.kind == "serial" or workers <= 1
    state = threading.Condition()
    stop, under_way = False, 0

    def one(item: int) -> None:
        nonlocal under_way
        with state:
            if stop:
                return
            under_way += 1
        try:
            with engine("serial", blocks=chosen.blocks), one_blas_thread():
                found = work(item)
            with state:
                done[item] = found
                if each is not None:
                    each(len(done))
        finally:
            with state:
                under_way -= 1
                state.notify_all()

    with until_interrupted() as watch:
        try:
            if alone:
                for item in items:
                    one(item)
            else:
                each_in_threads(one, items)
        finally:  # nothing may go on in the background
            with state:
                stop = True
                state.wait_for(lambda: under_way == 0)
    return _some(done, watch.interrupted)


def say_done(total: int) -> Callable[[int], None]:
    """For ``each``: a line on standard error for every piece that is done."""
    return lambda done: print(f"  {done} of {total} done", file=sys.stderr)


def _dask_tasks(
    work: Callable[[int], T], items: Sequence[int], each: Callable[[int], None] | None
) -> tuple[dict[int, T], bool]:
    """Items as Dask tasks, some at a time."""
    import dask

    done: dict[int, T] = {}
    task = dask.delayed(_on_a_worker, pure=False)
    shared = dask.delayed(work, traverse=False)
    with until_interrupted() as watch:
        for a in range(0, len(items), DASK_ROUND):
            some = items[a : a + DASK_ROUND]
            done.update(zip(some, dask.compute(*[task(shared, item) for item in some]), strict=True))
            if each is not None:
                each(len(done))
    return _some(done, watch.interrupted)


def _some(done: dict[int, T], interrupted: bool) -> tuple[dict[int, T], bool]:
    """What is done, unless Ctrl-C came before anything was."""
    if interrupted and not done:
        raise KeyboardInterrupt("nothing was finished")
    return done, interrupted


def _on_a_worker(work: Callable[[int], T], item: int) -> T:
    with engine("serial"), one_blas_thread():
        return work(item)


def total_of(part: Callable[[int], tuple[FloatArray, Any]], count: int, shape: tuple[int, ...]) -> FloatArray:
    """Σ_i part(i) on the engine's threads: (n, …) sums, with (rows, values) where a part speaks of some rows only.

    Runs of eight parts are summed in order and then the runs, whatever the number of threads.
    """
    runs = [range(a, min(a + 8, count)) for a in range(0, count, 8)]
    sums: list[FloatArray] = [np.zeros(0)] * len(runs)

    def work(r: int) -> None:
        total = np.zeros(shape)
        with engine("serial"), one_blas_thread():
            for i in runs[r]:
                values, rows = part(i)
                if rows is None:
                    total += values
                else:
                    total[rows] += values
        sums[r] = total

    if current_engine().kind == "dask":
        with engine("threads"):
            each_in_threads(work, range(len(runs)))
    else:
        each_in_threads(work, range(len(runs)))
    total = sums[0]
    for other in sums[1:]:
        total = total + other
    return total
