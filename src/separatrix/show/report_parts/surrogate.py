"""A copy of a model as a sum over columns, for a page that has no room for the model itself, and how near it is.

    ŝ(x) = s(x°) + Σ_j g_j(x_j),    g_j a value a level or a stretch of numbers, 0 at the usual cell x°_j
    fitted by ridge to s = log P_k/P_0 (cut at CERTAIN) of rows in which each cell is the usual one or another row's,
    by half

R² and the mean miss are of P, on rows that were not fitted to. Ribeiro et al. (2016) do the same around one row.
Row O5. Shapes: H heads (1, or K). Cost: ROWS predictions and a least-squares fit of some tens of figures a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.show.reading import ShownTable, name_of
from separatrix.show.report_parts.answers import classes_of
from separatrix.show.report_parts.sums import Form, NotASum, Sum, link_of, shown_table, text_at

ROWS = 2_400
FITTED = 2 / 3  # of them; the others judge
STRETCHES = 14  # of a number
LEVELS = 30
MOST = 100  # columns
CERTAIN = 0.005  # probabilities are cut at this and at one less it
RIDGE = 1.0
WORST = 0.4  # R² below which a copy is worse than none


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The sum, R² and mean miss of its P on ``judged`` rows, and how many ``rows`` it was fitted to."""

    found: Sum
    r2: float
    off: float
    rows: int
    judged: int

    @classmethod
    def of(cls, model: BaseEstimator, X: Any, seed: int = 0) -> Surrogate:
        """Fit the copy; refused with :class:`NotASum` where it would follow the model too badly."""
        if not hasattr(model, "predict_proba"):
            raise NotASum(f"{name_of(model)} has no probabilities")
        table = shown_table(X, MOST)
        bins = [_bins(table, j) for j in range(table.p)]
        if all(len(own) < 2 for own in bins):
            raise NotASum("the columns are texts or constants, for which a panel has no control")
        drawn = _drawn(table, np.random.default_rng(seed))
        P = np.asarray(model.predict_proba(table.rows(ROWS, drawn)), dtype=float)
        usual = np.asarray(model.predict_proba(table.rows(1, {})), dtype=float)
        s, start = _scores(P), _scores(usual)[0]
        place = [_places(table, j, bins[j], drawn[j]) for j in range(table.p)]
        few = int(ROWS * FITTED)
        values = _fitted(bins, place, table, s[:few] - start, few)
        forms = [_form(table, j, bins[j], values[j]) for j in range(table.p)]
        mode = "logit" if P.shape[1] == 2 else "softmax"
        made = start + sum(values[j][place[j][few:]] for j in range(table.p))
        near, seen = link_of(mode, np.asarray(made)), P[few:]
        spread = float(np.square(seen - seen.mean(axis=0)).sum())
        r2 = 1.0 - float(np.square(near - seen).sum()) / spread if spread > 0 else 0.0
        if r2 < WORST:
            raise NotASum(f"a copy of {name_of(model)} by columns would follow it too badly (R² = {r2:.2f})")

        def refuse(rows: Any) -> FloatArray:
            raise NotASum("a copy has no scores of its own")

        none = np.zeros((table.p, len(start)))
        found = Sum(mode, classes_of(model), start, forms, table, none, refuse)
        return cls(found, r2, float(np.abs(near - seen).mean()), few, ROWS - few)


def _drawn(table: ShownTable, rng: np.random.Generator) -> dict[int, Any]:
    """Cells of ROWS rows: each is the usual one, or that of a row drawn."""
    rows = rng.integers(0, table.n, ROWS)
    out: dict[int, Any] = {}
    for j in range(table.p):
        moved = rng.random(ROWS) < 0.5
        if table.numeric[j]:
            out[j] = np.where(moved, np.asarray(table.columns[j], dtype=float)[rows], float(table.base[j]))
        else:
            cells = table.columns[j].tolist()
            out[j] = [cells[i] if m else table.base[j] for i, m in zip(rows.tolist(), moved.tolist())]
    return out


