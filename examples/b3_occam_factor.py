"""B3. The Occam factor: what a model pays for weights it might have had.

    log Pr(D) ≈ log Pr(D | W_MAP) + [ log Pr(W_MAP) + (D/2) log 2π − ½ log|H| ]  =  best fit + Occam factor   [6867] 4

In one dimension the factor is the width of the posterior over the width of the prior, times how likely the prior
found the mode. Left: one weight and priors of many widths: the wider, the better the fit, and the smaller the share
of the prior that the data leave over, so that the evidence has a maximum in between. That is how
``prior_precision="evidence"`` chooses. Right: columns of noise added to two that matter: the fit improves with each,
the evidence does not; ``"ard"`` gives every column a width of its own and switches most of them off.
"""

import numpy as np
from _plot import BLUE, GREEN, GREY, ORANGE_INK, RED, figure, save, say

from separatrix import BayesianLogisticRegression

rng = np.random.default_rng(1)
x = rng.normal(size=(30, 1))
y = (rng.random(30) < 1 / (1 + np.exp(-1.5 * x[:, 0]))).astype(int)
widths = np.geomspace(0.03, 300, 80)
models = [BayesianLogisticRegression(1 / s**2, fit_intercept=False).fit(x, y) for s in widths]
fit = np.array([m.log_likelihood_ for m in models])
occam = np.array([m.log_occam_factor_ for m in models])
chosen = BayesianLogisticRegression("evidence", fit_intercept=False).fit(x, y)
print(chosen.verdict_)
print(chosen.evidence_table())
spread = chosen.prior_precision_**-0.5
print(
    f"\nprior sd {spread:.3f}, posterior sd {chosen.coef_sd_[0, 0]:.3f}: the factor is about their ratio, ",
    end="",
)
print(
    f"log({chosen.coef_sd_[0, 0]:.3f}/{spread:.3f}) = {np.log(chosen.coef_sd_[0, 0] / spread):.3f}, ", end=""
)
print(f"less ½w²/s² = {0.5 * (chosen.coef_[0, 0] / spread) ** 2:.3f}: {chosen.log_occam_factor_:.3f}\n")

rows = rng.normal(size=(300, 22))
label = (rng.random(300) < 1 / (1 + np.exp(-1.2 * rows[:, 0] + 0.8 * rows[:, 1]))).astype(int)
counts = np.arange(0, 21)
noisy = [BayesianLogisticRegression(1.0).fit(rows[:, : 2 + k], label) for k in counts]
ard = BayesianLogisticRegression("ard").fit(rows, label)
print(ard.verdict_)

fig, (ax, bars) = figure(
    1, 2, "Evidence = best fit + Occam factor",
    "Left: one weight, 30 rows: a wider prior fits better and wastes more of itself. Right: two columns that matter "
    "and more and more that do not.", width=12.0, height=4.8,
)  # fmt: skip
ax.plot(widths, fit, color=GREEN)
ax.plot(widths, occam, color=RED)
ax.plot(widths, fit + occam, color=BLUE, linewidth=2.6)
top = chosen.log_evidence_
ax.axvline(spread, color=GREY, linewidth=1, linestyle=":")
ax.plot(spread, top, "o", color=BLUE, markersize=7)
say(ax, spread * 1.25, top - 2.6, f"most evidence:\nprior sd {spread:.2g}", BLUE, va="top")
say(ax, 280, fit[-1] + 0.4, "log likelihood at the mode", GREEN, ha="right", va="bottom")
say(ax, 0.035, occam[0] + 0.4, "log Occam factor", RED, va="bottom")
say(ax, 280, (fit + occam)[-1] - 0.5, "log evidence", BLUE, ha="right", va="top", fontweight="bold")
ax.set(xscale="log", xlabel="standard deviation of the prior", ylabel="nats", title="The width of a prior")
ax.set_ylim((fit + occam).min() - 2.5, 3.2)

lines = {"fit": [m.log_likelihood_ for m in noisy], "evidence": [m.log_evidence_ for m in noisy]}
bars.fill_between(counts, lines["evidence"], lines["fit"], color=RED, alpha=0.12, linewidth=0)
bars.plot(counts, lines["fit"], "o-", color=GREEN, markersize=4)
bars.plot(counts, lines["evidence"], "o-", color=BLUE, markersize=4)
bars.plot(20, ard.log_evidence_, "D", color=ORANGE_INK, markersize=8, zorder=5)
off = int(np.isinf(ard.prior_precision_).sum())
text = f'all 22 columns, "ard":\n{off} switched off'
say(bars, 20, ard.log_evidence_ + 1.5, text, ORANGE_INK, ha="right", va="bottom")
say(bars, 0, lines["fit"][7] + 2.0, "log likelihood at the mode", GREEN, va="bottom")
say(bars, 9.6, lines["evidence"][10] - 2.5, "log evidence", BLUE, ha="right", va="top", fontweight="bold")
middle = 0.5 * (lines["fit"][11] + lines["evidence"][11])
say(bars, 11, middle, "Occam factor", RED, ha="center", va="center")
bars.set(
    xlabel="columns of pure noise beside two that matter",
    ylabel="nats",
    title="Columns that say nothing",
    xticks=range(0, 21, 5),
)
bars.set_ylim(min(lines["evidence"]) - 3, max(lines["fit"]) + 9)
save(fig, __file__)
