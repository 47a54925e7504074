"""Bagging:  h(x) = vote or mean of h_1(x) … h_B(x), each fitted to a bootstrap replicate of the data.

    D_b = m rows drawn from D with replacement;   classification  argmax_k (1/B) Σ_b P_b(k | x)   (or most votes)
                                                  regression      (1/B) Σ_b h_b(x)
    out of bag: a row is judged by the bags that did not draw it, about (1 − 1/n)ⁿ ≈ 37 % of them

It takes variance away and leaves bias: unstable learners gain (trees), stable ones do not (linear discriminants).
Notes [6321] "Bagging: Bootstrap aggregation", "Estimated bias and variance of bagging"; Breiman (1996). Row E3 of the
specification. Cost: B fits of the base learner; logistic regressions in one batch, trees on columns binned once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.door import is_dask
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.data.rows import over_rows
from separatrix.data.side_by_side import total_of
from separatrix.data.sources import TableLike
from separatrix.models.base import Classifier
from separatrix.models.ensemble.bags.base import Bagging, Targets
from separatrix.models.ensemble.bags.out_of_bag import left_out, mean_interval, share_interval
from separatrix.models.ensemble.bags.plan import Plan
from separatrix.models.ensemble.bags.votes import LinearVotes, share_of
from separatrix.models.ensemble.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from separatrix.models.ensemble.members import Shares
from separatrix.models.ensemble.tree_limits import is_word
from separatrix.models.parameters import check_class_weight, read_any_classes, row_weights, threads

VOTING = ("soft", "hard")


@constructor
class BaggingClassifier(Shares, Classifier, Bagging):
    """argmax_k (1/B) Σ_b P_b(k | x) over B learners, each fitted to a bag of m rows drawn with replacement.

    Notes [6321] "Bagging: Bootstrap aggregation"; row E3. Parameters have scikit-learn's names, meanings, defaults.

    Parameters
    ----------
    estimator : the base learner, any classifier; None is a full :class:`~separatrix.DecisionTreeClassifier`
    n_estimators : B, how many bags
    max_samples : m, rows a bag: None for as many as there are, a whole number, or a share in (0, 1] of the rows (of
        the weights' sum, which counts repeated rows)
    max_features : columns a bag, a whole number or a share in (0, 1]
    bootstrap : whether rows are drawn with replacement; without, they keep their weights
    bootstrap_features : whether columns are drawn with replacement
    oob_score : whether every row is judged by the bags it is not in
    warm_start : add bags to those of the last fit
    n_jobs : threads; None uses all cores this process may use
    random_state : seed of the bags; bag b depends on (seed, b) alone
    verbose : 1 prints a line a bag to standard error
    voting : "soft" averages probabilities where the learner has them, "hard" counts votes
    class_weight : None, "balanced" or a dictionary: factors of the rows' weights, by which rows are drawn (without
        replacement: by which they weigh)

    Attributes
    ----------
    estimators_ : the learners, each with the ``random_state`` of its own; predictions go through this list and read
        the learners as they stand. ``len(model)``, ``model[3]``, iteration
    estimators_samples_, estimators_features_ : the rows and the columns of each bag
    classes_, n_classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    oob_score_ : the share of rows judged right by the bags they are not in
    oob_decision_function_ : (n, K) mean vote of those bags; NaN for a row that is in every bag
    verdict_ : how the bags were made, the worst gap of their own verdicts, the out-of-bag error and its interval

    Notes
    -----
    A learner that takes ``sample_weight`` is fitted to all rows with the bag's counts as weights; others get the rows
    drawn. :class:`~separatrix.LogisticRegression` on dense rows is fitted as one batch, trees of this library on
    columns read once. Cost: B fits, O(npKB) a sweep for the batch.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BaggingClassifier(LogisticRegression(), 20, oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 2), model.verdict_.status, model.verdict_.gap < 1e-10
    (0.96, 'optimal', True)
    """

    _: KW_ONLY
    voting: str = "soft"
    class_weight: Any = None

    _oob_name = "oob_decision_function_"

    def predict(self, X: TableLike) -> np.ndarray:
        """The class of the largest mean probability, or of most votes."""
        winners = self._winners(X)
        return np.asarray(self.classes_[winners])

    def predict_proba(self, X: TableLike) -> FloatArray:
        """(1/B) Σ_b P_b(k | x), or the share of votes: (n, K)."""
        shares = self._shares(X)
        return shares / shares.sum(axis=1, keepdims=True)

    @available_if(lambda self: self.voting == "soft" and hasattr(self._first(), "decision_function"))
    def decision_function(self, X: TableLike) -> FloatArray:
        """(1/B) Σ_b of the learners' scores (soft voting); every bag must have met every class."""
        self._voters()
        cells = self._read(X, self.estimator_, reset=False)
        if self._lacking():
            raise ValueError(
                f"{self._lacking()} bags missed a class and have no score for it: use predict_proba, which votes"
            )

        def one(b: int) -> tuple[FloatArray, None]:
            return self.estimators_[b].decision_function(self._columns_of(cells, b)), None

        like = one(0)[0]
        mean = total_of(one, len(self.estimators_), like.shape) / len(self.estimators_)
        return np.asarray(mean, dtype=like.dtype)

    # ---- what the bags share out ----

    def _base(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _first(self) -> Any:
        return self.estimators_[0] if getattr(self, "estimators_", None) else self._base()

    def _targets(self, y: Any, weight: FloatArray | None, n: int) -> Targets:
        if self.voting not in VOTING:
            raise ValueError(
                f'voting {self.voting!r} is unknown: use "soft" (mean probabilities) or "hard" (votes)'
            )
        if is_word(self.class_weight, "balanced_subsample"):
            raise ValueError(
                'class_weight "balanced_subsample" is for forests: here give the base learner class_weight="balanced"'
                ", which balances every bag anew"
            )
        check_class_weight(self.class_weight)
        self.classes_, codes, totals = read_any_classes(y, weight, n)
        self.n_classes_ = len(self.classes_)
        drawn_by = row_weights(self.class_weight, self.classes_, codes, totals, weight)
        return Targets(self.classes_[codes], codes, drawn_by)

    @property
    def _votes(self) -> LinearVotes | None:
        """Logistic regressions as one product, where the learners are that, as they stand."""
        return LinearVotes.of(self.estimators_, self.classes_) if self._whole_tables() else None

    def _soft(self, model: Any) -> bool:
        return self.voting == "soft" and hasattr(model, "predict_proba")

    def _share_of(self, b: int, cells: Any) -> FloatArray:
        """What bag b gives each class (n, K)."""
        model = self.estimators_[b]
        return share_of(model, self._columns_of(cells, b), self.classes_, self._soft(model), b)

    def _winners(self, X: TableLike) -> np.ndarray:
        return np.asarray(self._shares(X).argmax(axis=1))

    def _shares(self, X: TableLike) -> FloatArray:
        """Σ_b of what the bags give each class (n, K)."""
        self._voters()
        cells = self._read(X, self.estimator_, reset=False)
        shape = (int(cells.shape[0]), len(self.classes_))
        with threads(self.n_jobs):
            votes, soft = self._votes, self.voting == "soft"
            if votes is not None:
                return over_rows(
                    lambda part: votes.shares(part, soft), self.estimators_[0]._read_for_prediction(cells)
                )
            forest = self._forest if soft else None
            if forest is not None:
                return forest.mean(self.estimators_[0]._read_for_prediction(cells))
            total = total_of(lambda b: (self._share_of(b, cells), None), len(self.estimators_), shape)
        return np.asarray(total)

    def _lacking(self) -> int:
        return sum(len(getattr(m, "classes_", self.classes_)) < len(self.classes_) for m in self.estimators_)

    def _left_out(self, plan: Plan, kept: Index) -> tuple[FloatArray, FloatArray]:
        votes = self._votes
        if votes is not None:
            return votes.left_out(plan.draws, kept, plan.X, self.voting == "soft")
        return left_out(plan, kept, self._share_of, (len(self.classes_),))

    def _score_left_out(self, plan: Plan, said: FloatArray, seen: FloatArray, weight: FloatArray) -> str:
        assert plan.codes is not None
        judged = seen > 0
        self.oob_score_ = float(np.average(said.argmax(axis=1) == plan.codes[judged], weights=weight))
        low, high = share_interval(1 - self.oob_score_, float(weight.sum() ** 2 / np.sum(weight * weight)))
        return (
            f"out of bag: error {1 - self.oob_score_:.4g} (95 % interval {low:.4g} to {high:.4g}) on "
            f"{len(said):,} rows, each judged by {seen[judged].mean():.3g} bags on average"
        )


class BaggingRegressor(RegressorMixin, Bagging):
    """(1/B) Σ_b h_b(x) over B learners, each fitted to a bag of m rows drawn with replacement.

    Notes [6321] "Bagging: Bootstrap aggregation"; row E3. Parameters have scikit-learn's names, meanings, defaults.

    Parameters
    ----------
    estimator : the base learner, any regression; None is a full :class:`~separatrix.DecisionTreeRegressor`
    n_estimators, max_samples, max_features, bootstrap, bootstrap_features, oob_score, warm_start, n_jobs, \
random_state, verbose : as in :class:`BaggingClassifier`

    Attributes
    ----------
    estimators_, estimators_samples_, estimators_features_ : the learners, the rows and the columns of each bag
    oob_score_ : R² of the predictions by the bags a row is not in
    oob_prediction_ : (n,) those predictions; NaN for a row that is in every bag
    verdict_ : how the bags were made, and the out-of-bag error with its interval

    Notes
    -----
    Cost: B fits of the base learner.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> X, y = make_friedman1(300, random_state=0)
    >>> model = BaggingRegressor(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    >>> bool(model.oob_score_ > 0.7), model.verdict_.status
    (True, 'no claim')
    """

    def predict(self, X: TableLike) -> FloatArray:
        """The mean of the bags' predictions."""
        self._voters()
        cells = self._read(X, self.estimator_, reset=False)
        with threads(self.n_jobs):
            forest = self._forest
            if forest is not None:
                return forest.mean(self.estimators_[0]._read_for_prediction(cells))[:, 0]
            shape = (int(cells.shape[0]), *self._outputs)
            kinds: list[DTypeLike] = [float] * len(self.estimators_)

            def one(b: int) -> tuple[FloatArray, None]:
                said = self._said(b, cells)
                kinds[b] = said.dtype
                return said, None

            total = total_of(one, len(self.estimators_), shape)
        kind = np.result_type(*kinds)  # float32 where every learner keeps it
        return np.asarray(total / len(self.estimators_), dtype=kind if kind.kind == "f" else float)

    def _base(self) -> Any:
        return DecisionTreeRegressor() if self.estimator is None else self.estimator

    def _targets(self, y: Any, weight: FloatArray | None, n: int) -> Targets:
        if y is None:
            raise ValueError(
                "this estimator requires y to be passed, but the target y is None: give a number a row"
            )
        values = np.asarray(y.compute() if is_dask(y) else y)
        if values.ndim != 2 or values.shape[1] == 1:
            values = column_or_1d(values, warn=True)
        if len(values) != n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {len(values)}"
            )
        if values.dtype.kind not in "fiub":
            values = values.astype(np.float64)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            i = int(np.argwhere(~np.isfinite(values))[0][0])
            what = "NaN" if np.isnan(values[i]).any() else "infinity"
            raise ValueError(f"Input y contains {what}: row {i} has no finite number; drop such rows")
        self._outputs = values.shape[1:]
        return Targets(values, None, weight)

    def _said(self, b: int, cells: Any) -> FloatArray:
        said = np.asarray(self.estimators_[b].predict(self._columns_of(cells, b)))
        return said.reshape(len(said), *self._outputs)

    def _left_out(self, plan: Plan, kept: Index) -> tuple[FloatArray, FloatArray]:
        return left_out(plan, kept, self._said, self._outputs)

    def _score_left_out(self, plan: Plan, said: FloatArray, seen: FloatArray, weight: FloatArray) -> str:
        from sklearn.metrics import r2_score

        y = plan.y[seen > 0]
        self.oob_score_ = float(r2_score(y, said, sample_weight=weight)) if len(y) > 1 else float("nan")
        square = (np.asarray(y, dtype=float) - said) ** 2
        mean, low, high = mean_interval(square if square.ndim == 1 else square.mean(axis=1), weight)
        return (
            f"out of bag: mean squared error {mean:.4g} (95 % interval {low:.4g} to {high:.4g}) on {len(y):,} rows, "
            f"R² {self.oob_score_:.4g}"
        )
