"""verify(model, X, y): the verdict again, from data and parameters alone.

Nothing the solver said is used: the objective is rebuilt from the estimator's parameters and the data, F and
its bound are computed at ``coef_`` and ``intercept_``, and a claim that no optimum exists is proven afresh. A
generative model's likelihood is computed row by row, and compared with that of the formula applied to these data.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.problems.coordinates import singular_coordinates
from separatrix.problems.objective import Objective
from separatrix.verdict.gaps import Certificate, certify
from separatrix.verdict.separability import separability
from separatrix.verdict.verdict import Verdict


def verify(model: Any, X: Any, y: Any, sample_weight: Any = None, **given: Any) -> Verdict:
    """F(ŵ) − min F at most how much, recomputed from X (n, p), y (n,) and the fitted parameters.

    Two to five sweeps. The verdict's ``tol`` is the one the fit was asked for, so ``status`` says whether the
    parameters deserve it on these data: a model judged on other data than it was fitted to is not optimal.
    ``given`` is what else the fit was given (offset, exposure, precision).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> verify(model, X, y).status
    'optimal'
    >>> model.coef_[0] += 0.1
    >>> verify(model, X, y).status
    'not converged'
    """
    began = time.perf_counter()
    check_is_fitted(model)
    name = type(model).__name__
    if hasattr(model, "_verdict_from_data"):
        verdict: Verdict = model._verdict_from_data(X, y, sample_weight, **given)
        return replace(verdict, seconds=time.perf_counter() - began)
    if not hasattr(model, "_objectives_of"):
        raise TypeError(f"{name} makes no claim that could be verified from data")
    parts: list[tuple[Objective, Any, Any]] = model._objectives_of(X, y, sample_weight, **given)
    claimed = model.verdict_
    if not all(np.isfinite(weights).all() for _, weights, _ in parts):
        if hasattr(model, "_proof_from_data"):
            proof = model._proof_from_data(X, y, sample_weight, **given)
            return _no_optimum(model, proof, proof is not None and proof.kind != "overlap", began)
        found = separability(X, y, sample_weight, fit_intercept=parts[0][0].fit_intercept)
        proven = found.kind != "overlap" and found.check(X, y, sample_weight)
        return _no_optimum(model, found, proven, began)
    certificates = [_certificate(*part, claimed.tol) for part in parts]
    value, gap = sum(c.objective for c in certificates), sum(c.gap for c in certificates)
    unique = None if any(c.unique is None for c in certificates) else all(c.unique for c in certificates)
    status: Any = "not converged"
    if gap <= _goal(claimed.tol, value):
        status = "closed form" if claimed.status == "closed form" else "optimal"
    elif claimed.status == "stationary" and sum(c.left for c in certificates) <= _goal(claimed.tol, value):
        status = "stationary"
        if unique is None and all(o.proven and getattr(o.loss, "convex", False) for o, _, _ in parts):
            unique = True  # a convex function has one minimum where its curvature is positive
    return Verdict(
        name, status, value, gap, claimed.tol, unique, sum(c.sweeps for c in certificates),
        time.perf_counter() - began, "verified from data",
        (f"gradient norm {max(c.gradient_norm for c in certificates):.1e}",),
    )  # fmt: skip


def _no_optimum(model: Any, found: Any, proven: bool, began: float) -> Verdict:
    """The verdict on a fit without an optimum, from a separation found afresh (None: there is none)."""
    words = ("no direction was found along which the likelihood rises for ever",)
    return Verdict(
        type(model).__name__, "no optimum" if proven else "no claim", np.nan, np.inf, model.verdict_.tol, None, 0,
        time.perf_counter() - began, "verified from data", words if found is None else (found.sentence(),),
        None if found is None else found.direction, () if found is None else found.columns, found,
    )  # fmt: skip


def _certificate(objective: Objective, coef: Any, intercept: Any, tol: float) -> Certificate:
    """Certify in standardised columns; where that proves too little, along their singular directions."""
    found = _certified(objective, coef, intercept)
    if found.gap <= _goal(tol, found.objective) or objective.rows.p > 3000:
        return found
    coordinates, aliased = singular_coordinates(
        objective.rows, objective.rows.moments(), objective.fit_intercept, objective.ridge
    )
    live = int(np.count_nonzero(coordinates.scale))
    if objective.ridge > 0 and coordinates.size < live:  # with a penalty no direction may be left out
        return found
    inside = _certified(objective.in_coordinates(coordinates), coef, intercept)
    inside = replace(inside, sweeps=found.sweeps + 1 + inside.sweeps)
    if len(aliased):
        inside = replace(inside, unique=False)
    return inside if inside.gap < found.gap else found


def _certified(objective: Objective, coef: Any, intercept: Any) -> Certificate:
    """The certificate at θ, and the penalty of what θ cannot express.

    That is a part common to all classes and the weights of constant columns: no score depends on them, so all
    of ½λ(‖w‖² − ‖w seen‖²) is distance from the minimum.
    """
    theta = objective.from_user(coef, intercept)
    found = certify(objective, theta)
    seen = objective.to_user(theta)[0]
    extra = 0.5 * objective.ridge * float(np.sum((coef - seen) * (coef + seen)))
    value, gap = found.objective + extra, found.gap + max(extra, 0.0)
    free = objective.ridge == 0 and not objective.coordinates.scale.all()  # a column that says nothing
    return replace(
        found,
        objective=value,
        gap=min(gap, value) if objective.ridge > 0 else gap,  # no loss is negative
        unique=False if free else found.unique,
    )


def _goal(tol: float, value: float) -> float:
    """The gap asked for, but no finer than sums of the data can show."""
    return max(tol, 1e-13 * abs(value))
