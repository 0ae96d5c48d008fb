"""Bradley-Terry: the scores under which the comparisons are most likely."""

from gbrank.core import check_number, exp, kernel
from gbrank.preferences._laplacian import solve
from gbrank.preferences._method import Numbers, aggregation
from gbrank.preferences._pairs import (
    centre_components,
    count_pairs,
    label_components,
    take_query,
)

_MOST_STEPS = 100
_MOST_HALVINGS = 40


@kernel()
def _descend(scores, pairs, n_pairs, penalty, gradient):
    """Write the negative gradient and the hessian of each pair; return the largest entry."""
    low, high, wins_low, wins_high, hessian, pull = pairs
    for document in range(len(scores)):
        gradient[document] = -penalty * scores[document]
    for pair in range(n_pairs):
        pull[pair] = scores[low[pair]] - scores[high[pair]]
    for pair in range(n_pairs):  # a loop of its own, which vectorises
        # the smaller of both chances is exact however small it is, which 1 - chance would not be
        ratio = exp(-abs(pull[pair]))
        larger, smaller = 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
        ahead = pull[pair] > 0.0
        hessian[pair] = (wins_low[pair] + wins_high[pair]) * smaller * larger
        lost, won = (smaller, larger) if ahead else (larger, smaller)
        pull[pair] = wins_low[pair] * lost - wins_high[pair] * won
    for pair in range(n_pairs):
        gradient[low[pair]] += pull[pair]
        gradient[high[pair]] -= pull[pair]
    largest = 0.0
    for document in range(len(scores)):
        largest = max(largest, abs(gradient[document]))
    return largest


@kernel()
def _dot(a, b):
    total = 0.0
    for document in range(len(b)):
        total += a[document] * b[document]
    return total


@kernel()
def _fit_query(chosen, tables, penalty, workspace, out):
    """Write the scores of one query from its chosen observations."""
    edge_ints, edge_floats, document_ints, document_floats = workspace
    n_documents = len(out)
    n_pairs = count_pairs(chosen, tables, n_documents, workspace)
    low, high, hessian = edge_ints[2], edge_ints[3], edge_floats[3]
    pairs = (low, high, edge_floats[1], edge_floats[2], hessian, edge_floats[0])
    scratch, gradient = document_floats[:4], document_floats[4]
    step, trial = document_floats[5][:n_documents], document_floats[6][:n_documents]
    out[:] = 0.0
    pull = first_pull = _descend(out, pairs, n_pairs, penalty, gradient)
    for _ in range(_MOST_STEPS):
        if pull == 0.0:
            break
        # far from the minimum a rough step does; near it the error of a step is that of solving
        rough = max(min(0.1, pull / first_pull), 1e-12)
        solve(low, high, hessian, n_pairs, penalty, gradient, n_documents, rough, scratch, step)
        slope = _dot(gradient, step)
        farthest = 0.0
        for document in range(n_documents):
            farthest = max(farthest, abs(step[document]))
        length = 1.0
        for _ in range(_MOST_HALVINGS):
            for document in range(n_documents):
                trial[document] = out[document] + length * step[document]
            pull = _descend(trial, pairs, n_pairs, penalty, gradient)
            # Too far if the way back is half as steep as the way was. Differences of the loss would
            # drown in its rounding; those of slopes do not.
            if farthest <= 1e-4 or _dot(gradient, step) >= -0.5 * slope:
                break
            length *= 0.5
        out[:] = trial
        if farthest * max(farthest, rough) <= 1e-13:  # what is left of the error
            break
    # the gradient sums to 0 over each component, so the minimum does; rounding need not
    label_components(low, high, n_pairs, n_documents, document_ints[0])
    centre_components(out, document_ints[0], n_documents, scratch[0], scratch[1])


@kernel()
def _scores(first, last, queries, tables, numbers, workspace, out):
    for query in range(first, last):
        chosen, scores = take_query(query, queries, out)
        _fit_query(chosen, tables, numbers[0], workspace, scores)


@aggregation(_scores, cost=200)
def bradley_terry(*, penalty: float = 0.1) -> Numbers:
    """Return the penalised maximum likelihood scores of the Bradley-Terry model.

    The model says that i wins against j with probability ``sigmoid(s_i - s_j)``. With ``n_ij`` the
    weight of comparisons that i won against j, the scores minimise::

        sum_{i, j} n_ij log(1 + exp(-(s_i - s_j))) + penalty / 2 sum_i s_i^2

    Maximum likelihood alone (``penalty`` towards 0) has no finite solution as soon as some group of
    documents never lost to the others, and none that is unique where the comparisons fall into
    several connected groups. The penalty, a normal prior of variance ``1 / penalty`` on each score,
    makes the solution finite and unique in every case: each connected group has mean 0, a document
    never seen has score 0. Edges of one observation count as independent comparisons.

    Newton's method; each step solves a Laplacian system by conjugate gradients, so that the cost is
    that of the pairs compared. Scores are exact to about 1e-8 as long as the penalty is above 1e-11
    times the largest weight of a pair; below that digits are lost to rounding.

    Parameters
    ----------
    penalty : float > 0, default=0.1
        Strength of the prior: the inverse of its variance. Against a hundred comparisons of a
        document the default is barely felt; it decides where there are one or two.

    References
    ----------
    Bradley, Terry, Rank analysis of incomplete block designs, Biometrika 1952; Hunter, MM
    algorithms for generalized Bradley-Terry models, Annals of Statistics 2004.

    Examples
    --------
    >>> from gbrank.preferences import Comparisons, bradley_terry
    >>> seen = Comparisons(None, winner=[0, 0, 0, 1], loser=[1, 1, 1, 0])
    >>> bradley_terry(seen, qid=["a", "a"], penalty=1e-6).round(3)  # they differ by log(3 / 1)
    array([ 0.549, -0.549])
    """
    check_number("penalty", penalty, low=0.0, low_open=True)
    return float(penalty), 0.0
