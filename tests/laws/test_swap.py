"""Changing the import is enough: precision, and one class, as scikit-learn's model of the same name has them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import is_classifier

from tests.laws.catalogue import answers, cases, quietly

pytestmark = pytest.mark.parametrize(
    "case", [case for case in cases() if case.counterpart is not None], ids=lambda case: case.name
)


def both(case, X, y):
    """Ours and scikit-learn's of the same name, fitted; None where it refuses."""
    found = []
    for kind in (type(case.model), case.counterpart):
        try:
            model = kind(random_state=0) if "random_state" in kind().get_params() else kind()
            found.append(quietly(model.fit, X, y))
        except ValueError:
            found.append(None)
    return found


def numbers(model, X):
    """Fitted arrays that both may have, and answers, by name."""
    found = {name: getattr(model, name, None) for name in ("coef_", "intercept_", "theta_", "var_", "means_")}
    found = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    said = answers(model, X)
    return found | {name: value for name, value in said.items() if value.dtype.kind == "f"}


def test_float32_stays_float32(case):
    if not isinstance(case.X, np.ndarray):
        pytest.skip("reads no table of numbers")
    X = case.X.astype(np.float32)
    ours, theirs = both(case, X, case.y)
    mine = numbers(ours, X)
    for name, value in numbers(theirs, X).items():
        if value.dtype == np.float32 and name in mine:
            assert mine[name].dtype == np.float32, f"{name} is {mine[name].dtype}"
    wide = numbers(both(case, case.X, case.y)[0], case.X)
    for name, value in mine.items():  # and it is the same answer, to what float32 can hold
        assert wide[name].dtype == np.float64, name
        if name not in ("predict_log_proba", "score_samples"):
            scale = max(1.0, float(np.abs(wide[name]).max()))
            np.testing.assert_allclose(value, wide[name], atol=2e-3 * scale, err_msg=name)


def test_one_class_as_scikit_learn(case):
    if not (is_classifier(case.model) and case.supervised):
        pytest.skip("has no classes")
    ours, theirs = both(case, case.X, np.full(len(case.y), "only"))
    assert (ours is None) == (theirs is None)
    if ours is None:
        return
    assert ours.classes_.tolist() == ["only"]
    mine = answers(ours, case.X)
    assert (mine["predict"] == "only").all()
    if "predict_proba" in mine:
        try:
            wanted = theirs.predict_proba(case.X)
        except (
            np.exceptions.AxisError
        ):  # scikit-learn's LDA learns one class, and stumbles over its probability
            wanted = np.ones((len(mine["predict"]), 1))
        np.testing.assert_allclose(mine["predict_proba"], wanted)
