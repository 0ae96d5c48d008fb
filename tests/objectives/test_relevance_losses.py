"""What the losses on ``u = G / Z`` share: u itself, its parameters, and what is left out."""

import math

import numpy as np
import pytest
from oracles import relevance as oracle

from gbrank import KL, Bregman, Cosine, QNorm, Squared
from gbrank.core.gains import PowerDiscount
from gbrank.core.queries import QueryLayout
from gbrank.objectives._relevance import compute_relevance, query_relevance
from gbrank.testing import check_objective

FAMILY = [Squared, Cosine, KL, Bregman, QNorm]
LABELS = np.array([0.0, 2.0, 1.0, 3.0, 3.0, 0.0, 1.0])
SCORES = np.array([0.3, -0.5, 0.1, 0.9, -1.2, 0.0, 2.0])
TABLE = [0.0, 1.0, 5.0, 20.0]


def shifted_root(labels):
    return np.sqrt(labels) + 0.25


NORMALISATIONS = [
    # what the objective is given, what the oracle is given
    ({}, {}),
    ({"norm_at": 1}, {"norm_at": 1}),
    ({"norm_at": 3}, {"norm_at": 3}),
    ({"norm_at": 1000}, {}),
    ({"gain": "linear", "discount": "zipf"}, {"gain": "linear", "discount": "zipf"}),
    ({"gain": TABLE, "discount": "power"}, {"gain": lambda r: TABLE[int(r)], "discount": "power"}),
    (
        {"gain": shifted_root, "discount": PowerDiscount(0.25), "norm_at": 2},
        {"gain": shifted_root, "discount": lambda rank: rank**-0.25, "norm_at": 2},
    ),
    (
        {"discount": lambda ranks: np.where(ranks <= 2, 1.0, 0.5)},
        {"discount": lambda rank: 1.0 if rank <= 2 else 0.5},
    ),
    ({"discount": "exp"}, {"discount": "exp"}),
]
Q = math.log(len(LABELS)) + 2
HAND_WRITTEN = {
    Squared: lambda s, u: oracle.squared(s, u),
    KL: lambda s, u: oracle.kl(s, u),
    Bregman: lambda s, u: oracle.bregman(s, u),
    Cosine: lambda s, u: oracle.cosine(s, u, 1e-3),
    QNorm: lambda s, u: oracle.penalized(s, u, Q),
}


