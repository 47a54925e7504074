"""Class-conditional densities from any exponential family ([6867] 3.1.3):  p(x | k) = h(x) exp(η_k·T(x) − A(η_k)).

    NaiveBayes             a family of its own for every column, from a frame as it is:  Π_j p_j(x_j | θ_kj)
    GenerativeClassifier   one family for the whole row (Dirichlet, multinomial, …) or for every column alike

The parameters solve ∇A(η_k) = T̄_k, the mean of T(x) over the rows of class k, so merged means are all a fit
needs. The log odds of two classes are linear in T(x):

    a(x) = (η₁ − η₀)·T(x) − A(η₁) + A(η₀) + log π₁/π₀

and linear in x itself where what is not x in T has the same η in all classes: with a shared scale, the notes'
theorem. Shapes: X (n, p), K classes. Cost: one sweep, O(np); a Newton solve a parameter for Gamma, Beta, Dirichlet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.families import Family, family
from separatrix.core.grouped import GroupCounts, GroupMoments, GroupScatter, Members
from separatrix.core.linear import LinearRule
from separatrix.core.numerics import FloatArray
from separatrix.data.columns import Encoding
from separatrix.data.door import (
    column_name,
    is_positive,
    read_for_prediction,
    refuse_infinite,
    refuse_not_finite,
)
from separatrix.data.rows import Rows
from separatrix.models.generative import Facts, Generative
from separatrix.models.naive_bayes import add_levels, level_log_shares


@dataclass(frozen=True)
class Parts:
    """Statistics side by side, one a family, merged part by part."""

    parts: tuple[Any, ...]

    def __add__(self, other: Parts) -> Parts:
        return Parts(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    def spread(self, index: np.ndarray, k: int) -> Parts:
        return Parts(tuple(part.spread(index, k) for part in self.parts))


@dataclass(frozen=True)
class _Group:
    """Columns of one family."""

    family: Family
    columns: np.ndarray

    @property
    def categorical(self) -> bool:
        return self.family.name == "categorical"


class NaiveBayes(Generative):
    """log p(x, k) = log π_k + Σ_j log p_j(x_j | θ_kj), p_j of any exponential family ([726], [6867] 3.1.3, G9).

    ``families="auto"`` chooses by the column's type and the support of its values in training:

        words, categories                     categorical     whole numbers, none negative    poisson
        booleans, or only 0 and 1             bernoulli       all inside (0, 1)               beta
        all positive                          gamma           any other number                normal

    or a mapping {column: family} for some columns (name or index; "normal", "poisson", … or a Family).

    Parameters
    ----------
    families : "auto" or a mapping
    priors : (K,), default the classes' shares
    alpha : virtual rows of every level in every class (categorical, bernoulli). A level unseen in training is
        legal at prediction and has the probability of a level seen no times, α / (n_kj + α L_j)
    var_smoothing : share of a normal column's variance added to its variances
    em_tol, em_max_iter : for rows without a label

    Attributes: families_ (a name for each column), parameters_ (a dict for each column, arrays over classes),
    levels_ (of each column, empty for numbers), class_prior_, classes_, verdict_. A missing cell is left out.

    Examples
    --------
    >>> rows = [["sunny", "warm", 3], ["sunny", "warm", 4], ["rainy", "cold", 1], ["sunny", None, 5]]
    >>> model = NaiveBayes().fit(rows, ["yes", "yes", "no", "yes"])
    >>> model.families_, model.predict([["snowy", "warm", 2]]).tolist()
    (['categorical', 'categorical', 'poisson'], ['yes'])
    """

    def __init__(
        self,
        families: Any = "auto",
        *,
        priors: Any = None,
        alpha: float = 1.0,
        var_smoothing: float = 1e-9,
        em_tol: float = 1e-6,
        em_max_iter: int = 500,
    ):
        self.families = families
        self.priors = priors
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.em_tol = em_tol
        self.em_max_iter = em_max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.families, Mapping):
            for column, chosen in self.families.items():
                if family(chosen).multivariate:
                    raise ValueError(
                        f"column {column!r}: {family(chosen).name} is a family of whole rows; see GenerativeClassifier"
                    )
        elif not (isinstance(self.families, str) and self.families == "auto"):
            raise ValueError(
                f'families must be "auto" or a mapping from column to family, got {self.families!r}'
            )
        for name in ("alpha", "var_smoothing"):
            value = getattr(self, name)
            if not (is_positive(value, finite=True) or (is_positive(value + 1) and value == 0)):
                raise ValueError(f"{name} must be a number, 0 or more, got {value!r}")

    # ---- columns ----

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        if reset:
            self._encoding = Encoding.learn(self, X)
        else:
            self._encoding = self._encoding.extended(self, X)
        cells = self._encoding.encode(self, X)
        refuse_infinite(self, cells)
        if reset:
            self._choose(cells)
        self._refuse_cells(cells, 0)
        return cells

    def _read_for_prediction(self, X: Any) -> np.ndarray:
        cells = self._encoding.encode(self, X)
        refuse_infinite(self, cells)
        self._refuse_cells(cells, 0)
        return cells

    def _choose(self, cells: np.ndarray) -> None:
        """A family for every column."""
        given = dict(self.families) if isinstance(self.families, Mapping) else {}
        names = [c.name for c in self._encoding.columns]
        for column in given:
            if column not in names and column not in range(len(names)):
                raise ValueError(f"families names column {column!r}, which the table does not have")
        chosen: list[Family] = []
        for j, column in enumerate(self._encoding.columns):
            wanted = given.get(column.name, given.get(j))
            if wanted is None:
                wanted = "categorical" if column.kind == "category" else _by_support(cells[:, j], column.kind)
            found = family(wanted)
            if column.kind == "category" and found.name != "categorical":
                raise ValueError(
                    f"column {column_name(self, j)} holds words: {found.name} is a family of numbers"
                )
            if column.kind != "category" and found.name == "categorical":
                _refuse_fractions(cells[:, j], column_name(self, j))
            chosen.append(found)
        self.families_ = [f.name for f in chosen]
        self.levels_ = [c.levels for c in self._encoding.columns]
        distinct = list(dict.fromkeys(chosen))
        self._plan = tuple(_Group(f, np.flatnonzero([g == f for g in chosen])) for f in distinct)

    def _refuse_cells(self, cells: np.ndarray, start: int) -> None:
        for group in self._plan:
            if group.categorical:
                continue
            wrong = group.family.outside(cells[:, group.columns])
            if wrong.any():
                everywhere = np.zeros(cells.shape, dtype=bool)
                everywhere[:, group.columns] = wrong
                self._refuse_where(
                    everywhere, cells, start, f"{group.family.support}, as {group.family.name} needs"
                )

    # ---- facts and parameters ----

    def _block_facts(self, block: Any, k: int) -> Facts:
        members = Members(k, codes=block.y, weight=block.weight)
        return Facts(members.count, self._facts(block.X, members))

    def _facts(self, cells: np.ndarray, members: Members) -> Parts:
        parts: list[Any] = []
        for group in self._plan:
            mine = cells[:, group.columns]
            if group.categorical:
                parts.append(GroupCounts.of(mine, members))
            else:
                parts.append(Parts(tuple(GroupMoments.centred(f, members) for f in group.family.facts(mine))))
        return Parts(tuple(parts))

    def _join(self, other: Any) -> Facts:
        """Levels of both models side by side; the other's facts in the new numbering."""
        if self.families_ != other.families_:
            raise ValueError(f"cannot merge: families are {self.families_} here and {other.families_} there")
        merged = self._encoding.merged(other._encoding)
        found = []
        for model in (self, other):
            places = merged.recode(model._encoding)
            parts = []
            for group, part in zip(model._plan, model._facts_seen.of_x.parts, strict=True):
                moved = [places[j] for j in group.columns]
                parts.append(part.recode(moved) if group.categorical else part)
            found.append(Facts(model._facts_seen.weight, Parts(tuple(parts))))
        self._encoding, self._facts_seen = merged, found[0]
        self.levels_ = [c.levels for c in merged.columns]
        return found[1]

    def _solve(self, facts: Facts, findings: list[str]) -> tuple[float, float]:
        self.parameters_: list[Any] = [None] * len(self._encoding.columns)
        self._fitted: list[Any] = []
        residual = loss = 0.0
        never = 0
        for group, part in zip(self._plan, facts.of_x.parts, strict=True):
            if group.categorical:
                tables = []
                for j, table in zip(group.columns.tolist(), part.tables, strict=True):
                    size = max(table.shape[1], len(self._encoding.columns[j].levels), 1)
                    table = np.pad(table, ((0, 0), (0, size - table.shape[1])))
                    tables.append(level_log_shares(table, np.full(size, float(self.alpha))))
                    self.parameters_[j] = {"probabilities": np.exp(tables[-1][0])}
                    loss -= float(np.sum(np.where(table > 0, table * tables[-1][0], 0.0)))
                    never += int(np.count_nonzero(table == 0))
                self._fitted.append(tables)
                continue
            parameters = self._estimated(group, part, facts, findings)
            self._fitted.append(parameters)
            for i, j in enumerate(group.columns.tolist()):
                self.parameters_[j] = {name: np.asarray(value)[:, i] for name, value in parameters.items()}
            weight, means, second = (
                part.parts[0].weight,
                tuple(m.mean for m in part.parts),
                part.parts[0].second,
            )
            if group.family.name in ("gamma", "beta", "exponential"):
                residual = max(residual, group.family.moment_residual(parameters, means, second, weight))
            loss += _mean_loss(group.family, parameters, weight, means, second)
        findings.append("families: " + ", ".join(
            f"{g.family.name} in {self._columns(np.isin(np.arange(len(self.families_)), g.columns))}" for g in self._plan
        ))  # fmt: skip
        findings.append(f"smoothing: {self.alpha:g} virtual rows of every level; variances raised by "
                        f"{self.var_smoothing:g} of their column's")  # fmt: skip
        if never:
            findings.append(f"{never} class–level pairs were never seen")
        return residual, loss / facts.weight.sum()

    def _estimated(
        self, group: _Group, part: Parts, facts: Facts, findings: list[str]
    ) -> dict[str, FloatArray]:
        """Parameters (K, columns) of one family; where a class has no cell, those of all classes together."""
        weight, means, second = part.parts[0].weight, tuple(m.mean for m in part.parts), part.parts[0].second
        pooled = tuple(m.pooled() for m in part.parts)
        everyone = tuple(m.mean for m in pooled)
        if group.family.name == "bernoulli":
            prior = {"a": 1.0 + self.alpha, "b": 1.0 + self.alpha}
            found, rest = (
                group.family.estimate(w, m, None, prior)
                for w, m in ((weight, means), (pooled[0].weight, everyone))
            )
        else:
            found = group.family.estimate(weight, means, second)
            rest = group.family.estimate(pooled[0].weight, everyone, pooled[0].second)
        columns = np.isin(np.arange(len(self.families_)), group.columns)
        if group.family.name == "normal":
            spread = np.where(pooled[0].second > 0, pooled[0].variance, 1.0)
            found["variance"] = found["variance"] + self.var_smoothing * spread
            rest["variance"] = np.where(rest["variance"] > 0, rest["variance"], 1.0)
            found["variance"] = np.where(found["variance"] > 0, found["variance"], rest["variance"])
        if group.family.name in ("poisson", "exponential"):
            name = next(iter(found))
            wrong = (found[name] == 0) | np.isinf(found[name])
            if wrong.any():
                virtual = weight * np.where(weight > 0, means[0], 0.0) + self.alpha * everyone[0]
                level = virtual / np.maximum(weight + self.alpha, 1e-300)
                level = np.where(level > 0, level, 1e-9)
                found[name] = np.where(
                    wrong,
                    level if name == "rate" and group.family.name == "poisson" else 1 / level,
                    found[name],
                )
                findings.append(
                    f"only zeros in a class in {self._columns(columns)}: {self.alpha:g} virtual row added there"
                )
        missing = np.isnan(next(iter(found.values())))
        if (missing & (facts.weight > 0)[:, None]).any():
            where = np.zeros(len(self.families_), dtype=bool)
            where[group.columns[missing.any(axis=0)]] = True
            findings.append(f"no value in some class of {self._columns(where)}: all classes' used there")
        return {
            name: np.where(missing, np.nan_to_num(rest[name], nan=1.0), value)
            for name, value in found.items()
        }

    # ---- densities ----

    def _log_density(self, cells: np.ndarray) -> FloatArray:
        out = np.zeros((len(cells), len(self.classes_)))
        for group, fitted in zip(self._plan, self._fitted, strict=True):
            if group.categorical:
                for j, (share, unseen) in zip(group.columns.tolist(), fitted, strict=True):
                    add_levels(out, cells[:, j], share, unseen)
                continue
            part = group.family.log_density(cells[:, None, group.columns], fitted)
            out += np.nansum(part, axis=2)
        return out

    def _refuse_values(self, rows: Rows, facts: Facts) -> None:
        """Cells were checked when they were read."""

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        words = any(c.kind == "category" for c in self._encoding.columns)
        out = np.empty((n, len(self.families_)), dtype=object if words else np.float64)
        for group, fitted in zip(self._plan, self._fitted, strict=True):
            for i, j in enumerate(group.columns.tolist()):
                if group.categorical:
                    share = np.exp(fitted[i][0][k])
                    drawn = rng.choice(len(share), size=n, p=share / share.sum())
                    levels = self._encoding.columns[j].levels
                    out[:, j] = [levels[v] for v in drawn] if levels else drawn
                else:
                    one = {name: value[k, i] for name, value in fitted.items()}
                    out[:, j] = group.family.sample(one, n, rng)
        return out

    def _log_prior_density(self) -> float:
        total = 0.0
        for group, fitted in zip(self._plan, self._fitted, strict=True):
            if group.categorical:
                total += float(self.alpha) * sum(float(np.sum(share)) for share, _ in fitted)
            elif group.family.name == "bernoulli" and self.alpha:
                p = fitted["probability"]
                total += float(self.alpha) * float(np.sum(np.log(p) + np.log1p(-p)))
        return total

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.classifier_tags.poor_score = True
        return tags


