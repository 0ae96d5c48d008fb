"""The contract over all registered metrics, and a metric of one's own wherever they are named."""

import lightgbm as lgb
import numpy as np
import pytest
from metric_oracle import METRICS, by_enumeration

from gbrank import Ranker
from gbrank.cli import main
from gbrank.metrics import (
    SimpleMetric,
    _registry,
    check_metric,
    compare,
    evaluate,
    feval,
    get_metric,
    get_scorer,
    list_metrics,
    register_metric,
)


@pytest.mark.parametrize("name", list_metrics())
def test_registered_metrics_keep_the_contract(name):
    check_metric(name)
    if not get_metric(name).no_cutoff:
        check_metric(f"{name}@2")


class Success(SimpleMetric):
    """Whether a relevant document is among the first k."""

    name = "success"

    def value(self, labels, k):
        return float((labels[:k] > 0).any())


class PlainNDCG(SimpleMetric):
    """NDCG again, as its formula reads."""

    name = "plain_ndcg"

    def value(self, labels, k):
        ideal = np.sort(labels)[::-1]
        discounts = 1 / np.log2(2 + np.arange(len(labels)))
        return self.dcg(labels, discounts, k) / self.dcg(ideal, discounts, k)

    @staticmethod
    def dcg(labels, discounts, k):
        return ((2**labels - 1) * discounts)[:k].sum()


class Inversions(SimpleMetric):
    """A loss with an option: the share of neighbours in the wrong order, by a margin."""

    name = "inversions"
    greater_is_better = False
    own_options = {"margin": 0.0}  # noqa: RUF012

    def value(self, labels, k):
        steps = np.diff(labels[:k])
        return float((steps > self.options["margin"]).mean()) if len(steps) else 0.0


@pytest.fixture
def registered(monkeypatch):
    """Register for one test only."""
    monkeypatch.setattr(_registry, "_REGISTRY", dict(_registry._REGISTRY))
    register_metric("success", Success)
    return "success@1"


@pytest.mark.parametrize("metric", [Success(), Success(2), PlainNDCG(3), PlainNDCG(0.5)])
def test_simple_metrics_keep_the_contract(metric):
    check_metric(metric)


def test_a_simple_metric_equals_its_kernel():
    rng = np.random.default_rng(0)
    group = rng.integers(1, 5, 60)  # ties of up to four documents are averaged over all orders
    labels, scores = rng.integers(0, 4, group.sum()), rng.integers(0, 3, group.sum())
    for k in (None, 2, 0.5):
        found = PlainNDCG(k)(labels, scores, group=group, per_query=True)
        expected = get_metric("ndcg", k=k)(labels, scores, group=group, per_query=True)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_many_orders_of_ties_are_sampled_the_same_in_each_call():
    """Three relevant documents of 19 that are all tied: success at 1 has probability 3/19."""
    labels = np.array([1.0, 2.0, 4.0] + [0.0] * 16)
    found = [Success(1)(order, np.zeros(19), group=[19]) for order in (labels, labels[::-1])]
    assert found[0] == found[1]
    assert abs(found[0] - 3 / 19) < 4 * np.sqrt(3 / 19 * 16 / 19 / 100)


@pytest.mark.parametrize("ties", ["average", "stable", "reverse", "worst"])
def test_ties_of_a_simple_metric_by_enumeration(ties):
    labels, scores = [2.0, 0.0, 1.0, 0.0, 3.0], [1.0, 1.0, 0.0, 1.0, 0.0]
    definition, higher = METRICS["ndcg"]
    for k in (1, 3, 5):
        expected = by_enumeration(definition, higher, labels, scores, k, ties)
        found = PlainNDCG(k, ties=ties)(labels, scores, group=[5])
        assert found == pytest.approx(expected, abs=1e-12)


class DependsOnScale(Success):
    """Broken on purpose: not a function of the list alone."""

    calls = 0

    def value(self, labels, k):
        DependsOnScale.calls += 1
        return float(DependsOnScale.calls)


class UpsideDown(Success):
    """Broken on purpose: best where the list is worst."""

    def value(self, labels, k):
        return -super().value(labels, k)


