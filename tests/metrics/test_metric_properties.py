"""What must hold for every metric, whatever the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrank.core.gains import PowerDiscount
from gbrank.metrics import evaluate, get_metric, list_metrics, ndcg_score

NAMES = [
    *list_metrics(),
    *("dcg@3", "ndcg@3", "ndcg@0.4", "err@3", "map@3", "mrr@3", "precision@3", "recall@0.5"),
    "topk_zero_one@2",
]


@st.composite
def query_sets(draw):
    """Labels (grades or halves of them), scores with ties and group sizes."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=6))
    n = sum(sizes)
    step = draw(st.sampled_from([1.0, 0.5]))
    labels = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))) * step
    scores = np.array(draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n)), dtype=float)
    return labels, scores, np.array(sizes)


def _values(name, labels, scores, sizes, **options):
    options = {"empty": 0.0, **options}
    if name.startswith("err"):
        options.setdefault("max_grade", 4)
    return get_metric(name, **options)(labels, scores, group=sizes, per_query=True)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=25)
@given(data=query_sets(), seed=st.integers(0, 2**32 - 1))
def test_order_of_rows_and_queries_does_not_matter(name, data, seed):
    labels, scores, sizes = data
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    shuffled = rng.permutation(len(labels))
    metric = get_metric(name, empty=0.0)
    expected = metric(labels, scores, qid=qid)
    found = metric(labels[shuffled], scores[shuffled], qid=qid[shuffled])
    assert found == pytest.approx(expected, abs=1e-12)
    constant = metric(labels[shuffled], np.zeros(len(labels)), qid=qid[shuffled])
    assert constant == pytest.approx(metric(labels, np.zeros(len(labels)), qid=qid), abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=25)
@given(data=query_sets())
def test_the_worst_order_is_no_better_than_any_and_the_best_is_perfect(name, data):
    labels, scores, sizes = data
    sign = 1.0 if get_metric(name).greater_is_better else -1.0
    worst = sign * _values(name, labels, scores, sizes, ties="worst")
    for ties in ("average", "stable", "reverse"):
        assert (worst <= sign * _values(name, labels, scores, sizes, ties=ties) + 1e-12).all()
    best = sign * _values(name, labels, labels, sizes)
    reversed_ = sign * _values(name, labels, -labels, sizes)
    for other in (worst, reversed_, sign * _values(name, labels, scores, sizes)):
        assert (other <= best + 1e-12).all()
    if name.startswith(("ndcg", "mrr")) or name == "map":
        has_relevant = np.array([part.any() for part in np.split(labels, np.cumsum(sizes)[:-1])])
        np.testing.assert_allclose(best[has_relevant], 1.0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=20)
@given(data=query_sets(), scale=st.floats(0.1, 10), shift=st.floats(-5, 5))
def test_only_the_order_of_scores_matters(name, data, scale, shift):
    labels, scores, sizes = data
    expected = _values(name, labels, scores, sizes)
    np.testing.assert_array_equal(
        _values(name, labels, np.exp(scale * scores) + shift, sizes), expected
    )


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=20)
@given(data=query_sets(), seed=st.integers(0, 2**32 - 1))
def test_weights(name, data, seed):
    labels, scores, sizes = data
    metric = get_metric(name, empty=0.0)
    plain = metric(labels, scores, group=sizes)
    uniform = metric(labels, scores, group=sizes, sample_weight=np.full(len(labels), 3.5))
    assert uniform == pytest.approx(plain, abs=1e-12)
    # a query of weight 2 counts like two equal queries
    repeats = np.random.default_rng(seed).integers(1, 4, len(sizes))
    weighted = metric(labels, scores, group=sizes, sample_weight=np.repeat(repeats, sizes))
    parts = np.split(np.arange(len(labels)), np.cumsum(sizes)[:-1])
    rows = np.concatenate(
        [part for part, times in zip(parts, repeats, strict=True) for _ in range(times)]
    )
    options = {"max_grade": labels.max() or 1.0} if name.startswith("err") else {}
    repeated = get_metric(name, empty=0.0, **options)(
        labels[rows], scores[rows], group=np.repeat(sizes, repeats)
    )
    assert weighted == pytest.approx(repeated, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(data=query_sets(), ties=st.sampled_from(["average", "stable", "reverse", "worst"]))
def test_many_metrics_at_once_equal_each_alone(data, ties):
    labels, scores, sizes = data
    table = evaluate(
        labels, scores, group=sizes, metrics=NAMES, ties=ties, empty=0.0, per_query=True
    )
    for name in NAMES:
        alone = get_metric(name, ties=ties, empty=0.0)(labels, scores, group=sizes, per_query=True)
        np.testing.assert_array_equal(table[name][0], alone)


@pytest.mark.parametrize("name", NAMES)
def test_threads_change_nothing(name):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 200, 1_000)
    labels, scores = rng.integers(0, 5, sizes.sum()), rng.normal(size=sizes.sum()).round(1)
    one = get_metric(name, n_jobs=1)(labels, scores, group=sizes, per_query=True)
    three = get_metric(name, n_jobs=3)(labels, scores, group=sizes, per_query=True)
    np.testing.assert_array_equal(one, three)


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize(
    ("discount", "of_rank"),
    [
        ("log", lambda rank: 1 / np.log2(1 + rank)),
        ("power", lambda rank: rank**-0.5),
        (PowerDiscount(0.25), lambda rank: rank**-0.25),
        ("zipf", lambda rank: 1 / rank),
        ("exp", lambda rank: 2.0**-rank),
        (lambda ranks: np.where(ranks <= 2, 1.0, 0.25), lambda rank: 1.0 if rank <= 2 else 0.25),
    ],
)
@pytest.mark.parametrize(
    ("gain", "of_label"),
    [
        ("exp", lambda label: 2.0**label - 1),
        ("linear", lambda label: label),
        ([0, 1, 10], lambda label: [0, 1, 10][int(label)]),
        (np.sqrt, np.sqrt),
    ],
)
def test_gains_and_discounts(discount, of_rank, gain, of_label, k):
    labels, scores = [0, 2, 1, 1, 0, 2], [6, 5, 4, 3, 2, 1]
    ranks = range(1, min(k or 6, 6) + 1)
    dcg = sum(of_label(labels[rank - 1]) * of_rank(rank) for rank in ranks)
    best = sum(of_label(sorted(labels)[-rank]) * of_rank(rank) for rank in ranks)
    value = ndcg_score(labels, scores, group=[6], k=k, gain=gain, discount=discount)
    assert value == pytest.approx(dcg / best, abs=1e-12)


def test_many_levels_of_labels():
    """More distinct labels than there are grades, and lists too long for the packed counters."""
    rng = np.random.default_rng(0)
    for size, n_levels in ((40, 40), (200, 20), (50, 6)):
        labels, scores = rng.integers(0, n_levels, size), rng.integers(0, 30, size)
        above = labels[:, None] > labels[None, :]
        difference = scores[:, None] - scores[None, :]
        expected = (above * ((difference < 0) + 0.5 * (difference == 0))).sum() / above.sum()
        value = get_metric("pairwise_disagreement")(labels, scores, group=[size])
        assert value == pytest.approx(expected, abs=1e-12)
    size = 40_000
    labels = np.arange(size) % 2
    value = get_metric("pairwise_disagreement")(labels, np.arange(size), group=[size])
    # each of the n = 20,000 zeros is ranked above the i ones of the pairs below it
    n = size // 2
    assert value == pytest.approx(sum(range(n)) / n**2, abs=1e-12)
