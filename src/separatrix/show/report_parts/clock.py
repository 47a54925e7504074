"""The seconds that a page may take, and the parts that were left out for want of them. Row O5."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(eq=False)
class Clock:
    """``seconds`` in all (None: no limit) from when it is made; ``late`` names what was left out, in words.

    >>> clock = Clock(None)
    >>> clock.share(0.5) is None, clock.is_late("a picture")
    (True, False)
    >>> clock = Clock(0.0)
    >>> clock.is_late("a picture"), clock.late
    (True, ['a picture'])
    """

    seconds: float | None
    began: float = field(default_factory=time.perf_counter)
    late: list[str] = field(default_factory=list)

    def share(self, part: float) -> float | None:
        """Seconds for one part: its share of all, and no more than are left."""
        if self.seconds is None:
            return None
        left = self.seconds - (time.perf_counter() - self.began)
        return max(min(part * self.seconds, left), 0.0)

    def is_late(self, what: str) -> bool:
        """Whether there is no time left for something, which is noted."""
        if self.seconds is None or time.perf_counter() - self.began < self.seconds:
            return False
        self.late.append(what)
        return True
