"""Thurstone-Mosteller: scores whose differences fit the log-odds of the compared pairs best.

With ``n_ij`` the weight of comparisons that i won against j, c > 0 and
``A_ij = log((n_ij + c) / (n_ji + c))``, the scores minimise the sum over compared pairs::

    sum_{i < j compared} (A_ij - (s_i - s_j))^2

Each compared pair counts the same. The minimiser solves ``L s = (Omega * A) 1``, with Omega the 0-1
matrix of compared pairs and L its graph Laplacian. Where the comparisons fall into several
connected groups of documents, differences between groups are unknown: every group has mean 0, which
is the solution of least length, and a document never seen has score 0. Solved by conjugate
gradients to a relative residual of 1e-12.

References: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
equation 22; Mosteller, Remarks on the method of paired comparisons, Psychometrika 1951.
"""

from typing import Any

from gbrank.core import FloatArray, QueryLayout, check_number, kernel, log
from gbrank.preferences.base import Observations
from gbrank.preferences.binding import BoundObservations
from gbrank.preferences.methods._laplacian import solve
from gbrank.preferences.methods._method import Method, Numbers
from gbrank.preferences.methods._pairs import centre_components, count_pairs, label_components


@kernel()
def scores_of_query(chosen, tables, numbers, workspace, out):
    """Write the scores of one query from its chosen observations."""
    edge_ints, edge_floats, document_ints, document_floats = workspace
    n_documents = len(out)
    n_pairs = count_pairs(chosen, tables, n_documents, workspace)
    low, high, component = edge_ints[2], edge_ints[3], document_ints[0]
    wins_low, wins_high, mask = edge_floats[1], edge_floats[2], edge_floats[3]
    right, scratch = document_floats[6], document_floats[:4]
    smoothing = numbers[0]
    right[:n_documents] = 0.0
    for pair in range(n_pairs):
        mask[pair] = 1.0
        difference = log((wins_low[pair] + smoothing) / (wins_high[pair] + smoothing))
        right[low[pair]] += difference
        right[high[pair]] -= difference
    solve(low, high, mask, n_pairs, 0.0, right, n_documents, 1e-12, scratch, out)
    label_components(low, high, n_pairs, n_documents, component)
    centre_components(out, component, n_documents, document_floats[0], document_floats[1])


@kernel()
def scores_of_queries(first, last, bounds, chosen_bounds, chosen, tables, numbers, workspace, out):
    """Write the scores of queries ``first`` to ``last``."""
    for query in range(first, last):
        drawn = chosen[chosen_bounds[query] : chosen_bounds[query + 1]]
        scores = out[bounds[query] : bounds[query + 1]]
        scores_of_query(drawn, tables, numbers, workspace, scores)


def _read_parameters(*, smoothing: float = 0.5) -> Numbers:
    check_number("smoothing", smoothing, low=0.0, low_open=True)
    return float(smoothing), 0.0


METHOD = Method("thurstone_mosteller", scores_of_queries, _read_parameters, cost=100)


def thurstone_mosteller(
    observations: Observations | BoundObservations,
    layout: QueryLayout | None = None,
    *,
    smoothing: float = 0.5,
    qid: Any = None,
    keys: Any = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the least squares scores of the smoothed log-odds of compared pairs.

    Parameters
    ----------
    observations : Comparisons, PartialOrders or Selections.
    layout : the queries of the rows; may be left out where ``qid`` is given.
    smoothing : float > 0, default=0.5
        What is added to the wins of either side of a compared pair, in units of the weights.
    qid : query id of each row, default=None.
    keys : key of each row, for ``items="key"``, default=None.
    n_jobs : number of threads, default=None
        See :func:`gbrank.core.threads.resolve_n_jobs`; scores do not depend on it.

    Returns
    -------
    float64 array, one score per row in the user's order.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons, thurstone_mosteller
    >>> seen = Comparisons(None, winner=[0, 1], loser=[1, 2])
    >>> thurstone_mosteller(seen, qid=["a", "a", "a"]).round(3)  # differences are log(3)
    array([ 1.099,  0.   , -1.099])
    """
    return METHOD.scores(observations, layout, qid, keys, n_jobs, smoothing=smoothing)
