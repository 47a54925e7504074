"""Scalar expressions of one row, before they are written as SQL:  nodes that fold what is known (row O12).

    constant   a number, a word, true or false, NULL          column    what a column of the table holds
    lookup     x → v where x = k, …, else v₀: levels, signs of missing cells, whatever is a table of one x
    sum        c + Σ w_i x_i, lookups of one x merged into one             and arithmetic, comparisons, CASE

A missing number is NULL: it passes through arithmetic as NaN does. Truths are never NULL: a comparison with NULL is
false. Whatever reads constants and lookups of one x alone becomes a lookup of that x, so that a one-hot column times
its weights is one CASE. Equal nodes are one object. Cost: O(1) a node, O(levels) a lookup.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

FEW = ("const", "column")


class Node:
    """One expression: its kind, what it reads, its value (see `Algebra`), its type, and what it may be.

    ``type`` is "number", "whole", "word" or "truth"; ``finite``: it is never infinite.
    """

    __slots__ = ("args", "finite", "kind", "nullable", "type", "value")

    def __init__(
        self, kind: str, args: tuple[Node, ...], value: Any, type: str, nullable: bool, finite: bool
    ):
        self.kind, self.args, self.value = kind, args, value
        self.type, self.nullable, self.finite = type, nullable, finite


class Table(NamedTuple):
    """What a lookup says: pairs of keys (None: NULL) and values, and the value of any other key."""

    pairs: tuple[tuple[Any, Any], ...]
    default: Any


class Algebra:
    """Makes nodes.

    >>> a = Algebra()
    >>> sky = a.column("sky", "word")
    >>> code = a.lookup(sky, [("sun", 0.0), ("rain", 1.0)], -1.0)
    >>> score = a.linear([(2.0, a.number(a.compare("=", code, a.const(1.0)))), (0.5, code)], 0.25)
    >>> score.kind, score.value
    ('lookup', Table(pairs=(('rain', 2.75), ('sun', 0.25)), default=-0.25))
    """

    def __init__(self) -> None:
        self._known: dict[Any, Node] = {}

    def node(
        self, kind: str, args: Sequence[Node], value: Any, type: str, nullable: bool, finite: bool = True
    ) -> Node:
        key = (kind, tuple(map(id, args)), _key(value), type)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Node(kind, tuple(args), value, type, nullable, finite)
        return found

    # ---- leaves ----

    def const(self, value: Any) -> Node:
        if hasattr(value, "item"):
            value = value.item()
        if isinstance(value, float) and math.isnan(value):
            value = None
        kind = {bool: "truth", int: "whole", str: "word"}.get(type(value), "number")
        finite = not isinstance(value, float) or math.isfinite(value)
        return self.node("const", (), value, kind, value is None, finite)

    def column(self, name: str, type: str) -> Node:
        """A column of the table; words are never NULL, but empty."""
        return self.node("column", (), name, type, type != "word")

    # ---- tables of one node ----

    def lookup(self, x: Node, pairs: Iterable[tuple[Any, Any]], default: Any) -> Node:
        default, held = _plain(default), [(key, _plain(value)) for key, value in pairs]
        kept = tuple((key, value) for key, value in held if value != default)
        if not x.nullable and x.finite:
            kept = tuple((key, value) for key, value in kept if key is not None)
        if not kept:
            return self.const(default)
        if x.kind == "const":
            return self.const(dict(kept).get(x.value, default))
        values = [value for _, value in kept] + [default]
        some = next(value for value in values if value is not None)
        kind = {bool: "truth", int: "whole", str: "word"}.get(type(some), "number")
        finite = not any(isinstance(v, float) and math.isinf(v) for v in values)
        return self.node("lookup", (x,), Table(kept, default), kind, None in values, finite)

    def tabulated(self, function: Callable[..., Any], *args: Node) -> Node | None:
        """The function of constants and lookups of one node as a lookup of it; None where it reads more."""
        x = None
        for a in args:
            if a.kind == "lookup" and (x is None or x is a.args[0]):
                x = a.args[0]
            elif a.kind != "const":
                return None
        if x is None:
            return self.const(function(*(a.value for a in args)))
        tables = [dict(a.value.pairs) if a.kind == "lookup" else {} for a in args]
        others = [a.value.default if a.kind == "lookup" else a.value for a in args]
        keys = list(dict.fromkeys(key for table in tables for key in table))
        made = [(key, function(*(t.get(key, o) for t, o in zip(tables, others)))) for key in keys]
        return self.lookup(x, made, function(*others))

    def is_null(self, a: Node) -> Node:
        found = self.tabulated(lambda v: v is None, a)
        if found is not None:
            return found
        return self.lookup(a, [(None, True)], False)

    def number(self, a: Node) -> Node:
        """Truths as 1 and 0, whole numbers as they are, as numbers."""
        if a.type == "number":
            return a
        found = self.tabulated(lambda v: None if v is None else float(v), a)
        if found is not None:
            return found
        if a.type == "truth":
            return self.lookup(a, [(True, 1.0)], 0.0)
        return self.node("number", (a,), None, "number", a.nullable)

    def whole(self, a: Node) -> Node:
        if a.type == "whole":
            return a
        found = self.tabulated(lambda v: None if v is None else int(v), a)
        if found is not None:
            return found
        if a.type == "truth":
            return self.lookup(a, [(True, 1)], 0)
        return self.node("whole", (a,), None, "whole", a.nullable)

    # ---- arithmetic ----

    def linear(self, terms: Iterable[tuple[float, Node]], constant: float = 0.0) -> Node:
        """constant + Σ weight · node, in the order given."""
        plain: dict[Node, float] = {}
        tables: dict[Node, list[tuple[float, Node]]] = {}
        lost = False

        def take(weight: float, node: Node) -> None:
            nonlocal constant, lost
            if node.kind == "const":
                lost = lost or node.value is None
                constant += 0.0 if node.value is None else weight * node.value
            elif node.kind == "sum":
                weights, own = node.value
                constant += weight * own
                for w, inner in zip(weights, node.args):
                    take(weight * w, inner)
            elif node.kind == "lookup":
                tables.setdefault(node.args[0], []).append((weight, node))
            elif weight != 0 or node.nullable or not node.finite:
                plain[node] = plain.get(node, 0.0) + weight

        for weight, node in terms:
            take(weight, node)
        merged = []
        for held in tables.values():
            made = self.tabulated(partial(_dot, [weight for weight, _ in held]), *(node for _, node in held))
            assert made is not None
            if made.kind == "const" and made.value is not None:
                constant += made.value
            else:
                merged.append(made)
        if lost:
            return self.const(None)
        if not plain and len(merged) == 1:
            made = self.tabulated(lambda v: None if v is None else v + constant, merged[0])
            assert made is not None
            return made
        nodes = [*plain, *merged]
        if not nodes:
            return self.const(float(constant))
        weights = (*plain.values(), *(1.0 for _ in merged))
        if len(nodes) == 1 and weights[0] == 1 and constant == 0:
            return nodes[0]
        finite = all(n.finite for n in nodes) and math.isfinite(constant)
        nullable = any(n.nullable for n in nodes) or not finite
        return self.node("sum", nodes, (weights, float(constant)), "number", nullable, finite)

    def arithmetic(self, sign: str, a: Node, b: Node) -> Node:
        """a + b, a − b, a · b, a / b, a mod b (of the sign of b); of whole numbers whole, / cutting towards 0."""
        found = self.tabulated(lambda u, v: calculated(sign, u, v), a, b)
        if found is not None:
            return found
        kind = "whole" if a.type == b.type == "whole" else "number"
        if kind == "number" and sign == "+":
            return self.linear([(1.0, a), (1.0, b)])
        if kind == "number" and sign == "-" and "sum" in (a.kind, b.kind) and b.kind != "max":
            return self.linear([(1.0, a), (-1.0, b)])
        if sign == "*":
            for one, other in ((a, b), (b, a)):
                if one.kind == "const" and one.value == 1:
                    return other
                if one.kind == "const" and one.value == 0 and not other.nullable and other.finite:
                    return one
        elif b.kind == "const" and b.value == (1 if sign == "/" else 0) and sign != "%":
            return a
        finite = a.finite and b.finite
        nullable = a.nullable or b.nullable or not finite
        return self.node(sign, (a, b), None, kind, nullable, finite)

    def function(self, name: str, a: Node) -> Node:
        """exp, ln, sqrt, sin, cos, tanh, floor, sigmoid, negative."""
        found = self.tabulated(lambda v: None if v is None else applied(name, v), a)
        if found is not None:
            return found
        if name == "negative":
            return self.linear([(-1.0, a)])
        finite = name not in ("ln",) and (a.finite or name in ("sigmoid", "tanh"))
        return self.node(name, (a,), None, "number", a.nullable, finite)

    def extreme(self, name: str, nodes: Sequence[Node]) -> Node:
        """The largest ("max") or smallest ("min"); NULL where one is NULL."""
        own = max if name == "max" else min
        found = self.tabulated(lambda *v: None if None in v else own(v), *nodes)
        if found is not None:
            return found
        return self.node(
            name, nodes, None, "number", any(n.nullable for n in nodes), all(n.finite for n in nodes)
        )

    def pick(self, scores: Sequence[Node], values: Sequence[Any]) -> Node:
        """The value of the largest score, of equal ones the first; NULL where one is NULL."""
        if len(scores) == 1:
            return self.const(values[0])
        found = self.tabulated(lambda *v: None if None in v else values[v.index(max(v))], *scores)
        if found is not None:
            return found
        top = self.extreme("max", scores)
        kind = self.const(values[0]).type
        return self.node("pick", (top, *scores), tuple(values), kind, top.nullable)

    # ---- truths ----

    def compare(self, sign: str, a: Node, b: Node) -> Node:
        """a = b, a < b, …: false where one is NULL."""
        found = self.tabulated(lambda u, v: _compared(sign, u, v), a, b)
        if found is not None:
            return found
        if a.kind == "const":
            return self.compare({"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}[sign], b, a)
        if b.kind == "const" and (b.value is None or not b.finite) and a.finite:
            if b.value is None or sign == "=" or (b.value > 0) == (">" in sign):
                return self.const(False)
            return self.negation(self.is_null(a))
        if sign == "=" and b.kind == "const":
            return self.lookup(a, [(b.value, True)], False)
        return self.node("compare", (a, b), sign, "truth", False)

    def both(self, a: Node, b: Node) -> Node:
        return self._joined("and", True, a, b)

    def either(self, a: Node, b: Node) -> Node:
        return self._joined("or", False, a, b)

    def _joined(self, word: str, idle: bool, a: Node, b: Node) -> Node:
        found = self.tabulated(lambda u, v: (u and v) if idle else (u or v), a, b)
        if found is not None:
            return found
        for one, other in ((a, b), (b, a)):
            if one.kind == "const":
                return other if one.value is idle else one
            held = null_test(one)
            if idle and held is not None and not held[1] and _false_at_null(other, held[0]):
                return other  # x is there and x < 3
        return a if a is b else self.node(word, (a, b), None, "truth", False)

    def negation(self, a: Node) -> Node:
        found = self.tabulated(lambda v: not v, a)
        if found is not None:
            return found
        return a.args[0] if a.kind == "not" else self.node("not", (a,), None, "truth", False)

    def where(self, condition: Node, a: Node, b: Node) -> Node:
        """a where the condition holds, else b."""
        if condition.kind == "const":
            return a if condition.value else b
        if a is b:
            return a
        found = self.tabulated(lambda c, u, v: u if c else v, condition, a, b)
        if found is not None:
            return found
        if a.kind == b.kind == "const" and condition.kind != "lookup":
            return self.lookup(condition, [(True, a.value)], b.value)
        held = null_test(condition)
        if held is not None and held[1] and held[0] is b:
            return self.node("coalesce", (b, a), None, b.type, a.nullable, a.finite and b.finite)
        if held is not None and not held[1] and held[0] is a:
            return self.node("coalesce", (a, b), None, a.type, b.nullable, a.finite and b.finite)
        if a.kind == "const" and a.value in (0.0, 1.0) and a.value is not None and (of := _sign_of(b)):
            either = self.either(condition, of)
            return self.number(either if a.value else self.both(self.negation(condition), of))
        kind = "whole" if a.type == b.type == "whole" else a.type if a.type in ("word", "truth") else "number"
        nullable = a.nullable or b.nullable
        return self.node("case", (condition, a, b), None, kind, nullable, a.finite and b.finite)


def null_test(node: Node) -> tuple[Node, bool] | None:
    """(x, whether it is true at NULL) of "x is NULL" and "x is not NULL"."""
    if node.kind == "lookup" and node.type == "truth":
        pairs, default = node.value
        if len(pairs) == 1 and pairs[0][0] is None:
            return node.args[0], not default
    return None


def _false_at_null(node: Node, x: Node) -> bool:
    if node.kind == "compare":
        return x in node.args
    return (
        node.kind == "lookup"
        and node.args[0] is x
        and not dict(node.value.pairs).get(None, node.value.default)
    )


def _sign_of(node: Node) -> Node | None:
    """The truth behind 1 and 0."""
    if node.kind == "lookup" and node.args[0].type == "truth" and node.value == Table(((True, 1.0),), 0.0):
        return node.args[0]
    return None


def _dot(weights: Sequence[float], *values: Any) -> float | None:
    return None if None in values else math.fsum(w * v for w, v in zip(weights, values) if w or v)


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


def _key(value: Any) -> Any:
    """A key that tells 1 from 1.0 and from True."""
    if isinstance(value, tuple):
        return tuple(_key(v) for v in value)
    return type(value), repr(value) if isinstance(value, float) else value


def calculated(sign: str, a: Any, b: Any) -> Any:
    """The number, None for what is none."""
    if a is None or b is None:
        return None
    a, b = (int(v) if isinstance(v, bool) else v for v in (a, b))
    if sign in "+-*":
        found = a + b if sign == "+" else a - b if sign == "-" else a * b
    elif b == 0:
        found = math.nan if a == 0 or sign == "%" else math.copysign(math.inf, a)
    elif sign == "%":
        found = a % b
    else:
        found = int(a / b) if isinstance(a, int) and isinstance(b, int) else a / b
    return _plain(found)


def applied(name: str, v: Any) -> float:
    """A function of a number as SQL is to give it."""
    if name == "exp":
        return math.exp(v) if v < 709.7 else math.inf
    if name == "ln":
        return math.log(v) if v > 0 else -math.inf if v == 0 else math.nan
    if name == "sqrt":
        return math.sqrt(v) if v >= 0 else math.nan
    if name == "sigmoid":
        return 1 / (1 + math.exp(-v)) if v >= 0 else math.exp(v) / (1 + math.exp(v))
    if name == "negative":
        return -v
    return float(getattr(math, name)(v))


def _compared(sign: str, a: Any, b: Any) -> bool:
    if a is None or b is None:
        return False
    return {"=": a == b}.get(sign, False) if sign == "=" else _ordered(sign, a, b)


def _ordered(sign: str, a: Any, b: Any) -> bool:
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[sign])
