"""Pipelines that begin with a TableEncoder or a TextFeatures give in onnxruntime what they give here."""

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline

from separatrix import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    GaussianNB,
    GeneralizedLinearModel,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
)
from separatrix.files.graph import OnnxExportError
from separatrix.files.onnx import to_onnx
from separatrix.files.onnx_inputs import onnx_inputs
from separatrix.files.onnx_tables import table_inputs
from separatrix.tables.encode import TableEncoder
from tests.files.by_graph import (
    CLOSE,
    READ,
    agrees,
    answer,
    dated,
    letters,
    mixed,
    new_rows,
    same_matrix,
    session,
    spelled,
)

MODELS = {
    "logistic": LogisticRegression(),
    "lda": LinearDiscriminantAnalysis(),
    "svc": LinearSVC(calibrate="sigmoid"),
    "trees": ExtraTreesClassifier(n_estimators=20, max_depth=6, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_the_pipeline_says_of_old_and_new_rows(name):
    frame, y = mixed()
    model = make_pipeline(TableEncoder(), MODELS[name]).fit(frame, y)
    assert {"town=other", "sky is missing", "t1 is missing", "wet=True"} <= set(
        model[0].get_feature_names_out()
    )
    assert agrees(model, frame, new_rows()) == READ


@pytest.mark.parametrize(
    "options",
    [
        {"drop": "first"},
        {"drop": None, "rare": 1},
        {"standardize": False, "max_levels": 2},
        {"kinds": {"legs": "nominal", "t1": "constant"}},
    ],
)
def test_every_option_of_the_encoder(options):
    """The matrix itself, by a model that shows every column of it."""
    frame, y = mixed()
    model = make_pipeline(TableEncoder(**options), LogisticRegression(C=10.0)).fit(frame, y)
    assert (np.abs(model[-1].coef_).max(axis=0) > CLOSE).all()
    names = agrees(model, frame, new_rows())
    assert ("t1" in names) == ("kinds" not in options)


def test_numbers_alone_and_words_alone():
    frame, y = mixed()
    for names in (["t1", "legs", "c0"], ["c0", "sky"], ["sky", "town"]):
        agrees(make_pipeline(TableEncoder(), LogisticRegression()).fit(frame[names], y), frame, new_rows())


@pytest.mark.parametrize("max_levels", [100, 2])
def test_the_native_form(max_levels):
    frame, y = mixed()
    for last in (NaiveBayes(), DecisionTreeClassifier(max_depth=4, categorical_features="from_dtype")):
        encoder = TableEncoder(form="native", max_levels=max_levels)
        assert agrees(make_pipeline(encoder, last).fit(frame, y), frame, new_rows()) == READ


def test_a_column_that_was_empty_in_training():
    frame, y = mixed()
    frame["never"] = pd.Series([None] * len(frame), dtype=object)
    new = new_rows().assign(never="word")
    for form, last in (("linear", LogisticRegression()), ("native", NaiveBayes())):
        encoder = TableEncoder(form=form, kinds={"never": "nominal"})
        assert "never" in agrees(make_pipeline(encoder, last).fit(frame, y), frame, new)


def test_the_tensors_of_a_frame():
    frame, y = mixed()
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, y)
    new = new_rows()
    fed = onnx_inputs(model, new)
    for name in READ:
        if fed[name].dtype == object:
            assert fed[name].tolist() == [[spelled(v)] for v in new[name]]
        else:
            np.testing.assert_array_equal(fed[name], new[[name]].to_numpy(dtype=np.float64))
    with pytest.raises(OnnxExportError, match="the frame: the table lacks 'sky'; give the columns"):
        onnx_inputs(model, new.drop(columns="sky"))


def test_a_polars_frame_gives_the_same_tensors():
    polars = pytest.importorskip("polars")
    frame, y = everything()
    frame = frame.drop(columns=["rare", "seldom"])
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, y)
    here, there = (onnx_inputs(model, f) for f in (frame, polars.from_pandas(frame)))
    assert list(here) == list(there)
    for name, wanted in here.items():
        np.testing.assert_array_equal(there[name], wanted)


def test_an_encoder_apart_or_in_a_pipeline_of_its_own():
    frame, y = mixed()
    encoder = TableEncoder().fit(frame)
    model = LogisticRegression().fit(encoder.transform(frame), y)
    wanted = model.predict_proba(encoder.transform(new_rows()))
    names, (_, found) = answer(model, new_rows(), encoder=encoder)
    assert names == READ
    np.testing.assert_allclose(found, wanted, rtol=0, atol=CLOSE)
    inside = make_pipeline(make_pipeline(TableEncoder()), LogisticRegression()).fit(frame, y)
    assert agrees(inside, frame, new_rows()) == READ


def test_an_empty_text_that_is_a_level():
    frame, y = mixed()
    frame["town"] = frame["town"].replace("Bonn", "")
    agrees(make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, y), frame)
    frame.loc[::9, "town"] = None
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, y)
    with pytest.raises(OnnxExportError, match="'town' has missing cells and the level ''"):
        to_onnx(model)


# ---- sparse columns ----


def scattered(n=200, seed=0):
    draw = np.random.default_rng(seed)
    cells = np.where(draw.random((n, 6)) < 0.2, draw.integers(1, 9, (n, 6)), 0).astype(float)
    frame = pd.DataFrame(
        {f"w{j}": pd.arrays.SparseArray(cells[:, j], fill_value=0.0) for j in range(6)}
        | {"z": cells[:, 0] * 0.5}
    )
    frame["z"] += draw.normal(size=n)
    y = (cells[:, 0] - cells[:, 3] + frame["z"] + draw.normal(size=n) > 0).astype(int)
    return frame, y


