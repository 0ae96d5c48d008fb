"""The search: folds of whole queries, seeds, racing, budgets, what comes out."""

import sys
import warnings

import numpy as np
import pytest

import gbrank
from gbrank.boosting import FoldDatasets, cut_parts
from gbrank.core import RankingData
from gbrank.metrics import ndcg_score
from gbrank.tuning import running as search_module
from gbrank.tuning.trainer import FoldTrainer

DEEP = {"type": "int", "low": 2, "high": 4}


def points_and_values(result):
    return [(each.number, each.point, each.state, each.value) for each in result.trials]


def test_no_query_is_in_two_folds(rows, quick, monkeypatch):
    seen = []

    class Watched(FoldDatasets):
        def __init__(self, data, params, parts, *others, **named):
            seen.append((data, parts))
            super().__init__(data, params, parts, *others, **named)

    monkeypatch.setattr(sys.modules["gbrank.tuning.trainer"], "FoldDatasets", Watched)
    shuffled = np.random.default_rng(0).permutation(len(rows.y))
    gbrank.tune(
        rows.X[shuffled],
        rows.y[shuffled],
        rows.qid[shuffled],
        n_trials=1,
        cv=3,
        ranker=gbrank.Ranker(n_estimators=2),
    )
    ((data, parts),) = seen  # bins were made once
    judges = [set(outside.tolist()) for _, outside in parts[:-1]]
    assert sum(map(len, judges)) == len(set.union(*judges)) == 120
    for inside, outside in parts[:-1]:
        assert not set(inside.tolist()) & set(outside.tolist())
    # a query of the layout is a query of the user, whole
    ids = np.asarray(data.qid)
    for query in range(data.n_queries):
        own = ids[data.layout.bounds[query] : data.layout.bounds[query + 1]]
        assert len(set(own.tolist())) == 1
        assert len(own) == np.count_nonzero(rows.qid == own[0])


def test_datasets_are_made_once_per_fold(rows):
    data = RankingData.checked(rows.X, rows.y, rows.qid)
    parts = cut_parts(data.layout, 3, None, 0)
    losses = {"xendcg": gbrank.XENDCG(), "lambdamart": gbrank.LambdaMART()}
    base = gbrank.Ranker(n_estimators=3, n_jobs=1, random_state=0)
    metric = gbrank.metrics.get_metric("ndcg@10")
    trainer = FoldTrainer(base, losses, data, parts, metric)
    for objective, start in (("xendcg", "linear"), ("lambdamart", "zero"), ("xendcg", "zero")):
        point = {"objective": objective, "start": start, "min_child_samples": 5}
        member, _ = trainer.make(point)
        for group in range(len(trainer.groups)):
            trainer.grow(member, group, lambda: None)
    assert trainer.datasets.n_made == 3
    assert trainer.n_fold_trainings == 9


def test_linear_starts_are_scaled_when_a_part_is_grown(rows, monkeypatch):
    """A trial that is dropped after its first folds costs nothing for the others."""
    module, scaled = sys.modules["gbrank.tuning.trainer"], []
    rescaled = module.rescaled

    def watch(start, *others):
        scaled.append(start)
        return rescaled(start, *others)

    monkeypatch.setattr(module, "rescaled", watch)
    monkeypatch.setattr(module, "GROUP_QUERIES", 30)
    data = RankingData.checked(rows.X, rows.y, rows.qid)
    parts = cut_parts(data.layout, 3, None, 0)
    base = gbrank.Ranker(n_estimators=3, n_jobs=1, random_state=0)
    metric = gbrank.metrics.get_metric("ndcg@10")
    trainer = FoldTrainer(base, {"xendcg": gbrank.XENDCG()}, data, parts, metric)
    member, starts = trainer.make({"objective": "xendcg", "start": "linear"})
    assert len(trainer.groups) == 3
    trainer.grow(member, 0, lambda: None)
    assert len(scaled) == 1
    trainer.grow(member, 1, lambda: None)
    assert len(scaled) == 2
    assert [each.kind for each in starts] == ["linear"] * 4
    assert len(scaled) == 4


