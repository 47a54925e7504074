"""Compiling, as it happens:  which loop is being compiled, for how long, and a sentence where that is long.

    separatrix: compiling grow_best once for this machine … 12 s

Numba's events say when compiling begins and ends. Everything between is inside the one lock of its compiler, so
there is one outermost loop at a time, whichever thread is at it. A loop is spoken of once a process; a quick one
never is.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import Any

PATIENCE = 2.0  # seconds of compiling before it is said

seconds = {"found": 0.0, "compiled": 0.0}  # spent on finding and on compiling loops
_here = threading.local()  # of these, what this thread compiled
speaking = threading.Lock()  # held while something is said
aloud = True  # a build tells its own progress
_listener: Any = None


def listen() -> None:
    """Hear of compiling from now on; a Numba that tells nothing is as good."""
    global _listener
    if _listener is None:
        _listener = False
        with contextlib.suppress(Exception):
            from numba.core import event

            class Listener(event.Listener):
                def on_start(self, event: Any) -> None:
                    with contextlib.suppress(Exception):
                        _compiling.start(event.data["dispatcher"])

                def on_end(self, event: Any) -> None:
                    with contextlib.suppress(Exception):
                        _compiling.end(event.data["dispatcher"])

            _listener = Listener()
            event.register("numba:compile", _listener)


def compiled_here() -> float:
    """Seconds that this thread has spent on compiling."""
    return float(getattr(_here, "compiled", 0.0))


def inside(kept: Any) -> bool:
    """Whether another loop of ours is being compiled, one that calls this."""
    return any(one._cache is not kept for one in _compiling.under_way())


class _Compiling:
    """Loops being compiled, the outermost first; says so where that one takes long."""

    def __init__(self) -> None:
        self._open: list[Any] = []
        self._said: set[str] = set()  # loops that were spoken of
        self._timer: threading.Timer | None = None
        self._began, self._half = 0.0, False

    def under_way(self) -> list[Any]:
        """Dispatchers at work. One that Ctrl-C took out in between two of its events is no longer compiling."""
        self._open = [one for one in self._open if one.is_compiling]
        return self._open

    def start(self, dispatcher: Any) -> None:
        outermost = not self.under_way()
        loop: Any = getattr(dispatcher._cache, "loop", None)
        if outermost and loop is None:
            return  # others' functions are their own affair
        self._open.append(dispatcher)
        if not outermost:
            return
        self._began, self._half = time.perf_counter(), False
        if aloud and loop.name not in self._said:
            self._timer = threading.Timer(PATIENCE, self._say, [loop.name, self._began])
            self._timer.daemon = True
            self._timer.start()

    def end(self, dispatcher: Any) -> None:
        if dispatcher not in self._open:
            return
        self._open.remove(dispatcher)
        if self._open:
            return
        took = time.perf_counter() - self._began
        seconds["compiled"] += took
        _here.compiled = compiled_here() + took
        with speaking:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._half:
                self._half = False
                _write(f" {took:.0f} s\n")

    def _say(self, name: str, began: float) -> None:
        with speaking:
            if self._timer is None or self._began != began or not self.under_way():
                return  # it ended meanwhile
            self._said.add(name)
            self._half = True
            _write(f"separatrix: compiling {name.rpartition('.')[2]} once for this machine …")


def _write(words: str) -> None:
    """To standard error, if there is one: a program without a console has none, another's may be closed."""
    with contextlib.suppress(Exception):
        sys.stderr.write(words)
        sys.stderr.flush()


_compiling = _Compiling()
