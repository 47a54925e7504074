"""Expressions as SQL:  what is used twice becomes a column of a step, and a step reads the one before (row O12).

    WITH s1 AS MATERIALIZED (SELECT …, expression AS v1 FROM table), s2 AS (SELECT *, … FROM s1) SELECT … FROM s2

Sums are written in groups, so that no expression is deep; a step is computed once (MATERIALIZED), or SQLite and
PostgreSQL would write its expressions into the next. Numbers carry all their digits. Cost: O(nodes) of text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from separatrix.files.sql_nodes import Node
from separatrix.tables.formats.databases import quoted

GROUP = 40  # terms between parentheses
SMALL = ("const",)
TWICE = ("sigmoid", "sqrt")  # kinds that write what they read more than once


def text_of(word: str) -> str:
    """A string of SQL.

    >>> text_of("it's")
    "'it''s'"
    """
    return "'" + word.replace("'", "''") + "'"


class Dialect:
    """What differs between databases; this is SQLite, 3.35 or later with its mathematical functions."""

    name = "sqlite"
    said = "SQLite 3.35 or later, compiled with its mathematical functions (SELECT exp(1) says so)"
    step = "AS MATERIALIZED"
    real, whole, word = "REAL", "INTEGER", "TEXT"
    largest, smallest = "max", "min"
    infinity = "9e999"
    divide = "/"
    has_nan = False

    def number(self, column: str) -> str:
        """A column of numbers, NULL where missing; text without a digit is missing too."""
        blank = f"typeof({column}) = 'text' AND {column} NOT GLOB '*[0-9]*'"
        return f"CASE WHEN {blank} THEN NULL ELSE CAST({column} AS REAL) END"

    def words(self, column: str, numeric: bool) -> str:
        """A column of words; where levels are numbers, 3.0 is spelled 3."""
        plain = f"CAST({column} AS TEXT)"
        if not numeric:
            return plain
        cut = f"CAST({column} AS INTEGER)"
        return f"CASE WHEN typeof({column}) = 'real' AND {column} = {cut} THEN CAST({cut} AS TEXT) ELSE {plain} END"

    def moment(self, column: str) -> str:
        """Microseconds since 1970 by the clock of the column, NULL where missing; SQLite keeps milliseconds."""
        part = f"CAST(strftime('%f', {column}) AS REAL) - CAST(strftime('%S', {column}) AS REAL)"
        return (
            f"CAST(strftime('%s', {column}) AS INTEGER) * 1000000 "
            f"+ CAST(round(({part}) * 1000) AS INTEGER) * 1000"
        )

    def literal(self, value: float) -> str:
        return repr(value)

    def cases(self, text: str) -> str:
        """A CASE of numbers."""
        return text

    def exp(self, text: str) -> str:
        return f"exp({text})"

    def truth(self, value: bool) -> str:
        return str(int(value))


class DuckDB(Dialect):
    name, said = "duckdb", "DuckDB 1.1 or later"
    step = "AS"
    real, whole, word = "DOUBLE", "BIGINT", "VARCHAR"
    largest, smallest = "greatest", "least"
    infinity = "CAST('infinity' AS DOUBLE)"
    divide = "//"
    has_nan = True

    def number(self, column: str) -> str:
        return f"nullif(TRY_CAST({column} AS DOUBLE), CAST('nan' AS DOUBLE))"

    def words(self, column: str, numeric: bool) -> str:
        plain = f"CAST({column} AS VARCHAR)"
        return f"regexp_replace({plain}, '^(-?[0-9]+)\\.0+$', '\\1')" if numeric else plain

    def moment(self, column: str) -> str:
        return f"epoch_us(TRY_CAST({column} AS TIMESTAMP))"

    def literal(self, value: float) -> str:
        made = repr(value)
        return made if "e" in made else f"{made}e0"  # else a decimal

    def truth(self, value: bool) -> str:
        return "TRUE" if value else "FALSE"


class Postgres(DuckDB):
    name, said = "postgres", "PostgreSQL 12 or later"
    step = "AS MATERIALIZED"
    real, word = "double precision", "text"
    infinity = "CAST('infinity' AS double precision)"
    divide = "/"

    def number(self, column: str) -> str:
        return f"nullif(CAST({column} AS double precision), CAST('nan' AS double precision))"

    def words(self, column: str, numeric: bool) -> str:
        plain = f"CAST({column} AS text)"
        return f"regexp_replace({plain}, '^(-?[0-9]+)\\.0+$', '\\1')" if numeric else plain

    def moment(self, column: str) -> str:
        return f"CAST(round(extract(epoch FROM CAST({column} AS timestamp)) * 1000000) AS bigint)"

    def literal(self, value: float) -> str:
        return repr(value)

    def cases(self, text: str) -> str:
        return f"CAST({text} AS double precision)"

    def exp(self, text: str) -> str:  # which refuses what is too small to be told from 0
        return f"CASE WHEN {text} < -700 THEN 0 ELSE exp({text}) END"


DIALECTS: dict[str, Dialect] = {d.name: d for d in (Dialect(), DuckDB(), Postgres())}


class Writer:
    """Writes the query of some outputs: (name, node) each."""

    def __init__(self, dialect: Dialect, outputs: Sequence[tuple[str, Node]], taken: Sequence[str]):
        self.dialect, self.outputs = dialect, outputs
        self.prefix = "sx"
        while any(name.lower().startswith(self.prefix) for name in taken):
            self.prefix += "x"
        self.names: dict[Node, str] = {}
        self.levels: dict[Node, int] = {}
        self._plan()

    def _plan(self) -> None:
        """Which nodes become columns, and in which step: after those they read."""
        uses: dict[Node, int] = {}
        order: list[Node] = []
        todo = [(node, False) for _, node in reversed(self.outputs)]
        for _, node in self.outputs:
            uses[node] = uses.get(node, 0) + 1
        seen: set[Node] = set()
        while todo:
            node, done = todo.pop()
            if done:
                order.append(node)
                continue
            if node in seen:
                continue
            seen.add(node)
            todo.append((node, True))
            for inner in reversed(node.args):
                uses[inner] = uses.get(inner, 0) + (2 if node.kind in TWICE else 1)
                todo.append((inner, False))
        level: dict[Node, int] = {}
        size: dict[Node, int] = {}
        for node in order:
            below = max((level[inner] for inner in node.args), default=0)
            size[node] = 1 + sum(size[inner] for inner in node.args)
            held = node.kind not in SMALL and (uses[node] > 1 or size[node] > 400)
            if held and not (node.kind == "compare" and all(n.kind in SMALL for n in node.args)):
                below += 1
                self.levels[node] = below
                self.names[node] = f"{self.prefix}{len(self.names) + 1}"
                size[node] = 1
            level[node] = below

    def query(self, table: str, keep: Sequence[str]) -> str:
        """The whole statement, without a semicolon."""
        steps: list[str] = []
        source, origin = f"{self.prefix}_rows", f"{table} AS {self.prefix}_rows"
        for step in range(1, max(self.levels.values(), default=0) + 1):
            mine = [node for node, level in self.levels.items() if level == step]
            columns = "".join(f",\n    {self._written(node)} AS {self.names[node]}" for node in mine)
            name = f"{self.prefix}_step{step}"
            steps.append(f"{name} {self.dialect.step} (\n  SELECT {source}.*{columns}\n  FROM {origin}\n)")
            origin = name
            source = name
        kept = [quoted(name) for name in keep]
        said = [f"{self.text(node)} AS {quoted(name)}" for name, node in self.outputs]
        head = "WITH " + ",\n".join(steps) + "\n" if steps else ""
        return f"{head}SELECT\n  " + ",\n  ".join([*kept, *said]) + f"\nFROM {origin}"

    # ---- expressions ----

    def text(self, node: Node) -> str:
        """The node, by its name where it is a column of a step."""
        return self.names[node] if node in self.names else self._written(node)

    def _written(self, node: Node) -> str:
        made = getattr(self, f"_{node.kind}", None)
        if made is not None:
            return str(made(node))
        parts = [self.text(inner) for inner in node.args]
        if node.kind in ("+", "-", "*"):
            return f"({parts[0]} {node.kind} {parts[1]})"
        if node.kind == "/":
            return f"({parts[0]} {self.dialect.divide if node.type == 'whole' else '/'} {parts[1]})"
        if node.kind == "%":
            return f"(({parts[0]} % {parts[1]} + {parts[1]}) % {parts[1]})"
        if node.kind in ("exp", "sin", "cos", "tanh", "floor"):
            return self.dialect.exp(parts[0]) if node.kind == "exp" else f"{node.kind}({parts[0]})"
        raise AssertionError(node.kind)

    def _constant(self, value: Any) -> str:
        d = self.dialect
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return d.truth(value)
        if isinstance(value, str):
            return text_of(value)
        if isinstance(value, float):
            made = d.infinity if math.isinf(value) else d.literal(abs(value))
            return f"(-{made})" if math.copysign(1.0, value) < 0 and value else made
        return f"({value})" if value < 0 else str(value)

    def _const(self, node: Node) -> str:
        return self._constant(node.value)

    def _column(self, node: Node) -> str:
        return str(node.value)

    def _sum(self, node: Node) -> str:
        weights, constant = node.value
        terms = [self._constant(constant)] if constant else []
        for weight, inner in zip(weights, node.args):
            text = self.text(inner)
            terms.append(text if weight == 1 else f"{self._constant(float(weight))} * {text}")
        return self._added(terms)

    def _added(self, terms: list[str]) -> str:
        while len(terms) > GROUP:
            terms = [self._added(terms[at : at + GROUP]) for at in range(0, len(terms), GROUP)]
        return "(" + "\n      + ".join(terms) + ")"

    def _lookup(self, node: Node) -> str:
        (inner,) = node.args
        pairs, default = node.value
        x = self.text(inner)
        if node.type == "truth":
            return self._listed(x, inner, pairs, default)
        if inner.type == "truth":
            table = dict(pairs)
            yes, no = (self._constant(table.get(v, default)) for v in (True, False))
            return self._numbers(node, f"CASE WHEN {x} THEN {yes} ELSE {no} END")
        whens = [
            f"WHEN {self._null(x, inner) if key is None else f'{x} = {self._constant(key)}'} "
            f"THEN {self._constant(value)}"
            for key, value in pairs
        ]
        if all(key is not None for key, _ in pairs):
            whens = [f"WHEN {self._constant(key)} THEN {self._constant(value)}" for key, value in pairs]
            return self._numbers(node, f"CASE {x} {' '.join(whens)} ELSE {self._constant(default)} END")
        return self._numbers(node, f"CASE {' '.join(whens)} ELSE {self._constant(default)} END")

    def _numbers(self, node: Node, text: str) -> str:
        return self.dialect.cases(text) if node.type == "number" else text

    def _listed(self, x: str, inner: Node, pairs: Any, default: bool) -> str:
        """Whether x is among the keys, or is not (``default``); NULL as the table says."""
        if inner.type == "truth":
            return f"(NOT {x})" if default is not dict(pairs).get(True, default) and default else x
        keys = [self._constant(key) for key, _ in pairs if key is not None]
        null = any(key is None for key, _ in pairs)
        parts = []
        if keys:
            held = f"{x} {'NOT IN' if default else 'IN'} ({', '.join(keys)})"
            if inner.nullable and not (null and default):
                held = f"coalesce({held}, {self.dialect.truth(default)})"
            parts.append(held)
        if null:
            parts.append(f"NOT {self._null(x, inner)}" if default else self._null(x, inner))
        return "(" + (" AND " if default else " OR ").join(parts) + ")"

    def _null(self, x: str, inner: Node) -> str:
        if self.dialect.has_nan and not inner.finite:
            return f"({x} IS NULL OR {x} = CAST('nan' AS {self.dialect.real}))"
        return f"{x} IS NULL"

    def _compare(self, node: Node) -> str:
        a, b = node.args
        made = f"{self.text(a)} {node.value} {self.text(b)}"
        return f"coalesce({made}, {self.dialect.truth(False)})" if a.nullable or b.nullable else f"({made})"

    def _and(self, node: Node) -> str:
        return "(" + " AND ".join(self._chained(node, "and")) + ")"

    def _or(self, node: Node) -> str:
        return "(" + " OR ".join(self._chained(node, "or")) + ")"

    def _chained(self, node: Node, kind: str) -> list[str]:
        parts: list[str] = []
        todo = list(reversed(node.args))
        while todo:
            inner = todo.pop()
            if inner.kind == kind and inner not in self.names:
                todo += reversed(inner.args)
            else:
                parts.append(self.text(inner))
        return parts

    def _not(self, node: Node) -> str:
        return f"(NOT {self.text(node.args[0])})"

    def _case(self, node: Node) -> str:
        whens, at = [], node
        while at.kind == "case" and (at is node or at not in self.names):
            whens.append(f"WHEN {self.text(at.args[0])} THEN {self.text(at.args[1])}")
            at = at.args[2]
        return self._numbers(node, f"CASE {' '.join(whens)} ELSE {self.text(at)} END")

    def _coalesce(self, node: Node) -> str:
        a, b = node.args
        if self.dialect.has_nan and not a.finite:
            return f"CASE WHEN {self._null(self.text(a), a)} THEN {self.text(b)} ELSE {self.text(a)} END"
        return f"coalesce({self.text(a)}, {self.text(b)})"

    def _number(self, node: Node) -> str:
        return f"CAST({self.text(node.args[0])} AS {self.dialect.real})"

    def _whole(self, node: Node) -> str:
        return f"CAST({self.text(node.args[0])} AS {self.dialect.whole})"

    def _max(self, node: Node) -> str:
        return self._extreme(node, self.dialect.largest)

    def _min(self, node: Node) -> str:
        return self._extreme(node, self.dialect.smallest)

    def _extreme(self, node: Node, name: str) -> str:
        parts = [self.text(inner) for inner in node.args]
        null = [self.text(inner) for inner in node.args if inner.nullable]
        while len(parts) > GROUP:
            parts = [f"{name}({', '.join(parts[at : at + GROUP])})" for at in range(0, len(parts), GROUP)]
        made = f"{name}({', '.join(parts)})" if len(parts) > 1 else parts[0]
        if null and name in ("greatest", "least"):  # which pass over NULL
            return f"CASE WHEN {' OR '.join(f'{x} IS NULL' for x in null)} THEN NULL ELSE {made} END"
        return made

    def _pick(self, node: Node) -> str:
        top, *scores = node.args
        whens = [
            f"WHEN {self.text(score)} = {self.text(top)} THEN {self._constant(value)}"
            for score, value in zip(scores, node.value)
        ]
        return f"CASE {' '.join(whens)} END"

    def _below(self, node: Node) -> str:
        a, b = node.args
        return self.dialect.exp(f"{self.text(a)} - {self.text(b)}")

    def _sigmoid(self, node: Node) -> str:
        x = self.text(node.args[0])
        up, down = self.dialect.exp(f"-({x})"), self.dialect.exp(x)
        return self._numbers(node, f"CASE WHEN {x} >= 0 THEN 1 / (1 + {up}) ELSE {down} / (1 + {down}) END")

    def _ln(self, node: Node) -> str:
        x = self.text(node.args[0])
        low = self._constant(-math.inf)
        return f"CASE WHEN {x} > 0 THEN ln({x}) WHEN {x} = 0 THEN {low} END"

    def _sqrt(self, node: Node) -> str:
        x = self.text(node.args[0])
        return f"CASE WHEN {x} >= 0 THEN sqrt({x}) END"
