"""Formulas: y ~ terms on a frame gives the fit of the same columns made by hand, and new frames are coded alike."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from separatrix import GeneralizedLinearModel, anova, verify

pd = pytest.importorskip("pandas")
pytest.importorskip("formulaic")

fit = GeneralizedLinearModel.from_formula


def table(n=90, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(0.2, 2.0, n), rng.normal(0, 1, n)
    g = np.array(["low", "mid", "top"])[np.arange(n) % 3]
    years = rng.uniform(0.5, 3.0, n)
    mu = years * np.exp(0.3 * x - 0.2 * z + 0.4 * (g == "top"))
    wins = rng.binomial(5, 0.4, n)
    return pd.DataFrame(
        {"y": rng.poisson(mu), "x": x, "z": z, "g": g, "years": years, "twice": np.arange(n) % 2 + 1.0,
         "wins": wins, "losses": 5 - wins, "cured": np.where(rng.random(n) < 0.5, "yes", "no")}
    )  # fmt: skip


DATA = table()


def dummies(d):
    return np.column_stack([d["g"] == "mid", d["g"] == "top"]).astype(float)


def assert_same(model, other):
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-7, atol=1e-10)
    assert model.intercept_ == pytest.approx(other.intercept_, rel=1e-7)
    np.testing.assert_allclose(model.standard_errors(), other.standard_errors(), rtol=1e-7)
    assert model.deviance_ == pytest.approx(other.deviance_)


# ---- codings ----


def test_a_factor_is_coded_against_its_first_level():
    model = fit("y ~ x + C(g)", DATA, "poisson")
    X = np.column_stack([DATA["x"], dummies(DATA)])
    assert_same(model, GeneralizedLinearModel("poisson").fit(X, DATA["y"]))
    assert list(model.feature_names_in_) == ["x", "C(g)[T.mid]", "C(g)[T.top]"]
    assert model.terms_ == {"x": [0], "C(g)": [1, 2]} and model.formula_ == "y ~ x + C(g)"
    assert list(model.summary().index) == ["(Intercept)", "x", "C(g)[T.mid]", "C(g)[T.top]"]
    assert_same(fit("y ~ x + g", DATA, "poisson"), model)  # text is a factor of itself


def test_interactions_and_transforms():
    model = fit("y ~ np.log(x) + C(g) * z + I(z**2)", DATA, "poisson")
    G = dummies(DATA)
    by_term = {
        "np.log(x)": np.log(DATA["x"]).to_numpy()[:, None],
        "C(g)": G,
        "z": DATA["z"].to_numpy()[:, None],
        "I(z ** 2)": DATA["z"].to_numpy()[:, None] ** 2,
        "C(g):z": G * DATA["z"].to_numpy()[:, None],
    }
    assert set(model.terms_) == set(by_term)
    X = np.empty((len(DATA), 7))
    for term, places in model.terms_.items():
        X[:, places] = by_term[term]
    assert_same(model, GeneralizedLinearModel("poisson").fit(X, DATA["y"]))


def test_a_response_may_be_transformed():
    model = fit("np.log(y + 1) ~ x + z", DATA)
    assert_same(model, GeneralizedLinearModel().fit(DATA[["x", "z"]].to_numpy(), np.log(DATA["y"] + 1)))


def test_without_an_intercept():
    model = fit("y ~ 0 + C(g) + x", DATA, "poisson")
    assert model.fit_intercept is False and model.intercept_ == 0.0
    assert model.terms_ == {"C(g)": [0, 1, 2], "x": [3]}
    whole = fit("y ~ C(g) + x", DATA, "poisson")
    assert model.deviance_ == pytest.approx(whole.deviance_, rel=1e-9)
    assert model.coef_[0] == pytest.approx(whole.intercept_, rel=1e-6)
    for formula in ("y ~ x - 1", "y ~ x + 0"):
        assert fit(formula, DATA).fit_intercept is False
    assert fit("y ~ 1 + x", DATA, fit_intercept=True).fit_intercept


@pytest.mark.parametrize("term", ["poly(z, 2)", "scale(z)", "center(z)", "bs(x, df=5)", "cr(x, df=4)"])
def test_transforms_that_look_at_the_data_remember_it(term):
    """A prediction of five rows is that of the same five among all: knots, means and spreads are the fit's."""
    model = fit(f"y ~ x + {term}" if "x" not in term else f"y ~ z + {term}", DATA, "poisson")
    np.testing.assert_allclose(model.predict(DATA.head(5)), model.predict(DATA)[:5], rtol=1e-10)
    assert term.split("(")[0] in " ".join(model.terms_)


