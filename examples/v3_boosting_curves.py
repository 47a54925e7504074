"""V3. Boosting over 1,000 rounds: the errors, the bound, and the margins that go on growing.

    training error ≤ ∏ Z_t ≤ exp(−2 Σ (½ − ε_t)²),      margin of (x, y) = y Σ α_t h_t(x) / Σ α_t             [6321]

Odd against even handwritten digits. Left: stumps, whose training error the bound follows down. Middle: trees of depth
three, the notes' "actual typical run": the training error is zero after a few rounds and the test error goes on
falling. Right: why: the share of training rows with at most a given margin, after 5, 100 and 1,000 rounds of trees.
"""

import numpy as np
from _plot import BLUE, GREEN, GREY, ORANGE_INK, RED, figure, save, say
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from separatrix import AdaBoostClassifier

ROUNDS, SHOWN = 1000, (5, 100, 1000)
data = load_digits()
X, X_test, y, y_test = train_test_split(data.data, data.target % 2, test_size=0.4, random_state=0)

fig, (left, middle, right) = figure(
    1, 3, "Zero training error is not the end: the margins go on growing",
    f"Odd against even digits, {len(y)} rows to learn from and {len(y_test)} to try. AdaBoost, 1,000 rounds.",
    width=14, height=4.7,
)  # fmt: skip
rounds = np.arange(1, ROUNDS + 1)
for ax, name, learner in (
    (left, "stumps", None),
    (middle, "trees of depth 3", DecisionTreeClassifier(max_depth=3)),
):
    model = AdaBoostClassifier(learner, n_estimators=ROUNDS, random_state=0).fit(X, y)
    test = 1 - np.array(list(model.staged_score(X_test, y_test)))
    bound = np.cumprod(model.normalizers_)
    second = np.exp(-2 * np.cumsum((0.5 - model.estimator_errors_) ** 2))
    train = model.train_errors_
    assert (train <= bound + 1e-12).all() and (bound <= second + 1e-12).all()
    zero = int(np.flatnonzero(train == 0)[0]) + 1
    print(f"{name}\n  {model.verdict_.findings[0]}; training error zero from round {zero}")
    print("  round      train    test      ∏Z_t   exp(−2Σ(½−ε)²)")
    for t in (1, 5, 10, 20, 100, 1000):
        print(f"  {t:5d}  {train[t - 1]:9.4f} {test[t - 1]:7.4f}  {bound[t - 1]:8.2g}   {second[t - 1]:8.2g}")
    ax.plot(rounds, second, color=GREY, linewidth=1.2, linestyle=":")
    ax.plot(rounds, bound, color=GREY, linewidth=1.4)
    ax.plot(rounds, test, color=RED)
    ax.plot(rounds, train, color=BLUE)
    ax.set(xscale="log", ylim=(-0.006, 0.42), xlim=(1, ROUNDS), xlabel="rounds", ylabel="error")
    ax.set_title(name.capitalize())
    ax.plot([zero], [0], "o", color=BLUE, markersize=6, zorder=5, clip_on=False)
    say(ax, 1.15, 0.012, f"training,\nzero from\nround {zero}", BLUE, va="bottom")
    say(ax, 960, test[-1] + 0.008, f"test {test[-1]:.3f}", RED, ha="right", va="bottom")
    if learner is None:
        say(ax, rounds[bound < 0.3][0] * 0.92, 0.3, "∏Z$_t$", GREY, ha="right", va="center")
        say(ax, rounds[second < 0.3][0] * 1.12, 0.3, "exp(−2Σ(½ − ε$_t$)²)", GREY, va="center")

shown = {t: m for t, m in enumerate(model.staged_margins(X, y), 1) if t in SHOWN}
share = np.arange(1, len(y) + 1) / len(y)
for (t, margins), ink in zip(shown.items(), (ORANGE_INK, GREEN, BLUE)):
    right.step(np.sort(margins), share, color=ink, where="post")
    tenth = np.quantile(margins, 0.1)
    print(
        f"margins after {t:4d} rounds: smallest {margins.min():+.3f}, a tenth of the rows below {tenth:+.3f}"
    )
    x, y_at, side = {5: (0.7, 0.5, "left"), 100: (0.5, 0.66, "left"), 1000: (0.34, 0.5, "right")}[t]
    say(right, x, y_at, f"{t:,} rounds", ink, ha=side, va="top" if t == 5 else "center")
right.axvline(0, color=GREY, linewidth=0.8)
right.set(
    xlim=(-0.5, 1), ylim=(0, 1.01), xlabel="margin", ylabel="share of training rows with at most this margin"
)
right.set_title("Margins under trees")
save(fig, __file__)
