"""What the figures mean: ratios, excess over the best objective, marks, and whether the goal is met.

Rules, in order:
1. The reference is the goal's named peer, or the fastest peer that counts (the null rival and peers that
   solve another problem never count).
2. A faster answer with a worse objective does not count: a peer that beats separatrix in time but is behind
   it in objective is passed over as the reference, and marked.
3. separatrix is measured against the reference only at an objective no worse than the reference's.

"Worse" means above by more than 1e-9 of the value: an objective evaluated in double precision is good to
about 1e-14, while tolerances of 1e-4 on gradients leave 1e-7 or so. Where chance takes part (the errors of an
ensemble on rows held out) it means above by more than the workload's spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.model import SUBJECT, Goal, Options, Report, Row, Workload

TOLERANCE = 1e-9
WORSE = "worse objective"


def worse(ours: Row, theirs: Row) -> bool:
    """Whether our objective is above theirs by more than the tolerance; False where either has none."""
    if ours.objective is None or theirs.objective is None:
        return False
    return ours.objective > theirs.objective + TOLERANCE * abs(theirs.objective) + ours.spread


def seconds(row: Row) -> float:
    """The time of a row that has one; infinite otherwise, so that it is never the fastest."""
    return float("inf") if row.seconds is None else row.seconds


def report(workload: Workload, source: str, unit: str, rows: Sequence[Row], options: Options) -> Report:
    """Complete the rows and pass judgement."""
    rows = [replace(row, spread=workload.spread) for row in rows]
    done = [row for row in rows if row.status == "ok"]
    subject = next((row for row in done if row.peer == SUBJECT), None)
    best = min((row.objective for row in done if row.objective is not None), default=None)
    if workload.goal.share is not None:
        met, verdict = _memory_verdict(rows, workload.goal.share)
        parts = list(dict.fromkeys(row.part for row in rows))
        ranked = sorted(rows, key=lambda row: (parts.index(row.part), row.status != "ok", row.memory or 0))
        return Report(
            workload.id, workload.title, source, unit, tuple(ranked), workload.goal.text, verdict, met,
            scale=options.scale,
        )  # fmt: skip
    reference = _reference(done, subject, workload.goal.reference)
    standard = subject or reference
    completed = []
    for row in rows:
        if row.status == "ok":
            rival = reference if row.peer == SUBJECT else standard
            marks = (WORSE,) if rival is not None and worse(row, rival) else ()
            row = replace(
                row,
                ratio=seconds(row) / seconds(reference) if reference else None,
                excess=None if row.objective is None or best is None else row.objective - best,
                notes=marks + row.notes,
            )
        completed.append(row)
    completed.sort(key=lambda row: (row.status != "ok", row.seconds or 0.0))
    speedup = seconds(reference) / seconds(subject) if subject and reference else None
    if workload.goal.against or workload.goal.seconds is not None:
        met, verdict = _several_verdict(done, subject, workload.goal)
    else:
        met, verdict = _speed_verdict(done, subject, reference, speedup, workload.goal.speedup)
    return Report(
        workload.id, workload.title, source, unit, tuple(completed), workload.goal.text, verdict, met,
        speedup, reference.peer if reference else None, options.scale,
    )  # fmt: skip


def skipped(workload: Workload, why: str, options: Options) -> Report:
    """The report of a workload that nobody ran."""
    return Report(
        workload.id, workload.title, "none", "", (), workload.goal.text, f"skipped: {why}", None,
        scale=options.scale,
    )  # fmt: skip


def _reference(done: Sequence[Row], subject: Row | None, named: str | None) -> Row | None:
    """Rules 1 and 2."""
    rivals = [row for row in done if row.peer != SUBJECT and row.counts]
    if named is not None:
        rivals = [row for row in rivals if row.peer == named]
    elif subject is not None:
        rivals = [row for row in rivals if not (seconds(row) < seconds(subject) and worse(row, subject))]
    return min(rivals, key=seconds, default=None)


def _speed_verdict(
    done: Sequence[Row],
    subject: Row | None,
    reference: Row | None,
    speedup: float | None,
    wanted: float | None,
) -> tuple[bool | None, str]:
    """Met or missed, and the sentence that says by how much."""
    if subject is None:
        return None, "separatrix did not run"
    if reference is None or speedup is None or wanted is None:
        return None, "no peer to compare with"
    text = f"{speedup:.2f}× the speed of {reference.peer}"
    if worse(subject, reference):
        gap = (subject.objective or 0.0) - (reference.objective or 0.0)
        return False, f"missed: {text}, but a worse objective (by {gap:.1e}), so it does not count"
    passed_over = [r.peer for r in done if r.counts and r.peer != SUBJECT and seconds(r) < seconds(reference)]
    if passed_over:
        text += f" ({', '.join(passed_over)} faster at a worse objective: not counted)"
    return speedup >= wanted, f"{'met' if speedup >= wanted else 'missed'}: {text}"


def _several_verdict(done: Sequence[Row], subject: Row | None, goal: Goal) -> tuple[bool | None, str]:
    """Each named peer's speed-up, and the time where one is asked for; a peer that did not run leaves it open."""
    if subject is None:
        return None, "separatrix did not run"
    by_name = {row.peer: row for row in done}
    words, good = [], []
    if goal.seconds is not None:
        good.append(seconds(subject) <= goal.seconds)
        words.append(f"{seconds(subject):.3g} s")
    for name, wanted in goal.against.items():
        if name not in by_name:
            words.append(f"{name} did not run")
            continue
        rival = by_name[name]
        speedup = seconds(rival) / seconds(subject)
        behind = rival.counts and worse(subject, rival)
        good.append(speedup >= wanted and not behind)
        words.append(f"{speedup:.2f}× the speed of {name}" + (" at a worse objective" if behind else ""))
    if not all(good):
        return False, f"missed: {', '.join(words)}"
    complete = len(good) == len(goal.against) + (goal.seconds is not None)
    return (True if complete else None), f"{'met' if complete else 'open'}: {', '.join(words)}"


def _memory_verdict(rows: Sequence[Row], wanted: float) -> tuple[bool | None, str]:
    """Peak memory against the share wanted, in every part."""
    own = [row for row in rows if row.peer == SUBJECT]
    if all(row.share is None for row in own):
        return None, "separatrix did not run"
    met = all(row.share is not None and row.share < wanted for row in own)
    shares = [row.status if row.share is None else f"{100 * row.share:.1f} %" for row in own]
    text = ", ".join(f"{row.part} {share}".strip() for row, share in zip(own, shares, strict=True))
    return met, f"{'met' if met else 'missed'}: {text} of the data above the data"
