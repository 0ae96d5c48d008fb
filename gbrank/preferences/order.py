"""How many observations to aggregate at a time: a rule for the order k of the U-statistic."""

from gbrank.core import check_integer, check_number


def aggregation_order(n: int, *, complexity: float = 1.0, rate: float = 0.5) -> int:
    """Return how many observations of a query to aggregate for one draw of its labels.

    With k observations at a time the loss is off by at most a multiple of ``k^-rate``, because the
    aggregate is not yet that of all (condition I), and by ``k sqrt(complexity / n)`` by chance
    (condition II), up to constants. Both vanish if k grows, but more slowly than sqrt(n)
    (theorem 4); their sum is least near::

        k = (rate sqrt(n / complexity))^(1 / (1 + rate))

    which is returned, at least 1. The second term is a worst case: where the aggregate hardly
    depends on a single observation chance grows far less with k, and more observations do no harm.

    Parameters
    ----------
    n : int
        Number of observations of all queries together.
    complexity : float > 0, default=1.0
        Logarithm of the covering number of the scoring functions; for a linear model about its
        number of features.
    rate : float > 0, default=0.5
        How fast the expected loss of k aggregated observations comes near that of all; 1/2 or more
        where loss and aggregation are continuous.

    References
    ----------
    Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
    section 4, conditions I and II, theorem 4.

    Examples
    --------
    >>> from gbrank.preferences import aggregation_order
    >>> [aggregation_order(n) for n in (100, 10_000, 1_000_000)]
    [3, 14, 63]
    """
    check_integer("n", n, low=1)
    check_number("complexity", complexity, low=0.0, low_open=True)
    check_number("rate", rate, low=0.0, low_open=True)
    best = (rate * (n / complexity) ** 0.5) ** (1.0 / (1.0 + rate))
    return max(1, round(float(best)))
