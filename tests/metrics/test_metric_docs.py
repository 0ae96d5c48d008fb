"""Every metric function has the same signature, and says what each parameter means."""

import inspect

import pytest
from test_metric_input import FUNCTIONS

from gbrank.metrics import compare, evaluate
from gbrank.metrics.conventions import CONVENTIONS

COMMON = {
    "labels": inspect.Parameter.empty,
    "scores": inspect.Parameter.empty,
    "qid": None,
    "group": None,
    "k": None,
    "sample_weight": None,
    "empty": "skip",
    "ties": "average",
    "per_query": False,
    "convention": None,
    "n_jobs": None,
}
OWN = {
    "dcg": {"gain": "exp", "discount": "log"},
    "ndcg": {"gain": "exp", "discount": "log"},
    "err": {"max_grade": None, "gain": "exp", "discount": "zipf"},
    "map": {"threshold": 0.0, "divide_by": "relevant"},
    "mrr": {"threshold": 0.0},
    "precision": {"threshold": 0.0, "normalized": False},
    "recall": {"threshold": 0.0},
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_signature(name):
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    assert {key: p.default for key, p in parameters.items()} == COMMON | OWN.get(name, {})
    assert [key for key in parameters if key in COMMON] == list(COMMON)
    assert all(
        p.kind is p.KEYWORD_ONLY for key, p in parameters.items() if key not in ("labels", "scores")
    )


@pytest.mark.parametrize("function", [*FUNCTIONS.values(), evaluate, compare])
def test_every_parameter_is_documented(function):
    documented = function.__doc__.split("Parameters\n")[1].split("Examples\n")[0]
    names = {
        name.strip()
        for line in documented.splitlines()
        if " : " in line or line.rstrip().endswith(" :")
        for name in line.split(" : ")[0].split(",")
    }
    assert set(inspect.signature(function).parameters) <= names
    assert "{common}" not in function.__doc__
    assert ">>> " in function.__doc__


def test_every_convention_is_in_the_table():
    import gbrank.metrics.conventions as module

    for name in CONVENTIONS:
        assert f'"{name}"' in module.__doc__
        assert f'"{name}"' in FUNCTIONS["ndcg"].__doc__
