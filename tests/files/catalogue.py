"""Fitted models of every kind: (name, model, X, y), small enough to be fitted in a moment."""

import inspect
import warnings
from functools import cache

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler

import separatrix
from separatrix import (
    SVC,
    SVR,
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    BayesianLogisticRegression,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    DecisionStump,
    DecisionTreeClassifier,
    Discretizer,
    GaussianDiscriminant,
    GaussianNB,
    GeneralizedLinearModel,
    GenerativeClassifier,
    KernelPerceptron,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    NuSVC,
    OneClassSVM,
    OrdinalRegression,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    RadialBasis,
)
from separatrix.core.families import Beta

COUNTS = ("MultinomialNB", "ComplementNB", "CategoricalNB", "BernoulliNB")
REGRESSORS = ("SVR", "LinearSVR", "NuSVR")


class Tables:
    """Rows of several kinds, 60 for training."""

    def __init__(self, seed: int, n: int = 60):
        rng = np.random.default_rng(seed)
        self.X = np.abs(rng.normal(size=(n, 3))) + 0.1
        self.two = np.where(self.X[:, 0] + rng.normal(size=n) * 0.5 > 1, "b", "a")
        self.three = np.digitize(self.X[:, 0] + 0.3 * rng.normal(size=n), [0.6, 1.2])
        self.apart = (self.X[:, 0] > 1).astype(int)
        self.counts = np.floor(2 * self.X)
        self.sparse = sp.csr_matrix(self.counts)
        self.shares = self.X / self.X.sum(axis=1, keepdims=True)
        self.inside = self.X / (self.X.max() + 1)
        self.holes = np.where(rng.random(self.X.shape) < 0.1, np.nan, self.X)
        self.holed_counts = np.where(rng.random(self.X.shape) < 0.1, np.nan, self.counts)
        self.codes = np.column_stack([self.counts[:, 0] * 10, self.X])
        self.kernel = self.X @ self.X.T
        self.posts = [" ".join(rng.choice(["wind", "rain", "sun", "hail"], 5)) for _ in range(n)]
        self.frame = pd.DataFrame(
            {
                "sky": rng.choice(["clear", "grey", "wild", None], n),
                "n": rng.poisson(3, n),
                "x": np.where(rng.random(n) < 0.1, np.nan, self.X[:, 0]),
                "wet": rng.random(n) > 0.5,
            }
        )
        self.full = pd.DataFrame(
            {"sky": rng.choice(["clear", "grey"], n), "n": rng.poisson(3, n), "x": self.X[:, 0]}
        )


def public_estimators() -> list[type]:
    """Every estimator of the library."""
    found = (getattr(separatrix, name) for name in separatrix.__all__)
    return [v for v in found if inspect.isclass(v) and issubclass(v, BaseEstimator)]


def default_case(kind: type, t: Tables) -> tuple:
    """An estimator as it comes, and rows it can read."""
    name = kind.__name__
    model = kind("binomial") if name == "GeneralizedLinearModel" else kind()
    odd = {"TableEncoder": t.full, "TextFeatures": t.posts}
    X = odd.get(name, t.counts if name in COUNTS else t.X)
    return model, X, t.X[:, 0] if name.endswith("Regressor") or name in REGRESSORS else t.two


