"""C1, cold start: in a new interpreter, import the library and fit iris; best of N alternated processes.

The clock starts before the import and stops after the fit, inside the process, so the interpreter's own start
(equal for all, and flattering to the slower) is left out. A first process per peer fills the kernel cache and
the file cache and is not counted.

Below the fits stand imports alone: of the package, and of one class of it, against scikit-learn's class.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import datasets, judge
from benchmarks.model import SUBJECT, Dataset, LinearAnswer, Options, Report, Row, Workload
from benchmarks.participants import enlist, failure

SCRIPT = """
import time
start = time.perf_counter()
{binding}
import numpy as np
X, y = np.load({X!r}), np.load({y!r})
model = Model().fit(X, y)
seconds = time.perf_counter() - start
import json
print(json.dumps([seconds, np.asarray(model.coef_).tolist(), np.asarray(model.intercept_).tolist()]))
"""

IMPORT = """
import time
start = time.perf_counter()
{line}
print([time.perf_counter() - start])
"""

# peer and line; scikit-learn's is what the others are measured by
IMPORTS = (
    (SUBJECT, "import separatrix"),
    (SUBJECT, "from separatrix import LogisticRegression"),
    ("sklearn", "from sklearn.linear_model import LogisticRegression"),
)


def run(workload: Workload, options: Options, say: Callable[[str], None]) -> Report:
    """Alternate fresh processes over the peers."""
    data = datasets.iris()
    task = workload.task(data)
    runners, rows = enlist(workload, task, options)
    rounds = max(options.repeat, 5) if options.scale == 1.0 else options.repeat
    times: dict[str, list[float]] = {peer.name: [] for peer in runners}
    answers: dict[str, LinearAnswer] = {}
    failed: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as place:
        files = _stored(data, Path(place))
        for turn in range(rounds + 1):
            for peer in runners:
                if peer.name in failed:
                    continue
                say(f"process {turn}/{rounds} · {peer.name}" if turn else f"warm-up · {peer.name}")
                outcome = _process(SCRIPT.format(binding=peer.cold_start, **files))
                if isinstance(outcome, str):
                    failed[peer.name] = failure(peer.name, outcome)
                elif turn:
                    times[peer.name].append(outcome[0])
                    answers[peer.name] = LinearAnswer(np.array(outcome[1]), np.array(outcome[2]))
    measured = []
    for peer in runners:
        if peer.name in failed:
            measured.append(failed[peer.name])
            continue
        objective = workload.score(answers[peer.name], data, task) if workload.score else None
        notes = (peer.note,) if not peer.counts else ()
        runs = tuple(times[peer.name])
        measured.append(Row(peer.name, "ok", min(runs), runs, objective, counts=peer.counts, notes=notes))
    source = f"{data.source}, best of {rounds} processes"
    judged = judge.report(
        workload, source, "ms", measured + rows, replace(options, scale=1.0)
    )  # iris has one size
    return replace(judged, rows=judged.rows + _imports([peer.name for peer in runners], rounds, say))


def _imports(peers: Sequence[str], rounds: int, say: Callable[[str], None]) -> tuple[Row, ...]:
    """Rows of imports without a fit, of those who take part; the verdict is not about them."""
    lines = [(peer, line) for peer, line in IMPORTS if peer in peers]
    times: dict[str, list[float]] = {line: [] for _, line in lines}
    failed: dict[str, Row] = {}
    for turn in range(rounds + 1):
        for peer, line in lines:
            say(f"{line} · {turn}/{rounds}")
            outcome = None if line in failed else _process(IMPORT.format(line=line))
            if isinstance(outcome, str):
                failed[line] = failure(peer, outcome)
            elif turn and outcome:
                times[line].append(outcome[0])
    standard = next((min(times[line]) for peer, line in lines if peer != SUBJECT and times[line]), None)
    rows = []
    for peer, line in lines:
        best = min(times[line], default=np.nan)
        row = failed.get(line) or Row(peer, seconds=best, runs=tuple(times[line]))
        ratio = None if line in failed or standard is None else best / standard
        rows.append(replace(row, part=line, ratio=ratio))
    return tuple(rows)


def _stored(data: Dataset, place: Path) -> dict[str, str]:
    """Iris as two .npy files: reading it through a library would time that library."""
    np.save(place / "X.npy", data.X)
    np.save(place / "y.npy", data.y)
    return {"X": str(place / "X.npy"), "y": str(place / "y.npy")}


def _as_installed() -> dict[str, str]:
    """This environment, with bytecode kept: rivals were installed with theirs, so ours is written too."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _process(script: str) -> list | str:
    """[seconds, coef, intercept] as the process printed them, or its last line of complaint."""
    command = [sys.executable, "-c", script]
    child = subprocess.run(command, env=_as_installed(), capture_output=True, text=True, check=False)
    if child.returncode != 0:
        return (child.stderr.strip().splitlines() or [f"the process ended with {child.returncode}"])[-1]
    return json.loads(child.stdout.strip().splitlines()[-1])
