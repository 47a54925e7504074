"""The what-if panel: a slider or a list for each column, and the probability the model would give.

    the page computes  P = mode(start + Σ_j f_j(x_j))  from the forms of sums.py, by the script whatif.js; or a
    forest's or a kernel machine's P from machines.py; else a copy of the model by columns, with how near it is
    (surrogate.py)

``#whatif={"column number": cell}`` (URI-encoded JSON; null is a missing cell) sets the controls when the page opens,
so that a row can be sent as a link. Row O5.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.show.report_parts.clock import Clock
from separatrix.show.report_parts.machines import Machine
from separatrix.show.report_parts.sums import Form, NotASum, Sum
from separatrix.show.report_parts.surrogate import Surrogate
from separatrix.show.report_parts.words import cell_text, h, paragraph, section

SHOWN = 12  # columns in sight; the rest is folded away


class Made(NamedTuple):
    """The section, and what the script reads; None without a panel."""

    section: str
    data: dict[str, Any] | None


def made(model: BaseEstimator, X: Any, as_sum: Sum | None, why: str, clock: Clock) -> Made:
    """The panel of a sum, of trees or a kernel machine; else of a copy, which says so; else the sentence why not."""
    intro = (
        "Move a column and see what the model would say; all others stay as they are. At the start every column "
        "has its "
        "usual cell (the median, or the most frequent)."
    )
    if as_sum is not None:
        if as_sum.mode == "logit":
            intro += f" Signed figures are changes of the log-odds of {as_sum.classes[1]}."
        return Made(_section(paragraph(intro, "quiet"), panel(as_sum)), data(as_sum))
    reasons = [why]
    try:
        machine = Machine.of(model, X)
        said = paragraph(f"{intro} The page computes what the model does, {machine.words}.", "quiet")
        return Made(_section(said, panel(machine)), machine_data(machine))
    except NotASum as error:
        reasons.append(str(error).rstrip("."))
    if clock.is_late("the panel to try other cells"):
        return Made(_section(paragraph("There is no panel to try other cells: no time was left.")), None)
    try:
        copied = Surrogate.of(model, X)
    except NotASum as error:
        reasons.append(str(error).rstrip("."))
        told = "; ".join(dict.fromkeys((reasons[0], reasons[-1])))
        return Made(_section(paragraph(f"There is no panel to try other cells: {told}.")), None)
    warned = (
        f"This is not the model, for {reasons[-1]}. It is a copy, a sum over columns fitted to what the model "
        f"says of "
        f"{copied.rows:,} rows between the usual row and those of the table. On {copied.judged:,} other such rows it "
        f"explains {100 * copied.r2:.0f} % of how its probabilities vary (R² = {copied.r2:.2f}), and is off by "
        f"{100 * copied.off:.1f} points on average; at the usual row it says what the model does, but for "
        f"probabilities "
        "below 0.5 %."
    )
    shown = f'<div class="copy"><strong>A copy</strong> {h(warned)}</div>'
    return Made(_section(paragraph(intro, "quiet"), shown, panel(copied.found)), data(copied.found))


def _section(*parts: str) -> str:
    return section("whatif-section", "What if?", *parts)


def panel(found: Sum | Machine) -> str:
    """The controls, widest effect first, and the place of the answer; values are set by the script."""
    order = sorted(range(len(found.forms)), key=lambda j: -found.forms[j].reach)
    order = [j for j in order if found.forms[j].kind != "held"]
    held = [form.name for form in found.forms if form.kind == "held"]
    first, rest = order[:SHOWN], order[SHOWN:]
    controls = "".join(control(j, found.forms[j]) for j in first)
    folded = ""
    if rest:
        inside = "".join(control(j, found.forms[j]) for j in rest)
        many = "1 more column" if len(rest) == 1 else f"{len(rest)} more columns"
        folded = f'<details><summary>{many}, of less effect</summary><div class="controls">{inside}</div></details>'
    note = f'<p class="quiet">Held at their usual cell: {h(", ".join(held[:8]))}.</p>' if held else ""
    classes = [str(c) for c in found.classes]
    focus = ' tabindex="0" role="group" aria-label="probabilities of all classes"' if len(classes) > 8 else ""
    bars = "".join(
        f'<div class="bar-row"><span class="bar-name">{h(label)}</span><span class="bar"><span class="fill c{k % 8}" '
        f'id="whatif-bar-{k}"></span></span><output class="bar-value" id="whatif-p-{k}" aria-live="off">–</output>'
        "</div>"
        for k, label in enumerate(classes)
    )
    return (
        '<form id="whatif" class="whatif" autocomplete="off">'
        f'<div class="answer"><p class="answer-line"><strong id="whatif-class" aria-live="polite">–</strong> '
        f'<span id="whatif-share" class="big">–</span></p><div class="bars"{focus}>{bars}</div>'
        '<p><button type="reset" id="whatif-reset">Back to the usual row</button></p></div>'
        f'<div class="sides"><div class="controls">{controls}</div>{folded}{note}</div></form>'
    )


def control(j: int, form: Form) -> str:
    """One column: a slider with a field for numbers, a list for words."""
    name, tag = h(form.name), f"w{j}"
    top = (
        f'<div class="control"><label for="{tag}">{name}</label><output class="effect" id="{tag}-e" for="{tag}" '
        'title="change of the score from the usual cell"></output><span class="inputs">'
    )
    if form.kind == "levels":
        options = "".join(
            f'<option value="{i}"{" selected" if _same(cell, form.usual) else ""}>{h(cell_text(text))}</option>'
            for i, (cell, text) in enumerate(zip(form.cells, form.labels))
        )
        inside = f'<select id="{tag}" data-column="{j}">{options}</select>'
        return f"{top}{inside}</span></div>"
    shown = number_text(form)
    inside = (
        f'<input type="range" id="{tag}-r" data-column="{j}" min="0" max="{stops_of(form)}" step="1" value="0" '
        f'aria-label="{name}, slider"><input type="number" id="{tag}" data-column="{j}" '
        f'min="{form.low!r}" max="{form.high!r}" step="{1 if form.whole else "any"}" value="{shown}" '
        'inputmode="decimal">'
    )
    if form.missing is not None:
        inside += f'<label class="gap"><input type="checkbox" id="{tag}-m" data-column="{j}"> missing</label>'
    return f"{top}{inside}</span></div>"


def stops_of(form: Form) -> int:
    """The last place of a slider: cells of "stops", whole steps, or 500 of a range."""
    if form.kind == "stops":
        return len(form.cells) - 1
    if form.whole and form.high - form.low <= 1000:
        return int(form.high - form.low)
    return 500


def number_text(form: Form) -> str:
    return str(int(form.usual)) if form.whole else repr(usual_of(form))


def places_of(form: Form) -> int:
    """Digits after the point that a thousandth of the range needs."""
    wide = form.high - form.low
    return 0 if form.whole or not wide > 0 else int(np.clip(np.ceil(-np.log10(wide / 1000)), 0, 15))


def usual_of(form: Form) -> float:
    """The cell a number starts at: the usual one without needless digits, or the nearest stop."""
    if form.kind == "stops":
        return min((float(c) for c in form.cells), key=lambda c: abs(c - float(form.usual)))
    return float(np.clip(round(float(form.usual), places_of(form)), form.low, form.high))


def machine_data(found: Machine) -> dict[str, Any]:
    """The same of trees or a kernel machine: a column's values are its features, which stand at ``at`` of z."""
    columns = _columns(found.forms)
    for own, form, at in zip(columns, found.forms, found.features):
        own["at"] = at
        if form.kind == "held":
            own["values"] = _rows(form.values)
    width = sum(len(at) for at in found.features)
    return {**found.head, "classes": [str(c) for c in found.classes], "width": width, "columns": columns}


