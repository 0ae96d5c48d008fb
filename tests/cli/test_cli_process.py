"""Commands as processes: how they start, how they are interrupted, who reads them."""

import ast
import os
import re
import signal
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import gbrank
from gbrank import Ranker
from gbrank.boosting import ONE_BOOSTER, PRESETS
from gbrank.cli import estimator, main
from gbrank.data import dump_letor, make_ranking

PACKAGE = Path(gbrank.__file__).parent
COMMAND = [sys.executable, "-m", "gbrank"]

LIGHT = """
import sys
from gbrank.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
assert code == 0
heavy = {"numpy", "numba", "lightgbm", "sklearn", "scipy", "pandas"} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize(
    "words", ["--help", "--version", "train --help", "bench --help", "completion bash"]
)
def test_help_imports_nothing_that_takes_long(words):
    command = [sys.executable, "-c", LIGHT, *words.split()]
    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=PACKAGE.parent
    )
    assert finished.returncode == 0, finished.stderr
    assert "gbrank" in finished.stdout


def test_the_command_line_uses_public_names_only():
    """Other rooms are reached through ``gbrank`` alone, and only through what it documents."""
    rooms = {"clicks", "core", "data", "metrics", "noise", "objectives", "serving", "tuning"}
    allowed = {*gbrank.__all__, *rooms}
    for path in sorted((PACKAGE / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("gbrank"):
                room = node.module.partition(".")[2].partition(".")[0]
                # the names of LightGBM's parameters are known in one place, which is exported
                assert room in {"cli", "core", "data", "boosting"}, f"{path.name}: {room}"
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "gbrank":
                assert node.attr in allowed, f"{path.name} uses gbrank.{node.attr}"


def test_numbers_that_help_needs_are_those_of_the_presets():
    """Importing the presets takes too long for ``--help``, so that they stand there once more."""
    cross_fitted = {name for name, preset in PRESETS.items() if preset.n_folds > 1}
    assert set(estimator.PRESETS) == {"auto", *PRESETS}
    assert set(estimator.CROSS_FITTED) == cross_fitted
    stopped = {"n_estimators": estimator.MOST_TREES, "early_stopping_rounds": estimator.PATIENCE}
    assert stopped == PRESETS[ONE_BOOSTER].stopped


def test_exit_codes_of_a_process(tmp_path):
    words = {("objectives",): 0, ("evaluate", "no.txt", "no.txt"): 1, ("evaluate",): 2}
    for arguments, code in words.items():
        finished = subprocess.run(
            [*COMMAND, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert finished.returncode == code, finished.stderr
        assert "Traceback" not in finished.stderr


def test_the_command_of_an_install_is_this_one():
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    for name, value in project["scripts"].items():
        assert (name, EntryPoint(name, value, "console_scripts").load()) == ("gbrank", main)


@pytest.fixture
def data(tmp_path):
    made = make_ranking(n_queries=100, list_length=20, random_state=0)
    dump_letor(made.X, made.y, made.qid, tmp_path / "data.txt")
    return tmp_path / "data.txt"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
def test_ctrl_c_keeps_the_trees_grown_so_far(data, tmp_path):
    pytest.importorskip("tqdm")  # without it there is a line only after a tenth of the trees
    model = tmp_path / "model.txt"
    command = [*COMMAND, "train", data, "--model", model, "--trees", "1000000", "--verbose"]
    command += ["--early-stopping", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        seen = b""
        while not re.search(rb"\| [1-9]", seen):  # the bar counts a tree, at least
            piece = os.read(process.stderr.fileno(), 1000)
            assert piece, seen
            seen += piece
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    said = (seen + err).decode()
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert "these are kept" in said
    assert said.endswith("gbrank train: interrupted\n")
    trees, boosters = Ranker.load_model(model).best_iteration_, Ranker.load_model(model).n_boosters_
    assert trees >= 1
    assert boosters > 1
    assert f"{trees} of {boosters} boosters" in out.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other pipes")
def test_a_reader_that_has_seen_enough(data, tmp_path):
    scores = tmp_path / "scores.txt"
    scores.write_text("\n".join(map(str, range(2000))))
    command = [*COMMAND, "evaluate", scores, data, "--per-query", "--metric", "ndcg@10"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=120) == 1
    assert err == b""