def _scores(P: FloatArray) -> FloatArray:
    """log P_k/P_0 (n, K), of two classes the second's alone; certainties cut."""
    logs = np.log(np.clip(P, CERTAIN, 1 - CERTAIN))
    found = logs - logs[:, :1]
    return found[:, 1:] if P.shape[1] == 2 else found


def _bins(table: ShownTable, j: int) -> list[Any]:
    """The stops of a number, the levels of words; a missing cell is the last, if there is one."""
    column = table.columns[j]
    if not table.numeric[j]:
        counts: dict[Any, int] = {}
        for v in table.cells(j):
            counts[v] = counts.get(v, 0) + 1
        if any(isinstance(v, str) and len(v) > 80 for v in counts) or len(counts) > max(200, table.n // 2):
            return [table.base[j]]
        kept = sorted(counts, key=lambda v: -counts[v])[:LEVELS]
        usual = table.base[j]
        return kept if usual in kept else [usual, *kept]
    values = np.asarray(column, dtype=float)
    known = values[np.isfinite(values)]
    if not len(known):
        return [table.base[j]]
    stops = np.unique(np.quantile(known, np.linspace(0, 1, STRETCHES), method="nearest"))
    stops = np.unique(np.r_[stops, float(table.base[j])])
    return [*stops.tolist(), *([np.nan] if np.isnan(values).any() else [])]


def _places(table: ShownTable, j: int, bins: list[Any], cells: Any) -> np.ndarray:
    """The bin of each cell: the nearest stop; a level that has none is the usual one."""
    if not table.numeric[j]:
        place = {None if v is None or v != v else v: i for i, v in enumerate(bins)}
        usual = place[None if table.base[j] is None or table.base[j] != table.base[j] else table.base[j]]
        return np.array([place.get(None if v is None or v != v else v, usual) for v in cells], dtype=np.intp)
    x = np.asarray(cells, dtype=float)
    stops = np.array([b for b in bins if b == b])
    near = (
        np.abs(np.nan_to_num(x)[:, None] - stops).argmin(axis=1)
        if len(stops)
        else np.zeros(len(x), dtype=int)
    )
    return np.where(np.isnan(x), len(bins) - 1, near).astype(np.intp)


def _usual(table: ShownTable, j: int, bins: list[Any]) -> int:
    return int(_places(table, j, bins, [table.base[j]])[0])


def _fitted(
    bins: list[list[Any]], place: list[np.ndarray], table: ShownTable, target: FloatArray, few: int
) -> list[FloatArray]:
    """g_j at every bin (bins, H), 0 at the usual one."""
    blocks, kept = [], []
    for j, own in enumerate(bins):
        others = [b for b in range(len(own)) if b != _usual(table, j, own)]
        kept.append(others)
        blocks.append((place[j][:few, None] == np.array(others, dtype=np.intp)).astype(float))
    D = np.hstack(blocks)
    weights = np.linalg.solve(D.T @ D + RIDGE * np.eye(D.shape[1]), D.T @ target)
    out: list[FloatArray] = []
    at = 0
    for own, others in zip(bins, kept):
        values = np.zeros((len(own), target.shape[1]))
        values[others] = weights[at : at + len(others)]
        at += len(others)
        out.append(values)
    return out


def _form(table: ShownTable, j: int, bins: list[Any], values: FloatArray) -> Form:
    name, usual = table.names[j], table.base[j]
    reach = float(np.ptp(values, axis=0).max())
    if len(bins) == 1:
        return Form(name, "held", usual)
    if not table.numeric[j]:
        labels = tuple(text_at(table.columns[j], c) for c in bins)
        return Form(name, "levels", usual, tuple(bins), values, labels=labels, reach=reach)
    gap = None
    if bins[-1] != bins[-1]:
        gap, bins, values = values[-1], bins[:-1], values[:-1]
    if len(bins) == 1:
        return Form(name, "held", usual)
    x = np.asarray(bins, dtype=float)
    whole = bool((x == np.rint(x)).all())
    return Form(
        name, "stops", usual, tuple(x.tolist()), values, low=float(x.min()), high=float(x.max()), whole=whole,
        missing=gap, reach=reach,
    )  # fmt: skip
