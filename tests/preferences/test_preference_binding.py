"""Observations meet rows: indices follow wherever rows go, and what does not fit is said."""

import pickle

import numpy as np
import pytest

from gbrank import PreferenceLogistic
from gbrank.core.queries import QueryLayout
from gbrank.preferences import Comparisons, PartialOrders, Selections, aggregate

QID = np.array(["b", "a", "b", "a", "c", "b"])  # b: rows 0 2 5; a: rows 1 3; c: row 4
LAYOUT = QueryLayout.from_qid(QID)


def edges_by_row(bound):
    """Return for each observation given its (winner, loser) pairs as rows of the user."""
    order = np.arange(bound.layout.n_rows) if bound.layout.order is None else bound.layout.order
    found = {}
    for query in range(bound.layout.n_queries):
        rows = order[bound.layout.bounds[query] : bound.layout.bounds[query + 1]]
        for observation in range(bound.query_bounds[query], bound.query_bounds[query + 1]):
            span = range(bound.edge_bounds[observation], bound.edge_bounds[observation + 1])
            found[int(bound.source[observation])] = [
                (int(rows[bound.winner[edge]]), int(rows[bound.loser[edge]])) for edge in span
            ]
    return [found[number] for number in range(len(bound))]


def test_rows_that_are_reordered_take_their_comparisons_along():
    generator = np.random.default_rng(0)
    qid = generator.integers(0, 12, size=80)
    pairs = []
    while len(pairs) < 200:
        a, b = generator.integers(0, 80, size=2)
        if a != b and qid[a] == qid[b]:
            pairs.append((int(a), int(b)))
    winner, loser = map(list, zip(*pairs, strict=True))
    layout = QueryLayout.from_qid(qid)
    assert layout.order is not None
    for ids in (None, qid[winner]):
        bound = Comparisons(ids, winner, loser).bind(layout)
        assert edges_by_row(bound) == [[pair] for pair in pairs]
        assert bound.query_bounds[-1] == 200
    # observations of one query keep the order in which they came
    for query in range(layout.n_queries):
        own = bound.source[bound.query_bounds[query] : bound.query_bounds[query + 1]]
        assert (np.diff(own) > 0).all()


def test_partial_orders_move_as_a_whole():
    orders = [[(5, 0), (0, 2)], [(3, 1)], [], [(2, 5)]]
    bound = PartialOrders(["b", "a", "c", "b"], orders, weight=[1, 2, 3, 4]).bind(LAYOUT)
    assert edges_by_row(bound) == orders
    assert bound.observation_weight[np.argsort(bound.source)].tolist() == [1, 2, 3, 4]
    assert bound.edge_weight.tolist() == [1.0] * 4


def test_selections_prefer_the_click_to_what_was_examined_above_it():
    lists, clicks = [[5, 0, 2], [1, 3], [0, 5, 2], [2, 0]], [1, 0, None, 1]
    bound = Selections(["b", "a", "b", "b"], lists, clicks).bind(LAYOUT)
    assert edges_by_row(bound) == [[(0, 5)], [], [], [(0, 2)]]
    assert bound.clicked[np.argsort(bound.source)].tolist() == [1, 0, -1, 1]


def test_selections_may_prefer_the_click_to_all_shown():
    lists, clicks = [[5, 0, 2], [1, 3], [0, 5, 2]], [1, 0, None]
    bound = Selections(["b", "a", "b"], lists, clicks, edges="shown").bind(LAYOUT)
    assert edges_by_row(bound) == [[(0, 5), (0, 2)], [(1, 3)], []]


def test_keys_need_be_unique_within_their_query_only():
    keys = ["x", "x", "y", "y", "x", "z"]
    observations = Comparisons(["a", "b", "b"], ["y", "z", "x"], ["x", "x", "y"], items="key")
    assert edges_by_row(observations.bind(LAYOUT, keys=keys)) == [[(3, 1)], [(5, 0)], [(0, 2)]]


