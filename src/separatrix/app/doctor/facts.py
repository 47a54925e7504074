"""Everything ``separatrix doctor`` looks at:  gather() → Facts;  for programs, facts.plain()

Paths below a home begin with ~, for what is printed here is pasted where everybody reads it.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from separatrix.app.doctor import extras
from separatrix.data import machine
from separatrix.loops import kept
from separatrix.loops.folders import File, Folder
from separatrix.loops.state import State, examine

MATTERS = re.compile(
    r"NUMBA_\w+|SEPARATRIX_\w+|(OMP|OPENBLAS|MKL|BLIS|GOTO|VECLIB_MAXIMUM)_\w*NUM_THREADS|OMP_\w+"
    r"|OPENBLAS_CORETYPE|XDG_CACHE_HOME|PYTHON_CPU_COUNT"
)


@dataclass(frozen=True)
class Facts:
    """What was found."""

    separatrix: str
    package: Path  # the folder the package is loaded from
    system: str
    python: str
    processor: str
    architecture: str
    cores: machine.Cores
    blas: list[machine.Blas]
    loops: State
    environment: Mapping[str, str]
    needs: Mapping[str, list[extras.Need]]

    def plain(self) -> dict[str, Any]:
        """The facts in dicts, lists, words and numbers; the keys stay as they are."""
        loops = self.loops
        return {
            "separatrix": self.separatrix,
            "package": self.package,
            "system": self.system,
            "python": self.python,
            "libraries": {need.name: need.version or None for need in self.needs.get("", ())},
            "processor": {
                "name": self.processor,
                "architecture": self.architecture,
                "compiled_for": loops.processor or None,
                "baseline": loops.baseline or None,
                "runs_baseline": loops.runs_baseline,
                "lacks": loops.lacks,
                "told": loops.told,
            },
            "cores": vars(self.cores) | {"threads": self.cores.allowed},
            "blas": [vars(library) for library in self.blas],
            "loops": {
                "listed": loops.listed,
                "built": loops.origins.get("built", 0),
                "built_here": loops.origins.get("built here", 0),
                "cached": loops.origins.get("cached", 0),
                "missing": [{"loop": loop, "signature": words} for loop, words in loops.missing],
                "faults": [_file(file) for file in loops.faults],
                "versions": loops.versions or None,
                "trouble": loops.trouble or None,
            },
            "folders": {"package": _folder(loops.shipped), "user": loops.users and _folder(loops.users)},
            "environment": dict(self.environment),
            "extras": {
                name: {
                    "brings": brings,
                    "installed": name in self.needs and all(need.met for need in self.needs[name]),
                    "libraries": {need.name: need.version or None for need in self.needs.get(name, ())},
                }
                for name, brings in extras.BRINGS.items()
            },
        }


def gather() -> Facts:
    """Look at everything."""
    return Facts(
        separatrix=extras.version("separatrix") or "not installed",
        package=kept.ROOM.parent,
        system=platform.platform(),
        python=f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})",
        processor=machine.processor(),
        architecture=platform.machine(),
        cores=machine.cores(),
        blas=machine.blas(),
        loops=examine(),
        environment={name: value for name, value in sorted(os.environ.items()) if MATTERS.fullmatch(name)},
        needs=extras.needs(),
    )


def homeless(value: Any) -> Any:
    """A text, or every text in dicts and lists, with ~ for a home.

    >>> homeless([f"{Path.home()}/x: torn", f"{Path.home()}ly", 3])[::2]
    ['~/x: torn', 3]
    """
    if isinstance(value, Mapping):
        return {key: homeless(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [homeless(inner) for inner in value]
    if isinstance(value, (str, Path)):
        text = str(value)
        for home in _homes():
            text = re.sub(rf"(?<![\w/\\.]){re.escape(home)}(?![\w.-])", "~", text)
        return text
    return value


def _homes() -> list[str]:
    """The user's home, as the environment says it and as the system knows it, the longest first."""
    said = {os.path.expanduser("~")}
    try:
        import pwd

        said.add(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError):
        pass
    said |= {os.path.realpath(home) for home in said if os.path.isabs(home)}
    return sorted((home for home in said if len(Path(home).parts) > 1), key=len, reverse=True)


def _folder(folder: Folder) -> dict[str, Any]:
    return {
        "path": folder.path,
        "files": folder.files,
        "bytes": folder.size,
        "writable": not folder.unwritable,
        "why_not": folder.unwritable or None,
        "free_bytes": folder.free,
        "believed": not folder.exposed,
        "why_not_believed": folder.exposed or None,
        "strays": [_file(file) for file in folder.strays],
        "others": [_file(file) for file in folder.others],
        "leftovers": [_file(file) for file in folder.leftovers],
    }


def _file(file: File) -> dict[str, Any]:
    return {"path": file.path, "bytes": file.size, "why": file.why}