@pytest.mark.parametrize("form", ["linear", "counts", "native"])
def test_sparse_columns_are_one_tensor(form):
    frame, y = scattered()
    encoder = TableEncoder(form=form).fit(frame)
    given = {i.name: i for i in table_inputs(encoder)}
    assert given["sparse"].columns == tuple(f"w{j}" for j in range(6)) and given["sparse"].width == 6
    new = scattered(50, seed=1)[0]
    last = {"linear": LogisticRegression(), "counts": MultinomialNB(), "native": GaussianNB()}[form]
    model = make_pipeline(TableEncoder(form=form), last).fit(frame, y)
    agrees(model, frame, new, new.astype(float))
    fed = onnx_inputs(model, new)
    np.testing.assert_array_equal(fed["sparse"], new[[f"w{j}" for j in range(6)]].to_numpy(dtype=float))
    runs = session(to_onnx(model))
    assert {i.name: i.shape[1] for i in runs.get_inputs()}["sparse"] == 6
    if form != "native":
        same_matrix(encoder, frame, new)


def test_sparse_columns_that_are_not_side_by_side():
    frame, y = scattered()
    frame = frame[["w0", "w1", "z", "w2", "w3", "w4", "w5"]]
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, y)
    agrees(model, frame, scattered(50, seed=1)[0])


def test_a_missing_cell_of_a_sparse_column():
    frame, y = scattered()
    new = scattered(50, seed=1)[0].astype(float)
    new.loc[::4, ["w0", "w3"]] = np.nan
    agrees(make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, y), new)
    agrees(make_pipeline(TableEncoder(form="native"), NaiveBayes()).fit(frame, y), new)


# ---- all kinds at once ----


def everything(n=240, seed=0):
    frame, y = mixed(n, seed)
    draw = np.random.default_rng(seed + 100)
    frame.insert(2, "note", letters(n, seed)[0])
    frame.insert(5, "when", dated(n, seed)[0]["stamp"])
    for name in ("rare", "seldom"):
        cells = np.where(draw.random(n) < 0.2, draw.integers(1, 9, n), 0).astype(float)
        frame[name] = pd.arrays.SparseArray(cells, fill_value=0.0)
    return frame, y


def test_every_kind_of_column_together():
    frame, y = everything()
    new = everything(60, seed=1)[0]
    new.loc[::5, ["note", "when", "sky", "town"]] = None
    read = ["sky", "note", "t1", "wet", "when", "c0", "town", "zip", "legs", "sparse"]
    for form, last, gone in (
        ("linear", LogisticRegression(), set()),
        ("linear", LinearSVC(calibrate="sigmoid"), set()),
        ("native", NaiveBayes(), {"note"}),
        (
            "native",
            ExtraTreesClassifier(n_estimators=5, max_depth=4, categorical_features="from_dtype"),
            {"note"},
        ),
        ("counts", MultinomialNB(), {"t1", "when", "c0", "legs"}),
    ):
        model = make_pipeline(TableEncoder(form=form), last).fit(frame, y)
        assert agrees(model, frame, new) == [name for name in read if name not in gone]
    same_matrix(TableEncoder().fit(frame), frame, new)
    same_matrix(TableEncoder(form="counts").fit(frame), frame, new)


def test_what_each_tensor_holds_is_said():
    frame, y = everything()
    data = to_onnx(make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, y))
    said = session(data).get_modelmeta().custom_metadata_map
    assert said["when"].startswith("microseconds since 1970-01-01T00:00 by the clock of the column")
    assert said["sparse"] == "numbers, NaN where missing: rare, seldom"
    assert said["note"] == "texts, empty where missing"
    assert said["t1"] == "numbers, NaN where missing"
    assert {i.name: i.doc_string for i in onnx.load_from_string(data).graph.input} == said
    assert {i.name: i.type for i in session(data).get_inputs()}["when"] == "tensor(int64)"


# ---- what has no graph ----


def test_columns_may_be_left_out():
    frame, y = everything()
    left = dict.fromkeys(("note", "when", "rare", "seldom"), "constant")
    model = make_pipeline(TableEncoder(kinds=left), LogisticRegression()).fit(frame, y)
    assert agrees(model, frame) == READ


def test_other_places_and_taken_names_are_refused():
    frame, y = mixed()
    inner = make_column_transformer((TableEncoder(), ["sky", "t1"]))
    with pytest.raises(OnnxExportError, match="put it first in the pipeline"):
        to_onnx(make_pipeline(inner, LogisticRegression()).fit(frame, y))
    named = frame.rename(columns={"t1": "mean"})
    agrees(
        make_pipeline(TableEncoder(), LogisticRegression()).fit(named, y), new_rows().assign(mean=1.0), named
    )
    rate = make_pipeline(TableEncoder(), GeneralizedLinearModel(family="poisson"))
    with pytest.raises(OnnxExportError, match="'mean' has a name that is taken"):
        to_onnx(rate.fit(named, np.arange(len(named)) % 4))
    twice = everything()[0].rename(columns={"t1": "sparse"})
    with pytest.raises(OnnxExportError, match="'sparse' has a name that is taken"):
        to_onnx(make_pipeline(TableEncoder(), LogisticRegression()).fit(twice, everything()[1]))
