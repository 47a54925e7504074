"""Mixed columns as each model wants them: counted by hand, against scikit-learn, and fitted by the models."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

pd = pytest.importorskip("pandas")

from separatrix import (  # noqa: E402
    BernoulliNB,
    DecisionTreeClassifier,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
)
from separatrix.tables.encode import TableEncoder  # noqa: E402
from separatrix.tables.learned import date_parts  # noqa: E402
from separatrix.tables.read import read  # noqa: E402
from separatrix.tables.sources import TableError  # noqa: E402
from separatrix.tables.text import TextFeatures  # noqa: E402

N = 400


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    size = rng.normal(10, 4, N)
    size[rng.random(N) < 0.1] = np.nan
    colour = rng.choice(["red", "green", "blue", "mauve"], N, p=[0.5, 0.3, 0.195, 0.005]).astype(object)
    colour[rng.random(N) < 0.05] = None
    bits = ["cheap", "watch", "meeting", "monday", "offer", "tea", "room", "minutes"]
    return pd.DataFrame(
        {
            "id": np.arange(N),
            "size": size,
            "legs": rng.integers(0, 7, N),
            "colour": pd.Series(colour, dtype="str"),
            "tame": rng.random(N) < 0.4,
            "born": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), unit="D"),
            "note": pd.Series([" ".join(rng.choice(bits, 8)) for _ in range(N)], dtype="str"),
            "planet": "earth",
        }
    )


@pytest.fixture(scope="module")
def y(frame):
    score = frame["legs"] + 3.0 * frame["tame"] + 2.0 * (frame["colour"] == "red")
    return np.where(score > score.median(), "yes", "no")


def column(encoder, X, name):
    at = encoder.get_feature_names_out().tolist().index(name)
    return X[:, at].toarray().ravel() if sp.issparse(X) else X[:, at]


def test_linear_form_by_hand(frame):
    encoder = TableEncoder(rare=5)
    X = encoder.fit_transform(frame)
    assert X.shape == (N, len(encoder.get_feature_names_out())) == (N, len(encoder.source_))
    filled = frame["size"].fillna(frame["size"].median()).to_numpy()
    np.testing.assert_allclose(
        column(encoder, X, "size"), StandardScaler().fit_transform(filled[:, None]).ravel()
    )
    np.testing.assert_array_equal(column(encoder, X, "size is missing"), frame["size"].isna())
    for level in ("red", "green", "blue"):
        np.testing.assert_array_equal(column(encoder, X, f"colour={level}"), frame["colour"] == level)
    np.testing.assert_array_equal(column(encoder, X, "colour=other"), frame["colour"] == "mauve")
    np.testing.assert_array_equal(column(encoder, X, "colour is missing"), frame["colour"].isna())
    tame = [n for n in encoder.get_feature_names_out() if n.startswith("tame")]
    assert tame == ["tame=True"]
    year = frame["born"].dt.year.to_numpy(dtype=float)
    np.testing.assert_allclose(column(encoder, X, "born year"), (year - year.mean()) / year.std())
    assert not any(name.startswith(("id", "planet")) for name in encoder.get_feature_names_out())
    words = TfidfVectorizer(min_df=2).fit(frame["note"])
    mine = X[:, [j for j, s in enumerate(encoder.source_) if s == "note"]]
    np.testing.assert_allclose(mine.toarray(), words.transform(frame["note"]).toarray(), atol=1e-12)


def test_one_hot_is_scikit_learns(frame):
    words = frame[["colour"]].dropna()
    wanted = OneHotEncoder(sparse_output=False).fit_transform(words)
    np.testing.assert_array_equal(TableEncoder(rare=1).fit_transform(words), wanted)
    first = TableEncoder(rare=1, drop="first").fit(words)
    assert (
        "colour=red" not in first.get_feature_names_out() and "'red' is the reference" in first.describe()[1]
    )


@pytest.mark.parametrize("form", ["linear", "native", "counts"])
def test_learning_and_showing_at_once_is_the_same_and_rows_do_not_matter_to_each_other(form, frame):
    encoder = TableEncoder(form=form)
    together = encoder.fit_transform(frame)
    apart = encoder.transform(frame)
    part = encoder.transform(frame.iloc[5:9])
    shuffled = encoder.transform(frame[frame.columns[::-1]].assign(extra=1))
    if form == "native":
        for other in (apart, shuffled):
            pd.testing.assert_frame_equal(together, other)
        assert together.columns.tolist() == encoder.get_feature_names_out().tolist()
        pd.testing.assert_frame_equal(together.iloc[5:9], part, check_dtype=False)
    else:
        for other in (apart, shuffled):
            assert abs(together - other).max() == 0
        assert abs(together[5:9] - part).max() == 0


@pytest.mark.parametrize("form", ["linear", "native", "counts"])
def test_another_view_needs_no_second_fit(form, frame):
    shown = TableEncoder().fit(frame).view(form)
    fitted = TableEncoder(form=form).fit(frame)
    assert shown.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    a, b = shown.transform(frame), fitted.transform(frame)
    assert a.equals(b) if form == "native" else abs(a - b).max() == 0


def test_native_form_keeps_words_and_gaps(frame):
    encoder = TableEncoder(form="native").fit(frame)
    shown = encoder.transform(frame)
    assert shown["colour"].isna().sum() == frame["colour"].isna().sum()
    assert shown["size"].isna().sum() == frame["size"].isna().sum()
    assert shown["legs"].dtype.kind == "i"
    assert shown["born weekday"].tolist() == frame["born"].dt.strftime("%a").tolist()
    assert shown["born month"].tolist() == frame["born"].dt.strftime("%b").tolist()
    assert any("'note' (text): left out" in line for line in encoder.describe())


def test_counts_form_holds_counts(frame):
    encoder = TableEncoder(form="counts").fit(frame)
    X = encoder.transform(frame)
    assert X.min() >= 0 and np.array_equal(X.data, np.rint(X.data))
    np.testing.assert_array_equal(column(encoder, X, "note: tea"), frame["note"].str.count("tea"))
    assert "size" not in encoder.source_ and "legs" in encoder.source_


def test_every_model_takes_its_form(frame, y):
    models = {
        "linear": [LogisticRegression()],
        "native": [NaiveBayes(), DecisionTreeClassifier(max_depth=4, categorical_features="from_dtype")],
        "counts": [MultinomialNB(), BernoulliNB()],
    }
    scores = {}
    for form, kinds in models.items():
        for model in kinds:
            pipe = make_pipeline(TableEncoder(form=form), model).fit(frame, y)
            scores[type(model).__name__] = pipe.score(frame, y)
    assert min(scores.values()) > 0.75 and scores["LogisticRegression"] > 0.9, scores


def test_unseen_levels_and_new_gaps(frame):
    encoder = TableEncoder(rare=1).fit(frame[["colour", "legs"]])
    later = pd.DataFrame({"colour": pd.Series(["ochre", None], dtype="str"), "legs": [np.nan, 2]})
    X = encoder.transform(later)
    names = encoder.get_feature_names_out().tolist()
    assert X[0, [j for j, n in enumerate(names) if n.startswith("colour")]].sum() == 0
    assert X[1, names.index("colour is missing")] == 1
    centre = (np.median(frame["legs"]) - frame["legs"].mean()) / frame["legs"].std(ddof=0)
    assert X[0, names.index("legs")] == pytest.approx(centre)
    pooled = TableEncoder(rare=5).fit(frame[["colour"]])
    assert column(pooled, pooled.transform(later), "colour=other").tolist() == [1, 0]


def test_a_table_without_a_column_is_refused_by_name(frame):
    encoder = TableEncoder().fit(frame)
    with pytest.raises(TableError, match="lacks 'size', 'colour', and has 'Size', unknown in training"):
        encoder.transform(frame.drop(columns=["colour"]).rename(columns={"size": "Size"}))
    encoder.transform(frame.drop(columns=["id", "planet"]))  # what is left out may be absent


def test_a_column_of_another_kind_is_refused_by_name(frame):
    encoder = TableEncoder().fit(frame)
    with pytest.raises(TableError, match="'size' is read as numbers and holds 'large'"):
        encoder.transform(frame.assign(size="large"))
    with pytest.raises(TableError, match="'born' is read as dates and holds 'soon'"):
        encoder.transform(frame.assign(born="soon"))
    with pytest.raises(TableError, match="'size' is infinite in row 1"):
        encoder.transform(frame.assign(size=np.inf))
    with pytest.raises(TableError, match="'legs' is -1 in row 1 and was a count"):
        TableEncoder(form="counts").fit(frame).transform(frame.assign(legs=-1))


def test_huge_numbers_do_not_overflow():
    frame = pd.DataFrame({"x": [1e300, -1e300, 1.7e308, np.nan], "z": [1.5, 2.5, 3.5, 4.5]})
    with np.errstate(all="raise"):
        X = TableEncoder().fit_transform(frame)
    assert np.isfinite(X).all() and abs(X[:, 0].std() - 1) < 1e-9


def test_ten_thousand_levels_are_pooled():
    words = pd.Series([f"w{i // 2}" for i in range(20_000)], dtype="str")
    encoder = TableEncoder().fit(pd.DataFrame({"w": words, "x": np.linspace(0, 1, 20_000)}))
    assert encoder.get_feature_names_out().tolist() == ["w=other", "x"]
    kept = TableEncoder(rare=1, max_levels=7).fit(pd.DataFrame({"w": words}))
    assert len(kept.get_feature_names_out()) == 8


def test_sparse_columns_stay_sparse(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("1 1:4\n0 5000:2\n" * 20)
    table = read(path)
    encoder = TableEncoder().fit(table)
    X = encoder.transform(table.frame)
    assert sp.issparse(X) and X.nnz == 40 and X.max() == 1.0 and X.shape == (40, 5000)
    assert len(encoder.describe()) == 2


def test_the_users_kinds_and_a_tables(frame):
    table = read(frame.assign(y=["a", "b"] * (N // 2)), target="y", kinds={"legs": "nominal"})
    encoder = TableEncoder().fit(table)
    assert encoder.kinds_ == table.kinds and "legs=3" in encoder.get_feature_names_out()
    assert TableEncoder(kinds={"legs": "identifier"}).fit(frame).kinds_["legs"] == "identifier"


def test_whole_numbers_spell_alike_with_and_without_gaps():
    encoder = TableEncoder(kinds={"z": "nominal"}).fit(pd.DataFrame({"z": [1, 2, 1, 3]}))
    assert encoder.transform(pd.DataFrame({"z": [1.0, np.nan]})).tolist() == [[1, 0, 0], [0, 0, 0]]


def test_the_enjoy_sport_table_works_as_it_stands():
    table = read("enjoy-sport")
    wind = NaiveBayes().fit(table.frame, table.labels)  # a constant column has probability 1 in every class
    pipe = make_pipeline(TableEncoder(form="native"), NaiveBayes()).fit(table.frame, table.labels)
    np.testing.assert_allclose(pipe.predict_proba(table.frame), wind.predict_proba(table.frame), rtol=1e-12)
    assert pipe.predict(table.frame).tolist() == table.labels.tolist()
    linear = make_pipeline(TableEncoder(), LogisticRegression(C=1000.0)).fit(table.frame, table.labels)
    assert linear.predict(table.frame).tolist() == table.labels.tolist()


def test_dates_by_the_calendar():
    days = pd.Series(pd.date_range("1960-02-25", periods=3000, freq="31h"))
    parts = date_parts(days.to_numpy(), int(days.min().value) // 1000)
    assert parts["year"].tolist() == days.dt.year.tolist()
    assert (parts["_month"] + 1).tolist() == days.dt.month.tolist()
    assert parts["_weekday"].tolist() == days.dt.day_of_week.tolist()
    np.testing.assert_allclose(parts["days"], (days - days.min()) / pd.Timedelta("1D"))
    np.testing.assert_allclose(parts["hour sin"], np.sin(days.dt.hour * np.pi / 12), atol=1e-12)


def test_description_and_parameters(frame):
    encoder = TableEncoder(rare=5, text=TextFeatures(stop_words="en")).fit(frame)
    said = "\n".join(encoder.describe())
    for word in (
        "8 columns →",
        "left out (runs 1, 2, 3",
        "the median",
        "rare",
        "words from 400 documents",
    ):
        assert word in said, said
    assert json.dumps(encoder.describe())
    assert clone(encoder).text.stop_words == "en"
    for wrong in ({"form": "dense"}, {"drop": "last"}, {"rare": 0}, {"max_levels": 0}, {"text": "words"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            TableEncoder(**wrong).fit(frame)
    with pytest.raises(TableError, match="a frame with named columns"):
        TableEncoder().fit(np.ones((3, 2)))
    with pytest.raises(TableError, match="no column is left"):
        TableEncoder().fit(frame[["planet"]])


def test_a_level_called_other_beside_pooled_ones():
    words = ["other"] * 60 + ["sun"] * 60 + ["odd", "strange"]
    encoder = TableEncoder(rare=5).fit(pd.DataFrame({"sky": words}))
    assert encoder.get_feature_names_out().tolist() == ["sky=other", "sky=sun", "sky=any other"]
    new = pd.DataFrame({"sky": ["other", "sun", "odd", "new"]})
    assert encoder.transform(new).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]


def test_words_that_are_all_rare_are_said_to_be():
    frame = pd.DataFrame({"x": range(300), "word": [f"w{i // 2}" for i in range(300)]}).assign(
        x=lambda f: f.x % 7
    )
    encoder = TableEncoder().fit(frame)
    assert (
        "'word' (nominal): all 150 levels, each rare (fewer than 3 rows), pooled as other, and so is a new one"
        in encoder.describe()
    )
    lone = pd.DataFrame({"x": frame.x, "word": ["a", None, "a"] * 100})
    said = TableEncoder(drop="first").fit(lone).describe()[2]
    assert said.partition(": ")[2] == (
        "'a' is the reference, 0 in all; a column for the 100 missing cells; a new level is 0 in all"
    )


def sparse(values, fill):
    return pd.arrays.SparseArray(values, fill_value=fill)


def test_sparse_columns_of_any_fill_value_are_read_as_dense_ones():
    rng = np.random.default_rng(0)
    dense = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40), "c": rng.normal(size=40)})
    dense.iloc[::2, 0] = 0.0
    dense.iloc[::3, 1] = np.nan
    dense.iloc[1::2, 2] = 7.0
    gaps = pd.DataFrame({"b": sparse(dense["b"], np.nan), "c": sparse(dense["c"], 7.0)})
    assert not gaps.sparse.to_dense().isna()["c"].any() and gaps["b"].isna().sum() == 14
    names = ["b", "b is missing", "c"]
    encoder, plain = TableEncoder().fit(gaps), TableEncoder().fit(dense[["b", "c"]])
    assert encoder.get_feature_names_out().tolist() == names == plain.get_feature_names_out().tolist()
    np.testing.assert_array_equal(encoder.transform(gaps), plain.transform(dense[["b", "c"]]))
    zeros = pd.DataFrame({"a": sparse(dense["a"], 0.0), "b": sparse(dense["b"], np.nan)})
    X = TableEncoder().fit(zeros).transform(zeros)
    assert sp.issparse(X) and X[:, 0].nnz == 20 and np.isfinite(X.data).all()


def test_a_missing_cell_among_zeros_is_a_zero_and_an_infinite_one_is_named():
    frame = pd.DataFrame({"a": sparse([0.0, 2.0, 0.0, -4.0] * 5, 0.0)})
    encoder = TableEncoder().fit(frame)
    later = pd.DataFrame({"a": sparse([np.nan, 2.0, 0.0, -4.0], np.nan)})
    assert encoder.transform(later).toarray().ravel().tolist() == [0.0, 0.5, 0.0, -1.0]
    later = pd.DataFrame({"a": sparse([0.0, 2.0, np.inf, 0.0], 0.0)})
    with pytest.raises(TableError, match="'a' is infinite in row 3"):
        encoder.transform(later)
    with pytest.raises(TableError, match="'a' is infinite in row 3"):
        TableEncoder().fit(later)


def test_two_columns_of_one_name_are_named():
    with pytest.raises(TableError, match="more than one column is called '0'"):
        TableEncoder().fit(pd.DataFrame([[1, 2], [3, 4]], columns=[0, "0"]))


def test_wide_tables_are_sparse_only_where_most_columns_are_levels():
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(30, 600)), columns=[f"x{j}" for j in range(600)])
    assert isinstance(TableEncoder().fit_transform(numbers), np.ndarray)
    words = pd.DataFrame({f"w{j}": rng.choice(list("abcdefgh"), 400) for j in range(80)})
    assert hasattr(TableEncoder(rare=1).fit_transform(words.assign(x=rng.normal(size=400))), "tocsr")


def test_a_native_encoder_says_what_it_leaves_of_words_dates_and_numbers():
    frame = pd.DataFrame(
        {
            "sky": ["sun", "rain"] * 5,
            "wind": np.arange(10.0) / 3,
            "day": pd.date_range("2024-01-30", periods=10),
        }
    )
    said = TableEncoder(form="native").fit(frame).describe()
    assert [line.split(": ", 1)[1] for line in said[1:]] == [
        "words as they are", "numbers as they are", "days, month and weekday",
    ]  # fmt: skip
