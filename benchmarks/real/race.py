"""A row of the real race:  a process for each peer, asked in turn A, B, C, A, B, C, …, the best of the rounds.

A process that says nothing for longer than the limit is ended, and its peer counts with the limit; so is one that is
so many times as slow as separatrix as the patience says. Rounds by the
first call: nine below a tenth of a second, five below one, three below five, else two; one where it took more than
OFTEN_ENOUGH or is out of the running.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.model import SUBJECT
from benchmarks.real import models
from benchmarks.real.judgement import Outcome, Result
from benchmarks.real.rows import Entry

ROOT = Path(__file__).resolve().parents[2]
LOADING = 300.0  # seconds for reading a table, which is nobody's fault
ROUNDS = ((0.1, 9), (1.0, 5), (5.0, 3))
OWN = 5.0  # times the limit: how long separatrix itself is waited for, since its time is what is wanted
PATIENT = 5.0  # seconds for which a peer is waited for, however quick separatrix is
OFTEN_ENOUGH = 20.0  # seconds of a call that is made once
BEYOND = 3.0  # times as slow as the fastest: of a long call one round is enough


class TooLong(Exception):
    """A process said nothing within its time."""


class Failed(Exception):
    """A process ended, or said why it could not go on."""


@dataclass(frozen=True)
class Terms:
    """How a row is run: how many seconds a fit may take, how many times separatrix's, and how many rounds at most."""

    limit: float = 60.0
    patience: float = 20.0
    rounds: int = 9
    quick: bool = False


@dataclass
class Runner:
    """A peer's process and what it has told."""

    peer: str
    entry: Entry
    terms: Terms
    first: float = float("inf")  # seconds of separatrix's first fit, once known
    told: dict[str, Any] = field(default_factory=dict)
    runs: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    status: str = "ok"
    note: str = ""
    ended: bool = False

    def start(self) -> None:
        """Start the process; a thread of ours reads its lines."""
        request = json.dumps({"entry": asdict(self.entry), "peer": self.peer, "quick": self.terms.quick})
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.real.child", request],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": _absolute(path)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def hear(self, seconds: float) -> dict[str, Any]:
        """The next line."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise TooLong from None
        found: dict[str, Any] = json.loads(line) if line else {"failed": "its process ended"}
        if "failed" in found:
            raise Failed(found["failed"])
        self.told |= found
        return found

    def ready(self) -> None:
        """Wait until the table is read and, twice the limit, for the warm-up and the peer's own format."""
        if self.hear(LOADING)["declines"]:
            self.status, self.note = "declined", self.told["declines"]
        else:
            self.hear(2 * self.terms.limit)

    def fit(self) -> None:
        """One round; the first is followed by the score."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        first = not self.runs
        found = self.hear(self.waited_for)
        self.runs.append(found["seconds"])
        self.cpu.append(found["cpu"])
        if first:
            self.hear(LOADING)

    @property
    def waited_for(self) -> float:
        """Seconds that a fit may take: of separatrix OWN times the limit, of a peer no longer than is of use."""
        if self.peer == SUBJECT:
            return OWN * self.terms.limit
        return min(self.terms.limit, max(PATIENT, self.terms.patience * self.first))

    def guarded(self, step: Callable[[], None]) -> None:
        """Take a step unless the peer is out."""
        if self.status != "ok":
            return
        try:
            step()
        except TooLong:
            self.end()
            if self.runs:  # it has a time: a slow spell of the machine takes nothing of it away
                self.note = f"a later round was ended after {self.waited_for:.3g} s"
            else:
                self.status, self.runs = "over", [self.waited_for]
                self.note = "" if "ready" in self.told else "before its first fit"  # twice the limit, that is
        except (Failed, OSError) as error:
            self.status, self.note = "failed", str(error)
        if self.status != "ok":
            self.end()

    def end(self) -> None:
        """End the process."""
        self.ended = True
        self.process.kill()
        self.process.wait()

    def result(self) -> Result:
        """What came of it."""
        told = self.told
        return Result(
            self.peer, self.status, tuple(self.runs), tuple(self.cpu), told.get("objective"), told.get("slack", 0.0),
            told.get("memory"), told.get("sweeps"), bool(told.get("unfinished")), self.note, told.get("own"),
        )  # fmt: skip


def run(entry: Entry, peers: Sequence[str], terms: Terms, say: Callable[[str], None]) -> Outcome:
    """Race the peers on one row."""
    model = models.MODELS[entry.model]
    able = [peer for peer in peers if peer in model.libraries or peer in model.native]
    missing = [Result(peer, "missing", note="not installed") for peer in able if not models.available(peer)]
    runners = [Runner(peer, entry, terms) for peer in able if models.available(peer)]
    try:
        say("reading the table")
        for runner in runners[:1]:  # the others find it in the cache
            runner.start()
            runner.guarded(runner.ready)
        for runner in runners[1:]:
            runner.start()
        for runner in runners[1:]:
            say(f"warm-up · {runner.peer}")
            runner.guarded(runner.ready)
        turn = 0
        while any([_turn(runner, runners, turn, say) for runner in runners]):
            turn += 1
    finally:
        for runner in runners:
            if hasattr(runner, "process"):
                runner.end()
    told = next((runner.told for runner in runners if "source" in runner.told), {})
    results = (*(runner.result() for runner in runners), *missing)
    return Outcome(
        entry.id, entry.title, told.get("source", ""), results, told.get("nbytes", 0), asdict(entry)
    )


def _turn(runner: Runner, runners: Sequence[Runner], turn: int, say: Callable[[str], None]) -> bool:
    """A round of one peer, unless it has had enough of them."""
    if runner.ended or turn >= min(_rounds(runner, runners), runner.terms.rounds):
        return False
    say(f"round {turn + 1} · {runner.peer}")
    runner.guarded(runner.fit)
    if runner.peer == SUBJECT and turn == 0 and runner.runs and runner.status == "ok":
        for other in runners:
            other.first = runner.runs[0]
    return True


def _rounds(runner: Runner, runners: Sequence[Runner]) -> int:
    if not runner.runs:
        return 1
    best = min(runner.runs)
    for seconds, rounds in ROUNDS:
        if best < seconds:
            return rounds
    fastest = min(min(other.runs, default=best) for other in runners)
    hopeless = runner.peer != SUBJECT and best > BEYOND * fastest
    return 1 if best > OFTEN_ENOUGH or hopeless else 2


def _absolute(path: str) -> str:
    """A search path that holds wherever the process is started."""
    return os.pathsep.join(os.path.abspath(part) for part in path.split(os.pathsep))
