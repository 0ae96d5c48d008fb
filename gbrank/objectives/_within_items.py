r"""What the same items say about positions: the bias's derivatives, each item with its own level.

Where good documents stand at the top, a bias that is learned from all rows takes for position what
is relevance, as long as trees have not explained it. A document that was shown at two positions
is as relevant at both. Give each item ``j`` a level ``d_j`` of its own, with a prior that weighs as
much as a tenth of a row, and take Newton's step for levels and bias together, of

.. math:: \sum_i g_i (b_{k(i)} + d_{j(i)}) + \frac{h_i}{2} (b_{k(i)} + d_{j(i)})^2
    + \frac{p}{2} \sum_j d_j^2

With ``G_jk`` and ``H_jk`` the sums of ``g`` and ``h`` over rows of item ``j`` at position ``k``,
``G_j`` and ``H_j`` those over all its rows, and the levels solved for, what is left is, of the
bias,

.. math:: \text{gradient}_k = \sum_j G_{jk} - \frac{H_{jk} G_j}{H_j + p}, \qquad
    \text{hessian}_{kl} = \sum_j \delta_{kl} H_{jk} - \frac{H_{jk} H_{jl}}{H_j + p}

An item that was seen at one position alone counts next to nothing beside those that were seen at
several, but where there are no others it is what the bias is learned from.
"""

import numpy as np

from gbrank.core import Float32Array, FloatArray, IntArray, kernel

#: How many rows the prior on the level of an item weighs as much as.
_PRIOR = 0.1


@kernel()
def _within_block(bounds, places, prior, cell_gradient, cell_hessian, gradient, hessian):
    for j in range(len(bounds) - 1):
        a, b = bounds[j], bounds[j + 1]
        g, h = 0.0, prior
        for c in range(a, b):
            g += cell_gradient[c]
            h += cell_hessian[c]
        if h <= 0.0:
            continue
        for c in range(a, b):
            k, share = places[c], cell_hessian[c] / h
            gradient[k] += cell_gradient[c] - share * g
            hessian[k, k] += cell_hessian[c]
            for e in range(a, b):
                hessian[k, places[e]] -= share * cell_hessian[e]


class ItemsAtPositions:
    """Which rows are of the same item, and of the same item at the same position."""

    def __init__(self, items: IntArray, places: IntArray) -> None:
        self.n_places = int(places.max(initial=0)) + 1
        codes = np.unique(items, return_inverse=True)[1] * self.n_places + places
        cells, self.cell_of_row = np.unique(codes, return_inverse=True)
        self.places: IntArray = cells % self.n_places
        first = np.flatnonzero(np.diff(cells // self.n_places, prepend=-1))
        self.bounds: IntArray = np.append(first, len(cells))

    def derivatives(self, grad: Float32Array, hess: Float32Array) -> tuple[FloatArray, FloatArray]:
        """Return gradient and hessian of the bias, levels of items solved for.

        Parameters
        ----------
        grad, hess : of the rows.
        """
        cells = [np.bincount(self.cell_of_row, each, len(self.places)) for each in (grad, hess)]
        gradient, hessian = np.zeros(self.n_places), np.zeros((self.n_places, self.n_places))
        prior = _PRIOR * cells[1].sum() / max(len(hess), 1)
        _within_block(self.bounds, self.places, prior, *cells, gradient, hessian)
        return gradient, hessian
