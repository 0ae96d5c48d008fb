"""Smoothing: in the contract for every objective, and right in expectation."""

import numpy as np
import pytest
from scipy import stats

from gbrank import XENDCG, LambdaMART, ListNet, Ranker, Smoothed, list_objectives
from gbrank.core.rng import random_key
from gbrank.data import make_ranking
from gbrank.objectives._noise import NOISES, draw_noise
from gbrank.testing import check_objective


@pytest.mark.parametrize("name", list_objectives(observations=False))
@pytest.mark.parametrize("samples", [1, 3])
def test_every_objective_keeps_the_contract(name, samples):
    check_objective(Smoothed(name, scale=0.5, samples=samples))


@pytest.mark.parametrize("noise", list(NOISES))
def test_noise_has_its_distribution(noise):
    draws = [
        draw_noise(NOISES[noise], *random_key(1, iteration, query), document)
        for iteration in range(10)
        for query in range(20)
        for document in range(40)
    ]
    known = {"gumbel": stats.gumbel_r, "logistic": stats.logistic, "normal": stats.norm}[noise]
    assert stats.kstest(draws, known.cdf).pvalue > 0.001
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 4 / np.sqrt(len(draws))


def test_gradient_is_that_of_the_expected_loss():
    """The mean over many iterations against an integral over the noise of two documents.

    A softmax loss of two documents sees the difference of scores only, and the difference of two
    Gumbel variables is logistic.
    """
    labels, scores = np.array([1.0, 0.0]), np.array([0.3, -0.2])
    objective = Smoothed(ListNet(neumann_order=0), scale=0.8, samples=50)
    found = np.mean(
        [objective.grad_hess(labels, scores, [2], iteration=t)[0] for t in range(400)], axis=0
    )
    z = stats.logistic.ppf((np.arange(20_000) + 0.5) / 20_000)
    rho = 1 / (1 + np.exp(-(0.5 + 0.8 * z)))
    phi = np.e / (np.e + 1)
    expected = (rho - phi).mean()
    error = (rho - phi).std() / np.sqrt(20_000)
    assert abs(found[0] - expected) < 4 * error
    assert abs(expected - (1 / (1 + np.exp(-0.5)) - phi)) > 10 * error  # smoothing does something
    np.testing.assert_allclose(found.sum(), 0.0, atol=1e-6)


def test_no_noise_is_the_objective_itself():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 4, 30).astype(float), rng.normal(size=30)
    for objective in (LambdaMART(), XENDCG(random_state=3)):
        plain = objective.grad_hess(labels, scores, [10, 20], iteration=4)
        smoothed = Smoothed(objective, scale=0.0).grad_hess(labels, scores, [10, 20], iteration=4)
        np.testing.assert_array_equal(smoothed, plain)


def test_more_samples_vary_less():
    labels, scores = np.array([2.0, 0.0, 1.0, 0.0]), np.zeros(4)
    spread = []
    for samples in (1, 16):
        objective = Smoothed("lambdamart", samples=samples)
        grads = [objective.grad_hess(labels, scores, [4], iteration=t)[0] for t in range(300)]
        spread.append(np.std(grads, axis=0).mean())
    assert spread[1] == pytest.approx(spread[0] / 4, rel=0.3)


def test_trains_saves_and_loads(tmp_path):
    data = make_ranking(n_queries=40, random_state=0)
    params = {"preset": "fast", "n_estimators": 10, "n_jobs": 1, "min_child_samples": 5}
    ranker = Ranker(Smoothed("lambdamart", scale=0.3), **params)
    ranker.fit(data.X, data.y, qid=data.qid).save_model(tmp_path / "model.txt")
    loaded = Ranker.load_model(tmp_path / "model.txt")
    np.testing.assert_array_equal(loaded.predict(data.X), ranker.predict(data.X))
    assert repr(loaded.objective_) == repr(ranker.objective_)
    again = loaded.fit(data.X, data.y, qid=data.qid).predict(data.X)
    np.testing.assert_array_equal(again, ranker.predict(data.X))


@pytest.mark.parametrize(
    ("params", "kind", "message"),
    [
        ({"objective": 3}, TypeError, "objective must be a name or an instance .* got int"),
        ({"objective": "lambdarnk"}, ValueError, "objective must be one of"),
        ({"scale": -1}, ValueError, "scale must be a number >= 0"),
        ({"samples": 0}, ValueError, "samples must be an integer >= 1"),
        ({"noise": "cauchy"}, ValueError, "noise must be 'gumbel' or 'logistic' or 'normal'"),
    ],
)
def test_bad_parameters_are_one_clear_error(params, kind, message):
    with pytest.raises(kind, match=message):
        Smoothed(**params)


# --- gamma of xendcg -----------------------------------------------------------------------------


def test_tight_gamma_gives_the_least_loss_of_all():
    rng = np.random.default_rng(0)
    for _ in range(30):
        m = int(rng.integers(2, 8))
        labels, scores = rng.integers(0, 4, m).astype(float), 2 * rng.normal(size=m)
        costs = np.log(np.exp(scores).sum()) - scores
        corners = (np.arange(2**m)[:, None] >> np.arange(m)) & 1
        targets = 2.0**labels - corners
        targets = targets[targets.sum(axis=1) > 0]
        least = (targets @ costs / targets.sum(axis=1)).min()
        objective = XENDCG(gamma="tight", neumann_order=0)
        assert objective.loss(labels, scores, [m])[0] == pytest.approx(least, rel=1e-12)
        best = targets[np.argmin(targets @ costs / targets.sum(axis=1))]
        rho = np.exp(-costs)
        grad, _ = objective.grad_hess(labels, scores, [m])
        np.testing.assert_allclose(grad, rho - best / best.sum(), atol=1e-6)


def test_annealed_gamma_goes_from_uniform_to_one_half():
    labels, scores = np.array([2.0, 0.0, 1.0]), np.array([0.4, 0.0, -0.3])
    annealed = XENDCG(gamma="annealed", anneal=5.0)
    drawn = annealed.grad_hess(labels, scores, [3], iteration=0)[0]
    np.testing.assert_allclose(drawn, XENDCG().grad_hess(labels, scores, [3])[0], atol=1e-6)
    late = annealed.grad_hess(labels, scores, [3], iteration=200)[0]
    constant = XENDCG(gamma=0.5).grad_hess(labels, scores, [3])[0]
    np.testing.assert_allclose(late, constant, atol=1e-6)
