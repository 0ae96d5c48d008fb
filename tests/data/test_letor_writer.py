"""dump_letor: what it writes reads back exactly, here and elsewhere."""

import gzip
import re
import stat

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.datasets import load_svmlight_file

from gbrank.data import dump_letor, load_letor, make_ranking

SUFFIXES = ["", ".gz", ".bz2", ".xz"]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether all numbers are the same, signs of zeros too; any NaN equals any other."""
    bits = np.uint32 if a.dtype == np.float32 else np.uint64
    both_nan = np.isnan(a) & np.isnan(b)
    return a.dtype == b.dtype and bool(((a.view(bits) == b.view(bits)) | both_nan).all())


@pytest.mark.parametrize("width", [32, 64])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_dense_round_trip(tmp_path_factory, width, data):
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(0, 6)))
    values = st.one_of(
        st.floats(width=width),
        st.floats(-1000, 1000, width=width),
        st.integers(-(10**6), 10**6)
        .map(lambda number: number / 1000)
        .map(lambda number: float(np.float32(number)) if width == 32 else number),
        st.integers(-(2**24), 2**24).map(float),
    )
    X = data.draw(arrays.arrays(np.dtype(f"f{width // 8}"), shape, elements=values))
    n_rows = shape[0]
    y = data.draw(arrays.arrays(float, n_rows, elements=st.floats(-1e300, 1e300)))
    qid = data.draw(arrays.arrays(np.int64, n_rows, elements=st.integers(1 - 2**63, 2**63 - 1)))
    text = st.text(st.characters(blacklist_characters="\n", blacklist_categories=("Cs",)))
    comments = data.draw(st.lists(text, min_size=n_rows, max_size=n_rows))
    zero_based = data.draw(st.booleans())
    path = tmp_path_factory.mktemp("dump") / "data.txt"

    dump_letor(X, y, qid, path, comments=comments, zero_based=zero_based)
    back = load_letor(path, dtype=X.dtype, comments=True, zero_based=zero_based)
    assert back.X.shape == X.shape
    assert same_bits(back.X, X)
    assert same_bits(back.y, y)
    np.testing.assert_array_equal(back.qid, qid)
    assert back.comments.tolist() == [comment.strip(" \t\r") for comment in comments]


@settings(max_examples=100, deadline=None)
@given(
    X=arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(1, 8)),
        elements=st.one_of(st.just(0.0), st.floats(width=32)),
    )
)
def test_sparse_round_trip(tmp_path_factory, X):
    path = tmp_path_factory.mktemp("dump") / "data.txt"
    n_rows = len(X)
    for matrix in (csr_matrix(X), csc_matrix(X)):
        dump_letor(matrix, np.zeros(n_rows), np.arange(n_rows), path)
        back = load_letor(path, sparse=True)
        assert back.X.shape == X.shape  # even if the last columns are empty
        np.testing.assert_array_equal(back.X.toarray(), X)
        np.testing.assert_array_equal(load_letor(path).X, X)


def test_unsorted_and_repeated_entries_of_a_sparse_matrix(tmp_path):
    X = csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    dump_letor(X, [1], [1], tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "1 qid:1 1:2 3:5\n"
    np.testing.assert_array_equal(X.indices, [2, 0, 2])  # the caller's matrix is as it was


@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED_null"])
def test_real_data_round_trip(real_data, tmp_path, name):
    expected = real_data(name)
    path = tmp_path / "data.txt.gz"
    dump_letor(expected["X"][:3000], expected["y"][:3000], expected["qid"][:3000], path)
    X, y, qid = load_letor(path)
    assert same_bits(X, expected["X"][:3000])
    np.testing.assert_array_equal(y, expected["y"][:3000])
    np.testing.assert_array_equal(qid, expected["qid"][:3000])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_other_readers_read_the_same(tmp_path, dtype):
    X, y, qid = make_ranking(n_queries=20)
    X = X.astype(dtype) / 3
    X[X > 2] = 0
    path = tmp_path / "data.txt"
    dump_letor(X, y, qid, path)
    theirs, their_y, their_qid = load_svmlight_file(str(path), query_id=True)
    np.testing.assert_array_equal(theirs.toarray().astype(dtype), X)
    np.testing.assert_array_equal(their_y, y)
    np.testing.assert_array_equal(their_qid, qid)


def n_digits(text: str) -> int:
    return len(text.split("e")[0].lstrip("-").replace(".", "").strip("0"))


def test_numbers_take_the_fewest_digits(tmp_path):
    """NumPy's shortest text of a number is the oracle."""
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(size=500), 10.0 ** rng.uniform(-6, 6, 500), [0.1, 1 / 3]])
    for dtype in (np.float32, np.float64):
        X = values.astype(dtype)[:, None]
        dump_letor(X, np.zeros(len(X)), np.zeros(len(X), dtype=int), tmp_path / "a.txt")
        texts = re.findall(r" 1:(\S+)", (tmp_path / "a.txt").read_text())
        for text, value in zip(texts, X[:, 0], strict=True):
            shortest = np.format_float_positional(value, unique=True, trim="-")
            assert n_digits(text) == n_digits(shortest)


