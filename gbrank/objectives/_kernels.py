"""What kernels of several losses share."""

import numpy as np

from gbrank.core import EXACT_MATH, kernel

#: Scratch rows are this much longer than the longest list, so that a kernel may run its loops up to
#: a multiple of this: such a loop has no scalar remainder, which for short lists is half the time.
PADDING = 32
#: float32 numbers that a core and its cache take at once.
ROWS_IN_A_LINE = 16


@kernel(EXACT_MATH)
def middle_of(lowest, highest):
    """Return the mean of two numbers: as one half of their sum, it would overflow beyond 9e307."""
    return 0.5 * lowest + 0.5 * highest


@kernel()
def zero_step(grad, hess):
    """Leave a query out: zero gradient and hessian."""
    for i in range(len(grad)):
        grad[i] = np.float32(0.0)
        hess[i] = np.float32(0.0)


@kernel(part=True)
def claim(grad, hess, first, last):
    """Touch rows that are written soon.

    LightGBM has read them since the step before, on other cores too where it has several threads:
    it takes a while until they are this core's alone again, in which it can do other work.
    """
    for row in range(first, last, ROWS_IN_A_LINE):
        grad[row] = np.float32(0.0)
        hess[row] = np.float32(0.0)
