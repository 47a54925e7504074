"""Model files made to do harm, damaged, or with numbers that do not fit: refused, and no code of theirs runs."""

import copy
import io
import json
import os
import pickle
import sys
import warnings
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from separatrix import SVC
from separatrix.files import archive
from separatrix.files.archive import ABOUT, TREE, ModelFileError, digest, packed
from separatrix.files.store import ModelFileWarning, describe, load, save
from tests.files.catalogue import Tables, fitted


def rewritten(file, change, members=None):
    """The file with its tree changed, and a hash that fits: what someone who knows the format would make."""
    found = archive.members_of(file.read_bytes())
    tree = json.loads(found[TREE])
    change(tree)
    found[TREE] = json.dumps(tree).encode()
    found.update(members or {})
    about = json.loads(found[ABOUT])
    about["digest"] = digest(found)
    found[ABOUT] = json.dumps(about).encode()
    file.write_bytes(packed(found))


def attribute(tree, name, node):
    """Put a node in the place of an attribute of the model."""
    tree["content"]["content"][name] = {"__id__": 900_000, **node}


def json_node(value, number):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value),
            "is_json": True, "__id__": number}  # fmt: skip


def sequence(kind, items, number):
    return {"__class__": kind, "__module__": "builtins", "__loader__": f"{kind.capitalize()}Node", "content": items,
            "__id__": number}  # fmt: skip


@pytest.fixture
def canary(tmp_path):
    yield tmp_path / "ran"
    assert not (tmp_path / "ran").exists(), "code of the file was run"


def evil_nodes(canary):
    command = json_node(f"touch {canary}", 900_001)
    arguments = sequence("tuple", [command], 900_002)
    empty = {"__class__": "dict", "__module__": "builtins", "__loader__": "DictNode", "content": {},
             "key_types": sequence("list", [], 900_003), "__id__": 900_004}  # fmt: skip
    system = {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "__id__": 900_005}
    kinds = [{"__class__": "system", "__module__": "os", "__loader__": "TypeNode", "__id__": 900_006}]
    return {
        "os.system": system,
        "builtins.eval": {"__class__": "eval", "__module__": "builtins", "__loader__": "FunctionNode"},
        "a type that is a function": {"__class__": "eval", "__module__": "builtins", "__loader__": "TypeNode"},
        "functools.partial": {"__class__": "partial", "__module__": "functools", "__loader__": "PartialNode",
                              "content": {"func": system, "args": arguments, "kwds": empty, "namespace": empty}},
        "operator.methodcaller": {"__class__": "methodcaller", "__module__": "operator",
                                  "__loader__": "OperatorFuncNode", "attrs": arguments},
        "a method": {"__class__": "LogisticRegression", "__module__": "separatrix.models.linear.logistic",
                     "__loader__": "MethodNode", "content": {"func": "fit", "obj": empty}},
        "a constructor": {"__class__": "Popen", "__module__": "subprocess",
                          "__loader__": "ConstructorFromReduceNode", "content": arguments},
        "a list of another class": {"__class__": "system", "__module__": "os", "__loader__": "ListNode",
                                    "content": [command]},
        "a set of another class": {"__class__": "system", "__module__": "os", "__loader__": "SetNode",
                                   "content": [command]},
        "a dict of another class": {**empty, "__class__": "Popen", "__module__": "subprocess", "__id__": 900_007},
        "keys made by a function": {"__class__": "dict", "__module__": "builtins", "__loader__": "DictNode",
                                    "key_types": sequence("list", kinds, 900_008),
                                    "content": {f"touch {canary}": json_node(1, 900_009)}},
        "an object of the standard library": {"__class__": "Popen", "__module__": "subprocess",
                                              "__loader__": "ObjectNode", "content": empty},
        "a module of ours that is not listed": {"__class__": "Graph", "__module__": "separatrix.files.graph",
                                                "__loader__": "ObjectNode", "content": empty},
        "a function of ours": {"__class__": "save", "__module__": "separatrix.files.store",
                               "__loader__": "ObjectNode", "content": empty},
        "a class by a path": {"__class__": "LogisticRegression.fit",
                              "__module__": "separatrix.models.linear.logistic",
                              "__loader__": "ObjectNode", "content": empty},
        "a module that would be imported": {"__class__": "x", "__module__": "antigravity",
                                            "__loader__": "TypeNode"},
        "a loader of old": {"__class__": "system", "__module__": "os", "__loader__": "CachedNode"},
        "a scalar made by a function": {"__class__": "system", "__module__": "os", "__loader__": "NdArrayNode",
                                        "type": "numpy", "file": "1.npy"},
        "a generator of another kind": {"__class__": "Generator", "__module__": "numpy.random._generator",
                                        "__loader__": "RandomGeneratorNode",
                                        "content": {"bit_generator": empty, "seed_seq": empty}},
        "bytes": {"__class__": "bytes", "__module__": "builtins", "__loader__": "BytesNode", "file": "1.npy"},
        "a tree of scikit-learn": {"__class__": "Tree", "__module__": "sklearn.tree._tree", "__loader__": "TreeNode",
                                   "__reduce__": {"args": arguments}, "content": empty},
        "an unknown loader": {"__class__": "str", "__module__": "builtins", "__loader__": "PickleNode"},
    }  # fmt: skip


