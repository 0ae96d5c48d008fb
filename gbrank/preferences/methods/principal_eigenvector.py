"""Principal eigenvector: scores whose ratios fit a matrix of smoothed odds.

With ``n_ij`` the weight of comparisons that i won against j and c > 0, the reciprocal matrix has
``A_ij = (n_ij + c) / (n_ji + c)``, 1 for pairs that were never compared and on the diagonal. Its
eigenvector v of the largest eigenvalue is positive (Perron), and::

    s_i = log v_i - mean(log v)

If ratios are consistent, ``A_ij = v_i / v_j``, then ``s_i - s_j = log A_ij``. Scores sum to 0.
Pairs that were never compared count as equal: sparse comparisons shrink differences, and a document
never seen is one that is equal to all. Where nothing was compared all scores are 0.

Power iteration on ``A`` plus half its eigenvalue, which keeps circles from oscillating, until the
bounds of Collatz and Wielandt on the eigenvalue agree to 1e-12, at most 5000 times; a step costs as
much as there are pairs compared.

References: Saaty, Decision-making with the AHP: why is the principal eigenvector necessary,
European Journal of Operational Research 2003; Duchi, Mackey, Jordan, The asymptotics of ranking
algorithms, Annals of Statistics 2013, section 5.1.
"""

from typing import Any

import numpy as np

from gbrank.core import FloatArray, QueryLayout, check_number, kernel, log
from gbrank.preferences.base import Observations
from gbrank.preferences.binding import BoundObservations
from gbrank.preferences.methods._method import Method, Numbers
from gbrank.preferences.methods._pairs import count_pairs

_MOST_STEPS = 5000


@kernel()
def scores_of_query(chosen, tables, numbers, workspace, out):
    """Write the scores of one query from its chosen observations."""
    edge_ints, edge_floats, _, document_floats = workspace
    n_documents, smoothing = len(out), numbers[0]
    n_pairs = count_pairs(chosen, tables, n_documents, workspace)
    low, high = edge_ints[2], edge_ints[3]
    wins_low, wins_high = edge_floats[1], edge_floats[2]
    vector, product = document_floats[0], document_floats[1]
    for pair in range(n_pairs):
        odds = (wins_low[pair] + smoothing) / (wins_high[pair] + smoothing)
        wins_low[pair], wins_high[pair] = odds - 1.0, 1.0 / odds - 1.0
    vector[:n_documents] = 1.0
    for _ in range(_MOST_STEPS):
        total = 0.0
        for document in range(n_documents):
            total += vector[document]
        product[:n_documents] = total  # the matrix is 1 everywhere, but for the pairs compared
        for pair in range(n_pairs):
            product[low[pair]] += wins_low[pair] * vector[high[pair]]
            product[high[pair]] += wins_high[pair] * vector[low[pair]]
        lowest, highest, largest = np.inf, 0.0, 0.0
        for document in range(n_documents):
            ratio = product[document] / vector[document]
            lowest, highest = min(lowest, ratio), max(highest, ratio)
        for document in range(n_documents):
            moved = product[document] + 0.5 * highest * vector[document]
            vector[document] = moved
            largest = max(largest, moved)
        for document in range(n_documents):
            vector[document] /= largest
        if highest - lowest <= 1e-12 * highest:
            break
    mean = 0.0
    for document in range(n_documents):
        out[document] = log(vector[document])
        mean += out[document]
    for document in range(n_documents):
        out[document] -= mean / n_documents


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


METHOD = Method("principal_eigenvector", scores_of_queries, _read_parameters, cost=100)


def principal_eigenvector(
    observations: Observations | BoundObservations,
    layout: QueryLayout | None = None,
    *,
    smoothing: float = 0.5,
    qid: Any = None,
    keys: Any = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the centred logarithm of the principal eigenvector of the smoothed odds.

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
    >>> from gbrank.preferences import Comparisons, principal_eigenvector
    >>> seen = Comparisons(None, winner=[0, 0, 0], loser=[1, 1, 1])
    >>> principal_eigenvector(seen, qid=["a", "a"]).round(3)  # they differ by log(3.5 / 0.5)
    array([ 0.973, -0.973])
    """
    return METHOD.scores(observations, layout, qid, keys, n_jobs, smoothing=smoothing)
