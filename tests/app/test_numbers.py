"""Numbers, ordered classes, thresholds, groups and time on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def houses(tmp_path: Path) -> str:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(100, 20, 120).round(1), "town": rng.choice(["a", "b"], 120)})
    frame["street"] = np.repeat(np.arange(24), 5)
    frame["year"] = rng.permutation(120) + 1900
    frame["price"] = (2.5 * frame["size"] + 30 * (frame.town == "b") + rng.normal(0, 5, 120)).round(2)
    frame["grade"] = pd.cut(frame.price, 3, labels=["low", "middle", "high"])
    frame["dear"] = np.where(frame.price > frame.price.quantile(0.8), "yes", "no")
    frame.to_csv(tmp_path / "houses.csv", index=False)
    return str(tmp_path / "houses.csv")


def one_sentence(said: str) -> bool:
    return len(said.strip().splitlines()) == 1 and said.startswith("separatrix: ")


FEW = ("--exhaustive", "--quiet", "--json", "--out", "o")


def test_a_quantity_asks_for_regression_and_gets_it(run, houses) -> None:
    drop = ("--kinds", "grade=identifier,dear=identifier")
    code, _, said = run("compare", houses, "-t", "price", "--quiet")
    assert code == 1 and one_sentence(said) and "--task regression" in said
    models = "mean,linear_regression"
    code, out, said = run("compare", houses, "-t", "price", "--task", "regression", "-m", models, *drop, *FEW)
    assert code == 0, said
    found = json.loads(out)
    assert found["best"] == "linear_regression" and found["task"] == "regression" and not found["classes"]
    assert found["ranking"][0]["scores"]["r2"]["mean"] > 0.9
    code, out, _ = run("predict", "o/model.sepx", houses, "--only")
    answers = [float(v) for v in out.split()[1:]]
    assert code == 0 and len(answers) == 120 and np.corrcoef(answers, pd.read_csv(houses).price)[0, 1] > 0.95
    code, out, said = run("report", "o/model.sepx", houses)
    assert code == 0 and "RMSE" in out and "all of these rows, answers included, stand in the table" in said
    assert "120 rows: rows it was fitted to" in Path("o/report-houses.html").read_text(encoding="utf-8")
    code, _, said = run("predict", "o/model.sepx", houses, "--proba")
    assert code == 1 and "has no probabilities" in said


def test_the_plan_of_a_regression_gives_the_same_numbers(run, houses) -> None:
    given = ("compare", houses, "-t", "price", "--task", "regression", "-m", "mean,linear_regression")
    _, first, _ = run(*given, *FEW)
    code, again, said = run(*given, "--plan", "o/plan.json", "--quiet", "--json", "--out", "p")
    assert code == 0, said
    a, b = (json.loads(text)["ranking"] for text in (first, again))
    assert [r["scores"]["rmse"] for r in a] == [r["scores"]["rmse"] for r in b]


def test_one_model_of_numbers_is_fitted_by_its_name(run, houses) -> None:
    code, _, said = run("fit", "random_forest_regressor", houses, "-t", "price", "--out", "f.sepx")
    assert code == 0 and "R²" in said and "next: separatrix predict" in said
    code, _, said = run("fit", "poisson_regression", houses, "-t", "price")
    assert code == 2 and "glm --set family=poisson" in said
    code, _, said = run("fit", "random_forest_regressor", houses, "-t", "town", "--quiet")
    assert code == 1 and one_sentence(said) and "no number" in said


def test_classes_with_an_order(run, houses) -> None:
    left = ("--kinds", "price=identifier,dear=identifier")
    given = ("compare", houses, "-t", "grade", "--task", "ordinal", *left, *FEW)
    code, out, said = run(*given, "--order", "low,middle,high", "-m", "ordinal,majority")
    assert code == 0, said
    assert json.loads(out)["task"] == "ordinal" and json.loads(out)["best"] == "ordinal"
    code, out, _ = run(*given, "-m", "lda,majority")
    assert code == 0 and "words without an order" in json.loads(out)["remarks"][0]
    code, _, said = run(*given, "--order", "low,high", "-m", "ordinal")
    assert code == 1 and one_sentence(said) and "order lacks the class 'middle'" in said


def test_the_threshold_and_the_positive_class_go_with_the_model(run, houses) -> None:
    left = ("--kinds", "price=identifier,grade=identifier")
    given = ("compare", houses, "-t", "dear", "-m", "logistic,majority", *left, *FEW)
    code, out, said = run(*given, "--metric", "f1", "--threshold", "balanced_accuracy")
    assert code == 0, said
    found = json.loads(out)
    assert found["positive"] == "yes" and found["threshold"]["by"] == "balanced_accuracy"
    code, out, _ = run("predict", "o/model.sepx", houses, "--proba", "--only")
    rows = [line.split(",") for line in out.split()[1:]]
    t = found["threshold"]["value"]
    assert all((row[0] == "yes") == (float(row[2]) >= t) for row in rows)
    code, _, said = run(*given, "--positive", "maybe")
    assert code == 1 and one_sentence(said) and "'maybe' is no class of y" in said
    code, _, said = run(*given, "--threshold", "precision")
    assert code == 1 and one_sentence(said) and "alone is best" in said


def test_groups_and_time_are_columns_that_no_model_sees(run, houses) -> None:
    left = ("--kinds", "price=identifier,grade=identifier")
    given = ("compare", houses, "-t", "dear", "-m", "logistic,majority", *left, *FEW)
    for name, column in (("--groups", "street"), ("--time", "year")):
        code, out, said = run(*given, name, column)
        assert code == 0, said
        assert json.loads(out)["columns"][column] == "identifier"
    code, _, said = run(*given, "--groups", "street", "--time", "year")
    assert code == 1 and one_sentence(said) and "both say what the folds are" in said
    code, _, said = run(*given, "--groups", "nowhere")
    assert code == 1 and one_sentence(said) and "nowhere" in said
