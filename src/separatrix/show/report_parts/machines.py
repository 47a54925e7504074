"""Models that are no sum over columns, as a page can compute them: trees and forests, and kernel machines.

    z = (block of column 1, block of column 2, …)      a block is a form of the column's cell alone, as in sums.py
    P(x) = (1/M) Σ_m value of the leaf of tree m that z falls into
    P(x) = maps( Σ_i coef_i k(v_i, z) + b ),           shares of one-vs-rest machines, coupling of pairs

All is written into the page: thresholds and leaves, or support vectors, as bytes. That the blocks are right, and P
that of the model, is tested on rows put together from cells of the table; what is too large, or is neither, is
refused with a sentence. Row O5. Cost: about 30p + 60 rows of encoding and prediction.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.core.numerics import FloatArray
from separatrix.judge.plain_trees import PlainForest, plain_forest
from separatrix.judge.shapley import before_last, last_of, sources
from separatrix.models.margin.calibration import Isotonic, Sigmoid
from separatrix.models.margin.nu_svc import NuSVC
from separatrix.models.margin.probabilities import shares
from separatrix.models.margin.svc import SVC
from separatrix.show.reading import ShownTable, name_of
from separatrix.show.report_parts.answers import classes_of
from separatrix.show.report_parts.sums import Form, NotASum, probes, shown_table, text_at

MOST_NODES = 30_000
MOST_NUMBERS = 50_000  # of support vectors
CHECKED = 60
MISS = 1e-6  # of a probability
KERNELS = ("linear", "poly", "rbf", "sigmoid")


@dataclass(frozen=True, eq=False)
class Machine:
    """forms : of each column, whose values are blocks (…, features of the column); head : what the page computes
    with; words : how, in words.
    """

    classes: list[Any]
    forms: list[Form]
    features: list[list[int]]
    head: dict[str, Any]
    words: str

    @classmethod
    def of(cls, model: BaseEstimator, X: Any) -> Machine:
        """Read a fitted classifier; refuse with :class:`NotASum`, whose message is a sentence."""
        table = shown_table(X)
        source = sources(model, X)
        if source is None:
            raise NotASum("what the encoder makes of each column is not known")
        read, says, head, words = _head(model)
        features = [np.flatnonzero(source == j).tolist() for j in range(table.p)]
        forms = _forms(table, features, read, model)
        _test(table, forms, features, read, says, model)
        if all(form.kind == "held" for form in forms):
            raise NotASum("the columns are texts or constants, for which a panel has no control")
        return cls(classes_of(model), forms, features, head, words)


Reading = Callable[[Any], FloatArray]


def _head(model: BaseEstimator) -> tuple[Reading, Reading, dict[str, Any], str]:
    """(table → what the last step sees, dense (n, q); that → P (n, K); what the page is given; how it computes)."""
    inner, ahead = last_of(model), before_last(model)
    forest = plain_forest(inner)
    if forest is not None:
        if forest.nodes > MOST_NODES:
            raise NotASum(
                f"{name_of(model)} has {forest.nodes:,} nodes, and {MOST_NODES:,} are the most a page has room for"
            )
        seen = forest.read
        trees = f"its {len(forest.trees)} trees" if len(forest.trees) > 1 else "its tree"
        return lambda X: seen(ahead(X)), forest.mean, trees_data(forest), f"from {trees}"
    if isinstance(inner, (SVC, NuSVC)):
        many = len(inner.support_)
        data = kernel_data(inner)
        return (
            lambda X: _dense(ahead(X)),
            lambda Z: _by_kernel(inner, Z),
            data,
            f"from its {many:,} support vectors",
        )
    raise NotASum(f"{name_of(model)} is neither a sum over columns, nor trees, nor a kernel machine")


def _dense(Z: Any) -> FloatArray:
    return np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)


def packed(values: Any, kind: str) -> str:
    """Numbers as bytes in letters, which the page reads by the same kind: "<f8", "<f4", "<i4", "<i2", "|u1"."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def trees_data(forest: PlainForest) -> dict[str, Any]:
    """The nodes of all trees one after another; a leaf's ``left`` is the row of its values; ``flags``: 1 where a
    missing cell goes left, 2 where ``threshold`` is the number of a set of levels.
    """
    begins = np.cumsum([0, *(len(t.feature) for t in forest.trees)])
    leaves = np.concatenate([t.value[t.feature < 0] for t in forest.trees])
    values, place = np.unique(leaves, axis=0, return_inverse=True)
    place = np.ravel(place)
    left, right, threshold, flags = [], [], [], []
    sets: list[list[int]] = []
    used = 0
    for t, begin in zip(forest.trees, begins):
        end = t.feature < 0
        first = np.where(end, 0, t.left + begin)
        first[end] = place[used : used + int(end.sum())]
        used += int(end.sum())
        cut = np.where(end, 0.0, t.threshold)
        cut[t.named] = len(sets) + np.arange(int(t.named.sum()))
        sets += [[int(v) & 0xFFFFFFFF, int(v) >> 32] for v in t.levels[t.named]]
        left.append(first)
        right.append(np.where(end, 0, t.right + begin))
        threshold.append(cut)
        flags.append(t.gap_left.astype(int) + 2 * t.named)
    return {
        "head": "trees", "single": forest.single, "begins": begins[:-1].tolist(), "sets": sets,
        "feature": packed(np.concatenate([t.feature for t in forest.trees]), "<i4"),
        "threshold": packed(np.concatenate(threshold), "<f4" if forest.single and _is_single(threshold) else "<f8"),
        "narrow": forest.single and _is_single(threshold),
        "left": packed(np.concatenate(left), "<i4"), "right": packed(np.concatenate(right), "<i4"),
        "flags": packed(np.concatenate(flags), "|u1"), "values": packed(values, "<f8"),
    }  # fmt: skip