def test_positions_count_within_the_query():
    observations = Comparisons(["a", "b"], [1, 2], [0, 1], items="position")
    assert edges_by_row(observations.bind(LAYOUT)) == [[(3, 1)], [(5, 2)]]


def test_ids_may_be_equal_without_being_of_one_type():
    layout = QueryLayout.from_qid(np.array([10, 10, 20, 20], dtype=np.int32))
    for ids in ([20, 10], [20.0, 10.0], np.array([20, 10], dtype=np.uint8)):
        assert edges_by_row(Comparisons(ids, [2, 0], [3, 1]).bind(layout)) == [[(2, 3)], [(0, 1)]]


@pytest.mark.parametrize(
    ("ids", "dtype"),
    [
        ([-128, 127], np.int8),
        ([2**64 - 1, 2**64 - 9], np.uint64),
        ([-(2**63), 2**63 - 1], np.int64),
        ([7, 7_000_000_000], np.int64),
    ],
)
def test_whole_numbers_of_any_size_are_ids(ids, dtype):
    qid = np.array(ids, dtype=dtype)
    layout = QueryLayout.from_qid(np.repeat(qid, 2))
    both = Comparisons(qid[[1, 0]], [2, 0], [3, 1])
    assert edges_by_row(both.bind(layout)) == [[(2, 3)], [(0, 1)]]
    keys = np.repeat(qid[None, :], 2, axis=0).ravel()
    named = Comparisons(qid[[1, 0]], qid[[0, 1]], qid[[1, 0]], items="key")
    assert edges_by_row(named.bind(layout, keys=keys)) == [[(2, 3)], [(1, 0)]]
    with pytest.raises(ValueError, match=r"observation 0 has .*, of which there are no rows"):
        Comparisons(np.array([1], dtype=dtype), [0], [1]).bind(layout)


def test_queries_of_group_sizes_are_numbered_or_named_by_qid():
    layout = QueryLayout.from_group([2, 0, 3])
    assert edges_by_row(Comparisons([2], [3], [4]).bind(layout)) == [[(3, 4)]]
    qid = ["u", "u", "v", "v", "v"]
    assert edges_by_row(Comparisons(["v"], [3], [4]).bind(layout, qid=qid)) == [[(3, 4)]]
    with pytest.raises(ValueError, match=r"same for all rows of a query of the layout, but row 3"):
        Comparisons(["v"], [3], [4]).bind(layout, qid=["u", "u", "v", "w", "v"])


def test_a_layout_can_be_made_from_qid():
    assert edges_by_row(Comparisons(["a"], [1], [3]).bind(None, qid=QID)) == [[(1, 3)]]
    with pytest.raises(ValueError, match="layout or qid must be given"):
        Comparisons(["a"], [1], [3]).bind(None)


def test_no_observations_at_all():
    for empty in (
        Comparisons(None, [], []),
        PartialOrders([], []),
        Selections([], [], []),
        Comparisons([], [], [], items="key"),
    ):
        bound = empty.bind(LAYOUT, keys=range(6))
        assert len(bound) == 0
        assert bound.query_bounds.tolist() == [0, 0, 0, 0]
        assert bound.edge_bounds.tolist() == [0]


