"""Categorical naive Bayes:  x_j a level 0 … L_j − 1 of probability θ_kj(x_j) in class k  ([726]; G6).

Shapes: levels X (n, p), K classes. Cost: one sweep, O(np); prediction O(npK).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Tags

from separatrix.data.door import refuse_infinite
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.sources import TableLike
from separatrix.models.generative.naive import Counted
from separatrix.models.generative.parts.counted import LevelsPart, Smoothing
from separatrix.models.generative.parts.part import ColumnsPart
from separatrix.models.generative.state import Report, report


@constructor
class CategoricalNB(Counted):
    """p(x | k) = Π_j θ_kj(x_j),  θ_kj(l) = (n_kjl + α) / (n_kj + α L_j), levels l = 0 … L_j − 1 ([726], G6).

    A level unseen in training is legal at prediction: it gets the probability of a level seen no times,
    α / (n_kj + α L_j), which is larger in a class of few rows. A NaN cell is missing and left out.

    Parameters: alpha, force_alpha, fit_prior, class_prior, min_categories as in scikit-learn; ``smoothing``: see
    the module; em_tol, em_max_iter: see GaussianNB. For columns of words see NaiveBayes.

    >>> import numpy as np
    >>> model = CategoricalNB().fit(np.array([[0], [0], [1], [1]]), [0, 0, 0, 1])
    >>> np.exp(model.feature_log_prob_[0]).round(3).tolist(), model.predict([[7]]).tolist()
    ([[0.6, 0.4], [0.333, 0.667]], [0])
    """

    _: KW_ONLY
    min_categories: Any = None

    category_count_ = Report("edit feature_log_prob_, or learn from more rows by partial_fit and merge")
    n_categories_ = Report("name min_categories, or learn from rows of more levels")

    def _part(self, smoothing: Smoothing) -> ColumnsPart:
        return LevelsPart(smoothing, 1 if self.min_categories is None else self.min_categories)

    def _refuse_cells(self, cells: np.ndarray, start: int) -> None:
        if cells.dtype.kind in "ub" or (cells.dtype.kind == "i" and not (cells.size and cells.min() < 0)):
            return
        refuse_infinite(self, cells, start)
        wrong = (cells < 0) | (cells != np.floor(cells)) & (cells == cells)
        wanted = "a level 0, 1, 2, … (Negative values in data passed to CategoricalNB, or fractions: see Discretizer)"
        self._refuse_where(wrong, cells, start, wanted)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        least = self.min_categories
        if least is not None and not (
            np.asarray(least).dtype.kind in "iu" and np.all(np.asarray(least) >= 1)
        ):
            raise ValueError(f"min_categories must be whole numbers of at least 1, or None, got {least!r}")

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        table = super()._read(X, reset=reset)
        if np.ndim(self.min_categories) and len(self.min_categories) != self.n_features_in_:
            count = len(self.min_categories)
            raise ValueError(
                f"min_categories has {count} numbers for {self.n_features_in_} columns: give one, or as many"
            )
        return table

    def _publish(self) -> None:
        part = self._parts[0]
        self.feature_log_prob_ = [share.copy() for share in part.log_share]
        report(
            self,
            category_count_=tuple(part.tables),
            n_categories_=np.array([t.shape[1] for t in part.tables]),
        )

    def _live_parts(self) -> list[Any]:
        fitted, shares = self._parts[0].log_share, list(self.feature_log_prob_)
        if [np.shape(t) for t in shares] != [t.shape for t in fitted]:
            raise ValueError(
                f"feature_log_prob_ of CategoricalNB has shapes {[np.shape(t) for t in shares][:5]}, and the fitted "
                f"one has {[t.shape for t in fitted][:5]}: an edit may change numbers, not shapes"
            )
        return [self._parts[0].at([np.asarray(t, dtype=np.float64) for t in shares])]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags
