"""D7. Separated classes: the maximum-likelihood weights do not exist, and the fit says so.

    y_i (w·x_i + w₀) > 0 for all i   ⇒   F(t·w) = (1/n) Σ ln(1 + exp(−t y_i (w·x_i + w₀))) ↓ 0 as t → ∞   [6867] 3.2.2

"If the data is linearly separable, the optimization will want to make the weights as large as possible … not well
posed. This can be addressed by adding a regularization penalty or using a prior." Top: a separable set; Newton's
weights grow for ever while the objective creeps to zero. Bottom: quasi-separation, the common case in practice: one
binary column decides for some rows. Only that column's weight runs away; the others have estimates. The verdict
names the column, gives the direction, and the remedy is a finite C.
The real set is the endometrial-cancer table of Heinze and Schemper (2002) where ../shared/data is there.
"""

import sys
import warnings

import numpy as np
from _plot import BLUE, GREY, ORANGE_INK, RED, ROOT, figure, points, save, say, surface

from separatrix import LogisticRegression, SeparationWarning, separability, verify

sys.path.insert(0, str(ROOT))
warnings.simplefilter("ignore", SeparationWarning)  # the verdicts below say the same at more length


def endometrial():
    """(rows, labels, column names, title): the real table, or 79 rows made like it."""
    names = ["NV", "PI", "EH"]
    try:
        from benchmarks import shared

        table = shared.table("separation/endometrial")
        return table[names].to_numpy(float), table["HG"].to_numpy(), names, "Endometrial cancer"
    except (ImportError, FileNotFoundError):
        rng = np.random.default_rng(0)
        PI, EH = rng.normal(17, 10, 79), rng.gamma(6, 0.28, 79)
        grade = (rng.random(79) < 1 / (1 + np.exp(-4 + 0.04 * PI + 2.6 * EH))).astype(int)
        NV = (rng.random(79) < 0.45) * grade  # a one never goes with grade 0
        return np.column_stack([NV, PI, EH]), grade, names, "Made like the endometrial table"


rng = np.random.default_rng(1)
along, across = np.array([1, 1]) / np.sqrt(2), np.array([1, -1]) / np.sqrt(2)
y = np.repeat(["no", "yes"], 40)
X = 1.2 * rng.normal(size=(80, 1)) * along + 0.32 * rng.normal(size=(80, 1)) * across
X += np.where(y == "yes", 0.88, -0.88)[:, None] * across
complete = LogisticRegression(C=np.inf, record_path=True).fit(X, y)
print(f"{complete.verdict_}\ncoef_ = {complete.coef_[0]}, direction = {complete.verdict_.direction}")
print(f"smallest margin along it: {complete.verdict_.separation.margins.min():.3f}")
print(f"verify(): {verify(complete, X, y).headline()}")
print(f"with C=1: {LogisticRegression(C=1).fit(X, y).verdict_.headline()}\n")

rows, grade, names, title = endometrial()
try:
    import pandas as pd

    rows = pd.DataFrame(rows, columns=names)  # names in the verdict
except ImportError:
    print("(pandas is absent: the verdict names columns by their index)")
quasi = LogisticRegression(C=np.inf, record_path=True).fit(rows, grade)
found = separability(rows, grade)
print(f"{title}: {dict(zip(names, quasi.coef_[0].round(4).tolist()))}, intercept {quasi.intercept_[0]:.4f}")
print(quasi.verdict_)
print(f"kind = {found.kind!r}, columns = {found.columns}, {(found.margins > 0).sum()} rows decided, ", end="")
print(f"{(found.margins == 0).sum()} tied; the proof holds: {found.check(rows, grade)}")
remedy = {C: LogisticRegression(C=C).fit(rows, grade) for C in np.geomspace(1e-2, 1e5, 40)}
print(f"with C = 1: {dict(zip(names, LogisticRegression(C=1).fit(rows, grade).coef_[0].round(3).tolist()))}")

