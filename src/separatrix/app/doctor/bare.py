"""``separatrix doctor`` where typer or rich are missing: the same lines, without colours."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from separatrix.app.doctor import run


@dataclass
class Bare:
    """Speaks as :class:`separatrix.app.say.Say` does, plainly."""

    quiet: bool = False
    json: bool = False

    @property
    def silent(self) -> bool:
        return self.quiet or self.json

    def result(self, text: Any, style: str = "") -> None:
        if not self.silent:
            print(text)

    def data(self, made: Mapping[str, Any]) -> None:
        if self.json:
            print(json.dumps(made, indent=2, ensure_ascii=False))


def main(arguments: Sequence[str]) -> int:
    """Read what was asked for, and do it."""
    parser = argparse.ArgumentParser(
        prog="separatrix doctor", description="What is installed here, and whether compiled loops are found."
    )
    parser.add_argument(
        "--fix", action="store_true", help="compile what is missing, remove what is of no use"
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON object on standard output, nothing else"
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="say nothing but errors")
    given = parser.parse_args(arguments)
    return run(given.fix, Bare(given.quiet, given.json))
