"""One profile of Hypothesis for all: no test file chooses its own settings, so that exploring explores everywhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_no_test_file_chooses_its_own_profile():
    own = re.compile(r"(?<![\w.])settings\(|derandomize")
    files = [p for p in (ROOT / "tests").rglob("*.py") if p.name not in ("draws.py", "test_draws.py")]
    assert len(files) > 50
    assert [p.name for p in files if own.search(p.read_text(encoding="utf-8"))] == []


def test_exploring_draws_others_and_more(tmp_path):
    script = (
        "from hypothesis import given, strategies as st\n"
        "from tests.draws import examples\n"
        "seen = []\n"
        "@examples(5)\n"
        "@given(st.integers())\n"
        "def draw(x): seen.append(x)\n"
        "draw()\n"
        "print(len(seen), hash(tuple(seen)))\n"
    )

    def drawn(profile):
        environment = os.environ | {"HYPOTHESIS_PROFILE": profile, "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout  # fmt: skip

    assert drawn("same") == drawn("same")
    assert drawn("explore") != drawn("explore")
    assert int(drawn("explore").split()[0]) > 20 >= 5 == int(drawn("same").split()[0])
