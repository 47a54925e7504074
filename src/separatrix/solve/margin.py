"""Which solver a margin machine goes to, and one-vs-rest machines side by side.

squared loss, few columns     Newton (solve/finite_newton.py)
corners, few columns          interior point (solve/interior.py)
wide and small                the same, in the span of the rows: w = Xᵀa has no more freedom than n
many columns                  dual coordinate ascent (solve/ascent.py), rows in memory

Coordinate ascent stops at a gap, anywhere within it, so its last digits are those of the order of rows. Where a
factor costs little, or its passes ran out before the gap closed, Newton or the interior point finish what it began.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.engine import available_cores, current_engine, each_in_threads, engine, one_blas_thread
from separatrix.problems.coordinates import row_span
from separatrix.problems.margin import Machine
from separatrix.solve.ascent import coordinate_ascent, joint_ascent
from separatrix.solve.finite_newton import finite_newton
from separatrix.solve.interior import MarginFit, interior
from separatrix.solve.programme import quadratic_programme

NAMES = {"newton": "Newton's method", "interior": "an interior point"}
SOLVERS = ("auto", "interior", "newton", "coordinate", "qp")
FACTOR_LIMIT = 3000  # columns (or rows, of wide data) up to which a factor is worth forming
SPARSE_LIMIT = 600  # columns of sparse rows up to which dense tiles of them are
FURTHER, LITTLE = 1e-12, 1 << 20  # the gap an interior point goes on to on tables of so few cells
RELATIVE = 100.0  # a fit stops at a gap of tol over this
CHEAP = 1 << 23  # n·p·min(n, p) up to which a machine of coordinate ascent is always finished
ROUNDED = 1e-13  # no relative gap below this can be told from rounding


def check_solver(name: str, *, squared: bool, hard: bool) -> None:
    """Refuse, before data is read, a solver that cannot do what is asked."""
    if name not in SOLVERS:
        known = ", ".join(f'"{s}"' for s in SOLVERS)
        raise ValueError(f"solver {name!r} is unknown: use one of {known}")
    if name == "newton" and not squared:
        raise ValueError('solver "newton" needs a squared loss, this one has corners: use "interior"')
    if name == "interior" and squared and not hard:
        raise ValueError('solver "interior" is for losses with corners: use "newton" for a squared one')
    if hard and name not in ("auto", "interior", "qp"):
        raise ValueError(f'solver {name!r} does not know a hard margin (C=np.inf): use "interior"')


def choose(machine: Machine) -> str:
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
            return "coordinate"
    return "newton" if machine.squared else "interior"


def refuse_lazy(name: str) -> None:
    if name in ("coordinate", "qp"):
        raise ValueError(
            f'solver "{name}" needs rows in memory: use "auto" on a Dask source, or call X.compute() first'
        )


def solve_machines(
    machines: Sequence[Machine],
    centre: FloatArray,
    solver: str,
    *,
    tol: float,
    max_iter: int,
    codes: np.ndarray | None = None,
    seed: int = 0,
    verbose: int = 0,
) -> tuple[str, list[MarginFit]]:
    """(solver, fits): every machine solved to a relative gap of ``tol``.

    ``codes`` (n,) says that machine k is class k against the rest, of the same rows: they may then share passes.
    """
    first, tol = machines[0], max(tol, ROUNDED)
    name = choose(first) if solver == "auto" else solver
    if first.rows.lazy:
        refuse_lazy(name)
    if (
        name == "coordinate"
        and len(machines) > 1
        and first.rows.sparse
        and first.squared
        and codes is not None
    ):
        fits = _joint(machines, codes, tol, max_iter, seed, verbose)
        return name, _finished(machines, fits, centre, tol, max_iter, verbose)
    if name == "coordinate":
        fits = _side_by_side(machines, tol, max_iter, seed, verbose)
        return name, _finished(machines, fits, centre, tol, max_iter, verbose)
    fits = []
    for machine in machines:
        fits.append(_one(machine, centre, name, tol, max_iter, verbose))
        if fits[-1].stopped_by == "interrupted":
            max_iter = 0  # the rest are judged where they start
    return name, fits


def _finished(
    machines: Sequence[Machine],
    fits: Sequence[MarginFit],
    centre: FloatArray,
    tol: float,
    max_iter: int,
    verbose: int,
) -> list[MarginFit]:
    """The machines of coordinate ascent, each finished by a method with a factor where that is worth its price."""
    if any(fit.stopped_by == "interrupted" for fit in fits):
        return list(fits)
    rows = machines[0].rows
    cheap = rows.n * rows.p * min(rows.n, rows.p) <= CHEAP
    possible = cheap or choose(machines[0]) != "coordinate"
    name = "newton" if machines[0].squared else "interior"
    out = []
    for machine, fit in zip(machines, fits, strict=True):
        if not (cheap or (possible and fit.stopped_by != "gap ≤ tol")):
            out.append(fit)
            continue
        end = _one(machine, centre, name, tol, max_iter, verbose)
        if end.stopped_by == "interrupted":
            out.append(replace(fit, stopped_by="interrupted"))
        elif end.stopped_by == "gap ≤ tol" or end.proof.gap <= fit.proof.gap:
            words = f"coordinate ascent took {fit.iterations} passes, {NAMES[name]} {end.iterations} steps to finish"
            spent = fit.sweeps + end.sweeps
            out.append(replace(end, iterations=fit.iterations, sweeps=spent, finished=words))
        else:
            out.append(fit)
    return out


def _one(
    machine: Machine, centre: FloatArray, name: str, tol: float, max_iter: int, verbose: int
) -> MarginFit:
    if name == "qp":
        return quadratic_programme(machine, tol, max_iter)
    options: dict[str, Any] = {"verbose": verbose}
    method: Callable[..., MarginFit] = finite_newton
    if name == "interior":
        method = interior
        options["further"] = FURTHER if machine.rows.n * machine.rows.p <= LITTLE else None
    if not _is_wide(machine):
        with one_blas_thread():
            return method(machine, centre, tol, max_iter, **options)
    centre = centre if machine.fit_intercept else np.zeros_like(centre)
    coordinates, span = row_span(machine.rows, centre)
    inner = replace(machine, rows=span)
    with one_blas_thread():
        fit = method(inner, np.zeros(span.p), tol, max_iter, **options)
    assert coordinates.basis is not None
    coef = coordinates.basis @ fit.coef
    b = fit.intercept - float(centre @ coef) if machine.fit_intercept else 0.0
    return replace(fit, coef=coef, intercept=b, proof=machine.prove(coef, b, fit.proof.beta))


def _is_wide(machine: Machine) -> bool:
    return not machine.rows.lazy and machine.rows.p > machine.rows.n


def _side_by_side(
    machines: Sequence[Machine], tol: float, max_iter: int, seed: int, verbose: int
) -> list[MarginFit]:
    fits: list[Any] = [None] * len(machines)

    def work(k: int) -> None:
        with engine("serial"):  # the pool's threads are taken
            fits[k] = coordinate_ascent(machines[k], tol, max_iter, seed=seed, verbose=verbose)

    each_in_threads(work, range(len(machines)))
    return fits


def _joint(
    machines: Sequence[Machine], codes: np.ndarray, tol: float, max_iter: int, seed: int, verbose: int
) -> list[MarginFit]:
    """Runs of neighbouring classes, one a thread."""
    chosen = current_engine()
    workers = 1 if chosen.kind == "serial" else min(chosen.workers or available_cores(), len(machines))
    edges = [len(machines) * i // workers for i in range(workers + 1)]
    fits: list[Any] = [None] * workers

    def work(i: int) -> None:
        a, b = edges[i], edges[i + 1]
        fits[i] = joint_ascent(
            machines[a].rows.source, codes, machines[a:b], a, tol, max_iter, seed=seed, verbose=verbose
        )

    each_in_threads(work, range(workers))
    return [fit for part in fits for fit in part]