fig, ax = figure(
    2, 2, "Separated classes have no maximum-likelihood estimate, and the verdict says so",
    "Top: completely separated. Bottom: quasi-separated by one binary column, the usual case: the verdict names it.",
    height=8.2,
)  # fmt: skip
proof = complete.verdict_.separation
box = (-4.4, 3.65, -2.4, 2.8)
points(ax[0, 0], X, y)
surface(ax[0, 0], proof.direction, proof.intercept, box)
width = proof.margins.min()
for shift in (-width, width):
    surface(ax[0, 0], proof.direction, proof.intercept + shift, box, linewidths=1.0, linestyles="dashed")
normal = proof.direction / np.linalg.norm(proof.direction)
foot = -proof.intercept * normal / np.linalg.norm(proof.direction)
ax[0, 0].annotate(
    "",
    foot + 2.0 * normal,
    foot,
    arrowprops={"arrowstyle": "-|>", "color": RED, "linewidth": 2.2, "shrinkA": 0},
)
say(ax[0, 0], *(foot + 2.05 * normal), "verdict_.direction", RED, va="top")
say(ax[0, 0], -1.6, 1.5, "no", BLUE, ha="right", fontweight="bold")
say(ax[0, 0], 2.1, 0.25, "yes", ORANGE_INK, va="center", fontweight="bold")
say(ax[0, 0], 2.35, 1.75, "smallest\nmargin", fontsize=9, va="top")
ax[0, 0].set(title="Separable: a direction with every margin positive", xlabel="$x_1$", ylabel="$x_2$")
ax[0, 0].set_aspect("equal")

path = complete.path_
length = np.linalg.norm(path.coef, axis=1)
ax[0, 1].semilogy(range(1, len(path)), length[1:], "-o", color=RED, markersize=3.5)
ax[0, 1].semilogy(path.objective, "-o", color=BLUE, markersize=3.5)
middle = len(path) // 2
say(ax[0, 1], middle, length[middle] * 4, "‖w‖ grows without end", RED, ha="center")
say(ax[0, 1], middle, path.objective[middle] * 8, "F → 0, never reached", BLUE)
ax[0, 1].set(title="Newton's steps run away", xlabel="step", ylabel="‖w‖ and F(w)")
ax[0, 1].set_ylim(path.objective.min() / 10, length.max() * 30)

upto = min(21, len(quasi.path_))
spread = np.asarray(rows).std(axis=0)
inks = (RED, ORANGE_INK, BLUE)
for j, (name, ink) in enumerate(zip(names, inks)):
    ax[1, 0].plot(quasi.path_.coef[:upto, j] * spread[j], "-o", color=ink, markersize=3.5)
    note = f"{name} grows for ever" if j == 0 else f"{name} settles"
    say(ax[1, 0], upto - 1, quasi.path_.coef[upto - 1, j] * spread[j] + 0.18, note, ink, ha="right")
ax[1, 0].set(
    title=f"{title}: only NV runs away", xlabel="Newton step", ylabel="weight × standard deviation",
    xticks=range(0, upto, 1 if upto < 12 else 5),
)  # fmt: skip
ax[1, 0].margins(y=0.14)
C = np.array(list(remedy))
paths = np.array([m.coef_[0] for m in remedy.values()]) * spread
for j, (name, ink) in enumerate(zip(names, inks)):
    ax[1, 1].semilogx(C, paths[:, j], color=ink)
    say(ax[1, 1], C[-1], paths[-1, j] + 0.12, name, ink, ha="right", fontweight="bold")
ax[1, 1].axvline(1.0, color=GREY, linestyle=":", linewidth=1.2)
say(ax[1, 1], 1.15, 3.0, "C = 1, the default", GREY)
ax[1, 1].set(
    title="The remedy: any finite C has one answer", xlabel="C, the prior's variance",
    ylabel="weight × standard deviation",
)  # fmt: skip
save(fig, __file__)
