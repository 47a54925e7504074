"""Tables of the report: the ranking with intervals and which differences are real, coefficients, confusion.

Rows O5, V1, D8. Cost O(models × metrics), O(Kp).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.judge.comparison import Comparison
from separatrix.judge.scores import METRICS, Interval, digits
from separatrix.judge.standing import BEHIND
from separatrix.show.coefficients import Panel, read_coefficients
from separatrix.show.report_parts.answers import JudgedAnswers
from separatrix.show.report_parts.words import MarkUp, h, listed, number, paragraph, table

MOST_ROWS = 60  # of coefficients
SHARES = ("accuracy", "error")  # said as per cent


def score_text(name: str, value: float, places: int | None = None) -> str:
    """A score with the digits it deserves: accuracy as per cent, others with three places.

    >>> score_text("accuracy", 0.97891), score_text("log_loss", 0.08123), score_text("seconds", 0.01234)
    ('97.9 %', '0.0812', '12 ms')
    """
    if np.isnan(value):
        return "–"
    if name == "seconds":
        return f"{1000 * value:.0f} ms" if value < 1 else f"{value:.1f} s"
    given = _places(name) if places is None else places
    if name in SHARES:
        return f"{100 * value:.{given - 2}f} %"
    return f"{value:.{given}f}".replace("-", "−")


def _places(name: str) -> int:
    return METRICS[name].places if name in METRICS else 3


def interval_texts(name: str, found: Interval) -> tuple[str, str]:
    """(the mean, the ends) with as many digits as tell them apart; no ends where there are none, or nothing is
    between.

    >>> interval_texts("auc", Interval(0.99991, 0.99987, 0.99995))
    ('0.99991', '0.99987 to 0.99995')
    """
    inside = METRICS[name].inside(found) if name in METRICS else found
    places = digits(inside, _places(name))
    mean = score_text(name, inside.mean, places)
    if name == "seconds" or not (np.isfinite(inside.low) and np.isfinite(inside.high)):
        return mean, ""
    low, high = (score_text(name, v, places).removesuffix(" %") for v in (inside.low, inside.high))
    return mean, f"{low} to {high}" if low != high else ""


def span_text(name: str, found: Interval) -> str:
    """The ends of an interval, within what the score can be; empty where there is none."""
    return interval_texts(name, found)[1]


def ranking(comparison: Comparison) -> str:
    """Every model with intervals, best first, and whether its difference from the best is real."""
    by = comparison.metric
    usual = ("log_loss", "accuracy", "auc", "calibration_error")
    shown = [by, *(m for m in (comparison.metrics if comparison.task == "regression" else usual) if m != by)]
    shown = [
        m for m in shown if any(np.isfinite(comparison.scores[name][m].mean) for name in comparison.ranking)
    ]
    told = {d.model: d for d in comparison.differences}
    reach = _reach(comparison, by)
    rows = []
    for place, name in enumerate(comparison.ranking, 1):
        own = comparison.scores[name]
        dots = _dots(own[by], reach, comparison.scores[comparison.best][by], told.get(name))
        cells: list[Any] = [f"{place}. {comparison.titles.get(name, name)}", dots]
        for metric in shown:
            mean, span = interval_texts(metric, own[metric])
            cells.append(MarkUp(f"{h(mean)}<small>{h(span)}</small>"))
        cells.append(score_text("seconds", own["seconds"].mean))
        seen = comparison.standing[name]
        cells.append(_difference(told.get(name), by, name == comparison.best, seen.kind in BEHIND))
        cells.append(seen.words + (", tuned" if seen.tuned else ""))
        rows.append(cells)
    heads = ["model", "more is better" if METRICS[by].higher else "less is better"]
    heads += [METRICS[m].title for m in shown] + ["a fit", "against the best", "judged on"]
    level = f"{100 * comparison.level:g} %"
    caption = (
        f"Ranked by {METRICS[by].title} on the folds that each has with the best; small figures are {level} "
        "intervals of the mean (corrected resampled t; of fewer folds than a repetition, by the rows judged)"
    )
    made = table(heads, rows, caption=caption, left=(0, 1, len(heads) - 2, len(heads) - 1), kind="ranking")
    told_of = [*_told(comparison), *comparison.partly, *([comparison.more] if comparison.more else [])]
    said = "".join(paragraph(sentence) for sentence in told_of)
    if comparison.tested:
        parts = [
            f"{comparison.titles.get(m, m)} {score_text(by, t[by].mean)} ({span_text(by, t[by])})"
            for m, t in comparison.tested.items()
        ]
        said += paragraph(f"On the test rows, {METRICS[by].title}: {'; '.join(parts)}.")
    cut = [f"<li>{h(comparison.titles.get(m, m))}: {h(why)}</li>" for m, why in comparison.cut.items()]
    if comparison.interrupted:
        said += paragraph("The comparison was interrupted: the table is of what was finished.")
    if cut:
        said += f"<details><summary>Not ranked: {len(cut)}</summary><ul>{''.join(cut)}</ul></details>"
    return made + said


def _told(comparison: Comparison) -> list[str]:
    """Which differences are real, with the models' names in words."""

    def names(models: list[str]) -> str:
        return listed([str(comparison.titles.get(m, m)) for m in models], 12)

    if not comparison.differences:
        return [f"{names([comparison.best])} alone was ranked."]
    best, by = names([comparison.best]), METRICS[comparison.metric].title
    same = list(comparison.equals[1:])
    real = [d.model for d in comparison.differences if d.real]
    said = []
    if same:
        said.append(
            f"By {by}, {best} comes first, but {names(same)} cannot be told from it: the folds differ more than they "
            "do."
        )
    if real:
        said.append(
            f"Really worse than {best}: {names(real)} (corrected resampled t-test, Holm, at "
            f"{1 - comparison.level:.2g})."
        )
    return said


