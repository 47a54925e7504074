"""What a posterior N(m_n, S_n) shows beside its mean:  S_n, intervals, draws and tables ([6867] 4, row B1).

Predictions integrate over a root of S_n in the solver's coordinates, which has digits that S_n has lost; so these
are read-only. The mean is ``coef_`` and ``intercept_``, which may be edited. Cost O(Q²) memory, once a fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.core.numerics import FloatArray
from separatrix.data.checks import check_count
from separatrix.inference.summary import Summary
from separatrix.models.bayes.laplace import Posterior
from separatrix.models.bayes.predictive import tail_of
from separatrix.models.parameters import generator_of
from separatrix.models.rule import LiveRule

POSTERIOR = (
    "{} is the posterior's, whose root the predictions integrate over: it cannot be assigned. Fit with another "
    "prior, or edit coef_ and intercept_, its mean"
)


def _of_posterior(name: str, words: str) -> property:
    """A property that reads ``_<name>`` of the model and refuses to be assigned."""

    def value(self: ShownPosterior) -> FloatArray:
        if "_posterior" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        found: FloatArray = getattr(self, "_" + name)()
        found.flags.writeable = False
        return found

    def refuse(self: ShownPosterior, value: object) -> None:
        raise AttributeError(POSTERIOR.format(name))

    return property(value, refuse, doc=words)


class ShownPosterior(LiveRule):
    """What a model that keeps a `Posterior` says of it: read-only arrays, intervals, draws and tables."""

    fit_intercept: bool
    random_state: Any
    classes_: np.ndarray
    n_features_in_: int
    log_evidence_: float
    log_likelihood_: float
    log_prior_: float
    log_volume_: float
    log_occam_factor_: float
    n_parameters_: int
    n_effective_: float

    _posterior: Posterior
    _dtype = np.dtype(float)
    covariance_ = _of_posterior("covariance_", "S_n, the posterior's covariance, the intercept first.")
    coef_sd_ = _of_posterior("coef_sd_", "Posterior standard deviations of the weights, shaped as ``coef_``.")
    intercept_sd_ = _of_posterior("intercept_sd_", "Posterior standard deviations of the intercepts.")

    def _covariance_(self) -> FloatArray:
        if "_covariance" not in self.__dict__:
            self._covariance = self._posterior.covariance()
        return self._covariance.astype(self._dtype, copy=False)

    def _coef_sd_(self) -> FloatArray:
        return self._sd()[:, 1:] if self._posterior.fit_intercept else self._sd()

    def _intercept_sd_(self) -> FloatArray:
        sd = self._sd()
        return sd[:, 0] if self._posterior.fit_intercept else np.zeros(len(sd), self._dtype)

    def _sd(self) -> FloatArray:
        """(1, q) or (K, q), the intercept first."""
        return np.sqrt(np.diag(self._covariance_())).reshape(-1, self._posterior.q)

    def _in_order(self, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        """(1, q) or (K, q), the intercept first."""
        return np.column_stack([intercept, coef]) if self.fit_intercept else coef

    # ---- intervals and draws ----

    def credible_intervals(self, level: float = 0.95) -> FloatArray:
        """m ± z·sd of each weight: (p+1, 2), or (K, p+1, 2), the intercept first.

        >>> from separatrix import BayesianLogisticRegression
        >>> X = np.arange(6.0)[:, None]
        >>> BayesianLogisticRegression().fit(X, [0, 0, 0, 1, 1, 1]).credible_intervals(0.5).round(2)
        array([[-4.12, -1.49],
               [ 0.68,  1.56]])
        """
        check_is_fitted(self)
        from scipy.special import ndtri

        mean = self._in_order(*self._shown())
        sd = self._in_order(self.coef_sd_, self.intercept_sd_)
        z = -float(ndtri(tail_of(level)))
        out = np.stack([mean - z * sd, mean + z * sd], axis=-1)
        return out[0] if len(mean) == 1 else out

    def sample_posterior(self, n_draws: int = 1, random_state: Any = None) -> tuple[FloatArray, FloatArray]:
        """Draws of the weights from N(m_n, S_n): coef (n_draws, p) or (n_draws, K, p), and intercept.

        ``random_state`` None is that of the model.

        >>> from separatrix import BayesianLogisticRegression
        >>> X = np.arange(6.0)[:, None]
        >>> coef, intercept = BayesianLogisticRegression().fit(X, [0, 0, 0, 1, 1, 1]).sample_posterior(1000)
        >>> coef.shape, intercept.shape, bool(abs(coef.std() - 0.647) < 0.05)
        ((1000, 1), (1000,), True)
        """
        check_is_fitted(self)
        check_count("n_draws", n_draws)
        root = self._posterior.user_root()
        rng = generator_of(self.random_state if random_state is None else random_state)
        draws = rng.standard_normal((int(n_draws), root.shape[-1])) @ root.reshape(-1, root.shape[-1]).T
        draws = draws.reshape(len(draws), *root.shape[:-1])
        mean = self._in_order(*self._shown())
        draws += mean[0] if len(mean) == 1 else mean
        if not self.fit_intercept:
            return draws, np.zeros(draws.shape[:-1])
        return draws[..., 1:], draws[..., 0]

    # ---- tables ----

    def evidence_table(self) -> Summary:
        """log Pr(D) and what it is made of, as a table: ``print`` it, or ``to_frame()``.

        >>> from separatrix import BayesianLogisticRegression
        >>> X = np.arange(6.0)[:, None]
        >>> print(BayesianLogisticRegression().fit(X, [0, 0, 0, 1, 1, 1]).evidence_table())
        The evidence and its parts
        ──────────────────────────────────────────────
                                                 value
        ──────────────────────────────────────────────
        log likelihood at the mode             -1.3629
        log prior density at the mode          -4.7683
        log posterior volume, in weights        1.4871
        log Occam factor, the last two summed  -3.2812
        log evidence                           -4.6441
        ──────────────────────────────────────────────
        """
        check_is_fitted(self)
        self._refuse_edited("the evidence")
        lines = {
            "log likelihood at the mode": self.log_likelihood_,
            "log prior density at the mode": self.log_prior_,
            "log posterior volume, in weights": self.log_volume_,
            "log Occam factor, the last two summed": self.log_occam_factor_,
            "log evidence": self.log_evidence_,
        }
        values = {"value": np.array(list(lines.values()))}
        return Summary("The evidence and its parts", (), tuple(lines), values, formats={"value": ".4f"})

    def summary(self, level: float = 0.95) -> Summary:
        """Mode, standard deviation and credible interval of every weight; the intercept first.

        >>> from separatrix import BayesianLogisticRegression
        >>> X = np.arange(6.0)[:, None]
        >>> print(BayesianLogisticRegression().fit(X, [0, 0, 0, 1, 1, 1]).summary())
        Bayesian logistic regression
        ─────────────────────────────────────────────────────────────
        Log evidence -4.6441   Log likelihood                 -1.3629
        Parameters         2   of them determined by the data     1.6
        ─────────────────────────────────────────────────────────────
                        coef      sd      low    high
        ─────────────────────────────────────────────────────────────
        (Intercept)  -2.8015  1.9501  -6.6236  1.0205
        x0            1.1206  0.6474  -0.1483  2.3895
        ─────────────────────────────────────────────────────────────
        low and high bound 95 % of the posterior, the Gaussian at the mode.
        """
        check_is_fitted(self)
        self._refuse_edited("a summary, with its evidence,")
        bounds = self.credible_intervals(level)
        names = [
            str(n) for n in getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        ]
        names = (["(Intercept)"] if self.fit_intercept else []) + names
        if len(self.classes_) > 2:
            names = [f"{label}: {name}" for label in self.classes_.tolist() for name in names]
        columns = {
            "coef": self._in_order(*self._shown()).ravel(),
            "sd": self._in_order(self.coef_sd_, self.intercept_sd_).ravel(),
            "low": bounds[..., 0].ravel(),
            "high": bounds[..., 1].ravel(),
        }
        header = (
            ("Log evidence", f"{self.log_evidence_:.4f}"),
            ("Parameters", str(self.n_parameters_)),
            ("Log likelihood", f"{self.log_likelihood_:.4f}"),
            ("of them determined by the data", f"{self.n_effective_:.1f}"),
        )
        note = f"low and high bound {100 * level:g} % of the posterior, the Gaussian at the mode."
        return Summary("Bayesian logistic regression", header, tuple(names), columns, (note,))

    def _refuse_edited(self, what: str) -> None:
        if self._was_edited():
            raise ValueError(
                f"coef_ or intercept_ was edited after the fit, and {what} is of the mode that the fit found: fit "
                "again, or put its numbers back. Predictions, credible_intervals and sample_posterior follow the edit"
            )
