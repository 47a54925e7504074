"""Pipelines that begin with a TableEncoder or a TextFeatures give in onnxruntime what they give here."""

import warnings
from functools import cache
from itertools import product

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import shared
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
from separatrix.files import onnx_text
from separatrix.files.graph import IR, MISSING, Cells, Graph, OnnxExportError
from separatrix.files.onnx import to_onnx
from separatrix.files.onnx_dates import Moments
from separatrix.files.onnx_inputs import onnx_inputs
from separatrix.files.onnx_letters import runs_of
from separatrix.files.onnx_tables import table, table_inputs
from separatrix.tables.encode import TableEncoder
from separatrix.tables.learned import date_parts
from separatrix.tables.text import TextFeatures

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


def session(data):
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


def answer(model, frame, **given):
    runs = session(to_onnx(model, **given))
    fed = onnx_inputs(model, frame, **given)
    assert list(fed) == [i.name for i in runs.get_inputs()]
    return list(fed), runs.run(None, fed)


def of_graph(pieces, inputs):
    """A session of graph pieces: name → tensor, after inputs: (name, type)."""
    g, pieces = pieces
    for name, tensor in pieces.items():
        g.nodes.append(onnx.helper.make_node("Identity", [tensor], [name]))
    made = onnx.helper.make_graph(
        g.nodes,
        "pieces",
        [onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in inputs],
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, None) for name in pieces],
        g.constants,
    )
    model = onnx.helper.make_model(made, opset_imports=g.versions(), ir_version=IR)
    return session(model.SerializeToString())


def matrix_by_graph(encoder, frame):
    """What the piece of an encoder makes of a frame."""
    g, given = Graph(), table_inputs(encoder)
    g.reserve([i.name for i in given])
    made = table(g, encoder, Cells.given(g, given)).numbers()
    runs = of_graph((g, {"made": made}), [(i.name, i.type()) for i in given])
    model = make_pipeline(encoder, LogisticRegression())
    model.steps[-1][1].fit(np.eye(2), [0, 1])
    return runs.run(None, onnx_inputs(model, frame))[0]


def dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def same_matrix(encoder, *frames):
    for frame in frames:
        np.testing.assert_allclose(
            matrix_by_graph(encoder, frame), dense(encoder.transform(frame)), rtol=0, atol=1e-12
        )


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


# ---- dates ----


SECOND, DAY = 10**6, 86_400 * 10**6
YEAR_1, YEAR_9999 = (int(np.datetime64(day, "us").astype(np.int64)) for day in ("0001-01-01", "9999-12-31"))
PARTS = [
    "year",
    "days",
    *(f"{what} {wave}" for what in ("month", "weekday", "hour") for wave in ("sin", "cos")),
]


@cache
def calendar():
    g = Graph()
    moments = Moments(g, "when", 7 * DAY + 5)
    made = {name.replace(" ", "_"): moments.part(name) for name in PARTS}
    made |= {"_month": g.double(moments.month()), "_weekday": g.double(moments.weekday())}
    return of_graph((g, made), [("when", onnx.TensorProto.INT64)])


def same_dates(moments):
    moments = np.asarray(moments, dtype=np.int64)
    runs = calendar()
    found = runs.run(None, {"when": moments[:, None]})
    wanted = date_parts(moments.astype("datetime64[us]"), 7 * DAY + 5)
    for output, got in zip(runs.get_outputs(), found, strict=True):
        name = output.name if output.name.startswith("_") else output.name.replace("_", " ")
        np.testing.assert_allclose(got[:, 0], wanted[name], rtol=1e-15, atol=1e-15)


@given(st.lists(st.integers(YEAR_1, YEAR_9999 + DAY - 1) | st.just(MISSING), min_size=1, max_size=30))
def test_dates_of_every_year(moments):
    same_dates(moments)


def test_every_day_of_four_centuries_and_the_edges_of_64_bits():
    start = int(np.datetime64("1600-02-27", "us").astype(np.int64))
    midnights = start + DAY * np.arange(146_097 + 4)
    same_dates(midnights)
    same_dates(midnights - 1)
    same_dates([MISSING + 2 * DAY, -1, 0, 1, 2**63 - 1 - 8 * DAY])


