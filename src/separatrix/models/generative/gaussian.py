"""What Gaussian discriminants share:  p(x | k) = N(x; μ_k, Σ_g(k)), covariances shared by groups ([6867] 3.1.1).

    log p(x, k) = −½ (x − μ_k)ᵀ Σ⁻¹ (x − μ_k) − ½ log |2πΣ| + log π_k

    one Σ for all        linear:  β_k·x + γ_k,  β_k = Σ⁻¹ μ_k,  γ_k = −½ μ_kᵀ Σ⁻¹ μ_k + log π_k        (LDA)
    one Σ_k a class      quadratic, with the log determinants                                          (QDA)
    some classes share   linear between those, quadratic to the others         (the three-class figure of [PC])

A covariance is used through T with TᵀΣT = I, from its eigenvectors in columns of unit spread. An eigenvalue
below tol² is no spread to divide by: it is left out where Σ is shared by all classes, raised to tol² where it is
not, and the verdict names the columns that take part.
Means, priors and, of QDA, ``rotations_`` and ``scalings_`` are the state, read anew by every prediction; T, which
keeps more digits where columns differ in unit, serves a covariance that was not edited.
Missing cells: a row counts by the marginal density of what is there; fitting is then EM over the cells, which
has no closed form. Cost O(np²) for a fit and for QDA's prediction, O(npK) for LDA's; with fewer rows than columns
O(n²p) for either (span.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.numerics import LOG_2PI, FloatArray
from separatrix.core.statistics.grouped import GroupMoments, GroupScatter, Members
from separatrix.core.statistics.spans import SpanCovariance, SpanScatter
from separatrix.data.checks import check_positive
from separatrix.data.engine import sweep
from separatrix.data.rows import Block, Rows
from separatrix.data.sources import TableLike
from separatrix.models.generative.covariance import WhiteningRoot, estimated, fourth_moments
from separatrix.models.generative.facts import ClassFacts
from separatrix.models.generative.gaussian_solution import GaussianSolution
from separatrix.models.generative.missing import column_moments, completed, incomplete, marginal, members_of
from separatrix.models.generative.span import KEPT_AS_ROWS
from separatrix.models.generative.span_verified import span_equations, span_scatter
from separatrix.models.generative.state import publish, report, state
from separatrix.models.generative.verified import Equations, LabelledRows, gaussian_equations

MATRIX_BYTES = 4 << 30  # memory up to which EM may keep matrices (p, p)


class Gaussian(GaussianSolution):
    """What the discriminants share; a subclass says which classes share a covariance and how it is estimated."""

    covariance_estimator: Any = None
    _prior_name = "priors_"
    means_: Any
    priors_: Any
    covariance_: Any

    @property
    def class_prior_(self) -> FloatArray:
        """``priors_``, by the name other models have for it."""
        return self.priors_

    @class_prior_.setter
    def class_prior_(self, prior: Any) -> None:
        self.priors_ = prior

    def _set_prior(self, prior: FloatArray) -> None:
        self.priors_ = prior

    def _groups(self, classes: np.ndarray) -> np.ndarray:
        """The covariance each class uses: (K,) of 0 … G−1."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("tol", self.tol, finite=True)
        s = self.shrinkage
        if not (s is None or s == "auto" or (isinstance(s, (int, float, np.number)) and 0 <= s <= 1)):
            raise ValueError(
                f'shrinkage must be None, "auto" (Ledoit–Wolf) or a number from 0 to 1, got {s!r}'
            )

    # ---- facts ----

    def _block_facts(self, block: Block, k: int) -> ClassFacts:
        """The whole block from one start where its rows are complete; tile by tile where some are not."""
        count = np.zeros(k)

        def tiles() -> Iterator[tuple[np.ndarray, Members]]:
            for part in block.tiles(block.X.shape[1]):
                members = block.members(k, part)
                np.add(count, members.count, out=count)
                yield block.X[part], members

        group = self._groups(self._classes_at_hand)
        if self._wide:
            cells, members = block.X, block.members(k, slice(0, block.n))
            if incomplete(cells) is None:
                return ClassFacts(members.count, SpanScatter.of(cells, members, group))
            return super()._block_facts(block, k)
        plain = block.weight is None and block.X.dtype == np.float64 and block.n > block.X.shape[1]
        if plain and not group.any():
            near = _plain_scatter(block, k)
            if near is not None:
                return ClassFacts(near.weight, near)
        scatter = GroupScatter.of_tiles(tiles(), group, block.X.shape[1])
        if np.isfinite(scatter.mean).all():
            return ClassFacts(count, scatter)
        return super()._block_facts(block, k)

    def _facts(self, cells: np.ndarray, members: Members) -> GroupScatter | SpanScatter:
        """Scatters of the complete rows; of incomplete ones too, by their expectation, once there is a model."""
        group = self._groups(self._classes_at_hand)
        bad = incomplete(cells)
        kind: type[GroupScatter | SpanScatter] = SpanScatter if self._wide else GroupScatter
        if bad is None:
            return kind.of(cells, members, group)
        total = kind.of(cells[~bad], members_of(members, ~bad), group)
        if not self._in_em:
            return total
        return total + completed(self.means_, self._sigma, cells[bad], members_of(members, bad), group)

    _in_em = False
    _wide = False  # whether the rows at hand are fewer than the columns, and kept as rows

    def _labelled_rows(self, *args: Any, **how: Any) -> tuple[Rows, np.ndarray]:
        rows, classes = super()._labelled_rows(*args, **how)
        self._wide = rows.n < rows.p
        return rows, classes

    def _spread(self, facts: ClassFacts, index: np.ndarray, k: int) -> ClassFacts:
        weight = np.zeros(k)
        weight[index] = facts.weight
        return ClassFacts(weight, facts.of_x.spread(index, k, self._groups(self._classes_at_hand)))

    def _learn(self, *args: Any, **how: Any) -> Self:
        self._in_em = False
        return super()._learn(*args, **how)

    def partial_fit(
        self, X: TableLike, y: ArrayLike, classes: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows to what has been learnt; see `Generative.partial_fit`. Not with Ledoit–Wolf's shrinkage."""
        self._refuse_auto("partial_fit")
        return super().partial_fit(X, y, classes, sample_weight)

    def merge(self, other: Self) -> Self:
        """The model of both models' rows; see `Generative.merge`. Not with Ledoit–Wolf's shrinkage."""
        self._refuse_auto("merge")
        return super().merge(other)

    def _refuse_auto(self, what: str) -> None:
        given = 'shrinkage="auto" (Ledoit–Wolf)' if self.shrinkage == "auto" else ""
        if self.covariance_estimator is not None:
            given = f"covariance_estimator={type(self.covariance_estimator).__name__}()"
        if given:
            raise ValueError(f"{what}: {given} needs all rows at once, labelled and complete; give a number")

    def _refuse_wide(self, rows: Rows, what: str) -> None:
        """EM of missing cells leaves a covariance of every pattern, which no rows stand for: (p, p) it is."""
        needed = 8.0 * rows.p**2 * (4 + 2 * len(self._classes_at_hand))
        if rows.n < rows.p and needed > MATRIX_BYTES:
            raise ValueError(
                f"{what} in {rows.p} columns: EM keeps the covariances of what is missing, matrices of {rows.p} × "
                f"{rows.p} numbers and about {needed / 2**30:.0f} GiB in all; fill the cells (SimpleImputer), keep "
                "fewer columns, or use GaussianNB, which needs no covariance"
            )

    def _start_of_em(self, rows: Rows, facts: ClassFacts, classes: np.ndarray, reset: bool) -> bool:
        """Rows with missing cells: start from variances column by column, then EM."""
        met = facts.of_x.weight  # of complete rows
        complete = bool((np.abs(facts.weight - met) <= 1e-12 * np.abs(met)).all())
        if not complete or (rows.y < 0).any():
            self._refuse_auto("missing cells" if not complete else "rows without a label")
        self._fourth = fourth_moments(rows, facts.of_x) if self.shrinkage == "auto" else None
        self._estimated = None
        if self.covariance_estimator is not None:
            self._estimated = estimated(rows, self._classes_at_hand.tolist(), self.covariance_estimator)
        if complete:
            return False
        if not reset:
            raise ValueError(
                "partial_fit takes complete rows here: missing cells need EM, and that all rows at once (fit)"
            )
        self._refuse_wide(rows, "missing cells")
        self._wide = False
        moments: GroupMoments = sweep(column_moments, rows, len(classes))[0]
        pooled = moments.pooled()
        nothing = pooled.weight[0] == 0
        if nothing.any():
            raise ValueError(f"{self._columns(nothing)} has no value at all: drop it")
        variance = np.where(moments.weight > 0, moments.variance, pooled.variance)
        variance = np.maximum(variance, 1e-3 * pooled.variance)
        mean = np.where(moments.weight > 0, moments.mean, pooled.mean)
        group = self._groups(classes)
        scatter = np.zeros((int(group.max()) + 1, rows.p, rows.p))
        for k, g in enumerate(group.tolist()):
            scatter[g] += np.diag(facts.weight[k] * variance[k])
        self.classes_ = classes
        start = GroupScatter(facts.weight, mean, np.zeros_like(mean), scatter, group)
        self._facts_seen = ClassFacts(facts.weight, start)
        self._solve_all(self._facts_seen, 0.0, 0.0)
        self._in_em = True
        return True

    # ---- parameters ----

    def _set_forms(self, means: FloatArray, whitened: list[WhiteningRoot]) -> None:
        """Publish what hangs on the estimates."""
        publish(self, "means_", means, self._single)
        report(self, xbar_=self._middle(means, np.asarray(self.class_prior_)))

    def _middle(self, means: FloatArray, prior: FloatArray) -> FloatArray:
        """Σ π_k μ_k over the classes that have rows."""
        return prior @ np.where((np.asarray(self.class_count_) > 0)[:, None], means, 0.0)

    @property
    def _is_linear(self) -> bool:
        """Whether all classes share Σ."""
        return len(self._whiten) == 1 or len(set(self._group.tolist())) == 1

    def _now(self) -> Self:
        now = super()._now()
        now.__dict__["means_"] = state(self, "means_", (len(self.classes_), self.n_features_in_))
        if self._is_linear:
            now._set_linear()
        return now

    def _set_linear(self) -> None:
        """(x − c)·β_k + γ_k from the public means, c amid the classes: far from the origin x·β would lose digits."""
        self._centre = self._middle(self.means_, state(self, "priors_", (len(self.classes_),)))
        inner = (self.means_ - self._centre) @ self._whiten[0]
        self._beta = inner @ self._whiten[0].T
        self._gamma = -0.5 * np.sum(inner**2, axis=1)

    # ---- verified ----

    def _public_normals(self) -> tuple[FloatArray, Any]:
        """Means (K, p) and covariances (K, p, p) as the public numbers have them; a list where they are rows."""
        means = state(self, "means_", (len(self.classes_), self.n_features_in_))
        kept = self.__dict__["covariance_"]
        sigmas = kept if isinstance(kept, tuple) else (kept,)
        if isinstance(sigmas[0], SpanCovariance):
            return means, [sigmas[k if len(sigmas) > 1 else 0] for k in range(len(means))]
        return means, np.broadcast_to(np.asarray(sigmas, dtype=np.float64), (len(means), *sigmas[0].shape))

    def _equations(self, rows: LabelledRows) -> Equations:
        """Σ̂ follows from the scatter of the rows as the parameters say (`_covariances`)."""
        group, live = self._groups(self.classes_), rows.weight > 0
        means, sigmas = self._public_normals()
        s: GroupScatter | SpanScatter
        if isinstance(sigmas, list) and rows.rows.n < rows.rows.p and not rows.incomplete:
            s = span_scatter(rows, group)
        else:
            sigmas = np.array([np.asarray(sigma) for sigma in sigmas]) if isinstance(sigmas, list) else sigmas
            s = rows.scatters(group, means, sigmas)
        now = copy(self)
        if self.covariance_estimator is not None:
            codes = np.where(
                live[rows.R.argmax(axis=1)] & (rows.R > 0).any(axis=1), rows.R.argmax(axis=1), -1
            )
            hard = rows.rows.with_targets(codes, rows.R.max(axis=1))
            now._estimated = estimated(hard, self.classes_.tolist(), self.covariance_estimator)
        m, fourth = s.mean, rows.fourths(s) if self.shrinkage == "auto" else None
        wanted = now._covariances(ClassFacts(rows.weight, s), fourth)
        total = Equations()
        for g, sigma in enumerate(wanted):
            mine = live & (group == g) if len(wanted) > 1 else live
            if mine.any():
                share, found = rows.weight[mine] / rows.total, sigmas[int(np.flatnonzero(mine)[0])]
                if isinstance(s, SpanScatter):
                    Z = s.factor(g if len(wanted) > 1 else None) / np.sqrt(rows.total)
                    raw = SpanCovariance(Z, np.zeros(rows.rows.p))
                    total += span_equations(share, means[mine], found, m[mine], sigma, raw, self.tol)
                    continue
                scatter = (s.scatter[g] if len(wanted) > 1 else s.scatter.sum(axis=0)) / rows.total
                total += gaussian_equations(share, means[mine], found, m[mine], sigma, scatter, self.tol)
        return total + self._form_equations(rows, m, wanted)

    def _form_equations(self, rows: LabelledRows, m: FloatArray, wanted: list[Any]) -> Equations:
        """Of public numbers that follow from means and covariances; none here."""
        return Equations()

    # ---- densities ----

    def _log_density(self, cells: np.ndarray) -> FloatArray:
        """Less what all classes share: −½ p log 2π, and where Σ is one its quadratic form and determinant."""
        gone = incomplete(cells)
        if gone is None:
            return self._complete(cells)
        out = np.empty((len(cells), len(self.means_)))
        out[~gone] = self._complete(cells[~gone])
        out[gone] = marginal(self.means_, self._sigma, self._group, self._flat, cells[gone])
        return out

    def _complete(self, cells: np.ndarray) -> FloatArray:
        if self._is_linear:
            out = np.dot(np.subtract(cells, self._centre, dtype=np.float64), self._beta.T)
            out += self._gamma
            return out
        out = np.empty((len(cells), len(self.means_)))
        for k, g in enumerate(self._group.tolist()):
            u = np.subtract(cells, self.means_[k], dtype=np.float64) @ self._whiten[g]
            out[:, k] = -0.5 * (np.einsum("ij,ij->i", u, u) + self._log_det[g])
        return out

    def _log_base(self, cells: np.ndarray) -> FloatArray:
        seen = np.count_nonzero(~np.isnan(cells[:, ~self._flat]), axis=1)
        base = -0.5 * LOG_2PI * np.minimum(seen, self._directions)
        if self._is_linear:
            u = np.subtract(cells, self._centre, dtype=np.float64) @ self._whiten[0]
            shared = -0.5 * (np.einsum("ij,ij->i", u, u) + self._log_det[0])
            base += np.where(np.isnan(shared), 0.0, shared)
        return base

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        sigma = self._sigma[self._group[k]]
        if isinstance(sigma, KEPT_AS_ROWS):
            return self.means_[k] + np.where(self._flat, 0.0, sigma.draw(n, rng))
        values, vectors = np.linalg.eigh(sigma)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        root[self._flat] = 0.0
        return self.means_[k] + rng.standard_normal((n, len(values))) @ root.T


def _plain_scatter(block: Block, k: int) -> GroupScatter | None:
    """The scatter of a block from products of its cells as they are, where they lie near the origin: no copy."""
    p = block.X.shape[1]
    count, sums, products = np.zeros(k), np.zeros((k, p)), np.zeros((p, p))
    with np.errstate(all="ignore"):
        for i, part in enumerate(block.tiles(p)):
            cells, codes = block.X[part], block.y[part]
            if codes.min(initial=0) < 0:
                return None
            members = block.members(k, part)
            count += members.count
            sums += members.sum(cells)
            products += np.dot(cells.T, cells)
            far = (
                i == 0 and len(cells) < block.n and GroupScatter.of_plain_sums(count, sums, products) is None
            )
            if far:
                return None
    return GroupScatter.of_plain_sums(count, sums, products)


def check_solver(solver: Any, known: tuple[str, ...], shrinkage: Any, covariance_estimator: Any) -> None:
    if solver not in known:
        raise ValueError(f"solver must be one of {', '.join(map(repr, known))}, got {solver!r}")
    if covariance_estimator is None:
        return
    if solver == "svd":
        raise ValueError(
            "covariance_estimator is not supported with solver='svd', which never forms a covariance: use "
            f"solver={known[-1]!r}"
        )
    if shrinkage is not None and shrinkage != 0:
        raise ValueError("covariance_estimator and shrinkage are both given: only one of the two can be set")
    if not hasattr(covariance_estimator, "fit"):
        raise ValueError(
            "covariance_estimator must have a fit method, as those of sklearn.covariance, got "
            f"{covariance_estimator!r}"
        )
