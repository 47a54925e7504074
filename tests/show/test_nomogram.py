"""A nomogram is the model: its points add up to predict_proba for every additive model; others are refused."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.naive_bayes import GaussianNB as SklearnNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from separatrix import (
    SVC,
    BernoulliNB,
    GaussianNB,
    GeneralizedLinearModel,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
    TableEncoder,
)
from separatrix.show import NomogramDisplay
from separatrix.show.nomogram import spaced
from tests.draws import examples

X, y = load_iris(return_X_y=True)
late = y == 2
draw = NomogramDisplay.from_estimator


def read_off(display, rows):
    return display.probability(display.points(rows).sum(axis=1))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(), LogisticRegression(C=np.inf), SklearnLogistic(), LinearDiscriminantAnalysis(),
        GaussianNB(), GaussianNB(tie="class"), SklearnNB(), LinearSVC(calibrate="sigmoid"),
        SVC(kernel="linear", calibrate="sigmoid"),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda m: type(m).__name__,
)  # fmt: skip
def test_points_add_up_to_predict_proba(model):
    model.fit(X, late)
    display = draw(model, X)
    assert np.abs(read_off(display, X) - model.predict_proba(X)[:, 1]).max() < 1e-12
    beyond = X + np.array([3.0, -2.0, 1.0, 0.5])  # rows outside the axes
    assert np.abs(read_off(display, beyond) - model.predict_proba(beyond)[:, 1]).max() < 1e-12
    other = draw(model, X, label=False)
    assert np.abs(read_off(other, X) - model.predict_proba(X)[:, 0]).max() < 1e-12


def test_breast_cancer_with_thirty_columns():
    cells, sick = load_breast_cancer(return_X_y=True)
    model = LogisticRegression().fit(cells, sick)
    display = draw(model, cells, top=5)
    assert len(display.shown) == 5 and "of 30" in display.note
    assert np.abs(read_off(display, cells) - model.predict_proba(cells)[:, 1]).max() < 1e-12


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_binomial_models_under_any_link(link):
    model = GeneralizedLinearModel("binomial", link).fit(X[:, :2], late.astype(float))
    display = draw(model, X[:, :2])
    assert np.abs(read_off(display, X[:, :2]) - model.predict(X[:, :2])).max() < 1e-12
    assert display.answer == "probability of success"


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB(), LinearDiscriminantAnalysis()])
def test_of_three_classes_one_against_another(model):
    model.fit(X, np.array(["a", "b", "c"])[y])
    display = draw(model, X, label="c", against="b")
    P = model.predict_proba(X)
    assert np.abs(read_off(display, X) - P[:, 2] / (P[:, 1] + P[:, 2])).max() < 1e-12


def test_mixed_frames_and_encoders():
    frame = pd.DataFrame({
        "length": X[:, 2], "petals": np.where(X[:, 3] > 1.4, "wide", "narrow"), "long": X[:, 0] > 6,
    })  # fmt: skip
    bayes = NaiveBayes().fit(frame, late)
    display = draw(bayes, frame)
    assert np.abs(read_off(display, frame) - bayes.predict_proba(frame)[:, 1]).max() < 1e-12
    encoder = make_column_transformer((OneHotEncoder(), ["petals"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression()).fit(frame, late)
    display = draw(model, frame)
    assert np.abs(read_off(display, frame) - model.predict_proba(frame)[:, 1]).max() < 1e-12
    assert sorted(display.scales[1].labels) == ["narrow", "wide"]


def test_switches_and_digits_kept_as_words_reach_the_encoder_as_they_were():
    frame = pd.DataFrame({
        "length": X[:, 2], "long": X[:, 0] > 6, "code": np.where(X[:, 1] > 3, "01", "7"),
    })  # fmt: skip
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, late)
    display = draw(model, frame)
    assert np.abs(read_off(display, frame) - model.predict_proba(frame)[:, 1]).max() < 1e-12
    assert [s.ticks for s in display.scales[1:]] == [[False, True], ["7", "01"]]


def test_words_that_the_picture_has_no_row_of():
    frame = pd.DataFrame({"length": X[:, 2], "petals": np.where(X[:, 3] > 1.4, "wide", "narrow")})
    frame.loc[::9, "petals"] = "none"
    model = NaiveBayes().fit(frame, late)
    display = draw(model, frame[frame["petals"] != "none"])
    assert np.abs(read_off(display, frame) - model.predict_proba(frame)[:, 1]).max() < 1e-12


def test_columns_are_asked_about_together():
    class Counted(StandardScaler):
        seen = []

        def transform(self, X):
            self.seen.append(len(X))
            return super().transform(X)

    def asked(p):
        cells = pd.DataFrame(np.random.default_rng(0).normal(size=(50, p))).add_prefix("c")
        model = make_pipeline(Counted(), LogisticRegression()).fit(cells, np.arange(50) % 2)
        Counted.seen.clear()
        draw(model, cells).close()
        return len(Counted.seen), sum(Counted.seen)

    (few, rows), (many, more) = asked(5), asked(40)
    assert few == many < 10
    assert more < 10 * rows  # in proportion to the columns: 8 times as many


def test_words_counted_or_not():
    seen = np.greater(X, X.mean(axis=0)).astype(float)
    model = BernoulliNB().fit(seen, late)
    display = draw(model, seen)
    assert np.abs(read_off(display, seen) - model.predict_proba(seen)[:, 1]).max() < 1e-12
    assert [s.labels for s in display.scales] == [["0", "1"]] * 4


@examples(25)
@given(st.integers(0, 10_000), st.integers(1, 6), st.floats(-3, 3))
def test_any_weights(seed, p, scale):
    rng = np.random.default_rng(seed)
    cells = rng.normal(size=(40, p)) * 10.0**scale
    model = LogisticRegression().fit(cells, np.arange(40) % 2)
    display = draw(model, cells)
    assert np.abs(read_off(display, cells) - model.predict_proba(cells)[:, 1]).max() < 1e-12
    display.close()


def test_scales_are_the_widest_a_hundred_points_and_none_below_zero():
    model = LogisticRegression().fit(X, late)
    display = draw(model, X)
    points = display.points(X)
    assert points.min() > -1e-9 and abs(points.max() - 100) < 1e-9
    assert np.abs(points.min(axis=0)).max() < 1e-9
    # a step of one unit is worth the same points everywhere, in proportion to the weight
    step = display.points(X + np.eye(4)[0]) - points
    assert np.allclose(step[:, 0], display.unit * model.coef_[0, 0])


def test_probability_axis_reads_what_it_says():
    display = draw(LogisticRegression().fit(X, late), X)
    first, last = display._ends()
    for at, text in display._share_ticks(first, last):
        assert abs(display.probability(at) - float(text)) < 1e-9


@pytest.mark.parametrize(
    "model",
    [QuadraticDiscriminantAnalysis(), RandomForestClassifier(5, random_state=0), SVC(calibrate="sigmoid")],
)
def test_models_that_are_no_sum_are_refused(model):
    with pytest.raises((TypeError, ValueError), match=r"no sum over columns|certain of some rows"):
        draw(model.fit(X, late), X)


@pytest.mark.parametrize(
    "problem, words",
    [
        (lambda: draw(LogisticRegression().fit(X, y), X), "3 classes and a nomogram compares two"),
        (lambda: draw(LogisticRegression().fit(X, y), X, label=1, against=1), "name two classes"),
        (lambda: draw(LogisticRegression().fit(X, y), X, label=1, against=9), "label 9 is not a class"),
        (lambda: draw(LinearSVC().fit(X, late), X), 'no predict_proba.*calibrate="sigmoid"'),
        (lambda: draw(LinearSVC(calibrate="isotonic").fit(X, late), X), "no sum over columns"),
        (lambda: draw(GeneralizedLinearModel("poisson").fit(X, y), X), "family is poisson"),
        (lambda: draw(LogisticRegression(), X), "not fitted"),
        (lambda: draw(LogisticRegression().fit(X, late), np.tile(X[:1], (5, 1))), "the same score"),
    ],
)
def test_sentences(problem, words):
    with pytest.raises((TypeError, ValueError), match=words):
        problem()


def test_labels_that_would_touch_are_left_out():
    ticks = [(float(v), f"{v:.1f}") for v in np.linspace(0, 10, 41)]
    kept = [(at, text) for at, text, shown in spaced(ticks, 0.5) if shown]
    assert kept[0][0] == 0 and kept[-1][0] == 10
    half = 0.5 * 0.5 * 4
    assert all(b - a >= 2 * half - 1e-9 for (a, _), (b, _) in pairwise(kept))


def test_levels_without_room_above_the_line_are_written_below():
    frame = pd.DataFrame({"length": X[:, 2], "petals": np.where(X[:, 3] > 1.4, "wide", "narrow")})
    frame.loc[::7, "petals"] = "narrow"  # a weak column, whose levels lie close together
    display = draw(NaiveBayes().fit(frame, late), frame)
    written = {t.get_text(): t for t in display.ax_.texts}
    assert {"wide", "narrow"} <= written.keys()


def test_a_column_that_turns_shows_its_falling_branch_below():
    cells = np.concatenate([np.linspace(-3, 3, 60), np.linspace(-1, 1, 60)])[:, None]
    model = GaussianNB().fit(cells, np.repeat([0, 1], 60))
    display = draw(model, cells)
    scale = display.scales[0]
    assert (np.diff(scale.terms) > 0).any() and (np.diff(scale.terms) < 0).any()
    at = {t.get_text(): t.get_position()[1] for t in display.ax_.texts if t.get_text() in scale.labels}
    assert len({round(v, 6) for v in at.values()} & {0.82, 1.18}) == 2


def test_missing_cells_have_a_place_of_their_own():
    frame = pd.DataFrame({"length": X[:, 2], "word": ["u", None, "v"] * 50})
    frame.loc[3, "length"] = np.nan
    model = NaiveBayes().fit(frame, late)
    display = draw(model, frame)
    assert np.abs(read_off(display, frame) - model.predict_proba(frame)[:, 1]).max() < 1e-12
    assert sorted(display.scales[1].labels) == ["missing", "u", "v"]
