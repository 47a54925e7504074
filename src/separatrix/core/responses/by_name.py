"""name ↦ response: names in any case, R's and statsmodels' too, or a family. Row D8."""

from __future__ import annotations

from dataclasses import fields

from separatrix.core.families import Family
from separatrix.core.responses.base import Response
from separatrix.core.responses.binomial import Binomial
from separatrix.core.responses.gaussian import Gaussian
from separatrix.core.responses.positive import Gamma, InverseGaussian, NegativeBinomial, Poisson
from separatrix.core.responses.tweedie import Tweedie

_KINDS = (Gaussian, Binomial, Poisson, Gamma, InverseGaussian, NegativeBinomial, Tweedie)
RESPONSES: dict[str, type[Response]] = {kind.name: kind for kind in _KINDS}
_ALIASES = {
    "normal": "gaussian",
    "bernoulli": "binomial",
    "exponential": "gamma",  # whose dispersion is then known, 1
    "inversegaussian": "inverse_gaussian",
    "negativebinomial": "negative_binomial",
    "nbinom": "negative_binomial",
}


def response(which: str | Family | Response, **parameters: float) -> Response:
    """name or Family ↦ Response; names in any case, "normal" and "bernoulli" too. A Response stays. [6867] 3.1.3.

    A negative binomial needs its size=, a Tweedie takes its power=.

    >>> from separatrix.core.families import Normal
    >>> response("Inverse Gaussian"), response("negative_binomial", size=2.0), response(Normal())
    (InverseGaussian(), NegativeBinomial(size=2.0), Gaussian())
    """
    if isinstance(which, Response):
        if parameters:
            raise ValueError(
                f"{which!r} has its parameters: give {', '.join(parameters)} with a name instead"
            )
        return which
    key = response_name(which)
    if key not in RESPONSES:
        raise ValueError(f"unknown response {which!r}: give one of {', '.join(RESPONSES)}, or a Response")
    kind = RESPONSES[key]
    takes = [f.name for f in fields(kind)]
    if strange := [name for name in parameters if name not in takes]:
        words = f"takes {' and '.join(takes)}" if takes else "takes no parameter"
        raise ValueError(f"the {key} response {words}, not {', '.join(strange)}")
    if kind is NegativeBinomial and not parameters:
        raise ValueError(
            "the size of a negative binomial must be known: give size=, or NegativeBinomial(size)"
        )
    return kind(**parameters)


def response_name(which: str | Family) -> str:
    """The name under which a response is known, whatever way it is spelt; one that is not known stays as it is.

    >>> response_name("Negative Binomial"), response_name("nbinom")
    ('negative_binomial', 'negative_binomial')
    """
    if isinstance(which, Family):
        return next((k.name for k in _KINDS if type(k.family) is type(which)), "")
    key = str(which).strip().lower()
    for mark in " -.":
        key = key.replace(mark, "_")
    return _ALIASES.get(key, key)
