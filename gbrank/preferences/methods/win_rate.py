"""Win rate: the chance to win against an opponent drawn at random.

With ``n_ij`` the weight of comparisons that i won against j::

    s_i = 1 / (m - 1) sum_{j != i} n_ij / (n_ij + n_ji)

where a pair that was never compared counts 1/2. Each opponent counts the same, however often it was
met. A document never seen has 1/2, as has the only document of a query.

References: Ammar, Shah, Ranking: compare, don't score, Allerton 2011; Duchi, Mackey, Jordan, The
asymptotics of ranking algorithms, Annals of Statistics 2013, section 5.1.
"""

from typing import Any

from gbrank.core import FloatArray, QueryLayout, kernel
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
    out[:] = 0.0
    for pair in range(n_pairs):
        surplus = wins_low[pair] / (wins_low[pair] + wins_high[pair]) - 0.5
        out[low[pair]] += surplus
        out[high[pair]] -= surplus
    for document in range(len(out)):
        out[document] = 0.5 + out[document] / max(len(out) - 1, 1)


@kernel()
def scores_of_queries(first, last, bounds, chosen_bounds, chosen, tables, numbers, workspace, out):
    """Write the scores of queries ``first`` to ``last``."""
    for query in range(first, last):
        drawn = chosen[chosen_bounds[query] : chosen_bounds[query + 1]]
        scores = out[bounds[query] : bounds[query + 1]]
        scores_of_query(drawn, tables, numbers, workspace, scores)


def _read_parameters() -> Numbers:
    return 0.0, 0.0


METHOD = Method("win_rate", scores_of_queries, _read_parameters, cost=4)


def win_rate(
    observations: Observations | BoundObservations,
    layout: QueryLayout | None = None,
    *,
    qid: Any = None,
    keys: Any = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the mean share of wins of each document over all others of its query.

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
    >>> from gbrank.preferences import Comparisons, win_rate
    >>> seen = Comparisons(None, winner=[0, 0, 1, 1], loser=[1, 1, 2, 0])
    >>> win_rate(seen, qid=["a", "a", "a"]).round(3)  # (2/3 + 1/2) / 2, (1/3 + 1) / 2, ...
    array([0.583, 0.667, 0.25 ])
    """
    return METHOD.scores(observations, layout, qid, keys, n_jobs)
