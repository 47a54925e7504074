"""Arrays kept on disk, because making a data set takes longer than the race on it.

One folder per data set with one .npy file per array, so that loading needs no second copy (an .npz does).
The folder is SEPARATRIX_BENCH_CACHE, or ~/.cache/separatrix-bench; deleting it is always safe.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np


def folder() -> Path:
    """Where the arrays are kept."""
    named = os.environ.get("SEPARATRIX_BENCH_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "separatrix-bench"


def arrays(
    key: str, make: Callable[[], dict[str, np.ndarray]], *, mapped: bool = False
) -> dict[str, np.ndarray]:
    """The arrays stored under `key`, made and stored first when absent; read into memory, or ``mapped``."""
    place = folder() / key
    if not place.is_dir():
        _store(place, make())
    return {
        file.stem: np.load(file, mmap_mode="r" if mapped else None) for file in sorted(place.glob("*.npy"))
    }


def _store(place: Path, made: dict[str, np.ndarray]) -> None:
    """Write beside, then rename: a run that is killed leaves no half data set."""
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=place.name + ".", dir=place.parent))
    try:
        for name, array in made.items():
            np.save(beside / f"{name}.npy", array)
        beside.rename(place)
    except OSError:
        if not place.is_dir():  # otherwise another run finished the same data set first
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
