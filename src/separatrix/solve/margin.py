"""Which solver a margin machine goes to: each declares what it can do, and an impossible pair is refused before data.

squared loss, few columns     Newton (solve/finite_newton.py)
corners, few columns          interior point (solve/interior.py)
wide and small                the same, in the span of the rows: w = Xᵀa has no more freedom than n
many columns                  dual coordinate ascent (solve/ascent.py), rows in memory, machines side by side
classes together              passes over rows, or a dense programme where they are few (solve/joint.py)

Coordinate ascent stops at a gap, anywhere within it, so its last digits are those of the order of rows. Where a
factor costs little, or its passes ran out before the gap closed, Newton or the interior point finish what it began.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.engine import available_cores, current_engine, each_in_threads, engine, one_blas_thread
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates, row_span
from separatrix.problems.gram_span import RowBasis, gram_span
from separatrix.problems.margin import MarginMachine, prove_together
from separatrix.solve.ascent import coordinate_ascent, joint_ascent
from separatrix.solve.finite_newton import finite_newton
from separatrix.solve.interior import MarginFit, interior
from separatrix.solve.joint import JointFit, JointMachine, joint_passes, joint_programme
from separatrix.solve.programme import quadratic_programme
from separatrix.solve.short_rows import Table

FACTOR_LIMIT = 3000  # columns (or rows, of wide data) up to which a factor is worth forming
SPARSE_LIMIT = 600  # columns of sparse rows up to which dense tiles of them are
FURTHER, LITTLE = 1e-12, 1 << 20  # the gap an interior point goes on to on tables of so few cells
RELATIVE = 100.0  # a fit stops at a gap of tol over this
CHEAP = 1 << 23  # n·p·min(n, p) up to which a machine of coordinate ascent is always finished
EXACT = 1e-12  # the relative gap up to which rounding in the Gram matrix of wide rows does no harm
ROUNDED = 1e-13  # no relative gap below this can be told from rounding
FEW = 900  # n·K up to which the programme of all classes together is quicker than passes


@dataclass(frozen=True, eq=False)
class Request:
    """A relative gap of ``tol`` in at most ``max_iter`` steps; ``centre`` (p,) are the columns' means.

    ``codes`` (n,) says that machine k is class k against the rest, of the same rows: they may then share passes.
    """

    centre: FloatArray
    tol: float
    max_iter: int
    codes: np.ndarray | None = None
    seed: int = 0
    verbose: int = 0
    span: tuple[Coordinates, Rows] | None = None  # of wide rows
    table: Table | None = None  # of few cells, where several machines share them
    kept: dict[bytes, tuple[FloatArray, FloatArray]] = field(
        default_factory=dict
    )  # of the span: see finite_newton


Method = Callable[..., MarginFit]


@dataclass(frozen=True)
class MarginSolver:
    """A method and what it can do; ``words`` is how a sentence calls it."""

    name: str
    run: Callable[[MarginMachine, Request], MarginFit]
    corners: bool = False  # a hinge, a tube
    squared: bool = False  # their squares
    hard: bool = False  # rows that may not be missed, C = ∞
    lazy: bool = False  # rows that come by sweeps; else they are in memory
    ordered: bool = False  # visits row after row: machines run side by side, and a factor may finish them
    joint: Callable[..., JointFit] | None = None  # all classes in one machine
    method: Callable[[MarginMachine, Request], Method] | None = None  # with a factor: wide rows in their span
    words: str = ""


def _interior(machine: MarginMachine, request: Request) -> Method:
    return partial(interior, further=FURTHER if machine.rows.n * machine.rows.p <= LITTLE else None)


def _newton(machine: MarginMachine, request: Request) -> Method:
    return partial(finite_newton, kept=request.kept, table=request.table)


def _by_interior(machine: MarginMachine, request: Request) -> MarginFit:
    return _in_span(_interior(machine, request), [machine], request)[0]


def _by_newton(machine: MarginMachine, request: Request) -> MarginFit:
    machine = replace(machine, rows=machine.rows.in_doubles())
    return _in_span(_newton(machine, request), [machine], request)[0]


def _by_ascent(machine: MarginMachine, request: Request) -> MarginFit:
    with engine("serial"):  # the pool's threads are taken
        return coordinate_ascent(
            machine, request.tol, request.max_iter, seed=request.seed, verbose=request.verbose
        )


def _by_programme(machine: MarginMachine, request: Request) -> MarginFit:
    return quadratic_programme(machine, request.tol, request.max_iter)


INTERIOR = MarginSolver(
    "interior", _by_interior, corners=True, hard=True, lazy=True, method=_interior, words="an interior point"
)
NEWTON = MarginSolver("newton", _by_newton, squared=True, lazy=True, method=_newton, words="Newton's method")
COORDINATE = MarginSolver(
    "coordinate", _by_ascent, corners=True, squared=True, ordered=True, joint=joint_passes
)
PROGRAMME = MarginSolver("qp", _by_programme, corners=True, squared=True, hard=True, joint=joint_programme)
SOLVERS = {solver.name: solver for solver in (INTERIOR, NEWTON, COORDINATE, PROGRAMME)}


def check_solver(name: str, *, squared: bool, hard: bool) -> None:
    """Refuse, before data is read, a solver that cannot do what is asked."""
    names = ("auto", *SOLVERS)
    if name not in names:
        known = ", ".join(f'"{s}"' for s in names)
        raise ValueError(f"solver {name!r} is unknown: use one of {known}")
    if name == "auto":
        return
    solver = SOLVERS[name]
    if not squared and not solver.corners:
        raise ValueError(f'solver "{name}" needs a squared loss, this one has corners: use "interior"')
    if squared and not hard and not solver.squared:
        raise ValueError(f'solver "{name}" is for losses with corners: use "newton" for a squared one')
    if hard and not solver.hard:
        raise ValueError(f'solver {name!r} does not know a hard margin (C=np.inf): use "interior"')


def serves_all_classes(name: str) -> bool:
    """Whether a solver, or the choice left open, takes all classes in one machine: the methods on the dual."""
    return name == "auto" or (name in SOLVERS and SOLVERS[name].joint is not None)


def refuse_lazy(name: str) -> None:
    """Refuse a solver that takes rows in memory; "auto" finds another."""
    if name in SOLVERS and not SOLVERS[name].lazy:
        raise ValueError(
            f'solver "{name}" needs rows in memory: use "auto" on a Dask source, or call X.compute() first'
        )


def choose(machine: MarginMachine) -> MarginSolver:
    """The solver "auto" means for rows of this shape."""
    rows = machine.rows
    small = SPARSE_LIMIT if rows.sparse else FACTOR_LIMIT
    if rows.p > small and not (rows.n <= FACTOR_LIMIT and _is_wide(machine) and not rows.sparse):
        if rows.lazy:
            raise ValueError(
                f"{rows.p} columns are too many for a method by sweeps (at most {FACTOR_LIMIT}), and coordinate "
                "ascent needs rows in memory: call X.compute() first"
            )
        if not machine.hard:
            return COORDINATE
    return _with_factor(machine)


def _with_factor(machine: MarginMachine) -> MarginSolver:
    return NEWTON if machine.squared else INTERIOR


def solve_machines(
    machines: Sequence[MarginMachine],
    centre: FloatArray,
    solver: str,
    *,
    tol: float,
    max_iter: int,
    codes: np.ndarray | None = None,
    seed: int = 0,
    verbose: int = 0,
) -> tuple[str, list[MarginFit]]:
    """(solver, fits): every machine solved as a :class:`Request` says."""
    request = Request(centre, max(tol, ROUNDED), max_iter, codes, seed, verbose)
    chosen = choose(machines[0]) if solver == "auto" else SOLVERS[solver]
    if machines[0].rows.lazy:
        refuse_lazy(chosen.name)
    if chosen.ordered:
        return chosen.name, _finished(machines, _side_by_side(chosen, machines, request), request)
    if chosen.method is not None and _is_wide(machines[0]):
        return chosen.name, _in_span(chosen.method(machines[0], request), machines, request)
    if chosen is NEWTON and len(machines) > 1:
        centred = centre if machines[0].fit_intercept else np.zeros_like(centre)
        request = replace(request, table=Table.of(machines[0].rows, centred, machines[0].fit_intercept))
    fits = []
    for machine in machines:
        fits.append(chosen.run(machine, request))
        if fits[-1].stopped_by == "interrupted":
            request = replace(request, max_iter=0)  # the rest are judged where they start
    return chosen.name, fits


def solve_joint(
    machine: JointMachine, solver: str, tol: float, max_iter: int, *, seed: int = 0, verbose: int = 0
) -> tuple[str, JointFit]:
    """(solver, fit) of all classes in one machine; "auto" goes by size, and by passes on from a programme's end."""
    chosen = SOLVERS.get(solver, PROGRAMME if machine.rows.n * machine.n_classes <= FEW else COORDINATE)
    assert chosen.joint is not None
    fit = chosen.joint(machine, tol, max_iter, seed=seed, verbose=verbose)
    if solver == "auto" and not chosen.ordered and not fit.gap <= tol * abs(fit.primal):
        more = joint_passes(machine, tol, max_iter, start=fit, seed=seed, verbose=verbose)
        fit = replace(more, iterations=fit.iterations + more.iterations, sweeps=fit.sweeps + more.sweeps)
    return chosen.name, fit


