"""Minima under Jeffreys' prior: brglm2's, those by hand, and those of separated rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from scipy import optimize

from benchmarks import shared
from separatrix.core.losses import Logistic, Multinomial
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.firth import FirthObjective
from tests.problems.firth_cases import (
    LOSSES,
    by_definition,
    estimate,
    minimum,
    needs_shared,
    problem,
    quick,
    seeds,
)

# brglm2 0.9, R 4.2:  for (link in c("logit", "probit", "cloglog"))
#   coef(glm(HG ~ NV + PI + EH, binomial(link), endometrial, method = "brglmFit",
#            control = list(type = "MPL_Jeffreys", epsilon = 1e-12, maxit = 10000)))
# type = "AS_mean" gives the same under the logit. Standard errors: sqrt(diag(vcov(…))).
ENDOMETRIAL = {
    "logit": [3.7745597136470286, 2.9292733531970940, -0.0347517598704338, -2.6041639252936548],
    "probit": [1.9582556221703711, 1.7425826388607055, -0.0157374342562291, -1.4048914395957188],
    "cloglog": [3.0862435012837826, 1.7129292890189731, -0.0348507527819512, -2.2922404795159008],
}


ENDOMETRIAL_ERRORS = {
    "logit": [1.4886916634356548, 1.5507637294530388, 0.0395781473477631, 0.7760176425015610],
    "probit": [0.7982793228643198, 0.7908727547459209, 0.0212325652099415, 0.4080710974632797],
    "cloglog": [1.1178994896604637, 0.8085264538473949, 0.0287571279646003, 0.6229384207038160],
}


# coef(glm(cbind(grahami, opalinus) ~ height + diameter + light + time, binomial(link), lizards, …as above))
LIZARDS = {
    "logit": [1.084173807909357, 1.106426281929900, -0.753629210334126, 0.817659281775728, -0.727311110834231,
              0.227960385005300],
    "probit": [0.657126658526068, 0.641274754690980, -0.442232306537811, 0.498180599902876, -0.435407351546495,
               0.132849821525305],
    "cloglog": [0.295106742391770, 0.571303601536483, -0.401963284957290, 0.475367155938873, -0.418100168343819,
                0.118172496292985],
    # coef(glm(grahami ~ height + diameter + light + time, poisson, lizards, …as above))
    "poisson": [3.732550010888653, -0.328230404444440, -0.617191800164823, -1.261231705166880, -0.770249574442084,
                0.498761538239723],
}  # fmt: skip


# coef(brmultinom(Species ~ Sepal.Length + Sepal.Width, iris, ref = 1,
#                 control = list(type = "AS_mean", epsilon = 1e-12, maxit = 10000)))
SEPALS = [
    [-23.9788122132725, 9.96293000482897, -9.47494970091437],
    [-36.3452344838888, 11.76043974761660, -9.07963502494331],
]


# the same for Petal.Length + Petal.Width: setosa is separated from the others
PETALS = [
    [-7.99247000976831, 1.55444531959169, 5.15274647586846],
    [-44.15716155307297, 5.98641825527004, 13.96883388418036],
]


@needs_shared
@pytest.mark.parametrize("name", ENDOMETRIAL)
def test_quasi_separated_endometrial_data_as_brglm2(name):
    frame = shared.table("separation/endometrial")
    X, y = frame[["NV", "PI", "EH"]].to_numpy(float), frame["HG"].to_numpy(float)
    rows = Rows.of(X, y)
    F = FirthObjective(rows, LOSSES[name][0], 0.0, True, Coordinates.identity(3))
    theta = minimum(F, F.from_user(*estimate(X, y, F.loss)))
    coef, intercept = F.to_user(theta)
    np.testing.assert_allclose([intercept, *coef], ENDOMETRIAL[name], rtol=1e-9)
    errors = np.sqrt(np.diag(np.linalg.inv(rows.n * F.information(theta))))
    np.testing.assert_allclose([errors[-1], *errors[:-1]], ENDOMETRIAL_ERRORS[name], rtol=1e-9)
    if name == "logit":
        binary = estimate(X, 2 * y - 1, Logistic(), kind="singular")
        np.testing.assert_allclose([binary[1], *binary[0]], ENDOMETRIAL[name], rtol=1e-9)


@needs_shared
@pytest.mark.parametrize("name", LIZARDS)
def test_lizards_as_brglm2(name):
    frame = shared.table("separation/lizards")
    X = np.column_stack(
        [
            frame["height"] == ">=5ft",
            frame["diameter"] == ">2in",
            frame["light"] == "sunny",
            frame["time"] == "late",
            frame["time"] == "midday",
        ]
    )
    grahami, opalinus = frame["grahami"].to_numpy(float), frame["opalinus"].to_numpy(float)
    if name == "poisson":
        coef, intercept = estimate(X, grahami, LOSSES[name][0])
    else:
        trials = grahami + opalinus
        coef, intercept = estimate(X, grahami / trials, LOSSES[name][0], weight=trials)
    np.testing.assert_allclose([intercept, *coef], LIZARDS[name], rtol=1e-9)


@pytest.mark.parametrize("columns, wanted", [((0, 1), SEPALS), ((2, 3), PETALS)], ids=["sepals", "petals"])
def test_three_species_as_brmultinom(columns, wanted):
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    coef, intercept = estimate(X[:, columns], y, Multinomial(), classes=3)
    against_first = np.column_stack([intercept - intercept[0], coef - coef[0]])[1:]
    np.testing.assert_allclose(against_first, wanted, rtol=1e-7)


@pytest.mark.parametrize("name", ["logistic", "probit", "cloglog", "poisson", "multinomial"])
def test_a_search_without_derivatives_finds_the_same_minimum(name):
    """Nelder and Mead on the definition: an independent way to the estimate."""
    F, _ = problem(20, name, n=60, kind="standard")
    rows = Rows.of(F.rows.source[:, :2] / [1, 50], F.rows.y, F.rows.weight)
    F = replace(F, rows=rows, coordinates=Coordinates.standard(rows.moments(), True))
    theta = minimum(F)

    def value(flat_theta):
        return by_definition(F, *F.to_user(flat_theta.reshape(F.shape)))

    found = optimize.minimize(
        value, np.zeros(theta.size), method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-15, "maxiter": 20000, "maxfev": 20000, "adaptive": True},
    )  # fmt: skip
    assert F.evaluate(theta).value <= found.fun + 1e-12
    np.testing.assert_allclose(found.x.reshape(F.shape), theta, atol=1e-5)


def test_one_proportion_has_half_a_success_added():
    """The intercept alone under the logit: (k + ½)/(n + 1), finite at k = 0 and k = n."""
    for k in (0, 3, 10):
        y = np.repeat([1.0, -1.0], [k, 10 - k])
        _, intercept = estimate(np.ones((10, 1)), y, Logistic())
        assert 1 / (1 + np.exp(-intercept)) == pytest.approx((k + 0.5) / 11, rel=1e-12)


def test_a_table_of_two_groups_has_half_added_to_each_cell():
    """A saturated 2 × 2 table: the log odds ratio of Haldane and Anscombe, even with an empty cell."""
    counts = np.array([[7, 0], [2, 9]])
    X = np.repeat([0.0, 1.0], counts.sum(axis=1))[:, None]
    y = np.concatenate([np.repeat([-1.0, 1.0], row) for row in counts])
    coef, intercept = estimate(X, y, Logistic())
    half = counts + 0.5
    assert intercept == pytest.approx(np.log(half[0, 1] / half[0, 0]), rel=1e-10)
    assert coef[0] == pytest.approx(np.log(half[1, 1] * half[0, 0] / (half[1, 0] * half[0, 1])), rel=1e-10)


@pytest.mark.parametrize("name", ["logistic", "probit", "cloglog"])
@quick
@given(seed=seeds)
def test_completely_separated_rows_have_a_finite_minimum(name, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3))
    y = (X @ [1.0, 0.5, 0.0] > 0).astype(float)
    y[:2] = 0.0, 1.0
    X[0], X[1] = [-2.0, -1.0, 0.0], [2.0, 1.0, 0.0]
    loss = LOSSES[name][0]
    coef, intercept = estimate(X, 2 * y - 1 if name == "logistic" else y, loss)
    assert np.isfinite(coef).all() and np.isfinite(intercept)
    assert np.abs(coef).max() < 50
    assert coef @ [1.0, 0.5, 0.0] > 0


def test_completely_separated_classes_have_a_finite_minimum():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 2)) * 0.1 + np.array([[0, 0], [5, 0], [0, 5]])[y]
    coef, intercept = estimate(X, y, Multinomial(), classes=3)
    assert np.isfinite(coef).all() and np.abs(coef).max() < 50
    assert (np.argmax(X @ coef.T + intercept, axis=1) == y).all()


def test_few_rows_and_many_columns_converge_within_twenty_steps():
    """Where nearly every row is a leverage point the information alone would contract by less than a hundredth."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(12, 8))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=12) > 0, 1.0, -1.0)
    rows = Rows.of(X, y)
    F = FirthObjective(rows, Logistic(), 0.0, True, Coordinates.standard(rows.moments(), True))
    minimum(F, steps=20)
