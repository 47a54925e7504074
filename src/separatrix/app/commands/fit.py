"""``separatrix fit``: one model, its settings chosen where asked, all rows, its verdict, a file (row O4)."""

from __future__ import annotations

import math
import shlex
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.app.commands.compare import stem
from separatrix.app.errors import INTERRUPTED, OK, AppError, tell
from separatrix.app.given import TableAsked, settings_of
from separatrix.app.kept import SUFFIX, keep
from separatrix.app.models import check_tuned, entry_of, made, named, tuner
from separatrix.app.outputs import folder
from separatrix.app.say import Say
from separatrix.judge.facts import read_numbers
from separatrix.judge.label_scores import r2, rmse
from separatrix.judge.scores import METRICS
from separatrix.tables.table import Table

SHOWN = 6  # settings that are listed


def run(
    model: str, asked: TableAsked, *, setting: Sequence[str], tune: bool, out: str | None, seed: int, say: Say
) -> int:
    from separatrix.judge.tuning import SEARCH_ROWS
    from separatrix.models.sets import Pipeline
    from separatrix.tables.encode import encoder_for

    name, settings = named(model), settings_of(setting)
    inner = made(name, settings, seed)
    if tune:
        check_tuned(name)
    path = Path(out) if out else Path("out", stem(asked.data), f"{name.replace('_', '-')}{SUFFIX}")
    numbers = entry_of(name).task == "numbers"
    table = replace(asked, numbers=numbers).read(say)
    assert table.labels is not None
    if numbers:
        read_numbers(table.labels, len(table))
    for alert in () if numbers else _doubts(table):
        say.alert(alert.severity, alert.sentence)
    search = tuner(name, settings, table, seed) if tune else None
    encoder = encoder_for(entry_of(name).reads, table.kinds)
    began = time.perf_counter()
    if search is not None:
        some = f" on {SEARCH_ROWS:,} of the rows" if len(table) > SEARCH_ROWS else ""
        say.note(f"choosing settings of {name} by {search.folds}-fold cross-validation{some}")
    inner, said = _fitted(encoder, inner, search, table)
    fitted = Pipeline([("columns", encoder), ("model", inner)])
    seconds = time.perf_counter() - began
    say.note(f"what {name} sees", "bold")
    say.notes(encoder.describe())
    verdict = getattr(inner, "verdict_", None)
    told = str(verdict or "")
    for line in [line for line in said if line not in " ".join(told.split())]:
        say.alert("warning", line)
    chosen = "" if search is None else _chosen(search, say)
    right, how_right = _on_its_rows(fitted, table, numbers)
    folder(path.parent)
    notes = f"{name} on {stem(asked.data)}; target {table.target}"
    keep(fitted, table, path, f"{notes}; tuned: {chosen}" if chosen else notes)
    say.result(told or f"{type(inner).__name__}: fitted in {seconds:.2f} s")
    say.note(f"{how_right} {len(table):,} rows it was fitted to (on new rows less: see compare)")
    say.note(f"written: {path}", "bold")
    say.note(
        f"next: separatrix predict {shlex.quote(str(path))} {shlex.quote(asked.data)}{'' if numbers else ' --proba'}"
    )
    say.data(
        {
            "model": name,
            "class": type(inner).__name__,
            "settings": {k: v for k, v in inner.get_params(deep=False).items()},
            "source": table.source,
            "target": table.target,
            "rows": len(table),
            "columns": dict(table.kinds),
            "classes": [] if numbers else [str(c) for c in fitted.classes_.tolist()],
            "r2_on_training_rows" if numbers else "accuracy_on_training_rows": right,
            "seconds": seconds,
            "tuning": None if search is None else _tuning(search),
            "verdict": None if verdict is None else _verdict(verdict),
            "warnings": said,
            "file": str(path),
        }
    )
    if getattr(verdict, "status", "") == "interrupted":
        tell("interrupted: the best so far is written, and its verdict says how far it got")
        return INTERRUPTED
    return OK


