"""What linear support vector machines share: checks of parameters, moments of the rows, the verdict and its proof.

    F(w, b) = ½‖w‖² + C Σ_i s_i ℓ(y_i, w·x_i + b),       F − D(β) ≥ F − min F,  D the dual (problems/margin.py)

Notes [6867] 5.2, 5.3, [6321]. Rows M4–M7, M10. Cost: a proof is one sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from separatrix.core.margins import MarginReport
from separatrix.core.numerics import FloatArray
from separatrix.data.checks import check_positive
from separatrix.data.door import column_name
from separatrix.models.parameters import check_limits
from separatrix.problems.margin import MarginMachine, Proof
from separatrix.solve.interior import MarginFit
from separatrix.solve.joint import JointFit
from separatrix.solve.margin import RELATIVE, check_solver, serves_all_classes
from separatrix.verdict.build import VERIFIED, proven
from separatrix.verdict.verdict import Verdict

REMEDY = "Use a finite C"
WAY = "Increase max_iter, or scale the columns to similar sizes"


class LinearParameters(Protocol):
    """The parameters that linear machines have in common."""

    C: float
    tol: float
    max_iter: int
    dual: bool | str
    solver: str
    intercept_scaling: float
    n_jobs: int | None


def checked_solver(model: LinearParameters, *, squared: bool) -> str:
    """The solver's name; C, tolerances, liblinear's own parameters and solvers that cannot be meant are refused."""
    check_positive("C", model.C)
    if model.intercept_scaling != 1:
        raise ValueError(
            f"intercept_scaling={model.intercept_scaling!r} undoes liblinear's penalty on the intercept: there is "
            "none here, leave it 1"
        )
    check_limits(model.tol, model.max_iter, model.n_jobs)
    solver = dual_solver(model.dual, model.solver, squared=squared)
    check_solver(solver, squared=squared, hard=bool(np.isinf(model.C)))
    return solver


def dual_solver(dual: bool | str, solver: str, *, squared: bool) -> str:
    """The solver that ``dual`` and ``solver`` mean together."""
    if isinstance(dual, str) and dual == "auto":
        return solver
    if not isinstance(dual, (bool, np.bool_)):
        raise ValueError(f'dual must be "auto", True or False, got {dual!r}')
    if dual:
        if not serves_all_classes(solver):
            raise ValueError(f'dual=True is coordinate ascent, and solver is {solver!r}: leave dual="auto"')
        return "coordinate" if solver == "auto" else solver
    if not squared:
        raise ValueError(
            'dual=False needs a squared loss: one with corners is solved in primal and dual together, leave it "auto"'
        )
    if solver not in ("auto", "newton"):
        raise ValueError(f'dual=False is Newton on the primal, and solver is {solver!r}: leave dual="auto"')
    return "newton"


def margin_report(machine: MarginMachine, proof: Proof, coef: FloatArray) -> MarginReport:
    """What one hinge machine says of its examples."""
    return MarginReport(
        np.abs(proof.beta), machine.target * proof.eta, proof.primal, proof.dual, float(np.linalg.norm(coef)),
        machine.kkt(proof.eta, proof.beta),
    )  # fmt: skip


def proof_from_data(
    machine: MarginMachine, coef: FloatArray, intercept: float, beta: FloatArray
) -> MarginFit:
    """The better proof at (w, b) of a dual point given (checked, not trusted) and of the losses' slopes.

    β of other rows than these, of another length, is no point: zero stands in for it.
    """
    beta = beta if len(beta) == machine.rows.n else np.zeros(machine.rows.n)
    proof = machine.prove(coef, intercept, beta)
    if not machine.hard:
        other = machine.prove(coef, intercept, machine.slope_beta(proof.eta))
        proof = max(proof, other, key=lambda p: p.dual)
    return MarginFit(coef, intercept, proof, 0, 3.0, VERIFIED)


def machines_verdict(
    model: LinearParameters,
    fits: Sequence[MarginFit] | Sequence[JointFit],
    machines: Sequence[MarginMachine] = (),
    findings: tuple[str, ...] = (),
) -> Verdict:
    """The machines' verdicts as one: primal objectives, dual bounds and gaps add up. The joint machine has none."""
    proofs = [f.proof if isinstance(f, MarginFit) else f for f in fits]
    primal, gap = sum(p.primal for p in proofs), sum(p.gap for p in proofs)
    goal = max(float(model.tol) / RELATIVE, 1e-13) * abs(primal)
    stops = [f.stopped_by for f in fits]
    interrupted = "interrupted" in stops
    stopped = "interrupted" if interrupted else next((s for s in stops if s != "gap ≤ tol"), stops[0])
    finished = [f.finished for f in fits if isinstance(f, MarginFit) and f.finished]
    if finished:
        more = f" (the first of {len(finished)} machines)" if len(finished) > 1 else ""
        findings = (*findings, finished[0] + more)
    single = machines and not any(m.fit_intercept and not m.squared and not m.hard for m in machines)
    return proven(
        model, scale="C-scaled sum", objective=primal, gap=gap, tol=goal, unique=True if single else None,
        stopped_by=stopped, sweeps=sum(f.sweeps for f in fits) + 1.0, findings=findings, interrupted=interrupted,
        status="optimal" if np.isfinite(primal) and gap <= goal else "not converged",
    )  # fmt: skip


def scale_findings(model: object, spread: FloatArray) -> tuple[str, ...]:
    """A sentence where columns differ so much in size that the penalty sees only the small ones."""
    live = np.flatnonzero(spread > 0)
    if not len(live) or len(live) > 10_000:
        return ()
    small, large = int(live[np.argmin(spread[live])]), int(live[np.argmax(spread[live])])
    if spread[large] <= 1e3 * spread[small]:
        return ()
    return (
        f"scales: column {column_name(model, large)} spreads {spread[large] / spread[small]:.0e} times as wide as "
        f"column {column_name(model, small)}, and ½‖w‖² weighs them alike: standardise them unless that is meant",
    )
