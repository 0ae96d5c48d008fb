"""What a fit that fails leaves behind: the old model, and workers that are free and empty."""

import asyncio
import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
DaskRanker = pytest.importorskip("gbrank.dask").DaskRanker

from gbrank.dask import _cluster  # noqa: E402


@pytest.fixture
def data(cut):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = np.clip(np.rint(X[:, 0] + rng.normal(size=3000)), 0, 4)
    return cut(500, X, y, np.repeat(np.arange(150), 20))


def kill_one_that_trains(client, pids, killed):
    """Wait until LightGBM trains on two workers or more, then kill one of them."""
    while not killed:
        tasks = client.processing()
        busy = [
            worker
            for worker, keys in tasks.items()
            if any(str(key).startswith("_train_part") for key in keys)
        ]
        if len(busy) > 1:
            time.sleep(1.0)  # they have found each other by now, and grow trees
            os.kill(pids[busy[-1]], signal.SIGKILL)
            killed.append(busy[-1])
        time.sleep(0.1)


async def end_late():
    """End a worker as a busy machine does: not at once."""
    await asyncio.sleep(3.0)
    os._exit(1)


def test_after_a_killed_worker_the_next_fit_works_when_the_cluster_is_complete(
    client, data, monkeypatch
):
    """What the error says to wait for is enough: workers that are to end are gone by then."""
    X, y, qid = data
    client.wait_for_workers(3, timeout=120)
    short = DaskRanker("squared", n_estimators=3, num_leaves=7)
    short.fit(X, y, qid=qid)  # kernels are compiled
    killed = []
    watcher = threading.Thread(
        target=kill_one_that_trains, args=(client, client.run(os.getpid), killed), daemon=True
    )
    watcher.start()
    monkeypatch.setattr(_cluster, "_end_process", end_late)
    endless = DaskRanker("squared", n_estimators=1_000_000, num_leaves=7)
    with pytest.raises(RuntimeError, match="died during training") as caught:
        endless.fit(X, y, qid=qid)
    watcher.join(timeout=10)
    assert killed[0] in str(caught.value)
    assert "client.wait_for_workers(3)" in str(caught.value)
    assert not hasattr(endless, "local_")
    client.wait_for_workers(3, timeout=120)
    complete = set(client.nthreads())
    again = short.fit(X, y, qid=qid)
    assert np.ptp(again.predict(X).compute()) > 0.005
    assert set(client.nthreads()) == complete


def bad_label(y):
    return da.concatenate([y[:-1], da.from_array(np.array([-1.0]), chunks=1)]).rechunk(y.chunks)


@pytest.mark.parametrize("where", ["labels", "cut queries", "training"])
def test_every_refused_fit_releases_its_partitions_on_the_workers(where, one_worker, data):
    """Also while the error is alive, whose traceback refers to everything."""
    X, y, qid = data
    settings = {"n_estimators": 3, "num_leaves": 7}
    if where == "labels":
        y = bad_label(y)
    elif where == "cut queries":
        qid, settings["repartition"] = qid * 0, "never"
    else:
        settings["lgb_params"] = {"monotone_constraints": [1, 2, 3]}
    with pytest.raises(Exception, match=r"partition 5|is cut|monotone") as caught:
        DaskRanker("squared", **settings).fit(X, y, qid=qid)
    deadline = time.monotonic() + 30
    while (left := keys_on(one_worker)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left
    assert caught.tb is not None


def test_a_fit_that_works_leaves_no_partitions_either(one_worker, data):
    X, y, qid = data
    DaskRanker("squared", n_estimators=3, num_leaves=7).fit(X, y, qid=qid)
    deadline = time.monotonic() + 30
    while (left := keys_on(one_worker)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def keys_on(client):
    """Return the keys of all results that workers hold."""
    held = client.run(lambda dask_worker: list(dask_worker.data))
    return [key for keys in held.values() for key in keys]


def test_a_failed_fit_leaves_the_model_of_the_last_one(one_worker, data):
    X, y, qid = data
    settings = {"n_estimators": 3, "num_leaves": 7}
    wrong = {"lgb_params": {"monotone_constraints": [1, 2, 3]}}  # found when LightGBM trains
    ranker = DaskRanker("squared", **settings, **wrong)
    with pytest.raises(Exception, match="monotone"):
        ranker.fit(X, y, qid=qid)
    with pytest.raises(NotFittedError):
        ranker.predict(X)
    with pytest.raises(NotFittedError):
        ranker.to_local()
    ranker.set_params(lgb_params=None).fit(X, y, qid=qid)
    model, expected = ranker.local_, ranker.predict(X).compute()
    ranker.set_params(**wrong)
    with pytest.raises(Exception, match="monotone"):
        ranker.fit(X[:, :2], y, qid=qid)
    with pytest.raises(ValueError, match=r"labels \(y\) must be finite"):
        ranker.fit(X[:, :3], bad_label(y), qid=qid)
    assert ranker.local_ is model
    assert ranker.n_features_in_ == 4
    np.testing.assert_array_equal(ranker.predict(X).compute(), expected)


def test_an_error_on_a_worker_comes_through(one_worker, data):
    X, y, qid = data
    with pytest.raises(Exception, match="monotone"):
        DaskRanker("squared", lgb_params={"monotone_constraints": [1, 2, 3]}).fit(X, y, qid=qid)
    assert one_worker.submit(sum, [1, 2]).result(timeout=30) == 3
