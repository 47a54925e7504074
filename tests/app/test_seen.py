"""A model knows the rows it was fitted to, and a report on them says so."""

import json

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("typer")
pytest.importorskip("skops")

from separatrix.app.cli import main  # noqa: E402
from separatrix.app.seen import MOST, marks, share_seen  # noqa: E402


def table(n, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n).round(12), "w": rng.choice(["a", "b", "c"], n)})
    y = np.where(frame["x"] + 0.5 * (frame["w"] == "a") + rng.normal(size=n) > 0, "yes", "no")
    return frame, y


@pytest.mark.parametrize("n", [200, 20 * MOST])
def test_the_share_is_found(n):
    frame, y = table(n, 0)
    other, z = table(n, 1)
    names = list(frame.columns)
    held = marks(frame, y, names)
    assert len(held) == 16 * min(n, MOST)
    assert share_seen(frame, y, names, held) == 1.0
    assert share_seen(other, z, names, held) == 0.0
    half = pd.concat([frame[: n // 2], other[: n // 2]])
    assert share_seen(half, [*y[: n // 2], *z[: n // 2]], names, held) == pytest.approx(0.5, abs=0.05)
    flipped = np.where(y == "yes", "no", "yes")
    assert share_seen(frame, flipped, names, held) == 0.0
    assert share_seen(frame.assign(w=frame["w"].astype("category")), y, names, held) == 1.0


def test_nothing_is_said_of_a_model_without_marks():
    frame, y = table(20, 0)
    assert share_seen(frame, y, ["x", "w"], "") is None
    wide = pd.DataFrame(np.zeros((2, 2500)), columns=[f"c{j}" for j in range(2500)])
    assert marks(wide, ["u", "v"], list(wide.columns)) == ""


def test_report_says_that_rows_were_seen(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("old", 0), ("new", 1)):
        frame, y = table(150, seed)
        frame.assign(y=y).to_csv(f"{name}.csv", index=False)
    assert main(["fit", "logistic", "old.csv", "--target", "y", "--out", "m.sepx", "--quiet"]) == 0
    said = {}
    for name in ("old", "new"):
        capsys.readouterr()
        assert main(["report", "m.sepx", f"{name}.csv", "--json"]) == 0
        out = capsys.readouterr()
        said[name] = json.loads(out.out)["share_seen_in_training"], out.err
        page = (tmp_path / f"report-{name}.html").read_text(encoding="utf-8")
        assert ("of rows it was fitted to" in page) == (name == "old")
        assert ("of rows it had not seen" in page) == (name == "new")
        assert ("training rows are not at hand" in page) == (name == "new")
    assert said["old"][0] == 1.0 and said["new"][0] == 0.0
