"""Linear classification with a verdict on every fit.

Every public name is importable from here and loaded when first asked for, so that
``import separatrix`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from separatrix.models.catalogue import MODELS as _MODELS

__version__ = "0.1.0"  # the only place that says so: pyproject.toml reads it here

_BESIDE = {  # what is no model, by module
    "models.linear.anova": "anova",
    "models.bayes.evidence": "compare_evidence",
    "models.generative.impossible": "ImpossibleRowsWarning NoSpreadWarning",
    "models.ensemble.adaboost": "LabelNoiseWarning",
    "models.margin.svm_path": "svm_path",
    "solve.separator": "linear_separator",
    "core.linear": "LinearRule",
    "data.basis": "RadialBasis",
    "data.discretise": "Discretizer",
    "data.engine": "engine",
    "data.interrupts": "keep_going",
    "verdict.separability": "separability",
    "verdict.verdict": "ConvergenceWarning SeparationWarning Verdict",
    "verdict.verify": "verify",
    "tables.read": "TableError read",
    "tables.encode": "TableEncoder",
    "tables.text": "TextFeatures",
    "files.store": "load save",
    "files.onnx": "to_onnx",
    "files.sql": "to_sql",
    "models.sets": "calibrate_sets predict_set",
    "files.onnx_inputs": "onnx_inputs",
    "judge.bias_variance": "bias_variance",
    "judge.bias_variance_curve": "bias_variance_curve",
    "judge.compare": "compare",
    "judge.learning_curve": "learning_curve",
}
_ESTIMATORS = {model.cls: model.module for model in _MODELS}
_HOME = _ESTIMATORS | {
    name: f"separatrix.{home}" for home, names in _BESIDE.items() for name in names.split()
}
_ROOMS = ("show",)  # reached as attributes too: separatrix.show.DecisionRegionsDisplay

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"separatrix.{name}")
    if name not in _HOME:
        from separatrix.elsewhere import refusal

        raise refusal(name)
    if name in _ESTIMATORS:
        import_module(
            "sklearn.base"
        )  # first, and from here: some frames deeper CPython 3.11 takes 60 ms longer
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
