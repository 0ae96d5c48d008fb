"""Labels, metrics and trainings without the bias of positions: against arithmetic and the truth."""

import warnings

import numpy as np
import pandas as pd
import pytest

from gbrank import (
    KL,
    ClickSoftmax,
    DualSoftmax,
    GainPairwise,
    LambdaMART,
    PositionBias,
    Ranker,
    Squared,
    get_objective,
    list_objectives,
)
from gbrank.clicks import Propensities, ips_labels, ips_ndcg, why_biased
from gbrank.plotting import PropensityDisplay
from gbrank.testing import check_objective

TRUTH = np.array([1.0, 0.5, 0.3, 0.2, 0.1])
SEEN = Propensities(np.arange(5), TRUTH)
UNBIASED = [
    Squared(norm=None, gain="linear"),
    KL(norm=None, gain="linear"),
    GainPairwise(norm=None, gain="linear"),
    ClickSoftmax(),
]


def test_labels():
    labels = ips_labels([1, 0, 1, 1], [0, 1, 1, 4], SEEN)
    assert labels == pytest.approx([1, 0, 2, 10])
    assert ips_labels([1, 0, 1, 1], [0, 1, 1, 4], SEEN, clip=0.25) == pytest.approx([1, 0, 2, 4])
    normed = ips_labels([1, 0, 1, 1], [0, 1, 1, 4], SEEN, self_normalized=True)
    assert normed == pytest.approx(labels * 3 / 13)
    assert ips_labels([1, 1], None, [0.5, 0.25]) == pytest.approx([2, 4])
    with pytest.raises(ValueError, match="position must be given"):
        ips_labels([1, 1], None, SEEN)
    with pytest.raises(ValueError, match=r"propensity must be finite numbers > 0, but row 1 has 0"):
        ips_labels([1, 1], None, [0.5, 0.0])
    with pytest.raises(ValueError, match=r"click must be from 0 to 1, but row 1 has 3"):
        ips_labels([1, 3], [0, 1], SEEN)
    with pytest.raises(ValueError, match=r"position must have one entry per row: got 3 for 2"):
        ips_labels([1, 1], [0, 1, 2], SEEN)


@pytest.mark.parametrize("objective", UNBIASED, ids=repr)
def test_gradients_are_those_of_clean_labels_on_average(objective):
    """Over 100,000 draws of clicks on one list: within four standard errors, row by row."""
    assert why_biased(objective) is None
    rng = np.random.default_rng(0)
    gamma = np.array([0.9, 0.2, 0.5, 0.7, 0.4])
    scores = np.array([0.3, -0.4, 0.1, 0.8, -1.0])
    n = 100_000
    clicks = rng.random((n, 5)) < TRUTH * gamma
    labels = ips_labels(clicks.ravel(), np.tile(np.arange(5), n), SEEN)
    grad, _ = objective.grad_hess(labels, np.tile(scores, n), [5] * n)
    drawn = grad.reshape(n, 5).astype(float)
    clean, _ = objective.grad_hess(gamma, scores, [5])
    error = drawn.std(axis=0) / np.sqrt(n)
    assert (np.abs(drawn.mean(axis=0) - clean) < 4 * error + 1e-6).all()
    assert error.max() < 0.1 * np.abs(clean).max()


def test_the_table_says_who_is_biased():
    """What the registry has by default is biased; the mean gradient of one shows it."""
    unbiased = {name for name in list_objectives() if why_biased(name) is None}
    assert unbiased == set()
    assert "use norm=None" in why_biased("squared")
    assert "use gain='linear'" in why_biased(Squared(norm=None))
    assert "labels must be clicks" in why_biased(PositionBias("squared"))
    assert "labels must be clicks" in why_biased(DualSoftmax())
    rng = np.random.default_rng(0)
    gamma, n = np.array([0.9, 0.2, 0.5, 0.7, 0.4]), 20_000
    clicks = rng.random((n, 5)) < TRUTH * gamma
    labels = ips_labels(clicks.ravel(), np.tile(np.arange(5), n), SEEN)
    grad, _ = Squared(gain="linear").grad_hess(labels, np.zeros(5 * n), [5] * n)
    clean, _ = Squared(gain="linear").grad_hess(gamma, np.zeros(5), [5])
    drawn = grad.reshape(n, 5)
    error = drawn.std(axis=0) / np.sqrt(n)
    assert (np.abs(drawn.mean(axis=0) - clean) > 10 * error).any()


def test_the_contract():
    check_objective(ClickSoftmax())


