"""Who is compared: the Ranker, the peers in several protocols, and two linear floors."""

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from comparison.peers import AS_IT_COMES, MOST_TREES, PEERS
from comparison.sets import Fold, Queries
from gbrank import QueryKFold, Ranker
from gbrank.linear import LinearRanker


class Result(NamedTuple):
    """What one training gives: a model's name, scores of the test rows, trees, CPU seconds."""

    model: str
    scores: np.ndarray
    trees: int
    seconds: float


FLOORS = {"linear": False, "linear, relative to the query": True}
RANKERS = {
    "Ranker()": {},
    'Ranker(preset="best")': {"preset": "best"},
    'Ranker(preset="fast")': {"preset": "fast"},
}
#: Models that take part in all protocols; the others show what is the method, what the library.
STOPPED = {name: [name, f"{name}, refit"] for name in PEERS}
AVERAGED = {f"{name}, averaged": name for name in PEERS}
AVERAGED_FOLDS = 5
AS_THEY_COME = {f"{name}, as it comes": name for name in PEERS}


def run_ranker(name: str, fold: Fold, seed: int) -> list[Result]:
    """Train a Ranker on all queries but the test queries, as it comes."""
    started = time.process_time()
    ranker = Ranker(**RANKERS[name], n_jobs=1, random_state=seed)
    ranker.fit(fold.rest.X, fold.rest.y, qid=fold.rest.qid)
    seconds = time.process_time() - started
    scores = ranker.predict(fold.test.X)
    return [Result(name, scores, ranker.booster_.num_trees(), seconds)]


def run_floor(name: str, fold: Fold, seed: int) -> list[Result]:
    """Fit a linear ranker to all queries but the test queries."""
    started = time.process_time()
    ranker = LinearRanker(relative=FLOORS[name]).fit(fold.rest.X, fold.rest.y, qid=fold.rest.qid)
    seconds = time.process_time() - started
    return [Result(name, ranker.predict(fold.test.X, qid=fold.test.qid), 0, seconds)]


def run_stopped(name: str, fold: Fold, seed: int) -> list[Result]:
    """Train a peer, stopped early by the validation queries; then again on these queries too.

    The second model, "refit", has the number of trees that was found by the first.
    """
    fit, objective = PEERS[name]
    started = time.process_time()
    predict, trees = fit(objective, fold.train, fold.valid, MOST_TREES, seed)
    middle = time.process_time()
    again, _ = fit(objective, fold.rest, None, trees, seed)
    ended = time.process_time()
    return [
        Result(name, predict(fold.test.X), trees, middle - started),
        Result(f"{name}, refit", again(fold.test.X), trees, ended - middle),
    ]


def run_averaged(name: str, fold: Fold, seed: int) -> list[Result]:
    """Train five models of a peer, each stopped early by its own fifth of the queries."""
    fit, objective = PEERS[AVERAGED[name]]
    rest, folds = fold.rest, QueryKFold(AVERAGED_FOLDS, shuffle=True, random_state=seed)
    scores, n_trees = np.zeros(len(fold.test.y)), 0
    started = time.process_time()
    for inside, outside in folds.split(rest.X, rest.y, rest.qid):
        parts = [Queries(rest.X[rows], rest.y[rows], rest.qid[rows]) for rows in (inside, outside)]
        predict, trees = fit(objective, *parts, MOST_TREES, seed)
        scores += predict(fold.test.X) / AVERAGED_FOLDS
        n_trees += trees
    return [Result(name, scores, n_trees, time.process_time() - started)]


def run_as_it_comes(name: str, fold: Fold, seed: int) -> list[Result]:
    """Train a peer on all queries but the test queries, with its library's trees and rate."""
    fit, objective = PEERS[AS_THEY_COME[name]]
    trees, rate = AS_IT_COMES[name.split()[0]]
    started = time.process_time()
    predict, used = fit(objective, fold.rest, None, trees, seed, rate)
    seconds = time.process_time() - started
    return [Result(name, predict(fold.test.X), used, seconds)]


Train = Callable[[Fold, int], list[Result]]
#: How each is trained, by the name of its first model; the cheapest first.
CONTESTANTS: dict[str, Train] = {
    **{name: partial(run_floor, name) for name in FLOORS},
    **{name: partial(run_ranker, name) for name in RANKERS},
    **{name: partial(run_stopped, name) for name in PEERS},
    **{name: partial(run_as_it_comes, name) for name in AS_THEY_COME},
    **{name: partial(run_averaged, name) for name in AVERAGED},
}
