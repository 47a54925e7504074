"""Labels of every kind coded in one pass, against np.unique."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from separatrix.data import labels as labels_module
from separatrix.data.labels import FEW_CLASSES, MANY_WORDS, read_labels, read_some_labels

WORDS = np.array(["spruce", "fir", "aspen", "", "fir-tree", "Ärmel", "fi", "木"])
N = MANY_WORDS + 7


def drawn(n: int = N) -> np.ndarray:
    return WORDS[np.random.default_rng(0).integers(0, len(WORDS), n)]


def polars(y: np.ndarray) -> object:
    return pytest.importorskip("polars").Series(y.tolist())


FORMS = {
    "words": lambda y: y,
    "every other word": lambda y: np.repeat(y, 2)[::2],
    "read-only": lambda y: np.frombuffer(y.tobytes(), dtype=y.dtype),
    "other byte order": lambda y: y.astype(y.dtype.newbyteorder("S")),
    "objects": lambda y: y.astype(object),
    "list": lambda y: y.tolist(),
    "pandas objects": lambda y: pd.Series(y.astype(object)),
    "pandas strings": lambda y: pd.Series(y.tolist(), dtype="string"),
    "pandas categories": lambda y: pd.Series(pd.Categorical(y, categories=[*WORDS[::-1], "never met"])),
    "polars": polars,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [N, 1_000, 50])
def test_words_are_coded_as_sorting_them_would(form, n):
    y = drawn(n)
    classes, codes = np.unique(y, return_inverse=True)
    for read in (read_labels, read_some_labels):
        found = read(FORMS[form](y), n)
        assert found[0].tolist() == classes.tolist()
        np.testing.assert_array_equal(found[1], codes)


def test_more_words_than_the_table_holds_are_sorted():
    y = np.array([f"{i:06d}" for i in range(FEW_CLASSES + 5)])[::-1]
    classes, codes = read_labels(y, None)
    assert classes.tolist() == sorted(y.tolist())
    np.testing.assert_array_equal(classes[codes], y)


def test_categories_of_numbers_keep_their_type():
    y = pd.Series([3, 1, 3, 7]).astype("category")
    classes, codes = read_labels(y, 4)
    assert classes.dtype.kind == "i"
    assert (classes.tolist(), codes.tolist()) == ([1, 3, 7], [1, 0, 1, 2])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_label_is_named_or_has_no_class(missing):
    y = drawn(60).astype(object)
    y[[7, 40]] = missing
    for labels in (y, pd.Series(y), pd.Series(y).astype("category")):
        with pytest.raises(ValueError, match=r"NaN: row 7 has no label \(2 rows"):
            read_labels(labels, 60)
        classes, codes = read_some_labels(labels, 60)
        assert np.flatnonzero(codes < 0).tolist() == [7, 40]
        assert classes.tolist() == sorted(set(y[codes >= 0].tolist()))


def test_what_cannot_be_hashed_is_refused():
    y = np.empty(3, dtype=object)
    y[:] = [["a"], ["b"], ["a"]]
    with pytest.raises(ValueError, match="hashable"):
        read_labels(y, 3)


@pytest.mark.parametrize("width", [1, 2, 3, 8, 13])
@pytest.mark.parametrize("distinct", [1, 2, 7, 40, 700])
def test_words_compared_as_numbers_are_coded_as_sorting_them_would(width, distinct):
    rng = np.random.default_rng(width)
    letters = rng.choice(list("abcdefgh\U0001f600é"), size=(distinct, width))
    y = np.array(["".join(word) for word in letters])[rng.integers(0, distinct, 1_500)]
    for labels in (y, y[::-1], y.astype(y.dtype.newbyteorder())):
        classes, codes = labels_module._keyed_codes(labels)
        wanted, order = np.unique(labels, return_inverse=True)
        assert classes.tolist() == wanted.tolist()
        assert codes.tolist() == order.tolist()


def test_words_that_share_a_number_are_sorted(monkeypatch):
    monkeypatch.setattr(labels_module, "KEY", np.uint64(0))  # only the last parts tell words apart
    y = np.repeat(np.array(["ab--x", "cd--x", "ab--y"]), 200)
    assert labels_module._keyed_codes(y) is None
    classes, codes = labels_module.read_labels(y, len(y))
    assert classes.tolist() == ["ab--x", "ab--y", "cd--x"]
    assert codes.tolist() == [0] * 200 + [2] * 200 + [1] * 200
