"""Thurstone-Mosteller: scores whose differences fit the log-odds of the compared pairs best."""

from gbrank.core import kernel, log
from gbrank.preferences._laplacian import solve
from gbrank.preferences._method import Numbers, aggregation
from gbrank.preferences._pairs import (
    centre_components,
    check_smoothing,
    count_pairs,
    label_components,
    take_query,
)


@kernel()
def _scores(first, last, queries, tables, numbers, workspace, out):
    edge_ints, edge_floats, document_ints, document_floats = workspace
    low, high, component = edge_ints[2], edge_ints[3], document_ints[0]
    wins_low, wins_high, mask = edge_floats[1], edge_floats[2], edge_floats[3]
    right, scratch = document_floats[6], document_floats[:4]
    smoothing = numbers[0]
    for query in range(first, last):
        chosen, scores = take_query(query, queries, out)
        n_documents = len(scores)
        n_pairs = count_pairs(chosen, tables, n_documents, workspace)
        right[:n_documents] = 0.0
        for pair in range(n_pairs):
            mask[pair] = 1.0
            difference = log((wins_low[pair] + smoothing) / (wins_high[pair] + smoothing))
            right[low[pair]] += difference
            right[high[pair]] -= difference
        solve(low, high, mask, n_pairs, 0.0, right, n_documents, 1e-12, scratch, scores)
        label_components(low, high, n_pairs, n_documents, component)
        centre_components(scores, component, n_documents, document_floats[0], document_floats[1])


@aggregation(_scores, cost=100)
def thurstone_mosteller(*, smoothing: float = 0.5) -> Numbers:
    """Return the least squares scores of the smoothed log-odds of compared pairs.

    With ``n_ij`` the weight of comparisons that i won against j, c > 0 the smoothing and
    ``A_ij = log((n_ij + c) / (n_ji + c))``, the scores minimise the sum over compared pairs::

        sum_{i < j compared} (A_ij - (s_i - s_j))^2

    Each compared pair counts the same. The minimiser solves ``L s = (Omega * A) 1``, with Omega the
    0-1 matrix of compared pairs and L its graph Laplacian. Where the comparisons fall into several
    connected groups of documents, differences between groups are unknown: every group has mean 0,
    which is the solution of least length, and a document never seen has score 0. Solved by
    conjugate gradients to a relative residual of 1e-12.

    Parameters
    ----------
    smoothing : float > 0, default=0.5
        What is added to the wins of either side of a compared pair, in units of the weights.

    References
    ----------
    Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
    equation 22; Mosteller, Remarks on the method of paired comparisons, Psychometrika 1951.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons, thurstone_mosteller
    >>> seen = Comparisons(None, winner=[0, 1], loser=[1, 2])
    >>> thurstone_mosteller(seen, qid=["a", "a", "a"]).round(3)  # differences are log(3)
    array([ 1.099,  0.   , -1.099])
    """
    return check_smoothing(smoothing)