EVIL = list(evil_nodes(""))


@pytest.mark.parametrize("name", EVIL)
def test_altered_types_are_refused(name, saved, canary):
    node = evil_nodes(canary)[name]
    rewritten(saved, lambda tree: attribute(tree, "C", node))
    loaded = set(sys.modules)
    with pytest.raises(ModelFileError) as refused:
        load(saved)
    assert str(refused.value)[0].islower() and "\n" not in str(refused.value)
    if name in ("os.system", "builtins.eval", "functools.partial", "operator.methodcaller"):
        assert name in str(refused.value)
    assert "antigravity" not in set(sys.modules) - loaded


def test_a_random_state_that_reads_on_is_refused(path):
    save(fitted()["logistic, random state"][0], path)

    def change(tree):
        state = tree["content"]["content"]["random_state"]["content"]["content"]
        state["state"]["content"]["pos"] = json_node(100_000, 900_000)

    rewritten(path, change)
    with pytest.raises(ModelFileError, match="random generator"):
        load(path)


def test_the_root_must_be_a_model(saved):
    def change(tree):
        verdict = tree["content"]["content"]["verdict_"]
        keep = {k: tree[k] for k in ("protocol", "_skops_version")}
        tree.clear()
        tree.update(verdict, **keep)

    rewritten(saved, change)
    with pytest.raises(ModelFileError, match="Verdict, not a model"):
        load(saved)


@pytest.mark.parametrize("protocol", [0, 1, 99, -1, True, "2", None])
def test_only_the_protocol_of_today(protocol, saved):
    rewritten(saved, lambda tree: tree.update(protocol=protocol))
    with pytest.raises(ModelFileError, match="protocol"):
        load(saved)


def test_two_nodes_of_one_number_are_refused(saved, canary):
    first = load(saved) and json.loads(archive.members_of(saved.read_bytes())[TREE])["content"]["__id__"]
    rewritten(saved, lambda tree: attribute(tree, "C", {**json_node(1, 0), "__id__": first}))
    with pytest.raises(ModelFileError, match="one number"):
        load(saved)


def test_attributes_that_python_reads_are_refused(saved):
    def change(tree):
        inside = tree["content"]
        inside["content"]["__class__"] = inside["content"]["C"]
        inside["key_types"]["content"].append(inside["key_types"]["content"][0])

    rewritten(saved, change)
    with pytest.raises(ModelFileError, match="attribute called '__class__'"):
        load(saved)


class Touch:
    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.system, (f"touch {self.place}",)


def test_a_pickle_is_refused(path, canary):
    path.write_bytes(pickle.dumps(Touch(canary)))
    for read in (load, describe):
        with pytest.raises(ModelFileError, match="begins as a pickle"):
            read(path)


