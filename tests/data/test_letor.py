"""load_letor: the text means what a slow reader says it means, and errors name the line."""

import os
import re
import sys
import tracemalloc
import types
from pathlib import Path

import letor_oracle
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse

from gbrank.data import _reader, load_letor
from gbrank.data._decimal import nearest_float

SMALL = """\
2 qid:10 1:0.5 2:-3 4:1e-2 # docid = GX1 inc = 1
0 qid:10 1:0 3:7.25

# a comment of its own
1\tqid:-3   2:+.5 4:2.\t
"""
SMALL_X = [[0.5, -3, 0, 0.01], [0, 0, 7.25, 0], [0, 0.5, 0, 2]]


@pytest.fixture
def write(tmp_path):
    def write_text(text: str | bytes, name: str = "data.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write_text


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Make blocks so small that lines cross them, and parts so small that all threads work."""

    def shrink(n_bytes: int) -> None:
        monkeypatch.setattr(_reader, "_BYTES_PER_THREAD", n_bytes)
        monkeypatch.setattr(_reader, "_FEWEST_BYTES", max(1, n_bytes // 2))

    return shrink


def letor_text(part: int) -> Path:
    folder = os.environ.get("GBRANK_DATA")
    path = Path(folder or ".") / "letor_text" / f"MQ2008_S{part}.txt.xz"
    if not folder or not path.exists():
        pytest.skip("GBRANK_DATA names no folder with letor_text")
    return path


def test_a_small_file(write):
    X, y, qid = data = load_letor(write(SMALL), comments=True)
    assert X.dtype == np.float32
    assert y.dtype == np.float64
    assert qid.dtype == np.int64
    np.testing.assert_array_equal(X, np.array(SMALL_X, dtype=np.float32))
    np.testing.assert_array_equal(y, [2, 0, 1])
    np.testing.assert_array_equal(qid, [10, 10, -3])
    assert data.comments.tolist() == ["docid = GX1 inc = 1", "", ""]
    assert data.docid.tolist() == ["GX1", "", ""]
    assert data.group.tolist() == [2, 1]
    assert data.n_queries == 2
    assert repr(data) == "LetorData(n_rows=3, n_queries=2, n_features=4)"


def test_comments_are_left_out_unless_asked_for(write):
    data = load_letor(write(SMALL))
    assert data.comments is None
    assert data.docid is None


def test_group_needs_rows_of_a_query_together(write):
    data = load_letor(write("1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n"))
    assert data.n_queries == 2
    with pytest.raises(ValueError, match="not together"):
        _ = data.group


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_mq2008_is_the_array_that_others_made_of_it(real_data, sparse, n_jobs):
    expected = real_data("MQ2008")
    paths = [letor_text(part) for part in range(1, 6)]
    X, y, qid = load_letor(paths, sparse=sparse, n_jobs=n_jobs)
    np.testing.assert_array_equal(X.toarray() if sparse else X, expected["X"])
    np.testing.assert_array_equal(y, expected["y"])
    np.testing.assert_array_equal(qid, expected["qid"])
    for part in (1, 4):
        rows = expected["part"] == part
        alone = load_letor(paths[part - 1], comments=True)
        np.testing.assert_array_equal(alone.X, expected["X"][rows])
        assert all(re.fullmatch(r"GX\d+-\d+-\d+", name) for name in alone.docid)


def test_a_folder_of_partitions_is_read_in_natural_order(write, tmp_path):
    for number in (10, 2, 1):
        write(f"1 qid:{number} 1:1", f"S{number}.txt")
    write("not data", "README.txt")
    write("not data", "notes.md")
    write("not data", ".hidden.txt")
    assert load_letor(tmp_path).qid.tolist() == [1, 2, 10]
    assert load_letor(str(tmp_path)).qid.tolist() == [1, 2, 10]


def test_several_files_have_the_columns_of_the_widest(write):
    paths = [write("1 qid:1 1:1 2:5", "a"), write("0 qid:2 4:1", "b"), write("0 qid:3", "c")]
    expected = [[1, 5, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    np.testing.assert_array_equal(load_letor(paths).X, expected)
    np.testing.assert_array_equal(load_letor(paths, sparse=True).X.toarray(), expected)
    later = load_letor(paths, missing=np.nan).X
    np.testing.assert_array_equal(later[0], [1, 5, np.nan, np.nan])


# What a number is ---------------------------------------------------------------------------------

numbers = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(width=32, allow_nan=False).map(lambda value: f"{value:.9g}"),
    st.from_regex(r"\A-?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?\Z"),
    st.from_regex(r"\A[+-]?0{0,30}(\.0{0,30}[0-9]{0,30})(e-?[0-9]{1,2})?\Z").filter(
        lambda text: any(map(str.isdigit, text.split("e")[0]))
    ),
    st.sampled_from(
        ["NULL", "nan", "NaN", "inf", "-inf", "+Infinity", "1e400", "-1e400", "1e-400", "1.8e308"]
    ),
)
HALF_WAY = [
    "16777217",  # between two float32, an exact tie
    "16777217.000",
    "16777219.00000000000000000",
    "1.6777217e7",
    "2.5165825e8",
    "8388608.5",  # a tie again, and not whole
    "16777217.0000000000000001",  # nearest to one float64, and to the other float32
    "16777216.9999999999999999",
    "5.074913740158081",  # its float64 is half way between two float32, itself it is not
    "6.040552377700806",
    "1152921573326323713",  # likewise, though whole
    "9007199254740993",  # between two float64
    "1.00000000000000011102230246251565404236316680908203125",
    "1.000000000000000111022302462515654042363166809082031251",  # decided by the 55th digit
    "1.000000000000000111022302462515654042363166809082031249",
    "9007199254740993.00000000000000000000000001",
    "1.17549421069244107548702944484928734882705242874589e-38",  # largest subnormal float32
    "7.00649232162408535461864791644958e-46",  # half of the smallest float32
    "7.00649232162408535461864791644959e-46",
    "3.40282356779733661637539395458142568448e38",  # where float32 ends
    "3.40282356779733661637539395458142568447e38",
    "2.2250738585072011e-308",
    "0." + "0" * 400 + "1e401",
    "1" + "0" * 400 + "e-400",
    "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587",
]


@settings(max_examples=300, deadline=None)
@given(texts=st.lists(numbers, min_size=1, max_size=8))
@example(texts=HALF_WAY)
@example(texts=["-" + text for text in HALF_WAY])
def test_every_value_is_the_nearest_float(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("numbers") / "data.txt"
    features = " ".join(f"{column}:{text}" for column, text in enumerate(texts, start=1))
    path.write_text(f"0 qid:1 {features}\n")
    for dtype in (np.float32, np.float64):
        dense = load_letor(path, dtype=dtype, n_jobs=1).X
        for value, text in zip(dense[0], texts, strict=True):
            assert letor_oracle.is_nearest(value, text), (value, text)
        sparse = load_letor(path, dtype=dtype, sparse=True, n_jobs=1).X
        np.testing.assert_array_equal(sparse.toarray(), dense)


def test_many_long_numbers(write):
    """Python's float, which always rounds correctly, is the oracle."""
    rng = np.random.default_rng(5)
    lines = []
    for row in range(300):
        features = []
        for column in range(1, 101):
            digits = "".join(map(str, rng.integers(0, 10, rng.integers(14, 26))))
            point = rng.integers(0, len(digits))
            exponent = ["", f"e{rng.integers(-290, 290)}"][rng.integers(2)]
            features.append(f"{column}:{digits[:point]}.{digits[point:]}{exponent}")
        lines.append(f"0 qid:{row} " + " ".join(features))
    X = load_letor(write("\n".join(lines)), dtype=np.float64).X
    expected = [[float(token.split(":")[1]) for token in line.split()[2:]] for line in lines]
    np.testing.assert_array_equal(X, expected)
    with np.errstate(over="ignore"):
        rounded = np.array(expected).astype(np.float32)
    np.testing.assert_array_equal(load_letor(write("\n".join(lines))).X, rounded)


def test_many_values_that_need_big_integers(write):
    texts = ["16777217.0000000000000001", "9007199254740993", "8e-46"] * 50
    features = " ".join(f"{column}:{text}" for column, text in enumerate(texts, 1))
    X = load_letor(write(f"0 qid:1 {features}\n" * 3)).X
    np.testing.assert_array_equal(X, [[16777218, 2**53, 2**-149] * 50] * 3)


@pytest.mark.parametrize("text", HALF_WAY)
def test_labels_are_float64(write, text):
    label = load_letor(write(f"{text} qid:1")).y[0]
    assert label == float(text)


@settings(max_examples=300, deadline=None)
@given(numbers.filter(lambda text: text.lower() != "null"), st.booleans())
def test_exact_fallback_is_nearest(text, single):
    value = (np.float32 if single else np.float64)(nearest_float(text, single))
    assert letor_oracle.is_nearest(value, text)


def test_null_and_nan_are_missing_values(write):
    path = write("0 qid:1 1:NULL 2:nan 3:-NaN 4:null 5:0 7:1\n")
    expected = [[np.nan] * 4 + [0, 0, 1]]
    np.testing.assert_array_equal(load_letor(path).X, expected)
    np.testing.assert_array_equal(load_letor(path, sparse=True).X.toarray(), expected)
    expected = [[np.nan] * 4 + [0, np.nan, 1]]
    np.testing.assert_array_equal(load_letor(path, missing=np.nan).X, expected)
    expected = [[np.nan] * 4 + [0, -9, 1]]
    np.testing.assert_array_equal(load_letor(path, missing=-9).X, expected)


def test_sparse_stores_no_zeros(write):
    X = load_letor(write("0 qid:1 1:0 2:0.0 3:5 4:-0\n1 qid:1 1:0 6:0\n"), sparse=True).X
    assert issparse(X)
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert X.nnz == 1
    assert X.shape == (2, 6)
    assert X.has_canonical_format


# Where lines end ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "\n\n" + text + "\n   \n# the end",
        lambda text: text.replace(" # docid", "#docid"),
    ],
)
def test_what_does_not_matter(write, change):
    X, y, qid = load_letor(write(change(SMALL)))
    np.testing.assert_array_equal(X, np.array(SMALL_X, dtype=np.float32))
    np.testing.assert_array_equal(y, [2, 0, 1])
    np.testing.assert_array_equal(qid, [10, 10, -3])


