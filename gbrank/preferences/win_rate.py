"""Win rate: the chance to win against an opponent drawn at random."""

from gbrank.core import kernel
from gbrank.preferences._method import Numbers, aggregation
from gbrank.preferences._pairs import count_pairs, take_query


@kernel()
def _scores(first, last, queries, tables, numbers, workspace, out):
    low, high = workspace[0][2], workspace[0][3]
    wins_low, wins_high = workspace[1][1], workspace[1][2]
    for query in range(first, last):
        chosen, scores = take_query(query, queries, out)
        n_pairs = count_pairs(chosen, tables, len(scores), workspace)
        scores[:] = 0.0
        for pair in range(n_pairs):
            surplus = wins_low[pair] / (wins_low[pair] + wins_high[pair]) - 0.5
            scores[low[pair]] += surplus
            scores[high[pair]] -= surplus
        for document in range(len(scores)):
            scores[document] = 0.5 + scores[document] / max(len(scores) - 1, 1)


@aggregation(_scores)
def win_rate() -> Numbers:
    """Return the mean share of wins of each document over all others of its query.

    With ``n_ij`` the weight of comparisons that i won against j::

        s_i = 1 / (m - 1) sum_{j != i} n_ij / (n_ij + n_ji)

    where a pair that was never compared counts 1/2. Each opponent counts the same, however often it
    was met. A document never seen has 1/2, as has the only document of a query.

    References
    ----------
    Ammar, Shah, Ranking: compare, don't score, Allerton 2011; Duchi, Mackey, Jordan, The
    asymptotics of ranking algorithms, Annals of Statistics 2013, section 5.1.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons, win_rate
    >>> seen = Comparisons(None, winner=[0, 0, 1, 1], loser=[1, 1, 2, 0])
    >>> win_rate(seen, qid=["a", "a", "a"]).round(3)  # (2/3 + 1/2) / 2, (1/3 + 1) / 2, ...
    array([0.583, 0.667, 0.25 ])
    """
    return 0.0, 0.0
