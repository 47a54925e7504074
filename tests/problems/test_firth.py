"""Jeffreys' penalty: value by its definition in the user's units, derivatives by differences, minima by brglm2."""

from dataclasses import replace

import dask.array as da
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse, stats

from benchmarks import shared
from separatrix.core.losses import Hinge, Logistic, Multinomial, Squared
from separatrix.core.responses import GlmLoss
from separatrix.data import rows as rows_module
from separatrix.data.engine import engine
from separatrix.data.rows import Rows
from separatrix.problems import firth
from separatrix.problems.coordinates import Coordinates, gram_coordinates, singular_coordinates
from separatrix.problems.firth import LEAST_CURVATURE, FirthObjective, bends
from separatrix.problems.objective import Objective

quick = settings(max_examples=8, deadline=None)
seeds = st.integers(0, 10**6)
LOSSES = {
    "logistic": (Logistic(), None),
    "logit": (GlmLoss.of("binomial", "logit"), None),
    "probit": (GlmLoss.of("binomial", "probit"), None),
    "cloglog": (GlmLoss.of("binomial", "cloglog"), None),
    "poisson": (GlmLoss.of("poisson", "log"), None),
    "multinomial": (Multinomial(), 3),
    "multinomial of two": (Multinomial(), 2),
    "multinomial of four": (Multinomial(), 4),
}
KINDS = ["identity", "standard", "gram", "singular", "random"]
needs_shared = pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")


def target(rng, name, n, *, proportions=False):
    classes = LOSSES[name][1]
    if classes:
        return rng.integers(0, classes, n)
    if name == "logistic":
        return rng.choice([-1.0, 1.0], n)
    if name == "poisson":
        return rng.poisson(2.0, n).astype(float)
    return rng.random(n) if proportions else rng.integers(0, 2, n).astype(float)


def coordinates_of(kind, rows, fit_intercept, rng):
    moments = rows.moments()
    match kind:
        case "identity":
            return Coordinates.identity(rows.p)
        case "standard":
            return Coordinates.standard(moments, fit_intercept)
        case "gram":
            return gram_coordinates(rows, moments, fit_intercept, 0.0, 0.25)
        case "singular":
            return singular_coordinates(rows, moments, fit_intercept)[0]
    standard = Coordinates.standard(moments, fit_intercept)
    return Coordinates(
        standard.centre + 0.3 * rng.normal(size=rows.p) / standard.scale * fit_intercept,
        standard.scale * np.exp(0.5 * rng.normal(size=rows.p)),
        np.eye(rows.p) + 0.3 * rng.normal(size=(rows.p, rows.p)),
        lift=float(np.exp(rng.normal())),
    )


def problem(seed, name, *, kind="standard", store=np.asarray, weighted=True, fit_intercept=True, n=40, **how):
    """A penalised objective, and a point whose scores are moderate whatever the coordinates."""
    rng = np.random.default_rng(seed)
    loss, classes = LOSSES[name]
    X = rng.normal(size=(n, 3)) * (rng.random((n, 3)) < 0.8) * [1.0, 50.0, 0.1] + [0.5, 0.0, 0.1]
    weight = rng.integers(1, 4, n) + rng.random(n) if weighted else None
    rows = Rows.of(store(X), target(rng, name, n, **how), weight)
    F = FirthObjective(
        rows, loss, 0.0, fit_intercept, coordinates_of(kind, rows, fit_intercept, rng), classes
    )
    unit = np.array([1.0, 0.02, 10.0])
    shape = (3,) if classes is None else (classes, 3)
    coef = 0.5 * rng.normal(size=shape) * unit
    intercept = 0.5 * rng.normal(size=shape[:-1]) * fit_intercept
    return F, F.from_user(coef, intercept)


def expected_curvature(loss, eta):
    """w by its definition; (n, K, K) for classes."""
    if isinstance(loss, Multinomial):
        p = np.exp(eta - eta.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :]
    match "logit" if isinstance(loss, Logistic) else loss.link.name:
        case "logit":
            return 1 / (1 + np.exp(eta)) / (1 + np.exp(-eta))
        case "probit":
            return stats.norm.pdf(eta) ** 2 / (stats.norm.cdf(eta) * stats.norm.sf(eta))
        case "cloglog":
            return np.exp(2 * eta - np.exp(eta)) / -np.expm1(-np.exp(eta))
    return np.exp(eta)


