"""A fitted model in a file:  save(model, path), load(path), describe(path)  (row O8).

    saving     whole or not at all: a new file beside the old one, flushed to the disk, then put in its place
    loading    never runs code: the archive is looked through first (:mod:`separatrix.files.archive`), then skops
               builds objects of listed classes from numbers, words and arrays
    about      version, date, classes, columns, the verdict and a hash of the rest, readable without the model

The rows a model was fitted to are not in its file, except those a model is made of (support vectors).
Cost O(size of the model), in memory twice while it is saved or loaded.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib
import importlib.metadata
import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from separatrix.core.caller import warn
from separatrix.files.archive import (
    ABOUT,
    TREE,
    Audit,
    ModelFileError,
    digest,
    members_of,
    opened,
    packed,
    read_json,
    read_member,
)
from separatrix.files.schema import ModelSchema
from separatrix.files.sound import check_sound
from separatrix.files.tags import located, tagged
from separatrix.files.whole import write_whole

if TYPE_CHECKING:
    from os import PathLike

FORMAT = 2  # tags; 1 had module paths
FORMATS = (1, FORMAT)
WATCHED = ("separatrix", "scikit-learn")
VERSIONS = (*WATCHED, "numpy", "scipy", "skops")


class ModelFileWarning(UserWarning):
    """A model file was written by another version."""


@dataclass(frozen=True)
class ModelFile:
    """What a model file says of itself.

    model : the class of the model; versions : of the packages that wrote it; saved : when (UTC); classes : the
    labels, as text; schema : the columns of training; verdict, notes : text; digest : SHA-256 of everything else;
    format : of the file.
    """

    model: str
    versions: dict[str, str]
    saved: str
    classes: tuple[str, ...]
    schema: ModelSchema
    verdict: str
    notes: str
    digest: str
    format: int = FORMAT

    def check_schema(self, frame: Any) -> Any:
        """The frame's columns of training, in order; a ValueError that names the columns where it does not fit."""
        return self.schema.fit(frame)

    def __str__(self) -> str:
        lines = [
            f"{self.model}, saved {self.saved} by separatrix {self.versions.get('separatrix', 'unknown')}"
        ]
        if self.classes:
            lines.append(f"  classes: {', '.join(self.classes[:12])}{' …' * (len(self.classes) > 12)}")
        names = self.schema.names
        count = len(self.schema.columns)
        lines.append(
            f"  {count} columns" + (f": {', '.join(names[:12])}{' …' * (count > 12)}" if names else "")
        )
        lines += [f"  {line}" for line in (*self.verdict.splitlines(), *self.notes.splitlines())]
        return "\n".join(lines)


def save(
    model: BaseEstimator, path: str | PathLike[str], *, schema: Any = None, notes: str | None = None
) -> ModelFile:
    """Write a fitted model to ``path``, whole or not at all; what `describe` will say is returned (row O8).

    ``schema`` is the training table, a mapping from column to kind, or a list of columns; by default what the model
    knows. ``notes`` is a text to keep with it. A model that holds a function (a kernel of your own) or a type no
    model file may hold is refused, and nothing is written. O(size of the model).

    >>> import tempfile, os
    >>> from sklearn.datasets import load_iris
    >>> from separatrix.models.linear.logistic import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.sepx")
    ...     said = save(LogisticRegression().fit(X, y), path, notes="three irises")
    ...     again = load(path)
    >>> said.model, said.classes, round(again.score(X, y), 3)
    ('LogisticRegression', ('0', '1', '2'), 0.973)
    """
    if isinstance(model, type) or not isinstance(model, BaseEstimator):
        raise TypeError(f"save takes a fitted model, got {model!r}")
    check_is_fitted(model)
    sio = _skops()
    members = _members(model, sio)
    about = {
        "format": FORMAT,
        "model": type(model).__name__,
        "versions": {name: _version(name) for name in VERSIONS},
        "saved": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "classes": [str(c) for c in np.asarray(getattr(model, "classes_", [])).tolist()],
        "schema": (ModelSchema.of_model(model) if schema is None else ModelSchema.of(schema)).to_list(),
        "verdict": str(_verdict_of(model) or ""),
        "notes": "" if notes is None else str(notes),
        "digest": digest(members),
    }
    said = _about(about)
    head = json.dumps(about, ensure_ascii=False, indent=1).encode()
    write_whole(path, packed({ABOUT: head, **members}))
    return said