def _on_its_rows(fitted: Any, table: Table, numbers: bool) -> tuple[float, str]:
    """How well it does on the rows it was fitted to: a number, and in words."""
    said = fitted.predict(table.frame)
    if numbers:
        y = read_numbers(np.asarray(table.labels), len(table))
        return r2(y, said), f"R² {r2(y, said):.3f}, RMSE {rmse(y, said):.4g} on the"
    right = float((said == table.labels).mean())
    return right, f"right on {right:.1%} of the"


def _doubts(table: Table) -> list[Any]:
    """Alerts on a target that may be no classes at all."""
    import numpy as np

    from separatrix.judge.target_alerts import target_alerts

    classes, codes = np.unique(np.asarray(table.labels), return_inverse=True)
    return [alert for alert in target_alerts(classes, codes) if alert.severity == "serious"]


def _fitted(encoder: Any, inner: BaseEstimator, search: Any, table: Table) -> tuple[Any, list[str]]:
    """(the model, or the one that the search settles on, fitted to all rows; what was warned of, each once)."""
    from separatrix.data.interrupts import keep_going
    from separatrix.judge.fits import searching
    from separatrix.judge.tuning import settled

    heard: list[str] = []

    def hear(message: Warning | str, *where: Any, **more: Any) -> None:
        if not searching():  # what is tried is not kept
            heard.append(" ".join(str(message).split()))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = hear
        cells = encoder.fit_transform(table.frame, table.labels)
        with keep_going():  # the best so far is written, and its verdict says so
            if search is None:
                model = inner.fit(cells, table.labels)
            else:
                model = settled(search.fit(cells, table.labels))
    return model, list(dict.fromkeys(heard))


def _chosen(search: Any, say: Say) -> str:
    """What was chosen and its score, in a sentence; said, and the other settings where they are few."""
    best = next(t for t in search.trials_ if t.settings == search.best_params_)
    metric = METRICS[search.scored_by_]
    if not math.isfinite(best.score):
        raise AppError("there are too few rows to choose settings by cross-validation; leave --tune out")
    sentence = (
        f"{best} (best of {len(search.trials_)}, {metric.title} {best.score:.4g} in {search.folds}-fold "
        "cross-validation)"
    )
    say.result(f"chosen: {sentence}")
    if len(search.trials_) <= SHOWN:
        for trial in search.trials_:
            say.note(f"  {trial}: {metric.title} {trial.score:.4g}{' ←' if trial is best else ''}")
    if edge := _edge(search.trials_, best):
        say.note(f"  {edge}")
    say.note("  the best of several scores flatters a little: compare judges the whole choice on rows apart")
    return sentence


def _edge(trials: Sequence[Any], best: Any) -> str:
    """A sentence where the best is the first or last of the numbers tried.

    >>> from separatrix.judge.tuning import Trial
    >>> tried = [Trial({"C": 0.1}, 0.5), Trial({"C": 1.0}, 0.4)]
    >>> _edge(tried, tried[1]), _edge(tried[::-1] + [Trial({"C": 9.0}, 0.6)], tried[1])
    ('C=1 is the largest that was tried: another may be better, see --set', '')
    """
    for name, value in best.settings.items():
        tried = {t.settings.get(name) for t in trials if isinstance(t.settings.get(name), float)}
        if len(tried) > 1 and value in (min(tried), max(tried)):
            end = "least" if value == min(tried) else "largest"
            return f"{name}={value:.4g} is the {end} that was tried: another may be better, see --set"
    return ""


def _tuning(search: Any) -> dict[str, Any]:
    return {
        "chosen": search.best_params_,
        "scored_by": search.scored_by_,
        "folds": search.folds,
        "trials": [{"settings": t.settings, "score": t.score} for t in search.trials_],
    }


def _verdict(verdict: Any) -> dict[str, Any]:
    names = ("status", "objective", "gap", "tol", "unique", "sweeps", "seconds", "stopped_by")
    found = {name: getattr(verdict, name, None) for name in names}
    return {**found, "findings": list(getattr(verdict, "findings", ())), "text": str(verdict)}
