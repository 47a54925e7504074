"""How many examples Hypothesis draws, and how: the one place, so that HYPOTHESIS_PROFILE means the same everywhere.

same       (the default) the same examples in every run, so that a red suite means changed code
explore    new examples in every run, MORE times as many
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "same")
MORE = 10 if PROFILE == "explore" else 1
# No deadline: how long an example takes is a property of the machine and of who else is at work on it.
COMMON: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("same", derandomize=True, **COMMON)
# said outright: where CI is set, Hypothesis would derandomise by itself
settings.register_profile("explore", derandomize=False, print_blob=True, **COMMON)
settings.load_profile(PROFILE)


def examples(count: int) -> settings:
    """A decorator of a test: as many examples, more of them where the profile explores."""
    return settings(max_examples=count * MORE)
