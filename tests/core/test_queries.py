"""Layouts against a dictionary of lists, and every input that must be refused, with its words."""

import datetime
import decimal
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrank.core.queries import QueryLayout
from gbrank.core.validation import check_labels, check_query_weights, check_scores, check_weights

unhurried = settings(max_examples=30, deadline=None)


def rows_by_query(ids):
    """Return the rows of each id, ids in the order of their first row: the oracle."""
    rows = {}
    for row, query in enumerate(ids):
        rows.setdefault(query, []).append(row)
    return rows


def assert_layout_is(layout, ids, container):
    rows = rows_by_query(ids)
    order = [row for members in rows.values() for row in members]
    assert layout.n_rows == len(ids)
    assert layout.n_queries == len(rows)
    assert layout.bounds.dtype == np.int64
    assert layout.bounds.tolist() == [0, *itertools.accumulate(map(len, rows.values()))]
    assert layout.sizes.tolist() == [len(members) for members in rows.values()]
    if order == list(range(len(ids))):
        assert layout.order is None  # nothing needs to be moved
    else:
        assert layout.order.dtype == np.int64
        assert layout.order.tolist() == order
    assert layout.inverse.dtype == np.int64
    assert layout.inverse.tolist() == [order.index(row) for row in range(len(ids))]
    distinct = container(list(rows))
    assert list(layout.query_ids) == list(
        distinct if isinstance(distinct, list | tuple) else np.asarray(distinct)
    )
    values = np.arange(100, 100 + len(ids))
    assert layout.sort(values).tolist() == [100 + row for row in order]
    assert layout.unsort(layout.sort(values)).tolist() == values.tolist()
    pairs = np.stack([values, -values], axis=1)
    np.testing.assert_array_equal(layout.unsort(layout.sort(pairs)), pairs)


def objects(entries):
    return np.fromiter(entries, dtype=object, count=len(entries))


def arrow_strings(entries):
    pytest.importorskip("pyarrow")
    return pd.Series(entries, dtype="string[pyarrow]")


