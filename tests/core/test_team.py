"""LightGBM's own threads: every piece once, errors afterwards, nothing after a fork."""

import ctypes
import os
import subprocess
import sys
import threading
import time

import lightgbm as lgb
import numpy as np
import pytest

from gbrank import XENDCG, LambdaMART
from gbrank.core import team as teams
from gbrank.core.threads import share_pieces
from gbrank.metrics import feval

needs_team = pytest.mark.skipif(
    teams.lightgbm_team() is None, reason="this OpenMP runtime does not lend its threads"
)


@needs_team
@pytest.mark.parametrize("n_threads", [2, 3])
def test_pieces_are_each_done_once_by_threads_with_numbers_of_their_own(n_threads):
    together = threading.Barrier(n_threads, timeout=30)
    calls = []

    def work(thread, piece):
        if piece < n_threads:
            together.wait()  # breaks unless all are here at once
        calls.append((piece, thread, threading.get_ident()))

    share_pieces(work, 20, n_threads, in_lightgbm=True)
    assert sorted(piece for piece, _, _ in calls) == list(range(20))
    assert {thread for _, thread, _ in calls} == set(range(n_threads))
    assert len({(thread, ident) for _, thread, ident in calls}) == n_threads
    assert threading.get_ident() in {ident for _, _, ident in calls}


class PieceError(Exception):
    pass


@needs_team
@pytest.mark.parametrize("in_caller", [True, False])
@pytest.mark.parametrize("error", [PieceError, SystemExit, KeyboardInterrupt])
def test_an_error_is_raised_after_all_pieces_have_ended(in_caller, error):
    begun, ended = threading.Barrier(2, timeout=30), []
    caller = threading.get_ident()

    def work(thread, piece):
        begun.wait()
        if (threading.get_ident() == caller) == in_caller:
            raise error(piece)
        time.sleep(0.05)
        ended.append(piece)

    with pytest.raises(error):
        share_pieces(work, 2, 2, in_lightgbm=True)
    assert len(ended) == 1


def test_a_runtime_that_gives_no_thread():
    calls = []
    teams.share_on_team(lambda *call: calls.append(call), 3, 2, lambda function, n: None)
    assert sorted(calls) == [(0, 0), (0, 1), (0, 2)]


@needs_team
def test_a_thread_begins_with_the_rows_that_lightgbm_gives_it_in_its_own_loops():
    begun, first = threading.Barrier(2, timeout=30), {}

    def work(thread, piece):
        if thread not in first:
            first[thread] = piece
            begun.wait()

    share_pieces(work, 8, 2, in_lightgbm=True)
    assert first == {0: 0, 1: 4}


def test_a_thread_that_is_done_takes_what_others_come_to_last():
    calls = []
    teams.share_on_team(lambda *call: calls.append(call), 6, 2, lambda function, n: function(1))
    assert calls == [(1, 3), (1, 4), (1, 5), (1, 2), (1, 1), (1, 0)]


def test_none_without_lightgbm_or_such_a_function(monkeypatch):
    monkeypatch.setattr(lgb.basic, "_LIB", object())
    assert teams.lightgbm_team() is None
    with_no_openmp = ctypes.CDLL(None)
    monkeypatch.setattr(lgb.basic, "_LIB", with_no_openmp)
    assert hasattr(with_no_openmp, "GOMP_parallel") or teams.lightgbm_team() is None
    code = (
        "import sys; from gbrank.core.team import lightgbm_team; assert lightgbm_team() is None;"
        "assert 'lightgbm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_not_after_a_fork():
    share_pieces(lambda *_: None, 4, 2, in_lightgbm=True)
    child = os.fork()
    if child == 0:
        calls = []
        share_pieces(lambda _, piece: calls.append(piece), 4, 2, in_lightgbm=True)
        os._exit(0 if teams.lightgbm_team() is None and sorted(calls) == [0, 1, 2, 3] else 1)
    assert os.waitpid(child, 0)[1] == 0


def train(objective, n_threads, n_trees=8):
    rng = np.random.default_rng(0)
    group = rng.integers(2, 90, 1500)
    X = rng.normal(size=(int(group.sum()), 3))
    y = np.clip(np.rint(X[:, 0] + rng.normal(size=len(X))), 0, 4)
    params = {"objective": objective, "metric": "None", "verbose": -1, "force_col_wise": True}
    data = lgb.Dataset(X, y, group=group)
    history = {}
    lgb.train(
        params | {"num_threads": n_threads, "num_leaves": 4}, data, n_trees, valid_sets=[data],
        feval=feval("ndcg@10"), callbacks=[lgb.record_evaluation(history)],
    )  # fmt: skip
    return history["training"]["ndcg@10"]


@needs_team
@pytest.mark.parametrize("objective", [XENDCG, LambdaMART])
def test_a_training_uses_it_and_has_the_bits_of_one_thread(objective, monkeypatch):
    runs = []
    share = teams.share_on_team

    def counted(*arguments):
        runs.append(arguments[2])
        return share(*arguments)

    monkeypatch.setattr("gbrank.core.threads.share_on_team", counted)
    alone = train(objective(), 1)
    assert runs == []
    together = train(objective(), 2)
    assert runs == [2] * 16  # a step and a metric for each tree
    np.testing.assert_allclose(together, alone, rtol=1e-6)
    assert train(objective(n_jobs=3), 2) == together  # threads of its own
    assert runs == [2] * 24  # for metrics alone


def test_two_python_threads_at_once():
    results = []
    threads = [threading.Thread(target=lambda: results.append(train(XENDCG(), 2))) for _ in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert len(results) == 2
    assert results[0] == results[1]
