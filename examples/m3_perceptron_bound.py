"""M3. At most (R/γ)² mistakes, whatever the order; any separator, not the widest; and no end where none exists.

‖x̃_i‖ ≤ R, some unit w* with y_i w*·x̃_i ≥ γ:   mistakes ≤ (R/γ)²            [6867] 5.4 prints R/γ; [6321] proves it
perceptron: any w with all margins positive      maximum margin: max γ                            [6867] 5.2, [446]
not separable: Σ a_i y_i x̃_i = 0, a ≥ 0: the weights oscillate for ever                          [6321], [446]
"""

import numpy as np
from _plot import BLUE, GREEN, GREY, ORANGE_INK, RED, box_of, figure, points, save, say, surface
from sklearn.datasets import make_blobs

from separatrix import KernelPerceptron, Perceptron
from separatrix.solve.separator import linear_separator

rng = np.random.default_rng(0)
mistakes, bounds = [], []
for gap in np.geomspace(0.01, 2.0, 60):
    for columns in (2, 5, 15):
        w = rng.standard_normal(columns)
        w /= np.linalg.norm(w)
        X = rng.standard_normal((200, columns))
        sign = np.where(X @ w > 0, 1, -1)
        X += gap * sign[:, None] * w
        model = Perceptron(max_iter=100_000, random_state=len(bounds)).fit(X, sign)
        mistakes.append(model.n_mistakes_)
        bounds.append(model.mistake_bound_)
mistakes, bounds = np.array(mistakes), np.array(bounds)
print(f"{len(bounds)} separable sets: mistakes ≤ (R/γ)² in {np.sum(mistakes <= bounds)}")
print(f"mistakes above R/γ, the bound as [6867] prints it, in {np.sum(mistakes > np.sqrt(bounds))}")

X, y = make_blobs([25, 25], centers=[[-1.7, 0.9], [1.6, -0.8]], cluster_std=0.75, random_state=139)
model = Perceptron().fit(X, y)
widest = linear_separator(X, y, method="margin")
programme = linear_separator(X, y)
print(
    f"\nmargins: perceptron {model.geometric_margin(X, y).min():.4f}, linear programme {programme.margin:.4f}, ",
    end="",
)
print(f"maximum margin {widest.margin:.4f}")

noisy, labels = make_blobs([40, 40], centers=[[-1.0, 0.5], [1.0, -0.5]], cluster_std=0.9, random_state=3)
ended = Perceptron().fit(noisy, labels)
print(f"\n{ended.verdict_}")
proof = ended.verdict_.separation
print(f"checked from the data alone: {proof.check(noisy, 2 * labels - 1)}")
averaged = Perceptron(average=True).fit(noisy, labels)
pocket = Perceptron(pocket=True).fit(noisy, labels)
radial = KernelPerceptron(gamma=8.0, max_iter=20_000).fit(noisy, labels)
for name, fit in (
    ("last weights", ended),
    ("averaged", averaged),
    ("pocket", pocket),
    ("radial kernel", radial),
):
    print(f"{name:14s} {np.mean(fit.predict(noisy) == labels):.3f} of the rows right")
print(f"\n{radial.verdict_}")

online, right = Perceptron(), []
for epoch in range(10):
    order = np.random.default_rng(epoch).permutation(len(noisy))
    for i in order:
        online.partial_fit(noisy[[i]], labels[[i]], classes=[0, 1])
        right.append(np.mean(online.predict(noisy) == labels))

fig, (first, second, third) = figure(
    1, 3, "At most (R/γ)² mistakes where a line exists, no end where none does",
    "Left: 180 separable sets. Middle: the perceptron stops at the first line that is right; support vectors of the "
    "maximum margin ringed. Right: overlapping classes, after every row.",
    width=13.5, height=4.8,
)  # fmt: skip
first.loglog(bounds, mistakes, "o", color=BLUE, markersize=4, alpha=0.7, zorder=3)
line = np.array([bounds.min() / 1.5, bounds.max() * 1.5])
first.loglog(line, line, color=RED)
first.loglog(line, np.sqrt(line), color=GREY, linestyle="--", linewidth=1.2)
say(first, line[1] * 1.2, line[1], "(R/γ)²", RED, va="center")
say(first, line[1] * 1.2, np.sqrt(line[1]), "R/γ", GREY, va="center")
first.set(xlabel="(R/γ)², γ the largest margin", ylabel="mistakes made", xlim=(line[0] / 1.5, line[1] * 12))
first.set_title("The bound holds, usually with room")

box = box_of(X, 0.15)
points(second, X, y)
surface(second, model.coef_, model.intercept_[0], box, colors=[RED])
rule = widest.rule
surface(second, rule.coef, float(rule.intercept), box, colors=[GREEN])
for side in (-1.0, 1.0):
    surface(
        second, rule.coef, float(rule.intercept) + side, box, colors=[GREEN], linewidths=1.0, linestyles="--"
    )
held = X[np.where(y == 1, 1, -1) * (X @ rule.coef + float(rule.intercept)) < 1 + 1e-6]
second.scatter(*held.T, s=95, facecolors="none", edgecolors=GREEN, linewidths=1.5, zorder=5)
second.set(xlabel="x₁", ylabel="x₂")
second.set_title(f"Margin {model.geometric_margin(X, y).min():.2f} against {widest.margin:.2f}")
say(second, 0.69, 0.95, "perceptron", RED, transform=second.transAxes, ha="right")
say(second, 0.98, 0.03, "maximum margin", GREEN, transform=second.transAxes, ha="right")

visits = np.arange(1, len(right) + 1)
third.plot(visits, right, color=BLUE, linewidth=0.9)
for fit, colour, name, lift in ((averaged, ORANGE_INK, "averaged", 0.052), (pocket, GREEN, "pocket", 0.010)):
    share = np.mean(fit.predict(noisy) == labels)
    third.axhline(share, color=colour, linewidth=1.6)
    say(third, len(right) * 0.99, share + lift, f"{name}: {share:.2f}", colour, ha="right")
third.set(xlabel="rows visited", ylabel="share of rows right", ylim=(0.4, 1.0))
third.set_title(f"Oscillation; proof after {ended.n_iter_} epochs")
say(third, 0.03, 0.05, "last weights", BLUE, transform=third.transAxes)
save(fig, __file__)