def test_sum_contrasts():
    model = fit("y ~ C(g, contr.sum) + x", DATA, "poisson")
    plain = fit("y ~ C(g) + x", DATA, "poisson")
    assert model.deviance_ == pytest.approx(plain.deviance_, rel=1e-9)
    term = next(t for t in model.terms_ if "contr" in t)
    assert model.test(term).statistic == pytest.approx(plain.test("C(g)").statistic, rel=1e-6)


def test_a_category_without_rows():
    """A level nobody has is a column of zeros: nothing is known of it, and the rest is untouched."""
    d = DATA.assign(g=pd.Categorical(DATA["g"], categories=["low", "mid", "top", "never"]))
    model, plain = fit("y ~ C(g) + x", d, "poisson"), fit("y ~ C(g) + x", DATA, "poisson")
    assert model.deviance_ == pytest.approx(plain.deviance_, rel=1e-9)
    assert model.df_residual_ == plain.df_residual_
    error = dict(zip(model.summary().index, model.standard_errors(), strict=True))
    for name, value in zip(plain.summary().index, plain.standard_errors(), strict=True):
        assert error[name] == pytest.approx(value, rel=1e-7)


# ---- extras by name ----


def test_weights_offset_and_exposure_by_name():
    X = DATA[["x", "z"]]
    by_name = fit("y ~ x + z", DATA, "poisson", sample_weight="twice", exposure="years", offset="z")
    by_hand = GeneralizedLinearModel("poisson").fit(
        X, DATA["y"], DATA["twice"].to_numpy(), DATA["z"].to_numpy(), exposure=DATA["years"].to_numpy()
    )
    assert_same(by_name, by_hand)
    as_arrays = fit("y ~ x + z", DATA, "poisson", sample_weight=DATA["twice"], exposure=DATA["years"].tolist(),
                    offset=DATA["z"].to_numpy())  # fmt: skip
    assert_same(as_arrays, by_hand)
    precise = fit("x ~ z", DATA, precision="years")
    assert_same(precise, GeneralizedLinearModel().fit(DATA[["z"]], DATA["x"], precision=DATA["years"]))


def test_missing_rows_are_left_out_and_counted():
    d = DATA.copy()
    d["y"] = d["y"].astype(float)
    d.loc[3, "x"] = np.nan
    d.loc[5, "g"] = None
    d.loc[7, "y"] = np.nan
    d.loc[11, "z"] = np.nan  # not in the formula
    d.loc[[3, 5, 7], "years"] = np.nan  # gone with their rows
    model = fit("y ~ x + C(g)", d, "poisson", exposure="years", sample_weight=DATA["twice"])
    assert any(f.startswith("rows: 3 left out") for f in model.verdict_.findings)
    kept = d.drop(index=[3, 5, 7])
    whole = fit("y ~ x + C(g)", kept, "poisson", exposure="years", sample_weight="twice")
    assert_same(model, whole)
    assert not any("left out" in f for f in whole.verdict_.findings)
    assert len(model.residuals()) == len(DATA) - 3
    assert any("left out" in line for line in str(model.summary()).splitlines())


def test_the_index_of_a_frame_does_not_matter():
    shuffled = DATA.set_axis(np.random.default_rng(0).permutation(90) * 3)
    shuffled.iloc[4, 1] = np.nan
    repeated = shuffled.set_axis([0] * 90)
    plain = fit("y ~ x + C(g)", shuffled.reset_index(drop=True), "poisson", exposure="years")
    for frame in (shuffled, repeated):
        model = fit("y ~ x + C(g)", frame, "poisson", exposure="years")
        assert_same(model, plain)
        np.testing.assert_allclose(
            model.predict(frame.iloc[5:9]), plain.predict(shuffled.reset_index(drop=True).iloc[5:9])
        )


