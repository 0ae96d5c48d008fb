"""``gbrank warm-up``: what it compiles is on disk, and a process after it compiles nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gbrank
from gbrank.cli import main

# compiles nothing, or fails
AFTERWARDS = """
import numpy as np
from numba.core import event
class Listener(event.Listener):
    def on_start(self, e): raise SystemExit(f"compiled {e.data['dispatcher']}")
    def on_end(self, e): pass
event.register("numba:compile", Listener())
import gbrank
rng = np.random.default_rng(1)
for sizes in ([7] * 9, [90] * 2):
    n = sum(sizes)
    gbrank.LOSS().grad_hess(rng.integers(0, 5, n), rng.normal(size=n), sizes)
"""


def run(code, folder):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def test_a_process_afterwards_compiles_nothing(tmp_path):
    done = run("import gbrank; print(gbrank.warm_up('xendcg'))", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path)
    done = run(AFTERWARDS.replace("LOSS", "XENDCG"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "compiled" in run(AFTERWARDS.replace("LOSS", "Squared"), tmp_path).stderr


def test_names_are_checked_before_any_work(capsys):
    with pytest.raises(ValueError, match="nonsense"):
        gbrank.warm_up("xendcg", "nonsense")
    assert main(["warm-up", "nonsense"]) != 0
    assert "nonsense" in capsys.readouterr().err


def test_the_command_says_where(capsys):
    assert main(["warm-up", "squared", "ndcg@10", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["seconds"] >= 0
    assert Path(said["folder"]).is_dir()
