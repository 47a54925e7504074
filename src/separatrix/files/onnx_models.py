"""Models as graph pieces: linear and kernel ones (row O8); densities in onnx_densities.py, trees in onnx_trees.py.

    convert(graph, model, cells) → Answer(scores, probabilities)

The largest of ``scores`` (n, K) names the class; ``probabilities`` (n, K) are None for models that have none, which
may still vote in an ensemble. Everything is float64; formulas are those of the models' own files.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.files.graph import Cells, Graph, OnnxExportError
from separatrix.files.onnx_encode import codes_of_levels, encoded
from separatrix.models.margin.calibration import Isotonic, Sigmoid
from separatrix.models.threshold import strictly_above

MOST_CLASSES = 60  # pairs of classes of a coupled machine: a piece each


class Answer(NamedTuple):
    """Names of tensors: scores (n, K), and probabilities (n, K) or None."""

    scores: str
    probabilities: str | None


def at_threshold(g: Graph, answer: Answer, cut: tuple[float, Any] | None, model: Any) -> Answer:
    """The answer by a threshold of the probability (models/threshold.py); as it is where there is none."""
    if cut is None or answer.probabilities is None:
        return answer
    M, c = strictly_above(cut, model.classes_)
    return answer._replace(scores=g.add(g.matmul(answer.probabilities, M), c))


Converter = Callable[[Graph, Any, Cells], Answer]
CONVERTERS: dict[str, Converter] = {}


def converter(*names: str, package: str = "separatrix") -> Callable[[Converter], Converter]:
    """Registers a function as the piece of a package's models so called."""

    def register(function: Converter) -> Converter:
        CONVERTERS.update({f"{package}.{name}": function for name in names})
        return function

    return register


