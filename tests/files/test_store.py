"""Model files: the same model comes back, nothing else is saved, and a file is whole or not there."""

import json
import os
import re
import signal
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression as Foreign
from sklearn.preprocessing import FunctionTransformer

from separatrix import SVC, GaussianNB, GeneralizedLinearModel, LogisticRegression, MultinomialNB
from separatrix.core.statistic import Statistic
from separatrix.files import archive
from separatrix.files.archive import ABOUT, TREE, ModelFileError, packed
from separatrix.files.schema import ModelSchema
from separatrix.files.store import ModelFileWarning, describe, load, save
from separatrix.files.tags import OWN
from separatrix.files.types import STATISTICS
from tests.files.catalogue import Tables, fitted, public_estimators, variants

NAMES = [kind.__name__ for kind in public_estimators()] + list(variants(Tables(0)))


# ---- the same model comes back ----


@pytest.mark.parametrize("name", NAMES)
def test_every_model_comes_back_the_same(name, path):
    model, X = fitted()[name]
    save(model, path)
    again = load(path)
    assert type(again) is type(model)
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            before, after = (getattr(m, method)(X) for m in (model, again))
            if sp.issparse(before):
                before, after = before.toarray(), after.toarray()
            np.testing.assert_array_equal(after, before)
    if hasattr(model, "verdict_"):
        assert str(again.verdict_) == str(model.verdict_)
    here, there = (re.sub("0x[0-9A-F]+", "", repr(m)) for m in (model, again))
    assert here == there


def test_a_summary_and_new_rows_still_work_after_loading(path):
    t = Tables(3)
    model = LogisticRegression(C=np.inf).fit(t.X, t.two)
    save(model, path)
    assert str(load(path).summary()) == str(model.summary())
    save(GaussianNB().fit(t.X, t.two), path)
    more = load(path).partial_fit(t.X, t.two)
    np.testing.assert_allclose(more.theta_, GaussianNB().fit(t.X, t.two).theta_)


def test_the_training_rows_are_not_in_the_file(path):
    X = np.random.default_rng(0).normal(size=(20000, 3))
    for model in (LogisticRegression(C=np.inf), GeneralizedLinearModel("binomial"), GaussianNB()):
        save(model.fit(X, X[:, 0] + np.sin(9 * X[:, 1]) > 0), path)
        assert path.stat().st_size < 100_000


def test_the_same_model_gives_the_same_members(path, tmp_path):
    model = fitted()["nb, frame"][0]
    save(model, path)
    save(model, tmp_path / "again")
    with zipfile.ZipFile(path) as one, zipfile.ZipFile(tmp_path / "again") as two:
        assert one.read(TREE) == two.read(TREE) and one.namelist() == two.namelist()


# ---- what the file says of itself ----


def test_describe(path):
    t = Tables(3)
    frame = pd.DataFrame(t.X, columns=["a", "b", "c"])
    said = save(LogisticRegression().fit(frame, t.two), path, schema=frame, notes="of a\x1b[31m winter")
    assert describe(path) == said
    assert said.model == "LogisticRegression" and said.classes == ("a", "b")
    assert said.notes == "of a[31m winter"  # nothing that writes on a terminal
    assert said.schema.names == ["a", "b", "c"] and {c.group for c in said.schema.columns} == {"number"}
    assert "LogisticRegression · optimal" in said.verdict and "optimal" in str(said)
    assert said.versions["separatrix"] and said.versions["numpy"] == np.__version__


def test_describe_reads_nothing_but_the_head(saved):
    members = archive.members_of(saved.read_bytes())
    members[TREE] = b"not json"
    saved.write_bytes(packed(members))
    assert describe(saved).model == "LogisticRegression"
    with pytest.raises(ModelFileError, match="changed or damaged"):
        load(saved)


def test_kinds_of_a_mixed_table_are_known(path):
    said = save(fitted()["nb, frame"][0], path)
    assert [(c.name, c.group) for c in said.schema.columns] == [
        ("sky", "word"), ("n", "number"), ("x", "number"), ("wet", "number")
    ]  # fmt: skip


