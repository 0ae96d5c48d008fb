"""The README does what it says: its code runs, its commands, files and numbers are there."""

import json
import re
import shlex
from pathlib import Path

import pytest

import gbrank
from gbrank.cli import main
from gbrank.data import dump_letor, make_ranking
from gbrank.objectives import describe_objectives, markdown_table

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = ROOT / "benchmarks" / "results"


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def code_blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def test_it_is_short():
    beside_code = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    assert len(beside_code.split()) <= 900


def own_objectives():
    """Return the registered names, without those that other tests have added."""
    names = gbrank.list_objectives()
    return [n for n in names if type(gbrank.get_objective(n)).__module__.startswith("gbrank.")]


def test_python_blocks_run_in_order(capsys, tmp_path, monkeypatch):
    blocks = code_blocks("python")
    assert len(blocks) >= 2
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "readme"}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"README.md, Python block {number}", "exec"), namespace)
    printed = capsys.readouterr().out
    # the data are easy: any order that was learned is far above chance, which is about 0.3
    assert float(re.search(r"NDCG@10 of new queries: (\S+)", printed)[1]) > 0.6
    # the first query has at least ten documents, so its first five ranks differ
    ranks = [int(rank) for rank in re.search(r"documents: \[(.*)\]", printed)[1].split()]
    assert len(set(ranks)) == 5
    assert min(ranks) >= 1


def test_shell_commands_run(tmp_path, monkeypatch, capsys):
    commands = [line for block in code_blocks("sh") for line in block.splitlines()]
    commands = [line for line in commands if line.startswith("gbrank ")]
    assert len(commands) >= 2
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("train.txt", "vali.txt", "test.txt")):
        data = make_ranking(n_queries=40, random_state=seed)
        dump_letor(data.X, data.y, data.qid, name)
    for command in commands:
        assert main(shlex.split(command)[1:]) in (None, 0), command
    assert (tmp_path / "model.txt").is_file()
    assert "ndcg@10" in capsys.readouterr().out


def test_the_blocks_are_short():
    for block in code_blocks("python"):
        assert len([line for line in block.splitlines() if line.strip()]) <= 12


def test_make_targets_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"`make ([\w-]+)", README))
    assert {"demo", "test", "bench", "docs"} <= named
    assert named <= targets


def test_linked_files_exist():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert "docs/start.md" in links
    for link in links:
        assert (ROOT / link).exists(), link


def test_every_objective_has_a_row():
    rows = {row["name"]: row for row in describe_objectives() if row["name"] in own_objectives()}
    assert set(rows) == set(own_objectives())
    for name, row in rows.items():
        columns = ["name", "loss", "consistent_with", "cost", "when"]
        assert list(row) == columns, f"the class of {name} says nothing of some columns: {row}"
        for column, cell in row.items():
            assert cell.strip() == cell, f"{name}: {column} is {cell!r}"
            assert cell.count("`") % 2 == 0, f"{name}: a backquote of {column} is not closed"


def test_the_table_of_objectives_is_the_one_of_the_command_line():
    """It stands in the documentation; a test there holds all generated places to their source."""
    text = page("which_loss.md")
    shown = re.search(r"^\| name \| loss of a query .*?(?=\n<!--)", text, re.MULTILINE | re.DOTALL)[
        0
    ]
    assert shown == markdown_table()
    cells = re.findall(r"(?<!\\)\|", shown)  # a bar inside a formula must not end a cell
    assert len(cells) == 6 * len(shown.splitlines())


def test_headline_is_that_of_the_quality_page():
    """The sentence is made from quality.csv; the page has the same means, written by other code."""
    text = " ".join(README.split())
    said = re.search(r"NDCG@5 of test queries (\.\d{3}), .*?replaced at random, (\.\d{3}) ", text)
    quality = (RESULTS / "quality.md").read_text(encoding="utf-8")
    for number, title in zip(said.groups(), ("## Clean labels", "## 60% noise"), strict=True):
        section = quality.split(title)[1].partition("NDCG@10")[0]
        mean = re.search(r"^\| `Ranker\(\)` \|.*\| (\.\d{4}) \|$", section, re.MULTILINE)[1]
        # the page has four digits, so that rounding it again may be off by half of the last
        assert float(number) == pytest.approx(float(mean), abs=0.00055), title


def test_demo_is_that_of_the_results_file():
    """Mean and standard error of every row, computed from the kept values of each seed."""
    kept = json.loads((RESULTS / "demo.json").read_text(encoding="utf-8"))
    assert len(kept["ndcg@10"]) >= 5
    for name, levels in kept["ndcg@10"].items():
        cells = []
        for values in levels:
            n, mean = len(values), sum(values) / len(values)
            error = (sum((v - mean) ** 2 for v in values) / (n - 1) / n) ** 0.5
            cells.append(f"{mean:.4f} ± {error:.4f}")
        row = re.search(rf"^\| {re.escape(name)} *\|(.*)\|$", page("noise.md"), re.MULTILINE)
        assert [cell.strip() for cell in row[1].split("|")][: len(cells)] == cells


def test_speed_ratios_are_those_of_the_results_file():
    kept = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))
    text = page("scale.md")
    for objective in ("xendcg", "lambdamart"):
        for threads in (1, 2):
            cells = re.search(
                rf"^\| step of `{objective}`, {threads} threads? \|(.*)\|$", text, re.M
            )
            ratios = [
                r["times faster"]
                for r in kept["native"]
                if r["objective"] == objective and r["threads"] == threads
            ]
            assert len(ratios) == 8  # the worst too
            stated = [float(cell) for cell in cells[1].split("|")]
            assert stated == pytest.approx(ratios, abs=0.051)
    for row in kept["training"]:
        head = f"| `{row['objective']}`, lists of {row['lists']} |"
        cell = text.split(head)[1].split("|")[0]
        assert float(cell.split()[0]) == pytest.approx(row["ours / peer"], abs=0.0051)
