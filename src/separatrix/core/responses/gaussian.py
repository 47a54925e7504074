"""The Gaussian response, V = 1 (notes [6867] 3.2.1; rows D8, D9). O(size)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core import families
from separatrix.core.links import Identity, Link
from separatrix.core.losses import Squared
from separatrix.core.numerics import FloatArray
from separatrix.core.responses.base import Curvature, Response, Terms


@dataclass(frozen=True)
class Gaussian(Response):
    """V = 1, deviance (y − μ)². Notes [6867] 3.2.1; rows D8, D9. Takes every link.

    >>> print(Gaussian().log_likelihood(1.0, 0.0, weight=4.0, dispersion=4.0).round(4))
    -1.4189
    """

    name, support = "gaussian", "a finite number"
    family = families.Normal()
    canonical = default_link = "identity"
    links = ("identity", "log", "inverse", "sqrt", "inverse_squared", "logit", "probit", "cloglog")
    mean_range = (-np.inf, np.inf)

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return np.ones_like(mu)

    def _half_deviance(self, y: FloatArray, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return 0.5 * (y - mu) ** 2

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return np.isinf(y)

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        return -0.5 * np.log(2 * math.pi * phi / w)

    def likelihood_dispersion(self, deviance: float, weight: ArrayLike) -> float:
        return float(deviance) / np.count_nonzero(weight)

    def _terms(self, link: Link, eta: FloatArray, y: FloatArray, curvature: Curvature) -> Terms:
        if isinstance(link, Identity):
            return Squared().derivatives(eta, y)
        mu, _, dmu = link.pieces(eta)
        r = mu - y
        bent = None if curvature == "none" else dmu * dmu
        if bent is not None and curvature == "observed":
            bent += r * link.second(eta)
        return 0.5 * r * r, r * dmu, bent
