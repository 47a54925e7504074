"""A printed table: a title, facts in two columns, numbers with names, sentences below.

    Summary(title, header, index, columns, notes, formats, labels, stars)

It knows nothing of statistics: coefficient tables, analyses of deviance and rankings by evidence are all numbers with
row and column names. Rows D8, B3 of the specification. An estimate that does not exist is NaN and prints as —, one
that has run away prints as ±∞. Cost: O(cells).

How a column prints (``formats``), where its name does not already say so (p, z, t, F, LR, df, resid. df):

    number      fixed decimals, the same in all such columns: five figures of the least row, two to six decimals
    p           four decimals, 1.23e-05 below 1e-4, <2e-16 below the resolution of a double, as R does
    count       a whole number; decimals only where there are some
    .3f, .2e …  a format of Python's
"""

from __future__ import annotations

import html
import math
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.core.numerics import EPS, FloatArray
from separatrix.data.extras import data_frame

WIDTH = 100  # of the notes, and of a header that is to stay in two columns
ABSENT = "—"
KNOWN = {"p": "p", "z": ".3f", "t": ".3f", "F": ".3f", "LR": ".3f", "df": "count", "resid. df": "count"}
LEGEND = "Significance: *** p < 0.001, ** p < 0.01, * p < 0.05, . p < 0.1"


