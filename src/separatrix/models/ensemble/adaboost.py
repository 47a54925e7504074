"""AdaBoost: weak learners one after another, each on the rows the ones before got wrong ([6321], row E2).

    ε_t = Σ D_t(i) 1[h_t(x_i) ≠ y_i],    α_t = ν/2 (log (1 − ε_t)/ε_t + log(K − 1))
    D_{t+1}(i) = D_t(i) e^{∓α_t} / Z_t   (− where h_t is right),     h(x) = argmax_k Σ_t α_t 1[h_t(x) = k]

With K = 2 and ν = 1 these are the notes' own formulas; with K > 2 they are SAMME (Zhu, Zou, Rosset, Hastie 2009).
scikit-learn's ``estimator_weights_`` are 2α_t: they double every vote and change no prediction.

The bound of the notes, for any K and ν: a row put wrong has at most half of all votes for its class, so that
1[wrong] ≤ exp(−Σ_t α_t s_t), s_t = +1 where h_t is right and −1 where wrong, whose weighted mean is ∏ Z_t.
With K = 2 and ν = 1, Z_t = 2√(ε_t(1 − ε_t)) and ∏ Z_t ≤ exp(−2 Σ (½ − ε_t)²).
"""

from __future__ import annotations

import time
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_regressor
from sklearn.utils import Tags, _safe_indexing, get_tags

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray
from separatrix.data.checks import check_positive
from separatrix.data.columns import Encoding
from separatrix.data.door import is_dask, is_frame, read_table, read_weights
from separatrix.data.estimator import KW_ONLY, constructor
from separatrix.models import parameters
from separatrix.models.ensemble.boosting import Course, boost
from separatrix.models.ensemble.members import refuse_given
from separatrix.models.ensemble.stump import DecisionStump
from separatrix.models.ensemble.weak_learners import AnyLearner, StumpLearner, WeakLearner
from separatrix.models.ensemble.weighted_votes import WeightedVotes
from separatrix.verdict.build import VERIFIED, proven
from separatrix.verdict.verdict import Status, Verdict


class LabelNoiseWarning(UserWarning):
    """A few rows that stay wrong carry most of the weight: they may be mislabelled."""


