"""Scores of probabilities, and what may be said of their means over resamples.

    log loss      −Σ w_i log p_i(y_i) / Σ w_i
    accuracy      share of rows, by weight, predicted right
    Brier         Σ w_i (p_i1 − [y_i = 1])² / Σ w_i of two classes, Σ w_i Σ_k (p_ik − [y_i = k])² / Σ w_i of more
    cost          Σ w_i C[y_i, ŷ_i] / Σ w_i,  ŷ the answer of least expected cost
    AUC           P(score of a row of the class > that of another row), ties by half; K > 2: mean one-vs-rest
    calibration error   Σ_b W_b |share right − mean P(predicted)| / Σ W_b   over ten equal bins of P(predicted)

    mean over J resamples   d̄ ± t_{J−1} √((1/J + n_test/n_train) s²)        Nadeau and Bengio (2003)

Resamples share training rows, so that s²/J alone is far too small; the second term is for that. Notes [726]. Row V1.
Shapes: codes (n,) of 0 … K − 1, P (n, K), weights (n,). Cost: O(nK), AUC O(nK log n).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from separatrix.core.numerics import EPS, FloatArray
from separatrix.judge.label_scores import (
    average_precision,
    balanced_accuracy,
    f1,
    mae,
    mcc,
    precision,
    r2,
    recall,
    rmse,
)

BINS = 10


def log_loss(codes: np.ndarray, P: FloatArray, weight: Any = None) -> float:
    """−Σ w_i log p_i(y_i) / Σ w_i; probabilities below 2.2e-16 count as that.

    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [0.2, 0.8]])), 4)
    0.4581
    """
    own = np.clip(P[np.arange(len(codes)), codes], EPS, 1.0)
    return float(np.average(-np.log(own), weights=weight))


def accuracy(codes: np.ndarray, predicted: np.ndarray, weight: Any = None) -> float:
    """The share of rows predicted right.

    >>> accuracy(np.array([0, 1, 1]), np.array([0, 1, 0]), np.array([1.0, 1.0, 2.0]))
    0.5
    """
    return float(np.average(codes == predicted, weights=weight))


def error(codes: np.ndarray, predicted: np.ndarray, weight: Any = None) -> float:
    """1 − accuracy."""
    return 1.0 - accuracy(codes, predicted, weight)


def brier(codes: np.ndarray, P: FloatArray, weight: Any = None) -> float:
    """(p_i1 − [y_i = 1])² of two classes, from 0 to 1; Σ_k (p_ik − [y_i = k])² of more, from 0 to 2; averaged.

    As scikit-learn's ``brier_score_loss``, of two classes and of more.

    >>> round(brier(np.array([1]), np.array([[0.2, 0.8]])), 4)
    0.04
    """
    if P.shape[1] == 2:
        return float(np.average(np.square(P[:, 1] - (codes == 1)), weights=weight))
    hit = codes[:, None] == np.arange(P.shape[1])
    return float(np.average(np.square(P - hit).sum(axis=1), weights=weight))


def auc(codes: np.ndarray, P: FloatArray, weight: Any = None) -> float:
    """The area under the ROC curve; of K classes the mean over those present, each against the rest.

    NaN where one class alone is present.

    >>> auc(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    0.75
    """
    w = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=float)
    if P.shape[1] == 2:
        return area(codes == 1, P[:, 1], w)
    areas = [area(codes == k, P[:, k], w) for k in range(P.shape[1]) if (codes == k).any()]
    return float(np.mean(areas)) if len(areas) > 1 else float("nan")


def area(positive: np.ndarray, score: FloatArray, weight: FloatArray) -> float:
    """Σ w_i w_j ([s_i > s_j] + ½[s_i = s_j]) over positive i and other j, as a share. O(n log n)."""
    _, place = np.unique(score, return_inverse=True)
    above = np.bincount(place, weights=weight * positive)
    below = np.bincount(place, weights=weight * ~positive)
    total = above.sum() * below.sum()
    if not total > 0:
        return float("nan")
    return float(above @ (np.cumsum(below) - 0.5 * below) / total)


def calibration_error(codes: np.ndarray, P: FloatArray, weight: Any = None, bins: int = BINS) -> float:
    """Σ_b W_b |share right − mean probability of the predicted class| / Σ W_b, over equal bins of that probability.

    >>> round(calibration_error(np.array([1, 1, 0, 1]), np.tile([0.15, 0.85], (4, 1))), 4)
    0.1
    """
    w = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=float)
    said = P.max(axis=1)
    place = np.minimum((said * bins).astype(int), bins - 1)
    excess = np.bincount(place, weights=w * ((P.argmax(axis=1) == codes) - said), minlength=bins)
    return float(np.abs(excess).sum() / w.sum())


def cheapest(P: FloatArray, cost: FloatArray) -> np.ndarray:
    """argmin_l Σ_k p_k C_kl (n,): the answers of least expected cost."""
    return np.asarray((P @ cost).argmin(axis=1))


def mean_cost(codes: np.ndarray, P: FloatArray, cost: FloatArray, weight: Any = None) -> float:
    """What the answers of least expected cost do cost, on average; C_kl is that of saying l when k is true.

    >>> mean_cost(np.array([0, 1]), np.array([[0.9, 0.1], [0.9, 0.1]]), np.array([[0.0, 1.0], [20.0, 0.0]]))
    0.5
    """
    return float(np.average(cost[codes, cheapest(P, cost)], weights=weight))


class Interval(NamedTuple):
    """A mean over resamples with the ends of its interval; NaN where there is one resample only."""

    mean: float
    low: float
    high: float

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2


def digits(found: Interval, places: int) -> int:
    """Digits after the point with which an end of an interval differs from its mean: ``places``, or up to 2 more.

    >>> digits(Interval(0.933, 0.92, 0.95), 3), digits(Interval(0.99991, 0.99987, 0.99995), 3)
    (3, 5)
    """
    ends = [v for v in (found.low, found.high) if np.isfinite(v) and v != found.mean]
    far = max((abs(v - found.mean) for v in ends), default=0.0)
    if not (far > 0 and np.isfinite(far)):
        return places
    need = int(np.ceil(-np.log10(2 * far)))
    return (
        places if need > places + 2 else max(places, need)
    )  # what is narrower still is of no width to a reader


@dataclass(frozen=True)
class Metric:
    """A score by its name: which way is better, how it is called and printed, what it needs, what it can be at least
    and at most, whether it looks at one class of two (``sided``), and what it is of: "classes" or "numbers".
    """

    name: str
    title: str
    higher: bool
    of: Callable[..., float]
    needs: str = "probabilities"
    places: int = 3
    most: float = float("inf")
    least: float = 0.0
    sided: bool = False
    task: str = "classes"

    def inside(self, found: Interval) -> Interval:
        """The interval cut to what the score can be."""
        return Interval(found.mean, max(found.low, self.least), min(found.high, self.most))

    def value(self, codes: np.ndarray, given: Any, positive: int | None = None) -> float:
        """Of answers (n,) or probabilities (n, K), whichever it needs; ``positive`` the class of two that counts."""
        return self.of(codes, given, positive=positive) if self.sided else self.of(codes, given)


METRICS = {
    m.name: m
    for m in (
        Metric("log_loss", "log loss", False, log_loss, places=4),
        Metric("accuracy", "accuracy", True, accuracy, "labels", most=1.0),
        Metric("error", "error", False, error, "labels", most=1.0),
        Metric("auc", "AUC", True, auc, most=1.0),
        Metric("brier", "Brier score", False, brier, most=2.0),
        Metric("calibration_error", "calibration error", False, calibration_error, most=1.0),
        Metric("balanced_accuracy", "balanced accuracy", True, balanced_accuracy, "labels", most=1.0),
        Metric("mcc", "MCC", True, mcc, "labels", most=1.0, least=-1.0),
        Metric("precision", "precision", True, precision, "labels", most=1.0, sided=True),
        Metric("recall", "recall", True, recall, "labels", most=1.0, sided=True),
        Metric("f1", "F₁", True, f1, "labels", most=1.0, sided=True),
        Metric("average_precision", "average precision", True, average_precision, most=1.0, sided=True),
        Metric("cost", "cost", False, mean_cost, "cost", least=-float("inf")),
        Metric("rmse", "RMSE", False, rmse, "labels", 4, task="numbers"),
        Metric("mae", "MAE", False, mae, "labels", 4, task="numbers"),
        Metric("r2", "R²", True, r2, "labels", most=1.0, least=-float("inf"), task="numbers"),
    )
}


def metrics_of(task: str) -> dict[str, Metric]:
    """Those of "classes" or of "numbers".

    >>> list(metrics_of("numbers"))
    ['rmse', 'mae', 'r2']
    """
    return {name: metric for name, metric in METRICS.items() if metric.task == task}


def metric_of(name: Any, allowed: Sequence[str]) -> Metric:
    """The metric of that name, or a sentence with the names there are."""
    if not isinstance(name, str) or name not in allowed:
        raise ValueError(f"metric {name!r} is unknown: use one of {', '.join(map(repr, allowed))}")
    return METRICS[name]


def read_cost(cost: Any, classes: np.ndarray) -> FloatArray:
    """C (K, K), C_kl the cost of saying l when k is true, from a matrix or {(true, said): cost}; 0 where not named.

    >>> read_cost({("spam", "ham"): 1, ("ham", "spam"): 20}, np.array(["ham", "spam"]))
    array([[ 0., 20.],
           [ 1.,  0.]])
    """
    k = len(classes)
    if isinstance(cost, dict):
        place = {label: j for j, label in enumerate(classes.tolist())}
        matrix = np.zeros((k, k))
        for pair, value in cost.items():
            if not (isinstance(pair, tuple) and len(pair) == 2):
                raise ValueError(f"cost names {pair!r}: give pairs {{(true class, answer): cost}}")
            for label in pair:
                if label not in place:
                    raise ValueError(f"cost names {label!r}, which is not a class: they are {list(place)}")
            matrix[place[pair[0]], place[pair[1]]] = value
    else:
        matrix = np.asarray(cost, dtype=float)
    if matrix.shape != (k, k):
        raise ValueError(
            f"cost must be a {k}×{k} matrix, a row for each true class and a column for each answer, in the order "
            f"{classes.tolist()}; got shape {matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        raise ValueError("cost must be finite: use a large number for what must not happen")
    return matrix


# ---- means over resamples ----


def corrected_interval(scores: Any, ratio: float, level: float = 0.95) -> Interval:
    """d̄ ± t_{J−1} √((1/J + ratio) s²), ratio = n_test/n_train (Nadeau and Bengio 2003).

    >>> [round(x, 3) for x in corrected_interval([0.8, 0.9, 0.7, 0.8], 0.25)]
    [0.8, 0.616, 0.984]
    """
    values = np.asarray(scores, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return Interval(mean, float("nan"), float("nan"))
    error = np.sqrt((1 / len(values) + ratio) * values.var(ddof=1))
    wide = float(stats.t.ppf(0.5 + level / 2, len(values) - 1) * error)
    return Interval(mean, mean - wide, mean + wide)


def bootstrapped(
    codes: np.ndarray,
    said: np.ndarray,
    P: FloatArray | None,
    names: Sequence[str],
    *,
    level: float = 0.95,
    seed: int = 0,
    positive: int | None = None,
) -> dict[str, Interval]:
    """Scores of answers with the middle 95 % of their values over bootstraps of the rows, moved by the mean's bias.

    Without the move a calibration error, which every resample makes larger, could lie outside its own interval.
    Scores that need probabilities are left out where P is None. Cost: 400 scores, 100 beyond 20,000 rows.

    >>> found = bootstrapped(
    ...     np.array([0, 1] * 50), np.array([0, 1, 1, 1] * 25), None, ["accuracy", "log_loss"]
    ... )
    >>> [round(v, 2) for v in found["accuracy"]], list(found)
    ([0.75, 0.68, 0.84], ['accuracy'])
    """
    n, rng = len(codes), np.random.default_rng(seed)
    draws = [rng.integers(0, n, n) for _ in range(400 if n <= 20_000 else 100)]
    found = {}
    for name in names:
        metric = METRICS[name]
        if metric.needs == "cost" or (P is None and metric.needs != "labels"):
            continue
        given: Any = said if metric.needs == "labels" else P
        value = metric.value(codes, given, positive)
        values = np.array([metric.value(codes[rows], given[rows], positive) for rows in draws])
        values = values[np.isfinite(values)]
        if not len(values) or not np.isfinite(value):
            found[name] = Interval(value, float("nan"), float("nan"))
            continue
        low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]) + (value - values.mean())
        found[name] = metric.inside(Interval(value, float(low), float(high)))
    return found


def bootstrapped_numbers(
    y: np.ndarray, predicted: np.ndarray, *, level: float = 0.95, seed: int = 0
) -> dict[str, Interval]:
    """Scores of predicted numbers, with the middle 95 % of their values over bootstraps of the rows.

    >>> found = bootstrapped_numbers(np.arange(50.0), np.arange(50.0) + np.array([1.0, -1.0] * 25))
    >>> {name: round(v.mean, 3) for name, v in found.items()}
    {'rmse': 1.0, 'mae': 1.0, 'r2': 0.995}
    """
    n, rng = len(y), np.random.default_rng(seed)
    draws = [rng.integers(0, n, n) for _ in range(400 if n <= 20_000 else 100)]
    found = {}
    for name, metric in metrics_of("numbers").items():
        values = np.array([metric.of(y[rows], predicted[rows]) for rows in draws])
        low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2])
        found[name] = metric.inside(Interval(metric.of(y, predicted), float(low), float(high)))
    return found


def corrected_t(differences: Any, ratio: float) -> tuple[float, float]:
    """t = d̄ / √((1/J + ratio) s²) and its two-sided p with J − 1 degrees of freedom.

    Differences that are all 0 have t = 0 and p = 1; all equal and not 0, t = ±∞ and p = 0.

    >>> t, p = corrected_t([0.1, 0.2, 0.15, 0.05], 0.25)
    >>> round(t, 3), round(p, 3)
    (2.739, 0.071)
    """
    values = np.asarray(differences, dtype=float)
    count, mean = len(values), float(values.mean())
    if count < 2:
        return float("nan"), float("nan")
    error = float(np.sqrt((1 / count + ratio) * values.var(ddof=1)))
    if error <= 4 * EPS * float(np.abs(values).max()):
        return (0.0, 1.0) if mean == 0 else (float(np.copysign(np.inf, mean)), 0.0)
    t = mean / error
    return t, float(2 * stats.t.sf(abs(t), count - 1))


def holm(p: Any) -> FloatArray:
    """p-values (m,) made larger so that the chance of any false one among them stays below the level (Holm 1979).

    >>> holm([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.06, 0.06])
    """
    values = np.asarray(p, dtype=float)
    out = np.full(len(values), np.nan)
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.argsort(values[known], kind="stable")]
    out[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1)), 1.0)
    return out


def scores_of(
    codes: np.ndarray,
    predicted: np.ndarray,
    P: FloatArray | None,
    cost: FloatArray | None,
    positive: int | None = None,
) -> dict[str, float]:
    """Every metric of the answers; NaN where it needs probabilities and there are none."""
    found = {}
    for name, metric in metrics_of("classes").items():
        if metric.needs == "cost":
            found[name] = float("nan") if P is None or cost is None else mean_cost(codes, P, cost)
            continue
        given: Any = predicted if metric.needs == "labels" else P
        found[name] = float("nan") if given is None else metric.value(codes, given, positive)
    return found