DAYS = st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1))
NUMPY_NUMBERS = {
    "int8": st.integers(-128, 127),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint8": st.integers(0, 255),
    "uint32": st.integers(0, 2**32 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    ">i4": st.integers(-(2**31), 2**31 - 1),
    "bool": st.booleans(),
    "float16": st.floats(width=16, allow_nan=False),
    "float32": st.floats(width=32, allow_nan=False),
    "float64": st.floats(allow_nan=False),
    ">f8": st.floats(allow_nan=False),
    "longdouble": st.floats(allow_nan=False),
    "complex128": st.complex_numbers(allow_nan=False),
    "datetime64[D]": DAYS,
    "datetime64[ns]": DAYS,
    "timedelta64[s]": st.timedeltas(datetime.timedelta(-(10**6)), datetime.timedelta(10**6)).map(
        lambda gap: gap - datetime.timedelta(microseconds=gap.microseconds)
    ),
}
# what an id may be, and the containers that hold such ids
KINDS = {
    **{
        dtype: (ids, lambda entries, dtype=dtype: np.array(entries, dtype=dtype))
        for dtype, ids in NUMPY_NUMBERS.items()
    },
    "list of ints": (st.integers(), list),
    "tuple of floats": (st.floats(allow_nan=False), tuple),
    "list of bools": (st.booleans(), list),
    "range": (st.integers(-5, 5), lambda entries: np.array(entries, dtype=np.int64)[::1]),
    "list of strings": (st.text(max_size=3), list),
    "list of bytes": (st.binary(max_size=3), list),
    "list of tuples": (st.tuples(st.integers(0, 2), st.text(max_size=1)), list),
    "list of dates": (DAYS, list),
    # NumPy drops NUL at the end, so there is none here
    "numpy strings": (st.text(st.characters(exclude_characters="\0"), max_size=3), np.array),
    "numpy bytes": (
        st.binary(max_size=3).map(lambda b: b.replace(b"\0", b"x")),
        lambda entries: np.array(entries, dtype="S3"),
    ),
    "numpy variable strings": (
        st.text(max_size=3),
        lambda entries: np.array(entries, dtype=np.dtypes.StringDType()),
    ),
    "numpy objects": (
        st.one_of(st.integers(), st.text(max_size=2), st.binary(max_size=2)),
        objects,
    ),
    "mixed list": (
        st.one_of(st.integers(), st.floats(allow_nan=False), st.text(max_size=2), DAYS),
        list,
    ),
    "structured": (
        st.tuples(st.integers(0, 2), st.integers(0, 2)),
        lambda entries: np.array(entries, dtype=[("user", "i8"), ("session", "i4")]),
    ),
    "strided": (
        st.integers(-9, 9),
        lambda entries: np.repeat(np.array(entries, dtype=int), 3)[::3],
    ),
    "series of ints": (
        st.integers(-9, 9),
        lambda entries: pd.Series(entries, index=range(len(entries), 0, -1), dtype="int64"),
    ),
    "series of floats": (
        st.floats(allow_nan=False),
        lambda entries: pd.Series(entries, dtype="float64"),
    ),
    "series of strings": (
        st.text(st.characters(codec="utf-8"), max_size=3),
        lambda entries: pd.Series(entries, dtype="str"),
    ),
    "series of objects": (
        st.one_of(st.integers(-(2**60), 2**60), st.text(max_size=2)),
        lambda entries: pd.Series(entries, dtype=object),
    ),
    "series of days": (DAYS, lambda entries: pd.Series(pd.to_datetime(pd.Series(entries)))),
    "index": (st.integers(-9, 9), lambda entries: pd.Index(entries, dtype="int64")),
    "categorical": (
        st.sampled_from("abc"),
        lambda entries: pd.Categorical(entries, categories=list("cabxy")),
    ),
    "series of categories": (
        st.integers(0, 5),
        lambda entries: pd.Series(entries, dtype="int64").astype("category"),
    ),
    "nullable ints": (
        st.integers(-(2**63), 2**63 - 1),
        lambda entries: pd.array(entries, dtype="Int64"),
    ),
    "nullable bools": (st.booleans(), lambda entries: pd.array(entries, dtype="boolean")),
    "arrow strings": (st.text(st.characters(codec="utf-8"), max_size=3), arrow_strings),
}


@pytest.mark.parametrize("kind", KINDS)
def test_any_dtype_in_any_order(kind):
    ids_of_kind, container = KINDS[kind]

    @unhurried
    @given(st.data())
    def check(data):
        pool = data.draw(st.lists(ids_of_kind, min_size=1, max_size=6))
        runs = data.draw(st.lists(st.tuples(st.sampled_from(pool), st.integers(1, 3)), max_size=9))
        ids = [query for query, length in runs for _ in range(length)]
        qid = container(ids)
        assert_layout_is(QueryLayout.from_qid(qid, len(ids)), ids, container)

    check()


@pytest.mark.parametrize(
    ("n_queries", "spread"),
    [(300, 1), (300, 10**12), (100_000, 1), (100_000, 2**40 + 1), (2, 2**63 - 1)],
)
def test_many_rows(n_queries, spread):
    """More queries than 16 bits number, and ids that differ in any of their bits."""
    generator = np.random.default_rng(n_queries)
    numbers = generator.integers(0, n_queries, size=150_000) - n_queries // 2
    ids = numbers * spread
    rows = rows_by_query(ids.tolist())
    order = np.concatenate(list(map(np.array, rows.values())))
    bounds = np.cumsum([0, *map(len, rows.values())])
    for qid in (ids, ids.astype(np.float64), ids.view("datetime64[ns]"), ids.astype("U20")):
        if qid.dtype.kind == "f" and abs(ids).max() > 2**53:
            continue  # floats merge such numbers
        layout = QueryLayout.from_qid(qid)
        np.testing.assert_array_equal(layout.order, order)
        np.testing.assert_array_equal(layout.bounds, bounds)
        np.testing.assert_array_equal(layout.query_ids, qid[order[bounds[:-1]]])


def test_rows_in_place_are_not_moved():
    layout = QueryLayout.from_qid(np.repeat(np.arange(1000)[::-1], 3))
    values = np.arange(3000.0)
    assert layout.order is None
    assert layout.sort(values) is values
    assert layout.unsort(values) is values


@pytest.mark.parametrize(
    ("qid", "n_queries"),
    [
        ([1, "1"], 2),
        ([b"a", "a"], 2),
        (["a", "a\0"], 2),
        (["nan", "None", "", "NaT"], 4),
        ([2**53, 2**53 + 1, 0.5], 3),
        ([2**63 + 1, 2**63 + 2, -1], 3),
        ([2**70, 2**70 + 1], 2),
        (np.array([2**63 + 1, 2**63 + 2], dtype=np.uint64), 2),
        (np.array([-1, 2**63 - 1]), 2),
        ([np.int64(1), np.uint64(2**63 + 1), np.uint64(2**63 + 2)], 3),
        (np.array([np.int64(1), "1", np.float64(1)], dtype=object), 2),
        ([1, 1.0, True, np.float32(1)], 1),
        ([0.0, -0.0], 1),
        (np.array([0.0, -0.0], dtype=np.float16), 1),
        ([5e-324, 0.0, -5e-324], 3),
        ([np.inf, -np.inf], 2),
        ([(1, 2), (1, 2), (2, 1)], 2),
        ([(1, 2), (1,), 1], 3),
        ([frozenset({1}), frozenset({1})], 1),
        ([decimal.Decimal("1.0"), decimal.Decimal("1")], 1),
        (pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (1, "a")]), 2),
        (np.ma.array([1, 2, 1], mask=False), 2),
        (np.broadcast_to(np.array(7), 5), 1),
        (range(4), 4),
    ],
    ids=repr,
)
def test_what_counts_as_the_same_id(qid, n_queries):
    assert QueryLayout.from_qid(qid).n_queries == n_queries


