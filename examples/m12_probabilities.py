"""M12. Probabilities for margins, and never one that contradicts the prediction.

    P(y = 1 | x) = σ(a f(x) + b)  ("sigmoid"),  or a rising step function of f(x)  ("isotonic")   Platt (2000), [6321]

A margin is a distance, not a log odds: read as one it is wrong by as much as the kernel pleases. ``calibrate`` fits
the map to scores of rows held out, in folds that start from the fit of all rows, and `predict` is the argmax of
`predict_proba`. scikit-learn's SVC(probability=True) fits the same kind of map, but predicts by the margin: on some
rows it gives one class the larger probability and predicts the other.
"""

import warnings

import numpy as np
from _plot import BLACK, BLUE, GREEN, GREY, RED, figure, save
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Theirs

from separatrix import SVC

X, y = load_diabetes(return_X_y=True)
X, y = (
    StandardScaler().fit_transform(X),
    (y > np.median(y)).astype(int),
)  # worse than the median a year later?

# Reliability on rows that were not seen: four times five folds, at a low and a high price of slack.
NAMES = ("margin as log odds", "sigmoid", "isotonic")


def said_of_rows_not_seen(C):
    said, truth = {name: [] for name in NAMES}, []
    for train, test in RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0).split(X, y):
        truth.append(y[test])
        plain = SVC(C=C).fit(X[train], y[train])
        said[NAMES[0]].append(expit(plain.decision_function(X[test])))
        for name in NAMES[1:]:
            said[name].append(SVC(C=C, calibrate=name).fit(X[train], y[train]).predict_proba(X[test])[:, 1])
    return {name: np.concatenate(parts) for name, parts in said.items()}, np.concatenate(truth)


print("diabetes, worse than the median or not: probabilities of rows not seen")
prices = {0.1: "too timid", 1000.0: "too sure"}
found = {C: said_of_rows_not_seen(C) for C in prices}
for C, (said, truth) in found.items():
    for name, p in said.items():
        p = np.clip(p, 1e-3, 1 - 1e-3)
        print(f"  C = {C:6g}  {name:19s} log loss {log_loss(truth, p):.3f}   Brier score "
              f"{brier_score_loss(truth, p):.3f}")  # fmt: skip
print(f"              {'one half for all':19s} log loss {np.log(2):.3f}   Brier score 0.250\n")

print(SVC(C=0.1, calibrate="sigmoid").fit(X, y).verdict_, "\n")

# Rows whose prediction is not their most probable class, over three seeds of the folds.
tables = {
    "iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True), "diabetes": (X, y),
    "cancer": load_breast_cancer(return_X_y=True), "digits": load_digits(return_X_y=True),
}  # fmt: skip


def contradictions(model, X):
    return int((model.predict(X) != model.classes_[model.predict_proba(X).argmax(axis=1)]).sum())


theirs, ours = {}, {}
for name, (A, b) in tables.items():
    A = StandardScaler().fit_transform(A)
    A = A + np.random.default_rng(0).normal(0, 1.0, A.shape)  # some noise: near a boundary is where they part
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            other = Theirs(probability=True, random_state=seed).fit(A, b)
        theirs[name] = theirs.get(name, 0) + contradictions(other, A)
        mine = SVC(calibrate="sigmoid", random_state=seed).fit(A, b)
        ours[name] = ours.get(name, 0) + contradictions(mine, A)
    print(f"{name:9s} rows predicted against their own probabilities, of {3 * len(b):,}: scikit-learn {theirs[name]},"
          f" here {ours[name]}")  # fmt: skip

fig, (*plots, right) = figure(
    1, 3, "Margins become probabilities on rows held out, and predictions follow them",
    "Left, middle: share of class 1 among rows given a probability, on rows not seen. Right: rows whose predicted "
    "class is not their most probable one.",
    width=13.5, height=4.9, width_ratios=[1, 1, 1.05],
)  # fmt: skip
edges = np.linspace(0, 1, 11)
for ax, (C, (said, truth)) in zip(plots, found.items()):
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle="--")
    for (name, p), colour, marker in zip(said.items(), (RED, BLUE, GREEN), "^os"):
        bin_of = np.clip(np.digitize(p, edges) - 1, 0, 9)
        counts = np.bincount(bin_of, minlength=10)
        full = counts >= 25
        x, share = (np.bincount(bin_of, v, minlength=10)[full] / counts[full] for v in (p, truth))
        ax.plot(
            x,
            share,
            color=colour,
            marker=marker,
            markersize=6,
            markeredgecolor="white",
            label=name,
            clip_on=False,
        )
    ax.set(xlabel="probability given", xlim=(0, 1), ylim=(0, 1), aspect="equal",
           title=f"C = {C:g}: the margin is {prices[C]}")  # fmt: skip
plots[0].set(ylabel="share that came true")
plots[0].legend(loc="upper left")
place = np.arange(len(tables))
right.barh(place + 0.2, list(theirs.values()), 0.36, color=RED, label="scikit-learn, probability=True")
right.barh(place - 0.2, list(ours.values()), 0.36, color=BLUE, label='here, calibrate="sigmoid"')
for i, name in enumerate(tables):
    right.text(theirs[name], i + 0.2, f" {theirs[name]}", va="center", fontsize=9.5, color=BLACK)
    right.text(
        ours[name], i - 0.2, f" {ours[name]}", va="center", fontsize=9.5, color=BLUE, fontweight="bold"
    )
right.set(yticks=place, yticklabels=list(tables), xlabel="rows, over three seeds of the folds",
          title="predictions against their own probabilities")  # fmt: skip
right.tick_params(axis="y", length=0)
right.legend(loc="lower right")
save(fig, __file__)
