"""Laws every generative model obeys whatever the data: chunks, merges, weights, missing cells, names, units.

Parameters are a function of merged sums, so all of these are equalities, to rounding. Hypothesis draws the data.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats as ss
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from separatrix import (
    BernoulliNB,
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
    engine,
    verify,
)

few = settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
seeds = st.integers(0, 10_000)

# ---- data ----


def labels_of(seed, K, n):
    """At least eight rows of every class, the rest at random."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    y[: 8 * K] = np.repeat(np.arange(K), 8)
    return rng, y


def continuous(seed, K=3, n=60):
    """Correlated columns on a grid of 2⁻⁶, which 1e8 added and taken away again leaves exact."""
    rng, y = labels_of(seed, K, n)
    mix = np.eye(3) + 0.4 * rng.standard_normal((3, 3))
    X = (rng.standard_normal((n, 3)) * (1 + 0.4 * y[:, None])) @ mix + 1.5 * rng.standard_normal((K, 3))[y]
    return np.round(64 * X) / 64, y


def counts(seed, K=3, n=60):
    rng, y = labels_of(seed, K, n)
    return rng.poisson(rng.uniform(0.5, 4, (K, 3))[y]).astype(float), y


def documents(seed, K=3, n=60):
    X, y = counts(seed, K, n)
    return sp.csr_array(X), y


def positive(seed, K=3, n=60):
    rng, y = labels_of(seed, K, n)
    return rng.gamma(rng.uniform(1, 4, (K, 3))[y]) + 0.01, y


def fractions(seed, K=3, n=60):
    rng, y = labels_of(seed, K, n)
    return np.clip(rng.beta(rng.uniform(1, 4, (K, 3))[y], 2.0), 0.01, 0.99), y


def shares(seed, K=3, n=60):
    rng, y = labels_of(seed, K, n)
    return np.array([rng.dirichlet(a) for a in rng.uniform(1, 4, (K, 3))[y]]), y


def mixed(seed, K=3, n=60):
    """Words, booleans, counts and numbers in one table of objects."""
    rng, y = labels_of(seed, K, n)
    X = np.empty((n, 5), dtype=object)
    X[:, 0] = np.array(["red", "green", "blue", "grey"])[(rng.integers(0, 3, n) + y) % 4]
    X[:, 1] = (rng.random(n) < (y + 1) / (K + 1)).tolist()
    X[:, 2] = rng.poisson(y + 1.0).tolist()
    X[:, 3] = (rng.gamma(y + 1.0) + 0.01).tolist()
    X[:, 4] = rng.normal(y, 1.0).tolist()
    X[:4, 0] = ["red", "green", "blue", "grey"]
    return X, y


def columns_of(family):
    """The families are told: a first chunk might suggest others."""
    return NaiveBayes(dict.fromkeys(range(3), family))


KINDS = {1: "bernoulli", 2: "poisson", 3: "gamma", 4: "normal"}


