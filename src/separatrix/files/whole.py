"""Writing a file whole or not at all:  a new file beside the old one, flushed to the disk, then put in its place."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import TYPE_CHECKING

from separatrix.files.archive import ModelFileError

if TYPE_CHECKING:
    from os import PathLike


def write_whole(path: str | PathLike[str], data: bytes) -> None:
    """Replace the file by ``data`` in one step: whoever reads, or dies meanwhile, finds the old or the new one whole.

    A new file in the same folder, flushed to the disk, then renamed, and the folder flushed. A link is followed; the
    permissions of the file replaced are kept. O(size).

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(os.path.join(folder, "a"), b"one")
    ...     write_whole(os.path.join(folder, "a"), b"two")
    ...     os.listdir(folder), open(os.path.join(folder, "a"), "rb").read()
    (['a'], b'two')
    """
    place = os.path.realpath(os.fspath(path))
    folder, name = os.path.split(place)
    if os.path.isdir(place):
        raise ModelFileError(f"{place} is a folder: give the name of a file")
    if not os.path.isdir(folder):
        raise ModelFileError(f"there is no folder {folder}: make it first")
    handle, made = tempfile.mkstemp(prefix=f".{name}.", suffix=".part", dir=folder)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(made, _mode(place))
        os.replace(made, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made)
        raise
    with contextlib.suppress(OSError, AttributeError):  # a folder cannot be flushed everywhere
        at = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(at)
        finally:
            os.close(at)


def _mode(place: str) -> int:
    """The permissions of the file replaced, or those a new file would get."""
    if os.path.exists(place):
        return os.stat(place).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
