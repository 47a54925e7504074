"""Copies and company: pickling, clone, deep copies, weights of zero, and eight threads at once."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.laws.catalogue import answers, assert_same_bits, cases, quietly

pytestmark = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)

# which row a draw hits, or where a quantile lies, goes by a row's place among all
BY_PLACE = {
    "BaggingClassifier", "BaggingRegressor", "RandomForestClassifier", "RandomForestRegressor", "RadialBasis",
}  # fmt: skip


def test_a_pickle_keeps_every_bit(case):
    model = case.fitted()
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_same_bits(answers(model, case.X), answers(other, case.X))
        assert str(getattr(other, "verdict_", None)) == str(getattr(model, "verdict_", None))


def test_clone_forgets_the_fit_and_nothing_else(case):
    model = case.fitted()
    other = clone(model)
    assert str(other.get_params()) == str(model.get_params())
    assert vars(other).keys() == vars(clone(case.model)).keys()
    with pytest.raises(NotFittedError):
        answers(other, case.X)
    assert_same_bits(answers(quietly(other.fit, case.X, case.y), case.X), answers(model, case.X))


def test_eight_threads_at_once_get_the_same_bits(case):
    model = case.fitted()
    alone = answers(model, case.X)

    def work(i):
        asked = answers(model, case.X)
        own = clone(case.model)
        return asked, answers(own.fit(case.X, case.y), case.X)

    with ThreadPoolExecutor(8) as pool:
        for asked, refitted in quietly(list, pool.map(work, range(8))):
            assert_same_bits(alone, asked)
            assert_same_bits(alone, refitted)


def test_weight_zero_is_absence(case):
    if not case.takes_weight:
        pytest.skip("takes no weights")
    if case.name in BY_PLACE:
        pytest.skip("draws by the place of a row")
    rng = np.random.default_rng(1)
    keep = rng.random(len(case.y)) < 0.8
    X = case.X.iloc if hasattr(case.X, "iloc") else case.X
    spoilt = np.array(case.X, copy=True)
    if case.name not in ("CategoricalNB", "MultinomialNB", "BernoulliNB", "ComplementNB"):
        spoilt[~keep] *= 3.0
    one = quietly(clone(case.model).fit, spoilt, case.y, sample_weight=keep.astype(float))
    other = quietly(clone(case.model).fit, X[keep], case.y[keep])
    for name, value in answers(other, case.X).items():
        if value.dtype.kind == "f":
            scale = max(1.0, float(np.abs(value[np.isfinite(value)]).max(initial=0.0)))
            np.testing.assert_allclose(
                answers(one, case.X)[name], value, rtol=1e-5, atol=1e-5 * scale, err_msg=name
            )
        else:
            assert (answers(one, case.X)[name] == value).mean() > 0.98, name
