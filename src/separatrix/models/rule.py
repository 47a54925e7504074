"""What you read is what predicts:  s(x) = coef_·x + intercept_, from the arrays as they stand at the call.

The fitted arrays are the state of a linear model: an assignment (``model.coef_ = …``) and an edit in place
(``model.intercept_ += log(…)``) are honoured by every prediction and every distance ([6867] 5.1). A fit without an
optimum shows its limit there (±inf, NaN); such numbers give no scores, so the rule of the limit is kept beside them
and holds while they stand as the fit left them. Shapes: coef_ (1, p) or (K, p), a regression's (p,); intercept_ a
number, (1,) or (K,). Cost: a microsecond or two a call, O(1) beside the product itself.
"""

from __future__ import annotations

from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix.core.linear import LinearRule, in_single, sparse_scores
from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import Moments
from separatrix.data.rows import Rows

NO_SETTER = "rule_ is made of coef_ and intercept_ when it is read: assign those"


class LiveRule:
    """``rule_``, the :class:`~separatrix.LinearRule` of ``coef_`` and ``intercept_`` as they are now.

    Subclasses set ``coef_`` and ``intercept_``, or `_keep_limit` where a fit has none; without ``coef_`` there is no
    ``rule_``. `_heads` says how many rows of weights there may be.
    """

    coef_: Any
    intercept_: Any

    @property
    def rule_(self) -> LinearRule:
        """The rule that predicts, built from ``coef_`` and ``intercept_``."""
        state = self.__dict__
        if "coef_" not in state or "intercept_" not in state:
            raise AttributeError(f"{type(self).__name__} has no rule_: it has no coef_ and intercept_")
        limit = "_limit" in state or "rule_" in state
        if limit and (rule := _limit_of(state)) is not None:
            return rule
        coef, intercept = self._shown()
        if limit:
            _refuse_half_a_limit(coef, intercept)
        return LinearRule(coef[0], float(intercept[0])) if len(coef) == 1 else LinearRule(coef, intercept)

    @rule_.setter
    def rule_(self, value: Any) -> None:
        raise AttributeError(NO_SETTER)

    def _heads(self) -> tuple[int, ...]:
        """How many rows of weights there may be: one for two classes (or none), else one a class."""
        classes = self.__dict__.get("classes_")
        return (1,) if classes is None or len(classes) <= 2 else (len(classes),)

    def _shown(self) -> tuple[np.ndarray, np.ndarray]:
        """``coef_`` as (heads, p) and ``intercept_`` as (heads,): what is read, dense and in shape."""
        state = self.__dict__
        coef, intercept = state["coef_"], state["intercept_"]
        if type(coef) is not np.ndarray:
            coef = np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef)
        coef = coef[None, :] if coef.ndim == 1 else coef
        if type(intercept) is not np.ndarray or intercept.shape != coef.shape[:1]:
            intercept = np.asarray(intercept)
            if coef.ndim != 2 or intercept.shape not in ((), (1,), coef.shape[:1]):
                self._refuse_shapes()
            intercept = np.broadcast_to(intercept, coef.shape[:1])
        if coef.shape[1] != state.get("n_features_in_", coef.shape[1]) or len(coef) not in self._heads():
            self._refuse_shapes()
        return coef, intercept

    def _keep_numbers(
        self, coef: ArrayLike, intercept: ArrayLike, rows: Rows, moments: Moments, fit_intercept: bool
    ) -> None:
        """``coef_`` (heads, p) and ``intercept_`` (heads,) of a fit, in float32 where the rows are."""
        coef = np.array(coef, dtype=float, ndmin=2)
        intercept = np.array(intercept, dtype=float, ndmin=1)
        if rows.single:
            coef, intercept = in_single(coef, intercept, moments.mean if fit_intercept else None)
        self._forget_limit()
        self.coef_, self.intercept_ = coef, intercept
        self._remember_fit()

    def _remember_fit(self) -> None:
        """Keep the numbers as the fit leaves them, so that what belongs to those alone can tell an edit."""
        self._fitted: tuple[np.ndarray, np.ndarray] = (np.copy(self.coef_), np.copy(self.intercept_))

    def _was_edited(self) -> bool:
        """Whether ``coef_`` or ``intercept_`` are other numbers than the last fit left."""
        fitted = self.__dict__.get("_fitted")
        if fitted is None:  # from a file of an earlier version
            return False
        return not (_same(fitted[0], self.coef_) and _same(fitted[1], self.intercept_))

    def _refuse_shapes(self) -> NoReturn:
        p = self.__dict__.get("n_features_in_", "p")
        heads = " or ".join(f"({k}, {p})" for k in self._heads())
        each = " or ".join(f"({k},)" for k in self._heads())
        raise ValueError(
            f"coef_ has shape {np.shape(self.coef_)} and intercept_ {np.shape(self.intercept_)}: this "
            f"{type(self).__name__} needs {heads} and {each}, or one number for the intercept"
        )

    def _score(self, cells: Any) -> FloatArray:
        """w·x + w₀ of each row; a sparse ``coef_`` is multiplied as it is."""
        coef = self.__dict__.get("coef_")
        if type(coef) is np.ndarray or not hasattr(coef, "tocsr"):
            return self.rule_.score(cells)
        self._refuse_sparse_shape(coef)
        return sparse_scores(cells, coef, self.intercept_)

    def _refuse_sparse_shape(self, coef: Any) -> None:
        intercept = np.asarray(self.intercept_)
        fits = coef.shape[0] in self._heads() and coef.shape[1] == self.__dict__["n_features_in_"]
        if not fits or intercept.shape not in ((), (1,), coef.shape[:1]):
            self._refuse_shapes()

    def _forget_limit(self) -> None:
        """Before a new fit's numbers: what an earlier one left beside its own."""
        for name in ("_limit", "rule_"):
            self.__dict__.pop(name, None)

    def _keep_limit(
        self, rule: LinearRule, coef: np.ndarray, intercept: np.ndarray | np.floating | float
    ) -> None:
        """Show the limit of a fit without an optimum; ``rule`` predicts while the numbers shown are these.

        The arrays are read-only: infinite weights have no neighbours an edit could go to.
        """
        self.coef_, self.intercept_ = coef, intercept
        self._remember_fit()
        self._limit: tuple[LinearRule, np.ndarray, np.ndarray] | None = (
            rule,
            np.copy(coef),
            np.copy(intercept),
        )
        for array in (coef, intercept):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False


