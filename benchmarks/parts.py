"""What the figures mean in a table of several parts, a model each:  every part has its own reference.

Rules:
1. The reference of a part is scikit-learn's row of that part.
2. Whoever is behind the other of its part in objective, by more than the row's spread, is marked. separatrix's mark
   leaves the goal missed, however fast it is; scikit-learn's changes nothing, which is the stricter comparison.
3. The goal is of all parts together: none slower than `Goal.each`, `Goal.speedup` on geometric mean; or no part more
   than `Goal.above` seconds above its reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from benchmarks.judge import WORSE, seconds, worse
from benchmarks.model import SUBJECT, Goal, Options, Report, Row, Workload

REFERENCE = "sklearn"
NAMED = 5  # how many parts a sentence names before it counts the rest

T = TypeVar("T")


class Both(NamedTuple):
    """separatrix and the reference in one part, where both ran."""

    ours: Row
    theirs: Row

    @property
    def speedup(self) -> float:
        return seconds(self.theirs) / seconds(self.ours)

    @property
    def above(self) -> float:
        """Seconds that separatrix takes beyond the reference's."""
        return seconds(self.ours) - seconds(self.theirs)


def report(workload: Workload, source: str, unit: str, rows: Sequence[Row], options: Options) -> Report:
    """Complete the rows part by part and pass judgement over all of them."""
    parts = list(dict.fromkeys(row.part for row in rows))
    completed: list[Row] = []
    pairs: list[Both] = []
    for part in parts:
        found = [row for row in rows if row.part == part]
        ours, theirs = (_done(found, peer) for peer in (SUBJECT, REFERENCE))
        if ours and theirs:
            pairs.append(Both(ours, theirs))
        completed += [_completed(row, theirs, ours if row is theirs else theirs) for row in found]
    met, verdict = _verdict(rows, pairs, workload.goal)
    mean = geometric_mean(pair.speedup for pair in pairs) if pairs else None
    return Report(
        workload.id, workload.title, source, unit, tuple(completed), workload.goal.text, verdict, met,
        mean, REFERENCE if pairs else None, options.scale,
    )  # fmt: skip


def geometric_mean(ratios: Iterable[float]) -> float:
    """The mean by which twice as fast here and half as fast there is neither.

    >>> geometric_mean([2.0, 0.5])
    1.0
    """
    return float(np.exp(np.mean(np.log(list(ratios)))))


def _done(found: Sequence[Row], peer: str) -> Row | None:
    return next((row for row in found if row.peer == peer and row.status == "ok"), None)


def _completed(row: Row, reference: Row | None, rival: Row | None) -> Row:
    """The row with its ratio to the reference, and its mark."""
    if row.status != "ok":
        return row
    marks = (WORSE,) if rival is not None and worse(row, rival) else ()
    ratio = seconds(row) / seconds(reference) if reference else None
    return replace(row, ratio=ratio, notes=marks + row.notes)


def _verdict(rows: Sequence[Row], pairs: Sequence[Both], goal: Goal) -> tuple[bool | None, str]:
    own = [row for row in rows if row.peer == SUBJECT]
    if not own:
        return None, "separatrix did not run"
    broken = [row.part for row in own if row.status != "ok"]
    if not pairs and not broken:
        return None, "no peer to compare with"
    behind = [pair.ours.part for pair in pairs if worse(pair.ours, pair.theirs)]
    good, words = _far_above(pairs, goal.above) if goal.above is not None else _slow(pairs, goal)
    if behind:
        words.append(f"worse objective: {_listed(behind, str)}")
    if broken:
        words.append(f"failed: {_listed(broken, str)}")
    met = good and not behind and not broken
    return met, f"{'met' if met else 'missed'}: {'; '.join(words)}"


def _slow(pairs: Sequence[Both], goal: Goal) -> tuple[bool, list[str]]:
    """The geometric mean, and the parts slower than they may be, the slowest first."""
    if not pairs:
        return False, []
    mean = geometric_mean(pair.speedup for pair in pairs)
    least = goal.each or 0.0
    slow = sorted((pair for pair in pairs if pair.speedup < least), key=lambda pair: pair.speedup)
    named = _listed(slow, lambda pair: f"{pair.ours.part} {pair.speedup:.2f}×", most=len(slow))
    words = [f"{mean:.2f}× the speed of {REFERENCE} on geometric mean", f"slower: {named or 'none'}"]
    return mean >= (goal.speedup or 0.0) and not slow, words


def _far_above(pairs: Sequence[Both], limit: float) -> tuple[bool, list[str]]:
    """The parts further above the reference than they may be, the furthest first; else the furthest."""
    ranked = sorted(pairs, key=lambda pair: -pair.above)
    far = [pair for pair in ranked if pair.above > limit]
    if not far:
        return True, [
            f"at most {pair.above:.2f} s above {REFERENCE} ({pair.ours.part})" for pair in ranked[:1]
        ]
    named = _listed(far, lambda pair: f"{pair.ours.part} {pair.above:.2f} s")
    return False, [f"{len(far)} of {len(pairs)} more than {limit:g} s above {REFERENCE}: {named}"]


def _listed(values: Sequence[T], text: Callable[[T], str], most: int = NAMED) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(text(value) for value in values[:most]) + more
