"""Cuts by description length, against the formulas of the paper, slowly."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from separatrix.data.discretise import Discretizer
from tests.data.discretise_tables import tables
from tests.draws import examples

# ---- MDL, slowly, from the formulas of the paper ----


def entropy(rows):
    total = sum(w for _, _, w in rows)
    classes = Counter()
    for _, label, w in rows:
        classes[label] += w
    return -sum(w / total * math.log2(w / total) for w in classes.values()), len(classes), total


def reference_mdl(values, labels, weights=None):
    """Every value is a possible cut, not boundary points alone; every entropy is computed afresh."""
    weights = [1.0] * len(values) if weights is None else weights
    rows = [(x, c, w) for x, c, w in zip(values, labels, weights) if w > 0 and x == x]
    return sorted(_partition(rows))


def _partition(rows):
    levels = sorted({x for x, _, _ in rows})
    if len(levels) < 2:
        return []
    ent, k, n = entropy(rows)
    tried = []
    for low, high in pairwise(levels):
        left, right = [r for r in rows if r[0] <= low], [r for r in rows if r[0] >= high]
        (e1, k1, n1), (e2, k2, n2) = entropy(left), entropy(right)
        delta = math.log2(3**k - 2) - (k * ent - k1 * e1 - k2 * e2)
        tried.append((n1 / n * e1 + n2 / n * e2, delta, (low + high) / 2, left, right))
    least = min(t[0] for t in tried)
    e, delta, cut, left, right = next(t for t in tried if t[0] <= least + 1e-12)
    if ent - e <= (math.log2(max(n - 1, 1)) + delta) / n:
        return []
    return [cut, *_partition(left), *_partition(right)]


@examples(200)
@given(tables(), st.sampled_from(["none", "whole", "fractions"]), st.integers(0, 10**6))
def test_mdl_agrees_with_the_reference(table, kind, seed):
    X, y = table
    rng = np.random.default_rng(seed)
    weight = {"none": None, "whole": rng.integers(0, 4, len(y)), "fractions": rng.integers(0, 9, len(y)) / 4}[
        kind
    ]
    assume(weight is None or weight.any())
    model = Discretizer().fit(X, y, sample_weight=weight)
    for j, cuts in enumerate(model.cuts_):
        assert cuts.tolist() == reference_mdl(X[:, j].tolist(), y.tolist(), weight)


def test_mdl_on_iris():
    """The cuts of petal length and width in the literature; here the reference's, from the data."""
    X, y = load_iris(return_X_y=True)
    model = Discretizer().fit(X, y)
    for j in range(4):
        np.testing.assert_allclose(model.cuts_[j], reference_mdl(X[:, j].tolist(), y.tolist()), rtol=1e-15)
    np.testing.assert_allclose(model.cuts_[2], [2.45, 4.75])
    np.testing.assert_allclose(model.cuts_[3], [0.8, 1.75])


def test_mdl_by_hand():
    """Two pure halves of m rows: N·gain = 2m bits against log₂(2m − 1) + log₂ 7 − 2, so a cut pays."""
    for m, cuts in ((1, [0.5]), (2, [1.5]), (5, [4.5])):
        assert 2 * m > math.log2(2 * m - 1) + math.log2(7) - 2
        model = Discretizer().fit(np.arange(2.0 * m)[:, None], np.repeat([0, 1], m))
        assert model.cuts_[0].tolist() == cuts
    alternating = Discretizer().fit(np.arange(20.0)[:, None], np.arange(20) % 2)
    assert alternating.cuts_[0].tolist() == [] and alternating.n_bins_.tolist() == [1]


def test_mdl_with_labels_all_different():
    X = np.arange(300.0)[:, None]
    model = Discretizer().fit(X, np.arange(300))
    assert model.cuts_[0].tolist() == reference_mdl(X[:, 0].tolist(), range(300))


def test_mdl_with_one_class_makes_no_cut():
    model = Discretizer().fit([[1.0], [2.0], [3.0]], ["a", "a", "a"])
    assert model.n_bins_.tolist() == [1] and model.transform([[-5.0], [9.0]]).tolist() == [[0], [0]]


def test_mdl_needs_rows_to_pay_for_a_cut():
    """Weights are rows: the same shares of a total of one row earn nothing."""
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    assert Discretizer().fit(X, y, sample_weight=np.full(20, 0.02)).n_bins_.tolist() == [1]
    assert Discretizer().fit(X, y, sample_weight=np.full(20, 0.5)).n_bins_.tolist() == [2]
