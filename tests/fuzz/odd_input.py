"""Input as it comes: good, nearly good, and nothing like what was asked for."""

import contextlib
import linecache
import os
import traceback
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import gbrank

#: Examples per test: few in every run, many in ``make test-all``, any number by hand.
EXAMPLES = int(os.environ.get("GBRANK_FUZZ_EXAMPLES", "40"))

fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],  # explaining takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

#: Where arithmetic, or a conversion, has an edge.
EDGES = [
    *(0.0, -0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-160, 1e-45, 1e-38, 1e-7, 0.5, 1.0),
    *(2.0, 30.0, 31.0, 88.0, 127.0, 709.0, 710.0, 745.0, 1023.0, 1024.0, 65504.0, 2.0**24),
    *(2.0**31, 2.0**53, 2.0**63, 2.0**64, 1e19, 1e38, 3.4e38, 3.5e38, 1e154, 1e300, 1.7e308),
]

plain_floats = st.floats(-20, 20, allow_nan=False)
positive_edges = st.sampled_from(EDGES)
finite_edges = st.builds(
    lambda sign, edge: sign * edge, st.sampled_from([-1.0, 1.0]), positive_edges
)
any_float = st.one_of(finite_edges, st.floats(), st.sampled_from([np.nan, np.inf, -np.inf]))

_PACKAGE = str(Path(gbrank.__file__).parent)
#: scikit-learn's own checks of a matrix of features, which scikit-learn's users know.
_SKLEARN_CHECKS = os.path.join("sklearn", "utils", "validation.py")  # noqa: PTH118 - part of a path


@contextlib.contextmanager
def ours_or_fine():
    """Let a ``ValueError`` or ``TypeError`` pass that gbrank raised knowingly, and nothing else."""
    try:
        yield
    except (ValueError, TypeError) as error:
        frames = traceback.extract_tb(error.__traceback__)
        last = frames[-1]
        knowingly = "raise" in linecache.getline(last.filename, last.lineno)
        by_us = last.filename.startswith(_PACKAGE) and knowingly
        by_sklearn = any(frame.filename.endswith(_SKLEARN_CHECKS) for frame in frames)
        if not ((by_us or by_sklearn) and str(error)):
            raise AssertionError(f"not an error of gbrank: {error!r} from {last}") from error


DTYPES = (
    *("float16", "float32", "float64", "longdouble", ">f8", "bool", "int8", "uint8", "int16"),
    *("int32", "int64", "uint64", "complex128", "U8", "S8", "datetime64[s]", "timedelta64[s]"),
)


def _as_dtype(values, dtype):
    numbers = np.array(values, dtype=np.float64)
    with np.errstate(all="ignore"):
        if dtype.startswith(("datetime", "timedelta")):
            return (
                np.nan_to_num(numbers, posinf=0, neginf=0)
                .clip(-1e9, 1e9)
                .astype("i8")
                .astype(dtype)
            )
        return numbers.astype(dtype)


@st.composite
def odd_columns(draw, size, ordinary):
    """One entry per row, or not: any dtype, container, shape and value."""
    values = draw(st.lists(st.one_of(ordinary, any_float), min_size=size, max_size=size))
    kind = draw(st.sampled_from(_KINDS))
    return kind(draw, values)


def _wrong_length(draw, values):
    return values[: draw(st.integers(0, max(len(values) - 1, 0)))] + draw(
        st.sampled_from([[], [1.0]])
    )


def _objects(draw, values):
    odd = st.sampled_from([None, "1", b"1", "", [], {}, 1j, 2**70, -(2**70), np.nan, pd.NA, object])
    at = draw(st.integers(0, max(len(values) - 1, 0)))
    entries = np.empty(len(values), dtype=object)
    entries[:] = values
    if len(values):
        entries[at] = draw(odd)
    return entries if draw(st.booleans()) else entries.tolist()


def _read_only(_, values):
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def _pandas(draw, values):
    dtype = draw(st.sampled_from(["float64", "Float64", "float32", "object", "category", "string"]))
    return pd.Series(values).astype(dtype)


_KINDS = (
    lambda draw, values: np.array(values, dtype=np.float64),
    lambda draw, values: values,
    lambda draw, values: tuple(values),
    lambda draw, values: _as_dtype(values, draw(st.sampled_from(DTYPES))),
    lambda draw, values: _as_dtype(values, draw(st.sampled_from(DTYPES))),
    lambda draw, values: np.repeat(np.array(values, dtype=np.float64), 2)[::2],
    lambda draw, values: np.array(values, dtype=np.float64).reshape(-1, 1),
    lambda draw, values: np.array(values, dtype=np.float64).reshape(1, -1),
    lambda draw, values: np.ma.masked_invalid(np.array(values, dtype=np.float64)),
    lambda draw, values: draw(st.sampled_from([None, 1, 1.5, "abc", b"abc", object(), {}, {1: 2}])),
    lambda draw, values: [[value] for value in values],
    lambda draw, values: [values, values[:-1]],
    lambda draw, values: iter(values),
    lambda draw, values: set(values),
    _wrong_length,
    _objects,
    _read_only,
    _pandas,
)


@st.composite
def columns(draw, size, ordinary, edges):
    """Mostly what was asked for, with edge values; sometimes anything."""
    how = draw(st.integers(0, 9))
    if how < 4:
        return np.array(draw(st.lists(ordinary, min_size=size, max_size=size)), dtype=np.float64)
    if how < 7:
        entries = st.one_of(ordinary, edges)
        return np.array(draw(st.lists(entries, min_size=size, max_size=size)), dtype=np.float64)
    return draw(odd_columns(size, ordinary))


labels = st.one_of(st.integers(0, 4).map(float), st.floats(0, 5))


@st.composite
def groups(draw):
    """Rows per query, queries without rows among them."""
    return draw(st.lists(st.integers(0, 6), min_size=0, max_size=5))


@st.composite
def ranking_input(draw):
    """Labels, scores, group sizes and weights that may fit together."""
    group = draw(groups())
    size = sum(group)
    odd_group = draw(st.integers(0, 9)) == 0
    return (
        draw(columns(size, labels, positive_edges)),
        draw(columns(size, plain_floats, finite_edges)),
        draw(odd_columns(len(group), st.integers(0, 6).map(float))) if odd_group else group,
        draw(st.one_of(st.none(), columns(size, st.floats(0, 3), positive_edges))),
    )