@pytest.mark.parametrize(
    ("observations", "message"),
    [
        (
            Comparisons(["b", "a"], [0, 1], [2, 5]),
            r"loser of observation 1 \(query 'a'\) is row 5, which belongs to another query",
        ),
        (
            Comparisons(None, [0, 3], [2, 0]),
            r"loser of observation 1 \(query 'a'\) is row 0, which belongs to another query",
        ),
        (
            Comparisons(["b", "a"], [0, 1], [2, 1]),
            r"differ, but observation 1 \(query 'a'\) compares 1 with itself",
        ),
        (
            Comparisons(["b", "q"], [0, 1], [2, 3]),
            "observation 1 has 'q', of which there are no rows",
        ),
        (
            Comparisons(["b", "a"], [0, 6], [2, 3]),
            r"winner of observation 1 \(query 'a'\) is row 6, which is no row: there are 6 rows",
        ),
        (
            Comparisons(["b", "a"], [0, 2], [2, 0], items="position"),
            r"winner of observation 1 \(query 'a'\) is position 2, which lies beyond its rows",
        ),
        (
            PartialOrders(["a", "b"], [[(1, 3)], [(0, 2), (2, 5), (5, 0)]]),
            r"must not run in a circle, but observation 1 \(query 'b'\) does",
        ),
        (
            PartialOrders(["a", "b"], [[(1, 3)], [(0, 2), (5, 5)]]),
            r"observation 1 \(query 'b'\) compares 5 with itself",
        ),
        (
            PartialOrders(None, [[(1, 3)], []]),
            "qid must be given where an observation has no items, as observation 1",
        ),
        (
            Selections(["a", "b"], [[1, 3], [0, 2, 0]], [None, 0]),
            r"must show each item once, but observation 1 \(query 'b'\) shows one twice",
        ),
        (
            Selections(["a", "b"], [[1, 3], [0, 3]], [None, 0]),
            r"shown of observation 1 \(query 'b'\) is row 3, which belongs to another query",
        ),
    ],
)
def test_what_does_not_fit_is_named(observations, message):
    with pytest.raises(ValueError, match=message):
        observations.bind(LAYOUT)


def test_keys_that_do_not_fit_are_named():
    observations = Comparisons(["b", "a"], ["x", "x"], ["y", "z"], items="key")
    with pytest.raises(
        ValueError, match=r"loser of observation 1 \(query 'a'\) is 'z', which is not"
    ):
        observations.bind(LAYOUT, keys=["x", "x", "y", "y", "x", "z"])
    with pytest.raises(
        ValueError, match=r"unique within a query, but row 5 \(query 'b'\) repeats 'y'"
    ):
        observations.bind(LAYOUT, keys=["x", "x", "y", "y", "x", "y"])
    with pytest.raises(ValueError, match='keys must be given for items="key"'):
        observations.bind(LAYOUT)
    with pytest.raises(ValueError, match="one entry per row: got 2 for 6 rows"):
        observations.bind(LAYOUT, keys=["x", "y"])


@pytest.mark.parametrize("seed", range(3))
def test_circles_are_found_exactly_where_there_are_some(seed):
    """Against reachability by powers of the adjacency matrix."""
    generator = np.random.default_rng(seed)
    layout = QueryLayout.from_group([7])
    found = []
    for _ in range(60):
        edges = [
            tuple(int(x) for x in generator.choice(7, 2, replace=False))
            for _ in range(generator.integers(1, 9))
        ]
        adjacency = np.zeros((7, 7))
        for a, b in edges:
            adjacency[a, b] = 1
        circular = any(np.trace(np.linalg.matrix_power(adjacency, k)) > 0 for k in range(1, 8))
        found.append(circular)
        if circular:
            with pytest.raises(ValueError, match="circle, but observation 1"):
                PartialOrders(None, [[(0, 1)], edges]).bind(layout)
        else:
            assert len(PartialOrders(None, [[(0, 1)], edges]).bind(layout)) == 2
    assert 0 < sum(found) < 60


def test_scores_come_back_in_the_order_of_the_rows():
    """The same observations under any order of the rows give the same score to each document."""
    generator = np.random.default_rng(1)
    keys = np.arange(30)
    qid = np.repeat([3, 1, 2], 10)
    winner = generator.integers(0, 10, size=90)
    loser = (winner + generator.integers(1, 10, size=90)) % 10
    query = generator.integers(0, 3, size=90)
    winner, loser = query * 10 + winner, query * 10 + loser
    expected = aggregate(Comparisons(None, winner, loser), qid=qid)
    shuffle = generator.permutation(30)
    named = Comparisons(qid[winner], keys[winner], keys[loser], items="key")
    moved = aggregate(named, qid=qid[shuffle], keys=keys[shuffle])
    np.testing.assert_allclose(moved, expected[shuffle], rtol=0, atol=1e-14)
    place = np.argsort(shuffle)  # where each old row went
    renumbered = Comparisons(None, place[winner], place[loser])
    np.testing.assert_allclose(
        aggregate(renumbered, qid=qid[shuffle]), expected[shuffle], rtol=0, atol=1e-14
    )


