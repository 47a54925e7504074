"""What naive Bayes models share:  log p(x, k) = log π_k + Σ_j log p(x_j | θ_kj), columns independent ([726]).

    GaussianNB      x_j ~ N(μ_kj, σ²) with σ_kj, σ_j, σ_k or σ           linear when σ does not depend on k
    BernoulliNB     x_j ∈ {0, 1}                                         linear
    MultinomialNB   x a bag of counts, θ_k a distribution over columns   linear
    CategoricalNB   x_j a level 0 … L_j − 1
    NaiveBayes      a family of its own for every column, from a frame as it is

A model is a list of parts (parts/): columns of one kind, the facts they need, the parameters that follow. Those on
counts are smoothed by virtual rows (parts/counted.py).

Shapes: X (n, p), K classes. Cost: one sweep, O(np); prediction O(npK).
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import Members
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.rows import Block
from separatrix.models.generative.answers import UnfitCell, differences
from separatrix.models.generative.common import Generative
from separatrix.models.generative.facts import Cells, ClassFacts, PartFacts
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.parts.counted import Smoothing
from separatrix.models.generative.parts.part import ColumnsPart
from separatrix.models.generative.state import Derived, Report, state
from separatrix.models.generative.verified import Equations, LabelledRows


class Naive(Generative):
    """What the models here share: facts, densities and draws part by part; one class is something to learn."""

    _one_class = True
    _parts: list[Any]

    def _facts(self, cells: Cells, members: Members) -> PartFacts:
        return PartFacts(tuple(part.facts(part.of(cells), members) for part in self._parts))

    def _block_facts(self, block: Block, k: int) -> ClassFacts:
        """Facts of the whole block where a part has a way for it, of the other parts tile by tile."""
        if block.sparse:
            return super()._block_facts(block, k)
        every = self._parts
        whole = [part.block_facts(part.of_block(block), k) for part in every]
        if any(facts is None for facts in whole):
            rest = copy(self)
            rest._parts = [part for part, facts in zip(every, whole, strict=True) if facts is None]
            found = iter(super(Naive, rest)._block_facts(block, k).of_x.parts)
            whole = [next(found) if facts is None else facts for facts in whole]
        return ClassFacts(block.members(k, slice(None)).count, PartFacts(tuple(whole)))

    def _solve(self, facts: ClassFacts, findings: Findings) -> tuple[float, float]:
        self._parts = [copy(part) for part in self._parts]  # a merged model leaves its parents alone
        parts = zip(self._parts, facts.of_x.parts, strict=True)
        solved = [part.solve(s, facts.weight, findings, self) for part, s in parts]
        findings[:] = dict.fromkeys(findings)  # two parts may say the same
        self._publish()
        return max(r for r, _ in solved), sum(loss for _, loss in solved) / facts.weight.sum()

    def _publish(self) -> None:
        """Set the public names of what was fitted."""

    def _live_parts(self) -> list[Any]:
        """The parts at the public numbers as they stand."""
        raise NotImplementedError

    def _now(self) -> Self:
        now = super()._now()
        now._parts = self._live_parts()
        return now

    def _equations(self, rows: LabelledRows) -> Equations:
        return sum((p.equations(rows.changed(p.of)) for p in self._live_parts()), Equations())

    def _log_density(self, cells: Cells) -> FloatArray:
        out = np.zeros((cells.shape[0], len(self.classes_)), order="F")  # few classes: sums go down the rows
        for part in self._parts:
            part.add_log_density(part.of(cells), out)
        return out

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.hstack([part.draw(k, n, rng) for part in self._parts])

    def _log_prior_density(self) -> float:
        return sum(part.log_prior for part in self._parts)

    def _linear(self) -> tuple[FloatArray, FloatArray] | None:
        """β_k·x + γ_k, the log of p(x, k) up to what all classes share: (K, p), (K,); None where it is not so."""
        return None

    def _coef_(self) -> FloatArray | None:
        return self._public_form(0)

    def _intercept_(self) -> FloatArray | None:
        return self._public_form(1)

    def _public_form(self, which: int) -> FloatArray | None:
        form = self._linear() if len(self.classes_) > 1 else None
        return None if form is None else self._kept(differences(*form)[which])


@constructor
class Counted(Naive):
    """What naive Bayes on counts shares: scikit-learn's parameters, and smoothing by virtual rows."""

    _: KW_ONLY
    alpha: Any = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: Any = None
    smoothing: Any = None
    em_tol: float = 1e-6
    em_max_iter: int = 500
    class_weight: Any = None

    _has_scores = False
    _kind = "dirichlet"
    coef_ = Derived("edit feature_log_prob_ or class_log_prior_")
    intercept_ = Derived("edit feature_log_prob_ or class_log_prior_")
    feature_count_ = Report("edit feature_log_prob_, or learn from more rows by partial_fit and merge")

    @property
    def class_prior_(self) -> FloatArray:
        """π, read-only: exp(class_log_prior_), which is the state. Assigning to it sets that."""
        prior = np.exp(np.asarray(self.class_log_prior_))
        prior.flags.writeable = False
        return prior

    @class_prior_.setter
    def class_prior_(self, prior: Any) -> None:
        self._set_prior(np.asarray(prior, dtype=np.float64))

    def _set_prior(self, prior: FloatArray) -> None:
        with np.errstate(all="ignore"):
            self.class_log_prior_ = np.log(prior)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        smoothing = Smoothing(self.alpha, self.force_alpha, self.smoothing, self._kind)
        self._parts = [self._part(smoothing.checked())]

    def _part(self, smoothing: Smoothing) -> ColumnsPart:
        raise NotImplementedError

    def _log_density(self, cells: Cells) -> FloatArray:
        try:  # while the tile is in cache; `_on_rows` will name the row among all
            self._refuse_cells(cells, 0)
        except ValueError as error:
            raise UnfitCell(str(error)) from None
        return super()._log_density(cells)

    def _public_log_prior(self) -> FloatArray:
        return state(self, "class_log_prior_", (len(self.classes_),))

    def _public_shares(self) -> FloatArray:
        """``feature_log_prob_`` (K, p) as it stands."""
        return state(self, "feature_log_prob_", (len(self.classes_), self.n_features_in_))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # scikit-learn's toy data are not counts
        tags.input_tags.positive_only = True
        return tags
