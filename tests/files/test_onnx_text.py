"""Text in a graph: bags of words, known and unknown."""

from functools import cache
from itertools import product

import numpy as np
import onnx
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import shared
from separatrix import (
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
)
from separatrix.files import onnx_text
from separatrix.files.graph import Graph, OnnxExportError
from separatrix.files.onnx import to_onnx
from separatrix.files.onnx_letters import runs_of
from separatrix.tables.encode import TableEncoder
from separatrix.tables.text import TextFeatures
from tests.draws import examples
from tests.files.by_graph import agrees, answer, letters, mixed, of_graph

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
@examples(100)
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
