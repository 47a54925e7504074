"""Tables that get longer while a tree grows change nothing."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.growth import making
from separatrix.growth.forest import grow_forest
from separatrix.growth.growers import Binned, Columns, Options


@pytest.mark.parametrize("kind", [Binned, Columns])
@pytest.mark.parametrize("classes, criterion", [(3, "gini"), (0, "squared_error"), (0, "absolute_error")])
def test_a_tree_is_the_same_however_little_room_there_is_at_first(monkeypatch, kind, classes, criterion):
    rng = np.random.default_rng(0)
    X, levels = rng.normal(size=(300, 4)), np.array([False, False, False, True])
    X[:, 3] = rng.integers(0, 30, 300)
    y = rng.integers(0, 3, 300).astype(float) if classes else rng.normal(size=300)

    def tree():
        options = Options(criterion, 2)
        return grow_forest(kind.of(X, nominal=levels), y, classes, options, 0, 1).trees[0]

    whole = tree()
    monkeypatch.setattr(making, "START", 1)
    again = tree()
    assert len(whole.nodes) > 100 and len(whole.sets) > 16
    fields = (
        "feature",
        "threshold",
        "child",
        "extra",
        "impurity",
        "count",
        "leaf_value",
        "leaf_weight",
        "sets",
        "gains",
    )
    for name in fields:
        np.testing.assert_array_equal(getattr(whole, name), getattr(again, name))
