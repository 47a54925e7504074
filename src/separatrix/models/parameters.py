"""What models that run for a while share: threads, seeds, limits, class weights, and what they warn of at the end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.caller import warn
from separatrix.core.numerics import FloatArray
from separatrix.data.checks import check_count, check_positive, is_count
from separatrix.data.door import column_name, drop_absent_classes, read_labels
from separatrix.data.engine import engine
from separatrix.problems.objective import Objective
from separatrix.verdict.verdict import ConvergenceWarning, SeparationWarning, Verdict

LISTED = 8  # how many columns a finding names before it counts the rest


class Fitting(Protocol):
    """What a verdict asks of the model it is about."""

    tol: float
    coef_: np.ndarray
    intercept_: Any
    verdict_: Verdict


def check_limits(tol: object, max_iter: Any, n_jobs: Any) -> None:
    """Refuse a tolerance, a number of steps or of threads that cannot be meant."""
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    if n_jobs is not None and (not is_count(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")


def check_class_weight(class_weight: object) -> None:
    """Refuse, before data is read, what cannot be weights of classes."""
    if isinstance(class_weight, str) and class_weight != "balanced":
        raise ValueError(f'class_weight {class_weight!r} is unknown: use "balanced" or a dictionary')
    if not (class_weight is None or isinstance(class_weight, (str, Mapping))):
        raise ValueError(f'class_weight must be a dictionary, "balanced" or None, got {class_weight!r}')


def class_factors(
    class_weight: Mapping[Any, float] | str | None, classes: np.ndarray, totals: FloatArray
) -> FloatArray:
    """The weight of each class (K,); "balanced" gives every class the same total, ``totals`` being what they have.

    >>> class_factors("balanced", np.array(["a", "b"]), np.array([3.0, 1.0])).round(3)
    array([0.667, 2.   ])
    """
    if class_weight is None:
        return np.ones(len(totals))
    if isinstance(class_weight, str):
        return np.asarray(totals.sum() / (len(totals) * totals))
    labels = classes.tolist()
    unknown = [c for c in class_weight if c not in labels]
    if unknown:
        raise ValueError(f"class_weight names {unknown[0]!r}, which is not a class: the classes are {labels}")
    factor = np.array([float(class_weight.get(c, 1.0)) for c in labels])
    if not (factor > 0).all():
        raise ValueError("class_weight must be positive for every class")
    return factor


def row_weights(
    class_weight: Mapping[Any, float] | str | None,
    classes: np.ndarray,
    codes: np.ndarray,
    totals: FloatArray,
    weight: FloatArray | None,
) -> FloatArray | None:
    """Each row's weight times its class's: (n,), None where all weigh one."""
    if class_weight is None:
        return weight
    each = class_factors(class_weight, classes, totals)[codes]
    return each if weight is None else each * weight


def objective_kind(penalty: str | None) -> type[Objective]:
    """The mean loss and a ridge, or the likelihood times Jeffreys' prior for "firth"."""
    if penalty != "firth":
        return Objective
    from separatrix.problems.firth import FirthObjective

    return FirthObjective


def read_any_classes(
    y: ArrayLike, weight: FloatArray | None, n: int
) -> tuple[np.ndarray, np.ndarray, FloatArray]:
    """Classes that weigh something, be it one alone, codes of the labels (n,) and each class's weight (K,).

    >>> classes, codes, totals = read_any_classes(["a", "a"], None, 2)
    >>> classes.tolist(), codes.tolist(), totals.tolist()
    (['a'], [0, 0], [2.0])
    """
    return drop_absent_classes(*read_labels(y, n), weight)


def seed_of(random_state: Any) -> int:
    """A whole number from None (0), a number, or a generator of NumPy's."""
    if random_state is None or is_count(random_state):
        return int(random_state or 0)
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31))


def generator_of(random_state: Any) -> np.random.Generator:
    """A generator from what `seed_of` takes, or a generator as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_of(random_state))


def threads(n_jobs: int | None) -> AbstractContextManager[object]:
    """The engine of ``n_jobs`` threads as a context; None and negative numbers leave the current one."""
    if n_jobs is None or n_jobs < 0:
        return nullcontext()
    return engine("serial") if n_jobs == 1 else engine(workers=int(n_jobs))


def listed(model: object, columns: np.ndarray) -> str:
    """Columns by name, the first eight and how many more."""
    names = ", ".join(column_name(model, int(j)) for j in columns[:LISTED])
    return names + (f" and {len(columns) - LISTED} more" if len(columns) > LISTED else "")


def warn_of(verdict: Verdict, remedy: str, way: str) -> None:
    """Warn the caller of ``fit`` where no optimum exists (``remedy``) or none was reached (``way``)."""
    if verdict.status == "no optimum":
        warn(
            f"no maximum-likelihood estimate exists: {verdict.findings[0]}. coef_ shows ±inf or NaN where a "
            f"weight has no finite value; predictions are those of the limit. {remedy}",
            SeparationWarning,
        )
    elif verdict.status == "not converged":
        proven = f"{verdict.gap:.1e}" if np.isfinite(verdict.gap) else "an unknown amount"
        warn(
            f"the objective may be {proven} above its minimum ({verdict.tol:.1e} was asked for; stopped: "
            f"{verdict.stopped_by}). {way}",
            ConvergenceWarning,
        )
