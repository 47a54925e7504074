"""Generative models as graph pieces:  log p(x, k) of every class, and its softmax (row O8).

    Gaussian discriminants from their whitened covariances; naive Bayes part by part; families from η·T(x)

Missing cells are left out of the columns' sums, as the models leave them out. Gaussian discriminants of at most 60
columns answer rows with missing cells by the density of those that are there, z_oᵀ Σ_oo⁻¹ z_o + log |Σ_oo| by
elimination, O(np³) where some row has one; those of more columns by NaN. Factors of p(x | k) without k are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.files.graph import END, Cells, Graph, OnnxExportError
from separatrix.files.onnx_models import Answer, converter, mixed
from separatrix.models.generative.complement import ComplementPart
from separatrix.models.generative.parts.counted import BagPart, BernoulliPart, LevelsPart
from separatrix.models.generative.parts.measured import FamilyPart, NormalPart


def _posterior(g: Graph, model: BaseEstimator, density: str, unknown: str = "") -> Answer:
    """Of a model made by `_now`: log p(x, k), rows no class can have answered by the prior as the model does.

    ``unknown`` (n, 1): rows this graph has no answer for, NaN.
    """
    complement = type(model).__name__ == "ComplementNB" and len(model.classes_) > 1
    barred = np.where(np.isneginf(model._log_prior), -np.inf, 0.0)
    joint = g.add(density, (barred if complement else model._log_prior)[None])
    finite = g.both(g.op("Less", joint, np.inf), g.op("Greater", joint, -np.inf))
    some = g.op("Greater", g.sum(g.double(finite)), 0.0)
    top = g.double(g.op("Equal", joint, np.inf))
    tops = g.sum(top)
    lost = g.op("Greater", g.sum(g.double(g.op("IsNaN", joint))), 0.0)
    sure = g.both(g.op("Equal", tops, 1.0), g.op("Not", lost))
    plain = g.both(g.both(some, g.op("Not", lost)), g.op("Equal", tops, 0.0))
    certain = g.where(g.op("Greater", top, 0.0), 0.0, -np.inf)
    joint = g.where(plain, joint, g.where(sure, certain, model._log_prior[None]))
    joint = g.where(unknown, np.nan, joint) if unknown else joint
    return Answer(joint, g.softmax(joint))


@converter("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "GaussianDiscriminant")
def _gaussian(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    X, model = cells.numbers(), model._now()
    if getattr(model, "_form", None) is not None:  # coef_ and intercept_ were edited
        scores = g.add(g.matmul(X, model._form[0].T), model._form[1][None])
        scores = g.concat([g.mul(scores, 0.0), scores]) if len(model.classes_) == 2 else scores
        return _posterior(g, model, g.sub(scores, model._log_prior[None]))
    if model._is_linear:
        shifted = g.sub(X, model._centre[None])
        density = g.add(g.matmul(shifted, model._beta.T), model._gamma[None])
    else:
        shapes = [(model._whiten[j], model._log_det[j]) for j in model._group.tolist()]
        density = g.concat([_quadratic(g, X, mean, *own) for mean, own in zip(model.means_, shapes)])
    unknown = ""
    varies = np.flatnonzero(~model._flat)
    if len(varies) <= g.most_gaps:
        empty = g.sum(g.double(g.op("IsNaN", X)))
        some = g.op("Greater", g.op("ReduceSum", empty, keepdims=0), 0.0)
        gaps = g.op("Greater", empty, 0.0)
        whole = density
        density = g.either(some, lambda: g.where(gaps, _marginal(g, model, X, varies), whole), lambda: whole)
    elif model._in_em:
        raise OnnxExportError(
            f"{type(model).__name__} was trained on rows with missing cells in {len(varies)} columns, and its graph "
            f"answers such rows in {g.most_gaps} at most: export GaussianNB, or a model fitted to complete rows"
        )
    else:
        unknown = g.op("Greater", g.sum(g.double(g.op("IsNaN", X))), 0.0)
    return _posterior(g, model, density, unknown)


def _marginal(g: Graph, model: BaseEstimator, X: str, varies: np.ndarray) -> str:
    """log p of the cells that are there, in columns of unit spread: (n, K)."""
    X = X if len(varies) == len(model._flat) else g.columns(X, varies)
    gone = g.op("IsNaN", X)
    there = g.double(g.op("Not", gone))
    both = g.mul(g.op("Unsqueeze", there, np.array([2])), g.op("Unsqueeze", there, np.array([1])))
    alone = g.mul(g.op("Unsqueeze", g.double(gone), np.array([2])), np.eye(len(varies))[None])
    parts: list[str] = [""] * len(model.means_)
    for group in sorted(set(model._group.tolist())):
        mine = np.flatnonzero(model._group == group)
        sigma = model._sigma[group][np.ix_(varies, varies)]
        scale = np.sqrt(np.maximum(np.diag(sigma), 1e-300))
        unit = g.add(g.mul(both, (sigma / np.outer(scale, scale))[None]), alone)
        means = [model.means_[k, varies] for k in mine]
        z = [g.where(gone, 0.0, g.div(g.sub(X, mean[None]), scale[None])) for mean in means]
        A = g.concat([unit, *(g.op("Unsqueeze", column, np.array([2])) for column in z)], axis=2)
        twice, squares = g.matmul(there, 2.0 * np.log(scale).reshape(-1, 1)), ""
        for _ in varies:  # a column and its row after the other leave (n, p − 1, p − 1 + classes)
            row = g.op("Gather", A, np.array(0), axis=1)
            pivot = g.op("Max", g.columns(row, [0]), 1e-14)
            twice = g.add(twice, g.log(pivot))
            ends = g.op("Slice", row, np.array([-len(mine)]), np.array([END]), np.array([1]))
            square = g.div(g.mul(ends, ends), pivot)
            squares = g.add(squares, square) if squares else square
            rest = g.op("Slice", A, np.array([1, 0]), np.array([END, END]), np.array([1, 2]))
            column = g.op("Gather", rest, np.array([0]), axis=2)
            below = g.op("Slice", rest, np.array([1]), np.array([END]), np.array([2]))
            scaled = g.div(g.op("Slice", row, np.array([1]), np.array([END]), np.array([1])), pivot)
            A = g.sub(below, g.mul(column, g.op("Unsqueeze", scaled, np.array([1]))))
        found = g.mul(g.add(squares, twice), -0.5)
        for j, k in enumerate(mine.tolist()):
            parts[k] = g.columns(found, [j])
    return g.concat(parts)


def _quadratic(g: Graph, X: str, mean: np.ndarray, root: np.ndarray, log_det: float) -> str:
    """−½ (‖(x − μ) T‖² + log |Σ|): (n, 1)."""
    u = g.matmul(g.sub(X, mean[None]), root)
    return g.mul(g.add(g.sum(g.mul(u, u)), float(log_det)), -0.5)


@converter("GaussianNB", "BernoulliNB", "MultinomialNB", "CategoricalNB", "ComplementNB", "NaiveBayes")
def _naive(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    model = model._now()
    X = mixed(g, getattr(model, "_encoding", None), cells)
    total = None
    for part in model._parts:
        mine = X if part.columns is None else g.columns(X, part.columns)
        found = _part(g, part, mine)
        total = found if total is None else g.add(total, found)
    assert total is not None
    return _posterior(g, model, total)


def _part(g: Graph, part: Any, X: str) -> str:
    """log p of the part's columns under each class, but for factors without k: (n, K)."""
    if isinstance(part, NormalPart):
        if part.far:
            return _normal_by_class(g, X, part.mean, part.square, part.variance, part.silent)
        z = X if part.centre is None else g.sub(X, part.centre[None])
        gone = g.op("IsNaN", z)
        z = g.where(gone, 0.0, z)
        there = g.double(g.op("Not", gone))
        quadratic = g.add(g.matmul(z, part.slope.T), g.matmul(g.mul(z, z), part.square.T))
        return g.add(quadratic, g.matmul(there, part.constant.T))
    if isinstance(part, BernoulliPart):
        gone = g.op("IsNaN", X)
        if part.binarize is None:  # an impossible cell counts as missing
            valid = g.op("Or", g.op("Equal", X, 0.0), g.op("Equal", X, 1.0))
            gone, one = g.op("Not", valid), g.op("Equal", X, 1.0)
        else:
            one = g.op("Greater", X, float(part.binarize))
        return _yes_or_no(g, one, gone, part.log_yes, part.log_no)
    if isinstance(part, ComplementPart):  # its weights may be +∞, not −∞
        return g.neg(g.log_product(X, -part.weights))
    if isinstance(part, BagPart):
        return g.log_product(X, part.weights)
    if isinstance(part, LevelsPart):
        return _levels(g, part, X)
    if isinstance(part, FamilyPart):
        return family_scores(g, part.family, part.fitted, X)
    raise OnnxExportError(f"{type(part).__name__} has no form in ONNX here")


