"""Cross-fitted boosting with everything kept, so that stopping rules can be compared afterwards.

Queries are cut into folds; one booster per fold is grown on the other folds, all in step. After
every tree the held-out rows of all folds, together all training rows, have scores by boosters that
did not see them, and the rows to judge have the scores of every booster.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import lightgbm as lgb
import numpy as np
from comparison.sets import Queries

from gbrank import get_objective
from gbrank.core import QueryLayout, RankingData
from gbrank.metrics import Judgments, get_metric, measure_all
from gbrank.start import Start

WATCHED = ("ndcg@5", "ndcg@10", "ndcg")


@dataclass(frozen=True)
class Setting:
    """One way to boost; ``l2`` and ``leaf_weight`` are in documents if ``in_documents``."""

    objective: str = "lambdamart"
    options: dict[str, Any] = field(default_factory=dict)
    start: str = "linear"
    rate: float = 0.1
    leaves: int = 31
    leaf_rows: int = 20
    l2: float = 20.0
    in_documents: bool = True
    columns: float = 0.5
    rows: float = 0.7
    n_folds: int = 5
    more: dict[str, Any] = field(default_factory=dict)
    most_trees: int = 1000
    patience: int = 25
    #: added to the seed: another cut into folds
    cut: int = 0
    #: boosters that are grown, of the n_folds that there could be
    n_grown: int | None = None


class Measure:
    """The watched metrics of the queries of some rows, as fast as can be."""

    def __init__(self, y: np.ndarray, group: np.ndarray, metrics: tuple[str, ...] = WATCHED):
        judgments = Judgments(y, QueryLayout.from_group(group, len(y)))
        self._bound = [get_metric(name).bind(judgments) for name in metrics]

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Return (metrics, queries); nan for a query without a relevant document."""
        return np.array(measure_all(self._bound, scores, 1))


@dataclass
class Growth:
    """What one cross-fit leaves behind.

    Attributes
    ----------
    held_out : (trees + 1, rows) scores of the training rows by the boosters without them.
    judged : (boosters, trees + 1, rows) scores of the rows to judge.
    curves : (boosters, trees + 1, metrics) on each booster's own held-out queries.
    pooled : (trees + 1, metrics) on all held-out queries together.
    seconds : CPU time of training (binning, start, trees; metrics of the held-out queries).
    fold_of_row : the booster that did not see a training row.
    """

    held_out: np.ndarray
    judged: np.ndarray
    curves: np.ndarray
    pooled: np.ndarray
    seconds: float
    fold_of_row: np.ndarray


def cut_queries(n_queries: int, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold of each query."""
    fold = np.empty(n_queries, dtype=np.int64)
    shuffled = np.random.default_rng(seed).permutation(n_queries)
    fold[shuffled] = np.arange(n_queries) % n_folds
    return fold


def grow(train: Queries, judged: Queries, setting: Setting, seed: int) -> Growth:
    """Cross-fit: grow until the pooled metrics have not improved for ``patience`` trees."""
    started = time.process_time()
    sizes = train.sizes
    fold = np.repeat(cut_queries(len(sizes), setting.n_folds, seed), sizes)
    query = np.repeat(np.arange(len(sizes)), sizes)
    n_grown = setting.n_grown or setting.n_folds
    params = {
        "learning_rate": setting.rate,
        "num_leaves": setting.leaves,
        "min_data_in_leaf": setting.leaf_rows,
        "feature_fraction": setting.columns,
        "bagging_fraction": setting.rows,
        "bagging_freq": int(setting.rows < 1),
        "feature_pre_filter": False,
        "objective": "none",
        "metric": "None",
        "num_threads": 1,
        "force_col_wise": True,
        "deterministic": True,
        "verbosity": -1,
        **setting.more,
    }
    whole = lgb.Dataset(train.X, train.y, group=sizes, params=params).construct()
    boosters, losses, places, measures, offsets = [], [], [], [], []
    not_counted = 0.0
    for number in range(n_grown):
        inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        loss = get_objective(setting.objective, n_jobs=1, **setting.options)
        if "random_state" in loss.get_params():
            loss.set_params(random_state=100 * seed + number)
        start = [np.zeros(len(inside)), np.zeros(len(outside)), np.zeros(len(judged.y))]
        X_in, y_in, group_in = train.X[inside], train.y[inside], np.bincount(query[inside])
        group_in = group_in[group_in > 0]
        if setting.start == "linear":
            rows = RankingData.checked(X_in, y_in, group=group_in)
            linear = Start.fit("linear", rows, loss, seed=seed)
            start[0] = linear.scores(X_in, rows.layout)
            for place, part in ((1, train.X[outside]), (2, judged.X)):
                layout = QueryLayout.from_group([len(part)], len(part))
                start[place] = linear.scores(part, layout)
        own = {**params, "seed": 100 * seed + number}
        if setting.in_documents:
            _, hess = loss.plain_gradient().grad_hess(y_in, start[0], group_in)
            unit = float(np.mean(hess, dtype=np.float64))
            own |= {"lambda_l2": setting.l2 * unit, "min_sum_hessian_in_leaf": 1e-9 * unit}
        else:
            own |= {"lambda_l2": setting.l2, "min_sum_hessian_in_leaf": 1e-3}
        data = whole.subset(inside).construct()
        held = whole.subset(outside).construct()
        data.set_init_score(start[0])
        held.set_init_score(start[1])
        booster = lgb.Booster(own, data)
        booster.add_valid(held, "held out")
        mark = time.process_time()
        more = lgb.Dataset(judged.X, judged.y, group=judged.sizes, reference=whole)
        more.set_init_score(start[2])
        booster.add_valid(more.construct(), "judged")
        not_counted += time.process_time() - mark
        boosters.append(booster)
        losses.append(loss)
        places.append(outside)
        group_out = np.bincount(query[outside])
        measures.append(Measure(train.y[outside], group_out[group_out > 0]))
        offsets.append(start)

    held_out, curves, pooled = [], [], []
    all_judged: list[list[np.ndarray]] = [[] for _ in boosters]
    best, waited = np.full(len(WATCHED), -np.inf), np.zeros(len(WATCHED), dtype=int)
    for tree in range(setting.most_trees + 1):
        scores, per_query, curve = np.zeros(len(train.y), dtype=np.float32), [], []
        for number, booster in enumerate(boosters):
            if tree == 0:
                _, now, judged_now = offsets[number]
            else:
                booster.update(fobj=losses[number])
                now = booster._Booster__inner_predict(data_idx=1).copy()
                mark = time.process_time()
                judged_now = booster._Booster__inner_predict(data_idx=2)
                all_judged[number].append(judged_now.astype(np.float32))
                not_counted += time.process_time() - mark
            if tree == 0:
                all_judged[number].append(judged_now.astype(np.float32))
            scores[places[number]] = now
            values = measures[number](now)
            per_query.append(values)
            curve.append(np.nanmean(values, axis=1))
        held_out.append(scores)
        curves.append(curve)
        pooled.append(np.nanmean(np.concatenate(per_query, axis=1), axis=1))
        better = pooled[-1] > best
        best, waited = np.maximum(best, pooled[-1]), np.where(better, 0, waited + 1)
        # growing goes on until NDCG@5 and NDCG@10 have both been patient
        if np.all(waited[:2] >= setting.patience):
            break
    seconds = time.process_time() - started - not_counted
    return Growth(
        np.array(held_out),
        np.array(all_judged),
        np.array(curves).transpose(1, 0, 2),
        np.array(pooled),
        seconds,
        fold,
    )
