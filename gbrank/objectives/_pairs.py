"""Logistic terms of the pairs of a query: one document against a run of others at a time.

For a pair (i, j) in which i should win with weight ``v`` and j with weight ``w``::

    v log(1 + e^-(s_i - s_j)) + w log(1 + e^(s_i - s_j))

With ``x = e^s`` the chance that j beats i is ``p = x_j / (x_i + x_j)``, so a pair costs one
division and no exponential::

    g_i = w (1 - p) - v p = (w x_i - v x_j) / (x_i + x_j),    g_j = -g_i
    h_i = h_j = v p max(1 - p, 1/5) + w (1 - p) max(p, 1/5)

The exact second derivative is ``(v + w) p (1 - p)``: of a pair whose wrong document is far ahead it
is nearly 0, and a leaf with that pair would go as far as ``1 / (1 - p)``. With the bound, which
counts for documents that are wrong by more than log 4, the step of every leaf lies in [-5, 5], and
no tree raises the loss up to a learning rate of 0.1 (proof in docs/theory/pairwise.md).

Only ratios of ``x`` count: it is taken about the middle of the scores of a query. Where scores lie
too far apart for that, every document gets ``x`` again, relative to its own score.
"""

from gbrank.core import exp, extremes, kernel
from gbrank.objectives._kernels import PADDING, middle_of

#: What the chance of the right outcome counts at least in the hessian.
LEAST_REST = 0.2
# e^s about the middle of scores no farther apart than this has finite sums and products
_WIDEST = 600.0


@kernel(part=True)
def _meet(x, weight, xs, weights, force_sums, hessian_sums):
    """Let one document meet a run of others: add up theirs, return the sums of the one."""
    force, hessian = 0.0, 0.0
    for j in range(len(xs)):
        inverse = 1.0 / (x + xs[j])
        wins, loses = x * inverse, xs[j] * inverse
        g = weights[j] * wins - weight * loses
        h = weight * loses * max(wins, LEAST_REST) + weights[j] * wins * max(loses, LEAST_REST)
        force_sums[j] -= g
        hessian_sums[j] += h
        force += g
        hessian += h
    return force, hessian


@kernel(wide=False)
def logistic_pairs(scores, weights, lower_weights, starts, n_meeting, xs, force_sums, hessian_sums):
    """Write gradient and hessian of a query into ``force_sums`` and ``hessian_sums``.

    Document ``i < n_meeting`` meets all documents from place ``starts[i] > i`` on. It should win
    with ``weights[i]``, document j of them with ``lower_weights[j]``.

    All rows but ``starts`` are at least :data:`PADDING` longer than the list: loops run up to a
    multiple of that, over documents without weight.
    """
    m = len(starts)
    lowest, highest = extremes(scores[:m])
    wide = not (highest - lowest <= _WIDEST)
    middle = middle_of(lowest, highest)
    for i in range(m):
        xs[i] = exp(scores[i] - middle)
    xs[m : m + PADDING] = 0.0
    lower_weights[m : m + PADDING] = 0.0
    force_sums[: m + PADDING] = 0.0
    hessian_sums[: m + PADDING] = 0.0
    for i in range(n_meeting):
        start = starts[i]
        stop = start - (start - m) // PADDING * PADDING
        x = xs[i]
        if wide:
            x = 1.0
            for j in range(start, m):
                xs[j] = exp(scores[j] - scores[i])
        force, hessian = _meet(
            x,
            weights[i],
            xs[start:stop],
            lower_weights[start:stop],
            force_sums[start:stop],
            hessian_sums[start:stop],
        )
        force_sums[i] += force
        hessian_sums[i] += hessian
