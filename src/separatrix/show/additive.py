"""A model as a sum over columns:  s(x) = s₀ + Σ_j f_j(x_j),  s the log-odds, or the score under a link.

    f_j(v) = s(usual cells with x_j = v) − s(usual cells)

The terms of a linear rule are its weights'; of any other model each column is moved alone. That they add up is tested
on the rows given. Usual cells are the median of numbers and dates, the most frequent of words, in pictures, reports
and explanations alike. Notes [726] (naive Bayes and logistic regression as sums); row V4. Cost: O(np) of a linear
rule, else the prediction of np rows, in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray, expit
from separatrix.data.sources import TableLike
from separatrix.models.margin.calibration import Sigmoid
from separatrix.show.reading import ShownTable, codes_of, last_step, name_of, table_of, weights_of

MISS = 1e-8  # by which a sum over columns may miss the score, as a share of its largest sum of terms
BLOCK = 20_000  # rows asked for at a time


def score_of(
    model: BaseEstimator, label: Any, against: Any, X: TableLike
) -> tuple[Callable[[Any], FloatArray], Callable[..., Any], str]:
    """(x → s, s → P, what P is) of a classifier or a binomial model."""
    inner = last_step(model)
    if hasattr(inner, "link_") and hasattr(inner, "family_"):
        if inner.family_.name not in ("binomial", "bernoulli"):
            raise TypeError(f"the nomogram reads a probability, and the family is {inner.family_.name}")
        if label is not None or against is not None:
            raise ValueError("label= and against= are a classifier's: a binomial model has one probability")
        if inner is not model:
            raise TypeError("give the binomial model itself, not a pipeline")
        return lambda X: model.predict(X, kind="link"), inner.link_.inverse, "probability of success"
    classes = getattr(model, "classes_", getattr(inner, "classes_", None))
    if classes is None or not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{name_of(model)} has no predict_proba: a nomogram needs probabilities"
            + (' (calibrate="sigmoid")' if hasattr(inner, "calibrate") else "")
        )
    classes = np.asarray(classes)
    labels = classes.tolist()
    if len(classes) > 2 and (label is None or against is None):
        raise ValueError(
            f"{name_of(model)} has {len(classes)} classes and a nomogram compares two: name them with label= and "
            f"against=, of {labels}"
        )
    k = 1 if label is None else int(codes_of(classes, [label], 1)[0])
    r = 1 - k if against is None else int(codes_of(classes, [against], 1)[0])
    if k == r:
        raise ValueError(f"label and against are both {labels[k]!r}: name two classes")
    answer = f"probability of {labels[k]}"
    if len(classes) > 2:
        answer += f",\nif it is {labels[k]} or {labels[r]}"
    return _log_odds(model, inner, k, r, len(classes), X), expit, answer


def _log_odds(
    model: BaseEstimator, inner: BaseEstimator, k: int, r: int, classes: int, X: TableLike
) -> Callable[[Any], FloatArray]:
    """x → log P(k|x)/P(r|x), from the model's own scores where it has them (no rounding of probabilities)."""
    maps = getattr(inner, "calibration_", None)
    if maps is not None and getattr(inner, "calibrate", None) is not None:
        if classes > 2 or not isinstance(maps[0], Sigmoid):
            raise TypeError(
                f"{name_of(model)} is calibrated by {'steps' if classes == 2 else 'a machine a class'}, whose "
                'log-odds is no sum over columns: use two classes and calibrate="sigmoid"'
            )
        sign = 1.0 if k == 1 else -1.0
        return lambda X: sign * (maps[0].slope * np.asarray(model.decision_function(X)) + maps[0].offset)
    if hasattr(model, "predict_joint_log_proba"):

        def joint(X: TableLike) -> FloatArray:
            found = np.asarray(model.predict_joint_log_proba(X))
            return found[:, k] - found[:, r]

        return joint

    def odds(rows: Any) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):  # certain models are refused by name below
            logs = np.asarray(model.predict_log_proba(rows))
            return logs[:, k] - logs[:, r]

    if not hasattr(model, "decision_function"):
        return odds

    def scores(rows: Any) -> FloatArray:
        found = np.asarray(model.decision_function(rows))
        return found[:, k] - found[:, r] if found.ndim == 2 else (found if k == 1 else -found)

    # a decision function need not be the log-odds: it is taken where both agree, and probabilities keep their digits
    exact, near = scores(X), odds(X)
    told = np.isfinite(near) & (np.abs(exact) < 25)
    if not told.any() or (np.abs(exact - near)[told] > 1e-6 * (1.0 + np.abs(exact[told]))).any():
        return odds
    return scores


