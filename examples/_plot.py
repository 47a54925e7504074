"""One style for every picture here: Okabe–Ito colours (safe for colour-blind readers), a marker for each class so
that a grey print still reads, labels beside what they name, and a title that says the point.

    fig, (left, right) = figure(1, 2, "The point", "what to look at")
    region(left, model, box)        posterior probabilities as mixed colour
    boundary(left, model, box)      where the winning class changes
    points(left, X, y)              one colour and one marker a class
    save(fig, __file__)             out/NAME.png, or $SEPARATRIX_OUT/NAME.png
"""

import os
import sys
from pathlib import Path

import numpy as np

try:
    import matplotlib as mpl
except ImportError:
    sys.exit("the examples draw with matplotlib:  pip install 'separatrix[plot]'")
mpl.use("Agg")  # the pictures go to files; no window is opened
import matplotlib.pyplot as plt
from matplotlib import patheffects
from matplotlib.colors import to_rgb

ROOT = Path(__file__).resolve().parents[1]
OUT = Path(os.environ.get("SEPARATRIX_OUT") or ROOT / "out")

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, BLACK, GREY = "#56B4E9", "#CC79A7", "#222222", "#777777"
ORANGE_INK = "#9A6700"  # orange as text: dark enough to read on white
CLASS_COLOURS = (BLUE, ORANGE, GREEN)  # in order of darkness, so grey prints keep them apart
CLASS_INKS = (BLUE, ORANGE_INK, "#00704F")
CLASS_MARKERS = ("o", "s", "^")

mpl.rcParams.update({
    "figure.dpi": 100, "savefig.dpi": 160, "savefig.facecolor": "white", "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans", "font.size": 10, "axes.titlesize": 11, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.titlepad": 8, "axes.labelsize": 10, "axes.labelcolor": BLACK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#999999", "axes.linewidth": 0.8,
    "xtick.color": "#555555", "ytick.color": "#555555", "xtick.labelsize": 9, "ytick.labelsize": 9,
    "lines.linewidth": 1.8, "lines.solid_capstyle": "round", "legend.frameon": False,
    "mathtext.fontset": "dejavusans", "axes.formatter.useoffset": False,
})  # fmt: skip


def figure(rows, columns, title, subtitle="", *, width=11.0, height=4.6, **kwargs):
    """A figure whose bold first line says the point and whose second says what to look at."""
    fig, axes = plt.subplots(rows, columns, figsize=(width, height), **kwargs)
    lines = 1 + bool(subtitle) + subtitle.count("\n")
    top = 1 - (0.16 + 0.21 * lines) / height
    fig.get_layout_engine().set(rect=(0.005, 0.01, 0.99, top - 0.015), wspace=0.04, hspace=0.05)
    fig.text(0.012, 1 - 0.10 / height, title, fontsize=14, fontweight="bold", color=BLACK, va="top")
    if subtitle:
        fig.text(0.012, 1 - 0.39 / height, subtitle, fontsize=10, color="#555555", va="top", linespacing=1.35)
    return fig, axes


def points(ax, X, y, *, classes=None, size=26, alpha=0.95, **kwargs):
    """Rows of X (n, 2), each class with its own colour and marker; ``classes`` fixes their order."""
    for k, label in enumerate(np.unique(y) if classes is None else classes):
        rows = X[np.asarray(y) == label]
        ax.scatter(
            rows[:, 0], rows[:, 1], s=size, c=CLASS_COLOURS[k], marker=CLASS_MARKERS[k], alpha=alpha,
            edgecolors="white", linewidths=0.6, zorder=3, **kwargs,
        )  # fmt: skip


def box_of(X, pad=0.08):
    """(left, right, bottom, top) around the rows of X (n, 2)."""
    low, high = X.min(axis=0), X.max(axis=0)
    room = pad * (high - low)
    return low[0] - room[0], high[0] + room[0], low[1] - room[1], high[1] + room[1]


def grid(box, steps=300):
    """Coordinates xx, yy (steps, steps) over the box, and the same as rows (steps², 2)."""
    xx, yy = np.meshgrid(np.linspace(*box[:2], steps), np.linspace(*box[2:], steps))
    return xx, yy, np.column_stack([xx.ravel(), yy.ravel()])


def region(ax, model, box, *, strength=0.45, hard=False):
    """Class probabilities as a mix of the class colours; ``hard`` shows the predicted class only.

    Two classes fade to white where both are equally likely; three or more mix.
    """
    xx, _, rows = grid(box)
    if hard or not hasattr(model, "predict_proba"):
        share = (model.predict(rows)[:, None] == model.classes_).astype(float)
    else:
        share = model.predict_proba(rows)
    if share.shape[1] == 2:
        share = share - share.min(axis=1, keepdims=True)
    palette = np.array([to_rgb(c) for c in CLASS_COLOURS[: share.shape[1]]])
    colour = 1 - strength * (share @ (1 - palette))
    ax.imshow(
        colour.reshape(*xx.shape, 3),
        extent=box,
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        zorder=0,
    )
    frame(ax, box)


def boundary(ax, model, box, *, color="white", **kwargs):
    """The lines where the winning class changes."""
    xx, yy, rows = grid(box, 500)
    scores = model.decision_function(rows)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    style = {"linewidths": 2.0, "zorder": 2} | kwargs
    for k in range(scores.shape[1] - (scores.shape[1] == 2)):
        rivals = np.delete(scores, k, axis=1).max(axis=1)
        ax.contour(xx, yy, (scores[:, k] - rivals).reshape(xx.shape), levels=[0.0], colors=[color], **style)
    frame(ax, box)


def surface(ax, coef, intercept, box, **kwargs):
    """The line w·x + w₀ = 0 across the box."""
    xx, yy, rows = grid(box, 50)
    style = {"colors": [BLACK], "linewidths": 2.0, "zorder": 4} | kwargs
    ax.contour(xx, yy, (rows @ np.ravel(coef) + float(intercept)).reshape(xx.shape), levels=[0.0], **style)
    frame(ax, box)


def ellipse(ax, mean, covariance, *, radii=(1.0, 2.0), **kwargs):
    """Where a Gaussian lies: (x − μ)ᵀΣ⁻¹(x − μ) = r² for each radius r, and its mean; columns of a root of Σ."""
    turn = np.linspace(0, 2 * np.pi, 200)
    root = np.linalg.cholesky(np.asarray(covariance))
    circle = root @ np.vstack([np.cos(turn), np.sin(turn)])
    style = {"color": BLACK, "linewidth": 1.6, "zorder": 4} | kwargs
    for r in radii:
        ax.plot(mean[0] + r * circle[0], mean[1] + r * circle[1], **style)


def frame(ax, box):
    ax.set(xlim=box[:2], ylim=box[2:])


def say(ax, x, y, text, color=BLACK, **kwargs):
    """Text beside what it names, with a white edge so that it reads on any ground."""
    style = {"fontsize": 9.5, "color": color, "zorder": 6} | kwargs
    return ax.text(
        x,
        y,
        text,
        path_effects=[patheffects.withStroke(linewidth=2.6, foreground="white", alpha=0.9)],
        **style,
    )


def save(fig, script):
    """Write out/NAME.png for examples/NAME.py and say where."""
    OUT.mkdir(parents=True, exist_ok=True)
    place = OUT / f"{Path(script).stem}.png"
    fig.savefig(place)
    plt.close(fig)
    wrote(place)


def wrote(place):
    """Say where a file was written, relative to the project where it lies inside."""
    inside = place.resolve().is_relative_to(ROOT)
    print(f"\nwrote {place.resolve().relative_to(ROOT) if inside else place}")
