"""The steps of a comparison that ran, to be kept and run again:  the same table, seed and steps, the same numbers.

    Plan.of(race)          what ran, in order, and what was decided for want of time
    plan.to_dict()         plain values for a file; Plan.read(path or dict) reads them
    plan.check(…)          refuses another table, other folds and other models, by what differs

A table is known by a fingerprint: SHA-256 of its shape, names, cells and labels. Row V1. Cost: O(cells).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.judge.contest import Contest, Step

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a comparison did.

    table, rows, columns : the table's fingerprint and shape
    folds : fingerprint of the splits
    seed, metric, models : as they were
    steps : that were finished, in order
    fewer : model → rows of training it was given at most
    stopped : model → (rows, folds) after which it was far behind
    gone : models that have no score, or failed
    reasons : model → (kind, sentence) of those not followed to the end
    undone : kind → models, of what was not done for want of time
    """

    table: str
    rows: int
    columns: int
    folds: str
    seed: int
    metric: str
    models: tuple[str, ...]
    steps: tuple[Step, ...]
    fewer: Mapping[str, int]
    stopped: Mapping[str, tuple[int, int]]
    gone: tuple[str, ...]
    reasons: Mapping[str, tuple[str, str]]
    undone: Mapping[str, tuple[str, ...]]
    format: int = FORMAT

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        made = asdict(self)
        made["steps"] = [list(step) for step in self.steps]
        return made

    @classmethod
    def read(cls, given: Any) -> Plan:
        """From a Plan, its plain values, or a file of them; anything else is refused.

        >>> Plan.read({"steps": []})
        Traceback (most recent call last):
            ...
        ValueError: plan is no plan of a comparison (it lacks table): give plan.json as compare wrote it
        """
        if isinstance(given, Plan):
            return given
        name = "plan"
        if isinstance(given, (str, os.PathLike)):
            name = os.fspath(given)
            try:
                with open(given, encoding="utf-8") as file:
                    given = json.load(file)
            except FileNotFoundError:
                raise ValueError(
                    f"there is no plan {name}: compare writes plan.json beside its report"
                ) from None
            except ValueError:
                raise ValueError(f"{name} is no plan of a comparison: it is no JSON") from None
        wanted = [k for k in cls.__dataclass_fields__ if k != "format"]
        lacking = [k for k in wanted if not isinstance(given, Mapping) or k not in given]
        if lacking:
            raise ValueError(
                f"{name} is no plan of a comparison (it lacks {lacking[0]}): give plan.json as compare wrote it"
            )
        if given.get("format") != FORMAT:
            raise ValueError(f"{name} has the format {given.get('format')!r}; this version reads {FORMAT}")
        try:
            own = {k: given[k] for k in wanted}
            own["steps"] = tuple(Step(str(m), bool(t), int(s), int(r)) for m, t, s, r in given["steps"])
            own["models"], own["gone"] = tuple(given["models"]), tuple(given["gone"])
            own["fewer"] = {str(m): int(r) for m, r in given["fewer"].items()}
            own["stopped"] = {str(m): (int(r), int(f)) for m, (r, f) in given["stopped"].items()}
            own["reasons"] = {str(m): (str(k), str(w)) for m, (k, w) in given["reasons"].items()}
            own["undone"] = {str(k): tuple(map(str, m)) for k, m in given["undone"].items()}
            return cls(**own)
        except (TypeError, ValueError, AttributeError):
            raise ValueError(
                f"{name} is no plan of a comparison: a step or a model of it cannot be read"
            ) from None

    def check(self, contest: Contest, table: str) -> None:
        """Refuse what the plan was not made of."""
        rows, columns = contest.facts.n, contest.facts.p
        if (rows, columns) != (self.rows, self.columns):
            raise ValueError(
                f"the plan is of another table, of {self.rows:,} rows and {self.columns:,} columns; this one has "
                f"{rows:,} and {columns:,}: give the table that it was made with, or leave the plan out"
            )
        if table != self.table:
            raise ValueError(
                f"the plan is of another table of {rows:,} rows and {columns:,} columns: cells, names or labels "
                "differ; give the one that it was made with, or leave the plan out"
            )
        if contest.metric != self.metric:
            raise ValueError(
                f"the plan ranks by {self.metric!r}, not by {contest.metric!r}: give that metric"
            )
        if fingerprint(contest) != self.folds:
            raise ValueError(
                f"the plan has other folds: give the cv and the seed ({self.seed}) that it was made with"
            )
        strange = [
            s for s in self.steps if s.model not in contest.candidates or s.split >= len(contest.splits)
        ]
        if strange:
            raise ValueError(
                f"the plan has the model {strange[0].model!r}, which is not among those compared: "
                f"give the models that it was made with ({', '.join(self.models)})"
            )


def fingerprint(contest: Contest) -> str:
    """SHA-256 of the rows judged in each split."""
    made = hashlib.sha256()
    for split in contest.splits:
        made.update(np.ascontiguousarray(split.test, dtype=np.int64).tobytes())
        made.update(np.ascontiguousarray(split.train, dtype=np.int64).tobytes())
    return made.hexdigest()


def data_hash(X: Any, y: ArrayLike) -> str:
    """SHA-256 of shape, names, cells and labels: the same table has the same, whatever holds it in memory.

    Numbers are hashed as float64, other cells as text. O(np).

    >>> data_hash(np.array([[1, 2]]), ["a"]) == data_hash(np.array([[1.0, 2.0]]), ["a"])
    True
    """
    made = hashlib.sha256()
    if hasattr(X, "tocsr"):
        sparse = X.tocsr()
        made.update(f"{sparse.shape}".encode())
        for part in (sparse.indptr, sparse.indices, sparse.data):
            made.update(np.ascontiguousarray(part, dtype=np.float64).tobytes())
    else:
        columns: Sequence[np.ndarray]
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            import narwhals as nw

            frame = nw.from_native(X, eager_only=True)
            made.update(repr([str(c) for c in frame.columns]).encode())
            columns = [column.to_numpy() for column in frame.iter_columns()]
        else:
            columns = list(np.asarray(X).T)
        made.update(f"{len(columns)}".encode())
        for column in columns:
            made.update(_bytes(column))
    made.update(_bytes(np.asarray(y)))
    return made.hexdigest()


def _bytes(column: np.ndarray) -> bytes:
    if column.dtype.kind in "biuf":
        return np.ascontiguousarray(column, dtype=np.float64).tobytes()
    return "\x1f".join(str(v) for v in column.tolist()).encode("utf-8", "surrogatepass")
