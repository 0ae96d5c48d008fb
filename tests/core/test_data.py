"""The one record of rows: what goes with a row stays with it, whatever kind it is."""

import pickle
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import gbrank.core
import gbrank.data
from gbrank.data import RankingData

Y = np.array([2.0, 0.0, 1.0, 0.0, 3.0, 1.0])
QID = np.array([7, 3, 7, 9, 3, 7])
PLACES = {7: [0, 2, 5], 3: [1, 4], 9: [3]}  # by first appearance


def features():
    return np.arange(12.0).reshape(6, 2)


def full():
    return RankingData(features(), Y, QID, np.arange(6) + 1.0, np.arange(6) / 10, np.arange(6) % 3)


def test_one_class_under_two_names():
    assert gbrank.core.RankingData is gbrank.data.RankingData


def test_what_is_given_is_what_there_is():
    X = features()
    data = RankingData(X, Y, QID)
    assert all(found is given for found, given in zip(data, (X, Y, QID), strict=True))
    assert [data.sample_weight, data.init_score, data.position] == [None] * 3
    assert (data.n_rows, data.n_queries) == (6, 3)
    with pytest.raises(AttributeError):
        data.y = Y


def test_take_keeps_rows_together_and_every_field_with_its_row():
    data = full()
    some = data.take([2, 0])
    rows = PLACES[9] + PLACES[7]
    for name in ("X", "y", "qid", "sample_weight", "init_score", "position"):
        np.testing.assert_array_equal(getattr(some, name), getattr(data, name)[rows])
    np.testing.assert_array_equal(some.group, [1, 3])
    assert list(some.layout.query_ids) == [9, 7]
    np.testing.assert_array_equal(some.layout.bounds, [0, 1, 4])


def test_take_of_all_queries_sorts_by_query():
    whole = full().take(range(3))
    np.testing.assert_array_equal(whole.qid, [7, 7, 7, 3, 3, 9])
    np.testing.assert_array_equal(whole.sample_weight, [1, 3, 6, 2, 5, 4])


def test_a_layout_after_take_is_that_of_its_ids():
    """The layout is handed on, not computed again: it must be the same."""
    rng = np.random.default_rng(0)
    data = RankingData(np.zeros((200, 1)), np.zeros(200), rng.integers(0, 40, 200))
    taken = data.take(rng.permutation(data.n_queries)[:17])
    again = RankingData(taken.X, taken.y, taken.qid).layout
    np.testing.assert_array_equal(taken.layout.bounds, again.bounds)
    np.testing.assert_array_equal(taken.layout.query_ids, again.query_ids)
    assert taken.layout.order is None


@pytest.mark.parametrize(
    "qid",
    [
        list("aabbba"),
        tuple("aabbba"),
        np.array(list("aabbba")),
        pd.Series(list("aabbba"), index=range(10, 16)),
        pd.Categorical(list("aabbba")),
        pd.Index(list("aabbba")),
    ],
    ids=["list", "tuple", "array", "series", "categorical", "index"],
)
def test_ids_of_every_kind_go_with_their_rows(qid):
    data = RankingData(features(), Y, qid)
    assert list(data.take([1]).qid) == ["b", "b", "b"]
    assert list(data.take_rows([5, 2]).qid) == ["a", "b"]
    np.testing.assert_array_equal(data.take([1]).y, Y[2:5])


def test_features_of_every_kind_stay_what_they_are():
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X = features()
    frame = pd.DataFrame(X, columns=["a", "b"])
    kinds = {
        "array": X,
        "csr": sparse.csr_matrix(X),
        "csc": sparse.csc_matrix(X),
        "pandas": frame,
        "polars": polars.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
        "arrow": arrow.table({"a": X[:, 0], "b": X[:, 1]}),
        "list": X.tolist(),
    }
    for name, given in kinds.items():
        taken = RankingData(given, Y, QID).take([1]).X
        as_array = taken.toarray() if sparse.issparse(taken) else np.asarray(taken)
        if name == "arrow":
            as_array = np.stack([taken.column(column).to_numpy() for column in "ab"], axis=1)
        np.testing.assert_array_equal(as_array, X[PLACES[3]], err_msg=name)
        assert sparse.issparse(taken) == sparse.issparse(given)
        assert sparse.issparse(taken) or type(taken) is type(given)


def test_split_is_of_whole_queries():
    data = full()
    first, second = data.split(2 / 3)
    assert (sorted(set(first.qid)), sorted(set(second.qid))) == ([3, 7], [9])
    everything, nothing = data.split(1)
    assert (everything.n_rows, nothing.n_rows, nothing.n_queries) == (6, 0, 0)
    with pytest.raises(ValueError, match=r"fraction must be a number in \[0, 1\], got 1.5"):
        data.split(1.5)


def test_a_split_with_a_seed_draws_the_queries():
    data = RankingData(np.zeros((300, 1)), np.zeros(300), np.repeat(np.arange(100), 3))
    first, second = data.split(0.3, random_state=5)
    ids = set(first.qid), set(second.qid)
    assert [len(some) for some in ids] == [30, 70]
    assert not ids[0] & ids[1]
    assert ids[0] != set(range(30))
    np.testing.assert_array_equal(first.qid, data.split(0.3, random_state=5)[0].qid)


