"""ONNX graphs give what the model gives, in onnxruntime, to 1e-6; what has no graph is refused with a sentence."""

import sys
import warnings

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression as Foreign
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from separatrix import (
    SVC,
    BaggingClassifier,
    BayesianLogisticRegression,
    CategoricalNB,
    DecisionTreeClassifier,
    GaussianDiscriminant,
    GaussianNB,
    GeneralizedLinearModel,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    NaiveBayes,
    Perceptron,
    QuadraticDiscriminantAnalysis,
)
from separatrix.files.graph import Cells, OnnxExportError
from separatrix.files.onnx import to_onnx
from separatrix.files.onnx_inputs import onnx_inputs
from separatrix.files.store import load, save
from tests.files.catalogue import Tables, fitted, other_rows, public_estimators, variants

CLOSE = 1e-6
NAMES = [kind.__name__ for kind in public_estimators()] + list(variants(Tables(0)))


def session(data):
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


def has_graph(model):
    return hasattr(model, "predict_proba") or "GeneralizedLinearModel" in type(model).__name__


def agrees(model, X):
    """The graph's answer is the model's; of classes equally probable it may name another."""
    runs = session(to_onnx(model))
    found = runs.run(None, onnx_inputs(model, X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(model, GeneralizedLinearModel):
            wanted = model.predict(X)
            got = found[0][:, 0] if len(found) == 1 else found[1][:, 1]
            np.testing.assert_allclose(got, wanted, rtol=CLOSE, atol=CLOSE)
            return
        wanted, labels = model.predict_proba(X), model.predict(X)
    label, probabilities = found
    assert probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities, wanted, rtol=0, atol=CLOSE)
    ordered = np.sort(wanted, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > CLOSE
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(label[clear], labels[clear])


@pytest.mark.parametrize("name", NAMES)
def test_every_model_with_probabilities(name):
    model, X = fitted()[name]
    if not has_graph(model):
        with pytest.raises(OnnxExportError, match="has no probabilities"):
            to_onnx(model)
        return
    agrees(model, X)
    new = other_rows().get(name)
    if new is not None and name != "svc, precomputed":
        agrees(model, new)


def test_every_classifier_with_probabilities_is_among_them():
    """A class without a graph of its own here would be exported, or refused, untested."""
    told = {kind.__name__ for kind in public_estimators() if "predict_proba" in dir(kind)}
    told |= {"GeneralizedLinearModel"}
    assert len(told) > 15
    assert told == {type(model).__name__ for model, _ in fitted().values() if has_graph(model)} - {"Pipeline"}


def test_what_the_probabilities_of_a_loaded_model_are(tmp_path):
    model, X = fitted()["nb, frame"]
    save(model, tmp_path / "model")
    agrees(load(tmp_path / "model"), X)
    to_onnx(model, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == to_onnx(model)


# ---- names, labels, missing cells ----


@pytest.mark.parametrize(
    ("labels", "kind"),
    [(["no", "yes"], "string"), ([3, 7], "int64"), ([0.0, 1.0], "double"), ([False, True], "bool")],
)
def test_labels_keep_their_kind(labels, kind):
    t = Tables(3)
    y = np.array(labels)[t.apart]
    model = GaussianNB().fit(t.X, y)
    runs = session(to_onnx(model))
    assert [o.name for o in runs.get_outputs()] == ["label", "probabilities"]
    assert runs.get_outputs()[0].type == f"tensor({kind})"
    assert runs.get_inputs()[0].shape[1] == 3
    np.testing.assert_array_equal(runs.run(["label"], {"X": t.X})[0], model.predict(t.X))


def test_words_as_labels_in_an_array_of_objects():
    t = Tables(3)
    agrees(GaussianNB().fit(t.X, t.two.astype(object)), t.X)
    with pytest.raises(OnnxExportError, match="several kinds"):
        to_onnx(GaussianNB().fit(t.X, np.array([1 if v == "a" else "z" for v in t.two], dtype=object)))


def test_levels_and_values_that_were_never_seen():
    t = Tables(3)
    model = NaiveBayes().fit(t.frame, t.two)
    new = t.frame.head(4).assign(
        sky=["purple", "grey", None, ""], n=[2, -5, 3, 0], x=[-1.0, 2.0, np.nan, 0.5]
    )
    with pytest.warns(UserWarning, match="left out"):
        model.predict(new)
    agrees(model, new.assign(sky=["purple", "grey", None, "clear"]))
    tree = fitted()["tree, levels"][0]
    agrees(tree, Tables(5).frame.assign(sky="purple"))
    categories = CategoricalNB().fit(t.counts, t.three)
    agrees(categories, np.vstack([t.counts[:9], [[40.0, 3.0, np.nan]]]))


def test_missing_cells_are_answered():
    t = Tables(3)
    holes = t.holes
    for model in (GaussianNB(), NaiveBayes(), DecisionTreeClassifier(), BaggingClassifier(n_estimators=3)):
        agrees(model.fit(holes, t.three), np.vstack([holes, np.full((1, 3), np.nan)]))
    runs = session(to_onnx(LogisticRegression().fit(t.X, t.three)))
    assert np.isnan(runs.run(["probabilities"], {"X": np.full((1, 3), np.nan)})[0]).all()


@pytest.mark.parametrize("trained", ["holes", "X"])
@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(),
        GaussianDiscriminant("diagonal"),
        GaussianDiscriminant("spherical"),
        GaussianDiscriminant({0: "u", 1: "u", 2: "v"}),
    ],
)
def test_densities_of_the_cells_that_are_there(model, trained):
    t, draw = Tables(3), np.random.default_rng(0)
    X = getattr(t, trained)
    wide = np.hstack([X, X[:, :1] * 1e4 + draw.normal(size=(60, 1)), np.full((60, 1), 3.0)])
    wide = np.where(draw.random(wide.shape) < (0.1 if trained == "holes" else 0.0), np.nan, wide)
    wide[:, 4] = 3.0  # a column that never varies
    new = np.where(draw.random(wide.shape) < 0.3, np.nan, wide)
    new[0] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(wide, t.three)
    agrees(model, wide)
    agrees(model, new)
    assert np.isfinite(session(to_onnx(model)).run(["probabilities"], {"X": new})[0]).all()


def test_missing_cells_in_very_many_columns():
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(300, 61)), np.arange(300) % 2
    model = LinearDiscriminantAnalysis().fit(X, y)
    agrees(model, X)
    assert np.isnan(session(to_onnx(model)).run(["probabilities"], {"X": X * np.nan})[0]).all()
    X[::3, 0] = np.nan
    with pytest.raises(OnnxExportError, match="in 61 columns, and its graph answers such rows in 60 at most"):
        to_onnx(LinearDiscriminantAnalysis().fit(X, y))


