"""Every suitable model on the same folds, under a budget of seconds: a ranking that says which differences are real.

    score(m) = mean over folds of  score(m fitted to the other folds, the fold)
    ranked by log loss, accuracy, AUC or cost, each ± t_{J−1} √((1/J + n_test/n_train) s²)

Every model is tried with its usual settings, those that may win on all folds, and tuned. Settings are chosen inside
the training part of each fold (nested cross-validation), so that no judged row had a say in the model that is judged
on it. Notes [726] (learning curves), [6321] "A built-in overfitting knob". Row V1. Parts: alerts.py (before),
candidates.py (which models), folds.py, course.py (what comes next), schedule.py (the work), plan.py (to run it
again), ranking.py, comparison.py (the outcome).
Cost: models × folds fits, and (settings × 3 + 1) × folds of those tuned, as far as the budget lets.
"""

from __future__ import annotations

import sys
import time as clock
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from separatrix.core.words import joined
from separatrix.data.checks import check_known
from separatrix.data.engine import available_cores, current_engine
from separatrix.data.interrupts import until_interrupted
from separatrix.judge.alerts import Alert, alerts
from separatrix.judge.asked import (
    check_amounts,
    check_probabilities,
    levels_of,
    order_of_classes,
    read_test,
    refuse_of_numbers,
    side_of,
)
from separatrix.judge.budget import Allowed
from separatrix.judge.candidates import read_models
from separatrix.judge.comparison import Comparison
from separatrix.judge.contest import FLOORS, Contest, FoldResult
from separatrix.judge.facts import TableFacts, encoder_of, read_numbers, read_two, read_X
from separatrix.judge.folds import dealt_splits, numbered_splits, sample, unjudged
from separatrix.judge.plan import Plan
from separatrix.judge.progress import Progress
from separatrix.judge.ranking import rank
from separatrix.judge.refits import Refits
from separatrix.judge.schedule import Race
from separatrix.judge.scores import Interval, metric_of, read_cost
from separatrix.judge.standing import Standing
from separatrix.judge.threshold import Threshold, check_threshold, out_of_fold
from separatrix.judge.tuning import settled
from separatrix.models.parameters import seed_of, threads
from separatrix.models.sets import Pipeline

RANKED_BY = (
    "log_loss", "accuracy", "auc", "cost", "brier", "balanced_accuracy", "mcc", "precision", "recall", "f1",
    "average_precision",
)  # fmt: skip
RANKED_NUMBERS_BY = ("rmse", "mae", "r2")
TASKS = ("classification", "regression", "ordinal")
NO_ORDER = "The classes are words without an order, and are compared so: give order to say which is higher."
DRAWS = 200  # bootstraps of the test rows


