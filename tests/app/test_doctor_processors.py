"""separatrix doctor where loops built with the package are of no use: it says why, and has others compiled."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from tests.few_loops import FEW, LISTED
from tests.loops.keeping import environment

ALL = len(FEW)


@pytest.fixture
def elsewhere(few):
    """elsewhere(NUMBA_OPT="0") → what doctor and doctor --fix say in another process under such an environment."""
    program = (
        "import sys; from pathlib import Path; from separatrix.loops import kept, signatures; "
        f"kept.SHIPPED = Path({str(few.shipped)!r}); listed = {LISTED!r}; signatures.listed = lambda: listed; "
        "from separatrix.app.cli import main; print(main(['doctor'])); print(main(['doctor', '--fix']))"
    )

    def elsewhere(**said):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment(NUMBA_CACHE_DIR=str(few.users.parent), **said),
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert not done.stderr
        first, second = done.stdout.split("\n1\n")
        assert f"{ALL} not compiled yet" in first
        assert f"{ALL} compiled here before" in second and second.endswith("\n0\n")
        assert len(list(few.users.glob("*.loop"))) == ALL and len(list(few.shipped.glob("*.loop"))) == ALL
        return " ".join(first.split())

    return elsewhere


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a processor of another kind")
@pytest.mark.parametrize("features", [{}, {"NUMBA_CPU_FEATURES": ""}])
def test_a_processor_that_is_asked_for_gets_loops_of_its_own(elsewhere, features):
    """The name alone keeps the features of the machine: they are then compiled for, and are not lacking."""
    said = elsewhere(NUMBA_CPU_NAME="x86-64-v2", **features)
    assert "NUMBA_CPU_NAME asks for x86-64-v2, and those in the package are for x86-64-v3;" in said


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a processor of another kind")
def test_a_processor_without_avx2_is_told_what_it_lacks_and_gets_loops_of_its_own(elsewhere):
    said = elsewhere(NUMBA_CPU_FEATURES="+sse4.2,+avx,+bmi,+f16c,-avx2,-fma")
    assert "(so NUMBA_CPU_FEATURES says) lacks avx2, bmi2, fma, lzcnt, movbe, which" in said
    assert "lacks avx2, bmi2, fma, lzcnt, movbe for loops built for x86-64-v3" in said


def test_what_numba_is_told_gets_loops_of_its_own(elsewhere):
    said = elsewhere(NUMBA_OPT="1")
    assert "Numba is told NUMBA_OPT=1, and those in the package were compiled without;" in said
