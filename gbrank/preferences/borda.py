"""Borda: the share of its comparisons that a document won."""

from gbrank.core import kernel
from gbrank.preferences._method import Numbers, aggregation
from gbrank.preferences._pairs import gather_edges, take_query


@kernel()
def _scores(first, last, queries, tables, numbers, workspace, out):
    edge_ints, edge_floats, _, document_floats = workspace
    winner, loser, weight = edge_ints[0], edge_ints[1], edge_floats[0]
    compared = document_floats[0]
    for query in range(first, last):
        chosen, scores = take_query(query, queries, out)
        n_edges = gather_edges(chosen, tables, winner, loser, weight)
        scores[:] = 0.0
        compared[: len(scores)] = 0.0
        for edge in range(n_edges):
            scores[winner[edge]] += weight[edge]
            compared[winner[edge]] += weight[edge]
            compared[loser[edge]] += weight[edge]
        for document in range(len(scores)):
            met = compared[document]
            scores[document] = scores[document] / met if met > 0.0 else 0.5


@aggregation(_scores, cost=1)
def borda() -> Numbers:
    """Return the share of its comparisons that each document won.

    With ``n_ij`` the weight of comparisons that i won against j::

        s_i = sum_j n_ij / sum_j (n_ij + n_ji)

    and 1/2 for a document that was never compared. Frequent opponents count more than rare ones;
    where all pairs were compared equally often this is the win rate
    (:func:`gbrank.preferences.win_rate`).

    This is not what Duchi, Mackey and Jordan (2013, section 5.1) call the Borda count, which is
    ``A 1`` for a skew-symmetric matrix A: with the mean of the adjacency matrices as A it is
    :func:`gbrank.preferences.mean_adjacency`, with log-odds (their section 6.2)
    :func:`gbrank.preferences.log_odds`, and with ``P(i beats j) - P(j beats i)`` it is, up to scale
    and shift, the :func:`gbrank.preferences.win_rate`.

    References
    ----------
    de Borda, Mémoire sur les élections au scrutin, 1781.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons, borda
    >>> seen = Comparisons(None, winner=[0, 0, 1, 1], loser=[1, 1, 2, 0])
    >>> borda(seen, qid=["a", "a", "a"]).round(3)  # 2/3, 2/4, 0/1
    array([0.667, 0.5  , 0.   ])
    """
    return 0.0, 0.0
