"""G13. Decisions: fewest errors by default, least expected cost when errors differ.

    0–1 loss            argmax_k P(k | x)                                                             [6867] 3.1.1
    cost C_kl           argmin_l Σ_k P(k | x) C_kl          saying l when k is true, model.predict(X, cost=C)
    two classes         say 1 where P(1 | x) > C_01 / (C_01 + C_10)     (right answers free)

Tumours from two measurements: missing a malignant one costs ten times as much as a false alarm, so the answer turns
to "malignant" already at a probability of 1/11. The model is not refitted; only the decision moves. The same
argument works for every model with probabilities, here logistic regression. Last: three wines and a costly mix-up.
"""

from itertools import combinations

import numpy as np
from _plot import (
    BLACK,
    BLUE,
    CLASS_INKS,
    ORANGE_INK,
    RED,
    boundary,
    box_of,
    figure,
    frame,
    grid,
    points,
    region,
    save,
    say,
)
from sklearn.datasets import load_breast_cancer, load_wine

from separatrix import GaussianDiscriminant, LogisticRegression, QuadraticDiscriminantAnalysis

data = load_breast_cancer()
X = data.data[:, [list(data.feature_names).index(c) for c in ("mean radius", "mean texture")]]
y = np.where(data.target == 0, "malignant", "benign")
train = np.arange(len(y)) % 2 == 0
cost = np.array([[0, 1], [10, 0]])  # rows: true benign, malignant; columns: said benign, malignant
model = QuadraticDiscriminantAnalysis().fit(X[train], y[train])
print(model.verdict_)
print(f"classes {model.classes_.tolist()}, cost {cost.tolist()}: says malignant where P > 1/11\n")


def bill(said, true):
    """Mean cost, and the two kinds of error."""
    k, l = (np.searchsorted(model.classes_, v) for v in (true, said))
    return cost[k, l].mean(), int(((k == 1) & (l == 0)).sum()), int(((k == 0) & (l == 1)).sum())


print(f"{'the other half of the rows':38s}mean cost   missed   false alarms   expected by the model")
logistic = LogisticRegression().fit(X[train], y[train])
for name, m in (("quadratic discriminant", model), ("logistic regression", logistic)):
    p = m.predict_proba(X[~train])
    for title, price in (("fewest errors", None), ("least cost", cost)):
        said = m.predict(X[~train]) if price is None else m.predict(X[~train], cost=price)
        paid, missed, alarms = bill(said, y[~train])
        column = np.searchsorted(m.classes_, said)
        expected = (p @ cost)[np.arange(len(p)), column].mean()
        print(f"{name + ', ' + title:38s}{paid:9.3f}   {missed:6d}   {alarms:12d}   {expected:12.3f}")
p = model.predict_proba(X[~train])[:, 1]
same = (model.predict(X[~train], cost=cost) == "malignant") == (p > 1 / 11)
print(f"predict(cost=) says malignant exactly where P > 1/11: {bool(same.all())}")

prices = np.geomspace(0.1, 100, 61)
errors = np.array([bill(model.predict(X[~train], cost=[[0, 1], [c, 0]]), y[~train])[1:] for c in prices])

wines = load_wine()
W = wines.data[:, [wines.feature_names.index(c) for c in ("flavanoids", "color_intensity")]]
kind = np.array(["Barolo", "Grignolino", "Barbera"])[wines.target]
three = GaussianDiscriminant("per-class").fit(W, kind)
dear = np.ones((3, 3)) - np.eye(3)
names = three.classes_.tolist()
dear[names.index("Grignolino"), names.index("Barolo")] = 20  # selling a Grignolino as a Barolo
print(f"\nwines {names}, cost {dear.tolist()}")
for title, said in (("fewest errors", three.predict(W)), ("least cost", three.predict(W, cost=dear))):
    false = int(((said == "Barolo") & (kind == "Grignolino")).sum())
    print(f"  {title:14s} {np.mean(said == kind):.3f} right, {false} Grignolini sold as Barolo, ", end="")
    print(f"{(said == 'Barolo').sum()} bottles called Barolo")

fig, (left, middle, right) = figure(
    1, 3, "A dear error moves the boundary, not the model",
    "Colour: P(malignant | x) and, right, the three posteriors. Black: fewest errors. Dashed: least expected cost.",
    width=14, height=5.0, gridspec_kw={"width_ratios": [1.1, 0.85, 1]},
)  # fmt: skip


def moved(ax, model, box, cost):
    """The boundary of the answers of least expected cost."""
    xx, yy, rows = grid(box, 400)
    loss = model.predict_proba(rows) @ cost
    for k, l in combinations(range(loss.shape[1]), 2):  # each line once, so that its dashes stay dashes
        gap = np.ma.array(loss[:, k] - loss[:, l], mask=np.minimum(loss[:, k], loss[:, l]) > loss.min(axis=1))
        style = {"colors": [RED], "linewidths": 2.4, "linestyles": "dashed", "zorder": 4}
        ax.contour(xx, yy, gap.reshape(xx.shape), levels=[0.0], **style)
    frame(ax, box)


box = box_of(X, 0.04)
region(left, model, box, strength=0.55)
boundary(left, model, box, color=BLACK, linewidths=2.2)
moved(left, model, box, cost)
points(left, X[~train], y[~train], size=16)
say(left, 6.5, 9.2, "benign", CLASS_INKS[0], fontweight="bold", fontsize=11)
say(left, 22.5, 12.0, "malignant", CLASS_INKS[1], fontweight="bold", fontsize=11)
left.set(title="A missed tumour costs ten false alarms", xlabel="mean radius", ylabel="mean texture")
middle.semilogx(prices, errors[:, 0], color=ORANGE_INK)
middle.semilogx(prices, errors[:, 1], color=BLUE)
for price in (1, 10):
    middle.axvline(price, color="#bbbbbb", linewidth=1.0, linestyle=":", zorder=1)
say(middle, 0.5, 37, "missed tumours", ORANGE_INK)
say(middle, 20, 92, "false alarms", BLUE, ha="right")
middle.set(title="Errors as the price moves", xlabel="cost of a miss, in false alarms")
middle.set_ylabel(f"of {(~train).sum()} unseen rows")
middle.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
box = box_of(W, 0.08)
region(right, three, box, strength=0.5)
boundary(right, three, box, color=BLACK, linewidths=2.2)
moved(right, three, box, dear)
points(right, W, kind, classes=three.classes_, size=16)
for label, ink, spot in zip(three.classes_, CLASS_INKS, ((0.15, 13.0), (3.9, 10.2), (3.6, 1.4))):
    say(right, *spot, label, ink, fontweight="bold", fontsize=11)
right.set(title="A Grignolino sold as Barolo costs 20", xlabel="flavanoids", ylabel="colour intensity")
save(fig, __file__)
