"""The demo, in small: it runs, and says what it measured."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

from gbrank.data import make_ranking
from gbrank.metrics import ndcg_score

pytest.importorskip("matplotlib")
DEMO = Path(__file__).resolve().parent.parent / "benchmarks" / "demo.py"


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.N_TREES = 30
    return module


@pytest.fixture(scope="module")
def folder(demo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "deep" / "folder"
    demo.main(["--seeds", "3", "--queries", "60", "--out", str(folder)])
    return folder


def test_table_says_the_numbers_that_were_kept(folder):
    kept = json.loads((folder / "demo.json").read_text())["ndcg@10"]
    table = (folder / "demo.md").read_text(encoding="utf-8")
    assert len(kept) == 6
    for name, (clean, noisy) in kept.items():
        row = re.search(rf"^\| {name} *\|(.*)\|$", table, flags=re.MULTILINE)[1].split("|")
        assert row[0].strip().startswith(f"{sum(clean) / 3:.4f} ±")
        assert row[1].strip() == f"{np.mean(noisy):.4f} ± {np.std(noisy, ddof=1) / 3**0.5:.4f}"
        if name.startswith("gbrank"):
            change = np.subtract(noisy, kept["LightGBM lambdarank"][1])
            assert row[2].strip().startswith(f"{change.mean():+.4f} ±")


def test_best_order_is_never_beaten_and_noise_does_harm(folder):
    kept = json.loads((folder / "demo.json").read_text())["ndcg@10"]
    best = kept.pop("best possible order")
    test = make_ranking(60, random_state=1)
    assert best[0][0] == ndcg_score(test.y, test.utility, qid=test.qid, k=10)
    for clean, noisy in kept.values():
        assert sum(noisy) < sum(clean) < sum(best[0])


def test_plot_is_a_picture(folder):
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_a_second_run_gives_the_same_digits(demo, folder):
    kept = json.loads((folder / "demo.json").read_text())["ndcg@10"]
    again = demo.measure(n_seeds=1, n_queries=60, n_jobs=1)
    for name, levels in again.items():
        assert [values[0] for values in levels] == [values[0] for values in kept[name]], name


def test_bad_arguments_are_refused(demo, capsys):
    with pytest.raises(SystemExit):
        demo.main(["--seeds", "0"])
    assert "--seeds, --queries and --jobs must be at least 1" in capsys.readouterr().err
