"""Cascade: the chance that a document satisfies, from what was clicked and what was passed over.

A user reads a list from the top and clicks the first document that satisfies, which document i does
with probability ``p_i`` whatever came before. A click at a position says that this document and
those above it were examined, no click that all shown were. The probabilities that make the clicks
most likely are::

    p_i = clicks on i / examinations of i

both weighted. Documents that were never examined get the ``prior``: by default the clicks per
examination of the whole query, 0 where it has none. With ``strength`` > 0 every document is
smoothed towards it, ``(clicks + strength * prior) / (examinations + strength)``, as if it had been
examined that much more often.

References: Craswell, Zoeter, Taylor, Ramsey, An experimental comparison of click position-bias
models, WSDM 2008; Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of
Statistics 2013, section 5.2.
"""

from typing import Any

from gbrank.core import FloatArray, QueryLayout, check_number, kernel
from gbrank.preferences.base import Observations
from gbrank.preferences.binding import BoundObservations
from gbrank.preferences.methods._method import Method, Numbers


@kernel()
def scores_of_query(chosen, tables, numbers, workspace, out):
    """Write the scores of one query from its chosen observations."""
    observation_weight, shown_bounds, shown, clicked = tables[4:]
    prior, strength = numbers
    examined = workspace[3][0]
    examined[: len(out)] = 0.0
    out[:] = 0.0
    clicks = examinations = 0.0
    for observation in chosen:
        weight = observation_weight[observation]
        first = shown_bounds[observation]
        click = clicked[observation]
        last = shown_bounds[observation + 1] if click < 0 else first + click + 1
        for at in range(first, last):
            examined[shown[at]] += weight
            examinations += weight
        if click >= 0:
            out[shown[first + click]] += weight
            clicks += weight
    if prior < 0.0:
        prior = clicks / examinations if examinations > 0.0 else 0.0
    for document in range(len(out)):
        if examined[document] > 0.0:
            smoothed = out[document] + strength * prior
            out[document] = smoothed / (examined[document] + strength)
        else:
            out[document] = prior


@kernel()
def scores_of_queries(first, last, bounds, chosen_bounds, chosen, tables, numbers, workspace, out):
    """Write the scores of queries ``first`` to ``last``."""
    for query in range(first, last):
        drawn = chosen[chosen_bounds[query] : chosen_bounds[query + 1]]
        scores = out[bounds[query] : bounds[query + 1]]
        scores_of_query(drawn, tables, numbers, workspace, scores)


def _read_parameters(*, prior: float | None = None, strength: float = 0.0) -> Numbers:
    if prior is not None:
        check_number("prior", prior, low=0.0, high=1.0, also="None")
    check_number("strength", strength, low=0.0)
    return -1.0 if prior is None else float(prior), float(strength)


METHOD = Method("cascade", scores_of_queries, _read_parameters, needs_lists=True, cost=4)


def cascade(
    observations: Observations | BoundObservations,
    layout: QueryLayout | None = None,
    *,
    prior: float | None = None,
    strength: float = 0.0,
    qid: Any = None,
    keys: Any = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return the maximum likelihood probability of each document to satisfy a user of its query.

    Parameters
    ----------
    observations : Selections.
    layout : the queries of the rows; may be left out where ``qid`` is given.
    prior : float from 0 to 1, default=None
        Probability of documents that were never examined; None for the clicks per examination of
        their query.
    strength : float >= 0, default=0.0
        How many examinations the prior is worth for every other document.
    qid : query id of each row, default=None.
    keys : key of each row, for ``items="key"``, default=None.
    n_jobs : number of threads, default=None
        See :func:`gbrank.core.threads.resolve_n_jobs`; scores do not depend on it.

    Returns
    -------
    float64 array, one score per row in the user's order.

    Examples
    --------
    >>> from gbrank.preferences import Selections, cascade
    >>> seen = Selections(None, [[0, 1, 2], [1, 0, 2]], clicked=[1, 1])
    >>> cascade(seen, qid=["a", "a", "a"])  # 2 examined: 1 click each; the last one never: 2 of 4
    array([0.5, 0.5, 0.5])
    """
    return METHOD.scores(observations, layout, qid, keys, n_jobs, prior=prior, strength=strength)
