"""A model whose scores are sums over columns, as a page can compute them.

    s_h(x) = s_h(x°) + Σ_j f_hj(x_j),    f_hj(x_j) = s_h(x° with cell j replaced) − s_h(x°)

    P = σ(s) · softmax(s) · σ(s_k)/Σ σ(s_l) (a calibrated machine a class) · g⁻¹(s) (binomial models)

x° are the usual cells (median, most frequent). Each f_hj is found by asking the model at a few cells, and written as
a + b t + c t², t = (x − centre)/width; as a + b t + c log x; as a + b log x + c log(1 − x); or as a value a level.
Whether the scores are such sums, and the forms exact, is tested on rows; what is no sum is refused with a sentence.
Notes [6867] 3.2.2, [726]; row O5. Shapes: H heads (1, or K classes). Cost: about 30p + 60·p rows of prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray, expit
from separatrix.data.sources import TableLike
from separatrix.models.margin.calibration import Sigmoid
from separatrix.show.additive import MISS, moved_terms, worst_miss
from separatrix.show.reading import ShownTable, last_step, name_of, table_of
from separatrix.show.report_parts.answers import classes_of, probabilities_of, take
from separatrix.show.report_parts.words import cell_text

EXACT = 1e-9  # of a form, relative to the largest term
P_MISS = 1e-8
PROBES = 13
CHECKED = 60  # rows on which a sum is tested
MOST_COLUMNS = 300
MOST_LEVELS = 400
STOPS = 101
LINKS = ("logit", "probit", "cloglog")


class NotASum(ValueError):
    """The model is no sum over columns; the message says why in a sentence."""


@dataclass(frozen=True, eq=False)
class Form:
    """f_j of one column: ``kind`` "poly", "log", "beta" (numbers), "levels", "stops" or "held", with what it needs.

    cells : levels or stops (m,); values (m, H) there; labels of levels
    weights : (3, H) of a number's form; centre, width of t; point where f is 0
    low, high, whole : range of a number in the rows given
    missing : (H,) the term of a missing cell, None where there was none
    ends : (2, H) least and largest term over the cells asked about; reach : the largest difference of them
    """

    name: str
    kind: str
    usual: Any
    cells: tuple[Any, ...] = ()
    values: FloatArray | None = None
    labels: tuple[str, ...] = ()
    weights: FloatArray | None = None
    centre: float = 0.0
    width: float = 1.0
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    missing: FloatArray | None = None
    ends: FloatArray | None = None
    reach: float = 0.0


def bases(kind: str, x: FloatArray, centre: float, width: float) -> FloatArray:
    """The three functions of a number's form at cells x (m,): (m, 3). The page computes the same."""
    t = (x - centre) / width
    if kind == "poly":
        return np.column_stack([np.ones_like(x), t, t * t])
    if kind == "log":
        return np.column_stack([np.ones_like(x), t, np.log(x)])
    return np.column_stack([np.ones_like(x), np.log(x), np.log1p(-x)])


def values_at(form: Form, cells: list[Any]) -> FloatArray:
    """f_j at some cells (m, H), as the page computes them; of levels and stops only at those there are."""
    if form.weights is not None:
        return np.asarray(
            bases(form.kind, np.asarray(cells, dtype=float), form.centre, form.width) @ form.weights
        )
    assert form.values is not None
    return form.values[[form.cells.index(c) for c in cells]]


def link_of(mode: str, scores: FloatArray) -> FloatArray:
    """P (n, K) from scores (n, H)."""
    if mode == "softmax":
        top = np.exp(scores - scores.max(axis=1, keepdims=True))
        return top / top.sum(axis=1, keepdims=True)
    if mode == "ovr":
        own = expit(scores)
        return own / own.sum(axis=1, keepdims=True)
    s = scores[:, 0]
    p = expit(s) if mode == "logit" else ndtr(s) if mode == "probit" else -np.expm1(-np.exp(s))
    return np.column_stack([1.0 - p, p])


