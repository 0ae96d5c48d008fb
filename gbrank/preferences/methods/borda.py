"""Borda: the share of its comparisons that a document won.

With ``n_ij`` the weight of comparisons that i won against j::

    s_i = sum_j n_ij / sum_j (n_ij + n_ji)

and 1/2 for a document that was never compared. Frequent opponents count more than rare ones;
where all pairs were compared equally often this is the win rate
(:func:`gbrank.preferences.win_rate`).

Reference: de Borda, Mémoire sur les élections au scrutin, 1781.
"""

from typing import Any

from gbrank.core import FloatArray, QueryLayout, kernel
from gbrank.preferences.base import Observations
from gbrank.preferences.binding import BoundObservations
from gbrank.preferences.methods._method import Method, Numbers
from gbrank.preferences.methods._pairs import gather_edges


@kernel()
def scores_of_query(chosen, tables, numbers, workspace, out):
    """Write the scores of one query from its chosen observations."""
    edge_ints, edge_floats, _, document_floats = workspace
    winner, loser, weight = edge_ints[0], edge_ints[1], edge_floats[0]
    compared = document_floats[0]
    n_edges = gather_edges(chosen, tables, winner, loser, weight)
    out[:] = 0.0
    compared[: len(out)] = 0.0
    for edge in range(n_edges):
        out[winner[edge]] += weight[edge]
        compared[winner[edge]] += weight[edge]
        compared[loser[edge]] += weight[edge]
    for document in range(len(out)):
        out[document] = out[document] / compared[document] if compared[document] > 0.0 else 0.5


@kernel()
def scores_of_queries(first, last, bounds, chosen_bounds, chosen, tables, numbers, workspace, out):
    """Write the scores of queries ``first`` to ``last``."""
    for query in range(first, last):
        drawn = chosen[chosen_bounds[query] : chosen_bounds[query + 1]]
        scores = out[bounds[query] : bounds[query + 1]]
        scores_of_query(drawn, tables, numbers, workspace, scores)


def _read_parameters() -> Numbers:
    return 0.0, 0.0


METHOD = Method("borda", scores_of_queries, _read_parameters, cost=1)


def borda(
    observations: Observations | BoundObservations,
    layout: QueryLayout | None = None,
    *,
    qid: Any = None,
    keys: Any = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the share of its comparisons that each document won.

    Parameters
    ----------
    observations : Comparisons, PartialOrders or Selections.
    layout : the queries of the rows; may be left out where ``qid`` is given.
    qid : query id of each row, default=None.
    keys : key of each row, for ``items="key"``, default=None.
    n_jobs : number of threads, default=None
        See :func:`gbrank.core.threads.resolve_n_jobs`; scores do not depend on it.

    Returns
    -------
    float64 array, one score per row in the user's order.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons, borda
    >>> seen = Comparisons(None, winner=[0, 0, 1, 1], loser=[1, 1, 2, 0])
    >>> borda(seen, qid=["a", "a", "a"]).round(3)  # 2/3, 2/4, 0/1
    array([0.667, 0.5  , 0.   ])
    """
    return METHOD.scores(observations, layout, qid, keys, n_jobs)
