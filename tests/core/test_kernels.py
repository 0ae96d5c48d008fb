"""Kernels: compiled when first called, kept on disk where that is possible, never out of date."""

import gc
import importlib
import os
import pkgutil
import shutil
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from numba.core.caching import NullCache

import gbrank
from gbrank.core.kernels import EXACT_MATH, LOOP_MATH, Kernel, kernel

PACKAGE = Path(gbrank.__file__).parent

# what a user does, and the bytes of what comes out
STEP = """
import gbrank, numpy as np
from gbrank.objectives._softmax_blocks import drawn_block as block
generator = np.random.default_rng(0)
labels, scores = generator.integers(0, 5, 300), generator.normal(size=300)
grad, hess = gbrank.XENDCG().grad_hess(labels, scores, [100, 1, 199])
print(grad.tobytes().hex(), hess.tobytes().hex())
"""


def kernels():
    """Return every kernel of every module of the package, by name."""
    found = {}
    for module in pkgutil.walk_packages([str(PACKAGE)], "gbrank."):
        if module.name.endswith("__main__"):
            continue
        for name, value in list(vars(importlib.import_module(module.name)).items()):
            if isinstance(value, Kernel):
                found[f"{value.py_func.__module__}.{name}"] = value.dispatcher
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


def test_numba_is_not_imported_before_a_kernel_is_called():
    """With every room imported there is no dispatcher yet, and so nothing is compiled."""
    rooms = ", ".join(f"gbrank.{path.parent.name}" for path in PACKAGE.glob("*/__init__.py"))
    output = run(f"""
import gbrank, sys, {rooms}
assert "numba" not in sys.modules
print(gbrank.gains.compute_gains.__name__, gbrank.core.exp(0.0))
assert "numba" in sys.modules
""")
    assert output.split() == ["compute_gains", "1.0"]


def test_every_kernel_is_made_the_same_way():
    found = kernels()
    assert "gbrank.core.fastmath.exp" in found
    for name, dispatcher in found.items():
        options = dispatcher.targetoptions
        assert options["nogil"], f"{name} keeps the GIL, so threads wait for each other"
        assert not options.get("parallel"), f"{name} would start numba's own threads"
        assert options["error_model"] == "numpy", f"{name} branches at each division"
        assert options["fastmath"] in (set(), set(LOOP_MATH), set(EXACT_MATH)), name
        assert dispatcher._cache.cache_path, f"{name} is compiled again in every process"


def test_a_second_process_compiles_nothing(tmp_path):
    count = (
        "stats = block.dispatcher.stats\n"
        "print(stats.cache_hits.total(), stats.cache_misses.total())\n"
        "import sys; print('numba.np.linalg' in sys.modules)"  # what numba can compile
    )
    folder = copy_package(tmp_path)
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, *first_counts = run(STEP + count, folder=folder, **cache).splitlines()
    second, *second_counts = run(STEP + count, folder=folder, **cache).splitlines()
    assert first_counts == ["0 1", "True"]
    assert second_counts == ["1 0", "False"]
    assert first == second


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
    source = folder / "gbrank" / "core" / "fastmath.py"
    original = source.read_text()
    changed = original.replace(
        "return value if x >= _LOWEST else 0.0", "return value * value if x >= _LOWEST else 0.0"
    )
    assert changed != original
    source.write_text(changed)
    # the scores are now distributed as e^2s, the labels as before
    spread = np.exp(2.0 * np.arange(3)) / np.exp(2.0 * np.arange(3)).sum()
    labels = np.exp(np.arange(3)) / np.exp(np.arange(3)).sum()
    after = np.array(eval(run(step, folder=folder, **cache)))
    np.testing.assert_allclose(after, spread - labels, atol=1e-6)


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
    return dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "LOCALAPPDATA"), nowhere)


def test_a_read_only_install_works(tmp_path):
    folder = copy_package(tmp_path)
    environment = no_cache_anywhere(folder)
    code = STEP + "print(gbrank.__file__, block.dispatcher._cache.cache_path)"
    gradients, place = run(code, folder=folder, **environment).splitlines()
    assert place == f"{folder / 'gbrank' / '__init__.py'} None"
    assert not [path for path in folder.rglob("*") if path.suffix in (".nbi", ".nbc", ".pyc")]
    # the same gradients, to the bit, as from an install with a cache
    assert gradients == run(STEP).strip()


FAILING_DISK = """
import errno, os
from numba.core import caching

def full(*args, **kwargs):
    raise OSError(errno.{code}, os.strerror(errno.{code}))

caching.IndexDataCacheFile.{method} = full
"""


@pytest.mark.parametrize(
    ("code", "method"), [("ENOSPC", "_open_for_write"), ("EACCES", "_load_index")]
)
def test_a_disk_that_fails_does_not_stop_a_training(tmp_path, code, method):
    """A disk that is full, or files of another user."""
    failing = FAILING_DISK.format(code=code, method=method)
    output = run(
        failing
        + """
from gbrank.core.fastmath import exp
print(exp(1.0))
assert exp.dispatcher.signatures
""",
        NUMBA_CACHE_DIR=str(tmp_path),
    )
    assert float(output) == pytest.approx(np.e, rel=1e-15)


