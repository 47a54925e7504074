"""Pictures for a page: each drawn twice, light and dark, as SVG within the file, with words for those who do not see.

    <picture><source media="(prefers-color-scheme: dark)"><img alt></picture>

Letters are outlines, so that no font is asked for. What cannot be drawn of a model is left out with the reason.
Row O5.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from separatrix.judge.scores import Interval
from separatrix.show.coefficients import Panel
from separatrix.show.look import Display, pyplot
from separatrix.show.reading import ShownTable
from separatrix.show.report_parts.answers import JudgedAnswers, take
from separatrix.show.report_parts.sums import Form, Sum, link_of, values_at
from separatrix.show.report_parts.words import cell_text, h

MOST_ROWS = 700  # points of a picture
MOST_CELLS = 40_000_000  # points of a plane times the columns of the table
LIKE = 6  # classes from which those often confused stand side by side
MOST_WIDE = 3_000  # columns, beyond which no plane through them is drawn
RULERS = 10  # columns of a nomogram
LARGEST = 20  # coefficients


def figure(display: Display, caption: str = "", *, wide: bool = False, full: bool = False) -> str:
    """A display already drawn in the light theme, as a figure of the page; it is closed afterwards.

    ``wide`` takes the page's width and is pushed aside by finger on a telephone; ``full`` is never drawn smaller
    there.
    """
    alt = " ".join(str(display.alt_text).split())
    light, size = _drawn(display)
    display.close()
    display.plot(theme="dark")
    dark, _ = _drawn(display)
    display.close()
    kind = "wide full" if full else "wide"
    mark = f' class="{kind}" tabindex="0" role="group" aria-label="{h(alt)}"' if wide or full else ""
    words = f"<figcaption>{h(caption)}</figcaption>" if caption else ""
    return (
        f'<figure{mark}><picture><source media="screen and (prefers-color-scheme: dark)" '
        f'srcset="{dark}"><img src="{light}" alt="{h(alt)}" width="{size[0]:.0f}" height="{size[1]:.0f}"></picture>'
        f"{words}</figure>"
    )


def _drawn(display: Display) -> tuple[str, tuple[float, float]]:
    held = io.BytesIO()
    bare = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with pyplot().rc_context({"svg.fonttype": "path", "svg.hashsalt": "separatrix"}):
        display.figure_.savefig(held, format="svg", dpi=110, metadata=bare)
    wide, high = display.figure_.get_size_inches()
    made = base64.b64encode(lean(held.getvalue().decode("utf-8")).encode()).decode()
    return f"data:image/svg+xml;base64,{made}", (96 * wide, 96 * high)


def lean(svg: str) -> str:
    """A drawing with lengths to a hundredth of a point, without remarks and line ends.

    >>> lean('<path d="M 0.12345 3 \\nL 1 2"/>\\n<!-- words -->\\n<use x="1.23456" y="2"/>')
    '<path d="M 0.12 3 L 1 2"/><use x="1.23" y="2"/>'
    """

    def short(found: re.Match[str]) -> str:
        inner = re.sub(r"(\.\d{2})\d+", r"\1", " ".join(found.group(2).split()))
        return f'{found.group(1)}="{inner}"'

    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    return re.sub(r">\s+<", "><", re.sub(r'\b(d|x|y)="([^"]*)"', short, svg))


def attempt(make: Callable[[], Display]) -> Display | str:
    """The display, or the sentence why there is none."""
    try:
        with warnings.catch_warnings():  # a plane leads to cells no row has, of which models warn
            warnings.simplefilter("ignore", UserWarning)
            return make()
    except (TypeError, ValueError) as error:
        return str(error).rstrip(".")


def regions(model: BaseEstimator, X: Any, y: ArrayLike, names: list[str] | None = None) -> Display | str:
    """Decision regions over a pair of columns, or over two discriminant directions of more."""
    from separatrix.show.regions import DecisionRegionsDisplay

    n = int(X.shape[0])
    if X.shape[1] > MOST_WIDE:
        return f"a plane through {X.shape[1]:,} columns shows too little of them to be worth its time"
    if n > MOST_ROWS:
        keep = np.sort(np.random.default_rng(0).permutation(n)[:MOST_ROWS])
        X, y = take(X, keep), np.asarray(y)[keep]

    steps = max(30, min(140, int((MOST_CELLS / X.shape[1]) ** 0.5)))  # of a wide table, a coarser picture

    def over(columns: Any) -> Display | str:
        draw = DecisionRegionsDisplay.from_estimator
        return attempt(lambda: draw(model, X, y, columns=columns, steps=steps, theme="light"))

    found = over("lda" if X.shape[1] > 2 else None)
    if not isinstance(found, str) or hasattr(X, "tocsr"):
        return found
    table = ShownTable(X)
    numeric = [name for name, number in zip(table.names, table.numeric) if number]
    names = [*(name for name in names or () if name in numeric), *numeric]
    names = list(dict.fromkeys(names))[:2]
    return found if len(names) < 2 else over(tuple(names))


def roc(found: JudgedAnswers, classes: list[Any], known: Interval | None = None) -> Display | str:
    """Recall against false alarms of two classes, on rows not used in the fit; the area is the one ``known``."""
    from separatrix.show.rates import RocDisplay

    if found.P is None or len(classes) != 2:
        return "a ROC curve is of two classes with probabilities"
    P = found.P
    y = np.array([str(c) for c in classes])[found.codes]
    label = str(classes[1])
    return attempt(lambda: RocDisplay.from_predictions(y, P[:, 1], label=label, known=known, theme="light"))


def precision_recall(found: JudgedAnswers, classes: list[Any]) -> Display | str:
    """Precision against recall of the rarer of two classes, on rows not used in the fit."""
    from separatrix.show.rates import PrecisionRecallDisplay

    if found.P is None or len(classes) != 2:
        return "a curve of precision against recall is of two classes with probabilities"
    rarer = int(np.bincount(found.codes, minlength=2).argmin())
    y, score = np.array([str(c) for c in classes])[found.codes], found.P[:, rarer]
    draw = PrecisionRecallDisplay.from_predictions
    return attempt(lambda: draw(y, score, label=str(classes[rarer]), theme="light"))


def calibration(found: JudgedAnswers, classes: list[Any], name: str) -> Display | str:
    """Shares observed against probabilities predicted: of the second of two classes, or of the predicted class."""
    from separatrix.show.calibration import CalibrationDisplay

    if found.P is None:
        return "the model has no probabilities"
    P = found.P
    return attempt(lambda: CalibrationDisplay.from_answers(classes, found.codes, P, name=name, theme="light"))


def confusion(found: JudgedAnswers, classes: list[Any], name: str) -> Display | str:
    """Counts of (true class, answer)."""
    from separatrix.show.confusion import ConfusionDisplay

    order = "likeness" if len(classes) >= LIKE else "given"
    labels, draw = np.array([str(c) for c in classes]), ConfusionDisplay.from_predictions
    truth, said = labels[found.codes], labels[found.said]
    return attempt(lambda: draw(truth, said, classes=labels, order=order, name=name, theme="light"))


def nomogram(found: Sum, words: str) -> Display | str:
    """The model with a ruler, from its sum over columns; its classes are two."""
    from separatrix.show.nomogram import NomogramDisplay

    if len(found.start) != 1:
        return "a nomogram compares two classes"
    forms = [form for form in found.forms if form.ends is not None]
    widest = max(form.reach for form in forms)
    order = np.argsort([-form.reach for form in forms], kind="stable")
    shown = np.sort([j for j in order[:RULERS] if forms[j].reach > 0])
    note = (
        f"The {len(shown)} columns with the widest scales of {len(forms)}; total points count the others too."
    )
    made = NomogramDisplay(
        words, f"probability of {found.classes[1]}", [_scale(form) for form in forms], 100.0 / widest,
        float(found.start[0]) + sum(float(form.ends[0, 0]) for form in forms if form.ends is not None),
        lambda s: link_of(found.mode, np.atleast_1d(s)[:, None])[:, 1].reshape(np.shape(s)),
        lambda rows: found.terms(rows)[:, :, 0], shown, note if len(shown) < len(forms) else "",
    )  # fmt: skip
    made.size = (8.2, 1.9 + 0.52 * (len(shown) + 3))
    return attempt(lambda: made.plot(theme="light"))


def _scale(form: Form) -> Any:
    """Cells to mark on a column's axis: round numbers over its range, or its levels."""
    from matplotlib.ticker import MaxNLocator

    from separatrix.show.nomogram import Scale

    assert form.ends is not None
    ticks: list[Any] = []
    if form.kind == "levels":
        ticks = list(form.cells[:12])
    elif form.kind == "stops":
        ticks = list(form.cells[:: max(1, len(form.cells) // 8)])
    elif form.kind != "held":
        inside = MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]).tick_values(form.low, form.high)
        ticks = sorted({form.low, *(float(v) for v in inside if form.low <= v <= form.high), form.high})
    at = values_at(form, ticks)[:, 0] if ticks else form.ends[:1, 0]
    labels = [cell_text(v, 16) for v in form.labels[:12] or ticks] or [""]
    low, high = float(form.ends[0, 0]), float(form.ends[1, 0])
    return Scale(
        form.name, ticks or [form.usual], labels, at, min(low, float(at.min())), max(high, float(at.max()))
    )


def coefficients(names: list[str], panels: list[Panel], level: float, note: str, words: str) -> Display | str:
    """The largest coefficients, the constant (first) left out, with intervals where the panels have them."""
    from separatrix.show.coefficients import MOST_PANELS, CoefficientsDisplay

    if len(panels) > MOST_PANELS:
        return f"{len(panels)} sets of coefficients are too many for a picture"
    inner = [Panel(q.title, q.value[1:], None if q.ends is None else q.ends[1:]) for q in panels]
    size = np.array([np.where(np.isfinite(q.value), np.abs(q.value), np.inf) for q in inner])
    shown = np.argsort(-size.max(axis=0), kind="stable")[:LARGEST]
    told = "Lines are intervals; hollow where they hold zero." if inner[0].ends is not None else note
    if len(shown) < len(names) - 1:
        told = f"The {len(shown)} largest of {len(names) - 1} coefficients. {told}"
    made = CoefficientsDisplay(words, names[1:], inner, level, shown, told)
    across = min(len(inner), 4)
    high = (0.8 + 0.27 * len(shown)) * -(-len(inner) // across) + 1.2
    made.size = (3.4 + 2.6 * across + 0.8 * (across == 1), high)
    return attempt(lambda: made.plot(theme="light"))
