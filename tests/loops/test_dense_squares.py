"""Squares of narrow rows, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.loops.dense import STRETCH, narrow_squares


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [2, STRETCH, 3 * STRETCH + 5])
@pytest.mark.parametrize("one", [True, False])
def test_they_are_numpys(order, n, one):
    rng = np.random.default_rng(n)
    p = 4
    x, bend = np.array(rng.normal(size=(n, p)), order=order), rng.random(n)
    z = np.column_stack([x, np.ones(n)]) if one else x
    out = np.ones((p + one, p + one))
    row, column = (stride // 8 for stride in x.strides)
    narrow_squares(x.ravel("K"), n, p, row, column, bend, out)
    np.testing.assert_allclose(out - 1.0, z.T @ (bend[:, None] * z), rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(out, out.T)