def test_rows_may_be_cut_and_repeated():
    data = full().take_rows([5, 5, 0])
    np.testing.assert_array_equal(data.y, Y[[5, 5, 0]])
    np.testing.assert_array_equal(data.position, [2, 2, 0])
    assert data.n_queries == 1


@pytest.mark.parametrize("places", [[True, False, True], [0.7], [[0]], ["a"]])
def test_a_mask_or_fractions_are_no_places(places):
    """They would be taken for other rows: True for 1, 0.7 for 0."""
    with pytest.raises(ValueError, match="queries must be one row of integers"):
        full().take(places)
    with pytest.raises(ValueError, match="rows must be one row of integers"):
        full().take_rows(places)


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([3], "queries must be numbers from 0 to 2, got 3"),
        ([-1], "queries must be numbers from 0 to 2, got -1"),
        ([1, 1], "once each"),
    ],
)
def test_queries_that_there_are_not(queries, message):
    with pytest.raises(ValueError, match=message):
        full().take(queries)


def test_group_needs_the_rows_of_a_query_together():
    with pytest.raises(ValueError, match="rows of a query are not together"):
        _ = full().group
    np.testing.assert_array_equal(full().take(range(3)).group, [3, 2, 1])


def test_without_queries():
    data = RankingData(features(), None, None)
    assert repr(data) == "RankingData(n_rows=6, n_features=2)"
    with pytest.raises(ValueError, match="these data have no queries: qid is None"):
        _ = data.n_queries
    with pytest.raises(ValueError, match="qid must have one entry per row: got 2 for 6 rows"):
        _ = RankingData(features(), Y, [1, 2]).layout


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Named(RankingData):
    url: Any
    source: str = field(metadata={"by_row": False})


def test_fields_of_a_subclass():
    data = Named(features(), Y, QID, url=np.array(list("uvwxyz")), source="somewhere")
    taken = data.take([1])
    assert isinstance(taken, Named)
    assert (list(taken.url), taken.source) == (["v", "y"], "somewhere")
    assert repr(taken) == "Named(n_rows=2, n_queries=1, n_features=2)"
    changed = replace(data, qid=np.zeros(6))
    assert changed.n_queries == 1  # the layout is that of the new ids
    copied = pickle.loads(pickle.dumps(data))
    assert (copied.source, copied.n_queries) == ("somewhere", 3)


class TestChecked:
    def test_labels_weights_and_scores_are_float64(self):
        data = RankingData.checked(
            features(), Y.astype(int), QID, sample_weight=[1] * 6, init_score=[[0]] * 6,
            position=[0.0] * 6,
        )  # fmt: skip
        assert data.y.dtype == data.sample_weight.dtype == data.init_score.dtype == np.float64
        assert data.init_score.shape == (6,)
        assert data.position.dtype == np.int64

    def test_group_instead_of_ids(self):
        data = RankingData.checked(features(), Y, group=[4, 0, 2])
        np.testing.assert_array_equal(data.qid, [0, 0, 0, 0, 2, 2])
        np.testing.assert_array_equal(data.group, [4, 0, 2])

    def test_a_weight_per_query_in_the_order_of_first_rows(self):
        data = RankingData.checked(features(), Y, QID, sample_weight=[0.5, 2, 4])
        np.testing.assert_array_equal(data.sample_weight, [0.5, 2, 0.5, 4, 2, 0.5])

    def test_labels_below_zero_where_they_may_be(self):
        labels = [-1.0, 0, 0, 0, 0, 0]
        assert RankingData.checked(features(), labels, QID, signed=True).y[0] == -1
        with pytest.raises(ValueError, match=r"row 0 \(query 7\) has -1"):
            RankingData.checked(features(), labels, QID)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"y": [1, 2]}, "labels \\(y\\) must have one entry per row: got 2 for 6 rows"),
            ({"y": [1, 2, 3, np.nan, 1, 1]}, r"row 3 \(query 9\) has nan"),
            ({"qid": None}, "give either qid .* got neither"),
            ({"group": [6]}, "give either qid .* got both"),
            ({"sample_weight": [1, 2]}, "weights \\(sample_weight\\) must have one entry per row"),
            ({"sample_weight": [1, 2, -1]}, "that of query 9 is -1"),
            ({"sample_weight": [0] * 6}, "at least one non-zero"),
            ({"init_score": [np.inf] * 6}, "scores must be finite"),
            ({"position": [0.5] * 6}, "position must be an integer >= 0"),
            ({"position": [-1] * 6}, "position must be an integer >= 0"),
        ],
    )
    def test_each_part_is_named(self, change, message):
        good = {"X": features(), "y": Y, "qid": QID}
        with pytest.raises(ValueError, match=message):
            RankingData.checked(**{**good, **change})

    def test_masked_arrays_are_not_read_behind_their_masks(self):
        masked = np.ma.MaskedArray(Y, mask=[0, 0, 1, 0, 0, 0])
        with pytest.raises(
            ValueError, match=r"labels \(y\) must not be missing, but that of row 2 is"
        ):
            RankingData.checked(features(), masked, QID)
        with pytest.raises(ValueError, match="must not be missing, but that of row 2 is"):
            RankingData.checked(features(), Y, QID, init_score=masked)
