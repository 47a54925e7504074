"""``separatrix compare``: alerts, forecast, models side by side, the ranking, the winner in a file (row O4, V1)."""

from __future__ import annotations

import math
import os
import re
import shlex
import textwrap
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from separatrix.app.errors import (
    INTERRUPTED,
    NOTHING,
    OK,
    UNUSABLE,
    AppError,
    UsageError,
    spoken,
    tell,
    unknown,
)
from separatrix.app.given import TableAsked, cost_of, listed, listed_as_they_are, metric_named
from separatrix.app.kept import SUFFIX, Kept, keep
from separatrix.app.outputs import folder, write_text
from separatrix.app.pages import page_of
from separatrix.app.say import STYLES, Say, dumped
from separatrix.files.archive import ModelFileError
from separatrix.judge.candidates import CANDIDATES, candidate_named
from separatrix.judge.compare import RANKED_BY, RANKED_NUMBERS_BY, TASKS, compare
from separatrix.judge.comparison import Comparison
from separatrix.judge.contest import FLOORS
from separatrix.judge.plan import Plan
from separatrix.judge.progress import Progress
from separatrix.judge.regressors import REGRESSORS
from separatrix.judge.scores import METRICS
from separatrix.models.catalogue import BY_NAME
from separatrix.models.catalogue import named as model_named
from separatrix.tables.chunks import read_chunks
from separatrix.tables.sources import parted
from separatrix.tables.table import Table

PLAN = "plan.json"
LATE = 3.0  # seconds over the budget that the page may take
WIDEST = 110  # columns of notes
PAUSE = 2.0  # seconds between two lines of progress, at least
DRAWING = 4.0  # seconds of the report, about, on a machine that does nothing else
TOLD = 0.2  # seconds of reading, from which it tells how loaded the machine is
PART = 0.2  # of the budget, at most, that is kept for it


def run(
    asked: TableAsked,
    *,
    budget: float,
    models: str | None,
    metric: str | None,
    cost: str | None,
    test: str | None,
    out: str | None,
    seed: int,
    task: str = "classification",
    order: str | None = None,
    positive: str | None = None,
    threshold: str | None = None,
    groups: str | None = None,
    by_time: str | None = None,
    exhaustive: bool = False,
    plan: str | None = None,
    say: Say,
) -> int:
    began, worked = time.perf_counter(), time.process_time()
    if exhaustive and plan is not None:
        raise UsageError(
            "--exhaustive and --plan contradict each other: a plan says what is run; leave one out"
        )
    limit = None if exhaustive or not budget else budget
    again = None if plan is None else Plan.read(plan)
    if task not in TASKS:
        raise UsageError(unknown("task", task, list(TASKS)))
    numbers = task == "regression"
    kind = "numbers" if numbers else "classes"
    there = REGRESSORS if numbers else CANDIDATES
    ranked_by = metric_named(metric, cost, RANKED_NUMBERS_BY if numbers else RANKED_BY)
    wanted = listed(models)
    for name in wanted or []:
        if candidate_named(name, kind) is None and model_named(name) in BY_NAME:
            raise UsageError(
                f"model {name!r} is not compared, but fitted (separatrix fit {name} {asked.data}); compared are "
                f"{', '.join(there)}"
            )
        if candidate_named(name, kind) is None:
            raise UsageError(unknown("model", name, list(there)))
    if wanted == []:
        raise UsageError(f"--models names none; there are {', '.join(there)}")
    if not (budget >= 0 and math.isfinite(budget)):
        raise UsageError(f"--budget {budget:g} is no number of seconds; give one above 0, or --exhaustive")
    apart = tuple(name for name in (groups, by_time) if name is not None)
    table = replace(asked, numbers=numbers, apart=apart).read(say)
    assert table.labels is not None
    matrix = cost_of(cost, sorted(set(table.labels.tolist())))
    kept_apart = None if test is None else _test_rows(test, table, asked.delimiter)
    if kept_apart is not None:
        say.note(f"{test}: {len(kept_apart[1]):,} rows kept apart")
    place = folder(Path(out) if out else Path("out", stem(asked.data)))
    reading = time.perf_counter() - began
    with _Watch(say, ranked_by) as watch:
        given: dict[str, Any] = {"cost": matrix, "budget": limit, "test": kept_apart, "plan": again}
        given["kept"] = 0.0 if limit is None else _to_keep(reading, time.process_time() - worked, limit)
        given |= {"metric": ranked_by, "random_state": seed, "on_progress": watch, "task": task}
        given |= {"positive": positive, "threshold": threshold, "order": listed_as_they_are(order)}
        given |= {"groups": _column(table, groups), "time": _column(table, by_time)}
        found = compare(table, models=wanted, **given)
    kept = _keep(found, table, place, asked.data)
    _answer(found, say)
    options = {"--models": models, "--metric": metric, "--cost": cost, "--test": test, "--order": order}
    options |= {"--task": task if task != "classification" else None, "--positive": positive}
    options |= {"--threshold": threshold, "--groups": groups, "--time": by_time}
    options["--plan"] = os.fspath(place / PLAN)
    command = _command(asked, table, {**options, **asked.options()}, found.seed)
    left = None if limit is None else limit + LATE - (time.perf_counter() - began)
    _files(found, table, place, kept, kept_apart, command, left, say)
    if found.interrupted:
        tell("interrupted: what was finished is written, the winner was not fitted to all rows")
        return INTERRUPTED
    if found.floor_only:
        tell(
            f"nothing but {found.floor_words} could be fitted, which is no model to be used; give more seconds by "
            "--budget, or fewer models"
        )
        return NOTHING
    return OK if isinstance(kept, Path) else UNUSABLE


