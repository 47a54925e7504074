"""The stub that editors read names what the package gives, and a type checker follows it to the estimators."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_stub_is_up_to_date():
    spec = spec_from_file_location("stub", ROOT / "tools" / "stub.py")
    tool = module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PATH.read_text(encoding="utf-8") == tool.stub(), "run: python tools/stub.py"


@pytest.mark.slow
def test_a_checker_knows_the_estimators_and_their_parameters(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "used.py"
    script.write_text(
        "from separatrix import SVC, LogisticRegression, Verdict, verify\n"
        "model = LogisticRegression(C=2.0, solver='newton').fit([[0.0], [1.0]], [0, 1])\n"
        "reveal_type(model)\n"
        "reveal_type(SVC(kernel='rbf').fit([[0.0]], [0]).verdict_)\n"
        "reveal_type(verify(model, [[0.0]], [0]))\n"
        "LogisticRegression(C='big')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", str(script)],
        cwd=ROOT, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    said = done.stdout
    assert 'Revealed type is "separatrix.models.linear.logistic.LogisticRegression"' in said, said
    assert said.count('Revealed type is "separatrix.verdict.verdict.Verdict"') == 2, said
    assert 'Argument "C" to "LogisticRegression" has incompatible type "str"; expected "float"' in said, said
