"""Where the loops of ``signatures.txt`` would come from in this process:  examine() → State

Every key is looked for as a call would look for it (:func:`separatrix.loops.dispatch.places`), and what is found is
loaded, but not run. Where Numba cannot be imported, files are counted and the reason is told.

    built       with the package                cached      compiled here before, for this processor
    built here  for the baseline, by mending    missing     will be compiled when first used

Cost: a second, most of it Numba's import.
"""

from __future__ import annotations

import contextlib
import pickle
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from separatrix.loops import compiled, kept, processor, signatures, source
from separatrix.loops.folders import File, Folder, Here, exposed, survey

BUILT, BUILT_HERE, CACHED = "built", "built here", "cached"


@dataclass(frozen=True)
class State:
    """What is known of compiled loops."""

    listed: int  # signatures that loops are built for
    shipped: Folder  # with the package
    users: Folder | None  # None where there is no home
    origins: Mapping[str, int] = field(default_factory=dict)  # built, built here, cached → how many of them
    missing: tuple[tuple[str, str], ...] = ()  # (loop, signature) for which there is no code
    faulty: tuple[File, ...] = ()  # files that should be read and are not believed, or cannot be loaded
    processor: str = ""  # LLVM's name of what is compiled for
    baseline: str = ""  # what is built for; "" where no such thing is known
    lacks: tuple[str, ...] = ()  # of the baseline's features
    another: str = (
        ""  # the processor that NUMBA_CPU_NAME asks for, where it is neither this one nor the baseline
    )
    runs_baseline: bool = False
    told: tuple[str, ...] = ()  # what Numba was told that changes its code
    versions: str = ""  # of Python, Numba and llvmlite
    trouble: str = ""  # why Numba cannot be imported

    @property
    def faults(self) -> tuple[File, ...]:
        """Every file that is not believed."""
        users = self.users.faulty if self.users else ()
        return tuple({file.path: file for file in (*self.shipped.faulty, *users, *self.faulty)}.values())

    @property
    def takes_built(self) -> bool:
        """Whether code for the baseline is asked for at all."""
        return self.runs_baseline and not self.told

    @property
    def strays(self) -> tuple[File, ...]:
        return self.shipped.strays + (self.users.strays if self.users else ())

    @property
    def leftovers(self) -> tuple[File, ...]:
        return self.shipped.leftovers + (self.users.leftovers if self.users else ())


def examine() -> State:
    """Look for every listed loop."""
    listed, users = signatures.listed, kept.users_folder()
    count = sum(map(len, listed().values()))
    try:
        from separatrix.loops import dispatch

        context = _context()
    except Exception as error:  # a Numba that does not go with its NumPy says so in many ways
        return State(
            listed=count,
            shipped=survey(kept.SHIPPED, (), None),
            users=survey(users, (), None) if users else None,
            missing=tuple((loop, words) for loop, many in listed().items() for words in many),
            trouble=" ".join(f"{type(error).__name__}: {error}".split()),
        )
    origins: Counter[str] = Counter()
    missing: list[tuple[str, str]] = []
    faulty: list[File] = []
    sought: set[str] = set()  # files looked for; every other is judged by what it says
    places = dispatch.places(context)
    open_to_others = {
        folder for _, folder, _ in places if exposed(folder)
    }  # said of the folder, not of its files
    for loop, words, types in _types(listed()):
        for _, folder, made_for in places:
            key = dispatch.key_of(loop, types, made_for)
            path = folder / key.file()
            sought.add(path.name)
            why = "" if _usable(context, folder, key) else kept.faults.get(str(path), "absent")
            if not why:
                origins[_origin(folder, made_for)] += 1
                break
            if why != "absent" and folder not in open_to_others:
                faulty.append(File(path, _size(path), why))
        else:
            missing.append((loop.name, words))
    name = dispatch.named(context)

    def here(*processors: str, shared: bool = False) -> Here:
        return Here(dispatch.VERSIONS, processors, _source, shared)

    return State(
        listed=count,
        shipped=survey(kept.SHIPPED, sought, here(dispatch.kind())),
        users=survey(users, sought, here(shared=True)) if users else None,
        origins=origins,
        missing=tuple(missing),
        faulty=tuple(faulty),
        processor=name.partition(" ")[0],
        baseline=processor.BASELINE,
        lacks=processor.lacking(name),
        another=processor.another(),
        runs_baseline=processor.runs_baseline(name),
        told=tuple(dispatch.told()),
        versions=dispatch.VERSIONS,
    )


def _source(loop: str) -> str:
    """What a loop of this name is made of in this process."""
    with contextlib.suppress(ImportError):
        import_module(f"separatrix.loops.{loop.rpartition('.')[0]}")
    return source.digest(compiled.LOOPS[loop]) if loop in compiled.LOOPS else ""


def _context() -> Any:
    """What Numba compiles for here, ready to load code."""
    from numba.core.registry import cpu_target

    cpu_target.target_context.refresh()
    return cpu_target.target_context


def _types(listed: Mapping[str, list[str]]) -> Iterator[tuple[compiled.Loop, str, tuple[Any, ...]]]:
    """(loop, words, types) of every signature; of a loop that is no more, none."""
    for name, many in listed.items():
        import_module(f"separatrix.loops.{name.rpartition('.')[0]}")
        for words in many if name in compiled.LOOPS else ():
            yield compiled.LOOPS[name], words, signatures.parsed(words)


def _usable(context: Any, folder: Path, key: kept.Key) -> bool:
    """Whether the code of a key is there, is believed, and can be loaded; else ``kept.faults`` says why not."""
    from numba.core.compiler import CompileResult

    path = str(folder / key.file())
    kept.faults.pop(path, None)  # of an earlier look
    code = kept.read(folder, key) if key.source else None
    if code is None:
        return False
    try:
        CompileResult._rebuild(context, *pickle.loads(code))
    except Exception as error:
        kept.faults[path] = f"cannot be used: {error!r}"
        return False
    return True


def _origin(folder: Path, made_for: str) -> str:
    from separatrix.loops.dispatch import built_for

    return BUILT if folder == kept.SHIPPED else BUILT_HERE if made_for == built_for() else CACHED


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
