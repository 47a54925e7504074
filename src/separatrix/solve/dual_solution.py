"""Where a search on the dual of a kernel machine ended, and what is proven of it (problems/dual.py has the proof)."""

from __future__ import annotations

from dataclasses import dataclass

from separatrix.core.numerics import FloatArray


@dataclass(frozen=True, eq=False)
class DualSolution:
    """Where the solver ended: β (m,), scores Kβ (n,), b, and what is proven of it.

    Those of :class:`~separatrix.problems.dual.DualProof` are computed in double; ``values`` is the number of kernel
    values computed, ``intercept`` the mean of the ``levels``.
    """

    beta: FloatArray
    score: FloatArray
    intercept: float
    primal: float
    dual: float
    square: float
    violation: float
    steps: int
    rounds: int
    values: int
    stopped_by: str
    indefinite: bool
    single: bool
    freedom: float = 0.0
    levels: tuple[float, ...] = ()
    scale: float = 0.0

    @property
    def gap(self) -> float:
        return max(self.primal - self.dual, 0.0)
