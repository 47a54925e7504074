"""What a model file may hold, by tags that outlive the rooms:  tag ↔ (module, class)  (row O8).

    LogisticRegression, family.gamma, sklearn.StandardScaler, sparse.csr_matrix

A file says only tags; `HOMES` says where the class of a tag lives today. A model's tag is its class, from
models/catalogue.py: who adds one writes here what it holds besides arrays, where that has no line yet. A line of the
tables reads "prefix: Class Class", and the tag is prefix.class, in snake case. A class that gets another name keeps
its tag as "old_name=NewName". Whatever has no tag is refused before anything is imported. No function, method,
partial or pickle is ever here, so that no attribute of a loaded object can be code of the file's choosing.

    format 1    module paths; format_1.txt translates those it used, the rooms of its day: it changes no more
    format 2    tags
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from separatrix.models.catalogue import MODELS

_OWN = {
    "core.families.counts": "family: Bernoulli Categorical Multinomial",
    "core.families.normal": "family: Normal MultivariateNormal",
    "core.families.rates": "family: Poisson Exponential Gamma",
    "core.families.shares": "family: Beta Dirichlet",
    "core.statistics.grouped": "statistic: GroupCounts GroupMoments GroupScatter GroupSums",
    "core.statistics.spans": "statistic: SpanScatter; covariance: rows=SpanCovariance",
    "core.linear": "LinearRule",
    "core.links.powers": "link: Identity Log Inverse Sqrt InverseSquared",
    "core.links.probabilities": "link: Logit Probit CLogLog",
    "core.losses": "loss: Logistic Multinomial Squared Hinge Perceptron SquaredHinge",
    "core.margins": "report: MarginReport TubeReport",
    "core.responses.binomial": "response: Binomial",
    "core.responses.gaussian": "response: Gaussian",
    "core.responses.glm_loss": "response: GlmLoss",
    "core.responses.positive": "response: Poisson Gamma InverseGaussian NegativeBinomial",
    "core.responses.tweedie": "response: Tweedie",
    "data.basis": "RadialBasis",
    "data.columns": "data: Column Encoding",
    "problems.coordinates": "problem: Blind BlindOutside Coordinates",
    "data.discretise": "Discretizer",
    "problems.firth": "problem: FirthObjective whitened=WhitenedTask Correction",
    "problems.objective": "problem: Evaluation Objective",
    "data.observations": "data: Observations",
    "problems.prior": "problem: Prior",
    "data.rows": "data: Rows",
    "growth.stumps": "growth: Stump",
    "growth.trees": "growth: Forest Tree",
    "inference.likelihood": "inference: Likelihood",
    "inference.ordinal": "inference: OrdinalLikelihood",
    "models.ensemble.bags.verdict": "report: BaggingVerdict",
    "models.ensemble.bags.draws": "bags: Draws",
    "models.bayes.laplace": "bayes: Posterior",
    "models.margin.calibration": "calibration: Sigmoid Isotonic",
    "models.generative.complement": "part: ComplementPart",
    "models.generative.facts": "generative: facts=ClassFacts parts=PartFacts",
    "models.generative.span": "covariance: root=SpanRoot folded=FoldedRoot subspace=SubspaceCovariance",
    "models.margin.perceptron_gram": "proof: GramContradiction",
    "models.generative.parts.counted": "part: BagPart BernoulliPart LevelsPart Smoothing",
    "models.generative.parts.measured": "part: NormalPart FamilyPart",
    "models.ensemble.tree_cells": "data: Nominal",
    "models.sets": "pipeline: sets=Pipeline",
    "solve.outcome": "report: Path",
    "solve.perceptron": "report: MistakeBound",
    "solve.separator": "proof: Contradiction Margin",
    "tables.coded_levels": "column: hashed=HashedColumn target=TargetColumn",
    "tables.learned": "column: dates=DateColumn levels=LevelColumn numbers=NumberColumn "
    "sparse=SparseColumn words=WordColumn",
    "tables.encode": "TableEncoder",
    "tables.text": "TextFeatures",
    "verdict.ordered": "proof: OrderedSeparation",
    "verdict.separability": "proof: Separability",
    "verdict.verdict": "report: Verdict",
}

_SKLEARN = {
    "calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration",
    "compose._column_transformer": "ColumnTransformer _RemainderColsList",
    "decomposition._pca": "PCA",
    "decomposition._truncated_svd": "TruncatedSVD",
    "dummy": "DummyClassifier DummyRegressor",
    "feature_extraction.text": "CountVectorizer TfidfTransformer TfidfVectorizer",
    "feature_selection._variance_threshold": "VarianceThreshold",
    "impute._base": "MissingIndicator SimpleImputer",
    "isotonic": "IsotonicRegression",
    "model_selection._classification_threshold": "FixedThresholdClassifier",
    "kernel_approximation": "Nystroem RBFSampler",
    "pipeline": "FeatureUnion Pipeline",
    "preprocessing._data": "MaxAbsScaler MinMaxScaler Normalizer PowerTransformer QuantileTransformer RobustScaler "
    "StandardScaler",
    "preprocessing._discretization": "KBinsDiscretizer",
    "preprocessing._encoders": "OneHotEncoder OrdinalEncoder",
    "preprocessing._function_transformer": "FunctionTransformer",  # stands for "passthrough"; its function cannot be
    "preprocessing._label": "LabelBinarizer LabelEncoder",
    "preprocessing._polynomial": "PolynomialFeatures",
    "preprocessing._target_encoder": "TargetEncoder",
}
_SPARSE = {f"sparse._{kind}": f"{kind}_matrix {kind}_array" for kind in ("csr", "csc", "coo")}
_RANDOM = {"mtrand": "RandomState", "_generator": "Generator"}

Home = tuple[str, str]  # module, class


def _snake(name: str) -> str:
    """The class as a tag spells it.

    >>> _snake("MultivariateNormal"), _snake("CLogLog")
    ('multivariate_normal', 'c_log_log')
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _homes(package: str, table: dict[str, str], given: str = "") -> dict[str, Home]:
    """tag → (module, class) of a table; ``given`` is the prefix of classes that keep their own spelling."""
    found = {}
    for module, text in table.items():
        for part in text.split("; "):
            prefix, _, names = part.rpartition(": ")
            for name in names.split():
                old, _, new = name.rpartition("=")
                tag = f"{prefix}.{old or _snake(new)}" if prefix else f"{given}{old or new}"
                found[tag] = (f"{package}.{module}", new)
    return found