@dataclass(frozen=True, eq=False)
class Sum:
    """s(x) = start + Σ_j f_j(x_j) of a fitted model, P = mode(s).

    >>> from separatrix import LogisticRegression
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
    >>> model = LogisticRegression().fit(X, [0, 1, 0, 1])
    >>> found = Sum.of(model, X)
    >>> found.mode, [form.kind for form in found.forms]
    ('logit', ['poly', 'stops'])
    >>> scores = found.start + found.terms(X).sum(axis=1)
    >>> bool(np.allclose(link_of(found.mode, scores), model.predict_proba(X), rtol=0, atol=1e-12))
    True
    """

    mode: str
    classes: list[Any]
    start: FloatArray
    forms: list[Form]
    table: ShownTable
    average: FloatArray  # (p, H) mean term over the rows tested
    _score: Callable[[Any], FloatArray]

    @classmethod
    def of(cls, model: BaseEstimator, X: TableLike) -> Sum:
        """Find the sum of a fitted classifier or binomial model from rows X (n, p); refuse with :class:`NotASum`."""
        table = shown_table(X)
        score, mode = heads_of(model)
        with np.errstate(all="ignore"):
            start = score(table.rows(1, {}))[0]
            if not np.isfinite(start).all():
                raise NotASum(f"{name_of(model)} is certain of the usual row: its log-odds is infinite")
            forms = _forms(table, score, start)
            found = cls(mode, classes_of(model), start, forms, table, np.zeros((table.p, len(start))), score)
            average = found._test(model, X)
        return cls(mode, found.classes, start, forms, table, average, score)

    def terms(self, X: TableLike) -> FloatArray:
        """f_hj(x_ij): (n, p, H), by asking the model with one cell replaced at a time."""
        given = table_of(X)
        table = self.table.joined(given)
        return np.stack(moved_terms(table, table.cells_of(given), self._score, self.start), axis=1)

    def _test(self, model: BaseEstimator, X: TableLike) -> FloatArray:
        """The mean terms; refused where sums are not the scores, or P not that of the model."""
        rows = _some(X, self.table.n, CHECKED)
        terms, seen = self.terms(rows), self._score(rows)
        if not (np.isfinite(terms).all() and np.isfinite(seen).all()):
            raise NotASum(f"{name_of(model)} is certain of some rows: their log-odds is infinite")
        sums = self.start + terms.sum(axis=1)
        if worst_miss(terms, self.start, seen)[2] > MISS:
            raise NotASum(f"the log-odds of {name_of(model)} is no sum over columns")
        P = probabilities_of(model, rows)
        if P is None or np.abs(link_of(self.mode, sums) - P).max() > P_MISS:
            raise NotASum(f"the probabilities of {name_of(model)} are no function of sums over columns")
        if all(form.kind == "held" for form in self.forms):
            raise NotASum("the columns are texts or constants, for which a panel has no control")
        if not any(form.reach > 0 for form in self.forms):
            raise NotASum(f"{name_of(model)} gives every row the same answer")
        return np.asarray(terms.mean(axis=0))


def shown_table(X: Any, most: int = MOST_COLUMNS) -> ShownTable:
    """X as columns; refused where they are more than a panel has room for, before any is looked at."""
    shape: Any = getattr(X, "shape", ())
    p = int(shape[1]) if len(shape) == 2 else 0
    if p > most:
        raise NotASum(f"the table has {p:,} columns, and {most} are the most a panel has room for")
    try:
        return table_of(X)
    except (TypeError, ValueError) as error:
        raise NotASum(str(error)) from None


# ---- heads ----


