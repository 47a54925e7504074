"""The HTML report: harmless, whole in itself, and what it says is what the comparison says."""

import os
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

pytest.importorskip("matplotlib")

from separatrix import (
    DecisionTreeClassifier,
    LinearSVC,
    LogisticRegression,
)
from separatrix.judge.compare import compare
from separatrix.judge.scores import calibration_error
from separatrix.show.coefficients import read_coefficients
from separatrix.show.reading import ShownTable
from separatrix.show.report import report_html, write_report
from separatrix.show.report_parts import pictures
from separatrix.show.report_parts.answers import judged
from separatrix.show.report_parts.pieces import pieces
from separatrix.show.report_parts.reproduce import data_hash
from separatrix.show.report_parts.resampled import with_ends
from separatrix.show.report_parts.sums import Sum, link_of
from separatrix.tables.encode import TableEncoder
from tests.show.panels import EVIL, dated, iris, mixed_table


class Reader(HTMLParser):
    """Elements with attributes, ids, headings; refuses what does not close."""

    VOID = ("meta", "img", "input", "br", "wbr", "source", "line", "circle", "rect", "path")

    def __init__(self, page):
        super().__init__()
        self.elements, self.stack, self.text = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, f"</{tag}> closes {self.stack[-3:]}"
        self.stack.pop()

    def handle_data(self, data):
        if not self.stack or self.stack[-1] not in ("script", "style"):
            self.text.append(data)

    def of(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture(scope="module")
def comparison():
    X, y = mixed_table()
    X = X.rename(columns={"size": EVIL, "sky": '" onmouseover="alert(2)'})
    y = np.where(y == "yes", EVIL, "no & <b>")
    return X, y, compare(X, y, models=["majority", "naive_bayes", "logistic"], cv=3, budget=None)


@pytest.fixture(scope="module")
def page(comparison):
    X, y, found = comparison
    return report_html(
        found, X=X, y=y, title=EVIL, source=f"/nowhere/{EVIL}.csv", command=f"separatrix {EVIL}"
    )


def test_nothing_comes_from_outside(page):
    assert not re.search(r"(?i)(src|href|srcset|action|poster|data)\s*=\s*[\"']?\s*(https?:)?//", page)
    assert not re.search(r"(?i)@import|url\(|<link|<iframe|<object|<embed|<base", page)
    assert "https://" not in page and "http://" not in page
    reader = Reader(page)
    for tag, attrs in reader.elements:
        for key in ("src", "srcset"):
            if key in attrs:
                assert attrs[key].startswith("data:image/svg+xml;base64,"), tag
        if "href" in attrs:
            assert attrs["href"].startswith("#")
    policy = next(a["content"] for a in reader.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy and "script-src 'sha256-" in policy


def test_everything_is_escaped(page):
    reader = Reader(page)
    assert EVIL in "".join(reader.text)  # it is there, as text
    scripts = reader.of("script")
    assert len(scripts) == 2  # the numbers and the panel's own
    assert page.count("<script") == 2 and "alert(1)</script>" not in page
    assert not any(key.startswith("on") for _, attrs in reader.elements for key in attrs)


def test_the_page_is_well_made(page):
    reader = Reader(page)
    assert reader.stack == [] and page.startswith("<!DOCTYPE html>")
    assert reader.of("html") == [{"lang": "en"}]
    ids = [attrs["id"] for _, attrs in reader.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert all(attrs.get("alt") for attrs in reader.of("img")) and len(reader.of("img")) >= 4
    assert all(attrs.get("scope") in ("col", "row") for attrs in reader.of("th")) and reader.of("th")
    labels = {attrs["for"] for attrs in reader.of("label") if "for" in attrs}
    for tag in ("input", "select"):
        for attrs in reader.of(tag):
            assert attrs["id"] in labels or "aria-label" in attrs or attrs["type"] == "checkbox"
    levels = [int(tag[1]) for tag, _ in reader.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1 and max(np.diff(levels)) <= 1
    targets = {attrs["href"][1:] for attrs in reader.of("a")}
    assert targets <= set(ids)
    for part in (
        "alerts",
        "verdict",
        "pictures",
        "ranking",
        "coefficients",
        "mistakes",
        "whatif-section",
        "reproduce",
    ):
        assert part in targets
    for words in ("prefers-color-scheme: dark", "@media print", "max-width: 44rem"):
        assert words in page


def test_the_ranking_says_what_the_comparison_says(page, comparison):
    _, _, found = comparison
    text = "".join(Reader(page).text)
    for place, name in enumerate(found.ranking, 1):
        assert f"{place}. {found.titles[name]}" in text
        assert f"{found.scores[name]['log_loss'].mean:.4f}" in text
    real = sum(d.real for d in found.differences)
    assert text.count("really worse, by") == real
    assert text.count("cannot be told apart") == len(found.differences) - real


def test_the_calibration_error_is_one_number(page, comparison):
    X, y, found = comparison
    mean = found.scores[found.best]["calibration_error"].mean
    answers = judged(found.best_model, X, y, comparison=found, name=found.best)
    shown = pictures.calibration(answers, found.classes.tolist(), "")
    assert shown.error == pytest.approx(mean, rel=1e-12)
    assert f"expected calibration error {mean:.3g}," in page
    assert f"<dd>{mean:.3f}<small>" in page
    assert "times: these are of the first" not in page


def test_repetitions_are_spoken_of():
    X, y = iris()
    found = compare(X, y, models=["naive_bayes"], cv=(2, 3), budget=None)
    page = report_html(found, X=X, y=y)
    assert "It was made 3 times: these are of the first, the scores above are means over all." in page
    rows, P = found.out_of_fold()
    codes = np.unique(y, return_inverse=True)[1]
    assert f"expected calibration error {calibration_error(codes[rows], P):.3g}," in page


def test_page_tells_how_to_reproduce(page, comparison):
    X, y, _ = comparison
    assert data_hash(X, y) in page and "scikit-learn" in page
    changed = X.copy()
    changed.iloc[5, 3] += 1
    assert data_hash(changed, y) != data_hash(X, y)
    assert data_hash(X, np.roll(y, 1)) != data_hash(X, y)


def test_test_rows_are_those_judged():
    X, y = iris()
    model = LogisticRegression().fit(X[::2], y[::2])
    page = report_html(model=model, X=X[::2], y=y[::2], X_test=X[1::2], y_test=y[1::2])
    right = np.mean(model.predict(X[1::2]) == y[1::2])
    assert "the 75 test rows" in page and f"{100 * right:.1f} %" in page


def test_intervals_of_a_fit_without_penalty_are_wald():
    X, y = mixed_table()
    model = LogisticRegression(C=np.inf).fit(X[["count"]], y)
    page = report_html(model=model, X=X[["count"]], y=y)
    low = model.summary(level=0.95).columns["low"][1]
    assert f"{low:#.3g}".replace("-", "−") in page
    assert "bootstraps of the rows: how much" not in page


def test_intervals_of_a_penalised_fit_are_as_wide_as_walds():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 3))
    y = np.where(rng.logistic(size=1500) < X @ [1.0, -0.5, 0.0], "b", "a")
    model, free = LogisticRegression(C=100.0).fit(X, y), LogisticRegression(C=np.inf).fit(X, y)
    panels, note = with_ends(model, X, y, read_coefficients(model, 0.95, True)[1], 0.95)
    table = free.summary(level=0.95)
    wald = table.columns["high"] - table.columns["low"]
    low, high = panels[0].ends.T
    assert "200 bootstraps" in note and ((low < panels[0].value) & (panels[0].value < high)).all()
    np.testing.assert_allclose(high - low, wald, rtol=0.25)
    assert "200 bootstraps of the rows" in report_html(model=model, X=X, y=y)


def test_written_whole_or_not_at_all(tmp_path, monkeypatch):
    X, y = iris(2)
    model = LogisticRegression().fit(X, y)
    path = tmp_path / "r.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="y must hold a label"):
        write_report(path, model=model, X=X, y=y[:-1])
    monkeypatch.setattr(os, "replace", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_report(path, model=model, X=X, y=y)
    monkeypatch.undo()
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["r.html"]
    write_report(path, model=model, X=X, y=y)
    assert path.read_text(encoding="utf-8").endswith("</html>\n")


def test_bad_input_is_said():
    X, y = iris(2)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="nothing to report on"):
        report_html(X=X, y=y)
    with pytest.raises(ValueError, match="X_test and y_test go together"):
        report_html(model=model, X=X, y=y, X_test=X)
    with pytest.raises(ValueError, match="no folder"):
        write_report("/no/such/folder/r.html", model=model, X=X, y=y)
    with pytest.raises(Exception, match="not fitted"):
        report_html(model=LogisticRegression(), X=X, y=y)


def test_same_data_same_page():
    X, y = iris(2)
    model = LogisticRegression().fit(X, y)
    one, two = (report_html(model=model, X=X, y=y) for _ in range(2))
    assert one == two


def test_words_of_a_text_are_its_contributions():
    rng = np.random.default_rng(0)
    spam, ham = ["win", "cash", "now", "prize"], ["lunch", "home", "train", "mum"]
    y = rng.integers(0, 2, 500)
    texts = [
        " ".join(rng.choice(spam if k != (rng.random() < 0.2) else ham, 5)) + f" n{i}"
        for i, k in enumerate(y)
    ]
    X = pd.DataFrame({"text": texts})
    labels = np.where(y == 1, "spam", "ham")
    encoder = TableEncoder(kinds={"text": "text"})
    model = Pipeline([("t", encoder), ("m", LogisticRegression())]).fit(X, labels)
    found = pieces(model, X[:3])
    for i, piece in enumerate(found):
        logs = model.predict_log_proba(X[i : i + 1])[0]
        assert piece.start[0] + piece.terms.sum() == pytest.approx(logs[1] - logs[0], abs=1e-9)
    page = report_html(model=model, X=X, y=labels)
    assert "the columns are texts or constants" in page
    assert re.search(r'<th scope="row">text: (win|cash|now|prize|lunch|home|train|mum)</th>', page)


def test_no_words_are_told_apart_where_there_is_no_sum():
    from scipy.sparse import csr_matrix

    X, y = iris(2)
    sparse = csr_matrix(X.to_numpy())
    assert pieces(DecisionTreeClassifier().fit(X.to_numpy(), y), X.to_numpy()) is None
    assert pieces(LinearSVC().fit(sparse, y), sparse[:2]) is None
    assert pieces(LogisticRegression().fit(sparse, y), sparse[:2]) is not None
    page = report_html(model=LogisticRegression().fit(sparse, y), X=sparse, y=y)
    assert "an empty row" in page and "There is no panel" in page


def test_digits_kept_as_words_are_words_of_the_panel():
    X, y = mixed_table()
    X["code"] = np.where(np.arange(len(X)) % 3 == 0, "01", "7")
    model = Pipeline([("t", TableEncoder()), ("m", LogisticRegression())]).fit(X, y)
    found = Sum.of(model, X)
    assert found.forms[-1].kind == "levels" and set(found.forms[-1].cells) == {"01", "7"}


def test_usual_dates_are_the_median():
    X, _ = dated()
    whole = X["when"].dropna().sort_values()
    assert pd.Timestamp(ShownTable(X).base[-1]) == whole.iloc[(len(whole) - 1) // 2]


def test_cells_not_met_in_training_have_terms():
    X, y = dated()
    model = Pipeline([("t", TableEncoder()), ("m", LogisticRegression())]).fit(X, y)
    found = Sum.of(model, X)
    new = X[:30].copy()
    new["when"] += pd.Timedelta(days=4000)
    new["sky"] = "fog"
    P = link_of(found.mode, found.start + found.terms(new).sum(axis=1))
    np.testing.assert_allclose(P, model.predict_proba(new), rtol=0, atol=1e-9)
    form = next(f for f in found.forms if f.name == "when")
    assert "2024-01-01" in form.labels and "(missing)" in form.labels and len(form.cells) <= 103
