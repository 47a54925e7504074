"""The Gaussian prior an estimator's parameters ask for, read and checked: N(m₀, S₀) over (b, w)  ([6867] 4).

    prior_precision    α or (p,)            S₀ = diag(1/α_j), the intercept's apart
    prior_covariance   (p, p) or (p+1, p+1)  S₀ itself, the intercept first where it is there
    prior_mean         0, a number, (p,) or (p+1,); K > 2 classes (K, p) or (K, p+1)

Weights are the user's; an intercept that ``prior_covariance`` does not speak of has its prior at the mean row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.numerics import EPS, FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.door import column_name
from separatrix.problems.prior import Prior, contrasts

if TYPE_CHECKING:
    from separatrix.models.bayes.bayesian import BayesianLogisticRegression

INTERCEPT_PRECISION = 0.01


def read_prior(model: BayesianLogisticRegression, moments: Moments, n_classes: int) -> Prior:
    """The prior over φ = (w, score at the anchor); a precision still to be chosen is 1 for now."""
    p, one = len(moments.mean), bool(model.fit_intercept)
    P, whole = _precision(model, p, one)
    anchor = moments.mean if one and not whole else np.zeros(p)
    mean = _mean(model, p, n_classes, one, anchor)
    live = np.isfinite(P) if P.ndim == 1 else np.ones(p, dtype=bool)
    if not (mean[:p][~live] == 0).all():
        raise ValueError(
            "prior_precision is infinite where prior_mean is not 0: a weight held fixed can be held at 0 only"
        )
    if one and not whole:
        P = _with_intercept(P, float(model.intercept_precision))
    if P.ndim == 1:
        log_det = float(np.log(P[np.isfinite(P)]).sum())
    else:
        log_det = float(np.linalg.slogdet(P)[1])
    return Prior(mean, P, log_det * (n_classes - 1), anchor, live)


def is_default(value: object, default: float) -> bool:
    """Whether a parameter was left alone, as far as can be seen."""
    return isinstance(value, (int, float)) and value == default


def _with_intercept(P: FloatArray, precision: float) -> FloatArray:
    if P.ndim == 1:
        return np.append(P, precision)
    p = len(P)
    wide = np.zeros((p + 1, p + 1))
    wide[:p, :p], wide[p, p] = P, precision
    return wide


def _precision(model: BayesianLogisticRegression, p: int, one: bool) -> tuple[FloatArray, bool]:
    """(P of the weights, (p,) or (p, p), False), or (P of weights and, last, the intercept at the origin, True)."""
    if model.prior_covariance is not None:
        return _from_covariance(model, p, one)
    if isinstance(model.prior_precision, str):
        return np.ones(p), False
    alpha = _numbers("prior_precision", model.prior_precision)
    if alpha.ndim == 0:
        if not 0 < alpha < np.inf:
            raise ValueError(
                f"prior_precision must be positive and finite, got {model.prior_precision!r}; for no prior at all "
                "use LogisticRegression(C=np.inf)"
            )
        return np.full(p, float(alpha)), False
    if alpha.shape != (p,):
        raise ValueError(
            f"prior_precision must be a number or one number a column, shape ({p},); got shape {alpha.shape}"
        )
    if not (alpha > 0).all():
        j = int(np.flatnonzero(~(alpha > 0))[0])
        raise ValueError(
            f"prior_precision must be positive: column {column_name(model, j)} has {alpha[j]}. A small number such "
            "as 1e-6 is next to no prior"
        )
    return alpha, False


def _from_covariance(model: BayesianLogisticRegression, p: int, one: bool) -> tuple[FloatArray, bool]:
    S = _numbers("prior_covariance", model.prior_covariance)
    whole = one and S.shape == (p + 1, p + 1)
    if S.shape != (p, p) and not whole:
        also = f", or ({p + 1}, {p + 1}) with the intercept first" if one else ""
        raise ValueError(f"prior_covariance must have shape ({p}, {p}){also}; got shape {S.shape}")
    if not np.isfinite(S).all():
        raise ValueError("prior_covariance must be finite")
    if whole and not is_default(model.intercept_precision, INTERCEPT_PRECISION):
        raise ValueError(
            f"prior_covariance of shape ({p + 1}, {p + 1}) has the intercept's variance already: leave "
            "intercept_precision out"
        )
    if not np.allclose(S, S.T, rtol=1e-8, atol=1e-8 * np.abs(S).max()):
        i, j = (int(v) for v in np.unravel_index(int(np.abs(S - S.T).argmax()), S.shape))
        raise ValueError(
            f"prior_covariance must be symmetric: entry ({i}, {j}) is {S[i, j]:g} and ({j}, {i}) is {S[j, i]:g}. "
            "Use (S + S.T) / 2 if the difference is rounding"
        )
    S = (S + S.T) / 2
    size = np.sqrt(np.where(np.diag(S) > 0, np.diag(S), 1.0))
    scaled = S / size / size[:, None]
    if not (np.diag(S) > 0).all() or np.linalg.eigvalsh(scaled)[0] < len(S) * EPS:
        raise ValueError(
            f"prior_covariance is not positive definite: its smallest eigenvalue is {np.linalg.eigvalsh(S)[0]:.3g}. "
            "Add a small number to its diagonal, or give prior_precision"
        )
    P = np.linalg.inv(scaled) / size / size[:, None]
    P = (P + P.T) / 2
    if whole:  # the intercept last, as everywhere inside
        order = np.append(np.arange(1, p + 1), 0)
        P = P[np.ix_(order, order)]
    return P, whole


def _mean(model: BayesianLogisticRegression, p: int, k: int, one: bool, anchor: FloatArray) -> FloatArray:
    """m of φ: (q,), or (q, K−1) in contrasts; given for the weights alone, the score at the anchor has mean 0."""
    m = _numbers("prior_mean", model.prior_mean)
    rows = 1 if k == 2 else k
    also = ""
    if one:
        also = f" or {f'({p + 1},)' if k == 2 else f'({k}, {p + 1})'} with the intercept first"
    if not np.isfinite(m).all():
        raise ValueError("prior_mean must be finite")
    if m.ndim < 2 and k > 2 and m.any():
        raise ValueError(
            f"prior_mean common to all {k} classes changes no probability: give a row a class, shape ({k}, {p}){also}"
        )
    wide = np.full((rows, p), float(m)) if m.ndim == 0 else np.atleast_2d(m)
    if m.ndim == 1 and k > 2 and len(m) in (p, p + one):
        wide = np.zeros((rows, len(m)))
    if wide.ndim != 2 or len(wide) != rows or wide.shape[1] not in (p, p + one):
        wanted = f"({p},)" if k == 2 else f"({k}, {p})"
        raise ValueError(f"prior_mean must be 0, or of shape {wanted}{also}; got shape {m.shape}")
    phi = wide[:, -p:]
    if one:
        c = wide[:, 0] + phi @ anchor if wide.shape[1] == p + 1 else np.zeros(rows)
        phi = np.column_stack([phi, c])
    basis = contrasts(None if k == 2 else k)
    return phi[0].copy() if basis is None else phi.T @ basis


def _numbers(name: str, value: ArrayLike) -> FloatArray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {value!r}") from None
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be numbers, got {value!r}")
    return array