def test_another_version_is_warned_of(saved):
    members = archive.members_of(saved.read_bytes())
    about = json.loads(members[ABOUT])
    about["versions"]["separatrix"] = "0.99.0"
    members[ABOUT] = json.dumps(about).encode()
    saved.write_bytes(packed(members))
    with pytest.warns(ModelFileWarning, match=r"separatrix 0\.99\.0"):
        load(saved)
    about["format"] = 99
    members[ABOUT] = json.dumps(about).encode()
    saved.write_bytes(packed(members))
    with pytest.raises(ModelFileError, match="format 99"):
        describe(saved)


# ---- tables that do not fit ----


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_table_is_fitted_to_the_schema(frame):
    schema = ModelSchema.of(frame({"age": [1.5], "sky": ["blue"]}))
    schema = ModelSchema.of(json.loads(json.dumps(schema.to_list())))
    assert list(schema.fit(frame({"sky": ["x"], "more": [1], "age": [2]})).columns) == ["age", "sky"]
    with pytest.raises(ValueError, match="lacks columns 'age', 'sky'"):
        schema.fit(frame({"more": [1]}))
    with pytest.raises(ValueError, match=r"column 'age' held numbers .* holds words now"):
        schema.fit(frame({"age": ["old"], "sky": ["x"]}))
    with pytest.raises(ValueError, match=r"column 'sky' held words .* holds numbers now"):
        schema.fit(frame({"age": [3], "sky": [1]}))
    with pytest.raises(
        ValueError, match=r"the table has 3 columns, and the model was trained on 2 \('age', 'sky'\)"
    ):
        schema.fit(np.zeros((1, 3)))


def test_a_column_of_nothing_has_any_type():
    schema = ModelSchema.of({"age": "continuous", "sky": "nominal"})
    assert schema.fit(pl.DataFrame({"age": ["a"], "sky": ["b"]})[:0]) is not None
    assert schema.fit(pl.DataFrame({"age": pl.Series([None], dtype=pl.String), "sky": ["b"]})) is not None


@pytest.mark.parametrize("wrong", [3, "age", [{"name": "a", "sort": "b"}]])
def test_a_schema_that_is_none_is_refused(wrong):
    with pytest.raises((TypeError, ValueError), match="schema"):
        ModelSchema.of(wrong)


# ---- what cannot be saved ----


def test_a_function_is_refused_when_saving(path):
    t = Tables(3)
    with pytest.raises(ModelFileError, match=r"SVC\.kernel is a function"):
        save(SVC(kernel=lambda a, b: a @ b.T).fit(t.X, t.two), path)
    with pytest.raises(ModelFileError, match="is a function"):
        save(FunctionTransformer(np.log1p).fit(t.X), path)
    assert not path.exists()


def test_a_formula_is_refused_when_saving(path):
    t = Tables(3)
    frame = pd.DataFrame(t.X, columns=["y", "a", "b"])
    with pytest.raises(ModelFileError, match="a formula is code"):
        save(GeneralizedLinearModel.from_formula("y ~ a + b", frame), path)


def test_other_types_are_refused_when_saving(path):
    t = Tables(3)
    with pytest.raises(ModelFileError, match=r"sklearn\.linear_model\._logistic\.LogisticRegression"):
        save(Foreign().fit(t.X, t.two), path)
    with pytest.raises(ModelFileError, match=r"builtins\.bool"):
        save(LogisticRegression(class_weight={True: 1.0, False: 2.0}).fit(t.X, t.two == "a"), path)
    with pytest.raises(TypeError, match="fitted model"):
        save(LogisticRegression, path)
    with pytest.raises(ValueError, match="not fitted"):
        save(LogisticRegression(), path)


# ---- whole or not at all ----