def _column(table: Table, name: str | None) -> Any:
    return None if name is None else table.frame[name].to_numpy()


def _to_keep(reading: float, worked: float, limit: float) -> float:
    """Seconds of the budget that are spent on reading, or left for the report.

    Drawing takes as many times longer on a loaded machine as reading did, of which ``worked`` seconds were work.

    >>> _to_keep(2.0, 2.0, 60.0), _to_keep(4.0, 2.0, 60.0), _to_keep(1.0, 1.0, 10.0)
    (6.0, 12.0, 3.0)
    """
    slower = max(reading / max(worked, 1e-3), 1.0) if reading > TOLD else 1.0
    return min(reading + min(DRAWING * slower, PART * limit), 0.9 * limit)


def stem(data: str) -> str:
    """A name for the outputs of a data set.

    >>> stem("/data/mail.csv.gz"), stem("iris"), stem("letters/"), stem("shop.db::orders")
    ('mail', 'iris', 'letters', 'shop-orders')
    """
    path, part = parted(data)
    name = path.name or "data"
    name = name.split(".")[0] or name.lstrip(".").split(".")[0]
    return "-".join([name, *re.findall(r"[\w.]+", part)])


def _test_rows(test: str, table: Table, delimiter: str | None) -> tuple[Any, Any]:
    """The rows kept apart, read as those of training, and their labels."""
    import numpy as np
    import pandas as pd

    assert table.target is not None
    pieces = list(read_chunks(test, table.schema, delimiter=delimiter))
    frame = pd.concat(pieces, ignore_index=True)
    if table.target not in frame.columns:
        raise AppError(
            f"{test}: there is no column {table.target!r} with the right answers; give rows that have it"
        )
    like = Kept("", _Classes(np.unique(table.labels)), None, table.schema)  # type: ignore[arg-type]
    labels, known = like.as_classes(test, frame[table.target])
    return frame.loc[known, list(table.frame.columns)].reset_index(drop=True), labels


class _Classes:
    def __init__(self, classes: Any):
        self.classes_ = classes


# ---- while it runs ----


