"""What is odd about a table, before any model is fitted:  columns that give the answer away, rows that repeat, gaps.

    leakage       a column alone takes away 97 % of the error of the majority's answer; it separates the classes; or a
                  level (or a missing cell) goes with one class only, in too many rows for chance: π_k^rows < 1e-6
    identifier    words nearly all different, whole numbers that run 1, 2, 3, …, or a name such as id, all different;
                  a frame's columns of that kind no model sees
    duplicates    rows equal in every column: in cross-validation one is asked what the other was told
    conflict      equal rows with different labels: no model gets all of them right
    target        numbers that look like a quantity, classes that look ordered, classes of one row (target_alerts.py)
    constant, correlated, rare levels, missing cells, imbalance, wide (more columns than rows)

Notes [726] "Learning curve for Twenty News Groups". Row V1. Shapes: X (n, p), y (n,). Cost: O(np log n); pairs of
columns O(p²) on at most 2,000 rows, up to 2,000 columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from separatrix.core.numerics import FloatArray
from separatrix.core.words import and_more
from separatrix.data.door import read_labels
from separatrix.judge.alert import SEVERITIES, Alert
from separatrix.judge.decomposition import equal_rows
from separatrix.judge.facts import read_X
from separatrix.judge.target_alerts import MANY, copies_of, target_alerts

__all__ = ["SEVERITIES", "Alert", "alerts"]

TAKEN_AWAY = 0.97  # of the majority's error, by one column
CHANCE = 1e-6
NEARLY_ALL = 0.95
MUCH = 0.05  # of the rows
RARE = 5  # rows of a level
NAMED = 6  # columns a sentence lists
TOLD = 2  # columns with levels of one class only, told one by one where they are many
UNSEEN = ("text", "date")  # kinds of columns that are not looked into
PAIRS = 2_000  # columns beyond which pairs are not looked at
SAMPLE = 2_000  # rows looked at first for pairs
ID_NAME = re.compile(r"(?i)(.*[_\W])?(id|uid|uuid|guid|key|index|idx|row_?(no|nr|number)|record|serial)")


@dataclass(frozen=True, eq=False)
class _Column:
    """A column taken apart: numbers (n,) or None of words; codes (n,) of its distinct values, −1 where missing."""

    name: str
    numbers: FloatArray | None
    codes: np.ndarray
    levels: list[Any]
    kind: str

    @property
    def missing(self) -> np.ndarray:
        return self.codes < 0

    @property
    def said(self) -> str:
        return f"column {self.name!r}"


def alerts(
    X: Any, y: ArrayLike, *, kinds: Mapping[str, str] | None = None, numbers: bool = False
) -> list[Alert]:
    """What is odd about X (n, p) and y (n,), worst first: leakage, identifiers, repeats, gaps, imbalance.

    Rules and notes: see the module. O(np log n).

    Parameters
    ----------
    X : array, sparse matrix or frame of any columns; missing cells are NaN or None
    y : labels, or ``numbers`` to predict
    kinds : {column: kind} of a frame (tables/kinds.py) where the rules should not decide; "text" and "date" columns
        are not looked into

    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["no", "yes"], [80, 20])
    >>> X = np.column_stack([rng.normal(size=100), np.arange(100), y == "yes", np.full(100, 3.0)])
    >>> for alert in alerts(X, y):
    ...     print(alert.kind, alert.column)
    leakage 2
    identifier 1
    constant 3
    """
    X = read_X(X)
    n, p = X.shape
    if numbers:
        codes = np.unique(np.asarray(y), return_inverse=True)[1]
        found = [a for a in _rows(X, codes) if a.kind == "duplicates"]
    else:
        classes, codes = read_labels(y, n)
        found = [*target_alerts(classes, codes), *_rows(X, codes)]
    if p >= n:
        found.append(
            Alert(
                "wide", "warning", None, f"{p:,} columns for {n:,} rows: most models can fit any labels here"
            )
        )
    if sp.issparse(X):
        cells: Any = X
        empty = np.flatnonzero(np.asarray(cells.getnnz(axis=0)).ravel() == 0)
        if len(empty):
            found.append(
                Alert("constant", "note", None, f"{len(empty):,} columns are 0 in every row and tell nothing")
            )
    else:
        columns = list(_columns(X, kinds, None if numbers else classes[codes]))
        own = [_identifier(c) for c in columns]
        told = {alert.column for alert in own if alert}
        found += [alert for alert in own if alert]
        seen = [c for c in columns if c.name not in told and c.kind not in UNSEEN]
        found += copies_of(seen, np.asarray(y, dtype=float)) if numbers else _leaks(seen, codes, classes)
        found += [*_constant(columns), *_rare(columns, told), *_gaps(columns), *_twins(columns)]
    return sorted(found, key=lambda a: (SEVERITIES.index(a.severity), a.kind != "leakage"))


# ---- columns ----


def _columns(X: Any, kinds: Mapping[str, str] | None, labels: np.ndarray | None) -> Iterator[_Column]:
    if not hasattr(X, "columns"):
        for j in range(X.shape[1]):
            numbers = np.asarray(X[:, j], dtype=float)
            yield _of_numbers(str(j), numbers, "number")
        return
    import pandas as pd

    from separatrix.tables.kinds import LEFT_OUT, infer_kinds

    known = infer_kinds(X, dict(kinds) if kinds else None, labels)
    for j, name in enumerate(map(str, X.columns)):
        column, kind = X.iloc[:, j], known[name]
        if kind in ("continuous", "discrete") or (
            kind in LEFT_OUT and pd.api.types.is_numeric_dtype(column.dtype)
        ):
            yield _of_numbers(name, column.to_numpy(dtype=float, na_value=np.nan), kind)
        else:
            codes, levels = pd.factorize(column)
            yield _Column(name, None, np.asarray(codes), list(levels), kind)


def _of_numbers(name: str, numbers: FloatArray, kind: str) -> _Column:
    gap = np.isnan(numbers)
    levels, codes = _distinct(numbers[~gap])
    place = np.full(len(numbers), -1)
    place[~gap] = codes
    return _Column(name, numbers, place, levels.tolist(), kind)


def _distinct(numbers: FloatArray) -> tuple[FloatArray, np.ndarray]:
    """As np.unique with the inverse; whole numbers of a small range are counted, not sorted.

    >>> [v.tolist() for v in _distinct(np.array([3.0, -1.0, 3.0]))]
    [[-1.0, 3.0], [1, 0, 1]]
    """
    if len(numbers) > MANY:
        low, high = float(numbers.min()), float(numbers.max())
        if high - low < len(numbers) and low == np.rint(low) and bool((numbers == np.rint(numbers)).all()):
            held = (numbers - low).astype(np.intp)
            there = np.flatnonzero(np.bincount(held))
            place = np.zeros(int(high - low) + 1, dtype=np.intp)
            place[there] = np.arange(len(there))
            return there + low, place[held]
    levels, codes = np.unique(numbers, return_inverse=True)
    return levels, codes


# ---- the answer given away ----


def _leaks(columns: list[_Column], codes: np.ndarray, classes: np.ndarray) -> list[Alert]:
    """Columns that give the answer away, alone or by some levels; many of the second kind in one sentence."""
    found: list[Alert] = []
    partly: list[tuple[int, _Column, Alert]] = []
    for column in columns:
        rows, alert = _leakage(column, codes, classes)
        if alert is not None and rows:
            partly.append((rows, column, alert))
        elif alert is not None:
            found.append(alert)
    partly.sort(key=lambda one: -one[0])
    if len(partly) <= TOLD + 1:
        return found + [alert for _, _, alert in partly]
    found += [alert for _, _, alert in partly[:TOLD]]
    others = partly[TOLD:]
    listed = and_more([repr(c.name) for _, c, _ in others], NAMED)
    sentence = (
        f"{len(others)} more columns have levels that go with one class only: {listed}. Are they known before "
        "the answer is?"
    )
    worst = min((alert.severity for _, _, alert in others), key=SEVERITIES.index)
    return [*found, Alert("leakage", worst, None, sentence)]


def _leakage(column: _Column, codes: np.ndarray, classes: np.ndarray) -> tuple[int, Alert | None]:
    """An alert, and the rows of levels that go with one class only; 0 rows: the column alone tells."""
    seen = ~column.missing
    if len(column.levels) < 2 and not column.missing.any():
        return 0, None
    share = np.bincount(codes, minlength=len(classes)) / len(codes)
    wrong = 1 - share.max()
    right = _alone(column, codes)
    if column.kind == "leak":
        told = f"{column.said} gives the answer away alone, and is left out; {_keeps(column)}"
        return 0, Alert("leakage", "warning", column.name, told)
    if wrong > 0 and len(codes) >= MANY and 1 - (1 - right) / wrong >= TAKEN_AWAY:
        how = "separates the classes alone" if right == 1 else f"alone predicts {right:.1%} of the rows"
        told = f"{column.said} {how}: is it known before the answer is? If not, leave it out"
        return 0, Alert("leakage", "serious", column.name, told)
    if column.numbers is None:
        table = np.zeros((len(column.levels), len(classes)), dtype=int)
        np.add.at(table, (column.codes[seen], codes[seen]), 1)
        names = [repr(v) for v in column.levels]
    else:
        table, names = np.zeros((0, len(classes)), dtype=int), []
    if column.missing.any():
        table = np.vstack([table, np.bincount(codes[column.missing], minlength=len(classes))])
        names.append("a missing cell")
    total = table.sum(axis=1)
    pure = [
        (int(total[l]), names[l], classes.tolist()[int(table[l].argmax())])
        for l in np.flatnonzero((table.max(axis=1) == total) & (total >= MANY))
        if float(total[l]) * np.log(share[int(table[l].argmax())]) + np.log(len(names)) < np.log(CHANCE)
    ]
    if not pure:
        return 0, None
    pure.sort(key=lambda v: -v[0])
    listed = "; ".join(f"{what} ({rows:,} rows) is always {label!r}" for rows, what, label in pure[:3])
    more = f"; and {len(pure) - 3} more" if len(pure) > 3 else ""
    rows = sum(rows for rows, _, _ in pure)
    sentence = f"{column.said}: {listed}{more}. Is it known before the answer is?"
    return rows, Alert("leakage", "warning" if rows >= MUCH * len(codes) else "note", column.name, sentence)


def _alone(column: _Column, codes: np.ndarray) -> float:
    """The share of rows that the column alone gets right: by level, or by stretches of its sorted values.

    A level or stretch of fewer rows than ``RARE`` answers with the majority of the whole table, so that nothing is
    learned by heart.
    """
    K = int(codes.max()) + 1
    if column.numbers is None:
        group = np.where(column.missing, len(column.levels), column.codes)
    else:
        width = max(RARE, len(codes) // 50)
        group = _stretches(column, codes, width)
    table = np.zeros((int(group.max()) + 1, K), dtype=int)
    np.add.at(table, (group, codes), 1)
    common = int(np.bincount(codes).argmax())
    right = np.where(table.sum(axis=1) >= RARE, table.max(axis=1), table[:, common])
    return float(right.sum() / len(codes))


def _stretches(column: _Column, codes: np.ndarray, width: int) -> np.ndarray:
    """The number of each row's stretch: runs of one class among the sorted values, those of fewer rows than
    ``width`` joined to the next; a value is never cut, and missing cells are a stretch of their own."""
    values = len(column.levels)
    seen = ~column.missing
    table = np.zeros((values, int(codes.max()) + 1), dtype=int)
    np.add.at(table, (column.codes[seen], codes[seen]), 1)
    size, top = table.sum(axis=1), table.argmax(axis=1)
    pure = table.max(axis=1) == size
    number = np.zeros(values, dtype=np.intp)
    held = size[0] if values else 0
    for v in range(1, values):
        turned = not (pure[v] and pure[v - 1] and top[v] == top[v - 1])
        if turned and held >= width:
            number[v], held = number[v - 1] + 1, 0
        else:
            number[v] = number[v - 1]
        held += size[v]
    place = np.full(len(codes), number[-1] + 1 if values else 0)
    place[seen] = number[column.codes[seen]]
    return place


def _identifier(column: _Column) -> Alert | None:
    n, seen = len(column.codes), int((~column.missing).sum())
    if column.kind == "identifier":
        told = f"{len(column.levels):,} different values in {n:,} rows"
        return Alert(
            "identifier", "note", column.name,
            f"{column.said} looks like an identifier ({told}) and is left out; {_keeps(column)}",
        )  # fmt: skip
    if column.kind in UNSEEN or seen < MANY or len(column.levels) < NEARLY_ALL * seen:
        return None
    why = ""
    if column.numbers is None:
        why = f"{len(column.levels):,} different values in {n:,} rows"
    else:
        values = column.numbers[~column.missing]
        whole = bool((values == np.rint(values)).all())
        steps = np.diff(values)
        if whole and len(steps) and (steps == steps[0]).all() and steps[0] != 0:
            why = "it counts the rows"
        elif whole and len(column.levels) == seen and ID_NAME.fullmatch(column.name):
            why = "every value is different"
    if not why:
        return None
    return Alert(
        "identifier", "warning", column.name, f"{column.said} looks like an identifier ({why}): leave it out"
    )


def _keeps(column: _Column) -> str:
    many = column.numbers is not None and len(column.levels) > MANY and not ID_NAME.fullmatch(column.name)
    return f"kinds={{{column.name!r}: {'continuous' if many else 'nominal'!r}}} keeps it"


# ---- rows ----


def _rows(X: Any, codes: np.ndarray) -> Iterator[Alert]:
    """Rows that repeat; columns few enough to make repeats likely are no reason to worry."""
    group = equal_rows(X if not hasattr(X, "columns") else _hashable(X))
    size = np.bincount(group)
    repeats = int((size - 1).sum())
    if not repeats:
        return
    first = np.zeros(len(size), dtype=np.intp)
    first[group[::-1]] = codes[::-1]
    mixed = np.zeros(len(size), dtype=bool)
    mixed[group[codes != first[group]]] = True
    share = repeats / len(codes)
    yield Alert(
        "duplicates", "warning" if share > MUCH else "note", None,
        f"{repeats:,} row{'s' * (repeats > 1)} ({share:.1%}) repeat{'s' * (repeats == 1)} another in every column: "
        "where one is in training and its equal is judged, scores are too good",
    )  # fmt: skip
    if mixed.any():
        rows = int(size[mixed].sum())
        yield Alert(
            "conflict", "warning" if rows > MUCH * len(codes) else "note", None,
            f"{rows:,} rows have equals with another label: no model can get all of them right",
        )  # fmt: skip


def _hashable(frame: Any) -> np.ndarray:
    """A frame as numbers of its values, column by column."""
    import pandas as pd

    return np.column_stack([pd.factorize(frame.iloc[:, j])[0] for j in range(frame.shape[1])])


# ---- columns that tell nothing, little, or the same ----


def _constant(columns: list[_Column]) -> Iterator[Alert]:
    empty = [c for c in columns if not len(c.levels)]
    same = [c for c in columns if len(c.levels) == 1 and not c.missing.any()]
    for which, what in ((empty, "empty"), (same, "the same in every row")):
        if which:
            yield _listed("constant", "note", which, f"{what} and tell{{s}} nothing")


def _rare(columns: list[_Column], told: set[str | None]) -> Iterator[Alert]:
    bad = []
    for c in columns:
        if c.numbers is None and c.name not in told and c.kind not in UNSEEN and len(c.levels) > 2:
            counts = np.bincount(c.codes[c.codes >= 0], minlength=len(c.levels))
            if (counts < RARE).any():
                bad.append((c, int((counts < RARE).sum())))
    if bad:
        listed = ", ".join(f"{c.name!r} ({count} of {len(c.levels)})" for c, count in bad[:NAMED])
        others = len(bad) - NAMED
        more = f" and {others} more column{'s' * (others > 1)}" if others > 0 else ""
        yield Alert(
            "rare levels", "note", bad[0][0].name if len(bad) == 1 else None,
            f"levels of fewer than {RARE} rows in {listed}{more}: little is learned of them",
        )  # fmt: skip


def _gaps(columns: list[_Column]) -> Iterator[Alert]:
    shares = {c.name: float(c.missing.mean()) for c in columns if c.missing.any() and len(c.levels)}
    if not shares:
        return
    worst = sorted(shares, key=lambda name: -shares[name])
    listed = ", ".join(f"{name!r} {shares[name]:.1%}" for name in worst[:NAMED])
    others = len(worst) - NAMED
    more = f" and {others} more column{'s' * (others > 1)}" if others > 0 else ""
    yield Alert(
        "missing", "warning" if shares[worst[0]] > 0.5 else "note", worst[0] if len(worst) == 1 else None,
        f"cells are missing in {listed}{more}: is it chance that they are?",
    )  # fmt: skip


def _twins(columns: list[_Column]) -> Iterator[Alert]:
    """Columns that say the same: numbers |r| = 1, words the same up to names."""
    numbers = [c for c in columns if c.numbers is not None and len(c.levels) > 1 and not c.missing.any()]
    pairs: list[tuple[_Column, _Column]] = []
    if 2 <= len(numbers) <= PAIRS:
        pairs += [(numbers[i], numbers[j]) for i, j in _correlated([c.numbers for c in numbers])]
    seen: dict[bytes, _Column] = {}
    for c in columns:
        if c.numbers is None and len(c.levels) > 1 and c.kind not in (*UNSEEN, "identifier", "leak"):
            key = c.codes.tobytes()  # numbered by first appearance, so that names do not matter
            if key in seen:
                pairs.append((seen[key], c))
            seen.setdefault(key, c)
    if pairs:
        listed = ", ".join(f"{a.name!r} and {b.name!r}" for a, b in pairs[:NAMED])
        more = f" and {len(pairs) - NAMED} more pairs" if len(pairs) > NAMED else ""
        yield Alert(
            "correlated", "note", pairs[0][1].name if len(pairs) == 1 else None,
            f"columns that say the same: {listed}{more}; leave one of each out, or read no meaning into its weight",
        )  # fmt: skip


def _correlated(numbers: list[Any]) -> Iterator[tuple[int, int]]:
    """Pairs with |r| = 1 to rounding, each column named once as the twin of an earlier one."""

    def standard(values: FloatArray) -> FloatArray:
        top = np.abs(values).max(axis=0)
        values = values / np.where(top > 0, top, 1.0)
        centred = values - values.mean(axis=0)
        size = np.sqrt(np.square(centred).sum(axis=0))
        return np.asarray(centred / np.where(size > 0, size, 1.0))

    table = np.column_stack(numbers)
    step = max(len(table) // SAMPLE, 1)
    some = standard(table[::step])
    near = np.triu(np.abs(some.T @ some) > 1 - 1e-9, 1)
    twins: set[int] = set()
    for i, j in np.argwhere(near):
        if int(j) in twins:
            continue
        if step > 1:
            both = standard(table[:, [i, j]])
            if abs(float(both[:, 0] @ both[:, 1])) <= 1 - 1e-9:
                continue
        twins.add(int(j))
        yield int(i), int(j)


def _listed(kind: str, severity: str, which: list[_Column], what: str) -> Alert:
    names, one = and_more([repr(c.name) for c in which], NAMED), len(which) == 1
    start = f"column {names} is" if one else f"columns {names} are"
    sentence = f"{start} {what.format(s='s' if one else '')}"
    return Alert(kind, severity, which[0].name if one else None, sentence)
