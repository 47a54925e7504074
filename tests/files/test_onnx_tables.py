"""Pipelines that begin with a TableEncoder give in onnxruntime what they give here; dates and text are refused."""

import warnings

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline

from separatrix import (
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    GeneralizedLinearModel,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    NaiveBayes,
)
from separatrix.files.graph import OnnxExportError
from separatrix.files.onnx import to_onnx
from separatrix.tables.encode import TableEncoder

CLOSE = 1e-6
READ = ["sky", "t1", "wet", "c0", "town", "zip", "legs"]  # the row's number and the planet are left out


def mixed(n=300, seed=0):
    """Numbers, words, booleans, codes; missing cells in t1, sky and legs; rare towns; names that graphs use too."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "row": np.arange(1, n + 1),
            "sky": draw.choice(["sun", "rain", "snow"], n).astype(object),
            "t1": draw.normal(50.0, 9.0, n),
            "wet": draw.random(n) < 0.4,
            "planet": 3,
            "c0": draw.gamma(2.0, 1e4, n),
            "town": draw.choice(["Bonn", "Köln", "Ulm", "Zug", "Ems"], n, p=[0.5, 0.3, 0.19, 0.005, 0.005]),
            "zip": draw.choice([10115, 53111, 89073], n),
            "legs": draw.integers(0, 5, n).astype(float),
        }
    )
    score = (frame["t1"] - 50) / 9 + frame["wet"] - (frame["sky"] == "snow") + draw.normal(0, 0.7, n)
    y = np.array(["low", "mid", "high"])[np.digitize(score, [-0.5, 0.8])]
    frame.loc[::7, "t1"] = np.nan
    frame.loc[3::11, "sky"] = None
    frame.loc[5::13, "legs"] = np.nan
    return frame, y


def new_rows():
    """Levels that training never saw, and missing cells where it had none."""
    frame = mixed(60, seed=1)[0]
    frame["wet"] = frame["wet"].astype(object)
    frame["zip"] = frame["zip"].astype(float)
    frame.loc[:9, "sky"] = "hail"
    frame.loc[5:14, "town"] = "Rom"
    frame.loc[12:16, "town"] = None
    frame.loc[15:19, "wet"] = None
    frame.loc[18:24, "c0"] = np.nan
    frame.loc[20:24, "zip"] = 12345.0
    frame.loc[24:28, "zip"] = np.nan
    frame.loc[30:32, ["t1", "c0", "legs"]] = np.nan
    return frame


def spelled(value):
    if pd.isna(value):
        return ""
    return str(int(value)) if isinstance(value, float) else str(value)


def answer(model, frame, **given):
    runs = onnxruntime.InferenceSession(to_onnx(model, **given), providers=["CPUExecutionProvider"])
    fed = {
        i.name: np.array([[spelled(v)] for v in frame[i.name]], dtype=object)
        if i.type == "tensor(string)"
        else frame[[i.name]].to_numpy(dtype=np.float64)
        for i in runs.get_inputs()
    }
    assert all(i.shape[1] == 1 for i in runs.get_inputs())
    return [i.name for i in runs.get_inputs()], runs.run(None, fed)


def agrees(model, *frames):
    for frame in frames:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # words on levels never seen
            wanted, labels = model.predict_proba(frame), model.predict(frame)
        names, (label, found) = answer(model, frame)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=CLOSE)
        ordered = np.sort(wanted, axis=1)
        clear = ordered[:, -1] - ordered[:, -2] > CLOSE  # of classes equally probable it may name another
        assert clear.mean() > 0.5
        np.testing.assert_array_equal(label[clear], labels[clear])
        assert len(np.unique(found.round(6), axis=0)) > 3
    return names


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


# ---- what has no graph ----


def extra(kind):
    n = 300
    return {
        "text": pd.Series([f"the {i} grey geese flew over the {i * 7} old houses" for i in range(n)]),
        "date": pd.Series(pd.date_range("2020-01-01", periods=n, freq="D")),
        "sparse": pd.Series(pd.arrays.SparseArray(np.where(np.arange(n) % 9, 0.0, 2.0), fill_value=0.0)),
    }[kind]


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("text", "'extra' holds text"), ("date", "'extra' holds dates"), ("sparse", "'extra' holds sparse")],
)
def test_text_dates_and_sparse_columns_are_refused_by_name(kind, sentence):
    frame, y = mixed()
    frame["extra"] = extra(kind)
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, y)
    with pytest.raises(OnnxExportError, match=sentence):
        to_onnx(model)
    out = make_pipeline(TableEncoder(kinds={"extra": "constant"}), LogisticRegression()).fit(frame, y)
    assert agrees(out, frame) == READ


def test_text_that_the_native_form_leaves_out_is_no_input():
    frame, y = mixed()
    frame["extra"] = extra("text")
    assert agrees(make_pipeline(TableEncoder(form="native"), NaiveBayes()).fit(frame, y), frame) == READ


def test_counts_other_places_and_taken_names_are_refused():
    frame, y = mixed()
    counts = TableEncoder(form="counts").fit(frame)
    model = LogisticRegression().fit(counts.transform(frame), y)
    with pytest.raises(OnnxExportError, match='form "counts"'):
        to_onnx(model, encoder=counts)
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
