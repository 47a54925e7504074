"""A place for a file, and a file."""

import pytest

from separatrix import LogisticRegression
from separatrix.files.store import save
from tests.files.catalogue import Tables


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.sepx"


@pytest.fixture
def saved(path):
    t = Tables(3)
    save(LogisticRegression().fit(t.X, t.two), path)
    return path
