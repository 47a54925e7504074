"""What bags of classifiers and of regressions share: the draws, the way the fits are made, the verdict on them.

    D_b = m rows drawn from D with replacement;   h_b = the base learner fitted to D_b;   b = 1 … B

Logistic regressions are fitted as one batch, trees on columns read once, all others one by one (each.py).
Notes [6321] "Bagging: Bootstrap aggregation". Row E3 of the specification. Cost: B fits of the base learner.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray, Index
from separatrix.data.door import is_dask, read_table, read_weights
from separatrix.data.engine import available_cores, current_engine
from separatrix.data.estimator import Estimator
from separatrix.data.interrupts import until_interrupted
from separatrix.data.side_by_side import total_of
from separatrix.growth.trees import sealed
from separatrix.models.ensemble.bags.batch import batches, fit_logistic_bags
from separatrix.models.ensemble.bags.draws import Draws, columns_a_bag, rows_a_bag
from separatrix.models.ensemble.bags.each import (
    Bag,
    Plan,
    check_bagging,
    fit_bag,
    run_bags,
    verdict_in,
)
from separatrix.models.ensemble.bags.trees import fit_tree_bags, grows_together
from separatrix.models.ensemble.members import Members
from separatrix.models.parameters import seed_of, threads
from separatrix.verdict.verdict import Verdict


@dataclass(frozen=True)
class BaggingVerdict(Verdict):
    """The verdict on an ensemble: that of its bags, the worst gap among them, and what was left out said of it."""

    bags: int = 0

    def figures(self) -> str:
        if not np.isnan(self.objective):
            return super().figures()
        seconds = f"{self.seconds * 1e3:.0f} ms" if self.seconds < 0.0995 else f"{self.seconds:.2f} s"
        return f"{self.bags} bags, {seconds}   stopped: {self.stopped_by}"


@dataclass(frozen=True, eq=False)
class _Run:
    """What fitting the bags gave: models by bag, how, and whether it was cut short."""

    models: dict[int, Bag]
    interrupted: bool
    how: str
    sweeps: float = 0.0


class Bagging(Members, Estimator):
    """What bags of classifiers and of regressions share: the draws, the fits, the verdict."""

    estimators_: list[Any]
    estimators_features_: list[Index]
    _draws: Draws
    _bag_numbers: Index
    _whole_frame: bool

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = None,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _base(self) -> Any:
        raise NotImplementedError

    def _targets(self, y: Any, weight: FloatArray | None, n: int) -> tuple[np.ndarray, Index | None]:
        """(labels or numbers, codes or None); sets what the model learns of y."""
        raise NotImplementedError

    def _judge_left_out(self, plan: Plan, kept: Index) -> list[str]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit B learners to B bags of the rows X (n, p), y (n,); a row of weight 2 is drawn as two rows would be."""
        began = time.perf_counter()
        check_bagging(self)
        base = self._base()
        if is_dask(X):
            raise TypeError(
                "X is a Dask collection, and bags draw rows in memory: call X.compute() first, or fit the base "
                'learner alone; engine("dask") fits the bags of rows in memory on a cluster'
            )
        cells = self._read(X, base, reset=True)
        n = int(cells.shape[0])
        weight = read_weights(sample_weight, n)
        target, codes = self._targets(y, weight, n)
        takes_weight = bool(has_fit_parameter(base, "sample_weight"))
        drawn = self._drawn_by(weight, codes)
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
        warm = self.warm_start and hasattr(self, "estimators_")
        have, first = self._bags_there() if warm else (0, 0)
        if have == self.n_estimators:
            warn(
                f"warm_start=True and the {have} bags asked for are there already: nothing was fitted",
            )
            return self
        classes = getattr(self, "classes_", None)
        plan = Plan(base, cells, target, codes, classes, draws, takes_weight, weight)
        with threads(self.n_jobs):
            where = _engine_words()
            run = self._fit_bags(plan, range(first, first + self.n_estimators - have))
            order = sorted(run.models)
            self._draws, self._present, self._n_rows = draws, present, n
            self.estimator_ = base
            numbers = self._numbers() if warm else np.empty(0, dtype=np.intp)
            old = (self.estimators_, self.estimators_features_) if warm else ([], [])
            self.estimators_ = [*old[0], *(run.models[b].model for b in order)]
            self.estimators_features_ = [*old[1], *self._columns_drawn(draws, order, old[1])]
            self._bag_numbers = np.append(numbers, np.array(order, dtype=np.intp))
            for name in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
                self.__dict__.pop(name, None)
            heard = self._judge_left_out(plan, self._bag_numbers) if self.oob_score else []
        self.verdict_ = self._verdict(run, plan, where, heard, time.perf_counter() - began)
        return self

    # ---- the door ----

    def _read(self, X: Any, base: Any, *, reset: bool) -> Any:
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

    def _drawn_by(self, weight: FloatArray | None, codes: Index | None) -> FloatArray | None:
        """What rows are drawn in proportion to (n,), or weigh where all are taken; None: all alike."""
        return weight

    # ---- the fits ----

    def _fit_bags(self, plan: Plan, bags: range) -> _Run:
        """All bags by the quickest way their learner has."""
        draws, base = plan.draws, plan.base
        several = plan.classes is not None and len(plan.classes) > 1
        if several and draws.all_columns and not plan.thin and batches(base, plan.X):
            run = self._fit_batch(plan, bags)
            if run is not None:
                return run
        if grows_together(plan):
            grown, interrupted = fit_tree_bags(plan, bags, self.verbose)
            return _Run(grown, interrupted, "grown on columns read once for all bags, counts as weights")
        done, interrupted = run_bags(partial(fit_bag, plan), bags, self.verbose)
        return _Run(done, interrupted, _one_by_one(plan))

    def _fit_batch(self, plan: Plan, bags: range) -> _Run | None:
        draws, began = plan.draws, time.perf_counter()
        assert plan.codes is not None and plan.classes is not None
        counts = draws.table(bags)
        seeds = [draws.learner_seed(b) for b in bags]
        row = draws.weight if not draws.bootstrap else None
        found = fit_logistic_bags(plan.base, plan.X, plan.codes, plan.classes, counts, row, seeds)
        if found is None:
            return None
        models = {b: Bag(m) for b, m in zip(bags, found.models, strict=True) if m is not None}
        alone = [b for b in bags if b not in models]
        done: dict[int, Bag] = {}
        interrupted = False
        how = f"in one batch, {found.sweeps:.3g} sweeps serving {len(models)} bags"
        if found.own_hessians:
            how += f", {found.own_hessians} of them with their own Hessian"
        if alone:
            interrupted = True
            with until_interrupted():
                done, interrupted = run_bags(partial(fit_bag, plan), alone, self.verbose)
            if interrupted and not (models or done):
                raise KeyboardInterrupt("no bag was finished")
            models |= done
            how += f"; {len(alone)} one by one, which the batch did not serve"
        if self.verbose:
            print(f"  {len(models)} bags in {time.perf_counter() - began:.2f} s", file=sys.stderr)
        return _Run(models, interrupted, how, found.sweeps)

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

    def _columns_of(self, X: Any, bag: int) -> Any:
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

    def _left_out(
        self, X: Any, part: Any, kept: Index, width: tuple[int, ...]
    ) -> tuple[FloatArray, FloatArray]:
        """Sums over the bags a row is not in of part(bag's place, rows of X), and how many those are (n,)."""
        draws = self._draws

        def one(i: int) -> tuple[FloatArray, Index]:
            rows = np.flatnonzero(draws.counts(int(kept[i])) == 0)
            out = np.ones((len(rows), 1 + int(np.prod(width, dtype=int))))
            if len(rows):
                out[:, 1:] = part(i, _safe_indexing(X, rows)).reshape(len(rows), -1)
            return out, rows

        n = draws.n
        total = total_of(one, len(kept), (n, 1 + int(np.prod(width, dtype=int))))
        return total[:, 1:].reshape(n, *width), total[:, 0]

    # ---- the verdict ----

    def _verdict(self, run: _Run, plan: Plan, where: str, heard: list[str], seconds: float) -> BaggingVerdict:
        draws, asked, have = plan.draws, int(self.n_estimators), len(self.estimators_)
        name = type(plan.base).__name__
        drawn = "with replacement" if draws.bootstrap else "without replacement"
        columns = "" if draws.all_columns else f", {draws.width} of {draws.p} columns"
        findings = [
            f"{have} of {asked} bags of {draws.m:,} from {len(draws.present):,} rows{columns}, drawn {drawn}; base "
            f"learner {name}, {run.how}; engine: {where}"
        ]
        constant = sum(bag.constant for bag in run.models.values())
        if constant:
            findings.append(
                f"{constant} bag{'s' if constant > 1 else ''} held one class only: a constant vote stands in for "
                f"{name} there"
            )
        lacking = self._lacking() - constant
        if lacking > 0:
            findings.append(
                f"{lacking} bag{'s' if lacking > 1 else ''} missed a class, which got no share of their vote"
            )
        status, objective, gap, tol, unique, words = _of_the_bags(self.estimators_, constant)
        stopped = "all bags fitted"
        if run.interrupted:
            status, stopped = "interrupted", "interrupted"
            words.append(f"interrupted: the {have} bags that were done are kept, and predict")
        return BaggingVerdict(
            type(self).__name__,
            status,
            objective,
            gap,
            tol,
            unique,
            run.sweeps,
            seconds,
            stopped,
            (*findings, *words, *heard),
            bags=have,
        )

    def _lacking(self) -> int:
        return 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_base = get_tags(self._base()).input_tags
        tags.input_tags.sparse = of_base.sparse
        tags.input_tags.allow_nan = of_base.allow_nan
        return tags


