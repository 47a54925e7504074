"""Explanations of tables with many columns, told apart after encoding: they add up to the log-odds."""

import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")
pd = pytest.importorskip("pandas")

from separatrix.app.cli import main  # noqa: E402
from separatrix.files.store import load  # noqa: E402
from separatrix.tables.read import read  # noqa: E402


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    place = tmp_path_factory.mktemp("wide")
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(60, 310)).round(3)
    frame = pd.DataFrame(cells).add_prefix("v")
    frame["y"] = np.where(cells[:, :4].sum(axis=1) > 0, "yes", "no")
    frame.to_csv(place / "wide.csv", index=False)
    return place


@pytest.mark.parametrize("name", ["logistic", "naive-bayes", "lda"])
def test_more_columns_than_are_moved_one_by_one(name, wide, capsys):
    model, table = wide / f"{name}.sepx", wide / "wide.csv"
    assert main(["fit", name, str(table), "--target", "y", "--quiet", "--out", str(model)]) == 0
    capsys.readouterr()
    assert main(["explain", str(model), str(table), "--row", "3", "--class", "yes", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    P = load(model).predict_log_proba(read(table, target="y").frame.iloc[[2]])[0]
    assert len(made["parts"]) == 310
    assert made["start"] + sum(part["adds"] for part in made["parts"]) == pytest.approx(P[1] - P[0], rel=1e-9)
