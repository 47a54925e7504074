"""Folders of its own for what a test builds and keeps."""

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
