"""An alert:  something to know before a score is trusted (row V1)."""

from __future__ import annotations

from dataclasses import dataclass

SEVERITIES = ("serious", "warning", "note")


@dataclass(frozen=True)
class Alert:
    """Something to know before trusting a score: its kind, how bad, the column (None: the table), and a sentence."""

    kind: str
    severity: str
    column: str | None
    sentence: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.sentence}"