@pytest.mark.parametrize("ids", [[True, 1, 1.0], [1, True, 1.0], [1.0, True, 1]])
def test_an_id_is_shown_as_it_first_came(ids):
    (shown,) = QueryLayout.from_qid(ids).query_ids
    assert shown is ids[0]


def test_layouts_of_dtypes_agree():
    """One column of ids means the same in whatever type it comes."""
    ids = [3, 1, 3, 2, 2, 1]
    columns = [
        ids,
        tuple(ids),
        np.array(ids, dtype=np.int8),
        np.array(ids, dtype=np.float32),
        [f"query {i}" for i in ids],
        np.array([f"query {i}" for i in ids]),
        pd.Series(ids).astype("category"),
        np.array(ids, dtype="datetime64[Y]"),
    ]
    for column in columns:
        layout = QueryLayout.from_qid(column)
        assert layout.bounds.tolist() == [0, 2, 4, 6]
        assert layout.order.tolist() == [0, 2, 1, 5, 3, 4]


@pytest.mark.parametrize(
    "qid",
    [
        [],
        (),
        np.array([], dtype=int),
        np.array([], dtype="U3"),
        np.array([], dtype=object),
        pd.Series([], dtype="int64"),
        pd.Categorical([]),
    ],
    ids=repr,
)
def test_no_rows(qid):
    layout = QueryLayout.from_qid(qid, 0)
    assert (layout.n_rows, layout.n_queries) == (0, 0)
    assert layout.bounds.tolist() == [0]
    assert layout.sort(np.empty(0)).tolist() == []
    assert check_labels([], layout).tolist() == []
    assert check_query_weights([], layout).tolist() == []