@pytest.mark.parametrize("damage", [b"", b"\x80\x04", b"no pickle"], ids=["empty", "cut", "text"])
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_file_of_the_cache_is_compiled_again(tmp_path, suffix, damage):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    code = "from gbrank.core import exp; print(exp(1.0), exp.dispatcher.stats.cache_hits.total())"
    value = run(code, **cache).split()[0]
    files = [path for path in tmp_path.rglob("*") if path.suffix == suffix]
    assert files
    for path in files:
        path.write_bytes(damage)
    done = run("import warnings; warnings.simplefilter('ignore')\n" + code, **cache)
    assert done.split() == [value, "0"]
    assert run(code, **cache).split() == [value, "1"]  # mended


def test_a_damaged_cache_is_said_once(tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    code = "from gbrank.core import exp, log; print(exp(1.0), log(1.0))"
    run(code, **cache)
    for path in tmp_path.rglob("*.nbi"):
        path.write_bytes(b"")
    output = run(
        "import warnings; warnings.simplefilter('always')\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        f"    {code}\n"
        "print([str(w.message).split(' (')[0] for w in seen])",
        **cache,
    )
    assert output.count("is damaged") == 1, output


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_the_cache_is_private_and_one_that_anybody_may_write_to_is_not_used(tmp_path):
    code = "from gbrank.core import exp; print(exp(1.0), exp.dispatcher.stats.cache_hits.total())"
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    run(code, **cache)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert run(code, **cache).split()[1] == "1"
    for path in {path.parent for path in files}:
        path.chmod(0o777)
    assert run(code, **cache).split()[1] == "0"


def test_kernel_decorator():
    @kernel()
    def add(x, y):
        return x + y

    assert "dispatcher" not in vars(add)
    assert add(1, 2) == 3
    assert len(add.dispatcher.signatures) == 1
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


@kernel(part=True)
def twice(x):
    return 2 * x


@kernel()
def four_times(x):
    return twice(twice(x))


@pytest.mark.parametrize("wide", [True, False])
def test_kernels_take_the_widest_registers_unless_told_not_to(wide):
    @kernel(wide=wide)
    def total(values):
        result = 0.0
        for i in range(len(values)):
            result += 0.5 * values[i]
        return result

    total.dispatcher._cache = NullCache()  # of code from the disk there is nothing to see
    assert total(np.ones(40)) == 20.0
    for text in total.dispatcher.inspect_llvm().values():
        assert ('"prefer-vector-width"="512"' in text) == wide


def test_a_part_of_kernels_cannot_be_called_alone():
    assert four_times(3) == 12
    with pytest.raises(TypeError, match="twice is a part of kernels"):
        twice(3)


@kernel()
def power(x, n):
    result = 1.0
    for _ in range(n):
        result *= x
    return result


@kernel()
def powers(x, n):
    return power(x, 2) + power(x, 3) + power(x, n)


def test_what_a_kernel_calls_is_compiled_once_and_for_it_alone():
    assert powers(2.0, 4) == 4 + 8 + 16
    assert "dispatcher" not in vars(power)
    assert len(power.inner.overloads) == 1
    assert power(2.0, 5) == 32  # from Python too


def test_the_garbage_collector_rests_only_while_numba_compiles():
    seen = []

    @kernel()
    def wrong(x):
        return x.no_such_thing

    compiler = wrong.dispatcher._compiler
    compile_core = compiler._compile_core
    compiler._compile_core = lambda *types: (seen.append(gc.isenabled()), compile_core(*types))[1]
    with pytest.raises(Exception, match="no_such_thing"):
        wrong(1.0)
    assert seen == [False]
    assert gc.isenabled()


GRADIENTS = """
import hashlib, gbrank, numpy as np
generator = np.random.default_rng(0)
labels, group = generator.integers(0, 5, 300), [100, 1, 199]
for name in gbrank.list_objectives(observations=False):
    digest = hashlib.sha256()
    for scale in (0.3, 5.0):
        scores = scale * generator.normal(size=300)
        for array in gbrank.get_objective(name, n_jobs=1).grad_hess(labels, scores, group):
            digest.update(array.tobytes())
    print(name, digest.hexdigest())
"""


def test_kernels_from_the_disk_give_the_bits_of_those_just_compiled(tmp_path):
    fresh = run(GRADIENTS, NUMBA_CACHE_DIR=str(tmp_path))
    assert len(fresh.splitlines()) > 8
    assert run(GRADIENTS, NUMBA_CACHE_DIR=str(tmp_path)) == fresh


def test_a_function_of_plain_numba_may_call_a_kernel_before_any_was_compiled():
    code = """
        import numba
        from gbrank.core import exp

        @numba.njit
        def both(x):
            return exp(x) + exp(-x)

        print(both(0.0))
    """
    assert run(textwrap.dedent(code)).strip() == "2.0"