def _engine_words() -> str:
    chosen = current_engine()
    if chosen.kind != "threads":
        return chosen.kind
    workers = chosen.workers or available_cores()
    return "serial" if workers == 1 else f"{workers} threads"


def _one_by_one(plan: Plan) -> str:
    if not plan.takes_weight:
        return "one by one on the rows drawn (it takes no sample_weight)"
    if plan.thin:
        return "one by one on a bag's own rows, counts as weights"
    return "one by one on all rows, counts as weights"


def _of_the_bags(models: list[Any], constant: int) -> tuple[Any, float, float, float, bool | None, list[str]]:
    """Status, mean objective, worst gap, tol and uniqueness from the bags' own verdicts."""
    found = [v for v in (verdict_in(m) for m in models) if isinstance(v, Verdict)]
    nan = float("nan")
    if not found or len(found) + constant < len(models):
        said = "no claim: the base learner has no verdict, and a vote of its fits makes none"
        return "no claim", nan, float("inf"), 0.0, None, [said]
    kinds: dict[str, int] = {}
    for v in found:
        kinds[v.status] = kinds.get(v.status, 0) + 1
    unique = True if all(v.unique for v in found) else None
    if list(kinds) == ["no claim"]:
        return "no claim", nan, float("inf"), 0.0, None, ["no claim: the bags' own verdicts make none"]
    gap, tol = max(v.gap for v in found), max(v.tol for v in found)
    objective = float(np.mean([v.objective for v in found]))
    if len(kinds) == 1:
        status = next(iter(kinds))
        words = [
            f"the bags' own verdicts: all {status}; the objective is their mean, the gap the worst of them"
        ]
    else:
        status = "not converged" if "not converged" in kinds else "no claim"
        each = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        words = [f"the bags' own verdicts: {each}; the objective is their mean, the gap the worst of them"]
    return status, objective, gap, tol, unique, words
