"""The verdict on bags:  that of their own fits, the mean of the objectives and the worst of the gaps.

Votes and means of fits claim no optimum of their own. Row E3 of the specification.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.engine import available_cores, current_engine
from separatrix.models.ensemble.bags.plan import Fits, Plan
from separatrix.verdict.build import no_claim, proven
from separatrix.verdict.verdict import Scale, Status, Verdict


@dataclass(frozen=True)
class BaggingVerdict(Verdict):
    """The verdict on an ensemble: that of its bags, the worst gap among them, and what was left out said of it."""

    bags: int = 0

    def figures(self) -> str:
        if not np.isnan(self.objective):
            return super().figures()
        seconds = f"{self.seconds * 1e3:.0f} ms" if self.seconds < 0.0995 else f"{self.seconds:.2f} s"
        return f"{self.bags} bags, {seconds}   stopped: {self.stopped_by}"


def judged(
    name: str,
    models: Sequence[Any],
    plan: Plan,
    fits: Fits,
    *,
    asked: int,
    lacking: int,
    where: str,
    seconds: float,
    heard: Sequence[str],
) -> BaggingVerdict:
    """The verdict on all models there are, of which ``fits`` are new.

    ``lacking``: how many miss a class; ``heard``: what was heard of the rows left out.
    """
    constant = sum(bag.constant for bag in fits.models.values())
    own = [v for v in map(verdict_in, models) if isinstance(v, Verdict)]
    words = []
    if fits.interrupted:
        words.append(f"interrupted: the {len(models)} bags that were done are kept, and predict")
    findings = _made(plan, fits, len(models), asked, constant, lacking, where)
    claims = len(own) + constant >= len(models) and any(v.status != "no claim" for v in own)
    stopped_by = "interrupted" if fits.interrupted else "all bags fitted"
    if not claims:
        why = "the bags' own verdicts make none"
        if not own or len(own) + constant < len(models):
            why = "the base learner has no verdict, and a vote of its fits makes none"
        verdict = no_claim(
            name, stopped_by=stopped_by, sweeps=fits.sweeps, seconds=seconds, interrupted=fits.interrupted,
            findings=(*findings, f"no claim: {why}", *words, *heard),
        )  # fmt: skip
        return BaggingVerdict(**vars(verdict), bags=len(models))
    status, said = _status(own)
    verdict = proven(
        name,
        scale=_scale(own),
        objective=float(np.mean([v.objective for v in own])),
        gap=max(v.gap for v in own),
        tol=max(v.tol for v in own),
        unique=True if all(v.unique for v in own) else None,
        stopped_by=stopped_by,
        sweeps=fits.sweeps,
        seconds=seconds,
        findings=(*findings, said, *words, *heard),
        status=status,
        interrupted=fits.interrupted,
    )
    return BaggingVerdict(**vars(verdict), bags=len(models))


def verdict_in(model: Any) -> Any:
    """The verdict of a model, or of a pipeline's last step; None where there is none."""
    found = getattr(model, "verdict_", None)
    if found is None and hasattr(model, "steps"):
        found = getattr(model.steps[-1][1], "verdict_", None)
    return found


def engine_words() -> str:
    """What engine the bags are fitted on."""
    chosen = current_engine()
    if chosen.kind != "threads":
        return chosen.kind
    workers = chosen.workers or available_cores()
    return "serial" if workers == 1 else f"{workers} threads"


def _made(
    plan: Plan, fits: Fits, have: int, asked: int, constant: int, lacking: int, where: str
) -> list[str]:
    """How the bags were drawn and fitted."""
    draws, name = plan.draws, type(plan.base).__name__
    drawn = "with replacement" if draws.bootstrap else "without replacement"
    columns = "" if draws.all_columns else f", {draws.width} of {draws.p} columns"
    findings = [
        f"{have} of {asked} bags of {draws.m:,} from {len(draws.present):,} rows{columns}, drawn {drawn}; base "
        f"learner {name}, {fits.how}; engine: {where}"
    ]
    if constant:
        findings.append(
            f"{constant} bag{'s' if constant > 1 else ''} held one class only: a constant vote stands in for "
            f"{name} there"
        )
    lacking -= constant
    if lacking > 0:
        findings.append(
            f"{lacking} bag{'s' if lacking > 1 else ''} missed a class, which got no share of their vote"
        )
    return findings


def _status(own: Sequence[Verdict]) -> tuple[Status, str]:
    """Their common status, and how they divide."""
    kinds = Counter(v.status for v in own)
    means = "the objective is their mean, the gap the worst of them"
    if len(kinds) == 1:
        status = own[0].status
        return status, f"the bags' own verdicts: all {status}; {means}"
    each = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return (
        "not converged" if "not converged" in kinds else "no claim",
        f"the bags' own verdicts: {each}; {means}",
    )


def _scale(own: Sequence[Verdict]) -> Scale:
    """The scale of all of them; none where they differ."""
    scales = {v.scale for v in own}
    return scales.pop() if len(scales) == 1 else ""
