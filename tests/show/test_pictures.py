"""What each display computes, against a computation by hand or another library's, and what its artists hold."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as SklearnLinearSVC

from separatrix import (
    SVC,
    AdaBoostClassifier,
    BayesianLogisticRegression,
    DecisionTreeClassifier,
    GaussianNB,
    GeneralizedLinearModel,
    LinearSVC,
    LogisticRegression,
    SeparationWarning,
)
from separatrix.judge.learning_curve import learning_curve
from separatrix.show import (
    BoostingDisplay,
    CalibrationDisplay,
    CoefficientsDisplay,
    ConfusionDisplay,
    CostDisplay,
    LearningCurveDisplay,
    MarginsDisplay,
    OptimiserPathDisplay,
    RocDisplay,
    ThresholdDisplay,
    ValidationCurveDisplay,
)

X, y = load_iris(return_X_y=True)
late = y == 2
rng = np.random.default_rng(3)
P = rng.random(400)
HIT = rng.random(400) < P**1.5


# ---- margins ----


def test_margins_of_boosting_by_stages():
    model = AdaBoostClassifier(n_estimators=20).fit(X[:, :2], y == 0)
    rounds = len(model.estimators_)
    display = MarginsDisplay.from_estimator(model, X[:, :2], y == 0, stages=(1, rounds))
    staged = list(model.staged_margins(X[:, :2], y == 0))
    for t, line in zip((1, rounds), display.lines_):
        x, share = line.get_data()
        assert np.array_equal(x[1:], np.sort(staged[t - 1])) and share[0] == 0 and share[-1] == 1
    assert display.below_zero[f"{rounds} rounds"] == np.mean(staged[-1] < 0)


def test_margins_of_linear_and_other_models():
    linear = LogisticRegression().fit(X, late)
    found = MarginsDisplay.from_estimator(linear, X, late)
    assert np.allclose(found.margins["LogisticRegression"], np.sort(linear.geometric_margin(X, late)))
    score = MarginsDisplay.from_estimator(linear, X, late, kind="score").margins["LogisticRegression"]
    assert np.allclose(score, np.sort(np.where(late, 1, -1) * linear.decision_function(X)))
    three = DecisionTreeClassifier(max_depth=2).fit(X, y)
    shares = three.predict_proba(X)
    own = shares[np.arange(150), y]
    rival = np.where(np.eye(3, dtype=bool)[y], -1, shares).max(axis=1)
    found = MarginsDisplay.from_estimator(three, X, y)
    assert np.allclose(found.margins["DecisionTreeClassifier"], np.sort(own - rival))
    flat = MarginsDisplay.from_margins([0.1, 0.2, 0.9], cumulative=False)
    assert flat.lines_[0].get_ydata()[:-1].sum() == pytest.approx(1.0)


# ---- coefficients ----


def test_intervals_are_the_summarys():
    model = LogisticRegression(C=np.inf).fit(X[:, :2], late)
    display = CoefficientsDisplay.from_estimator(model, level=0.9, intercept=True)
    assert np.allclose(display.panels[0].ends, model.confidence_intervals(0.9))
    assert np.allclose(display.panels[0].value, [model.intercept_[0], *model.coef_[0]])
    assert display.names == ["(Intercept)", "x0", "x1"]
    (segments,) = display.ax_.collections
    drawn = np.array([s[:, 0] for s in segments.get_segments()])
    assert np.allclose(drawn, model.confidence_intervals(0.9))


def test_k_classes_against_the_first_with_intervals_and_bars_of_a_ridge():
    noisy = X[:, :2] + np.random.default_rng(0).normal(size=(150, 2))
    model = LogisticRegression(C=np.inf).fit(noisy, y)
    display = CoefficientsDisplay.from_estimator(model)
    assert [p.title for p in display.panels] == ["1 against 0", "2 against 0"]
    assert np.allclose(display.panels[1].value, model.coef_[2] - model.coef_[0])
    assert np.allclose(display.panels[1].ends, model.confidence_intervals()[4:])
    ridge = CoefficientsDisplay.from_estimator(LogisticRegression().fit(X, y))
    assert len(ridge.panels) == 3 and ridge.panels[0].ends is None and "No intervals" in ridge.note
    bars = [b.get_width() for b in ridge.axes_[1].patches]
    assert np.allclose(bars, LogisticRegression().fit(X, y).coef_[1])


def test_posterior_glm_machines_and_pipelines():
    bayes = BayesianLogisticRegression().fit(X, late)
    found = CoefficientsDisplay.from_estimator(bayes)
    assert np.allclose(found.panels[0].ends, bayes.credible_intervals().reshape(-1, 2)[1:])
    glm = GeneralizedLinearModel("poisson").fit(X, y)
    assert np.allclose(CoefficientsDisplay.from_estimator(glm).panels[0].ends, glm.confidence_intervals()[1:])
    pairs = CoefficientsDisplay.from_estimator(SVC(kernel="linear").fit(X, y))
    assert [p.title for p in pairs.panels] == ["0 against 1", "0 against 2", "1 against 2"]
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipe = make_pipeline(StandardScaler(), LinearSVC()).fit(frame, late)
    assert CoefficientsDisplay.from_estimator(pipe).names == list("abcd")
    assert CoefficientsDisplay.from_estimator(SklearnLinearSVC().fit(X, late)).panels[0].ends is None


def test_largest_first_and_only_so_many():
    cells, sick = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(cells, sick)
    display = CoefficientsDisplay.from_estimator(model, top=5, sort=True)
    size = np.abs(model[-1].coef_[0])
    assert display.shown.tolist() == np.argsort(-size)[:5].tolist()
    assert "5 largest of 30" in display.note
    assert np.all(np.diff(CoefficientsDisplay.from_estimator(model, top=5).shown) > 0)


def test_estimates_that_run_away_are_said_so():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        model = LogisticRegression(C=np.inf).fit(np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1])
    display = CoefficientsDisplay.from_estimator(model)
    assert [t.get_text() for t in display.ax_.texts if "∞" in t.get_text()] == ["→ +∞"]


# ---- optimiser paths ----


def test_path_over_its_own_objective():
    Z = (X[:, 2:] - X[:, 2:].mean(axis=0)) / X[:, 2:].std(axis=0)
    model = LogisticRegression(C=2.0, record_path=True, solver="newton").fit(Z, late)
    display = OptimiserPathDisplay.from_estimator(model, Z, late, steps=15)
    assert np.array_equal(display.paths["LogisticRegression"], model.path_.coef)
    assert np.array_equal(display.lines_[0].get_xdata(), model.path_.coef[:, 0])
    sign = np.where(late, 1.0, -1.0)
    for i, j in ((0, 0), (7, 3), (14, 14)):
        w = np.array([display.xx[i, j], display.yy[i, j]])
        loss = np.logaddexp(0, -sign * (Z @ w + model.intercept_[0])).mean() + 0.5 * w @ w / (2.0 * len(Z))
        assert display.height[i, j] == pytest.approx(loss, rel=1e-10)
    assert display.height.min() >= model.verdict_.objective - 1e-12


@pytest.mark.parametrize(
    "model, words",
    [
        (LogisticRegression(), "record_path=True"),
        (LogisticRegression(record_path=True), "two classes"),
    ],
)
def test_paths_that_cannot_be_drawn(model, words):
    with pytest.raises(TypeError, match=words):
        OptimiserPathDisplay.from_estimator(model.fit(X, y), X, y)


# ---- curves ----


def test_bands_are_students():
    scores = rng.random((4, 7))
    display = LearningCurveDisplay.from_scores([40, 10, 20, 80], {"a": scores}, level=0.9)
    order = [1, 2, 0, 3]
    expected = scipy.stats.t.interval(0.9, 6, scores.mean(axis=1), scipy.stats.sem(scores, axis=1))
    assert display.sizes.tolist() == [10, 20, 40, 80]
    assert np.allclose(display.curves["a"].low, expected[0][order])
    assert np.allclose(display.curves["a"].high, expected[1][order])
    assert np.allclose(display.lines_[0].get_ydata(), scores.mean(axis=1)[order])
    fill = display.ax_.collections[0].get_paths()[0].vertices
    assert fill[:, 1].min() == pytest.approx(expected[0].min()) and fill[:, 1].max() == pytest.approx(
        expected[1].max()
    )


def test_bands_given_are_drawn_as_given_and_one_fold_has_none():
    given_bands = {"a": ([0.0, 0.1], [0.5, 0.6])}
    display = LearningCurveDisplay.from_scores([1, 2], {"a": [[0.2, 0.4], [0.3, 0.5]]}, bands=given_bands)
    assert display.curves["a"].low.tolist() == [0.0, 0.1] and display.curves["a"].high.tolist() == [0.5, 0.6]
    assert not LearningCurveDisplay.from_scores([1, 2], [0.2, 0.1]).banded


def test_best_value_is_marked_on_the_curve_that_has_a_say():
    scores = {"training": [[0.9], [0.95], [0.99]], "held out": [[0.8], [0.9], [0.7]]}
    display = ValidationCurveDisplay.from_scores(
        [0.1, 1, 10], scores, parameter="C", metric="accuracy", smaller=False, mark="held out"
    )
    assert display.best == {"held out": 1.0}
    assert display.ax_.get_xscale() == "log"
    ring = display.ax_.lines[-1]
    assert ring.get_xydata().tolist() == [[1.0, 0.9]]


@pytest.mark.parametrize(
    "problem, words",
    [
        (lambda: LearningCurveDisplay.from_scores([1], {"a": [[1.0]]}), "two finite numbers or more"),
        (
            lambda: LearningCurveDisplay.from_scores([1, 2], {"a": [[1.0]]}),
            r"scores of 'a' must be \(2, folds\)",
        ),
        (
            lambda: LearningCurveDisplay.from_scores([1, 2], {"a": [[1.0], [np.nan]]}),
            "at sizes 2 are not finite",
        ),
        (lambda: LearningCurveDisplay.from_scores([1, 2], {}), "scores is empty"),
        (
            lambda: LearningCurveDisplay.from_scores([1, 2], {str(i): [1, 2] for i in range(9)}),
            "9 curves cannot",
        ),
        (
            lambda: ValidationCurveDisplay.from_scores([1, 2], {"a": [1, 2]}, mark="b"),
            "mark 'b' is not a curve",
        ),
        (lambda: LearningCurveDisplay.from_scores([1, 2], [1, 2], level=95), "level must lie"),
    ],
)
def test_curves_refused(problem, words):
    with pytest.raises(ValueError, match=words):
        problem()


def test_curves_of_learning_curve_are_its_own():
    found = learning_curve(
        {"bayes": GaussianNB(), "logistic": LogisticRegression()},
        X,
        y,
        sizes=[12, 30, 75],
        n_repeats=4,
        random_state=0,
    )
    display = LearningCurveDisplay.from_result(found)
    for i, name in enumerate(("bayes", "logistic")):
        assert np.allclose(display.curves[name].mean, found.means[i])
        assert np.allclose(
            np.column_stack([display.curves[name].low, display.curves[name].high]), found.intervals[i]
        )


def test_folds_that_were_not_run_are_left_out():
    whole = LearningCurveDisplay.from_scores([1, 2], {"a": [[0.2, 0.4], [0.3, 0.5]]})
    holed = LearningCurveDisplay.from_scores([1, 2], {"a": [[0.2, np.nan, 0.4], [0.3, 0.5, np.nan]]})
    assert np.allclose(whole.curves["a"].high, holed.curves["a"].high)


# ---- boosting ----


def test_boosting_curves():
    cells, sick = load_breast_cancer(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=30).fit(cells[::2], sick[::2])
    display = BoostingDisplay.from_estimator(model, X_test=cells[1::2], y_test=sick[1::2])
    assert np.array_equal(display.train, model.train_errors_)
    assert np.allclose(display.test, 1 - np.array(list(model.staged_score(cells[1::2], sick[1::2]))))
    assert np.allclose(display.bound, np.cumprod(model.normalizers_))
    assert np.array_equal(display.lines_[1].get_ydata(), display.test)
    again = BoostingDisplay.from_estimator(model, cells[::2], sick[::2])
    assert np.allclose(again.train, model.train_errors_) and again.test is None
    theirs = SklearnAdaBoost(n_estimators=30, random_state=0).fit(cells[::2], sick[::2])
    found = BoostingDisplay.from_estimator(theirs, cells[::2], sick[::2])
    assert (found.train <= found.bound + 1e-12).all()


# ---- what cannot be drawn ----


@pytest.mark.parametrize(
    "problem, words",
    [
        (lambda: CalibrationDisplay.from_estimator(GaussianNB().fit(X, late), X), "y is missing"),
        (lambda: CalibrationDisplay.from_estimator(LinearSVC().fit(X, late), X, late), "no predict_proba"),
        (lambda: CalibrationDisplay.from_predictions(HIT, P + 1), "probabilities lie between 0 and 1"),
        (lambda: CalibrationDisplay.from_predictions(y, P[:150]), "name it with label="),
        (lambda: CalibrationDisplay.from_predictions(HIT, P[:9]), r"must be \(400,\) like y"),
        (lambda: CalibrationDisplay.from_predictions(HIT, P, strategy="even"), "'even' is unknown"),
        (lambda: CalibrationDisplay.from_predictions(HIT, P, bins=0), "bins must be"),
        (lambda: CalibrationDisplay.from_predictions(np.ones(4), P[:4]), "has 1 classes"),
        (lambda: CalibrationDisplay.from_predictions(HIT, P, label=7), "no rows of class 7"),
        (lambda: ConfusionDisplay.from_predictions([1, 2], [1]), "must be as long"),
        (lambda: ConfusionDisplay.from_predictions(range(240), range(240)), "240 classes are too many"),
        (lambda: ConfusionDisplay.from_estimator(GaussianNB().fit(X, y), X), "y is missing"),
        (lambda: RocDisplay.from_predictions(HIT, np.full(400, np.nan)), "finite numbers"),
        (lambda: CostDisplay.from_predictions(HIT, P, miss=-1), "miss must be a positive cost"),
        (lambda: CostDisplay.from_estimator(GaussianNB().fit(X, y), X, y), "3 classes: name the one"),
        (lambda: MarginsDisplay.from_estimator(GaussianNB().fit(X, y), X), "y is missing"),
        (lambda: MarginsDisplay.from_estimator(GaussianNB().fit(X, y), X, y, stages=(1,)), "no staged_margins"),
        (lambda: MarginsDisplay.from_estimator(GaussianNB().fit(X, y), X, y, kind="wide"), "'wide' is unknown"),
        (lambda: MarginsDisplay.from_estimator(GaussianNB().fit(X, y), X, y, kind="geometric"), "no geometric"),
        (lambda: MarginsDisplay.from_margins([]), "finite numbers, at least one"),
        (lambda: BoostingDisplay.from_estimator(GaussianNB().fit(X, y)), "no staged_predict"),
        (lambda: CoefficientsDisplay.from_estimator(GaussianNB().fit(X, y)), "no coef_"),
        (lambda: CoefficientsDisplay.from_estimator(LogisticRegression().fit(X, y), names=["a"]), "names has 1"),
        (lambda: CoefficientsDisplay.from_estimator(LogisticRegression().fit(X, y), top=0), "top must be"),
    ],
)  # fmt: skip
def test_a_sentence_says_what_is_wrong(problem, words):
    with pytest.raises((ValueError, TypeError), match=words):
        problem()


def test_unfitted_models_are_named():
    for made in (
        RocDisplay,
        CalibrationDisplay,
        CostDisplay,
        ThresholdDisplay,
        ConfusionDisplay,
        MarginsDisplay,
    ):
        with pytest.raises(NotFittedError, match="GaussianNB is not fitted: call fit"):
            made.from_estimator(GaussianNB(), X, late)
    with pytest.raises(NotFittedError, match="LogisticRegression is not fitted"):
        CoefficientsDisplay.from_estimator(LogisticRegression())
    with pytest.raises(ValueError, match="keeps no training errors"):
        BoostingDisplay.from_estimator(SklearnAdaBoost(n_estimators=3).fit(X, y))