def convert(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    """The piece of a fitted model, or of a Pipeline; refused with a sentence where it has no form in ONNX here."""
    if type(model).__name__ == "Pipeline" and hasattr(model, "steps"):
        for _, step in model.steps[:-1]:
            cells = encoded(g, step, cells)
        return convert(g, model.steps[-1][1], cells)
    package = type(model).__module__.split(".")[0]
    found = CONVERTERS.get(f"{package}.{type(model).__name__}")
    if found is None:
        raise OnnxExportError(f"{type(model).__name__} of {package} has no form in ONNX here")
    return found(g, model, cells)


def mixed(g: Graph, key: Any, cells: Cells) -> str:
    """A mixed table as its model reads it: levels as numbers, −1 where unseen, NaN where missing."""
    if key is None or not any(c.kind == "category" for c in key.columns):
        return cells.numbers()
    parts = []
    for j, column in enumerate(key.columns):
        x = cells.column(j)
        if column.kind == "category":
            words = bool(cells.words and cells.words[j])
            never = g.constant_rows(x, np.array([np.nan])) if not column.levels else ""
            x = never or codes_of_levels(g, x, column.levels, words, -1.0)
        parts.append(x)
    return g.concat(parts)


# ---- linear scores ----


def linear(g: Graph, X: str, coef: np.ndarray, intercept: Any, name: str) -> str:
    """w·x + b: (n, 1) or (n, K)."""
    coef = np.atleast_2d(np.asarray(coef, dtype=float))
    b = np.asarray(intercept, dtype=float).reshape(1, -1)
    if not (np.isfinite(coef).all() and np.isfinite(b).all()):
        raise OnnxExportError(
            f"{name} has weights that are not finite (see its verdict_): there is nothing to export"
        )
    return g.add(g.matmul(X, coef.T), b)


def _both_sides(g: Graph, score: str) -> str:
    """Scores of two classes from one: 0 and s, so that a score of 0 is the first class's."""
    return g.concat([g.mul(score, 0.0), score])


@converter("LogisticRegression")
def _logistic(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    scores = linear(g, cells.numbers(), model.rule_.coef, model.rule_.intercept, "LogisticRegression")
    if model.rule_.coef.ndim == 1:
        return Answer(_both_sides(g, scores), g.of_two(scores))
    return Answer(scores, g.softmax(scores))


@converter("LeastSquaresClassifier", "Perceptron", "SubgradientSVC")
def _no_probabilities(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    scores = linear(g, cells.numbers(), model.rule_.coef, model.rule_.intercept, type(model).__name__)
    return Answer(_both_sides(g, scores) if model.rule_.coef.ndim == 1 else scores, None)


@converter("BayesianLogisticRegression")
def _bayesian(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    if model.predictive == "monte_carlo":
        raise OnnxExportError(
            'predictive="monte_carlo" draws random numbers, which a graph cannot: use predictive="probit" '
            'or "plugin"'
        )
    if model.predictive == "plugin":
        return _logistic(g, model, cells)
    X, posterior = cells.numbers(), model._posterior
    mean = linear(g, X, model.rule_.coef, model.rule_.intercept, "BayesianLogisticRegression")
    root, centre = posterior.user_root(), posterior.coordinates.centre
    shifted = g.sub(X, centre[None])

    def variance(part: np.ndarray) -> str:
        """‖(1, x) R‖² of each row, x from the centre of the columns: (n, 1)."""
        weights = part[1:] if posterior.fit_intercept else part
        constant = (part[0] if posterior.fit_intercept else 0.0) + centre @ weights
        return g.sum(g.op("Pow", g.add(g.matmul(shifted, weights), constant[None]), 2.0))

    def kappa(v: str) -> str:
        return g.op("Sqrt", g.add(g.mul(v, np.pi / 8), 1.0))

    if len(model.classes_) == 2:
        score = g.div(mean, kappa(variance(root)))
        return Answer(_both_sides(g, mean), g.of_two(score))
    k = len(model.classes_)
    own = [g.columns(mean, [i]) for i in range(k)]
    apart = {(i, j): kappa(variance(root[i] - root[j])) for i, j in combinations(range(k), 2)}
    logits = []
    for i in range(k):
        terms = [g.div(g.sub(own[j], own[i]), apart[min(i, j), max(i, j)]) for j in range(k) if j != i]
        terms.append(g.mul(own[i], 0.0))
        logits.append(g.neg(g.op("ReduceLogSumExp", g.concat(terms), np.array([1]), keepdims=1)))
    scores = g.concat(logits)
    return Answer(scores, g.softmax(scores))


@converter("GeneralizedLinearModel")
def _glm(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    if hasattr(model, "_table"):
        raise OnnxExportError(
            "a formula is code that is run on every new frame: fit to the columns themselves"
        )
    if model.family_.name != "binomial":
        raise OnnxExportError(f"a {model.family_.name} model has a mean and no classes")
    eta = linear(g, cells.numbers(), model.rule_.coef, model.rule_.intercept, "GeneralizedLinearModel")
    link = type(model.link_).__name__
    if link == "Logit":
        found = g.of_two(eta)
    elif link == "CLogLog":
        never = g.exp(g.neg(g.exp(eta)))
        found = g.concat([never, g.sub(1.0, never)])
    else:
        mu = mean_of(g, link, eta)
        found = g.concat([g.sub(1.0, mu), mu])
    return Answer(found, found)


@converter("OrdinalRegression")
def _ordinal(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    coef, thresholds = model._numbers()
    ends = g.sub(thresholds[None], linear(g, cells.numbers(), coef, 0.0, "OrdinalRegression"))
    below = mean_of(g, {"logit": "Logit", "probit": "Probit", "cloglog": "CLogLog"}[model.link], ends)
    none, all_ = (g.constant_rows(below, np.array([value])) for value in (0.0, 1.0))
    found = g.sub(g.concat([below, all_]), g.concat([none, below]))
    return Answer(found, found)


def mean_of(g: Graph, link: str, eta: str) -> str:
    """g⁻¹(η) of a link by name."""
    match link:
        case "Identity":
            return g.op("Identity", eta)
        case "Log":
            return g.exp(eta)
        case "Logit":
            return g.op("Sigmoid", eta)
        case "Probit":  # there is no Erf of float64 in onnxruntime: seven digits
            single = g.op("Cast", g.mul(eta, np.sqrt(0.5)), to=1)
            return g.mul(g.add(g.double(g.op("Erf", single)), 1.0), 0.5)
        case "CLogLog":
            return g.sub(1.0, g.exp(g.neg(g.exp(eta))))
        case "Inverse":
            return g.div(1.0, eta)
        case "Sqrt":
            return g.mul(eta, eta)
        case "InverseSquared":
            return g.div(1.0, g.op("Sqrt", eta))
    raise OnnxExportError(f"link {link} has no form in ONNX here")


# ---- machines with calibrated scores ----


@converter("LinearSVC")
def _linear_svc(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    scores = linear(g, cells.numbers(), model.rule_.coef, model.rule_.intercept, "LinearSVC")
    two = len(model.classes_) == 2
    if not model._has_probabilities:
        return Answer(_both_sides(g, scores) if model.rule_.coef.ndim == 1 else scores, None)
    if hasattr(model, "dual_coef_") and not two:  # by how much a class leads the others
        k = len(model.classes_)
        own = [g.columns(scores, [i]) for i in range(k)]
        rest = [g.columns(scores, [j for j in range(k) if j != i]) for i in range(k)]
        leads = [g.sub(a, g.op("ReduceMax", b, np.array([1]), keepdims=1)) for a, b in zip(own, rest)]
        scores = g.concat(leads)
    found = calibrated(g, model, scores)
    return Answer(found, found)


@converter("SVC", "NuSVC")
def _svc(g: Graph, model: BaseEstimator, cells: Cells) -> Answer:
    scores = g.add(kernel_sums(g, model, cells.numbers()), model.intercept_[None])
    k = len(model.classes_)
    if model._has_probabilities:
        found = calibrated(g, model, scores)
        return Answer(found, found)
    if k == 2:
        return Answer(_both_sides(g, scores), None)
    if model._coupled:
        raise OnnxExportError(
            'SVC of more than two classes is exported with calibrate="sigmoid" or "isotonic"'
        )
    return Answer(scores, None)


def kernel_sums(g: Graph, model: BaseEstimator, X: str) -> str:
    """Σ_j β_jm k(x_j, x): (n, machines)."""
    if callable(model.kernel):
        raise OnnxExportError(
            "a kernel of your own is a function, which ONNX cannot hold: use a kernel that has a name"
        )
    if model.kernel == "linear":
        return g.matmul(X, np.asarray(model.coef_).T)
    weights = model._read_back()
    if model.kernel == "precomputed":
        return g.matmul(g.columns(X, model.support_), weights)
    vectors = model.support_vectors_
    vectors = np.asarray(vectors if isinstance(vectors, np.ndarray) else vectors.toarray(), dtype=float)
    gamma, coef0 = float(model._gamma), float(model.coef0)
    if model.kernel == "rbf":
        centre = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1])
        z, v = g.sub(X, centre[None]), vectors - centre
        squares = g.add(g.sum(g.mul(z, z)), np.sum(v * v, axis=1)[None])
        far = g.sub(squares, g.matmul(z, 2.0 * v.T))
        values = g.exp(g.mul(g.op("Max", far, 0.0), -gamma))
    else:
        inner = g.add(g.matmul(X, gamma * vectors.T), coef0)
        values = g.op("Pow", inner, float(model.degree)) if model.kernel == "poly" else g.op("Tanh", inner)
    return g.matmul(values, weights)


def calibrated(g: Graph, model: BaseEstimator, scores: str) -> str:
    """P of the classes from the machines' scores (n, machines): (n, K)."""
    k = len(model.classes_)
    p = [_map(g, m, g.columns(scores, [i])) for i, m in enumerate(model.calibration_)]
    if k == 2:
        return g.concat([g.sub(1.0, p[0]), p[0]])
    if model._coupled:
        return _coupled(g, p, k)
    every = g.concat(p)
    total = g.sum(every)
    some = g.op("Greater", total, 0.0)
    return g.where(some, g.div(every, g.where(some, total, 1.0)), 1.0 / k)


def _map(g: Graph, found: Any, score: str) -> str:
    if isinstance(found, Sigmoid):
        return g.op("Sigmoid", g.add(g.mul(score, found.slope), found.offset))
    if not isinstance(found, Isotonic):
        raise OnnxExportError(f"calibration by {type(found).__name__} has no form in ONNX here")
    t, v = np.asarray(found.thresholds, dtype=float), np.asarray(found.values, dtype=float)
    if len(t) == 1:
        return g.add(g.mul(score, 0.0), float(v[0]))
    inside = g.op("Max", g.op("Min", score, float(t[-1])), float(t[0]))
    at = g.whole(g.sum(g.double(g.op("LessOrEqual", t[None], inside))))
    high = g.op("Min", at, np.array(len(t) - 1, dtype=np.int64))
    low = g.op("Sub", high, np.array(1, dtype=np.int64))
    t0, t1, v0, v1 = (g.op("Gather", a, i) for a, i in ((t, low), (t, high), (v, low), (v, high)))
    width = g.sub(t1, t0)
    step = g.where(g.op("Greater", width, 0.0), width, 1.0)
    return g.add(v0, g.mul(g.div(g.sub(v1, v0), step), g.sub(inside, t0)))


def _coupled(g: Graph, p: list[str], k: int) -> str:
    """min Σ (r_ji p_i − r_ij p_j)², Σ p = 1:  p ∝ (Q + 1 1ᵀ)⁻¹ 1, by elimination of (n, K, K+1)."""
    if k > MOST_CLASSES:
        raise OnnxExportError(f'pairs of {k} classes make too large a graph: use multi_class="ovr"')
    zero = g.mul(p[0], 0.0)
    r: dict[tuple[int, int], str] = {}
    for m, (i, j) in enumerate(combinations(range(k), 2)):
        r[i, j], r[j, i] = p[m], g.sub(1.0, p[m])
    rows = []
    for i in range(k):
        row = []
        for j in range(k):
            if i == j:
                others = [g.mul(r[m, i], r[m, i]) for m in range(k) if m != i]
                row.append(g.add(g.sum(g.concat(others)), 1.0))
            else:
                row.append(g.sub(1.0, g.mul(r[j, i], r[i, j])))
        row.append(g.add(zero, 1.0))
        rows.append(g.op("Unsqueeze", g.concat(row), np.array([1])))
    A = g.concat(rows, axis=1)
    for j in range(k):  # Gauss and Jordan; the matrix is positive definite, so no pivots are sought
        pivot = g.op("Gather", A, np.array([j]), axis=1)
        pivot = g.div(pivot, g.op("Gather", pivot, np.array([j]), axis=2))
        column = g.op("Gather", A, np.array([j]), axis=2)
        unit = np.eye(k)[:, [j]][None]
        A = g.sub(A, g.mul(g.sub(column, unit), pivot))
    found = g.op("Squeeze", g.op("Gather", A, np.array([k]), axis=2), np.array([2]))
    found = g.op("Max", found, 0.0)
    return g.div(found, g.sum(found))
