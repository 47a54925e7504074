"""A fitted model as a query:  to_sql(model, dialect="duckdb", table="t") → SELECT …, the same to 1e-12 (row O12).

    out    "predicted", the class;  "p(CLASS)" for each class, in the order of classes_; "score(CLASS)" where the
           model has no probabilities, and "mean" of a generalised linear model that is no binomial

The encoder before the model is in the query: medians and signs of missing cells (NULL), scales, levels and those
never seen, parts of dates. Models whose score is a sum over columns have such a query (linear rules, naive Bayes,
Gaussian discriminants, AdaBoost on stumps), and so have single trees; what is known of each is in its ONNX pieces.
The query is one SELECT: put it into a view, or keep the rows' names in it by ``keep``. Rows come in no order.
Cost: O(pK) characters for linear models, of all levels, stumps or nodes for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.files import onnx_densities, onnx_trees  # noqa: F401  they register their converters
from separatrix.files.graph import Cells, Input, OnnxExportError
from separatrix.files.onnx_encode import encoded
from separatrix.files.onnx_inputs import inputs_of, is_mean, taken_apart
from separatrix.files.onnx_models import at_threshold, convert, linear, mean_of
from separatrix.files.sql_graph import SqlGraph
from separatrix.files.sql_nodes import Node
from separatrix.files.sql_write import DIALECTS, Dialect, Writer, text_of
from separatrix.files.whole import write_whole
from separatrix.models.threshold import threshold_of, without_threshold
from separatrix.tables.formats.databases import quoted
from separatrix.tables.learned import LevelColumn
from separatrix.tables.table import Schema

if TYPE_CHECKING:
    from os import PathLike

ADDITIVE = (
    "LogisticRegression", "BayesianLogisticRegression", "GeneralizedLinearModel", "LeastSquaresClassifier",
    "LinearSVC", "Perceptron", "SubgradientSVC", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis",
    "GaussianDiscriminant", "GaussianNB", "BernoulliNB", "MultinomialNB", "CategoricalNB", "ComplementNB",
    "NaiveBayes", "GenerativeClassifier", "DecisionStump", "DecisionTreeClassifier", "AdaBoostClassifier",
    "DummyClassifier",
)  # fmt: skip
WOULD_DO = "logistic regression, linear_svc, naive Bayes, Gaussian discriminants, AdaBoost on stumps or a single tree"
NUMERIC = re.compile(r"-?\d+")


class SqlExportError(ValueError):
    """A model, an option or a table that has no scoring query here."""


def to_sql(
    model: BaseEstimator,
    *,
    dialect: str = "sqlite",
    table: str = "data",
    keep: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    encoder: BaseEstimator | None = None,
    path: str | PathLike[str] | None = None,
) -> str:
    """The query that answers every row of a table as a fitted model does (O12).

    Parameters
    ----------
    model : a fitted classifier, or a Pipeline that ends in one (see the module for those that have a query)
    dialect : "sqlite", "duckdb" or "postgres"
    table : the table or view that is read; ``schema.table`` names its schema
    keep : columns of the table that stand before the answers, such as a key: rows come in no order
    columns : the table's columns, in the order of training, for a model that was fitted to an array without names
    encoder : a fitted transformer that comes before the model
    path : a file to write the query to, whole or not at all

    >>> import sqlite3
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model, base = LogisticRegression().fit(X, y), sqlite3.connect(":memory:")
    >>> _ = X.to_sql("flowers", base)
    >>> rows = base.execute(to_sql(model, table="flowers", keep=["index"])).fetchall()
    >>> bool(abs(np.array(rows)[:, 2:] - model.predict_proba(X)).max() < 1e-12)
    True
    """
    if dialect not in DIALECTS:
        raise SqlExportError(f"dialect {dialect!r} is unknown; it is one of {', '.join(map(repr, DIALECTS))}")
    if not isinstance(table, str) or not table.strip():
        raise SqlExportError(f"table is {table!r}; give the name of the table that the query reads")
    if isinstance(keep, str):
        raise SqlExportError(f"keep is {keep!r}; give a list of names")
    spoken = DIALECTS[dialect]
    whole, cut = model, threshold_of(model)
    model = without_threshold(model)
    try:
        model, steps = taken_apart(model, encoder, scores=True)
        _refuse_others(model)
        given = inputs_of(model, steps, ())
        names = _names(given, columns, [*steps, model])
        outputs = _outputs(
            SqlGraph(), spoken, model, steps, given, names, getattr(whole, "table_", None), cut
        )
    except OnnxExportError as error:
        said = str(error).replace(" in ONNX here", " in SQL here").replace("ONNX", "SQL")
        raise SqlExportError(f"{type(model).__name__} has no scoring query: {said}") from None
    _refuse_names(names, keep, [name for name, _ in outputs])
    writer = Writer(spoken, outputs, [*names, *keep])
    place = ".".join(quoted(part) for part in table.split("."))
    text = f"{_head(model, spoken, table, names, keep)}\n{writer.query(place, keep)};\n"
    if path is not None:
        write_whole(path, text.encode("utf-8"))
    return text


def _refuse_others(model: BaseEstimator) -> None:
    name = type(model).__name__
    straight = name in ("SVC", "NuSVC") and getattr(model, "kernel", None) == "linear"
    if name not in ADDITIVE and not straight:
        why = "is not a sum over columns"
        if name in ("RandomForestClassifier", "ExtraTreesClassifier", "BaggingClassifier"):
            why = "is a mean of many trees, too long for a query"
        if hasattr(model, "kernel"):
            why = f"is a sum over support vectors under the kernel {model.kernel!r}"
        other = ", and to_onnx writes this model" if hasattr(model, "predict_proba") else ""
        raise SqlExportError(f"{name} has no scoring query: its score {why}; {WOULD_DO} would do{other}")
    if type(getattr(model, "link_", None)).__name__ == "Probit":
        raise SqlExportError(
            "GeneralizedLinearModel with the link probit has no scoring query: it needs erf, which databases lack; "
            'the links "logit" and "cloglog" would do'
        )


def _names(given: list[Input], columns: Sequence[str] | None, parts: list[Any]) -> list[str]:
    """The table's columns that are read, one for each entry of the inputs."""
    names: list[str] = []
    for i in given:
        if i.columns:
            names += i.columns
            continue
        outer = next(part for part in parts if part not in (None, "passthrough"))
        found = columns if columns is not None else getattr(outer, "feature_names_in_", None)
        if found is None:
            raise SqlExportError(
                "the model was fitted to an array, whose columns have no names; give them by columns=[…]"
            )
        if i.width is not None and len(found) != i.width:
            raise SqlExportError(f"columns names {len(found)}, and the model reads {i.width}; name each once")
        names += [str(name) for name in found]
    return names


