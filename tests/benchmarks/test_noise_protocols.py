"""Presets against what the papers say: splits, trials, metrics, tests, hyper-parameters."""

import sqlite3
from pathlib import Path

import pytest
from noise_robustness.presets import load_preset

from gbrank import get_objective

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
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


def test_bruch_objectives():
    assert get_objective("lambdamart").sigmoid == 1.0
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


@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("results/*/trials.sqlite")))
def test_trials_that_are_kept_belong_to_the_presets_as_they_are(path):
    """Whoever changes a preset runs it again: the same command could not go on."""
    base = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    runs = base.execute("select preset, fingerprint from runs").fetchall()
    base.close()
    assert runs
    for name, fingerprint in runs:
        assert fingerprint.split(":")[0] == load_preset(name).with_choices().fingerprint(), name
