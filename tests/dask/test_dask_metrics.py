"""Distributed metrics equal the local ones, however the rows are cut."""

import numpy as np
import pytest

from gbrank import metrics

pytest.importorskip("distributed")
gbrank_dask = pytest.importorskip("gbrank.dask")

NAMES = ["ndcg@3", "map"]


@pytest.fixture(scope="module")
def judged():
    """Return labels, scores of two models, queries (some blank) and a weight per query."""
    rng = np.random.default_rng(5)
    qid = rng.integers(0, 12, 150)
    labels = rng.integers(0, 3, 150) * (qid != 4)
    scores = {"a": rng.normal(size=150), "b": np.round(rng.normal(size=150))}
    return labels, scores, qid, rng.uniform(0.5, 2, 12)[qid]


@pytest.mark.parametrize("rows", [7, 60, 150])
def test_evaluate(judged, rows, cut):
    labels, scores, qid, weight = judged
    parts = cut(rows, labels, scores["a"], scores["b"], qid, weight)
    got = gbrank_dask.evaluate(
        parts[0],
        {"a": parts[1], "b": parts[2]},
        qid=parts[3],
        metrics=NAMES,
        sample_weight=parts[4],
    )
    for name in NAMES:
        for place, model in enumerate("ab"):
            metric = metrics.get_metric(name)
            values = metric(labels, scores[model], qid=qid, per_query=True)
            first = np.unique(qid, return_index=True)[1]
            in_order = np.sort(first)  # queries by their first rows
            mean = np.average(
                values[~np.isnan(values)], weights=weight[in_order][~np.isnan(values)]
            )
            assert got[name][place] == pytest.approx(mean, abs=1e-12)
    assert got.models == ["a", "b"]


def test_ndcg_by_hand(cut):
    """Two queries cut in the middle: the first ideal, the second with its best document second."""
    labels, scores, qid = cut(3, [1, 0, 0, 1, 1, 0], [3.0, 2, 1, 2, 9, 1], [5, 5, 6, 6, 7, 7])
    second = 1.0  # query 6: labels 0, 1 with scores 1, 2
    assert gbrank_dask.ndcg_score(labels, scores, qid=qid) == pytest.approx((1 + second + 1) / 3)
    worse = cut(3, [1, 0, 0, 1, 1, 0], [1.0, 2, 1, 2, 9, 1], [5, 5, 6, 6, 7, 7])
    expected = (1 / np.log2(3) + 1 + 1) / 3
    assert gbrank_dask.ndcg_score(worse[0], worse[1], qid=worse[2]) == pytest.approx(expected)
    assert gbrank_dask.ndcg_score(worse[0], worse[1], qid=worse[2], k=1) == pytest.approx(2 / 3)


def test_the_highest_grade_is_that_of_all_labels(cut):
    """The grade 4 is in the first partition only; ERR of the others is relative to it all the same.

    A document of grade 1 satisfies one of 16 users then, and alone at the top its ERR is 1/16.
    """
    labels, scores, qid = cut(2, [4, 0, 1, 0, 1, 0], [2.0, 1, 2, 1, 1, 2], [1, 1, 2, 2, 3, 3])
    found = gbrank_dask.evaluate(labels, scores, qid=qid, metrics=["err", "ndcg"])
    assert found["err"][0] == pytest.approx((15 / 16 + 1 / 16 + 1 / 32) / 3, abs=1e-12)
    own = metrics.get_metric("err", max_grade=5)
    found = gbrank_dask.evaluate(labels, scores, qid=qid, metrics={"own": own})
    assert found["own"][0] == pytest.approx((15 / 32 + 1 / 32 + 1 / 64) / 3, abs=1e-12)


def test_blank_queries_alone_are_nan_with_a_warning(cut):
    labels, scores, qid = cut(2, [0, 0, 0, 0], [1.0, 2, 3, 4], [1, 1, 2, 2])
    with pytest.warns(UserWarning, match="every query is blank"):
        assert np.isnan(gbrank_dask.ndcg_score(labels, scores, qid=qid))
    assert gbrank_dask.ndcg_score(labels, scores, qid=qid, empty=0.5) == 0.5


def test_cut_queries_can_be_refused(cut):
    labels, scores, qid = cut(3, [1, 0, 1, 0], [1.0, 2, 3, 4], ["a", "a", "b", "b"])
    with pytest.raises(ValueError, match="query 'b' is cut: partitions 0 and 1"):
        gbrank_dask.ndcg_score(labels, scores, qid=qid, repartition="never")


def test_errors_name_the_partition(cut):
    labels, scores, qid = cut(2, [1, 0, 1, 0], [1.0, 2, np.nan, 4], [1, 1, 2, 2])
    with pytest.raises(ValueError, match=r"partition 1: .*scores must be finite"):
        gbrank_dask.ndcg_score(labels, scores, qid=qid)
    with pytest.raises(ValueError, match="nonsense"):
        gbrank_dask.evaluate(labels, scores, qid=qid, metrics="nonsense")
