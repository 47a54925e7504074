"""Bad input to generalised linear models: a sentence that names the culprit and the way out.

Every refusal of a fit comes before the first evaluation of an objective.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix.core.responses import NegativeBinomial, Poisson
from tests.models.linear.small import BINARY, COUNTS, POSITIVE, G, X


@pytest.fixture
def no_work(monkeypatch):
    from separatrix.problems.objective import Objective

    def refuse(*_args, **_kwargs):
        raise AssertionError("work started before the input was refused")

    monkeypatch.setattr(Objective, "evaluate", refuse)


def with_value(y, value, row=17):
    y = np.array(y, dtype=float)
    y[row] = value
    return y


# ---- parameters ----


PARAMETERS = [
    (dict(family="weibull"), "unknown response 'weibull': give one of gaussian.*poisson"),
    (dict(family=None), "unknown response None"),
    (dict(family=7), "unknown response 7"),
    (dict(link="loglog"), "unknown link 'loglog': give one of identity"),
    (dict(family="binomial", link="inverse"), "binomial response does not take the inverse link: give one of logit"),
    (dict(family="poisson", link="logit"), "poisson response does not take the logit link"),
    (dict(family="gamma", link="probit"), "gamma response does not take the probit link"),
    (dict(family="negative_binomial", size="estimate"), "size must be a number, got 'estimate'"),
    (dict(family="negative_binomial", size=0), "size of a negative binomial must be a positive number"),
    (dict(family="negative_binomial", size=-1.0), "size of a negative binomial must be a positive number"),
    (dict(family="negative_binomial", size=np.nan), "size of a negative binomial must be a positive number"),
    (dict(family="negative_binomial", size="two"), "size must be a number, got 'two'"),
    (dict(family="negative_binomial", size=True), "size must be a number"),
    (dict(family="negative_binomial", power=1.5), "takes size, not power"),
    (dict(family="poisson", size=2.0), "poisson response takes no parameter, not size"),
    (dict(family="gaussian", power=1.5), "gaussian response takes no parameter, not power"),
    (dict(family="tweedie", power=0.5), "no Tweedie law of power 0.5"),
    (dict(family="tweedie", power=-1.0), "no Tweedie law of power -1"),
    (dict(family="tweedie", power=np.nan), "no Tweedie law of power nan"),
    (dict(family="tweedie", size=1.0), "takes power, not size"),
    (dict(family=NegativeBinomial(2.0), size=3.0), "has its parameters"),
    (dict(alpha=-1.0), "alpha must be zero or positive, got -1.0"),
    (dict(alpha=np.nan), "alpha must be zero or positive"),
    (dict(alpha=np.inf), "alpha must be zero or positive"),
    (dict(alpha="big"), "alpha must be zero or positive, got 'big'"),
    (dict(alpha=None), "alpha must be zero or positive, got None"),
    (dict(penalty="l1"), "penalty 'l1' is unknown.*firth.*a ridge is alpha"),
    (dict(penalty="l2"), "penalty 'l2' is unknown"),
    (dict(family="binomial", penalty="firth", alpha=0.1), "two penalties: choose one"),
    (dict(tol=0.0), "tol must be a positive number, got 0.0"),
    (dict(tol=-1e-3), "tol must be a positive number"),
    (dict(tol="small"), "tol must be a positive number"),
    (dict(max_iter=0), "max_iter must be a whole number of at least 1, got 0"),
    (dict(max_iter=2.5), "max_iter must be a whole number"),
    (dict(max_iter=True), "max_iter must be a whole number"),
    (dict(n_jobs=0), "n_jobs must be None or a whole number other than 0"),
    (dict(n_jobs=1.5), "n_jobs must be None or a whole number"),
]  # fmt: skip


@pytest.mark.parametrize("parameters, match", PARAMETERS, ids=[str(p) for p, _ in PARAMETERS])
def test_parameters(parameters, match, no_work):
    model = G(**parameters)  # nothing is checked before fit
    with pytest.raises(ValueError, match=match):
        model.fit(X, BINARY)


@pytest.mark.parametrize(
    "family, link", [("gaussian", None), ("gamma", "log"), ("poisson", "sqrt"), ("binomial", "log"),
                     ("tweedie", None)],
)  # fmt: skip
def test_firth_is_for_binomial_and_poisson_models(family, link, no_work):
    with pytest.raises(
        ValueError, match=r"not offered for the \w+ response under the \w+ link: use binomial"
    ):
        G(family, link, penalty="firth").fit(X, BINARY + (family == "gamma"))


# ---- responses ----


OUTSIDE = [
    ("poisson", None, -1.0, COUNTS, "y is -1 in row 17; the poisson family takes a number of 0 or more: choose"),
    ("gamma", "log", 0.0, POSITIVE, "y is 0 in row 17; the gamma family takes a number above 0: use family="),
    ("gamma", "log", -2.0, POSITIVE, "y is -2 in row 17; the gamma family"),
    ("inverse_gaussian", "log", 0.0, POSITIVE, "y is 0 in row 17; the inverse_gaussian family.*leave those rows out"),
    ("tweedie", None, -0.5, POSITIVE, "y is -0.5 in row 17; the tweedie family takes a number of 0 or more"),
    ("binomial", None, 2.0, BINARY, "y is 2 in row 17; the binomial family takes a number from 0 to 1: give 0 and 1"),
    ("binomial", None, -0.1, BINARY, "y is -0.1 in row 17; the binomial family"),
    ("exponential", "log", 0.0, POSITIVE, "y is 0 in row 17"),
]  # fmt: skip


@pytest.mark.parametrize("family, link, value, y, match", OUTSIDE)
def test_a_response_outside_the_support_is_named_by_its_row(family, link, value, y, match, no_work):
    with pytest.raises(ValueError, match=match):
        G(family, link).fit(X, with_value(y, value))


def test_a_tweedie_above_two_takes_no_zero(no_work):
    with pytest.raises(ValueError, match="row 17; the tweedie family takes a number above 0"):
        G("tweedie", power=2.5).fit(X, with_value(POSITIVE, 0.0))


def test_many_responses_outside_are_counted(no_work):
    y = COUNTS.copy()
    y[[4, 9, 20]] = -1.0
    with pytest.raises(ValueError, match=r"y is -1 in row 4 \(3 such rows\)"):
        G("poisson").fit(X, y)


@pytest.mark.parametrize("family", ["gaussian", "poisson", "binomial", "gamma"])
@pytest.mark.parametrize("value, word", [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_a_response_that_is_not_finite(family, value, word, no_work):
    y = with_value(BINARY + (family == "gamma"), value)
    with pytest.raises(ValueError, match=f"Input y contains {word}: row 17; drop rows"):
        G(family).fit(X, y)


@pytest.mark.parametrize(
    "y, match",
    [
        (None, "y is None"),
        (COUNTS[:29], "X has 30 rows, y has 29 responses"),
        (np.zeros((30, 3)), r"1d array, one response a row; got an array of shape \(30, 3\)"),
        (np.zeros((30, 2)), "only the binomial family reads"),
        (np.zeros((30, 2, 2)), r"got an array of shape \(30, 2, 2\)"),
        (3.0, "1d array"),
        (["a"] * 30, "y must be numbers for the poisson family"),
        (np.full(30, 1j), "Complex data not supported"),
        (np.array(["2020-01-01"] * 30, dtype="datetime64[D]"), "numbers"),
        ([], "X has 30 rows, y has 0 responses"),
    ],
    ids=[
        "none",
        "short",
        "three columns",
        "two columns",
        "3D",
        "scalar",
        "strings",
        "complex",
        "dates",
        "empty",
    ],
)
def test_responses_of_a_wrong_shape_or_type(y, match, no_work):
    with pytest.raises(ValueError, match=match):
        G("poisson").fit(X, y)


def test_a_column_of_responses_warns():
    from sklearn.exceptions import DataConversionWarning

    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = G("poisson").fit(X, COUNTS[:, None])
    np.testing.assert_array_equal(model.coef_, G("poisson").fit(X, COUNTS).coef_)


# ---- the binomial's many forms ----


def test_labels(no_work):
    with pytest.raises(
        ValueError, match=r"y has 3 labels, and a binomial response has two.*LogisticRegression"
    ):
        G("binomial").fit(X, ["a", "b", "c"] * 10)
    with pytest.raises(ValueError, match="y has 1 labels"):
        G("binomial").fit(X, ["a"] * 30)
    with pytest.raises(ValueError, match=r"missing|None|no label"):
        G("binomial").fit(X, ["a", "b", None] * 10)


def test_a_label_that_was_not_seen(monkeypatch):
    model = G("binomial").fit(X, np.where(BINARY == 1, "yes", "no"))
    with pytest.raises(
        ValueError, match=r"label 'maybe' was not seen in training: the labels are \['no', 'yes'\]"
    ):
        model.score(X, ["yes", "no", "maybe"] * 10)


def test_counts(no_work):
    table = np.column_stack([COUNTS, COUNTS + 1])
    with pytest.raises(ValueError, match="y of two columns holds the trials already: leave precision out"):
        G("binomial").fit(X, table, precision=np.full(30, 5))
    wrong = table.copy()
    wrong[17, 1] = -1
    with pytest.raises(ValueError, match=r"must not be negative: row 17"):
        G("binomial").fit(X, wrong)
    with pytest.raises(ValueError, match="y counts no trial in any row"):
        G("binomial").fit(X, np.zeros((30, 2)))
    wrong = table.copy()
    wrong[17, 1] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN: row 17"):
        G("binomial").fit(X, wrong)
    with pytest.raises(ValueError, match="X has 30 rows, y has 29"):
        G("binomial").fit(X, table[:29])


def test_a_row_without_trials_is_absent():
    table = np.column_stack([COUNTS, COUNTS[::-1] + 1])
    table[17] = 0
    here = np.arange(30) != 17
    a, b = G("binomial").fit(X, table), G("binomial").fit(X[here], table[here])
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8)
    assert a.df_residual_ == b.df_residual_ == 25
    np.testing.assert_allclose(a.standard_errors("HC3"), b.standard_errors("HC3"), rtol=1e-7)


def test_proportions_without_trials_are_said():
    y = 0.1 + 0.8 * BINARY
    model = G("binomial").fit(X, y)
    assert any("without their trials" in f and "precision=trials" in f for f in model.verdict_.findings)
    model = G("binomial").fit(X, y, precision=np.full(30, 7.0))
    assert any("no whole number of successes (row 0, 30 such rows)" in f for f in model.verdict_.findings)
    model = G("binomial").fit(X, y, precision=np.full(30, 10.0))
    assert not any("response" in f for f in model.verdict_.findings)


# ---- offsets, exposures, weights, precisions ----


@pytest.mark.parametrize("name", ["offset", "exposure", "precision"])
@pytest.mark.parametrize(
    "value, match",
    [
        (np.ones(29), "must have one number a row, 30 in all, got shape"),
        (np.ones((30, 1)), "must have one number a row, 30 in all"),
        (["a"] * 30, "must be numbers"),
        (with_value(np.ones(30), np.nan), "must be finite: row 17 has nan"),
        (with_value(np.ones(30), np.inf), "must be finite: row 17 has inf"),
    ],
    ids=["short", "column", "strings", "NaN", "infinite"],
)
def test_vectors_beside_the_rows(name, value, match, no_work):
    with pytest.raises(ValueError, match=f"{name} {match}"):
        G("gamma", "log").fit(X, POSITIVE, **{name: value})


def test_exposure(no_work):
    for value in (0.0, -1.0):
        with pytest.raises(ValueError, match=rf"exposure must be positive: row 17 has {value:g}; drop rows"):
            G("poisson").fit(X, COUNTS, exposure=with_value(np.ones(30), value))
    with pytest.raises(ValueError, match=r"under the log link, and the link is sqrt: use offset="):
        G("poisson", "sqrt").fit(X, COUNTS, exposure=np.ones(30))
    with pytest.raises(ValueError, match="the link is logit"):
        G("binomial").fit(X, BINARY, exposure=np.ones(30))


def test_an_absent_row_needs_no_exposure():
    """Weight zero is absence: what the row was exposed to does not matter."""
    weight = with_value(np.ones(30), 0.0)
    model = G("poisson").fit(X, COUNTS, weight, exposure=np.ones(30))
    for wild in (1e-300, 1e300):
        other = G("poisson").fit(X, COUNTS, weight, exposure=with_value(np.ones(30), wild))
        np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-7)
        assert other.null_deviance_ == pytest.approx(model.null_deviance_)


@pytest.mark.parametrize("family", [Poisson(), "poisson", NegativeBinomial(1.0)])
def test_a_precision_for_a_known_dispersion(family, no_work):
    with pytest.raises(ValueError, match=r"has no φ to divide: give sample_weight.*exposure"):
        G(family).fit(X, COUNTS, precision=np.ones(30))


def test_precisions(no_work):
    with pytest.raises(ValueError, match="precision must not be negative: row 17 has -1"):
        G().fit(X, COUNTS, precision=with_value(np.ones(30), -1.0))
    with pytest.raises(ValueError, match="precision is zero in every row"):
        G().fit(X, COUNTS, precision=np.zeros(30))


@pytest.mark.parametrize(
    "weight, match",
    [
        (np.ones(29), "expected .*30"),
        (with_value(np.ones(30), -1.0), "not negative: row 17 has weight -1"),
        (with_value(np.ones(30), np.nan), "row 17 has weight nan"),
        (np.zeros(30), "zero in every row"),
        (["a"] * 30, "must be numbers"),
        (np.ones((30, 2)), "1D array"),
    ],
)
def test_weights(weight, match, no_work):
    with pytest.raises(ValueError, match=match):
        G("poisson").fit(X, COUNTS, weight)


def test_weights_and_precisions_that_cancel_each_other(no_work):
    """Each leaves something, together they leave no row."""
    half = (np.arange(30) < 15).astype(float)
    with pytest.raises(ValueError, match=r"nothing is left|zero in every row"):
        G().fit(X, COUNTS, half, precision=1 - half)


def test_scalars_are_spread():
    a = G("poisson").fit(X, COUNTS, offset=0.5)
    b = G("poisson").fit(X, COUNTS, offset=np.full(30, 0.5))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert G("poisson").fit(X, COUNTS, 2.0).df_residual_ == 56
    np.testing.assert_allclose(a.predict(X, 0.5), b.predict(X, np.full(30, 0.5)))


# ---- means a link does not reach ----


def test_means_that_the_link_does_not_reach(no_work):
    with pytest.raises(ValueError, match=r"mean of y is -2.*log link does not reach"):
        G("gaussian", "log").fit(X, np.full(30, -2.0) + 1e-3 * COUNTS * 0)
    with pytest.raises(ValueError, match=r"mean of y is .*logit link does not reach"):
        G("gaussian", "logit").fit(X, COUNTS + 5)


def test_no_weights_inside_the_range():
    with pytest.raises(ValueError, match=r"range of the inverse link: add an intercept"):
        G("gamma", "inverse", fit_intercept=False).fit(X, POSITIVE)


def test_an_offset_beside_a_restricted_link_with_an_intercept():
    """A large enough intercept always lies inside: there is no reason to ask for one."""
    rng = np.random.default_rng(0)
    shift = rng.uniform(-0.9, 0.9, 30)
    for family, link in (
        ("gamma", "inverse"),
        ("inverse_gaussian", "inverse_squared"),
        ("poisson", "identity"),
    ):
        y = rng.gamma(3.0, 1.0, 30) * 5
        model = G(family, link).fit(X, y, offset=shift)
        assert model.verdict_.settled and np.isfinite(model.coef_).all()


# ---- tables ----


@pytest.mark.parametrize("kind", [np.asarray, np.float32, sp.csr_array])
@pytest.mark.parametrize("value, word", [(np.nan, "NaN"), (np.inf, "infinity")])
def test_a_cell_that_is_not_finite_is_named(kind, value, word, no_work):
    broken = X.copy()
    broken[17, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains {word}: column 1, row 17"):
        G("poisson").fit(kind(broken), COUNTS)


def test_prediction():
    model = G("poisson").fit(X, COUNTS, exposure=np.ones(30))
    with pytest.raises(ValueError, match=r"X has 2 features.*expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match='kind \'response\' is unknown: use "mean" or "link"'):
        model.predict(X, kind="response")
    with pytest.raises(ValueError, match="offset must have one number a row, 30 in all"):
        model.predict(X, np.ones(3))
    with pytest.raises(ValueError, match="exposure must be positive"):
        model.predict(X, exposure=np.zeros(30))
    broken = X.copy()
    broken[17, 1] = np.nan
    with pytest.raises(ValueError, match="column 1, row 17"):
        model.predict(broken)
    with pytest.raises(ValueError, match="under the log link"):
        G().fit(X, COUNTS).predict(X, exposure=np.ones(30))
    with pytest.raises(Exception, match="not fitted yet"):
        G().predict(X)
    with pytest.raises(Exception, match="not fitted yet"):
        G().score(X, COUNTS)


def test_prediction_beside_dask_rows():
    da = pytest.importorskip("dask.array")
    model = G("poisson").fit(X, COUNTS)
    with pytest.raises(ValueError, match=r"X\.compute\(\) first"):
        model.predict(da.from_array(X, chunks=(10, 3)), np.ones(30))


def test_columns_of_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = G("poisson").fit(frame, COUNTS)
    with pytest.raises(ValueError, match="order"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match=r"column 'word' is.*encode"):
        G("poisson").fit(frame.assign(word="x"), COUNTS)
    with pytest.raises(ValueError, match="column 'zip' is categorical"):
        G("poisson").fit(frame.assign(zip=pd.Categorical([1, 2, 3] * 10)), COUNTS)


def test_columns_of_one_name():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="'a'"):
        G("poisson").fit(pd.DataFrame(X, columns=["a", "a", "b"]), COUNTS)
