"""Several trainings at the same time, in threads and in processes, are those of one at a time."""

import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from child_process import run_python
from small_fits import fingerprint, fit, small_data

from gbrank import XENDCG

SEEDS = (0, 1, 2, 3)

PROCESSES = """
import json, multiprocessing, sys
sys.path.insert(0, {folder!r})
from small_fits import fingerprint

if __name__ == "__main__":
    method, seeds = sys.argv[1], json.loads(sys.argv[2])
    fingerprint(seeds[0])  # the parent has trained before: what is left of that must not matter
    with multiprocessing.get_context(method).Pool(4) as pool:
        print(json.dumps(pool.map(fingerprint, seeds, chunksize=1)))
"""

JOBLIB = """
import json, sys
sys.path.insert(0, {folder!r})
from joblib import Parallel, delayed
from small_fits import fingerprint

backend, seeds = sys.argv[1], json.loads(sys.argv[2])
print(json.dumps(Parallel(n_jobs=2, backend=backend)(delayed(fingerprint)(s) for s in seeds)))
"""


@pytest.fixture(scope="module")
def expected():
    """Return what each seed gives when nothing else runs."""
    return [fingerprint(seed) for seed in SEEDS]


def run_script(tmp_path, code, method):
    script = tmp_path / "several.py"
    script.write_text(code.format(folder=str(Path(__file__).parent)))
    return json.loads(run_python(script, method, json.dumps(SEEDS)).stdout)


def test_two_threads(expected):
    answers = {}
    barrier = threading.Barrier(2)

    def work(seeds):
        barrier.wait()
        for seed in seeds:
            answers[seed] = fingerprint(seed)

    threads = [threading.Thread(target=work, args=(seeds,)) for seeds in (SEEDS[:2], SEEDS[2:])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answers[seed] for seed in SEEDS] == expected


def test_two_threads_share_one_objective():
    """One object, two trainings under way: each has its own iteration and labels."""
    shared = XENDCG(random_state=0, n_jobs=1)
    answers = {}

    def work(seed):
        data = small_data(seed)
        ranker = fit(seed).set_params(objective=shared)
        answers[seed] = ranker.fit(data.X, data.y, qid=data.qid).predict(data.X)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (0, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in (0, 2):
        np.testing.assert_array_equal(answers[seed], fit(seed).predict(small_data(seed).X))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_four_processes(tmp_path, expected, method):
    assert run_script(tmp_path, PROCESSES, method) == expected


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(tmp_path, expected, backend):
    assert run_script(tmp_path, JOBLIB, backend) == expected


@pytest.mark.parametrize("n_jobs", [2, 2 * (os.cpu_count() or 1) + 1])
@pytest.mark.parametrize("seed", [0, 1])
def test_number_of_threads(seed, n_jobs):
    """More threads, and more threads than cores, change nothing but the last bits of LightGBM."""
    data = small_data(seed)
    alone = fit(seed, n_jobs=1, lgb_params={"force_row_wise": True})
    several = fit(seed, n_jobs=n_jobs, lgb_params={"force_row_wise": True})
    np.testing.assert_allclose(several.predict(data.X), alone.predict(data.X), rtol=1e-9, atol=1e-9)
