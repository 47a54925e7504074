"""How pictures look: words that can be read on either ground, that touch no other words, and stay on the sheet."""

from itertools import combinations
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris

from separatrix import SVC, AdaBoostClassifier, GaussianNB, LogisticRegression, show
from separatrix.show.look import LINES, MARKERS, MOST, THEMES, contrast, luminance

X, y = load_iris(return_X_y=True)
names = ["sepal length", "sepal width", "petal length", "petal width"]
kinds = np.array(["setosa", "versicolor", "virginica"])[y]
late = np.where(y == 2, "virginica", "other")
rng = np.random.default_rng(0)


def path(theme, ax):
    model = LogisticRegression(record_path=True).fit(X[:, 2:], late)
    return show.OptimiserPathDisplay.from_estimator(model, X[:, 2:], late, steps=12, theme=theme, ax=ax)


PICTURES = {
    "regions": lambda theme, ax: show.DecisionRegionsDisplay.from_estimator(
        SVC(kernel="linear").fit(X[y > 0], kinds[y > 0]), X[y > 0], kinds[y > 0], names=names, columns=(0, 2),
        steps=20, theme=theme, ax=ax,
    ),
    "projection": lambda theme, ax: show.DecisionRegionsDisplay.from_estimator(
        LogisticRegression().fit(X, kinds), X, kinds, columns="lda", steps=20, theme=theme, ax=ax
    ),
    "margins": lambda theme, ax: show.MarginsDisplay.from_margins(
        {f"{t} rounds": rng.normal(0.2, 0.3, 50) for t in (5, 50, 200)}, theme=theme, ax=ax
    ),
    "coefficients": lambda theme, ax: show.CoefficientsDisplay.from_estimator(
        LogisticRegression(C=np.inf).fit(X[:, :2], late), names=names[:2], intercept=True, theme=theme, ax=ax
    ),
    "small multiples": lambda theme, ax: show.CoefficientsDisplay.from_estimator(
        LogisticRegression().fit(X, kinds), names=names, theme=theme, ax=ax
    ),
    "nomogram": lambda theme, ax: show.NomogramDisplay.from_estimator(
        LogisticRegression().fit(X, late), X, names=names, theme=theme, ax=ax
    ),
    "folded nomogram": lambda theme, ax: show.NomogramDisplay.from_estimator(
        GaussianNB().fit(X, kinds), X, names=names, label="virginica", against="setosa", theme=theme, ax=ax
    ),
    "path": path,
    "learning": lambda theme, ax: show.LearningCurveDisplay.from_scores(
        [10, 20, 40, 80, 100, 640], {"naive Bayes": rng.random((6, 5)), "logistic": rng.random((6, 5))},
        theme=theme, ax=ax,
    ),
    "validation": lambda theme, ax: show.ValidationCurveDisplay.from_scores(
        10.0 ** np.arange(-3, 4), {"held out": rng.random((7, 5))}, parameter="C", theme=theme, ax=ax
    ),
    "calibration": lambda theme, ax: show.CalibrationDisplay.from_estimator(
        GaussianNB().fit(X, late), X, late, bins=5, theme=theme, ax=ax
    ),
    "confusion": lambda theme, ax: show.ConfusionDisplay.from_estimator(
        LogisticRegression().fit(X, kinds), X, kinds, theme=theme, ax=ax
    ),
    "roc": lambda theme, ax: show.RocDisplay.from_estimator(GaussianNB().fit(X, kinds), X, kinds, theme=theme, ax=ax),
    "precision": lambda theme, ax: show.PrecisionRecallDisplay.from_estimator(
        GaussianNB().fit(X, late), X, late, theme=theme, ax=ax
    ),
    "threshold": lambda theme, ax: show.ThresholdDisplay.from_estimator(
        GaussianNB().fit(X, late), X, late, theme=theme, ax=ax
    ),
    "cost": lambda theme, ax: show.CostDisplay.from_estimator(
        GaussianNB().fit(X, late), X, late, miss=5, theme=theme, ax=ax
    ),
    "boosting": lambda theme, ax: show.BoostingDisplay.from_estimator(
        AdaBoostClassifier(n_estimators=40).fit(X[::2], kinds[::2]), X_test=X[1::2], y_test=kinds[1::2],
        theme=theme, ax=ax,
    ),
}  # fmt: skip


def words_of(figure):
    """Every text that is drawn, with its box in pixels."""
    figure.canvas.draw()
    texts, todo = list(figure.texts), list(figure.axes)
    while todo:
        ax = todo.pop()
        todo += ax.child_axes
        texts += [*ax.texts, ax._left_title, ax.title, ax._right_title]
        texts += ax.get_legend().get_texts() if ax.get_legend() else []
        for axis in (ax.xaxis, ax.yaxis) if ax.axison else ():
            texts += [
                axis.label,
                *(tick.label1 for tick in axis._update_ticks() if tick.label1.get_visible()),
            ]
    drawn = [t for t in texts if t.get_visible() and t.get_text().strip()]
    return [SimpleNamespace(text=t, said=t.get_text(), box=t.get_window_extent()) for t in drawn]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PICTURES)
