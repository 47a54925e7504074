"""Build loops ahead:  python -m separatrix.loops.build [--into FOLDER] [--jobs N]

Every signature of ``signatures.txt`` is compiled for the baseline processor, in processes side by side, and kept in
``loops/built`` (:mod:`separatrix.loops.kept`); what is there already and still right is left alone. The hook of
the build backend calls this for a wheel and for an editable install (``tools/build_hook.py``), the Makefile before
it runs anything, ``separatrix doctor --fix`` for an installed package. Cost: a minute of processor time for all.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path

from separatrix.loops import kept

STAMP = "made-of.txt"
PACKAGE = kept.ROOM.parent.parent  # the folder that holds separatrix


class BuildError(RuntimeError):
    """Loops that could not be compiled."""


def build(folder: Path = kept.SHIPPED, jobs: int | None = None, tell: Callable[[str], None] = print) -> int:
    """Compile what is missing in a folder, drop what is of no use any more; the number of loops compiled."""
    made_of = stamp()
    if _read(folder / STAMP) == made_of:
        return 0
    from separatrix.loops import dispatch

    if not dispatch.BASELINE:
        raise BuildError(f"no baseline is known for this processor ({dispatch.platform.machine()})")
    began = time.perf_counter()
    wanted = {key.file(): key for keys in plan().values() for key in keys}
    missing = {
        loop: len(lacking)
        for loop, keys in plan().items()
        if (lacking := [key for key in keys if kept.read(folder, key) is None])
    }
    total = sum(missing.values())
    if missing:
        _compile(missing, folder, jobs or os.cpu_count() or 1, tell, began)
    lost = [key for key in wanted.values() if kept.read(folder, key) is None]
    if lost:
        raise BuildError(
            f"{len(lost)} of {len(wanted)} were not kept, {lost[0].loop} first: {_why(folder, lost[0])}"
        )
    for path in folder.glob("*.loop"):
        if path.name not in wanted:
            path.unlink()
    (folder / STAMP).write_text(made_of, encoding="utf-8")
    tell(f"loops: {len(wanted)} ready, {total} compiled in {time.perf_counter() - began:.0f} s")
    return total


def stamp() -> str:
    """What a build depends on: the room's files, Python, Numba and llvmlite. Nothing is imported for it."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted([*kept.ROOM.rglob("*.py"), *kept.ROOM.glob("*.txt")]):
        digest.update(path.relative_to(kept.ROOM).as_posix().encode() + b"\0" + path.read_bytes())
    versions = (metadata.version(name) for name in ("numba", "llvmlite"))
    return " ".join((sys.platform, sys.version.split()[0], *versions, digest.hexdigest())) + "\n"


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


def _compile(
    missing: dict[str, int], folder: Path, jobs: int, tell: Callable[[str], None], began: float
) -> None:
    """Hand loops to processes, one at a time to each."""
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for loop in missing:
        waiting.put(loop)
    total, done, complaints = sum(missing.values()), 0, []
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
                    print(loop, file=worker.stdin, flush=True)
                    answer = worker.stdout.readline().strip()
                except BrokenPipeError:
                    answer = ""
                with lock:
                    done += missing[loop]
                    if answer != loop:
                        complaints.append(f"{loop}: {answer or 'the process ended'}")
                        return
                    tell(f"loops: {done} of {total} compiled, {time.perf_counter() - began:.0f} s\r")
            worker.stdin.close()

    threads = [threading.Thread(target=serve) for _ in range(min(jobs, len(missing)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if complaints:
        raise BuildError("; ".join(complaints))


def _setting() -> dict[str, str]:
    """The environment of a worker: the baseline processor, and nothing else that Numba may have been told."""
    from separatrix.loops.dispatch import BASELINE, SAID

    told = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return told | {
        "NUMBA_CPU_NAME": BASELINE,
        "NUMBA_CPU_FEATURES": SAID,
        "NUMBA_DISABLE_INTEL_SVML": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(PACKAGE), os.environ.get("PYTHONPATH")))),
    }


def _work(folder: Path) -> None:
    """Compile the loops named on standard input, a line each; the name comes back, or what went wrong."""
    from separatrix.loops import compiled, dispatch, signatures

    dispatch.built_in = folder
    listed = signatures.listed()
    for line in sys.stdin:
        name = line.strip()
        try:
            import_module(f"separatrix.loops.{name.rpartition('.')[0]}")
            loop = compiled.LOOPS[name]
            for words in listed[name]:
                types = signatures.parsed(words)
                if kept.read(folder, dispatch.key_of(loop, types)) is None:
                    loop.made().compile(types)
        except Exception as error:
            name = " ".join(f"{type(error).__name__}: {error}".split())
        print(name, flush=True)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _why(folder: Path, key: kept.Key) -> str:
    return kept.faults.get(str(folder / key.file()), "no file was written")


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
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.worker:
        _work(given.into)
        return 0
    try:
        build(given.into, given.jobs, _told)
    except BuildError as error:
        print(f"separatrix: loops were not built ahead: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
