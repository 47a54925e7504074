"""Classes that come later:  labels of several chunks as one fit to all of them would order them.

    known {b, d} and found {a, d}  →  {a, b, d}, and where each stands among them

Cost O(K).
"""

from __future__ import annotations

import numpy as np

from separatrix.data.door import read_some_labels


def union(found: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """All labels in the order one fit to everything would give them."""
    if known is None:
        return read_some_labels(found, None, found)[0] if len(found) else found
    both = [*np.asarray(known).tolist(), *np.asarray(found).tolist()]
    kinds = {
        ("n" if a.dtype.kind in "biuf" else a.dtype.kind) for a in (np.asarray(known), np.asarray(found))
    }
    labels = np.empty(len(both), dtype=object)
    labels[:] = both
    plain = len(kinds) == 1 and kinds <= {"n", "U"}
    return read_some_labels(np.asarray(both) if plain else labels, None, both)[0]


def are_words(labels: np.ndarray) -> bool:
    """Whether labels are words (or other objects) rather than numbers."""
    return labels.dtype.kind not in "biuf"


def places_of(classes: np.ndarray, everything: np.ndarray) -> np.ndarray:
    """Where each class stands among all of them."""
    place = {c: i for i, c in enumerate(everything.tolist())}
    return np.array([place[c] for c in classes.tolist()], dtype=np.intp)
