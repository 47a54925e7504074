"""The graph that ONNX pieces build, as expressions of one row:  tensors (1, …) of nodes (row O12).

    g = SqlGraph();  answer = convert(g, model, encoded(g, encoder, cells))

What models and encoders are is said once, in the pieces of the ONNX graph (onnx_models.py, onnx_densities.py,
onnx_trees.py, onnx_tables.py); here each operation gives the expressions of its entries, and knows what is constant.
A row stands for all: the first axis has length 1. Cost: O(1) nodes an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.files.graph import MISSING, Graph, OnnxExportError
from separatrix.files.sql_nodes import Algebra, Node

DEEPEST = 60  # conditions of a leaf
ELEMENTWISE = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}
COMPARED = {"Equal": "=", "Less": "<", "LessOrEqual": "<=", "Greater": ">", "GreaterOrEqual": ">="}
APPLIED = {
    "Exp": "exp", "Log": "ln", "Sqrt": "sqrt", "Sin": "sin", "Cos": "cos", "Tanh": "tanh", "Floor": "floor",
    "Sigmoid": "sigmoid", "Neg": "negative",
}  # fmt: skip


class SqlGraph(Graph):
    """A :class:`Graph` whose operations give nodes of `sql_nodes`; ``tensor_of`` says what a name holds.

    >>> g = SqlGraph()
    >>> x = g.given("x", [g.algebra.column("x", "number")])
    >>> g.nodes_of(g.add(g.matmul(x, np.array([[2.0]])), 1.0))[0].value
    ((2.0,), 1.0)
    """

    most_gaps = 8  # columns of a covariance that is eliminated for rows with missing cells

    def __init__(self) -> None:
        self.algebra = Algebra()
        self._tensors: dict[str, np.ndarray] = {}
        self._count = 0
        self._taken: frozenset[str] = frozenset()
        self.opset = 0
        self.nodes, self.constants, self.domains = [], [], set()

    def given(self, name: str, columns: Sequence[Node]) -> str:
        """A tensor (1, p) of the table's columns under a name."""
        row = np.empty((1, len(columns)), dtype=object)
        row[0] = list(columns)
        self._tensors[name] = row
        return name

    def nodes_of(self, name: str) -> list[Node]:
        """The entries of a tensor, in order."""
        return [self._node(entry) for entry in self._tensors[name].ravel()]

    def const(self, value: ArrayLike) -> str:
        return value if isinstance(value, str) else self._kept(np.asarray(value))

    def op(self, kind: str, *inputs: ArrayLike, domain: str = "", **attributes: Any) -> str:
        made = getattr(self, f"_{kind.lower()}", None)
        values = [self._tensors[self.const(value)] for value in inputs]
        if kind in ELEMENTWISE:
            sign = ELEMENTWISE[kind]
            return self._kept(self._each(lambda a, b: self.algebra.arithmetic(sign, a, b), *values))
        if kind in COMPARED:
            return self._kept(self._each(lambda a, b: self._comparison(COMPARED[kind], a, b), *values))
        if kind in APPLIED:
            return self._kept(self._each(lambda a: self.algebra.function(APPLIED[kind], a), *values))
        if made is None:
            what = "erf, which databases lack" if kind == "Erf" else f"the operation {kind}"
            raise OnnxExportError(f"it needs {what}")
        return self._kept(made(*values, **attributes))

    def either(self, condition: str, yes: Callable[[], str], no: Callable[[], str]) -> str:
        held = self._node(self._tensors[condition].ravel()[0])
        if held.kind == "const":
            return yes() if held.value else no()
        return self.where(condition, yes(), no())

    def tensor(self, array: np.ndarray) -> Any:
        return array

    def constant_rows(self, like: str, row: np.ndarray) -> str:
        return self._kept(np.asarray(row).reshape(1, -1))

    def of_two(self, score: str) -> str:
        return self.concat([self.op("Sigmoid", self.neg(score)), self.op("Sigmoid", score)])

    def argmax(self, scores: str) -> str:
        found = np.empty(1, dtype=object)
        nodes = self.nodes_of(scores)
        found[0] = self.algebra.pick(nodes, range(len(nodes)))
        return self._kept(found)

    # ---- within ----

    def _kept(self, array: np.ndarray) -> str:
        self._count += 1
        name = f"\0{self._count}"
        self._tensors[name] = array
        return name

    def _node(self, entry: Any) -> Node:
        return entry if isinstance(entry, Node) else self.algebra.const(entry)

    def _each(self, function: Callable[..., Node], *arrays: np.ndarray) -> np.ndarray:
        """The function of every entry, as NumPy broadcasts."""
        lifted = [np.frompyfunc(self._node, 1, 1)(a) for a in arrays]
        return np.asarray(np.frompyfunc(function, len(arrays), 1)(*lifted), dtype=object)

    def _comparison(self, sign: str, a: Node, b: Node) -> Node:
        for one, other in ((a, b), (b, a)):
            if sign == "=" and one.kind == "const" and one.type == "whole" and one.value == MISSING:
                return self.algebra.is_null(other)
        return self.algebra.compare(sign, a, b)

    def _rows(self, a: np.ndarray, axis: int, function: Callable[[list[Node]], Node]) -> np.ndarray:
        """The function of the entries along an axis, which stays with length 1."""
        moved = np.moveaxis(a, axis, -1)
        found = np.empty(moved.shape[:-1], dtype=object)
        for at in np.ndindex(found.shape):
            found[at] = function([self._node(v) for v in moved[at]])
        return np.expand_dims(found, axis)

    # ---- operations, by their names in lower case ----

    def _identity(self, a: np.ndarray) -> np.ndarray:
        return a

    def _cast(self, a: np.ndarray, to: int) -> np.ndarray:
        if to == 1:
            raise OnnxExportError(
                "it reads numbers in float32, which databases round otherwise: fit to float64"
            )
        return self._each(self.algebra.whole if to == 7 else self.algebra.number, a)

    def _round(self, a: np.ndarray) -> np.ndarray:
        return a  # of leaves, which are whole

    def _isnan(self, a: np.ndarray) -> np.ndarray:
        return self._each(self.algebra.is_null, a)

    def _not(self, a: np.ndarray) -> np.ndarray:
        return self._each(self.algebra.negation, a)

    def _and(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self._each(self.algebra.both, a, b)

    def _or(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self._each(self.algebra.either, a, b)

    def _where(self, c: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self._each(self.algebra.where, c, a, b)

    def _max(self, *arrays: np.ndarray) -> np.ndarray:
        return self._each(lambda *n: self.algebra.extreme("max", n), *arrays)

    def _min(self, *arrays: np.ndarray) -> np.ndarray:
        return self._each(lambda *n: self.algebra.extreme("min", n), *arrays)

    def _pow(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        power = float(np.asarray(b).ravel()[0])
        if power != 2:
            raise OnnxExportError(f"it needs the power {power:g}")
        return self._each(lambda v: self.algebra.arithmetic("*", v, v), a)

    def _matmul(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if a.ndim == 2 and b.ndim == 2 and b.dtype != object:
            row, found = [self._node(v) for v in a[0]], np.empty((1, b.shape[1]), dtype=object)
            for k in range(b.shape[1]):
                found[0, k] = self.algebra.linear(zip(b[:, k].tolist(), row))
            return found
        product = self._each(
            lambda u, v: self.algebra.arithmetic("*", u, v), a[..., :, :, None], b[..., None, :, :]
        )
        return self._rows(product, -2, lambda n: self.algebra.linear((1.0, v) for v in n)).squeeze(-2)

    def _reducesum(self, a: np.ndarray, axes: Any = None, keepdims: int = 1) -> np.ndarray:
        if axes is None:
            return self._rows(
                a.reshape(1, -1), 1, lambda n: self.algebra.linear((1.0, v) for v in n)
            ).reshape(())
        axis = int(np.asarray(axes).ravel()[0])
        found = self._rows(a, axis, lambda n: self.algebra.linear((1.0, v) for v in n))
        return found if keepdims else found.squeeze(axis)

    def _reducemax(self, a: np.ndarray, axes: Any, keepdims: int = 1) -> np.ndarray:
        return self._rows(a, int(axes[0]), lambda n: self.algebra.extreme("max", n))

    def _reducelogsumexp(self, a: np.ndarray, axes: Any, keepdims: int = 1) -> np.ndarray:
        def found(n: list[Node]) -> Node:
            top, parts = self._shifted(n)
            return self.algebra.arithmetic("+", top, self.algebra.function("ln", self.algebra.linear(parts)))

        return self._rows(a, int(axes[0]), found)

    def _shifted(self, n: list[Node]) -> tuple[Node, list[tuple[float, Node]]]:
        """The largest, and e to the power of what each is below it."""
        top = self.algebra.extreme("max", n)
        below = [self.algebra.node("below", (v, top), None, "number", v.nullable or top.nullable) for v in n]
        return top, [(1.0, node) for node in below]

    def _softmax(self, a: np.ndarray, axis: int = 1) -> np.ndarray:
        nodes = [self._node(v) for v in a[0]]
        found = np.empty((1, len(nodes)), dtype=object)
        _, parts = self._shifted(nodes)
        total = self.algebra.linear(parts)
        found[0] = [self.algebra.arithmetic("/", part, total) for _, part in parts]
        return found

    def _concat(self, *arrays: np.ndarray, axis: int = 1) -> np.ndarray:
        lifted = [np.frompyfunc(self._node, 1, 1)(a).astype(object) for a in arrays]
        return np.concatenate(lifted, axis=axis)

    def _gather(self, a: np.ndarray, at: np.ndarray, axis: int = 0) -> np.ndarray:
        if at.dtype != object:
            return np.take(a, at.astype(np.int64), axis=axis)
        if axis or a.dtype == object:
            raise OnnxExportError("it looks up a row of a table that is no constant")

        def entry(index: Node, where: tuple[int, ...]) -> Node:
            values = a.reshape(len(a), -1)[:, np.ravel_multi_index(where, a.shape[1:]) if where else 0]
            found = self.algebra.tabulated(lambda v: values[int(v)], index)
            if found is not None:
                return found
            return self.algebra.lookup(index, enumerate(values[:-1]), values[-1])

        found = np.empty((*at.shape, *a.shape[1:]), dtype=object)
        for place in np.ndindex(found.shape):
            found[place] = entry(self._node(at[place[: at.ndim]]), place[at.ndim :])
        return found

    def _unsqueeze(self, a: np.ndarray, axes: np.ndarray) -> np.ndarray:
        return np.expand_dims(a, int(axes[0]))

    def _squeeze(self, a: np.ndarray, axes: np.ndarray) -> np.ndarray:
        return a.squeeze(int(axes[0]))

    def _reshape(self, a: np.ndarray, shape: np.ndarray) -> np.ndarray:
        return a.reshape(shape.tolist())

    def _slice(self, a: np.ndarray, start: Any, stop: Any, axes: Any = (0,)) -> np.ndarray:
        cut: list[slice] = [slice(None)] * a.ndim
        for first, last, axis in zip(start, stop, axes):
            cut[int(axis)] = slice(int(first), int(last))
        return a[tuple(cut)]

    def _labelencoder(self, a: np.ndarray, **given: Any) -> np.ndarray:
        """Keys → values, and the default for other keys; a key that is NaN is that of missing cells."""
        keys = next(v for k, v in given.items() if k.startswith("keys"))
        name, values = next((k, v) for k, v in given.items() if k.startswith("values"))
        default = next(v for k, v in given.items() if k.startswith("default"))
        form = float if "float" in name else int if "int" in name else str
        table = {key: form(value) for key, value in zip(keys, values)}
        other = form(default)

        def found(node: Node) -> Node:
            if node.kind in ("const", "lookup"):
                made = self.algebra.tabulated(lambda v: table.get(v, other), node)
                assert made is not None
                return made
            return self.algebra.lookup(node, table.items(), other)

        return self._each(found, a)

    def _treeensemble(self, a: np.ndarray, **tree: Any) -> np.ndarray:
        """The leaf a row comes to, by tree: the first whose conditions hold, of those where the way goes left."""
        row, found = [self._node(v) for v in a[0]], []
        for root in tree["tree_roots"]:
            leaves: list[tuple[list[Node], float]] = []
            todo: list[tuple[int, bool, list[Node]]] = [(root, False, [])]
            while todo:
                at, leaf, way = todo.pop()
                if leaf:
                    leaves.append((way, float(tree["leaf_weights"][at])))
                    continue
                x = row[tree["nodes_featureids"][at]]
                goes = self.algebra.compare("<=", x, self.algebra.const(float(tree["nodes_splits"][at])))
                if tree["nodes_missing_value_tracks_true"][at]:
                    goes = self.algebra.either(self.algebra.is_null(x), goes)
                todo.append((tree["nodes_falsenodeids"][at], bool(tree["nodes_falseleafs"][at]), way))
                todo.append((tree["nodes_truenodeids"][at], bool(tree["nodes_trueleafs"][at]), [*way, goes]))
            made = self.algebra.const(leaves[-1][1])
            for way, value in reversed(leaves[:-1]):
                condition = way[0]
                for other in way[1:]:
                    condition = self.algebra.both(condition, other)
                made = self.algebra.where(condition, self.algebra.const(value), made)
            found.append(made)
        out = np.empty((1, len(found)), dtype=object)
        out[0] = found
        return out