def heads_of(model: BaseEstimator) -> tuple[Callable[[Any], FloatArray], str]:
    """(X → scores (n, H), how they become P) of a classifier or a binomial model."""
    inner = last_step(model)
    if hasattr(inner, "link_") and hasattr(inner, "family_"):
        if inner is not model or inner.family_.name not in ("binomial", "bernoulli"):
            raise NotASum(f"{name_of(model)} gives no probability of a class")
        if inner.link_.name not in LINKS:
            raise NotASum(f"the link {inner.link_.name} is none of {', '.join(LINKS)}")
        return lambda X: np.asarray(model.predict(X, kind="link"))[:, None], inner.link_.name
    if not hasattr(model, "predict_proba"):
        raise NotASum(f"{name_of(model)} has no probabilities")
    k = len(classes_of(model))
    seen = before(model)
    maps = getattr(inner, "calibration_", None)
    if maps is not None and getattr(inner, "calibrate", None) is not None:
        if not all(isinstance(m, Sigmoid) for m in maps) or len(maps) != (1 if k == 2 else k):
            raise NotASum(
                f"{name_of(model)} is calibrated by steps or by pairs of classes, which is no sum over columns"
            )
        slope, offset = np.array([m.slope for m in maps]), np.array([m.offset for m in maps])

        def mapped(X: TableLike) -> FloatArray:
            return slope * np.asarray(inner.decision_function(seen(X))).reshape(-1, len(maps)) + offset

        return mapped, "logit" if k == 2 else "ovr"
    mode = "logit" if k == 2 else "softmax"
    if hasattr(inner, "predict_joint_log_proba"):
        return lambda X: _against_first(np.asarray(inner.predict_joint_log_proba(seen(X)))), mode
    return _log_odds(inner, seen), mode


def _log_odds(inner: BaseEstimator, seen: Callable[[Any], Any]) -> Callable[[Any], FloatArray]:
    def odds(X: TableLike) -> FloatArray:
        Z = seen(X)
        with np.errstate(divide="ignore"):
            own = getattr(inner, "predict_log_proba", lambda Z: np.log(inner.predict_proba(Z)))
            logs = own(Z)
        near = _against_first(np.asarray(logs))
        if not hasattr(inner, "decision_function"):
            return near
        exact = np.asarray(inner.decision_function(Z))
        exact = exact[:, None] if exact.ndim == 1 else _against_first(exact)
        # a decision function need not be the log-odds: it is taken where both agree, or where P has rounded to 0 or 1
        if exact.shape != near.shape:
            return near
        with np.errstate(invalid="ignore"):
            same = np.abs(exact - near) <= 1e-6 * (1.0 + np.abs(exact))
        return exact if bool(np.all(same | (np.abs(exact) > 30))) else near

    return odds


def _against_first(logs: FloatArray) -> FloatArray:
    """log P_k − log P_0; of two classes the second's alone."""
    found = logs - logs[:, :1]
    return found[:, 1:] if logs.shape[1] == 2 else found


def before(model: BaseEstimator) -> Callable[[Any], Any]:
    """What the last step sees of X."""
    model = getattr(model, "best_estimator_", model)
    if not hasattr(model, "steps") or len(model.steps) == 1:
        return lambda X: X
    return lambda X: model[:-1].transform(X)


# ---- columns ----


def text_at(column: np.ndarray, value: Any) -> str:
    """A cell in words; a moment without the hours it does not have."""
    if column.dtype.kind != "M" or value is None:
        return cell_text(value)
    moment = np.array([value], dtype=column.dtype)
    day = moment.astype("datetime64[D]")
    return str(np.datetime_as_string(moment, unit="D" if (day == moment).all() else "s")[0])


def _some(X: TableLike, n: int, most: int) -> Any:
    """At most ``most`` rows, spread over the table."""
    places = np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))
    return take(X, places)


def _forms(table: ShownTable, score: Callable[[Any], FloatArray], start: FloatArray) -> list[Form]:
    """The forms of all columns, from one prediction of their probes (in blocks)."""
    asked = [probes(table, j) for j in range(table.p)]
    terms = moved_terms(table, list(enumerate(asked)), score, start)
    return [_form(table, j, asked[j], terms[j]) for j in range(table.p)]


