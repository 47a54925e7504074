"""What the tests of kept loops share: a loop that compiles at once, a key, another user."""

import contextlib
import os
import sys

import pytest

from separatrix.loops import kept
from separatrix.loops.compiled import LOOPS, Loop, loop

NOBODY = 65534
KEY = kept.Key("room.loop", "float64:1C", "made of this", "linux x86_64 v3 ", "Python 3, Numba 1, llvmlite 2")
posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")


@loop
def doubled(cells):
    """Compiled in a few hundredths of a second."""
    total = 0.0
    for i in range(len(cells)):
        cells[i] *= 2.0
        total += cells[i]
    return total


del LOOPS[doubled.name]  # none of the library's


def anew(one=doubled):
    """The loop as another process would have it: nothing of it compiled yet."""
    known = dict(LOOPS)
    copy = Loop(one.body, True, dict(one.options))
    LOOPS.clear()
    LOOPS.update(known)
    return copy


@contextlib.contextmanager
def as_nobody(*folders):
    """As a user for whom permissions count: root becomes nobody, and is given these folders."""
    if os.geteuid() != 0:
        yield
        return
    for folder in folders:
        os.chown(folder, NOBODY, NOBODY)
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def environment(**said):
    """Of another process of this interpreter, told nothing about Numba but this."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    path = os.pathsep.join(filter(None, sys.path))
    return bare | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | said
