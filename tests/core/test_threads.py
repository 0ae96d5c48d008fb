"""Threads over queries: every query once, errors and interrupts after the last thread has ended."""

import _thread
import itertools
import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrank.core import threads as parallel
from gbrank.core.kernels import kernel
from gbrank.core.threads import MIN_BLOCK_COST, cut_queries, resolve_n_jobs, share_pieces

unhurried = settings(max_examples=100, deadline=None)


# --- how many threads ---------------------------------------------------------------------------


@pytest.fixture
def eight_cpus(monkeypatch):
    monkeypatch.setattr(parallel, "_usable_cpus", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.usefixtures("eight_cpus")
@pytest.mark.parametrize(
    ("n_jobs", "threads"),
    [(None, 8), (1, 1), (3, 3), (20, 20), (-1, 8), (-2, 7), (-8, 1), (-9, 1), (-99, 1)],
)
def test_n_jobs(n_jobs, threads):
    assert resolve_n_jobs(n_jobs) == threads
    if n_jobs is not None:
        assert resolve_n_jobs(np.int64(n_jobs)) == threads
        assert type(resolve_n_jobs(np.int32(n_jobs))) is int


@pytest.mark.parametrize("n_jobs", [0, np.int64(0), 2.0, "2", True, False, np.True_, [1], np.nan])
def test_bad_n_jobs(n_jobs):
    with pytest.raises(ValueError, match=r"^n_jobs must be None or an integer other than 0, got"):
        resolve_n_jobs(n_jobs)


@pytest.mark.usefixtures("eight_cpus")
@pytest.mark.parametrize(
    ("setting", "threads"),
    [
        ("3", 3),
        (" 3 ", 3),
        ("3,2,1", 3),
        ("12", 12),
        ("", 8),
        ("0", 8),
        ("-2", 8),
        ("many", 8),
        ("2.5", 8),
        ("²", 8),
    ],
)
def test_omp_num_threads(monkeypatch, setting, threads):
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    assert resolve_n_jobs(None) == threads
    assert resolve_n_jobs(-1) == 8  # as many as there are means just that
    assert resolve_n_jobs(5) == 5


def test_usable_cpus(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 4, 5}, raising=False)
    assert resolve_n_jobs(None) == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert resolve_n_jobs(None) == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert resolve_n_jobs(None) == 1


# --- which queries ------------------------------------------------------------------------------