def _difference(d: Any, by: str, best: bool, behind: bool = False) -> str:
    if best:
        return "the best"
    if behind and (d is None or not d.real):
        return "behind, not followed further"
    if d is None or not np.isfinite(d.p_holm):
        return "too little seen to tell"
    p = "p < 0.001" if d.p_holm < 0.001 else f"p = {d.p_holm:.2g}"
    size = f"{100 * abs(d.mean):.2g} points" if by in ("accuracy", "error") else number(abs(d.mean), 2)
    return f"really worse, by {size} ({p})" if d.real else f"cannot be told apart ({p})"


def _reach(comparison: Comparison, by: str) -> tuple[float, float]:
    """Ends of the dots' axis: models far behind do not squeeze the others together."""
    means = [comparison.scores[m][by].mean for m in comparison.ranking]
    best = comparison.scores[comparison.best][by]
    ends = [v for m in comparison.ranking for v in comparison.scores[m][by][1:] if np.isfinite(v)] + means
    ends = [v for v in ends if np.isfinite(v)]
    if not ends:
        return 0.0, 1.0
    half = best.half if np.isfinite(best.half) else 0.0
    far = 8 * max(half, float(np.median(np.abs(np.array(means) - best.mean))), 1e-6)
    low, high = max(min(ends), best.mean - far), min(max(ends), best.mean + far)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _dots(own: Interval, reach: tuple[float, float], best: Interval, d: Any) -> MarkUp:
    """A dot with its interval on the axis of all models, as a small drawing; the band is the best one's."""
    wide, (a, b) = 176.0, reach

    def at(v: float) -> float:
        return 8 + (wide - 16) * min(max((v - a) / (b - a), 0.0), 1.0)

    kind = "first" if d is None else "real" if d.real else ""
    parts = [f'<line class="axis" x1="4" x2="{wide - 4:g}" y1="10" y2="10"/>']
    if np.isfinite(best.low):
        parts.append(
            f'<rect class="band" x="{at(best.low):.1f}" y="1" width="{at(best.high) - at(best.low):.1f}" '
            'height="18"/>'
        )
    beyond = own.mean > b or own.mean < a
    if np.isfinite(own.low) and not beyond:
        parts.append(f'<line class="line" x1="{at(own.low):.1f}" x2="{at(own.high):.1f}" y1="10" y2="10"/>')
    if beyond:
        x, s = at(own.mean), 1 if own.mean > b else -1
        parts.append(f'<path class="line" fill="none" d="M{x - 4 * s:.1f} 5 l{5 * s} 5 l{-5 * s} 5"/>')
    elif np.isfinite(own.mean):
        parts.append(f'<circle class="dot" cx="{at(own.mean):.1f}" cy="10" r="4.5"/>')
    return MarkUp(f'<svg class="dots {kind}" viewBox="0 0 176 20" aria-hidden="true">{"".join(parts)}</svg>')


# ---- coefficients ----


def read(model: BaseEstimator, level: float) -> tuple[list[str], list[Panel], str] | None:
    """(names, panels, note) of a linear model, the constant first; None of one that has no coefficients."""
    try:
        return read_coefficients(model, level, True)
    except (TypeError, AttributeError):
        return None


def coefficients(names: list[str], panels: list[Panel], level: float) -> str:
    """A table of each panel, largest first; at most 60 rows, and those left out are counted."""
    made = []
    for panel in panels:
        size = np.where(np.isfinite(panel.value), np.abs(panel.value), np.inf)
        order = np.argsort(-size, kind="stable")
        kept = order[:MOST_ROWS]
        heads = ["column", "coefficient"]
        if panel.ends is not None:
            heads += ["low", "high", "away from 0"]
        rows = []
        for j in kept:
            row: list[Any] = [names[j], number(panel.value[j], full=True)]
            if panel.ends is not None:
                low, high = panel.ends[j]
                away = "yes" if low > 0 or high < 0 else "no"
                row += [number(low, full=True), number(high, full=True), away]
            rows.append(row)
        caption = panel.title or "Coefficients"
        if panel.ends is not None:
            caption += f", with {100 * level:g} % intervals"
        if len(order) > len(kept):
            caption += f"; the {len(kept)} largest of {len(order):,}"
        made.append(table(heads, rows, caption=caption))
    inside = "".join(made)
    many = len(panels) * len(names)
    return f"<details><summary>As a table</summary>{inside}</details>" if many > 12 else inside


# ---- confusion ----


def confusion(found: JudgedAnswers, classes: list[Any]) -> str:
    """Counts of (true class, answer), with the share of each class that is right."""
    k = len(classes)
    if k > 30:
        own = [found.said[found.codes == c] for c in range(k)]
        share = np.array([np.mean(said == c) if len(said) else np.nan for c, said in enumerate(own)])
        order = np.argsort(np.where(np.isnan(share), 2.0, share), kind="stable")[:20]
        rows = [[classes[c], len(own[c]), score_text("accuracy", share[c])] for c in order]
        return table(["class", "rows", "right"], rows, caption=f"The 20 of {k} classes least often right")
    matrix = np.bincount(found.codes * k + found.said, minlength=k * k).reshape(k, k)
    rows = []
    for c in range(k):
        total = int(matrix[c].sum())
        right = score_text("accuracy", matrix[c, c] / total) if total else "–"
        rows.append([classes[c], *(f"{v:,}" for v in matrix[c]), right])
    heads = ["really", *(f"called {c}" for c in classes), "right"]
    return table(heads, rows, caption="Answers to rows of each class (the most probable class is the answer)")
