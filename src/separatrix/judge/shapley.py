"""What each column adds to a model's answer for a row, against a sample of other rows: Shapley values.

    v(S) = mean_b f(x_S, b_rest),    φ_j = Σ_{S ∌ j} |S|!(p − |S| − 1)!/p! · (v(S ∪ j) − v(S)),    v(∅) + Σ_j φ_j =
    f(x)

    trees         exact, from the leaves (tree_shapley.py)
    p ≤ 10        exact, over all 2ᵖ sets of columns
    else          the mean over random orders of the columns, each with its reverse and a background row of its own;
                  the sum stays exact, and each φ_j has a standard error

f is P(k | x) of each class, or any function of rows (n, K). A column that is a word, a date or a text is one column.
Shapley (1953); Štrumbelj and Kononenko (2014). Row V4. Cost a row: 2ᵖ·B predictions, or ORDERS·(p + 1).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.base import BaseEstimator
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from separatrix.core.numerics import FloatArray
from separatrix.judge.cells import joined_rows, mixed, names_of
from separatrix.judge.plain_trees import PlainForest, plain_forest
from separatrix.judge.tree_shapley import tree_shapley

EXACT = 10  # columns up to which every set of them is asked about
ORDERS = 100  # of the columns, where sets are too many
MOST = 400  # columns
BLOCK = 20_000  # rows asked about at once
SAME = 1e-6  # by which plain trees may miss the model's own probabilities
BY_COLUMN = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


@dataclass(frozen=True, eq=False)
class Contributions:
    """What p columns add to the answers for n rows: ``adds`` (n, p, K), ``base`` (K,), ``output`` (n, K).

    ``base`` + Σ_j ``adds`` is ``output``; ``error`` (n, p, K) are standard errors, None where all is exact; ``how``
    says what was done, in words; n may be less than asked, where time was up.
    """

    names: list[str]
    base: FloatArray
    adds: FloatArray
    output: FloatArray
    error: FloatArray | None
    how: str


def contributions(
    model: BaseEstimator, X: Any, background: Any, *, seed: int = 0, seconds: float | None = None
) -> Contributions:
    """Shapley values of P(k | x) of a fitted classifier for the rows X, against background rows of the same columns.

    >>> from separatrix import DecisionTreeClassifier
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 6.0], [3.0, 6.0]])
    >>> model = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    >>> found = contributions(model, X[3:], X)
    >>> found.base.tolist(), found.adds[0, :, 1].tolist(), found.output[0].tolist()
    ([0.5, 0.5], [0.5, 0.0], [0.0, 1.0])
    """

    def answer(rows: Any) -> FloatArray:
        return np.asarray(model.predict_proba(rows), dtype=float)

    found = _of_trees(model, X, background, answer)
    return shapley(answer, X, background, seed=seed, seconds=seconds) if found is None else found


def shapley(
    f: Callable[[Any], FloatArray], X: Any, background: Any, *, seed: int = 0, seconds: float | None = None
) -> Contributions:
    """The same of any function of rows f: table (n, p) → (n, K).

    >>> found = shapley(lambda Z: Z @ np.array([[2.0], [3.0]]), np.ones((1, 2)), np.zeros((4, 2)))
    >>> found.adds[0, :, 0].round(12).tolist(), found.error is None
    ([2.0, 3.0], True)
    """
    began = time.perf_counter()
    names = names_of(background)
    p = len(names)
    if p > MOST:
        raise ValueError(f"the table has {p:,} columns, and {MOST} are the most whose parts are told apart")
    both = joined_rows(X, background)
    n, B = _rows(X), _rows(background)
    one: Callable[..., tuple[FloatArray, FloatArray | None]] = _by_sets if p <= EXACT else _by_orders
    adds: list[FloatArray] = []
    errors: list[FloatArray | None] = []
    for i in range(n):
        value, error = one(f, both, i, n + np.arange(B), p, np.random.default_rng([seed, i]))
        adds.append(value)
        errors.append(error)
        spent = time.perf_counter() - began
        if seconds is not None and spent * (i + 2) / (i + 1) > seconds:
            break
    done = len(adds)
    base, output = _asked(f, background).mean(axis=0), _asked(f, mixed(both, np.arange(done), {}))
    how = f"exact over all sets of {p} columns, against {B} rows of the table"
    if p > EXACT:
        how = f"estimated from {ORDERS} orders of the {p} columns, against {B} rows of the table"
    known = [e for e in errors if e is not None]
    error = np.stack(known) if known else None
    return Contributions(names, base, np.stack(adds), output, error, how)


# ---- any model ----


def _by_sets(
    f: Callable[[Any], FloatArray], both: Any, i: int, others: np.ndarray, p: int, rng: Any
) -> tuple[FloatArray, None]:
    """φ (p, K) of row i of ``both`` against the rows ``others`` of it, over all sets of columns."""
    sets = (np.arange(1 << p)[:, None] >> np.arange(p)) & 1
    B = len(others)
    some = max(1, BLOCK // B)
    v = []
    for a in range(0, len(sets), some):
        chosen = np.repeat(sets[a : a + some], B, axis=0).astype(bool)
        behind = np.tile(others, len(chosen) // B)
        rows = mixed(both, behind, {j: np.where(chosen[:, j], i, behind) for j in range(p)})
        v.append(np.asarray(f(rows)).reshape(len(chosen) // B, B, -1).mean(axis=1))
    values = np.concatenate(v)
    size = sets.sum(axis=1)
    phi = np.empty((p, values.shape[1]))
    for j in range(p):
        out = np.flatnonzero(sets[:, j] == 0)
        weight = np.exp(gammaln(size[out] + 1) + gammaln(p - size[out]) - gammaln(p + 1))
        phi[j] = weight @ (values[out | (1 << j)] - values[out])
    return phi, None


def _by_orders(
    f: Callable[[Any], FloatArray], both: Any, i: int, others: np.ndarray, p: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """(φ (p, K), standard errors): the means over pairs of an order and its reverse, each against one row.

    Every background row has as many pairs as any other, so that the sum is f(x) less the mean over all of them.
    """
    each = max(2, -(-ORDERS // (2 * len(others))))
    behind = np.repeat(others, each)
    pairs = np.stack([rng.permutation(p) for _ in behind])
    orders = np.stack([pairs, pairs[:, ::-1]], axis=1).reshape(-1, p)
    behind = np.repeat(behind, 2)
    place = np.argsort(orders, axis=1)  # when a column joins
    some = max(1, BLOCK // (p + 1))
    gains = []
    for a in range(0, len(orders), some):
        here, at = behind[a : a + some], place[a : a + some]
        step = np.tile(np.arange(p + 1), len(here))
        rows_behind, when = np.repeat(here, p + 1), np.repeat(at, p + 1, axis=0)
        moved = {j: np.where(when[:, j] < step, i, rows_behind) for j in range(p)}
        v = np.asarray(f(mixed(both, rows_behind, moved))).reshape(len(here), p + 1, -1)
        gains.append(np.take_along_axis(np.diff(v, axis=1), at[:, :, None], axis=1))
    g = np.concatenate(gains).reshape(len(behind) // 2, 2, p, -1).mean(axis=1)
    return g.mean(axis=0), g.std(axis=0, ddof=1) / np.sqrt(len(g))


def _asked(f: Callable[[Any], FloatArray], rows: Any) -> FloatArray:
    return np.asarray(f(rows), dtype=float)


# ---- trees ----


def _of_trees(
    model: BaseEstimator, X: Any, background: Any, answer: Callable[[Any], FloatArray]
) -> Contributions | None:
    """The exact values of a forest behind an encoder of single columns; None of another model."""
    found = seen_forest(model, background)
    if found is None:
        return None
    forest, read, source = found
    cells, behind = read(X), read(background)
    output = answer(X)
    if np.abs(forest.mean(cells) - output).max() > SAME:
        return None  # leaves are read otherwise than the model reads them: it is asked itself
    names = names_of(background)
    adds = tree_shapley(forest, source, len(names), cells, behind)
    base = forest.mean(behind).mean(axis=0)
    count = len(forest.trees)
    trees = "a tree" if count == 1 else f"{count} trees"
    how = f"exact, from the leaves of {trees}, against {_rows(behind)} rows of the table"
    return Contributions(names, base, adds, output, None, how)


def seen_forest(
    model: BaseEstimator, X: Any
) -> tuple[PlainForest, Callable[[Any], FloatArray], np.ndarray] | None:
    """(the trees, table → cells as they read them, the table's column behind each of these); None of other models."""
    inner = last_of(model)
    forest, source = plain_forest(inner), sources(model, X)
    if forest is None or source is None:
        return None
    ahead = before_last(model)
    read = forest.read
    return forest, lambda rows: read(ahead(rows)), source


def last_of(model: BaseEstimator) -> Any:
    """The estimator itself, or a pipeline's (a search's) last."""
    model = getattr(model, "best_estimator_", model)
    return model.steps[-1][1] if hasattr(model, "steps") else model


def before_last(model: BaseEstimator) -> Callable[[Any], Any]:
    """What the last step sees of a table."""
    model = getattr(model, "best_estimator_", model)
    if not hasattr(model, "steps") or len(model.steps) == 1:
        return lambda X: X
    ahead: Any = model
    return lambda X: ahead[:-1].transform(X)


def sources(model: BaseEstimator, X: Any) -> np.ndarray | None:
    """The number of the table's column behind each feature that the last step sees; None where nobody says."""
    model = getattr(model, "best_estimator_", model)
    place = np.arange(X.shape[1])
    for _, step in getattr(model, "steps", [])[:-1]:
        if isinstance(step, BY_COLUMN) or step == "passthrough":
            continue
        named = getattr(step, "source_", None)
        if named is None or not np.array_equal(place, np.arange(X.shape[1])):
            return None
        known = {name: j for j, name in enumerate(names_of(X))}
        if any(str(name) not in known for name in named):
            return None
        place = np.array([known[str(name)] for name in named], dtype=np.intp)
    return place


def _rows(X: Any) -> int:
    return int(X.shape[0])
