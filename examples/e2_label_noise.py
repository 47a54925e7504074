"""E2. Wrong labels hurt boosting more than bagging: it is on them that the weight gathers.

    "Boosting may have a problem if a lot of the data is mislabeled, because it will focus on those examples a lot"
                                                                                                               [6321]

Odd against even digits with 0 to 30 % of the training labels turned round; the test labels are right. Both ensembles
are of 60 trees of depth six. Left: the test error as labels go wrong. Right: the share of D_t that lies on the
mislabelled rows, against their share of the rows. hard_rows_ names the rows that carry half of the weight: many of
them are mislabelled, which is a way to find them.
"""

import warnings

import numpy as np
from _plot import BLUE, GREY, ORANGE_INK, RED, figure, save, say
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import separatrix
from separatrix import AdaBoostClassifier, LabelNoiseWarning

if hasattr(separatrix, "BaggingClassifier"):
    from separatrix import BaggingClassifier
else:
    from sklearn.ensemble import BaggingClassifier

warnings.simplefilter("ignore", LabelNoiseWarning)  # what it says is printed below
SHARES, TREES = (0.0, 0.05, 0.1, 0.2, 0.3), 60
data = load_digits()
X, X_test, y, y_test = train_test_split(data.data, data.target % 2, test_size=0.4, random_state=0)
tree = DecisionTreeClassifier(max_depth=6, random_state=0)

errors, gathered = {"boosting": [], "bagging": []}, {}
print("mislabelled   boosting   bagging   of the rows with half the weight")
for share in SHARES:
    wrong = np.random.default_rng(1).random(len(y)) < share
    labels = np.where(wrong, 1 - y, y)
    boosted = AdaBoostClassifier(tree, n_estimators=TREES, keep_weights=True, random_state=0).fit(X, labels)
    bagged = BaggingClassifier(tree, n_estimators=TREES, random_state=0).fit(X, labels)
    for name, model in (("boosting", boosted), ("bagging", bagged)):
        errors[name].append(1 - model.score(X_test, y_test))
    gathered[share] = boosted.weights_[:, wrong].sum(axis=1), wrong.mean()
    found = f"{wrong[boosted.hard_rows_].mean():.0%} mislabelled" if share else ""
    print(f"{share:10.0%} {errors['boosting'][-1]:11.3f} {errors['bagging'][-1]:9.3f}   {found}")

print("\nboosting at 30 %:\n" + str(boosted.verdict_))

fig, (left, right) = figure(
    1, 2, "Mislabelled rows draw boosting's weight, and cost it more than bagging",
    f"Odd against even digits, {len(y)} training rows, test labels right. {TREES} trees of depth 6 either way.",
    width=12, height=4.8,
)  # fmt: skip
for name, ink in (("boosting", RED), ("bagging", BLUE)):
    left.plot(100 * np.array(SHARES), errors[name], "o-", color=ink, markersize=5)
    say(left, 30.4, errors[name][-1], name, ink, va="center", fontweight="bold")
left.set(
    xlabel="training labels turned round, %",
    ylabel="test error",
    ylim=(0, None),
    xlim=(-1, 35.5),
    xticks=range(0, 31, 10),
)
left.set_title("Test error as labels go wrong")
for (share, (weight, rows)), ink in zip(list(gathered.items())[1:], (GREY, BLUE, ORANGE_INK, RED)):
    right.plot(np.arange(1, len(weight) + 1), weight, color=ink)
    right.axhline(rows, color=ink, linewidth=0.8, linestyle=":")
    say(right, len(weight) + 1, weight[1:].mean(), f"{share:.0%}", ink, va="center", fontweight="bold")
right.set(
    xlabel="round", ylabel="share of the weight on mislabelled rows", ylim=(0, 0.62), xlim=(1, TREES * 1.09)
)
right.set_title("Where the weight goes (dots: the rows' own share)")
save(fig, __file__)
