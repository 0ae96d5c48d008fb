"""Runs that are killed, interrupted, doubled or spread over processes give the same digits."""

import io
import os
import random
import shutil
import signal
import sqlite3
import tarfile
import time
from pathlib import Path

import numpy as np
import pytest

from gbrank.noise.archive import read_archive
from gbrank.noise.store import join_commands

pytest.importorskip("matplotlib")

N_TRIALS = 4 * 2 * (4 + 2)  # floors are trained under the first of two settings only


def count(folder):
    path = folder / "work" / "trials.sqlite"
    if not path.exists():
        return 0
    base = sqlite3.connect(path, timeout=60)
    try:
        return base.execute("select count(*) from trials").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        base.close()


def check_same_tables(folder, finished):
    assert count(folder) == N_TRIALS
    for name in ("results.csv", "report.md"):
        mine, theirs = ((place / name).read_text() for place in (folder, finished))
        # the commands that were run differ in the folder
        assert without_command(mine) == without_command(theirs), name
    assert kept_trials(folder) == kept_trials(finished)


def kept_trials(folder):
    """Everything that the compressed file says of each trial but the seconds it took."""
    [run] = read_archive(folder / "tiny.tar.xz")
    return {
        trial: (r.means, r.trees, r.curve, r.noise, r.queries.tolist(), r.values.tobytes())
        for trial, (r, _) in run.results.items()
    }


def without_command(text):
    return "\n".join(line for line in text.splitlines() if not line.startswith("Run with. "))


def wait_for_trials(process, folder, more_than, seconds=300):
    deadline = time.monotonic() + seconds
    while count(folder) <= more_than and process.poll() is None:
        assert time.monotonic() < deadline, "no trial was finished"
        time.sleep(0.01)


def children(pid):
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def is_at_work(pid):
    try:
        return "python" in Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_kill_at_any_moment_loses_nothing(start, noise, tiny, finished, tmp_path):
    rng = random.Random(5)
    for _ in range(5):
        before = count(tmp_path)
        process = start("run", tiny, "--jobs", 2, "--out", tmp_path, "--no-report")
        wait_for_trials(process, tmp_path, before)
        time.sleep(rng.uniform(0.0, 0.1))
        workers = children(process.pid)
        kept = count(tmp_path)
        process.kill()
        process.communicate()
        assert kept > before or kept == N_TRIALS
        assert count(tmp_path) >= kept
        deadline = time.monotonic() + 60
        while any(map(is_at_work, workers)):
            assert time.monotonic() < deadline, "a worker outlived its parent"
            time.sleep(0.05)
    code, _, err = noise("run", tiny, "--jobs", 1, "--out", tmp_path)
    assert code == 0, err
    check_same_tables(tmp_path, finished)


def test_two_jobs_equal_one(noise, tiny, finished, tmp_path):
    code, _, err = noise("run", tiny, "--jobs", 2, "--out", tmp_path)
    assert code == 0, err
    assert f"{N_TRIALS}/{N_TRIALS} trials" in err
    check_same_tables(tmp_path, finished)


def test_two_processes_share_a_folder(start, noise, tiny, finished, tmp_path):
    both = [start("run", tiny, "--jobs", 1, "--out", tmp_path, "--no-report") for _ in range(2)]
    for process in both:
        _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
    base = sqlite3.connect(tmp_path / "work" / "trials.sqlite")
    assert base.execute("pragma integrity_check").fetchone() == ("ok",)
    base.close()
    assert noise("report", tmp_path)[0] == 0
    check_same_tables(tmp_path, finished)


def test_interrupt_ends_cleanly_and_the_same_command_goes_on(start, noise, tiny, tmp_path):
    process = start("run", tiny, "--jobs", 1, "--out", tmp_path)
    wait_for_trials(process, tmp_path, 2)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    kept = count(tmp_path)
    assert process.returncode == 130
    assert f"stopped; {kept} of {N_TRIALS} trials are kept" in err
    assert "Traceback" not in err
    code, _, err = noise("run", tiny, "--jobs", 1, "--out", tmp_path, "--no-report")
    assert code == 0
    assert f"{N_TRIALS} trials, {kept} are finished" in err


def test_more_trials_later_keep_the_first_ones(noise, tiny, finished, tmp_path):
    choices = ("--jobs", 1, "--out", tmp_path)
    assert noise("run", tiny, "--trials", 1, "--objectives", "floor:ridge", *choices)[0] == 0
    assert count(tmp_path) == 2
    assert "2 of 2 trials are finished: 1 of 1 for each" in (tmp_path / "report.md").read_text()
    code, _, err = noise("run", tiny, *choices)
    assert code == 0, err
    assert "2 are finished" in err
    # what is wanted is now what the second command asked for, in the order of the preset
    mine, theirs = ((place / "report.md").read_text() for place in (tmp_path, finished))
    assert without_command(mine) == without_command(theirs)
    assert kept_trials(tmp_path) == kept_trials(finished)


