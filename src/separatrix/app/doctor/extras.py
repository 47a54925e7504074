"""What separatrix needs, what its extras bring, and what of it is installed; nothing is imported for it.

Read from the metadata of the installed package, so that it is what pip would say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata

BRINGS = {
    "frames": "tables of pandas, Polars and Arrow",
    "dask": "rows out of core and on a cluster",
    "plot": "pictures and the report",
    "formula": "formulas, as in y ~ x + z",
    "text": "stems of words",
    "files": "model files: save and load",
    "onnx": "ONNX graphs",
    "excel": "Excel files",
    "duckdb": "tables of DuckDB",
    "app": "the command line",
}
_NEED = re.compile(r"([A-Za-z0-9][\w.-]*)\s*(?:\[[^]]*\])?\s*([^;]*)")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")


@dataclass(frozen=True)
class Need:
    """A library that is asked for, and the version that is installed, "" where none is."""

    name: str
    asked: str
    version: str

    @property
    def met(self) -> bool:
        return bool(self.version) and not self.too_old

    @property
    def too_old(self) -> bool:
        least = re.search(r">=\s*([\d.]+)", self.asked)
        return bool(self.version and least) and _numbers(self.version) < _numbers(least[1])  # type: ignore[index]


def needs(requirements: Iterable[str] | None = None) -> dict[str, list[Need]]:
    """Extra → what it asks for; "" → what separatrix itself does. Empty where the package is not installed.

    >>> needs(["numpy>=99; python_version > '3'", "nosuchthing>=1.2; extra == 'plot'"])["plot"]
    [Need(name='nosuchthing', asked='>=1.2', version='')]
    """
    if requirements is None:
        try:
            requirements = metadata.requires("separatrix") or ()
        except metadata.PackageNotFoundError:
            requirements = ()
    found: dict[str, list[Need]] = {}
    for line in requirements:
        said, extra = _NEED.match(line), _EXTRA.search(line)
        if said and said[1] != "separatrix" and (extra is None or extra[1] in BRINGS):
            need = Need(said[1], said[2].strip(), version(said[1]))
            found.setdefault(extra[1] if extra else "", []).append(need)
    return found


def version(name: str) -> str:
    """The version that is installed, or ""."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers a version begins with.

    >>> _numbers("2.10.0rc1") > _numbers("2.9")
    True
    """
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and not numbers[-1]:
        numbers.pop()  # 2.0 is 2
    return tuple(numbers)
