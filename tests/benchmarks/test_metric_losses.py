"""The page of losses for metrics: means and differences of made-up runs, counted by hand."""

import lzma

import metric_losses_page as page
import pytest


@pytest.fixture
def runs(tmp_path, monkeypatch):
    lines = ["set,fold,metric,model,value,trees,seconds"]
    lines += [f"a,{fold},map,yetiloss,{value},5,1.0" for fold, value in ((1, 0.5), (2, 0.7))]
    lines += [f"a,{fold},map,xendcg,{value},5,1.0" for fold, value in ((1, 0.4), (2, 0.6))]
    lines += ["b,1,map,yetiloss,0.2,5,1.0", "b,1,map,xendcg,0.5,5,1.0"]
    lines += ["c,1,map,yetiloss,0.9,5,1.0"]  # the other one is still to come
    file = tmp_path / "runs.csv.xz"
    file.write_bytes(lzma.compress(("\n".join(lines) + "\n").encode()))
    monkeypatch.setattr(page, "FILE", file)


def test_means_are_over_sets_and_differences_paired(runs):
    rows, n_sets, n_cells = page.rows_of("map")
    assert (n_sets, n_cells) == (2, 3)
    assert rows[0][:2] == ["`yetiloss`", "0.4000"]  # (0.6 + 0.2) / 2
    title, mean, gap, error, won, *_ = rows[1]
    assert (title, mean) == ("`xendcg`", "0.5000")  # (0.5 + 0.5) / 2
    assert gap == "-0.1000"  # (0.1 - 0.3) / 2
    assert error == "0.2000"  # 0.4 / sqrt(2) / sqrt(2)
    assert won == "2 of 3"
