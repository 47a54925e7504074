"""The classifiers to be compared:  those of models/catalogue.py that are tried, each with its tuning, and a baseline.

    CANDIDATES             name → Candidate(make, form, grows, unsuited)
    read_models(…)         those asked for, in any spelling of their names, or all that suit the table

A grid that is data is searched as it stands; where it depends on the table, or the search is of another kind, a maker
here is called by the model's name. Row V1. Cost: none; a fit is its model's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from sklearn.base import BaseEstimator, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from separatrix.data.discretise import Discretizer
from separatrix.judge.facts import NUMBERS, TableFacts
from separatrix.judge.fits import set_seed
from separatrix.judge.suitability import RULES
from separatrix.judge.tuning import Tuned, TunedRounds, TunedSVC
from separatrix.models.catalogue import BY_NAME, Listed, named, plain
from separatrix.models.ensemble.adaboost import AdaBoostClassifier
from separatrix.models.ensemble.bagging import BaggingClassifier
from separatrix.models.ensemble.decision_tree import DecisionTreeClassifier
from separatrix.models.generative.categorical_nb import CategoricalNB
from separatrix.models.generative.naive_bayes import NaiveBayes
from separatrix.models.linear.logistic import LogisticRegression

FEW_CLASSES = 4  # beyond, models with weights for each class are slower than trees


Maker = Callable[[TableFacts, int, str], Any]


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
    """

    name: str
    title: str
    make: Maker
    form: str | None
    grows: float
    unsuited: Callable[[TableFacts], str] = RULES[""]
    by_name: bool = False


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
    return Tuned(LogisticRegression(max_iter=300), grid, scoring=scoring, random_state=seed)


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


_MADE: dict[str, Maker] = {
    "naive_bayes": _naive_bayes,
    "logistic": _logistic,
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
    """By name, the quickest first: in this order they are tried where times are not known (`by_guess`)."""
    found = {
        0: Candidate("majority", "the classes' shares", _majority, None, 0.0),
        4: Candidate(
            "naive_bayes_cut", "naive Bayes of cut columns", _naive_bayes_cut, "linear", 1.0, RULES["cut"]
        ),
    }
    for name, model in BY_NAME.items():
        if (tried := model.tried) is not None:
            rule = RULES[tried.unsuited]
            found[tried.turn] = Candidate(
                name, model.title, _maker(model), model.reads, tried.grows, rule, tried.by_name
            )
    return {found[turn].name: found[turn] for turn in sorted(found)}


CANDIDATES = _candidates()


def candidate_named(text: str) -> Candidate | None:
    """The candidate that is meant, in any spelling of its name, an older name's or its class's; None where none is.

    >>> [candidate_named(m).name for m in ("rbf_svc", "Naive-Bayes-Cut", "LinearSVC")]
    ['svc', 'naive_bayes_cut', 'linear_svc']
    """
    asked = plain(named(text))
    return next((c for name, c in CANDIDATES.items() if plain(name) == asked), None)


def by_guess(names: Sequence[str], facts: TableFacts) -> list[str]:
    """The quickest first, as far as that can be guessed: in order, but of many classes linear models come late.

    >>> import numpy as np
    >>> facts = TableFacts.of(np.eye(12)[:, :6], np.arange(12) % 6)
    >>> by_guess(["lda", "logistic", "extra_trees", "svc"], facts)
    ['lda', 'extra_trees', 'logistic', 'svc']
    """
    late = ("logistic", "linear_svc") if len(facts.classes) > FEW_CLASSES else ()
    place = {name: float(i) for i, name in enumerate(names)}
    after = max((place[m] for m in ("extra_trees", "adaboost") if m in place), default=-1.0)
    return sorted(names, key=lambda m: max(place[m], after + 0.5) if m in late else place[m])


def read_models(models: Any, facts: TableFacts) -> tuple[dict[str, Candidate], dict[str, str]]:
    """The candidates asked for, and those left aside with the reason.

    None asks for all that suit, but for those that are tried by name only; a name, a list of names and estimators, or
    a mapping from name to estimator asks for those. An estimator of the user's sees the columns as they are given.
    """
    if models is None:
        reasons = {name: c.unsuited(facts) for name, c in CANDIDATES.items() if not c.by_name}
        chosen = {name: CANDIDATES[name] for name, why in reasons.items() if not why}
        return chosen, {name: why for name, why in reasons.items() if why}
    given = models if isinstance(models, (list, tuple, Mapping)) else [models]
    if not given:
        raise ValueError(f"models is empty: give some of {', '.join(CANDIDATES)}, or None for all that suit")
    found: dict[str, Candidate] = {}
    pairs = given.items() if isinstance(given, Mapping) else [(None, m) for m in given]
    for name, model in pairs:
        candidate = _one(name, model)
        if candidate.name in found:
            raise ValueError(f"models names {candidate.name!r} twice: give a mapping {{name: estimator}}")
        if candidate is CANDIDATES.get(candidate.name) and (why := candidate.unsuited(facts)):
            raise ValueError(f"{candidate.name} does not suit this table: {why}; leave it out of models")
        found[candidate.name] = candidate
    return found, {}


def _one(name: Any, model: BaseEstimator) -> Candidate:
    if isinstance(model, Candidate):
        return model
    if isinstance(model, str):
        found = candidate_named(model)
        if found is None:
            near = get_close_matches(model, CANDIDATES, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(
                f"models names {model!r}, which is unknown{hint}: known are {', '.join(CANDIDATES)}; or give "
                "{name: estimator}"
            )
        return found
    if isinstance(model, type):
        raise TypeError(f"models holds the class {model.__name__}: give an instance, {model.__name__}()")
    if not (hasattr(model, "fit") and hasattr(model, "predict") and hasattr(model, "get_params")):
        raise TypeError(
            f"models holds {model!r}, which is no classifier: give names ({', '.join(CANDIDATES)}) or estimators "
            "with fit and predict"
        )
    if not is_classifier(model):
        raise TypeError(f"models holds {type(model).__name__}, which is no classifier")
    title = type(model.steps[-1][1] if isinstance(model, Pipeline) else model).__name__
    return Candidate(str(name) if name is not None else title, title, _copier(model), None, 1.2)


def _copier(model: BaseEstimator) -> Callable[[TableFacts, int, str], Any]:
    from sklearn.base import clone

    def make(facts: TableFacts, seed: int, scoring: str) -> Any:
        copy = clone(model)
        free = [k for k, v in copy.get_params().items() if k.split("__")[-1] == "random_state" and v is None]
        return set_seed(copy, seed) if free else copy

    return make
