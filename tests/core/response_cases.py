"""Every response as its formula is printed, to be evaluated in as many digits as it takes."""

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest

from separatrix.core.links import link
from separatrix.core.responses import (
    Binomial,
    Gamma,
    Gaussian,
    InverseGaussian,
    NegativeBinomial,
    Poisson,
    Response,
    Tweedie,
)
from tests.draws import examples

mp = mpmath.mpf


def xlog(x, ratio):
    return mp(0) if x == 0 else x * mpmath.log(ratio)


def nb_half(y, m, k):
    return xlog(y, y / m) - (y + k) * mpmath.log((y + k) / (m + k))


def tweedie_half(y, m, p):
    return y ** (2 - p) / ((1 - p) * (2 - p)) - y * m ** (1 - p) / (1 - p) + m ** (2 - p) / (2 - p)


@dataclass(frozen=True)
class Case:
    """A response, V(μ) and the half deviance as printed (of y, μ and 1 − μ), and values it may take."""

    response: Response
    variance: Any
    half: Any
    y: tuple[float, ...]
    means: tuple[float, ...] = (0.03, 0.7, 2.0, 35.0)

    def __str__(self):
        return repr(self.response)


COUNTS, REALS = (0.0, 1.0, 2.0, 36.0, 0.3), (0.2, 1.0, 2.01, 36.0)
CASES = [
    Case(Gaussian(), lambda m: mp(1), lambda y, m, _: (y - m) ** 2 / 2, (-1.5, 0.0, 2.0), (0.1, 0.6, 0.97)),
    Case(
        Binomial(),
        lambda m: m * (1 - m),
        lambda y, m, rest: xlog(y, y / m) + xlog(1 - y, (1 - y) / rest),
        (0.0, 1.0, 0.3, 0.55),
        (1e-6, 0.31, 0.5, 0.999),
    ),
    Case(Poisson(), lambda m: m, lambda y, m, _: xlog(y, y / m) - y + m, COUNTS),
    Case(Gamma(), lambda m: m**2, lambda y, m, _: y / m - 1 - mpmath.log(y / m), REALS),
    Case(InverseGaussian(), lambda m: m**3, lambda y, m, _: (y - m) ** 2 / (2 * y * m**2), REALS),
    Case(NegativeBinomial(1.7), lambda m: m + m**2 / mp(1.7), lambda y, m, _: nb_half(y, m, mp(1.7)), COUNTS),
    Case(
        NegativeBinomial(0.05), lambda m: m + m**2 / mp(0.05), lambda y, m, _: nb_half(y, m, mp(0.05)), COUNTS
    ),
    Case(Tweedie(1.1), lambda m: m ** mp(1.1), lambda y, m, _: tweedie_half(y, m, mp(1.1)), COUNTS),
    Case(Tweedie(1.5), lambda m: m ** mp(1.5), lambda y, m, _: tweedie_half(y, m, mp(1.5)), COUNTS),
    Case(Tweedie(1.9), lambda m: m ** mp(1.9), lambda y, m, _: tweedie_half(y, m, mp(1.9)), COUNTS),
    Case(Tweedie(4.5), lambda m: m ** mp(4.5), lambda y, m, _: tweedie_half(y, m, mp(4.5)), REALS),
]
MEANS = {
    "identity": lambda e: (e, 1 - e),
    "log": lambda e: (mpmath.exp(e), -mpmath.expm1(e)),
    "logit": lambda e: (1 / (1 + mpmath.exp(-e)), 1 / (1 + mpmath.exp(e))),
    "probit": lambda e: (mpmath.ncdf(e), mpmath.ncdf(-e)),
    "cloglog": lambda e: (-mpmath.expm1(-mpmath.exp(e)), mpmath.exp(-mpmath.exp(e))),
    "inverse": lambda e: (1 / e, 1 - 1 / e),
    "sqrt": lambda e: (e**2, 1 - e**2),
    "inverse_squared": lambda e: (1 / mpmath.sqrt(e), 1 - 1 / mpmath.sqrt(e)),
}
every = pytest.mark.parametrize("case", CASES, ids=str)
likely = pytest.mark.parametrize("case", [c for c in CASES if not isinstance(c.response, Tweedie)], ids=str)
pairs = pytest.mark.parametrize(
    "case, name", [(c, name) for c in CASES for name in c.response.links], ids=lambda v: str(v)
)
quick = examples(60)


def exact(case, name, eta, y):
    """(ℓ, ℓ', ℓ'', Fisher's) at one point, by differentiating the printed formula in 60 digits."""
    half = lambda e: case.half(mp(y), *MEANS[name](e))  # noqa: E731
    mean = lambda e: MEANS[name](e)[0]  # noqa: E731
    e = mp(eta)
    fisher = mpmath.diff(mean, e) ** 2 / case.variance(mean(e))
    return half(e), mpmath.diff(half, e), mpmath.diff(half, e, 2), fisher


def grid(case, name, means):
    eta = np.array([float(link(name).eta(m)) for m in means])
    e, y = (a.ravel() for a in np.meshgrid(eta, case.y))
    return e, y
