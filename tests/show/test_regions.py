"""Decision regions: what is drawn lies where the model says, for our models and scikit-learn's, arrays and frames."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC as SklearnSVC

from separatrix import SVC, GaussianNB, LinearSVC, LogisticRegression, NaiveBayes
from separatrix.show import DecisionRegionsDisplay
from separatrix.show.plane import discriminant_directions
from separatrix.show.reading import ShownTable
from separatrix.show.regions import is_margin_machine, support_rows

X, y = load_iris(return_X_y=True)
NAMES = ["a", "b", "c", "d"]
TWO = y > 0
draw = DecisionRegionsDisplay.from_estimator


def vertices(contour):
    return np.vstack([path.vertices for path in contour.get_paths() if len(path.vertices)])


@pytest.mark.parametrize("model", [LogisticRegression(), SVC(kernel="rbf"), LinearSVC(), SklearnSVC()])
def test_boundary_lies_where_the_score_is_zero(model):
    model.fit(X[TWO, 2:], y[TWO])
    display = draw(model, X[TWO, 2:], y[TWO], steps=120)
    (contour,) = display.boundary_
    scores = model.decision_function(vertices(contour))
    assert len(scores) > 50
    assert np.abs(scores).max() < 0.01 * np.abs(display.lead).max()


def test_boundary_of_a_linear_rule_is_its_line_to_rounding():
    model = LogisticRegression().fit(X[TWO, 2:], y[TWO])
    (contour,) = draw(model, X[TWO, 2:], y[TWO], steps=40).boundary_
    assert np.abs(model.decision_function(vertices(contour))).max() < 1e-10


def test_three_classes_boundaries_are_ties_of_the_two_best():
    model = GaussianNB().fit(X[:, 2:], y)
    display = draw(model, X[:, 2:], y, steps=150)
    assert len(display.boundary_) == 3
    for contour in display.boundary_:
        scores = np.sort(model.predict_joint_log_proba(vertices(contour)), axis=1)
        assert np.median(scores[:, -1] - scores[:, -2]) < 0.05


@pytest.mark.parametrize("kind", [SVC, SklearnSVC])
def test_margins_and_rings(kind):
    model = kind(kernel="linear").fit(X[TWO, 2:], y[TWO])
    display = draw(model, X[TWO, 2:], y[TWO], steps=80)
    assert np.abs(np.abs(model.decision_function(vertices(display.margins_))) - 1).max() < 1e-9
    rings = np.asarray(display.rings_.get_offsets())
    assert len(rings) == len(model.support_)
    assert np.array_equal(rings, X[TWO, 2:][model.support_])
    assert f"{len(rings)} support vectors" in display.alt_text


def test_a_linear_machine_rings_the_rows_its_multipliers_name():
    model = LinearSVC(loss="hinge").fit(X[TWO, 2:], y[TWO])
    display = draw(model, X[TWO, 2:], y[TWO], steps=20)
    alpha = model.reports_[0].alpha
    assert set(display.support) == set(np.flatnonzero(alpha > 1e-8 * alpha.max()))
    assert len(draw(model, X[TWO, 2:], y[TWO], steps=20, support=False, margins=False).support) == 0


def test_rings_only_on_the_rows_of_the_fit():
    model = SVC(kernel="linear").fit(X[TWO, 2:], y[TWO])
    assert draw(model, X[TWO, 2:][:40], y[TWO][:40], steps=10).rings_ is None
    assert len(support_rows(KNeighborsClassifier().fit(X, y), len(X))) == 0


def test_who_has_margins():
    assert is_margin_machine(make_pipeline(StandardScaler(), SVC()))
    assert is_margin_machine(SGDClassifier(loss="hinge"))
    assert not is_margin_machine(SGDClassifier(loss="log_loss"))
    assert not is_margin_machine(LogisticRegression())
    assert draw(LogisticRegression().fit(X[TWO, 2:], y[TWO]), X[TWO, 2:], y[TWO], steps=10).margins_ is None


def test_colour_is_strong_where_the_model_is_sure():
    model = LogisticRegression().fit(X[TWO, 2:], y[TWO])
    display = draw(model, X[TWO, 2:], y[TWO], steps=50)
    strength = display.ax_.images[0].get_array()[..., 3]
    order = np.argsort(display.share.max(axis=2).ravel())
    assert (np.diff(np.asarray(strength).ravel()[order]) >= -1e-12).all()
    flat = draw(model, X[TWO, 2:], y[TWO], steps=50, posterior=False)
    assert np.ptp(flat.ax_.images[0].get_array()[..., 3]) == 0


def test_regions_are_what_predict_says():
    for model in (
        RandomForestClassifier(10, random_state=0),
        KNeighborsClassifier(3),
        SVC(calibrate="sigmoid"),
    ):
        model.fit(X[:, 2:], y)
        display = draw(model, X[:, 2:], y, steps=40)
        said = model.predict(np.column_stack([display.xx.ravel(), display.yy.ravel()]))
        ties = np.isclose(*np.sort(display.share.reshape(-1, 3), axis=1)[:, 1:].T)
        assert (display.lead.reshape(-1, 3).argmax(axis=1) == said)[~ties].all()


def test_other_columns_are_held_at_their_median():
    model = LogisticRegression().fit(X, y)
    display = draw(model, X, y, columns=("c", "a"), names=NAMES, steps=15)
    rows = np.tile(np.median(X, axis=0), (15 * 15, 1))
    rows[:, 2], rows[:, 0] = display.xx.ravel(), display.yy.ravel()
    assert np.allclose(display.share.reshape(-1, 3), model.predict_proba(rows), atol=1e-12)
    assert "b = 3" in display.plane.caption and "d = 1.3" in display.plane.caption
    assert display.ax_.get_xlabel() == "c" and display.ax_.get_ylabel() == "a"
    assert np.array_equal(display.points, X[:, [2, 0]])


@pytest.mark.parametrize("columns", ["pca", "lda"])
def test_projection_and_its_way_back(columns):
    model = LogisticRegression().fit(X, y)
    display = draw(model, X, y, columns=columns, steps=12)
    back = display.plane.back(display.points)
    again = draw(model, back, y, columns=columns, steps=12) if columns == "pca" else None
    assert np.allclose(
        model.predict_proba(display.plane.back(np.zeros((1, 2)))), model.predict_proba(X.mean(axis=0)[None])
    )
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    near = (back - X.mean(axis=0)) / X.std(axis=0)
    # an orthogonal projection: what is left over is orthogonal to the plane
    assert np.abs(np.sum((z - near) * near, axis=1)).max() < 1e-9
    assert np.allclose(display.plane.off, np.linalg.norm(z - near, axis=1))
    assert "other side" in display.plane.caption
    if again is not None:
        assert again.plane.off.max() < 1e-9


def test_discriminant_directions_part_the_classes_more_than_principal_ones():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 200)
    z = rng.normal(size=(400, 5)) * [1, 8, 1, 1, 1]
    z[:, 0] += 4 * codes
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    basis = discriminant_directions(z, codes)
    assert np.allclose(basis.T @ basis, np.eye(2))
    assert abs(basis[0, 0]) > 0.98


def test_more_than_two_columns_go_to_principal_components_by_themselves():
    display = draw(LogisticRegression().fit(X, y), X, y, steps=5)
    assert display.plane.labels[0] == "first principal component"


def test_one_column_is_a_strip():
    model = GaussianNB().fit(X[:, 2:3], y)
    display = draw(model, X[:, 2:3], y, steps=300)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["0", "1", "2"]
    assert np.abs(display.points[:, 1] - y).max() < 0.31
    winner = display.lead.argmax(axis=2)
    assert (winner == winner[0]).all()
    assert np.array_equal(winner[0], model.predict(display.xx[0][:, None]))


def test_without_labels_rows_are_drawn_plain():
    display = draw(LogisticRegression().fit(X[:, 2:], y), X[:, 2:], steps=5)
    assert display.codes is None
    assert len(display.ax_.collections[-1].get_offsets()) == len(X)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda d: pl.DataFrame(d)])
def test_frames_stay_frames_with_words_held_at_the_most_frequent(frame):
    words = np.where(np.arange(150) % 3 == 0, "rare", "usual")
    table = frame({"a": X[:, 0], "word": words, "c": X[:, 2]})
    model = NaiveBayes().fit(table, y)
    display = draw(model, table, y, columns=("a", "c"), steps=10)
    rows = frame({"a": display.xx.ravel(), "word": ["usual"] * 100, "c": display.yy.ravel()})
    assert np.allclose(display.share.reshape(-1, 3), model.predict_proba(rows))
    assert "word = usual" in display.plane.caption


def test_a_pipeline_with_an_encoder():
    table = pd.DataFrame(
        {"a": X[:, 0], "kind": pd.Categorical(np.where(y == 1, "u", "v")), "c": X[:, 2]}, index=range(7, 157)
    )
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression()).fit(table, y)
    display = draw(model, table, y, columns=("a", "c"), steps=6)
    assert display.model == "LogisticRegression" and display.share.shape == (6, 6, 3)


def test_table_holds_columns_at_cells_that_can_occur():
    table = ShownTable(
        pd.DataFrame({"count": [1, 2, 4, 9], "part": [0.5, 1.5, np.nan, 3.5], "word": ["b", "a", "a", None]})
    )
    assert table.base == [2.0, 1.5, "a"]
    assert ShownTable(np.array([[1.0], [2.0]])).base == [1.0]
    assert ShownTable(np.array([[1.0], [2.5]])).base == [1.75]


@pytest.mark.parametrize(
    "problem, words",
    [
        (lambda: draw(LogisticRegression, X, y), "is a class"),
        (lambda: draw(LogisticRegression().fit(X, y), X, y, columns=("a", "zebra"), names=NAMES), "'zebra' is not"),
        (lambda: draw(LogisticRegression().fit(X, y), X, y, columns=(0, 9)), "9 is not in X: its columns are x0, x1"),
        (lambda: draw(LogisticRegression().fit(X, y), X, y, columns=(0, 0)), "pair of different columns"),
        (lambda: draw(LogisticRegression().fit(X, y), X, y, columns="tsne"), "'tsne' is unknown"),
        (lambda: draw(LogisticRegression().fit(X, y), X, columns="lda"), "give y"),
        (lambda: draw(LogisticRegression().fit(X[:, :1], y), X[:, :1], y, columns="pca"), "two columns or more"),
        (lambda: draw(LogisticRegression().fit(X, y), X, y[:9]), "a label for each of the 150 rows"),
        (lambda: draw(LogisticRegression().fit(X, y), X, np.where(y == 2, 7, y)), "label 7 is not a class"),
        (lambda: draw(LogisticRegression().fit(X, y), X, y, names=["a"]), "names has 1 entries"),
        (lambda: draw(LogisticRegression().fit(X, y), X, y, steps=1), "steps must be"),
        (lambda: draw(LogisticRegression().fit(X, y), X, y, theme="blue"), "theme 'blue' is unknown"),
        (lambda: draw(LogisticRegression().fit(X, y), X[:0], y[:0]), "X is empty"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused_with_a_sentence(problem, words):
    with pytest.raises((ValueError, TypeError), match=words):
        problem()


def test_unfitted_and_too_many_classes():
    with pytest.raises(NotFittedError, match="LogisticRegression is not fitted"):
        draw(LogisticRegression(), X, y)
    many, labels = make_classification(
        300, 4, n_informative=4, n_redundant=0, n_classes=9, n_clusters_per_class=1, random_state=0
    )
    with pytest.raises(ValueError, match="9 classes cannot be told apart"):
        draw(GaussianNB().fit(many, labels), many, labels)


def test_a_word_has_no_place_on_an_axis():
    table = pd.DataFrame({"a": X[:, 0], "word": np.where(y == 1, "u", "v")})
    model = NaiveBayes().fit(table, y)
    with pytest.raises(ValueError, match="'word' is not a number"):
        draw(model, table, y)
