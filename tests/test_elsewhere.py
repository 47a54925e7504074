"""Names of scikit-learn's that are not here: an import that cannot be met names the way."""

import re

import pytest
from sklearn.utils import all_estimators

import separatrix
from separatrix.elsewhere import WAYS, way_out


@pytest.mark.parametrize("name", WAYS)
def test_a_name_that_is_elsewhere_has_a_sentence(name):
    assert name not in separatrix.__all__ and not hasattr(separatrix, name)
    with pytest.raises(ImportError) as error:
        exec(f"from separatrix import {name}")
    assert WAYS[name] in str(error.value) and repr(name) in str(error.value)
    with pytest.raises(AttributeError, match=re.escape(WAYS[name])):
        getattr(separatrix, name)


def test_every_model_that_a_sentence_names_exists():
    theirs = {name for name, _ in all_estimators()} | {
        "GridSearchCV",
        "VotingClassifier",
        "StackingClassifier",
    }
    for name, sentence in WAYS.items():
        named = set(re.findall(r"\b[A-Z]\w+", sentence)) - {"RBF"}
        for word in named:
            assert hasattr(separatrix, word) or word in theirs, (name, word)


def test_other_names_are_refused_as_python_does():
    assert way_out("Nothing") == "" and not hasattr(separatrix, "Nothing")
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        exec("from separatrix import Nothing")
