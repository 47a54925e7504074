"""Support vector classification:  min ½‖w‖² + Σ_i C_i ξ_i,   y_i (w·φ(x_i) + b) ≥ 1 − ξ_i,  ξ_i ≥ 0.

    dual   max Σ α_i − ½ Σ_ij α_i α_j y_i y_j k(x_i, x_j),   0 ≤ α_i ≤ C_i,  Σ α_i y_i = 0

Notes [6867] 5.2 (separable: C = ∞), 5.3 (slacks), [6321] "Support vector machines", [446]. Rows M4–M6, M8, M9 and
M12 of the specification. What NuSVC shares is in support_vector_classifier.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.models.margin.multiclass import Sides
from separatrix.models.margin.support_vector_classifier import SupportVectorClassifier
from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Points
from separatrix.solve.dual_solution import DualSolution
from separatrix.solve.smo import certify


@constructor
class SVC(SupportVectorClassifier):
    """min ½‖w‖² + Σ_i C_i ξ_i subject to y_i (w·φ(x_i) + b) ≥ 1 − ξ_i, through its dual, with a verdict.

    C_i is ``C`` times the row's and its class's weight; ``C=np.inf`` is the hard margin, which data that are not
    separable refuse with a proof. More than two classes: a machine for each pair and a vote, or one for each class
    against the rest. Notes [6867] 5.2, 5.3, [6321], [446]. Parameters have scikit-learn's names, meanings and
    defaults; ``calibrate``, ``multi_class``, ``warm_start`` and ``n_jobs`` are new.

    Parameters
    ----------
    C : the price of slack, positive, or ``np.inf`` for none at all
    kernel : "linear", "poly", "rbf", "sigmoid", "precomputed", or a function of two tables that returns the matrix
        of values (it is asked for blocks of rows); rows that are no numbers, a list of words for one, it gets as
        they are
    degree, gamma, coef0 : of the kernels; gamma is "scale" (1/(p·Var X), weights counting as
        repetitions), "auto" (1/p) or a positive number
    shrinking : leave rows whose variable is stuck at a bound out of the search until its end
    probability : True means ``calibrate="sigmoid"``: probabilities that `predict` agrees with; False and leaving it
        out mean none
    tol : largest violation of the optimality conditions, and largest gap relative to the objective
    cache_size : megabytes of kernel rows that are kept
    class_weight : {label: weight}, "balanced", or None; like a row's, it counts in the probabilities too
    verbose : True prints a forecast of a long fit and its progress to standard error
    max_iter : most steps (pairs of variables) of a machine; −1 for ten million
    decision_function_shape : "ovr" (n, K) or "ovo" (n, K(K−1)/2) scores of more than two classes
    break_ties : let ``predict`` follow the ovr scores rather than the votes
    random_state : seed of the folds of ``calibrate``; nothing else is random, and None is a seed too
    calibrate : None, "sigmoid" (few rows) or "isotonic" (a thousand or more): `predict_proba` from scores of rows
        held out, in five stratified folds that start from the fit of all rows; `predict` is then its argmax
    multi_class : "ovo", a machine for each pair, or "ovr", one for each class against the rest, of all rows, each
        at its own class's weight
    warm_start : start from the dual variables of the fit before, where that had as many rows and classes
    n_jobs : threads; None uses all cores this process may use

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, fit_status_, classes_, shape_fit_, n_iter_ : as in
        scikit-learn, except that dual_coef_ of sparse tables is dense; with "ovr" dual_coef_ is (K, support
        vectors), a row for each machine, of K > 2 classes
    coef_ : (machines, p) with the linear kernel: 1 machine of two classes, else K(K−1)/2 or, with "ovr", K; made from
        ``dual_coef_`` and ``support_vectors_``, which are the model and may be edited
    reports_ : a :class:`~separatrix.core.margins.MarginReport` for each machine
    calibration_ : with ``calibrate``, the map from scores to probabilities of each machine
    verdict_ : the :class:`~separatrix.Verdict`; objective and gap are sums over the machines, in the scale above

    Notes
    -----
    Cost: about (support vectors) × n kernel values of O(p). Memory: cache_size and the rows once more. A fold of
    ``calibrate`` takes a half to nine tenths of the steps of a fit from nothing, and no new kernel values where the
    whole matrix is kept. A weight is repetition everywhere but in the folds, which may part the copies of a row; a
    weight of zero is absence.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC().fit(X, y)
    >>> round(model.score(X, y), 3), model.n_support_.tolist()
    (0.973, [7, 29, 24])
    >>> model.verdict_.status, model.verdict_.gap < 1e-3 * model.verdict_.objective
    ('optimal', True)
    >>> model = SVC(calibrate="sigmoid").fit(X, y)
    >>> P = model.predict_proba(X)
    >>> P[100].round(2), bool((model.predict(X) == model.classes_[P.argmax(axis=1)]).all())
    (array([0.01, 0.  , 0.99]), True)
    """

    _: KW_ONLY
    C: float = 1.0
    kernel: Any = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    probability: Any = "deprecated"
    tol: float = 1e-3
    cache_size: float = 200
    class_weight: Mapping[Any, float] | str | None = None
    verbose: bool | int = False
    max_iter: int = -1
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    random_state: Any = None
    calibrate: str | None = None
    multi_class: str = "ovo"
    warm_start: bool = False
    n_jobs: int | None = None

    def _price(self) -> float:
        return float(self.C)

    def _solve(self, points: Points, machine: Sides, near: FloatArray) -> DualSolution:
        """One machine, from the feasible point nearest to a β (rows of the machine,), often zero."""
        name = self._announce(machine)
        dual = Dual.classifier(machine.y, machine.C)
        if near.any():
            dual = replace(dual, start=feasible(near, dual.low, dual.high))
        fit = self._minimise(points, machine.rows, dual, name=name)
        if fit.stopped_by == "hulls meet":
            total = 0.5 * np.abs(fit.beta).sum()
            above, below = int((fit.beta > 0).sum()), int((fit.beta < 0).sum())
            raise ValueError(
                f"C=np.inf asks for a margin that no row enters, which {machine.words(self.classes_)} do not allow: "
                f"a weighted mean of {above} rows of one and of {below} rows of the other have images at distance "
                f"{np.sqrt(max(fit.square, 0.0)) / total:.0e}. Use a finite C, or a finer kernel"
            )
        return fit

    def _unfitted(self, points: Points, machine: Sides) -> DualSolution:
        dual = Dual.classifier(machine.y, machine.C)
        return certify(self._kernel(), points.take(machine.rows), dual, 0.0, self.tol)

    def _before(self) -> FloatArray | None:
        """With ``warm_start``, β (n, machines) of the fit before."""
        if not self.warm_start or not hasattr(self, "support_"):
            return None
        weights = self._read_back()
        out = np.zeros((self.shape_fit_[0], weights.shape[1]))
        out[self.support_] = weights
        return out

    def _judged(self, points: Points, machine: Sides, start: FloatArray, b: float) -> DualSolution | None:
        dual = Dual.classifier(machine.y, machine.C, start)
        slack = 1e-9 * np.abs(start).max(initial=0.0)
        inside = (start >= dual.low - slack) & (start <= dual.high + slack)
        if not inside.all() or abs(start.sum()) > 1e-9 * np.abs(start).sum():
            return None
        return certify(self._kernel(), points, dual, b, self.tol)


def feasible(beta: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The point near β (n,) with l ≤ β ≤ h and Σβ = 0, where l ≤ 0 ≤ h: a start for another problem of its kind.

    What the sum is off by is taken from the variables farthest from a bound: one at its bound mostly belongs there.

    >>> feasible(np.array([1.0, 2.0, -1.0]), np.array([0.0, 0.0, -3.0]), np.array([3.0, 1.5, 0.0])).tolist()
    [0.0, 1.5, -1.5]
    """
    beta = np.clip(beta, low, high)
    off = float(beta.sum())
    sign = 1.0 if off > 0 else -1.0
    order = np.argsort(-np.minimum(beta - low, high - beta), kind="stable")
    room = np.minimum(beta - low if off > 0 else high - beta, abs(off))[order]
    before = np.cumsum(room) - room
    beta[order] -= sign * np.minimum(room, np.maximum(abs(off) - before, 0.0))
    return beta