GAUSSIAN = {
    "LDA": lambda: LinearDiscriminantAnalysis(),
    "LDA lsqr, priors": lambda: LinearDiscriminantAnalysis("lsqr", priors=[0.5, 0.2, 0.3]),
    "LDA shrunk": lambda: LinearDiscriminantAnalysis(shrinkage=0.3),
    "QDA": lambda: QuadraticDiscriminantAnalysis(),
    "QDA regularised": lambda: QuadraticDiscriminantAnalysis(reg_param=0.2),
    "shared": lambda: GaussianDiscriminant(),
    "per-class": lambda: GaussianDiscriminant("per-class"),
    "diagonal": lambda: GaussianDiscriminant("diagonal"),
    "spherical": lambda: GaussianDiscriminant("spherical"),
    "groups": lambda: GaussianDiscriminant({0: "a", 1: "b", 2: "a"}),
}
CASES = {name: (make, continuous) for name, make in GAUSSIAN.items()} | {
    "GaussianNB": (lambda: GaussianNB(var_smoothing_per_column=True), continuous),
    "GaussianNB class": (lambda: GaussianNB(tie="class", var_smoothing_per_column=True), continuous),
    "GaussianNB feature": (lambda: GaussianNB(tie="feature"), continuous),
    "GaussianNB both": (lambda: GaussianNB(tie="both"), continuous),
    "BernoulliNB": (lambda: BernoulliNB(), counts),
    "BernoulliNB sparse": (lambda: BernoulliNB(), documents),
    "BernoulliNB marginal": (lambda: BernoulliNB(smoothing=("m", 3, "marginal")), counts),
    "MultinomialNB": (lambda: MultinomialNB(), counts),
    "MultinomialNB sparse": (lambda: MultinomialNB(alpha=0.1), documents),
    "CategoricalNB": (lambda: CategoricalNB(), counts),
    "CategoricalNB marginal": (lambda: CategoricalNB(smoothing=("m", 3, "marginal")), counts),
    "NaiveBayes normal": (lambda: columns_of("normal"), continuous),
    "NaiveBayes poisson": (lambda: columns_of("poisson"), counts),
    "NaiveBayes gamma": (lambda: columns_of("gamma"), positive),
    "NaiveBayes beta": (lambda: columns_of("beta"), fractions),
    "NaiveBayes mixed": (lambda: NaiveBayes(KINDS), mixed),
    "normal": (lambda: GenerativeClassifier(), continuous),
    "normal shared": (lambda: GenerativeClassifier(shared_scale=True), continuous),
    "multivariate normal": (lambda: GenerativeClassifier("multivariate_normal"), continuous),
    "multivariate shared": (
        lambda: GenerativeClassifier("multivariate_normal", shared_scale=True),
        continuous,
    ),
    "poisson": (lambda: GenerativeClassifier("poisson"), counts),
    "exponential": (lambda: GenerativeClassifier("exponential"), positive),
    "gamma": (lambda: GenerativeClassifier("gamma"), positive),
    "gamma shared": (lambda: GenerativeClassifier("gamma", shared_scale=True), positive),
    "beta": (lambda: GenerativeClassifier("beta"), fractions),
    "dirichlet": (lambda: GenerativeClassifier("dirichlet"), shares),
    "multinomial": (lambda: GenerativeClassifier("multinomial"), counts),
}
every = pytest.mark.parametrize("case", CASES)


def cases(*left_out):
    return pytest.mark.parametrize("case", [c for c in CASES if not any(c.startswith(x) for x in left_out)])


SOLVED = (
    "gamma",
    "beta",
    "dirichlet",
    "NaiveBayes gamma",
    "NaiveBayes beta",
    "NaiveBayes mixed",
)  # by Newton

PUBLIC = (
    "class_prior_", "class_count_", "means_", "covariance_", "theta_", "var_", "epsilon_", "feature_log_prob_",
    "feature_count_", "category_count_", "parameters_", "coef_", "intercept_", "xbar_",
)  # fmt: skip


def arrays(value):
    """The arrays in a parameter: arrays, lists and dicts of them."""
    if isinstance(value, dict):
        return [a for name in sorted(value) for a in arrays(value[name])]
    if isinstance(value, (list, tuple)):
        return [a for item in value for a in arrays(item)]
    return [np.asarray(value, dtype=float)]


def learned(model):
    return {name: arrays(getattr(model, name)) for name in PUBLIC if hasattr(model, name)}


def condition(model):
    """κ, the largest condition of a correlation matrix of the model; 1 where it has none. Rounding moves a covariance
    by some eps of its deviations, and what is solved with it by κ times as much.
    """
    found = arrays([getattr(model, name, []) for name in ("covariance_", "parameters_")])
    squares = [S for S in found if S.ndim >= 2 and S.shape[-1] == S.shape[-2] > 1]
    kappa = 1.0
    for S in (S for square in squares for S in square.reshape(-1, *square.shape[-2:])):
        if np.allclose(S, S.T) and np.all(np.diag(S) > 0):
            deviation = np.sqrt(np.diag(S))
            kappa = max(kappa, np.linalg.cond(S / np.outer(deviation, deviation)))
    return kappa


