"""What you read is what predicts: an edit of a fitted array changes the answers, or is refused; never ignored."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from tests.laws.catalogue import (
    REPORTS,
    STATE,
    answers,
    assert_same_bits,
    cases,
    differ,
    fitted_arrays,
    state_of,
)

pytestmark = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def edited(name: str, value: np.ndarray) -> np.ndarray:
    """Other numbers of the same kind: shares stay shares, variances positive."""
    if name in ("class_prior_", "priors_"):
        return np.linspace(1, 3, len(value)).astype(value.dtype) / np.linspace(1, 3, len(value)).sum()
    if name in ("var_", "covariance_"):
        return 1.7 * value
    return (1.5 * value + 0.25).astype(value.dtype)


def assign(model, name, value):
    """None, or the sentence by which the assignment is refused."""
    try:
        setattr(model, name, value)
    except AttributeError as refusal:
        return str(refusal)
    return None


def after(model, X):
    """The answers; None where they are refused, by a sentence."""
    try:
        return answers(model, X)
    except (ValueError, AttributeError) as error:
        refusal = str(error)
    assert len(refusal) > 30
    return None


def test_every_fitted_array_is_named(case):
    unknown = fitted_arrays(case.fitted()).keys() - STATE - REPORTS
    assert not unknown, f"say in tests/laws/catalogue.py whether {case.name} predicts from {sorted(unknown)}"


def test_an_assignment_is_honoured_or_refused(case):
    model = case.fitted()
    before = answers(model, case.X)
    for name in state_of(model):
        other = copy.deepcopy(model)
        value = getattr(other, name)
        new = (
            [edited(name, part) for part in value] if isinstance(value, list) else edited(name, value.copy())
        )
        refusal = assign(other, name, new)
        if refusal is not None:
            assert len(refusal) > 30, f"{name}: the refusal says nothing of the way out"
            assert_same_bits(before, answers(other, case.X))
            continue
        said = after(other, case.X)
        assert said is None or differ(before, said), f"{case.name} ignores {name}"


def test_an_edit_in_place_is_honoured_or_refused(case):
    model = case.fitted()
    before = answers(model, case.X)
    for name in state_of(model):
        other, assigned = copy.deepcopy(model), copy.deepcopy(model)
        value = getattr(other, name)
        parts = value if isinstance(value, list) else [value]
        try:
            for part in parts:
                part[...] = edited(name, part)
        except ValueError:
            assert all(not part.flags.writeable for part in parts)
            assert_same_bits(before, answers(other, case.X))
            continue
        said = after(other, case.X)
        assert said is None or differ(before, said), f"{case.name} ignores an edit of {name} in place"
        if assign(assigned, name, [p.copy() for p in parts] if isinstance(value, list) else value.copy()):
            continue
        again = after(assigned, case.X)
        assert (said is None) == (again is None)
        if said is not None:
            assert_same_bits(said, again)


def test_the_same_numbers_are_no_edit(case):
    """Reading an array and putting it back changes nothing."""
    model = case.fitted()
    before = answers(model, case.X)
    for name in state_of(model):
        assign(model, name, copy.deepcopy(getattr(model, name)))
    now = answers(model, case.X)
    for name in before:
        if before[name].dtype.kind == "f":
            np.testing.assert_allclose(now[name], before[name], rtol=1e-7, atol=1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(now[name], before[name], err_msg=name)