def by_definition(F, coef, intercept):
    """(1/W) [Σ s ℓ − ½ log|I|] from the user's weights and cells; classes in F's orthonormal contrasts."""
    rows, loss = F.rows, F.loss
    X = rows.source if isinstance(rows.source, np.ndarray) else rows.source.toarray()
    s = np.ones(len(X)) if rows.weight is None else rows.weight
    design = np.column_stack([X, np.ones(len(X))]) if F.fit_intercept else X
    eta = X @ coef.T + intercept
    losses = loss.value(eta, rows.y)
    w = expected_curvature(loss, eta)
    if F.class_basis is None:
        information = (design.T * (s * w)) @ design
    else:
        Q = F.class_basis
        inner = np.einsum("ka,nkl,lb->nab", Q, w, Q)
        information = sum(
            s[i] * np.kron(inner[i], np.outer(design[i], design[i])) for i in range(len(design))
        )
    sign, log_det = np.linalg.slogdet(information)
    assert sign == 1
    return (np.sum(s * losses) - 0.5 * log_det) / s.sum()


def flat(theta):
    return theta.T.ravel()


def steps_of(theta, h):
    """Steps of length h along each parameter, in the order of a Hessian's rows."""
    for i in range(theta.size):
        step = np.zeros(theta.size)
        step[i] = h
        yield step.reshape(theta.shape[::-1]).T


def minimum(F, theta=None, steps=60):
    """θ at the minimum of F by Newton with backtracking."""
    theta = F.zero() if theta is None else theta
    at = F.evaluate(theta, order=2)
    for _ in range(steps):
        d = -np.linalg.solve(at.hessian, flat(at.gradient)).reshape(theta.shape[::-1]).T
        slope, length = float(np.sum(at.gradient * d)), 1.0
        if -slope < 1e-24:
            break
        new = F.evaluate(theta + d, order=2)
        while not new.value <= at.value + 1e-4 * length * slope + 1e-14 * abs(at.value):
            length /= 2
            assert length > 1e-9
            new = F.evaluate(theta + length * d, order=2)
        theta, at = theta + length * d, new
    assert np.abs(at.gradient).max() < 1e-10
    return theta


def estimate(X, y, loss, *, weight=None, classes=None, fit_intercept=True, kind="standard"):
    rows = Rows.of(np.asarray(X, dtype=float), y, weight)
    c = coordinates_of(kind, rows, fit_intercept, np.random.default_rng(0))
    F = FirthObjective(rows, loss, 0.0, fit_intercept, c, classes)
    return F.to_user(minimum(F))


# ---- value and derivatives ----


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no intercept"])
def test_the_value_is_the_definition_in_the_users_units(name, kind, fit_intercept):
    for seed in range(3):
        F, theta = problem(seed, name, kind=kind, fit_intercept=fit_intercept, weighted=seed > 0)
        assert F.evaluate(theta).value == pytest.approx(by_definition(F, *F.to_user(theta)), rel=1e-11)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_and_hessian_are_the_differences_of_the_value(name, kind):
    for seed, fit_intercept in ((0, True), (1, False)):
        F, theta = problem(seed, name, kind=kind, fit_intercept=fit_intercept, proportions=seed == 0)
        at = F.evaluate(theta, order=2)
        values, slopes = [], []
        for step in steps_of(theta, 1e-5 / (1 + at.radius)):
            h = 2 * np.abs(step).max()
            high, low = F.evaluate(theta + step), F.evaluate(theta - step)
            values.append((high.value - low.value) / h)
            slopes.append(flat(high.gradient - low.gradient) / h)
        g, H = flat(at.gradient), np.array(slopes)
        np.testing.assert_allclose(values, g, rtol=1e-5, atol=1e-6 * np.abs(g).max())
        I = F.information(theta)
        whiten = np.linalg.inv(np.linalg.cholesky(I))
        inside = np.linalg.eigvalsh(whiten @ (H + H.T) / 2 @ whiten.T)
        if inside.min() > LEAST_CURVATURE:
            np.testing.assert_allclose(at.hessian, H, rtol=1e-5, atol=1e-6 * np.abs(H).max())
        else:
            assert np.linalg.eigvalsh(whiten @ at.hessian @ whiten.T).min() > 0.99 * LEAST_CURVATURE


