"""E3. Bagging helps learners that change with their rows, and does little for those that do not.

    h(x) = vote of h_1 … h_B,  h_b fitted to a bootstrap replicate of the rows                          [6321]

"The main benefit is for unstable learners": a full tree fitted to other rows is another tree, and a vote of fifty
averages that away. A linear discriminant hardly moves, so there is little to average. Errors on rows held out, the
mean over training sets and its 95 % interval: Breiman's waveform (100 training sets of 300 rows, as in his paper of
1996: 29.1 % for a tree, 19.3 % bagged), and two tables of scikit-learn's, a third of the rows held out.
"""

import numpy as np
from _plot import BLACK, BLUE, GREY, RED, figure, save
from _waveform import waveform
from scipy.stats import t
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split

from separatrix import (
    BaggingClassifier,
    DecisionTreeClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
)

BAGS = 50
LEARNERS = {
    "full tree": DecisionTreeClassifier(),
    "stump": DecisionTreeClassifier(max_depth=1),
    "logistic regression": LogisticRegression(),
    "linear discriminant": LinearDiscriminantAnalysis(),
}


def waves(r):
    rng = np.random.default_rng(r)
    return *waveform(300, rng), *waveform(1500, rng)


def parted(load):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)

    def split(r):
        train, test, a, b = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=r)
        return train, a, test, b

    return split


TABLES = {
    "Breiman's waveform": (waves, 100, 20),
    "breast cancer": (parted(load_breast_cancer), 12, 12),
    "wine": (parted(load_wine), 12, 12),
}


def errors(draw, learner, sets):
    """Test errors (sets, 2): of the learner, and of its bags."""
    out = []
    for r in range(sets):
        X, y, Z, z = draw(r)
        bagged = BaggingClassifier(learner, BAGS, random_state=r).fit(X, y)
        out.append([1 - learner.fit(X, y).score(Z, z), 1 - bagged.score(Z, z)])
    return 100 * np.array(out)


def mean_and_half(values):
    """The mean and half its 95 % interval (Student's)."""
    n = len(values)
    return values.mean(), t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)


def difference(e):
    return mean_and_half(e[:, 0] - e[:, 1])


found = {}
for table, (draw, trees, others) in TABLES.items():
    print(f"{table}: error in %, alone → in {BAGS} bags (difference with its 95 % interval)")
    for name, learner in LEARNERS.items():
        e = errors(draw, learner, trees if name == "full tree" else others)
        gain, half = difference(e)
        found[table, name] = e
        print(
            f"  {name:20s} {e[:, 0].mean():5.1f} → {e[:, 1].mean():5.1f}   ({gain:+.1f} ± {half:.1f},"
            f" {len(e)} training sets)"
        )

X, y, _, _ = waves(0)
model = BaggingClassifier(n_estimators=BAGS, oob_score=True, random_state=0).fit(X, y)
print(f"\n{model.verdict_}")

fig, axes = figure(
    1, 3, "Bagging helps unstable learners much, stable ones little or not at all",
    f"Error on rows held out: of the learner alone (open) and of a vote of {BAGS} bags (full). Bars: 95 % interval "
    "of the mean over training sets.\nBlue: a difference clear of zero. A tree depends on its rows; a linear rule "
    "hardly does, and has little to average away.",
    width=12.5, height=4.6, sharey=True,
)  # fmt: skip
for ax, table in zip(axes, TABLES):
    for place, name in enumerate(LEARNERS):
        e = found[table, name]
        gain, sure = difference(e)[0], difference(e)[0] > difference(e)[1]
        colour = BLUE if sure else GREY
        right = 0.0
        for k, at in ((0, place - 0.14), (1, place + 0.14)):
            mean, half = mean_and_half(e[:, k])
            right = max(right, mean + half)
            ax.errorbar(
                mean, at, xerr=half, fmt="o", color=colour, ms=7, capsize=3, lw=1.3,
                mfc=colour if k else "white", zorder=3,
            )  # fmt: skip
        said = f"{-gain:+.1f} points".replace("-", "−") if sure else "no clear gain"
        widest = max(found[table, other].mean(axis=0).max() for other in LEARNERS)
        ax.text(right + 0.03 * widest, place, said, fontsize=9, color=colour, va="center")
    ax.set(title=table, xlabel="error on rows held out, %", ylim=(len(LEARNERS) - 0.5, -0.5))
    ax.set_xlim(0, 1.46 * widest)
    ax.grid(axis="x", color="#e5e5e5", lw=0.7)
    ax.set_axisbelow(True)
axes[0].set_yticks(range(len(LEARNERS)), list(LEARNERS), color=BLACK)
axes[0].axvline(14, color=RED, lw=1, ls=":")
axes[0].text(13.2, 1.5, "best possible", color=RED, fontsize=8.5, ha="right", va="center", rotation=90)
save(fig, __file__)
