"""Mean adjacency: how much more often a document won than lost, per observation.

With ``Y_o`` the adjacency matrix of observation o (an entry for each of its edges) and ``w_o`` its
weight, the average is ``A = sum_o w_o Y_o / sum_o w_o``, and a document's score is what the
skew-symmetric ``A - A'`` sums to in its row::

    s_i = sum_j (A_ij - A_ji)

Scores sum to 0. A document that was never compared has 0, as have all where there is no
observation. Comparisons that contradict each other cancel.

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
sections 5.1 (Borda count of a skew-symmetric matrix) and 5.3.
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
    edge_ints, edge_floats, _, _ = workspace
    winner, loser, weight = edge_ints[0], edge_ints[1], edge_floats[0]
    observation_weight = tables[4]
    n_edges = gather_edges(chosen, tables, winner, loser, weight)
    out[:] = 0.0
    for edge in range(n_edges):
        out[winner[edge]] += weight[edge]
        out[loser[edge]] -= weight[edge]
    total = 0.0
    for observation in chosen:
        total += observation_weight[observation]
    if total > 0.0:
        for document in range(len(out)):
            out[document] /= total


@kernel()
def scores_of_queries(first, last, bounds, chosen_bounds, chosen, tables, numbers, workspace, out):
    """Write the scores of queries ``first`` to ``last``."""
    for query in range(first, last):
        drawn = chosen[chosen_bounds[query] : chosen_bounds[query + 1]]
        scores = out[bounds[query] : bounds[query + 1]]
        scores_of_query(drawn, tables, numbers, workspace, scores)


def _read_parameters() -> Numbers:
    return 0.0, 0.0


METHOD = Method("mean_adjacency", scores_of_queries, _read_parameters, cost=1)


def mean_adjacency(
    observations: Observations | BoundObservations,
    layout: QueryLayout | None = None,
    *,
    qid: Any = None,
    keys: Any = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return for each document its wins minus its losses, per observation of its query.

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
    >>> from gbrank.preferences import Comparisons, mean_adjacency
    >>> seen = Comparisons(None, winner=[0, 0, 1, 1], loser=[1, 1, 2, 0])
    >>> mean_adjacency(seen, qid=["a", "a", "a"])
    array([ 0.25,  0.  , -0.25])
    """
    return METHOD.scores(observations, layout, qid, keys, n_jobs)
