"""What is handed to a loop: tables that it only reads are read-only there, and as they were afterwards."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from separatrix.loops import signatures
from separatrix.loops.compiled import LOOPS, reads
from separatrix.loops.perceptron import dense_scores


@pytest.mark.parametrize("writeable", [True, False])
def test_one_type_for_tables_that_may_be_written_to_and_those_that_may_not(writeable: bool) -> None:
    from separatrix.loops import dispatch

    X, w = np.arange(12.0).reshape(4, 3), np.array([1.0, -2.0, 0.5])
    X.flags.writeable = writeable
    assert dense_scores(X, w).tolist() == (X @ w).tolist()
    assert X.flags.writeable == writeable
    asked = {signatures.spelled(types) for loop, types in dispatch.asked if loop == dense_scores.name}
    assert {words.split()[0] for words in asked} <= {"float32:2C!", "float64:2C!"}


def test_what_is_only_read_is_listed_as_read_only() -> None:
    for name, every in signatures.listed().items():
        import_module(f"separatrix.loops.{name.rpartition('.')[0]}")
        for at in LOOPS[name].only_read:
            assert all(words.split()[at].endswith("!") for words in every), name


def test_a_name_that_is_no_parameter_is_refused() -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        reads("Y")(dense_scores)
    assert dense_scores.only_read == (0,)
