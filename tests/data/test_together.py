"""Pieces of work side by side: as one after another, and all told to end where one is cut short."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from separatrix.data import interrupts
from separatrix.data.engine import current_engine, engine
from separatrix.data.interrupts import until_interrupted
from separatrix.data.together import together


def never(_):
    return False


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_stand_in_the_order_of_the_items(workers):
    with engine(workers=workers):
        assert together(lambda i: i * i, range(9), never, most=9) == [i * i for i in range(9)]


def test_pieces_are_serial_inside_and_no_more_than_asked_for():
    lock, inside, most = threading.Lock(), [0], [0]

    def work(_):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        time.sleep(0.002)
        with lock:
            inside[0] -= 1
        return current_engine().kind

    with engine(workers=4):
        assert set(together(work, range(12), never, most=2)) == {"serial"}
    assert most[0] <= 2


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_raised(workers):
    def work(i):
        if i == 1:
            raise ValueError("no")
        return i

    with engine(workers=workers), pytest.raises(ValueError, match="no"):
        together(work, range(4), never, most=4)


@pytest.mark.parametrize("workers", [1, 2])
def test_one_that_was_cut_short_ends_all(workers):
    def work(i):
        if i == 0:
            return "short"
        with until_interrupted() as stop:
            for _ in range(2000):
                interrupts.check()
                time.sleep(0.001)
        return "short" if stop.interrupted else "whole"

    with engine(workers=workers):
        found = together(work, range(20), lambda word: word == "short", most=20)
    assert found[0] == "short" and found[-1] is None and "whole" not in found


def test_ctrl_c_is_passed_on():
    started = threading.Event()

    def work(i):
        started.set()
        with until_interrupted() as stop:
            for _ in range(5000):
                interrupts.check()
                time.sleep(0.001)
        return "short" if stop.interrupted else "whole"

    def press():
        started.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with engine(workers=2):
        found = together(work, range(6), lambda word: word == "short", most=6)
    presser.join()
    assert "whole" not in found and found[-1] is None
