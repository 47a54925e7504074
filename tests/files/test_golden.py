"""Files that people have: every kind of model of every format opens, and says what it said when it was saved."""

import json
import zipfile

import numpy as np
import pytest

import separatrix
from separatrix.files.archive import TREE
from separatrix.files.tags import HOMES, OWN, format_1
from tests.files.catalogue import public_estimators
from tests.files.golden.make import HERE, answers, unpacked

FOLDERS = sorted(folder for folder in HERE.glob("format-*"))
FILES = [file for folder in FOLDERS for file in sorted(folder.glob("*.sepx"))]
NO_FILE = {  # kinds that a fitted model holds only now and then
    "loss.squared", "loss.hinge", "loss.perceptron", "loss.squared_hinge",
    "response.inverse_gaussian", "response.negative_binomial", "response.tweedie",
    "link.sqrt", "link.inverse_squared", "problem.blind", "problem.blind_outside", "problem.whitened",
    "problem.correction",
    "column.hashed", "column.sparse", "column.target", "report.mistake_bound", "proof.margin", "pipeline.sets",
}  # fmt: skip


def said(folder):
    return json.loads((folder / "answers.json").read_text())


@pytest.mark.parametrize("file", FILES, ids=[f"{f.parent.name}-{f.stem}" for f in FILES])
def test_a_golden_file_opens_and_says_the_same(file):
    case = said(file.parent)[file.stem]
    model = separatrix.load(file)
    found = answers(model, unpacked(case["rows"]))
    assert found.keys() == case["answers"].keys()
    for name, expected in case["answers"].items():
        if np.asarray(expected).dtype.kind == "f":
            np.testing.assert_allclose(found[name], expected, rtol=1e-9, atol=1e-12, err_msg=name)
        else:
            assert found[name] == expected, name
    str(getattr(model, "verdict_", ""))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_public_estimator_has_a_golden_file(folder):
    made = {file.stem for file in folder.glob("*.sepx")}
    newer = set() if folder == FOLDERS[-1] else {kind.__name__ for kind in public_estimators()} - made
    assert {kind.__name__ for kind in public_estimators()} - newer <= made
    assert made == said(folder).keys()


def kinds(file):
    """Every class a file's tree of objects names: a tag, or a path in format 1."""
    found, left = set(), [json.loads(zipfile.ZipFile(file).read(TREE))]
    while left:
        state = left.pop()
        if isinstance(state, dict):
            if "__tag__" in state:
                found.add(state["__tag__"])
            elif "__module__" in state:
                found.add((state["__module__"], state["__class__"]))
            left.extend(state.values())
        elif isinstance(state, list):
            left.extend(state)
    return found


def test_files_name_tags_and_no_path_of_ours_or_of_scikit_learn():
    for file in (f for f in FILES if f.parent.name != "format-1"):
        paths = {k for k in kinds(file) if isinstance(k, tuple)}
        assert {module for module, _ in paths} <= {"builtins", "numpy", "collections"}, file.name


def test_golden_files_hold_every_kind_of_value():
    newest = {k for f in FILES if f.parent == FOLDERS[-1] for k in kinds(f)}
    assert set(OWN) - newest <= NO_FILE


def test_the_paths_of_format_1_are_all_known():
    # two losses that no model has minimised, and no file holds, are gone
    assert set(format_1().values()) - set(HOMES) == {"loss.exponential", "loss.epsilon_insensitive"}
    oldest = {k for f in FILES if f.parent.name == "format-1" for k in kinds(f)}
    ours = {path for path in oldest if path[0].startswith(("separatrix", "sklearn", "scipy"))}
    assert ours and ours <= set(format_1())