def assert_same_model(a, b, X, tol=1e-12, ordered=True):
    """The same classes, the same parameters to ``tol`` of their size, the same densities. What is solved with a
    covariance (weights, offsets, densities) is held to what its condition leaves; an offset is a difference of terms
    of the size of weight × value, and is measured by them.
    """
    assert a.classes_.tolist() == b.classes_.tolist()
    mine, theirs = learned(a), learned(b)
    assert mine.keys() == theirs.keys()
    bent = max(tol, 20 * np.finfo(float).eps * condition(a))
    largest = 0.0 if sp.issparse(X) or X.dtype == object else np.max(np.abs(X))
    for name in mine if ordered else ("class_prior_", "class_count_"):
        for x, y in zip(mine[name], theirs[name], strict=True):
            assert x.shape == y.shape, name
            size = np.max(np.abs(x), initial=0.0, where=np.isfinite(x))
            if name == "intercept_":
                size += largest * np.sum(np.abs(a.coef_), axis=-1).max()
            t = bent if name in ("coef_", "intercept_") else tol
            np.testing.assert_allclose(x, y, rtol=t, atol=t * size, err_msg=name)
    x, y = a.class_log_density(X), b.class_log_density(X)
    np.testing.assert_allclose(x, y, rtol=100 * bent, atol=100 * bent)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1000 * bent)
    assert a.verdict_.objective == pytest.approx(b.verdict_.objective, rel=1e-10, abs=1e-10)


def tolerance(case):
    return 1e-10 if case.startswith(SOLVED) else 1e-12


def rows(X, index):
    return X[np.asarray(index)]


def stacked(a, b):
    return sp.csr_array(sp.vstack([a, b])) if sp.issparse(a) else np.concatenate([a, b])


# ---- chunks and merges ----


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


# ---- missing cells ----

# the marginal of the fitted model is the model fitted without the column
MARGINAL = (
    "LDA", "QDA", "shared", "per-class", "diagonal", "groups", "GaussianNB", "GaussianNB class", "BernoulliNB",
    "BernoulliNB marginal", "CategoricalNB", "CategoricalNB marginal", "NaiveBayes normal", "NaiveBayes poisson",
    "NaiveBayes gamma", "NaiveBayes beta", "NaiveBayes mixed", "normal", "normal shared", "poisson", "exponential",
    "gamma", "gamma shared", "beta",
)  # fmt: skip


