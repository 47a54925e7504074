"""`python -m benchmarks real`: read the command line, race the rows, print and keep the table."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import report, shared
from benchmarks.model import SUBJECT
from benchmarks.progress import Progress
from benchmarks.real import judgement, models, race
from benchmarks.real.judgement import Outcome, Result
from benchmarks.real.rows import ROWS, Entry, forms


def parser() -> argparse.ArgumentParser:
    """The command line."""
    make = argparse.ArgumentParser(
        prog="python -m benchmarks real", description="The race of separatrix and its peers on real tables."
    )
    make.add_argument("rows", nargs="*", metavar="ID", help=f"rows to run (default: all, Q1 to Q{len(ROWS)})")
    make.add_argument("--peers", metavar="A,B", help="only these peers beside separatrix")
    make.add_argument("--forms", action="store_true", help="each row in every order, dtype and kind of label")
    make.add_argument("--quick", action="store_true", help="a tenth of the rows, at least 500")
    make.add_argument(
        "--limit", type=float, default=60.0, metavar="SECONDS", help="end a peer's fit after (60)"
    )
    make.add_argument(
        "--patience",
        type=float,
        default=20.0,
        metavar="TIMES",
        help="or after so many times separatrix's (20)",
    )
    make.add_argument(
        "--rounds", type=int, default=9, help="rounds at most; short calls have more of them (9)"
    )
    make.add_argument("--save", type=Path, metavar="FILE", help="keep the results as JSON")
    make.add_argument("--show", type=Path, metavar="FILE", help="print a saved file again and stop")
    make.add_argument("--list", action="store_true", help="list the rows and stop")
    return make


def main(argv: Sequence[str]) -> int:
    """Run; 0 when done, 2 when the request could not be understood, 130 when interrupted."""
    request = parser().parse_args(argv)
    if request.list:
        print("\n".join(f"{entry.id:<4} {entry.title}" for entry in ROWS.values()))
        return 0
    try:
        if request.show:
            _print(saved(request.show))
            return 0
        entries = [ROWS[id_] for id_ in _known(request.rows, ROWS, "row") or ROWS]
        named = _known((request.peers or "").split(","), models.RACERS, "peer")
        if request.save and not request.save.resolve().parent.is_dir():
            raise ValueError(f"the folder of --save {request.save} does not exist")
        for name in ("limit", "patience", "rounds"):
            if not getattr(request, name) > 0:
                raise ValueError(f"--{name} {getattr(request, name):g} is not above zero")
    except (ValueError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    peers = list(dict.fromkeys([SUBJECT, *(named or models.RACERS)]))
    if request.forms:
        entries = [form for entry in entries for form in forms(entry)]
    return _race(entries, peers, request)


def _race(entries: Sequence[Entry], peers: Sequence[str], request: argparse.Namespace) -> int:
    where = report.machine()
    print(f"{where['processor']}, {where['cores']} cores, Python {where['python']}, load {where['load']}")
    if not shared.available():
        print(f"no shared data at {shared.root()}: scikit-learn's own tables stand in, and are named")
    print("only ratios within one run mean anything\n", flush=True)
    terms = race.Terms(request.limit, request.patience, request.rounds, request.quick)
    outcomes: list[Outcome] = []
    for entry in entries:
        try:
            with Progress(entry.id) as say:
                outcomes.append(race.run(entry, peers, terms, say))
        except KeyboardInterrupt:
            print("benchmarks: interrupted; the rows above are complete", file=sys.stderr)
            return 130
        first = [judgement.HEADER] if len(outcomes) == 1 else []
        print("\n".join([*first, *judgement.lines(outcomes[-1])]), flush=True)
        if request.save:
            save(request.save, outcomes)
    print("\n" + "\n".join(judgement.summary(outcomes)))
    return 0


def save(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write everything measured so far."""
    kept = {"machine": report.machine(), "rows": [asdict(each) for each in outcomes]}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def saved(path: Path) -> list[Outcome]:
    """The rows of a saved file."""
    outcomes = []
    for kept in json.loads(path.read_text(encoding="utf-8"))["rows"]:
        results = []
        for each in kept.pop("results"):
            results.append(Result(**{k: tuple(v) if isinstance(v, list) else v for k, v in each.items()}))
        outcomes.append(Outcome(results=tuple(results), **kept))
    return outcomes


def _print(outcomes: Sequence[Outcome]) -> None:
    print("\n".join([*judgement.table(outcomes), "", *judgement.summary(outcomes)]))


def _known(names: Sequence[str], known: Sequence[str] | dict, what: str) -> list[str]:
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"unknown {what} {', '.join(map(repr, unknown))}; there are {', '.join(known)}")
    return wanted
