"""What the model goes by: permutation importance of every column, and how its answer moves with the foremost.

Importances are out of fold, with intervals (judge/importance.py); dependence is of the model itself, over rows of its
table (judge/dependence.py). What there is no time for is named. Row O5. Cost: a fit and some predictions a fold, and
ROWS × POINTS predictions a column drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.judge.comparison import Comparison
from separatrix.judge.dependence import dependence
from separatrix.judge.importance import Importance, NoTime, importance
from separatrix.judge.scores import METRICS, digits
from separatrix.show.dependence import DependenceDisplay
from separatrix.show.importance import SHOWN, ImportanceDisplay
from separatrix.show.report_parts import pictures
from separatrix.show.report_parts.answers import JudgedAnswers
from separatrix.show.report_parts.clock import Clock
from separatrix.show.report_parts.words import listed, paragraph, section, signed, table

DRAWN = 6  # columns whose dependence is drawn
PARTS = {"importance": 0.45, "dependence": 0.7}  # of the page's seconds
SLOW = 2.0  # fits that must find room in the time for importances, or rows are cut down


class Shown(NamedTuple):
    """The section; models of folds fitted for it, with the rows that each has not seen; columns, foremost first."""

    section: str
    folds: tuple[tuple[Any, np.ndarray], ...] = ()
    names: tuple[str, ...] = ()


def columns(
    model: BaseEstimator,
    X: Any,
    y: Any,
    found: JudgedAnswers,
    classes: list[Any],
    comparison: Comparison | None,
    name: str | None,
    words: str,
    clock: Clock,
    fitted: bool,
) -> Shown:
    """The section, and what else came out."""
    parts, worth, why = [], None, ""
    try:
        worth = _importance(model, X, y, found, classes, comparison, name, clock, fitted)
    except NoTime:
        clock.late.append("the importance of columns")
        why = "there was no time for the importance of columns; a larger budget has it"
    except (TypeError, ValueError) as error:
        why = str(error).rstrip(".")
    if worth is None:
        parts.append(paragraph(f"No importance of columns is shown: {why}."))
    else:
        parts += [said_of(worth), picture_of(worth, words), table_of(worth)]
    drawn, left = _dependence(model, X, classes, worth, clock)
    if drawn:
        said = (
            "How the probability moves as one column takes its cells and all others stay as they are: the mean "
            "over 150 "
            "rows, and single rows. Lines of single rows that part or cross tell of columns that work together. Of "
            "columns that go together this asks about rows that no one has."
        )
        parts += ["<h3>How the answer moves</h3>", paragraph(said, "quiet")]
        parts.append(f'<div class="pictures">{"".join(drawn)}</div>')
    if left:
        parts.append(paragraph(f"Not drawn: {listed(left, 8)}.", "quiet"))
    made = section("columns", "What the model goes by", *parts)
    return Shown(made) if worth is None else Shown(made, worth.fitted, tuple(worth.names))


def _importance(
    model: BaseEstimator, X: Any, y: Any, found: JudgedAnswers, classes: list[Any],
    comparison: Comparison | None, name: str | None, clock: Clock, fitted: bool,
) -> Importance:  # fmt: skip
    if not hasattr(model, "classes_"):
        raise TypeError("the model is of a proportion, not a classifier")
    if hasattr(X, "tocsr"):
        raise TypeError("the table is sparse, and its entries are not shuffled one column at a time")
    metric = comparison.metric if comparison is not None else "log_loss"
    cost = comparison.cost if comparison is not None else None
    if found.P is None and METRICS[metric].needs != "labels":
        metric = "accuracy"
    labels, known = np.asarray(y), np.asarray(model.classes_)
    place = {label: k for k, label in enumerate(known.tolist())}
    codes = np.array([place[v] for v in labels.tolist()], dtype=np.intp)
    seconds = clock.share(PARTS["importance"])
    given: dict[str, Any] = {"metric": metric, "cost": cost, "seconds": seconds}
    if found.own and found.X is not X:
        return importance(model, X, labels, known, codes, test=(found.X, found.codes), **given)
    if found.own and not fitted:  # rows of another table, judged as they are
        return importance(model, X, labels, known, codes, test=(X, codes), **given)
    rows = None
    if comparison is not None and name is not None:
        splits = [s for s in comparison.splits if s.repeat == 0]
        given["splits"] = [(s.train, s.test) for s in splits]
        took = comparison.scores[name]["seconds"].mean
        if seconds is not None and took * SLOW > seconds:
            rows = _fewer(len(splits[0].train), seconds / (SLOW * took))
    return importance(model, X, labels, known, codes, rows=rows, **given)


def _fewer(n: int, share: float) -> int:
    """Rows that a fit has time for: a power of two times 250, so that a little more or less time changes nothing.

    >>> _fewer(30_000, 0.3), _fewer(30_000, 0.001)
    (8000, 250)
    """
    rows = 250
    while rows * 2 <= n * share:
        rows *= 2
    return rows


def said_of(worth: Importance) -> str:
    metric = METRICS[worth.metric]
    way = "falls" if metric.higher else "rises"
    return paragraph(
        f"By how much {metric.title} {way} where one column is shuffled among the rows. {worth.how}. Columns "
        f"that tell the "
        "same share their importance: where one is shuffled, the model still has the other.",
        "quiet",
    )


def picture_of(worth: Importance, words: str) -> str:
    title = "Importance of columns, out of fold"
    drawn = pictures.attempt(
        lambda: ImportanceDisplay.from_importance(worth, name=words, title=title, theme="light")
    )
    return (
        paragraph(f"No picture: {drawn}.") if isinstance(drawn, str) else pictures.figure(drawn, wide=False)
    )


def table_of(worth: Importance) -> str:
    rows = []
    for name, drop in zip(worth.names, worth.drop):
        places = digits(drop, METRICS[worth.metric].places)
        ends = [signed(v, places) if np.isfinite(v) else "–" for v in (drop.low, drop.high)]
        away = "yes" if drop.low > 0 or drop.high < 0 else "no"
        rows.append([name, signed(drop.mean, places), *ends, away])
    heads = ["column", "worse by", "low", "high", "away from 0"]
    caption = f"Importance by {METRICS[worth.metric].title}, with {100 * worth.level:g} % intervals"
    made = table(heads, rows, caption=caption)
    return made if len(rows) <= SHOWN // 2 else f"<details><summary>As a table</summary>{made}</details>"


def _dependence(
    model: BaseEstimator, X: Any, classes: list[Any], worth: Importance | None, clock: Clock
) -> tuple[list[str], list[str]]:
    """(figures of the foremost columns, what was left out and why)."""
    if worth is None or not hasattr(model, "predict_proba"):
        return [], []
    return moving(lambda rows: np.asarray(model.predict_proba(rows)), X, classes, worth, clock)


def moving(
    f: Callable[[Any], Any], X: Any, classes: list[Any], worth: Importance, clock: Clock
) -> tuple[list[str], list[str]]:
    """The same of any f: table → (n, K), or (n, 1) of numbers, which have no classes."""
    asked = [j for j, drop in zip(worth.columns, worth.drop) if drop.mean > 0]
    figures: list[str] = []
    left: list[str] = []
    own = Clock(clock.share(PARTS["dependence"]))
    for j in asked:
        if len(figures) == DRAWN:
            break
        name = worth.names[worth.columns.index(j)]
        if own.is_late(name):
            clock.late.append(f"how the answer moves with {name}")
            left.append(f"{name} (no time was left)")
            break
        try:
            lines = dependence(f, X, j)
        except ValueError as error:
            left.append(f"{name} ({str(error).rstrip('.')})")
            continue
        drawn = pictures.attempt(partial(DependenceDisplay.from_dependence, lines, classes, theme="light"))
        if isinstance(drawn, str):
            left.append(f"{name} ({drawn})")
        else:
            figures.append(pictures.figure(drawn))
    return figures, left
