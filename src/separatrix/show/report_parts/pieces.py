"""What each word of a row adds, where the model sees a sparse row and its scores are sums over it.

    c_j = s(entry j alone) − s(0),   s(z) = s(0) + Σ_{j: z_j ≠ 0} c_j    (tested on the row, else nothing is said)

So it is for logistic regression, multinomial and Bernoulli naive Bayes and calibrated linear machines on bags of
words. Notes [726], [6867] 3.2.2; row O5. Shapes: z (q,) with m entries, H heads. Cost: m + 2 predictions a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import TableLike
from separatrix.show.additive import MISS, worst_miss
from separatrix.show.coefficients import column_names
from separatrix.show.reading import last_step
from separatrix.show.report_parts.sums import NotASum, before, heads_of, link_of


class Entries(NamedTuple):
    """start of an empty row (…), places (m,) and values (m,) of a row's entries, what each adds (m, …), score (…)."""

    start: FloatArray
    places: np.ndarray
    values: FloatArray
    terms: FloatArray
    total: FloatArray


def entries(score: Callable[[Any], FloatArray], row: sp.csr_matrix) -> Entries:
    """What each entry of a sparse row (1, q) adds to its score; refused where that is no sum over them.

    >>> found = entries(lambda Z: Z @ np.array([1.0, 5.0, -2.0]) + 0.5, sp.csr_matrix([[2.0, 0.0, 3.0]]))
    >>> found.places.tolist(), found.terms.tolist(), float(found.start), float(found.total)
    ([0, 2], [2.0, -6.0], 0.5, -3.5)
    """
    places, values = row.indices, row.data
    m = len(places)
    alone = sp.csr_matrix((values, (np.arange(m), places)), shape=(m + 1, row.shape[1]))
    s = np.asarray(score(sp.vstack([alone, row], format="csr")), dtype=float)
    if not np.isfinite(s).all():
        raise NotASum("a probability of it is exactly 0 or 1, whose log-odds is infinite")
    start, total = s[m], s[m + 1]
    terms = s[:m] - start
    if worst_miss(terms[None], start, total[None])[2] > MISS:
        raise NotASum("its log-odds is not a sum over columns")
    return Entries(start, places, values, terms, total)


class Pieces(NamedTuple):
    """start (H,) of an empty row, names and values of the entries (m,), what they add (m, H), P (K,)."""

    start: FloatArray
    names: list[str]
    values: FloatArray
    terms: FloatArray
    P: FloatArray


def pieces(model: BaseEstimator, X: TableLike) -> list[Pieces] | None:
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
    try:
        score, mode = heads_of(last_step(model))
        found = [entries(score, Z[i : i + 1]) for i in range(Z.shape[0])]
    except NotASum:
        return None
    names = np.array(column_names(model, Z.shape[1]), dtype=object)
    return [
        Pieces(e.start, names[e.places].tolist(), e.values, e.terms, link_of(mode, e.total[None])[0])
        for e in found
    ]
