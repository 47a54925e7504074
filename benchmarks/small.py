"""F1 to F7, small data:  what a call costs when there is next to nothing to compute.

    F1, F2, F3    fit        on 100×5 (two classes), 150×4 (three), 1,000×20 (two)
    F4, F5, F6    predict    on the rows of the same three
    F7            GridSearchCV over 200 values of C by five folds: 1,000 small logistic fits, one process

Seven models each, at the same parameters in both libraries, one call of each in turn, the first of a pair changing
from round to round; the median counts, of as many rounds as it takes to know it to a hundredth, or fit into a time.
BLAS has one thread throughout: on products as small as these two wait for each other, scikit-learn's most of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks import judge, objective, parts
from benchmarks.model import (
    SUBJECT,
    Dataset,
    GaussianAnswer,
    KernelAnswer,
    LinearAnswer,
    Options,
    Report,
    Row,
    Task,
    Workload,
)
from benchmarks.participants import RIVAL_ERRORS, enlist, failure
from benchmarks.turns import Call, by_turns, in_words, quietly

SECONDS = 2.0  # for a model, both libraries together
SEARCH_SECONDS = 20.0
LEAST = 5  # rounds, however long they take
VALUES_OF_C = 200
HELD_OUT_SPREAD = 0.03  # of an ensemble's errors on 1,000 rows held out, from seed to seed
LABEL_SPREAD = (
    0.02  # of the errors of predictions: the fits end at a tolerance, and rows lie near the surface
)

Score = Callable[[Any, Dataset, Task], float]
Prepare = Callable[["Model", str, Dataset, Task], tuple[Call, Callable[[], float]]]


@dataclass(frozen=True)
class Model:
    """One of the seven: the same name in both libraries, and how its fits are compared."""

    name: str
    home: str  # its module in scikit-learn
    score: Score  # of a fitted model; lower is better
    settings: Mapping[str, Any] = field(default_factory=dict)
    spread: float = 0.0

    def made_by(self, peer: str) -> Callable[[], Any]:
        """What makes the unfitted estimator of a library."""
        library = import_module(SUBJECT if peer == SUBJECT else f"sklearn.{self.home}")
        return partial(getattr(library, self.name), **self.settings)


def _linear(score: Score) -> Score:
    return lambda model, data, task: score(LinearAnswer(model.coef_, model.intercept_), data, task)


def _kernel(model: Any, data: Dataset, task: Task) -> float:
    answer = KernelAnswer(np.atleast_2d(model.dual_coef_), model.support_, np.atleast_1d(model.intercept_))
    return objective.kernel_hinge(answer, data, task)


def _gaussian(model: Any, data: Dataset, task: Task) -> float:
    return objective.joint(GaussianAnswer(model.class_prior_, model.theta_, model.var_), data, task)


MODELS = (
    Model("LogisticRegression", "linear_model", _linear(objective.logistic)),
    Model("LinearDiscriminantAnalysis", "discriminant_analysis", _linear(objective.log_loss)),
    Model("GaussianNB", "naive_bayes", _gaussian),
    Model("LinearSVC", "svm", _linear(objective.squared_hinge)),
    Model("SVC", "svm", _kernel),
    Model("AdaBoostClassifier", "ensemble", objective.held_out_errors, {"n_estimators": 50}, HELD_OUT_SPREAD),
    Model("ExtraTreesClassifier", "ensemble", objective.held_out_errors,
          {"n_estimators": 100, "random_state": 0}, HELD_OUT_SPREAD),
)  # fmt: skip


def fits(workload: Workload, options: Options, say: Callable[[str], None]) -> Report:
    """F1 to F3."""
    return _seven(workload, options, say, _fit)


def predictions(workload: Workload, options: Options, say: Callable[[str], None]) -> Report:
    """F4 to F6."""
    return _seven(workload, options, say, _predict)


def search(workload: Workload, options: Options, say: Callable[[str], None]) -> Report:
    """F7: the whole search is the call, and the error of the best setting its score."""
    assert workload.data is not None
    data = workload.data(options.scale)
    runners, settled = enlist(workload, workload.task(data), options)
    values = max(2, round(VALUES_OF_C * min(1.0, options.scale)))
    calls = {peer.name: _search(peer.name, data, values) for peer in runners}
    say(f"{values} values of C by 5 folds")
    with quietly():
        times, rows = by_turns(calls, SEARCH_SECONDS * options.scale, options.repeat)
        for name in times:
            error = 1.0 - float(calls[name]().best_score_)
            rows[name] = Row(name, seconds=float(np.median(times[name])), objective=error)
    counts = in_words([len(found) for found in times.values()])
    source = f"{data.source}; {values} values of C by 5 folds, median of {counts}; BLAS on one thread"
    return judge.report(workload, source, "s", [rows[peer.name] for peer in runners] + settled, options)


def _search(peer: str, data: Dataset, values: int) -> Callable[[], Any]:
    from sklearn.model_selection import GridSearchCV

    logistic = replace(MODELS[0], settings={"max_iter": 10_000})  # large C: the tolerance is to end the fits
    grid = {"C": np.logspace(-4, 4, values)}
    make = logistic.made_by(peer)
    return lambda: GridSearchCV(make(), grid, cv=5, refit=False, n_jobs=1).fit(data.X, data.y)


def _seven(workload: Workload, options: Options, say: Callable[[str], None], prepare: Prepare) -> Report:
    """The seven models one after another, the libraries in turn."""
    assert workload.data is not None
    say("data")
    data = workload.data(options.scale)
    task = workload.task(data)
    runners, settled = enlist(workload, task, options)
    rows: list[Row] = []
    rounds: list[int] = []
    with quietly():
        for model in MODELS:
            say(model.name)
            names = [peer.name for peer in runners]
            found, counts = _one_model(model, names, data, task, SECONDS * options.scale, prepare)
            rows += found
            rounds += counts
    source = f"{data.source}, median of {in_words(rounds)}; BLAS on one thread"
    return parts.report(workload, source, "µs", rows + settled, options)


def _one_model(
    model: Model, peers: list[str], data: Dataset, task: Task, budget: float, prepare: Prepare
) -> tuple[list[Row], list[int]]:
    """The rows of one model, a library each, and their rounds; a library that raises has a row too."""
    rows: dict[str, Row] = {}
    calls: dict[str, Call] = {}
    scores: dict[str, Callable[[], float]] = {}
    for peer in peers:
        try:
            calls[peer], scores[peer] = prepare(model, peer, data, task)
        except RIVAL_ERRORS as error:
            rows[peer] = failure(peer, error)
    times, failed = by_turns(calls, budget, LEAST)
    rows |= failed
    spread = model.spread if prepare is _fit else LABEL_SPREAD
    for peer, found in times.items():
        rows[peer] = Row(peer, seconds=float(np.median(found)), objective=scores[peer](), spread=spread)
    return [replace(rows[peer], part=model.name) for peer in peers], [len(found) for found in times.values()]


def _fit(model: Model, peer: str, data: Dataset, task: Task) -> tuple[Call, Callable[[], float]]:
    """A fit, the constructor included, and the score of one."""
    make = model.made_by(peer)

    def call() -> Any:
        return make().fit(data.X, data.y)

    return call, lambda: model.score(call(), data, task)


def _predict(model: Model, peer: str, data: Dataset, task: Task) -> tuple[Call, Callable[[], float]]:
    """A prediction of all rows by a fitted model, and its share of wrong labels."""
    fitted = model.made_by(peer)().fit(data.X, data.y)
    return lambda: fitted.predict(data.X), lambda: objective.errors(fitted.predict(data.X), data, task)
