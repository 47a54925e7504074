"""Facts of whole blocks, where a part has a way for them, give the model that tiles give."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import CategoricalNB, GaussianNB, NaiveBayes
from separatrix.data import moments
from separatrix.models.generative.parts.part import ColumnsPart


def mixed(n: int, *, gaps: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    columns = (rng.normal(y), rng.poisson(2.0 + y), rng.random(n) < 0.2 + 0.2 * y, rng.gamma(1.0 + y))
    X = np.column_stack([*columns, rng.normal(1e6, 1.0, n)])
    if gaps:
        X[::7, 0] = np.nan
    return X, y


def levels(n: int, *, gaps: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, n)
    X = rng.integers(0, [2, 5, 5, 9], (n, 4)).astype(float)
    if gaps:
        X[::9, 2] = np.nan
    return X, y


CASES = {
    "mixed": (NaiveBayes(["gaussian", "poisson", "bernoulli", "gamma", "gaussian"]), mixed),
    "normal": (NaiveBayes(["gaussian"] * 5), mixed),
    "of numbers": (GaussianNB(), mixed),
    "categorical": (CategoricalNB(), levels),
    "categorical, few levels at least": (CategoricalNB(min_categories=7), levels),
    "levels": (NaiveBayes(["categorical"] * 4), levels),
}


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_whole_blocks_give_the_model_of_tiles(case, weighted, gaps, monkeypatch):
    model, made = CASES[case]
    X, y = made(700, gaps=gaps)
    weight = np.random.default_rng(2).random(len(y)) if weighted else None
    monkeypatch.setattr(moments, "COMPILED_FROM", 0)
    whole = model.fit(X, y, sample_weight=weight).predict_log_proba(X[:50])
    objective = model.verdict_.objective
    for kind in (ColumnsPart, *ColumnsPart.__subclasses__()):
        monkeypatch.setattr(kind, "block_facts", lambda self, block, k: None)
    by_tiles = model.fit(X, y, sample_weight=weight).predict_log_proba(X[:50])
    np.testing.assert_allclose(whole, by_tiles, rtol=1e-7, atol=1e-7)
    assert abs(objective - model.verdict_.objective) <= 1e-9 * abs(objective)
