"""Models as users of R write them: k/N, cbind, offset(), weights=, names remembered, empty cells, unseen levels.

References: the same fit written another way, and the definition. R's own numbers: test_glm_tables_of_r.py.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

from separatrix import GeneralizedLinearModel, anova, verify
from tests.models.linear.frames import DATA, assert_same, fit, pd, refused, trials

# ---- proportions ----


def test_a_proportion_is_read_as_successes_in_trials():
    model = fit("k/N ~ x + C(g)", DATA, "binomial")
    X = np.column_stack([DATA["x"], DATA["g"] == "mid", DATA["g"] == "top"]).astype(float)
    by_hand = GeneralizedLinearModel("binomial").fit(X, DATA[["k", "lost"]].to_numpy())
    assert_same(model, by_hand)
    assert_same(
        model, GeneralizedLinearModel("binomial").fit(X, DATA["k"] / DATA["N"], precision=DATA["N"]), 1e-7
    )
    assert "response: k/N is k successes in N trials" in model.verdict_.findings
    assert model.coef_[0] > 0.5  # not the slope of k + k:N


@pytest.mark.parametrize(
    "formula, extras",
    [
        ("cbind(k, N - k) ~ x", {}),
        ("cbind(k, lost) ~ x", {}),
        ("k + lost ~ x", {}),
        ("(k/N) ~ x", {}),
        ("k / (k + lost) ~ x", {}),
        ("k/N ~ x", {"weights": "N"}),  # as R's help writes it
        ("k/N ~ x", {"precision": DATA["N"].to_numpy()}),
        ("I(k/N) ~ x", {"weights": "N"}),
        ("I(k / N) ~ x", {"precision": "N"}),
    ],
)
def test_ways_to_write_a_proportion(formula, extras):
    assert_same(fit(formula, DATA, "binomial", **extras), fit("k/N ~ x", DATA, "binomial"), 1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_a_share_is_its_trials_one_by_one(seed):
    """k of N is N rows, k of them 1: the same weights and errors, another count of observations."""
    d = trials(40, seed)
    one_by_one = pd.DataFrame({"x": np.repeat(d["x"], d["N"])})
    one_by_one["hit"] = np.concatenate([[1] * k + [0] * f for k, f in zip(d["k"], d["lost"], strict=True)])
    grouped, single = fit("k/N ~ x", d, "binomial"), fit("hit ~ x", one_by_one, "binomial")
    np.testing.assert_allclose(grouped.coef_, single.coef_, rtol=1e-7)
    np.testing.assert_allclose(grouped.standard_errors(), single.standard_errors(), rtol=1e-7)
    assert grouped.test("x").statistic == pytest.approx(single.test("x").statistic, rel=1e-7)
    halves = pd.concat(
        [d.assign(k=d["k"] // 2, N=d["N"] // 2), d.assign(k=d["k"] - d["k"] // 2, N=d["N"] - d["N"] // 2)]
    )
    np.testing.assert_allclose(fit("k/N ~ x", halves, "binomial").coef_, grouped.coef_, rtol=1e-7)


def test_other_links_and_constant_trials():
    d = DATA.assign(k=np.minimum(DATA["k"], 10))
    model = fit("k/12 ~ x", d, "binomial", "cloglog")
    assert_same(model, fit("cbind(k, 12 - k) ~ x", d, "binomial", "cloglog"), 1e-7)


def test_rows_without_a_trial_weigh_nothing_and_are_named():
    d = DATA.copy()
    d.loc[[4, 9], ["k", "N", "lost"]] = 0
    whole = fit("k/N ~ x", d.drop(index=[4, 9]), "binomial")
    for formula in ("k/N ~ x", "cbind(k, lost) ~ x"):
        model = fit(formula, d, "binomial")
        assert_same(model, whole)
        assert any(
            "2 of 60 rows have none (0 of 0) and weigh nothing: rows 4, 9" in f
            for f in model.verdict_.findings
        )
    d.loc[1, "x"] = np.nan  # numbers are the frame's, though a row before them is left out
    assert "rows 4, 9" in str(fit("k/N ~ x", d, "binomial").verdict_)
    with pytest.warns(
        UserWarning, match=r"2 left out, where the response I\(k/N\) is no number .*: rows 4, 9"
    ):
        model = fit("I(k/N) ~ x", d, "binomial", weights="N")
    assert_same(model, fit("k/N ~ x", d, "binomial"), 1e-7)


@pytest.mark.parametrize(
    "change, formula, match",
    [
        ({"k": 30}, "k/N ~ x", "k is above N, and k/N is k successes in N trials: row 5 has 30 and"),
        ({"k": -1}, "k/N ~ x", "k counts successes and is negative: row 5 has -1"),
        (
            {"k": 0.5, "N": 9},
            "k/N ~ x",
            r"k is no whole number, so no count \(write I\(k/N\) with precision=.*row 5",
        ),
        ({"N": 11.5}, "k/N ~ x", "N is no whole number.*row 5 has 11.5"),
        ({"lost": -2}, "cbind(k, lost) ~ x", "lost is a count and is negative: row 5 has -2"),
        (
            {"lost": 0.25},
            "cbind(k, lost) ~ x",
            r"lost is no whole number, and cbind\(k, lost\) counts.*weights=N",
        ),
        ({"k": 30}, "cbind(k, N - k) ~ x", "N - k is a count and is negative: row 5"),
        ({}, "cbind(k) ~ x", "needs two columns, successes and failures"),
        ({}, "cbind(k, lost, N) ~ x", "needs two columns"),
        ({}, "cbind(k, g) ~ x", "g is not a number in each row"),
        ({}, "k/trials ~ x", "formula names 'trials', which is not a column: the columns are k, N"),
        ({}, "k*N ~ x", r"an operation between terms.*write I\(k\*N\)"),
        ({}, "k/N/t ~ x", r"write I\(k/N/t\)"),
        ({}, "k - N ~ x", r"write I\(k - N\)"),
        ({}, "k > 1 ~ x", r"write I\(k > 1\)"),
        ({}, "k/N ~ x | g", "has several right sides: write one"),
        ({}, "k/N ~ x ~ g", "has several right sides"),
        ({}, "k + lost + N ~ x", r"write I\(k \+ lost \+ N\)"),
    ],
)
def test_left_sides_that_cannot_be(change, formula, match):
    d = DATA.astype({"k": float, "N": float, "lost": float})
    for name, value in change.items():
        d.loc[5, name] = value
    d.loc[2, "x"] = np.nan  # a row left out does not move the numbers of those after it
    refused(match, formula, d, "binomial")


def test_other_families_are_told_what_to_write():
    refused(r"k/N of a gaussian family.*write I\(k/N\).*precision=N", "k/N ~ x", DATA)
    refused(r"k/N of a poisson family.*k ~ … \+ offset\(log\(N\)\)", "k/N ~ x", DATA, "poisson")
    refused("cbind.* only the binomial family reads, and the family is gaussian", "cbind(k, N) ~ x", DATA)
    refused(r"k \+ lost of a poisson family.*write I\(k \+ lost\)", "k + lost ~ x", DATA, "poisson")
    by_hand = GeneralizedLinearModel().fit(DATA[["x"]], DATA["k"] / DATA["N"], precision=DATA["N"])
    assert_same(fit("I(k/N) ~ x", DATA, precision="N"), by_hand)


def test_weights_that_contradict_the_trials():
    other = DATA["N"].where(DATA.index != 3, 20)
    refused(r"k/N has \d+ trials in row 3 and weights=… says 20: leave weights out", "k/N ~ x", DATA, "binomial",
            weights=other)  # fmt: skip
    refused("two columns holds the trials already", "cbind(k, lost) ~ x", DATA, "binomial", weights="N")


# ---- weights ----


@pytest.mark.parametrize("family, link", [("gaussian", None), ("gamma", "log"), ("inverse_gaussian", "log")])
def test_weights_are_precisions(family, link):
    d = DATA.assign(z=DATA["t"] * np.exp(0.1 * DATA["x"]))
    by_name = fit("z ~ x", d, family, link, weights="N")
    assert_same(by_name, fit("z ~ x", d, family, link, precision="N"))
    assert_same(by_name, GeneralizedLinearModel(family, link).fit(d[["x"]], d["z"], weights=d["N"]))


def test_weights_of_a_gaussian_are_those_of_weighted_least_squares():
    """R's glm(weights=): Var = φ/w, φ by the number of rows."""
    model = fit("t ~ x", DATA, weights="N")
    w, X = DATA["N"].to_numpy(float), np.column_stack([np.ones(60), DATA["x"]])
    inverse = np.linalg.inv(X.T @ (w[:, None] * X))
    beta = inverse @ (X.T @ (w * DATA["t"]))
    phi = w @ (DATA["t"] - X @ beta) ** 2 / 58
    np.testing.assert_allclose(model.standard_errors(), np.sqrt(phi * np.diag(inverse)), rtol=1e-9)


