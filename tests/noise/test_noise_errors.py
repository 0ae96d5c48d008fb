"""What cannot be run is said at once, and nothing is lost."""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from gbrank.cli import main
from gbrank.noise.contestants import parse_objective
from gbrank.noise.presets import load_preset
from gbrank.noise.sources import open_source
from gbrank.noise.trial import Trial, all_trials, run_trial


def said(capsys, *arguments):
    code = main(["noise", *map(str, arguments)])
    assert code == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1  # one line
    return said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "nothing", "--out", "x"], "there is no preset 'nothing'; there are bruch"),
        (["run", "results", "--out", "x"], "name the data for preset results"),
        (["run", "demo", "--objectives", "lamda", "--out", "x"], "there is no objective 'lamda'"),
        (
            ["run", "demo", "--objectives", "xendcg(gama=1)", "--out", "x"],
            "objective 'xendcg(gama=1)'",
        ),
        (
            ["run", "demo", "--objectives", "listmle(k=0)", "--out", "x"],
            "objective 'listmle(k=0)': k must be an integer >= 1",
        ),
        (["run", "demo", "--objectives", "listmle(k=", "--out", "x"], "is not written as name"),
        (["run", "demo", "--trials", "0", "--out", "x"], "trials must be an integer >= 1"),
        (["run", "demo", "--jobs", "0", "--out", "x"], "n_jobs must be an integer >= 1, got 0"),
        (
            ["run", "demo", "--levels", "1.5", "--out", "x"],
            "levels of labels noise must be from 0 to 1, got 1.5",
        ),
        (
            [
                "run",
                "xia2009-topk",
                "--data",
                "synthetic",
                "--out",
                "x",
                "--objectives",
                "lightgbm:lambdarank",
            ],
            "trains linear models, which lightgbm:lambdarank cannot",
        ),
        (
            ["run", "bruch2021-table1", "--data", "synthetic", "--levels", "0.5", "--out", "x"],
            "preset bruch2021-table1 has no noise, so --levels means nothing",
        ),
        (["report", "/no/such/folder"], "holds no trials"),
    ],
)
def test_unknown_names_and_numbers(capsys, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in said(capsys, *arguments)
    assert not list(tmp_path.iterdir())  # before any work


def test_missing_data(capsys, monkeypatch, tmp_path):
    run = ("run", "results", "--out", tmp_path / "x", "--data", "MQ1999")
    monkeypatch.delenv("GBRANK_DATA", raising=False)
    assert "no such file or folder, and GBRANK_DATA does not name one" in said(capsys, *run)
    monkeypatch.setenv("GBRANK_DATA", str(tmp_path))
    (tmp_path / "MQ2000.npz").touch()
    assert "no data set MQ1999 in" in said(capsys, *run)
    assert "which has MQ2000" in said(capsys, *run)
    assert "is not known as a data set" in said(capsys, *run[:-1], tmp_path)
    assert not (tmp_path / "x").exists()


def test_data_that_is_none(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GBRANK_DATA", str(tmp_path))
    run = ("run", "results", "--out", tmp_path / "x", "--data")
    (tmp_path / "empty.npz").touch()
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "half.npz", X=np.eye(2))
    for name in ("empty", "text", "half"):
        message = said(capsys, *run, name)
        assert f"{name}.npz is not a data set, arrays X, y, qid and part" in message
    assert not (tmp_path / "x").exists()


def test_without_matplotlib_there_are_tables_and_a_page(noise, finished, tmp_path):
    """Plots are an extra; everything else is there without it."""
    shutil.copy(finished / "tiny.tar.xz", tmp_path)
    (tmp_path / "no_plots").mkdir()
    (tmp_path / "no_plots" / "sitecustomize.py").write_text(
        "import sys\nsys.modules['matplotlib'] = None\n"
    )
    code, out, err = noise(
        "report", tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path / "no_plots")}
    )
    assert code == 0, err
    assert 'pip install "gbrank[plot]"' in err
    assert "lightgbm:rank_xendcg" in out
    assert "<img" not in (tmp_path / "report.html").read_text()


def test_best_order_needs_synthetic_data(capsys, real_data, tmp_path):
    real_data("MQ2008")
    run = ("run", "demo", "--out", tmp_path / "x", "--data", "MQ2008")
    assert "synthetic data only" in said(capsys, *run, "--objectives", "ceiling:bayes")


def test_peer_that_is_not_installed(capsys, monkeypatch, tmp_path):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "catboost" else find(name, *a)
    )
    with pytest.raises(ImportError, match=r'catboost:YetiRank needs catboost: pip install "gbrank'):
        parse_objective("catboost:YetiRank")
    message = said(capsys, "run", "demo", "--objectives", "catboost:YetiRank", "--out", tmp_path)
    assert 'pip install "gbrank[peers]"' in message
    # a report of trials that others ran needs no peer
    assert len(all_trials(load_preset("results"))) == 5 * 230


def test_folder_that_cannot_be_written(capsys, tiny, tmp_path):
    (tmp_path / "file").touch()
    message = said(capsys, "run", tiny, "--out", tmp_path / "file" / "folder")
    assert "the results folder" in message
    assert "cannot be made" in message
    read_only = tmp_path / "read_only"
    (read_only / "work" / "trials.sqlite").mkdir(
        parents=True
    )  # root may write anywhere, but not this
    assert "cannot be read or written" in said(capsys, "run", tiny, "--out", read_only)


