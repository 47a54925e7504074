"""Gaussian naive Bayes:  x_j ~ N(μ_kj, σ²) within class k, σ tied as told  ([726]; G7).

Shapes: X (n, p), K classes. Cost: one pass, O(np); prediction O(npK).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.checks import check_flag, is_positive
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.models.generative.naive import Naive
from separatrix.models.generative.parts.measured import NormalPart
from separatrix.models.generative.state import Derived, Report, publish, report, state

TIES = ("none", "class", "feature", "both")


@constructor
class GaussianNB(Naive):
    """p(x | k) = Π_j N(x_j; μ_kj, σ²), σ tied over classes, columns, both or neither ([726], G7).

    ``tie="none"``: σ_kj; ``"class"``: σ_j, the same in all classes, and the separator is linear (``coef_``,
    ``intercept_``, ``rule_``); ``"feature"``: σ_k; ``"both"``: one σ, linear again.

    Parameters
    ----------
    priors : (K,), default the classes' shares
    var_smoothing : this share of the largest column's variance is added to all variances, as scikit-learn does (of
        all rows met, by weight; scikit-learn goes by the last chunk's, unweighted)
    tie : see above
    var_smoothing_per_column : True adds the share of each column's own variance instead, so that a change of unit
        changes nothing
    class_weight : None, "balanced" or {class: weight}, times the weights of the rows
    em_tol, em_max_iter : for rows without a label (−1, or None/NaN): EM stops when the mean log likelihood
        rises by less than em_tol

    Attributes: theta_ (K, p) means, var_ (K, p) variances, class_prior_: the state, edits of it predict;
    class_count_, epsilon_ (what was added to the variances: a number, or (p,) per column), coef_, intercept_ and
    rule_ where linear, classes_, verdict_. A class without variance is warned of. Cost: one pass.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 5.0], [2.0, 7.0], [10.0, 5.0], [12.0, np.nan]])
    >>> model = GaussianNB(tie="class").fit(X, ["a", "a", "b", "b"])
    >>> model.theta_.tolist(), model.predict([[9.0, np.nan]]).tolist()
    ([[1.0, 6.0], [11.0, 5.0]], ['b'])
    """

    _: KW_ONLY
    priors: Any = None
    var_smoothing: float = 1e-9
    tie: str = "none"
    em_tol: float = 1e-6
    em_max_iter: int = 500
    var_smoothing_per_column: bool = False
    class_weight: Any = None

    _keeps = "answers"
    epsilon_ = Report("edit var_")
    coef_ = Derived("edit theta_, var_ or class_prior_")
    intercept_ = Derived("edit theta_, var_ or class_prior_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("var_smoothing_per_column", self.var_smoothing_per_column)
        if self.tie not in TIES:
            raise ValueError(f"tie must be one of {', '.join(map(repr, TIES))}, got {self.tie!r}")
        if not (is_positive(self.var_smoothing, finite=True) or self.var_smoothing == 0):
            raise ValueError(f"var_smoothing must be a number, 0 or more, got {self.var_smoothing!r}")
        self._parts = [NormalPart(self.tie, self.var_smoothing, bool(self.var_smoothing_per_column))]

    def _publish(self) -> None:
        part = self._parts[0]
        assert isinstance(part, NormalPart)
        publish(self, "theta_", part.mean, self._single)
        publish(self, "var_", part.variance, self._single)
        epsilon = part.epsilon if self.var_smoothing_per_column else part.epsilon[0]
        report(self, epsilon_=np.float32(epsilon) if self._single else epsilon)

    def _live_parts(self) -> list[Any]:
        shape = (len(self.classes_), self.n_features_in_)
        return [self._parts[0].at(state(self, "theta_", shape), state(self, "var_", shape))]

    def _linear(self) -> tuple[FloatArray, FloatArray] | None:
        now = self._now()
        part = now._parts[0]
        if self.tie not in ("class", "both") or not (part.variance == part.variance[:1]).all():
            return None
        with np.errstate(all="ignore"):
            beta = np.where(part.silent, 0.0, part.mean / part.variance)
        return beta, -0.5 * np.sum(part.mean * beta, axis=1) + now._log_prior
