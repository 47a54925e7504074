"""Labels, and the weights of rows: read and checked once, at the door.

    y → (classes, codes)        the distinct labels in a fixed order, and each row's index into them; −1 for no label
    sample_weight → (n,)        a weight is repetition; None: every row once

Labels may be of any hashable type. Integers are counted, words and objects hashed in one pass, O(n); only the
distinct ones are sorted. Fractions are sorted, O(n log n).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from separatrix.core.numerics import FloatArray
from separatrix.data.sources import is_dask

SOME_WORDS = 1 << 8  # words from which comparing them as numbers beats sorting them as text
FEW_WORDS = 8  # distinct ones up to which comparing with each beats a search
MANY_WORDS = 1 << 15  # words from which a compiled loop is worth loading
KEY = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no part of a word is lost in the product
FEW_CLASSES = 1 << 16  # distinct words up to which they are coded by hashing, and not by sorting


def read_labels(y: Any, n: int | None) -> tuple[np.ndarray, np.ndarray]:
    """(classes, codes): the distinct labels in a fixed order and each row's index into them.

    >>> classes, codes = read_labels(["b", "a", "b"], 3)
    >>> classes.tolist(), codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    if y is None:
        raise ValueError(
            "this estimator requires y to be passed, but the target y is None: give one label a row"
        )
    if is_dask(y):
        y = y.compute()
    return _declared_codes(y, n) or _codes(as_labels(y), n)


def _declared_codes(y: Any, n: int | None) -> tuple[np.ndarray, np.ndarray] | None:
    """A pandas column of categories by its own codes, numbered anew; None of others, or where one is missing."""
    found = getattr(y, "cat", None) if getattr(y, "ndim", 0) == 1 else None
    codes, categories = getattr(found, "codes", None), getattr(found, "categories", None)
    if codes is None or categories is None or (n is not None and len(codes) != n) or not len(codes):
        return None
    codes = np.asarray(codes)
    if codes.min() < 0:
        return None
    present = np.bincount(codes, minlength=len(categories)) > 0
    classes, order = _codes(as_labels(np.asarray(categories[present])), None)
    number = np.empty(len(present), dtype=np.intp)
    number[present] = order
    return classes, number[codes]


def _codes(labels: np.ndarray, n: int | None) -> tuple[np.ndarray, np.ndarray]:
    if n is not None and len(labels) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {len(labels)} labels"
        )
    if labels.dtype.kind in "biu":
        return _integer_codes(labels)
    if labels.dtype.kind == "O":
        return _object_codes(labels)
    if labels.dtype.kind == "U" and len(labels) >= SOME_WORDS and labels.dtype.itemsize:
        found = _keyed_codes(labels) if len(labels) < MANY_WORDS else _word_codes(labels)
        if found is not None:
            return found
    if labels.dtype.kind == "f":
        _refuse_missing_labels(labels)
        check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes


def read_numbers(y: Any, n: int) -> FloatArray:
    """Targets of a regression as float64 (n,); what is not a finite number is refused by row.

    >>> read_numbers([1, 2.5], 2)
    array([1. , 2.5])
    """
    if y is None:
        raise ValueError(
            "this estimator requires y to be passed, but the target y is None: give one number a row"
        )
    given = np.asarray(y.compute() if is_dask(y) else y)
    if given.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must be real numbers")
    if given.ndim == 2 and given.shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {given.shape} instead: one number a row"
        )
    given = np.asarray(column_or_1d(given, warn=True))
    try:
        z = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"y must be numbers, got dtype {given.dtype}: for classes use the classifier"
        ) from None
    if len(z) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows, y has {len(z)} targets"
        )
    bad = np.flatnonzero(~np.isfinite(z))
    if len(bad):
        what = "NaN" if np.isnan(z[bad[0]]) else "infinity"
        raise ValueError(f"Input y contains {what} in row {bad[0]}: drop such rows")
    return z


