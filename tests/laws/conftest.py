"""An exception from any call inside the library: what Ctrl-C, or a memory that is full, looks like from within."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from separatrix import engine

PLACES = 6  # of a fit at which it is stopped
EXEMPT = ("separatrix.data.interrupts", "separatrix.data.estimator")  # which deal with it


class Calls:
    """Counts calls of the library's own functions on this thread, and raises at one of them."""

    def __init__(self, error: type[BaseException] | None = None, at: int = -1):
        self.error, self.at, self.seen = error, at, 0

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith("separatrix.") or module in EXEMPT:
            return
        self.seen += 1
        if self.seen == self.at and self.error is not None:
            raise self.error


@contextmanager
def traced(calls: Calls) -> Iterator[Calls]:
    before = sys.gettrace()
    sys.settrace(calls)
    try:
        yield calls
    finally:
        sys.settrace(before)


@pytest.fixture
def at_a_call() -> Iterator[Callable[[Callable[[], Any]], list]]:
    """For a fit: contexts that raise an error of choice at one call or another within it, spread over the whole."""
    assert threading.current_thread() is threading.main_thread()

    def places(fit: Callable[[], Any]) -> list:
        fit()  # what is loaded and imported by the first of a process is called once
        with traced(Calls()) as calls:
            fit()
        chosen = np.unique(np.linspace(1, calls.seen, PLACES + 2).astype(int)[1:-1])
        return [lambda error, at=int(at): traced(Calls(error, at)) for at in chosen]

    with engine("serial"):
        yield places
