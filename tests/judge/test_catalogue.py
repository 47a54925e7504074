"""One list of models: a new one is its file and an entry, and whatever goes by a name follows."""

from importlib import import_module
from importlib.metadata import version
from inspect import isclass
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_classifier

import separatrix
from separatrix import compare
from separatrix.judge.candidates import CANDIDATES, _maker, candidate_named
from separatrix.judge.facts import TableFacts
from separatrix.judge.suitability import RULES
from separatrix.models.catalogue import BY_NAME, MODELS, TUNED, named, plain

FACTS = TableFacts.of(np.eye(12)[:, :3], np.arange(12) % 2)
SPELLINGS = [
    ("svc", ("svc", "SVC", "rbf_svc", "rbf-svc", "RBF SVC", "svm")),
    ("linear_svc", ("linear_svc", "linear-svc", "LinearSVC", " Linear SVC ")),
    ("naive_bayes", ("naive-bayes", "NaiveBayes", "nb")),
    ("logistic", ("logit", "LogisticRegression")),
]


def estimators():
    """class → module of everything under models that fits and predicts."""
    found = {}
    for info in walk_packages(import_module("separatrix.models").__path__, "separatrix.models."):
        for name, value in vars(import_module(info.name)).items():
            own = isclass(value) and value.__module__ == info.name and not name.startswith("_")
            if (
                own
                and issubclass(value, BaseEstimator)
                and hasattr(value, "fit")
                and hasattr(value, "predict")
            ):
                found[value] = info.name
    return found


def test_every_model_is_listed_at_its_home_and_public():
    found = estimators()
    bases = {base for cls in found for base in cls.__mro__[1:]}
    listed = {model.cls: model.module for model in MODELS}
    held = {"Pipeline"}  # scikit-learn's, with sets: no model of its own
    assert {cls.__name__ for cls in found if cls not in bases} - held <= set(listed)
    assert listed.items() <= {cls.__name__: home for cls, home in found.items()}.items()
    assert len(listed) == len(MODELS) and all(getattr(separatrix, cls) for cls in listed)


def test_what_goes_by_a_name_is_a_classifier_and_no_name_stands_for_two():
    asked = [
        plain(word) for m in BY_NAME.values() for word in {plain(m.name), plain(m.cls), *map(plain, m.also)}
    ]
    assert len(asked) == len(set(asked)) and all(model.reads for model in BY_NAME.values())
    for name, model in BY_NAME.items():
        made = model.load()().set_params(**model.for_tables())
        assert (is_classifier(made) and made.get_params() and name == plain(name)) or "_" in name
    turns = [m.tried.turn for m in MODELS if m.tried]
    assert len(turns) == len(set(turns)) and not set(turns) & {0, 4}


def test_compare_and_the_command_line_follow_from_it():
    tried = {name: model for name, model in BY_NAME.items() if model.tried}
    assert set(CANDIDATES) == {*tried, "majority", "naive_bayes_cut", "sklearn_hgb"}
    for name, model in tried.items():
        candidate = CANDIDATES[name]
        assert (candidate.form, candidate.title, candidate.grows) == (
            model.reads, model.title, model.tried.grows
        )  # fmt: skip
        made = candidate.make(FACTS, 0, "log_loss")
        assert hasattr(made, "fixing") == (name in TUNED) == bool(model.tried.grid)
        assert candidate.unsuited is RULES[model.tried.unsuited] or not model.tried.unsuited


def test_an_entry_is_enough():
    entry = BY_NAME["perceptron"]
    tried = BY_NAME["multinomial_nb"].tried._replace(grid=({"eta0": 1.0}, {"eta0": 0.1}), scoring="accuracy")
    search = _maker(entry._replace(tried=tried))(FACTS, 0, "log_loss")
    assert search.fit(np.eye(12)[:, :3], np.arange(12) % 2).best_params_ == {"eta0": 1.0}


@pytest.mark.parametrize("name, spellings", SPELLINGS)
def test_a_name_is_found_in_any_spelling(name, spellings):
    assert {named(text) for text in spellings} == {name}
    assert {candidate_named(text).name for text in spellings} == {name}


def test_compare_takes_names_of_before():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    found = compare(X, y, models=["rbf-svc", "lda"], cv=3)
    assert set(found.ranking) == {"svc", "lda"}


def test_one_place_says_the_version():
    root = Path(separatrix.__file__).parents[2]
    assert separatrix.__version__ == version("separatrix")
    if (root / "pyproject.toml").exists():
        assert f'"{separatrix.__version__}"' not in (root / "pyproject.toml").read_text(encoding="utf-8")
