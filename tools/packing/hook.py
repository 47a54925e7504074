"""Loops into the wheel:  hatchling calls this before it packs one, for ``pip install .`` as for ``-e .``.

    a wheel            loops are compiled in a folder of their own, packed as ``separatrix/loops/built``, and the
                       wheel is tagged for this Python and platform
    an editable one    they are compiled into the tree, once: what is there and right is left alone

Code is of use only to the Numba and llvmlite that made it. So the build asks for those that stand in the environment
it is called from, and otherwise for what an installer would choose, the newest; who constrains one must constrain the
other (PIP_CONSTRAINT, PIP_BUILD_CONSTRAINT, UV_BUILD_CONSTRAINT, as the Makefile does). Where they differ all
the same, and where nothing could be compiled, the package works and compiles a loop when it is first called.

The processor that code is made for is said by ``loops/built/made-of.txt``, and by the wheel's name (backend.py).
"""

from __future__ import annotations

import os
import platform
import shutil
import site
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILERS = ("numba", "llvmlite")
MACHINES = ("x86_64", "AMD64", "aarch64", "arm64")  # those that have a baseline (loops/processor.py)
BUILT = "separatrix/loops/built"


class LoopsHook(BuildHookInterface):
    """What hatchling finds here."""

    _passing: str | None = None

    def dependencies(self) -> list[str]:
        """What must stand in the environment of the build."""
        if platform.machine() not in MACHINES:
            return []
        return required(self.metadata.core.dependencies, standing())

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root, "src")
        tree = source / BUILT
        if version == "editable":
            compiled(source, tree)
            return
        self._passing = tempfile.mkdtemp(prefix="separatrix-loops-")
        folder = Path(self._passing, "built")
        if compiled(source, folder, seed=tree):
            build_data["force_include"][str(folder)] = BUILT
            build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._passing:
            shutil.rmtree(self._passing, ignore_errors=True)


def required(dependencies: list[str], there: dict[str, str]) -> list[str]:
    """The project's own requirement of Numba, and the versions that stand there where they meet it."""
    from packaging.requirements import Requirement
    from packaging.version import InvalidVersion, Version

    wanted = [Requirement(text) for text in dependencies]
    wanted = [one for one in wanted if one.name in COMPILERS]
    try:
        versions = {name: Version(text) for name, text in there.items()}
    except InvalidVersion:
        versions = {}
    published = len(versions) == len(COMPILERS) and not any(
        v.local or v.is_devrelease for v in versions.values()
    )
    pins = []
    if published and all(one.specifier.contains(versions[one.name], prereleases=True) for one in wanted):
        pins = [f"{name}=={version}" for name, version in versions.items()]
    return [*map(str, wanted), *pins]


def standing() -> dict[str, str]:
    """The compilers of the environment that the installer runs in, which hides it from the build."""
    places = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    if site.ENABLE_USER_SITE:
        places.add(site.getusersitepackages())
    found = {one.name.lower(): one.version for one in distributions(path=sorted(places)) if one.name}
    return {name: found[name] for name in COMPILERS if name in found}


def compiled(source: Path, folder: Path, seed: Path | None = None) -> bool:
    """Compile into a folder in a process of its own; False, after a sentence, where that did not come about."""
    command = [sys.executable, "-m", "separatrix.loops.build", "--into", str(folder)]
    if seed is not None:
        command += ["--seed", str(seed)]
    path = os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH"))))
    try:
        status = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, check=False).returncode
    except OSError as error:
        status = error
    if status != 0:
        print(
            f"separatrix: going on without loops built ahead ({status}); they are compiled when first called.",
            file=sys.stderr,
            flush=True,
        )
    return status == 0
