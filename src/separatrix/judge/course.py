"""The order of a comparison's work, round after round: what comes next depends on the table, the seed and the scores.

    breadth     every model with its usual settings on the first fold, up a ladder of rows; after each rung those far
                behind stop (at least half stay, those of most right answers, and all that are not clearly worse)
    folds       the other folds for those in the race; after each, those hopelessly behind stop
    tuning      of those that may still win, in each fold inside its training rows; it counts where it scores better.
                Those that stopped are tuned on the first fold, and are back where they may win so
    rest        the folds that were spared
    repeat      further repetitions, of those in the race first

No clock has a say here: a slower machine, or a smaller budget, does the beginning of the same rounds. What the clock
may do is to end them, or to give a model fewer rows (`give_fewer`), and both are kept, so that the rounds that ran
can be run again. Decisions are made between rounds alone, so that threads do not matter. Row V1. Cost: a few sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from separatrix.judge.candidates import cheapest_first
from separatrix.judge.contest import FLOORS, LADDER, Contest, FoldResult, Step
from separatrix.judge.paired import Pair, difference_of, spread_of
from separatrix.judge.scores import METRICS

FIRST = LADDER[0]  # rows, of which everybody has a score; too few to stop anybody
STAY = 4  # models that go on from a rung of the ladder, at least
LEAD = 2  # models that go on from a fold, at least
SHARP = 3  # models of most right answers that go on from a rung too: tuning mends probabilities, not answers
CLEAR = 2.0  # errors behind, on a rung of the ladder, beyond which the lower half stops
HOPELESS = 3.0  # errors behind, over folds, beyond which a model stops
TOP = 3  # models that are tuned, at least


@dataclass(frozen=True)
class Round:
    """Steps that know nothing of each other; ``whole``: they count only where all of them are finished."""

    kind: str
    steps: tuple[Step, ...]
    whole: bool = False


@dataclass(eq=False)
class Course:
    """What came out so far, and what comes next.

    results : by step
    fewer : model → rows of training it is given at most, for want of time
    stopped : model → (rows, folds) after which it was far behind
    gone : models that failed, or could not be fitted in the time
    """

    contest: Contest
    results: dict[Step, FoldResult] = field(default_factory=dict)
    fewer: dict[str, int] = field(default_factory=dict)
    stopped: dict[str, tuple[int, int]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.order = cheapest_first(self.contest.candidates, self.contest.facts)
        self._by_tuning = {m: self._searches(m) for m in self.order}

    # ---- who and what ----

    def racing(self) -> list[str]:
        """Those still in the race, the cheapest first; the floor goes along."""
        return [m for m in self.order if m not in self.stopped and m not in self.gone]

    def rows(self, name: str, split: int) -> int:
        """Of training, that a model is given in a split."""
        of_all = len(self.contest.splits[split].train)
        return min(of_all, self.contest.most(name), self.fewer.get(name, of_all))

    def give_fewer(self, name: str, rows: int) -> None:
        """No more than these rows from here on."""
        self.fewer[name] = rows

    def found(self, name: str, tuned: bool) -> list[FoldResult]:
        """The results of a model in order of its splits, of each that on most rows."""
        best: dict[int, FoldResult] = {}
        for step, result in self.results.items():
            if (step.model, step.tuned) != (name, tuned):
                continue
            if step.split not in best or best[step.split].rows < step.rows:
                best[step.split] = result
        return [best[s] for s in sorted(best)]

    def tuned(self, name: str) -> bool:
        """Whether a model stands for itself tuned: where that scores better on the same folds."""
        tuned = self.found(name, True)
        plain = {r.split: r for r in self.found(name, False)}
        both = [(r, plain[r.split]) for r in tuned if r.split in plain]
        if len(both) < len(plain) or not both:
            return bool(tuned) and not plain
        sign = -1.0 if METRICS[self.contest.metric].higher else 1.0
        gain = np.mean(
            [sign * (a.scores[self.contest.metric] - b.scores[self.contest.metric]) for a, b in both]
        )
        return bool(gain < 0)

    def own(self, name: str) -> list[FoldResult]:
        """The results that a model is judged by."""
        return self.found(name, self.tuned(name))

    def whole(self, name: str) -> bool:
        """Whether it has all folds of the first repetition."""
        return len(self.own(name)) >= self.contest.folds

    # ---- rounds ----

    def rounds(self) -> Iterator[Round]:
        yield from self._breadth()
        yield from self._folds()
        if not all(self.whole(m) for m in self.racing()):
            return
        yield from self._tuning()
        yield from self._rest()
        yield from self._repeats()

    def _breadth(self) -> Iterator[Round]:
        rungs = self.contest.rungs()
        for rung in rungs:
            steps = [Step(m, False, 0, min(rung, self.rows(m, 0))) for m in self.racing()]
            if new := tuple(step for step in steps if step not in self.results):
                yield Round("breadth", new)
            if FIRST < rung < rungs[-1]:
                self._halve(rung)
        self._stop()

    def _folds(self) -> Iterator[Round]:
        for s in range(1, min(self.contest.folds, len(self.contest.splits))):
            yield Round("folds", tuple(Step(m, False, s, self.rows(m, s)) for m in self.racing()))
            self._stop()

    def _tuning(self) -> Iterator[Round]:
        able = sorted(self.may_win(), key=lambda m: self._by_tuning[m][1])
        for name in able:
            if self.searches(name):
                first = [Step(name, True, s, self.rows(name, s)) for s in range(self.contest.folds)]
                yield Round("tuning", tuple(first), whole=True)
        for name in self.order:
            if name not in able and self.to_tune(name):
                yield from self._second_look(name)

    def _second_look(self, name: str) -> Iterator[Round]:
        """A model that stopped with its usual settings, tuned on the first fold: where it may win so, on all."""
        first = Step(name, True, 0, self.rows(name, 0))
        yield Round("tuning", (first,), whole=True)
        best = self.best_first([m for m in self.racing() if m not in FLOORS and self.own(m)])[0]
        theirs = [r for r in self.own(best) if r.split == 0]
        look = self.results.get(first)
        if look is None or not theirs or self._behind([(look, theirs[0])], HOPELESS):
            return
        steps = tuple(Step(name, True, s, self.rows(name, s)) for s in range(1, self.contest.folds))
        yield Round("tuning", steps, whole=True)
        if all(step in self.results for step in steps):
            self.stopped.pop(name, None)

    def to_tune(self, name: str) -> bool:
        """Whether its tuning is planned: of what has settings to choose from, and was given all its rows."""
        return self.searches(name) and self._in_folds(name)

    def searches(self, name: str) -> bool:
        """Whether it has settings to choose from, and is there."""
        return self._by_tuning[name][0] > 1 and name not in self.gone

    def _rest(self) -> Iterator[Round]:
        for name in self.order:
            if name in self.stopped and name not in self.gone and self._in_folds(name):
                done = {r.split for r in self.found(name, False)}
                left = [s for s in range(self.contest.folds) if s not in done]
                if left:
                    steps = tuple(Step(name, False, s, self.rows(name, s)) for s in left)
                    yield Round("rest", steps, whole=True)

    def _repeats(self) -> Iterator[Round]:
        folds, most = self.contest.folds, len(self.contest.splits)
        for start in range(folds, most, folds):
            splits = range(start, min(start + folds, most))
            groups = [self.racing(), *([m] for m in self.order if m in self.stopped and self.whole(m))]
            for names in groups:
                alive = [m for m in names if m not in self.gone]
                steps = [Step(m, self.tuned(m), s, self.rows(m, s)) for s in splits for m in alive]
                if steps:
                    yield Round("repeat", tuple(steps), whole=True)

    def _in_folds(self, name: str) -> bool:
        """Whether it has been given all the rows that it would be given."""
        most = min(len(self.contest.splits[0].train), self.contest.most(name))
        return name not in self.stopped or self.stopped[name][0] >= most

    def _searches(self, name: str) -> tuple[int, float]:
        """(settings to choose from, work of choosing)."""
        candidate = self.contest.candidates[name]
        tries = candidate.tries(self.contest.facts)
        work = candidate.work(self.contest.facts)
        return tries, (tries * work if work == work else math.inf)

    # ---- who stops ----

    def best_first(self, names: Sequence[str]) -> list[str]:
        sign = -1.0 if METRICS[self.contest.metric].higher else 1.0

        def key(m: str) -> float:
            mean = sign * float(np.mean([r.scores[self.contest.metric] for r in self.own(m)]))
            return mean if np.isfinite(mean) else np.inf

        return sorted(names, key=key)

    def _halve(self, rung: int) -> None:
        """On a rung: of the lower half, those clearly behind the best stop."""
        names = [m for m in self.racing() if m not in FLOORS and self._at(m, rung)]
        ranked = self.best_first(names)
        sharp = sorted(names, key=lambda m: -self._at(m, rung).scores["accuracy"])[:SHARP]  # type: ignore[union-attr]
        for m in ranked[max(STAY, -(-len(ranked) // 2)) :]:
            pair = (self._at(m, rung), self._at(ranked[0], rung))
            if m not in sharp and self._behind([pair], CLEAR):  # type: ignore[list-item]
                self.stopped[m] = (self.found(m, False)[0].rows, 1)

    def _at(self, name: str, rung: int) -> FoldResult | None:
        """The result on the first split on a rung, or on the last that the model is given."""
        return self.results.get(Step(name, False, 0, min(rung, self.rows(name, 0))))

    def _stop(self) -> None:
        """Over the folds so far: those hopelessly behind the best stop."""
        ranked = self.best_first([m for m in self.racing() if m not in FLOORS and self.own(m)])
        for m in ranked[LEAD:]:
            own = self.own(m)
            if self._behind(self.pairs(m, ranked[0]), HOPELESS):
                self.stopped[m] = (own[0].rows, len(own))

    def pairs(self, name: str, best: str) -> list[Pair]:
        """The results of two models on the same splits."""
        theirs = {r.split: r for r in self.own(best)}
        return [(r, theirs[r.split]) for r in self.own(name) if r.split in theirs]

    def _behind(self, pairs: Sequence[Pair], errors: float) -> bool:
        found = spread_of(pairs, self.contest.metric, self.ratio(pairs)) if pairs else None
        if found is None or not np.isfinite(found.error):
            return False
        return found.mean > errors * found.error and found.mean > 0

    def ratio(self, pairs: Sequence[Pair]) -> float:
        """Rows judged by rows of training."""
        return float(np.mean([len(one.test) / max(one.rows, 1) for one, _ in pairs]))

    def may_win(self) -> list[str]:
        """Those of the race that are not really worse than the best, and the first few in any case."""
        ranked = self.best_first([m for m in self.racing() if m not in FLOORS and self.own(m)])
        able = ranked[:TOP]
        for m in ranked[TOP:]:
            pairs = self.pairs(m, ranked[0])
            found, _, p = difference_of(
                pairs, self.contest.metric, self.ratio(pairs), 0.95, self.contest.folds
            )
            if not (p < 0.05 and found.mean > 0):
                able.append(m)
        return able
