"""Building an ONNX graph piece by piece: tensors are names, an operation takes names and gives a name (row O8).

    g = Graph();  z = g.add(g.matmul("X", coef.T), intercept)          arrays become constants

Numbers are float64 throughout. A table is a :class:`Cells`: one tensor (n, p), or one tensor (n, 1) a column where
some columns hold words. Shapes as in NumPy. Cost: one node an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

OPSET, IR = 18, 9
WITH_STRINGS = 20  # the opset that joins, compares and matches strings
ML, MICROSOFT = "ai.onnx.ml", "com.microsoft"
VERSIONS = {ML: 5, MICROSOFT: 1}
END, MISSING = np.iinfo(np.int64).max, np.iinfo(np.int64).min  # an end that is none; a date that is missing


class OnnxExportError(ValueError):
    """A model, or an option of it, that has no form in ONNX here."""


def onnx() -> Any:
    """The onnx package, where it is installed."""
    try:
        import onnx as package
    except ImportError:
        raise ImportError('ONNX export needs onnx: pip install "separatrix[onnx]"') from None
    return package


class Graph:
    """Nodes and constants of a graph that grows.

    >>> g = Graph()
    >>> g.mul("X", 2.0)
    't1'
    >>> [node.op_type for node in g.nodes], [c.name for c in g.constants]
    (['Mul'], ['c0'])
    """

    most_gaps = 60  # columns of a covariance that is eliminated for rows with missing cells: a few nodes each

    def __init__(self) -> None:
        package = onnx()
        self._helper, self._numpy = package.helper, package.numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._count = 0
        self._known: dict[tuple[Any, ...], str] = {}
        self._taken: frozenset[str] = frozenset()
        self.opset = OPSET
        self.domains = {ML}

    def reserve(self, names: Sequence[str]) -> None:
        """Names that no tensor made here may have: a column of the table may be called t1."""
        self._taken |= set(names)

    def _new(self, letter: str) -> str:
        while f"{letter}{self._count}" in self._taken:
            self._count += 1
        self._count += 1
        return f"{letter}{self._count - 1}"

    def const(self, value: ArrayLike) -> str:
        """A constant tensor; a name passes, numbers are float64 unless they are whole or boolean arrays."""
        if isinstance(value, str):
            return value
        array = np.asarray(value)
        if array.dtype.kind in "OU":
            array = array.astype(object)
        elif array.dtype.kind == "f" or np.isscalar(value):
            array = array.astype(np.float64)
        key = (array.dtype.str, array.shape, tuple(array.ravel().tolist()) if array.size < 9 else None)
        if key[2] is not None and key in self._known and array.dtype.kind != "O":
            return self._known[key]
        name = self._known[key] = self._new("c")
        self.constants.append(self._numpy.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return name

    def op(self, kind: str, *inputs: ArrayLike, domain: str = "", **attributes: Any) -> str:
        """One node with one output, whose name is returned."""
        names = [self.const(value) for value in inputs]
        out = self._new("t")
        self.domains |= {domain} - {""}
        self.nodes.append(self._helper.make_node(kind, names, [out], domain=domain or None, **attributes))
        return out

    def either(self, condition: str, yes: Callable[[], str], no: Callable[[], str]) -> str:
        """What ``yes`` or ``no`` make, float64; only the one that the condition (one boolean) names is computed."""
        branches = {}
        for name, make in (("then_branch", yes), ("else_branch", no)):
            outer, self.nodes = self.nodes, []
            last = self.op("Identity", make())
            out = self._helper.make_tensor_value_info(last, 11, None)
            branches[name] = self._helper.make_graph(self.nodes, name, [], [out])
            self.nodes = outer
        return self.op("If", condition, **branches)

    def tensor(self, array: np.ndarray) -> Any:
        """An array as the value of an attribute."""
        return self._numpy.from_array(array)

    def versions(self) -> list[Any]:
        """The sets of operations that the nodes come from."""
        own = self._helper.make_opsetid("", self.opset)
        return [own, *(self._helper.make_opsetid(name, VERSIONS[name]) for name in sorted(self.domains))]

    # ---- arithmetic ----

    def add(self, a: ArrayLike, b: ArrayLike) -> str:
        return self.op("Add", a, b)

    def sub(self, a: ArrayLike, b: ArrayLike) -> str:
        return self.op("Sub", a, b)

    def mul(self, a: ArrayLike, b: ArrayLike) -> str:
        return self.op("Mul", a, b)

    def div(self, a: ArrayLike, b: ArrayLike) -> str:
        return self.op("Div", a, b)

    def neg(self, a: ArrayLike) -> str:
        return self.op("Neg", a)

    def exp(self, a: ArrayLike) -> str:
        return self.op("Exp", a)

    def log(self, a: ArrayLike) -> str:
        return self.op("Log", a)

    def matmul(self, a: ArrayLike, b: ArrayLike) -> str:
        """a @ b. Put a scalar factor into b: onnxruntime fuses one that follows, and keeps it as a float32."""
        return self.op("MatMul", a, b)

    def where(self, condition: str, a: ArrayLike, b: ArrayLike) -> str:
        return self.op("Where", condition, a, b)

    def double(self, a: str) -> str:
        return self.op("Cast", a, to=11)

    def whole(self, a: str) -> str:
        return self.op("Cast", a, to=7)

    def both(self, *conditions: str) -> str:
        found, *rest = conditions
        for other in rest:
            found = self.op("And", found, other)
        return found

    def sum(self, a: str, axis: int = 1, keep: bool = True) -> str:
        return self.op("ReduceSum", a, np.array([axis]), keepdims=int(keep))

    def concat(self, parts: Sequence[str], axis: int = 1) -> str:
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=axis)

    def columns(self, a: str, which: Any) -> str:
        """Some columns, in order."""
        return self.op("Gather", a, np.asarray(which, dtype=np.int64), axis=1)

    # ---- lists (n,) ----

    def flat(self, a: ArrayLike) -> str:
        """All entries in a row: (n,)."""
        return self.op("Reshape", a, np.array([-1]))

    def take(self, a: ArrayLike, at: ArrayLike) -> str:
        """a[at]: the shape of ``at``."""
        return self.op("Gather", a, at, axis=0)

    def part(self, a: str, start: int, stop: int = END) -> str:
        """a[start:stop]."""
        return self.op("Slice", a, np.array([start]), np.array([stop]))

    def size(self, a: str) -> str:
        """How many rows: (1,) of int64."""
        return self.part(self.op("Shape", a), 0, 1)

    def running(self, a: str) -> str:
        """a₀, a₀ + a₁, …"""
        return self.op("CumSum", a, np.array(0))

    def where_true(self, a: str) -> str:
        """The places of True: (k,) of int64."""
        return self.flat(self.op("NonZero", a))

    def look_up(self, a: str, known: dict[Any, int], other: int) -> str:
        """known[a], or ``other``: words or whole numbers → int64."""
        words = isinstance(next(iter(known)), str)
        keys: dict[str, Any] = {"keys_strings" if words else "keys_int64s": list(known)}
        values = list(known.values())
        return self.op("LabelEncoder", a, domain=ML, **keys, values_int64s=values, default_int64=other)

    # ---- scores ----

    def softmax(self, scores: str) -> str:
        return self.op("Softmax", scores, axis=1)

    def of_two(self, score: str) -> str:
        """σ(−s), σ(s) of a score (n, 1): (n, 2)."""
        return self.softmax(self.concat([self.mul(score, 0.0), score]))

    def constant_rows(self, like: str, row: np.ndarray) -> str:
        """A row (K,) repeated for every row of ``like`` (n, …)."""
        shape = self.concat([self.size(like), self.const(np.array([1]))], axis=0)
        return self.op("Expand", row.reshape(1, -1), shape)

    def one_hot(self, winner: str, k: int) -> str:
        """(n, K) of zeros and ones from indices (n,)."""
        return self.op("Gather", np.eye(k), winner, axis=0)

    def argmax(self, scores: str) -> str:
        """The index of the largest, of equal ones the first: (n,)."""
        return self.op("ArgMax", scores, axis=1, keepdims=0, select_last_index=0)

    def log_product(self, a: str, logs: np.ndarray) -> str:
        """a @ logs for a ≥ 0, where 0 · (−∞) is 0: (n, p) and (p, K) give (n, K)."""
        never = np.isneginf(logs)
        found = self.matmul(a, np.where(never, 0.0, logs))
        if not never.any():
            return found
        hit = self.op("Greater", self.matmul(a, never.astype(np.float64)), 0.0)
        return self.where(hit, -np.inf, found)


@dataclass(frozen=True)
class Input:
    """A tensor that a graph is given: its name, what it holds, and the columns of the table that are in it.

    ``width`` is None where a model was not told how many columns there are.

    >>> Input("when", "moments").said()
    'microseconds since 1970-01-01T00:00 by the clock of the column, -9223372036854775808 where missing'
    """

    name: str
    kind: str  # a key of HOLDS
    columns: tuple[str, ...] = ()
    width: int | None = 1

    @property
    def words(self) -> bool:
        return self.kind in ("words", "documents")

    def type(self) -> int:
        """STRING, INT64 or DOUBLE, as ONNX numbers them."""
        return 8 if self.words else 7 if self.kind == "moments" else 11

    def said(self) -> str:
        listed = ": " + ", ".join(self.columns) if len(self.columns) > 1 else ""
        return HOLDS[self.kind] + listed


HOLDS = {
    "numbers": "numbers, NaN where missing",
    "words": "words, spelled as in training, empty where missing",
    "documents": "texts, empty where missing",
    "moments": f"microseconds since 1970-01-01T00:00 by the clock of the column, {MISSING} where missing",
}


@dataclass(frozen=True)
class Cells:
    """A table in the graph: ``whole`` (n, p), or ``columns``, tensors (n, 1) of which some hold words."""

    graph: Graph
    whole: str | None
    columns: tuple[str, ...] = ()
    words: tuple[bool, ...] = ()
    names: tuple[str, ...] = ()

    @classmethod
    def matrix(cls, graph: Graph, whole: str) -> Cells:
        return cls(graph, whole)

    @classmethod
    def given(cls, graph: Graph, inputs: Sequence[Input]) -> Cells:
        """The tensors a graph is given, one beside the other."""
        names = tuple(i.name for i in inputs)
        return cls(graph, None, names, tuple(i.words for i in inputs), names)

    def numbers(self) -> str:
        """All columns as one tensor (n, p) of numbers."""
        if self.whole is not None:
            return self.whole
        if any(self.words):
            name = self.names[self.words.index(True)] if self.names else "a column"
            raise OnnxExportError(
                f"column {name!r} holds words and meets a step that reads numbers: encode it first"
            )
        return self.graph.concat(self.columns)

    def column(self, j: int) -> str:
        """One column (n, 1)."""
        return self.graph.columns(self.whole, [j]) if self.whole is not None else self.columns[j]

    def some(self, which: Sequence[int]) -> Cells:
        """Some columns, in the order given."""
        if self.whole is not None:
            names = tuple(self.names[j] for j in which) if self.names else ()
            return Cells(self.graph, self.graph.columns(self.whole, list(which)), names=names)
        picked = [
            tuple(part[j] for j in which) if part else () for part in (self.columns, self.words, self.names)
        ]
        return Cells(self.graph, None, *picked)  # type: ignore[arg-type]
