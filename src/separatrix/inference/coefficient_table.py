"""The coefficient table of a fitted likelihood, with the facts above it and the verdict below.

Notes [6867] 3.2.3; row D8.
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc

from separatrix.core.numerics import FloatArray
from separatrix.core.words import and_more
from separatrix.inference.hypothesis import tail_probability
from separatrix.inference.likelihood import Likelihood
from separatrix.inference.mixin import Inferential
from separatrix.inference.summary import Summary


def coefficient_table(
    model: Inferential,
    fit: Likelihood,
    error: FloatArray,
    ends: FloatArray,
    level: float,
    covariance: str,
    intervals: str,
    exponentiate: bool,
) -> Summary:
    """coef, se, z or t, p, low, high; facts of the fit; separation, gap, aliased columns, what stopped the solver."""
    exists = model._has_optimum
    beta = fit.beta if exists else model._limits_of_coefficients()
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(error > 0, fit.beta / error, np.nan)
    letter = "t" if fit.estimates_dispersion else "z"
    show = np.exp if exponentiate else np.asarray
    with np.errstate(over="ignore"):
        columns = {"coef": show(beta), "se": error, letter: statistic, "p": tail_probability(fit, statistic)}
        columns |= {"low": show(ends[:, 0]), "high": show(ends[:, 1])}
    notes = _notes(model, fit, level, covariance, intervals, exponentiate)
    return Summary(type(model).__name__, _facts(model, fit, covariance), fit.names, columns, notes)


def _facts(model: Inferential, fit: Likelihood, covariance: str) -> tuple[tuple[str, str], ...]:
    v = model.verdict_
    facts = [("observations", _number(fit.seen.count)), ("residual df", _number(fit.df_residual))]
    if fit.response is not None and fit.link is not None:
        facts = [("family", _family(fit)), ("link", fit.link.name), *facts]
        if fit.estimated:
            facts.insert(2, ("theta", f"{model.size_:.6g} (se {model.size_error_:.4g})"))
    else:
        facts = [("family", f"categorical, {len(fit.classes)} classes"), ("link", "softmax"), *facts]
        facts.append(("reference class", fit.classes[fit.reference]))
    if v.status != "no optimum":
        word = "known" if not fit.estimates_dispersion else "Pearson"
        facts += [
            ("deviance", f"{2.0 * fit.half_deviance:.6g}"),
            *([("null deviance", f"{model.null_deviance_:.6g}")] if hasattr(model, "null_deviance_") else []),
            ("dispersion", f"{fit.dispersion:.6g} ({word})"),
            ("log-likelihood", f"{fit.log_likelihood:.6g}" if np.isfinite(fit.log_likelihood) else "—"),
            ("AIC", f"{fit.aic:.6g}" if np.isfinite(fit.aic) else "—"),
            ("BIC", f"{fit.bic:.6g}" if np.isfinite(fit.bic) else "—"),
        ]
    facts.append(("covariance", covariance))
    facts.append(("sweeps", f"{v.sweeps:.3g}"))
    return tuple(facts)


def _family(fit: Likelihood) -> str:
    assert fit.response is not None
    name = fit.response.name.replace("_", " ")
    for word in ("size", "power"):
        if hasattr(fit.response, word) and not fit.estimated:
            name += f", {word} {getattr(fit.response, word):g}"
    return name + (", Firth's penalty" if fit.firth else "")


def _notes(
    model: Inferential, fit: Likelihood, level: float, covariance: str, intervals: str, exponentiate: bool
) -> tuple[str, ...]:
    v = model.verdict_
    notes = [f"formula: {model.formula_}"] if hasattr(model, "formula_") else []
    notes.append(v.headline())
    if v.status == "no optimum":
        notes.append("no standard errors, tests or intervals: an estimate that does not exist has none")
    else:
        proven = f"the objective is proven within {v.gap:.1e} of its minimum"
        notes.append(f"gap: {proven if np.isfinite(v.gap) else 'no bound proven'}")
        kind = "profile likelihood" if intervals == "profile" else "Wald"
        notes.append(f"low, high: {100 * level:g} % {kind} interval" + _law(fit, intervals))
        if exponentiate:
            notes.append("coef, low, high: exponentiated; se, the statistic and p are those of the logarithm")
        notes.extend(_spread_words(fit, covariance))
        if covariance.startswith("HC") or covariance == "cluster":
            notes.append(f'se: robust, {covariance}; the model\'s own are summary(covariance="model")')
        lost = [name for name, ok in zip(fit.names, fit.estimable, strict=True) if not ok]
        if lost:
            notes.append(f"not estimable, so without an error: {and_more(lost, 6)}")
    notes.append(f"stopped: {v.stopped_by}")
    notes.extend(v.findings)
    return tuple(notes)


def _spread_words(fit: Likelihood, covariance: str) -> list[str]:
    """A remark where a family that knows its dispersion meets data more spread out than that."""
    if fit.estimates_dispersion or fit.response is None or fit.binary or not fit.has_data:
        return []
    ratio = fit.pearson / fit.df_residual if fit.df_residual >= 10 else 1.0
    if not (ratio > 1.3 and chdtrc(fit.df_residual, fit.pearson) < 1e-3) or covariance != "model":
        return []
    other = ', or family="negative_binomial" for counts' if fit.response.name == "poisson" else ""
    return [
        f"spread: Pearson's statistic is {ratio:.2f} a degree of freedom, and the family says 1: errors are "
        f'too small by about {np.sqrt(ratio):.2f}; see covariance="HC3"{other}'
    ]


def _law(fit: Likelihood, intervals: str) -> str:
    if fit.estimates_dispersion:
        return f", Student's law on {_number(fit.df_residual)} df"
    return ", normal law" if intervals == "wald" else ", χ² on 1 df"


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.6g}"
