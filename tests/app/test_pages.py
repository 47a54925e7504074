"""The page that a command writes says the same as its JSON."""

import json
import re

import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")
pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

from separatrix.app.cli import main


@pytest.mark.parametrize("data, name", [("breast-cancer", "naive-bayes"), ("wine", "extra-trees")])
def test_one_calibration_error_in_json_headline_and_picture(data, name, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["fit", name, data, "--quiet", "--out", "a.sepx"]) == 0
    capsys.readouterr()
    assert main(["report", "a.sepx", data, "--json", "--out", "a.html"]) == 0
    value = json.loads(capsys.readouterr().out)["scores"]["calibration_error"]["value"]
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert re.findall(r"expected calibration error ([\d.e-]+),", page)[0] == f"{value:.3g}"
    assert f"<dt>calibration error</dt><dd>{value:.3f}<small>" in page
