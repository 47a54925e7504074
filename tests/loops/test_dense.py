"""Loops over dense rows against NumPy."""

from __future__ import annotations

import numpy as np

from separatrix.loops.dense import RUN, class_power_sums, quadratic_scores


def test_power_sums_by_class_leave_out_rows_without_one():
    rng = np.random.default_rng(0)
    X, codes, w = rng.normal(size=(2 * RUN + 5, 4)), rng.integers(-1, 3, 2 * RUN + 5), rng.random(2 * RUN + 5)
    first, second = np.zeros((3, 4)), np.zeros((3, 4))
    class_power_sums(X, codes, w, first, second)
    for k in range(3):
        np.testing.assert_allclose(first[k], (w * (codes == k)) @ X, atol=1e-12)
        np.testing.assert_allclose(second[k], (w * (codes == k)) @ X**2, atol=1e-12)


def test_quadratic_scores_are_added():
    rng = np.random.default_rng(0)
    X, a, b, c = rng.normal(size=(9, 4)), rng.normal(size=(3, 4)), rng.normal(size=(3, 4)), rng.normal(size=3)
    out = np.ones((9, 3))
    quadratic_scores(X, a, b, c, out)
    np.testing.assert_allclose(out, 1 + X**2 @ a.T + X @ b.T + c, atol=1e-13)
