"""Import and train where nothing can be written: package, home folder, no cache folder named.

``tests/test_compile.py`` has the gradients there; this is a whole training in such a place.
"""

import shutil
import stat
from pathlib import Path

from child_process import run_python
from small_fits import fingerprint

import gbrank

TRAIN = """
import sys
sys.path.insert(0, sys.argv[1])
import gbrank
from small_fits import fingerprint
print(gbrank.__file__)
print(fingerprint(0))
"""


def test_train_from_a_read_only_install(tmp_path):
    source = Path(gbrank.__file__).parent
    install = tmp_path / "install"
    shutil.copytree(source, install / "gbrank", ignore=shutil.ignore_patterns("__pycache__"))
    home = tmp_path / "home"
    home.mkdir()
    for path in (home, install, *install.rglob("*")):
        if path.is_dir():
            # root may write anywhere, but cannot make a folder where there is a file
            for name in ("__pycache__", ".cache"):
                (path / name).write_text("no folder")
    for path in (*tmp_path.rglob("*"), tmp_path):
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    before = sorted(tmp_path.rglob("*"))
    try:
        done = run_python(
            Path(__file__).parent,
            code=TRAIN,
            PYTHONPATH=str(install),
            PYTHONDONTWRITEBYTECODE="1",
            HOME=str(home),
            XDG_CACHE_HOME=None,
            NUMBA_CACHE_DIR=None,
        )
        place, got = done.stdout.split()
        assert place == str(install / "gbrank" / "__init__.py")
        assert got == fingerprint(0)
        assert sorted(tmp_path.rglob("*")) == before
    finally:
        tmp_path.chmod(0o755)
        for path in tmp_path.rglob("*"):
            path.chmod(0o755)
