"""src/separatrix/__init__.pyi, so that editors complete the lazy names and checkers know them:  python tools/stub.py

Each public name is imported from the module that defines it. tests/test_stub.py fails where the file is out of date.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import separatrix

PATH = Path(__file__).parents[1] / "src" / "separatrix" / "__init__.pyi"


def home(name: str) -> str:
    """The module that defines a public name."""
    return getattr(separatrix, name).__module__


def stub() -> str:
    """The text of the file."""
    names = sorted((home(name), name) for name in separatrix.__all__ if not name.startswith("__"))
    lines = ['"""Written by tools/stub.py from the public names: do not edit."""', ""]
    for module, group in groupby(names, key=lambda pair: pair[0]):
        lines += [f"from {module} import {name} as {name}" for _, name in group]
    rooms = [f"from separatrix import {room} as {room}" for room in separatrix._ROOMS]
    return "\n".join([*lines, *rooms, "", "__version__: str", "__all__: list[str]", ""])


if __name__ == "__main__":
    PATH.write_text(stub(), encoding="utf-8")
    print(f"wrote {PATH}")