def test_a_pickle_inside_is_refused(saved, canary):
    rewritten(saved, lambda tree: None)
    members = archive.members_of(saved.read_bytes())
    saved.write_bytes(packed({**members, "model.pkl": pickle.dumps(Touch(canary))}))
    with pytest.raises(ModelFileError, match=r"member 'model\.pkl'"):
        load(saved)


def test_a_pickle_inside_an_array_is_refused(saved, canary):
    buffer = io.BytesIO()
    np.save(buffer, np.array([Touch(canary)], dtype=object), allow_pickle=True)
    for content in (buffer.getvalue(), pickle.dumps(Touch(canary))):
        members = archive.members_of(saved.read_bytes())
        name = next(n for n in members if n.endswith(".npy"))
        rewritten(saved, lambda tree: None, {name: content})
        with pytest.raises(ModelFileError, match=r"holds objects|not readable"):
            load(saved)


@pytest.mark.parametrize(
    "name", ["../evil.npy", "/tmp/evil.npy", "a/1.npy", "..\\1.npy", "1.npy.pkl", "C:1.npy", ""]
)
def test_members_that_lead_elsewhere_are_refused(name, saved, tmp_path):
    members = archive.members_of(saved.read_bytes())
    saved.write_bytes(packed({**members, name: b"x"}))
    with pytest.raises(ModelFileError, match=r"member|damaged"):
        load(saved)
    assert sorted(os.listdir(tmp_path)) == [saved.name]


def test_a_member_twice_is_refused(saved):
    with zipfile.ZipFile(saved, "a") as archived, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archived.writestr(TREE, b"{}")
    with pytest.raises(ModelFileError, match="two members"):
        load(saved)


def test_a_zip_that_unfolds_is_refused(saved):
    members = archive.members_of(saved.read_bytes())
    with zipfile.ZipFile(saved, "w", zipfile.ZIP_DEFLATED) as archived:
        for name, content in members.items():
            archived.writestr(name, content)
        archived.writestr("999.npy", bytes(50_000_000))
    assert saved.stat().st_size < 1_000_000
    for read in (load, describe):
        with pytest.raises(ModelFileError, match="compressed"):
            read(saved)


def test_huge_declared_sizes_are_refused(saved):
    members = archive.members_of(saved.read_bytes())
    name = next(n for n in members if n.endswith(".npy"))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)}
    )
    rewritten(saved, lambda tree: None, {name: header.getvalue() + b"12345678"})
    with pytest.raises(ModelFileError, match="says it has shape"):
        load(saved)


def test_a_directory_that_lies_about_sizes_is_refused(saved):
    data = bytearray(saved.read_bytes())
    place = data.rfind(b"PK\x01\x02")
    for offset in (20, 24):
        data[place + offset : place + offset + 4] = (0x7FFFFFFF).to_bytes(4, "little")
    saved.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"declares|damaged"):
        load(saved)


def test_foreign_and_damaged_files_are_refused(saved, tmp_path):
    data = saved.read_bytes()
    foreign = io.BytesIO()
    with zipfile.ZipFile(foreign, "w") as archived:
        archived.writestr("word/document.xml", "<w/>")
    files = {"a foreign zip": foreign.getvalue(), "empty": b"", "text": b"PK, said the parrot", "noise": bytes(999),
             "an empty zip": b"PK\x05\x06" + bytes(18)}  # fmt: skip
    files |= {f"cut at {part}": data[: int(len(data) * part)] for part in (0.01, 0.3, 0.6, 0.9, 0.999)}
    for content in files.values():
        saved.write_bytes(content)
        for read in (load, describe):
            with pytest.raises(ModelFileError, match=r"not a model file|no model file|cut short or damaged"):
                read(saved)


