"""One line that says what is running now: replaced in place on a terminal, one finished line elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self


class Progress:
    """`with Progress("L1") as say: say("round 1/3 · sklearn")`. Writes to stderr, so tables stay clean."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.start = time.perf_counter()
        self.status: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            try:
                from rich.console import Console
                from rich.live import Live

                # No automatic refresh: a spinner's thread would run inside the timed fits.
                self.status = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
                self.status.start()
            except ImportError:
                pass
        return self

    def __call__(self, text: str) -> None:
        """Replace the line."""
        if self.status is not None:
            elapsed = time.perf_counter() - self.start
            self.status.update(f"{self.title} · {text} · {elapsed:.0f} s", refresh=True)
        elif sys.stderr.isatty():
            print(f"\r\033[K{self.title} · {text}", end="", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.status is not None:
            self.status.stop()
        elif sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr)
        ending = "done" if error is None else "stopped"
        seconds = time.perf_counter() - self.start
        print(f"{self.title} · {ending} in {seconds:.1f} s", file=sys.stderr, flush=True)
