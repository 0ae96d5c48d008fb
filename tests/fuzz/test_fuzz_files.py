"""Bytes of any kind, as LETOR text and as model files."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mutations import LETOR_TOKENS, mutate, sealed
from odd_input import fuzzed, ours_or_fine

from gbrank import Ranker
from gbrank.data import load_letor, make_ranking

tokens = st.sampled_from(LETOR_TOKENS)
texts = st.one_of(
    st.binary(max_size=60),
    st.lists(tokens, max_size=30).map(b"".join),
    st.lists(st.one_of(tokens, st.binary(max_size=3)), max_size=20).map(b"".join),
)


def check_letor(data):
    assert data.X.ndim == 2
    assert data.X.shape[0] == len(data.y) == len(data.qid) > 0
    assert np.isfinite(data.y).all()
    assert data.qid.dtype == np.int64


@pytest.mark.parametrize("sparse", [False, True])
@fuzzed
@given(text=texts)
def test_letor_reader(tmp_path_factory, sparse, text):
    path = tmp_path_factory.getbasetemp() / "fuzzed.txt"
    path.write_bytes(text)
    with ours_or_fine():
        check_letor(load_letor(path, sparse=sparse, n_features=50, comments=True, n_jobs=1))


@fuzzed
@given(
    label=st.one_of(st.floats(), st.text(max_size=5)),
    value=st.one_of(st.floats(), st.integers(), st.text(max_size=5)),
)
def test_letor_reader_reads_what_python_reads(tmp_path_factory, label, value):
    """The oracle is Python's own float, wherever that takes the text and LETOR means a number."""
    path = tmp_path_factory.getbasetemp() / "number.txt"
    path.write_text(f"{label} qid:1 1:{value}\n", encoding="utf-8", errors="surrogatepass")
    with ours_or_fine():
        data = load_letor(path, dtype=np.float64, n_jobs=1)
        if isinstance(label, float) and not isinstance(value, str):
            assert data.y[0] == label
            np.testing.assert_array_equal(data.X[0, 0], float(value))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    data = make_ranking(n_queries=20, random_state=0)
    path = tmp_path_factory.mktemp("model") / "model.txt"
    Ranker("lambdamart", preset="fast", n_estimators=2, num_leaves=4, n_jobs=1).fit(
        data.X, data.y, qid=data.qid
    ).save_model(path)
    return path.read_bytes()


@fuzzed
@given(seed=st.integers(0, 2**32 - 1))
def test_model_of_mutated_bytes(tmp_path_factory, saved, seed):
    changed = mutate(saved, np.random.default_rng(seed))
    path = tmp_path_factory.getbasetemp() / "mutated.txt"
    path.write_bytes(changed)
    if changed == saved:
        return
    with pytest.raises(ValueError, match="is not a model file of gbrank"):
        Ranker.load_model(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["$array", "$objective", "$float", "$dict", "$set", "$by_name", "name",
                         "params", "class", "$tuple", "$power_discount", "$new", "gain"]),
        inner, max_size=2,
    ),
    max_leaves=6,
)  # fmt: skip


@fuzzed
@given(
    place=st.sampled_from(["objective", "parameters", "fitted", "versions", "format"]),
    key=st.sampled_from([None, "objective", "best_iteration_", "gbrank", "n_estimators", "new_"]),
    value=json_values,
)
def test_model_with_a_checksum_that_fits(tmp_path_factory, saved, place, key, value):
    """Even a file made to be believed ends in a model or in a ValueError, and runs nothing."""
    ours = json.loads(saved.split(b"[gbrank: ]: ")[1].split(b"\n")[0])
    ours.pop("checksum")
    if key is None or not isinstance(ours.get(place), dict):
        ours[place] = value
    else:
        ours[place][key] = value
    path = tmp_path_factory.getbasetemp() / "sealed.txt"
    path.write_bytes(sealed(saved, ours))
    with ours_or_fine(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a newer version, of unknown parameters
        assert isinstance(Ranker.load_model(path), Ranker)
