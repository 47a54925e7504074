"""Hypothesis draws the same examples in every run, so that a red suite means changed code.

HYPOTHESIS_PROFILE=explore draws new ones: run it now and then, and keep what it finds as a test of its own.
"""

import gc
import os

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("explore", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture
def no_collector():
    """A signal that lands in a callback of the garbage collector (Hypothesis has one) is swallowed there."""
    gc.disable()
    yield
    gc.enable()
