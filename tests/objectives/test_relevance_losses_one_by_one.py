"""Numbers and properties that belong to one of the losses on ``u = G / Z``."""

import math

import numpy as np
import pytest

from gbrank import KL, Bregman, Cosine, QNorm, Squared
from gbrank.testing import check_objective
from gbrank.theory import find_counterexample

# One query with u = (1, 1/3, 0): gains 3, 1, 0 over the best gain.
LABELS, U = [2.0, 1.0, 0.0], np.array([1.0, 1 / 3, 0.0])
SCORES = np.array([0.5, -1.0, 2.0])


def step(objective, scores=SCORES):
    grad, hess = objective.grad_hess(LABELS, scores, [3])
    return grad.astype(float), hess.astype(float)


def test_squared_spelled_out():
    grad, hess = step(Squared(norm_at=1))
    np.testing.assert_allclose(grad, [2 * (0.5 - 1), 2 * (-1 - 1 / 3), 2 * 2], rtol=1e-6)
    np.testing.assert_array_equal(hess, 2.0)
    assert Squared(norm_at=1).loss(LABELS, SCORES, [3])[0] == pytest.approx(0.25 + 16 / 9 + 4)


def test_mean_of_squares_divides_by_twice_the_length():
    grad, hess = step(Squared(norm_at=1))
    mean_grad, mean_hess = step(Squared(norm_at=1, reduction="mean"))
    np.testing.assert_allclose(mean_grad, grad / 6, rtol=1e-6)
    np.testing.assert_allclose(mean_hess, hess / 6, rtol=1e-6)
    losses = [
        Squared(norm_at=1, reduction=reduction).loss(LABELS, SCORES, [3])[0]
        for reduction in ("sum", "mean")
    ]
    assert losses[1] == pytest.approx(losses[0] / 6)


def test_squared_without_norm_is_regression_on_every_row():
    labels = np.array([1.0, 2.0, 2.0, 0.0, 0.0, 3.0])
    gains = np.array([1.0, 3.0, 3.0, 0.0, 0.0, 7.0])
    scores = np.linspace(-1, 1, 6)
    grad, hess = Squared(norm=None).grad_hess(labels, scores, [1, 2, 2, 1])
    np.testing.assert_allclose(grad, 2 * (scores - gains), rtol=1e-6)
    np.testing.assert_array_equal(hess, 2.0)
    losses = Squared(norm=None).loss(labels, scores, [1, 2, 2, 1])
    np.testing.assert_allclose(losses, np.add.reduceat((scores - gains) ** 2, [0, 1, 3, 5]))


def test_kl_spelled_out():
    q = np.exp(SCORES) * 4 / 9  # e^b is the mean of u
    grad, hess = step(KL(norm_at=1))
    np.testing.assert_allclose(grad, q - U, rtol=1e-6)
    np.testing.assert_allclose(hess, (q + U) / 2, rtol=1e-6)
    terms = [-math.log(q[0]) - 1 + q[0], (math.log(1 / 3 / q[1]) - 1) / 3 + q[1], q[2]]
    assert KL(norm_at=1).loss(LABELS, SCORES, [3])[0] == pytest.approx(sum(terms), rel=1e-12)


def test_kl_has_nothing_to_do_for_a_constant_at_the_start():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 60).astype(float)
    grad, _ = KL().grad_hess(labels, np.zeros(60), [20, 30, 10])
    np.testing.assert_allclose(np.add.reduceat(grad, [0, 20, 50]), 0.0, atol=1e-6)


def test_kl_steps_are_at_most_two():
    scores = np.array([-700.0, -50.0, -10.0, 0.0, 10.0, 50.0, 1e300])
    for label in (0.0, 4.0):
        labels = np.concatenate([np.full(7, label), [2.0]])
        grad, hess = KL().grad_hess(labels, np.append(scores, 0.0), [8])
        moving = hess > 0
        assert (np.abs(grad[moving] / hess[moving]) <= 2.0 + 1e-6).all()
        assert moving[1:].all()
    # exactly 2 (q - u) / (q + u): the step of 6607 that the exact hessian asks for is less than 2
    grad, hess = KL(norm_at=1).grad_hess([2, 1, 0], [-10.0, 0.0, 0.0], [3])
    q = 4 / 9 * math.exp(-10)
    assert grad[0] / hess[0] == pytest.approx(-2 * (1 - q) / (1 + q), rel=1e-6)


