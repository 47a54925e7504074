"""Models × folds side by side under a budget of seconds; what is finished is kept, and who was cut is said with why.

    order         model after model, the quickest first, on the same folds; then models that a forecast had cut, where
                  it may have been too high; then those of which nothing is known; then further repetitions, each only
                  where all of it fits
    called off    between two fits of its tuning, a fold that takes longer than its limit (budget.py)

Fits run on threads, each on one, with the library's own sweeps and BLAS pinned to one thread. What a task computes
depends on its (model, fold) alone. Row V1. Cost: the fits; memory for probabilities (n, K) of every model and
repetition.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn

from separatrix.data.engine import engine
from separatrix.data.interrupts import until_interrupted
from separatrix.data.pool import Submit, background, one_blas_thread
from separatrix.judge.budget import BASELINE, GRACE, Budget, forecast, short, working
from separatrix.judge.candidates import by_guess
from separatrix.judge.contest import FoldResult
from separatrix.judge.fits import Unwanted, answers, searching, while_wanted
from separatrix.judge.folds import sample
from separatrix.judge.scores import scores_of
from separatrix.judge.tuning import SEARCH_ROWS

PILOTS = (150, 600)  # rows
MANY_ROWS = 6_000  # of training, from which pilots cost much less than the fold that they spare
PILOT_SHARE = 0.3  # of the budget, at most, goes to pilots
LONG = 0.5  # seconds of a pilot that are not spent twice
TICK = 0.05  # seconds between looks at the clock
A_ROW = re.compile(r"\brows? \d")  # a warning that names a row means its place in the fold

_doing: ContextVar[str] = ContextVar("separatrix_doing", default="")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What ``on_progress`` is told, always from the thread that called ``compare``.

    kind : "alerts", "forecast", "fold", "cut", "refit" or "done"
    model, fold : of what was just finished; None and −1 where it is not one model's
    done, total : folds finished and folds planned, over all models
    seconds, budget : since the start, and in all (None: no limit)
    standing : model → (folds done, mean of the metric so far)
    message : a sentence
    data : the alerts, or the forecast, of those kinds
    """

    kind: str
    message: str
    seconds: float
    budget: float | None
    model: str | None = None
    fold: int = -1
    done: int = 0
    total: int = 0
    standing: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    data: Any = None