def random_lines(seed: int, n_lines: int) -> list[str]:
    rng = np.random.default_rng(seed)
    lines = []
    for row in range(n_lines):
        kind = rng.integers(8)
        if kind == 0:
            lines.append(["", "   ", "# words: 1:2", "\t#"][rng.integers(4)])
            continue
        columns = np.flatnonzero(rng.random(12) < 0.5) + 1
        values = rng.normal(size=len(columns)) * 10.0 ** rng.integers(-3, 4)
        formats = ["{:.6f}", "{!r}", "{:.3e}", "{:.0f}"]
        features = [
            f"{column}:{formats[rng.integers(4)].format(value)}"
            for column, value in zip(columns, values.tolist(), strict=True)
        ]
        comment = f" # docid = D{row} a:b" if kind < 4 else ""
        lines.append(" ".join([str(rng.integers(5)), f"qid:{row // 5}", *features]) + comment)
    return lines


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("block", [8, 64, 1000])
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_blocks_and_threads_change_nothing(write, tiny_blocks, n_jobs, block, sparse):
    lines = random_lines(7, 200)
    path = write("\n".join(lines))
    expected = [letor_oracle.read_line(line) for line in lines]
    expected = [row for row in expected if row is not None]
    X = np.zeros((len(expected), 12), dtype=np.float32)
    for row, (_, _, features) in enumerate(expected):
        for column, value in features.items():
            X[row, column] = np.float32(value)
    tiny_blocks(block)
    data = load_letor(path, n_jobs=n_jobs, sparse=sparse, comments=True)
    np.testing.assert_array_equal(data.X.toarray() if sparse else data.X, X)
    np.testing.assert_array_equal(data.y, [label for label, _, _ in expected])
    np.testing.assert_array_equal(data.qid, [qid for _, qid, _ in expected])
    kept = [line for line in lines if letor_oracle.read_line(line)]
    comments = [line.partition("#")[2].strip() for line in kept]
    assert data.comments.tolist() == comments


