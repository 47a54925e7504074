"""One peer in a process of its own:  load, warm up, then a fit for every line that comes in.

    python -m benchmarks.real.child '{"entry": {…}, "peer": "sklearn", "quick": false}'

It writes a line of JSON when it is ready, and after each fit; what libraries print goes elsewhere. The first fit is
weighed as in memory.py: what was freed is handed back, the high-water mark reset before the peer's own format is
made, and read after the fit. The answer of the first fit is the one that is scored, outside the clock.

A peer's first fit, and every other one, has BLAS on one thread: on a busy machine OpenBLAS's threads wait for each
other, and a call of 0.1 s takes 4. So everybody is seen at their best; separatrix has to see to its threads itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TextIO

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks import memory
from benchmarks.model import SUBJECT
from benchmarks.race import warm_up_rows
from benchmarks.real import models, tables
from benchmarks.real.rows import Entry

QUICK = 0.1  # of the rows
LEAST = 500  # rows, however quick
HELD_OUT = 10_000


def problem(entry: Entry, *, quick: bool = False) -> models.Problem:
    """The row's data in the row's form; rows that no fit sees beside them where the score needs them."""
    X, y, source = tables.read(entry.table)
    by_errors = models.MODELS[entry.model].score == "held_out" or (
        entry.model == "LDA" and X.shape[1] > 1_000
    )
    total = len(y)
    n = min(entry.rows or total, total - total // 5 if by_errors else total)
    if quick:
        n = min(n, max(LEAST, round(n * QUICK)))
    n_all = min(total, n + HELD_OUT) if by_errors else n
    X, y = _formed(X[:n_all] if sp.issparse(X) else np.array(X[:n_all]), entry), y[:n_all]
    if y.dtype.kind == "f":
        codes = labels = (y - y.mean()) / y.std()  # ε = 0.1 means a tenth of a standard deviation
    else:
        seen = np.unique(y[:n])
        codes = np.searchsorted(seen, y)
        known = np.isin(y, seen)
        X, codes = X[known] if not known.all() else X, codes[known]
        names = np.array([f"class {k:02d}" for k in range(len(seen))])
        labels = names[codes] if entry.strings else codes
    shape = f"{n:,}×{X.shape[1]:,}{' CSR' if sp.issparse(X) else ''}"
    held_out = (_stored(X[n:], entry), labels[n:]) if by_errors else None
    return models.Problem(
        _stored(X[:n], entry), labels[:n], codes[:n], f"{source}, {shape}", held_out, by_errors
    )


def _formed(X: Any, entry: Entry) -> Any:
    """The table in the row's form, all rows; forms of dense tables leave a CSR as it is."""
    sparse = sp.issparse(X)
    match entry.form:
        case "standardised":
            return tables.standardised(X)
        case "one-hot":
            return X if sparse else tables.one_hot(X)
        case "unit":
            return X / float(X.max())
        case "codes":
            return X if sparse else tables.codes(X)
        case "unsorted":
            return tables.unsorted(X) if sparse else X
        case _:
            return X


def _stored(X: Any, entry: Entry) -> Any:
    """In the row's order and dtype. CSR knows no order, and a slice of unsorted rows stays unsorted."""
    if sp.issparse(X):
        X = X.astype(entry.dtype)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        if entry.form == "unsorted":
            X.has_sorted_indices = False
        return X
    return np.array(X, dtype=entry.dtype, order=entry.order)  # type: ignore[call-overload]


def serve(request: dict[str, Any], lines: TextIO, out: TextIO) -> None:
    """Ready, then a fit for every line."""

    def tell(**found: Any) -> None:
        print(json.dumps(found), file=out, flush=True)

    entry, peer = Entry(**request["entry"]), request["peer"]
    data = problem(entry, quick=request["quick"])
    reason = models.declines(peer, entry, data)
    tell(source=data.source, nbytes=_nbytes(data.X), declines=reason)
    if reason is not None:
        return
    n = len(data.codes)
    with warnings.catch_warnings(record=True):  # "ignore" is undone by libraries that set filters on import
        warm_up = models.prepared(peer, entry, data.head(warm_up_rows(n)))
        with _threads(peer, 0):
            warm_up()
    if peer == SUBJECT:  # which loops are called depends on the rows; rivals bring their compiled code on import
        _call_a_loop()
    before = memory.settle()
    call = models.prepared(peer, entry, data)
    tell(ready=True)
    for turn, _ in enumerate(lines):
        with _threads(peer, turn):
            answer, found = _timed(call)
        if turn == 0:
            found["memory"] = max(0, memory.peak() - before)
            found["sweeps"] = models.sweeps(answer)
        tell(**found)
        if turn == 0:
            value, slack = models.score(answer, entry, data)
            tell(objective=value, slack=slack, own=models.penalised(peer, answer, entry, value, n))


def _call_a_loop() -> None:
    from separatrix.loops import sparse

    sparse.column_sums(np.ones(1), np.zeros(1, dtype=np.int32), np.empty(0), np.zeros((1, 2)))


def _threads(peer: str, turn: int) -> AbstractContextManager[Any]:
    """The limit of a turn: none for separatrix."""
    return nullcontext() if peer == SUBJECT or turn % 2 else threadpool_limits(1, user_api="blas")


def _timed(call: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """The answer; its seconds by the wall and by the processors, and whether it was said not to be one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start, cpu = time.perf_counter(), time.process_time()
        answer = call()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    unfinished = any("Convergence" in warning.category.__name__ for warning in caught)
    return answer, {"seconds": seconds, "cpu": cpu, "unfinished": unfinished}


def _nbytes(X: Any) -> int:
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


def main() -> None:
    """The lines go to the first output; whatever a library prints, to the second."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = json.loads(sys.argv[1])
    try:
        serve(request, sys.stdin, out)
    except Exception as error:  # whatever a peer raises is a result
        first = (str(error).strip().splitlines() or ["no message"])[0]
        print(json.dumps({"failed": f"{type(error).__name__}: {first}"[:120]}), file=out, flush=True)


if __name__ == "__main__":
    main()
