"""Where a loop's machine code comes from:  built with the package → compiled here before → compiled now.

    built        for a baseline processor (x86-64-v3: AVX2 and FMA), in ``loops/built``; taken on every processor that
                 has those features, where Python, Numba, LLVM and the loop's source are those it was built from
    cached       in the user's folder, for this very processor
    compiled     and kept there; a sentence on standard error where it takes more than two seconds

What cannot be read, written or believed is passed over (:mod:`separatrix.loops.kept`): the answer is the same, later.
The one module that imports Numba; it is imported when a loop is first called. Cost of a loop that is found: 2–40 ms.
"""

from __future__ import annotations

import pickle
import platform
import sys
import threading
import time
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import njit
from numba.core import caching, config, event, serialize
from numba.core.compiler import CompileResult

from separatrix.loops import kept
from separatrix.loops.compiled import Instruction, Loop
from separatrix.loops.signatures import spelled

# LLVM's name of the processor that loops are built for, what one must have to run them, and what is said to LLVM
# beside the name, for a name alone would keep what only the building machine has.
X86, ARM = ("x86-64-v3", "avx2 bmi bmi2 f16c fma lzcnt movbe", "-avx512f"), ("generic", "neon", "+neon")
BASELINE, FEATURES, SAID = {"x86_64": X86, "AMD64": X86, "aarch64": ARM, "arm64": ARM}.get(
    platform.machine(), ("", "", "")
)
PATIENCE = 2.0  # seconds of compiling before it is said
VERSIONS = ", ".join(
    f"{name} {version}"
    for name, version in (
        ("Python", ".".join(map(str, sys.version_info[:2]))),
        ("Numba", numba.__version__),
        ("llvmlite", llvmlite.__version__),
    )
)

built_in: Path | None = None  # where a build keeps what it compiles, and reads nothing
asked: dict[tuple[str, Any], str] = {}  # (loop, types) → "built", "cached" or "compiled", of this process
seconds = {"found": 0.0, "compiled": 0.0}  # spent on finding and on compiling loops


def dispatcher(loop: Loop) -> Any:
    """What is called in place of a loop: Numba's dispatcher, with our way of keeping code; Python where told so."""
    if getattr(config, "DISABLE_JIT", 0):
        return _plain(loop)
    known = loop.body.__globals__
    called = {name: known.get(name) for name in loop.body.__code__.co_names}
    made = {name: value.made() for name, value in called.items() if isinstance(value, (Loop, Instruction))}
    body = FunctionType(loop.body.__code__, known | made, loop.body.__name__, loop.body.__defaults__)
    body.__module__, body.__qualname__, body.__doc__ = loop.__module__, loop.body.__qualname__, loop.__doc__
    compiled = njit(**loop.options)(body)
    if loop.kept:
        compiled._cache = Kept(loop)
    return compiled


def _plain(loop: Loop) -> Any:
    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):  # whole numbers wrap, x/0 is an infinity, as in the loop
            return loop.body(*arguments)

    return run


class Kept(caching.NullCache):
    """What Numba asks for code before it compiles, and gives it afterwards."""

    def __init__(self, loop: Loop):
        self.loop = loop

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if _compiling.depth:
            return None  # what another loop calls is compiled with it, and never depends on what was kept
        target_context.refresh()
        began = time.perf_counter()
        try:
            return self._found(sig, target_context)
        finally:
            seconds["found"] += time.perf_counter() - began

    def _found(self, sig: Any, context: Any) -> Any:
        if built_in is not None:
            return None
        name = (self.loop.name, sig)
        for origin, folder, processor in places(context):
            key = key_of(self.loop, sig, processor)
            code = kept.read(folder, key) if key.source else None
            if code is None:
                continue
            try:
                result = CompileResult._rebuild(context, *pickle.loads(code))
            except Exception as error:  # the digest was right: something differs that no key says
                kept.faults[str(folder / key.file())] = f"cannot be used: {error!r}"
                continue
            asked[name] = origin
            return result
        asked[name] = "compiled"
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if _compiling.depth or data.lifted or data.library.has_dynamic_globals:
            return
        here = processor_of(data.target_context)
        folder, processor = (built_in, BASELINE) if built_in else (kept.users_folder(), here)
        key = key_of(self.loop, sig, processor)
        if folder is not None and key.source:
            *parts, _, reload, environments = data._reduce()  # in between: a listing of types, for debugging
            kept.write(folder, key, serialize.dumps((*parts, "", reload, environments)))


def key_of(loop: Loop, types: tuple[Any, ...], processor: str = BASELINE) -> kept.Key:
    """What the code of a loop for these types and this processor is kept under."""
    return kept.Key(
        loop=loop.name,
        signature=spelled(types),
        source=kept.source_of(loop.__module__),
        processor=f"{sys.platform} {platform.machine()} {processor}",
        versions=VERSIONS,
    )


def processor_of(context: Any) -> str:
    """What Numba compiles for: the name of the processor and its features."""
    _, name, features = context.codegen().magic_tuple()
    return f"{name} {features}"


def runs_baseline(processor: str) -> bool:
    """Whether code for the baseline runs where Numba compiles for such a processor.

    >>> runs_baseline("x86-64-v2 -avx2") or runs_baseline("generic ")
    False
    """
    name, _, features = processor.partition(" ")
    said = features.split(",")
    return name == BASELINE or (bool(FEATURES) and all(f"+{word}" in said for word in FEATURES.split()))


def places(context: Any) -> list[tuple[str, Path, str]]:
    """(origin, folder, processor) of where code may be kept, the first choice first."""
    here, users = processor_of(context), kept.users_folder()
    first = [("built", kept.SHIPPED, BASELINE)] if runs_baseline(here) else []
    second = [("built", users, BASELINE)] if users and first else []  # separatrix doctor --fix
    return first + second + ([("cached", users, here)] if users else [])


class _Compiling(event.Listener):
    """Counts loops being compiled, one inside another; says so where the outermost takes long."""

    def __init__(self) -> None:
        self.depth = 0
        self._timer: threading.Timer | None = None
        self._began = 0.0
        self._said = False

    def on_start(self, event: Any) -> None:
        if self.depth or isinstance(event.data["dispatcher"]._cache, Kept):  # others' are their own affair
            self.depth += 1
        if self.depth != 1:
            return
        self._began, self._said = time.perf_counter(), False
        if built_in is None:
            name = event.data["dispatcher"].py_func.__qualname__
            self._timer = threading.Timer(PATIENCE, self._say, [name])
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        if not self.depth:
            return
        self.depth -= 1
        if self.depth:
            return
        took = time.perf_counter() - self._began
        seconds["compiled"] += took
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._said:
            print(f" {took:.0f} s", file=sys.stderr, flush=True)

    def _say(self, name: str) -> None:
        self._said = True
        print(f"separatrix: compiling {name} once for this machine …", end="", file=sys.stderr, flush=True)


_compiling = _Compiling()
event.register("numba:compile", _compiling)
