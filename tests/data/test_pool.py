"""Threads: BLAS pinned and given back, work in the background, other people's threads and forked children."""

import os
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from separatrix import LogisticRegression
from separatrix.data import pool as pool_module
from separatrix.data.engine import current_engine, engine, sweep
from separatrix.data.pool import background, beside
from separatrix.data.rows import Rows
from tests.data.engines import blas, every_engine, fail_in_the_middle, fitted, same_bits, table

pytestmark = pytest.mark.usefixtures("blas_is_left_as_it_was")


def blas_threads(block, _params, _memo):
    # a product first, so that a pool that would wake up has its chance
    np.dot(np.ones((50, 50)), np.ones((50, 50)))
    return np.array([max((n for _, n in blas()), default=1)]), None


@every_engine
def test_blas_has_one_thread_inside_a_block_and_its_own_number_after(kind, workers):
    before = blas()
    with threadpool_limits(limits=2, user_api="blas"):
        asked = blas()
        with engine(kind, workers=workers, blocks=4):
            most, _ = sweep(blas_threads, Rows.of(np.zeros((8, 1))))
        assert most == 4  # four blocks that each saw one thread
        assert blas() == asked
    assert blas() == before


@every_engine
def test_blas_is_restored_after_an_error(kind, workers):
    with threadpool_limits(limits=2, user_api="blas"):
        asked = blas()
        with engine(kind, workers=workers, blocks=6):
            rows = Rows.of(np.zeros((60, 1)))
            with pytest.raises(RuntimeError):
                sweep(fail_in_the_middle, rows, 20)
            with pytest.raises(ValueError):
                LogisticRegression().fit([[np.nan], [1.0]], [0, 1])
        assert blas() == asked


def test_blas_is_restored_after_fits_from_several_threads():
    X, score = table()
    with threadpool_limits(limits=2, user_api="blas"):
        asked = blas()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: fitted(X, score > 0), range(8)))
        assert blas() == asked


class PerThreadBlas:
    """Stands in for a BLAS built on OpenMP, where the number of threads belongs to the calling thread."""

    def __init__(self):
        self.local = threading.local()

    @property
    def num_threads(self):
        return getattr(self.local, "number", 8)

    def set_num_threads(self, number):
        self.local.number = number


@every_engine
def test_a_blas_with_a_number_for_every_thread_is_pinned_in_every_thread(kind, workers, monkeypatch):
    library = PerThreadBlas()
    monkeypatch.setattr(pool_module, "_blas_libraries", lambda: ([], [library]))
    seen = []

    def look(_block, _params, _memo):
        seen.append(library.num_threads)
        return 0, None

    with engine(kind, workers=workers, blocks=6):
        sweep(look, Rows.of(np.zeros((6, 1))))
    assert seen == [1] * 6
    assert library.num_threads == 8


# ---- in the background ----


def test_work_in_the_background_goes_on_beside_the_caller_and_sees_its_engine():
    met = threading.Barrier(3, timeout=30)

    def look(number):
        met.wait()
        return number, current_engine(), threading.current_thread()

    with engine("serial", blocks=7) as chosen, background(2) as submit:
        with engine(blocks=5) as inner:
            second = submit(look, 2)
        first = submit(look, number=1)
        met.wait()  # neither waits for the other, nor the caller for them
        assert first.result()[:2] == (1, chosen) and second.result()[:2] == (2, inner)
        assert len({threading.current_thread(), first.result()[2], second.result()[2]}) == 3
        assert beside(current_engine).result() == chosen


def test_fits_in_the_background_have_the_bits_of_the_caller():
    X, score = table()
    with engine("threads", workers=2, blocks=7), background(3) as submit:
        tasks = [submit(fitted, X, score > 0) for _ in range(6)]
        wanted = fitted(X, score > 0)
        assert all(same_bits(task.result(), wanted) for task in tasks)


@pytest.mark.parametrize("error", [None, ZeroDivisionError, KeyboardInterrupt])
def test_the_background_ends_with_its_block(error):
    begun, go_on = [], threading.Event()

    def work(number):
        begun.append(number)
        go_on.wait(30)

    def block():
        with background() as submit:
            tasks.extend(submit(work, number) for number in range(20))
            while not begun:
                time.sleep(0.001)
            threading.Timer(0.05, go_on.set).start()
            if error is not None:
                raise error

    tasks = []
    if error is None:
        block()
    else:
        with pytest.raises(error):
            block()
    assert begun == [0] and tasks[0].done() and all(task.cancelled() for task in tasks[1:])


def test_an_error_in_the_background_is_that_of_its_future():
    with background() as submit:
        task = submit(divmod, 1, 0)
        with pytest.raises(ZeroDivisionError):
            task.result()
        assert submit(divmod, 3, 2).result() == (1, 1)


def test_work_beside_the_caller_is_done_in_the_order_asked():
    seen = []
    tasks = [beside(seen.append, number) for number in range(100)]
    tasks[-1].result()
    assert seen == list(range(100))


# ---- other people's threads and processes ----


def test_fits_from_several_threads_are_those_of_one():
    X, score = table()
    wanted = fitted(X, score > 0)
    start = threading.Barrier(4)

    def fit(i):
        start.wait()
        with engine("threads", workers=2, blocks=None if i % 2 else 7):
            return i, [fitted(X, score > 0) for _ in range(3)]

    with engine("serial", blocks=7):
        wanted_on_seven = fitted(X, score > 0)
    with ThreadPoolExecutor(4) as pool:
        for i, answers in pool.map(fit, range(4)):
            for answer in answers:
                assert same_bits(answer, wanted if i % 2 else wanted_on_seven)


def _fit_in_worker(seed):
    X, score = table(seed=seed)
    with engine("threads", workers=2, blocks=7):
        return fitted(X, score > 0)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_fits_inside_joblib_are_those_outside(backend):
    joblib = pytest.importorskip("joblib")
    answers = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(_fit_in_worker)(seed) for seed in range(3)
    )
    assert all(same_bits(answer, _fit_in_worker(seed)) for seed, answer in enumerate(answers))


def in_a_child(work):
    """Do the work in a forked child, and fail where it does not end well within half a minute."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads, which is the point
        child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hung")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_can_fit_and_work_in_the_background():
    """A pool's threads do not survive a fork: a child that waited for them would wait for ever."""
    X, score = table()

    def work():
        fitted(X, score > 0)
        beside(sum, [1, 2]).result()
        with background(2) as submit:
            submit(fitted, X, score > 0).result()

    with engine("threads", workers=2, blocks=7):
        work()
        in_a_child(work)
        with background(2) as submit:
            submit(work).result()
            in_a_child(work)