def test_probabilities_far_out_keep_their_digits():
    t = Tables(3)
    model = LogisticRegression().fit(t.X, t.two)
    far = t.X * np.array([[300.0, -200.0, 100.0]])
    runs = session(to_onnx(model))
    np.testing.assert_allclose(
        runs.run(["probabilities"], {"X": far})[0], model.predict_proba(far), rtol=1e-9
    )


def test_columns_of_another_size():
    """Products with scalars are not fused into factors of single precision."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) * [1e-3, 1, 1e3, 1e5] + [0, 5, 1e4, 1e6]
    y = np.digitize(X[:, 1] + 1e-5 * (X[:, 3] - 1e6) + rng.normal(size=80), [4, 6])
    scaled = (X - X.mean(0)) / X.std(0)
    for kernel in ("poly", "sigmoid", "rbf"):
        agrees(SVC(kernel=kernel, calibrate="isotonic", gamma=0.137).fit(scaled, y), scaled)
    for model in (BayesianLogisticRegression(), LinearDiscriminantAnalysis(), GaussianNB()):
        agrees(model.fit(X, y), X)


def test_many_classes_are_coupled():
    rng = np.random.default_rng(0)
    y = np.arange(140) % 7
    X = rng.normal(size=(140, 3)) + np.eye(7)[y] @ rng.normal(size=(7, 3)) * 2
    agrees(SVC(calibrate="sigmoid").fit(X, y), X)


# ---- what comes before the model ----


def test_an_encoder_given_apart_is_the_same_as_a_pipeline():
    t = Tables(3)
    encoder = make_column_transformer((StandardScaler(), ["x", "n"]), (OneHotEncoder(drop="first"), ["sky"]))
    model = LogisticRegression().fit(encoder.fit_transform(t.full), t.two)
    runs = session(to_onnx(model, encoder=encoder))
    assert {i.name: i.type for i in runs.get_inputs()} == {
        "sky": "tensor(string)", "n": "tensor(double)", "x": "tensor(double)"
    }  # fmt: skip
    found = runs.run(["probabilities"], onnx_inputs(model, t.full, encoder=encoder))[0]
    np.testing.assert_allclose(found, model.predict_proba(encoder.transform(t.full)), atol=1e-12)


def test_a_level_for_missing_cells():
    t = Tables(3)
    encoder = make_column_transformer((OneHotEncoder(), ["sky"]), remainder="drop")
    agrees(make_pipeline(encoder, LogisticRegression()).fit(t.frame, t.two), t.frame)


def test_numbers_as_categories_of_a_whole_table():
    t = Tables(3)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(t.counts, t.three)
    agrees(model, np.vstack([t.counts, [[99.0, 0.0, 1.0]]]))


def test_pipelines_in_bags():
    t = Tables(3)
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    for options in ({}, {"max_features": 2}, {"voting": "hard"}):
        agrees(BaggingClassifier(scaled, n_estimators=3, **options).fit(t.X, t.three), t.X)


def test_the_tensors_of_rows_that_are_no_frame():
    t = Tables(3)
    model = GaussianNB().fit(t.X, t.two)
    for rows in (t.X, sp.csr_matrix(t.X), t.X.tolist(), pd.DataFrame(t.X)):
        np.testing.assert_array_equal(onnx_inputs(model, rows)["X"], t.X)
    words = np.array([["sun", 1.5], [None, np.nan], ["rain", 2]], dtype=object)
    pipe = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(
        np.array([["sun", "u"], ["rain", "v"], ["sun", "v"]], dtype=object), [0, 1, 0]
    )
    with pytest.raises(OnnxExportError, match=r"'x1' held words in training and holds 1\.5: spell it"):
        onnx_inputs(pipe, words)
    given = onnx_inputs(pipe, np.array([["sun", "u"], [None, "w"]], dtype=object))
    assert {k: v.tolist() for k, v in given.items()} == {"x0": [["sun"], [""]], "x1": [["u"], ["w"]]}
    with pytest.raises(OnnxExportError, match=r"X has shape \(3, 1\): give 2 columns"):
        onnx_inputs(pipe, words[:, :1])
    with pytest.raises(OnnxExportError, match="lacks 'sky'"):
        onnx_inputs(fitted()["pipeline, words"][0], t.full.drop(columns="sky"))


class Halved(BaseEstimator):
    """A transformer with a piece of its own."""

    n_features_in_ = 3

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X)[:, :2] / 2

    def to_onnx_nodes(self, graph, cells):
        return Cells.matrix(graph, graph.mul(cells.some([0, 1]).numbers(), 0.5))

    def __sklearn_is_fitted__(self):
        return True


def test_a_transformer_may_bring_its_own_piece():
    t = Tables(3)
    model = LogisticRegression().fit(Halved().transform(t.X), t.two)
    found = session(to_onnx(model, encoder=Halved())).run(["probabilities"], {"X": t.X})[0]
    np.testing.assert_allclose(found, model.predict_proba(Halved().transform(t.X)), atol=1e-12)


# ---- what has no graph ----


def test_without_onnx_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"separatrix\[onnx\]"):
        to_onnx(fitted()["pipeline"][0])


def refused():
    t = Tables(3)
    X, y = t.X, t.two
    words = ["a dog", "a cat"] * 5
    frame = pd.DataFrame(X, columns=["y", "a", "b"])
    endless = LogisticRegression().fit(X, y)
    endless.coef_ = np.full((1, 3), np.inf)
    return {
        "draws random numbers": BayesianLogisticRegression(predictive="monte_carlo").fit(X, y),
        "kernel of your own": SVC(kernel=lambda a, b: a @ b.T, calibrate="sigmoid").fit(X, y),
        'say calibrate="sigmoid"': LinearSVC().fit(X, y),
        "Perceptron has no probabilities": Perceptron().fit(X, y),
        "LogisticRegression of sklearn has no form": make_pipeline(
            StandardScaler(), BaggingClassifier(Foreign())
        ).fit(X, y),
        "not finite": endless,
        "CountVectorizer has no form": make_pipeline(CountVectorizer(), LogisticRegression()).fit(
            words, [0, 1] * 5
        ),
        "a function of yours": make_pipeline(FunctionTransformer(np.log), LogisticRegression()).fit(X, y),
        "a formula is code": GeneralizedLinearModel.from_formula("y ~ a + b", frame),
    }


@pytest.mark.parametrize("sentence", [
    "draws random numbers", "kernel of your own", 'say calibrate="sigmoid"', "Perceptron has no probabilities",
    "LogisticRegression of sklearn has no form", "not finite", "CountVectorizer has no form", "a function of yours",
    "a formula is code",
])  # fmt: skip
def test_what_cannot_be_said_in_a_graph_is_refused(sentence):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = refused()[sentence]
    with pytest.raises(OnnxExportError, match=sentence):
        to_onnx(model)