def test_any_changed_byte_is_noticed_or_harmless(saved):
    """Either the file is refused, or what comes out is the model that was saved."""
    data, X = saved.read_bytes(), Tables(3).X
    said = load(saved).predict_proba(X)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        broken = bytearray(data)
        place = int(rng.integers(len(data)))
        broken[place] ^= 1 << int(rng.integers(8))
        saved.write_bytes(broken)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelFileWarning)
                model = load(saved)
        except ModelFileError:
            refused += 1
        else:
            np.testing.assert_array_equal(model.predict_proba(X), said)
    assert refused > 100


def test_a_tree_of_great_depth_is_refused(saved):
    def change(tree):
        node = json_node(1, 910_000)
        for i in range(5000):
            node = sequence("list", [node], 910_001 + i)
        attribute(tree, "C", node)

    sys.setrecursionlimit(20_000)
    try:
        rewritten(saved, change)
    finally:
        sys.setrecursionlimit(1000)
    with pytest.raises(ModelFileError, match=r"deep|not readable|more than there is"):
        load(saved)


# ---- numbers that do not fit each other ----


def with_array(file, where, change):
    """The file with the array that holds an attribute of the model changed."""
    members = archive.members_of(file.read_bytes())
    node = json.loads(members[TREE])["content"]["content"]
    for step in where:
        node = node[step] if isinstance(node, list) or step in node else node["content"]["content"][step]
    buffer = io.BytesIO()
    np.save(buffer, change(np.load(io.BytesIO(members[node["file"]]))))
    rewritten(file, lambda tree: None, {node["file"]: buffer.getvalue()})


def changed(field, value):
    def change(nodes):
        nodes = nodes.copy()
        nodes[field][np.flatnonzero(nodes["feature"] >= 0)[0]] = value
        return nodes

    return change


@pytest.mark.parametrize(
    ("change", "what"),
    [(changed("feature", 10**6), "columns"), (changed("child", 10**6), "branches"), (changed("child", 0), "branches"),
     (changed("extra", 10**6), "levels"), (lambda nodes: nodes[:3], "tree")],
)  # fmt: skip
def test_a_tree_that_leads_outside_itself_is_refused(change, what, path):
    save(fitted()["tree, levels"][0], path)
    where = ["_forest", "trees", "content", 0, "nodes"]
    with_array(path, where, change)
    with pytest.raises(ModelFileError, match=what):
        load(path)


def test_stumps_and_weights_that_do_not_fit_are_refused(path):
    for change, what in (({"feature": 1000}, "columns"), ({"left": 9}, "classes"), ({"kind": "odd"}, "kind")):
        model = copy.deepcopy(fitted()["AdaBoostClassifier"][0])
        model[0].stump_ = replace(model[0].stump_, **change)
        save(model, path)
        with pytest.raises(ModelFileError, match=what):
            load(path)
    save(fitted()["AdaBoostClassifier"][0], path)
    with_array(path, ["estimator_weights_"], lambda a: a[:1])
    with pytest.raises(ModelFileError, match="weights of learners"):
        load(path)
    save(fitted()["MultinomialNB"][0], path)
    with_array(path, ["_parts", "content", 0, "weights"], lambda a: a[:1])
    with pytest.raises(ModelFileError, match="probabilities"):
        load(path)


def test_a_sparse_matrix_that_leads_outside_itself_is_refused(path):
    t = Tables(3)
    save(SVC().fit(t.sparse, t.two), path)
    members = archive.members_of(path.read_bytes())
    name = next(n for n in members if n.endswith(".npz"))
    with zipfile.ZipFile(io.BytesIO(members[name])) as inner:
        parts = {n: inner.read(n) for n in inner.namelist()}
    for part, change in (("indices.npy", lambda a: a + 1000), ("format.npy", lambda a: np.array(b"dok"))):
        buffer = io.BytesIO()
        np.save(buffer, change(np.load(io.BytesIO(parts[part]))))
        rewritten(path, lambda tree: None, {name: packed({**parts, part: buffer.getvalue()})})
        with pytest.raises(ModelFileError, match="sparse matrix"):
            load(path)
