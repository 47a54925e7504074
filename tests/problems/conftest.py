"""An objective of few rows has two ways to its sums (problems/small.py); tests that use ``way`` are told of both."""

import pytest

from separatrix.problems.small import Tile


@pytest.fixture(params=["tile", "blocks"])
def way(request, monkeypatch):
    """ "blocks": rows are never few."""
    if request.param == "blocks":
        monkeypatch.setattr(Tile, "of", classmethod(lambda *_: None))
    return request.param
