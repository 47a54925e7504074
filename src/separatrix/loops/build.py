"""Build loops ahead:  python -m separatrix.loops.build [--into FOLDER] [--jobs N] [--table]

Every signature of ``signatures.txt`` is compiled for the baseline processor, in processes side by side, and kept in
``loops/built`` (:mod:`separatrix.loops.kept`); what is there already and still right is left alone. The hook of
the build backend calls this for a wheel and for an editable install (``tools/packing/hook.py``), the Makefile before
it runs anything, ``separatrix doctor --fix`` for an installed package. Cost: a minute of processor time for all.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import os
import platform
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from importlib import import_module, metadata
from pathlib import Path

from separatrix.loops import kept
from separatrix.loops.folders import unwritable
from separatrix.loops.processor import BASELINE, SAID

STAMP = "made-of.txt"
spent: dict[
    str, float
] = {}  # loop → seconds of processor time that compiling its signatures took in this build
PACKAGE = kept.ROOM.parent.parent  # the folder that holds separatrix


class BuildError(RuntimeError):
    """Loops that could not be compiled."""


def build(
    folder: Path = kept.SHIPPED,
    jobs: int | None = None,
    tell: Callable[[str], None] = print,
    seed: Path | None = None,
) -> int:
    """Compile what is missing in a folder, drop what is of no use any more; the number of signatures compiled.

    seed : a folder that may hold some already; it is left as it is
    """
    if not BASELINE:
        raise BuildError(f"no baseline is known for this processor ({platform.machine()})")
    if complete(folder):
        return 0
    made_of = stamp()
    began = time.perf_counter()
    planned = plan()
    wanted = {key.file(): key for keys in planned.values() for key in keys}
    if seed is not None:
        _copy([key for key in wanted.values() if kept.stands(seed, key)], seed, folder)
    missing = [key for keys in planned.values() for key in keys if not kept.stands(folder, key)]
    if missing:
        compile_into(folder, missing, jobs, tell)
    if gone := [key for key in wanted.values() if not kept.stands(folder, key)]:
        raise lost(folder, gone, len(wanted))
    for path in folder.glob("*.loop"):
        if path.name not in wanted:
            path.unlink()
    with contextlib.suppress(
        OSError
    ):  # a folder that is only read, and holds all: looked through again next time
        (folder / STAMP).write_text(made_of + _listing(folder), encoding="utf-8")
    tell(f"loops: {len(wanted)} ready, {len(missing)} compiled in {time.perf_counter() - began:.0f} s")
    return len(missing)


def complete(folder: Path) -> bool:
    """Whether a folder holds what a build would leave there, as far as its stamp and the sizes of its files tell."""
    return _read(folder / STAMP) == stamp() + _listing(folder)


def stamp() -> str:
    """What a build depends on: the room's files, Python, Numba and llvmlite. Nothing is imported for it."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted([*kept.ROOM.rglob("*.py"), *kept.ROOM.glob("*.txt")]):
        digest.update(path.relative_to(kept.ROOM).as_posix().encode() + b"\0" + path.read_bytes())
    versions = (metadata.version(name) for name in ("numba", "llvmlite"))
    here = (sys.platform, platform.machine(), BASELINE, sys.version.split()[0], *versions)
    return " ".join((*here, digest.hexdigest())) + "\n"


def _listing(folder: Path) -> str:
    """A digest of the names and sizes of what a folder holds: a file that is gone or cut short is missed."""
    there = sorted((file.name, file.stat().st_size) for file in folder.glob("*.loop"))
    return hashlib.blake2b(repr(there).encode(), digest_size=16).hexdigest() + "\n"


