"""A worker that dies does not take the fit, nor the cluster, with it into eternity."""

import os
import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("distributed")
DaskRanker = pytest.importorskip("gbrank.dask").DaskRanker


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


def test_a_killed_worker_is_an_error_and_the_cluster_lives_on(client, data):
    X, y, qid = data
    client.wait_for_workers(3, timeout=120)
    short = DaskRanker("squared", n_estimators=3, num_leaves=7)
    short.fit(X, y, qid=qid)  # kernels are compiled
    killed = []
    watcher = threading.Thread(
        target=kill_one_that_trains, args=(client, client.run(os.getpid), killed), daemon=True
    )
    watcher.start()
    endless = DaskRanker("squared", n_estimators=1_000_000, num_leaves=7)
    with pytest.raises(RuntimeError, match="died during training") as caught:
        endless.fit(X, y, qid=qid)
    watcher.join(timeout=10)
    assert killed[0] in str(caught.value)
    assert not hasattr(endless, "booster_")
    client.wait_for_workers(3, timeout=120)
    again = short.fit(X, y, qid=qid)
    assert np.ptp(again.predict(X).compute()) > 0.005


def test_an_error_on_a_worker_comes_through(one_worker, data):
    X, y, qid = data
    with pytest.raises(Exception, match="monotone"):
        DaskRanker("squared", lgb_params={"monotone_constraints": [1, 2, 3]}).fit(X, y, qid=qid)
    assert one_worker.submit(sum, [1, 2]).result(timeout=30) == 3
