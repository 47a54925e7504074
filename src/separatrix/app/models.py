"""Models by name for ``separatrix fit``:  the class, the form of columns it wants, settings for tables (row O4).

With --tune settings are chosen from the grid, and on the inner folds, of ``compare`` (judge/candidates.py).
"""

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
    "complement-nb": Named("complement", "ComplementNB", "counts", {}),
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
    "random-forest": Named("random_forest", "RandomForestClassifier", "native", _TREES),
}
TUNED = {  # what compare calls those that it tunes
    "logistic": "logistic",
    "naive-bayes": "naive_bayes",
    "multinomial-nb": "multinomial_nb",
    "linear-svc": "linear_svc",
    "svc": "rbf_svc",
    "adaboost": "adaboost",
    "bagged-trees": "bagged_trees",
    "extra-trees": "extra_trees",
    "random-forest": "random_forest",
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
        stump = import_module("separatrix.models.ensemble.stump").DecisionStump(**_TREES)
        model.set_params(estimator=stump)
    known = model.get_params()
    for key in settings:
        if key not in known:
            raise UsageError(f"{name}: {unknown('setting', key, [k for k in known if '__' not in k])}")
    seeded = {"random_state": seed} if "random_state" in known else {}
    return model.set_params(**{**where.settings, **seeded, **settings})


def check_tuned(name: str) -> None:
    """Refuse to tune a model that has no grid.

    >>> check_tuned("lda")
    Traceback (most recent call last):
        ...
    separatrix.app.errors.UsageError: lda has no settings to choose from: leave --tune out, or tune one of logistic, \
naive-bayes, multinomial-nb, linear-svc, svc, adaboost, bagged-trees, extra-trees, random-forest
    """
    if name not in TUNED:
        raise UsageError(
            f"{name} has no settings to choose from: leave --tune out, or tune one of {', '.join(TUNED)}"
        )


def tuner(name: str, settings: dict[str, Any], table: Any, seed: int) -> Any:
    """The search of ``compare`` for the model's settings on a table; those given are fixed and leave the grid."""
    from separatrix.judge.candidates import CANDIDATES, Facts, read_X

    facts = Facts.of(read_X(table.frame), table.labels, table.kinds)
    search = CANDIDATES[TUNED[name]].make(facts, seed, "log_loss")
    free = search.fixing(settings) if settings else search
    if len(getattr(free, "grid", (0, 0))) < 2:
        fixed = " ".join(f"--set {k}={v}" for k, v in settings.items())
        if len(getattr(search, "grid", (0, 0))) < 2:
            raise UsageError(f"{name} has nothing to choose on this table; leave --tune out")
        raise UsageError(f"{name}: with {fixed} nothing is left to choose; leave it or --tune out")
    return free
