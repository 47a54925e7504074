"""Time that passes in fits of Slow alone."""

from __future__ import annotations

import pytest

import separatrix.judge.compare as judge_compare
from separatrix.judge import budget, tuning
from tests.judge.slow import Clock, Slow


@pytest.fixture
def clock(monkeypatch):
    fake = Clock()
    for module, name in ((budget, "time"), (judge_compare, "clock"), (tuning, "time")):
        monkeypatch.setattr(module, name, fake)
    monkeypatch.setattr(Slow, "clock", fake)
    return fake