class _Watch:
    """Told of each step: a moving table on a terminal, a line now and then elsewhere."""

    def __init__(self, say: Say, metric: str):
        self.say, self.metric = say, METRICS[metric]
        self.cut: dict[str, str] = {}
        self.last: Progress | None = None
        self.told_at = 0.0
        self.spoken, self.spoken_at = 0, 0.0
        self.live: Any = None

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *problem: Any) -> None:
        if self.live is not None:
            self.live.stop()

    def __call__(self, step: Progress) -> None:
        if step.kind == "alerts":
            self._alerts(step.data or ())
        elif step.kind == "forecast":
            limit = f"; the budget is {step.budget:g} s" if step.budget else "; no clock"
            self.say.note(f"plan: {step.message}{limit}", "bold")
            self._start()
        elif step.kind == "cut":
            if str(step.model) not in step.standing:
                self.cut[str(step.model)] = step.message
            if self.live is None:
                self.say.note(f"  {step.message}")
        elif step.kind == "fold":
            self._fold(step)
        elif step.kind == "done" and self.live is None and self.spoken:
            self.say.note(f"  100 %  {step.seconds:5.1f} s  {step.message}")
        if step.kind in ("refit", "done"):
            if self.live is not None:
                self.live.stop()
                self.live = None
            if step.kind == "refit":
                self.say.note(f"{step.message}")
        self.last, self.told_at = step, time.perf_counter()

    def _alerts(self, alerts: Any) -> None:
        if not alerts:
            self.say.note("alerts: none, nothing odd about the table", "bold")
            return
        self.say.note(f"alerts: {len(alerts)} to know before trusting a score", "bold")
        for alert in alerts[:12]:
            self.say.alert(alert.severity, self._wrapped(f"  {alert.severity}: ", spoken(alert.sentence)))
        if len(alerts) > 12:
            self.say.note(f"  … and {len(alerts) - 12} more, in comparison.json")

    def _wrapped(self, start: str, sentence: str) -> str:
        """On a terminal the sentence is cut between words; elsewhere it stays one line."""
        if not self.say.aside.is_terminal:
            return sentence
        width = max(min(self.say.aside.width, WIDEST), 60)
        text = textwrap.fill(start + sentence, width, subsequent_indent="    ", break_on_hyphens=False)
        return text[len(start) :]

    def _start(self) -> None:
        if self.say.live:
            from rich.live import Live

            self.live = Live(
                console=self.say.aside, refresh_per_second=4, transient=True, get_renderable=self._table
            )
            self.live.start()

    def _fold(self, step: Progress) -> None:
        tenth = int(10 * step.share)
        if (
            self.live is None
            and step.standing
            and tenth > self.spoken
            and step.seconds > self.spoken_at + PAUSE
        ):
            self.spoken, self.spoken_at = tenth, step.seconds
            name, folds, score = self._leader(step)
            self.say.note(
                f"  {10 * tenth:3d} %  {step.seconds:5.1f} s  best so far {name}, {self.metric.title} {score:.4g} "
                f"on {folds} fold{'s' * (folds != 1)}"
            )

    def _leader(self, step: Progress) -> tuple[str, int, float]:
        """Of those with the most folds the best; the classes' shares only where nothing else is."""
        sign = -1.0 if self.metric.higher else 1.0
        held = {m: v for m, v in step.standing.items() if m not in FLOORS} or step.standing
        most = max(folds for folds, _ in held.values())
        name = min((m for m in held if held[m][0] == most), key=lambda m: sign * held[m][1])
        return (name, *held[name])

    def _table(self) -> Any:
        """How far each model is, and the seconds up to now."""
        from rich.table import Table as Grid

        step = self.last
        if step is None:
            return ""
        seconds = step.seconds + time.perf_counter() - self.told_at
        limit = f" of {step.budget:g} s" if step.budget else ""
        title = f"{100 * step.share:.0f} %, {step.done} fits, {seconds:.0f} s{limit}"
        grid = Grid(title=title, title_style="bold", box=None, pad_edge=False)
        for name, side in (("model", "left"), ("folds", "right"), (self.metric.title, "right"), ("", "left")):
            grid.add_column(name, justify=side)  # type: ignore[arg-type]
        sign = -1.0 if self.metric.higher else 1.0
        for name in sorted(step.standing, key=lambda m: sign * step.standing[m][1]):
            folds, score = step.standing[name]
            grid.add_row(name, str(folds), f"{score:.4f}", "")
        for name in self.cut:
            if name not in step.standing:
                grid.add_row(name, "", "", "no score", style=STYLES["note"])
        return grid


# ---- afterwards ----


def as_data(found: Comparison, table: Table) -> dict[str, Any]:
    """Everything the comparison found but the rows, as plain values."""
    real = {d.model: d.real for d in found.differences}
    metrics = [*found.metrics, "seconds"]

    def scores(held: Any) -> dict[str, Any]:
        return {m: held[m]._asdict() for m in metrics if m in held}

    def ranked(m: str) -> dict[str, Any]:
        own = {"model": m, "title": found.titles[m], "worse": real.get(m, False)}
        return {**own, "scores": scores(found.scores[m])}

    return {
        "source": table.source,
        "target": table.target,
        "rows": len(table),
        "columns": dict(table.kinds),
        "classes": [str(c) for c in found.classes.tolist()],
        "notes": list(table.notes),
        "alerts": [asdict(a) for a in found.alerts],
        "task": found.task,
        "positive": found.positive,
        "threshold": None if found.threshold is None else asdict(found.threshold),
        "metric": found.metric,
        "best": found.best,
        "equals": list(found.equals),
        "ranking": [ranked(m) for m in found.ranking],
        "differences": [asdict(d) for d in found.differences],
        "verdict": found.verdict,
        "test": {m: scores(held) for m, held in found.tested.items()},
        "not_ranked": dict(found.cut),
        "not_ranked_for": dict(found.reasons),
        "remarks": list(found.remarks),
        "judged_on": {m: asdict(s) for m, s in found.standing.items()},
        "larger_budget": found.more,
        "floor_only": found.floor_only,
        "folds": len(found.used),
        **{name: getattr(found, name) for name in ("level", "seconds", "budget", "seed", "interrupted")},
        "warnings": [{"kind": kind.__name__, "text": text, "times": n} for kind, text, n in found.warned],
    }


