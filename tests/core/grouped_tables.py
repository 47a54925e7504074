"""Tables with classes, and how near two statistics by class must come to each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from separatrix.core.statistics.grouped import GroupCounts, GroupMoments, GroupScatter, GroupSums
from tests.draws import examples

P = 3
ORIGIN = np.array([0.0, 0.0, 1e8])
WEIGHTS = (0.0, 0.5, 1.0, 2.0, 3.0)
quick = examples(20)


def groups_of(k):
    """Two groups where there are enough classes."""
    return np.arange(k) % 2 if k > 1 else np.zeros(k, dtype=int)


def levels_of(X):
    """The first columns as level numbers 0 … 6, missing cells kept, one negative."""
    with np.errstate(invalid="ignore"):
        return np.round(np.clip(X[:, :2], -1, 6))


MAKERS = {
    "moments": lambda X, m: GroupMoments.of(X, m),
    "centred moments": lambda X, m: GroupMoments.centred(X, m),
    "scatter": lambda X, m: GroupScatter.of(X, m, groups_of(m.k)),
    "pooled scatter": lambda X, m: GroupScatter.of(X, m, np.zeros(m.k, dtype=int)),
    "class scatter": lambda X, m: GroupScatter.of(X, m, np.arange(m.k)),
    "sums": lambda X, m: GroupSums(m.sum(np.abs(X)), m.count),  # of counts: none negative
    "counts": lambda X, m: GroupCounts.of(levels_of(X), m),
}
every = pytest.mark.parametrize("name", MAKERS)
removable = pytest.mark.parametrize("name", ["moments", "centred moments", "sums"])
with_gaps = pytest.mark.parametrize("name", ["moments", "centred moments", "counts"])


@st.composite
def tables(draw, min_rows=0, max_rows=14, most_classes=4, gaps=False, weights=WEIGHTS):
    """Rows on columns of different unit and origin (one at 1e8 ± 3), K, codes with −1 for no class, weights."""
    n = draw(st.integers(min_rows, max_rows))
    k = draw(st.integers(1, most_classes))
    cell = st.integers(-3000, 3000).map(lambda v: v / 1000)
    Z = draw(hnp.arrays(np.float64, (n, P), elements=cell))
    unit = 10.0 ** draw(hnp.arrays(np.int64, P, elements=st.integers(-6, 6)))
    unit[2] = 1.0
    X = Z * unit + ORIGIN
    if gaps:
        X[draw(hnp.arrays(np.bool_, (n, P)))] = np.nan
    codes = draw(hnp.arrays(np.int64, n, elements=st.integers(-1, k - 1)))
    weight = draw(st.none() | hnp.arrays(np.float64, n, elements=st.sampled_from(weights)))
    return X, k, codes.astype(np.intp), weight


def some(weight, rows):
    return None if weight is None else weight[rows]


def parts(s):
    """(value, size against which an error of it is judged) of each fact."""
    if isinstance(s, GroupMoments):
        return [(s.weight, 1.0), (s.mean, 1e-300 + np.abs(s.mean)), (s.mean + s.tail, 1e-300 + np.abs(s.mean)),
                (s.second, 1e-300 + s.second)]  # fmt: skip
    if isinstance(s, GroupScatter):
        length = np.sqrt(np.maximum(np.einsum("gii->gi", s.scatter), 0)) + 1e-150
        return [(s.weight, 1.0), (s.mean, 1e-300 + np.abs(s.mean)),
                (s.scatter, length[:, :, None] * length[:, None, :])]  # fmt: skip
    if isinstance(s, GroupSums):
        return [(s.value, 1.0 + np.abs(s.value)), (s.weight, 1.0)]
    return [(t, 1.0) for t in s.tables]


def assert_same(a, b, tol=1e-12):
    """Equal facts; where a class has no weight its mean is no fact, and levels never seen may be left out."""
    assert type(a) is type(b)
    if isinstance(a, GroupCounts):
        a, b = a + zeros_like(b), b + zeros_like(a)
    empty = (a.weight == 0) if isinstance(a, (GroupMoments, GroupScatter)) else None
    for (x, size), (y, _) in zip(parts(a), parts(b), strict=True):
        assert x.shape == y.shape
        if empty is not None and x.shape[:1] == empty.shape[:1] and x.shape == a.mean.shape:
            gone = empty if empty.ndim == 2 else empty[:, None]
            x, y = np.where(gone, 0.0, x), np.where(gone, 0.0, y)
        assert np.isfinite(x).all()
        np.testing.assert_allclose(x / size, y / size, rtol=0, atol=tol)


def zeros_like(counts):
    return GroupCounts(tuple(np.zeros_like(t) for t in counts.tables))


def slack(X):
    """The size of a column's values, for means that cancel to nearly nothing."""
    return np.nanmax(np.abs(X - ORIGIN), axis=0, initial=0.0) if len(X) else np.zeros(P)


def assert_same_facts(a, b, X, tol=1e-12):
    """`assert_same`, a mean being judged against the spread of its column too."""
    if isinstance(a, (GroupCounts, GroupSums)):
        size = 1.0 + np.nansum(np.abs(X)) if isinstance(a, GroupSums) else 1.0
        if isinstance(a, GroupSums):
            np.testing.assert_allclose(a.value, b.value, rtol=0, atol=tol * size)
            np.testing.assert_allclose(a.weight, b.weight, rtol=tol, atol=tol)
            return
        assert_same(a, b, tol)
        return
    np.testing.assert_allclose(a.weight, b.weight, rtol=1e-14, atol=1e-14)
    live = (a.weight > 1e-14) if a.weight.ndim == 2 else (a.weight > 1e-14)[:, None]
    size = slack(X) + 1e-300
    for x, y in ((a.mean, b.mean), (a.mean + a.tail, b.mean + b.tail)):
        rounding = 4 * np.finfo(float).eps * (np.abs(x) + np.abs(y))  # the mean itself is one double
        assert (np.abs(np.where(live, x - y, 0.0)) <= tol * size + rounding).all()
    tails = np.where(live, (a.mean - b.mean) + (a.tail - b.tail), 0.0)
    assert (np.abs(tails) <= tol * size).all(), "mean and tail together keep what one double cannot"
    if isinstance(a, GroupMoments):
        assert (np.abs(a.second - b.second) <= tol * (np.abs(a.second) + size**2)).all()
        assert (a.second >= -1e-13 * size**2).all()
    else:
        np.testing.assert_array_equal(a.group, b.group)
        assert (np.abs(a.scatter - b.scatter) <= 10 * tol * np.outer(size, size) * max(1, len(X))).all()