MISSING = {
    "None": ["a", "b", None, "b"],
    "NaN": [1.0, 2.0, np.nan, 2.0],
    "NaN among objects": np.array(["a", 1, np.nan, float("nan")], dtype=object),
    "NumPy's NaN among strings": ["a", "b", np.float64("nan")],
    "NaT": np.array(["2020-01-01", "2020-01-02", "NaT"], dtype="datetime64[D]"),
    "no time span": np.array([1, 2, "NaT"], dtype="timedelta64[s]"),
    "pandas' NaT": [pd.Timestamp("2020"), pd.Timestamp("2021"), pd.NaT],
    "pandas' NA": [1, 2, pd.NA],
    "decimal NaN": [decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal("nan")],
    "complex NaN": np.array([1, 2, complex("nan")]),
    "masked": np.ma.array([1, 2, 2], mask=[False, False, True]),
    "masked NaN": np.ma.array([1.0, 2.0, np.nan], mask=[False, False, True]),
    "series": pd.Series([1.0, 2.0, None]),
    "nullable": pd.array([1, 2, None], dtype="Int64"),
    "nullable holding NaN": pd.arrays.FloatingArray(
        np.array([1.0, 2.0, np.nan]), np.zeros(3, dtype=bool)
    ),
    "category": pd.Categorical(["a", "b", None]),
    "variable strings, None": np.array(
        ["a", "b", None], dtype=np.dtypes.StringDType(na_object=None)
    ),
    "variable strings, NaN": np.array(
        ["a", "b", np.nan], dtype=np.dtypes.StringDType(na_object=np.nan)
    ),
}


@pytest.mark.parametrize("qid", MISSING.values(), ids=MISSING)
def test_missing_ids_are_refused(qid):
    with pytest.raises(ValueError, match=r"^qid must not be missing, but that of row 2 is$"):
        QueryLayout.from_qid(qid)


