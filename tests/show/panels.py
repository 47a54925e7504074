"""Tables and models whose panel is asked, and a page's sums done in Python."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

pytest.importorskip("matplotlib")

from separatrix import (
    CategoricalNB,
    GaussianNB,
    GeneralizedLinearModel,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    NaiveBayes,
)
from separatrix.data.discretise import Discretizer
from separatrix.show.report_parts import whatif
from separatrix.show.report_parts.answers import probabilities_of
from separatrix.show.report_parts.sums import bases, link_of
from separatrix.show.report_parts.words import embedded
from separatrix.tables.encode import TableEncoder

EVIL = "<script>alert(1)</script>"


def mixed_table(n=160, seed=0):
    """Numbers with gaps, words with gaps, truth values and whole numbers; labels that depend on all."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(3, 2, n),
            "sky": rng.choice(["sun", "rain", "snow"], n),
            "open": rng.random(n) < 0.4,
            "count": rng.poisson(3, n),
        }
    )
    score = 0.7 * frame["size"] + (frame["sky"] == "sun") - 0.4 * frame["count"] + 1.2 * frame["open"]
    y = np.where(rng.logistic(size=n) < score - score.median(), "yes", "no")
    frame.loc[::9, "size"] = np.nan
    frame.loc[::11, "sky"] = None
    return frame, y


def dated():
    """The mixed table with a day to each row, more of them than a list has room for."""
    frame, y = mixed_table(500, 4)
    frame["when"] = pd.date_range("2024-01-01", periods=500).as_unit("ns")
    frame.loc[7, "when"] = pd.NaT
    return frame, y


def skewed(n=200, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "wait": rng.gamma(2.0 + y, 1.0),
            "share": rng.beta(2.0 + y, 3.0),
            "calls": rng.poisson(2.0 + 2 * y).astype(float),
            "gap": rng.exponential(1.0 + y),
        }
    ), y  # fmt: skip


def iris(classes=3):
    X, y = load_iris(return_X_y=True, as_frame=True)
    keep = y >= 3 - classes
    return X[keep].reset_index(drop=True), np.array(["setosa", "versicolor", "virginica"])[y[keep]]


def as_page(found, cells):
    """What the page's script computes, in Python, from the data it is given: P of rows of cells."""
    data = json.loads(embedded(whatif.data(found)))
    out = []
    for row in cells:
        s = np.array(data["start"])
        for column, x in zip(data["columns"], row):
            if column["kind"] == "held":
                continue
            if column["kind"] == "levels":
                s = s + np.array(column["values"][x])
            elif x is None:
                s = s + np.array(column["missing"])
            elif column["kind"] == "stops":
                s = s + np.array(column["values"][column["cells"].index(x)])
            else:
                s = (
                    s
                    + (
                        bases(column["kind"], np.array([x]), column["centre"], column["width"])
                        @ np.array(column["weights"])
                    )[0]
                )
        out.append(s)
    return link_of(data["mode"], np.array(out))


def draw(found, n, rng):
    """Random settings of the controls: as the page takes them, and as cells of the table."""
    asked, cells = [], []
    for _ in range(n):
        row, real = [], []
        for form in found.forms:
            if form.kind == "held":
                row.append(None)
                real.append(form.usual)
            elif form.kind == "levels":
                place = int(rng.integers(len(form.cells)))
                row.append(place)
                real.append(form.cells[place])
            elif form.missing is not None and rng.random() < 0.3:
                row.append(None)
                real.append(np.nan)
            else:
                v = (
                    form.cells[int(rng.integers(len(form.cells)))]
                    if form.kind == "stops"
                    else float(rng.integers(int(form.low), int(form.high) + 1))
                    if form.whole
                    else float(rng.uniform(form.low, form.high))
                )
                row.append(v)
                real.append(v)
        asked.append(row)
        cells.append(real)
    return asked, cells


def telling(model, X, found, n, rng):
    """Random settings at which the model is least sure, so that a wrong sum would show."""
    asked, cells = draw(found, 400, rng)
    P = probabilities_of(model, frame_like(X, cells))
    best = np.argsort(P.max(axis=1), kind="stable")[:n]
    assert P[best[0]].max() < 0.999
    return [asked[i] for i in best], [cells[i] for i in best], P[best]


def frame_like(X, cells):
    """Rows of cells as a table of the same kind as X."""
    if not hasattr(X, "columns"):
        return np.array(cells, dtype=float)
    made = {}
    for j, name in enumerate(X.columns):
        column = [row[j] for row in cells]
        made[name] = pd.Series(column, dtype=X[name].dtype if X[name].dtype.kind not in "iu" else float)
    return pd.DataFrame(made)


def models():
    X2, y2 = iris(2)
    X3, y3 = iris()
    mixed, said = mixed_table()
    odd, hit = skewed()
    cancer = load_breast_cancer(as_frame=True)
    families = {"wait": "gamma", "share": "beta", "calls": "poisson", "gap": "exponential"}
    return {
        "logistic": (LogisticRegression().fit(X2, y2), X2),
        "softmax": (LogisticRegression().fit(X3, y3), X3),
        "array": (LogisticRegression().fit(X3.to_numpy(), y3), X3.to_numpy()),
        "scaled": (make_pipeline(StandardScaler(), LogisticRegression()).fit(X2, y2), X2),
        "lda": (LinearDiscriminantAnalysis().fit(X3, y3), X3),
        "gaussian nb": (GaussianNB().fit(X3, y3), X3),
        "naive bayes": (NaiveBayes().fit(mixed, said), mixed),
        "families": (NaiveBayes(families=families).fit(odd, hit), odd),
        "encoded": (Pipeline([("t", TableEncoder()), ("m", LogisticRegression())]).fit(mixed, said), mixed),
        "dates": (Pipeline([("t", TableEncoder()), ("m", LogisticRegression())]).fit(*dated()), dated()[0]),
        "probit": (GeneralizedLinearModel("binomial", "probit").fit(X2, y2 == "virginica"), X2),
        "cloglog": (GeneralizedLinearModel("binomial", "cloglog").fit(X2, y2 == "virginica"), X2),
        "machine": (LinearSVC(calibrate="sigmoid").fit(X2, y2), X2),
        "machines": (LinearSVC(calibrate="sigmoid").fit(X3, y3), X3),
        "cut": (make_pipeline(Discretizer("mdl"), CategoricalNB()).fit(X3.to_numpy(), y3), X3.to_numpy()),
        "cancer": (
            make_pipeline(StandardScaler(), LogisticRegression()).fit(cancer.data, cancer.target), cancer.data
        ),
    }  # fmt: skip


MODELS = models()
