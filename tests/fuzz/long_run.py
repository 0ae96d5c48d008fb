"""A long run by hand: many fuzzed inputs, counted.

    python tests/fuzz/long_run.py --share 1.0

An input is one query for objectives, metrics (labels, scores, weights) and preferences (its
observations and weights), which get many at a call, one array of ids for the layout, one file for
the reader and for the loader of models. A call that is refused counts as one. Ends
with a traceback at the first input that gives a wrong answer or another error than one of gbrank.
"""

import argparse
import contextlib
import json
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from mutations import LETOR_TOKENS, mutate
from odd_input import EDGES, ours_or_fine

from gbrank import PreferenceLogistic, Ranker, UStatistic, get_objective, list_objectives, metrics
from gbrank.core.queries import QueryLayout
from gbrank.data import load_letor, make_ranking
from gbrank.preferences import METHODS, Comparisons, PartialOrders, Selections, aggregate

QUERIES = 1000
METRICS = ("ndcg_score", "err_score", "average_precision_score", "reciprocal_rank_score")
METRICS += ("precision_at_k", "recall_at_k", "pairwise_disagreement", "topk_zero_one_loss")
METRICS += ("spearman_score", "dcg_score")


def draw_queries(rng):
    """Return labels, scores, group sizes and weights, edge values among them."""
    group = rng.integers(0, 7, QUERIES)
    size = int(group.sum())
    edges = np.array(EDGES)
    labels = rng.integers(0, 5, size).astype(float)
    # a gain of 2^r must stay a number, or the whole call is refused: so be it in one of ten
    highest = np.inf if rng.random() < 0.1 else 1000.0
    _sprinkle(labels, edges[edges <= highest], rng)
    scores = rng.normal(scale=10.0 ** rng.integers(-3, 4), size=size)
    _sprinkle(scores, np.concatenate([edges, -edges]), rng)
    weights = rng.random(size)
    _sprinkle(weights, edges if rng.random() < 0.1 else edges[edges < 1e38], rng)
    return labels, scores, group, weights


def _sprinkle(values, edges, rng):
    places = rng.random(len(values)) < rng.choice([0.0, 0.02, 0.3, 1.0])
    values[places] = rng.choice(edges, places.sum())


def fuzz_objectives(rng, rounds):
    for name in list_objectives():
        objective = get_objective(name)
        if objective.needs_observations:
            objective.set_params(observations="labels")
        for iteration in range(rounds):
            labels, scores, group, weights = draw_queries(rng)
            done = 1
            with ours_or_fine():
                grad, hess = objective.grad_hess(
                    labels, scores, group, weights, iteration=iteration
                )
                assert np.isfinite(grad).all(), (name, "gradient")
                assert np.isfinite(hess).all(), (name, "hessian")
                assert (hess >= 0).all(), (name, "negative hessian")
                done = QUERIES
            yield done


def fuzz_metrics(rng, rounds):
    for name in METRICS:
        for _ in range(rounds):
            labels, scores, group, _weights = draw_queries(rng)
            done = 1
            with ours_or_fine():
                values = getattr(metrics, name)(labels, scores, group=group, k=3, per_query=True)
                lowest = -1.0 if name == "spearman_score" else 0.0
                known = values[~np.isnan(values)]
                assert (known >= lowest - 1e-12).all(), name
                assert name == "dcg_score" or (known <= 1 + 1e-12).all(), name
                done = QUERIES
            yield done


def draw_observations(rng, group):
    """Return comparisons, orders or clicks of rows of these queries; sometimes of other rows."""
    size, count = int(group.sum()), int(rng.integers(0, 4 * QUERIES))
    first = np.repeat(np.cumsum(group) - group, group)
    length = np.repeat(group, group)
    one = rng.choice(np.flatnonzero(length > 1), count)
    step = 1 + rng.integers(0, 60, count) % (length[one] - 1)
    other = first[one] + (one - first[one] + step) % length[one]  # another row of the same query
    if rng.random() < 0.1 and count:  # or any row, which mostly refuses the call
        other[rng.integers(count)] = rng.integers(-1, size + 2)
    weights = rng.random(count)
    edges = np.array(EDGES)
    _sprinkle(weights, edges if rng.random() < 0.1 else edges[edges < 1e38], rng)
    kind = rng.integers(3)
    if kind == 0:
        return Comparisons(None, one, other, weights)
    if kind == 1:
        return PartialOrders.from_flat(None, one, other, np.ones(count, dtype=int), weights)
    shown = np.column_stack([one, other])
    clicked = rng.integers(-1, 2, count)
    return Selections(None, shown.ravel(), clicked, np.full(count, 2), weights)


