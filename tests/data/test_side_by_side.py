"""Pieces of work side by side: the same answers on any engine, Ctrl-C keeps what is done, errors are raised."""

from __future__ import annotations

import threading
import time

import pytest

from separatrix.data.engine import current_engine, engine
from separatrix.data.side_by_side import say_done, side_by_side


def square(i: int) -> int:
    return i * i


@pytest.mark.parametrize("kind", ["serial", "threads", "dask"])
def test_answers_and_counts_on_any_engine(kind):
    if kind == "dask":
        pytest.importorskip("dask")
    heard: list[int] = []
    with engine(kind, workers=3):
        done, interrupted = side_by_side(square, range(20), each=heard.append)
    assert done == {i: i * i for i in range(20)} and not interrupted
    assert heard == ([16, 20] if kind == "dask" else list(range(1, 21)))


@pytest.mark.parametrize("workers", [1, 3])
def test_sweeps_within_run_on_one_thread_and_the_same_grid(workers):
    with engine("threads", workers=workers, blocks=5):
        done, _ = side_by_side(lambda i: current_engine(), range(4))
    assert {(found.kind, found.blocks) for found in done.values()} == {("serial", 5)}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_keeps_what_is_done(workers):
    begun = []

    def work(i: int) -> int:
        begun.append(i)
        if i == 3:
            raise KeyboardInterrupt
        time.sleep(0.01)
        return i

    heard: list[int] = []
    with engine("threads", workers=workers):
        done, interrupted = side_by_side(work, range(50), each=heard.append)
    assert interrupted and {0, 1} <= set(done) and 3 not in done
    assert heard == list(range(1, len(done) + 1))
    after = len(begun)
    time.sleep(0.05)
    assert len(begun) == after < 50  # nothing goes on in the background


def test_with_nothing_done_the_interruption_is_raised():
    def work(i: int) -> int:
        raise KeyboardInterrupt

    with engine("serial"), pytest.raises(KeyboardInterrupt):
        side_by_side(work, range(3))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_raised_once_all_have_ended(workers):
    under_way = threading.Semaphore(0)

    def work(i: int) -> None:
        if i == 1:
            raise ZeroDivisionError
        time.sleep(0.02)
        under_way.release()

    with engine("threads", workers=workers), pytest.raises(ZeroDivisionError):
        side_by_side(work, range(30))
    ended = under_way._value
    time.sleep(0.06)
    assert under_way._value == ended < 29


def test_lines_go_to_standard_error(capsys):
    side_by_side(square, range(2), each=say_done(2))
    assert capsys.readouterr() == ("", "  1 of 2 done\n  2 of 2 done\n")
