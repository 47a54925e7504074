"""Intervals of coefficients without standard errors:  the middle 95 % over B bootstraps of the rows.

    rows*_b drawn with replacement (again if a class is missing),  ŵ_b = fit(rows*_b), [q_0.025, q_0.975] of ŵ_1j…ŵ_Bj

The encoder and the penalty stay as they are: the spread of the estimates is shown and not the bias a penalty brings.
Efron (1979); notes [726]; row O5. Cost: B fits; tables too large for that have none, and it is said.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import TableLike
from separatrix.show.coefficients import Panel
from separatrix.show.reading import last_step, weights_of
from separatrix.show.report_parts.answers import take
from separatrix.show.report_parts.sums import before

DRAWS = 200
CELLS = 300_000  # n · p · K beyond which fits are too dear to repeat
SECONDS = 20.0
NONE = "No intervals: a penalised fit has no standard errors, and "


def with_ends(
    model: BaseEstimator,
    X: TableLike,
    y: ArrayLike,
    panels: list[Panel],
    level: float,
    seconds: float | None = None,
) -> tuple[list[Panel], str]:
    """(the panels with intervals, a sentence); the panels as they were where there are none, and why.

    ``seconds`` are those left of a budget; None for as many as it takes, up to 20.
    """
    most = SECONDS if seconds is None else min(seconds, SECONDS)
    if most <= 0:
        return panels, NONE + "the time of the budget was over."
    inner = last_step(model)
    Z, labels = before(model)(X), np.asarray(y)
    n, p = Z.shape
    if n * p * len(panels) > CELLS:
        return panels, NONE + "the table is too large to bootstrap here."
    fresh = clone(inner)
    if getattr(fresh, "calibrate", None) is not None:
        fresh.set_params(calibrate=None)
    began, rng, drawn = time.perf_counter(), np.random.default_rng(0), []
    classes = len(np.unique(labels))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(DRAWS):
            # within classes the draw would keep their shares, and the constant would seem twice as sure as it is
            rows = rng.integers(0, n, n)
            while len(np.unique(labels[rows])) < classes:
                rows = rng.integers(0, n, n)
            drawn.append(_weights(fresh.fit(take(Z, rows), labels[rows])))
            if time.perf_counter() - began > most:
                return panels, NONE + "its bootstraps took too long."
    found = np.array(drawn)
    if found.shape[1:] != (len(panels), len(panels[0].value)) or not np.isfinite(found).all():
        return panels, "No intervals: the fits to bootstraps of the rows have no finite coefficients."
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)
    note = (
        f"Intervals are the middle {100 * level:g} % over {DRAWS} bootstraps of the rows: how much the estimates "
        "vary, without the bias that a penalty brings on purpose."
    )
    return [Panel(q.title, q.value, np.column_stack([a, b])) for q, a, b in zip(panels, low, high)], note


def _weights(inner: BaseEstimator) -> FloatArray:
    """(K, 1 + p), the constant first."""
    coef = weights_of(inner)
    constant = np.broadcast_to(np.atleast_1d(np.asarray(inner.intercept_, dtype=float)), (len(coef),))
    return np.column_stack([constant, coef])
