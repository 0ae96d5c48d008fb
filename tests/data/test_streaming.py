"""Streaming gives the Dataset, and so the trees, that data in memory give."""

import lightgbm as lgb
import numpy as np
import pytest

from gbrank import Ranker
from gbrank.data import (
    RowStream,
    _blocks,
    dump_letor,
    letor_to_binary,
    load_letor,
    make_ranking,
    stream_letor,
    stream_parquet,
)

TREES = {"n_estimators": 4, "num_leaves": 7, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=50, random_state=3)


@pytest.fixture
def letor(data, tmp_path, monkeypatch):
    """Return a file that is read in many blocks, most of which end within a query."""
    monkeypatch.setattr(_blocks, "_BLOCK_BYTES", 10_000)
    path = tmp_path / "train.txt"
    dump_letor(data.X, data.y, data.qid, path)
    assert path.stat().st_size > 100_000
    return path


def write_parquet(path, data, rows=slice(None), **columns):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    features = {f"f{j}": data.X[rows, j] for j in range(data.X.shape[1])}
    table = {"label": data.y[rows], "qid": data.qid[rows], **features, **columns}
    parquet.write_table(pa.table(table), path, row_group_size=170)
    return path


def predict(X, training, **fit):
    ranker = Ranker.lightgbm_defaults("squared", **TREES).fit(training, **fit)
    assert np.ptp(ranker.booster_.predict(X)) > 0.01
    return ranker.booster_.predict(X)


def test_a_stream_gives_any_rows():
    rows = np.arange(60.0).reshape(20, 3)
    stream = RowStream(lambda: iter(np.split(rows, [1, 4, 4, 11])), 20)
    assert len(stream) == 20
    for key in (0, 10, 3, -1, slice(2, 15), slice(0, 20), slice(5, 5), [1, 7, 2]):
        got = stream[key]
        np.testing.assert_array_equal(got, rows[key])
        assert got.dtype == np.float64
    with pytest.raises(IndexError, match="row 20 of 20"):
        stream[20]


def test_a_stream_reads_forward_and_holds_one_block():
    opened = []

    def open_blocks():
        opened.append(0)
        for start in range(0, 100, 10):
            opened[-1] += 1
            yield np.full((10, 2), start, dtype=np.float32)

    stream = RowStream(open_blocks, 100)
    for row in range(0, 100, 7):
        assert stream[row][0] == row // 10 * 10
    assert opened == [10]  # once, block after block
    stream[5]
    assert opened == [10, 1]


def test_a_source_that_got_shorter_is_an_error():
    stream = RowStream(lambda: iter([np.zeros((3, 2))]), 5)
    with pytest.raises(ValueError, match="ended after 3 of 5 rows"):
        stream[0:5]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_letor_streamed_equals_letor_loaded(letor, dtype):
    X, y, qid = load_letor(letor, dtype=dtype)
    group = np.diff(np.flatnonzero(np.append(np.append(True, qid[1:] != qid[:-1]), True)))
    streamed = stream_letor(letor, dtype=dtype)
    np.testing.assert_array_equal(predict(X, streamed), predict(X, lgb.Dataset(X, y, group=group)))
    np.testing.assert_array_equal(streamed.get_label(), y)
    np.testing.assert_array_equal(streamed.get_group(), group)


def test_letor_in_two_files_the_second_with_more_features(tmp_path):
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    second.write_text("# a query that goes on\n2 qid:1 3:1.5\n0 qid:2 2:1\n")
    data = stream_letor([first, second], params={"min_data_in_bin": 1, "verbosity": -1})
    np.testing.assert_array_equal(
        data.data[0:4], [[0.5, 0, 0], [0.25, 0, 0], [0, 0, 1.5], [0, 1, 0]]
    )
    assert list(data.construct().get_group()) == [3, 1]


def test_letor_for_validation_has_the_bins_of_training(letor, data):
    training = stream_letor(letor)
    validation = stream_letor(letor, reference=training)
    ranker = Ranker.lightgbm_defaults("squared", **TREES).fit(training, eval_X=validation)
    assert len(ranker.evals_result_["valid_0"]["ndcg@10"]) == TREES["n_estimators"]
    assert validation.num_feature() == data.X.shape[1]