def _normal_by_class(g: Graph, X: str, mean: Any, square: Any, variance: Any, silent: Any) -> str:
    out = []
    for k in range(len(mean)):
        z = g.sub(X, mean[k][None])
        terms = g.sub(g.mul(g.mul(z, z), square[k][None]), (0.5 * np.log(variance[k]) * ~silent)[None])
        out.append(g.sum(g.where(g.op("IsNaN", z), 0.0, terms)))
    return g.concat(out)


def _yes_or_no(g: Graph, one: str, gone: str, log_yes: np.ndarray, log_no: np.ndarray) -> str:
    there = g.op("Not", gone)
    yes, no = g.double(g.both(one, there)), g.double(g.both(g.op("Not", one), there))
    return g.add(g.log_product(yes, log_yes.T), g.log_product(no, log_no.T))


def _levels(g: Graph, part: LevelsPart, X: str) -> str:
    total = None
    for j, (share, never) in enumerate(zip(part.log_share, part.log_never, strict=True)):
        table = np.hstack([share, never, np.zeros_like(never)]).T  # … an unseen level, a missing cell
        size = float(share.shape[1])
        x = g.columns(X, [j])
        known = g.both(g.op("GreaterOrEqual", x, 0.0), g.op("Less", x, size))
        at = g.where(g.op("IsNaN", x), size + 1, g.where(known, x, size))
        found = g.op("Gather", table, g.op("Squeeze", g.whole(at), np.array([1])), axis=0)
        total = found if total is None else g.add(total, found)
    assert total is not None
    return total


