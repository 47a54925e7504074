"""Compiled loops on disk:  a file a loop and signature, written whole or not at all, and read only if believed.

    magic line · digest of the rest (32 bytes) · what was compiled (text) · NUL · the code

A file is believed where its digest is right, its text is the text of what is asked for (loop, signature, source,
processor, versions), and nobody else could have written it (:mod:`separatrix.loops.trust`), for it is unpickled.
Everything else is the same as no file, and is noted in :data:`faults` for ``separatrix doctor``.

Two places hold such files: :data:`SHIPPED`, made with the package for a baseline processor, and :func:`users_folder`,
for what was compiled here. Cost of a look: one read of 10–400 kB and its digest, under a millisecond.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import uuid
from dataclasses import dataclass, fields
from pathlib import Path

from separatrix.loops import trust

MAGIC = b"separatrix loop 1\n"
SHIPPED = Path(__file__).parent / "built"
ROOM = Path(__file__).parent

faults: dict[str, str] = {}  # path → why it was not believed, or not written


@dataclass(frozen=True)
class Key:
    """What a file of compiled code is the code of."""

    loop: str  # trees.best.grow_best
    signature: str
    source: str  # digest of what it is made of (separatrix.loops.source)
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
        if why := why_not(folder):
            return _fault(path, why)
        with open(path, "rb") as file:
            if why := trust.opened(file.fileno()):
                return _fault(path, why)
            whole = file.read()
    except FileNotFoundError:
        return None
    except (OSError, MemoryError) as error:
        return _fault(path, f"cannot be read: {error}")
    return _code(path, key, whole)


def why_not(folder: Path) -> str:
    """Why nothing is read from a folder, which must be there; "" where it is."""
    return (trust.shipped if folder == SHIPPED else trust.kept)(folder)


def stands(folder: Path, key: Key) -> bool:
    """Whether code is kept under a key, whoever wrote it: it is looked at, and not run."""
    path = folder / key.file()
    try:
        return _code(path, key, path.read_bytes()) is not None
    except OSError:
        return False


def write(folder: Path, key: Key, code: bytes, anywhere: bool = False) -> bool:
    """Keep code under a key; a folder that cannot be written to, or would not be believed, is no error."""
    rest = key.text() + b"\0" + code
    path = folder / key.file()
    passing = path.with_suffix(f".{uuid.uuid4().hex[:12]}.part")
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        if not anywhere and (why := trust.kept(folder)):
            _fault(path, why)
            return False
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


def _code(path: Path, key: Key, whole: bytes) -> bytes | None:
    head, rest = whole[: len(MAGIC) + 32], whole[len(MAGIC) + 32 :]
    if head != MAGIC + hashlib.blake2b(rest, digest_size=32).digest():
        return _fault(path, "is torn, or no file of ours")
    text, _, code = rest.partition(b"\0")
    if text != key.text():
        return _fault(path, "is about something else")
    faults.pop(str(path), None)
    return code


def _fault(path: Path, why: str) -> bytes | None:
    faults[str(path)] = why
    return None


def users_folder() -> Path | None:
    """Where what is compiled here is kept: $NUMBA_CACHE_DIR if it is set, else the user's folder for caches."""
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.path.abspath(given)) / "separatrix"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if not home.is_absolute():  # HOME=""
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "separatrix" / "loops"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "separatrix" / "loops"
    said = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (said if said.is_absolute() else home / ".cache") / "separatrix" / "loops"
