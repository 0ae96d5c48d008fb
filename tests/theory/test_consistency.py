"""Which objectives are consistent with NDCG: closed forms, the papers' examples, random search."""

from itertools import permutations, product
from math import e, log2

import numpy as np
import pytest
from scipy.optimize import brentq, root
from scipy.special import expit, logit, softmax

from gbrank import (
    KL,
    XENDCG,
    Bregman,
    Cosine,
    GainPairwise,
    LambdaMART,
    ListMLE,
    ListNet,
    Objective,
    PairwiseLogistic,
    QNorm,
    Squared,
)
from gbrank.theory import (
    bayes_scores,
    check_consistency,
    dependent_relevances,
    find_counterexample,
    minimizer,
)

# Ravikumar, Tewari, Yang 2011, section 3.2.1 and proof of proposition 7
SQUARED_EXAMPLE = ([[5, 4], [1, 3]], [0.3, 0.7])
COSINE_EXAMPLE = ([[1, 5], [2, 1]], [0.38, 0.62])
LISTNET_EXAMPLE = ([[1, 5], [2, 1]], [0.35, 0.65])

VECTORS = np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 1.0], [1.0, 4.0, 2.0]])
CHANCES = np.array([0.5, 0.2, 0.3])


def relevance(labels):
    gains = 2.0 ** np.asarray(labels) - 1
    return gains / sum(g / log2(2 + place) for place, g in enumerate(sorted(gains)[::-1]))


def expected(vectors):
    return np.average(vectors, axis=0, weights=CHANCES)


EXPECTED_U = expected([relevance(r) for r in VECTORS])


# --- the pieces ---------------------------------------------------------------------------------


def test_bayes_scores_spelled_out():
    z_1, z_2 = 31 + 15 / log2(3), 7 + 1 / log2(3)
    by_hand = [0.3 * 31 / z_1 + 0.7 * 1 / z_2, 0.3 * 15 / z_1 + 0.7 * 7 / z_2]
    np.testing.assert_allclose(bayes_scores(*SQUARED_EXAMPLE), by_hand, rtol=1e-14)
    np.testing.assert_allclose(bayes_scores(*SQUARED_EXAMPLE), [0.3216, 0.7533], atol=5e-5)
    linear_zipf = bayes_scores([[2, 1], [0, 0]], [0.5, 0.5], gain="linear", discount="zipf")
    np.testing.assert_allclose(linear_zipf, [0.5 * 2 / 2.5, 0.5 * 1 / 2.5], rtol=1e-14)


def test_bayes_order_is_the_best_of_all_orders():
    rng = np.random.default_rng(0)
    for _ in range(20):
        vectors = rng.integers(0, 5, size=(3, 4))
        chances = rng.dirichlet([1, 1, 1])

        def expected_ndcg(order, vectors=vectors, chances=chances):
            value = 0.0
            for labels, chance in zip(vectors, chances, strict=True):
                gains = 2.0**labels - 1
                dcg = sum(gains[d] / log2(2 + place) for place, d in enumerate(order))
                best = sum(g / log2(2 + place) for place, g in enumerate(sorted(gains)[::-1]))
                value += chance * (dcg / best if best else 0.0)
            return value

        best = max(expected_ndcg(order) for order in permutations(range(4)))
        by_bayes = expected_ndcg(np.argsort(-bayes_scores(vectors, chances)))
        assert by_bayes == pytest.approx(best, rel=1e-12)
        check = check_consistency(Squared(), vectors, chances)
        assert check.best_ndcg == pytest.approx(best, rel=1e-12)
        assert check.expected_ndcg == pytest.approx(
            expected_ndcg(np.argsort(-check.scores)), abs=1e-6
        )


def qnorm_minimizer(q):
    # of E[|s + c|_q^2] - 2 <s, E[u]>, c = sum u / m^(2/q) of each vector of labels
    bases = np.array([relevance(r).sum() / len(r) ** (2 / q) for r in VECTORS])

    def gradient(scores):
        t = scores + bases[:, None]
        norms = (np.abs(t) ** q).sum(axis=1, keepdims=True) ** (1 / q)
        return CHANCES @ (norms ** (2 - q) * np.sign(t) * np.abs(t) ** (q - 1)) - EXPECTED_U

    return root(gradient, EXPECTED_U - EXPECTED_U.mean(), tol=1e-13).x


def bregman_minimizer():
    # of the mean of logistic curves, each counted from the logit of its list's mean u
    bases = np.array([logit(relevance(r).mean()) for r in VECTORS])

    def missing(score, u):
        return CHANCES @ expit(score + bases) - u

    return [brentq(missing, -50, 50, args=(u,)) for u in EXPECTED_U]