def test_bregman_spelled_out():
    moved = SCORES + np.log(4 / 9 / (5 / 9))  # the mean of u is 4 / 9
    p = 1 / (1 + np.exp(-moved))
    grad, hess = step(Bregman(norm_at=1))
    np.testing.assert_allclose(grad, p - U, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(hess, (U * (1 - p) + p * (1 - U)) / 2, rtol=1e-6)
    expected = np.log1p(np.exp(moved)).sum() - moved @ U
    assert Bregman(norm_at=1).loss(LABELS, SCORES, [3])[0] == pytest.approx(expected, rel=1e-12)


def test_bregman_hessian_is_exact_at_the_minimiser():
    u = np.array([3.0, 1.0, 0.5]) / (3 + 1 / math.log2(3) + 0.5 / 2)
    grad, hess = Bregman(gain=[0.5, 1.0, 3.0]).grad_hess(
        LABELS, np.log(u / (1 - u)) - np.log(u.mean() / (1 - u.mean())), [3]
    )
    np.testing.assert_allclose(grad, 0.0, atol=1e-7)
    np.testing.assert_allclose(hess, u * (1 - u), rtol=1e-6)


def test_bregman_gradients_of_a_list_sum_to_nothing_at_the_start():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 60).astype(float)
    grad, _ = Bregman().grad_hess(labels, np.zeros(60), [20, 30, 10])
    np.testing.assert_allclose(np.add.reduceat(grad, [0, 20, 50]), 0.0, atol=1e-6)
    assert np.abs(grad).max() > 0.01


def test_bregman_targets_stay_in_the_unit_interval_for_any_discount():
    """One relevant document has u = 1 / D(1) = 2 with the exponential discount."""
    grad, _ = Bregman(discount="exp").grad_hess([1, 0], [0.0, 0.0], [2])
    np.testing.assert_array_equal(grad, [-0.5, 0.5])


def test_cosine_spelled_out():
    grad, hess = step(Cosine(norm_at=1, scale_penalty=0.25))
    n = math.sqrt(1 + 0.25 + 1 + 4)
    dot = 0.5 - 1 / 3
    np.testing.assert_allclose(grad, -U / n + dot / n**3 * SCORES + 0.25 * SCORES, rtol=1e-6)
    bend = math.sqrt(10) / 3 * n / math.sqrt(2 * n + 1) / n**2
    np.testing.assert_allclose(hess, bend + 0.25, rtol=1e-6)
    loss = Cosine(norm_at=1, scale_penalty=0.25).loss(LABELS, SCORES, [3])[0]
    assert loss == pytest.approx(1 - dot / n + 0.125 * 5.25, rel=1e-12)


def test_original_cosine_divides_gains_by_their_euclidean_norm():
    grad, hess = step(Cosine(norm="l2"), np.zeros(3))
    np.testing.assert_allclose(grad, [-3 / math.sqrt(10), -1 / math.sqrt(10), 0], rtol=1e-6)
    np.testing.assert_allclose(hess, 1 / math.sqrt(3) + 1e-3, rtol=1e-6)


@pytest.mark.parametrize("norm", ["dcg", "l2"])
def test_top_k_keeps_ties_and_maps_gains_before_anything_else(norm):
    labels = np.array([3.0, 1.0, 2.0, 0.0, 2.0])
    scores = np.array([0.1, 0.7, -0.3, 0.2, 1.5])

    def same(k, mapped):
        got = Cosine(norm=norm, k=k).grad_hess(labels, scores, [5])
        expected = Cosine(norm=norm).grad_hess(mapped, scores, [5])
        return all(np.array_equal(a, b) for a, b in zip(got, expected, strict=True))

    assert same(1, [3, 0, 0, 0, 0])
    assert same(2, [3, 0, 2, 0, 2])  # both documents tied at the second largest stay
    assert same(3, [3, 0, 2, 0, 2])
    assert same(4, labels)
    assert same(5, labels)
    assert same(9, labels)
    assert not same(2, labels)


def test_top_k_changes_nothing_where_the_kth_gain_is_zero():
    labels, scores = [0.0, 2.0, 0.0], [0.4, -0.1, 0.3]
    for values, expected in zip(
        Cosine(k=2).grad_hess(labels, scores, [3]),
        Cosine().grad_hess(labels, scores, [3]),
        strict=True,
    ):
        np.testing.assert_array_equal(values, expected)


