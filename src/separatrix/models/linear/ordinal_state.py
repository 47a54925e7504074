"""What you read is what predicts:  ``coef_`` and ``thresholds_`` as they stand at the call.

As in models/rule.py for linear rules: an edit is honoured or refused; a fit without an optimum shows its limit (±inf,
NaN), and finite numbers of the limit predict while those shown stand as the fit left them. Cost O(p + K) a call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.inference.ordinal import OrdinalInference, OrdinalLikelihood
from separatrix.solve.ordinal import OrdinalFit, OrdinalProblem

PENALISED = (
    "a penalty moves the estimates on purpose, so their standard errors and p-values would not mean what they say: "
    "fit without it (C=np.inf)"
)
EDITED = (
    "coef_ or thresholds_ was edited after the fit, and standard errors, tests and the likelihood are of the "
    "estimates that the fit found: fit again, or put its numbers back"
)


class OrdinalState(OrdinalInference):
    """The fitted numbers of ordered classes."""

    coef_: np.ndarray
    thresholds_: np.ndarray
    classes_: np.ndarray
    warm_start: bool

    def _keep_numbers(self, coef: FloatArray, thresholds: FloatArray, single: bool, mean: FloatArray) -> None:
        """The numbers of a fit, in float32 where the rows are and it tells the thresholds apart."""
        coef, thresholds = np.array(coef, dtype=float), np.array(thresholds, dtype=float)
        if single:
            with np.errstate(over="ignore"):
                small = coef.astype(np.float32)
                moved = (thresholds - (coef - small) @ mean).astype(np.float32)
            if np.isfinite(small).all() and np.isfinite(moved).all() and (np.diff(moved) > 0).all():
                coef, thresholds = small, moved
        self.__dict__.pop("_limit", None)
        self.coef_, self.thresholds_ = coef, thresholds
        self._fitted = np.copy(coef), np.copy(thresholds)

    def _keep_limit(self, far: tuple[FloatArray, FloatArray], runs: tuple[FloatArray, FloatArray]) -> None:
        """Show ±inf and NaN where numbers run away; ``far`` predicts while they stand. The arrays are read-only."""
        coef, thresholds = (np.where(run == 0, near, run) for near, run in zip(far, runs, strict=True))
        self.coef_, self.thresholds_ = coef, thresholds
        self._fitted = np.copy(coef), np.copy(thresholds)
        self._limit = far
        coef.flags.writeable = thresholds.flags.writeable = False

    def _was_edited(self) -> bool:
        return not all(
            np.shape(a) == np.shape(b) and np.array_equal(a, b, equal_nan=True)
            for a, b in zip(self._fitted, (self.coef_, self.thresholds_), strict=True)
        )

    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """(coef, thresholds) that predict; refused where an edit left what cannot."""
        limit = self.__dict__.get("_limit")
        if limit is not None and not self._was_edited():
            return limit[0], limit[1]
        coef, thresholds = np.asarray(self.coef_), np.asarray(self.thresholds_)
        shapes = (self.__dict__["n_features_in_"],), (len(self.classes_) - 1,)
        if (coef.shape, thresholds.shape) != shapes:
            raise ValueError(
                f"coef_ has shape {coef.shape} and thresholds_ {thresholds.shape}: this {type(self).__name__} needs "
                f"{shapes[0]} and {shapes[1]}"
            )
        if not (np.isfinite(coef).all() and np.isfinite(thresholds).all()):
            raise ValueError(
                "coef_ or thresholds_ was edited, and some are infinite or NaN: such numbers give no scores. Assign "
                "finite numbers to both, or fit again with a penalty"
            )
        if not (np.diff(thresholds) > 0).all():
            raise ValueError(
                f"thresholds_ must increase from class to class, and were edited to {thresholds.tolist()}: between "
                "two that do not, a class would have no probability"
            )
        return coef, thresholds

    def _start_values(self) -> tuple[FloatArray, FloatArray] | None:
        """(coef, thresholds) of the last fit where it is asked to begin there."""
        if not self.warm_start or "coef_" not in self.__dict__:
            return None
        try:
            coef, thresholds = self._numbers()
        except ValueError:
            return None
        return coef.astype(np.float64), thresholds.astype(np.float64)

    def _keep_likelihood(self, problem: OrdinalProblem, fit: OrdinalFit, names: Any) -> None:
        """What errors, tests and a summary are made of; or why there are none."""
        for name in ("_likelihood_", "_no_inference_"):
            self.__dict__.pop(name, None)
        if problem.ridge > 0:
            self._no_inference_ = PENALISED
            return
        exists = self.verdict_.status != "no optimum"
        self._likelihood_ = OrdinalLikelihood.of(problem, fit, names, self.classes_, exists)

    def _likelihood(self) -> OrdinalLikelihood:
        check_is_fitted(self)
        found: OrdinalLikelihood | None = self.__dict__.get("_likelihood_")
        if found is None:
            raise ValueError(self.__dict__["_no_inference_"])
        if self._was_edited():
            raise ValueError(EDITED)
        return found
