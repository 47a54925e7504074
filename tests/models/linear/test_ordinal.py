"""Ordered classes: R's polr, statsmodels, SciPy; two classes are logistic regression; the laws of the order."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix
from benchmarks import shared
from separatrix import LogisticRegression, OrdinalRegression, engine, verify
from separatrix.solve import ordinal as solver
from separatrix.verdict.verdict import ConvergenceWarning, SeparationWarning
from tests.draws import examples
from tests.models.linear.ordinals import COLUMNS, SATISFACTION, by_scipy, drawn, housing

LINKS = ("logit", "probit", "cloglog")
links = pytest.mark.parametrize("link", LINKS)
few = examples(12)
seeds = st.integers(0, 10_000)


@parametrize_with_checks([OrdinalRegression(), OrdinalRegression(C=10.0, tol=1e-6)])
def test_check_estimator(estimator, check):
    check(estimator)


# ---- references ----


def test_housing_as_in_r():
    """polr(Sat ~ Infl + Type + Cont, weights = Freq, data = housing), MASS, with Hess = TRUE."""
    X, y, frequency = housing()
    model = OrdinalRegression(C=np.inf).fit(X, y, frequency)
    np.testing.assert_allclose(model.coef_, [0.5664, 1.2888, -0.5724, -0.3662, -1.0910, 0.3603], atol=5e-5)
    np.testing.assert_allclose(model.thresholds_, [-0.4961, 0.6907], atol=5e-5)
    assert model.deviance_ == pytest.approx(3479.149, abs=5e-4)
    assert model.aic_ == pytest.approx(3495.149, abs=5e-4)
    errors = [0.1047, 0.1272, 0.1192, 0.1552, 0.1515, 0.0955, 0.1248, 0.1255]
    np.testing.assert_allclose(model.standard_errors(), errors, atol=5e-5)
    coef, thresholds, loss = by_scipy(X, y, frequency)
    np.testing.assert_allclose(model.coef_, coef, atol=2e-7)
    np.testing.assert_allclose(model.thresholds_, thresholds, atol=2e-7)
    assert model.deviance_ == pytest.approx(2 * loss, rel=1e-12)


@links
@pytest.mark.parametrize("C", [0.3, np.inf])
def test_against_scipy(link, C):
    X, y = drawn(300, 3, 4, seed=1)
    X = X * [1.0, 20.0, 0.1] + [0.0, 50.0, 1.0]
    weight = np.random.default_rng(0).integers(1, 4, 300)
    model = OrdinalRegression(link, C=C).fit(X, y, weight)
    coef, thresholds, loss = by_scipy(X, y, weight, C, link)
    np.testing.assert_allclose(model.coef_ * X.std(axis=0), coef * X.std(axis=0), atol=1e-6)
    mean = X.mean(axis=0)
    np.testing.assert_allclose(model.thresholds_ - mean @ model.coef_, thresholds - mean @ coef, atol=1e-6)
    assert model.verdict_.objective * weight.sum() == pytest.approx(loss, rel=1e-11)
    assert model.verdict_.status == ("optimal" if link == "logit" else "stationary")
    assert verify(model, X, y, weight).status == model.verdict_.status


def real(name):
    """Columns of numbers and ordered classes."""
    if name == "abalone":
        table = shared.table(name)
        X = pd.get_dummies(table.iloc[:, :-1], drop_first=True).astype(float).to_numpy()
        return X, np.digitize(table.iloc[:, -1], [8, 10, 12])
    table = shared.table(name)
    X, quality = table.drop(columns="quality").to_numpy(float), table["quality"].to_numpy()
    return X, np.unique(quality, return_inverse=True)[1]


@pytest.mark.slow
@pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")
@pytest.mark.parametrize("name", ["wine_quality/winequality-red", "abalone"])
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_real_tables_against_statsmodels(name, link):
    OrderedModel = pytest.importorskip("statsmodels.miscmodels.ordinal_model").OrderedModel

    X, y = real(name)
    mean, spread = X.mean(axis=0), X.std(axis=0)
    other = OrderedModel(y, (X - mean) / spread, distr=link)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = other.fit(method="bfgs", disp=0, maxiter=2000, gtol=1e-8)
        theirs = other.fit(method="newton", start_params=theirs.params, disp=0, maxiter=50)
    model = OrdinalRegression(link, C=np.inf).fit(X, y)
    p = X.shape[1]
    np.testing.assert_allclose(model.coef_ * spread, theirs.params[:p], atol=1e-6)
    tau = other.transform_threshold_params(theirs.params)[1:-1]
    np.testing.assert_allclose(model.thresholds_ - mean @ model.coef_, tau, atol=1e-6)
    assert model.log_likelihood_ == pytest.approx(theirs.llf, rel=1e-10)
    np.testing.assert_allclose(model.standard_errors()[:p] * spread, theirs.bse[:p], rtol=1e-4)


@pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")
def test_a_table_whose_order_is_separated():
    table = shared.table("car")
    X = pd.get_dummies(table.drop(columns="class"), drop_first=True).astype(float)
    y = pd.Categorical(table["class"], ["unacc", "acc", "good", "vgood"], ordered=True)
    with pytest.warns(SeparationWarning, match="'safety_low'"):
        model = OrdinalRegression(C=np.inf).fit(X, y)
    assert model.classes_.tolist() == ["unacc", "acc", "good", "vgood"]
    assert {"persons_4", "persons_more", "safety_low"} == set(model.verdict_.columns)
    # the rows that are not separated tell the other weights: as in a fit of those rows alone
    sure = X.index[(X["safety_low"] == 0) & (X[["persons_4", "persons_more"]].sum(axis=1) == 1)]
    rest = X.loc[sure].drop(columns=["safety_low", "persons_4"])
    alone = OrdinalRegression(C=np.inf).fit(rest, y[sure])
    kept = [c for c in rest.columns if c != "persons_more"]
    places, own = [list(X.columns).index(c) for c in kept], [list(rest.columns).index(c) for c in kept]
    np.testing.assert_allclose(model.coef_[places], alone.coef_[own], atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X.loc[sure]), alone.predict_proba(rest), atol=1e-6)
    assert verify(model, X, y).status == "no optimum"


@pytest.mark.parametrize("C", [0.01, 1.0, np.inf])
def test_two_classes_are_logistic_regression(C):
    X, y = drawn(200, 4, 2, seed=2)
    X, words = X * [1, 10, 0.1, 3] + [0, 5, 1, -2], np.array(["no", "yes"])[y]
    weight = np.random.default_rng(1).exponential(size=200)
    one, two = OrdinalRegression(C=C).fit(X, words, weight), LogisticRegression(C=C).fit(X, words, weight)
    np.testing.assert_allclose(one.coef_, two.coef_[0], rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(one.thresholds_, -two.intercept_, rtol=1e-10, atol=1e-11)
    assert one.verdict_.objective == pytest.approx(two.verdict_.objective, rel=1e-13)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@few
@given(seed=seeds, width=st.sampled_from([0.3, 3.0]))
def test_many_columns_take_another_way_to_the_same_answer(seed, width):
    X, y = drawn(80, 12, 3, seed)
    X = sp.csr_array(X * (np.abs(X) > 0.8) * width)
    whole = OrdinalRegression().fit(X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver, "SPARSE_LIMIT", 5)
        model = OrdinalRegression(tol=1e-10, max_iter=1000).fit(X, y)
    assert (model.verdict_.method, whole.verdict_.method) == ("lbfgs", "newton")
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-5)
    assert model.verdict_.objective <= whole.verdict_.objective + model.verdict_.gap + 1e-14
    assert model.verdict_.status == "optimal"


# ---- laws ----


def assert_same(a, b, tol=1e-7):
    size = max(1.0, np.abs(a.coef_).max(), np.abs(a.thresholds_).max())
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=0, atol=tol * size)
    np.testing.assert_allclose(b.thresholds_, a.thresholds_, rtol=0, atol=tol * size)
    assert b.verdict_.objective == pytest.approx(a.verdict_.objective, rel=1e-10)
    assert (b.verdict_.status, b.verdict_.unique) == (a.verdict_.status, a.verdict_.unique)


@links
@few
@given(seed=seeds)
def test_weight_is_repetition_and_zero_is_absence(link, seed):
    X, y = drawn(60, 2, 3, seed)
    weight = np.random.default_rng(seed).integers(0, 4, 60)
    weight[[int(np.flatnonzero(y == k)[0]) for k in range(3)]] = 1
    repeated = np.repeat(np.arange(60), weight)
    fit = OrdinalRegression(link).fit
    one = fit(X[repeated], y[repeated])
    wild = np.where((weight == 0)[:, None], 1e3, X)  # what an absent row holds does not matter
    assert_same(one, OrdinalRegression(link).fit(wild, y, weight))


@few
@given(seed=seeds)
def test_a_class_of_weight_zero_is_no_class(seed):
    X, y = drawn(60, 2, 4, seed)
    model = OrdinalRegression().fit(X, y, y != 2)
    assert model.classes_.tolist() == [0, 1, 3] and model.thresholds_.shape == (2,)
    assert_same(OrdinalRegression().fit(X[y != 2], y[y != 2]), model)


@few
@given(seed=seeds, C=st.sampled_from([1.0, np.inf]), link=st.sampled_from(["logit", "probit"]))
def test_the_order_turned_round_turns_the_signs(seed, C, link):
    X, y = drawn(80, 3, 4, seed, noise=2.0)
    up, down = OrdinalRegression(link, C=C).fit(X, y), OrdinalRegression(link, C=C).fit(X, 3 - y)
    if up.verdict_.status == "no optimum":
        return
    down.coef_, down.thresholds_ = -down.coef_, -down.thresholds_[::-1]
    assert_same(up, down)


@few
@given(seed=seeds, order=st.permutations([0, 1, 2]))
def test_columns_move_with_their_weights(seed, order):
    X, y = drawn(80, 3, 3, seed)
    plain, moved = OrdinalRegression().fit(X, y), OrdinalRegression().fit(X[:, order], y)
    moved.coef_ = moved.coef_[np.argsort(order)]
    assert_same(plain, moved)


@few
@given(
    seed=seeds,
    powers=st.lists(st.integers(-20, 20), min_size=3, max_size=3),
    shift=st.sampled_from([0, 7, -(10**5)]),
)
def test_units_and_origins_change_nothing_they_should_not(seed, powers, shift):
    X, y = drawn(80, 3, 3, seed, noise=2.0)
    X = np.round(X * 64) / 64
    a = 2.0 ** np.array(powers)
    plain, moved = OrdinalRegression(C=np.inf).fit(X, y), OrdinalRegression(C=np.inf).fit(a * (X + shift), y)
    if plain.verdict_.status == "no optimum":
        return
    np.testing.assert_allclose(moved.coef_ * a, plain.coef_, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(moved.predict_proba(a * (X + shift)), plain.predict_proba(X), atol=1e-7)
    assert moved.verdict_.objective == pytest.approx(plain.verdict_.objective, rel=1e-10)


@few
@given(seed=seeds, power=st.integers(-10, 10))
def test_one_unit_for_all_columns_is_a_factor_of_C(seed, power):
    X, y = drawn(80, 3, 3, seed)
    a = 2.0**power
    plain, moved = OrdinalRegression().fit(X, y), OrdinalRegression(C=1 / a**2).fit(a * X, y)
    np.testing.assert_allclose(moved.coef_ * a, plain.coef_, atol=1e-7)
    np.testing.assert_allclose(moved.thresholds_, plain.thresholds_, atol=1e-7)


def test_repeated_and_constant_columns():
    X, y = drawn(120, 2, 3, seed=4, noise=2.0)
    wide = np.column_stack([X, X[:, 0] + 1.0, np.full(120, 5.0)])
    model, plain = OrdinalRegression(C=np.inf).fit(wide, y), OrdinalRegression(C=np.inf).fit(X, y)
    assert model.verdict_.status == "optimal" and model.verdict_.unique is False
    np.testing.assert_allclose(model.predict_proba(wide), plain.predict_proba(X), atol=1e-8)
    assert model.coef_[3] == 0 and model.coef_[0] == pytest.approx(model.coef_[2])
    text = str(model.verdict_)
    assert "linearly dependent" in text and "constant: 3" in text
    assert np.isnan(model.standard_errors()[[0, 2, 3]]).all()
    assert model.standard_errors()[1] == pytest.approx(plain.standard_errors()[1], rel=1e-6)
    assert model.aic_ == pytest.approx(plain.aic_)


def test_wide_rows():
    X, y = drawn(40, 200, 3, seed=5)
    model = OrdinalRegression().fit(X, y)
    assert model.verdict_.status == verify(model, X, y).status == "optimal"
    gradient = np.zeros(200)
    P, h = model.predict_proba(X), 1e-6
    assert P.shape == (40, 3)
    for j in (0, 7, 199):  # the minimum of C Σ loss + ½‖w‖² in single columns
        values = []
        for step in (-h, h):
            moved = OrdinalRegression().fit(X, y)
            moved.coef_[j] += step
            own = moved.predict_log_proba(X)[np.arange(40), y].sum()
            values.append(-own + 0.5 * np.sum(moved.coef_**2))
        gradient[j] = (values[1] - values[0]) / (2 * h)
    assert np.abs(gradient).max() < 1e-6


@pytest.mark.parametrize("kind", ["serial", "threads", "dask"])
def test_every_engine_gives_the_same_bits(kind):
    X, y = drawn(3000, 3, 4, seed=6)
    with engine("serial", blocks=5):
        one = OrdinalRegression().fit(X, y)
    with engine(kind, blocks=5):
        other = OrdinalRegression().fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.thresholds_, other.thresholds_)


def test_storage_makes_no_difference():
    import dask.array as da

    X, y = drawn(400, 3, 3, seed=7)
    X *= np.abs(X) > 0.4
    plain = OrdinalRegression().fit(X, y)
    for other in (
        sp.csr_array(X),
        sp.csc_matrix(X),
        pd.DataFrame(X),
        da.from_array(X, chunks=(150, 3)),
        np.asfortranarray(X),
    ):
        assert_same(plain, OrdinalRegression().fit(other, y))
    lazy = plain.predict_proba(da.from_array(X, chunks=(150, 3)))
    np.testing.assert_allclose(lazy.compute(), plain.predict_proba(X), atol=1e-15)
    single = OrdinalRegression().fit(X.astype(np.float32), y)
    assert single.coef_.dtype == single.thresholds_.dtype == np.float32
    assert single.predict_proba(X.astype(np.float32)).dtype == np.float32
    assert single.verdict_.status == verify(single, X.astype(np.float32), y).status == "optimal"
    np.testing.assert_allclose(single.coef_, plain.coef_, rtol=1e-5)


def test_warm_start_and_verbose(capsys):
    X, y = drawn(300, 3, 4, seed=8)
    model = OrdinalRegression(warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold
    assert model.fit(X, np.minimum(y, 2)).thresholds_.shape == (
        2,
    )  # another number of classes: from the start
    OrdinalRegression(verbose=1).fit(X, y)
    assert "objective" in capsys.readouterr().err


# ---- the order ----


def test_the_order_of_the_classes():
    X, y = drawn(90, 2, 3, seed=9)
    words = np.array(["low", "middle", "high"])[y]
    plain = OrdinalRegression().fit(X, y)
    given = OrdinalRegression(categories=["low", "middle", "high"]).fit(X, words)
    own = OrdinalRegression().fit(X, pd.Categorical(words, ["low", "middle", "high"], ordered=True))
    column = OrdinalRegression().fit(
        X, pd.Series(pd.Categorical(words, ["low", "middle", "high"], ordered=True))
    )
    for model in (given, own, column):
        assert model.classes_.tolist() == ["low", "middle", "high"]
        np.testing.assert_allclose(model.coef_, plain.coef_)
        assert model.score(X, words) == plain.score(X, y) == np.mean(model.predict(X) == words)
        assert not any(f.startswith("order") for f in model.verdict_.findings)
    with pytest.warns(UserWarning, match="'high' < 'low' < 'middle'"):
        sorted_ = OrdinalRegression().fit(X, words)
    assert (
        sorted_.classes_.tolist() == ["high", "low", "middle"]
        and "categories=" in sorted_.verdict_.findings[0]
    )
    loose = pd.Categorical(words, ["low", "middle", "high"])  # categories, but in no order
    with pytest.warns(UserWarning, match="order of the alphabet"):
        OrdinalRegression().fit(X, loose)
    spelt = OrdinalRegression().fit(X, np.array(["9", "10", "-1.5"])[y])
    assert spelt.classes_.tolist() == ["-1.5", "9", "10"] and not spelt.verdict_.findings
    assert OrdinalRegression(categories=[2, 1, 0]).fit(X, y).classes_.tolist() == [2, 1, 0]
    with pytest.warns(UserWarning, match="no row is of class 'huge'"):
        model = OrdinalRegression(categories=["low", "middle", "high", "huge"]).fit(X, words)
    assert len(model.classes_) == 3


@pytest.mark.parametrize(
    ("settings", "y", "sentence"),
    [
        ({"categories": ["a", "b"]}, ["a", "b", "c"], "class 'c' of y is not among the categories"),
        ({"categories": ["a", "b", "a"]}, ["a", "b", "a"], "names 'a' twice"),
        ({"categories": "abc"}, ["a", "b", "c"], "must list the classes"),
        ({"link": "cauchit"}, [0, 1, 2], 'link \'cauchit\' is unknown: use "logit", "probit" or "cloglog"'),
        ({"C": 0}, [0, 1, 2], "C must be a positive number"),
        ({"C": "1"}, [0, 1, 2], "C must be a positive number"),
        ({"tol": 0}, [0, 1, 2], "tol must be a positive number"),
        ({"max_iter": 0}, [0, 1, 2], "max_iter must be a whole number"),
        ({}, [1, 1, 1], "only one class"),
        ({}, [0.5, 1.2, 3.3], "Unknown label type"),
        ({}, [0, 1, np.nan], "NaN"),
    ],
)  # fmt: skip
def test_what_is_refused(settings, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        OrdinalRegression(**settings).fit(np.eye(3), y)


def test_cells_and_labels_that_are_refused():
    X, y = drawn(60, 2, 3, seed=10)
    model = OrdinalRegression().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    bad = pd.DataFrame(X, columns=["a", "b"])
    bad.loc[4, "b"] = np.nan
    with pytest.raises(ValueError, match="column 'b' is missing in row 4"):
        OrdinalRegression().fit(bad, y)
    with pytest.raises(ValueError, match="label 7 was not seen"):
        verify(model, pd.DataFrame(X, columns=["a", "b"]), np.where(y == 2, 7, y))


# ---- answers ----


def test_costs():
    X, y = drawn(200, 2, 4, seed=11)
    model = OrdinalRegression().fit(X, y)
    median = model.predict(X, cost="absolute")
    below = np.cumsum(model.predict_proba(X), axis=1)
    np.testing.assert_array_equal(median, (below < 0.5).sum(axis=1))
    place = np.arange(4)
    np.testing.assert_array_equal(median, model.predict(X, cost=np.abs(place[:, None] - place)))
    np.testing.assert_array_equal(model.predict(X), model.predict(X, cost=1 - np.eye(4)))
    with pytest.raises(ValueError, match="cost 'squared' is unknown"):
        model.predict(X, cost="squared")
    with pytest.raises(ValueError, match="4×4"):
        model.predict(X, cost=np.eye(3))


@links
def test_answers_agree_with_each_other(link):
    X, y = drawn(200, 2, 4, seed=12)
    model = OrdinalRegression(link).fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-13)
    np.testing.assert_allclose(np.log(P), model.predict_log_proba(X), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), P.argmax(axis=1))
    np.testing.assert_array_equal(model.decision_function(X).argmax(axis=1), P.argmax(axis=1))
    np.testing.assert_allclose(model.latent(X), X @ model.coef_)
    assert np.corrcoef(model.latent(X), y)[0, 1] > 0.3  # a higher score, a higher class
    far = model.predict_log_proba(1e4 * X)
    assert not np.isnan(far).any() and (far <= 0).all()


def test_edits_are_honoured_or_refused():
    X, y = drawn(100, 2, 3, seed=13)
    model = OrdinalRegression(C=np.inf).fit(X, y)
    model.summary()
    model.thresholds_[1] += 0.5
    assert (
        model.predict_proba(X)[:, 1].sum()
        > OrdinalRegression(C=np.inf).fit(X, y).predict_proba(X)[:, 1].sum()
    )
    assert verify(model, X, y).status == "not converged"
    with pytest.raises(ValueError, match="was edited after the fit"):
        model.summary()
    model.thresholds_ = model.thresholds_[::-1].copy()
    with pytest.raises(ValueError, match="thresholds_ must increase"):
        model.predict(X)
    model.thresholds_ = np.zeros(5)
    with pytest.raises(ValueError, match=r"needs \(2,\) and \(2,\)"):
        model.predict(X)


# ---- existence ----


def test_separated_by_one_column():
    X, y = np.arange(9.0)[:, None], np.repeat([0, 1, 2], 3)
    with pytest.warns(SeparationWarning, match="separated by column 0"):
        model = OrdinalRegression(C=np.inf).fit(X, y)
    assert model.verdict_.status == "no optimum" and model.coef_[0] == np.inf
    np.testing.assert_allclose(model.predict_proba(X), np.eye(3)[y], atol=1e-12)
    assert model.verdict_.separation.check(X, y) and not model.verdict_.separation.check(X, y[::-1])
    assert verify(model, X, y).status == "no optimum"
    with pytest.warns(SeparationWarning):
        assert model.fit(X, 2 - y).coef_[0] == -np.inf
    assert "does not exist has none" in str(model.summary())
    with pytest.raises(ValueError):
        model.coef_[0] = 1.0
    assert OrdinalRegression().fit(X, y).verdict_.status == "optimal"


def test_classes_that_overlap_for_softmax_may_still_be_separated_in_order():
    """The middle class lies between: of the two thresholds only the upper is crossed without a mistake."""
    X = np.array([[0.0], [2.0], [1.0], [3.0], [10.0], [11.0]])
    y = np.array([0, 0, 1, 1, 2, 2])
    with pytest.warns(SeparationWarning, match="quasi-separated"):
        model = OrdinalRegression(C=np.inf).fit(np.column_stack([X[:, 0] < 5, X[:, 0] > 5, X[:, 0] % 5]), y)
    P = model.predict_proba(np.column_stack([X[:, 0] < 5, X[:, 0] > 5, X[:, 0] % 5]))
    np.testing.assert_allclose(P[4:], [[0, 0, 1]] * 2, atol=1e-12)
    assert (P[:4, :2] > 0.01).all()


@links
def test_a_finite_C_always_has_an_estimate(link):
    X, y = np.arange(9.0)[:, None], np.repeat([0, 1, 2], 3)
    for C in (1e-3, 1.0, 1e4):
        model = OrdinalRegression(link, C=C).fit(X, y)
        assert (
            model.verdict_.settled and np.isfinite(model.coef_).all() and np.isfinite(model.thresholds_).all()
        )


def test_few_steps_are_no_optimum():
    X, y = drawn(100, 2, 3, seed=14)
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model = OrdinalRegression(max_iter=1).fit(X, y)
    whole = OrdinalRegression().fit(X, y)
    assert (
        model.verdict_.objective - model.verdict_.gap <= whole.verdict_.objective <= model.verdict_.objective
    )


def test_rare_and_many_classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 2))
    y = np.digitize(X[:, 0] + rng.logistic(size=4000), np.linspace(-4, 4, 60))
    model = OrdinalRegression(C=np.inf).fit(X, y)
    assert model.verdict_.status == "optimal" and (np.diff(model.thresholds_) > 0).all()
    weight = np.where(y == 30, 1e-7, 1.0)  # a class that is next to nothing
    rare = OrdinalRegression().fit(X, y, weight)
    assert rare.verdict_.status == "optimal" and np.diff(rare.thresholds_).min() > 0


def test_compare_and_the_command_line_know_it():
    X, y = drawn(120, 3, 3, seed=15)
    found = separatrix.compare(
        pd.DataFrame(X, columns=["a", "b", "c"]), y, models=[OrdinalRegression()], cv=3
    )
    assert "OrdinalRegression" in str(found)
    from separatrix.models.catalogue import BY_NAME, named

    assert named("polr") == named("OrdinalRegression") == "ordinal" and BY_NAME["ordinal"].tried.by_name


def test_columns_of_housing_in_a_frame():
    X, y, frequency = housing()
    frame = pd.DataFrame(X, columns=list(COLUMNS))
    satisfied = pd.Categorical(np.array(SATISFACTION)[y], SATISFACTION, ordered=True)
    table = OrdinalRegression(C=np.inf).fit(frame, satisfied, frequency).summary().to_frame()
    assert table.index.tolist() == [*COLUMNS, "Low|Medium", "Medium|High"]
    assert table.loc["InflHigh", "z"] == pytest.approx(10.136, abs=1e-3)  # polr's t value
