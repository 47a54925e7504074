"""Where most rows are:  min ½‖w‖² + Σ_i C_i max(0, ρ − w·φ(x_i)) − νρ ΣC_i,   inside where w·φ(x) ≥ ρ.

    dual   min ½ Σ_ij α_i α_j k(x_i, x_j),   0 ≤ α_i ≤ C_i,   Σ α_i = ν ΣC_i

C_i is the row's weight. ν is at least the share of rows left outside and at most that of support vectors. Schölkopf,
Platt, Shawe-Taylor, Smola and Williamson (2001); notes [6321] "Kernels", [6867] 5.3 (the same dual with one side).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin
from sklearn.utils import Tags

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.door import read_weights
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.sources import TableLike
from separatrix.models.margin.kernels import Definiteness
from separatrix.models.margin.support_vector_machine import SingleMachine, check_nu
from separatrix.problems.dual import Dual
from separatrix.solve.dual_solution import DualSolution
from separatrix.verdict.verdict import Verdict

EDGE = 1e-10  # of the offset: by so much rows on the edge are inside


@constructor
class OneClassSVM(OutlierMixin, SingleMachine):
    """min ½‖w‖² + Σ_i C_i max(0, ρ − w·φ(x_i)) − νρ ΣC_i: the region that holds all but a share ν of the rows.

    Parameters have scikit-learn's names, meanings and defaults; ``n_jobs`` is new.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, n_jobs : as of
        :class:`~separatrix.SVC`
    nu : above 0, at most 1: the largest share of rows (by weight) outside, the smallest share of support vectors

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_ (1, n_support), intercept_ (1,), coef_, fit_status_,
    shape_fit_, n_iter_ : as in scikit-learn, except that dual_coef_ of sparse tables is dense
    offset_ : ρ = −intercept_: `decision_function` is `score_samples` less this; assign ``intercept_`` to move it
    verdict_ : the :class:`~separatrix.Verdict`, objective in the scale above

    Notes
    -----
    Cost: about (support vectors) × n kernel values of O(p). Memory: cache_size and the rows once more. A weight is
    repetition, a weight of zero is absence.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    >>> int((model.predict(X) < 0).sum()) <= 20 <= len(model.support_), model.verdict_.status
    (True, 'optimal')
    """

    _: KW_ONLY
    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    nu: float = 0.5
    shrinking: bool = True
    cache_size: float = 200
    verbose: bool | int = False
    max_iter: int = -1
    n_jobs: int | None = None

    def fit(self, X: TableLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to rows X (n, p), or a kernel matrix (n, n); y is not read. A weight of 2 means the row stands there
        twice."""
        return self._learn(X, y, sample_weight)

    def decision_function(self, X: TableLike) -> FloatArray:
        """w·φ(x) − ρ of each row (n,): positive inside."""
        return self.score_samples(X) + self.intercept_[0]

    def score_samples(self, X: TableLike) -> FloatArray:
        """w·φ(x) of each row (n,), before ρ is taken off."""
        refusal = (
            "OneClassSVM scores rows in memory: call .compute(), or use map_blocks(model.decision_function)"
        )
        return self._linear_part(X, refusal)

    def predict(self, X: TableLike) -> np.ndarray:
        """1 inside, −1 outside, of each row (n,); a row on the edge is inside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    @property
    def offset_(self) -> FloatArray:
        """ρ = −``intercept_``, (1,), as in scikit-learn; to be read."""
        if "intercept_" not in self.__dict__:
            raise AttributeError("this OneClassSVM is not fitted yet: it has no offset_")
        offset = -np.asarray(self.intercept_)
        offset.flags.writeable = False
        return offset

    @offset_.setter
    def offset_(self, value: object) -> None:
        raise AttributeError("offset_ is −intercept_: assign intercept_ instead")

    def _check_price(self) -> None:
        check_nu(self.nu)

    def _targets(
        self, y: ArrayLike | None, sample_weight: ArrayLike | None, n: int
    ) -> tuple[FloatArray, FloatArray]:
        weight = read_weights(sample_weight, n)
        return np.zeros(n), np.ones(n) if weight is None else weight

    def _dual(self, z: FloatArray, C: FloatArray, start: FloatArray | None = None) -> Dual:
        return Dual.one_class(C, float(self.nu), start)

    def _feasible(self, beta: FloatArray, C: FloatArray) -> bool:
        total = float(self.nu) * float(C.sum())
        slack = 1e-9 * float(np.abs(beta).max(initial=0.0))
        inside = bool(np.all((beta >= -slack) & (beta <= C + slack)))
        return inside and not abs(float(beta.sum()) - total) > 1e-9 * total

    def _keep(self, cells: Any, z: FloatArray, keep: Index, fit: DualSolution) -> None:
        own = np.flatnonzero(fit.beta)
        self._keep_support(cells, keep[own], fit.beta[own], fit)
        # a support vector on the edge is inside, whatever rounding says: the offset is that much lower
        self.intercept_ = np.array([fit.intercept + EDGE * abs(fit.intercept)])

    def _verdict(self, fit: DualSolution, known: Definiteness, n: int, C: FloatArray) -> Verdict:
        known = Definiteness(known.indefinite or fit.indefinite, known.looked_at)
        outside = float(C[fit.score + fit.intercept < 0].sum()) / float(C.sum())
        findings = [
            *known.sentences(),
            f"{len(self.support_)} support vectors of {n} rows; {outside:.1%} of the weight is outside",
        ]
        if fit.freedom > float(self.tol):
            findings.append(
                f"every support vector is at its bound: the offset may be anything in an interval of length "
                f"{fit.freedom:.3g}, and its middle is taken"
            )
        findings += [f"optimality conditions violated by at most {fit.violation:.1e}", *self._scaling()]
        goal = float(self.tol) * fit.scale
        return self._verdict_of([fit], goal, known.indefinite, fit.values / n**2, findings)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
