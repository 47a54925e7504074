"""A package built with a few loops that compile in no time, in a folder of a test's own, beside an empty cache."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import pytest

from separatrix.loops import compiled, kept, signatures
from separatrix.loops.mend import mend
from separatrix.loops.state import examine

FEW = (
    "ascent.shuffle",
    "perceptron.next_mistake",
    "perceptron.shuffled",
    "smo.slopes",
    "stumps.wrong_weight",
)
LISTED = {loop: signatures.listed()[loop][:1] for loop in FEW}


@dataclass
class Few:
    """Where the loops are, and ways to break them."""

    shipped: Path
    users: Path

    def key(self, loop: str, **other: str) -> kept.Key:
        from separatrix.loops import dispatch

        import_module(f"separatrix.loops.{loop.rpartition('.')[0]}")
        types = signatures.parsed(LISTED[loop][0])
        return replace(dispatch.key_of(compiled.LOOPS[loop], types), **other)

    def path(self, loop: str) -> Path:
        return self.shipped / self.key(loop).file()

    def rewrite(self, folder: Path | None = None, **other: str) -> None:
        """As if the loops had been made from something else."""
        for loop in FEW:
            code = kept.read(self.shipped, self.key(loop))
            assert code
            if folder is None:
                self.path(loop).unlink()
            assert kept.write(folder or self.shipped, self.key(loop, **other), code)


@pytest.fixture(scope="session")
def few_built(tmp_path_factory):
    """The loops, built once into a folder that nothing stood in."""
    place = tmp_path_factory.mktemp("few")
    with pytest.MonkeyPatch.context() as patch:
        _use(patch, place)
        state = examine()
        assert len(state.missing) == len(FEW)
        said = []
        (changed,) = mend(state, said.append)
        assert f"compiled {len(FEW)} loops" in changed and any(
            f"of {len(FEW)} compiled" in line for line in said
        )
        assert examine().origins == {"built": len(FEW)}
    return place


@pytest.fixture
def few(few_built, monkeypatch, tmp_path):
    """A copy of them for one test."""
    place = tmp_path / "place"
    shutil.copytree(few_built / "built", place / "built")
    _use(monkeypatch, place)
    for name in ("NUMBA_DISABLE_JIT", "NUMBA_OPT"):
        monkeypatch.delenv(name, raising=False)
    return Few(kept.SHIPPED, place / "cache" / "separatrix")


def _use(patch, place):
    patch.setattr(kept, "SHIPPED", place / "built")
    patch.setattr(signatures, "listed", lambda: {loop: list(words) for loop, words in LISTED.items()})
    patch.setenv("NUMBA_CACHE_DIR", str(place / "cache"))