def test_a_trial_does_not_depend_on_those_before(rows):
    """Datasets are shared, so that scores of one trial must not be left for the next."""
    data = RankingData.checked(rows.X, rows.y, rows.qid)
    parts = cut_parts(data.layout, 3, None, 0)
    losses = {"xendcg": gbrank.XENDCG()}
    base = gbrank.Ranker(n_estimators=4, n_jobs=1, random_state=0)
    metric = gbrank.metrics.get_metric("ndcg@10")

    def values(starts):
        trainer = FoldTrainer(base, losses, data, parts, metric)
        for start in starts:
            member, _ = trainer.make({"objective": "xendcg", "start": start})
            grown, _ = trainer.grow(member, 0, lambda: None)
        return grown.scores

    assert np.array_equal(values(["zero"]), values(["linear", "zero"]), equal_nan=True)
    assert np.array_equal(values(["linear"]), values(["zero", "linear"]), equal_nan=True)


def test_same_seed_same_trials_and_any_number_of_threads(quick):
    first, second = quick(n_jobs=1), quick(n_jobs=2)
    assert points_and_values(first) == points_and_values(second)
    other = quick(random_state=1)
    assert [each.point for each in other.trials[2:]] != [each.point for each in first.trials[2:]]


def test_first_come_the_members_of_the_ranker(found, rows):
    x, z = found.trials[:2]
    assert (x.point["objective"], x.point["start"]) == ("xendcg", "linear")
    assert (z.point["objective"], z.point["start"]) == ("lambdamart", "zero")
    assert x.point["reg_lambda"] == 20.0
    assert (x.point["subsample"], z.point["subsample"]) == (0.7, 1.0)
    assert x.state == z.state == "complete"


def test_a_trial_is_what_the_ranker_trains():
    """With one group of folds the first trial is the member of Ranker(preset='balanced')."""
    data = gbrank.data.make_ranking(n_queries=60, n_features=10, random_state=1)
    base = gbrank.Ranker(n_estimators=8)
    result = gbrank.tune(
        data.X, data.y, data.qid, n_trials=2, cv=3, ranker=base, objectives=["xendcg", "lambdamart"]
    )
    ranker = gbrank.Ranker(n_estimators=8, n_jobs=1, random_state=0)
    ranker.fit(data.X, data.y, qid=data.qid)
    ours = [each.value for each in result.trials]
    theirs = [each["cv_score"] for each in ranker.members_[:2]]
    # the scale of a linear start is searched from another place, and LambdaMART's seeds are others
    assert ours[0] == pytest.approx(theirs[0], abs=0.02)
    assert ours[1] == pytest.approx(theirs[1], abs=0.02)


def test_value_is_the_mean_over_held_out_queries(found, rows):
    trial = found.trials[0]
    assert trial.value == pytest.approx(np.nanmean(trial.query_values))
    assert len(trial.n_trees) == trial.n_folds == 3


def test_the_result(found, rows):
    complete = [each for each in found.trials if each.state == "complete"]
    assert found.best_score_ == max(each.value for each in complete)
    ranker = found.best_ranker_
    names = [member["name"] for member in ranker.members_]
    assert 2 <= len(names) <= 5
    assert sum(member["weight"] for member in ranker.members_) == pytest.approx(1.0)
    assert ndcg_score(rows.y, ranker.predict(rows.X), qid=rows.qid, k=10) > 0.6
    again = gbrank.Ranker(**found.best_params_)
    assert again.get_params()["num_leaves"] == found.best_point_["num_leaves"]
    assert gbrank.Ranker.from_point(found.best_point_).num_leaves == again.num_leaves
    frame = found.trials_
    assert list(frame.index) == list(range(7))
    assert frame["ndcg@10"][0] == found.trials[0].value


