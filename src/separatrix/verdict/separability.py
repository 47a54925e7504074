"""Can a hyperplane separate the classes: completely, only up to ties, or not at all — with the proof.

    complete   some w, b has y_i (w·x_i + b) > 0 for every row
    quasi      ≥ 0 for every row and > 0 for some, but never > 0 for all
    overlap    neither

([6867] 3.2.2: on separable data the likelihood has no maximum.) For K classes the margins are
(w_{y_i} − w_k)·x_i + b_{y_i} − b_k over all rivals k (Albert and Anderson 1984).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.linear import LinearRule
from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.door import finite_moments, is_dask, read_labels, read_table, read_weights
from separatrix.data.engine import one_blas_thread
from separatrix.data.rows import Rows
from separatrix.verdict import proof
from separatrix.verdict.axes import CodedTable
from separatrix.verdict.facial import HIDDEN, Decision, Undecided, decide, effort, flat_bases
from separatrix.verdict.sparsest import sparsest_direction
from separatrix.verdict.verdict import Columns
from separatrix.verdict.wide import first_order

Names = Sequence[str] | np.ndarray | None  # of columns
QUICK = 4e9  # multiplications of a step of the exact answer that take a tenth of a second
MAX_EFFORT = 6e10  # and a few seconds
RECHECKED = 500_000  # cells up to which the proof of overlap is checked in full before it is given
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
    columns : names (or indices) of the columns that bring the separation about (the fewest found): their
        coefficients run to infinity
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
    intercept: FloatArray | float | None
    margins: FloatArray | None
    weights: FloatArray | None
    residual: float | None
    columns: Columns
    n_rows: int
    classes: tuple[object, ...] = ()
    fit_intercept: bool = True
    _limits: tuple[FloatArray, FloatArray] | None = field(default=None, repr=False, compare=False)
    _least: float = field(default=np.inf, repr=False, compare=False)  # the smallest positive margin of a pair

    @property
    def separable(self) -> bool:
        return self.kind == "complete"

    def check(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> bool:
        """Whether the proof holds on these data, by a function that knows nothing of how it was found."""
        X, classes, codes, keep, n = _read(Door(), X, y, sample_weight)
        if tuple(classes.tolist()) != self.classes:
            return False
        arrays = [a for a in (self.margins, self.weights) if a is not None]
        if X.shape[0] != self.n_rows or any(len(a) != n for a in arrays):
            return False
        with one_blas_thread():
            return self._holds(X, codes, np.arange(n) if keep is None else keep)

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
        assert self._limits is not None
        return self._limits

    def limiting_rule(self, rule: LinearRule) -> LinearRule:
        """A finite rule whose probabilities are those of the limit, to rounding."""
        assert self.direction is not None
        size = LIMIT_SCORE / self._least
        coef = rule.coef + size * self.direction
        return LinearRule(coef, np.asarray(rule.intercept) + size * np.asarray(self.intercept))

    def __str__(self) -> str:
        return self.sentence()


class Door:
    """Stands in for an estimator at the door: it only collects column names."""


def separability(
    X: Any, y: Any, sample_weight: ArrayLike | None = None, *, fit_intercept: bool = True
) -> Separability:
    """Whether the classes are separated by a hyperplane: complete, quasi or overlap, with the proof.

    Two or more classes; rows of weight zero are absent, other weights do not matter. X may be dense or sparse
    or a frame; it is taken in memory. Overlap usually shows itself on a few hundred rows, in less time than a
    fit; separation takes some more, most of it to find the fewest columns that bring it about.

    The answer is exact: it comes with its proof, and :meth:`Separability.check` verifies that proof from the data
    alone. Cells are taken as stored: rows that differ by less than rounding, relative to how far their columns lie
    from zero, count as equal. Where that hides the answer, or the table is too large for it (more than some 2,000
    columns times classes, unless a separating direction shows itself, as in wide and sparse data it does), an
    ``ArithmeticError`` says so.

    Parameters
    ----------
    X : (n, p)
    y : (n,) labels
    sample_weight : (n,) or None
    fit_intercept : whether the hyperplane may leave the origin
    """
    door = Door()
    X, classes, codes, keep, n = _read(door, X, y, sample_weight)
    if len(classes) < 2:
        raise ValueError(
            f"the data contain only one class, {classes.tolist()[0]!r}: separability is between classes"
        )
    rows = Rows.of(X, codes)
    moments = finite_moments(door, rows)
    names = getattr(door, "feature_names_in_", None)
    result = separability_of_rows(
        rows, moments, len(classes), fit_intercept=fit_intercept, names=names, classes=tuple(classes.tolist())
    )
    return result if keep is None else _spread(result, keep, n)


def _read(
    door: Door, X: Any, y: Any, sample_weight: ArrayLike | None
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None, int]:
    """Rows that weigh something, their classes and codes, which they are (None: all) of how many."""
    X = read_table(door, X.compute() if is_dask(X) else X, reset=True)
    n = int(X.shape[0])
    classes, codes = read_labels(y, n)
    weight = read_weights(sample_weight, n)
    if weight is None or (weight > 0).all():
        return X, classes, codes, None, n
    keep = np.flatnonzero(weight > 0)
    present, codes = np.unique(codes[keep], return_inverse=True)
    return X[keep], classes[present], codes, keep, n


def separability_of_rows(
    rows: Rows,
    moments: Moments,
    n_classes: int,
    *,
    fit_intercept: bool = True,
    names: Names = None,
    classes: tuple[object, ...] = (),
) -> Separability:
    """As :func:`separability`, for rows already read whose y is the class index."""
    if rows.lazy:
        blocks = [rows.block(i) for i in range(rows.n_blocks)]
        rows = Rows.of(np.vstack([b.X for b in blocks]), rows.y, rows.weight)
    if rows.weight is not None and not (rows.weight > 0).all():
        keep = np.flatnonzero(rows.weight > 0)
        inner = Rows.of(rows.source[keep], rows.y[keep])
        answer = separability_of_rows(
            inner, inner.moments(), n_classes, fit_intercept=fit_intercept, names=names, classes=classes
        )
        return _spread(answer, keep, rows.n)
    classes = classes or tuple(range(n_classes))
    with one_blas_thread():  # many small products: a second thread costs more than it brings
        return _answer(
            CodedTable(rows.source, rows.y, n_classes, fit_intercept), rows, moments, names, classes
        )


def _answer(
    table: CodedTable, rows: Rows, moments: Moments, names: Names, classes: tuple[object, ...]
) -> Separability:
    found = _decided(table, rows, moments)
    weights, residual = _weights(table, found)
    n_classes, fit_intercept = table.n_classes, table.fit_intercept
    if found.coef is None:
        return Separability(
            "overlap", None, None, None, weights, residual, (), rows.n, classes, fit_intercept
        )
    coef, intercept = _direction(table, moments, found)
    margins = proof.margins(rows.source, rows.y, coef, intercept)
    margins[found.flat] = 0.0
    running = np.flatnonzero(np.abs(coef - coef[0]).max(axis=0) > 0)
    columns = tuple(int(j) if names is None else str(names[int(j)]) for j in running)
    limits = _limits(table, moments, found)
    shown: FloatArray | float = intercept
    if n_classes == 2:
        coef, shown = coef[1] - coef[0], float(intercept[1] - intercept[0])
    return Separability(
        found.kind, coef, shown, margins.min(axis=1), weights, residual, columns, rows.n, classes,
        fit_intercept, limits, float(margins[margins > 0].min()),
    )  # fmt: skip


def _decided(table: CodedTable, rows: Rows, moments: Moments) -> Decision:
    """Exactly where the program is small enough, else by a direction that first-order steps may find."""
    exact = effort(table) <= MAX_EFFORT
    if effort(table) <= QUICK or (exact and table.n >= 3 * table.p):
        return decide(table, moments)
    found = first_order(table, rows, moments)
    if found is not None:
        return found
    if exact:
        return decide(table, moments)
    raise Undecided(
        f"separability: {table.n} rows, {table.p} columns and {table.n_classes} classes are too many for the exact "
        "answer, and no separating direction showed itself first; take fewer columns, or a sample of rows"
    )


def _direction(table: CodedTable, moments: Moments, found: Decision) -> tuple[FloatArray, FloatArray]:
    """The direction with the fewest columns that was found and stands up to the check."""
    assert found.coef is not None
    strict = found.kind == "complete"
    for direction in (sparsest_direction(table, moments, found), (found.coef, found.intercept)):
        if direction is None:
            continue
        coef, b = direction
        terms = np.abs(coef) @ (np.abs(moments.mean) + np.sqrt(moments.variance))
        snapped = np.where(np.abs(b - b[0]) <= 1e-13 * terms.max(), 0.0, b - b[0])  # rounding of a zero
        for intercept in (snapped, b):
            if proof.check_direction(table.X, table.y, coef, intercept, strict=strict):
                return coef, intercept
    raise Undecided(f"separability: {HIDDEN}")


def _weights(table: CodedTable, found: Decision) -> tuple[FloatArray | None, float | None]:
    """Convex weights (n,) or (n, K), and the size of their combination against its terms."""
    if found.weights is None:
        return None, None
    spread = np.zeros((table.n, table.n_classes))
    spread[found.pick] = found.weights / found.weights.sum()
    spanning = found.coef is None and table.n * table.p <= RECHECKED
    if not proof.check_weights(
        table.X, table.y, spread, fit_intercept=table.fit_intercept, spanning=spanning
    ):
        raise Undecided(f"separability: {HIDDEN}")
    residual = proof.combination(table.X, table.y, spread, fit_intercept=table.fit_intercept)
    return (spread.sum(axis=1) if table.n_classes == 2 else spread), residual


def _limits(table: CodedTable, moments: Moments, found: Decision) -> tuple[FloatArray, FloatArray]:
    """What each weight and intercept tends to; the sign of a single column's weight is every direction's."""
    coef, intercept = _running(table, moments, found)
    live = np.flatnonzero(~moments.constant)
    if table.n_classes == 2 and len(live) == 1 and found.kind == "complete" and found.coef is not None:
        j = int(live[0])
        coef[0, j] = np.copysign(np.inf, found.coef[1, j] - found.coef[0, j])
    return coef, intercept


def _running(table: CodedTable, moments: Moments, found: Decision) -> tuple[FloatArray, FloatArray]:
    """What each weight tends to, (1, p) or (K, p), and each intercept: a weight stays finite where the
    directions that vanish on the flat pairs all leave it at zero."""
    k, p = table.n_classes, table.p
    if found.face is None:
        runs = np.broadcast_to(~moments.constant, (k, p)).copy()
        return _as_limits(runs, np.full(k, table.fit_intercept), None)
    assert found.face.direction is not None
    axes, q = found.face.axes, found.face.axes.q
    rows = [
        np.kron(np.eye(k)[j] - np.eye(k)[r], basis) for (j, r), basis in flat_bases(table, found.face).items()
    ]
    flat = np.vstack(rows) if rows else np.zeros((0, k * q))
    shift = np.kron(np.ones((1, k)), np.eye(q))  # the same vector in every class moves no margin
    _, values, vectors = np.linalg.svd(np.vstack([flat, shift]), full_matrices=False)
    fixed = vectors[values > 1e-9 * values[0]]
    inner = np.zeros((p + 1, q))  # each weight, in units of its column's spread, as a map of V_k
    inner[:p, : axes.basis.shape[1]] = axes.basis
    if table.fit_intercept:
        inner[p, -1] = 1.0
        inner[p, :-1] = -(axes.centre * axes.scale) @ axes.basis
    size = np.linalg.norm(inner, axis=1)
    runs = np.zeros((k, p + 1), dtype=bool)
    for j in range(k):
        own = np.kron(np.eye(k)[j], inner)
        left = np.linalg.norm(own - (own @ fixed.T) @ fixed, axis=1)
        runs[j] = left > 1e-8 * size
    toward = None
    if found.coef is not None and k * q - len(fixed) == 1:  # one direction is left
        toward = found.coef, found.intercept
    return _as_limits(runs[:, :p], runs[:, p], toward)


def _as_limits(
    weights: np.ndarray, intercepts: np.ndarray, toward: tuple[FloatArray, FloatArray] | None
) -> tuple[FloatArray, FloatArray]:
    """0 where finite, NaN where it runs, ±inf where only one direction is left and its sign says so."""
    k = len(weights)
    coef, intercept = np.full(weights.shape, np.nan), np.full(k, np.nan)
    if toward is not None:
        coef = np.copysign(np.inf, toward[0] - toward[0].mean(axis=0))
        intercept = np.copysign(np.inf, toward[1] - toward[1].mean())
    coef, intercept = np.where(weights, coef, 0.0), np.where(intercepts, intercept, 0.0)
    return (coef[1:], intercept[1:]) if k == 2 else (coef, intercept)


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


def _all_classes(
    direction: FloatArray, intercept: FloatArray | float | None
) -> tuple[FloatArray, FloatArray]:
    if direction.ndim == 1:
        return np.vstack([0 * direction, direction]), np.array([0.0, intercept], dtype=float)
    return direction, np.asarray(intercept)
