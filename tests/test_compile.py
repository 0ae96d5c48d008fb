"""Kernels: compiled when first called, kept on disk where that is possible, never out of date."""

import importlib
import os
import pkgutil
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import gbrank
from gbrank._compile import EXACT_MATH, LOOP_MATH, kernel

PACKAGE = Path(gbrank.__file__).parent

# what a user does, and the bytes of what comes out
STEP = """
import gbrank, numpy as np
from gbrank.fastmath import exp
generator = np.random.default_rng(0)
labels, scores = generator.integers(0, 5, 300), generator.normal(size=300)
group = [100, 1, 199]
for objective in (gbrank.XENDCG(), gbrank.LambdaMART()):
    grad, hess = objective.grad_hess(labels, scores, group)
    print(grad.tobytes().hex(), hess.tobytes().hex())
"""


def kernels():
    """Return every kernel of every module of the package, by name."""
    found = {}
    for module in pkgutil.walk_packages([str(PACKAGE)], "gbrank."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Dispatcher):
                found[f"{value.py_func.__module__}.{name}"] = value
    return found


def run(code, *, folder=PACKAGE.parent, **environment):
    """Run code in a new interpreter that imports the package from a folder; return its output."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def copy_package(folder):
    shutil.copytree(PACKAGE, folder / "gbrank", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_nothing_is_compiled_at_import():
    count = run("""
import gbrank
from numba.core.dispatcher import Dispatcher
import sys
kernels = {
    id(value): value
    for name, module in list(sys.modules.items()) if name.split(".")[0] == "gbrank"
    for value in vars(module).values() if isinstance(value, Dispatcher)
}
for kernel in kernels.values():
    assert kernel.signatures == [], (kernel, kernel.signatures)
print(len(kernels))
""")
    assert int(count) > 10


def test_every_kernel_is_made_the_same_way():
    found = kernels()
    assert "gbrank.fastmath.exp" in found
    for name, dispatcher in found.items():
        options = dispatcher.targetoptions
        assert options["nogil"], f"{name} keeps the GIL, so threads wait for each other"
        assert not options.get("parallel"), f"{name} would start numba's own threads"
        assert options["error_model"] == "numpy", f"{name} branches at each division"
        assert options["fastmath"] in (set(), set(LOOP_MATH), set(EXACT_MATH)), name
        assert dispatcher._cache.cache_path, f"{name} is compiled anew in every process"


def test_a_second_process_compiles_nothing(tmp_path):
    code = (
        STEP
        + """
from gbrank.objectives.lambdamart import _lambdamart_block
stats = _lambdamart_block.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
    )
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    *first_bytes, first = run(code, **cache).splitlines()
    *second_bytes, second = run(code, **cache).splitlines()
    assert first == "0 1"
    assert second == "1 0"
    assert first_bytes == second_bytes


def test_a_change_in_another_file_is_noticed(tmp_path):
    """numba looks at the file of a kernel, not at the files of the kernels it calls."""
    folder = copy_package(tmp_path / "install")
    step = """
from gbrank import ListNet
print(ListNet(neumann_order=0).grad_hess([0, 1, 2], [0.0, 1.0, 2.0], [3])[0].tolist())
"""
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    # the scores are the labels, so that the gradient is 0
    before = np.array(eval(run(step, folder=folder, **cache)))
    np.testing.assert_allclose(before, 0.0, atol=1e-7)
    source = folder / "gbrank" / "fastmath.py"
    original = source.read_text()
    changed = original.replace(
        "return value if x >= _LOWEST else 0.0", "return value * value if x >= _LOWEST else 0.0"
    )
    assert changed != original
    source.write_text(changed)
    # e^2x in place of e^x, in the labels' distribution or the scores' or both
    after = np.array(eval(run(step, folder=folder, **cache)))
    fresh = {"NUMBA_CACHE_DIR": str(tmp_path / "fresh")}
    expected = np.array(eval(run(step, folder=folder, **fresh)))
    assert np.abs(expected).max() > 0.01
    np.testing.assert_array_equal(after, expected)


def no_cache_anywhere(folder):
    """Make a package read-only, also for root, and return an environment without another place.

    A regular file stands where each folder's ``__pycache__`` would be, and nothing can be made
    below /dev/null.
    """
    for path in [folder / "gbrank", *(folder / "gbrank").rglob("*/")]:
        if path.is_dir():
            (path / "__pycache__").write_text("no folder")
    for path in (folder / "gbrank").rglob("*"):
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    nowhere = f"{os.devnull}/nowhere"
    return {name: nowhere for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "LOCALAPPDATA")}


def test_a_read_only_install_works(tmp_path):
    folder = copy_package(tmp_path)
    environment = no_cache_anywhere(folder)
    without_cache = run(
        STEP
        + """
assert gbrank.__file__.startswith(%r), gbrank.__file__
assert exp._cache.cache_path is None, exp._cache.cache_path
"""
        % str(folder),
        folder=folder,
        **environment,
    )
    files = {path.name for path in folder.rglob("*") if path.suffix in (".nbi", ".nbc", ".pyc")}
    assert files == set()
    # the same gradients, to the bit, as from a cached install
    assert without_cache == run(STEP)


FAILING_DISK = """
import errno, os
from numba.core import caching

def full(*args, **kwargs):
    raise OSError(errno.{code}, os.strerror(errno.{code}))

caching.IndexDataCacheFile.{method} = full
"""


@pytest.mark.parametrize(
    ("code", "method"),
    [("ENOSPC", "_open_for_write"), ("EROFS", "_open_for_write"), ("EACCES", "_load_index")],
)
def test_a_disk_that_fails_does_not_stop_a_training(tmp_path, code, method):
    """Full, read-only since the import, or with files of another user."""
    failing = FAILING_DISK.format(code=code, method=method)
    output = run(
        failing
        + """
from gbrank.fastmath import exp
print(exp(1.0))
assert exp.signatures
""",
        NUMBA_CACHE_DIR=str(tmp_path),
    )
    assert float(output) == pytest.approx(np.e, rel=1e-15)


def test_kernel_decorator():
    @kernel()
    def add(x, y):
        return x + y

    assert add.signatures == []
    assert add(1, 2) == 3
    assert len(add.signatures) == 1
    assert add.py_func(3, 4) == 7


def test_infinities_survive_loop_math():
    """Differences of huge scores may be infinite, so no kernel may assume that nothing is."""
    assert "ninf" not in LOOP_MATH
    assert "fast" not in LOOP_MATH

    @kernel()
    def count_infinite(x, y):
        count = 0
        for i in range(len(x)):
            if abs(x[i] - y[i]) == np.inf:
                count += 1
        return count

    x = np.array([1e308, 1.0, -1e308] * 7)
    assert count_infinite(x, -x) == 14
