"""Cells that a model of counts cannot mean, in a lazy table: found where they are read."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import BernoulliNB, CategoricalNB, MultinomialNB

da = pytest.importorskip("dask.array")


@pytest.mark.parametrize("model", [MultinomialNB(), CategoricalNB(), BernoulliNB(binarize=None)], ids=str)
def test_a_cell_that_is_no_count_is_refused_by_a_lazy_prediction(model):
    X = np.random.default_rng(0).integers(0, 2, (60, 3)).astype(float)
    model.fit(X, np.arange(60) % 2)
    X[41, 1] = -1.0
    answer = model.predict(da.from_array(X, chunks=(20, 3)))
    with pytest.raises(ValueError, match="column 1, row 1"):
        answer.compute()
    with pytest.raises(ValueError, match="column 1, row 41"):
        model.predict(X)