class NeverBlank(Success):
    """Broken on purpose: a query without a relevant document counts."""

    def is_blank(self, labels):
        return False


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (DependsOnScale(1), "changes values"),
        (UpsideDown(1), "the order of labels is not the best"),
        (NeverBlank(1), "must be blank"),
    ],
)
def test_check_metric_finds_what_is_broken(metric, message):
    with pytest.raises(AssertionError, match=message):
        check_metric(metric)


def test_values_must_be_numbers():
    class Broken(Success):
        def value(self, labels, k):
            return np.nan

    with pytest.raises(ValueError, match=r"success@1 must give finite numbers, got nan for query"):
        Broken(1)([1, 0], [2, 1], group=[2])


def test_a_loss_with_an_option_of_its_own():
    labels, scores, group = [0, 1, 3], [3, 2, 1], [3]
    assert Inversions()(labels, scores, group=group) == 1.0
    assert Inversions(margin=1.0)(labels, scores, group=group) == 0.5
    with pytest.raises(TypeError, match=r"inversions has no option 'margn'; did you mean 'margin'"):
        Inversions(margn=1.0)


# --- registered, it works like any other --------------------------------------------------------

LABELS, SCORES, GROUP = [1, 0, 0, 1, 0, 2], [2, 1, 2, 1, 1, 2], [2, 2, 2]


def test_registered_in_evaluate_compare_feval_and_scorer(registered):
    assert "success" in list_metrics()
    assert evaluate(LABELS, SCORES, group=GROUP, metrics=registered)[registered][0] == 2 / 3
    models = {"a": SCORES, "b": [2, 1, 1, 2, 1, 2]}
    compared = compare(LABELS, models, group=GROUP, metric=registered)
    assert compared.means == {"a": pytest.approx(2 / 3), "b": 1.0}
    assert feval(registered)(np.array(LABELS), SCORES, None, GROUP) == (registered, 2 / 3, True)

    class First:
        def predict(self, X):
            return X[:, 0]

    X = np.array(SCORES, dtype=float)[:, None]
    assert get_scorer(registered)(First(), X, LABELS, qid=[1, 1, 2, 2, 3, 3]) == 2 / 3


def test_registered_in_ranker_and_lightgbm(registered):
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(400, 3)), rng.integers(0, 3, 400), np.repeat(np.arange(40), 10)
    ranker = Ranker("xendcg", n_estimators=3, eval_metric=registered)
    ranker.fit(X, y, qid=qid, eval_X=X, eval_y=y, eval_qid=qid)
    (recorded,) = ranker.evals_result_.values()
    expected = Success(1)(y, ranker.predict(X), qid=qid)
    assert recorded[registered][-1] == pytest.approx(expected, abs=1e-12)
    seen = {}
    lgb.train(
        {"objective": "lambdarank", "metric": "None", "verbosity": -1},
        lgb.Dataset(X, y, group=[10] * 40),
        2,
        valid_sets=[lgb.Dataset(X, y, group=[10] * 40)],
        feval=feval(registered),
        callbacks=[lgb.record_evaluation(seen)],
    )
    assert list(seen["valid_0"]) == [registered]


def test_registered_on_the_command_line(registered, tmp_path, capsys):
    data, scores = tmp_path / "data.txt", tmp_path / "scores.txt"
    qid = np.repeat([1, 2, 3], GROUP)
    data.write_text("".join(f"{y} qid:{q} 1:0\n" for y, q in zip(LABELS, qid, strict=True)))
    scores.write_text("".join(f"{score}\n" for score in SCORES))
    assert main(["evaluate", str(scores), str(data), "--metric", registered]) in (0, None)
    assert "0.6667" in capsys.readouterr().out


def test_what_register_metric_does_not_take(registered):
    assert register_metric("success", Success) is Success  # the same class again
    with pytest.raises(ValueError, match="the name 'ndcg' is taken by NDCG"):
        register_metric("ndcg", type("NDCG2", (Success,), {"name": "ndcg"}))
    with pytest.raises(ValueError, match=r"Success.name must be 'hit', .* got 'success'"):
        register_metric("hit", Success)
    with pytest.raises(ValueError, match="name must be a word without '@'"):
        register_metric("success@3", Success)
    with pytest.raises(TypeError, match="cls must be a subclass of gbrank"):
        register_metric("success", Success())