def _distinct(column: np.ndarray) -> list[Any]:
    """Distinct cells, most frequent first; a missing one, if any, last."""
    counts: dict[Any, int] = {}
    gap: list[Any] = []
    for v in column.tolist():
        if v is None or v != v:
            gap = [v]
        else:
            counts[v] = counts.get(v, 0) + 1
    return [*sorted(counts, key=lambda v: -counts[v]), *gap]


def probes(table: ShownTable, j: int) -> list[Any]:
    """Cells to ask about: of a number points over its range and cells that occur; else every level."""
    if not table.numeric[j]:
        levels = _distinct(table.columns[j])
        if table.columns[j].dtype.kind == "M":
            empty = [v for v in levels if v is None]
            days = sorted(v for v in levels if v is not None)
            places = np.unique(np.linspace(0, len(days) - 1, min(len(days), STOPS)).astype(int)).tolist()
            return [*sorted({*(days[i] for i in places), table.base[j]}), *empty]
        long = len(levels) > MOST_LEVELS or any(isinstance(v, str) and len(v) > 120 for v in levels)
        return [table.base[j]] if long else levels
    values = np.asarray(table.columns[j], dtype=float)
    known = np.unique(values[np.isfinite(values)])
    if not len(known):
        return [table.base[j]]
    gap = [np.nan] if np.isnan(values).any() else []
    stops = known if len(known) <= STOPS else known[np.linspace(0, len(known) - 1, STOPS).astype(int)]
    if bool((known == np.rint(known)).all()):
        return [*stops.tolist(), *gap]
    between = known[0] + (known[-1] - known[0]) * 0.5 * (
        1 - np.cos(np.pi * (np.arange(PROBES) + 0.5) / PROBES)
    )
    return [*stops.tolist(), *between.tolist(), *gap]


def _form(table: ShownTable, j: int, cells: list[Any], values: FloatArray) -> Form:
    name, usual = table.names[j], table.base[j]
    gap = None
    last = cells[-1]
    if len(cells) > 1 and table.numeric[j] and last != last:
        gap, cells, values = values[-1], cells[:-1], values[:-1]
    if not np.isfinite(values).all() or (gap is not None and not np.isfinite(gap).all()):
        raise NotASum(f"column {name!r} has cells that make the model certain: their log-odds is infinite")
    ends = np.array([values.min(axis=0), values.max(axis=0)])
    reach = float(np.ptp(ends, axis=0).max())
    if not table.numeric[j]:
        if len(cells) == 1:
            return Form(name, "held", usual, ends=ends)
        labels = tuple(text_at(table.columns[j], c) for c in cells)
        return Form(name, "levels", usual, tuple(cells), values, labels=labels, ends=ends, reach=reach)
    if len(cells) == 1:
        return Form(name, "held", usual, ends=ends)
    x = np.asarray(cells, dtype=float)
    low, high = float(x.min()), float(x.max())
    whole = bool((x == np.rint(x)).all())
    options: dict[str, Any] = {"low": low, "high": high, "whole": whole, "missing": gap}
    options |= {"ends": ends, "reach": reach}
    centre, width = 0.5 * (low + high), 0.5 * (high - low)
    size = float(np.abs(values).max())
    for kind in ("poly", "log", "beta"):
        if (kind == "log" and low <= 0) or (kind == "beta" and not (low > 0 and high < 1)):
            continue
        B = bases(kind, x, centre, width)
        weights = np.linalg.lstsq(B, values, rcond=None)[0]
        if len(x) > 3 and np.abs(B @ weights - values).max() <= EXACT * max(size, 1e-300):
            return Form(name, kind, usual, weights=weights, centre=centre, width=width, **options)
        if len(x) <= 3 and kind == "poly":
            break
    order = np.argsort(x, kind="stable")
    return Form(name, "stops", usual, tuple(x[order].tolist()), values[order], **options)