@pytest.mark.parametrize(
    ("qid", "got"),
    [
        (7, "int"),
        ("query", "str"),
        (None, "NoneType"),
        ({1, 2}, "set"),
        ((number for number in [1, 2]), "generator"),
        (np.array(7), r"an array of shape \(\)"),
        ([[1], [2]], r"an array of shape \(2, 1\)"),
        ([[1], [2, 3]], "a nested list"),
        (np.zeros((3, 1)), r"an array of shape \(3, 1\)"),
        (pd.DataFrame({"qid": [1, 2]}), r"an array of shape \(2, 1\)"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_qid_must_be_one_dimensional(qid, got):
    with pytest.raises(ValueError, match=f"^qid must be one-dimensional, got {got}$"):
        QueryLayout.from_qid(qid)


@pytest.mark.parametrize(
    ("qid", "kind"),
    [
        (["a", {}], "dict"),
        ([1, [2]], "list"),
        (pd.Series([1, {2}], dtype=object), "set"),
        (objects([1, np.array([1, 2])]), "ndarray"),
    ],
    ids=repr,
)
def test_unhashable_ids_are_refused(qid, kind):
    with pytest.raises(
        TypeError, match=f"^qid entries must be hashable, but that of row 1 is of type {kind}$"
    ):
        QueryLayout.from_qid(qid)


def test_qid_of_the_wrong_length():
    with pytest.raises(ValueError, match=r"^qid must have one entry per row: got 2 for 3 rows$"):
        QueryLayout.from_qid([1, 2], 3)


@unhurried
@given(st.lists(st.integers(0, 5)))
def test_group_sizes(sizes):
    layout = QueryLayout.from_group(sizes, sum(sizes))
    assert layout.bounds.dtype == np.int64
    assert layout.bounds.tolist() == [0, *itertools.accumulate(sizes)]
    assert layout.sizes.tolist() == sizes
    assert (layout.n_queries, layout.n_rows) == (len(sizes), sum(sizes))
    assert layout.order is None
    assert layout.query_ids is None
    assert layout.inverse.tolist() == list(range(sum(sizes)))


@unhurried
@given(st.lists(st.integers(1, 4), min_size=1), st.sampled_from(["int32", "int64", "float32"]))
def test_group_and_qid_say_the_same(sizes, dtype):
    by_group = QueryLayout.from_group(np.array(sizes, dtype=dtype))
    by_qid = QueryLayout.from_qid(np.repeat(np.arange(len(sizes)), sizes))
    assert by_group.bounds.tolist() == by_qid.bounds.tolist()
    assert by_qid.order is None


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ([2, -1], r"group sizes must be integers >= 0, but group\[1\] is -1"),
        ([2, 1.5], r"group sizes must be integers >= 0, but group\[1\] is 1.5"),
        ([2, np.nan], r"group sizes must be integers >= 0, but group\[1\] is nan"),
        ([2, np.inf], r"group sizes must be integers >= 0, but group\[1\] is inf"),
        ([2, None], r"group sizes must be integers >= 0, but group\[1\] is nan"),
        ([2**53], r"group sizes must sum to less than 2\^53, got 9.0072e\+15"),
        ([2**52] * 4096, r"group sizes must sum to less than 2\^53, got 1.84467e\+19"),
        ([1, 2], "group sizes must sum to the number of rows: they sum to 3, there are 0 rows"),
        (3, "group must be one-dimensional, got int"),
        ([[1, 2]], r"group must be one-dimensional, got an array of shape \(1, 2\)"),
        (np.ma.array([1, 1], mask=[0, 1]), "group must not be missing, but that of query 1 is"),
    ],
    ids=repr,
)
def test_bad_group_sizes(group, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        QueryLayout.from_group(group, 0)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (["1", "2"], "group must be numbers, got an array of dtype <U1"),
        (objects([1, "2"]), "group must be numbers, but query 1 has '2'"),
        ([1j], "group must be numbers, got an array of dtype complex128"),
        (np.array([1], dtype="m8[s]"), r"group must be numbers, got .* timedelta64\[s\]"),
    ],
    ids=repr,
)
def test_group_sizes_that_are_no_numbers(group, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        QueryLayout.from_group(group)


def test_either_qid_or_group():
    assert QueryLayout.from_either([5, 5, 6], None, 3).bounds.tolist() == [0, 2, 3]
    assert QueryLayout.from_either(None, [2, 1], 3).bounds.tolist() == [0, 2, 3]
    with pytest.raises(ValueError, match=r"^give either qid .* or group .*, got neither$"):
        QueryLayout.from_either(None, None, 3)
    with pytest.raises(ValueError, match=r"^give either qid .* or group .*, got both$"):
        QueryLayout.from_either([1, 1, 1], [3], 3)


@pytest.mark.parametrize("values", [[1], [1, 2, 3, 4], 7, np.zeros((1, 3))], ids=repr)
@pytest.mark.parametrize("qid", [["b", "a", "b"], ["b", "b", "a"]])
def test_sort_and_unsort_refuse_other_lengths(values, qid):
    layout = QueryLayout.from_qid(qid)
    for move in (layout.sort, layout.unsort):
        with pytest.raises(
            ValueError, match=r"^values must have one entry per row: got .* 3 rows$"
        ):
            move(values)


def test_rows_and_queries_are_named():
    layout = QueryLayout.from_qid(["b", "a", "b"])
    assert [layout.describe_row(row) for row in range(3)] == [
        "row 0 (query 'b')",
        "row 1 (query 'a')",
        "row 2 (query 'b')",
    ]
    assert QueryLayout.from_qid(np.array([7, 7, 5])).describe_row(2) == "row 2 (query 5)"
    assert QueryLayout.from_qid(np.array(["x", "y"])).describe_row(1) == "row 1 (query 'y')"
    # queries without rows are skipped
    assert QueryLayout.from_group([0, 2, 0, 0, 1]).describe_row(2) == "row 2 (query 4)"
    assert QueryLayout.from_group([0, 2]).describe_query(1) == "query 1"
    assert repr(layout) == "QueryLayout(n_queries=2, n_rows=3)"


CHECKS = {"labels": check_labels, "scores": check_scores, "weights": check_weights}
GOOD = [
    [0, 1, 2],
    (0.0, 0.5, 1e300),
    [True, False, True],
    [0.0, -0.0, 5e-324],
    np.array([0, 1, 2], dtype=np.int32),
    np.array([0, 1, 2], dtype=np.uint64),
    np.array([0, 1, 2], dtype=np.float16),
    np.array([0, 1, 2], dtype=">f8"),
    np.arange(9.0)[::-3],
    np.ma.array([0.0, 1.0, 2.0]),
    objects([0, 1.5, decimal.Decimal("2.5")]),
    pd.Series([0.0, 1.0, 2.0], index=[5, 6, 7]),
    pd.array([0, 1, 2], dtype="Int64"),
]


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("values", GOOD, ids=repr)
def test_numbers_become_float64(name, values):
    checked = CHECKS[name](values, QueryLayout.from_group([1, 2]))
    assert type(checked) is np.ndarray
    assert checked.dtype == np.float64
    assert checked.tolist() == [float(value) for value in values]
    # kernels are compiled for this kind of array and no other
    assert checked.flags.c_contiguous
    assert checked.flags.aligned
    assert checked.flags.writeable


@pytest.mark.parametrize("name", CHECKS)
def test_read_only_arrays_are_copied_and_others_are_not(name):
    values = np.arange(3.0)
    assert CHECKS[name](values) is values
    values.flags.writeable = False
    checked = CHECKS[name](values)
    assert checked.flags.writeable
    assert not np.shares_memory(checked, values)


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1.0, -5e-324, None])
@unhurried
@given(row=st.integers(0, 5), later=st.integers(0, 5))
def test_the_first_bad_row_is_named(name, bad, row, later):
    signed = name == "scores" and bad is not None and np.isfinite(bad)
    values = [float(number) for number in range(6)]
    values[max(row, later)] = np.nan
    values[row] = bad
    layout = QueryLayout.from_qid(["b", "a", "b", "c", "a", "b"])
    shown = "nan" if bad is None else f"{bad:g}"
    if signed:
        if row < later:
            row, shown = later, "nan"
        else:
            assert CHECKS[name](values, layout).tolist() == values
            return
    expected = f"{name} must be finite numbers" + ("" if name == "scores" else " >= 0")
    with pytest.raises(ValueError, match=f"^{expected}, but row {row} has {shown}$"):
        CHECKS[name](values)
    with pytest.raises(
        ValueError, match=rf"^{expected}, but row {row} \(query '{'babcab'[row]}'\) has {shown}$"
    ):
        CHECKS[name](values, layout)


