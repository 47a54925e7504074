"""How the cells of a sparse row are stored, and a copy that is in order where a model needs one.

    "in order"    by column, each cell once                  what solvers and kernels go through
    "once"        each cell once, in any order               sums of f(x_ij), f(0) = 0: indicators, squares
    "in parts"    x_ij the sum of what is stored of it       products Xw and sums Σ w_i x_ij, which are linear

What CountVectorizer gives is in no order, yet each cell is there once. Cost O(cells) to find out and O(cells + p) for
a copy in order: two transpositions, each of which is a count and a move, in place of sorting every row.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

Stored = Literal["in order", "once", "in parts"]


def sparse_rows(X: Any, stored: Stored = "in order") -> Any:
    """The CSR matrix itself where its cells are stored as asked, else a copy by column with each cell once.

    >>> import scipy.sparse as sp
    >>> X = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    >>> sparse_rows(X).toarray().tolist(), sparse_rows(X).indices.tolist(), sparse_rows(X, "in parts") is X
    ([[2.0, 4.0]], [0, 1], True)
    """
    if stored == "in parts" or X.has_canonical_format or (stored == "once" and not repeats(X)):
        return X
    n, p = X.shape
    if n + p > X.nnz:  # next to nothing is stored
        X = X.copy()
    else:
        X = X.tocsc().tocsr()
        X.has_sorted_indices = True
    X.sum_duplicates()
    return X


def repeats(X: Any) -> bool:
    """Whether some cell of a CSR matrix is stored more than once."""
    from separatrix.loops.sparse import stored_twice

    return bool(stored_twice(X.indices, X.indptr, np.full(X.shape[1], -1, dtype=np.int64)))


def with_cells(X: Any, data: np.ndarray) -> Any:
    """The same places holding other cells; nothing but the cells is new."""
    out = type(X)(X.shape, dtype=data.dtype)
    out.data, out.indices, out.indptr = data, X.indices, X.indptr
    return out