@constructor
class AdaBoostClassifier(WeightedVotes):
    """h(x) = argmax_k Σ_t α_t 1[h_t(x) = k],  α_t = ½ log((1 − ε_t)/ε_t) ([6321] "AdaBoost"; row E2).

    Two classes as in the notes, K classes by SAMME. Stumps by default, whose search is exact and reads the table once
    a round; any classifier that takes ``sample_weight``, and others by resampling: each round they are given n rows
    drawn by D_t.

    Parameters
    ----------
    estimator : the weak learner; None is :class:`~separatrix.DecisionStump`. For nominal columns give
        ``DecisionStump(categorical_features="from_dtype")``
    n_estimators : T, the most rounds
    learning_rate : ν, factor of every α_t
    random_state : seed of learners that draw, and of resampling
    n_jobs : threads of the stumps' search; None uses all cores this process may use
    keep_weights : whether D_t of every round is kept in ``weights_``
    class_weight : None, "balanced" or a dictionary: factors of the rows' weights in D_1

    Attributes
    ----------
    estimators_ : the weak learners, in turn; ``len(model)``, ``model[3]``, iteration
    estimator_errors_ : (T,) ε_t
    estimator_weights_ : (T,) 2α_t, scikit-learn's scale. Predictions go through ``estimators_`` and these, as they
        stand: learners may be cut off, and votes changed
    alphas_ : (T,) α_t, in the notes' scale: half of estimator_weights_, read-only
    normalizers_ : (T,) Z_t = (1 − ε_t) e^{−α_t} + ε_t e^{α_t}
    train_errors_ : (T,) the training error after each round
    train_error_bound_ : ∏ Z_t, which no training error exceeds; with more than two classes it may pass one
    weights_ : (T, n) D_t, with ``keep_weights``
    hard_rows_ : rows that carry half of the weight over the rounds' second half, heaviest first
    feature_importances_ : (p,) share of all votes that fall to each column
    estimator_, classes_, n_classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    verdict_ : its objective is the mean exponential loss of the training rows, for two classes ∏ Z_t

    Notes
    -----
    ``decision_function`` is f normalised by all votes, between −1 and 1; scikit-learn's, for two classes, is twice
    that. Probabilities are P(k | x) ∝ exp Σ_t 2α_t 1[h_t(x) = k], what the exponential loss estimates (scikit-learn
    takes the normalised f, which draws all towards 1/K); they agree with ``predict`` and overstate after many rounds.

    A learner without error decides alone: its vote is one more than all votes before it, and boosting ends. It ends
    too when no learner has an edge. In the first round that is an error. D_t is counted in whole units of 2⁻⁶², so
    that whole weights are repetition to the bit, and threads change nothing.
    Cost: O(np) bytes a round for stumps, O(stored cells) for words.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, [1, 1, 0, 0, 1, 1])
    >>> model.estimator_errors_.round(3), model.alphas_.round(3)
    (array([0.333, 0.25 , 0.167]), array([0.347, 0.549, 0.805]))
    >>> [str(h) for h in model.estimators_]
    ['x[0] ≤ 1.5 → 1, else 1', 'x[0] ≤ 2.5 → 1, else 0', 'x[0] ≤ 4.5 → 0, else 1']
    >>> model.predict(X).tolist(), round(float(model.margins(X, [1, 1, 0, 0, 1, 1]).min()), 3)
    ([1, 1, 0, 0, 1, 1], 0.054)
    >>> model.verdict_.findings[0]
    'all 3 rounds were run'
    """

    estimator: Any = None
    _: KW_ONLY
    n_estimators: int = 50
    learning_rate: float = 1.0
    random_state: Any = None
    n_jobs: int | None = None
    keep_weights: bool = False
    class_weight: Any = None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> AdaBoostClassifier:
        """Boost on rows X (n, p) and labels y (n,); a weight of 2 means the row stands there twice."""
        began = time.perf_counter()
        self._check_parameters()
        self.estimator_ = DecisionStump() if self.estimator is None else clone(self.estimator)
        self._stumps = isinstance(self.estimator_, DecisionStump)
        with parameters.threads(self.n_jobs):
            read = self._read_stumps if self._stumps else self._read_any
            learner, weight = read(X, y, sample_weight)
            at_work = None if weight is None else weight[learner.rows]
            course = boost(
                learner, len(self.classes_), at_work, self._factor(learner.cls, at_work),
                rounds=int(self.n_estimators), learning_rate=float(self.learning_rate),
                keep_weights=self.keep_weights,
            )  # fmt: skip
        self._keep(course, len(learner.rows) if weight is None else len(weight))
        self.verdict_ = self._judged(course, learner, began)
        if course.few is not None:
            advice = "Look at their labels; fewer rounds or bagging mind them less"
            warn(f"{course.few}. {advice}", LabelNoiseWarning)
        return self

    def _factor(self, cls: np.ndarray, weight: FloatArray | None) -> FloatArray | None:
        """Factors of the classes' weights (K,), None where there are none."""
        if self.class_weight is None:
            return None
        totals = np.bincount(cls, weight, minlength=len(self.classes_)).astype(float)
        return parameters.class_factors(self.class_weight, self.classes_, totals)

    def _check_parameters(self) -> None:
        self._check_members()
        check_positive("learning_rate", self.learning_rate, finite=True)
        parameters.check_class_weight(self.class_weight)
        base = self.estimator
        usable = base is None or (hasattr(base, "fit") and hasattr(base, "predict"))
        if not usable or (base is not None and is_regressor(base)):
            raise ValueError(f"estimator must be a classifier with fit and predict, got {base!r}")

    def _read_stumps(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[StumpLearner, FloatArray | None]:
        """The table, laid out once, and the weights of all rows."""
        self._reader = copy(self.estimator_)
        table, weight = self._reader._lay_out(X, y, sample_weight)
        self.classes_, self._reader.total_ = self._reader.classes_, 1.0
        self._know_columns(self._reader)
        return StumpLearner(table, self._reader), weight

    def _read_any(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[AnyLearner, FloatArray | None]:
        """Numbers as an array; a frame with other columns goes to the learner as it is."""
        if is_dask(X):
            raise TypeError("X is a Dask collection, and boosting keeps its rows in memory: call X.compute()")
        self._whole_frames = is_frame(X) and any(
            c.kind == "category" for c in Encoding.learn(self, X).columns
        )
        cells = X if self._whole_frames else read_table(self, X, reset=True, missing=True)
        n = cells.shape[0]
        weight = read_weights(sample_weight, n)
        self.classes_, codes, _ = parameters.read_any_classes(y, weight, n)
        rows = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
        if len(rows) < n:
            cells = _safe_indexing(cells, rows)
        learner = AnyLearner(
            self.estimator_,
            self.classes_,
            parameters.seed_of(self.random_state),
            cells,
            rows,
            codes[rows].astype(np.int64),
        )
        return learner, weight

    def _know_columns(self, reader: DecisionStump) -> None:
        self.n_features_in_ = reader.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(reader, "feature_names_in_"):
            self.feature_names_in_ = reader.feature_names_in_

    def _keep(self, course: Course, n: int) -> None:
        rounds = course.rounds
        self.n_classes_ = len(self.classes_)
        self.estimators_ = [r.learner for r in rounds]
        self.estimator_errors_ = np.array([r.error for r in rounds])
        self.estimator_weights_ = 2.0 * np.array([r.alpha for r in rounds])
        self.normalizers_ = np.array([r.normalizer for r in rounds])
        self.train_errors_ = np.array([r.train_error for r in rounds])
        self.train_error_bound_ = float(np.prod(self.normalizers_))
        self.hard_rows_ = course.hard
        self.__dict__.pop("weights_", None)
        if self.keep_weights:
            self.weights_ = np.zeros((len(rounds), n))
            self.weights_[:, course.rows] = np.array([r.weights for r in rounds])

    def _judged(self, course: Course, learner: WeakLearner, began: float) -> Verdict:
        findings = [course.told(int(self.n_estimators))]
        findings += _bounds(self.estimator_errors_, self.normalizers_, self.train_errors_[-1], self._plain())
        findings.append(f"smallest margin {course.margin:.3g}, of row {course.tightest}")
        if learner.resampled:
            findings.append(
                f"{type(self.estimator_).__name__} takes no sample_weight: each round learned from "
                f"{len(learner.rows)} rows drawn by D_t"
            )
        if course.few is not None:
            findings.append(course.few)
        status: Status = "interrupted" if course.ended == "interrupted" else "no claim"
        exact = self._stumps and self._plain() and self.estimator_.criterion == "error"
        if course.ended == "no edge" and exact:
            status = "stationary"
            findings.append(
                "no stump has an edge left: the exponential loss, convex in all stumps' votes, is at its minimum"
            )
        gap = 0.0 if status == "stationary" or self.train_error_bound_ == 0 else np.inf
        return proven(
            self, scale="mean loss", objective=self._loss(self.normalizers_), gap=gap, tol=0.0, unique=None,
            sweeps=float(len(self.alphas_)), seconds=time.perf_counter() - began, stopped_by=course.ended,
            findings=findings, status=status,
        )  # fmt: skip

    def _loss(self, normalizers: FloatArray) -> float:
        """The weighted mean of exp(−y·f/K), y and f coded as in SAMME: of two classes, ∏Z_t."""
        K = len(self.classes_)
        return float(np.prod(normalizers * np.exp(-(K - 2) / K * self.alphas_[: len(normalizers)])))

    def _plain(self) -> bool:
        """Whether the notes' own formulas hold: two classes and no learning rate."""
        return len(self.classes_) == 2 and float(self.learning_rate) == 1.0

    def _verdict_from_data(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **given: Any
    ) -> Verdict:
        """For :func:`separatrix.verify`: D_t, ε_t and Z_t anew from the data, the learners and their α_t."""
        refuse_given(self, given)
        cells = self._read_for_prediction(X)
        weight = read_weights(sample_weight, cells.shape[0])
        codes = self._codes_of(y, cells.shape[0])
        D = np.ones(len(codes)) if weight is None else weight
        factor = self._factor(codes, weight)
        D = D if factor is None else D * factor[codes]
        D = D / D.sum()
        share, errors, normalizers = D, [], []
        for alpha, h in zip(0.5 * self._fitted_weights(), self.estimators_):
            said = h._winner(cells) if self._stumps else self._said(h, cells)
            wrong = said != codes
            errors.append(float(D[wrong].sum()))
            if errors[-1] == 0:
                normalizers.append(0.0)
                break
            D = D * np.where(wrong, np.exp(alpha), np.exp(-alpha))
            normalizers.append(float(D.sum()))
            D = D / D.sum()
        wrong_now = float(share[self._votes(cells).argmax(axis=1) != codes].sum())
        apart = float(np.abs(np.array(errors) - self.estimator_errors_[: len(errors)]).max())
        findings = [
            f"largest difference of an ε_t from the one kept: {apart:.1e}",
            *_bounds(np.array(errors), np.array(normalizers), wrong_now, self._plain()),
        ]
        same = len(errors) == len(self.estimator_errors_) and apart <= 1e-9
        return proven(
            self, scale="mean loss", objective=self._loss(np.array(normalizers)), tol=0.0, unique=None,
            gap=self.verdict_.gap if same else np.inf, sweeps=float(len(errors)), stopped_by=VERIFIED,
            findings=findings, status=self.verdict_.status if same else "not converged",
        )  # fmt: skip

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = get_tags(DecisionStump() if self.estimator is None else self.estimator).input_tags
        for name in ("sparse", "allow_nan", "categorical", "string"):
            setattr(tags.input_tags, name, getattr(base, name))
        return tags


def _bounds(errors: FloatArray, normalizers: FloatArray, wrong: float, plain: bool) -> list[str]:
    """The training error against its bounds, in words."""
    product = float(np.prod(normalizers))
    holds = "≤" if wrong <= product + 1e-9 else "exceeds"
    if product > 1:
        return [f"training error {wrong:.4g}; ∏Z_t = {product:.4g} is above one and bounds nothing"]
    text = f"training error {wrong:.4g} {holds} ∏Z_t = {product:.4g}"
    if plain:
        second = float(np.exp(-2 * np.sum((0.5 - errors) ** 2)))
        text += f" ≤ exp(−2Σ(½ − ε_t)²) = {second:.4g}"
    return [text]
