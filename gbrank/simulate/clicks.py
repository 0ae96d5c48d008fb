"""Clicks of simulated users on simulated lists, where the labels say what is worth a click."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbrank.core import (
    BoolArray,
    FloatArray,
    IntArray,
    QueryLayout,
    RankingData,
    check_integer,
    check_number,
    check_random_state,
    check_scores,
    take_rows,
)
from gbrank.preferences import Selections
from gbrank.simulate._rows import labels_and_layout

#: Lists drawn at once hold about this many documents.
_BATCH = 2**20


class Clicks(NamedTuple):
    """Lists that were shown, and what was clicked; what both click models return.

    The impressions are queries of their own to a learner: ``X[rows]`` with labels ``clicks`` and
    query ids ``impressions``, which is what :meth:`to_data` returns. Rows of an impression are
    contiguous, in the order shown.

    Attributes
    ----------
    rows : int64 array, the row of the document shown.
    clicks : int8 array, 1 if it was clicked.
    impressions : int64 array, the number of the impression: impression ``i`` of query ``q`` (in the
        order of first rows) has number ``q * impressions + i``.
    """

    rows: IntArray
    clicks: NDArray[np.int8]
    impressions: IntArray

    def to_data(self, X: Any) -> RankingData:
        """Return the lists as data: a query per impression, clicks as labels, places as positions.

        Parameters
        ----------
        X : RankingData, or array, sparse matrix or data frame of shape (n_rows, n_features)
            What was clicked on: the features of the rows that the simulator was given.

        Examples
        --------
        >>> from gbrank.data import make_ranking
        >>> from gbrank.simulate import cascade_clicks
        >>> data = make_ranking(n_queries=10, list_length=5)
        >>> cascade_clicks(data, impressions=3, keep_unclicked=True).to_data(data).n_queries
        30
        """
        features = X.X if isinstance(X, RankingData) else X
        starts = np.flatnonzero(np.diff(self.impressions, prepend=-1))
        lengths = np.diff(starts, append=len(self.rows))
        return RankingData(
            take_rows(features, self.rows),
            self.clicks,
            self.impressions,
            position=np.arange(len(self.rows)) - np.repeat(starts, lengths),
        )


def cascade_clicks(
    labels: RankingData | ArrayLike,
    qid: Any = None,
    click_probability: ArrayLike = (0.05, 0.3, 0.5, 0.7, 0.95),
    impressions: int = 10,
    *,
    scores: ArrayLike | None = None,
    keep_unclicked: bool = False,
    random_state: int | np.random.Generator | None = 0,
) -> Clicks:
    """Click as the cascade model does: scan from the top, stop at the first click.

    For each impression the documents of a query are put in order; the user clicks each with the
    probability of its label until the first click. The list up to and including the click is kept.
    So the document at rank ``k`` is the one clicked with probability
    ``p_k (1 - p_1) ... (1 - p_{k-1})``.

    With one seed the lists and the users are the same for all probabilities: whoever clicks with a
    small probability clicks with a larger one too.

    Parameters
    ----------
    labels : RankingData or array of shape (n_rows,)
        Labels, integers >= 0; or data that have labels and queries.
    qid : array of shape (n_rows,), default=None
        Query id of each row, of any type and in any order; only with an array of labels.
    click_probability : array of shape (n_grades,)
        Probability of a click for labels 0, 1, ...
    impressions : int, default=10
        Lists shown per query.
    scores : array of shape (n_rows,), default=None
        The order in which documents are shown, largest first, equal ones in random order; ``None``
        for a random order in each impression.
    keep_unclicked : bool, default=False
        Whether to keep impressions without a click, which show the whole list.
    random_state : int, Generator or None, default=0
        Seed, generator, or ``None`` for other numbers every time (in a Ranker it stands for 0).

    Returns
    -------
    Clicks
        ``rows, clicks, impressions``.

    References
    ----------
    N. Craswell, O. Zoeter, M. Taylor and B. Ramsey (2008). An experimental comparison of click
    position-bias models. S. Bruch (2021). An alternative cross entropy loss for learning-to-rank.
    Section 5.5.

    Examples
    --------
    >>> from gbrank.simulate import cascade_clicks
    >>> rows, clicks, ids = cascade_clicks([0, 2, 1], ["a", "a", "a"], [0, 0, 1], impressions=2)
    >>> clicks[rows == 1], clicks[rows != 1].any()  # only label 2 is ever clicked
    (array([1, 1], dtype=int8), np.False_)
    """
    layout, chances, ranking = _checked(labels, qid, click_probability, impressions, scores)

    def clicked(shown: IntArray, draws: FloatArray) -> tuple[BoolArray, BoolArray]:
        clicks = draws < chances[shown]
        counts = np.cumsum(clicks, axis=1)
        starts = np.repeat(layout.bounds[:-1], layout.sizes)
        before = np.where(starts > 0, counts[:, np.maximum(starts, 1) - 1], 0)
        seen: BoolArray = counts - clicks == before  # nothing clicked above, in the same list
        return clicks & seen, seen

    generator = check_random_state(random_state)
    return _simulate(layout, ranking, impressions, keep_unclicked, generator, clicked)


def position_based_clicks(
    labels: RankingData | ArrayLike,
    qid: Any = None,
    click_probability: ArrayLike = (0.05, 0.3, 0.5, 0.7, 0.95),
    impressions: int = 10,
    *,
    examination: float | ArrayLike = 1.0,
    scores: ArrayLike | None = None,
    keep_unclicked: bool = False,
    random_state: int | np.random.Generator | None = 0,
) -> Clicks:
    """Click as the position-based model does: rank and label decide, independently.

    The document at rank ``k`` is looked at with probability ``examination_k`` and then clicked with
    the probability of its label, whatever happens at other ranks. An impression is the whole list
    and may have several clicks.

    Parameters
    ----------
    labels, qid, impressions, scores, keep_unclicked, random_state : as in :func:`cascade_clicks`.
    click_probability : array of shape (n_grades,)
        Probability that a document of label 0, 1, ... is clicked if looked at.
    examination : float or array, default=1.0
        Probabilities for rank 1, 2, ..., and 0 for the ranks beyond; or a number ``eta >= 0``,
        which stands for ``rank ** -eta``.

    Returns
    -------
    Clicks
        ``rows, clicks, impressions``.

    References
    ----------
    N. Craswell, O. Zoeter, M. Taylor and B. Ramsey (2008). An experimental comparison of click
    position-bias models. T. Joachims, A. Swaminathan and T. Schnabel (2017). Unbiased
    learning-to-rank with biased feedback.

    Examples
    --------
    >>> from gbrank.simulate import position_based_clicks
    >>> shown = position_based_clicks(
    ...     [1, 1, 1], ["a", "a", "a"], [0, 1], 1, examination=[1, 0, 1], scores=[3, 2, 1]
    ... )
    >>> shown.rows, shown.clicks
    (array([0, 1, 2]), array([1, 0, 1], dtype=int8))
    """
    layout, chances, ranking = _checked(labels, qid, click_probability, impressions, scores)
    ranks = np.arange(layout.n_rows) - np.repeat(layout.bounds[:-1], layout.sizes)
    looked_at = _examination(examination, int(layout.sizes.max(initial=0)))[ranks]

    def clicked(shown: IntArray, draws: FloatArray) -> tuple[BoolArray, BoolArray]:
        return draws < looked_at * chances[shown], np.ones(shown.shape, dtype=bool)

    generator = check_random_state(random_state)
    return _simulate(layout, ranking, impressions, keep_unclicked, generator, clicked)


def as_selections(clicks: Clicks) -> Selections:
    """Return clicks as the observations that :mod:`gbrank.preferences` works with.

    An impression with one click, or none, is one selection; one with several clicks is a selection
    for each. Items are the row numbers that the click model returned.

    Parameters
    ----------
    clicks : Clicks
        What :func:`cascade_clicks` or :func:`position_based_clicks` returned.

    Returns
    -------
    gbrank.preferences.Selections
        One observation for each click, and one for each list without.

    Examples
    --------
    >>> from gbrank.simulate import as_selections, cascade_clicks
    >>> clicks = cascade_clicks([0, 2, 1, 0], ["a", "a", "b", "b"], [0, 1, 1], impressions=3)
    >>> len(as_selections(clicks))
    6
    """
    rows, clicked, impressions = clicks
    starts = np.flatnonzero(np.diff(impressions, prepend=-1))
    lengths = np.diff(starts, append=len(rows))
    per_list = np.diff(np.concatenate(([0], np.cumsum(clicked)))[np.append(starts, len(rows))])
    repeats = np.maximum(per_list, 1)
    lists = np.repeat(np.arange(len(starts)), repeats)
    positions = np.full(len(lists), -1, dtype=np.int64)
    positions[per_list[lists] > 0] = np.flatnonzero(clicked) - np.repeat(starts, per_list)
    sizes = lengths[lists]
    places = np.arange(sizes.sum()) + np.repeat(starts[lists] - (np.cumsum(sizes) - sizes), sizes)
    return Selections(None, rows[places], positions, lengths=sizes)


def _checked(
    labels: RankingData | ArrayLike,
    qid: Any,
    click_probability: ArrayLike,
    impressions: int,
    scores: Any,
) -> tuple[QueryLayout, FloatArray, FloatArray | None]:
    """Return the layout, and per row in query order the chance of a click and the score."""
    grades, layout = labels_and_layout(labels, qid)
    chances = _probabilities(click_probability, "click_probability")
    check_integer("impressions", impressions, low=1)
    wrong = (grades != np.floor(grades)) | (grades >= len(chances))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"labels must be integers below {len(chances)}, the number of entries of "
            f"click_probability, but {layout.describe_row(row)} has {grades[row]:g}"
        )
    ranking = None if scores is None else layout.sort(check_scores(scores, layout))
    return layout, chances[layout.sort(grades).astype(np.int64)], ranking


def _probabilities(values: ArrayLike, name: str) -> FloatArray:
    found = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if found.ndim != 1 or len(found) == 0:
        raise ValueError(f"{name} must be one row of numbers, got shape {found.shape}")
    wrong = ~((found >= 0) & (found <= 1))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"{name} must be from 0 to 1, but {name}[{at}] is {found[at]:g}")
    return found


def _examination(examination: float | ArrayLike, longest: int) -> FloatArray:
    if np.ndim(examination) == 0:
        check_number("examination", examination, low=0.0, also="an array of probabilities")
        curve: FloatArray = np.arange(1.0, longest + 1.0) ** -float(examination)  # type: ignore[arg-type]
        return curve
    given = _probabilities(examination, "examination")[:longest]
    return np.concatenate((given, np.zeros(longest - len(given))))


def _simulate(
    layout: QueryLayout,
    ranking: FloatArray | None,
    impressions: int,
    keep_unclicked: bool,
    generator: np.random.Generator,
    clicked: Callable[[IntArray, FloatArray], tuple[BoolArray, BoolArray]],
) -> Clicks:
    """Show every query's list ``impressions`` times; put the impressions of a query together."""
    query = np.repeat(np.arange(layout.n_queries), layout.sizes)
    places, clicks, numbers = [], [], []
    for first, shown, draws in _lists(query, ranking, impressions, generator):
        hit, seen = clicked(shown, draws)
        if not keep_unclicked:
            sums = np.zeros((len(hit), layout.n_rows + 1), dtype=np.int64)
            np.cumsum(hit, axis=1, out=sums[:, 1:])
            any_click = np.diff(sums[:, layout.bounds], axis=1) > 0
            seen = seen & np.repeat(any_click, layout.sizes, axis=1)
        number = query * impressions + np.arange(first, first + len(hit))[:, None]
        places.append(shown[seen])
        clicks.append(hit[seen])
        numbers.append(number[seen])
    ids = np.concatenate(numbers)
    by_query = np.argsort(ids, kind="stable")
    rows = np.concatenate(places)[by_query]
    return Clicks(
        rows if layout.order is None else layout.order[rows],
        np.concatenate(clicks)[by_query].astype(np.int8),
        ids[by_query],
    )


def _lists(
    query: IntArray, ranking: FloatArray | None, impressions: int, generator: np.random.Generator
) -> Iterator[tuple[int, IntArray, FloatArray]]:
    """Yield, for some impressions at a time, the rows in the order shown and the users' draws.

    A draw in [0, 1) goes with the document, not with the rank: it comes before the order.
    """
    n_rows = len(query)
    batch = max(1, _BATCH // max(n_rows, 1))
    for first in range(0, impressions, batch):
        size = min(batch, impressions - first)
        draws = generator.random((size, n_rows))
        lots = generator.random((size, n_rows))
        if ranking is None:
            shown = np.argsort(query + lots, axis=1)
        else:
            shown = np.array([np.lexsort((row, -ranking, query)) for row in lots])
            shown = shown.reshape(size, n_rows)
        yield first, shown, np.take_along_axis(draws, shown, axis=1)