def _in_span(method: Method, machines: Sequence[MarginMachine], request: Request) -> list[MarginFit]:
    """A method with a factor, of wide rows in their span, which machines of the same rows share; proven at once."""
    first, tol, most, verbose = machines[0], request.tol, request.max_iter, request.verbose
    if not _is_wide(first):
        with one_blas_thread():
            return [method(machine, request.centre, tol, most, verbose=verbose) for machine in machines]
    centre = request.centre if first.fit_intercept else np.zeros_like(request.centre)
    with one_blas_thread():
        coordinates, span = request.span or _span_of(machines, centre)
        found: list[MarginFit] = []
        for machine in machines:
            found.append(method(replace(machine, rows=span), np.zeros(span.p), tol, most, verbose=verbose))
            if found[-1].stopped_by == "interrupted":
                most = 0  # the rest are judged where they start
        coefs = np.ascontiguousarray(coordinates.weights(np.column_stack([fit.coef for fit in found])).T)
        b = np.array([fit.intercept for fit in found]) - coefs @ centre  # the centre is zero where b is
        proofs = prove_together(machines, coefs, b, [fit.proof.beta for fit in found])
    out = []
    for machine, fit, coef, intercept, proof in zip(machines, found, coefs, b.tolist(), proofs, strict=True):
        told = 4.0 * fit.proof.gap + EXACT * abs(proof.primal)
        if (
            isinstance(coordinates.basis, RowBasis)
            and fit.stopped_by == "gap ≤ tol"
            and not proof.gap <= told
        ):
            # the Gram matrix was too coarse
            by_factor = replace(request, span=row_span(machine.rows, centre), kept={})
            out.append(_with_factor(machine).run(machine, by_factor))
        else:
            out.append(replace(fit, coef=coef, intercept=intercept, proof=proof))
    return out


