"""What every test shares. HYPOTHESIS_PROFILE=explore draws new examples: run it now and then, and keep what it finds
as a test of its own (tests/draws.py)."""

import gc
import signal

import pytest
from hypothesis.internal.conjecture import providers

from tests.draws import PROFILE

if PROFILE == "same" and hasattr(providers, "_get_local_constants"):
    # Hypothesis mixes the constants of every module loaded so far into what it draws: examples would change with the
    # tests that ran before, with how they are dealt to processes, and with any number written anywhere.
    providers._get_local_constants = lambda: providers._local_constants


@pytest.fixture
def no_collector():
    """A signal that lands in a callback of the garbage collector (Hypothesis has one) is swallowed there."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard():
    """A shell starts a job in the background, and nohup any job, with SIGINT ignored. Python then installs no
    handler, and a test that presses Ctrl-C waits for nothing. The suite sets its own; a child process it starts gets
    the default, for exec passes on what is ignored and nothing else.
    """
    inherited = signal.getsignal(signal.SIGINT)
    if inherited in (signal.SIG_IGN, signal.SIG_DFL, None):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if inherited in (signal.SIG_IGN, signal.SIG_DFL):
        signal.signal(signal.SIGINT, inherited)
