"""A fitted model that says the positive class of two where its probability is at least t, and is else as it was.

    ŷ = positive where P(positive | x) ≥ t, else the other class

scikit-learn's ``FixedThresholdClassifier`` holds it, in a pipeline around the last step, so that the columns are seen
as before. ``predict_proba`` is the model's own. How t is chosen: judge/threshold.py. Rows G13, O12. Cost: none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

CARRIED = ("table_", "conformal_")  # what a pipeline knows beside its steps


def with_threshold(model: Any, threshold: float, positive: Any) -> Any:
    """The fitted model, answering ``positive`` where its probability is at least the threshold.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearDiscriminantAnalysis
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> careful = with_threshold(LinearDiscriminantAnalysis().fit(X, y), 0.9, positive=1)
    >>> bool((careful.predict(X) == (careful.predict_proba(X)[:, 1] >= 0.9)).all())
    True
    """
    if isinstance(model, Pipeline):
        return _rebuilt(model, lambda last: with_threshold(last, threshold, positive))
    cut = FixedThresholdClassifier(
        clone(model), threshold=float(threshold), pos_label=positive, response_method="predict_proba"
    )
    cut.estimator_ = model  # as its fit would leave it
    return cut


def without_threshold(model: Any) -> Any:
    """The model behind :func:`with_threshold`; any other as it is."""
    if isinstance(model, Pipeline) and isinstance(model.steps[-1][1], FixedThresholdClassifier):
        return _rebuilt(model, without_threshold)
    return model.estimator_ if isinstance(model, FixedThresholdClassifier) else model


def _rebuilt(model: Pipeline, change: Any) -> Any:
    *before, (name, last) = model.steps
    made = type(model)([*before, (name, change(last))])
    for held in CARRIED:
        if hasattr(model, held):
            setattr(made, held, getattr(model, held))
    return made


def threshold_of(model: Any) -> tuple[float, Any] | None:
    """(t, the positive class) of a model with a threshold; None of any other."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return (last.threshold, last.pos_label) if isinstance(last, FixedThresholdClassifier) else None


def strictly_above(cut: tuple[float, Any], classes: Any) -> tuple[np.ndarray, np.ndarray]:
    """M (2, 2) and c (2,): the larger of P M + c, of equal ones the first, is the answer, to the last bit.

    >>> M, c = strictly_above((0.3, "yes"), ["no", "yes"])
    >>> (np.array([[0.7, 0.3], [0.75, 0.25]]) @ M + c).argmax(axis=1).tolist()
    [1, 0]
    """
    t, positive = cut
    side = np.asarray(classes).tolist().index(positive)
    M, c = np.zeros((2, 2)), np.zeros(2)
    M[side, side] = 1.0
    c[side] = -(np.nextafter(t, -np.inf) if side == 1 else t)  # of equal ones the first is taken
    return M, c
