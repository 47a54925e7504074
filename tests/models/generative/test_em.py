"""Rows without a label, and rows with missing cells: EM climbs the likelihood of what was seen, and says so.

The likelihood is checked against scipy.stats, the maximum against a direct numerical search, the step against a
weighted fit: at a fixed point the parameters are those of the rows counted in every class by their posterior.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats as ss
from scipy.optimize import minimize
from scipy.special import logsumexp

from separatrix import (
    BernoulliNB,
    CategoricalNB,
    ConvergenceWarning,
    GaussianDiscriminant,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
    engine,
)
from tests.models.reference import quiet

# ---- data: two classes, three columns, a quarter of the labels ----


def continuous(seed=0, n=120):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 3)) @ np.array([[1.0, 0.5, 0.0], [0, 1, 0.3], [0, 0, 1]]) + 1.6 * y[:, None]
    return X, y


def counts(seed=0, n=120):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.poisson(np.array([[1.0, 3.0, 2.0], [3.0, 1.0, 2.5]])[y]).astype(float), y


def documents(seed=0, n=120):
    X, y = counts(seed, n)
    return sp.csr_array(X), y


def positive(seed=0, n=120):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.gamma(np.array([[1.0, 3.0, 2.0], [4.0, 2.0, 2.0]])[y]) + 0.01, y


def fractions(seed=0, n=120):
    X, y = positive(seed, n)
    return X / (1 + X), y


def shares(seed=0, n=120):
    X, y = positive(seed, n)
    return X / X.sum(axis=1, keepdims=True), y


def mixed(seed=0, n=120):
    rng = np.random.default_rng(seed)
    C, y = counts(seed, n)
    X = np.empty((n, 4), dtype=object)
    X[:, 0] = np.array(["low", "mid", "top"])[np.clip(rng.integers(0, 2, n) + y, 0, 2)]
    X[:, 1] = C[:, 0].astype(int).tolist()
    X[:, 2] = (rng.random(n) < 0.3 + 0.4 * y).tolist()
    X[:, 3] = rng.normal(2 * y, 1.0).tolist()
    return X, y


EXACT = {  # the M step maximises the likelihood itself
    "LDA": (lambda: LinearDiscriminantAnalysis(), continuous),
    "LDA priors": (lambda: LinearDiscriminantAnalysis(priors=[0.3, 0.7]), continuous),
    "QDA": (lambda: QuadraticDiscriminantAnalysis(), continuous),
    "shared": (lambda: GaussianDiscriminant(), continuous),
    "per-class": (lambda: GaussianDiscriminant("per-class"), continuous),
    "diagonal": (lambda: GaussianDiscriminant("diagonal"), continuous),
    "spherical": (lambda: GaussianDiscriminant("spherical"), continuous),
    "groups": (lambda: GaussianDiscriminant([[0], [1]]), continuous),
    "GaussianNB": (lambda: GaussianNB(var_smoothing=0), continuous),
    "GaussianNB class": (lambda: GaussianNB(tie="class", var_smoothing=0), continuous),
    "GaussianNB feature": (lambda: GaussianNB(tie="feature", var_smoothing=0), continuous),
    "GaussianNB both": (lambda: GaussianNB(tie="both", var_smoothing=0), continuous),
    "BernoulliNB": (lambda: BernoulliNB(alpha=0), counts),
    "MultinomialNB": (lambda: MultinomialNB(alpha=0), counts),
    "CategoricalNB": (
        lambda: CategoricalNB(alpha=0),
        lambda **k: (np.minimum(counts(**k)[0], 3), counts(**k)[1]),
    ),
    "NaiveBayes normal": (lambda: NaiveBayes(dict.fromkeys(range(3), "normal"), var_smoothing=0), continuous),
    "NaiveBayes poisson": (lambda: NaiveBayes(dict.fromkeys(range(3), "poisson")), counts),
    "NaiveBayes gamma": (lambda: NaiveBayes(dict.fromkeys(range(3), "gamma")), positive),
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
SMOOTHED = {  # the M step maximises the likelihood times the prior the smoothing stands for
    "BernoulliNB Laplace": (lambda: BernoulliNB(), counts),
    "BernoulliNB sparse": (lambda: BernoulliNB(), documents),
    "BernoulliNB Beta": (lambda: BernoulliNB(smoothing=("beta", 3, 2)), counts),
    "BernoulliNB m": (lambda: BernoulliNB(smoothing=("m", 4, "uniform")), counts),
    "MultinomialNB Laplace": (lambda: MultinomialNB(), counts),
    "MultinomialNB sparse": (lambda: MultinomialNB(), documents),
    "MultinomialNB Dirichlet": (lambda: MultinomialNB(smoothing=("dirichlet", 3)), counts),
    "CategoricalNB Laplace": (lambda: CategoricalNB(), counts),
    "CategoricalNB Dirichlet": (lambda: CategoricalNB(smoothing=("dirichlet", 3)), counts),
    "NaiveBayes mixed": (lambda: NaiveBayes({1: "poisson"}), mixed),
}
NEARLY = {  # the variances are raised after the M step: the likelihood may fall by what that is worth
    "GaussianNB default": (lambda: GaussianNB(), continuous),
    "NaiveBayes default": (lambda: NaiveBayes(dict.fromkeys(range(3), "normal")), continuous),
    "LDA shrunk": (lambda: LinearDiscriminantAnalysis(shrinkage=0.1), continuous),
    "QDA regularised": (lambda: QuadraticDiscriminantAnalysis(reg_param=0.1), continuous),
}


def half_labelled(y, every=4):
    """The labels as objects, all but every fourth taken away."""
    labels = np.array(y, dtype=object)
    labels[np.arange(len(y)) // 2 % every != 0] = None
    return labels


def seen_log_likelihood(model, X, codes, weight=None):
    """Mean log p of what was seen, from the densities: log p(x, y), or log p(x) where there is no label."""
    joint = model.class_log_density(X) + np.log(model.class_prior_)
    seen = np.where(codes < 0, logsumexp(joint, axis=1), joint[np.arange(len(codes)), codes])
    return np.average(seen, weights=weight)


def codes_of(labels):
    return np.array([-1 if v is None else v for v in labels])


# ---- the path ----


@pytest.mark.parametrize("case", EXACT | SMOOTHED)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_likelihood_rises_at_every_step(case, weighted):
    make, draw = (EXACT | SMOOTHED)[case]
    X, y = draw()
    labels = half_labelled(y)
    weight = np.linspace(0.5, 2, len(y)) if weighted else None
    model = make().fit(X, labels, sample_weight=weight)
    path = model.log_likelihoods_
    assert len(path) > 1 and (np.diff(path) >= -1e-10).all()
    v = model.verdict_
    assert v.status == "no claim" and v.unique is None and not v.settled
    assert "local" in str(v) and "90 rows without a label" in str(v)
    assert "fell" not in str(v)
    assert v.objective == -path[-1]
    assert v.stopped_by == "the likelihood rises by less than em_tol"


@pytest.mark.parametrize("case", EXACT)
def test_the_likelihood_reported_is_that_of_what_was_seen(case):
    make, draw = EXACT[case]
    X, y = draw(seed=1)
    labels = half_labelled(y)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], len(y))
    for w in (None, weight):
        model = make().fit(X, labels, sample_weight=w)
        wanted = seen_log_likelihood(model, X, codes_of(labels), w)
        assert model.log_likelihoods_[-1] == pytest.approx(wanted, rel=1e-10)
    # the first value is that of the fit to the labelled rows alone
    start = make().fit(X[labels != None], y[labels != None])  # noqa: E711
    assert model_path_start(make, X, labels) == pytest.approx(
        seen_log_likelihood(start, X, codes_of(labels)), rel=1e-10
    )


def model_path_start(make, X, labels):
    return make().fit(X, labels).log_likelihoods_[0]


@pytest.mark.parametrize("case", NEARLY)
def test_smoothing_after_the_step_is_owned_up_to(case):
    """Where variances are raised or shrunk afterwards the likelihood may fall: then the verdict says so."""
    make, draw = NEARLY[case]
    X, y = draw()
    model = make().fit(X, half_labelled(y))
    falls = -np.diff(model.log_likelihoods_).min()
    assert falls < 0.05
    assert ("fell" in str(model.verdict_)) == (falls > 1e-9 * max(1.0, abs(model.log_likelihoods_[-1])))
    assert "local" in str(model.verdict_)


def tiled(X, k):
    return sp.csr_array(sp.vstack([X] * k)) if sp.issparse(X) else np.concatenate([X] * k)


PUBLIC = ("class_prior_", "means_", "covariance_", "theta_", "var_", "feature_log_prob_", "parameters_")


def arrays(value):
    if isinstance(value, dict):
        return [a for name in sorted(value) for a in arrays(value[name])]
    if isinstance(value, (list, tuple)):
        return [a for item in value for a in arrays(item)]
    return [np.asarray(value, dtype=float)]


@pytest.mark.parametrize("case", EXACT | SMOOTHED)
def test_at_the_end_the_fit_is_that_of_rows_counted_by_their_posterior(case):
    make, draw = (EXACT | SMOOTHED)[case]
    X, y = draw()
    labels = half_labelled(y)
    model = make().set_params(em_tol=1e-13, em_max_iter=5000).fit(X, labels)
    codes = codes_of(labels)
    R = np.where(codes[:, None] < 0, model.predict_proba(X), codes[:, None] == np.arange(2))
    step = make().fit(tiled(X, 2), np.repeat([0, 1], len(y)), sample_weight=R.T.ravel())
    np.testing.assert_allclose(model.class_count_, R.sum(axis=0), rtol=1e-4)
    for name in PUBLIC:
        if hasattr(model, name):
            for a, b in zip(arrays(getattr(model, name)), arrays(getattr(step, name)), strict=True):
                np.testing.assert_allclose(np.exp(a) if "log" in name else a, np.exp(b) if "log" in name else b,
                                           rtol=1e-4, atol=1e-5, err_msg=name)  # fmt: skip


# ---- what counts as no label ----


def iris_like():
    X, y = continuous(seed=2)
    return np.vstack([X, X[:40] - 3.0]), np.concatenate([y, np.full(40, 2)])


def conventions():
    """The same 60 of 160 labels, written in every way."""
    _, y = iris_like()
    gone = np.arange(len(y)) % 3 == 1
    words = np.array(["a", "b", "c"])[y]
    yield "-1 among integers", np.where(gone, -1, y), [0, 1, 2]
    yield "-1 among int8", np.where(gone, -1, y).astype(np.int8), [0, 1, 2]
    yield "a list with -1", np.where(gone, -1, y).tolist(), [0, 1, 2]
    yield "None among words", [None if g else str(w) for g, w in zip(gone, words)], ["a", "b", "c"]
    yield "NaN among words", [np.nan if g else str(w) for g, w in zip(gone, words)], ["a", "b", "c"]
    yield "None among integers", [None if g else int(v) for g, v in zip(gone, y)], [0, 1, 2]
    yield "NaN among floats", np.where(gone, np.nan, y), [0.0, 1.0, 2.0]
    yield (
        "None among tuples",
        [None if g else (int(v), "t") for g, v in zip(gone, y)],
        [(0, "t"), (1, "t"), (2, "t")],
    )


@pytest.mark.parametrize("name", [name for name, _, _ in conventions()])
def test_every_way_to_leave_a_label_out(name):
    X, y = iris_like()
    ((_, labels, classes),) = [c for c in conventions() if c[0] == name]
    model = LinearDiscriminantAnalysis().fit(X, labels)
    assert model.classes_.tolist() == classes
    plain = LinearDiscriminantAnalysis().fit(X, next(conventions())[1])
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(model.log_likelihoods_, plain.log_likelihoods_)
    assert f"{int((np.arange(len(y)) % 3 == 1).sum())} rows without a label" in str(model.verdict_)


def test_booleans_left_out_stay_booleans():
    X, y = continuous()
    labels = [None if i % 4 == 0 else bool(v) for i, v in enumerate(y)]
    model = GaussianNB().fit(X, labels)
    assert all(type(v) is bool for v in model.classes_.tolist())
    assert all(type(v) is bool for v in model.predict(X[:3]).tolist())


def test_labels_left_out_in_frames():
    pd, pl = (pytest.importorskip(name) for name in ("pandas", "polars"))
    X, y = iris_like()
    gone = np.arange(len(y)) % 3 == 1
    plain = LinearDiscriminantAnalysis().fit(X, np.where(gone, -1, y))
    words = [None if g else "abc"[v] for g, v in zip(gone, y)]
    numbers = [None if g else int(v) for g, v in zip(gone, y)]
    for labels in (
        pd.Series(words),
        pd.Series(words, dtype="string"),
        pd.Series(words, dtype="category"),
        pd.Series(numbers, dtype="Int64"),
        pd.Series(numbers),
        pl.Series(words),
        pl.Series(numbers),
    ):
        model = LinearDiscriminantAnalysis().fit(X, labels)
        np.testing.assert_allclose(
            model.predict_proba(X), plain.predict_proba(X), atol=1e-12, err_msg=str(labels.dtype)
        )


def test_minus_one_and_one_are_two_classes():
    X, y = continuous()
    signs = 2 * y - 1
    for labels in (signs, signs.tolist(), signs.astype(np.int8), signs.astype(float)):
        model = GaussianNB().fit(X, labels)
        assert model.classes_.tolist() == [-1, 1]
        assert not hasattr(model, "log_likelihoods_") and model.verdict_.status == "closed form"
        np.testing.assert_allclose(
            model.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X), atol=1e-14
        )
    more = GaussianNB().partial_fit(X, signs).partial_fit(X[:9], signs[:9])  # known from then on
    assert more.classes_.tolist() == [-1, 1]
    later = GaussianNB().partial_fit(X, signs).partial_fit(X[:9] + 9, np.zeros(9, dtype=int))
    assert later.classes_.tolist() == [-1, 0, 1]


def test_minus_one_among_floats_and_words_is_a_class():
    X, y = iris_like()
    assert GaussianNB().fit(X, y.astype(float) - 1).classes_.tolist() == [-1.0, 0.0, 1.0]
    assert GaussianNB().fit(X, (y - 1).astype(str)).classes_.tolist() == ["-1", "0", "1"]


@pytest.mark.parametrize("case", EXACT)
def test_labelled_rows_alone_are_the_closed_form(case):
    make, draw = EXACT[case]
    X, y = draw()
    model = make().fit(X, y)
    assert not hasattr(model, "log_likelihoods_")
    assert model.verdict_.status == "closed form" and "local" not in str(model.verdict_)
    labels = half_labelled(y)
    here = np.array([v is not None for v in labels])
    absent = make().fit(X, labels, sample_weight=here.astype(float))  # unlabelled rows that do not count
    alone = make().fit(X[here], y[here])
    np.testing.assert_allclose(absent.predict_proba(X), alone.predict_proba(X), atol=1e-10)
    again = make().fit(X, labels).fit(X, y)  # a second fit forgets the first
    assert not hasattr(again, "log_likelihoods_")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_sparse_and_dense_climb_the_same_path():
    X, y = counts()
    labels = half_labelled(y)
    for make in (MultinomialNB, BernoulliNB):
        a, b = make().fit(X, labels), make().fit(sp.csr_array(X), labels)
        np.testing.assert_allclose(a.log_likelihoods_, b.log_likelihoods_, rtol=1e-12)
        np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("case", ["LDA", "GaussianNB", "MultinomialNB", "NaiveBayes poisson", "gamma"])
def test_blocks_and_engines(case):
    make, draw = EXACT[case]
    X, y = draw()
    labels = np.concatenate([y[:40].astype(object), [None] * 80])  # whole blocks without a label
    with engine("serial", blocks=1):
        plain = make().fit(X, labels)
    fitted = []
    for kind in ("serial", "threads"):
        with engine(kind, blocks=9):
            fitted.append(make().fit(X, labels))
    np.testing.assert_array_equal(*(m.predict_proba(X) for m in fitted))
    np.testing.assert_allclose(plain.predict_proba(X), fitted[0].predict_proba(X), atol=1e-8)


def test_dask_rows_without_labels():
    da = pytest.importorskip("dask.array")
    X, y = continuous()
    labels = half_labelled(y)
    plain = GaussianNB().fit(X, labels)
    model = GaussianNB().fit(da.from_array(X, chunks=(31, 3)), labels)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-9)


def test_unlabelled_rows_help():
    """20 labelled rows and 2,000 without: EM finds the classes' shapes."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 4000)
    X = rng.standard_normal((4000, 6)) * np.where(y[:, None] == 1, 1.0, 1.8) + 1.1 * y[:, None]
    train, test = slice(0, 2020), slice(2020, None)
    labels = y.astype(object)
    labels[20:] = None
    for make in (GaussianNB, QuadraticDiscriminantAnalysis):
        alone = make().fit(X[:20], y[:20]).score(X[test], y[test])
        both = make().fit(X[train], labels[train]).score(X[test], y[test])
        full = make().fit(X[train], y[train]).score(X[test], y[test])
        assert both > alone + 0.01
        assert both > full - 0.02


