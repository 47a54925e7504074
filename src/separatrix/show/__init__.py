"""Pictures in the manner of scikit-learn's displays:  Display.from_estimator(model, X, y)  (row V4, [6321], [6867]).

Every display has ``plot(ax=None, theme=None)``, ``ax_``, ``figure_`` and ``alt_text``; colours are Okabe and Ito's,
markers and line styles tell the same apart in grey. matplotlib is the extra ``separatrix[plot]``, imported when the
first picture is drawn; the names here are loaded when first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "DecisionRegionsDisplay": "separatrix.show.regions",
    "MarginsDisplay": "separatrix.show.margins",
    "CoefficientsDisplay": "separatrix.show.coefficients",
    "NomogramDisplay": "separatrix.show.nomogram",
    "OptimiserPathDisplay": "separatrix.show.paths",
    "LearningCurveDisplay": "separatrix.show.curves",
    "ValidationCurveDisplay": "separatrix.show.curves",
    "CalibrationDisplay": "separatrix.show.calibration",
    "ConfusionDisplay": "separatrix.show.confusion",
    "RocDisplay": "separatrix.show.rates",
    "PrecisionRecallDisplay": "separatrix.show.rates",
    "ThresholdDisplay": "separatrix.show.thresholds",
    "CostDisplay": "separatrix.show.thresholds",
    "BoostingDisplay": "separatrix.show.boosting",
    "ImportanceDisplay": "separatrix.show.importance",
    "DependenceDisplay": "separatrix.show.dependence",
    "PredictedDisplay": "separatrix.show.numbers",
    "ErrorsDisplay": "separatrix.show.numbers",
    "style": "separatrix.show.look",
    "report_html": "separatrix.show.report",
    "write_report": "separatrix.show.report",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'separatrix.show' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
