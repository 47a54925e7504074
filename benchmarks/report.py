"""Reports as text: a plain table for notes, a rich one for terminals, JSON for keeping."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.model import SUBJECT, Options, Report, Row
from benchmarks.peers import PEERS

FACTOR = {"s": 1.0, "ms": 1e3, "µs": 1e6}


def cells(report: Report) -> tuple[list[str], list[list[str]]]:
    """Header and rows as strings; a column appears when some row has a value for it."""
    shown = [row for row in report.rows if row.status != "declined"]
    columns: list[tuple[str, list[str]]] = [("peer", [row.peer for row in shown])]

    def add(title: str, values: Sequence[str]) -> None:
        if any(values):
            columns.append((title, list(values)))

    add("of", [row.part for row in shown])
    if report.unit:
        add(f"time ({report.unit})", [time_text(row.seconds, report.unit) for row in shown])
        add("ratio", [_ratio(row, report) for row in shown])
    add("objective", [_number(row.objective, ".12f") for row in shown])
    add("excess", [_number(row.excess, ".1e") for row in shown])
    add(
        "peak above data (MB)",
        [_number(None if row.memory is None else row.memory / 1e6, ",.1f") for row in shown],
    )
    add(
        "of the data", [_number(None if row.share is None else 100 * row.share, ".1f", " %") for row in shown]
    )
    for i, size in enumerate(("n/4", "n/2")):  # the time at n is the time column
        add(f"at {size}", [time_text(row.growth[i], "s") if row.growth else "" for row in shown])
    add("exponent", [_number(row.exponent, ".2f") for row in shown])
    add("notes", [_notes(row) for row in shown])
    return [title for title, _ in columns], [
        list(line) for line in zip(*(v for _, v in columns), strict=True)
    ]


def heading(report: Report) -> str:
    """The workload, and the data it was run on."""
    scale = "" if report.scale == 1.0 else f" · scale {report.scale:g}, not the size the goal is for"
    return f"{report.id} · {report.title}\n   data: {report.source}{scale}"


def closing(report: Report) -> str:
    """Who did not take part and why, then the goal and whether it is met."""
    reasons: dict[str, list[str]] = {}
    for row in report.rows:
        if row.status == "declined":
            reasons.setdefault(row.notes[0], []).append(row.peer)
    declined = "; ".join(f"{', '.join(peers)} ({reason})" for reason, peers in reasons.items())
    lines = [f"   not taking part: {declined}"] if declined else []
    return "\n".join([*lines, f"   goal: {report.goal} — {report.verdict}"])


def plain(report: Report) -> str:
    """The whole report as aligned text."""
    header, body = cells(report)
    widths = [max(len(line[i]) for line in [header, *body]) for i in range(len(header))]
    texts = [_aligned(header, widths), "  ".join("─" * width for width in widths)] if body else []
    texts += [_aligned(line, widths) for line in body]
    return "\n".join([heading(report), *("   " + text.rstrip() for text in texts), closing(report)])


def rich_table(report: Report) -> object:
    """The table as a rich renderable."""
    from rich import box
    from rich.table import Table

    header, body = cells(report)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in header:
        table.add_column(
            title, justify="left" if title in ("peer", "notes") else "right", no_wrap=title != "notes"
        )
    for line in body:
        table.add_row(*line, style="bold" if line[0] == SUBJECT else None)
    return table


def show(report: Report, *, as_plain: bool) -> None:
    """Print, with rich where it is installed and wanted."""
    try:
        from rich.console import Console
    except ImportError:
        as_plain = True
    if as_plain:
        print(plain(report), end="\n\n", flush=True)
        return
    console = Console()
    console.print(heading(report), style="bold", highlight=False, markup=False)
    if report.rows:
        console.print(rich_table(report))
    colour = {True: "green", False: "red", None: "yellow"}[report.met]
    console.print(closing(report), style=colour, highlight=False, markup=False)
    console.print()


def machine() -> dict[str, str]:
    """Where the figures were taken: only ratios within one run mean anything elsewhere."""
    found = {name: peer.version() for name, peer in PEERS.items() if peer.available()}
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load": f"{load():.2f}",
        **{f"{name} version": version for name, version in found.items() if version},
    }


def load() -> float:
    """Processes that were running in the last minute, ours included; 0 where the system does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def save(path: Path, reports: Sequence[Report], options: Options) -> None:
    """Write everything measured so far."""
    kept = {
        "machine": machine(),
        "options": asdict(options),
        "reports": [asdict(report) for report in reports],
    }
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def saved(path: Path) -> list[Report]:
    """The reports of a saved file."""
    reports = []
    for kept in json.loads(path.read_text(encoding="utf-8"))["reports"]:
        rows = []
        for row in kept.pop("rows"):
            fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
            rows.append(Row(**fields))
        reports.append(Report(rows=tuple(rows), **kept))
    return reports


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    """Names and notes to the left, numbers to the right."""
    left = (0, len(line) - 1)
    return "  ".join(
        t.ljust(w) if i in left else t.rjust(w) for i, (t, w) in enumerate(zip(line, widths, strict=True))
    )


def time_text(seconds: float | None, unit: str) -> str:
    """Four digits in the unit; the value is in seconds."""
    if seconds is None:
        return ""
    value = seconds * FACTOR[unit]
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if value >= 1e-3 else f"{value:.6f}"


def _ratio(row: Row, report: Report) -> str:
    if row.ratio is None:
        return ""
    if row.peer == SUBJECT:
        return f"{1 / row.ratio:.2f}× speed"
    return f"{row.ratio:.3g}" + (" (ref)" if row.peer == report.reference else "")


def _number(value: float | None, form: str, suffix: str = "") -> str:
    return "" if value is None else format(value, form) + suffix


def _notes(row: Row) -> str:
    return "; ".join(row.notes if row.status == "ok" else (row.status, *row.notes))


def _processor() -> str:
    """The processor's name, from the kernel where it tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
