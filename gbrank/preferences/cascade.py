"""Cascade: the chance that a document satisfies, from what was clicked and what was passed over."""

from gbrank.core import check_number, kernel
from gbrank.preferences._method import Numbers, aggregation
from gbrank.preferences._pairs import take_query


@kernel()
def _count_examined(chosen, tables, examined, scores):
    """Count the clicks and examinations of each document; return the totals of both."""
    observation_weight, shown_bounds, shown, clicked = tables[4:]
    examined[: len(scores)] = 0.0
    scores[:] = 0.0
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
            scores[shown[first + click]] += weight
            clicks += weight
    return clicks, examinations


@kernel()
def _scores(first, last, queries, tables, numbers, workspace, out):
    given, strength = numbers
    examined = workspace[3][0]
    for query in range(first, last):
        chosen, scores = take_query(query, queries, out)
        clicks, examinations = _count_examined(chosen, tables, examined, scores)
        prior = given
        if prior < 0.0:
            prior = clicks / examinations if examinations > 0.0 else 0.0
        for document in range(len(scores)):
            if examined[document] > 0.0:
                smoothed = scores[document] + strength * prior
                scores[document] = smoothed / (examined[document] + strength)
            else:
                scores[document] = prior


@aggregation(_scores, needs_lists=True)
def cascade(*, prior: float | None = None, strength: float = 0.0) -> Numbers:
    """Return the maximum likelihood probability of each document to satisfy a user of its query.

    A user reads a list from the top and clicks the first document that satisfies, which document i
    does with probability ``p_i`` whatever came before. A click at a position says that this
    document and those above it were examined, no click that all shown were. The probabilities that
    make the clicks most likely are::

        p_i = clicks on i / examinations of i

    both weighted. With ``strength`` > 0 every document is smoothed towards the prior,
    ``(clicks + strength * prior) / (examinations + strength)``, as if it had been examined that
    much more often.

    Parameters
    ----------
    prior : float from 0 to 1, default=None
        Probability of documents that were never examined; None for the clicks per examination of
        their query, 0 where it has none.
    strength : float >= 0, default=0.0
        How many examinations the prior is worth for every other document.

    References
    ----------
    Craswell, Zoeter, Taylor, Ramsey, An experimental comparison of click position-bias models, WSDM
    2008; Duchi, Mackey, Jordan, The asymptotics of ranking algorithms, Annals of Statistics 2013,
    section 5.2.

    Examples
    --------
    >>> from gbrank.preferences import Selections, cascade
    >>> seen = Selections(None, [[0, 1, 2], [1, 0, 2]], clicked=[1, 1])
    >>> cascade(seen, qid=["a", "a", "a"])  # 2 examined: 1 click each; the last one never: 2 of 4
    array([0.5, 0.5, 0.5])
    """
    if prior is not None:
        check_number("prior", prior, low=0.0, high=1.0, also="None")
    check_number("strength", strength, low=0.0)
    return -1.0 if prior is None else float(prior), float(strength)
