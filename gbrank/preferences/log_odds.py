"""Log-odds: by how much a document beats another one on average."""

from gbrank.core import kernel, log
from gbrank.preferences._method import Numbers, aggregation
from gbrank.preferences._pairs import check_smoothing, count_pairs, take_query


@kernel()
def _scores(first, last, queries, tables, numbers, workspace, out):
    low, high = workspace[0][2], workspace[0][3]
    wins_low, wins_high = workspace[1][1], workspace[1][2]
    smoothing = numbers[0]
    for query in range(first, last):
        chosen, scores = take_query(query, queries, out)
        n_pairs = count_pairs(chosen, tables, len(scores), workspace)
        for pair in range(n_pairs):  # a loop of its own, which vectorises
            wins_low[pair] = log((wins_low[pair] + smoothing) / (wins_high[pair] + smoothing))
        scores[:] = 0.0
        for pair in range(n_pairs):
            scores[low[pair]] += wins_low[pair]
            scores[high[pair]] -= wins_low[pair]
        if len(scores) > 1:
            for document in range(len(scores)):
                scores[document] /= len(scores) - 1


@aggregation(_scores)
def log_odds(*, smoothing: float = 0.5) -> Numbers:
    """Return the mean smoothed log-odds of each document against all others of its query.

    With ``n_ij`` the weight of comparisons that i won against j, and c > 0 the smoothing::

        s_i = 1 / (m - 1) sum_{j != i} log((n_ij + c) / (n_ji + c))

    A pair that was never compared adds log(c / c) = 0, so that documents never seen have score 0,
    and disconnected groups of documents each lie around 0. Scores sum to 0. The smoothing is one of
    counts: added to joint frequencies instead it would drown them, as there are m (m - 1) of those.
    With Bradley-Terry comparisons spread over all pairs, s tends to ``m / (m - 1)`` times the
    centred utilities as their number grows.

    Parameters
    ----------
    smoothing : float > 0, default=0.5
        What is added to the wins of either side of a compared pair, in units of the weights.

    References
    ----------
    Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
    section 6.2.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons, log_odds
    >>> seen = Comparisons(None, winner=[0, 0, 1], loser=[1, 1, 2])
    >>> log_odds(seen, qid=["a", "a", "a"]).round(3)  # log(5) / 2, (log(3) - log(5)) / 2, ...
    array([ 0.805, -0.255, -0.549])
    """
    return check_smoothing(smoothing)
