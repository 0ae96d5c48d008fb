"""Every metric function has the same signature, and says what each parameter means."""

import inspect
import pickle
import pydoc
import re

import pytest
from test_metric_input import FUNCTIONS

from gbrank.metrics import compare, evaluate, feval, get_scorer
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


@pytest.mark.parametrize("thing", [*FUNCTIONS.values(), evaluate, compare, feval, get_scorer])
def test_the_signature_that_help_shows_is_short(thing):
    """As ``numpy._typing...`` the type of an array alone takes 300 characters."""
    text = pydoc.plain(pydoc.render_doc(thing))
    assert "numpy._typing" not in text
    signature = str(inspect.signature(thing))
    assert len(signature) < 60 * len(inspect.signature(thing).parameters)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_has_the_sections_of_numpydoc_in_their_order(name):
    text = inspect.getdoc(FUNCTIONS[name])
    sections = re.findall(r"^(\w+)\n-+$", text, re.M)
    order = ["Parameters", "Returns", "References", "Examples"]
    assert sections == [section for section in order if section in sections]
    assert {"Parameters", "Returns", "Examples"} <= set(sections)
    # every parameter is explained once, and none that is not in the signature
    explained = re.findall(r"^(\w+) : ", text.split("Returns\n")[0], re.M)
    assert explained == list(inspect.signature(FUNCTIONS[name]).parameters)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_can_be_pickled(name):
    assert pickle.loads(pickle.dumps(FUNCTIONS[name])) is FUNCTIONS[name]
    assert FUNCTIONS[name].__name__ in inspect.getdoc(FUNCTIONS[name])


def test_every_convention_is_in_the_table():
    import gbrank.metrics.conventions as module

    for name in CONVENTIONS:
        assert f'"{name}"' in module.__doc__
        assert f'"{name}"' in FUNCTIONS["ndcg"].__doc__