class GenerativeClassifier(Generative):
    """p(x | k) = h(x) exp(η_k·T(x) − A(η_k)), any exponential family; a(x) is linear in T(x) ([6867] 3.1.3, G9).

    Parameters
    ----------
    family : "normal", "poisson", "gamma", … (columns independent within a class), or a family of whole rows:
        "multivariate_normal", "dirichlet", "multinomial"; or a Family
    shared_scale : one scale for all classes (variance, covariance, Gamma's shape): then a(x) is linear in x
    priors : (K,), default the classes' shares
    em_tol, em_max_iter : for rows without a label

    Attributes: parameters_ (arrays over classes), coef_ (K, d) or (1, d) and intercept_ of the linear form in
    ``features(X)``, the parts of T(x) whose η differs between classes; rule_ where that is x itself; classes_,
    class_prior_, verdict_.

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

    def __init__(
        self,
        family: Any = "normal",
        *,
        shared_scale: bool = False,
        priors: Any = None,
        em_tol: float = 1e-6,
        em_max_iter: int = 500,
    ):
        self.family = family
        self.shared_scale = shared_scale
        self.priors = priors
        self.em_tol = em_tol
        self.em_max_iter = em_max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._family = family(self.family)
        if self._family.name == "categorical":
            raise ValueError("categorical columns differ in their levels: use CategoricalNB or NaiveBayes")

    @property
    def _full(self) -> bool:
        return self._family.name == "multivariate_normal"

    def _refuse_cells(self, cells: Any, start: int) -> None:
        f = self._family
        if f.multivariate:  # a row needs all its cells; GaussianDiscriminant takes rows with missing ones
            refuse_not_finite(self, cells, start)
        wrong = f.outside(cells)
        if wrong.any():
            wrong = wrong[:, None] & np.ones(cells.shape, dtype=bool) if f.multivariate else wrong
            self._refuse_where(wrong, cells, start, f"{f.support}, as {f.name} needs")

    def _read_for_prediction(self, X: Any) -> Any:
        cells = read_for_prediction(self, X, missing=not self._family.multivariate)
        if isinstance(cells, np.ndarray):
            self._refuse_cells(cells, 0)
        return cells

    def _facts(self, cells: np.ndarray, members: Members) -> Any:
        if self._full:
            shared = np.zeros(members.k, dtype=np.intp) if self.shared_scale else np.arange(members.k)
            return GroupScatter.of(cells, members, shared)
        return Parts(tuple(GroupMoments.centred(f, members) for f in self._family.facts(cells)))

    def _spread(self, facts: Facts, index: np.ndarray, k: int) -> Facts:
        if not self._full:
            return super()._spread(facts, index, k)
        weight = np.zeros(k)
        weight[index] = facts.weight
        shared = np.zeros(k, dtype=np.intp) if self.shared_scale else np.arange(k)
        return Facts(weight, facts.of_x.spread(index, k, shared))

    def _solve(self, facts: Facts, findings: list[str]) -> tuple[float, float]:
        f, s = self._family, facts.of_x
        if self._full:
            p = s.mean.shape[1]
            total = s.weight if not self.shared_scale else np.array([s.weight.sum()])
            sigma = s.scatter / np.maximum(total, 1e-300)[:, None, None]
            scale = np.sqrt(np.maximum(np.einsum("gii->i", s.scatter) / s.weight.sum(), 1e-300))
            thin = np.array([np.linalg.eigvalsh(g / np.outer(scale, scale))[0] < 1e-8 for g in sigma])
            if thin.any():
                sigma[thin] += 1e-8 * np.diag(scale**2)
                findings.append(
                    "singular covariance: 1e-8 of each column's variance added; try GaussianDiscriminant"
                )
            self.parameters_ = {
                "mean": s.mean.copy(),
                "covariance": np.broadcast_to(sigma, (len(s.mean), p, p)).copy(),
            }
            weight, means = s.weight, (s.mean,)
            second = np.broadcast_to(s.scatter, sigma.shape) if not self.shared_scale else None
            residual = (
                0.0
                if self.shared_scale or thin.any()
                else f.moment_residual(self.parameters_, means, second, weight)
            )
            log_det = np.linalg.slogdet(self.parameters_["covariance"])[1]
            loss = float(
                0.5 * np.sum(s.weight * (log_det + p * np.log(2 * np.pi))) + 0.5 * s.weight.sum() * p
            )
        else:
            per_row = f.multivariate
            weight = s.parts[0].weight[:, 0] if per_row else s.parts[0].weight
            means, second = tuple(m.mean for m in s.parts), s.parts[0].second
            fit = f.estimate_shared if self.shared_scale else f.estimate
            self.parameters_ = fit(weight, means, second)
            empty = (facts.weight == 0)[(...,) + (None,) * (np.ndim(means[0]) - 1)]
            bad = any(
                (~np.isfinite(v) & ~np.broadcast_to(empty, np.shape(v))).any()
                for v in self.parameters_.values()
            )
            if bad:
                raise ValueError(
                    f"a class has no value in some column, so {f.name} has no estimate there: see NaiveBayes"
                )
            residual = (
                f.moment_residual(self.parameters_, means, second, weight) if not self.shared_scale else 0.0
            )
            loss = _mean_loss(f, self.parameters_, weight, means, second)
        if self.shared_scale:
            findings.append("one scale for all classes: the separator is linear in x")
        self._set_linear()
        return residual, loss / facts.weight.sum()

    def _set_linear(self) -> None:
        """η of the parts of T(x) that differ between classes; the rest cancels in a(x)."""
        eta = self._family.natural(self.parameters_)
        k = len(self.classes_)
        live = self.class_count_ > 0
        flat = [np.broadcast_to(part, (k, *np.shape(part)[1:])).reshape(k, -1) for part in eta]
        reference = int(np.flatnonzero(live)[0])
        self._kept = [
            i
            for i, part in enumerate(flat)
            if not np.allclose(part[live], part[reference], rtol=1e-10, atol=0)
        ]
        beta = np.hstack([flat[i] for i in self._kept]) if self._kept else np.zeros((k, 0))
        partition = self._family.log_partition(eta)
        gamma = -np.reshape(partition, (k, -1)).sum(axis=1) + self._log_prior
        only_x = self._kept == [self._x_part()]
        if k == 2:
            beta, gamma = beta[1:] - beta[:1], gamma[1:] - gamma[:1]
        self.coef_, self.intercept_ = beta, gamma
        self.__dict__.pop("rule_", None)
        if only_x:
            self.rule_ = LinearRule(beta[0], float(gamma[0])) if k == 2 else LinearRule(beta, gamma)

    def _x_part(self) -> int:
        """Which part of T(x) is x itself; −1 when none is."""
        probe = np.full((1, self.n_features_in_), 0.3)
        parts = self._family.statistics(probe)
        same = [
            i for i, part in enumerate(parts) if np.shape(part) == probe.shape and np.array_equal(part, probe)
        ]
        return same[0] if same else -1

    def features(self, X: Any) -> FloatArray:
        """The parts of T(x) that tell classes apart: (n, d); a(x) = coef_·features + intercept_."""

        def kept(cells: np.ndarray) -> FloatArray:
            parts = self._family.statistics(cells)
            wanted = [np.reshape(parts[i], (len(cells), -1)) for i in self._kept]
            return np.hstack(wanted) if wanted else np.zeros((len(cells), 0))

        return self._on_rows(X, kept)

    def _log_density(self, cells: np.ndarray) -> FloatArray:
        if self._family.multivariate:
            return self._family.log_density(cells[:, None, :], self.parameters_)
        return np.nansum(self._family.log_density(cells[:, None, :], self.parameters_), axis=2)

    def _refuse_values(self, rows: Rows, facts: Facts) -> None:
        """Cells were checked tile by tile."""

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        one = {name: value[k] for name, value in self.parameters_.items()}
        return np.asarray(self._family.sample(one, n, rng), dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        chosen = family(self.family)
        tags.input_tags.allow_nan = not chosen.multivariate
        tags.input_tags.positive_only = chosen.name not in ("normal", "multivariate_normal")
        return tags


def _mean_loss(f: Family, parameters: Any, weight: FloatArray, means: Any, second: Any) -> float:
    """−Σ_k W_k (η_k·T̄_k − A(η_k)): minus the log likelihood, the base measure left out."""
    with np.errstate(all="ignore"):
        if f.name == "normal":
            variance = parameters.get("variance", getattr(f, "variance", None))
            spread = second + weight * (means[0] - parameters["mean"]) ** 2
            return float(np.nansum(0.5 * (weight * np.log(2 * np.pi * variance) + spread / variance)))
        eta = f.natural(parameters)
        products = sum(
            (e * m).sum(axis=-1) if f.multivariate else e * m for e, m in zip(eta, means, strict=True)
        )
        return -float(np.nansum(np.where(weight > 0, weight * (products - f.log_partition(eta)), 0.0)))


def _by_support(column: FloatArray, kind: str) -> str:
    """The family of a numeric column, from its type and values."""
    seen = column[~np.isnan(column)]
    if kind == "boolean" or (len(seen) and np.isin(seen, (0.0, 1.0)).all()):
        return "bernoulli"
    if len(seen) and kind == "whole" and seen.min() >= 0:
        return "poisson"
    if len(seen) and np.ptp(seen) > 0 and seen.min() > 0:
        return "beta" if seen.max() < 1 else "gamma"
    return "normal"


def _refuse_fractions(column: FloatArray, name: str) -> None:
    wrong = (column < 0) | (np.floor(column) != column) & ~np.isnan(column)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"column {name}, row {i} holds {column[i]!r}, which is no level: categorical takes 0, 1, 2, …"
        )
