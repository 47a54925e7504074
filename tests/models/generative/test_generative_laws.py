"""Laws every generative model obeys whatever the data: weights, names, order, units and origins, and backwards.

Parameters are a function of merged sums, so all of these are equalities, to rounding. Hypothesis draws the data.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from separatrix import (
    GaussianDiscriminant,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from tests.models.generative.cases import (
    CASES,
    assert_same_model,
    cases,
    columns_of,
    continuous,
    counts,
    documents,
    every,
    few,
    fractions,
    labels_of,
    learned,
    mixed,
    positive,
    rows,
    seeds,
    shares,
    stacked,
    tolerance,
)

# ---- weights ----


@every
@few
@given(seed=seeds)
def test_weight_is_repetition(case, seed):
    make, draw = CASES[case]
    X, y = draw(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    weight[:24] = np.maximum(weight[:24], 1)
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    a, b = make().fit(rows(X, repeated), y[repeated]), make().fit(X, y, sample_weight=weight)
    assert_same_model(a, b, X, tolerance(case), ordered="mixed" not in case)


WILD = {
    continuous: [1e9, -1e12, 3e3], counts: [50.0, 0.0, 7.0], documents: [50.0, 0.0, 7.0],
    positive: [1e9, 1e-9, 5.0], fractions: [0.999, 1e-9, 0.5], shares: [0.998, 0.001, 0.001],
}  # fmt: skip


def wild_row(draw, X):
    if draw is mixed:
        return np.array([["never", True, 9000, 1e9, -1e12]], dtype=object)
    row = np.array([WILD[draw]])
    return sp.csr_array(row) if sp.issparse(X) else row


@every
@few
@given(seed=seeds, first=st.booleans())
def test_a_row_of_weight_zero_is_absent_whatever_it_holds(case, seed, first):
    make, draw = CASES[case]
    X, y = draw(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(y))
    row = wild_row(draw, X)
    both = stacked(row, X) if first else stacked(X, row)
    labels = np.concatenate([[1], y] if first else [y, [1]])
    w = np.concatenate([[0.0], weight] if first else [weight, [0.0]])
    a, b = make().fit(X, y, sample_weight=weight), make().fit(both, labels, sample_weight=w)
    if "mixed" in case:  # a word is declared by standing in the table
        return
    assert_same_model(a, b, X, tolerance(case))


@cases("LDA lsqr, priors")
@few
@given(seed=seeds, gone=st.integers(0, 2))
def test_a_class_of_weight_zero_disappears(case, seed, gone):
    make, draw = CASES[case]
    X, y = draw(seed)
    keep = y != gone
    a = make().fit(rows(X, np.flatnonzero(keep)), y[keep])
    b = make().fit(X, y, sample_weight=keep.astype(float))
    assert b.classes_.tolist() == [k for k in range(3) if k != gone]
    if "mixed" in case:
        return
    assert_same_model(a, b, X, tolerance(case))


@cases("LDA lsqr, priors")
def test_a_class_of_weight_zero_in_a_later_chunk_is_no_class(case):
    make, draw = CASES[case]
    X, y = draw(2)
    known, late = np.flatnonzero(y < 2), np.arange(len(y))
    model = make().partial_fit(rows(X, known), y[known])
    model.partial_fit(rows(X, late), y, sample_weight=(y < 2).astype(float))
    assert model.classes_.tolist() == [0, 1]


def test_ledoit_wolf_of_a_table_with_a_class_of_weight_zero():
    X, y = continuous(3)
    keep = y != 1
    for make in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        a = make(shrinkage="auto").fit(X[keep], y[keep])
        b = make(shrinkage="auto").fit(X, y, sample_weight=keep.astype(float))
        assert_same_model(a, b, X, 1e-11)


def test_rows_with_gaps_count_however_small_the_weights():
    X, y = continuous(3)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    a, b = (
        LinearDiscriminantAnalysis().fit(holes, y, sample_weight=np.full(len(y), w)) for w in (1.0, 1e-10)
    )
    np.testing.assert_allclose(a.covariance_, b.covariance_, rtol=1e-9)


@cases("BernoulliNB", "MultinomialNB", "CategoricalNB", "NaiveBayes mixed")  # smoothing counts rows
@few
@given(seed=seeds, factor=st.sampled_from([1e-9, 0.125, 3.0, 1e9]))
def test_a_common_factor_of_the_weights_is_nothing(case, seed, factor):
    make, draw = CASES[case]
    X, y = draw(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(y))
    a, b = (make().fit(X, y, sample_weight=w) for w in (weight, factor * weight))
    vars(b)["class_count_"] = a.class_count_  # a report: no assignment
    assert_same_model(a, b, X, tolerance(case))


# ---- order and names ----


@every
@few
@given(seed=seeds)
def test_the_order_of_rows_is_nothing(case, seed):
    make, draw = CASES[case]
    X, y = draw(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    a, b = make().fit(X, y), make().fit(rows(X, order), y[order])
    assert_same_model(a, b, X, tolerance(case))


@every
@pytest.mark.parametrize("names", [["c", "a", "b"], [7, -3, 5], [(2, "x"), (0, "y"), (1, "z")]], ids=str)
def test_the_names_of_classes_are_nothing(case, names):
    make, draw = CASES[case]
    X, y = draw(5)
    model = make()
    renamed = make()
    if case == "groups":
        renamed.set_params(covariance={names[k]: g for k, g in {0: "a", 1: "b", 2: "a"}.items()})
    order = sorted(range(3), key=lambda k: names[k])
    if case == "LDA lsqr, priors":
        renamed.set_params(priors=[model.priors[k] for k in order])
    renamed.fit(X, [names[k] for k in y])
    assert renamed.classes_.tolist() == sorted(names)
    model.fit(X, y)
    np.testing.assert_allclose(renamed.predict_proba(X), model.predict_proba(X)[:, order], atol=1e-10)
    proba = np.sort(model.predict_proba(X), axis=1)
    clear = proba[:, -1] - proba[:, -2] > 1e-9  # the first of two equal classes wins
    assert (
        renamed.predict_proba(X)[clear].argmax(axis=1) == np.argsort(order)[model.predict(X)[clear]]
    ).all()
    assert [v in names for v in renamed.predict(X).tolist()]
    np.testing.assert_allclose(renamed.score_samples(X), model.score_samples(X), rtol=1e-10, atol=1e-10)
    _, labels = renamed.sample(5, y=names[0], random_state=0)
    assert labels.tolist() == [names[0]] * 5


@cases("NaiveBayes mixed")
@few
@given(seed=seeds)
def test_the_order_of_columns_is_nothing(case, seed):
    make, draw = CASES[case]
    X, y = draw(seed)
    order = [2, 0, 1]
    a, b = make().fit(X, y), make().fit(X[:, order], y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X[:, order]), atol=1e-9)
    np.testing.assert_allclose(a.score_samples(X), b.score_samples(X[:, order]), rtol=1e-9, atol=1e-9)


# ---- units and origins ----


FREE = {
    "GaussianNB": lambda: GaussianNB(var_smoothing_per_column=True),
    "GaussianNB class": lambda: GaussianNB(tie="class", var_smoothing_per_column=True),
    "LDA": lambda: LinearDiscriminantAnalysis(),
    "LDA Ledoit–Wolf": lambda: LinearDiscriminantAnalysis(shrinkage="auto"),
    "QDA": lambda: QuadraticDiscriminantAnalysis(),
    "QDA Ledoit–Wolf": lambda: QuadraticDiscriminantAnalysis(shrinkage="auto"),
    "shared": lambda: GaussianDiscriminant(),
    "per-class": lambda: GaussianDiscriminant("per-class"),
    "diagonal": lambda: GaussianDiscriminant("diagonal"),
    "groups": lambda: GaussianDiscriminant([[0, 2], [1]]),
    "NaiveBayes": lambda: columns_of("normal"),
    "normal": lambda: GenerativeClassifier(),
    "normal shared": lambda: GenerativeClassifier(shared_scale=True),
    "multivariate normal": lambda: GenerativeClassifier("multivariate_normal"),
    "multivariate shared": lambda: GenerativeClassifier("multivariate_normal", shared_scale=True),
}
free = pytest.mark.parametrize("make", FREE.values(), ids=FREE.keys())


@free
@few
@given(seed=seeds, powers=st.tuples(*[st.integers(-9, 9)] * 3))
def test_units_are_nothing(make, seed, powers):
    X, y = continuous(seed)
    unit = 10.0 ** np.array(powers)
    a, b = make().fit(X, y), make().fit(X * unit, y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X * unit), atol=1e-9)
    jacobian = np.log(unit).sum()
    np.testing.assert_allclose(a.score_samples(X) - jacobian, b.score_samples(X * unit), rtol=1e-9, atol=1e-8)


@free
@few
@given(seed=seeds, origin=st.sampled_from([1e8, -1e8, 1e6]), column=st.integers(0, 2))
def test_origins_are_nothing(make, seed, origin, column):
    """A mean at 1e8 is one double, known to 1e-8: so are posteriors."""
    X, y = continuous(seed)
    shift = np.where(np.arange(3) == column, origin, 0.0)
    assert ((X + shift) - shift == X).all()
    a, b = make().fit(X, y), make().fit(X + shift, y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X + shift), atol=1e-7)
    np.testing.assert_allclose(a.score_samples(X), b.score_samples(X + shift), rtol=1e-8, atol=1e-7)
    holes = np.where(np.random.default_rng(seed).random(X.shape) < 0.3, np.nan, X)
    if "multivariate" not in str(getattr(a, "family", "")):
        np.testing.assert_allclose(a.predict_proba(holes), b.predict_proba(holes + shift), atol=1e-7)


@free
@few
@given(seed=seeds)
def test_one_hundred_million_plus_or_minus_one(make, seed):
    """Columns that take three values around 1e8: all sixteen digits of the sums of squares are gone there."""
    rng, y = labels_of(seed, 3, 90)
    steps = np.clip(np.round(rng.normal(0.6 * (y[:, None] - 1), 0.8, (90, 3))), -1, 1)
    a, b = make().fit(steps, y), make().fit(1e8 + steps, y)
    np.testing.assert_allclose(a.predict_proba(steps), b.predict_proba(1e8 + steps), atol=1e-8)


@free
@few
@given(seed=seeds)
def test_float32_far_from_the_origin(make, seed):
    """float32 has a grid of 8 at 1e8: rows on it are exact, and the answer is that of float64."""
    rng, y = labels_of(seed, 3, 90)
    steps = np.clip(np.round(rng.normal(0.6 * (y[:, None] - 1), 0.8, (90, 3))), -1, 1) * 8
    far = (1e8 + steps).astype(np.float32)
    assert (far.astype(float) - 1e8 == steps).all()
    a, b = make().fit(steps, y), make().fit(far, y)
    np.testing.assert_allclose(a.predict_proba(steps), b.predict_proba(far), atol=1e-6)


@free
@few
@given(seed=seeds, powers=st.tuples(*[st.integers(-9, 9)] * 3))
def test_units_are_nothing_in_float32(make, seed, powers):
    X, y = continuous(seed)
    X, scaled = X.astype(np.float32), (X * 10.0 ** np.array(powers)).astype(np.float32)
    a, b = make().fit(X, y), make().fit(scaled, y)
    np.testing.assert_allclose(
        a.predict_proba(X), b.predict_proba(scaled), atol=2e-5
    )  # the cells are rounded


@pytest.mark.filterwarnings("ignore::separatrix.models.generative.impossible.NoSpreadWarning")
def test_smoothing_by_the_largest_column_is_not_free_of_units_and_that_by_each_column_is():
    naive_bayes = pytest.importorskip("sklearn.naive_bayes")
    X, y = continuous(0)
    unit = np.array([1.0, 1.0, 1e9])
    ours = GaussianNB(var_smoothing_per_column=True)
    for model, moves in ((naive_bayes.GaussianNB(), True), (GaussianNB(), True), (ours, False)):
        a, b = model.fit(X, y).predict_proba(X), model.fit(X * unit, y).predict_proba(X * unit)
        assert (np.abs(a - b).max() > 1e-3) == moves


# ---- backwards ----


@cases("BernoulliNB sparse", "MultinomialNB sparse", "LDA shrunk", "QDA regularised")  # those shrink again
def test_what_is_sampled_is_learnt_again(case):
    """20,000 rows drawn from a fit, fitted again: parameters within a few standard errors."""
    make, draw = CASES[case]
    X, y = draw(13, n=300)
    model = make().fit(X, y)
    drawn, labels = model.sample(20_000, random_state=0)
    assert drawn.shape == (20_000, X.shape[1]) and labels.shape == (20_000,)
    share = np.bincount(labels, minlength=3) / len(labels)
    np.testing.assert_allclose(share, model.class_prior_, atol=0.02)
    again = make().fit(drawn, labels)
    if case in ("MultinomialNB", "multinomial"):  # documents of one length: θ is what can be compared
        name = "feature_log_prob_" if case == "MultinomialNB" else "parameters_"
        for x, z in zip(learned(model)[name], learned(again)[name], strict=True):
            np.testing.assert_allclose(np.exp(x), np.exp(z), atol=0.05)
        return
    a, b = model.score_samples(X), again.score_samples(X)
    assert np.abs(a - b).max() < 0.6 and np.abs(a - b).mean() < 0.1
    assert np.abs(model.predict_proba(X) - again.predict_proba(X)).mean() < 0.02


def test_a_sampled_table_is_of_the_kinds_it_was_learnt_from():
    """Counts come back as whole numbers and flags as booleans, so that "auto" chooses the same families."""
    X, y = mixed(13, n=300)
    model = NaiveBayes().fit(X, y)
    drawn, labels = model.sample(500, random_state=0)
    assert NaiveBayes().fit(drawn, labels).families_ == model.families_
    X, y = counts(3)
    model = NaiveBayes().fit(X.astype(int), y)
    drawn, labels = model.sample(500, random_state=0)
    assert NaiveBayes().fit(drawn, labels).families_ == model.families_ == ["poisson"] * 3


@every
def test_sample_of_a_class_and_its_seed(case):
    make, draw = CASES[case]
    X, y = draw(14)
    model = make().fit(X, y)
    cells, labels = model.sample(50, y=2, random_state=3)
    assert labels.tolist() == [2] * 50 and cells.shape == (50, X.shape[1])
    again, _ = model.sample(50, y=2, random_state=3)
    assert (cells == again).all()
    other, _ = model.sample(50, y=2, random_state=4)
    assert (cells != other).any()
    assert np.isfinite(model.score_samples(cells)).all()  # legal input again
    one, label = model.sample()
    assert one.shape == (1, X.shape[1]) and label.shape == (1,)
    both = model.class_log_density(cells)
    assert both[:, 2].mean() > both[:, 0].mean()  # likelier under its own class


# ---- verdicts ----


FULL_DENSITY = (  # the others leave out h(x), which no parameter enters
    "LDA", "LDA lsqr, priors", "LDA shrunk", "QDA", "QDA regularised", "groups", "spherical", "GaussianNB",
    "GaussianNB feature", "BernoulliNB", "CategoricalNB", "normal", "multivariate normal", "normal shared",
    "exponential",
)  # fmt: skip


@pytest.mark.parametrize("case", FULL_DENSITY)
def test_the_objective_is_the_mean_loss_of_the_rows(case):
    """−mean log p(x, y), by brute force."""
    make, draw = CASES[case]
    X, y = draw(16)
    weight = np.linspace(0.5, 2, len(y))
    model = make().fit(X, y, sample_weight=weight)
    joint = model.class_log_density(X) + np.log(model.class_prior_)
    wanted = -np.average(joint[np.arange(len(y)), y], weights=weight)
    assert model.verdict_.objective == pytest.approx(wanted, rel=1e-9)
