"""What a folder of compiled loops holds, and what may be done there:  survey(folder, wanted, here) → Folder

    wanted      files that loops are read from; :mod:`separatrix.loops.state` asks whether they are believed
    faulty      other files that nobody would believe: torn, or another user's
    strays      whole files that nothing reads: of an older source, of other versions
    others      the same, written of late: in a user's folder another environment may want them
    leftovers   what a process that was killed had begun to write

Whether a folder can be written to is tried, for permissions say little of read-only mounts, quotas and full disks;
who else can write to it is told in the words of :mod:`separatrix.loops.trust`.
Cost: one read of every file that is not wanted.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from pathlib import Path

from separatrix.loops import kept, trust

TRIAL = 1 << 20  # bytes: more than the code of any loop
UNDER_WAY = 600.0  # seconds for which another process may still be writing a file
FORGOTTEN = 30 * 86400.0  # seconds after which nobody is taken to want a file


@dataclass(frozen=True)
class Here:
    """What code must be of to be of use here."""

    versions: str
    processors: Collection[str]  # as they stand in a key; empty: any
    source: Callable[[str], str]  # of a loop, as it is in this process; "" where there is none
    shared: bool = False  # other environments keep theirs there too


@dataclass(frozen=True)
class File:
    """A file that is of no use, and why."""

    path: Path
    size: int
    why: str


@dataclass(frozen=True)
class Folder:
    """A folder of compiled loops."""

    path: Path
    files: int = 0
    size: int = 0
    faulty: tuple[File, ...] = ()
    strays: tuple[File, ...] = ()
    others: tuple[File, ...] = ()
    leftovers: tuple[File, ...] = ()
    unwritable: str = ""  # why nothing can be written there
    free: int | None = None  # bytes on its disk
    exposed: str = ""  # why nothing is read from it: who else could write there
    closable: bool = False  # by us, as nothing above it is at fault


def survey(path: Path, wanted: Collection[str], here: Here | None) -> Folder:
    """Look at a folder, which need not exist; without ``here`` files are counted only."""
    files: list[tuple[Path, int]] = []
    leftovers: list[File] = []
    try:
        with os.scandir(path) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                size = _size(Path(entry.path))
                if entry.name.endswith(".loop"):
                    files.append((Path(entry.path), size))
                elif entry.name.endswith(".part") and _age(Path(entry.path)) > UNDER_WAY:
                    leftovers.append(File(Path(entry.path), size, "was begun and never finished"))
    except OSError:
        pass  # there is none, or it cannot be read: then nothing is read from it
    faulty: list[File] = []
    strays: list[File] = []
    others: list[File] = []
    for file, size in files if here else ():
        if file.name not in wanted:
            right, why = _judged(file, here)  # type: ignore[arg-type]
            if why:
                wanted_elsewhere = here is not None and here.shared and _age(file) < FORGOTTEN
                (faulty if not right else others if wanted_elsewhere else strays).append(
                    File(file, size, why)
                )
    why = exposed(path)
    return Folder(
        path=path,
        files=len(files),
        size=sum(size for _, size in files),
        faulty=tuple(faulty),
        strays=tuple(strays),
        others=tuple(others),
        leftovers=tuple(leftovers),
        unwritable=unwritable(path),
        free=_free(_ground(path)),
        exposed=why,
        closable=bool(why) and _closable(path, why),
    )


def exposed(path: Path) -> str:
    """Why nothing is read from a folder, or would be if it were made; "" where it is."""
    try:
        return kept.why_not(path)
    except OSError:  # it is not there, and what is on the way to it is as it should be
        return ""


def close(path: Path) -> bool:
    """Take from others the right to write to a folder, no more of it than must be; whether it is believed now."""
    with contextlib.suppress(OSError):
        for bits in (stat.S_IWOTH, stat.S_IWGRP):
            if exposed(path):
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~bits)
    return not exposed(path)


def _closable(path: Path, why: str) -> bool:
    itself = path == kept.SHIPPED or why.startswith(f"{os.path.realpath(path)}: ")
    return itself and "another user's" not in why and os.geteuid() in (0, path.stat().st_uid)


def unwritable(path: Path) -> str:
    """Why no file can be written in a folder, or "" where it can; what is not there is tried where it would be."""
    ground = _ground(path)
    if ground.exists() and not ground.is_dir():
        return f"{ground} is no folder"
    try:
        with tempfile.TemporaryFile(dir=ground) as file:
            file.write(bytes(TRIAL))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _judged(path: Path, here: Here) -> tuple[bool, str]:
    """(whether it is a whole file of ours, why it is of no use here or "")."""
    try:
        with open(path, "rb") as file:
            if why := trust.opened(file.fileno()):
                return False, why
            text = _text(file.read())
    except OSError as error:
        return False, f"cannot be read: {error.strerror}"
    said = dict(line.partition(": ")[::2] for line in text.splitlines())
    if said.keys() != {field.name for field in fields(kept.Key)}:
        return False, "is torn, or no file of ours"
    if said["versions"] != here.versions:
        return True, f"made with {said['versions']}"
    if said["source"] != here.source(said["loop"]):
        return True, "made from another source"
    if here.processors and said["processor"] not in here.processors:
        return True, "made for another processor"
    return True, ""


def _text(whole: bytes) -> str:
    """What a file says it is the code of; "" where its digest is not right."""
    head, rest = whole[: len(kept.MAGIC) + 32], whole[len(kept.MAGIC) + 32 :]
    right = head == kept.MAGIC + hashlib.blake2b(rest, digest_size=32).digest()
    return rest.partition(b"\0")[0].decode(errors="replace") if right else ""


def _ground(path: Path) -> Path:
    """The folder, or where it would be made."""
    while not os.path.exists(path) and path != path.parent:
        path = path.parent
    return path


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _age(path: Path) -> float:
    """Seconds since a file was written; when it was last read is no measure, for we read it ourselves."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _free(ground: Path) -> int | None:
    try:
        return shutil.disk_usage(ground).free
    except OSError:
        return None
