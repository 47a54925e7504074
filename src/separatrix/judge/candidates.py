"""The classifiers to be compared:  those of models/catalogue.py that are tried, each with its tuning, and a baseline.

    CANDIDATES             name → Candidate(make, usual, form, grows, work, unsuited)
    read_models(…)         those asked for, in any spelling of their names, or all that suit the table
    cheapest_first(…)      in the order of ``work(n, p, K)``, which no clock has a say in

A grid that is data is searched as it stands; where it depends on the table, or the search is of another kind, a maker
here is called by the model's name. Scikit-learn's histogram gradient boosting stands among them as a yardstick. Row
V1. Cost: none; a fit is its model's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from separatrix.data.discretise import Discretizer
from separatrix.judge.facts import NUMBERS, TableFacts
from separatrix.judge.fits import set_seed
from separatrix.judge.suitability import RULES
from separatrix.judge.tuning import Tuned, TunedRounds, TunedSVC, Tuner
from separatrix.models.catalogue import BY_NAME, Listed, named, plain
from separatrix.models.ensemble.adaboost import AdaBoostClassifier
from separatrix.models.ensemble.bagging import BaggingClassifier
from separatrix.models.ensemble.decision_tree import DecisionTreeClassifier
from separatrix.models.generative.categorical_nb import CategoricalNB
from separatrix.models.generative.naive_bayes import NaiveBayes
from separatrix.models.linear.logistic import LogisticRegression

KERNEL_ROWS = (
    4_000  # a kernel matrix of more is not held: of larger tables the machine is given that many rows
)
YARDSTICK = "sklearn_hgb"

THEIRS = (
    "histgradientboosting",
    "histgradientboostingclassifier",
    "histgradientboostingregressor",
)  # what it is called too

Maker = Callable[[TableFacts, int, str], Any]


def _log(n: float) -> float:
    return float(np.log2(max(n, 2.0)))


# Operations of a fit with usual settings, about, from rows, columns and classes: what is tried first.
WORK: dict[str, Callable[[float, float, float], float]] = {
    "majority": lambda n, p, k: n,
    "multinomial_nb": lambda n, p, k: 2 * n * p,
    "naive_bayes": lambda n, p, k: 20 * n * p,
    "lda": lambda n, p, k: n * p * min(n, p) + min(n, p) ** 3,
    "qda": lambda n, p, k: n * p * min(n, p) + k * p**3,
    "naive_bayes_cut": lambda n, p, k: 40 * n * p * _log(n),
    "logistic": lambda n, p, k: 60 * n * p * (k if k > 2 else 1),
    "ordinal": lambda n, p, k: 60 * n * p,
    "linear_svc": lambda n, p, k: 240 * n * p * (k if k > 2 else 1),
    "extra_trees": lambda n, p, k: 200 * n * _log(n) * p**0.5 * 4,
    "random_forest": lambda n, p, k: 200 * n * _log(n) * p**0.5 * 12,
    "bagged_trees": lambda n, p, k: 100 * n * _log(n) * p * 6,
    "adaboost": lambda n, p, k: 200 * n * (p * 4 + 10 * k),
    YARDSTICK: lambda n, p, k: 100 * n * (p + 20) * (k if k > 2 else 1) + 1e7 * k,
    "svc": lambda n, p, k: 8 * min(n, KERNEL_ROWS) ** 2 * (p + 20),
}


@dataclass(frozen=True)
class Candidate:
    """A classifier to be compared.

    Attributes
    ----------
    name : as in ``compare(models=[…])``
    title : in words
    make : (facts, seed, scoring) → an estimator not yet fitted; scoring is what its tuning looks at
    form : the columns it wants, "native", "linear" or "counts"; None as they are given
    grows : e, the time of a fit grows as n^e
    unsuited : facts → why it does not suit the table, "" where it does
    by_name : whether it is tried only where it is named
    most_rows : of training that it is given, a sample of larger tables; 0 for all
    ours : whether it is not another library's, which no model file holds
    as_given : whether it is the user's own estimator, run as it is
    """

    name: str
    title: str
    make: Maker
    form: str | None
    grows: float
    unsuited: Callable[[TableFacts], str] = RULES[""]
    by_name: bool = False
    most_rows: int = 0
    ours: bool = True
    as_given: bool = False

    def usual(self, facts: TableFacts, seed: int, scoring: str) -> Any:
        """The model with its usual settings, not yet fitted: nothing is searched for."""
        made = self.make(facts, seed, scoring)
        return made.usual() if isinstance(made, Tuner) and not self.as_given else made

    def tries(self, facts: TableFacts) -> int:
        """How many settings its tuning chooses from; 1 where it has none."""
        made = self.make(facts, 0, "log_loss")
        return made.tries() if isinstance(made, Tuner) and not self.as_given else 1

    def work(self, facts: TableFacts, rows: int | None = None) -> float:
        """Operations of a fit, about; of a model given by the user nothing is known, so that it comes in its turn."""
        n = facts.n if rows is None else rows
        told = WORK.get(self.name)
        return float("nan") if told is None else told(n, facts.p, max(len(facts.classes), 1))


def _majority(facts: TableFacts, seed: int, scoring: str) -> Any:
    return DummyClassifier(strategy="prior")


def _naive_bayes(facts: TableFacts, seed: int, scoring: str) -> Any:
    if facts.frame:
        numbers: Any = {name: "gaussian" for name, kind in facts.kinds.items() if kind in NUMBERS}
    else:
        numbers = ["gaussian"] * facts.p
    grid: list[dict[str, Any]] = [{"families": "auto"}, {"families": numbers}] if numbers else [{}]
    if facts.has("nominal", "target", "date"):  # alpha smooths levels
        grid = [{**setting, "alpha": 1.0} for setting in grid]
        grid += [{**grid[0], "alpha": a} for a in (0.1, 10.0)]
    return Tuned(NaiveBayes(), grid, scoring=scoring, random_state=seed)


def _naive_bayes_cut(facts: TableFacts, seed: int, scoring: str) -> Any:
    return make_pipeline(Discretizer("mdl"), CategoricalNB())


def _logistic(facts: TableFacts, seed: int, scoring: str) -> Any:
    shift = 10.0 if facts.has("text") else 1.0  # rows of words have length 1, whatever their number
    grid = [{"C": C * shift} for C in (0.01, 0.1, 1.0, 10.0, 100.0)]
    return Tuned(LogisticRegression(C=shift, max_iter=300), grid, scoring=scoring, random_state=seed)


def _ordinal(facts: TableFacts, seed: int, scoring: str) -> Any:
    from separatrix.models.linear.ordinal import OrdinalRegression

    grid = [{"C": C} for C in (0.01, 0.1, 1.0, 10.0, 100.0)]
    order = None if facts.order is None else list(facts.order)
    return Tuned(OrdinalRegression(categories=order), grid, scoring=scoring, random_state=seed)


def _svc(facts: TableFacts, seed: int, scoring: str) -> Any:
    return TunedSVC(random_state=seed)


def _adaboost(facts: TableFacts, seed: int, scoring: str) -> Any:
    settings = BY_NAME["adaboost"].for_tables() if facts.frame else {}
    boosted = AdaBoostClassifier(n_estimators=200, learning_rate=0.3, random_state=seed, **settings)
    return TunedRounds(boosted, random_state=seed)


def _bagged_trees(facts: TableFacts, seed: int, scoring: str) -> Any:
    grid = [{"estimator__min_samples_leaf": m} for m in (1, 5)]
    bag = BaggingClassifier(DecisionTreeClassifier(), 30, random_state=seed)  # enough to choose by
    return Tuned(bag, grid, scoring=scoring, final={"n_estimators": 100}, random_state=seed)


def _yardstick(facts: TableFacts, seed: int, scoring: str) -> Any:
    from separatrix.judge.yardstick import HistogramBoosting

    return HistogramBoosting(random_state=seed)


_MADE: dict[str, Maker] = {
    "naive_bayes": _naive_bayes,
    "logistic": _logistic,
    "ordinal": _ordinal,
    "svc": _svc,
    "adaboost": _adaboost,
    "bagged_trees": _bagged_trees,
}


def _maker(model: Listed) -> Maker:
    """What makes the search for a model's settings: a maker here, or one from the data of its entry."""
    tried = model.tried
    assert tried is not None
    grid = tried.grid
    if isinstance(grid, str):
        return _MADE[model.name]

    def make(facts: TableFacts, seed: int, scoring: str) -> Any:
        if not grid:
            return model.load()(**model.settings)
        settings = {**tried.fixed, **(model.settings if facts.frame and tried.native else {})}
        if tried.seeded:
            settings["random_state"] = seed
        made, looked_at = model.load()(**settings), tried.scoring or scoring
        return Tuned(made, list(grid), scoring=looked_at, final=tried.final, random_state=seed)

    return make