def test_one_line_longer_than_any_block(write, tiny_blocks):
    tiny_blocks(100)
    features = " ".join(f"{column}:{column}" for column in range(1, 2001))
    X = load_letor(write(f"0 qid:1 1:1\n1 qid:1 {features}\n0 qid:2 2:5\n")).X
    assert X.shape == (3, 2000)
    np.testing.assert_array_equal(X[1], np.arange(1, 2001))
    assert X[0].sum() == 1
    assert X[2].sum() == 5


# What is not a line -------------------------------------------------------------------------------

VALID = (
    "2 qid:10032 1:0.056537 2:0.000000 3:0.666667 10:1e-3 46:1 #docid = GX029-35-5894638",
    "0.5 qid:18219\t1:NULL 2:-0.25 7:3",
    "1 qid:7",
)
PIECES = [
    *" \t:.#-+eEx,;_%",
    "\0",
    "\xff",
    "qid:",
    "1:",
    ":1",
    "nan",
    "inf",
    "0x1",
    "é",
    "3:4",
    "--",
]


def mutate(line: str, rng: np.random.Generator) -> str:
    """Return a line with one to three random changes."""
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(line) + 1))
        piece = PIECES[rng.integers(len(PIECES))]
        kind = rng.integers(5)
        if kind == 0:
            line = line[:at] + piece + line[at:]
        elif kind == 1:
            line = line[:at] + piece + line[at + len(piece) :]
        elif kind == 2:
            line = line[:at] + line[at + int(rng.integers(1, 8)) :]
        elif kind == 3:
            line = line[:at]
        else:
            tokens = line.split(" ")
            rng.shuffle(tokens)
            line = " ".join(tokens)
    return line


