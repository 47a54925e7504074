"""The engine's promise: one grid, one merge tree, the same bits whoever does the work; and it leaves no trace."""

import os
import sys
import threading
import time
from dataclasses import dataclass

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from separatrix import LogisticRegression
from separatrix.core.losses import Logistic, Multinomial
from separatrix.data.engine import (
    Engine,
    available_cores,
    current_engine,
    each_in_threads,
    engine,
    merge_tree,
    sweep,
)
from separatrix.data.rows import Rows
from separatrix.problems.coordinates import Coordinates
from separatrix.problems.objective import Objective
from tests.data.engines import ENGINES, N, P, every_engine, fail_in_the_middle, fitted, same_bits, table
from tests.draws import examples

pytestmark = pytest.mark.usefixtures("blas_is_left_as_it_was")

# ---- statistics and locals for the tests; module-level, as the engine asks ----


@dataclass(frozen=True)
class Trace:
    """A statistic whose + writes down what was added to what."""

    text: str

    def __add__(self, other):
        return Trace(f"({self.text}{other.text})")


def write_down(block, params, memo):
    seen = [] if memo is None else memo
    return Trace(chr(ord("a") + block.start)), [*seen, (block.start, params)]


def thread_names(_block, seen, _memo):
    seen.append(threading.current_thread().name)
    return 0, None


# ---- the merge tree ----


def test_the_tree_of_every_small_count():
    trees = [merge_tree("abcdefghi"[:n], lambda a, b: f"({a}{b})") for n in range(1, 10)]
    assert trees == [
        "a",
        "(ab)",
        "((ab)c)",
        "((ab)(cd))",
        "(((ab)(cd))e)",
        "(((ab)(cd))(ef))",
        "(((ab)(cd))((ef)g))",
        "(((ab)(cd))((ef)(gh)))",
        "((((ab)(cd))((ef)(gh)))i)",
    ]


@examples(40)
@given(st.integers(1, 300))
def test_the_tree_keeps_the_order_and_is_shallow(n):
    def join(a, b):
        return a[0] + b[0], 1 + max(a[1], b[1])

    leaves, depth = merge_tree((([i], 0) for i in range(n)), join)
    assert leaves == list(range(n))
    assert depth <= int(np.ceil(np.log2(n))) + 1 if n > 1 else depth == 0


@examples(25)
@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=70))
def test_the_tree_adds_up(values):
    assert merge_tree(values) == sum(values)


def test_nothing_to_merge_is_said():
    with pytest.raises(ValueError, match="nothing to merge"):
        merge_tree([])


# ---- the sweep's contract ----


@every_engine
@pytest.mark.parametrize("blocks", [1, 2, 5, 7])
def test_a_sweep_merges_by_the_tree_and_gives_each_block_its_memo_back(kind, workers, blocks):
    with engine(kind, workers=workers, blocks=blocks):
        rows = Rows.of(np.zeros((7, 1)))
        starts = rows.edges[:-1]
        total, memo = sweep(write_down, rows, "first")
        assert total.text == merge_tree([Trace(chr(ord("a") + s)) for s in starts]).text
        assert memo == [[(s, "first")] for s in starts]
        again, memo = sweep(write_down, rows, "second", memo)
        assert again == total
        assert memo == [[(s, "first"), (s, "second")] for s in starts]


@every_engine
def test_an_error_in_a_block_reaches_the_caller_and_breaks_nothing(kind, workers):
    with engine(kind, workers=workers, blocks=20):
        rows = Rows.of(np.zeros((60, 1)))
        with pytest.raises(RuntimeError, match=r"block at .* is bad"):
            sweep(fail_in_the_middle, rows, 30)
        assert sweep(fail_in_the_middle, rows, 10**6)[0] == 20


def test_the_first_bad_block_is_the_one_reported():
    with engine("threads", workers=3, blocks=20):
        rows = Rows.of(np.zeros((60, 1)))
        for _ in range(5):
            with pytest.raises(RuntimeError, match="block at 30 is bad"):
                sweep(fail_in_the_middle, rows, 30)


def test_serial_runs_in_the_callers_thread_and_threads_in_the_engines_too():
    me = threading.current_thread().name
    for kind, workers, expected in (
        ("serial", None, {me}),
        ("threads", 1, {me}),
        ("threads", 2, {me, "separatrix"}),
    ):
        seen = []
        with engine(kind, workers=workers, blocks=6):
            sweep(thread_names, Rows.of(np.zeros((6, 1))), seen)
        assert len(seen) == 6 and {name.partition("_")[0] for name in seen} <= expected


def test_no_more_threads_work_at_once_than_were_asked_for():
    active, most, lock = [0], [0], threading.Lock()

    def busy(_block, _params, _memo):
        with lock:
            active[0] += 1
            most[0] = max(most[0], active[0])
        time.sleep(0.002)
        with lock:
            active[0] -= 1
        return 1, None

    with engine("threads", workers=3, blocks=24):
        assert sweep(busy, Rows.of(np.zeros((24, 1))))[0] == 24
    assert most[0] <= 3


