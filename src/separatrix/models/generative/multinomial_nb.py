"""Multinomial naive Bayes:  a row is a bag of counts, θ_k a distribution over columns  ([726]; G5).

Shapes: counts X (n, p), dense or sparse, K classes. Cost: one sweep; prediction O(stored cells · K).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Tags

from separatrix.core.numerics import FloatArray
from separatrix.data.door import read_table, refuse_not_finite
from separatrix.data.estimator import constructor
from separatrix.data.sources import TableLike
from separatrix.data.stored import sparse_rows, with_cells
from separatrix.models.generative.facts import Cells
from separatrix.models.generative.naive import Counted
from separatrix.models.generative.parts.counted import BagPart, Smoothing
from separatrix.models.generative.parts.part import ColumnsPart
from separatrix.models.generative.state import report


@constructor
class MultinomialNB(Counted):
    """p(x | k) = (Σ_j x_j)!/Π_j x_j! · Π_j θ_kj^{x_j},  θ_kj = (n_kj + α) / (n_k + pα): counts of words ([726], G5).

    Linear: ``coef_`` = log θ, ``intercept_`` = log π (two classes: the differences). Counts may be fractions
    (tf–idf). A missing count has no meaning in a bag of words and is refused.

    Parameters: alpha, force_alpha, fit_prior, class_prior as in scikit-learn; ``smoothing``: see the module;
    em_tol, em_max_iter: see GaussianNB.

    >>> import numpy as np
    >>> model = MultinomialNB().fit(np.array([[3, 0], [1, 1], [0, 4]]), ["x", "x", "y"])
    >>> np.exp(model.feature_log_prob_).round(3).tolist()
    [[0.714, 0.286], [0.167, 0.833]]
    """

    _sparse = True
    _stored = "in parts"
    _base_counts = False  # the multinomial coefficients

    def _part(self, smoothing: Smoothing) -> ColumnsPart:
        return BagPart(smoothing)

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        return _counts(super()._read(X, reset=reset))

    def _refuse_cells(self, cells: Cells, start: int) -> None:
        data = cells if isinstance(cells, np.ndarray) else cells.data
        if data.size and not (data.min() >= 0 and data.max() < np.inf):
            dense = cells if isinstance(cells, np.ndarray) else cells.toarray()
            refuse_not_finite(self, dense, start)
            wanted = "a count: Negative values in data passed to MultinomialNB"
            self._refuse_where(~(dense >= 0), dense, start, wanted)

    def _read_for_prediction(self, X: TableLike) -> Any:
        return _counts(read_table(self, X, reset=False, stored=self._stored))

    def _publish(self) -> None:
        part = self._parts[0]
        report(self, feature_count_=part.count)
        self.feature_log_prob_ = part.weights.T

    def _live_parts(self) -> list[Any]:
        return [self._parts[0].at(self._public_shares())]

    def _linear(self) -> tuple[FloatArray, FloatArray]:
        return self._public_shares(), self._now()._log_prior

    def _log_base(self, cells: Cells) -> FloatArray:
        from scipy.special import gammaln

        if isinstance(cells, np.ndarray):
            factorials: Any = gammaln(cells.astype(np.float64) + 1.0)
        else:
            counts = sparse_rows(cells, "once")
            factorials = with_cells(counts, gammaln(counts.data.astype(np.float64) + 1.0))
        return gammaln(np.ravel(cells.sum(axis=1, dtype=np.float64)) + 1.0) - np.ravel(factorials.sum(axis=1))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def _counts(cells: Any) -> Any:
    """The table; where a sparse cell's parts are not all counts, with each cell in one piece."""
    data = None if isinstance(cells, np.ndarray) else getattr(cells, "data", None)
    if isinstance(data, np.ndarray) and data.size and not data.min() >= 0:
        return sparse_rows(cells, "once")
    return cells
