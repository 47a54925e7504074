"""C1-all, the first fit of every public estimator:  import and fit in a new process, a user's caches empty.

    make first-fits                                    from a wheel of this tree, in an environment of its own
    python -m benchmarks C1-all --python PATH          from what is installed there
    python -m benchmarks C1-all                        from this tree

Beside each stands scikit-learn's class of the same name, or the nearest (a note says which), or, where it has none,
its LogisticRegression as a yardstick. The rows are iris, or the nearest that a model can read. HOME and the folders
for caches are new and empty in every process, so that what a wheel does not bring is compiled then and there; with
``--python`` nothing of this tree can be imported. Best of the rounds; the clock is that of C1 (startup.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import datasets, parts
from benchmarks.model import SUBJECT, Options, Report, Row, Workload
from benchmarks.participants import enlist, failure

YARDSTICK = ("sklearn.linear_model", "LogisticRegression")
LIMIT = 600.0  # seconds after which a process is given up
SPREAD = 0.1  # of the errors on the rows of the fit: a wrong model is further off

# scikit-learn's modules with a class of the same name, and the nearest class under another
SAME = {
    "linear_model": "LogisticRegression Perceptron",
    "discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "naive_bayes": "GaussianNB CategoricalNB MultinomialNB ComplementNB BernoulliNB",
    "svm": "LinearSVC SVC NuSVC OneClassSVM SVR NuSVR LinearSVR",
    "tree": "DecisionTreeClassifier DecisionTreeRegressor",
    "ensemble": "AdaBoostClassifier BaggingClassifier BaggingRegressor ExtraTreesClassifier ExtraTreesRegressor "
    "RandomForestClassifier RandomForestRegressor",
}
HOMES = {name: f"sklearn.{home}" for home, names in SAME.items() for name in names.split()}
NEAREST = {
    "LeastSquaresClassifier": ("sklearn.linear_model", "RidgeClassifier", ""),
    "SubgradientSVC": ("sklearn.linear_model", "SGDClassifier", ""),
    "DecisionStump": ("sklearn.tree", "DecisionTreeClassifier", "max_depth=1"),
}

# what a model reads, where it is not iris as it is
READS = {
    **dict.fromkeys(("CategoricalNB", "MultinomialNB", "ComplementNB"), "counts"),
    "SubgradientSVC": "two",
    "GeneralizedLinearModel": "shares",
    **dict.fromkeys(("SVR", "NuSVR", "LinearSVR"), "numbers"),
    **dict.fromkeys(
        ("DecisionTreeRegressor", "BaggingRegressor", "ExtraTreesRegressor", "RandomForestRegressor"),
        "numbers",
    ),
    "OneClassSVM": "rows",
}
SETTINGS = {"GeneralizedLinearModel": "'binomial'"}

# how far the answers are from the rows of the fit; lower is better
ERROR = {
    "labels": "np.mean(answer != y)",
    "numbers": "np.mean((answer - y) ** 2) / np.var(y)",
    "rows": "abs(np.mean(answer < 0) - 0.5)",  # ν is a half
}
KINDS = {"numbers": "numbers", "shares": "numbers", "rows": "rows"}  # else labels

SCRIPT = """
import time
start = time.perf_counter()
from {module} import {name} as Model
imported = time.perf_counter()
import numpy as np
X, y = np.load({X!r}), np.load({y!r})
model = Model({settings}).fit(X, y)
end = time.perf_counter()
import json, sys
answer = np.asarray(model.predict(X))
place = sys.modules[{module!r}.partition(".")[0]].__file__
print(json.dumps([end - start, imported - start, float({error}), place]))
"""


class First(NamedTuple):
    """A class to be imported and fitted."""

    module: str
    name: str
    settings: str
    reads: str

    @property
    def scored(self) -> str:
        return ERROR[KINDS.get(self.reads, "labels")]


class Beside(NamedTuple):
    """An estimator of ours and the class it is measured by; ``same``: whether their errors may be compared."""

    ours: First
    theirs: First
    same: bool


class Outcome(NamedTuple):
    """What a process told: seconds of import and fit, of the import alone, the error, and what was imported."""

    seconds: float
    imported: float
    error: float
    place: str


def estimators() -> tuple[str, ...]:
    """Every public estimator."""
    from separatrix.models.catalogue import MODELS

    return tuple(model.cls for model in MODELS)


def beside(name: str) -> Beside:
    """An estimator with its counterpart."""
    reads = READS.get(name, "iris")
    settings = SETTINGS.get(name, "")
    ours = First(SUBJECT, name, settings, reads)
    if name in HOMES:
        return Beside(ours, First(HOMES[name], name, settings, reads), True)
    if name in NEAREST:
        home, nearest, given = NEAREST[name]
        return Beside(ours, First(home, nearest, given, reads), True)
    return Beside(ours, First(*YARDSTICK, "", "iris"), False)


def run(workload: Workload, options: Options, say: Callable[[str], None]) -> Report:
    """One estimator after another, the libraries in turn."""
    runners, settled = enlist(workload, workload.task(datasets.iris()), options)
    rows: list[Row] = []
    places: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        files = stored(Path(folder))
        for name in estimators():
            pair = beside(name)
            for row, place in _estimator(name, pair, [p.name for p in runners], files, options, say):
                rows.append(row)
                places.add(place)
    where = ", ".join(sorted(filter(None, places))) or "nothing"
    isolated = "an installed package" if options.python else "this interpreter, no wheel"
    source = (
        f"iris and what is near it; {isolated}: {where}; best of {options.repeat} processes, caches empty"
    )
    return parts.report(workload, source, "s", rows + settled, options)


def _estimator(
    name: str,
    pair: Beside,
    peers: list[str],
    files: dict[str, tuple[str, str]],
    options: Options,
    say: Callable[[str], None],
) -> list[tuple[Row, str]]:
    """The rows of one estimator, and from where separatrix was imported."""
    outcomes: dict[str, list[Outcome]] = {peer: [] for peer in peers}
    failed: dict[str, Row] = {}
    for turn in range(options.repeat):
        for peer in peers:
            if peer in failed:
                continue
            say(f"{name} · {peer} · {turn + 1}/{options.repeat}")
            first = pair.ours if peer == SUBJECT else pair.theirs
            found = process(first, files[first.reads], options.python)
            if isinstance(found, Outcome):
                outcomes[peer].append(found)
            else:
                failed[peer] = failure(peer, found)
    rows = []
    for peer in peers:
        best = min(outcomes[peer], key=lambda outcome: outcome.seconds, default=None)
        if peer in failed or best is None:
            rows.append((replace(failed[peer], part=name), ""))
        else:
            rows.append((_row(peer, name, pair, best), best.place if peer == SUBJECT else ""))
    return rows


def _row(peer: str, name: str, pair: Beside, best: Outcome) -> Row:
    notes = [f"import {best.imported:.2f} s"]
    if peer != SUBJECT and pair.theirs.name != name:
        notes.append(pair.theirs.name if pair.same else f"no counterpart: {pair.theirs.name}")
    error = best.error if pair.same else None
    return Row(peer, seconds=best.seconds, objective=error, notes=tuple(notes), part=name, spread=SPREAD)


def stored(folder: Path) -> dict[str, tuple[str, str]]:
    """Files of the rows and targets of each kind: reading them through a library would time that library."""
    iris = datasets.iris()
    X, y = iris.X, iris.y
    tables = {
        "iris": (X, y),
        "two": (X[50:], y[50:] - 1),  # two kinds that overlap: 0 and 1
        "counts": (np.rint(X).astype(np.int64), y),
        "numbers": (X[:, :3], X[:, 3]),
        "shares": (X[50:], y[50:] - 1.0),  # the same as numbers, of which a mean is fitted
        "rows": (X, y),
    }
    files = {}
    for kind, (rows, targets) in tables.items():
        files[kind] = (str(folder / f"{kind}-X.npy"), str(folder / f"{kind}-y.npy"))
        np.save(files[kind][0], np.ascontiguousarray(rows))
        np.save(files[kind][1], targets)
    return files


def process(first: First, files: tuple[str, str], python: str | None) -> Outcome | str:
    """What a new process with empty caches told, or its last line of complaint."""
    script = SCRIPT.format(
        module=first.module,
        name=first.name,
        settings=first.settings,
        X=files[0],
        y=files[1],
        error=first.scored,
    )
    # made absolute, for the process starts elsewhere, and not resolved: in an environment it is a link
    command = [os.path.abspath(python), "-I", "-c", script] if python else [sys.executable, "-c", script]
    with tempfile.TemporaryDirectory() as home:
        try:
            child = subprocess.run(
                command, env=environment(home, isolated=python is not None), cwd=home, capture_output=True,
                text=True, check=False, timeout=LIMIT,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"no answer in {LIMIT:.0f} s"
        except OSError as error:
            return f"{python}: {error.strerror}"
    if child.returncode != 0:
        return (child.stderr.strip().splitlines() or [f"the process ended with {child.returncode}"])[-1]
    return Outcome(*json.loads(child.stdout.strip().splitlines()[-1]))


def environment(home: str, *, isolated: bool) -> dict[str, str]:
    """Ours, but at home in an empty folder; isolated, without what Python would be told by it."""
    kept: dict[str, str] = {
        name: value for name, value in os.environ.items() if not (isolated and name.startswith("PYTHON"))
    }
    if "PYTHONPATH" in kept:  # the process does not start where we are
        paths = kept["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(str(Path(path).resolve()) for path in paths if path)
    empty = ("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
    return kept | dict.fromkeys(empty, home)
