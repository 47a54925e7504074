"""Complement naive Bayes:  a class is judged by how little a row looks like all other classes ([726]; P5).

    θ̃_kj = (Σ_{l≠k} n_lj + α_j) / Σ_j (Σ_{l≠k} n_lj + α_j)          w_kj = −log θ̃_kj,  or log θ̃_kj / Σ_j log θ̃_kj
    the class of the largest Σ_j x_j w_kj                            (Rennie, Shih, Teevan, Karger 2003)

A class's complement has nearly as many rows whichever class it is, so that a rare class is not at a loss as it is
in MultinomialNB. The scores are no densities: there is no `sample`, no `score_samples` and no EM. With a single
class the complement is empty, and the prior alone is left.

Shapes: counts X (n, p), K classes. Cost: one sweep, O(stored cells); prediction O(stored cells · K).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupSums
from separatrix.data.checks import check_flag
from separatrix.data.counts import log_shares
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.sources import TableLike
from separatrix.models.generative.facts import Cells
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.multinomial_nb import MultinomialNB
from separatrix.models.generative.parts.counted import BagPart, Smoothing
from separatrix.models.generative.parts.part import Solved
from separatrix.models.generative.state import Derived, Report, report
from separatrix.models.generative.verified import Equations, LabelledRows, share_equations

if TYPE_CHECKING:
    from separatrix.models.generative.common import Generative


@dataclass(eq=False)
class ComplementPart(BagPart):
    """Weights from the counts of all other classes; ``norm`` divides them by their sum."""

    norm: bool = False

    def solve(self, s: GroupSums, weight: FloatArray, findings: Findings, model: Generative) -> Solved:
        k, p = s.value.shape
        self.count, self.all = s.value, s.value.sum(axis=0)
        self.add = self.smoothing.rows(np.empty((1, p)))[0]
        shares = log_shares(s.value, self.add, self.all)
        residual = shares.residual
        findings.append(self.smoothing.words())
        if shares.zeros:
            findings.append(f"{shares.zeros} of {k * p} columns were never seen outside a class")
        size = -np.ones(k)
        if self.norm:
            size = shares.weights.sum(axis=0)
            bare = np.zeros(p, dtype=bool)
            if not np.isfinite(size).all():
                bare = np.asarray(~np.isfinite(shares.weights).all(axis=1))
            if bare.any():
                raise ValueError(
                    f"norm=True divides by Σ log θ̃, which is infinite: {model._columns(bare)} was never "
                    "seen outside a class and alpha is 0; give a positive alpha"
                )
        self.weights = shares.weights
        if self.norm:
            self.weights /= size
        else:
            np.negative(self.weights, out=self.weights)
        return residual, -float(np.sum(shares.losses / size))

    def equations(self, rows: LabelledRows) -> Equations:
        counts = rows.sums()
        others = np.maximum(counts.sum(axis=0) - counts, 0.0)
        add = np.broadcast_to(self._virtual(counts), others.shape)
        with np.errstate(all="ignore"):
            log_wanted = np.log((others + add) / (others + add).sum(axis=1, keepdims=True))
        log_wanted = np.where(np.isnan(log_wanted), -np.log(others.shape[1]), log_wanted)
        size = log_wanted.sum(axis=1, keepdims=True) if self.norm else -1.0
        found = share_equations(np.exp(self.weights.T * size), others, add, rows.total)
        with np.errstate(invalid="ignore"):
            loss = np.where(others == 0, 0.0, others * (log_wanted / size)).sum() / rows.total
        return replace(found, loss=float(loss))


@constructor
class ComplementNB(MultinomialNB):
    """argmax_k Σ_j x_j w_kj,  w_kj = −log θ̃_kj, θ̃_k the shares of words in all classes but k ([726], P5).

    For counts of words in classes of very different sizes. Counts may be fractions (tf–idf).

    Parameters
    ----------
    alpha, force_alpha : virtual counts of every column, as in MultinomialNB
    fit_prior, class_prior : as in scikit-learn, of use where there is one class, and for rows that say nothing
    norm : divide each class's weights by their sum (the paper's second normalisation)
    class_weight : None, "balanced" or {class: weight}, times the weights of the rows

    Attributes: feature_log_prob_ (K, p), the weights w: the state, edits of it predict; class_log_prior_,
    feature_count_, feature_all_, class_count_, coef_, intercept_, rule_, classes_, verdict_, whose objective is the
    mean over rows of Σ_{l≠y} x·w_l.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[4, 1, 0], [3, 0, 1], [5, 1, 1], [0, 1, 3]])
    >>> model = ComplementNB().fit(X, ["x", "x", "x", "y"])
    >>> model.predict([[0, 0, 2], [2, 0, 0]]).tolist()
    ['y', 'x']
    """

    _: KW_ONLY
    norm: bool = False
    # of no use here: no parameters
    smoothing: ClassVar[Any] = None  # type: ignore[misc]
    em_tol: ClassVar[float] = 1e-6  # type: ignore[misc]
    em_max_iter: ClassVar[int] = 500  # type: ignore[misc]

    _em = False
    class_log_prior_ = Report(
        "the prior enters no score where there are several classes; edit feature_log_prob_"
    )
    class_prior_ = Derived(
        "the prior enters no score where there are several classes; edit feature_log_prob_"
    )
    feature_all_ = Report("edit feature_log_prob_, or learn from more rows by partial_fit and merge")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("norm", self.norm)

    def _part(self, smoothing: Smoothing) -> ComplementPart:
        return ComplementPart(smoothing, bool(self.norm))

    def _class_prior_(self) -> FloatArray:
        return np.exp(self.class_log_prior_)

    def _set_prior(self, prior: FloatArray) -> None:
        with np.errstate(all="ignore"):
            report(self, class_log_prior_=np.log(prior))

    def _publish(self) -> None:
        super()._publish()
        report(self, feature_all_=self._parts[0].all)

    def _joint(self, cells: Cells) -> FloatArray:
        """The scores of a tile; the prior counts only where it is all there is, and rules out what has no rows."""
        scores = self._density(cells)
        if len(self.classes_) == 1:
            scores += self._log_prior
        scores[:, np.asarray(self.class_count_) == 0] = -np.inf
        return scores

    def _linear(self) -> tuple[FloatArray, FloatArray]:
        return self._public_shares(), np.zeros(len(self.classes_))

    def _losses(self, X: TableLike, joint: FloatArray, codes: np.ndarray) -> FloatArray:
        """Σ_{l≠y} x·w_l of each row, from the public weights: (n,)."""
        scores = np.where(np.asarray(self.class_count_) == 0, 0.0, joint)
        if len(self.classes_) == 1:
            return np.zeros(len(scores))
        return scores.sum(axis=1) - scores[np.arange(len(scores)), codes]

    def _objective(self, objective: float, weight: FloatArray, prior: FloatArray) -> float:
        return objective if len(weight) > 1 else 0.0

    # ---- no density ----

    @property
    def sample(self) -> Any:
        """Not there: the weights are of the other classes' words."""
        return self._no_density("sample")

    @property
    def score_samples(self) -> Any:
        """Not there: the scores are no densities."""
        return self._no_density("score_samples")

    @property
    def class_log_density(self) -> Any:
        """Not there: the scores are no densities."""
        return self._no_density("class_log_density")

    def _no_density(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} has no {name}: its scores weigh a row against the other classes, and are no "
            "density; MultinomialNB has one"
        )
