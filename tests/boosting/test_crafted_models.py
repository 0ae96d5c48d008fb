"""Model files made by hand, whose checksum fits: one clear error at load, or a right model."""

import copy
import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest

from gbrank import Ranker
from gbrank.data import make_ranking

SETTINGS = {"n_estimators": 4, "num_leaves": 5, "n_jobs": 1, "preset": "fast"}
ODD = [None, True, -1, 10**9, 10**30, -5.5, 1e308, "", "x", [], [1], {}, {"$float": "nan"},
       {"$array": ["<f8", [2], [1.0, 2.0]]}, {"$array": ["<U999999", [1], ["a"]]},
       {"$array": ["<f8", [10**9], [1.0]]}, {"$tuple": []}, {"$set": [[1]]},
       {"$dict": [[[1], 2]]}, {"$objective": 3}, {"$by_name": 3}]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return make_ranking(n_queries=30, n_features=5, n_informative=4, random_state=0)


@pytest.fixture(scope="module")
def frame(data):
    named = pd.DataFrame(data.X, columns=list("abcde"))
    return named.assign(c=pd.Categorical((3 * data.X[:, 2]).astype(int)))


@pytest.fixture(scope="module", params=["linear", "query_linear"])
def saved(request, data, frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.txt"
    ranker = Ranker(**SETTINGS, start=request.param).fit(frame, data.y, qid=data.qid)
    ranker.save_model(path)
    return path.read_bytes(), ranker.predict(frame, qid=data.qid)


def signed(content):
    """Return a file whose checksum fits."""
    place = re.search(rb'"([0-9a-f]{64})"', content)
    if place is None:
        return content
    a, b = place.span(1)
    digest = hashlib.sha256(content[:a] + b"0" * 64 + content[b:]).hexdigest().encode()
    return content[:a] + digest + content[b:]


def paths(value, here=()):
    yield here
    entries = value.items() if isinstance(value, dict) else enumerate(value[:2])
    for key, entry in entries if isinstance(value, dict | list) else ():
        yield from paths(entry, (*here, key)) if isinstance(entry, dict | list) else [(*here, key)]


def put(value, path, new):
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = put(value[path[0]], path[1:], new)
    return changed


def use(path, frame, data):
    """Load a model and ask for all that it does; return its scores, or None if it was refused."""
    try:
        ranker = Ranker.load_model(path)
    except ValueError as error:
        assert str(path) in str(error)  # noqa: PT017 - a file may also be fine
        return None
    scores = ranker.predict(frame, qid=data.qid)
    ranker.rank(frame, qid=data.qid)
    ranker.save_model(path.with_suffix(".again"))
    repr(ranker)
    return scores


@pytest.mark.filterwarnings("ignore")
def test_metadata_of_the_wrong_kind(saved, frame, data, tmp_path):
    content, expected = saved
    line = re.search(rb"^\[gbrank: \]: (.*)$", content, re.MULTILINE)
    metadata = json.loads(line[1])
    rng = np.random.default_rng(0)
    places = [path for path in paths(metadata) if path and path[0] in ("fitted", "versions")]
    places += [("parameters", "n_jobs"), ("parameters", "qid"), ("objective",), ("fitted",)]
    path = tmp_path / "crafted.txt"
    for place in places:
        for at in rng.choice(len(ODD), 4, replace=False):
            changed = json.dumps(put(metadata, place, ODD[at])).encode()
            path.write_bytes(signed(content[: line.start(1)] + changed + content[line.end(1) :]))
            scores = use(path, frame, data)
            if (
                scores is not None
                and place[-1] not in ("start_coef_", 2)
                and place[1:2] != ("start_coef_",)
            ):
                np.testing.assert_array_equal(scores, expected)


TEXT = [
    (rb"num_leaves=\d+", b"num_leaves=1000000000"),
    (rb"num_leaves=\d+", b"num_leaves=-3"),
    (rb"num_leaves=\d+", b"num_leaves=99999999999999999999"),
    (rb"num_cat=\d+", b"num_cat=100000000"),
    (rb"split_feature=\d+", b"split_feature=70000"),
    (rb"split_feature=\d+", b"split_feature=-7"),
    (rb"left_child=-?\d+", b"left_child=50000"),
    (rb"left_child=-?\d+", b"left_child=0"),
    (rb"right_child=-?\d+", b"right_child=-90000"),
    (rb"leaf_value=\S+ ", b"leaf_value="),
    (rb"threshold=\S+ ", b"threshold="),
    (rb"decision_type=\d+", b"decision_type=1"),
    (rb"cat_boundaries=0 \d+", b"cat_boundaries=0 99999999"),
    (rb"cat_threshold=\d+ ?", b"cat_threshold="),
    (rb"max_feature_idx=\d+", b"max_feature_idx=2000000000"),
    (rb"max_feature_idx=\d+", b"max_feature_idx=1"),
    (rb"feature_names=a b", b"feature_names=a"),
    (rb"tree_sizes=\d+", b"tree_sizes=99999999"),
    (rb"tree_sizes=.*", b"tree_sizes="),
    (rb"end of trees", b"end of leaves"),
    (rb"num_leaves=\d+\n", b""),
    (rb"leaf_value=.*\n", b""),
    (rb"is_linear=0", b"is_linear=1"),
]


def resized(content):
    """Return a text whose trees have the sizes that it says."""
    blocks = re.split(
        rb"(?=^Tree=\d+\n)", content.partition(b"end of trees")[0], flags=re.MULTILINE
    )
    sizes = b" ".join(b"%d" % len(block) for block in blocks[1:])
    return re.sub(rb"tree_sizes=.*", b"tree_sizes=" + sizes, content)


@pytest.mark.parametrize(("old", "new"), TEXT)
def test_trees_that_lightgbm_would_take_on_trust(saved, frame, data, tmp_path, old, new):
    content, _ = saved
    path = tmp_path / "crafted.txt"
    found = [each.span() for each in re.finditer(old, content)]
    assert found, old
    for a, b in (found[0], found[-1]):
        changed = content[:a] + new + content[b:]
        if not old.startswith((b"tree_sizes", b"end of")):
            changed = resized(changed)
        path.write_bytes(signed(changed))
        with pytest.raises(ValueError, match=re.escape(str(path))):
            Ranker.load_model(path)
        plain = tmp_path / "lightgbm.txt"
        plain.write_bytes(re.sub(rb"\[gbrank: .*\n", b"", changed))
        with pytest.raises(ValueError, match=re.escape(str(plain))):
            Ranker(**SETTINGS).fit(frame, data.y, qid=data.qid, init_model=plain)


def test_what_is_not_changed_is_read(saved, frame, data, tmp_path):
    content, expected = saved
    path = tmp_path / "model.txt"
    path.write_bytes(signed(resized(content)))
    np.testing.assert_array_equal(use(path, frame, data), expected)
