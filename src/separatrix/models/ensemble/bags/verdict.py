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
from separatrix.models.ensemble.members import Members
from separatrix.verdict.build import proven
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
    model: Members, plan: Plan, fits: Fits, *, lacking: int, where: str, seconds: float, heard: Sequence[str]
) -> BaggingVerdict:
    """The verdict on all of ``estimators_``, of which ``fits`` are new.

    ``lacking``: how many miss a class; ``where``: on what engine; ``heard``: what was heard of the rows left out.
    """
    members = model.estimators_
    constant = sum(bag.constant for bag in fits.models.values())
    own = [v for v in map(verdict_in, members) if v is not None]
    complete = bool(own) and len(own) + constant >= len(members)
    status, said = _status(own if complete else [])
    if all(v.status == "no claim" for v in own) or not complete:
        own = []
    findings = [*_made(plan, fits, len(members), int(model.n_estimators), constant, lacking, where), said]
    if fits.interrupted:
        findings.append(f"interrupted: the {len(members)} bags that were done are kept, and predict")
    verdict = proven(
        model, scale=_scale(own), objective=float(np.mean([v.objective for v in own])) if own else np.nan,
        gap=max((v.gap for v in own), default=np.inf), tol=max((v.tol for v in own), default=0.0),
        unique=True if own and all(v.unique for v in own) else None, sweeps=fits.sweeps, seconds=seconds,
        stopped_by="interrupted" if fits.interrupted else "all bags fitted", findings=(*findings, *heard),
        status=status, interrupted=fits.interrupted,
    )  # fmt: skip
    return BaggingVerdict(**vars(verdict), bags=len(members))


def verdict_in(model: Any) -> Verdict | None:
    """The verdict of a model, or of a pipeline's last step; None where there is none."""
    found = getattr(model, "verdict_", None)
    if found is None and hasattr(model, "steps"):
        found = getattr(model.steps[-1][1], "verdict_", None)
    return found if isinstance(found, Verdict) else None


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
    """What the bags' own verdicts, if all have one, say together, and in words."""
    kinds = Counter(v.status for v in own)
    if not own:
        return "no claim", "no claim: the base learner has no verdict, and a vote of its fits makes none"
    status: Status = own[0].status
    if len(kinds) > 1:
        status = "not converged" if "not converged" in kinds else "no claim"
        said = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    elif status == "no claim":
        return status, "no claim: the bags' own verdicts make none"
    else:
        said = f"all {status}"
    return status, f"the bags' own verdicts: {said}; the objective is their mean, the gap the worst of them"


def _scale(own: Sequence[Verdict]) -> Scale:
    """The scale of all of them; none where they differ."""
    scales = {v.scale for v in own}
    return scales.pop() if len(scales) == 1 else ""
