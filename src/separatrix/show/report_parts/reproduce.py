"""How to get the same again: the command, versions, seeds, and a fingerprint of the data.

    fingerprint = SHA-256 of the file, or of the shape, names and cells in memory

Row O5. Cost O(cells).
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from separatrix.judge.plan import data_hash
from separatrix.show.reading import last_step
from separatrix.show.report_parts.words import h, paragraph

PACKAGES = ("separatrix", "numpy", "scipy", "scikit-learn", "numba", "pandas", "matplotlib")


def versions() -> dict[str, str]:
    """Package → version, of those installed; Python first."""
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def file_hash(path: str | os.PathLike[str]) -> str | None:
    """SHA-256 of a file; None where there is none of that name."""
    if path is None or not os.path.isfile(path):
        return None
    made = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            made.update(block)
    return made.hexdigest()


def seeds(model: BaseEstimator) -> dict[str, Any]:
    """Every ``random_state`` of the model and its parts."""
    if not hasattr(model, "get_params"):
        return {}
    every = model.get_params().items()
    return {k: v for k, v in every if k.split("__")[-1] == "random_state" and v is not None}


def reproduce(model: BaseEstimator, X: Any, y: ArrayLike, source: Any, command: str | None) -> str:
    """The section's inside."""
    from sklearn import config_context

    parts = []
    if command:
        parts.append(f"<pre><code>{h(command)}</code></pre>")
    with config_context(print_changed_only=True):
        text = "\n→ ".join(_short(step) for _, step in getattr(model, "steps", [("", model)]))
    parts.append(
        f"{paragraph('The model, with the settings that differ from the defaults:')}<pre><code>{h(text)}</code></pre>"
    )
    facts: list[tuple[str, str]] = []
    if source is not None:
        facts.append(("data", str(source)))
    whole = file_hash(source) if isinstance(source, (str, os.PathLike)) else None
    if whole:
        facts.append(("SHA-256 of the file", whole))
    n, p = X.shape
    facts.append(("table", f"{n:,} rows, {p:,} columns"))
    facts.append(("SHA-256 of its cells and labels", data_hash(X, y)))
    own = seeds(model)
    said = ", ".join(f"{k} = {v}" for k, v in own.items()) or "none in the model"
    facts.append(("seeds", f"{said}; 0 in this report (folds and bootstraps made here)"))
    facts.append(("versions", ", ".join(f"{k} {v}" for k, v in versions().items())))
    facts.append(("machine", f"{platform.system()} {platform.machine()}"))
    rows = "".join(f"<dt>{h(k)}</dt><dd>{h(v)}</dd>" for k, v in facts)
    parts.append(f'<dl class="facts">{rows}</dl>')
    parts.append(_encoder(model))
    return "".join(parts)


def _short(step: Any) -> str:
    """An estimator with its settings, without those that run over many lines."""
    text = repr(step)
    if len(text) <= 400:
        return text
    usual = {k: v.default for k, v in signature(type(step)).parameters.items()}
    own = {k: v for k, v in step.get_params(deep=False).items() if repr(v) != repr(usual.get(k))}
    return f"{type(step).__name__}({', '.join(f'{k}={_brief(v)}' for k, v in own.items())})"


def _brief(value: Any) -> str:
    text = repr(value)
    if isinstance(value, Mapping) and len(text) > 200:
        return f"{{… of {len(value)} columns}}"
    return text if len(text) <= 200 else f"{text[:200]}…"


def _encoder(model: BaseEstimator) -> str:
    """What the encoder did to the columns, in its own words."""
    for _, step in getattr(model, "steps", []):
        if hasattr(step, "describe") and step is not last_step(model):
            lines = [str(line) for line in step.describe()]
            shown = lines[:200] + ([f"… and {len(lines) - 200} more"] if len(lines) > 200 else [])
            items = "".join(f"<li>{h(line)}</li>" for line in shown)
            return f"<details><summary>What was done to the columns</summary><ul>{items}</ul></details>"
    return ""
