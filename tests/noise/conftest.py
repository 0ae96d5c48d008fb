"""A preset that takes seconds, and the command that runs it in a process of its own."""

import subprocess
import sys

import pytest

TINY = """
title = "Tiny"
about = "Takes seconds."
data = "synthetic"
validation = "clean"
trials = 4
metrics = ["ndcg@10", "ndcg@5"]
objectives = ["lightgbm:rank_xendcg", "lightgbm:lambdarank", "floor:single_feature", "floor:ridge"]
baseline = "lightgbm:lambdarank"

[synthetic]
n_queries = 40
list_length = 8

[[noise]]
kind = "labels"
levels = [0.0, 0.5]
settings = ["small", "smaller"]

[settings.small]
num_leaves = 4
learning_rate = 0.1
min_data_in_leaf = 5
trees = 5
patience = 3

[settings.smaller]
num_leaves = 2
learning_rate = 0.1
min_data_in_leaf = 5
trees = 5
patience = 0
"""


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("preset") / "tiny.toml"
    path.write_text(TINY)
    return path


@pytest.fixture(scope="session")
def start():
    """Return a function that starts the command in a process of its own."""

    def start_noise(*arguments, **options):
        return subprocess.Popen(
            [sys.executable, "-m", "gbrank", "noise", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )

    return start_noise


@pytest.fixture(scope="session")
def noise(start):
    """Return a function that runs the command to its end: exit code, output, errors."""

    def run_noise(*arguments, **options):
        process = start(*arguments, **options)
        out, err = process.communicate(timeout=600)
        return process.returncode, out, err

    return run_noise


@pytest.fixture(scope="session")
def finished(noise, tiny, tmp_path_factory):
    """The folder of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("finished") / "deep" / "folder"
    code, out, err = noise("run", tiny, "--jobs", 1, "--out", folder)
    assert code == 0, err
    (folder / "printed.txt").write_text(out)
    return folder
