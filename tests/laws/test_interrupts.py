"""Ctrl-C stops: a fit that it cuts short raises, and leaves its best so far, or the estimator as it was."""

from __future__ import annotations

import signal
from contextlib import suppress

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from separatrix import (
    SVC,
    BaggingClassifier,
    ExtraTreesClassifier,
    GaussianNB,
    LogisticRegression,
    keep_going,
)
from separatrix.data import interrupts
from tests.laws.catalogue import answers, assert_same_bits, cases, quietly

every_estimator = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def check_no_trace_of_the_fit() -> None:
    assert not interrupts.fits_under_way() and not interrupts._around.loops and not interrupts._noted
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@every_estimator
def test_an_interrupted_fit_raises(case, at_a_call):
    before = answers(case.fitted(), case.X)
    for call in at_a_call(case.fitted):
        model = case.fitted()
        old = getattr(model, "verdict_", None)
        with pytest.raises(KeyboardInterrupt), call(KeyboardInterrupt):
            quietly(model.fit, case.X, case.y)
        check_no_trace_of_the_fit()
        if getattr(model, "verdict_", None) is old:  # nothing to keep yet
            assert_same_bits(before, answers(model, case.X))
        else:
            assert model.verdict_.status == "interrupted" and not model.verdict_.settled
            answers(model, case.X)


@every_estimator
def test_keep_going_returns_what_there_is(case, at_a_call):
    for call in at_a_call(case.fitted):
        model = case.model.__class__(**case.model.get_params())
        state = dict(vars(model))
        try:
            with call(KeyboardInterrupt), keep_going():
                quietly(model.fit, case.X, case.y)
        except KeyboardInterrupt:
            assert vars(model) == state
        else:
            assert model.verdict_.status == "interrupted"
            answers(model, case.X)
        check_no_trace_of_the_fit()


class Signal:
    """Presses Ctrl-C at a call of a function that compiled loops go through."""

    def __init__(self, function, at):
        self.function, self.left = function, at

    def __call__(self, *args, **kwargs):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        return self.function(*args, **kwargs)


def test_a_loop_of_someone_else_ends(monkeypatch, overlapping):
    """What used to go on: the score of a half fitted machine was taken for the machine's."""
    from separatrix.solve import smo_few

    tried = []

    def loop():
        for C in (1, 10, 100):
            tried.append(cross_val_score(SVC(C=C), *overlapping, error_score="raise"))

    monkeypatch.setattr(smo_few, "few_pairs", Signal(smo_few.few_pairs, 3))
    with pytest.raises(KeyboardInterrupt):
        loop()
    assert not tried


def test_members_of_an_ensemble_are_whole(monkeypatch, overlapping):
    """The fit inside the fit always raises, so that the member that was cut short is left out."""
    from separatrix.solve import smo_few

    X, y = overlapping
    model = BaggingClassifier(SVC(C=10), n_estimators=8, n_jobs=1, random_state=0)
    calls = Signal(smo_few.few_pairs, 0)
    monkeypatch.setattr(smo_few, "few_pairs", calls)
    model.fit(X, y)
    calls.left = -calls.left // 2  # half way
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert 1 <= len(model.estimators_) < 8 and model.verdict_.status == "interrupted"
    assert all(m.verdict_.status == "optimal" for m in model.estimators_)


def test_trees_that_were_grown_stay(monkeypatch, overlapping):
    from separatrix.growth import growers

    model = ExtraTreesClassifier(n_estimators=20, n_jobs=1)
    monkeypatch.setattr(growers, "grow_random", Signal(growers.grow_random, 8))
    with pytest.raises(KeyboardInterrupt, match="keep_going"):
        model.fit(*overlapping)
    assert len(model.estimators_) == 7 and model.verdict_.status == "interrupted"


def test_steps_of_em_that_were_made_stay(monkeypatch, overlapping):
    from separatrix.models.generative import em

    X, y = overlapping
    half = np.where(np.arange(len(y)) % 2, y, -1)
    model, few = GaussianNB(), GaussianNB(em_max_iter=3)
    quietly(few.fit, X, half)
    with monkeypatch.context() as patch:
        patch.setattr(em, "sweep", Signal(em.sweep, 4))  # three steps, and then
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, half)
    assert model.verdict_.status == "interrupted" and len(model.log_likelihoods_) == 3
    np.testing.assert_array_equal(model.theta_, few.theta_)
    np.testing.assert_array_equal(model.predict_proba(X), few.predict_proba(X))


def test_a_ctrl_c_that_was_lost_on_its_way_is_raised(overlapping):
    """Python drops an exception that arises in a callback of the compiler; the fit raises it at its next step."""
    with interrupts.listening():
        with suppress(KeyboardInterrupt):  # as the compiler does
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            LogisticRegression().fit(*overlapping)
    check_no_trace_of_the_fit()


def test_the_next_fit_is_as_if_nothing_had_been(monkeypatch, overlapping):
    from separatrix.solve import smo_few

    X, y = overlapping
    model, whole = SVC(C=100), SVC(C=100).fit(X, y)
    with monkeypatch.context() as patch:
        patch.setattr(smo_few, "few_pairs", Signal(smo_few.few_pairs, 1))
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    assert_same_bits(answers(model.fit(X, y), X), answers(whole, X))


@pytest.fixture
def overlapping():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, (X[:, 0] + rng.normal(size=120) > 0).astype(int)
