"""O4. The command line from a file to answers: separability, compare, fit, predict, explain, each as it is typed.

A table of 400 measurements is written to a folder; the commands then run on it as a shell would run them, and what
they print is shown. The exit code says how it went: 0 done, 1 the data or the model cannot be used, 2 not understood.
The picture is made from what they leave: the ranking of ``compare --json`` and the answers of ``predict``.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _plot import BLUE, GREY, ORANGE, figure, save

rng = np.random.default_rng(1)
kind = rng.choice(["oak", "ash", "elm"], 400)
leaf = rng.normal(np.where(kind == "oak", 11, np.where(kind == "ash", 9, 7.5)), 1.4)
bark = np.where(rng.random(400) < 0.75, np.where(kind == "ash", "smooth", "rough"), "mossy")
height = rng.gamma(6, 3, 400)
rows = [f"{b},{x:.2f},{h:.1f},{k}" for b, x, h, k in zip(bark, leaf, height, kind)]


def type_in(*words, place, shown=40):
    """A command as typed, what it says, and its exit code."""
    print("$ separatrix", *words)
    done = subprocess.run(
        [sys.executable, "-m", "separatrix", *words], cwd=place, capture_output=True, text=True, encoding="utf-8"
    )  # fmt: skip
    lines = (done.stdout + done.stderr).splitlines()
    print("\n".join("  " + line for line in lines[:shown]) + ("\n  …" if len(lines) > shown else ""))
    print(f"  [exit code {done.returncode}]\n")
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    place = Path(folder)
    (place / "trees.csv").write_text(
        "\n".join(["bark,leaf,height,kind", *rows[:300]]) + "\n", encoding="utf-8"
    )
    (place / "new.csv").write_text("\n".join(["bark,leaf,height,kind", *rows[300:]]) + "\n", encoding="utf-8")
    (place / "torn.csv").write_text("bark,leaf,height,kind\nrough,9.1\n", encoding="utf-8")
    type_in("separability", "trees.csv", "--target", "kind", place=place)
    said = type_in(
        "compare", "trees.csv", "--target", "kind", "--models", "logistic,naive_bayes,lda,majority",
        "--test", "new.csv", "--budget", "60", "--json", "--quiet", place=place, shown=6,
    )  # fmt: skip
    ranked = json.loads(said)
    type_in("fit", "logistic", "trees.csv", "--target", "kind", "--out", "trees.sepx", place=place)
    type_in("predict", "trees.sepx", "new.csv", "--proba", "--out", "answers.csv", place=place)
    type_in("explain", "trees.sepx", "new.csv", "--row", "1", place=place)
    type_in("predict", "trees.sepx", "torn.csv", place=place)
    with (place / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = list(csv.DictReader(file))

fig, (left, right) = figure(
    1, 2, "From a file to answers, in commands",
    "Left: the models of `compare`, log loss with 95 % intervals. Right: the rows of `predict --proba`, by leaf and "
    "the probability of an oak.",
)  # fmt: skip
for i, row in enumerate(ranked["ranking"]):
    score = row["scores"]["log_loss"]
    ink = GREY if row["worse"] else BLUE
    left.plot([score["low"], score["high"]], [i, i], color=ink, linewidth=2)
    left.plot(score["mean"], i, "o", color=ink, markersize=7)
left.set_yticks(range(len(ranked["ranking"])), [row["title"] for row in ranked["ranking"]])
left.invert_yaxis()
left.set_xlabel("log loss, less is better (grey: really worse than the first)")
for name, ink, marker in (("oak", BLUE, "o"), ("ash", ORANGE, "s"), ("elm", GREY, "^")):
    mine = [row for row in answers if row["kind"] == name]
    right.scatter(
        [float(row["leaf"]) for row in mine], [float(row["p(oak)"]) for row in mine], s=26, c=ink, marker=marker,
        edgecolors="white", linewidths=0.5, label=f"really {name}",
    )  # fmt: skip
right.set(xlabel="leaf", ylabel="p(oak)", ylim=(-0.04, 1.04))
right.legend(loc="upper left")
hits = sum(row["predicted"] == row["kind"] for row in answers)
print(f"{hits} of {len(answers)} new rows right")
save(fig, __file__)