def test_words_can_be_read_and_do_not_touch(name, theme):
    display = PICTURES[name](theme, None)
    words = words_of(display.figure_)
    assert len(words) >= 3
    ground = display.figure_.get_facecolor()
    assert (luminance(ground) < 0.05) == (theme == "dark")
    for w in words:
        if name == "confusion" and w.text in display.ax_.texts and w.said.replace(",", "").isdigit():
            column, row = (round(v) for v in w.text.get_position())
            cell = display.ax_.images[0].get_array()[row, column]
            assert contrast(w.text.get_color(), tuple(cell)) >= 4.5, w.said
        else:
            assert contrast(w.text.get_color(), ground) >= 4.5, w.said
    wide, high = display.figure_.canvas.get_width_height()
    for w in words:
        assert w.box.x0 >= -1 and w.box.y0 >= -1 and w.box.x1 <= wide + 1 and w.box.y1 <= high + 1, w.said
    for a, b in combinations(words, 2):
        across = min(a.box.x1, b.box.x1) - max(a.box.x0, b.box.x0)
        along = min(a.box.y1, b.box.y1) - max(a.box.y0, b.box.y0)
        assert across <= 1 or along <= 1, (a.said, b.said)


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_draws_on_axes_given_and_speaks(name):
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    display = PICTURES[name](None, right)
    assert display.ax_ is right and display.figure_ is figure
    assert not left.lines and not left.collections
    text = display.alt_text
    assert text.endswith(".") and 20 < len(text) < 700 and " nan" not in text
    assert display.ax_.get_title(loc="left")
    figure.canvas.draw()


@pytest.mark.parametrize("theme", THEMES)
def test_inks_are_legible_and_marks_stand_out(theme):
    look = THEMES[theme]
    assert len(look.colours) == len(look.inks) == len(MARKERS) == len(LINES) == MOST
    assert len(set(map(str, LINES))) == MOST and len(set(MARKERS)) == MOST and len(set(look.colours)) == MOST
    for ink in (look.ink, look.muted, *look.inks):
        assert contrast(ink, look.ground) >= 4.5
    for colour in look.colours:
        assert contrast(colour, look.ground) >= 1.9
    assert contrast(look.frame, look.ground) >= 3.0


def test_the_first_two_colours_differ_in_grey():
    for look in THEMES.values():
        assert abs(luminance(look.colours[0]) - luminance(look.colours[1])) > 0.1


def test_style_is_for_the_figures_made_within():
    before = plt.rcParams["axes.facecolor"]
    with show.style("dark"):
        figure, ax = plt.subplots()
    assert plt.rcParams["axes.facecolor"] == before
    display = show.MarginsDisplay.from_margins([0.1, 0.5], ax=ax)
    assert contrast(display.ax_._left_title.get_color(), figure.get_facecolor()) >= 4.5
    assert contrast(ax.xaxis.label.get_color(), figure.get_facecolor()) >= 4.5
    with pytest.raises(ValueError, match="theme 'sepia' is unknown"), show.style("sepia"):
        pass


def test_a_theme_named_paints_axes_made_elsewhere():
    figure, ax = plt.subplots()
    show.MarginsDisplay.from_margins([0.1, 0.5], ax=ax, theme="dark")
    assert luminance(figure.get_facecolor()) < 0.05 and luminance(ax.get_facecolor()) < 0.05


def test_contrast_is_the_standards():
    assert abs(contrast("#767676", "white") - 4.54) < 0.01
    assert contrast("white", "black") == pytest.approx(21.0)


def test_save_writes_a_file(tmp_path):
    show.MarginsDisplay.from_margins([0.1, 0.5]).save(tmp_path / "a.png")
    assert plt.imread(tmp_path / "a.png").shape[0] > 600


def test_names_are_loaded_when_asked_for():
    assert {"NomogramDisplay", "style"} <= set(dir(show))
    with pytest.raises(AttributeError, match="no attribute 'PieDisplay'"):
        _ = show.PieDisplay


def test_the_room_opens_without_matplotlib():
    import subprocess
    import sys

    code = (
        "import sys, separatrix.show as show\n"
        "for name in show.__all__: getattr(show, name)\n"
        "assert not any(m.split('.')[0] == 'matplotlib' for m in sys.modules)\n"
        "sys.modules['matplotlib'] = None\n"
        "try: show.MarginsDisplay.from_margins([0.1])\n"
        "except ImportError as e: print(e)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'pictures need matplotlib: pip install "separatrix[plot]"'
