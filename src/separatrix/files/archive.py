"""The archive of a model file, looked through before a single object is made (row O8).

    a zip of  separatrix.json   what the file says of itself, and the SHA-256 of all the rest
              schema.json       the tree of objects, as skops writes it
              17.npy, 18.npz    the arrays it names

Members are stored, not compressed, so that a small file cannot unfold into a large one. Every node of the tree must
be of a known kind and every class be listed in :mod:`separatrix.files.types`; every array must be as long as its
header says. The hash tells damage; it is no signature, and whoever changes a file on purpose can compute it anew:
safety is the list's, not the hash's. Cost O(size of the file).
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.files.types import BIT_GENERATORS, KEYS, OBJECTS, SCALARS, SPARSE, STATISTICS, TYPES

MOST_BYTES = 8 << 30
MOST_MEMBERS = 200_000
MOST_DEPTH = 120
ABOUT, TREE = "separatrix.json", "schema.json"
MEMBER = re.compile(r"separatrix\.json|schema\.json|[0-9]{1,20}\.np[yz]")
ARRAYS_OF_SPARSE = {"format", "shape", "data", "indices", "indptr", "row", "col", "_is_array"}
MARKS = {"__class__", "__module__", "__loader__", "__id__"}


class ModelFileError(ValueError):
    """A file that is no model file, or one that holds what a model file must not."""


# ---- the zip ----


def members_of(data: bytes) -> dict[str, bytes]:
    """Name → content of every member, each checked; a sentence where something is not as `packed` leaves it.

    >>> members_of(b"no zip")
    Traceback (most recent call last):
        ...
    separatrix.files.archive.ModelFileError: not a model file: it does not begin as a zip archive does
    """
    with opened(io.BytesIO(data), len(data)) as archive:
        return {info.filename: read_member(archive, info.filename) for info in archive.infolist()}


def opened(file: Any, size: int) -> zipfile.ZipFile:
    """The archive, its list of members checked; nothing in it is read yet."""
    start = file.read(4)
    if start[:1] == b"\x80" or start[:2] in (b"c_", b"(d", b"(l"):
        raise ModelFileError(
            "not a model file: it begins as a pickle does, and a pickle runs code when it is opened"
        )
    if start[:2] != b"PK":
        raise ModelFileError("not a model file: it does not begin as a zip archive does")
    file.seek(0)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError) as error:
        raise ModelFileError(f"the file is cut short or damaged: {error}") from None
    infos = archive.infolist()
    if len(infos) > MOST_MEMBERS:
        raise ModelFileError(
            f"the archive has {len(infos)} members, and {MOST_MEMBERS} are the most there may be"
        )
    names = [info.filename for info in infos]
    for info in infos:
        if not MEMBER.fullmatch(info.filename):
            raise ModelFileError(f"the archive has a member {info.filename!r}, which no model file has")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise ModelFileError(
                f"member {info.filename!r} is compressed, and a model file's are not: it could unfold to any size"
            )
        if info.flag_bits & 0x1:
            raise ModelFileError(f"member {info.filename!r} is encrypted, and a model file's are not")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelFileError(f"the archive has two members called {twice!r}")
    total = sum(info.file_size for info in infos)
    if total > size or size > MOST_BYTES:
        raise ModelFileError(
            f"the archive declares {total} bytes in a file of {size}: it is damaged, or made to fill the memory"
        )
    for needed in (ABOUT, TREE):
        if needed not in names:
            raise ModelFileError(
                f"not a model file: the archive has no {needed!r}; save with separatrix.files.save"
            )
    return archive


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise ModelFileError(f"member {name!r} is cut short or damaged: {error}") from None


def packed(members: Mapping[str, bytes]) -> bytes:
    """The archive of the members, stored; the same members give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()


