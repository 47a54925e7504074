"""The what-if panel: a slider or a list for each column, and the probability the model would give.

    the page computes  P = mode(start + Σ_j f_j(x_j))  from the forms of sums.py, by the script whatif.js

``#whatif={"column number": cell}`` (URI-encoded JSON; null is a missing cell) sets the controls when the page opens,
so that a row can be sent as a link. Row O5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.show.report_parts.sums import Form, Sum
from separatrix.show.report_parts.words import cell_text, h

SHOWN = 12  # columns in sight; the rest is folded away


def panel(found: Sum) -> str:
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
    bars = "".join(
        f'<div class="bar-row"><span class="bar-name">{h(label)}</span><span class="bar"><span class="fill c{k % 8}" '
        f'id="whatif-bar-{k}"></span></span><output class="bar-value" id="whatif-p-{k}" aria-live="off">–</output>'
        "</div>"
        for k, label in enumerate(classes)
    )
    return (
        '<form id="whatif" class="whatif" autocomplete="off">'
        f'<div class="answer"><p class="answer-line"><strong id="whatif-class" aria-live="polite">–</strong> '
        f'<span id="whatif-share" class="big">–</span></p>{bars}'
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


def data(found: Sum) -> dict[str, Any]:
    """What the script reads: plain lists of numbers."""
    columns = []
    for form in found.forms:
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
                own["missing"] = [float(v) for v in form.missing]
        columns.append(own)
    return {
        "mode": found.mode, "classes": [str(c) for c in found.classes], "start": [float(v) for v in found.start],
        "columns": columns,
    }  # fmt: skip


def _rows(values: FloatArray | None) -> list[list[float]]:
    assert values is not None
    return [[float(v) for v in row] for row in np.asarray(values)]


def _same(a: Any, b: Any) -> bool:
    return a is b or bool(a == b) or (a != a and b != b)
