"""Model files that must open for ever:  python -m tests.files.golden.make FOLDER

Writes FOLDER/NAME.sepx of every public estimator and of variants that store further kinds of values, and
FOLDER/answers.json: rows of each, and what the model said of them before it was saved. A folder is made once, by the
version that first wrote its format, and never again: files that people have cannot be made again either.

    format-1    module paths in the file (separatrix 0.1 before the rooms were rebuilt)
    format-2    stable tags
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone

import separatrix
from tests.files.catalogue import Tables, default_case, public_estimators, variants

HERE = Path(__file__).parent
ROWS = 6  # asked about
TRAINED = 20  # and trained on: files stay small
ASKED = ("predict", "predict_proba", "decision_function", "transform", "score_samples")
FEW = {"n_estimators": 2}
# the variants that store something which no estimator as it comes, and no other of these, stores
VARIANTS = set(
    """
bags_of_glms bags_of_lines bags_of_some_columns bags_that_vote bayes-ard bayes-three_classes
bernoulli_nb-sparse boost-levels boost-trees discriminant-groups extra_trees-levels generative-bernoulli
generative-beta generative-dirichlet generative-exponential generative-gamma generative-multinomial
generative-multivariate_gaussian generative-poisson glm-cloglog glm-gamma glm-gaussian glm-poisson glm-probit
linear_svc-together logistic-firth logistic-no_optimum logistic-random_state logistic-sparse-weights
logistic-three_classes-path nb-a_family_object nb-families nb-frame nu_svc-probability one_class-sparse
ordinal-no_optimum ordinal-three_classes
perceptron-separable pipeline-words random_forest-levels random_forest-medians stump-levels_that_are_numbers
svc-one_against_the_rest svc-sparse tree-levels tree-levels_that_are_numbers
""".split()  # noqa: SIM905
)


def cases() -> dict[str, tuple[Any, Any, Any]]:
    """name → (estimator, X, y)."""
    t = Tables(0, TRAINED)
    found = {kind.__name__: default_case(kind, t) for kind in public_estimators()}
    for name, case in variants(t).items():
        name = name.replace(", ", "-").replace(" ", "_")
        if name in VARIANTS:
            found[name] = case
    found["kernel_perceptron-no_surface"] = (separatrix.KernelPerceptron(kernel="linear"), t.X, t.two)
    found |= wide_cases()
    encoder = separatrix.TableEncoder(kinds={"when": "date", "said": "text"})
    days = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(TRAINED)]
    found["encoder-dates_and_words"] = (
        encoder,
        pd.DataFrame({"when": pd.to_datetime(days), "said": t.posts}),
        None,
    )
    return found


def wide_cases() -> dict[str, tuple[Any, Any, Any]]:
    """Fewer rows than columns: covariances are kept as rows."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((12, 16)), np.arange(12) % 3
    few = X * np.where(np.arange(16) < 2, 1.0, 1e5)  # a penalty that is felt in two columns alone
    LDA, QDA = separatrix.LinearDiscriminantAnalysis, separatrix.QuadraticDiscriminantAnalysis
    return {
        "wide-lda": (LDA(), X, y),
        "wide-lda-shrunk": (LDA(solver="lsqr", shrinkage=0.2), X, y),
        "wide-qda": (QDA(), X, y),
        "wide-qda-regularised": (QDA(reg_param=0.1), X, y),
        "wide-qda-folded": (QDA(reg_param=0.1), few, y),
    }


def small(model: Any) -> Any:
    """The estimator with few members and a seed."""
    model = clone(model)
    known = model.get_params(deep=False)
    settings = {k: v for k, v in FEW.items() if k in known and (known[k] or 0) > v}
    if "random_state" in known and known["random_state"] is None:
        settings["random_state"] = 0
    return model.set_params(**settings)


def packed(X: Any) -> dict[str, Any]:
    """Rows as JSON."""

    def cell(value: Any) -> Any:
        if value is None or value != value:
            return None
        return value.isoformat() if isinstance(value, pd.Timestamp) else value

    if isinstance(X, list):
        return {"kind": "texts", "cells": X[:ROWS]}
    if isinstance(X, pd.DataFrame):
        columns = {c: [cell(v) for v in X[c].head(ROWS).tolist()] for c in X}
        return {"kind": "frame", "cells": columns, "dtypes": {c: str(X[c].dtype) for c in X}}
    if sp.issparse(X):
        return {"kind": "sparse", "cells": X[:ROWS].toarray().tolist()}
    return {"kind": "array", "cells": [[cell(v) for v in row] for row in X[:ROWS].tolist()]}


def unpacked(rows: dict[str, Any]) -> Any:
    """The rows again."""
    if rows["kind"] == "texts":
        return rows["cells"]
    if rows["kind"] == "frame":
        columns = {c: pd.Series(v, dtype=rows["dtypes"][c]) for c, v in rows["cells"].items()}
        return pd.DataFrame(columns)
    cells = np.array(rows["cells"], dtype=float)
    return sp.csr_matrix(cells) if rows["kind"] == "sparse" else cells


def answers(model: Any, X: Any) -> dict[str, Any]:
    """What the model says of rows, as JSON."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ASKED:
            if hasattr(model, name):
                said = getattr(model, name)(X)
                said = said.toarray() if sp.issparse(said) else np.asarray(said)
                found[name] = [
                    [str(v) for v in row] if isinstance(row, list) else row for row in said.tolist()
                ]
                if said.dtype.kind == "f":
                    found[name] = said.tolist()
    return found


def main(folder: Path) -> None:
    """Fit, ask, save."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {}
    for name, (model, X, y) in cases().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = small(model).fit(X, y)
            rows = packed(X)
            said[name] = {"rows": rows, "answers": answers(model, unpacked(rows))}
            separatrix.save(model, folder / f"{name}.sepx")
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in said.items()]
    (folder / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
