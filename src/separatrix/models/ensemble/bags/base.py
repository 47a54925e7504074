"""What bags of classifiers and of regressions share: parameters, the door, the draws, warm starts, the verdict.

    D_b = m rows drawn from D with replacement;   h_b = the base learner fitted to D_b;   b = 1 … B

The fits are made by the first of `WAYS` that serves: logistic regressions as one batch, trees on columns read once,
all others one by one. Notes [6321] "Bagging: Bootstrap aggregation". Row E3 of the specification. Cost: B fits.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray
from separatrix.data.door import is_dask, read_table, read_weights
from separatrix.data.estimator import KW_ONLY, Estimator, constructor
from separatrix.data.sources import TableLike
from separatrix.growth.trees import Forest, sealed
from separatrix.models.ensemble.bags.draws import Draws, columns_a_bag, rows_a_bag
from separatrix.models.ensemble.bags.logistic_batch import fit_logistic_batch
from separatrix.models.ensemble.bags.one_by_one import fit_one_by_one
from separatrix.models.ensemble.bags.plan import Fits, Plan
from separatrix.models.ensemble.bags.shared_trees import fit_shared_trees
from separatrix.models.ensemble.bags.verdict import engine_words, judged
from separatrix.models.ensemble.bags.votes import forest_of
from separatrix.models.ensemble.members import Members
from separatrix.models.parameters import seed_of, threads
from separatrix.problems.gram import Index

WAYS = (fit_logistic_batch, fit_shared_trees, fit_one_by_one)  # the quickest first; the last serves everyone


class Targets(NamedTuple):
    """y as labels or numbers, the codes of its classes, and what rows are drawn in proportion to (None: all alike).

    Where all rows are taken that is what they weigh.
    """

    y: np.ndarray
    codes: Index | None
    drawn_by: FloatArray | None


@constructor
class Bagging(Members, Estimator):
    """What bags of classifiers and of regressions share: the draws, the fits, the verdict."""

    estimator: Any = None
    n_estimators: int = 10
    _: KW_ONLY
    max_samples: Any = None
    max_features: Any = 1.0
    bootstrap: bool = True
    bootstrap_features: bool = False
    oob_score: bool = False
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _oob_name = "oob_prediction_"

    def _base(self) -> Any:
        raise NotImplementedError

    def _targets(self, y: ArrayLike, weight: FloatArray | None, n: int) -> Targets:
        """y as it is fitted to; sets what the model learns of it."""
        raise NotImplementedError

    def _left_out(self, plan: Plan, kept: Index) -> tuple[FloatArray, FloatArray]:
        """The sums of what the bags a row is not in say of it (n, …), and how many those are (n,)."""
        raise NotImplementedError

    def _score_left_out(self, plan: Plan, said: FloatArray, seen: FloatArray, weight: FloatArray) -> str:
        """Set the score of what was ``said`` of the rows with bags to judge them; a sentence about it."""
        raise NotImplementedError

    def fit(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit B learners to B bags of the rows X (n, p), y (n,); a row of weight 2 is drawn as two rows would be."""
        began = time.perf_counter()
        self._check()
        plan = self._plan(X, y, sample_weight)
        warm = self.warm_start and hasattr(self, "estimators_")
        have, first = self._bags_there() if warm else (0, 0)
        if have == self.n_estimators:
            warn(f"warm_start=True and the {have} bags asked for are there already: nothing was fitted")
            return self
        with threads(self.n_jobs):
            where = engine_words()
            fits = self._fit_bags(plan, range(first, first + self.n_estimators - have))
            self._keep(plan, fits, warm)
            heard = self._judge_left_out(plan) if self.oob_score else []
        self.verdict_ = judged(
            self, plan, fits, lacking=self._lacking(), where=where, seconds=time.perf_counter() - began,
            heard=heard,
        )  # fmt: skip
        return self

    def _fit_bags(self, plan: Plan, bags: range) -> Fits:
        """All bags by the quickest way their learner has."""
        return next(f for f in (way(plan, bags, self.verbose) for way in WAYS) if f is not None)

    def _keep(self, plan: Plan, fits: Fits, warm: bool) -> None:
        """The new bags after those there are."""
        order = sorted(fits.models)
        old: tuple[list[Any], list[Index]] = ([], [])
        numbers = np.empty(0, dtype=np.intp)
        if warm:
            old, numbers = (self.estimators_, self.estimators_features_), self._numbers()
        self._draws, self._present, self._n_rows = plan.draws, plan.present, plan.given
        self.estimator_ = plan.base
        self.estimators_ = [*old[0], *(fits.models[b].model for b in order)]
        self.estimators_features_: list[Index] = [*old[1], *self._columns_drawn(plan.draws, order, old[1])]
        self._bag_numbers = np.append(numbers, np.array(order, dtype=np.intp))
        for name in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
            self.__dict__.pop(name, None)

    def _judge_left_out(self, plan: Plan) -> list[str]:
        """Out-of-bag answers and score, and the sentences about them."""
        total, seen = self._left_out(plan, self._bag_numbers)
        said = total / np.where(seen > 0, seen, np.nan).reshape(-1, *[1] * (total.ndim - 1))
        setattr(self, self._oob_name, self._of_all_rows(said))
        judged = seen > 0
        never = int(np.count_nonzero(~judged))
        if never == len(seen):
            self.oob_score_ = float("nan")
            return [
                f"out of bag: no estimate, all {never} rows are in every bag; more bags would leave some out"
            ]
        weight = np.ones(len(seen)) if plan.weight is None else plan.weight
        heard = [self._score_left_out(plan, said[judged], seen, weight[judged])]
        if never:
            were = "row is" if never == 1 else "rows are"
            heard.append(f"{never:,} {were} in every bag: NaN out of bag; more bags would leave them out")
        return heard

    # ---- the door ----

    def _check(self) -> None:
        """Refuse, before data is read, what cannot be meant."""
        self._check_members(": an ensemble of no bags predicts nothing")
        if self.oob_score and self.warm_start:
            raise ValueError(
                "oob_score=True needs warm_start=False: the rows a former fit left out are not known to be these"
            )
        base = self.estimator
        if base is not None and not (hasattr(base, "fit") and hasattr(base, "predict")):
            raise TypeError(
                f"estimator {base!r} must have fit and predict: give a model, not its class or name"
            )
        if isinstance(base, type):
            raise TypeError(f"estimator is the class {base.__name__}: give a model, {base.__name__}()")

    def _plan(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Plan:
        """The table, the targets and the draws of all bags."""
        base = self._base()
        if is_dask(X):
            raise TypeError(
                "X is a Dask collection, and bags draw rows in memory: call X.compute() first, or fit the base "
                'learner alone; engine("dask") fits the bags of rows in memory on a cluster'
            )
        cells = self._read(X, base, reset=True)
        n = int(cells.shape[0])
        weight = read_weights(sample_weight, n)
        target, codes, drawn = self._targets(y, weight, n)
        takes_weight = bool(has_fit_parameter(base, "sample_weight"))
        if drawn is not None and not self.bootstrap and not takes_weight:
            raise ValueError(
                f"{type(base).__name__} does not take sample_weight: use bootstrap=True, which draws rows in "
                "proportion to their weight, or leave the weights out"
            )
        present = None
        if weight is not None and not weight.all():
            # weight zero is absence: what such rows hold is not looked at
            present = np.flatnonzero(weight)
            cells, target, weight = _safe_indexing(cells, present), target[present], weight[present]
            codes = None if codes is None else codes[present]
            drawn = None if drawn is None else drawn[present]
        draws = self._draws_of(len(target), drawn)
        if self.oob_score and not self.bootstrap and draws.m == len(draws.present):
            raise ValueError(
                "oob_score=True, but without replacement every bag holds all rows and leaves none out: use "
                "bootstrap=True, or max_samples below the number of rows"
            )
        classes = getattr(self, "classes_", None)
        return Plan(base, cells, target, codes, classes, draws, takes_weight, weight, n, present)

    def _read(self, X: TableLike, base: Any, *, reset: bool) -> Any:
        """X as an array or CSR matrix; a frame stays one if it has words, or a pipeline may name its columns."""
        frame = hasattr(X, "columns") or hasattr(X, "column_names")
        if reset:
            self._whole_frame = frame and hasattr(base, "steps")
        if frame and not self._whole_frame:
            try:
                return read_table(self, X, reset=reset, missing=True)
            except ValueError:  # words: the learner may read them
                if not reset:
                    raise
                self._whole_frame = True
        if frame:
            _check_feature_names(self, X, reset=reset)
            _check_n_features(self, X, reset=reset)
            return X
        return validate_data(self, X, accept_sparse="csr", dtype=None, ensure_all_finite=False, reset=reset)

    def _draws_of(self, n: int, weight: FloatArray | None) -> Draws:
        p = int(self.n_features_in_)
        m = rows_a_bag(self.max_samples, n, weight, bool(self.bootstrap))
        width = columns_a_bag(self.max_features, p, bool(self.bootstrap_features))
        warm = self.warm_start and hasattr(self, "estimators_")
        seed = self._draws.seed if warm else seed_of(self.random_state)
        return Draws(n, p, m, width, seed, bool(self.bootstrap), bool(self.bootstrap_features), weight)

    def _bags_there(self) -> tuple[int, int]:
        """How many learners there are, and the number of the next bag; fewer cannot be asked for."""
        have = len(self.estimators_)
        if self.n_estimators < have:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {have} bags there are: with warm_start=True "
                "bags are only added; use warm_start=False to begin anew"
            )
        return have, int(self._bag_numbers.max(initial=-1)) + 1

    def _numbers(self) -> Index:
        """The bag of each learner; −1 throughout where the list was edited and that is not known."""
        there = len(self.estimators_)
        return self._bag_numbers if len(self._bag_numbers) == there else np.full(there, -1)

    # ---- rows and columns ----

    @property
    def estimators_samples_(self) -> list[Index]:
        """The rows of each bag, repeats included; drawn anew at every call, by the same key."""
        check_is_fitted(self, "estimators_")
        numbers = self._numbers()
        if (numbers < 0).any():
            raise AttributeError(
                "estimators_ has been edited since fit, and which bag each learner saw is no longer known"
            )
        drawn = [self._draws.rows(int(b)) for b in numbers]
        return drawn if self._present is None else [self._present[rows] for rows in drawn]

    def _of_all_rows(self, values: FloatArray) -> FloatArray:
        """Values of the rows that weigh something among those of all rows, NaN elsewhere."""
        if self._present is None:
            return values
        out = np.full((self._n_rows, *values.shape[1:]), np.nan)
        out[self._present] = values
        return out

    def _columns_drawn(self, draws: Draws, bags: list[int], old: list[Index]) -> list[Index]:
        """The columns of each bag; where all have all, one array that they share."""
        if not draws.all_columns:
            return [draws.columns(b) for b in bags]
        every = old[0] if old else sealed(np.arange(draws.p))
        return [every] * len(bags)

    def _whole_tables(self) -> bool:
        """Whether every learner sees all columns in their order, by what ``estimators_features_`` says now."""
        found = self.estimators_features_
        if not (self._draws.all_columns and len(found)):
            return False
        return all(f is found[0] for f in found) and np.array_equal(found[0], np.arange(self._draws.p))

    @property
    def _forest(self) -> Forest | None:
        """Trees as one forest, where the learners are that, as they stand."""
        return forest_of(self.estimators_, getattr(self, "classes_", None)) if self._whole_tables() else None

    def _columns_of(self, X: TableLike, bag: int) -> Any:
        """X as bag number ``bag`` in the list of estimators sees it."""
        if self._whole_tables():
            return X
        learners, columns = len(self.estimators_), len(self.estimators_features_)
        if learners != columns:
            raise ValueError(
                f"estimators_ has {learners} learners and estimators_features_ the columns of {columns}: take the "
                "same places out of both"
            )
        return _safe_indexing(X, self.estimators_features_[bag], axis=1)

    def _lacking(self) -> int:
        return 0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        of_base = get_tags(self._base()).input_tags
        tags.input_tags.sparse = of_base.sparse
        tags.input_tags.allow_nan = of_base.allow_nan
        return tags
