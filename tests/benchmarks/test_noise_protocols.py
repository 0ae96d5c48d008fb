"""Presets against what the papers say: splits, trials, metrics, tests, hyper-parameters."""

import json
import re
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

from gbrank import get_objective
from gbrank.noise.archive import read_archive
from gbrank.noise.presets import load_preset
from gbrank.noise.trial import rounded

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
#: By the documentation.
SHOWN_ELSEWHERE = {BENCHMARKS / "results" / "demo.png"}
BRUCH = [
    f"bruch2021-{n}" for n in ("table1", "fig1", "fig2-negatives", "fig2-labels", "fig3-clicks")
]


@pytest.mark.parametrize("name", BRUCH)
def test_bruch(name):
    preset = load_preset(name).with_choices()
    assert (preset.model, preset.split, preset.alpha) == ("trees", "random", 0.01)
    assert preset.metrics == ("ndcg@5", "ndcg@10")
    assert preset.test_of_paper == "trials"
    [settings] = preset.settings.values()
    patience = settings.pop("patience")
    assert patience == (0 if name == "bruch2021-fig1" else 50)
    assert settings == {
        "max_bin": 255, "learning_rate": 0.02, "num_leaves": 400, "min_data_in_leaf": 50,
        "min_sum_hessian_in_leaf": 0.0, "trees": 500,
    }  # fmt: skip
    trials = {"bruch2021-fig1": 1, "bruch2021-fig3-clicks": 20}
    assert preset.trials == trials.get(name, 100)
    assert {"lambdamart(norm=False)", "xendcg"} <= set(preset.objectives)
    assert ("listnet" in preset.objectives) == (name == "bruch2021-table1")


def test_bruch_with_all_pairs_and_with_the_settings_for_yahoo():
    """As table 1 but for what their names say; no list has 100,000 documents."""
    table = load_preset("bruch2021-table1").with_choices()
    pairs = load_preset("bruch2021-table1-all-pairs").with_choices()
    yahoo = load_preset("bruch2021-table1-yahoo").with_choices()
    for other in (pairs, yahoo):
        for what in ("model", "split", "trials", "metrics", "alpha", "test_of_paper", "noises"):
            assert getattr(other, what) == getattr(table, what), what
        assert len(other.comparisons()) == 3
    assert pairs.settings == table.settings
    assert set(pairs.objectives) - set(table.objectives) == {
        "lambdamart(norm=False, truncation_level=100000)"
    }
    assert yahoo.objectives == table.objectives
    changed = {"num_leaves": 200, "min_data_in_leaf": 100}
    assert yahoo.settings["paper"] == table.settings["paper"] | changed


def test_bruch_objectives():
    assert get_objective("lambdamart").value_of("sigmoid") == 1.0
    assert get_objective("xendcg").gamma == "uniform"  # drawn again in each iteration


def test_bruch_compares_all_models_of_table_1():
    compared = load_preset("bruch2021-table1").with_choices().comparisons()
    assert len({frozenset(pair) for pair in compared}) == len(compared) == 3


def test_bruch_noise():
    [labels] = load_preset("bruch2021-fig2-labels").noises
    assert (labels.kind, labels.probabilities) == ("labels", (0.5, 0.2, 0.15, 0.1, 0.05))
    [clicks] = load_preset("bruch2021-fig3-clicks").noises
    assert (clicks.kind, clicks.impressions) == ("clicks", 10)
    assert clicks.probabilities == (0.05, 0.3, 0.5, 0.7, 0.95)
    assert clicks.levels == pytest.approx([0.05 * step for step in range(1, 7)])
    [negatives] = load_preset("bruch2021-fig2-negatives").noises
    assert (negatives.kind, negatives.levels[0]) == ("negatives", 0.0)
    assert load_preset("bruch2021-fig1").curves


