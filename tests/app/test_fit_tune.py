"""``fit --tune``: the choice of compare's search, with what is given fixed, said and kept in the file."""

import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("skops")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from separatrix.app.cli import main  # noqa: E402
from separatrix.files.store import describe, load  # noqa: E402
from separatrix.judge.candidates import CANDIDATES  # noqa: E402
from separatrix.judge.facts import TableFacts  # noqa: E402
from separatrix.judge.tuning import Tuned, TunedRounds, TunedSVC, settled  # noqa: E402
from separatrix.models.catalogue import BY_NAME  # noqa: E402
from separatrix.tables.encode import TableEncoder  # noqa: E402
from separatrix.tables.read import read  # noqa: E402


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """run("logistic", "iris") → (exit code, standard output, standard error) of fit, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main(["fit", *[str(a) for a in arguments]])
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return code, said.out, said.err

    return run


def words(path, n=120):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    sky = np.where(rng.random(n) < 0.2 + 0.6 * y, "sun", "rain")
    frame = pd.DataFrame(
        {"sky": sky, "wind": rng.normal(size=n).round(2) + y, "class": np.where(y, "yes", "no")}
    )
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["logistic", "svc", "adaboost", "naive_bayes"])
def test_what_is_chosen_is_what_compare_would_choose(run, name):
    """The same search on the same encoded rows, made by hand."""
    code, out, _ = run(name, "iris", "--tune", "--json", "--out", "m.sepx")
    told = json.loads(out)
    assert code == 0
    table = read("iris")
    facts = TableFacts.of(table.frame, table.labels, table.kinds)
    search = CANDIDATES[name].make(facts, 0, "log_loss")
    cells = TableEncoder(form=BY_NAME[name].reads, kinds=dict(table.kinds)).fit_transform(table.frame)
    search.fit(cells, table.labels)
    assert told["tuning"]["chosen"] == search.best_params_
    assert [t["score"] for t in told["tuning"]["trials"]] == pytest.approx([t.score for t in search.trials_])
    kept = load("m.sepx")
    np.testing.assert_array_equal(
        kept.predict_proba(table.frame), settled(search).predict_proba(cells)
    )  # the plain model, without the search around it


def test_the_choice_is_said_and_kept_in_the_file(run):
    code, out, said = run("logistic", "iris", "--tune", "--out", "m.sepx")
    assert code == 0 and out.startswith(
        "chosen: C=10 (best of 5, log loss 0.08442 in 3-fold cross-validation)"
    )
    assert "C=0.01: log loss 0.702" in said and "C=10: log loss 0.08442 ←" in said and "compare" in said
    notes = describe("m.sepx").notes
    assert notes.endswith("tuned: C=10 (best of 5, log loss 0.08442 in 3-fold cross-validation)")
    code, out, _ = run("logistic", "iris", "--json", "--out", "m.sepx")
    assert code == 0 and json.loads(out)["tuning"] is None and "tuned" not in describe("m.sepx").notes


def test_the_end_of_the_grid_is_told(run, tmp_path):
    _, _, said = run("logistic", "iris", "--tune")
    assert "that was tried" not in said  # C=10, among 0.01 to 100
    _, _, said = run("svc", "iris", "--tune", "--set", "C=3")
    assert "that was tried" not in said  # gamma, the second of four
    rng = np.random.default_rng(0)  # far apart: the more is believed, the better
    y = np.arange(80) % 2
    pd.DataFrame({"x": rng.normal(size=80) + 20 * y, "y": y}).to_csv(tmp_path / "far.csv", index=False)
    _, _, said = run("logistic", "far.csv", "--tune")
    assert "C=100 is the largest that was tried: another may be better" in said


def test_what_is_set_is_not_chosen(run):
    code, out, _ = run("svc", "iris", "--tune", "--set", "C=3", "--json")
    tuning = json.loads(out)["tuning"]
    assert code == 0 and {t["settings"]["C"] for t in tuning["trials"]} == {3}
    assert len(tuning["trials"]) == 4 and json.loads(out)["settings"]["C"] == 3
    code, out, _ = run("extra-trees", "iris", "--tune", "--set", "n_estimators=20", "--json")
    told = json.loads(out)
    assert code == 0 and told["settings"]["n_estimators"] == 20 and len(told["tuning"]["trials"]) == 3
    code, out, _ = run("logistic", "iris", "--tune", "--set", "solver=lbfgs", "--json")
    told = json.loads(out)
    assert code == 0 and told["settings"]["solver"] == "lbfgs" and len(told["tuning"]["trials"]) == 5


def test_words_have_levels_to_smooth(run, tmp_path):
    path = words(tmp_path / "w.csv")
    code, out, _ = run("naive-bayes", path, "--tune", "--json")
    trials = json.loads(out)["tuning"]["trials"]
    assert code == 0 and {t["settings"]["alpha"] for t in trials} == {0.1, 1.0, 10.0}
    code, out, _ = run("bagged-trees", path, "--tune", "--seed", "3", "--json")
    assert code == 0 and json.loads(out)["settings"]["random_state"] == 3


@pytest.mark.parametrize(
    "arguments, exit_code, words",
    [
        (["lda", "iris"], 2, "lda has no settings to choose from: leave --tune out, or tune one of logistic"),
        (
            ["perceptron", "nowhere.csv"],
            2,
            "perceptron has no settings to choose from",
        ),  # before anything is read
        (["logistic", "iris", "--set", "C=3"], 2, "with --set C=3 nothing is left to choose"),
        (["adaboost", "iris", "--set", "n_estimators=9"], 2, "nothing is left to choose"),
        (["svc", "iris", "--set", "C=3", "--set", "gamma=1"], 2, "--set C=3 --set gamma=1 nothing is left"),
        (
            ["svc", "iris", "--set", "kernel=linear"],
            1,
            "of the radial kernel alone: leave kernel='linear' out",
        ),
        (["logistic", "iris", "--set", "D=3"], 2, "setting 'D' is unknown"),
    ],
)
def test_refusals(run, arguments, exit_code, words):
    code, out, said = run(*arguments, "--tune")
    last = said.strip().splitlines()[-1]
    assert code == exit_code and last.startswith("separatrix: ") and words in last and not out


# ---- fixing, in Python ----


def test_fixed_settings_leave_the_grid():
    from separatrix import AdaBoostClassifier, LogisticRegression

    tuned = Tuned(LogisticRegression(), [{"C": 1.0, "tol": 0.1}, {"C": 2.0, "tol": 0.1}], final={"tol": 1e-6})
    assert tuned.fixing({"tol": 0.3}).grid == [{"C": 1.0}, {"C": 2.0}]
    assert tuned.fixing({"tol": 0.3}).final == {} and tuned.fixing({"tol": 0.3}).estimator.tol == 0.3
    assert tuned.fixing({"C": 5.0}).grid == [{"tol": 0.1}] and tuned.estimator.C == 1.0
    rounds = TunedRounds(AdaBoostClassifier(n_estimators=30))
    assert rounds.fixing({"learning_rate": 0.1}).estimator.learning_rate == 0.1
    assert rounds.fixing({"n_estimators": 7}).grid == [{}]


@pytest.mark.parametrize("gamma, number", [("scale", None), ("auto", 0.25), (0.7, 0.7)])
def test_a_fixed_width_may_be_a_word(gamma, number):
    table = read("iris")
    X = table.frame.to_numpy()
    found = TunedSVC().fixing({"gamma": gamma}).fit(X, table.labels)
    number = 1 / (4 * X.var()) if number is None else number
    assert found.best_params_["gamma"] == pytest.approx(number)
    assert len(found.trials_) == 5 and found.best_params_["C"] == found.best_estimator_.C


def test_ctrl_c_ends_the_search():
    """A fit that Ctrl-C cut short is no trial: the search ends and does not go on with the next setting."""
    from separatrix import LogisticRegression

    class Pressed(LogisticRegression):
        fits = 0

        def fit(self, X, y):
            type(self).fits += 1
            super().fit(X, y)
            from dataclasses import replace

            self.verdict_ = replace(self.verdict_, status="interrupted")
            return self

    table = read("iris")
    with pytest.raises(KeyboardInterrupt):
        Tuned(Pressed(), [{"C": 1.0}, {"C": 2.0}]).fit(table.frame.to_numpy(), table.labels)
    assert Pressed.fits == 1