def compare(
    X: Any,
    y: ArrayLike | None = None,
    *,
    task: str = "classification",
    order: Sequence[Any] | None = None,
    models: Any = None,
    metric: str | None = None,
    cost: Any = None,
    positive: Any = None,
    threshold: str | None = None,
    cv: Any = None,
    groups: Any = None,
    time: Any = None,
    budget: float | None = 60.0,
    kept: float = 0.0,
    plan: Any = None,
    test: Any = None,
    kinds: Mapping[str, str] | None = None,
    level: float = 0.95,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: bool | int = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """score(m) = mean over folds of score(m tuned and fitted to the other folds, the fold); ranked, with intervals.

    Rows X (n, p), labels y (n,) of two classes or more. Notes [726]. All models meet the same folds; settings are
    chosen inside each fold's training rows. The table says of every score how sure it is, and of every model whether
    it is really worse than the best (corrected resampled t-test of Nadeau and Bengio, Holm's correction).

    Parameters
    ----------
    X : array, sparse matrix, or frame (pandas, Polars, Arrow) with numbers, words, dates, text and missing cells; or
        a Table of ``separatrix.tables.read``, which brings its labels
    y : labels of any kind; numbers for ``task="regression"``
    task : "classification", "regression", or "ordinal": classes with an order, among whose models proportional odds
        are tried too
    order : for ``task="ordinal"``, the classes from the lowest to the highest; None where they are numbers, or an
        ordered Categorical's. Words without an order are compared as classes, and that is said
    models : None for every model that suits; a name, a list of names and estimators, or {name: estimator}. Names:
        majority, naive_bayes, naive_bayes_cut, multinomial_nb, lda, qda, logistic, linear_svc, svc, adaboost,
        bagged_trees, extra_trees, random_forest; and sklearn_hgb, scikit-learn's
        histogram gradient boosting, as a yardstick.
        majority is a floor: it never comes first where another has a score. For numbers: mean (the floor),
        linear_regression, poisson_regression, gamma_regression, linear_svr, svr, extra_trees_regressor,
        random_forest_regressor, bagged_trees_regressor, sklearn_hgb
    metric : what ranks, "log_loss" (None), "accuracy", "auc", "brier", "balanced_accuracy", "mcc", "precision",
        "recall", "f1", "average_precision" or "cost"; of numbers "rmse" (None), "mae" or "r2"
    cost : (K, K), C_kl the cost of saying l when k is true, or {(true, said): cost}; for ``metric="cost"``
    positive : of two classes the one that precision, recall and F₁ are of; None for the rarer
    threshold : None, or by what the winner's threshold on P(positive) is chosen, out of fold: "f1", "mcc",
        "accuracy", "balanced_accuracy" or "cost"; ``best_model`` then answers by it, and ``found.threshold`` says
        which it is
    groups : (n,) values that stay together: no group is learned from and judged in the same fold
    time : (n,) numbers or dates: what is judged comes after what is learned from
    cv : None for 5 folds, of up to 2,500 rows twice where the budget lets (fewer where a class is small; rows of a
        class of fewer than 3 are learned from in every fold and judged in none); a number of folds; (folds,
        repetitions); a splitter of scikit-learn; or (train, test) pairs of row numbers
    budget : seconds, about, the winner's fit to all rows among them; None for no clock, which is exactly repeatable.
        Every model is tried on a first fold, of large tables on samples; then those that may win on all folds; then
        those are tuned; then folds are repeated. The order depends on table, seed and scores alone: a budget says
        how far it goes. A model that has a score stays in the table, with the folds and rows it was judged on
    kept : seconds of the budget that are left for what the caller does afterwards
    plan : what an earlier comparison did (``Comparison.plan``, its ``to_dict()``, or a file of that), to be run again
        to the same numbers, without a clock; refused for another table
    test : (X, y) kept apart: the models, fitted to all rows, are judged on it too
    kinds : {column: kind} of a frame, where the rules of tables/kinds.py should not decide
    level : confidence of the intervals, and 1 − that of the tests
    random_state : seed of folds and models; the same for any number of threads
    n_jobs : threads, on which (model, fold) pairs run side by side; None uses all cores this process may use
    verbose : True prints a line for each fold to standard error
    on_progress : a function that is given a :class:`Progress` after each step

    Returns
    -------
    :class:`Comparison` : ``ranking``, ``scores``, ``differences``, ``best_model``, ``models``, ``alerts``, ``cut``,
        ``seed``, ``plan``, ``standing``, ``out_of_fold()``, ``confusion()``, ``to_frame()``, ``plot()``; a table when
        printed. Ctrl-C keeps what is finished

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare(X, y, models=["lda", "naive_bayes", "majority"], cv=5)
    >>> found.ranking
    ('lda', 'naive_bayes', 'majority')
    >>> round(found.scores["lda"]["accuracy"].mean, 2), [d.model for d in found.differences if d.real]
    (0.98, ['majority'])
    >>> found.best_model.predict(X[:1]).tolist()
    [0]
    """
    began = clock.perf_counter()
    if y is None and getattr(X, "labels", None) is not None:
        X, y, kinds = X.frame, X.labels, {**X.kinds, **(kinds or {})}
    check_known("task", task, *TASKS)
    numbers = task == "regression"
    chosen = metric_of(
        metric or ("rmse" if numbers else "log_loss"), RANKED_NUMBERS_BY if numbers else RANKED_BY
    )
    check_amounts(budget, level, n_jobs)
    again = None if plan is None else Plan.read(plan)
    X = read_X(X)
    n = _num_samples(X)
    if y is None:
        raise ValueError("compare needs the labels: y is None")
    if numbers:
        refuse_of_numbers(cost=cost, positive=positive)
        classes, codes = np.empty(0, dtype=object), read_numbers(y, n)
        labels, matrix, side = codes, None, None
    else:
        given = order_of_classes(task, order, y)
        classes, codes, labels = read_two(y, n)
        matrix = None if cost is None else read_cost(cost, classes)
        side = side_of(positive, classes, codes)
    check_threshold(threshold, classes, numbers, cost)
    if chosen.name == "cost" and cost is None:
        raise ValueError('metric="cost" needs cost, a matrix or {(true class, answer): cost}')
    facts = TableFacts.of(X, labels, kinds, "numbers" if numbers else "classes")
    if task == "ordinal":
        facts = replace(facts, order=levels_of(given, classes))
    candidates, unsuited = read_models(
        models if models is not None or again is None else [*again.models], facts
    )
    seed = seed_of(random_state) if again is None else again.seed
    if numbers:
        splits = tuple(numbered_splits(cv, groups, time, codes, seed))
        tested = None if test is None else read_test(test, X, None)
    else:
        check_probabilities(candidates, chosen.name, facts)
        splits = tuple(dealt_splits(cv, groups, time, codes, classes, seed))
        tested = None if test is None else read_test(test, X, classes)
    tell = _teller(on_progress, verbose)

    odd = tuple(alerts(X, labels, kinds=kinds, numbers=numbers))
    if not numbers and cv is None and groups is None and time is None and (small := unjudged(codes, classes)):
        odd = (*small, *(a for a in odd if a.kind != "imbalance"))
    with threads(n_jobs):
        engine = current_engine()
        workers = 1 if engine.kind == "serial" else engine.workers or available_cores()
    contest = Contest(
        facts=facts,
        X=X,
        labels=labels,
        codes=codes,
        candidates=candidates,
        splits=splits,
        metric=chosen.name,
        scoring=_looked_at(chosen.name, numbers),
        cost=matrix,
        seed=seed,
        positive=side,
        remarks=() if task != "ordinal" or facts.order is not None else (NO_ORDER,),
    )
    limit = budget if again is None else None
    allowed = Allowed(
        began=began, seconds=limit, workers=workers, kept=float(kept), fits_all=tested is not None
    )
    race = Race(contest, allowed, tell=tell, plan=again)
    if again is not None:
        again.check(contest, race.table())
    told = f"{len(odd)} alerts" if odd else "nothing odd about the table"
    race.say("alerts", None, -1, told, odd)
    race.run()
    return _outcome(race, tested, odd, unsuited, level, threshold)


def _outcome(
    race: Race, tested: Any, odd: tuple[Alert, ...], unsuited: Mapping[str, str], level: float, by: str | None
) -> Comparison:
    contest, course = race.contest, race.course
    ranking = rank(course, _rankable(race), level)
    best = ranking.names[0]
    standing = {m: _standing(race, m, ranking.results[m]) for m in ranking.names}

    def fit(name: str) -> Any:
        return fitted_to_all(contest, name, standing[name].tuned, standing[name].rows)

    refits = Refits(ranking.names, fit)
    threshold = None if by is None else _threshold(contest, ranking.results[best], by)
    on_test: dict[str, dict[str, Interval]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the folds' own warnings say the same
        if not race.interrupted:
            with until_interrupted() as watch:
                race.say("refit", best, -1, f"{best} is fitted to {_all(standing[best])}")
                _ = refits[best]
                for name in ranking.names if tested is not None else ():
                    if name == best or race.to_refit(name) <= race.allowed.left():
                        on_test[name] = _on_test(
                            refits[name], tested, contest, level, threshold if name == best else None
                        )
            race.interrupted = watch.interrupted
    spent = race.allowed.elapsed()
    race.say("done", None, -1, f"{len(ranking.names)} models ranked in {spent:.1f} s")
    unranked = {m: text for m, text in race.reasons.said.items() if m not in ranking.names}
    cut = {m: why for m, why in {**unranked, **unsuited}.items() if m not in ranking.names}
    blind = [m for m in ranking.names if contest.facts.has("text") and contest.candidates[m].form == "native"]
    remarks = (f"{joined(blind)} do{'es' * (len(blind) == 1)} not see the text.",) if blind else ()
    remarks = (*race.contest.remarks, *remarks)
    return Comparison(
        metric=contest.metric,
        ranking=ranking.names,
        scores=ranking.scores,
        folds=tuple(r for m in ranking.names for r in ranking.results[m]),
        splits=tuple(contest.splits),
        used=tuple(r.split for r in ranking.results[best]),
        differences=ranking.differences,
        models=refits,
        tested=on_test,
        alerts=odd,
        cut=cut,
        reasons={m: race.reasons.kinds.get(m, "unsuited") for m in cut},
        standing=standing,
        more=race.more(),
        plan=race.made_plan(race.table()),
        titles={m: c.title for m, c in contest.candidates.items()},
        theirs=tuple(m for m, c in contest.candidates.items() if not c.ours),
        classes=contest.facts.classes,
        codes=contest.codes,
        threshold=threshold,
        task="regression"
        if contest.numbers
        else "classification"
        if contest.facts.order is None
        else "ordinal",
        order=contest.facts.order,
        positive=None if contest.positive is None else contest.facts.classes.tolist()[contest.positive],
        cost=contest.cost,
        level=level,
        seconds=spent,
        budget=race.allowed.seconds,
        interrupted=race.interrupted,
        warned=race.warned,
        seed=contest.seed,
        floor_only=best in FLOORS and len(contest.candidates) > 1,
        remarks=remarks,
    )


def _threshold(contest: Contest, own: Sequence[FoldResult], by: str) -> Threshold | None:
    """Of the winner, by the rows of its first repetition; None where it has no probabilities."""
    folds = [(r.codes, r.P) for r in own if contest.splits[r.split].repeat == 0 and r.P is not None]
    side = contest.positive
    return (
        out_of_fold(folds, contest.facts.classes, side, by, contest.cost)
        if folds and side is not None
        else None
    )


def _all(standing: Standing) -> str:
    return (
        "all rows" if standing.rows >= standing.of_rows else f"{standing.rows:,} of {standing.of_rows:,} rows"
    )


def _standing(race: Race, name: str, own: tuple[Any, ...]) -> Standing:
    """What a model was judged on, and is fitted to."""
    contest = race.contest
    trained, most = max(r.rows for r in own), max(len(contest.splits[r.split].train) for r in own)
    held = trained < min(len(contest.splits[r.split].train) for r in own)
    return Standing(
        folds=len(own),
        of_folds=contest.folds,
        rows=trained if held else contest.facts.n,
        of_rows=contest.facts.n,
        trained=trained,
        of_trained=most,
        judged=sum(len(r.test) for r in own),
        tuned=own[0].tuned,
        kind=race.reasons.kinds.get(name, ""),
        why=race.reasons.said.get(name, ""),
    )


def _rankable(race: Race) -> list[str]:
    """Every model that has a score."""
    names = [m for m in race.contest.candidates if race.course.own(m)]
    rivals = [m for m in race.contest.candidates if m not in FLOORS]
    broken = bool(rivals) and all(m in race.errors for m in rivals)
    if names and not broken:
        return names
    if race.errors:
        name, error = next(iter(race.errors.items()))
        error.add_note(f"while fitting {name} to a fold")
        raise error
    if race.interrupted:
        raise KeyboardInterrupt
    reasons = "; ".join(f"{m}: {why}" for m, why in list(race.reasons.said.items())[:3])
    raise ValueError(f"no model finished within the budget ({reasons}): give more seconds, or fewer models")


def fitted_to_all(contest: Contest, name: str, tuned: bool = True, rows: int | None = None) -> Any:
    """The model on all rows, or a sample of ``rows``, behind its encoder: a plain pipeline without the search."""
    encoder = encoder_of(contest.facts, contest.candidates[name].form)
    X, labels = contest.X, contest.labels
    if rows is not None and rows < len(labels):
        kept = sample(contest.strata, rows, contest.seed)
        X, labels = _safe_indexing(X, kept), labels[kept]
    table = X if encoder is None else encoder.fit_transform(X, labels)
    model = settled(contest.made(name, tuned).fit(table, labels))
    return model if encoder is None else Pipeline([("columns", encoder), ("model", model)])


def _looked_at(metric: str, numbers: bool) -> str:
    """What a search for settings looks at."""
    if numbers:
        return "mae" if metric == "mae" else "rmse"
    return "accuracy" if metric == "accuracy" else "log_loss"


def _on_test(
    model: BaseEstimator, test: tuple[Any, np.ndarray], contest: Contest, level: float, cut: Threshold | None
) -> dict[str, Interval]:
    """Scores on rows kept apart, with percentile intervals over bootstraps of those rows."""
    X, codes = test
    said, P = contest.answers(model, X)
    if cut is not None and P is not None:
        side = contest.facts.classes.tolist().index(cut.positive)
        said = np.where(P[:, side] >= cut.value, side, 1 - side)
    whole = contest.scores(codes, said, P)
    rng = np.random.default_rng(contest.seed)
    draws = []
    for _ in range(DRAWS):
        rows = rng.integers(0, len(codes), len(codes))
        draws.append(contest.scores(codes[rows], said[rows], None if P is None else P[rows]))
    ends = [(1 - level) / 2, (1 + level) / 2]
    found = {}
    for name, value in whole.items():
        values = np.array([d[name] for d in draws])
        known = values[np.isfinite(values)]
        low, high = np.quantile(known, ends) if len(known) else (np.nan, np.nan)
        found[name] = Interval(value, float(low), float(high))
    return found


def _teller(on_progress: Callable[[Progress], None] | None, verbose: Any) -> Callable[[Progress], None]:
    def tell(progress: Progress) -> None:
        if verbose:
            print(f"{progress.seconds:6.1f} s  {progress.message}", file=sys.stderr, flush=True)
        if on_progress is not None:
            on_progress(progress)

    return tell
