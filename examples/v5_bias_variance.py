"""V5. Bias and variance over ensemble size and model complexity, on the same bootstraps all along a curve.

    mean loss on rows left out = bias + variance + noise                                                        [6321]

Boosting takes bias away, bagging takes variance away, depth and weak priors trade one for the other. Bands are 95 %
intervals; without equal rows noise cannot be told apart and is counted in bias.
"""

import numpy as np
from _plot import BLACK, BLUE, GREY, RED, figure, save, say
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    AdaBoostClassifier,
    BaggingRegressor,
    DecisionTreeRegressor,
    LogisticRegression,
    bias_variance_curve,
)

rng = np.random.default_rng(0)
X_ring = rng.normal(size=(300, 10))
y_ring = np.where(np.square(X_ring).sum(axis=1) > 9.34, "far", "near")  # a sphere that halves the points
X_bumps, y_bumps = make_friedman1(200, 10, noise=1.0, random_state=0)
X_sugar, y_sugar = load_diabetes(return_X_y=True)
X_cells, y_cells = load_breast_cancer(return_X_y=True)

cases = [
    ("Boosting takes bias away", "ten columns, two classes, stumps: rounds T", AdaBoostClassifier(), X_ring, y_ring,
     "n_estimators", [1, 3, 10, 30, 100, 200], {"n_bootstraps": 30}),
    ("Bagging takes variance away", "Friedman's function, full trees: trees M",
     BaggingRegressor(DecisionTreeRegressor()), X_bumps, y_bumps,
     "n_estimators", [1, 2, 4, 8, 16, 32, 64], {"n_bootstraps": 25}),
    ("Depth trades bias for variance", "diabetes, 442 patients, one tree: its depth", DecisionTreeRegressor(),
     X_sugar, y_sugar, "max_depth", list(range(1, 13)), {"n_bootstraps": 60}),
    ("A strong prior is bias, a weak one variance", "breast cancer, probabilities: C of logistic regression",
     make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)), X_cells, y_cells,
     "logisticregression__C", np.logspace(-3, 4, 8), {"n_bootstraps": 25, "loss": "squared"}),
]  # fmt: skip

fig, axes = figure(
    2, 2, "What is wrong with a model: bias, variance, or both",
    "Every row is judged by the bootstraps that left it out; error is bias + variance. Bands: 95 %.",
    width=11.5, height=8.6,
)  # fmt: skip
inks = {"error": BLACK, "bias": BLUE, "variance": RED}
for ax, (title, subtitle, model, X, y, name, values, options) in zip(axes.flat, cases, strict=True):
    curve = bias_variance_curve(model, X, y, param_name=name, param_range=values, random_state=0, **options)
    print(f"{title}: {subtitle}\n{curve}\n")
    curve.plot(ax)
    ax.get_legend().remove()
    ax.set(title=f"{title}\n", ylim=(min(0.0, float(curve.part("variance")[:, 1].min())), None))
    ax.text(0, 1.02, subtitle, transform=ax.transAxes, fontsize=9.5, color="#555555")
    ax.set_xlabel({"n_estimators": "T" if "Boost" in title else "M"}.get(name, name.split("__")[-1]))
    span = np.log(values) if ax.get_xscale() == "log" else np.asarray(values, float)
    room = 0.03 * (span[-1] - span[0])
    ends = np.array([span[0] - room, span[-1] + room])
    ax.set_xlim(*(np.exp(ends) if ax.get_xscale() == "log" else ends))
    if name == "n_estimators":
        ax.set_xticks(values, values)
        ax.minorticks_off()
    if curve.best != values[-1]:
        ax.axvline(curve.best, color=GREY, linewidth=0.9, linestyle="--", zorder=0)
        say(ax, curve.best, 0.97, " least error", "#555555", transform=ax.get_xaxis_transform(), va="top")
    # names at the lines' right ends, kept apart
    height = ax.get_ylim()[1] - ax.get_ylim()[0]
    last = -np.inf
    for part in sorted(inks, key=lambda part: curve.part(part)[-1, 0]):
        last = max(curve.part(part)[-1, 0], last + 0.05 * height)
        word = "bias²" if part == "bias" and curve.results[0].loss == "squared" else part
        say(
            ax,
            1.01,
            last,
            word,
            inks[part],
            transform=ax.get_yaxis_transform(),
            va="center",
            fontweight="bold",
        )
save(fig, __file__)
