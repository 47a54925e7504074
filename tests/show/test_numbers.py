"""Pictures and the page of models of numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from separatrix import GeneralizedLinearModel, RandomForestRegressor, compare
from separatrix.judge.importance import importance
from separatrix.show import ErrorsDisplay, PredictedDisplay, report_html


def made(n: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["size", "age", "noise"])
    frame["town"] = np.where(rng.random(n) < 0.5, "<b>north</b>", "south")
    return frame, 10 + 3 * frame["size"].to_numpy() + (frame.town == "south") + rng.normal(scale=0.3, size=n)


def test_points_are_where_the_rows_are() -> None:
    y, said = np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])
    for kind, wanted in ((PredictedDisplay, y), (ErrorsDisplay, y - said)):
        display = kind.from_predictions(y, said)
        points = [line for line in display.ax_.lines if line.get_marker() == "o"]
        assert (
            points[0].get_xdata().tolist() == said.tolist()
            and points[0].get_ydata().tolist() == wanted.tolist()
        )
        assert str(3) in display.alt_text
        display.close()


def test_runs_are_quantiles_of_the_errors() -> None:
    rng = np.random.default_rng(1)
    said = np.sort(rng.normal(size=3_000))
    y = said + np.where(said > 0, 2.0, 0.5) * rng.normal(size=3_000)
    display = ErrorsDisplay.from_predictions(y, said)
    runs = display.runs
    assert runs.shape == (12, 4) and (np.diff(runs[:, 0]) > 0).all()
    wide = runs[:, 3] - runs[:, 1]
    assert wide[-3:].min() > 1.5 * wide[:3].max()
    assert "2,000 of 3,000 rows are drawn" in "".join(t.get_text() for t in display.ax_.texts)
    display.close()


@pytest.mark.parametrize(
    ("y", "said", "told"), [([1.0], [1.0, 2.0], "one of each"), ([1.0], [np.nan], "finite")]
)
def test_refused(y: list[float], said: list[float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        PredictedDisplay.from_predictions(y, said)


def test_a_column_without_worth_has_none_and_the_foremost_comes_first() -> None:
    frame, y = made()
    found = importance(
        GeneralizedLinearModel("gaussian"),
        frame[["size", "age", "noise"]],
        y,
        np.empty(0, dtype=object),
        y,
        metric="rmse",
    )
    assert found.names[0] == "size" and found.drop[0].low > 1.0
    assert all(d.low <= 0.02 for d in found.drop[1:])


def test_the_page_of_a_comparison_says_what_it_found_and_hides_what_cells_hold() -> None:
    frame, y = made()
    found = compare(
        frame, y, task="regression", models=["mean", "linear_regression", "random_forest_regressor"], cv=3
    )
    page = report_html(found, X=frame, y=y, source="houses.csv", command="separatrix compare houses.csv")
    for words in (
        "linear regression on houses.csv",
        "RMSE",
        "The worst misses",
        "What the model goes by",
        "How the answer",
    ):
        assert words in page
    assert "<b>north</b>" not in page and "&lt;b&gt;north" in page
    assert f"{found.scores[found.best]['rmse'].mean:.2f}"[:3] in page and "P(" not in page


def test_the_page_of_a_model_alone_and_of_rows_kept_apart() -> None:
    frame, y = made()
    X = frame[["size", "age", "noise"]]
    model = RandomForestRegressor(20, random_state=0).fit(X[:100], y[:100])
    alone = report_html(model=model, X=X[:100], y=y[:100], title="Houses")
    assert "<h1>Houses</h1>" in alone and "five fits that had not seen it" in alone
    apart = report_html(model=model, X=X[:100], y=y[:100], X_test=X[100:], y_test=y[100:])
    assert "50 rows: rows it had not seen" in apart