def test_the_blend_predicts_what_its_members_add_up_to(rows, quick, tmp_path):
    ranker = quick().best_ranker_
    ranker.save_model(tmp_path / "model.txt")
    loaded = gbrank.Ranker.load_model(tmp_path / "model.txt")
    assert np.array_equal(loaded.predict(rows.X), ranker.predict(rows.X))


def test_rows_in_any_order_give_out_of_fold_scores_of_their_rows(rows):
    shuffled = np.random.default_rng(0).permutation(len(rows.y))
    result = gbrank.tune(
        rows.X[shuffled],
        rows.y[shuffled],
        rows.qid[shuffled],
        n_trials=2,
        cv=3,
        ranker=gbrank.Ranker(n_estimators=6),
    )
    ranker = result.best_ranker_
    held_out = ndcg_score(rows.y[shuffled], ranker.cv_predictions_, qid=rows.qid[shuffled], k=10)
    # which is of weights that were found without the fold
    assert held_out == pytest.approx(ranker.cv_score_, abs=0.02)


def test_table_says_in_words(found):
    table = found.table()
    assert "Ranker()" in table
    assert "95% interval" in table
    pair = found.comparison_["tuned", "Ranker()"]
    told_apart = "cannot be told apart" not in table
    assert told_apart == (pair.p_permutation < 0.05)


def test_choosing_among_noise_gains_nothing_in_the_table(monkeypatch):
    """Many trials that differ by chance alone: the best looks better, the table is not fooled."""
    from gbrank.metrics import get_metric
    from gbrank.tuning.judgement import Judges
    from gbrank.tuning.trials import Trial

    rng = np.random.default_rng(0)
    data = gbrank.data.make_ranking(n_queries=100, n_features=10, random_state=0)
    checked = RankingData.checked(data.X, data.y, data.qid)
    metric = get_metric("ndcg@10")
    folds = np.arange(100) % 5
    gains = []
    for _ in range(6):
        trials = []
        for number in range(40):
            scores = rng.normal(size=checked.n_rows)
            values = ndcg_score(data.y, scores, qid=data.qid, k=10, per_query=True)
            mean = float(np.nanmean(values))
            trials.append(Trial(number, {}, "complete", mean, query_values=values, scores=scores))
        judges = Judges(checked, np.arange(100), folds, metric, 1, None)
        honest = ndcg_score(data.y, judges.scores(trials, 1), qid=data.qid, k=10)
        average = np.mean([each.value for each in trials])
        gains.append((max(each.value for each in trials) - average, honest - average))
    naive, honest = np.mean(gains, axis=0)
    assert naive > 0.02
    assert abs(honest) < naive / 2


def test_what_gains_nothing_leaves_the_ranker_as_it_comes(rows, quick):
    """Trials that cannot learn: what comes out is what would have come without a search."""
    shuffled = np.random.default_rng(0).permutation(len(rows.y))
    X, y, qid = rows.X[shuffled], rows.y[shuffled], rows.qid[shuffled]
    options = {"space": {"learning_rate": [1e-9]}, "n_trials": 4, "cv": 3}
    small = gbrank.Ranker(n_estimators=6)
    result = gbrank.tune(X, y, qid, ranker=small, **options)
    plain = gbrank.Ranker(n_estimators=6, random_state=0).fit(X, y, qid=qid)
    assert result.tuned_share_ == 0
    assert "best_ranker_ is Ranker() as it comes" in result.table()
    assert np.array_equal(result.best_ranker_.predict(X), plain.predict(X))
    assert result.best_ranker_.cv_score_ == plain.cv_score_
    one = gbrank.tune(X, y, qid, ranker=small, objectives=["listnet"], start="zero", **options)
    plain = gbrank.Ranker("listnet", n_estimators=6, random_state=0).fit(X, y, qid=qid)
    assert np.array_equal(one.best_ranker_.predict(X), plain.predict(X))


