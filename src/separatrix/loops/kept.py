"""Compiled loops on disk:  a file a loop and signature, written whole or not at all, and read only if believed.

    magic line · digest of the rest (32 bytes) · what was compiled (text) · NUL · the code

A file is believed where its digest is right, its text is the text of what is asked for (loop, signature, source,
processor, versions), and nobody could have written it who cannot write the library itself, for it is unpickled.
Everything else is the same as no file, and is noted in :data:`faults` for ``separatrix doctor``.

Two places hold such files: :data:`SHIPPED`, made with the package for a baseline processor, and :func:`users_folder`,
for what was compiled here. Cost of a look: one read of 10–400 kB and its digest, under a millisecond.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat
import sys
import uuid
from dataclasses import dataclass, fields
from pathlib import Path

MAGIC = b"separatrix loop 1\n"
SHIPPED = Path(__file__).parent / "built"
ROOM = Path(__file__).parent
_OURS = re.compile(r"^from (separatrix\.loops\.[\w.]+) import", re.MULTILINE)

faults: dict[str, str] = {}  # path → why it was not believed, or not written


@dataclass(frozen=True)
class Key:
    """What a file of compiled code is the code of."""

    loop: str  # trees.best.grow_best
    signature: str
    source: str  # digest of the module and of the modules of this room that it imports
    processor: str
    versions: str  # of Python, Numba and llvmlite

    def text(self) -> bytes:
        return "\n".join(f"{f.name}: {getattr(self, f.name)}" for f in fields(self)).encode()

    def file(self) -> str:
        return f"{self.loop}-{hashlib.blake2b(self.text(), digest_size=10).hexdigest()}.loop"


def read(folder: Path, key: Key) -> bytes | None:
    """The code kept under a key, or None."""
    path = folder / key.file()
    try:
        with open(path, "rb") as file:
            if not ours_alone(os.fstat(file.fileno())):
                return _fault(path, "another user can write to it")
            whole = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        return _fault(path, f"cannot be read: {error.strerror}")
    head, rest = whole[: len(MAGIC) + 32], whole[len(MAGIC) + 32 :]
    if head != MAGIC + hashlib.blake2b(rest, digest_size=32).digest():
        return _fault(path, "is torn, or no file of ours")
    text, _, code = rest.partition(b"\0")
    if text != key.text():
        return _fault(path, "is about something else")
    faults.pop(str(path), None)
    return code


def write(folder: Path, key: Key, code: bytes) -> bool:
    """Keep code under a key; a folder that cannot be written to is no error."""
    rest = key.text() + b"\0" + code
    path = folder / key.file()
    passing = path.with_suffix(f".{uuid.uuid4().hex[:12]}.part")
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with open(passing, "xb") as file:
            file.write(MAGIC + hashlib.blake2b(rest, digest_size=32).digest() + rest)
        passing.chmod(0o644)
        os.replace(passing, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            passing.unlink()
        _fault(path, f"cannot be written: {error.strerror}")
        return False
    return True


def _fault(path: Path, why: str) -> bytes | None:
    faults[str(path)] = why
    return None


def ours_alone(info: os.stat_result) -> bool:
    """Whether nobody but us, root and who can write this very module could have written a file."""
    if os.name != "posix":
        return True  # folders of a user are the user's there
    library = os.stat(__file__)
    if info.st_uid not in (0, os.geteuid(), library.st_uid):
        return False
    group_may = info.st_mode & stat.S_IWGRP
    library_too = library.st_mode & stat.S_IWGRP and library.st_gid == info.st_gid
    return not info.st_mode & stat.S_IWOTH and (not group_may or bool(library_too))


def users_folder() -> Path | None:
    """Where what is compiled here is kept: $NUMBA_CACHE_DIR if it is set, else the user's folder for caches."""
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(given) / "separatrix"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "separatrix" / "loops"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "separatrix" / "loops"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "separatrix" / "loops"


@functools.cache
def source_of(module: str) -> str:
    """Digest of a module of this room and of what it imports of it, as they stand on disk; "" where unknown."""
    seen: dict[str, bytes] = {}
    waiting = [module]
    try:
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            text = ROOM.joinpath(*name.split(".")[2:]).with_suffix(".py").read_text(encoding="utf-8")
            seen[name] = text.encode()
            waiting += _OURS.findall(text)
            if "\n@instruction\n" in text:
                waiting.append("separatrix.loops.instructions")
    except (OSError, UnicodeDecodeError):
        return ""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(seen):
        digest.update(name.encode() + b"\0" + seen[name] + b"\0")
    return digest.hexdigest()