@pytest.mark.parametrize(
    ("objective", "closed_form"),
    [
        (Squared(), EXPECTED_U),
        (Squared(reduction="mean"), EXPECTED_U),
        (Squared(norm=None), expected(2**VECTORS - 1)),
        (KL(), np.log(EXPECTED_U / EXPECTED_U.mean())),
        (Bregman(), bregman_minimizer()),
        (Squared(center=True), EXPECTED_U - EXPECTED_U.mean()),
        (QNorm(q=2.0), EXPECTED_U - EXPECTED_U.mean()),
        (QNorm(q=3.0), qnorm_minimizer(3.0)),
        (QNorm(), qnorm_minimizer(np.log(3) + 2)),
        (ListNet(), np.log(expected(softmax(VECTORS, axis=1)))),
        (ListNet(temperature=2.0), np.log(expected(softmax(VECTORS / 2, axis=1)))),
        (
            XENDCG(gamma=0.5),
            np.log(expected([(2**r - 0.5) / (2**r - 0.5).sum() for r in VECTORS])),
        ),
        (ListMLE(k=1), np.log([0.5, 0.5, 1e-9])),  # documents 0 and 1 are best, 2 never
    ],
    ids=lambda value: repr(value) if isinstance(value, Objective) else "",
)
def test_minimizers_in_closed_form(objective, closed_form):
    scores = minimizer(objective, VECTORS, CHANCES)
    if objective.shift_invariant:
        scores, closed_form = scores - scores[0], closed_form - closed_form[0]
    if isinstance(objective, ListMLE):  # the minimum lies at infinity
        assert scores[1] == pytest.approx(0.0, abs=1e-5)
        assert scores[2] < -10
    else:
        np.testing.assert_allclose(scores, closed_form, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("norm", ["dcg", "l2"])
def test_the_cosine_minimizer_has_the_direction_of_the_expected_target(norm):
    targets = {
        "dcg": EXPECTED_U,
        "l2": expected([(2**r - 1) / np.linalg.norm(2**r - 1) for r in VECTORS]),
    }
    scores = minimizer(Cosine(norm=norm), VECTORS, CHANCES)
    direction = targets[norm] / np.linalg.norm(targets[norm])
    np.testing.assert_allclose(scores / np.linalg.norm(scores), direction, atol=1e-4)


@pytest.mark.parametrize("phi", ["logistic", "exponential", "squared_hinge"])
def test_no_small_move_lowers_the_expected_loss_of_gain_pairwise(phi):
    objective = GainPairwise(phi)
    scores = minimizer(objective, VECTORS, CHANCES)

    def risk(s):
        return CHANCES @ objective.loss(VECTORS.ravel(), np.tile(s, 3), [3, 3, 3])

    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.3):
        for direction in rng.normal(size=(20, 3)):
            assert risk(scores + size * direction) > risk(scores) - 1e-12


def test_minimizers_of_one_vector_with_ties_treat_them_alike():
    scores = minimizer(ListMLE(), [[1, 0, 1, 0]], [1.0], draws=4000)
    assert min(scores[[0, 2]]) > max(scores[[1, 3]]) + 5
    np.testing.assert_allclose(scores[0], scores[2], atol=0.2)


# --- the counter-examples of the paper ----------------------------------------------------------


def test_squared_error_on_gains_is_inconsistent():
    check = check_consistency(Squared(norm=None), *SQUARED_EXAMPLE)
    np.testing.assert_allclose(check.scores, [10.0, 9.4], rtol=1e-6)
    np.testing.assert_allclose(check.bayes, [0.3216, 0.7533], atol=5e-5)
    assert not check.consistent
    # the two documents change places, at D(1) - D(2)
    lost = (check.bayes[1] - check.bayes[0]) * (1 - 1 / log2(3))
    assert check.shortfall == pytest.approx(lost, rel=1e-9)
    assert check_consistency(Squared(), *SQUARED_EXAMPLE).consistent


def test_cosine_with_euclidean_norm_is_inconsistent():
    check = check_consistency(Cosine(norm="l2"), *COSINE_EXAMPLE)
    expected_target = np.array([0.6004, 0.5759])
    ratio = check.scores[0] / check.scores[1]
    assert ratio == pytest.approx(expected_target[0] / expected_target[1], abs=2e-4)
    np.testing.assert_allclose(check.bayes, [0.5243, 0.5432], atol=5e-5)
    assert not check.consistent
    assert check_consistency(Cosine(), *COSINE_EXAMPLE).consistent


def test_listnet_is_inconsistent():
    check = check_consistency(ListNet(), *LISTNET_EXAMPLE)
    np.testing.assert_allclose(softmax(check.scores), [0.4815, 0.5185], atol=5e-5)
    np.testing.assert_allclose(check.bayes, [0.5481, 0.5220], atol=5e-5)
    assert not check.consistent
    assert check_consistency(KL(), *LISTNET_EXAMPLE).consistent


