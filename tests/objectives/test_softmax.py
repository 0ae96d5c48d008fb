"""The softmax losses: numerators against dense linear algebra, published and spelled-out values."""

import decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrank import XENDCG, ListNet
from gbrank.testing import check_objective


def dense_numerator(rho, gradient, order):
    """Return ``D (I + S + ... + S^order) D^-1 gradient``, matrices written out."""
    D = np.diag(rho * (1 - rho))
    S = rho[None, :] / (1 - rho[:, None])
    np.fill_diagonal(S, 0.0)
    series = sum(np.linalg.matrix_power(S, power) for power in range(order + 1))
    return D @ series @ np.linalg.inv(D) @ gradient


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 40),
    st.sampled_from([0, 2, 4]),
    st.integers(0, 2**31),
    st.sampled_from([0.0, 0.3]),
)
def test_numerator_equals_dense_matrices(m, order, seed, eps):
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, 5, m).astype(float), rng.normal(size=m)
    objective = XENDCG(gamma=0.5, neumann_order=order, eps=eps)
    grad, hess = objective.grad_hess(labels, scores, [m])
    rho = np.exp(scores) / (np.exp(scores).sum() + eps)
    phi = (2**labels - 0.5) / (2**labels - 0.5).sum()
    expected = dense_numerator(rho, rho - phi, order)
    np.testing.assert_allclose(grad, expected, rtol=0, atol=1e-5 * max(1, np.abs(expected).max()))
    np.testing.assert_allclose(hess, rho * (1 - rho), rtol=1e-5)
    if eps == 0:
        assert abs(grad.sum(dtype=np.float64)) < 1e-5 * max(1, np.abs(expected).max())


def test_hessian_is_d_times_identity_minus_s():
    """The identity behind the series, in numbers: diag(rho) - rho rho^T = D (I - S)."""
    rho = np.array([0.5, 0.3, 0.2])
    D = np.diag(rho * (1 - rho))
    S = rho[None, :] / (1 - rho[:, None])
    np.fill_diagonal(S, 0.0)
    np.testing.assert_allclose(D @ (np.eye(3) - S), np.diag(rho) - np.outer(rho, rho), atol=1e-15)


def test_odd_orders_would_stand_still_for_two_documents():
    rho = np.array([0.7, 0.3])
    gradient = np.array([0.2, -0.2])
    np.testing.assert_allclose(dense_numerator(rho, gradient, 1), 0.0, atol=1e-15)
    assert np.abs(dense_numerator(rho, gradient, 2)).min() > 0.1


def test_xendcg_loss_spelled_out():
    labels, scores = np.array([2.0, 0.0, 1.0]), np.array([0.5, -1.0, 0.0])
    total = np.exp(0.5) + np.exp(-1.0) + 1.0
    phi = np.array([4 - 0.5, 1 - 0.5, 2 - 0.5]) / 5.5
    expected = -(phi @ np.log(np.exp(scores) / total))
    assert XENDCG(gamma=0.5).loss(labels, scores, [3])[0] == pytest.approx(expected, abs=1e-14)


def test_listnet_loss_spelled_out():
    labels, scores = np.array([2.0, 0.0, 1.0]), np.array([0.5, -1.0, 0.0])
    phi = np.exp(labels / 0.5) / np.exp(labels / 0.5).sum()
    rho = np.exp(scores) / np.exp(scores).sum()
    expected = -(phi @ np.log(rho))
    assert ListNet(temperature=0.5).loss(labels, scores, [3])[0] == pytest.approx(expected)


