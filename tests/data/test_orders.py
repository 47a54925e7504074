"""The order in which rows are visited: every row once an epoch, drawn from a key, the same however it is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from separatrix.data import orders
from separatrix.data.engine import engine
from separatrix.data.orders import Orders, Visits, row_major


@pytest.mark.parametrize("in_cache", [0, 1 << 24])
@pytest.mark.parametrize("n", [1, 31, 5000])
def test_every_row_is_visited_once(monkeypatch, n, in_cache):
    monkeypatch.setattr(orders, "IN_CACHE", in_cache)
    rows = np.arange(3, n + 3)
    visits = Visits.shuffled(rows, 1, np.zeros((n + 3, 4)))
    np.testing.assert_array_equal(np.sort(visits.order), rows)
    again, other = (
        Visits.shuffled(rows, 1, np.zeros((n + 3, 4))),
        Visits.shuffled(rows, 2, np.zeros((n + 3, 4))),
    )
    np.testing.assert_array_equal(visits.order, again.order)
    assert n == 1 or not np.array_equal(visits.order, other.order)
    np.testing.assert_array_equal(Visits.cyclic(rows).order, rows)


def test_orders_drawn_ahead_are_those_drawn_in_turn(monkeypatch):
    monkeypatch.setattr(orders, "DRAWN_AHEAD", 10)
    rows, X = np.arange(200), np.zeros((200, 2))
    ahead = Orders(rows, X, lambda epoch: 7 * epoch)
    with engine("serial"):
        in_turn = Orders(rows, X, lambda epoch: 7 * epoch)
        for epoch in (1, 2, 3, 2):
            np.testing.assert_array_equal(ahead(epoch).order, in_turn(epoch).order)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, ">f8"])
def test_rows_lie_as_passes_read_them(dtype):
    X = np.asfortranarray(np.arange(6).reshape(2, 3).astype(dtype))
    found = row_major(X)
    assert found.flags.c_contiguous and found.dtype.isnative
    assert found.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(found, X)
    assert np.shares_memory(row_major(found), found)
    stored = sparse.csr_array(np.asarray(X, dtype=np.float32))
    assert row_major(stored) is stored
