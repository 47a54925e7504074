"""How far a comparison is:  a share that only grows, stays below 1 on the way, and is 1 at the end. Row V1.

share = max(what was told before,  steps done / steps at most,  seconds / budget)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.judge.budget import Allowed
from separatrix.judge.contest import Contest
from separatrix.judge.course import Course

NEARLY = 0.99  # before the end


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What ``on_progress`` is told, always from the thread that called ``compare``.

    kind : "alerts", "forecast", "fold", "cut", "refit" or "done"
    model, fold : of what was just finished; None and −1 where it is not one model's
    done : fits that are finished, over all models
    share : of the work, from 0 to 1 at the end; it never falls
    seconds, budget : since the start, and in all (None: no limit)
    standing : model → (folds done, mean of the metric so far)
    message : a sentence
    data : the alerts
    """

    kind: str
    message: str
    seconds: float
    budget: float | None
    model: str | None = None
    fold: int = -1
    done: int = 0
    share: float = 0.0
    standing: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    data: Any = None


@dataclass
class Share:
    """Counts, and says how far the work is."""

    contest: Contest
    allowed: Allowed
    bound: int
    done: int = 0
    told: float = 0.0

    def progress(
        self, kind: str, model: str | None, fold: int, message: str, course: Course, data: Any = None
    ) -> Progress:
        seconds = self.allowed.elapsed()
        far = self.done / max(self.bound, 1)
        if self.allowed.seconds is not None:
            far = max(far, seconds / self.allowed.seconds)
        self.told = 1.0 if kind == "done" else max(self.told, min(far, NEARLY))
        standing = {}
        for name in self.contest.candidates:
            own = [r.scores[self.contest.metric] for r in course.own(name)]
            if own:
                standing[name] = (len(own), float(np.mean(own)))
        return Progress(
            kind=kind, model=model, fold=fold, done=self.done, share=self.told, seconds=seconds,
            budget=self.allowed.seconds, standing=standing, message=message, data=data,
        )  # fmt: skip