def test_weights_of_counts_multiply_the_likelihood():
    """As R does: errors of repeated rows, degrees of freedom of rows."""
    model = fit("y ~ x", DATA, "poisson", weights="N")
    repeated = fit("y ~ x", DATA, "poisson", sample_weight="N")
    np.testing.assert_allclose(model.standard_errors(), repeated.standard_errors(), rtol=1e-9)
    assert model.aic_ == pytest.approx(repeated.aic_)
    assert model.df_residual_ == 58 and repeated.df_residual_ == DATA["N"].sum() - 2
    assert any(f.startswith("weights: prior weights as R's") for f in model.verdict_.findings)
    refused("precision says Var y", "y ~ x", DATA, "poisson", precision="N")


def test_weights_of_zero_are_absence_and_bad_ones_are_refused():
    w = DATA["N"].where(DATA.index > 2, 0)
    assert_same(fit("t ~ x", DATA, weights=w), fit("t ~ x", DATA.iloc[3:], weights="N"))
    refused("weights must not be negative: row 7 has -1", "t ~ x", DATA, weights=w.where(w.index != 7, -1))
    refused("weights and precision are two names", "t ~ x", DATA, weights="N", precision="N")
    refused("weights='M' is not a column", "t ~ x", DATA, weights="M")
    refused("weights must be numbers", "t ~ x", DATA, weights="g")
    refused("weights is zero in every row", "t ~ x", DATA, weights=0 * w)
    d = DATA.assign(N=DATA["N"].where(DATA.index != 9, -2)).assign(x=DATA["x"].where(DATA.index != 1))
    refused("weights must not be negative: row 9 has -2", "t ~ x", d, weights="N")


