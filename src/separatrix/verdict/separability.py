"""Can a hyperplane separate the classes: completely, only up to ties, or not at all — with the proof.

    complete   some w, b has y_i (w·x_i + b) > 0 for every row
    quasi      ≥ 0 for every row and > 0 for some, but never > 0 for all
    overlap    neither

([6867] 3.2.2: on separable data the likelihood has no maximum.) For K classes the margins are
(w_{y_i} − w_k)·x_i + b_{y_i} − b_k over all rivals k (Albert and Anderson 1984).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from separatrix.core.linear import LinearRule
from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.coordinates import Coordinates, singular_coordinates
from separatrix.data.rows import Rows
from separatrix.verdict import proof
from separatrix.verdict.facial import FLAT, Face, Pairs, decide, early_overlap
from separatrix.verdict.sparsest import sparsest_direction

KINDS = {"complete": "separated", "quasi": "quasi-separated", "overlap": "overlapping"}
LIMIT_SCORE = 40.0  # a score this large is a probability of one to rounding


@dataclass(frozen=True)
class Separability:
    """The kind of separation and its proof, in the user's units.

    Attributes
    ----------
    kind : "complete", "quasi" or "overlap"
    direction : (p,) or (K, p), weights of a separating direction; None for overlap
    intercept : its intercept, a number or (K,)
    margins : (n,), the smallest margin of each row under the direction; None for overlap
    weights : (n,) or (n, K), convex weights whose signed combination of the rows vanishes; None when complete
    residual : how far from zero that combination is, relative to its terms
    columns : names (or indices) of columns whose coefficients run to infinity
    n_rows : rows the claim is about

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> separability(X, [0, 0, 1, 1]).kind
    'complete'
    >>> result = separability(X, [0, 1, 0, 1])
    >>> result.kind, result.check(X, [0, 1, 0, 1])
    ('overlap', True)
    """

    kind: str
    direction: FloatArray | None
    intercept: Any
    margins: FloatArray | None
    weights: FloatArray | None
    residual: float | None
    columns: tuple[Any, ...]
    n_rows: int
    classes: tuple[Any, ...] = ()
    fit_intercept: bool = True
    _free: FloatArray | None = field(default=None, repr=False)  # (d, K, p+1): every direction that runs away

    @property
    def separable(self) -> bool:
        return self.kind == "complete"

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Whether the proof holds on these data, by a function that knows nothing of how it was found."""
        from separatrix.data.door import read_labels, read_table, read_weights

        X = read_table(_Door(), X, reset=True)
        classes, codes = read_labels(y, X.shape[0])
        weight = read_weights(sample_weight, X.shape[0])
        if self.classes and tuple(classes.tolist()) != self.classes and weight is None:
            return False
        keep = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight > 0)
        _, codes = np.unique(codes[keep], return_inverse=True)
        return self._holds(X[keep], codes, keep)

    def _holds(self, X: Any, codes: np.ndarray, keep: np.ndarray) -> bool:
        k = max(2, len(self.classes))
        if self.kind != "overlap":
            assert self.direction is not None
            direction, intercept = _all_classes(self.direction, self.intercept)
            if not proof.check_direction(X, codes, direction, intercept, strict=self.kind == "complete"):
                return False
        if self.kind == "complete":
            return True
        assert self.weights is not None
        weights = self.weights[keep]
        if weights.ndim == 1:
            spread = np.zeros((len(weights), k))
            spread[np.arange(len(weights)), 1 - codes] = weights
            weights = spread
        return proof.check_weights(
            X, codes, weights, fit_intercept=self.fit_intercept, spanning=self.kind == "overlap"
        )

    def sentence(self) -> str:
        """One line: the kind, the columns responsible and where their coefficients go."""
        if self.kind == "overlap":
            assert self.weights is not None
            rows = int(np.count_nonzero(self.weights.reshape(len(self.weights), -1).any(axis=1)))
            return (
                f"separation: none — the classes overlap (proof: {rows} rows with convex weights, "
                f"residual {self.residual:.0e})"
            )
        word = "separated" if self.kind == "complete" else "quasi-separated"
        names = [repr(c) if isinstance(c, str) else str(c) for c in self.columns]
        assert self.direction is not None
        if len(names) == 1 and self.direction.ndim == 1:
            sign = "+" if self.direction[np.flatnonzero(self.direction)[0]] > 0 else "−"
            return f"the classes are {word} by column {names[0]} (coefficient → {sign}∞)"
        if not names:
            return f"the classes are {word} by the intercept alone"
        listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        return f"the classes are {word} by column{'s' if len(names) > 1 else ''} {listed} (coefficients → ±∞)"

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Limits of the maximum-likelihood weights: 0 where finite, ±inf where the sign is settled, else NaN.

        Shapes (1, p) or (K, p), and (1,) or (K,).
        """
        assert self._free is not None
        free = self._free
        if len(self.classes) == 2:
            free = free[:, 1:, :] - free[:, :1, :]
        size = np.sqrt(np.sum(free**2, axis=0))
        runs = size > 1e-7 * max(float(size.max()), 1e-300)
        limit = np.where(runs, np.nan, 0.0)
        if len(free) == 1:
            assert self.direction is not None
            toward = np.column_stack([np.atleast_2d(self.direction), np.atleast_1d(self.intercept)])
            sign = np.sign(np.sum(free[0] * toward))
            limit = np.where(runs, sign * np.sign(free[0]) * np.inf, 0.0)
        return limit[:, :-1], limit[:, -1]

    def limiting_rule(self, rule: LinearRule) -> LinearRule:
        """A finite rule whose probabilities are those of the limit, to rounding."""
        assert self.direction is not None and self.margins is not None
        positive = self.margins[self.margins > 0]
        size = LIMIT_SCORE / float(positive.min()) if len(positive) else 1.0
        coef = rule.coef + size * self.direction
        return LinearRule(coef, np.asarray(rule.intercept) + size * np.asarray(self.intercept))

    def __str__(self) -> str:
        return self.sentence()


class _Door:
    """Stands in for an estimator at the door: it only collects column names."""


def separability(X: Any, y: Any, sample_weight: Any = None, *, fit_intercept: bool = True) -> Separability:
    """Whether the classes are separated by a hyperplane: complete, quasi or overlap, with the proof.

    Two or more classes; rows of weight zero are absent, other weights do not matter. X may be dense or sparse
    or a frame; it is taken in memory. Overlapping data usually cost a likelihood fit on a few hundred rows;
    separated data a linear program on the rows that matter.

    Parameters
    ----------
    X : (n, p)
    y : (n,) labels
    sample_weight : (n,) or None
    fit_intercept : whether the hyperplane may leave the origin
    """
    from separatrix.data.door import (
        is_dask,
        read_labels,
        read_table,
        read_weights,
        refuse_nonfinite,
    )

    door = _Door()
    if is_dask(X):
        X = X.compute()
    X = read_table(door, X, reset=True)
    classes, codes = read_labels(y, X.shape[0])
    weight = read_weights(sample_weight, X.shape[0])
    keep = None if weight is None or (weight > 0).all() else np.flatnonzero(weight > 0)
    if keep is not None:
        present, codes_kept = np.unique(codes[keep], return_inverse=True)
        classes, X_kept, codes = classes[present], X[keep], codes_kept
    else:
        X_kept = X
    if len(classes) < 2:
        raise ValueError(f"the data contain only one class, {classes[0]!r}: separability is between classes")
    rows = Rows.of(X_kept, codes)
    moments = rows.moments()
    refuse_nonfinite(door, rows, moments)
    names = getattr(door, "feature_names_in_", None)
    result = separability_of_rows(
        rows, moments, len(classes), fit_intercept=fit_intercept, names=names, classes=tuple(classes.tolist())
    )
    return result if keep is None else _spread(result, keep, X.shape[0])


def separability_of_rows(
    rows: Rows,
    moments: Moments,
    n_classes: int,
    *,
    fit_intercept: bool = True,
    names: Any = None,
    classes: tuple[Any, ...] = (),
) -> Separability:
    """As :func:`separability`, for rows already read whose y is the class index."""
    if rows.lazy:
        blocks = [rows.block(i) for i in range(rows.n_blocks)]
        rows = Rows.of(np.vstack([b.X for b in blocks]), rows.y, rows.weight)
    if rows.weight is not None and not (rows.weight > 0).all():
        keep = np.flatnonzero(rows.weight > 0)
        inner = Rows.of(rows.source[keep], rows.y[keep])
        found = separability_of_rows(
            inner, inner.moments(), n_classes, fit_intercept=fit_intercept, names=names, classes=classes
        )
        return _spread(found, keep, rows.n)
    pairs, face = _decided(rows, moments, fit_intercept, n_classes)
    classes = classes or tuple(range(n_classes))
    weights, residual = (None, None) if face.weights is None else _weights(pairs, face)
    if face.direction is None:
        return Separability(
            "overlap", None, None, None, weights, residual, (), rows.n, classes, fit_intercept
        )
    kind = "complete" if len(face.flat) == 0 else "quasi"
    sparse = sparsest_direction(pairs, face)
    intercept: Any
    coef, intercept = _to_user(pairs, face.direction) if sparse is None else sparse
    terms = np.abs(coef) @ np.abs(moments.mean)
    intercept = np.where(np.abs(intercept) <= 1e-13 * terms.max(), 0.0, intercept)
    free = _free_directions(pairs, face)
    margins = proof.margins(rows.source, rows.y, coef, intercept)
    scale = proof.margin_scale(rows.source, rows.y, coef, intercept)
    if kind == "quasi":
        margins[np.abs(margins) <= FLAT * scale.max()] = 0.0
    running = np.flatnonzero(np.abs(coef - coef[0]).max(axis=0) > 0)
    columns = tuple(int(j) if names is None else str(names[j]) for j in running)
    if n_classes == 2:
        coef, intercept = coef[1] - coef[0], float(intercept[1] - intercept[0])
    return Separability(
        kind,
        coef,
        intercept,
        margins.min(axis=1),
        weights,
        residual,
        columns,
        rows.n,
        classes,
        fit_intercept,
        free,
    )


def _decided(rows: Rows, moments: Moments, fit_intercept: bool, n_classes: int) -> tuple[Pairs, Face]:
    """Signed pairs in coordinates of full rank, and what they prove."""
    standard = Coordinates.standard(moments, fit_intercept)
    if rows.p < rows.n:
        live = standard.scale > 0
        basis = None if live.all() else np.eye(rows.p)[:, live]
        pairs = Pairs(rows, replace(standard, basis=basis), fit_intercept, n_classes)
        face = early_overlap(pairs)
        if face is not None:
            return pairs, face
        coordinates, _ = singular_coordinates(rows, moments, fit_intercept)
    else:
        dense = rows.source if isinstance(rows.source, np.ndarray) else rows.source.toarray()
        z = np.empty(dense.shape)
        standard.tile(dense, out=z)
        q, r = np.linalg.qr(z.T)  # the span of the rows first: the rest is n by n
        _, values, vectors = np.linalg.svd(r.T, full_matrices=False)
        keep = values > 1e-11 * max(values[0], 1e-300)
        basis = q @ (vectors[keep].T / values[keep] * np.sqrt(rows.n))
        coordinates = replace(standard, basis=basis)
    pairs = Pairs(rows, coordinates, fit_intercept, n_classes)
    return pairs, decide(pairs)


def _to_user(pairs: Pairs, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(K, p) and (K,) in the user's units of a direction in inner coordinates; tiny weights set to zero."""
    theta = v.reshape(pairs.n_classes - 1, pairs.q).T
    c = pairs.coordinates
    t = theta[: c.size]
    w = c.weights(t)
    b = theta[-1] - c.centre @ w if pairs.fit_intercept else np.zeros(pairs.n_classes - 1)
    return pairs.class_basis @ w.T, pairs.class_basis @ b