def test_the_text(tmp_path):
    path = tmp_path / "a.txt"
    X = [[0.5, -0.0, np.nan, np.inf], [1e-30, 123456.75, -7.0, 1e20]]
    dump_letor(X, [0, 2.5], [3, 3], path, comments=["", "docid = é"])
    assert path.read_text() == (
        "0 qid:3 1:0.5 2:-0 3:nan 4:inf\n2.5 qid:3 1:1e-30 2:123456.75 3:-7 4:1e+20 # docid = é\n"
    )
    dump_letor([[1]], [0], [3], path, zero_based=True)
    assert path.read_text() == "0 qid:3 0:1\n"


@pytest.mark.parametrize("X", [np.arange(6).reshape(3, 2), np.eye(3, dtype=bool), [[1], [2], [3]]])
def test_other_types_are_written_as_numbers(tmp_path, X):
    dump_letor(X, [0, 1, 2], [1, 1, 1], tmp_path / "a.txt")
    np.testing.assert_array_equal(load_letor(tmp_path / "a.txt").X, np.asarray(X))


def test_arrays_of_any_layout(tmp_path):
    X = np.arange(12.0).reshape(3, 4)
    read_only = X.copy()
    read_only.flags.writeable = False
    for same in (np.asfortranarray(X), read_only, np.repeat(X, 2, axis=0)[::2], csc_matrix(X)):
        dump_letor(same, [0, 1, 2], [1, 1, 1], tmp_path / "a.txt")
        np.testing.assert_array_equal(load_letor(tmp_path / "a.txt").X, X)


def test_frames_and_series(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.0], "b": [0, 1]}, index=[7, 3])
    dump_letor(frame, pd.Series([1, 0]), pd.Series([5, 5]), tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "1 qid:5 1:1.5 2:0\n0 qid:5 1:2 2:1\n"


def test_rows_keep_their_order(tmp_path):
    dump_letor([[1.0], [2], [3]], [0, 1, 2], [9, 4, 9], tmp_path / "a.txt")
    assert load_letor(tmp_path / "a.txt").qid.tolist() == [9, 4, 9]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_compressed_files(tmp_path, suffix):
    X, y, qid = make_ranking(n_queries=100)
    path = tmp_path / f"data.txt{suffix}"
    dump_letor(X, y, qid, path)
    back = load_letor(path, n_jobs=2)
    np.testing.assert_array_equal(back.X, X)
    if suffix:
        assert not path.read_bytes().startswith(b"0 qid")
    dump_letor(X, y, qid, tmp_path / f"again.txt{suffix}")
    assert path.read_bytes() == (tmp_path / f"again.txt{suffix}").read_bytes()


def test_bytes_that_are_no_text_survive(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"1 qid:1 1:1 # \xff\xfe caf\xe9\n")
    data = load_letor(tmp_path / "a.txt", comments=True)
    dump_letor(*data, tmp_path / "b.txt", comments=data.comments)
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()


def test_nothing_is_left_of_a_write_that_fails(tmp_path, monkeypatch):
    path = tmp_path / "a.txt.gz"
    dump_letor([[1.0]], [1], [1], path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(gzip.GzipFile, "write", fail)
    with pytest.raises(OSError, match="no space left"):
        dump_letor([[2.0]], [1], [1], path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt.gz"]


def test_files_are_readable_by_others(tmp_path):
    (tmp_path / "plain").touch()
    dump_letor([[1.0]], [1], [1], tmp_path / "a.txt")
    mode = stat.S_IMODE((tmp_path / "a.txt").stat().st_mode)
    assert mode == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": [1.0, 2.0]}, ValueError, "X must have one row per document"),
        ({"X": np.empty((0, 2))}, ValueError, "X must have one row per document, at least one"),
        ({"X": [["a"], ["b"]]}, TypeError, "X must be numbers"),
        ({"y": [1.0]}, ValueError, "labels must have one entry per row: got 1 for 2 rows"),
        ({"y": [1.0, np.nan]}, ValueError, "labels must be finite numbers, but row 1"),
        ({"qid": [1]}, ValueError, "qid must have one entry per row: got 1 for 2 rows"),
        ({"qid": ["a", "b"]}, TypeError, "qid must be integers"),
        ({"qid": [0.5, 1.5]}, TypeError, "qid must be integers"),
        ({"qid": np.array([1, 2**63], np.uint64)}, ValueError, "64 bits with a sign"),
        ({"comments": ["a"]}, ValueError, "comments must have one text per row: got 1 for 2"),
        ({"comments": ["a", "b\nc"]}, ValueError, "comments must be one line each, but row 1"),
        ({"comments": ["a", 3]}, TypeError, "comments must be texts, but row 1 has 3"),
        ({"comments": "ab"}, ValueError, "comments must have one text per row"),
        ({"zero_based": 0}, TypeError, "zero_based must be True or False"),
    ],
)
def test_arguments_that_make_no_sense(tmp_path, change, error, message):
    arguments = {"X": [[1.0], [2.0]], "y": [0, 1], "qid": [1, 1]} | change
    with pytest.raises(error, match=re.escape(message)):
        dump_letor(path=tmp_path / "a.txt", **arguments)
    assert not list(tmp_path.iterdir())
