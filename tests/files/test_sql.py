"""Scoring queries give in SQLite and DuckDB what the models give here; queries for PostgreSQL run in DuckDB too."""

import sqlite3
import warnings

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
duckdb = pytest.importorskip("duckdb")
pytest.importorskip("skops")

from sklearn.dummy import DummyClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from benchmarks import shared  # noqa: E402
from separatrix import (  # noqa: E402
    SVC,
    AdaBoostClassifier,
    BayesianLogisticRegression,
    BernoulliNB,
    DecisionTreeClassifier,
    GaussianNB,
    GeneralizedLinearModel,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    NaiveBayes,
    Perceptron,
    QuadraticDiscriminantAnalysis,
    RandomForestClassifier,
    to_sql,
)
from separatrix.app.cli import main  # noqa: E402
from separatrix.app.kept import needed  # noqa: E402
from separatrix.files.sql import ADDITIVE, SqlExportError  # noqa: E402
from separatrix.files.sql_write import DIALECTS  # noqa: E402
from separatrix.files.store import load  # noqa: E402
from separatrix.tables.chunks import read_chunks  # noqa: E402
from separatrix.tables.encode import TableEncoder  # noqa: E402
from separatrix.tables.table import Schema  # noqa: E402
from tests.files.by_graph import mixed, new_rows  # noqa: E402
from tests.files.catalogue import Tables, variants  # noqa: E402

CLOSE = 1e-12


def database(frame, dialect):
    """The frame with a key, as table "the rows" of a database in memory."""
    frame = frame.assign(key=np.arange(len(frame)))
    if dialect == "sqlite":
        base = sqlite3.connect(":memory:")
        frame.to_sql("the rows", base, index=False)
        return base
    base = duckdb.connect()
    base.execute(f"SET integer_division = {dialect == 'postgres'}")  # as PostgreSQL divides whole numbers
    base.register("given", frame)
    base.execute('CREATE TABLE "the rows" AS SELECT * FROM given')
    return base


def asked(base, model, dialect, **options):
    """(answers, the other columns) in the order of the key."""
    query = to_sql(model, dialect=dialect, table="the rows", keep=["key"], **options)
    rows = sorted(base.execute(query).fetchall())
    return [row[1] for row in rows], np.array([row[2:] for row in rows], dtype=float)