def test_ravikumar():
    preset = load_preset("ravikumar2011-table1").with_choices()
    assert (preset.model, preset.split, preset.trials, preset.alpha) == ("linear", "folds", 5, 0.05)
    assert set(preset.metrics) == {f"ndcg@{k}" for k in range(1, 11)}
    assert preset.test_of_paper == "queries"
    originals = {"squared": "squared(norm=None)", "cosine": "cosine(norm='l2')", "kl": "listnet"}
    expected = {
        (f"{name}{at}", original)
        for name, original in originals.items()
        for at in ("(norm_at=1)", "(norm_at=10)", "")
    }
    assert set(preset.comparisons()) == expected


def test_ravikumar_qnorm():
    preset = load_preset("ravikumar2011-qnorm").with_choices()
    assert (preset.model, preset.split, preset.baseline) == (
        "linear", "folds", "qnorm(form='normalized')",
    )  # fmt: skip
    assert {"cosine(norm='l2')", "listnet"} <= set(preset.objectives)
    assert get_objective("qnorm").q == "auto"  # ln(m) + 2


def test_xia():
    preset = load_preset("xia2009-topk").with_choices()
    assert (preset.model, preset.split, preset.trials) == ("linear", "folds", 5)
    assert set(preset.metrics) == {f"{m}@{k}" for m in ("ndcg", "precision") for k in (1, 3, 10)}
    assert set(preset.comparisons()) == {(f"listmle(k={k})", "listmle") for k in (1, 3, 10)}


ARCHIVES = sorted(BENCHMARKS.glob("results/*/*.tar.xz"))


#: The data sets on which each experiment of a paper is kept.
TWO = {"MQ2008", "MSLR_merged"}
FOUR = {*TWO, "MQ2007_partial", "OHSUMED_QLN"}
KEPT = {
    **dict.fromkeys([*BRUCH, "bruch2021-table1-yahoo"], TWO),
    "bruch2021-table1-all-pairs": {"MQ2008"},
    "ravikumar2011-table1": FOUR,
    "ravikumar2011-qnorm": FOUR,
    "xia2009-topk": {*TWO, "OHSUMED_QLN", "table_www2018", "target_types_sigir2017"},
}


def test_there_are_trials():
    assert {path.parent.name for path in ARCHIVES} >= {"noise", "papers"}
    kept = {path.name.removesuffix(".tar.xz"): path for path in ARCHIVES if path.match("papers/*")}
    assert kept.keys() == KEPT.keys()
    for name, sets in KEPT.items():
        with tarfile.open(kept[name]) as archive:
            found = {run["data"] for run in json.load(archive.extractfile("runs.json"))}
        assert found == sets, name


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_values_are_kept_as_trials_round_them(path):
    """Ties of differences are those within this rounding, and rounded values are light."""
    for run in read_archive(path):
        for result, _ in run.results.values():
            values = result.values[~np.isnan(result.values)]
            np.testing.assert_array_equal(values, rounded(values))


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_trials_that_are_kept_belong_to_the_presets_as_they_are(path):
    """Whoever changes a preset runs it again: the same command could not go on."""
    preset = load_preset(path.name.removesuffix(".tar.xz")).with_choices()
    with tarfile.open(path) as archive:
        runs = json.load(archive.extractfile("runs.json"))
    assert runs
    for run in runs:
        assert run["fingerprint"].split(":")[0] == preset.fingerprint(), run["data"]


def test_results_are_light():
    """Pages, tables, pictures that pages show and compressed tables, 6 MB in all."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "results"], cwd=BENCHMARKS, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a clone of the repository")
    paths = [BENCHMARKS / name for name in listed.stdout.split("\0") if name]
    compressed = {".gz", ".npz", ".xz"}
    assert {path.suffix for path in paths} <= {".md", ".csv", ".json", ".png", *compressed}
    present = [path for path in paths if path.exists()]  # else deleted, not committed yet
    assert sum(path.stat().st_size for path in present) <= 6_000_000
    pages = [path for path in present if path.suffix == ".md"]
    shown = {
        (page.parent / link).resolve()
        for page in pages
        for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    for path in present:
        if path.suffix == ".png" and path not in SHOWN_ELSEWHERE:
            assert path.resolve() in shown, f"no page shows {path}"
