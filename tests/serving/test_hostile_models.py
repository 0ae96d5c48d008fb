"""Models made by hand, exported and compiled: the scores of LightGBM, or one clear error."""

import json
import re

import numpy as np
import pytest

from gbrank import Ranker, export
from gbrank.boosting import read_lightgbm_model
from gbrank.data import make_ranking
from gbrank.serving import compile_model

DATA = make_ranking(n_queries=15, n_features=4, n_informative=3, random_state=0)
ROWS = np.vstack([
    DATA.X.astype(float),
    *(np.full((1, 4), value) for value in (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-36, 1e308)),
])  # fmt: skip
FORMATS = ("opensearch", "elasticsearch", "solr", "vespa")


@pytest.fixture(scope="module")
def text():
    ranker = Ranker("listnet", preset="fast", n_estimators=3, num_leaves=4, n_jobs=1)
    return ranker.fit(DATA.X, DATA.y, qid=DATA.qid).booster_.model_to_string()


def sized(text):
    """Return a text whose trees have the sizes that it says."""
    head, *blocks = re.split(r"(?=^Tree=\d+\n)", text.partition("end of trees")[0], flags=re.M)
    sizes = " ".join(str(len(block.encode())) for block in blocks)
    whole = re.sub("tree_sizes=.*", lambda _: f"tree_sizes={sizes}", head)
    return whole + "".join(blocks) + "end of trees" + text.partition("end of trees")[2]


def first_number(name, value):
    return rf"(?m)^{name}=\S+", f"{name}={value}"


CRAFTED = {
    **{
        f"{name} {value}": first_number(name, value)
        for name in ("leaf_value", "threshold", "internal_value", "split_gain", "shrinkage")
        for value in ("nan", "inf", "-inf", "1e308", "-1e308", "5e-324", "1e-36", "1e999", "x", "")
    },
    **{f"decision_type {n}": first_number("decision_type", n) for n in (0, 1, 4, 8, 12, 14, 255)},
    **{
        f"feature_names {name[:12]!r}": (r"(?m)^feature_names=\S+", f"feature_names={name}")
        for name in ('"x"', "</script>", "a" * 100_000, "\\u0000", "é", "{0}", "$(x)", "Column_1")
    },
    "average_output": (r"(?m)^version=v4$", "version=v4\naverage_output"),
    "classes": (r"(?m)^num_tree_per_iteration=1$", "num_tree_per_iteration=3"),
    "no classes": (r"(?m)^num_tree_per_iteration=1$", "num_tree_per_iteration=0"),
    "many classes": (r"(?m)^num_class=1$", "num_class=1000000000"),
    "categories": (r"(?m)^pandas_categorical:.*$", 'pandas_categorical:[["a", "b"]]'),
    "no JSON": (r"(?m)^pandas_categorical:.*$", "pandas_categorical:[[[[" * 1000),
    "an infinite category": (r"(?m)^pandas_categorical:.*$", "pandas_categorical:[[Infinity]]"),
}


def check(path, folder):
    """Serve a model in every way; return whether it was accepted in one."""
    try:
        booster = read_lightgbm_model(path)
    except ValueError as error:
        assert str(path) in str(error)  # noqa: PT017 - it may also be a model
        return False
    expected = booster.predict(ROWS)
    accepted = False
    try:
        found = compile_model(booster).predict(ROWS)
        accepted = True
    except ValueError as error:
        assert str(error)  # noqa: PT017
    else:
        np.testing.assert_array_equal(found, expected)
    for format_ in FORMATS:
        target = folder / f"{format_}.json"
        target.unlink(missing_ok=True)
        try:
            export(booster, target, format=format_, verify=DATA.X.astype(float))
        except ValueError as error:
            assert str(error)  # noqa: PT017
            assert not target.exists()
        else:
            accepted = True
            json.loads(target.read_text(), parse_constant=pytest.fail)
    return accepted


@pytest.mark.parametrize("name", CRAFTED)
@pytest.mark.filterwarnings("ignore")
def test_crafted_text(text, tmp_path, name):
    pattern, new = CRAFTED[name]
    changed, count = re.subn(pattern, lambda _: new, text, count=1)
    assert count == 1
    path = tmp_path / "model.txt"
    path.write_text(sized(changed))
    check(path, tmp_path)


def test_the_text_as_it_is(text, tmp_path):
    path = tmp_path / "model.txt"
    path.write_text(sized(text))
    assert check(path, tmp_path)


@pytest.mark.parametrize("depth", [50, 400, 3000])
def test_a_tree_that_is_a_chain(text, tmp_path, depth):
    """Each split has a leaf and the next split; the numbers of levels are those of recursion."""
    ends = " ".join
    lines = {
        "num_leaves": depth + 1,
        "num_cat": 0,
        "split_feature": ends("0" for _ in range(depth)),
        "split_gain": ends("1" for _ in range(depth)),
        "threshold": ends(str(-at / 10) for at in range(depth)),
        "decision_type": ends("2" for _ in range(depth)),
        "left_child": ends([*(str(at + 1) for at in range(depth - 1)), str(-depth)]),
        "right_child": ends([*(str(-at - 1) for at in range(depth - 1)), str(-depth - 1)]),
        "leaf_value": ends(str(at / 7) for at in range(depth + 1)),
        "leaf_weight": ends("1" for _ in range(depth + 1)),
        "leaf_count": ends("1" for _ in range(depth + 1)),
        "internal_value": ends("0" for _ in range(depth)),
        "internal_weight": ends("0" for _ in range(depth)),
        "internal_count": ends("2" for _ in range(depth)),
        "is_linear": 0,
        "shrinkage": 1,
    }
    block = "".join(f"{name}={value}\n" for name, value in lines.items())
    chain = re.sub(r"(?s)Tree=0\n.*?\n\n\n", lambda _: f"Tree=0\n{block}\n\n", text, count=1)
    path = tmp_path / "model.txt"
    path.write_text(sized(chain))
    accepted = check(path, tmp_path)
    assert accepted or depth > 50
