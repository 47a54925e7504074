"""Loops of the interior-point method against NumPy."""

from __future__ import annotations

import numpy as np

from separatrix.loops.interior import advance, centred_rows, correct, picked_rows, predict, weigh


def test_rows_centred_weighed_and_picked():
    rng = np.random.default_rng(0)
    X, centre, root = rng.normal(size=(6, 3)), rng.normal(size=3), rng.random(6)
    out = np.empty((6, 4))
    centred_rows(X, centre, root, out)
    np.testing.assert_allclose(out, np.column_stack([(X - centre) * root[:, None], root]), rtol=1e-14)
    at, some = np.array([4, 1]), np.empty((2, 3))
    picked_rows(X, at, centre, root[at], some)
    np.testing.assert_array_equal(some, out[at, :3])


def tube(n=7, seed=1):
    """(sign, target, cap, η, α, room, s, ξ) with all products above zero, one side hard and one absent."""
    rng = np.random.default_rng(seed)
    sign, target = np.tile([1.0, -1.0], (n, 1)), rng.normal(size=(n, 2))
    cap = rng.random((n, 2)) + 1.0
    alpha = cap * rng.uniform(0.2, 0.8, (n, 2))
    room = cap - alpha
    cap[0, 0], cap[1, 1] = np.inf, 0.0
    return (
        sign,
        target,
        cap,
        rng.normal(size=n),
        alpha,
        room,
        rng.random((n, 2)) + 0.1,
        rng.random((n, 2)) + 0.1,
    )


def test_weights_of_rows_and_the_pull_of_the_predictor():
    sign, target, cap, eta, alpha, room, s, xi = given = tube()
    root, pull, sums = np.empty(7), np.empty(7), np.zeros(3)
    weigh(*given, root, pull, sums)
    here, soft = cap > 0, (cap > 0) & np.isfinite(cap)
    q = target - sign * eta[:, None]
    D = s / alpha + np.where(soft, xi / room, 0.0)
    np.testing.assert_allclose(root, np.sqrt((here / D).sum(axis=1)), rtol=1e-13)
    np.testing.assert_allclose(pull * root, (here * sign * q / D).sum(axis=1), rtol=1e-12)
    loss = (np.where(soft, cap, 0.0) * np.maximum(q, 0.0)).sum()
    products = (here * alpha * s).sum() + (soft * room * xi).sum()
    np.testing.assert_allclose(sums, [products, loss, (here * alpha * target).sum()], rtol=1e-12)


def test_the_corrector_aims_every_product_at_mu_and_its_step_stays_inside():
    given = tube()
    _, _, cap, eta, alpha, room, s, xi = given
    mu, d_eta, sums = 0.05, np.linspace(-1, 1, 7), np.zeros(2)
    second, third, pulls, d_s = np.zeros((7, 2)), np.zeros((7, 2)), np.empty((7, 2)), np.empty((7, 2))
    predict(*given, d_eta, second, third, pulls, sums)
    products = second.copy(), third.copy()
    t = min(1.0, 0.999 * correct(mu, *given, d_eta, second, d_s, third))
    d_alpha, d_xi = second, third
    here, soft = cap > 0, (cap > 0) & np.isfinite(cap)
    aimed = alpha * s + s * d_alpha + alpha * d_s + products[0]
    np.testing.assert_allclose(aimed[here], mu, atol=1e-12)
    aimed = room * xi - xi * d_alpha + room * d_xi - products[1]
    np.testing.assert_allclose(aimed[soft], mu, atol=1e-12)
    before = eta.copy(), alpha.copy()
    advance(t, eta, alpha, room, s, xi, d_eta, d_alpha, d_s, d_xi)
    np.testing.assert_array_equal(eta, before[0] + t * d_eta)
    np.testing.assert_allclose(alpha, before[1] + t * d_alpha, rtol=1e-14)
    assert alpha[here].min() > 0 and s[here].min() > 0 and room[soft].min() > 0 and xi[soft].min() > 0