def _weights(pairs: Pairs, face: Face) -> tuple[FloatArray, float]:
    """Convex weights (n,) or (n, K), and the size of their combination against its terms."""
    assert face.weights is not None
    index, weight = face.weights
    weight = weight / weight.sum()
    a = pairs.matrix(index) * pairs.lengths[index][:, None]
    combination = np.abs(weight @ a).max()
    residual = float(combination / max(float((weight @ np.abs(a)).max()), 1e-300))
    k = pairs.n_classes
    i, r = np.divmod(index, k - 1)
    spread = np.zeros((pairs.rows.n, k))
    spread[i, pairs.rivals[pairs.rows.y[i], r]] = weight
    return (spread.sum(axis=1) if k == 2 else spread), residual


def _free_directions(pairs: Pairs, face: Face) -> FloatArray:
    """(d, K, p+1): a basis of the directions along which the likelihood's maximisers run away."""
    dims = pairs.q * (pairs.n_classes - 1)
    null = np.eye(dims)
    if len(face.flat):
        R: Any = np.zeros((0, dims))
        for a in range(0, len(face.flat), 4096):
            R = np.linalg.qr(np.vstack([R, pairs.matrix(face.flat[a : a + 4096])]), mode="r")
        _, values, vectors = np.linalg.svd(R, full_matrices=True)
        rank = int(np.sum(values > 1e-9 * max(values[0], 1e-300)))
        null = vectors[rank:]
    user = [_to_user(pairs, v) for v in null]
    return np.array([np.column_stack([w, b]) for w, b in user])


def _spread(found: Separability, keep: np.ndarray, n: int) -> Separability:
    """Per-row arrays back on all rows: absent rows carry no weight and no margin (NaN)."""
    weights, margins = found.weights, found.margins
    if weights is not None:
        full = np.zeros((n, *weights.shape[1:]))
        full[keep] = weights
        weights = full
    if margins is not None:
        wide = np.full(n, np.nan)
        wide[keep] = margins
        margins = wide
    return replace(found, weights=weights, margins=margins, n_rows=len(keep))


def _all_classes(direction: FloatArray, intercept: Any) -> tuple[FloatArray, FloatArray]:
    if direction.ndim == 1:
        return np.vstack([0 * direction, direction]), np.array([0.0, float(intercept)])
    return direction, np.asarray(intercept)
