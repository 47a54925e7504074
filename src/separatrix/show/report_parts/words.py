"""Text as HTML: everything escaped, numbers with sensible digits, tables with heads that name their cells.

    h(text)   & < > " ' → entities        every other function here takes plain text and escapes it

Row O5.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.core.words import and_more, joined
from separatrix.show.look import few_digits


def h(text: Any) -> str:
    """Text that is harmless in an element or a quoted attribute; control characters become a sign that is seen.

    >>> h('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    plain = "".join(c if c >= " " or c in "\n\t" else "\ufffd" for c in str(text))
    return html.escape(plain, quote=True)


def embedded(value: Any) -> str:
    """JSON that may stand within a script element: no < that could end it.

    >>> embedded({"a": "</script>"})
    '{"a":"\\\\u003c/script>"}'
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def number(value: Any, digits: int = 3, *, full: bool = False) -> str:
    """A number with ``digits`` of significance and a true minus; no needless zeros unless ``full``.

    >>> number(0.00123456), number(-12345.678), number(float("nan")), number(2.0), number(float("-inf"))
    ('0.00123', '−12,346', '–', '2', '−∞')
    """
    v = float(value)
    if np.isnan(v):
        return "–"
    if np.isinf(v):
        return "∞" if v > 0 else "−∞"
    size = abs(v)
    if size >= 1e7 or 0 < size < 1e-4:
        text = f"{v:.{digits - 1}e}"
        mantissa, power = text.split("e")
        text = f"{mantissa}e{int(power)}"
    elif size >= 10 ** (digits - 1):
        text = f"{v:,.0f}"
    else:
        text = f"{v:#.{digits}g}" if full else f"{v:.{digits}g}"
    return text.replace("-", "−")


def signed(value: float, places: int = 2) -> str:
    """A number with its sign, always.

    >>> signed(0.5), signed(-1.234)
    ('+0.50', '−1.23')
    """
    return f"{value:+.{places}f}".replace("-", "−")


def share(value: float) -> str:
    """A probability as per cent, never rounded to a certainty it has not.

    >>> share(0.9342), share(0.99999), share(1e-7), share(1.0)
    ('93.4 %', '> 99.9 %', '< 0.1 %', '100 %')
    """
    v = float(value)
    if np.isnan(v):
        return "–"
    if 0 < v < 0.001:
        return "< 0.1 %"
    if 0.999 < v < 1:
        return "> 99.9 %"
    return f"{100 * v:.3g} %"


def chance(label: Any, p: float) -> str:
    """A probability with what it is of.

    >>> chance("spam", 0.25), chance("ham", 0.9999)
    ('P(spam) = 25 %', 'P(ham) > 99.9 %')
    """
    text = share(p)
    return f"P({label}) {text}" if text[0] in "<>" else f"P({label}) = {text}"


def cell_text(value: Any, most: int = 60) -> str:
    """A cell of the table as a reader wants it: few digits, no long texts."""
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return "(missing)"
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return f"{int(value)}"
    if isinstance(value, (float, np.floating)):
        return few_digits(float(value)).replace("-", "−")
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    caption: str,
    left: Sequence[int] = (0,),
    kind: str = "",
) -> str:
    """A table: the first cell of each row names it; ``left`` are columns of words. :class:`MarkUp` is HTML."""
    top = "".join(
        f'<th scope="col"{"" if j in left else " class=num"}>{_cell(head)}</th>'
        for j, head in enumerate(heads)
    )
    body = []
    for row in rows:
        cells = [f'<th scope="row">{_cell(row[0])}</th>']
        cells += [f"<td{'' if j in left else ' class=num'}>{_cell(c)}</td>" for j, c in enumerate(row[1:], 1)]
        body.append(f"<tr>{''.join(cells)}</tr>")
    mark, name = f' class="{h(kind)}"' if kind else "", h(caption)
    return (
        f'<p class="caption">{name}</p><div class="scroll" tabindex="0" role="region" aria-label="{name}">'
        f'<table{mark} aria-label="{name}"><thead><tr>{top}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
    )


class MarkUp(str):
    """Text that is HTML already."""

    __slots__ = ()


def _cell(value: Any) -> str:
    return str(value) if isinstance(value, MarkUp) else h(value)


def soft(name: Any) -> MarkUp:
    """A name that may be broken behind its underscores, stops and dashes.

    >>> soft("sky_is<blue>")
    'sky_<wbr>is&lt;blue&gt;'
    """
    return MarkUp(re.sub(r"([_.\-/=])(?=\w)", r"\1<wbr>", h(name)))


def section(name: str, title: str, *parts: str) -> str:
    """A section with a heading that links can name."""
    head = f'<h2 id="{h(name)}-h">{h(title)}</h2>'
    return f'<section id="{h(name)}" aria-labelledby="{h(name)}-h">{head}{"".join(parts)}</section>'


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{h(kind)}">{h(text)}</p>' if kind else f"<p>{h(text)}</p>"


def listed(items: Sequence[str], most: int = 6) -> str:
    """Words joined: "a, b and c", or "a, b, … and 4 more"."""
    items = [str(v) for v in items]
    return joined(items) if len(items) <= most else and_more(items, most)
