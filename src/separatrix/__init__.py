"""Linear classification with a verdict on every fit.

Every public name is importable from here and loaded when first asked for, so that
``import separatrix`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "LogisticRegression": "separatrix.models.logistic",
    "LeastSquaresClassifier": "separatrix.models.least_squares",
    "GeneralizedLinearModel": "separatrix.models.glm",
    "BayesianLogisticRegression": "separatrix.models.bayesian",
    "compare_evidence": "separatrix.models.evidence",
    "anova": "separatrix.models.anova",
    "LinearDiscriminantAnalysis": "separatrix.models.discriminant",
    "QuadraticDiscriminantAnalysis": "separatrix.models.discriminant",
    "GaussianDiscriminant": "separatrix.models.discriminant",
    "NaiveBayes": "separatrix.models.naive_bayes",
    "GenerativeClassifier": "separatrix.models.generative_classifier",
    "Discretizer": "separatrix.data.discretise",
    "GaussianNB": "separatrix.models.naive_bayes",
    "BernoulliNB": "separatrix.models.naive_bayes",
    "MultinomialNB": "separatrix.models.naive_bayes",
    "CategoricalNB": "separatrix.models.naive_bayes",
    "ComplementNB": "separatrix.models.complement",
    "ImpossibleRowsWarning": "separatrix.models.impossible",
    "NoSpreadWarning": "separatrix.models.impossible",
    "DecisionStump": "separatrix.models.stump",
    "AdaBoostClassifier": "separatrix.models.adaboost",
    "LabelNoiseWarning": "separatrix.models.adaboost",
    "Perceptron": "separatrix.models.perceptron",
    "KernelPerceptron": "separatrix.models.kernel_perceptron",
    "linear_separator": "separatrix.solve.separator",
    "SVC": "separatrix.models.svc",
    "svm_path": "separatrix.models.svm_path",
    "SVR": "separatrix.models.svr",
    "NuSVC": "separatrix.models.nu_svc",
    "NuSVR": "separatrix.models.nu_svr",
    "OneClassSVM": "separatrix.models.one_class",
    "LinearSVC": "separatrix.models.linear_svc",
    "LinearSVR": "separatrix.models.linear_svc",
    "SubgradientSVC": "separatrix.models.subgradient_svc",
    "DecisionTreeClassifier": "separatrix.models.decision_tree",
    "DecisionTreeRegressor": "separatrix.models.decision_tree",
    "BaggingClassifier": "separatrix.models.bagging",
    "BaggingRegressor": "separatrix.models.bagging",
    "ExtraTreesClassifier": "separatrix.models.extra_trees",
    "ExtraTreesRegressor": "separatrix.models.extra_trees",
    "RandomForestClassifier": "separatrix.models.random_forest",
    "RandomForestRegressor": "separatrix.models.random_forest",
    "LinearRule": "separatrix.core.linear",
    "RadialBasis": "separatrix.data.basis",
    "SeparationWarning": "separatrix.verdict.verdict",
    "ConvergenceWarning": "separatrix.verdict.verdict",
    "Verdict": "separatrix.verdict.verdict",
    "engine": "separatrix.data.engine",
    "keep_going": "separatrix.data.interrupts",
    "separability": "separatrix.verdict.separability",
    "verify": "separatrix.verdict.verify",
    "read": "separatrix.tables.read",
    "TableError": "separatrix.tables.read",
    "TableEncoder": "separatrix.tables.encode",
    "TextFeatures": "separatrix.tables.text",
    "save": "separatrix.files.store",
    "load": "separatrix.files.store",
    "to_onnx": "separatrix.files.onnx",
    "onnx_inputs": "separatrix.files.onnx_inputs",
    "bias_variance": "separatrix.judge.bias_variance",
    "bias_variance_curve": "separatrix.judge.bias_variance_curve",
    "compare": "separatrix.judge.compare",
    "learning_curve": "separatrix.judge.learning_curve",
}

_ROOMS = ("show",)  # reached as attributes too: separatrix.show.DecisionRegionsDisplay

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"separatrix.{name}")
    if name not in _HOME:
        from separatrix.elsewhere import refusal

        raise refusal(name)
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
