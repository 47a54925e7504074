"""The solvers of margin machines: what each says it can do is what it does, and refusals come before data."""

import numpy as np
import pytest
from scipy import sparse

from separatrix.data.rows import Rows
from separatrix.problems.margin import MarginMachine
from separatrix.solve import margin
from separatrix.solve.joint import JointMachine
from separatrix.solve.margin import SOLVERS, check_solver, choose, refuse_lazy, solve_joint, solve_machines

REFUSALS = {
    ("nope", False, False): (
        "solver 'nope' is unknown: use one of \"auto\", \"interior\", \"newton\", \"coordinate\", \"qp\""
    ),
    ("newton", False, False): 'solver "newton" needs a squared loss, this one has corners: use "interior"',
    ("newton", False, True): 'solver "newton" needs a squared loss, this one has corners: use "interior"',
    ("interior", True, False): 'solver "interior" is for losses with corners: use "newton" for a squared one',
    ("newton", True, True): "solver 'newton' does not know a hard margin (C=np.inf): use \"interior\"",
    ("coordinate", False, True): "solver 'coordinate' does not know a hard margin (C=np.inf): use \"interior\"",
    ("coordinate", True, True): "solver 'coordinate' does not know a hard margin (C=np.inf): use \"interior\"",
}  # fmt: skip
CASES = [
    (name, squared, hard)
    for name in ("auto", *SOLVERS)
    for squared in (False, True)
    for hard in (False, True)
]


def drawn(seed=0, n=60, p=3, *, squared=False, store=np.asarray):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(X @ rng.normal(size=p) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    rows = Rows.of(store(X), y)
    return MarginMachine.hinge(rows, y, np.ones(n), squared=squared), X.mean(axis=0)


@pytest.mark.parametrize(("name", "squared", "hard"), [*CASES, ("nope", False, False)])
def test_a_solver_that_cannot_is_refused_by_the_same_words_as_ever(name, squared, hard):
    text = REFUSALS.get((name, squared, hard))
    if text is None:
        check_solver(name, squared=squared, hard=hard)
        return
    with pytest.raises(ValueError) as refused:
        check_solver(name, squared=squared, hard=hard)
    assert str(refused.value) == text


@pytest.mark.parametrize("name", ["auto", *SOLVERS])
def test_what_needs_rows_in_memory_refuses_lazy_ones(name):
    if name == "auto" or SOLVERS[name].lazy:
        refuse_lazy(name)
        return
    with pytest.raises(
        ValueError, match=f'solver "{name}" needs rows in memory: use "auto" on a Dask source'
    ):
        refuse_lazy(name)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("squared", [False, True])
def test_every_solver_that_may_reaches_the_same_minimum(name, squared):
    if not (SOLVERS[name].squared if squared else SOLVERS[name].corners):
        pytest.skip("it says so")
    machine, centre = drawn(squared=squared)
    chosen, (fit,) = solve_machines([machine], centre, name, tol=1e-9, max_iter=3000)
    assert chosen == name
    assert fit.proof.within(1e-8)
    _, (other,) = solve_machines([machine], centre, "auto", tol=1e-9, max_iter=3000)
    np.testing.assert_allclose(fit.coef, other.coef, atol=1e-4)


def test_auto_goes_by_shape(monkeypatch):
    assert choose(drawn()[0]) is margin.INTERIOR
    assert choose(drawn(squared=True)[0]) is margin.NEWTON
    monkeypatch.setattr(margin, "SPARSE_LIMIT", 2)
    assert choose(drawn(store=sparse.csr_matrix)[0]) is margin.COORDINATE


def test_sparse_machines_of_one_table_share_passes_and_end_where_each_alone_does(monkeypatch):
    monkeypatch.setattr(margin, "CHEAP", 0)
    rng = np.random.default_rng(3)
    X, codes = sparse.csr_matrix(rng.normal(size=(90, 4))), rng.integers(0, 3, 90)
    machines = [
        MarginMachine.hinge(Rows.of(X), np.where(codes == k, 1.0, -1.0), np.ones(90), squared=True)
        for k in range(3)
    ]
    centre = np.zeros(4)
    _, together = solve_machines(machines, centre, "coordinate", tol=1e-8, max_iter=2000, codes=codes)
    _, alone = solve_machines(machines, centre, "coordinate", tol=1e-8, max_iter=2000)
    for one, other in zip(together, alone, strict=True):
        assert one.proof.primal == pytest.approx(other.proof.primal, rel=1e-7)


@pytest.mark.parametrize("few", [0, 10**9])
def test_classes_together_by_size(monkeypatch, few):
    monkeypatch.setattr(margin, "FEW", few)
    rng = np.random.default_rng(1)
    X, codes = rng.normal(size=(30, 2)), rng.integers(0, 3, 30)
    machine = JointMachine(Rows.of(X), codes, np.ones(30), 3)
    name, fit = solve_joint(machine, "auto", 1e-6, 5000)
    assert name == ("qp" if few else "coordinate")
    assert fit.gap <= 1e-6 * abs(fit.primal)
    assert all(SOLVERS[n].joint is not None for n in ("qp", "coordinate"))
