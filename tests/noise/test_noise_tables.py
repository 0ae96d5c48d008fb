"""Statistics of the report against SciPy and plain arithmetic."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from gbrank.metrics import bootstrap_intervals, compare
from gbrank.noise.changes import make_change_rows
from gbrank.noise.content import Section, change_tables, paper_table
from gbrank.noise.figures import curves_of
from gbrank.noise.presets import Noise, Preset
from gbrank.noise.tables import (
    bootstrap_interval,
    by_query,
    make_rows,
    make_setting_rows,
    mean_with_interval,
    paired_t,
)
from gbrank.noise.trial import Result, Trial


def preset(**changes):
    values = {
        "name": "p", "title": "P", "about": "", "model": "trees", "split": "random", "trials": 4,
        "metrics": ("ndcg@10",), "objectives": ("xendcg", "kl", "listnet", "floor:ridge"),
        "baseline": "listnet", "pairs": (), "settings": {"a": {}, "b": {}},
        "noises": (Noise("labels", (0.0, 0.5), ("a", "b")),),
    }  # fmt: skip
    return Preset(**{**values, **changes})


def result(values, queries):
    values = np.asarray(values, dtype=np.float32)
    mean = float(np.nanmean(values.astype(float)))
    return Result({"ndcg@10": mean}, np.asarray(queries), values[None], 7, (),
                  {"documents": 0.1, "pairs": 0.2})  # fmt: skip


@pytest.fixture(scope="module")
def trials():
    rng = np.random.default_rng(0)
    found = {}
    for number in range(4):
        queries = rng.permutation(60)[:30]
        for level in (0.0, 0.5):
            base = rng.random(30)
            for objective, shift in (("xendcg", 0.2), ("kl", 0.0), ("listnet", 0.0)):
                for setting in ("a", "b"):
                    values = base + shift + 0.1 * rng.normal(size=30)
                    values[:2] = np.nan
                    trial = Trial(setting, "labels", level, objective, number)
                    found[trial] = result(values, queries)
            found[Trial("a", "labels", level, "floor:ridge", number)] = result(base - 1, queries)
    return found


def test_mean_and_interval_are_those_of_student():
    values = np.array([0.4, 0.5, 0.45, 0.7])
    mean, low, high = mean_with_interval(values)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert mean == pytest.approx(values.mean())
    assert (low, high) == pytest.approx((expected.low, expected.high))
    assert np.isnan(mean_with_interval(values[:1])[1:]).all()


def test_paired_t():
    a, b = np.random.default_rng(1).random((2, 9))
    assert paired_t(a - b) == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert np.isnan(paired_t(np.array([0.3])))
    assert paired_t(np.zeros(3)) == 1.0


def test_rows_hold_the_comparisons_with_the_baseline(trials):
    rows = make_rows(preset(), "made up", trials)
    assert len(rows) == 2 * 2 * 4  # the floor stands under both settings
    by = {(row.setting, row.level, row.objective): row for row in rows}
    for (setting, level, objective), row in by.items():
        assert (row.trials, row.document_noise, row.pair_noise) == (4, 0.1, pytest.approx(0.2))
        first = "a" if objective == "floor:ridge" else setting
        mine = [trials[Trial(first, "labels", level, objective, t)] for t in range(4)]
        means = [r.means["ndcg@10"] for r in mine]
        assert row.mean == pytest.approx(np.mean(means))
        if objective == "listnet":
            assert row.against == ""
            continue
        theirs = [trials[Trial(setting, "labels", level, "listnet", t)] for t in range(4)]
        other = [r.means["ndcg@10"] for r in theirs]
        assert row.against == "listnet"
        assert row.difference == pytest.approx(np.mean(means) - np.mean(other))
        assert row.p_trials == pytest.approx(stats.ttest_rel(means, other).pvalue)
        assert row.difference_low < row.difference < row.difference_high
    assert {by["a", level, "xendcg"].verdict for level in (0.0, 0.5)} == {"better"}
    assert {by["b", level, "floor:ridge"].verdict for level in (0.0, 0.5)} == {"worse"}
    assert {by["a", level, "kl"].verdict for level in (0.0, 0.5)} == {"same"}


def test_holm_corrects_all_comparisons_of_a_table(trials):
    rows = [row for row in make_rows(preset(), "x", trials) if row.setting == "a" and row.against]
    for name in ("p_queries", "p_trials"):
        found = sorted((getattr(row, name), getattr(row, f"{name}_holm")) for row in rows)
        assert len(found) == 6
        largest = 0.0
        for place, (p, corrected) in enumerate(found):
            largest = max(largest, min(1.0, p * (6 - place)))
            assert corrected == pytest.approx(largest)


def test_one_trial_is_the_comparison_of_gbrank_metrics():
    rng = np.random.default_rng(3)
    labels, group = rng.integers(0, 3, 600), [10] * 60
    models = {"a": labels + rng.normal(size=600), "b": labels + 2 * rng.normal(size=600)}
    expected = compare(labels, models, group=group, metric="ndcg@10")["a", "b"]
    weighted, influence = by_query([(np.arange(60), _per_query(labels, models, group))])
    assert weighted.mean() == pytest.approx(expected.difference)
    np.testing.assert_allclose(np.sort(influence), np.sort(expected.differences), atol=1e-12)


def _per_query(labels, models, group):
    from gbrank.metrics import ndcg_score

    a, b = (ndcg_score(labels, s, group=group, k=10, per_query=True) for s in models.values())
    return a - b


def test_queries_tested_more_often_weigh_more():
    trials = [(np.array([1, 2]), np.array([0.1, 0.4])), (np.array([2, 3]), np.array([0.2, np.nan]))]
    weighted, _ = by_query(trials)
    # query 1 once, query 2 twice, query 3 blank: the mean over all that count
    assert weighted.mean() == pytest.approx((0.1 + 0.4 + 0.2) / 3)
    assert len(weighted) == 2


def test_named_pairs_are_compared():
    pairs = (("xendcg", "kl"), ("listnet", "kl"), ("cosine", "kl"))
    assert preset(pairs=pairs).comparisons() == [("xendcg", "kl"), ("listnet", "kl")]
    assert preset(baseline="nothing").comparisons() == []


def test_repeated_folds_are_no_new_evidence():
    """Four runs of two folds have the interval and the t-test of two numbers, not of eight."""
    rng = np.random.default_rng(0)
    found, means = {}, {"xendcg": [], "listnet": []}
    for number in range(8):
        queries = np.arange(20) + 100 * (number % 2)
        for objective in means:
            values = rng.random(20).astype(np.float32)
            found[Trial("a", "labels", 0.0, objective, number)] = result(values, queries)
            means[objective].append(float(values.mean(dtype=float)))
    rows = {row.objective: row for row in make_rows(preset(), "x", found)}
    folds = {name: np.reshape(values, (4, 2)).mean(axis=0) for name, values in means.items()}
    row = rows["xendcg"]
    assert (row.trials, row.test_sets) == (8, 2)
    assert (row.mean, row.low, row.high) == pytest.approx(mean_with_interval(folds["xendcg"]))
    assert row.p_trials == pytest.approx(stats.ttest_rel(*folds.values()).pvalue)
    # and a query is one unit of the test over queries, however often it was tested
    weighted, _ = by_query([(np.arange(20), np.ones(20))] * 4)
    assert len(weighted) == 20


def test_interval_of_a_difference_is_that_of_gbrank_metrics():
    influence = np.random.default_rng(4).normal(0.1, 1.0, 150)
    low, high = bootstrap_interval(influence)
    expected = bootstrap_intervals(influence[None, :], 0.95, 9_999, 1)[0]
    np.testing.assert_allclose((low, high), expected, atol=0.01)


def test_two_settings_of_one_objective(trials):
    rows = make_setting_rows(preset(), "x", trials)
    assert len(rows) == 2 * 3  # levels, learners; floors have no trees
    for row in rows:
        mine, theirs = (
            [trials[Trial(s, "labels", row.level, row.objective, t)] for t in range(4)]
            for s in ("a", "b")
        )
        expected = np.mean([r.means["ndcg@10"] for r in mine]) - np.mean(
            [r.means["ndcg@10"] for r in theirs]
        )
        assert row.difference == pytest.approx(expected)
        assert row.difference_low < row.difference < row.difference_high
        assert (row.setting, row.against, row.verdict) == ("a", "b", "same")
        assert row.p_queries_holm >= row.p_queries


def test_the_papers_own_test_is_not_corrected(trials):
    for over in ("queries", "trials"):
        chosen = preset(test_of_paper=over, alpha=0.5)
        section = Section(chosen, "x", make_rows(chosen, "x", trials), [], {}, {}, trials)
        said, (_, heads, body) = paper_table(section)
        rows = [row for row in section.rows if row.against and row.metric == "ndcg@10"]
        kept = [row for row in rows if getattr(row, f"p_{over}") < 0.5]
        better = sum(row.difference > 0 for row in kept)
        assert f"of {len(rows)} comparisons {better} are better" in said
        assert f"{len(kept) - better} worse" in said
        assert "each comparison by itself" in said
        assert (len(heads), len(body)) == (1 + 2 * 2, 3)


def test_curves_are_those_of_one_level_and_setting():
    found = {}
    for number in range(2):
        for level in (0.0, 0.5):
            for name, first in (("xendcg", 0.1), ("kl", 0.2)):
                curve = (first + level + number, 0.5, 0.6)[: 3 - number]
                kept = replace(result([0.1], [1]), curve=curve)
                found[Trial("a", "labels", level, name, number)] = kept
    curves = curves_of(found, "labels", "a", 0.5)
    np.testing.assert_allclose(curves["kl"], [[0.7, 0.5], [1.7, 0.5]])  # cut to the shortest
    assert curves_of(found, "labels", "b", 0.5) == {}


def degrading(seed=0, n_trials=6):
    """Trials in which xendcg loses .1 less than listnet from level 0 to .5, and kl as much."""
    rng, found = np.random.default_rng(seed), {}
    for number in range(n_trials):
        queries = np.arange(20) + 100 * (number // 2)  # pairs of trials test the same queries
        for level in (0.0, 0.2, 0.5):
            for objective, slope in (("xendcg", 0.2), ("kl", 0.4), ("listnet", 0.4)):
                values = 0.9 - slope * level * 2 + 0.01 * rng.normal(size=20)
                found[Trial("a", "labels", level, objective, number)] = result(values, queries)
    return found


def test_change_of_the_gap_is_paired_over_trials():
    found = degrading()
    rows = {row.objective: row for row in make_change_rows(preset(), found)}
    assert set(rows) == {"xendcg", "kl"}  # both against the baseline
    for name, row in rows.items():

        def gap(level, number, name=name):
            means = [
                found[Trial("a", "labels", level, each, number)].means["ndcg@10"]
                for each in (name, "listnet")
            ]
            return means[0] - means[1]

        changes = [gap(0.5, number) - gap(0.0, number) for number in range(6)]
        sets = np.reshape(changes, (3, 2)).mean(axis=1)
        expected = stats.ttest_1samp(sets, 0.0)
        assert row.change == pytest.approx(np.mean(changes))
        assert row.p_trials == pytest.approx(expected.pvalue)
        interval = expected.confidence_interval(0.95)
        assert (row.low, row.high) == pytest.approx((interval.low, interval.high))
        assert (row.trials, row.test_sets, row.lowest, row.highest) == (6, 3, 0.0, 0.5)
    assert rows["xendcg"].p_trials_holm == pytest.approx(2 * rows["xendcg"].p_trials)
    assert [rows[name].verdict for name in ("xendcg", "kl")] == ["better", "same"]
    assert rows["xendcg"].change == pytest.approx(0.2, abs=0.02)


def test_a_constant_lead_is_no_slower_decay():
    """Better at every level, by as much: the gap is there and its change is not."""
    found = {}
    rng = np.random.default_rng(5)
    for number in range(8):
        for level in (0.0, 0.5):
            for name, lead in (("xendcg", 0.1), ("listnet", 0.0)):
                values = 0.6 + lead - level / 2 + 0.01 * rng.normal(size=20)
                found[Trial("a", "labels", level, name, number)] = result(
                    values, np.arange(20) + 20 * number
                )
    at_levels = [row for row in make_rows(preset(), "x", found) if row.objective == "xendcg"]
    assert {row.verdict for row in at_levels} == {"better"}
    [row] = make_change_rows(preset(), found)
    assert row.verdict == "same"
    assert row.low < 0 < row.high


def test_the_report_says_how_gaps_change():
    found = degrading()
    rows = make_change_rows(preset(), found)
    section = Section(preset(), "x", make_rows(preset(), "x", found), [], {}, {}, found, rows)
    [(caption, heads, body)] = change_tables(section, "labels")
    assert "from 0% labels replaced to 50% labels replaced" in caption
    assert len(heads) == len(body[0]) == 6
    assert body[0][0] == "xendcg against listnet"
    assert body[0][1].startswith(f"{rows[0].change:+.4f} [{rows[0].low:+.4f}, ")
    assert body[0][1].endswith("▲")
    one_level = {trial: r for trial, r in found.items() if trial.level == 0.0}
    assert make_change_rows(preset(), one_level) == []


def outside(figure):
    """Return texts that a figure cuts off; numbers at ticks beyond an axis are not drawn."""
    from matplotlib.text import Text

    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    found = []
    for text in figure.findobj(Text):
        box = text.get_window_extent()
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
        words = text.get_text().strip("-\N{MINUS SIGN}.0123456789%")
        if words and text.get_visible() and not inside:
            found.append(text.get_text())
    return found


@pytest.mark.parametrize("learners", [1, 2, 5])
def test_no_figure_cuts_its_texts_off(learners):
    pytest.importorskip("matplotlib")
    from gbrank.noise import figures

    baseline = "lambdamart(norm=False, truncation_level=100000)"
    names = ("xendcg", "kl", "listnet", "cosine", "bregman_logistic")[:learners]
    chosen = preset(objectives=(*names, baseline), baseline=baseline)
    rng, found = np.random.default_rng(0), {}
    for number in range(4):
        for level in (0.0, 0.5):
            for name in chosen.objectives:
                values = rng.random(20)
                trial = Trial("a", "labels", level, name, number)
                found[trial] = result(values, np.arange(20) + 20 * number)
    rows = make_rows(chosen, "x", found)
    title = "target_types_sigir2017: share of training labels replaced (regularised trees)"
    tables = {"a": rows}
    figures.pyplot()
    for figure in (
        figures.against_noise(tables, title),
        figures.each_against_noise(tables, f"{title}, learner by learner"),
        figures.differences(tables, f"{title}, differences"),
        figures.at_one_level([row for row in rows if row.level == 0.0], title),
        figures.against_cutoffs(rows, title),
    ):
        assert outside(figure) == []
        figures.pyplot().close(figure)
