"""O12. A model as a query that a database runs, and sets of classes that hold the right one in nine rows of ten.

Left: how far the probabilities of the query, run by SQLite, lie from predict_proba, for models of several kinds on a
table with words, gaps and levels never seen. Right: rows to calibrate on are drawn a thousand times; the share of new
rows whose set {k : 1 − P(k | x) ≤ the ⌈(n + 1)·c⌉-th smallest 1 − P(y | x) of n} holds their class, in all and in the
rarest class, by one threshold and by one for each class.
"""

import sqlite3
import warnings

import numpy as np
import pandas as pd
from _plot import BLUE, GREY, ORANGE, figure, save
from sklearn.pipeline import make_pipeline

from separatrix import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    TableEncoder,
    to_sql,
)

rng = np.random.default_rng(0)


def days(n):
    """Sky, wind and gusts of n days, a seventh without wind measured; whether one goes sailing."""
    table = pd.DataFrame({"sky": rng.choice(["clear", "grey", "wild"], n), "wind": rng.gamma(2.0, 3.0, n)})
    table["gusts"] = rng.poisson(table["wind"] / 2)
    sails = (table["sky"] != "wild") & (table["gusts"] + rng.normal(size=n) < 4)
    table.loc[::7, "wind"] = np.nan
    return table, np.where(sails, "sail", "stay")


table, out = days(400)
new = days(300)[0]
new.loc[::5, "sky"] = "hail"  # a level never seen
base = sqlite3.connect(":memory:")
new.rename_axis("day").to_sql("new_days", base)
gaps = {}
for model in (
    LogisticRegression(),
    LinearSVC(calibrate="sigmoid"),
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(reg_param=0.1),
    AdaBoostClassifier(n_estimators=50),
    DecisionTreeClassifier(max_depth=4),
):
    fitted = make_pipeline(TableEncoder(), model).fit(table, out)
    query = to_sql(fitted, dialect="sqlite", table="new_days", keep=["day"])
    rows = sorted(base.execute(query).fetchall())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # words on the level never seen
        gap = np.abs(np.array([row[2:] for row in rows]) - fitted.predict_proba(new)).max()
        assert [row[1] for row in rows] == fitted.predict(new).tolist()
    name = type(model).__name__
    gaps[name] = max(gap, 1e-17)
    print(f"{name}: a query of {len(query):,} characters; probabilities differ by at most {gap:.1e}")
assert max(gaps.values()) < 1e-12

print("\nthe shortest:\n")
stump = DecisionTreeClassifier(max_depth=1).fit(table[["gusts"]], out)
print(to_sql(stump, dialect="duckdb", table="new_days", keep=["day"]))


def classes(n):
    """Three overlapping classes, the last of one row in ten."""
    y = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    return rng.normal(size=(n, 2)) + 1.3 * np.array([[0, 0], [1, 0], [0.5, 1.0]])[y], y


COVERAGE, DRAWS, ROWS, NEW = 0.9, 1000, 400, 300
model = LogisticRegression().fit(*classes(500))
held = {False: [], True: []}
for _ in range(DRAWS):
    model.calibrate_sets(*classes(ROWS))
    X, y = classes(NEW)
    for by_class, found in held.items():
        sets = model.predict_set(X, COVERAGE, by_class=by_class)
        right = np.array([label in own for label, own in zip(y, sets)])
        found.append((right.mean(), right[y == 2].mean(), np.mean([len(own) for own in sets])))
for by_class, found in held.items():
    every, rare, size = np.mean(found, axis=0)
    how = "a threshold for each class" if by_class else "one threshold"
    print(
        f"{how}: of {DRAWS:,} draws {every:.3f} of all rows, {rare:.3f} of the rarest class; {size:.2f} classes a set"
    )
assert abs(np.mean([all_rows for all_rows, _, _ in held[False]]) - COVERAGE) < 0.01
assert np.mean([rare for _, rare, _ in held[True]]) > COVERAGE - 0.01

fig, (left, right) = figure(
    1, 2, "The database answers as the model does, and sets keep their promise",
    "left: largest difference of probabilities, 300 new rows; right: share of rows whose set holds their class",
)  # fmt: skip
names = list(gaps)[::-1]
left.barh(names, [gaps[name] for name in names], color=BLUE, height=0.6)
left.axvline(1e-12, color=GREY, linestyle="--")
left.set(xscale="log", xlim=(1e-17, 1e-11), xlabel="largest |query − predict_proba|", title="Run by SQLite")
left.text(0.8e-12, -0.45, "promised", color=GREY, ha="right", va="center")
bins = np.linspace(0.2, 1.0, 33)
for by_class, colour, label in ((False, ORANGE, "one threshold"), (True, BLUE, "one for each class")):
    right.hist(
        [rare for _, rare, _ in held[by_class]],
        bins=bins,
        color=colour,
        alpha=0.55,
        label=f"rarest class, {label}",
    )
right.hist(
    [e for e, _, _ in held[False]], bins=bins, histtype="step", color=GREY, label="all rows, one threshold"
)
right.axvline(COVERAGE, color=GREY, linestyle="--")
right.set(xlabel="share held", ylabel="draws", title=f"Asked for {COVERAGE:g}")
right.legend(loc="upper left")
save(fig, __file__)
