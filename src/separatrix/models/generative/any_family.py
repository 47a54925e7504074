"""Class-conditional densities from any exponential family ([6867] 3.1.3):  p(x | k) = h(x) exp(η_k·T(x) − A(η_k)).

The parameters solve ∇A(η_k) = T̄_k, the mean of T(x) over the rows of class k, so merged means are all a fit
needs. The log odds of two classes are linear in T(x):

    a(x) = (η₁ − η₀)·T(x) − A(η₁) + A(η₀) + log π₁/π₀

and linear in x itself where what is not x in T has the same η in all classes: with a shared scale, the notes'
theorem. Shapes: X (n, p), K classes. Cost: one sweep, O(np); a Newton solve a parameter for Gamma, Beta, Dirichlet.
For a family of its own in every column see NaiveBayes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.core.families import family
from separatrix.core.linear import LinearRule
from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupScatter, Members
from separatrix.data.door import refuse_infinite, refuse_not_finite
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.sources import TableLike
from separatrix.models.generative import verified
from separatrix.models.generative.answers import differences
from separatrix.models.generative.common import Generative
from separatrix.models.generative.facts import ClassFacts
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.parts.measured import family_facts, summed_density, total_loss
from separatrix.models.generative.state import Derived


@constructor
class GenerativeClassifier(Generative):
    """p(x | k) = h(x) exp(η_k·T(x) − A(η_k)), any exponential family; a(x) is linear in T(x) ([6867] 3.1.3, G9).

    Parameters
    ----------
    family : "gaussian", "poisson", "gamma", … (columns independent within a class), or a family of whole rows:
        "multivariate_gaussian", "dirichlet", "multinomial"; or a Family
    shared_scale : one scale for all classes (variance, covariance, Gamma's shape): then a(x) is linear in x
    priors : (K,), default the classes' shares
    em_tol, em_max_iter : for rows without a label
    class_weight : None, "balanced" or {class: weight}, times the weights of the rows

    Attributes: parameters_ (arrays over classes) and class_prior_, the state: edits of them predict; coef_ (K, d) or
    (1, d) and intercept_ of the linear form in ``features(X)``, the parts of T(x) whose η differs between classes,
    and rule_ where that is x itself, follow from it; classes_, verdict_.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.dirichlet([8, 2, 2], 50), rng.dirichlet([2, 2, 8], 50)])
    >>> y = np.repeat(["left", "right"], 50)
    >>> model = GenerativeClassifier("dirichlet").fit(X, y)
    >>> bool(
    ...     np.allclose(model.decision_function(X), model.features(X) @ model.coef_[0] + model.intercept_[0])
    ... )
    True
    """

    family: Any = "gaussian"
    _: KW_ONLY
    shared_scale: bool = False
    priors: Any = None
    em_tol: float = 1e-6
    em_max_iter: int = 500
    class_weight: Any = None

    coef_ = Derived("edit parameters_ or class_prior_")
    intercept_ = Derived("edit parameters_ or class_prior_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._family = family(self.family)
        if self._family.name == "categorical":
            raise ValueError("categorical columns differ in their levels: use CategoricalNB or NaiveBayes")

    @property
    def _squares(self) -> bool:  # type: ignore[override]
        return self._family.name == "gaussian"

    @property
    def _full(self) -> bool:
        return self._family.name == "multivariate_gaussian"

    def _refuse_cells(self, cells: np.ndarray, start: int) -> None:
        f = self._family
        if f.multivariate:  # a row needs all its cells; GaussianDiscriminant takes rows with missing ones
            refuse_not_finite(self, cells, start)
        wrong = f.outside(cells)
        if not wrong.any():
            return
        if f.multivariate:  # the cell at fault where there is one, else the row
            fault = (cells < 0) | ((np.floor(cells) != cells) if f.discrete else (cells <= 0))
            wrong = wrong[:, None] & (fault if fault[wrong].any() else np.ones(cells.shape, dtype=bool))
        self._refuse_where(wrong, cells, start, f"{f.support}, as {f.name} needs")

    def _read_for_prediction(self, X: TableLike) -> Any:
        cells = super()._read_for_prediction(X)
        if isinstance(cells, np.ndarray):
            refuse_infinite(self, cells)
            self._refuse_cells(cells, 0)
        return cells

    def _facts(self, cells: np.ndarray, members: Members) -> Any:
        if self._full:
            shared = np.zeros(members.k, dtype=np.intp) if self.shared_scale else np.arange(members.k)
            return GroupScatter.of(cells, members, shared)
        return family_facts(self._family, cells, members)

    def _spread(self, facts: ClassFacts, index: np.ndarray, k: int) -> ClassFacts:
        if not self._full:
            return super()._spread(facts, index, k)
        weight = np.zeros(k)
        weight[index] = facts.weight
        shared = np.zeros(k, dtype=np.intp) if self.shared_scale else np.arange(k)
        return ClassFacts(weight, facts.of_x.spread(index, k, shared))

    def _solve(self, facts: ClassFacts, findings: Findings) -> tuple[float, float]:
        f, s = self._family, facts.of_x
        if self._full:
            p = s.mean.shape[1]
            total = s.weight if not self.shared_scale else np.array([s.weight.sum()])
            sigma = s.scatter / np.maximum(total, 1e-300)[:, None, None]
            scale = np.sqrt(np.maximum(np.einsum("gii->i", s.scatter) / s.weight.sum(), 1e-300))
            thin = np.array([np.linalg.eigvalsh(g / np.outer(scale, scale))[0] < 1e-8 for g in sigma])
            if thin.any():
                sigma[thin] += 1e-8 * np.diag(scale**2)
                findings.grave(
                    "singular covariance: 1e-8 of each column's variance added; try GaussianDiscriminant"
                )
            self.parameters_ = {
                "mean": s.mean.copy(),
                "covariance": np.broadcast_to(sigma, (len(s.mean), p, p)).copy(),
            }
            weight, means = s.weight, (s.mean,)
            second = np.broadcast_to(s.scatter, sigma.shape) if not self.shared_scale else None
            loose = self.shared_scale or thin.any()
            residual = 0.0 if loose else f.moment_residual(self.parameters_, means, second, weight)
            log_det = np.linalg.slogdet(self.parameters_["covariance"])[1]
            spread = np.sum(s.weight * (log_det + p * np.log(2 * np.pi)))
            loss = float(0.5 * spread + 0.5 * s.weight.sum() * p)
        else:
            per_row = f.multivariate
            weight = s.parts[0].weight[:, 0] if per_row else s.parts[0].weight
            means, second, base = tuple(m.mean for m in s.parts[:-1]), s.parts[0].second, s.parts[-1]
            fit = f.estimate_shared if self.shared_scale else f.estimate
            self.parameters_ = fit(weight, means, second)
            self._look(weight, means, facts, findings)
            found = self.parameters_
            residual = 0.0 if self.shared_scale else f.moment_residual(found, means, second, weight)
            loss = total_loss(f, found, weight, means, second) - float(np.sum(base.weight * base.mean))
        if self.shared_scale:
            findings.append("one scale for all classes: the separator is linear in x")
        return residual, loss / facts.weight.sum()

    def _equations(self, rows: verified.LabelledRows) -> verified.Equations:
        f, found, live = self._family, self.parameters_, rows.weight > 0
        if self._full:
            means, sigmas = (np.asarray(found[name], dtype=np.float64) for name in ("mean", "covariance"))
            group = np.zeros(len(means), dtype=np.intp) if self.shared_scale else np.arange(len(means))
            s = rows.scatters(group, means, sigmas)
            m, S = s.mean, s.scatter
            size = np.bincount(group, rows.weight)
            scale = np.sqrt(np.maximum(np.einsum("gii->i", S) / rows.total, 1e-300))
            total = verified.Equations()
            for k, g in zip(np.flatnonzero(live), group[live], strict=True):
                sigma, share = S[g] / size[g], rows.weight[k] / rows.total
                if np.linalg.eigvalsh(sigma / np.outer(scale, scale))[0] < 1e-8:
                    sigma = sigma + 1e-8 * np.diag(scale**2)
                raw = S[g] / size[g] * share
                at = slice(k, k + 1)
                total += verified.gaussian_equations(
                    np.array([share]), means[at], sigmas[k], m[at], sigma, raw, 1e-6
                )
            return total
        weight, averages, second = verified.family_moments(rows, f)
        per_row = weight[:, 0] if f.multivariate else weight
        wanted = (f.estimate_shared if self.shared_scale else f.estimate)(per_row, averages, second)
        if f.name == "gaussian":
            v = np.asarray(wanted["variance"])
            typical = np.max(np.where(live[:, None], v, 0.0), axis=0)
            v = np.where(live[:, None] & ~(v > 0), 1e-9 * np.where(typical > 0, typical, 1.0), v)
            return verified.normal_family_equations(rows, found, weight, averages[0], v, second)
        return verified.family_equations(rows, f, found, wanted, per_row, averages, second, self.shared_scale)

    def _look(self, weight: Any, means: Any, facts: ClassFacts, findings: Findings) -> None:
        """Refuse a column without a value in some class; say where a parameter lies on the edge of its range."""
        f, present = self._family, (facts.weight > 0)[:, None]
        if not f.multivariate and ((weight == 0) & present).any():
            columns = self._columns(((weight == 0) & present).any(axis=0))
            raise ValueError(
                f"no value in some class of {columns}, so {f.name} has no estimate there: see NaiveBayes"
            )
        if f.name == "gaussian" and "variance" in self.parameters_:
            variance = np.broadcast_to(self.parameters_["variance"], means[0].shape)
            none = present & ~np.asarray(variance > 0)
            if none.any():
                typical = np.max(np.where(present, variance, 0.0), axis=0)
                floor = 1e-9 * np.where(typical > 0, typical, 1.0)
                self.parameters_["variance"] = np.where(none, floor, variance)
                live = means[0][present[:, 0]]
                # says nothing of any class
                constant = (np.ptp(live, axis=0) == 0) & (none | ~present).all(axis=0)
                for which, say in ((constant, findings.append), (~constant, findings.grave)):
                    if (none.any(axis=0) & which).any():
                        columns = self._columns(none.any(axis=0) & which)
                        say(f"variance 0 in a class in {columns}: 1e-9 of another class's used")
        if f.discrete:
            edge = (means[0] == 0) | ((means[0] == 1) if f.name == "bernoulli" else False)
            count = int(np.count_nonzero(edge & present))
            if count:
                findings.append(
                    f"{count} of {edge.size} class–column pairs were never seen: probability 0 there, unsmoothed"
                )

    def _parts_that_differ(self) -> tuple[list[FloatArray], list[int], Any]:
        """η of every part of T(x), (K, d) each; which of them differ between classes; A(η)."""
        with np.errstate(all="ignore"):  # a class without rows has no parameters
            eta = self._family.natural(self.parameters_)
            partition = self._family.log_partition(eta)
        k = len(self.classes_)
        live = np.asarray(self.class_count_) > 0
        flat = [np.broadcast_to(part, (k, *np.shape(part)[1:])).reshape(k, -1) for part in eta]
        reference = int(np.flatnonzero(live)[0])
        equal = [np.allclose(part[live], part[reference], rtol=1e-10, atol=0) for part in flat]
        kept = [i for i, same in enumerate(equal) if not same]
        return flat, kept, partition

    def _coef_(self) -> FloatArray:
        return self._public_form()[0]

    def _intercept_(self) -> FloatArray:
        return self._public_form()[1]

    def _rule_(self) -> LinearRule | None:
        """Only where T(x) is x itself: linear in another T(x) has no geometry of x."""
        return super()._rule_() if self._parts_that_differ()[1] == [self._x_part()] else None

    def _public_form(self) -> tuple[FloatArray, FloatArray]:
        """η of the parts of T(x) that differ between classes; the rest cancels in a(x)."""
        flat, kept, partition = self._parts_that_differ()
        k = len(self.classes_)
        beta = np.hstack([flat[i] for i in kept]) if kept else np.zeros((k, 0))
        gamma = -np.reshape(partition, (k, -1)).sum(axis=1) + self._now()._log_prior
        return differences(beta, gamma)

    def _x_part(self) -> int:
        """Which part of T(x) is x itself; −1 when none is."""
        probe = np.full((1, self.n_features_in_), 0.3)
        parts = self._family.statistics(probe)
        same = [i for i, part in enumerate(parts) if np.array_equal(part, probe)]
        return same[0] if same else -1

    def features(self, X: TableLike) -> FloatArray:
        """The parts of T(x) that tell classes apart: (n, d); a(x) = coef_·features + intercept_."""

        check_is_fitted(self)
        differ = self._parts_that_differ()[1]

        def kept(cells: np.ndarray) -> FloatArray:
            parts = self._family.statistics(cells)
            wanted = [np.reshape(parts[i], (len(cells), -1)) for i in differ]
            return np.hstack(wanted) if wanted else np.zeros((len(cells), 0))

        return self._on_rows(X, kept)

    def _log_density(self, cells: np.ndarray) -> FloatArray:
        if self._family.multivariate:
            return self._family.log_density(cells[:, None, :], self.parameters_)
        return summed_density(self._family, cells, self.parameters_)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        one = {name: value[k] for name, value in self.parameters_.items()}
        return np.asarray(self._family.sample(one, n, rng), dtype=np.float64)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        chosen = family(self.family)
        tags.input_tags.allow_nan = not chosen.multivariate
        tags.input_tags.positive_only = chosen.name not in ("gaussian", "multivariate_gaussian")
        return tags