def test_what_is_ahead_is_blended(rows):
    """Defaults that can hardly learn: the trials are ahead of them for sure."""
    slow = gbrank.Ranker(n_estimators=5, start="zero", learning_rate=1e-3, reg_lambda=1e6)
    result = gbrank.tune(
        rows.X,
        rows.y,
        rows.qid,
        objectives=["xendcg"],
        space={"learning_rate": [0.3], "reg_lambda": [1.0]},
        start="linear",
        n_trials=3,
        cv=3,
        ranker=slow,
    )
    assert result.tuned_share_ > 0.9
    assert f"best_ranker_: {result.tuned_share_:.0%} tuned trials" in result.table()
    assert result.best_ranker_.learning_rate == 0.3


def test_only_what_is_ahead_for_sure_counts(rows):
    from scipy import stats

    from gbrank.boosting import HeldOut
    from gbrank.metrics import get_metric
    from gbrank.tuning.judgement import weigh_against

    data = RankingData.checked(rows.X, rows.y, rows.qid)
    held_out = HeldOut(data, np.arange(data.n_queries), [get_metric("ndcg@10")], 1)
    rng = np.random.default_rng(0)
    opened = []
    for shift in np.repeat([0.0, 0.1, 0.3], 20):
        tuned, defaults = (
            shift * rows.y + rng.normal(size=len(rows.y)),
            rng.normal(size=len(rows.y)),
        )
        values = [held_out.values(each)[0] for each in (tuned, defaults)]
        blend = weigh_against(held_out, tuned, defaults)
        sure = stats.ttest_rel(*values, alternative="greater", nan_policy="omit").pvalue < 0.05
        assert (blend.weights[0] > 0) == sure
        if not sure:
            assert blend.weights.tolist() == blend.coefficients.tolist() == [0.0, 1.0]
            assert blend.score == pytest.approx(np.nanmean(values[1]))
        opened.append(sure)
    assert sum(opened[:20]) <= 4
    assert all(opened[40:])


def test_held_out_queries_take_part_in_nothing_else(rows, quick, monkeypatch):
    result = quick(n_trials=2, holdout=0.25)
    assert "30 queries held out from everything" in result.table()
    assert result.comparison_.n_queries + result.comparison_.n_left_out == 30
    assert len(result.trials[0].query_values) == 90
    assert len(result.best_ranker_.cv_predictions_) < len(rows.y)


def test_losers_are_dropped_and_say_why(rows, monkeypatch):
    group = sys.modules["gbrank.tuning.trainer"]
    monkeypatch.setattr(group, "GROUP_QUERIES", 30)
    space = {"learning_rate": [1e-9]}  # a trial that cannot learn
    result = gbrank.tune(
        rows.X,
        rows.y,
        rows.qid,
        objectives=["xendcg"],
        space=space,
        start="zero",
        n_trials=3,
        cv=3,
        ranker=gbrank.Ranker(n_estimators=20),
    )
    assert [each.state for each in result.trials] == ["complete", "dropped", "dropped"]
    dropped = result.trials[1]
    assert dropped.n_folds == 1
    assert "behind trial 0" in dropped.note
    assert np.isnan(dropped.query_values).sum() >= 80
    assert result.n_fold_trainings_ == 3 + 1 + 1


