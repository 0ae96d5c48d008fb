"""Rows that differ, counted as pandas counts them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from gbrank.core import count_distinct_rows, number_distinct_rows


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    few = rng.integers(-1, 2, (700, 5)).astype(np.float32)
    few[few == -1] = rng.choice([np.nan, 0.5, -0.0], (few == -1).sum())
    return few[rng.integers(0, len(few), 5_000)]


def test_every_kind_of_matrix(rows):
    frame = pd.DataFrame(rows, columns=list("abcde"))
    expected = len((frame + 0.0).drop_duplicates())
    assert 50 < expected < 700
    kinds = [rows, rows.astype(float), np.asfortranarray(rows), rows.tolist(), frame,
             pl.DataFrame(frame), pa.Table.from_pandas(frame), sparse.csr_matrix(rows),
             sparse.csc_matrix(rows)]  # fmt: skip
    assert [count_distinct_rows(each) for each in kinds] == [expected] * len(kinds)
    stored = sparse.csr_matrix(np.ones_like(rows))
    stored.data = rows.ravel().copy()  # zeros are stored
    assert count_distinct_rows(stored) == expected


def test_equal_rows_have_the_same_number(rows):
    expected = pd.DataFrame(rows + 0.0).groupby(list(range(5)), dropna=False).ngroup()
    for kind in (rows, sparse.csr_matrix(rows), pl.DataFrame(rows)):
        found = number_distinct_rows(kind)
        assert sorted(set(found)) == list(range(expected.nunique()))
        assert len(set(zip(found, expected, strict=True))) == expected.nunique()


def test_columns_are_told_apart():
    assert count_distinct_rows([[1, 0], [0, 1], [1, 1], [0, 0], [2, -1]]) == 5
    assert count_distinct_rows(np.zeros((4, 0))) == 1


def test_categories_count():
    frame = pd.DataFrame({"a": [1, 1, 1, 1], "b": pd.Categorical(["x", "y", "x", None])})
    assert count_distinct_rows(frame) == 3
    assert count_distinct_rows(pa.Table.from_pandas(frame[:3])) == 2


def test_a_sequence_is_read_in_batches(rows):
    lightgbm = pytest.importorskip("lightgbm")

    class Batches(lightgbm.Sequence):
        batch_size = 300

        def __getitem__(self, index):
            return rows[index]

        def __len__(self):
            return len(rows)

    assert count_distinct_rows(Batches()) == count_distinct_rows(rows)
