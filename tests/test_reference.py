"""The reference is in the docstrings: every public name has one, and it agrees with the code."""

import ast
import inspect
import re
import sys

import pytest
from public_names import public_names
from sklearn.base import BaseEstimator

import gbrank
from gbrank.data import make_ranking
from gbrank.metrics import get_metric, list_metrics

# What a function returns, and what one meets rather than makes: no constructor to explain.
RESULTS = {
    "BoundObservations",
    "ClickEstimate",
    "ClickReport",
    "Clicks",
    "CompiledModel",
    "CompositeGradient",
    "ConsistencyCheck",
    "Diagnosis",
    "Distinguishability",
    "Explanation",
    "Export",
    "Interval",
    "JudgedLabels",
    "LetorData",
    "LetorFold",
    "LetorFolds",
    "MeasureVerdict",
    "MetricTable",
    "NoiseEstimate",
    "NoiseReport",
    "NoiseResults",
    "OrderSensitivity",
    "PaddedData",
    "PairExplanation",
    "PermutationImportance",
    "PreferenceCheck",
    "Recommendation",
    "Sensitivity",
    "Summary",
    "SyntheticData",
    "Training",
    "Trial",
    "TuneResult",
}
ABSTRACT = {"Method", "Metric", "Objective", "Observations"}


def public_objects():
    """Return the classes and functions that users may name, each once, by the name they use."""
    things = ((name, thing) for name, thing in public_names().items() if callable(thing))
    found = {}
    for name, thing in things:
        found.setdefault(id(thing), (name, thing))
    return [pytest.param(thing, id=name) for name, thing in found.values()]


public = pytest.mark.parametrize("thing", public_objects())


def documented_parameters(thing):
    """Return ``{name: the text behind " : "}`` of all parameters that the docstring explains."""
    text = inspect.getdoc(thing) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", text, re.M | re.S)
    explained = {}
    for line in section[1].splitlines() if section else []:
        if line.startswith(" ") or " :" not in line:
            continue
        names, _, what = line.partition(" :")
        for name in names.split(","):
            explained[name.strip().lstrip("*")] = what.strip()
    return explained


def signature_parameters(thing):
    parameters = inspect.signature(thing).parameters
    return {name: p for name, p in parameters.items() if name != "self"}


@public
def test_summary(thing):
    summary = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    assert summary, "no docstring"
    assert "\n" not in summary, "the summary is one line"
    assert summary.endswith("."), summary


@public
def test_every_parameter_is_explained(thing):
    name = thing.__name__
    if name in RESULTS | ABSTRACT:
        assert name in ABSTRACT or re.search(
            r"^(Attributes|Parameters)\n-+$", inspect.getdoc(thing), re.M
        )
        return
    parameters = signature_parameters(thing)
    missing = set(parameters) - set(documented_parameters(thing))
    assert not missing, f"not under Parameters: {sorted(missing)}"


@public
def test_no_parameter_is_made_up(thing):
    if thing.__name__ in RESULTS | ABSTRACT:
        return
    unknown = set(documented_parameters(thing)) - set(signature_parameters(thing))
    assert not unknown, f"explained, but not in the signature: {sorted(unknown)}"


@public
def test_help_shows_a_signature_that_can_be_read(thing):
    """Of a name, and of methods that are ours: types by their names, not spelled out."""
    shown = {thing.__name__: thing}
    if inspect.isclass(thing):
        methods = inspect.getmembers(thing, inspect.isfunction)
        shown |= {
            name: method
            for name, method in methods
            if not name.startswith("_") and method.__module__.startswith("gbrank.")
        }
    for name, each in shown.items():
        text = str(inspect.signature(each))
        assert len(text) <= 1000, f"{name}: {len(text)} characters"
        assert "numpy._typing" not in text, name


@public
def test_stated_defaults_are_those_of_the_signature(thing):
    parameters = signature_parameters(thing)
    for name, what in documented_parameters(thing).items():
        stated = re.search(r"default=(.+?)[.;]?$", what)
        if stated is None or name not in parameters:
            continue
        value = re.split(r" (?:for|means) ", stated[1])[0]
        expected = ast.literal_eval(value)
        actual = parameters[name].default
        assert type(actual) is type(expected), f"{name}: {actual!r}, stated is {value}"
        assert actual == expected, f"{name}: {actual!r}, stated is {value}"


@public
def test_estimators_state_every_default(thing):
    if not (inspect.isclass(thing) and issubclass(thing, BaseEstimator)):
        return
    explained = documented_parameters(thing)
    for name, parameter in signature_parameters(thing).items():
        if parameter.default is not parameter.empty and thing.__name__ not in ABSTRACT:
            assert "default=" in explained[name], f"{name}: no default stated"


@public
def test_example(thing):
    """Doctests run with the other tests; here only: there is one, and it uses the name."""
    name = thing.__name__
    if name in RESULTS | ABSTRACT:
        return
    own = inspect.getdoc(thing) or ""
    of_class = " ".join(inspect.getdoc(m) or "" for _, m in inspect.getmembers(thing))
    of_module = sys.modules[thing.__module__].__doc__ or ""
    texts = [own, of_module, of_class if inspect.isclass(thing) else ""]
    assert any(">>> " in text and re.search(rf">>>.*{name}", text) for text in texts)


@pytest.mark.parametrize("given", [{}, {"preset": "fast"}, {"start": "query_linear"}])
def test_every_attribute_of_a_fitted_ranker_is_explained(given):
    data = make_ranking(n_queries=40, random_state=0)
    ranker = gbrank.Ranker(n_estimators=2, n_jobs=1, **given).fit(data.X, data.y, qid=data.qid)
    text = inspect.getdoc(gbrank.Ranker)
    fitted = [name for name in vars(ranker) if re.fullmatch(r"[a-z]\w*_", name)]
    assert len(fitted) > 10
    assert not [name for name in fitted if not re.search(rf"^[\w, ]*\b{name}\b", text, re.M)]


def objective_classes():
    names = gbrank.list_objectives()
    classes = {type(gbrank.get_objective(name)) for name in names}
    return sorted(
        (cls for cls in classes if cls.__module__.startswith("gbrank.")), key=lambda c: c.__name__
    )


def full_text(cls):
    return (sys.modules[cls.__module__].__doc__ or "") + (inspect.getdoc(cls) or "")


@pytest.mark.parametrize("cls", objective_classes())
def test_objective_has_formula_and_reference(cls):
    text = full_text(cls)
    assert re.search(r"::\n\n +\S|``[^`]*[=^_(][^`]*``", text), "no formula"
    assert re.search(r"^References?\b", text, re.M), "no reference"
    assert re.search(r"\b(19|20)\d\d\b", text), "the reference has no year"


@pytest.mark.parametrize("name", list_metrics())
def test_metric_has_formula_and_reference(name):
    text = full_text(type(get_metric(name)))
    assert re.search(r"::\n\n +\S|``[^`]* = [^`]*``", text), "no formula"
    assert re.search(r"\b(19|20)\d\d\b", text), "no reference with a year"
