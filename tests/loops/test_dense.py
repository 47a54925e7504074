"""Loops over dense rows against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.loops.dense import RUN, class_power_sums, normal_scores


@pytest.mark.parametrize("classes", [3, 40])
def test_power_sums_by_class_leave_out_rows_without_one(classes):
    rng = np.random.default_rng(0)
    n = 9 * RUN + 5
    X, codes, w = rng.normal(1e3, 1.0, size=(n, 4)), rng.integers(-1, classes, n), rng.random(n)
    for weight in (w, np.empty(0)):
        shift, seen = np.zeros((classes, 4)), np.zeros(classes, dtype=bool)
        first, second = np.zeros((classes, 4)), np.zeros((classes, 4))
        class_power_sums(X, codes, weight, shift, seen, first, second)
        assert seen.all()
        for k in range(classes):
            mine = (w if len(weight) else 1.0) * (codes == k)
            np.testing.assert_array_equal(shift[k], X[np.flatnonzero(codes == k)[0]])
            np.testing.assert_allclose(first[k], mine @ (X - shift[k]), atol=1e-10)
            np.testing.assert_allclose(second[k], mine @ (X - shift[k]) ** 2, rtol=1e-12)


def test_a_shift_is_a_number_and_what_is_none_shows_in_the_sums():
    X = np.array([[np.nan, np.inf, 2.0], [1.0, 1.0, 2.0]])
    shift, seen = np.zeros((1, 3)), np.zeros(1, dtype=bool)
    first, second = np.zeros((1, 3)), np.zeros((1, 3))
    class_power_sums(X, np.zeros(2, dtype=np.intp), np.empty(0), shift, seen, first, second)
    assert shift.tolist() == [[0.0, 0.0, 2.0]]
    assert np.isfinite(second).tolist() == [[False, False, True]]
    assert second[0, 2] == 0.0


def test_normal_scores_are_centred_class_by_class():
    rng = np.random.default_rng(0)
    X, mean, root = rng.normal(1e6, 1.0, (9, 4)), rng.normal(1e6, 1.0, (3, 4)), rng.random((3, 4))
    root[:, 2] = 0.0  # says nothing, whatever it holds
    X[5, 2] = np.nan
    constant, out = rng.normal(size=3), np.empty((3, 9))
    normal_scores(np.ascontiguousarray(X.T), mean, root, constant, out)
    kept = np.array([0, 1, 3])
    z = (X[:, None, kept] - mean[:, kept]) * root[:, kept]
    np.testing.assert_allclose(out.T, constant - (z * z).sum(axis=2), rtol=1e-12)