def test_gamma_is_uniform_and_drawn_per_document_query_and_iteration():
    """At equal scores the gradient is 1/m - phi, so gamma can be read off it."""
    m, queries = 50, 40
    labels = np.zeros(m * queries)

    def gammas(iteration, seed=0):
        objective = XENDCG(neumann_order=0, random_state=seed)
        grad, _ = objective.grad_hess(
            labels, np.zeros(m * queries), [m] * queries, iteration=iteration
        )
        phi = (1 / m - grad.astype(float)).reshape(queries, m)
        return phi / phi.mean(axis=1, keepdims=True)  # (1 - gamma) / mean(1 - gamma)

    draws = np.stack([gammas(iteration) for iteration in range(40)])
    # uniform on [0, 1] divided by its mean of 1/2: mean 1, variance 4/12
    assert draws.var() == pytest.approx(1 / 3, abs=0.01)
    assert np.abs(np.corrcoef(draws.reshape(40, -1)))[np.triu_indices(40, 1)].max() < 0.1
    by_query = draws.transpose(1, 0, 2).reshape(queries, -1)
    assert np.abs(np.corrcoef(by_query))[np.triu_indices(queries, 1)].max() < 0.1
    assert not np.allclose(gammas(0, seed=1), draws[0])


def test_queries_left_out_and_kept():
    """One document is out; equal labels and no relevant document are kept, as LightGBM does."""
    for objective in (XENDCG(gamma=0.5), ListNet()):
        grad, hess = objective.grad_hess(
            [3, 1, 1, 0, 0], [0.0, 1.0, -1.0, 0.5, 0.0], group=[1, 2, 2]
        )
        assert grad[0] == 0
        assert hess[0] == 0
        assert (grad[1:] != 0).all()
        assert (hess[1:] > 0).all()
    grad, hess = XENDCG(gamma=1.0).grad_hess([0, 0], [1.0, 0.0], [2])
    assert not grad.any()
    assert not hess.any()


@pytest.mark.parametrize("spread", [1, 10, 40, 150])
@pytest.mark.parametrize("order", [0, 2, 4])
def test_one_document_that_holds_nearly_all_the_probability(spread, order):
    """Against 200 digits: in float64 1 - rho of that document has no digit left."""
    rng = np.random.default_rng(spread + order)
    with decimal.localcontext(prec=200):
        for m in (2, 3, 9):
            labels, scores = rng.integers(0, 5, m).astype(float), spread * rng.normal(size=m)
            powers = [decimal.Decimal(score).exp() for score in scores]
            targets = [decimal.Decimal(label).exp() for label in labels]
            rho = [power / sum(powers) for power in powers]
            rest = [(sum(powers) - power) / sum(powers) for power in powers]
            term = [p - t / sum(targets) for p, t in zip(rho, targets, strict=True)]
            expected = list(term)
            for _ in range(order):
                w = [value / r for value, r in zip(term, rest, strict=True)]
                term = [p * (sum(w) - own) for p, own in zip(rho, w, strict=True)]
                expected = [total + value for total, value in zip(expected, term, strict=True)]
            loss = -sum(t * p.ln() for t, p in zip(targets, rho, strict=True)) / sum(targets)
            lost = float(loss) > np.log(m) + 5.0
            if lost:
                expected = [p - t / sum(targets) for p, t in zip(rho, targets, strict=True)]
            expected = np.array(expected, dtype=float)
            grad, hess = ListNet(neumann_order=order).grad_hess(labels, scores, [m])
            np.testing.assert_allclose(grad, expected, atol=2e-6 * max(1, np.abs(expected).max()))
            hessian = np.array([p * r for p, r in zip(rho, rest, strict=True)], dtype=float)
            if lost:
                phi = np.array([t / sum(targets) for t in targets], dtype=float)
                hessian = (np.array(rho, dtype=float) + phi) / 2
            np.testing.assert_allclose(hess, hessian, rtol=1e-5, atol=1e-30)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.integers(0, 2**31), st.sampled_from([1.0, 4.0]))