@pytest.mark.parametrize("gamma", [0.0, 0.5, "uniform"])
def test_xendcg_is_inconsistent_on_the_example_of_listnet(gamma):
    check = check_consistency(XENDCG(gamma=gamma), *LISTNET_EXAMPLE, draws=20_000)
    assert not check.consistent
    if gamma == "uniform":
        np.testing.assert_allclose(softmax(check.scores), [0.472, 0.528], atol=2e-3)


def test_pairs_weighted_alike_are_inconsistent():
    # document 1 wins more often, document 0 by far more
    check = check_consistency(PairwiseLogistic(), [[5, 0], [1, 2]], [0.4, 0.6])
    assert not check.consistent
    np.testing.assert_allclose(check.scores[1] - check.scores[0], np.log(0.6 / 0.4), rtol=1e-5)


# --- random search ------------------------------------------------------------------------------

CONSISTENT = [
    Squared(),
    Squared(reduction="mean"),
    KL(),
    Bregman(),
    QNorm(),
    QNorm(q=2.5),
    QNorm(form="normalized"),
    Cosine(),
    GainPairwise("logistic"),
    GainPairwise("exponential"),
    GainPairwise("squared_hinge"),
    Squared(gain="linear", discount="zipf"),
    GainPairwise(gain="linear", discount="power"),
]


@pytest.mark.parametrize("objective", CONSISTENT, ids=repr)
def test_no_counterexample_among_2000_distributions(objective):
    for m in (2, 3, 4, 5):
        assert find_counterexample(objective, m=m, trials=500, random_state=m) is None


INCONSISTENT = [
    Squared(norm=None),
    GainPairwise(norm=None),
    Cosine(norm="l2"),
    ListNet(),
    ListNet(k=1),
    XENDCG(gamma=0.0),
    XENDCG(gamma=0.5),
    XENDCG(gamma=1.0),
    PairwiseLogistic(),
    Squared(norm_at=1),
    KL(norm_at=1),
]


@pytest.mark.parametrize("objective", INCONSISTENT, ids=repr)
@pytest.mark.parametrize("m", [2, 4])
def test_the_search_finds_a_counterexample(objective, m):
    found = find_counterexample(objective, m=m, trials=500)
    assert found is not None
    assert found.shortfall > 1e-3
    again = check_consistency(objective, found.label_vectors, found.probabilities)
    assert not again.consistent
    assert again.shortfall == pytest.approx(found.shortfall, abs=1e-6)


def test_consistency_is_with_ndcg_of_the_objectives_own_gain():
    assert find_counterexample(Squared(gain="linear"), trials=300) is None
    assert find_counterexample(Squared(gain="linear"), trials=300, gain="exp") is not None


def norm_block(first, last, bounds, scores, iteration, scratch, grad, hess):
    rows = slice(bounds[first], bounds[last])
    grad[rows] = scores[rows]
    hess[rows] = 1.0


class NothingToSay(Objective):
    """Squared norm of the scores: all documents end up tied, which is no order."""

    kernel = staticmethod(norm_block)

    def __init__(self, *, n_jobs=None):
        self.n_jobs = n_jobs

    def prepare(self, labels, layout):
        return ()


def test_tied_scores_count_in_their_worst_order():
    check = check_consistency(NothingToSay(), [[2, 0, 1]], [1.0])
    u = relevance([2, 0, 1])
    worst = u[1] + u[2] / log2(3) + u[0] / log2(4)
    assert check.expected_ndcg == pytest.approx(worst, rel=1e-12)
    assert not check.consistent
    # equally good documents may be tied
    assert check_consistency(NothingToSay(), [[1, 1, 1]], [1.0]).consistent


# --- the orientation of the pairs, and ERR ------------------------------------------------------


def as_printed_block(first, last, bounds, scores, *others):
    GainPairwise.kernel(first, last, bounds, -scores, *others)
    grad = others[-2]
    grad[bounds[first] : bounds[last]] *= -1


class AsPrinted(GainPairwise):
    """``sum_j u_j sum_l phi(s_l - s_j)``: the other way round."""

    kernel = staticmethod(as_printed_block)


def test_gain_pairwise_as_printed_sorts_in_reverse():
    labels = [[7, 2, 1]]  # as gains: u is proportional to (.7, .2, .1)
    forwards = minimizer(GainPairwise(gain="linear"), labels, [1.0])
    printed = minimizer(AsPrinted(gain="linear"), labels, [1.0])
    np.testing.assert_allclose(printed, [-1.07, 0.19, 0.88], atol=5e-3)
    np.testing.assert_allclose(forwards, -printed, atol=1e-5)
    assert check_consistency(GainPairwise(gain="linear"), labels, [1.0]).consistent
    assert not check_consistency(AsPrinted(gain="linear"), labels, [1.0]).consistent
    assert find_counterexample(AsPrinted(), trials=10) is not None


