"""Tables with labels to cut, and when two sets of cuts are one."""

import numpy as np
from hypothesis import strategies as st

from tests.draws import examples

quick = examples(60)
methods = st.sampled_from(["width", "frequency", "mdl"])
nan = float("nan")


@st.composite
def tables(draw, missing=True, tied=True):
    """(X, y): dyadic values, so that shifts and powers of two are exact; ties and NaN unless told otherwise.

    The labels follow the first column, with errors, or MDL would seldom have a cut to make.
    """
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, p, k = draw(st.integers(2, 60)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    size = draw(st.sampled_from([3, 12, 400])) if tied else 0
    if tied:
        X = rng.integers(-size, size + 1, size=(n, p)) / 8
    else:
        X = np.column_stack([rng.permutation(4 * n)[:n] - n for _ in range(p)]) / 8
    rank = np.searchsorted(np.quantile(X[:, 0], np.arange(1, k) / k), X[:, 0])
    y = np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.1, 1.0])), rng.integers(0, k, n), rank)
    if missing and draw(st.booleans()):
        X[rng.random((n, p)) < 0.2] = nan
    return X, y


def same_cuts(a, b):
    return len(a.cuts_) == len(b.cuts_) and all(np.array_equal(c, d) for c, d in zip(a.cuts_, b.cuts_))