@pytest.mark.parametrize(("given", "known"), NORMALISATIONS)
@pytest.mark.parametrize("cls", FAMILY)
def test_loss_and_gradient_are_those_written_by_hand(cls, given, known):
    u = oracle.relevance(LABELS, **known)
    if cls is Bregman and given.get("discount") == "exp":
        u = u / 2  # counted relative to the discount of the first rank
    objective = cls(**given)
    assert objective.loss(LABELS, SCORES, [len(LABELS)])[0] == pytest.approx(
        HAND_WRITTEN[cls](SCORES, u), rel=1e-12
    )
    grad, _ = objective.grad_hess(LABELS, SCORES, [len(LABELS)])
    expected = oracle.gradient(HAND_WRITTEN[cls], SCORES, u)
    np.testing.assert_allclose(grad, expected, rtol=0, atol=1e-6 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("norm", ["dcg", "l2", None])
@pytest.mark.parametrize("k", [None, 1, 2, 4, 7, 50])
def test_relevance_of_many_queries_is_that_of_each(norm, k):
    group = [7, 1, 0, 3, 2, 4]
    labels = np.array([*LABELS, 2, 1, 0, 4, 3, 3, 0, 0, 5, 0], dtype=float)
    layout = QueryLayout.from_group(group)
    relevance, counts = compute_relevance(labels, layout, norm=norm, k=k)
    assert counts.tolist() == [True, False, False, True, False, True]
    for query in range(layout.n_queries):
        rows = slice(layout.bounds[query], layout.bounds[query + 1])
        alone = query_relevance(labels[rows], norm=norm, k=k)
        if counts[query]:
            expected = oracle.relevance(labels[rows], norm=norm, k=k)
            np.testing.assert_allclose(relevance[rows], expected, rtol=1e-14)
            np.testing.assert_allclose(alone, expected, rtol=1e-14)
        else:
            assert alone is None
            assert (relevance[rows] == 0).all()


def test_relevance_spelled_out():
    # gains 3, 1, 0; best DCG 3 + 1 / log2(3)
    u = compute_relevance(np.array([1.0, 2.0, 0.0]), QueryLayout.from_group([3]))[0]
    best = 3 + 1 / np.log2(3)
    np.testing.assert_allclose(u, [1 / best, 3 / best, 0.0], rtol=1e-15)
    # the printed numbers of Ravikumar, Tewari and Yang, section 3.2.1
    expected = 0.3 * query_relevance(np.array([5.0, 4.0])) + 0.7 * query_relevance(
        np.array([1.0, 3.0])
    )
    np.testing.assert_allclose(expected, [0.3216, 0.7533], atol=5e-5)


LEFT_OUT = {"one document": [3.0], "equal labels": [2.0, 2.0, 2.0], "no gain": [0.0, 0.0]}


@pytest.mark.parametrize("labels", LEFT_OUT.values(), ids=LEFT_OUT.keys())
@pytest.mark.parametrize(
    "objective",
    [
        *(cls() for cls in FAMILY),
        *(cls(norm_at=1) for cls in FAMILY),
        Squared(reduction="mean"),
        Cosine(norm="l2", k=1),
        QNorm(form="normalized"),
    ],
    ids=repr,
)
def test_queries_without_anything_to_rank_are_left_out(objective, labels):
    group = [len(labels), len(LABELS)]
    everything = np.concatenate([labels, LABELS])
    scores = np.concatenate([np.linspace(-1, 2, len(labels)), SCORES])
    grad, hess = objective.grad_hess(everything, scores, group)
    assert (grad[: len(labels)] == 0).all()
    assert (hess[: len(labels)] == 0).all()
    assert objective.loss(everything, scores, group)[0] == 0.0
    assert (hess[len(labels) :] > 0).all()


@pytest.mark.parametrize("cls", FAMILY)
def test_gains_decide_what_is_left_out_not_labels(cls):
    objective = cls(gain=[1.0, 1.0, 1.0, 1.0])
    grad, hess = objective.grad_hess(LABELS, SCORES, [len(LABELS)])
    assert (grad == 0).all()
    assert (hess == 0).all()


@pytest.mark.parametrize("cls", FAMILY)
def test_a_discount_that_counts_nothing_leaves_everything_out(cls):
    grad, hess = cls(discount=np.zeros_like).grad_hess(LABELS, SCORES, [len(LABELS)])
    assert (grad == 0).all()
    assert (hess == 0).all()


@pytest.mark.parametrize("cls", FAMILY)
def test_huge_gains_are_no_trouble(cls):
    labels = np.array([990.0, 980.0, 0.0])  # gains up to 2^990
    check = cls()
    grad, hess = check.grad_hess(labels, [0.1, 0.2, 0.3], [3])
    small = check.grad_hess([20.0, 10.0, 0.0], [0.1, 0.2, 0.3], [3])
    np.testing.assert_allclose(grad, small[0], rtol=1e-3)  # u is nearly the same
    np.testing.assert_allclose(hess, small[1], rtol=1e-2)


def test_huge_gains_with_the_euclidean_norm():
    u = compute_relevance(np.array([990.0, 990.0, 0.0]), QueryLayout.from_group([3]), norm="l2")[0]
    np.testing.assert_allclose(u, [0.5**0.5, 0.5**0.5, 0.0], rtol=1e-15)
    np.testing.assert_allclose(query_relevance(np.array([990.0, 990.0, 0.0]), norm="l2"), u)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Squared(norm="l2"), "norm must be 'dcg' or None, got 'l2'"),
        (lambda: Squared(reduction="median"), "reduction must be 'sum' or 'mean', got 'median'"),
        (lambda: Squared(center=1), "center must be True or False, got 1"),
        (lambda: Squared(norm=None, norm_at=3), 'norm_at goes with norm="dcg", but norm is None'),
        (lambda: Cosine(norm=None), "norm must be 'dcg' or 'l2', got None"),
        (lambda: Cosine(norm="l2", norm_at=1), "norm_at goes with"),
        (lambda: Cosine(k=0), "k must be an integer >= 1 or None, got 0"),
        (lambda: Cosine(scale_penalty=-1.0), r"scale_penalty must be a number in \[0, 1\]"),
        (lambda: KL(norm_at=0), "norm_at must be an integer >= 1 or None, got 0"),
        (lambda: KL(norm_at=1.5), "norm_at must be an integer"),
        (lambda: KL(gain="cubic"), 'gain must be "exp", "linear"'),
        (lambda: KL(discount="cubic"), "discount must be one of"),
        (lambda: Bregman(link="probit"), "link must be 'logistic' or a tuple of two functions"),
        (lambda: QNorm(q=1.9), r'q must be a number in \[2, 1000\] or "auto", got 1.9'),
        (lambda: QNorm(q="max"), r"q must be 'auto' or a number in \[2, 1000\], got 'max'"),
        (lambda: QNorm(form="plain"), "form must be 'penalized' or 'normalized', got 'plain'"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("cls", FAMILY)
def test_bad_data_are_refused(cls):
    with pytest.raises(ValueError, match="discount of rank 1 must be 0 or at least 1e-15, got"):
        cls(discount=lambda ranks: 1e-200 / ranks).grad_hess(LABELS, SCORES, [7])
    with pytest.raises(TypeError, match="discount must be a name or a function of the rank, got 5"):
        cls(discount=5)
    with pytest.raises(ValueError, match=r"gain .*row 1 .*-1"):
        cls(gain=lambda labels: -labels).grad_hess([0, 1], [0, 0], [2])


@pytest.mark.parametrize(
    "objective",
    [
        Squared(norm=None),
        Squared(center=True),
        Squared(norm=None, reduction="mean", center=True),
        Squared(reduction="mean", norm_at=1),
        Squared(discount="zipf", gain="linear"),
        Cosine(norm="l2"),
        Cosine(k=2, norm_at=3),
        Cosine(scale_penalty=0),
        KL(norm_at=1, discount="exp"),
        Bregman(discount="exp"),
        Bregman(gain=np.array([0, 1, 3, 7, 30]), norm_at=2),
        QNorm(q=2),
        QNorm(q=2.25),
        QNorm(q=50.0),
        QNorm(form="normalized"),
        QNorm(q=3, form="normalized", scale_penalty=0.0, discount=PowerDiscount(1.5)),
    ],
    ids=repr,
)
def test_variants_keep_the_contract(objective):
    check_objective(objective)
