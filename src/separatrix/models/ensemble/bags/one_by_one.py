"""One bag after another, or side by side:  h_b = the learner fitted to D_b, c_b as sample weights if it takes any.

    takes sample_weight   one fit to all rows with weights c_b: no row is copied
    a thin bag            the same with its own rows only, where they are less than a quarter of the table
    takes none            a fit to the rows drawn, repeats included

A bag in which a class is missing has the rows of the other classes only; one of a single class is a constant vote.
Notes [6321] "Bagging: Bootstrap aggregation". Row E3 of the specification. Cost: B fits of the base learner.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from sklearn.utils import _safe_indexing

from separatrix.models.ensemble.bags.plan import Bag, Fits, Plan, run_bags


def fit_one_by_one(plan: Plan, bags: Sequence[int], verbose: int) -> Fits:
    """A fit of the base learner for each bag."""
    done, interrupted = run_bags(partial(_fit, plan), bags, verbose)
    if not plan.takes_weight:
        how = "on the rows drawn (it takes no sample_weight)"
    else:
        rows = "a bag's own rows" if plan.thin else "all rows"
        how = f"on {rows}, counts as weights"
    return Fits(done, interrupted, f"one by one {how}")


def _fit(plan: Plan, bag: int) -> Bag:
    """The learner fitted to bag b; an error says in which bag it arose."""
    draws = plan.draws
    counts = draws.counts(bag)
    whole = True
    if plan.codes is not None and plan.classes is not None:
        seen = np.bincount(plan.codes[counts > 0], minlength=len(plan.classes)) > 0
        constant = plan.constant_vote(seen, bag)
        if constant is not None:
            return constant
        whole = bool(seen.all())
    X = plan.X if draws.all_columns else _safe_indexing(plan.X, draws.columns(bag), axis=1)
    model = plan.learner(bag)
    try:  # what fit returns is not looked at: some return None
        if not plan.takes_weight:
            rows = draws.rows(bag)
            model.fit(_safe_indexing(X, rows), plan.y[rows])
            return Bag(model)
        weight = draws.weights(counts)
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