def test_ips_ndcg():
    clicks, scores = np.array([1, 0, 0, 1, 0, 0.0]), np.array([2, 1, 0, 1, 2, 0.0])
    position, group = [0, 1, 2, 0, 1, 2], [3, 3]
    clicks[5] = 1
    found = ips_ndcg(
        clicks, scores, position=position, propensities=SEEN, group=group, k=2, confidence=0.9
    )
    labels = clicks / TRUTH[position]
    second = 1 / np.log2(3)
    reached = np.array([labels[0], labels[3] * second])  # of the second list rank 2 holds row 3
    best = np.array([1, labels[5] + labels[3] * second])
    value = reached.sum() / best.sum()
    assert found.value == pytest.approx(value)
    error = np.sqrt(2 * ((reached - value * best) ** 2).sum()) / best.sum()
    assert found.standard_error == pytest.approx(error)
    assert found.upper - found.value == pytest.approx(1.6448536 * error)
    weights = labels[labels > 0]
    assert found.effective_clicks == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    plain = ips_ndcg(
        clicks, scores, position=position, propensities=SEEN, group=group, k=2,
        self_normalized=False,
    )  # fmt: skip
    assert plain.value == pytest.approx(reached.mean())
    together = ips_ndcg(
        clicks, scores, position=position, propensities=SEEN, group=group, k=2, clusters=[7] * 6
    )
    assert (together.value, together.n_clusters) == (pytest.approx(value), 1)
    with pytest.raises(ValueError, match="at least one click, got none"):
        ips_ndcg([0, 0], [1, 2], position=[0, 1], propensities=SEEN, group=[2])


def test_the_interval_of_ips_dcg_holds_the_truth():
    """DCG by clicks is on average that of relevances, which the same order has."""
    rng = np.random.default_rng(1)
    gamma, position, n = rng.random((400, 5)), np.tile(np.arange(5), 400), 60
    scores = gamma.ravel() + rng.normal(size=2000)
    discounts = 1 / np.log2(2 + np.arange(5))
    order = np.argsort(-scores.reshape(400, 5), axis=1)
    truth = (np.take_along_axis(gamma, order, 1) * discounts).sum(axis=1).mean()
    inside, values = 0, []
    for _ in range(n):
        clicks = rng.random((400, 5)) < TRUTH * gamma
        found = ips_ndcg(
            clicks.ravel(), scores, position=position, propensities=SEEN, group=[5] * 400,
            self_normalized=False,
        )  # fmt: skip
        inside += found.lower <= truth <= found.upper
        values.append(found.value)
    assert inside >= 0.85 * n
    assert np.mean(values) == pytest.approx(truth, abs=4 * np.std(values) / np.sqrt(n))