def moved_to(t, q):
    """Return the scores that are ``t`` once counted from the best constant, sum u / m^(2/q)."""
    return t - 4 / 3 / 3 ** (2 / q)


def test_q_norms_count_from_the_best_constant():
    """Its loss is least among those of equal scores, and the gradients of a list sum to 0 there."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 60).astype(float)
    for objective in (QNorm(), QNorm(q=2), QNorm(q=7)):
        grad, _ = objective.grad_hess(labels, np.zeros(60), [20, 30, 10])
        np.testing.assert_allclose(np.add.reduceat(grad, [0, 20, 50]), 0.0, atol=2e-6)
        assert np.abs(grad).max() > 0.01
        least = objective.loss(labels, np.zeros(60), [20, 30, 10])
        for shift in (-0.3, -1e-3, 1e-3, 0.3):
            assert (objective.loss(labels, np.full(60, shift), [20, 30, 10]) > least).all()


def test_documents_tell_a_tree_apart_at_the_start():
    """One relevant document of 100: a leaf of its own gains, which it did not from t = 0."""
    labels, group = np.zeros(100), [100]
    labels[0] = 1.0

    def split_gain(grad, hess):
        alone, others = slice(0, 1), slice(1, 100)
        parts = sum(grad[rows].sum() ** 2 / hess[rows].sum() for rows in (alone, others))
        return parts - grad.sum() ** 2 / hess.sum()

    q = math.log(100) + 2
    grad, hess = QNorm().grad_hess(labels, np.zeros(100), group)
    assert split_gain(grad.astype(float), hess.astype(float)) > 1.0
    at_zero = np.full(100, -1 / 100 ** (2 / q))
    grad, hess = QNorm().grad_hess(labels, at_zero, group)
    np.testing.assert_allclose(grad, -2 * labels, atol=1e-6)
    # for many such lists in one leaf, l2 or not: (2 n)^2 / (2 n + 0.1 * 99 n) against 2 n alone
    assert split_gain(grad.astype(float), hess.astype(float)) < 1.7


def test_q_norms_spelled_out():
    norm = (0.5**3 + 1 + 8) ** (1 / 3)
    signed_squares = np.array([0.25, -1.0, 4.0])
    scores = moved_to(SCORES, 3)
    grad, _ = step(QNorm(q=3, norm_at=1), scores)
    np.testing.assert_allclose(grad, 2 * signed_squares / norm - 2 * U, rtol=1e-6)
    loss = QNorm(q=3, norm_at=1).loss(LABELS, scores, [3])[0]
    assert loss == pytest.approx(norm**2 - 2 * (0.5 - 1 / 3), rel=1e-12)

    norm = (0.5**3 + 1 + 8 + 1) ** (1 / 3)
    objective = QNorm(q=3, form="normalized", norm_at=1, scale_penalty=0.1)
    grad, _ = step(objective, SCORES - 1)
    expected = -U / norm + (0.5 - 1 / 3) * signed_squares / norm**4 + 0.1 * signed_squares / norm
    np.testing.assert_allclose(grad, expected, rtol=1e-6)
    loss = objective.loss(LABELS, SCORES - 1, [3])[0]
    assert loss == pytest.approx(-(0.5 - 1 / 3) / norm + 0.05 * (norm**2 - 1), rel=1e-12)


def test_hessian_of_the_penalized_form_spelled_out():
    """For q = 4 the mean slope of x^3 from a to b is a^2 + a b + b^2, and psi(a) = 1 + 2 a^2."""
    dual_norm = (1 + 3 ** (-4 / 3)) ** (3 / 4)
    b = (U / dual_norm) ** (1 / 3)
    for t in (
        np.array([1.0, 0.5, 0.0]),
        np.array([-2.0, 0.1, 3.0]),
        np.array([0.0, 1.0, 0.2]),
    ):
        a = t / (t**4).sum() ** (1 / 4)
        expected = np.maximum(2 * (a * a + a * b + b * b), (1 + 2 * a * a) / 10)
        _, hess = step(QNorm(q=4, norm_at=1), moved_to(t, 4))
        np.testing.assert_allclose(hess, expected, rtol=1e-6)


def test_hessian_of_the_penalized_form_is_the_main_diagonal_at_the_minimiser():
    for q in (2.5, 4.0, 30.0):
        dual_norm = (U ** (q / (q - 1))).sum() ** ((q - 1) / q)
        b = (U / dual_norm) ** (1 / (q - 1))
        _, hess = step(QNorm(q=q, norm_at=1), moved_to(dual_norm * b, q))
        np.testing.assert_allclose(hess[:2], 2 * (q - 1) * b[:2] ** (q - 2), rtol=1e-5)
        assert hess[2] == pytest.approx(0.1, rel=1e-6)


def test_hessian_of_the_normalized_form_spelled_out():
    """For q = 4 as above, from scores in the wrong order, where p < 0."""
    t, penalty = np.array([-1.0, 0.5, 2.0]), 0.1
    dual_norm, norm_2 = (1 + 3 ** (-4 / 3)) ** (3 / 4), math.sqrt(10) / 3
    b = (U / dual_norm) ** (1 / 3)
    norm = (1 + 1 / 16 + 16 + 1) ** (1 / 4)
    p = (-1 + 0.5 / 3) / norm
    a = t / norm
    safe = min(norm_2 + dual_norm, norm * (norm_2 - p)) / norm**2 + penalty / 2 * (1 + 2 * a * a)
    slope = (dual_norm / norm**2 + penalty) * (a * a + a * b + b * b)
    objective = QNorm(q=4, form="normalized", norm_at=1, scale_penalty=penalty)
    _, hess = step(objective, t - 1)
    np.testing.assert_allclose(hess, np.maximum(slope, safe / 10), rtol=1e-6)


def test_the_2_norm_gives_centred_squared_error_and_cosine():
    for scores in (SCORES, np.zeros(3), np.array([1.0, 0.0, 0.0])):
        grad, hess = step(QNorm(q=2), scores)
        expected_grad, expected_hess = step(Squared(center=True), scores)
        np.testing.assert_allclose(grad, expected_grad, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(hess, expected_hess, rtol=1e-6)
    grad, _ = step(QNorm(q=2, form="normalized", scale_penalty=0.01, norm_at=1))
    expected = step(Cosine(scale_penalty=0.01, norm_at=1), SCORES + 1)[0]
    np.testing.assert_allclose(grad, expected, rtol=1e-5, atol=1e-7)


def test_centred_squared_error_spelled_out():
    grad, hess = step(Squared(norm_at=1, center=True))
    np.testing.assert_allclose(grad, 2 * (SCORES - [1 - 4 / 9, 1 / 3 - 4 / 9, -4 / 9]), rtol=1e-6)
    np.testing.assert_array_equal(hess, 2.0)
    loss = Squared(norm_at=1, center=True).loss(LABELS, SCORES, [3])[0]
    assert loss == pytest.approx(
        (0.5 - 5 / 9) ** 2 + (-1 + 1 / 9) ** 2 + (2 + 4 / 9) ** 2, rel=1e-12
    )
    labels, scores = np.array([2.0, 2.0, 1.0, 0.0]), np.zeros(4)
    grad, _ = Squared(norm=None, center=True).grad_hess(labels, scores, [2, 2])
    np.testing.assert_allclose(grad, [0, 0, -1, 1], atol=1e-6)  # equal gains ask for nothing


def test_automatic_exponents_follow_the_length_of_each_list():
    rng = np.random.default_rng(4)
    group = [2, 30, 7]
    labels = rng.integers(0, 4, 39).astype(float)
    labels[:2] = (0, 1)
    scores = rng.normal(size=39)
    for form in ("penalized", "normalized"):
        together = QNorm(form=form).grad_hess(labels, scores, group)
        start = 0
        for m in group:
            rows = slice(start, start + m)
            alone = QNorm(q=math.log(m) + 2, form=form).grad_hess(labels[rows], scores[rows], [m])
            for values, expected in zip(together, alone, strict=True):
                np.testing.assert_array_equal(values[rows], expected)
            start += m


LARGE = np.array([1e300, -1e300, 0.0])


@pytest.mark.parametrize(
    ("objective", "limited"),
    [
        (Cosine(), [1e15, -1e15, 0.0]),
        (QNorm(), [1e15, -1e15, 0.0]),
        (QNorm(q=1000), [1e15, -1e15, 0.0]),
        (QNorm(form="normalized"), [1e15, -1e15, 0.0]),
        (KL(norm_at=1), [60 - math.log(4 / 9), -1e300, 0.0]),
        (Squared(), [1e31, -1e31, 0.0]),
        (Bregman(), [800.0, -800.0, 0.0]),
    ],
    ids=repr,
)
def test_scores_beyond_the_limit_count_as_the_limit(objective, limited):
    for values, expected in zip(step(objective, LARGE), step(objective, limited), strict=True):
        assert np.isfinite(values).all()
        np.testing.assert_allclose(values, expected, rtol=1e-6)
    assert np.isfinite(objective.loss(LABELS, np.array(limited), [3])).all()


@pytest.mark.parametrize("form", ["penalized", "normalized"])
@pytest.mark.parametrize("q", [2.0, 2.001, 3.0, 7.5, 1000.0])
def test_q_norms_of_tiny_scores(q, form):
    """Powers underflow, about the base and about t = 0."""
    objective = QNorm(q=q, form=form)
    zero_grad, _ = step(objective, np.zeros(3))
    base = 1.0 if form == "normalized" else sum(U) / 3 ** (2 / q) / (1 + 1 / 3 / math.log2(3))
    for size in (1e-100, 1e-200, 1e-300, 5e-324):
        grad, hess = step(objective, size * np.array([1.0, -2.0, 0.5]))
        np.testing.assert_allclose(grad, zero_grad, rtol=0, atol=1e-4)
        assert (hess > 0).all()
        assert np.isfinite(hess).all()
        assert np.isfinite(objective.loss(LABELS, size * np.ones(3), [3])).all()
    grad, hess = step(objective, np.full(3, -base))  # t is 0, or a few rounding errors
    assert np.isfinite(grad).all()
    assert (hess > 0).all()
    assert np.isfinite(objective.loss(LABELS, np.full(3, -base), [3])).all()


# --- Bregman with a link of one's own -------------------------------------------------------------


def quadratic(t):
    return 0.5 * t * t


def identity(t):
    return t


def softplus(t):
    return np.logaddexp(0.0, t)


def logistic(t):
    return 1 / (1 + np.exp(-np.clip(t, -700, 700)))


def exponential(t):
    return np.exp(np.minimum(t, 600.0))


def steep(t):
    return np.where(t > 0, t**4 / 4, 0.0) + 0.05 * t * t


def steep_derivative(t):
    return np.where(t > 0, t**3, 0.0) + 0.1 * t


def test_a_link_of_ones_own_gives_the_losses_that_are_there():
    labels, scores, group = np.array([2.0, 0.0, 1.0, 0.0, 3.0]), np.linspace(-1, 2, 5), [3, 2]
    pairs = [
        ((quadratic, identity), Squared(center=True), 2.0),
        ((softplus, logistic), Bregman(), 1.0),
        ((exponential, exponential), KL(), 1.0),
    ]
    for link, known, times in pairs:
        grad, hess = Bregman(link=link).grad_hess(labels, scores, group)
        expected, _ = known.grad_hess(labels, scores, group)
        np.testing.assert_allclose(times * grad, expected, rtol=1e-5, atol=1e-6)
        assert (np.abs(grad) <= 2 * hess + 1e-6).all()


@pytest.mark.parametrize(
    "link", [(quadratic, identity), (softplus, logistic), (steep, steep_derivative)]
)
def test_a_link_of_ones_own_keeps_the_contract_and_is_consistent(link):
    check_objective(Bregman(link=link))
    assert find_counterexample(Bregman(link=link), m=3, trials=60) is None


def minus_quadratic(t):
    return -0.5 * t * t


def minus_identity(t):
    return -t


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (quadratic, "a tuple of two functions, a convex one and its derivative"),
        ((quadratic,), "a tuple of two functions"),
        ((minus_quadratic, minus_identity), "derivative must increase, or the loss is not convex"),
        ((quadratic, exponential), r"at -10 it is .*, but differences of the function say -10"),
        ((np.sum, identity), "function must return one finite number for each number"),
        ((quadratic, np.log), "derivative must return one finite number for each number"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
def test_links_that_are_none_are_refused(link, message):
    with pytest.raises(ValueError, match=message):
        Bregman(link=link)


def test_a_link_that_does_not_reach_relevance_is_refused():
    def half(t):
        return 0.1 * logistic(t)

    def of_half(t):
        return 0.1 * softplus(t)

    with pytest.raises(ValueError, match="must reach the mean relevance of every list"):
        Bregman(link=(of_half, half)).grad_hess([2, 1, 0], [0.0] * 3, [3])
