"""Who takes part in a task: the named peers, less those that cannot, are absent, or would take too long."""

from __future__ import annotations

from benchmarks.model import Options, Row, Task, Workload
from benchmarks.peers import PEERS
from benchmarks.peers.base import Peer

# Whatever a rival raises is a result, not an accident of the run.
RIVAL_ERRORS = (Exception,)


def enlist(workload: Workload, task: Task, options: Options) -> tuple[list[Peer], list[Row]]:
    """The peers that will run, and the rows of those that will not, each with its reason."""
    runners: list[Peer] = []
    settled: list[Row] = []
    for name in options.peers:
        peer = PEERS[name]
        reason = peer.declines(task)
        if reason is not None:
            settled.append(Row(name, "declined", notes=(reason,)))
        elif not peer.available():
            settled.append(Row(name, "missing", notes=("not installed",)))
        elif (seconds := _too_slow(peer, workload, options)) is not None:
            settled.append(Row(name, "skipped", notes=(f"estimated at {seconds:.0f} s; name it in --peers",)))
        else:
            runners.append(peer)
    return runners, settled


def _too_slow(peer: Peer, workload: Workload, options: Options) -> float | None:
    """The seconds a peer is known to need, when they pass the limit and nobody asked for it by name."""
    seconds = peer.slow.get(workload.id, 0.0)
    if options.asked or not options.skip_slow or seconds <= options.slow_limit:
        return None
    return seconds


def failure(peer: str, error: BaseException | str) -> Row:
    """The row of a peer that raised: the first line of what it said."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    first = text.strip().splitlines()[0] if text.strip() else "no message"
    return Row(peer, "failed", notes=(first[:120],))
