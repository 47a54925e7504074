"""`python -m benchmarks`: read the command line, run the workloads, print and save the tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import report
from benchmarks.model import SUBJECT, Options, Report, Row
from benchmarks.peers import PEERS
from benchmarks.progress import Progress
from benchmarks.workloads import WORKLOADS

BUSY = 0.5  # a load above this before the race starts is somebody else's


def parser() -> argparse.ArgumentParser:
    """The command line."""
    make = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="The race of separatrix and its peers; `real` is the race on real tables, `budget` comparisons.",
    )
    make.add_argument(
        "workloads", nargs="*", metavar="ID", help="workloads to run (default: all; N1: all N1-…); see --list"
    )
    make.add_argument(
        "--peers", metavar="A,B", help="only these peers beside separatrix; none is skipped as slow"
    )
    make.add_argument("--peers-only", action="store_true", help="leave separatrix out")
    make.add_argument("--repeat", type=_positive(int), default=3, help="rounds; the best counts (default 3)")
    make.add_argument(
        "--scale", type=_positive(float), default=1.0, help="share of the rows, e.g. 0.1 (default 1)"
    )
    make.add_argument("--memory", action="store_true", help="also measure peak memory, one process per peer")
    make.add_argument("--skip-slow", action=argparse.BooleanOptionalAction, default=True,
                      help="skip peers known to be slow on a workload (default)")  # fmt: skip
    make.add_argument(
        "--slow-limit", type=_positive(float), default=60.0, help="seconds that count as slow (60)"
    )
    make.add_argument("--python", metavar="PATH", help="measure C1-all in this interpreter's environment")
    make.add_argument("--save", type=Path, metavar="FILE", help="keep the results as JSON")
    make.add_argument("--show", type=Path, metavar="FILE", help="print a saved file again and stop")
    make.add_argument(
        "--plain", action="store_true", help="plain text tables (always so when not on a terminal)"
    )
    make.add_argument("--list", action="store_true", help="list workloads and peers and stop")
    return make


def main(argv: Sequence[str] | None = None) -> int:
    """Run; 0 when done, 2 when the request could not be understood, 130 when interrupted."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv[:1] == ["real"]:
        from benchmarks.real import command

        return command.main(argv[1:])
    if argv[:1] == ["budget"]:
        from benchmarks import budget

        return budget.main(argv[1:])
    request = parser().parse_args(argv)
    as_plain = request.plain or not sys.stdout.isatty()
    if request.list:
        print(listing())
        return 0
    try:
        if request.show:
            for each in report.saved(request.show):
                report.show(each, as_plain=as_plain)
            return 0
        ids = _known(_whole(request.workloads), WORKLOADS, "workload") or list(WORKLOADS)
        named = _known(request.peers.split(","), PEERS, "peer") if request.peers else []
        if request.python and not Path(request.python).is_file():
            raise ValueError(f"there is no interpreter at --python {request.python}")
        if request.save and not request.save.resolve().parent.is_dir():
            raise ValueError(f"the folder of --save {request.save} does not exist")
    except (ValueError, OSError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    rivals = [name for name in (named or PEERS) if name != SUBJECT]
    options = Options(
        peers=tuple(rivals if request.peers_only else [SUBJECT, *rivals]),
        asked=bool(named),
        repeat=request.repeat,
        scale=request.scale,
        memory=request.memory,
        skip_slow=request.skip_slow,
        slow_limit=request.slow_limit,
        python=request.python,
    )
    return _run(ids, options, request.save, as_plain=as_plain)


def run(ids: Sequence[str], options: Options) -> list[Report]:
    """The same from Python: the reports of these workloads."""
    return [WORKLOADS[id_].run(WORKLOADS[id_], options, lambda text: None) for id_ in _whole(ids)]


def listing() -> str:
    """Workloads with goals, peers with versions."""
    lines = ["workloads"]
    width = max(map(len, WORKLOADS))
    lines += [f"  {w.id:<{width}}  {w.title} — goal: {w.goal.text}" for w in WORKLOADS.values()]
    lines.append("peers")
    for name, peer in PEERS.items():
        state = (peer.version() or "installed") if peer.available() else "not installed"
        kinds = ", ".join(sorted(kind.replace("_", " ") for kind in peer.kinds)) or "nothing yet"
        lines.append(f"  {name:<15} {peer.distribution} {state}; takes part in: {kinds}")
    return "\n".join(lines)


def _run(ids: Sequence[str], options: Options, save: Path | None, *, as_plain: bool) -> int:
    """Run one workload after another; what is finished is printed and saved at once."""
    where = report.machine()
    print(f"{where['processor']}, {where['cores']} cores, Python {where['python']}; best of {options.repeat}")
    if report.load() > BUSY:
        print(f"warning: other work is running (load {where['load']}); these times will mislead")
    print("only ratios within one run mean anything\n", flush=True)
    reports: list[Report] = []
    for id_ in ids:
        workload = WORKLOADS[id_]
        try:
            with Progress(id_) as say:
                reports.append(workload.run(workload, options, say))
        except KeyboardInterrupt:
            print("benchmarks: interrupted; the workloads above are complete", file=sys.stderr)
            return 130
        report.show(reports[-1], as_plain=as_plain)
        if save:
            report.save(save, reports, options)
    print("\n".join(summary(reports)))
    return 0


def summary(reports: Sequence[Report]) -> list[str]:
    """One line per workload: goal and outcome."""
    width = max((len(each.id) for each in reports), default=0)
    return [
        f"{each.id:<{width}} goal: {each.goal} — {each.verdict}{_times(each.rows, each.unit)}"
        for each in reports
    ]


def _times(rows: Sequence[Row], unit: str) -> str:
    """separatrix's own time, for the summary."""
    own = next((row.seconds for row in rows if row.peer == SUBJECT and row.seconds is not None), None)
    if any(row.part for row in rows if row.peer == SUBJECT and row.seconds == own):  # one of many
        return ""
    return "" if own is None or not unit else f" ({report.time_text(own, unit)} {unit})"


def _whole(names: Sequence[str]) -> list[str]:
    """The ids, with N1-fit and N1-predict for N1; C1 is one itself."""
    parts = {name: [id_ for id_ in WORKLOADS if id_.partition("-")[0] == name] for name in names}
    return [id_ for name in parts for id_ in ([name] if name in WORKLOADS else parts[name] or [name])]


def _known(names: Sequence[str], known: dict, what: str) -> list[str]:
    """The names, in order and without repetition, or one sentence about those nobody knows."""
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"unknown {what} {', '.join(map(repr, unknown))}; there are {', '.join(known)}")
    return wanted


def _positive(kind: type) -> type:
    """An argparse type: a number above zero."""

    def convert(text: str) -> float:
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text} is not above zero")
        return value

    convert.__name__ = f"positive {kind.__name__}"
    return convert  # type: ignore[return-value]


if __name__ == "__main__":
    sys.exit(main())
