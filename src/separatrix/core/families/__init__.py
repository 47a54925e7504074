"""Exponential families: p(x | η) = h(x) exp(η·T(x) − A(η)), ∇A(η) = E[T], ∇²A(η) = Cov[T].

    normal    Normal, MultivariateNormal
    counts    Bernoulli, Categorical, Multinomial
    rates     Poisson, Exponential, Gamma
    shares    Beta, Dirichlet

Notes [6867] 3.1.3, whose u(x) is T(x) and whose g(η) is e^{−A(η)}. To fit is to solve ∇A(η) = mean of T, which
merged statistics suffice for. Everything is elementwise over leading axes; cost is the number of cells.
"""

from __future__ import annotations

from separatrix.core.families.base import Family
from separatrix.core.families.counts import Bernoulli, Categorical, Multinomial
from separatrix.core.families.normal import MultivariateNormal, Normal
from separatrix.core.families.rates import Exponential, Gamma, Poisson
from separatrix.core.families.shares import Beta, Dirichlet

__all__ = [
    "FAMILIES", "Bernoulli", "Beta", "Categorical", "Dirichlet", "Exponential", "Family", "Gamma", "Multinomial",
    "MultivariateNormal", "Normal", "Poisson", "family",
]  # fmt: skip

_KINDS = (
    Normal, MultivariateNormal, Exponential, Gamma, Beta, Dirichlet, Bernoulli, Categorical, Multinomial, Poisson
)  # fmt: skip
FAMILIES: dict[str, Family] = {kind.name: kind() for kind in _KINDS}


def family(which: str | Family) -> Family:
    """name ↦ Family, in any case, spaces or hyphens for underscores, "normal" for "gaussian"; [6867] 3.1.3.

    A Family is returned as it is.

    >>> family("Multivariate Normal")
    MultivariateNormal()
    """
    if isinstance(which, Family):
        return which
    key = str(which).strip().lower().replace(" ", "_").replace("-", "_").replace("normal", "gaussian")
    if key not in FAMILIES:
        raise ValueError(f"unknown family {which!r}: give one of {', '.join(FAMILIES)}, or a Family")
    return FAMILIES[key]
