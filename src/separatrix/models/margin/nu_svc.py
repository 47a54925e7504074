"""Support vectors by a share of rows:  min ½‖w‖² − νρ ΣC_i + Σ_i C_i ξ_i,  y_i (w·φ(x_i) + b) ≥ ρ − ξ_i.

    dual   min ½ Σ_ij α_i α_j y_i y_j k(x_i, x_j),   0 ≤ α_i ≤ C_i,   Σ_{y>0} α_i = Σ_{y<0} α_i = ν ΣC_i / 2

C_i is the row's and its class's weight. ν is at most the share of support vectors and at least that of rows inside
the margin (by weight). Schölkopf, Smola, Williamson and Bartlett (2000); notes [6867] 5.3, [6321] "Support vector
machines". Rows M4–M6, M8, M9 and M12 of the specification. Where ρ > 0 the surface is that of C = 1/ρ, and β and b
are divided by ρ so that the margin is 1, as in LIBSVM.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.numerics import FloatArray
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.models.margin.kernels import Definiteness
from separatrix.models.margin.multiclass import Sides
from separatrix.models.margin.support_vector_classifier import SupportVectorClassifier
from separatrix.models.margin.support_vector_machine import check_nu
from separatrix.problems.dual import Dual
from separatrix.problems.kernels import Points
from separatrix.solve.dual_solution import DualSolution
from separatrix.solve.smo import certify

MOST_STEPS = 1_000_000  # where no limit is given: a share near the smallest is a C without bounds
NO_MARGIN = 1e-13  # squared distance of the two means, over the largest k(x, x), that rounding may explain


@constructor
class NuSVC(SupportVectorClassifier):
    """min ½‖w‖² − νρ ΣC_i + Σ_i C_i ξ_i subject to y_i (w·φ(x_i) + b) ≥ ρ − ξ_i, ρ ≥ 0, with a verdict.

    ν stands in for C: at most this share of rows (by weight) is inside the margin, at least this share are support
    vectors. Parameters have scikit-learn's names, meanings and defaults; ``calibrate``, ``multi_class`` and
    ``n_jobs`` are new, and ``class_weight``, which scikit-learn's NuSVC ignores, multiplies the weights of a class's
    rows.

    Parameters
    ----------
    nu : above 0, at most 1; two classes of weights W₁ ≤ W₂ allow at most 2W₁/(W₁ + W₂), which a refusal names
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose, max_iter,
    decision_function_shape, break_ties, random_state, calibrate, multi_class, n_jobs : as of
        :class:`~separatrix.SVC`

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_, classes_, shape_fit_, n_iter_,
    reports_, calibration_ : as of :class:`~separatrix.SVC`, β and b divided by ρ
    rho_ : (machines,) ρ before that
    verdict_ : the :class:`~separatrix.Verdict`; objective and gap are sums over the machines, in the scale above; the
        gap is to be small against ½‖w‖² + Σ C_i ξ_i

    Notes
    -----
    Cost: about (support vectors) × n kernel values of O(p). Memory: cache_size and the rows once more. A weight is
    repetition everywhere but in the folds of ``calibrate``; a weight of zero is absence.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NuSVC(nu=0.2).fit(X, y)
    >>> model.verdict_.status, len(model.support_) >= 0.2 * len(y)
    ('optimal', True)
    >>> NuSVC(nu=0.8).fit(X, y)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: nu=0.8 is infeasible: classes 0 and 1 weigh 212 and 357, and allow nu up to 0.745167. Use ...
    """

    _: KW_ONLY
    nu: float = 0.5
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
    n_jobs: int | None = None

    def _check_price(self) -> None:
        check_nu(self.nu)

    def _price(self) -> float:
        return 1.0

    def _sides(
        self, y: ArrayLike, sample_weight: ArrayLike | None, n: int, *, reset: bool
    ) -> tuple[np.ndarray, list[Sides]]:
        codes, machines = super()._sides(y, sample_weight, n, reset=reset)
        for machine in machines:
            below, above = (float(machine.C[machine.y * sign > 0].sum()) for sign in (-1.0, 1.0))
            most = 2.0 * min(below, above) / (below + above)
            if float(self.nu) > most * (1.0 + 1e-12):
                names = machine.words(self.classes_)
                a, b = (above, below) if len(self.classes_) > 2 else (below, above)
                raise ValueError(
                    f"nu={self.nu:g} is infeasible: {names} weigh {a:g} and {b:g}, and allow nu up to {most:.6g}. "
                    'Use a smaller nu, or class_weight="balanced", which allows every nu'
                )
        return codes, machines

    def _solve(self, points: Points, machine: Sides, near: FloatArray) -> DualSolution:
        """One machine, scaled to a margin of 1; a fit nearby is no start, its sums are others."""
        name = self._announce(machine)
        dual = Dual.nu_classifier(machine.y, machine.C, float(self.nu))
        fit = self._minimise(points, machine.rows, dual, max(MOST_STEPS, 100 * len(machine.rows)), name)
        size = float(np.abs(self._kernel().diagonal(points)).max(initial=0.0))
        share = dual.totals[0]
        no_margin = fit.square <= NO_MARGIN * size * share**2 or _rho(fit) <= 0
        if no_margin and fit.stopped_by != "interrupted":
            raise ValueError(
                f"nu={self.nu:g} is too small: with so few rows inside it, the margin between "
                f"{machine.words(self.classes_)} is zero, and there is no surface. Use a larger nu, or a finer kernel"
            )
        return _scaled(fit, max(_rho(fit), 1e-300))

    def _unfitted(self, points: Points, machine: Sides) -> DualSolution:
        dual = Dual.nu_classifier(machine.y, machine.C, float(self.nu))
        fit = certify(self._kernel(), points.take(machine.rows), dual, (-1.0, 1.0), self.tol)
        return replace(fit, beta=np.zeros(len(fit.beta)), score=np.zeros(len(fit.score)))

    def _keep(self, cells: Any, codes: np.ndarray, machines: list[Sides], fits: list[DualSolution]) -> None:
        super()._keep(cells, codes, machines, fits)
        self.rho_ = np.array([_rho(fit) for fit in fits])

    def _findings(self, known: Definiteness, n: int) -> tuple[str, ...]:
        prices = 1.0 / np.maximum(self.rho_, 1e-300)
        words = f"the surface of SVC(C={prices.max():.4g})"
        if len(prices) > 1:
            words = f"the surfaces of SVC with C from {prices.min():.4g} to {prices.max():.4g}"
        if prices.max() > 1e4:
            words += ": nu is near the smallest that leaves a margin, a larger one is easier"
        return (words, *super()._findings(known, n))

    def _judged(self, points: Points, machine: Sides, start: FloatArray, b: float) -> DualSolution | None:
        """ρ is what brings Σ|β| back to ν ΣC; with it β is a feasible point, or none."""
        share = 0.5 * float(self.nu) * float(machine.C.sum())
        sums = [float(np.abs(start[machine.y * sign > 0]).sum()) for sign in (1.0, -1.0)]
        if not min(sums) > 0 or abs(sums[0] - sums[1]) > 1e-8 * sums[0]:
            return None
        rho = 2.0 * share / (sums[0] + sums[1])
        dual = Dual.nu_classifier(machine.y, machine.C, float(self.nu), start * rho)
        slack = 1e-8 * np.abs(dual.start).max()
        if not np.all((dual.start >= dual.low - slack) & (dual.start <= dual.high + slack)):
            return None
        fit = certify(self._kernel(), points, dual, (rho * (b - 1.0), rho * (b + 1.0)), self.tol)
        return _scaled(fit, rho)


def _rho(fit: DualSolution) -> float:
    """The margin ρ: half of what the levels of the two sides are apart."""
    return 0.5 * (fit.levels[1] - fit.levels[0])


def _scaled(fit: DualSolution, rho: float) -> DualSolution:
    """β, scores and b over ρ; the objective and its bound stay in the problem's own scale."""
    beta, score, b = fit.beta / rho, fit.score / rho, fit.intercept / rho
    return replace(fit, beta=beta, score=score, intercept=b, square=fit.square / rho**2)
