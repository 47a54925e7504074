"""The kind of separation by two plain linear programs, what every answer must satisfy, and tiny tables to try."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog


def signed_pairs(X, y, fit_intercept=True):
    """One row for each row of X and rival class: its inner product with D.ravel() is that pair's margin."""
    Z = np.column_stack([X, np.ones(len(X))]) if fit_intercept else np.asarray(X, dtype=float)
    k = int(max(y)) + 1
    pairs = []
    for z, own in zip(Z, y):
        for rival in set(range(k)) - {int(own)}:
            row = np.zeros((k, Z.shape[1]))
            row[own] += z
            row[rival] -= z
            pairs.append(row.ravel())
    return np.array(pairs)


def kind_by_linear_programs(X, y, fit_intercept=True):
    """Feasibility of A d ≥ 1, else whether max Σ A d over A d ≥ 0 in a box is positive (Konis 2007)."""
    A = signed_pairs(X, y, fit_intercept)
    size = A.shape[1]
    complete = linprog(np.zeros(size), -A, -np.ones(len(A)), bounds=(None, None))
    if complete.status == 0:
        return "complete"
    best = linprog(-A.sum(axis=0), -A, np.zeros(len(A)), bounds=(-1, 1))
    return "quasi" if -best.fun > 1e-6 else "overlap"


def assert_sound(found, X, y, **given):
    """The proof holds, and its parts are what their documentation says."""
    assert found.check(X, y, **given)
    n = len(y)
    k = len(found.classes)
    if found.kind == "overlap":
        assert found.direction is None and found.margins is None and found.columns == ()
    else:
        assert found.margins.shape == (n,)
        assert found.direction.shape == ((X.shape[1],) if k == 2 else (k, X.shape[1]))
    if found.kind == "complete":
        assert found.weights is None and (found.margins > 0).all()
    else:
        assert found.weights.shape == ((n,) if k == 2 else (n, k))
        assert (found.weights >= 0).all()
        assert found.weights.sum() == pytest.approx(1.0)
        assert found.residual < 1e-13
    if found.kind == "quasi":
        assert (found.margins >= 0).all()


@st.composite
def tiny_tables(draw, classes):
    n = draw(st.integers(classes, 12))
    p = draw(st.integers(1, 3))
    X = draw(hnp.arrays(np.int64, (n, p), elements=st.integers(-2, 2)))
    extra = draw(st.lists(st.integers(0, classes - 1), min_size=n - classes, max_size=n - classes))
    return X.astype(float), np.array([*range(classes), *extra])