def load(path: str | PathLike[str]) -> Any:
    """The model in a file written by `save`; no code of the file's runs (row O8).

    A file that is damaged, no model file, or holds a type a model file may not hold is refused with a
    :class:`ModelFileError`. A file of another major or minor version of separatrix or scikit-learn is loaded with a
    :class:`ModelFileWarning`. O(size of the file); see `save` for an example.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"...") and file.flush()
    ...     load(file.name)
    Traceback (most recent call last):
        ...
    separatrix.files.archive.ModelFileError: not a model file: it does not begin as a zip archive does
    """
    with _refusing():
        data = _bytes(path)
        members = members_of(data)
        about = _about(read_json(members[ABOUT], ABOUT))
        if digest(members) != about.digest:
            raise ModelFileError(
                "the file was changed or damaged since it was saved: its hash is not that of its content"
            )
        _warn_of_versions(about)
        sio = _skops()
        tree = read_json(members[TREE], TREE)
        located(tree, about.format)
        audit = audited(tree, members)
        data = packed({**members, TREE: json.dumps(tree).encode()})
        model = sio.loads(data, trusted=sorted(audit.trusted))
        check_sound(model)
    return model


def describe(path: str | PathLike[str]) -> ModelFile:
    """What a model file says of itself, without building the model: classes, columns, versions, verdict (row O8).

    Cost O(number of members). Nothing that it says is proven; `load` compares the hash.

    >>> import tempfile, os
    >>> from separatrix.models.generative.gaussian_nb import GaussianNB
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.sepx")
    ...     _ = save(GaussianNB().fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"]), path)
    ...     said = describe(path)
    >>> said.model, said.classes, len(said.schema.columns), said.verdict.splitlines()[0]
    ('GaussianNB', ('a', 'b'), 1, 'GaussianNB · closed form, unique')
    """
    place = _place(path)
    with _refusing(), open(place, "rb") as file, opened(file, os.path.getsize(place)) as archive:
        return _about(read_json(read_member(archive, ABOUT), ABOUT))


def audited(tree: dict[str, Any], members: Mapping[str, bytes]) -> Audit:
    """The audit of a tree of objects and the arrays it names; raises where it holds what it must not."""
    audit = Audit(members)
    audit.root(tree, importlib.import_module("skops.io._protocol").PROTOCOL)
    return audit


# ---- writing ----


def _members(model: BaseEstimator, sio: Any) -> dict[str, bytes]:
    """The archive's members, as `load` will want them: numbered in order, arrays stored, everything listed."""
    if hasattr(model, "_table"):
        raise ModelFileError(
            f"{type(model).__name__}: a formula is code that is run on every new frame, and a model file holds none: "
            "fit to the columns themselves"
        )
    try:
        raw = sio.dumps(model)
    except RecursionError:
        raise ModelFileError(
            f"{type(model).__name__} holds something that holds itself, which no file can store"
        ) from None
    except Exception as error:  # skops says what it cannot store in many ways
        raise ModelFileError(f"{type(model).__name__} cannot be stored: {error}") from error
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    tree = json.loads(found[TREE])
    members = _Numbering(found).of(tree)
    _refuse_functions(tree, type(model).__name__)
    try:
        audited(tree, members)
    except ModelFileError as error:
        raise ModelFileError(f"{type(model).__name__} cannot be stored: {error}") from None
    tagged(tree)
    return {TREE: json.dumps(tree, separators=(",", ":")).encode(), **members}


class _Numbering:
    """Gives nodes and arrays numbers in the order they come, where skops has addresses of this process's memory."""

    def __init__(self, found: Mapping[str, bytes]):
        self.found = found
        self.numbers: dict[int, int] = {}
        self.first: dict[int, dict[str, Any]] = {}
        self.members: dict[str, bytes] = {}

    def of(self, tree: dict[str, Any]) -> dict[str, bytes]:
        self._number(tree)
        return self.members

    def _number(self, state: Any) -> Any:
        if isinstance(state, list):
            state[:] = [self._number(item) for item in state]
        elif isinstance(state, dict):
            given = state.get("__id__") if "__loader__" in state else None
            if given in self.first:  # one object in two places
                return self.first[given]
            if given is not None:
                self.first[given] = state
                state["__id__"] = self.numbers.setdefault(given, len(self.numbers) + 1)
            if "__loader__" in state and isinstance(state.get("file"), str):
                ending = state["file"][state["file"].rfind(".") :]
                content = self.found[state["file"]]
                state["file"] = f"{state['__id__']}{ending}"
                self.members[state["file"]] = _stored(content) if ending == ".npz" else content
            for key, value in state.items():
                if key not in ("__id__", "file"):
                    state[key] = self._number(value)
        return state