@pytest.mark.parametrize("case", MARGINAL)
@few
@given(seed=seeds)
def test_a_missing_cell_is_a_column_that_is_not_there(case, seed):
    make, draw = CASES[case]
    X, y = draw(seed)
    model = make().fit(X, y)
    missing = np.random.default_rng(seed).random(X.shape) < 0.4
    missing[:4, :3] = [[True, False, False], [False, True, True], [True] * 3, [False] * 3]
    missing[2] = True
    holes = X.copy()
    holes[missing] = None if X.dtype == object else np.nan
    density, posterior, total = (
        model.class_log_density(holes),
        model.predict_proba(holes),
        model.score_samples(holes),
    )
    joint, wanted = model.predict_joint_log_proba(holes), density + np.log(model.class_prior_)
    np.testing.assert_allclose(joint - joint[:, :1], wanted - wanted[:, :1], atol=1e-8)
    for pattern in np.unique(missing, axis=0):
        mine = np.flatnonzero((missing == pattern).all(axis=1))
        there = np.flatnonzero(~pattern)
        if not len(there):
            np.testing.assert_allclose(
                posterior[mine], np.tile(model.class_prior_, (len(mine), 1)), atol=1e-12
            )
            np.testing.assert_allclose(total[mine], 0.0, atol=1e-12)
            continue
        shorter = make()
        if "families" in shorter.get_params() and shorter.families != "auto":
            families = {i: shorter.families[j] for i, j in enumerate(there.tolist()) if j in shorter.families}
            shorter.set_params(families=families)
        shorter.fit(X[:, there], y)
        np.testing.assert_allclose(
            density[mine], shorter.class_log_density(X[mine][:, there]), rtol=1e-8, atol=1e-8
        )
        np.testing.assert_allclose(posterior[mine], shorter.predict_proba(X[mine][:, there]), atol=1e-8)
        np.testing.assert_allclose(
            total[mine], shorter.score_samples(X[mine][:, there]), rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("case", ["LDA shrunk", "LDA lsqr, priors", "QDA regularised", "spherical", "groups"])
def test_missing_cells_are_scipys_marginals(case):
    make, _ = CASES[case]
    X, y = continuous(4)
    model = make().fit(X, y)
    sigmas = [model.covariance_] * 3 if case.startswith("LDA") else model.covariance_
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.4, np.nan, X)
    density = np.zeros((len(X), 3))
    for i, row in enumerate(holes):
        j = np.flatnonzero(~np.isnan(row))
        for k in range(3):
            if len(j):
                normal = ss.multivariate_normal(model.means_[k, j], sigmas[k][np.ix_(j, j)])
                density[i, k] = normal.logpdf(row[j])
    np.testing.assert_allclose(model.class_log_density(holes), density, rtol=1e-10, atol=1e-10)
    joint = density + np.log(model.class_prior_)
    np.testing.assert_allclose(model.score_samples(holes), logsumexp(joint, axis=1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("tie", ["feature", "both"])
def test_missing_cells_under_ties_over_columns(tie):
    X, y = continuous(4)
    model = GaussianNB(tie=tie).fit(X, y)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.4, np.nan, X)
    cells = ss.norm.logpdf(holes[:, None, :], model.theta_, np.sqrt(model.var_))
    np.testing.assert_allclose(
        model.class_log_density(holes), np.nansum(cells, axis=2), rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("case", [c for c in MARGINAL if CASES[c][1] is not mixed and c not in GAUSSIAN])
@few
@given(seed=seeds)
def test_naive_models_fit_each_column_to_the_rows_that_have_it(case, seed):
    make, draw = CASES[case]
    X, y = draw(seed)
    holes = np.where(np.random.default_rng(seed).random(X.shape) < 0.3, np.nan, X)
    holes[:24:8] = X[:24:8]  # something of every class in every column
    if "Categorical" in case:
        holes[0] = X.max(axis=0)
    model = make().fit(holes, y)
    assert not hasattr(model, "log_likelihoods_")  # no EM: columns are independent
    density = np.zeros((len(X), 3))
    for j in range(3):
        there = ~np.isnan(holes[:, j])
        one = make()
        if "families" in one.get_params() and one.families != "auto":
            one.set_params(families={0: one.families[0]})
        one.fit(holes[there, j : j + 1], y[there])
        density += one.class_log_density(X[:, j : j + 1])
    np.testing.assert_allclose(model.class_log_density(X), density, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.class_prior_, np.bincount(y) / len(y), rtol=1e-14)
    # and chunks of such rows add up as well
    chunks = make().partial_fit(holes[:30], y[:30]).partial_fit(holes[30:], y[30:])
    if "NaiveBayes" not in case:
        assert_same_model(model, chunks, X, tolerance(case))


def test_a_constant_column_says_nothing_with_or_without_missing_cells():
    X, y = continuous(0)
    wide = np.column_stack([X, np.full(len(X), 3.0)])
    new = wide.copy()
    new[:, 3] += np.linspace(-5, 5, len(X))  # it varies after training
    for make in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianDiscriminant, GaussianNB):
        model = make()
        wanted = model.fit(X[:, 1:], y).predict_proba(X[:, 1:])
        model.fit(wide, y)
        new[:, 0] = np.nan
        np.testing.assert_allclose(model.predict_proba(new), wanted, atol=1e-9, err_msg=str(model))


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


# ---- engines, storage ----


@every
def test_threads_and_serial_give_the_same_bits(case):
    make, draw = CASES[case]
    X, y = draw(6)
    fitted = []
    for kind, workers in (("serial", None), ("threads", 2)):
        with engine(kind, workers=workers, blocks=7):
            fitted.append(make().fit(X, y))
    a, b = (learned(m) for m in fitted)
    for name in a:
        for x, z in zip(a[name], b[name], strict=True):
            np.testing.assert_array_equal(x, z, err_msg=name)
    np.testing.assert_array_equal(*(m.predict_proba(X) for m in fitted))


@every
@pytest.mark.parametrize("blocks", [7, 97])
def test_blocks_agree(case, blocks):
    make, draw = CASES[case]
    X, y = draw(7, n=200)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], len(y))
    with engine(blocks=1):
        a = make().fit(X, y, sample_weight=weight)
    with engine(blocks=blocks):
        b = make().fit(X, y, sample_weight=weight)
    assert_same_model(a, b, X, tol=1e-10)


