"""Rows without a label: EM climbs the likelihood of what was seen, and says so.

The likelihood is checked against the densities, the step against a weighted fit: at a fixed point the parameters are
those of the rows counted in every class by their posterior.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import (
    BernoulliNB,
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
from tests.models.generative.cases import PUBLIC, arrays
from tests.models.generative.em_cases import (
    EXACT,
    NEARLY,
    SMOOTHED,
    codes_of,
    continuous,
    counts,
    half_labelled,
    seen_log_likelihood,
    with_gaps,
)
from tests.models.reference import quiet

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