def test_the_frame_is_not_changed():
    before = DATA.copy()
    fit("y ~ x + C(g) * z", DATA, "poisson").predict(DATA)
    pd.testing.assert_frame_equal(before, DATA)


# ---- other frames ----


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_kinds(library):
    module = pytest.importorskip(library)
    frame = module.from_pandas(DATA) if library == "polars" else module.Table.from_pandas(DATA)
    model, plain = (fit("y ~ x + C(g) * z", d, "poisson", exposure="years") for d in (frame, DATA))
    assert_same(model, plain)
    np.testing.assert_allclose(model.predict(frame), plain.predict(DATA))
    np.testing.assert_allclose(model.predict(DATA), plain.predict(DATA))


# ---- prediction ----


def test_prediction_on_a_new_frame():
    model = fit("y ~ x + C(g)", DATA, "poisson", exposure="years")
    new = pd.DataFrame(
        {"g": ["top", "low"], "x": [1.0, 0.5]}
    )  # another order, no response, one level missing
    rate = np.exp(model.intercept_ + model.coef_[0] * new["x"] + [model.coef_[2], 0.0])
    np.testing.assert_allclose(model.predict(new, exposure=1), rate, rtol=1e-10)
    np.testing.assert_allclose(model.predict(new, exposure=[2.0, 3.0]), rate * [2.0, 3.0], rtol=1e-10)
    np.testing.assert_allclose(model.predict(new, exposure=1, kind="link"), np.log(rate), atol=1e-10)
    np.testing.assert_allclose(
        model.predict(new.assign(years=[2.0, 3.0])), rate * [2.0, 3.0], rtol=1e-10
    )  # by the name the fit gave
    assert model.score(DATA, DATA["y"], exposure=DATA["years"]) > 0


@pytest.mark.parametrize("formula", ["y ~ x + C(g)", "y ~ x + g", "y ~ 0 + C(g)", "y ~ C(g):x"])
def test_a_level_unseen_in_training_is_refused_by_name(formula):
    """To code it as the first level, as zeros are, would be a prediction for somebody else."""
    model = fit(formula, DATA, "poisson")
    new = DATA.head(3).assign(g=["low", "huge", "top"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=r"(?s)huge|level"):
            model.predict(new)


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda d: d.drop(columns="x"), "x"),
        (lambda d: d.drop(columns="g"), "g"),
        (lambda d: d.assign(x="word"), "x|frame"),
    ],
    ids=["no x", "no g", "text"],
)
def test_a_new_frame_that_does_not_fit(change, match):
    model = fit("y ~ x + C(g)", DATA, "poisson")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=match):
            model.predict(change(DATA.head(4)))


def test_an_array_is_no_frame():
    model = fit("y ~ x + z", DATA, "poisson")
    with pytest.raises(TypeError, match="a formula is read on a frame"):
        model.predict(DATA[["x", "z"]].to_numpy())


# ---- tests of terms ----


def test_terms_are_tested_by_name():
    model = fit("y ~ x + C(g) * z", DATA, "poisson", exposure="years")
    smaller = fit("y ~ x + C(g) + z", DATA, "poisson", exposure="years")
    found = model.test("C(g):z")
    assert found.df == 2
    assert found.statistic == pytest.approx(smaller.deviance_ - model.deviance_, rel=1e-6)
    assert model.test("C(g)").df == 2 and model.test(["x", "C(g)"]).df == 3
    assert model.test("C(g)[T.top]").df == 1
    np.testing.assert_array_equal(
        model.confidence_intervals(columns="C(g)"),
        model.confidence_intervals()[[1 + j for j in model.terms_["C(g)"]]],
    )
    with pytest.raises(ValueError, match=r"column 'C\(h\)' is not in the model: its columns are x, C\(g\)"):
        model.test("C(h)")
    with pytest.raises(ValueError, match="twice"):
        model.test(["C(g)", "C(g)[T.top]"])


