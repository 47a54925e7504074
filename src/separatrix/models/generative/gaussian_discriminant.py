"""Gaussian discriminants by maximum likelihood, which classes share Σ as told  ([6867] 3.1.1, [PC]; G3).

    one Σ for all        linear:  β_k·x + γ_k,  β_k = Σ⁻¹ μ_k,  γ_k = −½ μ_kᵀ Σ⁻¹ μ_k + log π_k
    one Σ_k a class      quadratic, with the log determinants
    some classes share   linear between those, quadratic to the others         (the three-class figure of [PC])

The mathematics is in gaussian.py. Cost O(np²) for a fit, one sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupScatter
from separatrix.core.statistics.spans import SpanScatter
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.models.generative.answers import differences
from separatrix.models.generative.covariance import WhiteningRoot, diagonal_of, of_diagonal, shrunk
from separatrix.models.generative.facts import ClassFacts
from separatrix.models.generative.gaussian import Gaussian
from separatrix.models.generative.state import CovarianceReport, Derived, Report, report


@constructor
class GaussianDiscriminant(Gaussian):
    """p(x | k) = N(x; μ_k, Σ) by maximum likelihood, Σ shared as told ([6867] 3.1.1, [PC], G3).

    Parameters
    ----------
    covariance : "shared" (one Σ), "per-class" (Σ_k), "diagonal" (diag σ²_kj), "spherical" (σ²_k I), or groups: a
        mapping from class to the name of the covariance it uses, or a list of lists of classes that share one
    priors : (K,), default the classes' shares
    shrinkage : None, a number in [0, 1], or "auto" (Ledoit–Wolf; with a covariance a class)
    tol : eigenvalues below tol² count as none
    em_tol, em_max_iter : for rows without a label, or with missing cells

    class_weight : None, "balanced" or {class: weight}, times the weights of the rows

    Attributes: means_ (K, p) and priors_ (K,), the state: edits of them predict; covariance_ (a Σ for each class)
    reports. Where all classes share Σ the separator is linear: coef_, intercept_, rule_ follow from the state.

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0], [9.0], [13.0]])
    >>> model = GaussianDiscriminant(covariance=[["a", "b"], ["c"]]).fit(X, list("aabbcc"))
    >>> [float(v) for v in np.ravel(model.covariance_)]
    [0.25, 0.25, 4.0]
    """

    covariance: Any = "shared"
    _: KW_ONLY
    priors: Any = None
    shrinkage: Any = None
    tol: float = 1e-4
    em_tol: float = 1e-6
    em_max_iter: int = 500
    class_weight: Any = None

    covariance_ = CovarianceReport("edit means_ or priors_; covariances of several fits are joined by merge")
    xbar_ = Report("edit means_ or priors_")
    coef_ = Derived("edit means_ or priors_")
    intercept_ = Derived("edit means_ or priors_")

    def _coef_(self) -> FloatArray | None:
        return self._public_form(0)

    def _intercept_(self) -> FloatArray | None:
        return self._public_form(1)

    def _public_form(self, which: int) -> FloatArray | None:
        if not self._is_linear:
            return None
        now = self._now()
        if len(self.classes_) == 2:  # from amid the classes, where differences keep their digits
            beta, gamma = differences(now._beta, now._gamma + now._log_prior)
            return (beta, gamma - beta @ now._centre)[which]
        inner = now.means_ @ now._whiten[0]
        return (inner @ now._whiten[0].T, -0.5 * np.sum(inner**2, axis=1) + now._log_prior)[which]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.covariance, str):
            if self.covariance not in ("shared", "per-class", "diagonal", "spherical"):
                raise ValueError(
                    'covariance must be "shared", "per-class", "diagonal", "spherical" or groups of classes, got '
                    f"{self.covariance!r}"
                )
            if self.shrinkage == "auto" and self.covariance != "per-class":
                raise ValueError('shrinkage="auto" (Ledoit–Wolf) needs covariance="per-class"')
        elif not isinstance(self.covariance, (Mapping, list, tuple)):
            raise ValueError(
                "groups of classes are a mapping from class to group, or a list of lists of classes"
            )
        elif not isinstance(self.covariance, Mapping):
            named = [c for together in self.covariance for c in together]
            twice = [c for c in named if named.count(c) > 1]
            if twice:
                raise ValueError(
                    f"covariance puts class {twice[0]!r} into two groups: a class has one covariance"
                )

    def _groups(self, classes: np.ndarray) -> np.ndarray:
        if isinstance(self.covariance, str):
            shared = self.covariance == "shared"
            return np.zeros(len(classes), dtype=np.intp) if shared else np.arange(len(classes))
        if isinstance(self.covariance, Mapping):
            named = dict(self.covariance)
        else:
            named = {c: i for i, together in enumerate(self.covariance) for c in together}
        labels = classes.tolist()
        for label in labels:
            if label not in named:
                raise ValueError(f"covariance says nothing of class {label!r}: name the group it belongs to")
        order = {name: i for i, name in enumerate(dict.fromkeys(named[c] for c in labels))}
        return np.array([order[named[c]] for c in labels], dtype=np.intp)

    def _covariances(self, facts: ClassFacts, fourth: FloatArray | None) -> list[Any]:
        s: GroupScatter | SpanScatter = facts.of_x
        found: list[Any] = []
        for g in range(int(s.group.max()) + 1):
            weight = float(s.weight[s.group == g].sum())
            sigma = s.covariance(g, weight)
            if self.covariance == "diagonal":
                sigma = of_diagonal(sigma, diagonal_of(sigma))
            elif self.covariance == "spherical":
                sigma = of_diagonal(sigma, np.full(len(sigma), diagonal_of(sigma).sum() / len(sigma)))
            found.append(shrunk(sigma, self.shrinkage, weight, None if fourth is None else fourth[g]))
        return found

    def _set_forms(self, means: FloatArray, whitened: list[WhiteningRoot]) -> None:
        super()._set_forms(means, whitened)
        report(self, covariance_=tuple(self._estimates[g] for g in self._group))
