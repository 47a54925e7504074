"""What a posterior N(m_n, S_n) shows beside its mean:  S_n and its standard deviations ([6867] 4, row B1).

Predictions integrate over a root of S_n in the solver's coordinates, which has digits that S_n has lost; so these
are read-only. The mean is ``coef_`` and ``intercept_``, which may be edited. Cost O(Q²) memory, once a fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.models.bayes.laplace import Posterior

POSTERIOR = (
    "{} is the posterior's, whose root the predictions integrate over: it cannot be assigned. Fit with another "
    "prior, or edit coef_ and intercept_, its mean"
)


def _of_posterior(name: str, words: str) -> Any:
    """A property that reads ``_<name>`` of the model and refuses to be assigned."""

    def value(self: Any) -> FloatArray:
        if "_posterior" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        found: FloatArray = getattr(self, "_" + name)()
        found.flags.writeable = False
        return found

    def refuse(self: Any, value: Any) -> None:
        raise AttributeError(POSTERIOR.format(name))

    return property(value, refuse, doc=words)


class ShownPosterior:
    """``covariance_``, ``coef_sd_``, ``intercept_sd_`` of a model that keeps a `Posterior`, all read-only."""

    _posterior: Posterior
    _dtype = np.dtype(float)
    covariance_ = _of_posterior("covariance_", "S_n, the posterior's covariance, the intercept first.")
    coef_sd_ = _of_posterior("coef_sd_", "Posterior standard deviations of the weights, shaped as ``coef_``.")
    intercept_sd_ = _of_posterior("intercept_sd_", "Posterior standard deviations of the intercepts.")

    def _covariance_(self) -> FloatArray:
        if "_covariance" not in self.__dict__:
            self._covariance = self._posterior.covariance()
        return self._covariance.astype(self._dtype, copy=False)

    def _coef_sd_(self) -> FloatArray:
        return self._sd()[:, 1:] if self._posterior.fit_intercept else self._sd()

    def _intercept_sd_(self) -> FloatArray:
        sd = self._sd()
        return sd[:, 0] if self._posterior.fit_intercept else np.zeros(len(sd), self._dtype)

    def _sd(self) -> FloatArray:
        """(1, q) or (K, q), the intercept first."""
        return np.sqrt(np.diag(self._covariance_())).reshape(-1, self._posterior.q)
