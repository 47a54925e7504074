"""The build backend:  hatchling's, and the processor that loops were compiled for in the name of the wheel.

    separatrix-0.1.0-1_x86_64_v3-cp311-cp311-linux_x86_64.whl

What stands between version and Python is a build tag: of two wheels that differ in nothing else an installer takes
the one that sorts last, and otherwise does not read it. So nobody is refused: where the processor has less than the
baseline the code is left alone, and loops are compiled when they are first called. A wheel without loops keeps its
name.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import zipfile
from pathlib import Path
from typing import Any

from hatchling import build as hatchling
from hatchling.build import *  # noqa: F403 -- what a backend offers beside wheels

STAMP = "separatrix/loops/built/made-of.txt"
BASELINE = 2  # its third word


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """As hatchling does, and then the name."""
    name = hatchling.build_wheel(wheel_directory, config_settings, metadata_directory)
    return labelled(Path(wheel_directory, name)).name


def labelled(wheel: Path) -> Path:
    """The wheel under the name that says its baseline; the same wheel where no loops are in it."""
    with zipfile.ZipFile(wheel) as packed:
        if STAMP not in packed.namelist():
            return wheel
        processor = packed.read(STAMP).decode().split()[BASELINE]
        tag = "1_" + re.sub(r"\W+", "_", processor)
        project, version, *rest = wheel.name.split("-")
        path = wheel.with_name("-".join((project, version, tag, *rest)))
        unfinished = path.with_suffix(".part")
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as out:
            texts: dict[str, bytes] = {}
            for entry in packed.infolist():
                content = packed.read(entry)
                if entry.filename.endswith(".dist-info/WHEEL"):
                    content = content.rstrip() + f"\nBuild: {tag}\n".encode()
                    texts[entry.filename] = content
                elif entry.filename.endswith(".dist-info/RECORD"):  # the last, as it lists the others
                    content = recorded(content.decode(), texts).encode()
                out.writestr(entry, content)
    os.replace(unfinished, path)
    wheel.unlink()
    return path


def recorded(record: str, texts: dict[str, bytes]) -> str:
    """RECORD with what changed: a line of path, digest and size for each file."""
    lines = []
    for line in record.splitlines():
        path = line.rsplit(",", 2)[0]
        if path in texts:
            digest = base64.urlsafe_b64encode(hashlib.sha256(texts[path]).digest()).rstrip(b"=").decode()
            line = f"{path},sha256={digest},{len(texts[path])}"
        lines.append(line)
    return "\n".join(lines) + "\n"
