"""Every Verdict is made here, keyword by keyword: who knows something says what it is, and the status follows.

    proven        a bound of F is known:  optimal where F − bound ≤ tol, else not converged
    closed_form   a formula gave the answer, and the gap is its residual's
    no_optimum    a proof says that the infimum is not attained
    no_claim      the method makes none

An interrupted fit is one of these with ``interrupted=True``. Each names the scale of its objective (`Scale`), so that
two verdicts can be compared: a mean loss (mean weighted loss + penalty) or a C-scaled sum (½‖w‖² + C Σ loss).
``seconds`` may be left to who holds the clock (`dataclasses.replace`). Row O3. Cost O(1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.verdict.verdict import Columns, Proof, Scale, Status, Verdict

VERIFIED = "verified from data"  # what stopped a verdict that verify made


def proven(
    model: object,
    *,
    scale: Scale,
    objective: float,
    gap: float,
    tol: float,
    unique: bool | None,
    stopped_by: str,
    sweeps: float = 0.0,
    seconds: float = 0.0,
    findings: Iterable[str] = (),
    status: Status | None = None,
    interrupted: bool = False,
    separation: Proof | None = None,
    method: str = "",
) -> Verdict:
    """min F ∈ [objective − gap, objective]; ``status`` where something else than gap ≤ tol decides it.

    >>> proven(
    ...     "Demo", scale="mean loss", objective=0.25, gap=1e-3, tol=1e-8, unique=True, stopped_by="max_iter"
    ... ).status
    'not converged'
    """
    if status is None:
        status = "optimal" if gap <= tol else "not converged"
    return Verdict(
        model=_name(model),
        status="interrupted" if interrupted else status,
        objective=float(objective),
        gap=float(gap),
        tol=float(tol),
        unique=unique,
        sweeps=sweeps,
        seconds=seconds,
        stopped_by=stopped_by,
        findings=tuple(findings),
        separation=separation,
        method=method,
        scale=scale,
    )


def closed_form(
    model: object,
    *,
    scale: Scale,
    objective: float,
    gap: float,
    tol: float,
    stopped_by: str,
    unique: bool | None = True,
    sweeps: float = 1.0,
    seconds: float = 0.0,
    findings: Iterable[str] = (),
) -> Verdict:
    """A formula's answer: ``gap`` is what its residual leaves, never the size of a step."""
    return proven(
        model, scale=scale, objective=objective, gap=gap, tol=tol, unique=unique, stopped_by=stopped_by,
        sweeps=sweeps, seconds=seconds, findings=findings, status="closed form",
    )  # fmt: skip


def no_optimum(
    model: object,
    *,
    stopped_by: str,
    findings: Iterable[str],
    objective: float = np.nan,
    scale: Scale = "mean loss",
    tol: float = 0.0,
    unique: bool | None = False,
    sweeps: float = 0.0,
    seconds: float = 0.0,
    direction: FloatArray | None = None,
    columns: Columns = (),
    separation: Proof | None = None,
) -> Verdict:
    """F falls for ever along ``direction``; ``separation`` is the proof, ``objective`` where the fit gave up."""
    verdict = proven(
        model, scale=scale, objective=objective, gap=np.inf, tol=tol, unique=unique, stopped_by=stopped_by,
        sweeps=sweeps, seconds=seconds, findings=findings, status="no optimum", separation=separation,
    )  # fmt: skip
    return replace(verdict, direction=direction, columns=columns)


def no_claim(
    model: object,
    *,
    stopped_by: str,
    objective: float = np.nan,
    scale: Scale = "",
    tol: float = 0.0,
    sweeps: float = 0.0,
    seconds: float = 0.0,
    findings: Iterable[str] = (),
    status: Status = "no claim",
    interrupted: bool = False,
    direction: FloatArray | None = None,
    columns: Columns = (),
    separation: Proof | None = None,
) -> Verdict:
    """No bound is known. ``scale`` is that of ``objective``, "" where there is none.

    >>> no_claim("Demo", stopped_by="one pass").gap
    inf
    """
    verdict = proven(
        model, scale=scale, objective=objective, gap=np.inf, tol=tol, unique=None, stopped_by=stopped_by,
        sweeps=sweeps, seconds=seconds, findings=findings, status=status, interrupted=interrupted,
        separation=separation,
    )  # fmt: skip
    return replace(verdict, direction=direction, columns=columns)


def _name(model: object) -> str:
    return model if isinstance(model, str) else type(model).__name__
