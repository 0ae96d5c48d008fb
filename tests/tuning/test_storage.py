"""Trials survive: kills at any point, resumption, several processes, other searches."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import gbrank
from gbrank.tuning.storage import FileStorage, Worker
from gbrank.tuning.trials import Trial

SCRIPT = textwrap.dedent(
    """
    import sys
    import gbrank
    from gbrank.data import make_ranking

    data = make_ranking(n_queries=120, n_features=10, random_state=0)
    result = gbrank.tune(
        data.X, data.y, data.qid, objectives=["xendcg", "lambdamart"], n_trials=int(sys.argv[2]),
        cv=3, storage=sys.argv[1], ranker=gbrank.Ranker(n_estimators=6), n_members=1,
        callback=lambda trial: print(trial.number, flush=True),
    )
    """
)


def comparable(trials):
    return [(each.number, each.point, each.state, each.value) for each in trials]


def start(path, n_trials):
    command = [sys.executable, "-c", SCRIPT, str(path), str(n_trials)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("seconds", [0.02, 0.2])
def test_killed_and_resumed_as_if_nothing_had_happened(quick, tmp_path, seconds):
    path = tmp_path / "trials"
    process = start(path, 100)
    assert process.stdout.readline() == "0\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with sqlite3.connect(path) as file:
        (n_ended,) = file.execute("SELECT COUNT(*) FROM trials WHERE state != 'running'").fetchone()
    assert n_ended >= 1
    n_trials = n_ended + 4
    result = quick(storage=path, n_trials=n_trials)
    assert comparable(result.trials) == comparable(quick(n_trials=n_trials).trials)


def test_two_processes_share_the_work(quick, tmp_path):
    path = tmp_path / "trials"
    workers = [start(path, 8) for _ in range(2)]
    ran = [set(worker.communicate()[0].split()) for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    assert ran[0] | ran[1] == set(map(str, range(8)))
    assert not ran[0] & ran[1]
    result = quick(storage=path, n_trials=8)
    assert [each.number for each in result.trials] == list(range(8))
    assert result.n_fold_trainings_ <= 12  # of the members that were not in memory


def test_claims(tmp_path):
    path = tmp_path / "trials"
    first, second = (FileStorage(path, {"metric": "ndcg@10"}) for _ in range(2))
    assert first.claim(None) == (0, None)
    assert second.claim(None) == (1, None)
    first.begin(0, {"num_leaves": 5})
    first.release()
    assert second.claim(None) == (0, {"num_leaves": 5})
    # the first comes back too late
    assert not first.end(Trial(0, {}, "complete", 1.0))
    values = np.array([0.5, np.nan])
    assert second.end(Trial(0, {}, "complete", 0.25, 0.1, 2, [3, 4], 1.5, values, values))
    (kept,) = first.trials()
    assert (kept.point, kept.value, kept.n_trees) == ({"num_leaves": 5}, 0.25, [3, 4])
    assert np.array_equal(kept.query_values, values, equal_nan=True)
    assert second.claim(2) is None
    assert first.trials()[0] is kept  # each is read once


def test_who_is_gone():
    me = Worker().name
    assert not Worker.is_gone(me, time.time())
    assert Worker.is_gone(me, time.time() - 1000)
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    host = me.rsplit(":", 2)[0]
    assert Worker.is_gone(f"{host}:{child.pid}:x", time.time())
    assert not Worker.is_gone(f"{host}:{os.getppid()}:x", time.time())
    assert not Worker.is_gone(f"elsewhere:{child.pid}:x", time.time())


def test_another_search_is_an_error(quick, rows, tmp_path):
    path = tmp_path / "trials"
    quick(storage=path, n_trials=1)
    with pytest.raises(ValueError, match="another metric: ndcg@10, and not err"):
        quick(storage=path, metric="err")
    with pytest.raises(ValueError, match="another random_state"):
        quick(storage=path, random_state=5)
    with pytest.raises(ValueError, match="another data or folds"):
        quick(storage=path, cv=4)
    with pytest.raises(ValueError, match=r"another ranker: n_estimators; give another file$"):
        quick(storage=path, ranker=gbrank.Ranker(n_estimators=3))
    with pytest.raises(ValueError, match=r"another space: [a-z_]+(, [a-z_]+){4} and \d+ more;"):
        quick(storage=path, objectives=["xendcg"], space={"xendcg__gamma": [0.0, 0.5]})
    (tmp_path / "text").write_text("not a data base, whatever its name may say" * 10)
    with pytest.raises(ValueError, match="holds no trials"):
        quick(storage=tmp_path / "text")
    with pytest.raises(FileNotFoundError, match="folder"):
        quick(storage=tmp_path / "none" / "trials")


def test_optuna_storage(quick, tmp_path):
    optuna = pytest.importorskip("optuna")
    journal = optuna.storages.journal
    path = str(tmp_path / "journal.log")

    def storage():
        return optuna.storages.JournalStorage(journal.JournalFileBackend(path))

    quick(storage=storage(), n_trials=3)
    result = quick(storage=storage(), n_trials=5)
    plain = quick(n_trials=5)
    assert [each.point for each in result.trials] == [each.point for each in plain.trials]
    assert [each.value for each in result.trials] == pytest.approx(
        [each.value for each in plain.trials]
    )
    study = optuna.load_study(study_name="gbrank", storage=storage())
    assert study.best_value == pytest.approx(plain.best_score_)
    assert study.best_params["objective"] == plain.best_point_["objective"]


def test_a_killed_trial_of_an_optuna_storage_is_run_again(quick):
    optuna = pytest.importorskip("optuna")
    storage = optuna.storages.InMemoryStorage()

    def stop(trial):
        raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        quick(storage=storage, n_trials=4, callback=stop)
    study = storage.get_study_id_from_name("gbrank")
    # a trial whose process is gone
    left = storage.create_new_trial(study)
    storage.set_trial_user_attr(left, "number", 1)
    storage.set_trial_user_attr(left, "worker", "here:1:x")
    storage.set_trial_user_attr(left, "beat", 0.0)
    result = quick(storage=storage, n_trials=4)
    assert [each.number for each in result.trials] == [0, 1, 2, 3]


def test_an_optuna_url_without_optuna_says_what_to_install(quick, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"gbrank\[tune\]"):
        quick(storage="sqlite:///trials.db")


def test_a_search_with_optuna_goes_on_without(quick, tmp_path, monkeypatch):
    path = tmp_path / "trials"
    quick(storage=path, n_trials=3)
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert len(quick(storage=path, n_trials=5).trials) == 5


def test_doc_example_of_a_space():
    space = gbrank.Ranker.search_space("auto")
    assert {"objective", "start", "reg_lambda", "lambdamart__sigmoid"} <= set(space)
