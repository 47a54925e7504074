"""Models by name for ``separatrix fit``:  the class, the form of columns it wants, settings for tables (row O4)."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from separatrix.app.errors import UsageError, unknown


class Named(NamedTuple):
    """A model: where it lives, its class, the encoder's form, settings unless others are given."""

    home: str
    name: str
    form: str
    settings: dict[str, Any]


_TREES = {"categorical_features": "from_dtype"}
MODELS = {
    "logistic": Named("logistic", "LogisticRegression", "linear", {}),
    "bayesian-logistic": Named("bayesian", "BayesianLogisticRegression", "linear", {}),
    "least-squares": Named("least_squares", "LeastSquaresClassifier", "linear", {}),
    "lda": Named(
        "discriminant", "LinearDiscriminantAnalysis", "linear", {"solver": "lsqr", "shrinkage": "auto"}
    ),
    "qda": Named(
        "discriminant", "QuadraticDiscriminantAnalysis", "linear", {"solver": "eigen", "shrinkage": "auto"}
    ),
    "naive-bayes": Named("naive_bayes", "NaiveBayes", "native", {}),
    "multinomial-nb": Named("naive_bayes", "MultinomialNB", "counts", {}),
    "bernoulli-nb": Named("naive_bayes", "BernoulliNB", "counts", {}),
    "perceptron": Named("perceptron", "Perceptron", "linear", {}),
    "kernel-perceptron": Named("kernel_perceptron", "KernelPerceptron", "linear", {}),
    "linear-svc": Named("linear_svc", "LinearSVC", "linear", {"calibrate": "sigmoid"}),
    "svc": Named("svc", "SVC", "linear", {"calibrate": "sigmoid"}),
    "stump": Named("stump", "DecisionStump", "native", _TREES),
    "decision-tree": Named("decision_tree", "DecisionTreeClassifier", "native", _TREES),
    "adaboost": Named("adaboost", "AdaBoostClassifier", "native", {}),
    "bagged-trees": Named("bagging", "BaggingClassifier", "linear", {}),
    "extra-trees": Named("extra_trees", "ExtraTreesClassifier", "native", _TREES),
}
ALIASES = {"rbf-svc": "svc", "svm": "svc", "logit": "logistic", "nb": "naive-bayes"}


def named(text: str) -> str:
    """The model's name, from it or its class, in any spelling.

    >>> named("LogisticRegression"), named("naive_bayes"), named("rbf_svc")
    ('logistic', 'naive-bayes', 'svc')
    """
    name = text.strip().replace("_", "-").lower()
    classes = {m.name.lower(): key for key, m in MODELS.items()}
    found = ALIASES.get(name) or classes.get(name.replace("-", "")) or name
    if found not in MODELS:
        raise UsageError(unknown("model", text, list(MODELS)))
    return found


def made(name: str, settings: dict[str, Any], seed: int) -> Any:
    """The model with its settings, not yet fitted; an unknown setting is refused by naming those there are."""
    where = MODELS[name]
    model = getattr(import_module(f"separatrix.models.{where.home}"), where.name)()
    if name == "adaboost":
        stump = import_module("separatrix.models.stump").DecisionStump(**_TREES)
        model.set_params(estimator=stump)
    known = model.get_params()
    for key in settings:
        if key not in known:
            raise UsageError(f"{name}: {unknown('setting', key, [k for k in known if '__' not in k])}")
    seeded = {"random_state": seed} if "random_state" in known else {}
    return model.set_params(**{**where.settings, **seeded, **settings})
