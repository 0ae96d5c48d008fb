"""Scores judged by held-out observations."""

import numpy as np
import pytest

from gbrank import Ranker
from gbrank.data import make_ranking
from gbrank.metrics import (
    observed_disagreement,
    observed_feval,
    observed_scorer,
    pairwise_disagreement,
)
from gbrank.preferences import Comparisons, PartialOrders, Selections
from gbrank.simulate import bradley_terry


def test_pairs_by_loops_with_weights_and_ties():
    rng = np.random.default_rng(0)
    qid = np.array(["b", "a", "b", "a", "a", "b", "c"])  # in any order
    scores = rng.integers(0, 3, 7).astype(float)
    pairs = [(i, j) for i in range(7) for j in range(7) if i != j and qid[i] == qid[j]]
    chosen = [pairs[k] for k in rng.integers(0, len(pairs), 40)]
    weight = rng.uniform(0.1, 3.0, 40)
    wrong = sum(
        w * (1.0 if scores[i] < scores[j] else 0.5 if scores[i] == scores[j] else 0.0)
        for (i, j), w in zip(chosen, weight, strict=True)
    )
    winner, loser = zip(*chosen, strict=True)
    found = observed_disagreement(Comparisons(None, winner, loser, weight), scores, qid=qid)
    assert found == pytest.approx(wrong / weight.sum(), rel=1e-12)


def test_weights_of_edges_multiply_those_of_observations():
    orders = PartialOrders(
        None, [[(0, 1), (0, 2)], [(2, 1)]], weight=[2.0, 1.0], edge_weight=[[1.0, 0.5], [4.0]]
    )
    # wrong is 0 > 2 alone, with weight 1 of 2 + 1 + 4
    assert observed_disagreement(orders, [1.0, 0.0, 2.0], group=[3]) == pytest.approx(1 / 7)
    assert observed_disagreement(orders, [0.0, 0.0, 0.0], group=[3]) == 0.5


def test_all_pairs_of_labels_are_the_metric_on_labels():
    rng = np.random.default_rng(1)
    labels, scores = rng.integers(0, 4, 12), rng.normal(size=12).round(1)
    winner, loser = np.nonzero(labels[:, None] > labels[None, :])
    found = observed_disagreement(Comparisons(None, winner, loser), scores, group=[12])
    assert found == pytest.approx(pairwise_disagreement(labels, scores, group=[12]), rel=1e-12)


def test_clicks_and_keys():
    seen = Selections(["q"], [["x", "y", "z"]], [2], items="key")
    keys = ["z", "y", "x"]
    values = [
        observed_disagreement(seen, scores, qid=["q"] * 3, keys=keys)
        for scores in ([1.0, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, 1.0, 1.0])
    ]
    assert values == [0.0, 0.5, 1.0]


def test_a_ranker_without_labels_stops_by_it():
    train, valid = make_ranking(n_queries=60, random_state=0).split(0.5)
    fitted_to, held_out = (bradley_terry(part, n=3000) for part in (train, valid))
    ranker = Ranker(
        "preference_logistic", preset="fast", n_estimators=60, early_stopping_rounds=5, n_jobs=1,
        start="zero", eval_metric=observed_feval(held_out),
    )  # fmt: skip
    ranker.fit(
        train.X, qid=train.qid, preferences=fitted_to,
        eval_X=valid.X, eval_y=np.zeros(len(valid.y)), eval_qid=valid.qid,
    )  # fmt: skip
    seen = ranker.evals_result_["valid_0"]["observed_disagreement"]
    assert min(seen) < 0.45
    assert ranker.best_iteration_ == int(np.argmin(seen)) + 1
    score = observed_scorer(held_out)(ranker, valid.X, qid=valid.qid)
    assert score == pytest.approx(-min(seen), abs=1e-9)


def test_bad_input():
    with pytest.raises(TypeError, match=r"observations must be Comparisons, .* got list"):
        observed_disagreement([(0, 1)], [0.0, 1.0], group=[2])
    with pytest.raises(ValueError, match="no pair with weight"):
        observed_disagreement(Comparisons(None, [], []), [0.0, 1.0], group=[2])