def test_ten_thousand_malformed_lines_are_named(write):
    rng = np.random.default_rng(20)
    n_malformed = n_accepted = 0
    while n_malformed < 10_000:
        broken = mutate(VALID[rng.integers(len(VALID))], rng)
        n_before, n_after = (int(count) for count in rng.integers(0, 4, 2))
        before = [VALID[rng.integers(len(VALID))] for _ in range(n_before)]
        after = [VALID[0]] * n_after
        path = write("\n".join([*before, broken, *after]) + "\n")
        expected = letor_oracle.read_line(broken)
        if expected is None and not letor_oracle.BLANK.fullmatch(broken):
            n_malformed += 1
            named = re.escape(f"{path}, line {n_before + 1}: ")
            with pytest.raises(ValueError, match=f"^{named}"):
                load_letor(path, n_jobs=1)
        elif expected is not None:
            n_accepted += 1
            X, y, qid = load_letor(path, n_jobs=1)
            label, query, features = expected
            assert (y[n_before], qid[n_before]) == (label, query)
            row = np.zeros(X.shape[1], dtype=np.float32)
            for column, text in features.items():
                with np.errstate(over="ignore"):
                    row[column] = letor_oracle.read_number(text)
            np.testing.assert_array_equal(X[n_before], row)
    assert n_accepted > 1000


MESSAGES = {
    "one qid:1 1:1": "expected a finite number, the label, got 'one'",
    "nan qid:1 1:1": "expected a finite number, the label, got 'nan'",
    "1e999 qid:1 1:1": "expected a finite number, the label, got '1e999'",
    "1 1:0.5": "expected qid: and the number of the query after the label, got '1:0.5'",
    "1": "expected qid: and the number of the query after the label, got the end of the line",
    "1 qid:a 1:1": "expected an integer of 64 bits after qid:, got 'a'",
    "1 qid:9223372036854775808": (
        "expected an integer of 64 bits after qid:, got '9223372036854775808'"
    ),
    "1 qid:1 0.5": "expected feature:value, got '0.5'",
    "1 qid:1 cost:3": "expected feature:value, got 'cost:3'",
    "1 qid:1 0:0.5": "features count from 1, got '0:0.5'; if they count from 0, set zero_",
    "1 qid:1 2:0.5 2:0.5": "ascending order, each once, got '2:0.5' after a larger one",
    "1 qid:1 3:1 2:1": "ascending order, each once, got '2:1' after a larger one",
    "1 qid:1 1:": "the value of feature 1 must be a number, got ''",
    "1 qid:1 1:0,5": "the value of feature 1 must be a number, got '0,5'",
    "1 qid:1 1:1.5.2": "the value of feature 1 must be a number, got '1.5.2'",
    "1 qid:1 1234567:1": "feature 1234567 is beyond 1000000, the most there can be; if it is meant",
    "1 qid:1 12345678901:1": "feature 12345678901 is beyond 1000000",
    "1 qid:1 18446744073709551617:1": "feature 18446744073709551617 is beyond 1000000",  # 2^64 + 1
    "1 qid:1 1:" + "9" * 90 + "x": "must be a number, got '" + "9" * 38 + "...'",
}


