"""The span of wide rows by their Gram matrix: the rows' lengths and angles, and the way back."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import LogisticRegression
from separatrix.data.rows import Rows
from separatrix.problems import gram_span as room
from separatrix.problems.gram_span import gram_span
from separatrix.solve import linear


def rows_of(kind, n=20, p=5000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if kind == "zeros":
        X[rng.random((n, p)) < 0.95] = 0.0
    if kind == "far":
        X += 1e3
    if kind == "repeated":
        X[5:9] = X[4]
    if kind == "uneven":
        X *= 10.0 ** rng.integers(-6, 2, size=(n, 1))
    return Rows.of(X, np.arange(n) % 2)


@pytest.mark.parametrize("kind", ["plain", "zeros", "far", "repeated", "uneven"])
@pytest.mark.parametrize("centred", [True, False])
def test_lengths_angles_and_the_way_back(kind, centred):
    rows = rows_of(kind)
    centre = rows.moments().mean if centred else np.zeros(rows.p)
    coordinates, span = gram_span(rows, centre, np.inf)
    Z = rows.source - centre
    size = np.linalg.norm(Z, axis=1)
    np.testing.assert_allclose(span.source @ span.source.T, Z @ Z.T, atol=1e-12 * np.outer(size, size).max())
    t = np.random.default_rng(1).normal(size=(coordinates.size, 2))
    for each in (t, t[:, 0]):
        w = coordinates.weights(each)
        np.testing.assert_allclose(Z @ w, span.source @ each, atol=1e-6 * size.max())
        np.testing.assert_allclose(np.asarray(coordinates.basis) @ each, w, atol=1e-7 * np.abs(w).max())
        if kind != "uneven":
            np.testing.assert_allclose(coordinates.inner(w), each, atol=1e-9)
        np.testing.assert_allclose(coordinates.basis.scores_of(w), Z @ w, atol=1e-10 * size.max())
    rank = 16 if kind == "repeated" else 20
    # of centred rows whose lengths differ by 10⁸ one direction is rounding: whether it is kept is the processor's
    assert coordinates.size == rank - centred or (kind == "uneven" and coordinates.size == rank)


def test_rows_that_are_left_out_move_nothing():
    rows = rows_of("plain")
    live = np.arange(20) != 3
    coordinates, span = gram_span(rows, np.zeros(rows.p), np.inf, live)
    rows.source[3] = 1e200
    again, same = gram_span(rows, np.zeros(rows.p), np.inf, live)
    assert not span.source[3].any() and coordinates.size == again.size == 19
    np.testing.assert_array_equal(span.source, same.source)


def test_a_small_penalty_is_left_to_a_factor_of_the_rows():
    rows = rows_of("plain")
    assert gram_span(rows, np.zeros(rows.p), 1e-5) is None
    rows.source[0, 0] = 1e200
    assert gram_span(rows, np.zeros(rows.p), np.inf) is None


@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("kind", ["plain", "zeros", "repeated", "uneven"])
def test_an_answer_as_good_as_by_a_factor(monkeypatch, C, kind):
    rows = rows_of(kind)
    X, y = rows.source, np.random.default_rng(2).integers(0, 2, rows.n)
    ours = LogisticRegression(C=C).fit(X, y)
    monkeypatch.setattr(linear, "gram_span", lambda *_: None)
    theirs = LogisticRegression(C=C).fit(X, y)
    assert ours.verdict_.status == theirs.verdict_.status == "optimal"
    assert ours.verdict_.gap <= 2 * theirs.verdict_.gap + 1e-13 * theirs.verdict_.objective
    assert ours.verdict_.objective == pytest.approx(theirs.verdict_.objective, rel=1e-10)
    size = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6 * size)


def test_an_answer_that_the_rows_contradict_is_made_again(monkeypatch):
    rows = rows_of("plain")
    y = np.arange(20) % 2
    wanted = LogisticRegression().fit(rows.source, y)
    monkeypatch.setattr(room, "row_gram", lambda table, centre: 1.001 * (table - centre) @ (table - centre).T)
    again = LogisticRegression().fit(rows.source, y)
    assert again.verdict_.status == "optimal"
    np.testing.assert_allclose(again.coef_, wanted.coef_, atol=1e-9)
