"""separability on real tables: what ../shared/data/INDEX.md says of them, and sets that were once too slow."""

import numpy as np
import pytest

from benchmarks import shared
from separatrix import separability

pytestmark = pytest.mark.skipif(not shared.available(), reason=f"no shared data at {shared.root()}")

INDEX = {
    "complete": ["sonar", "voting", "mushrooms"],
    "quasi": ["ionosphere", "separation/endometrial"],
    "overlap": [
        "pima",
        "banknote",
        "liver_disorders",
        "spambase",
        "breast_cancer_wisconsin",
        "heart_statlog",
        "german_credit",
    ],
}


@pytest.mark.parametrize("kind, name", [(kind, name) for kind, names in INDEX.items() for name in names])
def test_the_kinds_of_the_index(kind, name):
    X, y, _ = shared.numeric(name)
    found = separability(X, y)
    assert found.kind == kind
    assert found.check(X, y)
    assert found.residual is None or found.residual < 1e-13


def test_endometrial_is_quasi_separated_through_nv():
    frame = shared.table("separation/endometrial")
    found = separability(frame[["NV", "PI", "EH"]], frame["HG"])
    assert found.columns == ("NV",) and found.direction[0] > 0
    assert np.array_equal(found.margins > 0, frame["NV"] > 0)
    limit, intercept = found.limits()
    assert limit.tolist() == [[np.inf, 0.0, 0.0]] and intercept.tolist() == [0.0]


def test_setosa_is_apart_by_one_petal_measure():
    X, y, _ = shared.numeric("iris")
    found = separability(X, y)
    assert found.kind == "quasi" and len(found.columns) == 1 and found.columns[0] in (2, 3)
    assert np.array_equal(found.margins > 0, y == "Iris-setosa")
    assert found.check(X, y)


@pytest.mark.parametrize(
    "name, kind",
    [
        ("vehicle", "overlap"),
        ("glass", "quasi"),
        ("yeast", "quasi"),
        ("car", "quasi"),
        ("nursery", "quasi"),
        ("krkopt", "quasi"),
        ("lymphography", "complete"),
        ("optdigits", "complete"),
        ("soybean", "quasi"),
        ("splice", "quasi"),
    ],
)
def test_many_classes(name, kind):
    X, y, _ = shared.numeric(name)
    found = separability(X, y)
    assert found.kind == kind
    assert found.check(X, y)


def test_a_wide_corpus_with_the_same_document_in_two_classes():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    documents, y = shared.texts("reuters_r8")
    X = text.TfidfVectorizer(dtype=np.float64).fit_transform(documents)
    found = separability(X, y)
    assert found.kind == "quasi" and found.check(X, y)
    assert 0 < np.count_nonzero(found.weights) < 50
