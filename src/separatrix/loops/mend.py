"""What ``separatrix doctor --fix`` does:  mend(state, tell) → what was changed, a sentence each

Folders of ours that others can write to are closed; files that nobody believes, strays and leftovers are removed;
then what no folder holds is compiled: for the baseline, into the package's folder as a build does or, where that
cannot be written to, into the user's; where the baseline is not what Numba compiles for, for this processor and into
the user's. Nothing that is read today is touched.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from separatrix.loops import build, compiled, kept, signatures, telling
from separatrix.loops.folders import File, close
from separatrix.loops.state import State, examine

Tell = Callable[[str], None]  # a line of progress; one that ends in \r is to be written over


def mend(state: State, tell: Tell) -> list[str]:
    """Do it; :class:`separatrix.loops.build.BuildError` where loops could not be compiled or kept."""
    changed = _closed(state)
    if changed:
        state = examine()  # what stands in a folder that is closed now may be believed
    changed += _removed((*state.faults, *state.strays, *state.leftovers))
    if not state.missing or state.trouble:
        return changed
    began = time.perf_counter()
    folder = _target(state)
    try:
        made = _compiled(state, folder, tell)
    except OSError as error:
        raise build.BuildError(f"{error.filename or folder}: {error.strerror}") from error
    took = time.perf_counter() - began
    return [*changed, f"compiled {_count(made, 'loop')} into {folder} in {took:.0f} s"]


def _compiled(state: State, folder: Path, tell: Tell) -> int:
    """Compile what is missing, see that it is there and is believed; how many signatures that were."""
    from separatrix.loops import dispatch

    made = len(state.missing)
    types = [(compiled.LOOPS[loop], signatures.parsed(words)) for loop, words in state.missing]
    if state.takes_built:
        keys = [dispatch.key_of(*one) for one in types]
        if folder == kept.SHIPPED:
            made = build.build(folder, tell=tell)
        else:
            build.compile_into(folder, keys, None, tell)
    else:
        keys = _compile_here(types, tell)
    if gone := [key for key in keys if kept.read(folder, key) is None]:
        raise build.lost(folder, gone, len(keys))
    return made


def _closed(state: State) -> list[str]:
    """Close folders that others can write to, where that is ours to do."""
    return [
        f"closed {folder.path}: only you can write to it now"
        for folder in (state.shipped, state.users)
        if folder and folder.closable and close(folder.path)
    ]


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
    return [
        f"removed {_count(many, 'file')} of no use from {folder}" for folder, many in gone.items() if many
    ] + [f"files of no use in {folder} were left: {why}" for folder, why in stayed.items()]


def _target(state: State) -> Path:
    """Where code is kept from now on."""
    users = state.users
    if state.takes_built and not (state.shipped.unwritable or state.shipped.exposed):
        return state.shipped.path
    if users is None:
        raise build.BuildError("there is no home for what is compiled here; set NUMBA_CACHE_DIR to a folder")
    if users.unwritable or users.exposed:
        does = (
            f"written in {users.path}: {users.unwritable}" if users.unwritable else f"kept: {users.exposed}"
        )
        raise build.BuildError(f"nothing can be {does}; set NUMBA_CACHE_DIR to a folder of yours alone")
    return users.path


def _compile_here(types: Iterable[tuple[compiled.Loop, Any]], tell: Tell) -> list[kept.Key]:
    """Compile for this very processor, in this process, as a first call would; the keys of it."""
    from separatrix.loops import dispatch

    began, total, keys = time.perf_counter(), len(types := list(types)), []
    aloud, telling.aloud = telling.aloud, False  # progress is told here
    try:
        for loop, arguments in types:
            dispatcher = loop.made()
            if not hasattr(dispatcher, "compile"):
                raise build.BuildError("NUMBA_DISABLE_JIT is set: loops run as Python; unset it")
            dispatcher.compile(arguments)
            keys.append(dispatch.key_of(loop, arguments, dispatch.processor_of(dispatcher.targetctx)))
            tell(f"loops: {len(keys)} of {total} compiled, {time.perf_counter() - began:.0f} s\r")
    finally:
        telling.aloud = aloud
    return keys


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
