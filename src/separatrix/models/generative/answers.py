"""What a generative model answers:  P(k | x) = p(x, k) / Σ_l p(x, l), from its public numbers as they stand.

    log p(x, k) = log π_k + log p(x | k)         the class of the largest is the prediction
    log p(x)    = log Σ_k p(x, k)                score_samples
    cost C_kl of saying l when k is true         argmin_l Σ_k P(k | x) C_kl

Every call reads the public arrays once (`_now`) before rows are split over threads, so that what a user reads, and
edits, is what predicts. A row no class can have is answered by the prior, and counted (impossible.py).
Shapes: X (n, p), K classes. Cost: one sweep.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, check_random_state

from separatrix.core.linear import LinearRule
from separatrix.core.numerics import FloatArray, logsumexp, softmax
from separatrix.data.checks import check_count
from separatrix.data.door import is_dask, refuse_infinite
from separatrix.data.rows import over_rows
from separatrix.data.sources import TableLike
from separatrix.models.base import Classifier, minimum_cost
from separatrix.models.generative.facts import Cells
from separatrix.models.generative.impossible import ImpossibleRowsWarning, Watch, impossible
from separatrix.models.generative.state import Derived, state


class UnfitCell(ValueError):
    """A tile holds an infinite cell, or one that the model cannot mean: whoever knows the rows will name it."""


class InfiniteCell(UnfitCell):
    """A tile holds an infinite cell."""


class PosteriorAnswers(Classifier):
    """Predictions from log p(x | k) (`_log_density`) and the prior; see the module."""

    _has_scores = True  # scikit-learn's models of counts have no decision_function
    _keeps = (
        ""  # "parameters": float32 rows give float32 parameters; "answers": and such scores and probabilities
    )
    _single = False  # whether the rows of the fit were float32 and are kept so
    _prior_name = "class_prior_"  # the public name under which π is the state
    _log_prior: FloatArray
    class_prior_: FloatArray
    class_count_: Any

    # ---- the state ----

    def _now(self) -> Self:
        """This model with what prediction needs worked out from its public arrays, read once."""
        check_is_fitted(self)
        now = object.__new__(type(self))
        now.__dict__.update(self.__dict__)
        now._log_prior = np.where(np.asarray(self.class_count_) == 0, -np.inf, self._public_log_prior())
        return now

    def _public_log_prior(self) -> FloatArray:
        """log π (K,) as the public numbers have it."""
        with np.errstate(all="ignore"):
            return np.log(state(self, self._prior_name, (len(self.classes_),)))

    def _kept(self, values: Any) -> Any:
        """A fitted array in the type of the rows it came from."""
        return np.asarray(values, dtype=np.float32) if self._single else values

    rule_ = Derived("edit coef_ and intercept_ where they are the state, or what they are computed from")

    def _rule_(self) -> LinearRule | None:
        """w·x + w₀ of the numbers as they stand, where the separator is linear in x."""
        if not hasattr(self, "coef_"):
            return None
        beta, gamma = np.asarray(self.coef_), np.asarray(self.intercept_)
        return LinearRule(beta[0], float(gamma[0])) if len(beta) == 1 else LinearRule(beta, gamma)

    # ---- predicting ----

    def predict_joint_log_proba(self, X: TableLike) -> FloatArray:
        """log p(x, k) of each row and class: (n, K); factors common to all classes may be left out.

        It is −inf where no class can have the row; the other methods answer such rows by the prior.
        """
        now = self._now()
        return self._on_rows(X, self._tiled(lambda cells: now._typed(now._joint(cells), cells)))

    def predict_proba(self, X: TableLike) -> FloatArray:
        """P(k | x): (n, K); the prior, and a warning that counts them, for rows no class can have."""
        return self._by_rows(X, softmax)

    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """log P(k | x), from the log densities, so that a small probability keeps its digits."""
        return self._by_rows(X, lambda joint: joint - logsumexp(joint)[:, None])

    def predict(self, X: TableLike, cost: Any = None) -> np.ndarray:
        """The most probable class, or with ``cost`` (K, K) the one of least expected cost Σ_k P(k|x) C_kl."""
        check_is_fitted(self)
        if cost is not None:
            return minimum_cost(self, X, cost)
        classes = self.classes_
        return self._by_rows(X, lambda joint: np.asarray(classes[_largest(joint)]), numbers=False)

    @available_if(lambda self: self._has_scores)
    def decision_function(self, X: TableLike) -> FloatArray:
        """log p(x, 1) − log p(x, 0) for two classes: (n,); log p(x, k) for more: (n, K)."""
        two = len(self._now().classes_) == 2
        return self._by_rows(X, lambda joint: joint[:, 1] - joint[:, 0] if two else joint)

    def class_log_density(self, X: TableLike) -> FloatArray:
        """log p(x | k) of each row under each class: (n, K)."""
        now = self._now()
        return self._on_rows(
            X, self._tiled(lambda cells: now._density(cells) + now._log_base(cells)[:, None])
        )

    def score_samples(self, X: TableLike) -> FloatArray:
        """log p(x), the density of each row whatever its class: (n,)."""
        now = self._now()
        return self._on_rows(
            X, self._tiled(lambda cells: logsumexp(now._joint(cells)) + now._log_base(cells))
        )

    def sample(
        self, n: int = 1, y: ArrayLike | None = None, random_state: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Run backwards: n rows drawn from p(x, y), or from p(x | y) of a given class; (X (n, p), labels (n,))."""
        now = self._now()
        check_count("n", n)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        labels = self.classes_.tolist()
        if y is None:
            prior = np.asarray(self.class_prior_, dtype=np.float64)
            codes = rng.choice(len(labels), size=n, p=prior / prior.sum())
        elif y in labels:
            codes = np.full(n, labels.index(y))
        else:
            raise ValueError(f"y={y!r} is not a class: the classes are {labels}")
        X: Any = None
        for k in np.unique(codes).tolist():
            drawn = now._draw(k, int(np.count_nonzero(codes == k)), rng)
            X = np.empty((n, drawn.shape[1]), dtype=drawn.dtype) if X is None else X
            X[codes == k] = drawn
        return X, self.classes_[codes]

    def _winners(self, X: TableLike) -> Any:
        """Codes of the classes the rows are given: (n,)."""
        return self._by_rows(X, _largest, numbers=False)

    def _by_rows(self, X: TableLike, answer: Callable[[FloatArray], np.ndarray], numbers: bool = True) -> Any:
        """answer(log p(x, k)) of every row, rows no class can have by the prior, and one warning that counts them."""
        now = self._now()

        def whole(cells: Cells) -> np.ndarray:
            watch = Watch(now._log_prior)

            def tile(part: Any) -> np.ndarray:
                found = answer(watch.settled(now._joint(part)))
                return now._typed(found, part) if numbers else found

            out = over_rows(tile, cells)
            if watch.seen:
                watch.warn(over_rows(lambda part: impossible(now._joint(part)), cells), self)
            return out

        if not is_dask(X):
            return self._on_rows(X, whole)
        with warnings.catch_warnings():  # only the shape of a lazy answer is looked at now
            warnings.simplefilter("ignore", ImpossibleRowsWarning)
            return self._on_rows(X, whole)

    def _typed(self, found: np.ndarray, cells: Cells) -> np.ndarray:
        """float32 rows of a model of float32 rows have float32 answers, where scikit-learn's do."""
        keep = self._single and self._keeps == "answers" and cells.dtype == np.float32
        return found.astype(np.float32) if keep else found

    def _on_rows(self, X: TableLike, function: Any) -> Any:
        try:
            return super()._on_rows(X, function)
        except UnfitCell:  # found in a tile: now name its row
            cells = self._read_for_prediction(X)
            if not is_dask(cells):
                refuse_infinite(self, cells)
                self._refuse_cells(cells, 0)
            raise

    def _refuse_cells(self, cells: Any, start: int) -> None:
        """Raise when a cell lies outside what the model can mean; ``start`` is the first row's number."""

    def _density(self, cells: Cells) -> FloatArray:
        """`_log_density`, an infinite cell refused."""
        with np.errstate(all="ignore"):
            density = self._log_density(cells)
            if not np.isfinite(density.sum()) and not _finite_or_missing(cells):
                raise InfiniteCell("X holds an infinite cell")
        return density

    def _joint(self, cells: Any) -> FloatArray:
        """log p(x, k) of a tile; only of a model made by `_now`."""
        joint = self._density(cells)
        joint += self._log_prior
        if np.isneginf(self._log_prior).any():  # a density beyond numbers is no NaN where the class cannot be
            joint[:, np.isneginf(self._log_prior)] = -np.inf
        return joint

    def _log_density(self, cells: Any) -> FloatArray:
        """log p(x | k): (n, K), a fresh array; factors without k may go to `_log_base`."""
        raise NotImplementedError

    def _log_base(self, cells: Any) -> FloatArray:
        return np.zeros(cells.shape[0])

    def _draw(self, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
        raise NotImplementedError


def _largest(joint: FloatArray) -> np.ndarray:
    """Each row's class of the largest score, the first of equal ones."""
    if joint.shape[1] == 2:
        return (joint[:, 1] > joint[:, 0]).astype(np.intp)
    return joint.argmax(axis=1)


def differences(beta: FloatArray, gamma: FloatArray) -> tuple[FloatArray, FloatArray]:
    """β_k·x + γ_k of K classes as the public form: for two classes the second less the first, one row."""
    if len(beta) != 2:
        return beta, gamma
    with np.errstate(invalid="ignore"):  # a class without rows has no parameters
        return beta[1:] - beta[:1], gamma[1:] - gamma[:1]


def _finite_or_missing(cells: Cells) -> bool:
    data = cells if isinstance(cells, np.ndarray) else cells.data
    return data.dtype.kind != "f" or not np.isinf(data).any()
