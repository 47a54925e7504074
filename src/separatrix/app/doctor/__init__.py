"""``separatrix doctor``: is everything here that makes separatrix fast, and if not, what to do (row O4).

The one command that is not in ``app/commands``: it runs where typer and rich are missing too (``bare.py``).
facts → findings → lines; what is known of compiled loops is gathered in ``loops``, of the machine in ``data``.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from typing import Any, Protocol

from separatrix.app.errors import OK, UNUSABLE, tell
from separatrix.loops.build import BuildError

PIPED, WIDEST = 100, 110  # characters a line


class Speaks(Protocol):
    """What is asked of :class:`separatrix.app.say.Say`."""

    @property
    def silent(self) -> bool: ...
    def result(self, text: Any, style: str = "") -> None: ...
    def data(self, made: Mapping[str, Any]) -> None: ...


def run(fix: bool, say: Speaks) -> int:
    from separatrix.app.doctor.facts import gather, homeless
    from separatrix.app.doctor.findings import findings
    from separatrix.app.doctor.lines import lines

    facts = gather()
    changed: list[str] = []
    if fix:
        from separatrix.loops.mend import mend

        try:
            changed = mend(facts.loops, _silence if say.silent else _progress) or [
                "nothing: nothing was missing"
            ]
        except BuildError as error:
            tell(homeless(f"not everything could be mended: {error}"))
        facts = gather()
    found = findings(facts)
    healthy = not any(finding.wrong for finding in found)
    terminal = sys.stdout.isatty()
    width = min(shutil.get_terminal_size((PIPED, 24)).columns, WIDEST) if terminal else PIPED
    for text, style in lines(facts, found, changed, width):
        say.result(text, style)
    spoken = [{"wrong": f.wrong, "what": f.what, "way_out": f.way_out or None} for f in found]
    made = {"healthy": healthy, "findings": spoken, "changed": changed} | facts.plain()
    say.data(homeless(made))
    return OK if healthy else UNUSABLE


def _progress(line: str) -> None:
    """On a terminal a line that is written over; elsewhere the last one only."""
    if sys.stderr.isatty():
        print(
            line.rstrip("\r").ljust(60),
            end="\r" if line.endswith("\r") else "\n",
            file=sys.stderr,
            flush=True,
        )


def _silence(line: str) -> None:
    """With --json and --quiet."""