@dataclass(eq=False)
class Race(Budget):
    """The work of a comparison; :meth:`run` does it."""

    tell: Callable[[Progress], None] = lambda progress: None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._stop = False
        self._for_time: set[str] = set()  # cut by a forecast
        self._lock = threading.Lock()
        self._config = sklearn.get_config()
        self._heard: list[tuple[str, type[Warning], str]] = []
        self._since: dict[tuple[str, int], float] = {}  # when folds began

    # ---- who runs ----

    def _admit(self) -> None:
        """Cut the dearest models until what is left of the first repetition fits into the time left."""
        if self.allowed.seconds is None:
            return
        names = [
            m for m in self.contest.candidates if m not in self.cut and m in self.seconds and m != BASELINE
        ]
        names.sort(key=lambda m: self._undone(m) * self.seconds[m])
        work = 0.0
        kept: list[str] = []
        forms: set[str | None] = set()
        for m in names:
            undone, form = self._undone(m), self.contest.candidates[m].form
            more = undone * self.seconds[m] + (0.0 if form in forms else self.encoded.to_come(form))
            tail = self.seconds[m] * (1 - 1 / self.allowed.workers)  # at the end a worker waits for the other
            grace = GRACE * self.allowed.seconds if m in self._took else 0.0
            needed = (work + more) / self.allowed.workers + tail + self._reserve([*kept, m])
            if undone and needed > self.left() + grace:
                self._for_time.add(m)
                left = f"the {short(max(self.left(), 0))} left of {short(self.allowed.seconds)}"
                self._cut(m, f"{undone} folds of about {short(self.seconds[m])} each do not fit into {left}")
            else:
                work += more
                kept.append(m)
                forms.add(form)

    def _cut(self, name: str, why: str, reason: str = "time") -> None:
        self.cut[name], self.reasons[name] = why, reason
        self.say("cut", name, -1, f"{name} is cut: {why}")

    # ---- one task ----

    def _work(self, name: str, s: int) -> tuple[FoldResult, float]:
        """The result, and the seconds of the fit and the answers together."""
        candidate, split = self.contest.candidates[name], self.contest.splits[s]
        self._since[name, s] = self.elapsed()
        ends = self._since[name, s] + self._limit(name, s)
        with self._quietly(name, lambda: name not in self.cut and self.elapsed() <= ends):
            A, B = self.encoded.of(s, candidate.form)
            model = self.contest.made(name)
            began = working()
            model.fit(A, self.contest.labels[split.train])
            seconds = working() - began
            predicted, P = answers(model, B, self.contest.facts.classes)
            took = working() - began
        scores = scores_of(self.contest.codes[split.test], predicted, P, self.contest.cost)
        return FoldResult(name, s, scores, seconds, predicted, P), took

    @contextmanager
    def _quietly(self, name: str, wanted: Callable[[], bool]) -> Iterator[None]:
        """On one thread, as long as it is wanted; warnings are the model's."""
        token = _doing.set(name)
        try:
            with ExitStack() as stack:
                stack.enter_context(sklearn.config_context(**self._config))
                stack.enter_context(engine("serial"))
                stack.enter_context(one_blas_thread())
                stack.enter_context(while_wanted(lambda: not self._stop and wanted()))
                yield
        finally:
            _doing.reset(token)

    def _hear(self, message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        """A warning of a fit; those of the search for settings are of fits that nobody keeps."""
        text = str(message)
        if not searching() and not A_ROW.search(text) and "sklearn.utils.parallel.delayed" not in text:
            self._heard.append((_doing.get(), category, text))

    # ---- all of them ----

    def run(self) -> None:
        """The pilots, then the folds; Ctrl-C ends it and keeps what is finished."""
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = self._hear  # called on the fit's thread, so that the model is known
            with until_interrupted() as watch, background(self.allowed.workers) as submit:
                try:
                    self._pilots(submit)
                    self._admit()
                    self.say("forecast", None, -1, self._plan(), self.forecast())
                    self._folds(submit)
                finally:
                    self._stop = True  # tasks under way end at their next checkpoint: nothing goes on behind
            self.interrupted |= watch.interrupted
        self.warned = _by_model(self._heard)

    def _folds(self, submit: Submit) -> None:
        """The first repetition of the models that fit; of those that fit after all; then further repetitions."""
        first = range(min(self.contest.folds, len(self.contest.splits)))
        known = [m for m in self.contest.candidates if m in self.seconds or m == BASELINE]
        for names in (known, list(self.contest.candidates)):  # those for which no pilot had time come last
            self._each(submit, names, first)
            while again := self._second_chance():
                self._each(submit, [again], first)
        for start in range(self.contest.folds, len(self.contest.splits), self.contest.folds):
            if not self._repeats():
                return
            ends = min(start + self.contest.folds, len(self.contest.splits))
            self._each(submit, list(self.contest.candidates), range(start, ends))

    def _each(self, submit: Submit, names: list[str], splits: range) -> None:
        """Every one of the models on every one of the splits, the quickest model first."""
        order = sorted(by_guess(names, self.contest.facts), key=lambda m: self.seconds.get(m, np.inf))
        waiting = [(name, s) for name in order for s in splits]
        waiting.reverse()
        pending: dict[Future[Any], tuple[str, int]] = {}
        while waiting or pending:
            while waiting and len(pending) < self.allowed.workers:
                task = waiting.pop()
                if self._may_begin(*task):
                    pending[submit(self._work, *task)] = task
            done, _ = wait(pending, TICK, FIRST_COMPLETED)
            if not done:
                continue
            for future in sorted(done, key=lambda f: pending[f]):
                self._finished(future, *pending.pop(future))
            # models cut for want of time may come back: the first repetition's tables are kept for them
            ahead = set(splits) if splits.start == 0 and self._for_time else {at for _, at in waiting}
            self.encoded.forget({at for _, at in pending.values()}, ahead)

    def _second_chance(self) -> str | None:
        """The quickest model that was cut by a forecast, where that may have been wrong and there is time to see."""
        fits = [m for m in self._for_time if m in self.cut and self._may_fit(m)]
        if not fits or self.allowed.seconds is None:
            return None
        name = min(fits, key=lambda m: self.seconds[m])
        self._for_time.remove(name)
        del self.cut[name], self.reasons[name]
        self.seconds[name] /= self._doubt(name)  # until a fold tells
        return name

    def _may_begin(self, name: str, s: int) -> bool:
        if name in self.cut or (name, s) in self.results:
            return False
        if name == BASELINE or self.allowed.seconds is None:
            return True
        lasts = self.seconds.get(name, 0.0)
        if self.spare(name) > 0 and self.spare(name) >= lasts:
            return True
        if s < self.contest.folds:
            done = self.contest.folds - self._undone(name)
            self._cut(name, f"the budget of {short(self.allowed.seconds)} ended after {done} folds")
        return False

    def _finished(self, task: Future[Any], name: str, s: int) -> None:
        try:
            found, took = task.result()
        except Unwanted:
            if s < self.contest.folds and name not in self.cut and not self._stop:
                least = self.elapsed() - self._since[name, s]
                self.seconds[name] = max(self.seconds.get(name, 0.0), least)
                self.called_off.add(name)
                folds, limit = self.contest.folds, short(self.allowed.seconds or 0)
                self._cut(name, f"fold {s + 1} took so long that {folds} folds do not fit into {limit}")
            return
        except Exception as error:
            if name not in self.errors:  # folds side by side may fail together
                self.errors[name] = error
                self._cut(name, f"failed in fold {s + 1}: {error}", "failed")
            return
        self.results[name, s] = found
        times = self._took.setdefault(name, [])
        times.append(took)
        self.seconds[name] = float(np.median(times))  # the first may hold what is compiled or loaded
        self.say("fold", name, s, f"{name}: fold {s + 1} in {short(found.seconds)}")
        if len(times) == 1:
            self._admit()

    def _pilots(self, submit: Submit) -> None:
        """Times of fits to few rows, where the table is so large that a fold would be a costly way to learn them."""
        train = self.contest.splits[0].train
        if self.allowed.seconds is None or len(train) < MANY_ROWS:
            return
        ends = PILOT_SHARE * self.allowed.seconds
        tables: dict[Any, Any] = {}
        times: dict[str, list[tuple[int, float, float]]] = {name: [] for name in self.contest.candidates}
        pending: dict[Future[Any], str] = {}
        for size in PILOTS:
            rows = train[sample(self.contest.codes[train], size, self.contest.seed)]
            waiting = [m for m in reversed(list(self.contest.candidates)) if m not in self.cut]
            while waiting or pending:
                while waiting and len(pending) < self.allowed.workers:
                    name = waiting.pop()
                    if self.elapsed() < ends:
                        pending[submit(self._pilot, name, rows, tables, ends)] = name
                done, _ = wait(pending, TICK, FIRST_COMPLETED)
                for task in sorted(done, key=lambda f: pending[f]):
                    self._piloted(task, pending.pop(task), len(rows), times)
        for name, candidate in self.contest.candidates.items():
            if times[name] and name not in self.cut:
                self.seconds[name] = self._extrapolated(times[name], len(train), candidate.grows)

    def _piloted(self, task: Future[Any], name: str, rows: int, times: dict[str, list[Any]]) -> None:
        try:
            times[name].append(task.result())
        except Unwanted:
            return  # the pilots' share of the time is over: its folds will tell
        except Exception as error:
            if name not in self.errors:
                self.errors[name] = error
                self._cut(name, f"failed on {rows} rows: {error}", "failed")

    def _pilot(
        self, name: str, rows: np.ndarray, tables: dict[Any, Any], ends: float
    ) -> tuple[int, float, float]:
        """(rows, seconds of the search for settings, seconds of the fit)."""
        candidate = self.contest.candidates[name]
        with self._quietly(name, lambda: self.elapsed() < ends):
            key = (len(rows), candidate.form)
            with self._lock:  # short: the rows are few
                if key not in tables:
                    start = working()
                    tables[key] = self.encoded.fresh(rows, rows[:1], candidate.form)[0]
                    spent, n = working() - start, len(self.contest.splits[0].train)
                    small = tables.setdefault(("first", candidate.form), (len(rows), spent))
                    self.encoded.seconds[candidate.form] = forecast(small, (len(rows), spent), n, 1.0)
            runs: list[tuple[float, float]] = []
            while len(runs) < 2:  # the quicker of two: the first may hold what is compiled or loaded
                start = working()
                model = self.contest.made(name)
                model.fit(tables[key], self.contest.labels[rows])
                runs.append((working() - start, getattr(model, "search_seconds_", 0.0)))
                if runs[-1][0] > LONG and len(rows) >= 2 * PILOTS[0]:
                    break
        spent, search = min(runs)
        return len(rows), search, spent - search

    @staticmethod
    def _extrapolated(times: list[tuple[int, float, float]], n: int, grows: float) -> float:
        """Seconds of a fold: the search, on a sample of the rows, and the fit to all of them."""
        small, large = times[0], times[-1]
        search = forecast((small[0], small[1]), (large[0], large[1]), min(n, SEARCH_ROWS), grows)
        return search + forecast((small[0], small[2]), (large[0], large[2]), n, grows)

    # ---- words ----

    def _plan(self) -> str:
        names = [m for m in self.contest.candidates if m not in self.cut]
        folds, of_all = self.contest.folds, len(self.contest.splits)
        plan = f"{len(names)} model{'s' * (len(names) != 1)}, {folds} folds"
        known = [self.seconds[m] for m in names if m in self.seconds]
        if len(known) == len(names):
            plan += f" in about {short(folds * sum(known) / self.allowed.workers)}"
        return plan + (f", {of_all} where time lets" if of_all > folds else "")

    def say(self, kind: str, model: str | None, fold: int, message: str, data: Any = None) -> None:
        standing = {}
        for name in self.contest.candidates:
            own = [r.scores[self.contest.metric] for (m, _), r in self.results.items() if m == name]
            if own:
                standing[name] = (len(own), float(np.mean(own)))
        self.tell(
            Progress(
                kind=kind,
                model=model,
                fold=fold,
                done=len(self.results),
                total=len(self.contest.splits) * (len(self.contest.candidates) - len(self.cut)),
                seconds=self.elapsed(),
                budget=self.allowed.seconds,
                standing=standing,
                message=message,
                data=data,
            )
        )


def _by_model(heard: Sequence[tuple[str, type[Warning], str]]) -> tuple[tuple[type[Warning], str, int], ...]:
    """Warnings by model and kind: (category, the model and the text of the first, how many)."""
    kinds: dict[tuple[str, type[Warning]], list[str]] = {}
    for name, category, text in heard:
        kinds.setdefault((name, category), []).append(text)
    return tuple(
        (kind, f"{name}: {texts[0]}" if name else texts[0], len(texts))
        for (name, kind), texts in kinds.items()
    )
