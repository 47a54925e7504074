"""The what-if panel in a real browser: what it shows is predict_proba to 1e-6, by link, by slider, by keyboard."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from separatrix.show.report import write_report
from separatrix.show.report_parts.answers import probabilities_of
from separatrix.show.report_parts.sums import Sum
from separatrix.show.report_parts.whatif import usual_of
from tests.show.panels import MODELS, frame_like, telling

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine: the page was not opened"
)
WHICH = [
    "encoded",
    "dates",
    "cancer",
    "softmax",
    "gaussian nb",
    "families",
    "probit",
    "machine",
    "machines",
    "cut",
    "naive bayes",
]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Name → path of its report, written when first asked for."""
    folder, made = tmp_path_factory.mktemp("reports"), {}

    def of(name):
        if name not in made:
            model, X = MODELS[name]
            made[name] = folder / f"{name.replace(' ', '_')}.html"
            labels = np.asarray(getattr(model, "classes_", [False, True]))
            y = labels[probabilities_of(model, X).argmax(axis=1)]
            write_report(made[name], model=model, X=X, y=y, X_test=X[:40], y_test=y[:40])
        return made[name]

    return of


def opened(path, asked):
    """The document after its script has run, with the settings as a link."""
    link = f"{Path(path).as_uri()}#whatif={quote(json.dumps({str(j): v for j, v in enumerate(asked)}))}"
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", link],
        capture_output=True, text=True, encoding="utf-8", timeout=60,
    )  # fmt: skip
    assert 'data-ready="yes"' in done.stdout, done.stderr[-2000:]
    return done.stdout


def shown(dom):
    found = re.findall(r'id="whatif-p-\d+"[^>]*>([0-9.]+)<', dom)
    return np.array([float(html.unescape(v)) for v in found])


@needs_browser
@pytest.mark.parametrize("name", WHICH)
def test_a_link_shows_predict_proba(name, written):
    model, X = MODELS[name]
    found = Sum.of(model, X)
    asked, _, expected = telling(model, X, found, 3, np.random.default_rng(5))
    for row, P in zip(asked, expected):
        np.testing.assert_allclose(shown(opened(written(name), row)), P, rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip("playwright.sync_api", reason="no playwright: the controls were not moved")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: the page was not opened")
    with sync.sync_playwright() as p:
        started = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def visit(browser, path, **options):
    page = browser.new_page(**options)
    said = []
    page.on("console", lambda m: said.append(m.text))
    page.on("pageerror", lambda m: said.append(str(m)))
    page.on("request", lambda r: said.append(r.url) if not r.url.startswith(("file:", "data:")) else None)
    page.goto(Path(path).as_uri())
    page.wait_for_selector("#whatif[data-ready=yes]")
    return page, said


def read(page):
    return np.array([float(v) for v in page.locator("[id^=whatif-p-]").all_inner_texts()])


@pytest.mark.parametrize("name", ["encoded", "cancer", "softmax"])
def test_moved_controls_show_predict_proba(name, written, browser):
    model, X = MODELS[name]
    found = Sum.of(model, X)
    page, said = visit(browser, written(name))
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    usual = read(page)
    start = [form.usual if form.kind == "levels" else usual_of(form) for form in found.forms]
    np.testing.assert_allclose(usual, probabilities_of(model, frame_like(X, [start]))[0], rtol=0, atol=1e-6)
    asked, _, expected = telling(model, X, found, 3, np.random.default_rng(7))
    for row, P in zip(asked, expected):
        for j, form in enumerate(found.forms):
            if form.kind == "levels":
                page.select_option(f"#w{j}", str(row[j]))
            elif form.missing is not None and row[j] is None:
                page.check(f"#w{j}-m")
            else:
                if form.missing is not None:
                    page.uncheck(f"#w{j}-m")
                page.fill(f"#w{j}", repr(row[j]))
        np.testing.assert_allclose(read(page), P, rtol=0, atol=1e-6)
        labels = [str(c) for c in np.asarray(model.classes_).tolist()]
        assert page.inner_text("#whatif-class") == labels[int(P.argmax())]
    page.click("#whatif-reset")
    np.testing.assert_array_equal(read(page), usual)
    assert said == []


def test_slider_by_keyboard(written, browser):
    model, X = MODELS["softmax"]
    page, _ = visit(browser, written("softmax"))
    page.focus("#w2-r")
    for key in ("End", "ArrowLeft", "ArrowLeft", "PageDown"):
        page.keyboard.press(key)
    cells = [float(page.input_value(f"#w{j}")) for j in range(4)]
    assert cells[2] < X.iloc[:, 2].max() and cells[2] != Sum.of(model, X).forms[2].usual
    np.testing.assert_allclose(read(page), model.predict_proba(frame_like(X, [cells]))[0], rtol=0, atol=1e-6)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "w2"
    page.fill("#w2", "1e9")  # beyond what was seen: held at the largest
    page.keyboard.press("Tab")
    assert float(page.input_value("#w2")) == X.iloc[:, 2].max()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_and_follows_the_scheme(width, scheme, written, browser):
    page, said = visit(
        browser, written("encoded"), viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(21, 24, 29)")
    pictures = page.evaluate("[...document.images].map(i => [i.naturalWidth > 0, i.currentSrc.length])")
    assert pictures and all(drawn for drawn, _ in pictures)
    sources = page.evaluate(
        "[...document.querySelectorAll('picture')]"
        ".map(p => p.querySelector('img').currentSrc === p.querySelector('source').srcset)"
    )
    assert all(dark == (scheme == "dark") for dark in sources)
    assert said == []
