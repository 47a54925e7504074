"""Linear classification with a verdict on every fit.

Every public name is importable from here and loaded when first asked for, so that
``import separatrix`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "LogisticRegression": "separatrix.models.linear.logistic",
    "LeastSquaresClassifier": "separatrix.models.linear.least_squares",
    "GeneralizedLinearModel": "separatrix.models.linear.glm",
    "BayesianLogisticRegression": "separatrix.models.bayes.bayesian",
    "compare_evidence": "separatrix.models.bayes.evidence",
    "anova": "separatrix.models.linear.anova",
    "LinearDiscriminantAnalysis": "separatrix.models.generative.linear_discriminant",
    "QuadraticDiscriminantAnalysis": "separatrix.models.generative.quadratic_discriminant",
    "GaussianDiscriminant": "separatrix.models.generative.gaussian_discriminant",
    "NaiveBayes": "separatrix.models.generative.naive_bayes",
    "GenerativeClassifier": "separatrix.models.generative.any_family",
    "Discretizer": "separatrix.data.discretise",
    "GaussianNB": "separatrix.models.generative.gaussian_nb",
    "BernoulliNB": "separatrix.models.generative.bernoulli_nb",
    "MultinomialNB": "separatrix.models.generative.multinomial_nb",
    "CategoricalNB": "separatrix.models.generative.categorical_nb",
    "ComplementNB": "separatrix.models.generative.complement",
    "ImpossibleRowsWarning": "separatrix.models.generative.impossible",
    "NoSpreadWarning": "separatrix.models.generative.impossible",
    "DecisionStump": "separatrix.models.ensemble.stump",
    "AdaBoostClassifier": "separatrix.models.ensemble.adaboost",
    "LabelNoiseWarning": "separatrix.models.ensemble.adaboost",
    "Perceptron": "separatrix.models.margin.perceptron",
    "KernelPerceptron": "separatrix.models.margin.kernel_perceptron",
    "linear_separator": "separatrix.solve.separator",
    "SVC": "separatrix.models.margin.svc",
    "svm_path": "separatrix.models.margin.svm_path",
    "SVR": "separatrix.models.margin.svr",
    "NuSVC": "separatrix.models.margin.nu_svc",
    "NuSVR": "separatrix.models.margin.nu_svr",
    "OneClassSVM": "separatrix.models.margin.one_class",
    "LinearSVC": "separatrix.models.margin.linear_svc",
    "LinearSVR": "separatrix.models.margin.linear_svr",
    "SubgradientSVC": "separatrix.models.margin.subgradient_svc",
    "DecisionTreeClassifier": "separatrix.models.ensemble.decision_tree",
    "DecisionTreeRegressor": "separatrix.models.ensemble.decision_tree",
    "BaggingClassifier": "separatrix.models.ensemble.bagging",
    "BaggingRegressor": "separatrix.models.ensemble.bagging",
    "ExtraTreesClassifier": "separatrix.models.ensemble.extra_trees",
    "ExtraTreesRegressor": "separatrix.models.ensemble.extra_trees",
    "RandomForestClassifier": "separatrix.models.ensemble.random_forest",
    "RandomForestRegressor": "separatrix.models.ensemble.random_forest",
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
