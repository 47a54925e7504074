"""A refused call leaves the estimator as it was: after it, predictions are the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.laws.catalogue import Case, answers, assert_same_bits, cases, quietly

pytestmark = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def refusals(case: Case) -> list:
    """Calls that ought to be refused, by name."""
    X, y = case.X, case.y
    cells = np.asarray(X, dtype=object) if case.name in ("TableEncoder", "TextFeatures") else np.asarray(X)
    found = [("no rows", lambda m: m.fit(X[:0], y[:0])), ("a number for a table", lambda m: m.fit(3.0, y))]
    if case.supervised:
        found += [
            ("too few targets", lambda m: m.fit(X, y[:-1])),
            ("no targets", lambda m: m.fit(X, None)),
        ]
    if cells.dtype.kind == "f":
        found.append(("an infinite cell", lambda m: m.fit(np.where(cells == cells[3, 1], np.inf, cells), y)))
    if case.takes_weight:
        found += [
            ("too few weights", lambda m: m.fit(X, y, sample_weight=np.ones(3))),
            ("a negative weight", lambda m: m.fit(X, y, sample_weight=np.full(len(y), -1.0))),
            ("weights of words", lambda m: m.fit(X, y, sample_weight=["much"] * len(y))),
        ]
    if hasattr(case.model, "partial_fit"):
        found += [
            ("other columns", lambda m: m.partial_fit(cells[:, :1], y)),
            ("a chunk with too few targets", lambda m: m.partial_fit(X, y[:-1])),
        ]
    if hasattr(case.model, "merge"):
        found.append(("another kind of model", lambda m: m.merge(object())))
    return found


def test_a_refused_call_changes_nothing(case):
    model = case.fitted()
    before, state = answers(model, case.X), dict(vars(model))
    for words, call in refusals(case):
        with pytest.raises((ValueError, TypeError, AttributeError)):
            quietly(call, model)
        assert vars(model).keys() == state.keys(), words
        assert_same_bits(before, answers(model, case.X))


def test_refused_parameters_are_not_set(case):
    model = case.fitted()
    before, params = answers(model, case.X), model.get_params(deep=True)
    other = {name: "nothing that could be meant" for name in sorted(model.get_params(deep=False))[:2]}
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(**other, no_such_parameter=1)
    assert model.get_params(deep=True) == params
    assert_same_bits(before, answers(model, case.X))


def test_an_unfitted_estimator_stays_unfitted(case):
    model = case.model.__class__(**case.model.get_params(deep=False))
    state = dict(vars(model))
    for words, call in refusals(case):
        if words == "other columns":  # the first chunk says which columns there are
            continue
        with pytest.raises((ValueError, TypeError, AttributeError)):
            quietly(call, model)
        assert vars(model) == state, words


def test_what_fails_half_way_leaves_no_trace(case, at_a_call):
    """An error from anywhere inside a second fit: memory that ran out, a file that went away."""
    model = case.fitted()
    before, state = answers(model, case.X), dict(vars(model))
    turned = case.X[::-1], case.y[::-1]
    for call in at_a_call(lambda: quietly(case.model.__class__(**case.model.get_params()).fit, *turned)):
        with pytest.raises(MemoryError), call(MemoryError):
            quietly(model.fit, *turned)
        assert vars(model).keys() == state.keys()
        assert_same_bits(before, answers(model, case.X))
