"""The machine as the library meets it: its processor, the cores it may use, BLAS and its threads.

Read from the operating system for ``separatrix doctor``; no number of the library depends on it. Cost: milliseconds,
and SciPy's import where nothing has imported it.
"""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from separatrix.data.pool import available_cores


@dataclass(frozen=True)
class Cores:
    """Cores there are, that this process may use, and that its control group pays for (None: no limit)."""

    machine: int
    allowed: int
    quota: float | None


@dataclass(frozen=True)
class Blas:
    """A BLAS library that is loaded."""

    of: str  # the package it came with: numpy, scipy, or a file's name
    name: str
    version: str
    built_for: str
    layer: str  # pthreads, openmp
    threads: int


def processor() -> str:
    """The processor's name as its maker says it."""
    if sys.platform == "linux":
        try:
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
        except OSError:
            pass
    elif sys.platform == "darwin":
        asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
        try:
            return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            pass
    return platform.processor() or platform.machine()


def cores() -> Cores:
    """How many cores there are for this process.

    >>> found = cores()
    >>> 1 <= found.allowed <= found.machine
    True
    """
    return Cores(os.cpu_count() or 1, available_cores(), quota())


def quota(group: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Cores' worth of time that the process's control group may use, the least of it and of those above it."""
    limits = []
    for line in _lines(group):
        number, names, path = [*line.split(":", 2), "", ""][:3]
        if number == "0":
            limits += [_limit(_lines(place / "cpu.max")) for place in _upward(root, path)]
        elif "cpu" in names.split(","):
            top = next((root / name for name in (names, "cpu") if (root / name).is_dir()), root / "cpu")
            for place in _upward(top, path):
                limits.append(
                    _limit(_lines(place / "cpu.cfs_quota_us") + _lines(place / "cpu.cfs_period_us"))
                )
    least = min(limits, default=math.inf)
    return None if math.isinf(least) else least


def blas() -> list[Blas]:
    """Every BLAS that NumPy and SciPy have loaded, as far as threadpoolctl knows it."""
    import scipy.linalg.blas  # noqa: F401  SciPy brings one of its own
    from threadpoolctl import threadpool_info

    found_here = [
        Blas(
            of=_package(found.get("filepath", "")),
            name=str(found.get("internal_api", "")),
            version=str(found.get("version") or "of unknown version"),
            built_for=str(found.get("architecture") or ""),
            layer=str(found.get("threading_layer") or ""),
            threads=int(found.get("num_threads", 0)),
        )
        for found in threadpool_info()
        if found.get("user_api") == "blas"
    ]
    return sorted(found_here, key=lambda library: library.of)


def _package(path: str) -> str:
    """Which package a library's file came with.

    >>> _package("/site-packages/numpy.libs/libopenblas.so"), _package("/usr/lib/libblas.so.3")
    ('numpy', 'libblas.so.3')
    """
    parts = Path(path).parts
    known = [name for name in ("numpy", "scipy") if any(part.split(".")[0] == name for part in parts)]
    return known[0] if known else Path(path).name


def _upward(root: Path, path: str) -> list[Path]:
    """The folder of a group and those above it. In a container the path may be the host's: then the root is ours."""
    inner = Path(path.lstrip("/"))
    return [root / inner, *(root / above for above in inner.parents)]


def _limit(words: list[str]) -> float:
    """Cores of ``quota period``, on one line or two; infinite where there is no limit."""
    said = " ".join(words).split()
    if len(said) < 2 or said[0] in ("max", "-1"):
        return math.inf
    return int(said[0]) / int(said[1])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
