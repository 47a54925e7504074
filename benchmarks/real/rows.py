"""The rows of the real race:  a table, the form in which it is handed over, a model and its settings.

Order, dtype and kind of label change from row to row, so that every form occurs many times beside every family;
``--forms`` runs a row in all of its own. Two classes, many classes, numbers; dense and CSR; from 100 rows to 581,012.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One row. ``rows`` None: all of the table (ensembles keep a fifth to be judged by)."""

    id: str
    table: str
    model: str
    form: str = "raw"
    rows: int | None = None
    order: str = "C"
    dtype: str = "float64"
    strings: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """In words.

        >>> Entry("Q0", "krkopt", "SVC", "standardised", order="F", settings={"C": 10}).title
        'SVC C=10 · krkopt standardised, F float64'
        """
        settings = "".join(f" {name}={value}" for name, value in self.settings.items())
        rows = f" {self.rows:,} rows" if self.rows else ""
        labels = ", strings" if self.strings else ""
        return f"{self.model}{settings} · {self.table}{rows} {self.form}, {self.order} {self.dtype}{labels}"


def _numbered(*entries: Entry) -> dict[str, Entry]:
    return {f"Q{i}": replace(entry, id=f"Q{i}") for i, entry in enumerate(entries, start=1)}


def _row(
    table: str, model: str, form: str = "raw", rows: int | None = None, how: str = "C", **settings: Any
) -> Entry:
    """``how``: the order, then 4 for float32 and s for labels as strings."""
    dtype = "float32" if "4" in how else "float64"
    return Entry("", table, model, form, rows, how[0], dtype, "s" in how, settings)


ROWS = _numbered(
    # logistic, softmax
    _row("covtype largest", "logistic", "standardised"),
    _row("covtype", "logistic", "standardised", 100_000, "Cs"),
    _row("covtype", "logistic", "raw", 100_000, "F"),
    _row("krkopt", "logistic", "raw", how="C4"),
    _row("krkopt", "logistic", "one-hot", how="Fs"),
    _row("mnist", "logistic", "unit", 20_000, "C4"),
    _row("a9a", "logistic", how="Cs"),
    _row("adult", "logistic", how="F"),
    _row("electricity", "logistic", "standardised", how="F4"),
    _row("connect-4", "logistic", "one-hot", how="C4"),
    _row("20news technical", "logistic"),
    _row("20news", "logistic", how="Cs"),
    _row("spambase", "logistic", "standardised", how="Cs", C=10.0),
    _row("nursery", "logistic", "one-hot"),
    _row("soybean", "logistic", how="Cs"),
    _row("phishing", "logistic", how="F4"),
    _row("mushrooms", "logistic", how="F4s"),
    _row("spambase products", "logistic", rows=100),
    # linear machines
    _row("covtype largest", "LinearSVC", "standardised"),
    _row("spambase", "LinearSVC", "standardised", how="F"),
    _row("20news technical", "LinearSVC"),
    _row("lingspam", "LinearSVC", how="C4s"),
    _row("a9a", "LinearSVC"),
    _row("optdigits", "LinearSVC", "unit", how="F4s"),
    _row("reuters R8 wide", "LinearSVC", rows=100, how="F"),
    # kernel machines
    _row("optdigits", "SVC", how="C4"),
    _row("krkopt", "SVC", "standardised", how="Fs", C=10.0),
    _row("skin", "SVC", "standardised", 50_000, C=10.0),
    _row("connect-4", "SVC", "raw", 20_000, "F4"),
    _row("electricity", "SVC", "standardised", 20_000, "F"),
    _row("a9a", "SVC", rows=16_000, how="Cs"),
    _row("mnist", "SVC", "unit", 5_000, "C4"),
    _row("california", "SVR", "standardised", 10_000),
    _row("wine quality", "SVR", "standardised", how="F4"),
    # discriminants
    _row("lingspam wide", "LDA", rows=100),
    _row("mnist products 10,000", "LDA", rows=100, how="F4"),
    _row("mnist products 2,000", "LDA", rows=100, how="Cs"),
    _row("covtype", "LDA", "standardised", 100_000, "Fs"),
    _row("mnist", "LDA", "unit", 10_000, "C4"),
    _row("covtype 10 columns", "QDA"),
    _row("skin", "QDA", how="F4s"),
    # naive Bayes
    _row("covtype", "GaussianNB"),
    _row("spambase", "GaussianNB", "standardised", how="F4s"),
    _row(
        "covtype 10 columns", "NaiveBayes", "standardised", how="C4"
    ),  # negative numbers: normal in every column
    _row("20news counts", "MultinomialNB", "unsorted"),
    _row("reuters R8 counts", "MultinomialNB", how="C4s"),
    _row("sms counts", "BernoulliNB", how="Cs"),
    _row("connect-4", "BernoulliNB", "one-hot", how="F4"),
    _row("20news counts", "ComplementNB"),
    _row("nursery", "CategoricalNB", "codes", how="Fs"),
    _row("connect-4", "CategoricalNB", "codes"),
    # ensembles and trees
    _row("electricity", "AdaBoost", rows=20_000),
    _row("adult", "AdaBoost", how="F4s"),
    _row("covtype", "DecisionTree", rows=100_000, how="C4"),
    _row("electricity", "DecisionTree", how="Fs"),
    _row("covtype", "ExtraTrees", rows=20_000, how="F"),
    _row("adult", "ExtraTrees", how="C4"),
    _row("spambase", "ExtraTrees", how="Cs"),
    _row("electricity", "Bagging", rows=20_000, how="F4"),
    _row("adult", "Bagging", rows=10_000, how="Cs"),
    _row("covtype", "Bagging", rows=20_000),
    _row("optdigits", "RandomForest", how="F"),
)


def forms(entry: Entry) -> Iterator[Entry]:
    """The row in every order, dtype and kind of label; its id tells which."""
    numbers = entry.model == "SVR"
    for order, dtype, strings in product(
        "CF", ("float64", "float32"), (False,) if numbers else (False, True)
    ):
        name = f"{entry.id}-{order}{dtype[-2:]}{'s' if strings else ''}"
        yield replace(entry, id=name, order=order, dtype=dtype, strings=strings)
