"""Files written whole or not at all:  a new file beside the old one, put in its place when complete (row O4)."""

from __future__ import annotations

import contextlib
import gzip
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from separatrix.app.errors import AppError
from separatrix.files.whole import write_whole


def write_text(path: Path, text: str) -> None:
    """Replace a file's text in one step."""
    write_whole(path, text.encode("utf-8"))


def folder(path: Path) -> Path:
    """The folder, made where it is not there."""
    if path.exists() and not path.is_dir():
        raise AppError(f"{path} is a file, and a folder is wanted; name another by --out")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AppError(
            f"{path}: the folder cannot be made ({error.strerror}); name another by --out"
        ) from None
    return path


@contextlib.contextmanager
def growing(path: Path) -> Iterator[IO[str]]:
    """A text file that grows, seen by nobody until it is complete; ``.gz`` is packed.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     with growing(Path(place, "a.csv")) as file:
    ...         _ = file.write("x")
    ...         during = Path(place, "a.csv").exists()
    ...     during, os.listdir(place)
    (False, ['a.csv'])
    """
    with whole_file(path) as made, _opened(made, path.suffix.lower() == ".gz") as file:
        yield file


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[str]:
    """A name beside the file's to write to: at the end it takes the file's place, and with an error it goes."""
    if path.is_dir():
        raise AppError(f"{path} is a folder; give the name of a file by --out")
    place = Path(os.path.realpath(path))
    folder(place.parent)
    handle, made = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent)
    os.close(handle)
    try:
        yield made
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(made, place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~mask)
        os.replace(made, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made)
        raise


def _opened(path: str, packed: bool) -> Any:
    if packed:
        return gzip.open(path, "wt", encoding="utf-8", newline="")
    return open(path, "w", encoding="utf-8", newline="")
