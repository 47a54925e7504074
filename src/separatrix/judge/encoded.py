"""Splits of a table in the form that a model wants:  encoded once, for all models that want it. Row V1.

Cost: an encoding a split and form; memory for those that models to come wait for, at most HELD bytes of them.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from separatrix.judge.contest import Contest
from separatrix.judge.facts import encoder_of

HELD = 1 << 29  # bytes of encoded tables kept for the models to come

Key = tuple[int, str | None]  # split, form


class EncodedSplits:
    """(X_train, X_test) by split and form, from any thread; ``seconds`` to encode one, by form."""

    def __init__(self, contest: Contest):
        self.contest = contest
        self.seconds: dict[str | None, float] = {}
        self._lock = threading.Lock()
        self._held: dict[Key, tuple[threading.Lock, list[Any]]] = {}
        self._sizes: dict[Key, int] = {}  # bytes

    def of(self, s: int, form: str | None) -> tuple[Any, Any]:
        with self._lock:
            lock, held = self._held.setdefault((s, form), (threading.Lock(), []))
        with lock:
            if not held:
                split = self.contest.splits[s]
                start = time.perf_counter()
                held.append(self.fresh(split.train, split.test, form))
                self.seconds[form] = time.perf_counter() - start
                self._sizes[s, form] = sum(map(_bytes, held[0]))
        return held[0]

    def fresh(self, train: np.ndarray, test: np.ndarray, form: str | None) -> tuple[Any, Any]:
        """Rows to fit to and rows to judge, not kept."""
        A, B = _safe_indexing(self.contest.X, train), _safe_indexing(self.contest.X, test)
        encoder = encoder_of(self.contest.facts, form)
        if encoder is None:
            return A, B
        return encoder.fit_transform(A, self.contest.labels[train]), encoder.transform(B)

    def to_come(self, form: str | None) -> float:
        """Seconds for the splits of the first repetition that are not yet there in a form."""
        absent = sum(not self._held.get((s, form), (None, []))[1] for s in range(self.contest.folds))
        return absent * self.seconds.get(form, 0.0)

    def forget(self, under_way: set[int], ahead: set[int]) -> None:
        """Drop splits that no one waits for, and the oldest where they take too much memory."""
        with self._lock:
            size = sum(self._sizes.values())
            for key in list(self._held):
                if key[0] not in under_way and (key[0] not in ahead or size > HELD):
                    del self._held[key]
                    size -= self._sizes.pop(key, 0)


def _bytes(table: Any) -> int:
    """Memory of an array, a CSR matrix or a frame, roughly."""
    if hasattr(table, "memory_usage"):
        return int(table.memory_usage(index=False).sum())
    return int(table.data.nbytes) if hasattr(table, "indptr") else int(getattr(table, "nbytes", 0))
