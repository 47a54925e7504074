"""models/linear/anova.py: drops of the deviance between nested models, term by term and model by model."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import optimize, stats

from separatrix import LeastSquaresClassifier, LogisticRegression, anova
from tests.inference.direct import FREE, draw, firth_objective, glm, kinds
from tests.models.linear.small import BINARY, COUNTS, G, X

# ---- Firth ----


def test_anova_of_firths_models():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] > 0).astype(int)
    large = LogisticRegression(penalty="firth").fit(X, y)
    table = anova(large).to_frame()
    np.testing.assert_allclose(table["LR"].iloc[2], large.test(1).statistic, rtol=1e-5)
    # a smaller model has a smaller information matrix, so its penalised likelihood is another one: terms are
    # tested inside the largest
    F = firth_objective("logit", np.column_stack([np.ones(40), X]), y.astype(float))
    best = optimize.minimize(F, [0, 1.0, 0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13})
    null = optimize.minimize_scalar(lambda c: F(np.array([c, 0.0, 0.0])), bracket=(-1, 1), tol=1e-12)
    one = optimize.minimize(
        lambda b: F(np.append(b, 0.0)),
        best.x[:2],
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13},
    )
    assert table["LR"].iloc[1] == pytest.approx(2 * (null.fun - one.fun), abs=1e-4)
    with pytest.raises(ValueError, match="Firth's penalty and the other has not"):
        anova(LogisticRegression(C=np.inf).fit(X[:, 1:], y), large)


# ---- anova ----


@kinds
def test_anova_between_models(kind):
    X, y = draw(kind, 4, n=90, p=3)
    models = [glm(kind).fit(X[:, : k + 1], y) for k in range(3)]
    shuffled = anova(models[2], models[0], models[1])
    table = shuffled.to_frame()
    assert len(table) == 3 and [name[:2] for name in table.index] == ["1:", "2:", "3:"]
    np.testing.assert_allclose(table["resid_dev"], [m.deviance_ for m in models], rtol=1e-9)
    np.testing.assert_allclose(table["resid_df"], [88, 87, 86])
    drop = -np.diff([m.deviance_ for m in models])
    np.testing.assert_allclose(table["deviance"].iloc[1:], drop, rtol=1e-6, atol=1e-9)
    if kind in FREE:
        F = drop / models[2].dispersion_
        np.testing.assert_allclose(table["F"].iloc[1:], F, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(table["p"].iloc[1:], stats.f.sf(F, 1, 86), rtol=1e-6)
    else:
        np.testing.assert_allclose(table["LR"].iloc[1:], drop, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(table["p"].iloc[1:], stats.chi2.sf(drop, 1), rtol=1e-6)
    # one model, term by term: the same lines
    alone = anova(models[2]).to_frame()
    assert list(alone.index) == ["NULL", "x0", "x1", "x2"]
    np.testing.assert_allclose(alone["resid_dev"].iloc[1:], [m.deviance_ for m in models], rtol=1e-7)
    assert alone["resid_dev"].iloc[0] == pytest.approx(models[2].null_deviance_, rel=1e-7)
    np.testing.assert_allclose(alone["p"].iloc[2:], table["p"].iloc[1:], rtol=1e-4)
    for test in ("wald", "score"):
        found = anova(models[1], models[2], test=test).to_frame()
        column = {"wald": "Wald", "score": "score"}[test]
        by_name = models[2].test("x2", test)
        assert found[column].iloc[1] == pytest.approx(by_name.statistic, rel=1e-8)
        assert found["p"].iloc[1] == pytest.approx(by_name.p_value, rel=1e-8)


def test_anova_of_columns_that_are_combinations():
    """Nested by span, not by name: x₀ + x₁ is inside [x₀, x₁]."""
    X, y = draw("poisson", 5, n=90, p=3)
    small = glm("poisson").fit((X[:, 0] + X[:, 1])[:, None], y)
    large = glm("poisson").fit(X, y)
    table = anova(small, large).to_frame()
    assert table["LR"].iloc[1] == pytest.approx(small.deviance_ - large.deviance_, rel=1e-6)
    assert table["df"].iloc[1] == 2
    with pytest.raises(ValueError, match="by name"):  # both have an x0, and they are not the same column
        anova(small, large, test="wald")
    without = glm("poisson", fit_intercept=False).fit(X[:, :1], y)
    assert anova(without, glm("poisson").fit(X[:, :1], y)).to_frame()["df"].iloc[1] == 1


def test_anova_prints():
    X, y = draw("gaussian", 4, n=90, p=3)
    summary = anova(glm("gaussian").fit(X[:, :1], y), glm("gaussian").fit(X, y))
    assert "Analysis of deviance" in str(summary) and "dispersion" in str(summary)
    assert "<table" in summary.to_html() and "tabular" in summary.to_latex()


# ---- bad questions ----


def fitted(columns, y=COUNTS, family="poisson", **options):
    return G(family, **options).fit(X[:, columns], y)


@pytest.mark.parametrize(
    "models, match",
    [
        (lambda: (), "anova needs a fitted model"),
        (lambda: (fitted([0]), fitted([1])), "not nested: both have 2 parameters"),
        (lambda: (fitted([0]), fitted([1, 2])), "not nested: column 'x0' of the smaller is no combination"),
        (lambda: (fitted([0]), G("poisson").fit(X[:20, :2], COUNTS[:20])), "different rows: 30 and 20"),
        (lambda: (fitted([0]), fitted([0, 1], COUNTS[::-1])), "different rows: their responses differ"),
        (lambda: (fitted([0]), G("poisson").fit(X[:, :2], COUNTS, np.full(30, 2.0))), "their weights differ"),
        (lambda: (fitted([0]), G("poisson").fit(X[:, :2], COUNTS, offset=X[:, 2])), "their offsets differ"),
        (
            lambda: (fitted([0], family="gaussian"), G().fit(X[:, :2], COUNTS, precision=np.full(30, 2.0))),
            "their precisions differ",
        ),
        (lambda: (fitted([0]), fitted([0, 1], family="gaussian")), "differ in family, link or classes"),
        (lambda: (fitted([0], link="sqrt"), fitted([0, 1])), "differ in family, link or classes"),
        (lambda: (fitted([0], alpha=0.1), fitted([0, 1])), "a penalty moves the estimates"),
        (lambda: (fitted([0]), fitted([0, 1], penalty="firth")), "Firth's penalty and the other has not"),
        (lambda: (fitted([0]), fitted([0, 1], fit_intercept=False)), "not nested"),
        (lambda: (fitted([0]), fitted([0, 1, 2], fit_intercept=False)), "smaller has an intercept and the larger"),
    ],
)  # fmt: skip
def test_models_that_cannot_be_compared(models, match):
    with pytest.raises(ValueError, match=match):
        anova(*models())


def test_anova_of_other_things():
    with pytest.raises(TypeError, match="LeastSquaresClassifier is none"):
        anova(LeastSquaresClassifier().fit(X, BINARY.astype(int)))
    with pytest.raises(TypeError, match="likelihood models"):
        anova("model")
    with pytest.raises(Exception, match="not fitted yet"):
        anova(G())
    with pytest.raises(ValueError, match="test 'F' is unknown"):
        anova(fitted([0]), fitted([0, 1]), test="F")
    with pytest.raises(ValueError, match='one model is taken apart by test="lr" only'):
        anova(fitted([0, 1]), test="wald")
    with pytest.raises(ValueError, match=r"'x0' is aliased|aliased"):
        anova(G("poisson").fit(X[:, [0, 0, 1]], COUNTS))
    with pytest.raises(ValueError, match="by name"):
        anova(fitted([1]), G("poisson").fit(X[:, [1, 1, 0]], COUNTS), test="wald")


def test_anova_after_a_copy():

    model = pickle.loads(pickle.dumps(fitted([0, 1])))
    with pytest.raises(ValueError, match="does not carry them"):
        anova(model)
    with pytest.raises(ValueError, match="does not carry them"):
        anova(fitted([0]), model)