# ---- missing cells ----


def with_gaps(X, share=0.25, seed=0):
    gaps = np.random.default_rng(seed).random(X.shape) < share
    gaps[:6] = False
    return np.where(gaps, np.nan, X)


def marginal_densities(X, means, sigmas):
    """log p of the cells that are there, by scipy, pattern by pattern."""
    out = np.zeros((len(X), len(means)))
    gaps = np.isnan(X)
    for gone in np.unique(gaps, axis=0):
        rows, j = np.flatnonzero((gaps == gone).all(axis=1)), np.flatnonzero(~gone)
        if len(j):
            for k, (m, S) in enumerate(zip(means, sigmas)):
                out[rows, k] = ss.multivariate_normal(m[j], S[np.ix_(j, j)]).logpdf(X[np.ix_(rows, j)])
    return out


FULL = {
    "LDA": lambda: LinearDiscriminantAnalysis(),
    "LDA lsqr": lambda: LinearDiscriminantAnalysis("lsqr"),
    "LDA lsqr, priors": lambda: LinearDiscriminantAnalysis("lsqr", priors=[0.4, 0.6]),
    "QDA": lambda: QuadraticDiscriminantAnalysis(),
    "shared": lambda: GaussianDiscriminant(),
    "per-class": lambda: GaussianDiscriminant("per-class"),
    "diagonal": lambda: GaussianDiscriminant("diagonal"),
    "spherical": lambda: GaussianDiscriminant("spherical"),
    "groups": lambda: GaussianDiscriminant({0: "one", 1: "two"}),
}


