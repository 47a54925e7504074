"""Rows that no class can have, and classes that do not vary: what a generative model says of them.

    log p(x, k) = −∞ for every k, or not a number       (θ_kj = 0, x = 1e200)        P(k | x) = π_k by rule

Bayes' rule divides nothing by nothing there, so that the row says nothing of its class and the prior is left:
`predict`, `predict_proba`, `predict_log_proba`, `decision_function` and `score` all answer by it, and one warning
counts such rows. A score of +∞ for one class alone is no such row: that class has it.

Shapes: joint (n, K), prior (K,). Cost O(nK), where a sum shows that a row may be in question.
"""

from __future__ import annotations

import numpy as np

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray


class ImpossibleRowsWarning(UserWarning):
    """No class can have some rows, or their densities lie outside the range of numbers: the prior answered."""


class NoSpreadWarning(UserWarning):
    """The rows of a class do not vary where the model needs it: smoothing, or a bound, made the answer."""


def impossible(joint: FloatArray) -> np.ndarray:
    """Which rows (n,) have no class by their log p(x, k).

    >>> impossible(
    ...     np.array([[0.0, -np.inf], [-np.inf, -np.inf], [np.inf, 1.0], [np.inf, np.inf], [np.nan, 0.0]])
    ... )
    array([False,  True, False,  True,  True])
    """
    top = joint.max(axis=1)  # NaN where a NaN is
    return ~np.isfinite(top) & ((top != np.inf) | (np.count_nonzero(joint == np.inf, axis=1) > 1))


class Watch:
    """Turns log p(x, k) of tiles of rows into scores that have an answer, and remembers that it had to.

    >>> watch = Watch(np.log([0.25, 0.75]))
    >>> np.exp(watch.settled(np.full((1, 2), -np.inf))), watch.seen
    (array([[0.25, 0.75]]), True)
    """

    def __init__(self, log_prior: FloatArray):
        self.log_prior = log_prior
        self.seen = False

    def settled(self, joint: FloatArray) -> FloatArray:
        """``joint`` itself, its rows without a class replaced by log π, those of one +∞ by certainty."""
        with np.errstate(all="ignore"):
            if np.isfinite(joint.sum()):
                return joint
            none = impossible(joint)
            sure = ~none & (joint == np.inf).any(axis=1)
        joint[sure] = np.where(joint[sure] == np.inf, 0.0, -np.inf)
        if none.any():
            joint[none] = self.log_prior
            self.seen = True
        return joint

    def warn(self, none: np.ndarray, model: object) -> None:
        """One warning for the rows marked in ``none`` (n,)."""
        count, first = int(np.count_nonzero(none)), int(np.flatnonzero(none)[0])
        rows = f"row {first}" if count == 1 else f"{count} of {len(none)} rows (the first is row {first})"
        warn(
            f"{type(model).__name__}: no class can have {rows}: every log p(x, k) is −inf or beyond the range of "
            "numbers. They are answered by the prior, class_prior_; smoothing, or a look at those cells, helps",
            ImpossibleRowsWarning,
        )


class Findings(list[str]):
    """Sentences for a verdict; those of `grave` change the meaning of the fit, and are said as a warning too."""

    def __init__(self) -> None:
        super().__init__()
        self.warnings: list[str] = []

    def grave(self, sentence: str) -> None:
        self.append(sentence)
        self.warnings.append(sentence)


def warn_no_spread(model: object, sentences: list[str]) -> None:
    """One warning of what was found grave in a fit; none where nothing was."""
    if sentences:
        told = "; ".join(dict.fromkeys(sentences))
        warn(f"{type(model).__name__}: {told}", NoSpreadWarning)
