"""What iterative models share: their threads, the checks of their limits, and what they warn of when they end."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np

from separatrix.data.door import is_count, is_positive
from separatrix.data.engine import engine
from separatrix.verdict.verdict import ConvergenceWarning, SeparationWarning, Verdict


def check_limits(tol: Any, max_iter: Any, n_jobs: Any) -> None:
    """Refuse a tolerance, a number of steps or of threads that cannot be meant."""
    if not is_positive(tol):
        raise ValueError(f"tol must be a positive number, got {tol!r}")
    if not (is_count(max_iter) and max_iter >= 1):
        raise ValueError(f"max_iter must be a whole number of at least 1, got {max_iter!r}")
    if n_jobs is not None and (not is_count(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")


def threads(n_jobs: int | None) -> Any:
    """The engine of ``n_jobs`` threads as a context; None and negative numbers leave the current one."""
    if n_jobs is None or n_jobs < 0:
        return nullcontext()
    return engine("serial") if n_jobs == 1 else engine(workers=int(n_jobs))


def warn_of(verdict: Verdict, remedy: str, way: str) -> None:
    """Warn the caller of ``fit`` where no optimum exists (``remedy``) or none was reached (``way``)."""
    if verdict.status == "no optimum":
        warnings.warn(
            f"no maximum-likelihood estimate exists: {verdict.findings[0]}. coef_ shows ±inf or NaN where a "
            "weight has no "
            f"finite value; predictions are those of the limit. {remedy}",
            SeparationWarning,
            stacklevel=3,
        )
    elif verdict.status == "not converged":
        proven = f"{verdict.gap:.1e}" if np.isfinite(verdict.gap) else "an unknown amount"
        warnings.warn(
            f"the objective may be {proven} above its minimum ({verdict.tol:.1e} was asked for; stopped: "
            f"{verdict.stopped_by}). {way}",
            ConvergenceWarning,
            stacklevel=3,
        )
