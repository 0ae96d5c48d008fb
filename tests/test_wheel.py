"""A wheel holds the package and nothing else, and works in an environment that has nothing else.

Nothing else means no pandas, no matplotlib, and no copy of the repository.

Run by ``make test-all`` and ``make wheel``: dependencies are installed again, which takes a minute.
"""

import csv
import os
import re
import shutil
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path

import pytest

from gbrank.data import make_ranking

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # a copy: setuptools would leave, and reuse, a folder build/
    shutil.copytree(
        ROOT / "gbrank", source / "gbrank", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    subprocess.run([*pip, str(folder), str(source)], check=True)
    (built,) = folder.glob("gbrank-*.whl")
    return built


def test_contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith("/METADATA"))).decode()
    package = {n for n in names if ".dist-info/" not in n}
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "gbrank").rglob("*")
        if path.suffix in (".py", ".toml") or path.name == "py.typed"
    }
    assert package == expected
    assert "gbrank/py.typed" in package
    assert any(n.endswith("licenses/LICENSE") for n in names)
    assert sorted(re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.MULTILINE)) == [
        "lightgbm",
        "numba",
        "numpy",
        "scikit-learn",
    ]


@pytest.fixture(scope="module")
def empty(wheel, tmp_path_factory):
    """Return the Python of an environment with the wheel alone."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    return python


@pytest.fixture(scope="module")
def clean():
    """Return an environment that does not lead out of it."""
    outside = ("PYTHONPATH", "GBRANK_DATA", "NUMBA_CACHE_DIR", "PYTHONSTARTUP")
    return {name: value for name, value in os.environ.items() if name not in outside}


@pytest.fixture
def noise(empty, clean, tmp_path):
    """Return a function that starts ``gbrank noise`` there, in an empty folder."""

    def start(*arguments):
        return subprocess.Popen(
            [empty.with_name("gbrank"), "noise", *map(str, arguments)],
            cwd=tmp_path, env=clean, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    return start


def test_readme_runs_in_an_empty_environment(empty, clean, tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    start = time.perf_counter()
    options = {"cwd": tmp_path, "env": clean, "check": True, "capture_output": True, "text": True}
    done = subprocess.run([empty, "-c", "\n".join(blocks)], **options)
    print(f"the README's examples took {time.perf_counter() - start:.1f} s")
    assert float(re.search(r"NDCG@10 of new queries: (\S+)", done.stdout)[1]) > 0.6
    shown = subprocess.run([empty.with_name("gbrank"), "objectives"], **options)
    assert "xendcg" in shown.stdout


def test_the_noise_benchmark_runs_in_an_empty_environment(noise):
    """The demo, short, and its report without pictures."""
    process = noise("run", "demo", "--trials", 1, "--levels", 0.6, "--out", "demo",
                    "--objectives", "Ranker(n_estimators=20)", "lightgbm:lambdarank")  # fmt: skip
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert "2/2 trials" in err
    assert 'pip install "gbrank[plot]"' in err
    ours, theirs = (
        float(re.search(rf"^{re.escape(name)} +(0\.\d+)", out, re.MULTILINE)[1])
        for name in ("Ranker(n_estimators=20)", "lightgbm:lambdarank")
    )
    assert ours > theirs > 0.5


def test_noise_on_a_csv_file_killed_and_resumed_there(noise, tmp_path):
    """What was killed ends with the tables of a run that was not; bad input is one line."""
    data = make_ranking(n_queries=60, random_state=3)
    with (tmp_path / "own.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["qid", "label", *(f"f{i}" for i in range(data.X.shape[1]))])
        rows.writerows(
            [f"q{q}", int(y), *x] for q, y, x in zip(data.qid, data.y, data.X.tolist(), strict=True)
        )
    command = ("run", "demo", "--data", "own.csv", "--trials", 4, "--levels", 0.3, 0.6,
               "--objectives", "xendcg", "floor:ridge", "--out")  # fmt: skip
    process = noise(*command, "killed")
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob("killed/work/trials.sqlite")):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    process.kill()
    process.communicate()
    for folder in ("killed", "whole"):
        process = noise(*command, folder)
        _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
    tables = [(tmp_path / folder / "results.csv").read_bytes() for folder in ("killed", "whole")]
    assert tables[0] == tables[1]
    for arguments, message in (
        (["run", "demo", "--data", "own.csv", "--qid", "no", "--out", "x"], "no column 'no'"),
        (["run", "no_preset", "--out", "x"], "there is no preset 'no_preset'"),
        (["run", "demo", "--objectives", "no_loss", "--out", "x"], "no objective 'no_loss'"),
        (["run", "demo", "--data", "no.csv", "--out", "x"], "there is no such file or folder"),
    ):
        process = noise(*arguments)
        _, err = process.communicate(timeout=600)
        assert process.returncode == 1
        assert message in err
        assert err.count("\n") == 1