def agrees(model, frame, dialects=tuple(DIALECTS), **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # words on levels never seen
        X = frame if not options else frame.to_numpy(dtype=float)
        wanted, labels = model.predict_proba(X), model.predict(X).tolist()
    ordered = np.sort(wanted, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > CLOSE  # of classes equally probable it may name another
    for dialect in dialects:
        said, found = asked(database(frame, dialect), model, dialect, **options)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=CLOSE, err_msg=dialect)
        assert [s for s, c in zip(said, clear) if c] == [v for v, c in zip(labels, clear) if c]
    assert len(np.unique(wanted.round(6), axis=0)) > 1


def cases():
    """Variants of the catalogue that have a query: one that lost it would fail here."""
    for name, (model, X, y) in variants(Tables(3)).items():
        last = model.steps[-1][1] if hasattr(model, "steps") else model
        kind = type(last).__name__
        svc = kind == "SVC" and last.kernel == "linear" and last.calibrate is not None
        mean = kind == "GeneralizedLinearModel" and (last.family != "binomial" or last.link == "probit")
        if (kind in ADDITIVE or svc) and hasattr(last, "predict_proba") and not mean:
            yield pytest.param(model, X, y, id=name)


@pytest.mark.parametrize("model, X, y", list(cases()))
def test_models_with_all_their_options(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    if isinstance(X, pd.DataFrame):
        agrees(model, X)
    else:
        cells = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
        frame = pd.DataFrame(cells, columns=[f"c {j}" for j in range(cells.shape[1])])
        agrees(model, frame, columns=list(frame.columns))


LAST = {
    "logistic": LogisticRegression(),
    "lda": LinearDiscriminantAnalysis(),
    "qda": QuadraticDiscriminantAnalysis(),
    "bayes": BayesianLogisticRegression(),
    "svc": LinearSVC(calibrate="sigmoid"),
    "boost": AdaBoostClassifier(n_estimators=20),
    "tree": DecisionTreeClassifier(max_depth=5),
}


@pytest.mark.parametrize("name", LAST)
def test_tables_with_missing_cells_and_new_levels(name):
    frame, y = mixed()
    model = make_pipeline(TableEncoder(), LAST[name]).fit(frame, y)
    agrees(model, frame)
    agrees(model, new_rows())


@pytest.mark.parametrize("options", [{"rare": 90}, {"drop": None}, {"drop": "first", "standardize": False}])
def test_encoders_options(options):
    frame, y = mixed()
    model = make_pipeline(TableEncoder(**options), LogisticRegression()).fit(frame, y)
    agrees(model, new_rows())


def test_native_and_counted_forms():
    frame, y = mixed()
    for last in (NaiveBayes(), DecisionTreeClassifier(max_depth=4, categorical_features="from_dtype")):
        model = make_pipeline(TableEncoder(form="native", drop=None), last).fit(frame, y)
        agrees(model, new_rows())
    counts = pd.DataFrame(np.random.default_rng(0).poisson(2.0, (90, 4)), columns=list("abcd"))
    counts["w"] = np.random.default_rng(1).choice(["u", "v", "w"], 90)
    y = np.arange(90) % 3
    for last in (MultinomialNB(), BernoulliNB()):
        agrees(make_pipeline(TableEncoder(form="counts"), last).fit(counts, y), counts)


def days(n=120):
    draw = np.random.default_rng(2)
    when = pd.to_datetime("1948-02-29 22:10:05") + pd.to_timedelta(draw.integers(0, 3 * 10**9, n), unit="s")
    frame = pd.DataFrame({"when": pd.Series(when).where(draw.random(n) < 0.9), "x": draw.normal(size=n)})
    return frame, (frame["x"] + draw.normal(size=n) > 0).to_numpy().astype(int)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dates(dialect):
    frame, y = days()
    assert (frame["when"] < "1970").any()
    model = make_pipeline(TableEncoder(), LogisticRegression(C=100.0)).fit(frame, y)
    assert {"when year", "when hour sin", "when is missing"} <= set(model[0].get_feature_names_out())
    agrees(model, frame, [dialect])


ODD = {
    'a "quoted" name': "x",
    "it's; DROP TABLE t --": "y",
    "Ünïcode 数": "z",
    "select": "w",
}


def test_names_and_words_of_any_kind():
    draw = np.random.default_rng(4)
    words = ["it's", 'say "so"', "a\nb", "数, ß", "--", "NULL", "100%", "\\'"]
    frame = pd.DataFrame({name: draw.choice(words, 200) for name in ODD})
    y = np.array(["o'hara", 'the "other"', "β--"])[draw.integers(0, 3, 200)]
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(frame, y)
    new = frame.copy()
    new.iloc[:20, 0], new.iloc[20:40, 1] = "never seen", None
    agrees(model, frame)
    agrees(model, new)
    names = ["predicted", "p(o'hara)", 'p(the "other")', "p(β--)"]
    cursor = database(frame, "sqlite").execute(to_sql(model, table="the rows"))
    assert [part[0] for part in cursor.description] == names


@pytest.mark.parametrize("labels", [[3, 7], [1.0, -2.0, 1e15], [False, True], ["a", ""]])
def test_labels_of_any_kind(labels):  # in SQLite true and false are 1 and 0, equal to them
    draw = np.random.default_rng(5)
    frame = pd.DataFrame(draw.normal(size=(60, 2)), columns=["x", "z"])
    model = LogisticRegression().fit(frame, np.array(labels)[draw.integers(0, len(labels), 60)])
    agrees(model, frame)


def test_numbers_far_from_zero_and_scores_far_from_one():
    draw = np.random.default_rng(6)
    frame = pd.DataFrame({"big": 1e6 + draw.normal(size=200), "small": 1e-9 * draw.normal(size=200)})
    y = (frame["big"] > 1e6).to_numpy().astype(int)
    scaled = make_pipeline(StandardScaler(), LogisticRegression(C=1e6)).fit(frame, y)
    far = pd.concat([frame, 2 * frame, -3 * frame, 1e3 * frame], ignore_index=True)
    agrees(scaled, far)  # scores of millions: probabilities of 0 and 1
    agrees(make_pipeline(StandardScaler(), GaussianNB()).fit(frame, y), far)


def test_a_wide_table_and_many_classes():
    draw = np.random.default_rng(7)
    frame = pd.DataFrame(draw.normal(size=(80, 120)), columns=[f"x{j}" for j in range(120)])
    y = np.array([f"k{k:02d}" for k in range(26)])[np.arange(80) % 26]
    agrees(make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, y), frame)


def test_text_in_a_column_of_numbers_is_missing_in_sqlite():
    frame = pd.DataFrame({"x": [1.0, 2.5, np.nan, 4.0, 0.5, 9.0]})
    model = make_pipeline(TableEncoder(kinds={"x": "continuous"}), LogisticRegression()).fit(
        frame, [0, 1] * 3
    )
    base = sqlite3.connect(":memory:")
    base.execute('CREATE TABLE "the rows" (x TEXT, key)')
    cells = ["1.0", " 2.5", "", "4", "?", None]
    base.executemany('INSERT INTO "the rows" VALUES (?, ?)', [(c, i) for i, c in enumerate(cells)])
    wanted = model.predict_proba(pd.DataFrame({"x": [1.0, 2.5, np.nan, 4.0, np.nan, np.nan]}))
    np.testing.assert_allclose(asked(base, model, "sqlite")[1], wanted, rtol=0, atol=CLOSE)


def test_a_missing_cell_that_the_model_does_not_answer_gives_null():
    frame = pd.DataFrame(np.random.default_rng(8).normal(size=(40, 2)), columns=["x", "z"])
    model = LogisticRegression().fit(frame, np.arange(40) % 3)
    holes = frame.copy()
    holes.iloc[3, 1] = np.nan
    for dialect in DIALECTS:
        said, found = asked(database(holes, dialect), model, dialect)
        assert said[3] is None and np.isnan(found[3]).all()
        assert None not in said[4:] and np.isfinite(found[4:]).all()


def test_scores_where_there_are_no_probabilities_and_means():
    draw = np.random.default_rng(9)
    frame = pd.DataFrame(draw.normal(size=(80, 3)), columns=list("abc"))
    two, three = np.arange(80) % 2, np.digitize(frame["a"], [-0.5, 0.5])
    for y in (two, three):
        model = LinearSVC().fit(frame, y)
        for dialect in DIALECTS:
            said, found = asked(database(frame, dialect), model, dialect)
            wanted = model.decision_function(frame).reshape(80, -1)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=CLOSE)
            assert said == model.predict(frame).tolist()
    assert '"score(1)"' in to_sql(Perceptron().fit(frame, (frame["a"] > 0).astype(int)))
    model = GeneralizedLinearModel("poisson").fit(frame, draw.poisson(2.0, 80))
    for dialect in DIALECTS:
        base = database(frame, dialect)
        query = to_sql(model, dialect=dialect, table="the rows", keep=["key"])
        found = [row[1] for row in sorted(base.execute(query).fetchall())]
        np.testing.assert_allclose(found, model.predict(frame), rtol=1e-12)
    for link in ("logit", "cloglog"):  # a binomial model has shares of 0 and 1, the second its mean
        model = GeneralizedLinearModel("binomial", link).fit(frame, two)
        for dialect in DIALECTS:
            said, found = asked(database(frame, dialect), model, dialect)
            mean = model.predict(frame)
            np.testing.assert_allclose(found, np.column_stack([1 - mean, mean]), rtol=0, atol=CLOSE)
            assert said == (mean > 0.5).astype(int).tolist()


