"""The documentation: complete, its code runs, its links and numbers are right."""

import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from inspect import signature
from pathlib import Path

import lightgbm as lgb
import pytest
from public_names import public_names

import gbrank
from gbrank.boosting import ONE_BOOSTER, PRESETS, cut_parts, resolve_preset
from gbrank.cli import main
from gbrank.core import QueryLayout
from gbrank.data import dump_letor, make_ranking

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
#: Pages as they are written; copies of notebooks and results have tests of their own.
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("theory/*.md"), DOCS / "benchmarks" / "index.md"])
REFERENCE = sorted((DOCS / "reference").glob("*.rst"))
#: What the code of a page imports besides gbrank.
NEEDS = {"data_frames": ["pandas", "polars"], "scale": ["distributed", "dask.array"]}


def by_name(paths):
    return pytest.mark.parametrize("page", paths, ids=lambda page: str(page.relative_to(DOCS)))


def code_blocks(page, language="python"):
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def listed_names():
    """Return the names in the summaries of the reference, as ``module.name``."""
    found = []
    for path in REFERENCE:
        module, inside = "", False
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule:: "):
                module = line.split()[-1]
            elif line.startswith(".. autosummary::"):
                inside = True
            elif inside and re.fullmatch(r"   \w+", line):
                found.append(f"{module}.{line.strip()}")
            elif line and not line.startswith(" "):
                inside = False
    return found


def test_every_public_name_is_in_the_reference():
    listed = {id(public_names().get(name)) for name in listed_names()}
    missing = [name for name, thing in public_names().items() if id(thing) not in listed]
    assert not missing, f"add to a page of docs/reference: {missing}"


def test_the_reference_lists_public_names_only_and_once():
    listed = listed_names()
    assert len(listed) > 100
    unknown = sorted(set(listed) - set(public_names()))
    assert not unknown, f"not public, but in docs/reference: {unknown}"
    assert len(listed) == len(set(listed))
    shown = (DOCS / "reference" / "index.rst").read_text(encoding="utf-8")
    for path in REFERENCE:
        assert path.stem == "index" or f"   {path.stem}\n" in shown


@by_name([page for page in PAGES if code_blocks(page)])
def test_code_runs_in_order(page, tmp_path, monkeypatch, capsys):
    for module in NEEDS.get(page.stem, []):
        pytest.importorskip(module)
    if page.stem == "migrate" and "eval_X" not in signature(lgb.LGBMRanker.fit).parameters:
        pytest.skip("the page shows the names of LightGBM 4.7")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}
    for number, block in enumerate(code_blocks(page), start=1):
        exec(compile(block, f"{page.name}, Python block {number}", "exec"), namespace)


def test_shell_commands_run(tmp_path, monkeypatch, capsys):
    blocks = [block for page in PAGES for block in code_blocks(page, "sh")]
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("gbrank ")]
    assert len(lines) >= 2
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("train.txt", "vali.txt", "test.txt")):
        data = make_ranking(n_queries=40, random_state=seed)
        dump_letor(data.X, data.y, data.qid, name)
    for line in lines:
        assert main(shlex.split(line)[1:]) in (None, 0), line
    assert "ndcg@10" in capsys.readouterr().out


@by_name(PAGES)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link, section in re.findall(r"\]\((?!https?:)([^)#\s]+)(?:#([^)\s]+))?\)", text):
        assert (page.parent / link).exists(), link
        if section:
            linked = (page.parent / link).read_text(encoding="utf-8").splitlines()
            heads = [line.lstrip("# ").lower() for line in linked if line.startswith("#")]
            assert section in [re.sub(r"[^\w-]", "", head.replace(" ", "-")) for head in heads]
    for target in re.findall(r"\{doc\}`(?:[^`<]*<)?([^`<>]+)>?`", text):
        assert list((page.parent / target).parent.glob(f"{Path(target).name}.*")), target


