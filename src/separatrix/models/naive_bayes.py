"""Naive Bayes:  log p(x, k) = log π_k + Σ_j log p(x_j | θ_kj), columns independent within a class ([726], [6867] 3.1.2).

    GaussianNB      x_j ~ N(μ_kj, σ²) with σ_kj, σ_j, σ_k or σ           linear when σ does not depend on k
    BernoulliNB     x_j ∈ {0, 1}                                         linear
    MultinomialNB   x a bag of counts, θ_k a distribution over columns   linear
    CategoricalNB   x_j a level 0 … L_j − 1
    NaiveBayes      a family of its own for every column, from a frame as it is

Smoothing is a number of virtual rows added to the counts before they are divided: ``alpha`` of each level
(Laplace: 1), or ``smoothing=("beta", a, b)`` and ``("dirichlet", a)`` for the MAP estimate under that prior, or
``("m", m, Q)`` for m virtual rows drawn from Q ("uniform", "marginal" = all classes together, or numbers).

Shapes: X (n, p), K classes. Cost: one sweep, O(np); prediction O(npK).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.core.grouped import GroupCounts, GroupMoments, GroupSums, Members
from separatrix.core.linear import LinearRule
from separatrix.core.numerics import FloatArray
from separatrix.data.counts import class_sums, log_shares, scores
from separatrix.data.door import is_positive, read_for_prediction, refuse_not_finite
from separatrix.data.rows import Block
from separatrix.models.generative import Facts, Generative

FAR_APART = 1e3  # distance of class means in units of spread beyond which squares are taken class by class
TIES = ("none", "class", "feature", "both")


class LinearForm:
    """β_k·x + γ_k, the log of p(x, k) up to what all classes share; for two classes the difference of the two."""

    rule_: LinearRule

    def _set_linear(self, beta: FloatArray, gamma: FloatArray) -> None:
        if len(beta) == 2:
            beta, gamma = beta[1:] - beta[:1], gamma[1:] - gamma[:1]
        self.coef_, self.intercept_ = beta, gamma
        self.rule_ = LinearRule(beta[0], float(gamma[0])) if len(beta) == 1 else LinearRule(beta, gamma)


class GaussianNB(LinearForm, Generative):
    """p(x | k) = Π_j N(x_j; μ_kj, σ²), σ tied over classes, columns, both or neither ([726], G7).

    ``tie="none"``: σ_kj; ``"class"``: σ_j, the same in all classes, and the separator is linear (``coef_``,
    ``intercept_``, ``rule_``); ``"feature"``: σ_k; ``"both"``: one σ, linear again.

    Parameters
    ----------
    priors : (K,), default the classes' shares
    var_smoothing : this share of a column's own variance is added to its variances (so that a change of unit
        changes nothing; scikit-learn adds a share of the largest column's)
    tie : see above
    em_tol, em_max_iter : for rows without a label (−1, or None/NaN): EM stops when the mean log likelihood
        rises by less than em_tol

    Attributes: theta_ (K, p) means, var_ (K, p) variances, class_prior_, class_count_, epsilon_ (p,), classes_,
    verdict_. Cost: one pass.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 5.0], [2.0, 7.0], [10.0, 5.0], [12.0, np.nan]])
    >>> model = GaussianNB(tie="class").fit(X, ["a", "a", "b", "b"])
    >>> model.theta_.tolist(), model.predict([[9.0, np.nan]]).tolist()
    ([[1.0, 6.0], [11.0, 5.0]], ['b'])
    """

    def __init__(
        self,
        *,
        priors: Any = None,
        var_smoothing: float = 1e-9,
        tie: str = "none",
        em_tol: float = 1e-6,
        em_max_iter: int = 500,
    ):
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.tie = tie
        self.em_tol = em_tol
        self.em_max_iter = em_max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.tie not in TIES:
            raise ValueError(f"tie must be one of {', '.join(map(repr, TIES))}, got {self.tie!r}")
        if not (self.var_smoothing == 0 or is_positive(self.var_smoothing, finite=True)):
            raise ValueError(f"var_smoothing must be a number, 0 or more, got {self.var_smoothing!r}")

    def _block_facts(self, block: Block, k: int) -> Facts:
        """Plain sums over the block where they keep their digits; else centred, tile by tile."""
        first, second, count = np.zeros((k, block.X.shape[1])), np.zeros((k, block.X.shape[1])), np.zeros(k)
        buffer: FloatArray | None = None
        with np.errstate(all="ignore"):
            for part in block.tiles(block.X.shape[1]):
                weight = None if block.weight is None else block.weight[part]
                members = Members(k, codes=block.y[part], weight=weight)
                cells = block.X[part].astype(np.float64, copy=False)
                buffer = np.empty_like(cells, order="C") if buffer is None else buffer
                count += members.count
                first += members.sum(cells)
                second += members.sum(np.multiply(cells, cells, out=buffer[: len(cells)]))
        moments = GroupMoments.of_sums(count, first, second)
        return super()._block_facts(block, k) if moments is None else Facts(count, moments)

    def _facts(self, cells: np.ndarray, members: Members) -> GroupMoments:
        return GroupMoments.centred(cells, members)

    def _solve(self, facts: Facts, findings: list[str]) -> tuple[float, float]:
        moments: GroupMoments = facts.of_x
        pooled = moments.pooled()
        silent = (pooled.weight[0] == 0) | (
            pooled.second[0] <= pooled.weight[0] * (1e-15 * pooled.mean[0]) ** 2
        )
        weight, second, mean = moments.weight, moments.second, moments.mean.copy()
        never = (weight == 0) & (pooled.weight > 0) & (facts.weight > 0)[:, None]
        if (
            never.any()
        ):  # all of a class's cells missing in a column: what is known is the column's own spread
            findings.append(
                f"no value in some class of {self._columns(never.any(axis=0))}: all classes' used there"
            )
            mean = np.where(never, pooled.mean, mean)
            second = np.where(never, pooled.variance, second)
            weight = np.where(never, 1.0, weight)
        axes = {"none": (), "class": (0,), "feature": (1,), "both": (0, 1)}[self.tie]
        live = (~silent)[None, :] & (facts.weight > 0)[:, None]
        with np.errstate(all="ignore"):
            over = np.sum(np.where(live, second, 0.0), axis=axes, keepdims=True)
            variance = over / np.sum(np.where(live, weight, 0.0), axis=axes, keepdims=True)
            self.epsilon_ = self.var_smoothing * np.where(silent, 0.0, pooled.variance[0])
            smooth = (
                self.epsilon_ if self.tie in ("none", "class") else float(np.mean(self.epsilon_[~silent]))
            )
            variance = np.broadcast_to(variance + smooth, mean.shape)
        if silent.any():
            findings.append(f"{self._columns(silent)} constant or missing throughout: says nothing")
        flat = live & ~(variance > 0)
        if flat.any():
            findings.append(
                f"variance 0 in a class in {self._columns(flat.any(axis=0))}: raise var_smoothing, which is "
                f"{self.var_smoothing:g}"
            )
        tiny = np.finfo(float).tiny
        self.theta_ = np.where(silent & (pooled.weight == 0), 0.0, mean)
        self.var_ = np.where(live, np.maximum(variance, tiny), 1.0)
        if self.var_smoothing:
            findings.append(f"each variance raised by {self.var_smoothing:g} of its column's")
        self._prepare(np.where(silent, self.theta_[0], pooled.mean[0]), silent)
        for name in ("coef_", "intercept_", "rule_"):
            self.__dict__.pop(name, None)
        if self.tie in ("class", "both"):
            self._set_linear(
                self.theta_ / self.var_, -0.5 * np.sum(self.theta_**2 / self.var_, axis=1) + self._log_prior
            )
        with np.errstate(all="ignore"):
            spread = np.where(live, second + weight * (self.theta_ - mean) ** 2, 0.0)
            losses = 0.5 * (weight * np.log(2 * np.pi * self.var_) + spread / self.var_)
            total = float(np.sum(losses[live])) / facts.weight.sum()
            ratio = np.sum(np.where(live, second / self.var_, 0.0), axis=axes) / np.sum(
                np.where(live, weight, 0.0), axis=axes
            )
            residual = float(np.nanmax(np.abs(ratio - 1.0), initial=0.0)) if self.var_smoothing == 0 else 0.0
        return residual, total

    def _prepare(self, centre: FloatArray, silent: np.ndarray) -> None:
        """What prediction needs: log N = a z² + b z + c in z = x − centre."""
        self._centre, self._silent = centre, silent
        offset = self.theta_ - centre
        self._square = np.where(silent, 0.0, -0.5 / self.var_)
        self._slope = np.where(silent, 0.0, offset / self.var_)
        self._constant = np.where(silent, 0.0, -0.5 * (offset**2 / self.var_ + np.log(2 * np.pi * self.var_)))
        distance = np.where(silent, 0.0, np.abs(offset) / np.sqrt(self.var_))
        self._far = bool(np.max(distance, initial=0.0) > FAR_APART)

    def _log_density(self, cells: Any) -> FloatArray:
        z = np.subtract(cells, self._centre, dtype=np.float64)
        constant = self._constant.sum(axis=1)
        if np.isnan(z.sum()):
            present = ~np.isnan(z)
            z[~present] = 0.0
            constant = present @ self._constant.T
            if self._far:
                return np.stack([self._exact(cells, k, present) for k in range(len(self.theta_))], axis=1)
        if self._far:
            return np.stack([self._exact(cells, k, True) for k in range(len(self.theta_))], axis=1)
        out = np.dot(z, self._slope.T)
        np.multiply(z, z, out=z)
        out += np.dot(z, self._square.T)
        out += constant
        return out

    def _exact(self, cells: Any, k: int, present: Any) -> FloatArray:
        """One class, its own mean subtracted first: classes a thousand spreads apart."""
        with np.errstate(invalid="ignore"):
            z = np.subtract(cells, self.theta_[k], dtype=np.float64)
            losses = 0.5 * (z * z / self.var_[k] + np.log(2 * np.pi * self.var_[k]))
        return -np.sum(np.where(present & ~self._silent, losses, 0.0), axis=1)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(self.theta_[k], np.sqrt(self.var_[k]), size=(n, self.n_features_in_))


class CountsNB(Generative):
    """What naive Bayes on counts shares: smoothing by virtual rows, and the words for it."""

    _has_scores = False
    _levels = "dirichlet"
    _positive = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._virtual_rows(np.full(2, 0.5), 0)
        alpha = np.asarray(self.alpha)  # type: ignore[attr-defined]
        if alpha.dtype.kind not in "fiub" or not (alpha >= 0).all():
            raise ValueError(f"alpha must be a number, 0 or more, got {self.alpha!r}")  # type: ignore[attr-defined]

    def _virtual_rows(self, marginal: FloatArray, column: Any) -> FloatArray:
        """What is added to the count of each level; ``marginal`` is the share of each level in all classes."""
        smoothing, alpha = self.smoothing, np.asarray(self.alpha, dtype=float)  # type: ignore[attr-defined]
        if smoothing is None:
            if not self.force_alpha:  # type: ignore[attr-defined]
                alpha = np.maximum(alpha, 1e-10)
            if alpha.ndim and alpha.shape != (getattr(self, "n_features_in_", len(alpha)),):
                raise ValueError(
                    "When alpha is an array, it should contains `n_features`. Got "
                    f"{alpha.shape[0]} elements instead of {self.n_features_in_}."
                )
            return np.full(len(marginal), alpha[column] if alpha.ndim else alpha)
        match smoothing:
            case ("beta", a, b) if self._levels == "beta" and is_positive(a) and is_positive(b):
                return np.array([b - 1.0, a - 1.0])
            case ("dirichlet", a) if self._levels == "dirichlet" and np.all(np.asarray(a) > 0):
                return np.broadcast_to(np.asarray(a, dtype=float) - 1.0, marginal.shape)
            case ("m", m, "uniform" | "marginal" as q) if is_positive(m):
                return m * (marginal if q == "marginal" else np.full(len(marginal), 1.0 / len(marginal)))
            case ("m", m, q) if is_positive(m) and not isinstance(q, str):
                share = np.asarray(q, dtype=float)
                if self._levels == "beta":
                    share = share[column] if share.ndim else share
                    return m * np.array([1.0 - share, share])
                return m * np.broadcast_to(share, marginal.shape)
        offered = '("beta", a, b)' if self._levels == "beta" else '("dirichlet", a)'
        raise ValueError(
            f'smoothing must be None (then alpha counts), {offered} or ("m", m, Q) with positive numbers and Q '
            f'"uniform", "marginal" or shares; got {smoothing!r}'
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # scikit-learn's toy data are not counts
        tags.input_tags.positive_only = self._positive
        tags.input_tags.categorical = type(self).__name__ == "CategoricalNB"
        tags.input_tags.allow_nan = type(self).__name__ != "MultinomialNB"
        return tags

    def _smoothing_words(self) -> str:
        if self.smoothing is None:  # type: ignore[attr-defined]
            return f"smoothing: {np.max(self.alpha):g} virtual rows of every level in every class"  # type: ignore[attr-defined]
        return f"smoothing: {self.smoothing}"  # type: ignore[attr-defined]


class BernoulliNB(LinearForm, CountsNB):
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

    _sparse = True
    _levels = "beta"
    _positive = False

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        smoothing: Any = None,
        em_tol: float = 1e-6,
        em_max_iter: int = 500,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.smoothing = smoothing
        self.em_tol = em_tol
        self.em_max_iter = em_max_iter

    def _ones(self, cells: Any) -> Any:
        """Cells as 0 and 1, NaN kept."""
        if not isinstance(cells, np.ndarray):
            if self.binarize is not None and self.binarize < 0:
                raise ValueError(
                    "a negative binarize makes every zero of a sparse table a one: use .toarray()"
                )
            kept = cells.copy()
            kept.data = (kept.data > (self.binarize or 0.0)).astype(np.float64)
            return kept
        if self.binarize is None:
            return cells.astype(np.float64, copy=False)
        ones = (cells > self.binarize).astype(np.float64)
        if cells.dtype.kind == "f" and np.isnan(cells.sum()):
            ones[np.isnan(cells)] = np.nan
        return ones

    def _refuse_cells(self, cells: np.ndarray, start: int) -> None:
        if self.binarize is None:
            self._refuse_where(
                (cells != 0) & (cells != 1) & ~np.isnan(cells), cells, start, "0 or 1 (binarize=None)"
            )

    def _facts(self, cells: Any, members: Members) -> GroupSums:
        ones = self._ones(cells)
        if not isinstance(ones, np.ndarray):
            return GroupSums(
                class_sums(ones, members), np.repeat(members.count[:, None], ones.shape[1], axis=1)
            )
        present = ~np.isnan(ones)
        weight = members.sum(present.astype(np.float64))
        return GroupSums(members.sum(np.where(present, ones, 0.0)), weight)

    def _solve(self, facts: Facts, findings: list[str]) -> tuple[float, float]:
        n1, n = facts.of_x.value, facts.of_x.weight
        with np.errstate(all="ignore"):
            q = n1.sum(axis=0) / n.sum(axis=0)
            q = np.where(np.isnan(q), 0.5, q)
            if self.smoothing is None:
                add1 = add0 = self._virtual_rows(np.ones(n1.shape[1]), slice(None))
            else:
                add0, add1 = np.array(
                    [self._virtual_rows(np.array([1 - v, v]), j) for j, v in enumerate(q)]
                ).T
            theta = (n1 + add1) / (n + add0 + add1)
            theta = np.where(np.isnan(theta), q, theta)
            self.feature_count_ = n1
            self.feature_log_prob_ = np.log(theta)
            self._log_not = np.log1p(-theta)
            self._not_certain = np.isfinite(self.feature_log_prob_).all() and np.isfinite(self._log_not).all()
            self.class_log_prior_ = self._log_prior
            odds = self.feature_log_prob_ - self._log_not
            self._set_linear(odds, self._log_not.sum(axis=1) + self._log_prior)
            self._theta, self._odds = theta, np.ascontiguousarray(odds.T)
            losses = n1 * self.feature_log_prob_ + (n - n1) * self._log_not
            residual = float(np.nanmax(np.abs(np.exp(self.feature_log_prob_) - theta), initial=0.0))
        seen = ((n1 == 0) | (n1 == n)) & (facts.weight > 0)[:, None]
        findings.append(self._smoothing_words())
        if seen.any():
            findings.append(
                f"{int(seen.sum())} of {seen.size} class–column pairs were never seen as both 0 and 1"
            )
        return residual, -float(np.nansum(losses)) / facts.weight.sum()

    def _log_density(self, cells: Any) -> FloatArray:
        ones = self._ones(cells)
        if not isinstance(ones, np.ndarray) and self._not_certain:
            return scores(ones, self._odds) + self._log_not.sum(axis=1)
        ones = ones if isinstance(ones, np.ndarray) else ones.toarray()
        missing = np.isnan(ones)
        if not missing.any() and self._not_certain:
            return np.dot(ones, self._odds) + self._log_not.sum(axis=1)
        with np.errstate(invalid="ignore"):  # a certainty, θ = 0 or 1: −inf where it is contradicted, not NaN
            yes = np.where(ones[:, None, :] == 1, self.feature_log_prob_, self._log_not)
        return np.where(missing[:, None, :], 0.0, yes).sum(axis=2)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return (rng.random((n, self.n_features_in_)) < self._theta[k]).astype(np.float64)

    def _log_prior_density(self) -> float:
        if self.smoothing is not None:
            return 0.0
        alpha = np.asarray(self.alpha, dtype=float)
        return float(np.sum(np.where(alpha > 0, alpha * (self.feature_log_prob_ + self._log_not), 0.0)))


class MultinomialNB(LinearForm, CountsNB):
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

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        smoothing: Any = None,
        em_tol: float = 1e-6,
        em_max_iter: int = 500,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.smoothing = smoothing
        self.em_tol = em_tol
        self.em_max_iter = em_max_iter

    def _refuse_cells(self, cells: Any, start: int) -> None:
        data = cells if isinstance(cells, np.ndarray) else cells.data
        if data.size and not (data.min() >= 0 and np.isfinite(data.sum())):
            dense = cells if isinstance(cells, np.ndarray) else cells.toarray()
            refuse_not_finite(self, dense, start)
            self._refuse_where(
                ~(dense >= 0), dense, start, "a count: Negative values in data passed to MultinomialNB"
            )

    def _read_for_prediction(self, X: Any) -> Any:
        return read_for_prediction(self, X)

    def _facts(self, cells: Any, members: Members) -> GroupSums:
        if isinstance(cells, np.ndarray):
            value = members.sum(cells.astype(np.float64, copy=False))
        else:
            value = class_sums(cells, members)
        return GroupSums(value, members.count)

    def _solve(self, facts: Facts, findings: list[str]) -> tuple[float, float]:
        counts = facts.of_x.value
        if self.smoothing is None:
            add = self._virtual_rows(np.ones(counts.shape[1]), slice(None))
        else:
            add = self._virtual_rows(counts.sum(axis=0) / max(counts.sum(), 1e-300), slice(None))
        shares = log_shares(counts, np.broadcast_to(add, (counts.shape[1],)))
        self._weights = shares.weights
        self.feature_count_, self.feature_log_prob_ = counts, self._weights.T
        self.class_log_prior_ = self._log_prior
        self._set_linear(self.feature_log_prob_, self._log_prior)
        findings.append(self._smoothing_words())
        if shares.zeros:
            findings.append(f"{shares.zeros} of {counts.size} class–column pairs were never seen")
        return shares.residual, shares.loss / facts.weight.sum()

    def _log_density(self, cells: Any) -> FloatArray:
        if not isinstance(cells, np.ndarray):
            return scores(cells, self._weights)
        with np.errstate(invalid="ignore"):
            out = np.dot(cells, self._weights)
            if np.isnan(out.sum()):  # 0 · log 0
                out = np.where(cells[:, :, None] == 0, 0.0, cells[:, :, None] * self._weights).sum(axis=1)
        return out

    def _log_base(self, cells: Any) -> FloatArray:
        from scipy.special import gammaln

        rows = cells if isinstance(cells, np.ndarray) else cells.toarray()
        return gammaln(rows.sum(axis=1) + 1.0) - gammaln(rows + 1.0).sum(axis=1)

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        share = np.exp(self.feature_log_prob_[k])
        length = max(1, round(self.feature_count_[k].sum() / max(self.class_count_[k], 1e-300)))
        return rng.multinomial(length, share / share.sum(), size=n).astype(np.float64)

    def _log_prior_density(self) -> float:
        if self.smoothing is not None:
            return 0.0
        alpha = np.broadcast_to(np.asarray(self.alpha, dtype=float), self.feature_log_prob_.shape)
        return float(np.sum(np.where(alpha > 0, alpha * self.feature_log_prob_, 0.0)))


def level_log_shares(table: FloatArray, add: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log θ (K, L + 1) of a table of counts (K, L); the last column is the probability of a level never seen.

    That level is given what a seen level of count zero would be: add / (n_k + Σ add), and with no smoothing a
    probability of one, so that it says nothing.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        total = table.sum(axis=1, keepdims=True) + add.sum()
        seen = np.log((table + add) / total)
        never = np.log(np.mean(add) / total) if add.sum() > 0 else np.zeros_like(total)
    return np.where(np.isnan(seen), -np.log(max(table.shape[1], 1)), seen), np.where(
        np.isfinite(never), never, 0.0
    )


class CategoricalNB(CountsNB):
    """p(x | k) = Π_j θ_kj(x_j),  θ_kj(l) = (n_kjl + α) / (n_kj + α L_j), levels l = 0 … L_j − 1 ([726], G6).

    A level unseen in training is legal at prediction: it gets the probability of a level seen no times,
    α / (n_kj + α L_j). A NaN cell is missing and left out.

    Parameters: alpha, force_alpha, fit_prior, class_prior, min_categories as in scikit-learn; ``smoothing``: see
    the module; em_tol, em_max_iter: see GaussianNB. For columns of words see NaiveBayes.

    >>> import numpy as np
    >>> model = CategoricalNB().fit(np.array([[0], [0], [1], [1]]), [0, 0, 0, 1])
    >>> np.exp(model.feature_log_prob_[0]).round(3).tolist(), model.predict([[7]]).tolist()
    ([[0.6, 0.4], [0.333, 0.667]], [0])
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        smoothing: Any = None,
        em_tol: float = 1e-6,
        em_max_iter: int = 500,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.smoothing = smoothing
        self.em_tol = em_tol
        self.em_max_iter = em_max_iter

    def _refuse_cells(self, cells: np.ndarray, start: int) -> None:
        wrong = (cells < 0) | (cells != np.floor(cells)) & ~np.isnan(cells) | np.isinf(cells)
        self._refuse_where(wrong, cells, start, "a level 0, 1, 2, … (Negative values in data passed to CategoricalNB, "
                           "or fractions; NaiveBayes reads words and Discretizer cuts numbers)")  # fmt: skip

    def _facts(self, cells: np.ndarray, members: Members) -> GroupCounts:
        return GroupCounts.of(cells, members)

    def _solve(self, facts: Facts, findings: list[str]) -> tuple[float, float]:
        least = np.broadcast_to(
            0 if self.min_categories is None else self.min_categories, (self.n_features_in_,)
        )
        pad = GroupCounts(tuple(np.zeros((len(facts.weight), max(int(m), 1))) for m in least))
        self.category_count_ = list((facts.of_x + pad).tables)
        self.n_categories_ = np.array([t.shape[1] for t in self.category_count_])
        self.class_log_prior_ = self._log_prior
        self.feature_log_prob_, self._never, loss, zeros = [], [], 0.0, 0
        for j, table in enumerate(self.category_count_):
            marginal = table.sum(axis=0) / max(table.sum(), 1e-300)
            share, never = level_log_shares(table, self._virtual_rows(marginal, j))
            self.feature_log_prob_.append(share)
            self._never.append(never)
            loss -= float(np.sum(np.where(table > 0, table * share, 0.0)))
            zeros += int(np.count_nonzero(table == 0))
        findings.append(self._smoothing_words())
        if zeros:
            findings.append(f"{zeros} class–level pairs were never seen")
        residual = max(float(np.max(np.abs(np.exp(t).sum(axis=1) - 1.0))) for t in self.feature_log_prob_)
        return residual, loss / facts.weight.sum()

    def _log_density(self, cells: np.ndarray) -> FloatArray:
        out = np.zeros((len(cells), len(self.classes_)))
        for j, share in enumerate(self.feature_log_prob_):
            add_levels(out, cells[:, j], share, self._never[j])
        return out

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.column_stack([_draw_levels(t[k], n, rng) for t in self.feature_log_prob_])

    def _log_prior_density(self) -> float:
        if self.smoothing is not None or not self.alpha:
            return 0.0
        return float(self.alpha * sum(np.sum(t) for t in self.feature_log_prob_))


def add_levels(out: FloatArray, column: FloatArray, share: FloatArray, never: FloatArray) -> None:
    """out += log θ(x) for a column of level numbers; NaN adds nothing, an unseen level its own probability."""
    table = np.hstack([share, never, np.zeros_like(never)]).T
    size = share.shape[1]
    at = np.where(np.isnan(column), size + 1, np.where((column >= 0) & (column < size), column, size))
    out += table[at.astype(np.intp)]


def _draw_levels(log_share: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    share = np.exp(log_share)
    return rng.choice(len(share), size=n, p=share / share.sum()).astype(np.float64)
