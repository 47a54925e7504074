"""What every solver takes and gives: a request, a running account of it, and an outcome."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.problems.objective import Evaluation, Memo, Objective
from separatrix.problems.plane import best_step


@dataclass(frozen=True)
class Path:
    """The points a solver visited, in the user's units: what the pictures of the notes draw.

    ``coef`` (T, p) or (T, K, p), ``intercept`` (T,) or (T, K), ``objective`` and ``gradient_norm`` (T,).
    """

    coef: FloatArray
    intercept: FloatArray
    objective: FloatArray
    gradient_norm: FloatArray

    def __len__(self) -> int:
        return len(self.objective)


@dataclass(frozen=True)
class Outcome:
    """Where a solver ended: θ, F(θ), the proven gap (inf: none), and why it stopped."""

    theta: FloatArray
    value: float
    gap: float
    unique: bool | None
    iterations: int
    stopped_by: str
    gradient_norm: float
    runaway: bool = False
    ill_conditioned: bool = False
    floor: float = 0.0  # what rounding the weights may leave of F above its minimum
    last: Evaluation | None = None  # at θ with its Hessian, where a solver was asked for it


@dataclass
class Account:
    """Counts sweeps, keeps their memo and the path while a solver runs; the only thing about a solve that changes."""

    objective: Objective
    record: bool = False
    verbose: int = 0
    sweeps: float = 0.0
    steps: list[tuple[Any, Any, float, float]] = field(default_factory=list)
    memo: Memo = field(default_factory=Memo)

    def evaluate(self, theta: FloatArray, order: int = 1, stride: int = 1, **measure: Any) -> Evaluation:
        self.sweeps += 1.0 / stride
        return self.objective.evaluate(theta, order, stride, memo=self.memo, **measure)

    def best_step(
        self, theta: FloatArray, step: FloatArray, before: FloatArray | None, stride: int = 1
    ) -> FloatArray:
        """The step as long, and as far along the one ``before``, as lowers F most; one pass at most."""
        self.sweeps += 1.0 / stride
        return best_step(self.objective, theta, step, before, stride, self.memo)

    def visit(self, theta: FloatArray, at: Evaluation, note: str = "") -> None:
        if not (self.record or self.verbose):
            return
        norm = float(np.linalg.norm(at.gradient))
        if self.record:
            coef, intercept = self.objective.to_user(theta)
            self.steps.append((coef, intercept, at.value, norm))
        if self.verbose:
            print(
                f"  sweep {self.sweeps:7.2f}   objective {at.value:.10f}   ‖∇‖ {norm:.1e}   {note}",
                file=sys.stderr,
            )

    def path(self) -> Path | None:
        if not self.record:
            return None
        coef, intercept, objective, norm = zip(*self.steps, strict=True)
        return Path(np.array(coef), np.array(intercept), np.array(objective), np.array(norm))