def test_gain_pairwise_without_norm_is_consistent_with_err():
    # independent labels 0, 1, 2 of three documents: the expectation of ERR over all 27 vectors
    def satisfied(labels):
        return (2.0 ** np.asarray(labels) - 1) / 4

    def expected_err(order, vectors, chances):
        value = 0.0
        for labels, chance in zip(vectors, chances, strict=True):
            still_looking = 1.0
            for place, document in enumerate(order):
                value += chance * still_looking * satisfied(labels)[document] / (place + 1)
                still_looking *= 1 - satisfied(labels)[document]
        return value

    rng = np.random.default_rng(1)
    objective = GainPairwise(norm=None, gain=satisfied)
    vectors = np.array(list(product(range(3), repeat=3)))
    for _ in range(10):
        marginals = rng.dirichlet([1, 1, 1], size=3)
        chances = np.array([np.prod(marginals[[0, 1, 2], labels]) for labels in vectors])
        best = max(permutations(range(3)), key=lambda o: expected_err(o, vectors, chances))
        assert tuple(np.argsort(-minimizer(objective, vectors, chances / chances.sum()))) == best


def test_gain_pairwise_without_norm_fails_err_where_relevances_depend_on_each_other():
    vectors, chances = dependent_relevances()
    np.testing.assert_array_equal(vectors, [[4, 4, 0], [0, 0, 4]])
    satisfied = 15 / 16  # of a document of grade 4

    def err(places):  # of the relevant documents, from 1
        value, reach = 0.0, 1.0
        for place in places:
            value += reach * satisfied / place
            reach *= 1 - satisfied
        return value

    by_order = {
        order: 0.6 * err(sorted([order.index(0) + 1, order.index(1) + 1]))
        + 0.4 * err([order.index(2) + 1])
        for order in permutations(range(3))
    }
    scores = minimizer(GainPairwise(norm=None), vectors, chances)
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)
    assert scores[1] > scores[2] + 0.1
    assert by_order[0, 1, 2] == by_order[1, 0, 2] == pytest.approx(0.705, abs=5e-4)
    assert max(by_order.values()) == by_order[0, 2, 1] == pytest.approx(0.762, abs=5e-4)
    # independent relevances with the same chances: sorting by expected gain is best
    independent = list(product([0, 4], repeat=3))
    weight = [
        np.prod([0.6 if r == g else 0.4 for r, g in zip(v, (4, 4, 0), strict=True)])
        for v in independent
    ]
    learned = np.argsort(-minimizer(GainPairwise(norm=None), independent, weight), kind="stable")
    assert set(learned[:2].tolist()) == {0, 1}


# --- input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vectors", "chances", "message"),
    [
        ([1, 2], [1.0], "label_vectors must be an array"),
        ([[1, -2]], [1.0], r"labels must be finite numbers >= 0, but row 1 \(query 0\) has -2"),
        ([[1, 2]], [0.5, 0.5], "one entry per label vector"),
        ([[1, 2], [2, 1]], [0.5, 0.6], "sum to 1"),
        ([[1, 2], [2, 1]], [1.5, -0.5], r"probabilities\[1\] is -0.5"),
    ],
)
def test_bad_distributions_are_refused(vectors, chances, message):
    for function in (bayes_scores, lambda v, p: minimizer(Squared(), v, p)):
        with pytest.raises(ValueError, match=message):
            function(vectors, chances)


def test_objectives_without_a_loss_are_refused():
    with pytest.raises(ValueError, match=r"LambdaMART\(\) has no loss"):
        minimizer(LambdaMART(), [[1, 0]], [1.0])
    with pytest.raises(ValueError, match="objective must be one of"):
        minimizer("no_such_loss", [[1, 0]], [1.0])


def test_names_and_numbers_of_the_search_are_checked():
    assert minimizer("squared", [[1, 0]], [1.0])[0] == pytest.approx(1.0)
    for name in ("m", "grades", "trials", "n_vectors"):
        with pytest.raises(ValueError, match=f"{name} must be an integer"):
            find_counterexample(Squared(), **{name: 0})


def test_far_away_minima_are_found():
    # the most that labels allow: document 0 is relevant once in a million
    scores = minimizer(ListNet(temperature=0.1), [[1, 0], [0, 1]], [1e-3, 1 - 1e-3])
    share = 1e-3 * e**10 / (e**10 + 1) + (1 - 1e-3) / (e**10 + 1)
    assert scores[0] - scores[1] == pytest.approx(np.log(share / (1 - share)), rel=1e-4)
