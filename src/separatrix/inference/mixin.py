"""What a maximum-likelihood model offers beyond its coefficients: errors, intervals, tests, residuals, a summary.

Every model that inherits :class:`Inferential` keeps the rows of its last fit (a reference, never a copy; a pickle
leaves them behind) and answers from them. Notes [6867] 3.2.3; rows D7, D8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.core.words import and_more
from separatrix.data.engine import one_blas_thread
from separatrix.verdict.verdict import Verdict

if TYPE_CHECKING:  # loaded when asked for: a plain fit imports none of it
    from separatrix.inference.hypothesis import Test
    from separatrix.inference.likelihood import Likelihood
    from separatrix.inference.summary import Summary

Wanted = str | int | Sequence[str | int]  # columns, by name or place
INTERCEPT = "(Intercept)"
PENALISED = (
    "a penalty moves the estimates on purpose, so their standard errors and p-values would not mean what they say: "
    'fit without it (alpha=0, C=np.inf), with penalty="firth", or take BayesianLogisticRegression, whose posterior '
    "says how sure a penalised fit may be"
)

EDITED = (
    "coef_ or intercept_ was edited after the fit, and standard errors, tests and the likelihood are of the "
    "estimates that the fit found: fit again, or put its numbers back"
)


class Inferential:
    """Standard errors, intervals, tests, residuals and a summary of a fitted likelihood.

    Subclasses set ``_likelihood_`` (a :class:`~separatrix.inference.likelihood.Likelihood`), or ``_no_inference_``,
    a sentence that says why there is none.
    """

    verdict_: Verdict
    size_: float  # a negative binomial's, where it was estimated
    size_error_: float
    _likelihood_: Likelihood
    _no_inference_: str
    _was_edited: Callable[[], bool]  # whether the coefficients are other numbers than the fit left

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        if "_likelihood_" in state:
            state["_likelihood_"] = state["_likelihood_"].without_data()
        return state

    def _inference(self, reference: object = None) -> Likelihood:
        check_is_fitted(self)
        fit = vars(self).get("_likelihood_")
        if fit is None:
            raise ValueError(vars(self)["_no_inference_"])
        if self._was_edited():
            raise ValueError(EDITED)
        if reference is None:
            return fit
        if reference not in (labels := list(self.classes_.tolist() if hasattr(self, "classes_") else [])):
            raise ValueError(f"reference {reference!r} is not a class: the classes are {labels}")
        if not fit.classes:
            raise ValueError("reference= is for three classes or more: two have one set of weights")
        return fit.against(labels.index(reference))

    def _limits_of_coefficients(self) -> FloatArray:
        """``coef_`` and ``intercept_`` in the order of a summary, where no finite estimate exists."""
        raise NotImplementedError

    def _known(self, name: str) -> Any:
        """An attribute of the likelihood; AttributeError, with the sentence, where there is none."""
        fit = vars(self).get("_likelihood_")
        if fit is None:
            why = vars(self).get("_no_inference_", "the model is not fitted")
            raise AttributeError(f"{type(self).__name__} has no {name}_ here: {why}")
        if self._was_edited():
            raise AttributeError(f"{type(self).__name__} has no {name}_ here: {EDITED}")
        return getattr(fit, name)

    @property
    def covariance_(self) -> FloatArray:
        """φ (Σ_i s_i w_i x_i x_iᵀ)⁻¹, the model's covariance of the estimates (k, k), intercept first."""
        covariance: FloatArray = self._known("model_covariance")
        return covariance

    @property
    def deviance_(self) -> float:
        """2 Σ_i s_i ℓ_i: twice what the log-likelihood lacks of a model with a parameter for each row."""
        return 2.0 * float(self._known("half_deviance"))

    @property
    def log_likelihood_(self) -> float:
        """log p(y | X) at the estimates; NaN where the law has no density in closed form."""
        return float(self._known("log_likelihood"))

    @property
    def aic_(self) -> float:
        """2k − 2 log p(y | X), k the parameters, the dispersion included where it is estimated."""
        return float(self._known("aic"))

    @property
    def bic_(self) -> float:
        """k log n − 2 log p(y | X) ([6867] 4)."""
        return float(self._known("bic"))

    @property
    def dispersion_(self) -> float:
        """φ: 1 where the family knows it, else Pearson's statistic over the residual degrees of freedom."""
        return float(self._known("dispersion"))

    @property
    def df_residual_(self) -> float:
        """Observations less the parameters they determine."""
        return float(self._known("df_residual"))

    @one_blas_thread()
    def covariance(
        self, kind: str = "model", groups: ArrayLike | None = None, *, reference: object = None
    ) -> FloatArray:
        """Covariance of the estimates: (k, k), the intercept first; for K classes class by class.

        Parameters
        ----------
        kind : "model" (φ I⁻¹), "HC0" … "HC3" (robust to a wrong variance), "cluster" (rows of a group depend)
        groups : with "cluster", the group of each row (n,)
        reference : for K classes, the class the others are compared with (default the first)
        """
        from separatrix.inference.covariance import check_kind, covariance_matrix

        fit = self._inference(reference)
        check_kind(kind, groups)
        if not self._has_optimum:  # an estimate that does not exist has no errors
            return np.full((len(fit.names),) * 2, np.nan)
        if kind != "model":
            fit.need_data(f"the {kind} covariance")
        return covariance_matrix(fit, kind, groups)

    def standard_errors(
        self, kind: str = "model", groups: ArrayLike | None = None, *, reference: object = None
    ) -> FloatArray:
        """√diag of :meth:`covariance`: (k,)."""
        from separatrix.inference.covariance import check_kind, inner_covariance

        fit = self._inference(reference)
        check_kind(kind, groups)
        if fit.lost or not self._has_optimum:
            return np.full(len(fit.names), np.nan)
        if len(fit.names) <= len(fit.inner_covariance):
            return np.sqrt(np.diag(self.covariance(kind, groups, reference=reference)))
        if kind != "model":
            fit.need_data(f"the {kind} covariance")
        with one_blas_thread():
            return np.sqrt(fit.variances_of(inner_covariance(fit, kind, groups)))

    @one_blas_thread()
    def confidence_intervals(
        self,
        level: float = 0.95,
        method: str = "wald",
        covariance: str = "model",
        groups: ArrayLike | None = None,
        *,
        columns: Wanted | None = None,
        reference: object = None,
    ) -> FloatArray:
        """(low, high) of each parameter: (k, 2), or of the ``columns`` named.

        "wald": estimate ± quantile · standard error. "profile": all values a likelihood-ratio test would keep, which
        need not lie symmetrically and does not depend on how the model is written (8–16 sweeps a parameter). The
        quantile is the normal's, or Student's where the dispersion is estimated.
        """
        from separatrix.inference.hypothesis import profile_interval, quantile

        fit = self._inference(reference)
        if not 0 < float(level) < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}")
        wanted = range(len(fit.names)) if columns is None else self._places(fit, columns)
        if method == "wald":
            error = self.standard_errors(covariance, groups, reference=reference)
            reach = quantile(fit, level) * error
            return np.column_stack([fit.beta - reach, fit.beta + reach])[list(wanted)]
        if method != "profile":
            raise ValueError(f'method {method!r} is unknown: use "wald" or "profile"')
        if covariance != "model" or groups is not None:
            raise ValueError('a profile interval follows the likelihood: for robust errors use method="wald"')
        if not self._has_optimum:
            return np.full((len(wanted), 2), np.nan)
        self._refuse_unfinished("a profile interval")
        fit.need_data("a profile interval")
        return np.array([profile_interval(fit, j, level) for j in wanted])

    @one_blas_thread()
    def test(
        self,
        columns: Wanted,
        method: str = "lr",
        *,
        value: ArrayLike = 0.0,
        covariance: str = "model",
        groups: ArrayLike | None = None,
    ) -> Test:
        """Test that the coefficients of some columns (or of a term of the formula) are all ``value``.

        Parameters
        ----------
        columns : a name or index, a list of them, a term of the formula, or "(Intercept)"; for K classes the
            column's coefficients in every class
        method : "wald", "lr" (likelihood ratio) or "score"
        value : what they are under the hypothesis
        covariance, groups : for "wald", as in :meth:`covariance`

        Returns
        -------
        Test : ``statistic``, ``df``, ``df_residual`` (None for χ²), ``p_value``
        """
        from separatrix.inference.covariance import inner_covariance
        from separatrix.inference.hypothesis import METHODS, linear_test

        fit = self._inference()
        if method not in METHODS:
            raise ValueError(f"method {method!r} is unknown: use one of {', '.join(METHODS)}")
        if method != "wald" and (covariance != "model" or groups is not None):
            raise ValueError('a robust covariance is for method="wald": the others follow the likelihood')
        if not self._has_optimum:
            raise ValueError(f"there is no estimate to test: {self._why_no_optimum}")
        places = self._places(fit, columns)
        lost = [fit.names[j] for j in places if not fit.estimable[j]]
        if lost:
            raise ValueError(
                f"{lost[0]!r} is aliased: the data do not tell it from a combination of other columns, so there is "
                "nothing to test; drop one of them, or test them together with the columns they repeat"
            )
        if method != "wald":
            self._refuse_unfinished(f"the {method} test")
        if method != "wald" or covariance != "model":
            fit.need_data(f"the {method} test")
        a = np.zeros((len(places), len(fit.names)))
        a[np.arange(len(places)), places] = 1.0
        names = [c if isinstance(c, str) else fit.columns[c] for c in _listed(columns)]
        words = and_more(names, 4)
        r = np.asarray(value, dtype=float)
        if r.shape not in ((), (1,), (len(places),)) or not np.isfinite(r).all():
            raise ValueError(f"value must be a finite number, or {len(places)} of them; got {value!r}")
        r = np.broadcast_to(r, (len(places),))
        words += f" = {', '.join(f'{v:g}' for v in np.unique(r))}"
        return linear_test(fit, a, r, words, method, inner_covariance(fit, covariance, groups))

    @one_blas_thread()
    def residuals(self, kind: str = "deviance", *, standardised: bool = False) -> FloatArray:
        """One number a row (n,), of the fit's own data; for K classes (n, K), deviance residuals (n,).

        "response" y − μ; "pearson" (y − μ)√(w/V); "deviance" ±√(w d); "working" (y − μ) dη/dμ. ``standardised``
        divides Pearson and deviance residuals by √(φ (1 − h)), so that their variance is near one.
        """
        from separatrix.inference.residuals import residuals

        fit = self._inference()
        fit.need_data("a residual")
        return residuals(fit, kind, standardised)

    @one_blas_thread()
    def leverage(self) -> FloatArray:
        """h_i = w_i x_iᵀ I⁻¹ x_i (n,): how far a row pulls its own fitted mean; they sum to the parameters."""
        fit = self._inference()
        fit.need_data("leverage")
        return fit.leverage

    @one_blas_thread()
    def cooks_distance(self) -> FloatArray:
        """r_i² h_i / (k φ (1 − h_i)²) (n,), Pearson residuals r: how far the fit would move without the row."""
        from separatrix.inference.residuals import cooks_distance

        fit = self._inference()
        fit.need_data("Cook's distance")
        return cooks_distance(fit)

    @one_blas_thread()
    def summary(
        self,
        level: float = 0.95,
        covariance: str = "model",
        groups: ArrayLike | None = None,
        *,
        intervals: str = "wald",
        exponentiate: bool = False,
        reference: object = None,
    ) -> Summary:
        """The table users of R and statsmodels know, and the verdict below it.

        Columns coef, se, z (t where the dispersion is estimated), p, low, high; the intercept first. ``str()``,
        ``to_frame()``, ``to_html()``, ``to_latex()``. With ``exponentiate`` coef, low and high are e to their power:
        odds ratios under the logit, ratios of means under the log; se, z and p stay those of the logarithm.
        """
        from separatrix.inference.coefficient_table import coefficient_table
        from separatrix.inference.covariance import check_kind

        fit = self._inference(reference)
        check_kind(covariance, groups)
        error = self.standard_errors(covariance, groups, reference=reference)
        ends = self.confidence_intervals(
            level, intervals, *(() if intervals == "profile" else (covariance, groups)), reference=reference
        )
        return coefficient_table(self, fit, error, ends, level, covariance, intervals, bool(exponentiate))

    def _refuse_unfinished(self, what: str) -> None:
        verdict = self.verdict_
        if verdict.status in ("not converged", "interrupted"):
            raise ValueError(
                f"{what} measures from the maximum, and the fit did not converge to it (stopped: "
                f"{verdict.stopped_by}): increase max_iter and fit again"
            )

    # ---- names ----

    @property
    def _has_optimum(self) -> bool:
        return self.verdict_.status != "no optimum"

    @property
    def _why_no_optimum(self) -> str:
        return "; ".join(self.verdict_.findings[:1])

    def _places(self, fit: Likelihood, columns: Wanted) -> list[int]:
        """Indices into ``fit.names`` of the columns (and terms) given."""
        one = len(fit.columns) + int(fit.objective.fit_intercept)
        heads = len(fit.names) // one
        wanted: list[int] = []
        for column in _listed(columns):
            wanted.extend(self._place(fit, column))
        if len(set(wanted)) < len(wanted):
            raise ValueError(f"columns names a coefficient twice: {columns!r}")
        if not wanted:
            raise ValueError("columns is empty: name at least one")
        return [k * one + j for k in range(heads) for j in wanted]

    def _place(self, fit: Likelihood, column: object) -> list[int]:
        shift = int(fit.objective.fit_intercept)
        if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
            if not -len(fit.columns) <= column < len(fit.columns):
                raise ValueError(f"column {column} does not exist: there are {len(fit.columns)} columns")
            return [int(column) % len(fit.columns) + shift]
        if column == INTERCEPT and shift:
            return [0]
        terms: dict[str, list[int]] = getattr(self, "terms_", {})
        if column in terms:
            return [j + shift for j in terms[column]]
        if column in fit.columns:
            return [fit.columns.index(column) + shift]
        known = [*terms, *map(str, (c for c in fit.columns if c not in terms))]
        raise ValueError(f"column {column!r} is not in the model: its columns are {and_more(known, 8)}")


def _listed(columns: Wanted) -> Sequence[str | int]:
    if isinstance(columns, (str, int, np.integer)):
        return [columns]
    return list(columns)
