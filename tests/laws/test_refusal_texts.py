"""What a user reads when a call is refused is what it was (refusals.json, written before the rooms were rebuilt)."""

import json
from pathlib import Path

import pytest

from tests.laws.refusals import CASES, said

BEFORE = json.loads(Path(__file__).with_name("refusals.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CASES)
def test_a_refusal_says_what_it_said(name):
    assert said(CASES[name]) == BEFORE[name]


def test_every_case_was_refused():
    assert BEFORE.keys() == CASES.keys() and "accepted" not in BEFORE.values()
