"""The page on how the defaults were chosen says what its tables of results say."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from defaults import evaluation_set, left_out, start_cost, under_noise

from gbrank.linear import MOST_FEATURES
from gbrank.linear.coarse import MOST_SPLITS

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "defaults"
PAGE = " ".join((FOLDER / "README.md").read_text(encoding="utf-8").split())
SMALL = {"OHSUMED_QLN", "table_www2018", "target_types_sigir2017", "trec_object_runs"}


def lines(name):
    return list(csv.DictReader((FOLDER / name).open(encoding="utf-8")))


def mean_of_sets(rows, metric):
    by_set = {}
    for row in rows:
        by_set.setdefault(row["set"], []).append(float(row[metric]))
    return np.mean([np.mean(values) for values in by_set.values()])


def test_the_booster_of_all_queries():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| \**(\w+ rows?|rows drawn), (.*)$", text, re.MULTILINE)
    table = [re.split(r"\s*\|\s*", f"{first}, {rest}".replace("*", "")) for first, rest in cells]
    assert len(table) == 7
    kept = lines("whole.csv")
    for trees, share, *values, _ in table:
        rows = [
            row
            for row in kept
            if row["trees"] == trees and float(row["share of the whole"]) == float(share)
        ]
        expected = [
            mean_of_sets([r for r in rows if r["set"] in SMALL and r["noise"] == noise], "ndcg@10")
            for noise in ("0.0", "0.6")
        ]
        large = [r for r in rows if r["set"] == "aslib_sat12indu" and r["noise"] == "0.0"]
        expected.append(mean_of_sets(large, "ndcg@10"))
        assert [float(value) for value in values] == pytest.approx(expected, abs=6e-5), trees


@pytest.mark.parametrize(
    ("variant", "noise", "said"),
    [
        ("rate .03, 20 documents", "0.0", r"best clean \(NDCG@5 (\.\d+), @10 (\.\d+);"),
        ("rate .05", "0.0", r"a rate of \.05 has (\.\d+) and (\.\d+)\)"),
        ("rate .03, 20 documents", "0.6", r"at 60% noise \((\.\d+) and (\.\d+), against"),
        ("0.1", "0.6", r"against (\.\d+) and (\.\d+); a rate"),
        ("rate .1, 20 rows, 20 documents", "0.6", r"a rate of \.1: (\.\d+) and (\.\d+)\)"),
    ],
)
def test_one_booster(variant, noise, said):
    rows = [r for r in lines("one_booster.csv") if (r["variant"], r["noise"]) == (variant, noise)]
    expected = [mean_of_sets(rows, metric) for metric in ("ndcg@5", "ndcg@10")]
    found = re.search(said, PAGE).groups()
    assert [float(value) for value in found] == pytest.approx(expected, abs=6e-5)


def test_one_set_left_out():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert left_out.table() in text
    values = left_out.load()
    assert f"Of the {len(values)} designs" in PAGE
    assert {left_out.best_without(values, name) for name in values[left_out.OURS]} == {
        left_out.OURS
    }


def test_left_out_chooses_on_the_other_sets_only():
    values = {("a", ""): {"x": 0.9, "y": 0.1}, ("b", ""): {"x": 0.2, "y": 0.7}}
    assert left_out.best_without(values, "x") == ("b", "")
    assert left_out.best_without(values, "y") == ("a", "")


def test_what_was_tried_under_noise():
    kept = lines("under_noise.csv")
    assert len(kept) == 10 * 2 * len(under_noise.VARIANTS)
    for variant in under_noise.VARIANTS:
        rows = [row for row in kept if row["variant"] == variant]
        means = [f"{mean_of_sets(rows, metric):.4f}"[1:] for metric in ("ndcg@5", "ndcg@10")]
        assert f"| {variant} | {means[0]} | {means[1]} |" in PAGE


def test_with_an_evaluation_set():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    section = text.partition("## With an evaluation set")[2].partition("\n## ")[0]
    cells = [
        line.replace("*", "").split("|")[1:-1]
        for line in section.splitlines()
        if "| ." in line.replace("*", "")
    ]
    said = {
        (variant.strip(), noise): float(value)
        for variant, *values in cells
        for noise, value in zip(("0.0", "0.4"), values, strict=True)
    }
    assert said == pytest.approx(evaluation_set.means(), abs=6e-5)
    assert len(said) == 14


def test_the_cost_of_a_start():
    """The page is of its table, one difference from it by hand; and the choice is the default."""
    text = (FOLDER / "start_cost.md").read_text(encoding="utf-8")
    rows = lines("start_cost.csv")
    assert start_cost.report(rows) in text
    assert start_cost.VARIANTS[start_cost.CHOSEN] == (MOST_FEATURES, MOST_SPLITS)
    kept = [r for r in rows if r["preset"] == "fast" and r["variant"] == start_cost.CHOSEN]
    clean = [row for row in kept if row["noise"] == "0.0"]
    by_set = {}
    for row in clean:
        total = by_set.setdefault(row["set"], np.zeros(2))
        total += float(row["queries"]) * np.array([float(row["difference"]), 1.0])
    mean = np.mean([lost / queries for lost, queries in by_set.values()])
    said = re.search(r"\| fast \| [\d, ]+ \| \*\*.*?\*\* \| \d+ \| (\S+) ", text)[1]
    assert float(said) == pytest.approx(mean, abs=6e-5)
