"""Alerts: each oddity planted and found, and clean tables left alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from separatrix.judge.alerts import SEVERITIES, alerts
from separatrix.tables.kinds import infer_kinds


def clean(n=300, p=4, k=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, p)) + 0.5 * y[:, None], y


def kinds(found):
    return {(a.kind, a.column) for a in found}


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_clean_tables_have_no_alerts(load):
    assert alerts(*load(return_X_y=True)) == []
    assert alerts(*clean()) == []


def test_iris_has_one_repeated_row():
    found = alerts(*load_iris(return_X_y=True))
    assert [a.kind for a in found] == ["duplicates"]
    assert found[0].sentence.startswith("1 row (0.7%) repeats another")


def test_a_column_that_is_the_answer():
    X, y = clean()
    found = alerts(np.column_stack([X, 10.0 * y + np.linspace(0, 1, len(y))]), y)
    assert kinds(found) == {("leakage", "4")}
    assert found[0].severity == "serious" and "separates the classes alone" in found[0].sentence


def test_a_column_that_nearly_is_the_answer_in_bands():
    X, y = clean(600, k=3)
    leak = np.array([5.0, 1.0, 9.0])[y] + 0.01 * X[:, 0]  # no order of the classes
    leak[:2] = 1.0
    found = alerts(np.column_stack([X, leak]), y)
    assert kinds(found) == {("leakage", "4")} and "alone predicts 99." in found[0].sentence


def test_noise_is_no_leak_however_many_columns():
    rng = np.random.default_rng(0)
    assert alerts(rng.normal(size=(150, 100)), rng.integers(0, 2, 150)) == []


def test_a_level_of_one_class_only():
    X, y = clean(400)
    word = np.where((y == 1) & (np.arange(400) < 120), "closed", np.where(X[:, 0] > 0, "open", "new"))
    found = alerts(pd.DataFrame({"x": X[:, 0], "state": word}), y)
    (leak,) = [a for a in found if a.kind == "leakage"]
    assert leak.column == "state" and "'closed' (60 rows) is always 1" in leak.sentence
    assert leak.severity == "warning"


def test_levels_of_one_class_in_many_columns_are_told_together():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    frame = pd.DataFrame({f"w{j}": rng.choice(["a", "b"], 400).astype(object) for j in range(6)})
    for j in range(6):
        frame.loc[np.flatnonzero(y == 1)[: 100 - 10 * j], f"w{j}"] = "z"
    found = [a for a in alerts(frame, y) if a.kind == "leakage"]
    assert [a.column for a in found] == ["w0", "w1", None]  # those of most rows, then the others
    assert found[2].severity == "warning"
    assert found[2].sentence.startswith(
        "4 more columns have levels that go with one class only: 'w2', 'w3', 'w4', 'w5'."
    )
    three = [a for a in alerts(frame[["w0", "w1", "w2"]], y) if a.kind == "leakage"]
    assert [a.column for a in three] == ["w0", "w1", "w2"]  # so few are told one by one


def test_missing_cells_of_one_class_only():
    X, y = clean(400)
    X[(y == 0) & (np.arange(400) < 100), 2] = np.nan
    found = alerts(X, y)
    assert ("leakage", "2") in kinds(found) and ("missing", "2") in kinds(found)
    assert "a missing cell (50 rows) is always 0" in next(a for a in found if a.kind == "leakage").sentence


def test_identifiers():
    X, y = clean(100)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["row"] = np.arange(100) + 7
    frame["name"] = [f"person {i}" for i in range(100)]
    frame["customer_id"] = np.random.default_rng(0).permutation(10_000)[:100]
    found = alerts(frame, y)
    told = {a.column: a for a in found if a.kind == "identifier"}
    assert set(told) == {"row", "name", "customer_id"}
    assert not [a for a in found if a.kind == "leakage"]
    assert {infer_kinds(frame, None)[name] for name in told} == {"identifier"}
    for a in told.values():  # what no model sees need not be left out by hand
        assert a.severity == "note" and "and is left out; kinds=" in a.sentence
    given = alerts(frame, y, kinds={"row": "discrete", "name": "nominal", "customer_id": "discrete"})
    told = {a.column: a for a in given if a.kind == "identifier"}
    assert set(told) == {"row", "name", "customer_id"}
    assert all(a.severity == "warning" and a.sentence.endswith(": leave it out") for a in told.values())


def test_an_identifier_sorted_by_class_is_not_called_a_leak():
    X, y = clean(100)
    order = np.argsort(y, kind="stable")
    found = alerts(np.column_stack([X[order], np.arange(100)]), y[order])
    assert kinds(found) == {("identifier", "4")}


def test_constants_and_empty_columns():
    X, y = clean()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(planet="earth", nothing=np.nan, also="x")
    found = [a for a in alerts(frame, y) if a.kind == "constant"]
    assert {a.sentence for a in found} == {
        "column 'nothing' is empty and tells nothing",
        "columns 'planet', 'also' are the same in every row and tell nothing",
    }


def test_repeated_rows_and_their_quarrels():
    X, y = clean(100)
    X, y = np.vstack([X, X[:20]]), np.concatenate([y, y[:18], 1 - y[18:20]])
    found = {a.kind: a for a in alerts(X, y)}
    assert set(found) == {"duplicates", "conflict"}
    assert "20 rows (16.7%)" in found["duplicates"].sentence and found["duplicates"].severity == "warning"
    assert found["conflict"].sentence.startswith("4 rows")


def test_rare_levels_of_words_only():
    X, y = clean()
    words = np.array(["a", "b", "c"])[np.arange(300) // 2 % 3].astype(object)
    words[[5, 9]] = "zebra"
    (found,) = alerts(pd.DataFrame({"x": X[:, 0], "w": words}), y)
    assert found.kind == "rare levels" and found.column == "w" and "'w' (1 of 4)" in found.sentence


def test_imbalance_says_what_the_majority_gets():
    rng = np.random.default_rng(0)
    (found,) = alerts(rng.normal(size=(1000, 3)), np.repeat(["ok", "fraud"], [985, 15]))
    assert found.kind == "imbalance" and found.severity == "warning"
    assert (
        "class 'fraud' has 15 of 1,000 rows (1.5%)" in found.sentence and "right in 98.5%" in found.sentence
    )
    (found,) = alerts(rng.normal(size=(1000, 3)), np.repeat([0, 1], [940, 60]))
    assert found.severity == "note"
    (found,) = alerts(rng.normal(size=(1000, 3)), np.repeat([0, 1, 2], [700, 260, 40]))
    assert found.sentence.endswith("(4.0%): little is learned of it, and scores of it are rough")


def test_missing_cells_are_summed_up():
    X, y = clean()
    X[::3, 0] = np.nan
    X[1::5, 1] = np.nan
    (found,) = alerts(X, y)
    assert found.kind == "missing" and "'0' 33.3%, '1' 20.0%" in found.sentence


def test_columns_that_say_the_same():
    X, y = clean()
    words = np.array(["a", "b", "c"])[np.arange(300) // 2 % 3]
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["f"] = 32 - 1.8 * frame["a"]
    frame["w"], frame["v"] = words, np.where(words == "a", "eins", np.where(words == "b", "zwei", "drei"))
    (found,) = alerts(frame, y)
    assert found.kind == "correlated" and "'a' and 'f', 'w' and 'v'" in found.sentence


def test_texts_and_names_that_all_differ_do_not_say_the_same():
    X, y = clean(60)
    frame = pd.DataFrame({"x": X[:, 0], "id": [f"doc {i}" for i in range(60)]})
    frame["text"] = [f"a letter of {i} words and more, sent on some day" for i in range(60)]
    found = alerts(frame, y, kinds={"id": "identifier", "text": "text"})
    assert [a.kind for a in found] == ["identifier"]


def test_nearly_correlated_is_not_the_same():
    X, y = clean(5000)
    assert alerts(np.column_stack([X, X[:, 0] + 1e-3 * X[:, 1]]), y) == []


def test_more_columns_than_rows_and_sparse_tables():
    rng = np.random.default_rng(0)
    cells = sp.random(40, 60, 0.1, random_state=0).toarray()
    cells[:, 3] = 0
    X = sp.csr_matrix(cells)
    found = alerts(X, np.arange(40) % 2)
    assert {"wide", "constant"} <= {a.kind for a in found}
    assert [a.kind for a in alerts(rng.normal(size=(30, 30)), np.arange(30) % 2)] == ["wide"]


def test_worst_first_and_printed():
    X, y = clean()
    frame = pd.DataFrame({"x": X[:, 0], "c": 1, "leak": y * 2.0 + 0.1 * X[:, 1]})
    found = alerts(frame, y)
    ranks = [SEVERITIES.index(a.severity) for a in found]
    assert ranks == sorted(ranks) and found[0].kind == "leakage"
    assert str(found[0]).startswith("serious: column 'leak'")


def test_kinds_overrule():
    X, y = clean(100)
    frame = pd.DataFrame({"x": X[:, 0], "name": [f"person {i}" for i in range(100)]})
    assert alerts(frame, y, kinds={"name": "text"}) == []


def test_copies_of_the_answer_are_left_out_and_the_way_to_keep_them_is_said():
    X, y = clean()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(copy=np.where(y == 1, "ja", "nein"))
    (found,) = alerts(frame, y)
    assert (found.kind, found.column, found.severity) == ("leakage", "copy", "warning")
    assert "is left out; kinds={'copy': 'nominal'} keeps it" in found.sentence
    (kept,) = alerts(frame, y, kinds={"copy": "nominal"})
    assert kept.severity == "serious" and "separates the classes alone" in kept.sentence
