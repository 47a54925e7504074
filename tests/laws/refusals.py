"""A sample of refusals, and what they say:  python -m tests.laws.refusals > tests/laws/refusals.json

The file was written before the rooms were rebuilt; what a user reads when a call is refused may not change unseen.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

import separatrix as s

_rng = np.random.default_rng(0)
X = np.abs(_rng.normal(size=(30, 3))) + 0.1
two = np.where(X[:, 0] > 0.8, "b", "a")
three = np.digitize(X[:, 0], [0.5, 1.0])
z = X @ [1.0, -2.0, 0.5]
holes = np.where(X > 1.5, np.nan, X)
endless = np.where(X > 1.5, np.inf, X)
words = pd.DataFrame({"sky": ["clear", "grey", "wild"] * 10, "x": X[:, 0]})


def _edited(name: str, value: Any) -> Callable[[], Any]:
    def edit() -> None:
        model = s.LogisticRegression().fit(X, two)
        setattr(model, name, value)
        model.predict(X)

    return edit


def _disordered() -> None:
    model = s.OrdinalRegression().fit(X, three)
    model.thresholds_ = model.thresholds_[::-1].round(2)
    model.predict(X)


def _emptied() -> None:
    forest = s.ExtraTreesClassifier(2).fit(X, two)
    forest.estimators_ = []
    forest.predict(X)


CASES: dict[str, Callable[[], Any]] = {
    # what is not a table
    "X of one dimension": lambda: s.LogisticRegression().fit(X[:, 0], two),
    "X with NaN": lambda: s.LogisticRegression().fit(holes, two),
    "X with infinity": lambda: s.LinearSVC().fit(endless, two),
    "X of words": lambda: s.LogisticRegression().fit(words, two),
    "X of words, svc": lambda: s.SVC().fit(words, two),
    "X of words, naive bayes": lambda: s.GaussianNB().fit(words, two),
    "X of dates, naive bayes": lambda: s.GaussianNB().fit(np.full((30, 2), np.datetime64("2024-02-28")), two),
    "X and y of different lengths": lambda: s.GaussianNB().fit(X, two[:-1]),
    "no rows": lambda: s.LogisticRegression().fit(X[:0], two[:0]),
    "one class": lambda: s.LogisticRegression().fit(X, np.zeros(30)),
    "one class, svc": lambda: s.SVC().fit(X, np.zeros(30)),
    "y of NaN": lambda: s.GeneralizedLinearModel().fit(X, np.full(30, np.nan)),
    "y continuous": lambda: s.LogisticRegression().fit(X, z + 0.5),
    "weights negative": lambda: s.LogisticRegression().fit(X, two, -np.ones(30)),
    "weights all zero": lambda: s.LogisticRegression().fit(X, two, np.zeros(30)),
    "weights of another length": lambda: s.LogisticRegression().fit(X, two, np.ones(3)),
    "weights NaN": lambda: s.LinearSVC().fit(X, two, np.full(30, np.nan)),
    "fewer columns": lambda: s.LogisticRegression().fit(X, two).predict(X[:, :2]),
    "other names": lambda: (
        s.LogisticRegression().fit(words[["x"]], two).predict(words[["x"]].rename(columns={"x": "y"}))
    ),
    "not fitted": lambda: s.LogisticRegression().predict(X),
    "sparse rows, gaussian": lambda: s.GaussianNB().fit(sp.csr_matrix(X), two),
    "sparse rows, lda": lambda: s.LinearDiscriminantAnalysis().fit(sp.csr_matrix(X), two),
    "sparse rows, stump of levels": lambda: s.DecisionStump(categorical_features=[0]).fit(
        sp.csr_matrix(X), two
    ),
    # what is not a parameter
    "C negative": lambda: s.LogisticRegression(C=-1).fit(X, two),
    "C a word": lambda: s.LogisticRegression(C="big").fit(X, two),
    "tol zero": lambda: s.LogisticRegression(tol=0).fit(X, two),
    "max_iter a fraction": lambda: s.LogisticRegression(max_iter=1.5).fit(X, two),
    "penalty l1": lambda: s.LogisticRegression(penalty="l1").fit(X, two),
    "dual": lambda: s.LogisticRegression(dual=True).fit(X, two),
    "l1_ratio": lambda: s.LogisticRegression(l1_ratio=0.5).fit(X, two),
    "solver unknown": lambda: s.LogisticRegression(solver="simplex").fit(X, two),
    "solver liblinear of three": lambda: s.LogisticRegression(solver="liblinear").fit(X, three),
    "solver options without a solver": lambda: s.LogisticRegression(solver_options={"eta": 1}).fit(X, two),
    "solver option unknown": lambda: s.LogisticRegression(solver="gradient", solver_options={"speed": 1}).fit(
        X, two
    ),
    "class weights of no class": lambda: s.LogisticRegression(class_weight={"c": 2.0}).fit(X, two),
    "class weights a word": lambda: s.LogisticRegression(class_weight="even").fit(X, two),
    "svc C": lambda: s.SVC(C=0).fit(X, two),
    "svc kernel": lambda: s.SVC(kernel="cubic").fit(X, two),
    "svc gamma": lambda: s.SVC(gamma=-1.0).fit(X, two),
    "svc precomputed": lambda: s.SVC(kernel="precomputed").fit(X, two),
    "svc probabilities": lambda: s.SVC().fit(X, two).predict_proba(X),
    "svc probability and calibrate": lambda: s.SVC(probability=True, calibrate="isotonic").fit(X, two),
    "nu too large": lambda: s.NuSVC(nu=1.2).fit(X, two),
    "nu infeasible": lambda: s.NuSVC(nu=0.99).fit(X, np.arange(30) < 3),
    "one class nu": lambda: s.OneClassSVM(nu=0).fit(X),
    "svr epsilon": lambda: s.SVR(epsilon=-1).fit(X, z),
    "linear svc dual and solver": lambda: s.LinearSVC(dual=True, solver="newton").fit(X, two),
    "linear svc loss": lambda: s.LinearSVC(loss="log").fit(X, two),
    "linear svc newton of a hinge": lambda: s.LinearSVC(loss="hinge", solver="newton").fit(X, two),
    "linear svr hard": lambda: s.LinearSVR(C=np.inf, solver="qp").fit(X, z),
    "perceptron eta": lambda: s.Perceptron(eta0=0).fit(X, two),
    "perceptron penalty": lambda: s.Perceptron(penalty="l2").fit(X, two),
    "kernel perceptron": lambda: s.KernelPerceptron(kernel="cubic").fit(X, two),
    "subgradient, three classes": lambda: s.SubgradientSVC().fit(X, three),
    "family unknown": lambda: s.GeneralizedLinearModel("cauchy").fit(X, z),
    "link unknown": lambda: s.GeneralizedLinearModel("poisson", "cube").fit(X, np.abs(z)),
    "poisson below zero": lambda: s.GeneralizedLinearModel("poisson").fit(X, z),
    "gamma zero": lambda: s.GeneralizedLinearModel("gamma").fit(X, np.zeros(30)),
    "binomial of numbers": lambda: s.GeneralizedLinearModel("binomial").fit(X, z),
    "offset of another length": lambda: s.GeneralizedLinearModel("poisson").fit(X, np.abs(z), offset=[1.0]),
    "errors of a penalised fit": lambda: s.LogisticRegression().fit(X, two).summary(),
    "ordered classes without one": lambda: s.OrdinalRegression(categories=[0, 1]).fit(X, three),
    "ordered classes, one twice": lambda: s.OrdinalRegression(categories=[0, 1, 2, 1]).fit(X, three),
    "ordered classes, link": lambda: s.OrdinalRegression("cauchit").fit(X, three),
    "ordered classes, thresholds out of order": _disordered,
    "errors of penalised ordered classes": lambda: s.OrdinalRegression().fit(X, three).summary(),
    "prior precision": lambda: s.BayesianLogisticRegression(prior_precision=-1).fit(X, two),
    "prior mean": lambda: s.BayesianLogisticRegression(prior_mean=[1.0]).fit(X, two),
    "least squares coding": lambda: s.LeastSquaresClassifier(coding="binary").fit(X, two),
    "priors that do not sum": lambda: s.GaussianNB(priors=[0.5, 0.6]).fit(X, two),
    "priors of another number": lambda: s.GaussianNB(priors=[1.0]).fit(X, two),
    "tie": lambda: s.GaussianNB(tie="all").fit(X, two),
    "var_smoothing": lambda: s.GaussianNB(var_smoothing=-1).fit(X, two),
    "negative counts": lambda: s.MultinomialNB().fit(-X, two),
    "alpha": lambda: s.MultinomialNB(alpha=-1).fit(X, two),
    "levels that are fractions": lambda: s.CategoricalNB().fit(X, two),
    "naive bayes family": lambda: s.NaiveBayes(families=["cauchy"] * 3).fit(X, two),
    "naive bayes families of another number": lambda: s.NaiveBayes(families=["gaussian"]).fit(X, two),
    "generative family": lambda: s.GenerativeClassifier("beta").fit(X + 1, two),
    "shrinkage": lambda: s.LinearDiscriminantAnalysis(solver="eigen", shrinkage=2.0).fit(X, two),
    "discriminant covariance": lambda: s.GaussianDiscriminant("round").fit(X, two),
    "discretizer": lambda: s.Discretizer("width", bins=0).fit(X, two),
    "stump criterion": lambda: s.DecisionStump(criterion="luck").fit(X, two),
    "tree depth": lambda: s.DecisionTreeClassifier(max_depth=0).fit(X, two),
    "tree criterion": lambda: s.DecisionTreeClassifier(criterion="luck").fit(X, two),
    "tree pruning": lambda: s.DecisionTreeClassifier(ccp_alpha=0.1).fit(X, two),
    "forest size": lambda: s.ExtraTreesClassifier(0).fit(X, two),
    "forest features": lambda: s.RandomForestClassifier(max_features=0).fit(X, two),
    "forest out of bag": lambda: s.ExtraTreesClassifier(3, oob_score=True).fit(X, two),
    "boosting rounds": lambda: s.AdaBoostClassifier(n_estimators=0).fit(X, two),
    "boosting rate": lambda: s.AdaBoostClassifier(learning_rate=0).fit(X, two),
    "bags of a class": lambda: s.BaggingClassifier(s.LogisticRegression).fit(X, two),
    "bags too large": lambda: s.BaggingClassifier(max_samples=2.0).fit(X, two),
    # edits
    "coef_ of another shape": _edited("coef_", np.ones((2, 3))),
    "report assigned": lambda: setattr(s.MultinomialNB().fit(X, two), "coef_", 1),
    "rule assigned": lambda: setattr(s.LogisticRegression().fit(X, two), "rule_", 1),
    "forest emptied": lambda: (
        m := s.ExtraTreesClassifier(2).fit(X, two),
        setattr(m, "estimators_", []),
        m.predict(X),
    ),
    # functions
    "set_params": lambda: s.SVC().set_params(C=2, no_such=1),
    "verify of a tree": lambda: s.verify(s.DecisionTreeClassifier().fit(X, two), X, two),
    "verify not fitted": lambda: s.verify(s.LogisticRegression(), X, two),
    "costs of another shape": lambda: s.LogisticRegression().fit(X, two).predict(X, cost=[[0, 1]]),
    "engine": lambda: s.engine("cloud").__enter__(),
    "engine workers": lambda: s.engine("threads", workers=0).__enter__(),
    "anova of two rooms": lambda: s.anova(
        s.LogisticRegression().fit(X, two), s.LogisticRegression().fit(X, two)
    ),
    "load of nothing": lambda: s.load("/no/such/file.sepx"),
    "read of nothing": lambda: s.read("/no/such/file.csv"),
    "bias_variance": lambda: s.bias_variance(s.LogisticRegression(), X, two, loss="cubic"),
    "learning_curve": lambda: s.learning_curve([s.LogisticRegression()], X, two, sizes=[0]),
    "not here": lambda: s.RidgeClassifier,
    "nowhere": lambda: s.NoSuchName,
}


def said(case: Callable[[], Any]) -> str:
    """The kind of the refusal and its text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return "accepted"


def main() -> None:
    print(json.dumps({name: said(case) for name, case in CASES.items()}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
