"""The rounds of a comparison, run: steps side by side under a budget of seconds; what is finished is kept.

    breadth       the best go up a rung first, as long as all folds would fit there; the others stay where they are;
                  a fit that takes too long is called off, and the model stays with what it has
    other rounds  as far as the time lasts, then no more; tuning and repetitions only where all of them fit
    reserve       the seconds of the fit to all rows that comes last, and of what comes after it

Fits run on threads, each on one, with the library's own sweeps and BLAS pinned to one thread. What a step computes
depends on it alone; what is decided (course.py) on rounds that are finished. Row V1. Cost: the fits; memory for
probabilities (m, K) of every step.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn

from separatrix.data.engine import engine
from separatrix.data.interrupts import telling as told_to_end
from separatrix.data.interrupts import until_interrupted
from separatrix.data.pool import Submit, background, one_blas_thread
from separatrix.judge.budget import Allowed, Forecasts, short, working
from separatrix.judge.contest import FLOORS, Contest, FoldResult, Step
from separatrix.judge.course import Course, Round
from separatrix.judge.encoded import EncodedSplits
from separatrix.judge.fits import Unwanted, searching, while_wanted
from separatrix.judge.plan import Plan, data_hash, fingerprint
from separatrix.judge.progress import Progress, Share
from separatrix.judge.reasons import Reasons, more_time

HALVED = 2  # times as long as a rung of the ladder what follows it may take
PART = 0.85  # of the time left, at most, all folds may take on a rung of the ladder, for models to be given its rows
ALONE = 0.5  # of the time left, at most, a fit may take that nothing is known of
GRACE, LATE = 3.0, 0.15  # seconds, and a share of the budget, over it for a first score, where there is none
LAST = 0.05  # of the budget, over it, to finish a step that is under way
TICK = 0.05  # seconds between looks at the clock
A_ROW = re.compile(r"\brows? \d")  # a warning that names a row means its place in the fold

_doing: ContextVar[str] = ContextVar("separatrix_doing", default="")


@dataclass(eq=False)
class Under:
    """A step under way: when it began, when it is called off, and the word for that."""

    step: Step
    began: float
    ends: float
    encoding: bool = True  # which is not the model's own time
    off: threading.Event = field(default_factory=threading.Event)


@dataclass(eq=False)
class Race:
    """The work of a comparison; :meth:`run` does it."""

    contest: Contest
    allowed: Allowed
    tell: Callable[[Progress], None] = lambda progress: None
    plan: Plan | None = None  # to be run again, in place of what the scores and the clock say

    def __post_init__(self) -> None:
        self.course = Course(self.contest)
        self.reasons = Reasons()
        self.forecasts = Forecasts(self.contest)
        self.encoded = EncodedSplits(self.contest)
        self.errors: dict[str, Exception] = {}
        self.undone: dict[str, list[str]] = {}
        self.interrupted = False
        self.over = False  # the time is
        self.warned: tuple[tuple[type[Warning], str, int], ...] = ()
        self._share = Share(self.contest, self.allowed, bound=self._bound())
        self._stop = False
        self._scored = False  # whether another model than the floor is
        self._reserve = 0.0
        self._config = sklearn.get_config()
        self._heard: list[tuple[str, type[Warning], str]] = []

    # ---- all of it ----

    def run(self) -> None:
        """Round after round; Ctrl-C ends it and keeps what is finished."""
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = self._hear  # called on the fit's thread, so that the model is known
            with until_interrupted() as watch, background(self.allowed.workers) as submit:
                try:
                    self.say("forecast", None, -1, self._outline())
                    for each in self._again() if self.plan else self.course.rounds():
                        self._do(submit, each)
                        if self.over:
                            break
                finally:
                    self._stop = True  # steps under way end at their next checkpoint: nothing goes on behind
            self.interrupted |= watch.interrupted
        if self.plan is None:
            self._why()
        self.warned = _by_model(self._heard)

    def _again(self) -> Iterator[Round]:
        """The rounds of a plan: its steps, and then what was decided."""
        assert self.plan is not None
        course = self.course
        course.fewer = dict(self.plan.fewer)
        for split in dict.fromkeys(step.split for step in self.plan.steps):
            for tuned in (False, True):
                steps = [s for s in self.plan.steps if (s.split, s.tuned) == (split, tuned)]
                if steps:
                    yield Round("again", tuple(steps))
        course.stopped, course.gone = dict(self.plan.stopped), set(self.plan.gone)
        for name, (kind, text) in self.plan.reasons.items():
            self.reasons.said[name], self.reasons.kinds[name] = text, kind
        self.undone = {kind: list(names) for kind, names in self.plan.undone.items()}

    # ---- a round ----

    def _do(self, submit: Submit, each: Round) -> None:
        self._reserve = self._to_keep(each)
        steps = self._admitted(each)
        found: dict[Step, FoldResult] = {}
        waiting = list(reversed(steps))
        under: dict[Future[Any], Under] = {}
        try:
            while waiting or under:
                while waiting and len(under) < self.allowed.workers:
                    step = waiting.pop()
                    if self._may_begin(each, step):
                        task = Under(step, self.allowed.elapsed(), self._ends(each))
                        under[submit(self._work, task)] = task
                done, _ = wait(under, TICK, FIRST_COMPLETED)
                for future in sorted(done, key=lambda f: under[f].step):
                    self._finished(each, future, under.pop(future), found)
                now = self.allowed.elapsed()
                for task in under.values():
                    if now > task.ends and not task.encoding:
                        task.off.set()
        finally:
            if not each.whole or len(found) == len(each.steps):
                for step in each.steps:  # in the plan's order, not that of the threads
                    if step in found:
                        self.course.results.pop(step, None)
                        self.course.results[step] = found[step]
        self.encoded.forget()

    def _admitted(self, each: Round) -> list[Step]:
        """The steps that may be begun: of a rung as many as the time allows, of a whole round all or none."""
        if self.allowed.seconds is None or self.plan:
            return list(each.steps)
        left = max(self.allowed.left() - self._reserve, 0.0)
        known = {step: self._seconds(step) for step in each.steps}
        if each.whole:
            work = sum(known.values()) / self.allowed.workers
            tail = max(known.values()) * (1 - 1 / self.allowed.workers)
            if not work + tail <= left:
                self.over = True
                return []
            return list(each.steps)
        if each.kind != "breadth":
            return list(each.steps)
        kept, spent = set(), 0.0
        last = max(step.rows for step in each.steps) >= self.contest.rungs()[-1]
        folds = self.contest.folds if last else HALVED  # of those on a rung before few go on
        scored = [s.model for s in each.steps if self.course.own(s.model)]
        place = {m: i for i, m in enumerate(self.course.best_first(scored))}
        for step in sorted(each.steps, key=lambda s: place.get(s.model, -1)):
            small, seconds = self.forecasts.measured(step.model), known[step]
            if step.model in FLOORS or small is None or np.isnan(seconds):
                kept.add(step)
            elif folds * (spent + seconds) / self.allowed.workers > PART * left:
                self.course.give_fewer(step.model, small[0])
                self.reasons.too_long(step.model, step.rows, seconds, small, left)
            else:
                spent += seconds
                kept.add(step)
        return [step for step in each.steps if step in kept]

    def _seconds(self, step: Step) -> float:
        """Of a step, by forecast, the encoding of its rows among them; NaN where nothing is known."""
        return self.forecasts.of(step) + self.encoded.to_encode(step)

    def _to_keep(self, each: Round) -> float:
        """Seconds of the fit to all rows that comes last: of the best so far, or of all that are to be judged."""
        names = [m for m in self.course.racing() if m not in FLOORS and self.course.own(m)]
        if not names or self.allowed.seconds is None:
            return 0.0
        if not self.allowed.fits_all:
            names = [self.course.best_first(names)[0]]
        most = max(step.rows for step in each.steps) if each.kind == "breadth" else self.contest.facts.n
        return float(sum(self.to_refit(m, most) for m in names))

    def to_refit(self, name: str, most: int | None = None) -> float:
        """Seconds of a fit to all rows, or as many as a model is given, or as the ladder has come to."""
        n = self.contest.facts.n
        reached = most is None or 2 * most > n
        rows = min(self.course.fewer.get(name, n), self.contest.most(name), n if reached else most or n)
        seconds = self.forecasts.of(Step(name, self.course.tuned(name), 0, rows))
        encoding = self.encoded.rate.get(self.contest.candidates[name].form, 0.0) * rows
        return (seconds if seconds == seconds else 0.0) + encoding

    def _may_begin(self, each: Round, step: Step) -> bool:
        if step.model in self.course.gone or (self.over and each.kind != "breadth"):
            return False
        if self.allowed.seconds is None or self.plan or step.model in FLOORS:
            return True
        left = self.allowed.left() - self._reserve
        seconds = self._seconds(step)
        if left > 0 and not seconds > left:
            return True
        if each.kind != "breadth":
            self.over = True
            return False
        if not self._scored and self.allowed.left() > -(GRACE + LATE * self.allowed.seconds):
            return True  # an answer, a little late, is better than none
        if self.course.found(step.model, False):
            self.course.give_fewer(step.model, self.course.found(step.model, False)[0].rows)
            small = self.forecasts.measured(step.model)
            assert small is not None
            self.reasons.too_long(step.model, step.rows, seconds, small, left)
        else:
            self.course.gone.add(step.model)
            self.reasons.not_begun(step.model, self.allowed.seconds)
        return False

    def _ends(self, each: Round) -> float:
        """When a step that begins now is called off."""
        if self.allowed.seconds is None or self.plan:
            return np.inf
        now, left = self.allowed.elapsed(), self.allowed.left()
        if each.kind == "breadth":
            part = ALONE if self._scored else PART
            return now + max(part * (left - self._reserve), GRACE / 2)
        return now + max(left - self._reserve + LAST * self.allowed.seconds, GRACE / 2)

    def _finished(self, each: Round, future: Future[Any], task: Under, found: dict[Step, FoldResult]) -> None:
        step, course = task.step, self.course
        before = course.found(step.model, False)
        try:
            result = future.result()
        except Unwanted:
            if self._stop or step.model in course.gone:
                return
            if each.kind != "breadth":
                self.over = True
                return
            spent = self.allowed.elapsed() - task.began
            self.reasons.called_off(step.model, step.rows, spent, before[0].rows if before else 0)
            if before:
                course.give_fewer(step.model, before[0].rows)
            else:
                course.gone.add(step.model)
            why = self.reasons.said[step.model]
            self.say("cut", step.model, step.split, f"{step.model}: {why}")
            return
        except Exception as error:
            if step.tuned:
                self._heard.append((step.model, UserWarning, f"its tuning failed: {error}"))
            elif step.model not in self.errors:  # folds side by side may fail together
                self.errors[step.model] = error
                course.gone.add(step.model)
                part = step.rows if step.rows < len(self.contest.splits[step.split].train) else None
                why = self.reasons.failed(step.model, step.split, part, error)
                self.say("cut", step.model, step.split, f"{step.model} {why}")
            return
        found[step] = result
        if not each.whole:  # to be told of; nothing is decided before the round is over
            course.results[step] = result
        self._scored |= step.model not in FLOORS
        self.forecasts.learn(result)
        self._share.done += 1
        on = "" if result.rows >= len(self.contest.splits[step.split].train) else f" on {result.rows:,} rows"
        how = "tuned, " if step.tuned else ""
        self.say(
            "fold",
            step.model,
            step.split,
            f"{step.model}: {how}fold {step.split + 1}{on} in {short(result.seconds)}",
        )

    # ---- one step ----

    def _work(self, task: Under) -> FoldResult:
        step, contest = task.step, self.contest
        train, test = contest.rows_of(step)
        with self._quietly(step.model, task):
            A, B = self.encoded.of(step, train, test)
            task.ends += self.allowed.elapsed() - task.began
            task.encoding = False
            model = contest.made(step.model, step.tuned)
            began = working()
            model.fit(A, contest.labels[train])
            seconds = working() - began
            predicted, P = contest.answers(model, B)
            took = working() - began
        codes = contest.codes[test]
        scores = contest.scores(codes, predicted, P)
        return FoldResult(
            step.model, step.split, scores, seconds, predicted, P, test, step.rows, step.tuned, took, codes,
            contest.cost, contest.positive,
        )  # fmt: skip

    @contextmanager
    def _quietly(self, name: str, task: Under) -> Iterator[None]:
        """On one thread, as long as it is wanted; warnings are the model's."""
        token = _doing.set(name)

        def wanted() -> bool:
            return not self._stop and not task.off.is_set() and self.allowed.elapsed() <= task.ends

        try:
            with ExitStack() as stack:
                stack.enter_context(sklearn.config_context(**self._config))
                stack.enter_context(engine("serial"))
                stack.enter_context(one_blas_thread())
                stack.enter_context(while_wanted(wanted))
                stack.enter_context(told_to_end(task.off))
                yield
        except KeyboardInterrupt:
            if task.off.is_set() or self._stop:
                raise Unwanted from None
            raise
        finally:
            _doing.reset(token)

    def _hear(self, message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        """A warning of a fit; those of the search for settings are of fits that nobody keeps."""
        text = str(message)
        if not searching() and not A_ROW.search(text) and "sklearn.utils.parallel.delayed" not in text:
            self._heard.append((_doing.get(), category, text))

    # ---- afterwards ----

    def _why(self) -> None:
        """Of each model that was not followed to the end the reason, and what more time could change."""
        course, folds = self.course, self.contest.folds
        racing = [m for m in course.racing() if m not in FLOORS and course.own(m)]
        best = course.best_first(racing)[0] if racing else self.contest.floor
        for name, (rows, seen) in course.stopped.items():
            if len(course.found(name, False)) < folds or rows < course.rows(name, 0):
                most = len(self.contest.splits[0].train)
                self.reasons.behind(name, rows, most, seen, folds, best)
        if self.allowed.seconds is None:
            return
        undone = {
            "first": [m for m in course.gone if self.reasons.kinds.get(m) == "time"],
            "rows": [m for m in course.order if m in course.fewer and m not in course.gone],
            "folds": [m for m in racing if not course.whole(m)],
        }
        if self.over and not undone["folds"]:
            undone["tuning"] = [m for m in course.order if course.to_tune(m) and not course.found(m, True)]
            missing = len(self.contest.splits) > len(course.own(best)) and not undone["tuning"]
            undone["repeat"] = [best] if missing and best not in FLOORS else []
        self.undone = {kind: sorted(names) for kind, names in undone.items() if names}

    def more(self) -> str:
        """What a larger budget could change, in a sentence."""
        work = 0.0
        for kind, names in self.undone.items():
            for name in names:
                most = self.course.rows(name, 0)
                if kind == "rows":
                    most = min(len(self.contest.splits[0].train), self.contest.most(name))
                each = self.forecasts.of(Step(name, kind == "tuning", 0, most))
                work += each * (self.contest.folds - (len(self.course.own(name)) if kind == "folds" else 0))
        return more_time(self.undone, work / self.allowed.workers)

    def made_plan(self, table: str) -> Plan:
        """What ran."""
        course = self.course
        return self.plan or Plan(
            table=table, rows=self.contest.facts.n, columns=self.contest.facts.p, folds=fingerprint(self.contest),
            seed=self.contest.seed, metric=self.contest.metric, models=tuple(self.contest.candidates),
            steps=tuple(course.results), fewer=dict(course.fewer), stopped=dict(course.stopped),
            gone=tuple(sorted(course.gone)),
            reasons={m: (self.reasons.kinds[m], text) for m, text in self.reasons.said.items()},
            undone={kind: tuple(names) for kind, names in self.undone.items()},
        )  # fmt: skip

    def table(self) -> str:
        """The table's fingerprint."""
        return data_hash(self.contest.X, self.contest.labels)

    # ---- words ----

    def _bound(self) -> int:
        """Steps, at most."""
        if self.plan is not None:
            return len(self.plan.steps)
        names = self.contest.candidates.values()
        able = sum(c.tries(self.contest.facts) > 1 for c in names)
        each = len(self.contest.rungs()) - 1 + len(self.contest.splits)
        return len(names) * each + able * self.contest.folds

    def _outline(self) -> str:
        many, folds, rungs = len(self.contest.candidates), self.contest.folds, self.contest.rungs()
        models = f"{many} model{'s' * (many != 1)}"
        if self.plan is not None:
            return f"{models}, {len(self.plan.steps)} fits of a plan are run again"
        first = f" on {rungs[0]:,} rows, then on more" if len(rungs) > 1 else ""
        return (
            f"{models}, each on a first fold{first}; {folds} folds of those that may win, then their tuning"
        )

    def say(self, kind: str, model: str | None, fold: int, message: str, data: Any = None) -> None:
        self.tell(self._share.progress(kind, model, fold, message, self.course, data))


def _by_model(heard: Sequence[tuple[str, type[Warning], str]]) -> tuple[tuple[type[Warning], str, int], ...]:
    """Warnings by model and kind: (category, the model and the text of the first, how many)."""
    kinds: dict[tuple[str, type[Warning]], list[str]] = {}
    for name, category, text in heard:
        kinds.setdefault((name, category), []).append(text)
    return tuple(
        (kind, f"{name}: {texts[0]}" if name else texts[0], len(texts))
        for (name, kind), texts in kinds.items()
    )
