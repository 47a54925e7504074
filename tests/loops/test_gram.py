"""Loops over kernel matrices against NumPy."""

from __future__ import annotations

import numpy as np

from separatrix.loops import gram


def test_cells_gathered_and_columns_kept():
    cells = np.arange(30.0).reshape(5, 6)
    dest = np.zeros((3, 2))
    gram.gather(cells, np.array([4, 0]), np.array([5, 1]), dest, np.array([2, 0]))
    np.testing.assert_array_equal(dest, [[5, 1], [0, 0], [29, 25]])
    flat = cells.ravel().copy()
    gram.narrow(flat, 5, 6, np.array([0, 2, 5]))
    np.testing.assert_array_equal(flat[:15].reshape(5, 3), cells[:, [0, 2, 5]])


def test_radial_cells_are_powers_of_two():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    a, b, dots = (A**2).sum(axis=1), (B**2).sum(axis=1), 2 * A @ B.T
    dest = np.zeros((4, 7))
    gram.radial_double(dots, a, b, dest, np.arange(4)[::-1].copy(), 2)
    truth = 2.0 ** -((A[:, None] - B) ** 2).sum(axis=2)
    np.testing.assert_allclose(dest[::-1, 2:], truth, rtol=1e-13)
    gram.radial_double_here(dots, a, b)
    np.testing.assert_allclose(dots, truth, rtol=1e-13)


def test_powers_and_sums_of_rows():
    dots = np.random.default_rng(0).normal(size=(3, 4))
    dest = np.zeros((3, 4))
    gram.power(dots, 0.5, 1.0, 3, dest, np.arange(3), 0)
    np.testing.assert_allclose(dest, (0.5 * dots + 1) ** 3, rtol=1e-13)
    score = np.zeros(4)
    gram.add_rows(dest, np.array([2, 0]), np.array([1.0, -2.0]), 1, 4, score)
    np.testing.assert_allclose(score, [0, *(dest[2] - 2 * dest[0])[1:]], rtol=1e-13)
