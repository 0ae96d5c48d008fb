"""A wheel holds the package and nothing else, and works in an environment that has nothing else.

Run by ``make test-all`` and ``make wheel``: dependencies are installed again, which takes a minute.
"""

import re
import shutil
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path

import pytest

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


def test_readme_runs_in_an_empty_environment(wheel, tmp_path):
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    start = time.perf_counter()
    done = subprocess.run(
        [python, "-c", "\n".join(blocks)], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    print(f"the README's examples took {time.perf_counter() - start:.1f} s")
    assert float(re.search(r"mean NDCG@10: (\S+)", done.stdout)[1]) > 0.6
    command = python.with_name("gbrank")
    shown = subprocess.run([command, "objectives"], check=True, capture_output=True, text=True)
    assert "xendcg" in shown.stdout