def test_a_run_goes_on_from_the_compressed_file_alone(noise, tiny, finished, tmp_path):
    """What a fresh clone has: no SQLite file, only what is under version control."""
    choices = ("--jobs", 1, "--out", tmp_path)
    assert noise("run", tiny, "--trials", 2, *choices)[0] == 0
    first = kept_trials(tmp_path)
    shutil.rmtree(tmp_path / "work")
    code, _, err = noise("run", tiny, *choices)
    assert code == 0, err
    assert f"{N_TRIALS} trials, {N_TRIALS // 2} are finished" in err
    assert {trial: kept_trials(tmp_path)[trial] for trial in first} == first
    check_same_tables(tmp_path, finished)


def test_metrics_of_a_trial_stand_together_and_older_files_are_read(finished, tmp_path):
    """Files from before had the values of each metric one after the other."""
    with tarfile.open(finished / "tiny.tar.xz") as archive:
        members = {name: archive.extractfile(name).read() for name in archive.getnames()}
    [name] = [name for name in members if name.startswith("values/")]
    values = np.load(io.BytesIO(members[name]))
    assert values.flags.f_contiguous
    assert not values.flags.c_contiguous
    older = io.BytesIO()
    np.save(older, np.ascontiguousarray(values))
    with tarfile.open(tmp_path / "tiny.tar.xz", "w:xz") as archive:
        for each, content in (members | {name: older.getvalue()}).items():
            head = tarfile.TarInfo(each)
            head.size = len(content)
            archive.addfile(head, io.BytesIO(content))
    assert kept_trials(tmp_path) == kept_trials(finished)


def test_commands_of_several_goes_are_named(noise, tiny, tmp_path):
    def commands():
        [run] = read_archive(tmp_path / "tiny.tar.xz")
        return run.provenance["command"].split("; then ")

    first = ("--objectives", "floor:ridge", "--jobs", 1, "--out", tmp_path)
    assert noise("run", tiny, "--trials", 1, *first)[0] == 0
    assert len(commands()) == 1
    assert noise("run", tiny, *first)[0] == 0
    assert noise("run", tiny, *first)[0] == 0  # the same again is not named again
    assert len(commands()) == 2
    assert "--trials 1" in commands()[0]
    assert "--trials" not in commands()[1]
    assert join_commands("a" * 9_990, "b" * 30) == "a" * 9_990  # a result has no longer texts


def test_report_of_the_compressed_file_alone(noise, finished, tmp_path):
    shutil.copy(finished / "tiny.tar.xz", tmp_path)
    assert noise("report", tmp_path)[0] == 0
    for name in ("results.csv", "settings.csv", "report.md", "report.html", "tiny.tar.xz"):
        assert (tmp_path / name).read_bytes() == (finished / name).read_bytes(), name


def test_trials_of_two_clones_are_joined(noise, tiny, finished, tmp_path):
    """Others' trials come by version control while there is work of one's own."""
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    choose = ("--jobs", 1, "--no-report", "--objectives")
    assert noise("run", tiny, "--out", mine, *choose, "floor:ridge")[0] == 0
    assert noise("run", tiny, "--out", theirs, *choose, "lightgbm:lambdarank")[0] == 0
    assert noise("report", theirs)[0] == 0
    shutil.copy(theirs / "tiny.tar.xz", mine)
    code, _, err = noise("run", tiny, "--jobs", 1, "--out", mine)
    assert code == 0, err
    assert f"{N_TRIALS} trials, {8 + 16} are finished" in err
    check_same_tables(mine, finished)


def test_run_ends_with_the_table_a_plot_and_the_report(finished):
    printed = (finished / "printed.txt").read_text()
    assert "lightgbm:rank_xendcg" in printed
    lines = printed.strip().splitlines()
    assert lines[-1] == f"Report: {finished / 'report.html'}"
    plots = [line.removeprefix("Plot: ") for line in lines if line.startswith("Plot: ")]
    assert len(plots) == 3  # all in one, learner by learner, differences
    for plot in plots:
        assert Path(plot).read_bytes().startswith(b"\x89PNG")
        assert Path(plot).with_suffix(".svg").read_text().startswith("<?xml")