def digest(members: Mapping[str, bytes]) -> str:
    """SHA-256 of all members but the one that says it, by name."""
    total = hashlib.sha256()
    for name in sorted(set(members) - {ABOUT}):
        total.update(f"{name}:{len(members[name])}:".encode())
        total.update(members[name])
    return total.hexdigest()


def read_json(content: bytes, name: str) -> dict[str, Any]:
    """A member as a JSON object."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{name!r} is not readable: {error}") from None
    if not isinstance(found, dict):
        raise ModelFileError(f"{name!r} is not a JSON object")
    return found


# ---- the tree of objects ----


class Audit:
    """Walks the tree of ``schema.json``; ``trusted`` are the classes found, all of them listed."""

    def __init__(self, members: Mapping[str, bytes]):
        self.members = members
        self.trusted: set[str] = set()
        self.seen: dict[int, Any] = {}
        self.looked_at: set[str] = set()

    def root(self, tree: dict[str, Any], protocol: int) -> None:
        """The whole tree; the root must be an estimator."""
        if type(tree.get("protocol")) is not int or tree["protocol"] != protocol:
            raise ModelFileError(
                f"the file is of skops' protocol {tree.get('protocol')!r}, and this is {protocol}: save the model "
                "again with the skops of this environment"
            )
        rest = {key: value for key, value in tree.items() if key not in ("protocol", "_skops_version")}
        self.node(rest, 0)
        if rest["__loader__"] != "ObjectNode":
            raise ModelFileError(f"the file holds a {self._name(rest)}, not a model")

    def node(self, state: Any, depth: int) -> None:
        if not isinstance(state, dict) or not all(isinstance(state.get(m), str) for m in MARKS - {"__id__"}):
            raise ModelFileError("the tree of objects has a node without class and kind")
        if depth > MOST_DEPTH:
            raise ModelFileError(f"the tree of objects is more than {MOST_DEPTH} levels deep")
        number = state.get("__id__")
        if type(number) is not int:
            raise ModelFileError(f"the node of a {self._name(state)} has no number")
        if number in self.seen:  # skops takes the first for all
            if self.seen[number] != state:
                raise ModelFileError(f"two different nodes have one number, {number}")
            return
        self.seen[number] = state
        look = LOADERS.get(state["__loader__"])
        if look is None:
            raise ModelFileError(
                f"the file holds {self._name(state)} ({state['__loader__']}), which is not among the types a model "
                "file may hold: nothing was loaded"
            )
        look(self, state, depth + 1)

    def _name(self, state: dict[str, Any]) -> str:
        return f"{state['__module__']}.{state['__class__']}"[:200]

    def _only(self, state: dict[str, Any], allowed: Any, *keys: str) -> None:
        """The class is one of those allowed and the node has no other keys."""
        if (state["__module__"], state["__class__"]) not in allowed:
            raise ModelFileError(
                f"the file holds {self._name(state)}, which is not among the types a model file may hold: nothing "
                "was loaded"
            )
        extra = set(state) - MARKS - set(keys)
        if extra:
            raise ModelFileError(
                f"the node of a {self._name(state)} says more than it should: {sorted(extra)[0]!r}"
            )
        self.trusted.add(self._name(state))

    def _items(self, state: dict[str, Any], depth: int) -> None:
        content = state.get("content")
        if not isinstance(content, list):
            raise ModelFileError(f"a {self._name(state)} without a list of what is in it")
        for item in content:
            self.node(item, depth)

    def _sequence(self, state: dict[str, Any], depth: int) -> None:
        kind = state["__loader__"].removesuffix("Node").lower()  # list, tuple or set
        self._only(state, {("builtins", kind)}, "content")
        self._items(state, depth)

    def _dict(self, state: dict[str, Any], depth: int) -> None:
        self._only(state, {("builtins", "dict"), ("collections", "OrderedDict")}, "content", "key_types")
        content, kinds = state.get("content"), state.get("key_types")
        if (
            not isinstance(content, dict)
            or not isinstance(kinds, dict)
            or kinds.get("__loader__") != "ListNode"
        ):
            raise ModelFileError("a dict without keys and their types")
        self.node(kinds, depth)
        for kind in kinds["content"]:  # skops calls these with the text of the key
            if kind["__loader__"] != "TypeNode" or (kind["__module__"], kind["__class__"]) not in KEYS:
                raise ModelFileError(
                    f"a dict has a key of type {self._name(kind)}: keys of a model file are words and numbers"
                )
        if len(kinds["content"]) != len(content):
            raise ModelFileError("a dict has more keys than types of keys")
        for value in content.values():
            self.node(value, depth)

    def _json(self, state: dict[str, Any], depth: int) -> None:
        self._only(state, {("builtins", "str")}, "content", "is_json")
        try:
            json.loads(state["content"])
        except (KeyError, TypeError, ValueError, RecursionError):
            raise ModelFileError("a value of the tree of objects is not readable") from None

    def _array(self, state: dict[str, Any], depth: int) -> None:
        if state.get("type") == "numpy":
            self._only(state, SCALARS | {("numpy", "ndarray")}, "type", "file")
            self._member(state, ".npy")
            return
        self._only(state, {("numpy", "ndarray")}, "type", "content", "shape")
        if state.get("type") != "json":
            raise ModelFileError(f"an array of unknown kind {state.get('type')!r}")
        self._items(state, depth)
        shape = state.get("shape")
        if not isinstance(shape, dict) or shape.get("__loader__") != "TupleNode":
            raise ModelFileError("an array of objects without a shape")
        self.node(shape, depth)

    def _sparse(self, state: dict[str, Any], depth: int) -> None:
        self._only(state, SPARSE, "type", "file")
        self._member(state, ".npz")

    def _member(self, state: dict[str, Any], ending: str) -> None:
        name = state.get("file")
        if not isinstance(name, str) or not name.endswith(ending) or name not in self.members:
            raise ModelFileError(f"an array is said to be in {name!r}, which the archive does not have")
        if name not in self.looked_at:
            self.looked_at.add(name)
            (check_npy if ending == ".npy" else check_npz)(self.members[name], name)

    def _type(self, state: dict[str, Any], depth: int) -> None:
        self._only(state, TYPES)

    def _dtype(self, state: dict[str, Any], depth: int) -> None:
        self._only(state, {("numpy", "dtype")}, "content")
        if not isinstance(state.get("content"), dict) or state["content"].get("__loader__") != "NdArrayNode":
            raise ModelFileError("a dtype without an array of it")
        self.node(state["content"], depth)

    def _slice(self, state: dict[str, Any], depth: int) -> None:
        self._only(state, {("builtins", "slice")}, "content")
        content = state.get("content")
        if not isinstance(content, dict) or not all(v is None or type(v) is int for v in content.values()):
            raise ModelFileError("a slice of something else than whole numbers")

    def _random_state(self, state: dict[str, Any], depth: int) -> None:
        self._only(state, {("numpy.random.mtrand", "RandomState")}, "content")
        self._generator_state(state.get("content"), depth)

    def _generator(self, state: dict[str, Any], depth: int) -> None:
        self._only(state, {("numpy.random._generator", "Generator")}, "content")
        content = state.get("content")
        if not isinstance(content, dict) or set(content) != {"bit_generator", "seed_seq"}:
            raise ModelFileError("a random generator without its state")
        self._generator_state(content["bit_generator"], depth)
        self.node(content["seed_seq"], depth)

    def _generator_state(self, state: Any, depth: int) -> None:
        self.node(state, depth)
        try:
            inside = state["content"]
            name = json.loads(inside["bit_generator"]["content"])
            at = json.loads(inside["state"]["content"]["pos"]["content"]) if name == "MT19937" else 0
        except (KeyError, TypeError, ValueError):
            raise ModelFileError("a random generator without its state") from None
        if (
            name not in BIT_GENERATORS or type(at) is not int or not 0 <= at <= 624
        ):  # NumPy reads on from there
            raise ModelFileError("a random generator of unknown kind or state")

    def _statistic(self, state: dict[str, Any], depth: int) -> None:
        self._only(state, STATISTICS, "content")
        if not isinstance(state.get("content"), dict) or state["content"].get("__loader__") != "TupleNode":
            raise ModelFileError(f"a {self._name(state)} without its values")
        self.node(state["content"], depth)

    def _object(self, state: dict[str, Any], depth: int) -> None:
        self._only(state, OBJECTS, "content")
        content = state.get("content")
        if not isinstance(content, dict):
            raise ModelFileError(f"a {self._name(state)} without attributes")
        self.node(content, depth)
        if content["__loader__"] == "JsonNode" and json.loads(content["content"]) is None:
            return  # an object that holds nothing
        kinds = content.get("key_types", {}).get("content", [])
        if content["__loader__"] != "DictNode" or any(k["__class__"] != "str" for k in kinds):
            raise ModelFileError(f"the attributes of a {self._name(state)} have no names")
        for name in content["content"]:
            if not name.isidentifier() or name.startswith("__"):
                raise ModelFileError(f"a {self._name(state)} has an attribute called {name[:80]!r}")


LOADERS = {
    "ListNode": Audit._sequence,
    "TupleNode": Audit._sequence,
    "SetNode": Audit._sequence,
    "DictNode": Audit._dict,
    "JsonNode": Audit._json,
    "NdArrayNode": Audit._array,
    "SparseMatrixNode": Audit._sparse,
    "TypeNode": Audit._type,
    "DTypeNode": Audit._dtype,
    "SliceNode": Audit._slice,
    "RandomStateNode": Audit._random_state,
    "RandomGeneratorNode": Audit._generator,
    "ConstructorFromReduceNode": Audit._statistic,
    "ObjectNode": Audit._object,
}


# ---- arrays ----


def check_npy(content: bytes, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of an array in NumPy's format, after checking that it is as long as it says."""
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = header[version](file)
    except Exception as error:  # a header is Python text, and what a bad one raises is not promised
        raise ModelFileError(f"array {name!r} is not readable: {error}") from None
    if dtype.hasobject:
        raise ModelFileError(f"array {name!r} holds objects, which only a pickle can store")
    count = 1
    for size in shape:
        count *= int(size)
    if min(shape, default=0) < 0 or count * dtype.itemsize != len(content) - file.tell():
        raise ModelFileError(
            f"array {name!r} says it has shape {tuple(shape)} of {dtype}, and has {len(content) - file.tell()} bytes"
        )
    return tuple(shape), dtype


def check_npz(content: bytes, name: str) -> None:
    """A sparse matrix in SciPy's format, stored: indices within its shape."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            stored = all(
                i.compress_type == zipfile.ZIP_STORED and i.compress_size == i.file_size for i in infos
            )
            names = [i.filename.removesuffix(".npy") for i in infos]
            if not stored or set(names) - ARRAYS_OF_SPARSE or len(set(names)) < len(names):
                raise ModelFileError(f"{name!r} is not a sparse matrix as a model file stores it")
            if sum(i.file_size for i in infos) > len(content):
                raise ModelFileError(f"{name!r} declares more bytes than it has")
            parts = {i.filename.removesuffix(".npy"): archive.read(i) for i in infos}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise ModelFileError(f"{name!r} is cut short or damaged: {error}") from None
    arrays = {}
    for part, bytes_ in parts.items():
        check_npy(bytes_, f"{name}/{part}")
        arrays[part] = np.load(io.BytesIO(bytes_), allow_pickle=False)
    form = arrays.get("format")
    if form is None or form.ndim or form.item() not in ("csr", "csc", "coo", b"csr", b"csc", b"coo"):
        raise ModelFileError(f"{name!r} is a sparse matrix of unknown format")
