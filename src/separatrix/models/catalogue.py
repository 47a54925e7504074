"""Every model, once:  the door (``separatrix.X``), model files, ``compare`` and the command line read this list.

    Listed("LogisticRegression", "linear.logistic", "logistic regression", "logistic", …)

A new model is its file and an entry here. A class without a ``name`` can be imported and saved, no more; one with a
name can be fitted by ``separatrix fit``; one that is `Tried` stands in ``compare`` too, and where it has a grid
``fit --tune`` chooses from it. A name is found in any spelling, as is its class (`named`). Rows O4, V1.
``import separatrix`` waits for this module: no model is imported, and annotations are not text to be compiled again.
"""

from importlib import import_module
from typing import Any, NamedTuple

_TREES = {"categorical_features": "from_dtype"}


class Tried(NamedTuple):
    """What ``compare`` does with a model.

    turn : when it is tried where times are not known, the quickest first
    grows : e, the time of a fit grows as n^e
    unsuited : the rule in judge/suitability.py that says where it does not suit; "" where it always does
    grid : settings to choose from, of equals the first; or "made" where judge/candidates.py makes the search
    fixed, final : settings of the search, and of the last fit only
    native : whether the search has the settings for tables too, on a frame
    seeded : whether the search is given the seed
    scoring : what is looked at in choosing; "" as the comparison does
    by_name : whether it is tried only where it is named
    """

    turn: int
    grows: float
    unsuited: str = ""
    grid: tuple[dict[str, Any], ...] | str = ()
    fixed: dict[str, Any] = {}
    final: dict[str, Any] = {}
    native: bool = False
    seeded: bool = False
    scoring: str = ""
    by_name: bool = False


class Listed(NamedTuple):
    """A model.

    cls, home : its class, and the module under separatrix.models
    title : in words
    name : on the command line and in ``compare``
    reads : the columns it wants, "native" (words and missing cells too), "linear" (numbers, standardised, words as 0
        and 1), "dense" (so too, but many levels coded by the target, zeros stored) or "counts" (whole numbers)
    settings : for tables, unless others are given
    parts : setting → name of the model that stands there, with its own settings for tables
    tried : in ``compare``
    task : what it predicts, "classes" or "numbers"
    also : other names that it answers to
    """

    cls: str
    home: str
    title: str
    name: str = ""
    reads: str = ""
    settings: dict[str, Any] = {}
    parts: dict[str, str] = {}
    tried: Tried | None = None
    also: tuple[str, ...] = ()
    task: str = "classes"

    @property
    def module(self) -> str:
        return f"separatrix.models.{self.home}"

    def load(self) -> Any:
        """The class."""
        return getattr(import_module(self.module), self.cls)

    def for_tables(self) -> dict[str, Any]:
        """Its settings for tables, its parts made."""
        made = {key: BY_NAME[part] for key, part in self.parts.items()}
        return {**self.settings, **{key: part.load()(**part.for_tables()) for key, part in made.items()}}


_FOREST = Tried(
    9, 1.1, "words", tuple({"min_samples_leaf": m} for m in (1, 3, 10)),
    {"n_estimators": 50}, {"n_estimators": 200}, native=True, seeded=True,
)  # fmt: skip

