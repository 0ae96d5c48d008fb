"""What a loss promises about NDCG, in numbers.

- :func:`xendcg_bound`: a small XENDCG loss on some data means a large NDCG on these data.
- :func:`excess_risk_bound`, :func:`low_noise_bound`: an expected loss near its minimum means an
  expected NDCG near its maximum, with the constants of each consistent objective.
- :func:`ndcg_margin`: how much NDCG any order but the best one costs, the noise condition of
  :func:`low_noise_bound`.
- :func:`lipschitz_constant`, :func:`generalization_probability`: how far a loss on training queries
  can be from that on new ones.

References: Bruch, An alternative cross entropy loss for learning-to-rank, The Web Conference 2021,
theorems 1 and 2 (corrected), claim 2 and proposition 1; Ravikumar, Tewari, Yang, On NDCG
consistency of listwise ranking methods, AISTATS 2011, theorems 10 and 11 and equation 5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gbrank.core import (
    DiscountSpec,
    GainSpec,
    QueryLayout,
    check_integer,
    check_labels,
    check_number,
    compute_discounts,
    compute_gains,
    ideal_dcg,
)
from gbrank.objectives import KL, XENDCG, Bregman, LambdaMART, ListNet, Objective, QNorm, Squared
from gbrank.theory.consistency import bayes_scores


def xendcg_bound(
    labels: ArrayLike,
    scores: ArrayLike,
    group: ArrayLike,
    objective: XENDCG | None = None,
    *,
    iteration: int = 0,
) -> float:
    """Return a lower bound on mean NDCG that follows from the XENDCG loss alone.

    With Z the best DCG of a query, over the queries (Bruch 2021, theorem 1)::

        - log( mean NDCG + mean 1/Z )  <=  mean XENDCG

    for any gamma in [0, 1]. Its proof leaves room: with one constant gamma, ``(1 - gamma) / Z`` is
    enough in place of ``1/Z``. Hence ``mean NDCG >= exp(-mean XENDCG) - (1 - gamma) mean 1/Z``,
    which is what is returned, with gamma = 0 where it is drawn. NDCG has no cut-off (with one the
    theorem fails), gain ``2^r - 1`` and the logarithmic discount, and every query needs a relevant
    document. With gamma < 1 the bound may be negative.

    Parameters
    ----------
    labels, scores, group, iteration : see :meth:`gbrank.Objective.loss`.
    objective : the loss, for its gamma; ``None`` for ``XENDCG(gamma=1.0)``.

    Examples
    --------
    >>> from gbrank import XENDCG
    >>> from gbrank.theory import xendcg_bound
    >>> labels, scores, group = [4, 0, 0], [4.0, 0.0, 0.0], [3]  # NDCG is 1
    >>> round(xendcg_bound(labels, scores, group), 3)
    0.965
    >>> round(xendcg_bound(labels, scores, group, XENDCG(gamma=0.0)), 3)
    0.552
    """
    objective = XENDCG(gamma=1.0) if objective is None else objective
    if not isinstance(objective, XENDCG) or objective.eps != 0:
        raise ValueError(f"objective must be an XENDCG with eps=0, got {objective!r}")
    layout = QueryLayout.from_group(group, len(np.asarray(labels)))
    gains = compute_gains(check_labels(labels, layout), "exp", layout)
    best = ideal_dcg(gains, layout.bounds, compute_discounts(int(layout.sizes.max(initial=1))))
    if layout.n_queries == 0 or not (best > 0).all():
        which = f", query {int(np.argmin(best))} has none" if layout.n_queries else ""
        raise ValueError(f"every query needs a document with a label > 0{which}")
    losses = objective.loss(labels, scores, group, iteration=iteration)
    gamma = objective.gamma
    gamma = 0.0 if isinstance(gamma, str) or callable(gamma) else float(gamma)
    return float(np.exp(-losses.mean()) - (1.0 - gamma) * (1.0 / best).mean())


def excess_risk_bound(
    objective: Objective, excess_loss: float, m: int, mass: float | None = None
) -> float:
    """Return by how much expected NDCG can fall short, given by how much the loss does.

    For losses of the form ``D_psi(u, g(s))``, psi being C-strongly convex in some norm
    (``D_psi(u, v) >= C |u - v|^2``), and D the vector of discounts (theorem 10)::

        best NDCG - NDCG  <=  2 |D|_* / sqrt(C) * sqrt(loss - least loss)

    expectations over labels, and over queries too if each has at most m documents. (Scores of
    Bregman and QNorm count from a base that depends on the labels; their bounds rest on how much
    the losses can bend instead.)

    ===================  =====================  ===========  ===================================
    objective            C                      dual norm    because
    ===================  =====================  ===========  ===================================
    Squared              1, or 1 / (2m) (mean)  L2           equality
    QNorm penalized      1 / (q - 1)            Lq           it bends by 2 (q - 1) at most
    KL                   1 / (2 mass)           L-infinity   Pinsker's inequality
    Bregman (logistic)   2                      L2           its hessian is at most 1/4
    ===================  =====================  ===========  ===================================

    Parameters
    ----------
    objective : one of the above, with ``norm="dcg"`` and without ``norm_at``.
    excess_loss : expected loss less the least expected loss, >= 0.
    m : number of documents.
    mass : for KL only: a number that neither ``sum E[u]`` nor ``sum E[q]`` exceeds.

    Examples
    --------
    >>> from gbrank import Squared
    >>> from gbrank.theory import excess_risk_bound
    >>> round(excess_risk_bound(Squared(), 0.0025, m=2), 4)  # 2 |(1, 0.6309)| * 0.05
    0.1182
    """
    check_number("excess_loss", excess_loss, low=0.0)
    return _transform_constant(objective, m, mass) * float(np.sqrt(excess_loss))


def low_noise_bound(
    objective: Objective,
    excess_loss: float,
    m: int,
    alpha: float,
    margin_moment: float,
    mass: float | None = None,
) -> float:
    """Return :func:`excess_risk_bound` where margins are rarely small (theorem 11).

    With ``c`` the constant before the square root of :func:`excess_risk_bound`::

        best NDCG - NDCG  <=  ( c^2 (loss - least loss) )^((alpha+1)/(alpha+2))
                              * E[margin^-alpha]^(1/(alpha+2))

    ``alpha = 0`` is the bound without noise condition; for large alpha it goes with the excess
    loss itself instead of its root.

    Parameters
    ----------
    objective, excess_loss, m, mass : see :func:`excess_risk_bound`.
    alpha : exponent >= 0.
    margin_moment : ``E[margin^-alpha]`` over queries, the margins being :func:`ndcg_margin`.

    Examples
    --------
    >>> from gbrank import Squared
    >>> from gbrank.theory import excess_risk_bound, low_noise_bound
    >>> round(low_noise_bound(Squared(), 0.0025, 2, alpha=0.0, margin_moment=1.0), 4)
    0.1182
    >>> round(excess_risk_bound(Squared(), 0.0025, m=2), 4)  # alpha=0 is no condition
    0.1182
    """
    check_number("excess_loss", excess_loss, low=0.0)
    check_number("alpha", alpha, low=0.0)
    check_number("margin_moment", margin_moment, low=0.0, low_open=True)
    squared = _transform_constant(objective, m, mass) ** 2 * excess_loss
    power = (alpha + 1.0) / (alpha + 2.0)
    return float(squared**power * margin_moment ** (1.0 / (alpha + 2.0)))


def _transform_constant(objective: Objective, m: int, mass: float | None) -> float:
    """Return ``2 |D|_* / sqrt(C)``."""
    check_integer("m", m, low=1)
    if not isinstance(objective, Squared | QNorm | KL | Bregman):
        raise ValueError(
            "objective must be Squared, QNorm, KL or Bregman: only losses of Bregman's form have "
            f"this bound, got {objective!r}"
        )
    if objective.norm != "dcg" or objective.norm_at is not None:
        raise ValueError(
            f'objective must have norm="dcg" and norm_at=None, else it is not consistent with '
            f"NDCG, got {objective!r}"
        )
    if isinstance(objective, KL):
        check_number("mass", mass, low=0.0, low_open=True)
    elif mass is not None:
        raise ValueError(f"mass goes with KL only, got {mass!r} with {objective!r}")
    discounts = compute_discounts(m, objective.discount)
    match objective:
        case Squared():
            strength, norm = 1.0 if objective.reduction == "sum" else 1.0 / (2 * m), 2.0
        case QNorm():
            if objective.form != "penalized":
                raise ValueError(
                    'QNorm must have form="penalized": the normalized form is not convex and has '
                    f"no such bound, got {objective!r}"
                )
            q = np.log(m) + 2.0 if isinstance(objective.q, str) else float(objective.q)
            strength, norm = 1.0 / (q - 1.0), q
        case KL():
            strength, norm = 1.0 / (2.0 * float(mass or 0.0)), np.inf
        case _:
            discounts = discounts / discounts[0]  # as the loss takes them, so that u is at most 1
            strength, norm = 2.0, 2.0
    return 2.0 * float(np.linalg.norm(discounts, norm)) / float(np.sqrt(strength))


def ndcg_margin(
    label_vectors: ArrayLike,
    probabilities: ArrayLike,
    gain: GainSpec = "exp",
    discount: DiscountSpec = "log",
) -> float:
    """Return the least expected NDCG that any order but the best one costs (equation 5).

    With v = ``E[G / Z]`` in descending order::

        min_l (v_l - v_{l+1}) (D(l) - D(l+1))

    0 where two documents are equally good.

    Parameters
    ----------
    label_vectors, probabilities, gain, discount : see :func:`gbrank.theory.bayes_scores`.

    Examples
    --------
    >>> from gbrank.theory import ndcg_margin
    >>> round(ndcg_margin([[5, 4], [1, 3]], [0.3, 0.7]), 4)  # (0.75334 - 0.32162) * (1 - 0.63093)
    0.1594
    """
    best_first = np.sort(bayes_scores(label_vectors, probabilities, gain, discount))[::-1]
    if len(best_first) < 2:
        raise ValueError("label_vectors must have at least two documents, got vectors of one")
    discounts = compute_discounts(len(best_first), discount)
    return float((np.diff(best_first) * np.diff(discounts)).min())


def lipschitz_constant(objective: Objective, m: int) -> float:
    """Return by how much the loss of a list can change per unit of the largest score change.

    That is the largest sum of absolute gradients: 2 for a cross entropy of distributions (XENDCG:
    proposition 1; ListNet alike), ``sigmoid m^2`` for LambdaMART without ``norm`` (claim 2).

    Parameters
    ----------
    objective : an :class:`~gbrank.XENDCG`, a :class:`~gbrank.ListNet` or a
        :class:`~gbrank.LambdaMART`.
    m : number of documents.

    Examples
    --------
    >>> from gbrank import XENDCG, LambdaMART
    >>> from gbrank.theory import lipschitz_constant
    >>> lipschitz_constant(XENDCG(), 100), lipschitz_constant(LambdaMART(norm=False), 100)
    (2.0, 10000.0)
    """
    check_integer("m", m, low=1)
    if isinstance(objective, XENDCG | ListNet):
        return 2.0
    if isinstance(objective, LambdaMART) and not objective.value_of("norm"):
        return float(objective.value_of("sigmoid")) * m**2
    raise ValueError(
        f"objective must be XENDCG, ListNet or LambdaMART(norm=False), got {objective!r}"
    )


def generalization_probability(
    n_queries: int, error: float, lipschitz: float, covering_number: float
) -> float:
    """Return how probable it is that expected loss exceeds training loss by at most ``error``.

    At least ``1 - 2 N exp(-n error^2 / (2 L^2))``, for functions with values in [0, 1]; 0 where
    that says nothing. Theorem 2 of Bruch (2021) prints the exponent ``-2 n error^2 / L^2``, which
    is four times too strong: a function and the centre of its ball differ by up to ``error / 4`` in
    expected and in training loss, which leaves ``error / 2`` for Hoeffding's inequality.

    Parameters
    ----------
    n_queries : int
        Number n of training queries.
    error : float
        By how much the losses may differ.
    lipschitz : float
        Constant L of the loss: see :func:`lipschitz_constant`.
    covering_number : float
        Number N of balls of radius ``error / (4 L)`` in the sup norm that cover the functions one
        learns from.

    Examples
    --------
    >>> from gbrank.theory import generalization_probability
    >>> round(generalization_probability(40_000, 0.1, lipschitz=2.0, covering_number=1e20), 3)
    0.961
    """
    check_integer("n_queries", n_queries, low=1)
    check_number("error", error, low=0.0)
    check_number("lipschitz", lipschitz, low=0.0, low_open=True)
    check_number("covering_number", covering_number, low=1.0)
    failure = 2.0 * covering_number * np.exp(-0.5 * n_queries * error**2 / lipschitz**2)
    return float(max(0.0, 1.0 - failure))
