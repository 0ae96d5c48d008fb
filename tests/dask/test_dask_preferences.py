"""Preferences given partition by partition give the gradients, and trees, of one machine."""

import itertools

import numpy as np
import pytest

from gbrank import PairwiseLogistic, PreferenceLogistic, Ranker, UStatistic
from gbrank.preferences import Comparisons

pytest.importorskip("distributed")
DaskRanker = pytest.importorskip("gbrank.dask").DaskRanker

from gbrank.dask._preferences import PartitionedObservations, bind_part  # noqa: E402

SIZES = np.array([6, 4, 5, 7, 6, 4, 8, 5])
CUT = 4  # queries of the first partition
TREES = {"n_estimators": 4, "num_leaves": 4, "min_child_samples": 2}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    X = rng.normal(size=(len(qid), 3))
    bounds = np.concatenate(([0], np.cumsum(SIZES)))
    winners, losers = [], []
    for query, (first, last) in enumerate(itertools.pairwise(bounds)):
        for _ in range(3 + 4 * query):  # some queries are seen more often than others
            a, b = rng.choice(np.arange(first, last), 2, replace=False)
            if X[a, 0] < X[b, 0]:
                a, b = b, a
            winners.append(a)
            losers.append(b)
    return X, qid, np.array(winners), np.array(losers), int(bounds[CUT])


def split(data):
    """Return the observations of both partitions, which name rows of theirs."""
    _, _, winners, losers, rows = data
    first = winners < rows
    return [
        Comparisons(None, winners[first], losers[first]),
        Comparisons(None, winners[~first] - rows, losers[~first] - rows),
    ]


@pytest.mark.parametrize(
    "objective", [PreferenceLogistic(), PairwiseLogistic(), UStatistic(order=None)], ids=repr
)
def test_one_worker_gives_the_local_model(objective, data, one_worker):
    da = pytest.importorskip("dask.array")
    X, qid, winners, losers, rows = data
    local = Ranker(objective, preset="fast", n_jobs=1, **TREES)
    local.fit(X, qid=qid, preferences=Comparisons(None, winners, losers))
    chunks = (rows, len(X) - rows)
    ranker = DaskRanker(objective, **TREES).fit(
        da.from_array(X, chunks=(chunks, -1)),
        qid=da.from_array(qid, chunks=(chunks,)),
        preferences=split(data),
    )
    expected = local.predict(X)
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(ranker.to_local().predict(X), expected, rtol=0, atol=1e-6)


def test_a_worker_weighs_its_queries_as_one_machine_does(data):
    """Gradients of each partition alone are those of its rows among all."""
    X, qid, winners, losers, rows = data
    everything = Comparisons(None, winners, losers)
    expected, _ = PreferenceLogistic(everything).grad_hess(
        np.zeros(len(X)), np.zeros(len(X)), SIZES
    )
    bound = [
        bind_part(number, ids, part, None)
        for number, (ids, part) in enumerate(
            zip((qid[:rows], qid[rows:]), split(data), strict=True)
        )
    ]
    objective = PartitionedObservations(PreferenceLogistic(), bound)
    for number, (where, sizes) in enumerate(
        ((slice(None, rows), SIZES[:CUT]), (slice(rows, None), SIZES[CUT:]))
    ):
        n_rows = sizes.sum()
        got, _ = objective.grad_hess(np.full(n_rows, number), np.zeros(n_rows), sizes)
        np.testing.assert_allclose(got, expected[where], rtol=1e-5)


def test_what_cannot_work_is_refused(data, one_worker, cut):
    X, qid, winners, losers, rows = data
    chunks = (rows, len(X) - rows)
    Xs, ids = cut(chunks, X, qid)
    halves = split(data)
    with pytest.raises(TypeError, match="a list with the observations of each partition"):
        DaskRanker("ustatistic").fit(Xs, qid=ids, preferences=Comparisons(None, winners, losers))
    with pytest.raises(ValueError, match="one entry for each of the 2 partitions of X, got 1"):
        DaskRanker("ustatistic").fit(Xs, qid=ids, preferences=halves[:1])
    with pytest.raises(ValueError, match="learns from labels, not from preferences"):
        DaskRanker("xendcg").fit(Xs, qid=ids, preferences=halves)
    own = PreferenceLogistic(Comparisons(None, winners, losers))
    labels = cut(chunks, np.zeros(len(X)))[0]
    with pytest.raises(ValueError, match="must be given partition by partition"):
        DaskRanker(own).fit(Xs, labels, qid=ids)
    torn_X, torn_ids = cut((rows + 1, len(X) - rows - 1), X, qid)
    with pytest.raises(ValueError, match="is cut: partitions 0 and 1"):
        DaskRanker("ustatistic").fit(torn_X, qid=torn_ids, preferences=halves)