def test_signed_labels():
    assert check_labels([-1.0, 2.0], signed=True).tolist() == [-1.0, 2.0]
    with pytest.raises(ValueError, match=r"^labels must be finite numbers, but row 1 has -inf$"):
        check_labels([-1.0, -np.inf], signed=True)


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1, 2], ValueError, "must have one entry per row: got 2 for 3 rows"),
        (1.0, ValueError, "must be one-dimensional, got float"),
        (None, ValueError, "must be one-dimensional, got NoneType"),
        (np.array(1.0), ValueError, r"must be one-dimensional, got an array of shape \(\)"),
        ([[1], [2], [3]], ValueError, r"must be one-dimensional, got an array of shape \(3, 1\)"),
        ([[1], [2, 3], [4]], ValueError, "must be one-dimensional, got a nested list"),
        (["1", "2", "3"], TypeError, "must be numbers, got an array of dtype <U1"),
        (pd.Series(["1", "2", "3"]), TypeError, "must be numbers, but row 0 has '1'"),
        (objects([1, b"2", 3]), TypeError, "must be numbers, but row 1 has b'2'"),
        (objects([1, [2], 3]), TypeError, r"must be numbers, but row 1 has \[2\]"),
        (objects([1, 2, 3j]), TypeError, "must be numbers, but row 2 has 3j"),
        (objects([1, 2, pd.NA]), TypeError, "must be numbers, but row 2 has <NA>"),
        ([1, 2, 10**400], TypeError, r"must be numbers, but row 2 has 10+\.\.\.0+"),
        ([1, 2, 3j], TypeError, "must be numbers, got an array of dtype complex128"),
        (
            np.array([1, 2, 3], dtype="M8[s]"),
            TypeError,
            r"must be numbers, got an array of dtype datetime64\[s\]",
        ),
        (
            np.ma.array([1, 2, 3], mask=[0, 1, 0]),
            ValueError,
            "must not be missing, but that of row 1 is",
        ),
    ],
    ids=repr,
)
def test_what_is_no_column_of_numbers(name, values, error, message):
    with pytest.raises(error, match=f"^{name} {message}$"):
        CHECKS[name](values, QueryLayout.from_group([3]))


