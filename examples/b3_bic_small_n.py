"""B3. BIC chooses models that are too simple while rows are few; with many it finds the right one.

    log Pr(D) ≈ log Pr(D | W_MAP) − ½ log|H| + …      log|H| = D log n + log|Ĥ|      BIC drops log|Ĥ|        [6867] 4

"BIC is asymptotically consistent … It has a tendency to select models that are too simple, with small n, though."
Three columns matter, the third least; models with the first one, two, … six columns compete on samples of 20 to 1,280
rows, 60 times each, with the prior N(0, 1) on every weight. What BIC drops, log|Ĥ| and the prior, is of order D
and counts in favour of the larger model; it does not grow with n, and in the end ½ D log n decides for both.
"""

import numpy as np
from _plot import BLACK, BLUE, GREY, RED, figure, save, say

from separatrix import BayesianLogisticRegression

rng = np.random.default_rng(0)
weights = np.array([1.0, -0.8, 0.6, 0.0, 0.0, 0.0])
sizes, columns, repeats = [20, 40, 80, 160, 320, 640, 1280], np.arange(1, 7), 60
evidence = np.empty((len(sizes), repeats, len(columns)))
bic = np.empty_like(evidence)
for i, n in enumerate(sizes):
    for r in range(repeats):
        X = rng.normal(size=(n, 6))
        y = (rng.random(n) < 1 / (1 + np.exp(-X @ weights))).astype(int)
        for j, d in enumerate(columns):
            model = BayesianLogisticRegression(1.0, n_jobs=1).fit(X[:, :d], y)
            evidence[i, r, j], bic[i, r, j] = model.log_evidence_, model.bic_
by_evidence, by_bic = columns[evidence.argmax(axis=2)], columns[bic.argmin(axis=2)]
print(f"share of {repeats} samples on which the choice is too simple, right (three columns), too rich")
for i, n in enumerate(sizes):
    shares = [
        f"{name} {np.mean(c[i] < 3):.2f} {np.mean(c[i] == 3):.2f} {np.mean(c[i] > 3):.2f}"
        for name, c in (("evidence", by_evidence), ("BIC", by_bic))
    ]
    print(f"n = {n:5d}   {'   '.join(shares)}")
gap = (evidence + bic / 2).mean(axis=1)
print(f"log evidence + BIC/2, averaged over samples, for 1 … 6 columns:\n  n = {sizes[0]}: {gap[0].round(2)}")
print(f"  n = {sizes[-1]}: {gap[-1].round(2)}")

fig, (ax, error) = figure(
    1, 2, "BIC is too fond of simple models until rows are many",
    "Left: how often a column that matters is left out. Right: what BIC drops favours larger models, and does not "
    "grow with n.", width=12.0, height=4.8,
)  # fmt: skip
simple = {name: (c < 3).mean(axis=1) for name, c in (("evidence", by_evidence), ("BIC", by_bic))}
rich = {name: (c > 3).mean(axis=1) for name, c in (("evidence", by_evidence), ("BIC", by_bic))}
for name, colour in (("evidence", BLUE), ("BIC", RED)):
    ax.plot(sizes, simple[name], "o-", color=colour, markersize=5)
    ax.plot(sizes, rich[name], "v--", color=colour, markersize=5, linewidth=1.2)
say(ax, sizes[1] * 1.12, simple["BIC"][1] + 0.01, "BIC: too simple", RED, va="bottom")
say(ax, sizes[0] * 1.05, simple["evidence"][0] - 0.09, "evidence:\ntoo simple", BLUE, va="top")
say(ax, sizes[3] * 0.98, rich["evidence"][3] + 0.03, "evidence: too rich", BLUE, va="bottom", fontsize=9)
say(ax, sizes[0] * 1.05, rich["BIC"][0] - 0.015, "BIC: too rich", RED, va="top", fontsize=9)
ax.set(
    xlabel="rows n", ylabel=f"share of {repeats} samples", title="What is chosen wrongly", ylim=(-0.07, 1.0)
)
for k, shade in ((1, GREY), (3, BLACK), (6, RED)):
    error.plot(sizes, gap[:, k - 1], "o-", color=shade, markersize=4)
    say(error, sizes[-1] * 1.12, gap[-1, k - 1], f"{k} column{'s' * (k > 1)}", shade, va="center")
error.axhline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
error.set(
    xlabel="rows n", ylabel="log evidence less −BIC/2, in nats", title="What BIC leaves out", xlim=(16, 3600)
)
for panel in (ax, error):
    panel.set_xscale("log")
    panel.set_xticks(sizes, [f"{n:,}" for n in sizes])
    panel.minorticks_off()
save(fig, __file__)