def dated(n=240, seed=0):
    """Dates with hours, without, in a zone with summer time, far off, and one that never varies."""
    draw = np.random.default_rng(seed)
    stamp = pd.to_datetime("2023-03-20") + pd.to_timedelta(draw.integers(0, 10**7, n), unit="s")
    years = draw.integers(YEAR_1 // DAY, YEAR_9999 // DAY, n) * DAY
    frame = pd.DataFrame(
        {
            "day": pd.Series(stamp.normalize()),
            "stamp": pd.Series(stamp).where(draw.random(n) < 0.9),
            "zoned": pd.Series(stamp.tz_localize("UTC").tz_convert("Europe/Berlin")),
            "far": pd.Series(years.astype("datetime64[us]")),
            "once": pd.Series(pd.to_datetime(["1969-07-20"] * n)).where(draw.random(n) < 0.5),
            "x": draw.normal(size=n),
        }
    )
    y = np.where(frame["x"] + (stamp.day_of_week >= 5) + draw.normal(0, 0.5, n) > 0.3, "go", "stay")
    return frame, y


def undated(frame):
    new = frame.copy()
    new.loc[::3, ["day", "zoned", "far", "once"]] = None
    return new


@pytest.mark.parametrize("standardize", [True, False])
def test_the_numbers_of_dates(standardize):
    frame, _ = dated()
    encoder = TableEncoder(standardize=standardize).fit(frame)
    assert {"stamp hour sin", "stamp is missing", "far year", "zoned hour cos", "day weekday sin"} <= set(
        encoder.get_feature_names_out()
    )
    same_matrix(encoder, frame, dated(90, seed=1)[0], undated(frame))


def test_what_pipelines_say_of_dates():
    frame, y = dated()
    for encoder, last in (
        (TableEncoder(), LogisticRegression()),
        (TableEncoder(form="native"), NaiveBayes()),
        (TableEncoder(form="native"), DecisionTreeClassifier(max_depth=5, categorical_features="from_dtype")),
        (TableEncoder(form="counts", kinds={"x": "discrete"}), None),
    ):
        if last is None:
            with pytest.raises(ValueError, match="no column is left"):
                encoder.fit(frame)
            continue
        model = make_pipeline(encoder, last).fit(frame, y)
        names = agrees(model, frame, dated(90, seed=1)[0], undated(frame))
        assert names == ["day", "stamp", "zoned", "far", "once", "x"]


def test_dates_that_were_all_missing_in_training():
    frame, y = dated()
    frame["never"] = pd.Series([pd.NaT] * len(frame))
    new = frame.assign(never=pd.Timestamp("2020-02-29"))
    for encoder, last in (
        (TableEncoder(kinds={"never": "date"}), LogisticRegression()),
        (TableEncoder(form="native", kinds={"never": "date"}), NaiveBayes()),
        (
            TableEncoder(form="native", kinds={"never": "date"}),
            DecisionTreeClassifier(max_depth=5, categorical_features="from_dtype"),
        ),
    ):
        assert "never" in agrees(make_pipeline(encoder, last).fit(frame, y), frame, new)


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


# ---- text ----


GREEK, TURKISH = "ΟΔΟΣ.ΑΒ ΟΔΟΣ'ΑΒ οδος οδοσ ΣΑΣ ΑΣ Ὀδυσσεύς", "İstanbul i̇stanbul ISPARTA ısı İİ Iİ"
DOCUMENTS = [
    "The cat sat on the mat, and the dog sat on the cat.",
    "A dog's life: don't you know it's i.e. x_y 12_3 1² ½ Ⅳ ٣٤?",
    f"{GREEK} ab",
    f"{TURKISH} été ÉTÉ naïve Straße STRASSE ß ẞ",
    "中文 字 가나다 ＦＵＬＬ ⓐⓑ ªº \U00010400\U00010428 K \u212a ﬁx ǅ",
    "soft\u00adhyphen zero\u200dwidth e\u0301te\u0301 line\u2028end tab\tnew\nline\x1cfile\x85next",
]
BAGS = {
    "counts": {},
    "binary": {"weighting": "binary", "stop_words": "en"},
    "tf-idf": {"weighting": "tf-idf", "min_df": 1, "max_features": 30},
    "as written": {"lowercase": False, "weighting": "tf-idf"},
    "blanks": {"token_pattern": r"\S+"},
    "letters": {"token_pattern": r"[^\W\d_]+", "ngram_range": (1, 2)},
    "bounded": {
        "token_pattern": r"(?u)\b[a-zéσς]{2,}\b",
        "ngram_range": (1, 3),
        "stop_words": ["sat", "ab", "it"],
    },
    "no digits": {"token_pattern": r"\D+"},
    "Greek": {"token_pattern": r"[α-ς]{2,}", "weighting": "binary"},
    "runs": {"ngram_range": (2, 3), "stop_words": ["en", "de"], "weighting": "tf-idf"},
    "one": {"token_pattern": r"\b\w+", "ngram_range": (1, 2)},
}


@cache
def bag_of(name):
    features = TextFeatures(**BAGS[name]).fit(DOCUMENTS)
    g = Graph()
    return features, of_graph(
        (g, {"made": onnx_text.bags(g, features, "X")}), [("X", onnx.TensorProto.STRING)]
    )


def same_bags(name, documents):
    features, runs = bag_of(name)
    found = runs.run(None, {"X": np.array(documents, dtype=object).reshape(-1, 1)})[0]
    np.testing.assert_allclose(found, features.transform(documents).toarray(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", BAGS)
def test_bags_of_known_and_unknown_words(name):
    new = [*DOCUMENTS, *(d.upper() for d in DOCUMENTS), *(d.title() for d in DOCUMENTS)]
    same_bags(name, [*new, " ".join(new) * 3, "xy" * 5000 + " cat"])
    for documents in ([], [""], ["", "..."], ["qwertz", "", "cat"], ["\0cat\0sat"]):
        same_bags(name, documents)
    assert bag_of(name)[0].transform(new).sum() > 10


PIECES = st.sampled_from([w for d in DOCUMENTS for w in d.split(" ")]) | st.sampled_from(
    " .'·:\u0345ʰ²_ΣσςİiIı "
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=12).flatmap(
    lambda words: st.sampled_from(["", " "]).map(lambda between: between.join(words))
)


@pytest.mark.parametrize("name", BAGS)
@given(documents=st.lists(TEXTS, max_size=5))
@settings(deadline=None)
@example(documents=["ΑΣ ΑΣ. ΑΣ'Α οδοΣ ΣΑ Σ αʰΣ Σʰα", "aΣ\u00ad", "\u0345Σ", "a.Σ"])
def test_bags_of_any_text(name, documents):
    same_bags(name, documents)


def test_words_with_the_same_sum_of_letters_are_told_apart(monkeypatch):
    """Weights so small that words never met have the sums of known ones: their letters are compared."""
    monkeypatch.setattr(onnx_text, "BITS", 12)
    words = ["".join(w) for w in product("abcdefghijklmnop", repeat=3)]
    draw = np.random.default_rng(0).permutation(len(words))
    met, others = [words[i] for i in draw[:100]], [words[i] for i in draw[100:]]
    features = TextFeatures().fit([" ".join(met)])
    known = onnx_text._Known.of(features)
    r, h = known.weights()
    sums = [sum(known.alphabet[c] * r[i] for i, c in enumerate(word)) for word in others]
    assert len(set(sums) & set(h.tolist())) > 3
    g = Graph()
    runs = of_graph((g, {"made": onnx_text.bags(g, features, "X")}), [("X", onnx.TensorProto.STRING)])
    found = runs.run(None, {"X": np.array([[" ".join(words)], [" ".join(others)]], dtype=object)})[0]
    assert found.tolist() == [[1.0] * 100, [0.0] * 100]


@pytest.mark.parametrize(
    "pattern",
    [r"\w*", r"[a-z]\w+", r"\w+|\d+", r"\w{2,5}", r"\b[a-z]+", r"\b\S+\b", r"\w+?", "cat", r"(?i)[a-z]+"],
)
def test_patterns_that_are_no_runs_are_refused(pattern):
    with pytest.raises(OnnxExportError, match="runs of one class"):
        runs_of(pattern)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"stem": "english"}, "only the stemmer knows the stem; fit it with stem=None"),
        ({"headers": "strip"}, 'fit with headers="keep"'),
        ({"headers": ("subject",)}, "without_headers"),
        ({"token_pattern": r"[a-z]+|\d"}, "runs of one class"),
        ({"token_pattern": r"[\w ]+", "ngram_range": (1, 2)}, r"fit it with ngram_range=\(1, 1\)"),
        ({"token_pattern": r"[\w\W]+"}, "nothing to part them"),
    ],
)
def test_bags_that_have_no_graph(options, sentence):
    if "stem" in options:
        pytest.importorskip("Stemmer")
    features = TextFeatures(**options).fit(DOCUMENTS)
    model = make_pipeline(features, LogisticRegression()).fit(DOCUMENTS, [0, 1, 0, 1, 0, 1])
    with pytest.raises(OnnxExportError, match=sentence):
        to_onnx(model)
    frame = pd.DataFrame({"note": DOCUMENTS, "x": np.arange(6.0)})
    encoder = TableEncoder(text=TextFeatures(**options), kinds={"note": "text"})
    table_model = make_pipeline(encoder, LogisticRegression()).fit(frame, [0, 1, 0, 1, 0, 1])
    with pytest.raises(OnnxExportError, match=f"column 'note': .*{sentence}"):
        to_onnx(table_model)


