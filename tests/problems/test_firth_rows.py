"""Jeffreys' penalty does not depend on how rows are weighed, stored, cut into blocks and swept."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from scipy import sparse, stats

from separatrix.data import rows as rows_module
from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates
from tests.problems.firth_cases import LOSSES, problem, quick, seeds


@pytest.mark.parametrize("name", LOSSES)
@quick
@given(seed=seeds)
def test_an_integer_weight_is_that_many_copies_and_zero_is_absence(name, seed):
    F, theta = problem(seed, name, n=30)
    rng = np.random.default_rng(seed + 1)
    copies = rng.integers(0, 4, 30)
    copies[:8] = 1
    X, y = F.rows.source, F.rows.y
    weighted = replace(F, rows=Rows.of(X, y, copies.astype(float)))
    repeated = replace(F, rows=Rows.of(np.repeat(X, copies, 0), np.repeat(y, copies)))
    a, b = weighted.evaluate(theta, 2), repeated.evaluate(theta, 2)
    assert a.value == pytest.approx(b.value, rel=1e-11)
    np.testing.assert_allclose(a.gradient, b.gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(a.hessian, b.hessian, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("name", ["logit", "probit", "cloglog"])
def test_a_proportion_of_m_trials_is_m_rows(name):
    """Its weight is m; the values differ by the deviance of the saturated model, which no weight moves."""
    F, theta = problem(10, name, n=15)
    rng = np.random.default_rng(0)
    trials = rng.integers(1, 6, 15)
    successes = rng.binomial(trials, 0.5)
    X = F.rows.source
    grouped = replace(F, rows=Rows.of(X, successes / trials, trials.astype(float)))
    y = np.concatenate([np.repeat([1.0, 0.0], [k, m - k]) for k, m in zip(successes, trials)])
    single = replace(F, rows=Rows.of(np.repeat(X, trials, 0), y))
    a, b = grouped.evaluate(theta, 2), single.evaluate(theta, 2)
    share = successes / trials
    saturated = np.where((share > 0) & (share < 1), stats.entropy([share, 1 - share]), 0.0)
    assert a.value + np.sum(trials * saturated) / trials.sum() == pytest.approx(b.value, rel=1e-11)
    np.testing.assert_allclose(a.gradient, b.gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(a.hessian, b.hessian, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
@pytest.mark.parametrize("kind", ["standard", "singular"])
def test_sparse_rows_and_float32(name, kind):
    wanted = None
    for store in (np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csr_array):
        F, theta = problem(11, name, kind=kind, store=store)
        at = F.evaluate(theta, 2)
        wanted = wanted or at
        assert at.value == pytest.approx(wanted.value, rel=1e-12)
        np.testing.assert_allclose(at.gradient, wanted.gradient, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(at.hessian, wanted.hessian, rtol=1e-8, atol=1e-11)
    F, theta = problem(11, name, store=lambda X: X.astype(np.float32))
    double = replace(F, rows=Rows.of(F.rows.source.astype(float), F.rows.y, F.rows.weight))
    assert F.evaluate(theta).value == pytest.approx(double.evaluate(theta).value, rel=1e-12)


@pytest.mark.parametrize("name", ["logistic", "probit", "multinomial"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_grids_of_1_7_and_97_blocks_agree(name, order, store):
    answers = []
    for blocks in (1, 7, 97):
        with engine(blocks=blocks):
            F, theta = problem(12, name, store=store)
            assert F.rows.n_blocks == min(blocks, 40) or store is not np.asarray
            answers.append(F.evaluate(theta, order))
    for other in answers[1:]:
        assert other.value == pytest.approx(answers[0].value, rel=1e-13)
        np.testing.assert_allclose(other.gradient, answers[0].gradient, rtol=1e-11, atol=1e-14)
        if order == 2:
            np.testing.assert_allclose(other.hessian, answers[0].hessian, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_every_engine_gives_the_same_bits(name):
    answers = []
    for kind, workers in (("serial", None), ("threads", 2), ("threads", 3), ("dask", None)):
        with engine(kind, workers=workers, blocks=7):
            F, theta = problem(13, name, n=200)
            answers.append(F.evaluate(theta, 2))
    for other in answers[1:]:
        assert other.value == answers[0].value
        assert np.array_equal(other.gradient, answers[0].gradient)
        assert np.array_equal(other.hessian, answers[0].hessian)


@pytest.mark.parametrize("kind", ["serial", "threads", "dask"])
def test_a_dask_source_gives_the_bits_of_memory(kind):
    with engine("serial", blocks=5):
        F, theta = problem(14, "logistic", n=200)
        wanted = F.evaluate(theta, 2)
    chunks = (tuple(np.diff(F.rows.edges).tolist()), (3,))
    parts = list(da.from_array(F.rows.source, chunks=chunks).to_delayed().ravel())
    lazy = replace(F, rows=replace(F.rows, source=parts))
    assert lazy.rows.lazy
    with engine(kind):
        at = lazy.evaluate(theta, 2)
    assert at.value == wanted.value and np.array_equal(at.gradient, wanted.gradient)
    assert np.array_equal(at.hessian, wanted.hessian)


@pytest.mark.parametrize("name", ["probit", "multinomial"])
def test_small_tiles_change_nothing_but_rounding(name, monkeypatch):
    F, theta = problem(15, name, n=300)
    wanted = F.evaluate(theta, 2)
    monkeypatch.setattr(rows_module, "TILE_BYTES", 64)
    at = F.evaluate(theta, 2)
    assert at.value == pytest.approx(wanted.value, rel=1e-13)
    np.testing.assert_allclose(at.gradient, wanted.gradient, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(at.hessian, wanted.hessian, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_columns_far_from_the_origin(name):
    """1e8 ± 1: products of raw cells would lose every digit."""
    F, theta = problem(16, name, kind="standard")
    rows = Rows.of(F.rows.source + np.array([1e8, 0, 0]), F.rows.y, F.rows.weight)
    far = replace(F, rows=rows, coordinates=Coordinates.standard(rows.moments(), True))
    assert far.coordinates.far
    a, b = F.evaluate(theta, 2), far.evaluate(theta, 2)
    assert a.value == pytest.approx(b.value, rel=1e-7)
    np.testing.assert_allclose(a.gradient, b.gradient, rtol=1e-6, atol=1e-8)