def _candidates() -> dict[str, Candidate]:
    """By name, in the order in which they are named."""
    found = {
        0: Candidate("majority", "the classes' shares", _majority, None, 0.0),
        4: Candidate(
            "naive_bayes_cut", "naive Bayes of cut columns", _naive_bayes_cut, "linear", 1.0, RULES["cut"]
        ),
        14: Candidate(
            YARDSTICK, "scikit-learn's histogram gradient boosting", _yardstick, "linear", 1.0, RULES["dense"],
            ours=False,
        ),
    }  # fmt: skip
    for name, model in BY_NAME.items():
        if (tried := model.tried) is not None:
            rule = RULES[tried.unsuited]
            most = KERNEL_ROWS if name == "svc" else 0
            found[tried.turn] = Candidate(
                name, model.title, _maker(model), model.reads, tried.grows, rule, tried.by_name, most
            )
    return {found[turn].name: found[turn] for turn in sorted(found)}


CANDIDATES = _candidates()


def candidate_named(text: str, task: str = "classes") -> Candidate | None:
    """The candidate that is meant, in any spelling of its name, an older name's or its class's; None where none is.

    >>> [candidate_named(m).name for m in ("rbf_svc", "Naive-Bayes-Cut", "LinearSVC")]
    ['svc', 'naive_bayes_cut', 'linear_svc']
    """
    there: Mapping[str, Candidate] = CANDIDATES
    if task == "numbers":
        from separatrix.judge.regressors import REGRESSORS as there
    asked = {plain(text), plain(named(text))}
    if asked & set(THEIRS):
        return there[YARDSTICK]
    asked |= {f"{name}regressor" for name in asked}
    return next((c for name, c in there.items() if plain(name) in asked), None)


