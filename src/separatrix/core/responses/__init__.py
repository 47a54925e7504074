"""Responses of generalised linear models: y ~ a law of mean μ and variance φ V(μ)/w, with η = g(μ).

    response           V(μ)          ½ unit deviance, ∫_μ^y (y − s)/V(s) ds            canonical link   φ
    Gaussian           1             ½ (y − μ)²                                        identity         free
    Binomial           μ(1 − μ)      y log y/μ + (1 − y) log (1 − y)/(1 − μ)           logit            1
    Poisson            μ             y log y/μ − y + μ                                 log              1
    Gamma              μ²            y/μ − 1 − log y/μ                                 inverse          free
    InverseGaussian    μ³            (y − μ)²/2yμ²                                     inverse_squared  free
    NegativeBinomial   μ + μ²/k      y log y/μ − (y + k) log (y + k)/(μ + k)           none here        1
    Tweedie            μᵖ            y²⁻ᵖ/(1−p)(2−p) − yμ¹⁻ᵖ/(1−p) + μ²⁻ᵖ/(2−p)        none here        free

    ℓ(η, y) = ½ unit deviance at μ(η),  ℓ' = −(y − μ) μ'/V,  E ℓ'' = μ'²/V            (``GlmLoss``)

Notes [6867] 3.1.3 (exponential families), 3.2.3 (generalised linear models), [PC]; row D8. As printed the
deviances cancel near y = μ and the derivatives are 0/0 in the tails; here every one is a sum of terms of one sign,
of logarithms that come from η. Everything is elementwise; cost O(size). NaN in y gives NaN.
"""

from separatrix.core.responses.base import Response
from separatrix.core.responses.binomial import Binomial
from separatrix.core.responses.by_name import RESPONSES, response, response_name
from separatrix.core.responses.gaussian import Gaussian
from separatrix.core.responses.glm_loss import GlmLoss
from separatrix.core.responses.positive import Gamma, InverseGaussian, NegativeBinomial, Poisson
from separatrix.core.responses.tweedie import Tweedie

__all__ = [
    "RESPONSES", "Binomial", "Gamma", "Gaussian", "GlmLoss", "InverseGaussian", "NegativeBinomial", "Poisson",
    "Response", "Tweedie", "response", "response_name",
]  # fmt: skip
