"""loops/signatures.txt lists what fits ask for: all of it, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from separatrix.loops import signatures
from tests.loops.census import differences
from tests.loops.keeping import environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_list_is_what_is_asked_for():
    """By every public estimator, of rows in every form; in a process that nothing else has asked."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.loops.census"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def test_what_differs_is_told():
    every = {(loop, words): "it" for loop, listed in signatures.listed().items() for words in listed}
    assert differences(every, set(every)) == []
    one, *_ = sorted(every)
    assert differences(every, set(every) - {one}) == [f"{' '.join(one)}    # it"]
    del every[one]
    assert differences(every, {*every, one}) == [f"{' '.join(one)}    # never asked for"]


def test_signatures_are_read_as_they_are_written():
    """Twice the same would be two names of one code."""
    lines = [line for line in signatures.LIST.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    assert lines == sorted(set(lines))
    for every in signatures.listed().values():
        for words in every:
            assert signatures.spelled(signatures.parsed(words)) == words