def test_blocks_in_which_no_row_has_a_label_or_a_class():
    """Rows sorted by class, the unlabelled ones last: some blocks have one class, some none."""
    for case, (make, draw) in CASES.items():
        if "priors" in case:
            continue
        X, y = draw(8)
        order = np.argsort(y, kind="stable")
        X, y = rows(X, order), y[order].astype(object)
        y[-20:] = None
        fitted = []
        for blocks in (1, 12):
            with engine(blocks=blocks):
                fitted.append(make().set_params(em_max_iter=5, em_tol=10.0).fit(X, y))
        np.testing.assert_allclose(*(m.predict_proba(X) for m in fitted), atol=1e-8, err_msg=case)


DASK = ("GaussianNB", "LDA", "QDA", "diagonal", "MultinomialNB", "BernoulliNB", "CategoricalNB", "gamma", "normal",
        "multivariate normal", "dirichlet")  # fmt: skip


@pytest.mark.parametrize("case", DASK)
@pytest.mark.parametrize("chunks", [(17, 3), (60, 2)])
def test_dask_arrays(case, chunks):
    da = pytest.importorskip("dask.array")
    make, draw = CASES[case]
    X, y = draw(9)
    lazy = da.from_array(X, chunks=chunks)
    model, plain = make().fit(lazy, y), make().fit(X, y)
    assert_same_model(plain, model, X, tolerance(case))
    for method in ("predict", "predict_proba", "predict_log_proba", "score_samples", "class_log_density"):
        answer = getattr(model, method)(lazy)
        assert isinstance(answer, da.Array), method
        np.testing.assert_allclose(answer.compute(), getattr(plain, method)(X), atol=1e-9)
    late = make().partial_fit(lazy[:34], y[:34]).partial_fit(lazy[34:], y[34:])
    assert_same_model(plain, late, X, tolerance(case))
    if case == "LDA":
        np.testing.assert_allclose(
            np.abs(model.transform(lazy).compute()), np.abs(plain.transform(X)), atol=1e-9
        )


def test_dask_with_missing_cells_weights_and_labels():
    da, dd, pd = (pytest.importorskip(name) for name in ("dask.array", "dask.dataframe", "pandas"))
    X, y = continuous(9)
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    weight = np.linspace(0.5, 2, len(y))
    plain = GaussianNB().fit(holes, y, sample_weight=weight)
    lazy = da.from_array(holes, chunks=(13, 3))
    model = GaussianNB().fit(
        lazy, da.from_array(y, chunks=13), sample_weight=da.from_array(weight, chunks=13)
    )
    assert_same_model(plain, model, holes)
    np.testing.assert_allclose(model.predict_proba(lazy).compute(), plain.predict_proba(holes), atol=1e-12)
    frame = dd.from_pandas(pd.DataFrame(holes, columns=list("abc")), npartitions=4)
    model = GaussianNB().fit(frame, y, sample_weight=weight)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(np.asarray(model.predict_proba(frame)), plain.predict_proba(holes), atol=1e-12)
    plain, model = (LinearDiscriminantAnalysis().fit(table, y) for table in (holes, lazy))
    np.testing.assert_allclose(model.covariance_, plain.covariance_, rtol=1e-9)


STORED = {
    "float32": lambda X: X.astype(np.float32),
    "int8": lambda X: X.astype(np.int8),
    "uint64": lambda X: X.astype(np.uint64),
    "F order": np.asfortranarray,
    "big endian": lambda X: X.astype(">f8"),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
}
OF_COUNTS = {
    "GaussianNB": lambda: GaussianNB(),
    "LDA": lambda: LinearDiscriminantAnalysis(),
    "QDA": lambda: QuadraticDiscriminantAnalysis(),
    "multivariate normal": lambda: GenerativeClassifier("multivariate_normal"),
    **{
        c: CASES[c][0]
        for c in ("BernoulliNB", "MultinomialNB", "CategoricalNB", "NaiveBayes poisson", "poisson")
    },
}


