"""O8. A model in a file that cannot run code when it is opened, and the same model in ONNX.

Iris by logistic regression and a mixed table by naive Bayes: saved, described, loaded, refused when changed, and
exported. The picture: how far the probabilities of onnxruntime lie from the model's own, for models of every kind.
"""

import json
import os
import pickle
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
from _plot import BLUE, GREY, RED, figure, say
from _plot import save as save_picture
from sklearn.datasets import load_iris

from separatrix import (
    SVC,
    AdaBoostClassifier,
    BaggingClassifier,
    BayesianLogisticRegression,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    NaiveBayes,
    QuadraticDiscriminantAnalysis,
)
from separatrix.files.archive import ABOUT, TREE, digest, members_of, packed
from separatrix.files.onnx import to_onnx
from separatrix.files.store import ModelFileError, describe, load, save

folder = Path(tempfile.mkdtemp())
iris = load_iris(as_frame=True)
X, y = iris.data, iris.target_names[iris.target]
model = LogisticRegression().fit(X, y)

path = folder / "iris.sepx"
save(model, path, schema=X, notes="all 150 flowers")
print(f"saved {path.stat().st_size:,} bytes; what the file says of itself, without the model:\n")
print(describe(path), "\n")

again = load(path)
same = np.array_equal(again.predict_proba(X), model.predict_proba(X)) and str(again.verdict_) == str(
    model.verdict_
)
print("loaded: probabilities and verdict are the same" if same else "loaded: something differs")
assert same

print("\na table that does not fit:")
try:
    describe(path).check_schema(X.drop(columns="petal width (cm)"))
except ValueError as error:
    print("  ", error)

print("\nfiles that are refused:")


class Harm:
    def __reduce__(self):
        return os.system, (f"touch {folder / 'harm'}",)


def altered() -> bytes:
    """The file with a function in the place of a parameter, and a hash that fits."""
    members = members_of(path.read_bytes())
    tree = json.loads(members[TREE])
    node = {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode", "__id__": 10**6}
    tree["content"]["content"]["solver"] = node
    members[TREE] = json.dumps(tree).encode()
    members[ABOUT] = json.dumps({**json.loads(members[ABOUT]), "digest": digest(members)}).encode()
    return packed(members)


tampered = bytearray(path.read_bytes())
tampered[len(tampered) // 2] ^= 1
for what, content in {
    "a pickle": pickle.dumps(Harm()),
    "a type altered": altered(),
    "one bit changed": bytes(tampered),
    "cut short": path.read_bytes()[:2000],
}.items():
    (folder / "bad").write_bytes(content)
    try:
        load(folder / "bad")
        raise SystemExit(f"{what} was loaded")
    except ModelFileError as error:
        print(f"   {what}: {error}")
assert not (folder / "harm").exists()

print("\nONNX:")


def compared(name, fitted, rows, feed):
    """The largest difference between the graph's probabilities and the model's; the labels must be equal."""
    session = onnxruntime.InferenceSession(to_onnx(fitted), providers=["CPUExecutionProvider"])
    label, probabilities = session.run(None, feed)
    gap = float(np.abs(probabilities - fitted.predict_proba(rows)).max())
    assert gap < 1e-6 and (label == fitted.predict(rows)).all()
    print(f"   {name}: probabilities differ by at most {gap:.1e}, labels by none in {len(rows)} rows")
    return gap


rng = np.random.default_rng(0)
days = pd.DataFrame({"sky": rng.choice(["clear", "grey", "wild"], 300), "wind": rng.gamma(2.0, 3.0, 300)})
days["gusts"] = rng.poisson(days["wind"] / 2)
days.loc[::7, "wind"] = np.nan
out = np.where((days["sky"] != "wild") & (days["gusts"] + rng.normal(size=300) < 4), "sail", "stay")
columns = {
    "sky": days[["sky"]].to_numpy(dtype=object),
    **{n: days[[n]].to_numpy(float) for n in ("wind", "gusts")},
}
name = "NaiveBayes on words, counts and holes"
gaps = {name: compared(name, NaiveBayes().fit(days, out), days, columns)}
for fitted in (
    LogisticRegression(), BayesianLogisticRegression(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis(),
    GaussianNB(), GenerativeClassifier("gamma"), SVC(calibrate="sigmoid"), LinearSVC(calibrate="isotonic"),
    DecisionTreeClassifier(), ExtraTreesClassifier(n_estimators=50), BaggingClassifier(n_estimators=20),
    AdaBoostClassifier(),
):  # fmt: skip
    name = type(fitted).__name__
    gaps[name] = compared(name, fitted.fit(X, y), X, {"X": X.to_numpy()})

fig, ax = figure(
    1, 1, "A graph in ONNX gives the model's own probabilities",
    "Largest difference over all rows and classes: iris (150 rows), and words, counts and missing cells (300 rows).\n"
    "Sums are taken in another order, so the last digits of float64 may differ; trees only look values up.",
    width=10, height=5.6,
)  # fmt: skip
order = sorted(gaps, key=lambda n: gaps[n])
seen = [max(gaps[n], 1e-17) for n in order]
ax.hlines(range(len(order)), 1e-18, seen, color="#CCCCCC", linewidth=1.2)
ax.plot(seen, range(len(order)), "o", color=BLUE, markersize=8, markeredgecolor="white")
for at, n in enumerate(order):
    say(ax, seen[at] * 1.7, at, f"{gaps[n]:.0e}" if gaps[n] else "0", GREY, va="center")
ax.axvline(1e-6, color=RED, linewidth=1.4)
say(ax, 0.8e-6, 0, "what is promised", RED, ha="right", va="center")
ax.axvline(np.finfo(float).eps, color=GREY, linewidth=1.0, linestyle=":")
say(ax, np.finfo(float).eps * 1.4, len(order) - 0.35, "rounding of float64", GREY, va="bottom")
ax.set_yticks(range(len(order)), order)
ax.set(
    xscale="log",
    xlim=(5e-18, 1e-5),
    ylim=(-0.6, len(order) + 0.4),
    xlabel="largest difference in probability",
)
save_picture(fig, __file__)
