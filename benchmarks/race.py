"""Fit times of all peers on one data set: warm-up, then rounds A, B, C, A, B, C, …, best of the rounds.

Interleaving spreads a slow spell of the machine over everyone. The warm-up runs on a small slice, which loads
libraries, compiles kernels and starts threads, without paying for a whole fit. Each answer's objective is
evaluated by the harness, outside the timed call, with one formula for all.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks import judge, memory
from benchmarks.model import Dataset, Options, Report, Row, Task, Workload
from benchmarks.participants import RIVAL_ERRORS, enlist, failure
from benchmarks.peers.base import Peer

Say = Callable[[str], None]
GROWTH_LIMIT = 10.0  # seconds; a peer slower than this at n is not timed again at n/4 and n/2


@dataclass
class Entrant:
    """A peer during the race; the traces live here, the values go into a Row at the end."""

    peer: Peer
    prepared: tuple[Any, Any] = (None, None)
    times: list[float] = field(default_factory=list)
    objectives: list[float | None] = field(default_factory=list)
    remarks: set[str] = field(default_factory=set)
    error: Row | None = None


def run(workload: Workload, options: Options, say: Say) -> Report:
    """Race the peers on the workload's data."""
    assert workload.data is not None
    say("data")
    try:
        data = workload.data(options.scale)
    except FileNotFoundError as error:  # real data that are not here
        return judge.skipped(workload, str(error), options)
    task = workload.task(data)
    runners, settled = enlist(workload, task, options)
    entrants = race(runners, workload, data, task, options, say)
    rows = [_row(entrant) for entrant in entrants]
    if workload.growth:
        rows = _grown(rows, entrants, workload, data, options, say)
    if options.memory:
        rows = [_weighed(row, workload, data, options, say) for row in rows]
    return judge.report(workload, data.source, "s", rows + settled, options)


def race(
    runners: list[Peer], workload: Workload, data: Dataset, task: Task, options: Options, say: Say
) -> list[Entrant]:
    """Warm everyone up, then run the rounds."""
    entrants = [Entrant(peer) for peer in runners]
    slice_ = data.head(warm_up_rows(task.n))
    for entrant in entrants:
        say(f"warm-up · {entrant.peer.name}")
        guarded(entrant, partial(warm_up, entrant.peer, workload, slice_))
        guarded(entrant, partial(_prepare, entrant, data, task))
    for turn in range(options.repeat):
        gc.collect()
        for entrant in entrants:
            if entrant.error or (turn and _once_is_enough(entrant, workload, options)):
                continue
            say(f"round {turn + 1}/{options.repeat} · {entrant.peer.name}")
            guarded(entrant, partial(_timed, entrant, workload, data, task))
    for entrant in entrants:
        entrant.prepared = (None, None)
    return entrants


def warm_up_rows(n: int) -> int:
    """A twentieth of the rows, at least 500."""
    return min(n, max(500, n // 20))


def warm_up(peer: Peer, workload: Workload, slice_: Dataset) -> None:
    """One unmeasured fit on a few rows."""
    task = workload.task(slice_)
    with warnings.catch_warnings(record=True):  # "ignore" is undone by libraries that set filters on import
        peer.fit(*peer.prepare(slice_.X, slice_.y, task), task)


def guarded(entrant: Entrant, step: Callable[[], None]) -> None:
    """Run a step unless the entrant is out; an exception puts it out with the reason."""
    if entrant.error is None:
        try:
            step()
        except RIVAL_ERRORS as error:
            entrant.error = failure(entrant.peer.name, error)


def _prepare(entrant: Entrant, data: Dataset, task: Task) -> None:
    entrant.prepared = entrant.peer.prepare(data.X, data.y, task)


def _timed(entrant: Entrant, workload: Workload, data: Dataset, task: Task) -> None:
    """One timed fit, then its objective."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        answer = entrant.peer.fit(*entrant.prepared, task)
        seconds = time.perf_counter() - start
    if any("Convergence" in warning.category.__name__ for warning in caught):
        entrant.remarks.add("warned: not converged")
    entrant.objectives.append(workload.score(answer, data, task) if workload.score else None)
    entrant.times.append(seconds)


def _once_is_enough(entrant: Entrant, workload: Workload, options: Options) -> bool:
    """A fit past the limit is not repeated, unless BENCHMARKS.md names the peer for this workload."""
    if entrant.peer.name in workload.published or entrant.times[0] <= options.slow_limit:
        return False
    entrant.remarks.add("one round only")
    return True


def _row(entrant: Entrant) -> Row:
    """Best time, with the objective of that very fit."""
    if entrant.error:
        return entrant.error
    best = int(np.argmin(entrant.times))
    peer = entrant.peer
    return Row(
        peer.name,
        seconds=entrant.times[best],
        runs=tuple(entrant.times),
        objective=entrant.objectives[best],
        counts=peer.counts,
        notes=((peer.note,) if peer.note else ()) + tuple(sorted(entrant.remarks)),
    )


def _grown(
    rows: list[Row], entrants: list[Entrant], workload: Workload, data: Dataset, options: Options, say: Say
) -> list[Row]:
    """Times at n/4 and n/2 as well, and the exponent a of seconds ≈ const · nᵃ over the three sizes."""
    quick = [e.peer for e, row in zip(entrants, rows, strict=True) if (row.seconds or np.inf) <= GROWTH_LIMIT]
    n = data.X.shape[0]
    smaller: dict[str, list[float]] = {peer.name: [] for peer in quick}
    for part in (4, 2):
        subset = data.head(n // part)
        task = workload.task(subset)
        say(f"n/{part}")
        for entrant in race(quick, workload, subset, task, options, say):
            if entrant.error is None:
                smaller[entrant.peer.name].append(min(entrant.times))
    return [_with_growth(row, smaller.get(row.peer, []), n) for row in rows]


def _with_growth(row: Row, smaller: list[float], n: int) -> Row:
    if len(smaller) != 2 or row.seconds is None:
        return row
    times = (*smaller, row.seconds)
    slope = np.polyfit(np.log([n // 4, n // 2, n]), np.log(times), 1)[0]
    return replace(row, growth=times, exponent=float(slope))


def _weighed(row: Row, workload: Workload, data: Dataset, options: Options, say: Say) -> Row:
    """The same fit's peak memory, from a process of its own."""
    if row.status != "ok":
        return row
    say(f"memory · {row.peer}")
    return memory.measured(row, workload, data.nbytes, options)
