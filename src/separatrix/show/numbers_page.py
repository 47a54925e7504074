"""The report of a model of numbers as one page of HTML: the same frame as a classifier's (report.py), other pictures.

Row P4, O5. Answers are those of models that had not seen the row. Cost: five fits without a comparison, those of the
importance of columns, and some thousand predictions.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing

from separatrix.core.numerics import FloatArray
from separatrix.judge.comparison import Comparison
from separatrix.judge.facts import read_numbers
from separatrix.judge.folds import numeric_splits
from separatrix.judge.importance import NoTime, importance
from separatrix.judge.scores import METRICS, Interval, bootstrapped_numbers
from separatrix.show.numbers import ErrorsDisplay, PredictedDisplay
from separatrix.show.reading import name_of
from separatrix.show.report import alerts_section, late_section, ranking_section, verdict_section
from separatrix.show.report_parts import columns as going_by
from separatrix.show.report_parts import pictures, tables
from separatrix.show.report_parts.answers import rows_of
from separatrix.show.report_parts.clock import Clock
from separatrix.show.report_parts.reproduce import reproduce
from separatrix.show.report_parts.words import cell_text, h, listed, number, paragraph, section, table

LEVEL = 0.95
WORST = 12  # rows that are missed most
CELLS = 8  # columns of them that are shown


def sections(
    comparison: Comparison | None,
    model: BaseEstimator,
    name: str | None,
    X: Any,
    y: Any,
    test: tuple[Any, Any] | None,
    known: float | None,
    title: str | None,
    source: Any,
    command: str | None,
    clock: Clock,
) -> tuple[str, str, list[str]]:
    """(heading, the top of the page, its sections); ``known``: the share of the test rows it was fitted to."""
    numbers = read_numbers(y, len(np.asarray(y)))
    rows, said, whose = _answers(comparison, model, name, X, numbers, test, known)
    seen = numbers[rows] if test is None else read_numbers(test[1], len(np.asarray(test[1])))
    words = str(comparison.titles.get(name, name)) if comparison is not None and name else name_of(model)
    heading = title or (f"{words} on {os.path.basename(str(source))}" if source is not None else words)
    own = _scores(comparison, name, seen, said, test is not None)
    top = _top(heading, words, X, numbers, own, whose, comparison, name)
    draw = [PredictedDisplay, ErrorsDisplay]
    drawn = [pictures.attempt(partial(d.from_predictions, seen, said, theme="light")) for d in draw]
    figures = "".join(pictures.figure(d) for d in drawn if not isinstance(d, str))
    of = paragraph(f"They are of {whose}.", "quiet")
    shown = _columns(comparison, model, name, X, numbers, words, clock)
    parts = [
        alerts_section(comparison, X, numbers, numbers=True),
        verdict_section(model),
        section("pictures", "Pictures", f'<div class="pictures">{figures}</div>', of),
        ranking_section(comparison),
        shown,
        section("mistakes", "The worst misses", _misses(X if test is None else test[0], rows, seen, said)),
        section("reproduce", "How to get the same again", reproduce(model, X, y, source, command)),
        late_section(clock),
    ]
    return heading, top, [part for part in parts if part]


def _answers(
    comparison: Comparison | None,
    model: BaseEstimator,
    name: str | None,
    X: Any,
    y: FloatArray,
    test: Any,
    known: float | None,
) -> tuple[np.ndarray, FloatArray, str]:
    """(rows, what was predicted of them, whose answers these are)."""
    if test is not None:
        said = np.asarray(model.predict(test[0]), dtype=float)
        return np.arange(len(said)), said, f"{len(said):,} rows: {rows_of(known)}"
    if comparison is not None and name is not None:
        rows, said = comparison.out_of_fold(name)
        return rows, said, f"{len(rows):,} rows, each judged by a fit that had not seen it"
    out = np.full(len(y), np.nan)
    splits = numeric_splits(5, y, 0)
    for split in splits:
        fresh = clone(model).fit(_safe_indexing(X, split.train), y[split.train])
        out[split.test] = np.asarray(fresh.predict(_safe_indexing(X, split.test)), dtype=float)
    return np.arange(len(y)), out, f"{len(y):,} rows, each judged by one of five fits that had not seen it"


def _scores(
    comparison: Comparison | None, name: str | None, seen: FloatArray, said: FloatArray, tested: bool
) -> dict[str, Interval]:
    if comparison is not None and name is not None and not tested:
        return {
            m: comparison.scores[name][m] for m in dict.fromkeys([comparison.metric, *comparison.metrics])
        }
    return bootstrapped_numbers(seen, said, level=LEVEL)


def _top(
    heading: str, words: str, X: Any, y: FloatArray, own: dict[str, Interval], whose: str,
    comparison: Comparison | None, name: str | None,
) -> str:  # fmt: skip
    n, p = X.shape
    low, middle, high = np.quantile(y, [0, 0.5, 1])
    off = tables.interval_texts("mae", own["mae"])[0]
    lead = (
        f"The model, {words}, predicts a number from {number(low)} to {number(high)} (middle {number(middle)}) "
        f"by {p:,} column{'s' * (p != 1)} of {n:,} rows. On average it is off by {off}; always saying the mean would "
        f"be off by {number(float(np.mean(np.abs(y - y.mean()))), 3)}."
    )
    if comparison is not None and name == comparison.best and len(comparison.ranking) > 1:
        same = [comparison.titles.get(m, m) for m in comparison.equals if m != name]
        rest = f"but cannot be told from {listed(same, 4)}" if same else "and all others are really worse"
        lead += f" It came first of {len(comparison.ranking)} models, {rest}."
    texts = {m: tables.interval_texts(m, v) for m, v in own.items()}
    cells = "".join(
        f"<div><dt>{h(METRICS[m].title)}</dt><dd>{h(mean)}<small>{h(span)}</small></dd></div>"
        for m, (mean, span) in texts.items()
    )
    judged = f"Judged on {whose}; small figures are {100 * LEVEL:g} % intervals."
    figures = f'<dl class="numbers">{cells}</dl>'
    return f"<h1>{h(heading)}</h1>{paragraph(lead, 'lead')}{figures}{paragraph(judged, 'quiet')}"


def _columns(
    comparison: Comparison | None,
    model: BaseEstimator,
    name: str | None,
    X: Any,
    y: FloatArray,
    words: str,
    clock: Clock,
) -> str:
    metric = comparison.metric if comparison is not None else "rmse"
    given: dict[str, Any] = {"metric": metric, "seconds": clock.share(going_by.PARTS["importance"])}
    if comparison is not None and name is not None:
        given["splits"] = [(s.train, s.test) for s in comparison.splits if s.repeat == 0]
    try:
        worth = importance(model, X, y, np.empty(0, dtype=object), y, **given)
    except NoTime:
        clock.late.append("the importance of columns")
        return ""
    except (TypeError, ValueError) as error:
        return section(
            "columns", "What the model goes by", paragraph(f"Not shown: {str(error).rstrip('.')}.")
        )
    drawn, left = going_by.moving(lambda rows: np.asarray(model.predict(rows))[:, None], X, [], worth, clock)
    parts = [going_by.said_of(worth), going_by.picture_of(worth, words), going_by.table_of(worth)]
    if drawn:
        told = (
            "How the prediction moves as one column takes its cells and all others stay as they are: the mean over "
            "rows, and single rows. Of columns that go together this asks about rows that no one has."
        )
        parts += ["<h3>How the answer moves</h3>", paragraph(told, "quiet")]
        parts.append(f'<div class="pictures">{"".join(drawn)}</div>')
    parts += [paragraph(f"Not drawn: {listed(left, 8)}.", "quiet")] if left else []
    return section("columns", "What the model goes by", *parts)


def _misses(X: Any, rows: np.ndarray, seen: FloatArray, said: FloatArray) -> str:
    """The rows that are missed most, with their first columns."""
    errors = seen - said
    worst = np.argsort(-np.abs(errors), kind="stable")[:WORST]
    names = (
        [str(c) for c in X.columns] if hasattr(X, "columns") else [f"column {j}" for j in range(X.shape[1])]
    )
    shown = names[:CELLS]
    lines = []
    for i in worst:
        row = _safe_indexing(X, np.array([rows[i]]))
        cells = (
            list(row.iloc[0])
            if hasattr(row, "iloc")
            else np.asarray(row.todense() if hasattr(row, "todense") else row).ravel()
        )
        lines.append(
            [
                int(rows[i]) + 1,
                number(seen[i]),
                number(said[i]),
                number(errors[i], 3),
                *map(cell_text, cells[:CELLS]),
            ]
        )
    more = f", and the first {len(shown)} of {len(names)} columns" if len(names) > len(shown) else ""
    caption = f"The {len(lines)} rows that are missed most{more}"
    return table(["row", "seen", "predicted", "seen − predicted", *shown], lines, caption=caption)
