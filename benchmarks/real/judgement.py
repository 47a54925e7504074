"""Who counts in a row of the real race, and the summary of all rows.

1. A peer's answer counts unless it is worse than ours by more than its slack (models.score); a faster one that is
   worse is marked. A peer that passed the limit counts with the limit as its time: the ratio is then a lower bound.
2. The reference is the fastest that counts. Our answer, where it is worse than the reference's by more than the
   slack, is marked, has no ratio and is lost.
3. scikit-learn's LinearSVC puts the intercept into the penalty: its answer is no worse either where it is no worse
   by its own objective.
4. A row without a reference is in no mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.model import SUBJECT
from benchmarks.parts import geometric_mean

CLEARLY = 1.1  # a row lost by more than this
LONG, SHORT = 2.0, 0.2  # slower than so many seconds where a peer needs so many
PAGES = 4_000_000  # bytes within which two peaks are the same
HEADER = f"{'row':<9} {'ours s':>8} {'peer s':>8} {'ratio':>8}  {'MB':>7} {'peer MB':>7}  {'sweeps':>7}  what"


@dataclass(frozen=True)
class Result:
    """One peer in one row; None where nothing was measured."""

    peer: str
    status: str = "ok"  # "ok", "over" the limit, "failed", "declined", "missing"
    runs: tuple[float, ...] = ()
    cpu: tuple[float, ...] = ()
    objective: float | None = None
    slack: float = 0.0
    memory: int | None = None
    sweeps: float | None = None
    unfinished: bool = False
    note: str = ""
    own: float | None = None  # by the objective of a peer whose problem is another

    @property
    def seconds(self) -> float:
        """The best of the rounds; of those over the limit, the limit."""
        return min(self.runs, default=float("inf"))

    def worse_than(self, other: Result) -> bool:
        """Whether the objective is above the other's by more than the slack."""
        if self.objective is None or other.objective is None:
            return False
        slack = max(self.slack, other.slack)
        if (
            self.peer != SUBJECT
            and self.own is not None
            and other.own is not None
            and self.own <= other.own + slack
        ):
            return False
        return self.objective > other.objective + slack


