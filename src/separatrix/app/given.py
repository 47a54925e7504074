"""What the user gave, read:  a table with its target, kinds, settings, costs, names of metrics (row O4).

A target that is not named is the source's own (a bundled table, folders of text), else a column called class, target,
label or y, else the last column; which one is said.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from separatrix.app.errors import AppError, UsageError, spoken, unknown
from separatrix.app.say import Say
from separatrix.tables.kinds import KINDS
from separatrix.tables.read import read
from separatrix.tables.sources import TableError
from separatrix.tables.table import Table

OBVIOUS = ("class", "target", "label", "y")


@dataclass(frozen=True, kw_only=True)
class TableAsked:
    """A source of data, its target column, kinds ("column=kind,…"), and how it is read where rules err."""

    data: str
    target: str | None
    kinds: Sequence[str] | None
    header: bool | None
    delimiter: str | None
    numbers: bool = False  # whether the target is a number to be predicted
    apart: Sequence[str] = ()  # columns that say how folds are made, and that no model sees

    def read(self, say: Say) -> Table:
        """The table, its target found where it is not named; what was read is said."""

        def found(names: list[str]) -> str:
            name = obvious_target(names)
            why = "as it is called so" if name.lower().strip() in OBVIOUS else "as it is the last column"
            say.note(f"target: {name!r}, {why}; name another by --target")
            return name

        try:
            table = read(
                self.data,
                target=found if self.target is None else self.target,
                kinds={**kinds_of(self.kinds or ()), **dict.fromkeys(self.apart, "identifier")},
                classes=not self.numbers,
                header=self.header,
                delimiter=self.delimiter,
            )
        except TableError as error:
            told = str(error).replace("name another column", "name another column by --target")
            raise AppError(told) from None
        for line, style in zip(table.describe(), ["bold", *["dim"] * len(table.notes)]):
            say.note(line if style == "bold" else f"  {spoken(line)}", style)
        return table

    def options(self) -> dict[str, str | None]:
        """Those given beside the target, as they are typed."""
        mark = "tab" if self.delimiter == "\t" else self.delimiter
        return {"--kinds": ",".join(self.kinds or ()) or None, "--delimiter": mark}


def obvious_target(names: list[str]) -> str:
    """The column called class, target, label or y, whatever its case; else the last.

    >>> obvious_target(["a", "Class", "b"]), obvious_target(["a", "b"])
    ('Class', 'b')
    """
    held = {name.lower().strip(): name for name in reversed(names)}
    return next((held[name] for name in OBVIOUS if name in held), names[-1])


def kinds_of(given: Sequence[str]) -> dict[str, str]:
    """ "column=kind,column=kind" → {column: kind}.

    >>> kinds_of(["zip=nominal,age=continuous"])
    {'zip': 'nominal', 'age': 'continuous'}
    """
    found: dict[str, str] = {}
    for part in (piece for text in given for piece in text.split(",") if piece.strip()):
        name, mark, kind = part.rpartition("=")
        if not mark or not name.strip():
            raise UsageError(f"--kinds {part!r} is no column=kind; a kind is one of {', '.join(KINDS)}")
        if kind.strip() not in KINDS:
            raise UsageError(unknown("kind", kind.strip(), list(KINDS)))
        found[name.strip()] = kind.strip()
    return found


def settings_of(given: Sequence[str]) -> dict[str, Any]:
    """ "name=value" of each → {name: value}; numbers, true, false and none as in Python, else a word.

    >>> settings_of(["C=10", "solver=newton", "fit_intercept=false"])
    {'C': 10, 'solver': 'newton', 'fit_intercept': False}
    """
    words = {"true": True, "false": False, "none": None}
    found: dict[str, Any] = {}
    for text in given:
        name, mark, value = text.partition("=")
        if not mark or not name.strip():
            raise UsageError(f"--set {text!r} is no name=value; write --set C=10")
        value = value.strip()
        try:
            found[name.strip()] = words[value.lower()] if value.lower() in words else ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name.strip()] = value
    return found


def listed(text: str | None) -> list[str] | None:
    """Names between commas, with _ for -; None where nothing was given.

    >>> listed("naive-bayes, lda")
    ['naive_bayes', 'lda']
    """
    if text is None:
        return None
    return [name.strip().replace("-", "_") for name in text.split(",") if name.strip()]


def listed_as_they_are(text: str | None) -> list[str] | None:
    """Words between commas; None where nothing was given.

    >>> listed_as_they_are("low, not so high")
    ['low', 'not so high']
    """
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def metric_named(name: str | None, cost: str | None, known: Sequence[str]) -> str:
    """The metric that ranks: cost where costs are given and none is named, else log loss."""
    if name is None:
        return "cost" if cost is not None else known[0]
    found = name.strip().lower().replace("-", "_").replace(" ", "_")
    if found not in known:
        raise UsageError(unknown("metric", name, list(known)))
    if found == "cost" and cost is None:
        raise UsageError("--metric cost needs the costs; add --cost FILE, or --cost '[[0, 1], [5, 0]]'")
    return found


def cost_of(given: str | None, labels: Sequence[Any]) -> Any:
    """Costs from JSON or a file with JSON: a matrix, or {true class: {answer: cost}}; None where none are given.

    >>> cost_of('{"spam": {"ham": 1}, "ham": {"spam": 20}}', ["ham", "spam"])
    {('spam', 'ham'): 1, ('ham', 'spam'): 20}
    """
    if given is None:
        return None
    form = (
        'give a matrix, a row for each true class, or {"true class": {"answer": cost}}, as JSON or in a file'
    )
    text = given
    if not given.lstrip().startswith(("[", "{")):
        try:
            text = Path(given).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise AppError(
                f"--cost {given}: cannot be read ({getattr(error, 'strerror', error)}); {form}"
            ) from None
    try:
        made = json.loads(text)
    except json.JSONDecodeError as error:
        raise AppError(f"--cost is no JSON ({error}); {form}") from None
    if isinstance(made, list):
        return made
    if not isinstance(made, Mapping) or not all(isinstance(row, Mapping) for row in made.values()):
        raise AppError(f"--cost is neither a matrix nor a mapping; {form}")
    place = {str(label): label for label in labels}
    for name in (*made, *(answer for row in made.values() for answer in row)):
        if name not in place:
            raise AppError(f"--cost: {unknown('class', name, list(place))}")
    return {(place[true], place[said]): value for true, row in made.items() for said, value in row.items()}
