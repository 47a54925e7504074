"""Calls of microseconds, timed by turns:  A, B, B, A, A, B, … until both medians are known, or the time is spent.

A slow spell of the machine falls on everyone, and whoever comes first finds the cache as the other left it: so the
order changes from round to round. The median counts; its standard error is about 0.93 quartile ranges over √rounds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.model import Row
from benchmarks.participants import RIVAL_ERRORS, failure

MOST = 4000  # rounds
EVERY = 25  # rounds after which the medians are looked at
KNOWN = 0.01  # relative error of a median that is known well enough

Call = Callable[[], object]


def by_turns(
    calls: Mapping[str, Call], budget: float, least: int
) -> tuple[dict[str, np.ndarray], dict[str, Row]]:
    """Seconds of every call by name, ``least`` rounds even where they take longer than the budget; and the rows of
    those that raised at a first call, which takes no part in the times, as what is loaded or compiled then."""
    sound, failed = dict(calls), {}
    for name, call in calls.items():
        try:
            call()
            call()
        except RIVAL_ERRORS as error:
            failed[name] = failure(name, error)
            del sound[name]
    times: dict[str, list[float]] = {name: [] for name in sound}
    order = list(sound.items())
    clock = time.perf_counter
    end = clock() + budget
    for turn in range(1, MOST + 1 if order else 1):
        for name, call in order:
            start = clock()
            call()
            times[name].append(clock() - start)
        order.reverse()
        known = turn % EVERY == 0 and all(map(_known, times.values()))
        if turn >= least and (known or clock() > end):
            break
    return {name: np.array(values) for name, values in times.items()}, failed


def _known(times: list[float]) -> bool:
    low, middle, high = np.percentile(times, (25, 50, 75))
    return bool(0.93 * (high - low) <= KNOWN * middle * np.sqrt(len(times)))


def in_words(rounds: list[int]) -> str:
    """How many rounds the medians of a table are of.

    >>> in_words([700, 5, 1200]), in_words([5])
    ('5 to 1,200 rounds', '5 rounds')
    """
    if not rounds:
        return "no round"
    few, many = min(rounds), max(rounds)
    return f"{few:,} to {many:,} rounds" if few < many else f"{few:,} rounds"


@contextmanager
def quietly() -> Iterator[None]:
    """BLAS on one thread, and nothing said about convergence."""
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