@dataclass(frozen=True)
class Outcome:
    """A row of the table."""

    id: str
    title: str
    source: str
    results: tuple[Result, ...]
    nbytes: int = 0
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def subject(self) -> Result | None:
        """separatrix, where it took part and did not fail."""
        return next((e for e in self.results if e.peer == SUBJECT and e.status in ("ok", "over")), None)

    @property
    def ours(self) -> Result | None:
        """separatrix, where it came to an answer."""
        return self.subject if self.subject and self.subject.status == "ok" else None

    @property
    def reference(self) -> Result | None:
        """The fastest peer at no worse objective."""
        ours = self.ours
        rivals = [each for each in self.results if each.peer != SUBJECT and each.status in ("ok", "over")]
        if ours is not None:
            rivals = [each for each in rivals if not each.worse_than(ours)]
        # one over the limit stands behind all that have a time
        return min(rivals, key=lambda each: (each.status == "over", each.seconds), default=None)

    @property
    def behind(self) -> bool:
        """Whether our answer is worse than the reference's."""
        return bool(self.ours and self.reference and self.ours.worse_than(self.reference))

    @property
    def ratio(self) -> float | None:
        """How many times as fast as the reference, at no worse objective."""
        if self.ours is None or self.reference is None or self.behind:
            return None
        return self.reference.seconds / self.ours.seconds

    @property
    def heavier(self) -> bool:
        """Whether our peak of memory is above the reference's."""
        ours, theirs = self.ours, self.reference
        if ours is None or theirs is None or ours.memory is None or theirs.memory is None:
            return False
        return ours.memory > theirs.memory + PAGES

    @property
    def marks(self) -> list[str]:
        """What has to be said about the row."""
        said = []
        failed = next((each for each in self.results if each.peer == SUBJECT and each.status != "ok"), None)
        if failed:
            why = (
                f"over {failed.seconds:g} s" if failed.status == "over" else f"{failed.status}: {failed.note}"
            )
            said.append(f"{SUBJECT} {why}")
        if self.behind:
            said.append("OUR OBJECTIVE IS WORSE")
        if self.ours and self.ours.unfinished:
            said.append("ours not converged")
        ours = self.ours
        faster = [
            each for each in self.results if ours and each.status == "ok" and each.seconds < ours.seconds
        ]
        passed = [each.peer for each in faster if ours and each.worse_than(ours)]
        if passed:
            said.append(f"faster, worse: {', '.join(passed)}")
        return said


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """The geometric mean, the rows lost, those far too slow, those too heavy."""
    ratios = {each.id: each.ratio for each in outcomes if each.ratio is not None}
    tried = [each for each in outcomes if any(r.peer == SUBJECT for r in each.results)]
    broken = [each.id for each in tried if each.ours is None or each.behind]
    lost = [id_ for id_, ratio in sorted(ratios.items(), key=lambda pair: pair[1]) if ratio < 1.0]
    clearly = [id_ for id_ in lost if ratios[id_] < 1.0 / CLEARLY]
    slow = [
        each.id
        for each in outcomes
        if each.subject and each.reference and each.subject.seconds > LONG and each.reference.seconds <= SHORT
    ]
    heavy = [each.id for each in outcomes if each.heavier]
    mean = f"{geometric_mean(ratios.values()):.2f}×" if ratios else "none"

    def listed(ids: Sequence[str], **shown: Any) -> str:
        return (
            ", ".join(f"{id_} {ratios[id_]:.2f}×" if shown and id_ in ratios else id_ for id_ in ids)
            or "none"
        )

    return [
        f"{len(outcomes)} rows, {len(ratios)} with a peer at no worse objective: "
        f"geometric mean {mean} the fastest peer",
        f"rows lost: {len(lost) + len(broken)}; by more than 10 %: {listed(clearly, ratio=True)}; "
        f"worse or failed: {listed(broken)}",
        f"slower than {LONG:g} s where a peer needs {SHORT:g}: {listed(slow)}",
        f"peak memory above the fastest peer's: {listed(heavy)}",
    ]


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """The whole table."""
    return [HEADER, *(line for each in outcomes for line in lines(each))]


def lines(each: Outcome) -> list[str]:
    """A row: ours, the fastest peer that counts and the ratio; below it everybody's time, objective and memory."""
    ours, theirs = each.ours, each.reference
    over = ">" if theirs and theirs.status == "over" else ""
    ratio = "" if each.ratio is None else f"{over}{each.ratio:.2f}×"
    head = (
        f"{each.id:<9} {_number(ours and ours.seconds)} {_number(theirs and theirs.seconds)} {ratio:>8}  "
        f"{_mb(ours)} {_mb(theirs)}  {_number(ours and ours.sweeps, 7)}  {each.title} [{each.source}]"
    )
    details = [_detail(result, each) for result in each.results if result.status != "declined"]
    return [head, *(f"{'':<12}{text}" for text in [*details, *(f"! {mark}" for mark in each.marks)])]


def _detail(result: Result, outcome: Outcome) -> str:
    if result.status == "over":
        return f"{result.peer:<15} > {result.seconds:g} s {result.note}"
    if result.status != "ok":
        return f"{result.peer:<15} {result.status}: {result.note}"
    best = min(each.objective for each in outcome.results if each.objective is not None)
    excess = "" if result.objective is None else f"{result.objective:.10g} (+{result.objective - best:.1e})"
    unfinished = " not converged" if result.unfinished else ""
    memory = "" if result.memory is None else f"{result.memory / 1e6:,.0f} MB"
    sweeps = "" if result.sweeps is None else f"{result.sweeps:.4g} sweeps"
    seconds = f"{result.seconds:.4g} s (cpu {min(result.cpu):.3g})"
    return f"{result.peer:<15} {seconds}  {excess}  {sweeps}  {memory}{unfinished} {result.note}".rstrip()


def _number(value: float | None, width: int = 8) -> str:
    return f"{value:>{width}.4g}" if value is not None else " " * width


def _mb(result: Result | None) -> str:
    return f"{result.memory / 1e6:>7,.0f}" if result and result.memory is not None else " " * 7
