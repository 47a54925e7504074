"""What ``separatrix doctor --fix`` does:  mend(state, tell) → what was changed, a sentence each

Files that nobody believes, strays and leftovers are removed; then what no folder holds is compiled: for the baseline,
into the package's folder or, where that cannot be written to, into the user's; on a processor that does not run the
baseline, for that processor and into the user's. Nothing that is read today is touched.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from separatrix.loops import build, compiled, kept, signatures
from separatrix.loops.folders import File, unwritable
from separatrix.loops.state import State

NEVER = 1e6  # seconds
Tell = Callable[[str], None]  # a line of progress; one that ends in \r is to be written over


def mend(state: State, tell: Tell) -> list[str]:
    """Do it; :class:`separatrix.loops.build.BuildError` where loops could not be compiled or kept."""
    changed = _removed((*state.faults, *state.strays, *state.leftovers))
    if not state.missing or state.trouble:
        return changed
    began = time.perf_counter()
    folder = _target(state)
    if state.runs_baseline:
        missing = dict(Counter(loop for loop, _ in state.missing))
        build._compile(missing, folder, _cores(), tell, began)
        _confirm(state.missing, folder)
        _stamp()
    else:
        _compile_here(state, folder, tell, began)
    took = time.perf_counter() - began
    return [*changed, f"compiled {_count(len(state.missing), 'loop')} into {folder} in {took:.0f} s"]


def _removed(files: Iterable[File]) -> list[str]:
    """Remove files; how many went and how many stayed, by folder."""
    gone: Counter[Path] = Counter()
    stayed: dict[Path, str] = {}
    for file in files:
        try:
            file.path.unlink()
            gone[file.path.parent] += 1
        except FileNotFoundError:
            pass
        except OSError as error:
            stayed[file.path.parent] = error.strerror or str(error)
    if gone[kept.SHIPPED]:  # what a build believes to be complete is no more
        with contextlib.suppress(OSError):
            (kept.SHIPPED / build.STAMP).unlink()
    return [
        f"removed {_count(many, 'file')} of no use from {folder}" for folder, many in gone.items() if many
    ] + [f"files of no use in {folder} were left: {why}" for folder, why in stayed.items()]


def _target(state: State) -> Path:
    """Where code is kept from now on."""
    if state.runs_baseline and not state.shipped.unwritable:
        return state.shipped.path
    if state.users is None:
        raise build.BuildError("there is no home for what is compiled here; set NUMBA_CACHE_DIR to a folder")
    if state.users.unwritable:
        raise build.BuildError(
            f"nothing can be written in {state.users.path}: {state.users.unwritable}; set NUMBA_CACHE_DIR to a "
            "folder of yours"
        )
    return state.users.path


def _confirm(missing: Iterable[tuple[str, str]], folder: Path) -> None:
    """That what was compiled is there, and is believed."""
    from separatrix.loops import dispatch

    for loop, words in missing:
        key = dispatch.key_of(compiled.LOOPS[loop], signatures.parsed(words))
        if kept.read(folder, key) is None:
            raise _lost(key, folder)


def _compile_here(state: State, folder: Path, tell: Tell, began: float) -> None:
    """Compile for this very processor, in this process, as a first call would."""
    from separatrix.loops import dispatch

    patience, dispatch.PATIENCE = dispatch.PATIENCE, NEVER  # progress is told here
    try:
        for done, (loop, words) in enumerate(state.missing, 1):
            types = signatures.parsed(words)
            dispatcher = compiled.LOOPS[loop].made()
            if not hasattr(dispatcher, "compile"):
                raise build.BuildError("NUMBA_DISABLE_JIT is set: loops run as Python; unset it")
            dispatcher.compile(types)
            context = dispatcher.targetctx
            key = dispatch.key_of(compiled.LOOPS[loop], types, dispatch.processor_of(context))
            if kept.read(folder, key) is None:
                raise _lost(key, folder)
            tell(f"loops: {done} of {len(state.missing)} compiled, {time.perf_counter() - began:.0f} s\r")
    finally:
        dispatch.PATIENCE = patience


def _lost(key: kept.Key, folder: Path) -> build.BuildError:
    why = unwritable(folder) or kept.faults.get(str(folder / key.file())) or "no file was written"
    return build.BuildError(
        f"{key.loop} was compiled and could not be kept in {folder}: {why}; make room there"
    )


def _stamp() -> None:
    """Tell builds that the package's folder is complete, where it is."""
    keys = [key for many in build.plan().values() for key in many]
    if all(kept.read(kept.SHIPPED, key) is not None for key in keys):
        with contextlib.suppress(OSError):
            (kept.SHIPPED / build.STAMP).write_text(build.stamp(), encoding="utf-8")


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
