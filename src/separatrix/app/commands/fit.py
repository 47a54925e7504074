"""``separatrix fit``: one model, all rows, its verdict, a file (row O4)."""

from __future__ import annotations

import shlex
import time
import warnings
from pathlib import Path
from typing import Any

from separatrix.app.commands.compare import stem
from separatrix.app.errors import OK
from separatrix.app.given import settings_of, table_of
from separatrix.app.kept import SUFFIX, keep
from separatrix.app.models import MODELS, made, named
from separatrix.app.outputs import folder
from separatrix.app.say import Say


def run(
    model: str,
    data: str,
    target: str | None,
    setting: list[str],
    out: str | None,
    kinds: list[str],
    header: bool | None,
    delimiter: str | None,
    seed: int,
    say: Say,
) -> int:
    from sklearn.pipeline import Pipeline

    from separatrix.tables.encode import TableEncoder

    name = named(model)
    inner = made(name, settings_of(setting), seed)
    path = Path(out) if out else Path("out", stem(data), f"{name}{SUFFIX}")
    table = table_of(data, target, kinds, say, header=header, delimiter=delimiter)
    encoder = TableEncoder(form=MODELS[name].form, kinds=dict(table.kinds))
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = Pipeline([("columns", encoder), ("model", inner)]).fit(table.frame, table.labels)
    seconds = time.perf_counter() - began
    say.note(f"what {name} sees", "bold")
    say.notes(encoder.describe())
    verdict = getattr(inner, "verdict_", None)
    told = str(verdict or "")
    said = list(dict.fromkeys(" ".join(str(w.message).split()) for w in caught))
    for line in [line for line in said if line not in " ".join(told.split())]:
        say.alert("warning", line)
    right = float((fitted.predict(table.frame) == table.labels).mean())
    folder(path.parent)
    keep(fitted, table, path, f"{name} on {stem(data)}; target {table.target}")
    say.result(told or f"{type(inner).__name__}: fitted in {seconds:.2f} s")
    say.note(
        f"right on {right:.1%} of the {len(table):,} rows it was fitted to (on new rows less: see compare)"
    )
    say.note(f"written: {path}", "bold")
    say.note(f"next: separatrix predict {shlex.quote(str(path))} {shlex.quote(data)} --proba")
    say.data(
        {
            "model": name,
            "class": type(inner).__name__,
            "settings": {k: v for k, v in inner.get_params(deep=False).items()},
            "source": table.source,
            "target": table.target,
            "rows": len(table),
            "columns": dict(table.kinds),
            "classes": [str(c) for c in fitted.classes_.tolist()],
            "accuracy_on_training_rows": right,
            "seconds": seconds,
            "verdict": None if verdict is None else _verdict(verdict),
            "warnings": said,
            "file": str(path),
        }
    )
    return OK


def _verdict(verdict: Any) -> dict[str, Any]:
    names = ("status", "objective", "gap", "tol", "unique", "sweeps", "seconds", "stopped_by")
    found = {name: getattr(verdict, name, None) for name in names}
    return {**found, "findings": list(getattr(verdict, "findings", ())), "text": str(verdict)}