@pytest.mark.parametrize(("line", "message"), MESSAGES.items())
def test_messages_say_what_is_wrong(write, line, message):
    path = write(f"1 qid:1 1:1\n\n{line}\n1 qid:1 1:1\n")
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        load_letor(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("block", [16, 300])
def test_line_numbers_across_blocks_and_threads(write, tiny_blocks, n_jobs, block):
    tiny_blocks(block)
    for wrong in (1, 2, 50, 123, 200):
        lines = random_lines(wrong, 200)
        lines[wrong - 1] = "oops"
        lines[min(wrong + 3, 199)] = "oops"  # a later error does not hide the first
        with pytest.raises(ValueError, match=f"line {wrong}: "):
            load_letor(write("\n".join(lines)), n_jobs=n_jobs)


def test_infinite_label_that_needs_big_integers_is_named(write):
    path = write("1 qid:1 1:1\n" + "9" * 400 + " qid:1 1:1\n")
    with pytest.raises(ValueError, match="line 2: expected a finite number"):
        load_letor(path)


def test_zero_based(write):
    path = write("1 qid:1 0:5 2:6")
    np.testing.assert_array_equal(load_letor(path, zero_based=True).X, [[5, 0, 6]])


@pytest.mark.parametrize("sparse", [False, True])
def test_n_features(write, sparse):
    path = write("1 qid:1 2:5\n1 qid:1 3:5\n")
    assert load_letor(path, n_features=7, sparse=sparse).X.shape == (2, 7)
    with pytest.raises(ValueError, match="line 2: feature 3 is beyond n_features=2"):
        load_letor(path, n_features=2, sparse=sparse)


def test_wide_sparse_files(write):
    X = load_letor(write("1 qid:1 2147483647:1"), sparse=True).X
    assert X.shape == (1, 2**31 - 1)
    with pytest.raises(ValueError, match="feature 2147483648 is beyond 2147483647"):
        load_letor(write("1 qid:1 2147483648:1"), sparse=True)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_files_without_documents(write, text):
    with pytest.raises(ValueError, match=r"data\.txt holds no documents"):
        load_letor(write(text))


def test_lines_without_features(write):
    assert load_letor(write("1 qid:1\n0 qid:1\n")).X.shape == (2, 0)
    assert load_letor(write("1 qid:1\n0 qid:1\n"), sparse=True).X.shape == (2, 0)
    np.testing.assert_array_equal(load_letor(write("1 qid:1\n0 qid:1 2:3\n")).X, [[0, 0], [0, 3]])


# Arguments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dtype": np.float16}, ValueError, "dtype must be float32 or float64, got float16"),
        ({"sparse": "yes"}, ValueError, "sparse must be True or False or 'auto', got 'yes'"),
        ({"zero_based": 1}, TypeError, "zero_based must be True or False, got 1"),
        ({"missing": "NULL"}, TypeError, "missing must be a number or NaN, got 'NULL'"),
        ({"missing": np.nan, "sparse": True}, ValueError, "missing must be 0 if sparse=True"),
        ({"n_features": 0}, ValueError, "n_features must be an integer >= 1, got 0"),
        ({"n_features": 2.0}, ValueError, "n_features must be an integer >= 1, got 2.0"),
        ({"cache": 3}, TypeError, "cache must be None, True, False or a folder, got 3"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be"),
    ],
)
def test_options_that_make_no_sense(write, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        load_letor(write(SMALL), **options)


def test_paths_that_make_no_sense(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.txt: there is no such file"):
        load_letor(tmp_path / "missing.txt")
    with pytest.raises(FileNotFoundError, match="holds no data files"):
        load_letor(tmp_path)
    with pytest.raises(ValueError, match="is not a file"):
        load_letor([tmp_path])
    with pytest.raises(ValueError, match="at least one file"):
        load_letor([])
    with pytest.raises(TypeError, match="path must be a file"):
        load_letor(3)


# Memory and progress ------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_memory_is_twice_the_result_and_the_buffers(write, tiny_blocks, sparse):
    rng = np.random.default_rng(0)
    lines = [
        f"{row % 3} qid:{row // 20} "
        + " ".join(f"{column + 1}:{value:.3f}" for column, value in enumerate(rng.random(40)))
        for row in range(10_000)
    ]
    lines.append("0 qid:1000000 44:1")  # the very last line needs wider rows
    path = write("\n".join(lines))
    del lines
    load_letor(write(SMALL, "other.txt"), sparse=sparse)  # compile first
    tiny_blocks(1 << 16)
    tracemalloc.start()
    X, y, qid = load_letor(path, sparse=sparse, n_jobs=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    arrays = [X.data, X.indices, X.indptr] if sparse else [X]
    result = sum(array.nbytes for array in [*arrays, y, qid])
    buffers = 4 * (1 << 17)  # two blocks of two parts each, and what reading them takes
    assert peak <= 2 * result + buffers
    assert len(y) == 10_001


def test_progress_bar_counts_the_bytes_on_disk(write, monkeypatch, tiny_blocks):
    bars = []

    class Bar:
        def __init__(self, total, **_):
            self.total, self.done, self.closed = total, 0, False
            bars.append(self)

        def update(self, n_bytes):
            self.done += n_bytes

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.closed = True

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    tiny_blocks(32)
    paths = [write(SMALL, "a.txt"), write(SMALL * 10, "b.txt")]
    load_letor(paths)
    assert not bars
    load_letor(paths, progress=True)
    assert bars[0].total == bars[0].done == 11 * len(SMALL)
    assert bars[0].closed


def test_progress_without_tqdm_names_the_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"gbrank\[progress\]"):
        load_letor(write(SMALL), progress=True)
