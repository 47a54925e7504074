"""The model without columns:  g(E y) = b + offset, what a fit is measured against ([6867] 3.2.3; row D8).

Without an offset b = g(ȳ); with one by Newton's method on a single number. Cost O(n), a few passes with an offset.
"""

from __future__ import annotations

import numpy as np

from separatrix.core.links import Link
from separatrix.core.responses import GlmLoss, Response
from separatrix.data.observations import Observations


def null_intercept(family: Response, link: Link, seen: Observations, fit_intercept: bool) -> float:
    """The score of the model without columns: g(ȳ), with an offset by Newton's method on one number.

    >>> from separatrix.core.responses import Poisson
    >>> from separatrix.core.links import Log
    >>> seen = Observations(np.array([1.0, 3.0]), offset=np.log([1.0, 3.0]))
    >>> round(null_intercept(Poisson(), Log(), seen, True), 12)
    0.0
    """
    if not fit_intercept:
        return 0.0
    y, s = seen.y, seen.weight
    low, high = link.interval(*family.mean_range)
    if s is not None:
        keep = s > 0
        y, s = y[keep], s[keep]
    mean = float(np.average(y, weights=s))
    start = float(np.average(family.start(y), weights=s)) if mean in (0.0, 1.0) or mean != mean else mean
    with np.errstate(all="ignore"):
        b = float(link.eta(start))
    if not np.isfinite(b) or not low < b < high:
        raise ValueError(
            f"the mean of y is {mean:.4g}, which the {link.name} link does not reach: choose another link"
        )
    if seen.offset is None:
        return b
    offset = seen.offset if seen.weight is None else seen.offset[seen.weight > 0]
    loss = GlmLoss(family, link)
    if link.name == "log":  # a Poisson's answer, and near the others'
        b = float(np.log(start) - np.log(np.average(np.exp(offset), weights=s)))
    else:
        b -= float(np.average(offset, weights=s))
    least, most = low - float(offset.min()), high - float(offset.max())  # b must lie between for every row
    if not least < most:
        return b  # no constant does: the start by least squares may
    if not least < b < most:
        far = max(float(np.std(offset)), abs(b), 1e-3)
        b = least + far if most == np.inf else most - far if least == -np.inf else 0.5 * (least + most)
    value = float(np.average(loss.value(b + offset, y), weights=s))
    for _ in range(100):
        _, slope, bend = loss.derivatives(b + offset, y)
        g, h = float(np.average(slope, weights=s)), float(np.average(bend, weights=s))
        if not h > 0:
            break
        step, size = -g / h, 1.0
        while size > 1e-9:
            new = float(np.average(loss.value(b + size * step + offset, y), weights=s))
            if new <= value:
                break
            size *= 0.5
        else:
            break
        b, value = b + size * step, new
        if abs(step) <= 1e-14 * (1.0 + abs(b)):
            break
    return b


def null_deviance(
    family: Response, link: Link, seen: Observations, intercept: float, fit_intercept: bool
) -> float:
    """Σ_i s_i d(y_i, μ₀): the deviance of the model without columns."""
    s = seen.weight
    with np.errstate(all="ignore"):
        if seen.offset is not None:
            return 2.0 * seen.total(GlmLoss(family, link).value(intercept + seen.offset, seen.y))
        if fit_intercept:
            mean = float(np.average(seen.y if s is None else np.where(s > 0, seen.y, 0.0), weights=s))
        else:
            mean = float(link.inverse(0.0))
        return seen.total_of(lambda y: family.unit_deviance(y, mean))
