"""The same numbers as LightGBM, scikit-learn, trec_eval and ranx, under their conventions."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gbrank.metrics import (
    average_precision_score,
    dcg_score,
    feval,
    ndcg_score,
    precision_at_k,
    recall_at_k,
    reciprocal_rank_score,
)

N_CASES = 1_000
EXACT = {"abs": 1e-9, "rel": 0}


def _draw_query(rng, blank_share=0.15):
    """Return labels and scores: graded, blank, single documents, tied and constant scores."""
    size = int(rng.choice([1, 2, 3, 8, 15, 40]))
    labels = rng.integers(0, int(rng.integers(2, 6)), size).astype(float)
    if rng.random() < blank_share:
        labels[:] = 0.0
    scores = [
        lambda: rng.normal(size=size),
        lambda: rng.integers(0, 4, size).astype(float),
        lambda: np.zeros(size),
    ][rng.integers(0, 3)]()
    return labels, scores


def _draw_set(rng, **options):
    """Return labels, scores and group sizes of a few queries."""
    queries = [_draw_query(rng, **options) for _ in range(int(rng.integers(1, 5)))]
    labels, scores = (np.concatenate(parts) for parts in zip(*queries, strict=True))
    return labels, scores, [len(part) for part, _ in queries]


def _lightgbm_values(labels, scores, group, metric, cutoffs, row_weight=None):
    """Return LightGBM's own metric at each cut-off; ``init_score`` makes its scores ours."""
    lgb = pytest.importorskip("lightgbm")
    params = {"verbosity": -1, "num_threads": 1, "min_data_in_bin": 1, "min_data_in_leaf": 1}
    data = lgb.Dataset(
        np.arange(len(labels), dtype=float)[:, None],
        labels,
        group=group,
        weight=row_weight,
        init_score=scores,
        params=params,
    )
    booster = lgb.Booster(
        {"objective": "none", "metric": metric, "eval_at": cutoffs, **params}, data
    )
    return [float(entry[2]) for entry in booster.eval_train()], data


def test_ndcg_of_lightgbm():
    rng = np.random.default_rng(0)
    for _ in range(N_CASES):
        labels, scores, group = _draw_set(rng)
        cutoffs = sorted({int(k) for k in rng.integers(1, 20, 2)})
        theirs, data = _lightgbm_values(labels, scores, group, "ndcg", cutoffs)
        for k, expected in zip(cutoffs, theirs, strict=True):
            ours = ndcg_score(labels, scores, group=group, k=k, convention="lightgbm")
            assert ours == pytest.approx(expected, **EXACT)
            _, ours, _ = feval(f"ndcg@{k}", convention="lightgbm")(scores, data)
            assert ours == pytest.approx(expected, **EXACT)


def test_ndcg_of_lightgbm_with_weights():
    """Without blank queries: LightGBM gives those the wrong weight."""
    rng = np.random.default_rng(1)
    n_done = 0
    while n_done < N_CASES // 4:
        labels, scores, group = _draw_set(rng, blank_share=0.0)
        if min(part.max() for part in np.split(labels, np.cumsum(group)[:-1])) == 0:
            continue
        n_done += 1
        # one weight per query; or varying in it, which LightGBM averages
        query_weights = rng.integers(1, 9, len(group)) / 4.0
        varying = rng.integers(1, 9, len(labels)) / 4.0
        weight = np.repeat(query_weights, group)
        (expected,), data = _lightgbm_values(labels, scores, group, "ndcg", [5], weight)
        options = {"group": group, "k": 5, "convention": "lightgbm"}
        ours = ndcg_score(labels, scores, sample_weight=weight, **options)
        assert ours == pytest.approx(expected, **EXACT)
        ours = ndcg_score(labels, scores, sample_weight=query_weights, **options)
        assert ours == pytest.approx(expected, **EXACT)
        (expected,), data = _lightgbm_values(labels, scores, group, "ndcg", [5], varying)
        _, ours, _ = feval("ndcg@5", convention="lightgbm")(scores, data)
        assert ours == pytest.approx(expected, abs=1e-6)  # LightGBM's mean weight is single


