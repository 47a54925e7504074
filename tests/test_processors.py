"""The settings of tests/processors.py take effect: each library says what it chose; a word it ignores is noticed."""

from dataclasses import replace

import pytest

from tests import processors


@pytest.fixture(scope="module")
def machine():
    return processors.ask({})


def test_a_setting_takes_effect(machine):
    """The oldest, which differs from every machine's own; a run under another begins with the same question."""
    setting = processors.SETTINGS["prescott"]
    if reason := processors.why_not(setting, machine):
        pytest.skip(reason)
    found = processors.ask(processors.variables_of(setting, machine))
    assert processors.ignored(setting, found) == []
    assert not {"X86_V3", "AVX2", "FMA3", "X86_V4", "AVX512F"} & set(found["dispatched"])


def test_a_setting_that_is_ignored_is_noticed(machine):
    """Misspelt words: no library says anything, so the processor's own choice is what is found."""
    setting = processors.SETTINGS["prescott"]
    if reason := processors.why_not(setting, machine):
        pytest.skip(reason)
    words = {
        "OPENBLAS_CORETYPE": "Prescot",
        "NPY_DISABLE_CPU_FEATURES": "AVX_2",
        "NUMBA_CPU_NAME": "x86-64-v2",
    }
    said = " ".join(processors.ignored(setting, processors.ask(words)))
    for library in ("OpenBLAS runs", "NumPy still uses", "Numba compiles"):
        assert library in said
    one = replace(setting, threads=machine["threads"][0] + 1)
    assert "threads" in " ".join(processors.ignored(one, machine))


def test_a_machine_that_lacks_something_is_told(machine, monkeypatch):
    without = machine | {"features": machine["features"] | {"AVX2": False}}
    monkeypatch.setattr(processors.platform, "machine", lambda: "x86_64")
    assert processors.why_not(processors.SETTINGS["haswell"], without) == "this machine has no AVX2"
    monkeypatch.setattr(processors.platform, "machine", lambda: "aarch64")
    assert "aarch64" in processors.why_not(processors.SETTINGS["prescott"], machine)


def test_the_paths_named_are_there():
    """A room that was renamed would be left out in silence."""
    paths = [*processors.HARDEST, *processors.LEFT_OUT]
    assert not [path for path in paths if not (processors.ROOT / "tests" / path).exists()]
    assert {"tests/core", "tests/solve", "tests/models", "src"} <= set(processors.numerical())
