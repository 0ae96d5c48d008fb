"""Ten seconds of coverage-guided fuzzing, where atheris is installed, from the kept corpus."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gbrank

HERE = Path(__file__).parent


@pytest.mark.parametrize("target", ["letor", "model"])
def test_atheris(target, tmp_path):
    pytest.importorskip("atheris")
    corpus = shutil.copytree(HERE / "corpus" / target, tmp_path / "corpus")
    harness = [sys.executable, HERE / "atheris_harness.py", target, corpus]
    # a seed: what is found depends on the code alone; long_run.py and hand-run fuzzing go further
    limits = ["-seed=1", "-runs=3000", "-max_total_time=10", "-max_len=400", "-timeout=20"]
    limits.append(f"-artifact_prefix={tmp_path}/")
    done = subprocess.run(
        list(map(str, [*harness, *limits])),
        cwd=Path(gbrank.__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("target", ["letor", "model"])
def test_the_corpus_is_there_and_small(target):
    files = list((HERE / "corpus" / target).iterdir())
    assert files
    assert sum(path.stat().st_size for path in files) < 100_000
