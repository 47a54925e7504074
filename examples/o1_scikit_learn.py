"""O1. Changing the import is enough: pipelines, grid search, clone, frames with column names.

    from sklearn.linear_model import LogisticRegression      →      from separatrix import LogisticRegression

``study`` below is run twice, once with each class. Look at the picture: the same scores for the same C, the same
chosen C, the same weights. What is added is ``verdict_``: how far each answer can be from the optimum at most.
"""

import time

import numpy as np
import sklearn.linear_model
from _plot import BLUE, GREY, ORANGE, ORANGE_INK, figure, save, say
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import separatrix

try:
    import pandas

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
except ImportError:
    pandas = None
    X, y = load_breast_cancer(return_X_y=True)
    print("pandas is absent: the rows are an array without column names")
C_grid = np.geomspace(1e-3, 1e3, 7)


def study(LogisticRegression):
    """scikit-learn's own machinery around whichever class it is given."""
    pipeline = Pipeline([("scale", StandardScaler()), ("classifier", LogisticRegression(max_iter=1000))])
    if pandas is not None:
        pipeline.set_output(transform="pandas")
    search = GridSearchCV(pipeline, {"classifier__C": C_grid}, scoring="neg_log_loss", cv=5).fit(X, y)
    return search, clone(search.best_estimator_).fit(X, y)["classifier"]


results = {}
for library, cls in (
    ("scikit-learn", sklearn.linear_model.LogisticRegression),
    ("separatrix", separatrix.LogisticRegression),
):
    began = time.perf_counter()
    results[library] = search, model = study(cls)
    print(
        f"{library:13s} chooses C = {search.best_params_['classifier__C']:g}, log loss {-search.best_score_:.5f}, "
        f"{time.perf_counter() - began:.2f} s for {5 * len(C_grid) + 2} fits"
    )
theirs, ours = (model for _, model in results.values())
Z = StandardScaler().fit_transform(np.asarray(X))
strict = sklearn.linear_model.LogisticRegression(C=ours.C, tol=1e-10, max_iter=10_000).fit(Z, y)
print(
    f"weights differ from scikit-learn's by at most {np.abs(theirs.coef_ - ours.coef_).max():.0e}, ", end=""
)
print(f"and by {np.abs(strict.coef_ - ours.coef_).max():.0e} when it is asked for tol=1e-10")
print(f"columns: {', '.join(ours.feature_names_in_[:3]) if pandas else 'unnamed'}, …\n{ours.verdict_}")

fig, (curve, dots) = figure(
    1, 2, "Changing the import is enough: the same pipeline, grid, choice and weights",
    "Breast cancer (569 × 30), standardised. Orange squares: sklearn.linear_model. Blue dots: separatrix.",
    height=5.4, gridspec_kw={"width_ratios": [1, 1.1]},
)  # fmt: skip
styles = {
    "scikit-learn": {"marker": "s", "color": ORANGE, "markersize": 10, "linewidth": 3.5},
    "separatrix": {"marker": "o", "color": BLUE, "markersize": 4.5, "linewidth": 1.2},
}
for library, style in styles.items():
    loss = -results[library][0].cv_results_["mean_test_score"]
    curve.semilogx(C_grid, loss, **style)
say(curve, 1.3, 0.355, "scikit-learn", ORANGE_INK)
say(curve, 1.3, 0.325, "separatrix, on top", BLUE)
curve.axvline(ours.C, color=GREY, linewidth=1, linestyle=":")
say(curve, 1.3, 0.425, f"both choose C = {ours.C:g}", GREY)
curve.set(
    title="GridSearchCV: held-out log loss", xlabel="C", ylabel="log loss, mean of five folds", ylim=(0, None)
)

names = np.asarray(X.columns) if pandas else np.array([f"column {j}" for j in range(X.shape[1])])
order = np.argsort(-np.abs(ours.coef_[0]))[:14][::-1]
for library, style in styles.items():
    dots.plot(results[library][1].coef_[0][order], range(len(order)), **(style | {"linewidth": 0}))
dots.axvline(0, color="#cccccc", linewidth=0.9, zorder=0)
dots.set_yticks(range(len(order)), names[order])
dots.grid(axis="y", color="#eeeeee")
dots.set(title=f"Weights at C = {ours.C:g}, largest fourteen by name", xlabel="weight")
save(fig, __file__)