KILLED = """
import os, signal, sys
import numpy as np
from separatrix import GaussianNB
from separatrix.files import store, whole

def die(*a, **k):
    os.kill(os.getpid(), signal.SIGKILL)
def save(step, path):
    if step == "write":
        opened = open
        class Half:
            def __init__(self, file): self.file = file
            def __enter__(self): return self
            def __exit__(self, *a): self.file.close()
            def write(self, data):
                self.file.write(data[: len(data) // 2]); self.file.flush(); die()
        whole.open = lambda *a, **k: Half(opened(*a, **k))
    else:
        setattr(os, step, die)
    store.save(model, path)
rng = np.random.default_rng(1)
model = GaussianNB().fit(rng.normal(size=(50, 4)), np.arange(50) % 2)
store.save(model, sys.argv[1])  # what saving needs is loaded here, once
for step, path in zip(sys.argv[2::2], sys.argv[3::2]):
    child = os.fork()
    if child == 0:
        save(step, path)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="one process is forked for every step")
def test_killed_while_saving_leaves_the_old_file(saved, tmp_path):
    before = saved.read_bytes()
    steps = {step: tmp_path / step for step in ("write", "fsync", "chmod", "replace")}
    for file in steps.values():
        file.write_bytes(before)
    words = [str(word) for pair in steps.items() for word in pair]
    command = [sys.executable, "-c", KILLED, str(tmp_path / "first"), *words]
    done = subprocess.run(command, capture_output=True, timeout=120, text=True)
    assert done.stdout.split() == [str(-signal.SIGKILL.value)] * len(steps), done.stderr
    for file in steps.values():
        assert file.read_bytes() == before
        assert load(file).n_features_in_ == 3


def test_a_failure_while_saving_leaves_no_trace(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(GaussianNB().fit([[0.0], [1.0]], [0, 1]), saved)
    assert saved.read_bytes() == before and os.listdir(saved.parent) == [saved.name]


def test_saving_replaces_the_file_behind_a_link_and_keeps_its_permissions(saved, tmp_path):
    os.chmod(saved, 0o640)
    link = tmp_path / "link"
    link.symlink_to(saved)
    save(GaussianNB().fit([[0.0], [1.0]], [0, 1]), link)
    assert link.is_symlink() and isinstance(load(saved), GaussianNB)
    assert saved.stat().st_mode & 0o777 == 0o640


def test_places_that_are_none(tmp_path, saved):
    model = load(saved)
    with pytest.raises(ModelFileError, match="is a folder"):
        save(model, tmp_path)
    with pytest.raises(ModelFileError, match="no folder"):
        save(model, tmp_path / "none" / "model")
    with pytest.raises(ModelFileError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        describe(tmp_path / "none")


# ---- the list ----


def test_listed_classes_of_ours_build_without_code_of_their_own():
    import importlib

    for module, name in OWN.values():
        kind = getattr(importlib.import_module(module), name)
        assert isinstance(kind, type) and (kind.__module__, kind.__qualname__) == (module, name)
        if (module, name) in STATISTICS:
            assert kind.__reduce__ is Statistic.__reduce__ and kind.__post_init__ is Statistic.__post_init__
            continue
        own = BaseEstimator if issubclass(kind, BaseEstimator) else object
        assert getattr(kind, "__setstate__", None) is getattr(own, "__setstate__", None), kind
        if name != "Tweedie":  # which gives Poisson's or Gamma's object where its power says so
            assert kind.__new__ is object.__new__, kind
    for kind in public_estimators():
        assert (kind.__module__, kind.__name__) in OWN.values(), f"list {kind} in separatrix.files.tags"


def test_without_skops_the_way_out_is_named(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"separatrix\[files\]"):
        load(saved)
    assert describe(saved).model == "LogisticRegression"


def test_many_columns_come_back(path):
    X = sp.random_array((50, 3000), density=0.02, rng=0, format="csr")
    model = MultinomialNB().fit(abs(X), np.arange(50) % 3)
    save(model, path)
    np.testing.assert_array_equal(load(path).predict_proba(abs(X)), model.predict_proba(abs(X)))
