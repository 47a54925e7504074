"""Rows in chunks, and models merged:  the fit of all rows at once, to rounding, whatever comes when."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from separatrix import (
    LinearDiscriminantAnalysis,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from tests.models.generative.cases import (
    CASES,
    KINDS,
    assert_same_model,
    cases,
    continuous,
    every,
    few,
    learned,
    mixed,
    rows,
    seeds,
    stacked,
    tolerance,
)


def announced(model, first):
    """Priors for three classes need three classes."""
    return [0, 1, 2] if first and model.get_params().get("priors") is not None else None


@every
@few
@given(seed=seeds, data=st.data())
def test_partial_fit_in_any_chunks_is_fit(case, seed, data):
    make, draw = CASES[case]
    X, y = draw(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    X, y = rows(X, order), y[order]
    cuts = data.draw(st.lists(st.integers(2, len(y) - 1), max_size=5).map(lambda c: sorted({*c})))
    edges = [0, *cuts, len(y)]
    assume(len(np.unique(y[: edges[1]])) > 1)
    model = make()
    for a, b in pairwise(edges):
        model.partial_fit(X[a:b], y[a:b], classes=announced(model, first=not a))
    assert_same_model(make().fit(X, y), model, X, tolerance(case), ordered="mixed" not in case)


@cases("LDA lsqr, priors")  # priors for three classes, when there are two
@few
@given(seed=seeds, last=st.integers(0, 2))
def test_a_class_may_come_later_whatever_its_name(case, seed, last):
    """Also one that sorts before those known."""
    make, draw = CASES[case]
    X, y = draw(seed)
    late = y == last
    model = make().partial_fit(rows(X, np.flatnonzero(~late)), y[~late])
    assert model.classes_.tolist() == [k for k in range(3) if k != last]
    model.partial_fit(rows(X, np.flatnonzero(late)), y[late])
    assert_same_model(make().fit(X, y), model, X, tolerance(case), ordered="mixed" not in case)


@every
def test_chunks_of_one_class_each_from_the_first(case):
    make, draw = CASES[case]
    X, y = draw(2)
    model = make()
    for k in (1, 2, 0):
        model.partial_fit(rows(X, np.flatnonzero(y == k)), y[y == k], classes=announced(model, first=k == 1))
    assert_same_model(make().fit(X, y), model, X, tolerance(case), ordered="mixed" not in case)


@cases("LDA lsqr, priors")
def test_a_model_that_has_met_one_class_predicts_it(case):
    make, draw = CASES[case]
    X, y = draw(2)
    only = np.flatnonzero(y == 1)
    model = make().partial_fit(rows(X, only), y[only])
    assert model.classes_.tolist() == [1]
    np.testing.assert_allclose(model.predict_proba(X), np.ones((len(y), 1)))
    assert set(model.predict(X)) == {1}
    assert not np.isnan(model.score_samples(X)).any()
    assert model.sample(4, y=1, random_state=0)[0].shape == (4, X.shape[1])


def test_directions_for_a_class_that_comes_later():
    X, y = continuous(2)
    model = (
        LinearDiscriminantAnalysis(n_components=2)
        .partial_fit(X[y < 2], y[y < 2])
        .partial_fit(X[y == 2], y[y == 2])
    )
    np.testing.assert_allclose(
        np.abs(model.transform(X)),
        np.abs(LinearDiscriminantAnalysis(n_components=2).fit(X, y).transform(X)),
        atol=1e-9,
    )


@every
@few
@given(seed=seeds)
def test_announced_classes_change_nothing(case, seed):
    make, draw = CASES[case]
    X, y = draw(seed)
    model = make().partial_fit(X[:40], y[:40], classes=[0, 1, 2]).partial_fit(X[40:], y[40:])
    assert_same_model(make().fit(X, y), model, X, tolerance(case), ordered="mixed" not in case)


@every
def test_a_class_announced_and_never_seen_is_never_predicted(case):
    make, draw = CASES[case]
    X, y = draw(1)
    if case in ("LDA lsqr, priors", "groups"):
        pytest.skip("says how many classes there are")
    model = make().partial_fit(X, y, classes=[-7, 0, 1, 2, 9])
    assert model.classes_.tolist() == [-7, 0, 1, 2, 9]
    proba = model.predict_proba(X)
    assert not proba[:, [0, 4]].any()
    np.testing.assert_allclose(proba[:, 1:4], make().fit(X, y).predict_proba(X), atol=1e-12)
    assert set(model.predict(X)) <= {0, 1, 2}
    assert "no row yet of class -7, 9" in str(model.verdict_)


@every
@few
@given(seed=seeds)
def test_merge_is_the_joint_fit(case, seed):
    make, draw = CASES[case]
    X, y = draw(seed)
    half = np.random.default_rng(seed).random(len(y)) < 0.4
    half[:2], half[8:10], half[16:18] = (True, False), (True, False), (True, False)  # all classes in both
    a, b = (make().fit(rows(X, np.flatnonzero(h)), y[h]) for h in (half, ~half))
    before = learned(a)
    joint = make().fit(X, y)
    for merged in (a.merge(b), b.merge(a)):
        assert_same_model(joint, merged, X, tolerance(case), ordered="mixed" not in case)
    for name, values in learned(a).items():  # neither has changed
        for x, z in zip(values, before[name], strict=True):
            np.testing.assert_array_equal(x, z)
    more = a.merge(b).partial_fit(rows(X, np.arange(5)), y[:5])  # and it goes on
    longer = make().fit(stacked(X, X[:5]), np.concatenate([y, y[:5]]))
    assert_same_model(longer, more, X, tolerance(case), ordered="mixed" not in case)


@cases("LDA lsqr, priors")
@pytest.mark.parametrize("sets", [({0, 1}, {1, 2}), ({1, 2}, {0, 1, 2}), ({0, 2}, {0, 1})], ids=str)
def test_merge_of_models_that_know_different_classes(case, sets):
    make, draw = CASES[case]
    X, y = draw(3)
    first = np.arange(len(y)) % 2 == 0
    parts = [np.flatnonzero(np.isin(y, [*classes]) & half) for classes, half in zip(sets, (first, ~first))]
    a, b = (make().fit(rows(X, part), y[part]) for part in parts)
    together = np.concatenate(parts)
    joint = make().fit(rows(X, together), y[together])
    assert_same_model(joint, a.merge(b), X, tolerance(case), ordered="mixed" not in case)


@few
@given(seed=seeds)
def test_words_of_two_models_are_merged_by_name(seed):
    """Levels met in one chunk only, in another order, or never with a class."""
    X, y = mixed(seed)
    first = X[:, 0] != "red"
    a, b = NaiveBayes(KINDS).fit(X[first], y[first]), NaiveBayes(KINDS).fit(X[~first], y[~first])
    joint = NaiveBayes(KINDS).fit(X, y)
    later = NaiveBayes(KINDS).partial_fit(X[first], y[first]).partial_fit(X[~first], y[~first])
    for model in (a.merge(b), b.merge(a), later):
        np.testing.assert_allclose(model.predict_proba(X), joint.predict_proba(X), atol=1e-10)
        tables = []
        for m in (model, joint):
            place = {level: i for i, level in enumerate(m.levels_[0])}
            order = [place[v] for v in ("blue", "green", "grey", "red")]
            tables.append(m.parameters_[0]["probabilities"][:, order])
        np.testing.assert_allclose(*tables, rtol=1e-12)


def test_ledoit_wolf_in_chunks_is_refused():
    """The shrinkage hangs on fourth moments about the mean of all rows."""
    X, y = continuous(0)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    unlabelled = np.where(np.arange(len(y)) % 4 == 0, None, y)
    for make in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        model = make(shrinkage="auto").fit(X, y)
        for call in (
            lambda model=model: model.partial_fit(X, y),
            lambda make=make: make(shrinkage="auto").partial_fit(X, y),
            lambda model=model: model.merge(model),
            lambda make=make: make(shrinkage="auto").fit(holes, y),
            lambda make=make: make(shrinkage="auto").fit(X, unlabelled),
        ):
            with pytest.raises(ValueError, match="Ledoit–Wolf"):
                call()
