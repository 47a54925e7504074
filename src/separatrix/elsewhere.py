"""Names of scikit-learn's that are not here, and the way: what an import that cannot be met answers.

    from separatrix import SGDClassifier      ImportError: … stochastic steps are a solver here, not a model: …

One table, name → sentence; read only when a name was not found.
"""

from __future__ import annotations

import sys

_STOCHASTIC = (
    'stochastic steps are a solver here, not a model: LogisticRegression(solver="sgd") for the log loss, Perceptron '
    "for its criterion, SubgradientSVC for the hinge; Perceptron, BayesianLogisticRegression, GaussianNB and its kin "
    "have partial_fit. LogisticRegression() and LinearSVC() reach the optimum itself, with a proof"
)
_BOOSTING = (
    "boosting here is AdaBoostClassifier; ExtraTreesClassifier and BaggingClassifier are the other ensembles"
)
_NEIGHBOURS = "there are no nearest neighbours here: SVC() with its RBF kernel draws surfaces of that kind"
_RIDGE = "LeastSquaresClassifier(alpha=…) is the same least squares with a ridge"
_SEARCHED = (
    "choose C with scikit-learn's GridSearchCV around LogisticRegression, let compare(X, y) tune it, or take "
    'BayesianLogisticRegression("evidence"), which chooses its prior without folds'
)
_REGRESSION = 'GeneralizedLinearModel(family="gaussian") is the linear regression here, alpha= its ridge'
_NO_L1 = (
    "an l1 penalty is not offered: GeneralizedLinearModel(alpha=…) and LogisticRegression(C=…) have a ridge"
)

WAYS = {
    "SGDClassifier": _STOCHASTIC,
    "SGDRegressor": _REGRESSION + "; LinearSVR and SVR have a tube",
    "SGDOneClassSVM": _STOCHASTIC,
    "PassiveAggressiveClassifier": "Perceptron is the model here that learns from mistakes, SubgradientSVC the hinge",
    "RidgeClassifier": _RIDGE,
    "RidgeClassifierCV": _RIDGE + "; choose alpha with scikit-learn's GridSearchCV",
    "LogisticRegressionCV": _SEARCHED,
    "LinearRegression": _REGRESSION,
    "Ridge": _REGRESSION,
    "BayesianRidge": _REGRESSION + "; BayesianLogisticRegression has a posterior, for classes",
    "Lasso": _NO_L1,
    "ElasticNet": _NO_L1,
    "PoissonRegressor": 'GeneralizedLinearModel(family="poisson") is the same model',
    "GammaRegressor": 'GeneralizedLinearModel(family="gamma", link="log") is the same model',
    "TweedieRegressor": 'GeneralizedLinearModel(family="tweedie") is the same model',
    "GradientBoostingClassifier": _BOOSTING,
    "HistGradientBoostingClassifier": _BOOSTING,
    "GradientBoostingRegressor": "ExtraTreesRegressor and BaggingRegressor are the ensembles for numbers here",
    "HistGradientBoostingRegressor": "ExtraTreesRegressor and BaggingRegressor are the ensembles for numbers here",
    "AdaBoostRegressor": "ExtraTreesRegressor and BaggingRegressor are the ensembles for numbers here",
    "XGBClassifier": _BOOSTING,
    "LGBMClassifier": _BOOSTING,
    "KNeighborsClassifier": _NEIGHBOURS,
    "KNeighborsRegressor": _NEIGHBOURS.replace("SVC()", "SVR()"),
    "RadiusNeighborsClassifier": _NEIGHBOURS,
    "NearestCentroid": "LinearDiscriminantAnalysis() draws the surface between class means, in the data's metric",
    "MLPClassifier": "there are no neural networks here: SVC() and ExtraTreesClassifier() bend their surfaces",
    "GaussianProcessClassifier": "BayesianLogisticRegression on RadialBasis columns has a posterior of that kind",
    "VotingClassifier": "scikit-learn's VotingClassifier takes these models as they are",
    "StackingClassifier": "scikit-learn's StackingClassifier takes these models as they are",
    "Pipeline": "scikit-learn's Pipeline and make_pipeline take these models as they are",
    "make_pipeline": "scikit-learn's Pipeline and make_pipeline take these models as they are",
    "GridSearchCV": "scikit-learn's GridSearchCV takes these models as they are; compare(X, y) tunes them too",
    "StandardScaler": "scikit-learn's StandardScaler goes before these models in a pipeline; few of them need it",
    "train_test_split": "scikit-learn's train_test_split serves; compare(X, y) holds rows out by itself",
    "CalibratedClassifierCV": 'SVC(calibrate="sigmoid") and LinearSVC(calibrate="sigmoid") calibrate themselves',
}


def way_out(name: str) -> str:
    """ ": " and what to use in place of a name of scikit-learn's; "" for other names.

    >>> way_out("RidgeClassifier")
    ': LeastSquaresClassifier(alpha=…) is the same least squares with a ridge'
    >>> way_out("Ridgeclasifier")
    ''
    """
    return f": {WAYS[name]}" if name in WAYS else ""


def refusal(name: str) -> ImportError | AttributeError:
    """What to raise where the package is asked for a name it does not have.

    An AttributeError, so that ``hasattr`` answers; but ``from separatrix import …`` would replace its sentence by its
    own, and gets an ImportError where there is a way to name.
    """
    asked = sys._getframe(2)  # of who asked the package
    if name in WAYS and asked.f_globals.get("__name__") == "importlib._bootstrap":
        return ImportError(f"cannot import name {name!r} from 'separatrix'{way_out(name)}")
    return AttributeError(f"module 'separatrix' has no attribute {name!r}{way_out(name)}")
