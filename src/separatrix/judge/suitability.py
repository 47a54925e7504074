"""Why a model does not suit a table:  facts → the reason, "" where it does.

A rule a kind of model, by the name that models/catalogue.py gives it (``unsuited``). Row V1.
"""

from __future__ import annotations

from collections.abc import Callable

from separatrix.judge.facts import TableFacts

DENSE_COLUMNS = 2_000  # beyond, a covariance matrix is too dear
DENSE_CELLS = 400_000_000  # beyond, numbers that are held one by one do not fit into memory
LEAST_ROWS = 2  # of a class, for probabilities from folds


def words(facts: TableFacts) -> str:
    if facts.sparse:
        return "it reads dense tables, and this one is sparse"
    return "the table holds text only" if facts.text_only else ""


def wide(facts: TableFacts) -> str:
    return "it reads dense tables, and words make a sparse one" if facts.sparse or facts.has("text") else ""


def dense(facts: TableFacts) -> str:
    if wide(facts):
        return wide(facts)
    many = facts.n * facts.p > DENSE_CELLS
    return f"it holds every cell, and these are more than {DENSE_CELLS:,}" if many else ""


def covariance(facts: TableFacts) -> str:
    if facts.sparse or facts.has("text"):
        return "a covariance matrix would be as wide as the vocabulary"
    if min(facts.n, facts.p) > DENSE_COLUMNS:  # fewer rows are kept as rows
        return f"its covariance matrix is too dear beyond {DENSE_COLUMNS:,} columns"
    return ""


def covariances(facts: TableFacts) -> str:
    if covariance(facts):
        return covariance(facts)
    if not facts.numeric:
        return "a covariance for each class needs columns of numbers"
    least = int(facts.counts.min())
    return f"the smallest class has {least} rows for {facts.p} columns" if least < facts.p + 2 else ""


def cut(facts: TableFacts) -> str:
    if facts.sparse or not facts.numeric:
        return "it cuts columns of numbers"
    return "it cuts columns without missing cells" if facts.missing else ""


def counts(facts: TableFacts) -> str:
    if facts.has("text") or (facts.sparse and facts.whole):
        return ""
    return "it reads counts of words"


def small_class(facts: TableFacts) -> str:
    least = int(facts.counts.min())
    return (
        f"its probabilities need {LEAST_ROWS} rows of every class in training" if least <= LEAST_ROWS else ""
    )


def kernel(facts: TableFacts) -> str:
    if facts.sparse or facts.has("text"):
        return "on words the linear machine does as well in a fraction of the time"
    return small_class(facts)


RULES: dict[str, Callable[[TableFacts], str]] = {
    "": lambda facts: "",
    **{
        f.__name__: f for f in (words, wide, dense, covariance, covariances, cut, counts, small_class, kernel)
    },
}