def _refuse_names(names: Sequence[str], keep: Sequence[str], outputs: Sequence[str]) -> None:
    """Databases read "Age" and "age" as one name."""
    for held, what in ((names, "the model reads"), ([*keep, *outputs], "the query would give")):
        low = [name.casefold() for name in held]
        twice = next((name for name, small in zip(held, low) if low.count(small) > 1), None)
        if twice is not None:
            raise SqlExportError(
                f"{what} more than one column called {twice!r}, as capitals do not count in a database; rename one"
            )


def _outputs(
    g: SqlGraph,
    dialect: Dialect,
    model: Any,
    steps: list[Any],
    given: list[Input],
    names: list[str],
    table: Any,
    cut: tuple[float, Any] | None,
) -> list[tuple[str, Node]]:
    """(name, expression) of every column that comes out."""
    at, levels, empty = 0, _levels(steps), _empty(table)
    for i in given:
        width = max(len(i.columns), 1) if i.columns or i.width is None else i.width
        mine, at = names[at : at + width], at + width
        g.given(i.name, [_column(g, dialect, i, name, levels, empty) for name in mine])
    g.reserve([i.name for i in given])
    cells = Cells.given(g, given) if given[0].columns or given[0].words else Cells.matrix(g, given[0].name)
    for step in steps:
        cells = encoded(g, step, cells)
    if is_mean(model):
        if hasattr(model, "_table"):
            raise OnnxExportError(
                "a formula is code that is run on every new frame: fit to the columns themselves"
            )
        eta = linear(g, cells.numbers(), model.rule_.coef, model.rule_.intercept, "GeneralizedLinearModel")
        return [("mean", g.nodes_of(mean_of(g, type(model.link_).__name__, eta))[0])]
    answer = at_threshold(g, convert(g, model, cells), cut, model)
    classes = np.asarray(getattr(model, "classes_", [0, 1])).tolist()
    kinds = {type(label) for label in classes}
    if len(kinds) > 1 or not kinds <= {str, int, float, bool}:
        raise OnnxExportError(
            f"its labels {classes[:4]!r} are not all words or all numbers, as a column holds"
        )
    scores = g.nodes_of(answer.scores)
    made = g.algebra.pick(scores, classes)
    found = answer.probabilities or answer.scores
    word = "p" if answer.probabilities is not None else "score"
    own = list(zip(classes, g.nodes_of(found)))
    if word == "score" and len(own) == 2:
        own = own[1:]  # of two classes one score, that of the second
    return [("predicted", made), *((f"{word}({label})", node) for label, node in own)]


