"""The top-k map: labels below the k-th largest of their query count as zero.

With ``t`` the k-th largest label of a query::

    psi_i = r_i  where r_i >= t,  else 0

so that all documents tied at ``t`` stay. Lists of at most k documents, and lists whose k-th label
is 0, are left as they are. A listwise loss on ``psi`` instead of ``r`` tells apart only what
belongs in the first k places, which makes it top-k order sensitive.

Reference: Xia, Liu, Li, Statistical consistency of top-k ranking, NIPS 2009, section 4.3.
"""

import numpy as np

from gbrank.core import FloatArray, IntArray, kernel


def keep_top(values: FloatArray, bounds: IntArray, k: int | None) -> FloatArray:
    """Return the values (>= 0) of every query, with those below its k-th largest set to 0.

    ``k=None`` keeps all.

    >>> import numpy as np
    >>> from gbrank.objectives._topk import keep_top
    >>> keep_top(np.array([1.0, 3.0, 2.0, 2.0, 1.0, 4.0]), np.array([0, 4, 6]), k=2)
    array([0., 3., 2., 2., 1., 4.])
    """
    kept = values.copy()
    if k is not None:
        _drop_below(kept, bounds, k)
    return kept


@kernel(frozenset())
def _drop_below(values, bounds, k):
    for q in range(len(bounds) - 1):
        start, stop = bounds[q], bounds[q + 1]
        if k >= stop - start:
            continue
        threshold = np.sort(values[start:stop])[stop - start - k]
        for i in range(start, stop):
            if values[i] < threshold:
                values[i] = 0.0
