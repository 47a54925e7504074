"""The Tweedie response, V = μᵖ: deviances of every power, and no likelihood (notes [6867] 3.1.3; row D8). O(size)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core.numerics import FloatArray, horner, real
from separatrix.core.responses.base import Response
from separatrix.core.responses.deviance import short
from separatrix.core.responses.gaussian import Gaussian
from separatrix.core.responses.positive import Gamma, InverseGaussian, Poisson, Positive


@dataclass(frozen=True)
class Tweedie(Positive):
    """V = μᵖ: 1 < p < 2 a Poisson sum of gammas (y ≥ 0, a mass at 0), p > 2 a positive stable law. Row D8.

    p = 0, 1, 2, 3 are the Gaussian, Poisson, Gamma and inverse Gaussian, and those are what one gets. There is no
    law with 0 < p < 1; the density of the others is a series nobody sums in closed form, so no likelihood here.
    Notes [6867] 3.1.3.

    >>> Tweedie(1.5).unit_deviance([0.0, 1.0, 4.0], 1.0), Tweedie(2)
    (array([4., 0., 4.]), Gamma())
    """

    power: float = 1.5

    name = "tweedie"
    default_link = "log"

    def __new__(cls, power: float = 1.5) -> Response:  # type: ignore[misc]
        named: dict[float, type[Response]] = {0: Gaussian, 1: Poisson, 2: Gamma, 3: InverseGaussian}
        return named[power]() if power in named else super().__new__(cls)

    def __post_init__(self) -> None:
        if not 1 < self.power < np.inf:
            raise ValueError(
                f"there is no Tweedie law of power {self.power} here: the power must be 0, or 1 or more"
            )

    @property
    def support(self) -> str:  # type: ignore[override]
        return "a number of 0 or more" if self.power < 2 else "a number above 0"

    def _variance(self, mu: FloatArray, complement: FloatArray | None) -> FloatArray:
        return mu**self.power

    def _outside(self, y: FloatArray) -> NDArray[np.bool_]:
        return y < 0 if self.power < 2 else y <= 0

    def _saturated(self, y: FloatArray, w: FloatArray, phi: FloatArray) -> FloatArray:
        raise NotImplementedError(
            f"the likelihood of a Tweedie law of power {self.power} has no closed form, so there is no AIC: compare "
            "deviances"
        )

    def start(self, y: ArrayLike, weight: ArrayLike = 1.0) -> FloatArray:
        y = real(y)
        return y + 0.1 * (y == 0)

    def _half(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        """μ²⁻ᵖ ((1 + t)ᵃ − 1 − at)/ab at t = y/μ − 1, a = 2 − p, b = 1 − p: by its series near t = 0, through
        expm1 around it, term by term far off, where μ may have left the range of numbers."""
        a, b = 2.0 - self.power, 1.0 - self.power
        t, log_ratio = -short(y, mu), np.log(y) - log_mu
        if self.power < 1.5:  # the form in which nothing is divided by the smaller of a and b
            rise = (y / mu * np.expm1(b * log_ratio) / b - t) / a
        else:
            rise = (np.expm1(a * log_ratio) / a - t) / b
        c = [0.5]
        for j in range(2, 18):
            c.append(c[-1] * (a - j) / (j + 1))
        rise = np.where(np.abs(t) * (1 + abs(a) / 2) < 0.1, t * t * horner(t, c), rise)
        below = np.exp(b * log_mu) * (mu / a - y / b)
        above = np.exp(a * log_mu) * (1.0 / a - (1.0 + t) / b)
        far = np.where(y > mu, below, above) + y**a / (a * b)
        return np.where((np.abs(log_ratio) > 30) | (y == 0), far, np.exp(a * log_mu) * rise)

    def _pull(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        above = np.exp((2.0 - self.power) * log_mu) * short(y, mu)
        return np.where(y > mu, np.exp((1.0 - self.power) * log_mu) * (mu - y), above)

    def _expected(self, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        return np.exp((2.0 - self.power) * log_mu)

    def _observed(self, y: FloatArray, mu: FloatArray, log_mu: FloatArray) -> FloatArray:
        a, b = 2.0 - self.power, 1.0 - self.power
        above = np.exp(a * log_mu) * (a - b * (1.0 - short(y, mu)))
        return np.where(y > mu, np.exp(b * log_mu) * (a * mu - b * y), above)
