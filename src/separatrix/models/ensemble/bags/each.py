"""One bag after another, or side by side:  h_b = the learner fitted to D_b, c_b as sample weights if it takes any.

    takes sample_weight   one fit to all rows with weights c_b: no row is copied
    a thin bag            the same with its own rows only, where they are less than a quarter of the table
    takes none            a fit to the rows drawn, repeats included

A bag in which a class is missing has the rows of the other classes only; one of a single class is a constant vote.
Notes [6321] "Bagging: Bootstrap aggregation". Row E3 of the specification. Cost: B fits of the base learner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import _safe_indexing

from separatrix.core.numerics import FloatArray, Index
from separatrix.data.door import is_count
from separatrix.data.side_by_side import say_done, side_by_side
from separatrix.models.ensemble.bags.draws import Draws

THIN = 4  # tables this many times as long as a bag are cut down to its rows


@dataclass(frozen=True, eq=False)
class Plan:
    """What every bag needs: the learner, the table, y as labels or numbers, codes of the classes (None: numbers)."""

    base: Any
    X: Any
    y: np.ndarray
    codes: Index | None
    classes: np.ndarray | None
    draws: Draws
    takes_weight: bool
    weight: FloatArray | None = None  # of the rows alone; the draws' has the classes' in it

    @property
    def thin(self) -> bool:
        return self.draws.m * THIN < self.draws.n

    def learner(self, bag: int) -> Any:
        """The base learner unfitted, every seed in it drawn for this bag."""
        model = clone(self.base)
        seeded = [k for k in model.get_params() if k == "random_state" or k.endswith("__random_state")]
        seed = self.draws.learner_seed(bag)
        return model.set_params(**{k: seed for k in seeded}) if seeded else model


@dataclass(frozen=True, eq=False)
class Bag:
    """A fitted learner; ``constant``: the bag held one class, and this is its vote."""

    model: Any
    constant: bool = False


def fit_bag(plan: Plan, bag: int) -> Bag:
    """The learner fitted to bag b; an error says in which bag it arose."""
    draws = plan.draws
    counts = draws.counts(bag)
    whole = True
    if plan.codes is not None and plan.classes is not None:
        seen = np.bincount(plan.codes[counts > 0], minlength=len(plan.classes)) > 0
        if seen.sum() == 1 < len(seen):
            return Bag(constant_vote(plan, int(np.flatnonzero(seen)[0]), bag), constant=True)
        whole = bool(seen.all())
    X = plan.X if draws.all_columns else _safe_indexing(plan.X, draws.columns(bag), axis=1)
    model = plan.learner(bag)
    try:
        if not plan.takes_weight:
            rows = draws.rows(bag)
            model.fit(
                _safe_indexing(X, rows), plan.y[rows]
            )  # what fit returns is not looked at: some return None
            return Bag(model)
        weight = counts.astype(float)
        if draws.weight is not None and not draws.bootstrap:
            weight *= draws.weight
        if whole and not plan.thin:
            model.fit(X, plan.y, sample_weight=weight)
            return Bag(model)
        rows = np.flatnonzero(counts)
        model.fit(_safe_indexing(X, rows), plan.y[rows], sample_weight=weight[rows])
        return Bag(model)
    except (ValueError, TypeError) as error:
        raise type(error)(f"bag {bag}: {error}") from error
    except Exception as error:
        error.add_note(f"in bag {bag}")
        raise


def constant_vote(plan: Plan, code: int, bag: int) -> DummyClassifier:
    """The vote of a bag that holds one class."""
    assert plan.classes is not None
    label = plan.classes[[code]]
    columns = len(plan.draws.columns(bag))
    return DummyClassifier(strategy="most_frequent").fit(np.zeros((1, columns)), label)


def run_bags(
    work: Callable[[int], Bag], bags: Sequence[int], verbose: int = 0
) -> tuple[dict[int, Bag], bool]:
    """work(bag) for each on the engine's workers: what is done, by bag, and whether Ctrl-C cut it short."""
    return side_by_side(work, bags, each=say_done(len(bags)) if verbose else None)


def verdict_in(model: Any) -> Any:
    """The verdict of a model, or of a pipeline's last step; None where there is none."""
    found = getattr(model, "verdict_", None)
    if found is None and hasattr(model, "steps"):
        found = getattr(model.steps[-1][1], "verdict_", None)
    return found


def check_bagging(model: Any) -> None:
    """Refuse, before data is read, what cannot be meant."""
    if not (is_count(model.n_estimators) and model.n_estimators >= 1):
        raise ValueError(
            f"n_estimators must be a whole number of at least 1, got {model.n_estimators!r}: an ensemble of no bags "
            "predicts nothing"
        )
    if model.n_jobs is not None and (not is_count(model.n_jobs) or model.n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {model.n_jobs!r}")
    if model.oob_score and model.warm_start:
        raise ValueError(
            "oob_score=True needs warm_start=False: the rows a former fit left out are not known to be these"
        )
    if model.estimator is not None and not (
        hasattr(model.estimator, "fit") and hasattr(model.estimator, "predict")
    ):
        raise TypeError(
            f"estimator {model.estimator!r} must have fit and predict: give a model, not its class or name"
        )
    if isinstance(model.estimator, type):
        raise TypeError(
            f"estimator is the class {model.estimator.__name__}: give a model, {model.estimator.__name__}()"
        )
