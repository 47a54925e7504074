"""The loss of a generalised linear model: half the unit deviance of a response under a link.

    ℓ(η, y) = ½ unit deviance at μ(η),  ℓ' = −(y − μ) μ'/V,  E ℓ'' = μ'²/V

Notes [6867] 3.2.3, [PC]; row D8. Cost O(n), two to four transcendentals a row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.core import links
from separatrix.core.families import Family
from separatrix.core.links import LINKS, Link
from separatrix.core.losses import Loss
from separatrix.core.numerics import FloatArray, real
from separatrix.core.responses.base import Curvature, Response, Terms, quiet
from separatrix.core.responses.binomial import Binomial
from separatrix.core.responses.by_name import response
from separatrix.core.responses.gaussian import Gaussian
from separatrix.core.responses.positive import Gamma, NegativeBinomial, Poisson
from separatrix.core.responses.tweedie import Tweedie


@dataclass(frozen=True)
class GlmLoss(Loss):
    """ℓ(η, y) = ½ unit deviance at μ(η), ℓ' = −(y − μ) μ'/V, E ℓ'' = μ'²/V. Notes [6867] 3.2.3, [PC]; row D8.

    y is (n,), or (n, 2) whose second column is an offset added to η (n,). The curvature is the expected one,
    Fisher's, never negative; ``observed=True`` gives ℓ'' itself. Under the canonical link the two are one. Where η
    has no mean the response can have, ℓ is +inf and its derivatives NaN. Cost O(n), two to four transcendentals a
    row; 0/1 responses under the logit are `Logistic`, the Gaussian under the identity is `Squared`.

    >>> loss = GlmLoss.of("poisson")
    >>> loss.derivatives(np.array([0.0, -800.0]), np.array([2.0, 1.0]))
    (array([3.86294361e-01, 7.99000000e+02]), array([-1., -1.]), array([1., 0.]))
    >>> loss.value(np.zeros(1), np.array([[2.0, np.log(2.0)]]))  # an exposure of 2
    array([0.])
    """

    response: Response
    link: Link
    observed: bool = False

    name = "glm"
    target = "real"

    def __post_init__(self) -> None:
        if self.link.name in LINKS and self.link.name not in self.response.links:
            raise ValueError(
                f"the {self.response.name} response does not take the {self.link.name} link: "
                f"give one of {', '.join(self.response.links)}"
            )

    @classmethod
    def of(
        cls,
        which: str | Family | Response,
        link: str | Link | None = None,
        observed: bool = False,
        **parameters: float,
    ) -> GlmLoss:
        """From names; the response's default link unless one is given.

        >>> GlmLoss.of("negative_binomial", link="sqrt", size=2.0)
        GlmLoss(response=NegativeBinomial(size=2.0), link=Sqrt(), observed=False)
        """
        chosen = response(which, **parameters)
        return cls(chosen, links.link(chosen.default_link if link is None else link), observed)

    @property
    def canonical(self) -> bool:
        """Whether μ'/V is constant: then ℓ is convex, and its curvature needs no expectation."""
        return self.link.name == self.response.canonical

    @property
    def convex(self) -> bool:
        """Whether ℓ is convex in η: canonical links, 0/1 responses' usual ones, and some more by inspection."""
        if isinstance(self.response, Tweedie):
            return self.link.name == "log" and self.response.power <= 2
        pairs = {
            "binomial": ("probit", "cloglog", "log", "identity"),
            "poisson": ("identity", "sqrt"),
            "gamma": ("log",),
            "negative_binomial": ("log",),
        }
        return self.canonical or self.link.name in pairs.get(self.response.name, ())

    @property
    def range_factor(self) -> float:
        """c with |d³ℓ/dη³| ≤ c d²ℓ/dη² everywhere, the observed curvature; NaN where there is no such c.

        Besides the canonical three, those convex under the log link: the Gamma's y/μ + η, the negative binomial's
        (y + k) log(k + μ) − yη and the Tweedie's for p < 2, whose two powers of μ have rates 2 − p and p − 1.
        """
        match self.response, self.link.name:
            case Gaussian(), "identity":
                return 0.0
            case (Binomial(), "logit") | (Poisson() | Gamma() | NegativeBinomial(), "log"):
                return 1.0
            case Tweedie(power=p), "log" if p < 2:
                return max(2.0 - p, p - 1.0)
        return math.nan

    @property
    def bend(self) -> float:  # type: ignore[override]
        """:attr:`range_factor` where ``derivatives`` gives the curvature it speaks of, else NaN."""
        return self.range_factor if self.observed or self.canonical else math.nan

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The η whose mean is in the response's range, as the ends of an open interval.

        >>> GlmLoss.of("binomial", "log").interval
        (-inf, 0.0)
        """
        return self.link.interval(*self.response.mean_range)

    def domain(self, eta: ArrayLike) -> NDArray[np.bool_]:
        """Where η, offset included, has a mean in the response's range."""
        return self.link.domain(eta, *self.response.mean_range)

    def derivatives(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        which: Curvature = "observed" if self.observed and not self.canonical else "expected"
        value, slope, curvature = self._terms(eta, y, which)
        assert curvature is not None
        return value, slope, curvature

    def value_slope(self, eta: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._terms(eta, y, "none")[:2]

    def value(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        return self._terms(eta, y, "none")[0]

    def slope(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        return self._terms(eta, y, "none")[1]

    @quiet
    def _terms(self, eta: FloatArray, y: FloatArray, curvature: Curvature) -> Terms:
        eta, y = real(eta), real(y)
        if y.ndim == 2:
            eta, y = eta + y[:, 1], y[:, 0]
        value, slope, bent = self.response._terms(self.link, eta, y, curvature)
        if self.interval == (-np.inf, np.inf) or (inside := self.domain(eta)).all():
            return value, slope, bent
        value = np.where(inside, value, np.where(np.isnan(eta), np.nan, np.inf))
        bent = None if bent is None else np.where(inside, bent, np.nan)
        return value, np.where(inside, slope, np.nan), bent
