"""Responses, offsets and weights of a generalised linear model, read and checked at the door ([6867] 3.2.3; row D8).

A frequency says how often a row stands there; a precision w that Var y = φ V(μ)/w. They are told apart because only
the first counts observations. A binomial proportion's precision is its number of trials. Every refusal names the row
and the way out. Cost O(n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.core.caller import warn
from separatrix.core.links import Link
from separatrix.core.numerics import FloatArray
from separatrix.core.responses import Response
from separatrix.data.door import is_dask, read_labels, read_weights

FEW = 4096  # whole responses below this are counted instead of listed
FEW_ROWS = 5  # rows a sentence lists before it counts the rest
WHOLE = 1e-7  # how far a count of successes may be from a whole number


@dataclass(frozen=True)
class Observations:
    """The rows' own numbers: response y (n,), offset, and weights of two kinds (None: zero, one, one).

    ``frequency`` is how often a row stands there; ``precision`` divides its variance, and is the number of trials of
    a binomial proportion. For K classes y holds class indices. ``classes`` are the labels of a binomial response that
    had some, ``findings`` what a reader should know of how it was read.
    """

    y: FloatArray
    offset: FloatArray | None = None
    frequency: FloatArray | None = None
    precision: FloatArray | None = None
    classes: np.ndarray | None = None
    findings: tuple[str, ...] = ()

    @property
    def weight(self) -> FloatArray | None:
        """s = frequency · precision: what a row weighs in the likelihood."""
        if self.frequency is None or self.precision is None:
            return self.precision if self.frequency is None else self.frequency
        return self.frequency * self.precision

    @cached_property
    def count(self) -> float:
        """The number of observations: rows by their frequency, those that weigh nothing left out."""
        if self.precision is None:
            return float(len(self.y)) if self.frequency is None else float(self.frequency.sum())
        present = self.precision > 0
        return float(np.count_nonzero(present) if self.frequency is None else self.frequency[present].sum())

    def total_of(self, function: Callable[[FloatArray], FloatArray]) -> float:
        """Σ_i s_i f(y_i); small whole numbers, which counts mostly are, are gone through once each."""
        y, s = self.y, self.weight
        whole = y.astype(np.intp) if len(y) and y.min() >= 0 and y.max() < FEW else None
        if whole is None or not np.array_equal(whole, y):
            return self.total(function(y))
        each = np.bincount(whole, s).astype(float)
        seen = np.flatnonzero(each)
        return float(each[seen] @ function(seen.astype(float)))

    def total(self, values: FloatArray, *, weight: bool = True) -> float:
        """Σ_i s_i v_i, or Σ_i frequency_i v_i without the precision; rows that weigh nothing may hold anything."""
        s = self.weight if weight else self.frequency
        return float(values.sum()) if s is None else float(np.dot(s, np.where(s > 0, values, 0.0)))


def read_observations(
    y: Any,
    n: int,
    family: Response,
    link: Link,
    sample_weight: Any = None,
    precision: Any = None,
    offset: Any = None,
    exposure: Any = None,
    classes: Any = None,
    weights: Any = None,
) -> Observations:
    """Everything a row brings besides its columns; ``classes`` are the labels of an earlier fit, if it had any.

    ``weights`` are R's prior weights: a precision under R's name, which R takes for every family. Where the family
    has no φ to divide they multiply a row's log-likelihood, and degrees of freedom count rows.
    """
    if weights is not None and precision is not None:
        raise ValueError("weights and precision are two names of the same weights (R's): give one of them")
    frequency = read_weights(sample_weight, n)
    frequency = None if frequency is None else frequency.copy()  # kept for what is asked after the fit
    shift = read_offset(offset, exposure, n, link)
    precise = _prior_weights(weights, n) if weights is not None else _precision(precision, n, family)
    present = _present(frequency, precise)
    if present is not None and not present.any():
        raise ValueError(
            "sample_weight and precision leave no row that weighs something: nothing is left to fit"
        )
    values = _values(y, n)
    if family.name == "binomial":
        return _binomial(values, n, frequency, precise, shift, classes, present)
    if values.ndim == 2:
        raise ValueError(
            f"y has shape {values.shape}: two columns are counts of successes and failures, which only the binomial "
            "family reads; give one response a row"
        )
    numbers = _numbers(values, family, present)
    _refuse_outside(numbers, family)
    findings: tuple[str, ...] = ()
    if weights is not None and family.known_dispersion:
        findings = (
            f"weights: prior weights as R's: the {family.name} family has no dispersion for them to divide, so they "
            "multiply a row's log-likelihood, and degrees of freedom count rows; sample_weight is for repeated rows",
        )
    return Observations(numbers, shift, frequency, precise, None, findings)


def read_offset(offset: Any, exposure: Any, n: int, link: Link) -> FloatArray | None:
    """offset + log exposure (n,), or None; an exposure needs the log link."""
    total = None if offset is None else _vector("offset", offset, n)
    if exposure is None:
        return total
    if link.name != "log":
        raise ValueError(
            f"exposure multiplies the mean, which is an offset of its logarithm under the log link, and the link is "
            f"{link.name}: use offset="
        )
    size = _vector("exposure", exposure, n)
    if not (size > 0).all():
        i = int(np.flatnonzero(~(size > 0))[0])
        raise ValueError(
            f"exposure must be positive: row {i} has {size[i]:g}; drop rows that were never at risk"
        )
    return np.log(size) if total is None else total + np.log(size)


def _vector(name: str, given: Any, n: int) -> FloatArray:
    if isinstance(given, str):
        raise ValueError(
            f"{name}={given!r} names a column, which a model of a formula reads (from_formula): here give its numbers"
        )
    if is_dask(given):
        given = given.compute()
    values = np.asarray(given)
    if values.ndim == 0:
        values = np.full(n, values)
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numbers, got dtype {values.dtype}")
    if values.shape != (n,):
        raise ValueError(f"{name} must have one number a row, {n} in all, got shape {values.shape}")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        i = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"{name} must be finite: row {i} has {values[i]}")
    return values


def _precision(precision: Any, n: int, family: Response) -> FloatArray | None:
    if precision is None:
        return None
    if family.known_dispersion and family.name != "binomial":
        raise ValueError(
            f"precision says Var y = φV/w, and the {family.name} family has no φ to divide: give sample_weight for "
            "rows that stand there several times, exposure for counts over longer times"
        )
    return _prior_weights(precision, n, "precision")


def _prior_weights(given: Any, n: int, name: str = "weights") -> FloatArray:
    values = _vector(name, given, n)
    if not (values >= 0).all():
        i = int(np.flatnonzero(~(values >= 0))[0])
        raise ValueError(f"{name} must not be negative: row {i} has {values[i]:g}")
    if not values.any():
        raise ValueError(f"{name} is zero in every row: nothing is left to fit")
    return values


def _values(y: Any, n: int) -> np.ndarray:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None: give one response a row")
    if is_dask(y):
        y = y.compute()
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warn(
            "A column-vector y was passed when a 1d array was expected: it is read as one response a row",
            DataConversionWarning,
        )
        values = values.ravel()
    if values.ndim not in (1, 2) or (values.ndim == 2 and values.shape[1] != 2):
        raise ValueError(
            f"y should be a 1d array, one response a row; got an array of shape {values.shape} instead"
        )
    if len(values) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {len(values)} "
            "responses"
        )
    return values


def _numbers(values: np.ndarray, family: Response, present: np.ndarray | None = None) -> FloatArray:
    """Finite numbers; a row that weighs nothing is absent, whatever it holds, and gets the response of another."""
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must be real numbers")
    if values.dtype.kind in "mM":
        raise ValueError(
            f"y holds dates or durations ({values.dtype}): give the numbers that are meant, days or hours"
        )
    if present is not None and not present.all():
        values = values.copy()
        values[~present] = values[np.flatnonzero(present)[0]]
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Unknown label type: y must be numbers for the {family.name} family, got {values.dtype} like "
            f"{values.flat[0]!r}"
        ) from None
    if not np.isfinite(numbers).all():
        i = int(np.flatnonzero(~np.isfinite(numbers).reshape(len(numbers), -1).all(axis=1))[0])
        what = "NaN" if np.isnan(numbers[i]).any() else "infinity"
        raise ValueError(f"Input y contains {what}: row {i}; drop rows without a response")
    return numbers


def _present(frequency: FloatArray | None, precision: FloatArray | None) -> np.ndarray | None:
    """Which rows weigh something; None: all."""
    if frequency is None or precision is None:
        only = precision if frequency is None else frequency
        return None if only is None else only > 0
    return frequency * precision > 0


def _refuse_outside(y: FloatArray, family: Response) -> None:
    bad = np.flatnonzero(family.outside(y))
    if not len(bad):
        return
    i = int(bad[0])
    more = f" ({len(bad)} such rows)" if len(bad) > 1 else ""
    ways = {
        "binomial": "give 0 and 1, proportions with precision=trials, two columns of counts, or labels",
        "gamma": 'use family="tweedie" with power 1.5 where zeros are real, or leave those rows out',
        "inverse_gaussian": "leave those rows out, or choose another family",
    }
    way = ways.get(family.name, 'choose another family ("gaussian" takes every number)')
    raise ValueError(
        f"y is {y[i]:g} in row {i}{more}; the {family.name} family takes {family.support}: {way}"
    )


def _binomial(
    values: np.ndarray,
    n: int,
    frequency: FloatArray | None,
    precision: FloatArray | None,
    shift: FloatArray | None,
    classes: Any,
    present: np.ndarray | None,
) -> Observations:
    from separatrix.core.responses import Binomial

    family = Binomial()
    if values.ndim == 2:
        return _counts(_numbers(values, family), frequency, precision, shift)
    if values.dtype.kind in "USO" and not _are_numbers(values):
        if present is not None and not present.all():
            values = values.copy()
            values[~present] = values[np.flatnonzero(present)[0]]
        labels, codes = read_labels(values, n)
        if classes is not None:
            labels, codes = _known(labels, codes, classes)
        if len(labels) != 2:
            raise ValueError(
                f"y has {len(labels)} labels, and a binomial response has two: {labels.tolist()[:5]}; for "
                "more classes use "
                "LogisticRegression"
            )
        words = f"response: {labels.tolist()[1]!r} counts as success, {labels.tolist()[0]!r} as failure"
        return Observations(codes.astype(np.float64), shift, frequency, precision, labels, (words,))
    y = _numbers(values, family, present)
    _refuse_outside(y, family)
    if bool(np.all((y == 0) | (y == 1))):
        return Observations(y, shift, frequency, precision)
    if precision is None and frequency is not None:
        # a part of one trial cannot be repeated: the weight is the trials
        frequency, precision = None, frequency
    if precision is None:
        words = (
            "response: proportions without their trials: coefficients are quasi-likelihood's, and standard "
            "errors those "
            "of one trial a row; give precision=trials"
        )
        return Observations(y, shift, frequency, precision, None, (words,))
    wins = precision * y
    off = np.abs(wins - np.round(wins)) > WHOLE * np.maximum(precision, 1.0)
    if off.any():
        i = int(np.flatnonzero(off)[0])
        words = (
            f"response: {y[i]:g} of {precision[i]:g} trials is no whole number of successes (row {i}, "
            f"{int(off.sum())} such "
            "rows): log-likelihood and AIC continue the binomial coefficient"
        )
        return Observations(y, shift, frequency, precision, None, (words,))
    return Observations(y, shift, frequency, precision)


def _counts(
    table: FloatArray, frequency: FloatArray | None, precision: FloatArray | None, shift: FloatArray | None
) -> Observations:
    if precision is not None:
        raise ValueError("y of two columns holds the trials already: leave precision out")
    if (table < 0).any():
        i = int(np.flatnonzero((table < 0).any(axis=1))[0])
        raise ValueError(
            f"counts of successes and failures must not be negative: row {i} has {table[i].tolist()}"
        )
    trials = table.sum(axis=1)
    if not trials.any():
        raise ValueError("y counts no trial in any row: nothing is left to fit")
    share = np.divide(table[:, 0], trials, out=np.zeros(len(table)), where=trials > 0)
    none = np.flatnonzero(trials == 0)
    findings: tuple[str, ...] = ()
    if len(none):
        shown = ", ".join(map(str, none[:FEW_ROWS].tolist()))
        more = f" and {len(none) - FEW_ROWS} more" if len(none) > FEW_ROWS else ""
        findings = (
            f"trials: {len(none)} of {len(table)} rows have none (0 of 0) and weigh nothing: rows {shown}{more}",
        )
    return Observations(share, shift, frequency, trials, None, findings)


def _are_numbers(values: np.ndarray) -> bool:
    return values.dtype.kind == "O" and all(isinstance(v, (int, float, np.number)) for v in values.tolist())


def _known(labels: np.ndarray, codes: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray]:
    places = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [v for v in labels.tolist() if v not in places]
    if unknown:
        raise ValueError(f"label {unknown[0]!r} was not seen in training: the labels are {list(places)}")
    return classes, np.array([places[v] for v in labels.tolist()], dtype=np.intp)[codes]
