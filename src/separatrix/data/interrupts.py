"""Ctrl-C stops:  the one place where KeyboardInterrupt is caught inside a fit.

    with until_interrupted() as stop:        a loop that has something to keep: solver, rounds, trees
        for step in range(max_iter): ...
    if stop.interrupted: …                   what follows gathers the best so far; nothing else is begun

The fit in which this happened ends as usual, with the verdict "interrupted", and then raises KeyboardInterrupt
(data/estimator.py): the best so far stands on the estimator, and no loop around it runs on. Where someone owns the
loop and wants what is there, ``with keep_going():`` lets the fit return instead. A fit inside a fit, or inside a loop
of the library's own, always raises: an ensemble leaves out the member that was cut short.

Signals reach the main thread only; work on other threads is told to end by whoever waits for it. An exception that
arises inside a callback of the compiler is lost by Python ("Exception ignored …"), so during a fit Ctrl-C is noted
too, and `check`, called between steps, raises it again.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType, TracebackType

_told: ContextVar[threading.Event | None] = ContextVar("told_to_end", default=None)
_keeping: ContextVar[bool] = ContextVar("keep_going", default=False)
_noted = False  # a Ctrl-C that nobody has answered yet


class FitUnderWay:
    """A call of ``fit`` on this thread, and whether Ctrl-C cut it short."""

    __slots__ = ("estimator", "interrupted")

    def __init__(self, estimator: object):
        self.estimator, self.interrupted = estimator, False


class _Around(threading.local):
    """What goes on around a line of code, on its thread: fits, the outermost first, and loops."""

    def __init__(self) -> None:
        self.fits: list[FitUnderWay] = []
        self.loops = 0


_around = _Around()


def fits_under_way() -> list[FitUnderWay]:
    """Those of this thread, the outermost first."""
    return _around.fits


class until_interrupted:
    """Run a block until it ends or Ctrl-C comes; ``interrupted`` says which.

    >>> with until_interrupted() as stop:
    ...     raise KeyboardInterrupt
    >>> stop.interrupted
    True
    """

    def __init__(self) -> None:
        self.interrupted = False

    def __enter__(self) -> until_interrupted:
        _around.loops += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        _around.loops -= 1
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            return False
        answered()
        self.interrupted = True
        for fit in fits_under_way()[-1:]:
            fit.interrupted = True
        return True


@contextmanager
def keep_going() -> Iterator[None]:
    """A fit that Ctrl-C stops returns with its best so far instead of raising KeyboardInterrupt.

    For a person who owns the loop, at a prompt or in a script: the verdict of such a fit is "interrupted", and what
    follows goes on. A fit that had nothing to keep yet raises all the same.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import LogisticRegression, keep_going
    >>> with keep_going():  # Ctrl-C in here ends the fit, not the script
    ...     model = LogisticRegression().fit(np.array([[0.0], [1.0], [2.0]]), [0, 1, 1])
    >>> model.verdict_.status
    'optimal'
    """
    before = _keeping.set(True)
    try:
        yield
    finally:
        _keeping.reset(before)


def returns_interrupted() -> bool:
    """Whether a fit that was cut short is to return: `keep_going` is in force, and no loop of ours is around it."""
    return _keeping.get() and not _around.fits and not _around.loops


def _note(number: int, frame: FrameType | None) -> None:
    global _noted
    _noted = True
    raise KeyboardInterrupt


def answered() -> bool:
    """Whether a Ctrl-C was waiting for an answer; from here on none is."""
    global _noted
    if not _noted or threading.current_thread() is not threading.main_thread():
        return False
    _noted = False
    return True


def check() -> None:
    """Raise the Ctrl-C that was lost on its way, if there is one, or that this thread was told of; between steps."""
    if _noted and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt
    told = _told.get()
    if told is not None and told.is_set():
        raise KeyboardInterrupt


@contextmanager
def telling(over: threading.Event) -> Iterator[None]:
    """What is handed to threads in here ends at its next `check` once ``over`` is set."""
    before = _told.set(over)
    try:
        yield
    finally:
        _told.reset(before)


class listening:
    """Note every Ctrl-C of the block, where Python's own handler is in force and this is the main thread.

    >>> with listening() as ear:
    ...     ear.on == (signal.getsignal(signal.SIGINT) is _note)
    True
    """

    __slots__ = ("on",)

    def __enter__(self) -> listening:
        self.on = (
            threading.get_ident() == threading.main_thread().ident
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self.on:
            signal.signal(signal.SIGINT, _note)
        return self

    def __exit__(self, *error: object) -> None:
        if self.on:
            signal.signal(signal.SIGINT, signal.default_int_handler)
