"""Which solver can do what: each declares its needs, and an impossible pair is refused before data is read.

What a solver needs of a loss, of the rows and of the coordinates stands here alone: solve/linear.py asks for it and
knows no solver by its name. The solvers of margin machines are in solve/margin.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from separatrix.core.losses import Loss
from separatrix.solve.gradient import gradient_ascent
from separatrix.solve.lbfgs import lbfgs
from separatrix.solve.newton import newton
from separatrix.solve.outcome import Outcome
from separatrix.solve.sequential import stochastic_gradient

Wanted = Literal["standard", "penalised", "round"]


@dataclass(frozen=True)
class Solver:
    """A method, what it needs of a loss and of the rows, and the options it takes (name → meaning).

    ``coordinates``: "standard" columns; "penalised", shrunk where the penalty is the stiffer part; "round", where a
    Gram factor or its diagonal makes the Hessian nearly the identity.
    """

    name: str
    run: Callable[..., Outcome]
    needs_curvature: bool = False
    needs_smooth: bool = False
    needs_memory: bool = False
    quadratic: bool = False  # squares its error at every step: rounding is the natural place to stop
    coordinates: Wanted = "standard"
    # gains where wide rows go through their span; a quadratic method cannot do without it
    spans: bool = False
    preconditioned: bool = False  # takes ``first``, g ↦ H̃⁻¹g for an approximate Hessian
    draws: bool = False  # visits rows in an order drawn from a seed
    options: Mapping[str, str] = field(default_factory=dict)

    def goal(self, tol: float, *, exact: bool = True) -> float:
        """The relative gap at which a fit stops: tol⁴ for a quadratic method, tol/100 for the others.

        Not ``exact``, where a last step costs a sweep over many rows and only predictions are asked for: tol².
        """
        if not self.quadratic:
            return tol / 100
        return tol**4 if exact else tol**2


NEWTON = Solver(
    "newton",
    newton,
    needs_curvature=True,
    quadratic=True,
    spans=True,
    options={"theta": "stop when the step in the weights is shorter than this, ‖Δw‖ < θ"},
)
LBFGS = Solver(
    "lbfgs",
    lbfgs,
    needs_smooth=True,
    coordinates="round",
    spans=True,
    preconditioned=True,
    options={"memory": "pairs of steps kept (20)"},
)
GRADIENT = Solver(
    "gradient",
    gradient_ascent,
    needs_smooth=True,
    coordinates="penalised",
    options={
        "eta": "step size in standardised columns (default: one over the curvature's bound)",
        "threshold": "stop when the norm of the gradient falls below this",
    },
)
SGD = Solver(
    "sgd",
    stochastic_gradient,
    needs_memory=True,
    coordinates="penalised",
    draws=True,
    options={
        "eta": "first step size in standardised columns",
        "batch": "rows a step (32)",
        "average": "whether the second half of the steps is averaged (True)",
    },
)
SOLVERS = {solver.name: solver for solver in (NEWTON, LBFGS, GRADIENT, SGD)}

ALIASES = {"newton-cholesky": "newton"}

# scikit-learn's solvers of the same optimum: the method is chosen here, and the verdict names it
STAND_INS = ("newton-cg", "sag", "saga", "liblinear")

# the same names where a model has no such solver in scikit-learn either
REFUSED = {
    "liblinear": 'liblinear penalises the intercept; "newton" solves the same problem without that',
    "newton-cg": '"newton" (or "lbfgs" for many columns) reaches the same optimum faster',
    "sag": '"sgd" is the stochastic solver here; "auto" is faster to the same optimum',
    "saga": '"sgd" is the stochastic solver here; "auto" is faster to the same optimum',
}


def resolve(name: str, loss: Loss, options: Mapping[str, Any] | None) -> Solver | None:
    """The solver of that name ("auto": None, chosen when the shape is known), or one sentence why not."""
    if name != "auto":
        if name in REFUSED:
            raise ValueError(f"solver {name!r} of scikit-learn has no counterpart here: {REFUSED[name]}")
        if ALIASES.get(name, name) not in SOLVERS:
            known = ", ".join(f'"{s}"' for s in ("auto", *SOLVERS))
            raise ValueError(f"solver {name!r} is unknown: use one of {known}")
    solver = None if name == "auto" else SOLVERS[ALIASES.get(name, name)]
    if solver is not None and solver.needs_curvature and not loss.curved:
        raise ValueError(
            f'solver "{solver.name}" needs a curvature and the {loss.name} loss has none: use "sgd"'
        )
    if solver is not None and solver.needs_smooth and not loss.smooth:
        lack = "its slope grows without bound" if loss.curved else "it has corners"
        raise ValueError(
            f'solver "{solver.name}" needs a slope that changes smoothly, and that of the {loss.name} loss does not '
            f'({lack}): use "{"newton" if loss.curved else "sgd"}"'
        )
    if options and solver is None:
        raise ValueError('solver_options belong to one solver: name it with solver=… instead of "auto"')
    for key in options or {}:
        assert solver is not None
        if key not in solver.options:
            allowed = "; ".join(f"{k}: {v}" for k, v in solver.options.items())
            raise ValueError(f"solver {solver.name!r} has no option {key!r}; it takes {allowed}")
    return solver


def may_be_newton(name: str) -> bool:
    """Whether a name is Newton's, or leaves the choice open."""
    return name == "auto" or ALIASES.get(name, name) == NEWTON.name


def refuse_lazy(solver: Solver) -> None:
    """Ordered methods take rows in memory."""
    if solver.needs_memory:
        raise ValueError(
            f'solver "{solver.name}" visits rows in random order and needs them in memory: '
            'use "newton" or "lbfgs" on a Dask source, or call X.compute() first'
        )
