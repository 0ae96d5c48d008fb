"""Observations as objects: they read many shapes of input, never change, and are never copied."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from gbrank.core.queries import QueryLayout
from gbrank.preferences import Comparisons, PartialOrders, Selections, read_catboost_pairs

LAYOUT = QueryLayout.from_qid(["a"] * 3 + ["b"] * 3)

EXAMPLES = [
    Comparisons(["a", "b"], [0, 3], [1, 4], [1.0, 2.0]),
    PartialOrders(["a", "b"], [[(0, 1), (1, 2)], [(4, 3)]], weight=[1.0, 2.0]),
    Selections(["a", "b"], [[2, 1, 0], [3, 5]], [1, None], weight=[1.0, 2.0]),
]


def as_lists(bound):
    names = ("query_bounds", "edge_bounds", "winner", "loser", "observation_weight")
    return [getattr(bound, name).tolist() for name in names]


@pytest.mark.parametrize("observations", EXAMPLES, ids=repr)
class TestEveryKind:
    def test_is_shared_by_copies(self, observations):
        assert copy.copy(observations) is observations
        assert copy.deepcopy({"nested": [observations]})["nested"][0] is observations
        assert clone(observations, safe=False) is observations

    def test_survives_pickling_and_stays_frozen(self, observations):
        again = pickle.loads(pickle.dumps(observations))
        assert as_lists(again.bind(LAYOUT)) == as_lists(observations.bind(LAYOUT))
        with pytest.raises(ValueError, match="read-only"):
            again.weight[0] = 5.0

    def test_cannot_be_changed(self, observations):
        with pytest.raises(AttributeError, match="cannot be changed"):
            observations.items = "key"
        with pytest.raises(AttributeError, match="cannot be changed"):
            del observations.items
        with pytest.raises(ValueError, match="read-only"):
            observations.weight[0] = 5.0

    def test_equals_itself_only(self, observations):
        assert observations == observations
        assert observations != pickle.loads(pickle.dumps(observations))
        assert len({observations, observations}) == 1

    def test_has_a_length_and_a_short_repr(self, observations):
        assert len(observations) == 2
        assert repr(observations) == f"{type(observations).__name__}(n=2, queries=2)"

    def test_bound_arrays_are_read_only_and_contiguous(self, observations):
        bound = observations.bind(LAYOUT)
        for name in bound.__slots__:
            value = getattr(bound, name)
            if isinstance(value, np.ndarray):
                assert not value.flags.writeable, name
                assert value.flags.c_contiguous, name
        assert bound.winner.dtype == bound.loser.dtype == np.int32
        assert copy.deepcopy(bound) is bound


def test_the_arrays_given_stay_the_users_own():
    winner, loser, weight = np.array([0, 1]), np.array([1, 2]), np.array([1.0, 1.0])
    observations = Comparisons(None, winner, loser, weight)
    winner[0], loser[0], weight[0] = 2, 0, 7.0
    bound = observations.bind(LAYOUT)
    assert bound.winner.tolist() == [0, 1]
    assert bound.loser.tolist() == [1, 2]
    assert bound.observation_weight.tolist() == [1.0, 1.0]


def test_a_repr_without_query_ids_names_the_number_alone():
    assert repr(Comparisons(None, [0], [1])) == "Comparisons(n=1)"


def test_frames_and_arrays_give_the_same_comparisons():
    frame = pd.DataFrame(
        {"q": pd.Categorical(["a", "b"]), "better": [0, 3], "worse": [1, 4], "times": [1, 2]}
    )
    read = Comparisons.from_frame(frame, qid="q", winner="better", loser="worse", weight="times")
    assert as_lists(read.bind(LAYOUT)) == as_lists(EXAMPLES[0].bind(LAYOUT))


def test_a_frame_of_edges_gives_partial_orders():
    frame = pd.DataFrame(
        {
            "qid": ["a", "b", "a"],
            "order": [7, 3, 7],
            "winner": [0, 4, 1],
            "loser": [1, 3, 2],
            "weight": [1.0, 2.0, 1.0],
        }
    )
    read = PartialOrders.from_frame(frame, weight="weight")
    assert as_lists(read.bind(LAYOUT)) == as_lists(EXAMPLES[1].bind(LAYOUT))
    with pytest.raises(ValueError, match="qid must be the same for all rows of one order, but 7"):
        PartialOrders.from_frame(frame.assign(qid=["a", "b", "b"]))


def test_a_frame_of_shown_items_gives_selections():
    frame = pd.DataFrame(
        {
            "qid": ["a", "b", "a", "a", "b"],
            "list": ["x", "y", "x", "x", "y"],
            "item": [2, 3, 1, 0, 5],
            "clicked": [0, 0, 1, 0, 0],
        }
    )
    bound = Selections.from_frame(frame).bind(LAYOUT)
    assert bound.shown.tolist() == [2, 1, 0, 0, 2]
    assert bound.clicked.tolist() == [1, -1]
    assert (bound.winner.tolist(), bound.loser.tolist()) == ([1], [2])
    with pytest.raises(ValueError, match="at most one 1 for each list, but list 'x' has 2"):
        Selections.from_frame(frame.assign(clicked=[1, 0, 1, 0, 0]))


def test_an_absent_column_is_named():
    with pytest.raises(ValueError, match=r"loser must name a column .* no 'loser'; .*\['qid', 'w"):
        Comparisons.from_frame(pd.DataFrame({"qid": [1], "winner": [0]}))


def test_flat_and_nested_input_are_the_same():
    nested = PartialOrders(["a", "b"], [[(0, 1), (1, 2)], [(4, 3)]])
    table = PartialOrders(["a", "b"], np.array([[0, 1], [1, 2], [4, 3]]), lengths=[2, 1])
    flat = PartialOrders.from_flat(["a", "b"], [0, 1, 4], [1, 2, 3], [2, 1])
    assert as_lists(nested.bind(LAYOUT)) == as_lists(table.bind(LAYOUT))
    assert as_lists(nested.bind(LAYOUT)) == as_lists(flat.bind(LAYOUT))
    lists = Selections(["a", "b"], [[2, 1, 0], [3, 5]], [1, -1]).bind(LAYOUT)
    others = Selections(["a", "b"], [2, 1, 0, 3, 5], [1, np.nan], lengths=[3, 2]).bind(LAYOUT)
    assert lists.shown.tolist() == others.shown.tolist()
    assert lists.shown_bounds.tolist() == others.shown_bounds.tolist() == [0, 3, 5]


@pytest.mark.parametrize("nothing", [-1, None, np.nan, pd.NA])
def test_every_way_to_say_no_click(nothing):
    clicked = pd.Series([1, nothing], dtype=object)
    assert Selections(None, [[0, 1], [1, 0]], clicked).bind(LAYOUT).clicked.tolist() == [1, -1]


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((["a"], [0, 1], [1, 0]), "qid must have one entry per observation: got 1 for 2"),
            ((None, [0, 1], [1]), "loser must have one entry per observation: got 1 for 2"),
            ((None, [0, -1], [1, 0]), "winner must be integers >= 0, but entry 1 is -1"),
            ((None, [0.5], [1]), "winner must be integers >= 0, but entry 0 is 0.5"),
            ((None, [0], [np.nan]), "loser must be integers >= 0, but entry 0 is nan"),
            ((None, [0], [1], [-2.0]), "finite numbers >= 0, but that of observation 0 is -2"),
            ((None, [0], [1], [np.nan]), "finite numbers >= 0, but that of observation 0 is nan"),
            ((None, [0, 0], [1, 1], [1, 1e39]), "at most 3.40282e.38.* observation 1 is 1e.39"),
            ((None, [0], [1], [1.0, 1.0]), "weight must have one entry per observation: got 2"),
            (([None], [0], [1]), "qid must not be missing, but that of entry 0 is"),
            ((None, [[0]], [[1]]), "winner must be one-dimensional"),
        ],
    )
    def test_comparisons(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            Comparisons(*arguments)

    def test_items_of_the_wrong_kind(self):
        with pytest.raises(TypeError, match=r'winner must be numbers.*give items="key"'):
            Comparisons(None, ["x"], ["y"])
        with pytest.raises(
            ValueError, match="items must be 'row' or 'key' or 'position', got 'id'"
        ):
            Comparisons(None, [0], [1], items="id")
        with pytest.raises(ValueError, match='qid must be given with items="key"'):
            Comparisons(None, ["x"], ["y"], items="key")

    def test_selections(self):
        with pytest.raises(
            ValueError, match=r"observation 1 \(query 'b'\) was clicked at 2 and sh"
        ):
            Selections(["a", "b"], [[0, 1], [3, 4]], [1, 2])
        with pytest.raises(ValueError, match="clicked must be integers >= -1, but entry 0 is"):
            Selections(None, [[0, 1]], [-2])
        with pytest.raises(ValueError, match="clicked must have one entry per observation: got 2"):
            Selections(None, [[0, 1]], [0, 1])
        with pytest.raises(ValueError, match="edges must be 'examined' or 'shown', got 'all'"):
            Selections(None, [[0, 1]], [0], edges="all")
        with pytest.raises(ValueError, match="lengths must sum to the number of entries of shown"):
            Selections(None, [0, 1, 2], [0], lengths=[2])
        with pytest.raises(TypeError, match="shown must be a list of lists"):
            Selections(None, [0, 1, 2], [0])

    def test_partial_orders(self):
        with pytest.raises(
            ValueError, match=r"\(winner, loser\) pairs, but entry 1 is \(1, 2, 0\)"
        ):
            PartialOrders(None, [[(0, 1), (1, 2, 0)]])
        with pytest.raises(ValueError, match=r"two columns, got shape \(2, 3\)"):
            PartialOrders(None, np.zeros((2, 3), dtype=int), lengths=[2])
        with pytest.raises(ValueError, match="of one length, got 2 and 1"):
            PartialOrders.from_flat(None, [0, 1], [1], [2])


class TestCatBoostPairs:
    def test_plain(self, tmp_path):
        (tmp_path / "p").write_text("0\t1\n5\t3\n")
        bound = read_catboost_pairs(tmp_path / "p").bind(LAYOUT)
        assert (bound.winner.tolist(), bound.loser.tolist()) == ([0, 2], [1, 0])
        assert bound.query_bounds.tolist() == [0, 1, 2]

    def test_weighted(self, tmp_path):
        (tmp_path / "p").write_text("0\t1\t0.5\n\n5\t3\t2\n")
        bound = read_catboost_pairs(tmp_path / "p").bind(LAYOUT)
        assert bound.observation_weight.tolist() == [0.5, 2.0]

    def test_grouped(self, tmp_path):
        (tmp_path / "p").write_text("b\t2\t0\na\t0\t1\n")
        bound = read_catboost_pairs(tmp_path / "p", grouped=True).bind(LAYOUT)
        assert (bound.winner.tolist(), bound.loser.tolist()) == ([0, 2], [1, 0])

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("0\t1\n2\n", r"line 2: expected winner, loser and optionally a weight.*got '2'"),
            ("0 1\n", "line 1: expected winner, loser"),
            ("0\t1\n2\t1\t0.5\n", "line 2: expected"),
            ("0\t1.5\n", "line 1: winner and loser must be integers"),
            ("0\t1\tx\n", "line 1: .*the weight a number"),
        ],
    )
    def test_bad_lines(self, tmp_path, text, message):
        (tmp_path / "p").write_text(text)
        with pytest.raises(ValueError, match=message):
            read_catboost_pairs(tmp_path / "p")

    def test_an_empty_file(self, tmp_path):
        (tmp_path / "p").write_text("")
        assert len(read_catboost_pairs(tmp_path / "p").bind(LAYOUT)) == 0


class TestParts:
    @pytest.mark.parametrize("observations", EXAMPLES, ids=repr)
    def test_taking_all_in_another_order(self, observations):
        turned = observations.take([1, 0])
        assert as_lists(turned.bind(LAYOUT)) == as_lists(observations.bind(LAYOUT))
        assert turned.weight.tolist() == [2.0, 1.0]
        assert (
            repr(observations.take([False, True]))
            == f"{type(observations).__name__}(n=1, queries=1)"
        )
        assert len(observations.take(np.zeros(2, dtype=bool))) == 0
        with pytest.raises(ValueError, match="read-only"):
            turned.weight[0] = 5.0

    def test_taking_lists(self):
        part = EXAMPLES[2].take([1])
        bound = part.bind(LAYOUT)
        assert (bound.shown.tolist(), bound.clicked.tolist()) == ([0, 2], [-1])

    @pytest.mark.parametrize("observations", EXAMPLES, ids=repr)
    def test_queries(self, observations):
        part = observations.for_queries(["b"])
        assert as_lists(part.bind(LAYOUT)) == as_lists(observations.take([1]).bind(LAYOUT))
        assert len(observations.for_queries(["q"])) == 0

    @pytest.mark.parametrize("observations", EXAMPLES, ids=repr)
    def test_rows_are_renumbered(self, observations):
        """With the rows of query b in front, and row 2 of query a gone."""
        rows = [3, 4, 5, 1, 0]
        part = observations.for_rows(rows)
        layout = QueryLayout.from_qid(["b", "b", "b", "a", "a"])
        bound = part.bind(layout)
        assert bound.query_bounds[1] == 1  # that of b
        if isinstance(observations, Comparisons):
            assert (bound.winner.tolist(), bound.loser.tolist()) == ([0, 1], [1, 0])
        else:  # the other observation of query a names row 2
            assert len(part) == 1
        assert as_lists(observations.for_rows(np.ones(6, dtype=bool)).bind(LAYOUT)) == as_lists(
            observations.bind(LAYOUT)
        )

    def test_what_cannot_be_cut(self):
        with pytest.raises(ValueError, match="chosen must be below 2, got 2"):
            EXAMPLES[0].take([2])
        with pytest.raises(ValueError, match="chosen must have one entry per observation: got 3"):
            EXAMPLES[0].take([True, False, True])
        with pytest.raises(ValueError, match="rows must name each row once"):
            EXAMPLES[0].for_rows([0, 1, 1])
        with pytest.raises(ValueError, match='for_rows needs items="row", these have items="key"'):
            Comparisons(["a"], ["x"], ["y"], items="key").for_rows([0])
        with pytest.raises(ValueError, match="for_queries needs the query id of each observation"):
            Comparisons(None, [0], [1]).for_queries(["a"])
