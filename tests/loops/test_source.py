"""What a loop's code is told by changes with whatever goes into the code, and with nothing else."""

import importlib
import sys

import numpy as np
import pytest

from separatrix.loops import compiled, instructions, kept, signatures, source
from separatrix.loops.gram import radial_double
from separatrix.loops.trees import best, node, random

HELPER = """
from separatrix.loops.compiled import inner
HALF = 0.5
@inner
def halved(x):
    '''Half of it.'''
    return x * HALF
"""
CALLER = """
from separatrix.loops.compiled import loop
from told_helper import halved
@loop
def called(x):
    return halved(x) + 1.0
@loop
def alone(x):
    return x
"""


@pytest.fixture
def digests(tmp_path, monkeypatch):
    """A function that writes two modules, reads them, and tells the loops of one that calls the other."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    known = dict(compiled.LOOPS)

    def told(helper=HELPER, caller=CALLER, read=True):
        (tmp_path / "told_helper.py").write_text(helper)
        (tmp_path / "told_caller.py").write_text(caller)
        if read:
            for name in ("told_helper", "told_caller"):
                sys.modules.pop(name, None)
            importlib.invalidate_caches()
        module = importlib.import_module("told_caller")
        return source.digest(module.called), source.digest(module.alone)

    yield told
    compiled.LOOPS.clear()
    compiled.LOOPS.update(known)
    for name in ("told_helper", "told_caller"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "old, new",
    [("x * HALF", "x / 2.0"), ("HALF = 0.5", "HALF = 0.25"), ("@inner", "@inner_with({'reassoc'})"),
     ("(x)", "(x, y=1.0)")],
)  # fmt: skip
def test_an_edited_helper_of_another_file(digests, old, new):
    before = digests()
    assert all(before) and before == digests()
    assert old in HELPER
    helper = HELPER.replace(old, new).replace("import inner\n", "import inner, inner_with\n")
    after = digests(helper)
    assert after[0] != before[0] and after[1] == before[1]


def test_an_edited_default(digests):
    before = digests(HELPER.replace("(x)", "(x, y=1.0)"))
    after = digests(HELPER.replace("(x)", "(x, y=2.0)"))
    assert after[0] != before[0] and after[1] == before[1]


def test_what_is_said_beside_the_code(digests):
    assert digests() == digests(HELPER.replace("Half of it.", "A half.") + "\n# that is all\n")


def test_what_stands_on_disk_is_not_what_runs(digests):
    """A process goes on with what it has read; what it compiles is not to be found under the edited file's name."""
    before = digests()
    edited = HELPER.replace("0.5", "0.25")
    assert digests(edited, read=False) == before
    assert digests(edited)[0] != before[0]


def test_helpers_instructions_and_constants_of_the_library(monkeypatch):
    before = {loop: source.digest(loop) for loop in (best.grow_best, random.grow_random, radial_double)}
    assert all(before.values())

    def changed():
        return [loop.name for loop in before if source.digest(loop) != before[loop]]

    with monkeypatch.context() as patch:
        patch.setattr(best, "TIE", 2e-11)
        assert changed() == ["trees.best.grow_best"]
    with monkeypatch.context() as patch:
        patch.setattr(node.sums2, "body", node.class_sums.body)  # a helper of another file
        assert changed() == ["trees.best.grow_best", "trees.random.grow_random"]
    with monkeypatch.context() as patch:
        patch.setattr(instructions, "TEXT", b"others")
        assert changed() == ["trees.best.grow_best", "gram.radial_double"]
        patch.setattr(instructions, "TEXT", b"")
        assert source.digest(radial_double) == ""
    assert changed() == []


def test_a_value_that_cannot_be_told(digests):
    """Such a loop is compiled, and not kept."""
    assert digests(HELPER.replace("HALF = 0.5", "HALF = object()"))[0] == ""


def test_values_are_told_apart():
    values = [None, 0, 0.0, -0.0, False, "0", b"0", 0j, (0,), (0, 0), np.float32(0), np.zeros(1), np.zeros(2)]
    values += [np.dtype("f4"), np.dtype("f8"), float, np, np.sqrt, len, {1}, {1, 2}, np.uint64(0)]
    assert len({source._value(value) for value in values}) == len(values)
    assert source._value({"a", "b", "c"}) == source._value(frozenset("cba"))


def test_every_listed_loop_is_known_and_can_be_told():
    found = signatures.listed()
    for name in found:
        importlib.import_module(f"separatrix.loops.{name.rpartition('.')[0]}")
    assert found and not found.keys() - compiled.LOOPS.keys()
    assert all(source.digest(compiled.LOOPS[name]) for name in found)


def test_no_loop_stands_beside_the_list():
    """Those of the library that no fit asks for would be compiled at first use, or are of no use."""
    for path in kept.ROOM.rglob("*.py"):
        if path.name not in ("build.py", "dispatch.py", "__init__.py"):
            importlib.import_module(
                ".".join(("separatrix.loops", *path.relative_to(kept.ROOM).with_suffix("").parts))
            )
    ours = {name for name, one in compiled.LOOPS.items() if one.body.__module__.startswith("separatrix.")}
    by_tests = {"stumps.sort_bin"}  # other loops call it; the tests do so by itself
    assert ours - by_tests == signatures.listed().keys()
