"""What the page says of columns and classes, of any model: one interval for a number, legible matrices, time."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

pytest.importorskip("matplotlib")

from separatrix import SVC, LogisticRegression, RandomForestClassifier
from separatrix.judge.compare import compare
from separatrix.judge.scores import Interval, digits
from separatrix.show import (
    ConfusionDisplay,
    DecisionRegionsDisplay,
    DependenceDisplay,
    ImportanceDisplay,
    RocDisplay,
)
from separatrix.show.look import tick_text
from separatrix.show.plane import discriminant_directions, find_plane
from separatrix.show.reading import ShownTable
from separatrix.show.report import report_html
from separatrix.show.report_parts.answers import JudgedAnswers
from separatrix.show.report_parts.classes import confusions, of_the_rare, per_class, rates
from separatrix.show.report_parts.tables import interval_texts
from separatrix.tables.encode import TableEncoder
from tests.show.panels import iris, mixed_table


def behind(model):
    return Pipeline([("columns", TableEncoder()), ("model", model)])


def text_of(page):
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(script|style).*?</\1>", "", page)))


# ---- the page ----


@pytest.fixture(scope="module")
def forest_page():
    X, y = mixed_table(200, 2)
    found = compare(X, y, models=["majority", "extra_trees"], cv=3, budget=None)
    return found, report_html(found, X=X, y=y)


def test_one_number_has_one_interval(forest_page):
    found, page = forest_page
    own = found.scores["extra_trees"]["auc"]
    mean, ends = interval_texts("auc", own)
    assert f"<dd>{mean}<small>{ends}</small></dd>" in page
    low, high = ends.split(" to ")
    assert f"area {mean} ({low}–{high})" in page  # the picture's words are the table's numbers
    assert not re.search(r"± 0\.0+\D", text_of(page))


def test_a_forests_page_is_full(forest_page):
    _, page = forest_page
    text = text_of(page)
    assert (
        "Importance by log loss, with 95 % intervals" in page and "On 3 folds, the model fitted anew" in text
    )
    assert "Precision against recall" in page and "Class by class" in text
    assert "Contributions are Shapley values, exact, from the leaves of 200 trees" in text
    assert "the model fitted anew without the row's fold" in text
    assert re.search(r"P\((yes|no)\) as (size|sky|count|open) moves and all else stays", page)
    assert len(page) < 3_000_000


@pytest.mark.parametrize("model", [LogisticRegression(), SVC(calibrate="sigmoid")])
def test_gaps_and_words_are_no_hindrance(model):
    X, y = mixed_table(120, 5)
    page = report_html(model=behind(model).fit(X, y), X=X, y=y)
    text = text_of(page)
    assert "No importance of columns is shown" not in text and "How the answer moves" in text
    assert ("Shapley values, exact over all sets of 4 columns" in text) == isinstance(model, SVC)


def test_what_there_is_no_time_for_is_named():
    X, y = iris(2)
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    text = text_of(report_html(model=model, X=X, y=y, seconds=1e-9))
    assert "For want of time" in text and "the importance of columns" in text
    assert "contributions of columns to the worst mistakes" in text


def test_wide_tables_are_not_drawn_as_planes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3_500))
    y = np.arange(30) % 2
    page = report_html(model=LogisticRegression().fit(X, y), X=X, y=y, seconds=1e-9)
    assert "a plane through 3,500 columns shows too little" in page


def test_planes_of_more_columns_than_rows_lie_in_the_span():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(12, 40))
    codes = np.arange(12) % 3
    B = discriminant_directions(z, codes)
    assert pytest.approx(np.eye(2), abs=1e-9) == B.T @ B
    inside = np.linalg.lstsq(z.T, B, rcond=None)[0]
    assert z.T @ inside == pytest.approx(B, abs=1e-9)
    plane = find_plane(ShownTable(z), "pca", None)
    centred = (z - z.mean(axis=0)) / z.std(axis=0)
    singular = np.linalg.svd(centred, compute_uv=False)
    assert np.linalg.norm(plane.points, axis=0) == pytest.approx(singular[:2])


def test_brier_is_said_where_it_is_shown():
    X, y = mixed_table(150, 1)
    found = compare(X, y, models=["logistic"], cv=3, budget=None, metric="brier")
    page = report_html(found, X=X, y=y)
    assert "The Brier score is the mean of (P(yes) − outcome)², as in scikit-learn." in page


# ---- classes ----


def test_rates_of_classes_are_scikit_learns():
    from sklearn.metrics import precision_recall_fscore_support

    rng = np.random.default_rng(0)
    truth, said = rng.integers(0, 5, 300), rng.integers(0, 5, 300)
    matrix = np.bincount(truth * 5 + said, minlength=25).reshape(5, 5)
    peer = precision_recall_fscore_support(truth, said)
    for own, other in zip(rates(matrix), peer):
        assert own == pytest.approx(other)


def test_a_rare_class_is_spoken_of_and_a_frequent_one_is_not():
    codes = np.r_[np.zeros(95, dtype=int), np.ones(5, dtype=int)]
    said = codes.copy()
    said[[0, 1, 99]] = [1, 1, 0]
    made = JudgedAnswers(None, np.arange(100), codes, None, said, "")
    assert of_the_rare(made, ["no", "yes"]) == (
        "Of the 5 rows of the rare class yes it finds 4 (80 %), and it calls 2 other rows so."
    )
    even = JudgedAnswers(None, np.arange(100), np.arange(100) % 2, None, np.arange(100) % 2, "")
    assert of_the_rare(even, ["no", "yes"]) == ""


def test_many_classes_are_folded_away_and_confusions_named():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 26, 600)
    said = np.where(codes == 3, 7, codes)
    made = JudgedAnswers(None, np.arange(600), codes, None, said, "")
    classes = list("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    table = per_class(made, classes)
    assert "The other 14 classes" in table and table.index(">D<") < table.index(">A<")
    assert "D called H" in confusions(made, classes)


@pytest.mark.parametrize("k", [26, 100])
def test_names_of_many_classes_do_not_overlap(k):
    rng = np.random.default_rng(k)
    truth = rng.integers(0, k, 3000)
    said = np.where(rng.random(3000) < 0.8, truth, rng.integers(0, k, 3000))
    names = np.array([f"kind {i}" for i in range(k)])
    display = ConfusionDisplay.from_predictions(names[truth], names[said], order="likeness")
    display.figure_.canvas.draw()
    for labels, side in ((display.ax_.get_yticklabels(), "height"), (display.ax_.get_xticklabels(), "width")):
        boxes = [label.get_window_extent() for label in labels]
        assert len(boxes) == k
        middles = np.sort([(b.y0 + b.y1) / 2 if side == "height" else (b.x0 + b.x1) / 2 for b in boxes])
        assert max(getattr(b, side) for b in boxes) <= np.diff(middles).min() * 1.02
        assert min(getattr(b, "height" if side == "height" else "width") for b in boxes) >= 3.0
    assert np.trace(display.matrix) == np.sum(truth == said) and display.matrix.sum() == 3000
    assert sorted(display.classes.tolist()) == sorted(names.tolist())
    display.close()


def test_classes_often_confused_are_neighbours():
    truth = np.repeat(np.arange(6), 40)
    said = truth.copy()
    said[truth == 0] = np.where(np.arange(40) < 20, 0, 5)
    display = ConfusionDisplay.from_predictions(truth, said, order="likeness")
    order = display.classes.tolist()
    assert abs(order.index(0) - order.index(5)) == 1
    display.close()
    with pytest.raises(ValueError, match="'size' is unknown"):
        ConfusionDisplay.from_predictions(truth, said, order="size")


# ---- displays ----


def test_an_area_that_is_known_is_the_one_said():
    display = RocDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], known=(0.8, 0.7, 0.9))
    assert display.alt_text == "ROC curve of 1: area 0.800 (0.700–0.900)."
    display.close()


def test_importances_are_hollow_where_zero_is_inside():
    X, y = mixed_table(300, 6)
    X["noise"] = np.random.default_rng(0).normal(size=len(X))
    display = ImportanceDisplay.from_estimator(behind(LogisticRegression()).fit(X, y), X, y)
    dots = [line for line in display.ax_.lines if line.get_marker() == "o"]
    for dot, drop in zip(dots, display.found.drop):
        hollow = dot.get_markerfacecolor() != dot.get_color()
        assert hollow == (drop.low <= 0 <= drop.high)
        assert dot.get_xdata()[0] == drop.mean
    assert display.found.names[0] in ("size", "sky", "count", "open")
    display.close()
    with pytest.raises(ValueError, match="'speed' is unknown"):
        ImportanceDisplay.from_estimator(behind(LogisticRegression()).fit(X, y), X, y, metric="speed")


def test_dependence_is_change_from_the_median_cell():
    X, y = mixed_table(200, 7)
    model = behind(LogisticRegression()).fit(X, y)
    display = DependenceDisplay.from_estimator(model, X, "count")
    found = display.found
    thick = max(display.ax_.lines, key=lambda line: line.get_linewidth())
    assert thick.get_ydata() == pytest.approx(found.mean[:, 1] - found.mean[found.start, 1])
    assert "median cell" in display.ax_.texts[0].get_text()
    display.close()
    words = DependenceDisplay.from_estimator(model, X, "sky")
    assert [t.get_text() for t in words.ax_.get_yticklabels()] == words.found.labels
    words.close()
    with pytest.raises(ValueError, match="'rain' is not in X"):
        DependenceDisplay.from_estimator(model, X, "rain")


def test_a_heavy_tail_is_said_on_the_axis_of_a_plane():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"gain": np.r_[rng.exponential(size=199), 9_000.0], "age": rng.normal(40, 9, 200)})
    model = LogisticRegression().fit(X, (X["age"] > 40).astype(int))
    display = DecisionRegionsDisplay.from_estimator(model, X, columns=("gain", "age"), steps=20)
    assert "gain to the 98th percentile; the largest is 9000" in display.plane.caption
    assert display.box[1] < 20
    display.close()


def test_figures_of_scores_and_axes():
    assert digits(Interval(0.933, 0.9329, 0.9331), 3) == 4
    assert interval_texts("auc", Interval(0.5, 0.5, 0.5)) == ("0.500", "")
    assert tick_text(1_000_000.0) == "1,000,000" and tick_text(-2.5e-5) == "−2.5e-05"
