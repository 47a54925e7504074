"""Loops of the interior-point method against NumPy."""

from __future__ import annotations

import numpy as np

from separatrix.loops.interior import centred_rows, picked_rows


def test_rows_centred_weighed_and_picked():
    rng = np.random.default_rng(0)
    X, centre, root = rng.normal(size=(6, 3)), rng.normal(size=3), rng.random(6)
    out = np.empty((6, 4))
    centred_rows(X, centre, root, out)
    np.testing.assert_allclose(out, np.column_stack([(X - centre) * root[:, None], root]), rtol=1e-14)
    at, some = np.array([4, 1]), np.empty((2, 3))
    picked_rows(X, at, centre, root[at], some)
    np.testing.assert_array_equal(some, out[at, :3])