def moved_terms(
    table: ShownTable,
    wanted: Sequence[tuple[int, Sequence[Any]]],
    score: Callable[[Any], FloatArray],
    start: float | FloatArray,
) -> list[FloatArray]:
    """f_j at the cells asked for: [(j, cells (m_j,))] → [(m_j, …)], the model asked for some columns at a time."""
    found: list[FloatArray] = []
    block: list[tuple[int, Sequence[Any]]] = []
    for i, (j, cells) in enumerate(wanted):
        block.append((j, cells))
        held = sum(len(cells) for _, cells in block)
        if i + 1 < len(wanted) and held + len(wanted[i + 1][1]) <= BLOCK:
            continue
        with np.errstate(invalid="ignore"):  # scores of ±∞ are refused by whoever asks
            scores = np.asarray(score(table.moved(block)), dtype=float) - start
        found += np.split(scores, np.cumsum([len(cells) for _, cells in block])[:-1])
        block = []
    return found


def worst_miss(terms: FloatArray, start: Any, seen: FloatArray) -> tuple[int, float, float]:
    """Where s₀ + Σ_j f_j (n, p, …) misses s (n, …) most: (row, by how much, as a share of the largest sum of terms).

    >>> worst_miss(np.array([[1.0, 2.0], [0.0, 4.0]]), 1.0, np.array([4.0, 5.5]))
    (1, 0.5, 0.1)
    """
    miss = np.abs(start + terms.sum(axis=1) - seen).reshape(len(terms), -1).max(axis=1)
    size = float(np.abs(terms).sum(axis=1).max() + np.abs(start).max())
    row = int(miss.argmax())
    return row, float(miss[row]), float(miss[row]) / max(size, 1e-300)


@dataclass(frozen=True, eq=False)
class Additive:
    """s₀ = ``start`` and the terms f_j: ``slopes`` (p,) of a linear rule, else found by moving cells."""

    table: ShownTable
    score: Callable[[Any], FloatArray]
    start: float
    slopes: FloatArray | None = None

    @classmethod
    def of(
        cls, model: BaseEstimator, table: ShownTable, score: Callable[[Any], FloatArray], X: TableLike
    ) -> Additive:
        """The sum of a model whose score is ``score``; that it is one, :func:`refuse_sum_that_misses` tests."""
        start = float(np.asarray(score(table.rows(1, {})), dtype=float)[0])
        return cls(table, score, start, _slopes(model, table, score, start, X))

    def terms(self, X: TableLike) -> FloatArray:
        """f_j(x_ij) (n, p)."""
        given = table_of(X, self.table.names)
        known = self.table.joined(given)
        return np.column_stack(self.at(known.cells_of(given), known))

    def at(
        self, wanted: Sequence[tuple[int, Sequence[Any]]], table: ShownTable | None = None
    ) -> list[FloatArray]:
        """f_j at some cells, [(j, cells (m_j,))] → [(m_j,)]; ``table`` is one that knows further words."""
        if self.slopes is None:
            return moved_terms(table or self.table, wanted, self.score, self.start)
        usual = self.table.base
        return [(np.asarray(cells, dtype=float) - usual[j]) * self.slopes[j] for j, cells in wanted]


def _slopes(
    model: BaseEstimator, table: ShownTable, score: Callable[[Any], FloatArray], base: float, X: TableLike
) -> FloatArray | None:
    """Weights of a score that is w·x + b in the columns as they are; None where it is something else."""
    inner = last_step(model)
    if inner is not model or not hasattr(inner, "coef_") or not all(table.numeric):
        return None
    coef = weights_of(inner)
    if coef.shape[1] != table.p or not np.isfinite(coef).all() or not np.isfinite(base):
        return None
    cells = table.numbers()
    if np.isnan(cells).any():
        return None
    # the score's own differences say which rows of coef_, in which scale, it is made of
    far = np.asarray(table.base, dtype=float)
    seen = np.asarray(score(X), dtype=float) - base
    heads = [coef[0], -coef[0]] if len(coef) == 1 else [a - b for a in coef for b in coef]
    maps = getattr(inner, "calibration_", None)
    if maps is not None and getattr(inner, "calibrate", None) is not None:
        heads = [maps[0].slope * h for h in heads]
    for w in heads:
        size = float(np.abs((cells - far) * w).sum(axis=1).max()) + abs(base)
        if np.abs((cells - far) @ w - seen).max() <= 1e-10 * max(size, 1e-300):
            return np.asarray(w)
    return None


def refuse_sum_that_misses(model: BaseEstimator, terms: FloatArray, start: float, seen: FloatArray) -> None:
    if not (np.isfinite(terms).all() and np.isfinite(start) and np.isfinite(seen).all()):
        raise ValueError(
            f"{name_of(model)} is certain of some rows (log-odds of ±∞): a ruler has no place for them; smooth or "
            "penalise the fit"
        )
    row, miss, share = worst_miss(terms, start, seen)
    if share > MISS:
        raise TypeError(
            f"the log-odds of {name_of(model)} is no sum over columns (row {row} differs by {miss:.3g}): a nomogram "
            "is for additive models, such as logistic regression or naive Bayes"
        )
