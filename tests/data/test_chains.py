"""Chains: the order of links, what stops them, and that nothing goes on afterwards."""

import threading
import time

import pytest

from separatrix import engine
from separatrix.data.chains import Chains, hands


@pytest.mark.parametrize("side_by_side", [1, 2, 3])
def test_a_link_follows_the_one_before(side_by_side):
    began, ended, passed = [], [], []

    def work(link, chain):
        began.append((link, chain))
        assert link == 0 or (link - 1, chain) in ended
        time.sleep(0.001 * (chain + 1))
        ended.append((link, chain))

    with engine(workers=side_by_side):
        assert hands(3) == side_by_side
        Chains().run(work, 5, 3, side_by_side, passed.append)
    assert sorted(ended) == [(link, chain) for link in range(5) for chain in range(3)]
    assert passed == list(range(5))
    if side_by_side == 1:
        assert began == sorted(began)


@pytest.mark.parametrize("side_by_side", [1, 2])
def test_an_error_ends_all_chains(side_by_side):
    seen, run = [], Chains()

    def work(link, chain):
        if (link, chain) == (2, 1):
            raise ZeroDivisionError
        seen.append((link, chain))

    with engine(workers=side_by_side), pytest.raises(ZeroDivisionError):
        run.run(work, 50, 3, side_by_side)
    assert run.stopped
    count = len(seen)
    assert {(0, 0), (1, 1)} <= set(seen) and all((link, 1) not in seen for link in range(2, 50))
    time.sleep(0.02)
    assert len(seen) == count


def test_stopping_from_within_leaves_the_rest_undone():
    seen, run, lock = [], Chains(), threading.Lock()

    def work(link, chain):
        with lock:
            seen.append((link, chain))
        if link == 3:
            run.stopped = True

    run.run(work, 10, 2, 1)
    assert max(seen) == (3, 0) and len(seen) == 7


def test_a_serial_engine_has_one_hand():
    with engine("serial"):
        assert hands(5) == 1
