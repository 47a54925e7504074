"""Links η = g(μ) between a mean μ and a linear score η, each with μ(η), μ'(η), μ''(η) and exact tails.

    powers          identity, log, inverse, sqrt, inverse_squared
    probabilities   logit, probit, cloglog

Notes [6867] 3.1.3 (the natural parameter as a function of the mean), 3.2.3; row D8. Everything is elementwise,
O(size), and right at ±1e3 and ±inf. Nothing checks η: ``domain`` is the mask of those that have a mean.
"""

from __future__ import annotations

from separatrix.core.links.base import Link
from separatrix.core.links.powers import Identity, Inverse, InverseSquared, Log, Sqrt
from separatrix.core.links.probabilities import CLogLog, Logit, Probit

__all__ = [
    "LINKS", "CLogLog", "Identity", "Inverse", "InverseSquared", "Link", "Log", "Logit", "Probit", "Sqrt", "link",
]  # fmt: skip

_KINDS = (Identity, Log, Logit, Probit, CLogLog, Inverse, Sqrt, InverseSquared)
LINKS: dict[str, Link] = {kind.name: kind() for kind in _KINDS}
_ALIASES = {
    "1/mu": "inverse",
    "inverse_power": "inverse",
    "reciprocal": "inverse",
    "1/mu^2": "inverse_squared",
}


def link(which: str | Link) -> Link:
    """name ↦ Link, in any case, spaces or hyphens for underscores; a Link is returned as it is. [6867] 3.1.3.

    R's "1/mu^2" is understood.

    >>> link("Inverse Squared") == link("1/mu^2") == InverseSquared()
    True
    """
    if isinstance(which, Link):
        return which
    key = str(which).strip().lower().replace(" ", "_").replace("-", "_")
    key = _ALIASES.get(key, key)
    if key not in LINKS:
        raise ValueError(f"unknown link {which!r}: give one of {', '.join(LINKS)}, or a Link")
    return LINKS[key]