class Printed:
    """What prints as a table of its own, in a terminal and in a notebook."""

    def table(self) -> Summary:
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.table())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.table().to_html()


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """A table that prints as text, HTML and LaTeX, and becomes a DataFrame; see the module.

    Parameters
    ----------
    title : the first line
    header : (label, value) pairs, shown in two columns side by side, the first half on the left
    index : a label for each row
    columns : name → numbers (as many as rows); NaN is a cell without a value
    notes : sentences below the table, wrapped
    formats : column name → how it prints; see the module
    labels : column name → heading, where the table is to show another
    stars : mark small p as R does (the column named p)

    Examples
    --------
    >>> print(
    ...     Summary(
    ...         "Ants",
    ...         (("Rows", "79"), ("Deviance", "56.58")),
    ...         ("(Intercept)", "NV"),
    ...         {
    ...             "coef": np.array([3.77456, np.inf]),
    ...             "se": np.array([1.48869, np.nan]),
    ...             "p": np.array([0.0112, np.nan]),
    ...         },
    ...         ("NV has no finite estimate.",),
    ...     )
    ... )
    Ants
    ───────────────────────────────────
    Rows      79   Deviance       56.58
    ───────────────────────────────────
                   coef      se       p
    ───────────────────────────────────
    (Intercept)  3.7746  1.4887  0.0112
    NV               +∞       —       —
    ───────────────────────────────────
    NV has no finite estimate.
    """

    title: str
    header: tuple[tuple[str, str], ...]
    index: tuple[str, ...]
    columns: Mapping[str, FloatArray]
    notes: tuple[str, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    stars: bool = False

    def __post_init__(self) -> None:
        for name, values in self.columns.items():
            if np.shape(values) != (len(self.index),):
                raise ValueError(
                    f"column {name!r} has shape {np.shape(values)}, but there are {len(self.index)} rows"
                )
        for what, given in (("formats", self.formats), ("labels", self.labels)):
            if strange := [name for name in given if name not in self.columns]:
                raise ValueError(
                    f"{what} names {strange[0]!r}: the columns are {', '.join(map(str, self.columns))}"
                )
        if self.stars and "p" not in self.columns:
            raise ValueError("stars mark the column p, and there is none: leave stars=False")

    def to_frame(self) -> Any:
        """The numbers, unrounded, as a pandas DataFrame with the index and the column names as they are."""
        return data_frame(self.columns, self.index)

    # ---- text ----

    def __str__(self) -> str:
        names = [_line(label) for label in self.index]
        heads = [_line(head) for head in self._heads()]
        cells = self._cells()
        left = max(map(_width, names), default=0)
        widths = [max(map(_width, [head, *column])) for head, column in zip(heads, cells)]
        # the marks of significance belong to the number before them
        joints = ["" if k == 0 else " " if heads[k] == "" else "  " for k in range(len(heads))]
        table = left + 2 + sum(widths) + sum(map(len, joints))
        header, width = self._header(max(table, _width(_line(self.title))))
        rule = "─" * width
        lines = [_line(self.title), rule]
        lines += [*header, rule] if header else []
        for name, row in [("", heads), *zip(names, zip(*cells, strict=True))]:
            numbers = "".join(
                joint + (_right(cell, w) if head else _left(cell, w))
                for joint, cell, w, head in zip(joints, row, widths, heads)
            )
            lines.append(f"{_left(name, left)}  {numbers}".rstrip())
            if row is heads:
                lines.append(rule)
        lines.append(rule)
        for note in self._notes():
            lines += textwrap.wrap(_line(note), WIDTH, break_long_words=False) or [""]
        return "\n".join(lines)

    __repr__ = __str__

    def _header(self, width: int) -> tuple[list[str], int]:
        """The lines of the header and how wide they are: two pairs a line, or one where two would be too wide."""
        pairs = [(_line(label), _line(value)) for label, value in self.header]
        if not pairs:
            return [], width
        half = (len(pairs) + 1) // 2
        sides = [side for side in (pairs[:half], pairs[half:]) if side]
        spans = [[max(_width(p[k]) for p in side) for k in (0, 1)] for side in sides]
        needed = sum(a + b + 1 for a, b in spans) + 3 * (len(spans) - 1)
        if needed > max(WIDTH, width):
            sides, spans = [pairs], [[max(_width(p[k]) for p in pairs) for k in (0, 1)]]
            needed = sum(spans[0]) + 1
        width = max(width, needed)
        spare = width - needed
        if len(sides) == 2:  # the right side ends where the table does
            spans[0][1] += spare // 2
            spans[1][1] += spare - spare // 2
        columns = [
            [f"{_left(label, a)} {_right(value, b)}" for label, value in side]
            for side, (a, b) in zip(sides, spans)
        ]
        if len(columns) == 1:
            return columns[0], width
        columns[1] += [""] * (len(columns[0]) - len(columns[1]))
        return [f"{one}   {two}".rstrip() for one, two in zip(*columns, strict=True)], width

    # ---- HTML and LaTeX ----

    def to_html(self) -> str:
        """A ``<div>`` on its own: no script, no style sheet, everything escaped."""
        quiet, number = "font-weight:normal;opacity:.7", "text-align:right;padding:.1em 0 .1em 1.2em"
        half = (len(self.header) + 1) // 2
        facts = ""
        for k in range(half):
            cells = []
            for place in (k, k + half):
                label, value = self.header[place] if place < len(self.header) else ("", "")
                pad = "padding:.1em 1em .1em 0" if place == k else "padding:.1em 1em .1em 2.5em"
                cells.append(
                    f"<th style='text-align:left;{quiet};{pad}'>{_html(label)}</th>"
                    f"<td style='text-align:right'>{_html(_typeset(value))}</td>"
                )
            facts += f"<tr>{''.join(cells)}</tr>"
        marks = "<th style='padding:.1em 0 .1em .3em'></th>"
        heads = "".join(
            f"<th style='{number};{quiet}'>{_html(head)}</th>" if head else marks for head in self._heads()
        )
        body = ""
        for name, *row in zip(self.index, *self._cells(), strict=True):
            numbers = "".join(
                f"<td style='{number if head else 'text-align:left;padding:.1em 0 .1em .3em'}'>"
                f"{_html(_typeset(cell) if head else cell)}</td>"
                for head, cell in zip(self._heads(), row)
            )
            label = f"<th style='text-align:left;font-weight:normal;padding:.1em 0'>{_html(name)}</th>"
            body += f"<tr>{label}{numbers}</tr>"
        notes = "".join(f"<li>{_html(note)}</li>" for note in self._notes())
        look = "border-collapse:collapse;font-variant-numeric:tabular-nums"
        return (
            "<div style='font-family:sans-serif;border-left:.3em solid #57606a;padding:.2em 1em;max-width:60em'>"
            f"<strong>{_html(self.title)}</strong>"
            + (f"<table style='{look};margin:.4em 0'>{facts}</table>" if facts else "")
            + f"<table style='{look};margin:.4em 0;border-top:1px solid #8c959f;border-bottom:1px solid #8c959f'>"
            f"<thead style='border-bottom:1px solid #8c959f'><tr><th></th>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
            + (f"<ul style='margin:.4em 0;padding-left:1.2em'>{notes}</ul>" if notes else "")
            + "</div>"
        )

    _repr_html_ = to_html

    def to_latex(self) -> str:
        r"""A ``tabular`` with the rules of booktabs (``\usepackage{booktabs}``); header and notes close it."""
        heads = self._heads()
        span = len(heads) + 1
        rows = []
        for name, *row in zip(self.index, *self._cells(), strict=True):
            cells = [_latex_number(cell) if head else _latex(cell) for head, cell in zip(heads, row)]
            rows.append(" & ".join([_latex(name), *cells]) + r" \\")
        facts = "; ".join(f"{label}: {value}" for label, value in self.header)
        below = [
            rf"\multicolumn{{{span}}}{{p{{0.9\linewidth}}}}{{\footnotesize {_latex(line)}}} \\"
            for line in (facts, *self._notes())
            if line
        ]
        begin = rf"\begin{{tabular}}{{l{''.join('r' if head else 'l' for head in heads)}}}"
        title = rf"\multicolumn{{{span}}}{{l}}{{\textbf{{{_latex(self.title)}}}}} \\"
        above = " & ".join(["", *map(_latex, heads)]).strip() + r" \\"
        lines = [begin, r"\toprule", title, r"\midrule", above, r"\midrule", *rows, r"\bottomrule", *below]
        return "\n".join([*lines, r"\end{tabular}"])

    # ---- cells ----

    def _heads(self) -> list[str]:
        """The headings in order; an empty one is that of the stars."""
        heads = []
        for name in self.columns:
            heads.append(str(self.labels.get(name, name)))
            if self.stars and name == "p":
                heads.append("")
        return heads

    def _cells(self) -> list[list[str]]:
        """The columns as strings, under the headings of ``_heads``."""
        formats = {name: self.formats.get(name, KNOWN.get(name, "number")) for name in self.columns}
        plain = [name for name, how in formats.items() if how == "number"]
        numbers = dict(zip(plain, _numbers([self.columns[name] for name in plain])))
        cells = []
        for name, values in self.columns.items():
            how = formats[name]
            if how == "number":
                cells.append(numbers[name])
            else:
                cells.append([_cell(float(x), how) for x in values])
            if self.stars and name == "p":
                cells.append([_stars(float(p)) for p in values])
        return cells

    def _notes(self) -> Iterable[str]:
        return (*self.notes, LEGEND) if self.stars else self.notes


def _numbers(columns: Sequence[FloatArray]) -> list[list[str]]:
    """Columns with the same number of decimals: five figures of the row with the least numbers.

    A row too small for six decimals, or too large to be read, is printed with an exponent.
    """
    if not columns:
        return []
    table = np.array([np.asarray(c, dtype=float) for c in columns])
    sizes = np.where(np.isfinite(table), np.abs(table), 0.0).max(axis=0, initial=0.0)
    places = [4 - math.floor(math.log10(size)) for size in sizes if size > 0]
    readable = [place for place in places if place <= 9]  # two figures left at six decimals
    decimals = min(max(max(readable, default=4), 2), 6)
    odd = (sizes > 0) & ((sizes < 10.0 ** (1 - decimals)) | (sizes >= 1e9))
    return [
        [_cell(float(x), ".3e" if row else f".{decimals}f") for x, row in zip(column, odd)]
        for column in table
    ]


def _cell(x: float, how: str) -> str:
    if math.isnan(x):
        return ABSENT
    if math.isinf(x):
        return "+∞" if x > 0 else "-∞"
    if how == "p":
        return "<2e-16" if x < EPS else f"{x:.4f}" if x >= 1e-4 else f"{x:.2e}"
    if how == "count":
        return f"{x:.0f}" if x == round(x) else f"{x:.2f}"
    text = format(x, how)
    return text[1:] if re.fullmatch(r"-0\.?0*", text) else text  # no negative zero


def _stars(p: float) -> str:
    for limit, mark in ((0.001, "***"), (0.01, "**"), (0.05, "*"), (0.1, ".")):
        if p < limit:
            return mark
    return ""


def _line(text: str) -> str:
    """One line: a name with a line break in it must not break the table."""
    return " ".join(str(text).split())


def _width(text: str) -> int:
    """Places a text takes in a terminal: two for a wide character, none for an accent on its own."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def _left(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _right(text: str, width: int) -> str:
    return " " * (width - _width(text)) + text


def _html(text: str) -> str:
    return html.escape(str(text))


def _typeset(cell: str) -> str:
    """A number with a minus sign in place of the hyphen."""
    return re.sub(r"^-(?=[\d∞])", "−", cell)


_NAMED = r"\ textbackslash ~ textasciitilde ^ textasciicircum < textless > textgreater | textbar … ldots"
_MATHS = r"""· \cdot − - ± \pm × \times ∞ \infty ≤ \le ≥ \ge ≈ \approx → \to √ \surd ‖ \| ² ^2 ³ ^3 ½ \frac12
    Δ \Delta α \alpha β \beta η \eta θ \theta λ \lambda μ \mu σ \sigma φ \phi χ \chi"""


def _pairs(words: list[str]) -> Iterable[tuple[str, str]]:
    return zip(words[::2], words[1::2])


_SPECIAL = {
    **{c: "\\" + c for c in "&%$#_{}"},
    **{c: rf"\{name}{{}}" for c, name in _pairs(_NAMED.split())},
    **{c: f"${sign}$" for c, sign in _pairs(_MATHS.split())},
    "—": "---",
    "–": "--",
}


def _latex(text: str) -> str:
    line = "".join(_SPECIAL.get(c, c) for c in _line(text))
    return "{}" + line if line[:1] in ("[", "*") else line  # after a line break it would be its argument


def _latex_number(cell: str) -> str:
    """−, < and ∞ in mathematics, an exponent as a power of ten."""
    if cell == ABSENT:
        return "---"
    text = re.sub(r"e([+-]\d+)$", lambda m: rf"\times 10^{{{int(m[1])}}}", cell).replace("∞", r"\infty")
    return f"${text}$" if text != cell or text[:1] in "-<" else text