class TestEdgeWeights:
    """Weights of the edges of partial orders: how much an observer prefers, not how sure we are."""

    edges = ([(0, 1), (1, 2)], [(2, 0)], [])
    weights = ([0.5, 2.0], [3.0], [])

    def adjacency(self):
        """Return the mean of the weighted adjacency matrices, the orders weighing 1, 4 and 1."""
        total = np.zeros((3, 3))
        for edges, weights, order in zip(self.edges, self.weights, (1.0, 4.0, 1.0), strict=True):
            for (i, j), weight in zip(edges, weights, strict=True):
                total[i, j] += order * weight
        return total / 6.0

    def orders(self):
        return PartialOrders(
            [0] * 3, list(self.edges), weight=[1.0, 4.0, 1.0], edge_weight=list(self.weights)
        )

    def same(self):
        flat = [(0, 1), (1, 2), (2, 0)]
        options = {"lengths": [2, 1, 0], "weight": [1.0, 4.0, 1.0]}
        yield self.orders()
        yield PartialOrders([0] * 3, flat, **options, edge_weight=[0.5, 2.0, 3.0])
        yield PartialOrders.from_flat(
            [0] * 3, [0, 1, 2], [1, 2, 0], **options, edge_weight=[0.5, 2.0, 3.0]
        )
        yield pickle.loads(pickle.dumps(self.orders()))
        yield self.orders().take([1, 0, 2])
        yield self.orders().for_rows([0, 1, 2])

    def test_mean_adjacency_is_that_of_the_weighted_graphs(self):
        a = self.adjacency()
        for orders in self.same():
            scores = aggregate(orders, "mean_adjacency", qid=[0] * 3)
            np.testing.assert_allclose(scores, (a - a.T).sum(axis=1), rtol=0, atol=1e-14)

    def test_loss_of_the_averaged_graph(self):
        """Equation 23 of Duchi, Mackey and Jordan 2013."""
        a, s = self.adjacency(), np.array([0.2, -0.5, 0.9])
        expected = sum(
            max(a[i, j] - a[j, i], 0.0) * np.log1p(np.exp(-(s[i] - s[j])))
            for i in range(3)
            for j in range(3)
        )
        value = PreferenceLogistic(self.orders()).loss([0.0] * 3, s, [3])[0]
        assert value == pytest.approx(expected, rel=1e-12)

    def test_frame(self):
        frame = {
            "qid": [0] * 3,
            "order": [7, 7, 8],
            "winner": [0, 1, 2],
            "loser": [1, 2, 0],
            "how_much": [0.5, 2.0, 3.0],
        }
        orders = PartialOrders.from_frame(frame, edge_weight="how_much")
        bound = orders.bind(None, qid=[0] * 3)
        assert bound.edge_weight.tolist() == [0.5, 2.0, 3.0]
        assert (
            PartialOrders.from_frame(frame).bind(None, qid=[0] * 3).edge_weight.tolist()
            == [1.0] * 3
        )

    @pytest.mark.parametrize(
        ("edge_weight", "message"),
        [
            ([[0.5], [3.0], []], "edge_weight must have one number for each pair of edges"),
            ([[0.5, -1.0], [3.0], []], "edge_weight must be finite .* that of edge 1 is -1"),
            ([[0.5, np.nan], [3.0], []], "edge_weight must be finite .* that of edge 1 is nan"),
        ],
    )
    def test_errors(self, edge_weight, message):
        with pytest.raises(ValueError, match=message):
            PartialOrders([0] * 3, list(self.edges), edge_weight=edge_weight)
