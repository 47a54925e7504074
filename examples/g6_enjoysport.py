"""G6. The EnjoySport table of the notes, as it stands: words in, probabilities out.

    P(x_i = l | y) = (n_il + 1) / (n_y + k_i),    k_i levels of attribute i                [726] "Laplace smoothing"
    a level never seen in training: 1 / (n_y + k_i), what a level seen no times would have

Four days, six attributes, the two answers. Every probability below is checked against the formula by counting.
Then four new days: one of the table, one not in it, one with a level nobody has seen (snow; a weak wind), and one
where the forecast was not read. An unseen level is legal: it has a probability in every class, and says little.
"""

from fractions import Fraction

import numpy as np
from _plot import BLACK, BLUE, ORANGE, ORANGE_INK, figure, save, say

from separatrix import NaiveBayes

NOTES = """
Sky    Temp  Humid   Wind    Water  Forecast  EnjoySport
Sunny  Warm  Normal  Strong  Warm   Same      Yes
Sunny  Warm  High    Strong  Warm   Same      Yes
Rainy  Cold  High    Strong  Warm   Change    No
Sunny  Warm  High    Strong  Cool   Change    Yes
"""
names, *lines = [line.split() for line in NOTES.strip().splitlines()]
names, y = names[:-1], [line[-1] for line in lines]
rows = [line[:-1] for line in lines]


def table(rows):
    """Rows with the columns' names where pandas is there; plain lists of words do as well."""
    try:
        import pandas as pd

        return pd.DataFrame(rows, columns=names, dtype=object)
    except ImportError:
        return rows


model = NaiveBayes().fit(table(rows), y)
print(NOTES)
print(model.verdict_)

print(f"\nP(EnjoySport): {dict(zip(model.classes_.tolist(), model.class_prior_.tolist()))}")
print(f"{'':10s}{'level':10s}P(level | No)   P(level | Yes)")
worst = 0.0
for j, name in enumerate(names):
    for i, level in enumerate(model.levels_[j]):
        counted = []
        for answer in model.classes_:
            n = sum(label == answer for label in y)
            n_level = sum(label == answer and row[j] == level for row, label in zip(rows, y))
            counted.append(Fraction(n_level + 1, n + len(model.levels_[j])))
        fitted = model.parameters_[j]["probabilities"][:, i]
        worst = max(worst, *(abs(float(c) - f) for c, f in zip(counted, fitted)))
        print(f"{name if i == 0 else '':10s}{level:10s}{counted[0]!s:>8s}        {counted[1]!s:>8s}")
print(f"largest difference of the model from these fractions: {worst:.0e}")

new = {
    "a day of the table": ["Sunny", "Warm", "High", "Strong", "Warm", "Same"],
    "not in the table": ["Rainy", "Warm", "High", "Strong", "Cool", "Change"],
    "snow, a weak wind": ["Snowy", "Cold", "High", "Weak", "Warm", "Change"],
    "forecast not read": ["Rainy", "Warm", "High", "Strong", "Cool", None],
}
ask = table(list(new.values()))
proba, said = model.predict_proba(ask), model.predict(ask)
print(f"\n{'':20s}P(No)   P(Yes)   says")
for name, p, answer in zip(new, proba, said):
    print(f"{name:20s}{p[0]:.3f}   {p[1]:.3f}    {answer}")

# What each cell of a day adds to log P(Yes)/P(No): the columns add up, because they are taken as independent.
parts = np.zeros((len(new), 1 + len(names)))
parts[:, 0] = np.log(model.class_prior_[1] / model.class_prior_[0])
for i, day in enumerate(new.values()):
    for j, word in enumerate(day):
        alone = [None] * len(names)
        alone[j] = word
        with_it = model.predict_log_proba(table([alone]))[0]
        parts[i, j + 1] = with_it[1] - with_it[0] - parts[i, 0]
odds = np.log(proba[:, 1] / proba[:, 0])
print(f"sum of the parts equals the log odds to {abs(parts.sum(axis=1) - odds).max():.0e}")

fig, (left, right) = figure(
    1, 2, "EnjoySport: counts become probabilities, probabilities add up to an answer",
    "Left: (n + 1)/(n_y + k) for every level; an empty mark is a level never seen in training. "
    "Right: what each cell adds to log P(Yes)/P(No).",
    width=12.5, height=6.2, gridspec_kw={"width_ratios": [1, 1.25]},
)  # fmt: skip
place, ticks, labels = 0.0, [], []
for j, name in enumerate(names):
    shown = [*model.levels_[j], "(unseen)"]
    start = place
    for i, level in enumerate(shown):
        seen = i < len(model.levels_[j])
        n = [sum(label == c for label in y) for c in model.classes_]
        pair = model.parameters_[j]["probabilities"][:, i] if seen else [1 / (v + len(shown) - 1) for v in n]
        left.plot(pair, [place, place], color="#cccccc", linewidth=1.2, zorder=1)
        for k, (value, colour, marker) in enumerate(zip(pair, (BLUE, ORANGE), "os")):
            style = {"color": colour if seen else "white", "edgecolors": colour, "linewidths": 1.4}
            left.scatter(value, place, s=44, marker=marker, zorder=3 - k, **style)
        ticks.append(place)
        labels.append(level)
        place -= 1
    say(left, 1.3, (start + place + 1) / 2, name, fontweight="bold", va="center", ha="right")
    left.axhline(place + 0.35, color="#eeeeee", linewidth=0.8)
    place -= 0.3
left.set_yticks(ticks, labels, fontsize=8.5)
left.set(xlim=(0, 1.32), xlabel="P(level | class)", title="What was counted", xticks=[0, 0.25, 0.5, 0.75, 1])
left.set_ylim(place + 0.9, 1.6)
say(left, model.parameters_[0]["probabilities"][0, 0], 0.7, "No", BLUE, fontweight="bold", ha="center")
say(left, model.parameters_[0]["probabilities"][1, 0], 0.7, "Yes", ORANGE_INK, fontweight="bold", ha="center")

tint = np.where(parts > 0, ORANGE, BLUE)
for i, (name, day) in enumerate(new.items()):
    base = 1.6 * (len(new) - 1 - i)
    for j, part in enumerate(parts[i]):
        word = "prior" if j == 0 else day[j - 1]
        right.bar(j, 0.28 * part, bottom=base, width=0.66, color=tint[i, j], zorder=2)
        drop = -0.06 if part > 0 else 0.06
        text = "not read" if word is None else word
        say(right, j, base + drop, text, ha="center", va="top" if part > 0 else "bottom", fontsize=8.5)
    right.axhline(base, color="#999999", linewidth=0.8, zorder=1)
    say(right, -0.45, base + 0.62, name, BLACK, fontweight="bold", fontsize=9.5)
    answer = f"{said[i]}, P(Yes) = {proba[i, 1]:.2f}"
    ink = ORANGE_INK if said[i] == "Yes" else BLUE
    say(right, 6.45, base + 0.62, answer, ink, ha="right", fontweight="bold")
right.set(
    xlim=(-0.5, 6.5), ylim=(-0.75, 5.75), yticks=[], title="Four new days: bars up speak for Yes, down for No",
)  # fmt: skip
right.set_xticks(range(7), ["", *names])
right.spines["left"].set_visible(False)
right.tick_params(axis="x", length=0)
save(fig, __file__)