def _keep(found: Comparison, table: Table, place: Path, data: str) -> Path | str:
    """The winner's file, or why there is none."""
    if found.interrupted:
        return "interrupted"
    path, name = place / f"model{SUFFIX}", found.best
    if name in found.theirs:
        own = found.best_of_ours
        if own is None:
            tell(f"{name} is scikit-learn's, which no model file holds, and no other model was fitted")
            return "scikit-learn's"
        tell(
            f"{path}: {name} came first, which is scikit-learn's and stays out of model files; saved is {own}, "
            "the best of ours"
        )
        name = own
    shown = "r2" if found.task == "regression" else "accuracy"
    reached = found.scores[name][shown]
    told = (
        f"{name}, best {'' if name == found.best else 'of ours '}of {len(found.ranking)} by "
        f"{METRICS[found.metric].title} on {stem(data)}; {METRICS[shown].title} "
        f"{reached.mean:.4g} in cross-validation; target {table.target}"
    )
    try:
        keep(found.best_model if name == found.best else found.models[name], table, path, told)
    except ModelFileError as error:
        tell(f"{path}: the winner was not saved: {error}; the table is written")
        return str(error)
    return path


def _answer(found: Comparison, say: Say) -> None:
    say.result("")
    say.result(found.text(min(say.out.width, WIDEST)))
    say.result("")
    encoder = getattr(found.best_model, "named_steps", {}).get("columns") if not found.interrupted else None
    if encoder is not None and hasattr(encoder, "describe"):
        say.note(f"what {found.best} sees", "bold")
        say.notes(encoder.describe(), most=7)


def _files(
    found: Comparison, table: Table, place: Path, kept: Path | str, kept_apart: Any, command: str,
    left: float | None, say: Say,
) -> None:  # fmt: skip
    """The files of an answer, each whole or not there, and what to do with them."""
    frame = found.to_frame("table")
    frame.index.name = "model"
    write_text(place / "table.csv", frame.to_csv())
    written = {"table": place / "table.csv"}
    if isinstance(kept, Path):
        written["model"] = kept
    write_text(place / PLAN, dumped(found.plan.to_dict()) + "\n")
    written["plan"] = place / PLAN
    made = as_data(found, table)
    made["command"] = command
    write_text(place / "comparison.json", dumped(made) + "\n")
    written["comparison"] = place / "comparison.json"
    if not found.interrupted:
        rows, answers = kept_apart or (None, None)
        say.note("drawing the report")
        given = {"X": table.frame, "y": table.labels, "X_test": rows, "y_test": answers}
        page = page_of(say, found, **given, source=table.source, command=command, seconds=left)
        if page is not None:
            write_text(place / "report.html", page)
            written["report"] = place / "report.html"
    made["files"] = {what: str(path) for what, path in written.items()}
    write_text(place / "comparison.json", dumped(made) + "\n")
    say.data(made)
    say.note("written", "bold")
    for path in written.values():
        say.note(f"  {path}", "")
    if isinstance(kept, Path):
        model, source = shlex.quote(os.fspath(kept)), shlex.quote(table.source)
        say.note("next", "bold")
        say.note(
            f"  separatrix predict {model} {source}{'' if found.task == 'regression' else ' --proba'}", ""
        )
        if found.task != "regression" and hasattr(found.best_model, "predict_proba"):
            say.note(f"  separatrix explain {model} {source} --row 1", "")
        say.note(f"  separatrix report {model} NEWER-ROWS", "")


def _command(asked: TableAsked, table: Table, options: Mapping[str, str | None], seed: int) -> str:
    """What to type to get the same again: the plan that ran has the say, not the clock."""
    words = ["separatrix", "compare", asked.data, "--target", str(table.target)]
    for name, value in options.items():
        words += [name, value] if value is not None else []
    words += [] if asked.header is None else ["--header" if asked.header else "--no-header"]
    return shlex.join([*words, "--seed", str(seed)])
