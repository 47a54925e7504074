"""``separatrix bench``: the race against other libraries, which lives in a clone of the project (row O4)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from separatrix.app.errors import OK, AppError


def run(arguments: list[str], about: str = "") -> int:
    """The races with these arguments; ``about`` is this command's own help, which stands before theirs."""
    place = home()
    if "--help" in arguments:
        print(about, flush=True)
        if place is None:
            return OK
        print(flush=True)
    if place is None:
        raise AppError(
            "the races are not part of the installed package; clone the project and run separatrix bench in it"
        )
    return subprocess.run([sys.executable, "-m", "benchmarks", *arguments], cwd=place, check=False).returncode


def home() -> Path | None:
    """The folder that holds ``benchmarks``: this one, or the clone the package is installed from."""
    here = Path(__file__).resolve()
    for place in (Path.cwd(), *here.parents[4:5]):
        if (place / "benchmarks" / "__main__.py").is_file():
            return place
    return None
