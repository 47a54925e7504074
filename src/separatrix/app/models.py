"""Models of ``separatrix fit``, by their names in models/catalogue.py:  made with settings for tables (row O4).

With --tune settings are chosen from the grid, and on the inner folds, of ``compare`` (judge/candidates.py).
"""

from __future__ import annotations

from typing import Any

from separatrix.app.errors import UsageError, unknown
from separatrix.models.catalogue import BY_NAME, OF_NUMBERS, TUNED, Listed, plain
from separatrix.models.catalogue import named as found

COMPARED = (
    "majority",
    "naive_bayes_cut",
    "mean",
)  # beside others in a comparison, and no models of their own
FAMILIES = {"poissonregression": "poisson", "gammaregression": "gamma --set link=log"}


def named(text: str) -> str:
    """The model's name, from it or its class, in any spelling.

    >>> named("LogisticRegression"), named("naive-bayes"), named("rbf_svc")
    ('logistic', 'naive_bayes', 'svc')
    """
    name = found(text)
    if plain(text) in map(plain, COMPARED):
        raise UsageError(
            f"model {text!r} is not fitted by itself, but compared (separatrix compare DATA --models {text}); there "
            f"are {', '.join(BY_NAME)}"
        )
    if plain(text) in FAMILIES:
        raise UsageError(f"model {text!r} is fitted as glm --set family={FAMILIES[plain(text)]}")
    if name not in BY_NAME and name not in OF_NUMBERS:
        raise UsageError(unknown("model", text, [*BY_NAME, *OF_NUMBERS]))
    return name


def entry_of(name: str) -> Listed:
    """Its entry in the catalogue, of classes or of numbers."""
    return BY_NAME.get(name) or OF_NUMBERS[name]


def made(name: str, settings: dict[str, Any], seed: int) -> Any:
    """The model with its settings, not yet fitted; an unknown setting is refused by naming those there are."""
    entry = entry_of(name)
    model = entry.load()()
    own = entry.for_tables()
    known = model.set_params(**{key: own[key] for key in entry.parts}).get_params()
    for key in settings:
        if key not in known:
            raise UsageError(f"{name}: {unknown('setting', key, [k for k in known if '__' not in k])}")
    seeded = {"random_state": seed} if "random_state" in known else {}
    return model.set_params(**{**own, **seeded, **settings})


def check_tuned(name: str) -> None:
    """Refuse to tune a model that has no grid.

    >>> check_tuned("lda")
    Traceback (most recent call last):
        ...
    separatrix.app.errors.UsageError: lda has no settings to choose from: leave --tune out, or tune one of logistic, \
ordinal, naive_bayes, multinomial_nb, linear_svc, svc, adaboost, bagged_trees, extra_trees, random_forest
    """
    if name not in TUNED:
        raise UsageError(
            f"{name} has no settings to choose from: leave --tune out, or tune one of {', '.join(TUNED)}"
        )


def tuner(name: str, settings: dict[str, Any], table: Any, seed: int) -> Any:
    """The search of ``compare`` for the model's settings on a table; those given are fixed and leave the grid."""
    from separatrix.judge.candidates import CANDIDATES
    from separatrix.judge.facts import TableFacts, read_X

    facts = TableFacts.of(read_X(table.frame), table.labels, table.kinds)
    search = CANDIDATES[name].make(facts, seed, "log_loss")
    free = search.fixing(settings) if settings else search
    if len(getattr(free, "grid", (0, 0))) < 2:
        fixed = " ".join(f"--set {k}={v}" for k, v in settings.items())
        if len(getattr(search, "grid", (0, 0))) < 2:
            raise UsageError(f"{name} has nothing to choose on this table; leave --tune out")
        raise UsageError(f"{name}: with {fixed} nothing is left to choose; leave it or --tune out")
    return free
