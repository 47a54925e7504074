"""Hypothesis draws the same examples in every run, so that a red suite means changed code.

HYPOTHESIS_PROFILE=explore draws new ones: run it now and then, and keep what it finds as a test of its own.
"""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("explore", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