@pytest.mark.parametrize("case", FULL)
@pytest.mark.parametrize("labels_too", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_missing_cells_by_em(case, labels_too, weighted):
    X, y = continuous(seed=4)
    holes = with_gaps(X)
    holes[7] = np.nan  # nothing at all is known of it but its label
    labels = half_labelled(y) if labels_too else y.astype(object)
    weight = np.linspace(0.5, 2, len(y)) if weighted else None
    model = FULL[case]().set_params(em_max_iter=2000).fit(holes, labels, sample_weight=weight)
    path = model.log_likelihoods_
    if "priors" not in case:  # there classes are averaged by their priors, which is not the likelihood's step
        assert (np.diff(path) >= -1e-10).all()
    sigmas = [model.covariance_] * 2 if case.startswith("LDA") else model.covariance_
    density = marginal_densities(holes, model.means_, sigmas)
    joint = density + np.log(model.class_prior_)
    codes = codes_of(labels)
    seen = np.where(codes < 0, logsumexp(joint, axis=1), joint[np.arange(len(y)), codes])
    assert path[-1] == pytest.approx(np.average(seen, weights=weight), rel=1e-9)
    np.testing.assert_allclose(model.class_log_density(holes), density, rtol=1e-8, atol=1e-8)
    text = str(model.verdict_)
    assert "local" in text and ("missing cells" in text or labels_too)


def pack(means, roots):
    p = means.shape[1]
    return np.concatenate([means.ravel(), *[L[np.tril_indices(p)] for L in roots]])


def unpack(theta, k, p, g):
    means, rest = theta[: k * p].reshape(k, p), theta[k * p :].reshape(g, -1)
    sigmas = []
    for part in rest:
        L = np.zeros((p, p))
        L[np.tril_indices(p)] = part
        sigmas.append(L @ L.T)
    return means, sigmas


@pytest.mark.parametrize("shared", [True, False])
def test_the_maximum_is_that_of_a_direct_search(shared):
    """A tiny table: the observed-data likelihood maximised over means and Cholesky roots by BFGS."""
    rng = np.random.default_rng(5)
    y = np.arange(26) % 2
    X = rng.standard_normal((26, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]]) + y[:, None] * [1.5, -1.0]
    holes = with_gaps(X, 0.3, seed=6)
    make = LinearDiscriminantAnalysis if shared else QuadraticDiscriminantAnalysis
    model = make(em_tol=1e-14, em_max_iter=20_000).fit(holes, y)
    sigmas = [model.covariance_] if shared else model.covariance_
    prior = np.log(np.bincount(y) / len(y))

    def loss(theta):
        means, S = unpack(theta, 2, 2, 1 if shared else 2)
        density = marginal_densities(holes, means, S * 2 if shared else S)
        return -np.mean((density + prior)[np.arange(len(y)), y])

    start = pack(np.array([X[y == k].mean(axis=0) for k in (0, 1)]), [np.eye(2)] * len(sigmas))
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    assert model.log_likelihoods_[-1] == pytest.approx(-found.fun, abs=1e-8)
    means, best = unpack(found.x, 2, 2, len(sigmas))
    np.testing.assert_allclose(model.means_, means, atol=1e-3)
    np.testing.assert_allclose(sigmas, best, atol=1e-3)


