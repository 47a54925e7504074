"""What the program says and where:  results on standard output, everything else on standard error (row O4).

    --quiet   neither; files and errors only          --json   one JSON object on standard output, nothing else

Colours and moving tables where a terminal reads; plain lines elsewhere. What a file holds is never taken for markup.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.app.errors import spoken

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"serious": "bold red", "warning": "yellow", "note": "dim"}


def _console(stderr: bool) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


@dataclass
class Say:
    """Speaks, or keeps quiet."""

    quiet: bool = False
    json: bool = False
    aside: Console = field(default_factory=lambda: _console(True))
    out: Console = field(default_factory=lambda: _console(False))

    @property
    def silent(self) -> bool:
        return self.quiet or self.json

    @property
    def live(self) -> bool:
        """Whether a moving table makes sense."""
        return not self.silent and self.aside.is_terminal

    def note(self, line: Any, style: str = "dim") -> None:
        """A line about the work."""
        if not self.silent:
            self.aside.print(harmless(line), style=style, soft_wrap=True)

    def notes(self, lines: Iterable[str], most: int = 12) -> None:
        """Lines about the work, the first ``most`` of them."""
        held = list(lines)
        for line in held[:most]:
            self.note(f"  {line}")
        if len(held) > most:
            self.note(f"  … and {len(held) - most} more")

    def alert(self, severity: str, sentence: str) -> None:
        """Something to know before trusting a score."""
        self.note(f"  {severity}: {sentence}", STYLES.get(severity, "dim"))

    @contextmanager
    def hearing(self) -> Iterator[Say]:
        """What libraries warn of meanwhile as alerts, each once, in place of Python's lines with a path in them."""
        heard: set[str] = set()

        def told(message: Warning | str, *where: Any, **more: Any) -> None:
            sentence = spoken(str(message))
            if sentence not in heard:
                heard.add(sentence)
                self.alert("warning", sentence)

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # a picture without an emoji is a picture
            warnings.showwarning = told
            yield self

    def result(self, text: Any, style: str = "") -> None:
        """The answer."""
        if not self.silent:
            self.out.print(harmless(text), style=style, soft_wrap=True)

    def data(self, made: Mapping[str, Any]) -> None:
        """The answer for programs, where --json asks for it."""
        if self.json:
            sys.stdout.write(dumped(made) + "\n")
            sys.stdout.flush()


def harmless(text: Any) -> str:
    """Without the control characters by which a cell or a name could write on the reader's terminal.

    >>> harmless("red\\x1b[2J\\tblue")
    'red�[2J blue'
    """
    return "".join(c if c.isprintable() or c == "\n" else " " if c == "\t" else "�" for c in str(text))


def dumped(made: Any) -> str:
    """JSON, with null for what is no finite number.

    >>> dumped({"a": np.float64("nan"), "b": np.array([1, 2])})
    '{\\n  "a": null,\\n  "b": [\\n    1,\\n    2\\n  ]\\n}'
    """
    return json.dumps(plain(made), indent=2, ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """Dicts, lists, words and finite numbers."""
    if isinstance(value, Mapping):
        return {str(plain(k)): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
