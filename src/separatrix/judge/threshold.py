"""The threshold of a probability, chosen out of fold:  say the positive class where p ≥ t.

    t̂ = argmax_t score(y, [p ≥ t])          over the probabilities that rows have from fits that did not see them
    score of t̂: on each fold, at the threshold that the other folds choose

Scores: accuracy, balanced accuracy, F₁, MCC, or the least cost; each is a function of how many positive and negative
rows are called, so that all thresholds are judged in one sort. Between two probabilities the middle is taken, so that
rounding decides nothing. Rows V1, G13, O12; notes [446]. Cost: O(n log n).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.judge.scores import METRICS


@dataclass(frozen=True, eq=False)
class Cuts:
    """At every threshold (m,) that matters: weight of positives found and of negatives called, and of all of both."""

    threshold: FloatArray
    found: FloatArray
    alarms: FloatArray
    positives: float
    negatives: float


def cuts_between(positive: np.ndarray, p: FloatArray, weight: Any = None) -> Cuts:
    """Weights of rows with p ≥ t for t = 0, between each two distinct p, and above all.

    >>> cuts = cuts_between(np.array([False, True, True]), np.array([0.2, 0.2, 0.8]))
    >>> cuts.threshold.tolist(), cuts.found.tolist(), cuts.alarms.tolist()
    ([0.0, 0.5, 1.0], [2.0, 1.0, 0.0], [1.0, 0.0, 0.0])
    """
    values, place = np.unique(p, return_inverse=True)
    w = np.ones(len(p)) if weight is None else np.asarray(weight, dtype=float)
    hits = np.bincount(place, weights=w * positive, minlength=len(values))[::-1].cumsum()[::-1]
    said = np.bincount(place, weights=w * ~positive, minlength=len(values))[::-1].cumsum()[::-1]
    above = np.nextafter(values[-1], 2.0) if values[-1] >= 1.0 else 1.0
    threshold = np.concatenate([[0.0], 0.5 * (values[1:] + values[:-1]), [above]])
    return Cuts(threshold, np.append(hits, 0.0), np.append(said, 0.0), float(hits[0]), float(said[0]))


def _f1(c: Cuts) -> FloatArray:
    return 2.0 * c.found / np.maximum(c.found + c.alarms + c.positives, 1e-300)


def _accuracy(c: Cuts) -> FloatArray:
    return (c.found + c.negatives - c.alarms) / (c.positives + c.negatives)


def _balanced(c: Cuts) -> FloatArray:
    return 0.5 * (c.found / c.positives + (c.negatives - c.alarms) / c.negatives)


def _mcc(c: Cuts) -> FloatArray:
    said, rows = c.found + c.alarms, c.positives + c.negatives
    apart = said * (rows - said) * c.positives * c.negatives
    return np.where(
        apart > 0, (c.found * rows - said * c.positives) / np.sqrt(np.maximum(apart, 1e-300)), 0.0
    )


SCORED: dict[str, Callable[[Cuts], FloatArray]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced,
    "f1": _f1,
    "mcc": _mcc,
}
CHOSEN_BY = (*SCORED, "cost")


def _values(by: str, cuts: Cuts, cost: FloatArray | None, positive: int) -> FloatArray:
    """The score at every threshold, larger is better."""
    if by != "cost":
        return SCORED[by](cuts)
    assert cost is not None
    other = 1 - positive
    paid = cuts.found * cost[positive, positive] + (cuts.positives - cuts.found) * cost[positive, other]
    paid += cuts.alarms * cost[other, positive] + (cuts.negatives - cuts.alarms) * cost[other, other]
    return -paid / (cuts.positives + cuts.negatives)


def best_threshold(
    positive: np.ndarray,
    p: FloatArray,
    by: str = "f1",
    *,
    cost: FloatArray | None = None,
    side: int = 1,
    weight: Any = None,
) -> tuple[float, float]:
    """(t̂, its score) over rows (n,): whether each is positive, and the probability p that it is.

    Of thresholds that score the same the one nearest to ½ is taken. ``by``: one of `CHOSEN_BY`; for "cost" C (2, 2),
    and which of its rows is the positive class's (``side``); the score is then the mean cost, the less the better.

    >>> best_threshold(np.array([False, True, False, True]), np.array([0.1, 0.4, 0.35, 0.9]))
    (0.375, 1.0)
    """
    if by not in CHOSEN_BY:
        raise ValueError(_unknown(by))
    positive = np.asarray(positive, dtype=bool)
    if positive.all() or not positive.any():
        raise ValueError("a threshold needs rows of both classes: all of these are of one")
    cuts = cuts_between(positive, np.asarray(p, dtype=float), weight)
    values = _values(by, cuts, cost, side)
    top = np.flatnonzero(values >= values.max() - 1e-12 * max(abs(values.max()), 1e-300))
    at = top[np.argmin(np.abs(cuts.threshold[top] - 0.5))]
    return float(cuts.threshold[at]), float(abs(values[at]) if by == "cost" else values[at])


def _unknown(by: Any) -> str:
    one = by in ("precision", "recall")
    why = (
        f"{by} alone is best where {'no other row is' if by == 'precision' else 'every row is'} called; "
        if one
        else ""
    )
    return f"a threshold cannot be chosen by {by!r}: {why}use one of {', '.join(map(repr, CHOSEN_BY))}"


def check_threshold(by: Any, classes: np.ndarray, numbers: bool, cost: Any) -> None:
    """Refuse, before work starts, what no threshold can be chosen by."""
    if by is None:
        return
    if by not in CHOSEN_BY:
        raise ValueError(_unknown(by))
    if numbers:
        raise ValueError(
            'a threshold is of two classes, and task="regression" predicts numbers: leave threshold out'
        )
    if len(classes) != 2:
        raise ValueError(
            f"a threshold is of two classes, and y has {len(classes)}: leave threshold out, or give cost for answers "
            "of least expected cost"
        )
    if by == "cost" and cost is None:
        raise ValueError('threshold="cost" needs cost, a matrix or {(true class, answer): cost}')


@dataclass(frozen=True)
class Threshold:
    """A threshold t on P(positive): what it was chosen by, its score out of fold, and that of ½ on the same rows.

    ``scores`` (folds,) are each fold's own, at the threshold which the other folds choose: no row has a say in the
    threshold that it is judged at.
    """

    value: float
    positive: Any
    by: str
    score: float
    at_half: float
    scores: tuple[float, ...]

    def __str__(self) -> str:
        """
        >>> print(Threshold(0.31, "yes", "f1", 0.62, 0.55, (0.6, 0.64)))
        'yes' where its probability is at least 0.31: F₁ 0.620 out of fold, 0.550 at one half
        """
        title, places = METRICS[self.by].title, METRICS[self.by].places
        return (
            f"{self.positive!r} where its probability is at least {self.value:.3g}: {title} {self.score:.{places}f} "
            f"out of fold, {self.at_half:.{places}f} at one half"
        )


def out_of_fold(
    folds: Sequence[tuple[np.ndarray, FloatArray]],
    classes: np.ndarray,
    side: int,
    by: str,
    cost: FloatArray | None = None,
) -> Threshold:
    """The threshold that the rows of all folds choose, from (codes (m,), P (m, 2)) of each fold's held-out rows.

    >>> codes, P = np.array([0, 1, 0, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.1, 0.9]])
    >>> out_of_fold([(codes, P), (codes, P)], np.array(["no", "yes"]), 1, "accuracy").value.__round__(3)
    0.35
    """
    if len(classes) != 2:
        raise ValueError(
            f"a threshold is of two classes, and there are {len(classes)}: give a cost for each answer"
        )
    known = [(np.asarray(codes) == side, P[:, side]) for codes, P in folds]

    def chosen(parts: Sequence[tuple[np.ndarray, FloatArray]]) -> float:
        positive, p = (np.concatenate(found) for found in zip(*parts))
        return best_threshold(positive, p, by, cost=cost, side=side)[0]

    def judged(positive: np.ndarray, p: FloatArray, t: float) -> float:
        codes = np.where(positive, side, 1 - side)
        said = np.where(p >= t, side, 1 - side)
        if by == "cost":
            assert cost is not None
            return float(np.mean(cost[codes, said]))
        return METRICS[by].value(codes, said, side)

    scores, half = [], []
    for f, (positive, p) in enumerate(known):
        others = [part for g, part in enumerate(known) if g != f]
        try:
            scores.append(judged(positive, p, chosen(others or known)))
            half.append(judged(positive, p, 0.5))
        except ValueError:  # the other folds are all of one class
            continue
    mean, before = (float(np.mean(v)) if v else float("nan") for v in (scores, half))
    return Threshold(chosen(known), classes.tolist()[side], by, mean, before, tuple(scores))
