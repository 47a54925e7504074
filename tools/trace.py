"""The way of a call through the files:  python tools/trace.py [LogisticRegression.fit ...] > docs/ways.md

Every file of ours that the call enters, in the order of first entry: the function it enters by, the file it comes
from, and why there is such a hop, which is what the file's first sentence says. ARCHITECTURE.md counts them.
"""

from __future__ import annotations

import ast
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import nullcontext, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

import separatrix

SOURCE = str(Path(separatrix.__file__).parent)


def hops(call: Callable[[], Any]) -> list[tuple[str, str, str]]:
    """(file, function, from file) of each first entry into a file of ours, on this thread."""
    seen: dict[str, tuple[str, str, str]] = {}

    def profile(frame: Any, event: str, argument: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(SOURCE):
            return
        here = _short(frame)
        back = frame.f_back
        while back is not None and not back.f_code.co_filename.startswith(SOURCE):
            back = back.f_back
        if here not in seen and frame.f_code.co_name != "<module>":
            seen[here] = here, frame.f_code.co_qualname, _short(back) if back else ""

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(seen.values())


def _short(frame: Any) -> str:
    return frame.f_code.co_filename[len(SOURCE) + 1 :]


def calls() -> dict[str, Callable[[], Any]]:
    """What can be traced, by name."""
    X, y = load_breast_cancer(return_X_y=True)
    models = ("LogisticRegression", "GaussianNB", "SVC", "AdaBoostClassifier")
    found: dict[str, Callable[[], Any]] = {
        f"{name}.fit": lambda name=name: getattr(separatrix, name)().fit(X, y) for name in models
    }

    def compare() -> None:
        from separatrix.app.cli import main

        with tempfile.TemporaryDirectory() as folder:
            asked = ["compare", "iris", "--models", "lda", "--budget", "20", "--out", folder]
            with suppress(SystemExit), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                main(asked)

    found["separatrix compare"] = compare
    return found


def reason(file: str) -> str:
    """The first sentence of a file."""
    doc = ast.get_docstring(ast.parse((Path(SOURCE) / file).read_text(encoding="utf-8"))) or ""
    return doc.split("\n")[0].replace("|", "\\|")


def main() -> None:
    """Print the ways."""
    print("# Ways through the files\n\nWritten by `python tools/trace.py > docs/ways.md`, on one thread.")
    for name, call in calls().items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        with nullcontext() if name.startswith("separatrix") else separatrix.engine("serial"):
            call()  # once before, so that imports are no hops
            found = hops(call)
        print(f"\n## `{name}`: {len(found)} files\n\n| file | entered by | from | why |\n|---|---|---|---|")
        for file, function, origin in found:
            print(f"| {file} | `{function.replace('<locals>.', '')}` | {origin} | {reason(file)} |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    main()