def _levels(steps: list[Any]) -> dict[str, Sequence[str]]:
    """The levels of a table encoder's columns."""
    parts = [part for step in steps for part in getattr(step, "_parts", ()) if isinstance(part, LevelColumn)]
    return {part.name: part.levels for part in parts}


def _empty(table: Any) -> dict[str, tuple[str, ...]]:
    """The words that said a cell is empty when the table of training was read from a file."""
    if table is None:
        return {}
    return {r.name: tuple(word for word in r.empty if word) for r in Schema.from_dict(table).readings}


def _column(
    g: SqlGraph,
    dialect: Dialect,
    i: Input,
    name: str,
    levels: dict[str, Sequence[str]],
    empty: dict[str, Any],
) -> Node:
    """A column of the table as its input is given: numbers and moments NULL where missing, words empty."""
    if i.kind == "documents":
        raise OnnxExportError(f"column {name!r} holds text, and databases do not cut it into words alike")
    place = quoted(name)
    if i.kind == "moments":
        return g.algebra.column(dialect.moment(place), "whole")
    if i.kind == "numbers":
        return g.algebra.column(dialect.number(place), "number")
    held = levels.get(name, ())
    truths = bool(held) and set(held) <= {"True", "False"}
    text = dialect.words(place, any(NUMERIC.fullmatch(level) for level in held))
    if truths:
        yes, no = (f"lower({text}) IN ({words})" for words in ("'1', 'true', 't'", "'0', 'false', 'f'"))
        text = f"CASE WHEN {yes} THEN 'True' WHEN {no} THEN 'False' ELSE {text} END"
    elif all(level == level.strip() for level in held) and name in empty:
        text = f"trim({text})"
    gone = [word for word in empty.get(name, ()) if word not in held]
    if gone:
        text = f"CASE WHEN {text} IN ({', '.join(map(text_of, gone))}) THEN '' ELSE {text} END"
    return g.algebra.column(f"coalesce({text}, '')", "word")


def _head(model: Any, dialect: Dialect, table: str, names: Sequence[str], keep: Sequence[str]) -> str:
    """Comments above the query."""
    some = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    lines = [
        f"{type(model).__name__} as a query on {table}, for {dialect.said}",
        f"reads {len(names)} column{'s' * (len(names) != 1)}: {some}",
        "a cell that is NULL is missing"
        + ("" if keep else "; rows come in no order: name a key to keep it beside the answers"),
    ]
    return "\n".join("-- " + " ".join(line.split()) for line in lines)
