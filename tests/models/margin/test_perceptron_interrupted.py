"""Perceptrons and Ctrl-C: weights and counts agree wherever it falls."""

from __future__ import annotations

import itertools
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from separatrix import engine, keep_going
from separatrix.models.margin.kernel_perceptron import KernelPerceptron
from separatrix.models.margin.perceptron import Perceptron


def test_interrupted_fits_keep_what_they_have(monkeypatch):
    from separatrix.solve import perceptron as solve

    X, y = load_iris(return_X_y=True)
    real, calls = solve.LinearPerceptronRun.epoch, []

    def epoch(self, visits):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self, visits)

    monkeypatch.setattr(solve.LinearPerceptronRun, "epoch", epoch)
    with keep_going():
        model = Perceptron().fit(X[50:], y[50:])
    assert model.verdict_.status == "interrupted" and model.n_iter_ == 2


@pytest.mark.usefixtures("no_collector")
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to one thread")
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("K", [2, 3])
def test_ctrl_c_during_a_pass_leaves_weights_and_counts_that_agree(monkeypatch, K, form, average):
    """The signal comes while compiled code runs: Python sees it once the pass is over, before its answer is read."""
    from separatrix.solve import perceptron as solve

    calls, main = itertools.count(1), threading.main_thread()

    def during(run):
        def interrupted(*args):
            answer = run(*args)
            if next(calls) == 5:
                if threading.current_thread() is main:
                    raise KeyboardInterrupt
                time.sleep(0.2)  # by now the main thread waits
                signal.pthread_kill(main.ident, signal.SIGINT)
            return answer

        return interrupted

    for name in ("dense_pass", "csr_pass"):
        monkeypatch.setattr(solve, name, during(getattr(solve, name)))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 4))
    y = np.argmax(X[:, :K] + rng.standard_normal((2000, K)), axis=1)
    with engine("threads", workers=2), keep_going():
        model = Perceptron(max_iter=100_000, tol=None, average=average).fit(form(X), y)
    check_what_an_interrupted_fit_left(model, X, y)


def check_what_an_interrupted_fit_left(model, X, y):
    """An honest end: the status, and counts, weights, paths and the objective of one and the same moment."""
    assert model.verdict_.status == "interrupted" and not model.verdict_.settled
    signs = [np.where(y == k, 1, -1) for k in (model.classes_ if len(model.classes_) > 2 else [1])]
    mistakes, dual = np.atleast_1d(model.n_mistakes_), np.atleast_2d(model.dual_coef_)
    assert mistakes.sum() > 0
    value = 0.0
    for k, sign in enumerate(signs):
        np.testing.assert_allclose(model.coef_[k], (dual[k] * sign) @ X, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.intercept_[k], dual[k] @ sign, rtol=1e-9, atol=1e-9)
        assert dual[k].min() >= -1e-9
        if not model.average:
            assert mistakes[k] == dual[k].sum()
        value += np.maximum(-sign * (X @ model.coef_[k] + model.intercept_[k]), 0).mean()
    assert model.verdict_.objective == pytest.approx(value)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to one process")
@pytest.mark.parametrize("K", [2, 3])
def test_ctrl_c_in_a_terminal(tmp_path, K):
    """SIGINT to a fit of a table beyond the caches that would take hours: it raises, and leaves what it has."""
    program = f"""
import pickle, sys
import numpy as np
from separatrix import Perceptron
rng = np.random.default_rng(0)
X = rng.standard_normal((150_000, 20))
y = np.argmax(X[:, :{K}] + rng.standard_normal((150_000, {K})), axis=1)
model = Perceptron(max_iter=10**9, tol=None, verbose=1)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    pickle.dump((model, X, y), open({str(tmp_path / "kept")!r}, "wb"))
"""
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as process:
        lines = [process.stderr.readline() for _ in range(7)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    assert "mistakes in 150000 visits" in "".join(lines)  # two threads print: lines may run into each other
    assert process.returncode == 0
    model, X, y = pickle.loads((tmp_path / "kept").read_bytes())
    check_what_an_interrupted_fit_left(model, X, y)


def test_interrupting_the_dual_form(monkeypatch):
    """Ctrl-C falls into the making of a row of kernel values: no step is counted that was not made."""
    from separatrix.solve import perceptron as solve

    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    real = solve.KernelPerceptronRun.__init__

    def short(self, row, *args, **kwargs):
        rows = iter(range(30))
        real(self, lambda i: row(i) if next(rows, None) is not None else stop(), *args, **kwargs)

    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr(solve.KernelPerceptronRun, "__init__", short)
    with keep_going():
        model = KernelPerceptron(kernel="linear").fit(X, y)
    assert model.verdict_.status == "interrupted"
    assert model.n_mistakes_ == model.dual_coef_.sum() == 30
    sign = np.where(y == 2, 1, -1)
    f = (model.dual_coef_ * sign) @ (X @ X.T + 1)
    assert model.verdict_.objective == pytest.approx(np.maximum(-sign * f, 0).mean())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupting_many_machines(monkeypatch, n_jobs):
    """Ctrl-C reaches the thread that waits; the others end with their epoch and all keep what they have."""
    from separatrix.models.margin import perceptron_base

    real = perceptron_base.each_in_threads

    def interrupted(work, items):
        real(work, items[:1])
        raise KeyboardInterrupt

    monkeypatch.setattr(perceptron_base, "each_in_threads", interrupted)
    X, y = load_iris(return_X_y=True)
    with keep_going():
        model = Perceptron(n_jobs=n_jobs).fit(X, y)
    assert model.verdict_.status == "interrupted"
    assert model.n_mistakes_[0] > 0 and model.n_mistakes_[1] == 0