def _is_single(parts: list[FloatArray]) -> bool:
    """Whether thresholds are numbers of float32 (scikit-learn's are not)."""
    return all(bool((p.astype(np.float32).astype(np.float64) == p).all()) for p in parts)


def kernel_data(machine: Any) -> dict[str, Any]:
    """Support vectors, their coefficients in each machine (m, machines), and the maps to probabilities."""
    maps = getattr(machine, "calibration_", None)
    if maps is None or not hasattr(machine, "predict_proba"):
        raise NotASum(f"{type(machine).__name__} has no probabilities")
    if machine.kernel not in KERNELS:
        raise NotASum("the kernel is a function of its own, which a page does not know")
    vectors = _dense(machine.support_vectors_)
    if vectors.size > MOST_NUMBERS:
        raise NotASum(
            f"{type(machine).__name__} has {len(vectors):,} support vectors of {vectors.shape[1]} numbers, and "
            f"{MOST_NUMBERS:,} numbers are the most a page has room for"
        )
    coef = np.asarray(machine._read_back(), dtype=float).reshape(len(vectors), -1)
    k, made = machine._kernel(), []
    for m in maps:
        if isinstance(m, Sigmoid):
            made.append({"slope": m.slope, "offset": m.offset})
        elif isinstance(m, Isotonic):
            made.append({"x": np.asarray(m.thresholds).tolist(), "y": np.asarray(m.values).tolist()})
        else:
            raise NotASum(f"{type(machine).__name__} is calibrated in a way that a page does not know")
    return {
        "head": "kernel", "kernel": machine.kernel, "gamma": float(k.gamma), "coef0": float(machine.coef0),
        "degree": int(machine.degree), "vectors": packed(vectors, "<f8"), "coef": packed(coef, "<f8"),
        "intercept": np.ravel(machine.intercept_).tolist(), "maps": made, "coupled": bool(machine._coupled),
    }  # fmt: skip


def _by_kernel(machine: Any, Z: FloatArray) -> FloatArray:
    """P (n, K) as the page computes it."""
    vectors, gamma, coef0 = (
        _dense(machine.support_vectors_),
        float(machine._kernel().gamma),
        float(machine.coef0),
    )
    if machine.kernel == "rbf":
        K = np.exp(-gamma * np.square(Z[:, None, :] - vectors).sum(axis=2))
    else:
        K = Z @ vectors.T
        if machine.kernel == "poly":
            K = (gamma * K + coef0) ** int(machine.degree)
        elif machine.kernel == "sigmoid":
            K = np.tanh(gamma * K + coef0)
    coef = np.asarray(machine._read_back(), dtype=float).reshape(len(vectors), -1)
    return shares(
        machine.calibration_, K @ coef + machine.intercept_, len(machine.classes_), machine._coupled
    )