def variants(t: Tables) -> dict[str, tuple]:
    """Models with options that change what is stored, or the graph."""
    steps = make_column_transformer(
        (StandardScaler(), ["n", "x"]), (OneHotEncoder(handle_unknown="ignore"), ["sky"])
    )
    mixed = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["sky"]),
        (MinMaxScaler(clip=True), ["x"]),
        remainder="passthrough",
    )
    imputed = make_pipeline(SimpleImputer(), RobustScaler(), PCA(2, whiten=True), LogisticRegression())
    found = {
        "logistic, no penalty": (LogisticRegression(C=np.inf), t.X, t.two),
        "logistic, no optimum": (LogisticRegression(C=np.inf), t.X, t.apart),
        "logistic, three classes, path": (LogisticRegression(C=np.inf, record_path=True), t.X, t.three),
        "logistic, firth": (LogisticRegression("firth"), t.X, t.apart),
        "logistic, sparse, weights": (LogisticRegression(class_weight={"a": 1.0, "b": 2.0}), t.sparse, t.two),
        "logistic, weights by number": (LogisticRegression(class_weight={0: 1.0, 1: 2.0}), t.X, t.apart),
        "logistic, random state": (
            LogisticRegression(solver="sgd", random_state=np.random.RandomState(0)), t.X, t.two
        ),
        "logistic, boolean labels": (LogisticRegression(), t.X, t.two == "a"),
        "normal, labels in float64": (GaussianNB(), t.X, t.three * 1.0),
        "glm, probit": (GeneralizedLinearModel("binomial", "probit"), t.X, t.two),
        "glm, cloglog": (GeneralizedLinearModel("binomial", "cloglog"), t.X, t.two),
        "glm, poisson": (GeneralizedLinearModel("poisson"), t.X, t.counts[:, 1]),
        "glm, gamma": (GeneralizedLinearModel("gamma"), t.X, t.X[:, 1]),
        "glm, gaussian": (GeneralizedLinearModel("gaussian"), t.X, t.X[:, 1]),
        "ordinal, three classes": (OrdinalRegression(C=np.inf), t.X, t.three),
        "ordinal, no optimum": (OrdinalRegression(C=np.inf), t.X, np.digitize(t.X[:, 0], [0.6, 1.2])),
        "ordinal, probit": (OrdinalRegression("probit"), t.X, t.three),
        "ordinal, cloglog, sparse": (OrdinalRegression("cloglog"), t.sparse, t.three),
        "bayes, three classes": (BayesianLogisticRegression(), t.X, t.three),
        "bayes, ard": (BayesianLogisticRegression(prior_precision="ard"), t.X, t.two),
        "bayes, plugin": (BayesianLogisticRegression(predictive="plugin"), t.X, t.three),
        "lda, three": (LinearDiscriminantAnalysis(), t.X, t.three),
        "qda, three": (QuadraticDiscriminantAnalysis(), t.X, t.three),
        "discriminant, per class": (GaussianDiscriminant("per-class"), t.X, t.three),
        "discriminant, diagonal": (GaussianDiscriminant("diagonal"), t.X, t.three),
        "discriminant, spherical": (GaussianDiscriminant("spherical"), t.X, t.three),
        "discriminant, groups": (GaussianDiscriminant({0: "u", 1: "u", 2: "v"}), t.X, t.three),
        "normal nb, tied, holes": (GaussianNB(tie="class"), t.holes, t.three),
        "normal nb, far apart": (GaussianNB(), t.X + 1e6 * t.three[:, None], t.three),
        "normal nb, far off, holes": (GaussianNB(), t.holes + 1e5, t.three),
        "bernoulli nb, sparse": (BernoulliNB(smoothing=("m", 2.0, "marginal")), t.sparse, t.two),
        "bernoulli nb, unsmoothed": (BernoulliNB(alpha=0.0), t.counts, t.two),
        "multinomial nb, sparse": (MultinomialNB(), t.sparse, t.two),
        "complement nb, normed, sparse": (ComplementNB(norm=True), t.sparse, t.two),
        "complement nb, unsmoothed": (ComplementNB(alpha=0.0), t.counts, t.three),
        "multinomial nb, unsmoothed": (MultinomialNB(alpha=0.0), t.counts, t.three),
        "categorical nb, holes": (CategoricalNB(), t.holed_counts, t.three),
        "nb, frame": (NaiveBayes(), t.frame, t.two),
        "nb, holes": (NaiveBayes(), t.holes, t.three),
        "nb, families": (NaiveBayes(families=["gaussian", "exponential", "gamma"]), t.X, t.two),
        "nb, a family object": (NaiveBayes(families={0: Beta()}), t.inside, t.two),
        "svc, precomputed": (SVC(kernel="precomputed", calibrate="sigmoid"), t.kernel, t.two),
        "nu svc, probability": (NuSVC(nu=0.4, probability=True), t.X, t.two),
        "nu svc, coupled": (NuSVC(nu=0.3, calibrate="sigmoid", class_weight="balanced"), t.X, t.three),
        "one class, sparse": (OneClassSVM(nu=0.2), t.sparse, t.two),
        "svr without slack": (SVR(C=np.inf, gamma=20.0, epsilon=0.2), t.X, t.X[:, 0]),
        "svc, sparse": (SVC(calibrate="sigmoid"), t.sparse, t.two),
        "svc, one against the rest": (SVC(calibrate="isotonic", multi_class="ovr"), t.X, t.three),
        "linear svc, together": (LinearSVC(multi_class="crammer_singer", calibrate="sigmoid"), t.X, t.three),
        "linear svc, three": (LinearSVC(calibrate="sigmoid"), t.X, t.three),
        "linear svc, isotonic": (LinearSVC(calibrate="isotonic"), t.X, t.two),
        "least squares, one-hot": (LeastSquaresClassifier(coding="one-hot"), t.X, t.three),
        "perceptron, separable": (Perceptron(), t.X, t.apart),
        "kernel perceptron": (KernelPerceptron(kernel="rbf"), t.X, t.apart),
        "stump, levels": (DecisionStump(categorical_features="from_dtype"), t.frame, t.two),
        "stump, levels that are numbers": (DecisionStump(categorical_features=[0]), t.codes, t.three),
        "boost, levels": (
            AdaBoostClassifier(DecisionStump(categorical_features="from_dtype"), n_estimators=6), t.frame, t.two
        ),
        "boost, words": (AdaBoostClassifier(n_estimators=6), t.sparse, t.three),
        "boost, holes": (AdaBoostClassifier(n_estimators=6), t.holes, t.three),
        "boost, trees": (AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=4), t.X, t.three),
        "tree, levels": (DecisionTreeClassifier(categorical_features="from_dtype"), t.frame, t.two),
        "tree, levels that are numbers": (DecisionTreeClassifier(categorical_features=[0]), t.codes, t.three),
        "tree, holes": (DecisionTreeClassifier(), t.holes, t.three),
        "bags of lines": (BaggingClassifier(LogisticRegression(), n_estimators=4), t.X, t.three),
        "bags of some columns": (
            BaggingClassifier(LinearDiscriminantAnalysis(), n_estimators=4, max_features=2), t.X, t.three
        ),
        "bags of trees": (BaggingClassifier(n_estimators=4), t.holes, t.three),
        "bags of trees, some columns": (BaggingClassifier(n_estimators=4, max_features=2), t.holes, t.three),
        "bags that vote": (BaggingClassifier(Perceptron(), n_estimators=4), t.X, t.three),
        "bags of glms": (BaggingRegressor(GeneralizedLinearModel(), n_estimators=3), t.X, t.X[:, 0]),
        "pipeline": (make_pipeline(StandardScaler(), LogisticRegression()), t.X, t.two),
        "pipeline, imputed": (imputed, t.holes, t.three),
        "pipeline, words": (make_pipeline(steps, LogisticRegression()), t.full, t.two),
        "pipeline, ordinal": (make_pipeline(mixed, LogisticRegression()), t.full, t.two),
        "pipeline, radial": (make_pipeline(RadialBasis(), LogisticRegression()), t.X, t.two),
        "pipeline, bins": (make_pipeline(Discretizer(), CategoricalNB()), t.holes, t.three),
    }  # fmt: skip
    for kernel in ("linear", "rbf", "poly", "sigmoid"):
        found[f"svc, {kernel}"] = (SVC(kernel=kernel), t.X, t.three)
        for how in ("sigmoid", "isotonic"):
            found[f"svc, {kernel}, {how}"] = (SVC(kernel=kernel, calibrate=how), t.X, t.two)
        found[f"svc, {kernel}, coupled"] = (SVC(kernel=kernel, calibrate="sigmoid"), t.X, t.three)
    rows = {"poisson": t.counts, "multinomial": t.counts + 1, "beta": t.inside, "dirichlet": t.shares,
            "bernoulli": (t.counts > 1) * 1.0}  # fmt: skip
    for family in ("gaussian", "exponential", "gamma", "multivariate_gaussian", *rows):
        found[f"generative, {family}"] = (GenerativeClassifier(family), rows.get(family, t.X), t.two)
    if hasattr(separatrix, "ExtraTreesClassifier"):
        trees = separatrix.ExtraTreesClassifier
        found["extra trees, holes"] = (trees(n_estimators=5), t.holes, t.three)
        levels = trees(n_estimators=5, bootstrap=True, oob_score=True, categorical_features="from_dtype")
        found["extra trees, levels"] = (levels, t.frame, t.two)
        forest = separatrix.RandomForestClassifier
        found["random forest, holes"] = (forest(n_estimators=5, max_leaf_nodes=6), t.holes, t.three)
        levels = forest(n_estimators=5, oob_score=True, categorical_features="from_dtype")
        found["random forest, levels"] = (levels, t.frame, t.two)
        medians = separatrix.RandomForestRegressor(n_estimators=3, criterion="absolute_error")
        found["random forest, medians"] = (medians, t.X, t.X[:, 0])
    return found


@cache
def fitted() -> dict[str, tuple]:
    """name → (fitted model, X): every public estimator as it comes, and the variants."""
    t = Tables(0)
    cases = {kind.__name__: default_case(kind, t) for kind in public_estimators()} | variants(t)
    out = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (model, X, y) in cases.items():
            out[name] = (model.fit(X, y), X)
    return out


@cache
def other_rows() -> dict[str, object]:
    """New rows of the kinds the cases were trained on, by name."""
    here, there = variants(Tables(0)), variants(Tables(1, 40))
    return {name: there[name][1] for name in here}