# ---- offsets ----


def test_offsets_in_the_formula_add_up():
    by_name = fit("y ~ x + C(g)", DATA, "poisson", exposure="t")
    for formula in (
        "y ~ x + C(g) + offset(log(t))",
        "y ~ offset(np.log(t)) + x + factor(g)",
        "y ~ x + offset(log(`days at risk`)) + C(g) + offset(0 * t - log(365))",
        "y ~ x + C(g) + offset(0.5 * log(t)) + offset(log(sqrt(t)))",
    ):
        model = fit(formula, DATA, "poisson")
        assert_same(model, by_name)
        assert list(model.terms_) == ["x", "C(g)"]
        np.testing.assert_allclose(model.predict(DATA), by_name.predict(DATA), rtol=1e-9)
        assert model.score(DATA) == pytest.approx(by_name.score(DATA), rel=1e-9)
        assert model.test("C(g)").statistic == pytest.approx(by_name.test("C(g)").statistic, rel=1e-6)
        np.testing.assert_allclose(
            model.confidence_intervals(method="profile"),
            by_name.confidence_intervals(method="profile"),
            rtol=1e-6,
        )
        assert verify(model, DATA, DATA["y"]).status == "optimal"
    both = fit("y ~ x + C(g) + offset(log(t))", DATA, "poisson", offset="x")
    assert both.coef_[0] == pytest.approx(by_name.coef_[0] - 1, rel=1e-6)
    lines = anova(model).to_frame()
    np.testing.assert_allclose(lines["resid_dev"], anova(by_name).to_frame()["resid_dev"], rtol=1e-8)


def test_a_constant_in_an_offset_moves_the_intercept_alone():
    model, moved = (fit(f"y ~ x + offset(log({c} * t))", DATA, "poisson") for c in (1, 365))
    np.testing.assert_allclose(moved.coef_, model.coef_, rtol=1e-8)
    assert moved.intercept_ == pytest.approx(model.intercept_ - np.log(365), rel=1e-8)
    np.testing.assert_allclose(moved.predict(DATA), model.predict(DATA), rtol=1e-8)