def letters(n=200, seed=0):
    """Short letters of two kinds, some missing."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 2, n)
    common = ["the", "a", "house", "Über", "alles", "ΛΟΓΟΣ", "okay", "Monday"]
    said = [["great", "sun", "FREE", "joy"], ["sorry", "rain", "late", "bill"]]
    texts = [
        " ".join([*draw.choice(common, 6), *draw.choice(said[k], 2)]) + draw.choice([".", "!", " …"])
        for k in np.where(draw.random(n) < 0.15, 1 - y, y)
    ]
    return [None if draw.random() < 0.05 else t for t in texts], y


@pytest.mark.parametrize("last", [LogisticRegression(), MultinomialNB(), LinearSVC(calibrate="sigmoid")])
@pytest.mark.parametrize("weighting", ["counts", "binary", "tf-idf"])
def test_text_alone_in_a_pipeline(last, weighting):
    documents, y = letters()
    model = make_pipeline(TextFeatures(weighting=weighting), last).fit(documents, y)
    new = [*letters(40, seed=1)[0], "", None, "words never met"]
    assert agrees(model, documents, new) == ["X"]
    inside = make_pipeline(make_pipeline(TextFeatures(weighting=weighting)), last).fit(documents, y)
    assert agrees(inside, new) == ["X"]
    apart = model[:-1][0]
    np.testing.assert_array_equal(answer(model[-1], new, encoder=apart)[1][1], answer(model, new)[1][1])


def test_a_column_of_text_beside_numbers():
    documents, y = letters()
    frame = pd.DataFrame({"size": np.arange(200.0), "note": [d or "" for d in documents]})
    steps = make_column_transformer((StandardScaler(), ["size"]), (TextFeatures(weighting="tf-idf"), "note"))
    assert agrees(make_pipeline(steps, LogisticRegression()).fit(frame, y), frame) == ["size", "note"]
    two = make_column_transformer((TextFeatures(), "note"), (TextFeatures(lowercase=False), "note"))
    agrees(make_pipeline(two, LogisticRegression()).fit(frame, y), frame)


def test_a_graph_of_text_says_what_it_needs():
    documents, y = letters()
    made = onnx.load_from_string(
        to_onnx(make_pipeline(TextFeatures(), LogisticRegression()).fit(documents, y))
    )
    assert {o.domain: o.version for o in made.opset_import} == {"": 20, "ai.onnx.ml": 5, "com.microsoft": 1}
    assert {n.op_type for n in made.graph.node if n.domain == "com.microsoft"} == {"Tokenizer"}
    frame, y = mixed()
    plain = onnx.load_from_string(to_onnx(make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, y)))
    assert {o.domain for o in plain.opset_import} == {"", "ai.onnx.ml"}


@pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sms_spam", {"weighting": "tf-idf", "min_df": 2}),
        ("sms_spam", {"ngram_range": (1, 2), "min_df": 2, "stop_words": "en", "weighting": "binary"}),
        ("movie_reviews", {"weighting": "tf-idf", "min_df": 5}),
    ],
)
def test_real_documents(name, options):
    documents, y = shared.texts(name)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:600], order[600:900]
    for last in (LogisticRegression(), MultinomialNB()):
        model = make_pipeline(TextFeatures(**options), last).fit([documents[i] for i in train], y[train])
        agrees(model, [documents[i] for i in test])


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
