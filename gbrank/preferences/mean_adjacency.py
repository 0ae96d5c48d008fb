"""Mean adjacency: how much more often a document won than lost, per observation."""

from gbrank.core import kernel
from gbrank.preferences._method import Numbers, aggregation
from gbrank.preferences._pairs import gather_edges, take_query


@kernel()
def _scores(first, last, queries, tables, numbers, workspace, out):
    edge_ints, edge_floats, _, _ = workspace
    winner, loser, weight = edge_ints[0], edge_ints[1], edge_floats[0]
    observation_weight = tables[4]
    for query in range(first, last):
        chosen, scores = take_query(query, queries, out)
        n_edges = gather_edges(chosen, tables, winner, loser, weight)
        scores[:] = 0.0
        for edge in range(n_edges):
            scores[winner[edge]] += weight[edge]
            scores[loser[edge]] -= weight[edge]
        total = 0.0
        for observation in chosen:
            total += observation_weight[observation]
        if total > 0.0:
            for document in range(len(scores)):
                scores[document] /= total


@aggregation(_scores, cost=1)
def mean_adjacency() -> Numbers:
    """Return for each document its wins minus its losses, per observation of its query.

    With ``Y_o`` the adjacency matrix of observation o (an entry for each of its edges, its weight)
    and ``w_o`` the weight of the observation, the mean is ``A = sum_o w_o Y_o / sum_o w_o``, and a
    document's score is what the skew-symmetric ``A - A'`` sums to in its row::

        s_i = sum_j (A_ij - A_ji)

    which is the Borda count of that matrix. Scores sum to 0. A document that was never compared has
    0, as have all where there is no observation. Comparisons that contradict each other cancel.

    References
    ----------
    Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
    sections 5.1 (Borda count of a skew-symmetric matrix) and 5.3.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons, mean_adjacency
    >>> seen = Comparisons(None, winner=[0, 0, 1, 1], loser=[1, 1, 2, 0])
    >>> mean_adjacency(seen, qid=["a", "a", "a"])
    array([ 0.25,  0.  , -0.25])
    """
    return 0.0, 0.0
