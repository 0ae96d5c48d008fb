"""What RESULTS.md says of the papers' claims and of four sets is what the kept trials say."""

import csv
import io
import tarfile
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats

claims = pytest.importorskip("claims")
import depth  # noqa: E402

TEXT = (claims.RESULTS / "RESULTS.md").read_text(encoding="utf-8")


def kept(folder, preset):
    """Return the rows of an archive's table, read without the package."""
    with tarfile.open(claims.RESULTS / folder / f"{preset}.tar.xz") as archive:
        text = archive.extractfile("trials.csv").read().decode()
    return list(csv.DictReader(io.StringIO(text)))


def between(marks):
    return TEXT.partition(marks[0])[2].partition(marks[1])[0]


def test_the_page_is_what_the_scripts_write():
    assert between((claims.BEGIN, claims.END)) == claims.page()
    assert between(depth.TABLE) == f"{depth.means_table()}\n"
    assert between(depth.SEEN) == f"{depth.seen()}\n"
    assert between(depth.MISSING) == f"{depth.missing()}\n"


@pytest.mark.parametrize("data", ["MQ2008", "MSLR_merged"])
@pytest.mark.parametrize("metric", ["ndcg@5", "ndcg@10"])
def test_a_comparison_of_table_1_against_scipy(data, metric):
    """Random splits: every trial has its own test queries."""
    values = defaultdict(dict)
    for row in kept("papers", "bruch2021-table1"):
        if row["data"] == data:
            values[row["objective"]][int(row["trial"])] = float(row[metric])
    first, second = (values[name] for name in ("xendcg", claims.LAMBDAMART))
    numbers = sorted(first.keys() & second.keys())
    gaps = np.array([first[n] - second[n] for n in numbers])
    expected = stats.ttest_1samp(gaps, 0.0)
    [run] = [run for run in claims.runs_of("bruch2021-table1") if run.data == data]
    found = claims.compare(run, "xendcg", claims.LAMBDAMART, metric)
    assert found.trials == len(gaps)
    assert found.mean == pytest.approx(gaps.mean())
    assert found.p_trials == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert found.half == pytest.approx((interval.high - interval.low) / 2)


def test_verdicts_and_their_correction():
    assert claims.verdict(0.1, 0.04) == "yes"
    assert claims.verdict(-0.1, 0.04) == "no, the other way"
    assert claims.verdict(0.1, 0.05) == "cannot be told"
    assert claims.verdict(0.1, float("nan")) == "cannot be told"
    one = claims.Comparison("x", "a", "b", "ndcg@10", 5, 0.1, 0.01, 0.02, 0.01)
    three = [one, one._replace(first="c", p_queries=0.9), one._replace(first="d", p_queries=0.03)]
    rows = claims.rows_of(three, 5)
    assert [row[5] for row in rows] == [".06", ".9", ".06"]  # Holm: 3 * .02, and 2 * .03
    assert [row[-1] for row in rows] == ["cannot be told"] * 3
    assert [row[-1] for row in claims.rows_of(three[:1], 5)] == ["yes"]


def test_counts_of_verdicts():
    counted = claims.Counted()
    counted.add("P", "c", ["yes", "yes: +1", "no, the other way", "cannot be told"])
    assert counted.rows == [["P", "c", "2", "1", "1"]]


def test_means_of_four_sets_by_plain_arithmetic():
    """Trials of a fold are averaged, then folds, then sets: in balanced tables a mean of means."""
    values = defaultdict(lambda: defaultdict(list))
    for row in kept("noise", "results"):
        place = (row["noise"], row["setting"], float(row["level"]))
        values[row["objective"], place][row["data"]].append(float(row["ndcg@10"]))
    for name in ("xendcg", "qnorm", "listmle(k=10)", "catboost:YetiRank"):
        for place in depth.COLUMNS.values():
            of_sets = values[name, place]
            assert len(of_sets) == 4
            expected = np.mean([np.mean(found) for found in of_sets.values()])
            assert depth.mean(name, place) == pytest.approx(expected, abs=1e-12)


def test_what_is_said_in_words():
    noisy = {name: depth.mean(name, "60% labels") for name in depth.names()}
    ridge, feature = noisy["floor:ridge"], noisy["floor:single_feature"]
    assert all(noisy[name] < ridge for name in noisy if not name.startswith("floor:"))
    assert all(noisy[name] < feature for name in depth.boosted())
    assert min(noisy["catboost:YetiRank"], noisy["catboost:QueryRMSE"]) > max(
        noisy[name] for name in depth.boosted()
    )
    level, *above = (
        depth.lead("gain_pairwise", depth.PEER, place)
        for place in (
            depth.COLUMNS["no noise"],
            ("labels", "regularised", 0.2),
            depth.COLUMNS["60% labels"],
            depth.COLUMNS["100% padded"],
            depth.COLUMNS["clicks, .3"],
        )
    )
    mean, error = map(float, level.split(" ± "))
    assert abs(mean) <= error
    for each in above:
        mean, error = map(float, each.split(" ± "))
        assert mean > 2 * error


def test_missing_values_by_plain_arithmetic():
    values = defaultdict(list)
    for row in kept("noise_missing", "results"):
        if (row["noise"], row["setting"], float(row["level"])) == depth.COLUMNS["60% labels"]:
            values[row["objective"]].append(float(row["ndcg@10"]))
    shown = {name: f"{np.mean(found):.3f}".lstrip("0") for name, found in values.items()}
    text = " ".join(depth.missing().split())
    assert f"{shown[depth.PEER]} at 60%; ours" in text
    assert f"({shown['catboost:YetiRank']} and {shown['catboost:QueryRMSE']} at 60%)" in text
    assert f"{shown['floor:ridge']})" in text
    assert max(float(shown[name]) for name in depth.boosted()) < min(
        float(shown[name]) for name in ("catboost:YetiRank", "catboost:QueryRMSE", "floor:ridge")
    )


def test_how_much_is_luck():
    """The same loss twice, ours and LightGBM's: differences that the page names."""
    gaps = {}
    for place in (depth.COLUMNS["60% labels"], depth.COLUMNS["clicks, .3"]):
        values = defaultdict(dict)
        for row in kept("noise", "results"):
            if (row["noise"], row["setting"], float(row["level"])) == place:
                values[row["objective"]][row["data"], row["trial"]] = float(row["ndcg@10"])
        ours, theirs = values["lambdamart"], values[depth.PEER]
        gaps[place] = max(abs(ours[key] - theirs[key]) for key in ours)
    shown = [f"{gap:.3f}".lstrip("0") for gap in gaps.values()]
    assert f"differ by up to {shown[0]} in one trial" in TEXT
    assert f"by up to {shown[1]} with many random clicks" in TEXT
    for column in ("no noise, 400 leaves", "60% labels, 400 leaves"):
        assert abs(depth.mean("lambdamart", column) - depth.mean(depth.PEER, column)) < 0.0015