def test_the_maximum_of_a_mixture_is_a_stationary_point():
    """Unlabelled rows and missing cells at once: no direction of the parameters raises the likelihood."""
    X, y = continuous(seed=8, n=60)
    holes, labels = with_gaps(X[:, :2], 0.2, seed=1), half_labelled(y)
    model = LinearDiscriminantAnalysis(em_tol=1e-14, em_max_iter=20_000).fit(holes, labels)
    codes = codes_of(labels)

    def likelihood(means, sigma, logit):
        prior = np.array([-np.logaddexp(0, logit), -np.logaddexp(0, -logit)])
        joint = marginal_densities(holes, means, [sigma] * 2) + prior
        return np.mean(np.where(codes < 0, logsumexp(joint, axis=1), joint[np.arange(len(codes)), codes]))

    at = [model.means_, model.covariance_, np.log(model.class_prior_[1] / model.class_prior_[0])]
    top = likelihood(*at)
    assert top == pytest.approx(model.log_likelihoods_[-1], rel=1e-10)
    rng = np.random.default_rng(0)
    for _ in range(10):
        d, S, t = rng.standard_normal((2, 2)), rng.standard_normal((2, 2)), rng.standard_normal()
        h = 1e-4
        slope = [likelihood(at[0] + s * h * d, at[1] + s * h * (S + S.T), at[2] + s * h * t) for s in (1, -1)]
        assert abs(slope[0] - slope[1]) / (2 * h) < 1e-5
        assert max(slope) < top + 1e-9


