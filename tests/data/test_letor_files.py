"""Compressed files, damaged files, the cache, and the folders of published data sets."""

import bz2
import gzip
import json
import lzma
import os
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from gbrank.data import _cache, dump_letor, letor, load_folds, load_letor, make_ranking

DATA = make_ranking(n_queries=60, n_features=12, random_state=3)


@pytest.fixture
def text(tmp_path) -> bytes:
    path = tmp_path / "plain.txt"
    dump_letor(*DATA, path, comments=[f"docid = D{row}" for row in range(len(DATA.y))])
    content = path.read_bytes()
    path.unlink()
    return content


# Compression --------------------------------------------------------------------------------------

COMPRESSORS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": partial(lzma.compress, preset=0),
}


def compress(name: str, content: bytes) -> bytes:
    if name == "zstd":
        try:
            from compression import zstd
        except ImportError:
            zstd = pytest.importorskip("zstandard")
        return zstd.compress(content)
    return COMPRESSORS[name](content)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", [*COMPRESSORS, "zstd"])
def test_compressed_files_are_known_by_their_content(tmp_path, text, name, n_jobs):
    path = tmp_path / "data.bin"
    half = text.index(b"\n", len(text) // 2) + 1
    for content in (
        compress(name, text),
        compress(name, text[:half]) + compress(name, text[half:]),
    ):
        path.write_bytes(content)
        data = load_letor(path, n_jobs=n_jobs)
        np.testing.assert_array_equal(data.X, DATA.X)
        np.testing.assert_array_equal(data.qid, DATA.qid)


@pytest.mark.parametrize("name", [*COMPRESSORS, "zstd"])
def test_a_compressed_file_cut_short_is_refused(tmp_path, text, name):
    path = tmp_path / "data.txt.z"
    content = compress(name, text)
    for n_bytes in (len(content) // 2, len(content) - 3):
        path.write_bytes(content[:n_bytes])
        with pytest.raises(ValueError, match=rf"data\.txt\.z: the {name} data are damaged"):
            load_letor(path)


def data_or_message(path) -> np.ndarray | str:
    try:
        return load_letor(path).X
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("name", [*COMPRESSORS, "zstd"])
def test_a_damaged_compressed_file_is_refused(tmp_path, text, name):
    """Every flipped bit is either found by the decompressor or is in a field without meaning."""
    path = tmp_path / "data.txt.z"
    content = compress(name, text)
    for at in np.linspace(16, len(content) - 9, 20).astype(int):
        damaged = bytearray(content)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        outcome = data_or_message(path)
        if isinstance(outcome, str):
            assert outcome.startswith(str(path))
        else:
            assert name == "zstd" or np.array_equal(outcome, DATA.X)  # zstd has no checksum here


def test_zst_without_a_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "compression", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "data.txt.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd rest")
    with pytest.raises(ImportError, match=r"gbrank\[zstd\]"):
        load_letor(path)
    with pytest.raises(ImportError, match=r"gbrank\[zstd\]"):
        dump_letor([[1.0]], [1], [1], path)
    assert path.read_bytes() == b"\x28\xb5\x2f\xfd rest"


def test_zst_is_written(tmp_path):
    if sys.version_info < (3, 14):
        pytest.importorskip("zstandard")
    path = tmp_path / "data.txt.zst"
    dump_letor(*DATA, path)
    assert path.read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    np.testing.assert_array_equal(load_letor(path).X, DATA.X)


# The cache ----------------------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path, text):
    path = tmp_path / "data" / "train.txt"
    path.parent.mkdir()
    path.write_bytes(text)
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


def cache_files(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix == ".cache")


def check_same(data, sparse=False):
    np.testing.assert_array_equal(data.X.toarray() if sparse else data.X, DATA.X)
    np.testing.assert_array_equal(data.y, DATA.y)
    np.testing.assert_array_equal(data.qid, DATA.qid)


def test_nothing_is_written_unless_asked_for(source):
    load_letor(source)
    load_letor(source, cache=False)
    assert list(source.parent.iterdir()) == [source]


@pytest.mark.parametrize("sparse", [False, True])
def test_the_second_load_comes_from_the_cache(source, tmp_path, n_reads, sparse):
    folder = tmp_path / "cache" / "deep"
    options = {"sparse": sparse, "comments": True, "cache": folder}
    for _ in range(3):
        data = load_letor(source, **options)
        check_same(data, sparse)
        assert data.docid[:2].tolist() == ["D0", "D1"]
        assert data.X.dtype == np.float32
    assert len(n_reads) == 1
    assert len(cache_files(folder)) == 1
    assert list(source.parent.iterdir()) == [source]
    assert [path.name for path in folder.iterdir()] == [cache_files(folder)[0].name]


def test_the_cache_next_to_the_file(source, n_reads):
    check_same(load_letor(source, cache=True))
    check_same(load_letor(str(source), cache=True))
    assert len(n_reads) == 1
    assert len(cache_files(source.parent / ".gbrank_cache")) == 1


def test_arrays_are_mapped_and_can_be_written_to(source, n_reads):
    load_letor(source, cache=True)
    data = load_letor(source, cache=True)
    base = data.X
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    data.X[:] = -1
    data.y[:] = -1
    check_same(load_letor(source, cache=True))
    assert len(n_reads) == 1


def test_options_have_caches_of_their_own(source, n_reads):
    every = [
        {},
        {"dtype": np.float64},
        {"sparse": True},
        {"missing": np.nan},
        {"missing": 5},
        {"n_features": 20},
        {"comments": True},
    ]
    for _ in range(2):
        for options in every:
            data = load_letor(source, cache=True, **options)
            assert data.X.shape[1] == options.get("n_features", 12)
            assert data.X.dtype == options.get("dtype", np.float32)
            assert (data.comments is not None) == options.get("comments", False)
    assert len(n_reads) == len(every)
    load_letor(source, cache=True, n_jobs=1)  # which is not an option of the result
    assert len(n_reads) == len(every)


@pytest.mark.parametrize("same_size", [False, True])
def test_a_changed_file_is_read_anew(source, n_reads, text, same_size):
    load_letor(source, cache=True)
    status = source.stat()
    other = text.replace(b"qid:0 ", b"qid:9 " if same_size else b"qid:777 ")
    source.write_bytes(other)
    later = status.st_mtime_ns + 10_000_000 if same_size else status.st_mtime_ns
    os.utime(source, ns=(later, later))
    data = load_letor(source, cache=True)
    assert data.qid[0] == (9 if same_size else 777)
    assert len(n_reads) == 2
    assert len(cache_files(source.parent)) == 1  # the old one is gone


def test_a_list_of_files_has_one_cache(source, tmp_path, n_reads, text):
    second = tmp_path / "data" / "vali.txt"
    second.write_bytes(text)
    for _ in range(2):
        assert len(load_letor([source, second], cache=True).y) == 2 * len(DATA.y)
    assert len(n_reads) == 1
    os.utime(second, ns=(1, 1))
    load_letor([source, second], cache=True)
    assert len(n_reads) == 2
    load_letor([second, source], cache=True)
    assert len(n_reads) == 3


def test_a_damaged_cache_is_rebuilt(source, n_reads):
    load_letor(source, cache=True)
    (path,) = cache_files(source.parent)
    content = path.read_bytes()
    header_length = int.from_bytes(content[8:16], "little")
    header_end = 48 + header_length
    rng = np.random.default_rng(0)
    places = [
        *range(48),
        *rng.integers(48, header_end, 20),
        *rng.integers(header_end, len(content), 60),
    ]
    padding = set(range(header_end, -(-header_end // 64) * 64))
    n_expected = 1
    for at in places:
        damaged = bytearray(content)
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        check_same(load_letor(source, cache=True))
        n_expected += at not in padding
    # A flipped bit between two arrays changes nothing; there are few such bytes.
    assert n_expected - 3 <= len(n_reads) <= n_expected
    for n_bytes in (0, 5, 48, header_end - 1, header_end + 1, len(content) // 2, len(content) - 64):
        before = len(n_reads)
        path.write_bytes(content[:n_bytes])
        check_same(load_letor(source, cache=True))
        assert len(n_reads) == before + 1
    before = len(n_reads)
    check_same(load_letor(source, cache=True))
    assert len(n_reads) == before  # the last rebuild left a good one


def test_a_cache_that_names_objects_is_refused(source, n_reads):
    """A header is data: one that asks for pickled objects is as good as none."""
    load_letor(source, cache=True)
    (path,) = cache_files(source.parent)
    content = path.read_bytes()
    length = int.from_bytes(content[8:16], "little")
    header = json.loads(content[48 : 48 + length])
    header["arrays"][0][1] = "|O"
    text = json.dumps(header).encode().ljust(length)
    digest = _cache.hashlib.sha256(text).digest()
    path.write_bytes(content[:16] + digest + text + content[48 + length :])
    check_same(load_letor(source, cache=True))
    assert len(n_reads) == 2


def test_a_cache_of_another_version_is_refused(source, n_reads, monkeypatch):
    load_letor(source, cache=True)
    monkeypatch.setattr("gbrank.__version__", "999.0")
    load_letor(source, cache=True)
    assert len(n_reads) == 2


def test_where_no_cache_can_be_written_the_data_come_anyway(source, tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a folder")
    with pytest.warns(UserWarning, match="the cache cannot be written"):
        check_same(load_letor(source, cache=blocked / "cache"))


def test_errors_are_the_same_with_a_cache(source, tmp_path):
    source.write_text("1 qid:1 1:1\noops\n")
    with pytest.raises(ValueError, match=r"train\.txt, line 2"):
        load_letor(source, cache=True)
    assert not cache_files(tmp_path)


# Folders ------------------------------------------------------------------------------------------


def write_parts(folder, names, width=3, suffix=".txt"):
    """Write one document per file; its label says which file it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names):
        path = folder / f"{name}{suffix}"
        X = np.full((1, width + number), number + 1, dtype=np.float32)
        dump_letor(X, [number], [number], path)


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".dat.xz", ".svm", ".gz"])
@pytest.mark.parametrize(
    "names",
    [
        ("train", "vali", "test"),
        ("trainingset", "validationset", "testset"),
        ("Train", "Valid", "Test"),
    ],
)
def test_fold_folders(tmp_path, names, suffix):
    for fold in (1, 2, 10):
        write_parts(tmp_path / f"Fold{fold}", names, suffix=suffix)
    (tmp_path / "S1.txt").write_text("partitions lie next to the folds in LETOR 4.0")
    folds = load_folds(tmp_path)
    assert [fold.name for fold in folds] == ["Fold1", "Fold2", "Fold10"]
    assert len(folds) == 3
    for fold in folds:
        parts = (fold.train, fold.vali, fold.test)
        assert [part.y.tolist() for part in parts] == [[0], [1], [2]]
        assert [part.X.tolist() for part in parts] == [
            [[1, 1, 1, 0, 0]],
            [[2, 2, 2, 2, 0]],
            [[3, 3, 3, 3, 3]],
        ]
    assert folds[-1].name == "Fold10"
    assert [fold.name for fold in folds[1:]] == ["Fold2", "Fold10"]
    assert repr(folds) == "LetorFolds(Fold1, Fold2, Fold10)"


def test_options_reach_every_part(tmp_path):
    write_parts(tmp_path, ["train", "vali", "test"])
    (fold,) = load_folds(tmp_path, missing=np.nan, dtype=np.float64)
    np.testing.assert_array_equal(fold.train.X, [[1, 1, 1, np.nan, np.nan]])
    assert fold.train.X.dtype == np.float64
    (fold,) = load_folds(tmp_path, sparse=True)
    assert fold.train.X.shape == fold.test.X.shape == (1, 5)
    assert fold.train.X.toarray().tolist() == [[1, 1, 1, 0, 0]]
    (fold,) = load_folds(tmp_path, n_features=9, cache=True)
    assert fold.vali.X.shape == (1, 9)


def test_yahoo_sets(tmp_path):
    write_parts(tmp_path, [f"set{n}.{part}" for n in (1, 2) for part in ("train", "valid", "test")])
    folds = load_folds(tmp_path)
    assert [fold.name for fold in folds] == ["set1", "set2"]
    assert [[part.y[0] for part in (f.train, f.vali, f.test)] for f in folds] == [
        [0, 1, 2],
        [3, 4, 5],
    ]


def test_istella_has_no_validation_data(tmp_path):
    write_parts(tmp_path / "istella" / "full", ["train", "test"])
    (fold,) = load_folds(tmp_path / "istella")
    assert fold.vali is None
    assert fold.test.y.tolist() == [1]


@pytest.mark.parametrize("prefix", ["S", "MQ2008_S", "s"])
def test_partitions_rotate_as_in_letor(tmp_path, prefix):
    write_parts(tmp_path, [f"{prefix}{number}" for number in range(1, 6)], suffix=".txt.xz")
    folds = load_folds(tmp_path)
    assert [fold.name for fold in folds] == [f"Fold{number}" for number in range(1, 6)]
    for number, fold in enumerate(folds):
        assert fold.train.y.tolist() == [(number + step) % 5 for step in (0, 1, 2)]
        assert fold.vali.y.tolist() == [(number + 3) % 5]
        assert fold.test.y.tolist() == [(number + 4) % 5]


def test_partitions_of_mq2008(real_data):
    """LETOR's fold 1 trains on S1 to S3, validates on S4 and tests on S5."""
    expected = real_data("MQ2008")
    folder = Path(os.environ["GBRANK_DATA"]) / "letor_text"
    if not folder.is_dir():
        pytest.skip("GBRANK_DATA has no letor_text")
    fold = load_folds(folder)[0]
    np.testing.assert_array_equal(fold.train.X, expected["X"][expected["part"] <= 3])
    np.testing.assert_array_equal(fold.vali.X, expected["X"][expected["part"] == 4])
    np.testing.assert_array_equal(fold.test.y, expected["y"][expected["part"] == 5])


def test_a_plain_file_goes_before_its_compressed_copy(tmp_path):
    write_parts(tmp_path, ["train", "test"])
    (tmp_path / "train.txt.gz").write_bytes(b"\x1f\x8b not gzip at all")
    assert load_folds(tmp_path)[0].train.y.tolist() == [0]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "is not known as a data set: expected folders Fold1"),
        (["train.txt"], "is not known as a data set"),
        (["S1.txt", "S2.txt", "S4.txt"], "is not known as a data set"),
        (["train.txt", "train.dat", "test.txt"], r"which of train\.dat and train\.txt is meant"),
        (["train.txt", "vali.txt", "valid.txt"], r"which of vali\.txt and valid\.txt is meant"),
        (["Fold1/train.txt", "Fold1/test.txt", "Fold2/test.txt"], "Fold2 must hold one training"),
        (["a/train.txt", "a/test.txt", "b/train.txt", "b/test.txt"], "name one of them: a, b"),
    ],
)
def test_folders_that_are_not_understood(tmp_path, files, message):
    for file in files:
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text("1 qid:1 1:1")
    with pytest.raises(ValueError, match=message):
        load_folds(tmp_path)


def test_arguments_of_load_folds_are_checked_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        load_folds(tmp_path / "nowhere")
    write_parts(tmp_path, ["train", "test"])
    with pytest.raises(TypeError, match="spares"):
        load_folds(tmp_path, spares=True)
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        load_folds(tmp_path, dtype=int)


def test_load_letor_does_not_mix_training_and_test_data(tmp_path):
    write_parts(tmp_path, ["train", "test"])
    with pytest.raises(ValueError, match="holds training and test files"):
        load_letor(tmp_path)