def test_the_exact_order_is_newtons_step(m, seed, spread):
    """H x = g for x = numerator / hessian, and it is the limit of the orders from m = 3 on."""
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, 5, m).astype(float), spread * rng.normal(size=m)
    rho, phi = (np.exp(x - x.max()) / np.exp(x - x.max()).sum() for x in (scores, labels))
    hessian = np.diag(rho) - np.outer(rho, rho)
    numerator, denominator = ListNet(neumann_order="exact").grad_hess(labels, scores, [m])
    loss = ListNet().loss(labels, scores, [m])[0]
    if loss > np.log(m) + 5.0:
        return  # lost: bounded steps
    np.testing.assert_allclose(denominator, rho * (1 - rho), rtol=1e-4, atol=1e-12)
    step = numerator.astype(float) / denominator
    np.testing.assert_allclose(hessian @ step, rho - phi, atol=1e-5)
    assert abs(numerator.sum(dtype=float)) < 1e-5
    if m >= 3 and spread == 1.0:
        limit = dense_numerator(rho, rho - phi, 400)
        np.testing.assert_allclose(numerator, limit, atol=2e-4)
    if m == 2:  # every even order takes twice that step
        twice = ListNet(neumann_order=2).grad_hess(labels, scores, [m])[0]
        np.testing.assert_allclose(twice, 2 * numerator, rtol=1e-4, atol=1e-7)


def test_how_close_orders_come_to_newtons_step():
    """What docs/theory/softmax.md says of 200 random lists of 8 to 99 documents."""
    rng = np.random.default_rng(0)
    cosines = {0: [], 2: [], 4: []}
    for _ in range(200):
        m = int(rng.integers(8, 100))
        labels, scores = rng.choice(5, m, p=[0.5, 0.2, 0.15, 0.1, 0.05]), rng.normal(size=m)
        exact = ListNet(neumann_order="exact").grad_hess(labels, scores, [m])[0].astype(float)
        for order, found in cosines.items():
            other = ListNet(neumann_order=order).grad_hess(labels, scores, [m])[0].astype(float)
            found.append(other @ exact / np.sqrt((other @ other) * (exact @ exact)))
    assert [round(min(found), 3) for found in cosines.values()] == [0.969, 0.982, 0.992]
    assert [round(float(np.median(found)), 4) for found in cosines.values()] == [0.9996, 1.0, 1.0]


def test_the_exact_order_has_no_eps():
    with pytest.raises(ValueError, match=r'neumann_order="exact" goes with eps=0, got eps=0\.5'):
        XENDCG(neumann_order="exact", eps=0.5)


def gamma_by_label(labels):
    return np.where(labels > 0, 0.25, 1.0)


def test_gamma_as_a_function_of_labels():
    """Definition 1 has one gamma a document: here 1 for labels of 0, which then get no target."""
    labels, scores = np.array([2.0, 0.0, 1.0]), np.array([0.5, -1.0, 0.0])
    phi = np.array([4 - 0.25, 0.0, 2 - 0.25]) / 5.5
    rho = np.exp(scores) / np.exp(scores).sum()
    objective = XENDCG(gamma=gamma_by_label, neumann_order=0)
    grad, _ = objective.grad_hess(labels, scores, [3])
    np.testing.assert_allclose(grad, rho - phi, rtol=1e-5)
    assert objective.loss(labels, scores, [3])[0] == pytest.approx(-phi @ np.log(rho))
    check_objective(XENDCG(gamma=gamma_by_label))
    with pytest.raises(ValueError, match=r"gamma must return a number in \[0, 1\] for each label"):
        XENDCG(gamma=np.negative).grad_hess(labels, scores, [3])


@pytest.mark.parametrize("length", [4, 100])
def test_scores_farther_apart_than_a_float_reaches_where_there_is_no_target(length):
    labels, scores = np.zeros(length), np.zeros(length)
    labels[0], scores[0], scores[1] = 1.0, 1e308, -1e308  # of the last nothing is wanted
    with np.errstate(over="ignore"):
        grad, hess = XENDCG(gamma=1.0).grad_hess(labels, scores, [length])
        again = XENDCG(gamma=1.0).grad_hess(labels, np.clip(scores, -1e4, 1e4), [length])[0]
    assert np.isfinite(grad).all()
    assert np.isfinite(hess).all()
    np.testing.assert_allclose(grad, again, atol=1e-30)
