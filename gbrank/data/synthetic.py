r"""Queries whose best order is known.

A document has independent normal traits :math:`z_1, \dots, z_p`, and each trait has an effect
:math:`h_j`, also exactly standard normal. Its utility is

.. math:: u = \sum_j w_j h_j + b_q, \qquad w_j \propto j^{-1/2}, \quad \sum_j w_j^2 = 1,

where :math:`b_q`, normal too, is common to all documents of a query. Its label is the number of
thresholds that :math:`u + \sigma \varepsilon` passes, so that with :math:`\Phi` the normal
distribution function

.. math:: P(r = g \mid u) = \Phi((t_{g+1} - u)/\sigma) - \Phi((t_g - u)/\sigma).

**Why the order of utilities is the Bayes order.** The normal density is log-concave, hence
:math:`P(r = a \mid u) / P(r = b \mid u)` grows with :math:`u` for :math:`a > b`. Take two documents
with :math:`u_i > u_j`, fix the labels of all the others, and fix which two labels :math:`a > b`
these two have, but not who has which: the ideal DCG is fixed too, and :math:`r_i = a, r_j = b` is
the likelier case. So :math:`E[G(r_i)/Z] \ge E[G(r_j)/Z]`, and sorting by utility maximises expected
NDCG (Ravikumar, Tewari and Yang, 2011, "On NDCG consistency of listwise ranking methods", lemma 4),
whatever the gain, the discount and the cut-off.

**Why that order can be learned.** Each column of ``X`` is a one-to-one image of a trait, or a trait
plus something common to its query whose effect is linear: a function of ``X`` alone equals the
utility up to a constant per query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from gbrank.core import (
    FloatArray,
    IntArray,
    RankingData,
    check_integer,
    check_number,
    check_probabilities,
    check_random_state,
)

#: Rows per query: one number, a range (both ends included), "lognormal", or a function of the
#: generator and the number of queries.
ListLength = int | tuple[int, int] | str | Callable[[np.random.Generator, int], ArrayLike]

#: What the columns are, in turn; ``_informative_column`` says what each name means.
INFORMATIVE_KINDS = ("shifted", "skewed", "middle", "gated", "squashed")
UNINFORMATIVE_KINDS = ("noise", "query", "shifted_noise")

_FOR_ALL_ROWS = {"by_row": False}

#: "gated" works the other way round in the quarter of documents where its gate is below this.
_LOWER_QUARTILE = float(ndtri(0.25))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SyntheticData(RankingData):
    """Rows of many queries, with the truth about them; unpacks as ``X, y, qid``.

    Rows of a query are contiguous, in no particular order.

    Attributes
    ----------
    X : float32 array of shape (n_rows, n_features).
    y : int64 array, the label of each row.
    qid : int64 array, the query of each row.
    utility : float64 array; sorting a query by it, largest first, is its Bayes order.
    thresholds : float64 array of grades - 1 utilities: where the next label begins.
    label_noise : float, standard deviation of the noise between utility and label.
    feature_names : tuple of str, the kind and number of each column.

    Examples
    --------
    >>> from gbrank.data import make_ranking
    >>> data = make_ranking(n_queries=10, list_length=5)
    >>> data
    SyntheticData(n_rows=50, n_queries=10, n_features=20)
    >>> X, y, qid = data
    >>> train, test = data.split(0.8)
    >>> train.n_queries, test.n_queries
    (8, 2)
    """

    utility: FloatArray
    thresholds: FloatArray = field(metadata=_FOR_ALL_ROWS)
    label_noise: float = field(metadata=_FOR_ALL_ROWS)
    feature_names: tuple[str, ...] = field(metadata=_FOR_ALL_ROWS)

    @property
    def label_probabilities(self) -> FloatArray:
        """P(label | document), exactly: one row per document, one column per grade.

        >>> from gbrank.data import make_ranking
        >>> data = make_ranking(n_queries=2, list_length=3)
        >>> data.label_probabilities.shape
        (6, 5)
        """
        below = np.ones((self.n_rows, len(self.thresholds) + 2))
        below[:, 0] = 0.0
        distance = self.thresholds - self.utility[:, None]
        if self.label_noise == 0:
            below[:, 1:-1] = distance > 0
        else:
            below[:, 1:-1] = ndtr(distance / self.label_noise)
        return np.diff(below, axis=1)


def make_ranking(
    n_queries: int = 1000,
    *,
    list_length: ListLength = (10, 60),
    n_features: int = 20,
    n_informative: int = 10,
    grades: int | Sequence[float] = 5,
    label_noise: float = 0.5,
    query_shift: float = 2.0,
    query_effect: float = 0.5,
    random_state: int | np.random.Generator | None = 0,
) -> SyntheticData:
    r"""Make synthetic queries with graded labels and a known Bayes order.

    The truth is fixed by the parameters, not drawn: two calls that differ only in ``n_queries``,
    ``list_length`` and ``random_state`` sample the same population, so one may serve to train and
    the other to test. The module's documentation has the model and the proof.

    Parameters
    ----------
    n_queries : int, default=1000
        Number of queries.
    list_length : int, (int, int), "lognormal" or callable, default=(10, 60)
        Documents per query: a number; a range ``(low, high)``, both ends included, drawn
        uniformly; "lognormal" (median 80, one query in twenty above 215, cut at 1000: the shape
        of web search data); or a function ``f(generator, n_queries)`` that returns the lengths.
    n_features : int, default=20
        Number of columns. The informative ones come first.
    n_informative : int, default=10
        Number of columns that matter for the order, the first most. By turns:
        "shifted" (linear, but each query adds its own constant, so that the value says something
        only next to those of the same query), "skewed" (log-normal, counts look like this),
        "middle" (average values are best), "gated" (linear, in the reverse direction for a
        quarter of the values of the column before), "squashed" (between 0 and 1).
        The other columns are by turns: "noise", "query" (one value per query), "shifted_noise".
    grades : int or sequence of float, default=5
        Number of grades, labels being 0 to ``grades - 1``; half of all labels are then 0 and the
        others fall off linearly, .5 .2 .15 .1 .05 for five. Or the probability of each grade.
    label_noise : float, default=0.5
        Standard deviation of the noise between utility and label; what the features say of the
        utility has standard deviation 1. At 0 labels are never in the wrong order.
    query_shift : float, default=2.0
        Standard deviation of the constants that "shifted" columns have per query; the traits
        themselves have standard deviation 1.
    query_effect : float, default=0.5
        Standard deviation, over queries, of the mean utility: some queries have many relevant
        documents, some have none.
    random_state : int, Generator or None, default=0
        Seed, generator, or ``None`` for other numbers every time (in a Ranker it stands for 0).

    Returns
    -------
    SyntheticData
        A :class:`RankingData` with the truth: ``utility``, ``label_probabilities``.

    Examples
    --------
    >>> import numpy as np
    >>> from gbrank.data import make_ranking
    >>> X, y, qid = make_ranking(n_queries=200, random_state=1)
    >>> X.shape[1], X.dtype, y.max(), qid[-1]
    (20, dtype('float32'), np.int64(4), np.int64(199))
    >>> data = make_ranking(n_queries=1, list_length=4)
    >>> bayes_order = np.argsort(-data.utility)
    >>> expected_gain = data.label_probabilities @ [0, 1, 3, 7, 15]
    >>> bool((np.diff(expected_gain[bayes_order]) <= 0).all())
    True
    """
    check_integer("n_queries", n_queries, low=1)
    check_integer("n_informative", n_informative, low=1)
    check_integer("n_features", n_features, low=n_informative)
    for name, value in (
        ("label_noise", label_noise),
        ("query_shift", query_shift),
        ("query_effect", query_effect),
    ):
        check_number(name, value, low=0.0)
    probabilities = _grade_probabilities(grades)
    generator = check_random_state(random_state)
    group = _list_lengths(list_length, n_queries, generator)

    qid = np.repeat(np.arange(n_queries), group)
    X = np.empty((len(qid), n_features), dtype=np.float32)
    weights = np.arange(1, n_informative + 1) ** -0.5
    weights /= np.linalg.norm(weights)
    utility = np.repeat(generator.normal(0.0, query_effect, n_queries), group)
    names = []
    gate = np.zeros(0)
    for column in range(n_features):
        informative = column < n_informative
        kinds = INFORMATIVE_KINDS if informative else UNINFORMATIVE_KINDS
        kind = kinds[(column if informative else column - n_informative) % len(kinds)]
        trait = generator.standard_normal(len(qid))
        per_query = generator.standard_normal(n_queries) * query_shift
        if informative:
            X[:, column], effect = _informative_column(kind, trait, per_query[qid], gate)
            utility += weights[column] * effect
        else:
            X[:, column] = _uninformative_column(kind, trait, per_query[qid])
        gate = trait
        names.append(f"{kind}_{column}")

    latent_spread = np.sqrt(1.0 + query_effect**2 + label_noise**2)
    thresholds = latent_spread * ndtri(np.minimum(np.cumsum(probabilities)[:-1], 1.0))
    latent = utility + label_noise * generator.standard_normal(len(qid))
    y = np.searchsorted(thresholds, latent, side="right").astype(np.int64)
    return SyntheticData(
        X,
        y,
        qid,
        utility=utility,
        thresholds=thresholds,
        label_noise=float(label_noise),
        feature_names=tuple(names),
    )


def _informative_column(
    kind: str, trait: FloatArray, shift: FloatArray, gate: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the column that is seen and its effect on the utility, which is standard normal."""
    if kind == "shifted":
        return trait + shift, trait
    if kind == "skewed":
        return np.exp(trait), trait
    if kind == "middle":
        # 2 Phi(-|z|) is uniform, and largest for z = 0.
        return trait, ndtri(2.0 * ndtr(-np.abs(trait)))
    if kind == "gated":
        return trait, np.where(gate > _LOWER_QUARTILE, trait, -trait)
    return ndtr(trait), trait  # "squashed"


