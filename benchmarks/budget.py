"""`python -m benchmarks budget`: what a comparison under a budget is worth, idle and on a loaded machine.

    25 real tables × budgets 10, 60 and none × idle and with two busy loops beside it
    → winner, its score with the interval, models ranked, wall seconds; a line of JSON each, as soon as it is there

A file that holds some of the rows is gone on with. The last lines say on how many tables the winner at 60 seconds is
no worse than without a clock by more than its interval, and on how many idle and loaded agree.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import shared

LONGEST = 3600.0  # seconds, after which a comparison without a clock is ended
BUSY = 2  # loops beside a loaded comparison
# name: (file below the folder of shared data, target)
TABLES = {
    "iris": ("iris", None),
    "wine": ("wine", None),
    "german_credit": ("german_credit", "class"),
    "pima": ("pima", "class"),
    "sonar": ("sonar", "Class"),
    "ionosphere": ("ionosphere", "class"),
    "glass": ("glass", "Type"),
    "vehicle": ("vehicle", "Class"),
    "soybean": ("soybean", "class"),
    "car": ("car", "class"),
    "voting": ("voting", "Class"),
    "splice": ("splice", "Class"),
    "sick": ("sick", "Class"),
    "yeast": ("yeast", "target"),
    "phoneme": ("phoneme", "class"),
    "spambase": ("spambase", "class"),
    "mushrooms": ("mushrooms", "class"),
    "nursery": ("nursery", "class"),
    "optdigits": ("optdigits", "digit"),
    "adult": ("adult", None),
    "electricity": ("electricity", "class"),
    "krkopt": ("krkopt", "target"),
    "connect_4": ("connect_4", "target"),
    "lingspam": ("lingspam", "label"),
    "covtype": ("covtype", "Cover_Type"),
}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    make = argparse.ArgumentParser(prog="python -m benchmarks budget", description=__doc__.split("\n\n")[0])
    make.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)} (default: all)")
    make.add_argument("--budgets", default="10,60,0", metavar="A,B", help="seconds; 0 for no clock")
    make.add_argument("--machines", default="idle,loaded", metavar="A,B", help="idle, loaded, or both")
    make.add_argument(
        "--save", type=Path, default=Path("out/budget.jsonl"), metavar="FILE", help="a line a row"
    )
    make.add_argument("--show", action="store_true", help="print what the file holds and stop")
    return make


def main(argv: Sequence[str]) -> int:
    """Run what the file does not hold yet; 0 when done, 2 when the request could not be understood."""
    asked = parser().parse_args(argv)
    names = asked.tables or list(TABLES)
    machines = asked.machines.split(",")
    strange = [name for name in names if name not in TABLES] or [
        m for m in machines if m not in ("idle", "loaded")
    ]
    if strange:
        print(
            f"benchmarks: {strange[0]!r} is unknown; there are {', '.join(TABLES)}; idle, loaded",
            file=sys.stderr,
        )
        return 2
    held = rows_of(asked.save)
    if not asked.show:
        asked.save.parent.mkdir(parents=True, exist_ok=True)
        for name in names:
            for budget in map(float, asked.budgets.split(",")):
                for machine in machines:
                    if not any(same(row, name, budget, machine) for row in held):
                        row = measured(name, budget, machine)
                        held.append(row)
                        with asked.save.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(row) + "\n")
                        print(line(row), flush=True)
    print("\n".join([line(row) for row in held] if asked.show else []))
    print("\n".join(summary(held)))
    return 0


def same(row: dict[str, Any], name: str, budget: float, machine: str) -> bool:
    return bool((row["table"], row["budget"], row["machine"]) == (name, budget, machine))


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; none where it is not there."""
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines() if text.strip()]


def file_of(name: str) -> Path:
    """The table's file in the folder of shared data."""
    return shared.path(TABLES[name][0])


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Loops that never end beside the block."""
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in beside:
            process.kill()
            process.wait()


def measured(name: str, budget: float, machine: str) -> dict[str, Any]:
    """One comparison in a process of its own, by the command line, the report among its work."""
    source, target = file_of(name), TABLES[name][1]
    with tempfile.TemporaryDirectory() as place, busy(BUSY if machine == "loaded" else 0):
        command = [sys.executable, "-m", "separatrix", "compare", str(source), "--out", place, "--quiet"]
        command += ["--target", target] if target else []
        command += ["--budget", f"{budget:g}"] if budget else ["--exhaustive"]
        row: dict[str, Any] = {"table": name, "budget": budget, "machine": machine}
        began = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
        except subprocess.TimeoutExpired:
            return row | {"wall": LONGEST, "code": None, "said": "ended"}
        row |= {"wall": time.perf_counter() - began, "code": done.returncode, "said": done.stderr[-300:]}
        found = Path(place, "comparison.json")
        if found.exists():
            made = json.loads(found.read_text(encoding="utf-8"))
            best, metric = made["ranking"][0], made["metric"]
            row |= {"best": best["model"], "metric": metric, **best["scores"][metric]}
            row |= {"accuracy": best["scores"]["accuracy"]["mean"], "ranked": len(made["ranking"])}
            row |= {"judged_on": made["judged_on"][best["model"]]}
        return row


def line(row: dict[str, Any]) -> str:
    """A row in words."""
    limit = f"{row['budget']:g} s" if row["budget"] else "no clock"
    head = f"{row['table']:14} {limit:>8} {row['machine']:6} {row['wall']:7.1f} s"
    if "best" not in row:
        return f"{head}  exit {row['code']}: {row['said'].strip()[:60]}"
    own = row["judged_on"]
    seen = f"{own['folds']} folds, {own['trained']:,} of {own['of_trained']:,} rows"
    score = f"{row['mean']:.4f} ({row['low'] or 0:.4f} to {row['high'] or 0:.4f})"
    return f"{head}  {row['best']:15} {score}, right {row['accuracy']:.3f}, {row['ranked']} ranked, {seen}"


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """What the table is for."""
    at = {(r["table"], r["budget"], r["machine"]): r for r in rows if "best" in r}
    pairs = [(at[n, 60.0, m], at[n, 0.0, "idle"]) for n in TABLES for m in ("idle", "loaded")
             if (n, 60.0, m) in at and (n, 0.0, "idle") in at]  # fmt: skip
    worse = [r["table"] for r, whole in pairs if r["mean"] - whole["mean"] > width(whole, r)]
    both = [(at[n, 60.0, "idle"], at[n, 60.0, "loaded"]) for n in TABLES
            if (n, 60.0, "idle") in at and (n, 60.0, "loaded") in at]  # fmt: skip
    agree = sum(a["best"] == b["best"] for a, b in both)
    scores = sum(a["best"] == b["best"] and abs(a["mean"] - b["mean"]) < 1e-12 for a, b in both)
    late = [f"{r['table']} {r['budget']:g} {r['machine']}" for r in rows
            if r["budget"] and r["wall"] > 1.15 * r["budget"] + 5]  # fmt: skip
    return [
        f"worse at 60 s than without a clock by more than the interval: {len(worse)} of {len(pairs)} {worse}",
        f"the same winner at 60 s idle and loaded: {agree} of {len(both)}, and the same score: {scores}",
        f"later than 1.15 × budget + 5 s: {len(late)} of {sum(bool(r['budget']) for r in rows)} {late}",
    ]


def width(*rows: dict[str, Any]) -> float:
    """The wider half of their intervals."""
    return max((r["high"] - r["low"]) / 2 if r["low"] is not None else 0.0 for r in rows)