@converter("GenerativeClassifier")
def _generative(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    model = model._now()
    f, parameters, X = model._family, model.parameters_, cells.numbers()
    if f.name == "multivariate_gaussian":
        parts = []
        for mean, sigma in zip(parameters["mean"], parameters["covariance"], strict=True):
            lower = np.linalg.cholesky(sigma)
            root = np.linalg.inv(lower).T
            parts.append(_quadratic(g, X, mean, root, 2.0 * float(np.log(np.diag(lower)).sum())))
        return _posterior(g, model, g.concat(parts))
    return _posterior(g, model, family_scores(g, f, parameters, X))


def family_scores(g: Graph, f: Any, parameters: Any, X: str) -> str:
    """Σ_j log p(x_j | θ_kj) but for h(x), from η·(T(x) − T(x₀)) + log p(x₀): (n, K).

    A cell outside the support counts as missing.
    """
    if f.name == "multinomial":
        return g.log_product(X, np.log(parameters["probabilities"]).T)
    if f.name == "dirichlet":
        alpha = parameters["concentration"]
        at = (alpha / alpha.sum(axis=1, keepdims=True)).mean(axis=0)
        eta = f.natural(parameters)[0]
        start = f.log_density(at, parameters)
        return g.add(g.matmul(g.log(g.div(X, at[None])), eta.T), np.reshape(start, (1, -1)))
    gone = _missing(g, f, X)
    there = g.double(g.op("Not", gone))
    k = max(np.shape(v)[0] for v in parameters.values())
    p = max(np.shape(v)[-1] for v in parameters.values())
    given = {name: np.broadcast_to(v, (k, p)) for name, v in parameters.items()}
    if f.name == "gaussian":
        variance = np.broadcast_to(given.get("variance", f.variance), (k, p)).astype(float)
        silent = np.zeros(p, dtype=bool)
        return _normal_by_class(g, X, given["mean"], -0.5 / variance, variance, silent)
    if f.name == "bernoulli":
        q = given["probability"]
        with np.errstate(divide="ignore"):
            return _yes_or_no(g, g.op("Equal", X, 1.0), gone, np.log(q), np.log1p(-q))
    x = g.where(gone, 0.5, X)
    eta = [np.broadcast_to(e, (k, p)) for e in f.natural(given)]
    if f.name in ("poisson", "exponential"):
        start = f.log_density(np.zeros(p), given)
        return g.add(g.log_product(g.where(gone, 0.0, X), eta[0].T), g.matmul(there, start.T))
    if f.name == "gamma":
        at = (given["shape"] / given["rate"]).mean(axis=0)
        terms = [g.log(g.div(x, at[None])), g.sub(x, at[None])]
    elif f.name == "beta":
        at = (given["a"] / (given["a"] + given["b"])).mean(axis=0)
        terms = [g.log(g.div(x, at[None])), g.log(g.div(g.sub(1.0, x), (1 - at)[None]))]
    else:
        raise OnnxExportError(f"columns of the family {f.name} have no form in ONNX here")
    total = g.matmul(there, f.log_density(at, given).T)
    for term, weight in zip(terms, eta, strict=True):
        total = g.add(total, g.matmul(g.where(gone, 0.0, term), weight.T))
    return total


def _missing(g: Graph, f: Any, X: str) -> str:
    """NaN, or outside the family's support."""
    gone = g.op("IsNaN", X)
    low, high = f._range
    below, above = ("LessOrEqual", "GreaterOrEqual") if f._open else ("Less", "Greater")
    if np.isfinite(low):
        gone = g.op("Or", gone, g.op(below, X, float(low)))
    if np.isfinite(high):
        gone = g.op("Or", gone, g.op(above, X, float(high)))
    return g.op("Or", gone, g.op("Not", g.op("Equal", g.op("Floor", X), X))) if f.discrete else gone
