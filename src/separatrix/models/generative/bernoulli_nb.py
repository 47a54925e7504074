"""Bernoulli naive Bayes:  x_j ∈ {0, 1} with probability θ_kj in class k  ([6867] 3.1.2, [726]; G4).

Shapes: X (n, p), dense or sparse, K classes. Cost: one sweep; prediction O(stored cells · K).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Tags

from separatrix.core.numerics import FloatArray
from separatrix.data.door import refuse_infinite
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.models.generative.facts import Cells
from separatrix.models.generative.naive import Counted
from separatrix.models.generative.parts.counted import BernoulliPart, Smoothing
from separatrix.models.generative.parts.part import ColumnsPart
from separatrix.models.generative.state import report


@constructor
class BernoulliNB(Counted):
    """p(x | k) = Π_j θ_kj^{x_j} (1 − θ_kj)^{1 − x_j},  θ_kj = (n_kj + a) / (n_k + a + b) ([6867] 3.1.2, G4).

    The separator is linear: W_j = log θ₁j/(1−θ₁j) − log θ₀j/(1−θ₀j), W₀ = log π₁/π₀ + Σ_j log (1−θ₁j)/(1−θ₀j),
    in ``coef_``, ``intercept_`` and ``rule_``. The notes print the last term without its bracket.

    Parameters: alpha, force_alpha, binarize, fit_prior, class_prior as in scikit-learn; ``smoothing``: see the
    module; em_tol, em_max_iter: see GaussianNB. With ``binarize=None`` cells must be 0 or 1.

    >>> import numpy as np
    >>> model = BernoulliNB().fit(np.array([[1, 0], [1, 1], [0, 1], [0, 1]]), [0, 0, 1, 1])
    >>> np.exp(model.feature_log_prob_).tolist()
    [[0.75, 0.5], [0.25, 0.75]]
    """

    _: KW_ONLY
    binarize: float | None = 0.0

    _sparse = True
    _kind = "beta"

    def _part(self, smoothing: Smoothing) -> ColumnsPart:
        return BernoulliPart(smoothing, self.binarize)

    def _refuse_cells(self, cells: Cells, start: int) -> None:
        refuse_infinite(self, cells, start)
        data = cells if isinstance(cells, np.ndarray) else cells.data
        if self.binarize is None and ((data != 0) & (data != 1) & (data == data)).any():
            dense = cells if isinstance(cells, np.ndarray) else cells.toarray()
            wrong = (dense != 0) & (dense != 1) & (dense == dense)
            self._refuse_where(wrong, dense, start, "0 or 1 (binarize=None)")

    def _publish(self) -> None:
        part = self._parts[0]
        report(self, feature_count_=part.count)
        self.feature_log_prob_ = part.log_yes.copy()  # the part's own is what 1 − θ belongs to

    def _live_parts(self) -> list[Any]:
        return [self._parts[0].at(self._public_shares())]

    def _linear(self) -> tuple[FloatArray, FloatArray]:
        now = self._now()
        part = now._parts[0]
        with np.errstate(invalid="ignore"):
            return part.log_yes - part.log_no, part.log_no.sum(axis=1) + now._log_prior

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False
        return tags
