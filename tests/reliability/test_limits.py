"""Memory and disk run out: an error that Python knows, old files stay, work goes on."""

import os
import sys
from pathlib import Path

import pytest
from child_process import ROOT, run_python
from small_fits import fit, small_data

from gbrank import Ranker
from gbrank.data import dump_letor, load_letor

#: Children import the helpers of these tests too.
PATHS = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits are those of POSIX")

LIMIT_MEMORY = """
import re, resource

def limit(extra_bytes):
    used = int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (used + extra_bytes, resource.RLIM_INFINITY))

def lift():
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""

GRADIENTS = (
    LIMIT_MEMORY
    + """
import sys
import numpy as np
from gbrank import get_objective
objective = get_objective(sys.argv[1])
n = 2_000_000
labels, scores, group = np.arange(n) % 3.0, np.arange(n) % 7.0, np.full(n // 100, 100)
expected = objective.grad_hess(labels[:500], scores[:500], group[:5])
limit(2 * n)  # enough to start with, not for one more array of them
try:
    objective.grad_hess(labels, scores, group)
except MemoryError:
    print("MemoryError")
lift()
again = objective.grad_hess(labels[:500], scores[:500], group[:5])
print(all((a == b).all() for a, b in zip(again, expected)))
"""
)

# LightGBM has one kind of error for everything. Its Dataset is what takes the memory; that it may
# crash when there is enough for that and too little for the rest is beyond what gbrank can catch.
TRAINING = (
    LIMIT_MEMORY
    + """
import numpy as np
from gbrank import Ranker
rng = np.random.default_rng(0)
X, y, qid = rng.random((40_000, 50)), rng.integers(0, 3, 40_000), np.arange(40_000) // 20
small = Ranker(preset="fast", n_estimators=2, n_jobs=1).fit(X[:400], y[:400], qid=qid[:400])
ranker = Ranker(preset="fast", n_estimators=2, n_jobs=1)
for megabytes in (1, 4, 8):
    limit(megabytes << 20)
    try:
        ranker.fit(X, y, qid=qid)
    except MemoryError:
        print("MemoryError")
        assert not hasattr(ranker, "booster_")
    finally:
        lift()
again = Ranker(preset="fast", n_estimators=2, n_jobs=1).fit(X[:400], y[:400], qid=qid[:400])
print((again.predict(X) == small.predict(X)).all())
"""
)

SAVE = """
import resource, sys
from gbrank import Ranker
from gbrank.data import dump_letor
from small_fits import fit, small_data
ranker, data = fit(1, n_jobs=1), small_data(1)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
try:
    if sys.argv[1] == "model":
        ranker.save_model(sys.argv[2])
    else:
        dump_letor(data.X, data.y, data.qid, sys.argv[2])
except OSError as error:
    print(type(error).__name__, error.errno)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("objective", ["xendcg", "lambdamart", "listmle"])
def test_gradients_beyond_the_memory(objective):
    done = run_python(objective, code=GRADIENTS)
    assert done.stdout.split() == ["MemoryError", "True"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_training_beyond_the_memory():
    done = run_python(code=TRAINING)
    assert done.stdout.split() == ["MemoryError"] * 3 + ["True"]


def test_disk_full_leaves_the_old_model(tmp_path):
    path, data = tmp_path / "model.txt", small_data(0)
    old = fit(0)
    old.save_model(path)
    before = path.read_bytes()
    done = run_python("model", path, code=SAVE, PYTHONPATH=PATHS)
    assert done.stdout.split()[0] == "OSError"
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.txt"]  # nothing half written
    assert (Ranker.load_model(path).predict(data.X) == old.predict(data.X)).all()


def test_disk_full_leaves_the_old_data(tmp_path):
    path, data = tmp_path / "data.txt", small_data(0)
    dump_letor(data.X, data.y, data.qid, path)
    before = path.read_bytes()
    assert len(before) > 4096
    done = run_python("data", path, code=SAVE, PYTHONPATH=PATHS)
    assert done.stdout.split()[0] == "OSError"
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["data.txt"]
    assert len(load_letor(path).y) == len(data.y)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /dev/full")
def test_a_device_is_no_place_for_a_model():
    with pytest.raises(ValueError, match="device"):
        fit(0).save_model("/dev/full")