def test_an_offset_without_an_intercept():
    model = fit("y ~ 0 + x + offset(log(t))", DATA, "poisson")
    by_hand = GeneralizedLinearModel("poisson", fit_intercept=False).fit(
        DATA[["x"]], DATA["y"], exposure=DATA["t"]
    )
    assert model.fit_intercept is False
    np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-9)


def test_offsets_are_remembered():
    model = fit("y ~ x + offset(log(t))", DATA, "poisson")
    new = pd.DataFrame({"x": [0.0, 1.0, 1.0], "t": [1.0, 1.0, 2.0]})
    mean = model.predict(new)
    assert mean[2] == pytest.approx(2 * mean[1])
    np.testing.assert_allclose(mean[0], np.exp(model.intercept_))
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).predict(new), mean)
    with pytest.raises(ValueError, match=r"offset\(log\(t\)\) needs 't', which is not a column"):
        model.predict(new[["x"]])
    with pytest.raises(
        ValueError, match=r"offset\(log\(t\)\) must be finite: it is -inf in row 1 \(t = 0.0\)"
    ):
        model.predict(new.assign(t=[1.0, 0.0, 1.0]))


@pytest.mark.parametrize(
    "formula, match",
    [
        ("y ~ x + offset(log(y))", r"offset\(log\(y\)\) must be finite: it is -inf in row \d+ \(y = 0\)"),
        ("y ~ x * offset(log(t))", "puts offset.* inside another term"),
        ("y ~ x + log(offset(t))", "puts offset.* inside another term"),
        ("y ~ x + offset(g)", "g is not a number in each row"),
        ("y ~ x + offset(log(years))", "formula names 'years', which is not a column"),
        ("y ~ offset(log(t))", "no column besides the intercept"),
        ("y ~ x + offset()", r"offset\(\) is empty"),
    ],
)
def test_offsets_that_cannot_be(formula, match):
    refused(match, formula, DATA, "poisson")


def test_names_given_at_the_fit_are_found_in_new_frames():
    model = fit("y ~ x", DATA, "poisson", exposure="t", offset="x")
    new = DATA.head(4)
    by_hand = np.exp(model.intercept_ + (model.coef_[0] + 1) * new["x"]) * new["t"]
    np.testing.assert_allclose(model.predict(new), by_hand)
    np.testing.assert_allclose(model.predict(new, exposure=1), by_hand / new["t"])
    np.testing.assert_allclose(model.predict(new, exposure="N"), by_hand / new["t"] * new["N"])
    np.testing.assert_allclose(model.predict(new, offset=0), by_hand / np.exp(new["x"]))
    assert model.score(DATA, DATA["y"]) == model.score(DATA)
    assert model.score(DATA) == pytest.approx(model.score(DATA, exposure=DATA["t"].to_numpy()))
    assert verify(model, DATA, None).status == "optimal"
    with pytest.raises(
        ValueError, match="fitted with exposure='t', and the frame has no such column: add it"
    ):
        model.predict(new[["x"]])
    with pytest.raises(ValueError, match=r"fitted with exposure='t'.*exposure=1 for rates"):
        model.score(DATA.drop(columns="t"))
    late = new.assign(t=[1.0, 1.0, -2.0, 1.0], x=[0.0, np.nan, 0.0, 0.0])
    with pytest.raises(ValueError, match="exposure must be positive: row 2 has -2"):
        model.predict(late)
    with pytest.raises(ValueError, match="exposure='t' names a column, which a model of a formula reads"):
        GeneralizedLinearModel("poisson").fit(DATA[["x"]], DATA["y"], exposure="t")
    refused(
        r"offset='log\(t\)' is not a column .*: offset\(log\(t\)\)", "y ~ x", DATA, "poisson", offset="log(t)"
    )


