"""Jeffreys' penalty: value by its definition in the user's units, derivatives by differences, tails, refusals."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given

from separatrix.core.losses import Hinge, Multinomial, Squared
from separatrix.core.responses import GlmLoss
from separatrix.data.rows import Rows
from separatrix.problems import firth
from separatrix.problems.coordinates import Coordinates, singular_coordinates
from separatrix.problems.firth import LEAST_CURVATURE, FirthObjective, bends
from separatrix.problems.objective import Objective
from tests.problems.firth_cases import (
    KINDS,
    LOSSES,
    by_definition,
    coordinates_of,
    estimate,
    expected_curvature,
    flat,
    minimum,
    problem,
    quick,
    seeds,
    steps_of,
)

pytestmark = pytest.mark.usefixtures("way")

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
