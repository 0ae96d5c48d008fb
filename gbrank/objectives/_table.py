"""What is known of each objective: the table of the README and of ``gbrank objectives``.

One query has ``m`` documents with labels ``r``, scores ``s`` and ``rho = softmax(s)``; ``G`` is the
gain of a label, ``Z(r)`` the best DCG of the query. Formulas stand between backquotes.
"""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class ObjectiveRow:
    """One objective of the table.

    Attributes
    ----------
    name : under which it is registered.
    loss : the loss of a query.
    consistent_with : the metric that its minimiser is best for, and under which condition.
    cost : of a step for a query, up to a constant.
    when : what speaks for it.
    """

    name: str
    loss: str
    consistent_with: str
    cost: str
    when: str


ROWS = (
    ObjectiveRow(
        "xendcg",
        "`-sum phi_i log rho_i`, `phi_i = (2^r_i - gamma_i) / sum_j (2^r_j - gamma_j)`, `gamma` "
        "uniform in [0, 1), drawn again for each tree",
        "NDCG, if each query has one fixed label vector or single clicks; not in general. A convex "
        "bound on NDCG",
        "`m`",
        "the default; cheap, also on long lists",
    ),
    ObjectiveRow(
        "listnet",
        "`-sum softmax(r)_i log rho_i`",
        "the order of `E[softmax(r)]`; not NDCG",
        "`m`",
        "a baseline",
    ),
    ObjectiveRow(
        "lambdamart",
        "none: gradients of pairs, weighted by what a swap of the two would change in NDCG",
        "nothing is proved",
        "`m T` for `truncation_level=T`, and a sort",
        'what `"lambdarank"` does now',
    ),
    ObjectiveRow(
        "squared",
        "`sum (s_i - u_i)^2`, `u = G(r) / Z(r)`",
        "NDCG; not with `norm=None`",
        "`m`",
        "a guarantee at the price of regression",
    ),
    ObjectiveRow(
        "cosine",
        "`1 - <s, u> / sqrt(|s|^2 + 1)` and a small penalty on the length of `s`",
        'NDCG; not with `norm="l2"`',
        "`m`",
        "queries that should count alike whatever their scale",
    ),
    ObjectiveRow(
        "kl",
        "`sum u_i log(u_i / q_i) - u_i + q_i`, `q_i = exp(s_i + b)`",
        "NDCG",
        "`m`",
        "a cross entropy with a guarantee",
    ),
    ObjectiveRow(
        "bregman_logistic",
        "`sum log(1 + e^t_i) - t_i u_i`, `t = s + logit(mean u)`",
        "NDCG",
        "`m`",
        "a guarantee, with bounded gradients",
    ),
    ObjectiveRow(
        "qnorm",
        "`|s|_q^2 - 2 <s, u>`, `q = ln(m) + 2`",
        "NDCG",
        "`m`",
        "long lists with few relevant documents",
    ),
    ObjectiveRow(
        "gain_pairwise",
        "`sum_j u_j sum_l phi(s_j - s_l)`, `u = G(r) / Z(r)`, `phi` logistic",
        "NDCG; with `norm=None` ERR",
        "relevant documents times `m`; about `m` with `phi` exponential or squared hinge",
        "a guarantee for noisy labels",
    ),
    ObjectiveRow(
        "listmle",
        "`-log P(label order)` of the Plackett-Luce model; the first `k` factors with `k=`",
        "the top-k 0-1 loss with `k=`, else the permutation 0-1 loss, for order-preserving label "
        "distributions",
        "`m`",
        "labels that are orders; the top of the list",
    ),
    ObjectiveRow(
        "smoothed",
        "`E_z loss(s + scale z)` of any other objective, `z` Gumbel, logistic or normal noise, "
        "drawn again for each tree",
        "what the other is, up to the noise",
        "`samples` times the other's",
        "noisy labels, and gradients that jump with the order",
    ),
    ObjectiveRow(
        "pairwise_logistic",
        "`sum_{r_i > r_j} log(1 + exp(-(s_i - s_j)))`",
        "none that scores whole lists",
        "pairs of different labels",
        "a baseline; RankNet's loss",
    ),
    ObjectiveRow(
        "preference_logistic",
        "`sum_ij [a_ij - a_ji]_+ log(1 + exp(-(s_i - s_j)))`, `a` the average of observed "
        "preferences",
        "the pairwise risk, where average preferences have no cycles",
        "pairs ever compared",
        "comparisons and clicks instead of labels",
    ),
    ObjectiveRow(
        "ustatistic",
        "any other loss, on labels aggregated from `k` observed preferences drawn again for each "
        "tree",
        "what its base is, as `k` grows with the number of observations",
        "its base, and `k`",
        "comparisons and clicks instead of labels",
    ),
)

_HEADER = ("name", "loss of a query", "consistent with", "cost", "when")


def markdown_table() -> str:
    """Return the table as the README has it.

    >>> from gbrank.objectives._table import markdown_table
    >>> print(markdown_table().splitlines()[0])
    | name | loss of a query | consistent with | cost | when |
    """
    rows = [(f"`{row.name}`", row.loss, row.consistent_with, row.cost, row.when) for row in ROWS]
    lines = [_HEADER, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    texts = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([texts[0], "|" + "---|" * len(_HEADER), *texts[1:]])


def as_plain_text(row: ObjectiveRow) -> dict[str, str]:
    """Return the cells without backquotes.

    >>> from gbrank.objectives._table import ROWS, as_plain_text
    >>> as_plain_text(ROWS[1])["loss"]
    '-sum softmax(r)_i log rho_i'
    """
    return {name: cell.replace("`", "") for name, cell in asdict(row).items()}
