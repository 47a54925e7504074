"""Models × folds side by side under a budget of seconds; what is finished is kept, and who was cut is said with why.

    forecast      pilots on 150 and 600 rows give the seconds of a fit (candidates.forecast); folds correct it
    admission     dearest first, models are cut until  Σ seconds × folds of one repetition / workers ≤ time left
    order         model after model, the quickest first, on the same folds; then further repetitions, each only where
                  all of it fits

Fits run on threads, each on one, with the library's own
sweeps and BLAS pinned to one thread. What a task computes depends on its (model, fold) alone. Row V1.
Cost: the fits; memory for probabilities (n, K) of every model and repetition.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn
from sklearn.utils import _safe_indexing

from separatrix.core.numerics import FloatArray
from separatrix.data.engine import engine, one_blas_thread
from separatrix.judge.candidates import Candidate, Facts, encoder_of, forecast
from separatrix.judge.scores import METRICS
from separatrix.judge.tuning import SEARCH_ROWS, Unwanted, codes_in, probabilities, sample, while_wanted

PILOTS = (150, 600)  # rows
PILOT_SHARE = 0.3  # of the budget, at most, goes to pilots
HELD = 1 << 29  # bytes of encoded tables kept for the models to come
TICK = 0.05  # seconds between looks at the clock
BASELINE = "majority"  # costs nothing and is never cut


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of training and rows to be judged, the fold's number and that of its repetition."""

    repeat: int
    fold: int
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True, eq=False)
class FoldResult:
    """A model on a split: its scores, seconds of the fit, answers (m,) and P (m, K), None without probabilities."""

    model: str
    split: int
    scores: Mapping[str, float]
    seconds: float
    predicted: np.ndarray
    P: FloatArray | None


@dataclass(frozen=True)
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
    model: str | None
    fold: int
    done: int
    total: int
    seconds: float
    budget: float | None
    standing: Mapping[str, tuple[int, float]]
    message: str
    data: Any = None


