"""Findings of the hardening, a class for each line of the list: readers, caches, ids."""

import bz2
import gzip
import json
import lzma
import os
import shutil
import stat
import warnings
from functools import partial

import numpy as np
import pytest
from scipy.sparse import issparse

from gbrank.data import (
    _cache,
    _reader,
    dump_letor,
    letor,
    load_letor,
    make_ranking,
    stream_letor,
)

DATA = make_ranking(n_queries=20, n_features=12, random_state=3)
posix = pytest.mark.skipif(os.name == "nt", reason="POSIX links, pipes and owners")


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data" / "train.txt"
    path.parent.mkdir()
    dump_letor(*DATA, path)
    return path


@pytest.fixture
def n_reads(monkeypatch):
    """Return a list that grows by one each time a text is really read."""
    reads = []
    read_files = letor.read_files

    def counting(paths, *arguments):
        reads.append(paths)
        return read_files(paths, *arguments)

    monkeypatch.setattr(letor, "read_files", counting)
    return reads


def check_same(data):
    X = data.X.toarray() if issparse(data.X) else data.X
    np.testing.assert_array_equal(X, DATA.X)
    np.testing.assert_array_equal(data.qid, DATA.qid)


def cache_file(source):
    (path,) = (source.parent / ".gbrank_cache").glob("*.cache")
    return path