def test_the_response_of_a_score_is_the_left_side():
    model = fit("k/N ~ x", DATA, "binomial")
    counts = DATA[["k", "lost"]].to_numpy()
    assert model.score(DATA) == pytest.approx(model.score(DATA, counts), rel=1e-12)
    assert model.score(DATA) == pytest.approx(1 - model.deviance_ / model.null_deviance_, rel=1e-9)
    precise = fit("t ~ x", DATA, weights="N")
    assert precise.score(DATA) == pytest.approx(1 - precise.deviance_ / precise.null_deviance_, rel=1e-9)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(DATA, counts[:-1])


# ---- empty cells and unseen levels ----


def test_empty_cells_give_nan():
    model = fit("y ~ x + C(g) + offset(log(t))", DATA, "poisson")
    named = fit("y ~ x + C(g)", DATA, "poisson", exposure="t")
    new = DATA.head(5).copy()
    new.loc[0, "x"], new.loc[2, "g"], new.loc[3, "t"] = np.nan, None, np.nan
    for m in (model, named):
        found = m.predict(new)
        assert np.isnan(found).tolist() == [True, False, True, True, False]
        np.testing.assert_allclose(found[[1, 4]], m.predict(DATA.head(5))[[1, 4]])
        assert np.isnan(m.predict(new.iloc[[0]])).all()
        with pytest.raises(ValueError, match=r"(column 'x' is empty in row 0)"):
            m.predict(new, na="raise")
    with pytest.raises(ValueError, match='na \'drop\' is unknown: use "nan" or "raise"'):
        model.predict(new, na="drop")
    assert model.score(new) == pytest.approx(model.score(new.dropna()))


def test_empty_cells_of_a_table_are_refused_unless_asked():
    model = GeneralizedLinearModel("poisson").fit(DATA[["x", "t"]], DATA["y"])
    new = DATA[["x", "t"]].head(3).astype({"x": "Float64"})
    new.loc[1, "x"] = pd.NA
    with pytest.raises(ValueError, match="column 'x'"):
        model.predict(new)
    assert np.isnan(model.predict(new, na="nan")).tolist() == [False, True, False]
    cells = DATA[["x", "t"]].head(3).to_numpy().copy()
    cells[2, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names of columns
        assert np.isnan(model.predict(cells, na="nan")).tolist() == [False, False, True]


def test_arithmetic_that_makes_no_number_is_said():
    d = DATA.assign(x=DATA["x"].abs())
    d.loc[[6, 8], "x"] = -1.0
    with pytest.warns(
        UserWarning, match=r"2 left out, where log\(x\) is no number though no cell is empty: rows 6, 8"
    ):
        model = fit("y ~ log(x)", d, "poisson")
    assert_same(model, fit("y ~ log(x)", d.drop(index=[6, 8]), "poisson"))
    with pytest.warns(UserWarning, match=r"log\(x\) is no number in rows 6, 8"):
        assert np.flatnonzero(np.isnan(model.predict(d))).tolist() == [6, 8]
    with pytest.raises(ValueError, match=r"log\(x\) is no number in rows 6, 8"):
        model.predict(d, na="raise")


@pytest.mark.parametrize("formula", ["y ~ x + C(g)", "y ~ x + g", "y ~ x * g", "y ~ C(g, contr.sum)"])
def test_an_unseen_level_is_named(formula):
    model = fit(formula, DATA, "poisson")
    new = DATA.head(4).assign(g=["low", None, "huge", "huge"])
    with pytest.raises(
        ValueError,
        match=r"column 'g' has the level 'huge' in row 2 \(2 such rows\), which was not seen in training: the levels "
        "are 'low', 'mid', 'top'",
    ):
        model.predict(new)


def test_an_unseen_level_of_numbers():
    model = fit("y ~ factor(N)", DATA.assign(N=DATA["N"] % 3), "poisson")
    with pytest.raises(
        ValueError, match=r"column 'N' has the level .*7.* in row 1, .* the levels are 0, 1, 2"
    ):
        model.predict(pd.DataFrame({"N": [0, 7]}))


def test_powers_are_those_of_r():
    """In Python ^ is another operation, and on whole numbers a silent one."""
    model = fit("y ~ I(N^2) + x", DATA, "poisson")
    assert_same(model, GeneralizedLinearModel("poisson").fit(
        np.column_stack([DATA["N"] ** 2, DATA["x"]]).astype(float), DATA["y"]))  # fmt: skip
