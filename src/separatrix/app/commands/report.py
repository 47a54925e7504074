"""``separatrix report``: a model judged on rows whose answers are known (row O4, V1)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.app.commands.compare import stem
from separatrix.app.errors import OK
from separatrix.app.kept import Kept, open_model
from separatrix.app.outputs import folder, write_text
from separatrix.app.pages import page_of
from separatrix.app.say import Say
from separatrix.judge.asked import side_of
from separatrix.judge.fits import codes_in
from separatrix.judge.scores import METRICS, Interval, bootstrapped, bootstrapped_numbers, metrics_of
from separatrix.models.threshold import threshold_of

LEVEL = 0.95


def run(
    model: str, data: str, target: str | None, out: str | None, delimiter: str | None, seed: int, say: Say
) -> int:
    kept = open_model(model, say)
    X, labels, left_out = kept.labelled(data, target, delimiter)
    if kept.numbers:
        return _of_numbers(kept, model, data, X, labels, left_out, out, say)
    codes = codes_in(labels, kept.classes)
    said = codes_in(kept.model.predict(X), kept.classes)
    P = np.asarray(kept.model.predict_proba(X)) if hasattr(kept.model, "predict_proba") else None
    cut = threshold_of(kept.model)
    side = side_of(None if cut is None else cut[1], kept.classes, codes)
    found = bootstrapped(codes, said, P, list(metrics_of("classes")), level=LEVEL, seed=seed, positive=side)
    scores = {name: v for name, v in found.items() if np.isfinite(v.mean)}
    counts = np.zeros((len(kept.classes),) * 2, dtype=int)
    np.add.at(counts, (codes, said), 1)
    say.note(str(kept.about), "")
    if left_out:
        say.note(f"{left_out:,} rows without a label were left out")
    seen = _seen(kept, X, labels, say)
    say.result(f"{data}: {len(labels):,} rows")
    _say_scores(scores, say)
    say.result("")
    for line in grid(counts, [str(c) for c in kept.classes.tolist()]):
        say.result(line)
    path = Path(out) if out else Path(model).parent / f"report-{stem(data)}.html"
    command = shlex.join(["separatrix", "report", model, data])
    given: dict[str, Any] = {"X": X, "y": labels, "X_test": X, "y_test": labels, "command": command}
    given |= {"source": data, "fitted": kept.is_fitted_to(X, labels), "known": seen}
    page = page_of(say, model=kept.model, **given)
    if page is not None:
        folder(path.parent)
        write_text(path, page)
        say.note(f"written: {path}", "bold")
    say.data(
        {
            "model": model,
            "class": kept.name,
            "source": data,
            "rows": len(labels),
            "rows_without_label": left_out,
            "share_seen_in_training": seen,
            "classes": [str(c) for c in kept.classes.tolist()],
            "scores": {name: dict(zip(("value", "low", "high"), v)) for name, v in scores.items()},
            "confusion": counts,
            "verdict": kept.about.verdict,
            "report": None if page is None else str(path),
        }
    )
    return OK


def _seen(kept: Kept, X: Any, labels: np.ndarray, say: Say) -> float | None:
    """The share of the rows that the model was fitted to, aloud where it is one; None where it cannot be told."""
    seen = kept.share_seen(X, labels)
    if seen is not None and seen >= 0.01:  # a few rows may be alike by chance
        few = "all" if seen == 1 else f"{100 * seen:.0f} %"
        say.alert(
            "serious" if seen >= 0.5 else "warning",
            f"{few} of these rows, answers included, stand in the table the model was fitted to, so that it looks "
            "better than it is; give rows it has not seen, or see what compare says",
        )
    return seen


def _say_scores(found: Mapping[str, Interval], say: Say) -> None:
    for name, (value, low, high) in found.items():
        metric = METRICS[name]
        better = "more is better" if metric.higher else "less is better"
        p = metric.places
        say.result(
            f"  {metric.title:<18} {value:.{p}f}   {LEVEL:.0%} from {low:.{p}f} to {high:.{p}f}   ({better})"
        )


def _of_numbers(
    kept: Kept, model: str, data: str, X: Any, y: np.ndarray, left_out: int, out: str | None, say: Say
) -> int:
    """The same of a model of numbers."""
    found = bootstrapped_numbers(y, np.asarray(kept.model.predict(X), dtype=float), level=LEVEL)
    say.note(str(kept.about), "")
    if left_out:
        say.note(f"{left_out:,} rows without a number were left out")
    seen = _seen(kept, X, y, say)
    say.result(f"{data}: {len(y):,} rows")
    _say_scores(found, say)
    path = Path(out) if out else Path(model).parent / f"report-{stem(data)}.html"
    command = shlex.join(["separatrix", "report", model, data])
    given: dict[str, Any] = {"X": X, "y": y, "X_test": X, "y_test": y, "source": data, "command": command}
    page = page_of(say, model=kept.model, fitted=kept.is_fitted_to(X, y), known=seen, **given)
    if page is not None:
        folder(path.parent)
        write_text(path, page)
        say.note(f"written: {path}", "bold")
    say.data(
        {
            "model": model,
            "class": kept.name,
            "source": data,
            "rows": len(y),
            "rows_without_label": left_out,
            "share_seen_in_training": seen,
            "scores": {name: dict(zip(("value", "low", "high"), v)) for name, v in found.items()},
            "verdict": kept.about.verdict,
            "report": None if page is None else str(path),
        }
    )
    return OK


def grid(counts: np.ndarray, names: list[str], most: int = 12) -> list[str]:
    """The table of mistakes in lines: a row for each true class, a column for each answer.

    >>> print("\\n".join(grid(np.array([[5, 1], [0, 7]]), ["ham", "spam"])))
    true \\ said  ham  spam
    ham            5     1
    spam           0     7
    """
    if len(names) > most:
        wrong = [(int(counts[i, j]), names[i], names[j]) for i, j in np.argwhere(counts) if i != j]
        pairs = [f"{c} {a} taken for {b}" for c, a, b in sorted(wrong, key=lambda w: -w[0])[:most]]
        return ["most mistakes: " + "; ".join(pairs)] if pairs else ["no mistake"]
    first = max(len("true \\ said"), *(len(n) for n in names))
    wide = [max(len(n), len(f"{counts[:, j].max()}")) for j, n in enumerate(names)]
    lines = ["true \\ said".ljust(first) + "".join(f"  {n:>{w}}" for n, w in zip(names, wide))]
    for i, name in enumerate(names):
        lines.append(name.ljust(first) + "".join(f"  {c:>{w}}" for c, w in zip(counts[i], wide)))
    return lines
