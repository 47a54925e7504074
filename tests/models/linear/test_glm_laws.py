"""Laws of generalised linear models: weights, storage, engines, units and origins, offsets, the binomial's forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from separatrix import GeneralizedLinearModel, LogisticRegression, SeparationWarning, anova, engine, verify
from separatrix.core.links import link as link_of
from tests.models.linear.glms import (
    FREE,
    KINDS,
    assert_same_fit,
    draw,
    few,
    glm,
    kinds,
    no_counts_in_one_level,
    numbers,
    parameters_of,
    seeds,
)
from tests.models.reference import quiet

# ---- weights ----


@kinds
@few
@given(seed=seeds)
def test_weight_is_repetition_and_zero_is_absence(kind, seed):
    X, y = draw(kind, seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    weight[:2] = 1.0
    kept = np.repeat(np.arange(len(y)), weight.astype(int))
    with quiet(SeparationWarning):
        a, b = glm(kind).fit(X[kept], y[kept]), glm(kind).fit(X, y, sample_weight=weight)
    assume(a.verdict_.settled and a.verdict_.status != "no optimum")
    assert_same_fit(a, b)
    np.testing.assert_allclose(
        b.residuals("pearson")[np.repeat(np.arange(len(y)), weight.astype(int))],
        a.residuals("pearson"),
        atol=1e-6,
    )
    assert b.test(0).statistic == pytest.approx(a.test(0).statistic, rel=1e-6, abs=1e-9)


IMPOSSIBLE = {
    "binomial": [7.0, -1.0, 0.5],
    "probit": [7.0, 0.5],
    "cloglog": [-2.0],
    "poisson": [-3.0],
    "poisson sqrt": [-3.0],
    "gamma": [0.0, -1.0],
    "gamma log": [0.0, -1.0],
    "inverse gaussian": [0.0, -1.0],
    "negative binomial": [-2.0],
    "tweedie": [-1.0],
}


@pytest.mark.parametrize("kind, value", [(k, v) for k, values in IMPOSSIBLE.items() for v in values])
def test_an_absent_row_may_hold_an_impossible_response(kind, value):
    X, y = draw(kind)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    weight[[3, 11]] = 0.0
    wrong = y.copy()
    wrong[[3, 11]] = value
    a = glm(kind).fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    b = glm(kind).fit(X, wrong, sample_weight=weight)
    assert_same_fit(a, b)
    groups = np.arange(len(y)) % 9
    for which in ("HC0", "HC1", "HC2", "HC3", "cluster"):
        here = a.standard_errors(which, groups[weight > 0] if which == "cluster" else None)
        np.testing.assert_allclose(
            b.standard_errors(which, groups if which == "cluster" else None), here, rtol=1e-6
        )
    for method in ("wald", "lr", "score"):
        assert b.test(0, method).statistic == pytest.approx(a.test(0, method).statistic, rel=1e-6)
    assert b.score(X, wrong, weight) == pytest.approx(
        a.score(X[weight > 0], y[weight > 0], weight[weight > 0])
    )


@pytest.mark.parametrize("kind", FREE)
def test_a_precision_of_zero_is_absence_too(kind):
    X, y = draw(kind)
    precision = np.random.default_rng(0).exponential(size=len(y))
    precision[[3, 11]] = 0.0
    wrong = y.copy()
    if not kind.startswith("gaussian"):
        wrong[[3, 11]] = -1.0
    here = precision > 0
    a = glm(kind).fit(X[here], y[here], precision=precision[here])
    b = glm(kind).fit(X, wrong, precision=precision)
    assert_same_fit(a, b)
    np.testing.assert_allclose(b.standard_errors("HC3"), a.standard_errors("HC3"), rtol=1e-6)


def test_a_label_of_weight_zero_is_absent():
    X, y = draw("binomial")
    labels = np.array(["no", "yes"])[y.astype(int)].astype(object)
    labels[5] = "unknown"
    weight = (np.arange(80) != 5).astype(float)
    model = GeneralizedLinearModel("binomial").fit(X, labels, sample_weight=weight)
    assert model.classes_.tolist() == ["no", "yes"]
    plain = GeneralizedLinearModel("binomial").fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)


@pytest.mark.parametrize("kind", FREE)
@few
@given(seed=seeds, factor=st.sampled_from([2.0**-26, 0.5, 3.0, 2.0**26]))
def test_a_common_factor_of_the_precisions_changes_nothing_but_the_dispersion(kind, seed, factor):
    X, y = draw(kind, seed)
    precision = np.random.default_rng(seed).exponential(size=len(y)) + 0.1
    a, b = glm(kind).fit(X, y, precision=precision), glm(kind).fit(X, y, precision=factor * precision)
    assert_same_fit(a, b, numbers_too=False)
    assert b.dispersion_ == pytest.approx(factor * a.dispersion_, rel=1e-8)
    assert b.deviance_ == pytest.approx(factor * a.deviance_, rel=1e-8)
    assert b.df_residual_ == a.df_residual_ == 76


def test_a_precision_is_not_a_frequency():
    """Both weigh the row; only the frequency counts observations."""
    X, y = draw("gaussian")
    two = np.full(80, 2.0)
    often, fine = GeneralizedLinearModel().fit(X, y, two), GeneralizedLinearModel().fit(X, y, precision=two)
    np.testing.assert_allclose(often.coef_, fine.coef_, rtol=1e-12)
    assert (often.df_residual_, fine.df_residual_) == (156, 76)
    plain = GeneralizedLinearModel().fit(X, y)
    np.testing.assert_allclose(fine.standard_errors(), plain.standard_errors(), rtol=1e-10)
    np.testing.assert_allclose(
        often.standard_errors(), plain.standard_errors() * np.sqrt(76 / 156), rtol=1e-10
    )


# ---- storage and engines ----


@kinds
def test_the_way_rows_are_cut_does_not_matter(kind):
    X, y = draw(kind, n=140)
    weight = np.random.default_rng(0).integers(1, 3, 140).astype(float)
    groups = np.arange(140) % 11
    with engine("serial"):
        plain = glm(kind).fit(X, y, weight)
        robust = plain.standard_errors("HC1"), plain.standard_errors("cluster", groups)
    choices = [dict(kind="serial", blocks=7), dict(kind="threads", workers=2, blocks=5), dict(blocks=1)]
    for options in choices:
        with engine(**options):
            other = glm(kind).fit(X, y, weight)
            assert_same_fit(plain, other)
            np.testing.assert_allclose(other.standard_errors("HC1"), robust[0], rtol=1e-6)
            np.testing.assert_allclose(other.standard_errors("cluster", groups), robust[1], rtol=1e-6)
            np.testing.assert_allclose(other.residuals(), plain.residuals(), atol=1e-6)
            np.testing.assert_allclose(other.leverage(), plain.leverage(), atol=1e-8)


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "gamma", "probit"])
def test_storage_does_not_matter(kind, tmp_path):
    X, y = draw(kind, n=120)
    X = np.round(X * 16) / 16 * (np.abs(X) > 0.3)  # exact in float32, and with zeros to leave out
    plain = glm(kind).fit(X, y)
    path = tmp_path / "rows.dat"
    disk = np.memmap(path, dtype=float, mode="w+", shape=X.shape)
    disk[:] = X
    tables = [np.asfortranarray(X), X.astype(np.float32), disk, sp.csr_array(X), sp.csc_array(X), X.tolist()]
    for table in tables:
        other = glm(kind).fit(table, y)
        assert_same_fit(plain, other)
        np.testing.assert_allclose(other.predict(table), plain.predict(X), rtol=1e-6)
        np.testing.assert_allclose(other.standard_errors("HC3"), plain.standard_errors("HC3"), rtol=1e-6)
        np.testing.assert_allclose(
            other.confidence_intervals(method="profile"),
            plain.confidence_intervals(method="profile"),
            rtol=1e-5,
            atol=1e-7,
        )


@pytest.mark.parametrize("kind", ["gaussian", "poisson", "gamma", "binomial"])
def test_dask(kind):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X, y = draw(kind, n=120)
    weight = np.random.default_rng(0).integers(1, 3, 120).astype(float)
    plain = glm(kind).fit(X, y, weight)
    lazy = da.from_array(X, chunks=(50, 2))
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
    for table in (lazy, frame):
        model = glm(kind).fit(table, da.from_array(y, chunks=40), da.from_array(weight, chunks=60))
        assert_same_fit(plain, model)
        np.testing.assert_allclose(np.asarray(model.predict(table)), plain.predict(X), rtol=1e-8)
        np.testing.assert_allclose(model.standard_errors("HC0"), plain.standard_errors("HC0"), rtol=1e-7)
        np.testing.assert_allclose(model.cooks_distance(), plain.cooks_distance(), atol=1e-8)
        assert model.test(0).statistic == pytest.approx(plain.test(0).statistic, rel=1e-6)
        assert model.score(table, y) == pytest.approx(plain.score(X, y))
    names = anova(glm(kind).fit(lazy[:, :2], y, weight), glm(kind).fit(lazy, y, weight)).to_frame()
    direct = anova(glm(kind).fit(X[:, :2], y, weight), plain).to_frame()
    np.testing.assert_allclose(names.to_numpy(), direct.to_numpy(), rtol=1e-6)


def test_separated_counts_on_dask_and_sparse_rows():
    da = pytest.importorskip("dask.array")
    X, y = no_counts_in_one_level()
    for table in (X, sp.csr_array(X), da.from_array(X, chunks=(20, 2)), np.asfortranarray(X)):
        with pytest.warns(SeparationWarning):
            model = GeneralizedLinearModel("poisson").fit(table, y)
        assert model.coef_[1] == -np.inf and np.isfinite(model.coef_[0])


@kinds
def test_row_and_column_order_and_n_jobs(kind):
    X, y = draw(kind)
    plain = glm(kind).fit(X, y)
    rows, columns = np.random.default_rng(1).permutation(80), np.array([2, 0, 1])
    assert_same_fit(plain, glm(kind, n_jobs=1).fit(X[rows], y[rows]))
    assert_same_fit(plain, glm(kind, n_jobs=2).fit(X, y))
    moved = glm(kind).fit(X[:, columns], y)
    np.testing.assert_allclose(moved.coef_, plain.coef_[columns], rtol=1e-6)
    np.testing.assert_allclose(moved.standard_errors()[1:], plain.standard_errors()[1:][columns], rtol=1e-6)


# ---- units, origins, offsets ----


@kinds
@few
@given(
    seed=seeds,
    powers=st.lists(st.integers(-26, 26), min_size=3, max_size=3),
    shifts=st.lists(st.sampled_from([0, 1, -1000, 10**6]), min_size=3, max_size=3),
)
def test_units_and_origins_of_columns(kind, seed, powers, shifts):
    """x → a(x + b): weights and errors over a, tests, profile intervals and deviance unchanged."""
    X, y = draw(kind, seed)
    X = np.round(X * 64) / 64
    a = 2.0 ** np.array(powers)
    with quiet(SeparationWarning):
        plain, moved = glm(kind).fit(X, y), glm(kind).fit(a * (X + np.array(shifts, dtype=float)), y)
    assume(plain.verdict_.status in ("optimal", "stationary"))
    error = plain.standard_errors()[1:]
    np.testing.assert_allclose(moved.coef_ * a / error, plain.coef_ / error, atol=1e-5)
    np.testing.assert_allclose(moved.standard_errors()[1:] * a, error, rtol=1e-5)
    np.testing.assert_allclose(numbers(moved), numbers(plain), rtol=1e-7, atol=1e-9)
    for method in ("wald", "lr", "score"):
        here, there = plain.test([0, 2], method), moved.test([0, 2], method)
        assert there.statistic == pytest.approx(here.statistic, rel=1e-5, abs=1e-9)
    ends = plain.confidence_intervals(method="profile", columns=1)
    np.testing.assert_allclose(
        moved.confidence_intervals(method="profile", columns=1) * a[1] / error[1],
        ends / error[1],
        atol=1e-5,
    )


@pytest.mark.parametrize("kind", ["gaussian", "gaussian log", "gamma log", "inverse gaussian"])
@few
@given(seed=seeds, power=st.sampled_from([-100, -20, 7, 100]))
def test_units_of_the_response(kind, seed, power):
    X, y = draw(kind, seed)
    c = 2.0**power
    if kind == "inverse gaussian":
        plain, other = (GeneralizedLinearModel("inverse_gaussian", "log").fit(X, v) for v in (y, c * y))
    else:
        plain, other = glm(kind).fit(X, y), glm(kind).fit(X, c * y)
    error = plain.standard_errors()
    if kind == "gaussian":
        np.testing.assert_allclose(parameters_of(other) / c, parameters_of(plain), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(other.standard_errors() / c, error, rtol=1e-9)
    else:
        shift = np.append(np.log(c), np.zeros(3))
        np.testing.assert_allclose(
            parameters_of(other) - shift, parameters_of(plain), atol=1e-5 * error.min()
        )
        np.testing.assert_allclose(other.standard_errors(), error, rtol=1e-5)
    size = {"gaussian": c**2, "gaussian log": c**2, "gamma log": 1.0, "inverse gaussian": 1 / c}[kind]
    assert other.deviance_ == pytest.approx(size * plain.deviance_, rel=1e-8)
    assert other.null_deviance_ == pytest.approx(size * plain.null_deviance_, rel=1e-8)
    assert other.aic_ == pytest.approx(plain.aic_ + 2 * 80 * np.log(c), rel=1e-8)
    assert (other.verdict_.status, other.verdict_.unique) == (plain.verdict_.status, plain.verdict_.unique)
    assert other.test(0).p_value == pytest.approx(plain.test(0).p_value, rel=1e-5)


@kinds
@few
@given(seed=seeds)
def test_an_offset_is_a_column_with_coefficient_one(kind, seed):
    """Move a column into the offset with its own estimate taken off: the same fit, one parameter less."""
    X, y = draw(kind, seed)
    with quiet(SeparationWarning):
        whole = glm(kind).fit(X, y)
    assume(whole.verdict_.status in ("optimal", "stationary"))
    moved = glm(kind).fit(X[:, :2], y, offset=X[:, 2] * whole.coef_[2])
    error = whole.standard_errors()
    assert np.abs(parameters_of(moved) - parameters_of(whole)[:3]).max() < 1e-5 * error.max()
    assert moved.deviance_ == pytest.approx(whole.deviance_, rel=1e-8)
    # and with all three columns, an offset of one of them lowers its coefficient
    if kind not in ("gamma", "inverse gaussian", "poisson sqrt"):
        shifted = glm(kind).fit(X, y, offset=0.5 * X[:, 2])
        np.testing.assert_allclose(
            parameters_of(shifted) + np.array([0, 0, 0, 0.5]), parameters_of(whole), atol=1e-5 * error.max()
        )
        np.testing.assert_allclose(shifted.standard_errors(), error, rtol=1e-6)
        np.testing.assert_allclose(shifted.predict(X, 0.5 * X[:, 2]), whole.predict(X), rtol=1e-6)


@pytest.mark.parametrize("kind", ["poisson", "gamma log", "negative binomial", "tweedie", "gaussian log"])
def test_an_exposure_is_an_offset_of_its_logarithm(kind):
    X, y = draw(kind)
    years, shift = np.random.default_rng(0).uniform(0.5, 4, 80), np.random.default_rng(1).normal(0, 0.1, 80)
    a = glm(kind).fit(X, y, exposure=years, offset=shift)
    b = glm(kind).fit(X, y, offset=np.log(years) + shift)
    np.testing.assert_array_equal(parameters_of(a), parameters_of(b))
    np.testing.assert_allclose(
        a.predict(X, shift, exposure=years), a.predict(X) * years * np.exp(shift), rtol=1e-12
    )
    np.testing.assert_allclose(a.predict(X, kind="link"), np.log(a.predict(X)), atol=1e-12)
    assert a.score(X, y, None, shift, exposure=years) == pytest.approx(
        1 - a.deviance_ / a.null_deviance_, rel=1e-9
    )  # against a constant rate


def test_a_poisson_rate_is_a_poisson_of_precision():
    """y events in t years with log t as offset, or the rate y/t that stands there t times: one estimate."""
    X, y = draw("poisson")
    years = np.random.default_rng(0).integers(1, 5, 80).astype(float)
    by_offset = GeneralizedLinearModel("poisson").fit(X, y, exposure=years)
    by_weight = GeneralizedLinearModel("poisson").fit(X, y / years, sample_weight=years)
    np.testing.assert_allclose(by_weight.coef_, by_offset.coef_, rtol=1e-7)
    np.testing.assert_allclose(by_weight.standard_errors(), by_offset.standard_errors(), rtol=1e-7)
    assert by_weight.deviance_ == pytest.approx(by_offset.deviance_, rel=1e-8)


# ---- the binomial ----


@pytest.mark.parametrize("kind", ["binomial", "probit"])
@few
@given(seed=seeds)
def test_success_and_failure_change_places(kind, seed):
    X, y = draw(kind, seed)
    with quiet(SeparationWarning):
        a, b = glm(kind).fit(X, y), glm(kind).fit(X, 1 - y)
    assume(a.verdict_.status in ("optimal", "stationary"))
    np.testing.assert_allclose(parameters_of(b), -parameters_of(a), atol=1e-7)
    np.testing.assert_allclose(b.covariance_, a.covariance_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(numbers(b), numbers(a), rtol=1e-8)


@pytest.mark.parametrize("kind", ["binomial", "probit", "cloglog"])
@few
@given(seed=seeds)
def test_counts_are_proportions_are_single_trials(kind, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (25, 2))
    trials = rng.integers(1, 7, 25)
    mu = link_of(KINDS[kind][1]).inverse(0.2 + X @ [1.0, -1.0])
    wins = rng.binomial(trials, mu)
    wins[:2], trials[:2] = 1, 3
    counts = glm(kind).fit(X, np.column_stack([wins, trials - wins]))
    shares = glm(kind).fit(X, wins / trials, precision=trials)
    rows = np.repeat(np.arange(25), trials)
    ones = np.concatenate([[1.0] * w + [0.0] * (t - w) for w, t in zip(wins, trials)])
    single = glm(kind).fit(X[rows], ones)
    assert_same_fit(counts, shares)
    np.testing.assert_allclose(parameters_of(single), parameters_of(counts), atol=1e-7)
    np.testing.assert_allclose(single.standard_errors(), counts.standard_errors(), rtol=1e-6)
    # deviances differ by what the grouping says, so their differences do not
    assert single.null_deviance_ - single.deviance_ == pytest.approx(
        counts.null_deviance_ - counts.deviance_, rel=1e-7
    )
    for method in ("wald", "lr", "score"):
        assert single.test(0, method).statistic == pytest.approx(
            counts.test(0, method).statistic, rel=1e-6, abs=1e-9
        )
    np.testing.assert_allclose(
        single.confidence_intervals(method="profile"),
        counts.confidence_intervals(method="profile"),
        atol=1e-6,
    )
    assert counts.df_residual_ == 25 - 3 and single.df_residual_ == trials.sum() - 3


@few
@given(seed=seeds)
def test_zeros_and_ones_under_the_logit_are_logistic_regression(seed):
    X, y = draw("binomial", seed)
    weight = np.random.default_rng(seed).exponential(size=80) + 0.1
    with quiet(SeparationWarning):
        a = GeneralizedLinearModel("binomial").fit(X, y, weight)
        b = LogisticRegression(C=np.inf).fit(X, y.astype(int), weight)
    assume(a.verdict_.status == "optimal")
    np.testing.assert_allclose(b.coef_[0], a.coef_, atol=1e-8)
    np.testing.assert_allclose(b.covariance_, a.covariance_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(a.predict(X), b.predict_proba(X)[:, 1], atol=1e-9)
    for name in ("deviance_", "null_deviance_", "aic_", "bic_", "log_likelihood_", "df_residual_"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-9)
    np.testing.assert_allclose(a.residuals(), b.residuals(), atol=1e-8)


def test_labels_are_read_and_remembered():
    X, y = draw("binomial")
    for labels in (["no", "yes"], [b"a", b"b"], ["1", "2"]):
        named = np.array(labels)[y.astype(int)]
        model = GeneralizedLinearModel("binomial").fit(X, named)
        assert model.classes_.tolist() == labels
        assert any(f"{labels[1]!r} counts as success" in f for f in model.verdict_.findings)
        np.testing.assert_array_equal(model.coef_, GeneralizedLinearModel("binomial").fit(X, y).coef_)
        assert model.score(X, named) == pytest.approx(
            GeneralizedLinearModel("binomial").fit(X, y).score(X, y)
        )
        only = named == labels[1]
        assert np.isfinite(model.score(X[only], named[only]))  # one label of the two is legal later
        assert verify(model, X, named).status == "optimal"
    model.fit(X, y)
    assert not hasattr(model, "classes_")