@pytest.mark.parametrize("name", LOSSES)
def test_at_the_minimum_the_hessian_is_exact(name):
    """So Newton squares its error there; the curvature floor does not come into play."""
    F, _ = problem(3, name)
    theta = minimum(F)
    H = F.evaluate(theta, order=2).hessian
    for i, step in enumerate(steps_of(theta, 1e-5)):
        slope = flat(F.evaluate(theta + step).gradient - F.evaluate(theta - step).gradient) / 2e-5
        np.testing.assert_allclose(slope, H[i], rtol=1e-6, atol=1e-7 * np.abs(H).max())


@pytest.mark.parametrize("name", LOSSES)
def test_orders_agree_and_the_information_is_the_unpenalised_hessian(name):
    F, theta = problem(4, name, kind="gram")
    first, second = F.evaluate(theta), F.evaluate(theta, order=2)
    assert first.hessian is None
    assert first.value == second.value
    np.testing.assert_allclose(first.gradient, second.gradient, rtol=1e-12, atol=1e-14)
    plain = Objective(F.rows, F.loss, 0.0, True, F.coordinates, F.n_classes).evaluate(theta, order=2)
    np.testing.assert_allclose(F.information(theta), plain.hessian, rtol=1e-11, atol=1e-13)
    assert second.radius == pytest.approx(plain.radius, rel=1e-9)
    assert second.share == 1.0 and second.penalty == 0.0 and second.drift == np.inf