def test_few_blocks_are_under_way_at_once():
    """Memory stays bounded: block i + 2·workers is not read before block i was merged."""
    workers, read, merged = 2, [], []

    class Number(int):
        def __add__(self, other):
            merged.append(1)
            return Number(int(self) + int(other))

    def local(block, _params, _memo):
        read.append(len(merged))
        if block.start == 0:
            time.sleep(0.05)  # the first block is slow: the others must wait for it
        return Number(1), None

    with engine("threads", workers=workers, blocks=30):
        assert sweep(local, Rows.of(np.zeros((30, 1))))[0] == 30
    assert sum(m == 0 for m in read) <= 2 * workers + 2


# ---- the same bits ----


def facts(moments):
    return moments.weight, moments.mean, moments.tail, moments.second


def half_empty(X):
    middle = np.median(X, axis=0)
    return sparse.csr_matrix(np.where(middle < X, X, 0.0))


SOURCES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": lambda X: half_empty(X),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_moments_have_the_same_bits_on_every_engine(source, weighted):
    X, _ = table()
    weight = np.linspace(0.0, 3.0, N) if weighted else None
    answers = []
    for kind, workers in ENGINES:
        with engine(kind, workers=workers, blocks=7):
            answers.append(facts(Rows.of(source(X), None, weight).moments()))
    assert all(same_bits(answers[0], other) for other in answers[1:])


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("k", [2, 3])
def test_evaluations_have_the_same_bits_on_every_engine(source, order, k):
    X, score = table()
    codes = np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    y, loss, classes = (2.0 * codes - 1, Logistic(), None) if k == 2 else (codes, Multinomial(), k)
    weight = np.linspace(0.5, 2.0, N)
    answers = []
    for kind, workers in ENGINES:
        with engine(kind, workers=workers, blocks=7):
            rows = Rows.of(source(X), y, weight)
            objective = Objective(rows, loss, 0.1, True, Coordinates.standard(rows.moments(), True), classes)
            theta = np.linspace(-1, 1, int(np.prod(objective.shape))).reshape(objective.shape)
            at = objective.evaluate(theta, order)
            answers.append((at.value, at.gradient, *([at.hessian, at.radius] if order == 2 else [])))
    assert all(same_bits(answers[0], other) for other in answers[1:])


PARAMETERS = {
    "newton": {"solver": "newton"},
    "newton without penalty": {"solver": "newton", "C": np.inf},
    "lbfgs": {"solver": "lbfgs"},
    "gradient": {"solver": "gradient", "max_iter": 8},
    "sgd": {"solver": "sgd", "max_iter": 2, "random_state": 3},
    "auto": {},
}


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS.keys())
@pytest.mark.parametrize("k", [2, 3])
def test_fits_have_the_same_bits_on_every_engine(parameters, k):
    X, score = table()
    y = np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    answers = []
    for kind, workers in ENGINES:
        with engine(kind, workers=workers, blocks=7):
            answers.append(fitted(X, y, **parameters))
    assert all(same_bits(answers[0], other) for other in answers[1:])


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_a_dask_array_on_the_same_grid_gives_the_bits_of_memory(k, solver):
    X, score = table()
    y = np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    with engine("serial", blocks=7):
        wanted = fitted(X, y, solver=solver)
        edges = Rows.of(X).edges
    lazy = da.from_array(X, chunks=(tuple(np.diff(edges).tolist()), (2, P - 2)))
    for kind in ("serial", "threads", "dask"):
        with engine(kind, workers=2):
            assert same_bits(fitted(lazy, y, solver=solver), wanted)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_daskss_own_scheduler_does_not_matter(scheduler):
    X, score = table()
    with engine("serial", blocks=5):
        wanted = fitted(X, score > 0)
    with dask.config.set(scheduler=scheduler), engine("dask", blocks=5):
        assert same_bits(fitted(X, score > 0), wanted)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    """A client is Dask's default scheduler while it is open."""
    import distributed

    with distributed.Client(cluster) as client:
        yield client


def test_a_distributed_client_gives_the_same_bits(client):
    X, score = table()
    codes = np.digitize(score, [-1, 1])
    sheet = half_empty(X)
    with engine("serial", blocks=5):
        wanted = [fitted(X, score > 0), fitted(X, codes), fitted(sheet, score > 0)]
        edges = Rows.of(X).edges
    lazy = da.from_array(X, chunks=(tuple(np.diff(edges).tolist()), (P,)))
    with engine("dask", blocks=5):
        assert same_bits(fitted(X, score > 0), wanted[0])
        assert same_bits(fitted(X, codes), wanted[1])
        assert same_bits(fitted(sheet, score > 0), wanted[2])
        assert same_bits(fitted(lazy, score > 0), wanted[0])
        assert same_bits(fitted(lazy, codes), wanted[1])