def test_names_of_the_dictionary_exist():
    """What the tables of the migration page say to write can be written."""
    text = (DOCS / "migrate.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    written = [code for row in rows for code in re.findall(r"`([^`]+)`", row.split("|", 2)[2])]
    calls = [code for code in written if re.match(r"[A-Z]\w+\(.*\)$", code)]
    ours = {name: getattr(gbrank, name) for name in gbrank.__all__}
    tried = [code for code in calls if code.partition("(")[0] in ours]
    assert len(tried) >= 10
    for code in tried:
        eval(code, dict(ours))
    parameters = set(gbrank.Ranker().get_params())
    methods = {"fit", "predict", "score", "rank", "save_model"}
    known = parameters | {
        name for method in methods for name in getattr(gbrank.Ranker, method).__code__.co_varnames
    }
    for code in written:
        for name in re.findall(r"^(\w+)=", code):
            if name not in ("cv", "feval", "gain", "generator", "metric"):
                assert name in known, f"{code}: Ranker has no {name}"


def extras_on(page):
    return set(re.search(r"# extras: (.*)", page.read_text(encoding="utf-8"))[1].split(", "))


def test_extras_are_those_of_the_project():
    """README and the first page name each extra that is for users, and no other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of_users = {name for name in project["optional-dependencies"] if not name.endswith("peers")}
    of_users -= {"test", "bench", "docs", "lint"}
    assert extras_on(ROOT / "README.md") == of_users
    assert extras_on(DOCS / "start.md") == of_users


def test_numbers_of_boosters_are_those_of_the_presets():
    """What the page on scale says of Ranker(), of one with many rows and of one that is stopped."""
    words = {"two": 2, "three": 3, "eight": 8}
    scale = (DOCS / "scale.md").read_text(encoding="utf-8")
    said = re.search(
        r"Up to ([\d,]+) rows it grows (\w+) boosters: .* its (\w+) losses one a fold, of\n"
        r"(\w+), .* With more rows there are (\w+), one a loss",
        scale,
        re.DOTALL,
    )
    balanced = PRESETS[resolve_preset(gbrank.Ranker().get_params())["preset"]]
    layout = QueryLayout.from_group([10] * 200)
    parts = cut_parts(layout, balanced.n_folds, 0.1, 0)
    assert words[said[2]] == len(parts) * len(balanced.members)
    assert words[said[3]] == len(balanced.members)
    assert words[said[4]] == balanced.n_folds
    most_rows = int(said[1].replace(",", ""))
    for n_rows, n_parts in ((most_rows, len(parts)), (most_rows + 10, 1)):
        rows = QueryLayout.from_group([10] * (n_rows // 10))
        assert len(cut_parts(rows, balanced.n_folds, 0.1, 0)) == n_parts
    assert words[said[5]] == len(balanced.members)
    limits = (DOCS / "limits.md").read_text(encoding="utf-8")
    stopped = re.search(r"grows up to ([\d,]+) trees and stops after (\d+) that", limits)
    one = PRESETS[ONE_BOOSTER]
    assert int(stopped[1].replace(",", "")) == one.stopped["n_estimators"]
    assert int(stopped[2]) == one.stopped["early_stopping_rounds"]
    assert (
        int(re.search(r"without one it grows (\d+)\.", limits)[1]) == one.defaults["n_estimators"]
    )


def test_numbers_are_those_of_the_results_files():
    """README and pages hold what ``benchmarks/page_numbers.py`` would write into them."""
    path = ROOT / "benchmarks" / "page_numbers.py"
    spec = importlib.util.spec_from_file_location("page_numbers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    marked = [page for page in module.PAGES if "<!-- numbers:" in page.read_text(encoding="utf-8")]
    assert {page.name for page in marked} >= {"README.md", "noise.md", "which_loss.md", "scale.md"}
    for page in marked:
        assert module.filled(page) == page.read_text(encoding="utf-8"), (
            f"{page.name} is out of date: python benchmarks/page_numbers.py"
        )


@pytest.mark.slow
def test_site_is_built_without_warnings_and_asks_for_nothing(tmp_path):
    for module in ("sphinx", "myst_nb", "numpydoc", "pydata_sphinx_theme", "latex2mathml"):
        pytest.importorskip(module)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", DOCS, tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "html").rglob("*.html"))
    assert len(pages) > 150
    for page in pages:
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(https?:[^"]+)"', text)
        assert not fetched, f"{page.name} fetches {fetched}"
        assert "mathjax" not in text.lower()