def test_letor_to_a_binary_file(letor, tmp_path, data):
    target = tmp_path / "train.bin"
    target.write_text("something older")
    letor_to_binary(letor, target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.bin", "train.txt"]
    np.testing.assert_array_equal(
        predict(data.X, lgb.Dataset(target)), predict(data.X, stream_letor(letor))
    )


def test_a_failed_conversion_leaves_the_old_file(tmp_path):
    text, target = tmp_path / "bad.txt", tmp_path / "train.bin"
    text.write_text("1 qid:1 1:0.5\nx qid:1 1:0.5\n")
    target.write_text("something older")
    with pytest.raises(ValueError, match=r"bad.txt, line 2: expected a finite number"):
        letor_to_binary(text, target)
    assert target.read_text() == "something older"
    with pytest.raises(FileNotFoundError, match="folder of target"):
        letor_to_binary(text, tmp_path / "nowhere" / "train.bin")


def test_features_are_never_all_in_memory(letor, data):
    """The largest block is a small part of the file."""
    stream = stream_letor(letor).data
    sizes = [len(block) for block in stream._open_blocks()]
    assert sum(sizes) == len(data.y)
    assert max(sizes) < len(data.y) / 10


def test_rows_of_a_query_apart_are_refused(tmp_path):
    text = tmp_path / "torn.txt"
    text.write_text("1 qid:7 1:0.5\n0 qid:8 1:0.5\n0 qid:7 1:0.25\n")
    with pytest.raises(ValueError, match=r"row 2 \(query 7\) comes after rows of other queries"):
        stream_letor(text)


def test_empty_letor_is_refused(tmp_path):
    text = tmp_path / "empty.txt"
    text.write_text("# nothing\n")
    with pytest.raises(ValueError, match="holds no documents"):
        stream_letor(text)


def test_parquet_streamed_equals_arrays(data, tmp_path):
    path = write_parquet(tmp_path / "train.parquet", data)
    streamed = stream_parquet(path, batch_rows=64)
    expected = Ranker.lightgbm_defaults("squared", **TREES).fit(data.X, data.y, qid=data.qid)
    np.testing.assert_array_equal(predict(data.X, streamed), expected.predict(data.X))
    assert streamed.get_feature_name() == [f"f{j}" for j in range(data.X.shape[1])]


def test_parquet_in_two_files_that_cut_a_query(data, tmp_path):
    middle = len(data.y) // 2
    while data.qid[middle] != data.qid[middle - 1]:
        middle += 1
    paths = [
        write_parquet(tmp_path / "a.parquet", data, slice(None, middle)),
        write_parquet(tmp_path / "b.parquet", data, slice(middle, None)),
    ]
    whole = write_parquet(tmp_path / "whole.parquet", data)
    np.testing.assert_array_equal(
        predict(data.X, stream_parquet(paths)), predict(data.X, stream_parquet(whole))
    )


def test_parquet_weights_features_and_missing_values(data, tmp_path):
    pa = pytest.importorskip("pyarrow")
    weight = np.random.default_rng(0).uniform(0.5, 2, len(data.y))
    gaps = pa.array([None if row % 3 else row for row in range(len(data.y))], type=pa.int64())
    path = write_parquet(tmp_path / "train.parquet", data, w=weight, gaps=gaps)
    chosen = ["gaps", "f3", "f0"]
    streamed = stream_parquet(path, weight="w", features=chosen)
    as_floats = np.array([np.nan if row % 3 else row for row in range(len(data.y))])
    X = np.column_stack([as_floats, data.X[:, 3], data.X[:, 0]])
    np.testing.assert_array_equal(streamed.data[0 : len(X)], X)
    expected = Ranker.lightgbm_defaults("squared", **TREES).fit(
        X, data.y, qid=data.qid, sample_weight=weight
    )
    np.testing.assert_array_equal(predict(X, streamed), expected.predict(X))


def test_parquet_errors_name_what_is_wrong(data, tmp_path):
    pa = pytest.importorskip("pyarrow")
    n_rows = len(data.y)
    path = write_parquet(
        tmp_path / "train.parquet",
        data,
        text=["a"] * n_rows,
        holes=pa.array([None] + [1.0] * (n_rows - 1)),
    )
    with pytest.raises(ValueError, match=r"column 'text' of .* is of type string"):
        stream_parquet(path)
    with pytest.raises(ValueError, match="has no column 'query'"):
        stream_parquet(path, qid="query")
    with pytest.raises(ValueError, match=r"column 'holes' must have a value .* row 0 is null"):
        stream_parquet(path, label="holes", features=["f0"])
    with pytest.raises(ValueError, match="batch_rows"):
        stream_parquet(path, features=["f0"], batch_rows=0)
    with pytest.raises(ValueError, match="at least one file"):
        stream_parquet([])
    shuffled = np.random.default_rng(0).permutation(n_rows)
    torn = write_parquet(tmp_path / "torn.parquet", data, shuffled)
    with pytest.raises(ValueError, match="the rows of a query must follow each other"):
        stream_parquet(torn)