# --- Ranker.fit ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lists():
    """Lists in the order of feature 0, which is worth nothing; relevance is feature 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5, 3))
    shown_by = X[:, :, 0] + 0.7 * rng.normal(size=(1500, 5))
    X = np.take_along_axis(X, np.argsort(-shown_by, axis=1)[:, :, None], 1)
    gamma = 1 / (1 + np.exp(1 - 1.5 * X[:, :, 1]))
    clicks = rng.random((1500, 5)) < TRUTH * gamma
    return {
        "X": X.reshape(-1, 3),
        "y": clicks.ravel().astype(float),
        "qid": np.repeat(np.arange(1500), 5),
        "position": np.tile(np.arange(5), 1500),
        "gamma": gamma.ravel(),
    }


def fitted(lists, objective=None, order=None, **options):
    order = np.arange(len(lists["y"])) if order is None else order
    given = {name: lists[name][order] for name in ("X", "y", "qid", "position")}
    ranker = Ranker(objective, n_estimators=40, num_leaves=7, n_jobs=1, random_state=0)
    return ranker.fit(given.pop("X"), given.pop("y"), **given, **options)


def influence(ranker, lists):
    """Return how scores go with the feature that decides positions, and with relevance."""
    scores = ranker.predict(lists["X"])
    return [np.corrcoef(scores, each)[0, 1] for each in (lists["X"][:, 0], lists["gamma"])]


def test_the_bias_is_gone(lists):
    naive = Ranker(ClickSoftmax(), preset="fast", start="zero", learning_rate=0.1, n_estimators=40,
                   num_leaves=7, n_jobs=1)  # fmt: skip
    naive.fit(lists["X"], lists["y"], qid=lists["qid"])
    wrong, right = influence(naive, lists)
    assert wrong > 0.5
    for options in (
        {"unbiased": "ips", "propensity": SEEN},
        {"unbiased": "additive"},
        {"unbiased": "additive", "objective": "lambdamart"},
        {"unbiased": "dual"},
    ):
        ranker = fitted(lists, **options)
        without, relevant = influence(ranker, lists)
        assert abs(without) < 0.5 * wrong, options
        assert relevant > right + 0.1, options
        if options["unbiased"] != "ips":
            assert (np.diff(ranker.bias_) < 0).all()
            assert ranker.positions_.tolist() == [0, 1, 2, 3, 4]


def test_clicks_far_down_are_clipped_in_training_alone(lists):
    def scores(**options):
        return fitted(lists, unbiased="ips", propensity=SEEN, **options).predict(lists["X"])

    as_it_comes = scores()
    assert (as_it_comes == scores(clip=0.2)).all()
    assert not np.allclose(as_it_comes, scores(clip=0.0))  # a propensity is 0.1
    judged = {"eval_X": lists["X"], "eval_y": lists["y"], "eval_qid": lists["qid"],
              "eval_position": lists["position"]}  # fmt: skip
    ranker = fitted(lists, unbiased="ips", propensity=SEEN, **judged)
    found = ips_ndcg(lists["y"], ranker.predict(lists["X"]), position=lists["position"],
                     propensities=SEEN, qid=lists["qid"])  # fmt: skip
    values = ranker.evals_result_["valid_0"]["ips_ndcg@10"]
    assert values[ranker.best_iteration_ - 1] == pytest.approx(found.value, abs=1e-5)


def test_rows_in_any_order_and_the_curve(lists):
    order = np.random.default_rng(0).permutation(len(lists["y"]))
    one, other = fitted(lists, unbiased="dual"), fitted(lists, unbiased="dual", order=order)
    assert other.bias_ == pytest.approx(one.bias_, abs=0.15)
    assert np.exp(one.bias_) == pytest.approx(TRUTH, abs=0.12)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    display = PropensityDisplay.from_bias(one)
    assert display.line_[0].get_ydata() == pytest.approx(one.bias_)


def test_the_additive_bias_is_learned_from_documents_seen_at_several_positions():
    """Where relevant documents stand at the top and users look at all: no bias, in any row order.

    LightGBM's rule, which preset="lightgbm" has, finds one.
    """
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(60, 8, 3))
    gamma = 1 / (1 + np.exp(-3 * np.sin(3 * documents[:, :, 0])))  # not easy for few trees
    session = np.repeat(np.arange(60), 60)
    order = np.argsort(-(gamma[session] + 0.3 * rng.normal(size=(3600, 8))), axis=1)[:, :5]
    X = documents[session[:, None], order].reshape(-1, 3)
    click = (rng.random(order.shape) < gamma[session[:, None], order]).ravel().astype(float)
    position, lists = np.tile(np.arange(5), 3600), np.repeat(np.arange(3600), 5)
    mixed = rng.permutation(len(X))

    def spread(rows, preset="fast"):
        ranker = Ranker(preset=preset, n_estimators=20, num_leaves=4, n_jobs=1)
        ranker.fit(
            X[rows], click[rows], qid=lists[rows], position=position[rows], unbiased="additive"
        )
        assert ranker.objective_.items is None
        return np.ptp(ranker.bias_)

    by_lightgbm = spread(np.arange(len(X)), "lightgbm")
    assert spread(np.arange(len(X))) < 0.3 * by_lightgbm
    assert spread(mixed) < 0.3 * by_lightgbm
    with pytest.raises(ValueError, match="items must be an array of integers, one per row"):
        Ranker(PositionBias("xendcg", items=np.arange(5)), preset="fast").fit(
            X, click, qid=lists, position=position
        )


def test_saved_with_its_bias(lists, tmp_path):
    ranker = fitted(lists, unbiased="additive")
    ranker.save_model(tmp_path / "model.txt")
    again = Ranker.load_model(tmp_path / "model.txt")
    assert again.bias_ == pytest.approx(ranker.bias_)
    assert (again.predict(lists["X"]) == ranker.predict(lists["X"])).all()
    assert ranker.objective is None


def test_early_stopping_and_score_by_clicks(lists):
    ranker = Ranker(n_estimators=15, early_stopping_rounds=5, num_leaves=7, n_jobs=1)
    clicks = {"position": lists["position"], "propensity": SEEN}
    ranker.fit(lists["X"], lists["y"], qid=lists["qid"], unbiased="ips", **clicks)
    assert list(ranker.evals_result_["valid_0"]) == ["ips_ndcg@10"]
    ranker.fit(
        lists["X"], lists["y"], qid=lists["qid"], unbiased="ips", **clicks,
        eval_X=lists["X"], eval_y=lists["y"], eval_qid=lists["qid"],
        eval_position=lists["position"],
    )  # fmt: skip
    score = ranker.score(lists["X"], lists["y"], qid=lists["qid"], **clicks)
    assert score == pytest.approx(max(ranker.evals_result_["valid_0"]["ips_ndcg@10"]), abs=1e-5)
    with pytest.raises(ValueError, match="clicks are judged with propensity"):
        ranker.score(lists["X"], lists["y"], qid=lists["qid"], position=lists["position"])
    with pytest.raises(ValueError, match="which needs propensity"):
        ranker.fit(lists["X"], lists["y"], qid=lists["qid"], unbiased="dual",
                   position=lists["position"])  # fmt: skip
    # clean labels are judged as always
    ranker.fit(
        lists["X"], lists["y"], qid=lists["qid"], unbiased="dual", position=lists["position"],
        eval_X=lists["X"], eval_y=lists["gamma"], eval_qid=lists["qid"],
    )  # fmt: skip
    assert list(ranker.evals_result_["valid_0"]) == ["ndcg@10"]


def test_other_losses_are_weighted_by_list(lists):
    with pytest.warns(UserWarning, match="each list is weighted by the mean inverse propensity"):
        ranker = fitted(lists, LambdaMART(), unbiased="ips", propensity=SEEN)
    assert influence(ranker, lists)[1] > 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(lists, GainPairwise(norm=None, gain="linear"), unbiased="ips", propensity=SEEN)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unbiased": "ips"}, "unbiased='ips' needs propensity"),
        ({"unbiased": "magic"}, "unbiased must be 'ips' or 'additive' or 'dual' or None"),
        ({}, "position is given, but XENDCG does not read it: say how"),
        ({"propensity": SEEN}, "but unbiased is None"),
        ({"unbiased": "dual", "objective": "squared"}, "has an objective of its own, DualSoftmax"),
        ({"unbiased": "ips", "propensity": SEEN, "objective": DualSoftmax()}, "cannot be"),
        ({"unbiased": "ips", "propensity": [0.0] * 7500}, "propensity must be finite numbers > 0"),
    ],
)
def test_refusals(lists, options, message):
    with pytest.raises(ValueError, match=message):
        fitted(lists, **options)


def test_positions_missing(lists):
    for unbiased in ("additive", "dual"):
        with pytest.raises(ValueError, match=f"unbiased='{unbiased}' needs position"):
            Ranker().fit(lists["X"], lists["y"], qid=lists["qid"], unbiased=unbiased)
    with pytest.raises(ValueError, match="PositionBias needs position"):
        Ranker(PositionBias("xendcg")).fit(lists["X"], lists["y"], qid=lists["qid"])
    with pytest.raises(ValueError, match="learned by one booster; or use preset='fast'"):
        Ranker(PositionBias("xendcg"), preset="best").fit(
            lists["X"], lists["y"], qid=lists["qid"], position=lists["position"]
        )
    assert get_objective("xendcg").needs_position is False


@pytest.mark.parametrize(
    "options",
    [{"unbiased": "ips", "propensity": SEEN}, {"unbiased": "additive"}, {"unbiased": "dual"}],
)
def test_documents_are_counted_and_not_the_lists_that_show_them(options):
    """Penalties of a log that shows each list seven times are those of a log that does so once."""
    rng = np.random.default_rng(0)
    X, qid = rng.integers(0, 30, (600, 4)) / 8.0, np.repeat(np.arange(120), 5)
    position = np.tile(np.arange(5), 120)
    click = (rng.random(600) < 0.3 + 0.3 * (X[:, 0] > 2)).astype(float)
    often = np.tile(np.arange(600), 7)
    # LightGBM guesses from hessians how many rows a leaf has, which rounding may change
    trees = {"n_estimators": 15, "min_child_samples": 0, "subsample_freq": 0,
             "colsample_bytree": 1.0, "n_jobs": 1}  # fmt: skip

    def fitted(rows, lists, preset="fast"):
        ranker = Ranker(preset=preset, **trees)
        return ranker.fit(X[rows], click[rows], qid=lists, position=position[rows], **options)

    once = fitted(np.arange(600), qid)
    lists = qid[often] + 120 * np.repeat(np.arange(7), 600)
    many = fitted(often, lists)
    if options["unbiased"] == "ips":  # of the others rounding decides which trees grow
        assert many.predict(X) == pytest.approx(once.predict(X), abs=1e-5)
    assert many.get_params() == once.get_params()
    assert many.reg_lambda is None
    assert many.booster_.params["lambda_l2"] == pytest.approx(7 * once.booster_.params["lambda_l2"])
    assert fitted(often, lists, "lightgbm").booster_.params["min_sum_hessian_in_leaf"] == 1e-3
    frame = pd.DataFrame(X[often], columns=list("abcd")).assign(session=lists)
    named = Ranker(preset="fast", **trees).fit(
        frame, click[often], qid="session", position=position[often], **options
    )  # fmt: skip
    assert named.predict(X) == pytest.approx(many.predict(X), abs=1e-6)