def test_average_precision_of_lightgbm():
    rng = np.random.default_rng(2)
    for _ in range(N_CASES // 4):
        labels, scores, group = _draw_set(rng)
        k = int(rng.integers(1, 20))
        (expected,), _ = _lightgbm_values(labels, scores, group, "map", [k])
        ours = average_precision_score(labels, scores, group=group, k=k, convention="lightgbm")
        assert ours == pytest.approx(expected, **EXACT)


def test_dcg_and_ndcg_of_scikit_learn():
    from sklearn import metrics

    rng = np.random.default_rng(3)
    n_done = 0
    while n_done < N_CASES:
        labels, scores = _draw_query(rng)
        if len(labels) == 1:  # scikit-learn refuses a single document
            continue
        n_done += 1
        k = int(rng.integers(1, 20))
        options = {"group": [len(labels)], "k": k, "convention": "sklearn"}
        if n_done % 4 == 0:
            theirs = metrics.dcg_score([labels], [scores], k=k)
            assert dcg_score(labels, scores, **options) == pytest.approx(theirs, **EXACT)
        theirs = metrics.ndcg_score([labels], [scores], k=k)
        assert ndcg_score(labels, scores, **options) == pytest.approx(theirs, **EXACT)


def test_weighted_ndcg_of_scikit_learn():
    from sklearn import metrics

    rng = np.random.default_rng(4)
    for _ in range(100):
        shape = int(rng.integers(1, 6)), int(rng.integers(2, 12))
        labels = rng.integers(0, 4, shape) * rng.integers(0, 2, (shape[0], 1))
        scores, weights = rng.integers(0, 5, shape), rng.random(shape[0]) + 0.1
        options = {"group": [shape[1]] * shape[0], "sample_weight": weights}
        ours = ndcg_score(labels.ravel(), scores.ravel(), convention="sklearn", **options)
        theirs = metrics.ndcg_score(labels, scores, sample_weight=weights)
        assert ours == pytest.approx(theirs, **EXACT)


def test_trec_eval():
    """Document ids are row numbers with leading zeros: trec_eval puts the greatest id first."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(5)
    queries = [_draw_query(rng) for _ in range(N_CASES)]
    # trec_eval keeps scores in single precision: these differ, but not there
    queries.append((np.array([1.0, 0.0, 2.0]), np.array([1.0 + 1e-9, 1.0, 1.0 - 1e-9])))
    cutoffs = [1, 3, 10, 30]
    listed = ",".join(map(str, cutoffs))
    measures = {"ndcg", "map", "recip_rank"} | {
        f"{name}.{listed}" for name in ("ndcg_cut", "P", "recall", "map_cut")
    }
    qrel = {
        str(q): {f"{row:03d}": int(label) for row, label in enumerate(labels)}
        for q, (labels, _) in enumerate(queries)
    }
    run = {
        str(q): {f"{row:03d}": float(score) for row, score in enumerate(scores)}
        for q, (_, scores) in enumerate(queries)
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrel, measures).evaluate(run)

    labels, scores = (np.concatenate(parts) for parts in zip(*queries, strict=True))
    options = {
        "group": [len(part) for part, _ in queries],
        "convention": "trec",
        "per_query": True,
    }
    ours = {
        "ndcg": ndcg_score(labels, scores, **options),
        "map": average_precision_score(labels, scores, **options),
        "recip_rank": reciprocal_rank_score(labels, scores, **options),
    }
    for k in cutoffs:
        ours[f"ndcg_cut_{k}"] = ndcg_score(labels, scores, k=k, **options)
        ours[f"map_cut_{k}"] = average_precision_score(labels, scores, k=k, **options)
        ours[f"P_{k}"] = precision_at_k(labels, scores, k=k, **options)
        ours[f"recall_{k}"] = recall_at_k(labels, scores, k=k, **options)
    for name, values in ours.items():
        expected = [theirs[str(q)][name] for q in range(len(queries))]
        np.testing.assert_allclose(values, expected, atol=1e-9, rtol=0, err_msg=name)


_RANX = """
import json, sys
import numpy as np
from numba.typed import List
from ranx import metrics

with np.load(sys.argv[1]) as data:
    labels, scores, group = data["labels"], data["scores"], data["group"]
qrels, run = List(), List()
for judged, scored in zip(*(np.split(a, np.cumsum(group)[:-1]) for a in (labels, scores))):
    ids = np.arange(len(judged), dtype=float)
    # ranx wants both sorted, best first
    qrels.append(np.column_stack([ids, judged])[np.argsort(-judged, kind="stable")])
    run.append(np.column_stack([ids, scored])[np.argsort(-scored, kind="stable")])
found = {
    f"{name}@{k}": getattr(metrics, name)(qrels, run, k).tolist()
    for name in ("dcg", "dcg_burges", "ndcg", "ndcg_burges", "average_precision",
                 "reciprocal_rank", "precision", "recall")
    for k in (1, 5, 30)
}
print(json.dumps(found))
"""


def test_ranx(tmp_path):
    """In a process of its own: once numba's parallel kernels have run, a process cannot fork."""
    pytest.importorskip("ranx")
    rng = np.random.default_rng(6)
    queries = [_draw_query(rng) for _ in range(N_CASES)]
    labels, scores = (np.concatenate(parts) for parts in zip(*queries, strict=True))
    group = np.array([len(part) for part, _ in queries])
    np.savez(tmp_path / "queries.npz", labels=labels, scores=scores, group=group)
    command = [sys.executable, "-c", _RANX, str(tmp_path / "queries.npz")]
    # ranx compiles for half a minute: keep that apart from the cache of our own kernels
    cache = Path(__file__).parents[2] / ".numba_cache" / "ranx"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    theirs = json.loads(done.stdout)

    options = {"group": group, "empty": 0.0, "ties": "stable", "per_query": True}
    for k in (1, 5, 30):
        ours = {
            "dcg": dcg_score(labels, scores, k=k, gain="linear", **options),
            "dcg_burges": dcg_score(labels, scores, k=k, **options),
            "ndcg": ndcg_score(labels, scores, k=k, gain="linear", **options),
            "ndcg_burges": ndcg_score(labels, scores, k=k, **options),
            "average_precision": average_precision_score(labels, scores, k=k, **options),
            "reciprocal_rank": reciprocal_rank_score(labels, scores, k=k, **options),
            "precision": precision_at_k(labels, scores, k=k, **options),
            "recall": recall_at_k(labels, scores, k=k, **options),
        }
        for name, values in ours.items():
            np.testing.assert_allclose(
                values, theirs[f"{name}@{k}"], atol=1e-9, rtol=0, err_msg=f"{name}@{k}"
            )


def test_letor_spelled_out():
    """What Eval-Score-4.0.pl computes: discounts 1, 1, 1/log2(rank); short lists count 0."""
    labels, scores = [2, 0, 1, 1], [0.1, 0.4, 0.3, 0.3]
    # ranked: 0, 1, 1, 2 (equal scores in the order of rows), gains 0, 1, 1, 3
    dcg = [0, 0 + 1, 1 + 1 / np.log2(3), 1 + 1 / np.log2(3) + 3 / 2]
    best = [3, 3 + 1, 4 + 1 / np.log2(3), 4 + 1 / np.log2(3) + 0 / 2]
    for k in (1, 2, 3, 4):
        value = ndcg_score(labels, scores, group=[4], k=k, convention="letor")
        assert value == pytest.approx(dcg[k - 1] / best[k - 1], abs=1e-12)
    assert ndcg_score(labels, scores, group=[4], k=5, convention="letor") == 0.0
    whole = ndcg_score(labels, scores, group=[4], convention="letor")
    assert whole == pytest.approx(dcg[3] / best[3], abs=1e-12)
    blank = ndcg_score([0, 0, *labels], [1, 2, *scores], group=[2, 4], k=2, convention="letor")
    assert blank == pytest.approx((0 + dcg[1] / best[1]) / 2, abs=1e-12)
    # average precision: relevant at ranks 2, 3, 4
    value = average_precision_score(labels, scores, group=[4], convention="letor")
    assert value == pytest.approx((1 / 2 + 2 / 3 + 3 / 4) / 3, abs=1e-12)
    value = precision_at_k(labels, scores, group=[4], k=10, convention="letor")
    assert value == pytest.approx(3 / 10, abs=1e-12)  # short lists are filled up


def test_an_explicit_option_wins_over_the_convention():
    labels, scores, group = [0, 0, 1, 0], [1, 2, 1, 1], [2, 2]
    convention = {"group": group, "convention": "lightgbm", "per_query": True}
    assert ndcg_score(labels, scores, **convention).tolist() == [1.0, 1.0]
    assert ndcg_score(labels, scores, empty=0.0, **convention).tolist() == [0.0, 1.0]
    skipped = ndcg_score(labels, scores, empty="skip", **convention)
    assert np.isnan(skipped[0])
    assert skipped[1] == 1.0
    worst = ndcg_score(labels, scores, ties="worst", **convention)
    assert worst[1] == pytest.approx(1 / np.log2(3), abs=1e-12)
