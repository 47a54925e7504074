"""C2, one-row `predict_proba` of a fitted binary logistic: median over many calls, one call each in turn."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import judge
from benchmarks.model import LinearAnswer, Options, Report, Row, Workload
from benchmarks.participants import RIVAL_ERRORS, enlist, failure
from benchmarks.peers.base import EstimatorPeer

CALLS = 3_000
WARM_UP_CALLS = 50


def run(workload: Workload, options: Options, say: Callable[[str], None]) -> Report:
    """Fit every peer, then time single-row calls in turn."""
    assert workload.data is not None
    say("data")
    data = workload.data(options.scale)
    task = workload.task(data)
    runners, settled = enlist(workload, task, options)
    calls = max(100, round(CALLS * min(1.0, options.scale)))
    models: dict[str, Any] = {}
    rows: dict[str, Row] = {}
    one = data.X[:1].copy()
    for peer in runners:
        say(f"fit · {peer.name}")
        try:
            assert isinstance(peer, EstimatorPeer)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = peer.make(task).fit(data.X, data.y)
                for _ in range(WARM_UP_CALLS):
                    model.predict_proba(one)
            models[peer.name] = model
        except RIVAL_ERRORS as error:
            rows[peer.name] = failure(peer.name, error)
    say(f"{calls:,} calls each")
    times = _alternated({name: model.predict_proba for name, model in models.items()}, one, calls)
    for peer in runners:
        if peer.name in models:
            model = models[peer.name]
            answer = LinearAnswer(model.coef_, model.intercept_)
            objective = workload.score(answer, data, task) if workload.score else None
            notes = (peer.note,) if not peer.counts else ()
            seconds = float(np.median(times[peer.name]))
            rows[peer.name] = Row(peer.name, "ok", seconds, (), objective, counts=peer.counts, notes=notes)
    source = f"{data.source}, median of {calls:,} calls"
    return judge.report(workload, source, "µs", [rows[peer.name] for peer in runners] + settled, options)


def _alternated(calls: dict[str, Callable[[Any], Any]], one: np.ndarray, n: int) -> dict[str, np.ndarray]:
    """Seconds of n calls each, in turn, so that a slow spell falls on everyone."""
    times = {name: np.empty(n) for name in calls}
    clock = time.perf_counter
    for i in range(n):
        for name, call in calls.items():
            start = clock()
            call(one)
            times[name][i] = clock() - start
    return times
