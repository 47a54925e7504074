"""What the page computes of trees, forests and kernel machines, run by node, is predict_proba; a copy says how near
it is.
"""

import json
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.pipeline import Pipeline

pytest.importorskip("matplotlib")

from separatrix import (
    SVC,
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    GaussianNB,
    NuSVC,
    QuadraticDiscriminantAnalysis,
    RandomForestClassifier,
)
from separatrix.show.reading import table_of
from separatrix.show.report import report_html
from separatrix.show.report_parts import machines, surrogate, whatif
from separatrix.show.report_parts.machines import Machine
from separatrix.show.report_parts.sums import NotASum
from separatrix.show.report_parts.surrogate import Surrogate
from separatrix.show.report_parts.words import embedded
from separatrix.tables.encode import TableEncoder
from tests.show.panels import dated, iris, mixed_table

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node on this machine: the script was not run")


def behind(model, form="linear"):
    return Pipeline([("columns", TableEncoder(form=form)), ("model", model)])


def three():
    frame, y = mixed_table(240, 3)
    y = np.where(frame["count"].to_numpy() > 4, "many", y)
    return frame, y


FROM = {"categorical_features": "from_dtype"}
MODELS = {
    "tree": (lambda: behind(DecisionTreeClassifier(max_depth=6, **FROM), "native"), mixed_table),
    "forest": (lambda: behind(RandomForestClassifier(12, random_state=0, **FROM), "native"), dated),
    "extra-trees": (lambda: behind(ExtraTreesClassifier(12, random_state=0, **FROM), "native"), three),
    "bags": (lambda: behind(BaggingClassifier(DecisionTreeClassifier(), 8, random_state=0)), three),
    "scikit-learn's": (lambda: SklearnForest(10, random_state=0), iris),
    "radial": (lambda: behind(SVC(calibrate="sigmoid")), mixed_table),
    "radial of three": (lambda: behind(SVC(calibrate="sigmoid")), three),
    "isotonic": (lambda: behind(SVC(calibrate="isotonic", kernel="poly", coef0=1.0)), three),
    "one against the rest": (lambda: SVC(calibrate="sigmoid", multi_class="ovr"), iris),
    "nu": (lambda: behind(NuSVC(nu=0.4, calibrate="sigmoid")), mixed_table),
}


def states(found, table, rows):
    """Rows of the table as the script's states: places of levels, numbers, null for a gap; rows a list has no place
    for are left out."""
    kept, out = [], []
    for i in rows:
        state = {}
        for j, form in enumerate(found.forms):
            cell = table.cells(j)[i]
            if form.kind == "levels":
                known = [None if c is None or c != c else c for c in form.cells]
                state[str(j)] = known.index(cell) if cell in known else None
            elif form.kind != "held":
                state[str(j)] = cell
        if all(
            state[str(j)] is not None or f.kind != "levels"
            for j, f in enumerate(found.forms)
            if str(j) in state
        ):
            kept.append(i)
            out.append(state)
    return kept, out


@needs_node
@pytest.mark.parametrize("name", MODELS)
def test_the_page_computes_predict_proba(name):
    make, table = MODELS[name]
    X, y = table()
    model = make().fit(X, y)
    found = Machine.of(model, X)
    rows, asked = states(found, table_of(X), np.random.default_rng(1).permutation(len(X))[:80].tolist())
    given = {"data": json.loads(embedded(whatif.machine_data(found))), "asked": asked}
    script = files("separatrix.show.report_parts").joinpath("whatif.js")
    runner = __file__.replace("test_machines.py", "asked.js")
    done = subprocess.run(
        [NODE, runner, str(script)], input=json.dumps(given), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr[-2000:]
    P = model.predict_proba(X.iloc[rows])
    assert len(rows) >= 10
    assert np.array(json.loads(done.stdout)) == pytest.approx(P, abs=1.01e-6)  # the page shows seven places
    assert np.ptp(P, axis=0).max() > 0.1


@pytest.mark.parametrize("name", MODELS)
def test_what_is_exported_is_what_the_model_reads(name):
    make, table = MODELS[name]
    X, y = table()
    found = Machine.of(make().fit(X, y), X)
    assert len(found.forms) == X.shape[1] and found.classes == np.unique(y).tolist()
    assert sum(len(at) for at in found.features) >= sum(form.kind != "held" for form in found.forms)


def test_what_is_too_large_is_refused(monkeypatch):
    X, y = iris()
    monkeypatch.setattr(machines, "MOST_NODES", 10)
    with pytest.raises(NotASum, match="nodes, and 10 are the most"):
        Machine.of(RandomForestClassifier(5, random_state=0).fit(X, y), X)
    monkeypatch.setattr(machines, "MOST_NUMBERS", 10)
    with pytest.raises(NotASum, match="10 numbers are the most"):
        Machine.of(SVC(calibrate="sigmoid").fit(X, y), X)
    with pytest.raises(NotASum, match="no probabilities"):
        Machine.of(SVC().fit(X, y), X)
    with pytest.raises(NotASum, match="neither"):
        Machine.of(QuadraticDiscriminantAnalysis().fit(X, y), X)


# ---- the copy ----


def test_a_copy_of_a_sum_is_near_and_exact_at_the_usual_row():
    X, y = iris(2)
    model = GaussianNB().fit(X, y)
    copied = Surrogate.of(model, X)
    usual = copied.found.table.rows(1, {})
    p = float(model.predict_proba(usual)[0, 1])
    cut = np.clip(p, surrogate.CERTAIN, 1 - surrogate.CERTAIN)
    assert copied.found.start[0] == pytest.approx(np.log(cut / (1 - cut)))
    assert copied.r2 > 0.9 and copied.off < 0.05


def test_a_copy_that_follows_badly_is_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X = np.sign(X) + 0.05 * X
    model = DecisionTreeClassifier().fit(X, (X[:, 0] * X[:, 1] > 0).astype(int))

    class Flipped:  # moved from the usual row by one column or by both, it says the same
        classes_ = model.classes_

        def predict_proba(self, Z):
            p = (np.sin(40 * Z[:, 0] * Z[:, 1]) > 0).astype(float)
            return np.column_stack([1 - p, p])

    with pytest.raises(NotASum, match="too badly"):
        Surrogate.of(Flipped(), X + rng.normal(size=X.shape))


def test_the_page_says_that_a_copy_is_one():
    X, y = iris()
    page = report_html(model=QuadraticDiscriminantAnalysis().fit(X, y), X=X, y=y)
    assert "<strong>A copy</strong> This is not the model" in page and "R² = " in page
    assert 'id="whatif-data"' in page
    exact = report_html(model=RandomForestClassifier(5, random_state=0).fit(X, y), X=X, y=y)
    assert "A copy" not in exact and "computes what the model does, from its 5 trees" in exact
