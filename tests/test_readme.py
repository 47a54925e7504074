"""The README's examples run and print what it shows; only times and rounding-level figures may differ."""

from __future__ import annotations

import doctest
import re
import sys
import tomllib
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


class Checker(doctest.OutputChecker):
    """Compare after hiding wall times, sweep counts and rounding-level numbers, which vary between machines."""

    def check_output(self, want: str, got: str, flags: int) -> bool:
        return super().check_output(hide(want), hide(got), flags)


def hide(text: str) -> str:
    text = re.sub(r"\b\d+(\.\d+)? m?s\b", "<time>", text)
    text = re.sub(r"\b\d+(\.\d+)? sweeps", "<n> sweeps", text)
    text = re.sub(r"\bsweeps +\d+(\.\d+)?", "sweeps <n>", text)
    return re.sub(r"\d\.\de-1\d", "<tiny>", text)


def test_readme_examples() -> None:
    pytest.importorskip("pandas")
    test = doctest.DocTestParser().get_doctest(README.read_text(), {}, "README", str(README), 0)
    assert len(test.examples) >= 10
    runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_checker_still_sees_a_wrong_answer() -> None:
    assert not Checker().check_output(
        "objective 0.25   5 sweeps, 3 ms\n", "objective 0.26   9 sweeps, 8 ms\n", 0
    )
    assert Checker().check_output(
        "objective 0.25   5 sweeps, 3 ms\n", "objective 0.25   9 sweeps, 0.12 s\n", 0
    )


def test_the_blocks_read_what_the_install_they_name_brings() -> None:
    """`pip install '.[app]'` stands before the blocks; it must bring every package that they, or formulas, import."""
    text = README.read_text()
    extras = tomllib.loads((README.parent / "pyproject.toml").read_text())["project"]
    brought, todo = {"separatrix", "sklearn"}, ["app"]
    asked = list(extras["dependencies"])
    while todo:
        for need in extras["optional-dependencies"][todo.pop()]:
            inner = re.match(r"separatrix\[(.*)\]", need)
            if inner:
                todo += inner[1].split(",")
            else:
                asked.append(need)
    brought |= {re.match(r"[\w-]+", need)[0].lower() for need in asked}  # type: ignore[index]
    blocks = doctest.DocTestParser().get_examples(text)
    used = {m for e in blocks for m in re.findall(r"^(?:from|import) (\w+)", e.source, re.MULTILINE)}
    used |= {"pandas", "formulaic"} if "from_formula" in text else set()
    assert used - set(sys.stdlib_module_names) <= brought
    assert "pip install '.[app]'" in text