def _span_of(machines: Sequence[MarginMachine], centre: FloatArray) -> tuple[Coordinates, Rows]:
    """The span of wide rows that all machines share: by their Gram matrix where slack is not too dear for that."""
    first, found = machines[0], None
    if not any(machine.hard for machine in machines):
        cost = np.max([np.maximum(machine.up, machine.down) for machine in machines], axis=0)
        dearest = float(cost.max(initial=0.0))
        found = gram_span(first.rows, centre, 0.5 / dearest if dearest > 0 else np.inf, cost > 0)
    return found or row_span(first.rows, centre)


def _is_wide(machine: MarginMachine) -> bool:
    return not machine.rows.lazy and machine.rows.p > machine.rows.n


def _side_by_side(
    solver: MarginSolver, machines: Sequence[MarginMachine], request: Request
) -> list[MarginFit]:
    """Machines one a thread; runs of neighbouring classes where they may share passes."""
    first, chosen, count = machines[0], current_engine(), len(machines)
    shared = count > 1 and first.rows.sparse and first.squared and request.codes is not None
    workers = count
    if shared:
        workers = 1 if chosen.kind == "serial" else min(chosen.workers or available_cores(), count)
    edges = [count * i // workers for i in range(workers + 1)]
    fits: dict[int, list[MarginFit]] = {}

    def work(i: int) -> None:
        a, b = edges[i], edges[i + 1]
        if not shared:
            fits[i] = [solver.run(machines[a], request)]
            return
        assert request.codes is not None
        fits[i] = joint_ascent(
            first.rows.source, request.codes, machines[a:b], a, request.tol, request.max_iter,
            seed=request.seed, verbose=request.verbose,
        )  # fmt: skip

    each_in_threads(work, range(workers))
    return [fit for i in range(workers) for fit in fits[i]]


def _finished(
    machines: Sequence[MarginMachine], fits: Sequence[MarginFit], request: Request
) -> list[MarginFit]:
    """The machines of coordinate ascent, each finished by a method with a factor where that is worth its price."""
    if any(fit.stopped_by == "interrupted" for fit in fits):
        return list(fits)
    rows = machines[0].rows
    cheap = rows.n * rows.p * min(rows.n, rows.p) <= CHEAP
    possible = cheap or not choose(machines[0]).ordered
    method = _with_factor(machines[0])
    out = []
    for machine, fit in zip(machines, fits, strict=True):
        if not (cheap or (possible and fit.stopped_by != "gap ≤ tol")):
            out.append(fit)
            continue
        end = method.run(machine, request)
        if end.stopped_by == "interrupted":
            out.append(replace(fit, stopped_by="interrupted"))
        elif end.stopped_by == "gap ≤ tol" or end.proof.gap <= fit.proof.gap:
            words = f"coordinate ascent took {fit.iterations} passes, {method.words} {end.iterations} steps to finish"
            spent = fit.sweeps + end.sweeps
            out.append(replace(end, iterations=fit.iterations, sweeps=spent, finished=words))
        else:
            out.append(fit)
    return out