def test_random_search_halves_without_optuna(rows, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.setattr(sys.modules["gbrank.tuning.trainer"], "GROUP_QUERIES", 30)
    options = {"n_trials": 12, "cv": 3, "race": 0.0, "ranker": gbrank.Ranker(n_estimators=4)}
    with pytest.warns(UserWarning, match=r"Optuna is not installed.*gbrank\[tune\]"):
        result = gbrank.tune(rows.X, rows.y, rows.qid, **options)
    dropped = [each for each in result.trials if each.state == "dropped"]
    assert 2 <= len(dropped) <= 9
    assert all("better half" in each.note for each in dropped)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        again = gbrank.tune(rows.X, rows.y, rows.qid, sampler="random", **options)
    assert points_and_values(again) == points_and_values(result)


def test_a_budget_ends_the_search_but_not_before_the_defaults(quick, monkeypatch):
    now = [0.0]

    def clock():
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr(search_module, "clock", clock)
    result = quick(n_trials=None, timeout=0.5)
    assert [each.state for each in result.trials] == ["complete", "complete"]
    assert len(quick(n_trials=None, timeout=60.0).trials) >= 3


def test_ctrl_c_keeps_trials(quick, tmp_path):
    def stop_at_third(trial):
        if trial.number == 2:
            raise KeyboardInterrupt

    path = tmp_path / "trials"
    with pytest.warns(UserWarning, match="interrupted after 3 trials; these are kept"):
        result = quick(callback=stop_at_third, storage=path)
    assert result.is_interrupted
    assert len(result.trials) == 3
    assert points_and_values(quick(storage=path)) == points_and_values(quick())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "ndgc@10"}, "ndgc"),
        ({"objectives": []}, "objectives must be"),
        ({"objectives": ["lambdamrt"]}, "lambdamrt"),
        ({"n_trials": 0}, "n_trials must be"),
        ({"n_trials": None}, "must not both be None"),
        ({"timeout": -1}, "timeout must be"),
        ({"cv": 1}, "cv must be"),
        ({"cv": "five"}, "cv must be an integer >= 2, a splitter"),
        ({"race": 0.9}, "race must be"),
        ({"holdout": 0.001}, "leaves 119 to tune on and 1 to compare on"),
        ({"start": "query_linear"}, "start must be 'linear', 'zero'"),
        ({"space": {"num_leafs": (4, 8)}}, "num_leafs'; did you mean 'num_leaves'"),
        ({"space": {"num_leaves": (8, 4)}}, "num_leaves must have numbers low < high"),
        ({"space": {"num_leaves": (1, 4)}}, "num_leaves=1"),
        (
            {"space": {"reg_lambda": {"type": "float", "low": 0, "high": 1, "log": True}}},
            "low must",
        ),
        ({"space": {"lambdamart__k": [1, 2]}}, "lambdamart has no parameter 'k'"),
        ({"space": {"listnet__k": [1, 2]}}, "a loss that is not among"),
        ({"space": {"lgb_params__max_bin": [63, 255]}}, "binned once"),
        ({"space": {"n_estimators": (10, 20)}}, "is not searched"),
        ({"space": {}}, "space must be a dict"),
        ({"space": {"num_leaves": []}}, "must be a list of one or more"),
        ({"ranker": "fast"}, "ranker must be a gbrank.Ranker"),
        ({"ranker": gbrank.Ranker("xendcg")}, "use objectives="),
        ({"sampler": "tpe"}, "sampler must be 'random' or a sampler of Optuna"),
        ({"storage": 5}, "storage must be the path"),
        ({"storage": ""}, "storage must be the path"),
        ({"storage": "foo://trials"}, "storage foo://trials cannot be opened by Optuna"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0, got 0"),
        ({"verbose": "loud"}, "verbose must be an integer"),
        ({"callback": 5}, "callback must be callable"),
        ({"start": None}, "start must be 'linear', 'zero' or a list"),
        ({"space": {"num_leaves": {"type": "int", "low": 4.5, "high": 8}}}, "whole numbers"),
        ({"space": {"num_leaves": {"type": "int", "low": 4, "high": 8, "when": 5}}}, "a dict"),
        (
            {"space": {"num_leaves": [4, 8], "max_depth": {**DEEP, "when": {"num_leafs": 4}}}},
            "no name before it is 'num_leafs'; did you mean 'num_leaves'",
        ),
        (
            {"space": {"num_leaves": [4, 8], "max_depth": {**DEEP, "when": {"num_leaves": 5}}}},
            "counts when 'num_leaves' is 5, which 'num_leaves' never is",
        ),
    ],
)
def test_one_clear_error_before_any_work(quick, options, message, monkeypatch):
    monkeypatch.setattr(FoldTrainer, "grow", None)
    if "://" in str(options.get("storage")):
        pytest.importorskip("optuna")
    with pytest.raises((ValueError, TypeError), match=r"\w") as caught:
        quick(**options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_torn_folds_and_few_queries_are_errors(rows, quick):
    half = len(rows.y) // 2 + 1
    torn = [(np.arange(half), np.arange(half, len(rows.y)))]
    with pytest.raises(ValueError, match="tears query"):
        quick(cv=torn)
    few = rows.take(range(8))
    with pytest.raises(ValueError, match="at least 10 queries"):
        gbrank.tune(few.X, few.y, few.qid)


def test_a_splitter_and_weights(rows, quick):
    weight = np.linspace(0.5, 2.0, len(rows.y))
    splitter = gbrank.QueryKFold(2, shuffle=True, random_state=3)
    result = quick(cv=splitter, sample_weight=weight, n_trials=3)
    assert result.trials[0].n_folds == 2


def test_trials_that_fail_are_reported(rows):
    class Failing(gbrank.XENDCG):
        def check_labels(self, labels, layout):
            raise ValueError("no labels for me")

    with pytest.raises(ValueError, match="no trial was completed: no labels for me"):
        gbrank.tune(rows.X, rows.y, rows.qid, objectives=[Failing()], n_trials=2, cv=2)


# --- what the ranker that is given says ----------------------------------------------------------

NOISE = np.full((5, 5), 0.05) + 0.75 * np.eye(5)


def test_noise_of_the_ranker_reaches_every_trial(quick, rows):
    plain = gbrank.GainPairwise(norm=None)
    found = quick(objectives=[plain], n_trials=1, ranker=gbrank.Ranker(noise=NOISE, n_estimators=6))
    corrected = gbrank.GainPairwise(norm=None, gain=gbrank.gains.corrected_gain(NOISE))
    by_hand = quick(objectives=[corrected], n_trials=1)
    uncorrected = quick(objectives=[plain], n_trials=1)
    assert [each.state for each in found.trials] == ["complete"]
    scores = [each.best_ranker_.predict(rows.X) for each in (found, by_hand, uncorrected)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert np.abs(scores[0] - scores[2]).max() > 0.01


def test_noise_with_a_loss_that_cannot_correct_it_is_refused_before_any_trial(quick):
    seen = []
    with pytest.raises(ValueError, match="noise corrects the gains of"):
        quick(ranker=gbrank.Ranker(noise=NOISE), callback=seen.append)
    assert not seen


def test_yetiloss_optimises_the_metric_of_the_search(quick, rows):
    found = quick(objectives=[gbrank.YetiLoss()], metric="map@3", n_trials=1, n_members=1)
    named = quick(objectives=[gbrank.YetiLoss("map@3")], metric="map@3", n_trials=1, n_members=1)
    assert found.best_ranker_.objective_.metric == "map@3"
    np.testing.assert_array_equal(
        found.best_ranker_.predict(rows.X), named.best_ranker_.predict(rows.X)
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"preset": "fast"}, "ranker must leave preset as it comes"),
        ({"eval_metric": "map"}, "eval_metric as it comes: use metric= of tune"),
        ({"n_jobs": 2}, "n_jobs as it comes: use n_jobs= of tune"),
        ({"random_state": 3}, "use random_state= of tune"),
        ({"verbose": 1}, "use verbose= of tune"),
    ],
)
def test_what_the_search_has_itself_is_refused_in_the_ranker(quick, given, message):
    with pytest.raises(ValueError, match=message):
        quick(ranker=gbrank.Ranker(**given))