@pytest.mark.parametrize("name", LOSSES)
@quick
@given(seed=seeds)
def test_where_rows_are_many_the_hessian_is_an_upper_bound(name, seed):
    """So that a Newton step is never too long; here by hand, on rows that are few and have large leverages."""
    F, theta = problem(seed, name, n=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(firth, "LEAST_CURVATURE", -np.inf)
        exact = F.evaluate(theta, order=2).hessian
        patch.setattr(firth, "EXACT", 0.0)
        above = F.evaluate(theta, order=2).hessian
    low, high = np.linalg.eigvalsh(above - exact)[[0, -1]]
    assert low > -1e-10 * np.abs(above).max()
    assert high > 0


@pytest.mark.parametrize("name", LOSSES)
def test_the_upper_bound_reaches_the_same_minimum(name, monkeypatch):
    F, _ = problem(3, name)
    wanted = minimum(F)
    monkeypatch.setattr(firth, "EXACT", 0.0)
    np.testing.assert_allclose(minimum(F), wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", LOSSES)
def test_the_hessian_is_positive_definite_anywhere(name):
    """F is not convex; a floor on its curvature, against the information, keeps every step downhill."""
    floors = []
    for seed in range(6):
        F, theta = problem(seed, name, n=12)
        theta = 6.0 * theta
        at = F.evaluate(theta, order=2)
        if np.isfinite(at.value):
            whiten = np.linalg.inv(np.linalg.cholesky(F.information(theta)))
            floors.append(np.linalg.eigvalsh(whiten @ at.hessian @ whiten.T).min())
    assert len(floors) >= 5
    assert min(floors) > 0.99 * LEAST_CURVATURE
    if name != "probit":
        assert min(floors) < 1.01 * LEAST_CURVATURE  # the floor was met, so it was tested


# ---- invariances ----


@pytest.mark.parametrize("name", ["logistic", "probit", "poisson", "multinomial"])
@quick
@given(seed=seeds)
def test_units_origins_and_rotations_of_the_columns(name, seed):
    """x → (c · x) R + shift: the same scores, and F less log|det| / W, once a head."""
    rng = np.random.default_rng(seed)
    F, theta = problem(seed, name)
    coef, intercept = F.to_user(theta)
    c = np.exp(rng.normal(size=3)) / [1.0, 50.0, 0.1]  # columns alike before they are mixed
    shift = rng.normal(size=3)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    A = c[:, None] * R
    moved = F.rows.source @ A + shift
    w = np.linalg.solve(A, coef.T).T
    heads = 1 if F.n_classes is None else F.n_classes - 1
    rows = Rows.of(moved, F.rows.y, F.rows.weight)
    for kind in ("identity", "standard", "singular"):
        G = replace(F, rows=rows, coordinates=coordinates_of(kind, rows, True, rng))
        value = G.evaluate(G.from_user(w, intercept - w @ shift)).value
        wanted = F.evaluate(theta).value - heads * np.log(c).sum() / F.total_weight
        assert value == pytest.approx(wanted, rel=1e-10, abs=1e-12)


def test_the_minimum_moves_with_the_units():
    F, _ = problem(5, "logistic")
    coef, intercept = F.to_user(minimum(F))
    scaled = estimate(F.rows.source * [1e3, 1e-3, 1.0] + [0, 0, 7.0], F.rows.y, F.loss, weight=F.rows.weight)
    np.testing.assert_allclose(scaled[0], coef * [1e-3, 1e3, 1.0], rtol=1e-9)
    assert scaled[1] == pytest.approx(intercept - 7.0 * coef[2], rel=1e-9)


def test_contrasts_against_a_reference_class_add_a_constant():
    """log|I| of the orthonormal contrasts is that of K − 1 classes against one, plus q log K."""
    F, theta = problem(6, "multinomial of four", kind="identity")
    coef, intercept = F.to_user(theta)
    X, s = F.rows.source, F.rows.weight
    design = np.column_stack([X, np.ones(len(X))])
    V = expected_curvature(F.loss, X @ coef.T + intercept)[:, 1:, 1:]
    reference = sum(s[i] * np.kron(V[i], np.outer(design[i], design[i])) for i in range(len(X)))
    log_det = np.linalg.slogdet(F.total_weight * F.information(theta))[1]
    assert log_det == pytest.approx(np.linalg.slogdet(reference)[1] + 4 * np.log(4), rel=1e-12)


def test_two_classes_of_the_multinomial_are_the_logistic():
    F, theta = problem(7, "logistic")
    two = replace(
        F,
        rows=F.rows.with_targets((F.rows.y > 0).astype(int), F.rows.weight),
        loss=Multinomial(),
        n_classes=2,
    )
    a, b = F.evaluate(theta, 2), two.evaluate(theta[:, None] / np.sqrt(2), 2)
    assert b.value == pytest.approx(a.value - 0.5 * 4 * np.log(2) / F.total_weight, rel=1e-12)
    np.testing.assert_allclose(b.gradient[:, 0], np.sqrt(2) * a.gradient, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(b.hessian, 2 * a.hessian, rtol=1e-10, atol=1e-13)


def test_labels_change_places():
    F, theta = problem(8, "multinomial")
    coef, intercept = F.to_user(theta)
    order = np.array([2, 0, 1])
    G = replace(F, rows=F.rows.with_targets(np.argsort(order)[F.rows.y], F.rows.weight))
    moved = G.evaluate(G.from_user(coef[order], intercept[order]))
    assert moved.value == pytest.approx(F.evaluate(theta).value, rel=1e-12)


def test_an_offset_is_added_to_the_score():
    """A constant offset is an intercept; a varying one is a column of known weight."""
    F, theta = problem(9, "cloglog")
    rows = F.rows
    with_offset = rows.with_targets(np.column_stack([rows.y, np.full(rows.n, 0.7)]), rows.weight)
    moved = theta.copy()
    moved[-1] -= 0.7 / F.coordinates.lift
    a, b = F.evaluate(theta, 2), replace(F, rows=with_offset).evaluate(moved, 2)
    assert a.value == pytest.approx(b.value, rel=1e-12)
    np.testing.assert_allclose(a.gradient, b.gradient, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(a.hessian, b.hessian, rtol=1e-10, atol=1e-13)


# ---- weights, storage, partitions, engines ----


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


# ---- directions that say nothing ----


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_a_constant_column_is_left_out_of_the_determinant(name):
    F, theta = problem(17, name)
    wide = np.column_stack([F.rows.source[:, :1], np.full(F.rows.n, 5.0), F.rows.source[:, 1:]])
    rows = Rows.of(wide, F.rows.y, F.rows.weight)
    G = replace(F, rows=rows, coordinates=Coordinates.standard(rows.moments(), True))
    more = np.insert(theta, 1, 0.3, axis=0)
    a, b = F.evaluate(theta, 2), G.evaluate(more, 2)
    assert b.value == pytest.approx(a.value, rel=1e-12)
    np.testing.assert_allclose(np.delete(b.gradient, 1, axis=0), a.gradient, rtol=1e-9, atol=1e-13)
    assert np.abs(b.gradient[1]).max() == 0
    assert np.linalg.eigvalsh(b.hessian).min() > 0
    assert G.n_directions == F.n_directions


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_aliased_columns_are_infinite_until_the_coordinates_drop_them(name):
    F, _ = problem(18, name)
    X = F.rows.source
    rows = Rows.of(np.column_stack([X, X[:, 0] + 0.02 * X[:, 1]]), F.rows.y, F.rows.weight)
    standard = replace(F, rows=rows, coordinates=Coordinates.standard(rows.moments(), True))
    at = standard.evaluate(standard.zero(), 2)
    assert at.value == np.inf and np.isnan(at.gradient).all()
    G = standard.in_coordinates(singular_coordinates(rows, rows.moments(), True)[0])
    assert G.n_directions == F.n_directions
    (coef, intercept), (short, b) = G.to_user(minimum(G)), F.to_user(minimum(F))
    scores = rows.source @ coef.T + intercept
    np.testing.assert_allclose(scores, X @ short.T + b, rtol=1e-7, atol=1e-8)


# ---- minima ----

# brglm2 0.9, R 4.2:  for (link in c("logit", "probit", "cloglog"))
#   coef(glm(HG ~ NV + PI + EH, binomial(link), endometrial, method = "brglmFit",
#            control = list(type = "MPL_Jeffreys", epsilon = 1e-12, maxit = 10000)))
# type = "AS_mean" gives the same under the logit. Standard errors: sqrt(diag(vcov(…))).
ENDOMETRIAL = {
    "logit": [3.7745597136470286, 2.9292733531970940, -0.0347517598704338, -2.6041639252936548],
    "probit": [1.9582556221703711, 1.7425826388607055, -0.0157374342562291, -1.4048914395957188],
    "cloglog": [3.0862435012837826, 1.7129292890189731, -0.0348507527819512, -2.2922404795159008],
}
ENDOMETRIAL_ERRORS = {
    "logit": [1.4886916634356548, 1.5507637294530388, 0.0395781473477631, 0.7760176425015610],
    "probit": [0.7982793228643198, 0.7908727547459209, 0.0212325652099415, 0.4080710974632797],
    "cloglog": [1.1178994896604637, 0.8085264538473949, 0.0287571279646003, 0.6229384207038160],
}
# coef(glm(cbind(grahami, opalinus) ~ height + diameter + light + time, binomial(link), lizards, …as above))
LIZARDS = {
    "logit": [1.084173807909357, 1.106426281929900, -0.753629210334126, 0.817659281775728, -0.727311110834231,
              0.227960385005300],
    "probit": [0.657126658526068, 0.641274754690980, -0.442232306537811, 0.498180599902876, -0.435407351546495,
               0.132849821525305],
    "cloglog": [0.295106742391770, 0.571303601536483, -0.401963284957290, 0.475367155938873, -0.418100168343819,
                0.118172496292985],
    # coef(glm(grahami ~ height + diameter + light + time, poisson, lizards, …as above))
    "poisson": [3.732550010888653, -0.328230404444440, -0.617191800164823, -1.261231705166880, -0.770249574442084,
                0.498761538239723],
}  # fmt: skip
# coef(brmultinom(Species ~ Sepal.Length + Sepal.Width, iris, ref = 1,
#                 control = list(type = "AS_mean", epsilon = 1e-12, maxit = 10000)))
SEPALS = [
    [-23.9788122132725, 9.96293000482897, -9.47494970091437],
    [-36.3452344838888, 11.76043974761660, -9.07963502494331],
]
# the same for Petal.Length + Petal.Width: setosa is separated from the others
PETALS = [
    [-7.99247000976831, 1.55444531959169, 5.15274647586846],
    [-44.15716155307297, 5.98641825527004, 13.96883388418036],
]


@needs_shared
@pytest.mark.parametrize("name", ENDOMETRIAL)
def test_quasi_separated_endometrial_data_as_brglm2(name):
    frame = shared.table("separation/endometrial")
    X, y = frame[["NV", "PI", "EH"]].to_numpy(float), frame["HG"].to_numpy(float)
    rows = Rows.of(X, y)
    F = FirthObjective(rows, LOSSES[name][0], 0.0, True, Coordinates.identity(3))
    theta = minimum(F, F.from_user(*estimate(X, y, F.loss)))
    coef, intercept = F.to_user(theta)
    np.testing.assert_allclose([intercept, *coef], ENDOMETRIAL[name], rtol=1e-9)
    errors = np.sqrt(np.diag(np.linalg.inv(rows.n * F.information(theta))))
    np.testing.assert_allclose([errors[-1], *errors[:-1]], ENDOMETRIAL_ERRORS[name], rtol=1e-9)
    if name == "logit":
        binary = estimate(X, 2 * y - 1, Logistic(), kind="singular")
        np.testing.assert_allclose([binary[1], *binary[0]], ENDOMETRIAL[name], rtol=1e-9)


@needs_shared
@pytest.mark.parametrize("name", LIZARDS)
def test_lizards_as_brglm2(name):
    frame = shared.table("separation/lizards")
    X = np.column_stack(
        [
            frame["height"] == ">=5ft",
            frame["diameter"] == ">2in",
            frame["light"] == "sunny",
            frame["time"] == "late",
            frame["time"] == "midday",
        ]
    )
    grahami, opalinus = frame["grahami"].to_numpy(float), frame["opalinus"].to_numpy(float)
    if name == "poisson":
        coef, intercept = estimate(X, grahami, LOSSES[name][0])
    else:
        trials = grahami + opalinus
        coef, intercept = estimate(X, grahami / trials, LOSSES[name][0], weight=trials)
    np.testing.assert_allclose([intercept, *coef], LIZARDS[name], rtol=1e-9)


@pytest.mark.parametrize("columns, wanted", [((0, 1), SEPALS), ((2, 3), PETALS)], ids=["sepals", "petals"])
def test_three_species_as_brmultinom(columns, wanted):
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    coef, intercept = estimate(X[:, columns], y, Multinomial(), classes=3)
    against_first = np.column_stack([intercept - intercept[0], coef - coef[0]])[1:]
    np.testing.assert_allclose(against_first, wanted, rtol=1e-7)


@pytest.mark.parametrize("name", ["logistic", "probit", "cloglog", "poisson", "multinomial"])
def test_a_search_without_derivatives_finds_the_same_minimum(name):
    """Nelder and Mead on the definition: an independent way to the estimate."""
    F, _ = problem(20, name, n=60, kind="standard")
    rows = Rows.of(F.rows.source[:, :2] / [1, 50], F.rows.y, F.rows.weight)
    F = replace(F, rows=rows, coordinates=Coordinates.standard(rows.moments(), True))
    theta = minimum(F)

    def value(flat_theta):
        return by_definition(F, *F.to_user(flat_theta.reshape(F.shape)))

    found = optimize.minimize(
        value, np.zeros(theta.size), method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-15, "maxiter": 20000, "maxfev": 20000, "adaptive": True},
    )  # fmt: skip
    assert F.evaluate(theta).value <= found.fun + 1e-12
    np.testing.assert_allclose(found.x.reshape(F.shape), theta, atol=1e-5)


def test_one_proportion_has_half_a_success_added():
    """The intercept alone under the logit: (k + ½)/(n + 1), finite at k = 0 and k = n."""
    for k in (0, 3, 10):
        y = np.repeat([1.0, -1.0], [k, 10 - k])
        _, intercept = estimate(np.ones((10, 1)), y, Logistic())
        assert 1 / (1 + np.exp(-intercept)) == pytest.approx((k + 0.5) / 11, rel=1e-12)


def test_a_table_of_two_groups_has_half_added_to_each_cell():
    """A saturated 2 × 2 table: the log odds ratio of Haldane and Anscombe, even with an empty cell."""
    counts = np.array([[7, 0], [2, 9]])
    X = np.repeat([0.0, 1.0], counts.sum(axis=1))[:, None]
    y = np.concatenate([np.repeat([-1.0, 1.0], row) for row in counts])
    coef, intercept = estimate(X, y, Logistic())
    half = counts + 0.5
    assert intercept == pytest.approx(np.log(half[0, 1] / half[0, 0]), rel=1e-10)
    assert coef[0] == pytest.approx(np.log(half[1, 1] * half[0, 0] / (half[1, 0] * half[0, 1])), rel=1e-10)


@pytest.mark.parametrize("name", ["logistic", "probit", "cloglog"])
@quick
@given(seed=seeds)
def test_completely_separated_rows_have_a_finite_minimum(name, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3))
    y = (X @ [1.0, 0.5, 0.0] > 0).astype(float)
    y[:2] = 0.0, 1.0
    X[0], X[1] = [-2.0, -1.0, 0.0], [2.0, 1.0, 0.0]
    loss = LOSSES[name][0]
    coef, intercept = estimate(X, 2 * y - 1 if name == "logistic" else y, loss)
    assert np.isfinite(coef).all() and np.isfinite(intercept)
    assert np.abs(coef).max() < 50
    assert coef @ [1.0, 0.5, 0.0] > 0


def test_completely_separated_classes_have_a_finite_minimum():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 2)) * 0.1 + np.array([[0, 0], [5, 0], [0, 5]])[y]
    coef, intercept = estimate(X, y, Multinomial(), classes=3)
    assert np.isfinite(coef).all() and np.abs(coef).max() < 50
    assert (np.argmax(X @ coef.T + intercept, axis=1) == y).all()


