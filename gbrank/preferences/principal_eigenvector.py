"""Principal eigenvector: scores whose ratios fit a matrix of smoothed odds."""

import numpy as np

from gbrank.core import kernel, log
from gbrank.preferences._method import Numbers, aggregation
from gbrank.preferences._pairs import check_smoothing, count_pairs, take_query

_MOST_STEPS = 5000


@kernel()
def _perron_vector(n_pairs, pairs, vector, product, n_documents):
    """Write the eigenvector of the largest eigenvalue; odds are given less 1."""
    low, high, odds_low, odds_high = pairs
    vector[:n_documents] = 1.0
    for _ in range(_MOST_STEPS):
        total = 0.0
        for document in range(n_documents):
            total += vector[document]
        product[:n_documents] = total  # the matrix is 1 everywhere, but for the pairs compared
        for pair in range(n_pairs):
            product[low[pair]] += odds_low[pair] * vector[high[pair]]
            product[high[pair]] += odds_high[pair] * vector[low[pair]]
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


@kernel()
def _scores(first, last, queries, tables, numbers, workspace, out):
    edge_ints, edge_floats, _, document_floats = workspace
    low, high = edge_ints[2], edge_ints[3]
    wins_low, wins_high = edge_floats[1], edge_floats[2]
    vector, smoothing = document_floats[0], numbers[0]
    for query in range(first, last):
        chosen, scores = take_query(query, queries, out)
        n_documents = len(scores)
        n_pairs = count_pairs(chosen, tables, n_documents, workspace)
        for pair in range(n_pairs):
            odds = (wins_low[pair] + smoothing) / (wins_high[pair] + smoothing)
            wins_low[pair], wins_high[pair] = odds - 1.0, 1.0 / odds - 1.0
        pairs = (low, high, wins_low, wins_high)
        _perron_vector(n_pairs, pairs, vector, document_floats[1], n_documents)
        mean = 0.0
        for document in range(n_documents):
            scores[document] = log(vector[document])
            mean += scores[document]
        for document in range(n_documents):
            scores[document] -= mean / n_documents


@aggregation(_scores, cost=100)
def principal_eigenvector(*, smoothing: float = 0.5) -> Numbers:
    """Return the centred logarithm of the principal eigenvector of the smoothed odds.

    With ``n_ij`` the weight of comparisons that i won against j and c > 0 the smoothing, the
    reciprocal matrix has ``A_ij = (n_ij + c) / (n_ji + c)``, 1 for pairs that were never compared
    and on the diagonal. Its eigenvector v of the largest eigenvalue is positive (Perron), and::

        s_i = log v_i - mean(log v)

    If ratios are consistent, ``A_ij = v_i / v_j``, then ``s_i - s_j = log A_ij``. Scores sum to 0.
    Pairs that were never compared count as equal: sparse comparisons shrink differences, and a
    document never seen is one that is equal to all. Where nothing was compared all scores are 0.

    Power iteration on ``A`` plus half its eigenvalue, which keeps circles from oscillating, until
    the bounds of Collatz and Wielandt on the eigenvalue agree to 1e-12, at most 5000 times; a step
    costs as much as there are pairs compared.

    Parameters
    ----------
    smoothing : float > 0, default=0.5
        What is added to the wins of either side of a compared pair, in units of the weights.

    References
    ----------
    Saaty, Decision-making with the AHP: why is the principal eigenvector necessary, European
    Journal of Operational Research 2003; Duchi, Mackey, Jordan, The asymptotics of ranking
    algorithms, Annals of Statistics 2013, section 5.1.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons, principal_eigenvector
    >>> seen = Comparisons(None, winner=[0, 0, 0], loser=[1, 1, 1])
    >>> principal_eigenvector(seen, qid=["a", "a"]).round(3)  # they differ by log(3.5 / 0.5)
    array([ 0.973, -0.973])
    """
    return check_smoothing(smoothing)
