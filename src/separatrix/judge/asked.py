"""What a comparison is asked for, read before work starts: amounts, the positive class, an order, rows kept apart.

Each refusal names the parameter and the way out. Row V1. Cost: O(n).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from separatrix.data.door import is_count, read_labels
from separatrix.judge.candidates import Candidate
from separatrix.judge.facts import TableFacts, read_numbers, read_X
from separatrix.judge.fits import codes_in
from separatrix.judge.scores import METRICS


def order_of_classes(task: str, order: Any, y: Any) -> Sequence[Any] | None:
    """The order as it was given, or as a Categorical has it; refused where no order was asked for."""
    if task != "ordinal":
        if order is not None:
            raise ValueError('order is of classes with an order: add task="ordinal", or leave it out')
        return None
    if order is not None:
        return list(order)
    held: Any = getattr(y, "cat", None) or getattr(y, "dtype", None)
    return list(held.categories) if getattr(held, "ordered", False) else None


def levels_of(order: Sequence[Any] | None, classes: np.ndarray) -> tuple[Any, ...] | None:
    """The classes from the lowest to the highest; None of words without an order.

    >>> levels_of(["low", "high"], np.array(["high", "low"])), levels_of(None, np.array([1, 2, 3]))
    (('low', 'high'), (1, 2, 3))
    """
    known = classes.tolist()
    if order is None:
        return tuple(known) if classes.dtype.kind in "biuf" else None
    place = {str(label): label for label in known}
    named = [str(label) for label in order]
    lacking = [label for label in place if label not in named]
    if lacking:
        raise ValueError(
            f"order lacks the class {lacking[0]!r}: name every class, from the lowest to the highest"
        )
    if len(set(named)) < len(named):
        raise ValueError("order names a class twice: name every class once, from the lowest to the highest")
    return tuple(place[label] for label in named if label in place)


def side_of(positive: Any, classes: np.ndarray, codes: np.ndarray) -> int | None:
    """The number of the positive class; the rarer of two where none is named (of equals the second), None of more.

    >>> (
    ...     side_of(None, np.array(["no", "yes"]), np.array([0, 0, 1])),
    ...     side_of("no", np.array(["no", "yes"]), np.array([0])),
    ... )
    (1, 0)
    """
    known = classes.tolist()
    if positive is not None:
        named = [k for k, label in enumerate(known) if label == positive or str(label) == str(positive)]
        if not named:
            raise ValueError(f"positive={positive!r} is no class of y: the classes are {known}")
        if len(known) > 2:
            raise ValueError(f"positive is one of two classes, and y has {len(known)}: leave it out")
        return named[0]
    counts = np.bincount(codes, minlength=len(known))
    return int(counts[0] < counts[1]) ^ 1 if len(known) == 2 else None


def refuse_of_numbers(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f'{name} is of classes, and task="regression" predicts numbers: leave it out')


def check_amounts(budget: Any, level: Any, n_jobs: Any) -> None:
    number = isinstance(budget, (int, float, np.number)) and not isinstance(budget, bool)
    if budget is not None and not (number and budget > 0):
        raise ValueError(f"budget must be a number of seconds above 0, or None for no limit; got {budget!r}")
    if not (isinstance(level, (float, np.floating)) and 0 < level < 1):
        raise ValueError(f"level must be a share in (0, 1), 0.95 for 95 %; got {level!r}")
    if n_jobs is not None and (not is_count(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")


def check_probabilities(candidates: Mapping[str, Candidate], metric: str, facts: TableFacts) -> None:
    if METRICS[metric].needs == "labels":
        return
    for name, candidate in candidates.items():
        if not hasattr(candidate.make(facts, 0, "log_loss"), "predict_proba"):
            raise ValueError(
                f'{name} has no predict_proba, which metric="{metric}" needs: use metric="accuracy", or calibrate it'
            )


def read_test(test: Any, X: Any, classes: np.ndarray | None) -> tuple[Any, np.ndarray]:
    if hasattr(test, "labels") and hasattr(test, "frame"):
        test = (test.frame, test.labels)
    if not (isinstance(test, (tuple, list)) and len(test) == 2):
        raise ValueError("test must be a pair (X, y) of rows kept apart and their labels")
    rows = read_X(test[0])
    if hasattr(X, "columns") != hasattr(rows, "columns"):
        raise ValueError("test must be a table of the same kind as X: both frames, or both arrays")
    if not hasattr(X, "columns") and rows.shape[1] != X.shape[1]:
        raise ValueError(f"test has {rows.shape[1]} columns, X has {X.shape[1]}: give the same columns")
    if classes is None:
        return rows, read_numbers(test[1], _num_samples(rows))
    found, codes = read_labels(test[1], _num_samples(rows))
    new = [label for label in found.tolist() if label not in classes.tolist()]
    if new:
        raise ValueError(
            f"test has the label {new[0]!r}, which y has not: the classes are {classes.tolist()}"
        )
    return rows, codes_in(np.asarray(found)[codes], classes)