def _uninformative_column(kind: str, trait: FloatArray, shift: FloatArray) -> FloatArray:
    if kind == "query":
        return shift
    return trait + shift if kind == "shifted_noise" else trait


def _grade_probabilities(grades: int | Sequence[float]) -> FloatArray:
    if isinstance(grades, int | np.integer):
        check_integer("grades", grades, low=2)
        falling = np.arange(int(grades), 0, -1) / (grades * (grades - 1.0))
        falling[0] = 0.5
        return falling
    return check_probabilities(grades, "grades")


def _list_lengths(
    list_length: ListLength, n_queries: int, generator: np.random.Generator
) -> IntArray:
    if callable(list_length):
        lengths = np.asarray(list_length(generator, n_queries))
        if lengths.shape != (n_queries,) or lengths.dtype.kind not in "iu":
            raise ValueError(
                f"list_length must return {n_queries} integers, got an array of shape "
                f"{lengths.shape} and dtype {lengths.dtype}"
            )
        if (lengths < 1).any():
            query = int(np.argmax(lengths < 1))
            raise ValueError(
                f"list_length must return numbers >= 1, got {lengths[query]} for query {query}"
            )
        return lengths.astype(np.int64)
    if isinstance(list_length, str):
        if list_length != "lognormal":
            raise ValueError(
                'list_length must be a number, a range, a function or "lognormal", '
                f"got {list_length!r}"
            )
        spread = np.exp(0.6 * generator.standard_normal(n_queries))
        return np.clip(np.rint(80.0 * spread), 1, 1000).astype(np.int64)
    if isinstance(list_length, int | np.integer):
        check_integer("list_length", list_length, low=1)
        return np.full(n_queries, list_length, dtype=np.int64)
    if not isinstance(list_length, tuple | list) or len(list_length) != 2:
        raise TypeError(
            f'list_length must be a number, a range, a function or "lognormal", got {list_length!r}'
        )
    low, high = list_length
    check_integer("list_length[0]", low, low=1)
    check_integer("list_length[1]", high, low=int(low))
    drawn: IntArray = generator.integers(low, high, n_queries, endpoint=True, dtype=np.int64)
    return drawn
