"""The models of numbers to be compared:  linear ones, those of a family, kernels and trees, and the mean as a floor.

    REGRESSORS         name → Candidate, as judge/candidates.py has them for classes
    tries              a setting of least root mean squared error on inner folds (:class:`TunedNumbers`)

C and ε of a tube are multiples of the spread of y, since ½‖w‖² + C Σ |y − η|_ε in other units of y is the same
problem with C and ε in those units. Row P4. Cost: none; a fit is its model's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.utils import _safe_indexing

from separatrix.data.estimator import constructor
from separatrix.judge.candidates import KERNEL_ROWS, WORK, YARDSTICK, Candidate, Maker
from separatrix.judge.facts import TableFacts
from separatrix.judge.fits import checkpoint
from separatrix.judge.folds import numeric_splits, sample, strata_of
from separatrix.judge.label_scores import mae, rmse
from separatrix.judge.suitability import RULES
from separatrix.judge.tuning import SEARCH_ROWS, Fold, Tuned
from separatrix.models.catalogue import OF_NUMBERS

CS = (0.1, 1.0, 10.0, 100.0)
WIDTH = 0.1  # of the spread of y: half the width of a tube


@constructor
class TunedNumbers(Tuned):
    """The setting of least error on inner folds, refitted to all rows.

    ``scoring`` is "rmse" or "mae"; the rest as for :class:`~separatrix.judge.tuning.Tuned`.

    >>> from separatrix import GeneralizedLinearModel
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> tuner = TunedNumbers(
    ...     GeneralizedLinearModel("gaussian"), [{"alpha": 1e-6}, {"alpha": 10.0}], scoring="rmse"
    ... )
    >>> tuner.fit(X, 3 * X[:, 0]).best_params_
    {'alpha': 1e-06}
    """

    def _folds(self, X: Any, labels: np.ndarray, folds: int, seed: int) -> Iterator[Fold]:
        began = time.perf_counter()
        rows = sample(strata_of(labels), SEARCH_ROWS, seed)
        for split in numeric_splits(folds, labels[rows], seed) if folds > 1 else ():
            a, b = rows[split.train], rows[split.test]
            yield Fold(_safe_indexing(X, a), labels[a], _safe_indexing(X, b), labels[b])
        self.search_seconds_ = time.perf_counter() - began

    def _loss(self, setting: Mapping[str, Any], fold: Fold) -> float:
        checkpoint()
        said = np.asarray(
            clone(self.estimator).set_params(**setting).fit(fold.X, fold.y).predict(fold.X_test)
        )
        return (mae if self.scoring == "mae" else rmse)(fold.codes, said)


def _mean(facts: TableFacts, seed: int, scoring: str) -> Any:
    return DummyRegressor()


def _glm(family: str, link: str | None = None) -> Maker:
    def make(facts: TableFacts, seed: int, scoring: str) -> Any:
        from separatrix.models.linear.glm import GeneralizedLinearModel

        made = GeneralizedLinearModel(family, link, alpha=1e-4)
        return TunedNumbers(
            made, [{"alpha": a} for a in (1e-4, 1e-3, 1e-2, 0.1, 1.0)], scoring=scoring, random_state=seed
        )

    return make


def _spread(facts: TableFacts) -> float:
    assert facts.target is not None
    return facts.target.spread


def _linear_svr(facts: TableFacts, seed: int, scoring: str) -> Any:
    from separatrix.models.margin.linear_svr import LinearSVR

    s = _spread(facts)
    made = LinearSVR(C=s, epsilon=WIDTH * s)
    return TunedNumbers(made, [{"C": C * s} for C in (0.01, *CS[:3])], scoring=scoring, random_state=seed)


def _svr(facts: TableFacts, seed: int, scoring: str) -> Any:
    from separatrix.models.margin.svr import SVR

    s = _spread(facts)
    grid = [{"C": C * s, "gamma": g / facts.p} for g in (0.1, 0.3, 1.0) for C in CS]
    return TunedNumbers(SVR(C=s, epsilon=WIDTH * s), grid, scoring=scoring, random_state=seed)


def _forest(name: str) -> Maker:
    def make(facts: TableFacts, seed: int, scoring: str) -> Any:
        listed = OF_NUMBERS[name]
        made = listed.load()(n_estimators=100, random_state=seed, **(listed.settings if facts.frame else {}))
        grid = [{"min_samples_leaf": m} for m in (1, 3, 10)]
        return TunedNumbers(made, grid, scoring=scoring, random_state=seed)

    return make


def _bagged(facts: TableFacts, seed: int, scoring: str) -> Any:
    from separatrix.models.ensemble.bagging import BaggingRegressor
    from separatrix.models.ensemble.decision_tree import DecisionTreeRegressor

    grid = [{"estimator__min_samples_leaf": m} for m in (1, 5)]
    bag = BaggingRegressor(DecisionTreeRegressor(), 50, random_state=seed)
    return TunedNumbers(bag, grid, scoring=scoring, random_state=seed)


def _yardstick(facts: TableFacts, seed: int, scoring: str) -> Any:
    from separatrix.judge.yardstick import HistogramBoostingNumbers

    return HistogramBoostingNumbers(random_state=seed)


def _counts(facts: TableFacts) -> str:
    if facts.target is None or not facts.target.whole or facts.target.least < 0:
        return "the target is no count: whole numbers from 0 on"
    return ""


def _positive(facts: TableFacts) -> str:
    return (
        ""
        if facts.target is not None and facts.target.least > 0
        else "the target is not above 0 in every row"
    )


def _kernel(facts: TableFacts) -> str:
    if facts.sparse or facts.has("text"):
        return "on words the linear machine does as well in a fraction of the time"
    return ""


def _candidates() -> dict[str, Candidate]:
    found = [
        Candidate("mean", "the mean of the target", _mean, None, 0.0),
        Candidate("linear_regression", "linear regression", _glm("gaussian"), "linear", 1.0),
        Candidate("poisson_regression", "Poisson regression", _glm("poisson"), "linear", 1.0, _counts),
        Candidate("gamma_regression", "gamma regression", _glm("gamma", "log"), "linear", 1.0, _positive),
        Candidate("linear_svr", OF_NUMBERS["linear_svr"].title, _linear_svr, "linear", 1.0),
        *(
            Candidate(name, OF_NUMBERS[name].title, _forest(name), "native", 1.1, RULES["words"])
            for name in ("extra_trees_regressor", "random_forest_regressor")
        ),
        Candidate("svr", OF_NUMBERS["svr"].title, _svr, "linear", 2.0, _kernel, most_rows=KERNEL_ROWS),
        Candidate(
            "bagged_trees_regressor", OF_NUMBERS["bagged_trees_regressor"].title, _bagged, "dense", 1.1, RULES["wide"]
        ),
        Candidate(
            YARDSTICK, "scikit-learn's histogram gradient boosting", _yardstick, "linear", 1.0, RULES["dense"],
            ours=False,
        ),
    ]  # fmt: skip
    return {candidate.name: candidate for candidate in found}


WORK |= {
    "mean": lambda n, p, k: n,
    "linear_regression": lambda n, p, k: 4 * n * p * min(n, p),
    "poisson_regression": lambda n, p, k: 8 * n * p * min(n, p),
    "gamma_regression": lambda n, p, k: 8 * n * p * min(n, p),
    "linear_svr": lambda n, p, k: 240 * n * p,
    "svr": WORK["svc"],
    **{f"{name}_regressor": WORK[name] for name in ("extra_trees", "random_forest", "bagged_trees")},
}
REGRESSORS = _candidates()
