"""Folders of its own for what a test builds and keeps."""

import shutil
import tempfile
from pathlib import Path

import pytest

from separatrix.loops import kept


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home of our own, with folders in it for what is built and for what is kept."""
    home = tmp_path / "ann"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(kept, "SHIPPED", home / "built")
    monkeypatch.setattr(kept, "faults", {})
    return home


@pytest.fixture
def reached():
    """A folder that another user can get to, as none of pytest's is."""
    folder = Path(tempfile.mkdtemp(prefix="separatrix-test-")).resolve()
    folder.chmod(0o755)
    try:
        if any(not parent.stat().st_mode & 0o001 for parent in folder.parents):
            pytest.skip(f"other users cannot get to {folder.parent}")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
