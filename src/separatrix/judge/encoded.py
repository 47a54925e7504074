"""Splits of a table in the form that a model wants:  encoded once, for all models that want it. Row V1.

Cost: an encoding a split, form and number of rows; memory for at most HELD bytes of them, the last used.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from separatrix.judge.budget import working
from separatrix.judge.contest import Contest, Step
from separatrix.judge.facts import encoder_of

HELD = 1 << 29  # bytes of encoded tables kept for the steps to come

Key = tuple[int, str | None, int, int]  # split, form, rows of training, rows judged


class EncodedSplits:
    """(X_train, X_test) by split, form and rows, from any thread; ``rate``: seconds to encode a row, by form."""

    def __init__(self, contest: Contest):
        self.contest = contest
        self.rate: dict[str | None, float] = {}
        self._lock = threading.Lock()
        self._held: dict[Key, tuple[threading.Lock, list[Any]]] = {}
        self._sizes: dict[Key, int] = {}  # bytes

    def of(self, step: Step, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
        form = self.contest.candidates[step.model].form
        key = (step.split, form, len(train), len(test))
        with self._lock:
            lock, held = self._held.setdefault(key, (threading.Lock(), []))
        with lock:
            if not held:
                start = working()
                held.append(self._fresh(train, test, form))
                self.rate[form] = (working() - start) / (len(train) + len(test))
                self._sizes[key] = sum(map(_bytes, held[0]))
        return held[0]

    def _fresh(self, train: np.ndarray, test: np.ndarray, form: str | None) -> tuple[Any, Any]:
        A, B = _safe_indexing(self.contest.X, train), _safe_indexing(self.contest.X, test)
        encoder = encoder_of(self.contest.facts, form)
        if encoder is None:
            return A, B
        return encoder.fit_transform(A, self.contest.labels[train]), encoder.transform(B)

    def to_encode(self, step: Step) -> float:
        """Seconds to encode a step's rows, where that is not done yet."""
        form = self.contest.candidates[step.model].form
        if any(key[:3] == (step.split, form, step.rows) for key in self._sizes):
            return 0.0
        judged = len(self.contest.splits[step.split].test)
        return self.rate.get(form, 0.0) * (step.rows + min(judged, 2 * step.rows))

    def forget(self) -> None:
        """Drop the oldest where they take too much memory; nothing is under way."""
        size = sum(self._sizes.values())
        for key in list(self._sizes):
            if size > HELD:
                size -= self._sizes.pop(key)
                self._held.pop(key, None)


def _bytes(table: Any) -> int:
    """Memory of an array, a CSR matrix or a frame, roughly."""
    if hasattr(table, "memory_usage"):
        return int(table.memory_usage(index=False).sum())
    return int(table.data.nbytes) if hasattr(table, "indptr") else int(getattr(table, "nbytes", 0))
