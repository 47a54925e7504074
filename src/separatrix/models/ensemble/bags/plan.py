"""What a way of fitting bags is given, and what it gives back:  fits = way(plan, bags, verbose).

    logistic_batch   logistic regressions as one batch                 None where it does not serve the plan
    shared_trees     trees of this library on columns read once        None where it does not serve the plan
    one_by_one       any learner, a fit a bag

Notes [6321] "Bagging: Bootstrap aggregation". Row E3 of the specification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from separatrix.core.numerics import FloatArray
from separatrix.data.side_by_side import say_done, side_by_side
from separatrix.models.ensemble.bags.draws import Draws
from separatrix.problems.gram import Index

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
    weight: FloatArray | None  # of the rows alone; the draws' has the classes' in it
    given: int  # rows the user gave
    present: Index | None  # those of them that are here; None: all

    @property
    def thin(self) -> bool:
        return self.draws.m * THIN < self.draws.n

    def learner(self, bag: int) -> Any:
        """The base learner unfitted, every seed in it drawn for this bag."""
        model = clone(self.base)
        seeded = [k for k in model.get_params() if k == "random_state" or k.endswith("__random_state")]
        seed = self.draws.learner_seed(bag)
        return model.set_params(**{k: seed for k in seeded}) if seeded else model

    def constant_vote(self, seen: np.ndarray, bag: int) -> Bag | None:
        """The vote of a bag that holds one class, ``seen`` (K,) being those it holds; None where it holds more."""
        if self.classes is None or not seen.sum() == 1 < len(seen):
            return None
        columns = np.zeros((1, len(self.draws.columns(bag))))
        model = DummyClassifier(strategy="most_frequent").fit(columns, self.classes[seen])
        return Bag(model, constant=True)


@dataclass(frozen=True, eq=False)
class Bag:
    """A fitted learner; ``constant``: the bag held one class, and this is its vote."""

    model: Any
    constant: bool = False


@dataclass(frozen=True, eq=False)
class Fits:
    """The bags that were fitted, by number; whether Ctrl-C cut the work short; how it was done, in words."""

    models: dict[int, Bag]
    interrupted: bool
    how: str
    sweeps: float = 0.0


def run_bags(work: Callable[[int], Bag], bags: Sequence[int], verbose: int) -> tuple[dict[int, Bag], bool]:
    """work(bag) for each on the engine's workers: what is done, by bag, and whether Ctrl-C cut it short."""
    return side_by_side(work, bags, each=say_done(len(bags)) if verbose else None)