OWN = _homes("separatrix", _OWN) | {model.cls: (model.module, model.cls) for model in MODELS}
SKLEARN = _homes("sklearn", _SKLEARN, "sklearn.")
SPARSE = _homes("scipy", _SPARSE, "sparse.")
RANDOM = _homes("numpy.random", _RANDOM, "random.")
HOMES = {**OWN, **SKLEARN, **SPARSE, **RANDOM}
TAGS = {home: tag for tag, home in HOMES.items()}


@cache
def format_1() -> dict[Home, str]:
    """(module, class) → tag of what files of format 1 hold; read when the first of them is opened."""
    lines = files("separatrix.files").joinpath("format_1.txt").read_text("utf-8").splitlines()
    own = _homes("separatrix", dict(line.split(" = ") for line in lines))
    return {path: tag for tag, path in (own | SKLEARN | SPARSE | RANDOM).items()}


def tagged(tree: Any) -> None:
    """Put tags in the place of the paths of a tree of objects, where a class has one."""

    def tag(node: dict[str, Any]) -> None:
        found = TAGS.get((node.get("__module__", ""), node.get("__class__", "")))
        if found is not None:
            del node["__module__"], node["__class__"]
            node["__tag__"] = found

    _each(tree, tag)


def located(tree: Any, format: int) -> None:
    """Put today's paths in the place of the tags of a tree of objects, or of the paths of format 1.

    What has no place is left for the audit to refuse.
    """

    def locate(node: dict[str, Any]) -> None:
        tag = node.pop("__tag__", None) if format > 1 else format_1().get(_path(node))
        if isinstance(tag, str):
            node["__module__"], node["__class__"] = HOMES.get(tag, ("tag", tag))
        elif _path(node)[0].startswith("separatrix"):
            node["__module__"] = f"path {node['__module__']}"  # a path of another day names nothing here

    _each(tree, locate)


def _path(node: dict[str, Any]) -> Home:
    return str(node.get("__module__", "")), str(node.get("__class__", ""))


def _each(tree: Any, change: Callable[[dict[str, Any]], None]) -> None:
    """Change every node of a tree once; a node stands in several places where an object does."""
    seen, left = set(), [tree]
    while left:
        state = left.pop()
        if not isinstance(state, (dict, list)) or id(state) in seen:
            continue
        seen.add(id(state))
        if isinstance(state, dict):
            if "__loader__" in state:
                change(state)
            left.extend(state.values())
        else:
            left.extend(state)