def test_few_rows_and_many_columns_converge_within_twenty_steps():
    """Where nearly every row is a leverage point the information alone would contract by less than a hundredth."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(12, 8))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=12) > 0, 1.0, -1.0)
    rows = Rows.of(X, y)
    F = FirthObjective(rows, Logistic(), 0.0, True, Coordinates.standard(rows.moments(), True))
    minimum(F, steps=20)


# ---- tails ----


def exact_curvature(link, eta):
    """w, w', w'' in fifty digits."""
    mean = {
        "logit": lambda x: 1 / (1 + mpmath.exp(-x)),
        "probit": mpmath.ncdf,
        "cloglog": lambda x: -mpmath.expm1(-mpmath.exp(x)),
    }[link]

    def w(x):
        mu = mean(x)
        rest = mpmath.ncdf(-x) if link == "probit" else 1 - mu
        return mpmath.diff(mean, x) ** 2 / (mu * rest)

    with mpmath.workdps(120):
        return [float(mpmath.diff(w, mpmath.mpf(eta), k)) for k in range(3)]


@pytest.mark.parametrize("link, eta", [
    *(("logit", x) for x in (-40.0, -3.0, 0.25, 5.0, 35.0)),
    *(("probit", x) for x in (-12.0, -2.0, 0.25, 3.0, 10.0)),
    *(("cloglog", x) for x in (-40.0, -3.0, 0.25, 1.5, 4.0)),
])  # fmt: skip
def test_derivatives_of_the_curvature_keep_their_digits_in_the_tails(link, eta):
    got = bends(GlmLoss.of("binomial", link), np.array([eta]), np.ones(1))
    wanted = exact_curvature(link, eta)
    for ours, true, rel in zip(got, wanted, (1e-12, 1e-11, 1e-9)):
        assert ours[0] == pytest.approx(true, rel=rel)


