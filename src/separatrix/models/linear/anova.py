"""Analysis of deviance:  D₀ − D₁ between nested models, against χ² or F ([6867] 3.2.3; row D8).

known dispersion       (D₀ − D₁)            ~ χ²(df₀ − df₁);   2(ℓ₁ − ℓ₀) where each estimates a size
estimated dispersion   (D₀ − D₁)/(Δdf φ̂)   ~ F(Δdf, df_residual),   φ̂ of the largest model, as in R
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.core.numerics import FloatArray
from separatrix.core.statistics import QRFactor
from separatrix.data.checks import check_known
from separatrix.data.engine import one_blas_thread
from separatrix.data.observations import Observations
from separatrix.data.rows import Rows
from separatrix.inference.hypothesis import Test, linear_test, restricted
from separatrix.inference.likelihood import Likelihood
from separatrix.inference.mixin import Inferential
from separatrix.inference.summary import Summary

BETWEEN = "Analysis of deviance"
INSIDE = 1e-7  # what may be left of a standardised column when it is predicted from those of the larger model


@one_blas_thread()
def anova(*models: Any, test: str = "lr") -> Summary:
    """D₀ − D₁ of nested models fitted to the same rows, with its degrees of freedom and p-value.

    Several models are put in order of size and each is compared with the one before. One model is taken apart: its
    terms (columns, without a formula) are added one after another, R's sequential table. Notes [6867] 3.2.3; row D8.

    Parameters
    ----------
    models : fitted models without a penalty (Firth's among themselves)
    test : "lr" (the change of deviance), "wald", or "score"; the last two for two models at a time

    Returns
    -------
    Summary : rows are models (or terms); columns resid_df, resid_dev, df, deviance, F or LR (Wald, score), p. With
        ``to_frame()``, ``to_html()``, ``to_latex()``. Cost: nothing for "lr" between models, else a constrained fit
        (3–5 sweeps) a line.

    Examples
    --------
    >>> from separatrix import GeneralizedLinearModel
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 1.0], [4.0, 0.0], [5.0, 0.0]])
    >>> y = [1, 1, 3, 6, 9, 17]
    >>> small = GeneralizedLinearModel("poisson").fit(X[:, :1], y)
    >>> large = GeneralizedLinearModel("poisson").fit(X, y)
    >>> anova(small, large).to_frame()["p"].round(3).tolist()
    [nan, 0.566]
    """
    if not models:
        raise ValueError("anova needs a fitted model, or several nested ones")
    for model in models:
        if not isinstance(model, Inferential):
            raise TypeError(f"anova compares likelihood models, and {type(model).__name__} is none")
    fits = [model._inference() for model in models]
    for model in models:
        if not model._has_optimum:
            raise ValueError(f"a model without an estimate cannot be compared: {model._why_no_optimum}")
    check_known("test", test, "lr", "wald", "score")
    if len(models) == 1:
        return _sequential(models[0], fits[0], test)
    order = sorted(range(len(models)), key=lambda i: fits[i].rank)
    chain = [fits[i] for i in order]
    for smaller, larger in pairwise(chain):
        _refuse_unlike(smaller, larger)
        _refuse_not_nested(smaller, larger)
    top = chain[-1]
    lines = []
    for smaller, larger in pairwise(chain):
        lines.append(_compare(smaller, larger, top, test))
    names = tuple(_words(models[i], fits[i], k) for k, i in enumerate(order, 1))
    return _table(BETWEEN, names, [f.df_residual for f in chain], _deviances(chain), lines, test, top)


def _compare(smaller: Likelihood, larger: Likelihood, top: Likelihood, test: str) -> Test:
    df = larger.rank - smaller.rank
    residual = top.df_residual if top.estimates_dispersion else None
    if test == "lr" and top.estimated:  # deviances of different sizes do not compare, likelihoods do
        drop = max(2.0 * (larger.log_likelihood - smaller.log_likelihood), 0.0)
        return Test("lr", "", drop, df, None)
    if test == "lr":
        drop = max(2.0 * smaller.weight * (smaller.at.value - larger.at.value), 0.0) / top.dispersion
        return Test("lr", "", drop / (1 if residual is None else df), df, residual)
    missing = [name for name in larger.names if name not in smaller.names]
    if len(missing) != df or not set(smaller.names) <= set(larger.names):
        raise ValueError(
            f'test="{test}" needs the smaller model\'s columns among those of the larger by name: use "lr"'
        )
    few, many = _cells(smaller), _cells(larger)
    for j, name in enumerate(smaller.columns):
        if not np.array_equal(few[:, j], many[:, larger.columns.index(name)]):
            raise ValueError(
                f'test="{test}" needs the smaller model\'s columns among those of the larger by name, and {name!r} '
                'is not the same column in both: use "lr"'
            )
    places = [larger.names.index(name) for name in missing]
    return _hypothesis(larger, places, test)


def _hypothesis(fit: Likelihood, places: list[int], test: str) -> Test:
    lost = [fit.names[j] for j in places if not fit.estimable[j]]
    if lost:
        raise ValueError(f"{lost[0]!r} is aliased in the larger model: there is nothing to test; drop it")
    if test != "wald":
        fit.need_data("anova")
    a = np.eye(len(fit.names))[places]
    return linear_test(fit, a, np.zeros(len(places)), "", test, fit.inner_covariance)


def _sequential(model: Inferential, fit: Likelihood, test: str) -> Summary:
    """Terms added one after another: each line is the model with all terms up to it."""
    if test != "lr":
        raise ValueError(
            'one model is taken apart by test="lr" only: for others use model.test(term, method=…)'
        )
    fit.need_data("anova")
    terms: dict[str, list[int]] = getattr(model, "terms_", None) or {
        c: [j] for j, c in enumerate(fit.columns)
    }
    shift = int(fit.objective.fit_intercept)
    one = len(fit.columns) + shift
    heads = len(fit.names) // one
    if not fit.estimable.all():
        lost = fit.names[int(np.flatnonzero(~fit.estimable)[0])]
        raise ValueError(f"{lost!r} is aliased: terms cannot be told apart; drop a column they repeat")
    values, dfs, deviances = [fit.at.value], [fit.df_residual], [2.0 * fit.half_deviance]
    lines: list[Test] = []
    left: list[int] = []
    for term in reversed(list(terms)):
        here = [k * one + j + shift for k in range(heads) for j in terms[term]]
        left = here + left
        found = restricted(fit, np.eye(len(fit.names))[left] @ fit.user_map, np.zeros(len(left)))
        drop = max(2.0 * fit.weight * (found.at.value - values[0]), 0.0) / fit.dispersion
        residual = fit.df_residual if fit.estimates_dispersion else None
        lines.insert(0, Test("lr", term, drop / (1 if residual is None else len(here)), len(here), residual))
        values.insert(0, found.at.value)
        dfs.insert(0, dfs[0] + len(here))
        plain = fit.plain_half_deviance(found.theta) if fit.firth else fit.weight * found.at.value
        deviances.insert(0, 2.0 * plain)
    names = ("NULL", *terms)
    return _table("Analysis of deviance, terms added in order", names, dfs, deviances, lines, test, fit)


def _deviances(chain: list[Likelihood]) -> list[float]:
    return [2.0 * f.half_deviance for f in chain]


def _table(
    title: str,
    names: tuple[str, ...],
    dfs: list[float],
    deviances: list[float],
    lines: list[Test],
    test: str,
    top: Likelihood,
) -> Summary:
    nan = [np.nan]
    law = {"lr": "F" if top.estimates_dispersion else "LR", "wald": "Wald", "score": "score"}[test]
    columns: dict[str, FloatArray] = {
        "resid_df": np.array(dfs, dtype=float),
        "resid_dev": np.array(deviances),
        "df": np.array(nan + [float(t.df) for t in lines]),
        "deviance": np.array(nan + [a - b for a, b in pairwise(deviances)]),
        law: np.array(nan + [t.statistic for t in lines]),
        "p": np.array(nan + [t.p_value for t in lines]),
    }
    notes = (
        [f"dispersion {top.dispersion:.6g}, Pearson's of the largest model"]
        if top.estimates_dispersion
        else []
    )
    if top.estimated and title == BETWEEN:
        notes.append(
            "theta is estimated in each model, so LR is twice the difference of their log-likelihoods"
        )
    elif top.estimated:
        notes.append("theta is held at the estimate of the whole model, as in R")
    if top.firth:
        notes.append("deviances are the likelihood's own; the tests compare Firth's penalised likelihoods")
    family = top.response.name.replace("_", " ") if top.response is not None else "categorical"
    family = "negative binomial" if top.estimated else family
    link = top.link.name if top.link is not None else "softmax"
    formats = {"resid_df": "count", "df": "count", law: ".4f"}
    return Summary(
        title=title, header=(("family", family), ("link", link)), index=names, columns=columns, notes=tuple(notes),
        formats=formats,
    )  # fmt: skip


def _words(model: Inferential, fit: Likelihood, number: int) -> str:
    formula = getattr(model, "formula_", None)
    if formula is not None:
        return f"{number}: {formula}"
    shown = ", ".join(fit.columns[:4]) + (f", … {len(fit.columns)} columns" if len(fit.columns) > 4 else "")
    return f"{number}: {shown}"


def _refuse_unlike(smaller: Likelihood, larger: Likelihood) -> None:
    """Nested models differ in their columns alone."""
    if smaller.rank == larger.rank:
        raise ValueError(
            f"the models are not nested: both have {larger.rank} parameters; anova compares a model with a part of it"
        )
    laws = [(_law(fit), fit.link, fit.classes) for fit in (smaller, larger)]
    if laws[0] != laws[1]:
        raise ValueError(
            "the models differ in family, link or classes: only the columns of nested models differ"
        )
    if smaller.firth != larger.firth:
        raise ValueError(
            "one model has Firth's penalty and the other has not: their likelihoods do not compare"
        )
    for fit in (smaller, larger):
        fit.need_data("anova")
    a, b = smaller.seen, larger.seen
    if len(a.y) != len(b.y):
        raise ValueError(
            f"the models were fitted on different rows: {len(a.y)} and {len(b.y)}; drop rows with missing "
            "cells first, then fit both"
        )
    for what, one, other in _pairs(a, b):
        if not _same(one, other):
            raise ValueError(f"the models were fitted on different rows: their {what} differ")


def _law(fit: Likelihood) -> Any:
    """The family as models share it: a size that each estimates is its own."""
    return "negative binomial, size estimated" if fit.estimated else fit.response


def _pairs(a: Observations, b: Observations) -> tuple[tuple[str, FloatArray | None, FloatArray | None], ...]:
    return (
        ("responses", a.y, b.y),
        ("offsets", a.offset, b.offset),
        ("weights", a.frequency, b.frequency),
        ("precisions", a.precision, b.precision),
    )


def _same(one: ArrayLike | None, other: ArrayLike | None) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))


def _refuse_not_nested(smaller: Likelihood, larger: Likelihood) -> None:
    """Every column of the smaller model must be a combination of those of the larger (and the intercept)."""
    if smaller.objective.fit_intercept and not larger.objective.fit_intercept:
        raise ValueError("the models are not nested: the smaller has an intercept and the larger has none")
    few, many = (_cells(f) for f in (smaller, larger))
    if many is few:
        return
    p = many.shape[1]
    joint = Rows.of(np.hstack([many, few]))
    factor = QRFactor.of(joint.source)
    R = factor.factor()
    if not larger.objective.fit_intercept:
        R = np.vstack([R, np.sqrt(factor.weight) * factor.mean])
    size = np.linalg.norm(R, axis=0)
    R = R / np.where(size > 0, size, 1.0)
    rest = R[:, p:] - R[:, :p] @ np.linalg.lstsq(R[:, :p], R[:, p:], rcond=1e-12)[0]
    left = np.linalg.norm(rest, axis=0)
    if (left > INSIDE).any():
        j = int(np.argmax(left))
        raise ValueError(
            f"the models are not nested: column {smaller.columns[j]!r} of the smaller is no combination of "
            "the larger's"
        )


def _cells(fit: Likelihood) -> np.ndarray:
    rows = fit.objective.rows
    if rows.lazy:
        return np.vstack([np.asarray(rows.block(i).X, dtype=float) for i in range(rows.n_blocks)])
    return np.asarray(rows.source.toarray() if rows.sparse else rows.source, dtype=float)
