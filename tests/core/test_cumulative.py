"""Cumulative links against arithmetic of six hundred digits: probabilities and derivatives, in the tails and between
close thresholds."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from separatrix.core.cumulative import LINKS

THRESHOLDS = np.array([-1.5, -1.4999, 2.0])
SCORES = np.array([-30.0, -3.0, -1.5, 0.0, 1.0, 4.0, 30.0])
links = pytest.mark.parametrize("link", LINKS.values(), ids=LINKS.keys())


def below(link, s):
    """F of a number, or of ±∞."""
    if mp.isinf(s):
        return mp.mpf(s > 0)
    return {"logit": lambda: 1 / (1 + mp.exp(-s)), "probit": lambda: mp.ncdf(s),
            "cloglog": lambda: 1 - mp.exp(-mp.exp(s))}[link.name]()  # fmt: skip


def loss(link, a, b):
    return -mp.log(below(link, b) - below(link, a))


def ends(code):
    every = [-mp.inf, *map(mp.mpf, THRESHOLDS.tolist()), mp.inf]
    return every[code], every[code + 1]


@pytest.fixture(autouse=True)
def many_digits():
    # Φ of ±30 differs from one in its 200th digit, and e^{-e^{30}} has ten to the twelfth
    with mp.workdps(600):
        yield


def reachable(link, a, b):
    """Whether the probability is one that six hundred digits tell from nothing."""
    return link.name != "cloglog" or mp.isinf(a) or a < 6


@links
def test_log_probabilities_keep_their_digits(link):
    found = link.log_probabilities(SCORES, THRESHOLDS)
    for i, eta in enumerate(SCORES):
        for code in range(4):
            a, b = (end - mp.mpf(eta) for end in ends(code))
            if reachable(link, a, b):
                # θ and η are rounded when they are subtracted: that is felt between close thresholds
                expected = -float(loss(link, a, b))
                assert found[i, code] == pytest.approx(expected, rel=1e-11, abs=1e-300), (eta, code)


@links
def test_derivatives_against_differences(link):
    """Central differences with a step of 1e-40 in six hundred digits are exact to a double."""
    h = mp.mpf(10) ** -40
    for eta in SCORES[1:-1]:
        for code in range(4):
            a, b = (end - mp.mpf(eta) for end in ends(code))
            if not reachable(link, a, b):
                continue
            p = link.pieces(np.array([eta]), np.array([code]), THRESHOLDS)

            def f(da, db, a=a, b=b):
                return loss(link, a + da, b + db)

            d_a, d_b = (f(h, 0) - f(-h, 0)) / (2 * h), (f(0, h) - f(0, -h)) / (2 * h)
            d_ab = (f(h, h) - f(h, -h) - f(-h, h) + f(-h, -h)) / (4 * h * h)
            d_aa = (f(h, 0) - 2 * f(0, 0) + f(-h, 0)) / h**2
            d_bb = (f(0, h) - 2 * f(0, 0) + f(0, -h)) / h**2
            size = 1 + abs(float(d_aa)) + abs(float(d_bb))
            near = {"rel": 1e-8, "abs": 1e-9 * size}
            assert p.at_lower[0] == pytest.approx(float(d_a), **near)
            assert p.at_upper[0] == pytest.approx(float(d_b), **near)
            assert p.slope[0] == pytest.approx(-float(d_a + d_b), rel=1e-7, abs=1e-11 * size)
            assert p.between[0] == pytest.approx(-float(d_ab), **near)
            assert p.lower[0] == pytest.approx(float(d_aa + d_ab), **near)
            assert p.upper[0] == pytest.approx(float(d_bb + d_ab), **near)


@links
def test_rows_sum_to_one_and_thresholds_of_shares_give_the_shares(link):
    scores = np.linspace(-50, 50, 201)
    np.testing.assert_allclose(
        np.exp(link.log_probabilities(scores, THRESHOLDS)).sum(axis=1), 1.0, atol=1e-12
    )
    shares = np.array([1e-9, 0.3, 0.2, 0.5 - 1e-9])
    above = np.cumsum(shares[::-1])[::-1][1:]
    tau = link.scores_of(np.cumsum(shares)[:-1], above)
    np.testing.assert_allclose(np.exp(link.log_probabilities(np.zeros(1), tau))[0], shares, rtol=1e-7)


@links
def test_the_loss_is_convex_in_both_ends(link):
    rng = np.random.default_rng(0)
    eta, codes = 3 * rng.standard_normal(500), rng.integers(0, 4, 500)
    p = link.pieces(eta, codes, np.array([-1.0, 0.2, 1.0]))
    aa, bb, ab = p.lower + p.between, p.upper + p.between, -p.between
    assert (aa >= -1e-12).all() and (bb >= -1e-12).all()
    assert (aa * bb - ab**2 >= -1e-12 * (1 + aa * bb)).all()