def fuzz_preferences(rng, rounds):
    """Aggregates by every method, and what the objectives that learn from observations make."""
    for uses in range(len(METHODS) + 2):
        for iteration in range(rounds):
            _labels, scores, group, weights = draw_queries(rng)
            done = 1
            with ours_or_fine():
                observed = draw_observations(rng, group)
                if uses < len(METHODS):
                    method = tuple(METHODS)[uses]
                    layout = QueryLayout.from_group(group)
                    values = [aggregate(observed, method, layout=layout)]
                else:
                    objective = (UStatistic, PreferenceLogistic)[uses - len(METHODS)](observed)
                    zeros = np.zeros(len(scores))
                    values = objective.grad_hess(zeros, scores, group, weights, iteration=iteration)
                    assert (values[1] >= 0).all(), (type(objective), "negative hessian")
                assert all(np.isfinite(each).all() for each in values), uses
                assert all(each.shape == scores.shape for each in values), uses
                done = QUERIES
            yield done


def fuzz_layout(rng, rounds):
    for _ in range(rounds):
        dtype = rng.choice(["i1", "u8", "f4", "f8", "U2", "O", "M8[s]"])
        ids = rng.integers(0, 4, rng.integers(0, 12)).astype(dtype)
        if ids.dtype.kind == "f":
            _sprinkle(ids, np.array([np.nan, np.inf, -0.0, 5e-324]), rng)
        with ours_or_fine():
            layout = QueryLayout.from_qid(ids)
            assert (layout.unsort(layout.sort(ids)) == ids).all()
            assert layout.n_queries == len(set(ids.tolist()))
        yield 1


def fuzz_reader(rng, rounds, folder):
    path = folder / "data.txt"
    good = b"".join(b"%d qid:%d 1:%d.5 3:1e-%d\n" % (i % 3, i // 4, i, i) for i in range(12))
    for at in range(rounds):
        text = mutate(good, rng)
        if at % 2:
            text = b"".join(rng.choice(np.array(LETOR_TOKENS, dtype=object), rng.integers(1, 25)))
        path.write_bytes(text)
        with ours_or_fine():
            data = load_letor(path, sparse=bool(at % 3), n_features=50, n_jobs=1)
            assert data.X.shape == (len(data.y), 50)
            assert np.isfinite(data.y).all()
        yield 1


def fuzz_models(rng, rounds, folder):
    data = make_ranking(n_queries=20, random_state=0)
    path = folder / "model.txt"
    ranker = Ranker("lambdamart", preset="fast", n_estimators=2, num_leaves=4, n_jobs=1)
    ranker.fit(data.X, data.y, qid=data.qid).save_model(path)
    whole = path.read_bytes()
    for _ in range(rounds):
        changed = mutate(whole, rng)
        path.write_bytes(changed)
        with ours_or_fine(), contextlib.suppress(AssertionError if changed == whole else ()):
            Ranker.load_model(path)
            raise AssertionError("a changed model was believed")
        yield 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="of about a million inputs")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    warnings.simplefilter("error", RuntimeWarning)
    counts, seconds = Counter(), Counter()

    def rounds(number):
        return max(1, int(number * options.share))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, inputs in {
            "objectives": fuzz_objectives(rng, rounds(60)),
            "metrics": fuzz_metrics(rng, rounds(20)),
            "preferences": fuzz_preferences(rng, rounds(20)),
            "layout": fuzz_layout(rng, rounds(50_000)),
            "LETOR reader": fuzz_reader(rng, rounds(60_000), folder),
            "model loader": fuzz_models(rng, rounds(40_000), folder),
        }.items():
            began = time.perf_counter()
            for done in inputs:
                counts[what] += done
            seconds[what] = round(time.perf_counter() - began, 1)
            print(what, counts[what], f"{seconds[what]} s", flush=True)
    print(json.dumps({"inputs": counts, "in all": counts.total(), "seconds": seconds}))


if __name__ == "__main__":
    main()