@dataclass(eq=False)
class Race:
    """The work of a comparison; :meth:`run` does it, the other fields are what came out."""

    facts: Facts
    X: Any
    labels: np.ndarray
    codes: np.ndarray
    candidates: dict[str, Candidate]
    splits: Sequence[Split]
    metric: str
    scoring: str
    cost: FloatArray | None
    seed: int
    began: float
    budget: float | None
    workers: int
    tell: Callable[[Progress], None]
    results: dict[tuple[str, int], FoldResult] = field(default_factory=dict)
    cut: dict[str, str] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # of one fit, as forecast or as measured
    encoding: dict[str | None, float] = field(default_factory=dict)  # seconds to encode a split, by form
    interrupted: bool = False
    warned: tuple[tuple[type[Warning], str, int], ...] = ()

    def __post_init__(self) -> None:
        self._stop = False
        self._for_time: set[str] = set()  # cut by a forecast
        self._lock = threading.Lock()
        self._tables: dict[tuple[int, str | None], tuple[threading.Lock, list[Any]]] = {}
        self._config = sklearn.get_config()

    # ---- time ----

    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    def left(self) -> float:
        return np.inf if self.budget is None else self.budget - self.elapsed()

    @property
    def folds(self) -> int:
        """Splits of one repetition."""
        return max(sum(s.repeat == self.splits[0].repeat for s in self.splits), 1)

    def forecast(self) -> dict[str, float]:
        """Seconds of all folds and the fit to all rows, by model; NaN where no pilot told."""
        return {
            name: self.seconds.get(name, float("nan")) * (len(self.splits) + 1) for name in self.candidates
        }

    def _admit(self) -> None:
        """Cut the dearest models until what is left of the first repetition fits into the time left."""
        if self.budget is None:
            return
        names = [m for m in self.candidates if m not in self.cut and m in self.seconds and m != BASELINE]
        names.sort(key=lambda m: self.seconds[m])
        undone = {m: sum((m, s) not in self.results for s in range(self.folds)) for m in names}
        spent, forms = 0.0, set()
        for m in names:
            form = self.candidates[m].form
            needed = undone[m] * self.seconds[m] + (0.0 if form in forms else self._to_encode(form))
            if undone[m] and (spent + needed) / self.workers + 1.25 * self.seconds[m] > self.left():
                self._for_time.add(m)
                self._cut(
                    m,
                    f"{undone[m]} folds of about {_short(self.seconds[m])} each do not fit into the "
                    f"{_short(max(self.left(), 0))} left of {_short(self.budget)}",
                )
            else:
                spent += needed
                forms.add(form)

    def _to_encode(self, form: str | None) -> float:
        """Seconds for the splits of the first repetition that are not yet there in a form."""
        absent = sum(not self._tables.get((s, form), (None, []))[1] for s in range(self.folds))
        return absent * self.encoding.get(form, 0.0)

    def _repeats(self) -> bool:
        """Whether one more repetition fits."""
        if self.budget is None:
            return True
        names = [m for m in self.candidates if m not in self.cut]
        fit = sum(self.seconds.get(m, 0.0) for m in names)
        refit = 1.25 * max((self.seconds.get(m, 0.0) for m in names), default=0.0)
        fit += sum(self.encoding.get(form, 0.0) for form in {self.candidates[m].form for m in names})
        return self.folds * fit / self.workers + refit <= 0.9 * self.left()

    def _cut(self, name: str, why: str) -> None:
        self.cut[name] = why
        self._say("cut", name, -1, f"{name} is cut: {why}")

    # ---- one task ----

    def _table(self, s: int, form: str | None) -> tuple[Any, Any]:
        """(X_train, X_test) of a split in a form: encoded once, for all models that want it."""
        with self._lock:
            lock, held = self._tables.setdefault((s, form), (threading.Lock(), []))
        with lock:
            if not held:
                split = self.splits[s]
                start = time.perf_counter()
                held.append(self._encoded(split.train, split.test, form))
                self.encoding[form] = time.perf_counter() - start
        return held[0]

    def _encoded(self, train: np.ndarray, test: np.ndarray, form: str | None) -> tuple[Any, Any]:
        A, B = _safe_indexing(self.X, train), _safe_indexing(self.X, test)
        encoder = encoder_of(self.facts, form)
        return (A, B) if encoder is None else (encoder.fit_transform(A), encoder.transform(B))

    def _forget(self, under_way: set[int], ahead: set[int]) -> None:
        """Drop encoded splits that no one waits for, and the oldest where they take too much memory."""
        with self._lock:
            for key in list(self._tables):
                size = sum(_bytes(t) for _, held in self._tables.values() for pair in held for t in pair)
                if key[0] not in under_way and (key[0] not in ahead or size > HELD):
                    del self._tables[key]

    def _work(self, name: str, s: int) -> FoldResult:
        candidate, split = self.candidates[name], self.splits[s]
        with self._quietly(name):
            A, B = self._table(s, candidate.form)
            model = candidate.make(self.facts, self.seed, self.scoring)
            began = time.perf_counter()
            model.fit(A, self.labels[split.train])
            seconds = time.perf_counter() - began
            P = probabilities(model, B, self.facts.classes) if hasattr(model, "predict_proba") else None
            predicted = codes_in(model.predict(B), self.facts.classes)
        scores = scores_of(self.codes[split.test], predicted, P, self.cost)
        return FoldResult(name, s, scores, seconds, predicted, P)

    def _quietly(self, name: str) -> Any:
        from contextlib import ExitStack

        stack = ExitStack()
        stack.enter_context(sklearn.config_context(**self._config))
        stack.enter_context(engine("serial"))
        stack.enter_context(one_blas_thread())
        stack.enter_context(while_wanted(lambda: not self._stop and (name == BASELINE or self.left() > 0)))
        return stack

    # ---- all of them ----

    def run(self) -> None:
        """The pilots, then the folds; Ctrl-C ends it and keeps what is finished."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pool = ThreadPoolExecutor(self.workers, thread_name_prefix="separatrix-judge")
            pending: dict[Future[Any], tuple[str, int]] = {}
            try:
                self._pilots(pool)
                self._admit()
                self._say("forecast", None, -1, self._plan(), self.forecast())
                self._folds(pool, pending)
            except KeyboardInterrupt:
                self.interrupted = True
            finally:
                self._stop = (
                    True  # tasks under way end at their next checkpoint; nothing goes on in the background
                )
                for task in pending:
                    task.cancel()
                pool.shutdown(wait=True)
        self.warned = _counted(caught)

    def _folds(self, pool: ThreadPoolExecutor, pending: dict[Future[Any], tuple[str, int]]) -> None:
        """The first repetition of the models that fit; of those that fit after all; then further repetitions."""
        first = range(min(self.folds, len(self.splits)))
        self._each(pool, pending, list(self.candidates), first)
        while again := self._second_chance():
            self._each(pool, pending, [again], first)
        for start in range(self.folds, len(self.splits), self.folds):
            if not self._repeats():
                return
            self._each(
                pool, pending, list(self.candidates), range(start, min(start + self.folds, len(self.splits)))
            )

    def _each(
        self,
        pool: ThreadPoolExecutor,
        pending: dict[Future[Any], tuple[str, int]],
        names: list[str],
        splits: range,
    ) -> None:
        """Every one of the models on every one of the splits, the quickest model first."""
        order = sorted(names, key=lambda m: self.seconds.get(m, np.inf))
        waiting = [(name, s) for name in order for s in splits]
        waiting.reverse()
        while waiting or pending:
            while waiting and len(pending) < self.workers:
                task = waiting.pop()
                if self._may_begin(*task):
                    pending[pool.submit(self._work, *task)] = task
            done, _ = wait(pending, TICK, FIRST_COMPLETED)
            for future in sorted(done, key=lambda f: pending[f]):
                self._finished(future, *pending.pop(future))
            # models cut for want of time may come back: the first repetition's tables are kept for them
            ahead = set(splits) if splits.start == 0 and self._for_time else {at for _, at in waiting}
            self._forget({at for _, at in pending.values()}, ahead)

    def _second_chance(self) -> str | None:
        """The quickest model that was cut by its forecast, where there is time to see whether that was right."""
        fits = [m for m in self._for_time if m in self.cut and self.seconds[m] < 0.5 * self.left()]
        if not fits or self.budget is None:
            return None
        name = min(fits, key=lambda m: self.seconds[m])
        self._for_time.remove(name)
        del self.cut[name]
        return name

    def _may_begin(self, name: str, s: int) -> bool:
        if name in self.cut or (name, s) in self.results:
            return False
        if self.left() > 0 or name == BASELINE:
            return True
        if s < self.folds:
            self._cut(name, f"the budget of {_short(self.budget or 0)} ended after {s} folds")
        return False

    def _finished(self, task: Future[Any], name: str, s: int) -> None:
        try:
            found = task.result()
        except Unwanted:
            if s < self.folds:
                self._cut(name, f"fold {s + 1} ran past the budget of {_short(self.budget or 0)}")
            return
        except KeyboardInterrupt:
            raise
        except Exception as error:
            if name not in self.errors:  # folds side by side may fail together
                self.errors[name] = error
                self._cut(name, f"failed in fold {s + 1}: {error}")
            return
        self.results[name, s] = found
        times = [r.seconds for (m, _), r in self.results.items() if m == name]
        first = len(times) == 1
        self.seconds[name] = float(np.median(times))  # the first may hold what is compiled or loaded
        self._say("fold", name, s, f"{name}: fold {s + 1} in {_short(found.seconds)}")
        if first:
            self._admit()

    def _pilots(self, pool: ThreadPoolExecutor) -> None:
        """Times of fits to few rows, where the table is so large that a fold would be a costly way to learn them."""
        train = self.splits[0].train
        if self.budget is None or len(train) <= 5 * PILOTS[-1]:
            return
        tables: dict[tuple[int, str | None], Any] = {}
        times: dict[str, list[tuple[int, float, float]]] = {name: [] for name in self.candidates}
        for size in PILOTS:
            rows = train[sample(self.codes[train], size, self.seed)]
            for name in self.candidates:  # one after another, so that they do not slow each other
                if name in self.cut or self.elapsed() > PILOT_SHARE * self.budget:
                    continue
                task = pool.submit(self._pilot, name, rows, tables)
                while not task.done():
                    wait((task,), TICK)
                try:
                    times[name].append(task.result())
                except Unwanted:
                    self._cut(name, "the budget ended while it was tried on few rows")
                except Exception as error:
                    self.errors[name] = error
                    self._cut(name, f"failed on {len(rows)} rows: {error}")
        for name in self.candidates:
            if times[name] and name not in self.cut:
                self.seconds[name] = self._extrapolated(times[name], len(train), self.candidates[name].grows)

    def _pilot(self, name: str, rows: np.ndarray, tables: dict[Any, Any]) -> tuple[int, float, float]:
        """(rows, seconds of the search for settings, seconds of the fit)."""
        candidate = self.candidates[name]
        with self._quietly(name):
            key = (len(rows), candidate.form)
            if key not in tables:
                start = time.perf_counter()
                tables[key] = self._encoded(rows, rows[:1], candidate.form)[0]
                spent, n = time.perf_counter() - start, len(self.splits[0].train)
                small = tables.setdefault(("first", candidate.form), (len(rows), spent))
                self.encoding[candidate.form] = forecast(small, (len(rows), spent), n, 1.0)
            for _ in range(
                2 if len(rows) < PILOTS[0] * 2 else 1
            ):  # what is compiled or loaded, is in the first
                start = time.perf_counter()
                model = candidate.make(self.facts, self.seed, self.scoring).fit(
                    tables[key], self.labels[rows]
                )
                spent = time.perf_counter() - start
            search = getattr(model, "search_seconds_", 0.0)
        return len(rows), search, spent - search

    @staticmethod
    def _extrapolated(times: list[tuple[int, float, float]], n: int, grows: float) -> float:
        """Seconds of a fold: the search, on a sample of the rows, and the fit to all of them."""
        small, large = times[0], times[-1]
        if len(times) == 1:
            small = (0, 0.0, 0.0)
        search = forecast((small[0], small[1]), (large[0], large[1]), min(n, SEARCH_ROWS), grows)
        return search + forecast((small[0], small[2]), (large[0], large[2]), n, grows)

    # ---- words ----

    def _plan(self) -> str:
        known = [v for m, v in self.forecast().items() if m not in self.cut and np.isfinite(v)]
        plan = f"{len(self.candidates) - len(self.cut)} models, {len(self.splits)} folds"
        return plan + (f", about {_short(sum(known) / self.workers)}" if known else "")

    def _say(self, kind: str, model: str | None, fold: int, message: str, data: Any = None) -> None:
        standing = {}
        for name in self.candidates:
            own = [r.scores[self.metric] for (m, _), r in self.results.items() if m == name]
            if own:
                standing[name] = (len(own), float(np.mean(own)))
        total = len(self.splits) * (len(self.candidates) - len(self.cut))
        self.tell(
            Progress(
                kind,
                model,
                fold,
                len(self.results),
                total,
                self.elapsed(),
                self.budget,
                standing,
                message,
                data,
            )
        )


def scores_of(
    codes: np.ndarray, predicted: np.ndarray, P: FloatArray | None, cost: FloatArray | None
) -> dict[str, float]:
    """Every metric of the answers; NaN where it needs probabilities and there are none."""
    found = {}
    for name, metric in METRICS.items():
        if metric.needs == "labels":
            found[name] = metric.of(codes, predicted)
        elif metric.needs == "cost":
            found[name] = float("nan") if P is None or cost is None else metric.of(codes, P, cost)
        else:
            found[name] = float("nan") if P is None else metric.of(codes, P)
    return found


def _bytes(table: Any) -> int:
    """Memory of an array, a CSR matrix or a frame, roughly."""
    if hasattr(table, "memory_usage"):
        return int(table.memory_usage(index=False).sum())
    return int(table.data.nbytes) if hasattr(table, "indptr") else int(getattr(table, "nbytes", 0))


def _counted(caught: Sequence[Any]) -> tuple[tuple[type[Warning], str, int], ...]:
    """Warnings of the fits by kind: (category, the text of the first, how many)."""
    kinds: dict[type[Warning], list[str]] = {}
    for warning in caught:
        if "sklearn.utils.parallel.delayed" not in str(warning.message):
            kinds.setdefault(warning.category, []).append(str(warning.message))
    return tuple((kind, texts[0], len(texts)) for kind, texts in kinds.items())


def _short(seconds: float) -> str:
    """A time in words.

    >>> _short(0.0123), _short(2.5), _short(200.0)
    ('0.012 s', '2.5 s', '3 min 20 s')
    """
    if not np.isfinite(seconds):
        return "no limit"
    if seconds >= 100:
        return f"{int(seconds) // 60} min {int(seconds) % 60} s"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
