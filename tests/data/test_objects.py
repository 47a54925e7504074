"""Rows that are not numbers: told apart from tables, and given back as they came."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from separatrix.data.objects import Objects, are_objects


@pytest.mark.parametrize(
    ("X", "answer"),
    [
        (["ab", "c"], True),
        (np.array(["ab", "c"]), True),
        ([{"a": 1}, {"b": 2}], True),
        ([[1, 2], [3]], True),
        (np.array([[1.0, 2.0]], dtype=object), False),
        (np.array([["a", 2.0]], dtype=object), True),
        ([[1.0, 2.0], [3.0, 4.0]], False),
        (np.zeros((2, 2)), False),
        (sparse.csr_array(np.eye(2)), False),
        (iter([1, 2]), False),
        (Objects.of(["ab"]), True),
    ],
)
def test_what_only_a_function_can_compare(X, answer):
    assert are_objects(X) is answer


@pytest.mark.parametrize("kind", [list, tuple])
def test_rows_come_back_as_they_were_given(kind):
    words = kind(["ab", "cd", "e"])
    rows = Objects.of(words)
    assert rows.shape == (3,) and rows.given == list(words)
    assert rows[np.array([2, 0])].given == ["e", "ab"] and rows[1:].given == ["cd", "e"]
    assert Objects.of(rows) is rows
    cells = np.array(["ab", "cd"])
    assert Objects.of(cells).given is cells


def test_rows_of_any_sort_are_kept_whole():
    graphs = [{1, 2}, {3}, set()]
    assert all(kept is graph for kept, graph in zip(Objects.of(graphs).cells, graphs, strict=True))