def cheapest_first(candidates: Mapping[str, Candidate], facts: TableFacts) -> list[str]:
    """Names in the order of the work of a fit: of table and models alone. The user's own keep their turns.

    >>> import numpy as np
    >>> facts = TableFacts.of(np.eye(12)[:, :6], np.arange(12) % 6)
    >>> cheapest_first({name: CANDIDATES[name] for name in ("svc", "logistic", "lda")}, facts)
    ['lda', 'logistic', 'svc']
    """
    last, known = 0.0, {}
    for name, candidate in candidates.items():
        work = candidate.work(facts)
        known[name] = last = work if work == work else last
    return sorted(candidates, key=lambda m: known[m])


def known(facts: TableFacts) -> dict[str, Candidate]:
    """Those of classes, or of numbers, by what the table is of."""
    if facts.task == "numbers":
        from separatrix.judge.regressors import REGRESSORS

        return REGRESSORS
    return CANDIDATES


def read_models(models: Any, facts: TableFacts) -> tuple[dict[str, Candidate], dict[str, str]]:
    """The candidates asked for, and those left aside with the reason.

    None asks for all that suit, but for those that are tried by name only; a name, a list of names and estimators, or
    a mapping from name to estimator asks for those. An estimator of the user's sees the columns as they are given.
    """
    there = known(facts)
    if models is None:
        asked = {"ordinal"} if facts.order is not None else set()
        reasons = {name: c.unsuited(facts) for name, c in there.items() if not c.by_name or name in asked}
        chosen = {name: there[name] for name, why in reasons.items() if not why}
        return chosen, {name: why for name, why in reasons.items() if why}
    given = models if isinstance(models, (list, tuple, Mapping)) else [models]
    if not given:
        raise ValueError(f"models is empty: give some of {', '.join(there)}, or None for all that suit")
    found: dict[str, Candidate] = {}
    pairs = given.items() if isinstance(given, Mapping) else [(None, m) for m in given]
    for name, model in pairs:
        candidate = _one(name, model, facts)
        if candidate.name in found:
            raise ValueError(f"models names {candidate.name!r} twice: give a mapping {{name: estimator}}")
        if candidate is there.get(candidate.name) and (why := candidate.unsuited(facts)):
            raise ValueError(f"{candidate.name} does not suit this table: {why}; leave it out of models")
        found[candidate.name] = candidate
    return found, {}


def _one(name: Any, model: BaseEstimator, facts: TableFacts) -> Candidate:
    there = known(facts)
    if isinstance(model, Candidate):
        return model
    if isinstance(model, str):
        found = candidate_named(model, facts.task)
        if found is None:
            near = get_close_matches(model, there, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(
                f"models names {model!r}, which is unknown{hint}: known are {', '.join(there)}; or give "
                "{name: estimator}"
            )
        return found
    if isinstance(model, type):
        raise TypeError(f"models holds the class {model.__name__}: give an instance, {model.__name__}()")
    what, is_one = ("regressor", is_regressor) if facts.task == "numbers" else ("classifier", is_classifier)
    if not (hasattr(model, "fit") and hasattr(model, "predict") and hasattr(model, "get_params")):
        raise TypeError(
            f"models holds {model!r}, which is no {what}: give names ({', '.join(there)}) or estimators "
            "with fit and predict"
        )
    if not is_one(model):
        raise TypeError(f"models holds {type(model).__name__}, which is no {what}")
    title = type(model.steps[-1][1] if isinstance(model, Pipeline) else model).__name__
    return Candidate(
        str(name) if name is not None else title, title, _copier(model), None, 1.2, as_given=True
    )


def _copier(model: BaseEstimator) -> Callable[[TableFacts, int, str], Any]:
    from sklearn.base import clone

    def make(facts: TableFacts, seed: int, scoring: str) -> Any:
        copy = clone(model)
        free = [k for k, v in copy.get_params().items() if k.split("__")[-1] == "random_state" and v is None]
        return set_seed(copy, seed) if free else copy

    return make
