"""What each word of a row adds, where the model sees a sparse row and its scores are sums over it.

    c_j = s(z) − s(z without entry j),   s(z) = s(0) + Σ_{j: z_j ≠ 0} c_j    (tested on the row, else nothing is said)

So it is for logistic regression, multinomial and Bernoulli naive Bayes and calibrated linear machines on bags of
words. Notes [726], [6867] 3.2.2; row O5. Shapes: z (q,) with m entries, H heads. Cost: m + 2 predictions a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix.core.numerics import FloatArray
from separatrix.show.coefficients import column_names
from separatrix.show.reading import last_step
from separatrix.show.report_parts.sums import MISS, NotASum, before, heads_of, link_of

MOST_ENTRIES = 5_000


class Pieces(NamedTuple):
    """start (H,) of an empty row, names and values of the entries (m,), what they add (m, H), P (K,)."""

    start: FloatArray
    names: list[str]
    values: FloatArray
    terms: FloatArray
    P: FloatArray


def pieces(model: Any, X: Any) -> list[Pieces] | None:
    """The pieces of each row of X; None where the model sees dense rows, or is no sum over what it sees.

    >>> from separatrix import LogisticRegression
    >>> X = sp.csr_matrix([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> model = LogisticRegression().fit(X, [0, 1, 1, 0])
    >>> found = pieces(model, X[:1])[0]
    >>> bool(np.allclose(found.terms[:, 0], model.coef_[0, [0, 2]] * [1.0, 2.0]))
    True
    """
    seen: Any = before(model)(X)
    if not hasattr(seen, "tocsr"):
        return None
    Z = seen.tocsr().astype(float)
    Z.eliminate_zeros()
    if np.diff(Z.indptr).max(initial=0) > MOST_ENTRIES:
        return None
    try:
        score, mode = heads_of(last_step(model))
    except NotASum:
        return None
    names = np.array(column_names(model, Z.shape[1]), dtype=object)
    found = []
    for i in range(Z.shape[0]):
        row = Z[i]
        at, values = row.indices, row.data
        m = len(at)
        without = np.flatnonzero(~np.eye(m, dtype=bool).ravel()) % max(m, 1)  # entries kept, copy after copy
        copies = sp.csr_matrix(
            (values[without], at[without], np.arange(m + 1) * max(m - 1, 0)), shape=(m, Z.shape[1])
        )
        s = score(sp.vstack([row, sp.csr_matrix((1, Z.shape[1])), copies], format="csr"))
        terms, start = s[0] - s[2:], s[1]
        size = float(np.abs(terms).sum() + np.abs(start).max())
        if not np.isfinite(s).all() or np.abs(start + terms.sum(axis=0) - s[0]).max() > MISS * max(
            size, 1e-300
        ):
            return None
        found.append(Pieces(start, names[at].tolist(), values, terms, link_of(mode, s[:1])[0]))
    return found
