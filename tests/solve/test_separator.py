"""Separating hyperplanes by hand: widest streets, and convex weights that cancel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.solve.separator import (
    Contradiction,
    contradiction_among,
    contradiction_of,
    linear_separator,
    maximum_margin,
    maximum_margin_rule,
)
from tests.draws import examples

quick = examples(15)
seeds = st.integers(0, 10_000)


def classes(seed, apart):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    sign = np.where(np.arange(30) % 2 == 0, 1, -1)
    X[:, 0] = sign * (np.abs(X[:, 0]) + apart)
    return X @ np.array([[0.8, 0.6], [-0.6, 0.8]]), sign


@quick
@given(seed=seeds, apart=st.sampled_from([0.1, 1.0]))
def test_the_widest_street_has_its_width_and_no_wider_is_known(seed, apart):
    X, sign = classes(seed, apart)
    rule, found = maximum_margin_rule(X, sign)
    margins = sign * (X @ rule.coef + rule.intercept) / np.linalg.norm(rule.coef)
    assert margins.min() == pytest.approx(found.low, rel=1e-8)
    assert found.low >= apart - 1e-9 and found.low >= (1 - 1e-8) * found.high
    hulls = (found.weights * sign) @ X  # the shortest way between the hulls
    assert np.linalg.norm(hulls) / 2 == pytest.approx(found.high, rel=1e-8)


@quick
@given(seed=seeds)
def test_the_bracket_around_the_margin_is_honest_after_any_number_of_steps(seed):
    X, sign = classes(seed, 0.5)
    Z = sign[:, None] * np.column_stack([X, np.ones(len(X))])
    end = maximum_margin(Z)
    for most in (1, 2, 5):
        found = maximum_margin(Z, most=most)
        assert found.low <= end.high * (1 + 1e-9) and end.low <= found.high * (1 + 1e-9)


@quick
@given(seed=seeds)
def test_rows_either_separate_or_contradict(seed):
    rng = np.random.default_rng(seed)
    X, sign = rng.normal(size=(14, 2)), np.where(np.arange(14) % 2 == 0, 1, -1)
    answer = contradiction_among(X, sign, True)
    found = linear_separator(X, sign)
    assert found.separable == (answer is False)
    if isinstance(answer, Contradiction):
        assert answer.check(X, sign)
        z = sign[:, None] * np.column_stack([X, np.ones(14)])
        assert np.abs(answer.weights @ z).max() <= 1e-9 * np.abs(z).max()


def test_weights_that_do_not_cancel_prove_nothing():
    X, sign = classes(0, 1.0)
    assert contradiction_of(np.ones(30), X, sign, True) is None
    assert contradiction_of(np.zeros(30), X, sign, True) is None