class SparseCoef:
    """``sparsify`` and ``densify``, as in scikit-learn's linear classifiers."""

    coef_: Any

    def sparsify(self) -> Self:
        """Make ``coef_`` a sparse matrix (CSR): less memory where most weights are zero, the same predictions.

        >>> from separatrix import LogisticRegression
        >>> X = np.eye(4)[[0, 1, 2, 3, 0, 1]]
        >>> model = LogisticRegression().fit(X, [0, 1, 0, 1, 0, 1])
        >>> model.coef_[np.abs(model.coef_) < 0.5] = 0.0
        >>> type(model.sparsify().coef_).__name__, model.coef_.nnz
        ('csr_matrix', 2)
        >>> type(model.densify().coef_).__name__
        'ndarray'
        """
        import scipy.sparse as sp

        check_is_fitted(self, "coef_", msg="Estimator, %(name)s, must be fitted before sparsifying.")
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Make ``coef_`` an ordinary array again; it is one after every fit."""
        check_is_fitted(self, "coef_", msg="Estimator, %(name)s, must be fitted before densifying.")
        if hasattr(self.coef_, "toarray"):
            self.coef_ = self.coef_.toarray()
        return self


def _limit_of(state: dict[str, Any]) -> LinearRule | None:
    """The rule of the limit, where ``coef_`` and ``intercept_`` are those of the fit that had it."""
    shown = state["coef_"], state["intercept_"]
    if state.get("_limit") is not None:
        rule, *fitted = state["_limit"]
        return rule if _same(fitted[0], shown[0]) and _same(fitted[1], shown[1]) else None
    # a model of an earlier version, from a file or a pickle, keeps its rule beside the numbers; finite ones speak
    rule = state["rule_"]
    finite = all(np.isfinite(np.asarray(part, dtype=float)).all() for part in shown)
    return None if finite or not isinstance(rule, LinearRule) else rule


def _same(a: ArrayLike, b: Any) -> bool:
    """Whether two arrays hold the same numbers, NaN equal to NaN."""
    if hasattr(b, "toarray"):
        b = b.toarray()
    return np.shape(a) == np.shape(b) and bool(np.array_equal(a, b, equal_nan=True))


def _refuse_half_a_limit(coef: np.ndarray, intercept: np.ndarray) -> None:
    """After a fit without an optimum: numbers that were edited must all be finite to predict anything."""
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(
            "coef_ or intercept_ was edited after a fit without an optimum, and some are still infinite or NaN: such "
            "weights give no scores. Assign finite numbers to both, or fit again with a penalty"
        )
