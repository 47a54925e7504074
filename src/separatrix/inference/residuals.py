"""Residuals of a fitted likelihood and what each row does to it ([6867] 3.2.3; row D8).

    response   y − μ                        pearson    (y − μ) √(w/V(μ))
    working    (y − μ) dη/dμ                deviance   sign(y − μ) √(w d(y, μ))
    Cook       r² h / (k φ (1 − h)²),  r Pearson, h leverage

w is the precision of a row (trials of a proportion). Cost: one sweep for the scores, another for leverages.
"""

from __future__ import annotations

import numpy as np

from separatrix.core.losses import Multinomial
from separatrix.core.numerics import FloatArray
from separatrix.inference.likelihood import Likelihood

KINDS = ("deviance", "pearson", "response", "working")


def residuals(fit: Likelihood, kind: str = "deviance", standardised: bool = False) -> FloatArray:
    """Residuals of the given kind: (n,); K classes: (n, K) for "response" and "pearson"."""
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is unknown: use one of {', '.join(KINDS)}")
    if standardised and kind not in ("deviance", "pearson"):
        raise ValueError(f'standardised=True is for "deviance" and "pearson" residuals, not {kind!r}')
    found = _of_classes(fit, kind) if fit.response is None else _of_response(fit, kind)
    if not standardised:
        return found
    if fit.response is None:
        raise ValueError("standardised residuals are for one score a row: K classes have no single leverage")
    with np.errstate(divide="ignore", invalid="ignore"):
        return found / np.sqrt(fit.dispersion * (1.0 - fit.leverage))


def _of_response(fit: Likelihood, kind: str) -> FloatArray:
    assert fit.response is not None and fit.link is not None
    y, mu = fit.seen.y, fit.mu
    w = 1.0 if fit.seen.precision is None else fit.seen.precision
    complement = fit.link.complement(fit.eta) if fit.response.mean_range[1] == 1.0 else None
    raw = y - mu
    with np.errstate(all="ignore"):
        if kind == "response":
            return raw
        if kind == "working":
            return raw / fit.link.first(fit.eta)
        if kind == "pearson":
            return raw * np.sqrt(w / fit.response.variance(mu, complement))
        return np.sign(raw) * np.sqrt(w * fit.response.unit_deviance(y, mu, complement))


def _of_classes(fit: Likelihood, kind: str) -> FloatArray:
    codes = np.asarray(fit.seen.y, dtype=np.intp)
    hit = np.eye(fit.mu.shape[1])[codes]
    if kind == "working":
        raise ValueError("working residuals are for one score a row: K classes have none")
    if kind == "deviance":
        return np.sqrt(2.0 * Multinomial().value(fit.eta, fit.seen.y))
    raw = hit - fit.mu
    return raw if kind == "response" else raw / np.sqrt(fit.mu * (1.0 - fit.mu))


def cooks_distance(fit: Likelihood) -> FloatArray:
    """r² h / (k φ (1 − h)²) of each row: (n,)."""
    if fit.response is None:
        raise ValueError("Cook's distance is for one score a row: K classes have no single leverage")
    h = fit.leverage
    with np.errstate(divide="ignore", invalid="ignore"):
        return residuals(fit, "pearson") ** 2 * h / (fit.rank * fit.dispersion * (1.0 - h) ** 2)