@pytest.mark.parametrize("tie", ["none", "class", "feature", "both"])
def test_columns_that_are_independent_need_no_em_for_missing_cells(tie):
    X, y = continuous(seed=4)
    holes = with_gaps(X)
    model = GaussianNB(tie=tie, var_smoothing=0).fit(holes, y)
    assert model.verdict_.status == "closed form" and not hasattr(model, "log_likelihoods_")
    if tie == "none":
        by_em = GaussianDiscriminant("diagonal", em_tol=1e-13, em_max_iter=10_000).fit(holes, y)
        np.testing.assert_allclose(by_em.means_, model.theta_, atol=1e-5)
        np.testing.assert_allclose([np.diag(S) for S in by_em.covariance_], model.var_, rtol=1e-4)
        np.testing.assert_allclose(by_em.predict_proba(holes), model.predict_proba(holes), atol=1e-5)


def test_em_recovers_a_covariance_that_complete_rows_would_not_show():
    """Four of five rows have a gap: what the complete rows alone say is far worse."""
    rng = np.random.default_rng(9)
    y = np.arange(3000) % 2
    S = np.array([[1.0, 0.8, 0.4], [0.8, 1.0, 0.6], [0.4, 0.6, 1.0]])
    X = rng.multivariate_normal(np.zeros(3), S, 3000) + 2.0 * y[:, None]
    holes = X.copy()
    which = rng.integers(0, 15, 3000)
    for j in range(3):
        holes[which // 4 == j, j] = np.nan
    model = LinearDiscriminantAnalysis().fit(holes, y)
    np.testing.assert_allclose(model.covariance_, S, atol=0.08)
    np.testing.assert_allclose(model.means_, [[0] * 3, [2] * 3], atol=0.08)


def test_missing_cells_in_a_class_that_never_shows_a_column():
    X, y = continuous(seed=4)
    holes = X.copy()
    holes[y == 1, 2] = np.nan
    for make in (LinearDiscriminantAnalysis, GaussianDiscriminant, GaussianNB):
        model = make().fit(holes, y)
        assert np.isfinite(model.predict_proba(X)).all() and np.isfinite(model.score_samples(holes)).all()
        assert model.score(holes, y) > 0.7


# ---- refusals and stops ----


@pytest.mark.parametrize("case", ["LDA", "GaussianNB", "MultinomialNB", "NaiveBayes poisson", "poisson"])
def test_a_class_needs_a_labelled_row(case):
    make, draw = EXACT[case]
    X, _ = draw()
    for labels in (["a"] * 60 + [None] * 60, [None] * 120, np.full(120, np.nan), np.full(120, -1)):
        with pytest.raises(ValueError, match="class"):
            make().fit(X, labels)


@pytest.mark.parametrize(
    "case", ["LDA", "QDA", "GaussianNB", "MultinomialNB", "NaiveBayes poisson", "poisson"]
)
def test_partial_fit_wants_labels(case):
    make, draw = EXACT[case]
    X, y = draw()
    labels = half_labelled(y)
    for start in (
        lambda: make().partial_fit(X, y),
        lambda: make().partial_fit(X, y, classes=[0, 1]),
        make,
    ):
        model = start()
        with pytest.raises(ValueError, match=r"EM.*at once"):
            model.partial_fit(X, labels)
    with pytest.raises(ValueError, match=r"EM.*at once"):
        make().partial_fit(X, labels, classes=[0, 1])
    numbers = np.where([v is None for v in labels], -1, y)
    with pytest.raises(ValueError, match=r"EM.*at once"):
        make().partial_fit(X, y).partial_fit(X, numbers)


def test_partial_fit_of_full_covariances_wants_whole_rows():
    X, y = continuous()
    for make in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianDiscriminant):
        model = make().partial_fit(X, y)
        before = model.predict_proba(X)
        with pytest.raises(ValueError, match="missing cells"):
            model.partial_fit(with_gaps(X), y)
        np.testing.assert_array_equal(model.predict_proba(X), before)  # a refusal changes nothing