# In the order in which ``separatrix fit --help`` names them.
MODELS = (
    Listed("LogisticRegression", "linear.logistic", "logistic regression", "logistic", "linear",
           tried=Tried(7, 1.15, grid="made"), also=("logit",)),
    # its classes have an order, which few targets have: where it is named
    Listed("OrdinalRegression", "linear.ordinal", "proportional odds of ordered classes", "ordinal", "linear",
           tried=Tried(15, 1.15, grid="made", by_name=True),
           also=("polr", "proportional_odds")),
    Listed("BayesianLogisticRegression", "bayes.bayesian", "Bayesian logistic regression", "bayesian_logistic",
           "linear"),
    Listed("LeastSquaresClassifier", "linear.least_squares", "least squares", "least_squares", "linear"),
    Listed("GeneralizedLinearModel", "linear.glm", "generalised linear model", "glm", "linear",
           also=("linear_regression",), task="numbers"),
    Listed("LinearDiscriminantAnalysis", "generative.linear_discriminant", "linear discriminants", "lda", "dense",
           {"solver": "lsqr", "shrinkage": "auto"}, tried=Tried(1, 1.0, "covariance")),
    Listed("QuadraticDiscriminantAnalysis", "generative.quadratic_discriminant", "quadratic discriminants", "qda",
           "dense", {"solver": "eigen", "shrinkage": "auto"}, tried=Tried(2, 1.0, "covariances")),
    Listed("GaussianDiscriminant", "generative.gaussian_discriminant", "discriminants of chosen covariances"),
    Listed("NaiveBayes", "generative.naive_bayes", "naive Bayes", "naive_bayes", "native",
           tried=Tried(3, 1.0, "words", "made"), also=("nb",)),
    Listed("GenerativeClassifier", "generative.any_family", "classes of any family"),
    Listed("GaussianNB", "generative.gaussian_nb", "Gaussian naive Bayes"),
    Listed("CategoricalNB", "generative.categorical_nb", "categorical naive Bayes"),
    Listed("MultinomialNB", "generative.multinomial_nb", "multinomial naive Bayes", "multinomial_nb", "counts",
           tried=Tried(5, 1.0, "counts", tuple({"alpha": a} for a in (1.0, 0.1, 0.01)))),
    Listed("ComplementNB", "generative.complement", "complement naive Bayes", "complement_nb", "counts"),
    Listed("BernoulliNB", "generative.bernoulli_nb", "Bernoulli naive Bayes", "bernoulli_nb", "counts"),
    Listed("Perceptron", "margin.perceptron", "perceptron", "perceptron", "linear"),
    Listed("KernelPerceptron", "margin.kernel_perceptron", "kernel perceptron", "kernel_perceptron", "linear"),
    Listed("LinearSVC", "margin.linear_svc", "linear support vectors", "linear_svc", "linear",
           {"calibrate": "sigmoid"},
           tried=Tried(8, 1.0, "small_class", tuple({"C": C} for C in (0.01, 0.1, 1.0, 10.0)),
                       final={"calibrate": "sigmoid"}, scoring="accuracy")),
    Listed("SVC", "margin.svc", "kernel support vectors", "svc", "linear", {"calibrate": "sigmoid"},
           tried=Tried(12, 2.0, "kernel", "made"), also=("rbf_svc", "svm")),
    Listed("NuSVC", "margin.nu_svc", "kernel support vectors, a share ν of them"),
    Listed("OneClassSVM", "margin.one_class", "support of one class"),
    Listed("SubgradientSVC", "margin.subgradient_svc", "linear support vectors by subgradient steps"),
    Listed("SVR", "margin.svr", "kernel support vectors for numbers", "svr", "linear", task="numbers"),
    Listed("NuSVR", "margin.nu_svr", "kernel support vectors for numbers, a share ν of them"),
    Listed("LinearSVR", "margin.linear_svr", "linear support vectors for numbers", "linear_svr", "linear",
           task="numbers"),
    Listed("DecisionStump", "ensemble.stump", "decision stump", "stump", "native", _TREES),
    Listed("DecisionTreeClassifier", "ensemble.decision_tree", "decision tree", "decision_tree", "native", _TREES),
    Listed("DecisionTreeRegressor", "ensemble.decision_tree", "decision tree for numbers", "decision_tree_regressor",
           "native", _TREES, task="numbers"),
    Listed("AdaBoostClassifier", "ensemble.adaboost", "boosted stumps", "adaboost", "native",
           parts={"estimator": "stump"}, tried=Tried(11, 0.8, "words", "made")),
    # a frame's levels as 0 and 1: a hundred trees would read its words a hundred times
    Listed("BaggingClassifier", "ensemble.bagging", "bagged trees", "bagged_trees", "dense",
           tried=Tried(13, 1.1, "wide", "made")),
    Listed("BaggingRegressor", "ensemble.bagging", "bagged trees for numbers", "bagged_trees_regressor", "dense",
           task="numbers"),
    Listed("ExtraTreesClassifier", "ensemble.extra_trees", "extra trees", "extra_trees", "native", _TREES,
           tried=_FOREST),
    Listed("ExtraTreesRegressor", "ensemble.extra_trees", "extra trees for numbers", "extra_trees_regressor",
           "native", _TREES, task="numbers"),
    Listed("RandomForestClassifier", "ensemble.random_forest", "random forest", "random_forest", "native", _TREES,
           tried=_FOREST._replace(turn=10)),
    Listed("RandomForestRegressor", "ensemble.random_forest", "random forest for numbers", "random_forest_regressor",
           "native", _TREES, task="numbers"),
)  # fmt: skip

BY_NAME = {model.name: model for model in MODELS if model.name and model.task == "classes"}
OF_NUMBERS = {model.name: model for model in MODELS if model.name and model.task == "numbers"}
TUNED = tuple(name for name, model in BY_NAME.items() if model.tried and model.tried.grid)


def plain(text: str) -> str:
    """A name without what spellings differ in.

    >>> plain(" Naive-Bayes "), plain("NaiveBayes"), plain("naive_bayes")
    ('naivebayes', 'naivebayes', 'naivebayes')
    """
    return "".join(filter(str.isalnum, text.lower()))


def named(text: str) -> str:
    """The name of the model that is meant, in any spelling, by its class or another name; else the text as it is.

    >>> named("LogisticRegression"), named("naive-bayes"), named("rbf_svc"), named("logistc")
    ('logistic', 'naive_bayes', 'svc', 'logistc')
    """
    asked = plain(text)
    for name, model in (*BY_NAME.items(), *OF_NUMBERS.items()):
        if asked in map(plain, (name, model.cls, *model.also)):
            return name
    return text
