"""Singular values of wide rows by their Gram matrix, against the decomposition of the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.core import wide
from separatrix.core.wide import singular_directions


def rows_with(values, p, seed=0):
    rng = np.random.default_rng(seed)
    m = len(values)
    U, V = (np.linalg.qr(rng.normal(size=shape))[0] for shape in ((m, m), (p, m)))
    return (U * values) @ V.T


@pytest.mark.parametrize(
    "values", [[5.0, 4.0, 0.5], [5.0, 1.0, 1e-13], [3.0, 2e-5, 1e-5], [1e6, 3e-3, 1e-3], [0.0, 0.0]]
)
def test_as_the_rows_themselves(values):
    Z, least = rows_with(np.array(values), 40), 1.5e-5
    found, vt = singular_directions(Z, least)
    s, reference = np.linalg.svd(Z, full_matrices=False)[1:]
    keep = s >= least
    assert vt.shape == (keep.sum(), 40)
    np.testing.assert_allclose(found, s[keep], rtol=1e-10)
    np.testing.assert_allclose(vt @ vt.T, np.eye(len(vt)), atol=1e-11)
    np.testing.assert_allclose(np.abs(np.sum(vt * reference[keep], axis=1)), 1.0, atol=1e-10)


@pytest.mark.parametrize("values, decomposed", [([5.0, 1.0, 1e-13], False), ([5.0, 4e-6, 1e-13], True)])
def test_small_ones_that_count_are_not_squared(monkeypatch, values, decomposed):
    called = []
    svd = np.linalg.svd
    monkeypatch.setattr(wide.np.linalg, "svd", lambda *a, **k: called.append(1) or svd(*a, **k))
    singular_directions(rows_with(np.array(values), 40), 1e-6)
    assert bool(called) == decomposed


def test_more_rows_than_columns():
    Z = np.random.default_rng(1).normal(size=(9, 4))
    values, vt = singular_directions(Z, 1e-4)
    np.testing.assert_allclose((vt.T * values**2) @ vt, Z.T @ Z, atol=1e-12)
