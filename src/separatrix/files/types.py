"""What a model file may hold: classes by name, nothing else (row O8).

    OWN          separatrix's estimators and the plain values they are made of: built by ``__new__`` and attributes
    STATISTICS   facts that merge: built by their constructor, which only seals arrays
    SKLEARN      transformers and wrappers of scikit-learn that hold numbers and words

A name that is not here is refused before anything is imported. No function, method, partial or pickle is ever here,
so that no attribute of a loaded object can be code of the file's choosing.
"""

from __future__ import annotations

_OWN = {
    "core.families": "Normal MultivariateNormal Bernoulli Categorical Multinomial Poisson Exponential Gamma Beta "
    "Dirichlet",
    "core.linear": "LinearRule",
    "core.links": "Identity Log Logit Probit CLogLog Inverse Sqrt InverseSquared",
    "core.losses": "Logistic Multinomial Squared Hinge Perceptron SquaredHinge Exponential EpsilonInsensitive",
    "core.margins": "MarginReport",
    "core.responses": "Gaussian Binomial Poisson Gamma InverseGaussian NegativeBinomial Tweedie GlmLoss",
    "data.basis": "RadialBasis",
    "data.columns": "Column Encoding",
    "data.coordinates": "Blind Coordinates",
    "data.discretise": "Discretizer",
    "data.firth": "FirthObjective Whitened Correction",
    "data.objective": "Evaluation Objective",
    "data.observations": "Observations",
    "data.prior": "Prior",
    "data.rows": "Rows",
    "data.stumps": "Stump",
    "data.trees": "Forest Tree",
    "inference.likelihood": "Likelihood",
    "models.adaboost": "AdaBoostClassifier",
    "models.bag_ensemble": "BaggingVerdict",
    "models.bagging": "BaggingClassifier BaggingRegressor",
    "models.bags": "Draws",
    "models.bayes.laplace": "Posterior",
    "models.bayesian": "BayesianLogisticRegression",
    "models.calibration": "Sigmoid Isotonic",
    "models.complement": "ComplementNB ComplementPart",
    "models.decision_tree": "DecisionTreeClassifier DecisionTreeRegressor",
    "models.discriminant": "GaussianDiscriminant LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "models.extra_trees": "ExtraTreesClassifier ExtraTreesRegressor",
    "models.generative": "Facts Parts",
    "models.generative_classifier": "GenerativeClassifier",
    "models.glm": "GeneralizedLinearModel",
    "models.kernel_perceptron": "KernelPerceptron GramContradiction",
    "models.least_squares": "LeastSquaresClassifier",
    "models.linear_svc": "LinearSVC LinearSVR TubeReport",
    "models.logistic": "LogisticRegression",
    "models.naive_bayes": "BernoulliNB CategoricalNB GaussianNB MultinomialNB NaiveBayes",
    "models.nu_svc": "NuSVC",
    "models.nu_svr": "NuSVR",
    "models.one_class": "OneClassSVM",
    "models.parts": "BagPart BernoulliPart FamilyPart LevelsPart NormalPart Smoothing",
    "models.perceptron": "Perceptron",
    "models.random_forest": "RandomForestClassifier RandomForestRegressor",
    "models.stump": "DecisionStump",
    "models.subgradient_svc": "SubgradientSVC",
    "models.svc": "SVC",
    "models.svr": "SVR",
    "models.tree_model": "Nominal",
    "solve.outcome": "Path",
    "solve.perceptron": "MistakeBound",
    "solve.separator": "Contradiction Margin",
    "tables.columns": "Dates Levels Numbers Sparse Words",
    "tables.encode": "TableEncoder",
    "tables.text": "TextFeatures",
    "verdict.separability": "Separability",
    "verdict.verdict": "Verdict",
}
_STATISTICS = {
    "core.grouped": "GroupCounts GroupMoments GroupScatter GroupSums",
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


def _spelled(package: str, table: dict[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(
        (f"{package}.{module}", name) for module, names in table.items() for name in names.split()
    )


OWN = _spelled("separatrix", _OWN)
STATISTICS = _spelled("separatrix", _STATISTICS)
SKLEARN = _spelled("sklearn", _SKLEARN)
OBJECTS = OWN | SKLEARN

_SIZED = [f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)]
SCALARS = frozenset(("numpy", name) for name in ("bool", "str_", *_SIZED) if name != "float8")
# what turns the text of a key back into the key: a boolean's would not, bool("false") is True
KEYS = (SCALARS - {("numpy", "bool")}) | frozenset(("builtins", name) for name in ("str", "int", "float"))
TYPES = KEYS | SCALARS | frozenset({("builtins", "bool"), ("builtins", "object")})
SPARSE = frozenset(
    (f"scipy.sparse._{kind}", f"{kind}_{form}")
    for kind in ("csr", "csc", "coo")
    for form in ("matrix", "array")
)
BIT_GENERATORS = frozenset({"MT19937", "PCG64", "PCG64DXSM", "SFC64"})
