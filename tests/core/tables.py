"""Small tables that statistics are made of, and how near two statistics must come to each other."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from separatrix.core.statistics import Gram, QRFactor
from tests.draws import examples

P = 3

quick = examples(15)


@st.composite
def tables(draw, min_rows=0, max_rows=12, weights=(0.0, 0.5, 1.0, 2.0, 3.0)):
    """Rows on three columns of very different unit and origin, one of them at 1e8 ± 3, targets, weights."""
    n = draw(st.integers(min_rows, max_rows))
    cell = st.floats(-3, 3, allow_nan=False, width=32)
    Z = draw(hnp.arrays(np.float64, (n, P), elements=cell))
    y = draw(hnp.arrays(np.float64, n, elements=cell))
    w = draw(hnp.arrays(np.float64, n, elements=st.sampled_from(weights)))
    unit = 10.0 ** draw(hnp.arrays(np.int64, P, elements=st.integers(-8, 8)))
    unit[2] = 1.0
    return Z * unit + np.array([0.0, 0.0, 1e8]), y, w


def parts(s):
    """The facts a statistic stands for, each with the size against which an error of it is judged."""
    if isinstance(s, Gram | QRFactor):
        S = s.joint_scatter()
        length = np.sqrt(np.maximum(np.diag(S), 0))
        # The square root spreads an entry's rounding over the rest of its column.
        return [(s.weight, 1.0), (s.joint_mean, 1 + np.abs(s.joint_mean)), (S, np.outer(length, length))]
    return [(s.weight, 1.0), (s.mean, 1 + np.abs(s.mean)), (s.second, s.second)]


def assert_close(a, b, rtol=1e-12, size=None):
    """a and b agree to rtol of their own size, or of that of a third statistic they were computed from."""
    assert type(a) is type(b)
    for (x, _), (y, here), (_, there) in zip(parts(a), parts(b), parts(size or b), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape
        finite = np.isfinite(y)
        assert np.array_equal(x[~finite], y[~finite], equal_nan=True)
        bound = rtol * np.broadcast_to(np.maximum(here, there), y.shape) + 1e-300
        assert np.all(np.abs(x[finite] - y[finite]) <= bound[finite]), (x, y)
