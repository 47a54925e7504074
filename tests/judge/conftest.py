"""Time that passes in fits of Slow alone."""

from __future__ import annotations

import pytest

import separatrix.judge.compare as judge_compare
from separatrix.judge import budget, tuning
from tests.judge.slow import Clock, Slow


@pytest.fixture
def clock(monkeypatch):
    fake = Clock()
    for module in (budget, judge_compare, tuning):
        monkeypatch.setattr(module, "time", fake)
    monkeypatch.setattr(Slow, "clock", fake)
    return fake
