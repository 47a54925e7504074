"""verify: the verdict on a fitted model computed again, from data and parameters alone.

Nothing the solver said is used. Every model answers the same question (`Verifiable`): a linear likelihood rebuilds
its objective and bounds it at ``coef_`` and ``intercept_`` (verdict/from_objectives.py), a machine states its duality
gap, a generative model compares its public numbers with the moments of the rows, by code of its own.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix.data.sources import TableLike
from separatrix.verdict.verdict import Verdict


@runtime_checkable
class Verifiable(Protocol):
    """A fitted model that can be judged on data, whoever fitted it."""

    def _verdict_from_data(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Verdict:
        """The verdict on the model's parameters as they stand, on these rows; more arguments are a model's own."""


def verify(
    model: Any, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **given: Any
) -> Verdict:
    """F(ŵ) − min F at most how much, recomputed from X (n, p), y (n,) and the fitted parameters.

    Two to five sweeps. The verdict's ``tol`` is the one the fit was asked for, so ``status`` says whether the
    parameters deserve it on these data: a model judged on other data than it was fitted to is not optimal.
    ``given`` is what else the fit was given (offset, exposure, precision).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> verify(model, X, y).status
    'optimal'
    >>> model.coef_[0] += 0.1
    >>> verify(model, X, y).status
    'not converged'
    """
    began = time.perf_counter()
    check_is_fitted(model)
    if not isinstance(model, Verifiable):
        raise TypeError(f"{type(model).__name__} makes no claim that could be verified from data")
    verdict = model._verdict_from_data(X, y, sample_weight, **given)
    return replace(verdict, seconds=time.perf_counter() - began)