def test_anova_by_terms():
    model = fit("y ~ x + C(g) + z", DATA, "poisson", exposure="years")
    lines = anova(model).to_frame()
    assert list(lines.index) == ["NULL", "x", "C(g)", "z"]
    chain = ["y ~ x", "y ~ x + C(g)", "y ~ x + C(g) + z"]
    fits = [fit(f, DATA, "poisson", exposure="years") for f in chain]
    deviances = [model.null_deviance_, *[m.deviance_ for m in fits]]
    np.testing.assert_allclose(lines["resid_dev"], deviances, rtol=1e-8)
    np.testing.assert_allclose(lines["df"].iloc[1:], [1, 2, 1])
    np.testing.assert_allclose(lines["resid_df"], [89, 88, 86, 85])
    drop = -np.diff(deviances)
    np.testing.assert_allclose(lines["LR"].iloc[1:], drop, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(lines["p"].iloc[1:], stats.chi2.sf(drop, [1, 2, 1]), rtol=1e-4)
    between = anova(*fits)
    assert [name[3:] for name in between.index] == chain
    np.testing.assert_allclose(between.to_frame()["LR"].iloc[1:], drop[1:], rtol=1e-6)


def test_anova_of_a_gaussian_by_terms():
    model = fit("x ~ C(g) + z", DATA)
    lines = anova(model).to_frame()
    small = fit("x ~ C(g)", DATA)
    F = (model.null_deviance_ - small.deviance_) / 2 / model.dispersion_
    assert lines["F"].iloc[1] == pytest.approx(F, rel=1e-7)
    assert lines["p"].iloc[1] == pytest.approx(stats.f.sf(F, 2, 86), rel=1e-7)


def test_models_with_different_rows_are_not_compared():
    d = DATA.copy()
    d.loc[4, "z"] = np.nan
    with pytest.raises(ValueError, match="different rows: 90 and 89; drop rows with missing"):
        anova(fit("y ~ x", d, "poisson"), fit("y ~ x + z", d, "poisson"))


# ---- responses ----


def test_two_labels():
    model = fit("cured ~ x + z", DATA, "binomial")
    plain = GeneralizedLinearModel("binomial").fit(DATA[["x", "z"]], DATA["cured"])
    assert_same(model, plain)
    assert model.classes_.tolist() == ["no", "yes"]
    assert any("'yes' counts as success" in f for f in model.verdict_.findings)
    assert model.score(DATA, DATA["cured"]) == pytest.approx(plain.score(DATA[["x", "z"]], DATA["cured"]))
    for cells in (
        DATA["cured"] == "yes",
        pd.Categorical(DATA["cured"]),
        (DATA["cured"] == "yes").astype(int),
    ):
        assert_same(fit("cured ~ x + z", DATA.assign(cured=cells), "binomial"), plain)


def test_counts_of_successes_and_failures():
    model = fit("wins + losses ~ x + C(g)", DATA, "binomial")
    X = np.column_stack([DATA["x"], dummies(DATA)])
    assert_same(model, GeneralizedLinearModel("binomial").fit(X, DATA[["wins", "losses"]].to_numpy()))
    shares = fit("I(wins / 5) ~ x + C(g)", DATA, "binomial", precision=np.full(90, 5))
    assert_same(model, shares)


def test_three_labels():
    with pytest.raises(ValueError, match="3 labels"):
        fit("g ~ x", DATA, "binomial")


# ---- refusals ----


@pytest.mark.parametrize(
    "formula, match",
    [
        ("x + z", 'has no response: write "y ~ terms"'),
        ("~ x + z", 'has no response: write "y ~ terms"'),
        ("y ~ height", "formula names 'height', which is not a column: the columns are y, x, z"),
        ("nothing ~ x", "formula names 'nothing', which is not a column"),
        ("y ~ np.log(height)", "formula names 'height'"),
        ("y ~ x +* z", r"could not be read"),
        ("y ~ (x", "could not be read"),
        ("y ~ 1", "no column besides the intercept: its deviance is null_deviance_"),
        ("y ~ np.nosuch(x)", "could not be evaluated"),
        ("", "no response"),
    ],
)
def test_formulas_that_say_nothing(formula, match):
    with pytest.raises(ValueError, match=match):
        fit(formula, DATA, "poisson")


def test_a_refusal_is_one_plain_sentence():
    """No escape codes of a terminal in a message that may end in a log."""
    with pytest.raises(ValueError, match="could not be read") as refusal:
        fit("y ~ x +* z", DATA)
    assert not re.search(r"[\x1b\u29da\u29db]", str(refusal.value))


def test_a_dot_is_all_other_columns():
    model = fit("y ~ .", DATA[["y", "x", "z"]], "poisson")
    assert_same(model, fit("y ~ x + z", DATA, "poisson"))


def test_frames_and_extras_that_do_not_fit():
    with pytest.raises(TypeError, match=r"a formula is read on a frame .*, got dict"):
        fit("y ~ x", {"y": [1], "x": [2]})
    with pytest.raises(TypeError, match="got ndarray"):
        fit("y ~ x", DATA[["y", "x"]].to_numpy())
    with pytest.raises((TypeError, ValueError), match="formula"):
        fit(3, DATA)
    with pytest.raises(ValueError, match="every row has an empty cell"):
        fit("y ~ x", DATA.assign(x=np.nan))
    with pytest.raises(ValueError, match="exposure='days' is not a column"):
        fit("y ~ x", DATA, "poisson", exposure="days")
    with pytest.raises(ValueError, match="offset must have one number a row, 90 in all"):
        fit("y ~ x", DATA, "poisson", offset=[1.0, 2.0])
    with pytest.raises(ValueError, match="sample_weight must be numbers"):
        fit("y ~ x", DATA, "poisson", sample_weight="g")
    with pytest.raises(ValueError, match="contradicts the formula"):
        fit("y ~ x", DATA, fit_intercept=False)
    with pytest.raises(ValueError, match="y is -1 in row 4"):
        fit("z0 ~ x", DATA.assign(z0=np.where(np.arange(90) == 4, -1, 1)), "poisson")
    with pytest.raises(ValueError, match="column 'x', row 0"):
        fit("y ~ x", DATA.assign(x=np.where(np.arange(90) == 0, np.inf, 1.0) + DATA["x"]))


def test_a_missing_exposure_drops_its_row():
    d = DATA.copy()
    d.loc[2, "x"] = np.nan
    d.loc[9, "years"] = np.nan
    model = fit("y ~ x", d, "poisson", exposure="years")
    assert "2 left out" in str(model.verdict_)
    assert_same(model, fit("y ~ x", DATA.drop(index=[2, 9]), "poisson", exposure="years"))


# ---- kept ----


def test_a_pickle_keeps_formula_and_coding():
    model = fit("y ~ np.log(x) + C(g) * z + poly(z, 2)", DATA, "poisson")
    text = str(model.summary())
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(DATA), model.predict(DATA))
    np.testing.assert_allclose(copied.predict(DATA.head(5)), model.predict(DATA)[:5], rtol=1e-10)
    assert str(copied.summary()) == text
    assert copied.test("C(g)", "wald") == model.test("C(g)", "wald")
    with pytest.raises(ValueError, match="does not carry them"):
        copied.test("C(g)")


def test_a_formula_is_forgotten_by_a_plain_fit():
    model = fit("y ~ x + C(g)", DATA, "poisson")
    X = DATA[["x", "z"]].to_numpy()
    model.fit(X, DATA["y"])
    np.testing.assert_allclose(model.predict(X), clone(model).fit(X, DATA["y"]).predict(X))
    assert not hasattr(model, "terms_") and not hasattr(model, "formula_")
    assert model.test(1).df == 1


def test_a_clone_has_no_formula():
    model = clone(fit("y ~ x + C(g)", DATA, "poisson"))
    assert repr(model) == "GeneralizedLinearModel(family='poisson')"
    assert not [name for name in vars(model) if name.endswith("_") or name.startswith("_")]


def test_verify_reads_the_frame_of_a_formula():
    model = fit("y ~ x + C(g)", DATA, "poisson")
    assert verify(model, DATA, DATA["y"]).status == "optimal"