# ---- columns ----


def _forms(table: ShownTable, features: list[list[int]], read: Reading, model: BaseEstimator) -> list[Form]:
    """The block of each column at its probes, and how far the answer moves with them."""
    asked = [(j, probes(table, j)) for j in range(table.p)]
    rows = table.moved(asked)
    blocks = read(rows)
    answer: Any = getattr(model, "predict_proba")  # noqa: B009  not of every estimator
    P = np.asarray(answer(rows))
    ends = np.cumsum([len(cells) for _, cells in asked])[:-1]
    parts = zip(asked, np.split(blocks, ends), np.split(P, ends))
    return [
        _form(table, j, list(cells), block[:, features[j]], float(np.ptp(p, axis=0).max()))
        for (j, cells), block, p in parts
    ]


def _form(table: ShownTable, j: int, cells: list[Any], block: FloatArray, reach: float) -> Form:
    name, usual = table.names[j], table.base[j]
    if len(cells) == 1:
        return Form(name, "held", usual, tuple(cells), block)
    if not table.numeric[j]:
        labels = tuple(text_at(table.columns[j], c) for c in cells)
        return Form(name, "levels", usual, tuple(cells), block, labels=labels, reach=reach)
    gap, last = None, cells[-1]
    if last != last:
        gap, cells, block = block[-1], cells[:-1], block[:-1]
        if len(cells) == 1:
            return Form(name, "held", usual, tuple(cells), block)
    x = np.asarray(cells, dtype=float)
    low, high = float(x.min()), float(x.max())
    options: dict[str, Any] = {
        "low": low, "high": high, "whole": bool((x == np.rint(x)).all()), "missing": gap, "reach": reach,
    }  # fmt: skip
    a, b = int(x.argmin()), int(x.argmax())
    slope = (block[b] - block[a]) / (high - low) if high > low else np.zeros(block.shape[1])
    near = np.where(np.abs(slope - 1.0) < 1e-15, 1.0, slope)
    start = block[a] - near * low
    line = start + x[:, None] * near
    if high > low and (np.abs(line - block) <= 1e-12 * (1.0 + np.abs(block).max())).all():
        weights = np.stack([start, near, np.zeros_like(near)])
        return Form(name, "poly", usual, weights=weights, centre=0.0, width=1.0, **options)
    order = np.argsort(x, kind="stable")
    return Form(name, "stops", usual, tuple(x[order].tolist()), block[order], **options)


def block_at(form: Form, cell: Any) -> FloatArray:
    """The features of a cell, as the page computes them."""
    if form.missing is not None and (cell is None or cell != cell):
        return form.missing
    if form.weights is not None:
        return np.asarray(form.weights[0] + float(cell) * form.weights[1])
    assert form.values is not None
    if form.kind == "held":
        return form.values[0]
    gone = cell is None or cell != cell
    for i, c in enumerate(form.cells):
        if c is cell or c == cell or (gone and (c is None or c != c)):
            return form.values[i]
    raise KeyError(cell)


def _test(
    table: ShownTable, forms: list[Form], features: list[list[int]], read: Reading, says: Reading, model: Any
) -> None:
    """Refuse where rows put together from probed cells have other blocks, or other P, than the model's own."""
    rng = np.random.default_rng(0)
    drawn = []
    for j in range(table.p):
        cells = probes(table, j)
        drawn.append([cells[i] for i in rng.integers(0, len(cells), CHECKED)])
    columns: dict[int, Any] = {
        j: np.asarray(cells, dtype=float) if table.numeric[j] else cells for j, cells in enumerate(drawn)
    }
    rows = table.rows(CHECKED, columns)
    seen = read(rows)
    if np.abs(says(seen) - np.asarray(model.predict_proba(rows))).max() > MISS:
        raise NotASum(f"the page would not compute what {name_of(model)} does")
    for j, form in enumerate(forms):
        made = np.array([block_at(form, cell) for cell in drawn[j]]).reshape(CHECKED, -1)
        own = seen[:, features[j]]
        size = 1.0 + float(np.nanmax(np.abs(own), initial=0.0))
        if not np.allclose(made, own, rtol=0, atol=1e-9 * size, equal_nan=True):
            raise NotASum(f"what the model sees of column {form.name!r} depends on other columns too")
