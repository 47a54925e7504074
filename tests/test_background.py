"""The suite is the same in the foreground and as a job in the background, where a shell has SIGINT ignored."""

import os
import signal
import subprocess
import sys

import pytest

IGNORING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""
ALONE = "SEPARATRIX_TEST_IN_THE_BACKGROUND"


def test_ctrl_c_reaches_python():
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to one process")
def test_ctrl_c_reaches_a_child_process():
    program = "import time; print('up', flush=True); time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "up\n"
        child.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in child.communicate(timeout=30)[1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to one process")
@pytest.mark.skipif(ALONE in os.environ, reason="this is the run in the background")
@pytest.mark.parametrize("workers", ["0", "2"])
def test_in_the_background(workers, request):
    """The two tests above, in a run that inherits SIGINT ignored; with and without worker processes."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", workers, __file__]
    ran = subprocess.run(
        [sys.executable, "-c", IGNORING, *command],
        cwd=request.config.rootpath,
        env=os.environ | {ALONE: "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0 and "2 passed" in ran.stdout, ran.stdout + ran.stderr