def test_sparse_columns_constants_and_names_of_outputs():
    draw = np.random.default_rng(10)
    frame = pd.DataFrame(
        {f"w{j}": np.where(draw.random(120) < 0.2, draw.poisson(3, 120), 0) for j in range(6)}
    )
    y = np.where(frame["w0"] + frame["w1"] > 1, "up", "down")
    thin = frame.astype(pd.SparseDtype("float64", 0.0))
    model = make_pipeline(TableEncoder(), LogisticRegression()).fit(thin, y)
    wanted = model.predict_proba(thin)
    for dialect in DIALECTS:
        np.testing.assert_allclose(
            asked(database(frame, dialect), model, dialect)[1], wanted, rtol=0, atol=CLOSE
        )
    model = DummyClassifier(strategy="prior").fit(frame, y)
    assert asked(database(frame, "sqlite"), model, "sqlite")[0] == model.predict(frame).tolist()
    named = frame.rename(columns={"w0": "label", "w1": "probabilities", "w2": "select"})
    agrees(LogisticRegression().fit(named, y), named)


def test_what_has_no_query_is_refused(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(8).normal(size=(60, 2)), columns=["x", "z"])
    y = np.arange(60) % 2
    model = LogisticRegression().fit(frame, y)

    def refused(said, made, **options):
        with pytest.raises(SqlExportError, match=said):
            to_sql(made, **options)

    refused(
        "dialect 'oracle' is unknown; it is one of 'sqlite', 'duckdb', 'postgres'", model, dialect="oracle"
    )
    refused("table is ''", model, table="")
    refused("give a list of names", model, keep="key")
    refused("more than one column called 'Predicted'", model, keep=["Predicted"])
    refused(r"kernel 'rbf'; logistic regression, .* to_onnx", SVC(calibrate="sigmoid").fit(frame, y))
    refused("mean of many trees", RandomForestClassifier(n_estimators=3).fit(frame, y))
    refused("erf, which databases lack", GeneralizedLinearModel("binomial", "probit").fit(frame, y))
    refused("give them by columns=", LogisticRegression().fit(frame.to_numpy(), y))
    refused(
        "columns names 1, and the model reads 2", LogisticRegression().fit(frame.to_numpy(), y), columns=["a"]
    )
    refused("as capitals do not count", LogisticRegression().fit(frame.set_axis(["x", "X"], axis=1), y))
    refused("formula is code", GeneralizedLinearModel.from_formula("n ~ x", frame.assign(n=y), "poisson"))
    text = pd.DataFrame({"post": ["a long story about nothing " * 4, "rain and wind and hail " * 4] * 30})
    refused(
        "column 'post' holds text",
        make_pipeline(TableEncoder(kinds={"post": "text"}), LogisticRegression()).fit(text, y),
    )
    mixed_labels = np.array([1, "a"], dtype=object)[y]
    refused("not all words or all numbers", GaussianNB().fit(frame, mixed_labels))
    monte_carlo = BayesianLogisticRegression(predictive="monte_carlo")
    refused("draws random numbers", monte_carlo.fit(frame, y))
    assert to_sql(model, path=tmp_path / "q.sql") == (tmp_path / "q.sql").read_text(encoding="utf-8")
    assert '"main"."the rows"' in to_sql(model, table="main.the rows")