def test_long_doubles_beyond_float64_are_infinite():
    if np.finfo(np.longdouble).maxexp == np.finfo(np.float64).maxexp:
        pytest.skip("long double is float64 here")
    beyond = np.array([1.0, np.longdouble(2) ** 2000])
    with pytest.raises(
        ValueError, match=r"^labels must be finite numbers >= 0, but row 1 has inf$"
    ):
        check_labels(beyond)


@unhurried
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), min_size=1))
def test_weights_of_queries(rows):
    """Per row or per query, the same weights come out."""
    ids = [query for query, _ in rows]
    layout = QueryLayout.from_qid(ids)
    weight_of = dict(rows)
    per_query = [float(weight_of[query]) for query in dict.fromkeys(ids)]
    assert check_query_weights([weight_of[query] for query in ids], layout).tolist() == per_query
    assert check_query_weights(per_query, layout).tolist() == per_query


def test_weights_of_queries_without_rows():
    layout = QueryLayout.from_group([2, 0, 2])
    assert check_query_weights([3, 5, 7], layout).tolist() == [3.0, 5.0, 7.0]
    assert check_query_weights([3, 3, 7, 7], layout).tolist() == [3.0, 0.0, 7.0]


def test_as_many_weights_as_rows_are_weights_of_rows():
    layout = QueryLayout.from_group([2, 0, 1])  # three rows, and three queries
    assert check_query_weights([3, 3, 7], layout).tolist() == [3.0, 0.0, 7.0]
    with pytest.raises(ValueError, match=r"row 1 \(query 0\) has 5, the rows before it have 3$"):
        check_query_weights([3, 5, 7], layout)
    # one row each: both readings agree
    assert check_query_weights([3, 5], QueryLayout.from_qid(["b", "a"])).tolist() == [3.0, 5.0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            [1, 2, 3],
            r"sample_weight must be the same for all rows of a query, but row 2 \(query 'b'\) has "
            "3, the rows before it have 1",
        ),
        ([1, 2, -1], r"weights must be finite numbers >= 0, but row 2 \(query 'b'\) has -1"),
        ([1, np.nan], "weights must be finite numbers >= 0, but that of query 'a' is nan"),
        ([-np.inf, 1], "weights must be finite numbers >= 0, but that of query 'b' is -inf"),
        ([1], r"sample_weight must have one entry per query \(2\) or per row \(3\), got 1"),
        ([], r"sample_weight must have one entry per query \(2\) or per row \(3\), got 0"),
        (2.0, "sample_weight must be one-dimensional, got float"),
        ([[1, 2]], r"sample_weight must be one-dimensional, got an array of shape \(1, 2\)"),
    ],
    ids=repr,
)
def test_bad_weights_of_queries(weights, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        check_query_weights(weights, QueryLayout.from_qid(["b", "a", "b"]))