class TestLine10LinksAreNotFollowed:
    """Whoever may write next to the data must not choose what is written or read elsewhere."""

    @posix
    def test_a_link_in_place_of_the_cache_file_is_replaced(self, source, tmp_path, n_reads):
        load_letor(source, cache=True)
        path = cache_file(source)
        precious = tmp_path / "precious"
        precious.write_bytes(path.read_bytes())
        good = precious.read_bytes()
        path.unlink()
        path.symlink_to(precious)
        check_same(load_letor(source, cache=True))
        assert len(n_reads) == 2  # what a link names is no cache, however good
        assert precious.read_bytes() == good
        assert not path.is_symlink()
        check_same(load_letor(source, cache=True))
        assert len(n_reads) == 2

    @posix
    @pytest.mark.parametrize("exists", [True, False])
    def test_a_link_in_place_of_the_folder_is_refused(self, source, tmp_path, exists):
        elsewhere = tmp_path / "elsewhere"
        if exists:
            elsewhere.mkdir()
        (source.parent / ".gbrank_cache").symlink_to(elsewhere)
        with pytest.warns(UserWarning, match="the cache cannot be written"):
            check_same(load_letor(source, cache=True))
        assert not elsewhere.exists() or list(elsewhere.iterdir()) == []

    @posix
    def test_a_folder_that_the_user_names_may_be_a_link(self, source, tmp_path, n_reads):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        for _ in range(2):
            check_same(load_letor(source, cache=tmp_path / "link"))
        assert len(n_reads) == 1

    @posix
    @pytest.mark.parametrize("kind", ["pipe", "folder"])
    def test_what_is_not_a_regular_file_is_left_alone(self, source, kind):
        load_letor(source, cache=True)
        path = cache_file(source)
        path.unlink()
        os.mkfifo(path) if kind == "pipe" else path.mkdir()
        with pytest.warns(UserWarning, match="is not a regular file of this user"):
            check_same(load_letor(source, cache=True))  # and does not wait for a writer
        assert not path.is_file()

    @posix
    def test_a_file_of_somebody_else_is_not_used(self, source, n_reads, monkeypatch):
        load_letor(source, cache=True)
        monkeypatch.setattr(_cache.os, "geteuid", lambda: os.getuid() + 1)
        with pytest.warns(UserWarning, match="is not a regular file of this user"):
            check_same(load_letor(source, cache=True))
        assert len(n_reads) == 2

    @posix
    def test_nobody_else_may_read_the_cache(self, source):
        load_letor(source, cache=True)
        path = cache_file(source)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    def test_a_copy_that_keeps_size_and_times_is_noticed(self, source, n_reads):
        load_letor(source, cache=True)
        other = source.with_name("other.txt")
        other.write_bytes(source.read_bytes().replace(b"qid:0 ", b"qid:9 "))
        os.utime(other, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
        before = source.stat()
        shutil.copy2(other, source)  # the same file, other contents
        assert (source.stat().st_size, source.stat().st_mtime_ns) == (
            before.st_size,
            before.st_mtime_ns,
        )
        assert load_letor(source, cache=True).qid[0] == 9
        os.replace(other, source)  # noqa: PTH105 - another file under the same name
        assert load_letor(source, cache=True).qid[0] == 9
        assert len(n_reads) == 3


def rewrite(path, change):
    """Write a cache file whose header and arrays were changed, under fitting checksums."""
    content = path.read_bytes()
    length = int.from_bytes(content[8:16], "little")
    header = json.loads(content[48 : 48 + length])
    offset, arrays = _cache._round_up(48 + length), {}
    for name, dtype, shape, _ in header["arrays"]:
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        arrays[name] = np.frombuffer(content[offset : offset + n_bytes], dtype).reshape(shape)
        arrays[name] = arrays[name].copy()
        offset += _cache._round_up(n_bytes)
    arrays = change(arrays) or arrays
    parsed = object.__new__(_cache.ParsedFiles)
    parsed._key, parsed.path, parsed._own_folder = header["key"], path, True
    parsed.save(arrays)


def set_at(name, place, value):
    def change(arrays):
        arrays[name][place] = value

    return change


SPARSE = {
    "a column beyond the last": set_at("columns", 0, 1_000_000),
    "a column below 0": set_at("columns", 3, -1),
    "a row end beyond the values": set_at("row_ends", 2, 1_000_000),
    "row ends that fall": set_at("row_ends", 3, 0),
    "a first row end above 0": set_at("row_ends", 0, 1),
    "more rows than row ends": set_at("shape", 0, 1_000_000),
    "no columns": set_at("shape", 1, 0),
    "rows below 0": set_at("shape", 0, -5),
    "a shape of three": lambda a: {**a, "shape": np.array([1, 2, 3])},
    "integer values": lambda a: {**a, "values": a["values"].astype("<i4")},
    "fewer values": lambda a: {**a, "values": a["values"][:-1]},
    "columns of floats": lambda a: {**a, "columns": a["columns"].astype("<f8")},
}
DENSE = {
    "fewer labels": lambda a: {**a, "y": a["y"][:-1]},
    "labels of integers": lambda a: {**a, "y": a["y"].astype("<i8")},
    "fewer ids": lambda a: {**a, "qid": a["qid"][:-1]},
    "a cube": lambda a: {**a, "X": a["X"].reshape(-1, 4, 3)},
    "features of another type": lambda a: {**a, "X": a["X"].astype("<f8")},
    "no features": lambda a: {name: a[name] for name in ("y", "qid")},
    "no labels": lambda a: {name: a[name] for name in ("X", "qid")},
    "no ids": lambda a: {name: a[name] for name in ("X", "y")},
}
COMMENTS = {
    "no comments": lambda a: {name: a[name] for name in ("X", "y", "qid")},
    "fewer comments": lambda a: {**a, "comments": a["comments"][:-30]},
}


class TestLine10ArraysAreChecked:
    """Column indices and row ends out of range ended the process in SciPy."""

    @pytest.mark.parametrize(
        ("options", "change"),
        [
            *(pytest.param({"sparse": True}, SPARSE[name], id=name) for name in SPARSE),
            *(pytest.param({}, DENSE[name], id=name) for name in DENSE),
            *(pytest.param({"comments": True}, COMMENTS[name], id=name) for name in COMMENTS),
        ],
    )
    def test_arrays_that_do_not_fit_are_no_cache(self, source, n_reads, options, change):
        load_letor(source, cache=True, **options)
        rewrite(cache_file(source), lambda arrays: None)
        load_letor(source, cache=True, **options)
        assert len(n_reads) == 1  # what the test writes is a cache
        rewrite(cache_file(source), change)
        check_same(load_letor(source, cache=True, **options))
        assert len(n_reads) == 2

    @pytest.mark.parametrize(
        "header",
        [
            b"[" * 200_000,
            b"{}",
            b"null",
            b'{"key": 1, "arrays": []}',
            b"\xff\xfe",
            b'{"key": ' + b"9" * 10_000 + b"}",
        ],
        ids=["deep", "empty", "null", "another key", "no text", "a long number"],
    )
    def test_headers(self, source, n_reads, header):
        load_letor(source, cache=True)
        path = cache_file(source)
        digest = _cache.hashlib.sha256(header).digest()
        path.write_bytes(b"gbrankL1" + len(header).to_bytes(8, "little") + digest + header)
        check_same(load_letor(source, cache=True))
        assert len(n_reads) == 2

    @pytest.mark.parametrize(
        "shape", [[2**62, 4], [2**40, 2**40], [-1, 6], [1.5, 2], ["a"], [True, 3], "ab", None, 7]
    )
    def test_shapes(self, source, n_reads, shape):
        load_letor(source, cache=True)
        path = cache_file(source)
        content = path.read_bytes()
        length = int.from_bytes(content[8:16], "little")
        header = json.loads(content[48 : 48 + length])
        header["arrays"][0][2] = shape
        text = json.dumps(header).encode()
        digest = _cache.hashlib.sha256(text).digest()
        path.write_bytes(
            content[:8] + len(text).to_bytes(8, "little") + digest + text + content[48 + length :]
        )
        check_same(load_letor(source, cache=True))
        assert len(n_reads) == 2


def compress(name, content):
    if name == "zstd":
        try:
            from compression import zstd
        except ImportError:
            zstd = pytest.importorskip("zstandard")
        return zstd.compress(content)
    known = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": partial(lzma.compress, preset=0)}
    return known[name](content)


@pytest.mark.parametrize("name", ["gzip", "bzip2", "xz", "zstd"])
class TestLine12DamagedStreams:
    """A damaged second stream was read as half of the data."""

    def halves(self, source, name):
        text = source.read_bytes()
        half = text.index(b"\n", len(text) // 2) + 1
        return compress(name, text[:half]), compress(name, text[half:])

    def test_every_damage_of_a_second_stream_is_an_error(self, source, tmp_path, name):
        first, second = self.halves(source, name)
        path = tmp_path / "two.txt.z"
        path.write_bytes(first + second)
        check_same(load_letor(path))
        for at in (0, 1, 2):
            damaged = bytearray(second)
            damaged[at] ^= 0x55
            path.write_bytes(first + damaged)
            with pytest.raises(ValueError, match="data are damaged"):
                load_letor(path)
        for n_bytes in (1, 4, len(second) // 2, len(second) - 1):
            path.write_bytes(first + second[:n_bytes])
            with pytest.raises(ValueError, match="data are damaged"):
                load_letor(path)

    def test_something_else_behind_the_data_is_an_error(self, source, tmp_path, name):
        path = tmp_path / "more.txt.z"
        path.write_bytes(b"".join(self.halves(source, name)) + b"1 qid:1 1:1\n")
        with pytest.raises(ValueError, match="data are damaged"):
            load_letor(path)

    def test_padding_of_xz_is_no_damage(self, source, tmp_path, name):
        if name != "xz":
            pytest.skip("only xz has it")
        first, second = self.halves(source, name)
        path = tmp_path / "padded.txt.xz"
        for between, behind in ((4, 0), (0, 8), (40_000, 40_000)):
            path.write_bytes(first + bytes(between) + second + bytes(behind))
            check_same(load_letor(path))
        path.write_bytes(first + bytes(3) + second)
        with pytest.raises(ValueError, match="data are damaged"):
            load_letor(path)

    def test_a_text_that_packs_well_comes_in_pieces(self, tmp_path, name):
        path = tmp_path / "long.txt.z"
        path.write_bytes(compress(name, b"1 qid:1 1:1\n" + b"# nothing\n" * 1_000_000))
        assert load_letor(path).n_rows == 1


class TestLine12DenseLimit:
    """24 KB of text may ask for 7.6 GB: one feature 1,000,000."""

    @pytest.fixture
    def wide(self, tmp_path):
        lines = [f"{row % 2} qid:{row // 10} 1:1" for row in range(2000)]
        lines[1234] += " 1000000:3"
        path = tmp_path / "wide.txt"
        path.write_text("\n".join(lines) + "\n")
        assert path.stat().st_size < 30_000
        return path

    def test_an_error_names_line_feature_and_remedy(self, wide):
        with pytest.raises(
            ValueError, match=r"wide\.txt, line 1235: feature 1000000 .* 7\.5 GiB .*sparse=True"
        ):
            load_letor(wide)
        zero = wide.with_name("zero.txt")
        zero.write_text(wide.read_text().replace("1000000:", "999999:"))
        with pytest.raises(ValueError, match="line 1235: feature 999999 "):
            load_letor(zero, zero_based=True)

    def test_what_was_seen_in_another_file_is_named(self, wide, tmp_path):
        """Few rows are wide, many rows of a second file make it absurd."""
        first, second = tmp_path / "a.txt", tmp_path / "b.txt"
        first.write_text("1 qid:1 1:1\n1 qid:1 1000000:2\n")
        second.write_text("0 qid:2 1:1\n" * 2000)
        assert load_letor(first).X.shape == (2, 1_000_000)
        with pytest.raises(ValueError, match=r"a\.txt, line 2: feature 1000000 "):
            load_letor([first, second])

    def test_sparse_where_that_is_the_only_way(self, wide):
        for options in ({"sparse": True}, {"sparse": "auto"}):
            data = load_letor(wide, **options)
            assert issparse(data.X)
            assert data.X.shape == (2000, 1_000_000)
            assert data.X[1234, 999_999] == 3
        assert not issparse(load_letor(self.narrow(wide), sparse="auto").X)
        huge = wide.with_name("huge.txt")
        huge.write_text("1 qid:1 1:1 2000000:5\n")
        with pytest.raises(ValueError, match="line 1: feature 2000000 is beyond 1000000"):
            load_letor(huge)
        assert load_letor(huge, sparse="auto").X[0, 1_999_999] == 5

    def narrow(self, wide):
        path = wide.with_name("narrow.txt")
        path.write_text(wide.read_text().replace("1000000:", "10:"))
        return path

    def test_the_cache_knows_both_kinds(self, wide, n_reads):
        for path, is_sparse in ((wide, True), (self.narrow(wide), False)):
            n_reads.clear()
            for _ in range(2):
                assert issparse(load_letor(path, sparse="auto", cache=True).X) == is_sparse
            assert len(n_reads) == 1 + is_sparse  # a dense attempt, then a sparse one

    def test_what_is_announced_is_believed(self, wide, monkeypatch):
        monkeypatch.setattr(_reader, "_ALWAYS_BYTES", 1000)
        monkeypatch.setattr(_reader, "_BYTES_PER_TEXT", 1)
        narrow = self.narrow(wide)
        with pytest.raises(ValueError, match="feature 10 "):
            load_letor(narrow)
        assert load_letor(narrow, n_features=10).X.shape == (2000, 10)
        assert issparse(load_letor(narrow, n_features=10, sparse="auto").X)

    def test_streams_have_the_limit_too(self, wide):
        with pytest.raises(ValueError, match=r"line 1235: feature 1000000 .*sparse=True"):
            stream_letor(wide)

    def test_ordinary_text_is_far_from_the_limit(self, source, monkeypatch):
        monkeypatch.setattr(_reader, "_ALWAYS_BYTES", 0)
        check_same(load_letor(source))

    def test_missing_values_cannot_be_sparse(self, wide):
        with pytest.raises(ValueError, match="missing must be 0 if sparse='auto'"):
            load_letor(wide, sparse="auto", missing=np.nan)
        with pytest.raises(ValueError, match="sparse must be True or False or 'auto', got 'yes'"):
            load_letor(wide, sparse="yes")


def test_line_7_ids_of_polars_that_differ_by_a_zero_are_two():
    polars = pytest.importorskip("polars")
    from gbrank.core import QueryLayout

    ids = ["a", "a\0", "b", "a", "a\0"]
    for given in (ids, polars.Series(ids), polars.DataFrame({"q": ids})["q"]):
        layout = QueryLayout.from_qid(given)
        assert list(layout.query_ids) == ["a", "a\0", "b"]
        np.testing.assert_array_equal(layout.sizes, [2, 2, 1])
    with pytest.raises(ValueError, match="qid must not be missing, but that of row 1 is"):
        QueryLayout.from_qid(polars.Series(["a", None]))


def test_nothing_is_warned_of_in_an_ordinary_load(source):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            check_same(load_letor(source, cache=True))