@pytest.mark.parametrize("name", ["logistic", "logit", "probit", "cloglog"])
def test_underflow_has_no_slope_and_no_warning(name):
    eta = np.array([-1e4, -800.0, 800.0, 1e4, -np.inf, np.inf])
    for part in bends(LOSSES[name][0], eta, np.ones(6)):
        assert (part == 0).all() or (name == "cloglog" and np.isfinite(part).all())


@pytest.mark.parametrize("name", ["logistic", "probit", "cloglog", "multinomial"])
@pytest.mark.parametrize("scale", [30.0, 1e3, 1e4])
def test_far_out_the_penalty_wins_and_nothing_overflows(name, scale):
    F, theta = problem(21, name)
    near, far = F.evaluate(F.zero()), F.evaluate(scale * theta, order=2)
    assert far.value > near.value and not np.isnan(far.value)
    assert far.value == np.inf or np.isfinite(far.gradient).all()


# ---- refusals ----


def test_what_is_not_offered_is_refused_with_the_way_out():
    F, theta = problem(22, "logistic")
    with pytest.raises(ValueError, match=r"stride 1, not 4"):
        F.evaluate(theta, 2, stride=4)
    with pytest.raises(ValueError, match=r"give ridge 0, not 0.1"):
        replace(F, ridge=0.1)
    for loss in (Squared(), Hinge()):
        with pytest.raises(ValueError, match=rf"not the {loss.name} loss"):
            replace(F, loss=loss)
    for family, link in (("binomial", "log"), ("poisson", "identity"), ("gamma", "log")):
        with pytest.raises(
            ValueError, match=rf"the {family} response under the {link} link: use binomial with"
        ):
            replace(F, loss=GlmLoss.of(family, link))
    with pytest.raises(ValueError, match=r"observed=False"):
        replace(F, loss=GlmLoss.of("binomial", "probit", observed=True))
    with pytest.raises(NotImplementedError, match=r"minimise with Newton"):
        F.settle_intercept(theta)
    assert replace(F, loss=GlmLoss.of("binomial", "logit", observed=True)) is not None
    assert not FirthObjective.proven
