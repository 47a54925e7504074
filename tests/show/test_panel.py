"""The panel of the report: its sums are the model's probabilities."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from separatrix import (
    DecisionTreeClassifier,
    LinearSVC,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from separatrix.show.report import report_html
from separatrix.show.report_parts import mistakes
from separatrix.show.report_parts.answers import judged, probabilities_of
from separatrix.show.report_parts.sums import NotASum, Sum, link_of
from tests.show.panels import MODELS, as_page, iris, telling


@pytest.mark.parametrize("name", MODELS)
def test_the_panel_is_predict_proba(name):
    model, X = MODELS[name]
    found = Sum.of(model, X)
    asked, _, expected = telling(model, X, found, 40, np.random.default_rng(3))
    np.testing.assert_allclose(as_page(found, asked), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_terms_add_up_to_the_scores(name):
    model, X = MODELS[name]
    found = Sum.of(model, X)
    rows = X[:25]
    P = link_of(found.mode, found.start + found.terms(rows).sum(axis=1))
    np.testing.assert_allclose(P, probabilities_of(model, rows), rtol=0, atol=1e-9)


def test_forms_are_those_of_the_families():
    found = Sum.of(*MODELS["families"])
    assert [form.kind for form in found.forms] == ["log", "beta", "poly", "poly"]
    kinds = {form.name: form.kind for form in Sum.of(*MODELS["naive bayes"]).forms}
    assert kinds["sky"] == kinds["open"] == "levels"


@pytest.mark.parametrize(
    "model, words, instead",
    [
        (QuadraticDiscriminantAnalysis(), "is no sum over columns", "<strong>A copy</strong>"),
        (DecisionTreeClassifier(max_depth=4), "", "The page computes what the model does, from its tree."),
        (LinearSVC(), "has no probabilities", "There is no panel to try other cells"),
        (LinearSVC(calibrate="isotonic"), "calibrated by steps", "<strong>A copy</strong>"),
    ],
)
def test_what_is_no_sum_is_refused_and_something_else_stands_in(model, words, instead):
    X, y = iris(2)
    model.fit(X, y)
    with pytest.raises(NotASum) as caught:
        Sum.of(model, X)
    assert words in str(caught.value)
    page = report_html(model=model, X=X, y=y)
    assert instead in page and ('id="whatif-data"' in page) == ("no panel" not in instead)


def test_contributions_add_up_to_the_odds_of_the_wrong_answer():
    model, X = MODELS["softmax"]
    found = Sum.of(model, X)
    start, c = mistakes.odds(found, found.terms(X[70:71])[0], 2, 1)
    logs = model.predict_log_proba(X[70:71])[0]
    assert start + c.sum() == pytest.approx(logs[2] - logs[1], abs=1e-9)


def test_worst_mistakes_are_wrong_and_ordered():
    X, y = iris()
    found = judged(LogisticRegression(C=0.01).fit(X, y), X, y)
    rows = mistakes.worst(found, 5)
    own = found.P[rows, found.codes[rows]]
    assert len(rows) == 5 and (np.diff(own) >= 0).all() and (found.said[rows] != found.codes[rows]).all()
    wrong = np.flatnonzero(found.said != found.codes)
    assert (
        own[-1] <= np.delete(found.P[wrong, found.codes[wrong]], [list(wrong).index(r) for r in rows]).min()
    )
