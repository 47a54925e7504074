"""Targets that may be no classes: quantities, grades, classes of one row; and targets left alone."""

import numpy as np
import pytest

from separatrix.judge.alerts import alerts


def told(y, kind="target"):
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    return [(a.severity, a.sentence) for a in alerts(X, y) if a.kind == kind]


def test_numbers_that_look_like_a_quantity():
    rng = np.random.default_rng(0)
    values = np.sort(rng.choice(100, 56, replace=False))
    ((severity, said),) = told(rng.choice(values, 1200))
    assert severity == "serious"
    assert (
        "56 different numbers" in said and "56 classes (1,200 rows)" in said and "--task regression" in said
    )


def test_words_of_many_classes_are_classes():
    assert told(np.random.default_rng(0).choice([f"c{i}" for i in range(56)], 1200)) == []


def test_grades():
    rng = np.random.default_rng(0)
    ((severity, said),) = told(rng.binomial(7, 0.5, 2000) + 3)
    assert severity == "note" and "look ordered, 3 … 10" in said and "--task ordinal" in said
    ((_, said),) = told(rng.choice(["Medium", "low", "HIGH"], 300))
    assert "low … high" in said


@pytest.mark.parametrize(
    "values", [np.arange(10), [0, 1], [0, 1, 2], ["a", "b", "c"], ["low", "lower", "high"]]
)
def test_names_that_are_no_grades(values):
    assert told(np.resize(values, 900)) == []


def test_classes_of_one_row_are_named():
    y = np.array(["a"] * 50 + ["b"] * 50 + ["c", "d"])
    ((severity, said),) = told(y, "lone class")
    assert severity == "warning" and said.startswith("classes 'c', 'd' have one row each")
    assert told(y[:-1], "lone class")[0][1].startswith("class 'c' has one row")
    assert told(y[:-2], "lone class") == []
