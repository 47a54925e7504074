"""Bags of words against scikit-learn's, against counting by hand, and against their own laws."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

from separatrix import MultinomialNB
from separatrix.tables.stop_words import STOP_WORDS
from separatrix.tables.text import TextFeatures, without_headers
from tests.draws import examples

ALPHABET = "abcABC é_1. ,'\n-ßİ"
texts = st.lists(st.text(ALPHABET, max_size=40), min_size=1, max_size=8)


def same(ours, theirs, tolerance=0.0):
    assert ours.shape == theirs.shape
    assert abs(ours - theirs).max() <= tolerance


def both(documents, ours, theirs, later=(), tolerance=0.0):
    try:
        wanted = theirs.fit_transform(documents)
    except ValueError:
        with pytest.raises(ValueError, match=r"no document holds|no word is left"):
            ours.fit(documents)
        return
    found = ours.fit_transform(documents)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    same(found, wanted, tolerance)
    same(ours.fit(documents).transform(documents), wanted, tolerance)
    if later:
        same(ours.transform(later), theirs.transform(later), tolerance)


@given(texts, texts)
@examples(60)
def test_counts_are_scikit_learns(documents, later):
    both(documents, TextFeatures(), CountVectorizer(), later)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=6))
@examples(60)
def test_words_between_blanks_are_scikit_learns(documents):
    both(documents, TextFeatures(token_pattern=r"\S+"), CountVectorizer(token_pattern=r"\S+"))


@given(texts, st.sampled_from([(1, 1), (1, 2), (2, 2), (2, 3), (1, 4)]))
@examples(60)
def test_runs_of_words_are_scikit_learns(documents, span):
    both(documents, TextFeatures(ngram_range=span), CountVectorizer(ngram_range=span), documents[::-1])


@given(texts)
@examples(60)
def test_tf_idf_is_scikit_learns(documents):
    both(documents, TextFeatures(weighting="tf-idf"), TfidfVectorizer(), [*documents, ""], tolerance=1e-12)


@given(texts, st.sampled_from([1, 2, 0.3]), st.sampled_from([1.0, 0.7, 3]))
@examples(60)
def test_pruning_and_presence_are_scikit_learns(documents, low, high):
    both(
        documents,
        TextFeatures(weighting="binary", min_df=low, max_df=high, stop_words=["ab", "BC"]),
        CountVectorizer(binary=True, min_df=low, max_df=high, stop_words=["ab", "bc"]),
    )


@pytest.mark.parametrize("pattern", [r"[a-z]+", r"\S+", r"\w\w+"])
def test_a_pattern_and_capitals(pattern):
    documents = ["A cat, a CAT; Katze 2", "Straße ΣΑΣ cat"]
    ours = TextFeatures(token_pattern=pattern, lowercase=False)
    both(documents, ours, CountVectorizer(token_pattern=pattern, lowercase=False), ["Cat CAT"])


def test_mitchells_pruning_counted_by_hand():
    rng = np.random.default_rng(0)
    documents = [" ".join(f"w{int(v)}" for v in rng.zipf(1.5, 50) if v < 200) for _ in range(100)]
    total = Counter(re.findall(r"\w\w+", " ".join(documents)))
    dropped = sorted(total, key=lambda w: (-total[w], w))[:10]
    wanted = sorted(w for w in total if total[w] >= 3 and w not in dropped)
    bag = TextFeatures(drop_most_frequent=10, min_count=3).fit(documents)
    assert bag.get_feature_names_out().tolist() == wanted
    assert bag.count_.tolist() == [total[w] for w in wanted]
    few = TextFeatures(drop_most_frequent=10, max_features=5).fit(documents)
    assert set(few.vocabulary_) == set(sorted(total, key=lambda w: (-total[w], w))[10:15])
    assert "10 most used" in few.describe()[1] and "beyond the 5 most used" in few.describe()[1]


def test_words_first_met_later_are_left_out():
    bag = TextFeatures().fit(["red green"])
    assert bag.transform(["green blue green", "", None, float("nan")]).toarray().tolist() == [
        [2, 0],
        [0, 0],
        [0, 0],
        [0, 0],
    ]


def test_order_of_documents_changes_nothing_but_the_rows():
    documents = ["one two", "two three two", "three"]
    a, b = TextFeatures().fit_transform(documents), TextFeatures().fit_transform(documents[::-1])
    same(a, b[::-1])


def test_stems():
    pytest.importorskip("Stemmer")
    bag = TextFeatures(stem="english", stop_words="en").fit(["running runs", "the runner runs"])
    assert bag.get_feature_names_out().tolist() == ["run", "runner"]
    assert bag.transform(["run run running unheard"]).toarray().tolist() == [[3, 0]]
    assert TextFeatures(stem="de").fit(["Häuser Hauses"]).get_feature_names_out().tolist() == ["haus"]
    with pytest.raises(ValueError, match="stem 'klingon' is unknown: it is one of"):
        TextFeatures(stem="klingon").fit(["a text"])


@pytest.mark.parametrize("language", STOP_WORDS)
def test_stop_words_of_a_language_and_your_own(language):
    known = sorted(w for w in STOP_WORDS[language] if len(w) > 1)
    bag = TextFeatures(stop_words=[language, "separatrix"]).fit([" ".join(known) + " Separatrix remains"])
    assert bag.get_feature_names_out().tolist() == ["remains"]


MAIL = "From: a@b.c\nSubject: cheap\n watches\nX-Id: 7\n\nDear all: buy\n\nnow"


def test_headers():
    assert without_headers(MAIL) == "Dear all: buy\n\nnow"
    assert without_headers(MAIL, ["SUBJECT"]) == "cheap\n watches\nDear all: buy\n\nnow"
    assert without_headers(MAIL.replace("\n", "\r\n")).startswith("Dear all")
    assert without_headers("From me Mon 1\n" + MAIL).startswith("Dear all")
    for plain in ("Hello: world", "no header\n\nhere", "", "Note: this\n\nis prose", "a: 1\nb: 2\nc"):
        assert without_headers(plain) == plain
    assert set(TextFeatures(headers="strip").fit([MAIL]).vocabulary_) == {"dear", "all", "buy", "now"}
    assert "watches" in TextFeatures(headers=("subject",)).fit([MAIL]).vocabulary_
    assert "from" in TextFeatures().fit([MAIL]).vocabulary_


@pytest.mark.parametrize(
    "wrong",
    [
        {"weighting": "tfidf"}, {"stop_words": "klingon"}, {"stop_words": [3]}, {"min_df": -1}, {"max_df": 1.5},
        {"min_count": 0}, {"drop_most_frequent": -1}, {"max_features": 0}, {"ngram_range": (2, 1)},
        {"headers": "cut"}, {"token_pattern": "("}, {"token_pattern": "(a)"},
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        TextFeatures(**wrong).fit(["a text"])


def test_wrong_documents_are_named():
    for documents, said in (("one text", "one text"), ([1], "document 0 is int"), (np.ones((2, 2)), "shape")):
        with pytest.raises(ValueError, match=said):
            TextFeatures().fit(documents)
    with pytest.raises(ValueError, match="no document holds a word"):
        TextFeatures().fit(["", "?"])


def test_in_a_pipeline():
    model = make_pipeline(clone(TextFeatures(weighting="binary")), MultinomialNB())
    model.fit(["buy now", "see you", "buy buy"], ["spam", "ham", "spam"])
    assert model.predict(["you see", "buy"]).tolist() == ["ham", "spam"]
    assert "weighting='binary'" in repr(model)