def data(found: Sum) -> dict[str, Any]:
    """What the script reads: plain lists of numbers."""
    return {
        "head": "sum", "mode": found.mode, "classes": [str(c) for c in found.classes],
        "start": [float(v) for v in found.start], "columns": _columns(found.forms),
    }  # fmt: skip


def _columns(forms: list[Form]) -> list[dict[str, Any]]:
    columns = []
    for form in forms:
        own: dict[str, Any] = {"kind": form.kind, "name": form.name}
        if form.kind == "levels":
            own["values"] = _rows(form.values)
            own["usual"] = next((i for i, c in enumerate(form.cells) if _same(c, form.usual)), 0)
        elif form.kind != "held":
            own |= {"low": form.low, "high": form.high, "whole": form.whole, "usual": usual_of(form)}
            own |= {"stops": stops_of(form), "places": places_of(form)}
            if form.kind == "stops":
                own |= {"cells": [float(c) for c in form.cells], "values": _rows(form.values)}
            else:
                own |= {"centre": form.centre, "width": form.width, "weights": _rows(form.weights)}
            if form.missing is not None:
                own["missing"] = _rows(form.missing[None])[0]
        columns.append(own)
    return columns


def _rows(values: FloatArray | None) -> list[list[float | None]]:
    """Plain lists; None for what is missing, which JSON has no number for."""
    assert values is not None
    return [[None if np.isnan(v) else float(v) for v in row] for row in np.asarray(values)]


def _same(a: Any, b: Any) -> bool:
    return a is b or bool(a == b) or (a != a and b != b)