def test_full_disk_keeps_what_is_finished(noise, tiny, finished, tmp_path):
    """A limit on the size of files stands in for a disk that fills up during the run."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    run = ("run", tiny, "--jobs", 1, "--out", tmp_path, "--no-report")
    code, _, err = noise(*run, preexec_fn=limit)
    assert code == 1
    assert "cannot be read or written" in err
    assert "the same command goes on" in err
    assert "Traceback" not in err
    base = sqlite3.connect(tmp_path / "work" / "trials.sqlite")
    assert base.execute("pragma integrity_check").fetchone() == ("ok",)
    kept = base.execute("select count(*) from trials").fetchone()[0]
    base.close()
    assert 0 < kept < 48
    assert noise("run", tiny, "--jobs", 1, "--out", tmp_path)[0] == 0
    mine, theirs = ((place / "results.csv").read_text() for place in (tmp_path, finished))
    assert mine == theirs


def test_report_on_a_full_disk(finished, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    before = (copy / "report.html").read_text()

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    done = subprocess.run(
        [sys.executable, "-m", "gbrank", "noise", "report", str(copy)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )
    assert done.returncode == 1
    assert "the report cannot be written" in done.stderr
    assert (copy / "report.html").read_text() == before


def test_changed_preset_is_not_mixed_with_old_trials(capsys, tiny, finished, tmp_path):
    changed = tmp_path / "tiny.toml"
    changed.write_text(tiny.read_text().replace("trees = 5", "trees = 6"))
    message = said(capsys, "run", changed, "--out", finished)
    assert "from before the preset changed: choose another --out" in message
    changed.write_text(tiny.read_text().replace("n_queries = 40", "n_queries = 41"))
    assert "from before the" in said(capsys, "run", changed, "--out", finished)


def test_compressed_trials_that_cannot_be_read(capsys, tiny, finished, tmp_path):
    whole = (finished / "tiny.tar.xz").read_bytes()
    for content in (b"", b"no archive", whole[: len(whole) // 2]):
        (tmp_path / "tiny.tar.xz").write_bytes(content)
        message = said(capsys, "run", tiny, "--out", tmp_path)
        assert f"{tmp_path / 'tiny.tar.xz'} holds no trials that can be read" in message
    assert (tmp_path / "tiny.tar.xz").read_bytes() == content


def test_compressed_trials_of_another_definition(capsys, tiny, finished, noise, tmp_path):
    changed = tmp_path / "tiny.toml"
    changed.write_text(tiny.read_text().replace("trees = 5", "trees = 6"))
    out = tmp_path / "out"
    run = ("run", changed, "--jobs", 1, "--trials", 1, "--objectives", "floor:ridge", "--out", out)
    assert noise(*run, "--no-report")[0] == 0
    shutil.copy(finished / "tiny.tar.xz", out)
    assert "of another definition than" in said(capsys, *run)


def test_a_preset_with_a_misprint_is_refused(capsys, tiny, tmp_path):
    changed = tmp_path / "tiny.toml"
    for old, new, message in (
        ("trials = 4", "trails = 4", "is not a preset"),
        ("metrics =", "metricks = 1\nmetrics =", "['metricks'] mean nothing"),
        ('kind = "labels"', 'kind = "label"', "noise must be one of"),
        ('"smaller"]', '"smallest"]', "there are no settings 'smallest'"),
        ("[synthetic]", "[synthetic", "is not a preset"),
        ("trials = 4", 'trials = 4\ntest_of_paper = "t"', "test_of_paper must be one of"),
    ):
        changed.write_text(tiny.read_text().replace(old, new, 1))
        assert message in said(capsys, "run", changed, "--out", tmp_path / "x")


OWN = """
import gbrank
from gbrank.metrics import get_metric

class Mine(gbrank.{base}):
    pass

class MineMetric(type(get_metric("ndcg"))):
    name = "mine"
"""


def test_line_14_losses_and_metrics_of_ones_own(tmp_path):
    """``FILE.py:Class`` names a loss or a metric in a preset, here and in every worker."""
    source = tmp_path / "own.py"
    source.write_text(OWN.format(base="ListMLE"))
    objective = parse_objective(f"{source}:Mine(k=3)")
    made = objective.make(seed=7)
    assert (type(made).__name__, made.get_params()["k"]) == ("Mine", 3)
    assert objective.is_learner
    with pytest.raises(ValueError, match="k must be an integer >= 1"):
        parse_objective(f"{source}:Mine(k=0)")
    with pytest.raises(ValueError, match="has no class 'Other' derived"):
        parse_objective(f"{source}:Other")
    with pytest.raises(ValueError, match="No such file or directory"):
        parse_objective("no_such_file.py:Mine")
    preset = load_preset("demo")
    metrics = (f"{source}:MineMetric@5", "ndcg@5")
    chosen = replace(
        preset,
        objectives=(f"{source}:Mine(k=3)", "listmle(k=3)"),
        metrics=metrics,
        trials=1,
        synthetic={"n_queries": 40, "list_length": 6},
    ).with_choices()
    data = open_source("synthetic", chosen.synthetic)
    kind = chosen.noises[0]
    own, known = (
        run_trial(chosen, data, Trial(kind.settings[0], kind.name, kind.levels[0], name, 0))
        for name in chosen.objectives
    )
    np.testing.assert_array_equal(own.values, known.values)
    np.testing.assert_array_equal(own.values[0], own.values[1])
    with pytest.raises(ValueError, match="derived from gbrank's Metric"):
        replace(preset, metrics=(f"{source}:Mine",)).with_choices()