def test_a_distributed_client_gives_the_same_bits_for_a_column_major_table(client):
    X, score = table()
    X = np.asfortranarray(X)
    with engine("serial", blocks=5):
        wanted = fitted(X, score > 0)
    with engine("dask", blocks=5):
        assert same_bits(fitted(X, score > 0), wanted)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_grids_of_1_7_and_97_blocks_agree_to_1e_10(k, C):
    X, score = table()
    y = np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    answers = []
    for blocks in (1, 7, 97):
        with engine(blocks=blocks):
            answers.append(LogisticRegression(C=C, solver="newton", tol=1e-7).fit(X, y))
    for other in answers[1:]:
        # weights in standardised columns, so that a column's unit does not decide the tolerance
        spread = X.std(axis=0)
        np.testing.assert_allclose(other.coef_ * spread, answers[0].coef_ * spread, rtol=1e-10, atol=1e-10)
        size = 1 + np.abs(answers[0].coef_ * X.mean(axis=0)).sum()
        np.testing.assert_allclose(other.intercept_, answers[0].intercept_, rtol=1e-10, atol=1e-10 * size)
        np.testing.assert_allclose(other.predict_proba(X), answers[0].predict_proba(X), atol=1e-10)
        assert other.verdict_.objective == pytest.approx(answers[0].verdict_.objective, rel=1e-12)


# ---- choosing an engine ----


def test_the_default_engine():
    assert current_engine() == Engine("threads", None, None)
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


def test_engines_nest_and_come_back():
    with engine("serial", blocks=7) as outer:
        assert current_engine() is outer
        assert outer == Engine("serial", None, 7)
        with engine("threads", workers=2) as inner:
            assert inner == current_engine() == Engine("threads", 2, 7)
            with engine(blocks=3) as innermost:
                assert innermost == Engine("threads", 2, 3)
        assert current_engine() is outer
    assert current_engine() == Engine()


def test_an_engine_comes_back_after_an_error():
    with pytest.raises(KeyError), engine("serial"):
        raise KeyError
    assert current_engine() == Engine()


@pytest.mark.parametrize("kind", ["gpu", "Serial", "", 3])
def test_an_unknown_engine_is_refused_with_the_known_ones(kind):
    with pytest.raises(ValueError, match=r'is unknown: use "serial", "threads" or "dask"'), engine(kind):
        pass
    assert current_engine() == Engine()


@pytest.mark.parametrize("name", ["workers", "blocks"])
@pytest.mark.parametrize("number", [0, -1, 1.5, "2", True, np.nan])
def test_counts_must_be_whole_and_positive(name, number):
    with (
        pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1"),
        engine(**{name: number}),
    ):
        pass


def test_counts_may_be_numpy_integers():
    with engine(workers=np.int64(2), blocks=np.int32(3)) as chosen:
        assert (chosen.workers, chosen.blocks) == (2, 3)


def test_without_dask_the_engine_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r'pip install "separatrix\[dask\]"'), engine("dask"):
        pass


def test_one_threads_engine_is_not_anothers():
    seen = {}

    def other():
        seen["inside"] = current_engine()
        with engine("dask"):
            seen["own"] = current_engine().kind

    with engine("serial"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert current_engine().kind == "serial"
    assert seen["own"] == "dask"


def test_nothing_goes_on_in_the_background_after_an_error():
    running, lock = [0], threading.Lock()

    def slow(block, _params, _memo):
        if block.start == 0:
            raise RuntimeError("bad")
        with lock:
            running[0] += 1
        time.sleep(0.05)
        with lock:
            running[0] -= 1
        return 0, None

    with engine("threads", workers=2, blocks=8):
        with pytest.raises(RuntimeError):
            sweep(slow, Rows.of(np.zeros((8, 1))))
        assert running[0] == 0


@pytest.mark.parametrize("kind", ["serial", "threads"])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_item_is_worked_on_once(kind, workers):
    seen, lock = [], threading.Lock()

    def work(item):
        with lock:
            seen.append(item)

    with engine(kind, workers=workers):
        each_in_threads(work, range(37))
        each_in_threads(work, [])
    assert sorted(seen) == list(range(37))


def test_the_error_of_the_first_item_that_fails_is_raised_and_nothing_new_is_begun():
    begun, met = [], threading.Barrier(2, timeout=60)

    def work(item):
        begun.append(item)
        met.wait()  # both fail, and neither before the other has begun
        raise RuntimeError(str(item))

    with engine("threads", workers=2), pytest.raises(RuntimeError, match=r"^0$"):
        each_in_threads(work, range(50))
    assert sorted(begun) == [0, 1]
