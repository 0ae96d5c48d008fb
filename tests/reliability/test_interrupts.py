"""Ctrl-C, as a user presses it: a signal from outside, in the middle of a fit."""

import signal
import subprocess
import sys

import pytest
from child_process import TIMEOUT, environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")

LONG_FIT = """
import sys, warnings
import numpy as np
from gbrank import Ranker
from gbrank.data import make_ranking

data = make_ranking(n_queries=100, random_state=0)

def tell(env):
    if env.iteration == 5:
        print("training", flush=True)

ranker = Ranker(sys.argv[1], n_estimators=1_000_000, num_leaves=7, n_jobs=int(sys.argv[2]))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    ranker.fit(data.X, data.y, qid=data.qid, callbacks=[tell])
print(ranker.best_iteration_, np.isfinite(ranker.predict(data.X)).all())
print(*[str(warning.message) for warning in caught])
"""


@pytest.mark.parametrize(("objective", "n_jobs"), [("xendcg", 1), ("lambdamart", 2)])
def test_trees_so_far_are_kept_and_said(objective, n_jobs):
    with subprocess.Popen(
        [sys.executable, "-c", LONG_FIT, objective, str(n_jobs)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            started = child.stdout.readline()
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=TIMEOUT)
        finally:
            child.kill()
    assert started == "training\n", err
    assert child.returncode == 0, err
    counts, told = out.splitlines()
    n_trees, finite = counts.split()
    assert 6 <= int(n_trees) < 1_000_000
    assert finite == "True"
    assert told == (f"training was interrupted after {n_trees} of 1000000 trees; these are kept")
