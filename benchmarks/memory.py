"""Peak memory of a fit above the loaded data, in a fresh process per peer; and the workload M1.

In the child: load the data, fit once on a small slice (libraries, kernels, thread pools), hand freed memory
back, reset the kernel's high-water mark (write 5 to /proc/self/clear_refs), note the resident size, prepare
and fit, read the mark (VmHWM). Conversion to a rival's own format counts here: the user's memory holds it.
So does the fit that a prediction needs first: N1-predict weighs fit and predict together.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks import judge
from benchmarks.model import Options, Report, Row, Workload
from benchmarks.participants import enlist, failure

ROOT = Path(__file__).resolve().parents[1]
STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def run(workload: Workload, options: Options, say: Callable[[str], None]) -> Report:
    """M1: memory only, of the workloads that `workload.parts` names."""
    from benchmarks.workloads import WORKLOADS  # not above: it imports this module

    rows: list[Row] = []
    sizes = []
    for part in (WORKLOADS[id_] for id_ in workload.parts):
        assert part.data is not None
        say(f"data of {part.id}")
        data = part.data(options.scale)  # made here so that the children find it in the cache
        nbytes, task = data.nbytes, part.task(data)
        del data
        sizes.append(f"{part.id} {task.n:,}×{task.p:,}, {nbytes / 1e6:,.0f} MB")
        runners, settled = enlist(part, task, options)
        # Who declines a part, and why, is in that part's own table: nine peers times four would drown this one.
        rows += [replace(row, part=part.id) for row in settled if row.status != "declined"]
        for peer in runners:
            say(f"memory of {part.id} · {peer.name}")
            notes = (peer.note,) if not peer.counts else ()
            row = Row(peer.name, counts=peer.counts, notes=notes)
            rows.append(replace(measured(row, part, nbytes, options), part=part.id))
    return judge.report(workload, "; ".join(sizes), "", rows, options)


def measured(row: Row, workload: Workload, nbytes: int, options: Options) -> Row:
    """The row with its peak memory, or with the reason why there is none."""
    command = [sys.executable, "-m", "benchmarks.memory", workload.id, row.peer, repr(options.scale)]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    child = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    if child.returncode != 0:
        reason = (child.stderr.strip().splitlines() or [f"the process ended with {child.returncode}"])[-1]
        if row.seconds is None:
            return failure(row.peer, reason)
        return replace(row, notes=(*row.notes, f"memory not measured: {reason[:80]}"))
    above = json.loads(child.stdout.strip().splitlines()[-1])["above"]
    return replace(row, memory=above, share=above / nbytes)


def main(workload_id: str, peer_name: str, scale: str) -> None:
    """The child's work: print {"above": bytes}."""
    import warnings

    from benchmarks.peers import PEERS
    from benchmarks.race import warm_up, warm_up_rows
    from benchmarks.workloads import WORKLOADS

    warnings.simplefilter("ignore")
    workload, peer = WORKLOADS[workload_id], PEERS[peer_name]
    assert workload.data is not None
    data = workload.data(float(scale))
    task = workload.task(data)
    warm_up(peer, workload, data.head(warm_up_rows(task.n)))
    before = settle()
    peer.fit(*peer.prepare(data.X, data.y, task), task)
    print(json.dumps({"above": max(0, peak() - before)}))


def settle() -> int:
    """Give freed memory back, reset the high-water mark, and return the resident bytes."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        CLEAR.write_text("5")
    except (OSError, AttributeError):
        return peak()  # no reset here: the mark so far is the baseline, since loading makes no second copy
    return _status("VmRSS")


def peak() -> int:
    """Highest resident bytes since the reset (or since the start where there is none)."""
    if STATUS.exists():
        return _status("VmHWM")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _status(field: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{STATUS} has no {field}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