def _stored(npz: bytes) -> bytes:
    """The same arrays, not compressed."""
    with zipfile.ZipFile(io.BytesIO(npz)) as archive:
        return packed({name: archive.read(name) for name in archive.namelist()})


def _refuse_functions(tree: dict[str, Any], name: str) -> None:
    """A sentence for the commonest reason a model cannot be stored, before the audit's."""
    found = _function_in(tree, name)
    if found:
        raise ModelFileError(
            f"{found} is a function, and a model file holds no code: use one of the kernels or options that have a "
            "name, or keep the function in your program and the model without it"
        )


def _function_in(state: Any, where: str) -> str:
    """Where in the tree a function stands; "" where there is none."""
    if isinstance(state, list):
        return next((f for f in (_function_in(item, where) for item in state) if f), "")
    if not isinstance(state, dict):
        return ""
    if state.get("__loader__") in ("FunctionNode", "MethodNode", "PartialNode", "OperatorFuncNode"):
        return where
    owner = state.get("__class__") if state.get("__loader__") == "ObjectNode" else None
    inside = state.get("content")
    if owner and isinstance(inside, dict) and isinstance(inside.get("content"), dict):
        pairs = ((f"{owner}.{key}", value) for key, value in inside["content"].items())
    else:
        pairs = ((where, value) for value in state.values())
    return next((f for f in (_function_in(value, name) for name, value in pairs) if f), "")


# ---- reading ----


def _place(path: str | PathLike[str]) -> str:
    place = os.fspath(path)
    if os.path.isdir(place):
        raise ModelFileError(f"{place} is a folder, not a model file")
    if not os.path.exists(place):
        raise FileNotFoundError(f"there is no file {place}")
    return str(place)


def _bytes(path: str | PathLike[str]) -> bytes:
    place = _place(path)
    size = os.path.getsize(place)
    with open(place, "rb") as file:
        opened(file, size).close()  # before all of it is read
    return Path(place).read_bytes()


@contextlib.contextmanager
def _refusing() -> Any:
    """Whatever goes wrong while a file is read is the file's fault, and said in a sentence."""
    try:
        yield
    except (ModelFileError, OSError, ImportError, Warning):
        raise
    except (MemoryError, RecursionError) as error:
        raise ModelFileError(
            f"the file asks for more than there is ({type(error).__name__}): nothing was loaded"
        ) from None
    except Exception as error:
        raise ModelFileError(f"the file is not readable as a model: {error}") from error


def _about(found: Mapping[str, Any]) -> ModelFile:
    """The parts of ``separatrix.json``, their types checked, without characters that are not text."""
    if found.get("format") not in FORMATS:
        raise ModelFileError(
            f"the file is of format {found.get('format')!r}, and this version reads {FORMAT}: use the "
            "separatrix that wrote it"
        )
    versions, classes, schema = found.get("versions"), found.get("classes"), found.get("schema")
    texts = [found.get(name) for name in ("model", "saved", "verdict", "notes", "digest")]
    if not isinstance(versions, dict) or not all(isinstance(t, str) for t in (*texts, *versions.values())):
        raise ModelFileError(f"{ABOUT!r} does not say what a model file says")
    if not isinstance(classes, list) or not isinstance(schema, list):
        raise ModelFileError(f"{ABOUT!r} does not say what a model file says")
    try:
        columns = ModelSchema.of(schema)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"{ABOUT!r} does not say what a model file says: {error}") from None
    model, saved, verdict, notes, total = (_plain(str(t)) for t in texts)
    labels = tuple(_plain(str(c)) for c in classes)
    named = {_plain(str(k)): _plain(v) for k, v in versions.items()}
    return ModelFile(model, named, saved, labels, columns, verdict, notes, total, found["format"])


def _plain(text: str) -> str:
    """Without the control characters with which a file could write on the reader's terminal."""
    return "".join(c for c in text if c.isprintable() or c == "\n")


def _warn_of_versions(about: ModelFile) -> None:
    for name in WATCHED:
        then, now = about.versions.get(name, "unknown"), _version(name)
        if then.split(".")[:2] != now.split(".")[:2]:
            warn(
                f"the model was saved by {name} {then} and is read by {now}: its predictions may differ, compare "
                "some before you rely on it, or save it again",
                ModelFileWarning,
            )


def _verdict_of(model: BaseEstimator) -> Any:
    """The verdict of a model, or of a pipeline's last step."""
    steps = getattr(model, "steps", None)
    return getattr(model, "verdict_", None) if not steps else _verdict_of(steps[-1][1])


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _skops() -> Any:
    try:
        return importlib.import_module("skops.io")
    except ImportError:
        raise ImportError('model files need skops: pip install "separatrix[files]"') from None
