"""The command line in this process, and models of a messy table."""

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from separatrix.app.cli import main  # noqa: E402
from tests.few_loops import few, few_built  # noqa: E402, F401


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """run("fit", "logistic", "iris") → (exit code, standard output, standard error), in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main([str(a) for a in arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return code, said.out, said.err

    return run


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A messy table of 90 rows: numbers with gaps, words, an identifier, a quoted cell; and models fitted to it."""
    place = tmp_path_factory.mktemp("mixed")
    rng = np.random.default_rng(0)
    lines = ["id,colour,size,note,class"]
    for i in range(90):
        label = "yes" if rng.random() < 0.5 else "no"
        colour = rng.choice(["red", "blue", "green"]) if label == "yes" else rng.choice(["blue", "?"])
        size = f"{rng.normal(2 * (label == 'yes')):.3f}" if rng.random() > 0.1 else "NA"
        lines.append(f'k{i:03d},{colour},{size},"a, ""{i % 7}""",{label}')
    path = place / "mixed.csv"
    path.write_text("\n".join(lines) + "\n")
    for name in ("logistic", "naive-bayes", "extra-trees"):
        assert main(["fit", name, str(path), "--quiet", "--out", str(place / f"{name}.sepx")]) == 0
    return place
