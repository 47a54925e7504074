"""inference/mixin.py: columns by name, what is kept of a fit and noticed of its rows, what has no inference."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import GeneralizedLinearModel, LogisticRegression, anova
from tests.inference.direct import draw, glm

# ---- tests ----


def test_columns_by_name_index_and_list():
    pd = pytest.importorskip("pandas")
    X, y = draw("poisson")
    model = glm("poisson").fit(pd.DataFrame(X, columns=["age", "dose"]), y)
    one = model.test("dose")
    assert one == model.test(1) == model.test(-1) == model.test(["dose"]) == model.test([np.int64(1)])
    assert str(one).startswith("likelihood ratio test of dose = 0: χ² = ")
    np.testing.assert_array_equal(
        model.confidence_intervals(columns=["dose", "age"]), model.confidence_intervals()[[2, 1]]
    )
    np.testing.assert_array_equal(
        model.confidence_intervals(columns="(Intercept)"), model.confidence_intervals()[[0]]
    )


# ---- what is kept ----


def test_rows_changed_after_the_fit_are_noticed():
    """The rows are kept by reference: errors of other rows would be errors of another fit."""
    for make in (lambda: glm("poisson"), lambda: glm("gamma"), lambda: glm("gaussian"),
                 lambda: LogisticRegression(C=np.inf)):  # fmt: skip
        X, y = draw("poisson")
        y = (y > 1) + 1 if not isinstance(make(), LogisticRegression) else (y > 1).astype(int)
        asks = (
            lambda m: m.residuals(),
            lambda m: m.leverage(),
            lambda m: m.test(0),
            lambda m: m.covariance("HC0"),
            lambda m: m.confidence_intervals(method="profile"),
        )
        for warm in (True, False):
            for ask in asks:
                kept = X.copy()
                model = make().fit(kept, y)
                if warm:
                    model.summary()
                kept *= 1.5
                with pytest.raises(ValueError, match="changed in place"):
                    ask(model)


def test_a_summary_is_of_the_rows_of_the_fit():
    """Changed rows may be noticed, but must not change the errors in silence."""
    for make in (lambda: glm("poisson"), lambda: glm("gamma"), lambda: LogisticRegression(C=np.inf)):
        X, y = draw("poisson")
        y = (y > 1) + 1 if not isinstance(make(), LogisticRegression) else (y > 1).astype(int)
        expected = make().fit(X.copy(), y).standard_errors()
        model = make().fit(X, y)
        X *= 1.5
        try:
            found = model.standard_errors()
        except ValueError as refusal:
            found = expected if "changed" in str(refusal) else None
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_responses_and_weights_are_the_models_own():
    X, y = draw("poisson")
    weight, shift = np.full(70, 2.0), np.linspace(0, 1, 70)
    model = glm("poisson").fit(X, y, weight, shift)
    before = model.residuals().copy(), model.standard_errors("HC0")
    given = y, weight, shift
    for array in given:
        array *= 3.0
    np.testing.assert_array_equal(model.residuals(), before[0])
    np.testing.assert_allclose(model.standard_errors("HC0"), before[1])


@pytest.mark.parametrize(
    "model",
    [GeneralizedLinearModel("poisson", alpha=0.1), LogisticRegression(), LogisticRegression(C=10.0),
     GeneralizedLinearModel(alpha=1e-6)],
    ids=str,
)  # fmt: skip
def test_a_penalised_fit_has_no_errors_and_says_why(model):
    X, y = draw("poisson")
    model.fit(X, (y > 1).astype(int))
    asks = (
        model.summary,
        model.covariance,
        model.standard_errors,
        model.confidence_intervals,
        lambda: model.test(0),
        model.residuals,
        model.leverage,
        lambda: anova(model),
    )
    for ask in asks:
        with pytest.raises(ValueError, match="BayesianLogisticRegression"):
            ask()
    for name in ("covariance_", "aic_", "bic_", "dispersion_", "df_residual_"):
        assert not hasattr(model, name), name
    with pytest.raises(AttributeError, match="a penalty moves the estimates"):
        _ = model.covariance_


def test_class_weights_have_no_likelihood():
    X, y = draw("poisson")
    model = LogisticRegression(C=np.inf, class_weight="balanced").fit(X, (y > 1).astype(int))
    with pytest.raises(ValueError, match="class_weight=None"):
        model.summary()
    assert not hasattr(model, "covariance_")


@pytest.mark.parametrize("make", [GeneralizedLinearModel, lambda: LogisticRegression(C=np.inf)])
def test_before_fit(make):
    for name in ("summary", "covariance", "standard_errors", "confidence_intervals", "residuals", "leverage",
                 "cooks_distance"):  # fmt: skip
        with pytest.raises(Exception, match="not fitted yet"):
            getattr(make(), name)()
    with pytest.raises(Exception, match="not fitted yet"):
        make().test(0)
    assert not hasattr(make(), "covariance_") and not hasattr(make(), "deviance_")


def test_a_refit_forgets_the_last_one():
    X, y = draw("poisson")
    y = (y > 1).astype(int)
    model = LogisticRegression(C=np.inf).fit(X, y)
    model.summary()
    model.set_params(C=1.0).fit(X, y)
    with pytest.raises(ValueError, match="penalty"):
        model.summary()
    model.set_params(C=np.inf).fit(X[:40], y[:40])
    fresh = LogisticRegression(C=np.inf).fit(X[:40], y[:40])
    assert model.summary().to_frame().equals(fresh.summary().to_frame())