@pytest.mark.parametrize(
    "case", ["LDA", "QDA", "GaussianNB", "MultinomialNB", "NaiveBayes poisson", "poisson"]
)
def test_what_em_fitted_is_not_added_to(case):
    make, draw = EXACT[case]
    X, y = draw()
    plain, by_em = make().fit(X, y), make().fit(X, half_labelled(y))
    for a, b in ((plain, by_em), (by_em, plain), (by_em, by_em)):
        with pytest.raises(ValueError, match="EM"):
            a.merge(b)
    with pytest.raises(ValueError, match="EM"):
        by_em.partial_fit(X, y)
    holes = LinearDiscriminantAnalysis().fit(*with_holes())
    with pytest.raises(ValueError, match="EM"):
        holes.merge(holes)


def with_holes():
    X, y = continuous()
    return with_gaps(X), y


def test_too_few_steps_are_a_warning_and_a_verdict():
    X, y = continuous()
    labels = half_labelled(y)
    for table, target in ((X, labels), (with_gaps(X), y)):
        with pytest.warns(ConvergenceWarning, match="em_max_iter"):
            model = LinearDiscriminantAnalysis(em_max_iter=2, em_tol=1e-12).fit(table, target)
        assert model.verdict_.status == "not converged" and "em_max_iter = 2" in model.verdict_.stopped_by
        assert "local" in str(model.verdict_) and len(model.log_likelihoods_) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LinearDiscriminantAnalysis().fit(X, labels)


@pytest.mark.parametrize(
    "name, values",
    [("em_tol", [0, -1.0, np.nan, "no", None, True]), ("em_max_iter", [0, -3, 2.5, None, True])],
)
def test_limits_that_mean_nothing(name, values):
    X, y = continuous()
    for value in values:
        for make in (LinearDiscriminantAnalysis, GaussianNB, MultinomialNB, NaiveBayes, GenerativeClassifier):
            with pytest.raises(ValueError, match=name):
                make(**{name: value}).fit(np.abs(X), y)


def test_scikit_learns_own_semi_supervised_convention():
    """SelfTrainingClassifier hands on labelled rows only; -1 among three classes is its mark."""
    semi = pytest.importorskip("sklearn.semi_supervised")
    X, y = iris_like()
    labels = np.where(np.arange(len(y)) % 3 == 1, -1, y)
    with quiet(UserWarning):
        theirs = semi.SelfTrainingClassifier(GaussianNB()).fit(X, labels)
    ours = GaussianNB().fit(X, labels)
    assert ours.score(X, y) > theirs.score(X, y) - 0.05
