"""Log-odds: by how much a document beats another one on average.

With ``n_ij`` the weight of comparisons that i won against j, and c > 0::

    s_i = 1 / (m - 1) sum_{j != i} log((n_ij + c) / (n_ji + c))

A pair that was never compared adds log(c / c) = 0, so that documents never seen have score 0, and
disconnected groups of documents each lie around 0. Scores sum to 0. The smoothing is one of counts:
added to joint frequencies instead it would drown them, as there are m (m - 1) of those. With
Bradley-Terry comparisons spread over all pairs, s tends to ``m / (m - 1)`` times the centred
utilities as their number grows.

Reference: Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
section 6.2.
"""

from typing import Any

from gbrank.core import FloatArray, QueryLayout, check_number, kernel, log
from gbrank.preferences.base import Observations
from gbrank.preferences.binding import BoundObservations
from gbrank.preferences.methods._method import Method, Numbers
from gbrank.preferences.methods._pairs import count_pairs


@kernel()
def scores_of_query(chosen, tables, numbers, workspace, out):
    """Write the scores of one query from its chosen observations."""
    n_pairs = count_pairs(chosen, tables, len(out), workspace)
    low, high = workspace[0][2], workspace[0][3]
    wins_low, wins_high = workspace[1][1], workspace[1][2]
    smoothing = numbers[0]
    for pair in range(n_pairs):  # a loop of its own, which vectorises
        wins_low[pair] = log((wins_low[pair] + smoothing) / (wins_high[pair] + smoothing))
    out[:] = 0.0
    for pair in range(n_pairs):
        out[low[pair]] += wins_low[pair]
        out[high[pair]] -= wins_low[pair]
    if len(out) > 1:
        for document in range(len(out)):
            out[document] /= len(out) - 1


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


METHOD = Method("log_odds", scores_of_queries, _read_parameters, cost=4)


def log_odds(
    observations: Observations | BoundObservations,
    layout: QueryLayout | None = None,
    *,
    smoothing: float = 0.5,
    qid: Any = None,
    keys: Any = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the mean smoothed log-odds of each document against all others of its query.

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
    >>> from gbrank.preferences import Comparisons, log_odds
    >>> seen = Comparisons(None, winner=[0, 0, 1], loser=[1, 1, 2])
    >>> log_odds(seen, qid=["a", "a", "a"]).round(3)  # log(5) / 2, (log(3) - log(5)) / 2, ...
    array([ 0.805, -0.255, -0.549])
    """
    return METHOD.scores(observations, layout, qid, keys, n_jobs, smoothing=smoothing)
