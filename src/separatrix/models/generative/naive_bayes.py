"""Naive Bayes:  log p(x, k) = log π_k + Σ_j log p(x_j | θ_kj), columns independent within a class ([726]).

    GaussianNB      x_j ~ N(μ_kj, σ²) with σ_kj, σ_j, σ_k or σ           linear when σ does not depend on k
    BernoulliNB     x_j ∈ {0, 1}                                         linear
    MultinomialNB   x a bag of counts, θ_k a distribution over columns   linear
    CategoricalNB   x_j a level 0 … L_j − 1
    NaiveBayes      a family of its own for every column, from a frame as it is

A model is a list of parts (parts.py): columns of one kind, the facts they need, the parameters that follow.

Smoothing is a number of virtual rows added to the counts before they are divided: ``alpha`` of each level
(Laplace: 1), or ``smoothing=("beta", a, b)`` and ``("dirichlet", a)`` for the MAP estimate under that prior, or
``("m", m, Q)`` for m virtual rows drawn from Q ("uniform", "marginal" = all classes together, or numbers).

Shapes: X (n, p), K classes. Cost: one sweep, O(np); prediction O(npK).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.caller import warn
from separatrix.core.families import Family, family
from separatrix.core.numerics import FloatArray
from separatrix.core.statistics.grouped import GroupMoments, Members
from separatrix.data.columns import Encoding
from separatrix.data.door import (
    column_name,
    is_dask,
    is_positive,
    read_table,
    refuse_infinite,
    refuse_not_finite,
)
from separatrix.data.moments import class_power_sums
from separatrix.data.rows import Block
from separatrix.models.generative.answers import differences
from separatrix.models.generative.common import Facts, Generative, Parts
from separatrix.models.generative.impossible import Findings
from separatrix.models.generative.parts import (
    BagPart,
    BernoulliPart,
    FamilyPart,
    LevelsPart,
    NormalPart,
    Part,
    Smoothing,
)
from separatrix.models.generative.state import Derived, Report, publish, report, state

# variance over mean beyond which whole numbers (years, prices, codes) are no counts of events
OVERDISPERSED = 3.0
TIES = ("none", "class", "feature", "both")


class Naive(Generative):
    """What the models here share: facts, densities and draws part by part; one class is something to learn."""

    _one_class = True
    _parts: list[Any]

    def _facts(self, cells: Any, members: Members) -> Parts:
        return Parts(tuple(part.facts(part.of(cells), members) for part in self._parts))

    def _solve(self, facts: Facts, findings: Findings) -> tuple[float, float]:
        self._parts = [copy(part) for part in self._parts]  # a merged model leaves its parents alone
        solved = [
            p.solve(s, facts.weight, findings, self)
            for p, s in zip(self._parts, facts.of_x.parts, strict=True)
        ]
        findings[:] = dict.fromkeys(findings)  # two parts may say the same
        self._publish()
        return max(r for r, _ in solved), sum(loss for _, loss in solved) / facts.weight.sum()

    def _publish(self) -> None:
        """Set the public names of what was fitted."""

    def _live_parts(self) -> list[Any]:
        """The parts at the public numbers as they stand."""
        raise NotImplementedError

    def _now(self) -> Any:
        now = super()._now()
        now._parts = self._live_parts()
        return now

    def _log_density(self, cells: Any) -> FloatArray:
        out = np.zeros((cells.shape[0], len(self.classes_)))
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


@dataclass(eq=False, repr=False, kw_only=True)
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
        if not isinstance(self.var_smoothing_per_column, (bool, np.bool_)):
            raise ValueError(
                f"var_smoothing_per_column must be True or False, got {self.var_smoothing_per_column!r}"
            )
        if self.tie not in TIES:
            raise ValueError(f"tie must be one of {', '.join(map(repr, TIES))}, got {self.tie!r}")
        if not (is_positive(self.var_smoothing, finite=True) or self.var_smoothing == 0):
            raise ValueError(f"var_smoothing must be a number, 0 or more, got {self.var_smoothing!r}")
        self._parts = [NormalPart(self.tie, self.var_smoothing, bool(self.var_smoothing_per_column))]

    def _block_facts(self, block: Block, k: int) -> Facts:
        """Plain sums over the block where they keep their digits; else centred, tile by tile."""
        count, first, second = class_power_sums(block, k)
        moments = GroupMoments.of_sums(count, first, second)
        return super()._block_facts(block, k) if moments is None else Facts(count, Parts((moments,)))

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


@dataclass(eq=False, repr=False, kw_only=True)
class Counted(Naive):
    """What naive Bayes on counts shares: scikit-learn's parameters, and smoothing by virtual rows."""

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
        self._parts = [
            self._part(Smoothing(self.alpha, self.force_alpha, self.smoothing, self._kind).checked())
        ]

    def _part(self, smoothing: Smoothing) -> Part:
        raise NotImplementedError

    def _read_for_prediction(self, X: Any) -> Any:
        cells = super()._read_for_prediction(X)
        if not is_dask(cells):
            self._refuse_cells(cells, 0)
        return cells

    def _now(self) -> Any:
        now = super()._now()
        log_prior = state(self, "class_log_prior_", (len(self.classes_),))
        now._log_prior = np.where(np.asarray(self.class_count_) == 0, -np.inf, log_prior)
        return now

    def _public_shares(self) -> FloatArray:
        """``feature_log_prob_`` (K, p) as it stands."""
        return state(self, "feature_log_prob_", (len(self.classes_), self.n_features_in_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # scikit-learn's toy data are not counts
        tags.input_tags.positive_only = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class BernoulliNB(Counted):
    """p(x | k) = Π_j θ_kj^{x_j} (1 − θ_kj)^{1 − x_j},  θ_kj = (n_kj + a) / (n_k + a + b) ([6867] 3.1.2, G4).

    The separator is linear: W_j = log θ₁j/(1−θ₁j) − log θ₀j/(1−θ₀j), W₀ = log π₁/π₀ + Σ_j log (1−θ₁j)/(1−θ₀j),
    in ``coef_``, ``intercept_`` and ``rule_``. The notes print the last term without its bracket.

    Parameters: alpha, force_alpha, binarize, fit_prior, class_prior as in scikit-learn; ``smoothing``: see the
    module; em_tol, em_max_iter: see GaussianNB. With ``binarize=None`` cells must be 0 or 1.

    >>> import numpy as np
    >>> model = BernoulliNB().fit(np.array([[1, 0], [1, 1], [0, 1], [0, 1]]), [0, 0, 1, 1])
    >>> np.exp(model.feature_log_prob_).tolist()
    [[0.75, 0.5], [0.25, 0.75]]
    """

    binarize: float | None = 0.0

    _sparse = True
    _kind = "beta"

    def _part(self, smoothing: Smoothing) -> Part:
        return BernoulliPart(smoothing, self.binarize)

    def _refuse_cells(self, cells: Any, start: int) -> None:
        refuse_infinite(self, cells, start)
        data = cells if isinstance(cells, np.ndarray) else cells.data
        if self.binarize is None and ((data != 0) & (data != 1) & (data == data)).any():
            dense = cells if isinstance(cells, np.ndarray) else cells.toarray()
            wrong = (dense != 0) & (dense != 1) & (dense == dense)
            self._refuse_where(wrong, dense, start, "0 or 1 (binarize=None)")

    def _publish(self) -> None:
        part = self._parts[0]
        report(self, feature_count_=part.count)
        self.feature_log_prob_ = part.log_yes.copy()  # the part's own is what 1 − θ belongs to

    def _live_parts(self) -> list[Any]:
        return [self._parts[0].at(self._public_shares())]

    def _linear(self) -> tuple[FloatArray, FloatArray]:
        now = self._now()
        part = now._parts[0]
        with np.errstate(invalid="ignore"):
            return part.log_yes - part.log_no, part.log_no.sum(axis=1) + now._log_prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class MultinomialNB(Counted):
    """p(x | k) = (Σ_j x_j)!/Π_j x_j! · Π_j θ_kj^{x_j},  θ_kj = (n_kj + α) / (n_k + pα): counts of words ([726], G5).

    Linear: ``coef_`` = log θ, ``intercept_`` = log π (two classes: the differences). Counts may be fractions
    (tf–idf). A missing count has no meaning in a bag of words and is refused.

    Parameters: alpha, force_alpha, fit_prior, class_prior as in scikit-learn; ``smoothing``: see the module;
    em_tol, em_max_iter: see GaussianNB.

    >>> import numpy as np
    >>> model = MultinomialNB().fit(np.array([[3, 0], [1, 1], [0, 4]]), ["x", "x", "y"])
    >>> np.exp(model.feature_log_prob_).round(3).tolist()
    [[0.714, 0.286], [0.167, 0.833]]
    """

    _sparse = True
    _base_counts = False  # the multinomial coefficients

    def _part(self, smoothing: Smoothing) -> Part:
        return BagPart(smoothing)

    def _refuse_cells(self, cells: Any, start: int) -> None:
        data = cells if isinstance(cells, np.ndarray) else cells.data
        if data.size and not (data.min() >= 0 and data.max() < np.inf):
            dense = cells if isinstance(cells, np.ndarray) else cells.toarray()
            refuse_not_finite(self, dense, start)
            wanted = "a count: Negative values in data passed to MultinomialNB"
            self._refuse_where(~(dense >= 0), dense, start, wanted)

    def _read_for_prediction(self, X: Any) -> Any:
        cells = read_table(self, X, reset=False)
        data = cells if isinstance(cells, np.ndarray) else getattr(cells, "data", None)
        if isinstance(data, np.ndarray) and data.size and not data.min() >= 0:
            self._refuse_cells(cells, 0)  # an infinite cell shows in its tile's densities
        return cells

    def _publish(self) -> None:
        part = self._parts[0]
        report(self, feature_count_=part.count)
        self.feature_log_prob_ = part.weights.T

    def _live_parts(self) -> list[Any]:
        return [self._parts[0].at(self._public_shares())]

    def _linear(self) -> tuple[FloatArray, FloatArray]:
        return self._public_shares(), self._now()._log_prior

    def _log_base(self, cells: Any) -> FloatArray:
        from scipy.special import gammaln

        factorials = cells.astype(np.float64)
        if isinstance(cells, np.ndarray):
            factorials = gammaln(factorials + 1.0)
        else:
            factorials.data = gammaln(factorials.data + 1.0)
        return gammaln(np.ravel(cells.sum(axis=1, dtype=np.float64)) + 1.0) - np.ravel(factorials.sum(axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class CategoricalNB(Counted):
    """p(x | k) = Π_j θ_kj(x_j),  θ_kj(l) = (n_kjl + α) / (n_kj + α L_j), levels l = 0 … L_j − 1 ([726], G6).

    A level unseen in training is legal at prediction: it gets the probability of a level seen no times,
    α / (n_kj + α L_j), which is larger in a class of few rows. A NaN cell is missing and left out.

    Parameters: alpha, force_alpha, fit_prior, class_prior, min_categories as in scikit-learn; ``smoothing``: see
    the module; em_tol, em_max_iter: see GaussianNB. For columns of words see NaiveBayes.

    >>> import numpy as np
    >>> model = CategoricalNB().fit(np.array([[0], [0], [1], [1]]), [0, 0, 0, 1])
    >>> np.exp(model.feature_log_prob_[0]).round(3).tolist(), model.predict([[7]]).tolist()
    ([[0.6, 0.4], [0.333, 0.667]], [0])
    """

    min_categories: Any = None

    category_count_ = Report("edit feature_log_prob_, or learn from more rows by partial_fit and merge")
    n_categories_ = Report("name min_categories, or learn from rows of more levels")

    def _part(self, smoothing: Smoothing) -> Part:
        return LevelsPart(smoothing, 1 if self.min_categories is None else self.min_categories)

    def _refuse_cells(self, cells: np.ndarray, start: int) -> None:
        refuse_infinite(self, cells, start)
        wrong = (cells < 0) | (cells != np.floor(cells)) & (cells == cells)
        wanted = "a level 0, 1, 2, … (Negative values in data passed to CategoricalNB, or fractions: see Discretizer)"
        self._refuse_where(wrong, cells, start, wanted)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        least = self.min_categories
        if least is not None and not (
            np.asarray(least).dtype.kind in "iu" and np.all(np.asarray(least) >= 1)
        ):
            raise ValueError(f"min_categories must be whole numbers of at least 1, or None, got {least!r}")

    def _read(self, X: Any, *, reset: bool) -> Any:
        table = super()._read(X, reset=reset)
        if np.ndim(self.min_categories) and len(self.min_categories) != self.n_features_in_:
            count = len(self.min_categories)
            raise ValueError(
                f"min_categories has {count} numbers for {self.n_features_in_} columns: give one, or as many"
            )
        return table

    def _publish(self) -> None:
        part = self._parts[0]
        self.feature_log_prob_ = [share.copy() for share in part.log_share]
        report(
            self,
            category_count_=tuple(part.tables),
            n_categories_=np.array([t.shape[1] for t in part.tables]),
        )

    def _live_parts(self) -> list[Any]:
        fitted, shares = self._parts[0].log_share, list(self.feature_log_prob_)
        if [np.shape(t) for t in shares] != [t.shape for t in fitted]:
            raise ValueError(
                f"feature_log_prob_ of CategoricalNB has shapes {[np.shape(t) for t in shares][:5]}, and the fitted "
                f"one has {[t.shape for t in fitted][:5]}: an edit may change numbers, not shapes"
            )
        return [self._parts[0].at([np.asarray(t, dtype=np.float64) for t in shares])]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


@dataclass(eq=False, repr=False)
class NaiveBayes(Naive):
    """log p(x, k) = log π_k + Σ_j log p_j(x_j | θ_kj), p_j of any exponential family ([726], [6867] 3.1.3, G9).

    ``families="auto"`` chooses by the column's type and the support of its values in training:

        words, categories            categorical     whole numbers, none negative, spread as counts are    poisson
        booleans, or only 0 and 1    bernoulli       all inside (0, 1)                                     beta
        all positive                 gamma           any other number                                      gaussian

    or a mapping {column: family} for some columns (name or index), or a list, one for every column; a family is
    "gaussian", "poisson", … or a Family.

    Parameters
    ----------
    families : "auto", a mapping or a list
    priors : (K,), default the classes' shares
    alpha : virtual rows of every level in every class (categorical, bernoulli), and of the column's mean in a class
        of nothing but zeros (poisson, exponential). A level unseen in training is legal at prediction and has the
        probability of a level seen no times, α / (n_kj + α L_j)
    var_smoothing : share of a normal column's own variance added to its variances (GaussianNB's, as scikit-learn's,
        is a share of the largest column's)
    em_tol, em_max_iter : for rows without a label
    class_weight : None, "balanced" or {class: weight}, times the weights of the rows

    Attributes: families_ (a name for each column), parameters_ (a dict for each column, arrays over classes),
    levels_ (of each column, empty for numbers), class_prior_, classes_, verdict_. parameters_ and class_prior_ are
    the state: edits of them predict. A missing cell is left out.

    Examples
    --------
    >>> rows = [["sunny", "warm", 3], ["sunny", "warm", 4], ["rainy", "cold", 1], ["sunny", None, 5]]
    >>> model = NaiveBayes().fit(rows, ["yes", "yes", "no", "yes"])
    >>> model.families_, model.predict([["snowy", "warm", 2]]).tolist()
    (['categorical', 'categorical', 'poisson'], ['yes'])
    """

    families: Any = "auto"
    priors: Any = None
    alpha: float = 1.0
    var_smoothing: float = 1e-9
    em_tol: float = 1e-6
    em_max_iter: int = 500
    class_weight: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.families, (Mapping, list, tuple)) and self.families != "auto":
            raise ValueError(
                f'families must be "auto", a mapping from column to family or a list, got {self.families!r}'
            )
        for column, chosen in self._wanted().items():
            if family(chosen).multivariate:
                name = family(chosen).name
                raise ValueError(
                    f"column {column!r}: {name} is a family of whole rows; see GenerativeClassifier"
                )
        for name in ("alpha", "var_smoothing"):
            value = getattr(self, name)
            if not (is_positive(value, finite=True) or (not isinstance(value, bool) and value == 0)):
                raise ValueError(f"{name} must be a number, 0 or more, got {value!r}")

    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        known = None if reset else self._encoding
        self._encoding: Encoding = Encoding.learn(self, X) if known is None else known.extended(self, X)
        cells = self._encoding.encode(self, X)
        refuse_infinite(self, cells)
        if reset:
            self._choose(cells)
        self._parts = [
            copy(part) for part in self._parts
        ]  # those of a fit that may be refused stay as they are
        for part in self._parts:
            if isinstance(part, LevelsPart):
                part.least = [max(1, len(self._encoding.columns[j].levels)) for j in part.columns]
        self.levels_ = [c.levels for c in self._encoding.columns]
        self._refuse_cells(cells, 0)
        return cells

    def _read_for_prediction(self, X: Any) -> np.ndarray:
        cells = self._encoding.encode(self, X)
        refuse_infinite(self, cells)
        for part, wrong in self._outside(cells):
            wrong[:, self._given] = False  # there the family was the user's word: refused below
            if wrong.any():
                i, j = (int(v[0]) for v in np.nonzero(wrong))
                what = f"column {column_name(self, j)}, row {i} holds {cells[i, j].item()!r}"
                warn(
                    f"{what}, which {part.family.name}, chosen by the training values, does not allow: left out, as "
                    f"a missing cell is ({int(wrong.sum())} in all); name a family for the column (families={{…}})",
                )
                cells = np.where(wrong, np.nan, cells)
        self._refuse_cells(cells, 0)
        return cells

    def _wanted(self) -> dict[Any, Any]:
        """The families the user named, by column."""
        if isinstance(self.families, Mapping):
            return dict(self.families)
        return dict(enumerate(self.families)) if isinstance(self.families, (list, tuple)) else {}

    def _choose(self, cells: np.ndarray) -> None:
        """A family for every column, and a part for every family."""
        given = self._wanted()
        names = [c.name for c in self._encoding.columns]
        if isinstance(self.families, (list, tuple)) and len(given) != len(names):
            raise ValueError(
                f"families lists {len(given)} families for {len(names)} columns: give one for each"
            )
        for column in given:
            if column not in names and column not in range(len(names)):
                raise ValueError(f"families names column {column!r}, which the table does not have")
        chosen: list[Family] = []
        for j, column in enumerate(self._encoding.columns):
            automatic = "categorical" if column.kind == "category" else _by_support(cells[:, j], column.kind)
            chosen.append(family(given.get(column.name, given.get(j, automatic))))
            if column.kind == "category" and chosen[j].name != "categorical":
                raise ValueError(
                    f"column {column_name(self, j)} holds words: {chosen[j].name} is a family of numbers"
                )
        self.families_ = [f.name for f in chosen]
        self._given = np.array([n in given or j in given for j, n in enumerate(names)], dtype=bool)
        laplace = Smoothing(self.alpha, True, None, "dirichlet")
        self._parts = []
        for f in dict.fromkeys(chosen):
            part: Part
            match f.name:
                case "categorical":
                    part = LevelsPart(laplace, 1)
                case "bernoulli":
                    part = BernoulliPart(laplace, None)
                case "gaussian" if getattr(f, "variance", None) is None:
                    part = NormalPart("none", self.var_smoothing)
                case _:
                    part = FamilyPart(f, self.alpha)
            part.columns, part.family = np.flatnonzero([g == f for g in chosen]), f
            self._parts.append(part)

    def _refuse_cells(self, cells: np.ndarray, start: int) -> None:
        for part, wrong in self._outside(cells):
            wanted = "a level 0, 1, 2, …" if part.family.name == "categorical" else part.family.support
            self._refuse_where(wrong, cells, start, f"{wanted}, as {part.family.name} needs")

    def _outside(self, cells: np.ndarray) -> Iterator[tuple[Part, np.ndarray]]:
        """Which cells lie outside the support of their column's family, family by family."""
        for part in self._parts:
            mine, words = cells[:, part.columns], part.family.name == "categorical"
            wrong = np.zeros(cells.shape, dtype=bool)
            fractions = (np.floor(mine) != mine) & (mine == mine) if words else part.family.outside(mine)
            wrong[:, part.columns] = fractions
            yield part, wrong

    def _join(self, other: Any) -> Facts:
        """Levels of both models side by side; the other's facts in the new numbering."""
        if self.families_ != other.families_:
            raise ValueError(f"cannot merge: families are {self.families_} here and {other.families_} there")
        merged = self._encoding.merged(other._encoding)
        found = []
        for model in (self, other):
            places = merged.recode(model._encoding)
            parts = zip(model._parts, model._facts_seen.of_x.parts, strict=True)
            moved = tuple(
                s.recode([places[j] for j in p.columns]) if hasattr(s, "recode") else s for p, s in parts
            )
            found.append(Facts(model._facts_seen.weight, Parts(moved)))
        self._encoding, self._facts_seen = merged, found[0]
        self.levels_ = [c.levels for c in merged.columns]
        return found[1]

    def _solve(self, facts: Facts, findings: Findings) -> tuple[float, float]:
        for part in self._parts:
            mine = np.isin(np.arange(len(self.families_)), part.columns)
            findings.append(f"{part.family.name}: {self._columns(mine)}")
        return super()._solve(facts, findings)

    def _publish(self) -> None:
        self.parameters_: list[Any] = [None] * len(self.families_)
        for part in self._parts:
            for i, j in enumerate(part.columns.tolist()):
                self.parameters_[j] = part.parameters(i)

    def _live_parts(self) -> list[Any]:
        return [part.at_parameters([self.parameters_[j] for j in part.columns]) for part in self._parts]

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        words = any(self.levels_)
        out = np.empty((n, len(self.families_)), dtype=object if words else np.float64)
        for part in self._parts:
            out[:, part.columns] = part.draw(k, n, rng)
        if words:
            for j, column in enumerate(self._encoding.columns):
                whole = column.kind == "whole" and self.families_[j] in ("poisson", "categorical")
                kind = bool if column.kind == "boolean" else int if whole else float
                levels = column.levels
                out[:, j] = [levels[int(v)] if levels else kind(v) for v in out[:, j]]
        discrete = {"poisson", "bernoulli", "categorical"}
        whole = all(c.kind in ("whole", "boolean") for c in self._encoding.columns)
        return out.astype(np.int64) if whole and discrete.issuperset(self.families_) else out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.classifier_tags.poor_score = True
        return tags


def _by_support(column: FloatArray, kind: str) -> str:
    """The family of a numeric column, from its type and values."""
    seen = column[~np.isnan(column)]
    if kind == "number" and 0 < len(seen) < len(column) and (seen == np.floor(seen)).all():
        kind = "whole"  # pandas stores whole numbers beside an empty cell as fractions
    if kind == "boolean" or (len(seen) and np.isin(seen, (0.0, 1.0)).all()):
        return "bernoulli"
    if len(seen) and kind == "whole" and seen.min() >= 0 and seen.var() <= OVERDISPERSED * seen.mean():
        return "poisson"
    if len(seen) and np.ptp(seen) > 0 and seen.min() > 0:
        return "beta" if seen.max() < 1 else "gamma"
    return "gaussian"