def _copy(keys: list[kept.Key], seed: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for key in keys:
        shutil.copyfile(seed / key.file(), folder / key.file())


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def plan() -> dict[str, list[kept.Key]]:
    """Loop → the keys of its signatures; those that take longest first, as far as their length tells."""
    from separatrix.loops import compiled, dispatch, signatures

    listed = signatures.listed()
    for loop in listed:
        import_module(f"separatrix.loops.{loop.rpartition('.')[0]}")
    unknown = listed.keys() - compiled.LOOPS.keys()
    if unknown:
        raise BuildError(f"{signatures.LIST.name} lists {', '.join(sorted(unknown))}, which is no loop")

    def length(loop: str) -> int:
        return len(compiled.LOOPS[loop].body.__code__.co_code) * len(listed[loop])

    return {
        loop: [dispatch.key_of(compiled.LOOPS[loop], signatures.parsed(words)) for words in listed[loop]]
        for loop in sorted(listed, key=length, reverse=True)
    }


def compile_into(
    folder: Path, keys: Sequence[kept.Key], jobs: int | None, tell: Callable[[str], None]
) -> None:
    """Compile for the baseline, a loop at a time to each of several processes; what each cost goes to `spent`."""
    began = time.perf_counter()
    missing: dict[str, list[str]] = {}
    for key in keys:
        missing.setdefault(key.loop, []).append(key.signature)
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for loop in missing:
        waiting.put(loop)
    done, complaints = 0, []
    lock = threading.Lock()

    def serve() -> None:
        nonlocal done
        with subprocess.Popen(
            [sys.executable, "-m", "separatrix.loops.build", "--worker", "--into", str(folder)],
            env=_setting(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        ) as worker:  # fmt: skip
            assert worker.stdin is not None and worker.stdout is not None
            while True:
                try:
                    loop = waiting.get_nowait()
                except queue.Empty:
                    break
                try:
                    print(loop, *missing[loop], sep="\t", file=worker.stdin, flush=True)
                    answer = worker.stdout.readline().strip()
                except BrokenPipeError:
                    answer = ""
                with lock:
                    done += len(missing[loop])
                    answered, _, took = answer.partition("\t")
                    if answered != loop:
                        complaints.append(f"{loop}: {answer or 'the process ended'}")
                        return
                    spent[loop] = float(took)
                    tell(f"loops: {done} of {len(keys)} compiled, {time.perf_counter() - began:.0f} s\r")
            worker.stdin.close()

    threads = [threading.Thread(target=serve) for _ in range(min(jobs or _cores(), len(missing)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if complaints:
        raise BuildError("; ".join(complaints))


def _setting() -> dict[str, str]:
    """The environment of a worker: the baseline processor, and nothing else that Numba may have been told."""
    told = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return told | {
        "NUMBA_CPU_NAME": BASELINE,
        "NUMBA_CPU_FEATURES": SAID,
        "NUMBA_DISABLE_INTEL_SVML": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PACKAGE), os.environ.get("PYTHONPATH")))),
    }


def _work(folder: Path) -> None:
    """Compile what is named on standard input, a line a loop: its name and its signatures, tabs between them.

    The name comes back, with the seconds of processor time that it took, or what went wrong.
    """
    from separatrix.loops import compiled, dispatch, signatures, telling

    dispatch.built_in, telling.aloud = folder, False
    gc.disable()  # a compiler makes much and keeps most of it: looking for what is gone takes a tenth of the time
    for line in sys.stdin:
        (name, *many), began = line.strip().split("\t"), time.process_time()
        try:
            import_module(f"separatrix.loops.{name.rpartition('.')[0]}")
            loop = compiled.LOOPS[name]
            for words in many:
                loop.made().compile(signatures.parsed(words))
            name = f"{name}\t{time.process_time() - began:.3f}"
        except Exception as error:
            name = " ".join(f"{type(error).__name__}: {error}".split())
        print(name, flush=True)


def table(jobs: int | None = None) -> str:
    """Loop, number of signatures, seconds of processor time to compile them; the dearest first."""
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), jobs, _told)
    count = {loop: len(keys) for loop, keys in plan().items()}
    lines = [f"{'loop':32}{'signatures':>11}{'seconds':>9}"]
    for loop in sorted(spent, key=spent.__getitem__, reverse=True):
        lines.append(f"{loop:32}{count[loop]:11}{spent[loop]:9.2f}")
    lines.append(f"{'all':32}{sum(count.values()):11}{sum(spent.values()):9.2f}")
    return "\n".join(lines)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def lost(folder: Path, keys: Sequence[kept.Key], of: int) -> BuildError:
    """What is to be said where keys were compiled and their code is not there."""
    why = kept.faults.get(str(folder / keys[0].file())) or unwritable(folder) or "no file was written"
    what = f"{len(keys)} of {of} were not kept in {folder}, {keys[0].loop} first: {why}"
    return BuildError(f"{what}; make room there, or let it be written")


def _told(line: str) -> None:
    """Progress on a terminal; elsewhere the last line only."""
    if not line.endswith("\r"):
        print(line, flush=True)
    elif sys.stdout.isatty():
        print(line, end="", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Build; 0 when done, 1 with a sentence when not."""
    parser = argparse.ArgumentParser(
        prog="python -m separatrix.loops.build", description="Compile loops ahead."
    )
    parser.add_argument("--into", type=Path, default=kept.SHIPPED, metavar="FOLDER")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--seed", type=Path, metavar="FOLDER", help="copy what is right from there first")
    parser.add_argument("--table", action="store_true", help="compile all anew, and say what each loop cost")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        _work(given.into)
        return 0
    try:
        if given.table:
            print(table(given.jobs))
        else:
            build(given.into, given.jobs, _told, given.seed)
    except (BuildError, ImportError, OSError) as error:  # ImportError: no Numba
        print(f"separatrix: loops were not built ahead: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
