"""Models ranked by evidence or BIC:  Pr(model | D) ∝ Pr(model) · Pr(D | model)  ([6867] 4, row B3).

    log Pr(D | model) ≈ log Pr(D | W_MAP) + log Occam factor   ≈   log Pr(D | W_ML) − (D/2) log n = −BIC/2

The Occam factor is what a model pays for the weights it might have had; BIC keeps of it only what grows with n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from separatrix.core.numerics import FloatArray, softmax
from separatrix.data.sources import TableLike
from separatrix.inference.summary import Summary


@dataclass(frozen=True)
class EvidenceComparison:
    """Models in order, best first, with what each one's evidence is made of.

    ``names`` (M,), ``log_evidence``, ``log_likelihood``, ``log_occam_factor``, ``bic``, ``n_parameters`` and
    ``probability`` (M,), and the fitted ``models`` by name.
    """

    names: tuple[str, ...]
    log_evidence: FloatArray
    log_likelihood: FloatArray
    log_occam_factor: FloatArray
    bic: FloatArray
    n_parameters: np.ndarray
    probability: FloatArray
    models: Mapping[str, Any] = field(repr=False)

    @property
    def best(self) -> str:
        """The name of the first."""
        return self.names[0]

    def ranked(self, by: str = "evidence") -> EvidenceComparison:
        """The same models, by "evidence" (the largest first) or by "bic" (the smallest first)."""
        if by not in ("evidence", "bic"):
            raise ValueError(f'by={by!r} is unknown: rank by "evidence" or by "bic"')
        order = np.argsort(-self.log_evidence if by == "evidence" else self.bic, kind="stable")
        columns: dict[str, Any] = {k: v[order] for k, v in vars(self).items() if isinstance(v, np.ndarray)}
        return replace(self, names=tuple(self.names[i] for i in order), **columns)

    def table(self) -> Summary:
        """As a table to print: the best first."""
        columns = {
            "log evidence": self.log_evidence,
            "log likelihood": self.log_likelihood,
            "log Occam factor": self.log_occam_factor,
            "D": self.n_parameters.astype(float),
            "BIC": self.bic,
            "P(model)": self.probability,
        }
        formats = dict.fromkeys(columns, ".2f") | {"D": "count", "P(model)": ".3f"}
        title = "Models by evidence" if np.all(np.diff(self.log_evidence) <= 0) else "Models by BIC"
        return Summary(title, (), self.names, columns, formats=formats)

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row a model."""
        return self.table().to_frame()

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def compare_evidence(
    models: Any,
    X: TableLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    prior: Sequence[float] | None = None,
    by: str = "evidence",
) -> EvidenceComparison:
    """Pr(model | D) ∝ Pr(model) Pr(D | model) of models fitted to the same rows, X (n, p), y (n,)  ([6867] 4).

    Copies of the models are fitted; the ones given stay as they are. Costs one fit each.

    Parameters
    ----------
    models : a list, a dictionary by name, or (name, model) pairs, of ``BayesianLogisticRegression`` or of pipelines
        that end in one: other columns, other priors, other bases of the same rows and labels
    X, y, sample_weight : the rows, as in ``fit``
    names : names of a list of models; default their class, numbered
    prior : Pr(model), in the order given; default all equal
    by : "evidence" or "bic": what the models are ordered by

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> from separatrix import BayesianLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (200, 1))
    >>> y = (X[:, 0] ** 2 + rng.logistic(size=200) > 1.5).astype(int)
    >>> degree = {
    ...     f"degree {d}": make_pipeline(
    ...         PolynomialFeatures(d, include_bias=False), BayesianLogisticRegression()
    ...     )
    ...     for d in (1, 2, 3)
    ... }
    >>> found = compare_evidence(degree, X, y)
    >>> found.best
    'degree 2'
    >>> found.ranked("bic").best
    'degree 2'
    """
    named = _named(models, names)
    weights = _model_prior(prior, len(named))
    fitted: dict[str, Any] = {}
    last: list[Any] = []
    for name, model in named:
        fitted[name] = clone(model)
        last.append(_fit(fitted[name], X, y, sample_weight))
    figures = ("log_evidence", "log_likelihood", "log_occam_factor", "bic", "n_parameters")
    columns = {name: np.array([getattr(m, name + "_") for m in last]) for name in figures}
    probability = softmax(columns["log_evidence"] + weights)
    found = EvidenceComparison(tuple(fitted), **columns, probability=probability, models=fitted)
    return found.ranked(by)


def _named(models: Any, names: Sequence[str] | None) -> list[tuple[str, Any]]:
    """(name, model) pairs of whatever was given."""
    if isinstance(models, Mapping):
        pairs = [(str(name), model) for name, model in models.items()]
    else:
        given = list(models)
        if given and all(isinstance(m, tuple) and len(m) == 2 for m in given):
            pairs = [(str(name), model) for name, model in given]
        else:
            labels = [f"{type(_last(m)).__name__} {i + 1}" for i, m in enumerate(given)]
            pairs = list(zip(labels, given))
    if names is not None:
        if len(names) != len(pairs):
            raise ValueError(f"names has {len(names)} entries for {len(pairs)} models: give one each")
        pairs = [(str(name), model) for name, (_, model) in zip(names, pairs)]
    if not pairs:
        raise ValueError("models is empty: give at least one model to fit")
    seen = [name for name, _ in pairs]
    twice = [name for name in seen if seen.count(name) > 1]
    if twice:
        raise ValueError(f"two models are named {twice[0]!r}: give each a name of its own")
    for name, model in pairs:
        if not hasattr(_last(model), "evidence_table"):
            raise TypeError(
                f"model {name!r} is a {type(_last(model)).__name__}, which has no evidence: give "
                "BayesianLogisticRegression, or a Pipeline that ends in one"
            )
    return pairs


def _last(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _model_prior(prior: Sequence[float] | None, count: int) -> FloatArray:
    """log Pr(model) up to a constant."""
    if prior is None:
        return np.zeros(count)
    weights = np.asarray(prior, dtype=float)
    proper = (
        weights.shape == (count,) and np.isfinite(weights).all() and (weights >= 0).all() and weights.any()
    )
    if not proper:
        raise ValueError(f"prior must be {count} numbers, none negative, one a model; got {prior!r}")
    with np.errstate(divide="ignore"):
        return np.log(weights)


def _fit(model: Any, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Any:
    """Fit, and give back the model at the end."""
    if isinstance(model, Pipeline):
        extra = {} if sample_weight is None else {f"{model.steps[-1][0]}__sample_weight": sample_weight}
        model.fit(X, y, **extra)
    else:
        model.fit(X, y, sample_weight=sample_weight)
    return _last(model)