@pytest.mark.parametrize("make", OF_COUNTS.values(), ids=OF_COUNTS.keys())
def test_however_the_numbers_are_stored(make):
    X, y = counts(10)
    plain = make().fit(X, y)
    for name, convert in STORED.items():
        model = make().fit(convert(X), y)
        found = model.predict_proba(convert(X))
        atol = 1e-10 if found.dtype == np.float64 else 4 * np.finfo(np.float32).eps
        np.testing.assert_allclose(found, plain.predict_proba(X), atol=atol, rtol=1e-6, err_msg=name)
        np.testing.assert_allclose(
            model.score_samples(convert(X)), plain.score_samples(X), rtol=1e-10, err_msg=name
        )


# ---- frames ----


def _pandas(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c"])


def _nullable(X):
    pd = pytest.importorskip("pandas")
    cells = {n: [None if v != v else v for v in X[:, j]] for j, n in enumerate("abc")}
    return pd.DataFrame({n: pd.array(values, dtype="Float64") for n, values in cells.items()})


def _polars(X):
    pl = pytest.importorskip("polars")
    return pl.DataFrame({n: [None if v != v else v for v in X[:, j].tolist()] for j, n in enumerate("abc")})


def _arrow(X):
    pa = pytest.importorskip("pyarrow")
    return pa.table({n: [None if v != v else v for v in X[:, j].tolist()] for j, n in enumerate("abc")})


FRAMES = {"pandas": _pandas, "pandas nullable": _nullable, "polars": _polars, "arrow": _arrow}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize(
    "case",
    [
        "GaussianNB",
        "LDA",
        "QDA",
        "diagonal",
        "BernoulliNB",
        "CategoricalNB",
        "normal",
        "poisson",
        "NaiveBayes gamma",
    ],
)
def test_a_frame_with_empty_cells_is_an_array_with_nans(case, frame):
    make, draw = CASES[case]
    X, y = draw(11)
    holes = np.where(np.random.default_rng(2).random(X.shape) < 0.15, np.nan, X)
    a, b = make().fit(holes, y), make().fit(frame(holes), y)
    assert list(b.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(a.predict_proba(holes), b.predict_proba(frame(holes)), atol=1e-12)
    np.testing.assert_allclose(a.score_samples(holes), b.score_samples(frame(holes)), rtol=1e-12)
    np.testing.assert_array_equal(a.predict(X), b.predict(frame(X)))


def test_a_mixed_frame_with_empty_cells():
    pd, pl = (pytest.importorskip(name) for name in ("pandas", "polars"))
    X, y = mixed(3)
    X[np.random.default_rng(0).random(X.shape) < 0.15] = None
    names = ["colour", "flag", "visits", "length", "balance"]
    types = ["category", "boolean", "Int64", "float", "float"]
    plain = NaiveBayes().fit(X.tolist(), y)
    assert plain.families_ == ["categorical", "bernoulli", "poisson", "gamma", "gaussian"]
    columns = {n: X[:, j].tolist() for j, n in enumerate(names)}
    objects = pd.DataFrame(columns, dtype=object)
    for frame in (objects, pd.DataFrame(columns).astype(dict(zip(names, types))), pl.DataFrame(columns)):
        model = NaiveBayes().fit(frame, y)
        assert model.families_ == plain.families_
        np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(X.tolist()), atol=1e-12)


@every
def test_the_data_are_not_changed(case):
    make, draw = CASES[case]
    X, y = draw(12)
    weight = np.linspace(0.5, 2, len(y))
    before = X.copy()
    model = make().fit(X, y, sample_weight=weight)
    model.predict_proba(X), model.score_samples(X), model.predict(X)
    assert (before != X).sum() == 0
    np.testing.assert_array_equal(weight, np.linspace(0.5, 2, len(y)))
    if not sp.issparse(X) and X.dtype != object:
        X.flags.writeable = False
        make().fit(X, y).predict(X)


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


@every
def test_the_verdict_can_be_had_again_from_the_data(case):
    make, draw = CASES[case]
    X, y = draw(15)
    model = make().fit(X, y)
    v = model.verdict_
    assert v.status == "closed form" and v.settled and v.unique
    assert v.sweeps == 1 and "moment residual" in v.findings[0]
    again = verify(model, X, y)
    assert again.status == "closed form"
    assert again.objective == pytest.approx(v.objective, rel=1e-9)
    wrong = verify(model, X, np.roll(y, 1))
    assert wrong.status != "closed form"


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