REAL = {
    "adult": ("adult/adult.data.csv.gz", ["logistic", "naive-bayes"]),
    "mushrooms": ("mushrooms/mushrooms.csv.gz", ["logistic", "naive-bayes"]),
    "wine": ("wine/wine.csv", ["logistic", "lda", "qda"]),
    "german_credit": ("german_credit/german_credit.csv.gz", ["linear-svc", "lda"]),
}


@pytest.mark.parametrize("name", REAL)
def test_real_tables_by_the_command_line(name, tmp_path, capsys):
    """The file as words in a database, "?" and all, with new levels and gaps: as predict reads the same cells."""
    place, models = REAL[name]
    path = shared.root() / place
    if not path.exists():
        pytest.skip(f"no {path}")
    words = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True).head(2000)
    train = tmp_path / "train.csv"
    words.to_csv(train, index=False)
    draw = np.random.default_rng(0)
    new = words.sample(min(300, len(words)), random_state=0).reset_index(drop=True)
    for column in new.columns[:-1]:
        new.loc[draw.choice(len(new), 15, replace=False), column] = ""
        if not new[column].str.fullmatch(r"[-+.\d]*").all():
            new.loc[draw.choice(len(new), 15, replace=False), column] = "never seen"
    new["key"] = [str(i) for i in range(len(new))]
    new.to_csv(tmp_path / "new.csv", index=False)
    for kind in models:
        made = tmp_path / f"{kind}.sepx"
        more = ["--set", "calibrate=sigmoid"] if kind == "linear-svc" else []
        assert main(["fit", kind, str(train), "--out", str(made), "--quiet", *more]) == 0
        model = load(made)
        schema = needed(Schema.from_dict(model.table_))
        frame = pd.concat(read_chunks(tmp_path / "new.csv", schema, extra=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = model.predict_proba(frame)
        for dialect in ("sqlite", "duckdb"):
            out = tmp_path / "q.sql"
            command = ["sql", str(made), "--dialect", dialect, "--table", "people", "--keep", "key"]
            assert main([*command, "--out", str(out), "--quiet"]) == 0
            if dialect == "sqlite":
                base = sqlite3.connect(":memory:")
                new.to_sql("people", base, index=False)
            else:
                base = duckdb.connect()
                base.register("given", new)
                base.execute("CREATE TABLE people AS SELECT * FROM given")
            rows = sorted(base.execute(out.read_text()).fetchall(), key=lambda row: int(row[0]))
            found = np.array([row[2:] for row in rows], dtype=float)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=CLOSE, err_msg=f"{kind} {dialect}")