def read_some_labels(
    y: Any, n: int | None, known: Iterable[Any] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(classes, codes) where a row may have no label: its code is −1.

    No label is None or NaN, and among integers −1, unless −1 is a known class or the only other label besides
    one: y of −1 and 1 is the usual coding of two classes. ``known`` lists the classes met before.

    >>> classes, codes = read_some_labels([0, 1, -1], 3)
    >>> classes.tolist(), codes.tolist()
    ([0, 1], [0, 1, -1])
    """
    if y is None:
        read_labels(y, n)
    if is_dask(y):
        y = y.compute()
    declared = _declared_codes(y, n)
    if declared is not None and declared[0].dtype.kind == "O":
        return declared
    labels = as_labels(y)
    if labels.dtype.kind in "iu":
        absent = labels == -1
        if absent.any() and (
            (known is None and len(np.unique(labels[~absent])) < 2)
            or (known is not None and -1 in list(known))
        ):
            absent = np.zeros(len(labels), dtype=bool)
    elif labels.dtype.kind == "f":
        absent = np.isnan(labels)
    elif labels.dtype.kind == "O":
        absent = _missing_objects(labels)
    else:
        absent = np.zeros(len(labels), dtype=bool)
    if not absent.any():
        return _codes(labels, n)
    if n is not None and len(labels) != n:
        read_labels(labels, n)
    present = labels[~absent]
    if (
        labels.dtype.kind == "O"
        and len(present)
        and all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in present)
    ):
        present = present.astype(np.int64)
    classes, found = read_labels(present, None)
    codes = np.full(len(labels), -1, dtype=np.intp)
    codes[~absent] = found
    return classes, codes


def as_labels(y: Any) -> np.ndarray:
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufU":
        return y
    array = _as_objects(y) if isinstance(y, (list, tuple)) and not _is_plain(y) else np.asarray(y)
    if array.ndim == 2 and array.shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {array.shape} instead: one label a row"
        )
    return np.asarray(column_or_1d(array, warn=True))


def read_weights(sample_weight: Any, n: int) -> FloatArray | None:
    """Weights as float64 (None: all one); a negative, missing or all-zero weight is refused by row."""
    if sample_weight is None:
        return None
    if is_dask(sample_weight):
        sample_weight = sample_weight.compute()
    if np.isscalar(sample_weight):
        sample_weight = np.full(n, sample_weight)
    weight = np.asarray(sample_weight)
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}")
    if weight.dtype.kind not in "fiub":
        raise ValueError(f"sample_weight must be numbers, got dtype {weight.dtype}")
    if len(weight) != n:
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(n,)}: one weight a row")
    weight = weight.astype(np.float64, copy=False)
    bad = ~(weight >= 0) | np.isinf(weight)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ValueError(f"sample_weight must be finite and not negative: row {i} has weight {weight[i]}")
    if not weight.any():
        raise ValueError("sample_weight is zero in every row: nothing is left to fit")
    return weight


def drop_absent_classes(
    classes: np.ndarray, codes: np.ndarray, weight: FloatArray | None
) -> tuple[np.ndarray, np.ndarray, FloatArray]:
    """Classes that keep some weight, the codes renumbered, and each class's total weight.

    Weight zero means absence, so a class whose rows all weigh nothing is not a class: its rows have the code of
    a row without a label, −1.
    """
    labelled = codes >= 0 if codes.min(initial=0) < 0 else slice(None)
    some = None if weight is None else weight[labelled]
    totals = np.bincount(codes[labelled], some, minlength=len(classes)).astype(float)
    if (totals > 0).all():
        return classes, codes, totals
    keep = totals > 0
    renumber = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
    return classes[keep], renumber[codes], totals[keep]


def refuse_one_class(classes: np.ndarray) -> None:
    """A classifier needs something to tell apart."""
    if len(classes) < 2:
        only = repr(classes.tolist()[0]) if len(classes) else "none"
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{only}. Add rows of another class"
        )


def _is_plain(y: Sequence[Any]) -> bool:
    """Whether NumPy reads a list of labels as it is meant: no tuples as rows, no words made of mixed types."""
    types = set(map(type, y))
    odd = (tuple, frozenset, str, bytes, dict, type(None))
    return not any(issubclass(t, odd) for t in types) or (len(types) == 1 and isinstance(y[0], (str, bytes)))


def _as_objects(y: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(y), dtype=object)
    array[:] = y
    return array


def is_missing(label: object) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # an array: refused as not hashable
        return False


def _missing_objects(labels: np.ndarray) -> np.ndarray:
    """Which labels of any type are missing: the distinct ones are asked."""
    values = labels.tolist()
    try:
        missing = {v for v in dict.fromkeys(values) if is_missing(v)}
    except TypeError:  # not hashable: refused by who codes them
        return np.array([is_missing(v) for v in values], dtype=bool)
    if not missing:
        return np.zeros(len(values), dtype=bool)
    return np.fromiter(map(missing.__contains__, values), dtype=bool, count=len(values))


def _refuse_missing_labels(labels: np.ndarray) -> None:
    bad = ~np.isfinite(labels) if labels.dtype.kind == "f" else _missing_objects(labels)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        what = "infinity" if labels.dtype.kind == "f" and np.isinf(labels[i]) else "NaN"
        raise ValueError(
            f"Input y contains {what}: row {i} has no label ({int(bad.sum())} rows in all); drop rows without one"
        )


def _integer_codes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integer labels by counting rather than sorting: half a million rows take a millisecond or two."""
    if len(labels) == 0:
        return labels, labels.astype(np.intp)
    low, high = int(labels.min()), int(labels.max())
    if high - low > 65_536 or high > np.iinfo(np.intp).max:
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes
    shifted = labels.astype(np.intp, copy=False)
    shifted = shifted - low if low else shifted
    present = np.bincount(shifted, minlength=high - low + 1) > 0
    if present.all():
        return np.arange(low, high + 1).astype(labels.dtype), shifted
    number = np.cumsum(present) - 1
    classes = (np.flatnonzero(present) + low).astype(labels.dtype)
    return classes, number[shifted]


def _keyed_codes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Words by one number each, made of the characters in which they differ; None where two words share a number."""
    native = np.ascontiguousarray(labels, dtype=labels.dtype.newbyteorder("="))
    unit = np.uint64 if native.itemsize % 8 == 0 else np.uint32
    words = native.view(unit).reshape(len(native), -1)
    differ = [j for j in range(words.shape[1]) if (words[:, j] != words[0, j]).any()]
    key = np.zeros(len(words), dtype=np.uint64)
    for j in differ:  # of one part alone the number is the part itself
        key *= KEY
        np.add(key, words[:, j], out=key)
    order = np.sort(key)
    distinct = order[np.append(True, order[1:] != order[:-1])]
    if len(distinct) > FEW_WORDS:
        codes = np.searchsorted(distinct, key)
    else:
        codes = np.zeros(len(key), dtype=np.intp)
        for word in distinct[1:]:
            np.add(codes, key >= word, out=codes)
    place = np.empty(len(distinct), dtype=np.intp)
    place[codes] = np.arange(len(codes))
    if len(differ) > 1 and not (words[place[codes]] == words).all():
        return None
    classes, number = np.unique(labels[place], return_inverse=True)
    return classes, number[codes]


def _word_codes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Many words, few of them distinct, by hashing rather than sorting."""
    from separatrix.loops.words import code_words

    native = np.require(labels, dtype=labels.dtype.newbyteorder("="), requirements=["C", "W"])
    words = native.view(np.uint32).reshape(len(native), -1)
    few = min(len(native), FEW_CLASSES)
    found, first = np.empty(len(native), dtype=np.intp), np.empty(few, dtype=np.intp)
    count = code_words(words, found, first, np.full(2 << few.bit_length(), -1, dtype=np.intp))
    if count < 0:
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes
    classes, number = np.unique(labels[first[:count]], return_inverse=True)
    return classes, number[found]


def _object_codes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels of any hashable type, sorted where they can be, else by type name and text."""
    values = labels.tolist()
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError as error:
        _refuse_missing_labels(labels)
        raise ValueError(f"Unknown label type: labels must be hashable ({error})") from None
    if any(map(is_missing, distinct)):
        _refuse_missing_labels(labels)
    if all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in distinct):
        check_classification_targets(np.array(distinct, dtype=float))
    try:
        distinct.sort()
    except TypeError:
        distinct.sort(key=lambda v: (type(v).__name__, repr(v)))
    number = {v: k for k, v in enumerate(distinct)}
    classes = np.empty(len(distinct), dtype=object)
    classes[:] = distinct
    return classes, np.fromiter(map(number.__getitem__, values), dtype=np.intp, count=len(values))