@unhurried
@given(
    st.lists(st.one_of(st.integers(0, 10), st.integers(0, 10**6)), max_size=60),
    st.integers(-1, 12),
)
def test_blocks_cover_all_queries_and_are_balanced(cost, n_blocks):
    cuts = cut_queries(np.array(cost, dtype=np.int64), n_blocks)
    assert cuts.dtype == np.int64
    assert cuts[0] == 0
    assert cuts[-1] == len(cost)
    assert (np.diff(cuts) > 0).all()  # no block is empty, so none is lost or done twice
    blocks = [sum(cost[first:last]) for first, last in itertools.pairwise(cuts)]
    assert sum(blocks) == sum(cost)
    assert len(blocks) <= max(1, n_blocks)
    # a thread is worth starting for this much work only
    worthwhile = max(1, min(n_blocks, len(cost), sum(cost) // MIN_BLOCK_COST))
    assert len(blocks) <= worthwhile
    for block in blocks:
        assert abs(block - sum(cost) / worthwhile) <= max(cost) + 1e-6


def test_equal_queries_are_cut_evenly():
    assert cut_queries(np.full(100, 10**6), 4).tolist() == [0, 25, 50, 75, 100]
    assert cut_queries(np.full(3, 10**6), 8).tolist() == [0, 1, 2, 3]


def test_one_long_query_has_a_block_of_its_own():
    cost = np.array([10, 10, 10**7, 10, 10])
    assert cut_queries(cost, 4).tolist() == [0, 3, 5]


@pytest.mark.parametrize("n_blocks", [1, 2, 8])
def test_small_inputs_stay_on_one_thread(n_blocks):
    assert cut_queries(np.full(10, MIN_BLOCK_COST // 10), n_blocks).tolist() == [0, 10]
    assert cut_queries(np.zeros(10, dtype=np.int64), n_blocks).tolist() == [0, 10]
    assert cut_queries(np.empty(0, dtype=np.int64), n_blocks).tolist() == [0]


def test_costs_that_sum_beyond_64_bits():
    assert cut_queries(np.full(8, 2**62), 4).tolist() == [0, 2, 4, 6, 8]


# --- running them -------------------------------------------------------------------------------


def test_three_pieces_run_at_the_same_time_on_threads_of_their_own():
    together = threading.Barrier(3, timeout=30)
    calls = []

    def work(thread, piece):
        together.wait()  # breaks unless all three are here at once
        calls.append((piece, thread, threading.get_ident()))

    before = _thread._count()
    share_pieces(work, 3, 3)
    assert sorted(piece for piece, _, _ in calls) == [0, 1, 2]
    assert sorted(thread for _, thread, _ in calls) == [0, 1, 2]
    assert len({ident for _, _, ident in calls}) == 3
    assert {thread: ident for _, thread, ident in calls}[0] == threading.get_ident()
    for _ in range(1000):  # a thread says that it has ended shortly before it does
        if _thread._count() == before:
            break
        time.sleep(0.01)
    assert _thread._count() == before


@pytest.mark.parametrize(("n_pieces", "n_threads"), [(0, 3), (1, 3), (3, 1)])
def test_one_piece_or_one_thread_starts_no_thread(n_pieces, n_threads, monkeypatch):
    monkeypatch.setattr(parallel._thread, "start_new_thread", None)
    calls = []
    share_pieces(lambda *call: calls.append(call), n_pieces, n_threads)
    assert calls == [(0, piece) for piece in range(n_pieces)]


class PieceError(Exception):
    pass


@pytest.mark.parametrize("error", [PieceError, SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("faulty", [0, 1, 2])
def test_an_error_is_raised_after_all_pieces_have_ended(faulty, error):
    begun = threading.Barrier(3, timeout=30)
    ended = []

    def work(thread, piece):
        begun.wait()
        if thread == faulty:
            raise error(thread)
        time.sleep(0.05)
        ended.append(thread)

    with pytest.raises(error) as caught:
        share_pieces(work, 3, 3)
    assert caught.value.args == (faulty,)
    assert sorted(ended) == sorted({0, 1, 2} - {faulty})


@pytest.mark.parametrize("n_pieces", [1, 3])
def test_all_pieces_fail(n_pieces):
    def work(thread, piece):
        raise PieceError(piece)

    with pytest.raises(PieceError):
        share_pieces(work, n_pieces, 3)


def test_after_an_error_no_piece_begins():
    done = []

    def work(thread, piece):
        done.append(piece)
        raise PieceError

    with pytest.raises(PieceError):
        share_pieces(work, 20, 1)
    assert done == [0]


@pytest.mark.parametrize("available", [0, 1])
def test_no_thread_to_be_had(available, monkeypatch):
    """A system at its limit of threads, or an interpreter that shuts down."""
    start, started = parallel._thread.start_new_thread, []

    def limited_start(*arguments):
        if len(started) >= available:
            raise RuntimeError("can't start new thread")
        started.append(start(*arguments))

    monkeypatch.setattr(parallel._thread, "start_new_thread", limited_start)
    calls = []
    share_pieces(lambda _, piece: calls.append(piece), 3, 3)
    assert sorted(calls) == [0, 1, 2]
    assert len(started) == available


needs_signals = pytest.mark.skipif(
    not hasattr(signal, "pthread_kill"), reason="no signals to one thread on this system"
)


def interrupt_main_thread():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


@pytest.fixture
def ctrl_c():
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("only the main thread is interrupted")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@needs_signals
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("caller_busy", [True, False], ids=["in its own piece", "waiting"])
@pytest.mark.parametrize("times", [1, 3])
def test_an_interrupt_leaves_no_thread_behind(caller_busy, times):
    """Else a thread would write into the scratch space of the next step."""
    begun = threading.Barrier(3, timeout=30)
    ended = []

    def work(thread, piece):
        begun.wait()
        if thread == 0:
            deadline = time.monotonic() + (30 if caller_busy else 0)
            while time.monotonic() < deadline:
                time.sleep(0.001)
            return
        if thread == 1:
            for _ in range(times):
                time.sleep(0.05)
                interrupt_main_thread()
        time.sleep(0.2)
        ended.append(thread)

    with pytest.raises(KeyboardInterrupt):
        share_pieces(work, 3, 3)
    assert sorted(ended) == [1, 2]


def test_an_interrupt_while_threads_start(monkeypatch):
    """A thread runs, but its start was never seen to return."""
    start, ended = parallel._thread.start_new_thread, []

    def interrupted_start(*arguments):
        start(*arguments)
        time.sleep(0.05)  # the thread begins a piece
        raise KeyboardInterrupt

    monkeypatch.setattr(parallel._thread, "start_new_thread", interrupted_start)

    def work(thread, piece):
        time.sleep(0.1)
        ended.append(piece)

    with pytest.raises(KeyboardInterrupt):
        share_pieces(work, 3, 3)
    n_ended = len(ended)
    time.sleep(0.2)
    assert len(ended) == n_ended <= 1


def test_a_thread_that_starts_after_an_interrupt_does_nothing(monkeypatch):
    late, done = [], []

    def interrupted_start(*arguments):
        late.append(arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(parallel._thread, "start_new_thread", interrupted_start)
    with pytest.raises(KeyboardInterrupt):
        share_pieces(lambda *call: done.append(call), 3, 3)
    ((helper, arguments),) = late
    helper(*arguments)
    assert done == []


@kernel()
def _fill(first, last, out):
    for q in range(first, last):
        total = 0.0
        for i in range(2000):
            total += np.sin(q + i)
        out[q] = total


def fill(n_queries, n_blocks):
    """Return what a kernel computes on threads, one number per query."""
    out = np.full(n_queries, np.nan)
    cuts = cut_queries(np.full(n_queries, MIN_BLOCK_COST), n_blocks)
    assert len(cuts) == min(n_queries, n_blocks) + 1
    share_pieces(lambda _, piece: _fill(cuts[piece], cuts[piece + 1], out), len(cuts) - 1, n_blocks)
    return out


def test_results_do_not_depend_on_the_number_of_threads():
    expected = np.sin(np.arange(20)[:, None] + np.arange(2000)).sum(axis=1)
    alone = fill(20, 1)
    np.testing.assert_allclose(alone, expected, atol=1e-9)
    for n_blocks in (2, 3, 20):
        np.testing.assert_array_equal(fill(20, n_blocks), alone)


def test_in_several_python_threads_at_once():
    expected = fill(40, 1)
    together = threading.Barrier(4, timeout=60)
    results = {}

    def one(number):
        together.wait()
        results[number] = [fill(40, 3) for _ in range(10)]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 1, 2, 3]
    for runs in results.values():
        for result in runs:
            np.testing.assert_array_equal(result, expected)


def test_pieces_within_pieces():
    expected = fill(10, 1)
    results = [None, None, None]

    def work(thread, piece):
        results[piece] = fill(10, 2)

    share_pieces(work, 3, 3)
    for result in results:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_after_fork():
    expected = fill(40, 3)  # threads have run before the fork
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if (fill(40, 3) == expected).all() else 2
        finally:
            os._exit(status)
    for _ in range(600):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the forked child hangs")
    assert os.waitstatus_to_exitcode(status) == 0
    np.testing.assert_array_equal(fill(40, 3), expected)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_shared_pieces_are_each_done_once(n_threads):
    done = []
    share_pieces(lambda thread, piece: done.append((thread, piece)), 40, n_threads)
    assert sorted(piece for _, piece in done) == list(range(40))
    assert all(0 <= thread < n_threads for thread, _ in done)
    share_pieces(lambda *_: done.append(None), 0, n_threads)
    assert len(done) == 40


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_in_a_shared_piece_is_raised_after_all_have_ended(n_threads):
    running = []

    def work(thread, piece):
        running.append(piece)
        try:
            if piece == 3:
                raise OSError("piece 3")
            time.sleep(0.001)
        finally:
            running.remove(piece)

    with pytest.raises(OSError, match="piece 3"):
        share_pieces(work, 20, n_threads)
    assert running == []


class TestLine14:
    """``n_jobs=100000`` ended the process, also from a model file."""

    @pytest.mark.parametrize("n_jobs", [100_000, 2**40, np.int64(5000)])
    def test_absurd_numbers_of_threads_are_an_error(self, n_jobs):
        with pytest.raises(ValueError, match=rf"n_jobs must be at most \d+ threads, got {n_jobs}"):
            resolve_n_jobs(n_jobs)

    def test_the_variable_is_named(self, monkeypatch):
        monkeypatch.setenv("OMP_NUM_THREADS", "100000")
        with pytest.raises(ValueError, match="OMP_NUM_THREADS must be at most"):
            resolve_n_jobs(None)

    def test_more_threads_than_cpus_are_fine(self, monkeypatch):
        """Models move between machines."""
        assert resolve_n_jobs(1024) == 1024
        monkeypatch.setattr(parallel, "_usable_cpus", lambda: 4096)
        assert resolve_n_jobs(-1) == resolve_n_jobs(4096) == 4096

    def test_as_many_as_are_allowed_do_run(self):
        done = []
        share_pieces(lambda thread, piece: done.append(piece), 1024, resolve_n_jobs(1024))
        assert sorted(done) == list(range(1024))
