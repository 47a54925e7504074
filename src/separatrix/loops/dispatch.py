"""Where a loop's machine code comes from:  built with the package → compiled here before → compiled now.

    built        for a baseline processor (x86-64-v3: AVX2 and FMA), in ``loops/built``; taken on every processor that
                 has those features, where Python, Numba, LLVM and the loop's source are those it was built from
    cached       in the user's folder, for this very processor
    compiled     and kept there; a sentence on standard error where it takes more than two seconds

What cannot be read, written or believed is passed over (:mod:`separatrix.loops.kept`): the answer is the same, later.
So is what a later Numba does otherwise than those known here: its code is then compiled in every process anew.
This module imports Numba; it is imported when a loop is first called. Cost of a loop that is found: 2–40 ms.
"""

from __future__ import annotations

import pickle
import platform
import sys
import sysconfig
import time
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import njit
from numba.core import config

from separatrix.loops import kept, source, telling
from separatrix.loops.compiled import Instruction, Loop
from separatrix.loops.processor import BASELINE, SAID, runs_baseline
from separatrix.loops.signatures import spelled

PARTS = 9  # that Numba takes a result apart into; the seventh, a listing of types for debugging, is left out
VERSIONS = ", ".join(
    f"{name} {version}"
    for name, version in (
        (
            "Python",
            ".".join(map(str, sys.version_info[:2]))
            + "t" * bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        ),
        ("Numba", numba.__version__),
        ("llvmlite", llvmlite.__version__),
    )
)
# What Numba may be told that changes the code it makes: said in the keys of what is compiled here.
TOLD = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")

built_in: Path | None = None  # where a build keeps what it compiles, and reads nothing
asked: dict[tuple[str, Any], str] = {}  # (loop, types) → "built", "cached" or "compiled", of this process
seconds = telling.seconds


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
        compiled._cache = Kept(loop, compiled._cache)
        telling.listen()
    return compiled


def _plain(loop: Loop) -> Any:
    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):  # whole numbers wrap, x/0 is an infinity, as in the loop
            return loop.body(*arguments)

    return run


class Kept:
    """What Numba asks for code before it compiles, and gives it afterwards; else its own way of keeping nothing."""

    def __init__(self, loop: Loop, otherwise: Any):
        self.loop, self.otherwise = loop, otherwise
        self.made_of = source.digest(loop)  # as the loop is now: what stands on disk may change

    def __getattr__(self, name: str) -> Any:
        return getattr(self.otherwise, name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if telling.inside(self):
            return None  # what another loop calls is compiled with it, and never depends on what was kept
        began = time.perf_counter()
        try:
            result = None if built_in else self._found(sig, target_context)
        except Exception as error:  # a Numba that does things otherwise
            result = None
            self._fault("cannot be looked for", error)
        seconds["found"] += time.perf_counter() - began
        if result is None:
            asked[self.loop.name, sig] = "compiled"
        return result

    def _found(self, sig: Any, context: Any) -> Any:
        from numba.core.compiler import CompileResult

        context.refresh()
        for origin, folder, processor in places(context):
            key = key_of(self.loop, sig, processor, self.made_of)
            code = kept.read(folder, key) if key.source else None
            if code is None:
                continue
            try:
                result = CompileResult._rebuild(context, *pickle.loads(code))
            except Exception as error:  # the digest was right: something differs that no key says
                self._fault("cannot be used", error, folder / key.file())
                continue
            asked[self.loop.name, sig] = origin
            return result
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            if not telling.inside(self) and not data.lifted and not data.library.has_dynamic_globals:
                self._keep(sig, data)
        except Exception as error:  # as above; what was compiled is there, and is used
            self._fault("cannot be kept", error)

    def _keep(self, sig: Any, data: Any) -> None:
        from numba.core import serialize

        folder = built_in or kept.users_folder()
        key = key_of(
            self.loop, sig, built_for() if built_in else processor_of(data.target_context), self.made_of
        )
        if folder is None or not key.source:
            return
        parts = list(data._reduce())
        if len(parts) != PARTS or not isinstance(parts[6], str):
            raise TypeError(f"{len(parts)} parts of a result, {PARTS} expected")
        parts[6] = ""
        kept.write(folder, key, serialize.dumps(tuple(parts)), anywhere=built_in is not None)

    def _fault(self, what: str, error: Exception, path: Path | None = None) -> None:
        kept.faults[str(path or self.loop.name)] = f"{what}: {error!r}"


def key_of(
    loop: Loop, types: tuple[Any, ...], processor: str | None = None, made_of: str | None = None
) -> kept.Key:
    """What the code of a loop for these types is kept under; for the baseline unless another processor is named."""
    return kept.Key(
        loop=loop.name,
        signature=spelled(types),
        source=source.digest(loop) if made_of is None else made_of,
        processor=kind(processor),
        versions=VERSIONS,
    )


def kind(processor: str | None = None) -> str:
    """A processor, or the baseline, with its system: what code of a key runs on."""
    return f"{sys.platform} {platform.machine()} {built_for() if processor is None else processor}"


def built_for() -> str:
    """The processor of what is built ahead, as keys say it."""
    return f"{BASELINE} {SAID}"


def processor_of(context: Any) -> str:
    """What Numba compiles for: the name of the processor and its features, and what else it was told."""
    svml = ["SVML"] if getattr(config, "USING_SVML", False) else []  # calls a library that must be there
    return " ".join((named(context), *told(), *svml))


def named(context: Any) -> str:
    """The name and the features of the processor that Numba compiles for."""
    return " ".join(context.codegen().magic_tuple()[1:])


def told() -> list[str]:
    """What Numba was told that changes its code, where that is not what it does of itself."""
    usual = {"OPT": "3", "LOOP_VECTORIZE": "1"}
    said = {name: getattr(config, name, None) or 0 for name in TOLD}
    words = {name: str(getattr(value, "_raw_value", int(value))) for name, value in said.items()}  # OPT=max
    return [f"{name}={word}" for name, word in words.items() if word != usual.get(name, "0")]


def places(context: Any) -> list[tuple[str, Path, str]]:
    """(origin, folder, processor) of where code may be kept, the first choice first."""
    here, users = processor_of(context), kept.users_folder()
    ahead = runs_baseline(named(context)) and not told()
    first = [("built", kept.SHIPPED, built_for())] if ahead else []
    second = [("built", users, built_for())] if users and ahead else []  # separatrix doctor --fix
    return first + second + ([("cached", users, here)] if users else [])
