"""How loops are compiled: without the GIL, x/0 an infinity or NaN as in NumPy, and not before they are first called.

    @loop                       IEEE arithmetic, in the order written
    @inner                      the same for what only other loops call: half the time to compile
    @inlined                    the same, written out where it is called
    @lean_loop, @lean_inner     the same for what makes no array: nobody counts who holds one (a locked instruction
                                wherever an array is cut or handed on, for which threads that share it wait)
    @loop_with(fastmath)        sums that LLVM may order anew ("reassoc"), or other liberties by name (inner_with, …)
    @reads("X")                 above one of these: the arrays that it only reads are handed over read-only, so that
                                it is compiled once for tables that may be written to and those that may not
    @instruction                what Numba is told in LLVM's own words (instructions.py), and the same in Python

A decorated function is a :class:`Loop`: when it is first called, Numba is imported, and the loop looked for among
those built with the package, then among those compiled here before (:mod:`separatrix.loops.dispatch`).
``NUMBA_DISABLE_JIT=1`` runs it as Python. The types that loops are built for are listed in ``signatures.txt``.

What costs where a loop is compiled, and is therefore not to be found in loops: to assign an array to a slice (NumPy's
shape errors are compiled along with it, 3–5 s; write the loop), an array as an index, a helper that is compiled for
several types of an argument that it hardly looks at, or for a literal (``f(0)``) and for a number, np.argsort (2 s;
write the sort), arrays made of each new kind (0.1 s; made in Python and passed in they are free). A body is optimised
again wherever it is called from. What stands under ``if a is not None`` is not compiled where the argument is None.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

LOOPS: dict[str, Loop] = {}  # what may be called from outside, by name: trees.best.grow_best
LANES = 8  # cells that are worked on at once where a loop is written for vectors
_making = threading.RLock()  # one dispatcher a loop, whoever calls first


class Loop:
    """A function that is compiled when it is first called.

    >>> import numpy as np
    >>> from separatrix.loops.sparse import column_sums
    >>> type(column_sums).__name__
    'Loop'
    """

    def __init__(self, body: Callable[..., Any], kept: bool, options: dict[str, Any]):
        functools.update_wrapper(self, body)
        self.body, self.kept, self.options = body, kept, options
        self.name = f"{body.__module__.removeprefix('separatrix.loops.')}.{body.__qualname__}"
        self.only_read: tuple[int, ...] = ()  # places of arguments
        self._made: Any = None
        if kept:
            LOOPS[self.name] = self

    def __call__(self, *arguments: Any) -> Any:
        if self.only_read:
            arguments = tuple(
                _sealed(value) if at in self.only_read else value for at, value in enumerate(arguments)
            )
        return (self._made or self.made())(*arguments)

    def made(self) -> Any:
        """Numba's dispatcher of it."""
        with _making:
            if self._made is None:
                from separatrix.loops.dispatch import dispatcher

                self._made = dispatcher(self)
            return self._made

    def __reduce__(self) -> str:
        return self.body.__qualname__  # found by name in its module

    def __repr__(self) -> str:
        return f"<loop {self.name}>"


def _sealed(array: Any) -> Any:
    """The same cells, not to be written to."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def reads(*names: str) -> Callable[[Loop], Loop]:
    """Name the arrays that a loop never writes to, as its own parameters call them."""

    def named(loop: Loop) -> Loop:
        known = loop.body.__code__.co_varnames[: loop.body.__code__.co_argcount]
        loop.only_read = tuple(known.index(name) for name in names)
        return loop

    return named


class Instruction:
    """A few instructions of LLVM (:mod:`separatrix.loops.instructions`), and what they come to in Python."""

    def __init__(self, plainly: Callable[..., Any]):
        functools.update_wrapper(self, plainly)
        self.plainly = plainly

    def __call__(self, *arguments: Any) -> Any:
        return self.plainly(*arguments)

    def made(self) -> Any:
        from separatrix.loops import instructions

        return getattr(instructions, self.plainly.__name__)


def _with(
    kept: bool, fastmath: set[str] | None = None, **options: Any
) -> Callable[[Callable[..., Any]], Any]:
    options |= {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    if fastmath:
        options["fastmath"] = fastmath
    return lambda body: Loop(body, kept, options)


def loop_with(fastmath: set[str]) -> Any:
    """As :data:`loop`, with some of the liberties that LLVM knows."""
    return _with(True, fastmath)


def inner_with(fastmath: set[str]) -> Any:
    """As :data:`inner`, with some of them."""
    return _with(False, fastmath, no_cpython_wrapper=True)


def lean_inner_with(fastmath: set[str]) -> Any:
    """As :data:`lean_inner`, with some of them."""
    return _with(False, fastmath, no_cpython_wrapper=True, _nrt=False)


def inlined_with(fastmath: set[str]) -> Any:
    """As :data:`inlined`, with some of them."""
    return _with(False, fastmath, inline="always")


loop: Any = _with(True)
inner: Any = _with(False, no_cpython_wrapper=True)
lean_loop: Any = _with(True, _nrt=False)
lean_inner: Any = _with(False, no_cpython_wrapper=True, _nrt=False)
inlined: Any = _with(False, inline="always")


instruction = Instruction


_held: list[Any] = []  # locks that a fork has waited for
_COMPILING = (("numba.core.compiler_lock", "global_compiler_lock"), ("separatrix.loops.telling", "speaking"))


def _before_fork() -> None:
    """A child has its parent's locks and none of its threads: a compiler caught at work would never let go.

    So a fork waits until no other thread imports Numba or compiles: as long as one loop takes, at most.
    """
    locks = [_making, *(getattr(sys.modules.get(module), name, None) for module, name in _COMPILING)]
    for lock in locks:
        if lock is None:
            continue
        lock.acquire()
        _held.append(lock)


def _after_fork() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
