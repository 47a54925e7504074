"""How loops are compiled: kept in a file beside their source, without the GIL, x/0 an infinity or NaN as in NumPy.

    @loop                   IEEE arithmetic, in the order written
    @inner                  the same for what only other loops call: half the time to compile
    @loop_with(fastmath)    sums that LLVM may order anew ("reassoc"), or other liberties by name

What costs at first use, and is therefore not to be found in loops: to assign an array to a slice (NumPy's shape
errors are compiled along with it, 3–5 s; write the loop), an array as an index, a helper that is compiled for several
types of an argument that it hardly looks at, or for a literal (``f(0)``) and for a number, np.argsort (2 s; write the
sort), arrays made of each new kind (0.1 s; made in Python and passed in they are free). A body is optimised again
wherever it is called from. What stands under ``if a is not None`` is not compiled where the argument ``a`` is None.
"""

from __future__ import annotations

from typing import Any

from numba import njit

_compile: Any = njit  # its types leave some options out
loop = _compile(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
inner = _compile(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


def loop_with(fastmath: set[str]) -> Any:
    """As :data:`loop`, with some of the liberties that LLVM knows."""
    return _compile(cache=True, nogil=True, error_model="numpy", fastmath=fastmath)
